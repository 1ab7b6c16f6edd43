/* Reductions of all values and of rows of consecutive elements: the cut of a run, and its launches. */
#ifndef TALLY_CUDA_REDUCE_H
#define TALLY_CUDA_REDUCE_H

#include "cuda/dispatch.h"

/* Rows of any length (reduce.cu). */
void tally_cuda_rows_cut(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t extent,
                         tally_cuda_cut *cut);
tally_status tally_cuda_rows_launch(const tally_cuda_launch *launch);

/* Many short rows, read directly (short_rows.cu, tiny_rows.cu). Returns false if this path cannot run the plan. */
bool tally_cuda_short_rows_cut(const tally_cuda_device *device, const tally_computation *computation,
                               const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_short_rows_launch(const tally_cuda_launch *launch);
tally_status tally_cuda_tiny_rows_launch(const tally_cuda_launch *launch);

tally_cuda_destination tally_cuda_destination_of(const tally_cuda_launch *launch);

/* Folds the partial results of the chunks of rows or columns (partials.cu). */
tally_status tally_cuda_partials_launch(const tally_cuda_launch *launch, tally_cuda_kernel_number kernel,
                                        uint64_t chunks);

/* Most bytes of accumulators that the chunks of a reduction leave to the launch that folds them. */
enum { TALLY_CUDA_PARTIAL_BYTES = 900 << 10 };

#endif
