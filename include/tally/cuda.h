/* tally on CUDA: for programs that use CUDA themselves.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
 *
 * Others need tally/tally.h alone: tally_open("cuda:0", ...) and what follows there. This header names no type of
 * CUDA's and needs none of its headers; contexts and streams are passed as the pointers that they are.
 *
 *   Contexts    "cuda:N" uses device N's primary context, which is that of the CUDA run time (cudaMalloc, PyTorch,
 *               CuPy, Numba) as well: memory and streams of such programs fit it. A program with a context that it
 *               made by cuCtxCreate opens its device by tally_cuda_open. Whatever context is current on a thread when
 *               it calls tally is current again when the call returns.
 *   Streams     The tally_stream given to tally_run is a CUstream (or cudaStream_t) of the device's context. The
 *               result is there when the work in the stream is; inputs, outputs, workspace, plan and device must stay
 *               until then. A call with a workspace of tally_plan_workspace bytes and a stream only enqueues: it
 *               allocates nothing and waits for nothing, so that it may stand in a stream that is being captured
 *               into a graph. Without a workspace it may allocate, and wait for that. TALLY_SYNCHRONOUS (NULL) runs
 *               after all that is in the default stream and returns when the result is there. The default stream
 *               itself is given as TALLY_CUDA_STREAM_LEGACY or TALLY_CUDA_STREAM_PER_THREAD.
 *   Memory      Pointers in tally_args are to memory of the device, or to any other that it can read and write:
 *               managed, or host memory that was allocated or registered for it. args.count is host memory.
 *   Kernels     are compiled for the device when a plan first needs them, which takes from some tenths of a second to
 *               several seconds, and are kept for other processes in $XDG_CACHE_HOME/tally (~/.cache/tally). Up to five
 *               threads compile those of a plan, and end before tally_plan_create returns.
 *   Libraries   The driver (libcuda.so.1) and the compiler (libnvrtc) are found at run time.
 *
 * Environment
 *   TALLY_NVRTC       the path of libnvrtc; else the system's libraries, /usr/local/cuda and Python's packages
 *   TALLY_LIBCUDA     the path of the driver's library; else libcuda.so.1
 *   TALLY_THREADS     how many threads may compile; 1: the calling one alone
 *   TALLY_CACHE_DIR   another folder for kernels
 *   TALLY_CACHE       0: keep none on disk
 *   TALLY_CACHE_MIB   how large the folder may grow, 256 unless told otherwise; then what was used longest ago goes
 */
#ifndef TALLY_CUDA_H
#define TALLY_CUDA_H

#include "tally/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The two default streams, under the values by which CUDA itself takes them for a stream. */
#define TALLY_CUDA_STREAM_LEGACY     ((tally_stream)0x1)
#define TALLY_CUDA_STREAM_PER_THREAD ((tally_stream)0x2)

/* Opens the device of a CUcontext. The context remains the caller's: it must be valid until after tally_close, which
 * does not destroy it. It may be current on any thread, several, or none. One context may be opened several times.
 *
 * TALLY_INVALID_ARGUMENT for NULL and for what the driver does not take for a context; TALLY_NO_DEVICE where the driver
 * or the compiler is missing, or the library was built without CUDA. Any thread may call. */
TALLY_API tally_status tally_cuda_open(void *context, tally_device **device);

/* Memory of the host that is locked in its place, so that tally_copy between it and the device goes at the speed of the
 * bus: ordinary memory is copied through the driver's buffers first. It can be used like any other, by the device too.
 * To be freed before the device is closed. Locked memory is taken from all other programs, so take a few MiB, two
 * blocks to fill and to send in turns, rather than all of an input.
 *
 * TALLY_OUT_OF_MEMORY where the host locks no more; TALLY_INVALID_ARGUMENT for a device that is none of CUDA's. Any
 * thread may call; tally_cuda_free_host takes NULL. */
TALLY_API tally_status tally_cuda_alloc_host(tally_device *device, size_t bytes, void **memory);
TALLY_API void tally_cuda_free_host(tally_device *device, void *memory);

#ifdef __cplusplus
}
#endif
#endif
