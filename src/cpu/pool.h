/* Threads that share the tasks of one job at a time. They start with the first job that needs them. Then they wait for
 * the next job, at first spinning, then asleep, and end with the pool.
 *
 * tally has its own pool because a job here lasts from half a microsecond up. Starting one costs about 0.1 us with a
 * thread that still spins; OpenMP takes 0.5 us and oneTBB 2 us (docs/bench/). The caller never waits for a thread that
 * has not taken a task, so a busy machine costs speed only. */
#ifndef TALLY_CPU_POOL_H
#define TALLY_CPU_POOL_H

#include <stddef.h>

typedef struct tally_pool tally_pool;

/* Called once for every task 0 .. tasks - 1, by 'worker' 0 .. threads - 1 (0 is the caller). */
typedef void tally_task(void *job, size_t task, unsigned worker);

/* NULL if there is too little memory. Starts no thread yet; if threads cannot be started later, jobs run on fewer. */
tally_pool *tally_pool_create(unsigned threads);
void tally_pool_destroy(tally_pool *pool);

/* Runs all tasks and returns when they are done. A thread takes tasks from its own share first, in ascending order,
 * then helps the others. While the pool works for another caller, this caller does its tasks alone. */
void tally_pool_run(tally_pool *pool, size_t tasks, tally_task *task, void *job);

/* The same, but threads take tasks one by one in ascending order, so a task may wait for an earlier one. */
void tally_pool_run_in_order(tally_pool *pool, size_t tasks, tally_task *task, void *job);

/* A turn that passes from task to task in ascending order. Only one task at a time is between wait and pass. */
typedef struct tally_turn {
    _Alignas(64) size_t next;
} tally_turn;

void tally_turn_wait(tally_turn *turn, size_t task);
void tally_turn_pass(tally_turn *turn, size_t task);

#endif
