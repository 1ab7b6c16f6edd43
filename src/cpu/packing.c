#include "cpu/packing.h"

#include <string.h>

#include "core/arithmetic.h"
#include "cpu/interleave.h"
#include "cpu/kernels/instructions.h"

size_t tally_cpu_packed_groups(uint64_t rows, uint64_t columns, size_t bytes, size_t small_group) {
    if ((columns * bytes > TALLY_CPU_PACKED_ROW_BYTES && rows * columns * bytes > small_group) ||
        rows * columns * bytes > TALLY_CPU_PACKED_BYTES / 8)
        return 0;
    return least(TALLY_CPU_PACKED_COLUMNS / columns, TALLY_CPU_PACKED_BYTES / (rows * columns * bytes));
}

/* Rows are copied in blocks of a constant size. The last block passes the row's end; what it wrote there is overwritten
 * by the next row, which is why rows are copied in the order of their targets. */
enum { BLOCK = 16, MOST_BLOCKS = 4 };

/* How many of 'count' rows end within 'whole' bytes, if the first ends at byte 'end' and the others 'apart' bytes after
 * each other. Few divide: of the rows of one group two divisions took longer than the copies. */
static size_t rows_within(size_t whole, size_t end, size_t apart, size_t count) {
    if (end + (count - 1) * apart <= whole)
        return count;
    return end > whole ? 0 : (whole - end) / apart + 1;
}

/* 'count' rows, 'apart' bytes from each other, one behind the other; 'blocks' is a constant where this is inlined. */
static inline __attribute__((always_inline)) void copy_rows(const char *from, size_t apart, size_t bytes, size_t blocks,
                                                            size_t count, char *to) {
    for (; count > 0; count--, from += apart, to += bytes)
        for (size_t i = 0; i < blocks; i++)
            memcpy(to + BLOCK * i, from + BLOCK * i, BLOCK);
}

/* ---- transpositions of elements: to[b][a] = from[a][b] ---- */

static inline __attribute__((always_inline)) void transpose_one_by_one(const char *from, size_t bytes, size_t a_from,
                                                                       size_t a_count, size_t b_from, size_t b_count,
                                                                       char *to) {
    for (size_t b = b_from; b < b_count; b++)
        for (size_t a = a_from; a < a_count; a++)
            memcpy(to + (b * a_count + a) * bytes, from + (a * b_count + b) * bytes, bytes);
}

/* Blocks of W x W elements, W of which fill 16 bytes. Element by element, a transposition took 0.3 ns an element, more
 * than the work on it.
 *
 * Where both sides are as long as W, the last blocks overlap those before. Where one is shorter, vectors are read or
 * written whole all the same, in the order of the targets, so that the next one overwrites what is too much; the last
 * ones, which would pass the end, go one by one. */
#define DEFINE_TRANSPOSE(W, type)                                                                                      \
    typedef type vector_##W __attribute__((vector_size(BLOCK)));                                                       \
    static inline __attribute__((always_inline)) void transpose_block_##W(const char *from, size_t apart, size_t read, \
                                                                          char *to, size_t to_apart, size_t written) { \
        vector_##W v[W] = {{0}}, w[W];                                                                                 \
        UNROLL_16 for (size_t i = 0; i < W; i++) if (i < read) memcpy(&v[i], from + i * apart, BLOCK);                 \
        TRANSPOSE(vector_##W, W, v, w)                                                                                 \
        UNROLL_16 for (size_t i = 0; i < W; i++) if (i < written) memcpy(to + i * to_apart, &v[i], BLOCK);             \
    }                                                                                                                  \
    static void transpose_##W(const char *from, size_t a_count, size_t b_count, char *to) {                            \
        enum { BYTES = BLOCK / W };                                                                                    \
        const size_t whole = a_count * b_count * BYTES, row = b_count * BYTES, to_row = a_count * BYTES;               \
        size_t a = 0, b = 0;                                                                                           \
        if (a_count >= W && b_count >= W) {                                                                            \
            for (; a < a_count; a += W) {                                                                              \
                const size_t a_at = least(a, a_count - W);                                                             \
                for (b = 0; b < b_count; b += W) {                                                                     \
                    const size_t b_at = least(b, b_count - W);                                                         \
                    transpose_block_##W(from + a_at * row + b_at * BYTES, row, W, to + b_at * to_row + a_at * BYTES,   \
                                        to_row, W);                                                                    \
                }                                                                                                      \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (; a + W <= a_count && (a + W - 1) * row + BLOCK <= whole; a += W)                                         \
            transpose_block_##W(from + a * row, row, W, to + a * BYTES, to_row, b_count);                              \
        if (a_count < W)                                                                                               \
            for (; b + W <= b_count && (b + W - 1) * to_row + BLOCK <= whole; b += W)                                  \
                transpose_block_##W(from + b * BYTES, row, a_count, to + b * to_row, to_row, W);                       \
        transpose_one_by_one(from, BYTES, a, a_count, b, b_count, to);                                                 \
    }
DEFINE_TRANSPOSE(2, uint64_t)
DEFINE_TRANSPOSE(4, uint32_t)
DEFINE_TRANSPOSE(8, uint16_t)
DEFINE_TRANSPOSE(16, uint8_t)

void tally_cpu_pack(const tally_cpu_instructions *instructions, const void *source, size_t row_bytes, size_t rows,
                    size_t groups, void *target) {
    if (instructions->transpose(source, row_bytes, groups, rows, target))
        return;
    const char *from = source;
    char *to = target;
    const size_t whole = rows * groups * row_bytes;
    switch (row_bytes) {
    case 1:
        transpose_16(from, groups, rows, to);
        return;
    case 2:
        transpose_8(from, groups, rows, to);
        return;
    case 4:
        transpose_4(from, groups, rows, to);
        return;
    case 8:
        transpose_2(from, groups, rows, to);
        return;
    case 16:
        transpose_one_by_one(from, 16, 0, groups, 0, rows, to);
        return;
    default:
        break;
    }
    const size_t blocks = divide_up(row_bytes, BLOCK), apart = rows * row_bytes, copied = blocks * BLOCK;
    for (size_t r = 0; r < rows; r++) {
        const char *const first = from + r * row_bytes;
        char *const next = to + r * groups * row_bytes;
        /* whole blocks of as many groups do not pass the end on either side */
        const size_t count = blocks > MOST_BLOCKS
                                 ? 0
                                 : least(rows_within(whole, r * row_bytes + copied, apart, groups),
                                         rows_within(whole, r * groups * row_bytes + copied, row_bytes, groups));
        switch (blocks) {
        case 1:
            copy_rows(first, apart, row_bytes, 1, count, next);
            break;
        case 2:
            copy_rows(first, apart, row_bytes, 2, count, next);
            break;
        case 3:
            copy_rows(first, apart, row_bytes, 3, count, next);
            break;
        default:
            copy_rows(first, apart, row_bytes, MOST_BLOCKS, count, next);
            break;
        }
        for (size_t g = count; g < groups; g++)
            memcpy(next + g * row_bytes, first + g * apart, row_bytes);
    }
}

/* A transposition undoes a transposition. */
void tally_cpu_unpack(const tally_cpu_instructions *instructions, const void *source, size_t row_bytes, size_t rows,
                      size_t groups, void *target) {
    tally_cpu_pack(instructions, source, row_bytes, groups, rows, target);
}
