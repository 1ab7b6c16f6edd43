/* Reductions of columns, whose elements do not lie next to each other, and of many small slabs: the cut of a run, and
 * its launches. */
#ifndef TALLY_CUDA_COLUMNS_H
#define TALLY_CUDA_COLUMNS_H

#include "cuda/dispatch.h"

/* Many small slabs of extent x inner elements, also rows, through shared memory (slabs.cu). Returns false if they are
 * too large for that. */
bool tally_cuda_slabs_cut(const tally_cuda_device *device, const tally_cuda_sizes *sizes, const tally_shape *shape,
                          tally_cuda_cut *cut);
tally_status tally_cuda_slabs_launch(const tally_cuda_launch *launch);

/* Columns of any length (columns.cu). */
void tally_cuda_columns_cut(const tally_cuda_device *device, const tally_computation *computation,
                            const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_columns_launch(const tally_cuda_launch *launch);

/* Columns of a few rows, all of which a thread has (thin_columns.cu). Returns false if other ways are faster. */
bool tally_cuda_thin_columns_cut(const tally_computation *computation, const tally_cuda_sizes *sizes,
                                 const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_thin_columns_launch(const tally_cuda_launch *launch);

/* How busy the device is with this many equal parts if it holds 'places' at a time: a percentage, which is low if the
 * last turn has few parts. */
uint64_t tally_cuda_busy(uint64_t parts, uint64_t places);

#endif
