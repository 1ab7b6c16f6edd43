/* Work of some milliseconds per part, on threads that end with the call. (For work of microseconds the CPU back end has
 * a pool whose threads stay.) */
#ifndef TALLY_GPU_THREADS_H
#define TALLY_GPU_THREADS_H

#include <stddef.h>

/* Calls task(job, k) once for each k below 'tasks', in ascending order, each on a thread of its own except one, which
 * the calling thread does. It uses fewer threads if TALLY_THREADS, a number, or the system allows no more, and only the
 * calling thread if there is one core. Returns when all tasks are done and the other threads have ended. Any thread may
 * call. */
void tally_side_by_side(size_t tasks, void (*task)(void *job, size_t number), void *job);

#endif
