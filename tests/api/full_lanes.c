/* Reductions whose elements are as large as they can be, of every length up to many vectors: no lane may overflow, and
 * the last elements, which fill no vector, count once. What lies behind them would change every result. */
#include "support.h"

enum { MOST = 17 * 1024, SPARE = 64 };

static unsigned char x[(MOST + SPARE) * sizeof(uint64_t)];

/* n elements and then others. 0 and -1 have bytes that are alike in every type. */
static void fill(tally_dtype type, size_t n, int value, int behind) {
    const size_t bytes = tally_dtype_size(type);
    memset(x, value & 255, n * bytes);
    memset(x + n * bytes, behind & 255, SPARE * bytes);
}

static int64_t result(tally_device *device, tally_op op, tally_dtype type, size_t n) {
    const tally_desc desc = describe(op, TALLY_REDUCE, type);
    int64_t out = 0;
    unsigned char own[sizeof out];
    const tally_args args = arguments(x, n, own, sizeof own);
    tally_plan *plan;
    tally_desc known = desc;
    size_t elements;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_plan_describe(plan, &known, &elements));
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
    switch (tally_dtype_size(known.out)) {
    case 1:
        return known.out == TALLY_I8 ? (int8_t)own[0] : own[0];
    case 2: {
        int16_t narrow;
        memcpy(&narrow, own, sizeof narrow);
        return known.out == TALLY_I16 ? narrow : (uint16_t)narrow;
    }
    default:
        memcpy(&out, own, sizeof out);
        return out;
    }
}

static void check(tally_device *device, tally_op op, tally_dtype type, size_t n, int value, int64_t expected) {
    fill(type, n, value, ~value);
    const int64_t got = result(device, op, type, n);
    if (got != expected)
        fail_msg("%s of %zu %s: %lld instead of %lld", tally_op_name(op), n, tally_dtype_name(type), (long long)got,
                 (long long)expected);
}

static void lanes_hold_the_largest_elements(void **state) {
    for (size_t n = 1; n <= MOST; n += n < 1100 || n % 64 == 63 ? 1 : 63 - n % 64) {
        const int64_t count = (int64_t)n;
        check(*state, TALLY_SUM, TALLY_U8, n, -1, 255 * count);
        check(*state, TALLY_SUMSQ, TALLY_U8, n, -1, 255 * 255 * count);
        check(*state, TALLY_COUNT_NONZERO, TALLY_I8, n, -1, count);
        check(*state, TALLY_COUNT_NONZERO, TALLY_U16, n, -1, count);
        check(*state, TALLY_SUM, TALLY_U16, n, -1, 65535 * count);
        check(*state, TALLY_SUM, TALLY_I16, n, -1, -count);
        check(*state, TALLY_PROD, TALLY_I8, n, -1, n % 2 ? -1 : 1);
    }
}

static void elements_behind_the_last_do_not_count(void **state) {
    for (size_t n = 1; n <= 1100; n++) {
        check(*state, TALLY_MIN, TALLY_U16, n, -1, 65535);
        check(*state, TALLY_MAX, TALLY_I8, n, -1, -1);
        check(*state, TALLY_BAND, TALLY_I8, n, -1, -1);
        check(*state, TALLY_MIN, TALLY_I16, n, 0, 0);
        check(*state, TALLY_MAX, TALLY_U16, n, 0, 0);
        check(*state, TALLY_BOR, TALLY_I8, n, 0, 0);
        check(*state, TALLY_SUM, TALLY_U8, n, 0, 0);
        check(*state, TALLY_COUNT_NONZERO, TALLY_I8, n, 0, 0);
        check(*state, TALLY_ARGMAX, TALLY_I16, n, -1, 0);
    }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_hold_the_largest_elements),
                                       cmocka_unit_test(elements_behind_the_last_do_not_count)};
    return cmocka_run_group_tests_name("full lanes", tests, open_test_device, close_test_device);
}
