/* The part of a CUDA device's interface that concerns memory. */
#ifndef TALLY_CUDA_MEMORY_H
#define TALLY_CUDA_MEMORY_H

#include "core/backend.h"

tally_status tally_cuda_memory_alloc(tally_device *device, size_t bytes, void **memory);
void tally_cuda_memory_free(tally_device *device, void *memory);
tally_status tally_cuda_memory_copy(tally_device *device, void *to, const void *from, size_t bytes);

#endif
