/* Exact sums of pieces that are long enough to be cut, beside short and empty ones, have the bits of the CPU's sum of
 * the whole, for numbers of all magnitudes that cancel, with and without NaNs that are left out. Words have them, too.
 */
#include <math.h>

#include "../api/support.h"

enum { N = 120000 };

static tally_device *cpu, *gpu;
static float x[N], y[N];

static void fill(float *values, uint64_t random) {
    for (int i = 0; i < N; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t bits = (uint32_t)(random >> 32), exponent = bits >> 23 & 255;
        const uint32_t finite = exponent == 255 ? bits & 0xbfffffff : bits;
        memcpy(&values[i], &finite, sizeof finite);
        if (i >= N / 2)
            values[i] = -values[N - 1 - i];
    }
    values[N / 3] = 1;
}

static tally_plan *plan_of(tally_device *device, tally_op op, tally_grouping grouping, unsigned flags) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan = NULL;
    desc.op = op;
    desc.grouping = grouping;
    desc.mode = TALLY_EXACT;
    desc.in = TALLY_F32;
    desc.flags = flags;
    assert_ok(tally_plan_create(device, &desc, &plan));
    return plan;
}

static void check(tally_op op, uint64_t columns, unsigned flags) {
    static const uint64_t ends[] = {1, 70000, 70000, 70003, N};
    const tally_grouping grouping = columns > 1 ? TALLY_AXIS : TALLY_ALL_VALUES;
    tally_plan *whole = plan_of(cpu, op, grouping, flags), *pieces = plan_of(gpu, op, grouping, flags);
    float expected[3], found[3];
    char *memory;
    tally_args args = TALLY_ARGS_INIT;
    args.shape.outer = 1;
    args.shape.inner = columns;
    args.shape.extent = N / columns;
    args.x = x;
    args.y = op == TALLY_DOT ? y : NULL;
    args.out = expected;
    args.out_bytes = columns * sizeof *expected;
    assert_ok(tally_run(whole, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_alloc(gpu, sizeof x + sizeof y + 16, (void **)&memory));
    assert_ok(tally_copy(gpu, memory, x, sizeof x));
    assert_ok(tally_copy(gpu, memory + sizeof x, y, sizeof y));
    for (int round = 0; round < 2; round++) { /* a finished plan begins anew */
        uint64_t done = 0;
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            const uint64_t end = ends[k] / columns;
            args.shape.extent = end - done;
            args.x = memory + done * columns * sizeof *x;
            args.y = op == TALLY_DOT ? memory + sizeof x + done * columns * sizeof *y : NULL;
            assert_ok(tally_push(pieces, &args));
            done = end;
        }
        assert_ok(tally_finish(pieces, memory + sizeof x + sizeof y, columns * sizeof *found));
        assert_ok(tally_copy(gpu, found, memory + sizeof x + sizeof y, columns * sizeof *found));
        assert_memory_equal(found, expected, columns * sizeof *found);
    }
    tally_free(gpu, memory);
    tally_plan_destroy(whole);
    tally_plan_destroy(pieces);
}

static void pieces_add_up_to_the_whole(void **state) {
    (void)state;
    fill(x, 1);
    fill(y, 2);
    static const tally_op ops[] = {TALLY_SUM, TALLY_MEAN, TALLY_DOT, TALLY_NORM2};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        check(ops[k], 1, 0);
        check(ops[k], 3, 0);
    }
    for (size_t i = 0; i < N; i += 5)
        x[i] = NAN;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        check(ops[k], 1, TALLY_SKIP_NAN);
        check(ops[k], 3, TALLY_SKIP_NAN);
    }
}

static void words_count_what_is_not_left_out(void **state) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_MEAN, TALLY_VAR};
    static int64_t expected[400], found[400];
    tally_args args = TALLY_ARGS_INIT;
    char *memory;
    (void)state;
    args.shape.extent = N;
    assert_ok(tally_alloc(gpu, sizeof x + sizeof found, (void **)&memory));
    assert_ok(tally_copy(gpu, memory, x, sizeof x));
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        const unsigned flags = TALLY_SKIP_NAN | TALLY_WORDS_OUT;
        tally_plan *there = plan_of(gpu, ops[k], TALLY_ALL_VALUES, flags),
                   *here = plan_of(cpu, ops[k], TALLY_ALL_VALUES, flags);
        args.x = x;
        args.out = expected;
        args.out_bytes = sizeof expected;
        assert_ok(tally_run(here, &args, TALLY_SYNCHRONOUS));
        args.x = memory;
        args.out = memory + sizeof x;
        assert_ok(tally_run(there, &args, TALLY_SYNCHRONOUS));
        memset(found, 0, sizeof found);
        assert_ok(tally_copy(gpu, found, memory + sizeof x, sizeof found));
        tally_words_info info = {.struct_size = sizeof info};
        tally_desc desc = describe(ops[k], TALLY_REDUCE, TALLY_F32);
        desc.mode = TALLY_EXACT;
        desc.flags = flags;
        assert_ok(tally_words_describe(&desc, &info));
        assert_memory_equal(found, expected, info.count * sizeof *found);
        tally_plan_destroy(there);
        tally_plan_destroy(here);
    }
    tally_free(gpu, memory);
}

static void no_pieces_are_a_sum_of_nothing(void **state) {
    tally_plan *plan = plan_of(gpu, TALLY_SUM, TALLY_ALL_VALUES, 0);
    float found = 1;
    void *memory;
    (void)state;
    assert_ok(tally_alloc(gpu, 4, &memory));
    assert_ok(tally_finish(plan, memory, sizeof found));
    assert_ok(tally_copy(gpu, &found, memory, sizeof found));
    assert_true(found == 0);
    tally_free(gpu, memory);
    tally_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_add_up_to_the_whole),
        cmocka_unit_test(words_count_what_is_not_left_out),
        cmocka_unit_test(no_pieces_are_a_sum_of_nothing),
    };
    if (tally_open("vulkan:0", &gpu) != TALLY_OK || tally_open("cpu", &cpu) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    const int failed = cmocka_run_group_tests_name("exact pieces on Vulkan", tests, NULL, NULL);
    tally_close(cpu);
    tally_close(gpu);
    return failed;
}
