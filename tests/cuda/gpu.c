/* Tests of the host side on a GPU with its own driver, which the stand-ins cannot cover. Skipped without a GPU. */
#include "support.h"

#include "cuda/cuda.h"
#include "gpu/cache.h"

static tally_device *device;

static tally_cuda_device *cuda(void) {
    return (tally_cuda_device *)device;
}

static void memory_comes_back_as_it_was_written(void **state) {
    (void)state;
    enum { BYTES = 10000019 };
    char *from = malloc(BYTES), *to = calloc(1, BYTES);
    void *memory, *second;
    for (size_t k = 0; k < BYTES; k++)
        from[k] = (char)(k * k >> 5);
    assert_ok(tally_alloc(device, BYTES, &memory));
    assert_ok(tally_alloc(device, BYTES, &second));
    assert_ok(tally_copy(device, memory, from, BYTES)); /* pageable host memory */
    assert_ok(tally_copy(device, second, memory, BYTES));
    assert_ok(tally_copy(device, to, second, BYTES));
    assert_memory_equal(from, to, BYTES);
    memset(to, 0, BYTES);
    assert_ok(tally_copy(device, to, from, BYTES)); /* neither side the device's */
    assert_memory_equal(from, to, BYTES);
    tally_free(device, memory);
    tally_free(device, second);
    free(from);
    free(to);
}

static void a_full_device_stays_usable(void **state) {
    (void)state;
    tally_device_info info = {.struct_size = sizeof info};
    void *memory = NULL;
    assert_ok(tally_device_describe(device, &info));
    print_message("%s: %s, %s\n", info.spec, info.name, info.detail);
    assert_true(info.memory_bytes > 0);
    assert_fails(tally_alloc(device, info.memory_bytes + 1, &memory), TALLY_OUT_OF_MEMORY);
    assert_fails(tally_alloc(device, SIZE_MAX, &memory), TALLY_OUT_OF_MEMORY);
    assert_null(memory);
    assert_ok(tally_alloc(device, 0, &memory));
    assert_non_null(memory);
    tally_free(device, memory);
}

static const char source[] = "extern \"C\" __global__ void count_up(unsigned *out, unsigned first) {\n"
                             "    out[blockIdx.x * blockDim.x + threadIdx.x] = first + FACTOR * threadIdx.x;\n"
                             "}\n";

static void run_kernel(unsigned first) {
    static const char *const options[] = {"-DFACTOR=3u"};
    const tally_cuda_module *module = NULL;
    CUfunction function = NULL;
    void *memory;
    unsigned out[256];
    assert_ok(tally_cuda_module_get(cuda(), source, options, 1, &module));
    assert_ok(tally_cuda_function(module, "count_up", &function));
    assert_ok(tally_alloc(device, sizeof out, &memory));
    void *parameters[] = {&memory, &first};
    assert_ok(tally_cuda_enter(cuda()));
    CUresult result = cuda()->api->cuLaunchKernel(function, 2, 1, 1, 128, 1, 1, 0, cuda()->stream, parameters, NULL);
    tally_cuda_leave(cuda());
    assert_ok(tally_cuda_check(result, "launching"));
    assert_ok(tally_copy(device, out, memory, sizeof out));
    for (unsigned k = 0; k < COUNT_OF(out); k++)
        assert_int_equal(out[k], first + 3 * (k % 128));
    tally_free(device, memory);
}

static void kernels_run_compiled_and_from_disk(void **state) {
    setenv("TALLY_CACHE_DIR", *state, 1);
    run_kernel(10);
    assert_int_equal(files_in(*state, ""), 1);
    for (int round = 0; round < 2; round++) {
        tally_close(device);
        assert_ok(tally_open("cuda:0", &device));
        run_kernel(20);
    }
}

/* An entry that is whole, but that no driver takes for code. */
static void what_the_driver_refuses_is_compiled_once_more(void **state) {
    char path[PATH_MAX];
    setenv("TALLY_CACHE_DIR", *state, 1);
    static const char *const options[] = {"-DFACTOR=3u", "-DANOTHER"};
    const tally_cuda_module *module = NULL;
    assert_ok(tally_cuda_module_get(cuda(), source, options, 2, &module));
    only_file(*state, path);
    FILE *file = fopen(path, "rb");
    struct {
        char magic[8];
        uint64_t format;
        tally_key key;
    } header; /* as the entry begins */
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    fclose(file);
    static char nonsense[] = "no code at all";
    tally_cache_store(header.key, &(tally_image){nonsense, sizeof nonsense});
    tally_close(device);
    assert_ok(tally_open("cuda:0", &device));
    assert_ok(tally_cuda_module_get(cuda(), source, options, 2, &module));
    tally_image image;
    assert_true(tally_cache_load(header.key, &image));
    assert_true(image.size > sizeof nonsense);
    tally_image_free(&image);
}

static void a_name_that_no_kernel_has(void **state) {
    (void)state;
    static const char *const options[] = {"-DFACTOR=3u"};
    const tally_cuda_module *module = NULL;
    CUfunction function = NULL;
    setenv("TALLY_CACHE", "0", 1);
    assert_ok(tally_cuda_module_get(cuda(), source, options, 1, &module));
    unsetenv("TALLY_CACHE");
    assert_fails(tally_cuda_function(module, "count_down", &function), TALLY_DEVICE_FAILED);
    assert_null(function);
}

/* The primary context, opened as if it were the caller's own, and current while the library works. */
static void the_callers_context_serves_and_stays_current(void **state) {
    (void)state;
    const tally_cuda_api *api = cuda()->api;
    CUcontext context = NULL, popped = NULL;
    tally_device *own = NULL;
    tally_device_info info = {.struct_size = sizeof info};
    void *memory;
    char byte = 5;
    assert_ok(tally_cuda_check(api->cuDevicePrimaryCtxRetain(&context, cuda()->device), "retaining"));
    assert_ok(tally_cuda_check(api->cuCtxPushCurrent(context), "pushing"));
    assert_ok(tally_cuda_open(context, &own));
    assert_ok(tally_device_describe(own, &info));
    assert_string_equal(info.spec, "cuda:0");
    assert_ok(tally_alloc(own, 1, &memory));
    assert_ok(tally_copy(own, memory, &byte, 1));
    tally_free(own, memory);
    tally_close(own);
    assert_ok(tally_cuda_check(api->cuCtxPopCurrent(&popped), "popping"));
    assert_ptr_equal(popped, context);
    assert_int_not_equal(api->cuCtxPopCurrent(&popped), CUDA_SUCCESS); /* there is no other */
    assert_ok(tally_cuda_check(api->cuDevicePrimaryCtxRelease(cuda()->device), "releasing"));
}

static void devices_open_and_close(void **state) {
    (void)state;
    for (int k = 0; k < 20; k++) {
        tally_device *again;
        assert_ok(tally_open("cuda", &again));
        tally_close(again);
    }
    assert_fails(tally_open("cuda:1000", &device), TALLY_NO_DEVICE);
    assert_non_null(strstr(tally_last_error(), "this machine shows"));
}

int main(void) {
    if (tally_open("cuda:0", &device) == TALLY_NO_DEVICE) {
        printf("skipped: %s\n", tally_last_error());
        return 77;
    }
    if (!device) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_comes_back_as_it_was_written),
        cmocka_unit_test(a_full_device_stays_usable),
        cmocka_unit_test_setup_teardown(kernels_run_compiled_and_from_disk, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_the_driver_refuses_is_compiled_once_more, make_folder, remove_folder),
        cmocka_unit_test(a_name_that_no_kernel_has),
        cmocka_unit_test(the_callers_context_serves_and_stays_current),
        cmocka_unit_test(devices_open_and_close),
    };
    int failed = cmocka_run_group_tests_name("a GPU", tests, NULL, NULL);
    tally_close(device);
    return failed;
}
