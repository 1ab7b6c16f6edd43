/* A scan's finishers. A team of them takes a tile: each thread finds the heads in its stretch and the sums within it,
 * and the team adds up the stretches. When the tile is ready, the sum before it is added, and the results take the
 * elements' place in the ring. */

/* ---- finishers ---- */

template <bool IsWide> struct bits_of { typedef uint32 type; };
template <> struct bits_of<true> { typedef uint64 type; };
typedef typename bits_of<(ITEMS > 32)>::type bits_t;

typedef since_head<lane_t, uint32> state; /* of stretches, with positions counted from the tile's beginning */

/* The vector of the ring's place that takes vector v of the results. Results no wider than the elements begin where the
 * elements' place does. Wider ones are scattered a little, because in order they would use few banks. */
constexpr int vector_of_results(int v) {
    return IN_ORDER ? v : v ^ (v >> 3 & 7);
}
/* Takes a stretch's words of results in logical order. They lie 'shift' bytes behind their place where results SHIFT,
 * so each is made of two. A lane has the end of its first one from its neighbour; those at a warp's ends are written in
 * parts. */
template <int Bytes> struct place_of_words {
    typedef typename word_of<Bytes>::type word;
    enum { WORDS = ITEMS * sizeof(result_t) / Bytes };
    int shift, offset;
    word lowest, highest, near;

    place_of_words(int of_results) : shift(of_results % Bytes), offset(of_results / Bytes) {}
    void put(uint8 *memory, int stretch, int at, const word &bits) {
        word *to = (word *)memory + stretch * WORDS;
        /* What a shifted stretch needs later is kept whether it is shifted or not: so no path has registers to move. */
        const word last = near;
        near = bits;
        if (at == 0)
            lowest = bits;
        if (at == WORDS - 1)
            highest = bits;
        if (!SHIFT || shift == 0)
            ((word *)memory)[Bytes == 16 ? vector_of_results(stretch * WORDS + at) : stretch * WORDS + at + offset] =
                bits;
        else if (at != (REVERSE ? WORDS - 1 : 0))
            to[offset + (REVERSE ? at + 1 : at)] = REVERSE ? across(bits, last) : across(last, bits);
    }
    /* All lanes of a warp call this when they have put all. */
    void end(uint8 *memory, int stretch) const {
        if (!SHIFT || shift == 0)
            return;
        word *to = (word *)memory + stretch * WORDS + offset;
        const word next = REVERSE ? from_above(highest, 1) : from_below(highest, 1);
        const int lane = threadIdx.x % WARP;
        if (lane != (REVERSE ? WARP - 1 : 0))
            to[0] = across(next, lowest);
        else
            write_part((uint8 *)to + shift, lowest, 0, Bytes - shift);
        if (lane == (REVERSE ? 0 : WARP - 1))
            write_part((uint8 *)(to + WORDS) - (Bytes - shift), highest, Bytes - shift, Bytes);
    }

  private:
    word across(const word &low, const word &high) const {
        const word both[2] = {low, high};
        return straddling_words(both, Bytes - shift);
    }
    static void write_part(uint8 *to, const word &bits, int from, int until) {
        uint32 words[(Bytes + 3) / 4];
        memcpy(words, &bits, Bytes);
        if ((from | until) % 4 == 0) {
#pragma unroll
            for (int w = 0; w < Bytes / 4; w++)
                if (4 * w >= from && 4 * w < until)
                    ((uint32 *)to)[w] = words[w];
        } else {
#pragma unroll
            for (int b = 0; b < Bytes; b++)
                if (b >= from && b < until)
                    to[b] = (uint8)(words[b / 4] >> b % 4 * 8);
        }
    }
};

/* Takes a stretch's results in logical order, and writes as many as are a word as soon as it is whole. */
struct results_writer {
    enum {
        BYTES = ITEMS * sizeof(result_t),
        WORD_BYTES = BYTES % 16 == 0  ? 16
                     : BYTES % 8 == 0 ? 8
                                      : 4, /* whose number in a stretch is odd, if it can be */
        A_WORD = WORD_BYTES / sizeof(result_t)
    };
    static_assert(BYTES % WORD_BYTES == 0 && (WORD_BYTES == 16 || IN_ORDER));
    place_of_words<WORD_BYTES> words;
    result_t few[A_WORD];

    results_writer(int shift = 0) : words(shift) {}
    void put(uint8 *memory, int stretch, int k, result_t result) {
        const int at = REVERSE ? ITEMS - 1 - k : k;
        few[at % A_WORD] = result;
        if (at % A_WORD != (REVERSE ? 0 : A_WORD - 1))
            return;
        typename word_of<WORD_BYTES>::type bits;
        memcpy(&bits, few, WORD_BYTES);
        words.put(memory, stretch, at / A_WORD, bits);
    }
};
template <int Word> struct begins_in_word {
    enum { AT = Word };
};
/* Whole vectors to aligned addresses, and single bytes at both ends. Where results lie otherwise in memory than in the
 * ring, a vector is made of two. */
inline void write_out(const uint8 *memory, int thread, result_t *to, const part &w, int shift_in_ring = 0) {
    const uint4 *vectors = (const uint4 *)memory;
    const uint64 origin = (uint64)to - shift_in_ring, begin = (uint64)(to + w.from), end = (uint64)(to + w.to);
    const uint32 shift = (uint32)(0 - origin & 15);
    uint64 first = begin + 15 & ~15ull, last = end & ~15ull;
    if (first > last)
        first = last = end;
    else if (shift && last > first)
        last -= 16; /* what follows the results' last vector is not theirs */
    const auto write_bytes = [&](uint64 from, uint64 until) {
        for (uint64 a = from + thread; a < until; a += FINISHERS) {
            const int at = (int)(a - origin);
            *(uint8 *)a = ((const uint8 *)&vectors[vector_of_results(at / 16)])[at % 16];
        }
    };
    write_bytes(begin, first);
    write_bytes(last, end);
    const uint32 count = (uint32)(last - first) / 16, lowest = (uint32)(first - origin) / 16;
    const auto vector = [&](uint32 v) { return vectors[vector_of_results((int)v)]; };
    const auto write = [&](auto bits) {
#pragma unroll 4
        for (uint32 v = thread; v < count; v += FINISHERS)
            __stcs((uint4 *)first + v, bits(lowest + v));
    };
    const auto write_from = [&](auto word) {
        write([&](uint32 v) { return straddling_from<decltype(word)::AT>(vector(v), vector(v + 1), shift); });
    };
    if (shift == 0)
        return write(vector);
    switch (shift / 4) {
    case 0: return write_from(begins_in_word<0>());
    case 1: return write_from(begins_in_word<1>());
    case 2: return write_from(begins_in_word<2>());
    default: return write_from(begins_in_word<3>());
    }
}

/* Items behind the end may be added, too, as no result follows them; a test of each would take as long as a sum does. A
 * user's operator might not bear them, nor a window. The sums of stretches must be right where a block's only tile is
 * published. */
constexpr bool ADDS_ABSENT = !REVERSE && !IS_USER && !IN_WINDOW, SUMS_ABSENT = ADDS_ABSENT && !HAS_ONE_TILE;

/* Writes a tile's results, which this team has put into the ring, to memory: the storer copies them in bulk if
 * possible, or a thread of a block's only team; else the team writes them itself. */
inline void hand_over(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread) {
    part w = written_part(s, t);
#if HAS_ONE_TILE
#if COPIES_IN_BULK
    show_to_copies();
#endif
#if ONE_WAVE && GROUPS == SEGMENTS
    s.ready[0].wait(0);
    if (s.found[thread])
        atomicOr(&s.is_refused, 1);
#endif
    sync_some<FINISHERS>(OF_TEAMS + team);
#if ONE_WAVE && GROUPS == SEGMENTS
    if (s.is_refused)
        return;
#endif
    if (!goes_in_bulk(p, t, is_whole(w, t)))
        write_out(s.tile[here.at], thread, p.out + t.low, w, shift_of_results(p, t));
#if COPIES_IN_BULK
    else if (thread == 0) {
        copy_out(p.out + t.low, s.tile[here.at], t.count * sizeof(result_t));
        end_copies_out();
        wait_for_copies_out<0>();
    }
#endif
#else
    if (!goes_in_bulk(p, t, is_whole(w, t))) {
        sync_some<FINISHERS>(OF_TEAMS + team);
        write_out(s.tile[here.at], thread, p.out + t.low, w, shift_of_results(p, t));
    }
#if COPIES_IN_BULK
    show_to_copies();
#endif
    __syncwarp();
    if (thread % WARP == 0)
        (COPIES_IN_BULK ? s.done : s.empty)[here.at].arrive();
#endif
}

#if GROUPS == KEYS
/* Where stretches of keys are an even number of vectors, threads that read their own would meet in banks. Then the team
 * marks the tile's heads together, a bit each in physical order. */
constexpr bool MARKS_KEYS = ITEMS * sizeof(index_t) / 16 % 2 == 0;
inline void mark_keys(scratch &s, const scan_args &p, const tile &t, int at, int team, int thread) {
    if (!MARKS_KEYS)
        return;
    if (HAS_TERMS) /* the way by terms may have marked the tile before, and some threads still look at that */
        sync_some<FINISHERS>(OF_TEAMS + team);
    const index_t *keys = keys_of(s, p, t, at) + thread;
    uint32 *words = s.marks[team] + thread / WARP;
    const auto mark = [&](int k, const index_t &key, const index_t &previous) {
        const uint32 word = __ballot_sync(ALL_LANES, key != previous); /* whatever lies behind the end */
        if (thread % WARP == 0)
            words[k * (FINISHERS / WARP)] = word;
    };
    enum { PREVIOUS = REVERSE ? 1 : -1 };
    if (((uint64)p.keys & (sizeof(index_t) - 1)) == 0) {
#pragma unroll 8
        for (int k = 0; k < ITEMS; k++)
            mark(k, keys[k * FINISHERS], keys[k * FINISHERS + PREVIOUS]);
    } else {
#pragma unroll 1
        for (int k = 0; k < ITEMS; k++)
            mark(k, load_slowly(keys + k * FINISHERS), load_slowly(keys + k * FINISHERS + PREVIOUS));
    }
    sync_some<FINISHERS>(OF_TEAMS + team);
}
#endif

/* A stretch's bits in logical order, of a tile's in physical order. */
inline bits_t bits_of_stretch(const uint32 *of_tile, int stretch) {
    const uint32 *words = of_tile + stretch * ITEMS / WARP;
    const int shift = stretch * ITEMS % WARP;
    bits_t bits = __funnelshift_r(words[0], words[1], shift);
    if (ITEMS > WARP)
        bits |= (bits_t)__funnelshift_r(words[1], words[2], shift) << (ITEMS > WARP ? WARP : 0);
    constexpr int width = 8 * sizeof(bits_t), above = width > ITEMS ? width - ITEMS : 0; /* else there are no groups */
    if (REVERSE)
        bits = (sizeof(bits_t) == 4 ? (bits_t)__brev((uint32)bits) : (bits_t)__brevll(bits)) >> above;
    return bits;
}

/* A bit for each item that is a head, in logical order. 'column' is the first item's in its row. */
inline bits_t find_heads(const scratch &s, const scan_args &p, const tile &t, int at, int team, int stretch,
                         uint64 column) {
    bits_t heads = 0;
#if GROUPS == ROWS
    const uint64 to_head = column ? p.extent - column : 0;
    const uint32 step = p.extent < ITEMS ? (uint32)p.extent : (uint32)ITEMS;
    for (uint32 k = to_head < ITEMS ? (uint32)to_head : (uint32)ITEMS; k < ITEMS; k += step)
        heads |= (bits_t)1 << k;
#elif GROUPS == SEGMENTS
    heads = bits_of_stretch(s.heads[at], stretch);
#elif GROUPS == KEYS
    if (MARKS_KEYS) {
        heads = bits_of_stretch(s.marks[team], stretch);
    } else {
        index_t previous = load(keys_of(s, p, t, at) + stretch * ITEMS + (REVERSE ? (int)ITEMS : -1));
        stretch_of<index_t, ITEMS> keys;
        keys.read(s.keys[at] + KEYS_FROM, shift_of(p.keys + t.low), stretch);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            heads |= (bits_t)(keys[k] != previous) << k;
            previous = keys[k];
        }
    }
    const int first_of_all = REVERSE ? (stretch + 1) * ITEMS - t.count : stretch ? -1 : 0;
    if (t.first == 0 && first_of_all >= 0 && first_of_all < ITEMS)
        heads |= (bits_t)1 << first_of_all;
#endif
    return heads;
}

/* Returns the sum of the threads before this one in the team. Heads of the warp are a mask, so a step of a scan needs
 * neither a head nor a place of the other lane: it only asks whether that lane's sum reaches to the last head. */
template <class Acc, class Position>
inline since_head<Acc, Position> scan_team(uint8 *memory, int team, int thread, since_head<Acc, Position> mine) {
    typedef since_head<Acc, Position> state;
    enum { WARPS = FINISHERS / WARP };
    state *of_warp = (state *)memory;
    const int warp = thread / WARP, lane = thread % WARP;
    const uint32 heads = GROUPS == ALL ? 0 : __ballot_sync(ALL_LANES, mine.has_head()), below = heads & (1u << lane) - 1;
    const int since = mine.has_head() ? lane : last_lane(below);
    Acc sum = mine.acc;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        Acc left = from_below(sum, d);
        constexpr bool ALWAYS_ADDS = sizeof(Acc) > 8 && SMALL; /* the compiler would make a branch of it */
        if (ALWAYS_ADDS && lane - d < since)
            left = identity_as<Acc>();
        if (ALWAYS_ADDS || lane - d >= since)
            sum = combine(left, sum);
    }
    const Position last_start = NEEDS_START ? from_lane(mine.start(), last_lane(heads)) : 0;
    if (lane == WARP - 1)
        of_warp[warp] = state::of(sum, heads != 0, last_start);
    Acc before = from_below(sum, 1);
    const Position start = NEEDS_START ? from_lane(mine.start(), last_lane(below)) : 0;
    if (lane == 0)
        before = identity_as<Acc>();
    sync_some<FINISHERS>(OF_TEAMS + team);
    /* Each lane has the sum of one warp. */
    const int of_lane = lane % WARPS;
    const state other = of_warp[of_lane];
    const uint32 with_heads = GROUPS == ALL ? 0 : __ballot_sync(ALL_LANES, other.has_head()) & (1u << warp) - 1;
    Acc warps = identity_as<Acc>();
    if (of_lane < warp && of_lane >= last_lane(with_heads))
        warps = other.acc;
#pragma unroll SMALL ? WARPS : 1
    for (int d = 1; d < WARPS; d *= 2) {
        const Acc across = from_across(warps, d);
        const bool is_left = (COMMUTES && !FINDS_PLACES) || (lane & d);
        warps = is_left ? combine(across, warps) : combine(warps, across);
    }
    const Position start_of_warps = NEEDS_START ? from_lane(other.start(), last_lane(with_heads)) : 0;
    return state::of(below ? before : combine(warps, before), (below | with_heads) != 0, below ? start : start_of_warps);
}

/* A thread's stretch of a tile that has arrived. */
struct span {
    int stretch, there; /* which one, and how many of its items the tile has */
    int absent;         /* items before the first in logical order */
    uint64 low;         /* physical position of the lowest item */
    uint64 first;       /* logical position of the first item there */
    uint64 column;      /* of that one: elements of its group before it */
    bits_t heads;

    /* The last head's item, or 0. */
    int last() const { return !heads ? 0 : sizeof(bits_t) == 4 ? 31 - __clz((uint32)heads) : 63 - __clzll(heads); }
};
inline span begin_stretch(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread) {
    span r;
    r.stretch = REVERSE ? FINISHERS - 1 - thread : thread;
    r.there = items_there(t, r.stretch);
    r.absent = REVERSE ? ITEMS - r.there : 0;
    r.low = t.low + r.stretch * ITEMS;
    r.first = REVERSE ? p.n - r.low - r.there : r.low;
    r.column = r.first + p.before;
    r.heads = 0;
    s.full[here.at].wait(here.parity);
    if (GROUPS == ROWS)
        r.column = remainder(r.first, p.extent);
#if GROUPS == KEYS
    mark_keys(s, p, t, here.at, team, thread);
#endif
    if (GROUPS != ALL && r.there) {
        r.heads = find_heads(s, p, t, here.at, team, r.stretch, r.column);
        if (GROUPS == ROWS)
            r.heads <<= r.absent;
        r.heads &= ((bits_t)2 << (r.there - 1)) - 1 << r.absent;
    }
    if (GROUPS == ROWS)
        r.column += p.before;
    return r;
}

/* Whether a warp's stretches have heads, for which there is code of its own: each element's test of a head, and what
 * then begins anew, took as many instructions as all else of a sum of f16. */
template <bool HasHeads> struct with_heads {
    enum { VALUE = HasHeads };
};
constexpr bool HAS_BOTH_WAYS =
    GROUPS != ALL && SMALL && !HAS_TERMS && !IN_WINDOW && !IS_EXACT && !IS_USER && !IS_INDEXED && !KEEPS_ONE_WAY;

inline void finish_tile(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                        int in_turn, bool has_base, const acc_t &base) {
    const span place_of_mine = begin_stretch(s, p, t, here, team, thread);
    const auto [stretch, there, absent, low, first, column, heads] = place_of_mine;
    stretch_of<in_t, ITEMS> items;
    items.read(s.tile[here.at], shift_of(p.x + t.low), stretch);
    stretch_of<in_t, HAS_SECOND ? ITEMS : 16 / sizeof(in_t)> partners;
    if (HAS_SECOND)
        partners.read(second_of(s, here.at), shift_of(p.y + t.low), stretch);

    auto is_there = [&](int k) { return REVERSE ? k >= absent : k < there; };
    auto is_head = [&](int k) { return GROUPS != ALL && (heads >> k & 1); };
    const bool are_heads = GROUPS != ALL && (!HAS_BOTH_WAYS || __ballot_sync(ALL_LANES, heads != 0));
    const auto in_its_way = [&](auto loop) {
        if (are_heads)
            loop(with_heads<GROUPS != ALL>());
        else
            loop(with_heads < GROUPS != ALL && !HAS_BOTH_WAYS > ());
    };
    auto position = [&](int k) { return REVERSE ? low + (ITEMS - 1 - k) : low + k; };
    uint64 at_column = column;
    auto add_item = [&](auto &sum, int k) {
        uint64 at = position(k);
        sum.add_next(value_of(items[k]), HAS_SECOND ? value_of(partners[HAS_SECOND ? k : 0]) : value_t(0),
                     index_of(p, at, at_column));
    };

    const int last = place_of_mine.last();
    const bool has_last = p.total && there && first + there == p.n;
    if (has_last) { /* what the stretch adds to the sum of all, while its elements are in memory */
        const in_t *x = (const in_t *)(s.tile[here.at] + shift_of(p.x + t.low)) + stretch * ITEMS;
        const uint8 *second = HAS_SECOND ? second_of(s, here.at) + shift_of(p.y + t.low) : nullptr;
        const in_t *y = (const in_t *)second + stretch * ITEMS;
        running<lane_t> end;
#pragma unroll 1
        for (int k = heads ? last : absent; k < absent + there; k++) {
            const int at = REVERSE ? ITEMS - 1 - k : k;
            end.add_next(value_of(load(x + at)), HAS_SECOND ? value_of(load(y + at)) : value_t(0),
                         index_of(p, low + at, heads ? p.before + k - last : column + k - absent));
        }
        p.total->write(widen(end.sum()));
    }

    /* the sums within the stretch */
    running<lane_t> run;
    if (!REVERSE)
        run.begin(value_of(items[0]));
    lane_t kept[KEPT ? ITEMS : 1];
    in_its_way([&](auto heads_here) {
#pragma unroll AT_ONCE
        for (int k = 0; k < ITEMS; k++) {
            if (decltype(heads_here)::VALUE && is_head(k)) {
                run = {};
                run.begin(value_of(items[k]));
                at_column = p.before;
            }
            if (KEPT && !INCLUSIVE)
                kept[k] = run.sum();
            if (SUMS_ABSENT || is_there(k)) {
                add_item(run, k);
                at_column++;
            }
            if (KEPT && INCLUSIVE)
                kept[k] = run.sum();
            if (k % SETTLING == SETTLING - 1)
                run.settle();
        }
    });
    uint32 begins = t.first; /* of the tile; differences of positions in it fit */
    const state mine = state::of(run.sum(), heads != 0, (uint32)first - begins + last - absent);
    state before = scan_team(s.of_finishers[team][in_turn], team, thread, mine);

    /* and what comes before them */
#if HAS_ONE_TILE
    const record prefix = sum_before(s, p, t, join(before, mine));
#else
    s.ready[here.at].wait(here.parity);
    const record prefix = *(const record *)s.prefix[here.at];
#endif
    bool open = !before.has_head();
    acc_t left = open ? has_base ? combine(base, prefix.acc) : prefix.acc : base;
    left = combine(left, widen(before.acc));
    const running<acc_t, lane_t> of_base = base;
    running<acc_t, lane_t> carried = left; /* if the sums within the stretch are not KEPT */
    uint64 start = open ? prefix.start() : t.first + before.start();
    if (!REVERSE)
        carried.begin(value_of(items[0]));
    uint8 *memory = s.tile[here.at];
    results_writer results(shift_of_results(p, t));
    at_column = column;
    if (!KEPT && sizeof(acc_t) > 16) { /* registers could not hold them meanwhile */
        const int shift = shift_of(p.x + t.low);
        items.read(s.tile[here.at], shift, stretch);
        if (!IN_LINE || shift || shift_of_results(p, t)) /* others' results take the place of what a thread reads */
            sync_some<FINISHERS>(OF_TEAMS + team);
    } else if (!KEPT) {
        items.forget();
        if (HAS_SECOND)
            partners.forget();
    }
    in_its_way([&](auto heads_here) {
#pragma unroll AT_ONCE
        for (int k = 0; k < ITEMS; k++) {
            if (decltype(heads_here)::VALUE && is_head(k)) {
                at_column = p.before;
                start = first + k - absent;
                left = base;
                carried = of_base;
                carried.begin(value_of(items[k]));
            }
            acc_t sum; /* up to the item */
            if (KEPT) {
                sum = combine(left, widen(kept[k]));
            } else {
                if (!INCLUSIVE)
                    sum = carried.sum();
                if (ADDS_ABSENT || is_there(k))
                    add_item(carried, k);
                if (INCLUSIVE)
                    sum = carried.sum();
                if (k % SETTLING == SETTLING - 1)
                    carried.settle();
            }
            /* elements of the group before this one */
            uint64 within = GROUPS == ROWS || GROUPS == ALL ? at_column : first + k - absent - start;
            uint64 group_start = GROUPS == SEGMENTS || GROUPS == KEYS ? start : 0;
#if MOMENTS > 2
            results.put(memory, stretch, k, carried.result(within));
#else
            results.put(memory, stretch, k, lower(sum, within + INCLUSIVE, group_start));
#endif
            at_column += ADDS_ABSENT || is_there(k);
        }
    });
    results.words.end(memory, stretch);
    if (has_last)
        p.total->write(combine(left, p.total->read()));

    hand_over(s, p, t, here, team, thread);
}

#if FILLS_TILES && !HAS_ONE_TILE && GROUPS != KEYS
/* Whether a group begins in a tile that has arrived. */
inline bool has_head(const scratch &s, const scan_args &p, const tile &t, int at) {
#if GROUPS == ROWS
    return remainder(t.first + t.count - 1, p.extent) < t.count;
#elif GROUPS == SEGMENTS
    uint32 bits = 0;
    for (int w = threadIdx.x % WARP; w * WARP < t.count; w += WARP)
        bits |= s.heads[at][w];
    return __ballot_sync(ALL_LANES, bits != 0);
#else
    return false;
#endif
}

/* Most tiles of a running extreme have nothing that goes before what was there, and no head. Then all results are the
 * same index, and nobody looks at the elements again. Returns false for other tiles. */
inline bool fill_tile(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                      bool has_base, const acc_t &base) {
    s.full[here.at].wait(here.parity);
    if (has_head(s, p, t, here.at))
        return false;
    s.ready[here.at].wait(here.parity);
    const record prefix = *(const record *)s.prefix[here.at];
    const acc_t left = has_base ? combine(base, prefix.acc) : prefix.acc;
    if (combine(left, widen(*(const lane_t *)s.best[here.at])).a1 != left.a1)
        return false;
    result_t results[16 / sizeof(result_t)];
#pragma unroll
    for (int k = 0; k < 16 / (int)sizeof(result_t); k++)
        results[k] = lower(left, 0, GROUPS == SEGMENTS ? prefix.start() : 0);
    uint4 bits;
    memcpy(&bits, results, 16);
    if (shift_of_results(p, t))
        bits = straddling(bits, bits, 16 - shift_of_results(p, t));
    for (int v = thread; v < PLACE / 16; v += FINISHERS)
        ((uint4 *)s.tile[here.at])[v] = bits;
    if (p.total && thread == 0 && t.first + t.count == p.n)
        p.total->write(left);
    hand_over(s, p, t, here, team, thread);
    return true;
}
#endif

#if BY_WORDS
/* ---- results that are made some in a word: scan_words.cu and scan_flags.cu ---- */

/* A word of elements of so many bytes, whose order is turned round in a scan from the end. */
template <int Bytes> inline uint32 in_logical_order(uint32 word) {
    return !REVERSE || Bytes == 4 ? word : __byte_perm(word, 0, Bytes == 1 ? 0x0123 : 0x1032);
}

/* Takes a stretch's results in words, in logical order. */
struct words_writer {
    enum {
        BYTES = results_writer::BYTES,
        WORD_BYTES = results_writer::WORD_BYTES,
        AT_A_TIME = WORD_BYTES / 4,
        WORDS = BYTES / 4
    };
    place_of_words<WORD_BYTES> words;
    uint32 few[AT_A_TIME];

    words_writer(int shift) : words(shift) {}
    void put(uint8 *memory, int stretch, int w, uint32 results) {
        const int at = REVERSE ? WORDS - 1 - w : w;
        few[at % AT_A_TIME] = in_logical_order<sizeof(result_t)>(results);
        if (at % AT_A_TIME != (REVERSE ? 0 : AT_A_TIME - 1))
            return;
        typename word_of<WORD_BYTES>::type bits;
        memcpy(&bits, few, WORD_BYTES);
        words.put(memory, stretch, at / AT_A_TIME, bits);
    }
};

template <class Packed>
inline void finish_by_words(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                            int in_turn, bool has_base, const acc_t &base) {
    const span mine = begin_stretch(s, p, t, here, team, thread);
    stretch_of<in_t, ITEMS> items;
    items.read(s.tile[here.at], shift_of(p.x + t.low), mine.stretch);
    Packed packed;
    packed.take(items, mine);
    const lane_t sum = packed.sum(mine);
    const state of_stretch = state::of(sum, mine.heads != 0, 0);
    const state before = scan_team(s.of_finishers[team][in_turn], team, thread, of_stretch);
#if HAS_ONE_TILE
    const record prefix = sum_before(s, p, t, join(before, of_stretch));
#else
    s.ready[here.at].wait(here.parity);
    const record prefix = *(const record *)s.prefix[here.at];
#endif
    acc_t left = before.has_head() ? base : has_base ? combine(base, prefix.acc) : prefix.acc;
    left = combine(left, widen(before.acc));
    words_writer results(shift_of_results(p, t));
    packed.scan(s.tile[here.at], results, left, base, mine);
    results.words.end(s.tile[here.at], mine.stretch);
    if (p.total && mine.there && mine.first + mine.there == p.n)
        p.total->write(combine(mine.heads ? base : left, widen(sum)));
    hand_over(s, p, t, here, team, thread);
}
#endif
