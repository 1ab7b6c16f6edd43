/* Scans of all values, of rows, by segments and by keys, and of long narrow arrays: the cut of a run, and its launches.
 */
#ifndef TALLY_CUDA_SCAN_H
#define TALLY_CUDA_SCAN_H

#include "cuda/dispatch.h"

/* Scans along consecutive elements: held in registers (scan_held.cu), by look-back (scan_look_back.cu), in one wave
 * (scan_one_wave.cu) or in several (scan.cu). */
void tally_cuda_scan_cut(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut);
tally_status tally_cuda_scan_launch(const tally_cuda_launch *launch);
/* Finds the window of an exact scan from a sample. If checks_all, refuses it if any element does not fit. */
tally_status tally_cuda_scan_window_launch(const tally_cuda_launch *launch, bool checks_all);
tally_status tally_cuda_look_back_launch(const tally_cuda_launch *launch);
tally_status tally_cuda_held_launch(const tally_cuda_launch *launch);
tally_status tally_cuda_one_wave_launch(const tally_cuda_launch *launch);

/* Down the columns of one long array of few columns (scan_narrow.cu). Returns false if this path cannot run the plan.
 */
bool tally_cuda_narrow_cut(const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                           tally_cuda_cut *cut);
tally_status tally_cuda_narrow_launch(const tally_cuda_launch *launch);

#endif
