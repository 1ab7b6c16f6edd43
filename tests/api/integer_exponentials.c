/* logsumexp of integers of every type, wherever they lie and however many there are: all e^(x - largest) count, and
 * what lies behind the elements does not. */
#include <float.h>
#include <math.h>

#include "support.h"

enum { MOST = 9000, SPARE = 64 };

static unsigned char x[(MOST + SPARE) * sizeof(uint64_t)];

/* The lowest bytes of a number as element i. */
static void put(tally_dtype type, size_t i, uint64_t value) {
    const size_t bytes = tally_dtype_size(type);
    for (size_t b = 0; b < bytes; b++)
        x[i * bytes + b] = (unsigned char)(value >> 8 * (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? bytes - 1 - b : b));
}

/* n elements, of which every 'apart'-th one is 'top' and others are up to 'distance' below; behind them are larger
 * ones. The result is top + log(the sum of e^-d). */
static void check(tally_plan *plan, tally_dtype type, int64_t top, size_t n, size_t apart, unsigned distance) {
    long double sum = 0;
    for (size_t i = 0; i < n + SPARE; i++) {
        const unsigned below = i % apart == apart / 2 || i + 1 == n ? 0 : 1 + (unsigned)(i * 7 % distance);
        put(type, i, i < n ? (uint64_t)top - below : (uint64_t)top + 1);
        sum += i < n ? expl(-(long double)below) : 0;
    }
    double got;
    const tally_args args = arguments(x, n, (unsigned char *)&got, sizeof got);
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    const long double expected = (long double)top + logl(sum);
    const long double bound = 24 * (long double)DBL_EPSILON * (1 + fabsl((long double)top));
    if (fabsl((long double)got - expected) > bound)
        fail_msg("%zu of %s, up to %u below %lld: %.17g instead of %.17Lg", n, tally_dtype_name(type), distance,
                 (long long)top, got, expected);
}

static void all_count(void **state) {
    for (int type = TALLY_I8; type <= TALLY_U64; type++) {
        const unsigned bits = 8 * (unsigned)tally_dtype_size((tally_dtype)type);
        const bool is_signed = type <= TALLY_I64;
        const int64_t tops[] = {is_signed ? -50 : 77, 77,
                                is_signed ? (INT64_C(1) << (bits < 53 ? bits - 1 : 52)) - 2
                                          : (INT64_C(1) << (bits < 53 ? bits : 52)) - 2};
        const tally_desc desc = describe(TALLY_LOGSUMEXP, TALLY_REDUCE, (tally_dtype)type);
        tally_plan *plan;
        assert_ok(tally_plan_create(*state, &desc, &plan));
        for (size_t n = 1; n <= MOST; n += 1 + n / 16)
            for (size_t t = 0; t < sizeof tops / sizeof *tops; t++) {
                check(plan, (tally_dtype)type, tops[t], n, 1 + n / 2, 3);
                check(plan, (tally_dtype)type, tops[t], n, n + 1, 40);
                check(plan, (tally_dtype)type, tops[t], n, 5000, 70);
            }
        tally_plan_destroy(plan);
    }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_count),
    };
    return cmocka_run_group_tests_name("exponentials of integers", tests, open_test_device, close_test_device);
}
