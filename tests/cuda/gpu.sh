#!/bin/sh
# Everything that needs a GPU, on a machine that has one: builds, runs the conformance suite on the device, a part of it
# under each tool of compute-sanitizer, and the bench beside CUB and PyTorch, and ends with a short table.
# usage: tests/cuda/gpu.sh [DEVICE] [STEP...]
#   DEVICE: cuda:0 by default; steps, all of them when none is named: conformance sanitizer bench
# BUILD names a build folder that is there already; else build-gpu is made, which takes cmocka, GMP and MPFR. The bench
# takes nvcc and a python3 with PyTorch, and is left out without them. QUICK=1: a fraction of the suite.
set -eu
cd "$(dirname "$0")/../.."
device=cuda:0
case ${1:-} in
cuda*)
    device=$1
    shift
    ;;
esac
steps=${*:-conformance sanitizer bench}
jobs=$(nproc 2>/dev/null || echo 2)
build=${BUILD:-build-gpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
summary=$work/summary
: >"$summary"

if [ -z "${BUILD:-}" ]; then
    cmake -S . -B "$build" -DTALLY_CPU_LEVELS=baseline >/dev/null
    cmake --build "$build" -j "$jobs" --target conformance tally_shared tally_cli >/dev/null
fi
conformance=$(find "$build" -name conformance -type f | head -n 1)
library=$(find "$build" -name 'libtally.so.*.*.*' -type f | head -n 1)

# Kernels compile on the host, a process a part, so that all cores have some.
step_conformance() {
    {
        for op in sum prod min max argmin argmax minmax any all count_nonzero band bor bxor sumsq norm1 norm2 \
            norm_inf mean var std dot logsumexp; do
            for grouping in all_values axis segments keys; do
                echo "main $op/$grouping/${QUICK:+ --quick}"
            done
        done
        echo "user user_${QUICK:+ --quick}"
        for part in index_types pieces same_bits; do
            echo "$part /${QUICK:+ --quick}"
        done
    } | xargs -P "$jobs" -L 1 sh -c '
        name=$(echo "$3-$4" | tr / _)
        "$0" --device "$1" $5 --only "$3" --filter "$4" --show 3 >"$2/$name.log" 2>&1 || echo "$3 $4" >>"$2/failed"
    ' "$conformance" "$device" "$work" || true
    cat "$work"/*.log | grep '^FAIL' | head -n 40 || true
    cat "$work"/*.log | awk -v d="$device:" '$1 == d { combinations += $2; cases += $6; elements += $8; failures += $10 }
        END { printf "conformance  %d combinations, %d cases, %d elements, %d failures\n", combinations, cases, elements,
              failures }' >>"$summary"
    if [ -s "$work/failed" ]; then
        echo "conformance  failed: $(tr '\n' ';' <"$work/failed")" >>"$summary"
    fi
}

step_sanitizer() {
    for tool in memcheck racecheck synccheck initcheck; do
        result=clean
        for part in sum/all_values sum/axis sum/segments sum/keys argmax/segments; do
            for form in reduce inclusive; do
                compute-sanitizer --tool $tool --error-exitcode 9 --print-limit 3 "$conformance" --device "$device" \
                    --quick --only main --filter "$part/$form/f32/fast" >"$work/sanitizer" 2>&1 || {
                    result="errors in $part/$form"
                    grep -E '=========|FAIL' "$work/sanitizer" | head -n 12
                }
            done
        done
        echo "$tool: $result" >>"$summary"
    done
}

step_bench() {
    if ! command -v nvcc >/dev/null 2>&1 || ! python3 -c 'import torch' 2>/dev/null; then
        echo "bench        left out: it takes nvcc and a python3 with PyTorch" >>"$summary"
        return
    fi
    peers=$build/libpeers.so
    [ -f "$peers" ] || nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC -arch=native -o "$peers" bench/cuda/cub.cu
    bench/cuda/run --tally "$library" --peers "$peers" ${QUICK:+--quick} | tee "$work/bench"
    awk '/floor/ { rows++; below += /below/ } END { printf "bench        %d rows, %d below their floor\n", rows, below }' \
        "$work/bench" >>"$summary"
}

for step in $steps; do
    "step_$step"
done
echo
cat "$summary"
! grep -q -E 'failed|errors in' "$summary"
