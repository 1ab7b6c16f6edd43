/* What stands in a workspace before a run does not matter: plans of different operators and forms take turns in one, in
 * random order and at random sizes, over what the others have left, zeros, ones and random bits. Results are the CPU's.
 * For that no run may leave a sum behind that a block of the next run would take for one of its own (hand_over.cu), and
 * a counter may begin with anything (apart_runs.cu). Reductions by keys ask for 4 MiB besides their bits and a
 * thirty-second of the keys, not for a result of each element. Arguments: the number of runs, and the most elements. */
#include "gpu.h"

#include <inttypes.h>

typedef struct example {
    tally_op op;
    tally_form form;
    tally_dtype in;
    unsigned flags;
    tally_grouping grouping;
} example;

/* With accumulators of 4 to 32 bytes. Of whole numbers no order changes a result; others have the bits that they have
 * in memory of the plan's own. */
static const example examples[] = {
    {TALLY_SUM, TALLY_REDUCE, TALLY_I64, 0, TALLY_ALL_VALUES},
    {TALLY_MAX, TALLY_REDUCE, TALLY_F32, 0, TALLY_ALL_VALUES},
    {TALLY_ARGMIN, TALLY_REDUCE, TALLY_I64, 0, TALLY_ALL_VALUES},
    {TALLY_MINMAX, TALLY_REDUCE, TALLY_F64, 0, TALLY_ALL_VALUES},
    {TALLY_ANY, TALLY_INCLUSIVE_SCAN, TALLY_U16, 0, TALLY_ALL_VALUES},
    {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I64, 0, TALLY_ALL_VALUES},
    {TALLY_BXOR, TALLY_EXCLUSIVE_SCAN, TALLY_U32, TALLY_REVERSE, TALLY_ALL_VALUES},
    {TALLY_ARGMAX, TALLY_INCLUSIVE_SCAN, TALLY_I32, 0, TALLY_ALL_VALUES},
    {TALLY_MINMAX, TALLY_INCLUSIVE_SCAN, TALLY_I64, TALLY_REVERSE, TALLY_ALL_VALUES},
    {TALLY_VAR, TALLY_REDUCE, TALLY_F32, 0, TALLY_ALL_VALUES},
    {TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_F32, 0, TALLY_ALL_VALUES},
    {TALLY_LOGSUMEXP, TALLY_EXCLUSIVE_SCAN, TALLY_I32, TALLY_REVERSE, TALLY_ALL_VALUES},
    {TALLY_SUM, TALLY_REDUCE, TALLY_I64, 0, TALLY_SEGMENTS},
    {TALLY_ANY, TALLY_REDUCE, TALLY_U16, 0, TALLY_SEGMENTS},
    {TALLY_BXOR, TALLY_REDUCE, TALLY_U32, 0, TALLY_SEGMENTS},
    {TALLY_NORM_INF, TALLY_REDUCE, TALLY_F64, 0, TALLY_SEGMENTS},
    {TALLY_VAR, TALLY_REDUCE, TALLY_I32, 0, TALLY_SEGMENTS},
    {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I64, 0, TALLY_AXIS},
    {TALLY_ARGMIN, TALLY_INCLUSIVE_SCAN, TALLY_I32, TALLY_REVERSE, TALLY_AXIS},
    {TALLY_MINMAX, TALLY_INCLUSIVE_SCAN, TALLY_F64, 0, TALLY_AXIS},
    {TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_I64, TALLY_REVERSE, TALLY_KEYS},
    {TALLY_ARGMAX, TALLY_INCLUSIVE_SCAN, TALLY_I32, 0, TALLY_KEYS},
    {TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_U16, 0, TALLY_KEYS},
};
/* By keys, with results that wait. */
static const struct {
    tally_op op;
    tally_dtype in, index;
} key_examples[] = {
    {TALLY_SUM, TALLY_I64, TALLY_I32}, {TALLY_MAX, TALLY_U8, TALLY_I64}, {TALLY_MINMAX, TALLY_I32, TALLY_I16}};
enum {
    EXAMPLES = sizeof examples / sizeof *examples,
    KEY_EXAMPLES = sizeof key_examples / sizeof *key_examples,
    WORKSPACE = 16 << 20,
    ALIGNMENT = 256,
    MOST_SEGMENTS = 4096,
    MEAN_RUN = 3000 /* of the keys of scans: some tiles have none that begins */
};

static unsigned runs = 400;
static uint64_t most_elements = 4000000;
static tally_plan *on_gpu[EXAMPLES], *on_cpu[EXAMPLES];
static unsigned char *input, *expected, *found, *contents;
static void *x, *out, *memory, *workspace, *offsets, *keys_on_gpu;
static int32_t *keys_on_cpu;
static int64_t bounds[MOST_SEGMENTS + 1];

static void spoil(uint64_t *state) {
    const uint64_t how = random_below(state, 6);
    if (how > 2)
        return; /* it stays as the last run has left it */
    for (size_t k = 0; k < WORKSPACE; k += 8) {
        const uint64_t word = how == 0 ? 0 : how == 1 ? UINT64_MAX : random_bits(state);
        memcpy(contents + k, &word, 8);
    }
    /* often only its beginning, over what a run has left behind that */
    assert_ok(tally_copy(gpu, workspace, contents, random_below(state, 2) ? WORKSPACE : random_below(state, 4096)));
}

static int compare(const void *a, const void *b) {
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Segments of any lengths, of most elements. */
static uint64_t make_segments(uint64_t *state, uint64_t n) {
    const uint64_t segments = 1 + random_below(state, (uint64_t)MOST_SEGMENTS >> random_below(state, 12));
    for (uint64_t g = 0; g <= segments; g++)
        bounds[g] = (int64_t)random_below(state, n + 1);
    qsort(bounds, segments + 1, sizeof *bounds, compare);
    assert_ok(tally_copy(gpu, offsets, bounds, (segments + 1) * sizeof *bounds));
    return segments;
}

/* Whether a sum lies anywhere that blocks have handed over. */
static bool has_marks(void) {
    assert_ok(tally_copy(gpu, contents, workspace, WORKSPACE));
    for (size_t k = 0; k < WORKSPACE; k += 16) {
        uint32_t word[4];
        memcpy(word, contents + k, 16);
        if ((word[0] ^ word[2]) == TALLY_CUDA_MARK && (word[1] ^ word[3]) == TALLY_CUDA_SECOND_MARK)
            return true;
    }
    return false;
}

static void what_stands_in_a_workspace_does_not_matter(void **unused) {
    (void)unused;
    uint64_t state = 11, n = 0;
    unsigned which = 0;
    for (unsigned k = 0; k < runs; k++) {
        /* Often the same on other elements: what the last run has left then lies where this one looks. */
        const bool is_same = k > 0 && random_below(&state, 2) == 0;
        which = is_same ? which : (unsigned)random_below(&state, EXAMPLES);
        n = is_same ? n : 1 + random_below(&state, most_elements >> random_below(&state, 8));
        const example *e = &examples[which];
        const uint64_t size = tally_dtype_size(e->in), odd = random_below(&state, 4) * size;
        size_t elements, bytes;
        tally_desc desc = TALLY_DESC_INIT;
        assert_ok(tally_plan_describe(on_gpu[which], &desc, &elements));
        const bool are_segments = e->grouping == TALLY_SEGMENTS;
        const uint64_t segments = are_segments ? make_segments(&state, n) : 0;
        const size_t results = e->form != TALLY_REDUCE ? n
                               : are_segments          ? segments
                                                       : 1,
                     result = tally_dtype_size(desc.out) * elements * results;
        tally_args args = arguments((char *)x + odd, n, out, result),
                   reference = arguments(input + odd, n, expected, result);
        args.shape.groups = reference.shape.groups = segments;
        if (are_segments) {
            args.offsets = offsets;
            reference.offsets = bounds;
        }
        args.keys = keys_on_gpu;
        reference.keys = keys_on_cpu;
        assert_ok(tally_plan_workspace(on_gpu[which], &args.shape, &bytes));
        assert_true(bytes <= WORKSPACE);
        args.workspace = workspace;
        args.workspace_bytes = WORKSPACE;
        spoil(&state);
        assert_ok(tally_run(on_gpu[which], &args, TALLY_SYNCHRONOUS));
        assert_ok(tally_copy(gpu, found, out, result));
        if (e->op == TALLY_VAR || e->op == TALLY_LOGSUMEXP) {
            args.workspace = NULL;
            args.workspace_bytes = 0;
            assert_ok(tally_run(on_gpu[which], &args, TALLY_SYNCHRONOUS));
            assert_ok(tally_copy(gpu, expected, out, result));
        } else {
            assert_ok(tally_run(on_cpu[which], &reference, TALLY_SYNCHRONOUS));
        }
        if (has_marks())
            fail_msg("run %u: %s leaves a mark", k, tally_op_name(e->op));
        if (memcmp(found, expected, result) != 0)
            fail_msg("run %u: %s of %" PRIu64 " %s", k, tally_op_name(e->op), n, tally_dtype_name(e->in));
    }
}

static tally_plan *plan_by_keys(tally_device *device, int k) {
    tally_plan *plan;
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = key_examples[k].op;
    desc.grouping = TALLY_KEYS;
    desc.in = key_examples[k].in;
    desc.index = key_examples[k].index;
    assert_ok(tally_plan_create(device, &desc, &plan));
    return plan;
}

static void runs_wait_in_4_mib(void **unused) {
    (void)unused;
    for (int k = 0; k < KEY_EXAMPLES; k++) {
        tally_plan *plan = plan_by_keys(gpu, k);
        for (uint64_t n = 1000; n < 8000000; n = n * 3 / 2) {
            size_t bytes;
            const tally_shape shape = {1, n, 1, 0};
            assert_ok(tally_plan_workspace(plan, &shape, &bytes));
            const uint64_t of_elements =
                n / 5 + n * tally_dtype_size(key_examples[k].index) / 32; /* bits, keys, tiles */
            assert_true(bytes <= (4 << 20) + (256 << 10) + of_elements);
        }
        tally_plan_destroy(plan);
    }
}

/* Fills keys in runs of 'mean' on average, and returns how many there are. */
static uint64_t make_keys(uint64_t *state, unsigned char *keys, size_t size, uint64_t n, uint64_t mean) {
    uint64_t count = 0, key = 0;
    for (uint64_t k = 0; k < n; k++) {
        if (k == 0 || random_below(state, mean) == 0) {
            key = (key + 1) & 0x3fff;
            count++;
        }
        memcpy(keys + k * size, &key, size);
    }
    return count;
}

static void what_stands_before_a_reduction_by_keys_does_not_matter(void **unused) {
    (void)unused;
    uint64_t state = 12;
    for (int k = 0; k < KEY_EXAMPLES; k++) {
        tally_plan *plan = plan_by_keys(gpu, k), *reference = plan_by_keys(cpu, k);
        const size_t key_bytes = tally_dtype_size(key_examples[k].index);
        size_t elements, bytes;
        tally_desc desc = TALLY_DESC_INIT;
        assert_ok(tally_plan_describe(plan, &desc, &elements));
        for (unsigned turn = 0; turn < runs / 20; turn++) {
            const uint64_t n = 1 + random_below(&state, most_elements >> random_below(&state, 6));
            unsigned char *keys = malloc(n * key_bytes);
            const uint64_t all = make_keys(&state, keys, key_bytes, n, 1 + random_below(&state, 12));
            const size_t result = tally_dtype_size(desc.out) * elements * all;
            void *keys_there = upload(keys, n * key_bytes), *keys_out = room(all * key_bytes);
            unsigned char *keys_found = malloc(all * key_bytes), *keys_wanted = malloc(all * key_bytes);
            uint64_t counts[2];
            tally_args args = arguments(x, n, out, result), wanted = arguments(input, n, expected, result);
            args.keys = keys_there, wanted.keys = keys;
            args.keys_out = keys_out, wanted.keys_out = keys_wanted;
            args.keys_out_bytes = wanted.keys_out_bytes = all * key_bytes;
            args.count = &counts[0], wanted.count = &counts[1];
            assert_ok(tally_plan_workspace(plan, &args.shape, &bytes));
            assert_true(bytes <= WORKSPACE);
            args.workspace = workspace;
            args.workspace_bytes = WORKSPACE;
            spoil(&state);
            assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
            assert_ok(tally_run(reference, &wanted, TALLY_SYNCHRONOUS));
            assert_ok(tally_copy(gpu, found, out, result));
            assert_ok(tally_copy(gpu, keys_found, keys_out, all * key_bytes));
            assert_int_equal(counts[0], all);
            assert_int_equal(counts[1], all);
            if (memcmp(found, expected, result) != 0 || memcmp(keys_found, keys_wanted, all * key_bytes) != 0)
                fail_msg("turn %u: %s of %" PRIu64 " %s by keys, %" PRIu64 " runs", turn,
                         tally_op_name(key_examples[k].op), n, tally_dtype_name(key_examples[k].in), all);
            tally_free(gpu, keys_there);
            tally_free(gpu, keys_out);
            free(keys), free(keys_found), free(keys_wanted);
        }
        tally_plan_destroy(plan);
        tally_plan_destroy(reference);
    }
}

int main(int argc, char **argv) {
    const int opened = open_devices();
    if (opened)
        return opened;
    runs = argc > 1 ? (unsigned)atoi(argv[1]) : runs;
    most_elements = argc > 2 ? strtoull(argv[2], NULL, 10) : most_elements;
    const size_t bytes = (most_elements + 4) * 8;
    uint64_t state = 5;
    input = malloc(bytes);
    expected = malloc(2 * bytes);
    found = malloc(2 * bytes);
    contents = malloc(WORKSPACE);
    for (size_t k = 0; k < bytes; k += 8) { /* small numbers, of any type */
        const uint64_t word = random_bits(&state) & UINT64_C(0x3f3f3f3f3f3f3f3f);
        memcpy(input + k, &word, 8);
    }
    x = upload(input, bytes);
    out = room(2 * bytes);
    memory = room(WORKSPACE + ALIGNMENT);
    offsets = room(sizeof bounds);
    keys_on_cpu = malloc(most_elements * sizeof *keys_on_cpu);
    for (uint64_t k = 0; k < most_elements; k++)
        keys_on_cpu[k] = k ? keys_on_cpu[k - 1] + (random_below(&state, MEAN_RUN) == 0) : 0;
    keys_on_gpu = upload(keys_on_cpu, most_elements * sizeof *keys_on_cpu);
    workspace = (char *)memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT);
    for (int k = 0; k < EXAMPLES; k++) {
        tally_desc desc = TALLY_DESC_INIT;
        desc.op = examples[k].op;
        desc.form = examples[k].form;
        desc.in = examples[k].in;
        desc.flags = examples[k].flags;
        desc.grouping = examples[k].grouping;
        desc.index = desc.grouping == TALLY_SEGMENTS ? TALLY_I64 : desc.grouping == TALLY_KEYS ? TALLY_I32 : desc.index;
        assert_ok(tally_plan_create(gpu, &desc, &on_gpu[k]));
        assert_ok(tally_plan_create(cpu, &desc, &on_cpu[k]));
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_stands_in_a_workspace_does_not_matter),
                                       cmocka_unit_test(runs_wait_in_4_mib),
                                       cmocka_unit_test(what_stands_before_a_reduction_by_keys_does_not_matter)};
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    for (int k = 0; k < EXAMPLES; k++) {
        tally_plan_destroy(on_gpu[k]);
        tally_plan_destroy(on_cpu[k]);
    }
    tally_free(gpu, memory);
    tally_free(gpu, offsets);
    tally_free(gpu, keys_on_gpu);
    tally_free(gpu, out);
    tally_free(gpu, x);
    free(keys_on_cpu);
    free(contents);
    free(found);
    free(expected);
    free(input);
    return close_devices(failures);
}
