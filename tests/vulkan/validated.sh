#!/bin/sh
# Runs a program on a software device under the Khronos validation layer, synchronization validation included, and fails
# on any message of it.
# usage: validated.sh BROKEN THREADS PROGRAM ARGUMENT...
#   BROKEN   a program that the layer must complain of: else its silence would mean nothing
#   THREADS  of lavapipe
set -eu
broken=$1 threads=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/vk_layer_settings.txt" <<'END'
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn,perf
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
END
printf 'khronos_validation.log_filename = %s/messages\n' "$work" >>"$work/vk_layer_settings.txt"
export VK_LAYER_SETTINGS_PATH="$work" VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation LP_NUM_THREADS="$threads"

"$broken" >"$work/said" 2>&1 || {
    cat "$work/said"
    # The loader refuses an instance with a layer that is not installed.
    grep -q LAYER_NOT_PRESENT "$work/said" && exit 77
    exit 1
}
grep -q VUID-VkBufferCreateInfo-size-00912 "$work/messages" || {
    echo "validated.sh: the validation layer says nothing of what is forbidden"
    exit 1
}
rm "$work/messages"

"$@" || exit $?
if [ -s "$work/messages" ]; then
    echo "validated.sh: the validation layer has messages:"
    head -c 3000 "$work/messages"
    exit 1
fi
