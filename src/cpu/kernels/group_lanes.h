/* Prefixes of short groups, many in a vector of floats. Lane l is element number n[l] of its group, from 1 on. */
#ifndef TALLY_CPU_GROUP_LANES_H
#define TALLY_CPU_GROUP_LANES_H

#include "cpu/kernels/simd.h"

/* What follows from the numbers of a vector's lanes, marks_TAG: whether each is behind element 1, 2, 4 and 8; whether
 * its group began before this vector; and whether the last one's did, in every lane.
 *
 *   load_numbers_TAG(p)              numbers as floats
 *   marks_of_TAG(n)
 *   if_open_TAG(marks, yes, no)      'yes' where the group began before this vector
 *   prefixes_in_groups_TAG(x, marks, &before)   sums within groups; those that began before this vector add 'before',
 *                                               which becomes the sum of the open group */
#if defined(__AVX512F__)
#define DEFINE_GROUP_LANES(tag, bits, suffix, lane_mask)                                                               \
    typedef struct marks_##tag {                                                                                       \
        lane_mask behind[4], open, ends_open;                                                                          \
    } marks_##tag;                                                                                                     \
    ALWAYS_INLINE lane_mask above_##tag(v_##tag n, v_##tag limit) {                                                    \
        return _mm512_cmp_##suffix##_mask(n, limit, _CMP_GT_OQ);                                                       \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag if_open_##tag(marks_##tag marks, v_##tag yes, v_##tag no) {                                  \
        return _mm512_mask_mov_##suffix(no, marks.open, yes);                                                          \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag add_where_##tag(lane_mask mask, v_##tag x, v_##tag y) {                                      \
        return _mm512_mask_add_##suffix(x, mask, x, y);                                                                \
    }
#else
#define DEFINE_GROUP_LANES(tag, bits, suffix, lane_mask)                                                               \
    typedef struct marks_##tag {                                                                                       \
        v_i##bits behind[4], open, ends_open;                                                                          \
    } marks_##tag;                                                                                                     \
    ALWAYS_INLINE v_i##bits above_##tag(v_##tag n, v_##tag limit) {                                                    \
        return n > limit;                                                                                              \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag if_open_##tag(marks_##tag marks, v_##tag yes, v_##tag no) {                                  \
        return SELECT_LANES(tag, marks.open, yes, no);                                                                 \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag add_where_##tag(v_i##bits mask, v_##tag x, v_##tag y) {                                      \
        return x + (v_##tag)(mask & (v_i##bits)y);                                                                     \
    }
#endif
#define DEFINE_PREFIXES_IN_GROUPS(tag)                                                                                 \
    ALWAYS_INLINE v_##tag load_numbers_##tag(const uint32_t *p) {                                                      \
        return load_##tag##_from_u32((const e_u32 *)p);                                                                \
    }                                                                                                                  \
    ALWAYS_INLINE marks_##tag marks_of_##tag(v_##tag n) {                                                              \
        enum { LANES_##tag = LANES_OF(s_##tag) };                                                                      \
        marks_##tag marks;                                                                                             \
        v_##tag zero = {0}, place;                                                                                     \
        UNROLL_8 for (size_t k = 0; (size_t)1 << k < LANES_##tag; k++) marks.behind[k] =                               \
            above_##tag(n, zero + (s_##tag)(1 << k));                                                                  \
        for (size_t l = 0; l < LANES_##tag; l++)                                                                       \
            place[l] = (s_##tag)(l + 1);                                                                               \
        marks.open = above_##tag(n, place);                                                                            \
        marks.ends_open = above_##tag(last_##tag(n), zero + (s_##tag)LANES_##tag);                                     \
        return marks;                                                                                                  \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag prefixes_in_groups_##tag(v_##tag x, marks_##tag marks, v_##tag *before) {                    \
        UNROLL_8 for (size_t k = 0; (size_t)1 << k < LANES_OF(s_##tag); k++) x =                                       \
            add_where_##tag(marks.behind[k], x, shift_up_##tag(x, (v_##tag){0}, (size_t)1 << k));                      \
        const v_##tag result = add_where_##tag(marks.open, x, *before);                                                \
        *before = add_where_##tag(marks.ends_open, last_##tag(x), *before);                                            \
        return result;                                                                                                 \
    }
DEFINE_LOAD_VECTOR(f32, u32)
DEFINE_GROUP_LANES(f32, 32, ps, __mmask16)
DEFINE_GROUP_LANES(f64, 64, pd, __mmask8)
DEFINE_PREFIXES_IN_GROUPS(f32)
DEFINE_PREFIXES_IN_GROUPS(f64)

/* Each lane takes the first element of its group, where that is in this vector; others take any. */
ALWAYS_INLINE v_f64 firsts_of_groups(v_f64 x, const uint32_t *numbers) {
#if defined(__AVX512F__)
    const __m512i number = (__m512i)load_u64_from_u32((const e_u32 *)numbers);
    const __m512i place = _mm512_setr_epi64(1, 2, 3, 4, 5, 6, 7, 8);
    return _mm512_permutexvar_pd(_mm512_sub_epi64(place, number), x);
#else
    const v_u64 down = load_u64_from_u32((const e_u32 *)numbers) - 1;
    return (v_f64)permute_units((v_u32)x, unit_numbers() - (v_u32)(2 * (down | down << 32)));
#endif
}

#endif
