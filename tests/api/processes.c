/* The library works in a process that forks, with or without a running job, ends in the middle of calls, calls dlclose,
 * or receives signals, which the library's threads do not handle. */
#define _GNU_SOURCE
#include "support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1 << 20, THREADS = 4, CHILDREN = 20, LIMIT_S = 30 };
static double x[N];

static tally_plan *plan_of_sum(tally_device *device) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    tally_plan *plan = NULL;
    return tally_plan_create(device, &desc, &plan) == TALLY_OK ? plan : NULL;
}

static double sum_of(tally_plan *plan) {
    double sum = -1;
    tally_args args = arguments(x, N, &sum, sizeof sum);
    return tally_run(plan, &args, TALLY_SYNCHRONOUS) == TALLY_OK ? sum : -1;
}

/* Calls 'see' with the number of every thread of this process except the first, and returns how many there are. */
static int other_threads(void (*see)(int thread, void *context), void *context) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder));) {
        const int thread = atoi(entry->d_name);
        if (thread <= 0 || thread == getpid())
            continue;
        count++;
        if (see)
            see(thread, context);
    }
    closedir(folder);
    return count;
}

static int status_of(pid_t child) {
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

/* With threads of its own; then closes the parent's devices. */
static void assert_a_child_computes(tally_device *device, tally_plan *plan, double sum) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(LIMIT_S);
        const bool same = sum_of(plan) == sum, all = other_threads(NULL, NULL) == THREADS - 1;
        tally_plan_destroy(plan);
        tally_close(device);
        _exit(!same + 2 * !all);
    }
    assert_int_equal(status_of(child), 0);
}

static void a_child_of_fork_starts_threads_of_its_own(void **state) {
    (void)state;
    tally_device *device;
    assert_ok(tally_open("cpu:threads=4", &device));
    tally_plan *plan = plan_of_sum(device);
    assert_non_null(plan);
    const double sum = sum_of(plan);
    assert_int_equal(other_threads(NULL, NULL), THREADS - 1);
    assert_a_child_computes(device, plan, sum);
    assert_true(sum_of(plan) == sum);
    tally_plan_destroy(plan);
    tally_close(device);
}

static void a_child_closes_what_its_parent_opened(void **state) {
    (void)state;
    for (int k = 0; k < CHILDREN; k++) {
        tally_device *device;
        assert_ok(tally_open("cpu:threads=4", &device));
        tally_plan *plan = plan_of_sum(device);
        assert_true(sum_of(plan) >= 0);
        const pid_t child = fork();
        if (child == 0) {
            alarm(LIMIT_S);
            tally_plan_destroy(plan);
            tally_close(device);
            _exit(0);
        }
        assert_int_equal(status_of(child), 0);
        tally_plan_destroy(plan);
        tally_close(device);
    }
}

static atomic_bool stop;

static void *compute(void *device) {
    tally_plan *plan = plan_of_sum(device);
    while (!atomic_load(&stop))
        sum_of(plan);
    tally_plan_destroy(plan);
    return NULL;
}

static void a_fork_in_the_middle_of_another_threads_job(void **state) {
    (void)state;
    tally_device *device;
    pthread_t thread;
    assert_ok(tally_open("cpu:threads=4", &device));
    tally_plan *plan = plan_of_sum(device);
    const double sum = sum_of(plan);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, compute, device), 0);
    for (int k = 0; k < CHILDREN; k++)
        assert_a_child_computes(device, plan, sum);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    tally_plan_destroy(plan);
    tally_close(device);
}

static void *compute_simply(void *none) {
    for (double sum; tally_sum_f64(x, N / 16, &sum) == TALLY_OK;)
        ;
    return none;
}

/* Each in a process of its own, which has not called before. */
static void a_fork_in_the_middle_of_another_threads_first_call(void **state) {
    (void)state;
    for (int k = 0; k < 10 * CHILDREN; k++) {
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            double sum;
            alarm(LIMIT_S);
            if (pthread_create(&thread, NULL, compute_simply, NULL) != 0)
                _exit(1);
            for (int wait = 0; wait < 1000 * (k % CHILDREN); wait++)
                atomic_load(&stop);
            const pid_t grandchild = fork();
            alarm(LIMIT_S);
            if (grandchild == 0)
                _exit(tally_sum_f64(x, 16, &sum) != TALLY_OK);
            int status = -1;
            _exit(waitpid(grandchild, &status, 0) != grandchild || status != 0);
        }
        assert_int_equal(status_of(child), 0);
    }
}

static void a_process_ends_in_the_middle_of_calls(void **state) {
    (void)state;
    for (int k = 0; k < 10 * CHILDREN; k++) {
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            alarm(LIMIT_S);
            for (int t = 0; t < THREADS; t++) {
                pthread_t thread;
                if (pthread_create(&thread, NULL, compute_simply, NULL) != 0)
                    _exit(1);
            }
            usleep(2000);
            exit(0);
        }
        assert_int_equal(status_of(child), 0);
    }
}

static void dlclose_leaves_the_library_to_its_threads(void **state) {
    (void)state;
    void *library = dlopen(TALLY_SHARED, RTLD_NOW);
    if (!library)
        fail_msg("%s", dlerror());
    tally_status (*sum_f64)(const double *, size_t, double *);
    *(void **)&sum_f64 = dlsym(library, "tally_sum_f64");
    double sum;
    assert_non_null(sum_f64);
    assert_int_equal(sum_f64(x, N, &sum), TALLY_OK);
    assert_int_equal(dlclose(library), 0);
    assert_ptr_equal(dlopen(TALLY_SHARED, RTLD_NOW | RTLD_NOLOAD), library);
    assert_int_equal(sum_f64(x, N, &sum), TALLY_OK);
}

static uint64_t blocked_by(int thread) {
    char path[64], line[128];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
    if (file)
        fclose(file);
    return blocked;
}

static void join_blocked(int thread, void *all) {
    *(uint64_t *)all &= blocked_by(thread);
}

static uint64_t bit_of(int signal_number) {
    return UINT64_C(1) << (signal_number - 1);
}

static void signals_are_for_the_programs_threads(void **state) {
    (void)state;
    tally_device *device;
    sigset_t before, after;
    assert_ok(tally_open("cpu:threads=4", &device));
    tally_plan *plan = plan_of_sum(device);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    sum_of(plan);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++)
        assert_int_equal(sigismember(&before, number), sigismember(&after, number));
    const uint64_t theirs = bit_of(SIGINT) | bit_of(SIGTERM) | bit_of(SIGALRM) | bit_of(SIGCHLD) | bit_of(SIGUSR1);
    const uint64_t faults = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE);
    uint64_t blocked = faults;
    for (int k = 0; k < 1000 * LIMIT_S && (blocked & faults); k++) { /* a thread begins with everything blocked */
        usleep(1000);
        blocked = UINT64_MAX;
        assert_true(other_threads(join_blocked, &blocked) >= THREADS - 1);
    }
    assert_int_equal(blocked & (theirs | faults), theirs);
    tally_plan_destroy(plan);
    tally_close(device);
}

int main(void) {
    for (int k = 0; k < N; k++)
        x[k] = k % 1000;
    /* The first test must be the only thread in the process; the threads of the simple layer and of the loaded library
     * stay. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_of_fork_starts_threads_of_its_own),
        cmocka_unit_test(a_child_closes_what_its_parent_opened),
        cmocka_unit_test(a_fork_in_the_middle_of_another_threads_job),
        cmocka_unit_test(signals_are_for_the_programs_threads),
        cmocka_unit_test(a_fork_in_the_middle_of_another_threads_first_call),
        cmocka_unit_test(a_process_ends_in_the_middle_of_calls),
        cmocka_unit_test(dlclose_leaves_the_library_to_its_threads),
    };
    return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
