/* Exact mode: a number as digits of base 2^32, the lowest first, which digit(i) gives, and the leading bits of it, of a
 * quotient or of a root, as in src/exact/round.c. */

/* The absolute value as digits from 'low' on, neither end zero. */
struct magnitude {
    int low, count, exponent;
    bool negative;
};

/* leading * 2^exponent. If bits follow, the lowest bit of leading is set, which no result keeps. */
struct unrounded {
    wide leading;
    int exponent;
};

/* Bit 'position' of the digits, 0 below them. */
uint digit_bit(magnitude m, int position) {
    return position < 0 ? 0 : digit(m.low + (position >> 5)) >> (position & 31) & 1;
}
bool bits_below(magnitude m, int position) {
    if (position <= 0)
        return false;
    return position >= 32 || (digit(m.low) & ((1u << position) - 1)) != 0; /* the lowest digit is not zero */
}
int bit_length(magnitude m) {
    return 32 * (m.count - 1) + findMSB(digit(m.low + m.count - 1)) + 1;
}

unrounded unrounded_sum(magnitude m) {
    const uint top = digit(m.low + m.count - 1), second = m.count > 1 ? digit(m.low + m.count - 2) : 0;
    const uint third = m.count > 2 ? digit(m.low + m.count - 3) : 0;
    const int shift = 31 - findMSB(top);
    const wide leading = wide(second << shift | third >> 1 >> 31 - shift, top << shift | second >> 1 >> 31 - shift);
    const uint more = third << shift != 0 || m.count > 3 ? 1 : 0;
    return unrounded(leading | wide_of(more), m.exponent + 32 * (m.count - 2) - shift);
}

/* Long division, a bit at a time, until the quotient has 64. */
unrounded unrounded_quotient(magnitude m, wide divisor) {
    int position = bit_length(m);
    wide remainder = wide(0), quotient = wide(0);
    while (quotient.y >> 31 == 0) {
        position--;
        quotient = shifted_up(quotient, 1);
        if (divide_step(remainder, digit_bit(m, position), divisor))
            quotient.x |= 1u;
    }
    const uint more = remainder != wide(0) || bits_below(m, position) ? 1 : 0;
    return unrounded(quotient | wide_of(more), m.exponent + position);
}

/* Two bits of the number for one of the root, of which there are 60; pairs begin where the exponent is even. */
unrounded unrounded_root(magnitude m) {
    const int length = bit_length(m);
    int position = length + ((m.exponent + length) & 1);
    wide root = wide(0), remainder = wide(0);
    for (int k = 0; k < 60; k++) {
        position -= 2;
        const uint upper = position + 1 < length ? digit_bit(m, position + 1) : 0;
        const wide trial = shifted_up(root, 2) | wide(1, 0);
        remainder = shifted_up(remainder, 2) | wide_of(upper << 1 | digit_bit(m, position));
        root = shifted_up(root, 1);
        if (!less(remainder, trial)) {
            remainder = minus(remainder, trial);
            root.x |= 1u;
        }
    }
    const uint more = remainder != wide(0) || bits_below(m, position) ? 1 : 0;
    return unrounded(shifted_up(root, 1) | wide_of(more), (m.exponent + position) / 2 - 1);
}
