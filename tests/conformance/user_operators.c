/* A user's monoids, of accumulators from 1 to 256 bytes, most of which do not commute, in every grouping and form,
 * against a fold from left to right (reverse scans: from right to left) that calls the same functions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../oracle/random.h"
#include "promises.h"

/* The context of the functions: how to read an element, and whether accumulators were ever misaligned. */
typedef struct user_context {
    size_t in_bytes;
    int misaligned; /* written atomically */
} user_context;

static void check_alignment(user_context *c, const void *acc) {
    if ((uintptr_t)acc % 16)
        __atomic_store_n(&c->misaligned, 1, __ATOMIC_RELAXED);
}

/* The element's bits, on any order of bytes: the texts convert it as a number. */
static uint64_t element(const user_context *c, const void *x) {
    const bool is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    uint64_t value = 0;
    memcpy((char *)&value + (is_big_endian ? sizeof value - c->in_bytes : 0), x, c->in_bytes);
    return value;
}

/* x -> a x + b modulo 2^32, composed from left to right. */
typedef struct affine {
    uint32_t a, b;
} affine;

static void affine_identity(void *c, void *acc) {
    check_alignment(c, acc);
    *(affine *)acc = (affine){1, 0};
}
static void affine_lift(void *c, const void *x, uint64_t index, void *acc) {
    check_alignment(c, acc);
    uint64_t value = element(c, x);
    *(affine *)acc = (affine){(uint32_t)value * 2 + 1, (uint32_t)(value >> 32) + (uint32_t)value + (uint32_t)index * 7};
}
static void affine_combine(void *c, const void *left, const void *right, void *acc) {
    check_alignment(c, left);
    check_alignment(c, right);
    const affine l = *(const affine *)left, r = *(const affine *)right;
    *(affine *)acc = (affine){l.a * r.a, l.b * r.a + r.b};
}
static void affine_lower(void *c, const void *acc, uint64_t count, void *out) {
    check_alignment(c, acc);
    const affine *a = acc;
    uint64_t value = ((uint64_t)a->a << 32 | a->b) + count;
    memcpy(out, &value, sizeof value);
}

/* The same without the index, which back ends need not know within segments and runs: one, and eight at a time. */
typedef struct chain {
    uint32_t a, b;
} chain;
typedef struct chains {
    chain of[8];
} chains;

static chain chain_of(uint64_t value, uint32_t which) {
    return (chain){(uint32_t)value * 2 + 1 + 2 * which, (uint32_t)value + which};
}
static chain chain_join(chain l, chain r) {
    return (chain){l.a * r.a, l.b * r.a + r.b};
}
static void chain_identity(void *c, void *acc) {
    check_alignment(c, acc);
    *(chain *)acc = (chain){1, 0};
}
static void chain_lift(void *c, const void *x, uint64_t index, void *acc) {
    (void)index;
    *(chain *)acc = chain_of(element(c, x), 0);
}
static void chain_combine(void *c, const void *left, const void *right, void *acc) {
    (void)c;
    *(chain *)acc = chain_join(*(const chain *)left, *(const chain *)right);
}
static void chain_lower(void *c, const void *acc, uint64_t count, void *out) {
    (void)c;
    const chain *a = acc;
    uint64_t value = ((uint64_t)a->a << 32 | a->b) + count;
    memcpy(out, &value, sizeof value);
}

static void chains_identity(void *c, void *acc) {
    check_alignment(c, acc);
    for (int k = 0; k < 8; k++)
        ((chains *)acc)->of[k] = (chain){1, 0};
}
static void chains_lift(void *c, const void *x, uint64_t index, void *acc) {
    (void)index;
    for (uint32_t k = 0; k < 8; k++)
        ((chains *)acc)->of[k] = chain_of(element(c, x), k);
}
static void chains_combine(void *c, const void *left, const void *right, void *acc) {
    (void)c;
    for (int k = 0; k < 8; k++)
        ((chains *)acc)->of[k] = chain_join(((const chains *)left)->of[k], ((const chains *)right)->of[k]);
}
static void chains_lower(void *c, const void *acc, uint64_t count, void *out) {
    (void)c;
    uint32_t hash = (uint32_t)count;
    for (int k = 0; k < 8; k++)
        hash = hash * 31 + (((const chains *)acc)->of[k].a ^ ((const chains *)acc)->of[k].b);
    memcpy(out, &hash, sizeof hash);
}

/* 2 x 2 matrices modulo 2^32. */
typedef struct matrix {
    uint32_t m[4];
} matrix;

static void matrix_identity(void *c, void *acc) {
    check_alignment(c, acc);
    *(matrix *)acc = (matrix){{1, 0, 0, 1}};
}
static void matrix_lift(void *c, const void *x, uint64_t index, void *acc) {
    uint64_t value = element(c, x);
    *(matrix *)acc = (matrix){{(uint32_t)value, 1, (uint32_t)index, (uint32_t)(value >> 32) + 1}};
}
static void matrix_combine(void *c, const void *left, const void *right, void *acc) {
    (void)c;
    const matrix l = *(const matrix *)left, r = *(const matrix *)right;
    *(matrix *)acc = (matrix){{l.m[0] * r.m[0] + l.m[1] * r.m[2], l.m[0] * r.m[1] + l.m[1] * r.m[3],
                               l.m[2] * r.m[0] + l.m[3] * r.m[2], l.m[2] * r.m[1] + l.m[3] * r.m[3]}};
}
static void matrix_lower(void *c, const void *acc, uint64_t count, void *out) {
    (void)c;
    const matrix *m = acc;
    uint64_t value = (m->m[0] ^ (uint64_t)m->m[1] << 13 ^ (uint64_t)m->m[2] << 27 ^ (uint64_t)m->m[3] << 32) - count;
    memcpy(out, &value, sizeof value);
}

/* The first byte, the last byte, and whether there was any: three bytes. */
static void ends_identity(void *c, void *acc) {
    (void)c;
    memset(acc, 0, 3);
}
static void ends_lift(void *c, const void *x, uint64_t index, void *acc) {
    uint64_t value = element(c, x) + index;
    unsigned char *a = acc;
    a[0] = 1;
    a[1] = a[2] = (unsigned char)value;
}
static void ends_combine(void *c, const void *left, const void *right, void *acc) {
    (void)c;
    unsigned char l[3], r[3];
    memcpy(l, left, 3);
    memcpy(r, right, 3);
    unsigned char *a = acc;
    a[0] = l[0] | r[0];
    a[1] = l[0] ? l[1] : r[1];
    a[2] = r[0] ? r[2] : l[2];
}
static void ends_lower(void *c, const void *acc, uint64_t count, void *out) {
    (void)c;
    const unsigned char *a = acc;
    uint32_t value = (uint32_t)(a[0] + 3 * a[1] + 1000 * a[2]) + (uint32_t)count;
    memcpy(out, &value, sizeof value);
}

/* The largest value and how often it came: commutes. */
typedef struct often {
    uint64_t largest, count;
} often;

static void often_identity(void *c, void *acc) {
    (void)c;
    memset(acc, 0, sizeof(often));
}
static void often_lift(void *c, const void *x, uint64_t index, void *acc) {
    (void)index;
    *(often *)acc = (often){element(c, x) & 7, 1};
}
static void often_combine(void *c, const void *left, const void *right, void *acc) {
    (void)c;
    const often l = *(const often *)left, r = *(const often *)right;
    *(often *)acc = l.largest > r.largest ? l : r.largest > l.largest ? r : (often){l.largest, l.count + r.count};
}
static void often_lower(void *c, const void *acc, uint64_t count, void *out) {
    (void)c;
    (void)count;
    const often *a = acc;
    double value = (double)a->largest * 1e9 + (double)a->count;
    memcpy(out, &value, sizeof value);
}

/* How often each of 256 values came, modulo 256: the largest accumulator; commutes. */
static void histogram_identity(void *c, void *acc) {
    check_alignment(c, acc);
    memset(acc, 0, 256);
}
static void histogram_lift(void *c, const void *x, uint64_t index, void *acc) {
    (void)index;
    memset(acc, 0, 256);
    ((unsigned char *)acc)[element(c, x) & 255] = 1;
}
static void histogram_combine(void *c, const void *left, const void *right, void *acc) {
    check_alignment(c, acc);
    for (int k = 0; k < 256; k++)
        ((unsigned char *)acc)[k] =
            (unsigned char)(((const unsigned char *)left)[k] + ((const unsigned char *)right)[k]);
}
static void histogram_lower(void *c, const void *acc, uint64_t count, void *out) {
    (void)c;
    uint16_t hash = (uint16_t)count;
    for (int k = 0; k < 256; k++)
        hash = (uint16_t)(hash * 31 + ((const unsigned char *)acc)[k]);
    memcpy(out, &hash, sizeof hash);
}

/* Exclusive or of bytes: the smallest accumulator; commutes. */
static void parity_identity(void *c, void *acc) {
    (void)c;
    *(unsigned char *)acc = 0;
}
static void parity_lift(void *c, const void *x, uint64_t index, void *acc) {
    *(unsigned char *)acc = (unsigned char)(element(c, x) ^ (index & 1));
}
static void parity_combine(void *c, const void *left, const void *right, void *acc) {
    (void)c;
    *(unsigned char *)acc = *(const unsigned char *)left ^ *(const unsigned char *)right;
}
static void parity_lower(void *c, const void *acc, uint64_t count, void *out) {
    (void)c;
    (void)count;
    *(unsigned char *)out = *(const unsigned char *)acc;
}

#define OPERATOR(name, bytes, commutes, out_type)                                                                      \
    { #name, bytes, name##_identity, name##_lift, name##_combine, name##_lower, commutes, out_type }
static const struct {
    const char *name;
    size_t acc_bytes;
    void (*identity)(void *, void *);
    void (*lift)(void *, const void *, uint64_t, void *);
    void (*combine)(void *, const void *, const void *, void *);
    void (*lower)(void *, const void *, uint64_t, void *);
    int commutes;
    tally_dtype out;
} operators[] = {OPERATOR(affine, sizeof(affine), 0, TALLY_U64),
                 OPERATOR(matrix, sizeof(matrix), 0, TALLY_U64),
                 OPERATOR(ends, 3, 0, TALLY_U32),
                 OPERATOR(often, sizeof(often), 1, TALLY_F64),
                 OPERATOR(histogram, 256, 1, TALLY_U16),
                 OPERATOR(parity, 1, 1, TALLY_U8),
                 OPERATOR(chain, sizeof(chain), 0, TALLY_U64),
                 OPERATOR(chains, sizeof(chains), 0, TALLY_U32)};
enum { OPERATORS = sizeof operators / sizeof *operators };

/* The same operators as texts, for back ends that compile: accumulator, identity, lift, combine, lower. */
static const char *const texts[OPERATORS][5] = {
    {"struct acc_t { unsigned a, b; };", "acc_t{1, 0}",
     "acc_t{(unsigned)x * 2 + 1, (unsigned)(x >> 32) + (unsigned)x + (unsigned)index * 7}",
     "acc_t{left.a * right.a, left.b * right.a + right.b}", "((unsigned long long)acc.a << 32 | acc.b) + count"},
    {"struct acc_t { unsigned m[4]; };", "acc_t{{1, 0, 0, 1}}", "acc_t{{(unsigned)x, 1, (unsigned)index, 1}}",
     "acc_t{{left.m[0] * right.m[0] + left.m[1] * right.m[2], left.m[0] * right.m[1] + left.m[1] * right.m[3], "
     "left.m[2] * right.m[0] + left.m[3] * right.m[2], left.m[2] * right.m[1] + left.m[3] * right.m[3]}}",
     "(acc.m[0] ^ (unsigned long long)acc.m[1] << 13 ^ (unsigned long long)acc.m[2] << 27 ^ "
     "(unsigned long long)acc.m[3] << 32) - count"},
    {"struct acc_t { unsigned char a[3]; };", "acc_t{}",
     "acc_t{{1, (unsigned char)(x + index), (unsigned char)(x + index)}}",
     "acc_t{{(unsigned char)(left.a[0] | right.a[0]), left.a[0] ? left.a[1] : right.a[1], "
     "right.a[0] ? right.a[2] : left.a[2]}}",
     "(unsigned)(acc.a[0] + 3 * acc.a[1] + 1000 * acc.a[2]) + (unsigned)count"},
    /* in names that kernels have, too */
    {"struct acc_t { unsigned long long MAX, BLOCK; };\n"
     "static acc_t combine(acc_t left, acc_t right) {\n"
     "    return left.MAX > right.MAX ? left : right.MAX > left.MAX ? right : acc_t{left.MAX, left.BLOCK + "
     "right.BLOCK};\n"
     "}",
     "acc_t{0, 0}", "acc_t{(unsigned long long)(x & 7), 1}", "combine(left, right)",
     "(double)acc.MAX * 1e9 + (double)acc.BLOCK"},
    {"struct acc_t { unsigned char n[256]; };", "acc_t{}", "[&] { acc_t a{}; a.n[x & 255] = 1; return a; }()",
     "[&] { acc_t a; for (int k = 0; k < 256; k++) a.n[k] = left.n[k] + right.n[k]; return a; }()",
     "[&] { unsigned short hash = count; for (int k = 0; k < 256; k++) hash = hash * 31 + acc.n[k]; return hash; }()"},
    {"struct acc_t { unsigned char bits; };", "acc_t{0}", "acc_t{(unsigned char)(__float_as_uint(x) ^ (index & 1))}",
     "acc_t{(unsigned char)(left.bits ^ right.bits)}", "acc.bits"},
    {"struct acc_t { unsigned a, b; };", "acc_t{1, 0}", "acc_t{(unsigned)x * 2 + 1, (unsigned)x}",
     "acc_t{left.a * right.a, left.b * right.a + right.b}", "((unsigned long long)acc.a << 32 | acc.b) + count"},
    {"struct acc_t { unsigned a[8], b[8]; };",
     "[&] { acc_t r; for (int k = 0; k < 8; k++) { r.a[k] = 1; r.b[k] = 0; } return r; }()",
     "[&] { acc_t r; for (unsigned k = 0; k < 8; k++) { r.a[k] = (unsigned)x * 2 + 1 + 2 * k; r.b[k] = (unsigned)x + "
     "k; } "
     "return r; }()",
     "[&] { acc_t r; for (int k = 0; k < 8; k++) { r.a[k] = left.a[k] * right.a[k]; "
     "r.b[k] = left.b[k] * right.a[k] + right.b[k]; } return r; }()",
     "[&] { unsigned hash = count; for (int k = 0; k < 8; k++) hash = hash * 31 + (acc.a[k] ^ acc.b[k]); "
     "return hash; }()"},
};

typedef struct user_case {
    checker *c;
    const tally_user_op *op;
    const layout *l;
    const char *name; /* of the combination */
    bool inclusive, is_scan, reverse, in_place, in_pieces;
    size_t in_bytes, out_bytes;
    uint64_t seed;
    tally_args args;
} user_case;

static bool fail(const user_case *u, const char *what, size_t at) {
    checker_fail(u->c, "%s %s seed %" PRIx64 "%s%s: %s at %zu: %s", u->name, u->l->name, u->seed,
                 u->in_place ? " in-place" : "", u->in_pieces ? " in pieces" : "", what, at, tally_last_error());
    return false;
}

static bool compare_result(const user_case *u, const void *acc, uint64_t count, size_t at) {
    unsigned char want[16];
    u->op->lower(u->op->context, acc, count, want);
    const unsigned char *found = guarded_found(u->in_place ? &u->c->x : &u->c->out);
    return memcmp(want, found + at * u->out_bytes, u->out_bytes) == 0 || fail(u, "not the fold", at);
}

static bool check_fold(const user_case *u, const unsigned char *x) {
    _Alignas(16) unsigned char acc[256], lifted[256];
    void *context = u->op->context;
    for (size_t number = 0; number < u->l->groups; number++) {
        group g = layout_group(u->l, number);
        u->op->identity(context, acc);
        for (size_t k = 0; k < g.count; k++) {
            size_t within = u->reverse ? g.count - 1 - k : k, at = group_element(g, within);
            if (u->is_scan && !u->inclusive && !compare_result(u, acc, k, at))
                return false;
            u->op->lift(context, x + at * u->in_bytes, group_index(g, within), lifted);
            u->op->combine(context, acc, lifted, acc);
            if (u->is_scan && u->inclusive && !compare_result(u, acc, k + 1, at))
                return false;
        }
        if (!u->is_scan && !compare_result(u, acc, g.count, number))
            return false;
    }
    return true;
}

static tally_status give(const user_case *u, tally_plan *plan) {
    if (!u->in_pieces)
        return tally_run(plan, &u->args, TALLY_SYNCHRONOUS);
    uint64_t extent = u->l->shape.extent, inner = u->l->grouping == TALLY_AXIS ? u->l->shape.inner : 1;
    const uint64_t cuts[] = {0, extent / 3, extent / 3 + extent / 2, extent};
    for (int k = 0; k < 3; k++) {
        tally_args args = u->args;
        args.shape.extent = cuts[k + 1] - cuts[k];
        args.x = (const char *)args.x + cuts[k] * inner * u->in_bytes;
        if (u->is_scan) {
            args.out = (char *)args.out + cuts[k] * inner * u->out_bytes;
            args.out_bytes = args.shape.extent * inner * u->out_bytes;
        }
        tally_status status = tally_push(plan, &args);
        if (status != TALLY_OK)
            return status;
    }
    return tally_finish(plan, u->is_scan ? NULL : u->args.out, u->is_scan ? 0 : u->args.out_bytes);
}

static bool check_user_case(user_case *u, tally_plan *plan, tally_dtype in, tally_dtype index_type) {
    checker *c = u->c;
    const layout *l = u->l;
    uint64_t state = u->seed;
    void *index = NULL, *run_keys = NULL;
    size_t bytes = l->elements * u->in_bytes, index_bytes = 0;
    size_t results = u->is_scan ? l->elements : l->groups;
    const void *x = data_slice(in, RANDOM_BITS, random_bits(&state), l->elements);
    u->in_place = u->is_scan && u->in_bytes == u->out_bytes && random_below(&state, 2);
    u->args.shape = l->shape;
    guarded_place(&c->x, c->device, x, bytes, random_below(&state, 64));
    u->args.x = guarded_address(&c->x);
    if (l->grouping == TALLY_SEGMENTS) {
        layout_offsets(l, index_type, &index, &index_bytes);
        guarded_place(&c->index, c->device, index, index_bytes, 0);
        u->args.offsets = guarded_address(&c->index);
    } else if (l->grouping == TALLY_KEYS) {
        layout_key_values(l, index_type, random_bits(&state), &index, &run_keys);
        guarded_place(&c->index, c->device, index, l->elements * 8, 0);
        u->args.keys = guarded_address(&c->index);
    } else if (l->grouping == TALLY_LABELS) {
        layout_label_values(l, index_type, random_bits(&state), &index);
        guarded_place(&c->index, c->device, index, l->elements * 8, 0);
        u->args.labels = guarded_address(&c->index);
    }
    guarded_place(&c->out, c->device, NULL, results * u->out_bytes, random_below(&state, 64));
    u->args.out = guarded_address(u->in_place ? &c->x : &c->out);
    u->args.out_bytes = results * u->out_bytes;
    c->cases++;
    c->elements += l->elements;
    bool passed = give(u, plan) == TALLY_OK || fail(u, "failed", 0);
    guarded_fetch(&c->out);
    guarded_fetch(&c->x);
    if (passed && (!guarded_intact(&c->out) || (u->in_place ? !guarded_intact(&c->x) : !guarded_unchanged(&c->x))))
        passed = fail(u, "memory that is no output was written", 0);
    passed = passed && check_fold(u, x);
    free(index);
    free(run_keys);
    return passed;
}

/* Whether the back end takes it. */
static bool check_operator(checker *c, const options *o, int number, tally_dtype in, int form, int grouping,
                           bool has_functions) {
    user_context ctx = {size_of(in), 0};
    tally_user_op op = {.struct_size = sizeof op,
                        .name = operators[number].name,
                        .acc_bytes = operators[number].acc_bytes,
                        .identity = operators[number].identity,
                        .lift = operators[number].lift,
                        .combine = operators[number].combine,
                        .lower = operators[number].lower,
                        .context = &ctx,
                        .commutes = operators[number].commutes,
                        .acc_source = texts[number][0],
                        .identity_source = texts[number][1],
                        .lift_source = texts[number][2],
                        .combine_source = texts[number][3],
                        .lower_source = texts[number][4]};
    tally_desc desc = TALLY_DESC_INIT;
    bool reverse;
    desc.op = TALLY_USER;
    desc.form = form_of(form, &reverse);
    desc.flags = reverse ? TALLY_REVERSE : grouping == TALLY_LABELS ? TALLY_SKIP_BAD_LABELS : 0;
    desc.grouping = (tally_grouping)grouping;
    desc.in = in;
    desc.out = operators[number].out;
    desc.user = &op;
    char name[COMBINATION_NAME_BYTES];
    snprintf(name, sizeof name, "%s_%s/%s/%s/%s", has_functions ? "user" : "text", op.name,
             tally_grouping_name(desc.grouping), form_name(form), tally_dtype_name(in));
    if (!is_chosen(o, name))
        return true;
    tally_user_op original = op;
    if (!has_functions) {
        op.identity = NULL;
        op.lift = NULL;
        op.combine = NULL;
        op.lower = NULL;
    }
    tally_plan *plan;
    tally_status status = tally_plan_create(c->device, &desc, &plan);
    if (status != TALLY_OK) {
        if (status != TALLY_UNSUPPORTED)
            checker_fail(c, "%s: %s", name, tally_last_error());
        return false;
    }
    desc.user = NULL;
    memset(&op, 0, sizeof op); /* the plan has its own copy */
    amount how_many = o->quick || operators[number].acc_bytes > 64 ? AMOUNT_QUICK : AMOUNT_MAIN;
    size_t layouts = layout_count(desc.grouping, how_many);
    for (size_t i = 0; i < layouts; i++) {
        uint64_t seed = case_seed(o, name, i);
        layout l;
        layout_make(&l, desc.grouping, how_many, i, seed);
        for (int pieces = 0; pieces < 2; pieces++) {
            bool can_push = grouping <= TALLY_AXIS && !reverse && l.shape.outer == 1;
            user_case u = {.c = c, .op = &original, .l = &l, .name = name, .seed = seed, .args = TALLY_ARGS_INIT};
            u.is_scan = desc.form != TALLY_REDUCE;
            u.inclusive = desc.form == TALLY_INCLUSIVE_SCAN;
            u.reverse = reverse;
            u.in_bytes = size_of(in);
            u.out_bytes = size_of(desc.out);
            u.in_pieces = pieces;
            if (!pieces || can_push)
                check_user_case(&u, plan, in, TALLY_I64);
        }
        layout_release(&l);
    }
    tally_plan_destroy(plan);
    if (ctx.misaligned)
        checker_fail(c, "%s: an accumulator was not aligned to 16 bytes", name);
    return true;
}

uint64_t user_operators(checker *c, const options *o) {
    static const tally_dtype types[OPERATORS] = {TALLY_U64, TALLY_I32, TALLY_U8,  TALLY_I16,
                                                 TALLY_U16, TALLY_F32, TALLY_U32, TALLY_U8};
    const bool is_cpu = strncmp(o->device, "cpu", 3) == 0; /* a GPU has the texts only */
    uint64_t refused = 0;
    for (int number = 0; number < OPERATORS; number++)
        for (int form = 0; form < FORM_COUNT; form++)
            for (int grouping = 0; grouping < (form ? TALLY_LABELS : TALLY_GROUPING_COUNT); grouping++)
                for (int way = 0; way < (is_cpu ? 2 : 1); way++)
                    refused += !check_operator(c, o, number, types[number], form, grouping, way == 0);
    return refused;
}
