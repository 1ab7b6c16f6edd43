/* source.h: where the parsers get their bytes from: a file, a pipe, or a test's memory.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_SOURCE_H
#define TALLY_CLI_SOURCE_H

#include <stddef.h>

#include "fault.h"

typedef struct source {
    /* Fills 'bytes' up to 'capacity' and sets *got; less than capacity only at the end of the input. Returns 0, or an
     * exit code with the fault filled in. */
    int (*read)(void *context, void *bytes, size_t capacity, size_t *got, fault *f);
    void *context;
    const char *name; /* for messages */
} source;

#endif
