#include "cpu/packing.h"

#include <string.h>

#include "core/arithmetic.h"

size_t tally_cpu_packed_groups(uint64_t rows, uint64_t columns, size_t bytes) {
    if (columns * bytes > TALLY_CPU_PACKED_ROW_BYTES || rows * columns * bytes > TALLY_CPU_PACKED_BYTES / 8)
        return 0;
    return least(TALLY_CPU_PACKED_COLUMNS / columns, TALLY_CPU_PACKED_BYTES / (rows * columns * bytes));
}

/* Rows are copied in blocks of a constant size. The last block passes the row's end; what it wrote there is overwritten
 * by the next row, which is why rows are copied in the order of their targets. */
enum { BLOCK = 16 };

static inline void copy_blocks(const char *from, size_t bytes, char *to) {
    for (size_t i = 0; i < bytes; i += BLOCK)
        memcpy(to + i, from + i, BLOCK);
}

/* 'bytes' is a constant where this is inlined. */
static inline __attribute__((always_inline)) void pack_constant(const char *from, size_t bytes, size_t rows,
                                                                size_t groups, char *to) {
    for (size_t r = 0; r < rows; r++)
        for (size_t g = 0; g < groups; g++)
            memcpy(to + (r * groups + g) * bytes, from + (g * rows + r) * bytes, bytes);
}

void tally_cpu_pack(const void *source, size_t row_bytes, size_t rows, size_t groups, void *target) {
    const char *from = source;
    char *to = target;
    const size_t whole = rows * groups * row_bytes;
    switch (row_bytes) {
    case 1:
        pack_constant(from, 1, rows, groups, to);
        return;
    case 2:
        pack_constant(from, 2, rows, groups, to);
        return;
    case 4:
        pack_constant(from, 4, rows, groups, to);
        return;
    case 8:
        pack_constant(from, 8, rows, groups, to);
        return;
    case 16:
        pack_constant(from, 16, rows, groups, to);
        return;
    default:
        break;
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t g = 0; g < groups; g++) {
            const size_t at = (g * rows + r) * row_bytes, packed = (r * groups + g) * row_bytes;
            if (most(at, packed) + round_up(row_bytes, BLOCK) <= whole)
                copy_blocks(from + at, row_bytes, to + packed);
            else
                memcpy(to + packed, from + at, row_bytes);
        }
}

/* A transposition undoes a transposition. */
void tally_cpu_unpack(const void *source, size_t row_bytes, size_t rows, size_t groups, void *target) {
    tally_cpu_pack(source, row_bytes, groups, rows, target);
}
