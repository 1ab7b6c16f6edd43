#include "vulkan/branches.h"
#include "vulkan/spirv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What a label's block is like. */
typedef struct block {
    uint32_t only;   /* where it goes, if it does nothing else; else 0 */
    uint32_t from;   /* if it is left out: the block whose branch had it */
    uint32_t comers; /* branches to it */
    bool is_bound;   /* a loop or a branch names it as where its sides meet */
} block;

static void count_targets(const uint32_t *at, block *blocks) {
    const size_t length = tally_spirv_length(*at);
    switch (tally_spirv_opcode(*at)) {
    case SpvOpBranch:
        blocks[at[1]].comers++;
        break;
    case SpvOpBranchConditional:
        blocks[at[2]].comers++;
        blocks[at[3]].comers++;
        break;
    case SpvOpSwitch:
        blocks[at[2]].comers++;
        for (size_t k = 4; k < length; k += 2)
            blocks[at[k]].comers++;
        break;
    case SpvOpLoopMerge:
        blocks[at[2]].is_bound = true;
        blocks[at[1]].is_bound = true;
        break;
    case SpvOpSelectionMerge:
        blocks[at[1]].is_bound = true;
        break;
    }
}

static void look_at_blocks(const uint32_t *words, size_t count, block *blocks) {
    for (size_t at = TALLY_SPIRV_HEADER_WORDS, length; at < count; at += length) {
        length = tally_spirv_length(words[at]);
        count_targets(words + at, blocks);
        if (tally_spirv_opcode(words[at]) == SpvOpLabel && tally_spirv_opcode(words[at + length]) == SpvOpBranch)
            blocks[words[at + 1]].only = words[at + length + 1];
    }
}

/* One side of a branch in block 'from', whose sides meet at 'meeting', skips an empty block. */
static void skip_empty_side(uint32_t *branch, uint32_t from, uint32_t meeting, block *blocks) {
    for (int side = 2; side <= 3; side++) {
        block *const b = &blocks[branch[side]];
        if (b->only == meeting && b->comers == 1 && !b->is_bound && branch[5 - side] != meeting) {
            b->from = from;
            branch[side] = meeting;
            return;
        }
    }
}

static void skip_empty_sides(uint32_t *words, size_t count, block *blocks) {
    uint32_t label = 0, meeting = 0;
    for (size_t at = TALLY_SPIRV_HEADER_WORDS; at < count; at += tally_spirv_length(words[at])) {
        const uint32_t opcode = tally_spirv_opcode(words[at]);
        if (opcode == SpvOpLabel)
            label = words[at + 1];
        else if (opcode == SpvOpBranchConditional && meeting)
            skip_empty_side(words + at, label, meeting, blocks);
        meeting = opcode == SpvOpSelectionMerge ? words[at + 1] : 0;
    }
}

/* Without the blocks that nothing goes to any longer. */
static size_t pack_blocks(uint32_t *words, size_t count, const block *blocks) {
    size_t written = TALLY_SPIRV_HEADER_WORDS;
    for (size_t at = TALLY_SPIRV_HEADER_WORDS, length; at < count; at += length) {
        const uint32_t opcode = tally_spirv_opcode(words[at]);
        length = tally_spirv_length(words[at]);
        if (opcode == SpvOpLabel && blocks[words[at + 1]].from) {
            length += tally_spirv_length(words[at + length]);
            continue;
        }
        for (size_t k = 4; opcode == SpvOpPhi && k < length; k += 2)
            if (blocks[words[at + k]].from)
                words[at + k] = blocks[words[at + k]].from;
        memmove(words + written, words + at, length * sizeof *words);
        written += length;
    }
    return written;
}

size_t tally_vulkan_drop_empty_sides(uint32_t *words, size_t count) {
    block *const blocks = calloc(words[TALLY_SPIRV_BOUND], sizeof *blocks);
    if (!blocks)
        return count;
    look_at_blocks(words, count, blocks);
    skip_empty_sides(words, count, blocks);
    const size_t written = pack_blocks(words, count, blocks);
    free(blocks);
    return written;
}
