#include "cuda/label_sums.h"

#include "core/arithmetic.h"

enum {
    /* Parts of the groups, for each of which all elements are read; of more there are buckets. Sums of 2^28 f32 took
     * 0.99 ms on an H200 in 3 parts and 1.30 in 4, by buckets 2.2. */
    MOST_PARTS = 4,
    MOST_OF_CHUNK = (1 << 23) - (1 << 16), /* elements: label_sums.cu's TABLE_EXPONENTS */
    LEAST_OF_BUCKETS = 1 << 20,            /* elements */
    TASK = 1 << 19,                        /* elements of a bucket that a block adds */
    ENOUGH_BUCKETS = 128,                  /* that the lanes of a warp seldom meet in one */
    LEAST_TO_SAMPLE = 1 << 22,             /* elements, where nothing but a hot group is looked for */
    MOST_SHIFT = 16,                       /* of a bucket's groups, whose numbers have 16 bits */
    BLOCKS = 2,                            /* a processor, that count and move elements */
    SAMPLING_BLOCKS = 8,                   /* that look at elements, of 2048 each */
    FOLDERS = 1 << 18,                     /* threads that fold, if they have enough chunks */
    FOLDING_BLOCKS = 16,                   /* a processor, of threads that take turns */
    SPARE_GROUPS = 128,                    /* of a table */
    BESIDE_TABLE = 16,                     /* bytes of shared memory */
    WARP = 32
};

/* ---- cutting ---- */

static uint64_t bytes_of_total(const tally_cuda_plan *plan) {
    return plan->sizes.label_words * sizeof(uint32_t);
}

/* Shared memory for the tables of so many groups; in halves, two groups share the highest word of their integers. */
static uint64_t bytes_of_table(const tally_cuda_plan *plan, uint64_t groups, bool halves) {
    return (groups + SPARE_GROUPS) * (plan->sizes.label_bytes - (halves ? sizeof(uint16_t) : 0));
}

static uint64_t room_for_table(const tally_cuda_plan *plan) {
    return plan->device->shared_bytes_per_block - BESIDE_TABLE;
}

/* The least parts whose groups, an even number, have room in a table. */
static unsigned parts_for(const tally_cuda_plan *plan, uint64_t groups, bool halves) {
    unsigned parts = 1;
    while (parts <= MOST_PARTS &&
           bytes_of_table(plan, round_up(divide_up(groups, parts), 2), halves) > room_for_table(plan))
        parts++;
    return parts;
}

static void cut_parts(const tally_cuda_plan *plan, const tally_shape *shape, unsigned parts, tally_cuda_cut *cut) {
    const uint64_t waves = divide_up(shape->extent, MOST_OF_CHUNK);
    cut->labels.sums.totals = tally_cuda_place(cut, shape->groups * bytes_of_total(plan));
    cut->zeroed_bytes = cut->bytes;
    cut->labels.sums.parts = parts;
    cut->labels.sums.width = (unsigned)round_up(divide_up(shape->groups, parts), 2);
    cut->labels.sums.chunks = most((uint64_t)plan->device->multiprocessors / parts, waves);
    const uint64_t partials = cut->labels.sums.chunks * shape->groups;
    cut->labels.sums.partials = tally_cuda_place(cut, partials * plan->sizes.label_bytes);
}

/* Unless there would be too many. */
static void cut_buckets(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    unsigned shift = 1;
    while (shift < MOST_SHIFT && bytes_of_table(plan, 2ull << shift, false) <= room_for_table(plan) &&
           shape->groups >> shift > ENOUGH_BUCKETS)
        shift++;
    const uint64_t buckets = divide_up(shape->groups, 1ull << shift);
    if (shape->extent < LEAST_OF_BUCKETS || buckets > TALLY_CUDA_MOST_BUCKETS ||
        plan->sizes.bucket_shared > plan->device->shared_bytes_per_block)
        return;
    cut->labels.sums.counts = tally_cuda_place(cut, TALLY_CUDA_MOST_BUCKETS * sizeof(uint64_t));
    cut->zeroed_bytes = cut->bytes;
    cut->labels.sums.totals = tally_cuda_place(cut, shape->groups * bytes_of_total(plan));
    cut->labels.sums.buckets = (unsigned)buckets;
    cut->labels.sums.shift = shift;
    cut->labels.sums.width = 1u << shift;
    cut->labels.sums.places = tally_cuda_place(cut, 3 * (TALLY_CUDA_MOST_BUCKETS + 1) * sizeof(uint64_t));
    cut->labels.sums.moved =
        tally_cuda_place(cut, round_up(shape->extent, 64) * (sizeof(uint16_t) + plan->gpu.base.computation.in_bytes));
}

void tally_cuda_label_sums_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const uint64_t n = shape->extent;
    cut->labels.sums.window = tally_cuda_place(cut, sizeof(tally_cuda_label_window));
    cut->zeroed_bytes = cut->bytes;
    if (!plan->sizes.label_bytes || !shape->groups || n < TALLY_CUDA_LEAST_OF_LABEL_SUMS || n < shape->groups ||
        n >> 32)
        return;
    const unsigned whole = parts_for(plan, shape->groups, false), halved = parts_for(plan, shape->groups, true);
    cut->labels.sums.halves = plan->sizes.has_window && halved < whole;
    const unsigned parts = cut->labels.sums.halves ? halved : whole;
    if (parts <= MOST_PARTS && parts <= (unsigned)plan->device->multiprocessors)
        cut_parts(plan, shape, parts, cut);
    else if (plan->sizes.label_words)
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
    const uint64_t tile = (uint64_t)TALLY_CUDA_BUCKET_THREADS * l->plan->sizes.bucket_items;
    const uint64_t blocks = tally_cuda_blocks_for(l->plan->device, divide_up(of->n, tile), 1, BLOCKS);
    const tally_cuda_grid count = {.x = blocks, .threads = TALLY_CUDA_BUCKET_THREADS};
    const tally_cuda_grid place = {.x = 1, .threads = TALLY_CUDA_MOST_BUCKETS};
    const tally_cuda_grid move = {
        .x = blocks, .threads = TALLY_CUDA_BUCKET_THREADS, .shared = l->plan->sizes.bucket_shared};
    const tally_cuda_grid add = {.x = of->n / TASK + of->buckets,
                                 .threads = TALLY_CUDA_WORD_THREADS,
                                 .shared = (unsigned)bytes_of_table(l->plan, of->width, false) + BESIDE_TABLE};
    tally_status status = tally_cuda_enqueue(l, k->count_buckets, count, &args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->place_buckets, place, &args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->move_to_buckets, move, &args, what);
    return status == TALLY_OK ? tally_cuda_enqueue(l, k->add_buckets, add, &args, what) : status;
}

static tally_status launch_parts(const tally_cuda_launch *l, tally_cuda_label_sums_args *args) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_cuda_grid add = {.x = args->chunks * args->parts,
                                 .threads = TALLY_CUDA_WORD_THREADS,
                                 .shared = (unsigned)bytes_of_table(l->plan, args->width, args->halves)};
    return tally_cuda_enqueue(l, k->fill_cells ? k->fill_cells : k->add_sums, add, args,
                              "launching a reduction by labels");
}

tally_status tally_cuda_label_sums_launch(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    static const char end[] = "launching the end of a reduction by labels";
    tally_cuda_label_sums_args args = {.x = tally_cuda_address(a->x),
                                       .labels = tally_cuda_address(a->labels),
                                       .partials = l->workspace + cut->labels.sums.partials,
                                       .totals = l->workspace + cut->labels.sums.totals,
                                       .out = tally_cuda_address(a->out),
                                       .told = l->workspace + cut->control,
                                       .window = l->workspace + cut->labels.sums.window,
                                       .n = a->shape.extent,
                                       .groups = a->shape.groups,
                                       .chunks = cut->labels.sums.chunks,
                                       .parts = cut->labels.sums.parts,
                                       .width = cut->labels.sums.width,
                                       .halves = cut->labels.sums.halves,
                                       .lanes = 1,
                                       .skips = tally_cuda_leaves_out(l)};
    while (args.lanes < WARP && 2 * args.lanes * args.groups <= FOLDERS)
        args.lanes *= 2;
    const tally_cuda_grid sample = {.x = 1 + (l->plan->sizes.has_window ? SAMPLING_BLOCKS : 0),
                                    .threads = TALLY_CUDA_WORD_THREADS};
    const tally_cuda_grid fold = {
        .x = tally_cuda_blocks_for(l->plan->device, a->shape.groups * args.lanes, TALLY_CUDA_BLOCK, FOLDING_BLOCKS),
        .threads = TALLY_CUDA_BLOCK};
    tally_status status = TALLY_OK;
    if (l->plan->sizes.has_window || (k->find_window && a->shape.extent >= LEAST_TO_SAMPLE))
        status = tally_cuda_enqueue(l, k->find_window, sample, &args, "launching a look at a few elements");
    if (status == TALLY_OK)
        status = cut->labels.sums.buckets ? launch_buckets(l, &args) : launch_parts(l, &args);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->fold_cells ? k->fold_cells : k->fold_sums, fold, &args, end);
    if (status == TALLY_OK && k->give_cells)
        status = tally_cuda_enqueue(l, k->give_cells, fold, &args, end);
    return status;
}
