#include "cuda/exact_chunks.h"

#include "core/arithmetic.h"
#include "cuda/accumulator.h"
#include "cuda/marks.h"

enum {
    /* Elements of a chunk. Chunks are as many as the device holds at a time, as long as they are not longer. 2^27 f64
     * of random bits took 3.8 ms on an H200, with 1.6 times as many chunks 4.5. A sum of f64 takes as much workspace as
     * 102 elements, in 32 and in 64 bits. */
    LEAST_CHUNK = 64,
    MOST_CHUNK = 4096,
    BLOCK_RESERVED = 1024 /* bytes of shared memory */
};

void tally_cuda_exact_chunks_cut(const tally_cuda_device *device, const tally_computation *c,
                                 const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    const bool has_columns = c->desc.grouping == TALLY_AXIS && shape->inner > 1;
    const uint64_t columns = has_columns ? shape->outer * shape->inner : 1,
                   length = has_columns ? shape->extent : cut->elements,
                   blocks = most(1, device->shared_bytes_per_sm / (sizes->chunks.shared + BLOCK_RESERVED)),
                   fair = divide_up(cut->elements,
                                    (uint64_t)device->multiprocessors * blocks * TALLY_CUDA_EXACT_CHUNKS_BLOCK);
    cut->path = TALLY_CUDA_EXACT_CHUNKS;
    cut->exact_chunks.columns = columns;
    cut->exact_chunks.chunk = round_up(most(LEAST_CHUNK, least(MOST_CHUNK, fair)), sizes->chunks.items);
    cut->exact_chunks.chunks = divide_up(length, cut->exact_chunks.chunk);
    cut->exact_chunks.pitch = round_up(columns * cut->exact_chunks.chunks, TALLY_CUDA_SUMS_AT_ONCE);
    if (c->desc.grouping == TALLY_SEGMENTS) {
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
        cut->bits = tally_cuda_place(cut, round_up(cut->elements, 32) / 8);
        cut->early_bytes = cut->bytes;
    }
    if (cut->exact_chunks.chunks > 1) {
        const uint64_t words = cut->exact_chunks.pitch * (tally_cuda_scan_integer_of(c).words + 1);
        cut->exact_chunks.sums = tally_cuda_place(cut, words * sizeof(uint32_t));
        cut->exact_chunks.before = tally_cuda_place(cut, words * sizeof(int64_t));
    }
}

tally_status tally_cuda_exact_chunks_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const tally_computation *c = &l->plan->gpu.base.computation;
    const bool segments = c->desc.grouping == TALLY_SEGMENTS;
    tally_cuda_exact_chunks_args args = {
        .x = tally_cuda_address(a->x),
        .out = tally_cuda_address(a->out),
        .initial = tally_cuda_address(a->initial),
        .carry = l->pieces.carry,
        .total = l->pieces.total,
        .bits = segments ? l->workspace + cut->bits : 0,
        .refused = segments ? l->workspace + cut->control + offsetof(tally_cuda_control, refused) : 0,
        .window = l->window,
        .sums = l->workspace + cut->exact_chunks.sums,
        .before = l->workspace + cut->exact_chunks.before,
        .n = cut->elements,
        .extent = a->shape.extent,
        .inner = a->shape.inner,
        .columns = cut->exact_chunks.columns,
        .segments = a->shape.groups,
        .chunk = cut->exact_chunks.chunk,
        .chunks = cut->exact_chunks.chunks,
        .pitch = cut->exact_chunks.pitch};
    const tally_cuda_grid grid = {.x = divide_up(args.columns * args.chunks, TALLY_CUDA_EXACT_CHUNKS_BLOCK),
                                  .threads = TALLY_CUDA_EXACT_CHUNKS_BLOCK,
                                  .shared = l->plan->sizes.chunks.shared,
                                  .starts_early = true},
                          words = {.x = tally_cuda_scan_integer_of(c).words + 1,
                                   .threads = TALLY_CUDA_SUMS_BLOCK,
                                   .starts_early = true};
    const tally_cuda_kernels *k = &l->plan->kernels;
    tally_status status = TALLY_OK;
    args.offsets = tally_cuda_address(segments ? a->offsets : a->keys);
    if (segments)
        status = tally_cuda_mark_offsets(l);
    if (status == TALLY_OK && args.chunks > 1)
        status = tally_cuda_enqueue(l, k->sum_exact_chunks, grid, &args, "launching the sums of an exact scan");
    if (status == TALLY_OK && args.chunks > 1)
        status = tally_cuda_enqueue(l, k->scan_exact_sums, words, &args, "launching the scan of these sums");
    if (status == TALLY_OK && args.chunks)
        status = tally_cuda_enqueue(l, k->scan_exact_chunks, grid, &args, "launching an exact scan");
    return status;
}
