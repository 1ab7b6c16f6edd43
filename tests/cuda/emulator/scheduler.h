/* Runs a kernel's threads as coroutines of the host. A thread runs until it must wait: at a barrier, where its warp
 * meets, or where it polls for others' writes. A warp runs until it waits for others. This is as strict as a GPU may
 * be: a kernel that relies on lanes or warps in step gives wrong results. Blocks that are alive together, of a
 * cooperative launch or a cluster, run in turns, each until it can do no more by itself. Each has an OS thread of its
 * own, so that __shared__ can be thread_local; only one of these runs at a time. With EMULATE_ORDER=reverse the last
 * thread and the last block begin.
 *
 * This is the interface between the driver's stand-in, which has the scheduler, and a compiled kernel (emulate.h). */
#ifndef TALLY_TEST_EMULATOR_SCHEDULER_H
#define TALLY_TEST_EMULATOR_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>

#include "races.h"

typedef unsigned long long emulate_word;

typedef struct emulate_index {
    unsigned x, y, z;
} emulate_index;

/* An asynchronous copy. It is made when its thread next gives way, or, in a group, only when the group is waited for:
 * as late as the hardware may. 'then', if it is not NULL, is called after it. */
typedef struct emulate_copy {
    void *to;
    const void *from;
    unsigned bytes;
    void (*then)(emulate_word *gate, unsigned bytes);
    emulate_word *gate;
} emulate_copy;

/* Functions for kernels, always called from the running thread. */
typedef struct emulate_scheduler {
    void (*sync)(int barrier, int threads); /* 0 threads: all of the block that have not ended */
    /* Shows a word to the other lanes of the warp and gives what they show, 32 words. All lanes must come to the same
     * 'what'. */
    const emulate_word *(*exchange)(const char *what, emulate_word mine);
    void (*give_way)(void); /* in a loop that polls */
    void (*copy)(const emulate_copy *copy);
    void (*copy_in_group)(const emulate_copy *copy); /* .to NULL ends the group */
    void (*wait_for_groups)(int but_last);
    void (*let_groups_go)(void); /* their copies are as those of no group */
    void (*arrive_in_cluster)(void);
    void (*wait_for_cluster)(void);
    void *(*at_block)(void *shared, unsigned rank); /* the same variable of one of the cluster's blocks */
    void *(*dynamic_shared)(void);
    unsigned (*ordinal_of_block)(void); /* blocks that began before; not of those that are alive together */
    void (*let_next_start)(void);
    void (*wait_for_last)(void);
    void (*fault)(const char *why);                            /* ends the launch */
    void (*access)(const void *at, size_t bytes, bool writes); /* with EMULATE_RACES, before each of the kernel's */
    void (*at_gate)(const emulate_word *gate, races_event event);
} emulate_scheduler;

/* The description in a kernel's library: emulate_kernel_NAME. */
typedef struct emulate_kernel {
    void (*call)(void **parameters);
    int cluster;                                            /* blocks */
    unsigned most_threads;                                  /* of a block */
    emulate_index *thread, *block, *block_size, *grid_size; /* to be set for the running thread */
    void *(*anchor)(void); /* a __shared__ variable, of the block in whose OS thread this is called */
    const emulate_scheduler **scheduler;
} emulate_kernel;

typedef struct emulate_launch {
    const char *name;
    const emulate_kernel *kernel;
    void **parameters;
    emulate_index grid;
    unsigned block; /* threads */
    size_t dynamic_bytes;
    bool cooperative, starts_early;
    unsigned cluster; /* blocks; 0: as the kernel says */
    const void *stream;
} emulate_launch;

/* Any thread may call; launches run one after the other. False after a fault, which is printed. */
bool emulate_run(const emulate_launch *launch);

#endif
