/* What comes before a scan by segments: offsets become bits that mark where segments begin. */
#ifndef TALLY_CUDA_MARKS_H
#define TALLY_CUDA_MARKS_H

#include "cuda/dispatch.h"

/* Clears the beginning of the workspace by a kernel, so that the next launch starts early. */
tally_status tally_cuda_clear_early(const tally_cuda_launch *launch);

/* Clears it, checks the offsets, and marks the elements at which segments begin. */
tally_status tally_cuda_mark_offsets(const tally_cuda_launch *launch);

#endif
