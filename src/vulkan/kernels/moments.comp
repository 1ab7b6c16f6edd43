/* Running variances, for scans of var and std and for their reductions by keys. An element at distance d from the mean
 * of the n - 1 elements before it adds d^2 (n - 1) / n to the sum of squares about the mean (Welford, 1962). So two
 * scans of sums suffice: the first adds up distances from a shift, from which follows the mean before each element, and
 * the second these squares, none of which is below 0. The number of elements follows from positions. With NaNs left out
 * it does not, and the kernels that all monoids have take those runs. */

const uint ROUNDS = 2; /* units that a thread has of a tile */
#define UNIT         (IN_LOG == 3 ? 2u : 4u) /* neighbouring elements, and one access */
#define MOMENTS_TILE (ROUNDS * UNIT * BLOCK)

/* Of a number from 1 to 2^65, to the last bit or two: Newton's steps double the 22 bits of a float's reciprocal. The float
 * and its reciprocal are made of the bits, because a conversion is a quarter as fast as an addition. */
double reciprocal(double n) {
    const uint apart = 1023u - 127u << 20;
    const uvec2 bits = unpackDouble2x32(n);
    const uint near = floatBitsToUint(1.0 / uintBitsToFloat(bits.y - apart << 3 | bits.x >> 29));
    const double r = packDouble2x32(uvec2(near << 29, (near >> 3) + apart)), s = fma(fma(-n, r, 1.0lf), r, r);
    return fma(fma(-n, s, 1.0lf), s, s);
}

/* What the n-th element of a group adds to the squares. One that is not finite adds a NaN or, if it is no double,
 * anything that is not finite. Doubles whose squares overflow add infinity. */
double square_of(double x, double shift, double distances, double inverse, double inverse_before) {
    const double away = (x - shift) - distances * inverse_before, square = away * away * (1.0lf - inverse);
    if (IN == F64 && !is_finite(square))
        return is_finite(x) ? HIGHEST : NOT_A_NUMBER;
    return square;
}

/* output_of() of a number that is not below 0, in few instructions. Below the least normal result, units of the last
 * place are added to 2^52, whose low word then has them. */
wide near_output_of(double x) {
    const uvec2 bits = unpackDouble2x32(x);
    if (OUT == F64)
        return bits;
    const uint bias = OUT == F16 ? 1023u - 15u : 1023u - 127u, drop = OUT == F16 ? 10u : 13u;
    const uint high = bits.y - (bias << 20);
    const uint last = bias + (OUT == F16 ? 31u : 255u); /* exponents from here on are too large */
    const uint kept = OUT == F32 ? high << 3 | bits.x >> 29 : high >> drop;
    const uint rest = OUT == F32 ? bits.x << 3 : high << 32u - drop | min(bits.x, 1u);
    const bool up = rest > 0x80000000u || rest == 0x80000000u && (kept & 1u) != 0;
    const double unit = packDouble2x32(uvec2(0, uint(1023 - lowest_exponent(OUT)) << 20));
    const uint small = unpackDouble2x32(fma(x, unit, 4503599627370496.0lf)).x, exponent = bits.y >> 20;
    return wide_of(exponent <= bias ? small : exponent >= last ? infinity_bits(OUT).x : kept + (up ? 1u : 0u));
}

/* 'inverse' is that of n - ddof, by which the squares are divided. */
wide output_of_moments(double squares, double n, double inverse) {
    const double divisor = n - double(told_ddof);
    if (!(divisor > 0))
        return nan_bits(OUT);
    if (!is_finite(squares))
        return IN == F64 && !is_nan(squares) ? infinity_bits(OUT) : nan_bits(OUT);
    const double rough = squares * inverse, variance = fma(fma(-rough, divisor, squares), inverse, rough);
    return near_output_of(GIVES_DEVIATION ? sqrt(variance) : variance);
}
wide output_of_moments(double squares, double n) {
    return output_of_moments(squares, n, reciprocal(n - double(told_ddof)));
}

/* A group and its elements so far: the sum of their distances from the shift, and of the squares about their mean. */
struct moments_t {
    double shift, distances, squares;
    wide begin; /* the position of its first element */
};
double inverse_of_count(double n) {
    return n > 0 ? reciprocal(n) : 0.0lf;
}

/* The number of a group's elements so far; its inverse, and that of one less. */
struct count_t {
    double n, inverse, before;
};
count_t count_of(double n) {
    return count_t(n, inverse_of_count(n), 0.0lf);
}
count_t next_count(count_t c) {
    return count_t(c.n + 1, reciprocal(c.n + 1), c.inverse);
}
/* Of what the squares are divided by, which is above 0. */
double inverse_of_divisor(count_t c) {
    double inverse = mix(c.inverse, c.before, told_ddof == 1);
    if (told_ddof < 0 || told_ddof > 1)
        inverse = reciprocal(c.n - double(told_ddof));
    return inverse;
}

/* With one more element, which c counts. */
moments_t with_element(moments_t run, double x, count_t c) {
    run.squares += square_of(x, run.shift, run.distances, c.inverse, c.before);
    run.distances += x - run.shift;
    return run;
}

/* Moves the shift to the mean of n elements. */
moments_t about_mean(moments_t run, double n) {
    if (!is_finite(run.squares) || !is_finite(run.distances))
        return run;
    const double apart = run.distances * reciprocal(n);
    precise const double mean = run.shift + apart, part = mean - run.shift;
    precise const double rest = (run.shift - (mean - part)) + (apart - part); /* Knuth's two-sum */
    run.shift = mean;
    run.distances = n * rest;
    return run;
}

/* From an accumulator; without elements the shift is the first one to come. */
moments_t moments_from(acc_t acc, wide begin, double first) {
    const bool is_mean = acc.a0 != 0 && is_finite(acc.a1);
    const double distances = acc.a0 * acc.a2;
    return moments_t(is_mean ? acc.a1 : first, is_mean && is_finite(distances) ? distances : 0.0lf, acc.a3, begin);
}
acc_t acc_from(moments_t of_any_shift, double n) {
    const moments_t run = about_mean(of_any_shift, n);
    return acc_t(n, run.shift, run.distances * reciprocal(n), run.squares);
}
