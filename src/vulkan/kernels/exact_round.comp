/* Exact mode: from the words to a result, rounded once, as src/exact/round.c has it. */
/* Digits of base 2^32, the lowest first, take the place of the team's words. */
uint digit(int i) {
    return uint(words[first_words + i]);
}
void set_digit(int i, uint value) {
    words[first_words + i] = int(value);
}

/* The absolute value as digits from 'low' on, neither end zero. */
struct magnitude {
    int low, count, exponent;
    bool negative;
};

magnitude magnitude_of_words() {
    int64_t carry = 0;
    const int limbs = int(LIMBS);
    for (int i = 0; i < limbs; i++) {
        const int64_t value = int64_t(words[first_words + 2 * i]) + int64_t(words[first_words + 2 * i + 1]) * 65536 + carry;
        set_digit(i, uint(value));
        carry = value >> 32;
    }
    set_digit(limbs, uint(carry));
    const bool negative = carry < 0;
    if (negative) {
        uint more = 1;
        for (int i = 0; i <= limbs; i++) {
            const uint value = ~digit(i) + more;
            set_digit(i, value);
            more = value == 0 ? more : 0;
        }
    }
    int low = 0, count = limbs + 1;
    while (count > 0 && digit(count - 1) == 0)
        count--;
    while (low < count && digit(low) == 0)
        low++;
    return magnitude(low, count - low, BOTTOM + 32 * low, negative);
}

/* leading * 2^exponent, and if bits follow, the lowest of leading, which no result keeps, is set. */
struct unrounded {
    uint64_t leading;
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
    const uint64_t leading = (uint64_t(top) << 32 | second) << shift | uint64_t(third) << shift >> 32;
    const bool more = third << shift != 0 || m.count > 3;
    return unrounded(leading | (more ? 1 : 0), m.exponent + 32 * (m.count - 2) - shift);
}

/* Long division, a bit at a time, until the quotient has 64. */
unrounded unrounded_quotient(magnitude m, uint64_t divisor) {
    int position = bit_length(m);
    uint64_t remainder = 0, quotient = 0;
    while (quotient >> 63 == 0) {
        position--;
        const bool carry = remainder >> 63 != 0;
        remainder = remainder << 1 | digit_bit(m, position);
        quotient <<= 1;
        if (carry || remainder >= divisor) {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    return unrounded(quotient | (remainder != 0 || bits_below(m, position) ? 1 : 0), m.exponent + position);
}

/* Two bits of the number for one of the root, of which there are 60; pairs begin where the exponent is even. */
unrounded unrounded_root(magnitude m) {
    const int length = bit_length(m);
    int position = length + ((m.exponent + length) & 1);
    uint64_t root = 0, remainder = 0;
    for (int k = 0; k < 60; k++) {
        position -= 2;
        const uint upper = position + 1 < length ? digit_bit(m, position + 1) : 0;
        const uint64_t trial = root << 2 | 1;
        remainder = remainder << 2 | (upper << 1 | digit_bit(m, position));
        root <<= 1;
        if (remainder >= trial) {
            remainder -= trial;
            root |= 1;
        }
    }
    return unrounded(root << 1 | (remainder != 0 || bits_below(m, position) ? 1 : 0), (m.exponent + position) / 2 - 1);
}

uint64_t nan_bits() {
    return infinity_bits(OUT) | uint64_t(1) << (significand_bits(OUT) - 2u);
}

/* Of the team's words; one thread of it. */
uint64_t result_bits(uint64_t count) {
    const uint64_t minus = uint64_t(1) << ((8u << OUT_LOG) - 1u);
    const uint both = SAW_PLUS | SAW_MINUS, saw = all_saw[team];
    const bool mean = OPERATOR == OPERATOR_MEAN, root = OPERATOR == OPERATOR_NORM2;
    if ((saw & SAW_NAN) != 0 || (saw & both) == both || (mean && count == 0))
        return nan_bits();
    if ((saw & both) != 0)
        return (saw & SAW_PLUS) != 0 ? infinity_bits(OUT) : infinity_bits(OUT) | minus;
    const magnitude m = magnitude_of_words();
    if (m.count == 0)
        return count != 0 && (saw & SAW_OTHER) == 0 ? minus : uint64_t(0);
    const unrounded u = root ? unrounded_root(m) : mean ? unrounded_quotient(m, count) : unrounded_sum(m);
    return round_float(m.negative, u.leading, u.exponent, OUT);
}

void give(uint64_t at, uint64_t count) {
    if (part == 0)
        store_bits(p.out_at + (at << OUT_LOG), OUT_LOG, words_of(result_bits(count)));
}

