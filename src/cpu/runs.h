/* Groups of any length side by side: what segments and keys have in common. The elements are cut into stretches, one a
 * task; boundaries between groups lie inside a stretch or at its ends. A group that reaches over several stretches is
 * handed on from one to the next, in order (in a reverse scan from the last to the first). */
#ifndef TALLY_CPU_RUNS_H
#define TALLY_CPU_RUNS_H

#include "cpu/cpu.h"

/* Boundary k (0 .. boundaries - 1) ends piece k and begins piece k + 1 of the stretch; pieces may be empty. */
typedef struct tally_stretch {
    uint64_t begin, end;
    uint64_t boundaries;
    const uint32_t *heads; /* boundary k is heads[k] + heads_base; or NULL: it is offset number first_offset + k */
    uint64_t heads_base;
    const void *offsets;
    tally_dtype offsets_type;
    uint64_t first_offset;
    uint64_t group_start;  /* where the group begins that piece 0 belongs to: at begin or before */
    uint64_t group_end;    /* where the group ends that the last piece belongs to: at end or behind (reverse scans) */
    uint64_t first_result; /* the number of piece 0's group */
} tally_stretch;

typedef struct tally_runs {
    const tally_cpu_plan *plan;
    const void *x, *y, *initial;
    void *out;
    bool stream;
} tally_runs;

/* *own = what the stretch adds to the group that is handed on: the last piece, or the first in a reverse scan. */
void tally_stretch_fold(const tally_runs *runs, const tally_stretch *stretch, unsigned worker, void *own);

/* *carry, the value of the open group before the stretch, becomes the one after it. */
void tally_stretch_hand_on(const tally_runs *runs, const tally_stretch *stretch, const void *own, void *carry);

/* *first = what the stretch adds to the group that was open before it and ends in it. */
void tally_stretch_first(const tally_runs *runs, const tally_stretch *stretch, void *first);

/* Results of the groups that lie in the stretch as a whole. */
void tally_stretch_inner(const tally_runs *runs, const tally_stretch *stretch, unsigned worker);

/* Results of all groups that end at a boundary of the stretch. *carry is what came before, and is clobbered. */
void tally_stretch_reduce(const tally_runs *runs, const tally_stretch *stretch, unsigned worker, void *carry);

/* Results of all elements of the stretch. *carry likewise. */
void tally_stretch_scan(const tally_runs *runs, const tally_stretch *stretch, unsigned worker, void *carry);

/* Bytes of worker scratch for the above. */
size_t tally_stretch_bytes(const tally_cpu_plan *plan);

/* One result from its accumulator, for groups that end with the input. */
void tally_runs_emit(const tally_runs *runs, uint64_t result, uint64_t count, const uint64_t *lengths, const void *acc);

#endif
