/* Offsets of segments, of any index type and at any address, as numbers. */
#ifndef TALLY_CPU_OFFSETS_H
#define TALLY_CPU_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

#include "cpu/kernels/kernels.h"

/* Reads 'count' offsets, of which the first is number 'first'. A negative one becomes a number above 2^63. */
void tally_cpu_read_offsets(const void *offsets, tally_dtype type, uint64_t first, size_t count, uint64_t *numbers);

/* How many of 'count' groups, from the first on, have no more elements together. */
size_t tally_cpu_groups_within(const uint64_t *offsets, size_t count, uint64_t elements);

/* Reads offsets without a copy if the caller's array can be read as it is; else the numbers are written to 'room',
 * 32-bit ones by the level's conversions. */
static inline const uint64_t *tally_cpu_see_offsets(const tally_cpu_level *level, const void *offsets, tally_dtype type,
                                                    uint64_t first, size_t count, uint64_t *room) {
    const void *at = (const char *)offsets + first * sizeof *room;
    const bool is_wide = type == TALLY_I64 || type == TALLY_U64;
    if (is_wide && (uintptr_t)at % sizeof *room == 0)
        return at;
    if (is_wide)
        tally_cpu_read_offsets(offsets, type, first, count, room);
    else
        level->types[type]->convert[TALLY_I64]((const char *)offsets + first * sizeof(uint32_t), count, room);
    return room;
}

#endif
