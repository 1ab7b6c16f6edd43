/* worker.c: see worker.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <stddef.h>

static void *work_until_the_end(void *context) {
    worker *const w = context;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        while (!w->job && !w->ends)
            pthread_cond_wait(&w->changed, &w->mutex);
        if (!w->job)
            break;
        pthread_mutex_unlock(&w->mutex);
        const int code = w->job(w->context, &w->f);
        pthread_mutex_lock(&w->mutex);
        w->code = code;
        w->job = NULL;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static bool make_thread(worker *w) {
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->has_thread = pthread_create(&w->thread, NULL, work_until_the_end, w) == 0;
    if (!w->has_thread) {
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->mutex);
    }
    return w->has_thread;
}

void worker_start(worker *w, worker_job *job, void *context) {
    if (!w->has_thread && !make_thread(w)) {
        w->code = job(context, &w->f);
        return;
    }
    pthread_mutex_lock(&w->mutex);
    w->job = job;
    w->context = context;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
}

int worker_wait(worker *w, fault *f) {
    if (w->has_thread) {
        pthread_mutex_lock(&w->mutex);
        while (w->job)
            pthread_cond_wait(&w->changed, &w->mutex);
        pthread_mutex_unlock(&w->mutex);
    }
    const int code = w->code;
    w->code = 0;
    if (code != 0)
        *f = w->f;
    return code;
}

void worker_end(worker *w) {
    if (!w->has_thread)
        return;
    pthread_mutex_lock(&w->mutex);
    w->ends = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->mutex);
    w->has_thread = false;
}
