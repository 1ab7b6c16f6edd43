/* Devices open by their spec, describe themselves, and close without leaving anything behind. A malformed spec is
 * refused. */
#include <unistd.h>

#include "support.h"

static void specs_that_open(void **state) {
    (void)state;
    static const char *const specs[] = {"auto",
                                        "cpu",
                                        "cpu:baseline",
                                        "cpu:threads=1",
                                        "cpu:threads=3",
                                        "cpu:baseline:threads=2",
                                        "cpu:threads=2:baseline"};
    for (size_t k = 0; k < COUNT_OF(specs); k++) {
        tally_device *device = NULL;
        tally_status status = tally_open(specs[k], &device);
        if (status == TALLY_NO_DEVICE && strstr(specs[k], "baseline"))
            continue; /* built without it */
        assert_int_equal(status, TALLY_OK);
        tally_device_info info = {.struct_size = sizeof info};
        assert_ok(tally_device_describe(device, &info));
        assert_true(info.spec[0] && info.name[0]);
        /* The device's own spec opens it again. */
        tally_device *again;
        assert_ok(tally_open(info.spec, &again));
        tally_close(again);
        tally_close(device);
    }
    tally_close(NULL);
}

static void specs_that_do_not(void **state) {
    (void)state;
    static const char *const specs[] = {"",
                                        "cp",
                                        "cpux",
                                        "gpu",
                                        "cpu:avx3",
                                        "cpu:threads=",
                                        "cpu:threads=0",
                                        "cpu:threads=-1",
                                        "cpu:threads=x",
                                        "cpu:threads=2x",
                                        "cpu:threads=99999999999999999999",
                                        "cpu:baseline:avx2",
                                        "cpu:",
                                        "cpu::threads=2",
                                        "cpu:threads=2:",
                                        "cpu:threads=2:threads=3",
                                        "vulkan:",
                                        "cuda:",
                                        ":",
                                        "cpu:threads=2:threads=3junk",
                                        "CPU:\n"};
    tally_device *const untouched = (tally_device *)(uintptr_t)0x5eed;
    for (size_t k = 0; k < COUNT_OF(specs); k++) {
        tally_device *device = untouched;
        forget_last_error();
        tally_status status = tally_open(specs[k], &device);
        if (status != TALLY_INVALID_ARGUMENT && status != TALLY_NO_DEVICE)
            fail_msg("'%s' gave %s", specs[k], tally_status_name(status));
        assert_ptr_equal(device, untouched);
        assert_says_something();
    }
    char *long_spec = malloc(100001);
    assert_non_null(long_spec);
    memset(long_spec, 'c', 100000);
    long_spec[100000] = 0;
    tally_device *device = untouched;
    assert_int_not_equal(tally_open(long_spec, &device), TALLY_OK);
    memcpy(long_spec, "cpu:", 4);
    assert_int_not_equal(tally_open(long_spec, &device), TALLY_OK);
    free(long_spec);
    assert_fails(tally_open(NULL, &device), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_open("cpu", NULL), TALLY_INVALID_ARGUMENT);
    assert_ptr_equal(device, untouched);
}

static void the_environment_fills_in_what_is_open(void **state) {
    (void)state;
    tally_device *device;
    tally_device_info info = {.struct_size = sizeof info};
    setenv("TALLY_THREADS", "3", 1);
    assert_ok(tally_open("cpu", &device));
    assert_ok(tally_device_describe(device, &info));
    assert_non_null(strstr(info.spec, "threads=3"));
    tally_close(device);
    assert_ok(tally_open("cpu:threads=1", &device));
    assert_ok(tally_device_describe(device, &info));
    assert_null(strstr(info.spec, "threads=3"));
    tally_close(device);
    setenv("TALLY_THREADS", "many", 1);
    assert_fails(tally_open("cpu", &device), TALLY_INVALID_ARGUMENT);
    unsetenv("TALLY_THREADS");
    setenv("TALLY_CPU", "no_such_set", 1);
    assert_fails(tally_open("cpu", &device), TALLY_NO_DEVICE);
    unsetenv("TALLY_CPU");
}

static void devices_are_listed(void **state) {
    (void)state;
    tally_device_info info = {.struct_size = sizeof info};
    assert_ok(tally_device_at(0, &info));
    size_t count = 0;
    while (tally_device_at(count, &info) == TALLY_OK) {
        tally_device *device = NULL;
        tally_status status = tally_open(info.spec, &device);
        if (status != TALLY_NO_DEVICE || strncmp(info.spec, "cpu", 3) == 0) /* a GPU may lack its compiler */
            assert_int_equal(status, TALLY_OK);
        tally_close(device);
        assert_true(++count < 1000);
    }
    assert_fails(tally_device_at(count, &info), TALLY_NO_DEVICE);
    assert_fails(tally_device_at(SIZE_MAX, &info), TALLY_NO_DEVICE);
    assert_fails(tally_device_at(0, NULL), TALLY_INVALID_ARGUMENT);
    info.struct_size = 3;
    assert_fails(tally_device_at(0, &info), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_device_describe(NULL, &info), TALLY_INVALID_ARGUMENT);
}

static int threads_of_this_process(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[200];
    int threads = -1;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    if (file)
        fclose(file);
    return threads;
}

static void open_use_and_close(int k) {
    static float x[300000];
    tally_device *device;
    float sum;
    char spec[32];
    snprintf(spec, sizeof spec, "cpu:threads=%d", 1 + k % 5);
    assert_ok(tally_open(spec, &device));
    if (k % 2) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        tally_args args = arguments(x, COUNT_OF(x), &sum, sizeof sum);
        assert_ok(run_desc(device, &desc, &args));
    }
    tally_close(device);
}

static void many_devices_open_and_close(void **state) {
    (void)state;
    /* The first thread of a process may start one of the run time's own, so count after it. */
    open_use_and_close(1);
    int before = threads_of_this_process();
    for (int k = 0; k < 200; k++)
        open_use_and_close(k);
    tally_device *open[40];
    for (size_t k = 0; k < COUNT_OF(open); k++)
        assert_ok(tally_open("cpu:threads=2", &open[k]));
    for (size_t k = 0; k < COUNT_OF(open); k++)
        tally_close(open[COUNT_OF(open) - 1 - k]);
    /* The kernel counts a thread for a moment after it has been joined: 2 s on a busy machine are ample. */
    int after = threads_of_this_process();
    for (int turn = 0; turn < 200 && after > before; turn++) {
        usleep(10000);
        after = threads_of_this_process();
    }
    if (before > 0)
        assert_in_range(after, 1, before);
}

static void opening_starts_no_thread(void **state) {
    (void)state;
    int before = threads_of_this_process();
    tally_device *device;
    assert_ok(tally_open("cpu:threads=4", &device));
    float x[4] = {1, 2, 3, 4}, sum;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_args args = arguments(x, 4, &sum, sizeof sum);
    assert_ok(run_desc(device, &desc, &args));
    if (before > 0)
        assert_int_equal(before, threads_of_this_process()); /* four values need none */
    tally_close(device);
}

static void memory_is_aligned_and_copies(void **state) {
    (void)state;
    tally_device *device;
    void *memory = NULL;
    assert_ok(tally_open("cpu", &device));
    for (size_t bytes = 0; bytes < 5000; bytes = bytes * 3 + 1) {
        char from[5000], to[5000];
        memset(from, (int)bytes + 1, sizeof from);
        memset(to, 0, sizeof to);
        assert_ok(tally_alloc(device, bytes, &memory));
        assert_int_equal((uintptr_t)memory % 64, 0);
        assert_ok(tally_copy(device, memory, from, bytes));
        assert_ok(tally_copy(device, to, memory, bytes));
        assert_memory_equal(from, to, bytes);
        tally_free(device, memory);
    }
    tally_free(device, NULL);
    assert_fails(tally_alloc(device, 10, NULL), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_alloc(NULL, 10, &memory), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_copy(device, NULL, device, 10), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_copy(device, device, NULL, 10), TALLY_INVALID_ARGUMENT);
    assert_ok(tally_copy(device, NULL, NULL, 0));
    tally_close(device);
}

int main(void) {
    unsetenv("TALLY_CPU");
    unsetenv("TALLY_THREADS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_that_open),
        cmocka_unit_test(specs_that_do_not),
        cmocka_unit_test(the_environment_fills_in_what_is_open),
        cmocka_unit_test(devices_are_listed),
        cmocka_unit_test(opening_starts_no_thread),
        cmocka_unit_test(many_devices_open_and_close),
        cmocka_unit_test(memory_is_aligned_and_copies),
    };
    return cmocka_run_group_tests_name("device specs", tests, NULL, NULL);
}
