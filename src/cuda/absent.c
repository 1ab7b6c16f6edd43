/* Stands in for the CUDA back end in a library that is built without it. */
#include "core/backend.h"
#include "tally/cuda.h"

const tally_backend tally_cuda_backend = {.name = "cuda", .left_out = "CUDA (TALLY_CUDA=OFF)"};

tally_status tally_cuda_open(void *context, tally_device **device) {
    (void)context, (void)device;
    return tally_backend_refuse(&tally_cuda_backend);
}

tally_status tally_cuda_alloc_host(tally_device *device, size_t bytes, void **memory) {
    (void)device, (void)bytes, (void)memory;
    return tally_backend_refuse(&tally_cuda_backend);
}

void tally_cuda_free_host(tally_device *device, void *memory) {
    (void)device, (void)memory;
}
