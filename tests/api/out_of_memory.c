/* A device that runs out of memory returns TALLY_OUT_OF_MEMORY and stays usable. The linker replaces the allocator for
 * the library's own calls by the functions below (-Wl,--wrap). They fail the n-th allocation, for each n in turn, until
 * a device, a plan and a run succeed. Then the same with a limit on the address space. */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

static long allowed = -1; /* allocations until one fails; negative: all succeed */
static long made;

static bool fails(void) {
    __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    long before = __atomic_load_n(&allowed, __ATOMIC_RELAXED);
    return before >= 0 && __atomic_fetch_sub(&allowed, 1, __ATOMIC_RELAXED) == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);

void *__wrap_malloc(size_t bytes) {
    return fails() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes) {
    return fails() ? NULL : __real_calloc(count, bytes);
}
void *__wrap_realloc(void *memory, size_t bytes) {
    return fails() ? NULL : __real_realloc(memory, bytes);
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
    return fails() ? ENOMEM : __real_posix_memalign(memory, alignment, bytes);
}
/* A thread that cannot be started is like memory that cannot be allocated: fewer threads do the work, or it fails
 * cleanly. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    return fails() ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}

enum { N = 300000, SEGMENTS = 3000, UNTOUCHED = 0x5a };
static float x[N], out[N];
static int64_t offsets[SEGMENTS + 1], keys[N];

typedef struct life {
    tally_op op;
    tally_form form;
    tally_grouping grouping;
    tally_mode mode;
    bool in_pieces;
} life;

static tally_args life_arguments(const life *l) {
    tally_args args = arguments(x, N, out, sizeof out);
    if (l->grouping == TALLY_AXIS)
        args.shape = (tally_shape){1, 50, 1500, 0};
    if (l->grouping == TALLY_SEGMENTS) {
        args.shape.extent = N / 2;
        args.shape.groups = SEGMENTS;
        args.offsets = offsets;
    }
    if (l->grouping == TALLY_KEYS) {
        args.shape.extent = N / 2;
        args.keys = keys;
    }
    if (l->grouping == TALLY_LABELS) {
        args.shape.groups = N;
        args.labels = keys;
    }
    return args;
}

static tally_status deliver(tally_plan *plan, const life *l, const tally_args *args) {
    if (!l->in_pieces)
        return tally_run(plan, args, TALLY_SYNCHRONOUS);
    tally_status status = tally_push(plan, args);
    return status != TALLY_OK ? status : tally_finish(plan, out, sizeof out);
}

/* Opens, uses and closes a device; returns the first failure. */
static tally_status live(const life *l) {
    tally_device *device;
    tally_plan *plan;
    tally_status status = tally_open("cpu:threads=3", &device);
    if (status != TALLY_OK)
        return status;
    tally_desc desc = describe(l->op, l->form, TALLY_F32);
    desc.grouping = l->grouping;
    desc.mode = l->mode;
    desc.flags = l->grouping == TALLY_LABELS ? TALLY_SKIP_BAD_LABELS : 0;
    tally_args args = life_arguments(l);
    status = tally_plan_create(device, &desc, &plan);
    if (status == TALLY_OK) {
        memset(out, UNTOUCHED, sizeof out);
        status = deliver(plan, l, &args);
        if (status == TALLY_OUT_OF_MEMORY) {
            for (size_t k = 0; k < sizeof out; k++)
                if (((unsigned char *)out)[k] != UNTOUCHED)
                    fail_msg("%s/%s: byte %zu was written before it ran out of memory", tally_op_name(l->op),
                             tally_grouping_name(l->grouping), k);
            /* With memory again, the same plan on the same device gives the result. */
            __atomic_store_n(&allowed, -1, __ATOMIC_RELAXED);
            tally_reset(plan);
            if (deliver(plan, l, &args) != TALLY_OK)
                fail_msg("%s/%s: not usable after it ran out of memory: %s", tally_op_name(l->op),
                         tally_grouping_name(l->grouping), tally_last_error());
        }
        tally_plan_destroy(plan);
    } else if (status == TALLY_OUT_OF_MEMORY) {
        __atomic_store_n(&allowed, -1, __ATOMIC_RELAXED);
        assert_ok(tally_plan_create(device, &desc, &plan));
        assert_ok(deliver(plan, l, &args));
        tally_plan_destroy(plan);
    }
    tally_close(device);
    return status;
}

static void fail_each_allocation_in_turn(const life *l) {
    __atomic_store_n(&allowed, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&made, 0, __ATOMIC_RELAXED);
    assert_ok(live(l));
    long total = made;
    assert_in_range(total, 1, 2000);
    for (long n = 0; n < total; n++) {
        __atomic_store_n(&allowed, n, __ATOMIC_RELAXED);
        tally_status status = live(l);
        __atomic_store_n(&allowed, -1, __ATOMIC_RELAXED);
        /* Some allocations are optional (a second thread, say). */
        if (status != TALLY_OUT_OF_MEMORY && status != TALLY_OK)
            fail_msg("%s/%s/%s: allocation %ld of %ld failed and gave %s: %s", tally_op_name(l->op),
                     tally_grouping_name(l->grouping), tally_form_name(l->form), n, total, tally_status_name(status),
                     tally_last_error());
    }
    /* Makes sure that the count above was the library's: its very first allocation is not optional. */
    __atomic_store_n(&allowed, 0, __ATOMIC_RELAXED);
    assert_status(live(l), TALLY_OUT_OF_MEMORY);
    __atomic_store_n(&allowed, -1, __ATOMIC_RELAXED);
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    static const life lives[] = {
        {TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST, false},
        {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, false},
        {TALLY_MAX, TALLY_EXCLUSIVE_SCAN, TALLY_AXIS, TALLY_FAST, false},
        {TALLY_VAR, TALLY_REDUCE, TALLY_AXIS, TALLY_FAST, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_SEGMENTS, TALLY_FAST, false},
        {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_SEGMENTS, TALLY_FAST, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_KEYS, TALLY_FAST, false},
        {TALLY_ARGMAX, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_EXACT, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_AXIS, TALLY_EXACT, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_SEGMENTS, TALLY_EXACT, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_KEYS, TALLY_EXACT, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_LABELS, TALLY_FAST, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_LABELS, TALLY_EXACT, false},
        {TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST, true},
        {TALLY_SUM, TALLY_REDUCE, TALLY_AXIS, TALLY_FAST, true},
        {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_AXIS, TALLY_FAST, true},
        {TALLY_SUM, TALLY_REDUCE, TALLY_AXIS, TALLY_EXACT, true},
    };
    for (size_t k = 0; k < COUNT_OF(lives); k++)
        fail_each_allocation_in_turn(&lives[k]);
}

static void accumulators_may_run_out_too(void **state) {
    (void)state;
    for (long n = 0; n < 20; n++) {
        tally_accumulator *a = NULL, *b = NULL;
        unsigned char saved[TALLY_ACCUMULATOR_MAX_BYTES];
        size_t bytes;
        __atomic_store_n(&allowed, n, __ATOMIC_RELAXED);
        tally_status status = tally_accumulator_create(TALLY_SUM, TALLY_F32, &a);
        if (status == TALLY_OK) {
            status = tally_accumulator_add(a, x, NULL, 1000);
            if (status == TALLY_OK)
                status = tally_accumulator_save(a, saved, sizeof saved, &bytes);
            if (status == TALLY_OK)
                status = tally_accumulator_load(saved, bytes, &b);
        }
        __atomic_store_n(&allowed, -1, __ATOMIC_RELAXED);
        assert_true(status == TALLY_OK || status == TALLY_OUT_OF_MEMORY);
        if (n == 0)
            assert_int_equal(status, TALLY_OUT_OF_MEMORY);
        tally_accumulator_destroy(a);
        tally_accumulator_destroy(b);
    }
}

static void more_than_there_is(void **state) {
    (void)state;
    tally_device *device;
    assert_ok(tally_open("cpu", &device));
    void *const untouched = (void *)(uintptr_t)0x5eed;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, (size_t)1 << 50};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        void *memory = untouched;
        assert_fails(tally_alloc(device, sizes[k], &memory), TALLY_OUT_OF_MEMORY);
        assert_ptr_equal(memory, untouched);
    }
    float sum = 0;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_args args = arguments(x, N, &sum, sizeof sum);
    assert_ok(run_desc(device, &desc, &args));
    tally_close(device);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED /* whose shadow memory is larger than any limit */
static void under_a_limit_of_the_address_space(void **state) {
    (void)state;
    tally_device *device;
    struct rlimit before, limited;
    assert_ok(tally_open("cpu:threads=2", &device));
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limited = before;
    limited.rlim_cur = (rlim_t)400 << 20;
    assert_int_equal(setrlimit(RLIMIT_AS, &limited), 0);
    void *held[64];
    size_t count = 0;
    tally_status status;
    while ((status = tally_alloc(device, 32 << 20, &held[count])) == TALLY_OK && count < COUNT_OF(held) - 1)
        count++;
    float sum = 0;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_args args = arguments(x, N, &sum, sizeof sum);
    tally_status small = run_desc(device, &desc, &args);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(status, TALLY_OUT_OF_MEMORY);
    assert_true(small == TALLY_OK || small == TALLY_OUT_OF_MEMORY);
    for (size_t k = 0; k < count; k++)
        tally_free(device, held[k]);
    assert_ok(run_desc(device, &desc, &args));
    tally_close(device);
}
#endif

static int setup(void **state) {
    (void)state;
    for (int k = 0; k < N; k++) {
        x[k] = (float)(k % 5);
        keys[k] = k / 60;
    }
    for (int g = 0; g <= SEGMENTS; g++)
        offsets[g] = (int64_t)g * (N / 2) / SEGMENTS;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_there_is),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(accumulators_may_run_out_too),
#ifndef SANITIZED
        cmocka_unit_test(under_a_limit_of_the_address_space),
#endif
    };
    return cmocka_run_group_tests_name("out of memory", tests, setup, NULL);
}
