#include "cpu/logsumexp_groups.h"

#include "core/arithmetic.h"
#include "cpu/components.h"
#include "cpu/spread.h"

enum { PADDING = 8 /* elements of a vector, at most */, BLOCK = TALLY_CPU_SPREAD_BLOCK + PADDING };

bool tally_cpu_scans_logsumexp_groups(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return c->monoid == TALLY_MONOID_logsumexp && tally_is_scan(c) && !c->exact && !plan->states && !plan->context.nans;
}

void tally_cpu_logsumexp_groups(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_scans *const scans = plan->device->scans;
    const tally_cpu_scan_options how = {.reverse = c->reverse, .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN};
    /* Groups of one element fill the last vector up: behind the others, where the scan ends. */
    const uint64_t whole = round_up(n, PADDING), padding = whole - n, at = c->reverse ? padding : 0;
    _Alignas(64) double doubles[BLOCK], acc[2 * BLOCK];
    _Alignas(64) uint64_t numbers[BLOCK];
    tally_cpu_convert_numbers(plan, c->desc.in, TALLY_F64, x, n, doubles + at);
    scans->number(heads, n, false, 1, 0, numbers);
    for (uint64_t i = 0; i < padding; i++) {
        doubles[c->reverse ? i : n + i] = doubles[at];
        numbers[n + i] = 1;
    }
    scans->logsumexp_of_groups(doubles, numbers, whole, how, c->out_bytes < sizeof(double), acc);
    plan->lower(plan, acc + 2 * at, n, (tally_counts){NULL, 1, 0}, out);
}
