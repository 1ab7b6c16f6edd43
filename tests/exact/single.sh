#!/bin/sh
# single/tally_exact.c by itself: compiles it without a warning with each compiler that is named, and runs its test. A
# compiler that is missing skips the test, or fails it where TALLY_REQUIRE names the compiler.
# usage: single.sh COMPILER...
set -eu
cd "$(dirname "$0")/../../single"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for compiler in "$@"; do
    if ! command -v "$compiler" >/dev/null 2>&1; then
        echo "there is no $compiler"
        case ,${TALLY_REQUIRE:-}, in
        *",$compiler,"*) exit 1 ;;
        esac
        exit 77
    fi
    case $compiler in
    tcc) flags='-Wall -Werror' ;; # of C99 without options
    *) flags='-O2 -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror' ;;
    esac
    # shellcheck disable=SC2086 # flags are words
    "$compiler" $flags -c tally_exact.c -o "$folder/tally_exact.o"
    "$compiler" -std=c99 test.c "$folder/tally_exact.o" -o "$folder/test"
    echo "$compiler: $("$folder/test" vectors.json)"
done
