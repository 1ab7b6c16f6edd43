/* Finds accesses to a block's shared memory that nothing orders, with EMULATE_RACES=1. It finds them in any order in
 * which the emulator runs threads, so one run shows what fails on a GPU once in a million. Threads have vector clocks
 * (Mattern 1989). Each byte remembers who wrote it last and who has read it since (FastTrack, Flanagan and Freund 2009;
 * of unordered readers the last three).
 *
 * Only __syncthreads, named barriers, __syncwarp, mbarriers and a cluster's barriers order threads. Shuffles and votes
 * do not, because they order no memory. One more party of the block makes asynchronous copies; a thread that waits for
 * copies is assumed to have waited for all that have begun. Atomics are not checked, nor is other blocks' shared
 * memory. */
#ifndef TALLY_TEST_EMULATOR_RACES_H
#define TALLY_TEST_EMULATOR_RACES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct races races; /* a block's */

/* Memory that the block's threads share. */
typedef struct races_region {
    const char *begin;
    size_t bytes;
} races_region;

/* Clears '*block', or makes it if it is NULL. */
void races_begin(races **block, unsigned threads, races_region dynamic, races_region statics);

/* Reports a thread's access; a copy of its own belongs to the party for copies. Returns the other thread's number if
 * nothing orders the access and an earlier one, 'threads' if that was a copy, and else -1. Addresses outside shared
 * memory are ignored. */
int races_access(races *block, unsigned thread, const void *at, size_t bytes, bool writes, bool is_copy);

/* Threads with a mark have come to a barrier together. */
void races_meet(races *block, const bool *marks);

/* At an mbarrier: it begins; the thread, or a copy, arrives; a phase ends; the thread has seen that one has ended. */
typedef enum races_event { GATE_BEGINS, THREAD_ARRIVES, COPY_ARRIVES, PHASE_ENDS, PHASE_SEEN } races_event;
void races_at_gate(races *block, unsigned thread, const void *gate, races_event event);

/* The thread has waited for its copies. */
void races_await_copies(races *block, unsigned thread);

#endif
