#!/bin/sh
# The stripped shared library has at most 8 MB, of which at most 128 KiB are tables of pointers (.data.rel.ro): each of
# their pages is copied and relocated whenever a program loads the library, for all instruction sets at once.
# usage: size.sh LIBRARY
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip -o "$work/stripped" "$1"
bytes=$(wc -c <"$work/stripped")
tables=$(size -A "$1" | awk '$1 == ".data.rel.ro" { print $2 }')
echo "$bytes bytes, tables of pointers $tables"
[ "$bytes" -le 8000000 ] && [ "$tables" -le 131072 ]
