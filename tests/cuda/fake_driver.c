#include "fake_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver.h"
#ifdef FAKE_CUDA_RUNS_KERNELS
#include "emulator/early.h"
#else
#define early_allocated(memory, bytes)
#define early_freed(memory)
#define early_forget()
#endif

enum { DEVICES = 2, HIGHEST = 16 };

struct CUctx_st {
    int device;
};

static struct CUctx_st primary[DEVICES] = {{0}, {1}}, own = {1};
static fake_driver_state state = {.capability = 90};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local CUcontext stack[HIGHEST];
static _Thread_local int height;

static void count(int *counter, int change) {
    pthread_mutex_lock(&mutex);
    *counter += change;
    pthread_mutex_unlock(&mutex);
}

static int told(const char *word) {
    const char *said = getenv("FAKE_CUDA");
    return said && strcmp(said, word) == 0;
}

static CUcontext current(void) {
    return height > 0 ? stack[height - 1] : NULL;
}

static CUresult need_context(void) {
    return current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

fake_driver_state *fake_driver(void) {
    return &state;
}

fake_thread_state fake_thread(void) {
    return (fake_thread_state){current(), height};
}

void *fake_context(void) {
    return &own;
}

CUresult cuInit(unsigned flags) {
    (void)flags;
    return told("no_device")  ? CUDA_ERROR_NO_DEVICE
           : told("stub")     ? CUDA_ERROR_STUB_LIBRARY
           : told("mismatch") ? CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
           : told("broken")   ? CUDA_ERROR_UNKNOWN
                              : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    *version = told("old") ? 10020 : told("twelve") ? 12080 : 13000;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CUDA_ERROR_UNKNOWN     ? "CUDA_ERROR_UNKNOWN"
                                              : "CUDA_ERROR_OTHER";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "some other error";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *devices) {
    *devices = DEVICES;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
    snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    return CUDA_SUCCESS;
}

#ifndef FAKE_CUDA_RUNS_KERNELS /* else emulator/driver.c has this */
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? state.capability / 10
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? state.capability % 10
             : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 132
             : attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS   ? 0
                                                                         : 1024;
    return CUDA_SUCCESS;
}
#endif

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    (void)device;
    *bytes = (size_t)1 << 30;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    *context = &primary[device];
    count(&state.primary_contexts, 1);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    (void)device;
    count(&state.primary_contexts, -1);
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    if (context != &own && context != &primary[0] && context != &primary[1])
        return CUDA_ERROR_INVALID_CONTEXT;
    if (height == HIGHEST)
        return CUDA_ERROR_INVALID_VALUE;
    stack[height++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    *context = current();
    if (height == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    height--;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
    if (!current())
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = current()->device;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    if (!current())
        return CUDA_ERROR_INVALID_CONTEXT;
    void *memory = bytes && !state.memory_is_full && bytes < (size_t)1 << 30 ? malloc(bytes) : NULL;
    if (!memory)
        return bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    *address = (CUdeviceptr)(uintptr_t)memory;
    early_allocated(memory, bytes);
    count(&state.allocations, 1);
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    early_freed((void *)(uintptr_t)address);
    free((void *)(uintptr_t)address);
    count(&state.allocations, address ? -1 : 0);
    return need_context();
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    (void)flags;
    void *memory = bytes && !state.memory_is_full && bytes < (size_t)1 << 30 ? malloc(bytes) : NULL;
    if (!current() || !memory)
        return current() ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_CONTEXT;
    *address = memory;
    count(&state.host_allocations, 1);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) {
    free(address);
    count(&state.host_allocations, -1);
    return need_context();
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    if (!current() || !stream)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (to == 1 || from == 1) /* the test's address that no one knows */
        return CUDA_ERROR_INVALID_VALUE;
    early_forget();
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

#ifndef FAKE_CUDA_RUNS_KERNELS /* else emulator/driver.c has these */
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned options, CUjit_option *names, void **values) {
    (void)image, (void)options, (void)names, (void)values;
    pthread_mutex_lock(&mutex);
    state.loads++;
    int refused = state.images_to_refuse > 0;
    state.images_to_refuse -= refused;
    state.modules += !refused;
    pthread_mutex_unlock(&mutex);
    if (refused)
        return CUDA_ERROR_INVALID_IMAGE;
    *module = (CUmodule)malloc(1);
    return need_context();
}

CUresult cuModuleUnload(CUmodule module) {
    free((void *)module);
    count(&state.modules, -1);
    return need_context();
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    *function = (CUfunction)(void *)module;
    return strcmp(name, "absent") == 0 ? CUDA_ERROR_NOT_FOUND : need_context();
}
#endif

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    (void)flags;
    *stream = (CUstream)malloc(1);
    count(&state.streams, 1);
    return need_context();
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    free((void *)stream);
    count(&state.streams, -1);
    return need_context();
}

CUresult cuStreamSynchronize(CUstream stream) {
    (void)stream;
    early_forget();
    return need_context();
}

/* What the host's part does not call: there, and that is all. */
#ifndef FAKE_CUDA_RUNS_KERNELS
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    (void)function, (void)attribute, (void)value;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block_threads,
                                                     size_t dynamic_shared_bytes) {
    (void)function, (void)block_threads, (void)dynamic_shared_bytes;
    *blocks = 1;
    return CUDA_SUCCESS;
}
#endif

#ifndef FAKE_CUDA_RUNS_KERNELS
/* All memory is the host's own. */
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    (void)value, (void)attribute, (void)address;
    return CUDA_ERROR_INVALID_VALUE;
}
#endif

#define NOTHING(name)                                                                                                  \
    CUresult name(void) {                                                                                              \
        return CUDA_ERROR_UNKNOWN;                                                                                     \
    }
#ifndef FAKE_CUDA_RUNS_KERNELS
NOTHING(cuMemsetD32Async)
NOTHING(cuFuncGetAttribute)
NOTHING(cuLaunchKernel)
NOTHING(cuLaunchCooperativeKernel)
NOTHING(cuEventCreate)
NOTHING(cuEventDestroy_v2)
NOTHING(cuEventRecord)
NOTHING(cuEventSynchronize)
#ifndef FAKE_CUDA_LACKS_A_FUNCTION
NOTHING(cuEventElapsedTime)
#endif
#endif
