#!/bin/sh
# Each public header compiles alone, without a warning, as C11 and as C++17, with every compiler that is there. That for
# MPI needs one, whose own headers may warn.
# usage: headers_alone.sh INCLUDE_DIRECTORY
set -u
include=$1
failed=0
tried=0
source=$(mktemp -d) || exit 2
trap 'rm -rf "$source"' EXIT
mpi_include=$(for found in /usr/lib/*/openmpi/include/mpi.h /usr/include/*/mpich/mpi.h /usr/include/mpi.h; do
    [ ! -f "$found" ] || { dirname "$found"; break; }
done)
for header in "$include"/tally/*.h; do
    name=tally/$(basename "$header")
    [ "$name" != tally/mpi.h ] || [ -n "$mpi_include" ] || { echo "$name: left out, no MPI"; continue; }
    printf '#include "%s"\nint main(void) { return 0; }\n' "$name" >"$source/alone.c"
    cp "$source/alone.c" "$source/alone.cpp"
    for compiler in gcc clang cc; do
        command -v $compiler >/dev/null 2>&1 || continue
        tried=$((tried + 1))
        $compiler -std=c11 -pedantic-errors -Wall -Wextra -Wstrict-prototypes -Wundef -Werror -fsyntax-only \
            -I"$include" ${mpi_include:+-isystem "$mpi_include"} "$source/alone.c" || { echo "FAIL $compiler C11 $name"; failed=1; }
    done
    for compiler in g++ clang++ c++; do
        command -v $compiler >/dev/null 2>&1 || continue
        tried=$((tried + 1))
        $compiler -std=c++17 -pedantic-errors -Wall -Wextra -Wundef -Werror -fsyntax-only \
            -I"$include" ${mpi_include:+-isystem "$mpi_include"} "$source/alone.cpp" || { echo "FAIL $compiler C++17 $name"; failed=1; }
    done
done
echo "$tried compilations"
[ $tried -gt 0 ] || exit 77
exit $failed
