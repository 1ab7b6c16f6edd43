#include "cuda/group_words.h"

#include <stddef.h>

#include "core/arithmetic.h"

enum {
    WARP = 32,
    WARPS = TALLY_CUDA_BLOCK / WARP,
    BLOCKS = 8,        /* for each multiprocessor at most; their warps take turns */
    LEAST_CHUNK = 512, /* elements of a warp */
    LEAST_STATES = 64, /* states of a warp */
};

static const char what[] = "launching the kernels of words by groups", what_heads[] = "launching the search for heads";

static tally_cuda_grid grid_for(const tally_cuda_launch *l, uint64_t threads) {
    return (tally_cuda_grid){.x = tally_cuda_blocks_for(l->plan->device, threads, TALLY_CUDA_BLOCK, BLOCKS),
                             .threads = TALLY_CUDA_BLOCK};
}

/* ---- offsets of runs of keys ---- */

void tally_cuda_heads_cut(const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    cut->ranks = tally_cuda_place(cut, divide_up(shape->extent, sizes->heads_chunk) * sizeof(uint64_t));
}

void tally_cuda_list_runs_cut(const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    cut->first = tally_cuda_place(cut, (shape->extent + 1) * sizeof(uint64_t));
    tally_cuda_heads_cut(sizes, shape, cut);
}

tally_cuda_heads_args tally_cuda_heads_of(const tally_cuda_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const tally_args *a = l->args;
    const bool counts = tally_counts_runs(c); /* else there is a result for each element */
    tally_cuda_heads_args args = {.keys = tally_cuda_address(a->keys),
                                  .ranks = l->workspace + l->cut->ranks,
                                  .told = l->workspace + l->cut->control,
                                  .n = a->shape.extent,
                                  .room = counts ? a->out_bytes / (c->out_bytes * c->per_result) : UINT64_MAX};
    if (counts && a->keys_out)
        args.room = least(args.room, a->keys_out_bytes / c->index_bytes);
    return args;
}

static tally_cuda_grid grid_of_heads(const tally_cuda_launch *l) {
    return grid_for(l, divide_up(l->args->shape.extent, l->plan->sizes.heads_chunk) * WARP);
}

tally_status tally_cuda_rank_heads(const tally_cuda_launch *l, tally_cuda_heads_args *args) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_cuda_grid one_block = {.x = 1, .threads = TALLY_CUDA_BLOCK};
    const tally_status status = tally_cuda_enqueue(l, k->count_heads, grid_of_heads(l), args, what_heads);
    return status == TALLY_OK ? tally_cuda_enqueue(l, k->rank_heads, one_block, args, what_heads) : status;
}

tally_status tally_cuda_list_runs(const tally_cuda_launch *l) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    const bool counts = tally_counts_runs(&l->plan->gpu.base.computation);
    tally_cuda_list_runs_args args = {.heads = tally_cuda_heads_of(l),
                                      .keys_out = counts ? tally_cuda_address(l->args->keys_out) : 0,
                                      .starts = l->workspace + l->cut->first};
    tally_status status = tally_cuda_rank_heads(l, &args.heads);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->list_run_heads, grid_of_heads(l), &args, what_heads);
    if (status == TALLY_OK && args.keys_out)
        status = tally_cuda_enqueue(l, k->put_run_keys, grid_for(l, args.heads.n), &args, what_heads);
    return status;
}

tally_cuda_group_offsets tally_cuda_group_offsets_of(const tally_cuda_launch *l) {
    return (tally_cuda_group_offsets){.offsets = tally_cuda_address(l->args->offsets),
                                      .starts = l->workspace + l->cut->first,
                                      .told = l->workspace + l->cut->control,
                                      .segments = l->args->shape.groups};
}

/* ---- offsets of segments ---- */

tally_status tally_cuda_check_offsets(const tally_cuda_launch *l, bool refuses_empty) {
    const CUdeviceptr control = l->workspace + l->cut->control;
    tally_cuda_check_args check = {.offsets = tally_cuda_address(l->args->offsets),
                                   .segments = l->args->shape.groups,
                                   .n = l->args->shape.extent,
                                   .refuses_empty = refuses_empty,
                                   .refused = control + offsetof(tally_cuda_control, refused),
                                   .where = control + offsetof(tally_cuda_control, not_bad)};
    return tally_cuda_enqueue(l, l->plan->kernels.check_segments, grid_for(l, check.segments / WARPS + 1), &check,
                              what);
}

/* ---- states ---- */

void tally_cuda_group_words_cut(const tally_cuda_device *device, const tally_computation *c,
                                const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t warps = (uint64_t)device->multiprocessors * BLOCKS * WARPS;
    const bool keys = c->desc.grouping == TALLY_KEYS;
    if (keys && !shape->extent)
        return;
    cut->path = TALLY_CUDA_GROUP_WORDS;
    cut->group_words.chunk = most(c->takes_words ? LEAST_STATES : LEAST_CHUNK, divide_up(shape->extent, warps));
    cut->group_words.chunks = most(1, divide_up(shape->extent, cut->group_words.chunk));
    cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    cut->zeroed_bytes = cut->bytes;
    cut->partials = tally_cuda_place(cut, cut->group_words.chunks * sizes->group_part_bytes);
    if (keys)
        tally_cuda_list_runs_cut(sizes, shape, cut);
}

tally_status tally_cuda_group_words_launch(const tally_cuda_launch *l) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_computation *c = &l->plan->gpu.base.computation;
    const tally_args *a = l->args;
    const CUdeviceptr out = tally_cuda_address(a->out), x = tally_cuda_address(a->x);
    const bool keys = c->desc.grouping == TALLY_KEYS, refuses_empty = tally_empty_is_error(c);
    const uint64_t groups = keys ? a->shape.extent : a->shape.groups;
    tally_cuda_group_states_args args = {.x = c->takes_words ? 0 : x,
                                         .y = c->takes_words ? 0 : tally_cuda_address(a->y),
                                         .states = c->takes_words ? x : 0,
                                         .out = c->gives_words ? 0 : out,
                                         .words = c->gives_words ? out : 0,
                                         .groups = tally_cuda_group_offsets_of(l),
                                         .parts = l->workspace + l->cut->partials,
                                         .n = a->shape.extent,
                                         .chunk = l->cut->group_words.chunk,
                                         .chunks = l->cut->group_words.chunks};
    tally_status status = keys ? tally_cuda_list_runs(l) : tally_cuda_check_offsets(l, refuses_empty);
    if (status == TALLY_OK && c->takes_words)
        status = tally_cuda_enqueue(l, k->check_group_states, grid_for(l, args.n), &args, what);
    if (status == TALLY_OK && c->takes_words && refuses_empty)
        status = tally_cuda_enqueue(l, k->find_empty_groups, grid_for(l, least(groups, 1 << 30) * WARP), &args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->fold_group_states, grid_for(l, args.chunks * WARP), &args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->join_group_parts, grid_for(l, most(args.chunks * WARP, groups)), &args, what);
    return status;
}
