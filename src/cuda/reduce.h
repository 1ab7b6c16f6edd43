/* Reductions of all values and of rows of consecutive elements: how a run is cut, and its launches. */
#ifndef TALLY_CUDA_REDUCE_H
#define TALLY_CUDA_REDUCE_H

#include "cuda/dispatch.h"

/* Rows of any length (reduce.cu). */
void tally_cuda_rows_cut(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t extent,
                         tally_cuda_cut *cut);
tally_status tally_cuda_rows_launch(const tally_cuda_launch *launch);

/* Many short rows, read where they lie (short_rows.cu, tiny_rows.cu). False if that is no way for them. */
bool tally_cuda_short_rows_cut(const tally_cuda_device *device, const tally_computation *computation,
                               const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_short_rows_launch(const tally_cuda_launch *launch);
tally_status tally_cuda_tiny_rows_launch(const tally_cuda_launch *launch);

tally_cuda_destination tally_cuda_destination_of(const tally_cuda_launch *launch);

/* Folds what the chunks of rows or columns gave (partials.cu). */
tally_status tally_cuda_partials_launch(const tally_cuda_launch *launch, CUfunction kernel, uint64_t chunks);

/* Bytes of accumulators that the chunks of a reduction may leave to the launch that folds them. */
enum { TALLY_CUDA_PARTIAL_BYTES = 900 << 10 };

#endif
