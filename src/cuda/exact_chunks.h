/* Exact scans in all words by chunks (exact_chunks.cu): the cut of a run, and its launches. */
#ifndef TALLY_CUDA_EXACT_CHUNKS_H
#define TALLY_CUDA_EXACT_CHUNKS_H

#include "cuda/dispatch.h"

/* Any grouping and shape with elements, and segments without. */
void tally_cuda_exact_chunks_cut(const tally_cuda_device *device, const tally_computation *computation,
                                 const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_exact_chunks_launch(const tally_cuda_launch *launch);

#endif
