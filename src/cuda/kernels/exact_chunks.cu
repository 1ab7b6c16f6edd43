/* Exact scans in all words, in three passes: the sums of chunks, the scan of these sums, and the results, each chunk from
 * the sum before it. A thread takes a chunk, and holds its sum in shared memory, as an integer wide enough for any sum. An
 * addition touches the words in which the element's bits lie, and those to which it carries; a result is rounded from
 * the three highest. So an element costs the same whatever its exponent and the integer's width.
 *
 * All values, rows, segments and runs of keys are one sequence, in which heads begin groups. Along another axis a
 * thread goes down a column. A warp's chunks of a sequence lie one after the other: its lanes load and store
 * neighbouring elements, and exchange them through shared memory. Positions are logical: reverse scans count from the
 * end.
 *
 * A chunk's sum notes whether a group begins in it, and then leaves out what came before (Blelloch 1990). Sums of chunks
 * are added word by word, each word of all chunks in 64 bits, so the second pass has no carries. The third settles
 * them. */

enum {
    STORED_WORDS = SCAN_WORDS + 1, /* the highest may be a sign alone */
    LANES = EXACT_CHUNKS_BLOCK,
    ITEMS = EXACT_CHUNKS_ITEMS, /* of a chunk that shared memory has at a time */
    PLACE = sizeof(in_t) > sizeof(out_t) ? sizeof(in_t) : sizeof(out_t),
    PITCH = ITEMS * PLACE + (PLACE == 8 ? 8 : 4), /* an odd number of places or words: lanes use different banks */
    CHUNK_HAS_HEAD = 1u << 16,                    /* among the SAW_ bits of a chunk's sum */
};

struct chunks_scratch {
    uint32 words[STORED_WORDS][LANES];
    struct {
        alignas(8) uint8 items[WARP * PITCH];
        uint32 heads[ITEMS];
    } of_warp[LANES / WARP];
};
static_assert(sizeof(chunks_scratch) <= EXACT_CHUNKS_SHARED);

/* Waits for the launch before. The scan in the window may have done the work; or the offsets are bad. */
inline bool is_done(const exact_chunks_args &p) {
    wait_for_last();
    return (p.refused && *p.refused) || (p.window && !p.window->refused && !p.window->failed);
}

/* ---- a thread's sum ---- */

/* In two's complement. The words below 'low' are 0. Word 'high' is the sign, and nothing but that, and so are those above
 * it; those below may be, so that elements nearly as large as the largest do not move 'high' again and again. If the sum
 * is not 0, word 'low' is not. */
struct wide_sum {
    uint32 *words; /* LANES apart */
    int low, high;
    uint32 saw;
    bool has_head;

    uint32 &word(int w) const {
        return words[w * LANES];
    }
    uint32 word_or_zero(int w) const {
        return w < low ? 0 : word(w);
    }
    void clear() {
        low = high = 0;
        word(0) = 0;
        saw = 0;
    }

    /* So that words [first, last] exist, and the highest is the sign. */
    void make_room(int first, int last) {
        const uint32 sign = word(high);
        if (low == high && !sign) {
            low = high = first;
            word(first) = 0;
        }
        while (high < last)
            word(++high) = sign;
        while (low > first)
            word(--low) = 0;
    }
    void extend_sign() {
        const uint32 top = word(high), sign = (uint32)((int32)top >> 31);
        if (top != sign)
            word(++high) = sign;
    }
    /* The lowest word from which on there is only the sign. */
    int top_of() {
        constexpr int much = 3; /* words that 'high' may be too high */
        const uint32 sign = word(high);
        int top = high;
        while (top > low && word(top - 1) == sign)
            top--;
        if (high > top + much)
            high = top;
        return top;
    }
    void trim_bottom() {
        while (low < high && !word(low))
            low++;
    }

    template <class T> void add(T x) {
        constexpr int pieces = sizeof(T) == 8 ? 3 : 2; /* words that the bits of a number may lie in */
        const summand s = summand_of(x);
        saw |= s.saw;
        if (!s.significand)
            return;
        const int first = (int)((uint32)s.position / 32), shift = (int)((uint32)s.position % 32);
        const uint64 lower = s.significand << shift;
        const uint32 piece[3] = {(uint32)lower, (uint32)(lower >> 32), (uint32)(s.significand >> 1 >> (63 - shift))};
        if (first < low || first + pieces > high)
            make_room(first, first + pieces);
        const uint32 flip = s.negative ? ~0u : 0;
        uint64 carry = s.negative;
        uint32 was[pieces];
#pragma unroll
        for (int k = 0; k < pieces; k++)
            was[k] = word(first + k);
#pragma unroll
        for (int k = 0; k < pieces; k++) {
            carry += (uint64)was[k] + (piece[k] ^ flip);
            word(first + k) = (uint32)carry;
            carry >>= 32;
        }
        int w = first + pieces;
        for (; w <= high && (uint32)carry != (flip & 1); w++) {
            carry += (uint64)word(w) + flip;
            word(w) = (uint32)carry;
            carry >>= 32;
        }
        if (w > high)
            extend_sign();
        if (first == low)
            trim_bottom();
    }

    /* The sum of an accumulator, which has the words of an acc_t, and of word sums of the second pass; either may be NULL. */
    void set(const slot *from, const int64 *sums, uint64 pitch) {
        constexpr int at_once = 8; /* loads */
        int64 carry = 0;
#pragma unroll 1
        for (int first = 0; first < SCAN_WORDS; first += at_once) {
            int64 added[at_once];
#pragma unroll
            for (int k = 0; k < at_once; k++) {
                const int w = first + k < SCAN_WORDS ? first + k : SCAN_WORDS - 1;
                const uint32 given = from ? __ldcg(from->word + w) : 0;
                added[k] = (sums ? sums[w * pitch] : 0) + (w == SCAN_WORDS - 1 ? (int64)(int32)given : (int64)given);
            }
#pragma unroll
            for (int k = 0; k < at_once; k++)
                if (first + k < SCAN_WORDS) {
                    carry += added[k];
                    word(first + k) = (uint32)carry;
                    carry >>= 32;
                }
        }
        low = 0;
        high = SCAN_WORDS;
        word(high) = (uint32)carry;
        saw = (from ? __ldcg(from->word + SCAN_WORDS) : 0) | (sums ? (uint32)sums[SCAN_WORDS * pitch] : 0);
        extend_sign();
        trim_bottom();
        top_of();
    }
    uint32 full_word(int w) const {
        return w < low ? 0 : word(w < high ? w : high);
    }
    void keep(slot *to) const {
#pragma unroll 1
        for (int w = 0; w < SCAN_WORDS; w++)
            __stcg(to->word + w, full_word(w));
        __stcg(to->word + SCAN_WORDS, saw);
    }
    void keep(uint32 *to, uint64 pitch) const {
#pragma unroll 1
        for (int w = 0; w < SCAN_WORDS; w++)
            to[w * pitch] = full_word(w);
        to[SCAN_WORDS * pitch] = saw | (has_head ? CHUNK_HAS_HEAD : 0);
    }

    uint64 rounded() {
        uint64 bits;
        if (is_decided(saw, &bits))
            return bits;
        const uint32 flip = word(high);
        const int top = top_of();
        const leading_words l = {word_or_zero(top - 1), word_or_zero(top - 2), word_or_zero(top - 3), low < top - 3,
                                 top - 1};
        return bits_of_magnitude(magnitude_of(l, flip), saw, flip != 0);
    }
};

/* What a group starts from. */
inline void add_base(const exact_chunks_args &p, wide_sum &s) {
    if (!p.carry && p.initial)
        s.add(number_of(load(p.initial)));
}
template <bool Gives> inline void begin_group(const exact_chunks_args &p, wide_sum &s, uint64 group) {
    s.has_head = true;
    if (Gives && p.carry)
        s.set(p.carry + group, nullptr, 0);
    else
        s.clear();
    if (Gives)
        add_base(p, s);
}
/* A chunk in a group that began before it. */
template <bool Gives> inline void go_on(const exact_chunks_args &p, wide_sum &s, uint64 group, uint64 entry) {
    begin_group<Gives>(p, s, group);
    s.has_head = false;
    if (!Gives)
        return;
    s.set(p.carry ? p.carry + group : nullptr, p.before + entry, p.pitch);
    add_base(p, s);
}

template <bool Gives> inline result_t next_result(wide_sum &s, in_t x) {
    uint64 bits = 0;
    if (Gives && !INCLUSIVE)
        bits = s.rounded();
    s.add(value_of(x));
    if (Gives && INCLUSIVE)
        bits = s.rounded();
    return element_of_bits<out_t>(bits);
}

/* ---- a sequence ---- */

inline uint64 physical(uint64 all, uint64 at) {
    return REVERSE ? all - 1 - at : at;
}
inline bool begins_group(const exact_chunks_args &p, uint64 at) {
#if GROUPS == SEGMENTS
    const uint64 m = physical(p.n, at);
    return p.bits[m / WARP] >> m % WARP & 1;
#elif GROUPS == KEYS
    return at == 0 || load(p.keys + physical(p.n, at)) != load(p.keys + physical(p.n, at - 1));
#else
    return false;
#endif
}

template <bool Gives> inline void pass_sequence(const exact_chunks_args &p, chunks_scratch &scratch, wide_sum &s) {
    constexpr bool has_bits = GROUPS == SEGMENTS || GROUPS == KEYS;
    auto &mine = scratch.of_warp[threadIdx.x / WARP];
    const uint32 lane = threadIdx.x % WARP;
    const uint64 number = blockIdx.x * (uint64)LANES + threadIdx.x, begin = number * p.chunk,
                 first = (number - lane) * p.chunk; /* of the warp */
    const uint64 items = begin >= p.n ? 0 : p.n - begin < p.chunk ? p.n - begin : p.chunk;
    uint64 row = 0, left = ~0ull; /* of the row */
    if (first >= p.n)
        return;
#if GROUPS == ROWS
    row = quotient(begin, p.extent);
    left = (row + 1) * p.extent - begin;
    left = left == p.extent ? 0 : left;
#endif
#if GROUPS == SEGMENTS
    const uint64 from = load(p.offsets), to = load(p.offsets + p.segments);
#else
    const uint64 from = ~0ull, to = p.n; /* not asked */
#endif
    if (number && left && items)
        go_on<Gives>(p, s, row, number);
    else
        begin_group<Gives>(p, s, items ? row : 0);
    s.has_head = false;
    for (uint64 step = 0; step < p.chunk && first + step < p.n; step += ITEMS) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const int flat = k * WARP + (int)lane, of = flat / ITEMS, j = flat % ITEMS;
            const uint64 at = first + of * p.chunk + step + j;
            bool is_head = false;
            if (at < p.n) {
                *(in_t *)(mine.items + of * PITCH + j * PLACE) = load(p.x + physical(p.n, at));
                is_head = has_bits && begins_group(p, at);
            }
            if (has_bits) {
                const uint32 heads = __ballot_sync(ALL_LANES, is_head);
                if (lane == 0)
                    mine.heads[k] = heads;
            }
        }
        __syncwarp();
        const int count = items <= step ? 0 : items - step < ITEMS ? (int)(items - step) : (int)ITEMS;
#pragma unroll 1
        for (int j = 0; j < count; j++) {
            const int flat = (int)lane * ITEMS + j;
            uint8 *place = mine.items + lane * PITCH + j * PLACE;
            if (has_bits ? (mine.heads[flat / WARP] >> flat % WARP & 1) != 0 : !left) {
                begin_group<Gives>(p, s, row);
                left = p.extent;
            }
            const result_t result = next_result<Gives>(s, *(const in_t *)place);
            if (Gives)
                *(result_t *)place = result;
#if GROUPS == ROWS
            if (--left == 0) {
                if (Gives && p.total)
                    s.keep(p.total + row);
                row++;
            }
#endif
        }
        __syncwarp();
        if constexpr (Gives) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) {
                const int flat = k * WARP + (int)lane, of = flat / ITEMS, j = flat % ITEMS;
                const uint64 at = first + of * p.chunk + step + j, m = physical(p.n, at);
                if (at < p.n && (GROUPS != SEGMENTS || (m >= from && m < to)))
                    store(p.out + m, *(const result_t *)(mine.items + of * PITCH + j * PLACE));
            }
            __syncwarp();
        }
    }
    if (!items)
        return;
    if (!Gives)
        s.keep(p.sums + number, p.pitch);
    else if (GROUPS == ALL && p.total && begin + items == p.n)
        s.keep(p.total);
}

/* ---- columns ---- */

#if GROUPS == ROWS
template <bool Gives> inline void pass_column(const exact_chunks_args &p, wide_sum &s) {
    const uint64 number = blockIdx.x * (uint64)LANES + threadIdx.x;
    const uint64 chunk = quotient(number, p.columns), column = number - chunk * p.columns;
    if (chunk >= p.chunks)
        return;
    const uint64 entry = column * p.chunks + chunk, slab = quotient(column, p.inner), first = chunk * p.chunk;
    const uint64 corner = slab * p.extent * p.inner + (column - slab * p.inner);
    const uint64 end = first + p.chunk < p.extent ? first + p.chunk : p.extent;
    if (chunk)
        go_on<Gives>(p, s, column, entry);
    else
        begin_group<Gives>(p, s, column);
#pragma unroll 1
    for (uint64 row = first; row < end; row++) {
        const uint64 at = corner + physical(p.extent, row) * p.inner;
        const result_t result = next_result<Gives>(s, load(p.x + at));
        if (Gives)
            store(p.out + at, result);
    }
    if (!Gives)
        s.keep(p.sums + entry, p.pitch);
    else if (p.total && chunk == p.chunks - 1)
        s.keep(p.total + column);
}
#endif

template <bool Gives> inline void pass_chunks(const exact_chunks_args &p) {
    extern __shared__ __align__(16) uint8 chunks_memory[];
    chunks_scratch &scratch = *(chunks_scratch *)chunks_memory;
    wide_sum s;
    s.words = scratch.words[0] + threadIdx.x;
#if GROUPS == ROWS
    if (p.inner > 1) {
        pass_column<Gives>(p, s);
        return;
    }
#endif
    pass_sequence<Gives>(p, scratch, s);
}

extern "C" __global__ void __launch_bounds__(LANES) sum_exact_chunks(exact_chunks_args p SIZED) {
    TAKE_GROUPS(p)
    if (!is_done(p))
        pass_chunks<false>(p);
}
extern "C" __global__ void __launch_bounds__(LANES) scan_exact_chunks(exact_chunks_args p SIZED) {
    TAKE_GROUPS(p)
    if (!is_done(p))
        pass_chunks<true>(p);
}

/* ---- the second pass ---- */

/* What some chunks have of a word, since the last group that begins in them. */
struct word_sum {
    int64 sum;
    bool has_head;

    /* The SAW_ bits are joined, not added. */
    word_sum then(const word_sum &next, bool are_bits) const {
        return {next.has_head ? next.sum : are_bits ? sum | next.sum : sum + next.sum, has_head || next.has_head};
    }
};

/* A block has one of the words of all chunks. */
extern "C" __global__ void __launch_bounds__(SUMS_BLOCK) scan_exact_sums(exact_chunks_args p) {
    enum { WARPS_HERE = SUMS_BLOCK / WARP };
    __shared__ int64 sums[WARPS_HERE];
    __shared__ bool heads[WARPS_HERE];
    if (is_done(p))
        return;
    const bool are_bits = blockIdx.x == SCAN_WORDS, is_highest = blockIdx.x == SCAN_WORDS - 1;
    const uint32 *from = p.sums + blockIdx.x * p.pitch, *flags = p.sums + SCAN_WORDS * p.pitch;
    int64 *to = p.before + blockIdx.x * p.pitch;
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    word_sum before_tile = {0, false};
    for (uint64 tile = 0; tile < p.pitch; tile += SUMS_BLOCK * SUMS_AT_ONCE) {
        const uint64 first = tile + SUMS_AT_ONCE * threadIdx.x;
        uint32 words[SUMS_AT_ONCE] = {0, 0, 0, 0}, flag[SUMS_AT_ONCE] = {0, 0, 0, 0};
        if (first < p.pitch) {
            memcpy(words, (const uint4 *)(from + first), 16);
            memcpy(flag, (const uint4 *)(flags + first), 16);
        }
        word_sum item[SUMS_AT_ONCE], all = {0, false};
#pragma unroll
        for (int k = 0; k < SUMS_AT_ONCE; k++) {
            item[k].sum = are_bits     ? (int64)(words[k] & (CHUNK_HAS_HEAD - 1))
                          : is_highest ? (int64)(int32)words[k]
                                       : (int64)words[k];
            item[k].has_head = (flag[k] & CHUNK_HAS_HEAD) != 0;
            all = all.then(item[k], are_bits);
        }
        for (uint32 d = 1; d < WARP; d *= 2) {
            const word_sum left = {__shfl_up_sync(ALL_LANES, all.sum, d),
                                   __shfl_up_sync(ALL_LANES, (int)all.has_head, d) != 0};
            if (lane >= d)
                all = left.then(all, are_bits);
        }
        if (lane == WARP - 1) {
            sums[warp] = all.sum;
            heads[warp] = all.has_head;
        }
        __syncthreads();
        word_sum before = before_tile;
        for (uint32 w = 0; w < WARPS_HERE; w++) {
            const word_sum of_warp = {sums[w], heads[w]};
            if (w < warp)
                before = before.then(of_warp, are_bits);
            before_tile = before_tile.then(of_warp, are_bits);
        }
        const word_sum left = {__shfl_up_sync(ALL_LANES, all.sum, 1),
                               __shfl_up_sync(ALL_LANES, (int)all.has_head, 1) != 0};
        if (lane)
            before = before.then(left, are_bits);
#pragma unroll
        for (int k = 0; k < SUMS_AT_ONCE; k++) {
            if (first < p.pitch)
                to[first + k] = before.sum;
            before = before.then(item[k], are_bits);
        }
        __syncthreads();
    }
}
