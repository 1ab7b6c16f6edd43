/* Stands in for the CUDA back end in a library that is built without it. */
#include "core/backend.h"
#include "tally/cuda.h"
#include "tally/nccl.h"

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

tally_status tally_nccl_plan_create(tally_device *device, const tally_desc *desc, tally_split split, unsigned flags,
                                    void *comm, tally_nccl_plan **plan) {
    (void)device, (void)desc, (void)split, (void)flags, (void)comm, (void)plan;
    return tally_backend_refuse(&tally_cuda_backend);
}

void tally_nccl_plan_destroy(tally_nccl_plan *plan) {
    (void)plan;
}

tally_status tally_nccl_run(tally_nccl_plan *plan, const tally_args *args, unsigned flags, tally_stream stream) {
    (void)plan, (void)args, (void)flags, (void)stream;
    return tally_backend_refuse(&tally_cuda_backend);
}
