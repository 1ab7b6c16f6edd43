/* A plan whose size is on the device is captured into a graph once, and the graph gives right results for every size up
 * to the one that it was made for. It writes nothing past the size, and nothing at all for a size that is larger or,
 * where nothing has no value, 0; the status says so. The emulator has no graphs: there the runs are enqueued. usage:
 * cuda_gpu_device_sizes [most elements] */
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

enum { CAPTURE_RELAXED = 2, UNTOUCHED = 0x7b, ALIGNMENT = 256 };

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
    tally_op op;
    tally_form form;
    tally_mode mode;
    unsigned flags;
    uint64_t share; /* of the most elements, the largest size */
    bool rounds;    /* its last bits may differ from the CPU's */
} example;

static const example examples[] = {
    {"sum", TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 1, false},
    {"sum of few", TALLY_SUM, TALLY_REDUCE, TALLY_FAST, 0, 40, false},
    {"mean", TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, 0, 1, true},
    {"mean of few", TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, 0, 40, true},
    {"argmax", TALLY_ARGMAX, TALLY_REDUCE, TALLY_FAST, 0, 1, false},
    {"min", TALLY_MIN, TALLY_REDUCE, TALLY_FAST, 0, 1, false},
    {"exact sum", TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, 0, 1, false},
    {"exact std", TALLY_STD, TALLY_REDUCE, TALLY_EXACT, 0, 1, false},
    {"scan", TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 1, false},
    {"scan of few", TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, 0, 400, false},
    {"scan of some", TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, 0, 8, false},
    {"reverse scan", TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 1, false},
    {"reverse scan of some", TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 8, false},
    {"scan of var", TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_FAST, 0, 1, true},
    {"reverse scan of var", TALLY_VAR, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_REVERSE, 1, true},
    {"exact scan", TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, 0, 1, false},
};

static uint64_t most_elements = 1572871;

static tally_desc desc_of(const example *e) {
    tally_desc desc = describe(e->op, e->form, TALLY_F32);
    desc.mode = e->mode;
    desc.flags = e->flags;
    return desc;
}

/* Small whole numbers, whose sums no order rounds; past the size NaNs. */
static void fill(float *x, uint64_t n, uint64_t size, uint64_t *random) {
    for (uint64_t i = 0; i < n; i++)
        x[i] = i < size ? (float)(int)random_below(random, 17) - 8 : NAN;
}

static bool is_near(float a, float b) {
    return a == b || (isnan(a) && isnan(b)) || fabsf(a - b) <= 1e-5F * fabsf(b) + 1e-6F;
}

/* What the CPU gives: its status, with results in 'out' only if there are any. */
static tally_status expect(const example *e, const float *x, uint64_t n, uint64_t size, void *out, size_t bytes) {
    const tally_desc desc = desc_of(e);
    tally_args args = arguments(x, size, out, bytes);
    memset(out, UNTOUCHED, bytes);
    return size > n ? TALLY_INVALID_ARGUMENT : run_desc(cpu, &desc, &args);
}

static void compare(const example *e, uint64_t size, const void *found, const void *expected, size_t bytes) {
    if (!e->rounds) {
        if (memcmp(found, expected, bytes) != 0)
            fail_msg("%s: other results than the CPU's for %llu elements", e->name, (unsigned long long)size);
        return;
    }
    const float *a = found, *b = expected;
    for (size_t i = 0; i < bytes / sizeof *a; i++)
        if (!is_near(a[i], b[i]))
            fail_msg("%s: result %zu for %llu elements is %g, not %g", e->name, i, (unsigned long long)size,
                     (double)a[i], (double)b[i]);
}

static void a_graph_serves_all_sizes(void **state) {
    const example *e = *state;
    const uint64_t n = most_elements / e->share;
    const uint64_t sizes[] = {n, 0, 1, n / 3, n + 1, n - 1, 777 % n, UINT64_MAX, 2};
    const size_t results = e->form == TALLY_REDUCE ? 1 : n, bytes = results * (e->op == TALLY_ARGMAX ? 8 : 4);
    float *const x = malloc(n * sizeof *x);
    char *const expected = malloc(bytes), *const found = malloc(bytes);
    assert_true(x && expected && found);
    uint64_t random = 1;
    tally_desc desc = desc_of(e);
    desc.flags |= TALLY_SIZE_ON_DEVICE;
    tally_plan *plan;
    size_t workspace_bytes;
    CUstream stream;
    graph captured;
    executable ready = NULL;
    tally_args args = arguments(room(n * sizeof *x), n, room(bytes), bytes);
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    assert_ok(tally_plan_workspace(plan, &args.shape, &workspace_bytes));
    void *const memory = room(workspace_bytes + ALIGNMENT); /* the emulator's is less aligned than a GPU's */
    args.workspace = (void *)(((uintptr_t)memory + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    args.workspace_bytes = workspace_bytes;
    const tally_sizes on_device = {sizeof on_device, room(sizeof(uint64_t)), room(sizeof(uint32_t))};
    assert_ok(tally_cuda_enter(cuda()));
    assert_cuda(api()->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (graphs.cuGraphLaunch) {
        assert_cuda(graphs.cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED));
        assert_ok(tally_run_sized(plan, &args, &on_device, stream));
        assert_cuda(graphs.cuStreamEndCapture(stream, &captured));
        assert_cuda(graphs.cuGraphInstantiateWithFlags(&ready, captured, 0));
    }
    for (size_t k = 0; k < 2 * COUNT_OF(sizes); k++) {
        const uint64_t size = sizes[k / 2];
        const bool waits = k % 2;
        uint32_t status = 99;
        fill(x, n, size, &random);
        const tally_status wanted = expect(e, x, n, size, expected, bytes);
        memset(found, UNTOUCHED, bytes);
        assert_ok(tally_copy(gpu, (void *)args.x, x, n * sizeof *x));
        assert_ok(tally_copy(gpu, args.out, found, bytes));
        assert_ok(tally_copy(gpu, (void *)on_device.extent, &size, sizeof size));
        assert_ok(tally_copy(gpu, on_device.status, &status, sizeof status));
        if (waits)
            assert_int_equal(tally_run_sized(plan, &args, &on_device, TALLY_SYNCHRONOUS), wanted);
        else if (ready)
            assert_cuda(graphs.cuGraphLaunch(ready, stream));
        else
            assert_ok(tally_run_sized(plan, &args, &on_device, stream));
        assert_cuda(api()->cuStreamSynchronize(stream));
        assert_ok(tally_copy(gpu, found, args.out, bytes));
        assert_ok(tally_copy(gpu, &status, on_device.status, sizeof status));
        assert_int_equal(status, wanted);
        compare(e, size, found, expected, bytes);
    }
    if (ready) {
        assert_cuda(graphs.cuGraphExecDestroy(ready));
        assert_cuda(graphs.cuGraphDestroy(captured));
    }
    assert_cuda(api()->cuStreamDestroy(stream));
    tally_cuda_leave(cuda());
    tally_plan_destroy(plan);
    void *all[] = {(void *)args.x, args.out, memory, (void *)on_device.extent, on_device.status};
    for (size_t k = 0; k < COUNT_OF(all); k++)
        tally_free(gpu, all[k]);
    free(x);
    free(expected);
    free(found);
}

static void what_has_no_size_on_the_device(void **state) {
    (void)state;
    tally_plan *plan, *sized;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    float *x = room(16), *out = room(16);
    tally_args args = arguments(x, 4, out, 4);
    const tally_sizes sizes = {sizeof sizes, room(8), NULL}, none = {sizeof none, NULL, NULL};
    const tally_sizes misaligned = {sizeof misaligned, (const uint64_t *)((const char *)sizes.extent + 4), NULL};
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    desc.flags = TALLY_SIZE_ON_DEVICE;
    assert_ok(tally_plan_create(gpu, &desc, &sized));
    assert_int_equal(tally_run(sized, &args, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_run_sized(plan, &args, &sizes, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_run_sized(sized, &args, &none, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_run_sized(sized, &args, &misaligned, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_int_equal(tally_push(sized, &args), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
    tally_plan_destroy(sized);
    desc.grouping = TALLY_KEYS;
    assert_int_equal(tally_plan_create(gpu, &desc, &plan), TALLY_UNSUPPORTED);
    desc.grouping = TALLY_ALL_VALUES;
    desc.flags |= TALLY_WORDS_OUT;
    assert_int_equal(tally_plan_create(gpu, &desc, &plan), TALLY_UNSUPPORTED);
    void *all[] = {x, out, (void *)sizes.extent};
    for (size_t k = 0; k < COUNT_OF(all); k++)
        tally_free(gpu, all[k]);
}

/* On the CPU the device's memory is the host's. */
static void the_cpu_reads_sizes_too(void **state) {
    (void)state;
    const float x[] = {1, 2, 4, 8};
    float out = 0;
    uint64_t size = 3;
    uint32_t status = 99;
    const tally_sizes sizes = {sizeof sizes, &size, &status};
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

int main(int argc, char **argv) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    if (argc > 1)
        most_elements = strtoull(argv[1], NULL, 10);
    find_graphs();
    enum { OTHERS = 2 };
    struct CMUnitTest tests[COUNT_OF(examples) + OTHERS] = {cmocka_unit_test(what_has_no_size_on_the_device),
                                                            cmocka_unit_test(the_cpu_reads_sizes_too)};
    for (size_t k = 0; k < COUNT_OF(examples); k++)
        tests[OTHERS + k] =
            (struct CMUnitTest){examples[k].name, a_graph_serves_all_sizes, NULL, NULL, (void *)&examples[k]};
    return close_devices(cmocka_run_group_tests_name("sizes on the device", tests, NULL, NULL));
}
