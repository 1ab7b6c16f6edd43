/* Columns that are lifted, in blocks of rows. */
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/columns.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/lower.h"
#include "cpu/running.h"
#include "cpu/scratch.h"

typedef struct columns {
    const void *x, *y;
    uint64_t rows, width, stride;
    uint64_t index, length;
    void *acc, *out;
} columns;

/* block->counts = the number of each element in its column. Those of the next blocks differ by the same number. Rows
 * are made of as many before them: a loop over three columns for each row took 0.5 ns an element. */
static void count_rows(uint64_t number, uint64_t rows, uint64_t width, bool reverse, tally_cpu_lifted_block *block) {
    for (uint64_t j = 0; j < width; j++)
        block->counts[j] = number;
    for (uint64_t done = 1; done < rows; done *= 2) {
        const uint64_t *restrict from = block->counts, more = reverse ? 0 - done : done;
        uint64_t *restrict to = block->counts + done * width;
        for (uint64_t i = 0; i < least(done, rows - done) * width; i++)
            to[i] = from[i] + more;
    }
}

/* Results of rows whose prefixes are at 'first' and in block->second. 'is_first': no block came before. */
static void lower_rows(const tally_cpu_plan *plan, const columns *s, uint64_t row, uint64_t rows, const void *first,
                       bool is_first, tally_cpu_lifted_block *block) {
    const tally_computation *c = &plan->base.computation;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN, counted = tally_cpu_lowers_by_count(plan);
    const size_t bytes = plan->lifted.bytes, out_bytes = c->out_bytes * c->per_result;
    const uint64_t index = s->index + row, number = c->reverse ? s->length - index - exclusive : index + !exclusive;
    void *out = tally_at_mutable(s->out, row * s->stride, out_bytes);
    if (s->width == s->stride) {
        if (counted && is_first)
            count_rows(number, rows, s->width, c->reverse, block);
        const tally_counts counts = {block->counts, counted ? number - block->counts[0] : 0, 0};
        tally_cpu_lower_prefixes(plan, first, block->second, rows * s->width, counts, out);
        return;
    }
    for (uint64_t r = 0; r < rows; r++)
        tally_cpu_lower_prefixes(plan, tally_at(first, r * s->width, bytes),
                                 tally_at(block->second, r * s->width, plan->lifted.second_bytes), s->width,
                                 (tally_counts){NULL, c->reverse ? number - r : number + r, 0},
                                 tally_at_mutable(out, r * s->stride, out_bytes));
}

static const void *lift_rows(const tally_cpu_plan *plan, const columns *s, uint64_t row, uint64_t rows,
                             tally_cpu_lifted_block *block) {
    const size_t bytes = plan->base.computation.in_bytes;
    if (s->width == s->stride)
        return tally_cpu_lift(plan, tally_at(s->x, row * s->stride, bytes), tally_at(s->y, row * s->stride, bytes),
                              rows * s->width, block);
    for (uint64_t r = 0; r < rows; r++)
        tally_cpu_lift_to(plan, tally_at(s->x, (row + r) * s->stride, bytes),
                          tally_at(s->y, (row + r) * s->stride, bytes), s->width, block, r * s->width);
    return block->lifted;
}

/* acc[width] = itself combined with the rows. */
static void fold_rows(const tally_cpu_plan *plan, const columns *s, uint64_t row, uint64_t rows) {
    const size_t bytes = plan->base.computation.in_bytes;
    const void *x = tally_at(s->x, row * s->stride, bytes), *y = tally_at(s->y, row * s->stride, bytes);
    if (s->width < s->stride) {
        plan->kernels->fold_columns(&plan->context, x, y, rows, s->width, s->stride, s->index + row, s->acc);
        return;
    }
    _Alignas(64) uint64_t own[TALLY_CPU_LIFTED_COLUMNS];
    tally_cpu_fold_whole_rows(plan, x, y, rows, s->width, s->index + row, own);
    plan->kernels->combine(&plan->context, s->width, own, s->acc);
}

/* carry[width] and second[width] = the values before the first element. */
static void start_carries(const tally_cpu_plan *plan, uint64_t width, uint64_t *carry, uint64_t *second) {
    _Alignas(64) unsigned char identity[TALLY_CPU_ACC_MOST];
    uint64_t first, place;
    plan->kernels->identity(&plan->context, 1, identity);
    tally_cpu_split(plan, identity, 1, 0, plan->lifted.type, &first, &place);
    plan->device->scans->fill(&first, plan->lifted.bytes, width, false, carry);
    if (plan->lifted.parts != TALLY_CPU_NUMBER)
        plan->device->scans->fill(&place, plan->lifted.second_bytes, width, false, second);
}

/* Whether what some rows leave to the next ones is folded: as many rows as a block of a run has elements. f32 is
 * scanned as sums of f32 are down columns, without a fold. */
static bool folds_columns(const tally_cpu_plan *plan, uint64_t length) {
    return plan->lifted.folds_carry && tally_cpu_is_half(plan->base.computation.desc.in) &&
           length > TALLY_CPU_LIFTED_BLOCK;
}

bool tally_cpu_starts_as_its_scan(const tally_cpu_plan *plan, bool exclusive) {
    const tally_monoid_class kind = tally_class_of(plan->base.computation.monoid);
    const bool is_number =
        kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE || kind == TALLY_CLASS_TOTAL || kind == TALLY_CLASS_COUNT;
    return !exclusive || (is_number && plan->base.computation.desc.op != TALLY_ALL);
}

enum {
    LEAST_PLACES = 16, /* which fill half of the kernel's strips; 8 of f32 0.47 without it, and 0.63 */
    LEAST_PAIRS = 4,   /* columns of minmax: 2 and 3 of i32 0.22, 0.24 without the kernel, and 0.45, 0.31 */
    KEPT_ROWS = 16     /* of wide columns, which are scanned strip by strip: a cache reads ahead in so many */
};

bool tally_cpu_keeps_columns(const tally_cpu_plan *plan, uint64_t width) {
    if (plan->lifted.parts == TALLY_CPU_EXTREMES)
        return width >= LEAST_PAIRS && plan->device->scans->minmax[plan->lifted.type];
    return tally_cpu_follows_place(plan) && width >= LEAST_PLACES && tally_cpu_places_kernel(plan, plan->lifted.type);
}

/* Straight from elements to results, unless these have to be converted. */
static void scan_kept_columns(const tally_cpu_plan *plan, const columns *s, tally_cpu_lifted_block *block) {
    const tally_computation *c = &plan->base.computation;
    const bool are_places = plan->lifted.parts == TALLY_CPU_PLACE, lifts = c->desc.in != plan->lifted.type;
    const tally_dtype type = plan->lifted.type, result = are_places ? TALLY_I64 : type;
    const bool to_results = c->desc.out == result && s->out != s->x;
    const uint64_t x_stride = lifts ? s->width : s->stride, stride = to_results ? s->stride : s->width;
    const uint64_t least_rows = tally_cpu_lifted_elements(plan) / s->width;
    const uint64_t most_rows = lifts || !to_results ? least_rows : most(least_rows, KEPT_ROWS);
    const bool alone = !are_places && !s->acc && s->rows <= most_rows;
    uint64_t carry[TALLY_CPU_LIFTED_COLUMNS], second[TALLY_CPU_LIFTED_COLUMNS];
    if (s->acc)
        tally_cpu_split(plan, s->acc, s->width, 0, plan->lifted.type, carry, second);
    else if (!alone)
        start_carries(plan, s->width, carry, second);
    for (uint64_t done = 0, rows; done < s->rows; done += rows) {
        rows = least(s->rows - done, most_rows);
        const uint64_t row = c->reverse ? s->rows - done - rows : done, first = c->reverse ? rows - 1 : 0;
        const void *const x =
            lifts ? lift_rows(plan, s, row, rows, block) : tally_at(s->x, row * s->stride, plan->lifted.bytes);
        void *const out = tally_at_mutable(s->out, row * s->stride, c->out_bytes * c->per_result);
        void *const to = to_results ? out : block->second;
        if (are_places)
            tally_cpu_places_kernel(plan, type)(x, rows, s->width, x_stride, tally_cpu_places_turn(plan, type),
                                                s->index + row, carry, (int64_t *)second, to, stride);
        else
            plan->device->scans->minmax[type](tally_at(x, first * x_stride, plan->lifted.bytes), rows, s->width,
                                              (ptrdiff_t)(c->reverse ? -x_stride : x_stride), alone ? NULL : carry,
                                              second, tally_at_mutable(to, first * stride, 2 * plan->lifted.bytes),
                                              (ptrdiff_t)(c->reverse ? -stride : stride));
        if (!to_results)
            tally_cpu_convert_rows(plan, result, c->desc.out, to, rows, s->width * c->per_result,
                                   s->width * c->per_result, s->stride * c->per_result, out);
    }
    if (s->acc)
        tally_cpu_join(plan, carry, second, s->width, 0, s->acc);
}

/* Columns of which a block holds some rows. */
static void scan_columns(const tally_cpu_plan *plan, const columns *s, tally_cpu_lifted_block *block) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_scan_options how = {.reverse = c->reverse, .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN};
    const bool places = plan->lifted.parts == TALLY_CPU_PLACE;
    const uint64_t width = s->width;
    const size_t bytes = plan->lifted.bytes;
    const bool to_results = tally_cpu_writes_results(plan);
    const uint64_t out_stride = to_results ? s->stride : width;
    const bool folds_carry = folds_columns(plan, s->length);
    _Alignas(64) uint64_t carry[TALLY_CPU_LIFTED_COLUMNS], second[TALLY_CPU_LIFTED_COLUMNS];
    const uint64_t before = c->reverse ? s->length - s->index - s->rows : s->index;
    if (tally_cpu_keeps_columns(plan, width)) {
        scan_kept_columns(plan, s, block);
        return;
    }
    /* one block without anything before or after it */
    const bool is_all = !s->acc && !places && s->rows <= tally_cpu_lifted_elements(plan) / width &&
                        tally_cpu_starts_as_its_scan(plan, how.exclusive);
    if (s->acc)
        tally_cpu_split(plan, s->acc, width, before, plan->lifted.type, carry, second);
    else if (!is_all)
        start_carries(plan, width, carry, second);
    for (uint64_t done = 0, folded = 0, rows; done < s->rows; done += rows) {
        if (folds_carry && done == folded) { /* now: 'out' may be x */
            const uint64_t some = least(s->rows - done, TALLY_CPU_LIFTED_BLOCK);
            tally_cpu_split(plan, s->acc, width, before, plan->lifted.type, carry, second);
            fold_rows(plan, s, c->reverse ? s->rows - done - some : done, some);
            folded += some;
        }
        rows = least((folds_carry ? folded : s->rows) - done, tally_cpu_lifted_elements(plan) / width);
        const uint64_t row = c->reverse ? s->rows - done - rows : done;
        const void *lifted = lift_rows(plan, s, row, rows, block);
        void *const scanned = to_results ? tally_at_mutable(s->out, row * s->stride, bytes)
                                         : tally_at_mutable(block->scanned, places && !c->reverse ? width : 0, bytes);
        if (places && !c->reverse)
            memcpy(block->scanned, carry, width * bytes);
        plan->lifted.scan->columns(lifted, rows, width, width, how, is_all ? NULL : carry, out_stride, scanned);
        if (places && !c->reverse) {
            plan->device->scans->follow[plan->lifted.type].columns(block->scanned, scanned, rows, width, s->index + row,
                                                                   (int64_t *)second, block->second);
        } else if (places) {
            for (uint64_t i = 0, r = 0; r < rows; r++)
                for (uint64_t j = 0; j < width; j++)
                    block->counts[i++] = s->index + row + r;
            tally_cpu_find_places(plan, lifted, scanned, rows * width, block);
            lifted = block->narrow;
        }
        if (plan->lifted.second && !tally_cpu_follows_place(plan))
            plan->lifted.second->columns(lifted, rows, width, width, how, is_all ? NULL : second, width, block->second);
        if (!to_results)
            lower_rows(plan, s, row, rows, scanned, done == 0, block);
    }
    if (s->acc && !folds_carry)
        tally_cpu_join(plan, carry, second, width, before + s->rows, s->acc);
}

/* Rows of more columns are faster one by one by fold_columns, in the elements' own width: 192 columns of i8 took 0.06
 * ns an element so, 0.11 lifted; 48 took 0.44 and 0.13. Floats of 16 bits are converted in either case. */
enum {
    WIDE_COLUMNS = 96,
    /* bytes of a row whose prefixes are written where the results go (60 rows: sumsq of f32 in 150 and 300 columns
       0.20, 0.17 and 0.13, 0.13, norm1 of i32 in 150 0.20 and 0.17; dot of f64 in 200 0.18 and 0.20) */
    WIDE_RESULTS = 1200,
    WIDE_PAIRS = 32, /* minmax of f32: 62 columns took 0.32 ns an element one by one, 0.39 lifted */
    /* Accumulators are converted before and after, which pays for some rows only: 2 rows of 43 columns of f32 took 0.73
     * ns an element (minmax: 0.61) one by one, 0.78 (1.49) lifted. */
    FEW_ROWS = 4,
    FEW_ROWS_OF_PAIRS = 16
};

bool tally_cpu_lifts_columns(const tally_cpu_plan *plan, uint64_t rows, uint64_t inner) {
    const tally_cpu_parts parts = plan->lifted.parts;
    if (parts == TALLY_CPU_EXTREMES && tally_cpu_keeps_columns(plan, inner))
        return true;
    if (!plan->lifted.scan || rows < (parts == TALLY_CPU_NUMBER ? FEW_ROWS : FEW_ROWS_OF_PAIRS))
        return false;
    if (plan->lifted.truths)
        return true;
    if (tally_cpu_writes_results(plan) && plan->lifted.bytes >= sizeof(uint32_t) &&
        inner * plan->lifted.bytes <= WIDE_RESULTS)
        return true;
    return inner < (parts == TALLY_CPU_EXTREMES ? WIDE_PAIRS : WIDE_COLUMNS) ||
           tally_cpu_is_half(plan->base.computation.desc.in) || tally_cpu_follows_place(plan);
}

bool tally_cpu_lifts_whole_columns(const tally_cpu_plan *plan, uint64_t rows, uint64_t inner) {
    const bool halves = plan->lifted.folds_carry && tally_cpu_is_half(plan->base.computation.desc.in);
    return plan->lifted.scan && rows > 1 && !folds_columns(plan, rows) &&
           (plan->lifted.truths || tally_cpu_follows_place(plan) || halves ||
            tally_cpu_lifts_columns(plan, rows, inner) ||
            (plan->lifted.parts == TALLY_CPU_EXTREMES && tally_cpu_keeps_columns(plan, LEAST_PAIRS)));
}

/* So many rows are all in one block, of fewer columns. */
enum { MOST_AT_ONCE = 4 };

void tally_cpu_lifted_columns(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t width,
                              uint64_t stride, uint64_t index, uint64_t length, unsigned worker, void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t most_room = plan->lifted.truths ? TALLY_CPU_LIFTED_TRUTHS : TALLY_CPU_LIFTED_COLUMNS;
    const uint64_t room = rows <= MOST_AT_ONCE ? least(most_room, tally_cpu_lifted_elements(plan) / rows) : most_room;
    const uint64_t most_columns = divide_up(width, divide_up(width, room));
    for (uint64_t first = 0; first < width; first += most_columns) {
        const columns some = {.x = tally_at(x, first, c->in_bytes),
                              .y = tally_at(y, first, c->in_bytes),
                              .rows = rows,
                              .width = least(width - first, most_columns),
                              .stride = stride,
                              .index = index,
                              .length = length,
                              .acc = acc ? tally_at_mutable(acc, first, plan->acc_bytes) : NULL,
                              .out = tally_at_mutable(out, first, c->out_bytes * c->per_result)};
        scan_columns(plan, &some, tally_cpu_worker(plan, worker));
    }
}
