#include "cuda/scan_columns.h"

#include "core/arithmetic.h"
#include "cuda/columns.h"
#include "cuda/scan_tall.h"

enum {
    /* panels */
    LEAST_ROWS = 64,    /* of a slab */
    LINE_BYTES = 128,   /* of a line of the cache; slabs whose rows have no more are one panel */
    SECTOR_BYTES = 32,  /* of memory; panels are whole sectors, as writing parts of one costs more */
    NARROW_BYTES = 256, /* up to this width panels may come out narrower than it says, to make their number even */
    LEAST_BUSY = 60,    /* per cent, by tally_cuda_busy; with less, clusters hold the columns if they can */
    HALF_BUSY = 40,     /* with less, columns are cut into tiles or stretches */
    TALL_BUSY = 90,     /* with less, tiles of some rows are faster, from so many bytes read and written on: */
    LEAST_TALL = 32 << 20,
    TALL_ROWS = 512, /* and with so many rows at least, as wide as a line of the cache */
    FEW_STRANDS = 8, /* of a column, which each of its threads adds up by itself */

    /* columns held in registers */
    HELD_LARGE = 768, /* threads of a multiprocessor, about, if accumulators are large */
    LEAST_SHARE = 4,  /* strands of a column that a block has at least, if blocks are more than needed */

    /* slabs */
    SLAB_ROWS = 64, /* an axis of fewer is short */
    /* small slabs: of fewer than MOST_SLAB_ROWS rows, with LEAST_SLABS in a tile. On an H100 min of f32 13891 x 305 x 1
     * took 19.4 us this way and 24.2 in waves, sums of f16 60000 x 200 x 1 28.2 and 32.3; but sums of f32 200000 x 500
     * x 1, 800 MB, 344 and 277, and var of f32 741 x 100 x 4, held in registers by clusters, 10.0 and 8.1 */
    MOST_SLAB_ROWS = 1024,
    LEAST_SLABS = 2,
    MOST_OF_SLABS = 64 << 20, /* bytes read and written in all */
    MOST_OF_PARTS = 4096,     /* rows of a slab that is a tile by itself, as its rows are parts of sectors */
    ROWS_OF_PART = 4,         /* of a lane at least, where lanes share a column, */
    COSTLY_ROWS = 2,          /* and where each takes an exponential and a logarithm */
    WARP_LOG = 5,
    SLAB_BLOCKS = 8,         /* that a multiprocessor holds at a time, about */
    MOST_BLOCKS = 64,        /* for each multiprocessor; more are tiles in turn */
    LEAST_TILE = 512,        /* elements of a tile at least */
    MANY_TURNS = 4,          /* of blocks; of more, the last one need not be full */
    LATENCY = 6 << 10,       /* bytes that pass through a block in the time that it waits for memory */
    WHOLE_COLUMNS = 16,      /* of a tile that is columns: of any width whole vectors */
    LARGE_ROWS = 8 << 20,    /* bytes, from which on short rows of narrow elements are as fast in tiles of scan.cu */
    WIDE_ROW = 1 << 16,      /* bytes, from which on stretches of whole vectors are as fast, */
    WIDE_ROW_OF_8 = 1 << 12, /* and elements of 8 bytes one by one */

    /* columns of short axes, in vectors */
    THIN_ROWS = 64,       /* an axis of more is not thin */
    FEW_THIN_ROWS = 4,    /* which a thread loads at once or twice: any number of threads will do; */
    THIN_THREADS = 60000, /* for more rows at least so many, or each step waits for memory */
    LEAST_THIN_ROW = 512, /* bytes of a row: i32 3057 x 18 x 39 took 18.2 us on an H100, in slabs 14.5 */

    /* stretches */
    LEAST_STRETCH = 32, /* rows of a column that a thread takes at least */
    MOST_CHUNKS = 4096, /* of a column of 65536 rows; of longer ones, see most_chunks() */
    WARP = 32,
    STRETCH_BLOCKS = 64 /* for each multiprocessor at most */
};

/* ---- cutting ---- */

/* An axis of extent 1 is a single row. */
static tally_shape flat(const tally_shape *shape) {
    tally_shape s = *shape;
    if (s.extent == 1) {
        s.inner *= s.outer;
        s.outer = 1;
    }
    return s;
}

/* The widths of panels, in bytes, and the per cent of a copy's speed that they would have with all multiprocessors
 * busy: where rows are whole lines of the cache, and where they are not, so that neighbouring panels share lines.
 * Measured on an H200 with 150000, 160000, 16384 and 400 columns of f32. */
static const struct {
    unsigned bytes, in_line, apart;
} widths[] = {{256, 92, 82}, {128, 82, 78}, {512, 93, 93}, {768, 88, 87}};

/* The number of panels of slabs whose rows have 'row' bytes. Columns are counted on from slab to slab, so a panel may
 * end in the slab after the one that it begins in: 400 x 400 x 400 is 1250 panels of 128 columns this way. Otherwise it
 * would be 1600, 400 of them with 16 columns. But no panel is wider than a row, nor than 'widest' bytes. */
static uint64_t choose_panels(uint64_t outer, uint64_t row, uint64_t widest, uint64_t places) {
    uint64_t best = 0, panels = outer;
    for (size_t k = 0; k < sizeof widths / sizeof *widths && row > LINE_BYTES; k++) {
        if (widths[k].bytes > widest)
            continue;
        const uint64_t number = widths[k].bytes < row ? divide_up(outer * row, widths[k].bytes) : outer;
        const uint64_t score =
            tally_cuda_busy(number, places) * (row % LINE_BYTES ? widths[k].apart : widths[k].in_line);
        const bool is_full = outer * row / number >= widths[k].bytes / 16 * 15;
        if (score > best && (is_full || widths[k].bytes <= NARROW_BYTES)) {
            best = score;
            panels = number;
        }
    }
    return panels;
}

/* Where each of the tile's rows begins anywhere in a vector, and may be of two slabs, it takes some more room. Returns
 * how many strands there is room for then. */
static uint64_t fit_strands(const tally_cuda_sizes *sizes, unsigned in, const tally_shape *shape, tally_cuda_cut *cut) {
    const unsigned panel = cut->panels.panel, apart = panel == shape->inner ? 0 : shape->outer > 1 ? 48 : 16;
    const uint64_t strands = sizes->scan.finishers / panel;
    cut->panels.pitch = panel * in + apart;
    return apart ? least(strands, sizes->scan.panel_place / (sizes->scan.panel_items * cut->panels.pitch)) : strands;
}

/* Whether there is about a column for each of the device's threads. */
static bool has_all_threads_busy(const tally_cuda_device *device, const tally_shape *shape) {
    const uint64_t threads = (uint64_t)device->multiprocessors * (uint64_t)device->threads_per_sm;
    return shape->outer * shape->inner >= threads / 3;
}

/* Cuts into columns that clusters hold in registers. A panel's rows are a sector of memory; with half of one, for twice
 * as many rows, argmax of f32 1 x 12163 x 273 took 51 us on an H100, as stretches 38. False if there are too many rows.
 */
bool tally_cuda_held_columns_cut(const tally_cuda_device *device, const tally_computation *c,
                                 const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t strand = sizes->scan.strand, extent = shape->extent;
    uint64_t width = 1, blocks = 1;
    if (!strand)
        return false;
    while (width < shape->inner && 2 * width * c->in_bytes <= SECTOR_BYTES && 2 * width <= WARP)
        width *= 2;
    if (extent > TALLY_CUDA_CLUSTER * TALLY_CUDA_STRANDS_BLOCK / width * strand)
        return false;
    const uint64_t panels = shape->outer * divide_up(shape->inner, width);
    while (blocks < TALLY_CUDA_CLUSTER &&
           (extent > blocks * TALLY_CUDA_STRANDS_BLOCK / width * strand ||
            (panels * blocks < (uint64_t)device->multiprocessors && extent > 2 * blocks * LEAST_SHARE * strand)))
        blocks *= 2;
    const uint64_t strands = divide_up(extent, blocks * strand);
    if (panels * blocks > INT32_MAX)
        return false;
    /* Large accumulators leave room for one block of 512 threads, so memory is idle while it computes: var of f32 4 x
     * 4096 x 4096 reached 0.27 of a copy on an H100. */
    if (sizes->slot_bytes > 16 &&
        panels * blocks * round_up(strands * width, WARP) > (uint64_t)device->multiprocessors * HELD_LARGE)
        return false;
    cut->path = TALLY_CUDA_HELD_COLUMNS;
    cut->held_columns.panels = panels;
    cut->held_columns.width = (unsigned)width;
    cut->held_columns.blocks = (unsigned)blocks;
    cut->held_columns.threads = (unsigned)round_up(strands * width, WARP);
    cut->held_columns.chunk = cut->held_columns.threads / width * strand;
    return true;
}

/* Cuts into panels: whole rows of narrow slabs, else panels of the fastest width with all multiprocessors busy. With
 * too few panels for that, columns that clusters hold, if they can. False if there are too few rows, or if stretches
 * are faster. */
static bool cut_panels(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                       const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t in = c->in_bytes, row = shape->inner * in, processors = (uint64_t)device->multiprocessors;
    const uint64_t places = processors * sizes->scan.teams, result = c->out_bytes * c->per_result;
    if (!sizes->scan.takes_panels || !shape->inner || shape->extent < LEAST_ROWS ||
        shape->inner * most(in, result) > INT32_MAX)
        return false;
    /* any of u32 67 x 425 x 1796 reached 0.68 of a copy on an H100 as stretches, and 0.44 in panels; on an H200 any of
     * i32 1 x 59226 x 3557 took 738 us and 936, but all of f64 3 x 20000 x 1500 499 and 483 */
    if (in >= 4 && result != in && row > NARROW_BYTES &&
        ((in == 4 && result < in) || has_all_threads_busy(device, shape)))
        return false;
    const uint64_t wanted = choose_panels(shape->outer, row, sizes->scan.finishers * in, places);
    const uint64_t sectors = divide_up(divide_up(shape->outer * row, SECTOR_BYTES), wanted);
    const uint64_t panel = wanted > shape->outer ? sectors * SECTOR_BYTES / in : shape->inner;
    const uint64_t panels = divide_up(shape->outer * shape->inner, panel), busy = tally_cuda_busy(panels, places);
    if (busy < LEAST_BUSY && tally_cuda_held_columns_cut(device, c, sizes, shape, cut))
        return true;
    cut->panels.panel = (unsigned)panel;
    const uint64_t strands = fit_strands(sizes, (unsigned)in, shape, cut), tile = strands * sizes->scan.panel_items;
    if (busy < HALF_BUSY || !strands || shape->extent < tile / 2)
        return false;
    cut->path = TALLY_CUDA_PANELS;
    cut->panels.panels = panels;
    cut->panels.strands = (unsigned)strands;
    cut->panels.blocks = least(divide_up(panels, sizes->scan.teams), processors);
    return true;
}

/* Whether there are enough columns for all of the device's threads to have a vector of them. */
static bool has_many_columns(const tally_cuda_device *device, const tally_cuda_sizes *sizes, const tally_shape *shape) {
    const uint64_t threads = (uint64_t)device->multiprocessors * (uint64_t)device->threads_per_sm;
    return shape->inner % sizes->column_width == 0 && shape->outer * shape->inner / sizes->column_width >= threads;
}

/* A block scans a column's sums, each of its threads some, and a thread has a chunk's rows: on an H100 the sums of
 * 17047 chunks of var f64 took 82 us, and on an H200 1842 rows of std f16 2500. So there are as many sums of a thread
 * as rows of a chunk, or more. */
static uint64_t most_chunks(uint64_t extent) {
    uint64_t most = MOST_CHUNKS;
    while (most / TALLY_CUDA_BLOCK < extent / most)
        most *= 2;
    return most;
}

/* Cuts into stretches. If there are enough columns for all of the device's threads, they are scanned in one pass; with
 * more than enough, each thread has several columns. */
static void cut_stretches(const tally_cuda_device *device, const tally_cuda_sizes *sizes, const tally_shape *shape,
                          tally_cuda_cut *cut) {
    const uint64_t threads = (uint64_t)device->multiprocessors * (uint64_t)device->threads_per_sm;
    const bool are_vectors = shape->inner % sizes->column_width == 0, are_cut = !has_all_threads_busy(device, shape);
    const uint64_t width = has_many_columns(device, sizes, shape) || (are_cut && are_vectors) ? sizes->column_width : 1;
    uint64_t chunks = 1;
    if (are_cut) {
        const uint64_t wanted = divide_up((width > 1 ? 1 : 2) * threads, divide_up(cut->groups, width));
        chunks = most(1, least(least(wanted, shape->extent / LEAST_STRETCH), most_chunks(shape->extent)));
    }
    cut->path = TALLY_CUDA_STRETCHES;
    cut->stretches.width = (unsigned)width;
    cut->stretches.chunk = divide_up(shape->extent, chunks);
    cut->stretches.chunks = divide_up(shape->extent, cut->stretches.chunk);
    if (cut->stretches.chunks > 1)
        cut->partials = tally_cuda_place(cut, cut->groups * cut->stretches.chunks * sizes->slot_bytes);
}

/* Whether tiles of some rows (scan_tall.cu) are faster than panels that one team goes down, and than columns that
 * clusters hold: on an H200 norm_inf of f64 1 x 4289 x 17414 took 368 us and 607, bxor of u32 3 x 3824 x 18786 576 and
 * 591, min of f64 1 x 4774 x 1245 44 and 77, any of u32 1 x 12381 x 16501 339 and 380, all of u64 1 x 3455 x 28646 255
 * and 340, count_nonzero of i32 1 x 992 x 22243 94 and 107; but sums of f32 1 x 2000 x 900 19 and 15, and on an H100
 * norm2 of i32 165 x 39212 x 2 172 and 130, argmin of u32 1 x 438 x 6532 23 and 19. */
static bool goes_tall(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                      const tally_shape *shape, const tally_cuda_cut *tall) {
    const uint64_t processors = (uint64_t)device->multiprocessors, result = c->out_bytes * c->per_result;
    const uint64_t row = shape->inner * c->in_bytes, places = processors * sizes->scan.teams;
    const uint64_t panels = choose_panels(shape->outer, row, sizes->scan.finishers * c->in_bytes, places);
    const bool is_large = tall->elements * (c->in_bytes + result) >= LEAST_TALL && shape->extent >= TALL_ROWS;
    return row >= LINE_BYTES && ((is_large && (result != c->in_bytes || tally_cuda_busy(panels, places) < TALL_BUSY)) ||
                                 (tall->tall.tiles == 1 && shape->outer * tall->tall.panels >= processors));
}

void tally_cuda_scan_columns_cut(const tally_cuda_device *device, const tally_computation *c,
                                 const tally_cuda_sizes *sizes, const tally_shape *of_args, tally_cuda_cut *cut) {
    const tally_shape flattened = flat(of_args), *shape = &flattened;
    tally_cuda_cut tall = *cut;
    const bool is_tall =
        !c->is_sized && !has_all_threads_busy(device, shape) && tally_cuda_tall_cut(device, c, sizes, shape, &tall);
    if (is_tall && goes_tall(device, c, sizes, shape, &tall)) {
        *cut = tall;
        return;
    }
    if (!c->is_sized && cut_panels(device, c, sizes, shape, cut))
        return;
    if (!c->is_sized && !has_all_threads_busy(device, shape) &&
        tally_cuda_held_columns_cut(device, c, sizes, shape, cut))
        return;
    if (is_tall) {
        *cut = tall;
        return;
    }
    cut_stretches(device, sizes, shape, cut);
}

/* Gives a tile's columns as many threads as a block has, if each then has a few rows. */
static void share_columns(const tally_computation *c, uint64_t columns, uint64_t extent, tally_cuda_cut *cut) {
    const uint64_t least_rows = c->entry && c->monoid == TALLY_MONOID_logsumexp ? COSTLY_ROWS : ROWS_OF_PART;
    unsigned bits = 0;
    while (bits < WARP_LOG && columns << bits < TALLY_CUDA_BLOCK && extent >> bits >= 2 * least_rows)
        bits++;
    cut->scan_slabs.part_bits = bits;
    cut->scan_slabs.rows = (unsigned)(divide_up(extent, (uint64_t)1 << bits) | 1); /* odd: of other banks */
}

static bool are_plain(const tally_computation *c, const tally_cuda_sizes *sizes) {
    return c->in_bytes >= 4 && sizes->slot_bytes <= 8;
}

/* Whether columns of a short axis are fastest as stretches. On an H100 minmax of f32 1 x 2 x 9092972 reached 0.93 of a
 * copy, in slabs 0.83; and elements of 8 bytes one by one, minmax of u64 1 x 3 x 2960335 0.91 and 0.72, sumsq of f64 4
 * x 3 x 73823 1.10 and 0.78, count_nonzero of f64 1849 x 2 x 1718 on an H200 0.84 and 0.64. */
static bool are_fast_columns(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                             const tally_shape *shape) {
    const uint64_t row = shape->inner * c->in_bytes;
    return (row >= WIDE_ROW && are_plain(c, sizes) && has_many_columns(device, sizes, shape)) ||
           (row >= WIDE_ROW_OF_8 && c->in_bytes == 8 && sizes->slot_bytes <= 16 && has_all_threads_busy(device, shape));
}

bool tally_cuda_scan_thin_cut(const tally_cuda_device *device, const tally_computation *c,
                              const tally_cuda_sizes *sizes, const tally_shape *of_args, tally_cuda_cut *cut) {
    const tally_shape flattened = flat(of_args), *shape = &flattened;
    const uint64_t widest = most(c->in_bytes, c->out_bytes * c->per_result);
    const uint64_t threads = shape->outer * divide_up(shape->inner, sizes->thin_width);
    if (c->in_window || sizes->is_large || !shape->extent || shape->extent > THIN_ROWS ||
        threads / TALLY_CUDA_BLOCK >= INT32_MAX / 2)
        return false;
    if (shape->extent > 1 &&
        (shape->inner * widest < LEAST_THIN_ROW || (shape->extent > FEW_THIN_ROWS && threads < THIN_THREADS) ||
         are_fast_columns(device, c, sizes, shape)))
        return false;
    cut->path = TALLY_CUDA_SCAN_THIN;
    return true;
}

/* Blocks that a multiprocessor holds at a time, as in scan_slabs.cu. */
static uint64_t resident_slab_blocks(const tally_computation *c, const tally_cuda_sizes *sizes) {
    const bool are_two = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS);
    return sizes->slot_bytes > 32 ? 1 : sizes->slot_bytes > 8 ? 4 : are_two ? 5 : 6;
}

/* About when tiles of so many bytes are done: a block takes a while however small its tile is. */
static uint64_t time_of_tiles(uint64_t places, uint64_t tiles, uint64_t bytes) {
    const uint64_t all = tiles > MANY_TURNS * places ? tiles : round_up(tiles, places);
    return all * (LATENCY + bytes);
}

/* The columns of a tile of all rows of a slab, up to 'most_columns', that let the blocks end soonest. Rows begin within
 * sectors of memory, which neighbouring tiles share. */
static uint64_t columns_of_tile(uint64_t places, const tally_shape *shape, uint64_t widest, uint64_t most_columns) {
    uint64_t best = WHOLE_COLUMNS, least_time = UINT64_MAX;
    for (uint64_t wide = most_columns; wide >= WHOLE_COLUMNS; wide -= WHOLE_COLUMNS) {
        const uint64_t panels = divide_up(shape->inner, wide),
                       columns = round_up(divide_up(shape->inner, panels), WHOLE_COLUMNS);
        const uint64_t time = time_of_tiles(places, shape->outer * divide_up(shape->inner, columns),
                                            shape->extent * (columns * widest + SECTOR_BYTES));
        if (time < least_time) {
            least_time = time;
            best = columns;
        }
    }
    return best;
}

/* The slabs of a tile, up to 'most_slabs': as many as let the blocks end soonest. */
static uint64_t slabs_of_tile(uint64_t places, uint64_t outer, uint64_t slab_bytes, uint64_t most_slabs) {
    uint64_t best = 1, least_time = UINT64_MAX;
    for (uint64_t slabs = 1; slabs <= most_slabs; slabs++) {
        const uint64_t time = time_of_tiles(places, divide_up(outer, slabs), slabs * slab_bytes);
        if (time < least_time) {
            least_time = time;
            best = slabs;
        }
    }
    return best;
}

bool tally_cuda_scan_slabs_cut(const tally_cuda_device *device, const tally_computation *c,
                               const tally_cuda_sizes *sizes, const tally_shape *of_args, tally_cuda_cut *cut) {
    const tally_shape flattened = flat(of_args), *shape = &flattened;
    const uint64_t widest = most(c->in_bytes, c->out_bytes * c->per_result), extent = shape->extent;
    const uint64_t row = shape->inner * c->in_bytes, slab = extent * shape->inner,
                   fits = TALLY_CUDA_SLAB_SCAN_BYTES / (c->in_bytes + c->out_bytes * c->per_result);
    if (extent == 0 || slab == 0)
        return false;
    const bool is_short = extent < SLAB_ROWS && WHOLE_COLUMNS * extent <= fits;
    /* waves are an alternative for rows; threads that each go down columns of a slab would read memory in pieces */
    const bool has_many_parts = shape->inner > 1 && row < SECTOR_BYTES && extent < MOST_OF_PARTS && slab <= fits &&
                                sizes->slot_bytes <= 16 &&
                                shape->outer >= (uint64_t)device->multiprocessors * SLAB_BLOCKS;
    const bool is_small =
        extent < MOST_SLAB_ROWS && slab * LEAST_SLABS <= fits &&
        (shape->inner > 1
             ? sizes->slot_bytes <= 16
             : sizes->slot_bytes <= 8 && cut->elements * (c->in_bytes + c->out_bytes * c->per_result) <= MOST_OF_SLABS);
    const bool are_fast_rows = shape->inner == 1 && extent > 1 && extent < SLAB_ROWS && sizes->slot_bytes <= 8 &&
                               (are_plain(c, sizes) || cut->elements * widest >= LARGE_ROWS);
    if (are_fast_columns(device, c, sizes, shape) || are_fast_rows || !(is_short || is_small || has_many_parts))
        return false;
    const uint64_t fair = divide_up(cut->elements, (uint64_t)device->multiprocessors * SLAB_BLOCKS);
    const uint64_t elements = least(fits, most(is_small || has_many_parts ? most(LEAST_TILE, slab) : LEAST_TILE, fair));
    const uint64_t places = (uint64_t)device->multiprocessors * resident_slab_blocks(c, sizes);
    const uint64_t slabs =
        elements < slab ? 0 : slabs_of_tile(places, shape->outer, slab * widest, least(fits / slab, shape->outer));
    const uint64_t panel = columns_of_tile(places, shape, widest, fits / extent / WHOLE_COLUMNS * WHOLE_COLUMNS);
    cut->path = TALLY_CUDA_SCAN_SLABS;
    cut->scan_slabs.slabs = (unsigned)slabs;
    cut->scan_slabs.panel = slabs ? 0 : (unsigned)panel;
    cut->scan_slabs.panels = slabs ? 0 : divide_up(shape->inner, panel);
    cut->scan_slabs.tiles = slabs ? divide_up(shape->outer, slabs) : shape->outer * cut->scan_slabs.panels;
    share_columns(c, slabs ? slabs * shape->inner : panel, extent, cut);
    return true;
}

/* ---- launching ---- */

static tally_cuda_scan_columns_args columns_scan(const tally_cuda_launch *l, uint64_t chunk, uint64_t chunks) {
    const tally_args *a = l->args;
    const tally_shape shape = flat(&a->shape);
    return (tally_cuda_scan_columns_args){.x = tally_cuda_address(a->x),
                                          .y = tally_cuda_address(a->y),
                                          .out = tally_cuda_address(a->out),
                                          .initial = tally_cuda_address(a->initial),
                                          .partials = l->workspace + l->cut->partials,
                                          .carry = l->pieces.carry,
                                          .total = l->pieces.total,
                                          .outer = shape.outer,
                                          .extent = shape.extent,
                                          .inner = shape.inner,
                                          .chunk = chunk,
                                          .chunks = chunks,
                                          .before = l->pieces.before};
}

static tally_cuda_grid grid_for(const tally_cuda_launch *l, uint64_t threads) {
    return (tally_cuda_grid){.x = tally_cuda_blocks_for(l->plan->device, threads, TALLY_CUDA_BLOCK, STRETCH_BLOCKS),
                             .threads = TALLY_CUDA_BLOCK};
}

/* Turns the sums of chunks into the sums of all chunks before each. */
static tally_status launch_scan_of_sums(const tally_cuda_launch *l, tally_cuda_scan_columns_args *args) {
    const uint64_t threads_a_column = l->cut->groups >= TALLY_CUDA_MANY_COLUMNS &&
                                              args->chunks > TALLY_CUDA_MANY_CHUNKS && l->plan->sizes.slot_bytes <= 16
                                          ? TALLY_CUDA_BLOCK / TALLY_CUDA_SUMS_ACROSS
                                      : args->chunks > TALLY_CUDA_MANY_CHUNKS ? TALLY_CUDA_BLOCK
                                                                              : WARP;
    return tally_cuda_enqueue(l, l->plan->kernels.scan_stretches, grid_for(l, l->cut->groups * threads_a_column), args,
                              "launching a scan of their sums");
}

tally_status tally_cuda_stretches_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    const uint64_t chunks = cut->stretches.chunks;
    const tally_cuda_grid grid = grid_for(l, cut->groups / cut->stretches.width * chunks);
    tally_cuda_scan_columns_args args = columns_scan(l, cut->stretches.chunk, chunks);
    args.width = cut->stretches.width;
    tally_status status = TALLY_OK;
    if (chunks > 1)
        status = tally_cuda_enqueue(l, k->sum_stretches, grid, &args, "launching sums of stretches");
    if (status == TALLY_OK && chunks > 1)
        status = launch_scan_of_sums(l, &args);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->scan_columns, grid, &args, "launching a scan of columns");
    return status;
}

tally_status tally_cuda_scan_slabs_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const tally_shape shape = flat(&a->shape);
    tally_cuda_scan_slabs_args args = {.x = tally_cuda_address(a->x),
                                       .y = tally_cuda_address(a->y),
                                       .out = tally_cuda_address(a->out),
                                       .initial = tally_cuda_address(a->initial),
                                       .carry = l->pieces.carry,
                                       .total = l->pieces.total,
                                       .outer = shape.outer,
                                       .extent = shape.extent,
                                       .inner = shape.inner,
                                       .before = l->pieces.before,
                                       .tiles = cut->scan_slabs.tiles,
                                       .panels = cut->scan_slabs.panels,
                                       .slabs = cut->scan_slabs.slabs,
                                       .panel = cut->scan_slabs.panel,
                                       .part_bits = cut->scan_slabs.part_bits,
                                       .rows = cut->scan_slabs.rows};
    const tally_cuda_grid grid = {
        .x = least(cut->scan_slabs.tiles, (uint64_t)l->plan->device->multiprocessors * MOST_BLOCKS),
        .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.scan_slabs, grid, &args, "launching a scan of slabs");
}

tally_status tally_cuda_scan_thin_launch(const tally_cuda_launch *l) {
    tally_cuda_scan_columns_args args = columns_scan(l, 0, 1);
    const uint64_t threads = args.outer * divide_up(args.inner, l->plan->sizes.thin_width);
    /* a warp's last lane does the same as the next one's first */
    const tally_cuda_grid grid = {.x = divide_up(divide_up(threads, WARP - 1) * WARP, TALLY_CUDA_BLOCK),
                                  .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.scan_thin, grid, &args, "launching a scan of thin columns");
}

tally_status tally_cuda_held_columns_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    tally_cuda_scan_columns_args args = columns_scan(l, cut->held_columns.chunk, cut->held_columns.blocks);
    args.width = cut->held_columns.width;
    const tally_cuda_grid grid = {.x = cut->held_columns.panels * cut->held_columns.blocks,
                                  .threads = cut->held_columns.threads,
                                  .cluster = cut->held_columns.blocks > 1 ? cut->held_columns.blocks : 0};
    return tally_cuda_enqueue(l, l->plan->kernels.scan_held_columns, grid, &args, "launching a scan of held columns");
}

tally_status tally_cuda_panels_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    const tally_cuda_scan_columns_args columns = columns_scan(l, 0, 1);
    tally_cuda_panels_args args = {.x = columns.x,
                                   .y = columns.y,
                                   .out = columns.out,
                                   .initial = columns.initial,
                                   .carry = columns.carry,
                                   .total = columns.total,
                                   .outer = columns.outer,
                                   .extent = columns.extent,
                                   .inner = columns.inner,
                                   .before = columns.before,
                                   .panels = cut->panels.panels,
                                   .panel = cut->panels.panel,
                                   .strands = cut->panels.strands,
                                   .pitch = cut->panels.pitch};
    const tally_cuda_grid grid = {
        .x = cut->panels.blocks, .threads = sizes->scan.panel_threads, .shared = sizes->scan.panel_shared};
    const bool is_thin = cut->panels.strands > FEW_STRANDS;
    return tally_cuda_enqueue(l, is_thin ? l->plan->kernels.scan_thin_panels : l->plan->kernels.scan_panels, grid,
                              &args, "launching a scan of panels");
}
