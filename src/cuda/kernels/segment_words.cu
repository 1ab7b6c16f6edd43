/* Bits of reductions by segments (offset_bits.cu), written once, as whole words, to memory that nobody has cleared. A
 * warp takes neighbouring offsets. A word belongs to the warp with the first segment in it, which adds the bits of the
 * next warp's offsets to its last word. Words in between are zero if they lie in a chunk in which a segment begins;
 * words of other chunks are never read (warp_heads.cu). If offsets are bad or segments are empty, the bits are not used
 * at all. */
enum {
    CLOSER = 5,                             /* elements a segment on average, up to which a lane has neighbours */
    OF_WARP = LOOKS_AHEAD * OFFSETS * WARP, /* neighbouring offsets that a warp takes at a time, */
    WORDS_OF_WARP = 2 * OF_WARP             /* whose bits it gathers in so many words of shared memory */
};

/* The warp's words of shared memory, all zero. */
inline uint32 *words_of_warp() {
    __shared__ uint32 memory[BLOCK / WARP][WORDS_OF_WARP];
    uint32 *words = memory[threadIdx.x / WARP];
    for (uint32 k = lane_number(); k < WORDS_OF_WARP; k += WARP)
        words[k] = 0;
    __syncwarp();
    return words;
}

/* Looks at a warp's segments, from 'first' on, one by one: if some are bad or empty. */
__noinline__ findings look_slowly(const index_t *offsets, uint64 segments, uint64 n, uint64 first) {
    enum { AT_A_TIME = 4 };
    findings f = {NOT_FOUND, NOT_FOUND};
#pragma unroll 1
    for (uint64 g = first + lane_number(); g < first + OF_WARP && g <= segments; g += AT_A_TIME * WARP) {
        index_t begin[AT_A_TIME], end[AT_A_TIME];
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++) {
            const uint64 there = g + k * WARP < segments ? g + k * WARP : segments;
            begin[k] = load(offsets + there);
            end[k] = load(offsets + (there < segments ? there + 1 : there));
        }
#pragma unroll
        for (int k = 0; k < AT_A_TIME; k++)
            if (g + k * WARP < segments)
                look_at(&f, g + k * WARP, begin[k], end[k], n);
            else if (g + k * WARP == segments && (uint64)begin[k] > n)
                f.bad = segments < f.bad ? segments : f.bad;
    }
    return f;
}

template <bool AreClose> struct own_words {
    enum { COUNT = LOOKS_AHEAD * OFFSETS };
    const groups_args &p;
    uint32 *words;           /* the warp's, in shared memory: zero between its turns */
    uint32 at[COUNT], after; /* the lane's offsets, and the lane-th one after all of the warp's */
    uint32 before;           /* the one before them */
    uint64 first;            /* the number of the warp's first one */

    uint64 total() const { /* offsets; the last one's bit says where the last segment ends */
        return p.segments + 1;
    }
    uint32 chunk_words() const {
        return (uint32)p.chunk * WARP;
    }
    uint32 all_words() const {
        return (uint32)p.tiles * WARP;
    }
    /* The warp's offset that is the lane's k-th: neighbouring ones if a word has many, so that lanes do not use the
     * same word, else those that are fastest to read. */
    static uint32 number_of(int k) {
        const uint32 lane = lane_number();
        return AreClose ? lane * COUNT + k : (k / OFFSETS * WARP + lane) * OFFSETS + k % OFFSETS;
    }
    bool is_last() const {
        return first + OF_WARP >= total();
    }
    index_t load_one(uint64 number) const { /* behind the last one, the last again */
        return begin_of(p, number < total() ? number : p.segments);
    }

    /* Returns whether all of them increase and lie in the input, with the one behind. */
    bool load_all() {
        const uint32 lane = lane_number();
        uint64 high = 0;
        before = first ? (uint32)load_one(first - 1) : 0;
        const index_t behind = load_one(first + OF_WARP + lane);
        if (((uint64)p.offsets & 15) == 0 && !is_last()) {
#pragma unroll
            for (int k = 0; k < COUNT; k += OFFSETS) {
                index_t few[OFFSETS];
                const uint4 bits = *(const uint4 *)(p.offsets + first + number_of(k)); /* to stay in the cache */
                memcpy(few, &bits, 16);
#pragma unroll
                for (int j = 0; j < OFFSETS; j++) {
                    at[k + j] = (uint32)few[j];
                    high |= (uint64)few[j];
                }
            }
        } else {
#pragma unroll 1
            for (int k = 0; k < COUNT; k++) {
                const index_t one = load_one(first + number_of(k));
                high |= (uint64)one;
#pragma unroll
                for (int j = 0; j < COUNT; j++) /* to stay in registers */
                    if (j == k)
                        at[j] = (uint32)one;
            }
        }
        high |= (uint64)behind;
        after = (uint32)behind;
        bool rises = !(high >> 32);
#pragma unroll
        for (int k = AreClose ? COUNT - 1 : OFFSETS - 1; k < COUNT; k += OFFSETS) {
            const uint32 other = k + 1 < COUNT ? at[(k + 1) % COUNT] : after;
            const uint32 next =
                __shfl_sync(ALL_LANES, lane_number() ? at[AreClose ? 0 : k + 1 - OFFSETS] : other, (lane + 1) % WARP);
            rises &= at[k] < next;
            if (k + 1 == COUNT)
                rises &= next <= p.n;
        }
#pragma unroll
        for (int k = 0; k + 1 < COUNT; k++)
            if (AreClose || k % OFFSETS != OFFSETS - 1)
                rises &= at[k] < at[k + 1];
        return !__ballot_sync(ALL_LANES, !rises);
    }
    /* Words [from, to); the word before 'from' and word 'to' have segments. */
    void clear(uint32 from, uint32 to) const {
        const uint32 size = chunk_words(), end = round_to(from - 1, size) + size, begin = round_to(to, size);
        for (uint32 w = from + lane_number(); w < to && w < end; w += WARP)
            p.bits[w] = 0;
        for (uint32 w = (begin > end ? begin : end) + lane_number(); w < to; w += WARP)
            p.bits[w] = 0;
    }
    static uint32 round_to(uint32 word, uint32 size) {
        return word / size * size;
    }

    template <bool IsNear> void set_all(uint32 from) {
        uint32 word = at[0] / WARP - from, mine = 0;
        auto set = [&] {
            if (IsNear || word < WORDS_OF_WARP)
                atomicOr(words + word, mine);
        };
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const uint32 other = at[k] / WARP - from;
            if (k && other != word) {
                set();
                mine = 0;
            }
            word = other;
            mine |= 1u << at[k] % WARP;
        }
        set();
    }
    /* The least word of an offset from 'from' on, among all lanes'. */
    uint32 next_word(uint32 from) const {
        uint32 least = NO_WORD;
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            least = at[k] / WARP >= from && at[k] / WARP < least ? at[k] / WARP : least;
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            const uint32 other = __shfl_xor_sync(ALL_LANES, least, d);
            least = other < least ? other : least;
        }
        return least;
    }
    void write_all() {
        const uint32 lane = lane_number();
        const uint32 begin = __shfl_sync(ALL_LANES, at[0], 0) / WARP;
        const uint32 last = __shfl_sync(ALL_LANES, at[COUNT - 1], WARP - 1) / WARP;
        const uint32 next = is_last() ? all_words() : __shfl_sync(ALL_LANES, after, 0) / WARP;
        const uint32 not_mine = first ? before / WARP : NO_WORD;
        if (!first)
            for (uint32 w = round_to(begin, chunk_words()) + lane; w < begin; w += WARP)
                p.bits[w] = 0;
        for (uint32 from = begin;;) {
            const uint32 end = last - from < WORDS_OF_WARP ? last + 1 : from + WORDS_OF_WARP;
            if (last - begin < WORDS_OF_WARP)
                set_all<true>(from);
            else
                set_all<false>(from);
            if (end == last + 1 && after / WARP == last)
                atomicOr(words + (last - from), 1u << after % WARP);
            __syncwarp();
            for (uint32 w = from + lane; w < end; w += WARP) {
                const uint32 mine = words[w - from];
                words[w - from] = 0;
                if (w != not_mine && w < all_words())
                    p.bits[w] = w == p.n / WARP ? mine & ((1u << p.n % WARP) - 1) : mine;
            }
            __syncwarp();
            from = end > last ? next : next_word(end);
            if (end < from)
                clear(end, from);
            if (end > last)
                return;
        }
    }
};

/* Called by all threads; this one is number 'me' of 'stride'. Whole warps come here. */
template <bool AreClose> inline findings look_and_own(const groups_args &p, uint64 me, uint64 stride) {
    findings f = {NOT_FOUND, NOT_FOUND};
    own_words<AreClose> some = {p, words_of_warp()};
    for (some.first = me / WARP * OF_WARP; some.first < some.total(); some.first += stride / WARP * OF_WARP) {
        if (!some.load_all()) {
            const findings found = look_slowly(p.offsets, p.segments, p.n, some.first);
            f.bad = found.bad < f.bad ? found.bad : f.bad;
            f.empty = found.empty < f.empty ? found.empty : f.empty;
        }
        if (!__ballot_sync(ALL_LANES, f.bad != NOT_FOUND || f.empty != NOT_FOUND))
            some.write_all();
    }
    return f;
}
