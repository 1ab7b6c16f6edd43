#!/bin/sh
# The kernels' structs have the layout of the host's, or they do not compile (src/cuda/arguments.c): each struct is given a
# member that the host does not have, and the compiler must name every one.
# usage: tests/cuda/layouts.sh LAYOUTS CXX
set -eu
layouts=$1 cxx=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$layouts" | awk '/^struct/ { again = $3 == "{" && seen[$2]++ } !again' >"$work/structs.cc"
"$cxx" -std=c++17 -fsyntax-only "$work/structs.cc"
sed 's/^struct \([a-z_]*\) {$/&\n    uint32 planted;/' "$work/structs.cc" >"$work/planted.cc"
if "$cxx" -std=c++17 -fsyntax-only "$work/planted.cc" 2>"$work/log"; then
    echo "FAIL structs with a planted member compile"
    exit 1
fi
failures=0 names=$(sed -n 's/^struct \([a-z_]*\) {$/\1/p' "$work/structs.cc" | sort -u)
for name in $names; do
    grep -q "the host lays $name out in another way" "$work/log" || {
        echo "FAIL $name: its planted member was not seen"
        failures=$((failures + 1))
    }
done
echo "$(echo "$names" | wc -l) structs, $failures failures"
[ -n "$names" ] && [ $failures -eq 0 ]
