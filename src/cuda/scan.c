#include "cuda/scan.h"

#include "core/arithmetic.h"
#include "cuda/accumulator.h"
#include "cuda/exact_chunks.h"
#include "cuda/marks.h"

enum {
    WARP = 32,

    /* Exact scans in all words whose sums registers hold. With 2^20 f32 of random bits they took 123 us on an H200, by
     * chunks 174; with 2^22 304 and 301, with 2^28 15.2 ms and 6.3. */
    MOST_EXACT_IN_WAVES = 1 << 21,

    /* The most vectors of a scan that is held in registers: by one block, by a cluster of CLUSTER or of WIDE_CLUSTER
     * blocks, or by as many blocks as needed, which hand over their sums. When these had them from an earlier launch,
     * 2^16 f32 took 2.5 us by two launches in a graph on an H200, and 14.8 in a single call; by a cluster of 16
     * blocks 2.6 and 12.1, of 8 3.0 and 12.6. 2^13 took 1.8 us by a cluster, 2.3 by a block; 2^22 13.0 us by two
     * launches, 11.4 in waves. Fewer of wide results, of elements of 1 and 2 bytes, and with large accumulators: in
     * microseconds on an H100, by two launches and in waves, 10^6 i8 to i64 16.1 and 11.7, 8 * 10^6 u8 to u8 16.2
     * and 12.2, argmin of 10^6 f32 19.5 and 15.6; 2^21 f32 10.8 and 13.9. */
    HELD_IN_CLUSTER = 1 << 13,
    HELD_IN_WIDE_CLUSTER = 1 << 14,
    HELD_VECTORS = 1 << 19,
    HELD_OF_NARROW = 3, /* times so many, divided by the elements of a vector */
    HELD_OF_LARGE = 4,  /* divided by */
    HELD_BLOCK = 256,   /* threads of a block that hands over its sum; above so many vectors twice as many: */
    HELD_IN_SMALL_BLOCKS = 1 << 16,
    /* Rows of some vectors are held by a block or a cluster each, if there is room for about all of them at a time. On
     * an H200 norm_inf of f64 30 x 3228 took 7.8 us that way and 9.2 in waves, prod of f32 8 x 18099 7.4 and 8.4; but
     * of f64 333 x 2555 14.1 and 12.9. On an H100 bxor of u32 3 x 53873 took 9.5 us in two launches, and 9.1. */
    LEAST_HELD_ROW = 128, /* vectors */
    ROW_BLOCKS = 2,       /* for each multiprocessor, in clusters that are larger than they must be */

    LEAST_OF_TILE = 75, /* per cent of its room that a tile of whole rows takes at least */
    LEAST_TILE = 512,   /* least elements of a tile, if tiles are small so that all multiprocessors have one */

    /* Tiles of a scan in one wave, for each block of a scan in waves. On an H100, with 132 of these, 657 tiles of f64
     * took 22 us and 25 in waves, 1000 of f32 38 and 37, 1554 62 and 57. */
    ONE_WAVE_TILES = 6,
    /* The same by segments for positions, whose waves take long: on an H200 argmin of 2.6 million f32, 841 tiles, took
     * 20.5 us, and 29.7 in waves; but sumsq of 5.4 million i32, 1061 tiles, 26.8 and 26.2, sums of 25 million f32 84
     * and 64. And for variances of floats, whose threads go through longer stretches. */
    MORE_TILES = 12,
    MOST_ROW_TILES = 128,    /* of a row: a block adds up the entries of all before its own */
    MOST_SEGMENTS = 1 << 20, /* of a scan in one wave: a block might have to read all their offsets */
    FEW_SEGMENTS = 1 << 12,  /* which each of many blocks finds by itself */
    OFFSETS_A_FINDER = 4,    /* that a thread checks if there are few */
    FINDERS = 256,           /* blocks that check offsets, at most: a block has a thread for what each has found */

    FEW_COLUMNS = 3, /* whose sums of 4 bytes scan_narrow.cu publishes together, in so many bytes: */
    FEW_BYTES = 16,
    LEAST_STRAND = 4,     /* rows of a strand of a narrow array at least */
    LEAST_OF_BLOCKS = 50, /* per cent of the device's that slabs of such arrays have together at least */
    TOLD_A_LANE = 5       /* entries that a lane of a teller adds up at a time */
};

/* ---- held in registers ---- */

/* Cuts a scan of rows that registers can hold. False if they cannot. */
static bool cut_held_rows(tally_cuda_plan *plan, const tally_shape *shape, uint64_t most_vectors, tally_cuda_cut *cut) {
    const tally_cuda_sizes *sizes = &plan->sizes;
    const uint64_t places = (uint64_t)plan->device->multiprocessors * ROW_BLOCKS, rows = sizes->held_rows;
    const uint64_t vectors = divide_up(shape->extent, sizes->vector), of_warp = rows * WARP;
    uint64_t blocks = 1;
    if (plan->device->architecture >= 90)
        blocks = least(most(places / shape->outer, divide_up(vectors, 2 * HELD_BLOCK * rows)),
                       least(TALLY_CUDA_CLUSTER, divide_up(vectors, of_warp)));
    const uint64_t threads = round_up(divide_up(vectors, blocks), of_warp) / rows;
    if (vectors < LEAST_HELD_ROW || vectors * shape->outer > most_vectors || threads > 2 * HELD_BLOCK ||
        shape->outer * blocks * threads > places * 2 * HELD_BLOCK)
        return false;
    cut->path = TALLY_CUDA_HELD;
    cut->held.threads = (unsigned)threads;
    cut->held.blocks = divide_up(vectors, threads * rows);
    cut->held.in_cluster = cut->held.blocks > 1;
    return true;
}

/* Cuts a scan that registers can hold. False if they cannot. */
static bool cut_held(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_computation *c = &plan->gpu.base.computation;
    const tally_cuda_sizes *sizes = &plan->sizes;
    const uint64_t vectors = divide_up(cut->elements, sizes->vector), rows = sizes->held_rows;
    const uint64_t width = most(1, c->out_bytes * c->per_result / c->in_bytes); /* of results, in elements */
    uint64_t most_vectors = HELD_VECTORS / width, blocks = 1;
    bool in_cluster = false;
    if (sizes->vector > 4)
        most_vectors = most_vectors * HELD_OF_NARROW / sizes->vector;
    if (sizes->slot_bytes > 8)
        most_vectors /= HELD_OF_LARGE;
    if (rows && vectors && c->desc.grouping == TALLY_AXIS)
        return cut_held_rows(plan, shape, most_vectors, cut);
    const uint64_t in_block = rows * 2 * HELD_BLOCK;
    if (!rows || !vectors || (vectors > most_vectors && vectors > in_block))
        return false;
    if (vectors > in_block) {
        unsigned widest = 0;
        const uint64_t resident =
            tally_cuda_resident(plan, plan->kernels.scan_held, 2 * HELD_BLOCK, sizes->has_clusters ? &widest : NULL);
        blocks = vectors <= HELD_IN_CLUSTER ? TALLY_CUDA_CLUSTER : TALLY_CUDA_WIDE_CLUSTER;
        in_cluster = vectors * width <= HELD_IN_WIDE_CLUSTER && blocks <= widest && vectors <= blocks * in_block;
        /* Blocks that have to wait for others to end take twice as long: max of 3000000 u32, by 733 blocks where 264
         * fit, took 17.1 us on an H200, in waves 15.4. */
        if (!in_cluster && vectors > resident * in_block)
            return false;
    }
    if (blocks > 1 && !in_cluster)
        blocks = divide_up(vectors, rows * (vectors > HELD_IN_SMALL_BLOCKS ? 2 * HELD_BLOCK : HELD_BLOCK));
    const uint64_t threads = round_up(divide_up(vectors, blocks), WARP * rows) / rows;
    cut->path = TALLY_CUDA_HELD;
    cut->held.in_cluster = in_cluster;
    cut->held.threads = (unsigned)threads;
    cut->held.blocks = divide_up(vectors, threads * rows);
    if (cut->held.blocks > 1 && !in_cluster)
        cut->partials = tally_cuda_place(cut, TALLY_CUDA_HAND_OVERS_BYTES + cut->held.blocks * sizes->handed_bytes);
    return true;
}

/* Blocks that are not a cluster hand over their sums. */
tally_status tally_cuda_held_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const bool are_rows = l->plan->gpu.base.computation.desc.grouping == TALLY_AXIS;
    const tally_cuda_grid grid = {.x = cut->held.blocks,
                                  .y = are_rows ? a->shape.outer : 1,
                                  .threads = cut->held.threads,
                                  .cluster = cut->held.in_cluster ? (unsigned)cut->held.blocks : 0,
                                  .starts_early = true};
    tally_cuda_held_args args = {.x = tally_cuda_address(a->x),
                                 .y = tally_cuda_address(a->y),
                                 .out = tally_cuda_address(a->out),
                                 .initial = tally_cuda_address(a->initial),
                                 .carry = l->pieces.carry,
                                 .total = l->pieces.total,
                                 .handed =
                                     cut->held.blocks > 1 && !cut->held.in_cluster ? l->workspace + cut->partials : 0,
                                 .n = are_rows ? a->shape.extent : cut->elements,
                                 .before = l->pieces.before};
    return tally_cuda_enqueue(l, l->plan->kernels.scan_held, grid, &args, "launching a scan");
}

/* ---- by look-back ---- */

/* Whether little input goes in tiles of 'small' elements, if there are any: three for two multiprocessors at most. On
 * an H200 var of 800000 f32 took 18.2 us that way, in whole tiles 15.5; std of 481908 14.8 and 16.0. */
static bool fits_small_tiles(uint64_t elements, uint64_t small, uint64_t multiprocessors) {
    return small && elements * 2 <= small * multiprocessors * 3;
}

/* Tiles are smaller than whole ones only if there would be fewer than processors: a block takes as long for a small
 * tile as for a whole one. The workspace has an entry for each tile, and for each group of them. */
static bool cut_look_back(const tally_cuda_device *device, const tally_cuda_sizes *sizes, tally_cuda_cut *cut) {
    if (!sizes->look_back.shared || cut->elements > sizes->look_back.most)
        return false;
    const uint64_t block = sizes->look_back.block, small = block * sizes->look_back.few;
    const bool is_little = fits_small_tiles(cut->elements, small, (uint64_t)device->multiprocessors);
    const uint64_t whole = is_little ? small : block * sizes->scan.items,
                   fair = round_up(divide_up(cut->elements, (uint64_t)device->multiprocessors), LEAST_TILE);
    cut->path = TALLY_CUDA_LOOK_BACK;
    cut->scan.tile = least(whole, fair);
    cut->scan.tiles = divide_up(cut->elements, cut->scan.tile);
    cut->scan.blocks = cut->scan.tiles;
    cut->scan.are_small = is_little;
    if (cut->scan.tiles > 1) {
        const uint64_t groups = divide_up(cut->scan.tiles, sizes->look_back.block);
        cut->entries = tally_cuda_place(cut, (cut->scan.tiles + groups) * sizes->entry_bytes);
    }
    cut->zeroed_bytes = cut->bytes;
    return true;
}

/* ---- in one wave ---- */

/* The elements of a tile of whole rows, which needs nothing from other blocks: whole vectors of elements and of
 * results, as long as that leaves a tile LEAST_OF_TILE per cent of its room; 0 if rows are too long. */
static uint64_t tile_of_rows(const tally_cuda_sizes *sizes, uint64_t extent, uint64_t whole, uint64_t fair) {
    uint64_t rows = extent;
    if (!extent || extent > whole)
        return 0;
    for (uint64_t bit = 1; bit < sizes->scan.vector && rows % sizes->scan.vector; bit *= 2)
        rows *= 2;
    const uint64_t tile = whole / rows * rows;
    if (tile * 100 < whole * LEAST_OF_TILE)
        return 0;
    return least(tile, round_up(fair, rows));
}

/* What goes by blocks of one tile each, whatever its amount: what takes doubles for each result, by segments and keys.
 * On an H200, in microseconds (in brackets: in waves): logsumexp of 13 million u32 in segments of 1.14 125 (157), of 90
 * million u8 of 2.33 616 (1188), std of 9.2 million f32 by keys in runs of 89 65 (82). Of rows, on an H100: var of f32
 * 20000 x 1000 78 (90), of u64 1260 x 14757 199 (215), logsumexp of f64 300 x 40000 129 (193); but std of i16 30000 x
 * 1100 345 (293), logsumexp of f32 50000 x 700 112 (106). */
static bool goes_in_any_number(const tally_computation *c) {
    if (c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS)
        return tally_cuda_has_terms(c) && tally_cuda_accumulator_bytes(c) > 8;
    return tally_cuda_takes_vectors(c) || c->in_bytes == 8 || tally_cuda_has_higher_moments(c);
}

/* Variances of doubles along short rows: one number for all rows of a tile, which distances count from, costs more of
 * their 53 bits than other types' results have to lose. */
static bool needs_all_digits(const tally_computation *c) {
    return c->desc.grouping == TALLY_AXIS && c->desc.in == TALLY_F64 && c->monoid == TALLY_MONOID_moments;
}

static uint64_t tiles_of_one_wave(const tally_computation *c) {
    const bool are_places = c->desc.grouping == TALLY_SEGMENTS && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED;
    return c->entry && (are_places || tally_cuda_takes_vectors(c)) ? MORE_TILES : ONE_WAVE_TILES;
}

/* Cuts a scan by segments or keys, or of rows of few tiles each, into tiles of which each block has one. False if there
 * are too many. A block finds its segments by itself, unless it might have to read far more offsets than elements. */
static bool cut_one_wave(const tally_computation *c, const tally_cuda_sizes *sizes, uint64_t resident,
                         const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t threads = sizes->one_wave.threads, small = threads * sizes->one_wave.few;
    const bool are_rows = c->desc.grouping == TALLY_AXIS, are_segments = c->desc.grouping == TALLY_SEGMENTS;
    const uint64_t whole = threads * sizes->one_wave.items;
    /* Rows that a whole tile holds need nothing from other blocks. */
    const bool is_little =
        fits_small_tiles(cut->elements, small, resident) &&
        (!are_rows || (shape->extent > whole ? shape->extent <= small * MOST_ROW_TILES : shape->extent <= small));
    const uint64_t tile = is_little ? small : whole;
    const bool are_many = cut->elements > tile * resident * tiles_of_one_wave(c),
               takes_bits = are_segments && shape->groups > (are_many ? FEW_SEGMENTS : MOST_SEGMENTS);
    if (!sizes->one_wave.shared || needs_all_digits(c) || (are_rows && shape->extent > tile * MOST_ROW_TILES) ||
        ((are_many || takes_bits) && !goes_in_any_number(c)))
        return false;
    /* A smaller tile takes as long, but for its offsets. */
    const uint64_t fair = are_segments ? round_up(divide_up(cut->elements, resident), LEAST_TILE) : tile;
    const uint64_t of_rows = are_rows ? tile_of_rows(sizes, shape->extent, tile, tile) : 0;
    cut->path = TALLY_CUDA_ONE_WAVE;
    cut->scan.tile = of_rows ? of_rows : most(1, least(tile, fair));
    cut->scan.are_small = is_little;
    cut->scan.tiles = cut->scan.blocks = most(1, divide_up(cut->elements, cut->scan.tile));
    cut->entries = tally_cuda_place(cut, (cut->scan.tiles + divide_up(cut->scan.tiles, threads)) * sizes->entry_bytes);
    cut->early_bytes = cut->bytes;
    if (are_segments)
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    if (are_segments && !takes_bits)
        cut->told = tally_cuda_place(cut, FINDERS * sizeof(uint64_t));
    if (takes_bits) {
        cut->bits = tally_cuda_place(cut, cut->scan.tiles * cut->scan.tile / 8);
        cut->early_bytes = cut->bytes;
    }
    return true;
}

/* ---- in waves ---- */

/* Whether the blocks clear their entries: CLEARS_ITSELF in waves.cu. */
static bool clears_itself(const tally_computation *c) {
    return c->desc.grouping != TALLY_SEGMENTS && !c->is_sized && !c->exact && !c->in_window;
}

/* If there are fewer whole tiles than the device takes at a time, tiles are smaller, so that all multiprocessors work;
 * but input that fits into one tile is one. */
void tally_cuda_scan_cut(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_cuda_device *device = plan->device;
    const tally_computation *c = &plan->gpu.base.computation;
    const tally_cuda_sizes *sizes = &plan->sizes;
    const uint64_t resident = tally_cuda_blocks_together(device);
    const uint64_t whole = (uint64_t)sizes->scan.finishers * sizes->scan.items;
    if (cut_look_back(device, sizes, cut) || cut_held(plan, shape, cut) || cut_one_wave(c, sizes, resident, shape, cut))
        return;
    if (sizes->chunks.shared && (cut->elements > MOST_EXACT_IN_WAVES || tally_cuda_scans_by_chunks_alone(c))) {
        tally_cuda_exact_chunks_cut(device, c, sizes, shape, cut);
        return;
    }
    const uint64_t fair = round_up(divide_up(cut->elements, resident), LEAST_TILE);
    cut->path = TALLY_CUDA_SCAN;
    const uint64_t extent = c->desc.grouping == TALLY_AXIS && !c->is_sized ? shape->extent : 0,
                   of_rows = tile_of_rows(sizes, extent, whole, fair);
    cut->scan.tile = of_rows ? of_rows : cut->elements <= whole ? whole : least(whole, fair);
    cut->scan.tiles = most(1, divide_up(cut->elements, cut->scan.tile));
    cut->scan.blocks = least(cut->scan.tiles, resident);
    if (c->desc.grouping == TALLY_SEGMENTS)
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    cut->scan.is_exchanging = cut->scan.tiles > 1 && !of_rows;
    if (cut->scan.is_exchanging) {
        const uint64_t waves = least(sizes->scan.waves, divide_up(cut->scan.tiles, cut->scan.blocks));
        const uint64_t marked =
            clears_itself(c) ? TALLY_CUDA_HAND_OVERS_BYTES + cut->scan.blocks * sizes->handed_bytes : 0;
        cut->entries = marked + tally_cuda_place(cut, marked + waves * cut->scan.blocks * sizes->entry_bytes);
    }
    if (c->desc.grouping == TALLY_SEGMENTS)
        cut->bits = tally_cuda_place(cut, cut->scan.tiles * cut->scan.tile / 8);
    if (!clears_itself(c))
        *(c->desc.grouping == TALLY_SEGMENTS ? &cut->early_bytes : &cut->zeroed_bytes) = cut->bytes;
}

static tally_cuda_scan_args scan_of(const tally_cuda_launch *l, uint64_t tile, uint64_t tiles) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const bool segments = l->plan->gpu.base.computation.desc.grouping == TALLY_SEGMENTS;
    tally_cuda_scan_args args = {.x = tally_cuda_address(a->x),
                                 .y = tally_cuda_address(a->y),
                                 .out = tally_cuda_address(a->out),
                                 .initial = tally_cuda_address(a->initial),
                                 .carry = l->pieces.carry,
                                 .total = l->pieces.total,
                                 .n = cut->elements,
                                 .extent = a->shape.extent,
                                 .segments = a->shape.groups,
                                 .before = l->pieces.before,
                                 .tile = tile,
                                 .tiles = tiles,
                                 .bits = segments ? l->workspace + cut->bits : 0,
                                 .refused =
                                     segments ? l->workspace + cut->control + offsetof(tally_cuda_control, refused) : 0,
                                 .entries = l->workspace + cut->entries,
                                 .window = l->window};
    if (segments)
        args.offsets = tally_cuda_address(a->offsets);
    else
        args.keys = tally_cuda_address(a->keys);
    return args;
}

tally_status tally_cuda_look_back_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    tally_cuda_scan_args args = scan_of(l, cut->scan.tile, cut->scan.tiles);
    const tally_cuda_grid grid = {.x = cut->scan.blocks,
                                  .threads = sizes->look_back.block,
                                  .shared = cut->scan.are_small ? sizes->look_back.few_shared : sizes->look_back.shared,
                                  /* A single tile has nothing cleared before it, and the caller's kernel may still
                                   * write what it loads. */
                                  .starts_early = cut->scan.tiles > 1};
    const tally_cuda_kernel_number kernel =
        cut->scan.are_small ? l->plan->kernels.scan_small_look_back : l->plan->kernels.scan_look_back;
    return tally_cuda_enqueue(l, kernel, grid, &args, "launching a scan by look-back");
}

tally_status tally_cuda_scan_window_launch(const tally_cuda_launch *l, bool checks_all) {
    enum { THREADS = TALLY_CUDA_WINDOW_THREADS, BLOCKS = 2, ELEMENTS = 4, VECTOR = 16 };
    static const char what[] = "launching a look at the elements";
    tally_cuda_window_args args = {.scan = scan_of(l, l->cut->scan.tile, l->cut->scan.tiles),
                                   .cleared = l->workspace,
                                   .vectors = l->cut->zeroed_bytes / VECTOR};
    const tally_cuda_grid grid = {.x = 1, .threads = THREADS, .starts_early = true};
    const tally_cuda_grid all = {
        .x = tally_cuda_blocks_for(l->plan->device, divide_up(l->cut->elements, ELEMENTS), THREADS, BLOCKS),
        .threads = THREADS,
        .starts_early = true};
    const tally_status status = tally_cuda_enqueue(l, l->plan->kernels.find_scan_window, grid, &args, what);
    return status == TALLY_OK && checks_all
               ? tally_cuda_enqueue(l, l->plan->kernels.check_scan_window, all, &args.scan, what)
               : status;
}

tally_status tally_cuda_scan_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    tally_cuda_scan_args args = scan_of(l, cut->scan.tile, cut->scan.tiles);
    const tally_cuda_grid grid = {.x = cut->scan.blocks,
                                  .threads = sizes->scan.threads,
                                  .shared = sizes->scan.shared,
                                  .is_together = cut->scan.is_exchanging,
                                  .starts_early = args.refused || l->window || !cut->scan.is_exchanging};
    tally_status status = TALLY_OK;
    if (!cut->scan.is_exchanging)
        args.entries = 0;
    if (args.refused)
        status = tally_cuda_mark_offsets(l);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, l->plan->kernels.scan, grid, &args, "launching a scan");
    return status;
}

/* The first of two launches clears, and by segments also checks the offsets. */
tally_status tally_cuda_one_wave_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    const tally_cuda_kernels *k = &l->plan->kernels;
    tally_cuda_one_wave_args args = {.scan = scan_of(l, cut->scan.tile, cut->scan.tiles),
                                     .found = l->workspace + cut->told,
                                     .told = l->workspace + cut->control};
    tally_cuda_grid grid = {.threads = sizes->one_wave.threads, .starts_early = true};
    tally_status status;
    if (l->plan->gpu.base.computation.desc.grouping == TALLY_SEGMENTS && cut->bits) {
        status = tally_cuda_mark_offsets(l);
    } else if (l->plan->gpu.base.computation.desc.grouping == TALLY_SEGMENTS) {
        grid.x = most(1, least(FINDERS, divide_up(args.scan.segments, OFFSETS_A_FINDER * (uint64_t)grid.threads)));
        args.finders = (uint32_t)grid.x;
        status = tally_cuda_enqueue(l, k->check_offsets, grid, &args, "launching the check of offsets");
    } else {
        status = tally_cuda_clear_early(l);
    }
    grid.x = cut->scan.blocks;
    grid.shared = cut->scan.are_small ? sizes->one_wave.few_shared : sizes->one_wave.shared;
    const tally_cuda_kernel_number kernel = cut->scan.are_small ? k->scan_small_wave : k->scan_one_wave;
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, kernel, grid, &args, "launching a scan");
    return status;
}

/* ---- narrow arrays ---- */

/* The most words of one bank of shared memory that a warp's lanes use at a time, when each goes down a column of a
 * strand. Elements of 8 bytes are served to half a warp. */
static unsigned words_in_a_bank(const tally_cuda_sizes *sizes, uint64_t inner, uint64_t rows) {
    enum { BANKS = 32, WORD = 4 };
    const uint64_t bytes = 16 / sizes->vector, lanes = bytes > WORD ? BANKS / (bytes / WORD) : BANKS;
    unsigned in_bank[BANKS] = {0}, greatest = 0;
    uint64_t last = UINT64_MAX;
    for (uint64_t lane = 0; lane < lanes; lane++) {
        const uint64_t word = (lane / inner * rows * inner + lane % inner) * bytes / most(bytes, WORD);
        unsigned *bank = &in_bank[word % lanes];
        if (word != last)
            greatest = ++*bank > greatest ? *bank : greatest;
        last = word;
    }
    return greatest;
}

/* The number of rows of a strand that makes tiles whole vectors; 0 if there is none. Up to a quarter fewer than
 * most_rows, if then a bank has fewer words to give at a time. */
static uint64_t rows_of_strand(const tally_cuda_sizes *sizes, uint64_t inner, uint64_t strands, uint64_t most_rows) {
    uint64_t best = 0;
    unsigned met = 0;
    for (uint64_t rows = most_rows; rows * 4 > most_rows * 3; rows--) {
        const unsigned in_a_bank = words_in_a_bank(sizes, inner, rows);
        if (strands * rows * inner % sizes->vector == 0 && (!best || in_a_bank < met)) {
            best = rows;
            met = in_a_bank;
        }
    }
    return best;
}

/* Room for the entries of each slab's waves. */
static void place_entries(const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t all_waves = divide_up(cut->narrow.tiles, cut->narrow.blocks);
    const bool are_few = shape->inner <= FEW_COLUMNS && sizes->slot_bytes == 4;
    const uint64_t waves = least(are_few ? sizes->narrow.waves : sizes->narrow.ring, all_waves);
    cut->narrow.slab_bytes = waves * cut->narrow.blocks * (are_few ? FEW_BYTES : shape->inner * sizes->entry_bytes);
    cut->entries = tally_cuda_place(cut, shape->outer * cut->narrow.slab_bytes);
    if (!are_few)
        cut->told = tally_cuda_place(cut, shape->outer * cut->narrow.slab_bytes);
}

bool tally_cuda_narrow_cut(const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                           tally_cuda_cut *cut) {
    const uint64_t inner = shape->inner, outer = shape->outer;
    if (inner > sizes->narrow.columns || outer > resident)
        return false;
    const uint64_t strands = sizes->scan.finishers / inner, most_blocks = resident / outer;
    const uint64_t fair = divide_up(shape->extent, strands * most_blocks);
    if (shape->extent < strands * LEAST_STRAND || outer * most_blocks * 100 < resident * LEAST_OF_BLOCKS)
        return false;
    const uint64_t rows =
        rows_of_strand(sizes, inner, strands, least(sizes->narrow.items, round_up(fair, sizes->vector)));
    if (!rows)
        return false;
    cut->path = TALLY_CUDA_NARROW;
    cut->narrow.strands = (unsigned)strands;
    cut->narrow.rows = (unsigned)rows;
    cut->narrow.tile = strands * rows * inner;
    cut->narrow.tiles = divide_up(shape->extent * inner, cut->narrow.tile);
    cut->narrow.blocks = least(cut->narrow.tiles, most_blocks);
    for (cut->narrow.lanes = WARP; cut->narrow.lanes * inner > sizes->scan.finishers;)
        cut->narrow.lanes /= 2;
    for (cut->narrow.tellers = 1; cut->narrow.tellers < WARP && cut->narrow.tellers * TOLD_A_LANE < cut->narrow.blocks;)
        cut->narrow.tellers *= 2;
    if (divide_up(inner, cut->narrow.blocks) * cut->narrow.tellers > WARP)
        return false;
    if (cut->narrow.tiles > 1)
        place_entries(sizes, shape, cut);
    cut->zeroed_bytes = cut->bytes;
    return true;
}

tally_status tally_cuda_narrow_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    tally_cuda_narrow_args args = {.tiles = scan_of(l, cut->narrow.tile, cut->narrow.tiles),
                                   .told = l->workspace + cut->told,
                                   .slab_bytes = cut->narrow.slab_bytes,
                                   .inner = (uint32_t)l->args->shape.inner,
                                   .strands = cut->narrow.strands,
                                   .rows = cut->narrow.rows,
                                   .lanes = cut->narrow.lanes,
                                   .blocks = (uint32_t)cut->narrow.blocks,
                                   .tellers = cut->narrow.tellers};
    const tally_shape *shape = &l->args->shape;
    args.tiles.n = shape->extent * shape->inner;
    const tally_cuda_grid grid = {.x = shape->outer * cut->narrow.blocks,
                                  .threads = sizes->narrow.threads,
                                  .shared = sizes->narrow.shared,
                                  .is_together = true};
    return tally_cuda_enqueue(l, l->plan->kernels.scan_narrow, grid, &args, "launching a scan of a narrow array");
}
