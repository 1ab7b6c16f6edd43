/* stream.h: the bytes of a file, a pipe or standard input, with what the parsers need beyond read: a look at the first
 * bytes without taking them, reads at any place where the input allows them, and a way to make any input allow them.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_STREAM_H
#define TALLY_CLI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fault.h"
#include "spool.h"

enum { STREAM_HEAD_BYTES = 4096 };

typedef struct stream {
    const char *name; /* for messages: the path, or "standard input" */
    int fd;
    bool owned;
    bool seekable;   /* a regular file, or spooled */
    uint64_t size;   /* bytes from 'start' on, when seekable */
    uint64_t start;  /* where a regular standard input stood when the command began */
    uint64_t offset; /* of the next byte, from 'start' */
    dev_t device;    /* which file it is, to tell that the output is not the input */
    ino_t inode;
    bool regular;
    bool keeping; /* what is read is put aside as well */
    bool spooled;
    spool aside;
    size_t head_length; /* bytes that stream_open read ahead to tell the format */
    unsigned char head[STREAM_HEAD_BYTES];
} stream;

/* 'path' NULL or "-": standard input. Folders are refused. */
int stream_open(stream *s, const char *path, fault *f);
void stream_close(stream *s);

/* Fills 'bytes'; *got is less than n only at the end. Reports to the progress line. */
int stream_read(stream *s, void *bytes, size_t n, size_t *got, fault *f);

/* Moves to an offset; only when seekable. */
void stream_seek(stream *s, uint64_t offset);

/* For a pipe that must be read more than once. Between the two calls, the first before anything is read and the second
 * at the end, the bytes of stream_read are also stored. The second call makes the stream seekable and goes to its
 * start. */
void stream_keep(stream *s);
void stream_kept(stream *s);

/* The two with everything read between them, but at most so many bytes: what follows is left in the pipe. */
int stream_spool(stream *s, uint64_t most, fault *f);

#endif
