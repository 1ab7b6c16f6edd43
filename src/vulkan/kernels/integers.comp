/* Exact mode of integers: rounds the mean or the root of a sum of up to three words to a result once. */
#if VALUE_KIND == KIND_U64

/* A sum, or its absolute value, which is read from the top. Only zeros follow its bits. */
struct integer {
    uint64_t low, middle, high;
    int bits;
};

/* The bits above a sum's highest word. */
uint64_t above(uint64_t word) {
    return SIGN(word);
}

integer negated(integer x) {
    const uint64_t carry = x.low == 0 ? uint64_t(1) : uint64_t(0), both = x.middle == 0 ? carry : uint64_t(0);
    return integer(uint64_t(0) - x.low, ~x.middle + carry, ~x.high + both, x.bits);
}
bool is_zero(integer x) {
    return (x.low | x.middle | x.high) == 0;
}
integer shifted_up(integer x, uint n) {
    return integer(x.low << n, x.middle << n | x.low >> 1 >> 63 - n, x.high << n | x.middle >> 1 >> 63 - n, x.bits);
}
/* Shifts a number that is not zero until one of its two top bits is set, by an even number of bits. */
integer justified(integer x) {
    x.bits = 192;
    for (int k = 0; k < 2; k++)
        if (x.high == 0)
            x = integer(uint64_t(0), x.low, x.middle, x.bits - 64);
    const uint even = uint(63 - top_bit(words_of(x.high))) & ~1u;
    x.bits -= int(even);
    return shifted_up(x, even);
}
uint take_bit(inout integer x) {
    const uint bit = uint(x.high >> 63);
    x = shifted_up(x, 1);
    return bit;
}

wide mean_of(integer sum, wide count) {
    if (count == wide(0))
        return nan_bits(OUT);
    const bool negative = is_signed(IN) && int64_t(sum.high) < 0;
    integer x = negative ? negated(sum) : sum;
    if (is_zero(x))
        return wide(0);
    x = justified(x);
    wide rest = wide(0), quotient = wide(0);
    while (quotient.y >> 31 == 0) { /* long division, a bit at a time */
        quotient = shifted_up(quotient, 1);
        if (divide_step(rest, take_bit(x), count))
            quotient.x |= 1u;
        x.bits--;
    }
    const uint more = rest != wide(0) || !is_zero(x) ? 1 : 0;
    return round_float(negative, quotient | wide_of(more), x.bits, OUT);
}

wide root_of(integer sum) {
    if (is_zero(sum))
        return wide(0);
    integer x = justified(sum);
    wide rest = wide(0), root = wide(0);
    for (int k = 0; k < 60; k++) { /* by hand: two bits of the sum for one of the root */
        const wide trial = shifted_up(root, 2) | wide(1, 0);
        const uint upper = take_bit(x);
        rest = shifted_up(rest, 2) | wide_of(upper << 1 | take_bit(x));
        root = shifted_up(root, 1);
        if (!less(rest, trial)) {
            rest = minus(rest, trial);
            root.x |= 1u;
        }
    }
    const uint more = rest != wide(0) || !is_zero(x) ? 1 : 0;
    return round_float(false, shifted_up(root, 1) | wide_of(more), x.bits / 2 - 61, OUT);
}
#endif
