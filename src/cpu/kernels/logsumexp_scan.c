/* Running logsumexps of short groups, many in a vector: accumulators of a largest element and the sum of exp(x -
 * largest).
 *
 * Where the elements of a block are near each other, the largest of all serves every prefix, and an element costs one
 * exponential. Elsewhere each prefix has its own (logsumexp_lanes.h). */
#include "cpu/kernels/group_lanes.h"
#include "cpu/kernels/lanes.h"
#include "cpu/kernels/logsumexp_lanes.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd_exp.h"

/* How far below the largest elements may be. A result r is formed as largest + log(sum), and rounded by as much as the
 * distance. In narrow types nothing is lost before the sum is below 2^-1022. */
static const double NEAR = 16, NEAR_NARROW = 600;

enum { LANES = LANES_OF(s_f64) };

/* False if one is not finite. */
static bool are_near(const double *x, size_t n, double distance, double *largest) {
    v_f64 v, top = (v_f64){0} + x[0];
    v_i64 near = (v_i64)(top == top);
    for (size_t i = 0; i < n; i += LANES) {
        memcpy(&v, x + i, sizeof v);
        top = larger_f64(top, v);
    }
    double own = x[0];
    for (size_t l = 0; l < LANES; l++)
        own = top[l] > own ? top[l] : own;
    for (size_t i = 0; i < n; i += LANES) {
        memcpy(&v, x + i, sizeof v);
        near &= (v_i64)(own - v <= distance + (v_f64){0});
    }
    *largest = own;
    return !any_bit((v_u64)~near);
}

ALWAYS_INLINE open_group scan_near(v_f64 x, v_u64 number, double largest, open_group *open) {
    const v_f64 n = __builtin_convertvector((v_i64)number, v_f64), top = (v_f64){0} + largest;
    const v_f64 sum = prefixes_in_groups(exp_f64(x - top), n, began_before(number), &open->sum);
    return (open_group){top, sum};
}

/* The prefixes before each lane; *before is the last of the vector before. */
ALWAYS_INLINE open_group moved_up(open_group prefix, v_u64 number, open_group *before) {
    const v_f64 zero = {0};
    const v_i64 first = (v_i64)(number == 1);
    const v_f64 largest = shift_up_f64(prefix.largest, before->largest, 1),
                sum = shift_up_f64(prefix.sum, before->sum, 1);
    *before = (open_group){last_f64(prefix.largest), last_f64(prefix.sum)};
    return (open_group){SELECT_LANES(f64, first, zero + LOWEST_f64, largest), SELECT_LANES(f64, first, zero, sum)};
}

ALWAYS_INLINE void scan_block(const double *x, const uint64_t *numbers, size_t n, tally_cpu_scan_options how, bool near,
                              double largest, double *acc) {
    open_group open = {(v_f64){0} + LOWEST_f64, {0}}, before = open;
    for (size_t done = 0; done < n; done += LANES) {
        const size_t first = how.reverse ? n - done - LANES : done;
        v_f64 v;
        v_u64 number;
        memcpy(&v, x + first, sizeof v);
        memcpy(&number, numbers + done, sizeof number);
        v = how.reverse ? reversed_f64(v) : v;
        open_group prefix = near ? scan_near(v, number, largest, &open) : scan_apart(v, number, &open);
        if (how.exclusive)
            prefix = moved_up(prefix, number, &before);
        if (how.reverse)
            prefix = (open_group){reversed_f64(prefix.largest), reversed_f64(prefix.sum)};
        const v_f64 low = in_turns_f64(prefix.largest, prefix.sum, false),
                    high = in_turns_f64(prefix.largest, prefix.sum, true);
        memcpy(acc + 2 * first, &low, sizeof low);
        memcpy(acc + 2 * first + LANES, &high, sizeof high);
    }
}

void PASTE4(tally_cpu_logsumexp_of_groups, _, TALLY_LEVEL, )(const double *x, const uint64_t *numbers, size_t n,
                                                             tally_cpu_scan_options how, bool is_narrow, double *acc);
void PASTE4(tally_cpu_logsumexp_of_groups, _, TALLY_LEVEL, )(const double *x, const uint64_t *numbers, size_t n,
                                                             tally_cpu_scan_options how, bool is_narrow, double *acc) {
    double largest;
    if (are_near(x, n, is_narrow ? NEAR_NARROW : NEAR, &largest))
        scan_block(x, numbers, n, how, true, largest, acc);
    else
        scan_block(x, numbers, n, how, false, 0, acc);
}
