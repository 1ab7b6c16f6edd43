#!/bin/sh
# A step that needs what the device lacks is not run, its row says why, and the others run; a step that is asked for by
# name and cannot run is a failure.
# usage: lacking.sh TALLY FAKE_LOADER   (tests/vulkan/fake_loader.c)
set -eu
tally=$1
fail() {
    echo "$*"
    exit 1
}
why='not run: this device adds no floats atomically (VK_EXT_shader_atomic_float)'

said=$("$tally" ladder compute-shader --check --n 100 --step naive,two-loads)
if printf '%s\n' "$said" | grep -qF "$why"; then
    echo 'the device here has nothing to take away'
    exit 77
fi
[ "$(printf '%s\n' "$said" | grep -c 'right for')" -eq 2 ] || fail "$said"

TALLY_LIBVULKAN=$2
FAKE_VULKAN=no_float_atomics
export TALLY_LIBVULKAN FAKE_VULKAN
for options in '--n 1000 --repeat 1' '--check --n 100'; do
    # shellcheck disable=SC2086 # options are words
    said=$("$tally" ladder compute-shader $options) || fail "failed: $options"
    [ "$(printf '%s\n' "$said" | grep -cF "$why")" -eq 2 ] || fail "$options: $said"
    printf '%s\n' "$said" | grep -q '^  compare-swap .*right' || fail "$options: $said"
done
if "$tally" ladder compute-shader --step naive --n 1000 --repeat 1 >/dev/null 2>&1; then
    fail 'asked for, not run, and no failure'
fi
