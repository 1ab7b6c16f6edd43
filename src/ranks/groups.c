/* Segments and keys. Only a rank's first and its last group can reach over ranks. Their states travel in a record, so
 * that every rank sees how groups go on:
 *
 *     rank 0            rank 1      rank 2
 *     a a a b b b c | c c c c c c | c d d d e      c: the tail of rank 0, the head of rank 1 (its only group), of rank
 * 2
 *
 * Parts of a group are joined in rank order by an accumulator. The groups between go through the ordinary plan. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"
#include "ranks/ranks.h"

/* A record. The states of the first and the last group follow; a rank's only group is the first. */
enum { AT_GROUPS, AT_FLAGS, AT_FIRST_KEY, AT_LAST_KEY, HEAD };
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
    if (status == TALLY_OK && is_scan(plan) && !plan->device->interface->resume)
        return tally_fail(TALLY_UNSUPPORTED, "scan by %s over ranks: only the CPU does it",
                          tally_grouping_name(d->grouping));
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

static tally_status find_ranges_of_segments(tally_rank_plan *plan, int64_t *record) {
    const uint64_t groups = plan->args->shape.groups;
    tally_status status = TALLY_OK;
    record[AT_GROUPS] = (int64_t)least(groups, MORE_GROUPS);
    record[AT_FLAGS] = plan->flags & TALLY_RANK_CONTINUES;
    if (groups > 0)
        status = read_segment(plan, 0, &plan->head);
    if (groups > 0 && status == TALLY_OK)
        status = read_segment(plan, groups - 1, &plan->tail);
    return name_bad_segment(plan, status);
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
    if (status == TALLY_OK)
        status = find_state(plan, plan->head, HEAD);
    if (status == TALLY_OK && record[AT_GROUPS] == MORE_GROUPS)
        status = find_state(plan, plan->tail, HEAD + plan->info.count);
    if (status != TALLY_OK || plan->in_host_memory)
        return status;
    const size_t states = 2 * plan->info.count * sizeof *record;
    status = tally_copy(plan->device, record + HEAD, plan->states.device + HEAD, states);
    return status == TALLY_OK ? tally_rank_from_host(plan, &plan->states, 0, words) : status;
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

/* A group that reaches over ranks is empty, or a first segment goes on from nothing: every rank sees it. */
static tally_status check_records(const tally_rank_plan *plan) {
    const bool needs_elements = tally_empty_is_error(&plan->computation);
    const uint64_t ranks = plan->options.ranks;
    bool has = true;
    uint64_t before = ranks;
    for (uint64_t r = 0; r < ranks; r++) {
        const int64_t *const record = record_of(plan, r);
        if (before == ranks && record[AT_FLAGS])
            return tally_fail(TALLY_INVALID_ARGUMENT,
                              "rank %" PRIu64 ": TALLY_RANK_CONTINUES, but no rank before has segments", r);
        if (record[AT_GROUPS] == NO_GROUPS)
            continue;
        const bool more = goes_on(plan, before, r), head = has_elements(plan, head_of(record));
        if (needs_elements && !more && !has)
            break;
        has = more ? has || head : head;
        if (record[AT_GROUPS] == MORE_GROUPS && needs_elements && !has)
            break;
        if (record[AT_GROUPS] == MORE_GROUPS)
            has = has_elements(plan, tail_of(plan, record));
        before = r;
    }
    return has || !needs_elements
               ? TALLY_OK
               : tally_fail(TALLY_EMPTY,
                            "a segment that is the first or last of a rank is empty, and %s of nothing has "
                            "no value",
                            plan->computation.entry->name);
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
static tally_status give_head(tally_rank_plan *plan, uint64_t at) {
    const uint64_t rank = plan->options.rank;
    const int64_t *const record = record_of(plan, rank);
    const uint64_t last = record[AT_GROUPS] == ONE_GROUP ? ending(plan, rank) : rank;
    const tally_status status = join(plan, beginning(plan, rank), last, head_of(record));
    return status == TALLY_OK ? give_joined(plan, at) : status;
}

static tally_status give_tail(tally_rank_plan *plan, uint64_t at) {
    const uint64_t rank = plan->options.rank;
    const tally_status status = join(plan, rank, ending(plan, rank), tail_of(plan, record_of(plan, rank)));
    return status == TALLY_OK ? give_joined(plan, at) : status;
}

/* ---- reductions ---- */

static tally_status reduce_segments(tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    const uint64_t groups = plan->args->shape.groups;
    const size_t bytes = c->out_bytes * c->per_result;
    tally_status status = TALLY_OK;
    if (groups > 2) {
        tally_args args = *plan->args;
        args.shape.groups = groups - 2;
        args.offsets = offset_at(plan, 1);
        args.out = (char *)args.out + bytes;
        args.out_bytes -= bytes;
        status = tally_run(plan->plain, &args, TALLY_SYNCHRONOUS);
        name_bad_segment(plan, status);
        if (status == TALLY_EMPTY)
            (void)tally_fail(TALLY_EMPTY,
                             "one of the segments 1 to %" PRIu64 " is empty, and %s of nothing has no value",
                             groups - 2, c->entry->name);
    }
    if (status == TALLY_OK && groups > 0)
        status = give_head(plan, 0);
    return status == TALLY_OK && groups > 1 ? give_tail(plan, groups - 1) : status;
}

static tally_status give_key(tally_rank_plan *plan, uint64_t from, uint64_t at) {
    const size_t bytes = plan->computation.index_bytes;
    char *const keys = plan->args->keys_out;
    return keys ? tally_copy(plan->device, keys + at * bytes, (const char *)plan->args->keys + from * bytes, bytes)
                : TALLY_OK;
}

/* The runs between the first and the last, behind 'before' results; and how many. */
static tally_status reduce_inner_keys(tally_rank_plan *plan, uint64_t before, uint64_t *runs) {
    const tally_computation *c = &plan->computation;
    const size_t bytes = c->out_bytes * c->per_result;
    tally_args args = *plan->args;
    args.shape.extent -= plan->head.n + plan->tail.n;
    args.x = (const char *)args.x + plan->head.n * c->in_bytes;
    args.y = args.y ? (const char *)args.y + plan->head.n * c->in_bytes : NULL;
    args.keys = (const char *)args.keys + plan->head.n * c->index_bytes;
    args.out = (char *)args.out + before * bytes;
    args.out_bytes = args.out_bytes > (before + 1) * bytes ? args.out_bytes - (before + 1) * bytes : 0;
    args.keys_out = args.keys_out ? (char *)args.keys_out + before * c->index_bytes : NULL;
    args.keys_out_bytes =
        args.keys_out_bytes > (before + 1) * c->index_bytes ? args.keys_out_bytes - (before + 1) * c->index_bytes : 0;
    args.count = runs;
    return tally_run(plan->plain, &args, TALLY_SYNCHRONOUS);
}

static tally_status lacks_room(const tally_rank_plan *plan, uint64_t runs) {
    const tally_computation *c = &plan->computation;
    return tally_fail(TALLY_OUTPUT_TOO_SMALL,
                      "there are %" PRIu64 " runs of keys, which need %" PRIu64 " bytes of out and %" PRIu64
                      " of keys_out",
                      runs, runs * c->out_bytes * c->per_result, runs * c->index_bytes);
}

static tally_status reduce_keys(tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    const tally_args *a = plan->args;
    const uint64_t rank = plan->options.rank;
    const int64_t groups = record_of(plan, rank)[AT_GROUPS];
    const uint64_t begins = groups != NO_GROUPS && !goes_on(plan, neighbour(plan, rank, false), rank);
    const uint64_t ends = groups == MORE_GROUPS;
    uint64_t inner = 0;
    tally_status status = TALLY_OK;
    if (ends && plan->head.n + plan->tail.n < a->shape.extent)
        status = reduce_inner_keys(plan, begins, &inner);
    const uint64_t runs = begins + inner + ends, room = a->out_bytes / (c->out_bytes * c->per_result);
    const bool fits = runs <= room && (!a->keys_out || runs <= a->keys_out_bytes / c->index_bytes);
    if (a->count && (status == TALLY_OK || status == TALLY_OUTPUT_TOO_SMALL))
        *a->count = runs;
    if (status == TALLY_OUTPUT_TOO_SMALL || (status == TALLY_OK && !fits))
        return lacks_room(plan, runs);
    if (status == TALLY_OK && begins && (status = give_head(plan, 0)) == TALLY_OK)
        status = give_key(plan, 0, 0);
    if (status == TALLY_OK && ends && (status = give_tail(plan, runs - 1)) == TALLY_OK)
        status = give_key(plan, a->shape.extent - 1, runs - 1);
    return status;
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

/* Elements of the group that plan->joined is the beginning of, or for a reverse scan the end. */
static tally_status scan_joined(tally_rank_plan *plan, tally_rank_range range) {
    int64_t words[TALLY_WORDS_MOST];
    tally_args args = from_element(plan, range.first, range.n);
    args.offsets = args.keys = NULL;
    if (range.n == 0)
        return TALLY_OK;
    tally_status status = tally_accumulator_words(plan->joined, words, sizeof words);
    if (status == TALLY_OK)
        status = tally_resume(plan->scan, words, 1);
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

static void finish_groups(tally_rank_plan *plan) {
    const size_t words = record_words(plan) * plan->options.ranks;
    tally_rank_keep(plan, tally_rank_to_host(plan, &plan->gather, 0, words));
    if (tally_rank_is_well(plan))
        tally_rank_keep(plan, check_records(plan));
    if (tally_rank_is_well(plan))
        tally_rank_keep(plan, is_scan(plan)    ? scan_groups(plan)
                              : has_keys(plan) ? reduce_keys(plan)
                                               : reduce_segments(plan));
    tally_rank_agree(plan, tally_rank_end);
}

static void gather_records(tally_rank_plan *plan) {
    plan->exchange = (tally_exchange){TALLY_EXCHANGE_GATHER, tally_rank_at_engine(plan, &plan->states),
                                      tally_rank_at_engine(plan, &plan->gather), record_words(plan)};
    plan->step = finish_groups;
}

void tally_rank_groups(tally_rank_plan *plan) {
    if (tally_rank_is_well(plan))
        tally_rank_keep(plan, make_record(plan));
    tally_rank_agree(plan, gather_records);
}
