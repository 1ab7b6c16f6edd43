#include "cpu/scratch.h"

#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/status.h"

enum { LINE = 64 /* bytes of a cache line */, PAGE = 4096 };

static tally_status grow(void **memory, size_t *have, size_t bytes) {
    if (bytes <= *have)
        return TALLY_OK;
    const size_t rounded = (size_t)round_up(bytes, PAGE);
    void *bigger = aligned_alloc(LINE, rounded);
    if (!bigger)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %zu bytes of scratch", rounded);
    free(*memory);
    *memory = bigger;
    *have = rounded;
    return TALLY_OK;
}

tally_status tally_cpu_scratch(tally_cpu_plan *plan, size_t bytes, void **scratch) {
    tally_status status = grow(&plan->scratch, &plan->scratch_bytes, bytes);
    *scratch = plan->scratch;
    return status;
}

tally_status tally_cpu_sparse_scratch(tally_cpu_plan *plan, size_t bytes, void **scratch) {
    const size_t before = plan->sparse_bytes;
    tally_status status = grow(&plan->sparse, &plan->sparse_bytes, bytes);
    if (plan->sparse_bytes > before)
        memset(plan->sparse, 0, plan->sparse_bytes);
    *scratch = plan->sparse;
    return status;
}

tally_status tally_cpu_worker_scratch(tally_cpu_plan *plan, size_t bytes) {
    bytes += plan->staging_bytes;
    if (bytes <= plan->worker_bytes)
        return TALLY_OK;
    /* An odd number of lines apart, so that the threads' pieces use different sets of a cache. */
    size_t each = (size_t)round_up(bytes, 2 * LINE) + LINE, have = plan->worker_bytes * plan->device->threads;
    tally_status status = grow(&plan->worker_scratch, &have, each * plan->device->threads);
    if (status == TALLY_OK)
        plan->worker_bytes = each;
    return status;
}
