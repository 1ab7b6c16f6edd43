/* threads: every core sums its share with wide vectors; the shares' sums are added at the end.
 *
 * Removes: the limit of one core.
 * Left: memory itself, for arrays larger than the caches; starting the threads, for small ones.
 * Look at: percent of the roof, which should be near 100 for large n; and the smallest --n at which it is faster than
 * simd-wide. */
#include "step.h"

enum { MOST_THREADS = 1024 };

typedef struct threads_job {
    const value *x;
    size_t n;
    value sums[MOST_THREADS];
} threads_job;

static void threads_share(void *context, unsigned thread, unsigned threads) {
    threads_job *job = context;
    const size_t part = job->n / threads, begin = part * thread;
    simd_wide(job->x + begin, thread + 1 == threads ? job->n - begin : part, &job->sums[thread]);
}

STEP(threads) {
    threads_job job = {.x = x, .n = n};
    in_parallel(threads_share, &job);
    value sum = 0;
    for (unsigned thread = 0; thread < bench_team_threads(); thread++)
        sum += job.sums[thread];
    *out = sum;
}
