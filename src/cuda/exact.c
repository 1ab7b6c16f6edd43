#include "cuda/exact.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/status.h"
#include "cuda/accumulator.h"
#include "cuda/group_words.h"
#include "cuda/marks.h"
#include "gpu/plan.h"

enum {
    LONG_ROW = 8192, /* from this many elements on thread blocks share a row; one warp has a shorter row */
    WARPS = TALLY_CUDA_BLOCK / 32,
    SAW_MINUS_ZERO = 16 /* of exact_scan.cu */
};

/* ---- cutting ---- */

static bool has_long_rows(const tally_computation *c, const tally_shape *shape) {
    return c->desc.grouping == TALLY_ALL_VALUES ||
           (c->desc.grouping == TALLY_AXIS && shape->inner == 1 && shape->extent >= LONG_ROW);
}

static uint64_t blocks_a_row(const tally_computation *c, const tally_cuda_sizes *sizes, uint64_t resident,
                             uint64_t rows, uint64_t extent) {
    const uint64_t tile = (uint64_t)TALLY_CUDA_BLOCK * sizes->exact.vectors * 16 / c->in_bytes;
    return most(1, least(divide_up(extent, tile), resident / rows));
}

void tally_cuda_exact_cut(tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_computation *c = &plan->gpu.base.computation;
    const tally_cuda_sizes *sizes = &plan->sizes;
    const tally_grouping grouping = c->desc.grouping;
    cut->groups = grouping == TALLY_AXIS ? shape->outer * shape->inner : grouping == TALLY_SEGMENTS ? shape->groups : 1;
    cut->elements = grouping == TALLY_AXIS ? cut->groups * shape->extent : shape->extent;
    if ((grouping == TALLY_AXIS && !cut->groups) || (grouping == TALLY_KEYS && !cut->elements))
        return;
    cut->path = TALLY_CUDA_EXACT;
    if (c->takes_words) {
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
        cut->zeroed_bytes = cut->bytes;
        if (grouping == TALLY_KEYS)
            tally_cuda_list_runs_cut(sizes, shape, cut);
        return;
    }
    if (has_long_rows(c, shape)) {
        const uint64_t resident = tally_cuda_resident(plan, plan->kernels.exact_rows, TALLY_CUDA_BLOCK, NULL);
        cut->exact.blocks = blocks_a_row(c, sizes, resident, cut->groups, shape->extent);
        if (cut->exact.blocks > 1)
            cut->partials = tally_cuda_place(cut, cut->groups * sizes->slot_bytes);
        cut->early_bytes = cut->bytes;
        return;
    }
    if (grouping != TALLY_AXIS)
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    cut->zeroed_bytes = cut->bytes;
    if (grouping == TALLY_KEYS)
        tally_cuda_heads_cut(sizes, shape, cut);
}

/* ---- states ---- */

/* struct row_sum of exact.cu. */
static void put_limbs(const tally_superaccumulator *sums, int count, uint32_t saw, char *to) {
    for (int k = 0; k < count; k++) {
        const size_t bytes = (size_t)sums[k].limb_count * sizeof *sums->limbs;
        memcpy(to, sums[k].limbs, bytes);
        to += bytes;
    }
    memcpy(to, &saw, sizeof saw);
}

/* 32 bits of a sum whose carries are settled, from bit 'at' of limb 0 on. */
static uint32_t bits_from(const tally_superaccumulator *sum, int at) {
    const int first = at >= 0 ? at / 32 : -((31 - at) / 32), top = sum->end - 1;
    uint64_t both = 0;
    for (int i = first + 1; i >= first; i--) {
        const int above = i > top ? i - top : 0;
        const int64_t limb = i < 0 || top < 0 ? 0 : sum->limbs[i > top ? top : i] >> (above > 1 ? 63 : 32 * above);
        both = both << 32 | (uint32_t)limb;
    }
    return (uint32_t)(both >> (at - 32 * first));
}

/* struct acc_t of exact_scan.cu: the sum in two's complement. Its type may be too narrow for made-up words. */
static tally_status put_scan(const tally_computation *c, const tally_superaccumulator *sum, uint32_t saw, char *to) {
    const tally_cuda_scan_integer integer = tally_cuda_scan_integer_of(c);
    const int end = (int)integer.words, up = sum->lowest - integer.lowest;
    uint32_t words[TALLY_LIMBS_MAX], left_over = 0;
    for (int at = 0; at < -up; at += 32)
        left_over |= bits_from(sum, at) << (at + 32 > -up ? at + 32 + up : 0);
    for (int w = 0; w < end; w++)
        words[w] = bits_from(sum, 32 * w - up);
    const uint32_t sign = words[end - 1] >> 31 ? ~0u : 0;
    for (int w = end; 32 * w - up < 32 * sum->end + 32; w++)
        left_over |= bits_from(sum, 32 * w - up) ^ sign;
    if (left_over)
        return tally_fail(TALLY_BAD_STATE, "words of a sum that CUDA's scans of %s do not hold",
                          tally_dtype_name(c->desc.in));
    memcpy(to, words, integer.words * sizeof *words);
    if (sum->count && !sum->others)
        saw |= SAW_MINUS_ZERO;
    memcpy(to + integer.words * sizeof *words, &saw, sizeof saw);
    return TALLY_OK;
}

tally_status tally_cuda_put_exact(const tally_computation *c, const tally_superaccumulator *sums, int count,
                                  uint32_t saw, char *to) {
    if (tally_is_scan(c))
        return put_scan(c, sums, saw, to);
    put_limbs(sums, count, saw, to);
    return TALLY_OK;
}

void tally_cuda_add_scans(const tally_computation *c, const void *from, void *to) {
    const uint32_t words = tally_cuda_scan_integer_of(c).words;
    const uint32_t *const other = from;
    uint32_t *const sum = to;
    uint64_t carry = 0;
    for (uint32_t w = 0; w < words; w++) {
        carry += (uint64_t)sum[w] + other[w];
        sum[w] = (uint32_t)carry;
        carry >>= 32;
    }
    sum[words] |= other[words]; /* saw */
}

/* ---- launching ---- */

enum { MOST_BLOCKS = 64 /* for each multiprocessor; their warps take turns */ };

static const char what[] = "launching an exact reduction";

static tally_cuda_grid grid_for(const tally_cuda_launch *l, uint64_t warps) {
    return (tally_cuda_grid){.x = tally_cuda_blocks_for(l->plan->device, warps, WARPS, MOST_BLOCKS),
                             .threads = TALLY_CUDA_BLOCK};
}

static tally_status launch_segments(const tally_cuda_launch *l, tally_cuda_exact_args *args) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    tally_status status = tally_cuda_check_offsets(l, false);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->exact_groups, grid_for(l, args->rows), args, what);
    return status;
}

static tally_status launch_keys(const tally_cuda_launch *l, const tally_cuda_exact_args *sums) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_cuda_grid grid = grid_for(l, divide_up(l->args->shape.extent, l->plan->sizes.heads_chunk));
    tally_cuda_exact_runs_args args = {.sums = *sums, .heads = tally_cuda_heads_of(l)};
    const tally_status status = tally_cuda_rank_heads(l, &args.heads);
    return status == TALLY_OK ? tally_cuda_enqueue(l, k->exact_runs, grid, &args, what) : status;
}

static tally_status launch_words(const tally_cuda_launch *l) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_args *a = l->args;
    const CUdeviceptr control = l->workspace + l->cut->control;
    const tally_grouping grouping = l->plan->gpu.base.computation.desc.grouping;
    const uint64_t groups = grouping == TALLY_KEYS ? a->shape.extent : l->cut->groups;
    tally_cuda_words_args args = {.x = tally_cuda_address(a->x),
                                  .out = tally_cuda_address(a->out),
                                  .refused = control + offsetof(tally_cuda_control, refused),
                                  .where = control + offsetof(tally_cuda_control, not_bad),
                                  .groups = tally_cuda_group_offsets_of(l),
                                  .rows = l->cut->groups,
                                  .extent = a->shape.extent,
                                  .inner = grouping == TALLY_AXIS ? a->shape.inner : 1};
    const uint64_t states = grouping >= TALLY_SEGMENTS ? args.extent : args.rows * args.extent;
    tally_status status = grouping == TALLY_SEGMENTS ? tally_cuda_check_offsets(l, false)
                          : grouping == TALLY_KEYS   ? tally_cuda_list_runs(l)
                                                     : TALLY_OK;
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->check_words, grid_for(l, states), &args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->join_words, grid_for(l, groups), &args, what);
    return status;
}

tally_status tally_cuda_exact_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const tally_computation *c = &l->plan->gpu.base.computation;
    if (c->takes_words)
        return launch_words(l);
    const tally_grouping grouping = c->desc.grouping;
    const CUdeviceptr control = l->workspace + cut->control;
    const bool grouped = grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS;
    tally_cuda_exact_args args = {.x = tally_cuda_address(a->x),
                                  .y = tally_cuda_address(a->y),
                                  .out = tally_cuda_address(a->out),
                                  .keys_out = tally_cuda_address(a->keys_out),
                                  .sums = l->workspace + cut->partials,
                                  .carry = l->pieces.carry,
                                  .total = l->pieces.total,
                                  .refused = grouped ? control + offsetof(tally_cuda_control, refused) : 0,
                                  .rows = cut->groups,
                                  .extent = a->shape.extent,
                                  .inner = grouping == TALLY_AXIS ? a->shape.inner : 1,
                                  .blocks = cut->exact.blocks};
    if (grouping == TALLY_SEGMENTS)
        args.offsets = tally_cuda_address(a->offsets);
    if (grouping == TALLY_SEGMENTS)
        return launch_segments(l, &args);
    if (grouping == TALLY_KEYS)
        return launch_keys(l, &args);
    if (!cut->exact.blocks)
        return tally_cuda_enqueue(l, l->plan->kernels.exact_groups, grid_for(l, cut->groups), &args, what);
    const tally_cuda_grid grid = {.x = cut->exact.blocks,
                                  .y = least(cut->groups, TALLY_CUDA_MOST_GRID_Y),
                                  .threads = TALLY_CUDA_BLOCK,
                                  .starts_early = cut->exact.blocks > 1};
    const tally_status status = cut->exact.blocks > 1 ? tally_cuda_clear_early(l) : TALLY_OK;
    return status == TALLY_OK ? tally_cuda_enqueue(l, l->plan->kernels.exact_rows, grid, &args, what) : status;
}
