#include "cuda/launch.h"

#include "core/arithmetic.h"
#include "cuda/exact.h"
#include "cuda/groups.h"
#include "cuda/start.h"

/* ---- arguments, as the kernels declare them ---- */

typedef struct destination {
    CUdeviceptr out, carry, total;
    uint64_t count;
} destination;

typedef struct partials_args {
    CUdeviceptr partials;
    destination to;
    uint64_t results, chunks;
} partials_args;

typedef struct reduce_args {
    CUdeviceptr x, y, partials;
    destination to;
    uint64_t rows, extent, chunk, blocks, before;
} reduce_args;

typedef struct scan_args {
    CUdeviceptr x, y, out, index, initial, carry, total;
    uint64_t n, extent, segments, before, tile, tiles;
    CUdeviceptr bits, refused, entries;
} scan_args;

typedef struct narrow_args {
    scan_args tiles;
    CUdeviceptr told;
    uint32_t inner, strands, rows, lanes;
} narrow_args;

typedef struct held_args {
    CUdeviceptr x, y, out, initial, carry, total, sums;
    uint64_t n, before;
} held_args;

typedef struct short_rows_args {
    CUdeviceptr x, y, out;
    uint64_t rows;
    uint32_t extent, lane_bits;
} short_rows_args;

typedef struct tiny_rows_args {
    CUdeviceptr x, y, out;
    uint64_t rows;
    uint32_t extent;
} tiny_rows_args;

typedef struct slabs_args {
    CUdeviceptr x, y, out;
    uint64_t slabs, tiles;
    uint32_t slabs_a_tile, extent, inner, part_bits;
} slabs_args;

typedef struct columns_args {
    CUdeviceptr x, y, partials;
    destination to;
    uint64_t outer, extent, inner, before, panels, chunks, chunk;
    uint32_t width, panel, groups;
} columns_args;

typedef struct scan_columns_args {
    CUdeviceptr x, y, out, initial, partials, carry, total;
    uint64_t outer, extent, inner, chunk, chunks, before, width;
} scan_columns_args;

typedef struct panels_args {
    CUdeviceptr x, y, out, initial, partials, carry, total;
    uint64_t outer, extent, inner, before, panels, chunk, chunks;
    uint32_t panel, strands;
} panels_args;

/* ---- launching ---- */

enum {
    MOST_GRID_Y = 65535,
    MOST_GRID_X = 1 << 30,
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

static destination destination_of(const tally_cuda_launch *l) {
    return (destination){.out = tally_cuda_address(l->args->out),
                         .carry = l->pieces.carry,
                         .total = l->pieces.total,
                         .count = l->pieces.before + l->args->shape.extent};
}

/* Folds what the chunks of rows or columns gave. */
static tally_status launch_partials(const tally_cuda_launch *l, uint64_t chunks) {
    enum { BLOCKS = 2 /* a processor, for many results */, CLUSTER = 8 /* as in reduce.cu */ };
    const tally_cuda_plan *plan = l->plan;
    const uint64_t results = l->cut->rows, most = (uint64_t)plan->device->multiprocessors * BLOCKS;
    partials_args args = {
        .partials = l->workspace + l->cut->partials, .to = destination_of(l), .results = results, .chunks = chunks};
    void *parameters[] = {&args};
    CUfunction kernel =
        l->cut->path == TALLY_CUDA_COLUMNS ? plan->kernels.fold_column_partials : plan->kernels.fold_partials;
    tally_cuda_grid grid = {.x = least(results, most), .y = 1, .threads = TALLY_CUDA_BLOCK, .starts_early = true};
    if (plan->sizes.has_clusters && chunks > TALLY_CUDA_ONE_FOLDS) {
        kernel = plan->kernels.fold_partials_in_cluster;
        grid.x = CLUSTER;
    }
    return tally_cuda_start(plan->device, kernel, grid, l->stream, parameters, "launching the end of a reduction");
}

tally_status tally_cuda_start_together(const tally_cuda_launch *l, CUfunction kernel, unsigned threads, unsigned shared,
                                       void **parameters, const char *what) {
    const tally_cuda_api *api = l->plan->device->api;
    const unsigned grid = (unsigned)l->cut->tile_grid;
    return tally_cuda_check(
        grid > 1 ? api->cuLaunchCooperativeKernel(kernel, grid, 1, 1, threads, 1, 1, shared, l->stream, parameters)
                 : api->cuLaunchKernel(kernel, grid, 1, 1, threads, 1, 1, shared, l->stream, parameters, NULL),
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
                        .partials = l->workspace + cut->partials,
                        .to = destination_of(l),
                        .rows = cut->rows,
                        .extent = a->shape.extent,
                        .chunk = cut->chunk,
                        .blocks = cut->blocks,
                        .before = l->pieces.before};
    void *parameters[] = {&args};
    const tally_cuda_kernels *k = &l->plan->kernels;
    tally_cuda_grid grid = {.x = cut->blocks,
                            .y = least(cut->rows, MOST_GRID_Y),
                            .threads = TALLY_CUDA_BLOCK,
                            .starts_early = cut->starts_early};
    if (cut->in_cluster) {
        grid.threads = l->plan->sizes.cluster_threads;
        return tally_cuda_start(l->plan->device, k->reduce_in_cluster, grid, l->stream, parameters,
                                "launching a reduction in a cluster");
    }
    tally_status status =
        tally_cuda_start(l->plan->device, k->reduce, grid, l->stream, parameters, "launching a reduction");
    if (status == TALLY_OK && cut->blocks > 1)
        status = launch_partials(l, cut->blocks);
    return status;
}

static tally_status launch_short_rows(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    short_rows_args args = {.x = tally_cuda_address(a->x),
                            .y = tally_cuda_address(a->y),
                            .out = tally_cuda_address(a->out),
                            .rows = cut->rows,
                            .extent = (uint32_t)a->shape.extent,
                            .lane_bits = cut->part_bits};
    void *parameters[] = {&args};
    return start(l->plan, l->plan->kernels.fold_short_rows, cut->blocks, 1, l->stream, parameters,
                 "launching a reduction of short rows");
}

static tally_status launch_tiny_rows(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    const uint64_t at_once = (uint64_t)TALLY_CUDA_BLOCK * l->plan->sizes.vector;
    tiny_rows_args args = {.x = tally_cuda_address(a->x),
                           .y = tally_cuda_address(a->y),
                           .out = tally_cuda_address(a->out),
                           .rows = l->cut->rows,
                           .extent = (uint32_t)a->shape.extent};
    void *parameters[] = {&args};
    return start(l->plan, l->plan->kernels.fold_tiny_rows, (l->cut->rows + at_once - 1) / at_once, 1, l->stream,
                 parameters, "launching a reduction of tiny rows");
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
                         .partials = l->workspace + cut->partials,
                         .to = destination_of(l),
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
    tally_status status =
        start(l->plan, cut->is_thin ? k->fold_thin_columns : k->fold_columns, parts < MOST_GRID_X ? parts : MOST_GRID_X,
              1, l->stream, parameters, "launching a reduction of columns");
    if (status == TALLY_OK && cut->column_chunks > 1)
        status = launch_partials(l, cut->column_chunks);
    return status;
}

static scan_columns_args columns_scan(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    return (scan_columns_args){.x = tally_cuda_address(a->x),
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
}

/* Makes the sums of chunks those of all chunks before. */
static tally_status launch_scan_of_sums(const tally_cuda_launch *l, const scan_columns_args *args) {
    uint64_t sharing = args->chunks > MANY_CHUNKS ? TALLY_CUDA_BLOCK : 32; /* threads a column */
    void *parameters[] = {(void *)args};
    return start(l->plan, l->plan->kernels.scan_stretches, blocks_for(l->plan, l->cut->columns * sharing), 1, l->stream,
                 parameters, "launching a scan of their sums");
}

static tally_status launch_stretches(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_cuda_kernels *k = &l->plan->kernels;
    scan_columns_args args = columns_scan(l);
    void *parameters[] = {&args};
    uint64_t stretches = blocks_for(l->plan, cut->columns / cut->width * cut->column_chunks);
    tally_status status = TALLY_OK;
    if (cut->column_chunks > 1)
        status = start(l->plan, k->sum_stretches, stretches, 1, l->stream, parameters, "launching sums of stretches");
    if (status == TALLY_OK && cut->column_chunks > 1)
        status = launch_scan_of_sums(l, &args);
    if (status == TALLY_OK)
        status = start(l->plan, k->scan_columns, stretches, 1, l->stream, parameters, "launching a scan of columns");
    return status;
}

static tally_status start_panels(const tally_cuda_launch *l, CUfunction kernel, void **parameters, const char *what) {
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    return tally_cuda_check(l->plan->device->api->cuLaunchKernel(kernel, (unsigned)l->cut->blocks, 1, 1,
                                                                 sizes->scan.panel_threads, 1, 1, sizes->scan.shared,
                                                                 l->stream, parameters, NULL),
                            what);
}

static tally_status launch_panels(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    scan_columns_args columns = columns_scan(l);
    panels_args args = {.x = columns.x,
                        .y = columns.y,
                        .out = columns.out,
                        .initial = columns.initial,
                        .partials = columns.partials,
                        .carry = columns.carry,
                        .total = columns.total,
                        .outer = columns.outer,
                        .extent = columns.extent,
                        .inner = columns.inner,
                        .before = columns.before,
                        .panels = cut->panels,
                        .chunk = cut->stretch,
                        .chunks = cut->column_chunks,
                        .panel = cut->panel,
                        .strands = cut->groups};
    void *parameters[] = {&args};
    tally_status status = TALLY_OK;
    if (args.chunks > 1)
        status = start_panels(l, l->plan->kernels.sum_panels, parameters, "launching sums of panels");
    if (status == TALLY_OK && args.chunks > 1)
        status = launch_scan_of_sums(l, &columns);
    if (status == TALLY_OK)
        status = start_panels(l, l->plan->kernels.scan_panels, parameters, "launching a scan of panels");
    return status;
}

/* As offset_bits.cu declares it. */
typedef struct offset_marks {
    CUdeviceptr offsets;
    uint64_t segments, n;
    CUdeviceptr bits;
} offset_marks;

/* Offsets are checked, and where segments begin is marked. */
static tally_status mark_offsets(const tally_cuda_launch *l) {
    enum { LOOKS = 16 /* offsets a thread */, BLOCKS = 8 /* a processor, of threads that take turns */ };
    CUdeviceptr control = l->workspace + l->cut->control;
    CUdeviceptr refused = control + offsetof(tally_cuda_control, refused);
    CUdeviceptr where = control + offsetof(tally_cuda_control, not_bad);
    const uint64_t most = (uint64_t)l->plan->device->multiprocessors * BLOCKS;
    const uint64_t blocks = blocks_for(l->plan, l->args->shape.segments / LOOKS + 1);
    offset_marks marks = {.offsets = tally_cuda_address(l->args->offsets),
                          .segments = l->args->shape.segments,
                          .n = l->cut->elements,
                          .bits = l->workspace + l->cut->bits};
    void *parameters[] = {&marks, &refused, &where};
    return start(l->plan, l->plan->kernels.mark_offsets, blocks < most ? blocks : most, 1, l->stream, parameters,
                 "launching the check of offsets");
}

static scan_args scan_of(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const bool segments = l->plan->base.computation.desc.grouping == TALLY_SEGMENTS;
    return (scan_args){.x = tally_cuda_address(a->x),
                       .y = tally_cuda_address(a->y),
                       .out = tally_cuda_address(a->out),
                       .index = tally_cuda_address(segments ? a->offsets : a->keys),
                       .initial = tally_cuda_address(a->initial),
                       .carry = l->pieces.carry,
                       .total = l->pieces.total,
                       .n = cut->elements,
                       .extent = a->shape.extent,
                       .segments = a->shape.segments,
                       .before = l->pieces.before,
                       .tile = cut->tile,
                       .tiles = cut->tiles,
                       .bits = segments ? l->workspace + cut->bits : 0,
                       .refused = segments ? l->workspace + cut->control + offsetof(tally_cuda_control, refused) : 0,
                       .entries = l->workspace + cut->entries};
}

static tally_status launch_scan(const tally_cuda_launch *l) {
    const tally_cuda_sizes *sizes = &l->plan->sizes;
    scan_args args = scan_of(l);
    void *parameters[] = {&args};
    tally_status status = TALLY_OK;
    if (args.refused)
        status = mark_offsets(l);
    if (status == TALLY_OK)
        status = tally_cuda_start_together(l, l->plan->kernels.scan, sizes->scan.threads, sizes->scan.shared,
                                           parameters, "launching a scan");
    return status;
}

static tally_status launch_narrow(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    narrow_args args = {.tiles = scan_of(l),
                        .told = l->workspace + cut->told,
                        .inner = (uint32_t)cut->columns,
                        .strands = cut->groups,
                        .rows = (uint32_t)cut->stretch,
                        .lanes = cut->width};
    void *parameters[] = {&args};
    return tally_cuda_start_together(l, l->plan->kernels.scan_narrow, l->plan->sizes.scan.narrow_threads,
                                     l->plan->sizes.scan.shared, parameters, "launching a scan of a narrow array");
}

static tally_status launch_held(const tally_cuda_launch *l) {
    const tally_cuda_cut *cut = l->cut;
    const tally_args *a = l->args;
    const bool sums_first = cut->blocks > 1 && !cut->in_cluster;
    const tally_cuda_grid grid = {.x = cut->blocks,
                                  .threads = cut->threads,
                                  .cluster = cut->in_cluster ? (unsigned)cut->blocks : 0,
                                  .starts_early = true};
    held_args args = {.x = tally_cuda_address(a->x),
                      .y = tally_cuda_address(a->y),
                      .initial = tally_cuda_address(a->initial),
                      .carry = l->pieces.carry,
                      .total = l->pieces.total,
                      .sums = sums_first ? l->workspace + cut->partials : 0,
                      .n = cut->elements,
                      .before = l->pieces.before};
    void *parameters[] = {&args};
    tally_status status = TALLY_OK;
    if (sums_first)
        status = tally_cuda_start(l->plan->device, l->plan->kernels.scan_held, grid, l->stream, parameters,
                                  "launching the sums of a scan");
    args.out = tally_cuda_address(a->out);
    if (status == TALLY_OK)
        status = tally_cuda_start(l->plan->device, l->plan->kernels.scan_held, grid, l->stream, parameters,
                                  "launching a scan");
    return status;
}

tally_status tally_cuda_launch_all(const tally_cuda_launch *l) {
    tally_status status = zero(l);
    if (status != TALLY_OK)
        return status;
    switch (l->cut->path) {
    case TALLY_CUDA_ROWS:
        return launch_rows(l);
    case TALLY_CUDA_SCAN:
        return launch_scan(l);
    case TALLY_CUDA_HELD:
        return launch_held(l);
    case TALLY_CUDA_GROUPS:
        return tally_cuda_groups_launch(l);
    case TALLY_CUDA_SHORT_ROWS:
        return launch_short_rows(l);
    case TALLY_CUDA_TINY_ROWS:
        return launch_tiny_rows(l);
    case TALLY_CUDA_SLABS:
        return launch_slabs(l);
    case TALLY_CUDA_COLUMNS:
        return launch_columns(l);
    case TALLY_CUDA_STRETCHES:
        return launch_stretches(l);
    case TALLY_CUDA_PANELS:
        return launch_panels(l);
    case TALLY_CUDA_NARROW:
        return launch_narrow(l);
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
