/* Scans and reductions down columns whose slabs end anywhere in a tile, to any address: results are the CPU's, and
 * nothing around them is written; and deviations of numbers of any size. One such scan of i8 wrote rows behind its
 * slab's last, as compiled: no emulator could see that. */
#include "gpu.h"

#include <math.h>

enum { AROUND = 8192 /* bytes */, MOVED = 3 /* elements */ };

static const tally_dtype types[] = {TALLY_I8, TALLY_U8, TALLY_I16, TALLY_I32, TALLY_I64};
static const tally_shape shapes[] = {
    {6, 73, 4728, 0},
    {3, 100, 4700, 0},
    {5, 333, 2001, 0},
    {1, 1001, 20000, 0},
    {40, 97, 300, 0},
    {900, 65, 31, 0},
    /* a few tall slabs, of several groups of tiles (scan_tall.cu) */
    {1, 40000, 261, 0},
    {2, 9001, 150, 0},
    {1, 2777, 1300, 0},
    /* of few rows */
    {7, 3, 4999, 0},
    {3, 12, 3001, 0},
    {60, 2, 131, 0},
};

static void run(tally_device *device, const tally_desc *desc, const tally_shape *shape, const void *x, void *out,
                size_t bytes) {
    tally_plan *plan = NULL;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = *shape;
    args.x = x;
    args.out = (char *)out + AROUND + MOVED * tally_dtype_size(desc->out);
    args.out_bytes = bytes;
    assert_ok(tally_plan_create(device, desc, &plan));
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
}

static void nothing_is_written_around_columns(void **state) {
    (void)state;
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (size_t k = 0; k < COUNT_OF(shapes); k++) {
            const tally_shape *shape = &shapes[k];
            const size_t bytes = (size_t)(shape->outer * shape->extent * shape->inner) * tally_dtype_size(types[t]);
            char *x = malloc(bytes), *expected = malloc(bytes + 2 * AROUND), *found = malloc(bytes + 2 * AROUND);
            uint64_t random = 1;
            assert_true(x && expected && found);
            for (size_t at = 0; at < bytes; at++)
                x[at] = (char)random_bits(&random);
            memset(expected, 0x77, bytes + 2 * AROUND);
            void *on_gpu = upload(x, bytes), *out = room(bytes + 2 * AROUND);
            for (int form = TALLY_REDUCE; form <= TALLY_EXCLUSIVE_SCAN; form++) {
                const size_t results = form == TALLY_REDUCE ? bytes / (size_t)shape->extent : bytes;
                tally_desc desc = TALLY_DESC_INIT;
                desc.op = k % 2 ? TALLY_SUM : TALLY_SUMSQ;
                desc.form = (tally_form)form;
                desc.grouping = TALLY_AXIS;
                desc.in = desc.out = types[t];
                run(cpu, &desc, shape, x, expected, results);
                memset(found, 0x77, bytes + 2 * AROUND);
                assert_ok(tally_copy(gpu, out, found, bytes + 2 * AROUND));
                run(gpu, &desc, shape, on_gpu, out, results);
                assert_ok(tally_copy(gpu, found, out, bytes + 2 * AROUND));
                if (memcmp(found, expected, bytes + 2 * AROUND))
                    fail_msg("%s, shape %zu, form %d: not the CPU's", tally_dtype_name(types[t]), k, form);
            }
            tally_free(gpu, on_gpu);
            tally_free(gpu, out);
            free(x);
            free(expected);
            free(found);
        }
}

static double double_of_bf16(uint16_t bits) {
    const uint32_t word = (uint32_t)bits << 16;
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}
/* Of a number that is a bf16. */
static uint16_t bf16_of_double(double x) {
    const float number = (float)x;
    uint32_t word;
    memcpy(&word, &number, sizeof word);
    return (uint16_t)(word >> 16);
}

/* Squares of bf16 may leave the range of floats, in which fold_columns.cu adds them up: columns whose elements are all
 * small, all large, 0 but for a few, equal, or large after small ones. Each result is that of the elements as doubles,
 * rounded once or nearly so. */
static void deviations_of_bf16_have_any_range(void **state) {
    enum { EXTENT = 1157, INNER = 206, KINDS = 6 };
    static uint16_t x[EXTENT * INNER], found[INNER];
    uint64_t random = 1;
    (void)state;
    for (size_t at = 0; at < COUNT_OF(x); at++) {
        const size_t row = at / INNER, kind = at % INNER % KINDS;
        const double number = (double)(random_bits(&random) % 15) - 7, rare = row % 300 == 7 ? number : 0;
        const double of_kind[KINDS] = {ldexp(number, -100),
                                       ldexp(number, 100),
                                       ldexp(rare, -90),
                                       3,
                                       ldexp(number, row < EXTENT / 2 ? -70 : 70),
                                       number};
        x[at] = bf16_of_double(of_kind[kind]);
    }
    void *on_gpu = upload(x, sizeof x), *out = room(sizeof found);
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_STD;
    desc.grouping = TALLY_AXIS;
    desc.in = desc.out = TALLY_BF16;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = (tally_shape){1, EXTENT, INNER, 0};
    args.x = on_gpu;
    args.out = out;
    args.out_bytes = sizeof found;
    tally_plan *plan = NULL;
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
    assert_ok(tally_copy(gpu, found, out, sizeof found));
    for (size_t column = 0; column < INNER; column++) {
        double sum = 0, squares = 0;
        for (size_t row = 0; row < EXTENT; row++)
            sum += double_of_bf16(x[row * INNER + column]);
        for (size_t row = 0; row < EXTENT; row++)
            squares += pow(double_of_bf16(x[row * INNER + column]) - sum / EXTENT, 2);
        const double expected = sqrt(squares / EXTENT), got = double_of_bf16(found[column]);
        if (!(fabs(got - expected) <= 0x1p-8 * expected))
            fail_msg("column %zu: %g instead of %g", column, got, expected);
    }
    tally_free(gpu, on_gpu);
    tally_free(gpu, out);
}

int main(void) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_written_around_columns),
                                       cmocka_unit_test(deviations_of_bf16_have_any_range)};
    return close_devices(cmocka_run_group_tests_name("columns", tests, NULL, NULL));
}
