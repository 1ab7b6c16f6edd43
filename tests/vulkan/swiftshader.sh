#!/bin/sh
# The conformance suite's quick sizes on SwiftShader, a second Vulkan device in software: its subgroups have 4 threads,
# and it has neither doubles nor integers of 64 bits. It takes one operator of each class (src/core/monoids.def) in every
# grouping and form: an operator takes some 20 s of a core, most of it for SwiftShader's compiler.
# usage: tests/vulkan/swiftshader.sh BUILD
# The driver is taken out of Debian's package chromium-common, which is not installed.
set -eu
build=$(cd "$1" && pwd)
driver=$build/swiftshader
if [ ! -f "$driver/vk_swiftshader_icd.json" ]; then
    mkdir -p "$driver/package"
    (cd "$driver/package" && apt-get -qq -o APT::Sandbox::User=root download chromium-common)
    dpkg --fsys-tarfile "$driver"/package/chromium-common_*.deb |
        tar -x -C "$driver" --strip-components=4 ./usr/lib/chromium/libvk_swiftshader.so \
            ./usr/lib/chromium/vk_swiftshader_icd.json
    rm -rf "$driver/package"
fi
export VK_ICD_FILENAMES="$driver/vk_swiftshader_icd.json" VK_DRIVER_FILES="$driver/vk_swiftshader_icd.json"

"$build/tally" devices | grep '^vulkan:0.*SwiftShader' || {
    echo "SwiftShader does not open:"
    "$build/tally" devices
    exit 1
}
# Two processes, one for each core. A kernel takes SwiftShader's compiler 1 to 3 s and 0.2 GB, but some shapes of a text
# take it all memory (src/vulkan/branches.h); with a limit such a case fails, where the machine would.
ulimit -v 6000000
printf '%s\n' 'sum/*/f32/fast sum/*/f32/exact prod/*/f32/fast bor/*/i32/fast' \
    'max/*/i32/fast norm_inf/*/i32/fast minmax/*/i32/fast argmin/*/i32/fast' | sed 's/[^ ]* */--filter &/g' |
    xargs -P 2 -L 1 "$build/tests/conformance/conformance" --device vulkan:0 --quick --only main
