/* An open CUDA device and its plans, as the parts of this back end see them. */
#ifndef TALLY_CUDA_CUDA_H
#define TALLY_CUDA_CUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"
#include "cuda/driver.h"
#include "cuda/module.h"
#include "cuda/parts.h"
#include "gpu/plan.h"

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

/* Blocks of a kernel whose blocks wait for each other: one for each multiprocessor. Most of them take more than half of
 * it, and one always fits. */
static inline uint64_t tally_cuda_blocks_together(const tally_cuda_device *device) {
    return (uint64_t)device->multiprocessors;
}

/* A kernel of a plan: 1 and its place in kernels.def; 0 where the computation has no such one. */
typedef unsigned tally_cuda_kernel_number;

typedef struct tally_cuda_kernels {
#define TALLY_CUDA_KERNEL(name, text)                   tally_cuda_kernel_number name;
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call) tally_cuda_kernel_number name;
#include "cuda/kernels.def"
} tally_cuda_kernels;

/* What is loaded of a plan's kernels (loading.h). */
typedef struct tally_cuda_loading {
    _Atomic unsigned lacking;                   /* kernels that are not loaded */
    _Atomic bool is_loaded[TALLY_CUDA_KERNELS]; /* its function is then there to be read */
    CUfunction function[TALLY_CUDA_KERNELS];
    _Atomic bool is_allowed[TALLY_CUDA_KERNELS]; /* more shared memory than every kernel */
    _Atomic uint64_t resident;                   /* see tally_cuda_resident; 0: it is not yet asked */
    _Atomic unsigned widest_cluster;             /* known with it */
    pthread_mutex_t mutex;                       /* of those who load */
    bool has_mutex;
} tally_cuda_loading;

typedef struct tally_cuda_plan {
    tally_gpu_plan gpu;
    tally_plan *sorted; /* LABELS: reduces the sorted elements by segments; NULL for other groupings */
    tally_cuda_device *device;
    tally_cuda_sizes sizes;
    tally_cuda_kernels kernels;
    tally_cuda_loading loading;
    CUfunction carry_of_states; /* NULL before it is needed (carry.h) */
    tally_plan *in_window;      /* exact scans: the plan of those in a window, if it can serve; else NULL */
    tally_plan *places;         /* reverse scans of argmin and argmax by groups: the plan that scans; else NULL */
    tally_plan *states;         /* WORDS_OUT: the plan that makes the accumulators; else NULL */
} tally_cuda_plan;

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
