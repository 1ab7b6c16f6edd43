/* Work of some milliseconds a part, done by threads that end with the call. (For work of microseconds the CPU back end
 * has a pool whose threads stay.) */
#ifndef TALLY_GPU_THREADS_H
#define TALLY_GPU_THREADS_H

#include <stddef.h>

/* Calls task(job, k) once for each k below 'tasks', the lower ones first, each on a thread of its own but for one,
 * which the calling thread does; on fewer threads if TALLY_THREADS, a number, or the system grants no more, and on the
 * calling thread alone where there is one core. Returns when all is done and the other threads have ended. Any thread
 * may call. */
void tally_side_by_side(size_t tasks, void (*task)(void *job, size_t number), void *job);

#endif
