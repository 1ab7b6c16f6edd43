/* Exact mode: rounds the words to a result once, as in src/exact/round.c. */
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
    int carry = 0;
    const int limbs = int(LIMBS);
    for (int i = 0; i < limbs; i++) { /* two words of 16 bits, and the carry of these and the words before */
        const int low = words[first_words + 2 * i] + carry, high = words[first_words + 2 * i + 1] + (low >> 16);
        set_digit(i, uint(high) << 16 | uint(low) & 65535u);
        carry = high >> 16;
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

/* Rounds the team's words. One thread of the team calls this. */
uvec2 result_bits(wide count) {
    const uint both = SAW_PLUS | SAW_MINUS, saw = all_saw[team];
    const bool mean = GIVES_MEAN, root = GIVES_ROOT;
    if ((saw & SAW_NAN) != 0 || (saw & both) == both || (mean && count == wide(0)))
        return nan_bits(OUT);
    if ((saw & both) != 0)
        return (saw & SAW_PLUS) != 0 ? infinity_bits(OUT) : infinity_bits(OUT) | sign_bit(OUT);
    const magnitude m = magnitude_of_words();
    if (m.count == 0)
        return count != wide(0) && (saw & SAW_OTHER) == 0 ? sign_bit(OUT) : wide(0);
    const unrounded u = root ? unrounded_root(m) : mean ? unrounded_quotient(m, count) : unrounded_sum(m);
    return round_float(m.negative, u.leading, u.exponent, OUT);
}

void give(wide at, wide count) {
    if (part == 0)
        store_bits(plus(p.out_at, shifted_up(at, OUT_LOG)), OUT_LOG, result_bits(count));
}

