#include "vulkan/labels.h"

#include "gpu/labels.h"
#include "vulkan/launch.h"
#include "vulkan/path.h"

enum {
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS, /* as in labels.comp */
    SORT_ITEMS = 8,
    SORT_GROUPS = 1024,    /* workgroups that count and move a chunk each */
    MOST_IN_SOFTWARE = 64, /* tiles of a chunk: a device in software ends longer loops (see exact.c) */
    SEARCH_GROUPS = 8192,  /* of threads that take turns */
    ROOM = 64              /* elements of which sorted arrays have a multiple */
};

/* ---- the plan of the sorted elements ---- */

static bool is_indexed(const tally_vulkan_plan *plan) {
    return tally_class_of(plan->gpu.base.computation.monoid) == TALLY_CLASS_INDEXED;
}

static const tally_vulkan_plan *plan_of_sorted(const tally_vulkan_plan *plan) {
    return (const tally_vulkan_plan *)plan->sorted;
}

static void cut_segments(const tally_vulkan_plan *plan, const tally_shape *shape, tally_vulkan_cut *cut) {
    const tally_vulkan_plan *of = plan_of_sorted(plan);
    tally_vulkan_cut_make(of->device, &of->gpu.base.computation, of->slot, shape, cut);
}

/* ---- cutting ---- */

static bool has_second(const tally_vulkan_plan *plan) {
    return tally_has_trait(&plan->gpu.base.computation, TALLY_OPERATOR_TWO_INPUTS);
}

/* Elements of fewer than 4 bytes are sorted as words, and packed at the end. */
static uint64_t bytes_sorted(const tally_vulkan_plan *plan) {
    return most(plan->gpu.base.computation.in_bytes, sizeof(uint32_t));
}

static bool packs(const tally_vulkan_plan *plan) {
    return plan->gpu.base.computation.in_bytes < sizeof(uint32_t);
}

/* What a pass leaves of an element: its label, x, y, and its place in the input. */
static uint64_t bytes_of(const tally_vulkan_plan *plan) {
    return sizeof(uint32_t) + (has_second(plan) ? 2 : 1) * bytes_sorted(plan) +
           (is_indexed(plan) ? sizeof(uint64_t) : 0);
}

void tally_vulkan_labels_cut(const tally_vulkan_plan *plan, const tally_shape *shape, tally_vulkan_cut *cut) {
    const uint64_t n = shape->extent, groups = shape->groups, tile = (uint64_t)plan->device->block * SORT_ITEMS;
    tally_vulkan_cut segments;
    *cut = (tally_vulkan_cut){.elements = n, .extent = n, .columns = 1, .inner = 1};
    if (!groups && !n)
        return;
    cut_segments(plan, shape, &segments);
    cut->path = TALLY_VULKAN_BY_LABELS;
    cut->too_many = segments.too_many;
    const uint64_t most_tiles = plan->device->is_software ? MOST_IN_SOFTWARE : TALLY_VULKAN_MOST_CHUNK / tile;
    cut->chunk = least(most(1, divide_up(divide_up(n, tile), SORT_GROUPS)), most_tiles) * tile;
    cut->chunks = most(1, divide_up(n, cut->chunk));
    cut->labels.passes = n ? tally_gpu_label_passes(&plan->gpu.base.computation, groups, DIGIT_BITS) : 0;
    cut->control = tally_vulkan_place(cut, sizeof(tally_vulkan_control));
    cut->labels.digits = tally_vulkan_place(cut, ((DIGITS + 1) * cut->chunks + DIGITS + 1) * sizeof(uint64_t));
    for (uint32_t k = 0; groups && k < 2; k++)
        if (k < cut->labels.passes || (cut->labels.passes && packs(plan)))
            cut->labels.sorted[k] = tally_vulkan_place(cut, round_up(n, ROOM) * bytes_of(plan));
    cut->labels.offsets = tally_vulkan_place(cut, (groups + 1) * sizeof(uint64_t));
    cut->labels.in_groups = tally_vulkan_place(cut, is_indexed(plan) ? groups * sizeof(int64_t) : 0);
    cut->labels.segments = tally_vulkan_place(cut, segments.bytes);
}

/* ---- launching ---- */

static uint64_t groups_for(const tally_vulkan_launch *l, uint64_t items) {
    return most(1, least(divide_up(items, l->plan->device->block), SEARCH_GROUPS));
}

static void count_digits(const tally_vulkan_launch *l, const tally_vulkan_arguments *of_pass) {
    const VkPipeline *k = l->plan->kernels;
    tally_vulkan_arguments a = *of_pass;
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_COUNT_DIGITS], &a, a.chunks);
    tally_vulkan_then(l);
    a.panels = DIGITS;
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_PLACE_DIGITS], &a, a.panels);
    tally_vulkan_then(l);
    a.digits += (uint64_t)DIGITS * a.chunks * sizeof(uint64_t); /* the totals */
    a.panels = 1;
    a.chunks = DIGITS;
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_PLACE_DIGITS], &a, a.panels);
    tally_vulkan_then(l);
}

/* Where a pass leaves x, y and indices, after the labels. */
static void take_sorted(const tally_vulkan_launch *l, uint64_t sorted, tally_vulkan_arguments *a) {
    const uint64_t n = round_up(l->args->shape.extent, ROOM), bytes = n * bytes_sorted(l->plan);
    a->labels = sorted;
    a->x = sorted + n * sizeof(uint32_t);
    a->y = a->y ? a->x + bytes : 0;
    a->indices = a->x + (a->y ? 2 : 1) * bytes;
}

static void sort(const tally_vulkan_launch *l, tally_vulkan_arguments *a) {
    const tally_vulkan_cut *cut = l->cut;
    for (uint32_t pass = 0; pass < cut->labels.passes; pass++) {
        a->shift = (int32_t)(pass * DIGIT_BITS);
        a->sorted = l->workspace + cut->labels.sorted[pass % 2];
        count_digits(l, a);
        tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_SORT_BY_DIGIT], a, a->chunks);
        tally_vulkan_then(l);
        take_sorted(l, a->sorted, a);
    }
}

/* Puts the elements where labels and elements of the pass before the last one are. */
static void pack(const tally_vulkan_launch *l, tally_vulkan_arguments *sorted) {
    const uint64_t n = round_up(l->args->shape.extent, ROOM);
    uint64_t to = l->workspace + l->cut->labels.sorted[l->cut->labels.passes % 2];
    uint64_t *const arrays[] = {&sorted->x, &sorted->y};
    for (size_t k = 0; k < 2 && *arrays[k]; k++, to += n * sizeof(uint32_t)) {
        tally_vulkan_arguments a = *sorted;
        a.x = *arrays[k];
        a.out_at = to;
        tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_PACK_SORTED], &a, groups_for(l, n));
        *arrays[k] = to;
    }
    tally_vulkan_then(l);
}

static void find_groups(const tally_vulkan_launch *l, const tally_vulkan_arguments *sorted) {
    tally_vulkan_arguments a = *sorted;
    a.out_at = l->workspace + l->cut->labels.offsets;
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_FIND_GROUPS], &a, groups_for(l, a.segments + 1));
    tally_vulkan_then(l);
}

static void reduce_sorted(const tally_vulkan_launch *l, const tally_vulkan_arguments *sorted) {
    const tally_vulkan_cut *cut = l->cut;
    tally_vulkan_cut of_segments;
    tally_args args = *l->args;
    cut_segments(l->plan, &args.shape, &of_segments);
    args.x = tally_vulkan_pointer(sorted->x);
    args.y = tally_vulkan_pointer(sorted->y);
    args.offsets = tally_vulkan_pointer(l->workspace + cut->labels.offsets);
    if (is_indexed(l->plan))
        args.out = tally_vulkan_pointer(l->workspace + cut->labels.in_groups);
    const tally_vulkan_launch launch = {.plan = plan_of_sorted(l->plan),
                                        .args = &args,
                                        .cut = &of_segments,
                                        .workspace = l->workspace + cut->labels.segments,
                                        .outcome = l->outcome ? l->outcome + sizeof(tally_vulkan_control) : 0,
                                        .buffer = l->buffer};
    tally_vulkan_launch_all(&launch);
    if (!is_indexed(l->plan))
        return;
    tally_vulkan_arguments a = *sorted;
    a.x = l->workspace + cut->labels.in_groups;
    a.offsets = l->workspace + cut->labels.offsets;
    a.control = launch.workspace + of_segments.control;
    tally_vulkan_then(l);
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_FIND_INDICES], &a, groups_for(l, a.segments));
}

void tally_vulkan_labels_launch(const tally_vulkan_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const tally_vulkan_cut *cut = l->cut;
    tally_vulkan_arguments a = tally_vulkan_arguments_of(l);
    a.labels = tally_vulkan_address(l->args->labels);
    a.control = l->workspace + cut->control;
    a.segments = l->args->shape.groups;
    a.digits = l->workspace + cut->labels.digits;
    a.shift = 0;
    a.moves = (is_indexed(l->plan) ? TALLY_VULKAN_MOVES_INDICES : 0) |
              (c->desc.flags & TALLY_SKIP_BAD_LABELS ? TALLY_VULKAN_SKIPS_BAD : 0);
    tally_vulkan_then(l); /* whoever used the workspace before is done with it */
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_CLEAR_CONTROL], &a, 1);
    tally_vulkan_then(l);
    if (a.segments) {
        sort(l, &a);
        if (packs(l->plan) && cut->labels.passes)
            pack(l, &a);
        find_groups(l, &a);
        reduce_sorted(l, &a);
    } else { /* every label is out of range */
        count_digits(l, &a);
    }
    tally_vulkan_tell(l, &a);
}

/* ---- findings ---- */

tally_status tally_vulkan_labels_findings(const tally_vulkan_plan *plan, const tally_args *args,
                                          const tally_vulkan_control control[2], tally_gpu_findings *findings) {
    const tally_computation *c = &plan->gpu.base.computation;
    tally_device *const device = plan->gpu.base.device;
    const uint32_t empty = args->shape.groups ? control[1].refused & TALLY_GPU_REFUSED_EMPTY : 0;
    int64_t label = 0;
    *findings = (tally_gpu_findings){
        .refused = control[0].refused | empty, .bad = control[0].runs, .empty = ~control[1].not_empty};
    if (!(findings->refused & TALLY_GPU_REFUSED_BAD))
        return TALLY_OK;
    const char *const from = (const char *)args->labels + findings->bad * c->index_bytes;
    const tally_status status = device->interface->copy(device, &label, from, c->index_bytes);
    findings->label = tally_label_value(c, &label);
    return status;
}
