#include "cpu/few_rows.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"

enum {
    MOST_ROWS = 16, /* variances of f32 in 9 and 20 rows: 0.33 and 0.21 ns by accumulators, 0.19 and 0.24 so */
    BLOCK = 2048,   /* doubles of a block: half of a first-level cache */
    COLUMNS = 256,  /* and its columns, at most */
    PADDING = 8     /* doubles behind the last row that are read, a vector at most */
};

bool tally_cpu_has_few_rows(const tally_cpu_plan *plan, uint64_t extent) {
    const tally_computation *c = &plan->base.computation;
    return c->monoid == TALLY_MONOID_moments && (c->desc.op == TALLY_VAR || c->desc.op == TALLY_STD) && !c->exact &&
           !c->takes_words && !c->gives_words && !plan->states && !plan->context.nans && extent > 0 &&
           extent <= MOST_ROWS;
}

static void by_accumulators(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                            void *out) {
    _Alignas(64) char acc[COLUMNS * sizeof(tally_cpu_moments)];
    plan->kernels->identity(&plan->context, width, acc);
    plan->kernels->fold_columns(&plan->context, x, NULL, rows, width, stride, 0, acc);
    plan->lower(plan, acc, width, (tally_counts){NULL, rows, 0}, out);
}

void tally_cpu_reduce_few_rows(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                               uint64_t stride, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_spread how = {.ddof = c->desc.ddof, .root = c->desc.op == TALLY_STD};
    const tally_dtype in = c->desc.in, to = c->desc.out;
    const bool is_narrow = c->out_bytes <= sizeof(float) && c->in_bytes <= sizeof(float);
    _Alignas(64) double block[BLOCK + PADDING], results[COLUMNS + PADDING];
    const uint64_t most_columns = least(BLOCK / rows, COLUMNS);
    memset(block + rows * least(width, most_columns), 0, PADDING * sizeof *block);
    for (uint64_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, most_columns);
        const void *const from = tally_at(x, first, c->in_bytes);
        void *const target = tally_at_mutable(out, first, c->out_bytes);
        if (columns == stride || rows == 1)
            tally_cpu_convert_numbers(plan, in, TALLY_F64, from, rows * columns, block);
        for (uint64_t r = 0; columns < stride && rows > 1 && r < rows; r++)
            tally_cpu_convert_numbers(plan, in, TALLY_F64, tally_at(from, r * stride, c->in_bytes), columns,
                                      block + r * columns);
        if (!plan->device->scans->moments_of_few_rows(block, rows, columns, how, is_narrow, results))
            by_accumulators(plan, from, rows, columns, stride, target);
        else
            tally_cpu_convert_numbers(plan, TALLY_F64, to, results, columns, target);
    }
}
