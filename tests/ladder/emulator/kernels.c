/* The part of the driver's stand-in that runs kernels: modules are shared libraries of the host, as nvrtc.c makes them.
 * The rest is tests/cuda/fake_driver.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/driver.h"

struct CUfunc_st {
    struct CUfunc_st *next;
    void *kernel;
    int arguments;
    int (*launch)(void *, int, void **, unsigned, unsigned);
};

static struct CUfunc_st *functions; /* all that were handed out, for as long as the process lives */

/* Where a shared library's sections end: its size is not told. */
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
    const size_t bytes = elf_bytes(image);
    const int fd = memfd_create("kernel", MFD_CLOEXEC);
    (void)options, (void)names, (void)values;
    if (fd < 0 || write(fd, image, bytes) != (ssize_t)bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    *module = (CUmodule)dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*module)
        fprintf(stderr, "emulator: %s\n", dlerror());
    /* The descriptor stays open: the next one must have another path, or it would be taken for the same library. */
    return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

CUresult cuModuleUnload(CUmodule module) {
    (void)module; /* functions are handed out for the process */
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    char counted[128];
    CUfunction made = calloc(1, sizeof *made);
    snprintf(counted, sizeof counted, "emulate_arguments_%s", name);
    const int *arguments = dlsym((void *)module, counted);
    void *launch = dlsym((void *)module, "emulate_launch");
    made->kernel = dlsym((void *)module, name);
    memcpy(&made->launch, &launch, sizeof launch);
    if (!made->kernel || !arguments || !launch) {
        free(made);
        return CUDA_ERROR_NOT_FOUND;
    }
    made->arguments = *arguments;
    made->next = functions;
    functions = made;
    *function = made;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes, CUstream stream,
                        void **parameters, void **extra) {
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)dynamic_shared_bytes, (void)stream, (void)extra;
    return function->launch(function->kernel, function->arguments, parameters, grid_x, block_x)
               ? CUDA_ERROR_LAUNCH_FAILED
               : CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    (void)attribute, (void)function;
    *value = 16;
    return CUDA_SUCCESS;
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    (void)stream;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)(uintptr_t)to + 4 * i, &value, 4);
    return CUDA_SUCCESS;
}

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
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event) {
    (void)event;
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
    (void)begin, (void)end;
    *milliseconds = 1;
    return CUDA_SUCCESS;
}
