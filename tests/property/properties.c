/* Laws between operators, forms and groupings, which hold for any numbers and need no oracle. Inputs are random; a
 * failure names the seed of its round, and TALLY_TEST_SEED replays it. Integers and small-integer floats hold exactly,
 * other floats within the bounds of tests/oracle/reference.h. */
#include "../api/support.h"

#include <inttypes.h>
#include <math.h>

#include "../oracle/random.h"

enum { ROUNDS = 120, MOST = 70000 };

typedef struct round_state {
    tally_device *device;
    uint64_t seed, random;
    size_t n;
} round_state;

static int64_t integers[MOST];
static int64_t results[MOST], others[MOST], third[MOST];
static float floats[MOST], float_results[MOST];
static double doubles[MOST], double_results[MOST], double_others[MOST];

static const size_t round_sizes[] = {1, 2, 3, 17, 64, 255, 1000, 4096, 4097, 20000, MOST};

/* Calls a law with fresh numbers, round after round. */
static void each_round(void **state, void (*law)(round_state *)) {
    const char *replay = getenv("TALLY_TEST_SEED");
    uint64_t first = replay ? strtoull(replay, NULL, 0) : 1;
    for (uint64_t seed = first; seed < first + (replay ? 1 : ROUNDS); seed++) {
        round_state r = {*state, seed, seed_of(7, seed), 0};
        r.n = random_below(&r.random, 3) ? 1 + random_below(&r.random, 3000)
                                         : round_sizes[random_below(&r.random, COUNT_OF(round_sizes))];
        for (size_t k = 0; k < r.n; k++) {
            integers[k] = (int64_t)random_bits(&r.random);
            integers[k] >>= random_below(&r.random, 60);
            doubles[k] = random_normal(&r.random);
            floats[k] = (float)((int)random_below(&r.random, 7) - 3);
        }
        law(&r);
    }
}

#define require(r, condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("TALLY_TEST_SEED=%" PRIu64 ", n = %zu: not %s", (r)->seed, (r)->n, #condition);                   \
    } while (0)

static void run(round_state *r, const tally_desc *desc, const void *x, size_t n, void *out, size_t out_bytes) {
    tally_args args = arguments(x, n, out, out_bytes);
    tally_status status = run_desc(r->device, desc, &args);
    if (status != TALLY_OK)
        fail_msg("TALLY_TEST_SEED=%" PRIu64 ", n = %zu: %s: %s", r->seed, n, tally_op_name(desc->op),
                 tally_last_error());
}

static void run_form(round_state *r, tally_op op, tally_form form, tally_dtype type, unsigned flags, const void *x,
                     size_t n, void *out) {
    tally_desc desc = describe(op, form, type);
    desc.flags = flags;
    run(r, &desc, x, n, out, MOST * 8);
}

static void reduce(round_state *r, tally_op op, tally_dtype type, const void *x, size_t n, void *out) {
    run_form(r, op, TALLY_REDUCE, type, 0, x, n, out);
}

static const tally_op integer_monoids[] = {TALLY_SUM,  TALLY_PROD, TALLY_MIN, TALLY_MAX,
                                           TALLY_BAND, TALLY_BOR,  TALLY_BXOR};

static int64_t combine(tally_op op, int64_t a, int64_t b) {
    uint64_t u = (uint64_t)a, v = (uint64_t)b;
    switch (op) {
    case TALLY_SUM:
        return (int64_t)(u + v);
    case TALLY_PROD:
        return (int64_t)(u * v);
    case TALLY_MIN:
        return a < b ? a : b;
    case TALLY_MAX:
        return a > b ? a : b;
    case TALLY_BAND:
        return a & b;
    case TALLY_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* ---- one law each ---- */

static void split_and_combine_round(round_state *r) {
    size_t cut = random_below(&r->random, r->n);
    if (cut == 0)
        return;
    for (size_t k = 0; k < COUNT_OF(integer_monoids); k++) {
        int64_t whole, left, right;
        reduce(r, integer_monoids[k], TALLY_I64, integers, r->n, &whole);
        reduce(r, integer_monoids[k], TALLY_I64, integers, cut, &left);
        reduce(r, integer_monoids[k], TALLY_I64, integers + cut, r->n - cut, &right);
        require(r, combine(integer_monoids[k], left, right) == whole);
    }
    double whole, left, right;
    reduce(r, TALLY_SUM, TALLY_F64, doubles, r->n, &whole);
    reduce(r, TALLY_SUM, TALLY_F64, doubles, cut, &left);
    reduce(r, TALLY_SUM, TALLY_F64, doubles + cut, r->n - cut, &right);
    double magnitude;
    reduce(r, TALLY_NORM1, TALLY_F64, doubles, r->n, &magnitude);
    require(r, fabs(left + right - whole) <= (3 * (24 + 2 * log2((double)r->n + 1))) * 0x1p-53 * magnitude);
}

static void permutation_round(round_state *r) {
    for (size_t k = 0; k < r->n; k++)
        others[k] = integers[k];
    for (size_t k = 0; k < r->n; k++)
        double_others[k] = doubles[k];
    for (size_t k = r->n; k > 1; k--) {
        size_t j = random_below(&r->random, k);
        int64_t i = others[k - 1];
        others[k - 1] = others[j];
        others[j] = i;
        double d = double_others[k - 1];
        double_others[k - 1] = double_others[j];
        double_others[j] = d;
    }
    for (size_t k = 0; k < COUNT_OF(integer_monoids); k++) {
        int64_t before, after;
        reduce(r, integer_monoids[k], TALLY_I64, integers, r->n, &before);
        reduce(r, integer_monoids[k], TALLY_I64, others, r->n, &after);
        require(r, before == after);
    }
    static const tally_op exact[] = {TALLY_SUM, TALLY_MEAN, TALLY_SUMSQ, TALLY_NORM2};
    for (size_t k = 0; k < COUNT_OF(exact); k++) {
        double before, after;
        tally_desc desc = describe(exact[k], TALLY_REDUCE, TALLY_F64);
        desc.mode = TALLY_EXACT;
        run(r, &desc, doubles, r->n, &before, sizeof before);
        run(r, &desc, double_others, r->n, &after, sizeof after);
        require(r, memcmp(&before, &after, sizeof before) == 0);
    }
}

static void last_of_the_scan_round(round_state *r) {
    static const tally_op ops[] = {TALLY_SUM,  TALLY_PROD,   TALLY_MIN,   TALLY_MAX,    TALLY_BAND,         TALLY_BOR,
                                   TALLY_BXOR, TALLY_ARGMIN, TALLY_SUMSQ, TALLY_ARGMAX, TALLY_COUNT_NONZERO};
    for (size_t k = 0; k < COUNT_OF(ops); k++) {
        int64_t whole;
        reduce(r, ops[k], TALLY_I64, integers, r->n, &whole);
        run_form(r, ops[k], TALLY_INCLUSIVE_SCAN, TALLY_I64, 0, integers, r->n, results);
        require(r, results[r->n - 1] == whole);
    }
    float sum;
    reduce(r, TALLY_SUM, TALLY_F32, floats, r->n, &sum);
    run_form(r, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0, floats, r->n, float_results);
    require(r, float_results[r->n - 1] == sum); /* small integers: exact */
    double total, magnitude;
    reduce(r, TALLY_SUM, TALLY_F64, doubles, r->n, &total);
    reduce(r, TALLY_NORM1, TALLY_F64, doubles, r->n, &magnitude);
    run_form(r, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F64, 0, doubles, r->n, double_results);
    double bound = (2 * (24 + 2 * log2((double)r->n + 1)) + sqrt((double)r->n)) * 0x1p-53 * magnitude;
    require(r, fabs(double_results[r->n - 1] - total) <= bound);
}

static void exclusive_is_shifted_inclusive_round(round_state *r) {
    static const int64_t identities[] = {0, 1, INT64_MAX, INT64_MIN, -1, 0, 0};
    for (size_t k = 0; k < COUNT_OF(integer_monoids); k++)
        for (unsigned flags = 0; flags <= TALLY_REVERSE; flags += TALLY_REVERSE) {
            run_form(r, integer_monoids[k], TALLY_INCLUSIVE_SCAN, TALLY_I64, flags, integers, r->n, results);
            run_form(r, integer_monoids[k], TALLY_EXCLUSIVE_SCAN, TALLY_I64, flags, integers, r->n, others);
            bool reverse = flags != 0;
            require(r, others[reverse ? r->n - 1 : 0] == identities[k]);
            require(r, memcmp(others + !reverse, results + reverse, (r->n - 1) * sizeof *others) == 0);
        }
    run_form(r, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F64, 0, doubles, r->n, double_results);
    run_form(r, TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_F64, 0, doubles, r->n, double_others);
    require(r, double_others[0] == 0);
    /* Rounded numbers may be combined in another order; differences of neighbours stay within the bound. */
    double magnitude = 0;
    for (size_t k = 1; k < r->n; k++) {
        magnitude += fabs(doubles[k - 1]);
        require(r, fabs(double_others[k] - double_results[k - 1]) <=
                       2 * (24 + 2 * log2((double)k + 1) + sqrt((double)k)) * 0x1p-53 * magnitude);
    }
}

static void reverse_round(round_state *r) {
    for (size_t k = 0; k < r->n; k++)
        third[k] = integers[r->n - 1 - k];
    for (size_t o = 0; o < COUNT_OF(integer_monoids); o++)
        for (int form = TALLY_INCLUSIVE_SCAN; form <= TALLY_EXCLUSIVE_SCAN; form++) {
            run_form(r, integer_monoids[o], (tally_form)form, TALLY_I64, TALLY_REVERSE, integers, r->n, results);
            run_form(r, integer_monoids[o], (tally_form)form, TALLY_I64, 0, third, r->n, others);
            for (size_t k = 0; k < r->n; k++)
                require(r, results[k] == others[r->n - 1 - k]);
        }
}

static void in_place_round(round_state *r) {
    for (size_t o = 0; o < COUNT_OF(integer_monoids); o++)
        for (int form = TALLY_INCLUSIVE_SCAN; form <= TALLY_EXCLUSIVE_SCAN; form++)
            for (unsigned flags = 0; flags <= TALLY_REVERSE; flags += TALLY_REVERSE) {
                run_form(r, integer_monoids[o], (tally_form)form, TALLY_I64, flags, integers, r->n, results);
                memcpy(others, integers, r->n * sizeof *others);
                run_form(r, integer_monoids[o], (tally_form)form, TALLY_I64, flags, others, r->n, others);
                require(r, memcmp(results, others, r->n * sizeof *results) == 0);
            }
    run_form(r, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F64, 0, doubles, r->n, double_results);
    memcpy(double_others, doubles, r->n * sizeof *doubles);
    run_form(r, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F64, 0, double_others, r->n, double_others);
    require(r, memcmp(double_results, double_others, r->n * sizeof *doubles) == 0);
}

/* Rows as an axis, as segments and as keys are the same groups. */
static void groupings_agree_round(round_state *r) {
    size_t extent = 1 + random_below(&r->random, r->n < 400 ? r->n : 400), rows = r->n / extent;
    int64_t *offsets = malloc((rows + 1) * sizeof *offsets), *keys = malloc(rows * extent * sizeof *keys);
    assert_true(offsets && keys);
    for (size_t g = 0; g <= rows; g++)
        offsets[g] = (int64_t)(g * extent);
    for (size_t k = 0; k < rows * extent; k++)
        keys[k] = (int64_t)(k / extent % 3);
    static const tally_op ops[] = {TALLY_SUM, TALLY_MIN, TALLY_ARGMAX, TALLY_BXOR, TALLY_COUNT_NONZERO};
    for (size_t o = 0; o < COUNT_OF(ops); o++)
        for (int form = 0; form < TALLY_FORM_COUNT; form++) {
            if (form == TALLY_EXCLUSIVE_SCAN && ops[o] == TALLY_ARGMAX)
                continue;
            tally_desc desc = describe(ops[o], (tally_form)form, TALLY_I64);
            tally_args args = arguments(integers, extent, results, sizeof results);
            size_t bytes = 8 * (form == TALLY_REDUCE ? rows : rows * extent);
            desc.grouping = TALLY_AXIS;
            args.shape.outer = rows;
            assert_ok(run_desc(r->device, &desc, &args));
            desc.grouping = TALLY_SEGMENTS;
            args = arguments(integers, rows * extent, others, sizeof others);
            args.shape.groups = rows;
            args.offsets = offsets;
            assert_ok(run_desc(r->device, &desc, &args));
            require(r, memcmp(results, others, bytes) == 0);
            desc.grouping = TALLY_KEYS;
            args = arguments(integers, rows * extent, third, sizeof third);
            args.keys = keys;
            assert_ok(run_desc(r->device, &desc, &args));
            require(r, memcmp(results, third, bytes) == 0);
        }
    free(offsets);
    free(keys);
}

/* Reducing the columns of a matrix is reducing the rows of its transpose. */
static void transpose_round(round_state *r) {
    size_t rows = 1 + random_below(&r->random, r->n < 300 ? r->n : 300), columns = r->n / rows;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            others[j * rows + i] = integers[i * columns + j];
    static const tally_op ops[] = {TALLY_SUM, TALLY_MAX, TALLY_ARGMIN};
    for (size_t o = 0; o < COUNT_OF(ops); o++) {
        int64_t *by_columns = results, *by_rows = third;
        tally_desc desc = describe(ops[o], TALLY_REDUCE, TALLY_I64);
        desc.grouping = TALLY_AXIS;
        tally_args args = arguments(integers, rows, by_columns, sizeof results);
        args.shape.inner = columns;
        assert_ok(run_desc(r->device, &desc, &args));
        args = arguments(others, rows, by_rows, sizeof third);
        args.shape.outer = columns;
        assert_ok(run_desc(r->device, &desc, &args));
        require(r, memcmp(by_columns, by_rows, columns * sizeof *by_rows) == 0);
    }
}

static void operators_agree_round(round_state *r) {
    int64_t least, most, pair[2], at, count, sum, dot, squares;
    uint8_t any, all;
    reduce(r, TALLY_MIN, TALLY_I64, integers, r->n, &least);
    reduce(r, TALLY_MAX, TALLY_I64, integers, r->n, &most);
    reduce(r, TALLY_MINMAX, TALLY_I64, integers, r->n, pair);
    require(r, pair[0] == least && pair[1] == most);
    reduce(r, TALLY_ARGMIN, TALLY_I64, integers, r->n, &at);
    require(r, integers[at] == least);
    reduce(r, TALLY_ARGMAX, TALLY_I64, integers, r->n, &at);
    require(r, integers[at] == most);
    reduce(r, TALLY_COUNT_NONZERO, TALLY_I64, integers, r->n, &count);
    reduce(r, TALLY_ANY, TALLY_I64, integers, r->n, &any);
    reduce(r, TALLY_ALL, TALLY_I64, integers, r->n, &all);
    require(r, any == (count > 0) && all == (count == (int64_t)r->n));
    for (size_t k = 0; k < r->n; k++)
        others[k] = 1;
    tally_desc desc = describe(TALLY_DOT, TALLY_REDUCE, TALLY_I64);
    tally_args args = arguments(integers, r->n, &dot, sizeof dot);
    args.y = others;
    assert_ok(run_desc(r->device, &desc, &args));
    reduce(r, TALLY_SUM, TALLY_I64, integers, r->n, &sum);
    require(r, dot == sum);
    args.y = integers;
    assert_ok(run_desc(r->device, &desc, &args));
    reduce(r, TALLY_SUMSQ, TALLY_I64, integers, r->n, &squares);
    require(r, dot == squares);
    double root, deviation, variance, double_squares;
    reduce(r, TALLY_NORM2, TALLY_F64, doubles, r->n, &root);
    reduce(r, TALLY_SUMSQ, TALLY_F64, doubles, r->n, &double_squares);
    require(r, fabs(root * root - double_squares) <= 1e-13 * double_squares);
    reduce(r, TALLY_VAR, TALLY_F64, doubles, r->n, &variance);
    reduce(r, TALLY_STD, TALLY_F64, doubles, r->n, &deviation);
    require(r, variance >= 0 && fabs(deviation * deviation - variance) <= 1e-14 * variance);
}

static void scaling_and_negation_round(round_state *r) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_NORM1, TALLY_NORM2, TALLY_MEAN, TALLY_STD};
    for (size_t k = 0; k < r->n; k++)
        double_others[k] = -8 * doubles[k];
    for (size_t o = 0; o < COUNT_OF(ops); o++)
        for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
            if (mode == TALLY_EXACT && (ops[o] == TALLY_NORM1 || ops[o] == TALLY_STD))
                continue;
            double plain, scaled;
            tally_desc desc = describe(ops[o], TALLY_REDUCE, TALLY_F64);
            desc.mode = (tally_mode)mode;
            run(r, &desc, doubles, r->n, &plain, sizeof plain);
            run(r, &desc, double_others, r->n, &scaled, sizeof scaled);
            /* Powers of two and signs change no rounding, in any order of the additions. */
            bool with_sign = ops[o] == TALLY_SUM || ops[o] == TALLY_MEAN;
            require(r, scaled == (with_sign ? -8 : 8) * plain);
        }
    double least, most;
    reduce(r, TALLY_MIN, TALLY_F64, doubles, r->n, &least);
    reduce(r, TALLY_MAX, TALLY_F64, double_others, r->n, &most);
    require(r, most == -8 * least);
}

static void x_with_minus_x_round(round_state *r) {
    size_t half = r->n / 2;
    for (size_t k = 0; k < half; k++) {
        double_others[k] = ldexp(doubles[k], (int)random_below(&r->random, 1800) - 900);
        double_others[half + k] = -double_others[k];
    }
    for (size_t k = 2 * half; k > 1; k--) {
        size_t j = random_below(&r->random, k);
        double d = double_others[k - 1];
        double_others[k - 1] = double_others[j];
        double_others[j] = d;
    }
    double sum = 7;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    desc.mode = TALLY_EXACT;
    run(r, &desc, double_others, 2 * half, &sum, sizeof sum);
    require(r, sum == 0 && !signbit(sum));
}

/* A constant sequence has no variance to speak of, and its mean is itself. */
static void constants_round(round_state *r) {
    const int exponent = (int)random_below(&r->random, 60) - 30;
    double constant = ldexp(1 + random_unit(&r->random), exponent), mean, variance, sum;
    for (size_t k = 0; k < r->n; k++)
        double_others[k] = constant;
    tally_desc desc = describe(TALLY_MEAN, TALLY_REDUCE, TALLY_F64);
    desc.mode = TALLY_EXACT;
    run(r, &desc, double_others, r->n, &mean, sizeof mean);
    require(r, mean == constant);
    reduce(r, TALLY_VAR, TALLY_F64, double_others, r->n, &variance);
    require(r, variance >= 0 && variance <= 1e-26 * constant * constant);
    reduce(r, TALLY_SUM, TALLY_F64, double_others, r->n, &sum);
    require(r, fabs(sum - (double)r->n * constant) <= 1e-14 * fabs(sum));
}

/* exp and log undo each other; shifting every x shifts the result. */
static void logsumexp_round(round_state *r) {
    double plain, shifted, direct = 0;
    for (size_t k = 0; k < r->n; k++) {
        direct += exp(doubles[k]);
        double_others[k] = doubles[k] + 1024;
    }
    reduce(r, TALLY_LOGSUMEXP, TALLY_F64, doubles, r->n, &plain);
    reduce(r, TALLY_LOGSUMEXP, TALLY_F64, double_others, r->n, &shifted);
    require(r, fabs(plain - log(direct)) <= 1e-12);
    require(r, fabs(shifted - plain - 1024) <= 1e-11);
}

#define LAW(name)                                                                                                      \
    static void name(void **state) {                                                                                   \
        each_round(state, name##_round);                                                                               \
    }
LAW(split_and_combine)
LAW(permutation)
LAW(last_of_the_scan)
LAW(exclusive_is_shifted_inclusive)
LAW(reverse)
LAW(in_place)
LAW(groupings_agree)
LAW(transpose)
LAW(operators_agree)
LAW(scaling_and_negation)
LAW(x_with_minus_x)
LAW(constants)
LAW(logsumexp)

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_and_combine), cmocka_unit_test(permutation),
        cmocka_unit_test(last_of_the_scan),  cmocka_unit_test(exclusive_is_shifted_inclusive),
        cmocka_unit_test(reverse),           cmocka_unit_test(in_place),
        cmocka_unit_test(groupings_agree),   cmocka_unit_test(transpose),
        cmocka_unit_test(operators_agree),   cmocka_unit_test(scaling_and_negation),
        cmocka_unit_test(x_with_minus_x),    cmocka_unit_test(constants),
        cmocka_unit_test(logsumexp),
    };
    return cmocka_run_group_tests_name("properties", tests, open_test_device, close_test_device);
}
