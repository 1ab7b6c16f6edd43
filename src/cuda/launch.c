#include "cuda/launch.h"

tally_status tally_cuda_enqueue(const tally_cuda_launch *l, CUfunction kernel, tally_cuda_grid grid, void *arguments,
                                const char *what) {
    void *parameters[] = {arguments};
    return tally_cuda_start(l->plan->device, kernel, grid, l->stream, parameters, what);
}

/* ---- input in pieces ---- */

enum { TOTALS_BLOCKS = 64 /* for each multiprocessor at most */ };

/* A thread for each accumulator. */
static tally_status start_and_wait(const tally_cuda_plan *plan, CUfunction kernel, uint64_t count, void *arguments,
                                   const char *what) {
    void *parameters[] = {arguments};
    const tally_cuda_device *device = plan->device;
    const tally_cuda_grid grid = {.x = tally_cuda_blocks_for(device, count, TALLY_CUDA_BLOCK, TOTALS_BLOCKS),
                                  .threads = TALLY_CUDA_BLOCK};
    tally_status status = tally_cuda_start(device, kernel, grid, device->stream, parameters, what);
    if (status == TALLY_OK)
        status = tally_cuda_check(device->api->cuStreamSynchronize(device->stream), "waiting for the device");
    return status;
}

tally_status tally_cuda_clear_totals(tally_gpu_plan *gpu, uint64_t totals, const void *initial, uint64_t count) {
    const tally_cuda_plan *plan = (const tally_cuda_plan *)gpu;
    tally_cuda_clear_args args = {.totals = totals, .initial = tally_cuda_address(initial), .count = count};
    return start_and_wait(plan, plan->kernels.clear_totals, count, &args, "launching the start of pieces");
}

tally_status tally_cuda_lower_totals(tally_gpu_plan *gpu, uint64_t totals, uint64_t count, uint64_t elements,
                                     void *out) {
    const tally_cuda_plan *plan = (const tally_cuda_plan *)gpu;
    tally_cuda_lower_args args = {
        .totals = totals, .count = count, .elements = elements, .out = tally_cuda_address(out)};
    return start_and_wait(plan, plan->kernels.lower_totals, count, &args, "launching the end of pieces");
}
