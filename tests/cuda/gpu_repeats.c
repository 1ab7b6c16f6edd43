/* A run that is repeated gives the same bits, however the blocks and warps of a scan meet: hundreds of runs of a plan
 * on the same input, over output that is spoilt before each, told apart by a product with random weights. Where
 * elements are whole numbers the results are the CPU's, which is asked several times too. An argument is another number
 * of runs. */
#include "gpu.h"

enum { MOST = 20000000 };

static unsigned runs = 200;

typedef struct repeated {
    const char *name;
    tally_op op;
    tally_grouping grouping;
    tally_form form;
    tally_dtype in;
    unsigned flags;
    uint64_t n;
    uint64_t columns; /* 0: rows of consecutive elements, where an axis is scanned */
    tally_dtype out;
} repeated;

static const repeated all[] = {
    {"argmax i16, backwards", TALLY_ARGMAX, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_I16, TALLY_REVERSE, MOST, 0,
     TALLY_DEFAULT},
    {"argmin i8", TALLY_ARGMIN, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_I8, 0, MOST - 1, 0, TALLY_DEFAULT},
    {"argmax f32", TALLY_ARGMAX, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0, 3000017, 0, TALLY_DEFAULT},
    {"minmax i16, backwards", TALLY_MINMAX, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_I16, TALLY_REVERSE, MOST, 0,
     TALLY_DEFAULT},
    {"minmax u8", TALLY_MINMAX, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_U8, 0, MOST, 0, TALLY_DEFAULT},
    {"sum u8", TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_U8, 0, MOST, 0, TALLY_DEFAULT},
    {"sum u8 in u8", TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_U8, 0, MOST, 0, TALLY_U8},
    {"sum i16, backwards", TALLY_SUM, TALLY_ALL_VALUES, TALLY_EXCLUSIVE_SCAN, TALLY_I16, TALLY_REVERSE, MOST - 3, 0,
     TALLY_DEFAULT},
    {"sum f32", TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0, MOST, 0, TALLY_DEFAULT},
    {"sum f32, little", TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0, 100003, 0, TALLY_DEFAULT},
    {"sum f64, backwards", TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_F64, TALLY_REVERSE, MOST, 0,
     TALLY_DEFAULT},
    {"var f32", TALLY_VAR, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0, 3000017, 0, TALLY_DEFAULT},
    {"logsumexp f32, little", TALLY_LOGSUMEXP, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0, 30011, 0,
     TALLY_DEFAULT},
    {"argmax i16 of rows", TALLY_ARGMAX, TALLY_AXIS, TALLY_INCLUSIVE_SCAN, TALLY_I16, TALLY_REVERSE, MOST, 0,
     TALLY_DEFAULT},
    {"sum f32 of 3 columns", TALLY_SUM, TALLY_AXIS, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0, 18000000, 3, TALLY_DEFAULT},
    {"sum f64 of 5 columns", TALLY_SUM, TALLY_AXIS, TALLY_EXCLUSIVE_SCAN, TALLY_F64, 0, MOST, 5, TALLY_DEFAULT},
    {"max i32 of 40 columns, backwards", TALLY_MAX, TALLY_AXIS, TALLY_EXCLUSIVE_SCAN, TALLY_I32, TALLY_REVERSE, MOST,
     40, TALLY_DEFAULT},
    {"argmax i16 of segments", TALLY_ARGMAX, TALLY_SEGMENTS, TALLY_INCLUSIVE_SCAN, TALLY_I16, 0, MOST, 0,
     TALLY_DEFAULT},
    {"max i16 of segments, backwards", TALLY_MAX, TALLY_SEGMENTS, TALLY_INCLUSIVE_SCAN, TALLY_I16, TALLY_REVERSE, MOST,
     0, TALLY_DEFAULT},
    {"argmin i16 of keys", TALLY_ARGMIN, TALLY_KEYS, TALLY_INCLUSIVE_SCAN, TALLY_I16, 0, MOST, 0, TALLY_DEFAULT},
};

/* ---- input and output, once for all ---- */

static uint64_t *bits; /* MOST random ones */
static void *x, *out, *weights, *offsets, *keys;
static unsigned char *found, *expected;
static tally_plan *weigh;

enum { SEGMENTS = 4000, ROW = 1000000, OUT = MOST * 8 };

/* Keys in runs of very different lengths, and the segments that end where they do. */
static void make_groups(void) {
    int64_t *of_segments = calloc(SEGMENTS + 1, sizeof *of_segments);
    int32_t *of_elements = calloc(MOST, sizeof *of_elements);
    uint64_t state = 7, at = 0;
    assert_non_null(of_segments);
    assert_non_null(of_elements);
    for (int s = 0; s < SEGMENTS; s++) {
        uint64_t length = s == SEGMENTS - 1 ? MOST : random_below(&state, s % 40 ? 100 : 160000);
        const uint64_t end = at + length < MOST ? at + length : MOST;
        for (; at < end; at++)
            of_elements[at] = s;
        of_segments[s + 1] = (int64_t)end;
    }
    offsets = upload(of_segments, (SEGMENTS + 1) * sizeof *of_segments);
    keys = upload(of_elements, MOST * sizeof *of_elements);
    free(of_segments);
    free(of_elements);
}

static int make_all(void **state) {
    (void)state;
    tally_desc dot = describe(TALLY_DOT, TALLY_REDUCE, TALLY_U64);
    uint64_t seed = 1;
    bits = malloc(OUT);
    found = malloc(OUT);
    expected = malloc(OUT);
    if (!bits || !found || !expected)
        return -1;
    for (size_t k = 0; k < MOST; k++)
        bits[k] = random_bits(&seed) | 1;
    weights = upload(bits, OUT);
    make_groups();
    out = room(OUT);
    x = room(OUT);
    assert_ok(tally_plan_create(gpu, &dot, &weigh));
    return 0;
}

static int free_all(void **state) {
    (void)state;
    void *const memory[] = {x, out, weights, offsets, keys};
    for (size_t k = 0; k < COUNT_OF(memory); k++)
        tally_free(gpu, memory[k]);
    tally_plan_destroy(weigh);
    free(bits);
    free(found);
    free(expected);
    return 0;
}

/* Random elements, in 'found' and on the device; sums of the floats round. */
static void fill(const repeated *r) {
    const size_t bytes = tally_dtype_size(r->in);
    if (r->in == TALLY_F32)
        for (size_t k = 0; k < r->n; k++)
            ((float *)found)[k] = (float)(int32_t)(uint32_t)bits[k] / 7;
    else if (r->in == TALLY_F64)
        for (size_t k = 0; k < r->n; k++)
            ((double *)found)[k] = (double)(int64_t)bits[k] / 7;
    else
        for (size_t k = 0; k < r->n; k++)
            memcpy(found + k * bytes, (const unsigned char *)&bits[k] + 3, bytes);
    assert_ok(tally_copy(gpu, x, found, r->n * bytes));
}

/* ---- runs ---- */

static size_t out_bytes_of(const repeated *r, const tally_plan *plan) {
    tally_desc desc = {.struct_size = sizeof desc};
    size_t per_result;
    assert_ok(tally_plan_describe(plan, &desc, &per_result));
    return r->n * per_result * tally_dtype_size(desc.out);
}

static tally_args arguments_of(const repeated *r, size_t bytes) {
    tally_args args = arguments(x, r->n, out, bytes);
    if (r->grouping == TALLY_AXIS)
        args.shape =
            r->columns ? (tally_shape){1, r->n / r->columns, r->columns, 0} : (tally_shape){r->n / ROW, ROW, 1, 0};
    if (r->grouping == TALLY_SEGMENTS) {
        args.offsets = offsets;
        args.shape.groups = SEGMENTS;
    }
    if (r->grouping == TALLY_KEYS)
        args.keys = keys;
    return args;
}

/* A number that all of the output goes into; its length is made a multiple of 8 bytes. */
static uint64_t weight_of_out(size_t bytes) {
    void *place = room(8);
    uint64_t sum;
    tally_args args = arguments(out, bytes / 8, place, 8);
    args.y = weights;
    assert_ok(tally_run(weigh, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(gpu, &sum, place, 8));
    tally_free(gpu, place);
    return sum;
}

static void spoil_out(size_t bytes, unsigned with) {
    assert_ok(tally_cuda_enter(cuda()));
    const CUresult result =
        api()->cuMemsetD32Async((CUdeviceptr)(uintptr_t)out, 0xa5a50000u + with, bytes / 4, cuda()->stream);
    tally_cuda_leave(cuda());
    assert_ok(tally_cuda_check(result, "spoiling the output"));
}

/* Where two outputs differ, told. */
static void tell_difference(const char *name, unsigned run, const unsigned char *a, const unsigned char *b,
                            size_t bytes) {
    size_t count = 0, first = bytes, last = 0;
    for (size_t k = 0; k < bytes; k++)
        if (a[k] != b[k]) {
            first = first < k ? first : k;
            last = k;
            count++;
        }
    print_message("          %s: run %u: %zu of %zu bytes differ, from %zu to %zu\n", name, run, count, bytes, first,
                  last);
    for (size_t k = first & ~(size_t)7, shown = 0; k < bytes && shown < 6; k += 8)
        if (memcmp(a + k, b + k, 8) != 0) {
            uint64_t left, right;
            memcpy(&left, a + k, 8);
            memcpy(&right, b + k, 8);
            print_message("            at byte %zu: %016llx and %016llx\n", k, (unsigned long long)left,
                          (unsigned long long)right);
            shown++;
        }
}

/* How many of the runs differ from the first. */
static unsigned repeat(const repeated *r, const tally_desc *desc) {
    tally_plan *plan;
    uint64_t first = 0;
    unsigned differ = 0;
    assert_ok(tally_plan_create(gpu, desc, &plan));
    const size_t bytes = out_bytes_of(r, plan), whole = (bytes + 7) / 8 * 8;
    const tally_args args = arguments_of(r, bytes);
    for (unsigned run = 0; run < runs; run++) {
        spoil_out(whole, run);
        if (bytes < whole) /* what lies behind the output is always the same */
            assert_ok(tally_copy(gpu, (char *)out + bytes, bits, whole - bytes));
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        const uint64_t weight = weight_of_out(whole);
        if (run == 0) {
            assert_ok(tally_copy(gpu, expected, out, bytes));
            first = weight;
        } else if (weight != first) {
            assert_ok(tally_copy(gpu, found, out, bytes));
            if (differ++ < 3)
                tell_difference(r->name, run, expected, found, bytes);
        }
    }
    tally_plan_destroy(plan);
    return differ;
}

/* The CPU's results beside the first of the GPU's, in 'expected'. */
static unsigned compare_with_cpu(const repeated *r, const tally_desc *desc, void *input) {
    tally_plan *plan;
    unsigned differ = 0;
    assert_ok(tally_plan_create(cpu, desc, &plan));
    const size_t bytes = out_bytes_of(r, plan);
    tally_args args = arguments_of(r, bytes);
    int64_t *of_segments = malloc((SEGMENTS + 1) * sizeof *of_segments);
    int32_t *of_elements = malloc(MOST * sizeof *of_elements);
    assert_non_null(of_segments);
    assert_non_null(of_elements);
    assert_ok(tally_copy(gpu, of_segments, offsets, (SEGMENTS + 1) * sizeof *of_segments));
    assert_ok(tally_copy(gpu, of_elements, keys, MOST * sizeof *of_elements));
    args.x = input;
    args.out = found;
    args.offsets = args.offsets ? of_segments : NULL;
    args.keys = args.keys ? of_elements : NULL;
    for (unsigned run = 0; run < 1 + runs / 20; run++) {
        memset(found, 0xa5, bytes);
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        if (memcmp(found, expected, bytes) != 0 && differ++ < 3)
            tell_difference(r->name, run, expected, found, bytes);
    }
    free(of_segments);
    free(of_elements);
    tally_plan_destroy(plan);
    return differ;
}

static void every_run_gives_the_same_bits(void **state) {
    (void)state;
    unsigned differ = 0;
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        const repeated *r = &all[k];
        tally_desc desc = describe(r->op, r->form, r->in);
        const bool is_float = r->in == TALLY_F32 || r->in == TALLY_F64;
        desc.grouping = r->grouping;
        desc.out = r->out;
        desc.flags = r->flags;
        desc.index = r->grouping == TALLY_SEGMENTS ? TALLY_I64 : r->grouping == TALLY_KEYS ? TALLY_I32 : TALLY_DEFAULT;
        fill(r);
        void *input = malloc(r->n * tally_dtype_size(r->in));
        assert_non_null(input);
        memcpy(input, found, r->n * tally_dtype_size(r->in));
        const unsigned of_gpu = repeat(r, &desc), of_cpu = is_float ? 0 : compare_with_cpu(r, &desc, input);
        print_message("          %-32s %u runs, %u differ; of the CPU's, %u\n", r->name, runs, of_gpu, of_cpu);
        differ += of_gpu + of_cpu;
        free(input);
    }
    assert_int_equal(differ, 0);
}

int main(int argc, char **argv) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    if (argc > 1)
        runs = (unsigned)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_run_gives_the_same_bits, make_all, free_all),
    };
    return close_devices(cmocka_run_group_tests_name("runs repeated", tests, NULL, NULL));
}
