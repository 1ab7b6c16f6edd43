/* A kernel is compiled once, for all threads and all processes, and again only where what was kept is of no use: on the
 * stand-ins for driver and compiler. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "support.h"

#include "cuda/compiler.h"
#include "cuda/launch.h"
#include "cuda/loading.h"
#include "cuda/module.h"
#include "cuda/path.h"

static fake_driver_state *driver;
static fake_nvrtc_state *compiler;
static tally_device *device;

static tally_cuda_device *cuda(void) {
    return (tally_cuda_device *)device;
}

/* Stands before the system's (CMakeLists.txt). */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
static bool threads_are_refused;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    return threads_are_refused ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}

static int begin(void **state) {
    if (make_folder(state) != 0)
        return -1;
    setenv("TALLY_THREADS", "3", 1);
    threads_are_refused = false;
    unsetenv("TALLY_CACHE");
    setenv("TALLY_CACHE_DIR", *state, 1);
    *compiler = (fake_nvrtc_state){0};
    driver->loads = 0;
    return tally_open("cuda:0", &device) == TALLY_OK ? 0 : -1;
}

static int end(void **state) {
    tally_close(device);
    device = NULL;
    remove_folder(state);
    return driver->modules == 0 && driver->primary_contexts == 0 ? 0 : -1;
}

static void open_again(void) {
    tally_close(device);
    assert_ok(tally_open("cuda:0", &device));
}

static const char *const options[] = {"-DA=1", "-DB=2"};

static const tally_cuda_module *get(const char *source, size_t count) {
    const tally_cuda_module *module = NULL;
    assert_ok(tally_cuda_module_get(cuda(), source, options, count, &module));
    assert_non_null(module);
    return module;
}

static void kept_in_memory(void **state) {
    (void)state;
    const tally_cuda_module *first = get("x", 2);
    assert_ptr_equal(get("x", 2), first);
    assert_int_equal(compiler->compilations, 1);
    assert_ptr_not_equal(get("x", 1), first);
    assert_ptr_not_equal(get("x", 0), first);
    assert_ptr_not_equal(get("y", 2), first);
    assert_ptr_equal(get("x", 2), first);
    assert_int_equal(compiler->compilations, 4);
    assert_int_equal(driver->modules, 4);
}

static void kept_on_disk(void **state) {
    get("x", 2);
    assert_int_equal(files_in(*state, ""), 1);
    open_again();
    get("x", 2);
    assert_int_equal(compiler->compilations, 1);
    assert_int_equal(driver->loads, 2);
}

static void another_architecture_is_another_kernel(void **state) {
    get("x", 2);
    driver->capability = 80;
    open_again();
    get("x", 2);
    assert_int_equal(compiler->compilations, 2);
    assert_int_equal(compiler->ptx, 0);
    assert_int_equal(files_in(*state, ""), 2);
    driver->capability = 90;
}

static void a_gpu_newer_than_the_compiler_gets_ptx(void **state) {
    (void)state;
    driver->capability = 121;
    open_again();
    get("x", 2);
    driver->capability = 90;
    assert_int_equal(compiler->ptx, 1);
}

static void a_gpu_older_than_the_compiler_is_refused(void **state) {
    (void)state;
    const tally_cuda_module *module = NULL;
    driver->capability = 52;
    open_again();
    driver->capability = 90;
    assert_fails(tally_cuda_module_get(cuda(), "x", NULL, 0, &module), TALLY_UNSUPPORTED);
    assert_non_null(strstr(tally_last_error(), "5.2"));
    assert_null(module);
}

static void a_damaged_file_is_compiled_again(void **state) {
    char path[PATH_MAX];
    get("x", 2);
    only_file(*state, path);
    assert_int_equal(truncate(path, 70), 0);
    open_again();
    get("x", 2);
    assert_int_equal(compiler->compilations, 2);
    open_again();
    get("x", 2);
    assert_int_equal(compiler->compilations, 2);
}

static void what_the_driver_refuses_is_compiled_once_more(void **state) {
    (void)state;
    get("x", 2);
    open_again();
    driver->images_to_refuse = 1;
    get("x", 2);
    assert_int_equal(compiler->compilations, 2);
    open_again();
    driver->images_to_refuse = 2;
    const tally_cuda_module *module = NULL;
    assert_fails(tally_cuda_module_get(cuda(), "x", options, 2, &module), TALLY_DEVICE_FAILED);
    assert_null(module);
    assert_int_equal(compiler->compilations, 3);
    get("x", 2); /* a failure is not remembered */
}

/* What the compiler's stand-in makes of a text, as a prebuilt kernel; the cache keeps nothing. */
static void prebuild(const char *folder, const char *source, char path[PATH_MAX]) {
    tally_image image = {0};
    assert_ok(tally_cuda_compile(source, "x.cu", options, 2, 90, &image, NULL));
    assert_true(tally_prebuilt_store(folder, tally_cuda_key_of(source, options, 2, 90), &image));
    tally_image_free(&image);
    only_file(folder, path);
    setenv("TALLY_CACHE", "0", 1);
    setenv("TALLY_PREBUILT_DIR", folder, 1);
    compiler->compilations = 0;
}

static void what_is_prebuilt_is_not_compiled(void **state) {
    char path[PATH_MAX];
    prebuild(*state, "x", path);
    get("x", 2);
    assert_int_equal(compiler->compilations, 0);
    assert_int_equal(driver->loads, 1);
    get("y", 2);
    get("x", 1);
    assert_int_equal(compiler->compilations, 2);
    driver->capability = 80;
    open_again();
    driver->capability = 90;
    get("x", 2);
    assert_int_equal(compiler->compilations, 3);
    unsetenv("TALLY_PREBUILT_DIR");
}

static void what_is_prebuilt_badly_is_compiled(void **state) {
    char path[PATH_MAX];
    prebuild(*state, "x", path);
    driver->images_to_refuse = 1; /* by a driver that is older than it */
    get("x", 2);
    assert_int_equal(compiler->compilations, 1);
    assert_int_equal(chmod(path, 0664), 0); /* others may have written it */
    open_again();
    get("x", 2);
    assert_int_equal(compiler->compilations, 2);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(truncate(path, 70), 0);
    open_again();
    get("x", 2);
    assert_int_equal(compiler->compilations, 3);
    unsetenv("TALLY_PREBUILT_DIR");
}

static void without_a_folder_all_goes_on(void **state) {
    (void)state;
    setenv("TALLY_CACHE_DIR", "/proc/no/such", 1);
    get("x", 2);
    open_again();
    get("x", 2);
    assert_int_equal(compiler->compilations, 2);
}

static void what_does_not_compile_says_why(void **state) {
    const tally_cuda_module *module = NULL;
    assert_fails(tally_cuda_module_get(cuda(), "#error", NULL, 0, &module), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "tally.cu(1): error: #error as it was told"));
    assert_null(module);
    assert_int_equal(files_in(*state, ""), 0);
    get("x", 2);
}

static void functions_have_names(void **state) {
    (void)state;
    CUfunction function = NULL;
    const tally_cuda_module *module = get("x", 2);
    assert_fails(tally_cuda_function(module, "absent", &function), TALLY_DEVICE_FAILED);
    assert_non_null(strstr(tally_last_error(), "'absent'"));
    assert_null(function);
    assert_ok(tally_cuda_function(module, "sum", &function));
    assert_non_null(function);
}

static void *get_in_thread(void *source) {
    const tally_cuda_module *module = NULL;
    return tally_cuda_module_get(cuda(), source, options, 2, &module) == TALLY_OK ? (void *)(uintptr_t)module : NULL;
}

static void of_many_threads_one_compiles(void **state) {
    (void)state;
    static char text[] = "threads";
    pthread_t threads[8];
    void *modules[8];
    compiler->milliseconds = 30;
    for (size_t k = 0; k < COUNT_OF(threads); k++)
        assert_int_equal(pthread_create(&threads[k], NULL, get_in_thread, text), 0);
    for (size_t k = 0; k < COUNT_OF(threads); k++)
        assert_int_equal(pthread_join(threads[k], &modules[k]), 0);
    assert_non_null(modules[0]);
    for (size_t k = 1; k < COUNT_OF(threads); k++)
        assert_ptr_equal(modules[k], modules[0]);
    assert_int_equal(compiler->compilations, 1);
}

static void of_many_threads_none_waits_for_a_failure(void **state) {
    (void)state;
    static char text[] = "#error";
    pthread_t threads[4];
    compiler->milliseconds = 10;
    for (size_t k = 0; k < COUNT_OF(threads); k++)
        assert_int_equal(pthread_create(&threads[k], NULL, get_in_thread, text), 0);
    for (size_t k = 0; k < COUNT_OF(threads); k++) {
        void *module;
        assert_int_equal(pthread_join(threads[k], &module), 0);
        assert_null(module);
    }
}

/* What the functions that are called next find in their memory. */
__attribute__((noinline)) static void leave_on_the_stack(int byte) {
    unsigned char memory[1 << 16];
    memset(memory, byte, sizeof memory);
    __asm__ volatile("" : : "r"(memory) : "memory");
}

static void load_all(tally_cuda_plan *plan) {
    for (unsigned k = 0; k < TALLY_CUDA_KERNELS; k++) {
        tally_cuda_wanted wanted = {.count = 0};
        tally_cuda_want(&wanted, plan, ((const tally_cuda_kernel_number *)&plan->kernels)[k]);
        assert_ok(tally_cuda_load_wanted(&wanted));
    }
}

static void make_plan(tally_op op, tally_form form, tally_grouping grouping) {
    tally_desc desc = describe(op, form, TALLY_F32);
    tally_plan *plan;
    desc.grouping = grouping;
    assert_ok(tally_plan_create(device, &desc, &plan));
    load_all((tally_cuda_plan *)plan);
    tally_plan_destroy(plan);
}

static void make_plans(int byte) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_ARGMAX, TALLY_VAR};
    for (size_t op = 0; op < COUNT_OF(ops); op++)
        for (int grouping = TALLY_ALL_VALUES; grouping <= TALLY_KEYS; grouping++)
            for (int form = TALLY_REDUCE; form <= TALLY_INCLUSIVE_SCAN; form++) {
                leave_on_the_stack(byte);
                make_plan(ops[op], (tally_form)form, (tally_grouping)grouping);
            }
}

static void kernels_are_compiled_when_they_are_wanted(void **state) {
    (void)state;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_plan *made;
    desc.grouping = TALLY_AXIS;
    assert_ok(tally_plan_create(device, &desc, &made));
    tally_cuda_plan *plan = (tally_cuda_plan *)made;
    assert_int_equal(compiler->compilations, 0);
    assert_true(tally_cuda_lacks_kernels(plan));
    for (int time = 0; time < 2; time++) {
        tally_cuda_wanted wanted = {.count = 0};
        tally_cuda_want(&wanted, plan, plan->kernels.fold_columns);
        tally_cuda_want(&wanted, plan, plan->kernels.fold_slabs);
        assert_int_equal(wanted.count, time == 0);
        assert_ok(tally_cuda_load_wanted(&wanted));
        assert_int_equal(compiler->compilations, 2);
    }
    load_all(plan);
    assert_false(tally_cuda_lacks_kernels(plan));
    tally_plan_destroy(made);
}

/* What a first run compiles; the other kernels of its plan may never be needed. */
static void a_run_compiles_the_kernels_that_it_launches(void **state) {
    static const struct {
        tally_op op;
        tally_form form;
        tally_grouping grouping;
        tally_shape shape;
        int texts;
    } runs[] = {{TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, {1, 1 << 24, 1, 0}, 2},
                {TALLY_SUM, TALLY_REDUCE, TALLY_AXIS, {1, 5000, 300, 0}, 2},
                /* pieces of segments: one folds them, one joins them */
                {TALLY_MAX, TALLY_REDUCE, TALLY_SEGMENTS, {1, 1 << 24, 1, 1000}, 2},
                /* tiles that check the offsets of their segments, and the launch that hears of it */
                {TALLY_MAX, TALLY_REDUCE, TALLY_SEGMENTS, {1, 1 << 20, 1, 5000}, 2},
                {TALLY_MAX, TALLY_REDUCE, TALLY_SEGMENTS, {1, 1 << 24, 1, 100000}, 4},
                /* those of its offsets are there */
                {TALLY_MIN, TALLY_REDUCE, TALLY_SEGMENTS, {1, 1 << 24, 1, 100000}, 2},
                {TALLY_SUM, TALLY_REDUCE, TALLY_KEYS, {1, 1 << 24, 1, 0}, 3},
                {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, {1, 1 << 26, 1, 0}, 1},
                {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, {1, 1 << 10, 1, 0}, 1},
                {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_AXIS, {1, 5000, 300, 0}, 1}};
    (void)state;
    for (size_t k = 0; k < COUNT_OF(runs); k++) {
        tally_desc desc = describe(runs[k].op, runs[k].form, TALLY_F32);
        tally_args args = TALLY_ARGS_INIT;
        tally_cuda_wanted wanted = {.count = 0};
        tally_cuda_cut cut;
        tally_plan *plan;
        const int before = compiler->compilations;
        desc.grouping = runs[k].grouping;
        args.shape = runs[k].shape;
        args.out_bytes = 1 << 30;
        assert_ok(tally_plan_create(device, &desc, &plan));
        tally_cuda_cut_make((tally_cuda_plan *)plan, &args.shape, &cut);
        const tally_cuda_launch launch = {
            .plan = (tally_cuda_plan *)plan, .args = &args, .cut = &cut, .wanted = &wanted};
        assert_ok(tally_cuda_launch_all(&launch));
        assert_ok(tally_cuda_load_wanted(&wanted));
        if (compiler->compilations - before != runs[k].texts)
            fail_msg("run %zu compiled %d texts", k, compiler->compilations - before);
        tally_plan_destroy(plan);
    }
}

/* Their texts must follow from the computation alone. */
static void kernels_of_computations_are_found_on_disk(void **state) {
    (void)state;
    make_plans(0x11);
    const int once = compiler->compilations;
    assert_true(once > 0);
    open_again();
    make_plans(0xee);
    assert_int_equal(compiler->compilations, once);
}

/* With what the build's own program makes of them. */
static void the_commonest_computations_are_prebuilt(void **state) {
    char command[2 * PATH_MAX];
    snprintf(command, sizeof command, "'%s' '%s' 90", PREBUILD, (const char *)*state);
    assert_int_equal(system(command), 0);
    setenv("TALLY_CACHE", "0", 1);
    setenv("TALLY_PREBUILT_DIR", *state, 1);
    for (int grouping = TALLY_ALL_VALUES; grouping <= TALLY_KEYS; grouping++) {
        make_plan(TALLY_SUM, TALLY_REDUCE, (tally_grouping)grouping);
        make_plan(TALLY_ARGMAX, TALLY_REDUCE, (tally_grouping)grouping);
    }
    make_plan(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES);
    make_plan(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_AXIS);
    assert_int_equal(compiler->compilations, 0);
    make_plan(TALLY_PROD, TALLY_REDUCE, TALLY_ALL_VALUES);
    assert_true(compiler->compilations > 0);
    unsetenv("TALLY_PREBUILT_DIR");
}

/* ---- several sources ---- */

static const char *const three[] = {"one", "two", "three"};

static int threads_of_process(void) {
    return files_in("/proc/self/task", "");
}

/* A thread that has been joined may be listed for a moment more. */
static void assert_no_thread_is_left(int before) {
    for (int k = 0; k < 1000 && threads_of_process() > before; k++)
        usleep(1000);
    assert_int_equal(threads_of_process(), before);
}

static void get_three(const char *const sources[3], const tally_cuda_module *modules[3]) {
    assert_ok(tally_cuda_modules_get(cuda(), sources, 3, options, 2, modules));
    for (int k = 0; k < 3; k++)
        assert_ptr_equal(modules[k], get(sources[k], 2));
}

static void several_are_compiled_side_by_side(void **state) {
    const tally_cuda_module *modules[3];
    const int threads = threads_of_process();
    compiler->meeting = 3;
    get_three(three, modules);
    assert_int_equal(compiler->most_running, 3);
    assert_int_equal(compiler->compilations, 3);
    assert_int_equal(files_in(*state, ""), 3);
    for (int k = 0; k < 3; k++)
        assert_ptr_not_equal(modules[k], modules[(k + 1) % 3]);
    assert_no_thread_is_left(threads);
}

static void one_after_the_other(void) {
    const tally_cuda_module *modules[3];
    compiler->milliseconds = 2;
    get_three(three, modules);
    assert_int_equal(compiler->most_running, 1);
    assert_int_equal(compiler->compilations, 3);
}

static void on_the_calling_thread_if_there_is_to_be_one(void **state) {
    (void)state;
    setenv("TALLY_THREADS", "1", 1);
    one_after_the_other();
}

static void on_the_calling_thread_if_there_is_one_core(void **state) {
    (void)state;
    cpu_set_t all, one;
    unsetenv("TALLY_THREADS");
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    one_after_the_other();
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void on_the_calling_thread_if_there_are_no_threads(void **state) {
    (void)state;
    threads_are_refused = true;
    one_after_the_other();
}

static void what_is_there_is_not_compiled(void **state) {
    (void)state;
    const tally_cuda_module *modules[3];
    get("two", 2);
    open_again();
    get("one", 2);
    get_three(three, modules);
    assert_int_equal(compiler->compilations, 3);
    assert_int_equal(driver->loads, 4);
}

static void the_same_twice_is_one(void **state) {
    (void)state;
    static const char *const sources[] = {"one", "two", "one"};
    const tally_cuda_module *modules[3];
    get_three(sources, modules);
    assert_ptr_equal(modules[0], modules[2]);
    assert_int_equal(compiler->compilations, 2);
}

static void of_several_failures_the_first_is_told(void **state) {
    static const char *const sources[] = {"x", "#error one", "#error two"};
    const tally_cuda_module *modules[3] = {NULL};
    const int threads = threads_of_process();
    for (int most = 1; most <= 3; most += 2) {
        setenv("TALLY_THREADS", most == 1 ? "1" : "3", 1);
        compiler->meeting = most;
        assert_fails(tally_cuda_modules_get(cuda(), sources, 3, options, 2, modules), TALLY_INVALID_ARGUMENT);
        assert_non_null(strstr(tally_last_error(), "tally.cu(1): error: #error one as it was told"));
        assert_null(strstr(tally_last_error(), "two"));
        assert_no_thread_is_left(threads);
    }
    assert_null(modules[0]);
    assert_int_equal(files_in(*state, ""), 0);
    assert_int_equal(driver->modules, 0);
    get("x", 2);
}

static void memory_that_one_lacks_fails_all(void **state) {
    (void)state;
    static const char *const sources[] = {"x", "#memory", "y"};
    const tally_cuda_module *modules[3] = {NULL};
    assert_fails(tally_cuda_modules_get(cuda(), sources, 3, options, 2, modules), TALLY_OUT_OF_MEMORY);
    assert_null(modules[0]);
    get_three(three, modules);
}

static void what_the_driver_refuses_fails_all(void **state) {
    (void)state;
    const tally_cuda_module *modules[3] = {NULL};
    driver->images_to_refuse = 1;
    assert_fails(tally_cuda_modules_get(cuda(), three, 3, options, 2, modules), TALLY_DEVICE_FAILED);
    assert_null(modules[0]);
    get_three(three, modules);
}

/* The last is of another order: whoever waited while he has something to make would wait for ever. */
static const char *const orders[][3] = {
    {"a", "b", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"c", "b", "a"}, {"a", "#error", "b"}};

static void *get_order_in_thread(void *order) {
    const tally_cuda_module *modules[3];
    return tally_cuda_modules_get(cuda(), order, 3, options, 2, modules) == TALLY_OK ? order : NULL;
}

static void threads_with_sources_in_common_finish(void **state) {
    (void)state;
    pthread_t threads[COUNT_OF(orders)];
    compiler->milliseconds = 5;
    for (size_t k = 0; k < COUNT_OF(orders); k++)
        assert_int_equal(pthread_create(&threads[k], NULL, get_order_in_thread, (void *)orders[k]), 0);
    for (size_t k = 0; k < COUNT_OF(orders); k++) {
        void *made;
        assert_int_equal(pthread_join(threads[k], &made), 0);
        assert_ptr_equal(made, k + 1 < COUNT_OF(orders) ? orders[k] : NULL);
    }
    assert_int_equal(driver->modules, 3);
}

int main(void) {
    use_the_stand_ins();
    driver = driver_state();
    compiler = compiler_state();
#define ON_A_DEVICE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        ON_A_DEVICE(kept_in_memory),
        ON_A_DEVICE(kept_on_disk),
        ON_A_DEVICE(another_architecture_is_another_kernel),
        ON_A_DEVICE(a_gpu_newer_than_the_compiler_gets_ptx),
        ON_A_DEVICE(a_gpu_older_than_the_compiler_is_refused),
        ON_A_DEVICE(a_damaged_file_is_compiled_again),
        ON_A_DEVICE(what_the_driver_refuses_is_compiled_once_more),
        ON_A_DEVICE(what_is_prebuilt_is_not_compiled),
        ON_A_DEVICE(what_is_prebuilt_badly_is_compiled),
        ON_A_DEVICE(without_a_folder_all_goes_on),
        ON_A_DEVICE(what_does_not_compile_says_why),
        ON_A_DEVICE(functions_have_names),
        ON_A_DEVICE(of_many_threads_one_compiles),
        ON_A_DEVICE(of_many_threads_none_waits_for_a_failure),
        ON_A_DEVICE(kernels_of_computations_are_found_on_disk),
        ON_A_DEVICE(kernels_are_compiled_when_they_are_wanted),
        ON_A_DEVICE(a_run_compiles_the_kernels_that_it_launches),
        ON_A_DEVICE(the_commonest_computations_are_prebuilt),
        ON_A_DEVICE(several_are_compiled_side_by_side),
        ON_A_DEVICE(on_the_calling_thread_if_there_is_to_be_one),
        ON_A_DEVICE(on_the_calling_thread_if_there_is_one_core),
        ON_A_DEVICE(on_the_calling_thread_if_there_are_no_threads),
        ON_A_DEVICE(what_is_there_is_not_compiled),
        ON_A_DEVICE(the_same_twice_is_one),
        ON_A_DEVICE(of_several_failures_the_first_is_told),
        ON_A_DEVICE(memory_that_one_lacks_fails_all),
        ON_A_DEVICE(what_the_driver_refuses_fails_all),
        ON_A_DEVICE(threads_with_sources_in_common_finish),
    };
    return cmocka_run_group_tests_name("CUDA modules", tests, NULL, NULL);
}
