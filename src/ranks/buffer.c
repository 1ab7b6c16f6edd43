/* Buffers of words. The device's plans read and write device memory, the ranks' own decisions host memory, and engines
 * one of the two. On the CPU all are the same, and nothing is copied. */
#include <stdlib.h>

#include "core/status.h"
#include "ranks/ranks.h"

void tally_rank_release(tally_rank_plan *plan, tally_rank_words *buffer) {
    if (buffer->host != buffer->device)
        free(buffer->host);
    tally_free(plan->device, buffer->device);
    *buffer = (tally_rank_words){0};
}

tally_status tally_rank_reserve(tally_rank_plan *plan, tally_rank_words *buffer, uint64_t words) {
    if (words <= buffer->words)
        return TALLY_OK;
    if (words > PTRDIFF_MAX / sizeof(int64_t))
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %llu words of states", (unsigned long long)words);
    tally_rank_release(plan, buffer);
    void *memory = NULL;
    const tally_status status = tally_alloc(plan->device, (size_t)words * sizeof(int64_t), &memory);
    if (status != TALLY_OK)
        return status;
    buffer->device = memory;
    buffer->host = plan->in_host_memory ? buffer->device : malloc((size_t)words * sizeof(int64_t));
    if (!buffer->host) {
        tally_rank_release(plan, buffer);
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %llu words of states", (unsigned long long)words);
    }
    buffer->words = (size_t)words;
    return TALLY_OK;
}

static bool is_at_device(const tally_rank_plan *plan) {
    return (plan->options.flags & TALLY_RANK_DEVICE_WORDS) != 0;
}

int64_t *tally_rank_at_engine(const tally_rank_plan *plan, const tally_rank_words *buffer) {
    return is_at_device(plan) ? buffer->device : buffer->host;
}

static tally_status move(const tally_rank_plan *plan, int64_t *to, const int64_t *from, uint64_t first, uint64_t n) {
    return to == from ? TALLY_OK : tally_copy(plan->device, to + first, from + first, (size_t)n * sizeof *to);
}

tally_status tally_rank_from_device(const tally_rank_plan *plan, tally_rank_words *b, uint64_t first, uint64_t n) {
    return is_at_device(plan) ? TALLY_OK : move(plan, b->host, b->device, first, n);
}

tally_status tally_rank_to_device(const tally_rank_plan *plan, tally_rank_words *b, uint64_t first, uint64_t n) {
    return is_at_device(plan) ? TALLY_OK : move(plan, b->device, b->host, first, n);
}

tally_status tally_rank_from_host(const tally_rank_plan *plan, tally_rank_words *b, uint64_t first, uint64_t n) {
    return is_at_device(plan) ? move(plan, b->device, b->host, first, n) : TALLY_OK;
}

tally_status tally_rank_to_host(const tally_rank_plan *plan, tally_rank_words *b, uint64_t first, uint64_t n) {
    return is_at_device(plan) ? move(plan, b->host, b->device, first, n) : TALLY_OK;
}
