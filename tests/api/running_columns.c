/* Scans of columns, of any number of rows and columns, in either direction and in place, give what each column gives
 * alone: every operator and type. */
#include "whole_numbers.h"

enum { MOST = 9000, ROUNDS = 40, RESULT_BYTES = 16 };

static uint64_t random_size(uint64_t most) {
    uint64_t limit = 2;
    while (limit < most && random_below(5))
        limit *= 2;
    return 1 + random_below(limit < most ? limit : most);
}

/* Element number i of x, of so many bytes; 'rows' of them, 'stride' apart. */
static void take_column(const unsigned char *x, size_t bytes, uint64_t first, uint64_t rows, uint64_t stride,
                        unsigned char *column) {
    for (uint64_t r = 0; r < rows; r++)
        memcpy(column + r * bytes, x + (first + r * stride) * bytes, bytes);
}

static void compare(tally_device *device, tally_op op, tally_dtype type, bool in_place, bool reverse) {
    static unsigned char x[MOST * RESULT_BYTES], out[MOST * RESULT_BYTES], copy[MOST * RESULT_BYTES];
    static unsigned char own[MOST * RESULT_BYTES], own_out[MOST * RESULT_BYTES], expected[MOST * RESULT_BYTES];
    tally_desc axis = describe(op, TALLY_INCLUSIVE_SCAN, type), all = axis, complete = TALLY_DESC_INIT;
    axis.grouping = TALLY_AXIS;
    axis.flags = all.flags = reverse ? TALLY_REVERSE : 0;
    tally_plan *one, *many;
    const tally_status made = tally_plan_create(device, &all, &one);
    if (made == TALLY_UNSUPPORTED)
        return; /* the operator does not have the type */
    assert_ok(made);
    assert_ok(tally_plan_create(device, &axis, &many));
    size_t elements;
    assert_ok(tally_plan_describe(many, &complete, &elements));
    const size_t bytes = tally_dtype_size(type), result = elements * tally_dtype_size(complete.out);
    const uint64_t inner = random_size(700), rows = random_size(MOST / inner), outer = random_size(MOST / inner / rows),
                   n = outer * rows * inner;
    fill(type, n, x);
    if (in_place && bytes == result)
        memcpy(out, x, n * bytes);
    memcpy(copy, x, n * bytes);
    tally_args args = arguments(in_place && bytes == result ? out : x, rows, out, n * result);
    args.shape.outer = outer;
    args.shape.inner = inner;
    assert_ok(tally_run(many, &args, NULL));
    for (uint64_t g = 0; g < outer * inner; g++) {
        const uint64_t first = g / inner * rows * inner + g % inner;
        take_column(copy, bytes, first, rows, inner, own);
        take_column(out, result, first, rows, inner, own_out);
        const tally_args alone = arguments(own, rows, expected, rows * result);
        assert_ok(tally_run(one, &alone, NULL));
        if (memcmp(own_out, expected, rows * result) != 0)
            fail_msg("%s of %s%s%s: column %llu of %llu x %llu x %llu differs", tally_op_name(op),
                     tally_dtype_name(type), in_place ? ", in place" : "", reverse ? ", reverse" : "",
                     (unsigned long long)g, (unsigned long long)outer, (unsigned long long)rows,
                     (unsigned long long)inner);
    }
    tally_plan_destroy(one);
    tally_plan_destroy(many);
}

static void give_what_each_gives_alone(void **state) {
    for (int op = 0; op < TALLY_OP_COUNT; op++)
        for (int type = TALLY_DEFAULT + 1; type < TALLY_DTYPE_COUNT; type++)
            for (int round = 0; !rounds_terms((tally_op)op) && op != TALLY_DOT && op != TALLY_PROD && round < ROUNDS;
                 round++)
                compare(*state, (tally_op)op, (tally_dtype)type, random_below(3) == 0, random_below(4) == 0);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(give_what_each_gives_alone),
    };
    return cmocka_run_group_tests_name("running columns", tests, open_test_device, close_test_device);
}
