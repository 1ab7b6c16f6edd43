/* Bytes that the build packs (pack_bytes.c) and the first use unpacks: the texts of kernels, and modules of SPIR-V.
 *
 * The scheme is deflate's without its window of 32 KB. The packed bytes are symbols in canonical Huffman codes: a
 * literal byte, or the number of bytes to repeat, which is followed by how far back these begin. A distance may be one
 * of the last three, since what repeats with one byte changed goes on at the same distance. There are three codes: for
 * what follows a literal, for what follows a repetition, and for distances. Their lengths come first, two in a byte.
 *
 * A number is a symbol for its class and the class's low bits: numbers below 4 are classes themselves, and each power
 * of two above has two classes. */
#ifndef TALLY_GPU_UNPACK_BYTES_H
#define TALLY_GPU_UNPACK_BYTES_H

#include <stddef.h>
#include <stdint.h>

enum {
    TALLY_UNPACK_LITERALS = 256, /* classes of repeated bytes come behind them */
    TALLY_UNPACK_LEAST = 2,      /* of repeated bytes */
    TALLY_UNPACK_RECENT = 3,     /* symbols of distances; classes come behind them */
    TALLY_UNPACK_SYMBOLS = 320,
    TALLY_UNPACK_CODE_BITS = 11, /* of the longest code */
    TALLY_UNPACK_PEEK_BYTES = 8  /* that may be read behind the last bit */
};

typedef enum tally_unpack_code {
    TALLY_UNPACK_AFTER_LITERAL,
    TALLY_UNPACK_AFTER_REPETITION,
    TALLY_UNPACK_DISTANCE,
    TALLY_UNPACK_CODES
} tally_unpack_code;

/* Distance 'which' of the last three becomes the latest; 'which' is TALLY_UNPACK_RECENT for one that is new. */
static inline void tally_unpack_renew(uint32_t recent[TALLY_UNPACK_RECENT], unsigned which, uint32_t distance) {
    for (unsigned k = which < TALLY_UNPACK_RECENT ? which : TALLY_UNPACK_RECENT - 1; k > 0; k--)
        recent[k] = recent[k - 1];
    recent[0] = distance;
}

/* Writes exactly 'count' bytes. */
void tally_unpack(const unsigned char *packed, size_t count, void *to);

#endif
