/* Runs that go on where other elements ended: the states of those, in words, become the accumulators from which a piece
 * begins. One kernel does that. It is compiled when a plan first needs it. */
#ifndef TALLY_CUDA_CARRY_H
#define TALLY_CUDA_CARRY_H

#include "cuda/cuda.h"

/* Compiles the kernel, so that tally_cuda_run_after waits for nothing. */
tally_status tally_cuda_carry_load(tally_plan *plan);

/* As tally_gpu_calls has it. */
tally_status tally_cuda_put_before(tally_gpu_plan *plan, uint64_t totals, const void *initial, uint64_t count);

/* As the device's interface has them. */
tally_status tally_cuda_resume(tally_plan *plan, const tally_words_form *form, const int64_t *words, uint64_t columns);
tally_status tally_cuda_run_after(tally_plan *plan, const tally_args *args, const int64_t *words, uint64_t parts,
                                  uint64_t before, tally_stream stream);

#endif
