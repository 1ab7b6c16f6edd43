/* buffer.c: see buffer.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include <tally/cuda.h>

#include "number.h"

/* Copies between locked memory and a GPU run at the speed of the bus. */
static int host_make(work *w, size_t bytes, void **memory) {
    if (w->is_cuda)
        return work_check(w, NULL, tally_cuda_alloc_host(w->device, bytes, memory));
    *memory = malloc(bytes);
    return *memory ? 0 : fault_data(w->f, "no memory for %zu bytes", bytes);
}

static void host_free(work *w, void *memory) {
    if (w->is_cuda)
        tally_cuda_free_host(w->device, memory);
    else
        free(memory);
}

int buffer_make(work *w, buffer *b, uint64_t bytes) {
    const size_t needed = bytes == 0 ? 1 : (size_t)bytes;
    int code = work_check(w, NULL, tally_alloc(w->device, needed, &b->device));
    if (code != 0)
        return code;
    b->bytes = needed;
    if (w->host_memory) {
        b->host = b->sent = b->device;
        return 0;
    }
    return host_make(w, needed, &b->host);
}

void buffer_free(work *w, buffer *b) {
    if (!w->host_memory) {
        host_free(w, b->host);
        host_free(w, b->sent);
    }
    tally_free(w->device, b->device);
    memset(b, 0, sizeof *b);
}

int buffer_to_device(work *w, buffer *b, size_t bytes) {
    if (b->host == b->device)
        return 0;
    return work_check(w, NULL, tally_copy(w->device, b->device, b->host, bytes));
}

int buffer_to_host(work *w, buffer *b, size_t bytes) {
    if (b->host == b->device)
        return 0;
    return work_check(w, NULL, tally_copy(w->device, b->host, b->device, bytes));
}

/* ---- work in turns ---- */

int buffer_double(work *w, buffer *b) {
    return b->sent ? 0 : host_make(w, b->bytes, &b->sent);
}

int buffer_turn(work *w, buffer *b) {
    const int code = buffer_double(w, b);
    void *const filled = b->host;
    if (code != 0)
        return code;
    b->host = b->sent;
    b->sent = filled;
    return 0;
}

int buffer_send(work *w, buffer *b, size_t bytes, fault *f) {
    return w->host_memory ? 0 : work_check_in(f, NULL, tally_copy(w->device, b->device, b->sent, bytes));
}

int buffer_fetch(work *w, buffer *b, size_t bytes, fault *f) {
    return w->host_memory ? 0 : work_check_in(f, NULL, tally_copy(w->device, b->sent, b->device, bytes));
}

int work_start(work *w, worker_job *job, void *context) {
    if (w->host_memory)
        return job(context, w->f);
    worker_start(&w->beside, job, context);
    return 0;
}

int work_wait(work *w) {
    return worker_wait(&w->beside, w->f);
}

void work_end(work *w) {
    worker_end(&w->beside);
}

/* ---- from options and inputs ---- */

int work_initial(work *w, buffer *initial) {
    const char *const text = w->o->initial;
    if (!text)
        return 0;
    int code = buffer_make(w, initial, 8);
    if (code != 0)
        return code;
    const number_status status = number_parse(text, strlen(text), w->desc.out, initial->host);
    if (status != NUMBER_OK)
        return fault_usage(w->f, "--initial %s: %s", text,
                           status == NUMBER_NONE          ? "not a number"
                           : status == NUMBER_NOT_INTEGER ? "not an integer, which the scan's output type needs"
                                                          : "does not fit the scan's output type");
    return buffer_to_device(w, initial, 8);
}

int work_fill(work *w, buffer *x, buffer *y, uint64_t n) {
    const int code = input_read_exactly(&w->x, x->host, (size_t)n, w->f);
    return code == 0 && w->y_open ? input_read_exactly(&w->y, y->host, (size_t)n, w->f) : code;
}

int work_read_exactly(work *w, buffer *x, buffer *y, uint64_t n) {
    const size_t bytes = (size_t)n * w->x.element_bytes;
    int code = work_fill(w, x, y, n);
    if (code == 0)
        code = buffer_to_device(w, x, bytes);
    return code == 0 && w->y_open ? buffer_to_device(w, y, bytes) : code;
}
