#include "cuda/scan_exactly.h"

#include "cuda/exact_chunks.h"
#include "cuda/launch.h"
#include "cuda/path.h"
#include "cuda/scan.h"

enum {
    LEAST_ELEMENTS = 1 << 18, /* of a scan in a window; the kernels rely on it */
    MOST_LOG = 35,            /* and on fewer than 2^35 */
    WINDOW_BYTES = 32         /* a scan_window of exact_scan.cu */
};

/* Not for results of 8 bytes from narrower elements, whose initial value the window's integers might not hold, and not
 * between the types of 16 bits. */
static bool has_window(const tally_computation *c) {
    return !c->in_window && !c->is_sized &&
           (c->desc.in == TALLY_F64 || c->desc.out == TALLY_F32 || c->desc.in == c->desc.out);
}

bool tally_cuda_computation_in_window(const tally_computation *c, tally_computation *in_window) {
    if (!has_window(c))
        return false;
    tally_computation_copy(c, in_window);
    in_window->in_window = true;
    return true;
}

static tally_cuda_plan *plan_in_window(const tally_cuda_plan *plan) {
    return (tally_cuda_plan *)plan->in_window;
}

static void cut_in_window(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    tally_cuda_cut_make(plan_in_window(plan), shape, cut);
}

void tally_cuda_scan_exactly_cut(const tally_cuda_plan *plan, const tally_shape *shape, tally_cuda_cut *cut) {
    tally_cuda_cut in_window;
    if ((cut->path != TALLY_CUDA_SCAN && cut->path != TALLY_CUDA_EXACT_CHUNKS) || cut->elements < LEAST_ELEMENTS ||
        cut->elements >> MOST_LOG)
        return;
    cut_in_window(plan, shape, &in_window);
    if (in_window.path != TALLY_CUDA_SCAN)
        return;
    cut->in_window.has = true;
    cut->in_window.window = tally_cuda_place(cut, WINDOW_BYTES);
    cut->in_window.workspace = tally_cuda_place(cut, in_window.bytes);
}

/* In place, elements would be gone when a later one turned out not to fit. So all of them are checked before. */
static bool is_in_place(const tally_cuda_launch *l) {
    const tally_computation *c = &l->plan->gpu.base.computation;
    const uint64_t x = tally_cuda_address(l->args->x), out = tally_cuda_address(l->args->out), n = l->cut->elements;
    return x + n * c->in_bytes > out && out + n * c->out_bytes > x;
}

static tally_status in_all_words_launch(const tally_cuda_launch *l) {
    return l->cut->path == TALLY_CUDA_SCAN ? tally_cuda_scan_launch(l) : tally_cuda_exact_chunks_launch(l);
}

tally_status tally_cuda_scan_exactly(const tally_cuda_launch *l) {
    tally_cuda_cut cut;
    if (l->pieces.total) /* pieces hand on sums in all words */
        return in_all_words_launch(l);
    cut_in_window(l->plan, &l->args->shape, &cut);
    tally_cuda_launch in_all_words = *l;
    in_all_words.window = l->workspace + l->cut->in_window.window;
    const tally_cuda_launch in_window = {.plan = plan_in_window(l->plan),
                                         .args = l->args,
                                         .cut = &cut,
                                         .workspace = l->workspace + l->cut->in_window.workspace,
                                         .window = in_all_words.window,
                                         .stream = l->stream,
                                         .wanted = l->wanted};
    tally_status status = tally_cuda_scan_window_launch(&in_window, is_in_place(l));
    if (status == TALLY_OK)
        status = tally_cuda_scan_launch(&in_window);
    return status == TALLY_OK ? in_all_words_launch(&in_all_words) : status;
}
