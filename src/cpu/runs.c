/* Stretches of groups: fold the carried value, reduce, scan. */
#include "cpu/runs.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/equal_groups.h"
#include "cpu/group_ends.h"
#include "cpu/group_trees.h"
#include "cpu/lifted.h"
#include "cpu/logsumexp_running.h"
#include "cpu/lower.h"
#include "cpu/offsets.h"
#include "cpu/running.h"
#include "cpu/scan_run.h"
#include "cpu/skipping.h"
#include "cpu/text/program.h"
#include "cpu/text/scan.h"
#include "cpu/scratch.h"
#include "cpu/short_groups.h"
#include "cpu/spread.h"

uint64_t tally_stretch_boundary(const tally_stretch *s, uint64_t k) {
    if (s->heads)
        return s->heads[s->marks ? k > 0 : k] + s->heads_base;
    uint64_t number;
    tally_cpu_read_offsets(s->offsets, s->offsets_type, s->first_offset + k, 1, &number);
    return number;
}

/* Boundaries first .. first + count - 1: the caller's offsets themselves if they can be read as they are, else a copy
 * of them in 'room'. */
static const uint64_t *read_boundaries(const tally_cpu_level *level, const tally_stretch *s, uint64_t first,
                                       size_t count, uint64_t *room) {
    if (!s->heads)
        return tally_cpu_see_offsets(level, s->offsets, s->offsets_type, s->first_offset + first, count, room);
    for (size_t k = 0; k < count; k++)
        room[k] = s->heads[first + k] + s->heads_base;
    return room;
}

static const void *element_at(const tally_runs *r, const void *base, uint64_t element) {
    return tally_at(base, element, r->plan->base.computation.in_bytes);
}

static void *result_at(const tally_runs *r, uint64_t result) {
    const tally_computation *c = &r->plan->base.computation;
    return tally_at_mutable(r->out, result, c->out_bytes * c->per_result);
}

tally_runs tally_runs_staged(const tally_runs *r, uint64_t begin, uint64_t end, unsigned worker) {
    tally_runs copied = *r;
    if (!r->plan->staging_bytes || begin >= end)
        return copied;
    const size_t bytes = r->plan->base.computation.in_bytes;
    const void *x = element_at(r, r->x, begin), *y = element_at(r, r->y, begin);
    tally_cpu_stage(r->plan, worker, &x, &y, end - begin);
    copied.x = (const char *)x - begin * bytes;
    copied.y = y ? (const char *)y - begin * bytes : NULL;
    return copied;
}

size_t tally_stretch_bytes(const tally_cpu_plan *plan) {
    return tally_cpu_run_bytes(plan);
}

/* ---- short groups, many at a time ---- */

/* The boundaries of a stretch one after the other, in the direction of the scan. */
typedef struct boundaries {
    const tally_cpu_level *level;
    const tally_stretch *stretch;
    bool reverse;
    uint64_t next, end; /* numbers, in that direction */
    const uint64_t *read;
    size_t at, count; /* of what was read */
    uint64_t *room;   /* for a batch */
} boundaries;

static bool read_more(boundaries *b) {
    b->count = least(b->end - b->next, TALLY_CPU_BATCH);
    if (b->count == 0)
        return false;
    const uint64_t first = b->reverse ? b->stretch->boundaries - b->next - b->count : b->next;
    b->read = read_boundaries(b->level, b->stretch, first, b->count, b->room);
    b->next += b->count;
    b->at = 0;
    return true;
}

/* Marks the heads of four boundaries, less 'from'. A mark might be any byte, of the boundaries too: so these are read
 * first. (Zen 5, 0.75 cycles a boundary so, 1.15 one by one.) */
enum { MARKED_AT_ONCE = 4 };
static inline void mark_four(const uint64_t *next, uint64_t from, int8_t *heads) {
    const uint64_t a = next[0], b = next[1], c = next[2], d = next[3];
    heads[a - from] = -1;
    heads[b - from] = -1;
    heads[c - from] = -1;
    heads[d - from] = -1;
}

/* Marks the groups that begin, in the direction of the scan, among n elements from 'first' on; returns how many. */
static uint64_t mark_heads(boundaries *b, uint64_t first, uint64_t n, int8_t *heads) {
    enum { STEP = MARKED_AT_ONCE };
    uint64_t marked = 0;
    if (b->stretch->marks)
        return b->level->heads->spread(b->stretch->marks + (first - b->stretch->begin) / 64, n, heads);
    memset(heads, 0, n);
    while (b->at < b->count || read_more(b)) {
        /* copies, of *b too: 2 ns a group without them, for loads that wait for stores */
        const uint64_t *const read = b->read;
        const size_t count = b->count;
        size_t at = b->at;
        if (b->reverse) {
            for (; at + STEP <= count && read[count - at - STEP] > first; at += STEP)
                mark_four(read + count - at - STEP, first + 1, heads);
            for (; at < count && read[count - 1 - at] > first; at++)
                heads[read[count - 1 - at] - 1 - first] = -1;
        } else {
            for (; at + STEP <= count && read[at + STEP - 1] < first + n; at += STEP)
                mark_four(read + at, first, heads);
            for (; at < count && read[at] < first + n; at++)
                heads[read[at] - first] = -1;
        }
        marked += at - b->at;
        b->at = at;
        if (at < count)
            break;
    }
    return marked;
}

/* The number of each element in its group, from the front or the back. 'before' is that of the last block's last. */
static uint64_t number_elements(const tally_cpu_plan *plan, const int8_t *heads, uint64_t n, bool reverse,
                                bool exclusive, uint64_t before, uint64_t *counts) {
    return plan->device->scans->number(heads, n, reverse, !exclusive, before, counts);
}

static bool are_shorter(const tally_stretch *s, uint64_t length) {
    return s->boundaries > (s->end - s->begin) / length;
}
static bool are_short(const tally_stretch *s) {
    return are_shorter(s, TALLY_CPU_SHORT_GROUP);
}

static void scan_short_groups(const tally_runs *r, const tally_stretch *s, unsigned worker, const void *carry) {
    const tally_cpu_plan *plan = r->plan;
    const tally_computation *c = &plan->base.computation;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN;
    tally_cpu_lifted_block *block = tally_cpu_worker(plan, worker);
    uint64_t room[TALLY_CPU_BATCH];
    boundaries b = {
        .level = r->plan->device->level, .stretch = s, .reverse = c->reverse, .end = s->boundaries, .room = room};
    const uint64_t n = s->end - s->begin;
    const bool places = plan->lifted.parts == TALLY_CPU_PLACE;
    const bool to_results = plan->lifted.as_they_are || tally_cpu_writes_results(plan);
    const bool gives_places = places && c->desc.out == TALLY_I64;
    const bool may_call = !tally_cpu_has_masks(plan) || tally_stretch_may_be_foreseen(plan, s);
    uint64_t number = c->reverse ? s->group_end - s->end : s->begin - s->group_start;
    tally_cpu_carry start, value;
    tally_cpu_start(plan, r->initial, block->narrow);
    tally_cpu_split(plan, block->narrow, 1, 0, plan->lifted.carry, &start.first, &start.second);
    tally_cpu_split(plan, carry, 1, number, plan->lifted.carry, &value.first, &value.second);
    for (uint64_t done = 0, count; done < n; done += count) {
        count = least(n - done, TALLY_CPU_LIFTED_BLOCK);
        const uint64_t first = s->begin + (c->reverse ? n - done - count : done);
        void *to = to_results ? result_at(r, first) : tally_at_mutable(block->scanned, 1, plan->lifted.bytes);
        const uint64_t marked = mark_heads(&b, first, count, block->heads), groups = may_call ? marked : count;
        void *second = gives_places ? result_at(r, first) : block->second;
        tally_cpu_lifted_groups(plan, element_at(r, r->x, first), element_at(r, r->y, first), count, groups, block,
                                &start, &value, &number, to, second);
        if (to_results || gives_places)
            continue;
        if (tally_cpu_lowers_by_count(plan))
            number = number_elements(plan, block->heads, count, c->reverse, exclusive, number, block->counts);
        tally_cpu_lower_prefixes(plan, to, second, count, (tally_counts){block->counts, 0, 0}, result_at(r, first));
    }
}

/* A user's texts, the same. From the back the place in a group is not known before its beginning. */
static bool scans_text_groups(const tally_cpu_plan *plan, const tally_stretch *s) {
    const bool from_the_back =
        plan->base.computation.reverse && plan->context.text && plan->context.text->take.uses_index;
    return plan->context.text && !from_the_back && are_short(s);
}

static void scan_text_groups(const tally_runs *r, const tally_stretch *s, unsigned worker, void *acc) {
    const tally_cpu_plan *plan = r->plan;
    const tally_computation *c = &plan->base.computation;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN;
    tally_text_groups *groups = tally_cpu_worker(plan, worker);
    uint64_t room[TALLY_CPU_BATCH];
    boundaries b = {
        .level = r->plan->device->level, .stretch = s, .reverse = c->reverse, .end = s->boundaries, .room = room};
    const uint64_t n = s->end - s->begin;
    uint64_t number = c->reverse ? s->group_end - s->end : s->begin - s->group_start;
    for (uint64_t done = 0, count; done < n; done += count) {
        count = least(n - done, TALLY_TEXT_GROUPED);
        const uint64_t first = s->begin + (c->reverse ? n - done - count : done), before = number;
        mark_heads(&b, first, count, groups->heads);
        if (plan->context.text->take.uses_index)
            number = number_elements(plan, groups->heads, count, false, true, before, groups->indices);
        if (plan->context.text->lower.uses_count)
            number = number_elements(plan, groups->heads, count, c->reverse, exclusive, before, groups->counts);
        tally_cpu_text_scan_groups(plan, element_at(r, r->x, first), count, groups, acc, result_at(r, first));
    }
}

void tally_runs_emit(const tally_runs *r, uint64_t result, uint64_t count, const uint64_t *lengths, const void *acc) {
    r->plan->lower(r->plan, acc, count, (tally_counts){lengths, 0, 0}, result_at(r, result));
}

void tally_stretch_fold(const tally_runs *r, const tally_stretch *s, unsigned worker, void *own) {
    uint64_t from = s->begin, to = s->end, start = s->group_start;
    if (s->boundaries) {
        if (r->plan->base.computation.reverse)
            to = tally_stretch_boundary(s, 0);
        else
            start = from = tally_stretch_boundary(s, s->boundaries - 1);
    }
    r->plan->kernels->identity(&r->plan->context, 1, own);
    tally_cpu_fold_run(r->plan, element_at(r, r->x, from), element_at(r, r->y, from), to - from, from - start, worker,
                       own);
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
        kernels->fold(&r->plan->context, element_at(r, r->x, s->begin), element_at(r, r->y, s->begin),
                      tally_stretch_boundary(s, 0) - s->begin, s->begin - s->group_start, first);
}

/* Fewer groups of one length are taken as any others. */
enum { LEAST_EQUAL = 8 };

/* How much the first groups differ in length that begin and end in the stretch. To ask all of them takes 0.05 ns an
 * element in groups of 3. Of 32 groups of power-law lengths, every fifth time none is much longer than the others. */
static tally_cpu_spread_of_lengths spread_of_first(const tally_cpu_plan *plan, const tally_stretch *s) {
    enum { SAMPLED = 128 };
    uint64_t room[SAMPLED + 1];
    const size_t count = least(s->boundaries - 1, SAMPLED);
    if (count < LEAST_EQUAL || !are_shorter(s, TALLY_CPU_LONGEST_SHORT))
        return TALLY_CPU_EVEN;
    return tally_cpu_spread_of(read_boundaries(plan->device->level, s, 0, count + 1, room), count);
}

/* The same as tally_stretch_may_be_foreseen, of folds. (Products of f32 in 8333 groups take 0.18 ns an element, as in
 * fewer.) */
static bool may_be_foreseen(const tally_stretch *s) {
    enum { LEARNT = 8192 };
    return s->boundaries * s->all <= LEARNT * (s->end - s->begin);
}

void tally_stretch_inner(const tally_runs *r, const tally_stretch *s, unsigned worker) {
    const tally_cpu_kernels *kernels = r->plan->kernels;
    void *acc = tally_cpu_worker(r->plan, worker);
    uint64_t room[TALLY_CPU_BATCH + 1], lengths[TALLY_CPU_BATCH];
    const uint64_t *each = tally_cpu_lowers_by_count(r->plan) ? lengths : NULL;
    const bool may_be_equal = tally_cpu_may_fold_equal(r->plan);
    const tally_cpu_spread_of_lengths spread = spread_of_first(r->plan, s);
    const bool may_be_short = are_short(s);
    const uint64_t elements = s->end - s->begin, groups = s->boundaries - 1;
    const bool by_trees = may_be_short && tally_cpu_folds_by_trees(r->plan, elements, groups, may_be_foreseen(s));
    const bool upright = may_be_short && tally_cpu_stands_groups(r->plan, elements, groups, spread);
    /* groups of one length are rows and, if they are summed, trees are as fast as scans */
    const bool by_scan =
        may_be_short && spread != TALLY_CPU_EQUAL && tally_cpu_scans_to_ends(r->plan, elements, groups, spread);
    for (uint64_t done = 1; done < s->boundaries;) {
        size_t batch = least(s->boundaries - done, TALLY_CPU_BATCH);
        const uint64_t *numbers = read_boundaries(r->plan->device->level, s, done - 1, batch + 1, room);
        for (size_t i = 0; each && i < batch; i++)
            lengths[i] = numbers[i + 1] - numbers[i];
        const uint64_t length =
            may_be_equal && batch >= LEAST_EQUAL ? tally_cpu_equal_length(r->plan, numbers, batch) : 0;
        if (by_trees && !tally_cpu_folds_equal(r->plan, length)) {
            tally_cpu_fold_by_trees(r->plan, r->x, r->y, numbers, batch, each, result_at(r, s->first_result + done));
            done += batch;
            continue;
        }
        if (by_scan && length == 0) {
            tally_cpu_scan_to_ends(r->plan, r->x, r->y, numbers, batch, each, result_at(r, s->first_result + done));
            done += batch;
            continue;
        }
        if (tally_cpu_folds_equal(r->plan, length))
            tally_cpu_fold_equal(r->plan, element_at(r, r->x, numbers[0]), element_at(r, r->y, numbers[0]), batch,
                                 length, acc);
        else if (upright)
            tally_cpu_fold_short_groups(r->plan, r->x, r->y, s->end, numbers, batch, acc);
        else
            kernels->fold_segments(&r->plan->context, r->x, r->y, numbers, batch, acc);
        tally_runs_emit(r, s->first_result + done, batch, each, acc);
        done += batch;
    }
}

void tally_stretch_reduce(const tally_runs *r, const tally_stretch *s, unsigned worker, void *carry) {
    if (s->boundaries == 0)
        return;
    _Alignas(64) unsigned char first[TALLY_CPU_ACC_MOST];
    uint64_t length = tally_stretch_boundary(s, 0) - s->group_start;
    tally_stretch_first(r, s, first);
    r->plan->kernels->combine(&r->plan->context, 1, first, carry);
    tally_runs_emit(r, s->first_result, 1, &length, carry);
    tally_stretch_inner(r, s, worker);
}

/* Prefixes of short groups, of accumulators that are not a number: their results are lowered many groups at a time. */
typedef struct prefixes {
    const tally_runs *runs;
    char *acc; /* of 'count' elements */
    uint64_t lengths[TALLY_CPU_BATCH];
    uint64_t first; /* element; in a reverse scan, the one behind the last */
    size_t count;
} prefixes;

static void lower_prefixes(prefixes *p) {
    const tally_cpu_plan *plan = p->runs->plan;
    const bool reverse = plan->base.computation.reverse;
    const size_t from = reverse ? TALLY_CPU_BATCH - p->count : 0;
    if (reverse)
        p->first -= p->count;
    plan->lower(plan, tally_at(p->acc, from, plan->acc_bytes), p->count, (tally_counts){p->lengths + from, 0, 0},
                result_at(p->runs, p->first));
    if (!reverse)
        p->first += p->count;
    p->count = 0;
}

/* Elements from .. to - 1, of which the first in the direction of the scan is number 'number' of its group. */
static void add_prefixes(prefixes *p, uint64_t from, uint64_t to, uint64_t index, uint64_t number, void *acc) {
    const tally_runs *r = p->runs;
    const tally_cpu_plan *plan = r->plan;
    const tally_computation *c = &plan->base.computation;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN;
    while (from < to) {
        const size_t count = least(to - from, TALLY_CPU_BATCH - p->count);
        const uint64_t first = c->reverse ? to - count : from;
        const size_t place = c->reverse ? TALLY_CPU_BATCH - p->count - count : p->count;
        plan->kernels->prefixes(&plan->context, element_at(r, r->x, first), element_at(r, r->y, first), count,
                                index + first - from, c->reverse, exclusive, acc,
                                tally_at_mutable(p->acc, place, plan->acc_bytes));
        for (size_t k = 0; k < count; k++)
            p->lengths[place + (c->reverse ? count - 1 - k : k)] = number + k + !exclusive;
        number += count;
        if (c->reverse) {
            to -= count;
        } else {
            from += count;
            index += count;
        }
        if ((p->count += count) == TALLY_CPU_BATCH)
            lower_prefixes(p);
    }
}

static void scan_short_prefixes(const tally_runs *r, const tally_stretch *s, unsigned worker, void *acc) {
    const tally_cpu_plan *plan = r->plan;
    const bool reverse = plan->base.computation.reverse;
    prefixes p = {.runs = r, .acc = tally_cpu_worker(plan, worker), .first = reverse ? s->end : s->begin};
    uint64_t room[TALLY_CPU_BATCH];
    boundaries b = {
        .level = r->plan->device->level, .stretch = s, .reverse = reverse, .end = s->boundaries, .room = room};
    _Alignas(64) unsigned char start[TALLY_CPU_ACC_MOST];
    tally_cpu_start(plan, r->initial, start);
    uint64_t at = p.first, number = reverse ? s->group_end - s->end : s->begin - s->group_start;
    for (uint64_t k = 0; k <= s->boundaries; k++) {
        if (b.at == b.count && k < s->boundaries)
            read_more(&b);
        const uint64_t last = reverse ? s->begin : s->end;
        const uint64_t end = k == s->boundaries ? last : b.read[reverse ? b.count - 1 - b.at : b.at];
        if (reverse)
            add_prefixes(&p, end, at, end - (k == s->boundaries ? s->group_start : end), number, acc);
        else
            add_prefixes(&p, at, end, number, number, acc);
        b.at++;
        at = end;
        number = 0;
        if (k < s->boundaries)
            memcpy(acc, start, plan->acc_bytes);
    }
    if (p.count)
        lower_prefixes(&p);
}

/* Piece k of the stretch; *acc is the value before it in the direction of the scan. */
static void scan_piece(const tally_runs *r, const tally_stretch *s, uint64_t k, unsigned worker, void *acc) {
    uint64_t from = k ? tally_stretch_boundary(s, k - 1) : s->begin,
             to = k < s->boundaries ? tally_stretch_boundary(s, k) : s->end;
    uint64_t start = k ? from : s->group_start, end = k < s->boundaries ? to : s->group_end;
    if (from < to)
        tally_cpu_scan_run(r->plan, element_at(r, r->x, from), element_at(r, r->y, from), to - from, from - start,
                           end - start, r->stream, worker, acc, result_at(r, from));
}

/* Variances, means and logsumexp: whole groups are gathered until they fill a block. Long ones are scanned alone, and
 * so is the one that is open before the stretch. */
enum { MOST_GATHERED = 1024 };

/* Most pieces are gathered so many at a time, if they have no more elements together than one may have. (Zen 5, std of
 * u8 in segments of 1.4: 1.68 ns an element one by one, 1.20 so.) */
enum { TOGETHER = 16 };
static inline void mark_pieces(const uint64_t *ends, uint64_t at, bool reverse, int8_t *heads) {
    for (size_t i = 0; i < TOGETHER; i += MARKED_AT_ONCE) {
        const uint64_t a = ends[i] - at, b = ends[i + 1] - at, c = ends[i + 2] - at, d = ends[i + 3] - at;
        heads[reverse ? 0 - a : a] = -1;
        heads[reverse ? 0 - b : b] = -1;
        heads[reverse ? 0 - c : c] = -1;
        heads[reverse ? 0 - d : d] = -1;
    }
}

typedef struct gathered {
    const tally_runs *runs;
    bool reverse;
    unsigned worker;
    /* of the block's elements from where the scan begins, and one more for an empty group at the end */
    int8_t heads[TALLY_CPU_GROUPS_BLOCK + 1];
} gathered;

/* 'count' elements that end at 'at' in the direction of the scan. */
static void scan_gathered(gathered *g, uint64_t at, uint64_t count) {
    const tally_runs *r = g->runs;
    const uint64_t first = g->reverse ? at : at - count;
    if (count && !tally_cpu_scans_logsumexp(r->plan))
        tally_cpu_spread_groups(r->plan, element_at(r, r->x, first), g->heads, count, g->worker, result_at(r, first));
    else if (count)
        tally_cpu_logsumexp_groups(r->plan, element_at(r, r->x, first), g->heads, count, result_at(r, first));
    memset(g->heads, 0, round_up(count, TALLY_CPU_RUNNING_SLACK) + 1); /* those behind are set, too */
}

static void scan_groups_gathered(const tally_runs *r, const tally_stretch *s, unsigned worker, void *acc) {
    const bool reverse = r->plan->base.computation.reverse;
    uint64_t room[TALLY_CPU_BATCH];
    boundaries b = {
        .level = r->plan->device->level, .stretch = s, .reverse = reverse, .end = s->boundaries, .room = room};
    gathered g;
    const uint64_t most_elements = tally_cpu_scans_logsumexp(r->plan) ? TALLY_CPU_SPREAD_BLOCK : TALLY_CPU_GROUPS_BLOCK;
    g.runs = r;
    g.reverse = reverse;
    g.worker = worker;
    memset(g.heads, 0, least(s->end - s->begin, most_elements) + 1);
    uint64_t at = reverse ? s->end : s->begin, count = 0;
    for (uint64_t k = 0; k <= s->boundaries;) {
        /* pieces k .. , which end at the boundaries that are read; the last one ends where the stretch does */
        const bool some = b.at < b.count || read_more(&b);
        const uint64_t last = reverse ? s->begin : s->end, *const read = some ? b.read : &last;
        const size_t pieces = some ? b.count : 1;
        b.at = b.count;
        for (size_t i = 0; i < pieces; i++, k++) {
            if (k > 0 && i + TOGETHER <= pieces) {
                const uint64_t *const ends = read + (reverse ? pieces - TOGETHER - i : i);
                const uint64_t to = ends[reverse ? 0 : TOGETHER - 1], all = reverse ? at - to : to - at;
                if (all <= MOST_GATHERED && count + all <= most_elements) {
                    g.heads[count] = -1;
                    mark_pieces(ends, at, reverse, g.heads + count);
                    count += all;
                    at = to;
                    i += TOGETHER - 1;
                    k += TOGETHER - 1;
                    continue;
                }
            }
            const uint64_t end = read[reverse ? pieces - 1 - i : i], n = reverse ? at - end : end - at;
            if (k > 0 && n <= MOST_GATHERED) {
                if (count + n > most_elements) {
                    scan_gathered(&g, at, count);
                    count = 0;
                }
                g.heads[count] = -1; /* of the next one, too, if this one is empty, as at random */
                count += n;
            } else {
                scan_gathered(&g, at, count);
                count = 0;
                if (k > 0)
                    tally_cpu_start(r->plan, r->initial, acc);
                scan_piece(r, s, reverse ? s->boundaries - k : k, worker, acc);
            }
            at = end;
        }
    }
    scan_gathered(&g, at, count);
}

/* The length of the groups that begin and end in the stretch, if there are several of one length; else 0. */
static uint64_t length_of_all(const tally_cpu_plan *plan, const tally_stretch *s) {
    uint64_t room[TALLY_CPU_BATCH + 1], length = 0;
    for (uint64_t done = 1; !s->marks && s->boundaries > LEAST_EQUAL && done < s->boundaries;) {
        const size_t batch = least(s->boundaries - done, TALLY_CPU_BATCH);
        const uint64_t own =
            tally_cpu_equal_length(plan, read_boundaries(plan->device->level, s, done - 1, batch + 1, room), batch);
        if (own == 0 || (done > 1 && own != length))
            return 0;
        length = own;
        done += batch;
    }
    return length;
}

static void scan_equal_groups(const tally_runs *r, const tally_stretch *s, uint64_t length, unsigned worker,
                              void *carry) {
    const bool reverse = r->plan->base.computation.reverse;
    const uint64_t first = tally_stretch_boundary(s, 0);
    _Alignas(64) unsigned char start[TALLY_CPU_ACC_MOST];
    scan_piece(r, s, reverse ? s->boundaries : 0, worker, carry);
    tally_cpu_start(r->plan, r->initial, start);
    tally_cpu_scan_equal(r->plan, element_at(r, r->x, first), element_at(r, r->y, first), s->boundaries - 1, length,
                         r->stream && length >= TALLY_CPU_SHORT_GROUP, worker, start, result_at(r, first));
    scan_piece(r, s, reverse ? 0 : s->boundaries, worker, start);
}

/* Groups one after the other, by scans from elements to results. A short one takes as long as what leads to its
 * call: 7.6 ns by scan_piece, 3 so. */
static void scan_directly(const tally_runs *r, const tally_stretch *s, unsigned worker, void *carry) {
    const tally_cpu_plan *plan = r->plan;
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_scan_options how = {.reverse = c->reverse, .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN};
    uint64_t room[TALLY_CPU_BATCH], start, at = c->reverse ? s->end : s->begin;
    boundaries b = {
        .level = r->plan->device->level, .stretch = s, .reverse = c->reverse, .end = s->boundaries, .room = room};
    void *acc = carry;
    tally_cpu_start(plan, r->initial, &start);
    for (uint64_t k = 0; k <= s->boundaries; k++) {
        uint64_t to = c->reverse ? s->begin : s->end;
        if (k < s->boundaries) {
            if (b.at == b.count)
                read_more(&b);
            to = b.read[c->reverse ? b.count - 1 - b.at : b.at];
            b.at++;
        }
        const uint64_t first = c->reverse ? to : at, n = c->reverse ? at - to : to - at;
        const void *const x = element_at(r, r->x, first);
        if (n >= TALLY_CPU_LEAST_STREAMED)
            tally_cpu_scan_run(plan, x, NULL, n, 0, n, r->stream, worker, acc, result_at(r, first));
        else if (n > 0)
            plan->direct->scan(x, n, how, acc, result_at(r, first));
        acc = &start;
        at = to;
    }
}

void tally_stretch_scan(const tally_runs *r, const tally_stretch *s, unsigned worker, void *carry) {
    const uint64_t length = length_of_all(r->plan, s);
    if (tally_cpu_scans_equal(r->plan, length)) {
        scan_equal_groups(r, s, length, worker, carry);
        return;
    }
    if (tally_stretch_takes_marks(r->plan, s)) {
        scan_short_groups(r, s, worker, carry);
        return;
    }
    if (scans_text_groups(r->plan, s)) {
        scan_text_groups(r, s, worker, carry);
        return;
    }
    if (tally_stretch_gathers(r->plan, s)) {
        scan_groups_gathered(r, s, worker, carry);
        return;
    }
    if (!r->plan->direct && !r->plan->base.computation.exact && are_short(s) && !tally_cpu_scans_spread(r->plan)) {
        scan_short_prefixes(r, s, worker, carry);
        return;
    }
    if (r->plan->direct && !r->plan->base.computation.exact) {
        scan_directly(r, s, worker, carry);
        return;
    }
    bool reverse = r->plan->base.computation.reverse;
    for (uint64_t i = 0; i <= s->boundaries; i++) {
        if (i > 0)
            tally_cpu_start(r->plan, r->initial, carry);
        scan_piece(r, s, reverse ? s->boundaries - i : i, worker, carry);
    }
}
