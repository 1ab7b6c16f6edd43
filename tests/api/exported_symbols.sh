#!/bin/sh
# The shared library exports the functions of the public headers, all of them and nothing else.
# usage: exported_symbols.sh LIBRARY INCLUDE_DIRECTORY
set -u
command -v nm >/dev/null 2>&1 || { echo "skipped: no nm"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$1" | awk '$2 ~ /[TDBRVW]/ { sub(/@.*/, "", $3); print $3 }' | grep -v '^TALLY_' | sort -u >"$work/exported"
cat "$2"/tally/*.h | grep '^TALLY_API' | grep -o 'tally_[a-z0-9_]*(' | tr -d '(' | sort -u >"$work/declared"
[ -s "$work/declared" ] || { echo "no declarations found"; exit 1; }
if diff "$work/declared" "$work/exported" >"$work/difference"; then
    echo "$(wc -l <"$work/exported") functions"
    exit 0
fi
echo "declared (<) and exported (>) differ:"
cat "$work/difference"
exit 1
