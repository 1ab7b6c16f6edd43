/* Running means of as many stretches of a run side by side as a vector has lanes, as in moments_beside.h. Included in
 * moments_scan.c. */
#ifndef TALLY_CPU_MEANS_BESIDE_H
#define TALLY_CPU_MEANS_BESIDE_H

#include "cpu/kernels/moments_beside.h"

/* out[0 .. n - 1] = running means of whole tiles, BLOCK elements at most; 'before' is the sum of the 'count' elements
 * before them, and becomes that of all. */
ALWAYS_INLINE void scan_means_beside(const void *x, size_t n, double *before, double count, bool narrow, void *out) {
    _Alignas(64) double turned[BLOCK];
    const size_t rows = n / LANES;
    const v_f64 zero = {0};
    double numbers[LANES];
    size_t at[LANES], first[LANES];
    v_f64 tile[LANES], sum = zero, number;
    for (size_t l = 0; l < LANES; l++) {
        at[l] = first[l] = l * rows;
        numbers[l] = count + (double)(l * rows);
    }
    for (size_t r = 0; r < rows; r += LANES) {
        take_tile(x, at, narrow, tile);
        v_f64 halves[2] = {zero, zero};
        UNROLL_8 for (size_t k = 0; k < LANES; k++) {
            memcpy(turned + (r + k) * LANES, &tile[k], sizeof tile[k]);
            halves[k % 2] += tile[k];
        }
        sum += halves[0] + halves[1];
        for (size_t l = 0; l < LANES; l++)
            at[l] += LANES;
    }
    const v_f64 own = sums_up_to(sum);
    sum = shift_up_f64(own, zero, 1);
    memcpy(&number, numbers, sizeof number);
    for (size_t r = 0; r < rows; r += LANES) {
        const v_f64 all = *before + sum;
        v_f64 of_tile = zero;
        UNROLL_8 for (size_t k = 0; k < LANES; k++) {
            v_f64 v;
            memcpy(&v, turned + (r + k) * LANES, sizeof v);
            of_tile += v;
            number += 1.0;
            v = all + of_tile;
            v = narrow ? near_quotient(v, number) : v / number;
            tile[k] = SELECT_LANES(f64, (v == v), v, zero + (double)NAN); /* without a payload */
        }
        sum += of_tile;
        put_tile(tile, first, false, narrow, out);
        for (size_t l = 0; l < LANES; l++)
            first[l] += LANES;
    }
    *before += own[LANES - 1];
}

#endif
