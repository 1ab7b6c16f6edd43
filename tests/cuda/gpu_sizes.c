/* All values are reduced and scanned in other ways as they become more: by a block, by a cluster of blocks, by kernels
 * one after the other, by waves. Wherever the way changes, results are the CPU's just below and just above, at odd
 * addresses, in place, from an initial value and in pieces, too, and the same bits when a run is repeated. The sizes
 * are found by asking how a run would be cut, so that none has to be named here. An argument is the most elements. */
#include "gpu.h"

#include "cuda/path.h"
#include "cuda/plan.h"

enum { THOROUGHLY = 1 << 17 /* elements; of more, plain runs are compared only */ };

static uint64_t most_elements = UINT64_C(1) << 25;

typedef struct example {
    const char *name;
    tally_op op;
    tally_form form;
    tally_dtype in;
    unsigned flags;
} example;

/* Sums of small whole numbers, and what is chosen: no order changes them. */
static const example examples[] = {
    {"sum f32", TALLY_SUM, TALLY_REDUCE, TALLY_F32, 0},
    {"argmax i16", TALLY_ARGMAX, TALLY_REDUCE, TALLY_I16, 0},
    {"scan of sum f32", TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0},
    {"scan of sum i64, backwards", TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_I64, TALLY_REVERSE},
    {"scan of sum f64", TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_F64, 0},
    {"scan of max u8", TALLY_MAX, TALLY_EXCLUSIVE_SCAN, TALLY_U8, 0},
    {"scan of minmax i16, backwards", TALLY_MINMAX, TALLY_INCLUSIVE_SCAN, TALLY_I16, TALLY_REVERSE},
    {"scan of argmin f32", TALLY_ARGMIN, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0},
};

/* ---- where the way changes ---- */

typedef struct way {
    bool in_cluster;
    uint64_t parts; /* blocks, or tiles of waves */
} way;

static way way_of(const tally_cuda_cut *cut) {
    switch (cut->path) {
    case TALLY_CUDA_ROWS:
        return (way){cut->rows.in_cluster, cut->rows.blocks};
    case TALLY_CUDA_HELD:
        return (way){cut->held.in_cluster, cut->held.blocks};
    case TALLY_CUDA_SCAN:
        return (way){false, cut->scan.tiles};
    default:
        return (way){false, 0};
    }
}

static bool is_one_way(const tally_plan *base, uint64_t n, uint64_t m) {
    tally_cuda_plan *plan = (tally_cuda_plan *)base; /* a cut may ask it for kernels */
    const tally_shape shapes[2] = {{1, n, 1, 0}, {1, m, 1, 0}};
    tally_cuda_cut cuts[2];
    for (int k = 0; k < 2; k++)
        tally_cuda_cut_make(plan, &shapes[k], &cuts[k]);
    if (cuts[0].path != cuts[1].path)
        return false;
    const way a = way_of(&cuts[0]), b = way_of(&cuts[1]);
    return a.in_cluster == b.in_cluster && (a.parts > 1) == (b.parts > 1) && (a.parts > 8) == (b.parts > 8);
}

/* The least size above 'low' that goes another way; 0 if all up to 'high' go the same. */
static uint64_t next_change(const tally_plan *plan, uint64_t low, uint64_t high) {
    const uint64_t from = low;
    if (is_one_way(plan, from, high))
        return 0;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (is_one_way(plan, from, middle))
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- runs ---- */

static unsigned char *input, *expected, *found;
static void *x, *out;

static void fill(tally_dtype type) {
    uint64_t state = 3;
    for (size_t k = 0; k < most_elements + 1; k++) {
        const int value = (int)random_below(&state, 7) - 3;
        const float single = (float)value;
        const double wide = value;
        const int64_t whole = value; /* little-endian: its first bytes are the narrower ones */
        const void *from = type == TALLY_F32   ? (const void *)&single
                           : type == TALLY_F64 ? (const void *)&wide
                                               : (const void *)&whole;
        memcpy(input + k * tally_dtype_size(type), from, tally_dtype_size(type));
    }
    assert_ok(tally_copy(gpu, x, input, (most_elements + 1) * tally_dtype_size(type)));
}

typedef enum manner { PLAIN, AT_ODD_ADDRESSES, IN_PLACE, FROM_AN_INITIAL_VALUE, IN_PIECES, MANNERS } manner;

typedef struct both {
    tally_plan *of_gpu, *of_cpu;
    size_t result_bytes;
} both;

static bool is_possible(const example *e, const both *plans, manner how, uint64_t n) {
    switch (how) {
    case PLAIN:
        return true;
    case AT_ODD_ADDRESSES:
        return n <= THOROUGHLY;
    case IN_PLACE:
        return n <= THOROUGHLY && e->form != TALLY_REDUCE && plans->result_bytes == tally_dtype_size(e->in);
    case FROM_AN_INITIAL_VALUE:
        return n <= THOROUGHLY && e->form != TALLY_REDUCE && e->op == TALLY_SUM;
    default:
        return n <= THOROUGHLY && e->form != TALLY_REDUCE && !(e->flags & TALLY_REVERSE);
    }
}

/* One side's run of elements [0, n), or in pieces the second of two such. The memory is that of the side. */
static void run_side(tally_plan *plan, manner how, uint64_t n, const void *from, void *to, size_t bytes,
                     const void *initial) {
    tally_args args = arguments(from, n, to, bytes);
    args.initial = how == FROM_AN_INITIAL_VALUE ? initial : NULL;
    if (how == IN_PIECES) {
        assert_ok(tally_push(plan, &args));
        assert_ok(tally_push(plan, &args));
        tally_reset(plan);
    } else {
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    }
}

static void compare(const example *e, const both *plans, manner how, uint64_t n) {
    static const char *const names[] = {"", " at odd addresses", " in place", " from an initial value", " in pieces"};
    const size_t size = tally_dtype_size(e->in), odd = how == AT_ODD_ADDRESSES;
    const size_t bytes = plans->result_bytes * (e->form == TALLY_REDUCE ? 1 : n);
    unsigned char *from = (unsigned char *)x + odd * size;
    unsigned char *to = (unsigned char *)out + odd * plans->result_bytes;
    run_side(plans->of_cpu, how, n, input + odd * size, expected, bytes, input);
    for (int time = 0; time < 2; time++) {
        memset(found, 0xa5, bytes);
        assert_ok(tally_copy(gpu, to, found, bytes));
        if (how == IN_PLACE) {
            assert_ok(tally_copy(gpu, out, input, n * size));
            from = to = out;
        }
        run_side(plans->of_gpu, how, n, from, to, bytes, x);
        assert_ok(tally_copy(gpu, found, to, bytes));
        if (memcmp(found, expected, bytes) != 0)
            fail_msg("%s of %llu elements%s: other results than the CPU's", e->name, (unsigned long long)n, names[how]);
    }
}

static void results_are_right_where_the_way_changes(void **state) {
    const example *e = *state;
    tally_desc desc = describe(e->op, e->form, e->in);
    both plans;
    size_t per_result, changes = 0;
    desc.flags = e->flags;
    desc.out = e->op == TALLY_SUM ? e->in : TALLY_DEFAULT;
    assert_ok(tally_plan_create(gpu, &desc, &plans.of_gpu));
    assert_ok(tally_plan_create(cpu, &desc, &plans.of_cpu));
    assert_ok(tally_plan_describe(plans.of_gpu, &desc, &per_result));
    plans.result_bytes = per_result * tally_dtype_size(desc.out);
    fill(e->in);
    for (uint64_t n = 1; (n = next_change(plans.of_gpu, n, most_elements)); changes++)
        for (uint64_t size = n - 1; size <= n + 1 && size <= most_elements; size++)
            for (manner how = PLAIN; how < MANNERS; how++)
                if (is_possible(e, &plans, how, size))
                    compare(e, &plans, how, size);
    print_message("          %zu changes up to %llu elements\n", changes, (unsigned long long)most_elements);
    assert_true(changes > 0);
    tally_plan_destroy(plans.of_gpu);
    tally_plan_destroy(plans.of_cpu);
}

int main(int argc, char **argv) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    if (argc > 1)
        most_elements = strtoull(argv[1], NULL, 10);
    const size_t bytes = (most_elements + 1) * sizeof(uint64_t);
    input = malloc(bytes);
    expected = malloc(bytes);
    found = malloc(bytes);
    if (!input || !expected || !found || tally_alloc(gpu, bytes, &x) || tally_alloc(gpu, bytes, &out))
        return close_devices(1);
    struct CMUnitTest tests[COUNT_OF(examples)];
    for (size_t k = 0; k < COUNT_OF(examples); k++)
        tests[k] = (struct CMUnitTest){examples[k].name, results_are_right_where_the_way_changes, NULL, NULL,
                                       (void *)&examples[k]};
    const int failed = cmocka_run_group_tests_name("all values, more and more", tests, NULL, NULL);
    tally_free(gpu, x);
    tally_free(gpu, out);
    free(input);
    free(expected);
    free(found);
    return close_devices(failed);
}
