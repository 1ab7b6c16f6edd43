#include "cuda/memory.h"

#include <stdio.h>

#include "cuda/cuda.h"

tally_status tally_cuda_memory_alloc(tally_device *device, size_t bytes, void **memory) {
    const tally_cuda_device *cuda = (const tally_cuda_device *)device;
    char what[64];
    CUdeviceptr address = 0;
    tally_status status = tally_cuda_enter(cuda);
    if (status != TALLY_OK)
        return status;
    CUresult result = cuda->api->cuMemAlloc(&address, bytes ? bytes : 1);
    tally_cuda_leave(cuda);
    if (result == CUDA_ERROR_INVALID_VALUE) /* a size that no address reaches */
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        *memory = tally_cuda_pointer(address);
    snprintf(what, sizeof what, "allocating %zu bytes on cuda:%d", bytes, cuda->ordinal);
    return tally_cuda_check(result, what);
}

void tally_cuda_memory_free(tally_device *device, void *memory) {
    const tally_cuda_device *cuda = (const tally_cuda_device *)device;
    if (tally_cuda_enter(cuda) != TALLY_OK)
        return;
    cuda->api->cuMemFree(tally_cuda_address(memory));
    tally_cuda_leave(cuda);
}

/* Under unified addressing the driver tells from an address on which side it is. This uses the device's own stream
 * instead of cuMemcpy, because cuMemcpy returns before a copy within the device is done, and disturbs a capture in
 * another thread. */
tally_status tally_cuda_memory_copy(tally_device *device, void *to, const void *from, size_t bytes) {
    const tally_cuda_device *cuda = (const tally_cuda_device *)device;
    char what[64];
    tally_status status = tally_cuda_enter(cuda);
    if (status != TALLY_OK)
        return status;
    CUresult result = cuda->api->cuMemcpyAsync(tally_cuda_address(to), tally_cuda_address(from), bytes, cuda->stream);
    if (result == CUDA_SUCCESS)
        result = cuda->api->cuStreamSynchronize(cuda->stream);
    tally_cuda_leave(cuda);
    if (result == CUDA_ERROR_INVALID_VALUE)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "copying %zu bytes: the driver does not know one of the addresses, or less memory is there",
                          bytes);
    snprintf(what, sizeof what, "copying %zu bytes", bytes);
    return tally_cuda_check(result, what);
}
