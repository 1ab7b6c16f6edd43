/* Exact mode: a number as digits of base 2^32, and the leading bits of it, of a quotient or of a root, as in
 * src/exact/round.c. One thread has a number. */

/* The absolute value as digits of base 2^32, lowest first, neither end zero. */
struct magnitude {
    uint32 *digits;
    int count, exponent;
    bool negative;
};

inline unrounded of_digits(const magnitude &m) {
    int n = m.count;
    uint64 top = m.digits[n - 1], second = n > 1 ? m.digits[n - 2] : 0, third = n > 2 ? m.digits[n - 3] : 0;
    int shift = __clzll((int64)top) - 32;
    return {(top << 32 | second) << shift | (third << shift) >> 32, m.exponent + 32 * (n - 2) - shift,
            (uint32)(third << shift) != 0 || n > 3};
}

/* Reads the bits of the digits from the top down, and zeros after them. */
struct bit_reader {
    const magnitude &m;
    int position;
    uint32 next() {
        int at = position--;
        return at < 0 ? 0 : m.digits[at >> 5] >> (at & 31) & 1;
    }
    bool has_more() const {
        if (position < 0 || position >= 32)
            return position >= 0;
        return (m.digits[0] & ((2ull << position) - 1)) != 0;
    }
};

inline unrounded quotient_of(const magnitude &m, uint64 divisor) {
    bit_reader reader = {m, 32 * m.count - 1};
    uint64 remainder = 0, quotient = 0;
    while (!(quotient >> 63)) {
        bool carry = remainder >> 63;
        remainder = remainder << 1 | reader.next();
        quotient <<= 1;
        if (carry || remainder >= divisor) {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    return {quotient, m.exponent + reader.position + 1, remainder != 0 || reader.has_more()};
}

/* Square root, by hand: two bits of the number for each bit of the root. 58 of these are more than any type keeps. */
inline unrounded root_of(const magnitude &m) {
    constexpr int root_bits = 58;
    int length = 32 * m.count - (__clzll((int64)(uint64)m.digits[m.count - 1]) - 32);
    length += (m.exponent + length) & 1;
    bit_reader reader = {m, length - 1};
    uint64 remainder = 0, root = 0;
    bool leads = length > 32 * m.count; /* the first bit is a zero above the top digit */
    if (leads)
        reader.position--;
    for (int i = 0; i < root_bits; i++) {
        if (i || !leads)
            remainder = remainder << 1 | reader.next();
        remainder = remainder << 1 | reader.next();
        uint64 trial = root << 2 | 1;
        root <<= 1;
        if (remainder >= trial) {
            remainder -= trial;
            root |= 1;
        }
    }
    return {root << (64 - root_bits), (m.exponent + length) / 2 - 64, remainder != 0 || reader.has_more()};
}
