/* Blocks of elements that are scanned in place, as floats: taken in the order of the scan, and given as results. */
#ifndef TALLY_CPU_RUNNING_H
#define TALLY_CPU_RUNNING_H

#include "cpu/cpu.h"

enum {
    TALLY_CPU_SPREAD_BLOCK = TALLY_CPU_EXPS_BLOCK, /* elements, at most: two arrays of doubles fit in a first-level
                                                      cache */
    TALLY_CPU_RUNNING_SLACK = 16                   /* elements behind a block that kernels read and write, at most */
};

/* to[0 ..] = n elements as 'type', in the order of the scan. */
void tally_cpu_take_block(const tally_cpu_plan *plan, const void *x, uint64_t n, tally_dtype type, void *to);

/* The other way round: results of 'type' in the output's, at 'out'. 'results' may be overwritten. */
void tally_cpu_give_block(const tally_cpu_plan *plan, void *results, uint64_t n, tally_dtype type, void *out);

/* numbers[k] = that of element k in its group, from 1 on. heads[k] is -1 where one begins, else 0, in the order of the
 * scan. Groups of one element fill the last vector up. Returns how many elements there are then. */
uint64_t tally_cpu_number_block(const tally_cpu_plan *plan, int8_t *heads, uint64_t n, uint32_t *numbers);

/* 'rows' rows of 'width' values of 'from' as 'to', where rows begin as many values apart as is said. */
void tally_cpu_convert_rows(const tally_cpu_plan *plan, tally_dtype from, tally_dtype to, const void *values,
                            uint64_t rows, uint64_t width, uint64_t from_stride, uint64_t to_stride, void *out);

#endif
