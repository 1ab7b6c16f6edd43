/* Exact mode, the end of a group: its limbs are rounded to a result, as in src/exact/round.c, or kept for the next
 * piece. */

/* The absolute value as digits of base 2^32, lowest first, neither end zero. */
struct magnitude {
    uint32 *digits;
    int count, exponent;
    bool negative;
};

/* Turns limbs [first, end) into digits. The digits may take the limbs' own memory, because they are written no faster
 * than limbs are read. */
template <class Limb> inline magnitude magnitude_of(Limb limb, int first, int end, uint32 *digits) {
    int64 carry = 0;
    int count = 0, low = 0;
    for (int i = first; i < end; i++) {
        int64 value = limb(i);
        int64 sum = (int64)(uint32)value + (int64)(uint32)carry;
        digits[count++] = (uint32)sum;
        carry = (value >> 32) + (carry >> 32) + (sum >> 32);
    }
    while (carry != 0 && carry != -1) {
        digits[count++] = (uint32)carry;
        carry >>= 32;
    }
    bool negative = carry < 0;
    if (negative) {
        uint64 more = 1;
        for (int i = 0; i < count; i++) {
            more += (uint32)~digits[i];
            digits[i] = (uint32)more;
            more >>= 32;
        }
        if (more)
            digits[count++] = 1;
    }
    while (count && !digits[count - 1])
        count--;
    while (low < count && !digits[low])
        low++;
    return {digits + low, count - low, BOTTOM + 32 * (first + low), negative};
}

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

inline uint64 result_bits(const magnitude &m, uint32 saw, uint64 count) {
    constexpr uint64 minus = 1ull << (OUT_BITS - 1);
    constexpr uint32 both = SAW_PLUS_INFINITY | SAW_MINUS_INFINITY;
    if ((saw & SAW_NAN) || (saw & both) == both || (FINISH == FINISH_MEAN && !count))
        return OUT_NAN;
    if (saw & both)
        return saw & SAW_PLUS_INFINITY ? OUT_INFINITY : FINISH == FINISH_ROOT ? OUT_NAN : OUT_INFINITY | minus;
    if (!m.count)
        return count && !(saw & SAW_OTHER) ? minus : 0;
    if (FINISH == FINISH_ROOT)
        return m.negative ? OUT_NAN : round_bits(root_of(m), false);
    return round_bits(FINISH == FINISH_MEAN ? quotient_of(m, count) : of_digits(m), m.negative);
}

#if GIVES_WORDS
/* Settles the carries of the limbs in a warp's shared memory, in their place, and writes the state in words. Limbs above
 * the highest digit are its sign: they count modulo 2^64. */
template <class Limb> inline void give(Limb limb, void *memory, uint32 saw, uint64 count, out_t *to) {
    uint32 *digits = (uint32 *)memory;
    saw = count ? join_warp(saw, [](uint32 a, uint32 b) { return a | b; }) : 0;
    __syncwarp();
    int64 top = 0;
    if (lane_of() == 0) {
        int64 carry = 0;
        for (int i = 0; i < WORDS_DIGITS - 1; i++) {
            int64 value = limb(i), sum = (int64)(uint32)value + (int64)(uint32)carry;
            digits[i] = (uint32)sum;
            carry = (value >> 32) + (carry >> 32) + (sum >> 32);
        }
        uint64 above = WORDS_DIGITS < LIMBS ? (uint64)limb(WORDS_DIGITS) << 32 : 0;
        top = (int64)((uint64)limb(WORDS_DIGITS - 1) + (uint64)carry + above);
    }
    top = __shfl_sync(ALL_LANES, top, 0);
    __syncwarp();
    uint64 check = 0;
    for (int i = 1 + lane_of(); i < WORDS_COUNT; i += WARP) {
        int64 word = i == 1                 ? (int64)count
                     : i == 2               ? (saw & SAW_PLUS_INFINITY) != 0
                     : i == 3               ? (saw & SAW_MINUS_INFINITY) != 0
                     : i == 4               ? (saw & SAW_NAN) != 0
                     : i == 5               ? saw != 0
                     : i == WORDS_COUNT - 1 ? top
                                            : (int64)digits[i - 6];
        check += weight_of(i) * (uint64)word;
        store(&to->word[i], word);
    }
    check = join_warp(check, [](uint64 a, uint64 b) { return a + b; });
    if (lane_of() == 0)
        store(&to->word[0], (int64)check);
    __syncwarp();
}
#else
/* Rounds the limbs in a warp's shared memory and writes the result. */
template <class Limb>
inline void give(Limb limb, void *memory, uint32 saw, uint64 count, out_t *to) {
    int first = LIMBS, end = 0;
    for (int base = 0; base < LIMBS; base += WARP) {
        uint32 used = __ballot_sync(ALL_LANES, base + lane_of() < LIMBS && limb(base + lane_of()) != 0);
        if (used && first == LIMBS)
            first = base + __ffs((int32)used) - 1;
        if (used)
            end = base + WARP - __clz((int32)used);
    }
    saw = join_warp(saw, [](uint32 a, uint32 b) { return a | b; });
    __syncwarp(); /* the digits take the place of the limbs, which all lanes have read */
    if (lane_of() == 0)
        store(to, element_of_bits<out_t>(result_bits(magnitude_of(limb, first, end, (uint32 *)memory), saw, count)));
    __syncwarp();
}
#endif

inline int64 limb_of_words(const int32 *words, int i) {
    return words[2 * i] + (int64)words[2 * i + 1] * 65536;
}

/* Adds the limbs in a warp's shared memory to those of earlier pieces. A piece's limb is less than 2^60, and one step
 * of carries leaves less than 2^33 in each, so the number of pieces does not matter. */
template <class Limb> inline void keep(Limb limb, uint32 saw, const row_sum *carry, row_sum *total) {
    for (int i = lane_of(); i < LIMBS; i += WARP) {
        int64 mine = limb(i) + carry->limbs[i], below = i ? limb(i - 1) + carry->limbs[i - 1] : 0;
        total->limbs[i] = (i < LIMBS - 1 ? (int64)(uint32)mine : mine) + (below >> 32);
    }
    saw = join_warp(saw, [](uint32 a, uint32 b) { return a | b; });
    if (lane_of() == 0) {
        total->saw = saw | carry->saw;
        total->arrived = 0;
    }
    __syncwarp();
}

/* Ends group g: its limbs become a result, or are added to those kept for the next piece. */
template <class Limb>
inline void conclude(const exact_args &p, uint64 g, Limb limb, void *memory, uint32 saw, uint64 count) {
    if (p.total)
        keep(limb, saw, p.carry + g, p.total + g);
    else
        give(limb, memory, saw, count, p.out + g);
}

/* One warp adds all of group g, and ends it. */
inline void add_group(const exact_args &p, int32 *words, uint64 first, uint64 count, uint64 stride, uint64 g) {
    warp_sum sum;
    sum.clear(words);
    add_tiles(sum, make_group(p, first, count, stride), 0, TILE);
    conclude(p, g, [=](int i) { return limb_of_words(words, i); }, words, sum.saw, count);
}
