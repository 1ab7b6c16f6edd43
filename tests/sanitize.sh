#!/bin/sh
# Builds and runs the tests but the wide and long ones under sanitizers: address with undefined behaviour in
# build-asan, thread in build-tsan. Fewer instruction-set levels are built than otherwise, and the suites take their quick
# sizes. What the thread sanitizer looks for is in the threads, which are the same at every level; Vulkan is left out
# there.
# usage: tests/sanitize.sh [address|thread]   (both when none is named)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)
generator=
command -v ninja >/dev/null 2>&1 && generator="-G Ninja"
launcher=
command -v ccache >/dev/null 2>&1 && launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache

# usage: variant DIRECTORY SANITIZERS LEVELS CTEST_ARGUMENT...
variant() {
    directory=$root/$1
    sanitizers=$2 levels=$3 vulkan=$4
    shift 4
    echo "== $sanitizers in $directory"
    # Instrumented kernels take a quarter of an hour to compile at -O3, which only a debug build does without.
    # shellcheck disable=SC2086  # the generator is two words or none
    cmake -S "$root" -B "$directory" $generator $launcher -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 \
        -DTALLY_SANITIZE="$sanitizers" -DTALLY_CPU_LEVELS="$levels" -DTALLY_VULKAN="$vulkan" -DTALLY_BUILD_BENCH=OFF \
        -DTALLY_VULKAN_MODULES="$modules"
    cmake --build "$directory" -j "$jobs"
    "$root/tests/run.sh" "$directory" tests -LE 'long|wide' "$@"
}

which=${1:-both}
# Vulkan's kernels are data, of which the ordinary build has a copy.
modules=$root/build/src/vulkan/modules.c
[ -f "$modules" ] || modules=
# One report is enough, and it must fail the test; a refused allocation is a case that the tests make on purpose.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1:abort_on_error=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:allocator_may_return_null=1
address() { variant build-asan address,undefined avx2 ON; }
thread() { variant build-tsan thread baseline OFF -L 'conformance|property|api|cuda'; }
case $which in
address) address ;;
thread) thread ;;
both)
    address
    thread
    ;;
*)
    echo "usage: tests/sanitize.sh [address|thread]" >&2
    exit 2
    ;;
esac
