/* out_file.h: how the command writes files, all of them: a result, a report, a chart.
 *
 * A regular file appears under its name only when it is whole: it is written to a file without a name in the same
 * folder (or, where the file system has no such thing, to a temporary name that signals remove), which then takes the
 * name's place. Devices, pipes and standard output are written directly.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_OUT_FILE_H
#define TALLY_CLI_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fault.h"

typedef struct out_file {
    const char *name; /* for messages */
    bool open;
    bool any_place; /* a regular file, which can be written in any order */
    int fd;
    FILE *stream;           /* of out_file_stream */
    char *path, *temporary; /* what is replaced; NULL while the new file has no name */
    mode_t mode;            /* of the file that is replaced, 0 if none */
} out_file;

/* "-" is standard output. 'path' must outlive the file. */
int out_file_open(out_file *file, const char *path, fault *f);

/* In sequence, or with any_place at an offset. */
int out_file_write(out_file *file, uint64_t offset, const void *bytes, size_t n, fault *f);

/* Instead of out_file_write: a buffered stream. Its errors are found by out_file_finish. */
int out_file_stream(out_file *file, FILE **stream, fault *f);

/* Gives a file that will replace another its temporary name now, so that other processes can open it. */
int out_file_name(out_file *file, fault *f);

/* The file is whole, and is written and closed under a temporary name. Of several files all are settled before one is
 * finished, since this is what a full disk makes fail. */
int out_file_settle(out_file *file, fault *f);

/* Settles the file and gives it its name. */
int out_file_finish(out_file *file, fault *f);

/* What was not finished disappears. Accepts a file of all zeros. */
void out_file_close(out_file *file);

/* Would what is written to one of the paths be lost in, or mixed with, what is written to the other? However they are
 * spelled, and whether the files are there or not. NULL and "-" are standard output. */
bool out_file_same(const char *path, const char *other);

/* What stands at the path, or is standard output; false if nothing does. */
bool out_file_status(const char *path, struct stat *status);

/* Flushes standard output and says whether everything arrived there. */
int out_file_flush_standard(fault *f);

#endif
