/* What all steps of rank plans may do. */
#include <stdio.h>

#include "core/status.h"
#include "ranks/ranks.h"

void tally_rank_keep(tally_rank_plan *plan, tally_status status) {
    if (status == TALLY_OK || !tally_rank_is_well(plan))
        return;
    plan->status = status;
    snprintf(plan->text, sizeof plan->text, "%s", tally_last_error());
}

void tally_rank_end(tally_rank_plan *plan) {
    plan->step = NULL;
    plan->is_over = true;
}

tally_status tally_rank_sub_plan(tally_rank_plan *plan, tally_grouping grouping, tally_form form, unsigned flags,
                                 tally_plan **sub) {
    tally_desc desc = plan->desc;
    const bool has_index = grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS || grouping == TALLY_LABELS;
    desc.grouping = grouping;
    desc.form = form;
    desc.flags = flags;
    if (!has_index)
        desc.index = TALLY_DEFAULT;
    if (flags & TALLY_WORDS_OUT)
        desc.out = TALLY_DEFAULT;
    return tally_plan_create(plan->device, &desc, sub);
}
