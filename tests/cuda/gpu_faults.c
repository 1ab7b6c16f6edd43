/* Faults around a GPU give a status and a message that says what was wrong, and the GPU works afterwards. */
#include "gpu.h"

enum { N = 100003 };

/* The proof that the device is usable: a sum and a running sum of ones. */
static void assert_usable(void) {
    static float ones[N], sums[N];
    tally_desc reduce = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_desc scan = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    for (size_t i = 0; i < N; i++)
        ones[i] = 1;
    void *x = upload(ones, sizeof ones), *out = room(sizeof sums);
    tally_args args = arguments(x, N, out, sizeof sums);
    assert_ok(run_desc(gpu, &reduce, &args));
    assert_ok(tally_copy(gpu, sums, out, sizeof *sums));
    assert_true(sums[0] == N);
    assert_ok(run_desc(gpu, &scan, &args));
    assert_ok(tally_copy(gpu, sums, out, sizeof sums));
    for (size_t i = 0; i < N; i++)
        assert_true(sums[i] == (float)(i + 1));
    tally_free(gpu, x);
    tally_free(gpu, out);
}

static void assert_said(const char *word) {
    if (!strstr(tally_last_error(), word))
        fail_msg("the message does not say '%s': %s", word, tally_last_error());
    print_message("          %s\n", tally_last_error());
}

/* ---- memory that is not to be had ---- */

enum { MOST_TAKEN = 100000 };

static void **taken;
static size_t taken_count;

/* Takes all of the device's memory, in blocks that shrink to nothing. */
static void take_all(void) {
    taken = calloc(MOST_TAKEN, sizeof *taken);
    assert_non_null(taken);
    for (size_t bytes = (size_t)1 << 30; bytes >= 512; bytes /= 2)
        while (taken_count < MOST_TAKEN && tally_alloc(gpu, bytes, &taken[taken_count]) == TALLY_OK)
            taken_count++;
    print_message("          full after %zu blocks\n", taken_count);
    assert_true(taken_count < MOST_TAKEN);
}

/* As a teardown, too: the tests that follow want memory whatever becomes of the one that took it. */
static int give_all_back(void **state) {
    (void)state;
    while (taken_count > 0)
        tally_free(gpu, taken[--taken_count]);
    free(taken);
    taken = NULL;
    return 0;
}

static void a_full_device(void **state) {
    enum { LARGE = 1 << 20 /* elements, which take scratch memory */ };
    void *more = NULL, *x = room(4 * LARGE), *out = room(8);
    size_t scratch;
    tally_desc sum = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_args args = arguments(x, LARGE, out, 8);
    tally_plan *plan, *another = NULL;
    assert_ok(tally_plan_create(gpu, &sum, &plan));
    assert_ok(tally_plan_workspace(plan, &args.shape, &scratch));
    assert_true(scratch > 0);
    take_all();
    assert_fails(tally_alloc(gpu, 1 << 20, &more), TALLY_OUT_OF_MEMORY);
    assert_said("1048576 bytes");
    assert_null(more);
    assert_fails(tally_run(plan, &args, TALLY_SYNCHRONOUS), TALLY_OUT_OF_MEMORY); /* it has no scratch memory yet */
    assert_said("memory");
    assert_fails(tally_push(plan, &args), TALLY_OUT_OF_MEMORY);
    /* Loading kernels may still find room, or not. */
    sum.in = TALLY_F64;
    const tally_status status = tally_plan_create(gpu, &sum, &another);
    assert_true(status == TALLY_OK || status == TALLY_OUT_OF_MEMORY);
    tally_plan_destroy(another);
    give_all_back(state);
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
    tally_free(gpu, x);
    tally_free(gpu, out);
    assert_usable();
}

/* ---- what the caller got wrong ---- */

/* Where the device reads any memory of the host, it may; elsewhere it is refused before anything runs. */
static void host_memory_in_the_place_of_the_devices(void **state) {
    (void)state;
    static float ones[N];
    float result = 0;
    tally_desc sum = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    for (size_t i = 0; i < N; i++)
        ones[i] = 1;
    tally_args args = arguments(ones, N, &result, sizeof result);
    if (cuda()->reads_any_memory) {
        assert_ok(run_desc(gpu, &sum, &args));
        assert_true(result == N);
    } else {
        assert_fails(run_desc(gpu, &sum, &args), TALLY_INVALID_ARGUMENT);
        assert_said("args.x is host memory");
        args.x = upload(ones, sizeof ones);
        assert_fails(run_desc(gpu, &sum, &args), TALLY_INVALID_ARGUMENT);
        assert_said("args.out is host memory");
        tally_free(gpu, (void *)args.x);
        assert_true(result == 0);
    }
    assert_usable();
}

static void a_workspace_that_is_too_small_or_askew(void **state) {
    (void)state;
    tally_desc scan = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    tally_plan *plan;
    void *x = room(4 * N), *out = room(4 * N), *workspace;
    tally_args args = arguments(x, N, out, 4 * N);
    size_t bytes;
    assert_ok(tally_plan_create(gpu, &scan, &plan));
    assert_ok(tally_plan_workspace(plan, &args.shape, &bytes));
    assert_true(bytes > 0);
    workspace = room(bytes + 256);
    args.workspace = workspace;
    args.workspace_bytes = bytes - 1;
    assert_fails(tally_run(plan, &args, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_said("workspace_bytes");
    args.workspace = (char *)workspace + 4;
    args.workspace_bytes = bytes;
    assert_fails(tally_run(plan, &args, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_said("aligned");
    tally_plan_destroy(plan);
    tally_free(gpu, x);
    tally_free(gpu, out);
    tally_free(gpu, workspace);
    assert_usable();
}

static void a_stream_of_another_context(void **state) {
    (void)state;
    CUresult (*create)(CUcontext *, unsigned, CUdevice), (*destroy)(CUcontext);
    const char *path = getenv("TALLY_LIBCUDA");
    CUcontext other, popped;
    CUstream stream;
    tally_desc sum = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_plan *plan;
    void *x = room(4 * N), *out = room(8);
    tally_args args = arguments(x, N, out, 8);
    find_function(path ? path : "libcuda.so.1", "cuCtxCreate_v2", &create);
    find_function(path ? path : "libcuda.so.1", "cuCtxDestroy_v2", &destroy);
    assert_ok(tally_plan_create(gpu, &sum, &plan));
    assert_int_equal(create(&other, 0, cuda()->device), CUDA_SUCCESS);
    assert_int_equal(api()->cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    assert_fails(tally_run(plan, &args, stream), TALLY_INVALID_ARGUMENT);
    assert_said("stream");
    assert_int_equal(api()->cuCtxPopCurrent(&popped), CUDA_SUCCESS); /* still the caller's */
    assert_ptr_equal(popped, other);
    assert_int_equal(destroy(other), CUDA_SUCCESS);
    tally_plan_destroy(plan);
    tally_free(gpu, x);
    tally_free(gpu, out);
    assert_usable();
}

static void a_device_that_is_not_there(void **state) {
    (void)state;
    tally_device *device = NULL;
    assert_fails(tally_open("cuda:1000", &device), TALLY_NO_DEVICE);
    assert_said("this machine shows");
    assert_fails(tally_open("cuda:-1", &device), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_open("cuda:zero", &device), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_cuda_open(NULL, &device), TALLY_INVALID_ARGUMENT);
    assert_null(device);
    assert_usable();
}

/* Kernels are compiled then, and not kept. */
static void a_cache_that_cannot_be_written(void **state) {
    (void)state;
    static const char *const folders[] = {"/proc/tally/cache", "/dev/null/cache"};
    for (size_t k = 0; k < COUNT_OF(folders); k++) {
        setenv("TALLY_CACHE_DIR", folders[k], 1);
        tally_close(gpu);
        assert_ok(tally_open("cuda:0", &gpu));
        assert_usable();
    }
    unsetenv("TALLY_CACHE_DIR");
}

int main(void) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_full_device, give_all_back),
        cmocka_unit_test(host_memory_in_the_place_of_the_devices),
        cmocka_unit_test(a_workspace_that_is_too_small_or_askew),
        cmocka_unit_test(a_stream_of_another_context),
        cmocka_unit_test(a_device_that_is_not_there),
        cmocka_unit_test(a_cache_that_cannot_be_written),
    };
    return close_devices(cmocka_run_group_tests_name("faults around a GPU", tests, NULL, NULL));
}
