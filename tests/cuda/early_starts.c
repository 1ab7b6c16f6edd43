/* The emulator shows a kernel that starts early what was before the kernel in front of it (emulator/early.h). Two
 * kernels of one block run one after the other: the first adds 1 to what it finds, and lets the second start. */
#include "support.h"

#include "cuda/compiler.h"
#include "cuda/driver.h"

enum { THREADS = 64 };

static const struct {
    const char *what;
    bool lets, starts_early; /* the first kernel, the second */
    const char *body;        /* of the second */
    bool is_good;
    unsigned result; /* of the second, if it is good; the first finds 5 */
} cases[] = {
    {"a read behind the wait", true, true, "wait_for_last(); out[t] = x[t];", true, 6},
    {"a read before the wait", true, true, "const unsigned v = x[t]; wait_for_last(); out[t] = v;", true, 5},
    {"a read by another thread before the wait", true, true,
     "if (t) s[t] = x[t]; else wait_for_last(); __syncthreads(); out[t] = s[t ? t : 1];", true, 5},
    {"a copy that is waited for behind the wait", true, true,
     "copy_ahead<4>(&s[t], x + t); end_copies_ahead(); wait_for_last(); wait_for_copies_ahead<0>(); out[t] = s[t];",
     true, 5},
    {"a read before the wait of a launch that starts late", true, false,
     "const unsigned v = x[t]; wait_for_last(); out[t] = v;", true, 6},
    {"a read before the wait for a kernel that lets nobody start", false, true,
     "const unsigned v = x[t]; wait_for_last(); out[t] = v;", true, 6},
    {"a write before the wait", true, true, "x[t] = 9; wait_for_last();", false, 0},
    {"no wait", true, true, "out[t] = 9;", false, 0},
};

static const char text[] = "extern \"C\" __global__ void kernel(unsigned *x, unsigned *out) {\n"
                           "    __shared__ alignas(16) unsigned s[64];\n"
                           "    const unsigned t = threadIdx.x;\n"
                           "    (void)s;\n"
                           "    %s\n"
                           "}\n";

static CUresult (*load)(CUmodule *, const void *, unsigned, CUjit_option *, void **);
static CUresult (*find)(CUfunction *, CUmodule, const char *);
static CUresult (*launch)(const CUlaunchConfig *, CUfunction, void **, void **);
static CUresult (*allocate)(CUdeviceptr *, size_t);
static CUresult (*release)(CUdeviceptr);

static CUfunction compile(const char *body) {
    char source[4096];
    tally_image image = {0};
    CUmodule module;
    CUfunction kernel;
    snprintf(source, sizeof source, text, body);
    assert_ok(tally_cuda_compile(source, "early.cu", NULL, 0, 90, &image, NULL));
    assert_int_equal(load(&module, image.bytes, 0, NULL, NULL), CUDA_SUCCESS);
    assert_int_equal(find(&kernel, module, "kernel"), CUDA_SUCCESS);
    tally_image_free(&image);
    return kernel;
}

static bool start(CUfunction kernel, bool early, CUdeviceptr x, CUdeviceptr out) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmaticStreamSerializationAllowed = early};
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = THREADS,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    void *parameters[] = {&x, &out};
    return launch(&config, kernel, parameters, NULL) == CUDA_SUCCESS;
}

static void kernels_see_what_was(void **state) {
    (void)state;
    CUdeviceptr x, out;
    assert_int_equal(allocate(&x, THREADS * sizeof(unsigned)), CUDA_SUCCESS);
    assert_int_equal(allocate(&out, THREADS * sizeof(unsigned)), CUDA_SUCCESS);
    unsigned *const numbers = (unsigned *)(uintptr_t)x, *const results = (unsigned *)(uintptr_t)out;
    const CUfunction first[] = {compile("x[t] += 1;"), compile("let_next_start(); x[t] += 1;")};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        const CUfunction second = compile(cases[k].body);
        for (int t = 0; t < THREADS; t++)
            numbers[t] = 5;
        assert_true(start(first[cases[k].lets], false, x, out));
        if (start(second, cases[k].starts_early, x, out) != cases[k].is_good)
            fail_msg("%s: %s", cases[k].what, cases[k].is_good ? "a fault that is none" : "no fault");
        for (int t = 0; t < THREADS && cases[k].is_good; t++)
            if (results[t] != cases[k].result || numbers[t] != 6)
                fail_msg("%s: thread %d has %u, not %u", cases[k].what, t, results[t], cases[k].result);
    }
    assert_int_equal(release(x), CUDA_SUCCESS);
    assert_int_equal(release(out), CUDA_SUCCESS);
}

int main(void) {
    CUresult (*retain)(CUcontext *, CUdevice), (*push)(CUcontext);
    CUcontext context;
    setenv("EMULATE_EARLY", "1", 1);
    find_function(FAKE_DRIVER, "cuModuleLoadDataEx", &load);
    find_function(FAKE_DRIVER, "cuModuleGetFunction", &find);
    find_function(FAKE_DRIVER, "cuLaunchKernelEx", &launch);
    find_function(FAKE_DRIVER, "cuMemAlloc_v2", &allocate);
    find_function(FAKE_DRIVER, "cuMemFree_v2", &release);
    find_function(FAKE_DRIVER, "cuDevicePrimaryCtxRetain", &retain);
    find_function(FAKE_DRIVER, "cuCtxPushCurrent_v2", &push);
    if (retain(&context, 0) != CUDA_SUCCESS || push(context) != CUDA_SUCCESS)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_see_what_was)};
    return cmocka_run_group_tests_name("early starts", tests, NULL, NULL);
}
