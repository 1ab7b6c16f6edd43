/* Addresses, and counts that may pass 2^32, as pairs of words, the low one first, so that no device needs 64-bit
 * integers for them. Loops over elements do not count with these. They go through a stretch, which begins at an address
 * and has few enough elements (MOST_CHUNK of cut.h) for 32 bits to count its bytes. */
#define wide    uvec2
#define address uvec2

/* Arguments that are addresses may be left out. */
bool given(address a) {
    return a != address(0);
}

wide wide_of(uint x) {
    return wide(x, 0);
}
wide wide_of(int x) {
    return wide(x, x >> 31);
}

wide plus(wide a, wide b) {
    uint carry;
    const uint low = uaddCarry(a.x, b.x, carry);
    return wide(low, a.y + b.y + carry);
}
wide plus(wide a, uint b) {
    return plus(a, wide_of(b));
}
wide minus(wide a, wide b) {
    uint borrow;
    const uint low = usubBorrow(a.x, b.x, borrow);
    return wide(low, a.y - b.y - borrow);
}
wide minus(wide a, uint b) {
    return minus(a, wide_of(b));
}
wide times(uint a, uint b) {
    uint high, low;
    umulExtended(a, b, high, low);
    return wide(low, high);
}
wide times(wide a, uint b) {
    const wide low = times(a.x, b);
    return wide(low.x, low.y + a.y * b);
}
wide times(wide a, wide b) {
    const wide low = times(a.x, b.x);
    return wide(low.x, low.y + a.x * b.y + a.y * b.x);
}

bool less(wide a, wide b) {
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}
wide least(wide a, wide b) {
    return less(b, a) ? b : a;
}
wide most(wide a, wide b) {
    return less(a, b) ? b : a;
}
/* The lesser of a wide number and a 32-bit number. */
uint at_most(wide x, uint limit) {
    return x.y != 0 ? limit : min(x.x, limit);
}
bool is_below(wide x, uint limit) {
    return x.y == 0 && x.x < limit;
}

/* By 64 bits at most. */
wide shifted_up(wide x, uint n) {
    if (n >= 32)
        return wide(0, n >= 64 ? 0 : x.x << n - 32);
    return wide(x.x << n, x.y << n | x.x >> 1 >> 31 - n);
}
wide shifted_down(wide x, uint n) {
    if (n >= 32)
        return wide(n >= 64 ? 0 : x.y >> n - 32, 0);
    return wide(x.x >> n | x.y << 1 << 31 - n, x.y >> n);
}
/* -1 of zero. */
int top_bit(wide x) {
    return x.y != 0 ? findMSB(x.y) + 32 : findMSB(x.x);
}

/* A step of long division: adds one more bit of the dividend. Returns whether the quotient's bit is 1. */
bool divide_step(inout wide rest, uint bit, wide by) {
    const bool carry = rest.y >> 31 != 0;
    rest = shifted_up(rest, 1) | wide_of(bit);
    if (!carry && less(rest, by))
        return false;
    rest = minus(rest, by);
    return true;
}
/* a / b, and the remainder. */
wide divided(wide a, wide b, out wide rest) {
    if (a.y == 0 && b.y == 0) {
        rest = wide_of(a.x % b.x);
        return wide_of(a.x / b.x);
    }
    wide quotient = wide(0);
    rest = wide(0);
    for (int k = top_bit(a); k >= 0; k--) {
        quotient = shifted_up(quotient, 1);
        if (divide_step(rest, shifted_down(a, uint(k)).x & 1u, b))
            quotient.x |= 1u;
    }
    return quotient;
}

#if HAS_INT64
uint64_t u64_of(wide x) {
    return packUint2x32(x);
}
wide words_of(uint64_t x) {
    return unpackUint2x32(x);
}
#endif
