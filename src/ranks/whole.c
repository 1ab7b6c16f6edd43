/* All values and an axis whose extent is cut, reductions and scans, and reductions by labels. Each rank reduces its
 * part to states. An exchange gives the states of all ranks, or those of the ranks before; many results go in blocks. A
 * reduction then turns states to results. A scan goes on from the state before its part. */
#include "core/arithmetic.h"
#include "core/status.h"
#include "ranks/ranks.h"

/* Words on their way at a time, over all ranks: 128 MiB. */
enum { MOST_WORDS = 1 << 24 };

/* Whether a scan begins with the value of what is before as its initial value: where the device could go on from words
 * only with the host's help. */
static bool begins_with_initial(const tally_rank_plan *plan) {
    const tally_device_interface *device = plan->device->interface;
    const tally_computation *c = &plan->computation;
    const bool needs_host = !device->resumes_scans || (c->reverse && !device->takes_reverse_pieces);
    return needs_host && c->desc.grouping == TALLY_ALL_VALUES && !c->exact &&
           tally_has_trait(c, TALLY_OPERATOR_TAKES_INITIAL);
}

/* ---- plans ---- */

static tally_status plans_from_initial(tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    void *initial = NULL;
    tally_status status = tally_alloc(plan->device, 3 * c->out_bytes, &initial);
    plan->initial = initial;
    tally_desc pair = c->desc;
    pair.in = c->desc.out;
    pair.acc = TALLY_DEFAULT;
    pair.form = TALLY_REDUCE;
    pair.flags = 0;
    if (status == TALLY_OK)
        status = tally_plan_create(plan->device, &pair, &plan->pair);
    return status == TALLY_OK
               ? tally_rank_sub_plan(plan, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_WORDS_IN, &plan->carried)
               : status;
}

tally_status tally_rank_whole_plans(tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    const bool scans = tally_is_scan(c);
    const unsigned skip = c->desc.flags & (TALLY_SKIP_BAD_LABELS | TALLY_SKIP_NAN);
    tally_status status =
        tally_rank_sub_plan(plan, c->desc.grouping, TALLY_REDUCE, TALLY_WORDS_OUT | skip, &plan->part);
    if (status == TALLY_OK)
        status = tally_rank_sub_plan(plan, TALLY_AXIS, TALLY_REDUCE, TALLY_WORDS_IN | (scans ? TALLY_WORDS_OUT : 0u),
                                     &plan->join);
    if (status == TALLY_OK && scans)
        status = tally_rank_sub_plan(plan, c->desc.grouping, c->desc.form, c->desc.flags, &plan->plain);
    return status == TALLY_OK && scans && begins_with_initial(plan) ? plans_from_initial(plan) : status;
}

/* ---- the exchange ---- */

/* Ranks are scanned by the engine only forwards. */
static tally_exchange_kind kind_of(const tally_rank_plan *plan) {
    const tally_words_rule rule = plan->info.rule;
    const bool scans = tally_is_scan(&plan->computation);
    const bool may_scan = (plan->options.flags & TALLY_RANK_HAS_EXSCAN) && !plan->computation.reverse;
    if (rule == TALLY_WORDS_ORDERED || (scans && !may_scan))
        return TALLY_EXCHANGE_GATHER;
    if (rule == TALLY_WORDS_ADD)
        return scans ? TALLY_EXCHANGE_SUM_BEFORE : TALLY_EXCHANGE_SUM;
    return scans ? TALLY_EXCHANGE_MAX_BEFORE : TALLY_EXCHANGE_MAX;
}

static uint64_t count_results(const tally_rank_plan *plan) {
    const tally_shape *s = &plan->args->shape;
    switch (plan->computation.desc.grouping) {
    case TALLY_AXIS:
        return s->outer * s->inner;
    case TALLY_LABELS:
        return s->groups;
    default:
        return 1;
    }
}

static uint64_t block_words(const tally_rank_plan *plan) {
    return least(plan->block, plan->results - plan->first) * plan->info.count;
}

static tally_rank_step send_block, take_block, scan_part;

static void send_block(tally_rank_plan *plan) {
    if (plan->first == plan->results) {
        if (tally_is_scan(&plan->computation))
            plan->step = scan_part;
        else
            tally_rank_end(plan);
        return;
    }
    const uint64_t first = plan->first * plan->info.count, words = block_words(plan);
    const tally_exchange_kind kind = kind_of(plan);
    int64_t *const states = tally_rank_at_engine(plan, &plan->states) + first;
    tally_rank_keep(plan, tally_rank_from_device(plan, &plan->states, first, words));
    plan->exchange = (tally_exchange){
        kind, states, kind == TALLY_EXCHANGE_GATHER ? tally_rank_at_engine(plan, &plan->gather) : states,
        (size_t)words};
    plan->step = take_block;
}

/* Joins the block's states of 'ranks' ranks, to results or, in place of the rank's own, to states. */
static tally_status join_states(tally_rank_plan *plan, const int64_t *states, uint64_t ranks) {
    const tally_computation *c = &plan->computation;
    const uint64_t n = least(plan->block, plan->results - plan->first);
    const size_t bytes = c->out_bytes * c->per_result;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = (tally_shape){1, ranks, n, 0};
    args.x = states;
    args.out = (char *)plan->args->out + plan->first * bytes;
    args.out_bytes = (size_t)(n * bytes);
    if (tally_is_scan(c)) {
        args.out = plan->states.device + plan->first * plan->info.count;
        args.out_bytes = (size_t)(n * plan->info.count * sizeof(int64_t));
    }
    return tally_run(plan->join, &args, plan->stream);
}

/* Writes the states of nothing, which a scan has before the first rank. */
static tally_status clear_states(tally_rank_plan *plan, uint64_t first, uint64_t words) {
    for (uint64_t i = 0; i < words; i++)
        plan->states.host[first + i] = plan->info.nothing;
    return plan->in_host_memory ? TALLY_OK
                                : tally_copy(plan->device, plan->states.device + first, plan->states.host + first,
                                             (size_t)words * sizeof(int64_t));
}

static tally_status take_gathered(tally_rank_plan *plan, uint64_t words) {
    const uint64_t rank = plan->options.rank, ranks = plan->options.ranks;
    const tally_status status = tally_rank_to_device(plan, &plan->gather, 0, ranks * words);
    if (status != TALLY_OK)
        return status;
    if (!tally_is_scan(&plan->computation))
        return join_states(plan, plan->gather.device, ranks);
    return plan->computation.reverse ? join_states(plan, plan->gather.device + (rank + 1) * words, ranks - 1 - rank)
                                     : join_states(plan, plan->gather.device, rank);
}

static tally_status take_combined(tally_rank_plan *plan, uint64_t first, uint64_t words) {
    if (tally_is_scan(&plan->computation) && plan->options.rank == 0)
        return clear_states(plan, first, words);
    const tally_status status = tally_rank_to_device(plan, &plan->states, first, words);
    return status == TALLY_OK && !tally_is_scan(&plan->computation) ? join_states(plan, plan->states.device + first, 1)
                                                                    : status;
}

static void take_block(tally_rank_plan *plan) {
    const uint64_t words = block_words(plan);
    if (tally_rank_is_well(plan))
        tally_rank_keep(plan, kind_of(plan) == TALLY_EXCHANGE_GATHER
                                  ? take_gathered(plan, words)
                                  : take_combined(plan, plan->first * plan->info.count, words));
    plan->first += words / plan->info.count;
    plan->step = send_block;
}

/* ---- the first and the last step ---- */

static tally_status find_states(tally_rank_plan *plan) {
    const tally_args *a = plan->args;
    tally_status status = tally_rank_reserve(plan, &plan->states, plan->results * plan->info.count);
    if (status == TALLY_OK && kind_of(plan) == TALLY_EXCHANGE_GATHER)
        status = tally_rank_reserve(plan, &plan->gather,
                                    least(plan->block, plan->results) * plan->info.count * plan->options.ranks);
    if (status != TALLY_OK || !plan->results)
        return status;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = a->shape;
    args.x = a->x;
    args.y = a->y;
    args.labels = a->labels;
    args.out = plan->states.device;
    args.out_bytes = (size_t)(plan->results * plan->info.count * sizeof(int64_t));
    return tally_run(plan->part, &args, plan->stream);
}

void tally_rank_whole(tally_rank_plan *plan) {
    const bool gathers = kind_of(plan) == TALLY_EXCHANGE_GATHER;
    plan->results = tally_rank_is_well(plan) ? count_results(plan) : 0;
    if (tally_rank_is_well(plan)) {
        plan->block = most(MOST_WORDS / (plan->info.count * (gathers ? plan->options.ranks : 1)), 1);
        tally_rank_keep(plan, find_states(plan));
    }
    tally_rank_agree(plan, send_block);
}

/* In a stream nobody can look at the words: for the number of elements before, or for an initial value. */
static tally_status check_stream(const tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    const bool looks_at_words = begins_with_initial(plan) || tally_lowers_by_count(c->entry) ||
                                tally_class_of(c->monoid) == TALLY_CLASS_INDEXED;
    if (!plan->stream || (plan->device->interface->run_after && !looks_at_words))
        return TALLY_OK;
    return tally_fail(TALLY_UNSUPPORTED, "%s scan of %s over ranks in a stream: run it with TALLY_SYNCHRONOUS",
                      tally_mode_name(c->desc.mode), tally_op_name(c->desc.op));
}

static tally_status scan_columns(tally_rank_plan *plan, const tally_args *args, const int64_t *words,
                                 uint64_t columns) {
    if (plan->stream)
        return plan->device->interface->run_after(plan->plain, args, words, 1, 0, plan->stream);
    tally_status status = tally_resume(plan->plain, words, columns);
    if (status == TALLY_OK)
        status = tally_push(plan->plain, args);
    tally_reset(plan->plain);
    return status;
}

/* Each of the outer rows of columns on its own, since pieces have one. */
static tally_status scan_from_words(tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    const bool is_axis = c->desc.grouping == TALLY_AXIS;
    const tally_shape s = plan->args->shape;
    const uint64_t outer = is_axis ? s.outer : 1, inner = is_axis ? s.inner : 1, elements = s.extent * inner;
    tally_args args = *plan->args;
    tally_status status = TALLY_OK;
    if (!elements)
        return status;
    args.shape.outer = 1;
    args.out_bytes = (size_t)(elements * c->out_bytes * c->per_result);
    for (uint64_t o = 0; o < outer && status == TALLY_OK; o++) {
        args.x = (const char *)plan->args->x + o * elements * c->in_bytes;
        args.y = plan->args->y ? (const char *)plan->args->y + o * elements * c->in_bytes : NULL;
        args.out = (char *)plan->args->out + o * args.out_bytes;
        status = scan_columns(plan, &args, plan->states.device + o * inner * plan->info.count, inner);
    }
    return status;
}

/* Nothing is before if the state has no elements. Only operators without a value of nothing need to know. */
static tally_status is_first(tally_rank_plan *plan, bool *answer) {
    const bool may_lack_value = plan->info.rule == TALLY_WORDS_MAX;
    *answer = false;
    if (!may_lack_value)
        return TALLY_OK;
    const tally_status status = plan->in_host_memory ? TALLY_OK
                                                     : tally_copy(plan->device, plan->states.host, plan->states.device,
                                                                  plan->info.count * sizeof(int64_t));
    *answer = tally_words_are_empty(plan->states.host);
    return status;
}

static tally_status scan_from_initial(tally_rank_plan *plan) {
    const size_t bytes = plan->computation.out_bytes;
    char *const initial = plan->initial, *const carry = initial + bytes;
    tally_args carried = TALLY_ARGS_INIT, pair = TALLY_ARGS_INIT, args = *plan->args;
    bool first;
    tally_status status = is_first(plan, &first);
    if (status != TALLY_OK || first)
        return status == TALLY_OK ? tally_run(plan->plain, &args, plan->stream) : status;
    carried.shape.extent = 1;
    carried.x = plan->states.device;
    carried.out = carry;
    carried.out_bytes = bytes;
    status = tally_run(plan->carried, &carried, plan->stream);
    if (status == TALLY_OK && args.initial) {
        pair.shape.extent = 2;
        pair.x = initial;
        pair.out = carry + bytes;
        pair.out_bytes = bytes;
        status = tally_copy(plan->device, initial, args.initial, bytes);
        if (status == TALLY_OK)
            status = tally_run(plan->pair, &pair, plan->stream);
    }
    args.initial = args.initial ? carry + bytes : carry;
    return status == TALLY_OK ? tally_run(plan->plain, &args, plan->stream) : status;
}

static void scan_part(tally_rank_plan *plan) {
    if (tally_rank_is_well(plan))
        tally_rank_keep(plan, check_stream(plan));
    if (tally_rank_is_well(plan))
        tally_rank_keep(plan, begins_with_initial(plan) ? scan_from_initial(plan) : scan_from_words(plan));
    tally_rank_agree(plan, tally_rank_end);
}
