#include "cuda/reduce.h"

#include "core/arithmetic.h"
#include "cuda/accumulator.h"

enum {
    /* Chunks of long rows for each multiprocessor; fewer if the end of a block is costly, or if no cluster folds the
     * partial results. Sums of 2^28 f32 took 239.1 us on an H200 with 128 that a cluster folds, 239.9 with 64, 240.9
     * with 128 that a block of 1024 threads folds and 242.6 with 4 whose blocks took turns; argmax 254.0 with 128 and
     * 245.2 with 64; var 258.1 with 16 and 250.1 with 4. */
    CHUNKS = 128,
    CHUNKS_OF_COSTLY = 64,
    /* This many chunks for each multiprocessor keep it busy; with as many rows, rows are not cut. */
    LEAST_CHUNKS = 4,

    CLUSTER_VECTORS = 1 << 15, /* a reduction of no more vectors is one cluster's */
    CLUSTER_UNROLL = 4,        /* vectors, as in cluster.cu */
    /* Rows along an axis are a cluster each if there are so few that the multiprocessors hold all blocks at a time, and
     * a block takes at most so many steps of its row. */
    ROW_CLUSTER_BLOCKS = 2, /* for each multiprocessor */
    ROW_CLUSTER_STEPS = 2,
    ROW_CLUSTER_LINE = 32, /* vectors, of which a chunk is a multiple */

    /* A reduction of at most this many vectors starts while the previous kernel in the stream still ends. This saves
     * 0.35 us of each of many calls for up to 2^18 f32 on an H200, and 0.2 for 2^22 and 2^24. */
    EARLY_VECTORS = 1 << 22,

    /* Up to this many partial results of one result are folded by a block, eight by each thread; those of rows by the
     * last block of the row. More are folded by a cluster; for fewer a cluster takes 0.2 to 0.4 us longer on an H200.
     */
    ONE_BLOCK_FOLDS = TALLY_CUDA_MOST_HANDED,
    FOLD_BLOCKS = 2, /* for each multiprocessor, to fold the partial results of many results */

    TINY_ROW = 4,  /* elements of a row at most, as in tiny_rows.cu */
    TINY_SLAB = 8, /* the same of a slab, with more than one column */
    /* Vectors of a row at least for short_rows.cu: rows of 16 took 0.84 of the roof's speed this way, by slabs.cu 0.95;
     * rows of 32 over 0.99. */
    SHORT_ROW = 32,
    WIDE = 4,            /* bytes; shorter rows of such elements go through slabs.cu if they are not whole vectors */
    MANY_AT_ONCE = 2048, /* elements */
    /* Longer rows, up to so many bytes, are short if there are so many for each multiprocessor. A block of reduce.cu
     * would have less than a step of each. Variances keep digits for as many elements of a lane. */
    LONGEST = 16 << 10,
    LONGEST_OF_MOMENTS = 8 << 10,
    LONG_ROWS = 32,
    SHORT_ROW_VECTORS = 4, /* of a row for each thread, as in short_rows.cu, until a warp has the row */
    SHORT_ROW_BLOCKS = 64, /* for each multiprocessor: many that come and go end together */
    WARP_LOG = 5
};

/* ---- long rows ---- */

/* The number of chunks of a row of this many steps: many more than the device holds at a time, unless there are enough
 * rows, or so few steps that the ends of blocks would weigh, which are costly with large accumulators or many lanes. */
static uint64_t chunks_of_row(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t rows,
                              uint64_t steps) {
    const uint64_t processors = (uint64_t)device->multiprocessors, few = processors * LEAST_CHUNKS;
    const bool is_costly = sizes->slot_bytes > 8 || sizes->vector > 4;
    uint64_t chunks = processors * (is_costly || !sizes->has_clusters ? CHUNKS_OF_COSTLY : CHUNKS);
    if (rows >= few)
        return 1;
    if (sizes->begins_slowly || sizes->slot_bytes > 16 || (is_costly && steps * rows < chunks))
        chunks = few;
    chunks = least(chunks, TALLY_CUDA_PARTIAL_BYTES / sizes->slot_bytes) / rows;
    return most(1, sizes->has_clusters ? chunks : least(chunks, ONE_BLOCK_FOLDS));
}

/* False if rows are too many or too long. */
static bool cut_row_clusters(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t extent,
                             tally_cuda_cut *cut) {
    const uint64_t most_blocks = (uint64_t)device->multiprocessors * ROW_CLUSTER_BLOCKS;
    const uint64_t step = (uint64_t)sizes->cluster_threads * sizes->vector;
    if (!sizes->has_row_clusters || !extent || cut->groups > most_blocks)
        return false;
    const uint64_t blocks = least(least(TALLY_CUDA_CLUSTER, most_blocks / cut->groups), divide_up(extent, step));
    const uint64_t chunk = round_up(divide_up(extent, blocks), (uint64_t)ROW_CLUSTER_LINE * sizes->vector);
    if (chunk > step * least(sizes->unroll, CLUSTER_UNROLL) * ROW_CLUSTER_STEPS)
        return false;
    cut->rows.in_cluster = true;
    cut->rows.starts_early = true;
    cut->rows.chunk = chunk;
    cut->rows.blocks = divide_up(extent, chunk);
    return true;
}

/* Whether the last block of each row folds what the others hand over. */
static bool hands_over(const tally_cuda_cut *cut) {
    return cut->rows.blocks <= TALLY_CUDA_MOST_HANDED;
}

void tally_cuda_rows_cut(const tally_cuda_device *device, const tally_cuda_sizes *sizes, uint64_t extent,
                         tally_cuda_cut *cut) {
    const uint64_t step = (uint64_t)TALLY_CUDA_BLOCK * sizes->vector * sizes->unroll, steps = divide_up(extent, step);
    const uint64_t wanted = most(1, least(steps, chunks_of_row(device, sizes, cut->groups, steps)));
    const uint64_t chunk = round_up(divide_up(extent, wanted), step);
    cut->path = TALLY_CUDA_ROWS;
    if (cut_row_clusters(device, sizes, extent, cut))
        return;
    cut->rows.chunk = chunk;
    cut->rows.blocks = chunk ? divide_up(extent, chunk) : 1;
    cut->rows.starts_early = cut->groups * extent / sizes->vector <= EARLY_VECTORS;
    if (sizes->has_clusters && cut->groups == 1 && cut->rows.blocks > 1 &&
        extent / sizes->vector <= CLUSTER_VECTORS) { /* no workspace, and nothing to clear */
        const uint64_t of_cluster =
            (uint64_t)sizes->cluster_threads * sizes->vector * least(sizes->unroll, CLUSTER_UNROLL);
        cut->rows.in_cluster = true;
        cut->rows.blocks = TALLY_CUDA_CLUSTER;
        cut->rows.chunk = round_up(divide_up(extent, TALLY_CUDA_CLUSTER), of_cluster);
    } else if (cut->rows.blocks > 1) {
        cut->partials = tally_cuda_place(cut, cut->groups * cut->rows.blocks *
                                                  (hands_over(cut) ? sizes->handed_bytes : sizes->slot_bytes));
    }
}

tally_cuda_destination tally_cuda_destination_of(const tally_cuda_launch *l) {
    return (tally_cuda_destination){.out = tally_cuda_address(l->args->out),
                                    .carry = l->pieces.carry,
                                    .total = l->pieces.total,
                                    .count = l->pieces.before + l->args->shape.extent};
}

tally_status tally_cuda_partials_launch(const tally_cuda_launch *l, tally_cuda_kernel_number kernel, uint64_t chunks) {
    const tally_cuda_plan *plan = l->plan;
    const uint64_t results = l->cut->groups, enough = (uint64_t)plan->device->multiprocessors * FOLD_BLOCKS;
    tally_cuda_partials_args args = {.partials = l->workspace + l->cut->partials,
                                     .to = tally_cuda_destination_of(l),
                                     .results = results,
                                     .chunks = chunks};
    tally_cuda_grid grid = {.x = least(results, enough), .threads = TALLY_CUDA_BLOCK, .starts_early = true};
    if (plan->sizes.has_clusters && chunks > ONE_BLOCK_FOLDS) {
        kernel = plan->kernels.fold_partials_in_cluster;
        grid.x = TALLY_CUDA_CLUSTER;
    }
    return tally_cuda_enqueue(l, kernel, grid, &args, "launching the end of a reduction");
}

/* Whether each row begins with a whole vector, of both inputs. */
static bool rows_are_aligned(const tally_cuda_launch *l) {
    if (l->size && l->cut->groups > 1)
        return false; /* only the device knows the rows' extent */
    const uint64_t row = l->cut->groups > 1 ? l->args->shape.extent * l->plan->gpu.base.computation.in_bytes : 0;
    return (((uint64_t)(uintptr_t)l->args->x | (uint64_t)(uintptr_t)l->args->y | row) & 15) == 0;
}

tally_status tally_cuda_rows_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    tally_cuda_reduce_args args = {.x = tally_cuda_address(l->args->x),
                                   .y = tally_cuda_address(l->args->y),
                                   .partials = l->workspace + cut->partials,
                                   .to = tally_cuda_destination_of(l),
                                   .rows = cut->groups,
                                   .extent = l->args->shape.extent,
                                   .chunk = cut->rows.chunk,
                                   .blocks = cut->rows.blocks,
                                   .before = l->pieces.before};
    tally_cuda_grid grid = {.x = cut->rows.blocks,
                            .y = least(cut->groups, TALLY_CUDA_MOST_GRID_Y),
                            .threads = TALLY_CUDA_BLOCK,
                            .starts_early = cut->rows.starts_early};
    if (cut->rows.in_cluster) {
        grid.threads = l->plan->sizes.cluster_threads;
        grid.cluster = (unsigned)cut->rows.blocks;
        return tally_cuda_enqueue(l, rows_are_aligned(l) ? k->reduce_in_cluster : k->reduce_across_in_cluster, grid,
                                  &args, "launching a reduction in a cluster");
    }
    tally_status status =
        tally_cuda_enqueue(l, rows_are_aligned(l) ? k->reduce : k->reduce_across, grid, &args, "launching a reduction");
    if (status == TALLY_OK && !hands_over(cut))
        status = tally_cuda_partials_launch(l, k->fold_partials, cut->rows.blocks);
    return status;
}

/* ---- many short rows ---- */

/* Rows of so few elements that a thread takes several, unless their accumulators are large; or, if the operator
 * commutes, rows of some vectors, shared by enough threads that each has four. */
bool tally_cuda_short_rows_cut(const tally_cuda_device *device, const tally_computation *c,
                               const tally_cuda_sizes *sizes, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t vectors = shape->extent / sizes->vector;
    const bool commutes = c->entry || c->user.commutes;
    if (shape->inner > 1 && (shape->inner > sizes->tiny_inner || shape->extent > TINY_SLAB / shape->inner))
        return false;
    if (shape->extent <= TINY_ROW && cut->groups <= UINT32_MAX && !sizes->is_large) {
        cut->path = TALLY_CUDA_TINY_ROWS;
        return true;
    }
    if (shape->inner > 1 || vectors < SHORT_ROW || !commutes)
        return false;
    const uint64_t longest =
        c->monoid == TALLY_MONOID_moments || tally_cuda_has_higher_moments(c) ? LONGEST_OF_MOMENTS : LONGEST;
    const bool is_whole = shape->extent % sizes->vector == 0;
    if (shape->extent < MANY_AT_ONCE
            ? !is_whole && c->in_bytes >= WIDE
            : shape->extent * c->in_bytes > longest || cut->groups < (uint64_t)device->multiprocessors * LONG_ROWS)
        return false;
    unsigned lane_bits = 0;
    while (lane_bits < WARP_LOG && vectors > (uint64_t)SHORT_ROW_VECTORS << lane_bits)
        lane_bits++;
    cut->path = TALLY_CUDA_SHORT_ROWS;
    cut->short_rows.lane_bits = lane_bits;
    cut->short_rows.blocks = least(divide_up(cut->groups, TALLY_CUDA_BLOCK >> lane_bits),
                                   (uint64_t)device->multiprocessors * SHORT_ROW_BLOCKS);
    return true;
}

tally_status tally_cuda_short_rows_launch(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    tally_cuda_short_rows_args args = {.x = tally_cuda_address(a->x),
                                       .y = tally_cuda_address(a->y),
                                       .out = tally_cuda_address(a->out),
                                       .rows = l->cut->groups,
                                       .extent = (uint32_t)a->shape.extent,
                                       .lane_bits = l->cut->short_rows.lane_bits};
    const tally_cuda_grid grid = {.x = l->cut->short_rows.blocks, .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.fold_short_rows, grid, &args, "launching a reduction of short rows");
}

static tally_status launch_ones(const tally_cuda_launch *l) {
    enum { VECTOR = 16, AHEAD = 4, FEW_AHEAD = 2 }; /* as in ones.cu */
    const tally_args *a = l->args;
    const tally_computation *c = &l->plan->gpu.base.computation;
    tally_cuda_ones_args args = {.x = tally_cuda_address(a->x),
                                 .y = tally_cuda_address(a->y),
                                 .out = tally_cuda_address(a->out),
                                 .carry = l->pieces.carry,
                                 .total = l->pieces.total,
                                 .n = l->cut->groups,
                                 .before = l->pieces.before};
    const uint64_t result = c->out_bytes * c->per_result, width = VECTOR / most(c->in_bytes, result);
    const bool is_few = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) || c->in_bytes >= result;
    const uint64_t part = TALLY_CUDA_BLOCK * width * (is_few ? FEW_AHEAD : AHEAD);
    /* results before the first aligned word are as many less in the first block */
    const tally_cuda_grid grid = {.x = divide_up(args.n + width - 1, part), .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.map_ones, grid, &args, "launching results of single elements");
}

tally_status tally_cuda_tiny_rows_launch(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    if (a->shape.extent == 1)
        return launch_ones(l);
    const uint64_t rows_a_block = (uint64_t)TALLY_CUDA_BLOCK * l->plan->sizes.vector;
    const uint64_t inner = a->shape.inner;
    tally_cuda_tiny_rows_args args = {.x = tally_cuda_address(a->x),
                                      .y = tally_cuda_address(a->y),
                                      .out = tally_cuda_address(a->out),
                                      .rows = l->cut->groups / inner,
                                      .extent = (uint32_t)a->shape.extent,
                                      .inner = (uint32_t)inner};
    const tally_cuda_grid grid = {.x = divide_up(args.rows, rows_a_block), .threads = TALLY_CUDA_BLOCK};
    const tally_cuda_kernel_number kernel =
        inner > 1 ? l->plan->kernels.fold_tiny_slabs : l->plan->kernels.fold_tiny_rows;
    return tally_cuda_enqueue(l, kernel, grid, &args, "launching a reduction of tiny rows");
}
