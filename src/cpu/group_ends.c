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
    const bool can = scans_results(plan) ? tally_cpu_has_masks(plan)
                                         : plan->lifted.scan && can_subtract(plan) &&
                                               strcmp(plan->device->level->name, "baseline") != 0;
    return can && elements < groups * tally_cpu_short_limits_of(plan, lengths).scanned;
}

enum { MOST_GROUPS = TALLY_CPU_BATCH }; /* that are scanned at a time */

static size_t groups_of_a_block(const uint64_t *offsets, size_t count) {
    return tally_cpu_groups_within(offsets, least(count, MOST_GROUPS), TALLY_CPU_LIFTED_BLOCK);
}

/* ---- differences ---- */

/* to[i] = numbers[offsets[i + 1] - offsets[0]] less the one before */
#define DEFINE_SUBTRACT(bits)                                                                                          \
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
DEFINE_SUBTRACT(8)
DEFINE_SUBTRACT(16)
DEFINE_SUBTRACT(32)
DEFINE_SUBTRACT(64)

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

static void give_differences(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                             size_t count, const uint64_t *lengths, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_lifted *const l = &plan->lifted;
    const bool to_results = tally_cpu_writes_results(plan), bitwise = c->monoid == TALLY_MONOID_bxor;
    tally_cpu_lifted_block block;
    _Alignas(64) uint64_t acc[2];
    tally_cpu_carry start;
    plan->kernels->identity(&plan->context, 1, acc);
    tally_cpu_split(plan, acc, 1, 0, l->carry, &start.first, &start.second);
    tally_cpu_convert_numbers(plan, l->carry, l->type, &start.first, 1, block.scanned);
    for (size_t done = 0, taken; done < count; done += most(taken, 1)) {
        const uint64_t *const own = offsets + done;
        const void *const from = tally_at(x, own[0], c->in_bytes), *const partner = tally_at(y, own[0], c->in_bytes);
        void *const to = tally_at_mutable(out, done, c->out_bytes);
        const tally_counts counts = {lengths ? lengths + done : NULL, 0, 0};
        uint64_t differences[MOST_GROUPS], value = start.first;
        taken = groups_of_a_block(own, count - done);
        if (taken == 0) { /* too long for a block */
            plan->kernels->identity(&plan->context, 1, acc);
            plan->kernels->fold(&plan->context, from, partner, own[1] - own[0], 0, acc);
            plan->lower(plan, acc, 1, counts, to);
            continue;
        }
        const uint64_t n = own[taken] - own[0];
        if (n)
            l->scan->scan(tally_cpu_lift(plan, from, partner, n, &block), n, (tally_cpu_scan_options){.ahead = 0},
                          &value, tally_at_mutable(block.scanned, 1, l->bytes));
        subtract(block.scanned, own, taken, l->bytes, bitwise, to_results ? to : differences);
        if (!to_results)
            tally_cpu_lower_prefixes(plan, differences, NULL, taken, counts, to);
    }
}

/* ---- results that are scanned ---- */

/* Marks where groups begin, which are where others end. */
static void mark_heads(const uint32_t *restrict ends, size_t count, size_t n, int8_t *restrict heads) {
    memset(heads, 0, n);
    heads[0] = -1;
    for (size_t i = 0; i < count; i++)
        heads[ends[i]] = -1;
}

/* to[i] = results[ends[i]] */
#define DEFINE_PICK(bits)                                                                                              \
    static void pick_##bits(const uint##bits##_t *results, const uint32_t *ends, size_t count, char *to) {             \
        for (size_t i = 0; i < count; i++)                                                                             \
            memcpy(to + i * (bits / 8), &results[ends[i]], bits / 8);                                                  \
    }
DEFINE_PICK(16)
DEFINE_PICK(32)
DEFINE_PICK(64)

static void pick(const void *results, const uint32_t *ends, size_t count, size_t bytes, void *to) {
    if (bytes == 2)
        pick_16(results, ends, count, to);
    else if (bytes == 4)
        pick_32(results, ends, count, to);
    else
        pick_64(results, ends, count, to);
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
    if (scans_results(plan))
        scan_results_to_ends(plan, x, offsets, count, out);
    else
        give_differences(plan, x, y, offsets, count, lengths, out);
}
