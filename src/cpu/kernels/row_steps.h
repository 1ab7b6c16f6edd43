/* Scans of rows side by side in vectors, by masks of lanes. An element takes the one of its column 1, 2, 4 ... rows
 * before, so a row of one column is a plane like others, and the distance is all that differs. A part of scan.h and of
 * narrow_scan.c. */
#ifndef TALLY_CPU_ROW_STEPS_H
#define TALLY_CPU_ROW_STEPS_H

#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__)
enum { ROW_STEPS = 5 };

/* How a vector of lanes of 16, 32 or 64 bits is scanned: some whole planes, or as many rows of one as it has room for.
 * Those of a reverse scan lie at its upper end. */
typedef struct row_steps {
    __m512i from[ROW_STEPS];   /* lane l takes lane from[step][l] */
    __m512i last;              /* the lane of the last row in the same column */
    uint32_t takes[ROW_STEPS]; /* which lanes do */
    size_t count;              /* of steps */
    size_t filled;             /* lanes, from the first one on */
    bool is_whole;             /* whole planes */
} row_steps;

/* Finds the steps of planes that have 'rows' rows and 'width' columns. A vector must have room for one row. */
#define FIND_STEPS PASTE4(tally_cpu_find_steps, _, TALLY_LEVEL, )
void FIND_STEPS(size_t lanes, size_t rows, size_t width, bool reverse, row_steps *steps);

/* The same of bytes whose rows have an odd number of them. Byte 2 k becomes that of word low[k] which pick_low chooses,
 * byte 2 k + 1 that of high[k]. */
typedef struct byte_move {
    __m512i low, high, pick_low, pick_high;
} byte_move;

typedef struct byte_steps {
    byte_move first, last;   /* by a row; to the last row */
    __m512i from[ROW_STEPS]; /* words, of the later steps */
    uint64_t takes[ROW_STEPS + 1];
    size_t count, filled; /* bytes */
    bool is_whole;
} byte_steps;

#define FIND_BYTE_STEPS PASTE4(tally_cpu_find_byte_steps, _, TALLY_LEVEL, )
void FIND_BYTE_STEPS(size_t rows, size_t width, bool reverse, byte_steps *steps);
#endif

#endif
