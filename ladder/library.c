/* library.c: the plan behind the row "library", which any program can make through the public header.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

int ladder_plan(ladder_work *w, tally_plan **plan, tally_args *args, fault *f) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = w->op;
    desc.form = w->form;
    desc.in = desc.out = w->dtype;
    *args = (tally_args)TALLY_ARGS_INIT;
    args->shape.extent = w->n;
    args->out_bytes = ladder_out_count(w) * tally_dtype_size(w->dtype);
    if (tally_plan_create(w->device, &desc, plan) != TALLY_OK ||
        tally_plan_workspace(*plan, &args->shape, &args->workspace_bytes) != TALLY_OK)
        return fault_data(f, "%s", tally_last_error());
    return 0;
}
