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

/* How many groups are packed at a time; 0 if it would not pay. 'bytes' are of an element, the larger of both sides. */
size_t tally_cpu_packed_groups(uint64_t rows, uint64_t columns, size_t bytes);

/* Each reads and writes nothing outside of the groups. 'instructions' are a level's. */
void tally_cpu_pack(const struct tally_cpu_instructions *instructions, const void *from, size_t row_bytes, size_t rows,
                    size_t groups, void *to);
void tally_cpu_unpack(const struct tally_cpu_instructions *instructions, const void *from, size_t row_bytes,
                      size_t rows, size_t groups, void *to);

#endif
