/* NaNs in a block of elements, and in accumulators. */
#ifndef TALLY_CPU_NANS_H
#define TALLY_CPU_NANS_H

#include "cpu/cpu.h"

/* Sets marks[i], which is 0 or 1, for each element that is NaN or has a partner in y that is. Returns false, with marks
 * unwritten, if there is none. y may be NULL. */
bool tally_cpu_mark_nans(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint8_t *marks);

/* Copies n elements, of which each that is NaN, or whose partner in y is, becomes one that changes nothing. y may be
 * NULL. */
void tally_cpu_replace_nans(const tally_cpu_context *context, const void *x, const void *y, uint64_t n, void *to_x,
                            void *to_y);

/* Whether one of 'count' accumulators shows that an element was NaN. Kernels may then have been given elements as they
 * are, which costs nothing where none is NaN; if one was, it has to be done again without them. */
bool tally_cpu_shows_nan(const tally_cpu_context *context, const void *acc, size_t count, size_t acc_bytes);

#endif
