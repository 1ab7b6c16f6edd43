/* Part of the build, not of the library: packs bytes in the format of unpack_bytes.h. */
#ifndef TALLY_GPU_PACK_BYTES_H
#define TALLY_GPU_PACK_BYTES_H

#include <stddef.h>
#include <stdio.h>

/* Room for what 'count' bytes become, however hard they are to pack. */
static inline size_t tally_pack_room(size_t count) {
    return 8 * count + 1024;
}

/* Returns how many bytes it wrote, with those that a reader may peek at. */
size_t tally_pack(const unsigned char *bytes, size_t count, unsigned char *to);

/* Writes what a C source needs to unpack the bytes into its 'array', which is declared before: the packed bytes, and a
 * function, which does so at its first call. Ends the program if they do not come out as they were. */
void tally_print_packed(const unsigned char *bytes, size_t count, const char *array, const char *function,
                        FILE *source);

#endif
