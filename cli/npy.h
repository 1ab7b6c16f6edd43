/* npy.h: headers of NumPy's .npy files, formats 1.0, 2.0 and 3.0.
 *
 * Source: numpy/lib/format.py and NEP 1. The header is a Python dictionary as text; it is parsed here by a grammar
 * that knows exactly the three keys that NumPy writes.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_NPY_H
#define TALLY_CLI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#include "fault.h"
#include "source.h"

#define NPY_MAGIC       "\x93NUMPY"
#define NPY_MAGIC_BYTES 6
#define NPY_MAX_RANK    64 /* NumPy 2's own limit */

/* Formats 2.0 and 3.0 have room for headers of 4 GiB, for structured types that tally does not read. NumPy itself
 * refuses headers above 10,000 bytes unless told to trust the file. */
#define NPY_MAX_HEADER_BYTES 65535

typedef struct npy_header {
    tally_dtype dtype;
    bool swapped; /* elements are in the other byte order than this machine's */
    bool opaque;  /* 'V2': bytes without a meaning, which is how bf16 is written; dtype is the type of that code */
    bool fortran_order; /* the first index changes fastest */
    int rank;
    uint64_t shape[NPY_MAX_RANK];
    uint64_t count;      /* product of the shape; count * size of an element fits in 63 bits */
    uint64_t data_start; /* bytes before the first element */
} npy_header;

/* Reads the header and nothing after it. Element types that tally does not have (complex, strings, objects, dates,
 * structures, long doubles) are refused by name. bool is read as u8. */
int npy_read_header(const source *from, npy_header *header, fault *f);

/* Formats a header of format 1.0 for elements in this machine's byte order, padded to a multiple of 64 bytes and at
 * least to 'min_bytes'. Writes at most 'capacity' bytes and returns the length, 0 if the capacity does not do. */
#define NPY_HEADER_CAPACITY 2048
size_t npy_format_header(char *bytes, size_t capacity, size_t min_bytes, tally_dtype dtype, bool fortran_order,
                         int rank, const uint64_t *shape);

/* The product of a shape times 'element_bytes'; false when that passes 63 bits. A dimension of 0 makes the count 0. */
bool npy_count(int rank, const uint64_t *shape, size_t element_bytes, uint64_t *count);

#endif
