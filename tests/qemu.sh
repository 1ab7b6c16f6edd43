#!/bin/sh
# The CPU back end on other processors, emulated by qemu-user: builds in build-ARCHITECTURE and runs the conformance
# suite's quick sizes, the exact sums' tests, the laws, the API's promises and the command's cases.
# usage: tests/qemu.sh aarch64|s390x...
# cmocka, GMP and MPFR for these processors come from Debian's packages, unpacked in the build folder: nothing of another
# architecture is installed, and nothing here needs an administrator.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
jobs=$(nproc 2>/dev/null || echo 2)
launcher=
command -v ccache >/dev/null 2>&1 && launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache

# usage: fetch DEBIAN_ARCHITECTURE FOLDER
fetch() {
    apt=$2/apt
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$2/unpacked"
    : >"$apt/status"
    set -- "$1" "$2" -qq -o "APT::Architecture=$1" -o "APT::Architectures=$1" -o "Dir::State=$apt/state" \
        -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root
    architecture=$1 folder=$2
    shift 2
    apt-get "$@" update
    (cd "$apt" && apt-get "$@" download libcmocka-dev libcmocka0 libgmp-dev libgmp10 libmpfr-dev libmpfr6)
    for package in "$apt"/*_"$architecture".deb; do
        dpkg -x "$package" "$folder/unpacked"
    done
    rm -rf "$apt"
    touch "$folder/fetched"
}

for processor in "$@"; do
    case $processor in
    aarch64) architecture=arm64 ;;
    s390x) architecture=s390x ;;
    *)
        echo "usage: tests/qemu.sh aarch64|s390x..." >&2
        exit 2
        ;;
    esac
    build=$root/build-$processor
    libraries=$build/libraries/unpacked
    echo "== $processor in $build"
    [ -f "$build/libraries/fetched" ] || fetch $architecture "$build/libraries"
    cat >"$build/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $processor)
set(CMAKE_C_COMPILER $processor-linux-gnu-gcc)
set(CMAKE_C_FLAGS_INIT "-isystem $libraries/usr/include/$processor-linux-gnu -isystem $libraries/usr/include")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-$processor -L /usr/$processor-linux-gnu)
set(CMAKE_FIND_ROOT_PATH "$libraries")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
END
    # shellcheck disable=SC2086 # the launcher is one word or none
    PKG_CONFIG_LIBDIR=$libraries/usr/lib/$processor-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$libraries \
        cmake -S . -B "$build" -G Ninja --toolchain "$build/toolchain.cmake" $launcher -DTALLY_WERROR=ON \
        -DTALLY_CPU_LEVELS=baseline -DTALLY_VULKAN=OFF -DTALLY_CUDA=OFF >"$build/log" 2>&1 || {
        cat "$build/log"
        exit 1
    }
    cmake --build "$build" -j "$jobs" -- --quiet
    tests/run.sh "$build" "$processor" -LE 'long|wide|large' \
        -R '^(oracle|conformance|property|exact|fuzz|api|cli\.number|cli\.cases|ladder\.(cpu|sources))' \
        -E '^(conformance\.threads|exact\.(integers|words)|api\.(headers_alone|exported_symbols|processes|small_stacks|out_of_memory|.*\.baseline$))'
done
