/* Scans along short axes, and reductions of tiny slabs, rows and columns: results are the CPU's, at any address, in
 * place, too, and nothing around them is written. Results are whole numbers, so they have the same bits in any order of
 * the additions.
 */
#include "gpu.h"

enum { AROUND = 512 /* bytes */, MOST_OFF = 3 /* elements by which input and output are off */ };

static const struct {
    tally_op op;
    tally_dtype in, out;
    tally_form form;
    unsigned flags;
} computations[] = {
    {TALLY_SUM, TALLY_I8, TALLY_I8, TALLY_INCLUSIVE_SCAN, 0},
    {TALLY_SUM, TALLY_I32, TALLY_I64, TALLY_EXCLUSIVE_SCAN, 0},
    {TALLY_DOT, TALLY_U16, TALLY_U16, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE},
    {TALLY_MIN, TALLY_I64, TALLY_I64, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE},
    {TALLY_BOR, TALLY_I8, TALLY_I8, TALLY_REDUCE, 0},
    {TALLY_DOT, TALLY_U16, TALLY_U64, TALLY_REDUCE, 0},
    {TALLY_MINMAX, TALLY_U32, TALLY_U32, TALLY_INCLUSIVE_SCAN, 0}, /* pairs, which may be aligned to a half */
    {TALLY_MINMAX, TALLY_I16, TALLY_I16, TALLY_REDUCE, 0},         /* the most results of a thread of tiny_rows.cu */
    {TALLY_MINMAX, TALLY_I8, TALLY_I8, TALLY_REDUCE, 0},           /* four columns in a word (packed_columns.cu) */
    {TALLY_SUM, TALLY_I8, TALLY_I64, TALLY_REDUCE, 0},
    {TALLY_NORM1, TALLY_I8, TALLY_I64, TALLY_REDUCE, 0},
    {TALLY_PROD, TALLY_I8, TALLY_I64, TALLY_REDUCE, 0}, /* some at a time in 32 bits (running.cu) */
    {TALLY_PROD, TALLY_U16, TALLY_U64, TALLY_REDUCE, 0},
    {TALLY_LOGSUMEXP, TALLY_I32, TALLY_F64, TALLY_REDUCE, 0}, /* as good as the largest, far behind a table's end */
    {TALLY_MINMAX, TALLY_U8, TALLY_U8, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE},
    /* some columns in a word (packed_scans.cu), whose alignment decides where results of tall slabs lie */
    {TALLY_MAX, TALLY_I8, TALLY_I8, TALLY_INCLUSIVE_SCAN, 0},
    {TALLY_PROD, TALLY_I16, TALLY_I16, TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE},
    {TALLY_ANY, TALLY_U8, TALLY_U8, TALLY_EXCLUSIVE_SCAN, 0},
    {TALLY_SUM, TALLY_U32, TALLY_U32, TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE},
};
static const tally_shape shapes[] = {
    /* long rows, whose ends are anywhere in a vector (scan_thin.cu) */
    {1, 1, 3001, 0},
    {3, 2, 1001, 0},
    {2, 3, 2050, 0},
    {5, 4, 517, 0},
    {1, 30, 70007, 0},
    {700, 5, 601, 0},
    /* rows of two, whose results do not wait for each other (scan_few.cu) */
    {20001, 2, 1, 0},
    /* slabs of thousands of rows that are parts of sectors (scan_slabs.cu) */
    {40, 1026, 3, 0},
    {1100, 300, 2, 0},
    /* reductions of slabs that are parts of a vector (tiny_rows.cu) */
    {9001, 2, 2, 0},
    {9002, 3, 2, 0},
    {9003, 4, 2, 0},
    {9004, 2, 3, 0},
    {9005, 2, 4, 0},
    /* reductions of rows and columns, of which each begins anywhere in a vector (short_rows.cu, fold_columns.cu) */
    {700, 2543, 1, 0},
    {7, 66, 1001, 0},
    {1, 5003, 7, 0},
    /* columns that a thread each has, and slabs of which a block has two (thin_columns.cu, fold_columns.cu) */
    {3001, 23, 97, 0},
    {1100, 320, 13, 0},
    /* narrow rows that lie in shared memory as they do in memory (scan_tall.cu) */
    {1, 60007, 3, 0},
    {2, 20001, 7, 0},
    {150, 1500, 5, 0},
    /* rows that are a cluster each, of chunks that end anywhere (cluster.cu, scan_held.cu) */
    {2, 9001, 1, 0},
    {22, 4327, 1, 0},
    {300, 2049, 1, 0},
    /* columns that clusters hold where waves would do, and slabs that those cannot share evenly (path.c) */
    {2, 2111, 32, 0},
    {72, 1003, 20, 0},
    /* rows in one piece of which a block has more than 64 bytes; whole columns in a block; chains of groups of tiles,
     * if many blocks run at a time (scan_tall.cu) */
    {2, 7001, 37, 0},
    {3, 91, 2001, 0},
    {1, 20501, 66, 0},
    {1, 9001, 64, 0},
};
enum { TALL = COUNT_OF(shapes) - 4 };
static size_t first_shape;

typedef struct buffers {
    char *x, *expected, *found; /* on the host */
    void *on_gpu, *out;
    size_t in_bytes, out_bytes;
} buffers;

static void run(tally_plan *plan, const tally_shape *shape, const char *x, const char *y, char *out, const buffers *b) {
    tally_args args = TALLY_ARGS_INIT;
    args.shape = *shape;
    args.x = x;
    args.y = y;
    args.out = out;
    args.out_bytes = b->out_bytes;
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
}

static bool may_be_in_place(size_t number) {
    return computations[number].form != TALLY_REDUCE && computations[number].in == computations[number].out &&
           computations[number].op != TALLY_MINMAX && computations[number].op != TALLY_DOT; /* whose y is x */
}

static void expect_found(size_t number, size_t of_shape, size_t off, const buffers *b, size_t all, const char *how) {
    assert_ok(tally_copy(gpu, b->found, b->out, all));
    if (memcmp(b->found, b->expected, all))
        fail_msg("computation %zu, shape %zu, %zu elements off%s: not the CPU's", number, of_shape, off, how);
}

/* Runs a shape on both devices, the input and the output some elements off. */
static void compare(size_t number, size_t of_shape, tally_plan *const plans[2]) {
    const tally_shape *shape = &shapes[of_shape];
    const size_t elements = (size_t)(shape->outer * shape->extent * shape->inner);
    const size_t numbers = computations[number].op == TALLY_MINMAX ? 2 : 1; /* of a result */
    const size_t in = tally_dtype_size(computations[number].in);
    const size_t out = numbers * tally_dtype_size(computations[number].out);
    buffers b = {.in_bytes = (elements + MOST_OFF) * in, .out_bytes = elements * out};
    const size_t all = b.out_bytes + 2 * AROUND;
    uint64_t random = of_shape + 1;
    b.x = malloc(b.in_bytes);
    b.expected = malloc(all);
    b.found = malloc(all);
    assert_true(b.x && b.expected && b.found);
    for (size_t at = 0; at < b.in_bytes; at++) /* odd factors, of which no number has the product 0 */
        b.x[at] = (char)(random_bits(&random) | (computations[number].op == TALLY_PROD));
    b.on_gpu = upload(b.x, b.in_bytes);
    b.out = room(all);
    for (size_t off = 0; off <= MOST_OFF; off += MOST_OFF) {
        const size_t at = AROUND - off * out / numbers;
        memset(b.expected, 0x77, all);
        memcpy(b.found, b.expected, all);
        assert_ok(tally_copy(gpu, b.out, b.found, all));
        const char *x = b.x + off * in, *x_on_gpu = (char *)b.on_gpu + off * in;
        run(plans[0], shape, x, computations[number].op == TALLY_DOT ? x : NULL, b.expected + at, &b);
        run(plans[1], shape, x_on_gpu, computations[number].op == TALLY_DOT ? x_on_gpu : NULL, (char *)b.out + at, &b);
        expect_found(number, of_shape, off, &b, all, "");
        if (!may_be_in_place(number))
            continue;
        memset(b.found, 0x77, all);
        memcpy(b.found + at, x, b.out_bytes);
        assert_ok(tally_copy(gpu, b.out, b.found, all));
        run(plans[1], shape, (char *)b.out + at, NULL, (char *)b.out + at, &b);
        expect_found(number, of_shape, off, &b, all, " in place");
    }
    tally_free(gpu, b.on_gpu);
    tally_free(gpu, b.out);
    free(b.x);
    free(b.expected);
    free(b.found);
}

static void scans_along_short_axes_are_the_cpus(void **state) {
    (void)state;
    for (size_t number = 0; number < COUNT_OF(computations); number++) {
        tally_desc desc = TALLY_DESC_INIT;
        tally_plan *plans[2];
        desc.op = computations[number].op;
        desc.form = computations[number].form;
        desc.grouping = TALLY_AXIS;
        desc.in = computations[number].in;
        desc.out = computations[number].out;
        desc.flags = computations[number].flags;
        assert_ok(tally_plan_create(cpu, &desc, &plans[0]));
        assert_ok(tally_plan_create(gpu, &desc, &plans[1]));
        for (size_t k = first_shape; k < COUNT_OF(shapes); k++)
            compare(number, k, plans);
        tally_plan_destroy(plans[0]);
        tally_plan_destroy(plans[1]);
    }
}

/* usage: cuda_gpu_axes [tall]: all shapes, or those of scan_tall.cu */
int main(int argc, char **argv) {
    first_shape = argc > 1 && strcmp(argv[1], "tall") == 0 ? TALL : 0;
    const int code = open_devices();
    if (code)
        return close_devices(code);
    const struct CMUnitTest tests[] = {cmocka_unit_test(scans_along_short_axes_are_the_cpus)};
    return close_devices(cmocka_run_group_tests_name("scans along short axes", tests, NULL, NULL));
}
