/* Exact mode, a warp's accumulator: the words in shared memory, each lane's levels, the levels' window, and each lane's
 * bins. */

template <int Limbs, int Bottom> struct warp_number {
    enum { WORDS = 2 * Limbs, BOTTOM_BIT = Bottom };
    int32 *words;
    uint32 saw;   /* SAW_ bits of this lane's elements */
    int deposits; /* deposits to a word since the carries were moved, at most */

    void clear(int32 *memory) {
        words = memory;
        deposits = 0;
        saw = PRODUCTS == 2 || MAGNITUDES ? SAW_OTHER : 0; /* squares and absolute values are never -0 */
        for (int i = lane_of(); i < WORDS; i += WARP)
            words[i] = 0;
        __syncwarp();
    }
    /* Makes sure that each word can take that many more deposits. */
    void expect(int more) {
        if (deposits + more > WORD_DEPOSITS) {
            __syncwarp();
            carry_once<WORDS>(words);
            deposits = 2;
        }
        deposits += more;
    }
};
typedef warp_number<LIMBS, BOTTOM> warp_sum;

/* A lane's L levels. Each begins as the large number 1.5 * 2^m, so that an added value is rounded to a multiple of its
 * unit (exact.cu). */
template <int L> struct levels {
    double level[L];

    static double start(int top, int l) {
        return __hiloint2double((top + ADDITIONS_LOG + 1 - l * LEVEL_BITS + 1023 - SCALE_LOG) << 20 | 1 << 19, 0);
    }
    void clear(int top) {
#pragma unroll
        for (int l = 0; l < L; l++)
            level[l] = start(top, l);
    }
    void add(double x) {
#pragma unroll
        for (int l = 0; l < L - 1; l++) {
            double next = __dadd_rn(level[l], x);
            x = __dsub_rn(x, __dsub_rn(next, level[l]));
            level[l] = next;
        }
        level[L - 1] = __dadd_rn(level[L - 1], x);
    }
    /* Adds the warp's levels to the words. A level stays within its binade, so its bits minus its first bits, taken as
     * integers, count its units. */
    template <class Number> void empty(Number &sum, int top) {
        sum.expect(L);
#pragma unroll
        for (int l = 0; l < L; l++) {
            int64 mine = (int64)(bits_of(level[l]) - bits_of(start(top, l)));
            int64 units = join_warp(mine, [](int64 a, int64 b) { return a + b; });
            if (lane_of() == l)
                deposit(sum.words, units < 0 ? 0 - (uint64)units : (uint64)units, units < 0,
                        top + ADDITIONS_LOG + 1 - l * LEVEL_BITS - 52 - Number::BOTTOM_BIT);
        }
        clear(top);
    }
};

template <bool IsShort> struct bin_of {
    typedef int64 type;
};
template <> struct bin_of<true> {
    typedef int32 type;
};

/* A lane's bins, for floats of up to 32 bits: bin b counts units of 2^(BIN_BOTTOM + STEP b). The lanes' bins lie side by
 * side in shared memory, so they neither share a bank nor need atomic additions. */
struct bins {
    enum {
        FRACTION = NARROW ? SIGNIFICAND - 1 : 0,
        LAST_FIELD = 2 * BIAS + 1, /* of infinities and NaNs */
        /* Bins of bf16 have 32 bits for the values of eight exponents, of which the first bin has seven and the numbers
         * below; others have 64 bits for 32 exponents. */
        ARE_SHORT = ARE_CHAINED && !HAS_CONSTANT_WINDOW,
        STEP = ARE_SHORT ? 8 : 32,
        BIN_BOTTOM = (ARE_SHORT ? 0 : 1) - BIAS - FRACTION,
        COUNT = ARE_SHORT ? 32 : (LAST_FIELD - 2) / 32 + 1,
        ADDITIONS_MOST = 1 << (ARE_SHORT ? 15 : 31 - FRACTION), /* each of less than 2^15, or 2^(32 + FRACTION) */
        PARTS = ARE_SHORT ? 1 : 4,                              /* of a bin that go to the words each by itself */
        SIGN_AT = NARROW ? 8 * sizeof(in_t) - 1 : 0
    };
    typedef typename bin_of<ARE_SHORT>::type bin;
    int additions; /* to a bin since all were 0, at most; 0: they have not been cleared */

    static bin *of_lane() {
        __shared__ bin all[WARPS][COUNT * WARP];
        return all[threadIdx.x / WARP] + lane_of();
    }
    template <class Number> void expect(Number &sum, int more) {
        if (additions + more > ADDITIONS_MOST)
            empty(sum);
        if (!additions)
#pragma unroll
            for (int b = 0; b < COUNT; b++)
                of_lane()[b * WARP] = 0;
        additions += more;
    }
    /* Adds a value, if it is a number, and returns its SAW_ bits. */
    uint32 add(in_t x) {
        uint32 bits = 0;
        memcpy(&bits, &x, sizeof x);
        const bool negative = !MAGNITUDES && bits >> SIGN_AT;
        const uint32 field = bits >> FRACTION & LAST_FIELD, fraction = bits & ((1u << FRACTION) - 1);
        if (field == LAST_FIELD)
            return special(fraction != 0, negative);
        const int32 sign = -(int32)negative, shift = field ? field - 1 : 0;
        const int32 units = ((int32)(field ? fraction | 1u << FRACTION : fraction) ^ sign) - sign;
        of_lane()[shift / 32 * WARP] += (bin)((uint64)(int64)units << shift % 32);
        return units || !negative ? SAW_OTHER : 0;
    }
    /* Adds a bf16 whose bits are the upper half of these. Divided by its bin's power of two and added to 1.5 * 2^16, it
     * shows its units in the sum's bits. What is no number makes its bin wrong. No sum is rounded from that then. */
    void add_short(uint32 bits) {
        static_assert(!ARE_SHORT || WARP * sizeof(bin) == 128);
        uint32 place = bits >> 19 & 31 << 7; /* the bin's, in bytes, which is 2^7 times its number */
        hide(place);                         /* else it takes an instruction more to make the scale, from the bits */
        const float magic = 1.5f * (1 << 16), scale = __uint_as_float(0x7f000000 - (place << 19));
        const float units = __fmaf_rn(__uint_as_float(MAGNITUDES ? bits & 0x7fffffff : bits), scale, magic);
        *(uint32 *)((uint8 *)of_lane() + place) += __float_as_uint(units) - __float_as_uint(magic);
    }
    /* Adds the warp's bins to the words. Each lane adds up a part of the bits of a bin, of all lanes. */
    template <class Number> void empty(Number &sum) {
        if (!additions)
            return;
        additions = 0;
        __syncwarp();
        sum.expect(8); /* up to seven parts reach a word */
        for (int part = lane_of(); part < PARTS * COUNT; part += WARP) {
            const bin *of_bin = of_lane() - lane_of() + part / PARTS * WARP;
            const int first = 16 * (part % PARTS);
            int64 units = 0;
#pragma unroll 4 /* unrolled whole, it took 26 registers more, and half of the thread blocks */
            for (int l = 0; l < WARP; l++) {
                const int64 x = of_bin[(l + lane_of()) % WARP] >> first;
                units += part % PARTS == PARTS - 1 ? x : x & 0xffff;
            }
            deposit(sum.words, units < 0 ? 0 - (uint64)units : (uint64)units, units < 0,
                    BIN_BOTTOM + STEP * (part / PARTS) + first - Number::BOTTOM_BIT);
        }
        __syncwarp();
    }
};

struct window {
    levels<LEVELS> terms;
    bins others; /* of tiles that fit no window */
    int top;
    bool is_whole; /* see WHOLE_SPAN */
    int additions; /* elements since the levels were emptied */
    /* A tile fits if its highest field is below high_from and its lowest not below low_until. */
    uint32 high_from, low_until;

    void place(int at, bool whole) {
        top = at;
        is_whole = whole;
        additions = 0;
        int field = top - (is_whole ? WHOLE_SPAN : SPAN) + SIGNIFICAND - 1 + BIAS;
        if (field < LEAST_FIELD)
            field = LEAST_FIELD;
        high_from = (uint32)(top + BIAS) << FIELD_AT;
        low_until = field <= 1 || HAS_CONSTANT_WINDOW ? 0 : ((uint32)field << FIELD_AT) - 1;
        terms.clear(top);
    }
    template <class Number> void empty(Number &sum) {
        if (additions)
            terms.empty(sum, top);
        additions = 0;
    }
    template <class Number> void finish(Number &sum) {
        empty(sum);
        if constexpr (NARROW)
            others.empty(sum);
    }
    /* Moves the window so that terms with these fields fit: the highest field, and the lowest less 1. False if they fit
     * nowhere. */
    template <class Number> bool choose(Number &sum, uint32 high, uint32 low) {
        if (high == 0 && low == NO_VALUE)
            high = (uint32)BIAS << FIELD_AT; /* zeros fit anywhere */
        if (low == NO_VALUE)
            low = high;
        int most = (int)(high >> FIELD_AT) - BIAS + 1, field = (int)((low + 1) >> FIELD_AT);
        const int bits = most - ((field ? field : 1) - BIAS - (SIGNIFICAND - 1));
        const bool whole = bits <= WHOLE_SPAN;
        const int room = (whole ? WHOLE_SPAN : SPAN) - bits;
        if (most > MOST_TOP || room < 0 || field < LEAST_FIELD)
            return false;
        int slack = room / 2 < SLACK ? room / 2 : (int)SLACK;
        int at = most + slack < MOST_TOP ? most + slack : (int)MOST_TOP;
        empty(sum);
        place(at > LEAST_TOP ? at : (int)LEAST_TOP, whole);
        return true;
    }
};
