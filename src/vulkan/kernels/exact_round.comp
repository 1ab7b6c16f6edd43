/* Exact mode: rounds the words to a result once, as in src/exact/round.c. */

/* The magnitude in the team's words from 'at' on. Its digits take their place. */
magnitude magnitude_of_words(int at, int limbs, int bottom) {
    int carry = 0;
    for (int i = 0; i < limbs; i++) { /* two words of 16 bits, and the carry of these and the words before */
        const int low = words[first_words + at + 2 * i] + carry, high = words[first_words + at + 2 * i + 1] + (low >> 16);
        set_digit(at + i, uint(high) << 16 | uint(low) & 65535u);
        carry = high >> 16;
    }
    set_digit(at + limbs, uint(carry));
    const bool negative = carry < 0;
    if (negative) {
        uint more = 1;
        for (int i = 0; i <= limbs; i++) {
            const uint value = ~digit(at + i) + more;
            set_digit(at + i, value);
            more = value == 0 ? more : 0;
        }
    }
    int low = 0, count = limbs + 1;
    while (count > 0 && digit(at + count - 1) == 0)
        count--;
    while (low < count && digit(at + low) == 0)
        low++;
    return magnitude(at + low, count - low, bottom + 32 * low, negative);
}

/* Rounds the team's words. One thread of the team calls this. */
#if HAS_MOMENTS
uvec2 result_bits(wide count) {
    if ((all_saw[team] & (SAW_NAN | SAW_PLUS | SAW_MINUS)) != 0)
        return nan_bits(OUT);
    const magnitude sum = magnitude_of_words(0, int(SUM_LIMBS), SUM_BOTTOM);
    magnitude squares = magnitude_of_words(int(SUM_WORDS), int(LIMBS), BOTTOM);
    /* The squares' digits begin where those of the square of the sum do, or below; there are zeros. */
    const int missing = squares.count > 0 && sum.count > 0 ? (squares.exponent - 2 * sum.exponent) / 32 : 0;
    if (missing > 0) {
        squares.low -= missing;
        squares.count += missing;
        squares.exponent -= 32 * missing;
    }
    return variance_bits(squares, sum, count);
}
#else
uvec2 result_bits(wide count) {
    const uint saw = all_saw[team];
    const bool mean = GIVES_MEAN, root = GIVES_ROOT;
    wide bits;
    if (is_decided(saw, bits))
        return bits;
    if (mean && count == wide(0))
        return nan_bits(OUT);
    const magnitude m = magnitude_of_words(0, int(LIMBS), BOTTOM);
    if (m.count == 0)
        return count != wide(0) && (saw & SAW_OTHER) == 0 ? sign_bit(OUT) : wide(0);
    const unrounded u = root ? unrounded_root(m) : mean ? unrounded_quotient(m, count) : unrounded_sum(m);
    return round_float(m.negative, u.leading, u.exponent, OUT);
}
#endif

void give(wide at, wide count) {
    if (part == 0)
        store_bits(plus(p.out_at, shifted_up(at, OUT_LOG)), OUT_LOG, result_bits(taken_of(count)));
}

