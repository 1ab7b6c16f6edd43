#!/bin/sh
# Everything that needs a GPU, on a machine that has one: builds, runs the conformance suite on the device and the tests
# that need one, both on Vulkan, too, a part of the suite under each tool of compute-sanitizer, times the start-up, runs
# the benches, of CUDA beside CUB and PyTorch and of Vulkan, and ends with a short table.
# usage: tests/cuda/gpu.sh [DEVICE] [STEP...]
#   DEVICE: cuda:0 by default; steps, all of them when none is named: conformance tests words vulkan ladder sanitizer
#   start bench vulkan_bench
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
steps=${*:-conformance tests words vulkan ladder sanitizer start bench vulkan_bench}
jobs=$(nproc 2>/dev/null || echo 2)
build=${BUILD:-build-gpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
summary=$work/summary
: >"$summary"
begun=$(date +%s)

if [ -z "${BUILD:-}" ]; then
    cmake -S . -B "$build" -DTALLY_CPU_LEVELS=baseline >/dev/null
    cmake --build "$build" -j "$jobs" >/dev/null
fi
built() { find "$build" -name "$1" -type f | head -n 1; }
conformance=$(built conformance)

# usage: note NAME TEXT...: a line of the table
note() {
    name=$1
    shift
    printf '%-12s %s\n' "$name" "$*" >>"$summary"
}

# usage: conformance_on DEVICE LABEL. Kernels compile on the host, a process a part, so that all cores have some.
conformance_on() {
    logs=$work/$2.d
    mkdir "$logs"
    {
        for grouping in all_values axis segments keys labels; do
            for op in $("$(built tally)" ops | awk '{ print $1 }'); do
                echo "main $op/$grouping/${QUICK:+ --quick}"
                [ $grouping != keys ] || echo "same_bits $op/${QUICK:+ --quick}"
            done
            for op in affine matrix ends often histogram parity; do
                echo "user user_$op/$grouping/${QUICK:+ --quick}"
            done
        done
        for op in sum mean sumsq norm2 dot max; do
            echo "pieces $op/${QUICK:+ --quick}"
        done
        for op in sum max var; do
            echo "index_types $op/segments/${QUICK:+ --quick}"
            echo "index_types $op/keys/${QUICK:+ --quick}"
        done
        echo "offsets sum/segments/${QUICK:+ --quick}"
    } | xargs -P "$jobs" -L 1 sh -c '
        name=$(echo "$3-$4" | tr / _)
        timeout 600 "$0" --device "$1" $5 --only "$3" --filter "$4" --show 3 >"$2/$name.log" 2>&1 && exit 0
        code=$?
        # Accumulators that do not fit registers are refused: then nothing was run, and that is as it must be.
        grep -q "refused by this back end" "$2/$name.log" && ! grep -q "^FAIL" "$2/$name.log" && exit 0
        echo "$3 $4 ($code)" >>"$2/failed"
    ' "$conformance" "$1" "$logs" || true
    cat "$logs"/*.log | grep '^FAIL' | head -n 40 || true
    note "$2" "$(cat "$logs"/*.log | awk -v d="$1:" '
        $1 == d { combinations += $2; cases += $6; elements += $8; failures += $10 }
        END { printf "%d combinations, %d cases, %d elements, %d failures", combinations, cases, elements, failures }')"
    if [ -s "$logs/failed" ]; then
        note "$2" "failed: $(tr '\n' ';' <"$logs/failed")"
    fi
}

step_conformance() {
    conformance_on "$device" conformance
}

# Debian 12's libshaderc opens with what the tests put beside it.
step_vulkan() {
    if ! "$(built tally)" devices | grep -q '^vulkan:0 .*a GPU'; then
        note vulkan "left out: Vulkan has no GPU here"
        return
    fi
    shaderc=$(built 'libvulkan_shaderc.so')
    if [ -n "$shaderc" ]; then
        TALLY_LIBSHADERC=$(realpath "$shaderc")
        export TALLY_LIBSHADERC
    fi
    for name in engine faults user exact_levels exact_pieces exact_scans wide prune short_rows scan_once exact_window tiled_segments narrow_results; do
        code=0
        timeout 600 "$(built "vulkan_$name")" >"$work/vulkan_$name.test" 2>&1 || code=$?
        case $code in
        0) note vulkan "$name: passed" ;;
        77) note vulkan "$name: left out: $(tail -n 1 "$work/vulkan_$name.test")" ;;
        *)
            note vulkan "$name: failed ($code)"
            head -n 40 "$work/vulkan_$name.test"
            ;;
        esac
    done
    conformance_on vulkan:0 vulkan
}

# usage: run_test NAME
run_test() {
    code=0
    since=$(date +%s)
    TALLY_GOLDEN=tests/exact/golden.txt timeout 600 "$(built "cuda_$1")" >"$work/$1.test" 2>&1 || code=$?
    echo $code >"$work/$1.code"
    echo $(($(date +%s) - since)) >"$work/$1.seconds"
}

# The command on the device beside the command on the CPU.
run_command() {
    code=0
    sh tests/cli/same_results.sh "$(built tally)" cpu "$(built tally)" "$device" >"$work/command" 2>&1 || code=$?
    if [ $code -eq 0 ]; then
        note command "$(tail -n 1 "$work/command")"
    else
        note command "failed ($code): $(tail -n 1 "$work/command")"
        head -n 20 "$work/command"
    fi
}

# Some take all memory there is, or a lot of it, and run alone.
step_tests() {
    together='gpu gpu_graphs gpu_exact gpu_user gpu_columns gpu_axes gpu_long_groups gpu_random_groups gpu_sizes gpu_streams gpu_variances gpu_workspaces gpu_device_sizes gpu_labels gpu_group_words'
    alone='gpu_faults gpu_large gpu_repeats gpu_exact_scans'
    for name in $together; do
        run_test $name &
    done
    wait
    for name in $alone; do
        run_test $name
    done
    run_command
    for name in $together $alone; do
        if [ "$(cat "$work/$name.code")" -eq 0 ]; then
            note $name "$(grep -c '^\[ *OK' "$work/$name.test") passed," \
                "$(grep -c '^ *skipped: ' "$work/$name.test" || true) skipped, $(cat "$work/$name.seconds") s"
        else
            note $name "failed ($(cat "$work/$name.code")):" \
                "$(grep '^\[  FAILED' "$work/$name.test" | sort -u | tr '\n' ';')"
            head -n 60 "$work/$name.test"
        fi
    done
}

# States in words of every operator and type, beside accumulators. Each call has sums of f64, too, for the tests of
# groups.
step_words() {
    for program in words words_in_pieces; do
        for op in $("$(built tally)" ops | awk '{ print $1 }'); do
            echo "$program $op sum/f64/fast sum/f64/exact$(for type in i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64; do
                printf ' %s/%s/fast %s/%s/exact' "$op" $type "$op" $type
            done)"
        done
    done | TALLY_TEST_DEVICE=$device xargs -P "$jobs" -L 1 sh -c '
        log=$1/api_$2-$3.log
        program=$(find "$0" -name "api_$2" -type f)
        failed=$1/unlike
        shift 3
        timeout 600 "$program" "$@" >"$log" 2>&1 || echo "$log" >>"$failed"
    ' "$build" "$work" || true
    note words "$(cat "$work"/api_words*.log | awk '/ combinations$/ { n += $1 } END { print n + 0 }') combinations" \
        "$([ ! -s "$work/unlike" ] || echo "failed: $(xargs -n 1 basename <"$work/unlike" | tr '\n' ' ')")"
    [ ! -s "$work/unlike" ] || xargs grep -h -m 2 'ERROR' <"$work/unlike" | head -n 20
}

# On Vulkan too, where the machine has it.
step_ladder() {
    for family in reduce divergence prefix-sum coarsening compute-shader; do
        {
            code=0
            needed=cuda:0
            [ $family != compute-shader ] || needed=vulkan:0
            "$(built on_device)" $needed sh tests/ladder/steps.sh "$(built tally)" $family >"$work/ladder-$family" 2>&1 || code=$?
            echo $code >"$work/ladder-$family.code"
        } &
    done
    wait
    for family in reduce divergence prefix-sum coarsening compute-shader; do
        case $(cat "$work/ladder-$family.code") in
        0) note "$family" "$(grep -c ' right for [0-9]* sizes$' "$work/ladder-$family") steps right for all sizes" ;;
        77) note "$family" "left out: no device" ;;
        *)
            note "$family" "failed: $(tail -n 1 "$work/ladder-$family")"
            grep 'not for' "$work/ladder-$family" || true
            ;;
        esac
    done
}

# Few cases, as each tool slows a kernel by ten to a hundred.
step_sanitizer() {
    if ! command -v compute-sanitizer >/dev/null 2>&1; then
        note sanitizer "left out: compute-sanitizer is not there"
        return
    fi
    for tool in memcheck racecheck synccheck initcheck; do
        for part in main:sum/all_values/reduce/f32/fast main:sum/all_values/inclusive/f32/fast \
            main:sum/axis/reduce/f32/fast main:sum/axis/inclusive/f32/fast main:sum/segments/reduce/f32/fast \
            main:sum/segments/inclusive/f32/fast main:sum/keys/reduce/f32/fast main:argmax/segments/reduce/f32/fast \
            main:sum/all_values/reduce/f64/exact main:sum/keys/reduce/f32/exact pieces:sum/axis/reduce/f32/exact; do
            echo "$tool ${part%%:*} ${part#*:}"
        done
    done | xargs -P "$((jobs < 8 ? jobs : 8))" -L 1 sh -c '
        log=$2/sanitizer-$3-$(echo "$5" | tr / _)
        timeout 600 compute-sanitizer --tool "$3" --error-exitcode 9 --print-limit 3 "$0" --device "$1" --quick \
            --only "$4" --filter "$5" >"$log" 2>&1 || echo "$3 $5" >>"$2/unclean"
    ' "$conformance" "$device" "$work" || true
    for tool in memcheck racecheck synccheck initcheck; do
        found=$(grep "^$tool " "$work/unclean" 2>/dev/null | tr '\n' ';' || true)
        note "$tool" "$([ -n "$found" ] && echo "errors in $found" || echo clean)"
    done
    if [ -s "$work/unclean" ]; then
        grep -h -E '^=========|FAIL' "$work"/sanitizer-* | grep -v -E 'ERROR SUMMARY: 0|COMPUTE-SANITIZER' | head -n 40 || true
    fi
}

# usage: started cold|warm COMPUTATION; the median of three starts, in the words of start.c. NVRTC keeps what it has
# compiled where the driver does, which would make every start but the machine's first a warm one.
started() {
    for run in 1 2 3; do
        [ "$1" = warm ] || rm -rf "$work/kernels"
        # shellcheck disable=SC2086 # the words of a computation are arguments
        CUDA_CACHE_DISABLE=1 TALLY_CACHE_DIR=$work/kernels "$(built cuda_start)" $2 || echo "run $run failed" >&2
    done | awk '{ print $1, $2 + $3 + $4, $2, $3, $4 }' | sort -n -k 2 | sed -n 2p
}

# The driver's own start-up apart from the library's. Floors: 400 ms cold, 20 ms warm, and 20 ms with kernels that were
# compiled ahead, where NVRTC is there to do that.
step_start() {
    for form in reduce inclusive_scan; do
        note_start "sum $form all_values f32" cold 400
        note_start "sum $form all_values f32" warm 20
    done
    for op in sum argmax var logsumexp; do
        for grouping in all_values axis segments keys; do
            for form in reduce inclusive_scan; do
                note_start "$op $form $grouping f32" cold 400
            done
        done
    done
    for computation in 'sum reduce labels f32' 'sum reduce labels f64 exact' 'sum reduce all_values f32 exact' \
        'sum inclusive_scan all_values f32 exact' 'sum inclusive_scan all_values f64 exact'; do
        note_start "$computation" cold 400
    done
    step_start_prebuilt
}

step_start_prebuilt() {
    prebuild=$(built tally_cuda_prebuild)
    if [ -z "$prebuild" ] || ! "$prebuild" "$work/prebuilt" "$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader |
        head -n 1 | tr -d .)"; then
        note start "kernels compiled ahead left out: the target tally_cuda_prebuild is not built, or finds no NVRTC"
        return
    fi
    for grouping in all_values axis segments keys; do
        TALLY_PREBUILT_DIR=$work/prebuilt note_start "sum reduce $grouping f32" cold 20
    done
}

# usage: note_start COMPUTATION cold|warm FLOOR
note_start() {
    note start "$(started "$2" "$1" | awk -v what="$1" -v kind="$2" -v floor="$3" '{
        printf "%s, %s: %.1f ms over the driver'\''s %.0f ms: open %.1f, plan %.1f, run %.1f; floor %d ms%s", what, kind, $2,
               $1, $3, $4, $5, floor, ($2 > floor) ? "  above" : "" }')"
}

step_bench() {
    if ! command -v nvcc >/dev/null 2>&1 || ! python3 -c 'import torch' 2>/dev/null; then
        note bench "left out: it takes nvcc and a python3 with PyTorch"
        return
    fi
    peers=$build/libpeers.so
    [ -f "$peers" ] || nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC -arch=native -o "$peers" bench/cuda/cub.cu
    bench/cuda/run --tally "$(built 'libtally.so.*.*.*')" --peers "$peers" ${QUICK:+--quick} | tee "$work/bench"
    note bench "$(awk '/floor|most/ { rows++; missed += /below|above/ }
        END { printf "%d rows with a floor, %d miss it", rows, missed }' "$work/bench")"
}

# Through Vulkan, with CUDA's figures beside.
step_vulkan_bench() {
    if ! "$(built tally)" devices | grep -q '^vulkan:0 .*a GPU'; then
        note vulkan_bench "left out: Vulkan has no GPU here"
        return
    fi
    "$(built vulkan_bench)" ${QUICK:+--log 26} | tee "$work/vulkan_bench"
    note vulkan_bench "$(awk '/floor/ { rows++; below += /below/ } END { printf "%d rows, %d below their floor", rows, below }' \
        "$work/vulkan_bench")"
}

for step in $steps; do
    "step_$step"
done
note time "$(($(date +%s) - begun)) s"
echo
cat "$summary"
! grep -q -E 'failed|errors in|FAIL' "$summary"
