/* Reductions of short groups of numbers, many at a time. Each group is loaded into a vector of its own, whose other
 * lanes are the identity, and what does not fit follows vector by vector. Then a tree leaves one vector of results: two
 * neighbouring rows become one, in which each has half of the lanes. A group takes a masked load, and a shuffle, two
 * blends and one operation of the tree, whatever its length up to a vector, and nothing depends on where it ends.
 *
 * Other integers are unsigned ones of which some bits are flipped, as in narrow_scan.c. For AVX-512, which has masked
 * loads. */
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"

tally_cpu_trees_for PASTE4(tally_cpu_trees, _, TALLY_LEVEL, );
tally_cpu_first_equal_for PASTE4(tally_cpu_first_equal, _, TALLY_LEVEL, );

#if defined(__AVX512BW__)
#include "cpu/kernels/narrow_lanes.h"

typedef enum operation {
    OR,
    XOR,
    LARGER,
    ADD,
    MULTIPLY,
    ADD_FLOATS,
    MULTIPLY_FLOATS,
    SMALLER_FLOAT, /* or NaN */
    LARGER_FLOAT,
    SMALLER_NUMBER, /* of numbers none of which is NaN, in a third of the instructions */
    LARGER_NUMBER
} operation;

/* What all functions take: op and bytes, a number's, are constants where they are inlined. */
typedef struct tree {
    operation op;
    size_t bytes;
    v_u8 flip, fill; /* of loads: the identity, flipped */
} tree;

#define BY_BYTES(bytes, function, a, b)                                                                                \
    ((bytes) == 1   ? (v_u8)function##_u8((v_u8)(a), (v_u8)(b))                                                        \
     : (bytes) == 2 ? (v_u8)function##_u16((v_u16)(a), (v_u16)(b))                                                     \
     : (bytes) == 4 ? (v_u8)function##_u32((v_u32)(a), (v_u32)(b))                                                     \
                    : (v_u8)function##_u64((v_u64)(a), (v_u64)(b)))
#define OF_FLOATS(bytes, expression_32, expression_64) ((bytes) == 4 ? (v_u8)(expression_32) : (v_u8)(expression_64))

ALWAYS_INLINE v_u8 combined(const tree *t, v_u8 a, v_u8 b) {
    switch (t->op) {
    case OR:
        return a | b;
    case XOR:
        return a ^ b;
    case LARGER:
        return BY_BYTES(t->bytes, max, a, b);
    case ADD:
        return OF_FLOATS(t->bytes, (v_u32)a + (v_u32)b, (v_u64)a + (v_u64)b);
    case MULTIPLY:
        return OF_FLOATS(t->bytes, (v_u32)a * (v_u32)b, (v_u64)a * (v_u64)b);
    case ADD_FLOATS:
        return OF_FLOATS(t->bytes, (v_f32)a + (v_f32)b, (v_f64)a + (v_f64)b);
    case MULTIPLY_FLOATS:
        return OF_FLOATS(t->bytes, (v_f32)a * (v_f32)b, (v_f64)a * (v_f64)b);
    case SMALLER_FLOAT:
        return OF_FLOATS(t->bytes, min_f32((v_f32)a, (v_f32)b), min_f64((v_f64)a, (v_f64)b));
    case LARGER_FLOAT:
        return OF_FLOATS(t->bytes, max_f32((v_f32)a, (v_f32)b), max_f64((v_f64)a, (v_f64)b));
    case SMALLER_NUMBER:
        return OF_FLOATS(t->bytes, smaller_f32((v_f32)a, (v_f32)b), smaller_f64((v_f64)a, (v_f64)b));
    default:
        return OF_FLOATS(t->bytes, larger_f32((v_f32)a, (v_f32)b), larger_f64((v_f64)a, (v_f64)b));
    }
}

/* Numbers where the mask has ones, elsewhere the identity. gcc would load the mask by way of a general register. */
ALWAYS_INLINE v_u8 load_some(const tree *t, const char *x, const uint64_t *mask) {
    const __m512i fill = (__m512i)t->fill, flip = (__m512i)t->flip;
    const bool is_zero = t->op <= ADD; /* the identity: without the flip, there would be none */
    __mmask64 some;
    if (t->bytes == 1)
        __asm__("kmovq %1, %0" : "=k"(some) : "m"(*mask));
    else if (t->bytes == 2)
        __asm__("kmovd %1, %0" : "=k"(some) : "m"(*mask));
    else
        __asm__("kmovw %1, %0" : "=k"(some) : "m"(*mask));
    if (t->bytes == 1)
        return t->flip ^ (v_u8)_mm512_mask_loadu_epi8(fill, some, x);
    if (t->bytes == 2)
        return t->flip ^ (v_u8)_mm512_mask_loadu_epi16(fill, (__mmask32)some, x);
    if (t->bytes == 4)
        return (v_u8)(is_zero ? _mm512_maskz_xor_epi32((__mmask16)some, flip, _mm512_loadu_si512(x))
                              : _mm512_mask_loadu_epi32(fill, (__mmask16)some, x));
    return (v_u8)(is_zero ? _mm512_maskz_xor_epi64((__mmask8)some, flip, _mm512_loadu_si512(x))
                          : _mm512_mask_loadu_epi64(fill, (__mmask8)some, x));
}
ALWAYS_INLINE v_u8 load_all(const tree *t, const char *x) {
    v_u8 v;
    memcpy(&v, x, sizeof v);
    return v ^ t->flip;
}

/* Of two rows one, in which parts of 'apart' bytes are of the one and the other in turns. */
ALWAYS_INLINE v_u8 joined(const tree *t, v_u8 a, v_u8 b, size_t apart) {
#define BLEND(p, q)                                                                                                    \
    ((v_u8)(apart == 1   ? _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, (__m512i)(p), (__m512i)(q))                      \
            : apart == 2 ? _mm512_mask_blend_epi16(0xaaaaaaaa, (__m512i)(p), (__m512i)(q))                             \
                         : _mm512_mask_blend_epi32(apart == 4    ? 0xaaaa                                              \
                                                   : apart == 8  ? 0xcccc                                              \
                                                   : apart == 16 ? 0xf0f0                                              \
                                                                 : 0xff00,                                             \
                                                   (__m512i)(p), (__m512i)(q))))
    return combined(t, BLEND(a, b), swapped_parts(BLEND(b, a), apart));
#undef BLEND
}

enum { AT_ONCE = 8, MOST_LANES = 64 };

/* Eight rows as one. */
ALWAYS_INLINE v_u8 join_eight(const tree *t, const v_u8 *row) {
    v_u8 v[AT_ONCE / 2];
    UNROLL_8 for (size_t r = 0; r < AT_ONCE / 2; r++) v[r] = joined(t, row[2 * r], row[2 * r + 1], t->bytes);
    UNROLL_8 for (size_t r = 0; r < AT_ONCE / 4; r++) v[r] = joined(t, v[2 * r], v[2 * r + 1], 2 * t->bytes);
    return joined(t, v[0], v[1], 4 * t->bytes);
}
ALWAYS_INLINE v_u8 join_rows(const tree *t, const v_u8 *row) {
    uint32_t has_nan = 0;
    if (t->op < SMALLER_FLOAT)
        return join_eight(t, row);
    UNROLL_8 for (size_t r = 0; r < AT_ONCE; r += 2) has_nan |=
        t->bytes == 4 ? (uint32_t)_mm512_cmp_ps_mask((__m512)row[r], (__m512)row[r + 1], _CMP_UNORD_Q)
                      : (uint32_t)_mm512_cmp_pd_mask((__m512d)row[r], (__m512d)row[r + 1], _CMP_UNORD_Q);
    const tree numbers = {t->op == SMALLER_FLOAT ? SMALLER_NUMBER : LARGER_NUMBER, t->bytes, t->flip, t->fill};
    return has_nan ? join_eight(t, row) : join_eight(&numbers, row);
}

/* A row with what does not fit, of a group of n numbers. */
ALWAYS_INLINE v_u8 add_rest(const tree *t, v_u8 row, const char *x, uint64_t n) {
    const size_t lanes = VECTOR_BYTES / t->bytes;
    for (n -= lanes, x += VECTOR_BYTES; n > lanes; n -= lanes, x += VECTOR_BYTES)
        row = combined(t, row, load_all(t, x));
    const uint64_t last = _bzhi_u64(UINT64_MAX, (unsigned)n);
    return combined(t, row, load_some(t, x, &last));
}

/* Eight groups, of which each begins where the one before ends. */
ALWAYS_INLINE v_u8 fold_eight(const tree *t, const char *x, const uint64_t *offsets) {
    const size_t lanes = VECTOR_BYTES / t->bytes;
    v_u8 row[AT_ONCE];
    _Alignas(64) uint64_t mask[AT_ONCE];
    const __m512i lengths = _mm512_sub_epi64(_mm512_loadu_si512(offsets + 1), _mm512_loadu_si512(offsets));
    /* as many ones as there are elements, and all for 64 and more */
    _mm512_storeu_si512(mask, _mm512_sub_epi64(_mm512_sllv_epi64(_mm512_set1_epi64(1), lengths), _mm512_set1_epi64(1)));
    IN_MEMORY(mask);
    UNROLL_8 for (size_t r = 0; r < AT_ONCE; r++) row[r] = load_some(t, x + offsets[r] * t->bytes, &mask[r]);
    const uint32_t longer = _mm512_cmpgt_epu64_mask(lengths, _mm512_set1_epi64((long long)lanes));
    if (longer) { /* rows that need not go through memory take two thirds of the time */
        v_u8 whole[AT_ONCE];
        UNROLL_8 for (size_t r = 0; r < AT_ONCE; r++) whole[r] = row[r];
        for (uint32_t rest = longer; rest; rest &= rest - 1) {
            const size_t r = (size_t)__builtin_ctz(rest);
            whole[r] = add_rest(t, whole[r], x + offsets[r] * t->bytes, offsets[r + 1] - offsets[r]);
        }
        IN_MEMORY(whole);
        UNROLL_8 for (size_t r = 0; r < AT_ONCE; r++) row[r] = whole[r];
    }
    return join_rows(t, row);
}

/* As many groups as a vector has lanes. */
ALWAYS_INLINE v_u8 fold_groups(const tree *t, const char *x, const uint64_t *offsets) {
    const size_t parts = VECTOR_BYTES / t->bytes / AT_ONCE;
    v_u8 part[MOST_LANES / AT_ONCE];
    for (size_t k = 0; k < parts; k++)
        part[k] = fold_eight(t, x, offsets + k * AT_ONCE);
    if (parts >= 8)
        UNROLL_8 for (size_t k = 0; k < 4; k++) part[k] = joined(t, part[2 * k], part[2 * k + 1], VECTOR_BYTES / 8);
    if (parts >= 4)
        UNROLL_8 for (size_t k = 0; k < 2; k++) part[k] = joined(t, part[2 * k], part[2 * k + 1], VECTOR_BYTES / 4);
    return parts >= 2 ? joined(t, part[0], part[1], VECTOR_BYTES / 2) : part[0];
}

ALWAYS_INLINE void fold(operation op, size_t bytes, v_u8 flip, v_u8 fill, const char *x, const uint64_t *offsets,
                        size_t count, v_u8 start, char *out) {
    const tree t = {op, bytes, flip, fill};
    const size_t lanes = VECTOR_BYTES / bytes;
    for (size_t done = 0; done < count; done += lanes) {
        uint64_t last[MOST_LANES + 1];
        const uint64_t *own = offsets + done;
        const bool is_last = done + lanes > count;
        if (is_last) { /* and empty ones behind them */
            for (size_t k = 0; k <= lanes; k++)
                last[k] = offsets[done + k < count ? done + k : count];
            own = last;
        }
        const v_u8 result = flip ^ combined(&t, start ^ flip, fold_groups(&t, x, own));
        if (is_last)
            store_bytes(out + done * bytes, result, (count - done) * bytes);
        else
            memcpy(out + done * bytes, &result, sizeof result);
    }
}

/* A number in every lane. */
ALWAYS_INLINE v_u8 in_every_lane(uint64_t number, size_t bytes) {
    return bytes == 1   ? (uint8_t)number - (v_u8){0}
           : bytes == 2 ? (v_u8)((uint16_t)number - (v_u16){0})
           : bytes == 4 ? (v_u8)((uint32_t)number - (v_u32){0})
                        : (v_u8)(number - (v_u64){0});
}

#define DEFINE_TREE(OPERATION, BYTES)                                                                                  \
    static void PASTE4(tree_, OPERATION, _, BYTES)(const void *x, const uint64_t *offsets, size_t count,               \
                                                   const tally_cpu_tree *t, const void *start, void *out) {            \
        uint64_t from = 0;                                                                                             \
        memcpy(&from, start, BYTES);                                                                                   \
        fold(OPERATION, BYTES, in_every_lane(t->flip, BYTES), in_every_lane(t->fill, BYTES), x, offsets, count,        \
             in_every_lane(from, BYTES), out);                                                                         \
    }
#define DEFINE_TREES(BYTES)                                                                                            \
    DEFINE_TREE(OR, BYTES)                                                                                             \
    DEFINE_TREE(XOR, BYTES)                                                                                            \
    DEFINE_TREE(LARGER, BYTES)
DEFINE_TREES(1)
DEFINE_TREES(2)
DEFINE_TREES(4)
DEFINE_TREES(8)
DEFINE_TREE(ADD, 8)
DEFINE_TREE(MULTIPLY, 8)
DEFINE_TREE(ADD_FLOATS, 8)
DEFINE_TREE(MULTIPLY_FLOATS, 8)
DEFINE_TREE(SMALLER_FLOAT, 4)
DEFINE_TREE(SMALLER_FLOAT, 8)
DEFINE_TREE(LARGER_FLOAT, 4)
DEFINE_TREE(LARGER_FLOAT, 8)

static uint64_t bits_of_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* flip and fill are those of the numbers as they are loaded: what is filled in becomes the identity by the flip. */
#define TREE(OPERATION, BYTES, flip, fill) ((tally_cpu_tree){PASTE4(tree_, OPERATION, _, BYTES), flip, fill})
#define CASE(BYTES, bits, is_signed)                                                                                   \
    {                                                                                                                  \
        const uint64_t ones = UINT64_MAX >> (64 - bits), sign = (is_signed) ? UINT64_C(1) << (bits - 1) : 0;           \
        switch (monoid) {                                                                                              \
        case TALLY_MONOID_band:                                                                                        \
            return TREE(OR, BYTES, ones, ones);                                                                        \
        case TALLY_MONOID_bor:                                                                                         \
            return TREE(OR, BYTES, 0, 0);                                                                              \
        case TALLY_MONOID_bxor:                                                                                        \
            return TREE(XOR, BYTES, 0, 0);                                                                             \
        case TALLY_MONOID_min:                                                                                         \
            return TREE(LARGER, BYTES, ones ^ sign, ones ^ sign);                                                      \
        case TALLY_MONOID_max:                                                                                         \
            return TREE(LARGER, BYTES, sign, sign);                                                                    \
        case TALLY_MONOID_sum:                                                                                         \
            return BYTES == 8 ? TREE(ADD, 8, 0, 0) : (tally_cpu_tree){0};                                              \
        case TALLY_MONOID_prod:                                                                                        \
            return BYTES == 8 ? TREE(MULTIPLY, 8, 0, 1) : (tally_cpu_tree){0};                                         \
        default:                                                                                                       \
            return (tally_cpu_tree){0};                                                                                \
        }                                                                                                              \
    }

tally_cpu_tree PASTE4(tally_cpu_trees, _, TALLY_LEVEL, )(tally_dtype type, tally_monoid monoid) {
    enum { INFINITY_32 = 0x7f800000 };
    switch (type) {
    case TALLY_I8:
    case TALLY_U8:
        CASE(1, 8, type == TALLY_I8)
    case TALLY_I16:
    case TALLY_U16:
        CASE(2, 16, type == TALLY_I16)
    case TALLY_I32:
    case TALLY_U32:
        CASE(4, 32, type == TALLY_I32)
    case TALLY_I64:
    case TALLY_U64:
        CASE(8, 64, type == TALLY_I64)
    case TALLY_F32:
        return monoid == TALLY_MONOID_min   ? TREE(SMALLER_FLOAT, 4, 0, INFINITY_32)
               : monoid == TALLY_MONOID_max ? TREE(LARGER_FLOAT, 4, 0, UINT64_C(1) << 31 | INFINITY_32)
                                            : (tally_cpu_tree){0};
    case TALLY_F64:
        return monoid == TALLY_MONOID_min    ? TREE(SMALLER_FLOAT, 8, 0, bits_of_f64((double)INFINITY))
               : monoid == TALLY_MONOID_max  ? TREE(LARGER_FLOAT, 8, 0, bits_of_f64(-(double)INFINITY))
               : monoid == TALLY_MONOID_sum  ? TREE(ADD_FLOATS, 8, 0, 0)
               : monoid == TALLY_MONOID_prod ? TREE(MULTIPLY_FLOATS, 8, 0, bits_of_f64(1))
                                             : (tally_cpu_tree){0};
    default:
        return (tally_cpu_tree){0};
    }
}

/* ---- places ---- */

/* The first of a group that equals its value, or that is NaN as its value is. */
#define DEFINE_FIRST_EQUAL(tag, bits, equal)                                                                           \
    static void first_equal_##tag(const void *elements, const uint64_t *offsets, size_t count, const void *values,     \
                                  int64_t *places) {                                                                   \
        enum { LANES = VECTOR_BYTES * 8 / bits };                                                                      \
        const e_##tag *const x = elements, *const value = values;                                                      \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const v_##tag own = value[i] - (v_##tag){0};                                                               \
            const e_##tag *const from = x + offsets[i];                                                                \
            const uint64_t n = offsets[i + 1] - offsets[i];                                                            \
            uint64_t at = 0, found;                                                                                    \
            for (;;) {                                                                                                 \
                const uint64_t rest = n - at, some = _bzhi_u64(UINT64_MAX, (unsigned)(rest < LANES ? rest : LANES));   \
                const v_##tag v = (v_##tag)_mm512_maskz_loadu_epi##bits((__typeof__(_mm512_cmpeq_epi##bits##_mask(     \
                                      (__m512i){0}, (__m512i){0})))some, from + at);                                   \
                found = some & (equal);                                                                                \
                if (found || rest <= LANES)                                                                            \
                    break;                                                                                             \
                at += LANES;                                                                                           \
            }                                                                                                          \
            places[i] = (int64_t)(at + _tzcnt_u64(found));                                                             \
        }                                                                                                              \
    }
#define EQUAL_FLOATS(bits, suffix)                                                                                     \
    (_mm512_cmp_##suffix##_mask(v, own, _CMP_EQ_OQ) |                                                                  \
     (_mm512_cmp_##suffix##_mask(v, v, _CMP_UNORD_Q) & _mm512_cmp_##suffix##_mask(own, own, _CMP_UNORD_Q)))
DEFINE_FIRST_EQUAL(u32, 32, _mm512_cmpeq_epi32_mask((__m512i)v, (__m512i)own))
DEFINE_FIRST_EQUAL(u64, 64, _mm512_cmpeq_epi64_mask((__m512i)v, (__m512i)own))
DEFINE_FIRST_EQUAL(f32, 32, EQUAL_FLOATS(32, ps))
DEFINE_FIRST_EQUAL(f64, 64, EQUAL_FLOATS(64, pd))

tally_cpu_first_equal *PASTE4(tally_cpu_first_equal, _, TALLY_LEVEL, )(tally_dtype type) {
    switch (type) {
    case TALLY_I32:
    case TALLY_U32:
        return first_equal_u32;
    case TALLY_I64:
    case TALLY_U64:
        return first_equal_u64;
    case TALLY_F32:
        return first_equal_f32;
    case TALLY_F64:
        return first_equal_f64;
    default:
        return NULL;
    }
}
#else
tally_cpu_tree PASTE4(tally_cpu_trees, _, TALLY_LEVEL, )(tally_dtype type, tally_monoid monoid) {
    (void)type, (void)monoid;
    return (tally_cpu_tree){0};
}
tally_cpu_first_equal *PASTE4(tally_cpu_first_equal, _, TALLY_LEVEL, )(tally_dtype type) {
    (void)type;
    return NULL;
}
#endif
