/* Exact mode of integers, the end of a group: the mean or the root of a sum of up to three words, as a double that
 * becomes an out_t with one rounding in all. For doubles that rounding is done here. For narrower types the double is
 * rounded to odd, as floats are for bf16 (prelude.cu). */

/* A sum's absolute value, which is read from the top. */
template <int Words> struct magnitude {
    uint64 word[Words];
    int length; /* bits, behind which there are only zeros */

    bool is_zero() const {
        uint64 any = 0;
#pragma unroll
        for (int k = 0; k < Words; k++)
            any |= word[k];
        return any == 0;
    }
    void shift_up(int bits) {
#pragma unroll
        for (int k = Words - 1; k > 0; k--)
            word[k] = word[k] << bits | word[k - 1] >> 1 >> (63 - bits);
        word[0] <<= bits;
    }
    /* Shifts a number that is not zero until one of its two top bits is set, by an even number of bits. */
    void justify() {
        length = 64 * Words;
#pragma unroll
        for (int k = 1; k < Words; k++)
            if (word[Words - 1] == 0) {
#pragma unroll
                for (int j = Words - 1; j > 0; j--)
                    word[j] = word[j - 1];
                word[0] = 0;
                length -= 64;
            }
        const int even = __clzll((int64)word[Words - 1]) & ~1;
        shift_up(even);
        length -= even;
    }
    uint32 take_bit() {
        const uint32 bit = (uint32)(word[Words - 1] >> 63);
        shift_up(1);
        return bit;
    }
};

constexpr bool TO_NEAREST = sizeof(out_t) == sizeof(double);

/* (leading + a rest) * 2^exponent; the top bit of leading is set. */
inline double rounded(uint64 leading, bool has_rest, int exponent) {
    constexpr uint64 beyond = (1ull << 11) - 1; /* a double's bits */
    if (TO_NEAREST)
        leading |= has_rest;
    else
        leading = (leading & ~beyond) | (has_rest || (leading & beyond) ? beyond + 1 : 0);
    return (double)leading * __longlong_as_double((int64)(1023 + exponent) << 52);
}

/* A positive result that was rounded to nearest, and what the infinitely precise one has beyond it. */
inline double rounded(double nearest, double rest) {
    if (TO_NEAREST || rest == 0)
        return nearest;
    return __longlong_as_double((__double_as_longlong(nearest) - (rest < 0)) | 1);
}

template <int Words> inline double quotient(magnitude<Words> sum, uint64 by) {
    constexpr uint64 limit = 1ull << 53;
    uint64 above = 0;
    if (sum.is_zero())
        return 0;
#pragma unroll
    for (int k = 1; k < Words; k++)
        above |= sum.word[k];
    if (above == 0 && sum.word[0] <= limit && by <= limit) {
        const double a = (double)sum.word[0], b = (double)by, q = a / b;
        return rounded(q, __fma_rn(-q, b, a));
    }
    sum.justify();
    uint64 rest = 0, q = 0;
    while (!(q >> 63)) { /* long division, a bit at a time */
        const bool carry = rest >> 63;
        rest = rest << 1 | sum.take_bit();
        q <<= 1;
        sum.length--;
        if (carry || rest >= by) {
            rest -= by;
            q |= 1;
        }
    }
    return rounded(q, rest != 0 || !sum.is_zero(), sum.length);
}

template <int Words> inline double root(magnitude<Words> sum) {
    if (sum.is_zero())
        return 0;
    sum.justify();
    uint64 rest = 0, r = 0;
    for (int k = 0; k < 60; k++) { /* by hand: two bits of the sum for one of the root */
        rest = rest << 1 | sum.take_bit();
        rest = rest << 1 | sum.take_bit();
        const uint64 trial = r << 2 | 1;
        r <<= 1;
        if (rest >= trial) {
            rest -= trial;
            r |= 1;
        }
    }
    return rounded(r << 4, rest != 0 || !sum.is_zero(), sum.length / 2 - 64);
}

template <int Words> inline out_t mean_of(magnitude<Words> sum, bool is_signed, uint64 count) {
    const bool negative = is_signed && sum.word[Words - 1] >> 63;
    if (negative) {
        bool borrow = true;
#pragma unroll
        for (int k = 0; k < Words; k++) {
            sum.word[k] = ~sum.word[k] + borrow;
            borrow = borrow && sum.word[k] == 0;
        }
    }
    const double mean = count ? quotient(sum, count) : NOT_A_NUMBER;
    return output_of_real<out_t>(negative ? -mean : mean);
}

template <int Words> inline out_t root_of(magnitude<Words> sum) {
    return output_of_real<out_t>(root(sum));
}
