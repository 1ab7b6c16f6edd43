/* Kernels by their source: prebuilt with the library (gpu/cache.h), or compiled for the device when they are first
 * needed and then kept in memory and on disk. */
#ifndef TALLY_CUDA_MODULE_H
#define TALLY_CUDA_MODULE_H

#include <stddef.h>

#include "cuda/driver.h"
#include "gpu/hash.h"

typedef struct tally_cuda_device tally_cuda_device;
typedef struct tally_cuda_module tally_cuda_module;

enum { TALLY_CUDA_MOST_SOURCES = 40 /* in one call */, TALLY_CUDA_MODULE_LISTS = 64 /* a device */ };

/* What a module is known by, whatever compiles it: in memory and among the prebuilt ones. */
tally_key tally_cuda_key_of(const char *source, const char *const *options, size_t count, int architecture);

/* The modules of these sources under these options (NVRTC's, without --gpu-architecture, which the device decides). The
 * device owns them, and they live as long as it. Sources and options are not kept. Messages of the compiler and the
 * driver are passed on; if several sources fail, the first source's. Any thread may call, in any context. If several
 * threads ask for the same module, one compiles it. Sources are compiled side by side, the first ones first. */
tally_status tally_cuda_modules_get(tally_cuda_device *device, const char *const *sources, size_t source_count,
                                    const char *const *options, size_t option_count, const tally_cuda_module **modules);

/* The same of one source. */
tally_status tally_cuda_module_get(tally_cuda_device *device, const char *source, const char *const *options,
                                   size_t count, const tally_cuda_module **module);

/* A kernel that was declared extern "C" in the source, loaded, so that launching it does not wait. */
tally_status tally_cuda_function(const tally_cuda_module *module, const char *name, CUfunction *function);

/* Unloads all of a device's modules. The device's context is current. */
void tally_cuda_modules_unload(tally_cuda_device *device);

#endif
