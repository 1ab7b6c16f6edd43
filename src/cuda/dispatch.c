/* Launches, with attributes if driver and device know them. Drivers for devices that have clusters do. */
#include "cuda/dispatch.h"

#include "core/arithmetic.h"

/* Older drivers cannot capture an early start into a graph. */
enum { CAPTURES_EARLY_STARTS = 12030 };

tally_status tally_cuda_start(const tally_cuda_device *device, CUfunction kernel, tally_cuda_grid grid, CUstream stream,
                              void **parameters, const char *what) {
    const tally_cuda_api *api = device->api;
    const unsigned x = (unsigned)grid.x, y = grid.y ? (unsigned)grid.y : 1;
    CUlaunchAttribute attributes[3];
    unsigned count = 0;
    const bool is_together = grid.is_together && grid.x > 1;
    const bool starts_early = grid.starts_early && device->architecture >= 90 && api->version >= CAPTURES_EARLY_STARTS;
    if (is_together && !starts_early)
        return tally_cuda_check(
            api->cuLaunchCooperativeKernel(kernel, x, y, 1, grid.threads, 1, 1, grid.shared, stream, parameters), what);
    if (is_together)
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    if (starts_early)
        attributes[count++] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                                  .value.programmaticStreamSerializationAllowed = 1};
    if (grid.cluster)
        attributes[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {grid.cluster, 1, 1}};
    if (!count || !api->cuLaunchKernelEx)
        return tally_cuda_check(
            api->cuLaunchKernel(kernel, x, y, 1, grid.threads, 1, 1, grid.shared, stream, parameters, NULL), what);
    const CUlaunchConfig config = {.gridDimX = x,
                                   .gridDimY = y,
                                   .gridDimZ = 1,
                                   .blockDimX = grid.threads,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = grid.shared,
                                   .hStream = stream,
                                   .attrs = attributes,
                                   .numAttrs = count};
    return tally_cuda_check(api->cuLaunchKernelEx(&config, kernel, parameters, NULL), what);
}

uint64_t tally_cuda_blocks_for(const tally_cuda_device *device, uint64_t threads, unsigned block,
                               unsigned most_a_processor) {
    const uint64_t enough = (uint64_t)device->multiprocessors * most_a_processor;
    return most(1, least(divide_up(threads, block), enough));
}

tally_status tally_cuda_enqueue(const tally_cuda_launch *l, tally_cuda_kernel_number kernel, tally_cuda_grid grid,
                                void *arguments, const char *what) {
    CUdeviceptr size = l->size;
    CUfunction function;
    void *parameters[] = {arguments, &size};
    if (l->wanted) {
        tally_cuda_want(l->wanted, l->plan, kernel);
        return TALLY_OK;
    }
    grid.starts_early = grid.starts_early && !size;
    const tally_status status = tally_cuda_kernel_get(l->plan, kernel, grid.shared, &function);
    return status == TALLY_OK ? tally_cuda_start(l->plan->device, function, grid, l->stream, parameters, what) : status;
}

tally_status tally_cuda_clear(const tally_cuda_launch *l, size_t bytes) {
    if (!bytes || l->wanted)
        return TALLY_OK;
    return tally_cuda_check(l->plan->device->api->cuMemsetD32Async(l->workspace, 0, bytes / 4, l->stream),
                            "clearing the workspace");
}
