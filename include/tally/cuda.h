/* tally on CUDA: for programs that use CUDA themselves.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
 *
 * Other programs need only tally/tally.h and tally_open("cuda:0", ...). This header names no type of CUDA's and needs
 * none of its headers. Contexts and streams, which are pointers, are passed as such.
 *
 *   Contexts    "cuda:N" uses device N's primary context. The CUDA run time (cudaMalloc, PyTorch, CuPy, Numba) uses the
 *               same one, so memory and streams of such programs fit. A program that made a context with cuCtxCreate
 *               opens its device with tally_cuda_open. The context that is current on a thread when it calls tally is
 *               current again when the call returns.
 *   Streams     The tally_stream given to tally_run is a CUstream (or cudaStream_t) of the device's context. The
 *               result is ready when the stream's work is done; inputs, outputs, workspace, plan and device must exist
 *               until then. A call with a workspace of tally_plan_workspace bytes and a stream only enqueues. It
 *               allocates nothing and waits for nothing, so a stream may be captured into a graph; one of a plan with
 *               TALLY_SIZE_ON_DEVICE serves many sizes. Without a workspace the call may allocate one, and wait.
 *               TALLY_SYNCHRONOUS (NULL) runs after all work in the default stream and returns when the result is
 *               ready. To enqueue in the default stream, pass TALLY_CUDA_STREAM_LEGACY or TALLY_CUDA_STREAM_PER_THREAD.
 *   Memory      Pointers in tally_args are to memory of the device, or to other memory that it can read and write:
 *               managed memory, or host memory that was allocated or registered for it. args.count is host memory.
 *   Lists       "cuda:0,1" and "cuda:*" are several GPUs of this process, up to 16, as one device. They must be
 *               able to use each other's memory (over NVLink or PCIe), else opening fails with TALLY_NO_DEVICE.
 *               tally_alloc gives an array that lies on all of them, in equal blocks behind one address. Memory of
 *               one of the GPUs and memory of the host may also be given. Some runs over at least 128 MiB a GPU are
 *               cut into a part for each entry of the list, and the GPU that has a part's data runs it: reductions
 *               and forward scans of all values and along an axis, of every operator but USER, except exact scans of
 *               floats; and, with TALLY_SYNCHRONOUS, all by segments and keys but states. All other runs take place on
 *               the GPU that has the data. Results have the same bits every run; fast results may differ from a
 *               single GPU's. Streams are of the first GPU. Each GPU has its own workspace, so tally_plan_workspace
 *               gives 0, and the first run of a shape may allocate: run it once before a capture. A list may name a
 *               GPU twice.
 *   Kernels     are compiled for the device when a run first needs them. So the first run of a plan, and the first run
 *               of a shape that needs other kernels, takes from some tenths of a second to a few seconds more, also
 *               while a stream is captured. tally_plan_create compiles the kernels of user operators, and one or two
 *               kernels of exact sums and of scans of all values, to learn how many of their blocks fit on the device.
 *               Compiled kernels are kept for other processes in $XDG_CACHE_HOME/tally (~/.cache/tally). Up to 16
 *               threads compile, and end before the call returns.
 *   Libraries   The driver (libcuda.so.1) and the compiler (libnvrtc) are found at run time.
 *
 * Environment
 *   TALLY_NVRTC       the path of libnvrtc; else the system's libraries, /usr/local/cuda and Python's packages
 *   TALLY_LIBCUDA     the path of the driver's library; else libcuda.so.1
 *   TALLY_THREADS     how many threads may compile; 1: only the calling thread
 *   TALLY_CACHE_DIR   another folder for kernels
 *   TALLY_CACHE       0: keep none on disk
 *   TALLY_CACHE_MIB   how large the folder may grow, 256 by default; beyond it, the least recently used files go
 *   TALLY_PREBUILT_DIR  another folder with kernels that were compiled ahead; a library that was built with
 *                     -DTALLY_CUDA_PREBUILT="80;90;100" installs the kernels of the commonest computations
 */
#ifndef TALLY_CUDA_H
#define TALLY_CUDA_H

#include "tally/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CUDA's two default streams, with the values that CUDA itself uses for them. */
#define TALLY_CUDA_STREAM_LEGACY     ((tally_stream)0x1)
#define TALLY_CUDA_STREAM_PER_THREAD ((tally_stream)0x2)

/* Opens the device of a CUcontext. The caller keeps the context: it must be valid until after tally_close, which does
 * not destroy it. It may be current on one thread, several or none, and may be opened several times.
 *
 * TALLY_INVALID_ARGUMENT for NULL and for a pointer that the driver does not know as a context; TALLY_NO_DEVICE if the
 * driver or the compiler is missing, or the library was built without CUDA. Any thread may call. */
TALLY_API tally_status tally_cuda_open(void *context, tally_device **device);

/* Allocates page-locked host memory. tally_copy between it and the device runs at the speed of the bus, whereas
 * ordinary memory is first copied through the driver's buffers. Both the host and the device can use it. Free it before
 * the device is closed. Locked memory is not available to other programs, so allocate a few MiB, such as two blocks
 * that are filled and sent in turns, rather than a whole input.
 *
 * TALLY_OUT_OF_MEMORY if the host locks no more; TALLY_INVALID_ARGUMENT for a device that is not a CUDA device. Any
 * thread may call; tally_cuda_free_host accepts NULL. */
TALLY_API tally_status tally_cuda_alloc_host(tally_device *device, size_t bytes, void **memory);
TALLY_API void tally_cuda_free_host(tally_device *device, void *memory);

#ifdef __cplusplus
}
#endif
#endif
