#include "cpu/lifted.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/copy.h"
#include "cpu/lower.h"
#include "cpu/scratch.h"

/* truths[n] = 1 for each element that is not 0, else 0 */
static void find_truths(const tally_cpu_plan *plan, const void *x, uint64_t n, void *truths) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t sign = tally_dtype_is_float(c->desc.in) ? UINT64_C(1) << (8 * c->in_bytes - 1) : 0; /* of -0 */
    plan->device->scans->truths(x, n, c->in_bytes, ~sign, truths);
}

void tally_cpu_lift_to(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n,
                       tally_cpu_lifted_block *block, uint64_t place) {
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
    if (plan->lifted.magnitudes) {
        scans->magnitudes(x, n, c->in_bytes, to);
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
    if (tally_cpu_lifts_nothing(plan))
        return x;
    tally_cpu_lift_to(plan, x, y, n, block, 0);
    return block->lifted;
}

void tally_cpu_find_places(const tally_cpu_plan *plan, const void *lifted, const void *after, uint64_t n,
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

static bool are_same(const void *a, const void *b, size_t bytes) {
    uint64_t one = 0, other = 0;
    tally_cpu_copy_one(&one, a, bytes);
    tally_cpu_copy_one(&other, b, bytes);
    return one == other;
}

/* Whether the prefixes before n elements and after each of them are all the same, as in most blocks of a long scan for
 * the smallest element. An extreme that ends as it began has not changed in between. 'second' is the second scan's
 * before them. */
static bool is_settled(const tally_cpu_plan *plan, uint64_t n, uint64_t second, const tally_cpu_lifted_block *block) {
    const size_t bytes = plan->lifted.bytes;
    if (plan->context.nans || !are_same(block->scanned, tally_at(block->scanned, n, bytes), bytes))
        return false;
    if (plan->lifted.parts == TALLY_CPU_EXTREMES)
        return are_same(block->second, tally_at(block->second, n, bytes), bytes);
    return plan->lifted.parts == TALLY_CPU_PLACE ? tally_cpu_follows_place(plan) && (int64_t)second >= 0
                                                 : tally_class_of(plan->base.computation.monoid) == TALLY_CLASS_VALUE;
}

/* The second scan, unless it is of places that can be followed; index is the first element's. */
static void scan_second(const tally_cpu_plan *plan, const void *lifted, uint64_t n, uint64_t index,
                        tally_cpu_lifted_block *block, tally_cpu_carry *carry) {
    const tally_dtype type = tally_cpu_second_type(plan);
    if (plan->lifted.parts == TALLY_CPU_PLACE) {
        for (uint64_t i = 0; i < n; i++)
            block->counts[i] = index + i;
        tally_cpu_find_places(plan, lifted, block->scanned, n, block);
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
    if (tally_cpu_follows_place(plan) && !same) {
        void *const places = in_place ? out : block->second + from;
        carry->second = (uint64_t)plan->device->scans->follow[plan->lifted.type].run(
            block->scanned, tally_at(block->scanned, 1, plan->lifted.bytes), n, index, (int64_t)second, places);
        if (in_place)
            return;
    }
    _Alignas(16) unsigned char one[16];
    if (same && tally_cpu_follows_place(plan))
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
    tally_cpu_copy_one(&last, tally_at(numbers, at, bytes), bytes); /* which the results may overwrite */
    plan->lifted.scan->scan(numbers, n, (tally_cpu_scan_options){.reverse = c->reverse, .exclusive = exclusive}, carry,
                            out);
    tally_cpu_copy_one(&after, tally_at(out, at, bytes), bytes);
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
    if (!plan->device->scans->means || d->op != TALLY_MEAN || !is_float || (d->in == TALLY_F32) != is_narrow ||
        d->flags || plan->lifted.type != TALLY_F64)
        return 0;
    double sum;
    memcpy(&sum, carry, sizeof sum);
    const uint64_t done = plan->device->scans->means(x, n, is_narrow, (double)index, &sum, out);
    memcpy(carry, &sum, sizeof sum);
    return done;
}

/* The results of a block; index is the first element's. */
static void scan_a_block(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                         uint64_t length, tally_cpu_lifted_block *block, tally_cpu_carry *carry, void *out) {
    const bool to_results = tally_cpu_writes_results(plan);
    if (plan->lifted.counts) {
        count_block(plan, x, NULL, n, 0, &carry->first, block, to_results ? out : block->scanned);
        if (!to_results)
            tally_cpu_lower_prefixes(plan, block->scanned, NULL, n, (tally_counts){NULL, 0, 0}, out);
        return;
    }
    const void *lifted = tally_cpu_lift(plan, x, y, n, block);
    uint64_t folded = carry->first;
    if (plan->lifted.folds_carry) /* now: 'out' may be x */
        plan->kernels->fold(&plan->context, x, y, n, index, &folded);
    if (to_results)
        scan_results(plan, lifted, n, &carry->first, out);
    else
        scan_block(plan, plan->lifted.scan, plan->lifted.type, plan->lifted.bytes, plan->lifted.carry, lifted, n,
                   &carry->first, block->scanned);
    if (plan->lifted.folds_carry)
        carry->first = folded;
    if (to_results)
        return;
    const uint64_t second = carry->second;
    if (plan->lifted.second && !tally_cpu_follows_place(plan))
        scan_second(plan, lifted, n, index, block, carry);
    give_results(plan, n, index, length, second, block, carry, out);
}

/* Bytes of results that are streamed at once; a multiple of 64 elements. */
enum { STREAMED_BYTES = sizeof(uint64_t) * TALLY_CPU_LIFTED_BLOCK, SUMMED_AT_ONCE = 64 };

/* The last elements, fewer than the kernel takes, with zeros behind them. Returns how many are done. */
static uint64_t scan_last_sums(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n,
                               tally_cpu_sums_options how, tally_cpu_lifted_block *block, uint64_t *before, void *out) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t at = c->reverse ? SUMMED_AT_ONCE - n : 0;
    memset(block->lifted, 0, SUMMED_AT_ONCE * c->in_bytes);
    memcpy(tally_at_mutable(block->lifted, at, c->in_bytes), x, n * c->in_bytes);
    if (y) {
        memset(block->narrow, 0, SUMMED_AT_ONCE * c->in_bytes);
        memcpy(tally_at_mutable(block->narrow, at, c->in_bytes), y, n * c->in_bytes);
    }
    if (plan->lifted.sums(block->lifted, y ? block->narrow : NULL, SUMMED_AT_ONCE, how, before, block->scanned) <
        SUMMED_AT_ONCE)
        return 0;
    memcpy(out, tally_at(block->scanned, at, c->out_bytes), n * c->out_bytes);
    return n;
}

/* Sums from elements to results, from where the scan begins. Returns how many are done: all, if all sums are finite. */
static uint64_t scan_sums(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                          bool stream, tally_cpu_lifted_block *block, uint64_t *carry, void *out) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t most_elements = stream ? STREAMED_BYTES / c->out_bytes : n;
    tally_cpu_sums_options how = plan->lifted.sums_options;
    const bool is_float = plan->lifted.carry == TALLY_F64;
    uint64_t before[2] = {*carry, 0}; /* and what its rounding has left */
    double parts[2] = {0};
    if (is_float)
        memcpy(parts, before, sizeof parts);
    if (n < plan->lifted.least_summed || !(parts[0] - parts[0] == 0) ||
        (how.result == TALLY_CPU_MEANS && index + n > UINT32_MAX))
        return 0;
    uint64_t done = 0;
    for (uint64_t count, some; (count = least(n - done, most_elements)) >= SUMMED_AT_ONCE;) {
        const uint64_t first = c->reverse ? n - done - count : done;
        void *const results = tally_at_mutable(out, first, c->out_bytes), *const to = stream ? block->second : results;
        how.index = (uint32_t)(index + first);
        some =
            plan->lifted.sums(tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), count, how, before, to);
        const uint64_t at = c->reverse ? count - some : 0;
        if (stream)
            plan->device->scans->stream(tally_at(to, at, c->out_bytes), some * c->out_bytes,
                                        tally_at_mutable(results, at, c->out_bytes));
        done += some;
        if (count - some >= SUMMED_AT_ONCE) /* a sum is not finite */
            break;
    }
    const uint64_t last = n - done, first = c->reverse ? 0 : done;
    if (last > 0 && last < SUMMED_AT_ONCE) {
        how.index = (uint32_t)(index + first);
        done += scan_last_sums(plan, tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), last, how, block,
                               before, tally_at_mutable(out, first, c->out_bytes));
    }
    memcpy(parts, before, sizeof parts);
    parts[0] += parts[1];
    memcpy(carry, is_float ? (const void *)parts : before, sizeof *carry);
    return done;
}

void tally_cpu_lifted_scan(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                           uint64_t length, bool stream, unsigned worker, const void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    tally_cpu_lifted_block *block = tally_cpu_worker(plan, worker);
    tally_cpu_carry carry;
    tally_cpu_split(plan, acc, 1, c->reverse ? length - index - n : index, plan->lifted.carry, &carry.first,
                    &carry.second);
    const uint64_t begun = plan->lifted.sums ? scan_sums(plan, x, y, n, index, stream, block, &carry.first, out)
                           : c->reverse      ? 0
                                             : scan_means(plan, x, n, index, &carry.first, out);
    const size_t width = c->out_bytes * c->per_result;
    stream = stream && plan->lifted.parts == TALLY_CPU_NUMBER;
    for (uint64_t done = begun, count; done < n; done += count) {
        count = least(n - done, tally_cpu_lifted_elements(plan));
        const uint64_t first = c->reverse ? n - done - count : done;
        void *const results = tally_at_mutable(out, first, width);
        const bool streams = stream && count * width <= STREAMED_BYTES;
        scan_a_block(plan, tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), count, index + first,
                     length, block, &carry, streams ? block->second : results);
        if (streams)
            plan->device->scans->stream(block->second, count * width, results);
    }
    if (stream)
        plan->device->scans->stream(NULL, 0, NULL);
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
    const uint64_t most_rows = least(rows, tally_cpu_lifted_elements(plan) / extent);
    tally_cpu_carry from;
    tally_cpu_split(plan, start, 1, 0, plan->lifted.carry, &from.first, &from.second);
    if (tally_cpu_lowers_by_count(plan))
        number_rows(most_rows, extent, c->reverse, exclusive, block->counts);
    if (l->counts || places) {
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
        l->scan->planes(lifted, count, extent, 1, how, &from.first, scanned);
        if (to_results)
            continue;
        if (places) {
            const bool gives_places = c->desc.out == TALLY_I64;
            uint64_t number = 0;
            plan->device->scans->follow[l->type].groups(block->scanned, scanned, block->heads, n, &number, 0,
                                                        gives_places ? to : block->second);
            if (gives_places)
                continue;
        }
        if (l->second && !places)
            l->second->planes(lifted, count, extent, 1, how, &from.second, block->second);
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
                             uint64_t *number, void *to, void *second) {
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
        tally_cpu_copy_one((char *)to - bytes, &acc->first, bytes);
    plan->lifted.scan->groups(lifted, block->heads, n, how, &start->first, &acc->first, to);
    if (places)
        acc->second = (uint64_t)plan->device->scans->follow[plan->lifted.type].groups(
            (char *)to - bytes, to, block->heads, n, number, (int64_t)acc->second, second);
    else if (plan->lifted.second)
        plan->lifted.second->groups(lifted, block->heads, n, how, &start->second, &acc->second, second);
}
