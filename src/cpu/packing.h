/* Short rows of neighbouring groups side by side, so that narrow columns become wide ones: 'groups' groups of 'rows'
 * rows of 'row_bytes' bytes each become 'rows' rows of all groups' columns, and back. */
#ifndef TALLY_CPU_PACKING_H
#define TALLY_CPU_PACKING_H

#include <stddef.h>
#include <stdint.h>

struct tally_cpu_instructions;

enum {
    /* Columns of packed groups: enough to fill vectors and to pay for the calls. */
    TALLY_CPU_PACKED_COLUMNS = 512,
    /* The bytes of packed rows, half of a first-level cache. */
    TALLY_CPU_PACKED_BYTES = 16 * 1024,
    /* Rows of more bytes fill vectors as they are, unless groups are small. */
    TALLY_CPU_PACKED_ROW_BYTES = 63,
    /* Packed rows may be followed by as many bytes that mean nothing. */
    TALLY_CPU_PACKED_SLACK = 64
};

/* A group of so few bytes takes longer by a call of its own, in reductions and in scans. (2 x 20 of f32: sums 0.96 ns
 * an element and 0.60 packed; sums in 10 x 20 0.25 and 0.28; sums of i16 in 4 x 100 0.28 and 0.21, but smallest and
 * largest of f64 in 3 x 40 0.62 and 0.74. Scans on a Zen 5: minmax of u8 in 10 x 70 0.22 and 0.10, argmax of f32 in 3 x
 * 70 0.74 and 0.49, counts 0.51 and 0.37, norm_inf of i64 0.32 and 0.35; reductions of 2048 bytes lose with AVX2,
 * smallest of i32 in 6 x 70 by 1.76.) */
enum { TALLY_CPU_SMALL_GROUP = 1024, TALLY_CPU_SMALL_SCAN = 2048 };

/* How many groups are packed at a time; 0 if it would not pay. 'bytes' are of an element, the larger of both sides;
 * groups whose rows fill vectors have 'small_group' bytes at most. */
size_t tally_cpu_packed_groups(uint64_t rows, uint64_t columns, size_t bytes, size_t small_group);

/* Each reads and writes nothing outside of the groups. 'instructions' are a level's. */
void tally_cpu_pack(const struct tally_cpu_instructions *instructions, const void *from, size_t row_bytes, size_t rows,
                    size_t groups, void *to);
void tally_cpu_unpack(const struct tally_cpu_instructions *instructions, const void *from, size_t row_bytes,
                      size_t rows, size_t groups, void *to);

#endif
