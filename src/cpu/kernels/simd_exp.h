/* Exponentials and logarithms in lanes, for logsumexp. See simd.h. */
#ifndef TALLY_CPU_SIMD_EXP_H
#define TALLY_CPU_SIMD_EXP_H

#include "cpu/kernels/half.h"
#include "cpu/kernels/simd_lanes.h"

/* ln 2 in two parts; the first has 33 bits, so its product with an exponent is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33
#define LN2      0x1.62e42fefa39efp-1

/* Elements below 2^-LOST_OCTAVES are taken for that, which is nothing beside sums of at least 2^-LEAST_OCTAVES. */
enum { LOST_OCTAVES = 100, LEAST_OCTAVES = 64 };

/* x = (UNITS k + i) ln(2) / UNITS + r: the number UNITS k + i is in the lowest bits of 'shifted', with EXP_BIAS * UNITS
 * added to it, so that k + EXP_BIAS has the exponent's width and its highest bits are 0. */
#if defined(__AVX512F__)
enum { EXP_UNITS = 16 };
#else
enum { EXP_UNITS = 1 };
#endif
#define EXP_BIAS_f32  192
#define EXP_BIAS_f64  1536
#define EXP_MAGIC_f32 (0x1.8p23f + EXP_BIAS_f32 * EXP_UNITS)
#define EXP_MAGIC_f64 (0x1.8p52 + EXP_BIAS_f64 * EXP_UNITS)
#define UNITS_OF_f32  (0x1.715476p0f * EXP_UNITS) /* of a number, about */
#define UNITS_OF_f64  (0x1.71547652b82fep0 * EXP_UNITS)

/* exp(x), of its two parts.
 *
 * With 512-bit vectors a table in two registers has 2^(i / 16), and a polynomial, interpolated at Chebyshev's points,
 * gives exp(r) - 1 with an error of at most 2^-55. Elsewhere a longer one gives (exp(r) - 1 - r) / r^2. */
ALWAYS_INLINE v_f64 exp_of_units_f64(v_f64 shifted, v_f64 r) {
    const v_f64 zero = {0};
#if defined(__AVX512F__)
    /* without the bias, and without i in the bits that i reaches when 'shifted' is added to the exponent */
    static const _Alignas(64)
        uint64_t powers[16] = {0xdff0000000000000, 0xdfefb5586cf9890f, 0xdfef72b83c7d517b, 0xdfef387a6e756238,
                               0xdfef06fe0a31b715, 0xdfeedea64c123422, 0xdfeebfdad5362a27, 0xdfeeab07dd485429,
                               0xdfeea09e667f3bcd, 0xdfeea11473eb0187, 0xdfeeace5422aa0db, 0xdfeec49182a3f090,
                               0xdfeee89f995ad3ad, 0xdfef199bdd85529c, 0xdfef5818dcfba487, 0xdfefa4afa2a490da};
    const v_f64 r2 = r * r;
    v_f64 sum = add_product_f64(zero + 0x1.11120bf7291fap-7, zero + 0x1.6c17bc52194bep-10, r);
    sum = add_product_f64(add_product_f64(zero + 0x1.55555554dc4e3p-3, zero + 0x1.5555555518d1dp-5, r), sum, r2);
    sum = add_product_f64(add_product_f64(r, zero + 0.5, r2), sum, r * r2);
    const v_u64 power =
        (v_u64)_mm512_permutex2var_epi64(_mm512_load_si512(powers), (__m512i)shifted, _mm512_load_si512(powers + 8));
    const v_f64 scale = (v_f64)(power + ((v_u64)shifted << 48));
    return add_product_f64(scale, scale, sum);
#else
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
    return sum * (v_f64)(((v_u64)shifted - (EXP_BIAS_f64 - 1023)) << 52);
#endif
}

/* exp(x) for -infinity <= x <= 0, with an error of about one unit in the last place; where exp(x) is below 2^-1020 it
 * is that. NaN stays. ln(2) / 16 is one number: its own error counts |x| / 3 units in the last place, less than that of
 * a difference x. */
ALWAYS_INLINE v_f64 exp_f64(v_f64 x) {
    const v_f64 zero = {0}, magic = zero + EXP_MAGIC_f64; /* adding it leaves the nearest integer in the lowest bits */
    x = larger_f64(zero - 707.0, x);
    const v_f64 shifted = add_product_f64(magic, x, zero + UNITS_OF_f64), n = shifted - magic;
#if defined(__AVX512F__)
    const v_f64 r = add_product_f64(x, n, zero - 0x1.62e42fefa39efp-5);
#else
    v_f64 r = add_product_f64(x, n, zero - LN2_HIGH);
    r = add_product_f64(r, n, zero - LN2_LOW);
#endif
    return exp_of_units_f64(shifted, r);
}

/* The same for floats; exp(x) is at least 2^-126. The polynomials' relative errors are below 2^-27. */
ALWAYS_INLINE v_f32 exp_of_units_f32(v_f32 shifted, v_f32 r) {
    const v_f32 zero = {0};
#if defined(__AVX512F__)
    static const _Alignas(64) uint32_t powers[16] = {
        0xdf800000, 0xdf7daac3, 0xdf7b95c2, 0xdf79c3d3, 0xdf7837f0, 0xdf76f532, 0xdf75fed7, 0xdf75583f,
        0xdf7504f3, 0xdf7508a4, 0xdf75672a, 0xdf76248c, 0xdf7744fd, 0xdf78ccdf, 0xdf7ac0c7, 0xdf7d257d};
    v_f32 sum = add_product_f32(zero + 0x1.00014ap-1f, zero + 0x1.55565cp-3f, r);
    sum = add_product_f32(zero + 1.0f, sum, r) * r;
    const v_u32 power = (v_u32)_mm512_permutexvar_epi32((__m512i)shifted, _mm512_load_si512(powers));
    const v_f32 scale = (v_f32)(power + ((v_u32)shifted << 19));
    return add_product_f32(scale, scale, sum);
#else
    v_f32 sum = zero + 0x1.6a2416p-10f;
    sum = add_product_f32(zero + 0x1.1239f2p-7f, sum, r);
    sum = add_product_f32(zero + 0x1.5558f2p-5f, sum, r);
    sum = add_product_f32(zero + 0x1.555492p-3f, sum, r);
    sum = add_product_f32(zero + 0x1.fffffcp-2f, sum, r);
    sum = add_product_f32(zero + 1.0f, sum, r);
    sum = add_product_f32(zero + 1.0f, sum, r);
    return sum * (v_f32)(((v_u32)shifted - (EXP_BIAS_f32 - 127)) << 23);
#endif
}

/* 'low' is what x has lost. */
ALWAYS_INLINE v_f32 exp_of_parts_f32(v_f32 x, v_f32 low, bool has_low) {
    const v_f32 zero = {0}, magic = zero + EXP_MAGIC_f32;
    x = has_low ? x : larger_f32(zero - 87.0f, x); /* with a rest it is no lower */
    const v_f32 shifted = add_product_f32(magic, x, zero + UNITS_OF_f32), n = shifted - magic;
#if defined(__AVX512F__)
    v_f32 r = add_product_f32(x, n, zero - 0x1.62e43p-5f);
#else
    v_f32 r = add_product_f32(x, n, zero - 0x1.62e4p-1f);
    r = add_product_f32(r, n, zero - 0x1.7f7d1cp-20f);
#endif
    r = has_low ? r + low : r;
    return exp_of_units_f32(shifted, r);
}
ALWAYS_INLINE v_f32 exp_f32(v_f32 x) {
    return exp_of_parts_f32(x, x, false);
}

/* exp(x - m) for -infinity <= x <= m, which is finite. A difference of floats is rounded by as much as four units of
 * 2^-24 if it is -8, so its rest counts, too (Knuth's two-sum). */
ALWAYS_INLINE v_f32 exp_of_difference_f32(v_f32 x, v_f32 m) {
    x = larger_f32(m - 87.0f, x);
    const v_f32 d = x - m, part = d - x;
    return exp_of_parts_f32(d, (x - (d - part)) - (m + part), true);
}
ALWAYS_INLINE v_f64 exp_of_difference_f64(v_f64 x, v_f64 m) {
    return exp_f64(x - m);
}

/* exp(x) 2^-K for any K of at most MOST_OCTAVES: no difference is rounded, and no element need be the largest. 'magic'
 * is EXP_MAGIC less UNITS K. OCTAVES_SEEN is 0 if all x were such that exp(x) 2^-K is below 2^64 and, of floats, not
 * below 2^-126; x that are not finite are not. */
#if defined(__AVX512F__)
#define MOST_OCTAVES_f32 258000.0f
#elif defined(__FMA__)
#define MOST_OCTAVES_f32 0x1p17f
#else
#define MOST_OCTAVES_f32 256.0f /* a product of an integer and the first part of ln(2) must be exact */
#endif
#if defined(__FMA__)
#define MOST_OCTAVES_f64 0x1p40
#else
#define MOST_OCTAVES_f64 0x1p19
#endif
#define OCTAVES_SEEN_f32(seen) any_bit((v_u64)((seen) >> (8 + (EXP_UNITS == 16 ? 4 : 0))))
#define OCTAVES_SEEN_f64(seen) any_bit((seen) >> (11 + (EXP_UNITS == 16 ? 4 : 0)))
typedef v_u32 octaves_f32;
typedef v_u64 octaves_f64;
ALWAYS_INLINE v_f32 exp_about_f32(v_f32 x, v_f32 magic, octaves_f32 *seen) {
    const v_f32 zero = {0}, shifted = add_product_f32(magic, x, zero + UNITS_OF_f32), n = shifted - magic;
#if defined(__AVX512F__)
    v_f32 r = add_product_f32(x, n, zero - 0x1.62e43p-5f);
    r = add_product_f32(r, n, zero + 0x1.05c61p-33f);
#else
    v_f32 r = add_product_f32(x, n, zero - 0x1.62e4p-1f);
    r = add_product_f32(r, n, zero - 0x1.7f7d1cp-20f);
#endif
    *seen |= (v_u32)shifted ^ 0x4b400000;
    return exp_of_units_f32(shifted, r);
}
ALWAYS_INLINE v_f64 exp_about_f64(v_f64 x, v_f64 magic, octaves_f64 *seen) {
    const v_f64 zero = {0}, shifted = add_product_f64(magic, x, zero + UNITS_OF_f64), n = shifted - magic;
#if defined(__AVX512F__)
    v_f64 r = add_product_f64(x, n, zero - 0x1.62e42fefa39efp-5);
    r = add_product_f64(r, n, zero - 0x1.abc9e3b39803fp-60);
#else
    v_f64 r = add_product_f64(x, n, zero - LN2_HIGH);
    r = add_product_f64(r, n, zero - LN2_LOW);
#endif
    *seen |= (v_u64)shifted ^ 0x4338000000000000;
    return exp_of_units_f64(shifted, r);
}

/* x / ln(2), to an integer */
ALWAYS_INLINE double nearest_octave(double x) {
    return (x * (1 / LN2) + 0x1.8p52) - 0x1.8p52;
}
ALWAYS_INLINE v_f64 nearest_octaves_f64(v_f64 x) {
    return (x * (1 / LN2) + 0x1.8p52) - 0x1.8p52;
}
ALWAYS_INLINE v_f32 nearest_octaves_f32(v_f32 x) {
    return (x * (float)(1 / LN2) + 0x1.8p23f) - 0x1.8p23f;
}

/* What octaves LN2, rounded, lacks of octaves ln(2): at most 2^-13. */
ALWAYS_INLINE v_f64 rests_of_octaves(v_f64 octaves) {
    return add_product_f64(-(octaves * LN2), octaves, (v_f64){0} + LN2_HIGH) + octaves * LN2_LOW;
}
ALWAYS_INLINE v_f64 exp_of_rests(v_f64 rest) {
    const v_f64 one = (v_f64){0} + 1.0;
    return one + rest * (one + rest * (0.5 + rest * (1.0 / 6)));
}

/* Sums relative to 2^octaves, which are normal numbers, become such from 1 to 2, relative to e^(what is returned): so
 * the logarithm that is added to that rounds little. */
ALWAYS_INLINE v_f64 centres_of_octaves(v_f64 octaves, v_f64 *sum) {
    const v_u64 k = ((v_u64)*sum >> 52) - 1023;
    octaves += (v_f64)(k + 0x4338000000000000) - 0x1.8p52;
    *sum = (v_f64)((v_u64)*sum - (k << 52)) * exp_of_rests(rests_of_octaves(octaves));
    return octaves * LN2;
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

#if defined(__AVX512F__)
/* log(x) for numbers that are normal, with an error of about 2^-53 (2^-29 if 'is_near') times 1 or the logarithm,
 * whichever is larger; log(1) is 0. log_of_share_f64 is log(m), and adds k to *octaves, where x = 2^k m, with m from
 * 47/64 to 47/32; tables have the reciprocal and the logarithm of m rounded to four bits, and a polynomial has an error
 * of at most 2^-54. This takes no division, for which a processor needs 16 cycles. */
ALWAYS_INLINE v_f64 log_of_share_f64(v_f64 x, bool is_near, v_f64 *octaves) {
    static const _Alignas(64) s_f64 shares[16] = {0x1.0p+0,
                                                  0x1.e1e1e1e1e1e1ep-1,
                                                  0x1.c71c71c71c71cp-1,
                                                  0x1.af286bca1af28p-1,
                                                  0x1.999999999999ap-1,
                                                  0x1.8618618618618p-1,
                                                  0x1.745d1745d1746p-1,
                                                  0x1.642c8590b2164p-1,
                                                  0x1.5555555555555p+0,
                                                  0x1.47ae147ae147bp+0,
                                                  0x1.3b13b13b13b14p+0,
                                                  0x1.2f684bda12f68p+0,
                                                  0x1.2492492492492p+0,
                                                  0x1.1a7b9611a7b96p+0,
                                                  0x1.1111111111111p+0,
                                                  0x1.0842108421084p+0};
    static const _Alignas(64) s_f64 logs[16] = {0x0.0p+0,
                                                0x1.f0a30c01162a8p-5,
                                                0x1.e27076e2af2eap-4,
                                                0x1.5ff3070a793d6p-3,
                                                0x1.c8ff7c79a9a20p-3,
                                                0x1.1675cababa60fp-2,
                                                0x1.4618bc21c5ec2p-2,
                                                0x1.739d7f6bbd007p-2,
                                                -0x1.269621134db91p-2,
                                                -0x1.f991c6cb3b37ap-3,
                                                -0x1.a93ed3c8ad9e5p-3,
                                                -0x1.5bf406b543db0p-3,
                                                -0x1.1178e8227e47ap-3,
                                                -0x1.9335e5d594988p-4,
                                                -0x1.08598b59e3a06p-4,
                                                -0x1.0415d89e74440p-5};
    const v_f64 zero = {0};
    const v_i64 k = (v_i64)((v_u64)x - 0x3fe7800000000000) >> 52;
    const __m512i place = (__m512i)(((v_u64)x + (1ull << 47)) >> 48);
    const v_f64 share = _mm512_permutex2var_pd(_mm512_load_pd(shares), place, _mm512_load_pd(shares + 8)),
                log = _mm512_permutex2var_pd(_mm512_load_pd(logs), place, _mm512_load_pd(logs + 8));
    const v_f64 r = add_product_f64(zero - 1.0, (v_f64)((v_u64)x - ((v_u64)k << 52)), share), r2 = r * r;
    v_f64 sum;
    if (is_near) {
        sum = add_product_f64(zero + 0x1.557bc2d8ec8c4p-2, zero - 0x1.00200624968b0p-2, r);
    } else {
        sum = add_product_f64(zero + 0x1.24f5f5f35291dp-3, zero - 0x1.0059b58d4b876p-3, r);
        sum = add_product_f64(add_product_f64(zero + 0x1.99998d22679c2p-3, zero - 0x1.55554a1d3040bp-3, r), sum, r2);
        sum = add_product_f64(add_product_f64(zero + 0x1.555555558735fp-2, zero - 0x1.000000002ce41p-2, r), sum, r2);
    }
    sum = add_product_f64(zero - 0.5, sum, r);
    sum = add_product_f64(r, sum, r2);
    *octaves += __builtin_convertvector(k, v_f64);
    return log + sum;
}
ALWAYS_INLINE v_f64 log_f64(v_f64 x, bool is_near) {
    v_f64 octaves = {0};
    const v_f64 log = log_of_share_f64(x, is_near, &octaves);
    return add_product_f64(log, octaves, (v_f64){0} + LN2);
}

/* log(2^octaves x) likewise, of floats, and above + log(x), with an error of 2^-25 and two roundings. A table is one
 * register. */
ALWAYS_INLINE v_f32 log_of_parts_f32(v_f32 above, v_f32 octaves, v_f32 x) {
    static const _Alignas(64) s_f32 shares[16] = {0x1.0p+0f,      0x1.e1e1e2p-1f, 0x1.c71c72p-1f, 0x1.af286cp-1f,
                                                  0x1.99999ap-1f, 0x1.861862p-1f, 0x1.745d18p-1f, 0x1.642c86p-1f,
                                                  0x1.555556p+0f, 0x1.47ae14p+0f, 0x1.3b13b2p+0f, 0x1.2f684cp+0f,
                                                  0x1.24924ap+0f, 0x1.1a7b96p+0f, 0x1.111112p+0f, 0x1.08421p+0f};
    static const _Alignas(64) s_f32 logs[16] = {0.0f,
                                                0x1.f0a30ap-5f,
                                                0x1.e27074p-4f,
                                                0x1.5ff306p-3f,
                                                0x1.c8ff7ap-3f,
                                                0x1.1675cap-2f,
                                                0x1.4618bap-2f,
                                                0x1.739d7ep-2f,
                                                -0x1.269624p-2f,
                                                -0x1.f991c4p-3f,
                                                -0x1.a93ed8p-3f,
                                                -0x1.5bf408p-3f,
                                                -0x1.1178eep-3f,
                                                -0x1.9335e4p-4f,
                                                -0x1.08599ap-4f,
                                                -0x1.0415c8p-5f};
    const v_f32 zero = {0};
    const v_u32 up = ((v_u32)x - 0x3f3c0000) & 0xff800000; /* k in the exponent's place */
    const __m512i place = (__m512i)(((v_u32)x + (1u << 18)) >> 19);
    const v_f32 share = _mm512_permutexvar_ps(place, _mm512_load_ps(shares)),
                log = _mm512_permutexvar_ps(place, _mm512_load_ps(logs));
    const v_f32 r = add_product_f32(zero - 1.0f, (v_f32)((v_u32)x - up), share);
    v_f32 sum = add_product_f32(zero + 0x1.555556p-2f, zero - 0.25f, r);
    sum = add_product_f32(zero - 0.5f, sum, r);
    sum = add_product_f32(r, sum, r * r);
    const v_f32 k = add_product_f32(octaves, __builtin_convertvector((v_i32)up, v_f32), zero + 0x1p-23f);
    sum = add_product_f32(log + sum, k, zero - 0x1.05c61p-29f);
    return above + add_product_f32(sum, k, zero + 0x1.62e43p-1f);
}
ALWAYS_INLINE v_f32 log_of_octaves_f32(v_f32 octaves, v_f32 x) {
    return log_of_parts_f32(octaves - octaves, octaves, x);
}

/* Such a logarithm, also of what has none: of 0 it is -infinity, of infinity it is that, of NaN a NaN without payload.
 * No number is subnormal. */
#define DEFINE_LOG_OF_ANY(tag, suffix, lane_mask, infinity)                                                            \
    ALWAYS_INLINE v_##tag log_or_itself_##tag(v_##tag value, v_##tag x) {                                              \
        enum { NO_LOGARITHM = 0x9f };                                                                                  \
        const v_##tag zero = {0};                                                                                      \
        const lane_mask others = _mm512_fpclass_##suffix##_mask(x, NO_LOGARITHM);                                      \
        if (!others)                                                                                                   \
            return value;                                                                                              \
        x = SELECT_LANES(tag, (x == zero), zero - (infinity), SELECT_LANES(tag, (x == x), x, zero + (s_##tag)NAN));    \
        return _mm512_mask_mov_##suffix(value, others, x);                                                             \
    }
DEFINE_LOG_OF_ANY(f32, ps, __mmask16, INFINITY)
DEFINE_LOG_OF_ANY(f64, pd, __mmask8, (double)INFINITY)
#endif

/* exp(x - m) for x <= m, and 1 where x is m, even if both are infinite. */
ALWAYS_INLINE v_f64 shifted_exp_f64(v_f64 x, v_f64 m) {
    return SELECT_LANES(f64, (x == m), (v_f64){0} + 1.0, exp_f64(x - m));
}
ALWAYS_INLINE v_f32 shifted_exp_f32(v_f32 x, v_f32 m) {
    return SELECT_LANES(f32, (x == m), (v_f32){0} + 1.0f, exp_f32(x - m));
}

/* e^-d of integers below 64, of which the lowest six bits count: the product of two numbers out of tables of eight,
 * which fit in a register. */
ALWAYS_INLINE v_f64 exp_of_distance(v_u64 d) {
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

/* exp(x - m) of integers x <= m. Below -63 it is e^-63, at most 2^-90 of a sum that has an element m. */
ALWAYS_INLINE v_f64 integer_exp(v_i64 x, v_i64 m) {
    return exp_of_distance(min_u64((v_u64)m - (v_u64)x, (v_u64){0} + 63));
}

/* The same of doubles that are whole. */
#if defined(__AVX512F__)
ALWAYS_INLINE v_f64 whole_exp_f64(v_f64 x, v_f64 m) {
    return exp_of_distance((v_u64)(smaller_f64(m - x, (v_f64){0} + 63.0) + 0x1p52));
}
#else
#define whole_exp_f64 exp_of_difference_f64
#endif
#define whole_exp_f32 exp_of_difference_f32

/* s exp(m - l) + t exp(n - l), l being the larger of m and n. */
ALWAYS_INLINE v_f64 sum_of_exps_f64(v_f64 m, v_f64 s, v_f64 n, v_f64 t) {
    const v_f64 below = SELECT_LANES(f64, (m < n), m - n, n - m);
    const v_f64 e = SELECT_LANES(f64, (m == n), (v_f64){0} + 1.0, exp_f64(below));
    return SELECT_LANES(f64, (m < n), s * e + t, s + t * e);
}

#endif
