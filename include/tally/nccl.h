/* tally on NCCL: reductions and scans of an input that lies in parts on the GPUs of a communicator.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
 *
 * Every rank makes a plan for its GPU and runs it on its part. tally/ranks.h says what a part is for each grouping, and
 * which rank receives which results. Ranks exchange states in words, never elements. A reduction whose words have the
 * rule ADD or MAX takes one all-reduce (an exact sum: 17 int64s for f32, 74 for f64); with the rule ORDERED it takes an
 * all-gather. libnccl.so.2 is found at run time; this header needs no header of NCCL or CUDA.
 *
 *   ncclComm_t   is passed as a pointer. It is the caller's and must outlive the plan. All ranks must make their plans
 *                and their runs in the same order as their other operations on it.
 *   Streams      With TALLY_RANK_TRUSTED and a stream a run only enqueues, once the shape has run before, and may be
 *                captured into a graph. These computations can: reductions of ALL_VALUES, AXIS and LABELS; forward
 *                scans of ALL_VALUES and AXIS, except scans of mean, var and the like, argmin and argmax, which need to
 *                know how many elements came before. For all others pass TALLY_SYNCHRONOUS: the run begins after the
 *                work in the default stream, and returns when the result is there.
 *   Faults       Without TALLY_RANK_TRUSTED ranks compare descriptors, shapes and errors before data travel, so a rank
 *                that differs gives every rank the same error. If a rank dies, NCCL decides: its watchdog or
 *                ncclCommAbort ends the others, whose runs then return TALLY_DEVICE_FAILED.
 *
 * Environment: TALLY_NCCL is the path of the library. Without it libnccl.so.2 is opened as the system finds it: this is
 * the library that the program has already loaded, such as PyTorch's. */
#ifndef TALLY_NCCL_H
#define TALLY_NCCL_H

#include "tally/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tally_nccl_plan tally_nccl_plan;

/* Makes this rank's plan. 'device' is the GPU of the communicator's rank, "cuda:N" or of tally_cuda_open. flags:
 * TALLY_RANK_TRUSTED or 0. Waits for kernels to be compiled, not for other ranks. TALLY_INVALID_ARGUMENT for NULL,
 * unknown flags and a device that is not one CUDA GPU; TALLY_NO_DEVICE without libnccl; TALLY_DEVICE_FAILED if NCCL
 * refuses the communicator; TALLY_OUT_OF_MEMORY. If the device does not take the descriptor, the first run returns the
 * error, so that all ranks receive it. */
TALLY_API tally_status tally_nccl_plan_create(tally_device *device, const tally_desc *desc, tally_split split,
                                              unsigned flags, void *comm, tally_nccl_plan **plan);
TALLY_API void tally_nccl_plan_destroy(tally_nccl_plan *plan);

/* Runs the plan on this rank's part. flags: TALLY_RANK_CONTINUES or 0. One thread at a time. Errors are those of
 * tally_rank_next, and TALLY_DEVICE_FAILED with NCCL's text. */
TALLY_API tally_status tally_nccl_run(tally_nccl_plan *plan, const tally_args *args, unsigned flags,
                                      tally_stream stream);

#ifdef __cplusplus
}
#endif
#endif
