/* output.h: an array of results that goes to an .npy file, to standard output as .npy, or to standard output as text
 * or JSON.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_OUTPUT_H
#define TALLY_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#include "fault.h"
#include "input.h"
#include "npy.h"
#include "out_file.h"
#include "spool.h"

enum { OUTPUT_MAX_RANK = NPY_MAX_RANK + 1 }; /* minmax adds a dimension */

/* What the array is. The shape is given in NumPy's order; elements come in the order of memory, which fortran_order
 * says is first index fastest. */
typedef struct output_array {
    tally_dtype dtype;
    int rank;
    uint64_t shape[OUTPUT_MAX_RANK]; /* rank 1 and INPUT_UNKNOWN: as many as get written */
    bool fortran_order;
    bool pairs;     /* the last dimension is minimum and maximum */
    bool any_order; /* output_write will jump */
} output_array;

typedef enum output_kind {
    OUTPUT_PRINTED, /* text to standard output as it comes */
    OUTPUT_KEPT,    /* put aside until it is whole: JSON, unknown shape, transposed text */
    OUTPUT_PLAIN,   /* npy bytes in sequence: standard output, devices */
    OUTPUT_FILE     /* npy at any place of a file that is renamed at the end */
} output_kind;

typedef struct output {
    output_kind kind;
    output_array array;
    bool open, json;
    bool to_npy; /* not printed, but written to 'file' */
    out_file file;
    uint64_t written; /* elements, one past the last */
    uint64_t header_bytes;
    spool kept;
} output;

/* 'path': NULL for text (or JSON, kept for print_json) on standard output, "-" for npy on standard output, else a file.
 * Fails if the file is one of the inputs. */
int output_open(output *out, const char *path, bool json, const output_array *array, const input *const *inputs,
                size_t input_count, fault *f);

/* Elements first .. first + n - 1 in the order of memory. Without any_order they come in sequence. */
int output_write(output *out, uint64_t first, const void *elements, size_t n, fault *f);

/* Completes the array: prints what was kept (not for JSON), or writes what is still missing from the file. */
int output_complete(output *out, fault *f);

/* Writes the complete file under a temporary name. */
int output_settle(output *out, fault *f);

/* Gives the complete file its name. Where there are two, both are settled first. */
int output_finish(output *out, fault *f);

/* Everything written so far, in memory order; only for kind OUTPUT_KEPT. NULL on a fault. */
const void *output_view(output *out, fault *f);

/* Frees; a file that was not finished disappears. Accepts an output of all zeros. */
void output_close(output *out);

#endif
