/* Long scans of all values in one pass, which need devices on which workgroups that have started go on, give the CPU's
 * results: at the borders of tiles and of their windows, for elements of every size, at any address, in pieces and in
 * place. They have the same bits wherever arrays begin. The device is told to use this path. Lavapipe ends all loops of
 * a workgroup after 65535 turns, so no workgroup can wait for another there. It therefore has one thread, and one
 * workgroup takes all tiles, of which there must be few. */
#include "../api/support.h"
#include "vulkan/path.h"

enum {
    BLOCK = 256,
    WINDOW = 32,           /* tiles */
    MOST = 192 * 24 << 10, /* bytes of the input */
    ROOM = 2,              /* times as many bytes of results */
    SHIFT = 16             /* bytes that arrays may begin later */
};

static tally_device *device, *processor;
static uint8_t *numbers, *expected, *found; /* on the host */
static uint8_t *x, *out;                    /* on the device */

/* With accumulators of 4 bytes; with longer ones there are more tiles. */
static size_t tile_of(tally_dtype in) {
    return (size_t)BLOCK * tally_vulkan_once_vectors((tally_vulkan_slot){4, 4}) * 16 / tally_dtype_size(in);
}

/* Small whole numbers, so that no sum takes rounding: +1 and -1 alone, of which products are such, too. */
static void fill(tally_dtype in, size_t count, bool units) {
    static const uint16_t halves[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)(i * 2654435761U >> 9);
        const int n = units ? (int)(bits & 2) - 1 : (int)(bits % 7) - 3;
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

static size_t out_size(tally_op op, tally_dtype in) {
    const bool is_float = in >= TALLY_F16;
    if (op == TALLY_ANY)
        return 1;
    if (op == TALLY_MAX || op == TALLY_BXOR || (is_float && op != TALLY_COUNT_NONZERO))
        return tally_dtype_size(in);
    return 8;
}

/* A mean in f32 may be the neighbour of the processor's, which rounds an estimate of 28 bits. */
static bool agree(const tally_desc *desc, const uint8_t *one, const uint8_t *other, size_t size) {
    int32_t a, b;
    if (memcmp(one, other, size) == 0)
        return true;
    if (desc->op != TALLY_MEAN || size != sizeof a)
        return false;
    memcpy(&a, one, sizeof a);
    memcpy(&b, other, sizeof b);
    return (a < 0) == (b < 0) && a - b >= -1 && a - b <= 1;
}

static void assert_same(const tally_desc *desc, size_t extent, size_t size) {
    for (size_t i = 0; i < extent; i++)
        if (!agree(desc, expected + i * size, found + i * size, size))
            fail_msg("%s of %s, form %d, flags %u, %zu elements: element %zu (of tile %zu) is wrong",
                     tally_op_name(desc->op), tally_dtype_name(desc->in), desc->form, desc->flags, extent, i,
                     i / tile_of(desc->in));
}

static void scan(const tally_desc *desc, size_t extent, size_t size, size_t x_begins, size_t out_begins,
                 const void *initial) {
    tally_args args = arguments(x + x_begins, extent, out + out_begins, extent * size);
    args.initial = initial;
    assert_ok(tally_copy(device, x + x_begins, numbers, extent * tally_dtype_size(desc->in)));
    assert_ok(run_desc(device, desc, &args));
    assert_ok(tally_copy(device, found, out + out_begins, extent * size));
}

static void check_as(tally_dtype out_type, tally_op op, tally_form form, unsigned flags, tally_dtype in, size_t extent,
                     size_t x_begins, size_t out_begins) {
    const size_t size = out_type == TALLY_DEFAULT ? out_size(op, in) : tally_dtype_size(out_type);
    tally_desc desc = describe(op, form, in);
    tally_args args = arguments(numbers, extent, expected, extent * size);
    desc.out = out_type;
    desc.flags = flags;
    fill(in, extent, op == TALLY_PROD);
    assert_ok(run_desc(processor, &desc, &args));
    scan(&desc, extent, size, x_begins, out_begins, NULL);
    assert_same(&desc, extent, size);
}

static void check(tally_op op, tally_form form, unsigned flags, tally_dtype in, size_t extent, size_t x_begins,
                  size_t out_begins) {
    check_as(TALLY_DEFAULT, op, form, flags, in, extent, x_begins, out_begins);
}

static void test_tiles_and_windows_end_anywhere(void **state) {
    const size_t tile = tile_of(TALLY_F32);
    const size_t extents[] = {
        tile,          tile + 1,          2 * tile - 1,        16 * tile + 1,         WINDOW * tile - 4,
        WINDOW * tile, WINDOW * tile + 4, (WINDOW + 1) * tile, 4 * WINDOW * tile + 7, 5 * WINDOW * tile - 1};
    (void)state;
    for (size_t k = 0; k < COUNT_OF(extents); k++) {
        check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, extents[k], 0, 0);
        check(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE, TALLY_F32, extents[k], 0, 0);
    }
}

static void test_elements_have_any_size(void **state) {
    static const tally_dtype types[] = {TALLY_I8,  TALLY_U8,  TALLY_I16, TALLY_U16, TALLY_F16, TALLY_I32,
                                        TALLY_U32, TALLY_F32, TALLY_I64, TALLY_U64, TALLY_F64};
    (void)state;
    for (size_t k = 0; k < COUNT_OF(types); k++) {
        const size_t extent = 35 * tile_of(types[k]) + 11;
        check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, types[k], extent, 0, 0);
        check(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, 0, types[k], extent, 0, 0);
        check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE, types[k], extent, 0, 0);
    }
}

static void test_operators(void **state) {
    static const tally_dtype types[] = {TALLY_I16, TALLY_U32, TALLY_F32, TALLY_F64};
    static const tally_op ops[] = {TALLY_PROD, TALLY_MAX, TALLY_SUMSQ, TALLY_MEAN, TALLY_COUNT_NONZERO};
    (void)state;
    for (size_t k = 0; k < COUNT_OF(types); k++)
        for (size_t o = 0; o < COUNT_OF(ops); o++)
            check(ops[o], TALLY_INCLUSIVE_SCAN, 0, types[k], 40 * tile_of(types[k]) + 3, 0, 0);
    check(TALLY_BXOR, TALLY_EXCLUSIVE_SCAN, 0, TALLY_U16, 40 * tile_of(TALLY_U16) + 3, 0, 0);
    check(TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE, TALLY_I8, 40 * tile_of(TALLY_I8) + 3, 0, 0);
}

/* A vector's results are less than a vector. */
static void test_results_are_narrow(void **state) {
    const size_t extent = 35 * tile_of(TALLY_F32) + 11;
    (void)state;
    for (size_t begin = 0; begin < 4; begin += 2) {
        check(TALLY_ANY, TALLY_EXCLUSIVE_SCAN, 0, TALLY_I32, extent, 4 * begin, begin + 1);
        check_as(TALLY_F16, TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, extent, 0, begin);
        check_as(TALLY_F16, TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE, TALLY_F32, extent, 4, begin);
        check_as(TALLY_F16, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_REVERSE, TALLY_F64, extent / 2, 8, begin);
    }
}

/* Stores of bytes, or, on a device that has none, words of which others may have a part. */
static void test_devices_without_stores_of_bytes(void **state) {
    tally_vulkan_device *v = (tally_vulkan_device *)device;
    const bool stores_bytes = v->stores_bytes;
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        v->stores_bytes = turn && stores_bytes;
        check(TALLY_ANY, TALLY_INCLUSIVE_SCAN, 0, TALLY_I64, 35 * tile_of(TALLY_I64) + 5, 0, 1);
        check(TALLY_MAX, TALLY_INCLUSIVE_SCAN, 0, TALLY_U8, 35 * tile_of(TALLY_U8) + 5, 1, 3);
    }
    v->stores_bytes = stores_bytes;
}

static void test_arrays_begin_anywhere(void **state) {
    (void)state;
    for (size_t begin = 1; begin < SHIFT; begin += 7) {
        check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, 35 * tile_of(TALLY_F32) + 2, begin, 0);
        check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F32, 35 * tile_of(TALLY_F32) + 2, 0, begin);
        check(TALLY_MAX, TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE, TALLY_U8, 35 * tile_of(TALLY_U8) + 2, begin, begin);
    }
}

/* Kernels for each way in which arrays may lie, where elements fill memory of their size. */
static void test_arrays_begin_off_vectors(void **state) {
    static const tally_dtype types[] = {TALLY_I16, TALLY_F16, TALLY_F32, TALLY_F64};
    (void)state;
    for (size_t k = 0; k < COUNT_OF(types); k++) {
        const size_t size = tally_dtype_size(types[k]), extent = 33 * tile_of(types[k]) + (k % 2 ? 0 : 1);
        for (size_t begin = 0; begin < SHIFT / size; begin += size == 2 ? 3 : 1) {
            check(TALLY_MAX, TALLY_INCLUSIVE_SCAN, 0, types[k], extent, begin * size, 0);
            check(TALLY_MAX, TALLY_EXCLUSIVE_SCAN, 0, types[k], extent, begin * size, SHIFT - size);
            check(TALLY_MAX, TALLY_INCLUSIVE_SCAN, 0, types[k], extent, size, begin * size);
        }
    }
    check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_I32, 33 * tile_of(TALLY_I32), 4, 8);
    check(TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_I32, 33 * tile_of(TALLY_I32), 12, 0);
    check_as(TALLY_F32, TALLY_SUM, TALLY_INCLUSIVE_SCAN, 0, TALLY_F16, 33 * tile_of(TALLY_F16), 2, 12);
}

/* Sums that are rounded, which show the order of additions. */
static void fill_rounded(size_t count) {
    for (size_t i = 0; i < count; i++) {
        const float value = (float)(int32_t)((uint32_t)i * 2654435761U) * 1e-9F;
        memcpy(numbers + i * sizeof value, &value, sizeof value);
    }
}

static void test_bits_are_the_same_every_run(void **state) {
    const tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    const size_t extent = 150 * tile_of(TALLY_F32) + 1;
    (void)state;
    fill_rounded(extent);
    for (int turn = 0; turn < 6; turn++) {
        scan(&desc, extent, sizeof(float), turn == 4, turn == 5, NULL);
        if (turn)
            assert_same(&desc, extent, sizeof(float));
        else
            memcpy(expected, found, extent * sizeof(float));
    }
}

static void test_initial_value(void **state) {
    const tally_desc desc = describe(TALLY_SUM, TALLY_EXCLUSIVE_SCAN, TALLY_I32);
    const size_t extent = 33 * tile_of(TALLY_I32) + 1;
    const int64_t initial = INT64_C(-987654321012);
    void *there;
    (void)state;
    tally_args args = arguments(numbers, extent, expected, extent * sizeof initial);
    args.initial = &initial;
    fill(TALLY_I32, extent, false);
    assert_ok(run_desc(processor, &desc, &args));
    assert_ok(tally_alloc(device, sizeof initial, &there));
    assert_ok(tally_copy(device, there, &initial, sizeof initial));
    scan(&desc, extent, sizeof initial, 0, 0, there);
    tally_free(device, there);
    assert_same(&desc, extent, sizeof initial);
}

static void test_in_place(void **state) {
    const tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F64);
    const size_t extent = 33 * tile_of(TALLY_F64) + 1;
    (void)state;
    tally_args args = arguments(numbers, extent, expected, extent * sizeof(double));
    fill(TALLY_F64, extent, false);
    assert_ok(run_desc(processor, &desc, &args));
    assert_ok(tally_copy(device, x, numbers, extent * sizeof(double)));
    args.x = args.out = x;
    assert_ok(run_desc(device, &desc, &args));
    assert_ok(tally_copy(device, found, x, extent * sizeof(double)));
    assert_same(&desc, extent, sizeof(double));
}

/* Some pieces are whole tiles; they are long and short. */
static void test_pieces(void **state) {
    const size_t tile = tile_of(TALLY_I16), pieces[] = {2 * tile, 40 * tile + 1, 5, tile - 6, 34 * tile};
    const tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I16);
    size_t extent = 0;
    tally_plan *plan;
    (void)state;
    for (size_t k = 0; k < COUNT_OF(pieces); k++)
        extent += pieces[k];
    fill(TALLY_I16, extent, false);
    tally_args args = arguments(numbers, extent, expected, extent * sizeof(int64_t));
    assert_ok(run_desc(processor, &desc, &args));
    assert_ok(tally_copy(device, x, numbers, extent * sizeof(int16_t)));
    assert_ok(tally_plan_create(device, &desc, &plan));
    for (size_t k = 0, before = 0; k < COUNT_OF(pieces); before += pieces[k++]) {
        args = arguments(x + before * sizeof(int16_t), pieces[k], out + before * sizeof(int64_t),
                         pieces[k] * sizeof(int64_t));
        assert_ok(tally_push(plan, &args));
    }
    assert_ok(tally_finish(plan, NULL, 0));
    tally_plan_destroy(plan);
    assert_ok(tally_copy(device, found, out, extent * sizeof(int64_t)));
    assert_same(&desc, extent, sizeof(int64_t));
}

static bool takes_one_pass(tally_op op, tally_dtype in, tally_dtype out_type, size_t extent) {
    tally_desc desc = describe(op, TALLY_INCLUSIVE_SCAN, in);
    size_t two_passes, bytes;
    tally_plan *plan;
    tally_vulkan_device *v = (tally_vulkan_device *)device;
    desc.out = out_type;
    const tally_shape shape = {.extent = extent};
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_plan_workspace(plan, &shape, &bytes));
    const uint64_t least = v->least_once;
    v->least_once = UINT64_MAX;
    assert_ok(tally_plan_workspace(plan, &shape, &two_passes));
    v->least_once = least;
    tally_plan_destroy(plan);
    return bytes > two_passes;
}

static void test_what_takes_one_pass(void **state) {
    tally_vulkan_device *v = (tally_vulkan_device *)device;
    const bool stores_bytes = v->stores_bytes;
    (void)state;
    assert_true(takes_one_pass(TALLY_SUM, TALLY_F32, TALLY_DEFAULT, tile_of(TALLY_F32)));
    assert_false(takes_one_pass(TALLY_SUM, TALLY_F32, TALLY_DEFAULT, tile_of(TALLY_F32) - 1));
    assert_true(takes_one_pass(TALLY_SUM, TALLY_F32, TALLY_F16, 10 * tile_of(TALLY_F32)));
    assert_true(takes_one_pass(TALLY_ANY, TALLY_I32, TALLY_DEFAULT, 10 * tile_of(TALLY_I32)));
    for (int turn = 0; turn < 2; turn++) { /* half a word a vector */
        v->stores_bytes = turn == 1;
        assert_true(takes_one_pass(TALLY_ANY, TALLY_I64, TALLY_DEFAULT, 10 * tile_of(TALLY_I64)) == v->stores_bytes);
    }
    v->stores_bytes = stores_bytes;
    assert_false(takes_one_pass(TALLY_ARGMAX, TALLY_F32, TALLY_DEFAULT, 10 * tile_of(TALLY_F32)));
    assert_false(takes_one_pass(TALLY_MINMAX, TALLY_F32, TALLY_DEFAULT, 10 * tile_of(TALLY_F32)));
    ((tally_vulkan_device *)device)->least_once = TALLY_VULKAN_LEAST_ONCE;
    assert_true(takes_one_pass(TALLY_SUM, TALLY_F32, TALLY_DEFAULT, TALLY_VULKAN_LEAST_ONCE));
    assert_false(takes_one_pass(TALLY_SUM, TALLY_F32, TALLY_DEFAULT, TALLY_VULKAN_LEAST_ONCE - 1));
    ((tally_vulkan_device *)device)->least_once = 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_takes_one_pass),
                                       cmocka_unit_test(test_tiles_and_windows_end_anywhere),
                                       cmocka_unit_test(test_elements_have_any_size),
                                       cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_results_are_narrow),
                                       cmocka_unit_test(test_devices_without_stores_of_bytes),
                                       cmocka_unit_test(test_arrays_begin_anywhere),
                                       cmocka_unit_test(test_arrays_begin_off_vectors),
                                       cmocka_unit_test(test_bits_are_the_same_every_run),
                                       cmocka_unit_test(test_initial_value),
                                       cmocka_unit_test(test_in_place),
                                       cmocka_unit_test(test_pieces)};
    if (tally_open("vulkan:0", &device) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    ((tally_vulkan_device *)device)->least_once = 1;
    numbers = malloc(MOST);
    expected = malloc((size_t)MOST * ROOM);
    found = malloc((size_t)MOST * ROOM);
    if (!numbers || !expected || !found || tally_open("cpu", &processor) != TALLY_OK ||
        tally_alloc(device, MOST + SHIFT, (void **)&x) != TALLY_OK ||
        tally_alloc(device, (size_t)MOST * ROOM + SHIFT, (void **)&out) != TALLY_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tally_free(device, x);
    tally_free(device, out);
    tally_close(device);
    tally_close(processor);
    free(numbers);
    free(expected);
    free(found);
    return failed;
}
