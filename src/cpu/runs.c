/* Stretches of groups: fold the carried value, reduce, scan. */
#include "cpu/runs.h"

#include <string.h>

#include "core/arithmetic.h"
#include "cpu/offsets.h"
#include "cpu/scan.h"
#include "cpu/scratch.h"

static uint64_t boundary(const tally_stretch *s, uint64_t k) {
    if (s->heads)
        return s->heads[k] + s->heads_base;
    uint64_t number;
    tally_cpu_read_offsets(s->offsets, s->offsets_type, s->first_offset + k, 1, &number);
    return number;
}

/* Boundaries first .. first + count - 1: the caller's offsets themselves if they can be read as they are, else a copy
 * of them in 'room'. */
static const uint64_t *read_boundaries(const tally_stretch *s, uint64_t first, size_t count, uint64_t *room) {
    if (s->heads) {
        for (size_t k = 0; k < count; k++)
            room[k] = s->heads[first + k] + s->heads_base;
        return room;
    }
    return tally_cpu_see_offsets(s->offsets, s->offsets_type, s->first_offset + first, count, room);
}

/* Whether the operator's lower uses the number of elements. */
static bool needs_lengths(const tally_cpu_plan *plan) {
    const tally_operator *entry = plan->base.computation.entry;
    return !entry || tally_lowers_by_count(entry);
}

static const void *input(const tally_runs *r, const void *base, uint64_t element) {
    return tally_at(base, element, r->plan->base.computation.in_bytes);
}

static void *output(const tally_runs *r, uint64_t result) {
    const tally_computation *c = &r->plan->base.computation;
    return tally_at_mutable(r->out, result, c->out_bytes * c->per_result);
}

size_t tally_stretch_bytes(const tally_cpu_plan *plan) {
    return tally_cpu_run_bytes(plan);
}

void tally_runs_emit(const tally_runs *r, uint64_t result, uint64_t count, const uint64_t *lengths, const void *acc) {
    r->plan->lower(r->plan, acc, count, (tally_counts){lengths, 0, 0}, output(r, result));
}

void tally_stretch_fold(const tally_runs *r, const tally_stretch *s, unsigned worker, void *own) {
    uint64_t from = s->begin, to = s->end, start = s->group_start;
    if (s->boundaries) {
        if (r->plan->base.computation.reverse)
            to = boundary(s, 0);
        else
            start = from = boundary(s, s->boundaries - 1);
    }
    r->plan->kernels->identity(&r->plan->context, 1, own);
    tally_cpu_fold_run(r->plan, input(r, r->x, from), input(r, r->y, from), to - from, from - start, worker, own);
}

void tally_stretch_hand_on(const tally_runs *r, const tally_stretch *s, const void *own, void *carry) {
    if (s->boundaries)
        tally_cpu_start(r->plan, r->initial, carry);
    r->plan->kernels->combine(&r->plan->context, 1, own, carry);
}

void tally_stretch_first(const tally_runs *r, const tally_stretch *s, void *first) {
    const tally_cpu_kernels *kernels = r->plan->kernels;
    kernels->identity(&r->plan->context, 1, first);
    if (s->boundaries)
        kernels->fold(&r->plan->context, input(r, r->x, s->begin), input(r, r->y, s->begin), boundary(s, 0) - s->begin,
                      s->begin - s->group_start, first);
}

void tally_stretch_inner(const tally_runs *r, const tally_stretch *s, unsigned worker) {
    const tally_cpu_kernels *kernels = r->plan->kernels;
    void *acc = tally_cpu_worker(r->plan, worker);
    uint64_t room[TALLY_CPU_BATCH + 1], lengths[TALLY_CPU_BATCH];
    const uint64_t *each = needs_lengths(r->plan) ? lengths : NULL;
    for (uint64_t done = 1; done < s->boundaries;) {
        size_t batch = least(s->boundaries - done, TALLY_CPU_BATCH);
        const uint64_t *numbers = read_boundaries(s, done - 1, batch + 1, room);
        for (size_t i = 0; each && i < batch; i++)
            lengths[i] = numbers[i + 1] - numbers[i];
        kernels->fold_segments(&r->plan->context, r->x, r->y, numbers, batch, acc);
        tally_runs_emit(r, s->first_result + done, batch, each, acc);
        done += batch;
    }
}

void tally_stretch_reduce(const tally_runs *r, const tally_stretch *s, unsigned worker, void *carry) {
    if (s->boundaries == 0)
        return;
    _Alignas(64) unsigned char first[TALLY_CPU_ACC_MOST];
    uint64_t length = boundary(s, 0) - s->group_start;
    tally_stretch_first(r, s, first);
    r->plan->kernels->combine(&r->plan->context, 1, first, carry);
    tally_runs_emit(r, s->first_result, 1, &length, carry);
    tally_stretch_inner(r, s, worker);
}

/* Piece k of the stretch; *acc is the value before it in the direction of the scan. */
static void scan_piece(const tally_runs *r, const tally_stretch *s, uint64_t k, unsigned worker, void *acc) {
    uint64_t from = k ? boundary(s, k - 1) : s->begin, to = k < s->boundaries ? boundary(s, k) : s->end;
    uint64_t start = k ? from : s->group_start, end = k < s->boundaries ? to : s->group_end;
    if (from < to)
        tally_cpu_scan_run(r->plan, input(r, r->x, from), input(r, r->y, from), to - from, from - start, end - start,
                           r->stream, worker, acc, output(r, from));
}

void tally_stretch_scan(const tally_runs *r, const tally_stretch *s, unsigned worker, void *carry) {
    bool reverse = r->plan->base.computation.reverse;
    for (uint64_t i = 0; i <= s->boundaries; i++) {
        if (i > 0)
            tally_cpu_start(r->plan, r->initial, carry);
        scan_piece(r, s, reverse ? s->boundaries - i : i, worker, carry);
    }
}
