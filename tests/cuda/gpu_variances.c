/* Running variances of narrow floats by groups are within 0.55 units in the last place of the true ones, whatever the
 * elements: of all magnitudes, near each other and far from zero, equal, one far from the others, infinite or NaN. The
 * kernels have floats for them, whose squares under- and overflow long before doubles' do. */
#include "gpu.h"

#include <math.h>
#include <string.h>

#include "../oracle/number.h"

enum { N = 30000, OFF = 3 /* elements by which inputs and results are not aligned */ };

typedef struct example {
    tally_op op;
    tally_grouping grouping;
    tally_dtype type;
    unsigned flags;
} example;

static const example examples[] = {
    {TALLY_VAR, TALLY_SEGMENTS, TALLY_BF16, 0}, {TALLY_STD, TALLY_SEGMENTS, TALLY_BF16, TALLY_REVERSE},
    {TALLY_STD, TALLY_KEYS, TALLY_BF16, 0},     {TALLY_VAR, TALLY_SEGMENTS, TALLY_F16, TALLY_REVERSE},
    {TALLY_STD, TALLY_SEGMENTS, TALLY_F16, 0},  {TALLY_VAR, TALLY_KEYS, TALLY_F16, 0},
};

/* Elements of a group of one kind. */
static void make_group(tally_dtype type, cell *x, size_t count, uint64_t kinds, uint64_t *seed) {
    const int kind = (int)random_below(seed, kinds), widest = type == TALLY_BF16 ? 120 : 14;
    const double base = kind == 1 ? (double)random_below(seed, 1000) : 0;
    const double scale = ldexp(1, kind == 3 ? (int)random_below(seed, 2 * (uint64_t)widest) - widest : 0);
    for (size_t k = 0; k < count; k++) {
        const double real = (double)(random_bits(seed) >> 12) * 0x1p-52 - 0.5;
        double value = kind == 2 ? 0.1 : base + real * scale;
        if (kind == 4 && k == 0)
            value *= 1000;
        if (kind == 5 && random_below(seed, 300) == 0)
            value = random_below(seed, 2) ? (double)INFINITY : (double)NAN;
        if (kind == 6 && random_below(seed, 50) == 0)
            value *= ldexp(1, widest - 1);
        x[k].d = isfinite(value) ? (double)round_to(type, value) : value;
    }
}

/* Of the elements from the first on; its step is -1 in a scan from the end. */
static int check_group(const example *e, const cell *x, const cell *out, size_t count, int step) {
    long double mean = 0, squares = 0;
    for (size_t k = 0; k < count; k++) {
        const long double away = (long double)x[(ptrdiff_t)k * step].d - mean;
        const double got = out[(ptrdiff_t)k * step].d;
        mean += away / (long double)(k + 1);
        squares += away * ((long double)x[(ptrdiff_t)k * step].d - mean);
        long double want = squares / (long double)(k + 1);
        if (e->op == TALLY_STD)
            want = sqrtl(want);
        const bool is_far = fabsl(want) > largest_of(e->type) * 0.999L;
        if (isnan(want) ? !isnan(got)
            : is_far    ? got < (double)want * 0.99
                        : !(fabsl(got - want) <= 0.55L * ulp_at(e->type, fabsl(want)))) {
            printf("element %zu of %zu: %a instead of %La\n", k, count, got, want);
            return 1;
        }
    }
    return 0;
}

/* All kinds of groups, some of ordinary elements only, and between these one that begins with elements that only
 * doubles hold. So these precede a tile without any such element. Returns the number of groups. */
static size_t make_groups(const example *e, cell *x, int64_t *offsets, int64_t *keys, uint64_t *seed) {
    enum { KINDS = 7, ORDINARY = 3, LONG_FROM = 13000, LONG_TO = 17000, FAR = 500 };
    const bool from_the_end = e->flags & TALLY_REVERSE;
    size_t groups = 0;
    for (size_t at = 0; at < N; offsets[++groups] = (int64_t)at) {
        const size_t first = at, length = 1 + random_below(seed, random_below(seed, 4) ? 60 : 6000);
        size_t end = at + length < N ? at + length : N;
        if (at < LONG_TO && end > LONG_FROM)
            end = at < LONG_FROM ? LONG_FROM : LONG_TO;
        offsets[groups] = (int64_t)first;
        for (; at < end; at++)
            keys[at] = (int64_t)groups;
        const bool is_ordinary = from_the_end ? first < LONG_TO : first >= LONG_FROM;
        make_group(e->type, x + first, end - first, is_ordinary ? ORDINARY : KINDS, seed);
        for (size_t k = 0; first == LONG_FROM && k < FAR; k++)
            x[from_the_end ? LONG_TO - 1 - k : LONG_FROM + k].d = e->type == TALLY_BF16 ? 0x1p75 : 0x1p15;
    }
    return groups;
}

static int check(const example *e, uint64_t seed) {
    static cell x[N], results[N];
    static char packed[2 * N];
    static int64_t offsets[N + 1], keys[N];
    const size_t groups = make_groups(e, x, offsets, keys, &seed);
    for (size_t k = 0; k < N; k++)
        encode(e->type, x[k], packed + 2 * k);
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = e->op;
    desc.grouping = e->grouping;
    desc.form = TALLY_INCLUSIVE_SCAN;
    desc.in = e->type;
    desc.index = TALLY_I64;
    desc.flags = e->flags;
    tally_plan *plan;
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    const bool are_keys = e->grouping == TALLY_KEYS;
    char *from = room(sizeof packed + 2 * OFF), *to = room(sizeof packed + 2 * OFF);
    void *index = upload(are_keys ? keys : offsets, are_keys ? sizeof keys : (groups + 1) * sizeof *offsets);
    assert_ok(tally_copy(gpu, from + 2 * OFF, packed, sizeof packed));
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = N;
    args.shape.groups = are_keys ? 0 : groups;
    args.x = from + 2 * OFF;
    *(are_keys ? &args.keys : &args.offsets) = index;
    args.out = to + 2 * OFF;
    args.out_bytes = sizeof packed;
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(gpu, packed, to + 2 * OFF, sizeof packed));
    decode(e->type, packed, N, results);
    int failures = 0;
    for (size_t g = 0; g < groups && !failures; g++) {
        const size_t count = (size_t)(offsets[g + 1] - offsets[g]);
        const int64_t first = e->flags & TALLY_REVERSE ? offsets[g + 1] - 1 : offsets[g];
        failures = check_group(e, x + first, results + first, count, e->flags & TALLY_REVERSE ? -1 : 1);
    }
    tally_plan_destroy(plan);
    tally_free(gpu, from);
    tally_free(gpu, to);
    tally_free(gpu, index);
    return failures;
}

int main(void) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    int failures = 0;
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const int failed = check(&examples[k], seed);
            if (failed)
                printf("FAIL %s of type %d in grouping %d, seed %d\n", tally_op_name(examples[k].op),
                       (int)examples[k].type, (int)examples[k].grouping, (int)seed);
            failures += failed;
        }
    return close_devices(failures != 0);
}
