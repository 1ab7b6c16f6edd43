/* Scans by segments and by keys in one pass, which need devices on which workgroups that have started go on, give the
 * CPU's results: for groups of any lengths, empty ones among them, over the borders of tiles and of their windows, for
 * elements of every size, at any address, in reverse and in place. They have the same bits wherever arrays begin. The
 * device is told to use this path. One workgroup takes all tiles, as in scan_once.c. */
#include <math.h>

#include "../api/support.h"
#include "vulkan/path.h"

enum {
    BLOCK = 256,
    WINDOW = 32,    /* tiles */
    MOST = 6 << 20, /* bytes of the input */
    ROOM = 8,       /* times as many bytes of results */
    MOST_GROUPS = 2 << 20,
    SHIFT = 16 /* bytes that arrays may begin later */
};

static tally_device *device, *processor;
static uint8_t *numbers, *expected, *found; /* on the host */
static uint64_t *offsets;                   /* or keys */
static uint8_t *x, *out, *there;            /* on the device; there: offsets or keys */

static size_t tile_of(tally_dtype in) {
    return (size_t)BLOCK * tally_vulkan_once_vectors((tally_vulkan_slot){4, 4}) * 16 / tally_dtype_size(in);
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Small whole numbers, so that no sum takes rounding. */
static void fill(tally_dtype in, size_t count) {
    static const uint16_t halves[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    uint32_t state = 3;
    for (size_t i = 0; i < count; i++) {
        const int n = (int)(next_random(&state) % 7) - 3;
        const double f64 = n;
        const float f32 = (float)n;
        const int64_t integer = in >= TALLY_U8 && in <= TALLY_U64 ? n + 3 : n;
        const size_t size = tally_dtype_size(in);
        memcpy(numbers + i * size,
               in == TALLY_F64   ? (const void *)&f64
               : in == TALLY_F32 ? (const void *)&f32
               : in == TALLY_F16 ? (const void *)&halves[n + 3]
                                 : (const void *)&integer,
               size);
    }
}

/* Groups of 0 to 2 * mean elements and, each 50th, of 30 times as many. Segments begin somewhat after the first element
 * and end before the last. Gives their number; of keys, which are in 'offsets' then, none. */
static size_t cut(size_t extent, size_t mean, bool by_keys) {
    const size_t margin = by_keys ? 0 : extent / 50, end = extent - margin;
    size_t groups = 0, at = margin;
    uint32_t state = 7;
    while (at < end && groups < MOST_GROUPS - 1) {
        size_t length = next_random(&state) % (2 * mean + 1);
        if (groups % 50 == 49)
            length *= 30;
        length = length < end - at ? length : end - at;
        for (size_t i = at; by_keys && i < at + length; i++)
            offsets[i] = groups;
        if (!by_keys)
            offsets[groups] = at;
        groups++;
        at += length;
    }
    if (!by_keys)
        offsets[groups] = at;
    for (; by_keys && at < extent; at++)
        offsets[at] = groups;
    return by_keys ? 0 : groups;
}

static tally_desc describe_groups(tally_op op, tally_form form, unsigned flags, tally_dtype in, bool by_keys) {
    tally_desc desc = describe(op, form, in);
    desc.grouping = by_keys ? TALLY_KEYS : TALLY_SEGMENTS;
    desc.index = TALLY_U64;
    desc.flags = flags;
    return desc;
}

static size_t out_size(tally_op op, tally_dtype in) {
    const bool is_float = in >= TALLY_F16;
    if (op == TALLY_ANY || op == TALLY_ALL)
        return 1;
    if (op == TALLY_MAX || op == TALLY_MIN || op == TALLY_BXOR || (is_float && op != TALLY_COUNT_NONZERO))
        return tally_dtype_size(in);
    return 8;
}

static void give(tally_args *args, const tally_desc *desc, const void *groups, size_t count) {
    if (desc->grouping == TALLY_KEYS)
        args->keys = groups;
    else
        args->offsets = groups;
    args->shape.groups = count;
}

static void scan(const tally_desc *desc, size_t extent, size_t groups, size_t size, size_t x_begins, size_t out_begins,
                 const void *initial) {
    tally_args args = arguments(x + x_begins, extent, out + out_begins, extent * size);
    args.initial = initial;
    give(&args, desc, there, groups);
    assert_ok(tally_copy(device, x + x_begins, numbers, extent * tally_dtype_size(desc->in)));
    assert_ok(tally_copy(device, there, offsets, (groups ? groups + 1 : extent) * sizeof *offsets));
    memset(found, 0xa5, extent * size);
    assert_ok(tally_copy(device, out + out_begins, found, extent * size));
    assert_ok(run_desc(device, desc, &args));
    assert_ok(tally_copy(device, found, out + out_begins, extent * size));
}

/* A mean may be the neighbour of the processor's. */
static bool agree(const tally_desc *desc, const uint8_t *one, const uint8_t *other, size_t size) {
    float a, b;
    if (memcmp(one, other, size) == 0)
        return true;
    memcpy(&a, one, sizeof a);
    memcpy(&b, other, sizeof b);
    return desc->op == TALLY_MEAN && size == sizeof a && fabsf(a - b) <= 1.2e-7F * fabsf(a);
}

static void assert_same(const tally_desc *desc, size_t extent, size_t mean, size_t size) {
    for (size_t i = 0; i < extent; i++)
        if (!agree(desc, expected + i * size, found + i * size, size))
            fail_msg("%s of %s, form %d, flags %u, by %s of %zu, %zu elements: element %zu (of tile %zu) is wrong",
                     tally_op_name(desc->op), tally_dtype_name(desc->in), desc->form, desc->flags,
                     desc->grouping == TALLY_KEYS ? "keys" : "segments", mean, extent, i, i / tile_of(desc->in));
}

static void check(tally_op op, tally_form form, unsigned flags, tally_dtype in, size_t extent, size_t mean,
                  size_t x_begins, size_t out_begins) {
    const size_t size = out_size(op, in);
    fill(in, extent);
    for (int by_keys = 0; by_keys < 2; by_keys++) {
        const tally_desc desc = describe_groups(op, form, flags, in, by_keys != 0);
        const size_t groups = cut(extent, mean, by_keys != 0);
        tally_args args = arguments(numbers, extent, expected, extent * size);
        give(&args, &desc, offsets, groups);
        memset(expected, 0xa5, extent * size);
        assert_ok(run_desc(processor, &desc, &args));
        scan(&desc, extent, groups, size, x_begins, out_begins, NULL);
        assert_same(&desc, extent, mean, size);
    }
}

static void test_groups_have_any_length(void **state) {
    static const size_t means[] = {1, 3, 40, 700, 5000, 100000};
    const size_t tile = tile_of(TALLY_F32);
    (void)state;
    for (size_t k = 0; k < COUNT_OF(means); k++) {
        check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, 68 * tile + 7, means[k], 0, 0);
        check(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE, TALLY_F32, (WINDOW + 1) * tile - 1, means[k], 0, 0);
        check(TALLY_MAX, TALLY_EXCLUSIVE_SCAN, 0, TALLY_I32, 9 * tile, means[k], 0, 0);
    }
}

static void test_tiles_end_anywhere(void **state) {
    const size_t tile = tile_of(TALLY_F32), extents[] = {1, 5, tile - 1, tile, tile + 1, 16 * tile, WINDOW * tile + 2};
    (void)state;
    for (size_t k = 0; k < COUNT_OF(extents); k++) {
        check(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, 0, TALLY_F32, extents[k], 20000, 0, 0);
        check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE, TALLY_F32, extents[k], 20000, 0, 0);
    }
}

static void test_elements_have_any_size(void **state) {
    static const tally_dtype types[] = {TALLY_I8,  TALLY_U8,  TALLY_I16, TALLY_U16, TALLY_F16, TALLY_I32,
                                        TALLY_U32, TALLY_F32, TALLY_I64, TALLY_U64, TALLY_F64};
    (void)state;
    for (size_t k = 0; k < COUNT_OF(types); k++)
        for (size_t mean = 30; mean <= 30000; mean *= 1000) {
            const size_t extent = (WINDOW + 1) * tile_of(types[k]) / 2 + 11;
            check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, types[k], extent, mean, 0, 0);
            check(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE, types[k], extent, mean, 0, 0);
        }
}

static void test_operators(void **state) {
    const size_t tile = tile_of(TALLY_I32);
    (void)state;
    check(TALLY_COUNT_NONZERO, TALLY_INCLUSIVE_SCAN, 0, TALLY_U16, 9 * tile, 2000, 0, 0);
    check(TALLY_ANY, TALLY_EXCLUSIVE_SCAN, 0, TALLY_I32, 9 * tile + 3, 9, 4, 1);
    check(TALLY_ALL, TALLY_EXCLUSIVE_SCAN, 0, TALLY_U16, 2 * WINDOW * tile + 3, 900, 0, 2);
    check(TALLY_ALL, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE, TALLY_U8, 2 * WINDOW * tile + 3, 90000, 0, 0);
    check(TALLY_MEAN, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, 2 * tile + 3, 10, 0, 0);
    check(TALLY_MEAN, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, 20 * tile + 3, 8000, 0, 0);
    check(TALLY_BXOR, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE, TALLY_I8, 40 * tile + 3, 90, 0, 0);
    check(TALLY_MAX, TALLY_INCLUSIVE_SCAN, 0, TALLY_I64, 20 * tile + 3, 9000, 0, 0);
    check(TALLY_MIN, TALLY_EXCLUSIVE_SCAN, 0, TALLY_F16, 20 * tile + 3, 100, 0, 0);
}

static void test_arrays_begin_anywhere(void **state) {
    const size_t extent = 9 * tile_of(TALLY_F32) + 2;
    (void)state;
    for (size_t begin = 1; begin < SHIFT; begin += 7) {
        check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, extent, 60, begin, 0);
        check(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, 0, TALLY_F32, extent, 60, 0, begin);
        check(TALLY_MAX, TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE, TALLY_U8, 3 * extent, 500, begin, begin);
    }
}

/* Sums that are rounded show the order of additions. */
static void test_bits_are_the_same_every_run(void **state) {
    const tally_desc desc = describe_groups(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, false);
    const size_t extent = 150 * tile_of(TALLY_F32) + 1, groups = cut(extent, 200000, false);
    uint32_t random = 3;
    (void)state;
    for (size_t i = 0; i < extent; i++) {
        const float value = (float)((double)next_random(&random) * 1e-7);
        memcpy(numbers + i * sizeof value, &value, sizeof value);
    }
    for (int turn = 0; turn < 6; turn++) {
        scan(&desc, extent, groups, sizeof(float), turn == 4, turn == 5, NULL);
        if (turn)
            assert_same(&desc, extent, 200000, sizeof(float));
        else
            memcpy(expected, found, extent * sizeof(float));
    }
}

static void test_initial_value(void **state) {
    const size_t extent = 35 * tile_of(TALLY_I32) + 1;
    const int64_t initial = INT64_C(-987654321012);
    void *on_device;
    (void)state;
    fill(TALLY_I32, extent);
    assert_ok(tally_alloc(device, sizeof initial, &on_device));
    assert_ok(tally_copy(device, on_device, &initial, sizeof initial));
    for (int by_keys = 0; by_keys < 2; by_keys++)
        for (size_t mean = 50; mean < 100000; mean *= 1000) {
            const tally_desc desc = describe_groups(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, 0, TALLY_I32, by_keys != 0);
            const size_t groups = cut(extent, mean, by_keys != 0);
            tally_args args = arguments(numbers, extent, expected, extent * sizeof initial);
            args.initial = &initial;
            give(&args, &desc, offsets, groups);
            memset(expected, 0xa5, extent * sizeof initial);
            assert_ok(run_desc(processor, &desc, &args));
            scan(&desc, extent, groups, sizeof initial, 0, 0, on_device);
            assert_same(&desc, extent, mean, sizeof initial);
        }
    tally_free(device, on_device);
}

static void test_in_place(void **state) {
    const tally_desc desc = describe_groups(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F64, true);
    const size_t extent = 35 * tile_of(TALLY_F64) + 1;
    (void)state;
    tally_args args = arguments(numbers, extent, expected, extent * sizeof(double));
    fill(TALLY_F64, extent);
    give(&args, &desc, offsets, cut(extent, 5000, true));
    assert_ok(run_desc(processor, &desc, &args));
    assert_ok(tally_copy(device, x, numbers, extent * sizeof(double)));
    assert_ok(tally_copy(device, there, offsets, extent * sizeof *offsets));
    args.x = args.out = x;
    args.keys = there;
    assert_ok(run_desc(device, &desc, &args));
    assert_ok(tally_copy(device, found, x, extent * sizeof(double)));
    assert_same(&desc, extent, 5000, sizeof(double));
}

/* Nothing is written where offsets are bad. */
/* Rows that begin off vectors are groups, too. */
static void check_rows(tally_op op, tally_form form, unsigned flags, tally_dtype in, size_t rows, size_t extent,
                       size_t x_begins, size_t out_begins) {
    tally_desc desc = describe(op, form, in);
    const size_t count = rows * extent, size = out_size(op, in);
    desc.grouping = TALLY_AXIS;
    desc.flags = flags;
    fill(in, count);
    tally_args args = arguments(numbers, extent, expected, count * size);
    args.shape = (tally_shape){.outer = rows, .extent = extent, .inner = 1};
    assert_ok(run_desc(processor, &desc, &args));
    assert_ok(tally_copy(device, x + x_begins, numbers, count * tally_dtype_size(in)));
    args.x = x + x_begins;
    args.out = out + out_begins;
    assert_ok(run_desc(device, &desc, &args));
    assert_ok(tally_copy(device, found, out + out_begins, count * size));
    for (size_t i = 0; i < count; i++)
        if (!agree(&desc, expected + i * size, found + i * size, size))
            fail_msg("%s of %s, form %d, flags %u, %zu rows of %zu: element %zu is wrong", tally_op_name(op),
                     tally_dtype_name(in), form, flags, rows, extent, i);
}

static void test_rows(void **state) {
    (void)state;
    check_rows(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, 37, 4099, 0, 0);
    check_rows(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, 0, TALLY_F32, 3, 70001, 4, 12);
    check_rows(TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE, TALLY_F32, 41, 2501, 0, 0);
    check_rows(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_I32, 29, 5003, 0, 0);
    check_rows(TALLY_MIN, TALLY_INCLUSIVE_SCAN, 0, TALLY_F64, 11, 9001, 8, 0);
}

static void test_bad_offsets(void **state) {
    const tally_desc desc = describe_groups(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, false);
    const size_t extent = 3 * tile_of(TALLY_F32), groups = cut(extent, 100, false);
    tally_args args = arguments(x, extent, out, extent * sizeof(float));
    (void)state;
    offsets[groups / 2] = extent + 1;
    give(&args, &desc, there, groups);
    memset(expected, 0xa5, extent * sizeof(float));
    assert_ok(tally_copy(device, out, expected, extent * sizeof(float)));
    assert_ok(tally_copy(device, there, offsets, (groups + 1) * sizeof *offsets));
    assert_status(run_desc(device, &desc, &args), TALLY_BAD_OFFSETS);
    assert_ok(tally_copy(device, found, out, extent * sizeof(float)));
    assert_memory_equal(found, expected, extent * sizeof(float));
}

static size_t workspace_of(tally_op op, tally_dtype in, tally_grouping grouping, uint64_t least_once) {
    tally_vulkan_device *v = (tally_vulkan_device *)device;
    tally_desc desc = describe_groups(op, TALLY_INCLUSIVE_SCAN, 0, in, grouping == TALLY_KEYS);
    const tally_shape shape = {.extent = 100 * tile_of(in), .groups = 1};
    const uint64_t kept = v->least_once;
    size_t bytes;
    tally_plan *plan;
    v->least_once = least_once;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_plan_workspace(plan, &shape, &bytes));
    tally_plan_destroy(plan);
    v->least_once = kept;
    return bytes;
}
static bool takes_one_pass(tally_op op, tally_dtype in, tally_grouping grouping) {
    return workspace_of(op, in, grouping, 1) < workspace_of(op, in, grouping, UINT64_MAX);
}

static void test_what_takes_one_pass(void **state) {
    (void)state;
    assert_true(takes_one_pass(TALLY_SUM, TALLY_F32, TALLY_SEGMENTS));
    assert_true(takes_one_pass(TALLY_MAX, TALLY_I32, TALLY_KEYS));
    assert_false(takes_one_pass(TALLY_ANY, TALLY_I32, TALLY_KEYS)); /* results narrower than a word */
    assert_false(takes_one_pass(TALLY_ARGMAX, TALLY_F32, TALLY_KEYS));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_takes_one_pass),
                                       cmocka_unit_test(test_groups_have_any_length),
                                       cmocka_unit_test(test_tiles_end_anywhere),
                                       cmocka_unit_test(test_elements_have_any_size),
                                       cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_arrays_begin_anywhere),
                                       cmocka_unit_test(test_bits_are_the_same_every_run),
                                       cmocka_unit_test(test_initial_value),
                                       cmocka_unit_test(test_in_place),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_bad_offsets)};
    if (tally_open("vulkan:0", &device) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    ((tally_vulkan_device *)device)->least_once = 1;
    numbers = malloc(MOST);
    expected = malloc((size_t)MOST * ROOM);
    found = malloc((size_t)MOST * ROOM);
    offsets = malloc((size_t)MOST * sizeof *offsets);
    if (!numbers || !expected || !found || !offsets || tally_open("cpu", &processor) != TALLY_OK ||
        tally_alloc(device, MOST + SHIFT, (void **)&x) != TALLY_OK ||
        tally_alloc(device, (size_t)MOST * ROOM + SHIFT, (void **)&out) != TALLY_OK ||
        tally_alloc(device, (size_t)MOST * sizeof *offsets, (void **)&there) != TALLY_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tally_free(device, x);
    tally_free(device, out);
    tally_free(device, there);
    tally_close(device);
    tally_close(processor);
    free(numbers);
    free(expected);
    free(found);
    free(offsets);
    return failed;
}
