/* States of groups in words, made on the GPU of many elements: those that do not round have the CPU's words, the others
 * turn into the CPU's values, and all have the same bits twice. Groups are one long segment, equal ones of several
 * lengths, millions of empty ones at one place, runs of keys, and labels. Then the states are combined by runs of
 * keys. The first argument is the number of elements, others are the operators. */
#include "gpu.h"

#include <math.h>
#include <string.h>

static uint64_t elements = UINT64_C(1) << 22;
static char **operators; /* ends with NULL; none: all */

typedef struct example {
    tally_op op;
    tally_dtype in;
    unsigned flags;
    bool rounds;
} example;

static const example examples[] = {
    {TALLY_SUM, TALLY_F32, 0, true},
    {TALLY_VAR, TALLY_F64, TALLY_SKIP_NAN, true},
    {TALLY_KURTOSIS, TALLY_F32, 0, true},
    {TALLY_MEAN, TALLY_F32, TALLY_SKIP_NAN, true},
    {TALLY_LOGSUMEXP, TALLY_F64, 0, true},
    {TALLY_SUM, TALLY_I8, 0, false},
    {TALLY_ARGMIN, TALLY_I32, 0, false},
    {TALLY_MINMAX, TALLY_U8, 0, false},
    {TALLY_MAX, TALLY_F16, TALLY_SKIP_NAN, false},
};

typedef struct layout {
    const char *name;
    tally_grouping grouping;
    uint64_t groups, each; /* 'each' elements on average */
    bool has_empty;        /* as many as a tenth of the elements, in the middle */
} layout;

/* ---- data ---- */

typedef struct input {
    void *x;
    int64_t *index; /* offsets, keys or labels */
    uint64_t groups;
} input;

static void *of_random(tally_dtype type, uint64_t n, bool has_nans) {
    uint64_t seed = 3;
    char *const x = malloc(n * tally_dtype_size(type));
    assert_non_null(x);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t bits = random_bits(&seed);
        const int32_t four = (int32_t)(bits % 2000001) - 1000000;
        const double real = has_nans && bits >> 60 == 3 ? NAN : (double)four * 0x1p-18;
        const float single = (float)real;
        const uint16_t half = (uint16_t)(has_nans && bits >> 60 == 3 ? 0x7e00 : 0x3c00 + bits % 1024);
        const uint8_t one = (uint8_t)bits;
        const size_t bytes = tally_dtype_size(type);
        memcpy(x + i * bytes,
               bytes == 8          ? (const void *)&real
               : bytes == 2        ? (const void *)&half
               : bytes == 1        ? (const void *)&one
               : type == TALLY_I32 ? (const void *)&four
                                   : (const void *)&single,
               bytes);
    }
    return x;
}

static input make(const example *e, const layout *l) {
    const uint64_t empty = l->has_empty ? elements / 10 : 0;
    uint64_t seed = 5, at = 0;
    input i = {.x = of_random(e->in, elements, e->flags & TALLY_SKIP_NAN)};
    i.groups = l->each ? elements / l->each + 1 + empty : l->groups;
    i.index = calloc((l->grouping == TALLY_SEGMENTS ? i.groups : elements) + 1, sizeof *i.index);
    assert_non_null(i.index);
    if (l->grouping == TALLY_SEGMENTS)
        for (uint64_t g = 1; g <= i.groups; g++) {
            const bool is_empty = g > i.groups / 3 && g <= i.groups / 3 + empty;
            at += is_empty ? 0 : l->each ? 1 + random_below(&seed, 2 * l->each - 1) : elements;
            i.index[g] = (int64_t)(g == i.groups || at > elements ? elements : at);
        }
    for (uint64_t k = 0; k < elements && l->grouping != TALLY_SEGMENTS; k++)
        i.index[k] = l->grouping == TALLY_LABELS ? (int64_t)random_below(&seed, i.groups)
                     : !k                        ? 0
                                                 : i.index[k - 1] + !random_below(&seed, l->each);
    if (l->grouping == TALLY_KEYS)
        i.groups = (uint64_t)i.index[elements - 1] + 1;
    return i;
}

/* ---- runs ---- */

/* Results of 'bytes' bytes in the host's memory. */
static void *run_on(tally_device *device, const tally_desc *desc, const input *i, size_t bytes) {
    const size_t indices = ((desc->grouping == TALLY_SEGMENTS ? i->groups + 1 : elements)) * sizeof *i->index;
    tally_args args = TALLY_ARGS_INIT;
    void *x, *index, *out, *const result = malloc(bytes + 1);
    uint64_t runs = i->groups;
    assert_non_null(result);
    assert_ok(tally_alloc(device, elements * tally_dtype_size(desc->in), &x));
    assert_ok(tally_copy(device, x, i->x, elements * tally_dtype_size(desc->in)));
    assert_ok(tally_alloc(device, indices, &index));
    assert_ok(tally_copy(device, index, i->index, indices));
    assert_ok(tally_alloc(device, bytes + 1, &out));
    args.shape = (tally_shape){1, elements, 1, i->groups};
    args.x = x;
    args.offsets = args.keys = args.labels = index;
    args.out = out;
    args.out_bytes = bytes;
    args.count = &runs;
    assert_ok(run_desc(device, desc, &args));
    assert_int_equal(runs, i->groups);
    assert_ok(tally_copy(device, result, out, bytes));
    tally_free(device, x);
    tally_free(device, index);
    tally_free(device, out);
    return result;
}

/* Combines 'states' states, as neighbours that 'keys' joins or each alone, to values of the CPU or to states. */
static void *combine_on(tally_device *device, const tally_desc *plain, const int64_t *words, uint64_t states,
                        const int64_t *keys, uint64_t groups, bool to_states) {
    tally_words_info info = {.struct_size = sizeof info};
    tally_desc desc = *plain, described = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan;
    size_t each;
    void *x, *index = NULL, *out;
    uint64_t runs = groups;
    desc.grouping = keys ? TALLY_KEYS : TALLY_AXIS;
    desc.flags = TALLY_WORDS_IN | (to_states ? TALLY_WORDS_OUT : 0u);
    desc.out = to_states ? TALLY_DEFAULT : plain->out;
    assert_ok(tally_words_describe(plain, &info));
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_plan_describe(plan, &described, &each));
    tally_plan_destroy(plan);
    const size_t bytes = groups * tally_dtype_size(described.out) * each, all = states * info.count * sizeof *words;
    void *const result = malloc(bytes);
    assert_non_null(result);
    assert_ok(tally_alloc(device, all, &x));
    assert_ok(tally_copy(device, x, words, all));
    assert_ok(tally_alloc(device, bytes, &out));
    if (keys) {
        assert_ok(tally_alloc(device, states * sizeof *keys, &index));
        assert_ok(tally_copy(device, index, keys, states * sizeof *keys));
    }
    args.shape = keys ? (tally_shape){1, states, 1, 0} : (tally_shape){1, 1, states, 0};
    args.x = x;
    args.keys = index;
    args.out = out;
    args.out_bytes = bytes;
    args.count = &runs;
    assert_ok(run_desc(device, &desc, &args));
    assert_int_equal(runs, groups);
    assert_ok(tally_copy(device, result, out, bytes));
    tally_free(device, x);
    tally_free(device, index);
    tally_free(device, out);
    return result;
}

/* ---- the test ---- */

static const layout layouts[] = {
    {"one segment", TALLY_SEGMENTS, 1, 0, false},
    {"segments of 3", TALLY_SEGMENTS, 0, 3, false},
    {"segments of 50", TALLY_SEGMENTS, 0, 50, false},
    {"segments of 3000, and empty ones", TALLY_SEGMENTS, 0, 3000, true},
    {"keys, runs of 7", TALLY_KEYS, 0, 7, false},
    {"keys, runs of 5000", TALLY_KEYS, 0, 5000, false},
    {"labels", TALLY_LABELS, 1000, 0, false},
};

static void compare_values(const example *e, const layout *l, const tally_desc *desc, const int64_t *words,
                           const int64_t *expected_words, uint64_t groups) {
    double *const got = combine_on(cpu, desc, words, groups, NULL, groups, false);
    double *const expected = combine_on(cpu, desc, expected_words, groups, NULL, groups, false);
    for (uint64_t g = 0; g < groups; g++)
        if (got[g] != expected[g] &&
            !(fabs(got[g] - expected[g]) <= 1e-11 * (fabs(expected[g]) + 1) || (isnan(got[g]) && isnan(expected[g]))))
            fail_msg("%s of %s, %s: group %llu: %.17g, the CPU's %.17g", tally_op_name(e->op), tally_dtype_name(e->in),
                     l->name, (unsigned long long)g, got[g], expected[g]);
    free(got);
    free(expected);
}

/* The states of the groups, combined by keys that join up to some hundred neighbours. */
static void combine_neighbours(const example *e, const layout *l, const tally_desc *desc, const int64_t *words,
                               uint64_t groups) {
    tally_words_info info = {.struct_size = sizeof info};
    uint64_t seed = 9;
    int64_t *const keys = calloc(groups, sizeof *keys);
    assert_ok(tally_words_describe(desc, &info));
    for (uint64_t g = 1; g < groups; g++)
        keys[g] = keys[g - 1] + !random_below(&seed, 300);
    const uint64_t joined = (uint64_t)keys[groups - 1] + 1;
    int64_t *const got = combine_on(gpu, desc, words, groups, keys, joined, true);
    int64_t *const expected = combine_on(cpu, desc, words, groups, keys, joined, true);
    if (e->rounds)
        compare_values(e, l, desc, got, expected, joined);
    else
        assert_memory_equal(got, expected, joined * info.count * sizeof *got);
    free(got);
    free(expected);
    free(keys);
}

static void check(const example *e, const layout *l) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_words_info info = {.struct_size = sizeof info};
    desc.op = e->op;
    desc.in = e->in;
    desc.acc = e->rounds ? TALLY_F64 : TALLY_DEFAULT;
    desc.out = e->rounds ? TALLY_F64 : TALLY_DEFAULT;
    desc.flags = e->flags;
    const tally_desc plain = desc;
    desc.grouping = l->grouping;
    desc.flags |= TALLY_WORDS_OUT;
    desc.out = TALLY_DEFAULT;
    if (tally_supports(gpu, &desc) == TALLY_UNSUPPORTED && l->grouping == TALLY_LABELS)
        return;
    assert_ok(tally_words_describe(&desc, &info));
    input i = make(e, l);
    const size_t bytes = i.groups * info.count * sizeof(int64_t);
    int64_t *const words = run_on(gpu, &desc, &i, bytes), *const again = run_on(gpu, &desc, &i, bytes);
    int64_t *const expected = run_on(cpu, &desc, &i, bytes);
    assert_memory_equal(words, again, bytes);
    tally_desc values = plain;
    values.flags = 0;
    if (e->rounds)
        compare_values(e, l, &values, words, expected, i.groups);
    else if (memcmp(words, expected, bytes) != 0)
        fail_msg("%s of %s, %s: not the CPU's words", tally_op_name(e->op), tally_dtype_name(e->in), l->name);
    combine_neighbours(e, l, &values, words, i.groups);
    free(words);
    free(again);
    free(expected);
    free(i.x);
    free(i.index);
}

static bool is_chosen(tally_op op) {
    for (char **name = operators; *name; name++)
        if (strcmp(*name, tally_op_name(op)) == 0)
            return true;
    return !*operators;
}

static void states_of_many_elements(void **state) {
    (void)state;
    for (size_t e = 0; e < COUNT_OF(examples); e++)
        for (size_t l = 0; l < COUNT_OF(layouts) && is_chosen(examples[e].op); l++)
            check(&examples[e], &layouts[l]);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(states_of_many_elements)};
    if (argc > 1)
        elements = strtoull(argv[1], NULL, 10);
    operators = argc > 2 ? argv + 2 : argv + argc;
    const int code = open_devices();
    return code ? code : close_devices(cmocka_run_group_tests_name("group words", tests, NULL, NULL));
}
