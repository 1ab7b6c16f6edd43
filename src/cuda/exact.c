#include "cuda/exact.h"

#include "core/arithmetic.h"

#include "exact/superaccumulator.h"

extern const char tally_cuda_kernels_exact[], tally_cuda_kernels_exact_levels[], tally_cuda_kernels_exact_tiles[],
    tally_cuda_kernels_exact_round[], tally_cuda_kernels_exact_rows[], tally_cuda_kernels_exact_groups[],
    tally_cuda_kernels_exact_keys[], tally_cuda_kernels_exact_pieces[];

enum {
    KEY_CHUNK = 256, /* keys whose runs one warp adds */
    LONG_ROW = 8192, /* rows from here on are shared by blocks */
    ROW_BLOCKS = 2, /* a multiprocessor, for which registers must do. With 4 the compiler spilled and f32 took 2.6 times
                       as long; sums of 16-bit types stay within that, and need as many to hide their loads. */
    NARROW_ROW_BLOCKS = 4,
    WARPS = TALLY_CUDA_BLOCK / 32
};

/* ---- what the kernels are told ---- */

typedef struct exact_format {
    int significand, levels, product_levels; /* bits of an element; levels of exact.cu's windows */
    int lowest, bits;                        /* as an output: the smallest subnormal is 2^lowest */
    unsigned long long infinity, nan, one;
} exact_format;

static const exact_format formats[] = {
    [TALLY_F16] = {11, 1, 2, -24, 16, 0x7c00, 0x7e00, 0x3c00},
    [TALLY_BF16] = {8, 2, 2, -133, 16, 0x7f80, 0x7fc0, 0x3f80},
    [TALLY_F32] = {24, 2, 2, -149, 32, 0x7f800000, 0x7fc00000, 0x3f800000},
    [TALLY_F64] = {53, 3, 4, -1074, 64, 0x7ff0000000000000, 0x7ff8000000000000, 0x3ff0000000000000},
};

enum { FINISH_SUM, FINISH_MEAN, FINISH_ROOT };

static int finish_of(tally_op op) {
    return op == TALLY_MEAN ? FINISH_MEAN : op == TALLY_NORM2 ? FINISH_ROOT : FINISH_SUM;
}

static int limbs_of(const tally_computation *c) {
    return tally_layout_limbs(tally_exact_layout_of(c->desc.in, c->monoid != TALLY_MONOID_sum));
}

unsigned tally_cuda_exact_slot_bytes(const tally_computation *c) {
    return (unsigned)((size_t)limbs_of(c) * sizeof(int64_t) + 2 * sizeof(uint32_t));
}

/* Of 16 bytes each, that a lane loads at a time. */
static unsigned vectors_of(const tally_computation *c) {
    return c->in_bytes == 2 || c->monoid == TALLY_MONOID_dot ? 2 : 4;
}

void tally_cuda_exact_choices(tally_text *text, const tally_computation *c) {
    const exact_format *in = &formats[c->desc.in], *out = &formats[c->desc.out];
    const bool products = c->monoid != TALLY_MONOID_sum;
    const struct {
        const char *name;
        unsigned long long value;
    } choices[] = {{"PRODUCTS", !products                         ? 0
                                : c->monoid == TALLY_MONOID_sumsq ? 2
                                                                  : 1},
                   {"LEVELS", (unsigned)(products ? in->product_levels : in->levels)},
                   {"SIGNIFICAND", (unsigned)(products ? 2 * in->significand : in->significand)},
                   {"LIMBS", (unsigned)limbs_of(c)},
                   {"ONE", in->one},
                   {"MINUS_ZERO", 1ULL << (in->bits - 1)},
                   {"FINISH_SUM", FINISH_SUM},
                   {"FINISH_MEAN", FINISH_MEAN},
                   {"FINISH_ROOT", FINISH_ROOT},
                   {"FINISH", (unsigned)finish_of(c->desc.op)},
                   {"OUT_PRECISION", (unsigned)out->significand},
                   {"OUT_BITS", (unsigned)out->bits},
                   {"VECTORS", vectors_of(c)},
                   {"ROW_BLOCKS", c->in_bytes == 2 && !products ? NARROW_ROW_BLOCKS : ROW_BLOCKS},
                   {"KEY_CHUNK", KEY_CHUNK},
                   {"REFUSED_RUNS", TALLY_CUDA_REFUSED_RUNS}};
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        tally_text_print(text, "#define %s %llu\n", choices[k].name, choices[k].value);
    tally_text_print(text, "#define BOTTOM (%d)\n#define OUT_LOWEST (%d)\n",
                     (int)tally_layout_lowest(tally_exact_layout_of(c->desc.in, products)), out->lowest);
    tally_text_print(text, "#define OUT_INFINITY %lluull\n#define OUT_NAN %lluull\n", out->infinity, out->nan);
}

void tally_cuda_exact_kernels(tally_text *text, const tally_computation *c) {
    const tally_grouping grouping = c->desc.grouping;
    tally_text_add(text, tally_cuda_kernels_exact);
    tally_text_add(text, tally_cuda_kernels_exact_levels);
    tally_text_add(text, tally_cuda_kernels_exact_tiles);
    tally_text_add(text, tally_cuda_kernels_exact_round);
    if (grouping == TALLY_ALL_VALUES || grouping == TALLY_AXIS)
        tally_text_add(text, tally_cuda_kernels_exact_rows);
    if (grouping == TALLY_AXIS || grouping == TALLY_SEGMENTS)
        tally_text_add(text, tally_cuda_kernels_exact_groups);
    if (grouping == TALLY_KEYS)
        tally_text_add(text, tally_cuda_kernels_exact_keys);
    if (grouping == TALLY_ALL_VALUES || grouping == TALLY_AXIS)
        tally_text_add(text, tally_cuda_kernels_exact_pieces);
}

/* ---- cutting ---- */

tally_status tally_cuda_exact_prepare(tally_cuda_plan *plan) {
    int blocks = 0;
    if (!plan->kernels.exact_rows)
        return TALLY_OK;
    tally_status status = tally_cuda_check(plan->device->api->cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                               &blocks, plan->kernels.exact_rows, TALLY_CUDA_BLOCK, 0),
                                           "asking how many thread blocks fit");
    plan->resident = (uint64_t)plan->device->multiprocessors * (uint64_t)blocks;
    return status;
}

static bool has_long_rows(const tally_computation *c, const tally_shape *shape) {
    return c->desc.grouping == TALLY_ALL_VALUES ||
           (c->desc.grouping == TALLY_AXIS && shape->inner == 1 && shape->extent >= LONG_ROW);
}

static uint64_t blocks_a_row(const tally_computation *c, uint64_t resident, uint64_t rows, uint64_t extent) {
    const uint64_t tile = (uint64_t)TALLY_CUDA_BLOCK * vectors_of(c) * 16 / c->in_bytes;
    return most(1, least(divide_up(extent, tile), resident / rows));
}

void tally_cuda_exact_cut(const tally_computation *c, uint64_t resident, const tally_shape *shape,
                          tally_cuda_cut *cut) {
    const tally_grouping grouping = c->desc.grouping;
    cut->groups = grouping == TALLY_AXIS       ? shape->outer * shape->inner
                  : grouping == TALLY_SEGMENTS ? shape->segments
                                               : 1;
    cut->elements = grouping == TALLY_AXIS ? cut->groups * shape->extent : shape->extent;
    if ((grouping == TALLY_AXIS && !cut->groups) || (grouping == TALLY_KEYS && !cut->elements))
        return;
    cut->path = TALLY_CUDA_EXACT;
    if (has_long_rows(c, shape)) {
        cut->exact.blocks = blocks_a_row(c, resident, cut->groups, shape->extent);
        if (cut->exact.blocks > 1)
            cut->partials = tally_cuda_place(cut, cut->groups * tally_cuda_exact_slot_bytes(c));
    } else if (grouping != TALLY_AXIS) {
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    }
    cut->zeroed_bytes = cut->bytes;
    if (grouping == TALLY_KEYS) {
        cut->exact.chunks = divide_up(cut->elements, KEY_CHUNK);
        cut->entries = tally_cuda_place(cut, cut->exact.chunks * sizeof(uint64_t));
    }
}

/* ---- launching ---- */

typedef struct exact_args {
    CUdeviceptr x, y, out, index, keys_out, sums, carry, total, ranks, runs, refused;
    uint64_t rows, extent, inner, blocks, chunks, room;
} exact_args;

enum { MOST_BLOCKS = 64 /* a processor, of warps that take turns */ };

static const char what[] = "launching an exact reduction";

static tally_cuda_grid grid_for(const tally_cuda_launch *l, uint64_t warps) {
    return (tally_cuda_grid){.x = tally_cuda_blocks_for(l->plan->device, warps, WARPS, MOST_BLOCKS),
                             .threads = TALLY_CUDA_BLOCK};
}

static tally_status launch_segments(const tally_cuda_launch *l, exact_args *args) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    uint32_t refuses_empty = 0;
    CUdeviceptr where = l->workspace + l->cut->control + offsetof(tally_cuda_control, not_bad);
    void *check[] = {&args->index, &args->rows, &args->extent, &refuses_empty, &args->refused, &where};
    tally_status status =
        tally_cuda_start(l->plan->device, k->check_segments, grid_for(l, args->rows / 32 + 1), l->stream, check, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->exact_groups, grid_for(l, args->rows), args, what);
    return status;
}

static tally_status launch_keys(const tally_cuda_launch *l, exact_args *args) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    const tally_cuda_grid grid = grid_for(l, args->chunks), one_block = {.x = 1, .threads = TALLY_CUDA_BLOCK};
    tally_status status = tally_cuda_enqueue(l, k->count_heads, grid, args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->rank_heads, one_block, args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->exact_runs, grid, args, what);
    return status;
}

tally_status tally_cuda_exact_launch(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const tally_computation *c = &l->plan->base.computation;
    const tally_grouping grouping = c->desc.grouping;
    const CUdeviceptr control = l->workspace + cut->control;
    const bool grouped = grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS;
    exact_args args = {.x = tally_cuda_address(a->x),
                       .y = tally_cuda_address(a->y),
                       .out = tally_cuda_address(a->out),
                       .index = tally_cuda_address(grouping == TALLY_KEYS ? a->keys : a->offsets),
                       .keys_out = tally_cuda_address(a->keys_out),
                       .sums = l->workspace + cut->partials,
                       .carry = l->pieces.carry,
                       .total = l->pieces.total,
                       .ranks = l->workspace + cut->entries,
                       .runs = control + offsetof(tally_cuda_control, runs),
                       .refused = grouped ? control + offsetof(tally_cuda_control, refused) : 0,
                       .rows = cut->groups,
                       .extent = a->shape.extent,
                       .inner = grouping == TALLY_AXIS ? a->shape.inner : 1,
                       .blocks = cut->exact.blocks,
                       .chunks = cut->exact.chunks,
                       .room = a->out_bytes / c->out_bytes};
    if (grouping == TALLY_KEYS && a->keys_out && a->keys_out_bytes / c->index_bytes < args.room)
        args.room = a->keys_out_bytes / c->index_bytes;
    if (grouping == TALLY_SEGMENTS)
        return launch_segments(l, &args);
    if (grouping == TALLY_KEYS)
        return launch_keys(l, &args);
    if (!cut->exact.blocks)
        return tally_cuda_enqueue(l, l->plan->kernels.exact_groups, grid_for(l, cut->groups), &args, what);
    const tally_cuda_grid grid = {
        .x = cut->exact.blocks, .y = least(cut->groups, TALLY_CUDA_MOST_GRID_Y), .threads = TALLY_CUDA_BLOCK};
    return tally_cuda_enqueue(l, l->plan->kernels.exact_rows, grid, &args, what);
}
