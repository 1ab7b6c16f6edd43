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

/* Completes a plan whose kernels, and way out, are those of all elements. */
void tally_cpu_skipping_choose(tally_cpu_plan *plan);

/* Completes a counted plan, whose plan->states is that of all elements. */
void tally_cpu_counted_choose(tally_cpu_plan *plan);

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

/* *acc, of a plan of all elements, combined with the elements that are not NaN; returns how many these are. Not for
 * operators whose result is an index. */
uint64_t tally_cpu_fold_numbers(const tally_cpu_plan *plan, const void *x, const void *y, size_t n, void *acc);

#endif
