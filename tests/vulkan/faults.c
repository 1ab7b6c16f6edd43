/* If a machine's Vulkan is faulty, or fails on the way, the call says what is wrong and the process goes on. The
 * machine's own driver runs behind a loader that simulates faults. The library looks for a loader once per process, so
 * each case is a process of its own. */
#include <sys/wait.h>
#include <unistd.h>

#include "../api/support.h"
#include "vulkan/kernel.h"
#include "vulkan/vulkan.h"

typedef struct outcome {
    tally_status status;
    char said[2000];
    tally_status automatic; /* of "auto" */
    tally_status after;     /* of the device's next call, once the fault is over */
} outcome;

static void note(outcome *seen, tally_status status) {
    seen->status = status;
    snprintf(seen->said, sizeof seen->said, "%s", status == TALLY_OK ? "" : tally_last_error());
}

typedef tally_status faulty_call(tally_device *device);

/* Opens a device with 'found' in play, then makes a call with 'fault' in play. */
static outcome in_a_process(const char *loader, const char *found, const char *spec, const char *fault,
                            faulty_call *call) {
    outcome seen = {.status = TALLY_STATUS_COUNT};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        tally_device *device = NULL, *automatic = NULL;
        setenv("TALLY_LIBVULKAN", loader, 1);
        setenv("FAKE_VULKAN", found, 1);
        note(&seen, tally_open(spec, &device));
        seen.automatic = tally_open("auto", &automatic);
        tally_close(automatic);
        if (seen.status == TALLY_OK && call) {
            setenv("FAKE_VULKAN", fault, 1);
            note(&seen, call(device));
            setenv("FAKE_VULKAN", found, 1);
            seen.after = call(device);
        }
        tally_close(device);
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

static void assert_says(outcome seen, tally_status expected, const char *word) {
    if (seen.status != expected || !strstr(seen.said, word))
        fail_msg("%s: %s", tally_status_name(seen.status), seen.said);
    assert_int_equal(seen.automatic, TALLY_OK);
}

static outcome open_where(const char *found, const char *spec) {
    return in_a_process(FAKE_LOADER, found, spec, NULL, NULL);
}

static void without_a_loader(void **state) {
    (void)state;
    outcome seen = in_a_process("/nonexistent/libvulkan.so.1", "", "vulkan:0", NULL, NULL);
    assert_says(seen, TALLY_NO_DEVICE, "no Vulkan loader");
    assert_says(seen, TALLY_NO_DEVICE, "/nonexistent/libvulkan.so.1");
    assert_says(in_a_process("libm.so.6", "", "vulkan", NULL, NULL), TALLY_NO_DEVICE, "is no Vulkan loader");
}

static void a_loader_that_is_too_old_or_finds_no_driver(void **state) {
    (void)state;
    assert_says(open_where("old", "vulkan:0"), TALLY_NO_DEVICE, "Vulkan 1.1");
    assert_says(open_where("no_driver", "vulkan:0"), TALLY_NO_DEVICE, "VK_ERROR_INCOMPATIBLE_DRIVER");
}

static void a_device_that_is_not_there(void **state) {
    (void)state;
    assert_says(open_where("no_device", "vulkan:0"), TALLY_NO_DEVICE, "0 Vulkan devices");
    assert_says(open_where("", "vulkan:99"), TALLY_NO_DEVICE, "counted from 0");
    assert_says(open_where("", "vulkan:x"), TALLY_INVALID_ARGUMENT, "vulkan:N");
    assert_says(open_where("", "vulkan:-1"), TALLY_INVALID_ARGUMENT, "vulkan:N");
    assert_says(open_where("", "vulkan:0"), TALLY_OK, "");
}

static void a_feature_that_is_missing(void **state) {
    (void)state;
    assert_says(open_where("no_address", "vulkan:0"), TALLY_UNSUPPORTED, "bufferDeviceAddress");
}

static tally_status lets_workgroups_wait(tally_device *opened) {
    return ((const tally_vulkan_device *)opened)->least_once != UINT64_MAX ? TALLY_OK : TALLY_UNSUPPORTED;
}

static void workgroups_wait_for_others_only_where_these_go_on(void **state) {
    (void)state;
    assert_int_equal(in_a_process(FAKE_LOADER, "nvidia", "vulkan:0", "nvidia", lets_workgroups_wait).status, TALLY_OK);
    const tally_status others = in_a_process(FAKE_LOADER, "mesa", "vulkan:0", "mesa", lets_workgroups_wait).status;
    assert_int_equal(others, TALLY_UNSUPPORTED);
}

static tally_status plan_var(tally_device *device) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan = NULL;
    desc.op = TALLY_VAR;
    desc.in = TALLY_F32;
    tally_status status = tally_plan_create(device, &desc, &plan);
    tally_plan_destroy(status == TALLY_OK ? plan : NULL);
    return status;
}

static void doubles_are_asked_for_only_where_they_are_needed(void **state) {
    (void)state;
    assert_says(in_a_process(FAKE_LOADER, "no_double", "vulkan:0", "no_double", plan_var), TALLY_UNSUPPORTED,
                "shaderFloat64");
}

static tally_status allocate(tally_device *device) {
    void *memory = NULL;
    tally_status status = tally_alloc(device, 1000, &memory);
    tally_free(device, status == TALLY_OK ? memory : NULL);
    return status;
}

static void a_full_device_stays_usable(void **state) {
    (void)state;
    outcome seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "full", allocate);
    assert_says(seen, TALLY_OUT_OF_MEMORY, "1000 bytes");
    assert_int_equal(seen.after, TALLY_OK);
}

/* The sum of 1 + 2 + 3. TALLY_STATUS_COUNT: a wrong one. */
static tally_status sum(tally_device *device) {
    const int32_t x[] = {1, 2, 3};
    int64_t result = 0;
    void *memory = NULL;
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan = NULL;
    desc.in = TALLY_I32;
    tally_status status = tally_alloc(device, 64, &memory);
    if (status == TALLY_OK)
        status = tally_copy(device, memory, x, sizeof x);
    if (status == TALLY_OK)
        status = tally_plan_create(device, &desc, &plan);
    if (status == TALLY_OK) {
        tally_args args = TALLY_ARGS_INIT;
        args.shape.extent = 3;
        args.x = memory;
        args.offsets = args.keys = args.labels = x; /* a sum of all values does not read them, wherever they are */
        args.out = (char *)memory + 32;
        args.out_bytes = sizeof result;
        status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
        if (status == TALLY_OK)
            status = tally_copy(device, &result, args.out, sizeof result);
        tally_plan_destroy(plan);
    }
    tally_free(device, memory);
    return status == TALLY_OK && result != 6 ? TALLY_STATUS_COUNT : status;
}

static tally_status share_memory(tally_device *device) {
    return ((const tally_vulkan_device *)device)->shares_memory ? TALLY_OK : TALLY_UNSUPPORTED;
}

/* A device maps what is copied through when it is opened; one that shares memory with the host, all that it allocates.
 */
static void memory_that_cannot_be_mapped(void **state) {
    (void)state;
    outcome seen = open_where("unmappable", "vulkan:0");
    assert_says(seen, TALLY_DEVICE_FAILED, "VK_ERROR_MEMORY_MAP_FAILED");
    if (in_a_process(FAKE_LOADER, "", "vulkan:0", "", share_memory).status != TALLY_OK)
        return;
    seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "unmappable", allocate);
    assert_says(seen, TALLY_DEVICE_FAILED, "VK_ERROR_MEMORY_MAP_FAILED");
    assert_int_equal(seen.after, TALLY_OK);
}

static void memory_to_copy_through_that_cannot_be_mapped(void **state) {
    (void)state;
    assert_says(open_where("discrete,unmappable", "vulkan:0"), TALLY_DEVICE_FAILED, "VK_ERROR_MEMORY_MAP_FAILED");
    setenv("TALLY_SELF_TEST", "0", 1); /* which copies */
    outcome seen = in_a_process(FAKE_LOADER, "discrete", "vulkan:0", "discrete,unmappable", sum);
    unsetenv("TALLY_SELF_TEST");
    assert_says(seen, TALLY_DEVICE_FAILED, "VK_ERROR_MEMORY_MAP_FAILED");
    assert_int_equal(seen.after, TALLY_OK);
}

static void a_played_device_takes_no_kernel_that_needs_more_than_it_has(void **state) {
    (void)state;
    outcome seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "no_double", plan_var);
    assert_says(seen, TALLY_DEVICE_FAILED, "VK_ERROR_FEATURE_NOT_PRESENT");
    assert_int_equal(seen.after, TALLY_OK);
    setenv("TALLY_SELF_TEST", "0", 1); /* which loads the sum's module */
    seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "no_int64", sum);
    unsetenv("TALLY_SELF_TEST");
    assert_says(seen, TALLY_DEVICE_FAILED, "VK_ERROR_FEATURE_NOT_PRESENT");
}

/* Sums of nothing, in more columns than workgroups can be counted. */
static tally_status sum_columns_of_nothing(tally_device *device) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan = NULL;
    desc.in = TALLY_F32;
    desc.grouping = TALLY_AXIS;
    args.shape.outer = UINT64_C(1) << 41;
    args.shape.inner = 1;
    args.out = &desc;
    args.out_bytes = SIZE_MAX;
    tally_status status = tally_plan_create(device, &desc, &plan);
    if (status == TALLY_OK)
        status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    tally_plan_destroy(plan);
    return status;
}

static void more_columns_than_workgroups_reach_are_refused(void **state) {
    (void)state;
    assert_says(in_a_process(FAKE_LOADER, "", "vulkan:0", "", sum_columns_of_nothing), TALLY_UNSUPPORTED,
                "more workgroups");
}

static void a_device_that_is_lost(void **state) {
    (void)state;
    outcome seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "lost", sum);
    assert_says(seen, TALLY_DEVICE_FAILED, "VK_ERROR_DEVICE_LOST");
    assert_int_equal(seen.after, TALLY_OK);
}

static void a_device_that_is_lost_in_the_middle(void **state) {
    (void)state;
    outcome seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "lost_waiting", sum);
    assert_says(seen, TALLY_DEVICE_FAILED, "VK_ERROR_DEVICE_LOST");
    assert_int_equal(seen.after, TALLY_OK);
    seen = in_a_process(FAKE_LOADER, "discrete", "vulkan:0", "discrete,lost_waiting", sum);
    assert_says(seen, TALLY_DEVICE_FAILED, "copying: the device is lost");
    assert_int_equal(seen.after, TALLY_OK);
}

static void a_recording_that_is_refused(void **state) {
    (void)state;
    outcome seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "no_recording", sum);
    assert_says(seen, TALLY_OUT_OF_MEMORY, "beginning a recording");
    assert_int_equal(seen.after, TALLY_OK);
}

/* The rest of it is released once. */
static void a_command_buffer_that_cannot_be_made(void **state) {
    (void)state;
    outcome seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "no_fence", sum);
    assert_says(seen, TALLY_OUT_OF_MEMORY, "making a command buffer");
    assert_int_equal(seen.after, TALLY_OK);
    assert_says(open_where("no_fence", "vulkan:0"), TALLY_OUT_OF_MEMORY, "making a command buffer");
}

/* Fills a word, and says how long that took. */
static tally_status record_a_fill(tally_device *device) {
    void *memory;
    tally_vulkan_recording *recording = NULL;
    double seconds = -1;
    uint32_t word = 0;
    tally_status status = tally_alloc(device, sizeof word, &memory);
    if (status != TALLY_OK)
        return status;
    status = tally_vulkan_recording_create(device, &recording);
    if (status == TALLY_OK)
        status = tally_vulkan_recording_begin(recording);
    if (status == TALLY_OK)
        status = tally_vulkan_recording_fill(recording, memory, 7, 1);
    if (status == TALLY_OK)
        status = tally_vulkan_recording_run(recording, &seconds);
    if (status == TALLY_OK)
        status = tally_copy(device, &word, memory, sizeof word);
    tally_vulkan_recording_destroy(recording);
    tally_free(device, memory);
    return status != TALLY_OK || (word == 7 && seconds >= 0) ? status : TALLY_STATUS_COUNT;
}

static void a_recording_on_a_queue_without_a_clock(void **state) {
    (void)state;
    for (int has_none = 0; has_none < 2; has_none++) {
        const char *found = has_none ? "no_clock" : "";
        const outcome seen = in_a_process(FAKE_LOADER, found, "vulkan:0", found, record_a_fill);
        assert_int_equal(seen.status, TALLY_OK);
        assert_int_equal(seen.after, TALLY_OK);
    }
}

static void a_device_that_is_there_but_does_not_open(void **state) {
    (void)state;
    assert_says(open_where("unmakeable", "vulkan:0"), TALLY_DEVICE_FAILED, "VK_ERROR_INITIALIZATION_FAILED");
    assert_says(open_where("no_compute", "vulkan:0"), TALLY_NO_DEVICE, "no queue that computes");
    assert_says(open_where("no_mapped", "vulkan:0"), TALLY_UNSUPPORTED, "no memory that the host can map");
    assert_says(open_where("no_1_2", "vulkan:0"), TALLY_DEVICE_FAILED, "no function vkGetBufferDeviceAddress");
}

static void no_identity(void *context, void *acc) {
    (void)context, (void)acc;
}
static void no_lift(void *context, const void *x, uint64_t index, void *acc) {
    (void)context, (void)x, (void)index, (void)acc;
}
static void no_combine(void *context, const void *left, const void *right, void *acc) {
    (void)context, (void)left, (void)right, (void)acc;
}

/* x * 0.5: a double. */
static tally_status plan_user(tally_device *device) {
    static const tally_user_op halves = {.struct_size = sizeof(tally_user_op),
                                         .acc_bytes = 8,
                                         .identity = no_identity,
                                         .lift = no_lift,
                                         .combine = no_combine,
                                         .lower = no_lift,
                                         .acc_source = "struct acc_t { float a; };",
                                         .identity_source = "acc_t{0}",
                                         .lift_source = "acc_t{x * 0.5}",
                                         .combine_source = "acc_t{left.a + right.a}",
                                         .lower_source = "acc.a"};
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan = NULL;
    desc.op = TALLY_USER;
    desc.in = desc.out = TALLY_F32;
    desc.user = &halves;
    tally_status status = tally_plan_create(device, &desc, &plan);
    tally_plan_destroy(status == TALLY_OK ? plan : NULL);
    return status;
}

static void integers_of_64_bits_are_asked_for_only_where_they_are_needed(void **state) {
    (void)state;
    assert_says(open_where("no_int64", "vulkan:0"), TALLY_OK, "");
    assert_says(in_a_process(FAKE_LOADER, "no_int64", "vulkan:0", "no_int64", sum), TALLY_UNSUPPORTED, "shaderInt64");
    assert_says(in_a_process(FAKE_LOADER, "no_int64", "vulkan:0", "no_int64", plan_user), TALLY_UNSUPPORTED,
                "shaderInt64");
}

static void what_a_users_operator_takes_is_named(void **state) {
    (void)state;
    assert_says(in_a_process(FAKE_LOADER, "no_double", "vulkan:0", "no_double", plan_user), TALLY_UNSUPPORTED, "0.5f");
    const char *given = getenv("TALLY_LIBSHADERC");
    char path[1024];
    snprintf(path, sizeof path, "%s", given ? given : "");
    setenv("TALLY_LIBSHADERC", "/nonexistent/libshaderc.so.1", 1);
    assert_says(in_a_process(FAKE_LOADER, "", "vulkan:0", "", plan_user), TALLY_UNSUPPORTED, "/nonexistent");
    setenv("TALLY_LIBSHADERC", "libm.so.6", 1);
    assert_says(in_a_process(FAKE_LOADER, "", "vulkan:0", "", plan_user), TALLY_UNSUPPORTED, "is no libshaderc");
    setenv("TALLY_LIBSHADERC", path, 1); /* empty: none */
}

static void a_kernel_that_does_not_compile(void **state) {
    (void)state;
    outcome seen = in_a_process(FAKE_LOADER, "", "vulkan:0", "no_kernels", plan_var);
    assert_says(seen, TALLY_OUT_OF_MEMORY, "compiling a kernel");
    assert_int_equal(seen.after, TALLY_OK);
}

static void memory_of_a_gpu_is_filled_through_staging(void **state) {
    (void)state;
    assert_says(in_a_process(FAKE_LOADER, "discrete", "vulkan:0", "discrete", sum), TALLY_OK, "");
    assert_says(in_a_process(FAKE_LOADER, "discrete", "auto", "discrete", sum), TALLY_OK, "");
}

static tally_status sum_of_host_memory(tally_device *device) {
    const float x[] = {1, 2, 3};
    float result;
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan = NULL;
    desc.in = TALLY_F32;
    tally_status status = tally_plan_create(device, &desc, &plan);
    if (status != TALLY_OK)
        return status;
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = 3;
    args.x = x;
    args.out = &result;
    args.out_bytes = sizeof result;
    status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    tally_plan_destroy(plan);
    return status;
}

static void host_memory_is_refused(void **state) {
    (void)state;
    assert_says(in_a_process(FAKE_LOADER, "", "vulkan:0", "", sum_of_host_memory), TALLY_INVALID_ARGUMENT, "args.x");
}

static void a_device_that_computes_wrongly_is_not_opened(void **state) {
    (void)state;
    const outcome seen = open_where("idle", "vulkan:0");
    assert_says(seen, TALLY_DEVICE_FAILED, "computes wrongly");
    assert_says(seen, TALLY_DEVICE_FAILED, "TALLY_SELF_TEST=0");
    setenv("TALLY_SELF_TEST", "0", 1);
    assert_says(open_where("idle", "vulkan:0"), TALLY_OK, "");
    unsetenv("TALLY_SELF_TEST");
}

static void damage(const char *folder) {
    char command[300];
    snprintf(command, sizeof command,
             "for f in %s/*; do printf x | dd of=\"$f\" bs=1 seek=60 conv=notrunc status=none; done", folder);
    assert_int_equal(system(command), 0);
}

/* "warm" is a driver that compiles nothing: what runs then was on the disk. */
static void pipelines_are_kept_on_disk(void **state) {
    char folder[] = "/tmp/tally-pipelines-XXXXXX", command[100];
    (void)state;
    assert_non_null(mkdtemp(folder));
    unsetenv("TALLY_CACHE");
    setenv("TALLY_CACHE_DIR", folder, 1);
    assert_says(in_a_process(FAKE_LOADER, "caches", "vulkan:0", "caches", sum), TALLY_OK, "");
    assert_says(in_a_process(FAKE_LOADER, "caches,warm", "vulkan:0", "caches,warm", sum), TALLY_OK, "");
    damage(folder);
    assert_says(open_where("caches,warm", "vulkan:0"), TALLY_OUT_OF_MEMORY, "compiling a kernel");
    assert_says(in_a_process(FAKE_LOADER, "caches", "vulkan:0", "caches", sum), TALLY_OK, "");
    assert_says(in_a_process(FAKE_LOADER, "caches,warm", "vulkan:0", "caches,warm", sum), TALLY_OK, "");
    setenv("TALLY_CACHE", "0", 1);
    assert_says(open_where("caches,warm", "vulkan:0"), TALLY_OUT_OF_MEMORY, "compiling a kernel");
    unsetenv("TALLY_CACHE_DIR");
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* Where there is a compiler at all: the second time none is needed. */
static void a_users_operator_is_compiled_once(void **state) {
    char folder[] = "/tmp/tally-operators-XXXXXX", command[100];
    const char *given = getenv("TALLY_LIBSHADERC");
    char path[1024];
    (void)state;
    snprintf(path, sizeof path, "%s", given ? given : "");
    assert_non_null(mkdtemp(folder));
    unsetenv("TALLY_CACHE");
    setenv("TALLY_CACHE_DIR", folder, 1);
    if (in_a_process(FAKE_LOADER, "", "vulkan:0", "", plan_user).status == TALLY_OK) {
        setenv("TALLY_LIBSHADERC", "/nonexistent/libshaderc.so.1", 1);
        assert_says(in_a_process(FAKE_LOADER, "", "vulkan:0", "", plan_user), TALLY_OK, "");
        setenv("TALLY_LIBSHADERC", path, 1);
    }
    unsetenv("TALLY_CACHE_DIR");
    setenv("TALLY_CACHE", "0", 1);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_loader),
        cmocka_unit_test(a_loader_that_is_too_old_or_finds_no_driver),
        cmocka_unit_test(a_device_that_is_not_there),
        cmocka_unit_test(a_feature_that_is_missing),
        cmocka_unit_test(workgroups_wait_for_others_only_where_these_go_on),
        cmocka_unit_test(doubles_are_asked_for_only_where_they_are_needed),
        cmocka_unit_test(integers_of_64_bits_are_asked_for_only_where_they_are_needed),
        cmocka_unit_test(a_played_device_takes_no_kernel_that_needs_more_than_it_has),
        cmocka_unit_test(a_full_device_stays_usable),
        cmocka_unit_test(memory_that_cannot_be_mapped),
        cmocka_unit_test(memory_to_copy_through_that_cannot_be_mapped),
        cmocka_unit_test(more_columns_than_workgroups_reach_are_refused),
        cmocka_unit_test(a_device_that_is_lost),
        cmocka_unit_test(a_device_that_is_lost_in_the_middle),
        cmocka_unit_test(a_recording_that_is_refused),
        cmocka_unit_test(a_command_buffer_that_cannot_be_made),
        cmocka_unit_test(a_recording_on_a_queue_without_a_clock),
        cmocka_unit_test(a_device_that_is_there_but_does_not_open),
        cmocka_unit_test(what_a_users_operator_takes_is_named),
        cmocka_unit_test(a_kernel_that_does_not_compile),
        cmocka_unit_test(memory_of_a_gpu_is_filled_through_staging),
        cmocka_unit_test(host_memory_is_refused),
        cmocka_unit_test(a_device_that_computes_wrongly_is_not_opened),
        cmocka_unit_test(pipelines_are_kept_on_disk),
        cmocka_unit_test(a_users_operator_is_compiled_once),
    };
    setenv("TALLY_CACHE", "0", 1); /* what other runs noted */
    return cmocka_run_group_tests_name("Vulkan's faults", tests, NULL, NULL);
}
