/* Random reductions and scans by segments and keys have the results of the CPU: operators, types, lengths from a few
 * elements to all of them, empty segments, elements that belong to none, odd addresses; and floats of which some are
 * far from the others, infinite or NaN. Bad offsets are refused, and nothing is written. Arguments: rounds, the most
 * elements, the first seed. */
#include "gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAST = 6, /* elements by which inputs and results may be off an aligned address */
    FILL = 0x5a,
    ALIGNMENT = 256 /* of workspaces */
};

static size_t rounds = 60, most = 8000000;
static uint64_t first_seed = 1;

static const tally_op ops[] = {TALLY_SUM,    TALLY_MEAN,   TALLY_NORM2, TALLY_MIN,     TALLY_MAX,       TALLY_ARGMIN,
                               TALLY_ARGMAX, TALLY_MINMAX, TALLY_ANY,   TALLY_ALL,     TALLY_LOGSUMEXP, TALLY_VAR,
                               TALLY_STD,    TALLY_DOT,    TALLY_BXOR,  TALLY_NORM_INF};
static const tally_dtype types[] = {TALLY_I8,  TALLY_U16,  TALLY_I32, TALLY_I64,
                                    TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64},
                         indices[] = {TALLY_I16, TALLY_I32, TALLY_I64, TALLY_U32, TALLY_U64};

typedef struct sample {
    uint64_t seed;
    tally_desc desc;
    size_t n, groups, size, index_size, out_size; /* bytes of an element, an index and a result */
    size_t results;
    uint64_t *offsets;
    char *x, *y, *index;
    bool may_be_empty;
    double largest; /* finite element of a logsumexp */
} sample;

/* ---- data ---- */

static void make_offsets(sample *s) {
    const bool are_keys = s->desc.grouping == TALLY_KEYS;
    const double mean = (double)log_uniform(&s->seed, s->n) + (double)s->n / 200000;
    const uint64_t kind = random_below(&s->seed, 3);
    const size_t room = (size_t)(4 * (double)s->n / mean) + 1000;
    const size_t end = are_keys || random_below(&s->seed, 3) ? s->n : s->n - random_below(&s->seed, s->n);
    size_t at = are_keys || random_below(&s->seed, 3) ? 0 : random_below(&s->seed, end / 2 + 1);
    s->offsets = malloc((room + 2) * sizeof *s->offsets);
    s->offsets[s->groups = 0] = at;
    while (at < end && s->groups < room) {
        const double u = 1 - random_real(&s->seed);
        const double length = kind == 0 ? mean : kind == 1 ? -log(u) * mean : mean / 3 / pow(u, 2.0 / 3);
        size_t some = length < (double)(end - at) ? (size_t)length : end - at;
        some = some || s->may_be_empty ? some : 1;
        at += some;
        s->offsets[++s->groups] = at;
    }
    if (are_keys && at < s->n)
        s->offsets[++s->groups] = s->n;
    if (!s->groups)
        s->offsets[++s->groups] = at + !s->may_be_empty;
}

/* The bits of a half that has the same value. There is one, and it is a normal number, 0 or not finite. */
static uint16_t half_of(uint32_t single) {
    const uint32_t exponent = single >> 23 & 255, sign = single >> 16 & 0x8000, fraction = single >> 13 & 1023;
    return (uint16_t)(sign | (exponent == 255 ? 0x7c00 | fraction : exponent ? (exponent - 112) << 10 | fraction : 0));
}

static void make_elements(sample *s, char *to) {
    const bool far = random_below(&s->seed, 2), strange = random_below(&s->seed, 4) == 0;
    const bool is_float = s->desc.in == TALLY_F16 || s->desc.in == TALLY_BF16;
    if (to == s->x)
        s->largest = far ? 640 : 4;
    for (size_t k = 0; k < s->n + PAST; k++) {
        const uint64_t bits = random_bits(&s->seed) >> (s->desc.op == TALLY_ANY ? 62 : 0);
        const uint64_t integer = s->desc.op == TALLY_LOGSUMEXP && !far ? bits % 33 : bits;
        double real = (double)(int)(bits % 33) - 16;
        if (s->desc.op == TALLY_LOGSUMEXP)
            real *= far ? 40 : 0.25;
        if (s->desc.op == TALLY_LOGSUMEXP && strange && (bits >> 8 & 4095) == 0)
            real = bits >> 20 & 1 ? INFINITY : bits >> 21 & 1 ? -INFINITY : (double)NAN;
        const float single = (float)real;
        uint32_t word;
        memcpy(&word, &single, 4);
        const uint16_t half = s->desc.in == TALLY_F16 ? half_of(word) : (uint16_t)(word >> 16);
        const void *from = s->desc.in == TALLY_F64    ? (const void *)&real
                           : s->desc.in == TALLY_F32  ? (const void *)&single
                           : s->size == 2 && is_float ? (const void *)&half
                                                      : (const void *)&integer;
        memcpy(to + k * s->size, from, s->size);
    }
}

static bool make_sample(sample *s, uint64_t seed) {
    *s = (sample){.seed = seed};
    s->desc = (tally_desc){.struct_size = sizeof s->desc,
                           .op = ops[random_below(&s->seed, COUNT_OF(ops))],
                           .grouping = random_below(&s->seed, 3) ? TALLY_SEGMENTS : TALLY_KEYS,
                           .in = types[random_below(&s->seed, COUNT_OF(types))],
                           .index = indices[random_below(&s->seed, COUNT_OF(indices))]};
    const tally_op op = s->desc.op;
    const uint64_t form = random_below(&s->seed, 4);
    const bool is_scan = form < 2;
    s->desc.form = is_scan ? form ? TALLY_INCLUSIVE_SCAN : TALLY_EXCLUSIVE_SCAN : TALLY_REDUCE;
    s->desc.flags = is_scan && random_below(&s->seed, 3) == 0 ? TALLY_REVERSE : 0;
    const bool are_halves = s->desc.in == TALLY_F16 && !is_scan && (op == TALLY_VAR || op == TALLY_STD);
    if ((s->desc.in == TALLY_BF16 || s->desc.in == TALLY_F16) && !are_halves && op != TALLY_ARGMIN &&
        op != TALLY_ARGMAX && op != TALLY_ANY && op != TALLY_ALL)
        s->desc.out = TALLY_F64;
    const bool is_too_narrow = s->desc.grouping == TALLY_SEGMENTS && s->desc.index == TALLY_I16; /* for an offset */
    if (is_too_narrow || tally_supports(gpu, &s->desc) != TALLY_OK)
        return false;
    s->may_be_empty =
        s->desc.grouping == TALLY_SEGMENTS && (is_scan || (op != TALLY_MIN && op != TALLY_MAX && op != TALLY_MINMAX &&
                                                           op != TALLY_ARGMIN && op != TALLY_ARGMAX));
    s->n = random_below(&s->seed, 4) ? most - random_below(&s->seed, most / 2) : log_uniform(&s->seed, most);
    s->size = tally_dtype_size(s->desc.in);
    s->index_size = tally_dtype_size(s->desc.index);
    make_offsets(s);
    s->results = is_scan ? s->n : s->groups;
    s->x = malloc((s->n + PAST) * s->size);
    s->y = malloc((s->n + PAST) * s->size);
    make_elements(s, s->x);
    make_elements(s, s->y);
    const bool are_keys = s->desc.grouping == TALLY_KEYS;
    s->index = malloc((are_keys ? s->n : s->groups + 1) * s->index_size);
    for (size_t g = 0; are_keys && g < s->groups; g++)
        for (uint64_t k = s->offsets[g], key = 3 * g; k < s->offsets[g + 1]; k++)
            memcpy(s->index + k * s->index_size, &key, s->index_size);
    for (size_t g = 0; !are_keys && g <= s->groups; g++)
        memcpy(s->index + g * s->index_size, &s->offsets[g], s->index_size);
    return true;
}

/* ---- the comparison ---- */

/* The workspace is made on that device and is full of ones. With NULL the plan takes its own. */
static tally_status run_in(tally_device *workspace_on, const sample *s, tally_plan *plan, const char *x, const char *y,
                           const char *index, char *out, char *keys_out) {
    const bool are_keys = s->desc.grouping == TALLY_KEYS;
    tally_args args = {.struct_size = sizeof args,
                       .shape = {1, s->n, 1, are_keys ? 0 : s->groups},
                       .x = x,
                       .y = s->desc.op == TALLY_DOT ? y : NULL,
                       .offsets = are_keys ? NULL : index,
                       .keys = are_keys ? index : NULL,
                       .out = out,
                       .out_bytes = s->results * s->out_size,
                       .keys_out = keys_out,
                       .keys_out_bytes = keys_out ? s->results * s->index_size : 0};
    if (!workspace_on)
        return tally_run(plan, &args, NULL);
    assert_ok(tally_plan_workspace(plan, &args.shape, &args.workspace_bytes));
    char *const ones = malloc(args.workspace_bytes + 1);
    memset(ones, -1, args.workspace_bytes);
    void *there;
    assert_ok(tally_alloc(workspace_on, args.workspace_bytes + ALIGNMENT, &there));
    args.workspace = (char *)there + -(uintptr_t)there % ALIGNMENT;
    assert_ok(tally_copy(workspace_on, args.workspace, ones, args.workspace_bytes));
    const tally_status status = tally_run(plan, &args, NULL);
    tally_free(workspace_on, there);
    free(ones);
    return status;
}

static tally_status run(const sample *s, tally_plan *plan, const char *x, const char *y, const char *index, char *out,
                        char *keys_out) {
    return run_in(NULL, s, plan, x, y, index, out, keys_out);
}

static bool is_near(const sample *s, tally_dtype type, const char *a, const char *b) {
    double wanted, given;
    float singles[2];
    memcpy(&wanted, a, 8 * (type == TALLY_F64)), memcpy(&given, b, 8 * (type == TALLY_F64));
    if (type == TALLY_F32) {
        memcpy(singles, a, 4), memcpy(singles + 1, b, 4);
        wanted = (double)singles[0];
        given = (double)singles[1];
    }
    /* Variances of 16-bit floats may be accumulated in f32 (docs/guide.md, Types). */
    const bool are_singles = type == TALLY_F32 || (s->desc.in == TALLY_BF16 && s->desc.op != TALLY_SUM) ||
                             (s->desc.in == TALLY_F16 && (s->desc.op == TALLY_VAR || s->desc.op == TALLY_STD));
    double error = are_singles ? 1e-5 * (fabs(wanted) + 30) : 1e-11 * (fabs(wanted) + 1e-2);
    if (s->desc.op == TALLY_MEAN && s->desc.in == TALLY_I64) /* one of numbers up to 2^63, in 53 bits */
        error += 0x1p10;
    /* Exponentials may be those of f32, also where the result is f64 (docs/guide.md, Types). */
    if (s->desc.op == TALLY_LOGSUMEXP &&
        (s->desc.in == TALLY_F16 || s->desc.in == TALLY_BF16 || s->desc.in == TALLY_F32))
        error = 0x1p-21 * (1 + s->largest + fabs(wanted));
    return wanted == given || (isnan(wanted) && isnan(given)) || (isfinite(wanted) && fabs(wanted - given) <= error);
}

/* Whether two halves, which are not negative, are equal or next to each other: a variance that is computed in another
 * order may be. */
static bool are_neighbours(const char *a, const char *b) {
    uint16_t halves[2];
    memcpy(halves, a, 2), memcpy(halves + 1, b, 2);
    return abs(halves[0] - halves[1]) <= 1;
}

static bool are_near(const sample *s, tally_dtype type, uint64_t seed, const char *wanted, const char *given) {
    const size_t size = tally_dtype_size(type), count = s->results * s->out_size / size;
    for (size_t k = 0; k < count; k++) {
        const char *a = wanted + k * size, *b = given + k * size;
        if (type == TALLY_F32 || type == TALLY_F64 ? is_near(s, type, a, b)
            : type == TALLY_F16                    ? are_neighbours(a, b)
                                                   : memcmp(a, b, size) == 0)
            continue;
        uint64_t bits[2] = {0, 0};
        memcpy(bits, a, size), memcpy(bits + 1, b, size);
        print_error("seed %llu: %s of %s by %s, form %d, %zu elements: result %zu of %zu is %llx instead of %llx\n",
                    (unsigned long long)seed, tally_op_name(s->desc.op), tally_dtype_name(s->desc.in),
                    tally_grouping_name(s->desc.grouping), (int)s->desc.form, s->n, k, count,
                    (unsigned long long)bits[1], (unsigned long long)bits[0]);
        return false;
    }
    return true;
}

/* Whether each run's key is there. */
static bool are_keys(const sample *s, uint64_t seed, const char *keys_out) {
    char *const given = malloc(s->results * s->index_size);
    assert_ok(tally_copy(gpu, given, keys_out, s->results * s->index_size));
    size_t g = 0;
    while (g < s->results &&
           memcmp(given + g * s->index_size, s->index + s->offsets[g] * s->index_size, s->index_size) == 0)
        g++;
    free(given);
    if (g < s->results)
        print_error("seed %llu: key %zu of %zu is wrong\n", (unsigned long long)seed, g, s->results);
    return g == s->results;
}

/* Breaks an offset, and expects that nothing is written, whatever stands in the workspace. */
static void are_refused(sample *s, tally_plan *plan, const char *x, const char *y, char *index, char *out,
                        char *scratch) {
    const size_t bytes = s->results * s->out_size, where = random_below(&s->seed, s->groups + 1);
    const uint64_t bad = random_below(&s->seed, 2) ? UINT64_MAX : s->n + 1 + random_below(&s->seed, 9);
    memset(scratch, FILL, bytes);
    assert_ok(tally_copy(gpu, out, scratch, bytes));
    assert_ok(tally_copy(gpu, index + where * s->index_size, &bad, s->index_size));
    assert_int_equal(run_in(gpu, s, plan, x, y, index, out, NULL), TALLY_BAD_OFFSETS);
    assert_ok(tally_copy(gpu, scratch, out, bytes));
    for (size_t k = 0; k < bytes; k++)
        assert_int_equal(scratch[k], FILL);
}

static void groups_have_the_cpus_results(void **state) {
    (void)state;
    size_t wrong = 0;
    for (uint64_t seed = first_seed; seed < first_seed + rounds; seed++) {
        sample s;
        tally_plan *plans[2];
        tally_desc whole = {.struct_size = sizeof whole};
        size_t per_result;
        if (!make_sample(&s, seed))
            continue;
        assert_ok(tally_plan_create(cpu, &s.desc, &plans[0]));
        assert_ok(tally_plan_create(gpu, &s.desc, &plans[1]));
        assert_ok(tally_plan_describe(plans[0], &whole, &per_result));
        s.out_size = per_result * tally_dtype_size(whole.out);
        const size_t bytes = s.results * s.out_size, index_bytes = s.desc.grouping == TALLY_KEYS ? s.n : s.groups + 1;
        const size_t off = random_below(&s.seed, 2) * random_below(&s.seed, PAST) * s.size,
                     out_off = random_below(&s.seed, 2) * random_below(&s.seed, PAST) * tally_dtype_size(whole.out);
        char *wanted = malloc(bytes), *given = malloc(bytes), *x = upload(s.x, (s.n + PAST) * s.size),
             *y = upload(s.y, (s.n + PAST) * s.size), *indices_there = room(index_bytes * s.index_size + PAST),
             *index = indices_there + random_below(&s.seed, 2) * random_below(&s.seed, PAST),
             *out = room(bytes + out_off);
        const bool gives_keys =
            s.desc.grouping == TALLY_KEYS && s.desc.form == TALLY_REDUCE && random_below(&s.seed, 4);
        char *const keys_there = room(s.results * s.index_size + PAST), *const keys_out =
                                                                            gives_keys
                                                                                ? keys_there +
                                                                                      random_below(&s.seed, 8) / 7
                                                                                : NULL;
        assert_ok(tally_copy(gpu, index, s.index, index_bytes * s.index_size));
        memset(wanted, FILL, bytes); /* scans do not write outside of all segments */
        assert_ok(tally_copy(gpu, out + out_off, wanted, bytes));
        assert_ok(run(&s, plans[0], s.x + off, s.y + off, s.index, wanted, NULL));
        assert_ok(run(&s, plans[1], x + off, y + off, index, out + out_off, keys_out));
        assert_ok(tally_copy(gpu, given, out + out_off, bytes));
        wrong += !are_near(&s, whole.out, seed, wanted, given) || (gives_keys && !are_keys(&s, seed, keys_out));
        if (s.desc.grouping == TALLY_SEGMENTS && random_below(&s.seed, 4) == 0)
            are_refused(&s, plans[1], x + off, y + off, index, out + out_off, given);
        tally_plan_destroy(plans[0]), tally_plan_destroy(plans[1]);
        tally_free(gpu, x), tally_free(gpu, y), tally_free(gpu, indices_there), tally_free(gpu, out);
        tally_free(gpu, keys_there);
        free(s.offsets), free(s.x), free(s.y), free(s.index), free(wanted), free(given);
    }
    assert_int_equal(wrong, 0);
}

/* To such an offset 1 must not be added, as operators do that refuse empty segments. */
static void offsets_of_all_ones_are_refused(void **state) {
    (void)state;
    static const tally_op refusing[] = {TALLY_MIN, TALLY_ARGMAX, TALLY_MINMAX};
    static const struct {
        size_t n, length;
    } shapes[] = {
        {200000, 10}, {300000, 100}, {20000000, 100}}; /* of each way that checks offsets in a launch before */
    for (size_t k = 0; k < COUNT_OF(refusing) * COUNT_OF(shapes) * 2; k++) {
        const size_t n = shapes[k / 2 % COUNT_OF(shapes)].n, length = shapes[k / 2 % COUNT_OF(shapes)].length;
        const bool is_wide = k % 2;
        const size_t size = is_wide ? 8 : 4, groups = n / length, places[] = {0, 1, 3, 5, groups / 2 + 1, groups - 1};
        if (n > most)
            continue;
        tally_desc desc = {.struct_size = sizeof desc,
                           .op = refusing[k / 2 / COUNT_OF(shapes)],
                           .grouping = TALLY_SEGMENTS,
                           .in = TALLY_F32,
                           .index = is_wide ? TALLY_I64 : TALLY_I32};
        tally_plan *plan;
        assert_ok(tally_plan_create(gpu, &desc, &plan));
        const size_t bytes = groups * 8;
        char *offsets = malloc((groups + 1) * size), *found = malloc(bytes), *untouched = malloc(bytes);
        assert_true(offsets && found && untouched);
        for (uint64_t g = 0, at = 0; g <= groups; g++, at += length)
            memcpy(offsets + g * size, &at, size);
        memset(untouched, FILL, bytes);
        float *zeros = calloc(n, sizeof *zeros);
        char *const x = upload(zeros, n * sizeof *zeros), *const index = room((groups + 1) * size),
                    *const out = upload(untouched, bytes);
        for (size_t p = 0; p < COUNT_OF(places); p++) {
            const uint64_t ones = UINT64_MAX;
            const tally_args args = {.struct_size = sizeof args,
                                     .shape = {1, n, 1, groups},
                                     .x = x,
                                     .offsets = index,
                                     .out = out,
                                     .out_bytes = bytes};
            assert_ok(tally_copy(gpu, index, offsets, (groups + 1) * size));
            assert_ok(tally_copy(gpu, index + places[p] * size, &ones, size));
            const tally_status status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
            assert_ok(tally_copy(gpu, found, out, bytes));
            if (status != TALLY_BAD_OFFSETS || memcmp(found, untouched, bytes) != 0)
                fail_msg("%s of %zu by segments of %zu, offset %zu: %s", tally_op_name(desc.op), n, length, places[p],
                         status == TALLY_BAD_OFFSETS ? "the output was touched" : tally_status_name(status));
        }
        tally_plan_destroy(plan);
        tally_free(gpu, x), tally_free(gpu, index), tally_free(gpu, out);
        free(offsets), free(found), free(untouched), free(zeros);
    }
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : rounds;
    most = argc > 2 ? strtoull(argv[2], NULL, 10) : most;
    first_seed = argc > 3 ? strtoull(argv[3], NULL, 10) : first_seed;
    const int code = open_devices();
    if (code)
        return close_devices(code);
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_have_the_cpus_results),
                                       cmocka_unit_test(offsets_of_all_ones_are_refused)};
    return close_devices(cmocka_run_group_tests_name("random groups", tests, NULL, NULL));
}
