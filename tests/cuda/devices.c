/* On the stand-in driver, a CUDA device opens, describes itself, allocates and copies memory, leaves the caller's
 * context as it was, and closes without leaving anything behind. */
#include <pthread.h>

#include "support.h"

static fake_driver_state *driver;
static fake_thread_function *thread_state;

static void assert_nothing_is_held(void) {
    assert_int_equal(driver->primary_contexts, 0);
    assert_int_equal(driver->streams, 0);
    assert_int_equal(driver->modules, 0);
    assert_int_equal(driver->allocations, 0);
    assert_int_equal(driver->host_allocations, 0);
    assert_int_equal(thread_state().height, 0);
}

static void devices_describe_themselves(void **state) {
    (void)state;
    tally_device *device;
    tally_device_info info = {.struct_size = sizeof info}, listed = info;
    assert_ok(tally_open("cuda:1", &device));
    assert_ok(tally_device_describe(device, &info));
    assert_string_equal(info.spec, "cuda:1");
    assert_string_equal(info.name, "Fake GPU 1");
    assert_string_equal(info.detail, "compute capability 9.0, 132 multiprocessors, driver 13.0");
    assert_int_equal(info.memory_bytes, 1 << 30);
    assert_ok(tally_device_at(1, &listed));
    assert_memory_equal(&info, &listed, sizeof info);
    tally_close(device);
    assert_ok(tally_device_at(2, &listed));
    assert_string_equal(listed.spec, "cpu");
    assert_nothing_is_held();
}

static void auto_is_the_first_gpu(void **state) {
    (void)state;
    tally_device *device;
    tally_device_info info = {.struct_size = sizeof info};
    assert_ok(tally_open("auto", &device));
    assert_ok(tally_device_describe(device, &info));
    assert_string_equal(info.spec, "cuda:0");
    tally_close(device);
    assert_nothing_is_held();
}

static void memory_comes_back_as_it_was_written(void **state) {
    (void)state;
    tally_device *device;
    void *memory = NULL, *nothing = NULL;
    char from[5000], to[5000] = {0};
    memset(from, 7, sizeof from);
    assert_ok(tally_open("cuda", &device));
    assert_ok(tally_alloc(device, sizeof from, &memory));
    assert_ok(tally_alloc(device, 0, &nothing));
    assert_non_null(nothing);
    assert_ok(tally_copy(device, memory, from, sizeof from));
    assert_ok(tally_copy(device, to, memory, sizeof to));
    assert_memory_equal(from, to, sizeof to);
    assert_ok(tally_copy(device, memory, memory, 0));
    assert_fails(tally_copy(device, memory, (void *)1, 10), TALLY_INVALID_ARGUMENT);
    tally_free(device, memory);
    tally_free(device, nothing);
    tally_free(device, NULL);
    tally_close(device);
    assert_nothing_is_held();
}

static void a_full_device_stays_usable(void **state) {
    (void)state;
    tally_device *device;
    void *const untouched = (void *)(uintptr_t)0x5eed, *memory = untouched;
    assert_ok(tally_open("cuda", &device));
    driver->memory_is_full = 1;
    assert_fails(tally_alloc(device, 1000, &memory), TALLY_OUT_OF_MEMORY);
    assert_non_null(strstr(tally_last_error(), "1000 bytes on cuda:0"));
    driver->memory_is_full = 0;
    assert_fails(tally_alloc(device, SIZE_MAX, &memory), TALLY_OUT_OF_MEMORY);
    assert_ptr_equal(memory, untouched);
    assert_ok(tally_alloc(device, 1000, &memory));
    tally_free(device, memory);
    tally_close(device);
    assert_nothing_is_held();
}

static void locked_host_memory_is_given_and_freed(void **state) {
    (void)state;
    tally_device *device, *cpu;
    void *const untouched = (void *)(uintptr_t)0x5eed, *memory = untouched;
    char from[100], to[100] = {0};
    memset(from, 3, sizeof from);
    assert_ok(tally_open("cuda", &device));
    assert_ok(tally_open("cpu", &cpu));
    assert_fails(tally_cuda_alloc_host(cpu, 1000, &memory), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "not a CUDA device"));
    assert_fails(tally_cuda_alloc_host(NULL, 1000, &memory), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_cuda_alloc_host(device, 1000, NULL), TALLY_INVALID_ARGUMENT);
    driver->memory_is_full = 1;
    assert_fails(tally_cuda_alloc_host(device, 1000, &memory), TALLY_OUT_OF_MEMORY);
    assert_non_null(strstr(tally_last_error(), "1000 bytes of locked host memory"));
    driver->memory_is_full = 0;
    assert_ptr_equal(memory, untouched);
    assert_ok(tally_cuda_alloc_host(device, 0, &memory));
    tally_cuda_free_host(device, memory);
    assert_ok(tally_cuda_alloc_host(device, sizeof from, &memory));
    assert_ok(tally_copy(device, memory, from, sizeof from));
    assert_ok(tally_copy(device, to, memory, sizeof to));
    assert_memory_equal(from, to, sizeof to);
    tally_cuda_free_host(device, memory);
    tally_cuda_free_host(device, NULL);
    tally_close(cpu);
    tally_close(device);
    assert_nothing_is_held();
}

/* A kernel that reads memory which the device cannot reach ends the context, so the library finds this before it
 * launches one. */
static void memory_that_the_device_cannot_reach_is_refused(void **state) {
    (void)state;
    tally_device *device;
    tally_plan *plan;
    size_t workspace;
    float x[100] = {0}, out[100];
    assert_ok(tally_open("cuda:0", &device));
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    assert_ok(tally_plan_create(device, &desc, &plan));
    tally_args args = arguments(x, 100, out, sizeof out);
    assert_fails(tally_run(plan, &args, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "args.x is host memory"));
    args.initial = x;
    assert_fails(tally_push(plan, &args), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "args.initial is host memory"));
    args.initial = NULL;
    assert_ok(tally_plan_workspace(plan, &args.shape, &workspace));
    args.workspace = out;
    args.workspace_bytes = workspace;
    assert_fails(tally_run(plan, &args, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "args.workspace is host memory"));
    tally_plan_destroy(plan);
    tally_close(device);
    assert_nothing_is_held();
}

static void the_callers_own_context_serves(void **state) {
    (void)state;
    fake_context_function *context;
    tally_device *const untouched = (tally_device *)(uintptr_t)0x5eed, *device = untouched;
    tally_device_info info = {.struct_size = sizeof info};
    void *memory;
    find_function(FAKE_DRIVER, "fake_context", &context);
    assert_fails(tally_cuda_open(NULL, &device), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_cuda_open(context(), NULL), TALLY_INVALID_ARGUMENT);
    int no_context;
    assert_fails(tally_cuda_open(&no_context, &device), TALLY_INVALID_ARGUMENT);
    assert_ptr_equal(device, untouched);
    assert_ok(tally_cuda_open(context(), &device));
    assert_int_equal(driver->primary_contexts, 0);
    assert_ok(tally_device_describe(device, &info));
    assert_string_equal(info.spec, "cuda:1");
    assert_ok(tally_alloc(device, 10, &memory));
    tally_free(device, memory);
    tally_close(device);
    assert_nothing_is_held();
}

static void the_current_context_is_left_alone(void **state) {
    (void)state;
    fake_context_function *context;
    int (*push)(void *);
    int (*pop)(void **);
    tally_device *device;
    void *memory, *popped;
    char byte = 1;
    find_function(FAKE_DRIVER, "fake_context", &context);
    find_function(FAKE_DRIVER, "cuCtxPushCurrent_v2", &push);
    find_function(FAKE_DRIVER, "cuCtxPopCurrent_v2", &pop);
    assert_int_equal(push(context()), 0);
    assert_ok(tally_open("cuda:0", &device));
    assert_ok(tally_alloc(device, 1, &memory));
    assert_ok(tally_copy(device, memory, &byte, 1));
    assert_fails(tally_copy(device, memory, (void *)1, 1), TALLY_INVALID_ARGUMENT);
    driver->memory_is_full = 1;
    assert_fails(tally_alloc(device, 1, &popped), TALLY_OUT_OF_MEMORY);
    driver->memory_is_full = 0;
    tally_free(device, memory);
    tally_close(device);
    assert_int_equal(thread_state().height, 1);
    assert_ptr_equal(thread_state().current, context());
    assert_int_equal(pop(&popped), 0);
    assert_nothing_is_held();
}

/* A GPU that is named twice is one device. This driver has no peers and no memory in blocks. */
static void lists_of_gpus_are_devices(void **state) {
    (void)state;
    tally_device *const untouched = (tally_device *)(uintptr_t)0x5eed, *device = untouched;
    tally_device_info info = {.struct_size = sizeof info};
    char from[100], to[100] = {0};
    void *memory;
    memset(from, 3, sizeof from);
    static const char *const malformed[] = {"cuda:0,", "cuda:,0", "cuda:0,,1", "cuda:0,x", "cuda:*,0", "cuda:0,-1"};
    for (size_t k = 0; k < COUNT_OF(malformed); k++)
        assert_fails(tally_open(malformed[k], &device), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_open("cuda:0,7", &device), TALLY_NO_DEVICE);
    assert_fails(tally_open("cuda:0,99999999999999999999", &device), TALLY_NO_DEVICE);
    assert_fails(tally_open("cuda:0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0", &device), TALLY_UNSUPPORTED);
    assert_fails(tally_open("cuda:*", &device), TALLY_NO_DEVICE);
    assert_non_null(strstr(tally_last_error(), "cuda:0 cannot use the memory of cuda:1"));
    assert_ptr_equal(device, untouched);
    assert_nothing_is_held();
    assert_ok(tally_open("cuda:1,1", &device));
    assert_ok(tally_device_describe(device, &info));
    assert_string_equal(info.spec, "cuda:1,1");
    assert_string_equal(info.name, "2 x Fake GPU 1");
    assert_int_equal(info.memory_bytes, 1 << 30);
    assert_ok(tally_alloc(device, sizeof from, &memory));
    assert_ok(tally_copy(device, memory, from, sizeof from));
    assert_ok(tally_copy(device, to, memory, sizeof to));
    assert_memory_equal(from, to, sizeof to);
    tally_free(device, memory);
    assert_ok(tally_cuda_alloc_host(device, sizeof from, &memory));
    tally_cuda_free_host(device, memory);
    tally_close(device);
    assert_nothing_is_held();
}

static void *copy_much(void *device) {
    char from[100], to[100] = {0};
    void *memory;
    memset(from, 3, sizeof from);
    for (int k = 0; k < 200; k++) {
        if (tally_alloc(device, sizeof from, &memory) != TALLY_OK)
            return "alloc";
        if (tally_copy(device, memory, from, sizeof from) != TALLY_OK ||
            tally_copy(device, to, memory, sizeof to) != TALLY_OK || memcmp(from, to, sizeof to) != 0)
            return "copy";
        tally_free(device, memory);
    }
    return thread_state().height ? "context" : NULL;
}

static void threads_share_a_device(void **state) {
    (void)state;
    pthread_t threads[8];
    tally_device *device;
    assert_ok(tally_open("cuda", &device));
    for (size_t k = 0; k < COUNT_OF(threads); k++)
        assert_int_equal(pthread_create(&threads[k], NULL, copy_much, device), 0);
    for (size_t k = 0; k < COUNT_OF(threads); k++) {
        void *failed;
        assert_int_equal(pthread_join(threads[k], &failed), 0);
        assert_null(failed);
    }
    tally_close(device);
    assert_nothing_is_held();
}

static void *open_and_close(void *unused) {
    tally_device *device;
    if (tally_open("cuda:0", &device) != TALLY_OK)
        return "open";
    tally_close(device);
    return unused;
}

/* The first test of the program: all threads open the driver at once. */
static void threads_open_devices(void **state) {
    (void)state;
    pthread_t threads[8];
    for (size_t k = 0; k < COUNT_OF(threads); k++)
        assert_int_equal(pthread_create(&threads[k], NULL, open_and_close, NULL), 0);
    for (size_t k = 0; k < COUNT_OF(threads); k++) {
        void *failed;
        assert_int_equal(pthread_join(threads[k], &failed), 0);
        assert_null(failed);
    }
    assert_nothing_is_held();
}

int main(void) {
    use_the_stand_ins();
    driver = driver_state();
    find_function(FAKE_DRIVER, "fake_thread", &thread_state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_open_devices),
        cmocka_unit_test(devices_describe_themselves),
        cmocka_unit_test(auto_is_the_first_gpu),
        cmocka_unit_test(memory_comes_back_as_it_was_written),
        cmocka_unit_test(a_full_device_stays_usable),
        cmocka_unit_test(locked_host_memory_is_given_and_freed),
        cmocka_unit_test(the_callers_own_context_serves),
        cmocka_unit_test(lists_of_gpus_are_devices),
        cmocka_unit_test(the_current_context_is_left_alone),
        cmocka_unit_test(threads_share_a_device),
        cmocka_unit_test(memory_that_the_device_cannot_reach_is_refused),
    };
    return cmocka_run_group_tests_name("CUDA devices", tests, NULL, NULL);
}
