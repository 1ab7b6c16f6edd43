#!/bin/sh
# Runs an example and compares what it prints with what is expected. usage: compare.sh PROGRAM EXPECTED [ARGUMENT]...
set -eu
output=$(mktemp "${TMPDIR:-/tmp}/tally-example.XXXXXX")
trap 'rm -f "$output"' EXIT
program=$1 expected=$2
shift 2
"$program" "$@" >"$output"
diff "$expected" "$output"
