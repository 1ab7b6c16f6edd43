#include "vulkan/launch.h"

#include "core/arithmetic.h"
#include "vulkan/exact.h"
#include "vulkan/exact_scan.h"
#include "vulkan/path.h"

typedef tally_vulkan_arguments arguments;

tally_vulkan_purpose tally_vulkan_fold_purpose(const tally_vulkan_plan *plan, const tally_vulkan_cut *cut) {
    const tally_computation *c = &plan->gpu.base.computation;
    if (c->desc.grouping != TALLY_AXIS || !c->entry)
        return TALLY_VULKAN_PLAIN;
    if (!cut->width)
        return c->monoid == TALLY_MONOID_sum && c->desc.in == TALLY_F32 ? TALLY_VULKAN_BY_ROWS : TALLY_VULKAN_PLAIN;
    if (cut->fold != TALLY_VULKAN_REDUCE)
        return cut->fold == TALLY_VULKAN_FEW_ROWS ? TALLY_VULKAN_BY_FEW_ROWS : TALLY_VULKAN_AS_STRETCH;
    return cut->many == 1 ? TALLY_VULKAN_PLAIN : TALLY_VULKAN_BY_COLUMNS;
}

/* Elements to results, or to an accumulator per chunk and those to results. */
static void launch_fold(const tally_vulkan_launch *l) {
    const tally_vulkan_cut *cut = l->cut;
    arguments a = tally_vulkan_arguments_of(l);
    const bool at_once = cut->chunks == 1;
    a.carry = at_once ? l->pieces.carry : 0;
    a.total = at_once ? l->pieces.total : 0;
    a.slots = at_once ? 0 : l->workspace + cut->slots;
    const VkPipeline special = l->plan->folds[tally_vulkan_fold_purpose(l->plan, cut)];
    tally_vulkan_dispatch(l, special ? special : l->plan->kernels[TALLY_VULKAN_REDUCE], &a, cut->panels * cut->chunks);
    if (at_once)
        return;
    tally_vulkan_then(l);
    a.x = a.slots;
    a.slots = 0;
    a.carry = l->pieces.carry;
    a.total = l->pieces.total;
    /* 'before' and 'extent' add up to the elements that there are, for means */
    a.chunk = (uint32_t)cut->chunks;
    a.chunks = 1;
    a.width = cut->fold_width;
    tally_vulkan_dispatch_panels(l->plan, l->buffer, l->plan->fold_slots, &a);
}

static void launch_fold_rows(const tally_vulkan_launch *l) {
    arguments a = tally_vulkan_arguments_of(l);
    a.carry = l->pieces.carry;
    a.total = l->pieces.total;
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_SHORT_ROWS], &a, l->cut->scan_groups);
}

static void launch_slabs(const tally_vulkan_launch *l) {
    arguments a = tally_vulkan_arguments_of(l);
    a.carry = l->pieces.carry;
    a.total = l->pieces.total;
    if (a.carry)
        a.initial = 0;
    const bool moments = tally_vulkan_takes_moments(&l->plan->gpu.base.computation);
    tally_vulkan_dispatch(l, l->plan->kernels[moments ? TALLY_VULKAN_MOMENT_SLABS : TALLY_VULKAN_SLABS], &a,
                          l->cut->scan_groups);
}

/* ---- scans ---- */

tally_vulkan_kernel tally_vulkan_kernel_of_tiles(const tally_computation *c, const tally_vulkan_cut *cut, bool counts) {
    const bool moments = tally_vulkan_takes_moments(c);
    if (cut->rows_once)
        return TALLY_VULKAN_GROUPS_ONCE;
    if (cut->path == TALLY_VULKAN_ALONG_ROWS && moments)
        return TALLY_VULKAN_MOMENT_ROWS;
    if (cut->path == TALLY_VULKAN_ALONG_ROWS && cut->rows_a_chunk)
        return TALLY_VULKAN_GIVE_ROWS;
    if (cut->path == TALLY_VULKAN_ALONG_ROWS)
        return cut->tiles && !counts ? TALLY_VULKAN_SCAN_ONCE : TALLY_VULKAN_SCAN_ROWS;
    if (cut->path == TALLY_VULKAN_IN_TILES)
        return TALLY_VULKAN_SEGMENT_TILES;
    if (cut->path == TALLY_VULKAN_BY_GROUPS && cut->once_groups)
        return TALLY_VULKAN_GROUPS_ONCE;
    if (cut->path == TALLY_VULKAN_BY_GROUPS && tally_is_scan(c))
        return moments ? TALLY_VULKAN_MOMENT_GROUPS : TALLY_VULKAN_GIVE_GROUPS;
    if (cut->path == TALLY_VULKAN_BY_GROUPS)
        return moments ? TALLY_VULKAN_MOMENT_RUNS : TALLY_VULKAN_GIVE_RUNS;
    return TALLY_VULKAN_KERNEL_COUNT;
}

static VkPipeline kernel_of_tiles(const tally_vulkan_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const tally_vulkan_kernel kernel = tally_vulkan_kernel_of_tiles(c, l->cut, l->count != 0);
    if (kernel == TALLY_VULKAN_SCAN_ONCE && tally_vulkan_ahead(l->plan, l->cut, l->args))
        return l->plan->shifted;
    return tally_vulkan_is_misaligned(c, l->cut, l->args) && l->plan->anywhere[kernel] ? l->plan->anywhere[kernel]
                                                                                       : l->plan->kernels[kernel];
}

/* What tiles tell each other, and what lies beside it. */
static void clear_tiles(const tally_vulkan_launch *l, const arguments *a, uint64_t begin, uint64_t words) {
    enum { MOST_CLEARED = 16 /* words a thread; not tuned */ };
    const uint64_t block = l->plan->device->block;
    arguments clear = *a;
    clear.tile_words = l->workspace + begin;
    clear.words = words;
    const uint64_t groups = most(l->cut->once_groups, words / (MOST_CLEARED * block));
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_CLEAR_TILES], &clear,
                          least(divide_up(words, block), groups));
    tally_vulkan_then(l);
}

/* Scans whole tiles in one pass, and the rest of the last one as a row of its own that continues from there. */
static void launch_scan_once(const tally_vulkan_launch *l, const arguments *scan) {
    const tally_vulkan_cut *cut = l->cut;
    const tally_computation *c = &l->plan->gpu.base.computation;
    const uint64_t whole = cut->tiles * cut->tile, left = cut->extent - whole;
    arguments tiles = *scan, rest = *scan;
    clear_tiles(l, scan, cut->places, cut->once_words);
    tiles.tile_words = l->workspace + cut->places;
    tiles.tiles = (uint32_t)cut->tiles;
    tiles.total = left ? l->workspace + cut->control : l->pieces.total;
    tally_vulkan_dispatch(l, kernel_of_tiles(l), &tiles, cut->once_groups);
    if (!left)
        return;
    tally_vulkan_then(l);
    if (!c->reverse) {
        rest.x += whole * c->in_bytes;
        rest.out_at += whole * c->out_bytes;
    }
    rest.extent = left;
    rest.before += whole;
    rest.chunk = (uint32_t)left;
    rest.chunks = 1;
    rest.panels = 1;
    rest.carry = tiles.total;
    rest.initial = 0;
    rest.total = l->pieces.total;
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_SCAN_ROWS], &rest, 1);
}

/* A scan's chunks to accumulators: a workgroup each or, of columns, a thread. */
static void launch_sums(const tally_vulkan_launch *l, const arguments *scan) {
    const tally_vulkan_cut *cut = l->cut;
    const VkPipeline by_threads = l->plan->kernels[TALLY_VULKAN_SUM_COLUMNS];
    const VkPipeline as_stretch = l->plan->folds[TALLY_VULKAN_AS_STRETCH];
    arguments a = *scan;
    if (cut->tall_rows || cut->path != TALLY_VULKAN_ALONG_COLUMNS || !by_threads) {
        tally_vulkan_dispatch(l, cut->tall_rows ? as_stretch : l->plan->kernels[TALLY_VULKAN_REDUCE], &a,
                              cut->panels * cut->chunks);
        return;
    }
    const uint64_t groups = divide_up(cut->columns * cut->chunks, l->plan->block);
    a.panels = (uint32_t)groups;
    tally_vulkan_dispatch(l, by_threads, &a, groups);
}

/* With several chunks: their accumulators, the values before each, and the scan of each from there. */
static void launch_scan(const tally_vulkan_launch *l) {
    const tally_vulkan_cut *cut = l->cut;
    arguments a = tally_vulkan_arguments_of(l);
    const bool along_rows = cut->path == TALLY_VULKAN_ALONG_ROWS;
    a.carry = l->pieces.carry;
    if (a.carry)
        a.initial = 0;
    if (cut->tiles && !l->count) {
        launch_scan_once(l, &a);
        return;
    }
    if (cut->rows_a_chunk) {
        a.width = (uint32_t)cut->rows_a_chunk;
        a.chunks = (uint32_t)cut->row_chunks;
        tally_vulkan_dispatch(l, kernel_of_tiles(l), &a, cut->row_chunks);
        return;
    }
    if (cut->chunks > 1) {
        arguments sums = a;
        sums.slots = l->workspace + cut->slots;
        sums.carry = 0;
        launch_sums(l, &sums);
        tally_vulkan_then(l);
        sums.carry = a.carry;
        sums.total = l->pieces.total;
        sums.width = cut->fold_width;
        tally_vulkan_dispatch_panels(l->plan, l->buffer, l->plan->kernels[TALLY_VULKAN_SPINE], &sums);
        tally_vulkan_then(l);
        a.slots = sums.slots;
    } else {
        a.total = l->pieces.total;
    }
    const bool moments = tally_vulkan_takes_moments(&l->plan->gpu.base.computation);
    const tally_vulkan_kernel tall = moments ? TALLY_VULKAN_MOMENT_TALL : TALLY_VULKAN_TALL_SLABS;
    const tally_vulkan_kernel columns = cut->tall_rows  ? tall
                                        : cut->few_rows ? TALLY_VULKAN_FEW_ROWS
                                        : moments       ? TALLY_VULKAN_MOMENT_COLUMNS
                                                        : TALLY_VULKAN_SCAN_COLUMNS;
    if (cut->tall_rows) {
        a.width = cut->tall_rows;
        a.many = cut->team;
    } else {
        a.panels = (uint32_t)cut->scan_groups;
    }
    tally_vulkan_dispatch(l, along_rows ? kernel_of_tiles(l) : l->plan->kernels[columns], &a, cut->scan_groups);
}

/* ---- segments and keys ---- */

static void launch_groups_once(const tally_vulkan_launch *l) {
    const tally_vulkan_cut *cut = l->cut;
    arguments a = tally_vulkan_arguments_of(l);
    tally_vulkan_group_arguments(l, &a);
    clear_tiles(l, &a, cut->control, (cut->heads - cut->control) / sizeof(uint32_t) + cut->head_words);
    if (l->plan->gpu.base.computation.desc.grouping == TALLY_SEGMENTS)
        tally_vulkan_inspect_segments(l, &a);
    a.tile_words = l->workspace + cut->slots;
    a.heads = l->workspace + cut->heads;
    a.tiles = (uint32_t)cut->tiles;
    tally_vulkan_dispatch(l, kernel_of_tiles(l), &a, cut->once_groups);
    tally_vulkan_tell(l, &a);
}

static void launch_rows_once(const tally_vulkan_launch *l) {
    const tally_vulkan_cut *cut = l->cut;
    arguments a = tally_vulkan_arguments_of(l);
    clear_tiles(l, &a, cut->heads, cut->once_words);
    a.tile_words = l->workspace + cut->heads;
    a.extent = cut->elements;
    a.chunk = (uint32_t)cut->extent;
    a.tiles = (uint32_t)cut->tiles;
    tally_vulkan_dispatch(l, kernel_of_tiles(l), &a, cut->once_groups);
}

static void launch_groups(const tally_vulkan_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const tally_vulkan_cut *cut = l->cut;
    const VkPipeline *k = l->plan->kernels;
    arguments a = tally_vulkan_arguments_of(l);
    tally_vulkan_group_arguments(l, &a);
    a.places = l->workspace + cut->places;
    a.slots = l->workspace + cut->slots;
    if (c->desc.grouping != TALLY_KEYS) /* else the spine clears what they find */
        tally_vulkan_inspect(l, &a);
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_FOLD_GROUPS], &a, cut->chunks);
    tally_vulkan_then(l);
    tally_vulkan_dispatch(l, k[TALLY_VULKAN_SPINE_OF_GROUPS], &a, 1);
    tally_vulkan_then(l);
    tally_vulkan_dispatch(l, kernel_of_tiles(l), &a, cut->chunks);
    if (k[TALLY_VULKAN_GIVE_LONG_RUNS])
        tally_vulkan_dispatch(l, k[TALLY_VULKAN_GIVE_LONG_RUNS], &a, cut->chunks);
    tally_vulkan_tell(l, &a);
}

static void launch_teams(const tally_vulkan_launch *l, const arguments *segments) {
    enum {
        TEAM_GROUPS = 2112 /* workgroups at least that share the segments evenly, if there are as many; not tuned */
    };
    const tally_vulkan_cut *cut = l->cut;
    arguments a = *segments;
    a.at_once = cut->at_once;
    a.most_tiled = cut->most_tiled;
    if (cut->at_once)
        tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_TILED_SEGMENTS], &a, cut->scan_groups);
    else
        tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_SHORT_SEGMENTS], &a,
                              divide_up(cut->panels, most(1, cut->panels / TEAM_GROUPS)));
}

/* Workgroups of join_tiles(): a thread a tile, or, where most segments are empty, as many as fill the device with
 * these. */
static uint64_t groups_to_join(const tally_vulkan_launch *l) {
    enum { EMPTY_A_THREAD = 16, MOST = 8192 };
    const tally_shape *shape = &l->args->shape;
    const uint64_t block = tally_vulkan_block_of_segments(l->plan->block);
    const uint64_t filled = shape->groups > shape->extent ? divide_up(shape->groups, block * EMPTY_A_THREAD) : 0;
    return most(divide_up(l->cut->tiles, block), least(filled, MOST));
}

static void launch_segments(const tally_vulkan_launch *l) {
    enum { MOST = 2112 /* workgroups, which have nothing to do if no segment is long; not tuned */ };
    const tally_vulkan_cut *cut = l->cut;
    const bool by_teams = cut->path == TALLY_VULKAN_BY_SEGMENTS;
    arguments a = tally_vulkan_arguments_of(l);
    tally_vulkan_group_arguments(l, &a);
    a.places = l->workspace + cut->places;
    a.slots = l->workspace + cut->slots;
    tally_vulkan_inspect(l, &a);
    if (by_teams) {
        launch_teams(l, &a);
        a.at_once = cut->at_once;
        a.most_tiled = cut->most_tiled;
        a.listed = l->workspace + cut->listed;
        tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_LONG_SEGMENTS], &a,
                              least(2 * cut->chunks + cut->most_listed, MOST));
    } else {
        tally_vulkan_dispatch(l, kernel_of_tiles(l), &a, cut->tiles);
    }
    tally_vulkan_then(l);
    a.outcome = l->outcome;
    a.next_control = l->next_control;
    tally_vulkan_dispatch(l, l->plan->kernels[TALLY_VULKAN_JOIN_TILES], &a, groups_to_join(l));
}

void tally_vulkan_launch_all(const tally_vulkan_launch *l) {
    if (l->cut->rows_once) {
        tally_vulkan_then(l);
        launch_rows_once(l);
        return;
    }
    switch (l->cut->path) {
    case TALLY_VULKAN_FOLD:
        tally_vulkan_then(l); /* whoever used the workspace before is done with it */
        launch_fold(l);
        break;
    case TALLY_VULKAN_FOLD_ROWS:
        tally_vulkan_then(l);
        launch_fold_rows(l);
        break;
    case TALLY_VULKAN_BY_SLABS:
        tally_vulkan_then(l);
        launch_slabs(l);
        break;
    case TALLY_VULKAN_ALONG_ROWS:
    case TALLY_VULKAN_ALONG_COLUMNS:
        tally_vulkan_then(l);
        launch_scan(l);
        break;
    case TALLY_VULKAN_BY_GROUPS:
        tally_vulkan_then(l);
        if (l->cut->once_groups)
            launch_groups_once(l);
        else
            launch_groups(l);
        break;
    case TALLY_VULKAN_BY_SEGMENTS:
    case TALLY_VULKAN_IN_TILES:
        tally_vulkan_then(l);
        launch_segments(l);
        break;
    case TALLY_VULKAN_EXACTLY:
        tally_vulkan_then(l);
        tally_vulkan_exact_launch(l);
        break;
    case TALLY_VULKAN_PREFIXES:
        tally_vulkan_then(l);
        tally_vulkan_exact_scan_launch(l);
        break;
    default:
        break;
    }
}

/* ---- pieces ---- */

static arguments totals_arguments(const tally_vulkan_plan *plan, uint64_t count) {
    return (arguments){.columns = count,
                       .inner = 1,
                       .chunk = 1,
                       .chunks = 1,
                       .types = plan->types,
                       .ddof = plan->gpu.base.computation.desc.ddof,
                       .width = plan->block};
}

void tally_vulkan_clear_totals(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               const void *initial, uint64_t count) {
    arguments a = totals_arguments(plan, count);
    const bool scans = plan->kernels[TALLY_VULKAN_SPINE] != VK_NULL_HANDLE;
    a.total = totals;
    a.initial = tally_vulkan_address(initial);
    a.chunks = scans ? 0 : 1;
    tally_vulkan_dispatch_panels(plan, buffer, scans ? plan->kernels[TALLY_VULKAN_SPINE] : plan->fold_slots, &a);
}

void tally_vulkan_lower_totals(const tally_vulkan_plan *plan, VkCommandBuffer buffer, VkDeviceAddress totals,
                               uint64_t count, uint64_t elements, void *out) {
    arguments a = totals_arguments(plan, count);
    a.x = totals;
    a.out_at = tally_vulkan_address(out);
    a.extent = 1;
    a.before = elements - 1;
    tally_vulkan_dispatch_panels(plan, buffer, plan->fold_slots, &a);
}
