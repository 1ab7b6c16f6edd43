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

/* Writes a C source, 'static const unsigned char packed[]', after it has unpacked that again and compared; ends the
 * program if that fails. */
void tally_print_packed(const unsigned char *bytes, size_t count, FILE *source);

#endif
