/* Running sums of narrow integers whose results are as wide: a word has an element of each of some neighbouring columns,
 * four bytes or two halves. So an element takes about an instruction. COLUMN_PACKS says how they are combined. */
#if COLUMN_PACKS
[[maybe_unused]] constexpr uint32 IN_WORD = 4 / sizeof(in_t), ELEMENT_BITS = 8 * sizeof(in_t);
[[maybe_unused]] constexpr uint32 ELEMENT = (1u << ELEMENT_BITS) - 1, EACH = sizeof(in_t) == 1 ? 0x01010101 : 0x00010001,
                                  TOPS = EACH << (ELEMENT_BITS - 1);
[[maybe_unused]] constexpr bool ARE_EXTREMES = COLUMN_PACKS == PACKED_MIN || COLUMN_PACKS == PACKED_MAX,
                                ARE_FLAGS = COLUMN_PACKS == PACKED_ANY || COLUMN_PACKS == PACKED_ALL;
static_assert(sizeof(acc_t) == 4, "an accumulator can be a word");

/* What of a word's elements is combined: whether they are not 0, their absolute values, or themselves. */
inline uint32 form_of(uint32 word) {
    if (ARE_FLAGS)
        return ((((word & ~TOPS) + ~TOPS) | word) & TOPS) >> (ELEMENT_BITS - 1);
    if (PACKS_MAGNITUDES) {
        const uint32 minus = word >> (ELEMENT_BITS - 1) & EACH;
        return (word ^ minus * ELEMENT) + minus;
    }
    return word;
}

#if TALLY_ARCHITECTURE >= 90
template <bool AreSigned> struct pair_of {
    typedef uint16 type;
};
template <> struct pair_of<true> {
    typedef int16 type;
};
inline uint32 extreme_pair(uint32 a, uint32 b) {
    typedef pair_of<in_t(-1) < in_t(0) && !PACKS_MAGNITUDES>::type pair;
    return COLUMN_PACKS == PACKED_MIN ? smaller_pair<pair>(a, b) : larger_pair<pair>(a, b);
}
#else
inline uint32 extreme_pair(uint32 a, uint32) {
    return a;
}
#endif

struct packed_run {
    /* Products have a word for each element, in its lowest bits. Extremes of bytes are pairs of 16 bits whose upper bytes
     * count: the lower ones decide only where those are equal. */
    enum { WORDS = COLUMN_PACKS == PACKED_PROD ? (int)IN_WORD : ARE_EXTREMES && sizeof(in_t) == 1 ? 2 : 1 };
    uint32 of[WORDS];

    packed_run() = default;
    explicit packed_run(uint32 word) {
        of[0] = WORDS == 2 && ARE_EXTREMES ? word << 8 : word;
#pragma unroll
        for (int k = 1; k < WORDS; k++)
            of[k] = ARE_EXTREMES ? word : word >> k * ELEMENT_BITS;
    }
    void add(uint32 word) {
        if (COLUMN_PACKS == PACKED_AND || COLUMN_PACKS == PACKED_ALL)
            of[0] &= word;
        if (COLUMN_PACKS == PACKED_OR || COLUMN_PACKS == PACKED_ANY)
            of[0] |= word;
        if (COLUMN_PACKS == PACKED_XOR)
            of[0] ^= word;
        if (COLUMN_PACKS == PACKED_SUM)
            of[0] = ((of[0] & ~TOPS) + (word & ~TOPS)) ^ ((of[0] ^ word) & TOPS);
        if (COLUMN_PACKS == PACKED_PROD)
#pragma unroll
            for (int k = 0; k < WORDS; k++)
                of[k] *= word >> k * ELEMENT_BITS;
        if (ARE_EXTREMES) {
            of[0] = extreme_pair(of[0], WORDS == 2 ? word << 8 : word);
            if (WORDS == 2)
                of[WORDS - 1] = extreme_pair(of[WORDS - 1], word);
        }
    }
    uint32 word() const {
        if (WORDS == 4)
            return __byte_perm(__byte_perm(of[0], of[1], 0x0040), __byte_perm(of[WORDS / 2], of[WORDS - 1], 0x0040), 0x5410);
        if (WORDS == 2)
            return __byte_perm(of[0], of[WORDS - 1], ARE_EXTREMES ? 0x7351 : 0x5410);
        return of[0];
    }
};

/* Accumulators of a word, which have it as their bits. */
inline uint32 word_in(const acc_t &acc) {
    return (uint32)acc.a0;
}
inline acc_t acc_of_word(uint32 word) {
    acc_t acc = identity_as<acc_t>();
    acc.a0 = (decltype(acc.a0))word;
    return acc;
}
/* A column's accumulator as an element of a word, in all places. */
inline uint32 in_all_places(const acc_t &acc) {
    return ((uint32)acc.a0 & ELEMENT) * EACH;
}
/* The accumulator of a word's element. */
inline acc_t acc_of_element(uint32 word, int k) {
    const in_t x = (in_t)(word >> k * ELEMENT_BITS);
    acc_t acc = identity_as<acc_t>();
    acc.a0 = PACKS_MAGNITUDES ? (decltype(acc.a0))((uint32)x & ELEMENT) : (decltype(acc.a0))x;
    return acc;
}

/* As plain_join in scan_tall.cu, of words. */
struct word_join {
    static acc_t identity() {
        return acc_of_word(in_all_places(identity_as<acc_t>()));
    }
    static acc_t join(const acc_t &a, const acc_t &b) {
        packed_run run(word_in(a));
        run.add(word_in(b));
        return acc_of_word(run.word());
    }
};
#endif
