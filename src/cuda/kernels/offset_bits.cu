/* Offsets become bits while they are checked: one for each element, 1 where a segment begins in the direction of the
 * scan. What comes after reads an eighth of a byte an element instead of the offsets. */
struct offset_marks {
    const index_t *offsets;
    uint64 segments, n;
    uint32 *bits; /* NULL: offsets are only checked */
};
enum { LOOKS_AHEAD = 4 /* vectors of offsets that a thread loads at a time */ };
constexpr uint64 MOST_JOINED = 1ull << 37; /* elements: their words are numbered in 32 bits */

inline uint32 lane_number() {
    return threadIdx.x % WARP;
}

/* Sets bits of a word. Neighbouring lanes have neighbouring offsets, so those that have the same word join theirs. All of
 * a warp come here. */
inline void set_bits(uint32 *bits, uint32 word, uint32 mine) {
    const uint32 lane = lane_number();
#pragma unroll
    for (uint32 d = 1; d < WARP; d *= 2) {
        const uint32 other_word = from_above(word, d), other = from_above(mine, d);
        if (lane + d < WARP && other_word == word)
            mine |= other;
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

inline void mark(const offset_marks &m, const index_t *offset, bool exists) {
    uint32 word = 0, mine = 0;
#pragma unroll
    for (int j = 0; j < OFFSETS; j++) {
        const uint64 at = (uint64)offset[j] - REVERSE;
        if (!exists || at >= m.n)
            continue;
        if (m.n > MOST_JOINED) {
            set_bit(m, offset[j]);
            continue;
        }
        if (mine && (uint32)(at / WARP) != word) {
            atomicOr(m.bits + word, mine);
            mine = 0;
        }
        word = (uint32)(at / WARP);
        mine |= 1u << at % WARP;
    }
    set_bits(m.bits, word, mine);
}

/* Vector 'first' and those that lie 'stride' apart. */
inline void look_and_mark(const offset_marks &m, findings *f, uint64 vectors, uint64 first, uint64 stride) {
    index_t offset[LOOKS_AHEAD][OFFSETS + 1];
    uint64 vector[LOOKS_AHEAD];
#pragma unroll
    for (int k = 0; k < LOOKS_AHEAD; k++) {
        const uint64 wanted = first + k * stride;
        vector[k] = wanted < vectors ? wanted : 0;
        uint4 bits = *((const uint4 *)m.offsets + vector[k]); /* to stay in the cache, where they fit */
        memcpy(offset[k], &bits, 16);
        offset[k][OFFSETS] = m.offsets[(vector[k] + 1) * OFFSETS];
    }
#pragma unroll
    for (int k = 0; k < LOOKS_AHEAD; k++) {
        bool is_suspicious = false;
#pragma unroll
        for (int j = 0; j < OFFSETS; j++)
            is_suspicious |= offset[k][j] >= offset[k][j + 1] || (uint64)offset[k][j + 1] > m.n;
        if (is_suspicious)
#pragma unroll
            for (int j = 0; j < OFFSETS; j++)
                look_at(f, vector[k] * OFFSETS + j, offset[k][j], offset[k][j + 1], m.n);
        if (m.bits)
            mark(m, offset[k], first + k * stride < vectors);
    }
}

/* By all threads, of which this is number 'me' of 'stride'; whole warps come here. */
inline findings look_and_mark_all(const offset_marks &m, uint64 me, uint64 stride) {
    findings f = {NOT_FOUND, NOT_FOUND};
    uint64 first = 0;
    if (me == 0 && m.segments) /* where vectors are looked at, only the ends of segments are held against n */
        look_at(&f, 0, load(m.offsets), load(m.offsets + 1), m.n);
    if (((uint64)m.offsets & 15) == 0) {
        const uint64 vectors = m.segments / OFFSETS;
        for (uint64 v = me; v / WARP * WARP < vectors; v += LOOKS_AHEAD * stride)
            look_and_mark(m, &f, vectors, v, stride);
        first = vectors * OFFSETS;
    }
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
