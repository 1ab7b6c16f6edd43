/* Leaving NaNs out (TALLY_SKIP_NAN). No kernel of an operator knows of it: they are given elements without NaNs. There
 * are four ways.
 *
 *   replaced   a reduction over all values or along an axis whose operator has an element that changes nothing, such as
 *              0 for a sum: kernels see a copy of each block in which NaNs are that element (converted.c)
 *   staged     a scan, or a reduction by segments or keys, of such an operator: a task copies its input so (scratch.h)
 *   counted    other operators, and states in words: the accumulator has the number of elements in front, and blocks
 *              with NaNs are closed up before kernels see them, or replaced: in variances by a number near the
 *              mean, whose copies are taken out of the moments
 *   labels     blocks are closed up with their labels, or the label of a NaN is one that is left out (label_tables.c)
 *
 * A block stays in the first-level cache, so memory is read as fast as without. */
#ifndef TALLY_CPU_SKIPPING_H
#define TALLY_CPU_SKIPPING_H

#include "cpu/cpu.h"

typedef enum tally_cpu_skipping {
    TALLY_CPU_KEEPS_NANS,
    TALLY_CPU_REPLACES_NANS,
    TALLY_CPU_STAGES_ELEMENTS,
    TALLY_CPU_COUNTS_ELEMENTS,
    TALLY_CPU_DROPS_LABELS
} tally_cpu_skipping;

tally_cpu_skipping tally_cpu_skipping_of(const tally_computation *computation);

/* The element that changes no result of the operator, but for its number of elements and, where all others are the
 * same, its index. False if there is none. -0 + x is x for every x, 0 + -0 is not. */
bool tally_cpu_neutral(const tally_computation *computation, double *value);

/* Whether groups without elements have a result of their own instead of an error: NaN, or the index -1. The other
 * function writes result i so. */
bool tally_cpu_gives_nothing(const tally_cpu_plan *plan);
void tally_cpu_lower_nothing(const tally_cpu_plan *plan, size_t i, void *out);

/* Sets what accumulators of a plan of all elements show where an element was NaN. */
void tally_cpu_choose_shown(tally_cpu_context *context, const tally_cpu_plan *elements);

/* Completes a plan whose kernels, and way out, are those of all elements. */
void tally_cpu_skipping_choose(tally_cpu_plan *plan);

/* By labels: the elements that are NaN, or have a partner that is, get the place of the label
 * 'groups', which is left out. */
void tally_cpu_drop_nans(const tally_cpu_plan *plan, const void *x, const void *y, size_t n, tally_cpu_places places,
                         uint32_t *labels);

/* By labels: closes up at most TALLY_CPU_CLOSED_UP elements and their places. Returns how many are left; *x and *y, if
 * some are left out, then are in 'room', which is for as many elements of 8 bytes of each. Not for operators whose
 * result is an index. */
enum { TALLY_CPU_CLOSED_UP = 1024 };
size_t tally_cpu_close_up(const tally_cpu_plan *plan, const void **x, const void **y, size_t n, uint32_t *labels,
                          void *room);

/* Bytes of staging for n elements of each input. */
size_t tally_cpu_staging_bytes(const tally_cpu_plan *plan, uint64_t n);

/* In a staged plan: points x and y to copies of n elements without NaNs, in the worker's room. Does nothing in others.
 */
void tally_cpu_stage(const tally_cpu_plan *plan, unsigned worker, const void **x, const void **y, uint64_t n);

#endif
