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

#endif
