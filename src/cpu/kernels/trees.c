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
#include "cpu/kernels/trees.h"

enum { MOST_LANES = 64 };

/* Numbers where the mask has ones, elsewhere the identity. */
ALWAYS_INLINE v_u8 load_some(const tree *t, const char *x, const uint64_t *mask) {
    const __m512i fill = (__m512i)t->fill, flip = (__m512i)t->flip;
    const bool is_zero = t->op <= ADD; /* the identity: without the flip, there would be none */
    const __mmask64 some = mask_of_row(mask, VECTOR_BYTES / t->bytes);
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

/* A row with the n numbers of its group that are left. */
ALWAYS_INLINE v_u8 add_rest(const tree *t, v_u8 row, const char *x, uint64_t n) {
    const size_t lanes = VECTOR_BYTES / t->bytes;
    for (; n > lanes; n -= lanes, x += VECTOR_BYTES)
        row = combined(t, row, load_all(t, x));
    const uint64_t last = _bzhi_u64(UINT64_MAX, (unsigned)n);
    return combined(t, row, load_some(t, x, &last));
}

/* Eight groups, of which each begins where the one before ends. */
ALWAYS_INLINE v_u8 fold_eight(const tree *t, const char *x, const uint64_t *offsets) {
    const size_t lanes = VECTOR_BYTES / t->bytes;
    const __m512i lengths = lengths_of_rows(offsets);
    v_u8 row[ROWS_AT_ONCE];
    _Alignas(64) uint64_t mask[ROWS_AT_ONCE];
    uint32_t longer = find_masks_of_rows(lengths, 0, lanes, mask);
    IN_MEMORY(mask);
    UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] = load_some(t, x + offsets[r] * t->bytes, &mask[r]);
    size_t from = lanes;
    for (; are_many(longer); from += lanes) {
        longer = find_masks_of_rows(lengths, from, lanes, mask);
        IN_MEMORY(mask);
        UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] =
            combined(t, row[r], load_some(t, x + (offsets[r] + from) * t->bytes, &mask[r]));
    }
    if (longer) { /* rows that need not go through memory take two thirds of the time */
        v_u8 whole[ROWS_AT_ONCE];
        UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) whole[r] = row[r];
        for (; longer; longer &= longer - 1) {
            const size_t r = (size_t)__builtin_ctz(longer);
            whole[r] = add_rest(t, whole[r], x + (offsets[r] + from) * t->bytes, offsets[r + 1] - offsets[r] - from);
        }
        IN_MEMORY(whole);
        UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] = whole[r];
    }
    return join_rows(t, row);
}

ALWAYS_INLINE void fold(operation op, size_t bytes, v_u8 flip, v_u8 fill, const char *x, const uint64_t *offsets,
                        size_t count, v_u8 start, char *out) {
    const tree t = {op, bytes, flip, fill};
    const size_t lanes = VECTOR_BYTES / bytes;
    for (size_t done = 0; done < count; done += lanes) {
        uint64_t room[MOST_LANES + 1];
        const uint64_t *const own = offsets_of_lanes(offsets + done, count - done, lanes, room);
        v_u8 part[MOST_LANES / ROWS_AT_ONCE];
        fetch_following(x, own, lanes, bytes);
        for (size_t k = 0; k < lanes / ROWS_AT_ONCE; k++)
            part[k] = fold_eight(&t, x, own + k * ROWS_AT_ONCE);
        const v_u8 result = flip ^ combined(&t, start ^ flip, join_parts(&t, part));
        if (own == room)
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

typedef __mmask64 lane_mask_8;
typedef __mmask32 lane_mask_16;
typedef __mmask16 lane_mask_32;
typedef __mmask8 lane_mask_64;

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
                const v_##tag v = (v_##tag)_mm512_maskz_loadu_epi##bits((lane_mask_##bits)some, from + at);            \
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
DEFINE_FIRST_EQUAL(u8, 8, _mm512_cmpeq_epi8_mask((__m512i)v, (__m512i)own))
DEFINE_FIRST_EQUAL(u16, 16, _mm512_cmpeq_epi16_mask((__m512i)v, (__m512i)own))
DEFINE_FIRST_EQUAL(u32, 32, _mm512_cmpeq_epi32_mask((__m512i)v, (__m512i)own))
DEFINE_FIRST_EQUAL(u64, 64, _mm512_cmpeq_epi64_mask((__m512i)v, (__m512i)own))
DEFINE_FIRST_EQUAL(f32, 32, EQUAL_FLOATS(32, ps))
DEFINE_FIRST_EQUAL(f64, 64, EQUAL_FLOATS(64, pd))

tally_cpu_first_equal *PASTE4(tally_cpu_first_equal, _, TALLY_LEVEL, )(tally_dtype type) {
    switch (type) {
    case TALLY_I8:
    case TALLY_U8:
        return first_equal_u8;
    case TALLY_I16:
    case TALLY_U16:
        return first_equal_u16;
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
