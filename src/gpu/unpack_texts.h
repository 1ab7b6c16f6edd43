/* Kernels' texts, which the build packs (pack_texts.c) and the first use unpacks. They are a third of their size so.
 *
 * The packed bytes are steps: a byte, more of its two counts where a half of it is 15, literal bytes, and how far back
 * the bytes to repeat begin. The byte's upper half is the number of literals, its lower half the number of repeated
 * bytes less TALLY_UNPACK_LEAST. A count goes on in bytes that are added up, the last of which is not 255. The distance
 * has 7 bits a byte, the lowest first; the top bit says that there are more. (The scheme is LZ4's, but for distances,
 * which are not bounded.) */
#ifndef TALLY_GPU_UNPACK_TEXTS_H
#define TALLY_GPU_UNPACK_TEXTS_H

#include <stddef.h>

enum { TALLY_UNPACK_LEAST = 4 };

/* Writes exactly 'count' bytes. */
void tally_unpack(const unsigned char *packed, size_t count, char *to);

#endif
