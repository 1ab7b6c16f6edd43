/* Reductions by labels on CUDA. With few groups each thread has a table (label_tables.cu). Integers and most sums of
 * floats are added in tables of a block, and minima, maxima and bits are found there (label_sums.h). All else is sorted
 * by label, and each group is then a segment (sort_labels.cu). */
#ifndef TALLY_CUDA_LABELS_H
#define TALLY_CUDA_LABELS_H

#include "cuda/dispatch.h"

void tally_cuda_labels_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);

/* The workspace has been cleared. */
tally_status tally_cuda_labels_launch(const tally_cuda_launch *launch);
tally_status tally_cuda_tables_launch(const tally_cuda_launch *launch);

#endif
