/* What a thread keeps of its columns (fold_columns.cu), where elements are bytes: words of four columns. An element
 * then costs an instruction or less, and a column a byte or two of the registers. Columns of one element a thread do not
 * come this way. COLUMN_PACKS says how bytes are combined. */
#if COLUMN_PACKS
[[maybe_unused]] constexpr bool PACKS_LEAST = COLUMN_PACKS == PACKED_MIN || COLUMN_PACKS == PACKED_MINMAX;
[[maybe_unused]] constexpr bool PACKS_LARGEST = COLUMN_PACKS == PACKED_MAX || COLUMN_PACKS == PACKED_MINMAX;
[[maybe_unused]] constexpr bool ARE_SIGNED = in_t(-1) < in_t(0) && !PACKS_MAGNITUDES;
/* Four elements that change nothing. */
[[maybe_unused]] constexpr uint32 NEUTRAL = COLUMN_PACKS == PACKED_AND || COLUMN_PACKS == PACKED_ALL ? ~0u : 0;

template <bool IsSigned> struct packed_types {
    typedef uint8 byte;
    typedef uint16 pair;
};
template <> struct packed_types<true> {
    typedef int8 byte;
    typedef int16 pair;
};
/* The absolute values of four integers: ones' complements of the negative ones, and one more. */
[[maybe_unused]] inline uint32 magnitudes(uint32 word) {
    const uint32 minus = word >> 7 & 0x01010101;
    return (word ^ minus * 255) + minus;
}

#if TALLY_ARCHITECTURE >= 90
/* The least or the largest of four columns, as pairs of 16 bits whose upper bytes count: the lower ones decide only
 * where those are equal. So a word is compared as it is for two columns, and shifted for the others. */
template <bool IsLeast> struct packed_extremes {
    typedef typename packed_types<ARE_SIGNED>::pair pair;
    static constexpr uint32 FIRST_BYTES = IsLeast ? ARE_SIGNED ? 0x7f7f7f7f : ~0u : ARE_SIGNED ? 0x80808080 : 0;
    uint32 even = FIRST_BYTES | (IsLeast ? 0xff00ff : 0), odd = even;

    void add(uint32 word) {
        even = IsLeast ? smaller_pair<pair>(even, word << 8) : larger_pair<pair>(even, word << 8);
        odd = IsLeast ? smaller_pair<pair>(odd, word) : larger_pair<pair>(odd, word);
    }
    in_t element(int k) const {
        return (in_t)((k % 2 ? odd : even) >> (k / 2 * 16 + 8));
    }
};
#else
template <bool> struct packed_extremes {
    static constexpr uint32 FIRST_BYTES = 0;
    void add(uint32) {}
    in_t element(int) const {
        return 0;
    }
};
#endif

template <int Width> struct packed_lanes {
    enum { WORDS = Width / 4 };
    uint32 bits[WORDS];
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
        if (COLUMN_PACKS == PACKED_ALL) /* a byte's highest bit: whether it is not 0 */
            bits[w] &= ((there & 0x7f7f7f7f) + 0x7f7f7f7f) | there;
        if (PACKS_LEAST)
            least[w].add((word & mask) | (packed_extremes<true>::FIRST_BYTES & ~mask));
        if (PACKS_LARGEST)
            largest[w].add((word & mask) | (packed_extremes<false>::FIRST_BYTES & ~mask));
        if (COLUMN_PACKS == PACKED_SUM)
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum[4 * w + k] = add_bytes<packed_types<ARE_SIGNED>::byte>(there, sum[4 * w + k], 1u << 8 * k);
    }
    /* The first 'left' elements of a row. */
    void add(const few<in_t, Width> &x, int left) {
        uint32 word[WORDS];
        memcpy(word, &x, sizeof word);
        is_empty = false;
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            const int bytes = left - 4 * w; /* of this word */
            add_word(w, word[w], bytes >= 4 ? ~0u : bytes <= 0 ? 0 : (1u << 8 * bytes) - 1);
        }
    }
    acc_t accumulator(int k) const {
        acc_t r = identity_as<acc_t>();
        if (is_empty)
            return r;
#if COLUMN_PACKS == PACKED_MINMAX /* a column may have no element yet, so what is the largest is not lifted */
        r.a0 = (decltype(r.a0))value_of(least[k / 4].element(k % 4));
        r.a1 = (decltype(r.a1))value_of(largest[k / 4].element(k % 4));
        return r;
#else
        const uint32 byte = bits[k / 4] >> k % 4 * 8;
        if (COLUMN_PACKS == PACKED_SUM) {
            r.a0 = (decltype(r.a0))(ARE_SIGNED ? (int64)(int32)sum[k] : (int64)sum[k]);
            return r;
        }
        return lifted(PACKS_LEAST                  ? least[k / 4].element(k % 4)
                      : PACKS_LARGEST              ? largest[k / 4].element(k % 4)
                      : COLUMN_PACKS == PACKED_ALL ? (in_t)(byte & 0x80)
                                                   : (in_t)byte);
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
