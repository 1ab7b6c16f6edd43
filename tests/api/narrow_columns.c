/* Columns that fill no vector, of any number of rows and in groups of any number, give what each of them gives alone:
 * every operator and type, inputs that begin at any element and end where memory ends. */
#include "whole_numbers.h"

enum { MOST = 12000, ROUNDS = 6 };

/* A number up to 'most' whose digits are as many as any other's. */
static uint64_t random_size(uint64_t most) {
    uint64_t limit = 2;
    while (limit < most && random_below(4))
        limit *= 2;
    return 1 + random_below(limit < most ? limit : most);
}

static void compare(tally_device *device, tally_op op, tally_dtype type, size_t misplaced) {
    tally_desc all = describe(op, TALLY_REDUCE, type), axis = all;
    axis.grouping = TALLY_AXIS;
    tally_plan *one, *many;
    const tally_status made = tally_plan_create(device, &all, &one);
    if (made == TALLY_UNSUPPORTED)
        return; /* the operator does not have the type */
    assert_ok(made);
    assert_ok(tally_plan_create(device, &axis, &many));
    const size_t bytes = tally_dtype_size(type);
    const uint64_t inner = 2 + random_below(random_below(3) ? 8 : 70), rows = 1 + random_size(MOST / inner - 1),
                   outer = random_size(MOST / inner / rows), n = outer * rows * inner;
    static unsigned char out[MOST * 32], expected[32];
    unsigned char *x = malloc((n + misplaced) * bytes), *y = malloc((n + misplaced) * bytes);
    unsigned char *own_x = malloc(rows * bytes), *own_y = malloc(rows * bytes);
    fill(type, n + misplaced, x);
    fill(type, n + misplaced, y);
    tally_desc complete = TALLY_DESC_INIT;
    size_t elements;
    assert_ok(tally_plan_describe(many, &complete, &elements));
    const size_t result = elements * tally_dtype_size(complete.out);
    tally_args args = arguments(x + misplaced * bytes, rows, out, outer * inner * result);
    args.y = op == TALLY_DOT ? y + misplaced * bytes : NULL;
    args.shape.outer = outer;
    args.shape.inner = inner;
    assert_ok(tally_run(many, &args, NULL));
    for (uint64_t g = 0; g < outer * inner; g++) {
        for (uint64_t r = 0; r < rows; r++) {
            const size_t at = misplaced + (size_t)((g / inner * rows + r) * inner + g % inner);
            memcpy(own_x + r * bytes, x + at * bytes, bytes);
            memcpy(own_y + r * bytes, y + at * bytes, bytes);
        }
        tally_args own = arguments(own_x, rows, expected, result);
        own.y = op == TALLY_DOT ? own_y : NULL;
        assert_ok(tally_run(one, &own, NULL));
        if (memcmp(out + g * result, expected, result) != 0)
            fail_msg("%s of %s: column %llu of %llu x %llu x %llu differs", tally_op_name(op), tally_dtype_name(type),
                     (unsigned long long)g, (unsigned long long)outer, (unsigned long long)rows,
                     (unsigned long long)inner);
    }
    free(x);
    free(y);
    free(own_x);
    free(own_y);
    tally_plan_destroy(one);
    tally_plan_destroy(many);
}

/* Products of many elements may overflow on the way, in an order that differs. */
static void give_what_each_gives_alone(void **state) {
    for (int op = 0; op < TALLY_OP_COUNT; op++)
        for (int type = TALLY_DEFAULT + 1; type < TALLY_DTYPE_COUNT; type++)
            for (int round = 0; !rounds_terms((tally_op)op) && op != TALLY_PROD && round < ROUNDS; round++)
                compare(*state, (tally_op)op, (tally_dtype)type, random_below(4));
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(give_what_each_gives_alone),
    };
    return cmocka_run_group_tests_name("narrow columns", tests, open_test_device, close_test_device);
}
