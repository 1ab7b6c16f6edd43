/* worker.h: a thread that does one job at a time beside the command's own: while a device computes with one piece of
 * the input, the command reads the next.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_WORKER_H
#define TALLY_CLI_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "fault.h"

/* A job returns its exit code and leaves a fault where that is not 0. */
typedef int worker_job(void *context, fault *f);

/* Starts as all zeros. */
typedef struct worker {
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    worker_job *job; /* NULL: nothing to do */
    void *context;
    bool ends;
    int code; /* of the last job */
    fault f;
} worker;

/* Starts a job; the job before must have been waited for. Does the job at once if no thread can be started. */
void worker_start(worker *w, worker_job *job, void *context);

/* Waits for the job and returns its code, with its fault in 'f'; 0 if there was none. */
int worker_wait(worker *w, fault *f);

/* Waits for the job and ends the thread. */
void worker_end(worker *w);

#endif
