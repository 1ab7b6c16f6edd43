/* Columns of packed rows, which reductions, scans and lifted reductions fold. */
#include "cpu/columns.h"

#include <string.h>

#include "core/arithmetic.h"
#include "cpu/packing.h"
#include "cpu/kernels/instructions.h"
#include "cpu/text/program.h"

enum {
    /* Several narrower rows are taken as one, until it has this many columns, which fill vectors well. But at least
     * LEAST_WIDE_ROWS of these must be left; with fewer, combining their columns takes longer than this saves. */
    WIDE_ENOUGH = 256,
    /* The same for moments and logsumexp, of which a column takes 5 to 20 ns to combine (variances of 3000 x 2 of f64
     * 0.49 ns an element with 256 columns, 0.23 with 64). Moments of columns that fill no vector go one by one. */
    WIDE_ENOUGH_IF_SLOW = 64,
    MOMENTS_LANES = 8,
    LEAST_WIDE_ROWS = 8,
    LEAST_TURNED = 32 /* rows of columns that are turned */
};

/* Narrow columns would leave most of a vector empty, so several rows are taken as one wide row, and its accumulators
 * are combined at the end. This changes the order of the combination and hides an element's row, so it is only for
 * monoids that need neither. Returns the number of rows; 1 if it does not pay. */
static uint64_t rows_taken_as_one(const tally_cpu_plan *plan, uint64_t rows, uint64_t inner) {
    const tally_cpu_text *const text = plan->context.text;
    const bool any_order =
        text ? text->commutes && !text->take.uses_index : !tally_looks_at_index(&plan->base.computation);
    if (plan->base.computation.exact || !any_order)
        return 1;
    const tally_monoid monoid = plan->base.computation.monoid;
    const uint64_t most_rows = least(WIDE_ENOUGH / inner, rows / LEAST_WIDE_ROWS);
    const uint64_t few = divide_up(WIDE_ENOUGH_IF_SLOW, inner);
    const uint64_t filling = MOMENTS_LANES / least(MOMENTS_LANES, inner & (0 - inner)); /* whole vectors */
    const uint64_t enough = monoid == TALLY_MONOID_moments     ? round_up(few, filling)
                            : monoid == TALLY_MONOID_logsumexp ? few
                                                               : most_rows;
    return inner < WIDE_ENOUGH / 2 ? most(least(enough, most_rows), 1) : 1;
}

/* Columns that fill no vector are turned into rows, if the monoid has several components: column by column they would
 * be folded one by one (argmin of f32 100 x 200 x 5: 1.5 ns a value). */
static bool turns_columns(const tally_cpu_plan *plan, uint64_t rows, uint64_t inner) {
    const tally_computation *c = &plan->base.computation;
    const bool calls_user = c->monoid == TALLY_MONOID_user && !plan->context.text;
    return plan->kernels->acc_type == TALLY_DEFAULT && !c->exact && !calls_user &&
           inner * c->in_bytes <= TALLY_CPU_PACKED_ROW_BYTES && rows >= LEAST_TURNED;
}

bool tally_cpu_fold_turned(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t inner,
                           uint64_t index, void *acc) {
    if (y || !turns_columns(plan, rows, inner))
        return false;
    _Alignas(64) char turned[TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK];
    const tally_cpu_kernels *kernels = plan->kernels;
    const size_t in_bytes = plan->base.computation.in_bytes;
    const uint64_t most_rows = TALLY_CPU_PACKED_BYTES / (inner * in_bytes);
    kernels->identity(&plan->context, inner, acc);
    for (uint64_t done = 0, count; done < rows; done += count) {
        count = least(rows - done, most_rows);
        tally_cpu_pack(plan->device->level->instructions, tally_at(x, done * inner, in_bytes), in_bytes, inner, count,
                       turned);
        for (uint64_t j = 0; j < inner; j++)
            kernels->fold(&plan->context, tally_at(turned, j * count, in_bytes), NULL, count, index + done,
                          tally_at_mutable(acc, j, plan->acc_bytes));
    }
    return true;
}

uint64_t tally_cpu_columns_room(uint64_t inner) {
    return most(inner, WIDE_ENOUGH);
}

/* 'width' columns of rows that are 'stride' elements apart. For few rows, filling accumulators and reading them again
 * does not pay. */
static void fold_fresh_of(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t width,
                          uint64_t stride, uint64_t index, void *acc) {
    const tally_cpu_kernels *kernels = plan->kernels;
    if (kernels->fold_block && rows > 0) {
        kernels->fold_block(x, y, rows, width, stride, TALLY_CPU_NOTHING, acc);
        return;
    }
    kernels->identity(&plan->context, width, acc);
    kernels->fold_columns(&plan->context, x, y, rows, width, stride, index, acc);
}

static void fold_fresh(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t width,
                       uint64_t index, void *acc) {
    fold_fresh_of(plan, x, y, rows, width, width, index, acc);
}

void tally_cpu_fold_whole_rows(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t inner,
                               uint64_t index, void *acc) {
    const tally_cpu_kernels *kernels = plan->kernels;
    const size_t in_bytes = plan->base.computation.in_bytes;
    const uint64_t by = rows_taken_as_one(plan, rows, inner), wide = inner * by, wide_rows = rows / by;
    if (by == 1 && tally_cpu_fold_turned(plan, x, y, rows, inner, index, acc))
        return;
    fold_fresh(plan, x, y, wide_rows, wide, index, acc);
    const uint64_t done = wide_rows * by;
    if (done < rows) /* one more row, of fewer columns */
        kernels->fold_columns(&plan->context, tally_at(x, done * inner, in_bytes), tally_at(y, done * inner, in_bytes),
                              1, (rows - done) * inner, wide, index, acc);
    for (uint64_t left = by; left > 1; left -= left / 2) /* the last half into the first, with few calls */
        kernels->combine(&plan->context, left / 2 * inner, tally_at(acc, (left - left / 2) * inner, plan->acc_bytes),
                         acc);
}

/* The columns of a vector of the monoid's kernels; 1 if they take columns one by one, or copy rows first, which must
 * not overlap: to convert them, or to leave NaNs out. */
static uint64_t columns_of_a_vector(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_monoid_class kind = tally_class_of(c->monoid);
    const uint64_t bytes = plan->device->level->instructions->vector_bytes;
    if (plan->kernels == &plan->converted || plan->states || plan->context.nans)
        return 1;
    if (c->monoid == TALLY_MONOID_moments)
        return bytes / sizeof(double);
    return plan->kernels->fold_block || kind == TALLY_CLASS_VALUES || kind == TALLY_CLASS_INDEXED ? bytes / c->in_bytes
                                                                                                  : 1;
}

void tally_cpu_fold_packed(const tally_cpu_plan *plan, void *x, void *y, uint64_t rows, uint64_t width, void *acc) {
    enum { MOST = 64 };
    _Alignas(64) char own[MOST * TALLY_CPU_PACKED_ACC];
    const uint64_t filled = most(width, columns_of_a_vector(plan));
    const size_t end = rows * width * plan->base.computation.in_bytes;
    if (filled == width) {
        fold_fresh(plan, x, y, rows, width, 0, acc);
        return;
    }
    memset((char *)x + end, 0, TALLY_CPU_PACKED_SLACK);
    if (y)
        memset((char *)y + end, 0, TALLY_CPU_PACKED_SLACK);
    fold_fresh_of(plan, x, y, rows, filled, width, 0, own);
    memcpy(acc, own, width * plan->acc_bytes);
}
