/* Scans of a user's operator whose texts the CPU runs. */
#ifndef TALLY_CPU_TEXT_SCAN_H
#define TALLY_CPU_TEXT_SCAN_H

#include "cpu/cpu.h"

/* n elements of one group of 'length' elements, the first of which has this index. *acc goes from the value before
 * them, in the direction of the scan, to the one after them. out may be x. */
void tally_cpu_text_scan(const tally_cpu_plan *plan, const void *x, size_t n, uint64_t index, uint64_t length,
                         void *acc, void *out);

/* 'width' columns of 'rows' rows that begin 'stride' elements apart; the first is number 'index' of 'length'.
 * acc[width] as above. */
void tally_cpu_text_scan_columns(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                                 uint64_t stride, uint64_t index, uint64_t length, void *acc, void *out);

/* Where groups begin among some elements, and their numbers; the rest is room. */
enum { TALLY_TEXT_GROUPED = 4096 /* elements */ };
typedef struct tally_text_groups {
    _Alignas(64) int8_t heads[TALLY_TEXT_GROUPED]; /* -1 where a group begins in the direction of the scan, else 0 */
    int8_t turned_heads[TALLY_TEXT_GROUPED + 64];
    uint64_t counts[TALLY_TEXT_GROUPED]; /* of elements in each result; read if 'lower' does */
    uint64_t turned_counts[TALLY_TEXT_GROUPED + 8];
    uint64_t indices[TALLY_TEXT_GROUPED]; /* in each element's group; read if 'lift' does */
    uint64_t turned_indices[TALLY_TEXT_GROUPED + 8];
} tally_text_groups;

/* n elements, at most TALLY_TEXT_GROUPED, of neighbouring groups; the rest as tally_cpu_text_scan. */
void tally_cpu_text_scan_groups(const tally_cpu_plan *plan, const void *x, size_t n, tally_text_groups *groups,
                                void *acc, void *out);

#endif
