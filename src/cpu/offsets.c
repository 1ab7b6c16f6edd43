#include "cpu/offsets.h"

#include <string.h>

/* Offsets may lie at any address, so each is copied out. */
#define READ_OFFSETS(type)                                                                                             \
    do {                                                                                                               \
        const char *from = (const char *)offsets + first * sizeof(type);                                               \
        for (size_t i = 0; i < count; i++) {                                                                           \
            type offset;                                                                                               \
            memcpy(&offset, from + i * sizeof(type), sizeof offset);                                                   \
            numbers[i] = (uint64_t)offset;                                                                             \
        }                                                                                                              \
    } while (0)

void tally_cpu_read_offsets(const void *offsets, tally_dtype type, uint64_t first, size_t count, uint64_t *numbers) {
    switch (type) {
    case TALLY_I32:
        READ_OFFSETS(int32_t);
        break;
    case TALLY_U32:
        READ_OFFSETS(uint32_t);
        break;
    default:
        READ_OFFSETS(uint64_t);
        break;
    }
}

size_t tally_cpu_groups_within(const uint64_t *offsets, size_t count, uint64_t elements) {
    size_t low = 0, high = count; /* the answer, of offsets that do not decrease */
    if (offsets[high] - offsets[0] <= elements)
        return high;
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;
        if (offsets[middle] - offsets[0] <= elements)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
