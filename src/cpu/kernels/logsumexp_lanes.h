/* Running logsumexps in a vector of doubles, of elements that lie apart, for groups and for long scans. */
#ifndef TALLY_CPU_LOGSUMEXP_LANES_H
#define TALLY_CPU_LOGSUMEXP_LANES_H

#include "cpu/kernels/group_lanes.h"
#include "cpu/kernels/simd_exp.h"

/* The open group's accumulator, in every lane. */
typedef struct open_group {
    v_f64 largest, sum;
} open_group;

/* An element x with m, the largest before it in its group, takes one exponential, e^-|x - m|: either the sum so far is
 * multiplied by that, as x is the largest now, or it is added to the sum. So a sum is share * (the sum before) + own,
 * and such functions are combined in log2(lanes) steps. A sum is at least 1, to which numbers below e^-84 add nothing;
 * they become 0, so that no product of numbers is subnormal. */
ALWAYS_INLINE open_group scan_apart(v_f64 x, v_f64 n, open_group *open) {
    const v_f64 zero = {0}, one = zero + 1.0;
    v_f64 largest = x;
    UNROLL_8 for (size_t by = 1; by < LANES_OF(s_f64); by *= 2) {
        const v_f64 below = shift_up_f64(largest, zero + LOWEST_f64, by);
        largest = SELECT_LANES(f64, (n > zero + (double)by), max_f64(below, largest), largest);
    }
    largest = if_open_f64(marks_of_f64(n), max_f64(open->largest, largest), largest);
    const v_f64 before = shift_up_f64(largest, open->largest, 1);
    const v_i64 first = n == one, grows = before < x;
    const v_f64 apart = SELECT_LANES(f64, grows, before - x, x - before);
    /* where it is NaN, for equal infinities or a NaN, whose largest is NaN: 1, as no sum may reach the next group */
    const v_f64 power = SELECT_LANES(f64, (apart < zero - 84.0), zero, exp_f64(apart));
    const v_f64 e = SELECT_LANES(f64, (apart == apart), power, one);
    v_f64 share = SELECT_LANES(f64, first, zero, SELECT_LANES(f64, grows, e, one));
    v_f64 own = SELECT_LANES(f64, (first | grows), one, e);
    UNROLL_8 for (size_t by = 1; by < LANES_OF(s_f64); by *= 2) {
        own = add_product_f64(own, shift_up_f64(own, zero, by), share);
        share *= shift_up_f64(share, one, by);
    }
    const open_group prefix = {largest, add_product_f64(own, share, open->sum)};
    *open = (open_group){last_f64(prefix.largest), last_f64(prefix.sum)};
    return prefix;
}

#endif
