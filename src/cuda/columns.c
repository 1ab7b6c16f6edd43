#include "cuda/columns.h"

#include "core/arithmetic.h"
#include "cuda/reduce.h"

enum {
    SLAB_VECTORS = 1024, /* of 16 bytes in a tile, as in slabs.cu */
    TILES_AT_ONCE = 4,   /* for each multiprocessor; tiles are smaller until there are so many */
    SLAB_BLOCKS = 64,    /* for each multiprocessor: many that come and go end together */
    ROWS_OF_PART = 32,   /* of a slab's column for each thread, until a warp has the column */
    WARP_LOG = 5,

    PANEL_BYTES = 512, /* of a panel's row at least, which lie next to each other */
    /* the same of 8-byte elements whose rows are not whole sectors of memory, because neighbouring panels share some:
     * norm1 of f64 300115 x 541 took 455 us on an H100, and 532 in panels of 512 bytes */
    WIDE_BYTES = 1536,
    LEAST_BYTES = 128,  /* the same where there would be too few blocks */
    SECTOR = 32,        /* bytes */
    ENOUGH_ROWS = 64,   /* of a thread where a block has several slabs */
    ROWS_A_THREAD = 16, /* of a panel at least, or fewer if there would be fewer blocks than multiprocessors: */
    LEAST_LOADS = 4,    /* if it waits for memory at least so often with all rows */
    MORE_LOADS = 2,     /* how much oftener a thread may wait for memory where a cluster has a panel */
    MUCH = 32 << 20,    /* bytes of input of which a second launch is a small part */
    WELL_BUSY = 90,     /* per cent, as tally_cuda_busy tells */
    TURNS = 4,          /* of blocks, whose threads have so many rows at least: */
    ROWS_OF_EVEN = 32,
    OF_TURNS = 64,    /* bytes of such input for each of its partial results */
    OF_PARTIALS = 16, /* bytes of input for each of the chunks' partial results, or few bytes of those in all */
    /* of a panel's partial results, which its last block folds instead of a second launch: on an H200 norm_inf of
     * f32 1 x 137275 x 8 took 8.3 us this way and 10.0, but std of i32 1 x 2904 x 2466, 150 KB, 35.6 and 24.6 */
    MOST_HANDED_BYTES = 32 << 10,
    MANY_CHUNKS = 32,    /* whose partial results a block folds, and not some of its threads */
    FEW_IN_VECTORS = 16, /* rows of which vectors at any address are faster than elements */

    /* columns of which a thread has all rows, in bytes of the array's row, and rows */
    LEAST_THIN_ROW = 128,
    THIN_ROWS = 64,       /* an axis of more is not thin */
    FEW_THIN_ROWS = 4,    /* which a thread loads at once: any number of threads will do; */
    THIN_THREADS = 60000, /* for more rows at least so many, or each step waits for memory */
};

/* ---- small slabs ---- */

/* The number of whole slabs that fit into a tile, wherever among memory's vectors it starts. */
static uint64_t slabs_that_fit(const tally_cuda_sizes *sizes, const tally_shape *shape) {
    uint64_t elements = (uint64_t)(SLAB_VECTORS - 1) * sizes->vector + 1;
    return shape->inner > elements / shape->extent ? 0 : elements / (shape->extent * shape->inner);
}

bool tally_cuda_slabs_cut(const tally_cuda_device *device, const tally_cuda_sizes *sizes, const tally_shape *shape,
                          tally_cuda_cut *cut) {
    const uint64_t fit = slabs_that_fit(sizes, shape);
    if (!fit)
        return false;
    const uint64_t slab = shape->extent * shape->inner, power_in_slab = slab & (~slab + 1);
    const uint64_t whole = sizes->vector / least(sizes->vector, power_in_slab); /* slabs that are whole vectors */
    const uint64_t fair = most(whole, divide_up(shape->outer, (uint64_t)device->multiprocessors * TILES_AT_ONCE));
    const uint64_t wanted = least(fit, fair), slabs_a_tile = wanted > whole ? wanted / whole * whole : wanted;
    unsigned part_bits = 0;
    while (part_bits < WARP_LOG && shape->extent > (uint64_t)ROWS_OF_PART << part_bits)
        part_bits++;
    cut->path = TALLY_CUDA_SLABS;
    cut->slabs.slabs_a_tile = slabs_a_tile;
    cut->slabs.tiles = divide_up(shape->outer, slabs_a_tile);
    cut->slabs.blocks = least(cut->slabs.tiles, (uint64_t)device->multiprocessors * SLAB_BLOCKS);
    cut->slabs.part_bits = part_bits;
    return true;
}

/* Whether lanes that read neighbouring columns, or parts of one, would meet in a bank of shared memory if it had no
 * pads. */
static bool needs_pads(uint64_t in, const tally_shape *shape, unsigned part_bits) {
    enum { VECTOR = 16, MANY_COLUMNS = 16 };
    const uint64_t row = shape->inner * in, part = divide_up(shape->extent, (uint64_t)1 << part_bits) * row;
    return in >= 4 || (part_bits && part % VECTOR == 0) ||
           (shape->inner < MANY_COLUMNS && shape->extent * row % VECTOR == 0);
}

tally_status tally_cuda_slabs_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    tally_cuda_slabs_args args = {
        .x = tally_cuda_address(a->x),
        .y = tally_cuda_address(a->y),
        .out = tally_cuda_address(a->out),
        .slabs = a->shape.outer,
        .tiles = cut->slabs.tiles,
        .slabs_a_tile = (uint32_t)cut->slabs.slabs_a_tile,
        .extent = (uint32_t)a->shape.extent,
        .inner = (uint32_t)a->shape.inner,
        .part_bits = cut->slabs.part_bits,
        .is_padded = needs_pads(l->plan->gpu.base.computation.in_bytes, &a->shape, cut->slabs.part_bits)};
    const tally_cuda_grid grid = {.x = cut->slabs.blocks, .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.fold_slabs, grid, &args, "launching a reduction of slabs");
}

/* ---- columns ---- */

uint64_t tally_cuda_busy(uint64_t parts, uint64_t places) {
    return parts * 100 / round_up(parts, places);
}

/* Blocks that the device holds at a time, whose threads have so many columns. */
static uint64_t places_of(const tally_cuda_device *device, const tally_cuda_sizes *sizes, unsigned width) {
    const bool is_single = width == 1 && sizes->column_width > 1;
    return (uint64_t)device->multiprocessors * (is_single ? sizes->single_blocks : sizes->column_blocks);
}

/* The slabs of a block whose threads have up to 'lines' lines of a slab's elements. Where slabs are short, a block has
 * several, so that a thread has enough rows, but so few that the multiprocessors finish together. */
static uint64_t slabs_of_block(uint64_t places, const tally_shape *shape, uint64_t line, uint64_t lines) {
    const uint64_t enough = most(1, shape->extent * shape->inner / (line * ENOUGH_ROWS));
    const uint64_t most_slabs = least(lines / enough, shape->outer / places);
    uint64_t slabs = 1, best = 0;
    for (uint64_t n = most_slabs; n > 1 && n > most_slabs / 2; n--)
        if (tally_cuda_busy(divide_up(shape->outer, n), places) > best) {
            best = tally_cuda_busy(divide_up(shape->outer, n), places);
            slabs = n;
        }
    return slabs;
}

/* Makes the panel as wide as the rows, if a block's threads can take a number of whole rows that is whole vectors. */
static bool choose_narrow_panel(const tally_cuda_device *device, const tally_cuda_sizes *sizes,
                                const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t inner = shape->inner, width = sizes->column_width;
    const uint64_t common = inner & (~inner + 1); /* the powers of two in inner */
    const uint64_t line = inner * (width / least(width, common)), lines = sizes->column_spots / line;
    /* Rows of whole vectors can use the other cut, which is better than leaving a quarter of the threads idle. */
    if (!lines || (common >= width && lines * line < sizes->column_spots / 4 * 3))
        return false;
    cut->columns.width = (unsigned)width;
    cut->columns.panel = (unsigned)inner;
    cut->columns.slabs = (unsigned)slabs_of_block(places_of(device, sizes, sizes->column_width), shape, line, lines);
    cut->columns.groups = (unsigned)(lines / cut->columns.slabs * line / inner);
    return true;
}

/* The number of panels of about 'wide' that a slab is cut into, so that the multiprocessors finish together. A few
 * panels will be cut into chunks of rows, and many blocks finish together anyway; both keep their number. */
static uint64_t even_panels(uint64_t places, uint64_t outer, uint64_t across, uint64_t wide, uint64_t widest) {
    const uint64_t fewest = divide_up(across, widest);
    uint64_t panels = most(1, divide_up(across, wide)), most_panels = panels * 3 / 2, best = 0;
    if (outer * panels < places || outer * panels > 8 * places)
        return panels;
    for (uint64_t turns = 1, n; (n = turns * places / outer) <= most_panels; turns++)
        if (n >= fewest && tally_cuda_busy(outer * n, places) > best) {
            best = tally_cuda_busy(outer * n, places);
            panels = n;
        }
    return panels;
}

/* The most blocks that panels of a slab give, 'groups' rows a step, if chunks have enough rows. */
static uint64_t parts_of(const tally_shape *shape, uint64_t panels, uint64_t groups) {
    return shape->outer * panels * most(1, shape->extent / most(1, groups * ROWS_A_THREAD));
}

/* Rows that begin at any address are loaded in whole vectors where elements are narrow or columns short; else an
 * element a thread is faster: sums of u32 853 wide took 0.87 of the time on an H100. */
static unsigned width_of(const tally_computation *c, unsigned width, const tally_shape *shape) {
    const bool in_line = shape->inner % width == 0;
    return in_line || c->in_bytes < 4 || shape->extent <= FEW_IN_VECTORS ? width : 1;
}

/* Rows that a thread loads at a time, as in columns.cu. */
static uint64_t rows_ahead(const tally_computation *c, unsigned width) {
    enum { VECTOR = 16, AHEAD = 4, FEW_AHEAD = 8 };
    const uint64_t bytes = width * c->in_bytes, rows = bytes >= VECTOR ? AHEAD : FEW_AHEAD;
    return tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) && bytes >= VECTOR / 2 ? rows / 2 : rows;
}

/* Whether half of the multiprocessors or more have no block. */
static bool are_few_blocks(const tally_cuda_device *device, uint64_t blocks) {
    return 2 * blocks < (uint64_t)device->multiprocessors;
}

/* Whether a thread would wait for memory less often in narrower panels, because columns are too short to be cut into
 * chunks and there is room for twice the blocks: count_nonzero of i16 31 x 59 x 1999 took 10.3 us on an H200 in 248
 * blocks, and 12.1 in 124. */
static bool are_too_wide(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                         const tally_shape *shape, uint64_t blocks, unsigned width, uint64_t groups) {
    return shape->extent > groups * rows_ahead(c, width) && shape->extent < 2 * groups * ROWS_A_THREAD &&
           2 * blocks <= places_of(device, sizes, width);
}

static void choose_wide_panel(const tally_cuda_device *device, const tally_computation *c,
                              const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    const unsigned width = width_of(c, sizes->column_width, shape);
    uint64_t threads = least(TALLY_CUDA_BLOCK, sizes->column_spots / width), across = divide_up(shape->inner, width);
    const bool shares_sectors = c->in_bytes == 8 && shape->inner * c->in_bytes % SECTOR;
    uint64_t wide = (shares_sectors ? WIDE_BYTES : PANEL_BYTES) / (width * c->in_bytes);
    while (wide < threads && shape->extent * wide / threads < ROWS_A_THREAD)
        wide *= 2;
    while (wide * width * c->in_bytes >= 2 * LEAST_BYTES) {
        const uint64_t blocks = parts_of(shape, divide_up(across, wide), threads / wide);
        if (!are_few_blocks(device, blocks) && !are_too_wide(device, c, sizes, shape, blocks, width, threads / wide))
            break;
        wide /= 2;
    }
    wide = most(1, least(wide, least(threads, across)));
    if (wide < threads / 2)
        wide = most(1, divide_up(across, even_panels(places_of(device, sizes, width), shape->outer, across, wide,
                                                     threads / 2)));
    cut->columns.width = width;
    cut->columns.slabs = 1;
    cut->columns.panel = (unsigned)(wide * width);
    cut->columns.groups = (unsigned)(threads / wide);
}

/* Whether a panel that is as wide as the rows should not be. Two vectors of each of two inputs, at any address, take
 * many registers: dot of f32 60 x 2111 x 253 took 71.6 us on an H200 with a column a thread, 75.6 with vectors. */
static bool is_wide_better(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                           const tally_shape *shape, const tally_cuda_cut *narrow, const tally_cuda_cut *wide) {
    const uint64_t width = narrow->columns.width, blocks = parts_of(shape, 1, narrow->columns.groups);
    if (shape->inner * c->in_bytes <= LEAST_BYTES)
        return false;
    if (tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) && shape->inner % width && wide->columns.width == 1 &&
        narrow->columns.slabs == 1)
        return true;
    return are_few_blocks(device, blocks) ||
           (wide->columns.panel < shape->inner &&
            are_too_wide(device, c, sizes, shape, blocks, narrow->columns.width, narrow->columns.groups));
}

bool tally_cuda_thin_columns_cut(const tally_computation *c, const tally_cuda_sizes *sizes, const tally_shape *shape,
                                 tally_cuda_cut *cut) {
    const unsigned width = width_of(c, sizes->thin_width, shape);
    const uint64_t shares = divide_up(shape->inner, width);
    if (c->is_sized || shape->extent > THIN_ROWS || shape->inner * c->in_bytes < LEAST_THIN_ROW ||
        (shape->extent > FEW_THIN_ROWS && shape->outer * shares < THIN_THREADS))
        return false;
    cut->path = TALLY_CUDA_THIN_COLUMNS;
    cut->columns.width = cut->columns.panel = width;
    cut->columns.chunks = cut->columns.slabs = cut->columns.groups = 1;
    return true;
}

/* The rows of a thread. Where there is little input, a thread that waits for memory less often is worth more than the
 * partial results of more chunks cost: on an H200 any of i64 40 x 326 x 59 took 12.0 us with 8 rows and 13.8 with 16.
 */
static uint64_t rows_of_thread(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_cut *cut,
                               uint64_t panels, uint64_t extent) {
    const uint64_t at_once = rows_ahead(c, cut->columns.width);
    const uint64_t rows = extent / most(1, cut->columns.groups);
    uint64_t each = ROWS_A_THREAD;
    while (rows >= LEAST_LOADS * at_once && each > at_once &&
           panels * (rows / each) < (uint64_t)device->multiprocessors)
        each -= at_once;
    return each;
}

/* The number of chunks of much input, from 'fewest' on, that makes the multiprocessors finish together: of 554 blocks
 * of which 528 fit, the last ones alone take half as long as all others, and of 141 half of the device is idle. Unless
 * the fewest come out even, blocks take turns, so that a multiprocessor whose blocks end early gets others: var of f32
 * 7 x 30001 x 1200 took 290 us on an H200 instead of 324, but argmax of f32 4 x 20001 x 3001, which was even, 332
 * instead of 321. */
static uint64_t even_chunks(uint64_t places, uint64_t panels, uint64_t fewest, uint64_t most_chunks) {
    const bool are_even = tally_cuda_busy(panels * fewest, places) >= WELL_BUSY;
    const uint64_t top = are_even ? fewest : most(fewest, least(most_chunks, TURNS * places / panels));
    uint64_t chunks = top;
    for (uint64_t n = top; n-- > fewest;)
        if (tally_cuda_busy(panels * n, places) > tally_cuda_busy(panels * chunks, places))
            chunks = n;
    return chunks;
}

/* Panels are cut into chunks of rows until there are enough blocks for all multiprocessors, unless the chunks' partial
 * results would take too much memory. */
void tally_cuda_columns_cut(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                            const tally_shape *shape, tally_cuda_cut *cut) {
    const bool commutes = c->entry || c->user.commutes;
    cut->path = TALLY_CUDA_COLUMNS;
    tally_cuda_cut narrow = *cut;
    choose_wide_panel(device, c, sizes, shape, cut);
    if (commutes && choose_narrow_panel(device, sizes, shape, &narrow) &&
        !is_wide_better(device, c, sizes, shape, &narrow, cut))
        *cut = narrow;
    cut->columns.panels = divide_up(shape->inner, cut->columns.panel);
    const uint64_t panels = shape->outer * cut->columns.panels, groups = most(1, cut->columns.groups);
    const uint64_t places = places_of(device, sizes, cut->columns.width);
    uint64_t wanted = panels ? places / panels : 1;
    uint64_t chunks = least(wanted, shape->extent / groups / rows_of_thread(device, c, cut, panels, shape->extent));
    chunks = most(1, chunks);
    if (panels && cut->columns.slabs == 1 && cut->elements * c->in_bytes >= MUCH)
        chunks = even_chunks(places, panels, chunks,
                             least(shape->extent / groups / ROWS_OF_EVEN,
                                   cut->elements * c->in_bytes / OF_TURNS / sizes->slot_bytes / most(1, cut->groups)));
    const uint64_t parts = divide_up(shape->outer, cut->columns.slabs) * cut->columns.panels;
    const uint64_t most_blocks = (uint64_t)device->multiprocessors * (sizes->slot_bytes > 8 ? 3 : 4) / 2;
    const uint64_t in_cluster = least(least(chunks, TALLY_CUDA_CLUSTER), most_blocks / most(1, parts)),
                   ahead = rows_ahead(c, cut->columns.width), rows = shape->extent / groups;
    const uint64_t partial_bytes = most(TALLY_CUDA_PARTIAL_BYTES, cut->elements * c->in_bytes / OF_PARTIALS);
    chunks = most(1, least(chunks, partial_bytes / sizes->slot_bytes / most(1, cut->groups)));
    /* fewer chunks, so that a thread waits for memory at most twice more, cost less than another launch */
    const bool is_cluster = device->architecture >= 90 && sizes->slot_bytes <= 32 && !c->is_sized && in_cluster > 1 &&
                            divide_up(rows, in_cluster * ahead) <= divide_up(rows, chunks * ahead) + MORE_LOADS;
    if (is_cluster)
        chunks = in_cluster;
    cut->columns.chunk = round_up(divide_up(shape->extent, chunks), groups);
    cut->columns.chunks = divide_up(shape->extent, cut->columns.chunk);
    cut->columns.clusters = is_cluster && cut->columns.chunks > 1;
    cut->columns.hands_over = cut->columns.chunks > 1 && !is_cluster && cut->columns.slabs == 1 &&
                              cut->columns.chunks * cut->columns.panel * sizes->handed_bytes <= MOST_HANDED_BYTES;
    if (cut->columns.chunks > 1 && !is_cluster)
        cut->partials = tally_cuda_place(cut, cut->groups * cut->columns.chunks *
                                                  (cut->columns.hands_over ? sizes->handed_bytes : sizes->slot_bytes));
}

static tally_cuda_columns_args columns_args(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    return (tally_cuda_columns_args){.x = tally_cuda_address(a->x),
                                     .y = tally_cuda_address(a->y),
                                     .partials = l->workspace + cut->partials,
                                     .to = tally_cuda_destination_of(l),
                                     .outer = a->shape.outer,
                                     .extent = a->shape.extent,
                                     .inner = a->shape.inner,
                                     .before = l->pieces.before,
                                     .panels = cut->columns.panels,
                                     .chunk = cut->columns.chunk,
                                     .chunks = cut->columns.chunks,
                                     .width = cut->columns.width,
                                     .panel = cut->columns.panel,
                                     .groups = cut->columns.groups,
                                     .slabs = cut->columns.slabs,
                                     .in_clusters = cut->columns.clusters,
                                     .hands_over = cut->columns.hands_over};
}

tally_status tally_cuda_thin_columns_launch(const tally_cuda_launch *l) {
    tally_cuda_columns_args args = columns_args(l);
    const tally_computation *c = &l->plan->gpu.base.computation;
    const uint64_t result = c->out_bytes * c->per_result, unit = least(SECTOR, args.width * result);
    const bool are_in_units = args.to.out % result == 0; /* as the kernel asks */
    const bool are_shifted = are_in_units && ((args.to.out | args.inner * result) & (unit - 1));
    args.panels = divide_up(args.inner + (are_shifted ? unit / result - 1 : 0), args.width);
    const uint64_t blocks = divide_up(args.outer * args.panels, TALLY_CUDA_BLOCK);
    const tally_cuda_grid grid = {.x = least(blocks, TALLY_CUDA_MOST_GRID_X), .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.fold_thin_columns, grid, &args, "launching a reduction of columns");
}

tally_status tally_cuda_columns_launch(const tally_cuda_launch *l) {
    tally_cuda_columns_args args = columns_args(l);
    const tally_cuda_kernels *k = &l->plan->kernels;
    const uint64_t parts = divide_up(args.outer, args.slabs) * args.panels * args.chunks;
    const tally_cuda_grid grid = {.x = least(parts, TALLY_CUDA_MOST_GRID_X),
                                  .threads = TALLY_CUDA_BLOCK,
                                  .cluster = args.in_clusters ? (unsigned)args.chunks : 0};
    const bool is_single = args.width == 1 && l->plan->sizes.column_width > 1;
    tally_status status = tally_cuda_enqueue(l, is_single ? k->fold_single_columns : k->fold_columns, grid, &args,
                                             "launching a reduction of columns");
    /* a block for each of few results, whose threads have a partial result each */
    const bool are_few = l->cut->groups <= (uint64_t)l->plan->device->multiprocessors * 2 && args.chunks >= MANY_CHUNKS;
    if (status == TALLY_OK && args.chunks > 1 && !args.in_clusters && !args.hands_over)
        status = tally_cuda_partials_launch(l, are_few ? k->fold_partials : k->fold_column_partials, args.chunks);
    return status;
}
