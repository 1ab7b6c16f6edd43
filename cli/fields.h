/* fields.h: the rows and fields of delimited text, as text.h tells of them.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_FIELDS_H
#define TALLY_CLI_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fault.h"
#include "source.h"

/* What to keep of a field: a number must be whole, of a name in the header the start will do. */
typedef enum keeping { KEEP_NOTHING, KEEP_START, KEEP_WHOLE } keeping;

typedef enum field_end { END_FIELD, END_ROW, END_INPUT } field_end;

typedef struct field {
    char *text; /* a zero stands behind it */
    size_t length;
    uint64_t line, byte; /* where it begins, from 1 */
    bool quoted;
} field;

typedef struct fields {
    const source *from;
    field field;       /* the last one that was kept */
    uint64_t row_line; /* where the present row begins, from 1 */
    bool row_has_hash; /* the present row begins with # */
    /* for fields.c alone: */
    field spare;
    char delimiter; /* 0: not known yet */
    char comment;   /* lines that begin with it are skipped; 0: none */
    bool blanks_delimit;
    unsigned char *buffer;
    size_t at, length; /* buffer[at .. length) is unread */
    bool input_ended;
    uint64_t line;              /* now, from 1 */
    uint64_t line_start, base;  /* offsets in the input: of the line's first byte, of buffer[0] */
    unsigned char special[256]; /* 1 for bytes that end a run of ordinary ones */
} fields;

/* 'from' must outlive the reader. */
int fields_open(fields *reader, const source *from, char delimiter, char comment, fault *f);
void fields_close(fields *reader);

/* Skips a byte order mark, and refuses UTF-16. */
int fields_begin(fields *reader, fault *f);

/* Moves to the first byte of the next row; *there says if there is one. A line of blanks is none; but a tab may stand
 * for an empty first field. */
int fields_next_row(fields *reader, bool *there, fault *f);

/* At the first row, before a field of it is read: sets the delimiter, given or found in the row. */
void fields_delimit(fields *reader, char delimiter);
int fields_detect_delimiter(fields *reader, fault *f);

/* Takes a field and what ends it. */
int fields_read(fields *reader, keeping keep, field_end *end, fault *f);

/* Moves the kept field to a second place, and the second place's contents back. */
void fields_swap(fields *reader);

#endif
