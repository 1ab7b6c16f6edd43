#include "cpu/logsumexp_groups.h"

#include "cpu/components.h"
#include "cpu/spread.h"

bool tally_cpu_scans_logsumexp_groups(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return c->monoid == TALLY_MONOID_logsumexp && tally_is_scan(c) && !c->exact && !plan->states && !plan->context.nans;
}

void tally_cpu_logsumexp_groups(const tally_cpu_plan *plan, const void *x, const int8_t *heads, uint64_t n, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_scans *const scans = plan->device->scans;
    const tally_cpu_scan_options how = {.reverse = c->reverse, .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN};
    _Alignas(64) double doubles[TALLY_CPU_SPREAD_BLOCK], acc[2 * TALLY_CPU_SPREAD_BLOCK];
    _Alignas(64) uint64_t numbers[TALLY_CPU_SPREAD_BLOCK];
    tally_cpu_convert_numbers(plan, c->desc.in, TALLY_F64, x, n, doubles);
    scans->number(heads, n, false, 1, 0, numbers);
    scans->logsumexp_of_groups(doubles, numbers, n, how, c->out_bytes < sizeof(double), acc);
    plan->lower(plan, acc, n, (tally_counts){NULL, 1, 0}, out);
}
