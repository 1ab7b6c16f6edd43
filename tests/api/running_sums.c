/* Running sums of elements, magnitudes, squares and products, and running means and norms, give what the plainest loop
 * gives, whether they are scanned in blocks or not: in every type, form and direction, from any address or in place,
 * and with elements that are not finite. TALLY_TEST_SEED replays a round. */
#include "support.h"

#include <inttypes.h>
#include <math.h>

#include "../oracle/number.h"
#include "../oracle/random.h"

enum { ROUNDS = 3000, MOST = 5000, MARGIN = 8 };

static const tally_op ops[] = {TALLY_SUM, TALLY_NORM1, TALLY_SUMSQ, TALLY_DOT, TALLY_MEAN, TALLY_NORM2};
static const size_t lengths[] = {1, 63, 500, 511, 512, 513, 575, 576, 577, 639, 640, 1023, 1024, 1025, 4096, MOST};

typedef struct round_case {
    tally_op op;
    tally_dtype in, out;
    bool reverse, exclusive, in_place;
    size_t n;
    uint64_t seed;
} round_case;

/* What element k of a scan adds. Numbers are small enough for no sum to be rounded. */
static double part_of(tally_op op, double x, double y) {
    return op == TALLY_NORM1 ? fabs(x) : op == TALLY_SUMSQ || op == TALLY_NORM2 ? x * x : op == TALLY_DOT ? x * y : x;
}

static double value_at(const void *memory, size_t i, tally_dtype type) {
    cell c;
    decode(type, (const char *)memory + i * size_of(type), 1, &c);
    return is_float(type) ? c.d : kind_of(type) == KIND_SIGNED ? (double)c.i : (double)c.u;
}

static void put_at(void *memory, size_t i, tally_dtype type, double value) {
    const cell c = is_float(type) ? (cell){.d = value} : (cell){.i = (int64_t)value};
    encode(type, c, (char *)memory + i * size_of(type));
}

static void compare(const round_case *c, const double *x, const double *y, double initial, const unsigned char *out) {
    double sum = initial;
    for (size_t k = 0; k < c->n; k++) {
        const size_t i = c->reverse ? c->n - 1 - k : k;
        const double was = sum;
        sum += part_of(c->op, x[i], y[i]);
        double expected = c->exclusive ? was : sum;
        expected = c->op == TALLY_MEAN ? expected / (double)(k + 1) : c->op == TALLY_NORM2 ? sqrt(expected) : expected;
        const double got = value_at(out, i, c->out);
        const long double off = is_float(c->out) && isfinite(expected) ? 0.6L * ulp_at(c->out, fabs(expected)) : 0;
        const bool is_beyond = is_float(c->out) && isfinite(expected) && fabs(expected) > (double)largest_of(c->out);
        if (isnan(expected) ? isnan(got) : got == expected || is_beyond || fabsl((long double)got - expected) <= off)
            continue;
        fail_msg("TALLY_TEST_SEED=%" PRIu64 ": %s of %s to %s%s%s%s, %zu of %zu: %.17g instead of %.17g", c->seed,
                 tally_op_name(c->op), tally_dtype_name(c->in), tally_dtype_name(c->out),
                 c->exclusive ? ", exclusive" : "", c->reverse ? ", reverse" : "", c->in_place ? ", in place" : "", i,
                 c->n, got, expected);
    }
}

static void check_round(tally_device *device, uint64_t seed) {
    static double x[MOST], y[MOST];
    static unsigned char x_memory[8 * (MOST + 2 * MARGIN)], y_memory[8 * MOST], out_memory[8 * (MOST + 2 * MARGIN)];
    uint64_t random = seed;
    round_case c = {.seed = seed,
                    .op = ops[random_below(&random, COUNT_OF(ops))],
                    .in = (tally_dtype)(TALLY_I8 + random_below(&random, TALLY_DTYPE_COUNT - TALLY_I8)),
                    .reverse = random_below(&random, 3) == 0,
                    .exclusive = random_below(&random, 3) == 0,
                    .n = lengths[random_below(&random, COUNT_OF(lengths))]};
    c.exclusive = c.exclusive && c.op != TALLY_MEAN;
    tally_desc desc = describe(c.op, c.exclusive ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, c.in);
    desc.flags = c.reverse ? TALLY_REVERSE : 0;
    const bool may_be_narrow = size_of(c.in) >= 4 && !is_float(c.in) && c.op != TALLY_MEAN && c.op != TALLY_NORM2;
    desc.out = may_be_narrow && random_below(&random, 2) ? c.in : TALLY_DEFAULT;
    tally_plan *plan;
    size_t elements;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_plan_describe(plan, &desc, &elements));
    c.out = desc.out;
    c.in_place = size_of(c.in) == size_of(c.out) && random_below(&random, 3) == 0;
    const size_t x_at = random_below(&random, MARGIN), out_at = c.in_place ? x_at : random_below(&random, MARGIN);
    const size_t odd = is_float(c.in) && random_below(&random, 4) == 0 ? random_below(&random, c.n) : c.n;
    const double odd_value = (double[]){INFINITY, -INFINITY, NAN}[random_below(&random, 3)];
    const int most = kind_of(c.in) == KIND_UNSIGNED ? 0 : 8;
    for (size_t i = 0; i < c.n; i++) {
        x[i] = i == odd ? odd_value : (double)((int)random_below(&random, 17) - most);
        y[i] = (double)((int)random_below(&random, 17) - most);
        put_at(x_memory, x_at + i, c.in, x[i]);
        put_at(y_memory, i, c.in, y[i]);
    }
    unsigned char *const memory = c.in_place ? x_memory : out_memory, *const out = memory + out_at * size_of(c.out);
    memset(out_memory, 0x5a, sizeof out_memory);
    memset(x_memory + (x_at + c.n) * size_of(c.in), 0x5a, MARGIN * size_of(c.in));
    tally_args args = arguments(x_memory + x_at * size_of(c.in), c.n, out, c.n * size_of(c.out));
    args.y = c.op == TALLY_DOT ? y_memory : NULL;
    unsigned char initial[8];
    const bool takes_initial = c.op == TALLY_SUM && random_below(&random, 2);
    put_at(initial, 0, c.out, 5);
    args.initial = takes_initial ? initial : NULL;
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
    compare(&c, x, y, takes_initial ? 5 : 0, out);
    for (size_t k = 0; k < MARGIN * size_of(c.out); k++)
        assert_int_equal(out[c.n * size_of(c.out) + k], 0x5a);
}

static void running_sums_are_those_of_a_plain_loop(void **state) {
    const char *const replay = getenv("TALLY_TEST_SEED");
    const uint64_t first = replay ? strtoull(replay, NULL, 0) : 1;
    for (uint64_t seed = first; seed < first + (replay ? 1 : ROUNDS); seed++)
        check_round(*state, seed);
}

/* Results of more than 8 MiB go past the caches, those in place do not; the bits are the same. */
static void long_running_sums_are_those_in_place(void **state) {
    enum { BYTES = 9000000 };
    static const tally_dtype types[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64, TALLY_I64};
    unsigned char *const x = malloc(BYTES + 8), *const out = malloc(BYTES + 24);
    assert_non_null(x);
    assert_non_null(out);
    uint64_t random = 5;
    for (size_t k = 0; k < COUNT_OF(types); k++)
        for (size_t o = 0; o < COUNT_OF(ops); o++) {
            const size_t bytes = size_of(types[k]), n = BYTES / bytes;
            if (ops[o] == TALLY_DOT)
                continue;
            tally_desc desc = describe(ops[o], o % 2 ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, types[k]);
            desc.form = ops[o] == TALLY_MEAN ? TALLY_INCLUSIVE_SCAN : desc.form;
            desc.flags = k % 2 && ops[o] != TALLY_MEAN ? TALLY_REVERSE : 0;
            for (size_t i = 0; i < n; i++) {
                const double value = 2 * random_unit(&random) - 1;
                put_at(x, i, types[k], is_float(types[k]) ? (double)round_to(types[k], value) : 1000 * value);
            }
            tally_args args = arguments(x, n, out + 3 * bytes, n * bytes);
            assert_ok(run_desc(*state, &desc, &args));
            args.out = x;
            assert_ok(run_desc(*state, &desc, &args));
            if (memcmp(x, out + 3 * bytes, n * bytes) != 0)
                fail_msg("%s of %s: in place others", tally_op_name(ops[o]), tally_dtype_name(types[k]));
        }
    free(x);
    free(out);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_sums_are_those_of_a_plain_loop),
        cmocka_unit_test(long_running_sums_are_those_in_place),
    };
    return cmocka_run_group_tests_name("running sums", tests, open_test_device, close_test_device);
}
