/* A plan whose size is on the device is captured into a graph once, and the graph gives right results for every size up
 * to the one that it was made for: of elements, by keys and labels, too, of an axis, and of segments. It writes nothing
 * past the size, and nothing at all for a size that is larger or, where nothing has no value, 0; the status says so.
 * The emulator has no graphs: there the runs are enqueued. usage: cuda_gpu_device_sizes [most elements [filter]] */
#include "gpu.h"

#include <math.h>

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

enum { CAPTURE_GLOBAL = 0, UNTOUCHED = 0x7b, ALIGNMENT = 256 };

#define assert_cuda(call) assert_ok(tally_cuda_check((call), #call))

static void find_graphs(void) {
    const char *path = getenv("TALLY_LIBCUDA");
    path = path ? path : "libcuda.so.1";
    if (getenv("EMULATE_CAPABILITY"))
        return;
#define FIND(name) find_function(path, #name, &graphs.name)
    FIND(cuStreamBeginCapture_v2);
    FIND(cuStreamEndCapture);
    FIND(cuGraphInstantiateWithFlags);
    FIND(cuGraphLaunch);
    FIND(cuGraphExecDestroy);
    FIND(cuGraphDestroy);
#undef FIND
}

typedef struct example {
    const char *name;
    tally_grouping grouping;
    tally_op op;
    tally_form form;
    tally_mode mode;
    unsigned flags;
    uint64_t share;        /* of the most elements, the largest size */
    bool rounds;           /* its last bits may differ from the CPU's */
    uint64_t groups;       /* of labels */
    uint64_t outer, inner; /* of an axis; else 1 */
} example;

static const example examples[] = {
    {"sum", TALLY_ALL_VALUES, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 0, 1, 1},
    {"sum of few", TALLY_ALL_VALUES, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 40, false, 0, 1, 1},
    {"mean", TALLY_ALL_VALUES, TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, 0, 1, true, 0, 1, 1},
    {"mean of few", TALLY_ALL_VALUES, TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, 0, 40, true, 0, 1, 1},
    {"argmax", TALLY_ALL_VALUES, TALLY_ARGMAX, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 0, 1, 1},
    {"min", TALLY_ALL_VALUES, TALLY_MIN, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 0, 1, 1},
    {"exact sum", TALLY_ALL_VALUES, TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, 0, 1, false, 0, 1, 1},
    {"exact std", TALLY_ALL_VALUES, TALLY_STD, TALLY_REDUCE, TALLY_EXACT, 0, 1, false, 0, 1, 1},
    {"scan", TALLY_ALL_VALUES, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 1, false, 0, 1, 1},
    {"scan of few", TALLY_ALL_VALUES, TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, 0, 400, false, 0, 1, 1},
    {"scan of some", TALLY_ALL_VALUES, TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, 0, 8, false, 0, 1, 1},
    {"reverse scan", TALLY_ALL_VALUES, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 1, false, 0, 1, 1},
    {"reverse scan of some", TALLY_ALL_VALUES, TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 8, false, 0,
     1, 1},
    {"scan of var", TALLY_ALL_VALUES, TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 1, true, 0, 1, 1},
    {"reverse scan of var", TALLY_ALL_VALUES, TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 1, true, 0, 1,
     1},
    {"exact scan", TALLY_ALL_VALUES, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, 0, 1, false, 0, 1, 1},
    {"sum by keys", TALLY_KEYS, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 0, 1, 1},
    {"min of few by keys", TALLY_KEYS, TALLY_MIN, TALLY_REDUCE, TALLY_FAST, 0, 400, false, 0, 1, 1},
    {"exact sum by keys", TALLY_KEYS, TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, 0, 8, false, 0, 1, 1},
    {"mean by keys", TALLY_KEYS, TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, 0, 8, true, 0, 1, 1},
    {"scan by keys", TALLY_KEYS, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 1, false, 0, 1, 1},
    {"reverse scan of few by keys", TALLY_KEYS, TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 400, false,
     0, 1, 1},
    {"sum by segments", TALLY_SEGMENTS, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 0, 1, 1},
    {"sum of few by segments", TALLY_SEGMENTS, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, TALLY_CHECK_WHILE_RUNNING, 400,
     false, 0, 1, 1},
    {"max by segments", TALLY_SEGMENTS, TALLY_MAX, TALLY_REDUCE, TALLY_FAST, 0, 8, false, 0, 1, 1},
    {"exact sum by segments", TALLY_SEGMENTS, TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, 0, 8, false, 0, 1, 1},
    {"scan by segments", TALLY_SEGMENTS, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 1, false, 0, 1, 1},
    {"reverse scan by segments", TALLY_SEGMENTS, TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 8, false,
     0, 1, 1},
    {"exact scan by segments", TALLY_SEGMENTS, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, 0, 40, false, 0, 1, 1},
    {"sum by labels", TALLY_LABELS, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 8, false, 300, 1, 1},
    {"sum by many labels", TALLY_LABELS, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 50000, 1, 1},
    {"sum by more labels", TALLY_LABELS, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 200000, 1, 1},
    {"exact sum by labels", TALLY_LABELS, TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, 0, 8, false, 300, 1, 1},
    {"norm2 by labels", TALLY_LABELS, TALLY_NORM2, TALLY_REDUCE, TALLY_FAST, 0, 8, true, 300, 1, 1},
    {"bad labels are left out", TALLY_LABELS, TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, TALLY_SKIP_BAD_LABELS, 8, true,
     3000, 1, 1},
    {"argmax by labels", TALLY_LABELS, TALLY_ARGMAX, TALLY_REDUCE, TALLY_FAST, 0, 8, false, 1000, 1, 1},
    {"sum of rows", TALLY_AXIS, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 0, 3, 1},
    {"mean of many rows", TALLY_AXIS, TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, 0, 8, true, 0, 1500, 1},
    {"sum of columns", TALLY_AXIS, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 0, 1, 5},
    {"min of columns", TALLY_AXIS, TALLY_MIN, TALLY_REDUCE, TALLY_FAST, 0, 1, false, 0, 2, 300},
    {"mean of many columns", TALLY_AXIS, TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, 0, 1, true, 0, 7, 1000},
    {"argmax of columns", TALLY_AXIS, TALLY_ARGMAX, TALLY_REDUCE, TALLY_FAST, 0, 8, false, 0, 2, 64},
    {"var of columns", TALLY_AXIS, TALLY_VAR, TALLY_REDUCE, TALLY_FAST, 0, 8, true, 0, 3, 16},
    {"exact sum of rows", TALLY_AXIS, TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, 0, 1, false, 0, 3, 1},
    {"exact sum of columns", TALLY_AXIS, TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, 0, 40, false, 0, 3, 20},
    {"scan of rows", TALLY_AXIS, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 1, false, 0, 3, 1},
    {"scan of many rows", TALLY_AXIS, TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, 0, 8, false, 0, 700, 1},
    {"reverse scan of rows", TALLY_AXIS, TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 8, false, 0, 5, 1},
    {"scan of var of rows", TALLY_AXIS, TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 8, true, 0, 4, 1},
    {"exact scan of rows", TALLY_AXIS, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, 0, 8, false, 0, 5, 1},
    {"scan of columns", TALLY_AXIS, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 1, false, 0, 2, 3},
    {"reverse scan of columns", TALLY_AXIS, TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 8, false, 0, 3,
     40},
    {"scan of var of columns", TALLY_AXIS, TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 8, true, 0, 1, 30},
    {"reverse scan of var of columns", TALLY_AXIS, TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 8, true,
     0, 1, 30},
    {"exact scan of columns", TALLY_AXIS, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, 0, 40, false, 0, 2, 20},
};

static uint64_t most_elements = 1572871;

/* The memory of a plan's largest run, on the host and on the device. */
typedef struct memory {
    uint64_t n, most; /* elements; the largest size */
    size_t bytes;     /* of the results */
    float *x;
    int64_t *index; /* offsets, keys or labels */
    char *expected, *found;
    void *workspace;
    size_t workspace_bytes;
    tally_args args; /* on the device */
    tally_sizes sizes;
} memory;

/* Elements of one more of the size. */
static uint64_t each_of(const example *e) {
    return e->outer * e->inner;
}

static tally_desc desc_of(const example *e) {
    tally_desc desc = describe(e->op, e->form, TALLY_F32);
    desc.grouping = e->grouping;
    desc.mode = e->mode;
    desc.flags = e->flags;
    return desc;
}

/* Random; the last is out of range. */
static void label(const example *e, memory *m, uint64_t *random) {
    for (uint64_t i = 0; i < m->n; i++)
        m->index[i] = (int64_t)random_below(random, e->groups);
    m->index[m->n - 1] = -1;
}

/* Runs of keys and segments of 0 to 39 elements, and a long one. */
static void divide(const example *e, memory *m, uint64_t *random) {
    uint64_t at = 0, group = 0;
    for (; at < m->n || e->grouping == TALLY_SEGMENTS; group++) {
        const uint64_t length = group == 7 ? m->n / 3 : random_below(random, 40);
        if (e->grouping == TALLY_SEGMENTS)
            m->index[group] = (int64_t)at;
        if (e->grouping == TALLY_SEGMENTS && (group == m->most || at + length > m->n))
            break;
        for (uint64_t i = at; e->grouping == TALLY_KEYS && i < at + length && i < m->n; i++)
            m->index[i] = (int64_t)group;
        at += length;
    }
    m->most = e->grouping == TALLY_SEGMENTS ? group : m->n;
}

static void make_memory(const example *e, tally_plan *plan, memory *m) {
    uint64_t random = 5;
    m->most = most_elements / e->share / each_of(e);
    m->n = m->most * each_of(e);
    const uint64_t results = e->form != TALLY_REDUCE           ? m->n
                             : e->grouping == TALLY_ALL_VALUES ? 1
                             : e->grouping == TALLY_AXIS       ? each_of(e)
                             : e->grouping == TALLY_LABELS     ? e->groups
                                                               : m->n;
    m->bytes = results * (e->op == TALLY_ARGMAX ? 8 : 4);
    m->x = malloc(m->n * sizeof *m->x);
    m->index = malloc((m->n + 1) * sizeof *m->index);
    m->expected = malloc(m->bytes);
    m->found = malloc(m->bytes);
    assert_true(m->x && m->index && m->expected && m->found);
    if (e->grouping == TALLY_LABELS)
        label(e, m, &random);
    else if (e->grouping == TALLY_SEGMENTS || e->grouping == TALLY_KEYS)
        divide(e, m, &random);
    m->args = arguments(room(m->n * sizeof *m->x), m->n, room(m->bytes), m->bytes);
    m->sizes = (tally_sizes){.struct_size = sizeof m->sizes, .status = room(sizeof(uint32_t))};
    const uint64_t *const size = room(sizeof *size);
    *(e->grouping == TALLY_SEGMENTS ? &m->sizes.groups : &m->sizes.extent) = size;
    if (e->grouping == TALLY_SEGMENTS) {
        m->args.shape.groups = m->most;
        m->args.offsets = room((m->most + 1) * sizeof *m->index);
        assert_ok(tally_copy(gpu, (void *)m->args.offsets, m->index, (m->most + 1) * sizeof *m->index));
    } else if (e->grouping == TALLY_KEYS) {
        m->args.keys = room(m->n * sizeof *m->index);
        assert_ok(tally_copy(gpu, (void *)m->args.keys, m->index, m->n * sizeof *m->index));
    } else if (e->grouping == TALLY_LABELS) {
        m->args.shape.groups = e->groups;
        m->args.labels = room(m->n * sizeof *m->index);
        assert_ok(tally_copy(gpu, (void *)m->args.labels, m->index, m->n * sizeof *m->index));
    } else if (e->grouping == TALLY_AXIS) {
        m->args.shape = (tally_shape){e->outer, m->most, e->inner, 0};
    }
    assert_ok(tally_plan_workspace(plan, &m->args.shape, &m->workspace_bytes));
    m->workspace = room(m->workspace_bytes + ALIGNMENT); /* the emulator's is less aligned than a GPU's */
    m->args.workspace = (void *)(((uintptr_t)m->workspace + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    m->args.workspace_bytes = m->workspace_bytes;
}

static void free_memory(memory *m) {
    void *all[] = {(void *)m->args.x,     m->args.out,     (void *)m->args.offsets, (void *)m->args.keys,
                   m->workspace,          m->sizes.status, (void *)m->sizes.extent, (void *)m->sizes.groups,
                   (void *)m->args.labels};
    for (size_t k = 0; k < COUNT_OF(all); k++)
        tally_free(gpu, all[k]);
    free(m->x);
    free(m->index);
    free(m->expected);
    free(m->found);
}

/* Small whole numbers, whose sums no order rounds; past the size NaNs. */
static void fill(const example *e, memory *m, uint64_t size, uint64_t *random) {
    const uint64_t end = size > m->most                  ? m->n
                         : e->grouping == TALLY_SEGMENTS ? (uint64_t)m->index[size]
                                                         : size * each_of(e);
    for (uint64_t i = 0; i < m->n; i++)
        m->x[i] = i < end ? (float)(int)random_below(random, 17) - 8 : NAN;
}

static bool is_near(float a, float b) {
    return a == b || (isnan(a) && isnan(b)) || fabsf(a - b) <= 1e-5F * fabsf(b) + 1e-6F;
}

/* What the CPU gives: its status, with results only if there are any. */
static tally_status expect(const example *e, const memory *m, uint64_t size) {
    const tally_desc desc = desc_of(e);
    const bool is_groups = e->grouping == TALLY_SEGMENTS;
    tally_args args = arguments(m->x, is_groups ? m->n : size, m->expected, m->bytes);
    args.offsets = is_groups ? m->index : NULL;
    args.keys = e->grouping == TALLY_KEYS ? m->index : NULL;
    args.labels = e->grouping == TALLY_LABELS ? m->index : NULL;
    args.shape.groups = is_groups ? size : e->groups;
    if (e->grouping == TALLY_AXIS)
        args.shape = (tally_shape){e->outer, size, e->inner, 0};
    memset(m->expected, UNTOUCHED, m->bytes);
    return size > m->most ? TALLY_INVALID_ARGUMENT : run_desc(cpu, &desc, &args);
}

static void compare(const example *e, uint64_t size, const memory *m) {
    if (!e->rounds) {
        if (memcmp(m->found, m->expected, m->bytes) != 0)
            fail_msg("%s: other results than the CPU's for size %llu", e->name, (unsigned long long)size);
        return;
    }
    const float *a = (const float *)m->found, *b = (const float *)m->expected;
    for (size_t i = 0; i < m->bytes / sizeof *a; i++)
        if (!is_near(a[i], b[i]))
            fail_msg("%s: result %zu for size %llu is %g, not %g", e->name, i, (unsigned long long)size, (double)a[i],
                     (double)b[i]);
}

/* A run waits or is enqueued, by the graph where there is one. */
static void run_once(const example *e, memory *m, tally_plan *plan, CUstream stream, executable ready, uint64_t size,
                     bool waits) {
    uint32_t status = 99;
    const tally_status wanted = expect(e, m, size);
    memset(m->found, UNTOUCHED, m->bytes);
    assert_ok(tally_copy(gpu, (void *)m->args.x, m->x, m->n * sizeof *m->x));
    assert_ok(tally_copy(gpu, m->args.out, m->found, m->bytes));
    const uint64_t *const on_device = m->sizes.extent ? m->sizes.extent : m->sizes.groups;
    assert_ok(tally_copy(gpu, (void *)on_device, &size, sizeof size));
    assert_ok(tally_copy(gpu, m->sizes.status, &status, sizeof status));
    if (waits)
        assert_int_equal(tally_run_sized(plan, &m->args, &m->sizes, TALLY_SYNCHRONOUS), wanted);
    else if (ready)
        assert_cuda(graphs.cuGraphLaunch(ready, stream));
    else
        assert_ok(tally_run_sized(plan, &m->args, &m->sizes, stream));
    assert_cuda(api()->cuStreamSynchronize(stream));
    assert_ok(tally_copy(gpu, m->found, m->args.out, m->bytes));
    assert_ok(tally_copy(gpu, &status, m->sizes.status, sizeof status));
    assert_int_equal(status, wanted);
    compare(e, size, m);
}

static void a_graph_serves_all_sizes(void **state) {
    const example *e = *state;
    memory m = {0};
    uint64_t random = 1;
    tally_desc desc = desc_of(e);
    desc.flags |= TALLY_SIZE_ON_DEVICE;
    tally_plan *plan;
    CUstream stream;
    graph captured;
    executable ready = NULL;
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    make_memory(e, plan, &m);
    assert_ok(tally_cuda_enter(cuda()));
    assert_cuda(api()->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (graphs.cuGraphLaunch) {
        assert_cuda(graphs.cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL));
        assert_ok(tally_run_sized(plan, &m.args, &m.sizes, stream));
        assert_cuda(graphs.cuStreamEndCapture(stream, &captured));
        assert_cuda(graphs.cuGraphInstantiateWithFlags(&ready, captured, 0));
    }
    const uint64_t n = m.most, sizes[] = {n, 0, 1, n / 3, n + 1, n - 1, 777 % n, UINT64_MAX, 2};
    for (size_t k = 0; k < 2 * COUNT_OF(sizes); k++) {
        fill(e, &m, sizes[k / 2], &random);
        run_once(e, &m, plan, stream, ready, sizes[k / 2], k % 2);
    }
    if (ready) {
        assert_cuda(graphs.cuGraphExecDestroy(ready));
        assert_cuda(graphs.cuGraphDestroy(captured));
    }
    assert_cuda(api()->cuStreamDestroy(stream));
    tally_cuda_leave(cuda());
    tally_plan_destroy(plan);
    free_memory(&m);
}

/* The status tells of offsets that decrease, and nothing is written. Past the size they may decrease. */
static void bad_offsets_are_told(void **state) {
    (void)state;
    const float x[] = {1, 2, 4, 8};
    const int64_t offsets[] = {0, 2, 1, 4};
    for (uint64_t size = 1; size < 4; size++) {
        float out[3] = {-1, -1, -1};
        uint32_t status = 99;
        tally_plan *plan;
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.grouping = TALLY_SEGMENTS;
        desc.flags = TALLY_SIZE_ON_DEVICE;
        assert_ok(tally_plan_create(gpu, &desc, &plan));
        tally_args args = arguments(room(sizeof x), 4, room(sizeof out), sizeof out);
        tally_sizes sizes = {.struct_size = sizeof sizes, .status = room(sizeof status), .groups = room(sizeof size)};
        args.offsets = room(sizeof offsets);
        args.shape.groups = 3;
        assert_ok(tally_copy(gpu, (void *)args.x, x, sizeof x));
        assert_ok(tally_copy(gpu, args.out, out, sizeof out));
        assert_ok(tally_copy(gpu, (void *)args.offsets, offsets, sizeof offsets));
        assert_ok(tally_copy(gpu, (void *)sizes.groups, &size, sizeof size));
        assert_int_equal(tally_run_sized(plan, &args, &sizes, TALLY_SYNCHRONOUS),
                         size > 1 ? TALLY_BAD_OFFSETS : TALLY_OK);
        assert_ok(tally_copy(gpu, out, args.out, sizeof out));
        assert_ok(tally_copy(gpu, &status, sizes.status, sizeof status));
        assert_int_equal(status, size > 1 ? TALLY_BAD_OFFSETS : TALLY_OK);
        assert_true(out[0] == (size > 1 ? -1 : 3) && out[1] == -1 && out[2] == -1);
        tally_plan_destroy(plan);
        void *all[] = {(void *)args.x, args.out, (void *)args.offsets, sizes.status, (void *)sizes.groups};
        for (size_t k = 0; k < COUNT_OF(all); k++)
            tally_free(gpu, all[k]);
    }
}

static void what_has_no_size_on_the_device(void **state) {
    (void)state;
    tally_plan *plan, *sized;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    float *x = room(16), *out = room(16);
    tally_args args = arguments(x, 4, out, 4);
    const uint64_t *size = room(16);
    const tally_sizes sizes = {.struct_size = sizeof sizes, .extent = size}, none = {.struct_size = sizeof none};
    const tally_sizes misaligned = {.struct_size = sizeof none, .extent = (const uint64_t *)((const char *)size + 4)};
    const tally_sizes both = {.struct_size = sizeof both, .extent = size, .groups = size + 1};
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    desc.flags = TALLY_SIZE_ON_DEVICE;
    assert_ok(tally_plan_create(gpu, &desc, &sized));
    assert_int_equal(tally_run(sized, &args, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_run_sized(plan, &args, &sizes, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_run_sized(sized, &args, &none, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_run_sized(sized, &args, &misaligned, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_run_sized(sized, &args, &both, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_push(sized, &args), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
    tally_plan_destroy(sized);
    desc.flags |= TALLY_WORDS_OUT;
    assert_int_equal(tally_plan_create(gpu, &desc, &plan), TALLY_UNSUPPORTED);
    void *all[] = {x, out, (void *)size};
    for (size_t k = 0; k < COUNT_OF(all); k++)
        tally_free(gpu, all[k]);
}

/* Several GPUs leave it to the first one. */
static void several_gpus_read_sizes_too(void **state) {
    (void)state;
    const float x[] = {1, 2, 4, 8, 16, 32};
    float out[2] = {0};
    const uint64_t size = 2;
    tally_device *many;
    tally_plan *plan;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_AXIS;
    desc.flags = TALLY_SIZE_ON_DEVICE;
    assert_ok(tally_open("cuda:0,0", &many));
    assert_ok(tally_plan_create(many, &desc, &plan));
    void *there[3];
    for (size_t k = 0; k < COUNT_OF(there); k++)
        assert_ok(tally_alloc(many, sizeof x, &there[k]));
    assert_ok(tally_copy(many, there[0], x, sizeof x));
    assert_ok(tally_copy(many, there[2], &size, sizeof size));
    const tally_sizes sizes = {.struct_size = sizeof sizes, .extent = there[2]};
    tally_args args = arguments(there[0], 3, there[1], sizeof out);
    args.shape.inner = 2;
    assert_ok(tally_run_sized(plan, &args, &sizes, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(many, out, there[1], sizeof out));
    assert_true(out[0] == 5 && out[1] == 10);
    for (size_t k = 0; k < COUNT_OF(there); k++)
        tally_free(many, there[k]);
    tally_plan_destroy(plan);
    tally_close(many);
}

/* On the CPU the device's memory is the host's. */
static void the_cpu_reads_sizes_too(void **state) {
    (void)state;
    const float x[] = {1, 2, 4, 8};
    float out = 0;
    uint64_t size = 3;
    uint32_t status = 99;
    const tally_sizes sizes = {.struct_size = sizeof sizes, .extent = &size, .status = &status};
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.flags = TALLY_SIZE_ON_DEVICE;
    tally_plan *plan;
    tally_args args = arguments(x, 4, &out, sizeof out);
    assert_ok(tally_plan_create(cpu, &desc, &plan));
    assert_ok(tally_run_sized(plan, &args, &sizes, TALLY_SYNCHRONOUS));
    assert_true(out == 7 && status == TALLY_OK);
    size = 5;
    assert_int_equal(tally_run_sized(plan, &args, &sizes, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_true(out == 7 && status == TALLY_INVALID_ARGUMENT);
    tally_plan_destroy(plan);
}

static void so_it_does_by_labels(void **state) {
    (void)state;
    const float x[] = {1, 2, 4, 8};
    const int32_t labels[] = {1, 0, 1, -1};
    float out[2] = {0};
    uint64_t size = 3;
    uint32_t status = 99;
    const tally_sizes sizes = {.struct_size = sizeof sizes, .extent = &size, .status = &status};
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_LABELS;
    desc.index = TALLY_I32;
    desc.flags = TALLY_SIZE_ON_DEVICE;
    tally_plan *plan;
    tally_args args = arguments(x, 4, out, sizeof out);
    args.labels = labels;
    args.shape.groups = 2;
    assert_ok(tally_plan_create(cpu, &desc, &plan));
    assert_ok(tally_run_sized(plan, &args, &sizes, TALLY_SYNCHRONOUS));
    assert_true(out[0] == 2 && out[1] == 5 && status == TALLY_OK);
    size = 4;
    assert_int_equal(tally_run_sized(plan, &args, &sizes, TALLY_SYNCHRONOUS), TALLY_BAD_LABELS);
    assert_true(out[0] == 2 && out[1] == 5 && status == TALLY_BAD_LABELS);
    tally_plan_destroy(plan);
}

int main(int argc, char **argv) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    if (argc > 1)
        most_elements = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    find_graphs();
    enum { OTHERS = 5 };
    struct CMUnitTest tests[COUNT_OF(examples) + OTHERS] = {
        cmocka_unit_test(what_has_no_size_on_the_device), cmocka_unit_test(the_cpu_reads_sizes_too),
        cmocka_unit_test(so_it_does_by_labels), cmocka_unit_test(bad_offsets_are_told),
        cmocka_unit_test(several_gpus_read_sizes_too)};
    for (size_t k = 0; k < COUNT_OF(examples); k++)
        tests[OTHERS + k] =
            (struct CMUnitTest){examples[k].name, a_graph_serves_all_sizes, NULL, NULL, (void *)&examples[k]};
    return close_devices(cmocka_run_group_tests_name("sizes on the device", tests, NULL, NULL));
}
