/* Exact mode: variances, (n * sum of squares - sum^2) / (n (n - ddof)), and their roots, as in src/exact/round.c. */

/* There is room for two more digits. */
void multiply(inout magnitude m, wide by) {
    wide carry = wide(0);
    for (int i = m.low; i < m.low + m.count; i++) {
        const wide low = plus(times(digit(i), by.x), carry.x);
        carry = plus(plus(times(digit(i), by.y), low.y), carry.y);
        set_digit(i, low.x);
    }
    set_digit(m.low + m.count, carry.x);
    set_digit(m.low + m.count + 1, carry.y);
    m.count += 2;
}

/* False if less than 0 would be left. m begins with the place of the square's lowest digit or below it. */
bool subtract_square(magnitude m, magnitude root) {
    const int lowest = (2 * root.exponent - m.exponent) / 32;
    uint left = 0;
    for (int i = 0; i < root.count; i++) {
        const uint factor = digit(root.low + i);
        wide carry = wide(0);
        /* Four digits in a step: loops count (exact_keys.comp). */
        for (int j = 0; j < root.count || (carry != wide(0) && lowest + i + j < m.count); j += 4)
            [[unroll]] for (int k = j; k < j + 4; k++) {
                const int at = lowest + i + k;
                if (k < root.count)
                    carry = plus(carry, times(factor, digit(root.low + k)));
                const uint before = at < m.count ? digit(m.low + at) : 0;
                if (at < m.count)
                    set_digit(m.low + at, before - carry.x);
                carry = plus(wide_of(carry.y), before < carry.x ? 1u : 0u);
            }
        left |= carry.x | carry.y;
    }
    return left == 0;
}

void trim(inout magnitude m) {
    while (m.count > 0 && digit(m.low + m.count - 1) == 0)
        m.count--;
    while (m.count > 0 && digit(m.low) == 0) {
        m.low++;
        m.count--;
        m.exponent += 32;
    }
}

/* The product of two wide numbers, of four words: the upper two, and the lower two. */
wide upper_product(wide a, wide b, out wide low) {
    const wide first = times(a.x, b.x), crossed = times(a.y, b.x);
    const wide middle = plus(plus(times(a.x, b.y), first.y), crossed.x);
    low = wide(first.x, middle.x);
    return plus(plus(times(a.y, b.y), middle.y), crossed.y);
}

bool less_of_two(wide high, wide low, wide by_high, wide by_low) {
    return high == by_high ? less(low, by_low) : less(high, by_high);
}

/* The next 32 bits of a quotient by a number of four words. */
uint divide_digit(inout wide high, inout wide low, uint next, wide by_high, wide by_low) {
    const wide shifted_high = wide(low.y, high.x), shifted_low = wide(next, low.x);
    if (high.y == 0 && less_of_two(shifted_high, shifted_low, by_high, by_low)) {
        high = shifted_high;
        low = shifted_low;
        return 0;
    }
    uint quotient = 0;
    for (int bit = 31; bit >= 0; bit--) {
        const bool carry = high.y >> 31 != 0;
        high = shifted_up(high, 1) | wide_of(low.y >> 31);
        low = shifted_up(low, 1) | wide_of(next >> bit & 1u);
        quotient <<= 1;
        if (carry || !less_of_two(high, low, by_high, by_low)) {
            high = minus(minus(high, by_high), less(low, by_low) ? 1u : 0u);
            low = minus(low, by_low);
            quotient |= 1u;
        }
    }
    return quotient;
}

/* Turns m into the leading digits of its quotient by n (n - ddof): at least 65 bits, or 129 for a root. True if anything
 * follows them. The lowest digit of m is not 0, and its memory has room for so many. */
const int MOST_QUOTIENT_DIGITS = 5;
bool divide(inout magnitude m, wide n) {
    const int most = GIVES_DEVIATION ? MOST_QUOTIENT_DIGITS : 3;
    wide by_low, high = wide(0), low = wide(0);
    const wide by_high = upper_product(n, minus(n, uint(told_ddof)), by_low);
    uint quotient[MOST_QUOTIENT_DIGITS];
    int i = m.count, count = 0;
    while (count < most) {
        i--;
        const uint next = divide_digit(high, low, i >= 0 ? digit(m.low + i) : 0, by_high, by_low);
        if (next != 0 || count > 0)
            quotient[most - ++count] = next;
    }
    for (int k = 0; k < most; k++)
        set_digit(m.low + k, quotient[k]);
    m.count = most;
    m.exponent += 32 * i;
    trim(m);
    return high != wide(0) || low != wide(0) || i > 0;
}

/* The variance of n elements with this sum and this sum of squares, as the bits of an output. The memory of the sum of
 * squares has four more digits. */
wide variance_bits(magnitude squares, magnitude sum, wide n) {
    if (!less(wide_of(uint(told_ddof)), n) || squares.negative || (sum.count > 0 && squares.count == 0))
        return nan_bits(OUT);
    multiply(squares, n);
    if (!subtract_square(squares, sum))
        return nan_bits(OUT);
    trim(squares);
    if (squares.count == 0)
        return wide(0);
    const bool has_more = divide(squares, n);
    unrounded u = unrounded_sum(squares);
    if (GIVES_DEVIATION)
        u = unrounded_root(squares);
    return round_float(false, u.leading | wide_of(has_more ? 1u : 0u), u.exponent, OUT);
}
