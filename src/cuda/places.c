#include "cuda/places.h"

#include "core/arithmetic.h"
#include "cuda/group_words.h"
#include "cuda/launch.h"
#include "cuda/path.h"

enum { WARP = 32, BLOCKS = 32 /* for each multiprocessor at most */ };

void tally_cuda_computation_of_places(const tally_computation *c, tally_computation *places) {
    tally_computation_copy(c, places);
    places->gives_places = true;
    places->desc.out = TALLY_I64;
    places->out_bytes = sizeof(int64_t);
}

static void cut_scan(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    tally_cuda_cut_make((tally_cuda_plan *)plan->places, shape, cut);
}

void tally_cuda_places_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    tally_cuda_cut scan;
    cut_scan(plan, shape, &scan);
    *cut = (tally_cuda_cut){.elements = scan.elements, .groups = scan.groups};
    if (scan.path == TALLY_CUDA_NOTHING)
        return;
    cut->path = TALLY_CUDA_PLACES;
    cut->control = tally_cuda_place(cut, sizeof(tally_cuda_control));
    cut->zeroed_bytes = cut->bytes;
    cut->places.places = tally_cuda_place(cut, shape->extent * sizeof(int64_t));
    if (plan->gpu.base.computation.desc.grouping == TALLY_KEYS)
        tally_cuda_list_runs_cut(&plan->sizes, shape, cut);
    cut->places.scan = tally_cuda_place(cut, scan.bytes);
    if (plan->gpu.base.computation.desc.grouping == TALLY_SEGMENTS)
        cut->control = cut->places.scan + scan.control;
}

tally_status tally_cuda_places_launch(const tally_cuda_launch *l) {
    const bool keys = l->plan->gpu.base.computation.desc.grouping == TALLY_KEYS;
    tally_cuda_cut cut;
    cut_scan(l->plan, &l->args->shape, &cut);
    tally_args args = *l->args;
    args.out = tally_cuda_pointer(l->workspace + l->cut->places.places);
    args.out_bytes = args.shape.extent * sizeof(int64_t);
    const tally_cuda_launch scan = {.plan = (tally_cuda_plan *)l->plan->places,
                                    .args = &args,
                                    .cut = &cut,
                                    .workspace = l->workspace + l->cut->places.scan,
                                    .stream = l->stream,
                                    .size = l->size,
                                    .wanted = l->wanted};
    tally_cuda_places_args places = {.places = l->workspace + l->cut->places.places,
                                     .out = tally_cuda_address(l->args->out),
                                     .groups = tally_cuda_group_offsets_of(l),
                                     .n = args.shape.extent};
    const tally_cuda_grid grid = {.x = tally_cuda_blocks_for(l->plan->device,
                                                             divide_up(places.n, TALLY_CUDA_PLACES_OF_WARP) * WARP,
                                                             TALLY_CUDA_BLOCK, BLOCKS),
                                  .threads = TALLY_CUDA_BLOCK};
    tally_status status = tally_cuda_launch_all(&scan);
    if (status == TALLY_OK && keys)
        status = tally_cuda_list_runs(l);
    if (status == TALLY_OK)
        status = tally_cuda_enqueue(l, l->plan->kernels.count_places, grid, &places, "counting places in groups");
    return status;
}
