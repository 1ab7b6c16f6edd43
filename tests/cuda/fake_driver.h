/* A stand-in for libcuda.so.1, for machines without a GPU: its memory is the host's, its contexts are stacks of
 * threads, its kernels are names. FAKE_CUDA in the environment chooses what cuInit finds. The structure that
 * fake_driver() returns sets everything else, and counts the objects that are held. */
#ifndef TALLY_TEST_CUDA_FAKE_DRIVER_H
#define TALLY_TEST_CUDA_FAKE_DRIVER_H

typedef struct fake_driver_state {
    /* to be set by the test */
    int memory_is_full;   /* cuMemAlloc */
    int images_to_refuse; /* so many loads fail */
    int capability;       /* 90 */
    /* counted by the driver */
    int primary_contexts, streams, modules, allocations, host_allocations;
    int loads; /* tried */
} fake_driver_state;

/* The context on top of the calling thread's stack, and the stack's height. */
typedef struct fake_thread_state {
    void *current;
    int height;
} fake_thread_state;

typedef fake_driver_state *fake_driver_function(void);
typedef fake_thread_state fake_thread_function(void);
/* A context that the program has made itself, on device 1. */
typedef void *fake_context_function(void);

#endif
