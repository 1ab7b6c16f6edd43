#!/bin/sh
# Runs an example and compares what it prints with what is expected. usage: compare.sh PROGRAM EXPECTED
set -eu
output=$(mktemp "${TMPDIR:-/tmp}/tally-example.XXXXXX")
trap 'rm -f "$output"' EXIT
"$1" >"$output"
diff "$2" "$output"
