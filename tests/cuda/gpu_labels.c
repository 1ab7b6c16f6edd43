/* Reductions by labels go other ways by the operator and the numbers of elements and groups: a table for each thread,
 * tables of integers for all groups or for parts or buckets of them, or a sort. In each way the results are the CPU's,
 * twice the same bits, also at odd addresses, also where one label is half of all, and where sums of floats leave the
 * window of the tables and are sorted after all. A label out of range is told, with the output untouched, or left out.
 * An argument is the most elements. */
#include "gpu.h"

#include <math.h>

#include "cuda/labels.h"
#include "cuda/plan.h"

static uint64_t most_elements = UINT64_C(1) << 22;

/* Whole numbers from -3 to 3; the same, each group's with its own power of two, so that sums do not round; the same
 * with infinities in some groups; from 4 to 7, whose sums pass what the half of a word holds. */
typedef enum numbers { WHOLE, WIDE, INFINITE, LARGE } numbers;

typedef struct example {
    const char *name;
    tally_op op;
    tally_dtype in, index;
    uint64_t n, groups;
    numbers numbers;
    bool is_skewed;
    const char *way;
} example;

static const example examples[] = {
    {"sum f64, few groups", TALLY_SUM, TALLY_F64, TALLY_I32, 50003, 100, WIDE, false, "tables"},
    {"bxor u8, few groups", TALLY_BXOR, TALLY_U8, TALLY_U8, 1000, 200, WHOLE, false, "tables"},
    {"sum f32", TALLY_SUM, TALLY_F32, TALLY_I32, 100003, 300, WHOLE, false, "sums"},
    {"sum f32, skewed", TALLY_SUM, TALLY_F32, TALLY_I64, 100003, 300, WHOLE, true, "sums"},
    {"sum f32, wide", TALLY_SUM, TALLY_F32, TALLY_I32, 100003, 300, WIDE, false, "sums"},
    {"sum f32, infinite", TALLY_SUM, TALLY_F32, TALLY_I32, 100003, 300, INFINITE, false, "sums"},
    {"norm1 f16", TALLY_NORM1, TALLY_F16, TALLY_U16, 100003, 300, WHOLE, false, "sums"},
    {"mean bf16", TALLY_MEAN, TALLY_BF16, TALLY_U32, 100003, 10, WHOLE, false, "sums"},
    {"sum i32", TALLY_SUM, TALLY_I32, TALLY_I32, 100003, 20000, WHOLE, false, "sums"},
    {"sum f32 by parts", TALLY_SUM, TALLY_F32, TALLY_I32, 100003, 50000, WHOLE, true, "sums"},
    {"sum f32 by halves", TALLY_SUM, TALLY_F32, TALLY_I32, 300003, 60000, LARGE, true, "sums"},
    {"mean f32 by halves", TALLY_MEAN, TALLY_F32, TALLY_U32, 300003, 45000, LARGE, true, "sums"},
    {"norm1 f64 by halves", TALLY_NORM1, TALLY_F64, TALLY_I64, 300003, 45001, LARGE, true, "sums"},
    {"mean i16 by parts", TALLY_MEAN, TALLY_I16, TALLY_I32, 100003, 50000, WHOLE, false, "sums"},
    {"sum f32 by buckets", TALLY_SUM, TALLY_F32, TALLY_I32, 1100000, 200000, WHOLE, false, "buckets"},
    {"sum f32 by buckets, skewed", TALLY_SUM, TALLY_F32, TALLY_I32, 1100000, 200000, WHOLE, true, "buckets"},
    {"sum f32 by buckets, wide", TALLY_SUM, TALLY_F32, TALLY_I64, 1100000, 200000, WIDE, false, "buckets"},
    {"mean i32 by buckets, skewed", TALLY_MEAN, TALLY_I32, TALLY_U32, 1100000, 200000, WHOLE, true, "buckets"},
    {"all u8 by buckets", TALLY_ALL, TALLY_U8, TALLY_I32, 1100000, 300000, WHOLE, false, "buckets"},
    {"sum f64", TALLY_SUM, TALLY_F64, TALLY_I32, 100003, 300, WHOLE, true, "sums"},
    {"sum f64, wide", TALLY_SUM, TALLY_F64, TALLY_I32, 100003, 300, WIDE, false, "sums"},
    {"norm1 f64, infinite", TALLY_NORM1, TALLY_F64, TALLY_I64, 100003, 300, INFINITE, false, "sums"},
    {"sum f64 by parts", TALLY_SUM, TALLY_F64, TALLY_U32, 100003, 40000, WHOLE, true, "sums"},
    {"mean f64 by buckets", TALLY_MEAN, TALLY_F64, TALLY_I32, 1100000, 200000, WHOLE, true, "buckets"},
    {"min f32, skewed", TALLY_MIN, TALLY_F32, TALLY_I32, 100003, 40000, WIDE, true, "cells"},
    {"max f16 by parts", TALLY_MAX, TALLY_F16, TALLY_U32, 100003, 70000, WHOLE, false, "cells"},
    {"norm_inf f32 by parts", TALLY_NORM_INF, TALLY_F32, TALLY_I64, 100003, 70000, INFINITE, false, "cells"},
    {"bxor u8, skewed", TALLY_BXOR, TALLY_U8, TALLY_U16, 100003, 30000, WHOLE, true, "cells"},
    {"min f64", TALLY_MIN, TALLY_F64, TALLY_I32, 100003, 20000, WIDE, true, "cells"},
    {"norm_inf f64 by parts", TALLY_NORM_INF, TALLY_F64, TALLY_U32, 100003, 70000, INFINITE, false, "cells"},
    {"max i64 by parts", TALLY_MAX, TALLY_I64, TALLY_I64, 100003, 50000, WHOLE, false, "cells"},
    {"bxor u64", TALLY_BXOR, TALLY_U64, TALLY_U16, 100003, 20000, WHOLE, true, "cells"},
    {"band i64", TALLY_BAND, TALLY_I64, TALLY_I32, 100003, 20000, WHOLE, false, "cells"},
    {"argmin i16", TALLY_ARGMIN, TALLY_I16, TALLY_I32, 100003, 70000, WHOLE, true, "sort"},
    {"dot f32", TALLY_DOT, TALLY_F32, TALLY_I32, 100003, 3, WHOLE, false, "sort"},
    {"minmax f64", TALLY_MINMAX, TALLY_F64, TALLY_U32, 1100000, 5, WHOLE, true, "sort"},
};

static const char *way_of(const tally_plan *base, const tally_shape *shape) {
    tally_cuda_cut cut;
    tally_cuda_labels_cut((const tally_cuda_plan *)base, shape, &cut);
    return cut.path == TALLY_CUDA_TABLES                                               ? "tables"
           : cut.labels.sums.buckets                                                   ? "buckets"
           : ((const tally_cuda_plan *)base)->sizes.has_cells && cut.labels.sums.width ? "cells"
           : cut.labels.sums.width                                                     ? "sums"
                                                                                       : "sort";
}

/* ---- data ---- */

typedef struct data {
    unsigned char *x, *y, *labels; /* n + 1 each */
    size_t bytes, label_bytes;
} data;

static void put_value(const example *e, void *to, int value, unsigned group, uint64_t number) {
    const int whole_value = e->numbers == LARGE ? 4 + (value + 3) % 4 : value;
    const float scale = e->numbers == WIDE ? ldexpf(1, (int)(group * 37 % 200) - 100) : 1;
    const float single = e->numbers == INFINITE && number % 5000 == 17 ? INFINITY : scale * (float)whole_value;
    const double wide = single;
    const int64_t whole = value; /* little-endian: its first bytes are the narrower ones */
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    const uint16_t upper = (uint16_t)(bits >> 16); /* small whole numbers fit */
    static const uint16_t halves[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    const void *from = e->in == TALLY_F32    ? (const void *)&single
                       : e->in == TALLY_F64  ? (const void *)&wide
                       : e->in == TALLY_BF16 ? (const void *)&upper
                       : e->in == TALLY_F16  ? (const void *)&halves[value + 3]
                                             : (const void *)&whole;
    memcpy(to, from, tally_dtype_size(e->in));
}

/* Every group has an element, if there are enough: some operators have no value of nothing. */
static data make_data(const example *e) {
    data d = {.bytes = tally_dtype_size(e->in), .label_bytes = tally_dtype_size(e->index)};
    uint64_t state = 11;
    d.x = malloc((e->n + 1) * d.bytes);
    d.y = malloc((e->n + 1) * d.bytes);
    d.labels = malloc((e->n + 1) * d.label_bytes);
    assert_true(d.x && d.y && d.labels);
    for (uint64_t i = 0; i <= e->n; i++) {
        const uint64_t any = random_below(&state, e->groups), hot = e->groups / 3;
        const uint64_t label = i && i <= e->groups ? i - 1 : e->is_skewed && random_bits(&state) & 1 ? hot : any;
        memcpy(d.labels + i * d.label_bytes, &label, d.label_bytes);
        put_value(e, d.x + i * d.bytes, (int)random_below(&state, 7) - 3, (unsigned)label, i);
        put_value(e, d.y + i * d.bytes, (int)random_below(&state, 7) - 3, (unsigned)label, 0);
    }
    return d;
}

static void free_data(data *d) {
    free(d->x);
    free(d->y);
    free(d->labels);
}

/* ---- runs ---- */

static tally_desc describe_labels(const example *e, unsigned flags) {
    tally_desc desc = describe(e->op, TALLY_REDUCE, e->in);
    desc.grouping = TALLY_LABELS;
    desc.index = e->index;
    desc.flags = flags;
    return desc;
}

static tally_status run_on(tally_device *device, const example *e, const data *d, size_t odd, unsigned flags,
                           unsigned char *result, size_t bytes) {
    tally_desc desc = describe_labels(e, flags);
    tally_plan *plan;
    void *memory[4] = {d->x, d->y, d->labels, result};
    if (device == gpu) {
        memory[0] = upload(d->x, (e->n + 1) * d->bytes);
        memory[1] = upload(d->y, (e->n + 1) * d->bytes);
        memory[2] = upload(d->labels, (e->n + 1) * d->label_bytes);
        memory[3] = upload(result, bytes);
    }
    tally_args args = arguments((char *)memory[0] + odd * d->bytes, e->n, memory[3], bytes);
    args.shape.groups = e->groups;
    args.y = e->op == TALLY_DOT ? (char *)memory[1] + odd * d->bytes : NULL;
    args.labels = (char *)memory[2] + odd * d->label_bytes;
    assert_ok(tally_plan_create(device, &desc, &plan));
    if (device == gpu && e->n >= 1000)
        assert_string_equal(way_of(plan, &args.shape), e->way);
    const tally_status status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    if (device == gpu) {
        assert_ok(tally_copy(gpu, result, memory[3], bytes));
        for (int k = 0; k < 4; k++)
            tally_free(gpu, memory[k]);
    }
    tally_plan_destroy(plan);
    return status;
}

static size_t result_bytes(const example *e) {
    tally_desc desc = describe_labels(e, 0);
    tally_plan *plan;
    size_t per_result;
    assert_ok(tally_plan_create(cpu, &desc, &plan));
    assert_ok(tally_plan_describe(plan, &desc, &per_result));
    tally_plan_destroy(plan);
    return e->groups * per_result * tally_dtype_size(desc.out);
}

/* Bytes that no run writes by chance. */
static void spoil(unsigned char *result, size_t bytes) {
    memset(result, 0xa5, bytes);
}

/* 127 times 1 and once 1 + 2^-46: the sum lies in the middle between 128 and the next double. */
static void exact_ties_are_even(void **state) {
    (void)state;
    enum { GROUPS = 512, EACH = 128, N = GROUPS * EACH };
    double *const x = malloc(N * sizeof *x), sums[GROUPS];
    int32_t *const labels = malloc(N * sizeof *labels);
    assert_true(x && labels);
    for (int i = 0; i < N; i++) {
        x[i] = i < GROUPS ? 1 + 0x1p-46 : 1;
        labels[i] = i % GROUPS;
    }
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan;
    desc.op = TALLY_SUM;
    desc.mode = TALLY_EXACT;
    desc.grouping = TALLY_LABELS;
    desc.in = TALLY_F64;
    desc.index = TALLY_I32;
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    tally_args args = arguments(upload(x, N * sizeof *x), N, room(sizeof sums), sizeof sums);
    args.labels = upload(labels, N * sizeof *labels);
    args.shape.groups = GROUPS;
    assert_string_equal(way_of(plan, &args.shape), "sums");
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(gpu, sums, args.out, sizeof sums));
    for (int g = 0; g < GROUPS; g++)
        if (sums[g] != EACH)
            fail_msg("group %d: %a", g, sums[g]);
    tally_plan_destroy(plan);
    tally_free(gpu, (void *)args.x), tally_free(gpu, args.out), tally_free(gpu, (void *)args.labels);
    free(x), free(labels);
}

static void results_are_the_cpus(void **state) {
    const example *e = *state;
    if (e->n > most_elements)
        return;
    const size_t bytes = result_bytes(e);
    data d = make_data(e);
    unsigned char *expected = malloc(bytes), *found = malloc(bytes);
    for (size_t odd = 0; odd < 2; odd++) {
        assert_ok(run_on(cpu, e, &d, odd, 0, expected, bytes));
        for (int time = 0; time < 2; time++) {
            spoil(found, bytes);
            assert_ok(run_on(gpu, e, &d, odd, 0, found, bytes));
            if (memcmp(found, expected, bytes) != 0)
                fail_msg("%s: other results than the CPU's%s", e->name, odd ? " at odd addresses" : "");
        }
    }
    /* Two labels out of range, one behind and one before. */
    const uint64_t behind = e->groups, before = UINT64_MAX;
    const uint64_t first = e->n / 2, second = e->n - 1;
    memcpy(d.labels + first * d.label_bytes, &behind, d.label_bytes);
    memcpy(d.labels + second * d.label_bytes, &before, d.label_bytes);
    spoil(expected, bytes);
    spoil(found, bytes);
    assert_int_equal(run_on(gpu, e, &d, 0, 0, found, bytes), TALLY_BAD_LABELS);
    char message[64];
    snprintf(message, sizeof message, "labels[%llu] is %llu;", (unsigned long long)first, (unsigned long long)behind);
    assert_non_null(strstr(tally_last_error(), message));
    assert_memory_equal(found, expected, bytes);
    const tally_status status = run_on(cpu, e, &d, 0, TALLY_SKIP_BAD_LABELS, expected, bytes);
    assert_int_equal(run_on(gpu, e, &d, 0, TALLY_SKIP_BAD_LABELS, found, bytes), status);
    assert_memory_equal(found, expected, bytes);
    free(expected);
    free(found);
    free_data(&d);
}

int main(int argc, char **argv) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    if (argc > 1)
        most_elements = strtoull(argv[1], NULL, 10);
    struct CMUnitTest tests[COUNT_OF(examples) + 1] = {0};
    tests[COUNT_OF(examples)] = (struct CMUnitTest)cmocka_unit_test(exact_ties_are_even);
    for (size_t k = 0; k < COUNT_OF(examples); k++)
        tests[k] = (struct CMUnitTest){examples[k].name, results_are_the_cpus, NULL, NULL, (void *)&examples[k]};
    return close_devices(cmocka_run_group_tests_name("labels", tests, NULL, NULL));
}
