/* More than 2^32 elements: counts, indices and sums that 32 bits cannot hold. Needs 4 GiB and 3 bytes of 8-bit values;
 * exits with 77 (skipped) if less than 8 GiB are available. */
#include "support.h"

static const size_t N = ((size_t)1 << 32) + 3;
static int8_t *x;

static uint64_t available_bytes(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    char line[200];
    unsigned long long kib = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return (uint64_t)kib * 1024;
}

static void sums_and_counts(void **state) {
    int64_t sum = 0;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I8);
    tally_args args = arguments(x, N, &sum, sizeof sum);
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(sum == (int64_t)(N - 2) + 2 * 100);
    desc.op = TALLY_COUNT_NONZERO;
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(sum == (int64_t)N);
    uint64_t unsigned_sum = 0;
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_U8);
    args.out = &unsigned_sum;
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(unsigned_sum == (N - 2) + 2 * 100);
}

static void indices_past_two_to_the_32(void **state) {
    int64_t at = 0;
    tally_desc desc = describe(TALLY_ARGMAX, TALLY_REDUCE, TALLY_I8);
    tally_args args = arguments(x, N, &at, sizeof at);
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(at == (int64_t)1 << 32);
}

static void a_long_axis_and_a_long_segment(void **state) {
    int64_t sums[3] = {0, 0, 0}, offsets[4] = {1, 1, (int64_t)N - 3, (int64_t)N};
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I8);
    tally_args args = arguments(x, N, sums, sizeof sums);
    desc.grouping = TALLY_SEGMENTS;
    args.shape.groups = 3;
    args.offsets = offsets;
    assert_ok(run_desc(*state, &desc, &args));
    assert_true(sums[0] == 0 && sums[1] == (int64_t)N - 4 && sums[2] == 1 + 100 + 100);
    desc.grouping = TALLY_AXIS;
    args = arguments(x, 1, sums, 2 * sizeof *sums);
    args.shape = (tally_shape){1, N / 2, 2, 0};
    assert_ok(run_desc(*state, &desc, &args));
    /* Element 2^32 is in column 0; the last one, which makes N odd, is left out. */
    assert_true(sums[0] == (int64_t)(N / 2) + 99 && sums[1] == (int64_t)(N / 2));
}

static void a_scan_in_place(void **state) {
    tally_desc desc = describe(TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_I8);
    tally_args args = arguments(x, N, x, N);
    assert_ok(run_desc(*state, &desc, &args));
    assert_int_equal(x[0], 1);
    assert_int_equal(x[N - 4], 1);
    for (size_t k = 1; k <= 3; k++)
        assert_int_equal(x[N - k], 100);
}

static void and_a_sum_scan_that_wraps(void **state) {
    memset(x, 1, N);
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I8);
    desc.out = TALLY_I8;
    tally_args args = arguments(x, N, x, N);
    assert_ok(run_desc(*state, &desc, &args));
    static const size_t places[] = {
        0, 126, 127, 255, 256, ((size_t)1 << 31) + 5, ((size_t)1 << 32) - 1, (size_t)1 << 32, ((size_t)1 << 32) + 2};
    for (size_t k = 0; k < COUNT_OF(places); k++)
        assert_int_equal(x[places[k]], (int8_t)(uint8_t)(places[k] + 1));
}

int main(void) {
    if (device_is_missing())
        return 77;
    if (available_bytes() < (uint64_t)8 << 30) {
        printf("skipped: less than 8 GiB of memory are available\n");
        return 77;
    }
    x = malloc(N);
    if (!x) {
        printf("skipped: 4 GiB cannot be allocated\n");
        return 77;
    }
    memset(x, 1, N);
    x[(size_t)1 << 32] = 100;
    x[N - 1] = 100;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_counts),
        cmocka_unit_test(indices_past_two_to_the_32),
        cmocka_unit_test(a_long_axis_and_a_long_segment),
        cmocka_unit_test(a_scan_in_place),
        cmocka_unit_test(and_a_sum_scan_that_wraps),
    };
    int failed = cmocka_run_group_tests_name("large", tests, open_test_device, close_test_device);
    free(x);
    return failed;
}
