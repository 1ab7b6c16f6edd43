#include "cuda/many_shared.h"

#include "core/arithmetic.h"
#include "cuda/many_memory.h"

enum { MOST = TALLY_CUDA_MOST_GPUS };

typedef tally_cuda_shared run;

uint64_t tally_cuda_many_most_parts(const tally_cuda_many *many, uint64_t bytes) {
    return many->granularity ? least((uint64_t)many->count, bytes / (many->granularity * TALLY_CUDA_LEAST_UNITS)) : 0;
}

int tally_cuda_many_gpu_at(const run *r, const void *address, int otherwise) {
    tally_cuda_many *many = r->plan->many;
    return many->first[tally_cuda_many_place(many, address, otherwise)];
}

/* ---- streams ---- */

CUstream tally_cuda_many_stream(const run *r, int gpu) {
    if (!r->stream)
        return r->plan->many->gpu[gpu]->stream;
    return gpu ? r->plan->own[gpu].stream : (CUstream)r->stream;
}

tally_status tally_cuda_many_note(const run *r, int gpu) {
    const tally_cuda_device *device = r->plan->many->gpu[gpu];
    tally_status status = tally_cuda_enter(device);
    if (status != TALLY_OK)
        return status;
    status = tally_cuda_check(device->api->cuEventRecord(r->plan->own[gpu].event, tally_cuda_many_stream(r, gpu)),
                              "recording an event");
    tally_cuda_leave(device);
    return status;
}

tally_status tally_cuda_many_follow(const run *r, int gpu, int other) {
    const tally_cuda_device *device = r->plan->many->gpu[gpu];
    if (gpu == other)
        return TALLY_OK;
    tally_status status = tally_cuda_enter(device);
    if (status != TALLY_OK)
        return status;
    status =
        tally_cuda_check(device->api->cuStreamWaitEvent(tally_cuda_many_stream(r, gpu), r->plan->own[other].event, 0),
                         "waiting for another GPU");
    tally_cuda_leave(device);
    return status;
}

tally_status tally_cuda_many_fork(const run *r) {
    tally_status status = tally_cuda_many_note(r, 0);
    for (int k = 1; k < MOST && status == TALLY_OK; k++)
        if (r->is_used[k])
            status = tally_cuda_many_follow(r, k, 0);
    return status;
}

tally_status tally_cuda_many_join(const run *r) {
    tally_status status = TALLY_OK;
    for (int k = 1; k < MOST && status == TALLY_OK; k++)
        if (r->is_used[k]) {
            status = tally_cuda_many_note(r, k);
            if (status == TALLY_OK)
                status = tally_cuda_many_follow(r, 0, k);
        }
    return status;
}
