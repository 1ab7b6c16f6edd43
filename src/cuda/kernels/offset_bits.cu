/* Turns offsets into bits while they are checked: one bit for each element, 1 where a segment begins in the direction
 * of the scan. Later kernels read an eighth of a byte per element instead of the offsets. */
enum {
    LOOKS_AHEAD = 4, /* vectors of offsets that a thread loads at a time */
    CLOSE = 8        /* elements a segment on average, up to which those are neighbours, which share words of bits. Marking
                        took 0.82 of the time for segments of 1 and 4 that way, 1.4 times as long for 16: on an H200 */
};
constexpr uint32 NO_WORD = ~0u;
constexpr uint64 MOST_JOINED = ~0u; /* elements: their positions have 32 bits */

inline uint32 lane_number() {
    return threadIdx.x % WARP;
}

/* Sets bits of a word. Neighbouring lanes have neighbouring offsets, so lanes with the same word join their bits. All
 * lanes of a warp call this. */
inline void set_bits(uint32 *bits, uint32 word, uint32 mine) {
    const uint32 lane = lane_number();
#pragma unroll 1
    for (uint32 d = 1; d < WARP; d *= 2) {
        const uint32 other_word = from_above(word, d), other = from_above(mine, d);
        const bool shares = lane + d < WARP && other_word == word;
        if (shares)
            mine |= other;
        if (!__ballot_sync(ALL_LANES, shares)) /* then none does with one farther away */
            break;
    }
    const uint32 word_before = from_below(word, 1);
    if (mine && (lane == 0 || word_before != word))
        atomicOr(bits + word, mine);
}

inline void set_bit(const offset_marks &m, index_t offset) {
    const uint64 at = (uint64)offset - REVERSE;
    if (at < m.n)
        atomicOr(m.bits + at / WARP, 1u << at % WARP);
}

/* A thread's neighbouring offsets, in several vectors, and the one behind them. In the direction of the scan either all
 * but the last begin a segment, or all but the first. */
template <int Vectors> struct neighbours {
    enum { COUNT = Vectors * OFFSETS };
    index_t offset[COUNT + 1];
    uint64 first;
    bool exist;

    void load_from(const offset_marks &m, uint64 number) {
        first = number * COUNT;
        exist = first + COUNT <= m.segments;
        const index_t *from = m.offsets + (exist ? first : 0);
#pragma unroll
        for (int k = 0; k < Vectors; k++) {
            const uint4 bits = *((const uint4 *)from + k); /* to stay in the cache, where they fit */
            memcpy(offset + k * OFFSETS, &bits, 16);
        }
        offset[COUNT] = from[COUNT];
    }
    /* None of them is bad. Those of empty segments have the bit of the segment that follows, or none at the end. Bits of
     * the first word, if it has others, are joined with the previous thread's bits of it, so that a word takes few
     * atomics, and neighbouring words take them together. */
    void mark(const offset_marks &m, bool exists) const {
        uint32 word = NO_WORD, mine = 0, first_word = NO_WORD, first = 0;
        if (exists) {
#pragma unroll
            for (int j = REVERSE; j < COUNT + REVERSE; j++) {
                const uint32 at = (uint32)offset[j] - REVERSE, next = at / WARP;
                const uint32 bit = at < (uint32)m.n ? 1u << at % WARP : 0;
                if (mine && next != word) {
                    if (first_word == NO_WORD) {
                        first_word = word;
                        first = mine;
                    } else {
                        atomicOr(m.bits + word, mine);
                    }
                    mine = 0;
                }
                word = next;
                mine |= bit;
            }
        }
        const uint32 lane = lane_number(), word_before = from_below(word, 1);
        const uint32 next_word = from_above(first_word, 1), next = from_above(first, 1);
        if (first && (lane == 0 || word_before != first_word))
            atomicOr(m.bits + first_word, first);
        if (lane < WARP - 1 && mine && next_word == word)
            mine |= next;
        set_bits(m.bits, word, mine);
    }
    void look_and_mark(const offset_marks &m, findings *f) const {
        bool is_suspicious = (uint64)offset[0] > m.n || (uint64)offset[COUNT] > m.n; /* those between rise */
#pragma unroll
        for (int j = 0; j < COUNT; j++)
            is_suspicious |= offset[j] > offset[j + 1];
        const bool goes_alone = is_suspicious || m.n > MOST_JOINED;
        if (exist && goes_alone)
#pragma unroll 1
            for (int j = 0; j < COUNT; j++) {
                look_at(f, first + j, m.offsets[first + j], m.offsets[first + j + 1], m.n);
                if (m.bits)
                    set_bit(m, m.offsets[first + j + REVERSE]);
            }
        if (m.bits)
            mark(m, exist && !goes_alone);
    }
};

/* Whole vectors of offsets; of how many segments. */
template <int Vectors>
inline uint64 look_at_vectors(const offset_marks &m, findings *f, uint64 me, uint64 stride) {
    typedef neighbours<Vectors> some;
    const uint64 parts = m.segments / some::COUNT;
    for (uint64 number = me; number / WARP * WARP < parts; number += LOOKS_AHEAD / Vectors * stride) {
        some few[LOOKS_AHEAD / Vectors];
#pragma unroll
        for (int k = 0; k < LOOKS_AHEAD / Vectors; k++)
            few[k].load_from(m, number + k * stride);
#pragma unroll
        for (int k = 0; k < LOOKS_AHEAD / Vectors; k++)
            few[k].look_and_mark(m, f);
    }
    return parts * some::COUNT;
}

/* Called by all threads; this one is number 'me' of 'stride'. Whole warps come here. */
inline findings look_and_mark_all(const offset_marks &m, uint64 me, uint64 stride) {
    findings f = {NOT_FOUND, NOT_FOUND};
    uint64 first = 0;
    if (me == 0 && m.bits)
        set_bit(m, load(m.offsets));
    if (((uint64)m.offsets & 15) == 0)
        first = m.segments > m.n / CLOSE ? look_at_vectors<LOOKS_AHEAD>(m, &f, me, stride)
                                         : look_at_vectors<1>(m, &f, me, stride);
    for (uint64 g = first + me; g <= m.segments; g += stride) {
        const index_t begin = load(m.offsets + g);
        if (g < m.segments)
            look_at(&f, g, begin, load(m.offsets + g + 1), m.n);
        else if ((uint64)begin > m.n)
            f.bad = g < f.bad ? g : f.bad;
        if (m.bits)
            set_bit(m, begin);
    }
    return f;
}

/* The launch before a scan of segments. An empty segment of a scan has no results. */
inline void mark_all(const mark_args &p) {
    wait_for_last();
    let_next_start();
    tell(look_and_mark_all(p.marks, blockIdx.x * (uint64)BLOCK + threadIdx.x, gridDim.x * (uint64)BLOCK), false, p.refused,
         p.where);
}
