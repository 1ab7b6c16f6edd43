/* Random numbers that are the same on every machine: splitmix64 (Steele, Lea and Flood 2014). */
#ifndef TALLY_ORACLE_RANDOM_H
#define TALLY_ORACLE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_bits(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 to bound - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t bound) {
    return (random_bits(state) >> 16) % bound;
}

/* [0, 1) */
static inline double random_unit(uint64_t *state) {
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

/* Roughly normal: mean 0, variance 1 (the sum of twelve uniform values less six). All 53 bits are random: squares of
 * numbers with few bits would all round as ties, in one direction. */
static inline double random_normal(uint64_t *state) {
    double sum = -6;
    for (int k = 0; k < 12; k++)
        sum += random_unit(state);
    return sum;
}

/* A seed for the n-th thing of a family, so that each can be replayed alone. */
static inline uint64_t seed_of(uint64_t seed, uint64_t n) {
    uint64_t state = seed ^ (n * 0xd1342543de82ef95u);
    return random_bits(&state);
}

#endif
