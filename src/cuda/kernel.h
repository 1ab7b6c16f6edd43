/* A program's own kernels on an open CUDA device, for the ladder: made from source text through the cache that the
 * library's own go through, launched on the device's own stream, and timed there.
 *
 * This and the compiler (cuda/compiler.h, for machine code without a device) are all that the ladder sees of the back
 * end, and neither is exported: a reader of the ladder wants to see kernels run beside the library's, under the same
 * compiler and the same clock; a program that has kernels of its own has the driver to launch them. Nothing here knows
 * the driver's types, so that including it asks for nothing else.
 *
 * Calls only enqueue unless they say otherwise. TALLY_UNSUPPORTED for a device of another back end. */
#ifndef TALLY_CUDA_KERNEL_H
#define TALLY_CUDA_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "tally/tally.h"

typedef struct tally_cuda_facts {
    int architecture; /* 90 for compute capability 9.0 */
    int multiprocessors;
    size_t l2_bytes;
} tally_cuda_facts;

tally_status tally_cuda_facts_of(tally_device *device, tally_cuda_facts *facts);

/* The stream on which all this happens: what tally_run is to be given for a run between two readings of the timer. */
tally_status tally_cuda_stream_of(tally_device *device, tally_stream *stream);

/* A kernel, which lives as long as its device. */
typedef struct tally_cuda_kernel {
    void *function;
    unsigned block;    /* threads */
    int registers;     /* a thread */
    int shared_bytes;  /* a block, as declared in the kernel */
    uint64_t resident; /* blocks that the device holds at once */
} tally_cuda_kernel;

/* Compiles the source, or finds it compiled, and looks up a kernel declared extern "C" in it. Waits. Options are
 * NVRTC's. TALLY_INVALID_ARGUMENT has the compiler's log in the message. */
tally_status tally_cuda_kernel_make(tally_device *device, const char *source, const char *const *options, size_t count,
                                    const char *name, unsigned block, tally_cuda_kernel *kernel);

/* 'parameters' point at the kernel's arguments, in order. */
tally_status tally_cuda_kernel_launch(tally_device *device, const tally_cuda_kernel *kernel, uint64_t grid,
                                      void **parameters);

/* Sets 32-bit words of device memory; copies, to or from either side. */
tally_status tally_cuda_set_words(tally_device *device, void *memory, uint32_t word, size_t words);
tally_status tally_cuda_copy_later(tally_device *device, void *to, const void *from, size_t bytes);

/* The device's clock: 'begin' and 'end' are put into the stream, 'read' waits for the second and gives the seconds
 * between the two. One measurement at a time. */
typedef struct tally_cuda_timer tally_cuda_timer;
tally_status tally_cuda_timer_create(tally_device *device, tally_cuda_timer **timer);
void tally_cuda_timer_destroy(tally_cuda_timer *timer);
tally_status tally_cuda_timer_begin(tally_cuda_timer *timer);
tally_status tally_cuda_timer_end(tally_cuda_timer *timer);
tally_status tally_cuda_timer_read(tally_cuda_timer *timer, double *seconds);

#endif
