#include "cuda/groups.h"

#include "core/arithmetic.h"

enum {
    LOOKS = 16,          /* offsets that a thread reads if there are many */
    WRITES = 16,         /* results of empty segments that a thread of the last launch writes */
    LOOKING_BLOCKS = 16, /* a processor, of threads that take turns */

    /* warps of a block of mark_runs.cu, which has one where so few strips leave multiprocessors without a block: sums
     * of 120,000 i64 took 9.6 us on an H200 instead of 11.0. With more such blocks minima of 675,000 i32 took 14.3
     * instead of 12.6. */
    MARKERS = 16,
    MARKING_BLOCKS = 2, /* a processor, of mark_runs.cu */

    /* in one launch */
    FEW_OF_BLOCK = 1 << 12,   /* elements and segments, by one block */
    FEW_OF_CLUSTER = 1 << 16, /* by a cluster */
    A_LANE = 2,               /* elements that one of the lanes of a segment has on average */

    CLEARED = 512,    /* bits that a thread clears on average, if there are many */
    MERGED_LOOKS = 8, /* offsets that a thread reads */
    TO_TELL = 3,      /* numbers of merged_segments.cu behind the tiles' first segments */

    /* where tiles do not wait for the check: bor of a million i16 took 41 us instead of 37 on an H100, norm1 of a
     * million u32 in segments of 5 21.5 instead of 20.4 */
    SPECULATIVE_BYTES = 4, /* of an element at least */
    SPECULATIVE_MEAN = 8,  /* elements of a segment at least */

    /* long segments */
    LEAST_LONG = 2 << 10, /* bytes of a tile: a step of a warp */
    MOST_LONG = 32 << 10,
    LONG_TILES = 64, /* a processor at least, if there is so much input */

    SMALL_TILES = 8, /* a processor at most */

    /* a processor at least, of tile_parts.cu: std of 8 million u32, 15 a processor, took 26 us on an H200, and 38 by
     * warps; less was not measured */
    PARTS_TILES = 8,

    /* segments of which a block has a piece */
    MOST_LONG_SEGMENTS = 2048,
    LONG_SEGMENT = 16 << 10,     /* bytes */
    LEAST_OF_PIECES = 128 << 10, /* bytes a processor: sums of 800,000 f64 took 14.4 us on an H200, and 9.8 by tiles */
    MOST_PIECE = 32 << 10,
    LEAST_PIECE = 4 << 10,
    LEAST_PIECES = 8, /* a processor, if there is so much input */

    /* runs that wait for the second of two launches. Where 10 MB wait, of a million f64 in runs of 1.5, sums took 21.8
     * us on an H200, and 18.4 in three launches; std of 350,000 f64 in runs of 90 12.0 and 15.7. */
    APART = 4 << 20, /* bytes at most, which the workspace has room for */
    APART_TURNS = 2, /* tiles for each that is resident */

    /* segments whose results wait for the last launch */
    APART_TILES = 16, /* a processor at most */
    APART_MEAN = 8,   /* elements of a segment at least */

    /* segments that each block checks by itself: then one launch is enough, in which tiles hand over their parts */
    MOST_ALONE = 1024,
    ALL_ALONE = 5 << 19, /* by all blocks together */
};

/* ---- cutting ---- */

static void cut_for_blocks(const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t tiles = cut->folds.tiles;
    const bool are_others = cut->folds.are_parts || cut->folds.are_pieces || cut->folds.are_merged;
    cut->folds.hand_over = shape->groups <= MOST_ALONE && !are_others &&
                           !(cut->folds.are_long && sizes->slot_bytes > TALLY_CUDA_MOST_LONG_HANDED);
    if (cut->folds.hand_over)
        cut->handed = tally_cuda_place(cut, tiles * sizes->handed_bytes);
    cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    cut->first = tally_cuda_place(cut, (tiles + TO_TELL) * sizeof(uint64_t));
    cut->partials = tally_cuda_place(cut, tiles * sizes->cut_bytes);
}

static void cut_for_long(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                         const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t elements = shape->extent;
    uint64_t bytes = MOST_LONG;
    while (bytes > LEAST_LONG && elements * c->in_bytes / bytes < (uint64_t)device->multiprocessors * LONG_TILES)
        bytes /= 2;
    cut->folds.are_long = true;
    cut->folds.tile = bytes / c->in_bytes;
    cut->folds.tiles = cut->folds.chunks = most(1, divide_up(elements, cut->folds.tile));
    cut_for_blocks(sizes, shape, cut);
}

/* Whether the last launch may be the first to hear whether offsets are good. */
static bool hears_at_the_end(const tally_computation *c) {
    return !c->is_sized && !c->takes_turns && !(c->desc.flags & TALLY_CHECK_WHILE_RUNNING);
}

/* Whether results wait for the last launch, which first hears from all tiles whether their offsets are good: where
 * tiles are few, so that the launches before them would take as long as they do, and results are. */
static void cut_apart(const tally_cuda_device *device, const tally_computation *c, const tally_shape *shape,
                      tally_cuda_cut *cut) {
    if (!hears_at_the_end(c) || shape->groups <= MOST_ALONE ||
        cut->folds.tiles > (uint64_t)device->multiprocessors * APART_TILES ||
        shape->groups > shape->extent / APART_MEAN)
        return;
    cut->folds.is_apart = true;
    cut->apart = tally_cuda_place(cut, shape->groups * c->out_bytes * c->per_result);
}

/* Small tiles, as long as all of them are resident. */
static bool cut_small_segments(const tally_cuda_device *device, const tally_cuda_sizes *sizes, const tally_shape *shape,
                               tally_cuda_cut *cut) {
    const uint64_t tiles = sizes->small_fold_tile ? divide_up(shape->extent, sizes->small_fold_tile) : 0;
    if (!tiles || tiles > (uint64_t)device->multiprocessors * SMALL_TILES)
        return false;
    cut->folds.are_small = true;
    cut->folds.tile = sizes->small_fold_tile;
    cut->folds.tiles = cut->folds.chunks = tiles;
    cut_for_blocks(sizes, shape, cut);
    return true;
}

/* Tiles that keep what parts of them have, if there are enough. */
static bool cut_parts(const tally_cuda_device *device, const tally_cuda_sizes *sizes, const tally_shape *shape,
                      tally_cuda_cut *cut) {
    const uint64_t tiles = sizes->parts_tile ? divide_up(shape->extent, sizes->parts_tile) : 0;
    if (tiles < (uint64_t)device->multiprocessors * PARTS_TILES || shape->groups > shape->extent / sizes->parts_mean)
        return false;
    cut->folds.are_parts = true;
    cut->folds.tile = sizes->parts_tile;
    cut->folds.tiles = cut->folds.chunks = tiles;
    cut_for_blocks(sizes, shape, cut);
    return true;
}

/* Few segments that are long on average: a block has a piece of one of them. */
static bool cut_pieces(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                       const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t bytes = shape->extent * c->in_bytes, multiprocessors = (uint64_t)device->multiprocessors;
    if (!hears_at_the_end(c) || !shape->groups || bytes < multiprocessors * LEAST_OF_PIECES ||
        shape->groups > MOST_LONG_SEGMENTS || shape->groups > bytes / LONG_SEGMENT)
        return false;
    uint64_t piece = MOST_PIECE / c->in_bytes;
    while (piece > LEAST_PIECE / c->in_bytes && shape->extent / piece < multiprocessors * LEAST_PIECES)
        piece /= 2;
    cut->folds.are_pieces = true;
    cut->folds.tile = piece;
    cut->folds.tiles = cut->folds.chunks = shape->groups + shape->extent / piece + 1;
    cut_for_blocks(sizes, shape, cut);
    return true;
}

/* Segments that are short on average. */
static bool are_short(const tally_cuda_sizes *sizes, const tally_shape *shape) {
    return sizes->merged_tile && shape->groups > shape->extent / sizes->merged_mean;
}

static void cut_for_merged(const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    cut->folds.are_merged = true;
    cut->folds.tile = sizes->merged_tile;
    cut->folds.tiles = cut->folds.chunks = divide_up(shape->extent + shape->groups, cut->folds.tile);
    cut_for_blocks(sizes, shape, cut);
    cut->bits = tally_cuda_place(cut, cut->folds.tiles * cut->folds.tile / 8 + 16);
}

/* The most runs that may wait, a power of two: whatever the counter of apart_runs.cu has at first, what waits then
 * takes places one after the other in a ring. */
static uint64_t most_apart(const tally_computation *c, uint64_t elements) {
    uint64_t runs = 1;
    while (runs < elements && 2 * runs * (c->out_bytes * c->per_result + c->index_bytes) <= APART)
        runs *= 2;
    return runs;
}

/* Small tiles in two launches, if they are few. */
static void cut_apart_runs(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                           uint64_t elements, tally_cuda_cut *cut) {
    const uint64_t tiles = divide_up(elements, sizes->small_fold_tile);
    const uint64_t resident = (uint64_t)device->multiprocessors * sizes->fold_blocks;
    if (c->is_sized || tiles > resident * APART_TURNS)
        return;
    cut->folds.apart_tiles = tiles;
    cut->folds.apart_runs = most_apart(c, elements);
    const uint64_t places =
        cut->folds.apart_runs + sizes->small_fold_tile; /* the last tile of a turn may reach over it */
    cut->apart = tally_cuda_place(cut, places * c->out_bytes * c->per_result);
    cut->keys = tally_cuda_place(cut, places * c->index_bytes);
}

/* What waves need comes first, for they clear it. */
static void cut_runs(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                     uint64_t resident, uint64_t elements, tally_cuda_cut *cut) {
    const uint64_t tiles = cut->folds.tiles, strips = tiles * (sizes->fold_tile / TALLY_CUDA_STRIP);
    const uint64_t blocks = (uint64_t)device->multiprocessors * MARKING_BLOCKS;
    cut->folds.marking = strips <= (uint64_t)device->multiprocessors * 3 / 2 ? 1 : MARKERS;
    cut->folds.blocks = least(blocks, divide_up(strips, cut->folds.marking));
    cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    cut->zeroed_bytes = c->is_sized ? cut->bytes : 0; /* no kernel writes there if the size is wrong */
    if (sizes->folds_in_waves) {
        const uint64_t in_waves = divide_up(elements, sizes->wave.tile);
        cut->folds.together = least(in_waves, resident);
        cut->entries = tally_cuda_place(cut, least(sizes->wave.waves, divide_up(in_waves, cut->folds.together)) *
                                                 cut->folds.together * 2 * sizeof(uint32_t));
    }
    cut->bits = tally_cuda_place(cut, strips * TALLY_CUDA_STRIP / 8);
    cut->ranks = tally_cuda_place(cut, strips * sizeof(uint32_t));
    cut->kept = tally_cuda_place(cut, strips * TALLY_CUDA_KEPT_KEYS * c->index_bytes);
    cut->told = tally_cuda_place(cut, cut->folds.blocks * sizeof(uint32_t));
    cut_apart_runs(device, c, sizes, elements, cut);
    const uint64_t most_tiles = most(tiles, cut->folds.apart_tiles);
    cut->heads = tally_cuda_place(cut, most_tiles * sizeof(uint64_t));
    cut->partials = tally_cuda_place(cut, most_tiles * sizes->cut_bytes);
}

/* Whether one launch reduces all. */
static bool cut_few_runs(const tally_cuda_sizes *sizes, unsigned blocks, tally_cuda_cut *cut) {
    const uint64_t tiles = cut->folds.tiles;
    if (tiles > blocks)
        return false;
    cut->folds.few = (unsigned)tiles;
    cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    cut->heads = tally_cuda_place(cut, tiles * sizeof(uint64_t));
    cut->partials = tally_cuda_place(cut, tiles * sizes->cut_bytes);
    return true;
}

static bool cut_few_segments(unsigned blocks, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t work = shape->extent + shape->groups;
    if (work > (blocks > 1 ? FEW_OF_CLUSTER : FEW_OF_BLOCK))
        return false;
    cut->folds.few = work > FEW_OF_BLOCK ? blocks : 1;
    cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    return true;
}

void tally_cuda_groups_cut(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                           uint64_t resident, const tally_shape *shape, tally_cuda_cut *cut) {
    const bool keys = c->desc.grouping == TALLY_KEYS;
    if (keys && !shape->extent)
        return;
    cut->path = TALLY_CUDA_GROUPS;
    cut->folds.tile = sizes->fold_tile;
    cut->folds.tiles = cut->folds.chunks = most(1, divide_up(shape->extent, cut->folds.tile));
    const unsigned few = (uint64_t)device->multiprocessors < sizes->few_blocks ? 1 : sizes->few_blocks;
    if (!c->is_sized && (keys ? cut_few_runs(sizes, few, cut) : cut_few_segments(few, shape, cut)))
        return;
    if (keys)
        cut_runs(device, c, sizes, resident, shape->extent, cut);
    else if (cut_pieces(device, c, sizes, shape, cut))
        return;
    else if (are_short(sizes, shape))
        cut_for_merged(sizes, shape, cut);
    else {
        const bool are_long = sizes->long_mean && shape->groups <= shape->extent / sizes->long_mean;
        const bool are_parts = (!are_long || c->monoid == TALLY_MONOID_moments) && cut_parts(device, sizes, shape, cut);
        if (are_long && !are_parts) {
            cut_for_long(device, c, sizes, shape, cut);
            return;
        }
        if (!are_parts && !cut_small_segments(device, sizes, shape, cut))
            cut_for_blocks(sizes, shape, cut);
        cut_apart(device, c, shape, cut);
    }
}

/* ---- launching ---- */

/* The last launch of a reduction by groups, which starts while the folds still run. */
static tally_status start_fold_cuts(const tally_cuda_launch *l, uint64_t blocks, void *args) {
    const tally_cuda_grid grid = {.x = blocks, .threads = TALLY_CUDA_FOLD_BLOCK, .starts_early = true};
    return tally_cuda_enqueue(l, l->plan->kernels.fold_cuts, grid, args, "launching the end of a reduction by groups");
}

static uint64_t blocks_for(const tally_cuda_launch *l, uint64_t threads) {
    return tally_cuda_blocks_for(l->plan->device, threads, TALLY_CUDA_FOLD_BLOCK, LOOKING_BLOCKS);
}

/* The arguments that all kernels of a reduction by segments share. */
static tally_cuda_groups_args segments_of(const tally_cuda_launch *l, bool refuses_empty) {
    const tally_args *a = l->args;
    return (tally_cuda_groups_args){.x = tally_cuda_address(a->x),
                                    .y = tally_cuda_address(a->y),
                                    .out = tally_cuda_address(a->out),
                                    .offsets = tally_cuda_address(a->offsets),
                                    .n = a->shape.extent,
                                    .segments = a->shape.groups,
                                    .told = l->workspace + l->cut->control,
                                    .given_up = l->given_up,
                                    .refuses_empty = refuses_empty};
}

static tally_status launch_few(const tally_cuda_launch *l, bool refuses_empty) {
    tally_cuda_groups_args args = segments_of(l, refuses_empty);
    args.lanes = 1;
    while (args.lanes < 32 && args.lanes * A_LANE * args.segments < args.n)
        args.lanes *= 2;
    const tally_cuda_grid grid = {.x = l->cut->folds.few,
                                  .threads = l->plan->sizes.few_threads,
                                  .cluster = l->cut->folds.few > 1 ? l->cut->folds.few : 0,
                                  .starts_early = true};
    return tally_cuda_enqueue(l, l->plan->kernels.fold_few_segments, grid, &args,
                              "launching a reduction of few elements by segments");
}

static tally_cuda_kernel_number kernel_of_tiles(const tally_cuda_launch *l) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    return l->cut->folds.are_long    ? k->fold_long_segments
           : l->cut->folds.are_parts ? k->fold_segments_by_parts
           : l->cut->folds.are_small ? k->fold_small_segments
                                     : k->fold_segments;
}

/* Two launches, of which the last one moves results. */
static tally_status launch_apart(const tally_cuda_launch *l, tally_cuda_groups_args *args) {
    enum { MOVED = 4 /* results, of a thread */ };
    const tally_cuda_kernels *k = &l->plan->kernels;
    const CUdeviceptr out = args->out;
    tally_cuda_grid grid = {.x = args->tiles, .threads = TALLY_CUDA_FOLD_BLOCK};
    args->is_apart = true;
    args->out = args->apart = l->workspace + l->cut->apart;
    tally_status status = tally_cuda_enqueue(l, kernel_of_tiles(l), grid, args, "launching a reduction of segments");
    args->out = out;
    grid.x = divide_up(args->chunks, TALLY_CUDA_FOLD_BLOCK) + divide_up(args->segments, TALLY_CUDA_FOLD_BLOCK * MOVED);
    grid.starts_early = true;
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->finish_segments, grid, args, "launching the end of a reduction by groups");
    return status;
}

static tally_status launch_pieces(const tally_cuda_launch *l, bool refuses_empty) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    tally_cuda_groups_args args = segments_of(l, refuses_empty);
    args.tiles = args.segments; /* of which the blocks tell whether they are good */
    args.cuts = l->workspace + l->cut->partials;
    args.first = l->workspace + l->cut->first;
    while (1ull << args.tile_bits < l->cut->folds.tile)
        args.tile_bits++;
    tally_cuda_grid grid = {.x = l->cut->folds.chunks, .threads = TALLY_CUDA_FOLD_BLOCK};
    tally_status status = tally_cuda_enqueue(l, k->fold_pieces, grid, &args, "launching a reduction of long segments");
    grid.x = divide_up(args.segments, TALLY_CUDA_FOLD_BLOCK / 32);
    grid.starts_early = true;
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->join_pieces, grid, &args, "launching the end of a reduction by groups");
    return status;
}

static tally_status launch_segments(const tally_cuda_launch *l, bool refuses_empty) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    tally_cuda_groups_args args = segments_of(l, refuses_empty);
    const uint64_t chunks = cut->folds.chunks;
    const uint64_t folds = cut->folds.are_long ? divide_up(chunks, TALLY_CUDA_FOLD_BLOCK / 32) : chunks;
    const bool takes_turns = l->plan->gpu.base.computation.takes_turns;
    args.checks_alone =
        !l->size && !takes_turns && args.segments && args.segments <= MOST_ALONE && args.segments <= ALL_ALONE / folds;
    const bool while_running = (l->plan->gpu.base.computation.desc.flags & TALLY_CHECK_WHILE_RUNNING) &&
                               !refuses_empty && !l->size && args.segments && !cut->folds.are_long &&
                               !args.checks_alone;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    const uint64_t resident =
        (uint64_t)l->plan->device->multiprocessors * (cut->folds.are_parts ? sizes->parts_blocks : sizes->fold_blocks);
    const bool is_speculative = (folds <= resident || l->plan->gpu.base.computation.in_bytes >= SPECULATIVE_BYTES) &&
                                args.segments <= args.n / SPECULATIVE_MEAN && !takes_turns;
    args.tiles = cut->folds.tiles;
    args.chunks = chunks;
    while (1ull << args.tile_bits < cut->folds.tile)
        args.tile_bits++;
    args.cuts = l->workspace + cut->partials;
    args.first = l->workspace + cut->first;
    if (cut->folds.is_apart && !args.checks_alone)
        return launch_apart(l, &args);
    args.check_before = !while_running;
    if (args.check_before && !l->size && (cut->folds.are_long || is_speculative))
        args.speculative = (uint32_t)resident;
    args.check_while_running = while_running;
    tally_status status = TALLY_OK;
    tally_cuda_grid grid = {.x = 1, .threads = 1};
    if (args.checks_alone) {
        args.handed = cut->folds.hand_over ? l->workspace + cut->handed : 0;
    } else {
        status = tally_cuda_enqueue(l, k->clear_control, grid, &args, "clearing the workspace");
        grid = (tally_cuda_grid){.x = blocks_for(l, most(args.segments / LOOKS, args.tiles)),
                                 .threads = TALLY_CUDA_FOLD_BLOCK,
                                 .starts_early = true};
        if (status == TALLY_OK)
            status = tally_cuda_enqueue(l, k->place_groups, grid, &args, "launching the search for segments");
    }
    grid = (tally_cuda_grid){.x = takes_turns ? least(folds, resident) : folds,
                             .threads = TALLY_CUDA_FOLD_BLOCK,
                             .starts_early = !args.checks_alone};
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, kernel_of_tiles(l), grid, &args, "launching a reduction of segments");
    if (status == TALLY_OK && !args.handed)
        status = start_fold_cuts(
            l, most(divide_up(chunks, TALLY_CUDA_FOLD_BLOCK), blocks_for(l, args.segments / WRITES)), &args);
    return status;
}

static tally_status launch_merged(const tally_cuda_launch *l, bool refuses_empty) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    tally_cuda_groups_args args = segments_of(l, refuses_empty);
    args.tiles = args.chunks = cut->folds.tiles;
    args.bits = l->workspace + cut->bits;
    args.cuts = l->workspace + cut->partials;
    args.first = l->workspace + cut->first;
    tally_cuda_grid grid = {.x = blocks_for(l, divide_up(args.tiles * cut->folds.tile, CLEARED)),
                            .threads = TALLY_CUDA_FOLD_BLOCK};
    tally_status status = tally_cuda_enqueue(l, k->clear_control, grid, &args, "clearing the workspace");
    grid = (tally_cuda_grid){.x = blocks_for(l, most(args.segments / MERGED_LOOKS, args.tiles)),
                             .threads = TALLY_CUDA_FOLD_BLOCK,
                             .starts_early = true};
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->place_ends, grid, &args, "launching the search for segments");
    grid.x = args.tiles;
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->fold_merged, grid, &args, "launching a reduction of short segments");
    grid.x = divide_up(args.tiles, TALLY_CUDA_FOLD_BLOCK);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->fold_merged_cuts, grid, &args, "launching the end of a reduction by groups");
    return status;
}

/* One launch for all that fold_cuts does not, where outputs cannot be too small. */
static tally_status launch_waves(const tally_cuda_launch *l, tally_cuda_groups_args *args) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    const tally_cuda_grid grid = {
        .x = cut->folds.together, .threads = sizes->wave.threads, .shared = sizes->wave.shared, .is_together = true};
    args->tiles = args->chunks = divide_up(args->n, sizes->wave.tile);
    args->entries = l->workspace + cut->entries;
    tally_status status = tally_cuda_clear(l, cut->bits);
    if (status == TALLY_OK)
        status =
            tally_cuda_enqueue(l, l->plan->kernels.fold_runs_in_waves, grid, args, "launching a reduction of runs");
    if (status == TALLY_OK)
        status = start_fold_cuts(l, divide_up(args->chunks, TALLY_CUDA_FOLD_BLOCK), args);
    return status;
}

static tally_status launch_runs(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_args *a = l->args;
    const tally_computation *c = &l->plan->gpu.base.computation;
    tally_cuda_groups_args args = {.x = tally_cuda_address(a->x),
                                   .y = tally_cuda_address(a->y),
                                   .out = tally_cuda_address(a->out),
                                   .keys = tally_cuda_address(a->keys),
                                   .keys_out = tally_cuda_address(a->keys_out),
                                   .n = a->shape.extent,
                                   .room = a->out_bytes / (c->out_bytes * c->per_result),
                                   .tiles = cut->folds.tiles,
                                   .chunks = cut->folds.chunks,
                                   .cuts = l->workspace + cut->partials,
                                   .heads = l->workspace + cut->heads,
                                   .told = l->workspace + cut->control,
                                   .bits = l->workspace + cut->bits,
                                   .ranks = l->workspace + cut->ranks,
                                   .totals = l->workspace + cut->told,
                                   .markers = cut->folds.blocks,
                                   .marking = cut->folds.marking};
    if (a->keys_out)
        args.room = least(args.room, a->keys_out_bytes / c->index_bytes);
    tally_cuda_grid grid = {.x = cut->folds.few, .threads = TALLY_CUDA_FOLD_BLOCK, .starts_early = true};
    if (cut->folds.few) {
        grid.cluster = cut->folds.few > 1 ? cut->folds.few : 0;
        return tally_cuda_enqueue(l, k->fold_few_runs, grid, &args, "launching a reduction of few elements by keys");
    }
    if (cut->folds.apart_tiles && least(args.room, args.n) <= cut->folds.apart_runs) {
        grid.x = args.tiles = args.chunks = cut->folds.apart_tiles;
        args.apart = l->workspace + cut->apart;
        args.apart_keys = l->workspace + cut->keys;
        args.apart_runs = (uint32_t)cut->folds.apart_runs;
        tally_status status = tally_cuda_enqueue(l, k->fold_runs_apart, grid, &args, "launching a reduction of runs");
        grid.x = divide_up(args.tiles, TALLY_CUDA_FOLD_BLOCK / 32);
        if (status == TALLY_OK)
            status =
                tally_cuda_enqueue(l, k->place_runs_apart, grid, &args, "launching the end of a reduction by groups");
        return status;
    }
    if (l->plan->sizes.folds_in_waves && args.room >= args.n)
        return launch_waves(l, &args);
    if (a->keys_out && args.keys % 16 == 0 && args.keys_out % c->index_bytes == 0)
        args.kept = l->workspace + cut->kept;
    const uint64_t strips = args.tiles * (cut->folds.tile / TALLY_CUDA_STRIP), markers = args.markers * args.marking;
    args.marked = strips / markers;
    args.extra = strips % markers;
    const tally_cuda_grid marks = {.x = cut->folds.blocks, .threads = cut->folds.marking * 32, .starts_early = true};
    tally_status status = tally_cuda_enqueue(l, k->mark_runs, marks, &args, "launching the search for runs");
    grid.x = args.tiles;
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->fold_runs, grid, &args, "launching a reduction of runs");
    if (status == TALLY_OK)
        status = start_fold_cuts(l, divide_up(args.chunks, TALLY_CUDA_FOLD_BLOCK), &args);
    return status;
}

tally_status tally_cuda_groups_launch(const tally_cuda_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const bool refuses_empty = tally_empty_is_error(c);
    if (c->desc.grouping == TALLY_KEYS)
        return launch_runs(l);
    if (l->cut->folds.few)
        return launch_few(l, refuses_empty);
    if (l->cut->folds.are_pieces)
        return launch_pieces(l, refuses_empty);
    if (l->cut->folds.are_merged)
        return launch_merged(l, refuses_empty);
    return launch_segments(l, refuses_empty);
}
