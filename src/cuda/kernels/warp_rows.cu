/* Tiles of a warp, for reductions by segments that are long. A warp loads a tile of consecutive elements as a reduction
 * of a row does. Its lanes keep sums in registers until a group ends, and only then fold them. So elements pass through
 * no shared memory, and warps do not wait for each other. The tile and the groups' ends alone decide which elements are
 * folded in which order, so a result has the same bits every run. */
enum {
    LONG_LOADS = 4, /* vectors that a lane has under way */
    ROW = WARP * VECTOR,
    STEP = LONG_LOADS * ROW,
    MOST_VECTORS = 64 /* of a tile for each lane, as MOST_LONG of groups.c */
};

/* ---- the lanes of a warp ---- */

#if MOMENTS
/* All lanes take distances from the same shift, so their sums are added up without a division. The shift is the mean of
 * up to 32 elements: one that is far from the others then costs no more than two or three digits. */
struct warp_lanes {
    running<acc_t> sums;

    void begin(value_t sample, uint64) {
        double shift = (double)sample * (1.0 / WARP);
#pragma unroll
        for (int d = 1; d < WARP; d *= 2)
            shift += from_across(shift, d);
        sums = running<acc_t>();
        sums.shift = shift;
        sums.has_shift = true;
    }
    void make_room(int) {}
    void add_vector(const in_t *x, uint32) {
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            sums.add_from_shift(value_of(x[k]));
    }
    void add_some(const in_t *x, uint32, int from, int to) {
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            if (k >= from && k < to)
                sums.add_from_shift(value_of(x[k]));
    }
    /* The first lane has the result. */
    acc_t fold(uint64) {
#pragma unroll
        for (int d = 1; d < WARP; d *= 2)
            sums.add_from([=](auto value) { return from_across(value, d); });
        return sums.sum();
    }
};
#elif IS_ARGMIN || IS_ARGMAX
/* Indices count from the tile's beginning, so they take a register. */
typedef components<decltype(lane_t::a0), uint32> short_lane;

struct warp_lanes {
    enum { LANES = VECTOR < 4 ? VECTOR : 4 };
    running<short_lane> lane[LANES];

    void begin(value_t, uint64) {
#pragma unroll
        for (int k = 0; k < LANES; k++)
            lane[k] = running<short_lane>();
    }
    void make_room(int) {}
    void add_vector(const in_t *x, uint32 at) {
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            lane[k % LANES].append(value_of(x[k]), value_t(0), at + k);
    }
    void add_some(const in_t *x, uint32 at, int from, int to) {
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            if (k >= from && k < to)
                lane[k % LANES].append(value_of(x[k]), value_t(0), at + k);
    }
    acc_t fold(uint64 first) {
        short_lane best = lane[0].sum();
#pragma unroll
        for (int k = 1; k < LANES; k++)
            best = combine(best, lane[k].sum());
#pragma unroll
        for (int d = 1; d < WARP; d *= 2)
            best = combine(best, from_across(best, d));
        acc_t acc;
        acc.a0 = best.a0;
        acc.a1 = best.a1 == (uint32)NO_INDEX ? NO_INDEX : first + best.a1;
        return acc;
    }
};
#else
struct warp_lanes {
    lanes own;
    uint64 first; /* element of the tile */
    acc_t before;
    int vectors; /* that were added to 'own' */

    void begin(value_t, uint64 tile) {
        own = lanes();
        first = tile;
        before = identity_as<acc_t>();
        vectors = 0;
    }
    /* Before so many vectors are added. */
    void make_room(int more) {
        static_assert(lanes::LIMIT >= LONG_LOADS);
        if (lanes::LIMIT >= MOST_VECTORS)
            return;
        if (vectors + more > lanes::LIMIT) {
            before = combine(before, own.take());
            vectors = 0;
        }
        vectors += more;
    }
    void add_vector(const in_t *x, uint32 at) {
        ::add_vector(own, x, x, first + at);
    }
    void add_some(const in_t *x, uint32 at, int from, int to) {
        if (from >= to)
            return;
        make_room(1);
        in_t there[VECTOR];
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            there[k] = x[k];
#if IS_LOGSUMEXP /* the largest of those that are there */
        in_t any = x[0];
#pragma unroll
        for (int k = 1; k < VECTOR; k++)
            any = k == from ? x[k] : any;
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            there[k] = k >= from && k < to ? x[k] : any;
#endif
        own.prepare<VECTOR>(there);
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            if (k >= from && k < to)
                own.add(k, value_of(there[k]), value_t(0), first + at + k);
    }
    acc_t fold(uint64) {
        return fold_warp_in_order(combine(before, own.take()));
    }
};
#endif

/* ---- a tile ---- */

/* Ends: where groups end. 'at' is the next position in the tile where one does, or one behind the tile, and
 * end(p, tile) ends that group, and those that are empty after it. */
template <class Ends> struct warp_tile {
    uint64 first; /* element */
    uint32 count;
    bool is_aligned, is_inner; /* its neighbours may be read, too */
    Ends ends;
    warp_lanes sums;
    uint32 from; /* where the group begins that is being added up, in the tile */

    warp_tile(const groups_args &p, uint64 first, uint32 count) : first(first), count(count), from(0) {
        is_aligned = ((uint64)p.x & 15) == 0;
        is_inner = first && first + count < p.n;
    }
    void begin_group(const groups_args &p) {
#if MOMENTS
        const uint32 end = ends.at < count ? ends.at : count, mine = from + threadIdx.x % WARP;
        sums.begin(from < end ? value_of(load(p.x + first + (mine < end ? mine : end - 1))) : value_t(0), first);
#else
        sums.begin(value_t(0), first);
#endif
    }

    /* A row of vectors from 'row' on, of which this lane has one. */
    void add_row(const groups_args &p, const in_t *a, uint32 row) {
        const uint32 mine = row + threadIdx.x % WARP * VECTOR, end = row + ROW < count ? row + ROW : count;
        for (;;) {
            const uint32 to = ends.at < end ? ends.at : end;
            if (from <= row && to == row + ROW) {
                sums.make_room(1);
                sums.add_vector(a, mine);
            } else {
                sums.add_some(a, mine, from > mine ? (int)(from - mine) : 0,
                              to > mine ? to - mine < VECTOR ? (int)(to - mine) : VECTOR : 0);
            }
            if (ends.at >= end)
                return;
            ends.end(p, *this);
            begin_group(p);
        }
    }
    static void load_one(const in_t *from, uint32 there, bool is_aligned, bool may_straddle, in_t *to) {
        if (there >= VECTOR && is_aligned) {
            const uint4 bits = __ldcs((const uint4 *)from);
            memcpy(to, &bits, 16);
        } else if (may_straddle) {
            const uint4 bits = load_straddling(from);
            memcpy(to, &bits, 16);
        } else {
#pragma unroll
            for (int k = 0; k < VECTOR; k++)
                to[k] = load(from + ((uint32)k < there ? k : 0));
        }
    }
    void load_step(const in_t *x, uint32 step, in_t *to) const {
#pragma unroll
        for (int u = 0; u < LONG_LOADS; u++) {
            const uint32 mine = step + u * ROW + threadIdx.x % WARP * VECTOR;
            if (mine < count)
                load_one(x + first + mine, count - mine, is_aligned, is_inner, to + u * VECTOR);
        }
    }
    /* Adds the whole steps before 'end', which are of one group. Vectors begin in this word of memory's. Returns where
     * the steps end. */
    template <bool Aligned, int Word> uint32 add_steps(const in_t *x, uint32 step, uint32 end) {
        uint32 shift;
        const uint4 *at = word_before<uint4>(x + first + step + threadIdx.x % WARP * VECTOR, &shift);
#pragma unroll 1
        for (; step + STEP <= end; step += STEP, at += LONG_LOADS * WARP) {
            uint4 low[LONG_LOADS], high[LONG_LOADS];
            in_t a[LONG_LOADS * VECTOR];
#pragma unroll
            for (int u = 0; u < LONG_LOADS; u++) {
                low[u] = Aligned ? __ldcs(at + u * WARP) : at[u * WARP];
                if (!Aligned)
                    high[u] = at[u * WARP + 1];
            }
            sums.make_room(LONG_LOADS);
#pragma unroll
            for (int u = 0; u < LONG_LOADS; u++) {
                const uint4 bits = Aligned ? low[u] : straddling_from<Word>(low[u], high[u], shift);
                memcpy(a + u * VECTOR, &bits, 16);
            }
#pragma unroll
            for (int u = 0; u < LONG_LOADS; u++)
                sums.add_vector(a + u * VECTOR, step + u * ROW + threadIdx.x % WARP * VECTOR);
        }
        return step;
    }
    void add_step(const groups_args &p, in_t *a, uint32 step) {
#pragma unroll 1
        for (uint32 row = step; row < step + STEP && row < count; row += ROW) {
            add_row(p, a, row);
#pragma unroll
            for (int k = 0; k < STEP / WARP - VECTOR; k++)
                a[k] = a[k + VECTOR];
        }
    }
    /* Adds everything up, the first step of which is there. Returns the accumulator of the group that goes on behind
     * the tile, in the first lane. */
    acc_t fold(const groups_args &p, in_t *a) {
        begin_group(p);
        add_step(p, a, 0);
        for (uint32 step = STEP; step < count;) {
            const uint32 end = ends.at < count ? ends.at : count;
            if (step + STEP <= end && (is_aligned || is_inner)) {
                const uint32 word = (uint32)(uint64)p.x % 16 / 4;
                step = is_aligned  ? add_steps<true, 0>(p.x, step, end)
                       : word == 0 ? add_steps<false, 0>(p.x, step, end)
                       : word == 1 ? add_steps<false, 1>(p.x, step, end)
                       : word == 2 ? add_steps<false, 2>(p.x, step, end)
                                   : add_steps<false, 3>(p.x, step, end);
            } else {
                load_step(p.x, step, a);
                add_step(p, a, step);
                step += STEP;
            }
        }
        if (ends.at == count)
            ends.end(p, *this);
        return from < count ? sums.fold(first) : identity_as<acc_t>();
    }
};
