/* An open CUDA device, as the parts of this back end see it. */
#ifndef TALLY_CUDA_CUDA_H
#define TALLY_CUDA_CUDA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"
#include "cuda/driver.h"
#include "cuda/module.h"

struct tally_cuda_device {
    tally_device base;
    const tally_cuda_api *api;
    CUdevice device;
    CUcontext context;
    bool owns_context; /* the primary context, retained; else the caller's own */
    CUstream stream;   /* for synchronous calls. Ordered with the default stream, so it sees what was put in there */
    int ordinal;
    int architecture;              /* 90 for compute capability 9.0 */
    int multiprocessors;           /* 132 on an H200 */
    int threads_per_sm;            /* resident at once */
    size_t l2_bytes;               /* second-level cache */
    size_t shared_bytes_per_block; /* the most that a kernel can have which opts in */
    size_t shared_bytes_per_sm;
    uint64_t memory_bytes;
    bool reads_any_memory; /* also unregistered memory of the host */

    pthread_mutex_t mutex;                               /* guards what follows */
    pthread_cond_t built;                                /* a module's state has changed */
    tally_cuda_module *modules[TALLY_CUDA_MODULE_LISTS]; /* by their keys, the newest first */
};

/* Makes the device's context current on this thread, and later restores the one before. Calls nest; each enter that
 * returned TALLY_OK needs a leave on the same thread. */
tally_status tally_cuda_enter(const tally_cuda_device *device);
void tally_cuda_leave(const tally_cuda_device *device);

/* A pointer in the driver's type, and back. */
static inline CUdeviceptr tally_cuda_address(const void *pointer) {
    return (CUdeviceptr)(uintptr_t)pointer;
}

static inline void *tally_cuda_pointer(CUdeviceptr address) {
    return (void *)(uintptr_t)address;
}

#endif
