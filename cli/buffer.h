/* buffer.h: memory that the command and the device share, filled from the inputs, and work in turns on both sides.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_BUFFER_H
#define TALLY_CLI_BUFFER_H

#include "work.h"

/* Memory for both the command and the device: one block if the device computes in host memory. Otherwise the host's
 * block is locked if possible, and there may be two of them: the command fills or writes out one while the other is
 * copied to or from the device. */
typedef struct buffer {
    void *host, *sent; /* one and the same where the device computes in host memory; sent is NULL without a second */
    void *device;
    size_t bytes;
} buffer;

int buffer_make(work *w, buffer *b, uint64_t bytes);
void buffer_free(work *w, buffer *b);
int buffer_to_device(work *w, buffer *b, size_t bytes);
int buffer_to_host(work *w, buffer *b, size_t bytes);

/* Work in turns. The command fills a buffer's 'host', turns it, and starts a job, which copies from 'sent' to the
 * device or back and computes there; before it turns the buffer again it waits for the job. With host memory a job is
 * done when work_start returns, and turning changes nothing. work_end waits, and drops the job's fault: it comes before
 * plans and buffers are released, whatever happened. */
int buffer_double(work *w, buffer *b); /* makes the second block, if there is none yet */
int buffer_turn(work *w, buffer *b);
int buffer_send(work *w, buffer *b, size_t bytes, fault *f);  /* 'sent' to the device, in a job */
int buffer_fetch(work *w, buffer *b, size_t bytes, fault *f); /* the device's to 'sent', in a job */
int work_start(work *w, worker_job *job, void *context);
int work_wait(work *w);
void work_end(work *w);

/* --initial as an element of the output, on the device; 'initial' stays empty without the option. After work_plan. */
int work_initial(work *w, buffer *initial);

/* Reads n elements of the first input, and of the second if there is one, into the buffers; work_read_exactly also
 * moves them to the device. */
int work_fill(work *w, buffer *x, buffer *y, uint64_t n);
int work_read_exactly(work *w, buffer *x, buffer *y, uint64_t n);

#endif
