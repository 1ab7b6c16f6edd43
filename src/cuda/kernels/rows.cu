/* What reduce.cu and cluster.cu share: a chunk of a row, folded by one thread block. */

struct row {
    const in_t *x, *y;
    uint64 extent, before;
    uint64 from, to; /* vectors of elements between these can be loaded without reading outside of the arrays */
    bool aligned;    /* to 16 bytes, x and y */
    uint64 lowest;   /* SHIFTED, and pieces of segments: the first element */
    uint32 words;    /* by which vectors are not aligned, if lanes can load each other's parts; else 0 */
};

/* Whether lanes load parts of each other's vectors: of wide elements, which are whole words, where order shows. On an
 * H200 the sum of 33 million f32, not aligned, took 48 us when each lane loaded both vectors, and CUB's 38.7. */
enum { SHARES_VECTORS = ORDER_SHOWS && COMMUTES && !HAS_SECOND && !IS_LARGE && sizeof(in_t) >= 4 };

/* How a row's vectors are loaded. ALIGNED: all rows begin with a whole one. SHIFTED: positions count from the aligned
 * address before the row, so only its ends differ. Which thread has an element then depends on the row's address, so
 * this is for results that no order of the elements changes. ACROSS: each is made of the two that it lies across. */
enum loading { ALIGNED, SHIFTED, ACROSS, SHARED = 4 /* and the words by which vectors are not aligned, below 4 */ };

inline value_t second_of(const row &r, uint64 at) {
    return HAS_SECOND ? value_of(load(r.y + at)) : value_t(0);
}

/* Vectors that are not aligned are loaded as the two that they lie across, which reach into the row's neighbours. */
inline row row_of(const in_t *x, const in_t *y, uint64 rows, uint64 extent, uint64 pieces_before, uint64 number) {
    const uint64 before = number * extent, after = (rows - 1 - number) * extent;
    row r = {x + before, HAS_SECOND ? y + before : nullptr, extent, pieces_before, VECTOR, extent, false, 0, 0};
    r.aligned = (((uint64)r.x | (uint64)r.y) & 15) == 0;
    if (r.aligned || before >= VECTOR)
        r.from = 0;
    if (!r.aligned && after < VECTOR)
        r.to = extent < VECTOR ? 0 : extent - VECTOR;
    return r;
}
inline bool takes_vectors(const row &r, uint64 begin, uint64 end) {
    return begin >= r.from && end <= r.to;
}

/* A vector of elements at any address: see takes_vectors. */
template <loading How> inline uint4 load_bits(const in_t *from) {
    return How == ACROSS ? load_straddling(from) : __ldcs((const uint4 *)from);
}
template <loading How> inline void load_vector(const in_t *from, in_t *to) {
    const uint4 bits = load_bits<How>(from);
    memcpy(to, &bits, 16);
}

/* 'Count' vectors that lie Threads vectors apart. All lanes of a warp load neighbouring aligned ones, and a vector ends
 * with the beginning of what the next lane has loaded. */
template <int Words, int Threads, int Count> inline void load_shared(const in_t *from, in_t *to) {
    uint32 shift;
    const uint4 *at = word_before<uint4>(from, &shift);
    const bool is_last = threadIdx.x % WARP == WARP - 1;
    uint4 first[Count], behind[Count];
#pragma unroll
    for (int u = 0; u < Count; u++) {
        first[u] = __ldcs(at + u * Threads);
        behind[u] = {0, 0, 0, 0};
        if (is_last)
            behind[u] = __ldcs(at + u * Threads + 1);
    }
#pragma unroll
    for (int u = 0; u < Count; u++) {
        const uint32 own[4] = {first[u].x, first[u].y, first[u].z, first[u].w};
        const uint32 next[4] = {behind[u].x, behind[u].y, behind[u].z, behind[u].w};
        uint32 word[4];
#pragma unroll
        for (int w = 0; w < 4; w++)
            if (w + Words < 4) {
                word[w] = own[(w + Words) % 4];
            } else {
                const uint32 above = __shfl_down_sync(ALL_LANES, own[(w + Words) % 4], 1);
                word[w] = is_last ? next[(w + Words) % 4] : above;
            }
        memcpy(to + u * VECTOR, word, 16);
    }
}

template <int How, int Threads, int Count> inline void load_vectors(const in_t *from, in_t *to) {
    if constexpr (How >= SHARED)
        load_shared<How - SHARED, Threads, Count>(from, to);
    else
#pragma unroll
        for (int u = 0; u < Count; u++)
            load_vector<(loading)How>(from + u * Threads * VECTOR, to + u * VECTOR);
}

/* 'Count' vectors of this thread, which are a step apart for each of the others. */
template <int How, int Threads, int Count> inline void add_vectors(const row &r, uint64 at, lanes &l) {
    in_t a[Count * VECTOR], b[Count * VECTOR];
    load_vectors<How, Threads, Count>(r.x + at, a);
    if (HAS_SECOND)
        load_vectors<How, Threads, Count>(r.y + at, b);
    l.prepare<Count * VECTOR>(a);
#pragma unroll
    for (int u = 0; u < Count; u++)
        add_prepared(l, a + u * VECTOR, b + u * VECTOR, r.before + at + u * Threads * VECTOR);
}
/* Vectors that lie across others take twice the loads, so half as many are under way at a time. */
template <int How, int Threads, int Unroll> inline void add_step(const row &r, uint64 at, lanes &l) {
    constexpr int some = How != ACROSS || Unroll == 1 ? Unroll : Unroll / 2;
#pragma unroll 1
    for (int u = 0; u < Unroll; u += some)
        add_vectors<How, Threads, some>(r, at + u * Threads * VECTOR, l);
}

template <loading How> inline void add_singles(const row &r, uint64 from, uint64 to, lanes &l) {
#pragma unroll IS_LARGE ? 1 : VECTOR
    for (int k = 0; k < VECTOR; k++)
        if (from + k < to && (How == ALIGNED || from + k >= r.lowest)) {
            const in_t x = load(r.x + from + k);
            l.prepare<1>(&x);
            l.add(k, value_of(x), second_of(r, from + k), r.before + from + k);
        }
}

template <loading How, int Threads, int Unroll> inline void add_whole_step(const row &r, uint64 at, lanes &l) {
    if constexpr (SHARES_VECTORS && How == ACROSS) {
        if (r.words == 2)
            return add_step<SHARED + 2, Threads, Unroll>(r, at, l);
        if (sizeof(in_t) == 4 && r.words == 1)
            return add_step<SHARED + 1, Threads, Unroll>(r, at, l);
        if (sizeof(in_t) == 4 && r.words == 3)
            return add_step<SHARED + 3, Threads, Unroll>(r, at, l);
    }
    add_step<How, Threads, Unroll>(r, at, l);
}

/* A step that is not whole, or at an end of the array: there the thread's first vector, or those after its last, cannot
 * be loaded as such. Elements are added in their order. Whole vectors that need one load each are loaded together: nearly
 * all rows end with such a step, and a chunk of a short row has no other. They move up by one for each that is added, so
 * the code that adds stands here once, and takes few registers. On an H200 the sum of 140,603 u64 took 5.7 us and 6.7. */
template <loading How, int Threads, int Unroll> inline void add_rest(const row &r, uint64 at, uint64 end, lanes &l) {
    constexpr uint32 STEP = Threads * VECTOR;
    constexpr int AHEAD = How != ACROSS ? Unroll : 1;
#pragma unroll 1
    for (int u = 0; u < Unroll && at < end; u += AHEAD) {
        uint4 a[AHEAD], b[AHEAD];
        uint32 wholes = 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const uint64 from = at + k * STEP;
            const bool is_whole = from + VECTOR <= end && (How == ALIGNED || takes_vectors(r, from, from + VECTOR));
            a[k] = b[k] = {0, 0, 0, 0};
            if (is_whole)
                a[k] = load_bits<How>(r.x + from);
            if (HAS_SECOND && is_whole)
                b[k] = load_bits<How>(r.y + from);
            wholes |= is_whole << k;
        }
#pragma unroll 1
        for (int k = 0; k < AHEAD && at < end; k++, wholes >>= 1, at += STEP) {
            if (wholes & 1) {
                in_t x[VECTOR], y[VECTOR];
                memcpy(x, &a[0], 16);
                memcpy(y, &b[0], 16);
                l.prepare<VECTOR>(x);
                add_prepared(l, x, y, r.before + at);
            } else {
                add_singles<How>(r, at, end, l);
            }
#pragma unroll
            for (int j = 0; j + 1 < AHEAD; j++) {
                a[j] = a[j + 1];
                b[j] = b[j + 1];
            }
        }
    }
}

/* For operators that commute: in every step each thread has the vectors at its own place. */
template <loading How, int Threads, int Unroll> inline acc_t fold_steps(const row &r, uint64 begin, uint64 end) {
    constexpr uint64 STEP = Threads * Unroll * VECTOR;
    constexpr int STEPS_A_LANE = lanes::LIMIT / Unroll > 0 ? lanes::LIMIT / Unroll : 1;
    acc_t acc = identity_as<acc_t>();
    lanes l;
    int steps = 0;
    bool is_first = COMBINES_SLOWLY; /* lanes that are taken: nothing is combined with them */
    for (uint64 step = begin; step < end; step += STEP) {
        uint64 at = step + threadIdx.x * VECTOR;
        if (step + STEP <= end && (How == ALIGNED || takes_vectors(r, step, step + STEP)))
            add_whole_step<How, Threads, Unroll>(r, at, l);
        else
            add_rest<How, Threads, Unroll>(r, at, end, l);
        if (++steps == STEPS_A_LANE) {
            acc = is_first ? l.take() : combine(acc, l.take());
            is_first = false;
            steps = 0;
        }
    }
    return fold_block<Threads>(is_first ? l.take() : combine(acc, l.take()));
}

/* For operators that do not: in every step each thread has consecutive elements, and the threads are folded in order.
 */
template <int Threads, int Unroll> inline acc_t fold_in_order(const row &r, uint64 begin, uint64 end) {
    constexpr uint64 STEP = Threads * Unroll * VECTOR;
    acc_t acc = identity_as<acc_t>();
    for (uint64 step = begin; step < end; step += STEP) {
        acc_t mine = identity_as<acc_t>();
        uint64 at = step + threadIdx.x * (VECTOR * Unroll);
        for (uint64 i = at; i < at + VECTOR * Unroll && i < end; i++)
            mine = combine(mine, lift_as<acc_t>(value_of(load(r.x + i)), second_of(r, i), r.before + i));
        mine = fold_block<Threads>(mine);
        acc = combine(acc, mine);
    }
    return acc;
}

/* Makes positions count from the aligned address before the row, if there is one, of both inputs. */
inline bool shift_to_vector(row *r) {
    const uint64 x = (uint64)r->x, bytes = x & 15, shift = bytes / sizeof(in_t);
    if (bytes % sizeof(in_t) || (HAS_SECOND && (x ^ (uint64)r->y) & 15))
        return false;
    r->x -= shift;
    if (HAS_SECOND)
        r->y -= shift;
    r->before -= shift;
    r->extent += shift;
    r->lowest = shift;
    r->from = shift ? VECTOR : 0;
    r->to = r->extent;
    return true;
}
/* The same for a chunk. The last one then ends as much later. */
inline bool shift_row(const reduce_args &p, row *r, uint64 number, uint64 begin, uint64 *end) {
    if (!shift_to_vector(r))
        return false;
    *end = number + 1 < p.blocks && begin + p.chunk < r->extent ? begin + p.chunk : r->extent;
    return true;
}

/* Chunk 'number' of the row. */
template <int Threads, int Unroll, bool Aligned> inline acc_t fold_row(const reduce_args &p, row r, uint64 number) {
    const uint64 begin = number * p.chunk;
    uint64 end = begin + p.chunk < p.extent ? begin + p.chunk : p.extent;
    if (!COMMUTES)
        return fold_in_order<Threads, Unroll>(r, begin, end);
    if (!Aligned && !ORDER_SHOWS && shift_row(p, &r, number, begin, &end))
        return fold_steps<SHIFTED, Threads, Unroll>(r, begin, end);
    if (SHARES_VECTORS && !Aligned)
        r.words = ((uint64)r.x & 3) == 0 ? (uint32)((uint64)r.x & 15) / 4 : 0;
    /* Where no order shows, only elements at odd addresses come here: short code, and few registers. */
    constexpr int FEW = Aligned || ORDER_SHOWS || HAS_SECOND ? Unroll : 1;
    return fold_steps<Aligned ? ALIGNED : ACROSS, Threads, FEW>(r, begin, end);
}
