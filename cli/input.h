/* input.h: one stream of elements of one type, whatever it comes from: .npy, raw numbers, or a column of text; a file,
 * a pipe or standard input. Elements arrive in this machine's byte order.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_INPUT_H
#define TALLY_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#include "npy.h"
#include "stream.h"
#include "text.h"

typedef enum input_format { INPUT_AUTO = 0, INPUT_NPY, INPUT_RAW, INPUT_TEXT } input_format;

typedef struct input_options {
    input_format format;
    tally_dtype dtype; /* TALLY_DEFAULT: as the file says; raw files need one */
    char byte_order;   /* raw files: '<' or '>'; 0: this machine's */
    int rank;          /* raw files: of the shape given, -1 if none was */
    uint64_t shape[NPY_MAX_RANK];
    text_options text;
} input_options;

#define INPUT_UNKNOWN UINT64_MAX

typedef struct input {
    const char *name;
    input_format format;
    tally_dtype dtype;
    size_t element_bytes;
    bool from_text; /* also where it has become raw numbers on disk */
    bool swapped;
    bool fortran_order; /* never set for ranks below 2, where the two orders are one */
    int rank;
    uint64_t shape[NPY_MAX_RANK]; /* shape[0] is INPUT_UNKNOWN when 'count' is */
    uint64_t count;               /* elements; INPUT_UNKNOWN for text and raw pipes before their end */
    uint64_t data_start;          /* bytes */
    uint64_t position;            /* of the next element */
    stream bytes;
    source from; /* 'bytes' as the parsers see it */
    text_reader *text;
    text_options text_options;
} input;

/* Opens and reads as much as it takes to know type and shape: an npy header; for text without a type the whole file,
 * once (a pipe is put aside for the second reading). Must be closed also after a fault. The input must stay where it
 * is in memory. */
int input_open(input *in, const char *path, const input_options *options, fault *f);
void input_close(input *in);

/* The next elements, up to 'capacity'; *got is less only at the end. */
int input_read(input *in, void *elements, size_t capacity, size_t *got, fault *f);

/* Exactly n elements, or a fault that says that the input ended early. */
int input_read_exactly(input *in, void *elements, size_t n, fault *f);

/* Makes input_seek possible and 'count' known: puts a pipe aside, turns text into numbers on disk. Only before the
 * first read. */
int input_make_seekable(input *in, fault *f);
void input_seek(input *in, uint64_t element);

/* Brings an array in Fortran order into C order, for what depends on the order of elements: holds all of it in memory
 * meanwhile. Only before the first read; the input is seekable then. */
int input_to_c_order(input *in, fault *f);

#endif
