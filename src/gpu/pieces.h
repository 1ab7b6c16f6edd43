/* Inputs in pieces: accumulators stay on the device from one piece to the next, or the host takes the pieces. */
#ifndef TALLY_GPU_PIECES_H
#define TALLY_GPU_PIECES_H

#include "gpu/plan.h"

/* Begins an input in pieces of so many columns, each with 'initial' or, if that is NULL, with the identity. */
tally_status tally_gpu_begin_pieces(tally_gpu_plan *plan, uint64_t columns, const void *initial);

/* tally_resume with exact states of floats. */
tally_status tally_gpu_resume_exact(tally_gpu_plan *plan, const tally_words_form *form, const int64_t *words,
                                    uint64_t columns);

/* The interface of devices. */
tally_status tally_gpu_plan_push(tally_plan *plan, const tally_args *args);
tally_status tally_gpu_plan_finish(tally_plan *plan, void *out, size_t out_bytes);
void tally_gpu_plan_reset(tally_plan *plan);

#endif
