#include "vulkan/adapt.h"

#include <string.h>

enum {
    HEADER_WORDS = 5,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_LOOP_MERGE = 246,
    LOOP_CONTROL = 3, /* the word of OpLoopMerge */
    CAPABILITY_FLOAT64 = 10,
    CAPABILITY_SIGNED_ZERO_INF_NAN_PRESERVE = 4466,
    SIGNED_ZERO_INF_NAN_PRESERVE = 4461,
    CAPABILITY_WORDS = 2,
    MODE_WORDS = 4,
    MOST_ENTRY_POINTS = (TALLY_VULKAN_ADAPT_WORDS - CAPABILITY_WORDS) / (2 * MODE_WORDS)
};

void tally_vulkan_read_float_controls(tally_vulkan_device *v) {
    VkPhysicalDeviceVulkan12Properties v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &v12};
    v->loader.vkGetPhysicalDeviceProperties2(v->physical, &properties);
    v->preserves_f32 = v12.shaderSignedZeroInfNanPreserveFloat32;
    v->preserves_f64 = v12.shaderSignedZeroInfNanPreserveFloat64;
}

static size_t put_mode(uint32_t *to, uint32_t entry_point, uint32_t width) {
    const uint32_t mode[MODE_WORDS] = {MODE_WORDS << 16 | OP_EXECUTION_MODE, entry_point, SIGNED_ZERO_INF_NAN_PRESERVE,
                                       width};
    memcpy(to, mode, sizeof mode);
    return MODE_WORDS;
}

/* Capabilities come first in a module; execution modes follow the entry points. */
size_t tally_vulkan_adapt(const tally_vulkan_device *v, const uint32_t *words, size_t count, uint32_t *to) {
    uint32_t entry_points[MOST_ENTRY_POINTS];
    size_t entries = 0, written = HEADER_WORDS;
    bool has_double = false, is_told = !v->preserves_f32 && !v->preserves_f64;
    memcpy(to, words, HEADER_WORDS * sizeof *words);
    if (!is_told) {
        to[written++] = CAPABILITY_WORDS << 16 | OP_CAPABILITY;
        to[written++] = CAPABILITY_SIGNED_ZERO_INF_NAN_PRESERVE;
    }
    for (size_t at = HEADER_WORDS, length; at < count; at += length) {
        const uint32_t opcode = words[at] & 0xffff;
        length = words[at] >> 16;
        has_double |= opcode == OP_CAPABILITY && words[at + 1] == CAPABILITY_FLOAT64;
        if (opcode == OP_ENTRY_POINT && entries < MOST_ENTRY_POINTS)
            entry_points[entries++] = words[at + 2];
        if (opcode == OP_EXECUTION_MODE && !is_told) {
            is_told = true;
            for (size_t k = 0; k < entries; k++) {
                if (v->preserves_f32)
                    written += put_mode(to + written, entry_points[k], 32);
                if (v->preserves_f64 && has_double)
                    written += put_mode(to + written, entry_points[k], 64);
            }
        }
        memcpy(to + written, words + at, length * sizeof *words);
        if (opcode == OP_LOOP_MERGE && v->is_software)
            to[written + LOOP_CONTROL] = 0;
        written += length;
    }
    return written;
}
