#include "cpu/group_ends.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/logsumexp_running.h"
#include "cpu/running.h"
#include "cpu/spread.h"

enum { MOST_GROUPS = TALLY_CPU_BATCH }; /* that are scanned at a time */

/* Sums of integers, counts and bxor. */
static bool can_subtract(const tally_cpu_plan *plan) {
    const tally_monoid monoid = plan->base.computation.monoid;
    const tally_monoid_class kind = tally_class_of(monoid);
    return !tally_dtype_is_float(plan->lifted.type) && (kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE ||
                                                        kind == TALLY_CLASS_COUNT || monoid == TALLY_MONOID_bxor);
}

/* Groups that are shorter on average are scanned, by the bytes of an element: 1, 2, 4, 8. Floats that are summed are
 * left to others, whose sum of -0 is 0. (Zen 5, random lengths, ns an element by columns, trees or calls, and so:
 * largest of i8 in groups of 6, 12, 18 0.49, 0.32, 0.27 and 0.30, 0.18, 0.16, of f32 0.79, 0.57, 0.40 and 0.42, 0.31,
 * 0.30; products of f64 in groups of 3, 6, 9 1.36, 0.91, 0.32 and 0.66, 0.46, 0.38; sums of i64 in groups of 3, 12, 18
 * 0.64, 0.22, 0.17 and 0.42, 0.21, 0.18; argmax of i32 in groups of 3, 9, 12 1.62, 0.84, 0.46 and 0.88, 0.58, 0.54.
 * With AVX2 marks take longer: largest of f64 in groups of 3 1.22 and 1.17, minmax of i32 1.28 and 1.60.) */
static uint64_t short_length(const tally_cpu_plan *plan) {
    enum { SUM, SQUARE, BXOR, VALUE, PRODUCT, EXTREMES, PLACE, COUNT, KINDS };
    static const uint8_t integers[KINDS][4] = {{2, 2, 2, 12}, {18, 12, 12, 8}, {24, 16, 16, 12}, {20, 16, 12, 9},
                                               {4, 4, 8, 7},  {0, 6, 9, 7},    {6, 8, 10, 8},    {0, 0, 4, 4}};
    static const uint8_t floats[KINDS][4] = {[SQUARE] = {4, 0, 4, 7},
                                             [VALUE] = {0, 20, 20, 16},
                                             [PRODUCT] = {0, 6, 9, 7},
                                             [EXTREMES] = {0, 20, 16, 9},
                                             [PLACE] = {0, 10, 12, 8}};
    const tally_computation *c = &plan->base.computation;
    const size_t bytes = c->in_bytes, k = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    const tally_monoid_class class = tally_class_of(c->monoid);
    const int kind = plan->lifted.parts == TALLY_CPU_EXTREMES                  ? EXTREMES
                     : plan->lifted.parts == TALLY_CPU_PLACE                   ? PLACE
                     : c->monoid == TALLY_MONOID_sum                           ? SUM
                     : class == TALLY_CLASS_SUM || class == TALLY_CLASS_SQUARE ? SQUARE
                     : class == TALLY_CLASS_TOTAL                              ? PRODUCT
                     : c->monoid == TALLY_MONOID_bxor                          ? BXOR
                     : c->monoid == TALLY_MONOID_nonzero                       ? COUNT
                                                                               : VALUE;
    return (tally_dtype_is_float(plan->lifted.type) ? floats : integers)[kind][k];
}

/* Variances and logsumexps are scanned to results. */
static bool scans_results(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return !plan->context.nans && (tally_cpu_has_spread(plan) || (c->monoid == TALLY_MONOID_logsumexp && !c->exact));
}

/* The same of these, if results are narrow and if not. (Deviations of f32 in groups of 1.5, 3, 5 3.93, 2.03, 1.51 and
 * 1.99, 1.41, 1.22, of i64 4.12, 2.33, 1.73 and 2.23, 1.63, 1.44, but of uniform lengths in groups of 5 1.19 and 1.42;
 * logsumexp of f32 in groups of 3, 12, 30 1.76, 0.90, 0.58 and 0.93, 0.56, 0.53, of f64 in groups of 3, 12,
 * 30 2.32, 1.38, 0.76 and 1.33, 0.99, 0.95.) */
static uint64_t short_length_of_results(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const bool is_narrow = c->desc.acc == TALLY_F32 && c->out_bytes <= sizeof(float);
    return c->monoid == TALLY_MONOID_moments ? (is_narrow ? 5 : 3) : (is_narrow ? 24 : 14);
}

bool tally_cpu_scans_to_ends(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups) {
    const tally_computation *c = &plan->base.computation;
    if (!c->entry || c->gives_words || plan->states || plan->lower_elements || c->reverse)
        return false;
    if (scans_results(plan))
        return tally_cpu_has_masks(plan) && elements < groups * short_length_of_results(plan);
    if (!plan->lifted.scan)
        return false;
    const bool is_fast =
        can_subtract(plan) ? strcmp(plan->device->level->name, "baseline") != 0 : tally_cpu_has_masks(plan);
    return is_fast && elements < groups * short_length(plan);
}

/* A block of scanned elements, and where its groups end. */
typedef struct scanned_groups {
    const tally_cpu_plan *plan;
    const void *x, *y; /* element 0 */
    tally_cpu_carry start;
    uint32_t ends[MOST_GROUPS]; /* 0 for a group without elements, where the scans' first values stand */
    tally_cpu_lifted_block block;
} scanned_groups;

/* to[i] = numbers[ends[i]], or what it differs by from the one before */
#define DEFINE_PICK(bits)                                                                                              \
    static void pick_##bits(const uint##bits##_t *numbers, const uint32_t *ends, size_t count, char *to) {             \
        for (size_t i = 0; i < count; i++)                                                                             \
            memcpy(to + i * (bits / 8), &numbers[ends[i]], bits / 8);                                                  \
    }                                                                                                                  \
    static void subtract_##bits(const uint##bits##_t *numbers, const uint32_t *ends, size_t count, bool bitwise,       \
                                char *to) {                                                                            \
        uint##bits##_t before = numbers[0];                                                                            \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const uint##bits##_t after = ends[i] ? numbers[ends[i]] : before,                                          \
                                 own = (uint##bits##_t)(bitwise ? after ^ before : after - before);                    \
            memcpy(to + i * (bits / 8), &own, sizeof own);                                                             \
            before = after;                                                                                            \
        }                                                                                                              \
    }
DEFINE_PICK(8)
DEFINE_PICK(16)
DEFINE_PICK(32)
DEFINE_PICK(64)

static void pick(const void *numbers, const uint32_t *ends, size_t count, size_t bytes, void *to) {
    if (bytes == 1)
        pick_8(numbers, ends, count, to);
    else if (bytes == 2)
        pick_16(numbers, ends, count, to);
    else if (bytes == 4)
        pick_32(numbers, ends, count, to);
    else
        pick_64(numbers, ends, count, to);
}

static void subtract(const void *numbers, const uint32_t *ends, size_t count, size_t bytes, bool bitwise, void *to) {
    if (bytes == 1)
        subtract_8(numbers, ends, count, bitwise, to);
    else if (bytes == 2)
        subtract_16(numbers, ends, count, bitwise, to);
    else if (bytes == 4)
        subtract_32(numbers, ends, count, bitwise, to);
    else
        subtract_64(numbers, ends, count, bitwise, to);
}

/* How many of 'count' groups fit a block together. */
static size_t groups_of_a_block(const uint64_t *offsets, size_t count) {
    size_t low = 0, high = least(count, MOST_GROUPS); /* the answer, of offsets that do not decrease */
    if (offsets[high] - offsets[0] <= TALLY_CPU_LIFTED_BLOCK)
        return high;
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;
        if (offsets[middle] - offsets[0] <= TALLY_CPU_LIFTED_BLOCK)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Marks where groups begin, which are where others end. */
static void mark_heads(const uint32_t *restrict ends, size_t count, size_t n, int8_t *restrict heads) {
    memset(heads, 0, n);
    heads[0] = -1;
    for (size_t i = 0; i < count; i++)
        heads[ends[i]] = -1;
}

static void begin(scanned_groups *g, const tally_cpu_plan *plan, const void *x, const void *y) {
    const tally_cpu_lifted *const l = &plan->lifted;
    g->plan = plan;
    g->x = x;
    g->y = y;
    plan->kernels->identity(&plan->context, 1, g->block.narrow);
    tally_cpu_split(plan, g->block.narrow, 1, 0, &g->start.first, &g->start.second);
    tally_cpu_convert_numbers(plan, l->carry, l->type, &g->start.first, 1, g->block.scanned);
    memcpy(g->block.second, &g->start.second, l->second_bytes);
}

/* Scans as many groups as fit a block, and returns how many these are. 0: the first one has to be folded alone. */
static size_t scan_some(scanned_groups *g, const uint64_t *offsets, size_t count) {
    const tally_cpu_plan *const plan = g->plan;
    const size_t taken = groups_of_a_block(offsets, count), bytes = plan->base.computation.in_bytes;
    const void *const x = tally_at(g->x, offsets[0], bytes), *const y = tally_at(g->y, offsets[0], bytes);
    const uint64_t n = offsets[taken] - offsets[0];
    tally_cpu_carry value = g->start;
    plan->device->level->ends(offsets, taken, g->ends);
    void *const to = tally_at_mutable(g->block.scanned, 1, plan->lifted.bytes);
    if (n == 0)
        return taken;
    if (can_subtract(plan)) {
        plan->lifted.scan->scan(tally_cpu_lift(plan, x, y, n, &g->block), n, (tally_cpu_scan_options){.ahead = 0},
                                &value.first, to);
        return taken;
    }
    mark_heads(g->ends, taken, n, g->block.heads);
    if (plan->lifted.parts == TALLY_CPU_PLACE)
        plan->device->scans->number_groups(g->block.heads, n, 0, 0, (uint32_t *)g->block.counts);
    tally_cpu_lifted_groups(plan, x, y, n, taken, &g->block, &g->start, &value, to,
                            tally_at_mutable(g->block.second, 1, plan->lifted.second_bytes));
    return taken;
}

static void pick_first(const scanned_groups *g, size_t count, void *to) {
    const tally_cpu_plan *const plan = g->plan;
    if (can_subtract(plan))
        subtract(g->block.scanned, g->ends, count, plan->lifted.bytes,
                 plan->base.computation.monoid == TALLY_MONOID_bxor, to);
    else
        pick(g->block.scanned, g->ends, count, plan->lifted.bytes, to);
}

static void fold_alone(const scanned_groups *g, const uint64_t *offsets, void *acc) {
    const tally_cpu_plan *const plan = g->plan;
    const size_t bytes = plan->base.computation.in_bytes;
    plan->kernels->identity(&plan->context, 1, acc);
    plan->kernels->fold(&plan->context, tally_at(g->x, offsets[0], bytes), tally_at(g->y, offsets[0], bytes),
                        offsets[1] - offsets[0], 0, acc);
}

static void scan_results_to_ends(const tally_cpu_plan *plan, const void *x, const uint64_t *offsets, size_t count,
                                 unsigned worker, void *out) {
    const tally_computation *c = &plan->base.computation;
    const bool spread = tally_cpu_has_spread(plan);
    _Alignas(64) uint64_t results[TALLY_CPU_SPREAD_BLOCK + 1];
    _Alignas(64) int8_t heads[TALLY_CPU_SPREAD_BLOCK + TALLY_CPU_RUNNING_SLACK];
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    uint32_t ends[MOST_GROUPS];
    plan->kernels->identity(&plan->context, 1, acc);
    plan->lower(plan, acc, 1, (tally_counts){NULL, 0, 0}, results); /* of no elements */
    for (size_t done = 0, taken; done < count; done += most(taken, 1)) {
        const uint64_t *const own = offsets + done;
        const void *const from = tally_at(x, own[0], c->in_bytes);
        void *const to = tally_at_mutable(out, done, c->out_bytes), *const at = (char *)results + c->out_bytes;
        taken = groups_of_a_block(own, count - done);
        const uint64_t n = own[most(taken, 1)] - own[0];
        if (taken == 0) {
            plan->kernels->identity(&plan->context, 1, acc);
            plan->kernels->fold(&plan->context, from, NULL, n, 0, acc);
            plan->lower(plan, acc, 1, (tally_counts){NULL, n, 0}, to);
            continue;
        }
        plan->device->level->ends(own, taken, ends);
        if (n) {
            mark_heads(ends, taken, n, heads);
            if (spread)
                tally_cpu_spread_groups(plan, from, heads, n, worker, at);
            else
                tally_cpu_logsumexp_groups(plan, from, heads, n, at);
        }
        pick(results, ends, taken, c->out_bytes, to);
    }
}

void tally_cpu_scan_to_ends(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                            size_t count, const uint64_t *lengths, unsigned worker, void *out) {
    if (scans_results(plan)) {
        scan_results_to_ends(plan, x, offsets, count, worker, out);
        return;
    }
    const tally_computation *c = &plan->base.computation;
    const bool to_results = tally_cpu_writes_results(plan), places = plan->lifted.parts == TALLY_CPU_PLACE;
    const bool gives_places = places && c->desc.out == TALLY_I64;
    scanned_groups g;
    begin(&g, plan, x, y);
    for (size_t done = 0, taken; done < count; done += most(taken, 1)) {
        uint64_t first[MOST_GROUPS], second[MOST_GROUPS];
        void *const to = tally_at_mutable(out, done, c->out_bytes * c->per_result);
        const tally_counts counts = {lengths ? lengths + done : NULL, 0, 0};
        taken = scan_some(&g, offsets + done, count - done);
        if (taken == 0) {
            _Alignas(64) unsigned char acc[16];
            fold_alone(&g, offsets + done, acc);
            plan->lower(plan, acc, 1, counts, to);
            continue;
        }
        if (!places)
            pick_first(&g, taken, to_results ? to : first);
        if (plan->lifted.second)
            pick(g.block.second, g.ends, taken, plan->lifted.second_bytes, gives_places ? to : second);
        if (!to_results && !gives_places)
            tally_cpu_lower_prefixes(plan, first, second, taken, counts, to);
    }
}
