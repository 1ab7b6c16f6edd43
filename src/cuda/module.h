/* Kernels by their source: compiled for the device when they are first asked for, then kept in memory and on disk. */
#ifndef TALLY_CUDA_MODULE_H
#define TALLY_CUDA_MODULE_H

#include <stddef.h>

#include "cuda/driver.h"

typedef struct tally_cuda_device tally_cuda_device;
typedef struct tally_cuda_module tally_cuda_module;

/* The module that this source makes under these options (NVRTC's, without --gpu-architecture, which the device
 * decides). It belongs to the device and lives as long. Source and options are not kept. Compilers' and drivers'
 * messages are passed on. Any thread may call, in any context; of several threads that ask for the same module one
 * compiles it. */
tally_status tally_cuda_module_get(tally_cuda_device *device, const char *source, const char *const *options,
                                   size_t count, const tally_cuda_module **module);

/* A kernel that was declared extern "C" in the source, loaded, so that launching it does not wait. */
tally_status tally_cuda_function(const tally_cuda_module *module, const char *name, CUfunction *function);

/* Unloads all of a device's modules. The device's context is current. */
void tally_cuda_modules_unload(tally_cuda_device *device);

#endif
