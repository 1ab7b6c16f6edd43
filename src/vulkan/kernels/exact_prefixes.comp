/* Exact scans: prefixes are added up without rounding, and each is rounded once. A thread takes a chunk of a column and
 * holds the sum in shared memory, as an integer wide enough for any sum of the type's elements. Heads, the elements that
 * begin a group, make one segmented scan of every grouping. There are three passes: the sums of chunks, the scan of these
 * sums, and the results. Only integers are added, so no cut changes a bit, and the device's rounding has no effect.
 * Positions are logical: reverse scans count from the end.
 *
 * Before this text specialize.c puts, of the wider one of the types of elements and results:
 *
 *   SCAN_WORDS     words of 32 bits of the integer
 *   SCAN_BOTTOM    bit 0 of it is 2^SCAN_BOTTOM */
shared uint sum_words[SCAN_WORDS * BLOCK];
#define WORD(w) sum_words[(w) * BLOCK + THREAD]

/* The thread's sum, in two's complement, is in words [low, high] of the integer. The words below are 0, and those above
 * repeat word 'high', which is the sign. If the sum is not 0, word 'low' is not. */
uint low, high, saw;
bool has_head; /* a group begins among what was added */

void clear_sum() {
    low = high = 0;
    WORD(0) = 0;
    saw = 0;
}
bool is_zero_sum() {
    return low == high && WORD(low) == 0;
}
bool is_negative_sum() {
    return int(WORD(high)) < 0;
}

/* ---- sums in global memory ---- */

const uint HEADER = 4, SUM_BYTES = 4 * (HEADER + SCAN_WORDS);

address sum_at(address sums, wide i) {
    return plus(sums, times(i, SUM_BYTES));
}
void store_sum(address at) {
    words_at to = words_at(at);
    to.word[0] = low;
    to.word[1] = high;
    to.word[2] = saw;
    to.word[3] = has_head ? 1 : 0;
    for (uint w = low; w <= high; w++)
        to.word[HEADER + w] = WORD(w);
}

/* ---- addition ---- */

void make_room(uint from, uint to) {
    if (is_zero_sum()) {
        low = high = from;
        WORD(low) = 0;
    }
    const uint sign = is_negative_sum() ? ~0u : 0;
    while (high < to)
        WORD(++high) = sign;
    while (low > from)
        WORD(--low) = 0;
}

/* Adds words [first, last] of a sum in global memory, which has this sign, or, if there is none, +- three words. */
void add_words(address stored, uvec3 three, uint first, uint last, bool negative) {
    const uint sign = negative ? ~0u : 0;
    make_room(first, last + 1);
    uint carry = given(stored) ? 0 : sign & 1u;
    for (uint w = first; w <= high; w++) {
        uint addend = sign, over, over_again;
        if (w <= last)
            addend = given(stored) ? words_at(stored).word[HEADER + w] : three[w - first] ^ sign;
        else if (carry == (sign & 1u)) /* nothing changes from here on */
            break;
        const uint sum = uaddCarry(WORD(w), addend, over);
        WORD(w) = uaddCarry(sum, carry, over_again);
        carry = over + over_again;
    }
    const uint sign_now = is_negative_sum() ? ~0u : 0;
    if (WORD(high) != sign_now)
        WORD(++high) = sign_now;
    while (high > low && WORD(high - 1) == sign_now)
        high--;
    while (low < high && WORD(low) == 0)
        low++;
}

void add_float(uvec2 bits, uint type) {
    const parts x = take_apart(bits, type);
    const bool is_zero = x.finite && x.significand == wide(0);
    saw |= !x.finite ? special(is_nan_of(x, type), x.negative) : is_zero && x.negative ? SAW_MINUS_ZERO : SAW_OTHER;
    if (!x.finite || is_zero)
        return;
    const uint position = uint(x.exponent - SCAN_BOTTOM), first = position >> 5, shift = position & 31u;
    const uint above = x.significand.y >> 1 >> 31u - shift;
    add_words(address(0), uvec3(shifted_up(x.significand, shift), above), first, first + 2, x.negative);
}

/* If a group begins in what the sum is of, it replaces what came before. */
void add_sum(address at) {
    words_at from = words_at(at);
    const uint first = from.word[0], last = from.word[1], highest = from.word[HEADER + last];
    if (from.word[3] != 0) {
        clear_sum();
        has_head = true;
    }
    saw |= from.word[2];
    if (first != last || highest != 0)
        add_words(at, uvec3(0), first, last, int(highest) < 0);
}

/* ---- rounding ---- */

/* A digit of the magnitude. The complement, plus 1, changes nothing above the lowest word that is not 0. */
uint digit(int w) {
    return !is_negative_sum() ? WORD(w) : uint(w) == low ? 0 - WORD(w) : ~WORD(w);
}
