/* Segments and keys. Only a rank's first and its last group can reach over ranks. Their states travel in a record, so
 * that every rank sees how groups go on:
 *
 *     rank 0            rank 1         rank 2
 *     a a a b b b c |   c c c c c c |  c d d d e
 *
 * c is the tail of rank 0, the only group of rank 1, and the head of rank 2. Its parts are joined in rank order by an
 * accumulator. All other groups go through the ordinary plan.
 *
 * A record also has what an agreement compares, so the ranks agree by themselves only in a plan's first run, in which
 * the records could have different lengths. Segments are reduced before the records travel. So an error in them needs
 * no exchange of its own: on two GPUs each took 35 us. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"
#include "core/words_check.h"
#include "ranks/ranks.h"

/* A record. The states of the first and the last group follow; a rank's only group is the first. A state is there only
 * if its group may have elements on another rank. */
enum { AT_GROUPS = TALLY_RANK_SIGNATURE_WORDS, AT_FLAGS, AT_FIRST_KEY, AT_LAST_KEY, HEAD };
enum { NO_GROUPS, ONE_GROUP, MORE_GROUPS }; /* AT_GROUPS */

static bool has_keys(const tally_rank_plan *plan) {
    return plan->computation.desc.grouping == TALLY_KEYS;
}

static bool is_scan(const tally_rank_plan *plan) {
    return tally_is_scan(&plan->computation);
}

static size_t record_words(const tally_rank_plan *plan) {
    return HEAD + 2 * plan->info.count;
}

/* ---- plans ---- */

static tally_status make_accumulator(tally_rank_plan *plan) {
    tally_desc desc = plan->desc;
    desc.form = TALLY_REDUCE;
    desc.grouping = TALLY_ALL_VALUES;
    desc.index = TALLY_DEFAULT;
    desc.flags = 0;
    return tally_accumulator_create_for(&desc, &plan->joined);
}

tally_status tally_rank_groups_plans(tally_rank_plan *plan) {
    const tally_desc *d = &plan->computation.desc;
    const unsigned reverse = d->flags & TALLY_REVERSE, skip = d->flags & TALLY_SKIP_NAN;
    tally_status status = tally_rank_sub_plan(plan, d->grouping, d->form, d->flags, &plan->plain);
    if (status == TALLY_OK)
        status = tally_rank_sub_plan(plan, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_WORDS_OUT | skip, &plan->part);
    if (status == TALLY_OK && is_scan(plan))
        status = tally_rank_sub_plan(plan, TALLY_ALL_VALUES, d->form, reverse, &plan->scan);
    return status == TALLY_OK ? make_accumulator(plan) : status;
}

/* ---- this rank's record ---- */

enum { KEYS_AT_ONCE = 512 };

/* How many keys at one end are equal; the first ones, or the last ones. Reads few of them. */
static tally_status equal_keys(const tally_rank_plan *plan, bool last, int64_t *key, uint64_t *count) {
    const size_t bytes = plan->computation.index_bytes;
    const uint64_t n = plan->args->shape.extent;
    unsigned char keys[KEYS_AT_ONCE * sizeof(int64_t)];
    *count = *key = 0;
    while (*count < n) {
        const uint64_t some = least(n - *count, KEYS_AT_ONCE), first = last ? n - *count - some : *count;
        const char *const from = (const char *)plan->args->keys + first * bytes;
        if (plan->in_host_memory)
            memcpy(keys, from, (size_t)some * bytes);
        else {
            const tally_status status = tally_copy(plan->device, keys, from, (size_t)some * bytes);
            if (status != TALLY_OK)
                return status;
        }
        if (*count == 0)
            memcpy(key, keys + (last ? some - 1 : 0) * bytes, bytes);
        for (uint64_t k = 0; k < some; k++, ++*count)
            if (memcmp(key, keys + (last ? some - 1 - k : k) * bytes, bytes) != 0)
                return TALLY_OK;
    }
    return TALLY_OK;
}

/* The state of a range of elements. */
static tally_status find_state(tally_rank_plan *plan, tally_rank_range range, size_t at) {
    const size_t bytes = plan->computation.in_bytes;
    const tally_args *a = plan->args;
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = range.n;
    args.x = a->x ? (const char *)a->x + range.first * bytes : NULL;
    args.y = a->y ? (const char *)a->y + range.first * bytes : NULL;
    args.out = plan->states.device + at;
    args.out_bytes = plan->info.count * sizeof(int64_t);
    return tally_run(plan->part, &args, TALLY_SYNCHRONOUS);
}

static const void *offset_at(const tally_rank_plan *plan, uint64_t i) {
    return (const char *)plan->args->offsets + i * plan->computation.index_bytes;
}

/* The elements of a segment; TALLY_BAD_OFFSETS if there is no such range. */
static tally_status read_segment(const tally_rank_plan *plan, uint64_t segment, tally_rank_range *range) {
    const size_t bytes = plan->computation.index_bytes;
    uint64_t wide[2];
    uint32_t narrow[2];
    const tally_status status =
        tally_copy(plan->device, bytes == sizeof *wide ? (void *)wide : narrow, offset_at(plan, segment), 2 * bytes);
    const uint64_t first = bytes == sizeof *wide ? wide[0] : narrow[0],
                   end = bytes == sizeof *wide ? wide[1] : narrow[1];
    *range = (tally_rank_range){first, end - first};
    return status != TALLY_OK ? status : first > end || end > plan->args->shape.extent ? TALLY_BAD_OFFSETS : TALLY_OK;
}

static tally_status find_ranges_of_keys(tally_rank_plan *plan, int64_t *record) {
    const uint64_t n = plan->args->shape.extent;
    uint64_t head, tail;
    tally_status status = equal_keys(plan, false, &record[AT_FIRST_KEY], &head);
    record[AT_LAST_KEY] = record[AT_FIRST_KEY];
    tail = head;
    if (status == TALLY_OK && head < n)
        status = equal_keys(plan, true, &record[AT_LAST_KEY], &tail);
    record[AT_GROUPS] = n == 0 ? NO_GROUPS : head == n ? ONE_GROUP : MORE_GROUPS;
    plan->head = (tally_rank_range){0, head};
    plan->tail = (tally_rank_range){n - tail, tail};
    return status;
}

/* Offsets were refused in a part of the list. The whole list has the segment's number for the message, and is refused
 * before anything is written. */
static tally_status name_bad_segment(tally_rank_plan *plan, tally_status status) {
    if (status == TALLY_BAD_OFFSETS)
        (void)tally_run(plan->plain, plan->args, TALLY_SYNCHRONOUS);
    return status;
}

/* Whether elements of the rank's first, or last, group may be on other ranks. */
static bool may_begin_before(const tally_rank_plan *plan) {
    return has_keys(plan) ? plan->options.rank > 0 : (plan->flags & TALLY_RANK_CONTINUES) != 0;
}

static bool may_go_on(const tally_rank_plan *plan) {
    return plan->options.rank + 1 < plan->options.ranks;
}

static tally_status find_ranges_of_segments(tally_rank_plan *plan, int64_t *record) {
    const uint64_t groups = plan->args->shape.groups;
    tally_status status = TALLY_OK;
    record[AT_GROUPS] = (int64_t)least(groups, MORE_GROUPS);
    record[AT_FLAGS] = plan->flags & TALLY_RANK_CONTINUES;
    if (groups > 0 && (may_begin_before(plan) || groups == 1))
        status = read_segment(plan, 0, &plan->head);
    if (groups > 1 && status == TALLY_OK && may_go_on(plan))
        status = read_segment(plan, groups - 1, &plan->tail);
    if (groups == 1)
        plan->tail = plan->head;
    return name_bad_segment(plan, status);
}

/* All segments of which nothing is on a rank before. The last one is left out if it is empty and may go on: it is no
 * error here, as finish_groups sees whether it has elements elsewhere. */
static tally_status reduce_own_segments(tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    const size_t bytes = c->out_bytes * c->per_result;
    const bool skips_last = may_go_on(plan) && plan->tail.n == 0 && tally_empty_is_error(c);
    const uint64_t first = may_begin_before(plan), end = plan->args->shape.groups;
    if (first + skips_last >= end)
        return TALLY_OK;
    tally_args args = *plan->args;
    args.shape.groups = end - first - skips_last;
    args.offsets = offset_at(plan, first);
    args.out = (char *)args.out + first * bytes;
    args.out_bytes -= first * bytes;
    const tally_status status = name_bad_segment(plan, tally_run(plan->plain, &args, TALLY_SYNCHRONOUS));
    if (status == TALLY_EMPTY && first)
        (void)tally_fail(TALLY_EMPTY, "one of the segments 1 to %" PRIu64 " is empty, and %s of nothing has no value",
                         end - 1 - skips_last, c->entry->name);
    return status;
}

static tally_status make_record(tally_rank_plan *plan) {
    const size_t words = record_words(plan);
    tally_status status = tally_rank_reserve(plan, &plan->states, words);
    if (status == TALLY_OK)
        status = tally_rank_reserve(plan, &plan->gather, words * plan->options.ranks);
    if (status != TALLY_OK)
        return status;
    int64_t *const record = plan->states.host;
    memset(record, 0, words * sizeof *record);
    plan->head = plan->tail = (tally_rank_range){0, 0};
    status = has_keys(plan) ? find_ranges_of_keys(plan, record) : find_ranges_of_segments(plan, record);
    const bool is_only = record[AT_GROUPS] == ONE_GROUP;
    if (status == TALLY_OK && !has_keys(plan) && !is_scan(plan))
        status = reduce_own_segments(plan);
    if (status == TALLY_OK && record[AT_GROUPS] != NO_GROUPS &&
        (may_begin_before(plan) || (is_only && may_go_on(plan))))
        status = find_state(plan, plan->head, HEAD);
    if (status == TALLY_OK && record[AT_GROUPS] == MORE_GROUPS && may_go_on(plan))
        status = find_state(plan, plan->tail, HEAD + plan->info.count);
    return status == TALLY_OK ? tally_rank_from_device(plan, &plan->states, HEAD, words - HEAD) : status;
}

/* ---- all ranks' records ---- */

static const int64_t *record_of(const tally_rank_plan *plan, uint64_t rank) {
    return plan->gather.host + rank * record_words(plan);
}

/* The nearest rank before, or after, that has groups; 'ranks' if there is none. */
static uint64_t neighbour(const tally_rank_plan *plan, uint64_t rank, bool after) {
    const uint64_t ranks = plan->options.ranks;
    do {
        if (rank == (after ? ranks - 1 : 0))
            return ranks;
        rank += after ? 1 : UINT64_MAX;
    } while (record_of(plan, rank)[AT_GROUPS] == NO_GROUPS);
    return rank;
}

/* Whether the first group of a rank with groups goes on from 'before', the rank with groups before it. */
static bool goes_on(const tally_rank_plan *plan, uint64_t before, uint64_t rank) {
    const int64_t *const record = record_of(plan, rank);
    if (before == plan->options.ranks)
        return false;
    return has_keys(plan) ? record_of(plan, before)[AT_LAST_KEY] == record[AT_FIRST_KEY] : record[AT_FLAGS] != 0;
}

static const int64_t *head_of(const int64_t *record) {
    return record + HEAD;
}
static const int64_t *tail_of(const tally_rank_plan *plan, const int64_t *record) {
    return record + HEAD + (record[AT_GROUPS] == MORE_GROUPS ? plan->info.count : 0);
}

/* The rank in which a group that 'rank' begins with has its beginning; and that in which one that it ends with has its
 * end. */
static uint64_t beginning(const tally_rank_plan *plan, uint64_t rank) {
    for (uint64_t before; (before = neighbour(plan, rank, false)) != plan->options.ranks; rank = before) {
        if (!goes_on(plan, before, rank))
            return rank;
        if (record_of(plan, before)[AT_GROUPS] == MORE_GROUPS)
            return before;
    }
    return rank;
}

static uint64_t ending(const tally_rank_plan *plan, uint64_t rank) {
    for (uint64_t after; (after = neighbour(plan, rank, true)) != plan->options.ranks; rank = after) {
        if (!goes_on(plan, rank, after))
            return rank;
        if (record_of(plan, after)[AT_GROUPS] == MORE_GROUPS)
            return after;
    }
    return rank;
}

static bool has_elements(const tally_rank_plan *plan, const int64_t *state) {
    return plan->info.rule == TALLY_WORDS_MAX ? !tally_words_are_empty(state) : state[TALLY_WORDS_AT_ELEMENTS] != 0;
}

static tally_status refuse_empty(const tally_rank_plan *plan, uint64_t rank, const char *which) {
    return tally_fail(TALLY_EMPTY, "rank %" PRIu64 ": its %s segment is empty, and %s of nothing has no value", rank,
                      which, plan->computation.entry->name);
}

/* Whether a rank's record has the state of its first, or last, group. */
static bool has_head_state(const tally_rank_plan *plan, uint64_t rank, bool more) {
    return more || (record_of(plan, rank)[AT_GROUPS] == ONE_GROUP && rank + 1 < plan->options.ranks);
}

static bool has_tail_state(const tally_rank_plan *plan, uint64_t rank) {
    return record_of(plan, rank)[AT_GROUPS] == MORE_GROUPS && rank + 1 < plan->options.ranks;
}

/* Segments that the ranks' own runs have left out are empty. */
static tally_status check_elements(const tally_rank_plan *plan) {
    const uint64_t ranks = plan->options.ranks;
    bool has = true; /* the last group so far */
    uint64_t before = ranks;
    for (uint64_t r = 0; r < ranks; r++) {
        const int64_t *const record = record_of(plan, r);
        if (record[AT_GROUPS] == NO_GROUPS)
            continue;
        const bool more = goes_on(plan, before, r), ends = record[AT_GROUPS] == MORE_GROUPS;
        if (!more && !has)
            return refuse_empty(plan, before, "last");
        has = (more && has) || !has_head_state(plan, r, more) || has_elements(plan, head_of(record));
        if (ends && !has)
            return refuse_empty(plan, r, "first");
        if (ends)
            has = !has_tail_state(plan, r) || has_elements(plan, tail_of(plan, record));
        before = r;
    }
    return has ? TALLY_OK : refuse_empty(plan, before, "last");
}

/* What any rank would find when it joins groups, so that all have the same error. */
static tally_status check_records(const tally_rank_plan *plan) {
    const uint64_t ranks = plan->options.ranks;
    uint64_t before = ranks;
    tally_words_form form;
    tally_status status = tally_words_form_of(&plan->computation, &form);
    for (uint64_t r = 0; r < ranks && status == TALLY_OK; r++) {
        const int64_t *const record = record_of(plan, r);
        if (before == ranks && record[AT_FLAGS])
            return tally_fail(TALLY_INVALID_ARGUMENT,
                              "rank %" PRIu64 ": TALLY_RANK_CONTINUES, but no rank before has segments", r);
        if (record[AT_GROUPS] == NO_GROUPS)
            continue;
        if (has_head_state(plan, r, goes_on(plan, before, r)))
            status = tally_words_check(&form, head_of(record), r);
        if (status == TALLY_OK && has_tail_state(plan, r))
            status = tally_words_check(&form, tail_of(plan, record), r);
        before = r;
    }
    return status == TALLY_OK && !has_keys(plan) && tally_empty_is_error(&plan->computation) ? check_elements(plan)
                                                                                             : status;
}

/* ---- groups that reach over ranks ---- */

static tally_status add_state(tally_rank_plan *plan, const int64_t *state) {
    return tally_accumulator_add_words(plan->joined, state, plan->info.count * sizeof *state);
}

/* plan->joined = the states from the last group of rank 'first' to the first group of rank 'last'; of one rank, its
 * only, first or last one. */
static tally_status join(tally_rank_plan *plan, uint64_t first, uint64_t last, const int64_t *only) {
    tally_accumulator_destroy(plan->joined);
    plan->joined = NULL;
    tally_status status = make_accumulator(plan);
    if (first == last)
        return status == TALLY_OK ? add_state(plan, only) : status;
    for (uint64_t r = first; r <= last && status == TALLY_OK; r++) {
        const int64_t *const record = record_of(plan, r);
        if (record[AT_GROUPS] != NO_GROUPS)
            status = add_state(plan, r == first ? tail_of(plan, record) : head_of(record));
    }
    return status;
}

static tally_status give_joined(tally_rank_plan *plan, uint64_t at) {
    const tally_computation *c = &plan->computation;
    const size_t bytes = c->out_bytes * c->per_result;
    unsigned char value[2 * sizeof(int64_t)];
    char *const to = (char *)plan->args->out + at * bytes;
    const tally_status status = tally_accumulator_value(plan->joined, c->desc.out, value);
    if (status != TALLY_OK)
        return status;
    if (!plan->in_host_memory)
        return tally_copy(plan->device, to, value, bytes);
    memcpy(to, value, bytes);
    return TALLY_OK;
}

/* The result of this rank's first group, or of its last one if it has more. */
static tally_status give_head(tally_rank_plan *plan) {
    const uint64_t rank = plan->options.rank;
    const int64_t *const record = record_of(plan, rank);
    const uint64_t last = record[AT_GROUPS] == ONE_GROUP ? ending(plan, rank) : rank;
    const tally_status status = join(plan, beginning(plan, rank), last, head_of(record));
    return status == TALLY_OK ? give_joined(plan, 0) : status;
}

static tally_status give_tail(tally_rank_plan *plan, uint64_t at) {
    const uint64_t rank = plan->options.rank;
    const tally_status status = join(plan, rank, ending(plan, rank), tail_of(plan, record_of(plan, rank)));
    return status == TALLY_OK ? give_joined(plan, at) : status;
}

/* Whether this rank's first group goes on from a rank before; and its last one on a rank after. */
static bool begins_before(const tally_rank_plan *plan) {
    const uint64_t rank = plan->options.rank;
    return record_of(plan, rank)[AT_GROUPS] != NO_GROUPS && goes_on(plan, neighbour(plan, rank, false), rank);
}

static bool ends_after(const tally_rank_plan *plan) {
    const uint64_t rank = plan->options.rank, after = neighbour(plan, rank, true);
    return record_of(plan, rank)[AT_GROUPS] != NO_GROUPS && after != plan->options.ranks && goes_on(plan, rank, after);
}

/* ---- reductions: what is left when every rank has reduced its own groups ---- */

static tally_status give_shared_segments(tally_rank_plan *plan) {
    const bool is_only = record_of(plan, plan->options.rank)[AT_GROUPS] == ONE_GROUP;
    const bool after = ends_after(plan);
    const tally_status status = begins_before(plan) || (is_only && after) ? give_head(plan) : TALLY_OK;
    return status == TALLY_OK && after && !is_only ? give_tail(plan, plan->args->shape.groups - 1) : status;
}

/* All runs that begin here; then the last of them is joined with its parts on other ranks. */
static tally_status reduce_keys(tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    const uint64_t first = begins_before(plan) ? plan->head.n : 0;
    uint64_t runs = 0;
    tally_status status = TALLY_OK;
    if (first < plan->args->shape.extent) {
        tally_args args = *plan->args;
        args.shape.extent -= first;
        args.x = (const char *)args.x + first * c->in_bytes;
        args.y = args.y ? (const char *)args.y + first * c->in_bytes : NULL;
        args.keys = (const char *)args.keys + first * c->index_bytes;
        args.count = &runs;
        status = tally_run(plan->plain, &args, TALLY_SYNCHRONOUS);
    }
    if (plan->args->count && (status == TALLY_OK || status == TALLY_OUTPUT_TOO_SMALL))
        *plan->args->count = runs;
    if (status != TALLY_OK || !runs || !ends_after(plan))
        return status;
    return record_of(plan, plan->options.rank)[AT_GROUPS] == ONE_GROUP ? give_head(plan) : give_tail(plan, runs - 1);
}

/* ---- scans ---- */

/* The arguments from element 'first' on. */
static tally_args from_element(const tally_rank_plan *plan, uint64_t first, uint64_t n) {
    const tally_computation *c = &plan->computation;
    const size_t bytes = c->out_bytes * c->per_result;
    tally_args args = *plan->args;
    args.shape.extent = n;
    args.x = args.x ? (const char *)args.x + first * c->in_bytes : NULL;
    args.y = args.y ? (const char *)args.y + first * c->in_bytes : NULL;
    args.keys = args.keys ? (const char *)args.keys + first * c->index_bytes : NULL;
    args.out = (char *)args.out + first * bytes;
    args.out_bytes = (size_t)(n * bytes);
    return args;
}

/* Elements of the group that plan->joined is the beginning of, or for a reverse scan the end. Its state takes the place
 * of the record, which has been sent. */
static tally_status scan_joined(tally_rank_plan *plan, tally_rank_range range) {
    const size_t bytes = plan->info.count * sizeof(int64_t);
    tally_args args = from_element(plan, range.first, range.n);
    args.offsets = args.keys = NULL;
    if (range.n == 0)
        return TALLY_OK;
    tally_status status = tally_accumulator_words(plan->joined, plan->states.host, bytes);
    if (status == TALLY_OK && !plan->in_host_memory)
        status = tally_copy(plan->device, plan->states.device, plan->states.host, bytes);
    if (status == TALLY_OK)
        status = tally_resume(plan->scan, plan->states.device, 1);
    if (status == TALLY_OK)
        status = tally_push(plan->scan, &args);
    tally_reset(plan->scan);
    return status;
}

/* The groups but the joined one, which is the first, or for a reverse scan the last. */
static tally_status scan_others(tally_rank_plan *plan, uint64_t first, uint64_t n) {
    tally_args args = *plan->args;
    if (has_keys(plan)) {
        if (n == 0)
            return TALLY_OK;
        args = from_element(plan, first, n);
    } else {
        args.shape.groups--;
        if (!plan->computation.reverse)
            args.offsets = offset_at(plan, 1);
    }
    return name_bad_segment(plan, tally_run(plan->plain, &args, TALLY_SYNCHRONOUS));
}

static tally_status scan_groups(tally_rank_plan *plan) {
    const bool reverse = plan->computation.reverse;
    const uint64_t rank = plan->options.rank, ranks = plan->options.ranks, n = plan->args->shape.extent;
    const uint64_t next = neighbour(plan, rank, reverse);
    const bool has_groups = record_of(plan, rank)[AT_GROUPS] != NO_GROUPS;
    if (!has_groups || next == ranks || !(reverse ? goes_on(plan, rank, next) : goes_on(plan, next, rank)))
        return tally_run(plan->plain, plan->args, TALLY_SYNCHRONOUS);
    tally_status status = reverse ? join(plan, next, ending(plan, rank), head_of(record_of(plan, next)))
                                  : join(plan, beginning(plan, rank), next, tail_of(plan, record_of(plan, next)));
    if (status != TALLY_OK)
        return status;
    const tally_rank_range edge = reverse ? plan->tail : plan->head;
    status = scan_others(plan, reverse ? 0 : edge.n, n - edge.n);
    return status == TALLY_OK ? scan_joined(plan, edge) : status;
}

/* ---- steps ---- */

static tally_status compute_groups(tally_rank_plan *plan) {
    return is_scan(plan) ? scan_groups(plan) : has_keys(plan) ? reduce_keys(plan) : give_shared_segments(plan);
}

static void finish_groups(tally_rank_plan *plan) {
    const size_t words = record_words(plan);
    const tally_status arrived = tally_rank_to_host(plan, &plan->gather, 0, words * plan->options.ranks);
    tally_rank_keep(plan, arrived);
    if (arrived == TALLY_OK && !tally_rank_signatures_agree(plan, plan->gather.host, words)) {
        plan->step = tally_rank_explain;
        return;
    }
    if (!plan->args) { /* nobody has any */
        tally_rank_end(plan);
        return;
    }
    plan->has_agreed = true;
    const tally_status status = tally_rank_is_well(plan) ? check_records(plan) : TALLY_OK;
    tally_rank_keep(plan, status);
    if (tally_rank_is_well(plan))
        tally_rank_keep(plan, compute_groups(plan));
    const bool may_differ = is_scan(plan) || has_keys(plan); /* of what the ranks have computed since */
    if (status == TALLY_OK && may_differ)
        tally_rank_agree(plan, tally_rank_end);
    else
        tally_rank_end(plan);
}

static void gather_records(tally_rank_plan *plan) {
    tally_rank_sign(plan, plan->states.host);
    tally_rank_keep(plan, tally_rank_from_host(plan, &plan->states, 0, HEAD));
    plan->exchange = (tally_exchange){TALLY_EXCHANGE_GATHER, tally_rank_at_engine(plan, &plan->states),
                                      tally_rank_at_engine(plan, &plan->gather), record_words(plan)};
    plan->step = finish_groups;
}

void tally_rank_groups(tally_rank_plan *plan) {
    if (tally_rank_is_well(plan) && plan->args)
        tally_rank_keep(plan, make_record(plan));
    if (plan->has_agreed)
        gather_records(plan);
    else
        tally_rank_agree(plan, gather_records);
}
