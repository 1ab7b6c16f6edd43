/* What a thread keeps of its columns (fold_columns.cu), where elements are bytes or halves: words of four columns or two.
 * An element then costs an instruction or less, and a column a byte or two of the registers. Columns of one element a thread do not
 * come this way. COLUMN_PACKS says how elements are combined. */
#if COLUMN_PACKS
[[maybe_unused]] constexpr bool PACKS_LEAST = COLUMN_PACKS == PACKED_MIN || COLUMN_PACKS == PACKED_MINMAX;
[[maybe_unused]] constexpr bool PACKS_LARGEST = COLUMN_PACKS == PACKED_MAX || COLUMN_PACKS == PACKED_MINMAX;
#if IS_FLOAT
[[maybe_unused]] constexpr bool ARE_SIGNED = false;
#else
[[maybe_unused]] constexpr bool ARE_SIGNED = in_t(-1) < in_t(0) && !PACKS_MAGNITUDES;
#endif
[[maybe_unused]] constexpr int IN_WORD = 4 / sizeof(in_t), ELEMENT_BITS = 8 * sizeof(in_t);
[[maybe_unused]] constexpr uint32 EACH = sizeof(in_t) == 1 ? 0x01010101 : 0x00010001,
                                  TOPS = EACH << (ELEMENT_BITS - 1);
/* Elements that change nothing. */
[[maybe_unused]] constexpr uint32 NEUTRAL = COLUMN_PACKS == PACKED_AND || COLUMN_PACKS == PACKED_ALL ? ~0u : 0;

template <bool IsSigned> struct packed_types {
    typedef uint8 byte;
    typedef uint16 pair;
};
template <> struct packed_types<true> {
    typedef int8 byte;
    typedef int16 pair;
};
/* The absolute values of a word's integers: ones' complements of the negative ones, and one more. */
[[maybe_unused]] inline uint32 magnitudes(uint32 word) {
    const uint32 minus = word >> (ELEMENT_BITS - 1) & EACH;
    return (word ^ minus * ((1 << ELEMENT_BITS) - 1)) + minus;
}
/* An element's highest bit: whether it is not 0. */
[[maybe_unused]] inline uint32 tops_of(uint32 word) {
    return (((word & ~TOPS) + ~TOPS) | (IS_FLOAT ? 0 : word)) & TOPS;
}
[[maybe_unused]] inline in_t element_of(uint32 bits) {
    const typename word_of<sizeof(in_t)>::type low = (typename word_of<sizeof(in_t)>::type)bits;
    in_t x;
    memcpy(&x, &low, sizeof x);
    return x;
}

#if TALLY_ARCHITECTURE >= 90
/* The least or the largest of a word's columns. Those of bytes are pairs of 16 bits whose upper bytes count: the lower
 * ones decide only where those are equal. So a word is compared as it is for two columns, and shifted for the others. */
template <bool IsLeast> struct packed_extremes {
    typedef typename packed_types<ARE_SIGNED>::pair pair;
    static constexpr uint32 FIRST = (IsLeast ? ~0u : 0) ^ (ARE_SIGNED ? TOPS : 0); /* of the elements that there are not */
    uint32 even = sizeof(in_t) == 2 ? FIRST : IsLeast ? FIRST | 0xff00ff : FIRST & ~0xff00ffu, odd = even;

    static uint32 better(uint32 a, uint32 b) {
        return IsLeast ? smaller_pair<pair>(a, b) : larger_pair<pair>(a, b);
    }
    void add(uint32 word) {
        if (sizeof(in_t) == 1)
            even = better(even, word << 8);
        odd = better(odd, word);
    }
    in_t element(int k) const {
        return element_of(sizeof(in_t) == 2 ? odd >> k * 16 : (k % 2 ? odd : even) >> (k / 2 * 16 + 8));
    }
};
/* Adds 1 to both counts of a word whose elements are not 0. */
inline uint32 count_pair(uint32 counts, uint32 word) {
    return counts + smaller_pair<uint16>(word & (IS_FLOAT ? ~TOPS : ~0u), EACH);
}
#else
template <bool> struct packed_extremes {
    static constexpr uint32 FIRST = 0;
    void add(uint32) {}
    in_t element(int) const {
        return element_of(0);
    }
};
inline uint32 count_pair(uint32 counts, uint32) {
    return counts;
}
#endif

template <int Width> struct packed_lanes {
    enum { WORDS = Width / IN_WORD };
    uint32 bits[WORDS]; /* or counts of halves */
    uint32 sum[Width];
    bool is_empty = true;
    packed_extremes<true> least[WORDS];
    packed_extremes<false> largest[WORDS];

    packed_lanes() {
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            bits[w] = NEUTRAL;
#pragma unroll
        for (int k = 0; k < Width; k++)
            sum[k] = 0;
    }
    /* The bytes of the word that are in the mask. */
    void add_word(int w, uint32 word, uint32 mask) {
        word = PACKS_MAGNITUDES ? magnitudes(word) : word;
        const uint32 there = (word & mask) | (NEUTRAL & ~mask);
        if (COLUMN_PACKS == PACKED_AND)
            bits[w] &= there;
        if (COLUMN_PACKS == PACKED_OR)
            bits[w] |= there;
        if (COLUMN_PACKS == PACKED_XOR)
            bits[w] ^= there;
        if (COLUMN_PACKS == PACKED_ALL)
            bits[w] &= tops_of(there);
        if (COLUMN_PACKS == PACKED_COUNT && sizeof(in_t) == 2)
            bits[w] = count_pair(bits[w], there);
        if (PACKS_LEAST)
            least[w].add((word & mask) | (packed_extremes<true>::FIRST & ~mask));
        if (PACKS_LARGEST)
            largest[w].add((word & mask) | (packed_extremes<false>::FIRST & ~mask));
        if (sizeof(in_t) == 1 && (COLUMN_PACKS == PACKED_SUM || COLUMN_PACKS == PACKED_COUNT)) {
            const uint32 terms = COLUMN_PACKS == PACKED_COUNT ? tops_of(there) >> (ELEMENT_BITS - 1) : there;
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum[4 * w + k] = add_bytes<packed_types<ARE_SIGNED>::byte>(terms, sum[4 * w + k], 1u << 8 * k);
        }
    }
    /* The first 'left' elements of a row. */
    void add(const few<in_t, Width> &x, int left) {
        uint32 word[WORDS];
        memcpy(word, &x, sizeof word);
        is_empty = false;
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            const int here = left - IN_WORD * w; /* of this word */
            add_word(w, word[w], here >= IN_WORD ? ~0u : here <= 0 ? 0 : (1u << ELEMENT_BITS * here) - 1);
        }
    }
    acc_t accumulator(int k) const {
        acc_t r = identity_as<acc_t>();
        if (is_empty)
            return r;
#if COLUMN_PACKS == PACKED_MINMAX /* a column may have no element yet, so what is the largest is not lifted */
        r.a0 = (decltype(r.a0))value_of(least[k / IN_WORD].element(k % IN_WORD));
        r.a1 = (decltype(r.a1))value_of(largest[k / IN_WORD].element(k % IN_WORD));
        return r;
#else
        const uint32 of_column = bits[k / IN_WORD] >> k % IN_WORD * ELEMENT_BITS;
        if (COLUMN_PACKS == PACKED_COUNT) {
            r.a0 = (decltype(r.a0))(sizeof(in_t) == 2 ? of_column & 0xffff : sum[k]);
            return r;
        }
        if (COLUMN_PACKS == PACKED_SUM) {
            r.a0 = (decltype(r.a0))(ARE_SIGNED ? (int64)(int32)sum[k] : (int64)sum[k]);
            return r;
        }
        if (COLUMN_PACKS == PACKED_ALL) {
            r.a0 = (decltype(r.a0))(of_column >> (ELEMENT_BITS - 1) & 1);
            return r;
        }
        return lifted(PACKS_LEAST     ? least[k / IN_WORD].element(k % IN_WORD)
                      : PACKS_LARGEST ? largest[k / IN_WORD].element(k % IN_WORD)
                                      : element_of(of_column));
#endif
    }

  private:
    static acc_t lifted(in_t x) {
        return lift_as<acc_t>(value_of(x), value_t(0), 0);
    }
};

template <int Width> inline acc_t sum_of_column(const packed_lanes<Width> *lanes, int k, uint64) {
    return lanes->accumulator(k);
}
#endif
inline acc_t sum_of_column(const column_sum *lanes, int k, uint64 before) {
    return lanes[k].sum_from(before, 1);
}

/* What a thread keeps of its columns. */
template <int Width, bool ArePacked> struct choice_of_lanes {
    enum { COUNT = Width };
    typedef column_sum type;
};
#if COLUMN_PACKS
template <int Width> struct choice_of_lanes<Width, true> {
    enum { COUNT = 1 };
    typedef packed_lanes<Width> type;
};
template <int Width, int Rows, class Left>
inline void add_loaded(const stretch<Width> &, uint32, const few<in_t, Width> *x, const few<in_t, Width> *, int from,
                       int to, Left left, packed_lanes<Width> *lanes) {
#pragma unroll
    for (int u = 0; u < Rows; u++)
        if (u >= from && u < to)
            lanes->add(x[u], left(u));
}
#endif
