/* A call with a workspace and a stream is captured into a CUDA graph, and the graph gives right results each time that
 * it is launched, whatever its inputs have come to hold meanwhile. */
#include "gpu.h"

typedef void *graph;
typedef void *executable;

static struct {
    CUresult (*cuStreamBeginCapture_v2)(CUstream, int);
    CUresult (*cuStreamEndCapture)(CUstream, graph *);
    CUresult (*cuGraphInstantiateWithFlags)(executable *, graph, unsigned long long);
    CUresult (*cuGraphLaunch)(executable, CUstream);
    CUresult (*cuGraphExecDestroy)(executable);
    CUresult (*cuGraphDestroy)(graph);
} graphs;

enum { CAPTURE_GLOBAL = 0, LAUNCHES = 3, ELEMENTS = 1572871, MOST_OUT = 8 * ELEMENTS };

static void find_graphs(void) {
    const char *path = getenv("TALLY_LIBCUDA");
    path = path ? path : "libcuda.so.1";
#define FIND(name) find_function(path, #name, &graphs.name)
    FIND(cuStreamBeginCapture_v2);
    FIND(cuStreamEndCapture);
    FIND(cuGraphInstantiateWithFlags);
    FIND(cuGraphLaunch);
    FIND(cuGraphExecDestroy);
    FIND(cuGraphDestroy);
#undef FIND
}

#define assert_cuda(call) assert_ok(tally_cuda_check((call), #call))

typedef struct example {
    const char *name;
    tally_op op;
    tally_grouping grouping;
    tally_form form;
    tally_mode mode;
    tally_shape shape;
    unsigned flags;
} example;

static const example examples[] = {
    {"reduce", TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, {1, ELEMENTS, 1, 0}, 0},
    {"reduce few", TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, {1, 1000, 1, 0}, 0},
    {"argmax", TALLY_ARGMAX, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, {1, ELEMENTS, 1, 0}, 0},
    {"scan", TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, {1, ELEMENTS, 1, 0}, 0},
    {"scan few", TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, {1, 1000, 1, 0}, 0},
    {"segments", TALLY_SUM, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST, {1, ELEMENTS, 1, 5000}, 0},
    {"scan of segments", TALLY_SUM, TALLY_SEGMENTS, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, {1, ELEMENTS, 1, 5000}, 0},
    {"keys", TALLY_SUM, TALLY_KEYS, TALLY_REDUCE, TALLY_FAST, {1, ELEMENTS, 1, 0}, 0},
    {"scan of keys", TALLY_SUM, TALLY_KEYS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, {1, ELEMENTS, 1, 0}, 0},
    {"rows", TALLY_SUM, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, {300, 5000, 1, 0}, 0},
    {"short rows", TALLY_SUM, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, {30000, 50, 1, 0}, 0},
    {"columns", TALLY_SUM, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, {2, 5000, 150, 0}, 0},
    {"scan of rows", TALLY_SUM, TALLY_AXIS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, {300, 5000, 1, 0}, 0},
    {"scan of columns", TALLY_SUM, TALLY_AXIS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, {2, 5000, 150, 0}, 0},
    {"exact", TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, {1, ELEMENTS, 1, 0}, 0},
    {"exact norm of rows", TALLY_NORM2, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, {30, 50000, 1, 0}, 0},
    {"exact segments", TALLY_SUM, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_EXACT, {1, ELEMENTS, 1, 5000}, 0},
    {"exact keys", TALLY_MEAN, TALLY_KEYS, TALLY_REDUCE, TALLY_EXACT, {1, ELEMENTS, 1, 0}, 0},
    {"exact to words", TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, {1, ELEMENTS, 1, 0}, TALLY_WORDS_OUT},
    {"exact from words", TALLY_MEAN, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, {3, 8, 40, 0}, TALLY_WORDS_IN},
    {"maxima to words", TALLY_MAX, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, {2, 5000, 150, 0}, TALLY_WORDS_OUT},
    {"argmax from words", TALLY_ARGMAX, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, {3, 8, 40, 0}, TALLY_WORDS_IN},
};

/* One input in host memory: small whole numbers, whose sums no order rounds; for exact mode anything. */
typedef struct contents {
    float x[ELEMENTS];
    int64_t index[ELEMENTS]; /* offsets or keys */
} contents;

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static tally_desc desc_of(const example *e) {
    tally_desc desc = describe(e->op, e->form, TALLY_F32);
    desc.grouping = e->grouping;
    desc.mode = e->mode;
    desc.flags = e->flags;
    return desc;
}

/* Takes elements together to states, which then take their place. */
static void make_states(contents *c, const example *e) {
    enum { EACH = 10, MOST_WORDS = 64 };
    tally_desc desc = desc_of(e);
    tally_words_info info = {.struct_size = sizeof info};
    int64_t words[MOST_WORDS];
    assert_ok(tally_words_describe(&desc, &info));
    desc.grouping = TALLY_ALL_VALUES;
    desc.flags = 0;
    for (size_t i = e->shape.outer * e->shape.extent * e->shape.inner; i-- > 0;) {
        tally_accumulator *a;
        assert_ok(tally_accumulator_create_for(&desc, &a));
        assert_ok(tally_accumulator_add(a, c->x + i * EACH, NULL, EACH));
        assert_ok(tally_accumulator_words(a, words, sizeof words));
        memcpy((char *)c->x + ELEMENTS * sizeof(float) / 2 + i * info.count * 8, words, info.count * 8);
        tally_accumulator_destroy(a);
    }
    memmove(c->x, (char *)c->x + ELEMENTS * sizeof(float) / 2, ELEMENTS * sizeof(float) / 2);
}

static void fill(contents *c, const example *e, uint64_t *state) {
    for (size_t i = 0; i < ELEMENTS; i++) {
        const uint64_t bits = random_bits(state);
        c->x[i] = (float)(int)(bits % 17) - 8;
        if (e->mode == TALLY_EXACT)
            c->x[i] *= (float)(bits >> 40) * (bits >> 20 & 1 ? 1e-20F : 1e10F);
    }
    if (e->flags & TALLY_WORDS_IN)
        make_states(c, e);
    if (e->grouping == TALLY_SEGMENTS) {
        for (uint64_t s = 0; s <= e->shape.groups; s++)
            c->index[s] = (int64_t)random_below(state, ELEMENTS + 1);
        qsort(c->index, e->shape.groups + 1, sizeof *c->index, ascending);
    } else if (e->grouping == TALLY_KEYS) {
        const uint64_t length = 1 + random_below(state, 40);
        for (size_t i = 0; i < ELEMENTS; i++)
            c->index[i] = i && random_below(state, length) ? c->index[i - 1] : (int64_t)random_below(state, 1000);
    }
}

/* What a run gives, or has to give. */
typedef struct results {
    char out[MOST_OUT];
    int64_t keys[ELEMENTS];
    uint64_t count;
} results;

static contents host;
static results expected, found;

static size_t out_bytes_of(const example *e) {
    const size_t elements = e->shape.outer * e->shape.extent * e->shape.inner, of_value = e->op == TALLY_ARGMAX ? 8 : 4;
    const tally_desc desc = desc_of(e);
    tally_words_info info = {.struct_size = sizeof info};
    assert_ok(tally_words_describe(&desc, &info));
    const size_t size = e->flags & TALLY_WORDS_OUT ? info.count * 8 : of_value;
    if (e->form != TALLY_REDUCE || e->grouping == TALLY_KEYS)
        return elements * size;
    return size * (e->grouping == TALLY_SEGMENTS ? e->shape.groups : e->shape.outer * e->shape.inner);
}

static tally_args args_of(const example *e, const void *x, const void *index, void *out, void *keys) {
    tally_args args = arguments(x, e->shape.extent, out, out_bytes_of(e));
    args.shape = e->shape;
    if (e->grouping == TALLY_SEGMENTS)
        args.offsets = index;
    if (e->grouping == TALLY_KEYS)
        args.keys = index;
    if (e->grouping == TALLY_KEYS && e->form == TALLY_REDUCE) {
        args.keys_out = keys;
        args.keys_out_bytes = sizeof found.keys;
    }
    return args;
}

static void expect(const example *e) {
    const tally_desc desc = desc_of(e);
    tally_args args = args_of(e, host.x, host.index, expected.out, expected.keys);
    memset(&expected, 0, sizeof expected);
    args.count = &expected.count;
    assert_ok(run_desc(cpu, &desc, &args));
}

static void captured_and_launched(void **state) {
    const example *e = *state;
    const tally_desc desc = desc_of(e);
    uint64_t random = 1;
    tally_plan *plan;
    size_t workspace_bytes;
    CUstream stream;
    graph captured;
    executable ready;
    uint64_t *count = NULL;
    void *x = room(sizeof host.x), *index = room(sizeof host.index), *out = room(sizeof found.out);
    void *keys = room(sizeof found.keys);
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    assert_ok(tally_plan_workspace(plan, &e->shape, &workspace_bytes));
    void *workspace = room(workspace_bytes);
    assert_ok(tally_cuda_enter(cuda()));
    assert_cuda(api()->cuMemHostAlloc((void **)&count, sizeof *count, 0));
    assert_cuda(api()->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    tally_args args = args_of(e, x, index, out, keys);
    args.workspace = workspace;
    args.workspace_bytes = workspace_bytes;
    args.count = e->grouping == TALLY_KEYS && e->form == TALLY_REDUCE ? count : NULL;
    assert_cuda(graphs.cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
    assert_ok(tally_run(plan, &args, stream));
    assert_cuda(graphs.cuStreamEndCapture(stream, &captured));
    assert_cuda(graphs.cuGraphInstantiateWithFlags(&ready, captured, 0));
    for (int launch = 0; launch < LAUNCHES; launch++) {
        fill(&host, e, &random);
        expect(e);
        assert_ok(tally_copy(gpu, x, host.x, sizeof host.x));
        assert_ok(tally_copy(gpu, index, host.index, sizeof host.index));
        memset(&found, 0, sizeof found);
        assert_ok(tally_copy(gpu, out, found.out, sizeof found.out));
        assert_ok(tally_copy(gpu, keys, found.keys, sizeof found.keys));
        *count = 0;
        if (launch == LAUNCHES - 1) /* a plain run with the same workspace finds it as it must be */
            assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        else
            assert_cuda(graphs.cuGraphLaunch(ready, stream));
        assert_cuda(api()->cuStreamSynchronize(stream));
        assert_ok(tally_copy(gpu, found.out, out, sizeof found.out));
        assert_ok(tally_copy(gpu, found.keys, keys, sizeof found.keys));
        found.count = args.count ? *count : 0;
        assert_int_equal(found.count, args.count ? expected.count : 0);
        if (memcmp(found.out, expected.out, sizeof found.out) != 0)
            fail_msg("%s: launch %d gives other results than the CPU", e->name, launch);
        assert_memory_equal(found.keys, expected.keys, sizeof found.keys);
    }
    assert_cuda(graphs.cuGraphExecDestroy(ready));
    assert_cuda(graphs.cuGraphDestroy(captured));
    assert_cuda(api()->cuStreamDestroy(stream));
    assert_cuda(api()->cuMemFreeHost(count));
    tally_cuda_leave(cuda());
    tally_plan_destroy(plan);
    void *all[] = {x, index, out, keys, workspace};
    for (size_t k = 0; k < COUNT_OF(all); k++)
        tally_free(gpu, all[k]);
}

int main(void) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    find_graphs();
    struct CMUnitTest tests[COUNT_OF(examples)];
    for (size_t k = 0; k < COUNT_OF(examples); k++)
        tests[k] = (struct CMUnitTest){examples[k].name, captured_and_launched, NULL, NULL, (void *)&examples[k]};
    return close_devices(cmocka_run_group_tests_name("captured into a graph", tests, NULL, NULL));
}
