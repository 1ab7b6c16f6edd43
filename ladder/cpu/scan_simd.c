/* scan-simd: sixteen running sums within a vector register, in four steps: each lane adds the lane 1, then 2, 4 and 8
 * to its left. The last lane is carried to the next vector.
 *
 * Removes: most of the chain: sixteen values cost one addition of it, and the four steps of different vectors overlap.
 * Left: more additions than before (four for one), and one core.
 * Look at: a speed-up of several times although it computes more: the length of the chain counts, not the amount of
 * work. */
#include "step.h"

/* Moves the lanes d places to the right and fills with zeros from the left. */
#define LANE(i, d) ((i) >= (d) ? (i) - (d) : LANES)
#define SHIFTED(v, d)                                                                                                  \
    __builtin_shufflevector(v, (vector){0}, LANE(0, d), LANE(1, d), LANE(2, d), LANE(3, d), LANE(4, d), LANE(5, d),    \
                            LANE(6, d), LANE(7, d), LANE(8, d), LANE(9, d), LANE(10, d), LANE(11, d), LANE(12, d),     \
                            LANE(13, d), LANE(14, d), LANE(15, d))

static inline vector running_sums(vector v) {
    v += SHIFTED(v, 1);
    v += SHIFTED(v, 2);
    v += SHIFTED(v, 4);
    return v + SHIFTED(v, 8);
}

static value scan_from(value before, const value *x, size_t n, value *out) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const vector sums = running_sums(load_vector(x + i)) + before;
        memcpy(out + i, &sums, sizeof sums);
        before = sums[LANES - 1];
    }
    for (; i < n; i++)
        out[i] = before += x[i];
    return before;
}

STEP(scan_simd) {
    scan_from(0, x, n, out);
}
