/* Which plans take or give states in words (words.h), and what is computed to get such states. */
#ifndef TALLY_CUDA_STATES_H
#define TALLY_CUDA_STATES_H

#include "core/computation.h"

static inline bool tally_cuda_has_states(const tally_computation *c) {
    return (c->takes_words || c->gives_words) && !c->exact;
}

/* Whether the host combines states (gpu/by_host.h). Kernels that sort by label do not move states. */
static inline bool tally_cuda_is_by_host(const tally_computation *c) {
    return c->takes_words && c->desc.grouping == TALLY_LABELS;
}

/* Whether they are those of segments or of runs of keys (group_states.cu). */
static inline bool tally_cuda_has_group_states(const tally_computation *c) {
    return tally_cuda_has_states(c) && (c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS);
}

/* The computation of the same states from elements to values, with the same grouping. */
static inline void tally_cuda_computation_of_states(const tally_computation *c, tally_computation *states) {
    tally_computation_of_states(c, states);
    states->desc.grouping = c->desc.grouping;
    states->desc.index = c->desc.index;
    states->index_bytes = c->index_bytes;
    states->skips_nan = c->skips_nan;
}

#endif
