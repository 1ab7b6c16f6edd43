/* Scans of small planes, rows of columns, as they are: where a row fills a vector this takes less time than to pack
 * many of them side by side. Elements that have to be lifted are lifted for several planes at once. */
#ifndef TALLY_CPU_PLANES_H
#define TALLY_CPU_PLANES_H

#include "cpu/cpu.h"

/* Whether the next one is the way for planes of so many rows and columns, which may else be packed. */
bool tally_cpu_scans_planes(const tally_cpu_plan *plan, uint64_t rows, uint64_t width, bool are_packed);

/* Packed planes of 'rows' rows of 'width' columns, each of which starts from nothing, whose elements are lifted or not.
 */
void tally_cpu_scan_planes(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t planes, uint64_t rows,
                           uint64_t width, bool stream, unsigned worker, void *out);

#endif
