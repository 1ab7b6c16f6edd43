/* If a machine's driver or compiler is faulty, opening a GPU says what is wrong and what to do, and the CPU goes on
 * working. The library looks for them once per process, so each case is a process of its own. */
#include "support.h"

#include "cuda/compiler.h"

typedef struct outcome {
    tally_status status;
    char said[2000];
    tally_status automatic; /* of "auto" */
    int listed;             /* devices */
} outcome;

static void look(const char *spec, outcome *seen) {
    tally_device *device = NULL;
    tally_device_info info = {.struct_size = sizeof info};
    seen->status = tally_open(spec, &device);
    snprintf(seen->said, sizeof seen->said, "%s", seen->status == TALLY_OK ? "" : tally_last_error());
    tally_close(device);
    device = NULL;
    seen->automatic = tally_open("auto", &device);
    tally_close(device);
    while (tally_device_at((size_t)seen->listed, &info) == TALLY_OK)
        seen->listed++;
}

/* Opens a device in a process whose environment has these. NULL: as it is. */
static outcome open_where(const char *driver, const char *fake, const char *compiler, const char *spec) {
    outcome seen = {0};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (driver)
            setenv("TALLY_LIBCUDA", driver, 1);
        if (fake)
            setenv("FAKE_CUDA", fake, 1);
        if (compiler)
            setenv("TALLY_NVRTC", compiler, 1);
        look(spec, &seen);
        _exit(write(ends[1], &seen, sizeof seen) == sizeof seen ? 0 : 1);
    }
    int code;
    close(ends[1]);
    assert_int_equal(read(ends[0], &seen, sizeof seen), sizeof seen);
    close(ends[0]);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    return seen;
}

#define assert_says(seen, expected, word)                                                                              \
    do {                                                                                                               \
        if ((seen).status != (expected) || !strstr((seen).said, word))                                                 \
            fail_msg("%s: %s", tally_status_name((seen).status), (seen).said);                                         \
        assert_int_equal((seen).automatic, TALLY_OK);                                                                  \
    } while (0)

static void without_a_driver(void **state) {
    (void)state;
    outcome seen = open_where("/nonexistent/libcuda.so.1", NULL, NULL, "cuda:0");
    assert_says(seen, TALLY_NO_DEVICE, "no CUDA driver");
    assert_says(seen, TALLY_NO_DEVICE, "/nonexistent/libcuda.so.1");
    assert_says(seen, TALLY_NO_DEVICE, "install");
    assert_int_equal(seen.listed, 1); /* the CPU */
    seen = open_where("/nonexistent/libcuda.so.1", NULL, NULL, "cuda");
    assert_says(seen, TALLY_NO_DEVICE, "no CUDA driver");
}

static void on_this_machine(void **state) {
    (void)state;
    outcome seen = open_where(NULL, NULL, NULL, "cuda:0");
    if (seen.status == TALLY_OK)
        skip();
    assert_says(seen, TALLY_NO_DEVICE, "cpu");
}

static void a_library_that_is_no_driver(void **state) {
    (void)state;
    assert_says(open_where(FAKE_NVRTC, NULL, NULL, "cuda:0"), TALLY_NO_DEVICE, "no function cuInit");
}

static void a_driver_that_is_too_old(void **state) {
    (void)state;
    outcome seen = open_where(FAKE_OLD_DRIVER, NULL, NULL, "cuda:0");
    assert_says(seen, TALLY_NO_DEVICE, "cuEventElapsedTime");
    assert_says(seen, TALLY_NO_DEVICE, "13.0"); /* what it speaks */
    assert_says(seen, TALLY_NO_DEVICE, "11.2"); /* what is needed */
    assert_int_equal(seen.listed, 1);
    seen = open_where(FAKE_DRIVER, "old", NULL, "cuda:0");
    assert_says(seen, TALLY_NO_DEVICE, "too old");
    assert_says(seen, TALLY_NO_DEVICE, "10.2");
}

static void a_driver_that_does_not_start(void **state) {
    (void)state;
    assert_says(open_where(FAKE_DRIVER, "no_device", NULL, "cuda:0"), TALLY_NO_DEVICE, "no GPU");
    assert_says(open_where(FAKE_DRIVER, "stub", NULL, "cuda:0"), TALLY_NO_DEVICE, "stand-in for linking");
    assert_says(open_where(FAKE_DRIVER, "mismatch", NULL, "cuda:0"), TALLY_NO_DEVICE, "restart");
    assert_says(open_where(FAKE_DRIVER, "broken", NULL, "cuda:0"), TALLY_NO_DEVICE, "CUDA_ERROR_UNKNOWN");
}

static void a_device_that_is_not_there(void **state) {
    (void)state;
    outcome seen = open_where(FAKE_DRIVER, NULL, FAKE_NVRTC, "cuda:2");
    assert_says(seen, TALLY_NO_DEVICE, "2 CUDA devices");
    assert_int_equal(seen.listed, 3);
    assert_says(open_where(FAKE_DRIVER, NULL, FAKE_NVRTC, "cuda:99999999999999999999"), TALLY_NO_DEVICE, "2 CUDA");
    assert_says(open_where(FAKE_DRIVER, NULL, FAKE_NVRTC, "cuda:x"), TALLY_INVALID_ARGUMENT, "cuda:N");
    assert_says(open_where(FAKE_DRIVER, NULL, FAKE_NVRTC, "cuda:-1"), TALLY_INVALID_ARGUMENT, "cuda:N");
    assert_says(open_where(FAKE_DRIVER, NULL, FAKE_NVRTC, "cuda:1x"), TALLY_INVALID_ARGUMENT, "cuda:N");
    assert_says(open_where(FAKE_DRIVER, NULL, FAKE_NVRTC, "cuda:1"), TALLY_OK, "");
    static const char *const lists[] = {"cuda:**",  "cuda:*,0",  "cuda:0,",  "cuda:,0",
                                        "cuda:0,x", "cuda:0, 1", "cuda:0;,1"};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) /* whether or not there is a driver */
        assert_says(open_where("/nonexistent/libcuda.so.1", NULL, NULL, lists[k]), TALLY_INVALID_ARGUMENT,
                    "'cuda:0,1'");
}

static void without_a_compiler(void **state) {
    (void)state;
    outcome seen = open_where(FAKE_DRIVER, NULL, "/nonexistent/libnvrtc.so", "cuda:0");
    assert_says(seen, TALLY_NO_DEVICE, "/nonexistent/libnvrtc.so");
    assert_says(seen, TALLY_NO_DEVICE, "TALLY_NVRTC");
    seen = open_where(FAKE_DRIVER, NULL, FAKE_DRIVER, "cuda:0");
    assert_says(seen, TALLY_NO_DEVICE, "not NVRTC of CUDA 11.2");
}

/* A process that finds its compiler by itself, in one of the user's Python packages: its version, or 0. */
static int version_where(const char *home, const char *fake) {
    int version = 0, code;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("TALLY_LIBCUDA", FAKE_DRIVER, 1);
        unsetenv("TALLY_NVRTC");
        setenv("FAKE_CUDA", fake, 1);
        setenv("HOME", home, 1);
        _exit(tally_cuda_compiler_version(&version) == TALLY_OK ? version / 1000 : 0);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

/* The system's compiler is preferred unless it is newer than the driver. The stand-in is of CUDA 12. */
static void a_compiler_in_a_package(void **state) {
    char folder[300], path[400], command[1000];
    snprintf(folder, sizeof folder, "%.100s/.local/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib", (char *)*state);
    snprintf(path, sizeof path, "%s/libnvrtc.so.12", folder);
    snprintf(command, sizeof command, "mkdir -p '%s'", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(symlink(FAKE_NVRTC, path), 0);
    int without = version_where("/nonexistent", "twelve"), with = version_where(*state, "twelve");
    assert_true(with > 0 && with <= 12);
    if (without > 0 && without <= 12)
        assert_int_equal(with, without);
    assert_true(version_where(*state, "thirteen") > 0);
    snprintf(command, sizeof command, "rm -r '%.100s/.local'", (char *)*state);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_driver),
        cmocka_unit_test(on_this_machine),
        cmocka_unit_test(a_library_that_is_no_driver),
        cmocka_unit_test(a_driver_that_is_too_old),
        cmocka_unit_test(a_driver_that_does_not_start),
        cmocka_unit_test(a_device_that_is_not_there),
        cmocka_unit_test(without_a_compiler),
        cmocka_unit_test_setup_teardown(a_compiler_in_a_package, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("CUDA's driver", tests, NULL, NULL);
}
