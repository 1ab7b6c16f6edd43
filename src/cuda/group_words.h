/* States of segments and of runs of keys in words, given and taken, of all operators but exact sums: group_states.cu.
 * And where groups begin: heads.cu, list_runs.cu, group_offsets.cu. */
#ifndef TALLY_CUDA_GROUP_WORDS_H
#define TALLY_CUDA_GROUP_WORDS_H

#include "cuda/dispatch.h"

void tally_cuda_group_words_cut(const tally_cuda_device *device, const tally_computation *computation,
                                const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
/* The workspace has been cleared. */
tally_status tally_cuda_group_words_launch(const tally_cuda_launch *launch);

/* Reserves the memory in which tally_cuda_rank_heads leaves, at cut->ranks, how many runs begin before each chunk.
 * Needs cut->control. */
void tally_cuda_heads_cut(const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
tally_cuda_heads_args tally_cuda_heads_of(const tally_cuda_launch *launch);
tally_status tally_cuda_rank_heads(const tally_cuda_launch *launch, tally_cuda_heads_args *args);

/* The same, and at cut->first that in which tally_cuda_list_runs leaves the runs' offsets. */
void tally_cuda_list_runs_cut(const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut);
/* Enqueues the kernels that find the offsets, write args->keys_out, and leave the number of runs in the control
 * block. */
tally_status tally_cuda_list_runs(const tally_cuda_launch *launch);

/* Where a run's segments begin, or its runs of keys by tally_cuda_list_runs. */
tally_cuda_group_offsets tally_cuda_group_offsets_of(const tally_cuda_launch *launch);

/* Enqueues the check of a plan's offsets: what it finds is in the control block. */
tally_status tally_cuda_check_offsets(const tally_cuda_launch *launch, bool refuses_empty);

#endif
