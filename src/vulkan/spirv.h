/* SPIR-V as a list of words: Khronos' numbers, and the rules of the format for the programs and passes of this folder.
 * An instruction's first word has its length in words above its opcode; a module begins with a header. */
#ifndef TALLY_VULKAN_SPIRV_H
#define TALLY_VULKAN_SPIRV_H

#include <stddef.h>
#include <stdint.h>

#include <spirv/unified1/spirv.h>

enum { TALLY_SPIRV_HEADER_WORDS = 5, TALLY_SPIRV_BOUND = 3 /* the header's word that all ids are less than */ };

static inline uint32_t tally_spirv_opcode(uint32_t first_word) {
    return first_word & SpvOpCodeMask;
}

static inline size_t tally_spirv_length(uint32_t first_word) {
    return first_word >> SpvWordCountShift;
}

static inline uint32_t tally_spirv_first_word(size_t length, SpvOp opcode) {
    return (uint32_t)length << SpvWordCountShift | (uint32_t)opcode;
}

#endif
