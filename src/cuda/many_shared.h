/* Plans and runs of several GPUs, as the files that share runs out see them. */
#ifndef TALLY_CUDA_MANY_SHARED_H
#define TALLY_CUDA_MANY_SHARED_H

#include "cuda/many.h"

/* What a GPU has of a plan. Of a GPU that is named twice, the first entry has it. */
typedef struct tally_cuda_on_gpu {
    tally_plan *whole;         /* the computation itself */
    tally_plan *states;        /* of a part; NULL: there are no parts, or they need none */
    CUfunction rebase, spread; /* SEGMENTS: rebase.cu */
    CUstream stream;           /* of runs in a stream of the caller's; the first GPU has none */
    CUevent event;             /* where its work has come to */
} tally_cuda_on_gpu;

/* Memory of a part, on the GPU that last ran it. */
typedef struct tally_cuda_scratch {
    int gpu;
    void *memory;
    size_t bytes;
} tally_cuda_scratch;

/* What GPUs tell the host, in memory of the host that they write. */
typedef struct tally_cuda_notes {
    uint64_t counts[TALLY_CUDA_MOST_GPUS]; /* KEYS: the parts' runs */
    uint64_t offsets[2];                   /* SEGMENTS: that the host asked for */
    volatile uint32_t refused;             /* SEGMENTS: some part's offsets are wrong */
} tally_cuda_notes;

typedef struct tally_cuda_many_plan {
    tally_plan base;
    tally_cuda_many *many;
    tally_cuda_on_gpu own[TALLY_CUDA_MOST_GPUS];
    tally_plan *join;  /* on the first GPU: combines the parts' states; NULL for scans */
    CUdeviceptr words; /* on the first GPU: the parts' states */
    size_t words_bytes;
    tally_cuda_scratch scratch[TALLY_CUDA_MOST_GPUS]; /* SEGMENTS, KEYS */
    tally_cuda_notes *notes;                          /* likewise; NULL: not yet needed */
} tally_cuda_many_plan;

typedef struct tally_cuda_share {
    uint64_t first, count;  /* of what is shared out: rows of the axis, outer groups, or elements */
    uint64_t group, groups; /* SEGMENTS */
    int gpu;                /* place in the list */
} tally_cuda_share;

typedef struct tally_cuda_shared {
    tally_cuda_many_plan *plan;
    const tally_args *args;
    tally_stream stream; /* the caller's */
    uint64_t columns;    /* states of a part */
    bool shares_outer;   /* parts are outer groups, which need not be joined */
    size_t unit_bytes;   /* of what is shared out, in x */
    size_t count;        /* parts */
    tally_cuda_share part[TALLY_CUDA_MOST_GPUS];
    bool is_used[TALLY_CUDA_MOST_GPUS]; /* GPUs that have a part */
} tally_cuda_shared;

/* The most parts that so many bytes are worth. */
uint64_t tally_cuda_many_most_parts(const tally_cuda_many *many, uint64_t bytes);

/* The first entry that names the same GPU as the one in whose memory the address is. */
int tally_cuda_many_gpu_at(const tally_cuda_shared *run, const void *address, int otherwise);

/* The stream of a GPU in this run. */
CUstream tally_cuda_many_stream(const tally_cuda_shared *run, int gpu);

/* Notes where a GPU's work has come to; lets a GPU wait for what another has noted. */
tally_status tally_cuda_many_note(const tally_cuda_shared *run, int gpu);
tally_status tally_cuda_many_follow(const tally_cuda_shared *run, int gpu, int other);

/* Put all GPUs that have a part behind the first one, and the first one behind them. */
tally_status tally_cuda_many_fork(const tally_cuda_shared *run);
tally_status tally_cuda_many_join(const tally_cuda_shared *run);

#endif
