/* The variance in fast mode keeps its digits where one element is far from the others: a result that has the element,
 * and a running one before it, which does not. The element is the first, in the middle, or the last. So it does where
 * elements rise, so that all parts of a group have means of their own. Rows and segments are long, or so short that
 * many are computed at a time. Expected values are computed in long doubles. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 30000, PLACES = 3, MOST_SEGMENTS = N };

static tally_device *device;
static double x[N], expected[N], got[N];
static float narrow[N];
static int64_t offsets[MOST_SEGMENTS + 1];
static size_t segments;

/* About 'length' elements each, and some that are much shorter. */
static void cut(uint64_t length) {
    int64_t end = 0;
    for (segments = 0; end < N; segments++) {
        const int64_t next = end + 1 + (int64_t)(segments * 7919 % (2 * length));
        offsets[segments] = end;
        end = next < N ? next : N;
    }
    offsets[segments] = N;
}

static bool is_cpu(void) {
    return strncmp(test_device_spec(), "cpu", 3) == 0;
}

static double noise(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

static void variances(const double *from, uint64_t n, bool are_running, double *to) {
    long double mean = 0, powers = 0;
    for (uint64_t i = 0; i < n; i++) { /* Welford (1962) */
        const long double away = (long double)from[i] - mean;
        mean += away / (long double)(i + 1);
        powers += away * ((long double)from[i] - mean);
        if (are_running || i + 1 == n)
            to[are_running ? i : 0] = (double)(powers / (long double)(i + 1));
    }
}

static void run(const tally_desc *desc, uint64_t row, size_t results) {
    const bool is_narrow = desc->in == TALLY_F32;
    tally_args args = TALLY_ARGS_INIT;
    void *in, *out, *index = NULL;
    const size_t bytes = is_narrow ? sizeof narrow : sizeof x;
    assert_ok(tally_alloc(device, bytes, &in));
    assert_ok(tally_copy(device, in, is_narrow ? (const void *)narrow : x, bytes));
    assert_ok(tally_alloc(device, sizeof got, &out));
    if (desc->grouping == TALLY_SEGMENTS) {
        assert_ok(tally_alloc(device, (segments + 1) * sizeof *offsets, &index));
        assert_ok(tally_copy(device, index, offsets, (segments + 1) * sizeof *offsets));
    }
    args.shape = desc->grouping == TALLY_AXIS ? (tally_shape){N / row, row, 1, 0} : (tally_shape){1, N, 1, segments};
    args.x = in;
    args.out = out;
    args.out_bytes = sizeof got;
    args.offsets = index;
    assert_ok(run_desc(device, desc, &args));
    assert_ok(tally_copy(device, got, out, results * sizeof *got));
    tally_free(device, in);
    tally_free(device, out);
    tally_free(device, index);
}

static void check(tally_dtype in, tally_dtype acc, tally_form form, tally_grouping grouping, uint64_t row,
                  double outlier, int place) {
    /* Lanes of f32, of which some bits cancel within a fold: 6e-6 on the CPU at most. Elements that rise: 3e-15, and
     * 1e-13 if all parts of a group took their distances from the same element. */
    const double most = in == TALLY_F32 && acc == TALLY_DEFAULT ? 1e-5 : outlier == 0 && is_cpu() ? 1e-14 : 1e-10;
    const bool are_running = form != TALLY_REDUCE;
    const uint64_t groups = grouping == TALLY_SEGMENTS ? segments : grouping == TALLY_AXIS ? N / row : 1;
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_VAR;
    desc.in = in;
    desc.acc = acc;
    desc.out = TALLY_F64;
    desc.form = form;
    desc.grouping = grouping;
    if (tally_supports(device, &desc) == TALLY_UNSUPPORTED)
        return;
    for (uint64_t g = 0; g < groups; g++) {
        const uint64_t begin = grouping == TALLY_SEGMENTS ? (uint64_t)offsets[g] : g * row;
        const uint64_t n = grouping == TALLY_SEGMENTS ? (uint64_t)offsets[g + 1] - begin : groups > 1 ? row : N;
        variances(x + begin, n, are_running, expected + (are_running ? begin : g));
    }
    const size_t results = are_running ? N : groups;
    run(&desc, row, results);
    for (size_t i = 0; i < results; i++)
        if (!(fabs(got[i] - expected[i]) <= most * expected[i]))
            fail_msg("%s of %s by %s of %d, %g at place %d: result %zu is %.17g, not %.17g",
                     are_running ? "scan" : "var", tally_dtype_name(in), tally_grouping_name(grouping), (int)row,
                     outlier, place, i, got[i], expected[i]);
}

static void one_element_is_far_from_the_others(void **state) {
    static const double outliers[] = {1e8, -1e12, 3e15, 0}; /* 0: none, but elements rise */
    static const uint64_t rows[] = {1000, 300, 20};
    static const tally_dtype types[] = {TALLY_F64, TALLY_F32};
    static const tally_grouping groupings[] = {TALLY_ALL_VALUES, TALLY_AXIS, TALLY_SEGMENTS};
    static const int places[PLACES] = {0, N / 3, N - 1};
    (void)state;
    for (size_t o = 0; o < COUNT_OF(outliers); o++)
        for (int place = 0; place < PLACES; place++)
            for (size_t type = 0; type < COUNT_OF(types); type++) {
                uint64_t seed = 1;
                for (int i = 0; i < N; i++) {
                    x[i] = outliers[o] == 0 ? noise(&seed) + i : i == places[place] ? outliers[o] : noise(&seed);
                    narrow[i] = (float)x[i];
                    x[i] = types[type] == TALLY_F32 ? (double)narrow[i] : x[i];
                }
                for (size_t g = 0; g < COUNT_OF(groupings); g++)
                    for (size_t r = 0; r < (groupings[g] != TALLY_ALL_VALUES && is_cpu() ? COUNT_OF(rows) : 1); r++) {
                        cut(rows[r]);
                        for (int form = TALLY_REDUCE; form <= TALLY_INCLUSIVE_SCAN; form++)
                            for (int wide = 0; wide < 2; wide++)
                                check(types[type], wide ? TALLY_F64 : TALLY_DEFAULT, (tally_form)form, groupings[g],
                                      rows[r], outliers[o], place);
                    }
            }
}

static int open_device(void **state) {
    const int status = open_test_device(state);
    device = *state;
    return status;
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_element_is_far_from_the_others)};
    return cmocka_run_group_tests_name("outliers", tests, open_device, close_test_device);
}
