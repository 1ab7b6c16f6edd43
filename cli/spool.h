/* spool.h: bytes that are stored until they can be used: in memory while they are few, else in a temporary file without
 * a name (in $TMPDIR, or /tmp), which leaves nothing behind however the command ends.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_SPOOL_H
#define TALLY_CLI_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "fault.h"

typedef struct spool {
    unsigned char *memory;
    size_t capacity;
    uint64_t length; /* one past the last byte written */
    int file_plus_1; /* 0: still in memory */
    void *view;
    size_t view_bytes;
} spool; /* starts as all zeros */

/* Any order of offsets; what lies between is zeros. */
int spool_write(spool *s, uint64_t offset, const void *bytes, size_t n, fault *f);

/* *got is less than n only at the end. */
int spool_read(spool *s, uint64_t offset, void *bytes, size_t n, size_t *got, fault *f);

/* Everything at once, valid until the next write or spool_free. NULL after a fault (or when there is nothing). */
const void *spool_view(spool *s, fault *f);

void spool_free(spool *s);

/* All of 'n' bytes to or from a descriptor, through interruptions and short counts; return 0 or an errno. */
int write_fully(int fd, const void *bytes, size_t n);
int write_fully_at(int fd, uint64_t offset, const void *bytes, size_t n);
int read_fully(int fd, void *bytes, size_t n, size_t *got);
int read_fully_at(int fd, uint64_t offset, void *bytes, size_t n, size_t *got);

#endif
