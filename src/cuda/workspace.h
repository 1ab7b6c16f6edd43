/* How a run of a plan is cut into launches, and the scratch memory that they share. Decided by the shape and the device
 * alone, so that results are the same bits every run. */
#ifndef TALLY_CUDA_WORKSPACE_H
#define TALLY_CUDA_WORKSPACE_H

#include "cuda/cuda.h"
#include "cuda/specialize.h"

typedef enum tally_cuda_path {
    TALLY_CUDA_NOTHING,    /* no results */
    TALLY_CUDA_ROWS,       /* reduce.cu */
    TALLY_CUDA_SCAN,       /* scan.cu */
    TALLY_CUDA_HELD,       /* scan_held.cu */
    TALLY_CUDA_GROUPS,     /* fold_segments.cu, fold_runs.cu, warp_segments.cu, wave_runs.cu */
    TALLY_CUDA_SHORT_ROWS, /* short_rows.cu */
    TALLY_CUDA_TINY_ROWS,  /* tiny_rows.cu */
    TALLY_CUDA_SLABS,      /* slabs.cu */
    TALLY_CUDA_COLUMNS,    /* columns.cu */
    TALLY_CUDA_STRETCHES,  /* scan_columns.cu */
    TALLY_CUDA_PANELS,     /* scan_panels.cu */
    TALLY_CUDA_NARROW,     /* scan_narrow.cu */
    TALLY_CUDA_EXACT       /* exact.cu */
} tally_cuda_path;

typedef struct tally_cuda_cut {
    tally_cuda_path path;
    uint64_t elements;
    uint64_t rows, blocks, chunk;             /* ROWS: thread blocks a row, elements a block; SHORT_ROWS: blocks */
    bool in_cluster;                          /* ROWS: one row, and its blocks are a cluster; HELD: so are they */
    unsigned threads;                         /* HELD: a block */
    bool starts_early;                        /* ROWS: while what is before it in the stream still runs */
    uint64_t tile, tiles;                     /* SCAN and GROUPS: elements a tile */
    uint64_t chunk_tiles, chunks;             /* GROUPS: tiles a thread block */
    uint64_t tile_grid;                       /* thread blocks, all resident together */
    uint64_t slabs_a_tile, slab_grid;         /* SLABS */
    unsigned part_bits;                       /* 2^part_bits threads a column, and of SHORT_ROWS a row */
    uint64_t columns, column_chunks, stretch; /* COLUMNS and STRETCHES: of all slabs; rows a chunk, NARROW: a strand */
    uint64_t panels;                          /* COLUMNS and PANELS: a slab */
    bool is_thin;                             /* few rows */
    unsigned width, panel, groups;            /* columns a thread and a panel; rows a step, or strands */

    /* byte offsets in the workspace; what must be zero before a run comes first */
    size_t control, entries, told;
    size_t zeroed_bytes;
    size_t partials, of_tile;
    size_t bits; /* 0: none */
    size_t bytes;
} tally_cuda_cut;

/* Partial results of one result that a block folds, eight a thread; more are for a cluster, which for fewer takes 0.2
 * to 0.4 us longer on an H200. */
enum { TALLY_CUDA_ONE_FOLDS = 8 * TALLY_CUDA_BLOCK };

/* What the kernels of segments and keys and their caller tell each other. */
typedef struct tally_cuda_control {
    uint64_t runs;    /* of keys */
    uint64_t not_bad; /* ~ the least segment whose offsets are bad, so that zero means none */
    uint64_t not_empty;
    uint32_t refused;
    uint32_t crowded;          /* fold_tile.cu's */
    uint32_t has_empty, taken; /* warp_segments.cu's */
} tally_cuda_control;

/* Reserves some bytes of the workspace, aligned for anything, and gives their offset. */
size_t tally_cuda_place(tally_cuda_cut *cut, uint64_t bytes);

/* 'resident': blocks that the device holds at a time, of a kernel whose blocks wait for each other. */
void tally_cuda_cut_make(const tally_cuda_device *device, const tally_computation *computation,
                         const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                         tally_cuda_cut *cut);

#endif
