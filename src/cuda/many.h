/* Several GPUs of one process as one device: "cuda:*", "cuda:0,1". Its memory has a block on each GPU, in one range of
 * addresses; a run over much data has a part for each GPU. A list may name a GPU twice, which gives it two parts. */
#ifndef TALLY_CUDA_MANY_H
#define TALLY_CUDA_MANY_H

#include "cuda/cuda.h"

enum {
    TALLY_CUDA_MOST_GPUS = 16, /* in a list */

    /* Units of memory in a part of a run, and in a block of an array: 128 MiB. On two H200s a sum of 64 MiB took 27 us
     * on one GPU that had all of it, 53 in two parts, and 105 on one GPU that had half of it; of 1 GiB 249, 159. */
    TALLY_CUDA_LEAST_UNITS = 64
};

typedef struct tally_cuda_span tally_cuda_span;

typedef struct tally_cuda_many {
    tally_device base;
    int count;                                    /* of the list */
    int first[TALLY_CUDA_MOST_GPUS];              /* place of the first entry that names the same GPU */
    tally_cuda_device *gpu[TALLY_CUDA_MOST_GPUS]; /* entries that name the same GPU share its device */
    size_t granularity;     /* bytes of a GPU's block are a multiple of it; 0: there are no blocks */
    pthread_mutex_t mutex;  /* guards: */
    tally_cuda_span *spans; /* memory in blocks */
} tally_cuda_many;

/* Whether a device is of this kind. */
bool tally_cuda_is_many(const tally_device *device);

/* Whether the text after "cuda:" names several GPUs. */
bool tally_cuda_names_many(const char *options);

tally_status tally_cuda_many_open(const char *options, tally_device **device);

/* The place in the list of the GPU that has the memory at an address; 'otherwise' for memory of the host. */
int tally_cuda_many_place(tally_cuda_many *many, const void *address, int otherwise);

/* Bytes from the address to the end of its block; SIZE_MAX for other memory. The driver copies within one GPU's memory
 * at a time. */
size_t tally_cuda_many_rest(tally_cuda_many *many, CUdeviceptr address);

/* many_memory.c */
tally_status tally_cuda_many_alloc(tally_device *device, size_t bytes, void **memory);
void tally_cuda_many_free(tally_device *device, void *memory);
tally_status tally_cuda_many_copy(tally_device *device, void *to, const void *from, size_t bytes);
void tally_cuda_many_free_all(tally_cuda_many *many);

/* many_plan.c */
tally_status tally_cuda_many_supports(const tally_device *device, const tally_computation *computation);
tally_status tally_cuda_many_plan_create(tally_device *device, const tally_computation *computation, tally_plan **plan);
void tally_cuda_many_plan_destroy(tally_plan *plan);
tally_status tally_cuda_many_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes);
tally_status tally_cuda_many_run(tally_plan *plan, const tally_args *args, uint64_t results, tally_stream stream);
tally_status tally_cuda_many_push(tally_plan *plan, const tally_args *args);
tally_status tally_cuda_many_finish(tally_plan *plan, void *out, size_t out_bytes);
void tally_cuda_many_reset(tally_plan *plan);
tally_status tally_cuda_many_resume(tally_plan *plan, const tally_words_form *form, const int64_t *words,
                                    uint64_t columns);

#endif
