#!/bin/sh
# The kernels' argument blocks have the host's offsets, and do not compile if a member has another size than on the host
# (src/vulkan/arguments.c). Here each member in turn is made larger, and each that can be, smaller.
# usage: tests/vulkan/layouts.sh GENERATE GLSLC
set -eu
generate=$1 glslc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$generate" sum f32 >"$work/kernel"
failures=0 planted=0

# usage: compiles FILE: the file's blocks and their checks alone, with what they are declared with
compiles() {
    {
        echo '#version 450'
        grep '^#extension GL_EXT_buffer_reference' "$work/kernel"
        grep -E '^#define (wide|address) ' "$work/kernel"
        sed -n '/^void has_4_bytes/,/^const uint REFUSED_BAD/p' "$1"
        echo 'void main() {}'
    } >"$work/blocks.comp"
    "$glslc" --target-env=vulkan1.2 -o "$work/blocks.spv" "$work/blocks.comp" 2>"$work/log"
}

# usage: plant MEMBER EXPRESSION: the expression of sed changes its type
plant() {
    sed "/^    layout(offset = .* $1;/ s/ $2 /" "$work/kernel" >"$work/planted"
    ! cmp -s "$work/kernel" "$work/planted" || return 0
    planted=$((planted + 1))
    if compiles "$work/planted"; then
        echo "FAIL $1 has another size for kernels than for the host ($2), and they compile"
        failures=$((failures + 1))
    fi
}

if ! compiles "$work/kernel"; then
    echo "FAIL the blocks do not compile:"
    cat "$work/log"
    exit 1
fi
for member in $(sed -n 's/^    layout(offset = .* \(.*\);/\1/p' "$work/kernel"); do
    plant "$member" '\(address\|wide\) / uvec4'
    plant "$member" '\(address\|wide\) / uint'
    plant "$member" '\(uint\|int\) / wide'
done
echo "$planted differences planted, $failures failures"
[ $failures -eq 0 ] && [ $planted -gt 30 ]
