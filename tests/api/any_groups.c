/* Scans by segments and keys, of a few groups or of so many that other ways are taken, and of all values: each prefix
 * is that of the plainest loop. Elements are any bits of a float of 16 bits, or small integers, so that nothing is
 * rounded. TALLY_TEST_SEED replays a round. */
#include "support.h"

#include <inttypes.h>
#include <math.h>

#include "../oracle/random.h"

enum { ROUNDS = 800, MOST = 450000, MISPLACED = 9 };

static const struct {
    tally_op op;
    tally_dtype type;
} computations[] = {
    {TALLY_MIN, TALLY_F16},           {TALLY_MAX, TALLY_F16},           {TALLY_NORM_INF, TALLY_F16},
    {TALLY_MIN, TALLY_BF16},          {TALLY_MAX, TALLY_BF16},          {TALLY_NORM_INF, TALLY_BF16},
    {TALLY_COUNT_NONZERO, TALLY_I8},  {TALLY_COUNT_NONZERO, TALLY_F16}, {TALLY_COUNT_NONZERO, TALLY_I32},
    {TALLY_COUNT_NONZERO, TALLY_I64}, {TALLY_SUM, TALLY_I64},           {TALLY_MAX, TALLY_I64},
    {TALLY_SUM, TALLY_I32},           {TALLY_MIN, TALLY_I32},           {TALLY_NORM_INF, TALLY_I32},
};

static int64_t offsets[MOST + 1];
static uint16_t keys[MOST];
static bool begins[MOST];
static double value_of[MOST];

static double of_half(uint16_t bits, tally_dtype type) {
    if (type == TALLY_BF16) {
        const uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

static double read_one(const unsigned char *x, size_t i, tally_dtype type) {
    const size_t bytes = tally_dtype_size(type);
    uint16_t half;
    int32_t number;
    int64_t wide;
    memcpy(&half, x + i * bytes, bytes < sizeof half ? bytes : sizeof half);
    if (type == TALLY_F16 || type == TALLY_BF16)
        return of_half(half, type);
    if (bytes == 1)
        return (int8_t)x[i];
    if (bytes == sizeof number) {
        memcpy(&number, x + i * bytes, sizeof number);
        return type == TALLY_U32 ? (double)(uint32_t)number : number;
    }
    memcpy(&wide, x + i * bytes, sizeof wide);
    return (double)wide;
}

static double identity(tally_op op, tally_dtype type) {
    const bool is_half = type == TALLY_F16 || type == TALLY_BF16;
    const double most = is_half ? INFINITY : type == TALLY_I32 ? INT32_MAX : (double)INT64_MAX;
    return op == TALLY_MIN ? most : op == TALLY_MAX ? (is_half ? -INFINITY : type == TALLY_I32 ? INT32_MIN : -most) : 0;
}

static double combine(tally_op op, double a, double x) {
    switch (op) {
    case TALLY_SUM:
        return a + x;
    case TALLY_COUNT_NONZERO:
        return a + (x != 0);
    case TALLY_MIN:
        return isnan(a) || a < x ? a : x;
    case TALLY_MAX:
        return isnan(a) || a > x ? a : x;
    default:
        return isnan(a) || a > fabs(x) ? a : fabs(x);
    }
}

/* Groups of random lengths, 'mean' on average, some of them empty; returns how many. */
static uint64_t cut(uint64_t *random, size_t n, double mean, bool may_be_empty) {
    const bool is_constant = random_below(random, 4) == 0;
    uint64_t groups = 0;
    memset(begins, 0, n);
    for (size_t at = 0; at < n; groups++) {
        const double share = ((double)random_below(random, 1 << 20) + 1) / (1 << 20);
        const uint64_t length = is_constant ? (uint64_t)mean + 1 : (uint64_t)(-mean * log(share)) + !may_be_empty;
        offsets[groups] = (int64_t)at;
        if (groups + 1 == MOST)
            break;
        begins[at] = true;
        for (uint64_t k = 0; k < length && at < n; k++)
            keys[at++] = (uint16_t)(7 * groups);
    }
    offsets[groups] = (int64_t)n;
    return groups;
}

static void check_round(tally_device *device, uint64_t seed) {
    static const double means[] = {0.6, 4, 29, 55, 130, 400, 9000};
    uint64_t random = seed_of(77, seed);
    const size_t which = random_below(&random, COUNT_OF(computations));
    const tally_op op = computations[which].op;
    const tally_dtype type = computations[which].type;
    const bool exclusive = random_below(&random, 2), reverse = random_below(&random, 4) == 0;
    tally_desc desc = describe(op, exclusive ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, type), told = desc;
    desc.grouping = (tally_grouping[]){TALLY_ALL_VALUES, TALLY_SEGMENTS, TALLY_KEYS}[random_below(&random, 3)];
    desc.index = desc.grouping == TALLY_SEGMENTS ? TALLY_I64 : desc.grouping == TALLY_KEYS ? TALLY_U16 : TALLY_DEFAULT;
    desc.flags = reverse ? TALLY_REVERSE : 0;
    const size_t n = 1 + random_below(&random, (uint64_t)1 << (6 + random_below(&random, 13))) * MOST / (1 << 18);
    const uint64_t groups =
        cut(&random, n, desc.grouping == TALLY_ALL_VALUES ? 1e9 : means[random_below(&random, COUNT_OF(means))],
            desc.grouping == TALLY_SEGMENTS);
    tally_plan *plan;
    size_t elements;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_plan_describe(plan, &told, &elements));
    const size_t bytes = tally_dtype_size(type), out_bytes = tally_dtype_size(told.out);
    unsigned char *const x_memory = malloc(n * bytes + MISPLACED), *const out_memory =
                                                                       malloc(n * out_bytes + MISPLACED);
    assert_non_null(x_memory);
    assert_non_null(out_memory);
    unsigned char *const x = x_memory + random_below(&random, MISPLACED), *const out = out_memory +
                                                                                       random_below(&random, MISPLACED);
    const uint64_t nans = random_below(&random, 3); /* none, any, or few */
    for (size_t i = 0; i < n; i++) {
        const uint64_t any = random_bits(&random), small = any % 3 ? any % 5 - 2 : 0;
        uint16_t half = (uint16_t)(any >> 20);
        if (nans == 0 || (nans == 2 && any % 999))
            half &= type == TALLY_F16 ? 0xfbff : 0xff7f; /* the exponent is not full */
        memcpy(x + i * bytes, type == TALLY_F16 || type == TALLY_BF16 ? (const void *)&half : &small, bytes);
        value_of[i] = read_one(x, i, type);
    }
    tally_args args = arguments(x, n, out, n * out_bytes);
    args.shape.groups = desc.grouping == TALLY_SEGMENTS ? groups : 0;
    args.offsets = desc.grouping == TALLY_SEGMENTS ? offsets : NULL;
    args.keys = desc.grouping == TALLY_KEYS ? keys : NULL;
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
    double running = 0;
    for (size_t k = 0; k < n; k++) {
        const size_t i = reverse ? n - 1 - k : k;
        if (k == 0 || begins[reverse ? i + 1 : i])
            running = identity(op, type);
        const double was = running, got = read_one(out, i, told.out);
        running = combine(op, running, value_of[i]);
        const double expected = exclusive ? was : running;
        if (got != expected && !(isnan(got) && isnan(expected)))
            fail_msg("TALLY_TEST_SEED=%" PRIu64 ": %s of %s%s%s, grouping %d, %zu of %zu in %" PRIu64
                     " groups: %g instead of %g",
                     seed, tally_op_name(op), tally_dtype_name(type), exclusive ? ", exclusive" : "",
                     reverse ? ", reverse" : "", (int)desc.grouping, i, n, groups, got, expected);
    }
    free(x_memory);
    free(out_memory);
}

static void groups_are_scanned_as_one_by_one(void **state) {
    const char *const replay = getenv("TALLY_TEST_SEED");
    const uint64_t first = replay ? strtoull(replay, NULL, 0) : 1;
    for (uint64_t seed = first; seed < first + (replay ? 1 : ROUNDS); seed++)
        check_round(*state, seed);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_are_scanned_as_one_by_one)};
    return cmocka_run_group_tests_name("any groups", tests, open_test_device, close_test_device);
}
