#include "exact.h"

#include <gmp.h>
#include <math.h>
#include <string.h>

enum { WEIGHT_OF_BIT_0 = -2148 };

void exact_clear(exact_sum *sum) {
    memset(sum, 0, sizeof *sum);
    sum->lowest = EXACT_LIMBS;
    sum->only_negative_zeros = true;
}

/* Adds magnitude * 2^exponent, negated if asked. */
static void deposit(exact_sum *sum, unsigned __int128 magnitude, int exponent, bool negative) {
    int position = exponent - WEIGHT_OF_BIT_0, shift = position % 32;
    int first = position / 32;
    int64_t *limb = sum->limb + first;
    sum->lowest = first < sum->lowest ? first : sum->lowest;
    sum->highest = first + 5 > sum->highest ? first + 5 : sum->highest;
    /* 106 bits shifted by up to 31 need 137: the part that the shift would lose goes first. */
    uint64_t parts[5];
    uint64_t carried = 0;
    for (int k = 0; k < 5; k++) {
        uint64_t word = k < 4 ? (uint32_t)(magnitude >> (32 * k)) : 0;
        uint64_t shifted = (word << shift) | carried;
        parts[k] = (uint32_t)shifted;
        carried = shifted >> 32;
    }
    for (int k = 0; k < 5; k++)
        if (parts[k])
            limb[k] += negative ? -(int64_t)parts[k] : (int64_t)parts[k];
}

/* |x| = significand * 2^exponent, for finite x. */
static uint64_t take_apart(double x, int *exponent) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int field = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & 0xfffffffffffffu;
    *exponent = (field ? field : 1) - 1075;
    return field ? fraction | 0x10000000000000u : fraction;
}

static bool add_special(exact_sum *sum, double value) {
    sum->count++;
    if (!(value == 0 && signbit(value)))
        sum->only_negative_zeros = false;
    if (isnan(value))
        sum->nan = true;
    else if (isinf(value) && value > 0)
        sum->positive_infinity = true;
    else if (isinf(value))
        sum->negative_infinity = true;
    else
        return false;
    return true;
}

void exact_add(exact_sum *sum, double x) {
    if (add_special(sum, x))
        return;
    int exponent;
    uint64_t significand = take_apart(x, &exponent);
    deposit(sum, significand, exponent, signbit(x));
}

void exact_add_product(exact_sum *sum, double x, double y) {
    double special = isfinite(x) && isfinite(y) ? (x == 0 || y == 0 ? x * y : copysign(1, x) * copysign(1, y)) : x * y;
    if (add_special(sum, special))
        return;
    int ex, ey;
    uint64_t sx = take_apart(x, &ex), sy = take_apart(y, &ey);
    deposit(sum, (unsigned __int128)sx * sy, ex + ey, signbit(x) != signbit(y));
}

void exact_add_integer(exact_sum *sum, unsigned __int128 magnitude, bool negative) {
    sum->count++;
    sum->only_negative_zeros = false;
    deposit(sum, magnitude, 0, negative);
}

static void put_word(mp_limb_t *limb, size_t k, uint32_t word) {
    limb[k / 2] = k % 2 ? limb[k / 2] | (mp_limb_t)word << 32 : word;
}

/* The sum is exactly z * 2^exponent; returns the exponent. */
static int to_integer(const exact_sum *sum, mpz_t z) {
    _Static_assert(GMP_NUMB_BITS == 64, "two words make a limb");
    mp_limb_t *limb = mpz_limbs_write(z, EXACT_LIMBS / 2 + 1);
    int64_t carry;
    size_t count;
    int sign = -1;
    do { /* a sum below 0 leaves a carry below 0: then its negation is taken */
        sign = -sign;
        carry = 0;
        count = 0;
        for (int k = sum->lowest; k < sum->highest; k++) {
            const int64_t digit = sign * sum->limb[k] + carry;
            put_word(limb, count++, (uint32_t)digit);
            carry = digit >> 32;
        }
    } while (carry < 0);
    put_word(limb, count++, (uint32_t)carry);
    mpz_limbs_finish(z, sign * (mp_size_t)((count + 1) / 2));
    return WEIGHT_OF_BIT_0 + 32 * (sum->lowest < EXACT_LIMBS ? sum->lowest : 0);
}

/* z * 2^exponent, rounded to the nearest value of a type; z changes. A quotient or root that was not exact has its
 * lowest bit set, far below the last place, so it rounds as the infinitely long value would. */
static double round_integer(mpz_t z, int exponent, tally_dtype type) {
    if (mpz_sgn(z) == 0)
        return 0;
    const bool negative = mpz_sgn(z) < 0;
    mpz_abs(z, z);
    int place = (int)mpz_sizeinbase(z, 2) + exponent - precision_of(type);
    if (place < smallest_exponent_of(type))
        place = smallest_exponent_of(type);
    const int drop = place - exponent;
    if (drop > 0) {
        const mp_bitcnt_t half = (mp_bitcnt_t)(drop - 1);
        const bool half_or_more = mpz_tstbit(z, half), tie = half_or_more && mpz_scan1(z, 0) == half;
        mpz_fdiv_q_2exp(z, z, (mp_bitcnt_t)drop);
        if (half_or_more && (!tie || mpz_odd_p(z)))
            mpz_add_ui(z, z, 1);
    } else {
        place = exponent;
    }
    /* At most precision bits (or a power of two, or an exact short value shifted), so this loses nothing. */
    const double value = ldexp(mpz_get_d(z), place);
    if (value > (double)largest_of(type))
        return negative ? (double)-INFINITY : (double)INFINITY;
    return negative ? -value : value;
}

/* NaN, infinities, zero elements and only -0; true if there is no finite sum left to round. */
static bool special_value(const exact_sum *sum, double *value) {
    if (sum->nan || (sum->positive_infinity && sum->negative_infinity))
        *value = (double)NAN;
    else if (sum->positive_infinity || sum->negative_infinity)
        *value = sum->positive_infinity ? (double)INFINITY : (double)-INFINITY;
    else if (sum->count && sum->only_negative_zeros)
        *value = -0.0;
    else
        return false;
    return true;
}

double exact_value(const exact_sum *sum, tally_dtype type) {
    double value;
    if (special_value(sum, &value))
        return value;
    mpz_t z;
    mpz_init(z);
    int exponent = to_integer(sum, z);
    value = round_integer(z, exponent, type);
    mpz_clear(z);
    return value;
}

double exact_mean(const exact_sum *sum, tally_dtype type) {
    double value;
    if (sum->count == 0)
        return (double)NAN;
    if (special_value(sum, &value))
        return value;
    mpz_t z, rest;
    mpz_init(z);
    mpz_init(rest);
    int exponent = to_integer(sum, z);
    bool negative = mpz_sgn(z) < 0;
    mpz_abs(z, z);
    mpz_mul_2exp(z, z, 192);
    mpz_fdiv_qr_ui(z, rest, z, (unsigned long)sum->count);
    if (mpz_sgn(rest))
        mpz_setbit(z, 0);
    if (negative)
        mpz_neg(z, z);
    value = round_integer(z, exponent - 192, type);
    mpz_clear(z);
    mpz_clear(rest);
    return value;
}

double exact_root(const exact_sum *sum, tally_dtype type) {
    double value;
    if (special_value(sum, &value))
        return sqrt(value);
    mpz_t z, rest;
    mpz_init(z);
    mpz_init(rest);
    int exponent = to_integer(sum, z);
    mpz_mul_2exp(z, z, 256); /* the exponent is even, as a root wants it */
    mpz_sqrtrem(z, rest, z);
    if (mpz_sgn(rest))
        mpz_setbit(z, 0);
    value = round_integer(z, (exponent - 256) / 2, type);
    mpz_clear(z);
    mpz_clear(rest);
    return value;
}

double exact_variance(const exact_sum *sum, const exact_sum *squares, uint64_t ddof, bool root, tally_dtype type) {
    enum { MORE = 512 }; /* bits of the quotient, so that its root still has 256; even, as a root wants it */
    if (sum->count <= ddof || sum->nan || sum->positive_infinity || sum->negative_infinity)
        return (double)NAN;
    mpz_t z, s, rest;
    mpz_inits(z, s, rest, NULL);
    const int exponent = to_integer(squares, z), of_sum = to_integer(sum, s);
    const int lower = exponent < 2 * of_sum ? exponent : 2 * of_sum;
    mpz_mul_ui(z, z, (unsigned long)sum->count);
    mpz_mul_2exp(z, z, (mp_bitcnt_t)(exponent - lower));
    mpz_mul(s, s, s);
    mpz_mul_2exp(s, s, (mp_bitcnt_t)(2 * of_sum - lower));
    mpz_sub(z, z, s);
    mpz_mul_2exp(z, z, MORE);
    mpz_set_ui(s, (unsigned long)sum->count);
    mpz_mul_ui(s, s, (unsigned long)(sum->count - ddof));
    mpz_fdiv_qr(z, rest, z, s);
    bool more = mpz_sgn(rest) != 0;
    if (root) {
        mpz_sqrtrem(z, rest, z);
        more |= mpz_sgn(rest) != 0;
    }
    if (more)
        mpz_setbit(z, 0);
    const double value = round_integer(z, root ? (lower - MORE) / 2 : lower - MORE, type);
    mpz_clears(z, s, rest, NULL);
    return value;
}
