#include "cpu/lifted.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/columns.h"
#include "cpu/components.h"
#include "cpu/lower.h"
#include "cpu/running.h"
#include "cpu/scratch.h"

/* Elements of a block: more of those that are narrow. */
static uint64_t block_elements(const tally_cpu_plan *plan) {
    const bool are_narrow = plan->lifted.parts == TALLY_CPU_NUMBER && plan->lifted.bytes < sizeof(uint32_t);
    return plan->lifted.truths ? 8 * TALLY_CPU_LIFTED_BLOCK : (are_narrow ? 4 : 1) * TALLY_CPU_LIFTED_BLOCK;
}

/* truths[n] = 1 for each element that is not 0, else 0 */
static void find_truths(const tally_cpu_plan *plan, const void *x, uint64_t n, void *truths) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t sign = tally_dtype_is_float(c->desc.in) ? UINT64_C(1) << (8 * c->in_bytes - 1) : 0; /* of -0 */
    plan->device->scans->truths(x, n, c->in_bytes, ~sign, truths);
}

/* block->lifted[place ..] = n elements, lifted. */
static void lift_to(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, tally_cpu_lifted_block *block,
                    uint64_t place) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_scans *scans = plan->device->scans;
    const tally_dtype acc = plan->kernels->acc_type, type = plan->lifted.type;
    void *to = tally_at_mutable(block->lifted, place, plan->lifted.bytes);
    if (plan->lifted.truths) {
        find_truths(plan, x, n, to);
        return;
    }
    if (plan->lifted.by_order) {
        tally_cpu_order_floats(plan, x, n, to);
        return;
    }
    if (plan->lifted.by_conversion) {
        tally_cpu_convert_numbers(plan, c->desc.in, type, x, n, to);
        return;
    }
    const bool to_32_bits = acc != type && (type == TALLY_U32 || plan->lifted.folds_carry);
    tally_cpu_lift_32 *const lift_32 = to_32_bits           ? scans->lift_32(c->monoid, c->desc.in)
                                       : type == c->desc.in ? scans->lift_narrow(c->monoid, c->desc.in)
                                                            : NULL;
    if (lift_32) {
        lift_32(x, y, n, to);
        return;
    }
    plan->kernels->fold_rows(&plan->context, x, y, n, 1, acc == type ? to : block->narrow);
    if (acc != type)
        tally_cpu_convert_numbers(plan, acc, type, block->narrow, n, to);
}

const void *tally_cpu_lift(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n,
                           tally_cpu_lifted_block *block) {
    if (plan->lifted.as_they_are || (plan->base.computation.desc.in == plan->lifted.type && plan->lifted.by_conversion))
        return x;
    lift_to(plan, x, y, n, block, 0);
    return block->lifted;
}

/* ---- where argmin changes ---- */

/* The first element of a forward scan is its smallest, whatever it is, so its place is followed; from the back an equal
 * one is a new place. */
static bool follows_place(const tally_cpu_plan *plan) {
    return plan->lifted.parts == TALLY_CPU_PLACE && !plan->base.computation.reverse;
}

static const tally_cpu_follow *follow_of(const tally_cpu_plan *plan) {
    return &plan->device->scans->follow[plan->lifted.type];
}

/* From the back: block->narrow = the number, in block->counts, of each element that is the smallest; of others, one
 * that changes nothing. 'after' are the smallest ones after each. */
static void find_places(const tally_cpu_plan *plan, const void *lifted, const void *after, uint64_t n,
                        tally_cpu_lifted_block *block) {
    plan->device->level->pairs[plan->lifted.type].equals(lifted, after, block->counts, n, (int64_t *)block->narrow);
}

/* ---- neighbours ---- */

/* to[0 ..] = the value before n numbers and those after each of them; the other way round in a reverse scan. *carry
 * becomes the value after them. */
static void scan_block(const tally_cpu_plan *plan, const tally_cpu_direct_scan *scan, tally_dtype type, size_t bytes,
                       tally_dtype carry_type, const void *numbers, uint64_t n, uint64_t *carry, uint64_t *to) {
    const bool reverse = plan->base.computation.reverse;
    char *before = tally_at_mutable(to, reverse ? n : 0, bytes), *after = tally_at_mutable(to, reverse ? 0 : 1, bytes);
    tally_cpu_convert_numbers(plan, carry_type, type, carry, 1, before);
    scan->scan(numbers, n, (tally_cpu_scan_options){.reverse = reverse}, carry, after);
    tally_cpu_convert_numbers(plan, type, carry_type, reverse ? after : after + (n - 1) * bytes, 1, carry);
}

/* Whether the prefixes before n elements and after each of them are all the same, as in most blocks of a long scan for
 * the smallest element. An extreme that ends as it began has not changed in between. 'second' is the second scan's
 * before them. */
static bool is_settled(const tally_cpu_plan *plan, uint64_t n, uint64_t second, const tally_cpu_lifted_block *block) {
    const size_t bytes = plan->lifted.bytes;
    if (plan->context.nans || memcmp(block->scanned, tally_at(block->scanned, n, bytes), bytes) != 0)
        return false;
    if (plan->lifted.parts == TALLY_CPU_EXTREMES)
        return memcmp(block->second, tally_at(block->second, n, bytes), bytes) == 0;
    return plan->lifted.parts == TALLY_CPU_PLACE ? follows_place(plan) && (int64_t)second >= 0
                                                 : tally_class_of(plan->base.computation.monoid) == TALLY_CLASS_VALUE;
}

/* The second scan, unless it is of places that can be followed; index is the first element's. */
static void scan_second(const tally_cpu_plan *plan, const void *lifted, uint64_t n, uint64_t index,
                        tally_cpu_lifted_block *block, tally_cpu_carry *carry) {
    const tally_dtype type = tally_cpu_second_type(plan);
    if (plan->lifted.parts == TALLY_CPU_PLACE) {
        for (uint64_t i = 0; i < n; i++)
            block->counts[i] = index + i;
        find_places(plan, lifted, block->scanned, n, block);
        lifted = block->narrow;
    }
    scan_block(plan, plan->lifted.second, type, plan->lifted.second_bytes, type, lifted, n, &carry->second,
               block->second);
}

/* The results of a block, of which 'second' is the second scan's value before it. */
static void give_results(const tally_cpu_plan *plan, uint64_t n, uint64_t index, uint64_t length, uint64_t second,
                         tally_cpu_lifted_block *block, tally_cpu_carry *carry, void *out) {
    const tally_computation *c = &plan->base.computation;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN, same = is_settled(plan, n, second, block);
    const size_t from = exclusive == c->reverse;
    const uint64_t elements = c->reverse ? length - index - exclusive : index + !exclusive;
    const bool in_place = c->desc.out == TALLY_I64;
    if (follows_place(plan) && !same) {
        void *const places = in_place ? out : block->second + from;
        carry->second = (uint64_t)follow_of(plan)->run(block->scanned, tally_at(block->scanned, 1, plan->lifted.bytes),
                                                       n, index, (int64_t)second, places);
        if (in_place)
            return;
    }
    _Alignas(16) unsigned char one[16];
    if (same && follows_place(plan))
        block->second[from] = second;
    tally_cpu_lower_prefixes(plan, tally_at(block->scanned, from, plan->lifted.bytes),
                             tally_at(block->second, from, plan->lifted.second_bytes), same ? 1 : n,
                             (tally_counts){NULL, elements, c->reverse ? -1 : 1}, same ? one : out);
    if (same)
        plan->device->scans->fill(one, c->out_bytes * c->per_result, n, false, out);
}

bool tally_cpu_writes_results(const tally_cpu_plan *plan) {
    const tally_dtype type = plan->lifted.type, out = plan->base.computation.desc.out;
    if (plan->lifted.truths)
        return tally_dtype_size(out) == 1;
    return plan->lifted.parts == TALLY_CPU_NUMBER && tally_cpu_result_is_number(plan) &&
           (type == out || (!tally_dtype_is_float(type) && !tally_dtype_is_float(out) &&
                            tally_dtype_size(type) == tally_dtype_size(out)));
}

/* As scan_block, with the results of n elements. */
static void scan_results(const tally_cpu_plan *plan, const void *numbers, uint64_t n, uint64_t *carry, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_dtype type = plan->lifted.type;
    const size_t bytes = plan->lifted.bytes;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN;
    const uint64_t at = c->reverse ? 0 : n - 1;
    uint64_t last, after;
    memcpy(&last, tally_at(numbers, at, bytes), bytes); /* which the results may overwrite */
    plan->lifted.scan->scan(numbers, n, (tally_cpu_scan_options){.reverse = c->reverse, .exclusive = exclusive}, carry,
                            out);
    memcpy(&after, tally_at(out, at, bytes), bytes);
    tally_cpu_convert_numbers(plan, type, plan->lifted.carry, &after, 1, carry);
    if (exclusive) {
        plan->lifted.scan->scan(&last, 1, (tally_cpu_scan_options){.reverse = c->reverse}, carry, &after);
        tally_cpu_convert_numbers(plan, type, plan->lifted.carry, &after, 1, carry);
    }
}

/* to[n] = running counts; heads may be NULL. *acc is the count before them and becomes the one after. */
static void count_block(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n, uint64_t start,
                        uint64_t *acc, tally_cpu_lifted_block *block, void *to) {
    const tally_computation *c = &plan->base.computation;
    uint8_t *const truths = (uint8_t *)block->narrow;
    find_truths(plan, x, n, truths); /* now: 'to' may be x */
    *acc =
        plan->device->scans->count(truths, heads, n, c->reverse, c->desc.form == TALLY_EXCLUSIVE_SCAN, start, *acc, to);
}

/* Means of floats, forward, from elements to results: most of the first of n elements, of which 'index' come before.
 * Returns how many. */
static uint64_t scan_means(const tally_cpu_plan *plan, const void *x, uint64_t n, uint64_t index, uint64_t *carry,
                           void *out) {
    const tally_desc *d = &plan->base.computation.desc;
    const bool is_float = (d->in == TALLY_F32 || d->in == TALLY_F64) && d->in == d->out;
    const bool is_narrow = d->in == TALLY_F32 && d->acc == TALLY_F32;
    if (d->op != TALLY_MEAN || !is_float || (d->in == TALLY_F32) != is_narrow || d->flags ||
        plan->lifted.type != TALLY_F64)
        return 0;
    double sum;
    memcpy(&sum, carry, sizeof sum);
    const uint64_t done = plan->device->scans->means(x, n, is_narrow, (double)index, &sum, out);
    memcpy(carry, &sum, sizeof sum);
    return done;
}

void tally_cpu_lifted_scan(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                           uint64_t length, unsigned worker, const void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    const size_t bytes = plan->lifted.bytes;
    tally_cpu_lifted_block *block = tally_cpu_worker(plan, worker);
    const bool to_results = tally_cpu_writes_results(plan);
    tally_cpu_carry carry;
    tally_cpu_split(plan, acc, 1, c->reverse ? length - index - n : index, &carry.first, &carry.second);
    const uint64_t begun = c->reverse ? 0 : scan_means(plan, x, n, index, &carry.first, out);
    for (uint64_t done = begun, count; done < n; done += count) {
        count = least(n - done, block_elements(plan));
        const uint64_t first = c->reverse ? n - done - count : done;
        if (plan->lifted.counts) {
            void *const to = tally_at_mutable(out, first, c->out_bytes);
            count_block(plan, tally_at(x, first, c->in_bytes), NULL, count, 0, &carry.first, block,
                        to_results ? to : block->scanned);
            if (!to_results)
                tally_cpu_lower_prefixes(plan, block->scanned, NULL, count, (tally_counts){NULL, 0, 0}, to);
            continue;
        }
        const void *lifted =
            tally_cpu_lift(plan, tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), count, block);
        uint64_t folded = carry.first;
        if (plan->lifted.folds_carry) /* now: 'out' may be x */
            plan->kernels->fold(&plan->context, tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), count,
                                index + first, &folded);
        if (to_results) {
            scan_results(plan, lifted, count, &carry.first, tally_at_mutable(out, first, c->out_bytes));
            carry.first = plan->lifted.folds_carry ? folded : carry.first;
            continue;
        }
        scan_block(plan, plan->lifted.scan, plan->lifted.type, bytes, plan->lifted.carry, lifted, count, &carry.first,
                   block->scanned);
        if (plan->lifted.folds_carry)
            carry.first = folded;
        const uint64_t second = carry.second;
        if (plan->lifted.second && !follows_place(plan))
            scan_second(plan, lifted, count, index + first, block, &carry);
        give_results(plan, count, index + first, length, second, block, &carry,
                     tally_at_mutable(out, first, c->out_bytes * c->per_result));
    }
}

/* ---- columns ---- */

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
        lift_to(plan, tally_at(s->x, (row + r) * s->stride, bytes), tally_at(s->y, (row + r) * s->stride, bytes),
                s->width, block, r * s->width);
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
    tally_cpu_split(plan, identity, 1, 0, &first, &place);
    plan->device->scans->fill(&first, tally_dtype_size(plan->lifted.carry), width, false, carry);
    if (plan->lifted.parts != TALLY_CPU_NUMBER)
        plan->device->scans->fill(&place, plan->lifted.second_bytes, width, false, second);
}

/* Whether what some rows leave to the next ones is folded: as many rows as a block of a run has elements. f32 is
 * scanned as sums of f32 are down columns, without a fold. */
static bool folds_columns(const tally_cpu_plan *plan, uint64_t length) {
    return plan->lifted.folds_carry && tally_cpu_is_half(plan->base.computation.desc.in) &&
           length > TALLY_CPU_LIFTED_BLOCK;
}

enum {
    LEAST_PLACES = 16, /* which fill half of the kernel's strips; 8 of f32 0.47 without it, and 0.63 */
    LEAST_PAIRS = 4,   /* columns of minmax: 2 and 3 of i32 0.22, 0.24 without the kernel, and 0.45, 0.31 */
    KEPT_ROWS = 16     /* of wide columns, which are scanned strip by strip: a cache reads ahead in so many */
};

bool tally_cpu_keeps_columns(const tally_cpu_plan *plan, uint64_t width) {
    if (plan->lifted.parts == TALLY_CPU_EXTREMES)
        return width >= LEAST_PAIRS && plan->device->scans->minmax[plan->lifted.type];
    return follows_place(plan) && width >= LEAST_PLACES && tally_cpu_places_kernel(plan, plan->lifted.type);
}

/* Straight from elements to results, unless these have to be converted. */
static void scan_kept_columns(const tally_cpu_plan *plan, const columns *s, tally_cpu_lifted_block *block) {
    const tally_computation *c = &plan->base.computation;
    const bool are_places = plan->lifted.parts == TALLY_CPU_PLACE, lifts = c->desc.in != plan->lifted.type;
    const tally_dtype type = plan->lifted.type, result = are_places ? TALLY_I64 : type;
    const bool to_results = c->desc.out == result && s->out != s->x;
    const uint64_t x_stride = lifts ? s->width : s->stride, stride = to_results ? s->stride : s->width;
    const uint64_t least_rows = block_elements(plan) / s->width;
    const uint64_t most_rows = lifts || !to_results ? least_rows : most(least_rows, KEPT_ROWS);
    const bool alone = !are_places && !s->acc && s->rows <= most_rows;
    uint64_t carry[TALLY_CPU_LIFTED_COLUMNS], second[TALLY_CPU_LIFTED_COLUMNS];
    if (s->acc)
        tally_cpu_split(plan, s->acc, s->width, 0, carry, second);
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
    const bool to_results = width == s->stride && plan->lifted.truths && tally_cpu_writes_results(plan);
    const bool folds_carry = folds_columns(plan, s->length);
    uint64_t carry[TALLY_CPU_LIFTED_COLUMNS], second[TALLY_CPU_LIFTED_COLUMNS];
    const uint64_t before = c->reverse ? s->length - s->index - s->rows : s->index;
    if (tally_cpu_keeps_columns(plan, width)) {
        scan_kept_columns(plan, s, block);
        return;
    }
    if (s->acc)
        tally_cpu_split(plan, s->acc, width, before, carry, second);
    else
        start_carries(plan, width, carry, second);
    for (uint64_t done = 0, folded = 0, rows; done < s->rows; done += rows) {
        if (folds_carry && done == folded) { /* now: 'out' may be x */
            const uint64_t some = least(s->rows - done, TALLY_CPU_LIFTED_BLOCK);
            tally_cpu_split(plan, s->acc, width, before, carry, second);
            fold_rows(plan, s, c->reverse ? s->rows - done - some : done, some);
            folded += some;
        }
        rows = least((folds_carry ? folded : s->rows) - done, block_elements(plan) / width);
        const uint64_t row = c->reverse ? s->rows - done - rows : done;
        const void *lifted = lift_rows(plan, s, row, rows, block);
        void *const scanned = to_results ? tally_at_mutable(s->out, row * width, bytes)
                                         : tally_at_mutable(block->scanned, places && !c->reverse ? width : 0, bytes);
        if (places && !c->reverse)
            memcpy(block->scanned, carry, width * bytes);
        plan->lifted.scan->columns(lifted, rows, width, width, how, carry, scanned);
        if (places && !c->reverse) {
            follow_of(plan)->columns(block->scanned, scanned, rows, width, s->index + row, (int64_t *)second,
                                     block->second);
        } else if (places) {
            for (uint64_t i = 0, r = 0; r < rows; r++)
                for (uint64_t j = 0; j < width; j++)
                    block->counts[i++] = s->index + row + r;
            find_places(plan, lifted, scanned, rows * width, block);
            lifted = block->narrow;
        }
        if (plan->lifted.second && !follows_place(plan))
            plan->lifted.second->columns(lifted, rows, width, width, how, second, block->second);
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
    return inner < (parts == TALLY_CPU_EXTREMES ? WIDE_PAIRS : WIDE_COLUMNS) ||
           tally_cpu_is_half(plan->base.computation.desc.in) || follows_place(plan);
}

bool tally_cpu_lifts_whole_columns(const tally_cpu_plan *plan, uint64_t rows) {
    const bool halves = plan->lifted.folds_carry && tally_cpu_is_half(plan->base.computation.desc.in);
    return plan->lifted.scan && rows > 1 &&
           (plan->lifted.truths || follows_place(plan) || (halves && !folds_columns(plan, rows)) ||
            (plan->lifted.parts == TALLY_CPU_EXTREMES && tally_cpu_keeps_columns(plan, LEAST_PAIRS)));
}

void tally_cpu_lifted_columns(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t width,
                              uint64_t stride, uint64_t index, uint64_t length, unsigned worker, void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t room = plan->lifted.truths ? TALLY_CPU_LIFTED_TRUTHS : TALLY_CPU_LIFTED_COLUMNS;
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

/* ---- rows ---- */

/* The number of each element in its row, which is the same for each block. */
static void number_rows(uint64_t rows, uint64_t extent, bool reverse, bool exclusive, uint64_t *counts) {
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t k = 0; k < extent; k++)
            counts[r * extent + k] = reverse ? extent - k - exclusive : k + !exclusive;
}

/* Short rows of pairs are as fast packed as columns (scan.c), but for argmin's where vectors are moved by any number of
 * lanes, and minmax of wide elements where lanes are moved by masks. (f32 in rows of 2 1.07 ns an element packed and
 * 0.36 so; minmax of i64 in rows of 2, 12 and 30 0.74, 0.80, 0.98 and 0.35, 0.48, 0.42, of i32 0.27, 0.41, 0.47 and
 * 0.22, 0.38, 0.25, of i16 0.16, 0.27 and 0.29, 0.45.) */
enum { LEAST_PLACED = 2, MOST_PACKED = TALLY_CPU_SHORT_GROUP / 2 };

bool tally_cpu_lifts_rows(const tally_cpu_plan *plan, uint64_t extent) {
    const tally_cpu_lifted *l = &plan->lifted;
    if (!l->scan || plan->direct || extent > TALLY_CPU_SHORT_ROW)
        return false;
    if (l->parts == TALLY_CPU_PLACE && plan->base.computation.reverse)
        return false;
    const bool moves_lanes = strcmp(plan->device->level->name, "baseline") != 0;
    const bool is_wide = tally_cpu_has_masks(plan) && plan->base.computation.in_bytes >= sizeof(uint32_t);
    return l->parts == TALLY_CPU_NUMBER || extent > MOST_PACKED ||
           ((l->parts == TALLY_CPU_PLACE || is_wide) && extent >= LEAST_PLACED && moves_lanes);
}

void tally_cpu_lifted_rows(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t extent,
                           unsigned worker, const void *start, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_lifted *l = &plan->lifted;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN, places = l->parts == TALLY_CPU_PLACE;
    const tally_cpu_scan_options how = {.reverse = c->reverse, .exclusive = exclusive};
    const bool to_results = tally_cpu_writes_results(plan);
    tally_cpu_lifted_block *block = tally_cpu_worker(plan, worker);
    const uint64_t most_rows = least(rows, block_elements(plan) / extent);
    tally_cpu_carry from;
    tally_cpu_split(plan, start, 1, 0, &from.first, &from.second);
    uint32_t *const numbers = (uint32_t *)block->counts;
    if (places)
        for (uint64_t r = 0; r < most_rows; r++)
            for (uint64_t k = 0; k < extent; k++)
                numbers[r * extent + k] = (uint32_t)k;
    else if (tally_cpu_lowers_by_count(plan))
        number_rows(most_rows, extent, c->reverse, exclusive, block->counts);
    if (l->counts) {
        memset(block->heads, 0, most_rows * extent);
        for (uint64_t r = 0; r < most_rows; r++)
            block->heads[r * extent + (c->reverse ? extent - 1 : 0)] = -1;
    }
    for (uint64_t done = 0, count; done < rows; done += count) {
        count = least(rows - done, most_rows);
        const uint64_t first = done * extent, n = count * extent;
        void *const to = tally_at_mutable(out, first, c->out_bytes * c->per_result);
        void *const scanned = to_results ? to : tally_at_mutable(block->scanned, places, l->bytes);
        if (l->counts) {
            uint64_t after = from.first;
            count_block(plan, tally_at(x, first, c->in_bytes), block->heads, n, from.first, &after, block, scanned);
            if (!to_results)
                tally_cpu_lower_prefixes(plan, scanned, NULL, n, (tally_counts){NULL, 0, 0}, to);
            continue;
        }
        const void *lifted =
            tally_cpu_lift(plan, tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), n, block);
        l->scan->rows(lifted, count, extent, how, &from.first, scanned);
        if (to_results)
            continue;
        if (places && c->desc.out == TALLY_I64) {
            follow_of(plan)->groups(block->scanned, scanned, numbers, n, 0, to);
            continue;
        }
        if (places)
            follow_of(plan)->groups(block->scanned, scanned, numbers, n, 0, block->second);
        else if (l->second)
            l->second->rows(lifted, count, extent, how, &from.second, block->second);
        tally_cpu_lower_prefixes(plan, scanned, block->second, n, (tally_counts){block->counts, 0, 0}, to);
    }
}

/* ---- groups ---- */

/* Longer parts of groups, of elements that are no narrower, are scanned by a call for each. That takes some 8 ns, and
 * marks 0.1 ns an element; of bytes 0.03. */
enum { LEAST_CALLED = 20, LEAST_CALLED_BY_MASKS = 80, LEAST_CALLED_BYTES = 4 };

/* How many elements there are before another group begins. */
static uint64_t length_of_part(const int8_t *heads, uint64_t n, bool reverse) {
    uint64_t k = 1;
    for (uint64_t eight; k + sizeof eight <= n; k += sizeof eight) {
        memcpy(&eight, reverse ? heads + n - k - sizeof eight : heads + k, sizeof eight);
        if (eight)
            break;
    }
    while (k < n && !heads[reverse ? n - 1 - k : k])
        k++;
    return k;
}

static void scan_parts(const tally_cpu_plan *plan, const void *numbers, const int8_t *heads, uint64_t n, uint64_t start,
                       uint64_t *acc, void *to) {
    const tally_computation *c = &plan->base.computation;
    const bool reverse = c->reverse;
    const tally_cpu_scan_options how = {.reverse = reverse, .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN};
    const size_t bytes = plan->lifted.bytes;
    for (uint64_t done = 0, count; done < n; done += count) {
        count = length_of_part(reverse ? heads : heads + done, n - done, reverse);
        const uint64_t first = reverse ? n - done - count : done;
        if (heads[reverse ? n - done - 1 : done])
            *acc = start;
        const void *const from = tally_at(numbers, first, bytes);
        void *const target = tally_at_mutable(to, first, bytes);
        if (done + count < n) /* the next one begins anew */
            plan->lifted.scan->scan(from, count, how, acc, target);
        else
            scan_results(plan, from, count, acc, target);
    }
}

void tally_cpu_lifted_groups(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t groups,
                             tally_cpu_lifted_block *block, const tally_cpu_carry *start, tally_cpu_carry *acc,
                             void *to, void *second) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_scan_options how = {.reverse = c->reverse, .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN};
    if (plan->lifted.counts) {
        count_block(plan, x, block->heads, n, start->first, &acc->first, block, to);
        return;
    }
    const void *lifted = tally_cpu_lift(plan, x, y, n, block);
    const bool places = plan->lifted.parts == TALLY_CPU_PLACE;
    const size_t bytes = plan->lifted.bytes;
    const uint64_t least_called = tally_cpu_has_masks(plan) ? LEAST_CALLED_BY_MASKS : LEAST_CALLED;
    const bool may_call = !plan->lifted.second && bytes >= LEAST_CALLED_BYTES && !plan->lifted.as_they_are;
    if (may_call && groups * least_called <= n) {
        scan_parts(plan, lifted, block->heads, n, start->first, &acc->first, to);
        return;
    }
    if (places)
        memcpy((char *)to - bytes, &acc->first, bytes);
    plan->lifted.scan->groups(lifted, block->heads, n, how, &start->first, &acc->first, to);
    if (places)
        acc->second = (uint64_t)follow_of(plan)->groups((char *)to - bytes, to, (const uint32_t *)block->counts, n,
                                                        (int64_t)acc->second, second);
    else if (plan->lifted.second)
        plan->lifted.second->groups(lifted, block->heads, n, how, &start->second, &acc->second, second);
}
