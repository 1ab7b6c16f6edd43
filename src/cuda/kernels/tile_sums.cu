/* Sums of a tile's elements up to each of its vectors, of operators that can be undone: integers' sums, counts, exclusive
 * or, and variances of narrow integers. A segment is then what is up to its end less what is up to its beginning, so an
 * element costs the same wherever segments begin, and a segment is one thread's. Integers wrap, so nothing is lost. */
#if HAS_SUMS
enum { ITEM_BITS = 8 * sizeof(in_t) };
#endif

#if DIFFERENCES
#if DIFFERENCES == OF_MOMENTS
struct tile_sum : integer_sums {
    enum { WORDS = 1 + sizeof(square_t) / 4 };

    void put_words(uint32 *to) const {
        to[0] = (uint32)all;
        memcpy(to + 1, &squares, sizeof squares);
    }
    void take_words(const uint32 *from) {
        all = (int32)from[0];
        memcpy(&squares, from + 1, sizeof squares);
    }
    void add_vector(const uint32 *words) {
#pragma unroll
        for (int w = 0; w < 4; w++)
            add_word<in_t>(words[w]);
    }
    acc_t accumulator(const tile &, uint32 count) const {
        return moments<acc_t>(count);
    }
    result_t result(const tile &, uint32 begin, uint32 end) const {
        return variance_of(0, spread(end - begin), small_number(end - begin));
    }
};
#else
struct tile_sum {
    typedef decltype(lane_t::a0) value;
    enum { WORDS = sizeof(value) / 4 };
    value all = 0;

    void put_words(uint32 *to) const {
        memcpy(to, &all, sizeof all);
    }
    void take_words(const uint32 *from) {
        memcpy(&all, from, sizeof all);
    }

    void add(const tile_sum &more) {
        all = DIFFERENCES == OF_XOR ? all ^ more.all : all + more.all;
    }
    void subtract(const tile_sum &less) {
        all = DIFFERENCES == OF_XOR ? all ^ less.all : all - less.all;
    }
    /* A bit for each element of a word that is not 0, nor a float's -0. */
    static uint32 set_bits(uint32 word) {
        constexpr uint32 below = sizeof(in_t) == 1 ? 0x7f7f7f7f : 0x7fff7fff;
        return ((word & below) + below | (IS_FLOAT ? 0 : word)) & ~below;
    }
    /* The magnitudes of a word's four signed bytes. */
    static uint32 magnitudes_of_bytes(uint32 word) {
        const uint32 signs = word >> 7 & 0x01010101;
        return (word ^ signs * 0xff) + signs;
    }
    template <class T> void add_words(const uint32 *words) {
        if constexpr (DIFFERENCES == OF_BYTES && PACKS_MAGNITUDES) {
#pragma unroll
            for (int w = 0; w < 4; w++)
                all = (value)add_bytes<uint8>(magnitudes_of_bytes(words[w]), (uint32)all);
        } else if constexpr (DIFFERENCES == OF_BYTES) {
#pragma unroll
            for (int w = 0; w < 4; w++)
                all = (value)add_bytes<T>(words[w], (uint32)all);
        } else if constexpr (DIFFERENCES == OF_SQUARES) {
#pragma unroll
            for (int w = 0; w < 4; w++)
                all = (value)add_squares_of_bytes<T>(words[w], (uint32)all);
        } else if constexpr ((DIFFERENCES == OF_COUNTS || DIFFERENCES == OF_FLAGS) && sizeof(T) <= 2) {
#pragma unroll
            for (int w = 0; w < 4; w++)
                all += (value)__popc(set_bits(words[w]));
        } else {
            T x[A_VECTOR];
            memcpy(x, words, 16);
#pragma unroll
            for (int k = 0; k < A_VECTOR; k++)
                if (DIFFERENCES == OF_FLAGS)
                    all += value_of(x[k]) != value_t(0);
                else
                    add({lift_as<lane_t>(value_of(x[k]), value_t(0), 0).a0});
        }
    }
    void add_vector(const uint32 *words) {
        add_words<in_t>(words);
    }
    acc_t accumulator(const tile &, uint32 count) const {
        lane_t lane;
        lane.a0 = DIFFERENCES != OF_FLAGS ? all : IS_ALL ? all == (value)count : all != 0;
        return widen(lane);
    }
    result_t result(const tile &t, uint32 begin, uint32 end) const {
        return lower(accumulator(t, end - begin), end - begin, t.first + begin);
    }
};
#endif

/* What is up to each vector, or to each second one where sums would take half as much memory as elements, and up to the
 * tile's end, a word of each sum after the other. */
struct tile_sums {
    enum {
        WORDS = tile_sum::WORDS,
        SPAN = WORDS > 1 ? 2 : 1,
        OF_SPAN = SPAN * A_VECTOR, /* elements */
        PITCH = TILE_VECTORS / SPAN + 4
    };
    alignas(16) uint32 words[WORDS][PITCH];
    alignas(16) uint8 of_warps[WARPS * sizeof(tile_sum)];
    uint32 last; /* the beginning of the segment that goes on behind the tile */

    void put(uint32 at, const tile_sum &sum) {
        uint32 bits[WORDS];
        sum.put_words(bits);
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            words[w][at] = bits[w];
    }
    /* All elements before a position, and those in front of the tile. */
    tile_sum up_to(const tile &t, uint32 position) const {
        const uint32 at = position + t.skew, span = at / OF_SPAN;
        const int bits = (int)(at % OF_SPAN) * ITEM_BITS;
        uint32 of_span[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            of_span[w] = words[w][span];
        tile_sum sum;
        sum.take_words(of_span);
#pragma unroll
        for (int v = 0; v < SPAN; v++)
            if (bits > v * 128) {
                const uint4 all = *place_of<uint4>(t.x, span * SPAN + v);
                uint32 there[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
                for (int w = 0; w < 4; w++)
                    there[w] &= lowest_bits(bits - v * 128 - w * 32);
                sum.add_vector(there);
            }
        return sum;
    }
    tile_sum between(const tile &t, uint32 begin, uint32 end) const {
        tile_sum sum = up_to(t, end);
        sum.subtract(up_to(t, begin));
        return sum;
    }
    /* The same for each lane of a warp but the first, where the lane before it ends where it begins. */
    tile_sum of_lane(const tile &t, uint32, uint32 end) const {
        tile_sum sum = up_to(t, end < t.count ? end : t.count);
        const tile_sum before = from_below(sum, 1);
        sum.subtract(before);
        return sum;
    }
};

/* Fills it. All threads of the block call this; it is known after the next barrier. */
inline void add_up_tile(tile_sums &s, const tile &t) {
    enum { SPAN = tile_sums::SPAN, MINE = TILE_VECTORS / BLOCK / SPAN, AT_ONCE = MINE % 4 == 0 ? 4 : MINE % 2 == 0 ? 2 : 1 };
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    tile_sum before[MINE], sum;
#pragma unroll
    for (int v = 0; v < MINE * SPAN; v++) {
        if (v % SPAN == 0)
            before[v / SPAN] = sum;
        const uint4 bits = *(const uint4 *)(t.x + placed((threadIdx.x * MINE * SPAN + v) * 16));
        const uint32 words[4] = {bits.x, bits.y, bits.z, bits.w};
        sum.add_vector(words);
    }
    const tile_sum own = sum;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const tile_sum left = from_below(sum, d);
        if (lane >= d)
            sum.add(left);
    }
    tile_sum *of_warps = (tile_sum *)s.of_warps;
    if (lane == WARP - 1)
        of_warps[warp] = sum;
    __syncthreads();
    tile_sum base = sum;
    base.subtract(own);
#pragma unroll
    for (uint32 w = 0; w < WARPS; w++)
        if (w < warp)
            base.add(of_warps[w]);
#pragma unroll
    for (int v = 0; v < MINE; v += AT_ONCE) {
        struct alignas(AT_ONCE * 4) few_words {
            uint32 word[AT_ONCE];
        } bits[tile_sums::WORDS];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            tile_sum up_to = base;
            up_to.add(before[v + k]);
            uint32 words[tile_sums::WORDS];
            up_to.put_words(words);
#pragma unroll
            for (int w = 0; w < tile_sums::WORDS; w++)
                bits[w].word[k] = words[w];
        }
#pragma unroll
        for (int w = 0; w < tile_sums::WORDS; w++)
            *(few_words *)&s.words[w][threadIdx.x * MINE + v] = bits[w];
    }
    if (threadIdx.x == BLOCK - 1) {
        base.add(own);
        s.put(TILE_VECTORS / SPAN, base);
    }
}
#endif
