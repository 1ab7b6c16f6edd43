#include "cuda/launch.h"

#include "cuda/columns.h"
#include "cuda/exact.h"
#include "cuda/exact_chunks.h"
#include "cuda/group_words.h"
#include "cuda/groups.h"
#include "cuda/reduce.h"
#include "cuda/scan.h"
#include "cuda/scan_columns.h"
#include "cuda/scan_few.h"
#include "cuda/scan_tall.h"

tally_status tally_cuda_launch_all(const tally_cuda_launch *l) {
    if (tally_cuda_can_scan_few(l))
        return tally_cuda_scan_few_launch(l);
    tally_status status = tally_cuda_clear(l, l->cut->zeroed_bytes);
    if (status != TALLY_OK)
        return status;
    switch (l->cut->path) {
    case TALLY_CUDA_NOTHING:
        return TALLY_OK;
    case TALLY_CUDA_ROWS:
        return tally_cuda_rows_launch(l);
    case TALLY_CUDA_SHORT_ROWS:
        return tally_cuda_short_rows_launch(l);
    case TALLY_CUDA_TINY_ROWS:
        return tally_cuda_tiny_rows_launch(l);
    case TALLY_CUDA_SLABS:
        return tally_cuda_slabs_launch(l);
    case TALLY_CUDA_COLUMNS:
        return tally_cuda_columns_launch(l);
    case TALLY_CUDA_THIN_COLUMNS:
        return tally_cuda_thin_columns_launch(l);
    case TALLY_CUDA_SCAN:
        return tally_cuda_scan_launch(l);
    case TALLY_CUDA_EXACT_CHUNKS:
        return tally_cuda_exact_chunks_launch(l);
    case TALLY_CUDA_LOOK_BACK:
        return tally_cuda_look_back_launch(l);
    case TALLY_CUDA_HELD:
        return tally_cuda_held_launch(l);
    case TALLY_CUDA_ONE_WAVE:
        return tally_cuda_one_wave_launch(l);
    case TALLY_CUDA_STRETCHES:
        return tally_cuda_stretches_launch(l);
    case TALLY_CUDA_PANELS:
        return tally_cuda_panels_launch(l);
    case TALLY_CUDA_HELD_COLUMNS:
        return tally_cuda_held_columns_launch(l);
    case TALLY_CUDA_SCAN_SLABS:
        return tally_cuda_scan_slabs_launch(l);
    case TALLY_CUDA_SCAN_THIN:
        return tally_cuda_scan_thin_launch(l);
    case TALLY_CUDA_TALL:
        return tally_cuda_tall_launch(l);
    case TALLY_CUDA_NARROW:
        return tally_cuda_narrow_launch(l);
    case TALLY_CUDA_GROUPS:
        return tally_cuda_groups_launch(l);
    case TALLY_CUDA_EXACT:
        return tally_cuda_exact_launch(l);
    case TALLY_CUDA_GROUP_WORDS:
        return tally_cuda_group_words_launch(l);
    case TALLY_CUDA_TABLES:
    case TALLY_CUDA_LABELS:
    case TALLY_CUDA_WORDS:
    case TALLY_CUDA_PLACES:
        break; /* plan.c launches them */
    }
    return TALLY_OK;
}

/* ---- input in pieces ---- */

enum { TOTALS_BLOCKS = 64 /* for each multiprocessor at most */ };

/* A thread for each accumulator. */
static tally_status start_and_wait(tally_cuda_plan *plan, tally_cuda_kernel_number kernel, uint64_t count,
                                   void *arguments, const char *what) {
    const tally_cuda_device *device = plan->device;
    const tally_cuda_launch launch = {.plan = plan, .stream = device->stream};
    const tally_cuda_grid grid = {.x = tally_cuda_blocks_for(device, count, TALLY_CUDA_BLOCK, TOTALS_BLOCKS),
                                  .threads = TALLY_CUDA_BLOCK};
    tally_status status = tally_cuda_enqueue(&launch, kernel, grid, arguments, what);
    if (status == TALLY_OK)
        status = tally_cuda_check(device->api->cuStreamSynchronize(device->stream), "waiting for the device");
    return status;
}

tally_status tally_cuda_clear_totals(tally_gpu_plan *gpu, uint64_t totals, const void *initial, uint64_t count) {
    tally_cuda_plan *of = (tally_cuda_plan *)gpu, *plan = of->states ? (tally_cuda_plan *)of->states : of;
    tally_cuda_clear_args args = {.totals = totals, .initial = tally_cuda_address(initial), .count = count};
    return start_and_wait(plan, plan->kernels.clear_totals, count, &args, "launching the start of pieces");
}

tally_status tally_cuda_lower_totals(tally_gpu_plan *gpu, uint64_t totals, uint64_t count, uint64_t elements,
                                     void *out) {
    tally_cuda_plan *plan = (tally_cuda_plan *)gpu;
    tally_cuda_lower_args args = {
        .totals = totals, .count = count, .elements = elements, .out = tally_cuda_address(out)};
    return start_and_wait(plan, plan->kernels.lower_totals, count, &args, "launching the end of pieces");
}
