/* How a scan's summers and finishers find flags, any or all. An element is a bit, which says whether it settles the
 * flag: one that is not 0 for any, a 0 for all. A sum of integers carries these bits on to the next head, 16 elements
 * at a time. One by one, each with its count or its flag, they took some ten instructions an element. */

enum { CHUNK = 16, CHUNKS = (ITEMS + CHUNK - 1) / CHUNK, ELEMENT_BITS = 8 * sizeof(in_t) };
/* With NaNs left out, any goes element by element. To all they are not 0, so they settle nothing anyhow. */
constexpr bool LEAVES_OUT = SKIPS_NAN && !IS_ALL, GOES_BY_WORDS = ELEMENT_BITS < 32 && !LEAVES_OUT;
constexpr uint32 BELOW_TOP = ELEMENT_BITS == 8    ? 0x7f7f7f7f
                             : ELEMENT_BITS == 16 ? 0x7fff7fff
                                                  : 0x7fffffff,
                 TOPS = ~BELOW_TOP;
/* The bits of a word that a zero does not have. */
[[maybe_unused]] constexpr uint32 NOT_OF_ZERO = IS_FLOAT ? BELOW_TOP : ~0u;

/* The highest bit of each element of a word of bytes or halves that is not 0. */
inline uint32 tops_of(uint32 word) {
    return (((word & BELOW_TOP) + BELOW_TOP) | (IS_FLOAT ? 0 : word)) & TOPS;
}
inline bool is_settled_by(in_t x) {
    const value_t value = number_of(x);
    return IS_ALL ? value == 0 : LEAVES_OUT ? absolute(value) > 0 : value != 0;
}
inline lane_t flag_of(bool is_settled) {
    lane_t flag;
    flag.a0 = is_settled != IS_ALL;
    return flag;
}

struct words_sum {
    enum : uint32 { OUTSIDE = IS_ALL ? ~0u : 0 };
    uint32 settled = 0;

    void add_vector(const uint32 (&word)[4]) {
#if SKIPS_NAN
        in_t few[16 / sizeof(in_t)];
        memcpy(few, word, 16);
#pragma unroll
        for (int k = 0; k < (int)(16 / sizeof(in_t)); k++)
            settled |= is_settled_by(few[k]);
#else
#pragma unroll
        for (int w = 0; w < 4; w++)
            if (!IS_ALL)
                settled |= word[w] & (ELEMENT_BITS < 64 || w % 2 ? NOT_OF_ZERO : ~0u);
            else if (ELEMENT_BITS < 32)
                settled |= ~tops_of(word[w]) & TOPS;
            else if (ELEMENT_BITS == 32)
                settled |= (word[w] & NOT_OF_ZERO) == 0;
            else if (w % 2)
                settled |= (word[w - 1] | (word[w] & NOT_OF_ZERO)) == 0;
#endif
    }
    lane_t get() const {
        return flag_of(settled != 0);
    }
};

struct packed_stretch {
    uint32 bits[CHUNKS]; /* of elements that settle the flag, in logical order */

    static int size_of(int chunk) { return ITEMS - chunk * CHUNK < CHUNK ? ITEMS - chunk * CHUNK : (int)CHUNK; }
    static uint32 from(int item, int chunk) {
        item -= chunk * CHUNK;
        return item <= 0 ? ~0u : item >= CHUNK ? 0 : ~0u << item;
    }
    void take(const stretch_of<in_t, ITEMS> &items, const span &mine) {
        constexpr int in_word = ELEMENT_BITS < 32 ? 32 / ELEMENT_BITS : 1, words = ITEMS / in_word;
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
            uint32 all = 0;
            if (GOES_BY_WORDS)
#pragma unroll
                for (int k = 0; k < CHUNK; k += in_word) {
                    const int w = (c * CHUNK + k) / in_word;
                    if (w >= words)
                        continue;
                    const uint32 word = in_logical_order<sizeof(in_t)>(items.word[REVERSE ? words - 1 - w : w]);
                    const uint32 tops = tops_of(word) * (ELEMENT_BITS == 8 ? 0x00204081 : 0x8001);
                    all |= tops >> (32 - in_word) << k;
                }
            else
#pragma unroll
                for (int k = 0; k < CHUNK; k++)
                    if (c * CHUNK + k < ITEMS)
                        all |= (uint32)(is_settled_by(items[c * CHUNK + k]) != IS_ALL) << k;
            bits[c] = IS_ALL ? ~all & ((1 << size_of(c)) - 1) : all;
        }
        if (mine.there < ITEMS)
#pragma unroll
            for (int c = 0; c < CHUNKS; c++)
                bits[c] &= from(mine.absent, c) & ~from(mine.absent + mine.there, c);
    }
    lane_t sum(const span &mine) const {
        uint32 settled = 0;
#pragma unroll
        for (int c = 0; c < CHUNKS; c++)
            settled |= bits[c] & (GROUPS == ALL ? ~0u : from(mine.last(), c));
        return flag_of(settled != 0);
    }
    void scan(uint8 *memory, words_writer &results, const acc_t &left, const acc_t &base, const span &mine) {
        const bool begin_settled = (base.a0 != 0) != IS_ALL; /* groups, by an earlier piece */
        uint32 carry = (left.a0 != 0) != IS_ALL;
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
            const uint32 heads = GROUPS == ALL ? 0 : (uint32)(mine.heads >> c * CHUNK), there = (1 << size_of(c)) - 1;
            const uint32 passing = (bits[c] | ~heads) & there, into = (passing + bits[c] + carry) ^ passing ^ bits[c];
            const uint32 begun = begin_settled ? 0 - (heads & (0 - heads)) : 0; /* from the first head on */
            const uint32 settled = (INCLUSIVE ? into >> 1 : into & ~heads) | begun, flags = IS_ALL ? ~settled : settled;
            carry = begun ? 1 : into >> size_of(c);
#pragma unroll
            for (int w = 0; w < CHUNK / 4; w++)
                if (c * CHUNK + 4 * w < ITEMS)
                    results.put(memory, mine.stretch, c * (CHUNK / 4) + w,
                                (flags >> 4 * w & 15) * 0x00204081 & 0x01010101);
        }
    }
};
