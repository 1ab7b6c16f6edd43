/* Threads that share out the tasks of one job at a time. They start when the first job needs them, wait for the next
 * one with a short spin and then asleep, and end with the pool.
 *
 * Why our own: a job here lasts from half a microsecond up, and starting one costs about 0.1 us with a thread that
 * still spins; OpenMP's takes 0.5 us and oneTBB's 2 us (docs/bench/). The caller never waits for a thread that has
 * not taken up work, so that a busy machine costs speed only. */
#ifndef TALLY_CPU_POOL_H
#define TALLY_CPU_POOL_H

#include <stddef.h>

typedef struct tally_pool tally_pool;

/* Called once for every task 0 .. tasks - 1, by 'worker' 0 .. threads - 1 (0 is the caller). */
typedef void tally_task(void *job, size_t task, unsigned worker);

/* NULL when memory is lacking. Starts no thread yet; if threads cannot be started later, jobs run on fewer. */
tally_pool *tally_pool_create(unsigned threads);
void tally_pool_destroy(tally_pool *pool);

/* Runs all tasks and returns when they are done. A thread takes tasks from its own share first, in ascending order,
 * then helps the others. When the pool is at work for another caller, this one does its tasks alone. */
void tally_pool_run(tally_pool *pool, size_t tasks, tally_task *task, void *job);

/* The same, but tasks are handed out in ascending order, one by one: a task may wait for an earlier one. */
void tally_pool_run_in_order(tally_pool *pool, size_t tasks, tally_task *task, void *job);

/* A turn that passes from task to task in ascending order. Between wait and pass a task is alone. */
typedef struct tally_turn {
    _Alignas(64) size_t next;
} tally_turn;

void tally_turn_wait(tally_turn *turn, size_t task);
void tally_turn_pass(tally_turn *turn, size_t task);

#endif
