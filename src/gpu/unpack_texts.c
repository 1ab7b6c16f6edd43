#include "gpu/unpack_texts.h"

#include <string.h>

static size_t count_of(unsigned half, const unsigned char **at) {
    size_t count = half;
    if (half == 15)
        do
            count += **at;
        while (*(*at)++ == 255);
    return count;
}

static size_t distance_of(const unsigned char **at) {
    size_t distance = 0;
    unsigned shift = 0;
    do {
        distance |= (size_t)(**at & 127) << shift;
        shift += 7;
    } while (*(*at)++ & 128);
    return distance;
}

void tally_unpack(const unsigned char *packed, size_t count, char *to) {
    const char *const end = to + count;
    while (to < end) {
        const unsigned step = *packed++;
        const size_t literals = count_of(step >> 4, &packed);
        memcpy(to, packed, literals);
        to += literals;
        packed += literals;
        if (to == end)
            break;
        const size_t repeated = count_of(step & 15, &packed) + TALLY_UNPACK_LEAST;
        const char *from = to - distance_of(&packed);
        for (size_t k = 0; k < repeated; k++) /* they may overlap what they give */
            *to++ = *from++;
    }
}
