/* Prefixes of short groups, many in a vector of floats. Lane l is element number n[l] of its group, from 1 on. */
#ifndef TALLY_CPU_GROUP_LANES_H
#define TALLY_CPU_GROUP_LANES_H

#include "cpu/kernels/simd.h"

/* load_numbers_TAG(p): as floats. began_before_TAG: lanes whose group began before this vector. prefixes_in_groups_TAG:
 * sums within groups; lanes whose group began before this vector add 'before', which becomes the sum of the open group.
 */
#define DEFINE_GROUP_LANES(tag, bits)                                                                                  \
    ALWAYS_INLINE v_##tag load_numbers_##tag(const uint32_t *p) {                                                      \
        return load_##tag##_from_u32((const e_u32 *)p);                                                                \
    }                                                                                                                  \
    ALWAYS_INLINE v_i##bits began_before_##tag(v_##tag n) {                                                            \
        v_##tag first;                                                                                                 \
        for (size_t l = 0; l < LANES_OF(s_##tag); l++)                                                                 \
            first[l] = (s_##tag)(l + 1);                                                                               \
        return n > first;                                                                                              \
    }                                                                                                                  \
    ALWAYS_INLINE v_##tag prefixes_in_groups_##tag(v_##tag x, v_##tag n, v_i##bits is_open, v_##tag *before) {         \
        UNROLL_8 for (size_t by = 1; by < LANES_OF(s_##tag); by *= 2) x +=                                             \
            (v_##tag)((v_i##bits)shift_up_##tag(x, (v_##tag){0}, by) & (n > (v_##tag){0} + (s_##tag)by));              \
        const v_##tag result = x + (v_##tag)(is_open & (v_i##bits) * before);                                          \
        *before = last_##tag(x) + (v_##tag)((v_i##bits)last_##tag((v_##tag)is_open) & (v_i##bits) * before);           \
        return result;                                                                                                 \
    }
DEFINE_LOAD_VECTOR(f32, u32)
DEFINE_GROUP_LANES(f32, 32)
DEFINE_GROUP_LANES(f64, 64)

#endif
