#include "cpu/scan_run.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/exact.h"
#include "cpu/lifted.h"
#include "cpu/logsumexp_running.h"
#include "cpu/lower.h"
#include "cpu/scratch.h"
#include "cpu/spread.h"
#include "cpu/text/kernels.h"
#include "cpu/text/scan.h"

size_t tally_cpu_run_bytes(const tally_cpu_plan *plan) {
    const size_t of_blocks = plan->lifted.scan    ? sizeof(tally_cpu_lifted_block)
                             : plan->context.text ? sizeof(tally_text_groups)
                                                  : 0;
    return most(most(TALLY_CPU_BATCH * plan->acc_bytes, of_blocks), tally_cpu_spread_bytes(plan));
}

/* Scans that are not direct take 0.3 to 2 ns an element, so threads share those whose input fits one cache, too. A task
 * takes at least some 3 us, of which the meeting of two threads is a third. Direct ones, and those of truth values
 * (0.05 ns), are shared from SHARED_BYTES of input on. */
enum { LEAST_LIFTED = 8 * 1024, LEAST_ONE_BY_ONE = 2 * 1024, SHARED_AMONG = 16, SHARED_BYTES = 192 * 1024 };

uint64_t tally_cpu_scan_task(const tally_cpu_plan *plan, uint64_t elements, uint64_t most_elements) {
    const tally_computation *c = &plan->base.computation;
    const bool is_fast = plan->direct || plan->lifted.truths || plan->lifted.by_order;
    uint64_t tasks = elements / (plan->lifted.scan ? LEAST_LIFTED : LEAST_ONE_BY_ONE);
    if (is_fast && elements * c->in_bytes >= SHARED_BYTES)
        return least(divide_up(elements, round_up(divide_up(elements, most_elements), 2)), most_elements);
    if (is_fast || c->exact || c->monoid == TALLY_MONOID_user || tasks < 2)
        return most_elements;
    /* an even number: of three tasks, one of two threads would do two */
    return least(divide_up(elements, round_up(least(tasks, SHARED_AMONG), 2)), most_elements);
}

void tally_cpu_start(const tally_cpu_plan *plan, const void *initial, void *acc) {
    if (initial)
        tally_cpu_raise(plan, initial, acc);
    else
        plan->kernels->identity(&plan->context, 1, acc);
}

static void scan_batch(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                       uint64_t length, unsigned worker, void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN;
    void *prefixes = tally_cpu_worker(plan, worker);
    plan->kernels->prefixes(&plan->context, x, y, n, index, c->reverse, exclusive, acc, prefixes);
    uint64_t first = c->reverse ? length - index - exclusive : index + !exclusive;
    plan->lower(plan, prefixes, n, (tally_counts){NULL, first, c->reverse ? -1 : 1}, out);
}

/* The threads take the chunks of a long scan in turn, so a thread's next chunk is as many chunks further on as there
 * are threads. It is prefetched while this one is written. */
static tally_cpu_scan_options scan_options_of(const tally_cpu_plan *plan, uint64_t n, bool stream) {
    const tally_computation *c = &plan->base.computation;
    const ptrdiff_t next = (ptrdiff_t)plan->device->threads * TALLY_CPU_SCAN_BYTES;
    const bool is_chunk = n * c->in_bytes >= TALLY_CPU_SCAN_BYTES && !plan->staging_bytes;
    return (tally_cpu_scan_options){.reverse = c->reverse,
                                    .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN,
                                    .stream = stream,
                                    .ahead = !is_chunk    ? 0
                                             : c->reverse ? -next
                                                          : next};
}

void tally_cpu_scan_run(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                        uint64_t length, bool stream, unsigned worker, void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    stream = stream && n >= TALLY_CPU_LEAST_STREAMED;
    if (c->exact) {
        tally_cpu_exact_scan(plan, x, n, scan_options_of(plan, n, stream), acc, out);
        return;
    }
    if (plan->direct) {
        plan->direct->scan(x, n, scan_options_of(plan, n, stream), acc, out);
        return;
    }
    if (plan->lifted.scan) {
        tally_cpu_lifted_scan(plan, x, y, n, index, length, stream, worker, acc, out);
        return;
    }
    if (plan->context.text) {
        tally_cpu_text_scan(plan, x, n, index, length, acc, out);
        return;
    }
    if (tally_cpu_scans_logsumexp(plan)) {
        tally_cpu_logsumexp_scan(plan, x, n, acc, out);
        return;
    }
    if (tally_cpu_scans_spread(plan)) {
        tally_cpu_spread_scan(plan, x, n, index, length, worker, acc, out);
        return;
    }
    for (uint64_t done = 0; done < n;) {
        uint64_t batch = least(n - done, TALLY_CPU_BATCH);
        uint64_t first = c->reverse ? n - done - batch : done;
        scan_batch(plan, tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), batch, index + first, length,
                   worker, acc, tally_at_mutable(out, first, c->out_bytes * c->per_result));
        done += batch;
    }
}

/* ---- values that elements hardly ever change: the smallest one, say ---- */

enum { SETTLED_ACC = 16 /* bytes that such an operator's accumulator has at most */ };

bool tally_cpu_may_settle(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    if (c->exact || plan->context.nans || plan->acc_bytes > SETTLED_ACC)
        return false;
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_VALUES:
    case TALLY_CLASS_MAGNITUDE:
    case TALLY_CLASS_INDEXED:
        return true;
    case TALLY_CLASS_BITS:
        return c->monoid != TALLY_MONOID_bxor;
    case TALLY_CLASS_COUNT:
        return c->desc.op == TALLY_ANY || c->desc.op == TALLY_ALL;
    default:
        return false;
    }
}

bool tally_cpu_is_settled(const tally_cpu_plan *plan, const void *before, uint64_t elements, const void *after,
                          uint64_t n) {
    if (tally_class_of(plan->base.computation.monoid) != TALLY_CLASS_COUNT)
        return memcmp(before, after, plan->acc_bytes) == 0;
    uint64_t had, has;
    memcpy(&had, before, sizeof had);
    memcpy(&has, after, sizeof has);
    return plan->base.computation.desc.op == TALLY_ANY ? had > 0 || has == 0 : had < elements || has == elements + n;
}

void tally_cpu_fold_run(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                        unsigned worker, void *acc) {
    const tally_computation *c = &plan->base.computation;
    if (!c->reverse || c->monoid != TALLY_MONOID_user) {
        plan->kernels->fold(&plan->context, x, y, n, index, acc);
        return;
    }
    if (plan->context.text) {
        tally_cpu_text_fold_reverse(plan, x, n, index, acc);
        return;
    }
    for (uint64_t done = 0; done < n;) { /* a user's monoid need not commute */
        uint64_t batch = least(n - done, TALLY_CPU_BATCH), first = n - done - batch;
        plan->kernels->prefixes(&plan->context, tally_at(x, first, c->in_bytes), NULL, batch, index + first, true,
                                false, acc, tally_cpu_worker(plan, worker));
        done += batch;
    }
}
