/* files.h: a file that appears when it is whole.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_LADDER_FILES_H
#define TALLY_LADDER_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "fault.h"

typedef struct ladder_file {
    FILE *stream;
    const char *named;        /* as the caller has it */
    char path[PATH_MAX];      /* what is replaced: a link stays */
    char temporary[PATH_MAX]; /* empty: a device or a pipe, written to as it is */
} ladder_file;

/* "-" is standard output. After a begin that succeeds comes an end. */
int ladder_file_begin(ladder_file *file, const char *path, fault *f);
int ladder_file_end(ladder_file *file, fault *f);

/* Would a begin succeed? Nothing is left behind. */
int ladder_file_try(const char *path, fault *f);

#endif
