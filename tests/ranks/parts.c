#include "parts.h"

#include <inttypes.h>
#include <math.h>

uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *random, uint64_t n) {
    return n ? next_random(random) % n : 0;
}

static bool is_float(tally_dtype type) {
    return type >= TALLY_F16;
}

static double as_double(tally_dtype type, const void *at) {
    double value = 0;
    float f;
    uint32_t bits;
    uint16_t half;
    switch (type) {
    case TALLY_F64:
        memcpy(&value, at, 8);
        return value;
    case TALLY_F32:
        memcpy(&f, at, 4);
        return f;
    case TALLY_BF16:
        memcpy(&half, at, 2);
        bits = (uint32_t)half << 16;
        memcpy(&f, &bits, 4);
        return f;
    default: /* F16 */
        memcpy(&half, at, 2);
        bits = half & 0x7fffu;
        value = bits >= 0x7c00 ? (bits > 0x7c00 ? NAN : INFINITY)
                : bits < 0x400 ? ldexp(bits, -24)
                               : ldexp((bits & 0x3ff) | 0x400, (int)(bits >> 10) - 25);
        return half & 0x8000 ? -value : value;
    }
}

/* Small whole numbers, of which fast sums do not round; or in exact mode any bits but those of most specials. */
static void fill(tally_dtype type, unsigned char *x, uint64_t n, bool wild, uint64_t *random) {
    const size_t bytes = tally_dtype_size(type);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t z = next_random(random);
        const int small = (int)(z % 9) - 4;
        const float f = (float)small;
        const double d = small;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        uint64_t value = (uint64_t)(int64_t)small;
        if (type == TALLY_F64)
            memcpy(&value, &d, 8);
        else if (type == TALLY_F32)
            value = bits;
        else if (type == TALLY_BF16)
            value = bits >> 16;
        else if (type == TALLY_F16)
            value = small == 0 ? 0 : (bits >> 16 & 0x8000) | (((bits >> 23 & 0xff) - 112) << 10) | (bits >> 13 & 0x3ff);
        if (wild && z >> 60 != 0)
            value = z >> 8 | z << 56;
        memcpy(x + i * bytes, &value, bytes);
    }
}

static bool rounds(const problem *p) {
    tally_traits traits = {.struct_size = sizeof traits};
    assert_ok(tally_op_traits(p->desc.op, &traits));
    return traits.exact != TALLY_EXACT_ALWAYS && p->desc.mode == TALLY_FAST &&
           (is_float(p->desc.in) || is_float(p->described.out));
}

/* ---- a computation ---- */

static tally_desc random_desc(uint64_t *random) {
    static const tally_grouping groupings[] = {TALLY_ALL_VALUES, TALLY_AXIS, TALLY_SEGMENTS, TALLY_KEYS, TALLY_LABELS};
    static const tally_dtype offsets[] = {TALLY_DEFAULT, TALLY_I32, TALLY_I64},
                             keys[] = {TALLY_I8, TALLY_I32, TALLY_F64}, labels[] = {TALLY_DEFAULT, TALLY_I32, TALLY_U8};
    tally_desc desc = describe((tally_op)below(random, TALLY_USER), (tally_form)below(random, TALLY_FORM_COUNT),
                               (tally_dtype)(TALLY_I8 + below(random, TALLY_DTYPE_COUNT - TALLY_I8)));
    desc.grouping = groupings[below(random, COUNT_OF(groupings))];
    desc.mode = below(random, 2) ? TALLY_EXACT : TALLY_FAST;
    if (below(random, 3) == 0) /* the commonest one */
        desc.op = TALLY_SUM;
    if (desc.form != TALLY_REDUCE && below(random, 2))
        desc.flags |= TALLY_REVERSE;
    if (desc.form == TALLY_REDUCE && below(random, 4) == 0)
        desc.flags |= TALLY_SKIP_NAN;
    if (desc.grouping == TALLY_SEGMENTS)
        desc.index = offsets[below(random, COUNT_OF(offsets))];
    if (desc.grouping == TALLY_KEYS)
        desc.index = keys[below(random, COUNT_OF(keys))];
    if (desc.grouping == TALLY_LABELS)
        desc.index = labels[below(random, COUNT_OF(labels))];
    if (desc.op == TALLY_VAR || desc.op == TALLY_STD)
        desc.ddof = (int)below(random, 2);
    if (below(random, 4) == 0 && is_float(desc.in))
        desc.out = TALLY_F64;
    return desc;
}

static void random_shape(problem *p, uint64_t *random, bool small) {
    const uint64_t most = small ? 60 : below(random, 20) == 0 ? 200000 : 3000;
    p->shape = (tally_shape){1, below(random, most), 1, 0};
    p->split = TALLY_SPLIT_EXTENT;
    if (p->desc.grouping == TALLY_AXIS) {
        p->shape.outer = below(random, 4);
        p->shape.inner = below(random, 2) ? 1 : below(random, 40);
        p->shape.extent = below(random, most / 10 + 2);
    }
    if (p->desc.grouping == TALLY_SEGMENTS)
        p->shape.groups = below(random, small ? 8 : 300);
    if (p->desc.grouping == TALLY_LABELS)
        p->shape.groups = 1 + below(random, small ? 5 : 200);
}

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void *place_index(const problem *p, int64_t value, unsigned char *at) {
    const double d = (double)value;
    if (p->described.index == TALLY_F64)
        memcpy(at, &d, 8);
    else
        memcpy(at, &value, p->key_bytes);
    return at;
}

static void random_groups(problem *p, uint64_t *random) {
    const uint64_t n = p->shape.extent, groups = p->shape.groups, run = 1 + below(random, 12);
    int64_t key = 0;
    for (uint64_t g = 0; p->desc.grouping == TALLY_SEGMENTS && g <= groups; g++)
        p->offsets[g] = (int64_t)below(random, n + 1);
    qsort(p->offsets, groups + 1, sizeof *p->offsets, ascending);
    if (p->desc.grouping == TALLY_SEGMENTS && below(random, 2)) {
        p->offsets[0] = 0;
        p->offsets[groups] = groups ? (int64_t)n : 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (below(random, run) == 0)
            key = (int64_t)below(random, p->desc.grouping == TALLY_LABELS ? groups : 5);
        if (p->desc.grouping == TALLY_KEYS || p->desc.grouping == TALLY_LABELS)
            place_index(p, key, p->keys + i * p->key_bytes);
    }
}

static uint64_t elements_of(const tally_shape *s) {
    return s->outer * s->extent * s->inner;
}

static uint64_t results_of(const problem *p, const tally_shape *s) {
    const tally_grouping grouping = p->desc.grouping;
    if (p->desc.form != TALLY_REDUCE || grouping == TALLY_KEYS)
        return elements_of(s);
    return grouping == TALLY_AXIS ? s->outer * s->inner : grouping == TALLY_ALL_VALUES ? 1 : s->groups;
}

static tally_args arguments_of(problem *p, const tally_shape *shape, void *out, uint64_t results) {
    tally_args args = arguments(p->x, 0, out, results * p->result_bytes);
    args.shape = *shape;
    args.y = p->desc.op == TALLY_DOT ? p->y : NULL;
    args.keys = p->desc.grouping == TALLY_KEYS ? p->keys : NULL;
    args.labels = p->desc.grouping == TALLY_LABELS ? p->keys : NULL;
    args.initial = p->has_initial ? p->initial : NULL;
    return args;
}

static void run_whole(problem *p, tally_plan *plan) {
    tally_args args = arguments_of(p, &p->shape, p->whole, p->results);
    unsigned char offsets[(MOST_GROUPS + 1) * 8];
    for (uint64_t g = 0; p->desc.grouping == TALLY_SEGMENTS && g <= p->shape.groups; g++)
        place_index(p, p->offsets[g], offsets + g * p->key_bytes);
    args.offsets = offsets;
    if (p->desc.grouping == TALLY_KEYS && p->desc.form == TALLY_REDUCE) {
        args.keys_out = p->whole_keys;
        args.keys_out_bytes = p->results * p->key_bytes;
        args.count = &p->count;
    }
    p->status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
}

bool problem_make(problem *p, tally_device *device, uint64_t *random, bool small) {
    tally_plan *plan;
    size_t each;
    *p = (problem){.desc = random_desc(random)};
    if (tally_plan_create(device, &p->desc, &plan) != TALLY_OK)
        return false;
    p->described.struct_size = sizeof p->described;
    assert_ok(tally_plan_describe(plan, &p->described, &each));
    tally_traits traits = {.struct_size = sizeof traits};
    assert_ok(tally_op_traits(p->desc.op, &traits));
    random_shape(p, random, small);
    const uint64_t n = elements_of(&p->shape);
    p->in_bytes = tally_dtype_size(p->desc.in);
    p->result_bytes = tally_dtype_size(p->described.out) * each;
    p->key_bytes = p->described.index ? tally_dtype_size(p->described.index) : 0;
    p->results = results_of(p, &p->shape);
    p->x = malloc(n * p->in_bytes + 1);
    p->y = malloc(n * p->in_bytes + 1);
    p->keys = malloc(n * p->key_bytes + 1);
    p->whole = calloc(p->results + 1, p->result_bytes);
    p->whole_keys = calloc(n + 1, p->key_bytes + 1);
    const bool wild = p->desc.mode == TALLY_EXACT || !is_float(p->desc.in);
    fill(p->desc.in, p->x, n, wild, random);
    fill(p->desc.in, p->y, n, wild, random);
    if (p->desc.form != TALLY_REDUCE && traits.takes_initial && below(random, 2)) {
        p->has_initial = true;
        fill(p->described.out, p->initial, 1, false, random);
    }
    random_groups(p, random);
    run_whole(p, plan);
    if (p->status == TALLY_INVALID_ARGUMENT || p->status == TALLY_UNSUPPORTED) { /* an initial value that is refused */
        p->has_initial = false;
        run_whole(p, plan);
    }
    tally_plan_destroy(plan);
    return true;
}

/* ---- parts ---- */

/* A place between two ranks: before segment 'group', or in it, where both have a part of it. */
typedef struct cut {
    uint64_t group;
    bool shares;
    uint64_t element;
} cut;

static int by_place(const void *a, const void *b) {
    const cut *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->shares != y->shares)
        return x->shares ? 1 : -1;
    return x->element < y->element ? -1 : x->element > y->element;
}

static cut random_cut(const problem *p, uint64_t *random) {
    const uint64_t groups = p->shape.groups, g = below(random, groups + 1);
    const uint64_t begin = (uint64_t)p->offsets[g];
    if (g == groups || below(random, 3) == 0)
        return (cut){g, false, begin};
    return (cut){g, true, begin + below(random, (uint64_t)p->offsets[g + 1] - begin + 1)};
}

static void cut_segments(problem *p, uint64_t *random) {
    cut cuts[MOST_RANKS + 1];
    for (uint64_t r = 1; r < p->ranks; r++)
        cuts[r] = random_cut(p, random);
    qsort(cuts + 1, p->ranks - 1, sizeof *cuts, by_place);
    cuts[0] = (cut){0, false, 0};
    cuts[p->ranks] = (cut){p->shape.groups, false, p->shape.extent};
    for (uint64_t r = 0; r < p->ranks; r++) {
        part *q = &p->parts[r];
        const cut a = cuts[r], b = cuts[r + 1];
        const uint64_t groups = b.group - a.group + b.shares;
        q->args.shape.extent = b.element - a.element;
        q->args.shape.groups = groups;
        q->args.x = p->x + a.element * p->in_bytes;
        q->args.y = q->args.y ? p->y + a.element * p->in_bytes : NULL;
        q->flags = a.shares ? TALLY_RANK_CONTINUES : 0;
        for (uint64_t i = 0; i <= groups; i++) {
            uint64_t at = (uint64_t)p->offsets[a.group + i];
            at = at < a.element ? a.element : at > b.element ? b.element : at;
            place_index(p, (int64_t)(at - a.element), (unsigned char *)q->offsets + i * p->key_bytes);
        }
        q->args.offsets = q->offsets;
        q->out_elements = p->desc.form == TALLY_REDUCE ? groups : q->args.shape.extent;
    }
}

/* Along the axis the parts of a row are not neighbours, and are copied. */
static void cut_elements(problem *p, uint64_t *random) {
    uint64_t ends[MOST_RANKS + 1] = {0}, copied = 0;
    const tally_shape s = p->shape;
    for (uint64_t r = 1; r < p->ranks; r++)
        ends[r] = below(random, 4) == 0 ? ends[r - 1] : below(random, s.extent + 1);
    ends[p->ranks] = s.extent;
    qsort(ends + 1, p->ranks - 1, sizeof *ends, ascending);
    unsigned char *const x = malloc(elements_of(&s) * p->in_bytes + 1), *const y =
                                                                            malloc(elements_of(&s) * p->in_bytes + 1);
    for (uint64_t r = 0; r < p->ranks; r++) {
        part *q = &p->parts[r];
        const uint64_t rows = ends[r + 1] - ends[r], row = s.inner * p->in_bytes;
        q->args.shape.extent = rows;
        q->args.keys = q->args.keys ? p->keys + ends[r] * p->key_bytes : NULL;
        q->args.labels = q->args.labels ? p->keys + ends[r] * p->key_bytes : NULL;
        q->args.x = p->x + copied;
        q->args.y = q->args.y ? p->y + copied : NULL;
        for (uint64_t o = 0; o < s.outer; o++) {
            memcpy(x + copied, p->x + (o * s.extent + ends[r]) * row, rows * row);
            memcpy(y + copied, p->y + (o * s.extent + ends[r]) * row, rows * row);
            copied += rows * row;
        }
        q->out_elements = results_of(p, &q->args.shape);
    }
    memcpy(p->x, x, copied);
    memcpy(p->y, y, copied);
    free(x);
    free(y);
}

void problem_cut(problem *p, uint64_t ranks, uint64_t *random) {
    p->ranks = ranks;
    p->parts = calloc(ranks, sizeof *p->parts);
    for (uint64_t r = 0; r < ranks; r++)
        p->parts[r].args = arguments_of(p, &p->shape, NULL, 0);
    if (p->desc.grouping == TALLY_SEGMENTS)
        cut_segments(p, random);
    else
        cut_elements(p, random);
    uint64_t room = 0, keys = 0;
    for (uint64_t r = 0; r < ranks; r++) {
        room += p->parts[r].out_elements;
        keys += p->parts[r].args.shape.extent;
    }
    p->out = calloc(room + 1, p->result_bytes);
    p->out_keys = calloc(keys + 1, p->key_bytes + 1);
    room = keys = 0;
    for (uint64_t r = 0; r < ranks; r++) {
        part *q = &p->parts[r];
        q->args.out = p->out + room * p->result_bytes;
        q->args.out_bytes = q->out_elements * p->result_bytes;
        if (p->desc.grouping == TALLY_KEYS && p->desc.form == TALLY_REDUCE) {
            q->args.keys_out = p->out_keys + keys * p->key_bytes;
            q->args.keys_out_bytes = q->args.shape.extent * p->key_bytes;
            q->args.count = &q->count;
        }
        room += q->out_elements;
        keys += q->args.shape.extent;
    }
}

/* ---- comparison ---- */

tally_status problem_expected(const problem *p) {
    const bool is_index = p->desc.op == TALLY_ARGMIN || p->desc.op == TALLY_ARGMAX;
    tally_traits traits = {.struct_size = sizeof traits};
    assert_ok(tally_op_traits(p->desc.op, &traits));
    if (is_index && (p->desc.grouping == TALLY_LABELS || (p->desc.flags & TALLY_REVERSE)))
        return TALLY_UNSUPPORTED;
    if (traits.empty_is_error && (p->desc.flags & TALLY_SKIP_NAN) && is_float(p->desc.in))
        return TALLY_UNSUPPORTED;
    return p->status;
}

static bool same(const problem *p, const unsigned char *a, const unsigned char *b) {
    if (memcmp(a, b, p->result_bytes) == 0)
        return true;
    if (!rounds(p) || !is_float(p->described.out))
        return false;
    const double x = as_double(p->described.out, a), y = as_double(p->described.out, b);
    const tally_dtype narrow = p->described.out < p->desc.in || !is_float(p->desc.in) ? p->described.out : p->desc.in;
    const double eps = narrow == TALLY_F64 ? 1e-11 : narrow == TALLY_F32 ? 2e-4 : narrow == TALLY_F16 ? 4e-3 : 2e-2;
    const double size = fabs(x) > 1 ? fabs(x) : 1;
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= eps * size;
}

/* Result k of the whole, and result k of all parts one after another. */
static const unsigned char *whole_result(const problem *p, uint64_t part_first, uint64_t k, uint64_t r) {
    const tally_shape *s = &p->shape;
    const bool scans = p->desc.form != TALLY_REDUCE;
    if (p->desc.grouping != TALLY_AXIS || !scans)
        return p->whole + (part_first + k) * p->result_bytes;
    const uint64_t rows = p->parts[r].args.shape.extent, o = k / (rows * s->inner), in = k % (rows * s->inner);
    uint64_t before = 0;
    for (uint64_t q = 0; q < r; q++)
        before += p->parts[q].args.shape.extent;
    return p->whole + ((o * s->extent + before) * s->inner + in) * p->result_bytes;
}

bool problem_agrees(problem *p, uint64_t first_rank, uint64_t end_rank, char *why, size_t bytes) {
    const bool scans = p->desc.form != TALLY_REDUCE, keys = p->desc.grouping == TALLY_KEYS && !scans;
    const bool segments = p->desc.grouping == TALLY_SEGMENTS && !scans, moves = scans || keys || segments;
    uint64_t first = 0;
    for (uint64_t r = 0; r < p->ranks; r++) {
        const part *q = &p->parts[r];
        const uint64_t n = keys ? q->count : q->out_elements;
        if (segments && (q->flags & TALLY_RANK_CONTINUES))
            first--;
        for (uint64_t k = 0; r >= first_rank && r < end_rank && k < n; k++) {
            const unsigned char *const got = (const unsigned char *)q->args.out + k * p->result_bytes;
            const unsigned char *const right = whole_result(p, first, k, r);
            const bool same_key = !keys || memcmp((const char *)q->args.keys_out + k * p->key_bytes,
                                                  p->whole_keys + (first + k) * p->key_bytes, p->key_bytes) == 0;
            if (same(p, right, got) && same_key)
                continue;
            snprintf(
                why, bytes,
                "rank %" PRIu64 " of %" PRIu64 ": result %" PRIu64 " is %g (%" PRIx64 "), not %g (%" PRIx64 ")%s", r,
                p->ranks, k, is_float(p->described.out) ? as_double(p->described.out, got) : 0.0,
                *(const uint64_t *)(const void *)memcpy(&(uint64_t){0}, got, p->result_bytes < 8 ? p->result_bytes : 8),
                is_float(p->described.out) ? as_double(p->described.out, right) : 0.0,
                *(const uint64_t *)(const void *)memcpy(&(uint64_t){0}, right,
                                                        p->result_bytes < 8 ? p->result_bytes : 8),
                same_key ? "" : ", and its key is another");
            return false;
        }
        if (moves)
            first += n;
    }
    if (keys && first != p->count)
        snprintf(why, bytes, "%" PRIu64 " runs, not %" PRIu64, first, p->count);
    return !keys || first == p->count;
}

void problem_name(const problem *p, char *name, size_t bytes) {
    snprintf(name, bytes, "%s/%s/%s/%s/%s%s%s%s outer %" PRIu64 " extent %" PRIu64 " inner %" PRIu64 " groups %" PRIu64,
             tally_op_name(p->desc.op), tally_grouping_name(p->desc.grouping), tally_dtype_name(p->desc.in),
             tally_form_name(p->desc.form), tally_mode_name(p->desc.mode),
             p->desc.flags & TALLY_REVERSE ? "/reverse" : "", p->has_initial ? "/initial" : "",
             p->desc.flags & TALLY_SKIP_NAN ? "/skip_nan" : "", p->shape.outer, p->shape.extent, p->shape.inner,
             p->shape.groups);
}

void problem_free(problem *p) {
    free(p->x);
    free(p->y);
    free(p->keys);
    free(p->whole);
    free(p->whole_keys);
    free(p->parts);
    free(p->out);
    free(p->out_keys);
}
