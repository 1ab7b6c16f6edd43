#include "cpu/group_ends.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/logsumexp_running.h"
#include "cpu/offsets.h"
#include "cpu/running.h"
#include "cpu/spread.h"

enum { MOST_GROUPS = TALLY_CPU_BATCH }; /* that are scanned at a time */

/* Sums of integers and bxor. */
static bool can_subtract(const tally_cpu_plan *plan) {
    const tally_monoid monoid = plan->base.computation.monoid;
    const tally_monoid_class kind = tally_class_of(monoid);
    return !tally_dtype_is_float(plan->lifted.type) &&
           (kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE || monoid == TALLY_MONOID_bxor);
}

/* Variances and logsumexps are scanned to results. */
static bool scans_results(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return !plan->context.nans && (tally_cpu_has_spread(plan) || (c->monoid == TALLY_MONOID_logsumexp && !c->exact));
}

bool tally_cpu_scans_to_ends(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups,
                             tally_cpu_spread_of_lengths lengths) {
    const tally_computation *c = &plan->base.computation;
    if (!c->entry || c->gives_words || plan->states || plan->lower_elements || c->reverse)
        return false;
    const bool is_fast = !scans_results(plan) && can_subtract(plan) ? strcmp(plan->device->level->name, "baseline") != 0
                                                                    : tally_cpu_has_masks(plan);
    return is_fast && (plan->lifted.scan || scans_results(plan)) &&
           elements < groups * tally_cpu_short_limits_of(plan, lengths).scanned;
}

/* A block of scanned elements, and where its groups end. */
typedef struct scanned_groups {
    const tally_cpu_plan *plan;
    const void *x, *y; /* element 0 */
    tally_cpu_carry start;
    uint32_t ends[MOST_GROUPS]; /* 0 for a group without elements, where the scans' first values stand */
    tally_cpu_lifted_block block;
} scanned_groups;

/* to[i] = numbers[ends[i]], and to[i] = numbers[offsets[i + 1] - offsets[0]] less the one before */
#define DEFINE_PICK(bits)                                                                                              \
    static void pick_##bits(const uint##bits##_t *numbers, const uint32_t *ends, size_t count, char *to) {             \
        for (size_t i = 0; i < count; i++)                                                                             \
            memcpy(to + i * (bits / 8), &numbers[ends[i]], bits / 8);                                                  \
    }                                                                                                                  \
    static void subtract_##bits(const uint##bits##_t *numbers, const uint64_t *offsets, size_t count, bool bitwise,    \
                                char *to) {                                                                            \
        uint##bits##_t before = numbers[0];                                                                            \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const uint##bits##_t after = numbers[offsets[i + 1] - offsets[0]],                                         \
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

static void subtract(const void *numbers, const uint64_t *offsets, size_t count, size_t bytes, bool bitwise, void *to) {
    if (bytes == 1)
        subtract_8(numbers, offsets, count, bitwise, to);
    else if (bytes == 2)
        subtract_16(numbers, offsets, count, bitwise, to);
    else if (bytes == 4)
        subtract_32(numbers, offsets, count, bitwise, to);
    else
        subtract_64(numbers, offsets, count, bitwise, to);
}

static size_t groups_of_a_block(const uint64_t *offsets, size_t count) {
    return tally_cpu_groups_within(offsets, least(count, MOST_GROUPS), TALLY_CPU_LIFTED_BLOCK);
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
    tally_cpu_split(plan, g->block.narrow, 1, 0, plan->lifted.carry, &g->start.first, &g->start.second);
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
    void *const to = tally_at_mutable(g->block.scanned, 1, plan->lifted.bytes);
    if (can_subtract(plan)) {
        if (n)
            plan->lifted.scan->scan(tally_cpu_lift(plan, x, y, n, &g->block), n, (tally_cpu_scan_options){.ahead = 0},
                                    &value.first, to);
        return taken;
    }
    plan->device->level->ends(offsets, taken, g->ends);
    if (n == 0)
        return taken;
    mark_heads(g->ends, taken, n, g->block.heads);
    if (plan->lifted.parts == TALLY_CPU_PLACE)
        plan->device->scans->number_groups(g->block.heads, n, 0, 0, (uint32_t *)g->block.counts);
    tally_cpu_lifted_groups(plan, x, y, n, taken, &g->block, &g->start, &value, to,
                            tally_at_mutable(g->block.second, 1, plan->lifted.second_bytes));
    return taken;
}

static void pick_first(const scanned_groups *g, const uint64_t *offsets, size_t count, void *to) {
    const tally_cpu_plan *const plan = g->plan;
    if (can_subtract(plan))
        subtract(g->block.scanned, offsets, count, plan->lifted.bytes,
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

/* The results of groups one by one. */
static void fold_results(const tally_cpu_plan *plan, const void *x, const uint64_t *offsets, size_t count, void *out) {
    const tally_computation *c = &plan->base.computation;
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    for (size_t i = 0; i < count; i++) {
        const uint64_t n = offsets[i + 1] - offsets[i];
        plan->kernels->identity(&plan->context, 1, acc);
        plan->kernels->fold(&plan->context, tally_at(x, offsets[i] - offsets[0], c->in_bytes), NULL, n, 0, acc);
        plan->lower(plan, acc, 1, (tally_counts){NULL, n, 0}, tally_at_mutable(out, i, c->out_bytes));
    }
}

static void scan_results_to_ends(const tally_cpu_plan *plan, const void *x, const uint64_t *offsets, size_t count,
                                 void *out) {
    const tally_computation *c = &plan->base.computation;
    const bool spread = tally_cpu_has_spread(plan);
    _Alignas(64) uint64_t results[TALLY_CPU_SPREAD_BLOCK + 1];
    _Alignas(64) int8_t heads[TALLY_CPU_SPREAD_BLOCK + TALLY_CPU_RUNNING_SLACK];
    uint32_t ends[MOST_GROUPS];
    fold_results(plan, x, (uint64_t[]){0, 0}, 1, results); /* of no elements */
    for (size_t done = 0, taken; done < count; done += most(taken, 1)) {
        const uint64_t *const own = offsets + done;
        const void *const from = tally_at(x, own[0], c->in_bytes);
        void *const to = tally_at_mutable(out, done, c->out_bytes), *const at = (char *)results + c->out_bytes;
        taken = groups_of_a_block(own, count - done);
        const uint64_t n = own[taken] - own[0];
        if (taken == 0) {
            fold_results(plan, from, own, 1, to);
            continue;
        }
        plan->device->level->ends(own, taken, ends);
        if (n)
            mark_heads(ends, taken, n, heads);
        if (n && spread) {
            if (!tally_cpu_spread_reduce(plan, from, heads, n, own, taken, to))
                fold_results(plan, from, own, taken, to);
            continue;
        }
        if (n)
            tally_cpu_logsumexp_groups(plan, from, heads, n, at);
        pick(results, ends, taken, c->out_bytes, to);
    }
}

void tally_cpu_scan_to_ends(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                            size_t count, const uint64_t *lengths, void *out) {
    if (scans_results(plan)) {
        scan_results_to_ends(plan, x, offsets, count, out);
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
            pick_first(&g, offsets + done, taken, to_results ? to : first);
        if (plan->lifted.second)
            pick(g.block.second, g.ends, taken, plan->lifted.second_bytes, gives_places ? to : second);
        if (!to_results && !gives_places)
            tally_cpu_lower_prefixes(plan, first, second, taken, counts, to);
    }
}
