#include "cuda/workspace.h"

#include <string.h>

#include "core/arithmetic.h"
#include "cuda/exact.h"
#include "cuda/groups.h"

enum {
    SHORT_ROW = 2048,    /* rows up to here are reduced many at a time */
    WARP_ROW = 32,       /* vectors: 16 took 0.84 of the roof's speed this way and 0.95 in slabs, 32 more than 0.99 */
    WARP_VECTORS = 4,    /* of a row a thread, up to a warp's threads, as in short_rows.cu */
    WARP_BLOCKS = 64,    /* a processor: they come and go, and end together */
    TINY_ROW = 4,        /* elements, as in tiny_rows.cu */
    SLAB_VECTORS = 1024, /* of 16 bytes a tile, as in slabs.cu */
    SLAB_BLOCKS = 64,    /* a processor */
    PART = 32,           /* rows of a slab's column a thread, up to a warp's threads */
    SEGMENT = 512,       /* consecutive bytes of a panel, at least */
    ROWS_A_THREAD = 16,  /* of a panel, at least */
    COLUMN_BLOCKS = 4,   /* a processor, for panels: what it holds at a time */
    THIN = 4,            /* rows, as in columns.cu */
    PARTIAL_BYTES = 900 << 10,
    BLOCKS_A_PROCESSOR = 4, /* that a long reduction has at least; rows from which on each has one block */
    /* Chunks of long rows a processor, and where the end of a block costs more or no cluster folds. Sums of 2^28 f32
     * took 239.1 us on an H200 with 128 that a cluster folds, 239.9 with 64, 240.9 with 128 that a block of 1024
     * threads folds and 242.6 with 4 whose blocks took turns; argmax 254.0 with 128 and 245.2 with 64;
     * var 258.1 with 16 and 250.1 with 4. */
    CHUNKS = 128,
    CHUNKS_OF_COSTLY = 64,
    CLUSTER = 8,        /* blocks, as in reduce.cu */
    CLUSTER_UNROLL = 4, /* vectors, as there */
    CLUSTER_VECTORS = 1 << 15,
    /* Vectors of a scan that is held in registers: in one block, in a cluster of CLUSTER or of WIDE_CLUSTER blocks, one
     * vector a thread at the least; and in as many blocks as it takes, after a launch for their sums. Of 2^16 f32 two
     * launches took 2.5 us in a graph on an H200 and a call 14.8, a cluster of 16 blocks 2.6 and 12.1, of 8 3.0 and
     * 12.6; of 2^13 the cluster took 1.8 us, one block 2.3; of 2^22 two launches 13.0 us, waves 11.4. */
    HELD_IN_BLOCK = 1 << 10,
    HELD_IN_CLUSTER = 1 << 13,
    HELD_IN_WIDE_CLUSTER = 1 << 14,
    HELD_VECTORS = 1 << 19,
    WIDE_CLUSTER = 16,
    HELD_SMALL_BLOCK = 256, /* threads; twice as many above HELD_IN_SMALL_BLOCKS */
    HELD_IN_SMALL_BLOCKS = 1 << 16,
    WARP = 32,
    /* Up to so many a reduction starts while what is before it still ends: that saves 0.35 us of each of many calls for
     * up to 2^18 f32 on an H200, and 0.2 for 2^22 and 2^24. */
    EARLY_VECTORS = 1 << 22,
    LEAST_TILE = 512,   /* elements */
    LEAST_STRETCH = 32, /* rows of a column that one thread takes */
    SECTOR_BYTES = 32,  /* of memory: what is written in part costs more */
    LEAST_PANEL = 128,  /* bytes of a row of a panel that is scanned */
    MOST_UNEVEN = 256,
    LINE = 128,
    LEAST_PANEL_ROWS = 64,
    LEAST_BUSY = 60,    /* of a hundred processors, for panels not to be cut into chunks */
    NARROW_ROW = 64,    /* bytes: wider ones are faster by a thread a column */
    LEAST_STRAND = 4,   /* rows, of narrow arrays */
    CHUNKS_A_PLACE = 4, /* so that they end together */
    ALIGNMENT = 256
};

size_t tally_cuda_place(tally_cuda_cut *cut, uint64_t bytes) {
    size_t at = cut->bytes;
    cut->bytes += (size_t)divide_up(bytes, ALIGNMENT) * ALIGNMENT;
    return at;
}

/* Chunks of a row of so many steps: many more than the device holds at a time, unless there are rows enough, or too
 * little for blocks whose ends cost much, of large accumulators or many lanes. */
static uint64_t chunks_of_row(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t rows,
                              uint64_t steps) {
    const uint64_t processors = (uint64_t)device->multiprocessors, few = processors * BLOCKS_A_PROCESSOR;
    const bool is_costly = sizes->slot_bytes > 8 || sizes->vector > 4;
    uint64_t chunks = processors * (is_costly || !sizes->has_clusters ? CHUNKS_OF_COSTLY : CHUNKS);
    if (rows >= few)
        return 1;
    if (sizes->slot_bytes > 16 || (is_costly && steps * rows < chunks))
        chunks = few;
    chunks = least(chunks, PARTIAL_BYTES / sizes->slot_bytes) / rows;
    return most(1, sizes->has_clusters ? chunks : least(chunks, TALLY_CUDA_ONE_FOLDS));
}

static void cut_rows(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t extent,
                     tally_cuda_cut *cut) {
    uint64_t step = (uint64_t)TALLY_CUDA_BLOCK * sizes->vector * sizes->unroll;
    uint64_t steps = divide_up(extent, step);
    uint64_t blocks = most(1, least(steps, chunks_of_row(device, sizes, cut->rows, steps)));
    cut->path = TALLY_CUDA_ROWS;
    cut->chunk = divide_up(divide_up(extent, blocks), step) * step;
    cut->blocks = cut->chunk ? divide_up(extent, cut->chunk) : 1;
    cut->starts_early = cut->rows * extent / sizes->vector <= EARLY_VECTORS;
    if (sizes->has_clusters && cut->rows == 1 && cut->blocks > 1 &&
        extent / sizes->vector <= CLUSTER_VECTORS) { /* no workspace, and nothing to clear */
        step = (uint64_t)sizes->cluster_threads * sizes->vector * least(sizes->unroll, CLUSTER_UNROLL);
        cut->in_cluster = true;
        cut->blocks = CLUSTER;
        cut->chunk = divide_up(divide_up(extent, CLUSTER), step) * step;
        return;
    }
    if (cut->blocks > 1)
        cut->partials = tally_cuda_place(cut, cut->rows * cut->blocks * sizes->slot_bytes);
}

/* What threads can hold in registers. False if it is too much. */
static bool cut_held(const tally_cuda_sizes *sizes, tally_cuda_cut *cut) {
    const uint64_t vectors = divide_up(cut->elements, sizes->vector), rows = sizes->held_rows;
    uint64_t blocks = 1;
    if (!rows || !vectors || vectors > HELD_VECTORS)
        return false;
    if (vectors > HELD_IN_BLOCK) {
        blocks = vectors <= HELD_IN_CLUSTER ? CLUSTER : WIDE_CLUSTER;
        cut->in_cluster = vectors <= HELD_IN_WIDE_CLUSTER && blocks <= sizes->held_cluster;
    }
    if (blocks > 1 && !cut->in_cluster)
        blocks = divide_up(vectors, rows * (vectors > HELD_IN_SMALL_BLOCKS ? 2 * HELD_SMALL_BLOCK : HELD_SMALL_BLOCK));
    cut->path = TALLY_CUDA_HELD;
    cut->threads = (unsigned)(divide_up(divide_up(vectors, blocks), WARP * rows) * WARP);
    cut->blocks = divide_up(vectors, cut->threads * rows);
    if (cut->blocks > 1 && !cut->in_cluster)
        cut->partials = tally_cuda_place(cut, cut->blocks * sizes->slot_bytes);
    return true;
}

/* Little input is cut into smaller tiles, so that all processors have one; what fits in one tile is one. */
static void cut_scan(const tally_computation *c, const tally_cuda_sizes *sizes, uint64_t resident,
                     tally_cuda_cut *cut) {
    const uint64_t whole = (uint64_t)sizes->scan.finishers * sizes->scan.items;
    const uint64_t fair = divide_up(divide_up(cut->elements, resident), LEAST_TILE) * LEAST_TILE;
    if (cut_held(sizes, cut))
        return;
    cut->path = TALLY_CUDA_SCAN;
    cut->tile = cut->elements <= whole ? whole : least(whole, fair);
    cut->tiles = most(1, divide_up(cut->elements, cut->tile));
    cut->tile_grid = least(cut->tiles, resident);
    if (c->desc.grouping == TALLY_SEGMENTS)
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    if (cut->tiles > 1) {
        uint64_t waves = least(sizes->scan.waves, divide_up(cut->tiles, cut->tile_grid));
        cut->entries = tally_cuda_place(cut, waves * cut->tile_grid * sizes->entry_bytes);
    }
    if (c->desc.grouping == TALLY_SEGMENTS)
        cut->bits = tally_cuda_place(cut, cut->tiles * cut->tile / 8);
    cut->zeroed_bytes = cut->bytes;
}

/* Rows of whole vectors, each for as many threads as have four of them. False if they are others, too few vectors, or
 * elements whose order matters. */
static bool cut_short_rows(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                           const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t vectors = shape->extent / sizes->vector;
    const bool commutes = c->entry || c->user.commutes;
    if (shape->inner != 1 || shape->extent % sizes->vector || vectors < WARP_ROW || !commutes)
        return false;
    cut->path = TALLY_CUDA_SHORT_ROWS;
    while (cut->part_bits < 5 && vectors > (uint64_t)WARP_VECTORS << cut->part_bits)
        cut->part_bits++;
    cut->blocks = least(divide_up(cut->rows, TALLY_CUDA_BLOCK >> cut->part_bits),
                        (uint64_t)device->multiprocessors * WARP_BLOCKS);
    return true;
}

/* Whole slabs whose vectors fit in a tile, wherever it starts. */
static uint64_t slabs_that_fit(const tally_cuda_sizes *sizes, const tally_shape *shape) {
    uint64_t elements = (uint64_t)(SLAB_VECTORS - 1) * sizes->vector + 1;
    return shape->inner > elements / shape->extent ? 0 : elements / (shape->extent * shape->inner);
}

static void cut_slabs(const tally_cuda_device *device, const tally_cuda_sizes *sizes, const tally_shape *shape,
                      tally_cuda_cut *cut) {
    uint64_t slabs = slabs_that_fit(sizes, shape), slab = shape->extent * shape->inner;
    uint64_t whole = sizes->vector / least(sizes->vector, slab & (~slab + 1)); /* slabs that are whole vectors */
    cut->path = TALLY_CUDA_SLABS;
    cut->slabs_a_tile = slabs > whole ? slabs / whole * whole : slabs;
    cut->tiles = divide_up(shape->outer, cut->slabs_a_tile);
    cut->slab_grid = least(cut->tiles, (uint64_t)device->multiprocessors * SLAB_BLOCKS);
    while (cut->part_bits < 5 && shape->extent > (uint64_t)PART << cut->part_bits)
        cut->part_bits++;
}

/* A panel that is as wide as the rows, if a block can have a whole number of vectors of whole rows. */
static bool cut_narrow(const tally_cuda_sizes *sizes, uint64_t inner, tally_cuda_cut *cut) {
    uint64_t width = sizes->column_width, common = inner & (~inner + 1); /* the powers of two in inner */
    uint64_t line = inner * (width / least(width, common)), lines = sizes->column_spots / line;
    if (!lines || (common >= width && lines * line < sizes->column_spots / 4 * 3))
        return false;
    cut->width = (unsigned)width;
    cut->panel = (unsigned)inner;
    cut->groups = (unsigned)(lines * line / inner);
    return true;
}

/* How many of a hundred processors work, on average, if each can have so many parts at a time. */
static uint64_t busy(uint64_t parts, uint64_t places) {
    return parts * 100 / (divide_up(parts, places) * places);
}

/* The number of panels of a slab, about so wide, with which the blocks come out even. Few panels are cut into chunks of
 * rows instead; many come out even by themselves. */
static uint64_t even_panels(const tally_cuda_device *device, uint64_t outer, uint64_t across, uint64_t wide,
                            uint64_t widest) {
    const uint64_t places = (uint64_t)device->multiprocessors * COLUMN_BLOCKS, fewest = divide_up(across, widest);
    uint64_t panels = most(1, divide_up(across, wide)), most_panels = panels * 3 / 2, best = 0;
    if (outer * panels < places || outer * panels > 8 * places)
        return panels;
    for (uint64_t turns = 1, n; (n = turns * places / outer) <= most_panels; turns++)
        if (n >= fewest && busy(outer * n, places) > best) {
            best = busy(outer * n, places);
            panels = n;
        }
    return panels;
}

static void cut_wide(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                     const tally_shape *shape, tally_cuda_cut *cut) {
    cut->width = shape->inner % sizes->column_width ? 1 : sizes->column_width;
    uint64_t threads = least(TALLY_CUDA_BLOCK, sizes->column_spots / cut->width), across = shape->inner / cut->width;
    uint64_t wide = SEGMENT / (cut->width * c->in_bytes);
    while (wide < threads && shape->extent * wide / threads < ROWS_A_THREAD)
        wide *= 2;
    wide = most(1, least(wide, least(threads, across)));
    if (wide < threads / 2)
        wide = divide_up(across, even_panels(device, shape->outer, across, wide, threads / 2));
    cut->panel = (unsigned)(wide * cut->width);
    cut->groups = (unsigned)(threads / wide);
}

/* Enough blocks for all processors, unless what they find takes too much memory. */
static void cut_columns(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                        const tally_shape *shape, tally_cuda_cut *cut) {
    bool commutes = c->entry || c->user.commutes;
    cut->path = TALLY_CUDA_COLUMNS;
    cut->columns = cut->rows;
    if (!commutes || !cut_narrow(sizes, shape->inner, cut))
        cut_wide(device, c, sizes, shape, cut);
    cut->panels = divide_up(shape->inner, cut->panel);
    const uint64_t panels = most(1, shape->outer * cut->panels), groups = most(1, cut->groups);
    cut->is_thin = cut->groups == 1 && shape->extent <= THIN && panels <= UINT32_MAX / 2;
    uint64_t wanted = (uint64_t)device->multiprocessors * COLUMN_BLOCKS / panels;
    uint64_t chunks = least(wanted, shape->extent / (groups * ROWS_A_THREAD));
    chunks = most(1, least(chunks, PARTIAL_BYTES / sizes->slot_bytes / most(1, cut->columns)));
    cut->stretch = divide_up(divide_up(shape->extent, chunks), groups) * groups;
    cut->column_chunks = divide_up(shape->extent, cut->stretch);
    if (cut->column_chunks > 1) {
        cut->partials = tally_cuda_place(cut, cut->columns * cut->column_chunks * sizes->slot_bytes);
    }
}

/* Columns enough for all processors are scanned in one pass, several by each thread if there are more than enough. */
static void cut_stretches(const tally_cuda_device *device, const tally_cuda_sizes *sizes, const tally_shape *shape,
                          tally_cuda_cut *cut) {
    uint64_t threads = (uint64_t)device->multiprocessors * (uint64_t)device->threads_per_sm;
    bool many = cut->rows / sizes->column_width >= threads && shape->inner % sizes->column_width == 0;
    cut->path = TALLY_CUDA_STRETCHES;
    cut->columns = cut->rows;
    cut->width = many ? sizes->column_width : 1;
    uint64_t chunks = 1;
    if (cut->columns < threads / 3)
        chunks = most(1, least(divide_up(2 * threads, cut->columns), shape->extent / LEAST_STRETCH));
    cut->stretch = divide_up(shape->extent, chunks);
    cut->column_chunks = divide_up(shape->extent, cut->stretch);
    if (cut->column_chunks > 1)
        cut->partials = tally_cuda_place(cut, cut->columns * cut->column_chunks * sizes->slot_bytes);
}

/* How wide panels may be, in bytes, and what share of a copy's speed they had, in a hundred, divided by that of busy
 * processors: rows of whole lines of the cache, and others, of which panels share the lines where they meet. On an
 * H200: 150000, 160000, 16384 and 400 columns of f32. */
static const struct {
    unsigned bytes, in_line, apart;
} widths[] = {{256, 92, 82}, {128, 82, 78}, {512, 93, 93}, {768, 88, 87}};

/* Panels: whole rows of narrow slabs, else as wide as leaves every processor its share; cut into chunks of rows if
 * there are too few of them. False if there are too few rows for that. */
static bool cut_panels(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                       const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t in = c->in_bytes, row = shape->inner * in;
    const uint64_t places = (uint64_t)device->multiprocessors * sizes->scan.teams;
    if (!sizes->scan.takes_panels || shape->extent < LEAST_PANEL_ROWS || row > INT32_MAX)
        return false;
    uint64_t best = 0, panels = 1;
    for (size_t k = 0; k < sizeof widths / sizeof *widths && row > LEAST_PANEL; k++) {
        const uint64_t of_slab = divide_up(row, widths[k].bytes);
        const uint64_t score =
            busy(shape->outer * of_slab, places) * (row % LINE ? widths[k].apart : widths[k].in_line);
        const bool is_full = row / of_slab >= widths[k].bytes / 16 * 15; /* wide ones are not made narrower */
        if (score > best && (is_full || widths[k].bytes <= MOST_UNEVEN)) {
            best = score;
            panels = of_slab;
        }
    }
    const uint64_t sectors = divide_up(divide_up(row, SECTOR_BYTES), panels);
    cut->panel = (unsigned)(panels > 1 ? sectors * SECTOR_BYTES / in : shape->inner);
    cut->panels = divide_up(shape->inner, cut->panel);
    cut->groups = sizes->scan.finishers / cut->panel;
    cut->columns = cut->rows;
    const uint64_t parts = shape->outer * cut->panels, tile = (uint64_t)cut->groups * sizes->scan.items;
    uint64_t chunks = 1;
    if (busy(parts, places) < LEAST_BUSY) {
        if (row > NARROW_ROW)
            return false;
        chunks = divide_up(CHUNKS_A_PLACE * places, parts);
    }
    if (shape->extent / chunks < (chunks > 1 ? tile : tile / 2))
        return false;
    cut->path = TALLY_CUDA_PANELS;
    cut->stretch = divide_up(divide_up(shape->extent, chunks), tile) * tile;
    cut->column_chunks = divide_up(shape->extent, cut->stretch);
    cut->blocks = least(divide_up(parts * cut->column_chunks, sizes->scan.teams), (uint64_t)device->multiprocessors);
    if (cut->column_chunks > 1)
        cut->partials = tally_cuda_place(cut, cut->columns * cut->column_chunks * sizes->slot_bytes);
    return true;
}

/* Lanes of a warp that meet in a bank of shared memory, where each has a column of a strand. */
static unsigned lanes_in_a_bank(const tally_cuda_sizes *sizes, uint64_t inner, uint64_t rows) {
    enum { WORDS = 32 };
    const uint64_t words = 4 / sizes->vector, lanes = WORDS / words; /* of an element; at a time */
    unsigned in_bank[WORDS] = {0}, greatest = 0;
    for (uint64_t lane = 0; lane < lanes; lane++) {
        unsigned *bank = &in_bank[(lane / inner * rows * inner + lane % inner) % lanes];
        greatest = ++*bank > greatest ? *bank : greatest;
    }
    return greatest;
}

/* A long array of narrow rows, in tiles of whole vectors. Fewer rows a strand, if they meet less in shared memory. */
static bool cut_narrow_scan(const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                            tally_cuda_cut *cut) {
    const uint64_t inner = shape->inner, items = sizes->scan.items;
    if (shape->outer > 1 || inner > sizes->scan.columns || inner > resident)
        return false;
    const uint64_t strands = sizes->scan.finishers / inner, fair = divide_up(shape->extent, strands * resident);
    const uint64_t most_rows = least(items, divide_up(fair, sizes->vector) * sizes->vector);
    if (shape->extent < strands * LEAST_STRAND)
        return false;
    uint64_t best = 0;
    unsigned met = 0;
    for (uint64_t rows = most_rows; rows * 4 > most_rows * 3; rows--) {
        const unsigned in_a_bank = lanes_in_a_bank(sizes, inner, rows);
        if (strands * rows * inner % sizes->vector == 0 && (!best || in_a_bank < met)) {
            best = rows;
            met = in_a_bank;
        }
    }
    if (!best) /* no tile of whole vectors */
        return false;
    cut->path = TALLY_CUDA_NARROW;
    cut->columns = inner;
    cut->groups = (unsigned)strands;
    cut->stretch = best;
    cut->tile = strands * best * inner;
    cut->tiles = divide_up(cut->elements, cut->tile);
    cut->tile_grid = least(cut->tiles, resident);
    for (cut->width = 32; cut->width * inner > sizes->scan.finishers;)
        cut->width /= 2;
    if (cut->tiles > 1) {
        const uint64_t waves = least(sizes->scan.ring, divide_up(cut->tiles, cut->tile_grid));
        const uint64_t bytes = waves * inner * cut->tile_grid * sizes->entry_bytes;
        cut->entries = tally_cuda_place(cut, bytes);
        cut->told = tally_cuda_place(cut, bytes);
    }
    cut->zeroed_bytes = cut->bytes;
    return true;
}

static void cut_axis(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                     uint64_t resident, const tally_shape *shape, tally_cuda_cut *cut) {
    bool scan = tally_is_scan(c);
    cut->rows = shape->outer * shape->inner;
    cut->elements = cut->rows * shape->extent;
    if (!cut->rows || (scan && !cut->elements))
        return;
    bool is_short = shape->outer > 1 && shape->extent && shape->extent < SHORT_ROW;
    if (scan && shape->inner > 1 && cut_narrow_scan(sizes, resident, shape, cut))
        return;
    if (scan && shape->inner > 1 && cut_panels(device, c, sizes, shape, cut))
        return;
    if (scan && shape->inner > 1)
        cut_stretches(device, sizes, shape, cut);
    else if (scan)
        cut_scan(c, sizes, resident, cut);
    else if (is_short && shape->inner == 1 && shape->extent > 1 && shape->extent <= TINY_ROW && cut->rows <= UINT32_MAX)
        cut->path = TALLY_CUDA_TINY_ROWS;
    else if (is_short && cut_short_rows(device, c, sizes, shape, cut))
        return;
    else if (is_short && slabs_that_fit(sizes, shape))
        cut_slabs(device, sizes, shape, cut);
    else if (shape->inner > 1 && shape->extent) {
        cut_columns(device, c, sizes, shape, cut);
    } else {
        cut_rows(device, sizes, shape->extent, cut);
    }
}

void tally_cuda_cut_make(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                         uint64_t resident, const tally_shape *shape, tally_cuda_cut *cut) {
    memset(cut, 0, sizeof *cut);
    tally_grouping grouping = c->desc.grouping;
    if (c->exact) {
        tally_cuda_exact_cut(c, resident, shape, cut);
        return;
    }
    if (grouping == TALLY_AXIS) {
        cut_axis(device, c, sizes, resident, shape, cut);
        return;
    }
    cut->elements = shape->extent;
    cut->rows = 1;
    if (grouping == TALLY_ALL_VALUES && !tally_is_scan(c))
        cut_rows(device, sizes, shape->extent, cut);
    else if (!tally_is_scan(c))
        tally_cuda_groups_cut(c, sizes, resident, shape, cut);
    else if (shape->extent || grouping == TALLY_SEGMENTS)
        cut_scan(c, sizes, resident, cut);
}
