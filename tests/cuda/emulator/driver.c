/* The part of the driver's stand-in that runs kernels; the rest is ../fake_driver.c. Modules are shared libraries of
 * the host that nvrtc.c makes. EMULATE_CAPABILITY (90) is the device's compute capability. EMULATE_MULTIPROCESSORS (2)
 * is its size, which is small so that small inputs take several waves. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/driver.h"
#include "early.h"
#include "scheduler.h"

/* Names last as long as the process, so that functions do too. */
struct CUfunc_st {
    char name[64];
    const emulate_kernel *kernel;
};
struct CUmod_st {
    void *library;
    int descriptor;
};

enum { MOST_CLUSTER = 16 /* blocks */ };

static int number(const char *variable, int otherwise) {
    const char *value = getenv(variable);
    return value && atoi(value) > 0 ? atoi(value) : otherwise;
}

static int capability(void) {
    return number("EMULATE_CAPABILITY", 90);
}

static int multiprocessors(void) {
    return number("EMULATE_MULTIPROCESSORS", 2);
}

/* That a block can have. */
static int shared_bytes(void) {
    return capability() >= 90 ? 227 << 10 : capability() == 80 ? 163 << 10 : capability() > 80 ? 99 << 10 : 64 << 10;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    (void)device;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = capability() / 10;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = capability() % 10;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = multiprocessors();
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        *value = capability() == 75 ? 1024 : 2048;
        break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        *value = 1 << 20;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = shared_bytes();
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        *value = shared_bytes() + 1024;
        break;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        *value = 1;
        break;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
        *value = 0;
        break;
    default:
        *value = 1024;
    }
    return CUDA_SUCCESS;
}

/* ---- memory: all is the host's. Arrays in blocks have an address of each device in turn, so that both take part. ----
 */

enum { PAGE = 1 << 12 };

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    *(unsigned *)value = attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (unsigned)(address / PAGE % 2)
                                                                          : (unsigned)CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    *can = device != peer;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    (void)peer, (void)flags;
    return CUDA_SUCCESS;
}

/* Small, so that small arrays lie on several devices and small inputs have several parts. */
CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags which) {
    (void)properties, (void)which;
    *bytes = 4;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr wanted, uint64_t flags) {
    (void)alignment, (void)wanted, (void)flags;
    void *memory = bytes < (size_t)1 << 30 ? aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE) : NULL;
    *address = (CUdeviceptr)(uintptr_t)memory;
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
    (void)bytes;
    free((void *)(uintptr_t)address);
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties,
                     uint64_t flags) {
    (void)bytes, (void)properties, (void)flags;
    *handle = 1;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    return handle == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  uint64_t flags) {
    (void)offset, (void)flags;
    return address && bytes && handle == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
    return address && bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t count) {
    return address && bytes && access && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- modules ---- */

/* The end of a shared library's sections, because its size is not passed. */
static size_t elf_bytes(const unsigned char *image) {
    uint64_t sections;
    uint16_t size, count;
    memcpy(&sections, image + 0x28, sizeof sections);
    memcpy(&size, image + 0x3a, sizeof size);
    memcpy(&count, image + 0x3c, sizeof count);
    return (size_t)sections + (size_t)size * count;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned options, CUjit_option *names, void **values) {
    char path[64];
    (void)options, (void)names, (void)values;
    if (memcmp(image, "\177ELF", 4) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    const size_t bytes = elf_bytes(image);
    CUmodule made = calloc(1, sizeof *made);
    made->descriptor = memfd_create("kernel", MFD_CLOEXEC);
    if (made->descriptor < 0 || write(made->descriptor, image, bytes) != (ssize_t)bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    /* The descriptor stays open: the next must have another path, or it would be taken for the same library. */
    snprintf(path, sizeof path, "/proc/self/fd/%d", made->descriptor);
    made->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!made->library) {
        fprintf(stderr, "emulator: %s\n", dlerror());
        close(made->descriptor);
        free(made);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *module = made;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
    dlclose(module->library);
    close(module->descriptor);
    free(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "emulate_kernel_%s", name);
    const emulate_kernel *kernel = dlsym(module->library, symbol);
    if (!kernel)
        return CUDA_ERROR_NOT_FOUND;
    CUfunction made = calloc(1, sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->kernel = kernel;
    *function = made;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    (void)attribute, (void)function;
    *value = 16;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    (void)function;
    return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value > shared_bytes()
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block_threads,
                                                     size_t dynamic_shared_bytes) {
    (void)function, (void)block_threads;
    *blocks = dynamic_shared_bytes <= (size_t)shared_bytes();
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config) {
    (void)function, (void)config;
    *clusters = capability() >= 90;
    return CUDA_SUCCESS;
}

/* ---- launches: done when the call returns ---- */

static CUresult run(emulate_launch launch) {
    if (launch.dynamic_bytes > (size_t)shared_bytes() || !launch.grid.x || !launch.grid.y || !launch.block ||
        launch.block > launch.kernel->most_threads)
        return CUDA_ERROR_INVALID_VALUE;
    return emulate_run(&launch) ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes, CUstream stream,
                        void **parameters, void **extra) {
    (void)grid_z, (void)block_y, (void)block_z, (void)extra;
    return run((emulate_launch){.name = function->name,
                                .kernel = function->kernel,
                                .parameters = parameters,
                                .grid = {grid_x, grid_y, 1},
                                .block = block_x,
                                .dynamic_bytes = dynamic_shared_bytes,
                                .stream = stream});
}

static bool fits(unsigned blocks) {
    return blocks <= (unsigned)multiprocessors();
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
    emulate_launch launch = {.name = function->name,
                             .kernel = function->kernel,
                             .parameters = parameters,
                             .grid = {config->gridDimX, config->gridDimY, 1},
                             .block = config->blockDimX,
                             .dynamic_bytes = config->sharedMemBytes,
                             .stream = config->hStream};
    (void)extra;
    for (unsigned k = 0; k < config->numAttrs; k++) {
        const CUlaunchAttribute *attribute = &config->attrs[k];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            launch.cluster = attribute->value.clusterDim.x;
        else if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            launch.cooperative = attribute->value.cooperative;
        else if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            launch.starts_early = attribute->value.programmaticStreamSerializationAllowed;
    }
    if (launch.cluster > MOST_CLUSTER || (launch.cluster && capability() < 90))
        return CUDA_ERROR_INVALID_VALUE;
    if (launch.cooperative && !fits(launch.grid.x * launch.grid.y))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return run(launch);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes,
                                   CUstream stream, void **parameters) {
    (void)grid_z, (void)block_y, (void)block_z;
    if (!fits(grid_x * grid_y))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return run((emulate_launch){.name = function->name,
                                .kernel = function->kernel,
                                .parameters = parameters,
                                .grid = {grid_x, grid_y, 1},
                                .block = block_x,
                                .dynamic_bytes = dynamic_shared_bytes,
                                .cooperative = true,
                                .stream = stream});
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    (void)stream;
    early_forget();
    for (size_t i = 0; i < count; i++)
        memcpy((char *)(uintptr_t)to + 4 * i, &value, 4);
    return CUDA_SUCCESS;
}

/* ---- events: nothing takes any time ---- */

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    (void)flags;
    *event = malloc(1);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
    free((void *)event);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    (void)event, (void)stream;
    early_forget();
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    (void)flags;
    early_forget();
    return stream && event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuEventSynchronize(CUevent event) {
    (void)event;
    early_forget();
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
    (void)begin, (void)end;
    *milliseconds = 1;
    return CUDA_SUCCESS;
}
