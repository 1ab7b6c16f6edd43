#!/bin/sh
# Every step of a family over awkward sizes, for every type and operator, on the first device that it runs on.
# usage: steps.sh TALLY FAMILY emulated   on the emulator of tests/cuda: fewer sizes, and without the library's row, whose
#                                         kernels want more of CUDA than the emulator has
#        steps.sh TALLY FAMILY            on a device
set -eu
tally=$1
family=$2
case ${3:-} in
emulated)
    steps=$("$tally" ladder "$family" --step '?' 2>&1 |
        sed -n 's/.*its steps are: //p' | sed 's/ library[a-z-]*//g; s/ /,/g')
    [ -n "$steps" ]
    check() { "$tally" ladder "$family" --step "$steps" --check --n 5000 "$@"; }
    ;;
*)
    check() { "$tally" ladder "$family" --check --n 2^24 "$@"; }
    ;;
esac

case $family in
divergence) check ;;
compute-shader) check ;;
coarsening) for op in sum max min; do for type in f32 i32; do check --op $op --dtype $type; done; done ;;
*) for type in f32 i32; do check --dtype $type; done ;;
esac

# More parts than blocks, which the fewer sizes do not have: elements must follow the part, not the block.
if [ "$family-${3:-}-${EMULATE_ORDER:-forward}" = prefix-sum-emulated-forward ]; then
    "$tally" ladder prefix-sum --step "$steps" --n 140000 --repeat 1
fi
