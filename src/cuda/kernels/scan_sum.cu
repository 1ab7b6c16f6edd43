/* A scan's summers, which add up each tile since its last head, and its messenger, which collects the sum before each
 * tile. */

/* ---- summers ---- */

inline int summing_team() {
    return SUMMING_TEAMS == 1 ? 0 : (int)(threadIdx.x - FIRST_SUMMER) / SUMMERS;
}
/* Its number in the team. */
inline int summing_thread() {
    return (int)(threadIdx.x - FIRST_SUMMER) - summing_team() * SUMMERS;
}

#if GROUPS == KEYS || GROUPS == SEGMENTS || SUMMERS_TELL
/* Gives all lanes the greatest value of the warp's lanes. */
inline int greatest_of_warp(int x) {
#if TALLY_ARCHITECTURE >= 80
    return __reduce_max_sync(ALL_LANES, x);
#else
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        int other = __shfl_xor_sync(ALL_LANES, x, d);
        x = other > x ? other : x;
    }
    return x;
#endif
}
#endif
#if SUMMERS_TELL
/* Each warp of summers tells the finishers what it has seen of a tile, so that they need not look at all elements. */
inline void tell_seen(scratch &s, const place &here, const seen_elements &seen) {
    const bool do_fit = __all_sync(ALL_LANES, seen.levels != 0), fit_one = __all_sync(ALL_LANES, seen.levels == 1);
    const float largest = __int_as_float(greatest_of_warp(__float_as_int(seen.largest)));
    if (threadIdx.x % WARP == 0) {
        s.seen[here.at][summing_thread() / WARP] = {fit_one ? 1 : do_fit ? 2 : 0, largest};
        s.is_seen[here.at].arrive();
    }
}
#endif
#if GROUPS == KEYS || GROUPS == SEGMENTS
/* Likewise all summers, by a place for each warp's. */
inline int greatest_of_summers(int *of_warps, int x) {
    x = greatest_of_warp(x);
    if (threadIdx.x % WARP == 0)
        of_warps[summing_thread() / WARP] = x;
    sync_some<SUMMERS>(OF_SUMMERS + summing_team());
#pragma unroll
    for (int w = 0; w < SUMMERS / WARP; w++)
        x = x > of_warps[w] ? x : of_warps[w];
    return x;
}
#endif

/* The last head of a tile in logical order, by its element; -1 if there is none. All summers get it. */
inline int last_head(scratch &s, const scan_args &p, const tile &t, const place &here, int in_turn) {
#if GROUPS == ROWS
    uint64 last = t.first + t.count - 1, column = remainder(last, p.extent);
    return column >= t.count ? -1 : (int)(REVERSE ? column : t.count - 1 - column);
#elif GROUPS == KEYS
    constexpr int a_vector = 16 / sizeof(index_t);
    const int thread = summing_thread(), shift = shift_of(p.keys + t.low);
    const index_t *keys = keys_of(s, p, t, here.at);
    const auto logical = [&](int e) { return REVERSE ? t.count - 1 - e : e; };
    int found = -1; /* in logical order */
    bool is_known = false;
    if (shift % sizeof(index_t) == 0) {
        /* Vectors from the end, as many as there are threads; all others only if runs are that long. */
        const int skew = shift / (int)sizeof(index_t), vectors = (skew + t.count + a_vector - 1) / a_vector;
        const auto look_at = [&](int from_end) {
            const int v = REVERSE ? from_end : vectors - 1 - from_end, first = v * a_vector - skew;
            index_t few[a_vector], previous = keys[REVERSE ? first + a_vector : first - 1];
            const uint4 bits = ((const uint4 *)(s.keys[here.at] + KEYS_FROM))[v];
            memcpy(few, &bits, 16);
#pragma unroll
            for (int k = 0; k < a_vector; k++) {
                const int in_vector = REVERSE ? a_vector - 1 - k : k, e = first + in_vector;
                if (few[in_vector] != previous && (uint32)e < (uint32)t.count)
                    found = found > logical(e) ? found : logical(e);
                previous = few[in_vector];
            }
        };
        if (thread < vectors)
            look_at(thread);
        found = greatest_of_summers(s.head_of_summers[in_turn][0], found);
        is_known = found >= 0;
        if (!is_known) {
#pragma unroll 4
            for (int v = thread + SUMMERS; v < vectors; v += SUMMERS)
                look_at(v);
        }
    } else {
#pragma unroll 1
        for (int e = thread; e < t.count; e += SUMMERS)
            if (load(keys + e) != load(keys + (REVERSE ? e + 1 : e - 1)))
                found = found > logical(e) ? found : logical(e);
    }
    if (!is_known)
        found = greatest_of_summers(s.head_of_summers[in_turn][1], found);
    if (found < 0 && t.first == 0)
        found = 0;
    return found < 0 ? -1 : logical(found);
#elif GROUPS == SEGMENTS
    int found = -1; /* in logical order; each warp finds it */
    for (int w = threadIdx.x % WARP; w * WARP < t.count; w += WARP) {
        const uint32 bits = s.heads[here.at][w];
        const int logical = REVERSE ? t.count - w * WARP - __ffs(bits) : w * WARP + 31 - __clz(bits);
        found = bits && logical > found ? logical : found;
    }
    found = greatest_of_warp(found);
    return found < 0 ? -1 : REVERSE ? t.count - 1 - found : found;
#else
    return -1;
#endif
}

#if defined(OF_COLUMNS)
#define SUMS_WORDS 0
#else
#define SUMS_WORDS BY_WORDS
#endif
#if SUMS_WORDS || INTEGER_TERMS
/* The same by words, of elements that lie whole in them; 'shift' is the first one's distance from the memory. */
template <class Sum> inline Sum sum_words(const uint8 *memory, int shift, int thread, int from, int to) {
    constexpr int size = sizeof(in_t);
    const int begin = from * size + shift, end = to * size + shift;
    const auto bytes_from = [](int from) { return from <= 0 ? ~0u : from >= 4 ? 0 : ~0u << from * 8; };
    const int first = (begin + 15) / 16, past = end / 16; /* of the whole vectors */
    const uint4 *vectors = (const uint4 *)memory;
    Sum sum;
#pragma unroll 5
    for (int v = first + thread; v < past; v += SUMMERS) {
        const uint4 bits = vectors[v];
        sum.add_vector({bits.x, bits.y, bits.z, bits.w});
    }
    /* and of the parts of a vector at both ends, which may be one */
    const auto add_part = [&](int v) {
        const uint4 bits = vectors[v];
        uint32 word[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (int w = 0; w < 4; w++) {
            const int at = v * 16 + w * 4;
            const uint32 inside = bytes_from(begin - at) & ~bytes_from(end - at);
            word[w] = (word[w] & inside) | (Sum::OUTSIDE & ~inside);
        }
        sum.add_vector(word);
    };
    if (begin % 16 && thread == 0)
        add_part(begin / 16);
    if (end % 16 && first <= past && thread == SUMMERS - 1)
        add_part(past);
    return sum;
}
#endif

#if INTEGER_TERMS
struct words_of_integers : integer_sums {
    enum : uint32 { OUTSIDE = 0 };

    void add_vector(const uint32 (&word)[4]) {
#pragma unroll
        for (int w = 0; w < 4; w++)
            add_word<in_t>(word[w]);
    }
};
/* The summers' sum, which the first of them gets. */
inline acc_t sum_integers(scratch &s, const uint8 *memory, int shift, int in_turn, int from, int to) {
    const int thread = summing_thread();
    words_of_integers sum;
    if (shift % sizeof(in_t) == 0)
        sum = sum_words<words_of_integers>(memory, shift, thread, from, to);
    else
#pragma unroll 1
        for (int e = from + thread; e < to; e += SUMMERS)
            sum.add_element(value_of(load((const in_t *)(memory + shift) + e)));
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        sum.add(from_across(sum, d));
    words_of_integers *of_warp = (words_of_integers *)s.of_summers[summing_team()][in_turn];
    if (thread % WARP == 0)
        of_warp[thread / WARP] = sum;
    sync_some<SUMMERS>(OF_SUMMERS + summing_team());
    if (thread != 0)
        return identity_as<acc_t>();
#pragma unroll
    for (int w = 1; w < SUMMERS / WARP; w++)
        sum.add(of_warp[w]);
    return sum.moments<acc_t>((uint32)(to - from));
}
#endif

/* Adds up this thread's share of elements [from, to) of a tile: consecutive ones in logical order if the operator does
 * not commute, else those that are fastest to read. */
inline lane_t sum_share(const scan_args &p, const tile &t, const uint8 *memory, const uint8 *second, int from, int to) {
    int thread = summing_thread();
    running<lane_t> sum;
    /* All of them are in one row; remainders of each would take longer than all else. */
    const uint64 of_first = GROUPS != ROWS ? 0
                            : REVERSE      ? (to < t.count ? (uint64)(to - t.count) : remainder(t.first, p.extent))
                                           : (from > 0 ? (uint64)0 - from : remainder(t.first, p.extent));
    const auto column_of = [&](int e) { return of_first + (REVERSE ? t.count - 1 - e : e) + p.before; };
    auto add = [&](int e, in_t x, in_t y) {
        sum.add_next(value_of(x), HAS_SECOND ? value_of(y) : value_t(0), index_of(p, t.low + e, column_of(e)));
    };
#if SUMS_WORDS
    if (shift_of(p.x + t.low) % sizeof(in_t) == 0)
        return sum_words<words_sum>(memory, shift_of(p.x + t.low), thread, from, to).get();
#endif
#if COMMUTES
    constexpr int a_vector = 16 / sizeof(in_t), vectors = TILE / a_vector;
    /* where they are not aligned, a vector is made of two */
    const uint32 shift = shift_of(p.x + t.low), shift_of_second = HAS_SECOND ? shift_of(p.y + t.low) : 0;
    const bool are_aligned = (shift | shift_of_second) == 0;
    auto vector_at = [&](const uint8 *memory, uint32 shift, int v, bool is_aligned) {
        const uint4 bits = ((const uint4 *)memory)[v];
        return is_aligned ? bits : straddling(bits, ((const uint4 *)memory)[v + 1], shift);
    };
    /* Vectors at a time. With more than some 16 exponentials of doubles the code is longer than the caches for it. Exact
     * sums take less time to compile with two; with ten of narrow elements' places registers spill. */
    constexpr int AT_A_TIME = IS_LOGSUMEXP                  ? larger_of(1, 16 / a_vector)
                              : IS_EXACT                    ? 2
                              : IS_INDEXED && a_vector > 4 ? 5
                                                           : 10;
    /* Calls use(e, k, x, y) for each of this thread's elements, k being its place in a vector. */
    auto each = [&](auto use) {
        auto use_vector = [&](int v, bool is_aligned, bool all) {
            in_t few[a_vector], partners[a_vector] = {};
            const uint4 bits = vector_at(memory, shift, v, is_aligned);
            memcpy(few, &bits, 16);
            if (HAS_SECOND) {
                const uint4 second_bits = vector_at(second, shift_of_second, v, is_aligned);
                memcpy(partners, &second_bits, 16);
            }
#pragma unroll
            for (int k = 0; k < a_vector; k++) {
                const int e = v * a_vector + k;
                if (all || (e >= from && e < to))
                    use(e, k, few[k], partners[k]);
            }
        };
        if (from == 0 && to == TILE && are_aligned) { /* without a branch a vector, so that they overlap */
#pragma unroll AT_A_TIME
            for (int v = thread; v < vectors; v += SUMMERS)
                use_vector(v, true, true);
        } else if (from == 0 && to == TILE) {
#pragma unroll (AT_A_TIME + 1) / 2
            for (int v = thread; v < vectors; v += SUMMERS)
                use_vector(v, false, true);
        } else {
#pragma unroll 1
            for (int v = from / a_vector + thread; v * a_vector < to; v += SUMMERS)
                use_vector(v, are_aligned, false);
        }
    };
#if IS_LOGSUMEXP /* by the largest, which is found first, no exponential waits for another */
    typedef decltype(lane_t::a0) real;
    value_t most[a_vector];
    real exps[a_vector];
#pragma unroll
    for (int k = 0; k < a_vector; k++) {
        most[k] = range<value_t>::lowest();
        exps[k] = 0;
    }
    each([&](int, int k, in_t x, in_t) { most[k] = larger(most[k], value_of(x)); });
#pragma unroll
    for (int k = 1; k < a_vector; k++)
        most[0] = larger(most[0], most[k]);
    lane_t total = {(real)most[0], 0};
    if (total.a0 >= -GREATEST_FINITE<real> && total.a0 <= GREATEST_FINITE<real>) {
        each([&](int, int k, in_t x, in_t) { exps[k] += exp_below((real)value_of(x) - total.a0); });
#pragma unroll
        for (int k = 0; k < a_vector; k++)
            total.a1 += exps[k];
    } else {
        total.a1 = total.a0 == total.a0 ? 1 : total.a0; /* infinite, or NaN */
    }
    return total;
#endif
#if IS_INDEXED /* The first of equals has the lowest index of all; it is made of a position in the tile, with 32 bits. \
                */
    constexpr uint32 NOWHERE = 1u << 31;
    const int of_thread = thread * a_vector;
    typedef decltype(lane_t::a0) wide; /* as wide as a register */
    wide best = identity_as<lane_t>().a0;
    uint32 where = NOWHERE;
    each([&](int e, int, in_t x, in_t) {
        const wide value = value_of(x);
        const bool is_better = (IS_ARGMIN ? value < best : value > best) ||
                               (NAN_IS_IDENTITY ? is_nan(best) && !is_nan(value) : is_nan(value) && !is_nan(best));
        best = is_better ? value : best;
        where = is_better ? e - of_thread : where; /* a constant, where the loop is unrolled */
    });
    const int first = from / a_vector * a_vector + of_thread; /* if none is better than the least of all */
    lane_t found = identity_as<lane_t>();
    if (where != NOWHERE || first < to) {
        const int e = where != NOWHERE ? (int)where + of_thread : first < from ? from : first;
        found = {best, index_of(p, t.low + e, column_of(e))};
    }
    return found;
#endif
    if (SMALL) {
        each([&](int e, int, in_t x, in_t y) { add(e, x, y); });
        return sum.sum();
    }
#endif
    const in_t *elements = (const in_t *)(memory + shift_of(p.x + t.low));
    const in_t *partners = HAS_SECOND ? (const in_t *)(second + shift_of(p.y + t.low)) : elements;
    int share = (to - from + SUMMERS - 1) / SUMMERS;
#pragma unroll 1
    for (int k = 0; k < share; k++) {
        int e = COMMUTES ? k * SUMMERS + thread : thread * share + k; /* in logical order */
        const int at = REVERSE ? to - 1 - e : from + e;
        if (e < to - from)
            add(at, load(elements + at), HAS_SECOND ? load(partners + at) : in_t());
    }
    return sum.sum();
}

#if IN_WINDOW
/* A warp's sum of numbers below 2^51. */
inline int64 sum_of_lanes(int64 x) {
#if TALLY_ARCHITECTURE >= 80
    enum { LOWER = 26 };
    const uint32 low = __reduce_add_sync(ALL_LANES, (uint32)x & (1u << LOWER) - 1);
    return ((int64)(int32)__reduce_add_sync(ALL_LANES, (uint32)(x >> LOWER)) << LOWER) + low;
#else
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        x += from_across(x, d);
    return x;
#endif
}

/* A warp of summers adds up its share of elements [from, to) of a tile; the first lane gets the sum. Where all lanes have
 * one level, they add up its integers: words would take five rounds of shuffles, for which a tile's prefix waits. */
inline acc_t sum_of_warp(scratch &s, const scan_args &p, const tile &t, const place &here, int thread, int from, int to) {
    const uint8 *memory = s.tile[here.at];
    const uint32 shift = shift_of(p.x + t.low);
    seen_elements seen = {0, 0};
    acc_t sum;
    const auto tell = [&] {
#if SUMMERS_TELL
        tell_seen(s, here, seen);
#endif
    };
    if (LEAST_LEVELS == 1 && the_window.levels == 1) {
        few_elements<1> few;
        seen = sum_few_in<1>(memory, shift, thread, from, to, few);
        const int64 units = few.units();
        if (__all_sync(ALL_LANES, seen.levels)) {
            tell();
            return few.words(sum_of_lanes(units));
        }
        sum = few.words(units);
    }
    if (!TAKES_F16 && !seen.levels) {
        few_elements<2> few;
        seen = sum_few_in<2>(memory, shift, thread, from, to, few);
        sum = few.words(few.units());
    }
    tell();
    if (!seen.levels)
        sum = sum_share(p, t, memory, nullptr, from, to);
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
        sum = combine(sum, from_above(sum, d));
    return sum;
}
#endif

/* The number of summers that signal that a tile may be overwritten. One can signal for all, behind their barrier. If
 * elements are not aligned, which costs more than that anyway, each signals for its own reads, because
 * compute-sanitizer's racecheck reports races there that the memory model does not have. */
inline int arriving_summers(const scan_args &p) {
    return shift_of(p.x) == 0 ? 1 : SUMMERS;
}

inline void sum_tiles(scratch &s, const scan_args &p, uint64 turns) {
    const int team = summing_team(), thread = summing_thread();
    [[maybe_unused]] const int lane = thread % WARP; /* tiles of terms do without */
    int in_turn = 0;
    uint32 wave = team;
    place here = {0, 0};
    here.advance(team);
#if CLEARS_ITSELF
    if (p.entries && thread < WARP) {
        const uint64 waves = (p.tiles + gridDim.x - 1) / gridDim.x;
        clear_entries(p.entries, waves < WAVES ? waves : (uint64)WAVES);
    }
#endif
    for (uint64 turn = team; turn < turns; turn += SUMMING_TEAMS, here.advance(SUMMING_TEAMS), in_turn ^= 1) {
        tile t = tile_at(p, turn);
        s.full[here.at].wait(here.parity);
        if (!HAS_TERMS && GROUPS == ROWS && !p.entries) { /* nobody needs the sum */
            if (thread < arriving_summers(p))
                s.ready[here.at].arrive();
            continue;
        }
        int head = last_head(s, p, t, here, in_turn);
        int from = !REVERSE && head >= 0 ? head : 0, to = REVERSE && head >= 0 ? head + 1 : t.count;
#if INTEGER_TERMS
        const acc_t sum = sum_integers(s, s.tile[here.at], shift_of(p.x + t.low), in_turn, from, to);
#else
#if IN_WINDOW
        lane_t sum = sum_of_warp(s, p, t, here, thread, from, to);
#else
        lane_t sum = sum_share(p, t, s.tile[here.at], second_of(s, here.at), from, to);
#endif
        lane_t *of_warp = (lane_t *)s.of_summers[summing_team()][in_turn];
#if HAS_TERMS
        sum = fold_warp(sum);
#elif !IN_WINDOW
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) /* in order: the lanes above have what comes after */
            sum = combine(sum, by_words(sum, [=](uint32 w) { return __shfl_down_sync(ALL_LANES, w, d); }));
#endif
        if (lane == 0)
            of_warp[thread / WARP] = sum;
        sync_some<SUMMERS>(OF_SUMMERS + summing_team());
#if HAS_TERMS
        if (thread < WARP)
            sum = fold_warp(lane < SUMMERS / WARP ? of_warp[lane] : identity_as<lane_t>());
#endif
#endif
        if (thread == 0) {
#if IS_LOGSUMEXP
            memcpy(s.largest[here.at], &sum.a0, sizeof sum.a0);
#elif !HAS_TERMS
            sum = of_warp[0];
#pragma unroll
            for (int w = 1; w < SUMMERS / WARP; w++)
                sum = combine(sum, of_warp[w]);
#endif
#if FILLS_TILES
            *(lane_t *)s.best[here.at] = sum;
#endif
            uint64 start = REVERSE ? p.n - 1 - t.low - head : t.low + head;
            if (p.tiles > 1 && p.entries)
                publish(p.entries + (uint64)wave * gridDim.x + blockIdx.x, record::of(widen(sum), head >= 0, start),
                        (uint32)turn + 1);
        }
        if (thread < arriving_summers(p))
            s.ready[here.at].arrive();
        wave = wave + SUMMING_TEAMS >= WAVES ? wave + SUMMING_TEAMS - WAVES : wave + SUMMING_TEAMS;
    }
}

/* ---- messenger ---- */

inline void carry_messages(scratch &s, const scan_args &p, uint64 turns) {
    place here = {0, 0};
    const uint32 messenger = (threadIdx.x - MESSENGER) / WARP;
    here.advance((int)messenger);
    const auto tell = [&](uint64, const record &before) {
        if (threadIdx.x % WARP == 0) {
            s.empty[here.at].wait(here.parity ^ 1); /* the tile that was there has been finished */
            *(record *)s.prefix[here.at] = before;
            s.ready[here.at].arrive();
        }
        here.advance(MESSENGERS);
    };
    if (GROUPS == ROWS && !p.entries) { /* tiles are whole rows */
        for (uint64 turn = messenger; turn < turns; turn += MESSENGERS)
            tell(turn, record::nothing());
        return;
    }
#if CLEARS_ITSELF
    if (p.entries)
        await_clearing(p.entries);
#endif
#if HAS_BATONS
    add_up_waves<WAVES, MESSENGERS>(p.entries, turns, messenger, s.batons, tell);
#else
    add_up_waves<WAVES>(p.entries, turns, tell);
#endif
#if CLEARS_ITSELF
    if (p.entries && marks_of(p.entries)->leaves_last(gridDim.x * MESSENGERS))
        marks_of(p.entries)->wipe_all(gridDim.x);
#endif
}
