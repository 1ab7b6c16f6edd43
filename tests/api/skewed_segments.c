/* Segments may be empty and of any skew: hundreds of thousands of empty ones in one place, beside segments of one
 * element and of all, with offsets checked before and while running. */
#include "support.h"

enum { N = 50000, EMPTY = 300000, MOST = N + EMPTY + 10 };
static int32_t x[N];
static int64_t offsets[MOST + 1], sums[MOST];
static uint64_t segments, elements = N;

typedef struct device_memory {
    tally_device *device;
    void *x, *offsets, *out;
} device_memory;

static void cut_at(int64_t offset) {
    int64_t sum = 0;
    for (uint64_t k = (uint64_t)offsets[segments]; k < (uint64_t)offset; k++)
        sum += x[k];
    sums[segments] = sum;
    offsets[++segments] = offset;
}

static void cut_every(int64_t length, int64_t end) {
    for (int64_t at = offsets[segments] + length; at <= end; at += length)
        cut_at(at);
}

/* The first segment begins at 'first'. */
static void start(int64_t first) {
    segments = 0;
    offsets[0] = first;
}

static void zero(void *context, void *acc) {
    (void)context;
    memset(acc, 0, sizeof(int64_t));
}

static void widened(void *context, const void *element, uint64_t index, void *acc) {
    int32_t value;
    (void)context;
    (void)index;
    memcpy(&value, element, sizeof value);
    memcpy(acc, &(int64_t){value}, sizeof(int64_t));
}

static void sum_of_two(void *context, const void *left, const void *right, void *acc) {
    int64_t a, b;
    (void)context;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    a += b;
    memcpy(acc, &a, sizeof a);
}

static void as_it_is(void *context, const void *acc, uint64_t count, void *out) {
    (void)context;
    (void)count;
    memcpy(out, acc, sizeof(int64_t));
}

static const tally_user_op sum_of_a_user = {.struct_size = sizeof(tally_user_op),
                                            .name = "sum",
                                            .acc_bytes = sizeof(int64_t),
                                            .identity = zero,
                                            .lift = widened,
                                            .combine = sum_of_two,
                                            .lower = as_it_is,
                                            .acc_source = "struct acc_t { long long sum; };",
                                            .identity_source = "acc_t{0}",
                                            .lift_source = "acc_t{x}",
                                            .combine_source = "acc_t{left.sum + right.sum}",
                                            .lower_source = "acc.sum"};

/* The library's sums, with offsets checked before and while running, and those of an operator that does not commute. */
static void expect_sums(device_memory *m) {
    static int64_t out[MOST + 1];
    for (int way = 0; way < 3; way++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
        desc.grouping = TALLY_SEGMENTS;
        desc.flags = way == 1 ? TALLY_CHECK_WHILE_RUNNING : 0;
        if (way == 2) {
            desc.op = TALLY_USER;
            desc.user = &sum_of_a_user;
            desc.out = TALLY_I64;
        }
        tally_args args = arguments(m->x, elements, m->out, segments * sizeof *out);
        args.shape.groups = segments;
        args.offsets = m->offsets;
        memset(out, 0x5a, sizeof out);
        assert_ok(tally_copy(m->device, m->out, out, sizeof out));
        assert_ok(tally_copy(m->device, m->offsets, offsets, (segments + 1) * sizeof *offsets));
        assert_ok(run_desc(m->device, &desc, &args));
        assert_ok(tally_copy(m->device, out, m->out, sizeof out));
        for (uint64_t g = 0; g < segments; g++)
            if (out[g] != sums[g])
                fail_msg("segment %llu of %llu, way %d: %lld instead of %lld", (unsigned long long)g,
                         (unsigned long long)segments, way, (long long)out[g], (long long)sums[g]);
        assert_int_equal(out[segments], 0x5a5a5a5a5a5a5a5a);
    }
}

static void empty_ones_at_the_begin(void **state) {
    start(0);
    for (int k = 0; k < EMPTY; k++)
        cut_at(0);
    cut_every(7, N);
    expect_sums(*state);
}

static void empty_ones_in_the_middle(void **state) {
    start(3);
    cut_every(1, N / 2);
    for (int k = 0; k < EMPTY; k++)
        cut_at(N / 2);
    cut_at(N - 5);
    expect_sums(*state);
}

static void empty_ones_at_the_end(void **state) {
    start(0);
    cut_at(N);
    for (int k = 0; k < EMPTY; k++)
        cut_at(N);
    expect_sums(*state);
}

static void empty_ones_between_any_two_elements(void **state) {
    start(100);
    for (int64_t at = 100; at < 400; at++) {
        for (int k = 0; k < EMPTY / 300; k++)
            cut_at(at);
        cut_at(at + 1);
    }
    cut_at(N);
    expect_sums(*state);
}

static void nothing_but_empty_ones(void **state) {
    start(N / 3);
    for (int k = 0; k < EMPTY; k++)
        cut_at(N / 3);
    expect_sums(*state);
}

static void of_no_elements(void **state) {
    elements = 0;
    start(0);
    for (int k = 0; k < 1000; k++)
        cut_at(0);
    expect_sums(*state);
    elements = N;
}

/* Powers of two and their neighbours, as kernels cut the input. */
static void of_every_length(void **state) {
    static const int64_t lengths[] = {1, 2, 3, 31, 32, 33, 63, 64, 65, 1000, 1023, 2048, 4095, 4096, 4097, 8192, N};
    for (size_t k = 0; k < COUNT_OF(lengths); k++) {
        start(0);
        cut_every(lengths[k], N);
        expect_sums(*state);
        start(1);
        cut_every(lengths[k], N);
        expect_sums(*state);
    }
}

static int setup(void **state) {
    static device_memory m;
    for (int k = 0; k < N; k++)
        x[k] = k % 2003 - 1000;
    if (open_test_device((void **)&m.device) != 0 || tally_alloc(m.device, sizeof x, &m.x) != TALLY_OK ||
        tally_alloc(m.device, sizeof offsets, &m.offsets) != TALLY_OK ||
        tally_alloc(m.device, (MOST + 1) * sizeof(int64_t), &m.out) != TALLY_OK)
        return -1;
    *state = &m;
    return tally_copy(m.device, m.x, x, sizeof x) == TALLY_OK ? 0 : -1;
}

static int teardown(void **state) {
    device_memory *m = *state;
    tally_free(m->device, m->x);
    tally_free(m->device, m->offsets);
    tally_free(m->device, m->out);
    tally_close(m->device);
    return 0;
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_ones_at_the_begin), cmocka_unit_test(empty_ones_in_the_middle),
        cmocka_unit_test(empty_ones_at_the_end),   cmocka_unit_test(empty_ones_between_any_two_elements),
        cmocka_unit_test(nothing_but_empty_ones),  cmocka_unit_test(of_no_elements),
        cmocka_unit_test(of_every_length),
    };
    return cmocka_run_group_tests_name("segments of any skew", tests, setup, teardown);
}
