/* Short rows of whole vectors, short slabs of any, and scans of many rows have paths of their own, in which workgroups
 * take turns at more rows than the conformance suite has. Sums are right for any length of rows, wherever the array
 * begins, and at the last rows. */
#include "../api/support.h"

enum { ELEMENTS = 5 << 20 /* bytes: more than 1024 workgroups hold of rows of a vector */ };

static tally_device *device;
static uint8_t *numbers; /* ELEMENTS, and some more */
static uint8_t *x;       /* the same on the device */
static uint64_t *sums;   /* there */

/* 'form' sums along the axis of as many slabs of extent x inner numbers as there are. */
static void check_slabs(tally_form form, size_t begin, size_t extent, size_t inner) {
    const bool scans = form != TALLY_REDUCE;
    const size_t slabs = (ELEMENTS - 16) / extent / inner / (scans ? 2 : 1), rows = slabs * inner;
    const size_t results = scans ? rows * extent : rows;
    uint64_t *found = malloc(results * sizeof *found);
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan;
    desc.form = form;
    desc.grouping = TALLY_AXIS;
    desc.in = TALLY_U8;
    desc.out = TALLY_U64;
    args.x = x + begin;
    args.shape = (tally_shape){slabs, extent, inner, 0};
    args.out = sums;
    args.out_bytes = results * sizeof *sums;
    assert_non_null(found);
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_OK);
    assert_int_equal(tally_run(plan, &args, TALLY_SYNCHRONOUS), TALLY_OK);
    assert_int_equal(tally_copy(device, found, sums, args.out_bytes), TALLY_OK);
    tally_plan_destroy(plan);
    for (size_t row = 0; row < rows; row++) {
        const size_t first = row / inner * extent * inner + row % inner;
        uint64_t sum = 0;
        for (size_t k = 0; k < extent; k++) {
            sum += numbers[begin + first + k * inner];
            const size_t at = scans ? first + k * inner : row;
            if ((scans || k + 1 == extent) && found[at] != sum)
                fail_msg("column %zu of %zu of %zu elements, %zu wide, from %zu on: %llu and not %llu", row, rows,
                         extent, inner, begin, (unsigned long long)found[at], (unsigned long long)sum);
        }
    }
    free(found);
}

static void check_rows(size_t begin, size_t extent) {
    check_slabs(TALLY_REDUCE, begin, extent, 1);
}

static void test_rows_are_taken_in_turns(void **state) {
    (void)state;
    check_rows(0, 16);
}
static void test_rows_may_begin_anywhere(void **state) {
    (void)state;
    check_rows(3, 16);
    check_rows(8, 48);
}
static void test_rows_need_not_fill_a_workgroup(void **state) {
    (void)state;
    check_rows(0, 48);
    check_rows(0, 80);
    check_rows(0, 1008);
    check_rows(0, 1024);
}

static void test_rows_need_not_be_whole_vectors(void **state) {
    (void)state;
    check_rows(0, 1);
    check_rows(5, 7);
    check_rows(3, 100);
    check_rows(1, 2000);
}
static void test_columns_of_short_slabs(void **state) {
    (void)state;
    check_slabs(TALLY_REDUCE, 0, 3, 5);
    check_slabs(TALLY_REDUCE, 9, 40, 3);
}
static void test_scans_of_short_slabs(void **state) {
    (void)state;
    check_slabs(TALLY_INCLUSIVE_SCAN, 0, 6, 1);
    check_slabs(TALLY_INCLUSIVE_SCAN, 7, 300, 1);
    check_slabs(TALLY_INCLUSIVE_SCAN, 2, 9, 7);
}
/* Many rows of narrow elements, which begin anywhere, are scanned as groups of one array (give_rows). */
static void test_scans_of_many_rows(void **state) {
    (void)state;
    check_slabs(TALLY_INCLUSIVE_SCAN, 0, 777, 1);
    check_slabs(TALLY_INCLUSIVE_SCAN, 3, 4539, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_taken_in_turns),
                                       cmocka_unit_test(test_rows_may_begin_anywhere),
                                       cmocka_unit_test(test_rows_need_not_fill_a_workgroup),
                                       cmocka_unit_test(test_rows_need_not_be_whole_vectors),
                                       cmocka_unit_test(test_columns_of_short_slabs),
                                       cmocka_unit_test(test_scans_of_short_slabs),
                                       cmocka_unit_test(test_scans_of_many_rows)};
    if (tally_open("vulkan:0", &device) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    numbers = malloc(ELEMENTS);
    if (!numbers || tally_alloc(device, ELEMENTS, (void **)&x) != TALLY_OK ||
        tally_alloc(device, ELEMENTS * sizeof *sums, (void **)&sums) != TALLY_OK)
        return 1;
    for (uint32_t k = 0; k < ELEMENTS; k++)
        numbers[k] = (uint8_t)(k * 2654435761U >> 21);
    if (tally_copy(device, x, numbers, ELEMENTS) != TALLY_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tally_free(device, x);
    tally_free(device, sums);
    tally_close(device);
    free(numbers);
    return failed;
}
