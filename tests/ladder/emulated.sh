#!/bin/sh
# Every step of a CUDA family over awkward sizes, for every type and operator, on the emulated device. The library's row
# is left out: its kernels want more of CUDA than the emulator has.
set -eu
tally=$1
family=$2
steps=$("$tally" ladder "$family" --step '?' 2>&1 | sed -n 's/.*its steps are: //p' | sed 's/ library[a-z-]*//g; s/ /,/g')
[ -n "$steps" ]
check() { "$tally" ladder "$family" --device cuda:0 --step "$steps" --check --n 5000 "$@"; }
case $family in
divergence) check ;;
prefix-sum)
    for type in f32 i32; do check --dtype $type; done
    # More parts than blocks: elements must follow the part, not the block, whatever the order.
    [ "${EMULATE_ORDER:-forward}" = reverse ] ||
        "$tally" ladder prefix-sum --device cuda:0 --step "$steps" --n 140000 --repeat 1
    ;;
coarsening) for op in sum max min; do for type in f32 i32; do check --op $op --dtype $type; done; done ;;
*) for type in f32 i32; do check --dtype $type; done ;;
esac
