/* Reductions of the columns of packed rows. */
#ifndef TALLY_CPU_COLUMNS_H
#define TALLY_CPU_COLUMNS_H

#include "cpu/cpu.h"

/* acc[0 .. inner - 1] = the columns of 'rows' packed rows; acc has room for tally_cpu_columns_room accumulators. */
uint64_t tally_cpu_columns_room(uint64_t inner);
void tally_cpu_fold_whole_rows(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t inner,
                               uint64_t index, void *acc);

/* The same if the columns are so narrow that they are turned into rows; else returns false. */
bool tally_cpu_fold_turned(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t inner,
                           uint64_t index, void *acc);

/* acc[0 .. width - 1] = the columns of packed rows (packing.h) of at most TALLY_CPU_PACKED_ACC bytes an accumulator.
 * What follows the rows, TALLY_CPU_PACKED_SLACK bytes, is overwritten. */
enum { TALLY_CPU_PACKED_ACC = 64 };
void tally_cpu_fold_packed(const tally_cpu_plan *plan, void *x, void *y, uint64_t rows, uint64_t width, void *acc);

#endif
