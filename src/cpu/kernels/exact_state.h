/* The accumulator of exact mode: a superaccumulator, or a pair of doubles for as long as that holds the sum. A few
 * values need no superaccumulator, which makes small segments and short rows cheap.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_STATE_H
#define TALLY_CPU_KERNELS_EXACT_STATE_H

#include <math.h>

#include "exact/round.h"
#include "exact/superaccumulator.h"

typedef struct tally_exact_state {
    enum { TALLY_HOLDS_NOTHING, TALLY_HOLDS_PAIR, TALLY_HOLDS_LIMBS } holds; /* which of the two below is valid */
    uint64_t pair_count;                                                     /* summands of the pair */
    tally_exact_pair pair;
    tally_superaccumulator limbs;
} tally_exact_state;

static inline void tally_exact_to_limbs(tally_exact_state *state, tally_exact_layout layout) {
    if (state->holds == TALLY_HOLDS_LIMBS)
        return;
    tally_superaccumulator_init(&state->limbs, layout);
    if (state->holds == TALLY_HOLDS_PAIR) {
        tally_superaccumulator_deposit_value(&state->limbs, state->pair.high);
        if (state->pair.low != 0) /* a zero in the pair is not a summand */
            tally_superaccumulator_deposit_value(&state->limbs, state->pair.low);
        state->limbs.count = state->pair_count;
        state->limbs.others = !(state->pair.high == 0 && signbit(state->pair.high)); /* -0 only from nothing but -0 */
    }
    state->holds = TALLY_HOLDS_LIMBS;
}

#endif
