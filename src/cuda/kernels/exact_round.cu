/* Exact mode, the end of a group: its limbs are rounded to a result, as in src/exact/round.c, or kept for the next
 * piece. */

/* Turns limbs [first, end) into digits. The digits may take the limbs' own memory, because they are written no faster
 * than limbs are read. */
template <class Limb> inline magnitude magnitude_of(Limb limb, int first, int end, uint32 *digits, int bottom) {
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
    return {digits + low, count - low, bottom + 32 * (first + low), negative};
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
/* Settles the carries of a number's limbs, which may be in the digits' memory. Returns the highest digit, which has the
 * sign; limbs above it count modulo 2^64. */
template <class Limb> inline int64 settle(Limb limb, int limbs, uint32 *digits, int count) {
    int64 carry = 0;
    for (int i = 0; i < count - 1; i++) {
        int64 value = limb(i), sum = (int64)(uint32)value + (int64)(uint32)carry;
        digits[i] = (uint32)sum;
        carry = (value >> 32) + (carry >> 32) + (sum >> 32);
    }
    uint64 above = count < limbs ? (uint64)limb(count) << 32 : 0;
    return (int64)((uint64)limb(count - 1) + (uint64)carry + above);
}

/* Settles the limbs in a warp's shared memory, in their place, and writes the state in words. */
template <class Limb> inline void give(Limb limb, void *memory, uint32 saw, uint64 count, out_t *to) {
    uint32 *digits = (uint32 *)memory;
    saw = count ? join_warp(saw, [](uint32 a, uint32 b) { return a | b; }) : 0;
    __syncwarp();
    uint32 *squares = digits + 2 * SUM_LIMBS;
    int64 top = 0;
    if (lane_of() == 0)
        top = settle(limb, HAS_MOMENTS ? SUM_LIMBS : LIMBS, digits, WORDS_DIGITS);
    if (HAS_MOMENTS && lane_of() == 1)
        top = settle([=](int i) { return limb(SUM_LIMBS + i); }, LIMBS, squares, WORDS_SQUARES);
    int64 top_of_squares = __shfl_sync(ALL_LANES, top, 1);
    top = __shfl_sync(ALL_LANES, top, 0);
    __syncwarp();
    uint64 check = 0;
    int64 *words = (int64 *)to; /* which may be misaligned */
    for (int i = 1 + lane_of(); i < WORDS_COUNT; i += WARP) {
        int64 word = i == 1                   ? (int64)count
                     : i == 2                 ? (saw & SAW_PLUS_INFINITY) != 0
                     : i == 3                 ? (saw & SAW_MINUS_INFINITY) != 0
                     : i == 4                 ? (saw & SAW_NAN) != 0
                     : i == 5                 ? saw != 0
                     : i < 5 + WORDS_DIGITS   ? (int64)digits[i - 6]
                     : i == 5 + WORDS_DIGITS  ? top
                     : i < WORDS_COUNT - 1    ? (int64)squares[i - 6 - WORDS_DIGITS]
                                              : top_of_squares;
        check += weight_of(i) * (uint64)word;
        store(words + i, word);
    }
    check = join_warp(check, [](uint64 a, uint64 b) { return a + b; });
    if (lane_of() == 0)
        store(words, (int64)check);
    __syncwarp();
}
#else
/* The limbs of a number outside of [first, end) are 0. */
struct used_limbs {
    int first, end;
};
template <int Limbs, class Limb> inline used_limbs find_used(Limb limb) {
    used_limbs u = {Limbs, 0};
    for (int base = 0; base < Limbs; base += WARP) {
        uint32 used = __ballot_sync(ALL_LANES, base + lane_of() < Limbs && limb(base + lane_of()) != 0);
        if (used && u.first == Limbs)
            u.first = base + __ffs((int32)used) - 1;
        if (used)
            u.end = base + WARP - __clz((int32)used);
    }
    return u;
}

#if HAS_MOMENTS
/* The squares' digits begin where those of the square of the sum do, or below. */
template <class Limb>
inline uint64 moments_bits(Limb limb, used_limbs of_sum, used_limbs of_squares, uint32 *memory, uint32 saw,
                           uint64 count) {
    if (saw & (SAW_NAN | SAW_PLUS_INFINITY | SAW_MINUS_INFINITY))
        return OUT_NAN;
    magnitude sum = magnitude_of(limb, of_sum.first, of_sum.end, memory, SUM_BOTTOM);
    int lowest = sum.count ? 2 * (sum.exponent - SUM_BOTTOM) / 32 : (int)LIMBS;
    magnitude squares = magnitude_of([=](int i) { return limb(SUM_LIMBS + i); },
                                     lowest < of_squares.first ? lowest : of_squares.first, of_squares.end,
                                     memory + 2 * SUM_LIMBS, BOTTOM);
    int missing = squares.count ? (squares.exponent - BOTTOM) / 32 - lowest : 0;
    if (missing > 0) { /* they are there, and 0 */
        squares.digits -= missing;
        squares.count += missing;
        squares.exponent -= 32 * missing;
    }
    return variance_bits(squares, sum, count);
}
#endif

/* Rounds the limbs in a warp's shared memory and writes the result. */
template <class Limb>
inline void give(Limb limb, void *memory, uint32 saw, uint64 count, out_t *to) {
#if HAS_MOMENTS
    used_limbs of_sum = find_used<SUM_LIMBS>(limb);
    used_limbs used = find_used<LIMBS>([=](int i) { return limb(SUM_LIMBS + i); });
#else
    used_limbs used = find_used<LIMBS>(limb);
#endif
    saw = join_warp(saw, [](uint32 a, uint32 b) { return a | b; });
    __syncwarp(); /* the digits take the place of the limbs, which all lanes have read */
    if (lane_of() == 0) {
        uint32 *digits = (uint32 *)memory;
#if HAS_MOMENTS
        uint64 bits = moments_bits(limb, of_sum, used, digits, saw, count);
#else
        uint64 bits = result_bits(magnitude_of(limb, used.first, used.end, digits, BOTTOM), saw, count);
#endif
        store(to, element_of_bits<out_t>(bits));
    }
    __syncwarp();
}
#endif

inline int64 limb_of_words(const int32 *words, int i) {
    return words[2 * i] + (int64)words[2 * i + 1] * 65536;
}

/* Adds the limbs in a warp's shared memory to those of earlier pieces. A piece's limb is less than 2^60, and one step
 * of carries leaves less than 2^33 in each, so the number of pieces does not matter. */
template <class Limb> inline void keep(Limb limb, uint32 saw, const row_sum *carry, row_sum *total) {
    for (int i = lane_of(); i < STATE_LIMBS; i += WARP) {
        bool is_lowest = i == 0 || i == SUM_LIMBS || i == SUM_LIMBS + LIMBS;
        bool is_highest = i == SUM_LIMBS - 1 || i == SUM_LIMBS + LIMBS - 1 || i == STATE_LIMBS - 1;
        int64 mine = limb(i) + carry->limbs[i], below = is_lowest ? 0 : limb(i - 1) + carry->limbs[i - 1];
        total->limbs[i] = (is_highest ? mine : (int64)(uint32)mine) + (below >> 32);
    }
    saw = join_warp(saw, [](uint32 a, uint32 b) { return a | b; });
    if (lane_of() == 0) {
        total->saw = saw | carry->saw;
        total->arrived = 0;
    }
    __syncwarp();
}

/* How many of a group's elements are in its sum. */
template <class Limb> inline uint64 added_of(Limb limb, uint64 count) {
    return SKIPS_NAN ? count - (uint64)limb(STATE_LIMBS - 1) : count;
}

/* Ends group g: its limbs become a result, or are added to those kept for the next piece. */
template <class Limb>
inline void conclude(const exact_args &p, uint64 g, Limb limb, void *memory, uint32 saw, uint64 count) {
    if (p.total)
        keep(limb, saw, p.carry + g, p.total + g);
    else
        give(limb, memory, saw, added_of(limb, count), p.out + g);
}

/* One warp adds all of group g, and ends it. */
inline void add_group(const exact_args &p, int32 *words, uint64 first, uint64 count, uint64 stride, uint64 g) {
    warp_state sum;
    sum.clear(words);
    add_tiles(sum, make_group(p, first, count, stride), 0, TILE);
    conclude(p, g, [=](int i) { return limb_of_words(words, i); }, words, sum.saw, count);
}
