/* The common part of every back end's runs: the memory that a run uses, the errors that depend on the data, so that
 * messages are the same everywhere, and the counting of input in pieces. */
#ifndef TALLY_CORE_RUN_H
#define TALLY_CORE_RUN_H

#include <stdbool.h>

#include "core/computation.h"

typedef struct tally_pointer {
    const char *name; /* as the caller knows it: "args.x" */
    const void *address;
} tally_pointer;
enum { TALLY_POINTERS = 8 };

/* Lists the memory that a run over 'elements' elements, or a push of them, reads and writes. Members that it does not
 * touch are listed as NULL, whatever the caller has left in them. */
void tally_run_pointers(const tally_computation *computation, const tally_args *args, uint64_t elements, bool is_push,
                        tally_pointer pointers[TALLY_POINTERS]);

/* TALLY_INVALID_ARGUMENT unless the caller's workspace has 'bytes' bytes and lies at a multiple of 'alignment'. */
tally_status tally_run_check_workspace(const tally_args *args, size_t bytes, size_t alignment);

/* TALLY_EMPTY for a reduction of zero elements whose operator has no value for them: for all values and along an axis,
 * where the shape shows it. Offsets show which segments are empty, and the run finds them (tally_outcome). */
tally_status tally_run_check_empty(const tally_computation *computation, const tally_args *args);

/* The findings of a run by segments, keys or labels. If nothing is wrong all are false, and only 'runs' has a meaning.
 */
typedef struct tally_outcome {
    bool is_bad;      /* offsets of a segment decrease or pass the end of the values; a label is out of range */
    bool is_empty;    /* a segment or group has no elements, and the operator has no value of nothing */
    bool lacks_room;  /* there are more runs of equal keys than an output has room for */
    uint64_t segment; /* the first bad one (of labels the element) or, where none is bad, the first empty one */
    int64_t label;    /* the first bad one */
    uint64_t runs;    /* of equal keys */
} tally_outcome;

/* A label, of the computation's type. */
int64_t tally_label_value(const tally_computation *computation, const void *label);

/* The error of an outcome: TALLY_BAD_OFFSETS or TALLY_BAD_LABELS before TALLY_EMPTY before TALLY_OUTPUT_TOO_SMALL; or
 * TALLY_OK. */
tally_status tally_run_outcome(const tally_computation *computation, const tally_args *args,
                               const tally_outcome *outcome);

/* Where a run's size lies: the number of segments, or of elements. And the largest that a shape allows. */
const uint64_t *tally_size_of(const tally_computation *computation, const tally_sizes *sizes);
uint64_t tally_largest_size(const tally_computation *computation, const tally_shape *shape);

/* Checks a size that was read from the device: TALLY_INVALID_ARGUMENT if it passes the shape's, TALLY_EMPTY. */
tally_status tally_run_check_size(const tally_computation *computation, const tally_args *args, uint64_t size);

/* Runs a plan with TALLY_SIZE_ON_DEVICE as if args->shape had that size, which the host has read. */
tally_status tally_run_of_size(tally_plan *plan, const tally_args *args, uint64_t size, tally_stream stream);

/* ---- input in pieces ---- */

typedef struct tally_pieces {
    bool begun;
    uint64_t columns; /* shape.inner along an axis, else 1: the same for all pieces */
    uint64_t rows;    /* elements of each column so far */
} tally_pieces;

/* Gives the number of columns of the next piece, or TALLY_INVALID_ARGUMENT if the pieces before had another. */
tally_status tally_pieces_next(const tally_pieces *pieces, const tally_computation *computation,
                               const tally_shape *shape, uint64_t *columns);

/* Checks a reduction's tally_finish and gives the number of its results, one for each column. Without any push that is
 * one result, of zero elements. */
tally_status tally_pieces_finish(const tally_pieces *pieces, const tally_computation *computation, size_t out_bytes,
                                 uint64_t *columns);

#endif
