/* Calls that follow each other in a stream have the results of calls that wait. What one writes is what the next one
 * reads, as elements, offsets, keys, labels or the value that groups start from, and what it reads the next one may
 * overwrite. So a kernel that starts early must touch none of it before it has waited (ptx.cu). Arguments: rounds, the
 * most elements, the first seed. */
#include "gpu.h"

typedef struct example {
    tally_op op;
    tally_form form;
    tally_grouping grouping;
    tally_mode mode;
    unsigned flags;
} example;

/* Each path that starts early has an example here, and so have some that do not. Elements and results are f32. */
static const example examples[] = {
    {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, 0},
    {TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, TALLY_REVERSE},
    {TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, 0},
    {TALLY_LOGSUMEXP, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, TALLY_REVERSE},
    {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_EXACT, 0},
    {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_SEGMENTS, TALLY_FAST, 0},
    {TALLY_MAX, TALLY_EXCLUSIVE_SCAN, TALLY_SEGMENTS, TALLY_FAST, TALLY_REVERSE},
    {TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_SEGMENTS, TALLY_FAST, 0},
    {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_KEYS, TALLY_FAST, 0},
    {TALLY_STD, TALLY_INCLUSIVE_SCAN, TALLY_KEYS, TALLY_FAST, TALLY_REVERSE},
    {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_AXIS, TALLY_FAST, 0},
    {TALLY_MAX, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST, 0},
    {TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_EXACT, 0},
    {TALLY_SUM, TALLY_REDUCE, TALLY_SEGMENTS, TALLY_FAST, 0},
    {TALLY_VAR, TALLY_REDUCE, TALLY_SEGMENTS, TALLY_FAST, 0},
    {TALLY_NORM2, TALLY_REDUCE, TALLY_KEYS, TALLY_FAST, 0},
    {TALLY_SUM, TALLY_REDUCE, TALLY_LABELS, TALLY_FAST, 0},
    {TALLY_MEAN, TALLY_REDUCE, TALLY_AXIS, TALLY_FAST, 0},
};
enum { EXAMPLES = COUNT_OF(examples), BUFFERS = 3, INDICES = 3, CALLS = 12, MOST_GROUPS = 3000, PAST = 4 };

/* What offsets, keys and labels are made of, by running sums and maxima: two of each, which take turns. */
typedef enum index_of { OFFSETS, KEYS, LABELS } index_of;

static size_t rounds = 300, most = 3000000;
static uint64_t first_seed = 1;
static tally_plan *plans[EXAMPLES], *sum_of_indices, *sum_up_to, *max_of_indices;

typedef struct memory {
    size_t n, groups;
    float *x[BUFFERS], *start; /* on the GPU */
    int32_t *index[INDICES], *from[INDICES][2];
    void *all;
    size_t bytes;
} memory;

static tally_plan *plan_of(example e, tally_dtype type) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan;
    desc.op = e.op;
    desc.form = e.form;
    desc.grouping = e.grouping;
    desc.mode = e.mode;
    desc.flags = e.flags;
    desc.in = desc.out = type;
    desc.index = e.grouping == TALLY_ALL_VALUES || e.grouping == TALLY_AXIS ? TALLY_DEFAULT : TALLY_I32;
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    return plan;
}

static size_t index_count(const memory *m, index_of which) {
    return which == OFFSETS ? m->groups + 1 : m->n;
}

/* Lengths that add up to at most n; heads of runs; labels. */
static void make_index_source(const memory *m, index_of which, uint64_t *random, int32_t *to) {
    const size_t mean = m->n / m->groups;
    for (size_t k = 0; k < index_count(m, which); k++)
        to[k] = which == OFFSETS ? (int32_t)random_below(random, mean + 1)
                : which == KEYS  ? random_below(random, mean + 1) == 0
                                 : (int32_t)random_below(random, m->groups);
}

/* All in one allocation, so that one copy restores it. */
static char *make_memory(memory *m, uint64_t *random) {
    size_t at = 0, places[BUFFERS + 1 + 3 * INDICES], count = 0;
    m->n = random_below(random, 2) ? log_uniform(random, most) : 1 + random_below(random, 2000);
    m->groups = 1 + log_uniform(random, m->n < MOST_GROUPS ? m->n : MOST_GROUPS) / 2;
    for (int k = 0; k < BUFFERS + 1 + 3 * INDICES; k++) {
        const bool is_index = k > BUFFERS;
        const size_t elements = k == BUFFERS ? 1 : is_index ? index_count(m, (index_of)((k - BUFFERS - 1) / 3)) : m->n;
        places[count++] = at + 4 * (random_below(random, 2) ? random_below(random, PAST) : 0);
        at += (4 * (elements + 2 * PAST) + 255) / 256 * 256;
    }
    m->bytes = at;
    char *const host = calloc(at, 1);
    assert_non_null(host);
    m->all = room(at);
    for (int k = 0; k < BUFFERS; k++) {
        m->x[k] = (float *)((char *)m->all + places[k]);
        for (size_t i = 0; i < m->n; i++)
            ((float *)(host + places[k]))[i] = (float)random_below(random, 1000) / 256 - 1;
    }
    m->start = (float *)((char *)m->all + places[BUFFERS]);
    for (int k = 0; k < INDICES; k++)
        for (int j = 0; j < 3; j++) {
            const size_t place = places[BUFFERS + 1 + 3 * k + j];
            *(j ? &m->from[k][j - 1] : &m->index[k]) = (int32_t *)((char *)m->all + place);
            if (j)
                make_index_source(m, (index_of)k, random, (int32_t *)(host + place));
        }
    return host;
}

static void call(tally_plan *plan, const tally_args *args, CUstream stream) {
    const tally_status status = tally_run(plan, args, stream ? (void *)stream : TALLY_SYNCHRONOUS);
    if (status != TALLY_OK)
        fail_msg("%s", tally_last_error());
}

static void make_index(const memory *m, index_of which, bool second, CUstream stream) {
    const size_t n = index_count(m, which);
    tally_args args = arguments(m->from[which][second], n, m->index[which], 4 * n);
    call(which == OFFSETS ? sum_up_to : which == KEYS ? sum_of_indices : max_of_indices, &args, stream);
}

/* One of the examples, from one buffer to another or in place. */
static void run_example(const memory *m, uint64_t *random, CUstream stream) {
    const size_t which = random_below(random, EXAMPLES);
    const example *e = &examples[which];
    const bool is_scan = e->form != TALLY_REDUCE;
    const size_t from = random_below(random, BUFFERS), step = random_below(random, BUFFERS);
    const size_t to = is_scan ? (from + step) % BUFFERS : (from + 1 + step % (BUFFERS - 1)) % BUFFERS;
    tally_args args = arguments(m->x[from], m->n, m->x[to], 4 * m->n);
    const uint64_t extent = 1 + log_uniform(random, m->n) % m->n, inner = 1 + log_uniform(random, m->n / extent) / 2;
    const bool has_start = random_below(random, 3) == 0;
    if (e->grouping == TALLY_AXIS)
        args.shape = (tally_shape){m->n / extent / inner, extent, inner, 0};
    else if (e->grouping != TALLY_ALL_VALUES && e->grouping != TALLY_KEYS)
        args.shape.groups = m->groups;
    args.offsets = e->grouping == TALLY_SEGMENTS ? m->index[OFFSETS] : NULL;
    args.keys = e->grouping == TALLY_KEYS ? m->index[KEYS] : NULL;
    args.labels = e->grouping == TALLY_LABELS ? m->index[LABELS] : NULL;
    args.initial = has_start && is_scan && (e->op == TALLY_SUM || e->op == TALLY_MAX) ? m->start : NULL;
    call(plans[which], &args, stream);
}

static void run_all(const memory *m, uint64_t random, CUstream stream) {
    for (int k = 0; k < INDICES; k++)
        make_index(m, (index_of)k, false, stream);
    for (int k = 0; k < CALLS; k++) {
        const uint64_t kind = random_below(&random, 8);
        if (kind == 0) {
            tally_args args = arguments(m->x[random_below(&random, BUFFERS)], m->n, m->start, 4);
            call(plans[11], &args, stream);
        } else if (kind <= 2) {
            make_index(m, (index_of)random_below(&random, INDICES), random_below(&random, 2), stream);
        } else {
            run_example(m, &random, stream);
        }
    }
}

static void calls_in_a_stream_are_those_that_wait(void **state) {
    (void)state;
    CUstream stream;
    assert_ok(tally_cuda_enter(cuda()));
    assert_int_equal(api()->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (uint64_t seed = first_seed; seed < first_seed + rounds; seed++) {
        uint64_t random = seed;
        memory m;
        char *const host = make_memory(&m, &random), *const expected = malloc(m.bytes), *const found = malloc(m.bytes);
        assert_true(expected && found);
        assert_ok(tally_copy(gpu, m.all, host, m.bytes));
        run_all(&m, random, NULL);
        assert_ok(tally_copy(gpu, expected, m.all, m.bytes));
        assert_ok(tally_copy(gpu, m.all, host, m.bytes));
        run_all(&m, random, stream);
        assert_int_equal(api()->cuStreamSynchronize(stream), CUDA_SUCCESS);
        assert_ok(tally_copy(gpu, found, m.all, m.bytes));
        if (memcmp(found, expected, m.bytes) != 0)
            fail_msg("seed %llu, %zu elements, %zu groups: others than calls that wait", (unsigned long long)seed, m.n,
                     m.groups);
        tally_free(gpu, m.all);
        free(host), free(expected), free(found);
    }
    assert_int_equal(api()->cuStreamDestroy(stream), CUDA_SUCCESS);
    tally_cuda_leave(cuda());
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : rounds;
    most = argc > 2 ? strtoull(argv[2], NULL, 10) : most;
    first_seed = argc > 3 ? strtoull(argv[3], NULL, 10) : first_seed;
    const int code = open_devices();
    if (code)
        return close_devices(code);
    for (size_t k = 0; k < EXAMPLES; k++)
        plans[k] = plan_of(examples[k], TALLY_F32);
    sum_of_indices = plan_of((example){TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, 0}, TALLY_I32);
    sum_up_to = plan_of((example){TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, 0}, TALLY_I32);
    max_of_indices = plan_of((example){TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, 0}, TALLY_I32);
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_in_a_stream_are_those_that_wait)};
    const int result = cmocka_run_group_tests_name("calls in a stream", tests, NULL, NULL);
    for (size_t k = 0; k < EXAMPLES; k++)
        tally_plan_destroy(plans[k]);
    tally_plan_destroy(sum_of_indices);
    tally_plan_destroy(sum_up_to);
    tally_plan_destroy(max_of_indices);
    return close_devices(result);
}
