/* scan-partitions: the two passes run over one partition after the other. Each partition is small enough for the
 * threads' own caches, so the second pass reads from there. Results go past the caches, straight to memory.
 *
 * Removes: the second reading from memory. Streaming stores remove a third crossing that is easily overlooked: an
 * ordinary store first reads the line that it is about to overwrite.
 * Left: the threads wait for each other twice per partition.
 * Look at: percent of the roof, compared with scan-two-pass; then again with an --n whose results fit in the cache,
 * where streaming stores are a mistake. */
#include "step.h"

#include <sched.h>
#include <stdatomic.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { SHARE = 1 << 16 }; /* values of a thread in a partition: 256 KB, a quarter to half of the second cache */

typedef struct partitions_job {
    const value *x;
    value *out;
    size_t n;
    atomic_uint arrived;
    value sums[2][MOST_THREADS]; /* of this partition and the one before it */
} partitions_job;

/* Waits until all threads have arrived 'times' times. */
static void wait_for_all(partitions_job *job, unsigned threads, unsigned times) {
    unsigned spins = 0;
    atomic_fetch_add(&job->arrived, 1);
    while (atomic_load(&job->arrived) < threads * times)
        if (++spins % 1024 == 0)
            sched_yield();
}

static value stream_scan(value before, const value *x, size_t n, value *out) {
    size_t i = 0;
#if defined(__SSE2__)
    if ((uintptr_t)out % 16 == 0) {
        for (; i + LANES <= n; i += LANES) {
            const vector sums = running_sums(load_vector(x + i)) + before;
            __m128i quarter[4];
            memcpy(quarter, &sums, sizeof sums);
            for (int k = 0; k < 4; k++)
                _mm_stream_si128((__m128i *)(void *)(out + i) + k, quarter[k]);
            before = sums[LANES - 1];
        }
        _mm_sfence();
    }
#endif
    return scan_from(before, x + i, n - i, out + i);
}

static void partitions_share(void *context, unsigned thread, unsigned threads) {
    partitions_job *job = context;
    value before = 0;
    unsigned round = 0;
    for (size_t first = 0; first < job->n; first += (size_t)SHARE * threads) {
        size_t begin = first + (size_t)SHARE * thread, end = begin + SHARE;
        begin = begin < job->n ? begin : job->n;
        end = end < job->n ? end : job->n;
        value *sums = job->sums[round++ % 2];
        simd_wide(job->x + begin, end - begin, &sums[thread]);
        wait_for_all(job, threads, round);
        value mine = before;
        for (unsigned k = 0; k < threads; k++) {
            mine = k == thread ? before : mine;
            before += sums[k];
        }
        stream_scan(mine, job->x + begin, end - begin, job->out + begin);
    }
}

STEP(scan_partitions) {
    partitions_job job = {.x = x, .out = out, .n = n};
    in_parallel(partitions_share, &job);
}
