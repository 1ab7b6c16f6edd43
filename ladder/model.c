/* model.c: the bytes, additions and atomics of a step and the steps of its tree, computed without any measurement.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <stdlib.h>

double ladder_bytes(const ladder_work *w, tally_form form) {
    return (double)w->n * (double)tally_dtype_size(w->dtype) * (form == TALLY_REDUCE ? 1 : 2);
}

double ladder_moved(const ladder_work *w, const ladder_step *step) {
    return (double)w->n * (double)tally_dtype_size(w->dtype) * step->passes;
}

double ladder_flops(const ladder_work *w) {
    return (double)w->n;
}

uint64_t ladder_atomics(const ladder_work *w, const ladder_result *r) {
    return r->step->atomics == COUNT_N ? w->n : r->step->atomics == COUNT_BLOCKS ? r->facts.blocks : 0;
}

/* Each thread of a block adds its elements one after the other; then the block halves the number of values until one is
 * left. Blocks that do not fit on the device wait for those that do, so there are waves of blocks. */
uint64_t ladder_tree_steps(uint64_t n, unsigned block, unsigned items, uint64_t resident) {
    const uint64_t a_block = (uint64_t)block * items;
    const uint64_t blocks = n / a_block + (n % a_block != 0);
    const uint64_t waves = resident == 0 ? blocks : blocks / resident + (blocks % resident != 0);
    uint64_t halvings = 0;
    while ((UINT64_C(1) << halvings) < block)
        halvings++;
    return waves * (items - 1 + halvings);
}

/* The step that the family names, or else the part's first. */
static bool is_baseline(const ladder_family *family, const ladder_step *step) {
    bool named = false;
    for (size_t i = 0; i < family->step_count; i++)
        named = named || (family->steps[i].part == step->part && family->steps[i].baseline);
    return named ? step->baseline : !step->wrong_on_purpose;
}

const ladder_result *ladder_baseline(const ladder_report *report, int part) {
    for (size_t i = 0; i < report->count; i++) {
        const ladder_result *r = &report->results[i];
        if (r->step->part == part && r->seconds > 0 && is_baseline(report->work->family, r->step))
            return r;
    }
    return NULL;
}

bool ladder_clock_is_fixed(void) {
    const char *clock = getenv("TALLY_LADDER_CLOCK");
    return clock && clock[0] == 'f';
}
