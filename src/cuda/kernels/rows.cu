/* What reduce.cu and cluster.cu share: a chunk of a row, folded by one thread block. */

struct row {
    const in_t *x, *y;
    uint64 extent, before;
    uint64 from, to; /* vectors of elements between these can be loaded without reading outside of the arrays */
    bool aligned;    /* to 16 bytes, x and y */
};

inline value_t second_of(const row &r, uint64 at) {
    return HAS_SECOND ? value_of(load(r.y + at)) : value_t(0);
}

/* Vectors that are not aligned are loaded as the two that they lie across, which reach into the row's neighbours. */
inline row row_of(const in_t *x, const in_t *y, uint64 rows, uint64 extent, uint64 pieces_before, uint64 number) {
    const uint64 before = number * extent, after = (rows - 1 - number) * extent;
    row r = {x + before, HAS_SECOND ? y + before : nullptr, extent, pieces_before, VECTOR, extent, false};
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
template <bool Aligned> inline void load_vector(const in_t *from, in_t *to) {
    const uint4 bits = Aligned ? __ldcs((const uint4 *)from) : load_straddling(from);
    memcpy(to, &bits, 16);
}

/* 'Count' vectors of this thread, which are a step apart for each of the others. */
template <bool Aligned, int Threads, int Count> inline void add_vectors(const row &r, uint64 at, lanes &l) {
    in_t a[Count * VECTOR], b[Count * VECTOR];
#pragma unroll
    for (int u = 0; u < Count; u++)
        load_vector<Aligned>(r.x + at + u * Threads * VECTOR, a + u * VECTOR);
#pragma unroll
    for (int u = 0; u < Count && HAS_SECOND; u++)
        load_vector<Aligned>(r.y + at + u * Threads * VECTOR, b + u * VECTOR);
    l.prepare<Count * VECTOR>(a);
#pragma unroll
    for (int u = 0; u < Count; u++)
        add_prepared(l, a + u * VECTOR, b + u * VECTOR, r.before + at + u * Threads * VECTOR);
}
/* Vectors that are not aligned take twice the loads, so half as many are under way at a time. */
template <bool Aligned, int Threads, int Unroll> inline void add_step(const row &r, uint64 at, lanes &l) {
    constexpr int some = Aligned || Unroll == 1 ? Unroll : Unroll / 2;
#pragma unroll 1
    for (int u = 0; u < Unroll; u += some)
        add_vectors<Aligned, Threads, some>(r, at + u * Threads * VECTOR, l);
}

inline void add_singles(const row &r, uint64 from, uint64 to, lanes &l) {
#pragma unroll IS_LARGE ? 1 : VECTOR
    for (int k = 0; k < VECTOR; k++)
        if (from + k < to) {
            const in_t x = load(r.x + from + k);
            l.prepare<1>(&x);
            l.add(k, value_of(x), second_of(r, from + k), r.before + from + k);
        }
}

/* A step that is not whole, or at an end of the array: there the thread's first vector, or those after its last, cannot
 * be loaded as such. Elements are added in their order. */
template <bool Aligned, int Threads, int Unroll> inline void add_rest(const row &r, uint64 at, uint64 end, lanes &l) {
#pragma unroll 1
    for (int u = 0; u < Unroll; u++) {
        const uint64 from = at + u * Threads * VECTOR;
        if (from + VECTOR <= end && (Aligned || takes_vectors(r, from, from + VECTOR)))
            add_vectors<Aligned, Threads, 1>(r, from, l);
        else
            add_singles(r, from, end, l);
    }
}

/* For operators that commute: in every step each thread has the vectors at its own place. */
template <bool Aligned, int Threads, int Unroll> inline acc_t fold_steps(const row &r, uint64 begin, uint64 end) {
    constexpr uint64 STEP = Threads * Unroll * VECTOR;
    constexpr int STEPS_A_LANE = lanes::LIMIT / Unroll > 0 ? lanes::LIMIT / Unroll : 1;
    acc_t acc = identity_as<acc_t>();
    lanes l;
    int steps = 0;
    for (uint64 step = begin; step < end; step += STEP) {
        uint64 at = step + threadIdx.x * VECTOR;
        if (step + STEP <= end && (Aligned || takes_vectors(r, step, step + STEP)))
            add_step<Aligned, Threads, Unroll>(r, at, l);
        else
            add_rest<Aligned, Threads, Unroll>(r, at, end, l);
        if (++steps == STEPS_A_LANE) {
            acc = combine(acc, l.take());
            steps = 0;
        }
    }
    return fold_block<Threads>(combine(acc, l.take()));
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

template <int Threads, int Unroll, bool Aligned> inline acc_t fold_row(const reduce_args &p, const row &r) {
    const uint64 begin = blockIdx.x * p.chunk, end = begin + p.chunk < p.extent ? begin + p.chunk : p.extent;
    return COMMUTES ? fold_steps<Aligned, Threads, Unroll>(r, begin, end) : fold_in_order<Threads, Unroll>(r, begin, end);
}
