#include "cuda/launch.h"

#include "cuda/exact.h"
#include "cuda/groups.h"

/* ---- arguments, as the kernels declare them ---- */

typedef struct reduce_args {
    CUdeviceptr x, y, out, partials, arrived, carry, total;
    uint64_t rows, extent, chunk, blocks, before;
} reduce_args;

typedef struct tiles_args {
    CUdeviceptr x, y, out, index, keys_out, initial, carry, total;
    uint64_t n, extent, segments, before, tile, tiles;
    CUdeviceptr first_segment, runs, refused, entries;
} tiles_args;

typedef struct slabs_args {
    CUdeviceptr x, y, out;
    uint64_t slabs, tiles;
    uint32_t slabs_a_tile, extent, inner, part_bits;
} slabs_args;

typedef struct columns_args {
    CUdeviceptr x, y, out, partials, arrived, carry, total;
    uint64_t outer, extent, inner, before, panels, chunks, chunk;
    uint32_t width, panel, groups;
} columns_args;

typedef struct scan_columns_args {
    CUdeviceptr x, y, out, initial, partials, carry, total;
    uint64_t outer, extent, inner, chunk, chunks, before, width;
} scan_columns_args;

/* ---- launching ---- */

enum {
    MOST_GRID_Y = 65535,
    MOST_GRID_X = 1 << 30,
    THIN_BLOCKS = 4 /* a processor */,
    MANY_CHUNKS = 256 /* as in scan_columns.cu */
};

static uint64_t blocks_for(const tally_cuda_plan *plan, uint64_t threads) {
    uint64_t blocks = threads / TALLY_CUDA_BLOCK + (threads % TALLY_CUDA_BLOCK != 0);
    uint64_t most = (uint64_t)plan->device->multiprocessors * 64;
    return blocks < 1 ? 1 : blocks < most ? blocks : most;
}

static tally_status start(const tally_cuda_plan *plan, CUfunction kernel, uint64_t grid_x, uint64_t grid_y,
                          CUstream stream, void **parameters, const char *what) {
    return tally_cuda_check(plan->device->api->cuLaunchKernel(kernel, (unsigned)grid_x, (unsigned)grid_y, 1,
                                                              TALLY_CUDA_BLOCK, 1, 1, 0, stream, parameters, NULL),
                            what);
}

static tally_status zero(const tally_cuda_launch *l) {
    if (!l->cut->zeroed_bytes)
        return TALLY_OK;
    return tally_cuda_check(
        l->plan->device->api->cuMemsetD32Async(l->workspace, 0, l->cut->zeroed_bytes / 4, l->stream),
        "clearing the workspace");
}

static tally_status launch_rows(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    reduce_args args = {.x = tally_cuda_address(a->x),
                        .y = tally_cuda_address(a->y),
                        .out = tally_cuda_address(a->out),
                        .partials = l->workspace + cut->partials,
                        .arrived = l->workspace + cut->arrived,
                        .carry = l->pieces.carry,
                        .total = l->pieces.total,
                        .rows = cut->rows,
                        .extent = a->shape.extent,
                        .chunk = cut->chunk,
                        .blocks = cut->blocks,
                        .before = l->pieces.before};
    void *parameters[] = {&args};
    uint64_t rows = cut->rows < MOST_GRID_Y ? cut->rows : MOST_GRID_Y;
    return start(l->plan, l->plan->kernels.reduce, cut->blocks, rows, l->stream, parameters, "launching a reduction");
}

static tally_status launch_slabs(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    slabs_args args = {.x = tally_cuda_address(a->x),
                       .y = tally_cuda_address(a->y),
                       .out = tally_cuda_address(a->out),
                       .slabs = a->shape.outer,
                       .tiles = cut->tiles,
                       .slabs_a_tile = (uint32_t)cut->slabs_a_tile,
                       .extent = (uint32_t)a->shape.extent,
                       .inner = (uint32_t)a->shape.inner,
                       .part_bits = cut->part_bits};
    void *parameters[] = {&args};
    return start(l->plan, l->plan->kernels.fold_slabs, cut->slab_grid, 1, l->stream, parameters,
                 "launching a reduction of slabs");
}

static tally_status launch_columns(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    columns_args args = {.x = tally_cuda_address(a->x),
                         .y = tally_cuda_address(a->y),
                         .out = tally_cuda_address(a->out),
                         .partials = l->workspace + cut->partials,
                         .arrived = l->workspace + cut->arrived,
                         .carry = l->pieces.carry,
                         .total = l->pieces.total,
                         .outer = a->shape.outer,
                         .extent = a->shape.extent,
                         .inner = a->shape.inner,
                         .before = l->pieces.before,
                         .panels = cut->panels,
                         .chunk = cut->stretch,
                         .chunks = cut->column_chunks,
                         .width = cut->width,
                         .panel = cut->panel,
                         .groups = cut->groups};
    void *parameters[] = {&args};
    const tally_cuda_kernels *k = &l->plan->kernels;
    uint64_t parts = a->shape.outer * cut->panels * cut->column_chunks;
    uint64_t most = cut->is_thin ? (uint64_t)l->plan->device->multiprocessors * THIN_BLOCKS : MOST_GRID_X;
    return start(l->plan, cut->is_thin ? k->fold_thin_columns : k->fold_columns, parts < most ? parts : most, 1,
                 l->stream, parameters, "launching a reduction of columns");
}

static tally_status launch_stretches(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const tally_cuda_kernels *k = &l->plan->kernels;
    scan_columns_args args = {.x = tally_cuda_address(a->x),
                              .y = tally_cuda_address(a->y),
                              .out = tally_cuda_address(a->out),
                              .initial = tally_cuda_address(a->initial),
                              .partials = l->workspace + cut->partials,
                              .carry = l->pieces.carry,
                              .total = l->pieces.total,
                              .outer = a->shape.outer,
                              .extent = a->shape.extent,
                              .inner = a->shape.inner,
                              .chunk = cut->stretch,
                              .chunks = cut->column_chunks,
                              .before = l->pieces.before,
                              .width = cut->width};
    void *parameters[] = {&args};
    uint64_t stretches = blocks_for(l->plan, cut->columns / cut->width * cut->column_chunks);
    uint64_t sharing = cut->column_chunks > MANY_CHUNKS ? TALLY_CUDA_BLOCK : 32; /* threads a column */
    tally_status status = TALLY_OK;
    if (cut->column_chunks > 1)
        status = start(l->plan, k->sum_stretches, stretches, 1, l->stream, parameters, "launching sums of stretches");
    if (status == TALLY_OK && cut->column_chunks > 1)
        status = start(l->plan, k->scan_stretches, blocks_for(l->plan, cut->columns * sharing), 1, l->stream,
                       parameters, "launching a scan of their sums");
    if (status == TALLY_OK)
        status = start(l->plan, k->scan_columns, stretches, 1, l->stream, parameters, "launching a scan of columns");
    return status;
}

static tally_status check_offsets(const tally_cuda_launch *l, const tiles_args *args) {
    uint32_t refuses_empty = 0; /* an empty segment of a scan has no results */
    CUdeviceptr where = l->workspace + l->cut->control + offsetof(tally_cuda_control, not_bad);
    void *check[] = {(void *)&args->index, (void *)&args->segments, (void *)&args->n,
                     &refuses_empty,       (void *)&args->refused,  &where};
    tally_status status = start(l->plan, l->plan->kernels.check_segments, blocks_for(l->plan, args->segments + 1), 1,
                                l->stream, check, "launching the check of offsets");
    void *place[] = {(void *)&args->index, (void *)&args->segments,      (void *)&args->n,      (void *)&args->tile,
                     (void *)&args->tiles, (void *)&args->first_segment, (void *)&args->refused};
    if (status == TALLY_OK)
        status = start(l->plan, l->plan->kernels.place_segments, blocks_for(l->plan, l->cut->tiles), 1, l->stream,
                       place, "launching the search for segments");
    return status;
}

static tally_status launch_tiles(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    tally_grouping grouping = l->plan->base.computation.desc.grouping;
    CUdeviceptr control = l->workspace + cut->control;
    tiles_args args = {.x = tally_cuda_address(a->x),
                       .y = tally_cuda_address(a->y),
                       .out = tally_cuda_address(a->out),
                       .index = tally_cuda_address(grouping == TALLY_KEYS ? a->keys : a->offsets),
                       .keys_out = tally_cuda_address(a->keys_out),
                       .initial = tally_cuda_address(a->initial),
                       .carry = l->pieces.carry,
                       .total = l->pieces.total,
                       .n = cut->elements,
                       .extent = a->shape.extent,
                       .segments = a->shape.segments,
                       .before = l->pieces.before,
                       .tile = cut->tile,
                       .tiles = cut->tiles,
                       .first_segment = l->workspace + cut->first_segment,
                       .runs = control + offsetof(tally_cuda_control, runs),
                       .refused = control + offsetof(tally_cuda_control, refused),
                       .entries = l->workspace + cut->entries};
    tally_status status = TALLY_OK;
    if (grouping == TALLY_SEGMENTS)
        status = check_offsets(l, &args);
    void *parameters[] = {&args};
    if (status != TALLY_OK)
        return status;
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    return tally_cuda_check(l->plan->device->api->cuLaunchCooperativeKernel(
                                l->plan->kernels.scan_tiles, (unsigned)cut->tile_grid, 1, 1, sizes->tile_threads + 32,
                                1, 1, sizes->tile_shared, l->stream, parameters),
                            "launching a scan of tiles");
}

tally_status tally_cuda_launch_all(const tally_cuda_launch *l) {
    tally_status status = zero(l);
    if (status != TALLY_OK)
        return status;
    switch (l->cut->path) {
    case TALLY_CUDA_ROWS:
        return launch_rows(l);
    case TALLY_CUDA_TILES:
        return launch_tiles(l);
    case TALLY_CUDA_GROUPS:
        return tally_cuda_groups_launch(l);
    case TALLY_CUDA_SLABS:
        return launch_slabs(l);
    case TALLY_CUDA_COLUMNS:
        return launch_columns(l);
    case TALLY_CUDA_STRETCHES:
        return launch_stretches(l);
    case TALLY_CUDA_EXACT:
        return tally_cuda_exact_launch(l);
    default:
        return TALLY_OK;
    }
}

/* ---- pieces ---- */

static tally_status wait_for(const tally_cuda_plan *plan, tally_status status) {
    if (status != TALLY_OK)
        return status;
    return tally_cuda_check(plan->device->api->cuStreamSynchronize(plan->device->stream), "waiting for the device");
}

tally_status tally_cuda_clear_totals(tally_cuda_plan *plan, CUdeviceptr totals, const void *initial, uint64_t count) {
    CUdeviceptr from = tally_cuda_address(initial);
    void *parameters[] = {&totals, &from, &count};
    return wait_for(plan, start(plan, plan->kernels.clear_totals, blocks_for(plan, count), 1, plan->device->stream,
                                parameters, "launching the start of pieces"));
}

tally_status tally_cuda_lower_totals(tally_cuda_plan *plan, CUdeviceptr totals, uint64_t count, uint64_t elements,
                                     void *out) {
    CUdeviceptr to = tally_cuda_address(out);
    void *parameters[] = {&totals, &count, &elements, &to};
    return wait_for(plan, start(plan, plan->kernels.lower_totals, blocks_for(plan, count), 1, plan->device->stream,
                                parameters, "launching the end of pieces"));
}
