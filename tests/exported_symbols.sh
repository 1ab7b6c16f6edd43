#!/bin/sh
# The shared library exports exactly what the public headers declare.
# usage: tests/exported_symbols.sh PREFIX
set -eu
prefix=$1
library=$(find "$prefix" -name 'libtally.so' | head -n 1)
declared=$(grep -hoE '\btally_[a-z0-9_]+\(' "$prefix"/include/tally/*.h | tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$library" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u)
if [ "$declared" != "$exported" ]; then
    echo "exported_symbols: the header and the library differ (< header, > library):" >&2
    a=$(mktemp) b=$(mktemp)
    echo "$declared" >"$a"
    echo "$exported" >"$b"
    diff "$a" "$b" >&2 || true
    rm -f "$a" "$b"
    exit 1
fi
