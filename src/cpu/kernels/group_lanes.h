/* Prefixes of short groups, many in a vector of doubles. Lane l is element number n[l] of its group, from 1 on. */
#ifndef TALLY_CPU_GROUP_LANES_H
#define TALLY_CPU_GROUP_LANES_H

#include "cpu/kernels/simd.h"

/* Lanes whose group began before this vector. */
ALWAYS_INLINE v_i64 began_before(v_u64 number) {
    const v_u64 lane = (v_u64)(unit_numbers() >> 1) & 0xffffffff;
    return (v_i64)number > (v_i64)lane + 1;
}

/* Sums within groups. Lanes whose group began before this vector add 'before', which becomes the sum of the open group.
 */
ALWAYS_INLINE v_f64 prefixes_in_groups(v_f64 x, v_f64 n, v_i64 is_open, v_f64 *before) {
    UNROLL_8 for (size_t shift = 1; shift < LANES_OF(s_f64); shift *= 2) x +=
        (v_f64)((v_i64)shift_up_f64(x, (v_f64){0}, shift) & (n > (v_f64){0} + (double)shift));
    const v_f64 result = x + (v_f64)(is_open & (v_i64)*before);
    *before = last_f64(x) + (v_f64)((v_i64)last_f64((v_f64)is_open) & (v_i64)*before);
    return result;
}

#endif
