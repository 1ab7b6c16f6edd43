/* text.h: one column of numbers from a text or CSV file, read in pieces.
 *
 * Rows are lines. Fields stand between commas, tabs, semicolons or runs of blanks, may be in double quotes (a doubled
 * quote inside stands for one, line ends inside belong to the field), and blanks around them do not count. Blank lines
 * are skipped. Line ends are LF or CR LF; the last one may be missing. Every row must have as many fields as the first.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_TEXT_H
#define TALLY_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#include "fault.h"
#include "source.h"

typedef enum text_header { TEXT_HEADER_AUTO = 0, TEXT_HEADER_YES, TEXT_HEADER_NO } text_header;

typedef struct text_options {
    const char *column; /* a number from 1, or a name from the header line; NULL: the only column. A number that no
                           column has may be a name, too */
    char delimiter;     /* ',', '\t', ';', ' ' (runs of blanks) or another character; 0: tell from the first row */
    char comment;       /* lines that begin with it are skipped; 0: none */
    text_header header; /* AUTO: see layout.h */
} text_options;

typedef struct text_reader text_reader;

/* 'from' and the strings of 'options' must outlive the reader. */
int text_open(const source *from, const text_options *options, text_reader **reader, fault *f);
void text_close(text_reader *reader);

/* Up to 'capacity' elements of the type; *got is less only at the end. A field that is no number, is empty, or does
 * not fit the type is an error that names line and column. */
int text_read(text_reader *reader, tally_dtype dtype, void *elements, size_t capacity, size_t *got, fault *f);

/* Reads to the end without keeping anything and tells which type holds every number: i64 if all are integers and fit;
 * u64 if all are integers, none is negative and they fit; f64 if any has a point, an exponent or is inf or nan, or if
 * there are none. Integers that fit neither i64 nor u64 are an error (f64 would round them). */
int text_survey(text_reader *reader, tally_dtype *dtype, uint64_t *count, fault *f);

#endif
