/* Exact mode: from the words to a result, rounded once, as src/exact/round.c has it. */
shared uint digits[LIMBS + 4];

/* The absolute value as digits of base 2^32 in shared memory, from 'low' on, the lowest first, neither end zero. */
struct magnitude {
    int low, count, exponent;
    bool negative;
};

magnitude magnitude_of_words() {
    int64_t carry = 0;
    for (uint i = 0; i < LIMBS; i++) {
        const int64_t value = int64_t(words[2 * i]) + int64_t(words[2 * i + 1]) * 65536 + carry;
        digits[i] = uint(value);
        carry = value >> 32;
    }
    digits[LIMBS] = uint(carry);
    const bool negative = carry < 0;
    if (negative) {
        uint more = 1;
        for (uint i = 0; i <= LIMBS; i++) {
            digits[i] = ~digits[i] + more;
            more = digits[i] == 0 ? more : 0;
        }
    }
    int low = 0, count = int(LIMBS) + 1;
    while (count > 0 && digits[count - 1] == 0)
        count--;
    while (low < count && digits[low] == 0)
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
    return position < 0 ? 0 : digits[m.low + (position >> 5)] >> (position & 31) & 1;
}
bool bits_below(magnitude m, int position) {
    if (position <= 0)
        return false;
    return position >= 32 || (digits[m.low] & ((1u << position) - 1)) != 0; /* the lowest digit is not zero */
}
int bit_length(magnitude m) {
    return 32 * (m.count - 1) + findMSB(digits[m.low + m.count - 1]) + 1;
}

unrounded unrounded_sum(magnitude m) {
    const int length = bit_length(m);
    uint64_t leading = 0;
    for (int k = 1; k <= 64; k++)
        leading = leading << 1 | digit_bit(m, length - k);
    return unrounded(leading | (bits_below(m, length - 64) ? 1 : 0), m.exponent + length - 64);
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

/* Of the words; one thread. */
uint64_t result_bits(uint64_t count) {
    const uint64_t minus = uint64_t(1) << ((8u << OUT_LOG) - 1u);
    const uint both = SAW_PLUS | SAW_MINUS, saw = all_saw;
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
    if (THREAD == 0)
        store_bits(p.out_at + (at << OUT_LOG), OUT_LOG, words_of(result_bits(count)));
}

