#include "cuda/label_sums.h"

#include "core/arithmetic.h"

enum {
    /* Parts of the groups, for each of which all elements are read; of more there are buckets. A part of floats costs
     * as much as all: sums of 2^28 f32 by 65536 labels took 3.5 ms on an H100 in 4 parts and 2.8 by buckets, those of
     * i32 1.3 in 3 parts and 2.4 by buckets. */
    MOST_PARTS = 4,
    LEAST_OF_BUCKETS = 1 << 20, /* elements */
    TASK = 1 << 19,             /* elements of a bucket that a block adds */
    ENOUGH_BUCKETS = 128,       /* that the lanes of a warp seldom meet in one */
    MOST_SHIFT = 16,            /* of a bucket's groups, whose numbers have 16 bits */
    BLOCKS = 2,                 /* a processor, that count and move elements */
    FEW_FOLDED = 8192,          /* groups, each of which a warp folds */
    FOLDING_BLOCKS = 16,        /* a processor, of threads that take turns */
    WARP = 32
};

/* ---- cutting ---- */

static void cut_parts(const tally_cuda_plan *plan, const tally_shape *shape, uint64_t parts, tally_cuda_cut *cut) {
    const uint64_t slot = plan->sizes.label_words * sizeof(uint32_t);
    cut->zeroed_bytes = cut->bytes;
    cut->labels.sums.parts = (unsigned)parts;
    cut->labels.sums.width = (unsigned)divide_up(shape->groups, parts);
    cut->labels.sums.chunks = (uint64_t)plan->device->multiprocessors / parts;
    cut->labels.sums.partials = tally_cuda_place(cut, cut->labels.sums.chunks * shape->groups * slot);
}

/* Unless there would be too many. */
static void cut_buckets(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t slot = plan->sizes.label_words * sizeof(uint32_t), room = plan->device->shared_bytes_per_block;
    unsigned shift = 0;
    while (shift < MOST_SHIFT && slot << (shift + 1) <= room && shape->groups >> shift > ENOUGH_BUCKETS)
        shift++;
    const uint64_t buckets = divide_up(shape->groups, 1ull << shift);
    if (shape->extent < LEAST_OF_BUCKETS || buckets > TALLY_CUDA_MOST_BUCKETS || plan->sizes.bucket_shared > room)
        return;
    cut->labels.sums.counts = tally_cuda_place(cut, TALLY_CUDA_MOST_BUCKETS * sizeof(uint64_t));
    cut->zeroed_bytes = cut->bytes;
    cut->labels.sums.partials = tally_cuda_place(cut, shape->groups * slot);
    cut->labels.sums.buckets = (unsigned)buckets;
    cut->labels.sums.shift = shift;
    cut->labels.sums.width = 1u << shift;
    cut->labels.sums.parts = cut->labels.sums.chunks = 1;
    cut->labels.sums.places = tally_cuda_place(cut, 3 * (TALLY_CUDA_MOST_BUCKETS + 1) * sizeof(uint64_t));
    cut->labels.sums.moved =
        tally_cuda_place(cut, round_up(shape->extent, 64) * (sizeof(uint16_t) + plan->gpu.base.computation.in_bytes));
}

void tally_cuda_label_sums_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t slot = plan->sizes.label_words * sizeof(uint32_t), n = shape->extent;
    const uint64_t parts = divide_up(shape->groups * slot, plan->device->shared_bytes_per_block);
    const uint64_t few = plan->sizes.has_window && n >= LEAST_OF_BUCKETS ? 1 : MOST_PARTS;
    cut->labels.sums.window = tally_cuda_place(cut, sizeof(tally_cuda_label_window));
    cut->zeroed_bytes = cut->bytes;
    if (!slot || !shape->groups || n < TALLY_CUDA_LEAST_OF_LABEL_SUMS || n < shape->groups || n >> 32)
        return;
    if (parts <= least(few, (uint64_t)plan->device->multiprocessors))
        cut_parts(plan, shape, parts, cut);
    else
        cut_buckets(plan, shape, cut);
}

/* ---- launching ---- */

static tally_status launch_buckets(const tally_cuda_launch *l, tally_cuda_label_sums_args *of) {
    static const char what[] = "launching a reduction by buckets of labels";
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    const uint64_t starts = l->workspace + cut->labels.sums.places;
    const uint64_t bytes = (TALLY_CUDA_MOST_BUCKETS + 1) * sizeof(uint64_t),
                   moved = l->workspace + cut->labels.sums.moved;
    of->tasks = starts + 2 * bytes;
    of->shift = cut->labels.sums.shift;
    of->buckets = cut->labels.sums.buckets;
    tally_cuda_buckets_args args = {.of = *of,
                                    .counts = l->workspace + cut->labels.sums.counts,
                                    .starts = starts,
                                    .next = starts + bytes,
                                    .moved_x = moved,
                                    .moved_labels =
                                        moved + round_up(of->n, 64) * l->plan->gpu.base.computation.in_bytes,
                                    .task = TASK};
    const uint64_t tile = (uint64_t)TALLY_CUDA_BUCKET_BLOCK * l->plan->sizes.bucket_items;
    const uint64_t blocks = tally_cuda_blocks_for(l->plan->device, divide_up(of->n, tile), 1, BLOCKS);
    const tally_cuda_grid count = {.x = blocks, .threads = TALLY_CUDA_BUCKET_BLOCK};
    const tally_cuda_grid place = {.x = 1, .threads = TALLY_CUDA_MOST_BUCKETS};
    const tally_cuda_grid move = {
        .x = blocks, .threads = TALLY_CUDA_BUCKET_BLOCK, .shared = l->plan->sizes.bucket_shared};
    const tally_cuda_grid add = {.x = of->n / TASK + of->buckets,
                                 .threads = TALLY_CUDA_WORD_BLOCK,
                                 .shared = of->width * l->plan->sizes.label_words * (unsigned)sizeof(uint32_t)};
    tally_status status = tally_cuda_enqueue(l, k->count_buckets, count, &args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->place_buckets, place, &args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->move_to_buckets, move, &args, what);
    return status == TALLY_OK ? tally_cuda_enqueue(l, k->add_buckets, add, &args, what) : status;
}

static tally_status launch_parts(const tally_cuda_launch *l, tally_cuda_label_sums_args *args) {
    const tally_cuda_grid add = {.x = args->chunks * args->parts,
                                 .threads = TALLY_CUDA_WORD_BLOCK,
                                 .shared = args->width * l->plan->sizes.label_words * (unsigned)sizeof(uint32_t)};
    return tally_cuda_enqueue(l, l->plan->kernels.add_sums, add, args, "launching a reduction by labels");
}

tally_status tally_cuda_label_sums_launch(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    const bool are_few = a->shape.groups < FEW_FOLDED;
    tally_cuda_label_sums_args args = {.x = tally_cuda_address(a->x),
                                       .labels = tally_cuda_address(a->labels),
                                       .partials = l->workspace + cut->labels.sums.partials,
                                       .out = tally_cuda_address(a->out),
                                       .told = l->workspace + cut->control,
                                       .window = l->workspace + cut->labels.sums.window,
                                       .n = a->shape.extent,
                                       .groups = a->shape.groups,
                                       .chunks = cut->labels.sums.chunks,
                                       .parts = cut->labels.sums.parts,
                                       .width = cut->labels.sums.width,
                                       .lanes = are_few ? WARP : 1,
                                       .skips = tally_cuda_leaves_out(l)};
    const tally_cuda_grid one = {.x = 1, .threads = TALLY_CUDA_WORD_BLOCK};
    const tally_cuda_grid fold = {
        .x = tally_cuda_blocks_for(l->plan->device, a->shape.groups * args.lanes, TALLY_CUDA_BLOCK, FOLDING_BLOCKS),
        .threads = TALLY_CUDA_BLOCK};
    tally_status status = TALLY_OK;
    if (l->plan->sizes.has_window)
        status = tally_cuda_enqueue(l, k->find_window, one, &args, "launching a look at a few elements");
    if (status == TALLY_OK)
        status = cut->labels.sums.buckets ? launch_buckets(l, &args) : launch_parts(l, &args);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->fold_sums, fold, &args, "launching the end of a reduction by labels");
    return status;
}
