/* Where each way to reduce short groups, and of two to scan them, is the fastest. Scans and trees (group_trees.h) take
 * as long whatever the lengths are. Columns are as long as the longest of their groups, so they are for lengths that
 * differ little. A call for each takes long where nobody foresees its end, as in arrays; a processor learns the lengths
 * of a few thousand groups that it meets again and again, and then the same calls take half the time.
 *
 * Measured on a Zen 5 with AVX-512, one thread, 300,000 elements, ns each as a scan, as columns and by calls, for mean
 * lengths of 3 and of 8: sumsq of i16 of uniform lengths 0.42, 0.56, 1.1 and 0.29, 0.34, 0.88, of exponential ones
 * 0.43, 1.7, 2.4 and 0.30, 0.88, 1.2; variances of f32 1.1, 3.0, 4.4 and 0.6, 1.6, 1.8, of 20 and 32 0.50 and 0.54, and
 * 0.71 and 0.35 by calls. Largest of f32 as trees 0.45 and 0.24, as columns 1.1 and 0.72, by calls 2.1 and 0.82. */
#include "cpu/short_choice.h"

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/lifted.h"
#include "cpu/logsumexp_running.h"
#include "cpu/runs.h"
#include "cpu/spread.h"

/* By the bytes of an element: 1, 2, 4, 8. Sums, squares and exclusive ors of integers are scanned; with AVX-512 all
 * others are trees before they are columns (group_trees.h), and elements that are not zero are counted in a way of
 * their own (short_groups.c). */
typedef tally_cpu_short_limits limits[4];
static const limits even_sums = {{3, 0}, {3, 0}, {14, 0}, {16, 0}}, uneven_sums = {{6, 0}, {7, 0}, {20, 0}, {26, 0}};
static const limits even_squares = {{6, 24}, {26, 0}, {26, 0}, {22, 0}};
static const limits uneven_squares = {{26, 0}, {26, 0}, {26, 0}, {26, 0}};
static const limits even_bxor = {{40, 0}, {40, 0}, {28, 0}, {26, 0}};
static const limits uneven_bxor = {{40, 0}, {40, 0}, {40, 0}, {30, 0}};
static const limits even_squares_of_floats = {{0, 0}, {0, 16}, {0, 0}, {0, 0}};
static const limits none = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
static const limits moments = {{22, 0}, {22, 0}, {22, 0}, {22, 0}};
static const limits integer_exponentials = {{16, 0}, {16, 0}, {16, 0}, {13, 0}};
static const limits even_float_exponentials = {{0, 0}, {7, 40}, {6, 40}, {22, 0}};
static const limits uneven_float_exponentials = {{0, 0}, {32, 0}, {32, 0}, {23, 0}};

static const tally_cpu_short_limits *limits_of(const tally_cpu_plan *plan, bool is_uneven) {
    const tally_monoid monoid = plan->base.computation.monoid;
    const tally_monoid_class kind = tally_class_of(monoid);
    if (monoid == TALLY_MONOID_moments)
        return moments;
    if (monoid == TALLY_MONOID_logsumexp && tally_dtype_is_float(plan->base.computation.desc.in))
        return is_uneven ? uneven_float_exponentials : even_float_exponentials;
    if (monoid == TALLY_MONOID_logsumexp)
        return integer_exponentials;
    const bool is_square = kind == TALLY_CLASS_SQUARE || monoid == TALLY_MONOID_sumabs;
    if (tally_dtype_is_float(plan->lifted.type))
        return is_square && !is_uneven ? even_squares_of_floats : none;
    if (monoid == TALLY_MONOID_bxor)
        return is_uneven ? uneven_bxor : even_bxor;
    if (is_square)
        return is_uneven ? uneven_squares : even_squares;
    return monoid != TALLY_MONOID_sum ? none : is_uneven ? uneven_sums : even_sums;
}

tally_cpu_short_limits tally_cpu_short_limits_of(const tally_cpu_plan *plan, tally_cpu_spread_of_lengths lengths) {
    const size_t bytes = plan->base.computation.in_bytes;
    return limits_of(plan, lengths == TALLY_CPU_UNEVEN)[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

tally_cpu_spread_of_lengths tally_cpu_spread_of(const uint64_t *offsets, size_t count) {
    const uint64_t all = offsets[count] - offsets[0];
    uint64_t longest = 0;
    for (size_t i = 0; i < count; i++)
        longest = most(longest, offsets[i + 1] - offsets[i]);
    return longest * count == all           ? TALLY_CPU_EQUAL
           : 2 * longest * count <= 5 * all ? TALLY_CPU_EVEN
                                            : TALLY_CPU_UNEVEN;
}

/* ---- scans ---- */

static bool is_extreme(const tally_cpu_plan *plan) {
    const tally_monoid_class kind = tally_class_of(plan->base.computation.monoid);
    return kind == TALLY_CLASS_VALUE || kind == TALLY_CLASS_MAGNITUDE;
}

/* A processor foresees the lengths of thousands of groups that it has met before. With more, calls for each take up to
 * four times as long. (Sums of i64 in groups of 26 0.28 ns an element with marks and 0.66, of 60 0.28 and 0.30, of f32
 * of 50 0.20 and 0.26; largest of i64 of 26 0.28 and 1.04, of 150 0.28 and 0.34, of f32 of 100 0.24 and 0.32. argmin
 * of f32 in groups of 200, 300, 500 0.36, 0.35, 0.35 and 0.57, 0.45, 0.33, if they are learnt 0.35 and 0.36, 0.23,
 * 0.20.) */
bool tally_stretch_may_be_foreseen(const tally_cpu_plan *plan, const tally_stretch *s) {
    /* extremes have branches of their own in a group, and places more */
    enum { LEARNT = 6144, LEARNT_EXTREMES = 2560, LEARNT_PLACES = 1024 };
    const uint64_t learnt = plan->lifted.parts == TALLY_CPU_PLACE ? LEARNT_PLACES
                            : is_extreme(plan)                    ? LEARNT_EXTREMES
                                                                  : LEARNT;
    return s->boundaries * s->all <= learnt * (s->end - s->begin);
}

static uint64_t most_marked(const tally_cpu_plan *plan, const tally_stretch *s) {
    enum { BY_MASKS = 48, BY_MASKS_64 = 24, UNFORESEEN = 60, UNFORESEEN_EXTREMES = 160 };
    if (tally_stretch_may_be_foreseen(plan, s))
        return plan->lifted.bytes == sizeof(uint32_t) ? BY_MASKS : BY_MASKS_64;
    return is_extreme(plan) ? UNFORESEEN_EXTREMES : UNFORESEEN;
}

/* Groups that are shorter on average are scanned with marks; others by a call for each, or in blocks that are lifted
 * together where their parts in a block are short (lifted.c). (One thread of a Zen 5, ns an element with marks and by
 * calls: sums of f32 in groups of random lengths of 35 0.22 and 0.21, of 45 0.22 and 0.18; smallest of f32 in groups of
 * 46 and 47, each of which changes it in another vector, 0.25 and 0.34, of 49 and 50 0.25 and 0.18; sums of f64 in
 * groups of 25 and 26 0.31 and 0.30; with AVX2 of f32 in groups of 12 0.44 and 0.43, of f64 0.57 and 0.45; means in
 * groups of 200 0.56 and 0.59, of 400 0.52 and 0.48; argmin of f32 in groups of 200 0.49 and 0.59. Of a Xeon: any of
 * f32 in groups of 400 0.25 and 0.30, xor of i8 in groups of 200 0.14 and 0.17, of u16 0.22 and 0.21.) */
static uint64_t short_length(const tally_cpu_plan *plan, const tally_stretch *s) {
    const tally_cpu_lifted *lifted = &plan->lifted;
    enum { TRUTHS = 512, PLACES = 160, BYTES = 256, HALVES = 192, NUMBERS = 128, NUMBERS_BY_MASKS = 256, FOLDED = 512 };
    enum { DIRECT = 12, UNFORESEEN_PLACES = 350 };
    const bool by_masks = tally_cpu_has_masks(plan), foreseen = tally_stretch_may_be_foreseen(plan, s);
    return lifted->parts == TALLY_CPU_PLACE   ? foreseen || !by_masks ? PLACES : UNFORESEEN_PLACES
           : lifted->truths || lifted->counts ? TRUTHS
           : lifted->bytes == 1               ? BYTES
           : lifted->bytes == 2               ? HALVES
           : plan->direct && !by_masks        ? DIRECT
           : plan->direct                     ? most_marked(plan, s)
           : lifted->folds_carry              ? FOLDED
           : by_masks                         ? NUMBERS_BY_MASKS
                                              : NUMBERS;
}

static bool are_shorter(const tally_stretch *s, uint64_t length) {
    return s->boundaries > (s->end - s->begin) / length;
}

/* (Zen 5, ns an element alone and gathered: variances of f32 in segments of 350 and 700, exponential 0.53 and 0.50,
 * 0.46 and 0.51, of f64 0.65 and 0.65, 0.53 and 0.70; with AVX2 of f32 of 60 1.78 and 1.67, of 100 1.39 and 1.67, of
 * f64 of 100 1.86 and 1.72, of 200 1.42 and 1.81; logsumexp of f32 in 200 1.1 and 0.5, of f64 1.3 and 1.0. With marks
 * and gathered: means of f32 in segments of 50, 150, 250 0.45, 0.50, 0.47 and 0.40, 0.42, 0.42, of f64 0.55, 0.49, 0.43
 * and 0.47, 0.48, 0.48.) */
bool tally_stretch_gathers(const tally_cpu_plan *plan, const tally_stretch *s) {
    enum { LOGSUMEXP = 4 * TALLY_CPU_SHORT_GROUP, SPREAD = 60, WIDE_SPREAD = 120, SPREAD_BY_MASKS = 350 };
    enum { MEANS = 350, WIDE_MEANS = 160 };
    const bool is_wide = plan->base.computation.out_bytes > sizeof(float);
    if (tally_cpu_scans_spread(plan))
        return are_shorter(s, tally_cpu_has_masks(plan) ? SPREAD_BY_MASKS : is_wide ? WIDE_SPREAD : SPREAD);
    if (tally_cpu_spreads_means(plan))
        return are_shorter(s, is_wide ? WIDE_MEANS : MEANS);
    return tally_cpu_scans_logsumexp(plan) && are_shorter(s, LOGSUMEXP);
}

bool tally_stretch_takes_marks(const tally_cpu_plan *plan, const tally_stretch *s) {
    /* forward only, and numbered in 32 bits */
    const bool follows = !plan->base.computation.reverse && s->end - s->group_start < INT32_MAX;
    return plan->lifted.scan && !tally_stretch_gathers(plan, s) && (plan->lifted.parts != TALLY_CPU_PLACE || follows) &&
           s->boundaries > (s->end - s->begin) / short_length(plan, s);
}
