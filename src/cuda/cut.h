/* The cut of a plan's run into launches, and the scratch memory that they share. The path of a run and its cut follow
 * from the shape and the device alone, so results have the same bits every run. path.h decides the path; each path's
 * own file (reduce.h, columns.h, scan.h ...) fills in its part of the cut and launches it. */
#ifndef TALLY_CUDA_CUT_H
#define TALLY_CUDA_CUT_H

#include "core/arithmetic.h"
#include "cuda/arguments.h"
#include "cuda/cuda.h"
#include "cuda/sizes.h"

typedef enum tally_cuda_path {
    TALLY_CUDA_NOTHING,      /* no results */
    TALLY_CUDA_ROWS,         /* reduce.cu */
    TALLY_CUDA_SHORT_ROWS,   /* short_rows.cu */
    TALLY_CUDA_TINY_ROWS,    /* tiny_rows.cu */
    TALLY_CUDA_SLABS,        /* slabs.cu */
    TALLY_CUDA_COLUMNS,      /* fold_columns.cu */
    TALLY_CUDA_THIN_COLUMNS, /* thin_columns.cu */
    TALLY_CUDA_SCAN,         /* scan.cu */
    TALLY_CUDA_EXACT_CHUNKS, /* exact_chunks.cu */
    TALLY_CUDA_HELD,         /* scan_held.cu */
    TALLY_CUDA_ONE_WAVE,     /* scan_one_wave.cu */
    TALLY_CUDA_LOOK_BACK,    /* scan_look_back.cu */
    TALLY_CUDA_STRETCHES,    /* scan_columns.cu */
    TALLY_CUDA_PANELS,       /* panels.cu */
    TALLY_CUDA_HELD_COLUMNS, /* scan_held_columns.cu */
    TALLY_CUDA_SCAN_SLABS,   /* scan_slabs.cu */
    TALLY_CUDA_SCAN_THIN,    /* scan_thin.cu */
    TALLY_CUDA_NARROW,       /* scan_narrow.cu */
    TALLY_CUDA_TALL,         /* scan_tall.cu */
    TALLY_CUDA_GROUPS,       /* fold_segments.cu, fold_runs.cu, wave_runs.cu */
    TALLY_CUDA_EXACT,        /* exact.cu */
    TALLY_CUDA_LABELS,       /* sort_labels.cu */
    TALLY_CUDA_TABLES,       /* label_tables.cu */
    TALLY_CUDA_WORDS,        /* states.cu */
    TALLY_CUDA_GROUP_WORDS,  /* group_states.cu */
    TALLY_CUDA_PLACES        /* places.cu */
} tally_cuda_path;

typedef struct tally_cuda_cut {
    tally_cuda_path path;
    uint64_t elements; /* of the input */
    uint64_t groups;   /* of elements that have a result each, or are scanned each by itself: rows, columns, segments */
    bool is_few;       /* scan_few.cu takes a scan that can go that way, as its addresses tell */

    union { /* what is cut how, by the path */
        struct {
            size_t carry, totals; /* accumulators, in the workspace: of a piece before, and of all groups */
            size_t states;        /* the workspace of the plan that makes them */
        } words;
        struct {
            uint64_t chunk, chunks; /* elements, or states, of a warp */
        } group_words;
        struct {
            size_t places, scan; /* the indices among all elements, and the workspace of their scan */
        } places;
        struct {
            uint64_t blocks;   /* thread blocks of a row */
            uint64_t chunk;    /* elements of a block */
            bool in_cluster;   /* there is one row, and its blocks are a cluster */
            bool starts_early; /* while what is before it in the stream still runs */
        } rows;
        struct {
            uint64_t blocks;
            unsigned lane_bits; /* a row is shared by 2^lane_bits threads */
        } short_rows;
        struct {
            uint64_t slabs_a_tile, tiles, blocks;
            unsigned part_bits; /* a column is shared by 2^part_bits threads */
        } slabs;
        struct {
            uint64_t panels; /* of a slab */
            uint64_t chunks; /* of a panel */
            uint64_t chunk;  /* rows of a chunk */
            unsigned panel;  /* columns of a panel */
            unsigned width;  /* columns of a thread */
            unsigned groups; /* rows of a step */
            unsigned slabs;  /* of a block: 1 where panels are not whole slabs */
            bool clusters;   /* of the blocks of a panel */
            bool hands_over; /* a panel's blocks to its last one */
        } columns;
        struct {
            uint64_t tile; /* elements of a tile */
            uint64_t tiles;
            uint64_t blocks;    /* in waves all resident together */
            bool is_exchanging; /* tiles are parts of groups, and blocks need each other's sums */
            bool are_small;     /* small_tiles.cu */
        } scan;
        struct {
            uint64_t columns; /* of 'length' elements; 1: all elements, which are neighbours */
            uint64_t length;
            uint64_t chunk, chunks; /* of a column */
            uint64_t pitch;         /* from a word of the chunks' sums to the next */
            size_t sums, before;    /* byte offsets in the workspace */
        } exact_chunks;
        struct {
            uint64_t blocks;
            unsigned threads; /* of a block */
            bool in_cluster;  /* the blocks are a cluster */
        } held;
        struct {
            uint64_t chunks; /* of a column */
            uint64_t chunk;  /* rows of a chunk */
            unsigned width;  /* columns of a thread */
        } stretches;
        struct {
            uint64_t panels;  /* of all slabs */
            uint64_t chunk;   /* rows of a block */
            unsigned width;   /* columns of a panel */
            unsigned blocks;  /* of the cluster that has a panel */
            unsigned threads; /* of a block */
        } held_columns;
        struct {
            uint64_t blocks;
            uint64_t panels;  /* of all slabs */
            unsigned panel;   /* columns of a panel */
            unsigned strands; /* of a tile: the rows that one thread takes of its column */
            unsigned pitch;   /* bytes from a row of a tile to the next in shared memory */
        } panels;
        struct {
            uint64_t tiles;
            uint64_t panels;          /* tiles of a slab, where they are columns */
            unsigned slabs;           /* of a tile; 0: tiles are columns */
            unsigned panel;           /* columns of a tile */
            unsigned part_bits, rows; /* 2^part_bits threads share a column and take so many rows each */
        } scan_slabs;
        struct {
            uint64_t tile; /* elements of a tile */
            uint64_t tiles;
            uint64_t blocks;     /* of a slab; all are resident together */
            uint64_t slab_bytes; /* of a slab's entries */
            unsigned strands;    /* of a tile: the rows that one thread takes of its column */
            unsigned rows;       /* of a strand */
            unsigned lanes;      /* threads that scan what the strands have of a column */
            unsigned tellers;    /* lanes that add up a column's entries */
        } narrow;
        struct {
            uint64_t tiles;   /* of a panel */
            uint64_t panels;  /* of a slab */
            unsigned width;   /* columns of a thread */
            unsigned across;  /* threads of a panel's row */
            unsigned strands; /* of a tile: the rows that one thread takes */
            unsigned rows;    /* of a strand */
            unsigned pitch;   /* bytes from a row of a tile to the next in shared memory */
            unsigned tile;    /* bytes there */
            unsigned results; /* as in the kernel's arguments, like what follows */
            unsigned group_bits, chain_bits, groups;
            unsigned shared; /* bytes of a block */
        } tall;
        struct {
            uint64_t tile; /* elements of a tile */
            uint64_t tiles;
            uint64_t chunks;      /* a tile each */
            uint64_t blocks;      /* that mark runs */
            unsigned marking;     /* their warps */
            uint64_t together;    /* blocks in waves, which are resident together */
            bool are_merged;      /* tiles have elements and ends of segments (merged_segments.cu) */
            bool are_long;        /* segments on average: a tile is a warp's (long_segments.cu) */
            bool are_parts;       /* of tiles: each keeps what parts of it have (tile_parts.cu) */
            bool are_pieces;      /* of long segments: a block has one (pieces_of_segments.cu) */
            bool are_small;       /* tiles of segments */
            bool hand_over;       /* tiles the parts of segments that cross them, if each block checks all offsets */
            uint64_t apart_tiles; /* of keys in two launches, if the output is small (apart_runs.cu); or 0 */
            uint64_t apart_runs;  /* for which their results have room, a power of two */
            bool is_apart;        /* results of segments wait (finish_segments.cu) */
            unsigned few;         /* blocks of the only launch, if there are few elements; else 0 */
        } folds;
        struct {
            uint64_t blocks; /* that share a row; 0: each group is a warp's */
        } exact;
        struct {
            uint64_t chunk; /* elements that a block counts and moves */
            uint64_t chunks;
            unsigned passes;
            bool sorts;
            size_t sorted[2]; /* byte offsets in the workspace: of labels, x, y and indices, one after the other */
            size_t offsets;   /* of the groups */
            size_t in_groups; /* argmin, argmax: results of the sorted elements */
            size_t segments;  /* the workspace of the reduction by segments, and the tally_cuda_control in it */
            size_t control;
            struct {
                uint64_t chunks;  /* of the elements; 0: there are buckets, or label_sums.cu does not run */
                unsigned parts;   /* of the groups */
                unsigned buckets; /* 0: there are parts */
                unsigned shift;   /* a bucket has 2^shift groups */
                unsigned width;   /* groups of a part or a bucket; 0: label_sums.cu does not run */
                bool halves;      /* two groups share a word of a table */
                size_t window;    /* byte offsets in the workspace */
                size_t totals;
                size_t partials;
                size_t counts;        /* of buckets */
                size_t places, moved; /* of buckets */
            } sums;
        } labels;
        struct {
            uint64_t blocks;
            unsigned threads; /* of a block */
            unsigned shared;
        } tables;
    };

    struct { /* an exact scan's in a window (scan_exactly.c) */
        bool has;
        size_t window, workspace;
    } in_window;

    /* byte offsets in the workspace; what must be zero before a run comes first */
    size_t control;  /* a tally_cuda_control */
    size_t entries;  /* the values that blocks exchange while they run */
    size_t told;     /* NARROW: the tellers' sums. GROUPS by keys: the heads of each block that marks runs */
    size_t bits;     /* where segments or runs begin; 0: none */
    size_t partials; /* accumulators of chunks or blocks, for a later launch */
    size_t handed;   /* GROUPS by segments: the same, where blocks hand them to each other */
    size_t first;    /* GROUPS by segments: the first one of each tile or chunk. list_runs.cu: of each run */
    size_t heads;    /* GROUPS by keys: the heads of each tile */
    size_t apart;    /* GROUPS by keys: results that wait for the last launch, */
    size_t keys;     /* and keys */
    size_t kept;     /* GROUPS by keys: of each strip the first keys of its runs; 0: none */
    size_t ranks;    /* GROUPS by keys: of each strip. heads.cu: of each chunk */
    size_t zeroed_bytes;
    size_t early_bytes; /* those that the path itself clears, by a kernel that starts early */
    size_t bytes;
} tally_cuda_cut;

/* Reserves some bytes of the workspace, aligned for anything, and gives their offset. */
static inline size_t tally_cuda_place(tally_cuda_cut *cut, uint64_t bytes) {
    enum { ALIGNMENT = 256 };
    const size_t at = cut->bytes;
    cut->bytes += (size_t)round_up(bytes, ALIGNMENT);
    return at;
}

#endif
