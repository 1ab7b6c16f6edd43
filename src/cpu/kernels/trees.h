/* Trees that make one vector of results of as many rows as it has lanes: two neighbouring rows become one, in which
 * each has half of the lanes. For AVX-512. */
#ifndef TALLY_CPU_TREES_H
#define TALLY_CPU_TREES_H

#include "cpu/kernels/lanes.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__)
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

enum { ROWS_AT_ONCE = 8 };

/* Eight rows as one. */
ALWAYS_INLINE v_u8 join_eight(const tree *t, const v_u8 *row) {
    v_u8 v[ROWS_AT_ONCE / 2];
    UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE / 2; r++) v[r] = joined(t, row[2 * r], row[2 * r + 1], t->bytes);
    UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE / 4; r++) v[r] = joined(t, v[2 * r], v[2 * r + 1], 2 * t->bytes);
    return joined(t, v[0], v[1], 4 * t->bytes);
}
ALWAYS_INLINE v_u8 join_rows(const tree *t, const v_u8 *row) {
    uint32_t has_nan = 0;
    if (t->op < SMALLER_FLOAT)
        return join_eight(t, row);
    UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r += 2) has_nan |=
        t->bytes == 4 ? (uint32_t)_mm512_cmp_ps_mask((__m512)row[r], (__m512)row[r + 1], _CMP_UNORD_Q)
                      : (uint32_t)_mm512_cmp_pd_mask((__m512d)row[r], (__m512d)row[r + 1], _CMP_UNORD_Q);
    const tree numbers = {t->op == SMALLER_FLOAT ? SMALLER_NUMBER : LARGER_NUMBER, t->bytes, t->flip, t->fill};
    return has_nan ? join_eight(t, row) : join_eight(&numbers, row);
}

/* The lengths of eight groups, each of which begins where the one before ends. */
ALWAYS_INLINE __m512i lengths_of_rows(const uint64_t *offsets) {
    return _mm512_sub_epi64(_mm512_loadu_si512(offsets + 1), _mm512_loadu_si512(offsets));
}

/* mask[r] = as many ones as group r has elements from number 'from' on, and all for 64 and more. Returns which have
 * more than 'most' of them. */
ALWAYS_INLINE uint32_t find_masks_of_rows(__m512i lengths, uint64_t from, uint64_t most, uint64_t *mask) {
    const __m512i first = _mm512_set1_epi64((long long)from),
                  rest = from ? _mm512_sub_epi64(_mm512_max_epu64(lengths, first), first) : lengths;
    v_u64 ones = 1 - (v_u64){0};
    LOADED_ONCE(ones); /* else gcc adds -1, which it makes by an instruction that waits for what its register held */
    const __m512i one = (__m512i)ones;
    _mm512_store_si512(mask, _mm512_sub_epi64(_mm512_sllv_epi64(one, rest), one));
    return _mm512_cmpgt_epu64_mask(rest, _mm512_set1_epi64((long long)most));
}

/* Groups longer than a vector are taken a vector each at a time while so many of eight are, and then one by one: nobody
 * foresees how often a loop of a group's own goes round. */
ALWAYS_INLINE bool are_many(uint32_t longer) {
    return (longer & (longer - 1) & ((longer & (longer - 1)) - 1)) != 0;
}

/* A mask of 8 to 64 lanes from memory, which gcc would load by way of a general register. */
ALWAYS_INLINE __mmask64 mask_of_row(const uint64_t *mask, size_t lanes) {
    __mmask64 some;
    if (lanes == 64)
        __asm__("kmovq %1, %0" : "=k"(some) : "m"(*mask));
    else if (lanes == 32)
        __asm__("kmovd %1, %0" : "=k"(some) : "m"(*mask));
    else
        __asm__("kmovw %1, %0" : "=k"(some) : "m"(*mask));
    return some;
}

/* Fetches elements behind those of 'lanes' groups, as many bytes as these have, unless one is very long. A processor
 * does not learn from masked loads what comes next. (Zen 5, from memory: sums of f64 in 6s 2.1 ns, 0.88 so.) */
enum { FETCHED_AHEAD = 4096, FETCHED_FROM = 2 << 20 };
ALWAYS_INLINE void fetch_following(const void *x, const uint64_t *offsets, size_t lanes, size_t bytes) {
    const uint64_t all = (offsets[lanes] - offsets[0]) * bytes;
    if (offsets[lanes] * bytes >= FETCHED_FROM && all <= 8 * lanes * VECTOR_BYTES)
        fetch_bytes((const char *)x + offsets[lanes] * bytes + FETCHED_AHEAD, all);
}

/* Of parts of eight rows each one vector. */
ALWAYS_INLINE v_u8 join_parts(const tree *t, v_u8 *part) {
    const size_t parts = VECTOR_BYTES / t->bytes / ROWS_AT_ONCE;
    if (parts >= 8)
        UNROLL_8 for (size_t k = 0; k < 4; k++) part[k] = joined(t, part[2 * k], part[2 * k + 1], VECTOR_BYTES / 8);
    if (parts >= 4)
        UNROLL_8 for (size_t k = 0; k < 2; k++) part[k] = joined(t, part[2 * k], part[2 * k + 1], VECTOR_BYTES / 4);
    return parts >= 2 ? joined(t, part[0], part[1], VECTOR_BYTES / 2) : part[0];
}

/* The offsets of 'lanes' groups, of which there are 'count': in 'room' with empty ones behind them if these are fewer.
 */
ALWAYS_INLINE const uint64_t *offsets_of_lanes(const uint64_t *offsets, size_t count, size_t lanes, uint64_t *room) {
    if (count >= lanes)
        return offsets;
    for (size_t k = 0; k <= lanes; k++) {
        NOT_IN_VECTORS(k);
        room[k] = offsets[k < count ? k : count];
    }
    return room;
}
#endif

#endif
