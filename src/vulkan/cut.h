/* The cut of a run of a plan into dispatches: its path, its parts, and their scratch memory. It follows from the shape
 * alone, so results have the same bits every run. */
#ifndef TALLY_VULKAN_CUT_H
#define TALLY_VULKAN_CUT_H

#include "core/arithmetic.h"
#include "vulkan/arguments.h"
#include "vulkan/pipeline.h"

typedef enum tally_vulkan_path {
    TALLY_VULKAN_NOTHING,       /* no results */
    TALLY_VULKAN_FOLD,          /* reduce.comp */
    TALLY_VULKAN_FOLD_ROWS,     /* short_rows.comp */
    TALLY_VULKAN_BY_SLABS,      /* slabs.comp */
    TALLY_VULKAN_ALONG_ROWS,    /* scan_rows.comp, scan_once.comp */
    TALLY_VULKAN_ALONG_COLUMNS, /* scan_columns.comp */
    TALLY_VULKAN_BY_GROUPS,     /* groups.comp, group_tiles.comp, runs.comp */
    TALLY_VULKAN_BY_SEGMENTS,   /* tiled_segments.comp, segments.comp */
    TALLY_VULKAN_IN_TILES,      /* segment_tiles.comp */
    TALLY_VULKAN_BY_LABELS,     /* labels.comp, then by segments */
    TALLY_VULKAN_EXACTLY,       /* exact.comp */
    TALLY_VULKAN_PREFIXES       /* exact_scan.comp */
} tally_vulkan_path;

typedef struct tally_vulkan_cut {
    tally_vulkan_path path;
    tally_vulkan_kernel fold; /* FOLD: of the elements */
    uint64_t elements;
    uint64_t columns, extent, inner;
    uint64_t chunk, chunks;            /* rows of a column that are taken together, and how many times */
    uint32_t width, many;              /* in the first pass: as arguments.comp has them */
    uint32_t tall_rows, team;          /* of a tile of tall_slabs(), and threads of a column; 0: not taken */
    bool few_rows;                     /* of a scan: few_rows.comp */
    uint64_t panels;                   /* of it: workgroups that take all columns */
    uint32_t fold_width;               /* in the pass over accumulators */
    uint64_t scan_groups;              /* workgroups of a scan's last pass, or of short rows, slabs or segments */
    uint64_t rows_a_chunk, row_chunks; /* of give_rows() of group_tiles.comp; 0: not taken */
    uint32_t at_once, most_tiled;      /* as tiled_segments.comp has them; 0: not taken */
    uint32_t most_listed;              /* segments that workgroups of segments.comp take whole */

    uint64_t once_words, once_groups; /* of scan_once.comp: words that tiles' sums travel in, and workgroups */
    bool rows_once;                   /* rows are groups of groups_once.comp */
    uint64_t head_words;              /* of groups_once.comp, by segments: a bit for each element */

    struct {
        uint64_t tiles;           /* 0: there is no scan in a window */
        uint64_t words, groups;   /* that tiles' sums travel in, and workgroups */
        uint64_t head_words;      /* of groups: a bit for each element */
        size_t window, sums, all; /* the window; these words, then those of heads; the sum of all tiles */
    } in_window;                  /* of scan_in_window.comp */

    bool too_many;        /* workgroups for one dispatch, or for 32 bits */
    uint64_t tile, tiles; /* BY_GROUPS: elements a tile; ALONG_ROWS: whole tiles of scan_once.comp, or none */

    /* byte offsets in the workspace; 'places' are scan_once.comp's words, 'control' the accumulator of its tiles */
    size_t slots, control, places, ranks, pieces, heads, listed;
    struct {
        uint32_t passes;
        size_t digits;    /* their counts */
        size_t sorted[2]; /* labels, x, y and indices, one after the other, of even and of odd passes */
        size_t offsets;   /* of the groups among them */
        size_t in_groups; /* argmin, argmax: results of the sorted elements */
        size_t segments;  /* the workspace of their plan */
    } labels;
    size_t bytes;
} tally_vulkan_cut;

enum { TALLY_VULKAN_MOST_CHUNK = 1 << 27 /* elements: 32 bits count the bytes of as many, and of their results */ };

/* Reserves some bytes of the workspace, aligned for anything, and gives their offset. */
static inline size_t tally_vulkan_place(tally_vulkan_cut *cut, uint64_t bytes) {
    enum { ALIGNMENT = 256 };
    const size_t at = cut->bytes;
    cut->bytes += (size_t)round_up(bytes, ALIGNMENT);
    return at;
}

#endif
