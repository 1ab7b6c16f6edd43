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

/* Columns with tops of their own, side by side, and rows, which are packed or not. */
static void check_axis(tally_plan *plan, tally_dtype type, size_t extent, size_t inner) {
    enum { OUTER = 3, MOST_COLUMNS = 3 * 70 };
    static long double sums[MOST_COLUMNS];
    double got[MOST_COLUMNS];
    for (size_t g = 0; g < OUTER; g++)
        for (size_t j = 0; j < inner; j++) {
            long double *sum = &sums[g * inner + j];
            *sum = 0;
            for (size_t r = 0; r < extent; r++) {
                const unsigned below = r == (7 * j + g) % extent ? 0 : 1 + (unsigned)((r * 7 + j) % (j % 3 ? 4 : 70));
                put(type, (g * extent + r) * inner + j, 80 + j % 40 - below);
                *sum += expl(-(long double)below);
            }
        }
    const tally_args args = {.struct_size = sizeof args,
                             .shape = {OUTER, extent, inner, 0},
                             .x = x,
                             .out = got,
                             .out_bytes = OUTER * inner * sizeof *got};
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    for (size_t i = 0; i < OUTER * inner; i++) {
        const long double expected = 80 + (i % inner) % 40 + logl(sums[i]);
        if (fabsl((long double)got[i] - expected) > 24 * (long double)DBL_EPSILON * expected)
            fail_msg("column %zu of 3 x %zu x %zu of %s: %.17g instead of %.17Lg", i, extent, inner,
                     tally_dtype_name(type), got[i], expected);
    }
}

static void columns_and_rows_count(void **state) {
    const size_t widths[] = {1, 2, 7, 31, 32, 33, 70};
    for (int type = TALLY_I8; type <= TALLY_U64; type++) {
        tally_desc desc = describe(TALLY_LOGSUMEXP, TALLY_REDUCE, (tally_dtype)type);
        tally_plan *plan;
        desc.grouping = TALLY_AXIS;
        assert_ok(tally_plan_create(*state, &desc, &plan));
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (size_t extent = 1; 3 * extent * widths[w] <= MOST && extent < 300; extent += 1 + extent / 4)
                check_axis(plan, (tally_dtype)type, extent, widths[w]);
        tally_plan_destroy(plan);
    }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_count),
        cmocka_unit_test(columns_and_rows_count),
    };
    return cmocka_run_group_tests_name("exponentials of integers", tests, open_test_device, close_test_device);
}
