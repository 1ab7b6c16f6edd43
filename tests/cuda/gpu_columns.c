/* Scans and reductions down columns whose slabs end anywhere in a tile, to any address: results are the CPU's, and
 * nothing around them is written. One such scan of i8 wrote rows behind its slab's last, as compiled: no emulator could
 * see that. */
#include "gpu.h"

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

int main(void) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_written_around_columns)};
    return close_devices(cmocka_run_group_tests_name("columns", tests, NULL, NULL));
}
