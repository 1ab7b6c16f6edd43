/* Plans on CUDA devices: none yet. */
#include "cuda/plan.h"

#include "core/status.h"

static tally_status refuse(void) {
    return tally_fail(TALLY_UNSUPPORTED, "CUDA devices run no plans yet");
}

tally_status tally_cuda_plan_create(tally_device *device, const tally_computation *computation, tally_plan **plan) {
    (void)device, (void)computation, (void)plan;
    return refuse();
}

void tally_cuda_plan_destroy(tally_plan *plan) {
    (void)plan;
}

tally_status tally_cuda_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes) {
    (void)plan, (void)shape, (void)bytes;
    return refuse();
}

tally_status tally_cuda_plan_run(tally_plan *plan, const tally_args *args, uint64_t results, tally_stream stream) {
    (void)plan, (void)args, (void)results, (void)stream;
    return refuse();
}

tally_status tally_cuda_plan_push(tally_plan *plan, const tally_args *args) {
    (void)plan, (void)args;
    return refuse();
}

tally_status tally_cuda_plan_finish(tally_plan *plan, void *out, size_t out_bytes) {
    (void)plan, (void)out, (void)out_bytes;
    return refuse();
}

void tally_cuda_plan_reset(tally_plan *plan) {
    (void)plan;
}
