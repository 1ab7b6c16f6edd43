/* Finds accesses to a block's shared memory that nothing orders, with EMULATE_RACES=1: whatever order the emulator
 * happens to run threads in, so that what a GPU gets wrong once in a million is found in one run. Threads have vector
 * clocks (Mattern 1989), and each byte remembers who wrote it last and who has read it since (FastTrack, Flanagan and
 * Freund 2009; of readers that nothing orders the last three).
 *
 * Threads are ordered by __syncthreads, named barriers, __syncwarp and mbarriers, and by nothing else: not by shuffles
 * and votes, which order no memory. Copies that run by themselves are done by one more party of the block. Who waits
 * for copies is taken to have waited for all that have begun. Atomics are not looked at, nor other blocks' shared
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

/* Forgets what was in '*block', or makes it if it is NULL. */
void races_begin(races **block, unsigned threads, races_region dynamic, races_region statics);

/* Something that a thread does; a copy of its own is one of the party for copies. The other's number if nothing orders
 * the access and an earlier one, 'threads' if that was a copy; else -1. Other addresses than of shared memory are
 * nobody's matter. */
int races_access(races *block, unsigned thread, const void *at, size_t bytes, bool writes, bool is_copy);

/* Threads with a mark have come to a barrier together. */
void races_meet(races *block, const bool *marks);

/* At an mbarrier: it begins; the thread, or a copy, arrives; a phase ends; the thread has seen that one has ended. */
typedef enum races_event { GATE_BEGINS, THREAD_ARRIVES, COPY_ARRIVES, PHASE_ENDS, PHASE_SEEN } races_event;
void races_at_gate(races *block, unsigned thread, const void *gate, races_event event);

/* The thread has waited for its copies. */
void races_await_copies(races *block, unsigned thread);

#endif
