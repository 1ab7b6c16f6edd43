#include "cuda/scan.h"

#include "core/arithmetic.h"
#include "cuda/accumulator.h"

enum {
    WARP = 32,

    /* The most vectors of a scan that is held in registers: by one block, by a cluster of CLUSTER or of WIDE_CLUSTER
     * blocks, or by as many blocks as needed, after a launch that computes their sums. 2^16 f32 took 2.5 us by two
     * launches in a graph on an H200, and 14.8 in a single call; by a cluster of 16 blocks 2.6 and 12.1, of 8 3.0 and
     * 12.6. 2^13 took 1.8 us by a cluster, 2.3 by a block; 2^22 13.0 us by two launches, 11.4 in waves. Sums of terms
     * (scan_terms.cu), which only waves have, are never in two launches. */
    HELD_IN_BLOCK = 1 << 10,
    HELD_IN_CLUSTER = 1 << 13,
    HELD_IN_WIDE_CLUSTER = 1 << 14,
    HELD_VECTORS = 1 << 19,
    CLUSTER = 8,
    WIDE_CLUSTER = 16,
    HELD_BLOCK = 256, /* threads of a block, where there are two launches; above so many vectors twice as many: */
    HELD_IN_SMALL_BLOCKS = 1 << 16,

    LEAST_TILE = 512, /* least elements of a tile, if tiles are small so that all multiprocessors have one */

    OFFSETS_A_THREAD = 16, /* that each thread checks and marks */
    MARKING_BLOCKS = 8,    /* for each multiprocessor at most; their threads take turns */

    FEW_COLUMNS = 3, /* whose sums of 4 bytes scan_narrow.cu publishes together, in so many bytes: */
    FEW_BYTES = 16,
    LEAST_STRAND = 4 /* rows of a strand of a narrow array at least */
};

/* ---- held in registers ---- */

/* Cuts a scan that registers can hold. False if they cannot. */
static bool cut_held(const tally_computation *c, const tally_cuda_sizes *sizes, tally_cuda_cut *cut) {
    const uint64_t vectors = divide_up(cut->elements, sizes->vector), rows = sizes->held_rows;
    uint64_t blocks = 1;
    bool in_cluster = false;
    if (!rows || !vectors || vectors > (tally_cuda_has_terms(c) ? HELD_IN_WIDE_CLUSTER : HELD_VECTORS))
        return false;
    if (vectors > HELD_IN_BLOCK) {
        blocks = vectors <= HELD_IN_CLUSTER ? CLUSTER : WIDE_CLUSTER;
        in_cluster = vectors <= HELD_IN_WIDE_CLUSTER && blocks <= sizes->held_cluster;
    }
    if (blocks > 1 && !in_cluster)
        blocks = divide_up(vectors, rows * (vectors > HELD_IN_SMALL_BLOCKS ? 2 * HELD_BLOCK : HELD_BLOCK));
    const uint64_t threads = round_up(divide_up(vectors, blocks), WARP * rows) / rows;
    cut->path = TALLY_CUDA_HELD;
    cut->held.in_cluster = in_cluster;
    cut->held.threads = (unsigned)threads;
    cut->held.blocks = divide_up(vectors, threads * rows);
    if (cut->held.blocks > 1 && !in_cluster)
        cut->partials = tally_cuda_place(cut, cut->held.blocks * sizes->slot_bytes);
    return true;
}

/* Blocks that are not a cluster get the sum before them from an earlier launch of the same kernel. */
tally_status tally_cuda_held_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const CUfunction kernel = l->plan->kernels.scan_held;
    const bool sums_first = cut->held.blocks > 1 && !cut->held.in_cluster;
    const tally_cuda_grid grid = {.x = cut->held.blocks,
                                  .threads = cut->held.threads,
                                  .cluster = cut->held.in_cluster ? (unsigned)cut->held.blocks : 0,
                                  .starts_early = true};
    tally_cuda_held_args args = {.x = tally_cuda_address(a->x),
                                 .y = tally_cuda_address(a->y),
                                 .initial = tally_cuda_address(a->initial),
                                 .carry = l->pieces.carry,
                                 .total = l->pieces.total,
                                 .sums = sums_first ? l->workspace + cut->partials : 0,
                                 .n = cut->elements,
                                 .before = l->pieces.before};
    tally_status status = TALLY_OK;
    if (sums_first)
        status = tally_cuda_enqueue(l, kernel, grid, &args, "launching the sums of a scan");
    args.out = tally_cuda_address(a->out);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, kernel, grid, &args, "launching a scan");
    return status;
}

/* ---- in waves ---- */

/* If there are fewer whole tiles than the device takes at a time, tiles are smaller, so that all multiprocessors work;
 * but input that fits into one tile is one. */
void tally_cuda_scan_cut(const tally_computation *c, const tally_cuda_sizes *sizes, uint64_t resident,
                         tally_cuda_cut *cut) {
    const uint64_t whole = (uint64_t)sizes->scan.finishers * sizes->scan.items;
    const uint64_t fair = round_up(divide_up(cut->elements, resident), LEAST_TILE);
    if (cut_held(c, sizes, cut))
        return;
    cut->path = TALLY_CUDA_SCAN;
    cut->scan.tile = cut->elements <= whole ? whole : least(whole, fair);
    cut->scan.tiles = most(1, divide_up(cut->elements, cut->scan.tile));
    cut->scan.blocks = least(cut->scan.tiles, resident);
    if (c->desc.grouping == TALLY_SEGMENTS)
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    if (cut->scan.tiles > 1) {
        const uint64_t waves = least(sizes->scan.waves, divide_up(cut->scan.tiles, cut->scan.blocks));
        cut->entries = tally_cuda_place(cut, waves * cut->scan.blocks * sizes->entry_bytes);
    }
    if (c->desc.grouping == TALLY_SEGMENTS)
        cut->bits = tally_cuda_place(cut, cut->scan.tiles * cut->scan.tile / 8);
    cut->zeroed_bytes = cut->bytes;
}

/* Checks the offsets, and marks the elements at which segments begin. */
static tally_status mark_offsets(const tally_cuda_launch *l) {
    const CUdeviceptr control = l->workspace + l->cut->control;
    const uint64_t segments = l->args->shape.groups;
    tally_cuda_mark_args args = {.marks = {.offsets = tally_cuda_address(l->args->offsets),
                                           .segments = segments,
                                           .n = l->cut->elements,
                                           .bits = l->workspace + l->cut->bits},
                                 .refused = control + offsetof(tally_cuda_control, refused),
                                 .where = control + offsetof(tally_cuda_control, not_bad)};
    const tally_cuda_grid grid = {
        .x = tally_cuda_blocks_for(l->plan->device, segments / OFFSETS_A_THREAD + 1, TALLY_CUDA_BLOCK, MARKING_BLOCKS),
        .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.mark_offsets, grid, &args, "launching the check of offsets");
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
                                 .entries = l->workspace + cut->entries};
    if (segments)
        args.offsets = tally_cuda_address(a->offsets);
    else
        args.keys = tally_cuda_address(a->keys);
    return args;
}

tally_status tally_cuda_scan_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    tally_cuda_scan_args args = scan_of(l, cut->scan.tile, cut->scan.tiles);
    const tally_cuda_grid grid = {
        .x = cut->scan.blocks, .threads = sizes->scan.threads, .shared = sizes->scan.shared, .is_together = true};
    tally_status status = TALLY_OK;
    if (args.refused)
        status = mark_offsets(l);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, l->plan->kernels.scan, grid, &args, "launching a scan");
    return status;
}

/* ---- narrow arrays ---- */

/* The most lanes of a warp that use one bank of shared memory at a time, when each goes down a column of a strand. */
static unsigned lanes_in_a_bank(const tally_cuda_sizes *sizes, uint64_t inner, uint64_t rows) {
    enum { BANKS = 32 };
    const uint64_t words = 4 / sizes->vector; /* of 4 bytes in an element, of which 16 bytes have 'vector' */
    const uint64_t lanes = BANKS / words;     /* that the banks serve at a time */
    unsigned in_bank[BANKS] = {0}, greatest = 0;
    for (uint64_t lane = 0; lane < lanes; lane++) {
        unsigned *bank = &in_bank[(lane / inner * rows * inner + lane % inner) % lanes];
        greatest = ++*bank > greatest ? *bank : greatest;
    }
    return greatest;
}

/* The number of rows of a strand that makes tiles whole vectors; 0 if there is none. Up to a quarter fewer than
 * most_rows, if then fewer lanes use the same bank. */
static uint64_t rows_of_strand(const tally_cuda_sizes *sizes, uint64_t inner, uint64_t strands, uint64_t most_rows) {
    uint64_t best = 0;
    unsigned met = 0;
    for (uint64_t rows = most_rows; rows * 4 > most_rows * 3; rows--) {
        const unsigned in_a_bank = lanes_in_a_bank(sizes, inner, rows);
        if (strands * rows * inner % sizes->vector == 0 && (!best || in_a_bank < met)) {
            best = rows;
            met = in_a_bank;
        }
    }
    return best;
}

bool tally_cuda_narrow_cut(const tally_cuda_sizes *sizes, uint64_t resident, const tally_shape *shape,
                           tally_cuda_cut *cut) {
    const uint64_t inner = shape->inner;
    if (shape->outer > 1 || inner > sizes->scan.columns || inner > resident)
        return false;
    const uint64_t strands = sizes->scan.finishers / inner, fair = divide_up(shape->extent, strands * resident);
    if (shape->extent < strands * LEAST_STRAND)
        return false;
    const uint64_t rows =
        rows_of_strand(sizes, inner, strands, least(sizes->scan.items, round_up(fair, sizes->vector)));
    if (!rows)
        return false;
    cut->path = TALLY_CUDA_NARROW;
    cut->narrow.strands = (unsigned)strands;
    cut->narrow.rows = (unsigned)rows;
    cut->narrow.tile = strands * rows * inner;
    cut->narrow.tiles = divide_up(cut->elements, cut->narrow.tile);
    cut->narrow.blocks = least(cut->narrow.tiles, resident);
    for (cut->narrow.lanes = WARP; cut->narrow.lanes * inner > sizes->scan.finishers;)
        cut->narrow.lanes /= 2;
    if (cut->narrow.tiles > 1) {
        const uint64_t all_waves = divide_up(cut->narrow.tiles, cut->narrow.blocks);
        if (inner <= FEW_COLUMNS && sizes->slot_bytes == 4) {
            cut->entries = tally_cuda_place(cut, least(sizes->scan.waves, all_waves) * cut->narrow.blocks * FEW_BYTES);
        } else {
            const uint64_t waves = least(sizes->scan.ring, all_waves);
            const uint64_t bytes = waves * inner * cut->narrow.blocks * sizes->entry_bytes;
            cut->entries = tally_cuda_place(cut, bytes);
            cut->told = tally_cuda_place(cut, bytes);
        }
    }
    cut->zeroed_bytes = cut->bytes;
    return true;
}

tally_status tally_cuda_narrow_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    tally_cuda_narrow_args args = {.tiles = scan_of(l, cut->narrow.tile, cut->narrow.tiles),
                                   .told = l->workspace + cut->told,
                                   .inner = (uint32_t)l->args->shape.inner,
                                   .strands = cut->narrow.strands,
                                   .rows = cut->narrow.rows,
                                   .lanes = cut->narrow.lanes};
    const tally_cuda_grid grid = {.x = cut->narrow.blocks,
                                  .threads = sizes->scan.narrow_threads,
                                  .shared = sizes->scan.shared,
                                  .is_together = true};
    return tally_cuda_enqueue(l, l->plan->kernels.scan_narrow, grid, &args, "launching a scan of a narrow array");
}
