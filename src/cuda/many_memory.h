/* The memory of several GPUs as one device. */
#ifndef TALLY_CUDA_MANY_MEMORY_H
#define TALLY_CUDA_MANY_MEMORY_H

#include "cuda/many.h"

/* Whether a device is of this kind. */
bool tally_cuda_is_many(const tally_device *device);

/* The place in the list of the GPU that has the memory at an address; 'otherwise' for memory of the host. */
int tally_cuda_many_place(tally_cuda_many *many, const void *address, int otherwise);

/* Bytes from the address to the end of its block; SIZE_MAX for other memory. The driver copies within one GPU's memory
 * at a time. */
size_t tally_cuda_many_rest(tally_cuda_many *many, CUdeviceptr address);

/* The part of the device's interface that concerns memory. */
tally_status tally_cuda_many_alloc(tally_device *device, size_t bytes, void **memory);
void tally_cuda_many_free(tally_device *device, void *memory);
tally_status tally_cuda_many_copy(tally_device *device, void *to, const void *from, size_t bytes);

/* At the end of the device. */
void tally_cuda_many_free_all(tally_cuda_many *many);

#endif
