/* Labels outside of the groups give TALLY_BAD_LABELS or are left out, wherever they are; outputs of a run that fails
 * are untouched. Few groups, more than a cache holds, and more than elements all give what a plain loop gives, also
 * where one group has half of everything, and nothing out of bounds is read. */
#include "support.h"

#include <math.h>

#include "fence.h"

enum { N = 300000, MOST_GROUPS = 1 << 20 };

typedef struct data {
    int32_t x[N], label[N];
    int16_t halves[N];
    uint8_t bytes[N];
    double real[N];
    unsigned char labels[N * 8];
} data;
static data d;

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int setup(void **state) {
    uint64_t random = 1;
    for (int i = 0; i < N; i++) {
        d.x[i] = (int32_t)(next(&random) % 2001) - 1000;
        d.halves[i] = (int16_t)d.x[i];
        d.bytes[i] = (uint8_t)d.x[i];
        d.real[i] = ldexp((double)(next(&random) + 1), -(int)(next(&random) % 60));
    }
    return open_test_device(state);
}

static void store(tally_dtype type, void *memory, size_t at, int64_t value) {
    const size_t size = tally_dtype_size(type);
    const uint32_t four = (uint32_t)value;
    const uint16_t two = (uint16_t)value;
    const uint8_t one = (uint8_t)value;
    const void *const from = size == 8   ? (const void *)&value
                             : size == 4 ? &four
                             : size == 2 ? (const void *)&two
                                         : &one;
    memcpy((char *)memory + at * size, from, size);
}

/* Every second label is one and the same if they are skewed. */
static void draw_labels(size_t n, uint32_t groups, bool skewed) {
    uint64_t random = groups;
    for (size_t i = 0; i < n; i++)
        d.label[i] = skewed && next(&random) % 2 ? (int32_t)(groups / 3) : (int32_t)(next(&random) % groups);
}

/* ---- bad labels ---- */

static const tally_dtype types[] = {TALLY_I32, TALLY_I64, TALLY_U8, TALLY_U16, TALLY_U32};

static void expect_bad(tally_device *device, tally_desc desc, size_t n, uint32_t groups, size_t at, int64_t bad) {
    static unsigned char poison[MOST_GROUPS * 8];
    const size_t bytes = n * tally_dtype_size(desc.index), out_bytes = groups * sizeof(int64_t);
    char told[64];
    fenced fx, fl, fout;
    memset(poison, POISON, sizeof poison);
    for (size_t i = 0; i < n; i++)
        store(desc.index, d.labels, i, i == at ? bad : (int64_t)(i % groups));
    for (int before = 0; before < 2; before++) {
        int64_t *out = fence(&fout, poison, out_bytes, before);
        tally_args args = arguments(fence(&fx, d.x, n * 4, before), n, out, out_bytes);
        args.shape.groups = groups;
        args.labels = fence(&fl, d.labels, bytes, before);
        desc.flags = 0;
        assert_fails(run_desc(device, &desc, &args), TALLY_BAD_LABELS);
        snprintf(told, sizeof told, "labels[%zu]", at);
        if (!strstr(tally_last_error(), told))
            fail_msg("no %s in: %s", told, tally_last_error());
        if (!is_poison(out, out_bytes))
            fail_msg("%s: the output was touched", told);
        desc.flags = TALLY_SKIP_BAD_LABELS;
        assert_ok(run_desc(device, &desc, &args));
        int64_t sum = 0, all = 0;
        for (uint32_t g = 0; g < groups; g++)
            sum += out[g];
        for (size_t i = 0; i < n; i++)
            all += i == at ? 0 : d.x[i];
        assert_int_equal(sum, all);
        unfence(&fx);
        unfence(&fl);
        unfence(&fout);
    }
}

static void bad_ones_are_found_and_named(void **state) {
    static const uint32_t groups[] = {1, 200, 100000};
    static const size_t sizes[] = {1, 17, 5000};
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (size_t g = 0; g < COUNT_OF(groups); g++)
            for (size_t s = 0; s < COUNT_OF(sizes); s++) {
                const size_t size = tally_dtype_size(types[t]), n = sizes[s];
                if (size <= 2 && groups[g] >> (8 * size))
                    continue;
                tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
                desc.grouping = TALLY_LABELS;
                desc.index = types[t];
                expect_bad(*state, desc, n, groups[g], 0, groups[g]);
                expect_bad(*state, desc, n, groups[g], n / 2, -1);
                expect_bad(*state, desc, n, groups[g], n - 1, size == 8 ? INT64_MIN : -1);
            }
}

static void there_may_be_no_group_and_no_element(void **state) {
    int64_t out[3] = {1, 2, 3};
    const int64_t label = 0;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
    desc.grouping = TALLY_LABELS;
    tally_args args = arguments(d.x, 1, NULL, 0);
    args.labels = &label;
    assert_fails(run_desc(*state, &desc, &args), TALLY_BAD_LABELS);
    desc.flags = TALLY_SKIP_BAD_LABELS;
    assert_ok(run_desc(*state, &desc, &args));
    args = arguments(NULL, 0, out, sizeof out);
    args.shape.groups = 3;
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(!out[0] && !out[1] && !out[2]);
    desc.op = TALLY_MAX;
    assert_fails(run_desc(*state, &desc, &args), TALLY_EMPTY);
}

static void what_has_no_meaning_is_refused(void **state) {
    static const tally_dtype others[] = {TALLY_I8, TALLY_I16, TALLY_U64, TALLY_F32};
    int64_t out[1], label = 0;
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I32);
    tally_args args = arguments(d.x, 1, out, sizeof out);
    desc.grouping = TALLY_LABELS;
    assert_fails(tally_supports(*state, &desc), TALLY_UNSUPPORTED);
    desc.form = TALLY_REDUCE;
    for (size_t t = 0; t < COUNT_OF(others); t++) {
        desc.index = others[t];
        assert_fails(tally_supports(*state, &desc), TALLY_UNSUPPORTED);
    }
    desc.index = TALLY_DEFAULT;
    assert_fails(run_desc(*state, &desc, &args), TALLY_INVALID_ARGUMENT); /* labels are NULL */
    args.labels = &label;
    args.shape.groups = (uint64_t)INT32_MAX + 1;
    args.out_bytes = PTRDIFF_MAX;
    assert_fails(run_desc(*state, &desc, &args), TALLY_INVALID_ARGUMENT);
    desc.grouping = TALLY_KEYS;
    desc.flags = TALLY_SKIP_BAD_LABELS;
    assert_fails(tally_supports(*state, &desc), TALLY_INVALID_ARGUMENT);
}

/* ---- every cut ---- */

/* The operator "the last element, and how many": it does not commute. */
typedef struct last {
    uint64_t index, count;
} last;
static void last_identity(void *context, void *acc) {
    (void)context;
    *(last *)acc = (last){UINT64_MAX, 0};
}
static void last_lift(void *context, const void *x, uint64_t index, void *acc) {
    (void)context, (void)x;
    *(last *)acc = (last){index, 1};
}
static void last_combine(void *context, const void *left, const void *right, void *acc) {
    (void)context;
    const last a = *(const last *)left, b = *(const last *)right;
    *(last *)acc = (last){b.count ? b.index : a.index, a.count + b.count};
}
static void last_lower(void *context, const void *acc, uint64_t count, void *out) {
    (void)context;
    const last a = *(const last *)acc;
    const uint64_t result = a.count == count ? a.index * 1000003 + count : 1;
    memcpy(out, &result, sizeof result);
}

static void *results_of(tally_device *device, tally_desc desc, const void *x, uint32_t groups, size_t bytes) {
    void *out = malloc(groups * bytes);
    desc.grouping = TALLY_LABELS;
    desc.index = TALLY_I32;
    tally_args args = arguments(x, N, out, groups * bytes);
    args.shape.groups = groups;
    args.labels = d.label;
    assert_ok(run_desc(device, &desc, &args));
    return out;
}

static void expect_sums(tally_device *device, uint32_t groups) {
    int64_t *want = calloc(groups, sizeof *want);
    for (size_t i = 0; i < N; i++)
        want[d.label[i]] += d.x[i];
    void *found = results_of(device, describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32), d.x, groups, 8);
    assert_memory_equal(found, want, groups * 8);
    free(found);
    free(want);
}

/* A table holds many accumulators of one byte or two. */
static void expect_narrow(tally_device *device, uint32_t groups) {
    uint16_t *norm = calloc(groups, sizeof *norm);
    uint8_t *bits = calloc(groups, sizeof *bits);
    for (size_t i = 0; i < N; i++) {
        const uint16_t magnitude = (uint16_t)abs(d.halves[i]);
        norm[d.label[i]] = magnitude > norm[d.label[i]] ? magnitude : norm[d.label[i]];
        bits[d.label[i]] ^= d.bytes[i];
    }
    void *found = results_of(device, describe(TALLY_NORM_INF, TALLY_REDUCE, TALLY_I16), d.halves, groups, 2);
    assert_memory_equal(found, norm, groups * sizeof *norm);
    free(found);
    found = results_of(device, describe(TALLY_BXOR, TALLY_REDUCE, TALLY_U8), d.bytes, groups, 1);
    assert_memory_equal(found, bits, groups);
    free(found);
    free(norm);
    free(bits);
}

static void expect_last(tally_device *device, uint32_t groups) {
    const tally_user_op op = {.struct_size = sizeof op,
                              .acc_bytes = sizeof(last),
                              .identity = last_identity,
                              .lift = last_lift,
                              .combine = last_combine,
                              .lower = last_lower};
    last *acc = malloc(groups * sizeof *acc);
    for (uint32_t g = 0; g < groups; g++)
        acc[g] = (last){UINT64_MAX, 0};
    for (size_t i = 0; i < N; i++)
        acc[d.label[i]] = (last){i, acc[d.label[i]].count + 1};
    tally_desc desc = describe(TALLY_USER, TALLY_REDUCE, TALLY_I32);
    desc.out = TALLY_U64;
    desc.user = &op;
    uint64_t *found = results_of(device, desc, d.x, groups, 8), want;
    for (uint32_t g = 0; g < groups; g++) {
        last_lower(NULL, &acc[g], acc[g].count, &want);
        assert_int_equal(found[g], want);
    }
    free(found);
    free(acc);
}

/* The values are multiples of 2^-59 below 2^32, so that integers of 128 bits hold their sums. */
static void expect_exact_and_fast(tally_device *device, uint32_t groups) {
    unsigned __int128 *sum = calloc(groups, sizeof *sum);
    for (size_t i = 0; i < N; i++)
        sum[d.label[i]] += (unsigned __int128)ldexp(d.real[i], 59);
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    double *fast = results_of(device, desc, d.real, groups, 8);
    desc.mode = TALLY_EXACT;
    double *exact = results_of(device, desc, d.real, groups, 8);
    for (uint32_t g = 0; g < groups; g++) {
        const double want = ldexp((double)sum[g], -59);
        if (exact[g] != want)
            fail_msg("the exact sum of group %u of %u is %a, not %a", g, groups, exact[g], want);
        if (fabs(fast[g] - want) > 0x1p-53 * 60 * want)
            fail_msg("the sum of group %u of %u is %a, not %a", g, groups, fast[g], want);
    }
    free(fast);
    free(exact);
    free(sum);
}

static void any_number_of_groups_is_right(void **state) {
    static const uint32_t groups[] = {1,     2,     7,     255,   256,   1000,   5000,
                                      30000, 40000, 65535, 65536, 70000, 200000, 1000003};
    for (size_t k = 0; k < COUNT_OF(groups); k++)
        for (int skewed = 0; skewed < 2; skewed++) {
            draw_labels(N, groups[k], skewed);
            expect_sums(*state, groups[k]);
            expect_narrow(*state, groups[k]);
            expect_last(*state, groups[k]);
            expect_exact_and_fast(*state, groups[k]);
        }
}

/* Few elements of many groups, in runs of one plan whose labels differ. Some labels are left out, and some elements are
 * not numbers. */
static void expect_few(tally_device *device, tally_op op, tally_dtype type, tally_dtype index, unsigned flags) {
    enum { GROUPS = 40000, MOST = GROUPS / 8, RUNS = 4 };
    static double x[MOST], sum[GROUPS], found[GROUPS];
    static uint64_t count[GROUPS];
    static int64_t integers[GROUPS];
    uint64_t random = (uint64_t)op + flags;
    tally_desc desc = describe(op, TALLY_REDUCE, type);
    desc.grouping = TALLY_LABELS;
    desc.index = index;
    desc.flags = flags;
    desc.out = op == TALLY_MEAN || (op == TALLY_SUM && type == TALLY_F64) ? TALLY_F64 : TALLY_I64;
    tally_plan *plan;
    assert_ok(tally_plan_create(device, &desc, &plan));
    for (int run = 0; run < RUNS; run++) {
        const size_t n = 1 + next(&random) % MOST;
        const uint32_t used = run % 2 ? GROUPS : 100;
        memset(sum, 0, sizeof sum);
        memset(count, 0, sizeof count);
        for (size_t i = 0; i < n; i++) {
            const bool is_left_out = flags & TALLY_SKIP_BAD_LABELS && next(&random) % 5 == 0,
                       is_nan = flags & TALLY_SKIP_NAN && next(&random) % 5 == 0;
            const uint32_t group = (uint32_t)(next(&random) % used);
            store(index, d.labels, i, is_left_out ? GROUPS + (int64_t)(next(&random) % 3) : (int64_t)group);
            x[i] = is_nan ? (double)NAN : (double)((int64_t)(next(&random) % 9) - 4);
            if (type == TALLY_I32)
                d.x[i] = (int32_t)x[i];
            if (is_left_out || is_nan)
                continue;
            sum[group] += op == TALLY_COUNT_NONZERO ? x[i] != 0 : x[i];
            count[group]++;
        }
        void *const out = desc.out == TALLY_F64 ? (void *)found : integers;
        tally_args args = arguments(type == TALLY_I32 ? (const void *)d.x : x, n, out, sizeof found);
        args.shape.groups = GROUPS;
        args.labels = d.labels;
        assert_ok(tally_run(plan, &args, NULL));
        for (uint32_t g = 0; g < GROUPS; g++) {
            const double want = op == TALLY_MEAN ? sum[g] / (double)count[g] : sum[g];
            const double own = desc.out == TALLY_F64 ? found[g] : (double)integers[g];
            if (own != want && !(isnan(own) && isnan(want)))
                fail_msg("%s of %s: group %u of %u elements is %g, not %g", tally_op_name(op), tally_dtype_name(type),
                         g, (unsigned)count[g], own, want);
        }
    }
    tally_plan_destroy(plan);
}

static void few_elements_of_many_groups_are_right(void **state) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_COUNT_NONZERO, TALLY_MEAN};
    static const tally_dtype indices[] = {TALLY_I32, TALLY_I64, TALLY_U32};
    for (size_t k = 0; k < COUNT_OF(ops); k++)
        for (size_t i = 0; i < COUNT_OF(indices); i++)
            for (unsigned flags = 0; flags < 4; flags++) {
                const unsigned bad = flags & 1 ? TALLY_SKIP_BAD_LABELS : 0, nans = flags & 2 ? TALLY_SKIP_NAN : 0;
                expect_few(*state, ops[k], TALLY_F64, indices[i], bad | nans);
                if (!nans)
                    expect_few(*state, ops[k], TALLY_I32, indices[i], bad);
            }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_ones_are_found_and_named),          cmocka_unit_test(there_may_be_no_group_and_no_element),
        cmocka_unit_test(what_has_no_meaning_is_refused),        cmocka_unit_test(any_number_of_groups_is_right),
        cmocka_unit_test(few_elements_of_many_groups_are_right),
    };
    return cmocka_run_group_tests_name("labels", tests, setup, close_test_device);
}
