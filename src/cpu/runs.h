/* Groups of any length side by side, for segments and keys. The elements are cut into stretches, one per task;
 * boundaries between groups lie inside a stretch or at its ends. A group that crosses several stretches is handed from
 * one to the next, in order (in a reverse scan from the last to the first). */
#ifndef TALLY_CPU_RUNS_H
#define TALLY_CPU_RUNS_H

#include "core/arithmetic.h"
#include "cpu/cpu.h"

/* Boundary k (0 .. boundaries - 1) ends piece k and begins piece k + 1 of the stretch; pieces may be empty. */
typedef struct tally_stretch {
    uint64_t begin, end;
    uint64_t all; /* elements of all stretches */
    uint64_t boundaries;
    const uint32_t *heads; /* boundary k is heads[k] + heads_base; or NULL: it is offset number first_offset + k */
    /* Or NULL; else bit i says whether a boundary is before element begin + i, and heads[] has the first and the last
     * boundary only. There is at least one, and the groups are to be scanned with marks, forward. */
    const uint64_t *marks;
    uint64_t heads_base;
    const void *offsets;
    tally_dtype offsets_type;
    uint64_t first_offset;
    uint64_t group_start;  /* the beginning of piece 0's group: at begin or before */
    uint64_t group_end;    /* the end of the last piece's group: at end or after it (reverse scans) */
    uint64_t first_result; /* the number of piece 0's group */
} tally_stretch;

/* The number of an empty piece that comes before the first group. */
#define TALLY_BEFORE_FIRST UINT64_MAX

typedef struct tally_runs {
    const tally_cpu_plan *plan;
    const void *x, *y, *initial;
    void *out;
    bool stream;
} tally_runs;

/* The elements of a part, where there are to be parts of about 'part' elements, 'most_parts' at most: an even number of
 * parts, since of three one of two threads would do two. */
static inline uint64_t tally_even_part(uint64_t elements, uint64_t part, uint64_t most_parts) {
    const uint64_t pairs = most((elements + part) / (2 * part), 1);
    return elements < part ? elements : divide_up(elements, least(2 * pairs, most_parts));
}

/* Boundary k, which is the first or the last one if there are marks. */
uint64_t tally_stretch_boundary(const tally_stretch *stretch, uint64_t k);

/* Whether a scan of the stretch takes marks of where groups begin, since a call for each would take longer; whether it
 * gathers groups, which stretches of a block take side by side; and whether a processor may foresee how long the groups
 * are (short_choice.c). */
bool tally_stretch_takes_marks(const tally_cpu_plan *plan, const tally_stretch *stretch);
bool tally_stretch_gathers(const tally_cpu_plan *plan, const tally_stretch *stretch);
bool tally_stretch_may_be_foreseen(const tally_cpu_plan *plan, const tally_stretch *stretch);

/* *own = the stretch's part of the group that is handed on: the last piece, or the first in a reverse scan. */
void tally_stretch_fold(const tally_runs *runs, const tally_stretch *stretch, unsigned worker, void *own);

/* *carry, the value of the open group before the stretch, becomes the one after it. */
void tally_stretch_hand_on(const tally_runs *runs, const tally_stretch *stretch, const void *own, void *carry);

/* *first = the stretch's part of the group that was open before it and ends in it. */
void tally_stretch_first(const tally_runs *runs, const tally_stretch *stretch, void *first);

/* Results of the groups that lie wholly in the stretch. */
void tally_stretch_inner(const tally_runs *runs, const tally_stretch *stretch, unsigned worker);

/* Results of all groups that end at a boundary of the stretch. *carry is the value before it, and is overwritten. */
void tally_stretch_reduce(const tally_runs *runs, const tally_stretch *stretch, unsigned worker, void *carry);

/* Results of all elements of the stretch; *carry as above. */
void tally_stretch_scan(const tally_runs *runs, const tally_stretch *stretch, unsigned worker, void *carry);

/* The runs with a copy of elements begin .. end - 1 instead of the input, if NaNs are left out. */
tally_runs tally_runs_staged(const tally_runs *runs, uint64_t begin, uint64_t end, unsigned worker);

/* Bytes of worker scratch for the above. */
size_t tally_stretch_bytes(const tally_cpu_plan *plan);

/* One result from its accumulator, for groups that end with the input. */
void tally_runs_emit(const tally_runs *runs, uint64_t result, uint64_t count, const uint64_t *lengths, const void *acc);

#endif
