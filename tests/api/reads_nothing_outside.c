/* No byte before or after an input or an output is touched, at any size and alignment: the arrays lie next to pages
 * that may not be read. */
#include "support.h"

#include "fence.h"

static const tally_dtype types[] = {TALLY_I8,  TALLY_U16, TALLY_F16, TALLY_BF16,
                                    TALLY_I32, TALLY_F32, TALLY_F64, TALLY_U64};
static unsigned char data[9000 * 8];

static int setup(void **state) {
    for (size_t k = 0; k < sizeof data; k++)
        data[k] = (unsigned char)(k * 7 % 61); /* small numbers, whatever the type */
    return open_test_device(state);
}

typedef struct fenced_run {
    tally_device *device;
    tally_desc desc;
    tally_shape shape;
    size_t elements, results;
    const void *offsets, *keys;
    size_t index_bytes;
} fenced_run;

static void run_fenced(const fenced_run *r, int before) {
    fenced x, y, index, out, keys_out;
    tally_plan *plan;
    tally_desc full = TALLY_DESC_INIT;
    size_t per_result;
    if (tally_plan_create(r->device, &r->desc, &plan) == TALLY_UNSUPPORTED)
        return;
    assert_ok(tally_plan_describe(plan, &full, &per_result));
    size_t bytes = r->elements * tally_dtype_size(r->desc.in);
    size_t out_bytes = r->results * per_result * tally_dtype_size(full.out);
    static const unsigned char zeros[9000 * 16];
    assert_true(bytes <= sizeof data && out_bytes <= sizeof zeros);
    tally_args args = arguments(fence(&x, data, bytes, before), 0, fence(&out, zeros, out_bytes, before), out_bytes);
    void *y_copy = fence(&y, data, bytes, before);
    args.shape = r->shape;
    if (r->desc.op == TALLY_DOT)
        args.y = y_copy;
    const void *index_data = r->offsets ? r->offsets : r->keys;
    void *index_copy = fence(&index, index_data ? index_data : zeros, index_data ? r->index_bytes : 0, before);
    size_t keys_bytes = r->keys && r->desc.form == TALLY_REDUCE ? r->results * 8 : 0;
    args.keys_out = fence(&keys_out, zeros, keys_bytes, before);
    args.keys_out_bytes = keys_bytes;
    if (r->offsets)
        args.offsets = index_copy;
    else if (r->keys)
        args.keys = index_copy;
    if (!keys_bytes)
        args.keys_out = NULL;
    tally_status status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    bool has_no_value = status == TALLY_EMPTY && r->elements == 0;
    if (status != TALLY_OK && !has_no_value)
        fail_msg("%s of %zu %s: %s", tally_op_name(r->desc.op), r->elements, tally_dtype_name(r->desc.in),
                 tally_last_error());
    tally_plan_destroy(plan);
    unfence(&x);
    unfence(&y);
    unfence(&index);
    unfence(&out);
    unfence(&keys_out);
}

static void each_operator_and_type(fenced_run *r, const size_t results[TALLY_FORM_COUNT]) {
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (int op = 0; op < TALLY_USER; op++)
            for (int form = 0; form < TALLY_FORM_COUNT; form++)
                for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                    tally_grouping grouping = r->desc.grouping;
                    r->desc = describe((tally_op)op, (tally_form)form, types[t]);
                    r->desc.grouping = grouping;
                    r->desc.mode = (tally_mode)mode;
                    r->results = results[form];
                    run_fenced(r, 0);
                    run_fenced(r, 1);
                }
}

static void all_values(void **state) {
    static const size_t sizes[] = {1, 2, 3, 5, 7, 15, 17, 31, 33, 63, 65, 127, 129, 1000, 4097};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        fenced_run r = {.device = *state, .elements = sizes[k], .shape = {1, sizes[k], 1, 0}};
        const size_t results[] = {1, sizes[k], sizes[k]};
        each_operator_and_type(&r, results);
    }
}

static void along_an_axis(void **state) {
    static const tally_shape shapes[] = {{1, 300, 3, 0}, {3, 300, 1, 0}, {300, 3, 1, 0}, {1, 3, 300, 0},
                                         {70, 0, 1, 0},  {3, 0, 5, 0},   {5, 7, 9, 0},   {2, 33, 17, 0},
                                         {40, 1, 5, 0},  {1, 70, 70, 0}};
    for (size_t k = 0; k < COUNT_OF(shapes); k++) {
        size_t n = shapes[k].outer * shapes[k].extent * shapes[k].inner;
        fenced_run r = {.device = *state, .elements = n, .shape = shapes[k], .desc.grouping = TALLY_AXIS};
        const size_t results[] = {shapes[k].outer * shapes[k].inner, n, n};
        each_operator_and_type(&r, results);
    }
}

static void segments_and_keys(void **state) {
    int64_t offsets[302], keys[1500];
    size_t n = 0, groups = 0;
    offsets[0] = 0;
    while (groups < 301 && n < 1400) {
        size_t length = 1 + groups * 7 % 9 + (groups == 150 ? 200 : 0);
        for (size_t k = 0; k < length; k++)
            keys[n + k] = (int64_t)groups % 3;
        offsets[++groups] = (int64_t)(n += length);
    }
    for (int grouping = TALLY_SEGMENTS; grouping <= TALLY_KEYS; grouping++) {
        fenced_run r = {.device = *state, .elements = n, .shape = {1, n, 1, 0}};
        r.desc.grouping = (tally_grouping)grouping;
        if (grouping == TALLY_SEGMENTS) {
            r.shape.groups = groups;
            r.offsets = offsets;
            r.index_bytes = (groups + 1) * 8;
        } else {
            r.keys = keys;
            r.index_bytes = n * 8;
        }
        const size_t results[] = {groups, n, n};
        each_operator_and_type(&r, results);
    }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_values),
        cmocka_unit_test(along_an_axis),
        cmocka_unit_test(segments_and_keys),
    };
    return cmocka_run_group_tests_name("reads nothing outside", tests, setup, close_test_device);
}
