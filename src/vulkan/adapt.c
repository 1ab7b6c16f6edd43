#include "vulkan/adapt.h"
#include "vulkan/spirv.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOP_CONTROL = 3, /* the word of OpLoopMerge */
    MODES = 3,
    CAPABILITY_WORDS = 2,
    MODE_WORDS = 4,
    COPY_WORDS = 4,
    SHUFFLED = 4, /* the word of a shuffle that is the value */
    MOST_ENTRY_POINTS = (TALLY_VULKAN_ADAPT_WORDS - MODES * CAPABILITY_WORDS) / (3 * MODES * MODE_WORDS)
};

void tally_vulkan_read_float_controls(tally_vulkan_device *v) {
    VkPhysicalDeviceVulkan12Properties v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &v12};
    v->loader.vkGetPhysicalDeviceProperties2(v->physical, &properties);
    v->preserves_f32 = v12.shaderSignedZeroInfNanPreserveFloat32;
    v->preserves_f64 = v12.shaderSignedZeroInfNanPreserveFloat64;
    v->rounds_f32 = v12.shaderRoundingModeRTEFloat32;
    v->rounds_f64 = v12.shaderRoundingModeRTEFloat64;
    v->keeps_f16 = v12.shaderDenormPreserveFloat16;
    v->keeps_f32 = v12.shaderDenormPreserveFloat32;
    v->keeps_f64 = v12.shaderDenormPreserveFloat64;
}

typedef struct execution_mode {
    uint32_t capability, mode;
    bool f16, f32, f64;
} execution_mode;

static size_t put_mode(uint32_t *to, uint32_t entry_point, uint32_t mode, uint32_t width) {
    const uint32_t words[MODE_WORDS] = {tally_spirv_first_word(MODE_WORDS, SpvOpExecutionMode), entry_point, mode,
                                        width};
    memcpy(to, words, sizeof words);
    return MODE_WORDS;
}

static size_t put_modes(uint32_t *to, const execution_mode *m, const uint32_t *entry_points, size_t entries,
                        bool has_double) {
    size_t written = 0;
    for (size_t k = 0; k < entries; k++) {
        if (m->f16)
            written += put_mode(to + written, entry_points[k], m->mode, 16);
        if (m->f32)
            written += put_mode(to + written, entry_points[k], m->mode, 32);
        if (m->f64 && has_double)
            written += put_mode(to + written, entry_points[k], m->mode, 64);
    }
    return written;
}

static bool names_shuffles(const uint32_t *words) {
    return tally_spirv_opcode(words[0]) == SpvOpCapability && words[1] == SpvCapabilityGroupNonUniformShuffleRelative;
}
/* They are never executed where the device has none (LANES of slots.comp). */
static bool is_shuffle(uint32_t opcode) {
    return opcode == SpvOpGroupNonUniformShuffleUp || opcode == SpvOpGroupNonUniformShuffleDown;
}

/* Integers of 8 and 16 bits, what is made of them, and what has one of these types: they are for stores that are never
 * executed where the device has none (STORES_BYTES of prelude.comp). Types come before what has them. */
static bool *find_small(const uint32_t *words, size_t count) {
    bool *const is_small = calloc(words[TALLY_SPIRV_BOUND], sizeof *is_small);
    bool is_inside = false; /* a function: there types stand first, then what has them */
    for (size_t at = TALLY_SPIRV_HEADER_WORDS, length; is_small && at < count; at += length) {
        const uint32_t *const w = words + at, opcode = tally_spirv_opcode(w[0]);
        length = tally_spirv_length(w[0]);
        is_inside |= opcode == SpvOpFunction;
        if (opcode == SpvOpTypeInt)
            is_small[w[1]] = w[2] < 32;
        else if (opcode == SpvOpTypeRuntimeArray)
            is_small[w[1]] = is_small[w[2]];
        else if (opcode == SpvOpTypePointer)
            is_small[w[1]] = is_small[w[3]];
        for (size_t k = 2; opcode == SpvOpTypeStruct && k < length; k++)
            is_small[w[1]] |= is_small[w[k]];
        if (is_inside && opcode != SpvOpStore && length > 2 && is_small[w[1]])
            is_small[w[2]] = true;
    }
    return is_small;
}
static bool names_small(const uint32_t *words, const bool *is_small, bool is_inside) {
    static const char bytes[] = "SPV_KHR_8bit_storage", halves[] = "SPV_KHR_16bit_storage";
    const size_t length = tally_spirv_length(words[0]);
    switch (tally_spirv_opcode(words[0])) {
    case SpvOpCapability:
        return words[1] == SpvCapabilityStorageBuffer8BitAccess || words[1] == SpvCapabilityStorageBuffer16BitAccess;
    case SpvOpExtension:
        return strcmp((const char *)(words + 1), bytes) == 0 || strcmp((const char *)(words + 1), halves) == 0;
    case SpvOpDecorate:
    case SpvOpMemberDecorate:
    case SpvOpTypeInt:
    case SpvOpTypeRuntimeArray:
    case SpvOpTypeStruct:
    case SpvOpTypePointer:
    case SpvOpTypeForwardPointer:
        return is_small[words[1]];
    default:
        return is_inside && length > 1 && is_small[words[1]];
    }
}

/* Capabilities come first in a module; execution modes follow the entry points. */
size_t tally_vulkan_adapt(const tally_vulkan_device *v, bool rounds, bool keeps_halves, bool keeps_floats,
                          const uint32_t *words, size_t count, uint32_t *to) {
    const execution_mode modes[MODES] = {{SpvCapabilitySignedZeroInfNanPreserve,
                                          SpvExecutionModeSignedZeroInfNanPreserve, false, v->preserves_f32,
                                          v->preserves_f64},
                                         {SpvCapabilityRoundingModeRTE, SpvExecutionModeRoundingModeRTE, false,
                                          rounds && v->rounds_f32, rounds && v->rounds_f64},
                                         {SpvCapabilityDenormPreserve, SpvExecutionModeDenormPreserve, keeps_halves,
                                          (rounds || keeps_floats) && v->keeps_f32, rounds && v->keeps_f64}};
    uint32_t entry_points[MOST_ENTRY_POINTS];
    size_t entries = 0, written = TALLY_SPIRV_HEADER_WORDS;
    bool has_double = false, are_told = false, is_inside = false;
    bool *const is_small = v->stores_bytes ? NULL : find_small(words, count);
    if (!v->stores_bytes && !is_small)
        return 0;
    memcpy(to, words, TALLY_SPIRV_HEADER_WORDS * sizeof *words);
    for (int k = 0; k < MODES; k++)
        if (modes[k].f16 || modes[k].f32 || modes[k].f64) {
            to[written++] = tally_spirv_first_word(CAPABILITY_WORDS, SpvOpCapability);
            to[written++] = modes[k].capability;
        }
    for (size_t at = TALLY_SPIRV_HEADER_WORDS, length; at < count; at += length) {
        const uint32_t opcode = tally_spirv_opcode(words[at]);
        length = tally_spirv_length(words[at]);
        has_double |= opcode == SpvOpCapability && words[at + 1] == SpvCapabilityFloat64;
        if (opcode == SpvOpEntryPoint && entries < MOST_ENTRY_POINTS)
            entry_points[entries++] = words[at + 2];
        if (opcode == SpvOpExecutionMode && !are_told) {
            are_told = true;
            for (int k = 0; k < MODES; k++)
                written += put_modes(to + written, &modes[k], entry_points, entries, has_double);
        }
        is_inside |= opcode == SpvOpFunction;
        if (is_small && names_small(words + at, is_small, is_inside))
            continue;
        if (!v->has_shuffles && names_shuffles(words + at))
            continue;
        if (!v->has_shuffles && is_shuffle(opcode)) {
            const uint32_t copy[] = {tally_spirv_first_word(COPY_WORDS, SpvOpCopyObject), words[at + 1], words[at + 2],
                                     words[at + SHUFFLED]};
            memcpy(to + written, copy, sizeof copy);
            written += COPY_WORDS;
            continue;
        }
        memcpy(to + written, words + at, length * sizeof *words);
        /* Else Mesa unrolls what is short: compiling took 2.6 times as long. */
        if (opcode == SpvOpLoopMerge && v->is_software)
            to[written + LOOP_CONTROL] = SpvLoopControlDontUnrollMask;
        written += length;
    }
    free(is_small);
    return written;
}
