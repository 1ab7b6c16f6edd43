/* Scans along an axis whose elements do not lie next to each other: the cut of a run, and its launches. */
#ifndef TALLY_CUDA_SCAN_COLUMNS_H
#define TALLY_CUDA_SCAN_COLUMNS_H

#include "cuda/dispatch.h"

/* By panels of columns (panels.cu) or, if those do not suit, by stretches of single columns (scan_columns.cu). */
void tally_cuda_scan_columns_cut(const tally_cuda_device *device, const tally_computation *computation,
                                 const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
/* Cuts a scan into columns that clusters hold in registers. False if there are too many rows. */
bool tally_cuda_held_columns_cut(const tally_cuda_device *device, const tally_computation *computation,
                                 const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
/* Cuts a scan of long rows along a short axis for scan_thin.cu. False if another way is better. */
bool tally_cuda_scan_thin_cut(const tally_cuda_device *device, const tally_computation *computation,
                              const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_scan_thin_launch(const tally_cuda_launch *launch);
/* Cuts a scan along a short axis, also of rows, into tiles of scan_slabs.cu. False if another way is better. */
bool tally_cuda_scan_slabs_cut(const tally_cuda_device *device, const tally_computation *computation,
                               const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_scan_slabs_launch(const tally_cuda_launch *launch);
tally_status tally_cuda_held_columns_launch(const tally_cuda_launch *launch);
tally_status tally_cuda_panels_launch(const tally_cuda_launch *launch);
tally_status tally_cuda_stretches_launch(const tally_cuda_launch *launch);

#endif
