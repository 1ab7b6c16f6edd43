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
