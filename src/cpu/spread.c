#include "cpu/spread.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/running.h"
#include "cpu/scratch.h"

enum {
    BLOCK = TALLY_CPU_SPREAD_BLOCK, /* elements of a run */
    ROWS_BLOCK =
        4 * BLOCK, /* of some rows: 32 of 64 columns, since a block's beginning and end take as long as 5 rows */
    PADDING = 8,   /* doubles behind them that are read, a vector at most */
    NEAR_BYTES = 8 << 20
};

/* The worker scratch of groups, from its start. */
typedef struct groups_block {
    _Alignas(64) double numbers[TALLY_CPU_GROUPS_BLOCK + PADDING], results[TALLY_CPU_GROUPS_BLOCK];
} groups_block;

size_t tally_cpu_spread_bytes(const tally_cpu_plan *plan) {
    return tally_cpu_scans_spread(plan) || tally_cpu_spreads_means(plan) ? sizeof(groups_block) : 0;
}

bool tally_cpu_has_spread(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return c->monoid == TALLY_MONOID_moments && (c->desc.op == TALLY_VAR || c->desc.op == TALLY_STD) && !c->exact &&
           !plan->context.nans;
}

bool tally_cpu_scans_spread(const tally_cpu_plan *plan) {
    return tally_cpu_has_spread(plan) && plan->base.computation.desc.form == TALLY_INCLUSIVE_SCAN;
}

bool tally_cpu_spreads_means(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const bool has_groups = c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS;
    return c->desc.op == TALLY_MEAN && c->desc.form == TALLY_INCLUSIVE_SCAN && has_groups &&
           tally_cpu_has_masks(plan) && !c->exact && !c->rounds_integer && !plan->context.nans && !plan->states &&
           (tally_dtype_is_float(c->desc.in) || c->in_bytes <= sizeof(uint32_t));
}

static tally_cpu_spread spread_of(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return (tally_cpu_spread){.ddof = c->desc.ddof,
                              .root = c->desc.op == TALLY_STD,
                              .means = c->desc.op == TALLY_MEAN,
                              .reverse = c->reverse,
                              .narrow = c->desc.acc == TALLY_F32 && c->out_bytes <= sizeof(float)};
}

/* The number of elements of the prefix that ends at element 'number'. */
static uint64_t elements_at(const tally_cpu_plan *plan, uint64_t number, uint64_t length) {
    return plan->base.computation.reverse ? length - number : number + 1;
}

static void one_by_one(const tally_cpu_plan *plan, const void *x, uint64_t n, uint64_t index, uint64_t length,
                       unsigned worker, void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    void *prefixes = tally_cpu_worker(plan, worker);
    for (uint64_t done = 0, count; done < n; done += count) {
        count = least(n - done, TALLY_CPU_BATCH);
        const uint64_t first = c->reverse ? n - done - count : done;
        plan->kernels->prefixes(&plan->context, tally_at(x, first, c->in_bytes), NULL, count, index + first, c->reverse,
                                false, acc, prefixes);
        plan->lower(plan, prefixes, count,
                    (tally_counts){NULL, elements_at(plan, index + first, length), c->reverse ? -1 : 1},
                    tally_at_mutable(out, first, c->out_bytes));
    }
}

void tally_cpu_spread_scan(const tally_cpu_plan *plan, const void *x, uint64_t n, uint64_t index, uint64_t length,
                           unsigned worker, void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_spread how = spread_of(plan);
    const tally_dtype type = how.narrow ? TALLY_F32 : TALLY_F64;
    const bool takes = c->desc.in != type || c->reverse, gives = c->desc.out != type || c->reverse;
    _Alignas(64) double numbers[BLOCK], results[BLOCK];
    for (uint64_t done = 0, count; done < n; done += count) {
        count = least(n - done, BLOCK);
        const uint64_t first = c->reverse ? n - done - count : done;
        const void *const from = tally_at(x, first, c->in_bytes);
        void *const to = tally_at_mutable(out, first, c->out_bytes);
        if (takes)
            tally_cpu_take_block(plan, from, count, type, numbers);
        const uint64_t part =
            plan->device->scans->moments(takes ? numbers : from, count, how, acc, gives ? results : to);
        const uint64_t part_at = c->reverse ? count - part : 0, rest_at = c->reverse ? 0 : part;
        if (gives)
            tally_cpu_give_block(plan, results, part, type, tally_at_mutable(to, part_at, c->out_bytes));
        if (part < count)
            one_by_one(plan, tally_at(from, rest_at, c->in_bytes), count - part, index + first + rest_at, length,
                       worker, acc, tally_at_mutable(to, rest_at, c->out_bytes));
    }
}

/* Results as doubles, 'rows' rows of them side by side, in the output's type. Narrow ones need not be rounded as if
 * they were exact. */
static void give_rows(const tally_cpu_plan *plan, const double *results, uint64_t rows, uint64_t width, uint64_t stride,
                      void *out) {
    const tally_dtype to = plan->base.computation.desc.out;
    if (to == TALLY_F32 || !spread_of(plan).narrow) {
        tally_cpu_convert_rows(plan, TALLY_F64, to, results, rows, width, width, stride, out);
        return;
    }
    float values[ROWS_BLOCK];
    tally_cpu_convert_numbers(plan, TALLY_F64, TALLY_F32, results, rows * width, values);
    tally_cpu_convert_rows(plan, TALLY_F32, to, values, rows, width, width, stride, out);
}

/* ---- short groups ---- */

static void groups_one_by_one(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n,
                              unsigned worker, void *out) {
    const tally_computation *c = &plan->base.computation;
    for (uint64_t begin = 0, end = 1; begin < n; begin = end++) {
        _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
        while (end < n && !heads[end])
            end++;
        const uint64_t first = c->reverse ? n - end : begin;
        plan->kernels->identity(&plan->context, 1, acc);
        one_by_one(plan, tally_at(x, first, c->in_bytes), end - begin, 0, end - begin, worker, acc,
                   tally_at_mutable(out, first, c->out_bytes));
    }
}

void tally_cpu_spread_groups(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n,
                             unsigned worker, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_spread how = spread_of(plan);
    const tally_dtype type = how.narrow ? TALLY_F32 : TALLY_F64;
    const bool gives = c->desc.out != type || c->reverse || out == x; /* which may have to be read again */
    groups_block *block = tally_cpu_worker(plan, worker);
    tally_cpu_take_block(plan, x, n, type, block->numbers);
    memset((char *)block->numbers + n * tally_dtype_size(type), 0, PADDING * sizeof(double));
    if (!plan->device->scans->moments_of_groups(block->numbers, heads, n, how, gives ? block->results : out))
        groups_one_by_one(plan, x, heads, n, worker, out);
    else if (gives)
        tally_cpu_give_block(plan, block->results, n, type, out);
}

bool tally_cpu_spread_reduce(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n,
                             const uint64_t *offsets, size_t count, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_spread how = spread_of(plan);
    const tally_dtype type = how.narrow ? TALLY_F32 : TALLY_F64;
    _Alignas(64) double numbers[BLOCK + PADDING], results[TALLY_CPU_BATCH];
    tally_cpu_convert_numbers(plan, c->desc.in, type, x, n, numbers);
    memset((char *)numbers + n * tally_dtype_size(type), 0, PADDING * sizeof *numbers);
    if (!plan->device->scans->reduce_groups(numbers, heads, n, offsets, count, how, results))
        return false;
    give_rows(plan, results, 1, count, count, out);
    return true;
}

/* Shorter rows are packed as columns, and longer ones are scanned one by one (ns an element packed and so: deviations
 * of f32 in rows of 3, 6 and 20 0.48, 0.59, 0.72 and 0.56, 0.51, 0.48; with AVX2 0.90, 0.90, 0.98 and 1.5, 1.5, 1.4;
 * one by one and so: of f64 in rows of 300 0.68 and 0.65, with AVX2 of 60 2.3 and 1.5, of 300 1.3 and 1.4). */
enum { LEAST_ROW = 33, MOST_ROW = 128, LEAST_ROW_BY_MASKS = 4, ROWS_OF_GROUPS = 4096 };

bool tally_cpu_spreads_rows(const tally_cpu_plan *plan, uint64_t extent) {
    const bool by_masks = tally_cpu_has_masks(plan);
    return tally_cpu_scans_spread(plan) && extent >= (by_masks ? LEAST_ROW_BY_MASKS : LEAST_ROW) &&
           extent <= (by_masks ? ROWS_OF_GROUPS / TALLY_CPU_ROWS_BESIDE : MOST_ROW);
}

void tally_cpu_spread_rows(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t extent, unsigned worker,
                           void *out) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t most_rows = ROWS_OF_GROUPS / extent / TALLY_CPU_ROWS_BESIDE * TALLY_CPU_ROWS_BESIDE;
    int8_t heads[ROWS_OF_GROUPS] = {0};
    for (uint64_t k = 0; k < least(rows, most_rows); k++)
        heads[k * extent] = -1;
    for (uint64_t done = 0, count; done < rows; done += count) {
        count = least(rows - done, most_rows);
        tally_cpu_spread_groups(plan, tally_at(x, done * extent, c->in_bytes), heads, count * extent, worker,
                                tally_at_mutable(out, done * extent, c->out_bytes));
    }
}

/* ---- columns ---- */

typedef struct columns {
    const char *x;
    char *out;
    uint64_t width, stride, index, length;
    tally_cpu_moments *acc;
} columns;

static void take_strip(const columns *s, tally_cpu_moments_strip *to) {
    to->count = s->acc->count;
    for (uint64_t j = 0; j < s->width; j++) {
        to->mean[j] = s->acc[j].mean;
        to->low[j] = s->acc[j].low;
        to->squares[j] = s->acc[j].squares;
    }
}

static void put_strip(const columns *s, const tally_cpu_moments_strip *from) {
    for (uint64_t j = 0; j < s->width; j++)
        s->acc[j] = (tally_cpu_moments){from->count, from->mean[j], from->low[j], from->squares[j]};
}

static void rows_one_by_one(const tally_cpu_plan *plan, const columns *s, uint64_t first, uint64_t rows) {
    const tally_computation *c = &plan->base.computation;
    for (uint64_t k = 0; k < rows; k++) {
        const uint64_t row = c->reverse ? first + rows - 1 - k : first + k;
        plan->kernels->fold_columns(&plan->context, s->x + row * s->stride * c->in_bytes, NULL, 1, s->width, s->stride,
                                    s->index + row, s->acc);
        plan->lower(plan, s->acc, s->width, (tally_counts){NULL, elements_at(plan, s->index + row, s->length), 0},
                    s->out + row * s->stride * c->out_bytes);
    }
}

/* Doubles and f32 are read where they are, and written where they are to be, but not over x, which may have to be read
 * again. A few columns of many rows at a time are no order for memory, so for more bytes some rows are copied. (Zen 5,
 * ns an element by copies and so: running variances of f64 in 100 x 300, 100 x 4000, 100 x 8000 and 141 x 10183 0.46,
 * 0.46, 0.54, 0.73 and 0.19, 0.25, 0.46, 1.0.) */
static void scan_strip(const tally_cpu_plan *plan, const columns *s, uint64_t rows) {
    const tally_computation *c = &plan->base.computation;
    tally_cpu_spread how = spread_of(plan);
    const bool may_be_direct = s->length * s->stride * sizeof(double) <= NEAR_BYTES && s->x != s->out;
    how.floats = may_be_direct && how.narrow && c->desc.in == TALLY_F32 && c->desc.out == TALLY_F32;
    const bool takes = !how.floats && (c->desc.in != TALLY_F64 || !may_be_direct),
               gives = !how.floats && (c->desc.out != TALLY_F64 || !may_be_direct);
    _Alignas(64) double numbers[ROWS_BLOCK], results[ROWS_BLOCK];
    tally_cpu_moments_strip strip = {.count = 0};
    take_strip(s, &strip);
    for (uint64_t done = 0, count; done < rows; done += count) {
        count = least(rows - done, ROWS_BLOCK / most(s->width, 1));
        const uint64_t first = c->reverse ? rows - done - count : done;
        const void *const from = s->x + first * s->stride * c->in_bytes;
        char *const to = s->out + first * s->stride * c->out_bytes;
        if (takes)
            tally_cpu_convert_rows(plan, c->desc.in, TALLY_F64, from, count, s->width, s->stride, s->width, numbers);
        const uint64_t part = plan->device->scans->moments_of_columns(
            takes ? numbers : from, count, s->width, takes ? s->width : s->stride, how, &strip,
            gives ? results : (void *)to, gives ? s->width : s->stride);
        const uint64_t part_at = c->reverse ? count - part : 0;
        if (gives)
            give_rows(plan, results + part_at * s->width, part, s->width, s->stride,
                      to + part_at * s->stride * c->out_bytes);
        if (part < count) {
            put_strip(s, &strip);
            rows_one_by_one(plan, s, first + (c->reverse ? 0 : part), count - part);
            take_strip(s, &strip);
        }
    }
    put_strip(s, &strip);
}

/* Whole columns of a few rows: their accumulators, which nobody asks for, would take longer than they. False if a
 * result is not finite. */
static bool scan_few_rows(const tally_cpu_plan *plan, const columns *s, uint64_t rows) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t most_columns = BLOCK / rows;
    _Alignas(64) double numbers[BLOCK + PADDING], results[BLOCK];
    for (uint64_t first = 0, width; first < s->width; first += width) {
        width = least(s->width - first, most_columns);
        tally_cpu_convert_rows(plan, c->desc.in, TALLY_F64, s->x + first * c->in_bytes, rows, width, s->stride, width,
                               numbers);
        memset(numbers + rows * width, 0, PADDING * sizeof *numbers);
        if (!plan->device->scans->scan_of_few_rows(numbers, rows, width, spread_of(plan), results))
            return false;
        give_rows(plan, results, rows, width, s->stride, s->out + first * c->out_bytes);
    }
    return true;
}

void tally_cpu_spread_columns(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                              uint64_t index, uint64_t length, void *acc, bool acc_counts, void *out) {
    const tally_computation *c = &plan->base.computation;
    const bool is_whole = !acc_counts && rows == length && rows <= TALLY_CPU_SCANNED_ROWS && x != out;
    const columns all = {.x = x, .out = out, .width = width, .stride = stride};
    if (is_whole && scan_few_rows(plan, &all, rows))
        return;
    const uint64_t most_columns = round_up(divide_up(width, divide_up(width, TALLY_CPU_MOMENTS_STRIP)), PADDING);
    for (uint64_t first = 0; first < width; first += most_columns) {
        const columns strip = {.x = tally_at(x, first, c->in_bytes),
                               .out = tally_at_mutable(out, first, c->out_bytes),
                               .width = least(width - first, most_columns),
                               .stride = stride,
                               .index = index,
                               .length = length,
                               .acc = (tally_cpu_moments *)acc + first};
        scan_strip(plan, &strip, rows);
    }
}
