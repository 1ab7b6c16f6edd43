/* NVRTC, the run-time compiler of CUDA C, opened at run time.
 *
 * The library looks for it at TALLY_NVRTC (a path), under its usual names, below /usr/local/cuda*, and in the places
 * where Python's packages put it. A compiler that is newer than the driver is used only if there is no other. */
#ifndef TALLY_CUDA_COMPILER_H
#define TALLY_CUDA_COMPILER_H

#include <stddef.h>

#include "gpu/cache.h"
#include "tally/tally.h"

/* The compiler's version, 1000 * major + 10 * minor. Opens it. TALLY_NO_DEVICE says where the library looked for it and
 * what to do. Any thread may call. */
tally_status tally_cuda_compiler_version(int *version);

/* Compiles CUDA C for an architecture (90 for compute capability 9.0) into *image, which the caller frees: machine code
 * (a cubin) or, for a device that is newer than the compiler, PTX with the zero that ends it. 'name' names the source
 * in messages. Options are NVRTC's; --gpu-architecture and --minimal are added. A text that does not compile gives
 * TALLY_INVALID_ARGUMENT with the compiler's log in the message. log may be NULL; else it receives the compiler's
 * output, on success too, which the caller frees, or NULL if it is empty. Any thread may call. */
tally_status tally_cuda_compile(const char *source, const char *name, const char *const *options, size_t count,
                                int architecture, tally_image *image, char **log);

#endif
