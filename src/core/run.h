/* What every back end says of a run: which memory it uses, what of nothing has no value, what was found wrong, and how
 * input in pieces is counted. */
#ifndef TALLY_CORE_RUN_H
#define TALLY_CORE_RUN_H

#include <stdbool.h>

#include "core/computation.h"

typedef struct tally_pointer {
    const char *name; /* of the member of tally_args */
    const void *address;
} tally_pointer;
enum { TALLY_POINTERS = 7 };

/* The memory that a run of so many elements, or a push, reads or writes; NULL where it does not. */
void tally_run_pointers(const tally_computation *computation, const tally_args *args, uint64_t elements, bool is_push,
                        tally_pointer pointers[TALLY_POINTERS]);

/* Whether a workspace that was given has so many bytes, and its alignment. */
tally_status tally_run_check_workspace(const tally_args *args, size_t bytes, size_t alignment);

/* TALLY_EMPTY for all values and along an axis, where the operator has no value of nothing. */
tally_status tally_run_check_empty(const tally_computation *computation, const tally_args *args);

/* What a run by segments or keys found. */
typedef struct tally_outcome {
    bool is_bad, is_empty, lacks_room;
    uint64_t segment; /* the least that is bad or, if none is, empty */
    uint64_t runs;    /* of keys */
} tally_outcome;
tally_status tally_run_outcome(const tally_computation *computation, const tally_args *args,
                               const tally_outcome *outcome);

/* ---- input in pieces ---- */

typedef struct tally_pieces {
    bool begun;
    uint64_t columns; /* along an axis, shape.inner; else 1 */
    uint64_t rows;    /* so far: elements a column */
} tally_pieces;

/* The columns of the next piece; TALLY_INVALID_ARGUMENT if there were others before. */
tally_status tally_pieces_next(const tally_pieces *pieces, const tally_computation *computation,
                               const tally_shape *shape, uint64_t *columns);

/* The columns that a reduction's tally_finish gives, of which there is one without a push; or why it cannot. */
tally_status tally_pieces_finish(const tally_pieces *pieces, const tally_computation *computation, size_t out_bytes,
                                 uint64_t *columns);

#endif
