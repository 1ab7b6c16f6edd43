/* A device serves any number of threads, each with plans of its own; they do not disturb each other, and each thread
 * has its own last error. Run under the thread sanitizer this also shows that nothing races. */
#include "support.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60, N = 200000 };
static int32_t x[N];
static int64_t offsets[N / 100 + 1];

typedef struct worker {
    pthread_t thread;
    tally_device *device;
    int number;
    char failure[200]; /* cmocka's assertions are for its own thread */
} worker;

static void complain(worker *w, const char *what) {
    snprintf(w->failure, sizeof w->failure, "thread %d: %s: %s", w->number, what, tally_last_error());
}

static int64_t expected_sum(size_t n) {
    int64_t sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += x[k];
    return sum;
}

/* Sums, scans and segments of sizes above and below the threshold of threading, some of them refused. */
static void *work(void *argument) {
    worker *w = argument;
    static const size_t sizes[] = {0, 1, 17, 1000, 30000, N};
    int64_t *out = malloc(N * sizeof *out);
    tally_plan *sum, *scan, *segments;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
    bool made = out && tally_plan_create(w->device, &desc, &sum) == TALLY_OK;
    desc.grouping = TALLY_SEGMENTS;
    made = made && tally_plan_create(w->device, &desc, &segments) == TALLY_OK;
    desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I32);
    made = made && tally_plan_create(w->device, &desc, &scan) == TALLY_OK;
    if (!made) {
        complain(w, "no plan");
        return NULL;
    }
    for (int round = 0; round < ROUNDS && !w->failure[0]; round++) {
        size_t n = sizes[(size_t)(round + w->number) % COUNT_OF(sizes)];
        int64_t total = expected_sum(n), got = -1;
        tally_args args = arguments(x, n, &got, sizeof got);
        if (tally_run(sum, &args, TALLY_SYNCHRONOUS) != TALLY_OK || got != total)
            complain(w, "wrong sum");
        args = arguments(x, n, out, n * sizeof *out);
        if (tally_run(scan, &args, TALLY_SYNCHRONOUS) != TALLY_OK || (n && out[n - 1] != total))
            complain(w, "wrong scan");
        args = arguments(x, N, out, sizeof *out * (N / 100));
        args.shape.groups = N / 100;
        args.offsets = offsets;
        if (tally_run(segments, &args, TALLY_SYNCHRONOUS) != TALLY_OK || out[0] != expected_sum(100))
            complain(w, "wrong segments");
        /* An error of this thread, with words of its own. */
        char type[32];
        snprintf(type, sizeof type, "nothing%d", w->number);
        tally_dtype none;
        if (tally_dtype_from_name(type, &none) != TALLY_INVALID_ARGUMENT || !strstr(tally_last_error(), type))
            complain(w, "another thread's error");
    }
    tally_plan_destroy(sum);
    tally_plan_destroy(scan);
    tally_plan_destroy(segments);
    free(out);
    return NULL;
}

static void run_workers(tally_device *device, void *(*function)(void *)) {
    worker workers[THREADS];
    memset(workers, 0, sizeof workers);
    for (int k = 0; k < THREADS; k++) {
        workers[k].device = device;
        workers[k].number = k;
        assert_int_equal(pthread_create(&workers[k].thread, NULL, function, &workers[k]), 0);
    }
    for (int k = 0; k < THREADS; k++)
        pthread_join(workers[k].thread, NULL);
    for (int k = 0; k < THREADS; k++)
        if (workers[k].failure[0])
            fail_msg("%s", workers[k].failure);
}

static void threads_with_their_own_plans_on_one_device(void **state) {
    run_workers(*state, work);
}

static void *use_the_simple_layer(void *argument) {
    worker *w = argument;
    for (int round = 0; round < ROUNDS && !w->failure[0]; round++) {
        int64_t sum = 0;
        size_t n = round % 2 ? N : 100;
        if (tally_sum_i32(x, n, &sum) != TALLY_OK || sum != expected_sum(n))
            complain(w, "tally_sum_i32");
    }
    return NULL;
}

static void threads_in_the_simple_layer(void **state) {
    run_workers(*state, use_the_simple_layer);
}

static void *open_and_close(void *argument) {
    worker *w = argument;
    for (int round = 0; round < 20 && !w->failure[0]; round++) {
        tally_device *device;
        if (tally_open("cpu:threads=2", &device) != TALLY_OK) {
            complain(w, "tally_open");
            break;
        }
        int64_t sum = 0;
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
        tally_args args = arguments(x, N, &sum, sizeof sum);
        if (run_desc(device, &desc, &args) != TALLY_OK || sum != expected_sum(N))
            complain(w, "sum on a device of its own");
        tally_close(device);
    }
    return NULL;
}

static void threads_with_devices_of_their_own(void **state) {
    run_workers(*state, open_and_close);
}

static void the_last_error_is_never_null(void **state) {
    (void)state;
    assert_non_null(tally_last_error());
}

static int setup(void **state) {
    for (int k = 0; k < N; k++)
        x[k] = k % 1013 - 500;
    for (int g = 0; g <= N / 100; g++)
        offsets[g] = 100 * (int64_t)g;
    return open_test_device(state);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_error_is_never_null),
        cmocka_unit_test(threads_with_their_own_plans_on_one_device),
        cmocka_unit_test(threads_in_the_simple_layer),
        cmocka_unit_test(threads_with_devices_of_their_own),
    };
    return cmocka_run_group_tests_name("threads", tests, setup, close_test_device);
}
