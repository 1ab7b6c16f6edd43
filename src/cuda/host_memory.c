/* Host memory for fast copies. */
#include <stdio.h>

#include "cuda/many_memory.h"
#include "cuda/memory.h"
#include "tally/cuda.h"

/* NULL and a message if the device is not a CUDA device. */
static const tally_cuda_device *cuda_device_of(const tally_device *device, const char *call) {
    if (device && device->interface->alloc == tally_cuda_memory_alloc)
        return (const tally_cuda_device *)device;
    if (device && tally_cuda_is_many(device))
        return ((const tally_cuda_many *)device)->gpu[0];
    tally_fail(TALLY_INVALID_ARGUMENT, "%s: %s", call,
               device ? "this is not a CUDA device; use malloc" : "NULL where a device is expected");
    return NULL;
}

tally_status tally_cuda_alloc_host(tally_device *device, size_t bytes, void **memory) {
    const tally_cuda_device *cuda = cuda_device_of(device, "tally_cuda_alloc_host");
    char what[64];
    void *address = NULL;
    if (!cuda)
        return TALLY_INVALID_ARGUMENT;
    if (!memory)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_cuda_alloc_host: NULL where the memory's place is expected");
    tally_status status = tally_cuda_enter(cuda);
    if (status != TALLY_OK)
        return status;
    CUresult result = cuda->api->cuMemHostAlloc(&address, bytes ? bytes : 1, CU_MEMHOSTALLOC_PORTABLE);
    tally_cuda_leave(cuda);
    if (result == CUDA_ERROR_INVALID_VALUE) /* a size that no address reaches */
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *memory = address;
    snprintf(what, sizeof what, "allocating %zu bytes of locked host memory", bytes);
    return tally_cuda_check(result, what);
}

void tally_cuda_free_host(tally_device *device, void *memory) {
    const tally_cuda_device *cuda = memory ? cuda_device_of(device, "tally_cuda_free_host") : NULL;
    if (!cuda || tally_cuda_enter(cuda) != TALLY_OK)
        return;
    cuda->api->cuMemFreeHost(memory);
    tally_cuda_leave(cuda);
}
