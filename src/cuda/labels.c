#include "cuda/labels.h"

#include "core/arithmetic.h"
#include "cuda/label_sums.h"
#include "cuda/launch.h"
#include "cuda/path.h"
#include "gpu/labels.h"

enum {
    DIGITS = 1 << TALLY_CUDA_DIGIT_BITS,
    SORTING_BLOCKS = 2,    /* a processor, which count and move a chunk each */
    SEARCHING_BLOCKS = 16, /* a processor, of threads that take turns */
    WARP = 32,
    BLOCK_RESERVED = 1024, /* bytes of shared memory that the device takes of a block */
    LEAST_OF_TABLE = 64    /* elements of a thread that has a table */
};

/* ---- the plan of the sorted elements ---- */

static bool is_indexed(const tally_cuda_plan *plan) {
    return tally_class_of(plan->gpu.base.computation.monoid) == TALLY_CLASS_INDEXED;
}

static tally_cuda_plan *plan_of_sorted(const tally_cuda_plan *plan) {
    return (tally_cuda_plan *)plan->sorted;
}

static void cut_segments(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    tally_cuda_cut_make(plan_of_sorted(plan), shape, cut);
}

/* ---- cutting ---- */

/* What a pass moves of an element: its label, x, y, and its place in the input. */
static size_t bytes_of(const tally_cuda_plan *plan) {
    const tally_computation *c = &plan->gpu.base.computation;
    const size_t inputs = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) ? 2 : 1;
    return sizeof(uint32_t) + inputs * c->in_bytes + (is_indexed(plan) ? sizeof(uint64_t) : 0);
}

/* Few groups, of which each thread can have a table. */
static bool cut_tables(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_cuda_device *device = plan->device;
    const uint64_t table = (shape->groups + 1) * plan->sizes.slot_bytes;
    const uint64_t warps = least(device->shared_bytes_per_block / (table * WARP), TALLY_CUDA_MOST_TABLE_THREADS / WARP);
    if (!plan->sizes.has_tables || !warps || !shape->extent || !shape->groups)
        return false;
    cut->path = TALLY_CUDA_TABLES;
    cut->tables.threads = (unsigned)warps * WARP;
    cut->tables.shared = (unsigned)(table * cut->tables.threads);
    const uint64_t resident = most(1, least(device->shared_bytes_per_sm / (cut->tables.shared + BLOCK_RESERVED),
                                            (uint64_t)device->threads_per_sm / cut->tables.threads));
    const uint64_t wanted = divide_up(shape->extent, (uint64_t)cut->tables.threads * LEAST_OF_TABLE);
    cut->tables.blocks = most(1, least(wanted, resident * (uint64_t)device->multiprocessors));
    cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    cut->zeroed_bytes = cut->bytes;
    cut->partials = tally_cuda_place(cut, shape->groups * cut->tables.blocks * plan->sizes.slot_bytes);
    return true;
}

void tally_cuda_labels_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_computation *c = &plan->gpu.base.computation;
    const uint64_t n = shape->extent, groups = shape->groups, tiles = divide_up(n, plan->sizes.label_tile);
    const uint64_t blocks = (uint64_t)plan->device->multiprocessors * SORTING_BLOCKS;
    tally_cuda_cut segments;
    *cut = (tally_cuda_cut){.elements = n, .groups = groups};
    if (!groups && !n)
        return;
    if (!(plan->sizes.label_words && n >= TALLY_CUDA_LEAST_OF_LABEL_SUMS) && cut_tables(plan, shape, cut))
        return;
    cut->path = TALLY_CUDA_LABELS;
    cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    tally_cuda_label_sums_cut(plan, shape, cut);
    if (cut->labels.sums.width && !plan->sizes.labels_may_fail)
        return; /* nothing is ever sorted */
    cut_segments(plan, shape, &segments);
    cut->labels.sorts = true;
    cut->labels.passes = n && groups ? tally_gpu_label_passes(c, groups, TALLY_CUDA_DIGIT_BITS) : 0;
    cut->labels.chunk = most(1, divide_up(tiles, blocks)) * plan->sizes.label_tile;
    cut->labels.chunks = most(1, divide_up(n, cut->labels.chunk));
    cut->entries = tally_cuda_place(cut, DIGITS * cut->labels.chunks * sizeof(uint64_t));
    for (unsigned k = 0; k < 2 && k < cut->labels.passes; k++)
        cut->labels.sorted[k] = tally_cuda_place(cut, round_up(n, 64) * bytes_of(plan));
    cut->labels.offsets = tally_cuda_place(cut, (groups + 1) * sizeof(uint64_t));
    cut->labels.in_groups = tally_cuda_place(cut, is_indexed(plan) ? groups * sizeof(int64_t) : 0);
    cut->labels.segments = tally_cuda_place(cut, segments.bytes);
    cut->labels.control = cut->labels.segments + segments.control;
}

/* ---- launching ---- */

/* Where a pass leaves the elements: labels, x, y and indices, each aligned. */
static void set_destination(const tally_cuda_launch *l, unsigned pass, tally_cuda_labels_args *args) {
    const uint64_t n = round_up(l->args->shape.extent, 64), bytes = l->plan->gpu.base.computation.in_bytes;
    args->to = l->workspace + l->cut->labels.sorted[pass % 2];
    args->to_x = args->to + n * sizeof(uint32_t);
    args->to_y = args->to_x + n * bytes;
    args->to_indices = args->to_y + (args->y ? n * bytes : 0);
}

static tally_status sort(const tally_cuda_launch *l, tally_cuda_labels_args *args) {
    static const char what[] = "launching a sort by labels";
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_cuda_grid chunks = {.x = l->cut->labels.chunks, .threads = TALLY_CUDA_LABEL_THREADS};
    const tally_cuda_grid one = {.x = 1, .threads = TALLY_CUDA_LABEL_THREADS};
    tally_status status = TALLY_OK;
    for (unsigned pass = 0; pass < l->cut->labels.passes && status == TALLY_OK; pass++) {
        args->shift = pass * TALLY_CUDA_DIGIT_BITS;
        set_destination(l, pass, args);
        status = tally_cuda_enqueue(l, k->count_digits, chunks, args, what);
        if (status == TALLY_OK)
            status = tally_cuda_enqueue(l, k->place_digits, one, args, what);
        if (status == TALLY_OK)
            status = tally_cuda_enqueue(l, k->sort_by_digit, chunks, args, what);
        args->from = args->to;
        args->x = args->to_x;
        args->y = args->y ? args->to_y : 0;
        args->indices = args->to_indices;
    }
    return status;
}

static tally_status reduce_sorted(const tally_cuda_launch *l, const tally_cuda_labels_args *sorted) {
    tally_cuda_cut cut;
    tally_args args = *l->args;
    cut_segments(l->plan, &l->args->shape, &cut);
    args.x = tally_cuda_pointer(sorted->x);
    args.y = tally_cuda_pointer(sorted->y);
    args.offsets = tally_cuda_pointer(sorted->offsets);
    args.out = tally_cuda_pointer(is_indexed(l->plan) ? sorted->in_groups : sorted->out);
    const tally_cuda_launch launch = {
        .plan = plan_of_sorted(l->plan),
        .args = &args,
        .cut = &cut,
        .workspace = l->workspace + l->cut->labels.segments,
        .given_up = sorted->window ? sorted->window + offsetof(tally_cuda_label_window, failed) : 0,
        .stream = l->stream,
        .wanted = l->wanted};
    return tally_cuda_launch_all(&launch);
}

tally_status tally_cuda_labels_launch(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_cuda_grid search = {
        .x = tally_cuda_blocks_for(l->plan->device, a->shape.groups + 1, TALLY_CUDA_LABEL_THREADS, SEARCHING_BLOCKS),
        .threads = TALLY_CUDA_LABEL_THREADS};
    tally_cuda_labels_args args = {.labels = tally_cuda_address(a->labels),
                                   .x = tally_cuda_address(a->x),
                                   .y = tally_cuda_address(a->y),
                                   .places = l->workspace + cut->entries,
                                   .offsets = l->workspace + cut->labels.offsets,
                                   .in_groups = l->workspace + cut->labels.in_groups,
                                   .out = tally_cuda_address(a->out),
                                   .told = l->workspace + cut->control,
                                   .refused =
                                       l->workspace + cut->labels.control + offsetof(tally_cuda_control, refused),
                                   .n = a->shape.extent,
                                   .groups = a->shape.groups,
                                   .chunk = cut->labels.chunk,
                                   .chunks = cut->labels.chunks,
                                   .skips = tally_cuda_leaves_out(l)};
    tally_status status = TALLY_OK;
    if (cut->labels.sums.width) {
        args.window = l->plan->sizes.labels_may_fail ? l->workspace + cut->labels.sums.window : 0;
        status = tally_cuda_label_sums_launch(l);
    }
    if (status != TALLY_OK || !cut->labels.sorts)
        return status;
    status = sort(l, &args);
    if (!a->shape.groups && status == TALLY_OK) /* every label is out of range */
        return tally_cuda_enqueue(l, k->count_digits,
                                  (tally_cuda_grid){.x = cut->labels.chunks, .threads = TALLY_CUDA_LABEL_THREADS},
                                  &args, "looking at labels");
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->find_groups, search, &args, "launching the search for groups");
    if (status == TALLY_OK)
        status = reduce_sorted(l, &args);
    if (status == TALLY_OK && is_indexed(l->plan))
        status = tally_cuda_enqueue(l, k->find_indices, search, &args, "launching the end of a reduction by labels");
    return status;
}

/* ---- few groups ---- */

tally_status tally_cuda_tables_launch(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    const tally_cuda_cut *cut = l->cut;
    tally_cuda_tables_args args = {.x = tally_cuda_address(a->x),
                                   .labels = tally_cuda_address(a->labels),
                                   .partials = l->workspace + cut->partials,
                                   .out = tally_cuda_address(a->out),
                                   .told = l->workspace + cut->control,
                                   .n = a->shape.extent,
                                   .groups = a->shape.groups,
                                   .blocks = cut->tables.blocks,
                                   .skips = tally_cuda_leaves_out(l)};
    const tally_cuda_grid fill = {
        .x = cut->tables.blocks, .threads = cut->tables.threads, .shared = cut->tables.shared};
    const tally_cuda_grid fold = {.x = divide_up(a->shape.groups, TALLY_CUDA_BLOCK / WARP),
                                  .threads = TALLY_CUDA_BLOCK};
    tally_status status =
        tally_cuda_enqueue(l, l->plan->kernels.fill_tables, fill, &args, "launching a reduction by labels");
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, l->plan->kernels.fold_blocks, fold, &args,
                                    "launching the end of a reduction by labels");
    return status;
}
