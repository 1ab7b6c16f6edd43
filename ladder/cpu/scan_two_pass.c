/* scan-two-pass: every thread sums its share; then every thread scans its share, beginning with the sum of all shares
 * before its own.
 *
 * Removes: the limit of one core.
 * Left: the input is read twice. Each share is far larger than the cache, so the second reading comes from memory, too:
 * three crossings of the memory's bus where two would do.
 * Look at: percent of the roof: at most near two thirds, for arrays that do not fit in the caches. */
#include "step.h"

typedef struct two_pass_job {
    const value *x;
    value *out;
    size_t n;
    value sums[MOST_THREADS];
} two_pass_job;

static size_t two_pass_begin(const two_pass_job *job, unsigned thread, unsigned threads) {
    return thread == threads ? job->n : job->n / threads / LANES * LANES * thread;
}

static void two_pass_sum(void *context, unsigned thread, unsigned threads) {
    two_pass_job *job = context;
    const size_t begin = two_pass_begin(job, thread, threads), end = two_pass_begin(job, thread + 1, threads);
    simd_wide(job->x + begin, end - begin, &job->sums[thread]);
}

static void two_pass_scan(void *context, unsigned thread, unsigned threads) {
    const two_pass_job *job = context;
    const size_t begin = two_pass_begin(job, thread, threads), end = two_pass_begin(job, thread + 1, threads);
    value before = 0;
    for (unsigned earlier = 0; earlier < thread; earlier++)
        before += job->sums[earlier];
    scan_from(before, job->x + begin, end - begin, job->out + begin);
}

STEP(scan_two_pass) {
    two_pass_job job = {.x = x, .out = out, .n = n};
    in_parallel(two_pass_sum, &job);
    in_parallel(two_pass_scan, &job);
}
