#include "cuda/scan_few.h"

#include "core/arithmetic.h"

enum {
    MOST_ROWS = 3,     /* as in scan_few.cu */
    REACH = 128 << 10, /* bytes from a result's element to the farthest that it needs, which a cache still has */
    VECTOR = 16
};

bool tally_cuda_scans_few(const tally_computation *c, const tally_cuda_sizes *sizes, const tally_shape *shape) {
    const uint64_t extent = shape->extent, elements = shape->outer * extent * shape->inner;
    const bool are_narrow = c->in_bytes <= 2 && c->out_bytes * c->per_result <= 4;
    return !c->is_sized && !c->in_window && !sizes->is_large && extent >= 1 && extent <= MOST_ROWS &&
           (extent == 1 || (are_narrow && !c->exact && (extent - 1) * shape->inner * c->in_bytes <= REACH)) &&
           elements / TALLY_CUDA_BLOCK < INT32_MAX;
}

bool tally_cuda_can_scan_few(const tally_cuda_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const tally_args *a = l->args;
    return l->cut->is_few && !l->pieces.carry && !l->pieces.total && !l->pieces.before &&
           (a->shape.extent == 1 || (a->out != a->x && a->out != a->y)) &&
           (uintptr_t)a->out % (c->out_bytes * c->per_result) == 0;
}

tally_status tally_cuda_scan_few_launch(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    const tally_computation *c = &l->plan->gpu.base.computation;
    const uint64_t extent = a->shape.extent, slab = extent * a->shape.inner;
    /* results and words of a thread, as in scan_few.cu */
    const uint64_t result = c->out_bytes * c->per_result,
                   width = c->in_bytes == 2 && result == 1 ? VECTOR : VECTOR / most(c->in_bytes, result);
    const bool are_two = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS);
    const unsigned ahead = extent > 1 ? 1 : are_two || c->in_bytes >= result ? 2 : 4;
    tally_cuda_scan_few_args args = {.x = tally_cuda_address(a->x),
                                     .y = tally_cuda_address(a->y),
                                     .initial = tally_cuda_address(a->initial),
                                     .out = tally_cuda_address(a->out),
                                     .n = l->cut->elements,
                                     .of_slab = UINT64_MAX / slab,
                                     .extent = (uint32_t)extent,
                                     .inner = (uint32_t)a->shape.inner};
    /* results before the first aligned word are as many less in the first block */
    const uint64_t blocks = divide_up(args.n + width - 1, (uint64_t)TALLY_CUDA_BLOCK * width * ahead);
    const tally_cuda_grid grid = {.x = blocks, .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.scan_few, grid, &args, "launching a scan of a few rows");
}
