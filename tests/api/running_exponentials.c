/* Running logsumexps of numbers that wander, jump, are far apart, or are not finite, in rows, columns and groups:
 * however a kernel shifts its sums, each prefix is right to a few roundings. */
#include <float.h>
#include <math.h>

#include "support.h"

enum { MOST = 6000 };

static double x[MOST], got[MOST];
static float narrow_x[MOST], narrow_got[MOST];
static uint64_t seed = 1;

static double uniform(double from, double to) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return from + (to - from) * (double)(seed >> 11) * 0x1p-53;
}

typedef enum kind { NEAR, WIDE, CLIMBS, FALLS, JUMPS, FAR_AWAY, MASKED, NOT_FINITE, KINDS } kind;

static double element(kind k, size_t i) {
    switch (k) {
    case WIDE:
        return uniform(-60, 60);
    case CLIMBS:
        return 0.3 * (double)i + uniform(-1, 1);
    case FALLS:
        return 100 - 0.3 * (double)i + uniform(-1, 1);
    case JUMPS:
        return uniform(-1, 1) + (i % 97 == 50 ? 300 : i % 41 == 7 ? -300 : 0);
    case FAR_AWAY:
        return -150000 + uniform(-3, 3);
    case MASKED:
        return i % 3 ? uniform(-1, 1) : i % 7 ? -400 : -(double)INFINITY;
    case NOT_FINITE:
        return i % 1000 == 500 ? (double)NAN : i % 700 == 300 ? (double)INFINITY : uniform(-1, 1);
    default:
        return uniform(-5, 5);
    }
}

/* A result beside the logarithm of 'sum' e^largest, of elements up to 'size'. */
static void check(double result, long double largest, long double sum, double size, double unit, const char *what,
                  kind k, size_t i) {
    const long double expected = sum > 0 ? largest + logl(sum) : isnan(sum) ? sum : -(long double)INFINITY;
    const bool same = isnan(expected) ? isnan(result) : (long double)result == expected;
    if (!same && !(fabsl((long double)result - expected) <= 12 * (long double)unit * (1 + size)))
        fail_msg("%s, numbers of kind %d: result %zu is %.17g instead of %.17Lg", what, k, i, result, expected);
}

static void check_plan(tally_plan *plan, bool is_f64, bool exclusive, bool reverse, size_t outer, size_t extent,
                       size_t inner, kind k) {
    const size_t n = outer * extent * inner;
    char what[100];
    for (size_t i = 0; i < n; i++) {
        x[i] = element(k, i / inner % extent);
        narrow_x[i] = (float)x[i];
        x[i] = is_f64 ? x[i] : (double)narrow_x[i];
    }
    const tally_args args = {.struct_size = sizeof args,
                             .shape = {outer, extent, inner, 0},
                             .x = is_f64 ? (void *)x : (void *)narrow_x,
                             .out = is_f64 ? (void *)got : (void *)narrow_got,
                             .out_bytes = n * (is_f64 ? sizeof *got : sizeof *narrow_got)};
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    snprintf(what, sizeof what, "%s of %s, %zu x %zu x %zu%s", exclusive ? "exclusive" : "inclusive",
             is_f64 ? "f64" : "f32", outer, extent, inner, reverse ? ", reverse" : "");
    for (size_t g = 0; g < outer; g++)
        for (size_t j = 0; j < inner; j++) {
            long double largest = -(long double)INFINITY, sum = 0;
            double size = 0;
            for (size_t r = 0; r < extent; r++) {
                const size_t i = (g * extent + (reverse ? extent - 1 - r : r)) * inner + j;
                const double result = is_f64 ? got[i] : (double)narrow_got[i];
                const double unit = is_f64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
                if (exclusive)
                    check(result, largest, sum, size, unit, what, k, i);
                if (x[i] > (double)largest) {
                    sum = isinf(largest) ? 1 : 1 + sum * expl(largest - (long double)x[i]);
                    largest = (long double)x[i];
                } else {
                    sum += x[i] == -(double)INFINITY ? 0 : (long double)x[i] == largest ? 1 : expl(x[i] - largest);
                }
                sum = isnan(x[i]) ? (long double)NAN : sum;
                size = isfinite(x[i]) && fabs(x[i]) > size ? fabs(x[i]) : size;
                if (!exclusive)
                    check(result, largest, sum, size, unit, what, k, i);
            }
        }
}

static void prefixes_are_right(void **state) {
    const size_t shapes[][3] = {{1, 6000, 1}, {1, 1100, 1}, {5, 300, 1},  {400, 7, 1}, {60, 40, 1},
                                {1, 150, 40}, {1, 90, 37},  {20, 3, 100}, {3, 33, 50}, {700, 2, 4}};
    for (int type = 0; type < 2; type++)
        for (int form = 0; form < 2; form++)
            for (int reverse = 0; reverse < 2; reverse++) {
                tally_desc desc = describe(TALLY_LOGSUMEXP, form ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN,
                                           type ? TALLY_F64 : TALLY_F32);
                tally_plan *plan;
                desc.grouping = TALLY_AXIS;
                desc.flags = reverse ? TALLY_REVERSE : 0;
                assert_ok(tally_plan_create(*state, &desc, &plan));
                for (size_t s = 0; s < COUNT_OF(shapes); s++)
                    for (kind k = 0; k < KINDS; k++)
                        check_plan(plan, type, form, reverse, shapes[s][0], shapes[s][1], shapes[s][2], k);
                tally_plan_destroy(plan);
            }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_are_right),
    };
    return cmocka_run_group_tests_name("running exponentials", tests, open_test_device, close_test_device);
}
