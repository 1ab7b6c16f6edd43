#include "gpu/unpack_bytes.h"

#include <string.h>

enum {
    TABLE = 1 << TALLY_UNPACK_CODE_BITS,
    LENGTH_SHIFT = 12,
    MOVED = 8 /* bytes: two moves take less time than a loop, and most repetitions are short (4.6 ms instead of 5.7) */
};

/* By the next CODE_BITS bits: a symbol, and above it how many of these bits are its code. */
typedef uint16_t table[TABLE];

/* A place among packed bits: the next ones, from the top down, how many these are, and the bytes that follow. */
typedef struct place {
    const unsigned char *bytes;
    uint64_t bits;
    unsigned count;
} place;

/* Codes are canonical: shorter ones come first, and those of a length are in the order of their symbols. */
static void make_table(const unsigned char *lengths, uint16_t *entry) {
    for (unsigned length = 1; length <= TALLY_UNPACK_CODE_BITS; length++)
        for (unsigned symbol = 0; symbol < TALLY_UNPACK_SYMBOLS; symbol++)
            if ((lengths[symbol / 2] >> (symbol % 2 ? 0 : 4) & 15u) == length)
                for (unsigned k = 0; k < 1u << (TALLY_UNPACK_CODE_BITS - length); k++)
                    *entry++ = (uint16_t)(symbol | length << LENGTH_SHIFT);
}

/* A symbol and its class's low bits take at most 32 bits. */
static inline void have_bits(place *at) {
    if (at->count < 32) {
        const unsigned char *const b = at->bytes;
        const uint32_t more = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        at->bits |= (uint64_t)more << (32 - at->count);
        at->count += 32;
        at->bytes += sizeof more;
    }
}

static inline unsigned take(place *at, unsigned bits) {
    const unsigned taken = (unsigned)(at->bits >> 1 >> (63 - bits));
    at->bits <<= bits;
    at->count -= bits;
    return taken;
}

static inline unsigned next_symbol(place *at, const uint16_t *code) {
    have_bits(at);
    const unsigned entry = code[at->bits >> (64 - TALLY_UNPACK_CODE_BITS)];
    take(at, entry >> LENGTH_SHIFT);
    return entry & ((1 << LENGTH_SHIFT) - 1);
}

static inline uint32_t number_of(place *at, unsigned class) {
    if (class < 4)
        return class;
    const unsigned bits = class / 2 - 1;
    return ((uint32_t)(2 + class % 2) << bits) + take(at, bits);
}

void tally_unpack(const unsigned char *packed, size_t count, void *bytes) {
    table codes[TALLY_UNPACK_CODES];
    uint32_t recent[TALLY_UNPACK_RECENT] = {0};
    unsigned char *to = bytes;
    const unsigned char *const end = to + count;
    tally_unpack_code code = TALLY_UNPACK_AFTER_LITERAL;
    for (int k = 0; k < TALLY_UNPACK_CODES; k++, packed += TALLY_UNPACK_SYMBOLS / 2)
        make_table(packed, codes[k]);
    for (place at = {packed, 0, 0}; to < end;) {
        const unsigned symbol = next_symbol(&at, codes[code]);
        code = symbol < TALLY_UNPACK_LITERALS ? TALLY_UNPACK_AFTER_LITERAL : TALLY_UNPACK_AFTER_REPETITION;
        if (symbol < TALLY_UNPACK_LITERALS) {
            *to++ = (unsigned char)symbol;
            continue;
        }
        const uint32_t repeated = number_of(&at, symbol - TALLY_UNPACK_LITERALS) + TALLY_UNPACK_LEAST;
        const unsigned which = next_symbol(&at, codes[TALLY_UNPACK_DISTANCE]);
        const uint32_t distance =
            which < TALLY_UNPACK_RECENT ? recent[which] : 1 + number_of(&at, which - TALLY_UNPACK_RECENT);
        tally_unpack_renew(recent, which, distance);
        const unsigned char *from = to - distance;
        if (repeated <= 2 * MOVED && distance >= MOVED && end - to >= 2 * MOVED) { /* the rest is written anew */
            memcpy(to, from, MOVED);
            memcpy(to + MOVED, from + MOVED, MOVED);
            to += repeated;
            continue;
        }
        for (uint32_t k = 0; k < repeated; k++) /* they may overlap what they give */
            *to++ = *from++;
    }
}
