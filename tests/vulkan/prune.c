/* A kernel that is taken out of its module keeps the functions that it calls and its own shared memory, and nothing of
 * the others'. Every other test of kernels shows, under the validation layer, that it still computes the same and is
 * valid SPIR-V. */
#include "vulkan/prune.h"
#include "../api/support.h"
#include "vulkan/entries.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_have_their_own_shared_memory),
        cmocka_unit_test(test_decorations_go_with_what_they_decorate),
        cmocka_unit_test(test_a_kernel_that_is_not_there_is_no_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
