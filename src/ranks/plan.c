/* A rank plan's life: its parts are made once, and a run goes from step to step. A step does local work and leaves an
 * exchange. tally_rank_next takes steps until there is one. */
#include "ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/status.h"

/* ---- creation ---- */

static tally_status refuse_split(const tally_computation *c) {
    return c->desc.grouping == TALLY_AXIS
               ? TALLY_OK
               : tally_fail(TALLY_INVALID_ARGUMENT, "TALLY_SPLIT_OTHER is for axis: %s have one dimension",
                            tally_grouping_name(c->desc.grouping));
}

static tally_status choose_plans(tally_rank_plan *plan) {
    const tally_computation *c = &plan->computation;
    const tally_grouping grouping = c->desc.grouping;
    if (plan->options.split == TALLY_SPLIT_OTHER) {
        const tally_status status = refuse_split(c);
        return status == TALLY_OK ? tally_rank_sub_plan(plan, grouping, c->desc.form, c->desc.flags, &plan->plain)
                                  : status;
    }
    if (c->is_sized)
        return tally_fail(TALLY_UNSUPPORTED, "TALLY_SIZE_ON_DEVICE over ranks: each rank's size is in args.shape");
    if (c->takes_words || c->gives_words)
        return tally_fail(TALLY_UNSUPPORTED, "words over ranks: ranks exchange them already; combine the states of "
                                             "other inputs in a plan of your own");
    if (c->skips_nan && (tally_is_scan(c) || tally_has_trait(c, TALLY_OPERATOR_EMPTY_IS_ERROR)))
        return tally_fail(TALLY_UNSUPPORTED,
                          "%s%s over ranks with TALLY_SKIP_NAN: states do not tell how many elements were left out",
                          tally_is_scan(c) ? "scan of " : "", c->entry->name);
    if (c->reverse && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED)
        return tally_fail(TALLY_UNSUPPORTED,
                          "reverse scan of %s over ranks: a rank does not know how many elements "
                          "are before its own",
                          c->entry->name);
    return grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS ? tally_rank_groups_plans(plan)
                                                                : tally_rank_whole_plans(plan);
}

static bool computes_in_host_memory(const tally_device *device) {
    tally_device_info info = {.struct_size = sizeof info};
    return tally_device_describe(device, &info) == TALLY_OK && strncmp(info.spec, "cpu", 3) == 0;
}

static tally_status describe(tally_rank_plan *plan, const tally_desc *desc) {
    tally_status status = tally_computation_decide(desc, &plan->computation);
    if (status != TALLY_OK) {
        plan->computation.desc = *desc; /* for the message that compares ranks */
        return status;
    }
    plan->info.struct_size = sizeof plan->info;
    tally_desc states = plan->desc;
    states.form = TALLY_REDUCE;
    states.grouping = TALLY_ALL_VALUES;
    states.index = states.out = TALLY_DEFAULT;
    states.flags = 0;
    if (plan->options.split == TALLY_SPLIT_EXTENT)
        status = tally_words_describe(&states, &plan->info);
    return status == TALLY_OK ? choose_plans(plan) : status;
}

tally_status tally_rank_plan_create(tally_device *device, const tally_desc *desc, const tally_rank_options *options,
                                    tally_rank_plan **out) {
    if (!device || !desc || !options || !out)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_rank_plan_create: NULL where a device, a descriptor, options "
                                                  "and a place for the plan are expected");
    if (options->struct_size != sizeof *options)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_rank_options.struct_size is %zu; set it to sizeof(tally_rank_options), %zu",
                          options->struct_size, sizeof *options);
    if (options->rank >= options->ranks)
        return tally_fail(TALLY_INVALID_ARGUMENT, "rank %llu of %llu: ranks count from 0",
                          (unsigned long long)options->rank, (unsigned long long)options->ranks);
    if (options->split != TALLY_SPLIT_EXTENT && options->split != TALLY_SPLIT_OTHER)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_rank_options.split is %d, which is no tally_split",
                          (int)options->split);
    if (options->flags & ~(TALLY_RANK_HAS_EXSCAN | TALLY_RANK_DEVICE_WORDS | TALLY_RANK_TRUSTED))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_rank_options.flags has unknown bits: 0x%x", options->flags);
    tally_rank_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %zu bytes of a plan", sizeof *plan);
    plan->device = device;
    plan->desc = *desc;
    plan->options = *options;
    plan->in_host_memory = computes_in_host_memory(device);
    const tally_status status = tally_rank_reserve(plan, &plan->agreement, TALLY_RANK_TEXT_WORDS + 2);
    const tally_status room =
        status == TALLY_OK ? tally_rank_reserve(plan, &plan->gather, (TALLY_RANK_TEXT_WORDS + 2) * options->ranks)
                           : status;
    if (room != TALLY_OK) {
        tally_rank_plan_destroy(plan);
        return room;
    }
    tally_rank_keep(plan, describe(plan, desc));
    plan->refusal = plan->status;
    memcpy(plan->refusal_text, plan->text, sizeof plan->text);
    *out = plan;
    return TALLY_OK;
}

void tally_rank_plan_destroy(tally_rank_plan *plan) {
    if (!plan)
        return;
    tally_plan *const plans[] = {plan->part, plan->join, plan->plain, plan->scan, plan->pair, plan->carried};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        tally_plan_destroy(plans[i]);
    tally_accumulator_destroy(plan->joined);
    tally_free(plan->device, plan->initial);
    tally_rank_release(plan, &plan->states);
    tally_rank_release(plan, &plan->gather);
    tally_rank_release(plan, &plan->agreement);
    free(plan);
}

/* ---- a run ---- */

/* The first step where each rank is on its own. */
static void run_alone(tally_rank_plan *plan) {
    if (tally_rank_is_well(plan))
        tally_rank_keep(plan, tally_run(plan->plain, plan->args, plan->stream));
    tally_rank_agree(plan, tally_rank_end);
}

/* Arguments are checked before any step reads them. */
static void check_arguments(tally_rank_plan *plan) {
    uint64_t results;
    const tally_computation *c = &plan->computation;
    if (!tally_rank_is_well(plan))
        return;
    tally_rank_keep(plan, tally_args_check(c, plan->args, false, &results));
    if (plan->flags & ~TALLY_RANK_CONTINUES)
        tally_rank_keep(plan,
                        tally_fail(TALLY_INVALID_ARGUMENT, "the run's flags have unknown bits: 0x%x", plan->flags));
    if ((plan->flags & TALLY_RANK_CONTINUES) && c->desc.grouping != TALLY_SEGMENTS)
        tally_rank_keep(plan, tally_fail(TALLY_INVALID_ARGUMENT, "TALLY_RANK_CONTINUES is for segments, not for %s",
                                         tally_grouping_name(c->desc.grouping)));
}

/* The first step without arguments. Ranks that have some would begin with this agreement, too, or with their records.
 */
static void compare_descriptions(tally_rank_plan *plan) {
    if (plan->has_agreed && !(plan->options.flags & TALLY_RANK_TRUSTED))
        tally_rank_groups(plan);
    else
        tally_rank_agree(plan, tally_rank_end);
}

void tally_rank_begin(tally_rank_plan *plan, const tally_args *args, unsigned flags, tally_stream stream) {
    if (!plan) /* tally_rank_next will say so */
        return;
    const tally_grouping grouping = plan->computation.desc.grouping;
    plan->args = args;
    plan->flags = flags;
    plan->stream = stream;
    plan->is_over = false;
    plan->first = 0;
    plan->status = plan->refusal;
    memcpy(plan->text, plan->refusal_text, sizeof plan->text);
    if (args)
        check_arguments(plan);
    plan->step = !args                                                  ? compare_descriptions
                 : plan->options.split == TALLY_SPLIT_OTHER             ? run_alone
                 : grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS ? tally_rank_groups
                                                                        : tally_rank_whole;
}

tally_status tally_rank_next(tally_rank_plan *plan, tally_exchange *exchange) {
    if (!plan || !exchange)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_rank_next: NULL where a plan and a place for the exchange are expected");
    if (!plan->step && !plan->is_over)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_rank_next: no run has begun");
    plan->exchange = (tally_exchange){.kind = TALLY_EXCHANGE_DONE};
    while (plan->step && plan->exchange.kind == TALLY_EXCHANGE_DONE) {
        tally_rank_step *const step = plan->step;
        step(plan);
    }
    *exchange = plan->exchange;
    if (exchange->kind != TALLY_EXCHANGE_DONE)
        return TALLY_OK;
    const bool failed = !tally_rank_is_well(plan);
    return failed ? tally_fail(plan->status, "%s", plan->text) : TALLY_OK;
}

tally_status tally_rank_refuse(tally_rank_plan *plan, tally_status reason, const char *text) {
    if (!plan || !text || reason <= TALLY_OK || reason >= TALLY_STATUS_COUNT)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_rank_refuse: a plan, the status of an error and a text are expected");
    (void)tally_fail(reason, "%s", text);
    tally_rank_keep(plan, reason);
    if (plan->has_agreed) /* the others' first exchange is that of records */
        plan->step = tally_rank_groups;
    return TALLY_OK;
}

tally_status tally_rank_fail(tally_rank_plan *plan, const char *text) {
    if (!plan || !text)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_rank_fail: NULL where a plan and a text are expected");
    tally_rank_end(plan);
    plan->status = tally_fail(TALLY_DEVICE_FAILED, "%s", text);
    snprintf(plan->text, sizeof plan->text, "%s", text);
    return plan->status;
}
