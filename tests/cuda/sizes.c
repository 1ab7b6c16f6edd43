/* A plan has no more texts than there is room for. What a thread of a scan takes is whole vectors of elements and keys,
 * and whole words of results, of every type; and tiles fit into shared memory. The kernels check the first when they
 * are compiled, which no test does for all types.
 */
#include "cuda/parts.h"
#include "cuda/sizes.h"
#include "cuda/specialize.h"

#include "support.h"

static const struct {
    int architecture;
    unsigned shared; /* bytes that a block can have */
} devices[] = {{75, 64 << 10}, {80, 163 << 10}, {90, 227 << 10}};

static void check(const tally_computation *c, size_t device) {
    tally_cuda_sizes s;
    tally_cuda_sizes_of(c, devices[device].architecture, &s);
    const size_t in = c->in_bytes, result = c->out_bytes * c->per_result, unit = result < in ? 4 : 16;
    const size_t key = c->desc.grouping == TALLY_KEYS ? c->index_bytes : 16;
    const unsigned items[] = {s.scan.items, s.one_wave.shared ? s.one_wave.items : s.scan.items};
    bool fits = s.scan.ring >= 2 && s.scan.shared <= devices[device].shared &&
                s.one_wave.shared <= devices[device].shared && s.narrow.shared <= devices[device].shared;
    for (size_t k = 0; k < COUNT_OF(items); k++)
        fits &= items[k] > 0 && items[k] * in % 16 == 0 && items[k] * result % unit == 0 && items[k] * key % 16 == 0;
    if (!fits)
        fail_msg(
            "sm_%d: %s of %s to %s, grouping %d, keys of %zu bytes: %u and %u elements a thread, %u, %u and %u bytes",
            devices[device].architecture, tally_op_name(c->desc.op), tally_dtype_name(c->desc.in),
            tally_dtype_name(c->desc.out), c->desc.grouping, key, items[0], items[1], s.scan.shared, s.one_wave.shared,
            s.narrow.shared);
}

static void tiles_fit(void **state) {
    size_t checked = 0;
    (void)state;
    for (int op = 0; op < TALLY_USER; op++)
        for (int in = TALLY_I8; in <= TALLY_F64; in++)
            for (int out = TALLY_DEFAULT; out <= TALLY_F64; out++)
                for (int grouping = TALLY_ALL_VALUES; grouping <= TALLY_KEYS; grouping++)
                    for (int index = TALLY_DEFAULT; index <= TALLY_U64; index++) {
                        tally_desc desc = TALLY_DESC_INIT;
                        tally_computation c;
                        desc.op = (tally_op)op;
                        desc.form = TALLY_INCLUSIVE_SCAN;
                        desc.in = (tally_dtype)in;
                        desc.out = (tally_dtype)out;
                        desc.grouping = (tally_grouping)grouping;
                        desc.index = (tally_dtype)index;
                        if (tally_computation_decide(&desc, &c) != TALLY_OK)
                            continue;
                        for (size_t device = 0; device < COUNT_OF(devices); device++)
                            check(&c, device);
                        checked++;
                    }
    assert_true(checked > 10000);
}

enum { FAR_MORE = 64 /* than a plan has texts */ };

static void texts_fit(void **state) {
    static const unsigned flags[] = {0,
                                     TALLY_SKIP_NAN,
                                     TALLY_SIZE_ON_DEVICE,
                                     TALLY_WORDS_IN,
                                     TALLY_WORDS_OUT,
                                     TALLY_SKIP_NAN | TALLY_SIZE_ON_DEVICE};
    size_t checked = 0;
    (void)state;
    for (int op = 0; op < TALLY_USER; op++)
        for (int in = TALLY_I8; in <= TALLY_F64; in++)
            for (int grouping = TALLY_ALL_VALUES; grouping <= TALLY_LABELS; grouping++)
                for (int form = TALLY_REDUCE; form <= TALLY_EXCLUSIVE_SCAN; form++)
                    for (int mode = TALLY_FAST; mode <= TALLY_EXACT; mode++)
                        for (size_t f = 0; f < COUNT_OF(flags); f++) {
                            tally_desc desc = TALLY_DESC_INIT;
                            tally_computation c;
                            desc.op = (tally_op)op;
                            desc.form = (tally_form)form;
                            desc.mode = (tally_mode)mode;
                            desc.in = (tally_dtype)in;
                            desc.grouping = (tally_grouping)grouping;
                            desc.flags = flags[f];
                            if (tally_computation_decide(&desc, &c) != TALLY_OK)
                                continue;
                            for (size_t device = 0; device < COUNT_OF(devices); device++) {
                                const char *const *parts[FAR_MORE];
                                tally_cuda_sizes sizes;
                                tally_cuda_sizes_of(&c, devices[device].architecture, &sizes);
                                const size_t count = tally_cuda_parts_of(&c, &sizes, parts);
                                size_t texts = 0;
                                for (size_t part = 0; part < count; part++)
                                    for (size_t k = 0; k < TALLY_CUDA_KERNELS; k++)
                                        texts += tally_cuda_part_has(parts[part], k);
                                if (count > TALLY_CUDA_MOST_PARTS || texts > TALLY_CUDA_MOST_TEXTS)
                                    fail_msg("%s of %s, grouping %d, form %d: %zu texts", tally_op_name(desc.op),
                                             tally_dtype_name(desc.in), grouping, form, texts);
                            }
                            checked++;
                        }
    assert_true(checked > 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_fit), cmocka_unit_test(texts_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
