#include "cpu/equal_groups.h"

#include "core/arithmetic.h"
#include "cpu/columns.h"
#include "cpu/lifted.h"
#include "cpu/lower.h"
#include "cpu/packing.h"
#include "cpu/scan_run.h"

uint64_t tally_cpu_equal_length(const tally_cpu_plan *plan, const uint64_t *offsets, size_t count) {
    const uint64_t length = offsets[1] - offsets[0];
    if (offsets[count] - offsets[0] != length * count) /* lengths at random end here */
        return 0;
    return plan->device->level->is_even(offsets, count) ? length : 0;
}

/* ---- reductions ---- */

/* Rows of at most so many elements are packed as columns: a transposition and a fold of columns take less time than a
 * fold of each row, whose lanes are combined at the end. (Zen 5, ns an element by rows and packed: argmax of f32 in
 * rows of 20, 32, 64 and 100 0.74, 0.67, 0.30, 0.22 and 0.22, 0.14, 0.13, 0.35; largest of f32 0.32, 0.20, 0.12 and
 * 0.11, 0.07, 0.09, of i16 0.14, 0.08, 0.04 and 0.06, 0.05, 0.05; norm1 of f64 in 20 and 32 0.13, 0.09 and 0.14, 0.11.)
 */
enum {
    PACKED_PRODUCTS = 4,
    PACKED_LEAST_EXTENT = 16,
    PACKED_EXTENT = 32,
    PACKED_EXTENT_OF_PAIRS = 48,
    PACKED_EXTENT_IF_SLOW = 64,
    /* Logsumexps of 1- and 2-byte integers, up to those that are looked up row by row. */
    PACKED_EXTENT_OF_EXPS = 191
};

bool tally_cpu_packs_rows(const tally_cpu_plan *plan, uint64_t extent) {
    const tally_computation *c = &plan->base.computation;
    const bool is_slow = c->monoid == TALLY_MONOID_moments || c->monoid == TALLY_MONOID_logsumexp;
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_MAGNITUDE:
        return extent <= PACKED_EXTENT;
    case TALLY_CLASS_VALUES:
        return extent <= PACKED_EXTENT_OF_PAIRS;
    case TALLY_CLASS_INDEXED:
        return extent <= PACKED_EXTENT_IF_SLOW;
    case TALLY_CLASS_FLOATS:
        if (plan->exps.sum_columns && c->in_bytes <= sizeof(uint16_t))
            return extent <= PACKED_EXTENT_OF_EXPS;
        return extent <= (is_slow ? PACKED_EXTENT_IF_SLOW : PACKED_LEAST_EXTENT);
    case TALLY_CLASS_INTEGERS:
    case TALLY_CLASS_USER:
        return extent <= PACKED_LEAST_EXTENT;
    default:
        if (c->monoid == TALLY_MONOID_dot)
            return extent <= (c->in_bytes == 1               ? PACKED_EXTENT
                              : c->in_bytes < sizeof(double) ? PACKED_LEAST_EXTENT
                                                             : PACKED_PRODUCTS);
        return extent <= (c->in_bytes < sizeof(double) ? PACKED_EXTENT : PACKED_LEAST_EXTENT);
    }
}

enum { PACKED_LEAST = 4, SHORT_ROW_BYTES = 256 };

static bool packs(const tally_cpu_plan *plan, uint64_t length) {
    const tally_computation *c = &plan->base.computation;
    return c->monoid != TALLY_MONOID_sum && plan->acc_bytes <= TALLY_CPU_PACKED_ACC && length > 1 &&
           tally_cpu_packs_rows(plan, length) &&
           tally_cpu_packed_groups(length, 1, c->in_bytes, TALLY_CPU_SMALL_GROUP) >= PACKED_LEAST;
}

/* Sums of short segments have kernels that are as fast (rows.h), and so have elements that are lifted for them, and
 * those that are counted. */
static bool is_sum(const tally_cpu_plan *plan) {
    const tally_monoid_class kind = tally_class_of(plan->base.computation.monoid);
    const bool is_lifted = kind == TALLY_CLASS_SQUARE || kind == TALLY_CLASS_COUNT;
    return kind == TALLY_CLASS_SUM || (is_lifted && plan->base.computation.in_bytes >= sizeof(uint32_t));
}

bool tally_cpu_may_fold_equal(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return !c->exact && c->monoid != TALLY_MONOID_user && !plan->states && !plan->context.nans && !is_sum(plan);
}

bool tally_cpu_folds_equal(const tally_cpu_plan *plan, uint64_t length) {
    if (length == 0)
        return false;
    /* counted: any of i8 in segments of 16 0.24 and 0.39, of 22 0.65 and 0.33 */
    if (plan->base.computation.monoid == TALLY_MONOID_nonzero)
        return packs(plan, length);
    return length * plan->base.computation.in_bytes <= SHORT_ROW_BYTES || packs(plan, length);
}

static void fold_packed(const tally_cpu_plan *plan, const void *x, const void *y, size_t count, uint64_t length,
                        void *acc) {
    _Alignas(64) char packed[2][TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK];
    const size_t bytes = plan->base.computation.in_bytes,
                 room = tally_cpu_packed_groups(length, 1, bytes, TALLY_CPU_SMALL_GROUP);
    for (size_t done = 0, groups; done < count; done += groups) {
        groups = least(count - done, room);
        void *const to = tally_at_mutable(acc, done, plan->acc_bytes);
        tally_cpu_pack(plan->device->level->instructions, tally_at(x, done * length, bytes), bytes, length, groups,
                       packed[0]);
        if (y)
            tally_cpu_pack(plan->device->level->instructions, tally_at(y, done * length, bytes), bytes, length, groups,
                           packed[1]);
        tally_cpu_fold_packed(plan, packed[0], y ? packed[1] : NULL, length, groups, to);
    }
}

void tally_cpu_fold_equal(const tally_cpu_plan *plan, const void *x, const void *y, size_t count, uint64_t length,
                          void *acc) {
    if (packs(plan, length))
        fold_packed(plan, x, y, count, length, acc);
    else
        plan->kernels->fold_rows(&plan->context, x, y, count, length, acc);
}

/* ---- scans ---- */

enum { LEAST_LIFTED = 16 };

bool tally_cpu_scans_equal(const tally_cpu_plan *plan, uint64_t length) {
    const tally_computation *c = &plan->base.computation;
    if (length == 0 || length > TALLY_CPU_SHORT_ROW || c->exact || c->monoid == TALLY_MONOID_user)
        return false;
    /* numbers that are lifted: i16 in segments of 14 0.60 with marks and 0.62 as rows, means of f32 in 40 1.77 and 0.93
     */
    /* AVX2, minmax of u8 and i16 in segments of 40: 0.87, 0.91 as rows, 0.28, 0.46 with marks */
    if (plan->lifted.parts == TALLY_CPU_EXTREMES && plan->lifted.bytes < sizeof(uint32_t) &&
        !tally_cpu_has_masks(plan) && length > 1)
        return false;
    const bool counts = tally_cpu_lowers_by_count(plan) || plan->lifted.parts != TALLY_CPU_NUMBER;
    return plan->direct || (tally_cpu_lifts_rows(plan, length) && (counts || length == 1 || length > LEAST_LIFTED));
}

void tally_cpu_scan_equal(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t count, uint64_t length,
                          bool stream, unsigned worker, const void *start, void *out) {
    const tally_computation *c = &plan->base.computation;
    if (!plan->direct) {
        tally_cpu_lifted_rows(plan, x, y, count, length, worker, start, out);
        return;
    }
    const tally_cpu_scan_options how = {.reverse = c->reverse,
                                        .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN,
                                        .stream = stream && count * length >= TALLY_CPU_LEAST_STREAMED};
    plan->direct->planes(x, count, length, 1, how, start, out);
}
