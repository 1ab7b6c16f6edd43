/* Exponentials and logarithms in lanes, for logsumexp. See simd.h. */
#ifndef TALLY_CPU_SIMD_EXP_H
#define TALLY_CPU_SIMD_EXP_H

#include "cpu/kernels/half.h"
#include "cpu/kernels/simd_lanes.h"

/* ln 2 in two parts; the first has 33 bits, so its product with an exponent is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33

/* exp(x) for -infinity <= x <= 0, with an error of about one unit in the last place; where exp(x) is below 2^-1020 it
 * is that. NaN stays.
 *
 * x = n ln 2 + r with |r| <= ln(2) / 2. A polynomial, interpolated at Chebyshev's points, gives (exp(r) - 1 - r) / r^2
 * with an error of at most 2^-55 of exp(r). */
ALWAYS_INLINE v_f64 exp_f64(v_f64 x) {
    const v_f64 zero = {0}, magic = zero + 0x1.8p52; /* adding it leaves the nearest integer in the lowest bits */
    x = larger_f64(zero - 707.0, x);
    const v_f64 shifted = add_product_f64(magic, x, zero + 0x1.71547652b82fep0);
    const v_f64 n = shifted - magic;
    v_f64 r = add_product_f64(x, n, zero - LN2_HIGH);
    r = add_product_f64(r, n, zero - LN2_LOW);
    v_f64 sum = zero + 0x1.af38e5e7b1a55p-26;
    sum = add_product_f64(zero + 0x1.2891b6514ff7cp-22, sum, r);
    sum = add_product_f64(zero + 0x1.71de0d950eaadp-19, sum, r);
    sum = add_product_f64(zero + 0x1.a019b8e3fdb17p-16, sum, r);
    sum = add_product_f64(zero + 0x1.a01a01a7caa3bp-13, sum, r);
    sum = add_product_f64(zero + 0x1.6c16c17896742p-10, sum, r);
    sum = add_product_f64(zero + 0x1.11111111109abp-7, sum, r);
    sum = add_product_f64(zero + 0x1.5555555553d48p-5, sum, r);
    sum = add_product_f64(zero + 0x1.5555555555556p-3, sum, r);
    sum = add_product_f64(zero + 0x1.0000000000001p-1, sum, r);
    sum = add_product_f64(zero + 1.0, sum, r);
    sum = add_product_f64(zero + 1.0, sum, r);
    return sum * (v_f64)(((v_u64)shifted + 1023) << 52);
}

/* The same for floats; at least 2^-126. r^2 is multiplied by a polynomial whose relative error is below
 * 2^-28. */
ALWAYS_INLINE v_f32 exp_f32(v_f32 x) {
    const v_f32 zero = {0}, magic = zero + 0x1.8p23f;
    x = larger_f32(zero - 87.0f, x);
    const v_f32 shifted = add_product_f32(magic, x, zero + 0x1.715476p0f);
    const v_f32 n = shifted - magic;
    v_f32 r = add_product_f32(x, n, zero - 0x1.62e4p-1f);
    r = add_product_f32(r, n, zero - 0x1.7f7d1cp-20f);
    v_f32 sum = zero + 0x1.6a2416p-10f;
    sum = add_product_f32(zero + 0x1.1239f2p-7f, sum, r);
    sum = add_product_f32(zero + 0x1.5558f2p-5f, sum, r);
    sum = add_product_f32(zero + 0x1.555492p-3f, sum, r);
    sum = add_product_f32(zero + 0x1.fffffcp-2f, sum, r);
    sum = add_product_f32(zero + 1.0f, sum, r);
    sum = add_product_f32(zero + 1.0f, sum, r);
    return sum * (v_f32)(((v_u32)shifted + 127) << 23);
}

/* log(x) for x = 0, which gives -infinity, for infinity, NaN and positive normal numbers, to about one unit in the last
 * place. Without branches and calls, so that a compiler can take it into lanes.
 *
 * x = 2^k m with m between sqrt(1/2) and sqrt(2), and log(m) = 2 artanh(s) with s = (m - 1) / (m + 1). A polynomial,
 * interpolated at Chebyshev's points, gives (log(m) - 2 s) / s^3 with an error of at most 2^-57 of log(m). (By the
 * series up to s^21 a running logsumexp of f32 took 1.7 ns an element, so 1.4.) */
#if defined(__FMA__)
#define MULTIPLY_ADD(x, y, z) __builtin_fma(x, y, z)
#else
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif
ALWAYS_INLINE double plain_log(double x) {
    const uint64_t root_half = 0x3fe6a09e667f3bcd, magic = 0x4338000000000000; /* the bits of sqrt(1/2) and 0x1.8p52 */
    const uint64_t exponent_up = tally_bits_of_double(x) - root_half + (1ull << 62);
    const uint64_t k = (exponent_up >> 52) - 1024;
    double m, exponent;
    const uint64_t m_bits = tally_bits_of_double(x) - (k << 52), k_bits = magic + k;
    memcpy(&m, &m_bits, sizeof m);
    memcpy(&exponent, &k_bits, sizeof exponent);
    exponent -= 0x1.8p52;
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 0x1.2b584aae78c14p-3;
    sum = MULTIPLY_ADD(sum, z, 0x1.39fe606542dbap-3);
    sum = MULTIPLY_ADD(sum, z, 0x1.7462b4ab2ef6cp-3);
    sum = MULTIPLY_ADD(sum, z, 0x1.c71c62e5800a1p-3);
    sum = MULTIPLY_ADD(sum, z, 0x1.2492492df148dp-2);
    sum = MULTIPLY_ADD(sum, z, 0x1.99999999952e2p-2);
    sum = MULTIPLY_ADD(sum, z, 0x1.5555555555558p-1);
    const double value = exponent * LN2_HIGH + (2 * s + (s * z * sum + exponent * LN2_LOW));
    const double otherwise = x == 0 ? -(double)INFINITY : x; /* infinity or NaN */
    return ((x > 0) & (x < (double)INFINITY)) ? value : otherwise;
}
#undef MULTIPLY_ADD

/* exp(x - m) for x <= m, and 1 where x is m, even if both are infinite. */
ALWAYS_INLINE v_f64 shifted_exp_f64(v_f64 x, v_f64 m) {
    return SELECT_LANES(f64, (x == m), (v_f64){0} + 1.0, exp_f64(x - m));
}
ALWAYS_INLINE v_f32 shifted_exp_f32(v_f32 x, v_f32 m) {
    return SELECT_LANES(f32, (x == m), (v_f32){0} + 1.0f, exp_f32(x - m));
}

/* exp(x - m) of integers x <= m: the product of two numbers out of tables of eight, which fit in a register. Below -63
 * it is e^-63, at most 2^-90 of a sum that has an element m. */
ALWAYS_INLINE v_f64 integer_exp(v_i64 x, v_i64 m) {
    static const _Alignas(64) s_f64 low[8] = {0x1.0p+0,
                                              0x1.78b56362cef38p-2,
                                              0x1.152aaa3bf81ccp-3,
                                              0x1.97db0ccceb0afp-5,
                                              0x1.2c155b8213cf4p-6,
                                              0x1.b993fe00d5376p-8,
                                              0x1.44e51f113d4d6p-9,
                                              0x1.de16b9c24a98fp-11};
    static const _Alignas(64) s_f64 high[8] = {0x1.0p+0,
                                               0x1.5fc21041027adp-12,
                                               0x1.e355bbaee85cbp-24,
                                               0x1.4c1078fe9228ap-35,
                                               0x1.c8464f7616468p-47,
                                               0x1.39792499b1a24p-58,
                                               0x1.aebabae3a41b5p-70,
                                               0x1.27ec458c65e3cp-81};
    const v_u64 d = min_u64((v_u64)m - (v_u64)x, (v_u64){0} + 63);
#if defined(__AVX512F__)
    return _mm512_permutexvar_pd((__m512i)d, _mm512_load_pd(low)) *
           _mm512_permutexvar_pd((__m512i)(d >> 3), _mm512_load_pd(high));
#else
    v_f64 value;
    for (size_t l = 0; l < LANES_OF(s_f64); l++)
        value[l] = low[d[l] % 8] * high[d[l] / 8];
    return value;
#endif
}

/* s exp(m - l) + t exp(n - l), l being the larger of m and n. */
ALWAYS_INLINE v_f64 sum_of_exps_f64(v_f64 m, v_f64 s, v_f64 n, v_f64 t) {
    const v_f64 below = SELECT_LANES(f64, (m < n), m - n, n - m);
    const v_f64 e = SELECT_LANES(f64, (m == n), (v_f64){0} + 1.0, exp_f64(below));
    return SELECT_LANES(f64, (m < n), s * e + t, s + t * e);
}

#endif
