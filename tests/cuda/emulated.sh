#!/bin/sh
# A part of the conformance suite on an emulated GPU, for machines without one: a text for each kind of kernel, with the
# data of the suite's larger amounts where they take seconds.
# usage: tests/cuda/emulated.sh CONFORMANCE [sample|quick|long]
# To be run in the emulator's environment (build/tests/cuda/emulate): EMULATE_CAPABILITY, EMULATE_MULTIPROCESSORS and
# EMULATE_ORDER choose the device. 'sample' takes every fourth line, 'long' every operator and some minutes.
set -eu
conformance=$1
amount=${2:-quick}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Lines of a filter and more options. "many" is a device of 40 processors: a block of a scan reads what the others have
# found 32 at a time, and there is one for each column of narrow arrays. "four" has those of three and several waves.
# "full" has so many that tiles are as small as can be, and look-backs go over several groups of them.
choices() {
    cat <<'END'
var/all_values/inclusive/f32/fast full
logsumexp/all_values/exclusive/f32/fast full --quick
argmin/all_values/inclusive/f32/fast many
sum/all_values/reduce/f32/fast
argmin/all_values/reduce/i32/fast
var/all_values/reduce/f32/fast --quick
logsumexp/all_values/reduce/u8/fast --quick
argmax/all_values/reduce/bf16/fast --quick
std/axis/reduce/u16/fast --quick
sum/axis/reduce/f32/fast
sum/segments/reduce/f32/fast
count_nonzero/segments/reduce/i32/fast --quick
argmin/keys/reduce/i32/fast
sum/keys/reduce/f64/fast many
mean/keys/reduce/u16/fast four --quick
logsumexp/keys/reduce/i64/fast four --quick
sum/segments/reduce/f64/fast
max/segments/reduce/i16/fast many
sum/all_values/inclusive/f32/fast
argmin/all_values/inclusive/i32/fast
sum/all_values/reverse_exclusive/i32/fast
sum/axis/inclusive/f32/fast
max/axis/exclusive/i32/fast
count_nonzero/axis/reverse_inclusive/bf16/fast
sum/axis/reverse_exclusive/f32/fast many
max/axis/inclusive/f64/fast* four
sum/all_values/inclusive/i8/fast
sum/all_values/reverse_exclusive/u8/fast
sum/segments/inclusive/f32/fast
argmin/segments/inclusive/i32/fast
sum/keys/exclusive/i32/fast
mean/keys/inclusive/f16/fast
dot/keys/reverse_exclusive/i64/fast --quick
norm2/segments/inclusive/i16/fast --quick
any/axis/inclusive/u8/fast --quick
all/segments/exclusive/f32/fast --quick
bor/keys/inclusive/i8/fast --quick
logsumexp/keys/reverse_inclusive/i16/fast --quick
var/keys/inclusive/f32/fast --quick
logsumexp/segments/inclusive/f64/fast --quick
var/keys/reduce/f32/fast --quick
var/segments/inclusive/f32/fast
user_ends/axis/reduce/ --only user --quick
user_often/axis/reduce/ --only user --quick
std/segments/reduce/u16/fast --quick
var/all_values/inclusive/u16/fast --quick
std/keys/inclusive/i8/fast --quick
argmax/keys/inclusive/u64/fast --quick
kurtosis/axis/reduce/f64/fast
skewness/all_values/inclusive/f64/fast --quick
kurtosis/segments/inclusive/i16/fast --quick
sum/all_values/reduce/f64/exact --quick
sum/keys/reduce/bf16/exact --quick
var/keys/reduce/f32/exact --quick
std/segments/reduce/i64/exact --quick
min/segments/reduce/f32/exact --quick
max/all_values/inclusive/f64/exact --quick
sum/all_values/inclusive/f16/exact --quick
sum/axis/reverse_exclusive/f32/exact --quick
sum/segments/inclusive/f64/exact --quick
sum/keys/exclusive/bf16/exact --quick
sum/labels/reduce/f32/fast
argmin/labels/reduce/i16/fast
dot/labels/reduce/f64/exact --quick
@i32 --quick --only offsets
@u64 --quick --only offsets
var/*/f64/fast* --quick --only far_means
min/all_values/reduce/f32/fast --quick --only nans
mean/keys/reduce/f32/fast --quick --only nans
var/axis/reduce/f32/fast --quick --only nans
any/axis/exclusive/f64/fast --quick --only nans
var/segments/inclusive/f32/fast --quick --only nans
argmin/labels/reduce/f32/fast --quick --only nans
minmax/segments/inclusive/f32/fast --quick --only nans
var/segments/reduce/f64/exact --quick --only nans
norm1/segments/*/i64>i16/fast --only conversions
END
    # Others take a minute each, for kernels that the sums of bf16 have, too.
    if [ "${EMULATE_CAPABILITY:-90}" -ge 90 ]; then
        echo "sum/keys/reduce/f32/fast"
        echo "sum/keys/reduce/f32/fast many"
    fi
    if [ "$amount" = long ]; then
        for op in sum prod min max argmin argmax minmax any all count_nonzero band bor bxor sumsq norm1 norm2 norm_inf \
            mean var std dot logsumexp skewness kurtosis; do
            for grouping in all_values axis segments keys labels; do
                echo "$op/$grouping/ --quick"
            done
            echo "$op/*/i64>u16/fast --only conversions"
            echo "$op/*/f32>f16/fast --only conversions"
        done
        echo "/ --quick --only offsets"
        echo "/ --quick --only far_means"
        echo "/ --quick --only pieces"
        echo "/ --quick --only nans"
        echo "user_ --quick --only user"
        echo "/ --quick --only index_types"
    fi
}

code=0
every=1
[ "$amount" != sample ] || every=4
choices | awk -v every=$every 'NR % every == 1 % every' | xargs -P "$(nproc 2>/dev/null || echo 2)" -L 1 sh -c '
    conformance=$0 filter=$2
    log=$1/$(echo "$2 $3 $4 $5" | tr "/ " __)
    shift 2
    case "${1:-}" in
    many) shift && export EMULATE_MULTIPROCESSORS=40 ;;
    four) shift && export EMULATE_MULTIPROCESSORS=4 ;;
    full) shift && export EMULATE_MULTIPROCESSORS=700 ;;
    esac
    case "$*" in *--only*) ;; *) set -- --only main "$@" ;; esac
    "$conformance" --device cuda:0 --filter "$filter" --show 3 "$@" >"$log" 2>&1 ||
        { echo "failed ($?): $filter $*" >>"$log"; exit 1; }
' "$conformance" "$work" || code=1
cat "$work"/* | grep -v ' 0 failures$' | head -n 60 || true
cat "$work"/* | awk '/ failures$/ { combinations += $2; cases += $6; elements += $8; failures += $10 }
    END { printf "%d combinations, %d cases, %d elements, %d failures\n", combinations, cases, elements, failures }'
exit $code
