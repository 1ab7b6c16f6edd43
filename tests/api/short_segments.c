/* Many short segments give what each of them gives alone: every operator and type, lengths of every kind, inputs that
 * begin at any element and end where memory ends. */
#include "whole_numbers.h"

enum { MOST = 6000, ROUNDS = 3 };

/* Lengths up to 'most', some of which are empty or long; returns the number of segments. */
static uint64_t cut(uint64_t n, uint64_t most, bool empties, int64_t *offsets) {
    uint64_t groups = 0;
    for (uint64_t at = 0; at < n;) {
        offsets[groups++] = (int64_t)at;
        const uint64_t chance = random_below(50);
        uint64_t length = chance == 0 ? 60 + random_below(100) : chance < 5 && empties ? 0 : 1 + random_below(most);
        at += length < n - at ? length : n - at;
    }
    offsets[groups] = (int64_t)n;
    return groups;
}

/* Segments of one length, of which the last may be shorter, and one may differ. */
static uint64_t cut_evenly(uint64_t n, uint64_t length, bool one_differs, int64_t *offsets) {
    const uint64_t odd = one_differs ? random_below(n / length + 1) : UINT64_MAX;
    uint64_t groups = 0;
    for (uint64_t at = 0; at < n;) {
        const uint64_t own = groups == odd ? 1 + random_below(2 * length) : length;
        offsets[groups++] = (int64_t)at;
        at += own < n - at ? own : n - at;
    }
    offsets[groups] = (int64_t)n;
    return groups;
}

typedef enum cut_kind { OF_ANY_LENGTH, OF_ONE_LENGTH, OF_ONE_BUT_FOR_ONE } cut_kind;

static void compare(tally_device *device, tally_op op, tally_dtype type, cut_kind kind, uint64_t most_length,
                    size_t misplaced) {
    tally_desc all = describe(op, TALLY_REDUCE, type), segments = all;
    segments.grouping = TALLY_SEGMENTS;
    tally_plan *one, *many;
    const tally_status made = tally_plan_create(device, &all, &one);
    if (made == TALLY_UNSUPPORTED)
        return; /* the operator does not have the type */
    assert_ok(made);
    assert_ok(tally_plan_create(device, &segments, &many));
    const size_t bytes = tally_dtype_size(type), n = 500 + random_below(MOST - 500);
    const bool empties =
        op != TALLY_MIN && op != TALLY_MAX && op != TALLY_MINMAX && op != TALLY_ARGMIN && op != TALLY_ARGMAX;
    static int64_t offsets[MOST * 2];
    static unsigned char out[MOST * 32], expected[MOST * 32];
    unsigned char *x = malloc(n * bytes), *y = malloc(n * bytes); /* a sanitizer sees what lies behind them */
    fill(type, n, x);
    fill(type, n, y);
    const uint64_t groups = kind == OF_ANY_LENGTH
                                ? cut(n - misplaced, most_length, empties, offsets)
                                : cut_evenly(n - misplaced, most_length, kind == OF_ONE_BUT_FOR_ONE, offsets);
    tally_desc complete = TALLY_DESC_INIT;
    size_t elements;
    assert_ok(tally_plan_describe(many, &complete, &elements));
    const size_t result = elements * tally_dtype_size(complete.out);
    tally_args args = arguments(x + misplaced * bytes, n - misplaced, out, groups * result);
    args.y = op == TALLY_DOT ? y + misplaced * bytes : NULL;
    args.shape.groups = groups;
    args.offsets = offsets;
    assert_ok(tally_run(many, &args, NULL));
    for (uint64_t g = 0; g < groups; g++) {
        const size_t from = misplaced + (size_t)offsets[g];
        tally_args own =
            arguments(x + from * bytes, (uint64_t)(offsets[g + 1] - offsets[g]), expected + g * result, result);
        own.y = op == TALLY_DOT ? y + from * bytes : NULL;
        assert_ok(tally_run(one, &own, NULL));
        if (memcmp(out + g * result, expected + g * result, result) != 0)
            fail_msg("%s of %s: segment %llu of %llu, %lld .. %lld, differs", tally_op_name(op), tally_dtype_name(type),
                     (unsigned long long)g, (unsigned long long)groups, (long long)offsets[g],
                     (long long)offsets[g + 1]);
    }
    free(x);
    free(y);
    tally_plan_destroy(one);
    tally_plan_destroy(many);
}

static void give_what_each_gives_alone(void **state) {
    static const uint64_t lengths[] = {1, 3, 9, 30, 64};
    for (int op = 0; op < TALLY_OP_COUNT; op++)
        for (int type = TALLY_DEFAULT + 1; type < TALLY_DTYPE_COUNT; type++)
            for (size_t k = 0; !rounds_terms((tally_op)op) && k < COUNT_OF(lengths); k++)
                for (int round = 0; round < ROUNDS; round++)
                    compare(*state, (tally_op)op, (tally_dtype)type, OF_ANY_LENGTH, lengths[k], random_below(4));
}

static void of_one_length_give_what_each_gives_alone(void **state) {
    for (int op = 0; op < TALLY_OP_COUNT; op++)
        for (int type = TALLY_DEFAULT + 1; !rounds_terms((tally_op)op) && type < TALLY_DTYPE_COUNT; type++)
            for (int round = 0; round < 4 * ROUNDS; round++)
                compare(*state, (tally_op)op, (tally_dtype)type, round % 2 ? OF_ONE_LENGTH : OF_ONE_BUT_FOR_ONE,
                        2 + random_below(round % 4 < 2 ? 12 : 280), random_below(4));
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(give_what_each_gives_alone),
        cmocka_unit_test(of_one_length_give_what_each_gives_alone),
    };
    return cmocka_run_group_tests_name("short segments", tests, open_test_device, close_test_device);
}
