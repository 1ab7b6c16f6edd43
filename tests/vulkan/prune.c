/* A kernel that is taken out of its module keeps the functions that it calls and its own shared memory, and nothing of
 * the others', and loses the empty sides of its branches on devices in software. Every other test of kernels shows,
 * under the validation layer, that it still computes the same and is valid SPIR-V. */
#include "vulkan/prune.h"
#include "../api/support.h"
#include "vulkan/branches.h"
#include "vulkan/entries.h"
#include "vulkan/spirv.h"

static const uint32_t module[] =
#include "prune.inc"
    ;

enum {
    WORDS = sizeof module / sizeof *module,
    MORE = 256,
    HEADER_WORDS = 5,
    OP_ENTRY_POINT = 15,
    OP_FUNCTION = 54,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    WORKGROUP = 4
};

typedef struct contents {
    size_t words;
    int entry_points, functions, shared, decorations;
} contents;

static contents count_of(const uint32_t *words, size_t count) {
    contents found = {.words = count};
    for (size_t at = HEADER_WORDS; at < count; at += words[at] >> 16) {
        const uint32_t opcode = words[at] & 0xffff;
        found.entry_points += opcode == OP_ENTRY_POINT;
        found.functions += opcode == OP_FUNCTION;
        found.shared += opcode == OP_VARIABLE && words[at + 3] == WORKGROUP;
        found.decorations += opcode == OP_DECORATE;
    }
    return found;
}

static size_t kernels(uint32_t *to) {
    const size_t count = tally_vulkan_add_entries(module, WORDS, to, WORDS + MORE);
    assert_true(count > 0);
    return count;
}

static contents pruned(const char *name) {
    uint32_t all[WORDS + MORE], words[WORDS + MORE];
    const size_t count = kernels(all);
    return count_of(words, tally_vulkan_prune(all, count, name, NULL, 0, words));
}

static void test_kernels_have_their_own_shared_memory(void **state) {
    (void)state;
    uint32_t all[WORDS + MORE];
    const contents before = count_of(all, kernels(all));
    assert_int_equal(before.entry_points, 3);
    assert_int_equal(before.functions, 5);
    assert_int_equal(before.shared, 2);
    const contents reduce = pruned("reduce"), spine = pruned("spine"), report = pruned("report");
    assert_int_equal(reduce.entry_points, 1);
    assert_int_equal(reduce.functions, 2);
    assert_int_equal(reduce.shared, 1);
    assert_int_equal(spine.entry_points, 1);
    assert_int_equal(spine.functions, 3);
    assert_int_equal(spine.shared, 1);
    assert_int_equal(report.entry_points, 1);
    assert_int_equal(report.functions, 1);
    assert_int_equal(report.shared, 0);
}

static void test_decorations_go_with_what_they_decorate(void **state) {
    (void)state;
    uint32_t all[WORDS + MORE];
    const contents before = count_of(all, kernels(all)), spine = pruned("spine"), reduce = pruned("reduce");
    assert_int_equal(spine.decorations, before.decorations);
    assert_true(reduce.decorations < before.decorations);
    assert_true(reduce.decorations > 0);
}

static void test_a_kernel_that_is_not_there_is_no_module(void **state) {
    (void)state;
    assert_int_equal(pruned("scan_rows").words, 0);
}

/* Block 3 does nothing, so block 1 goes to 4 instead, whose value 14 then comes from 1. Blocks 6 and 7 are both empty:
 * one stays. Block 9 is empty, but a loop's merge block. Each line is an instruction. */
static void test_empty_sides_of_branches_are_left_out(void **state) {
    (void)state;
    enum { BOUND = 32 };
#define OP(opcode, length) (uint32_t)((length) << 16 | (opcode))
    /* clang-format off */
    uint32_t words[] = {
        0, 0, 0, BOUND, 0,
        OP(SpvOpLabel, 2), 1,
        OP(SpvOpSelectionMerge, 3), 4, 0,
        OP(SpvOpBranchConditional, 4), 20, 2, 3,
        OP(SpvOpLabel, 2), 2,
        OP(SpvOpIAdd, 5), 21, 22, 23, 23,
        OP(SpvOpBranch, 2), 4,
        OP(SpvOpLabel, 2), 3,
        OP(SpvOpBranch, 2), 4,
        OP(SpvOpLabel, 2), 4,
        OP(SpvOpPhi, 7), 21, 24, 22, 2, 14, 3,
        OP(SpvOpSelectionMerge, 3), 8, 0,
        OP(SpvOpBranchConditional, 4), 20, 6, 7,
        OP(SpvOpLabel, 2), 6,
        OP(SpvOpBranch, 2), 8,
        OP(SpvOpLabel, 2), 7,
        OP(SpvOpBranch, 2), 8,
        OP(SpvOpLabel, 2), 8,
        OP(SpvOpLoopMerge, 4), 9, 10, 0,
        OP(SpvOpBranchConditional, 4), 20, 9, 10,
        OP(SpvOpLabel, 2), 9,
        OP(SpvOpBranch, 2), 11,
    };
    const uint32_t right[] = {
        0, 0, 0, BOUND, 0,
        OP(SpvOpLabel, 2), 1,
        OP(SpvOpSelectionMerge, 3), 4, 0,
        OP(SpvOpBranchConditional, 4), 20, 2, 4,
        OP(SpvOpLabel, 2), 2,
        OP(SpvOpIAdd, 5), 21, 22, 23, 23,
        OP(SpvOpBranch, 2), 4,
        OP(SpvOpLabel, 2), 4,
        OP(SpvOpPhi, 7), 21, 24, 22, 2, 14, 1,
        OP(SpvOpSelectionMerge, 3), 8, 0,
        OP(SpvOpBranchConditional, 4), 20, 8, 7,
        OP(SpvOpLabel, 2), 7,
        OP(SpvOpBranch, 2), 8,
        OP(SpvOpLabel, 2), 8,
        OP(SpvOpLoopMerge, 4), 9, 10, 0,
        OP(SpvOpBranchConditional, 4), 20, 9, 10,
        OP(SpvOpLabel, 2), 9,
        OP(SpvOpBranch, 2), 11,
    };
    /* clang-format on */
#undef OP
    assert_int_equal(tally_vulkan_drop_empty_sides(words, sizeof words / sizeof *words), sizeof right / sizeof *right);
    assert_memory_equal(words, right, sizeof right);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_have_their_own_shared_memory),
        cmocka_unit_test(test_decorations_go_with_what_they_decorate),
        cmocka_unit_test(test_a_kernel_that_is_not_there_is_no_module),
        cmocka_unit_test(test_empty_sides_of_branches_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
