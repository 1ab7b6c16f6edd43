/* Scans of columns give what each column gives alone: any number of rows and columns, forwards and from the back,
 * exclusive or not, in place or not, every operator and type. */
#include "whole_numbers.h"

enum { MOST = 12000, ROUNDS = 12, WIDEST_RESULT = 16 };

/* A few rows, or any number, whose digits are as many as any other's. */
static uint64_t random_rows(void) {
    uint64_t limit = 2;
    while (limit < 1000 && random_below(4))
        limit *= 2;
    return 1 + random_below(random_below(2) ? 5 : limit);
}

static void compare(tally_device *device, tally_desc axis, size_t misplaced) {
    tally_desc all = axis, complete = TALLY_DESC_INIT;
    all.grouping = TALLY_ALL_VALUES;
    tally_plan *one, *many;
    const tally_status made = tally_plan_create(device, &axis, &many);
    if (made == TALLY_UNSUPPORTED)
        return; /* the operator does not have the type or the form */
    assert_ok(made);
    assert_ok(tally_plan_create(device, &all, &one));
    size_t elements;
    assert_ok(tally_plan_describe(many, &complete, &elements));
    const size_t bytes = tally_dtype_size(axis.in), result = elements * tally_dtype_size(complete.out);
    const uint64_t rows = random_rows(), inner = 1 + random_below(random_below(2) ? MOST / rows : 150),
                   most = MOST / rows / inner, outer = most < 2 ? 1 : 1 + random_below(most);
    const uint64_t n = outer * rows * inner;
    unsigned char *x = malloc((n + misplaced) * bytes), *y = malloc((n + misplaced) * bytes);
    unsigned char *out = malloc((n + misplaced) * result), *own_out = malloc(rows * result);
    unsigned char *own_x = malloc(rows * bytes), *own_y = malloc(rows * bytes),
                  *saved = malloc((n + misplaced) * bytes);
    fill(axis.in, n + misplaced, x);
    fill(axis.in, n + misplaced, y);
    memcpy(saved, x, (n + misplaced) * bytes);
    const bool in_place = result == bytes && random_below(3) == 0;
    unsigned char *const results = in_place ? x + misplaced * bytes : out + misplaced * result;
    tally_args args = arguments(x + misplaced * bytes, rows, results, n * result);
    args.y = axis.op == TALLY_DOT ? y + misplaced * bytes : NULL;
    args.shape.outer = outer;
    args.shape.inner = inner;
    assert_ok(tally_run(many, &args, NULL));
    for (uint64_t g = 0; g < outer * inner; g += 1 + random_below(1 + outer * inner / 50)) {
        const uint64_t first = g / inner * rows * inner + g % inner;
        for (uint64_t r = 0; r < rows; r++) {
            memcpy(own_x + r * bytes, saved + (misplaced + first + r * inner) * bytes, bytes);
            memcpy(own_y + r * bytes, y + (misplaced + first + r * inner) * bytes, bytes);
        }
        tally_args own = arguments(own_x, rows, own_out, rows * result);
        own.y = axis.op == TALLY_DOT ? own_y : NULL;
        assert_ok(tally_run(one, &own, NULL));
        for (uint64_t r = 0; r < rows; r++)
            if (memcmp(results + (first + r * inner) * result, own_out + r * result, result) != 0)
                fail_msg("%s of %s, %s%s%s: row %llu of column %llu of %llu x %llu x %llu differs",
                         tally_op_name(axis.op), tally_dtype_name(axis.in),
                         axis.form == TALLY_EXCLUSIVE_SCAN ? "exclusive" : "inclusive",
                         axis.flags & TALLY_REVERSE ? ", from the back" : "", in_place ? ", in place" : "",
                         (unsigned long long)r, (unsigned long long)g, (unsigned long long)outer,
                         (unsigned long long)rows, (unsigned long long)inner);
    }
    free(x), free(y), free(out), free(own_out), free(own_x), free(own_y), free(saved);
    tally_plan_destroy(one);
    tally_plan_destroy(many);
}

/* Products of many elements may overflow on the way, in an order that differs. */
static void give_what_each_gives_alone(void **state) {
    for (int op = 0; op < TALLY_OP_COUNT; op++)
        for (int type = TALLY_DEFAULT + 1; type < TALLY_DTYPE_COUNT; type++)
            for (int round = 0; !rounds_terms((tally_op)op) && op != TALLY_PROD && round < ROUNDS; round++) {
                tally_desc axis =
                    describe((tally_op)op, round % 2 ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, (tally_dtype)type);
                axis.grouping = TALLY_AXIS;
                axis.flags = random_below(3) ? 0 : TALLY_REVERSE;
                axis.out = random_below(2) ? TALLY_DEFAULT : (tally_dtype)type;
                compare(*state, axis, random_below(4));
            }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(give_what_each_gives_alone),
    };
    return cmocka_run_group_tests_name("scanned columns", tests, open_test_device, close_test_device);
}
