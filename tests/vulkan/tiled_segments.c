/* Sums by segments go tile by tile, and segments may go on over many tiles, for which the conformance suite's inputs
 * are too short. They are right for any lengths, wherever the array begins, with empty and long segments among the
 * others, and have the same bits every run. */
#include <math.h>

#include "../api/support.h"

enum { ELEMENTS = 3 << 20, MOST_SEGMENTS = ELEMENTS };

static tally_device *device;
static uint8_t *numbers;            /* ELEMENTS, and some more */
static uint64_t *offsets, *found;   /* on the host */
static void *x, *offsets_x, *out_x; /* on the device */

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static size_t long_length = 200000;

/* Segments of 1 to 2 * mean - 1 elements, each 64th of none, or, where 'evenly', of 'mean'; of each 'far', if that is
 * not 0, the last is long. Gives their number. */
static size_t cut(size_t mean, bool evenly, size_t far, size_t elements) {
    size_t segments = 0, at = 0;
    uint32_t state = 7;
    while (at < elements) {
        size_t length = evenly ? mean : 1 + next_random(&state) % (2 * mean - 1);
        if (!evenly && segments % 64 == 63)
            length = 0;
        if (far && segments % far == far - 1)
            length = long_length;
        offsets[segments++] = at;
        at += length < elements - at ? length : elements - at;
    }
    offsets[segments] = elements;
    return segments;
}

static tally_desc describe_sums(tally_dtype in, tally_dtype out) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, in);
    desc.grouping = TALLY_SEGMENTS;
    desc.out = out;
    desc.index = TALLY_U64;
    return desc;
}
static tally_args sums_of(size_t begin, size_t elements, size_t segments, tally_dtype out) {
    tally_args args = arguments((char *)x + begin, elements, out_x, segments * tally_dtype_size(out));
    args.offsets = offsets_x;
    args.shape.groups = segments;
    return args;
}
static void run_sums(size_t begin, size_t elements, size_t segments, tally_dtype in, tally_dtype out) {
    const tally_desc desc = describe_sums(in, out);
    const tally_args args = sums_of(begin, elements, segments, out);
    assert_ok(run_desc(device, &desc, &args));
    assert_ok(tally_copy(device, found, out_x, args.out_bytes));
}

static void assert_sums(size_t begin, size_t mean, size_t segments) {
    for (size_t g = 0; g < segments; g++) {
        uint64_t sum = 0;
        for (uint64_t i = offsets[g]; i < offsets[g + 1]; i++)
            sum += numbers[begin + i];
        if (found[g] != sum)
            fail_msg("segment %zu of %zu, mean length %zu, from %zu on, elements %llu to %llu: %llu and not %llu", g,
                     segments, mean, begin, (unsigned long long)offsets[g], (unsigned long long)offsets[g + 1],
                     (unsigned long long)found[g], (unsigned long long)sum);
    }
}

static void check(size_t begin, size_t mean, bool evenly, size_t far) {
    const size_t elements = ELEMENTS - 16, segments = cut(mean, evenly, far, elements);
    assert_ok(tally_copy(device, x, numbers, ELEMENTS));
    assert_ok(tally_copy(device, offsets_x, offsets, (segments + 1) * sizeof *offsets));
    run_sums(begin, elements, segments, TALLY_U8, TALLY_U64);
    assert_sums(begin, mean, segments);
}

static void test_even_segments(void **state) {
    (void)state;
    check(0, 64, true, 0);
    check(0, 1000, true, 0);
    check(0, 4096, true, 0);
    check(0, 3, true, 0);
}
static void test_segments_of_any_length(void **state) {
    (void)state;
    check(0, 8, false, 0);
    check(5, 70, false, 0);
    check(0, 900, false, 0);
}
/* A GPU folds such segments by teams. */
static void test_segments_that_are_long_in_the_mean(void **state) {
    (void)state;
    check(0, 9000, true, 0);
    check(7, 20000, false, 0);
    check(0, 100000, false, 3);
}
static void test_long_segments_among_short_ones(void **state) {
    (void)state;
    check(3, 40, false, 1000);
    check(0, 300, false, 100);
}

/* Some are too long for a team, but no longer than a chunk; groups of neighbours are too long for a workgroup's tiles.
 */
static void test_segments_longer_than_a_team_takes(void **state) {
    (void)state;
    long_length = 30000;
    check(3, 40, false, 100);
    check(0, 300, false, 7);
    check(1, 3000, false, 3);
    long_length = 65536;
    check(0, 64, true, 16);
    long_length = 200000;
}

/* A plan's runs clear for each other what they find. */
static void test_runs_do_not_see_what_earlier_runs_found(void **state) {
    (void)state;
    const size_t elements = ELEMENTS - 16;
    const tally_desc desc = describe_sums(TALLY_U8, TALLY_U64);
    tally_plan *plan;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_copy(device, x, numbers, ELEMENTS));
    for (size_t turn = 0; turn < 9; turn++) { /* no long segments, then some, then offsets that go back and forth */
        const size_t segments = cut(400, false, turn % 3 != 0 ? 50 : 0, elements);
        for (size_t g = 1; turn % 3 == 2 && g < segments; g += 2)
            offsets[g] = elements;
        const tally_args args = sums_of(0, elements, segments, TALLY_U64);
        assert_ok(tally_copy(device, offsets_x, offsets, (segments + 1) * sizeof *offsets));
        if (turn % 3 == 2) {
            assert_fails(tally_run(plan, &args, TALLY_SYNCHRONOUS), TALLY_BAD_OFFSETS);
            continue;
        }
        memset(found, 0, segments * sizeof *found);
        assert_ok(tally_copy(device, out_x, found, segments * sizeof *found));
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        assert_ok(tally_copy(device, found, out_x, args.out_bytes));
        assert_sums(0, 400, segments);
    }
    tally_plan_destroy(plan);
}

static void test_the_same_bits_every_run(void **state) {
    (void)state;
    const size_t elements = ELEMENTS / 4 - 4;
    float *floats = malloc(elements * sizeof *floats), *first = malloc(elements * sizeof *first);
    assert_non_null(floats);
    assert_non_null(first);
    uint32_t random = 3;
    for (size_t i = 0; i < elements; i++)
        floats[i] = (float)next_random(&random) / 7919;
    const size_t segments = cut(90, false, 0, elements);
    assert_ok(tally_copy(device, x, floats, elements * sizeof *floats));
    assert_ok(tally_copy(device, offsets_x, offsets, (segments + 1) * sizeof *offsets));
    for (int turn = 0; turn < 4; turn++) {
        run_sums(0, elements, segments, TALLY_F32, TALLY_F32);
        if (turn == 0)
            memcpy(first, found, segments * sizeof *first);
        assert_memory_equal(first, found, segments * sizeof *first);
    }
    for (size_t g = 0; g < segments; g++) {
        double sum = 0;
        for (uint64_t i = offsets[g]; i < offsets[g + 1]; i++)
            sum += floats[i];
        if (!(fabs(first[g] - sum) <= 1e-6 * sum))
            fail_msg("segment %zu of %zu: %g and not %g", g, segments, first[g], sum);
    }
    free(floats);
    free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_even_segments),
                                       cmocka_unit_test(test_segments_of_any_length),
                                       cmocka_unit_test(test_segments_that_are_long_in_the_mean),
                                       cmocka_unit_test(test_long_segments_among_short_ones),
                                       cmocka_unit_test(test_segments_longer_than_a_team_takes),
                                       cmocka_unit_test(test_runs_do_not_see_what_earlier_runs_found),
                                       cmocka_unit_test(test_the_same_bits_every_run)};
    if (tally_open("vulkan:0", &device) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    numbers = malloc(ELEMENTS);
    offsets = malloc((MOST_SEGMENTS + 1) * sizeof *offsets);
    found = malloc(MOST_SEGMENTS * sizeof *found);
    if (!numbers || !offsets || !found || tally_alloc(device, ELEMENTS, &x) != TALLY_OK ||
        tally_alloc(device, (MOST_SEGMENTS + 1) * sizeof *offsets, &offsets_x) != TALLY_OK ||
        tally_alloc(device, MOST_SEGMENTS * sizeof *found, &out_x) != TALLY_OK)
        return 1;
    for (uint32_t k = 0; k < ELEMENTS; k++)
        numbers[k] = (uint8_t)(k * 2654435761U >> 21);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tally_free(device, x);
    tally_free(device, offsets_x);
    tally_free(device, out_x);
    tally_close(device);
    free(numbers);
    free(offsets);
    free(found);
    return failed;
}
