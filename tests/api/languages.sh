#!/bin/sh
# The headers and the library from other languages: the examples compile and run. A compiler that is missing skips the test,
# or fails it where TALLY_REQUIRE names it.
# usage: languages.sh ROOT LIBTALLY.A LANGUAGE...      LANGUAGE: gfortran, bindgen (and rustc), zig
set -eu
root=$1 library=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# usage: needs LANGUAGE COMMAND...
needs() {
    for command in "$@"; do
        command -v "$command" >/dev/null 2>&1 && continue
        echo "there is no $command"
        case ,${TALLY_REQUIRE:-}, in
        *",$1,"*) exit 1 ;;
        esac
        exit 77
    done
}

for language in "$@"; do
    case $language in
    gfortran)
        needs gfortran
        gfortran -std=f2018 -Wall -Werror "$root"/examples/fortran/tally.f90 "$root"/examples/fortran/sums.f90 "$library" \
            -lpthread -lm -ldl -o sums
        ./sums
        ;;
    bindgen)
        needs bindgen rustc
        for header in ranks cuda vulkan nccl tally; do # MPI's own header is in the way of mpi.h
            bindgen "$root/include/tally/$header.h" -- -I"$root/include" >tally.rs
        done
        cp "$root/examples/rust/sums.rs" "$library" .
        rustc --edition 2021 sums.rs -L . -l static=tally -o rust
        ./rust
        ;;
    zig)
        needs zig
        for header in ranks cuda vulkan nccl tally; do
            zig translate-c -lc -I"$root/include" "$root/include/tally/$header.h" >tally.zig
        done
        cp "$root/examples/zig/sums.zig" .
        zig build-exe sums.zig "$library" -lc -fPIE --name zig_sums
        ./zig_sums
        ;;
    esac
    echo "$language: as it should be"
done
