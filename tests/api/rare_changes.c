/* Scans whose value changes rarely, or overflows: blocks without a change are filled, and blocks of variances whose
 * squares overflow are scanned one by one. Results are those of the plainest loop, wherever the changes lie. */
#include "support.h"

#include <math.h>

#include "../oracle/random.h"

enum { N = 40000 };

static unsigned char x[N * sizeof(double)], out[N * 2 * sizeof(double)];
static int values[N];

static void put(void *to, tally_dtype type, size_t i, int value) {
#define PUT(TYPE, c_type)                                                                                              \
    case TYPE:                                                                                                         \
        ((c_type *)to)[i] = (c_type)value;                                                                             \
        return;
    switch (type) {
        PUT(TALLY_U8, uint8_t)
        PUT(TALLY_I16, int16_t)
        PUT(TALLY_I32, int32_t)
        PUT(TALLY_U64, uint64_t)
        PUT(TALLY_F32, float)
        PUT(TALLY_F64, double)
    default:
        fail();
    }
}

static double get(const void *from, tally_dtype type, size_t i) {
#define GET(TYPE, c_type)                                                                                              \
    case TYPE:                                                                                                         \
        return (double)((const c_type *)from)[i];
    switch (type) {
        GET(TALLY_U8, uint8_t)
        GET(TALLY_I16, int16_t)
        GET(TALLY_U16, uint16_t)
        GET(TALLY_I32, int32_t)
        GET(TALLY_U32, uint32_t)
        GET(TALLY_I64, int64_t)
        GET(TALLY_U64, uint64_t)
        GET(TALLY_F32, float)
        GET(TALLY_F64, double)
    default:
        fail();
        return 0;
    }
}

/* The prefix of elements from .. to, both included: the first component of the result. */
static double next(tally_op op, bool reverse, double before, size_t i, size_t *place) {
    const int value = values[i];
    const bool arg = op == TALLY_ARGMIN || op == TALLY_ARGMAX;
    switch (op) {
    case TALLY_MIN:
    case TALLY_MINMAX:
        return fmin(before, value);
    case TALLY_MAX:
    case TALLY_NORM_INF:
        return fmax(before, value);
    case TALLY_ANY:
        return before || value;
    case TALLY_ALL:
        return before && value;
    case TALLY_BAND:
        return (int)before & value;
    case TALLY_BOR:
        return (int)before | value;
    default:
        assert_true(arg);
        const bool is_before = op == TALLY_ARGMIN ? value < values[*place] : value > values[*place];
        if (is_before || (reverse && value == values[*place]))
            *place = i;
        return (double)*place;
    }
}

static void check(tally_device *device, tally_op op, tally_form form, bool reverse, tally_dtype type) {
    tally_desc desc = describe(op, form, type);
    desc.flags = reverse ? TALLY_REVERSE : 0;
    tally_plan *plan;
    size_t elements;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_plan_describe(plan, &desc, &elements));
    for (size_t i = 0; i < N; i++)
        put(x, type, i, values[i]);
    tally_args args = arguments(x, N, out, sizeof out);
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
    const size_t first = reverse ? N - 1 : 0;
    size_t place = first;
    const double start = op == TALLY_ALL                      ? 1
                         : op == TALLY_ANY || op == TALLY_BOR ? 0
                         : op == TALLY_BAND                   ? 255
                                                              : values[first];
    double value = start;
    for (size_t k = 0; k < N; k++) {
        const size_t i = reverse ? N - 1 - k : k;
        const double before = value;
        value = next(op, reverse, value, i, &place);
        const double expected = form == TALLY_EXCLUSIVE_SCAN ? before : value, got = get(out, desc.out, elements * i);
        if (k == 0 && form == TALLY_EXCLUSIVE_SCAN) /* of nothing */
            continue;
        if (got != expected)
            fail_msg("%s of %s, %s%s, %zu: %g instead of %g", tally_op_name(op), tally_dtype_name(type),
                     form == TALLY_EXCLUSIVE_SCAN ? "exclusive" : "inclusive", reverse ? " reverse" : "", i, got,
                     expected);
    }
}

static void rare_changes_are_not_missed(void **state) {
    static const tally_dtype types[] = {TALLY_U8, TALLY_I16, TALLY_I32, TALLY_U64, TALLY_F32, TALLY_F64};
    static const tally_op ops[] = {TALLY_MIN, TALLY_MAX, TALLY_MINMAX,   TALLY_ARGMIN, TALLY_ARGMAX,
                                   TALLY_ANY, TALLY_ALL, TALLY_NORM_INF, TALLY_BAND,   TALLY_BOR};
    uint64_t random = 5;
    for (int round = 0; round < 6; round++)
        for (size_t o = 0; o < COUNT_OF(ops); o++) {
            const tally_op op = ops[o];
            const int usual = op == TALLY_ANY    ? 0
                              : op == TALLY_ALL  ? 1
                              : op == TALLY_BAND ? 127
                              : op == TALLY_BOR  ? 1
                                                 : 60;
            for (size_t i = 0; i < N; i++)
                values[i] = usual;
            for (int change = 0; change < 4 * round; change++) {
                const int by = (int)random_below(&random, 50);
                int *const one = &values[random_below(&random, N)];
                *one = op == TALLY_ANY ? 1 : op == TALLY_ALL ? 0 : by % 2 || op == TALLY_BOR ? usual + by : usual - by;
            }
            for (size_t t = 0; t < COUNT_OF(types); t++)
                for (int how = 0; how < 4; how++) {
                    const tally_form form = how / 2 ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN;
                    const bool none = op == TALLY_MINMAX || op == TALLY_ARGMIN || op == TALLY_ARGMAX;
                    const bool is_float = types[t] == TALLY_F32 || types[t] == TALLY_F64;
                    if ((how / 2 && none) || (is_float && (op == TALLY_BAND || op == TALLY_BOR)))
                        continue;
                    check(*state, op, form, how % 2, types[t]);
                }
        }
}

/* ---- variances ---- */

static double numbers[N], variances[N];

static void check_column(const double *column, const double *results, size_t extent, size_t stride, bool reverse) {
    double mean = 0, squares = 0;
    for (size_t k = 0; k < extent; k++) {
        const size_t i = (reverse ? extent - 1 - k : k) * stride;
        const double d = column[i] - mean, n = (double)(k + 1);
        mean += d / n;
        squares += d * (column[i] - mean);
        const double expected = squares / n;
        if (isnan(expected)   ? !isnan(results[i])
            : isinf(expected) ? results[i] != expected
                              : !(fabs(results[i] - expected) <= 1e-11 * expected))
            fail_msg("element %zu of %zu, %zu apart%s: %g instead of %g", k, extent, stride, reverse ? ", reverse" : "",
                     results[i], expected);
    }
}

static void variances_overflow_where_squares_do(void **state) {
    static const struct {
        uint64_t outer, extent, inner;
    } shapes[] = {{1, 1000, 1}, {1, 9000, 1}, {50, 7, 1}, {20, 100, 1}, {1, 200, 5}, {3, 40, 70}, {2, 33, 300}};
    uint64_t random = 8;
    for (size_t k = 0; k < COUNT_OF(shapes); k++)
        for (int how = 0; how < 8; how++) {
            const size_t extent = shapes[k].extent, inner = shapes[k].inner, n = shapes[k].outer * extent * inner;
            for (size_t i = 0; i < n; i++)
                numbers[i] = 3 + random_normal(&random);
            if (how & 1) /* its square is no number */
                numbers[random_below(&random, n)] = 1e200;
            if (how & 2)
                numbers[random_below(&random, n)] = NAN;
            tally_desc desc = describe(TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_F64);
            desc.grouping = TALLY_AXIS;
            desc.flags = how & 4 ? TALLY_REVERSE : 0;
            tally_args args = arguments(numbers, 0, variances, n * sizeof *variances);
            args.shape.outer = shapes[k].outer;
            args.shape.extent = extent;
            args.shape.inner = inner;
            assert_ok(run_desc(*state, &desc, &args));
            for (size_t g = 0; g < shapes[k].outer * inner; g++) {
                const size_t at = g / inner * extent * inner + g % inner;
                check_column(numbers + at, variances + at, extent, inner, how & 4);
            }
        }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rare_changes_are_not_missed),
        cmocka_unit_test(variances_overflow_where_squares_do),
    };
    return cmocka_run_group_tests_name("rare changes", tests, open_test_device, close_test_device);
}
