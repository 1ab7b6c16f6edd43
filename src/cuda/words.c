#include "cuda/words.h"

#include <stddef.h>

#include "core/arithmetic.h"
#include "cuda/launch.h"
#include "cuda/path.h"

enum { BLOCKS = 64 /* for each multiprocessor at most; their threads take turns */ };

static const char what[] = "launching the kernels of words";

static tally_cuda_plan *plan_of_states(const tally_cuda_plan *plan) {
    return (tally_cuda_plan *)plan->states;
}

/* ---- cutting ---- */

/* One of the outer groups at a time, as pieces are. */
static tally_shape shape_of_states(const tally_cuda_plan *plan, const tally_shape *shape) {
    const bool is_axis = plan->gpu.base.computation.desc.grouping == TALLY_AXIS;
    return (tally_shape){1, shape->extent, is_axis ? shape->inner : 1, 0};
}

static uint64_t outer_of(const tally_cuda_plan *plan, const tally_shape *shape) {
    return plan->gpu.base.computation.desc.grouping == TALLY_AXIS ? shape->outer : 1;
}

static void cut_states(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    tally_cuda_cut_make(plan_of_states(plan), shape, cut);
}

void tally_cuda_words_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    const tally_shape one = shape_of_states(plan, shape);
    *cut = (tally_cuda_cut){.groups = outer_of(plan, shape) * one.inner};
    cut->elements = cut->groups * shape->extent;
    if (!cut->groups)
        return;
    cut->path = TALLY_CUDA_WORDS;
    if (!plan->states) {
        cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
        cut->zeroed_bytes = cut->bytes;
        return;
    }
    tally_cuda_cut states;
    cut_states(plan, &one, &states);
    cut->words.carry = tally_cuda_place(cut, one.inner * plan->sizes.slot_bytes);
    cut->words.totals = tally_cuda_place(cut, cut->groups * plan->sizes.slot_bytes);
    cut->words.states = tally_cuda_place(cut, states.bytes);
}

/* ---- launching ---- */

static tally_cuda_grid grid_for(const tally_cuda_device *device, uint64_t threads) {
    return (tally_cuda_grid){.x = tally_cuda_blocks_for(device, threads, TALLY_CUDA_BLOCK, BLOCKS),
                             .threads = TALLY_CUDA_BLOCK};
}

static tally_status launch_states(const tally_cuda_launch *l) {
    const tally_cuda_kernels *k = &l->plan->kernels;
    const CUdeviceptr control = l->workspace + l->cut->control, out = tally_cuda_address(l->args->out);
    const bool gives = l->plan->gpu.base.computation.gives_words;
    const tally_cuda_grid grid = grid_for(l->plan->device, l->cut->groups);
    tally_cuda_states_args args = {.x = tally_cuda_address(l->args->x),
                                   .out = gives ? 0 : out,
                                   .words = gives ? out : 0,
                                   .refused = control + offsetof(tally_cuda_control, refused),
                                   .not_bad = control + offsetof(tally_cuda_control, not_bad),
                                   .not_empty = control + offsetof(tally_cuda_control, not_empty),
                                   .rows = l->cut->groups,
                                   .extent = l->args->shape.extent,
                                   .inner = shape_of_states(l->plan, &l->args->shape).inner};
    tally_status status = tally_cuda_enqueue(l, k->check_states, grid, &args, what);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, k->join_states, grid, &args, what);
    return status;
}

static tally_status words_of_totals(const tally_cuda_launch *l, CUdeviceptr totals, uint64_t count, uint64_t elements,
                                    void *out) {
    tally_cuda_states_args args = {
        .totals = totals, .words = tally_cuda_address(out), .rows = count, .extent = elements, .inner = 1};
    return tally_cuda_enqueue(l, l->plan->kernels.words_of_totals, grid_for(l->plan->device, count), &args, what);
}

tally_status tally_cuda_words_lower_totals(tally_cuda_plan *plan, CUdeviceptr totals, uint64_t count, uint64_t elements,
                                           void *out) {
    const tally_cuda_launch launch = {.plan = plan, .stream = plan->device->stream};
    const tally_status status = words_of_totals(&launch, totals, count, elements, out);
    return status == TALLY_OK
               ? tally_cuda_check(plan->device->api->cuStreamSynchronize(launch.stream), "waiting for the device")
               : status;
}

static tally_status clear(const tally_cuda_launch *l, CUdeviceptr totals, uint64_t count) {
    tally_cuda_plan *of = plan_of_states(l->plan);
    tally_cuda_clear_args args = {.totals = totals, .count = count};
    const tally_cuda_launch launch = {.plan = of, .stream = l->stream, .wanted = l->wanted};
    return tally_cuda_enqueue(&launch, of->kernels.clear_totals, grid_for(of->device, count), &args, what);
}

/* Outer group 'group', or a piece, into accumulators. */
static tally_status run_states(const tally_cuda_launch *l, uint64_t group, tally_gpu_pieces pieces) {
    const tally_shape one = shape_of_states(l->plan, &l->args->shape);
    const size_t skipped = group * one.extent * one.inner * l->plan->gpu.base.computation.in_bytes;
    tally_args args = *l->args;
    tally_cuda_cut cut;
    cut_states(l->plan, &one, &cut);
    args.shape = one;
    args.x = (const char *)args.x + skipped;
    if (args.y)
        args.y = (const char *)args.y + skipped;
    const tally_cuda_launch launch = {.plan = plan_of_states(l->plan),
                                      .args = &args,
                                      .cut = &cut,
                                      .workspace = l->workspace + l->cut->words.states,
                                      .pieces = pieces,
                                      .stream = l->stream,
                                      .wanted = l->wanted};
    return tally_cuda_launch_all(&launch);
}

tally_status tally_cuda_words_launch(const tally_cuda_launch *l) {
    if (!l->plan->states)
        return launch_states(l);
    if (l->pieces.total)
        return run_states(l, 0, l->pieces);
    const uint64_t outer = outer_of(l->plan, &l->args->shape), columns = l->cut->groups / outer;
    const uint64_t bytes = columns * l->plan->sizes.slot_bytes, extent = l->args->shape.extent;
    const CUdeviceptr carry = l->workspace + l->cut->words.carry, totals = l->workspace + l->cut->words.totals;
    tally_status status = extent ? clear(l, carry, columns) : clear(l, totals, l->cut->groups);
    const uint64_t last = l->wanted ? 1 : outer; /* all of them want the same kernels */
    for (uint64_t group = 0; group < last && extent && status == TALLY_OK; group++)
        status = run_states(l, group, (tally_gpu_pieces){.carry = carry, .total = totals + group * bytes});
    if (status == TALLY_OK)
        status = words_of_totals(l, totals, l->cut->groups, extent, l->args->out);
    return status;
}
