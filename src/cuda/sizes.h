/* The sizes of a computation's threads, blocks and shared memory. */
#ifndef TALLY_CUDA_SIZES_H
#define TALLY_CUDA_SIZES_H

#include "core/computation.h"
#include "cuda/agreed.h"

/* Sizes that the kernels and their caller must agree on; the kernels check them when they are compiled. */
typedef struct tally_cuda_sizes {
    unsigned slot_bytes;       /* of an accumulator in global memory */
    unsigned handed_bytes;     /* of the same in the form in which a block of the same launch takes it over */
    unsigned record_bytes;     /* of what a tile of a scan adds up to, in full */
    unsigned entry_bytes;      /* of the same in the form in which other blocks read it */
    bool is_large;             /* an accumulator has more than 32 bytes: loops over elements are not unrolled */
    unsigned vector;           /* elements in 16 bytes of input */
    unsigned unroll;           /* vectors that a reducing thread loads at a time */
    bool has_clusters;         /* there are kernels for clusters of blocks, for reductions of little input */
    bool has_row_clusters;     /* the same for few rows along an axis */
    bool begins_slowly;        /* blocks make tables first (append.cu), so there are few of them */
    unsigned cluster_threads;  /* of a block of such a cluster */
    unsigned column_width;     /* neighbouring columns that a thread reduces, if they can be loaded together */
    unsigned thin_width;       /* the same in thin_columns.cu and scan_thin.cu */
    unsigned tiny_inner;       /* elements of a row at most of slabs that tiny_rows.cu reduces; 0: none */
    unsigned column_spots;     /* accumulators that a block of fold_columns.cu keeps in shared memory */
    unsigned column_blocks;    /* of it that a multiprocessor must have registers for, */
    unsigned single_blocks;    /* and where a thread has one column */
    bool folds_in_waves;       /* wave_runs.cu where the outputs have room for a run of each element */
    unsigned long_mean;        /* mean elements of segments from which on long_segments.cu reduces them; 0: never */
    unsigned parts_tile;       /* elements of a tile where tile_parts.cu reduces segments; 0: never */
    unsigned parts_mean;       /* mean elements of segments from which on it does */
    unsigned parts_blocks;     /* of it that a multiprocessor must have registers for */
    unsigned merged_tile;      /* items of a tile of merged_segments.cu; 0: that reduces no segments */
    unsigned merged_mean;      /* mean elements of segments up to which it reduces them */
    unsigned merged_blocks;    /* of it that a multiprocessor must have registers for */
    unsigned fold_tile;        /* elements of a tile of a reduction by segments or keys */
    unsigned small_fold_tile;  /* the same of little input; 0: no smaller one */
    bool fold_spreads;         /* sums of squares of distances from the mean, likewise */
    bool fold_stages;          /* accumulators, where results would be lowered at each head (fold_tile.cu) */
    unsigned fold_results;     /* that a tile has room for; as many as elements, if they take their place */
    int differences;           /* tally_cuda_differences(); then no tile has room for results */
    unsigned few_blocks;       /* of the cluster that reduces few elements by segments; 1 where there are no clusters */
    unsigned few_threads;      /* of such a block */
    unsigned fold_blocks;      /* blocks of such a reduction that a multiprocessor must have registers for */
    unsigned cut_bytes;        /* of what such a reduction keeps of a chunk's ends */
    unsigned label_tile;       /* elements that sort_labels.cu sorts in shared memory */
    unsigned group_part_bytes; /* of group_states.cu: what a chunk has of groups that cross its ends */
    bool has_tables;           /* label_tables.cu reduces few groups */
    bool has_cells;            /* label_cells.cu reduces more */
    bool labels_may_fail;      /* label_sums.cu or label_cells.cu may leave all to the sort */
    unsigned label_words;      /* of a group's total, in label_sums.cu; 0: that does not do this reduction */
    unsigned label_bytes;      /* of a group, in the tables of label_sums.cu or label_cells.cu; 0: neither */
    bool label_has_counts;     /* a group has a number of elements beside */
    unsigned bucket_items;     /* of a thread that moves elements in label_buckets.cu */
    unsigned bucket_shared;    /* bytes of such a block */
    bool has_window;           /* whose integers are scaled floats */
    unsigned held_rows;        /* vectors of a thread of scan_held.cu; 0: that does not do this scan */
    struct {                   /* wave_runs.cu */
        unsigned tile;         /* elements of a tile */
        unsigned ring;         /* tiles of elements that shared memory holds */
        unsigned key_ring;     /* tiles of keys, likewise */
        unsigned waves;        /* of which entries are kept */
        unsigned threads;      /* of a block, in all */
        unsigned shared;       /* bytes of shared memory */
    } wave;
    struct {                    /* scan_tiles.cu */
        unsigned items;         /* elements of a finisher */
        unsigned vector;        /* elements that are whole vectors, and whose results are */
        unsigned finishers;     /* threads that finish a tile: a team */
        unsigned teams;         /* that take tiles in turn */
        unsigned summers;       /* threads that add a tile up */
        unsigned messengers;    /* warps that add waves up */
        unsigned ring;          /* tiles that shared memory holds */
        unsigned waves;         /* of which entries are kept */
        unsigned threads;       /* of a block, in all */
        unsigned shared;        /* bytes of shared memory */
        bool takes_panels;      /* panels.cu serves, too */
        unsigned panel_threads; /* of a block of panels.cu */
        unsigned panel_items;   /* rows that a thread takes of a tile there */
        unsigned panel_place;   /* bytes of a tile there */
        unsigned panel_ring;    /* tiles there that shared memory holds */
        unsigned panel_shared;  /* bytes of shared memory there */
        unsigned strand;        /* rows of a thread of scan_held_columns.cu; 0: that does not do this scan */
    } scan;
    struct {              /* scan_narrow.cu, as above */
        unsigned columns; /* that it takes at most; 0: none */
        unsigned items;
        unsigned ring;
        unsigned waves;
        unsigned threads;
        unsigned shared;
    } narrow;
    struct {             /* scan_tall.cu */
        unsigned width;  /* neighbouring columns that a thread takes if rows are aligned */
        bool packs;      /* as a word (packed_scans.cu), wherever narrow rows begin */
        unsigned items;  /* rows of a thread at most; 0: that does not do this scan */
        unsigned sums;   /* bytes of a block's sums in shared memory */
        unsigned blocks; /* that a multiprocessor must have registers for */
    } tall;
    struct {                 /* scan_one_wave.cu */
        unsigned items;      /* elements of a thread */
        unsigned few;        /* the same of small tiles (small_tiles.cu) */
        unsigned threads;    /* of a block */
        unsigned shared;     /* bytes of shared memory; 0: that does not do this scan */
        unsigned few_shared; /* the same of small tiles; 0: there are none */
    } one_wave;
    struct {                 /* scan_look_back.cu */
        unsigned block;      /* threads */
        unsigned few;        /* elements of a thread in small tiles */
        unsigned shared;     /* bytes of shared memory; 0: that does not do this scan */
        unsigned few_shared; /* the same of small tiles; 0: there are none */
        uint64_t most;       /* elements; more are scanned in waves */
    } look_back;
    struct {             /* exact_chunks.cu */
        unsigned items;  /* elements of a chunk that shared memory has at a time */
        unsigned shared; /* bytes of shared memory; 0: that does not do this scan */
    } chunks;
    struct {              /* exact.cu */
        unsigned vectors; /* of 16 bytes that a lane loads at a time */
    } exact;
    unsigned heads_chunk; /* heads.cu: keys of a warp */
} tally_cuda_sizes;

enum {
    TALLY_CUDA_BLOCK = 256,     /* threads of a block */
    TALLY_CUDA_FOLD_BLOCK = 128 /* the same in reductions by segments and keys */
};

/* What a cell of label_cells.cu becomes; 0 if no atomic operation does it. */
int tally_cuda_cell_kind(const tally_computation *computation);

/* Whether a scan of places of extremes looks for a tile's best first, and fills tiles that have none better than what
 * was there. */
bool tally_cuda_fills_tiles(const tally_computation *computation);
/* The most shared memory that a block can have, in bytes. */
unsigned tally_cuda_shared_limit(int architecture);
/* Those of a reduction by segments or keys; those of its accumulators are known. */
void tally_cuda_fold_sizes(const tally_computation *computation, int architecture, tally_cuda_sizes *sizes);
void tally_cuda_sizes_of(const tally_computation *computation, int architecture, tally_cuda_sizes *sizes);

#endif
