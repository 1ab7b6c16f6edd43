/* Segments and runs of keys that are long on average, some short or empty among them, have the results of the CPU; so
 * have segments that are short on average, with many empty and some long ones among them:
 * wherever groups begin and end, at odd addresses, and where the last elements belong to no segment. Bad offsets among
 * them are refused, and nothing is written. An argument is the number of elements. */
#include "gpu.h"

#include <math.h>
#include <string.h>

enum { OFF = 3 /* elements by which inputs and results are not aligned, and elements before the first segment */ };

static size_t n = 1 << 23;

typedef struct example {
    const char *name;
    tally_op op;
    tally_grouping grouping;
    tally_dtype in, out;
    bool are_short;
} example;

/* Whole numbers as elements; what is chosen is the same in any order, and variances are compared nearly. */
static const example examples[] = {
    {"sums of u8 by segments", TALLY_SUM, TALLY_SEGMENTS, TALLY_U8, TALLY_U64, false},
    {"argmax of i16 by segments", TALLY_ARGMAX, TALLY_SEGMENTS, TALLY_I16, TALLY_I64, false},
    {"var of i32 by segments", TALLY_VAR, TALLY_SEGMENTS, TALLY_I32, TALLY_F64, false},
    {"sums of i64 by segments", TALLY_SUM, TALLY_SEGMENTS, TALLY_I64, TALLY_I64, false},
    {"argmin of i32 by keys", TALLY_ARGMIN, TALLY_KEYS, TALLY_I32, TALLY_I64, false},
    {"std of i8 by keys", TALLY_STD, TALLY_KEYS, TALLY_I8, TALLY_F64, false},
    {"logsumexp of i16 by keys", TALLY_LOGSUMEXP, TALLY_KEYS, TALLY_I16, TALLY_F64, false},
    {"sums of i32 by short segments", TALLY_SUM, TALLY_SEGMENTS, TALLY_I32, TALLY_I64, true},
    {"argmax of i16 by short segments", TALLY_ARGMAX, TALLY_SEGMENTS, TALLY_I16, TALLY_I64, true},
    {"means of u8 by short segments", TALLY_MEAN, TALLY_SEGMENTS, TALLY_U8, TALLY_F64, true},
    {"min of i64 by short segments", TALLY_MIN, TALLY_SEGMENTS, TALLY_I64, TALLY_I64, true},
};

/* Offsets of groups: mostly long ones, with short and empty ones in between; keys have no empty ones. */
static size_t make_long(int64_t *offsets, bool are_segments, uint64_t seed) {
    size_t groups = 0, at = are_segments ? OFF : 0, end = are_segments ? n - OFF : n;
    offsets[0] = (int64_t)at;
    while (at < end) {
        const uint64_t kind = random_below(&seed, 16);
        size_t length = kind < 2 && are_segments ? 0
                        : kind < 8               ? 1 + random_below(&seed, 40)
                                                 : random_below(&seed, 9000) + 1;
        length = length < end - at ? length : end - at;
        at += length;
        offsets[++groups] = (int64_t)at;
    }
    return groups;
}

/* Up to three elements a segment, and now and then a thousand or so, or as many empty ones as several tiles have. */
static size_t make_short(int64_t *offsets, size_t most, uint64_t seed) {
    size_t groups = 0, at = OFF;
    const size_t end = n - OFF;
    offsets[0] = OFF;
    while (at < end && groups < most) {
        const uint64_t kind = random_below(&seed, 20000);
        size_t length = kind == 0  ? random_below(&seed, 30000)
                        : kind < 5 ? random_below(&seed, 2000)
                                   : random_below(&seed, 4);
        length = length < end - at ? length : end - at;
        for (size_t k = kind == 5 ? random_below(&seed, 9000) : 0; k && groups + 1 < most; k--)
            offsets[++groups] = (int64_t)at;
        at += length;
        offsets[++groups] = (int64_t)at;
    }
    return groups;
}

static void run(tally_plan *plan, const example *e, const char *x, const int64_t *index, size_t groups, void *out,
                void *keys_out, tally_status expected) {
    const bool are_keys = e->grouping == TALLY_KEYS;
    const tally_args args = {.struct_size = sizeof args,
                             .shape = {1, n, 1, are_keys ? 0 : groups},
                             .x = x,
                             .offsets = are_keys ? NULL : index,
                             .keys = are_keys ? index : NULL,
                             .out = out,
                             .out_bytes = groups * 8,
                             .keys_out = keys_out,
                             .keys_out_bytes = keys_out ? groups * 8 : 0};
    assert_int_equal(tally_run(plan, &args, NULL), expected);
}

static void groups_have_the_cpus_results(void **state) {
    const example *e = *state;
    const bool are_keys = e->grouping == TALLY_KEYS, are_near = e->out == TALLY_F64;
    const tally_desc desc = {.struct_size = sizeof desc,
                             .op = e->op,
                             .grouping = e->grouping,
                             .in = e->in,
                             .out = e->out,
                             .index = TALLY_I64};
    const size_t most = 2 * n, bytes = (most + OFF) * 8;
    int64_t *offsets = malloc(bytes), *index = offsets, *keys = malloc(bytes);
    char *x = malloc(bytes);
    uint64_t seed = 5;
    for (size_t k = 0; k < bytes; k++)
        x[k] = (char)random_bits(&seed);
    const size_t groups = e->are_short ? make_short(offsets, most, 7) : make_long(offsets, !are_keys, 7);
    if (are_keys) {
        for (size_t g = 0; g < groups; g++)
            for (int64_t k = offsets[g]; k < offsets[g + 1]; k++)
                keys[k] = (int64_t)g * 3;
        index = keys;
    }
    const bool is_chosen = e->op == TALLY_ARGMAX || e->op == TALLY_ARGMIN || e->op == TALLY_MIN;
    size_t count = groups;
    if (is_chosen && !are_keys) { /* nothing has no smallest element */
        count = 0;
        for (size_t g = 1; g <= groups; g++)
            if (offsets[g] > offsets[count])
                offsets[++count] = offsets[g];
    }
    double *wanted = malloc(count * 8), *given = malloc(count * 8);
    tally_plan *plans[2];
    assert_ok(tally_plan_create(cpu, &desc, &plans[0]));
    assert_ok(tally_plan_create(gpu, &desc, &plans[1]));
    const size_t size = e->in == TALLY_I64 ? 8 : e->in == TALLY_I32 ? 4 : e->in == TALLY_I16 ? 2 : 1;
    char *on_gpu = upload(x, bytes), *out = room((count + OFF) * 8);
    int64_t *index_on_gpu = upload(index, are_keys ? n * 8 : (count + 1) * 8),
            *keys_out = are_keys ? room(count * 8) : NULL;
    for (size_t off = 0; off <= OFF; off += OFF) {
        run(plans[0], e, x + off * size, index, count, wanted, are_keys ? offsets : NULL, TALLY_OK);
        run(plans[1], e, on_gpu + off * size, index_on_gpu, count, out + off * 8, keys_out, TALLY_OK);
        assert_ok(tally_copy(gpu, given, out + off * 8, count * 8));
        for (size_t g = 0; g < count; g++)
            if (are_near
                    ? !(fabs(given[g] - wanted[g]) <= 1e-11 * fabs(wanted[g])) && !(isnan(given[g]) && isnan(wanted[g]))
                    : memcmp(&given[g], &wanted[g], 8) != 0)
                fail_msg("%zu elements off: group %zu of %zu is wrong", off, g, count);
    }
    if (!are_keys) {
        memset(given, 0x5a, count * 8);
        memcpy(wanted, given, count * 8);
        assert_ok(tally_copy(gpu, out, given, count * 8));
        const int64_t bad = offsets[count / 2] + 20000;
        assert_ok(tally_copy(gpu, index_on_gpu + count / 2, &bad, 8));
        run(plans[1], e, on_gpu, index_on_gpu, count, out, NULL, TALLY_BAD_OFFSETS);
        assert_ok(tally_copy(gpu, given, out, count * 8));
        assert_int_equal(memcmp(given, wanted, count * 8), 0);
    }
    for (int k = 0; k < 2; k++)
        tally_plan_destroy(plans[k]);
    void *freed[] = {on_gpu, out, index_on_gpu, keys_out};
    for (size_t k = 0; k < sizeof freed / sizeof *freed; k++)
        tally_free(gpu, freed[k]);
    free(offsets), free(keys), free(x), free(wanted), free(given);
}

int main(int argc, char **argv) {
    if (argc > 1)
        n = strtoull(argv[1], NULL, 10);
    const int code = open_devices();
    if (code)
        return close_devices(code);
    struct CMUnitTest tests[COUNT_OF(examples)];
    for (size_t k = 0; k < COUNT_OF(examples); k++)
        tests[k] =
            (struct CMUnitTest){examples[k].name, groups_have_the_cpus_results, NULL, NULL, (void *)&examples[k]};
    return close_devices(cmocka_run_group_tests_name("long groups", tests, NULL, NULL));
}
