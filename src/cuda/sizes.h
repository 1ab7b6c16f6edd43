/* How much of a computation a thread, a block and its shared memory take. */
#ifndef TALLY_CUDA_SIZES_H
#define TALLY_CUDA_SIZES_H

#include "core/computation.h"

/* The sizes that the kernels and their caller must agree on; the kernels check them when they are compiled. */
typedef struct tally_cuda_sizes {
    unsigned slot_bytes;      /* an accumulator in global memory */
    unsigned record_bytes;    /* what a tile of a scan adds up to, in full */
    unsigned entry_bytes;     /* the same as other blocks read it */
    unsigned vector;          /* elements in 16 bytes of input */
    unsigned unroll;          /* vectors that a reducing thread loads at a time */
    bool has_clusters;        /* for a reduction of little input */
    unsigned cluster_threads; /* a block of a cluster */
    unsigned column_width;    /* neighbouring columns that a thread reduces, if they can be loaded together */
    unsigned column_spots;    /* accumulators of a block of reduced columns */
    bool folds_by_warps;      /* warp_segments.cu instead of fold_segments.cu */
    bool folds_in_waves;      /* wave_runs.cu instead of fold_runs.cu */
    unsigned fold_tile;       /* elements a tile of a reduction by groups */
    unsigned fold_blocks;     /* of those a multiprocessor, for which registers must do */
    unsigned cut_bytes;       /* what such a reduction keeps of a chunk's ends */
    unsigned held_rows;       /* vectors a thread of scan_held.cu; 0: no scan that it does */
    unsigned held_cluster;    /* its blocks that a cluster may have; 0: none */
    struct {                  /* wave_runs.cu */
        unsigned ring;        /* tiles of elements in shared memory */
        unsigned key_ring;    /* of keys */
        unsigned waves;       /* of entries */
        unsigned threads;     /* a block, in all */
        unsigned shared;      /* bytes of shared memory */
    } wave;
    struct {                /* scan_tiles.cu */
        unsigned items;     /* elements a thread */
        unsigned finishers; /* threads that finish a tile */
        unsigned teams;     /* of them */
        unsigned summers;   /* threads that add a tile up */
        unsigned ring;      /* tiles in shared memory */
        unsigned waves;     /* of entries */
        unsigned threads;   /* a block, in all */
        unsigned shared;    /* bytes of shared memory */
        bool takes_panels;  /* panels.cu serves too */
        unsigned panel_threads;
        unsigned columns; /* that scan_narrow.cu takes at most; 0: none */
        unsigned narrow_threads;
    } scan;
    struct {                /* exact.cu */
        unsigned vectors;   /* of 16 bytes each, that a lane loads at a time */
        unsigned key_chunk; /* keys whose runs one warp adds */
    } exact;
} tally_cuda_sizes;

enum {
    TALLY_CUDA_BLOCK = 256,     /* threads a block */
    TALLY_CUDA_FOLD_BLOCK = 128 /* of the kernels for reductions by groups */
};

void tally_cuda_sizes_of(const tally_computation *computation, int architecture, tally_cuda_sizes *sizes);

#endif
