#include "cuda/marks.h"

#include "core/arithmetic.h"

enum {
    CLEARED = 4,         /* words that a thread clears on average, if there are many */
    BYTES_A_THREAD = 64, /* of offsets that each thread checks and marks: as many as it loads at a time */
    MARKING_BLOCKS = 8   /* for each multiprocessor at most; their threads take turns */
};

tally_status tally_cuda_clear_early(const tally_cuda_launch *l) {
    tally_cuda_clear_words_args args = {.words = l->workspace, .count = l->cut->early_bytes / 4};
    const tally_cuda_grid grid = {
        .x = tally_cuda_blocks_for(l->plan->device, divide_up(args.count, CLEARED), TALLY_CUDA_BLOCK, MARKING_BLOCKS),
        .threads = TALLY_CUDA_BLOCK,
        .starts_early = true};
    return tally_cuda_enqueue(l, l->plan->kernels.clear_words, grid, &args, "clearing the workspace");
}

tally_status tally_cuda_mark_offsets(const tally_cuda_launch *l) {
    const tally_status status = tally_cuda_clear_early(l);
    if (status != TALLY_OK)
        return status;
    const CUdeviceptr control = l->workspace + l->cut->control;
    const uint64_t segments = l->args->shape.groups;
    const uint64_t threads = segments * l->plan->gpu.base.computation.index_bytes / BYTES_A_THREAD + 1;
    tally_cuda_mark_args args = {.marks = {.offsets = tally_cuda_address(l->args->offsets),
                                           .segments = segments,
                                           .n = l->cut->elements,
                                           .bits = l->workspace + l->cut->bits},
                                 .refused = control + offsetof(tally_cuda_control, refused),
                                 .where = control + offsetof(tally_cuda_control, not_bad)};
    const tally_cuda_grid grid = {.x =
                                      tally_cuda_blocks_for(l->plan->device, threads, TALLY_CUDA_BLOCK, MARKING_BLOCKS),
                                  .threads = TALLY_CUDA_BLOCK,
                                  .starts_early = true};
    return tally_cuda_enqueue(l, l->plan->kernels.mark_offsets, grid, &args, "launching the check of offsets");
}
