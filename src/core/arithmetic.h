/* Integer arithmetic for cutting work into parts. */
#ifndef TALLY_CORE_ARITHMETIC_H
#define TALLY_CORE_ARITHMETIC_H

#include <stdint.h>

static inline uint64_t divide_up(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

/* The next multiple of 'to'. */
static inline uint64_t round_up(uint64_t value, uint64_t to) {
    return divide_up(value, to) * to;
}

static inline uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

#endif
