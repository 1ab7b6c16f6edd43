/* Exact mode: variances, (n * sum of squares - sum^2) / (n (n - ddof)), and their roots, as in src/exact/round.c. One
 * thread has a number. */
#if HAS_MOMENTS

enum { QUOTIENT_DIGITS = IS_STD ? 5 : 3 }; /* at least 129 bits of which the root is taken, or 65 */

/* There is room for two more digits. */
inline void multiply(magnitude &m, uint64 by) {
    uint64 carry = 0;
    for (int i = 0; i < m.count; i++) {
        uint64 low = (uint64)m.digits[i] * (uint32)by + (uint32)carry;
        carry = m.digits[i] * (by >> 32) + (low >> 32) + (carry >> 32);
        m.digits[i] = (uint32)low;
    }
    m.digits[m.count++] = (uint32)carry;
    m.digits[m.count++] = (uint32)(carry >> 32);
}

/* False if less than 0 would be left. m begins with the place of the square's lowest digit or below it. */
inline bool subtract_square(magnitude &m, const magnitude &root) {
    int lowest = (2 * root.exponent - m.exponent) / 32;
    uint64 left = 0;
    for (int i = 0; i < root.count; i++) {
        uint64 carry = 0;
        for (int j = 0; j < root.count || carry; j++) {
            int k = lowest + i + j;
            if (k >= m.count && j >= root.count)
                break;
            if (j < root.count)
                carry += (uint64)root.digits[i] * root.digits[j];
            uint64 difference = (uint64)(k < m.count ? m.digits[k] : 0) - (uint32)carry;
            if (k < m.count)
                m.digits[k] = (uint32)difference;
            carry = (carry >> 32) + (difference >> 63);
        }
        left |= carry;
    }
    return !left;
}

inline void trim(magnitude &m) {
    while (m.count && !m.digits[m.count - 1])
        m.count--;
    while (m.count && !m.digits[0]) {
        m.digits++;
        m.count--;
        m.exponent += 32;
    }
}

/* A remainder and the next 32 bits of a quotient. */
struct remainder_of_wide {
    uint64 high, low;

    bool is_below(uint64 by_high, uint64 by_low) const {
        return high < by_high || (high == by_high && low < by_low);
    }
    uint32 divide(uint32 digit, uint64 by_high, uint64 by_low) {
        remainder_of_wide next = {high << 32 | low >> 32, low << 32 | digit};
        if (!(high >> 32) && next.is_below(by_high, by_low)) {
            *this = next;
            return 0;
        }
        uint32 quotient = 0;
        for (int bit = 31; bit >= 0; bit--) {
            bool carry = high >> 63;
            high = high << 1 | low >> 63;
            low = low << 1 | (digit >> bit & 1);
            quotient <<= 1;
            if (carry || !is_below(by_high, by_low)) {
                high -= by_high + (low < by_low);
                low -= by_low;
                quotient |= 1;
            }
        }
        return quotient;
    }
};

/* Turns m into the leading digits of its quotient by n (n - ddof), which begin with one that is not 0. True if anything
 * follows them. The lowest digit of m is not 0, and its memory has room for QUOTIENT_DIGITS. */
inline bool divide(magnitude &m, uint64 n) {
    uint64 by_high = __umul64hi(n, n - DDOF), by_low = n * (n - DDOF);
    remainder_of_wide rest = {0, 0};
    uint32 digits[QUOTIENT_DIGITS];
    int i = m.count, count = 0;
    while (count < QUOTIENT_DIGITS) {
        i--;
        uint32 digit = rest.divide(i >= 0 ? m.digits[i] : 0, by_high, by_low);
        if (digit || count)
            digits[QUOTIENT_DIGITS - ++count] = digit;
    }
    for (int k = 0; k < QUOTIENT_DIGITS; k++)
        m.digits[k] = digits[k];
    m.count = QUOTIENT_DIGITS;
    m.exponent += 32 * i;
    trim(m);
    return rest.high || rest.low || i > 0;
}

/* The bits of the result of n elements with this sum of squares, in memory with four more digits, and this sum. No
 * elements have sums that give less than 0. */
inline uint64 variance_bits(magnitude squares, const magnitude &sum, uint64 n) {
    if (n <= DDOF || squares.negative || (sum.count && !squares.count))
        return OUT_NAN;
    multiply(squares, n);
    if (!subtract_square(squares, sum))
        return OUT_NAN;
    trim(squares);
    if (!squares.count)
        return 0;
    bool has_more = divide(squares, n);
    unrounded variance = IS_STD ? root_of(squares) : of_digits(squares);
    variance.more |= has_more;
    return round_bits(variance, false);
}
#endif
