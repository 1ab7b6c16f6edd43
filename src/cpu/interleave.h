/* Vectors interleaved in halves, from which transpositions are made: with p and q of W lanes, INTERLEAVE(V, p, q,
 * LOWER_W) is p0 q0 p1 q1 ... of the lower halves, and UPPER_W of the upper ones. */
#ifndef TALLY_CPU_INTERLEAVE_H
#define TALLY_CPU_INTERLEAVE_H

#if defined(__clang__)
#define INTERLEAVE(V, p, q, ...) __builtin_shufflevector(p, q, __VA_ARGS__)
#else
#define INTERLEAVE(V, p, q, ...) __builtin_shuffle(p, q, (V){__VA_ARGS__})
#endif
#define LOWER_2   0, 2
#define UPPER_2   1, 3
#define LOWER_4   0, 4, 1, 5
#define UPPER_4   2, 6, 3, 7
#define LOWER_8   0, 8, 1, 9, 2, 10, 3, 11
#define UPPER_8   4, 12, 5, 13, 6, 14, 7, 15
#define LOWER_16  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER_16  8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define UNROLL_16 _Pragma("GCC unroll 16")

/* Transposes W vectors of W lanes, v; w is scratch. log2(W) times, each vector of the first half is interleaved with
 * one of the second half. */
#define TRANSPOSE(V, W, v, w)                                                                                          \
    UNROLL_16 for (size_t round = 1; round < W; round *= 2) {                                                          \
        UNROLL_16 for (size_t i = 0; i < W / 2; i++) {                                                                 \
            w[2 * i] = INTERLEAVE(V, v[i], v[i + W / 2], LOWER_##W);                                                   \
            w[2 * i + 1] = INTERLEAVE(V, v[i], v[i + W / 2], UPPER_##W);                                               \
        }                                                                                                              \
        UNROLL_16 for (size_t i = 0; i < W; i++) v[i] = w[i];                                                          \
    }

#endif
