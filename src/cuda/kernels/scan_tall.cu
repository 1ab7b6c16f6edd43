/* Scans down the columns of a few tall slabs, outer x extent x inner, in one pass. A tile is some rows of a panel,
 * which is neighbouring columns of a slab. A block has one tile in shared memory, and each of its threads a strand:
 * some rows of a column, or of TALL_WIDTH of them. Several blocks share a processor: while one waits for memory or for
 * what comes before its tile, others compute.
 *
 * A block publishes its tile's sums of columns at once. The last one of a group of tiles also tells what its group adds
 * up to, and the last one of a chain of groups what all tiles up to it do. So a block adds up that of the chain before
 * its own, the groups since then and the tiles since then, in their order, and a result has the same bits every run.
 * Only chains wait for each other. Tiles are numbered across the panels, so those under way at a time are of many.
 *
 * A block waits for blocks with lower numbers only, which have begun before it: see look_back.cu. */

enum {
    TALL_ENTRIES = ENTRY_BYTES <= 16 ? 4 : 2, /* that a thread reads at a time */
    TALL_SPOTS = TALL_BLOCK * TALL_WIDTH,
    FEW_STRANDS = 8 /* whose sums a thread adds up one after the other */
};
static_assert(TALL_ITEMS <= LANE_LIMIT);

/* What a thread adds its elements up in. */
template <bool Moments> struct strand_sum {
    typedef running<lane_t> type;
    typedef running<acc_t, lane_t> carried;
};
template <> struct strand_sum<true> { typedef running<acc_t> type, carried; };

/* A block's tile, and a thread's place in it. */
struct tall_place {
    uint32 tile;   /* from the top of its panel, in logical order */
    uint64 column; /* the thread's first, of outer x inner */
    uint64 first;  /* the strand's first row, logical */
    uint64 from;   /* the element of the panel's first column in the tile's physically lowest row */
    uint64 at;     /* the thread's first element in the strand's first row */
    uint32 strand, lane;
    int rows, columns; /* of the tile */
    int row, there;    /* the strand's first row among the tile's physical ones, and its rows */
    bool works;

    static tall_place of(const tall_args &p, int width) {
        const uint32 number = ordinal_of_block(), panels = (uint32)(p.outer * p.panels);
        tall_place t;
        t.tile = number / panels;
        const uint32 panel = number - t.tile * panels, slab = p.outer == 1 ? 0 : panel / (uint32)p.panels;
        t.strand = threadIdx.x / p.across;
        t.lane = threadIdx.x - t.strand * p.across;
        const uint64 left_of_panel = (uint64)(panel - slab * p.panels) * p.across * width;
        const uint64 within = left_of_panel + t.lane * width, top = (uint64)t.tile * p.strands * p.rows;
        const uint64 columns = p.inner - left_of_panel, rows = p.extent - top;
        t.columns = columns < p.across * width ? (int)columns : (int)(p.across * width);
        t.rows = rows < p.strands * p.rows ? (int)rows : (int)(p.strands * p.rows);
        t.works = t.strand < p.strands && within < p.inner;
        t.column = slab * p.inner + within;
        const int skipped = t.strand * p.rows, left = t.works ? t.rows - skipped : 0;
        t.there = left < 0 ? 0 : left < (int)p.rows ? left : (int)p.rows;
        t.first = top + skipped;
        t.row = REVERSE ? t.rows - 1 - skipped : skipped;
        t.from = (slab * p.extent + (REVERSE ? p.extent - top - t.rows : top)) * p.inner + left_of_panel;
        t.at = t.from + (int64)t.row * (int64)p.inner + t.lane * width;
        return t;
    }
};

/* ---- elements in shared memory ---- */

/* Rows lie a pitch apart, each as far behind a multiple of 16 bytes as in memory, so that vectors are copied as they
 * are. Elements that memory has at odd addresses are aligned here. */
inline uint32 mask_of(const in_t *x) {
    return ((uint64)x & (sizeof(in_t) - 1)) == 0 ? 15 : 0;
}

/* Where tiles are whole narrow rows, these lie there as they do in memory, like one row. */
inline bool is_one_row(const tall_args &p) {
    return p.pitch == p.inner * sizeof(in_t);
}

/* Brings what an array from 'begin' to 'end' has of a vector. */
__noinline__ void fetch_part(uint8 *to, uint64 vector, uint64 begin, uint64 end) {
#pragma unroll 1
    for (int b = 0; b < 16; b += sizeof(in_t))
        if (vector + b >= begin && vector + b < end)
            *(in_t *)(to + b) = *(const in_t *)(vector + b);
}

/* Starts to bring a tile's rows. */
inline void fetch_tile(const tall_args &p, const tall_place &t, const in_t *x, uint8 *to) {
    const uint64 row_bytes = p.inner * sizeof(in_t), begin = (uint64)x;
    const uint64 end = (uint64)(x + p.outer * p.extent * p.inner);
    if (!mask_of(x)) {
#pragma unroll 1
        for (int e = threadIdx.x; e < t.rows * t.columns; e += TALL_BLOCK) {
            const int row = e / t.columns, column = e - row * t.columns;
            ((in_t *)(to + row * p.pitch))[column] = load(x + t.from + row * p.inner + column);
        }
        return;
    }
    const uint64 lowest = (uint64)(x + t.from);
    const int bytes = (is_one_row(p) ? t.rows : 1) * t.columns * (int)sizeof(in_t);
    /* of each row, wherever it begins; it may need one less */
    const int vectors = (bytes + (row_bytes % 16 ? 15 : (int)(lowest & 15)) + 15) / 16;
    const uint64 highest = lowest + (is_one_row(p) ? 0 : t.rows - 1) * row_bytes + bytes + 16;
    auto for_vectors = [&](auto copy) {
        if (is_one_row(p)) {
            const uint64 first = lowest & ~15ull;
            const int past = (int)(lowest & 15) + bytes;
            for (int at = threadIdx.x * 16; at < past; at += TALL_BLOCK * 16)
                copy(to + at, first + at);
            return;
        }
        const int at_once = TALL_BLOCK / vectors, first = threadIdx.x / vectors,
                  at = (threadIdx.x - first * vectors) * 16;
        const uint64 step = at_once * row_bytes;
        uint64 from = lowest + first * row_bytes + at; /* as far from the vector as the row's begin from its own */
        uint8 *there = to + first * p.pitch + at;
        const int whole = t.rows / at_once, count = whole + (first < t.rows - whole * at_once);
#pragma unroll 4
        for (int k = first < at_once ? count : 0; k; k--) {
            copy(there, from & ~15ull);
            from += step;
            there += at_once * p.pitch;
        }
    };
    if ((lowest & ~15ull) >= begin && ((highest + 15) & ~15ull) <= end)
        for_vectors([&](uint8 *to, uint64 vector) { copy_vector<16>(to, (const void *)vector); });
    else /* some vectors are partly outside of the array */
        for_vectors([&](uint8 *to, uint64 vector) { fetch_part(to, vector, begin, end); });
}

/* A tile's results on their way through shared memory, one after the other. */
struct tall_results {
    uint8 *first; /* of the physically lowest row */

    static tall_results of(const tall_args &p, const tall_place &t, uint8 *x) {
        if (!p.results)
            return {x + ((uint32)(uint64)(p.x + t.from) & mask_of(p.x))};
        const uint32 to = (uint32)(uint64)(p.out + t.from); /* as far behind a vector there as here */
        return {x + p.results + (to % sizeof(result_t) ? 0 : to & 15)};
    }
    /* Writes whole vectors of memory, and the bytes at the tile's ends. */
    void send(const tall_args &p, const tall_place &t) const {
        uint8 *const to = (uint8 *)(p.out + t.from);
        const int bytes = t.rows * t.columns * (int)sizeof(result_t), head = (int)(0 - (uint64)to & 15);
        const int whole = bytes < head ? 0 : (bytes - head) / 16 * 16, end = bytes < head ? bytes : head + whole;
        const uint8 *const source = first + head;
        const uint32 apart = (uint32)(uint64)source & 15;
        if (apart == 0)
#pragma unroll 4
            for (int at = threadIdx.x * 16; at < whole; at += TALL_BLOCK * 16)
                __stcs((uint4 *)(to + head + at), *(const uint4 *)(source + at));
        else
#pragma unroll 1
            for (int at = threadIdx.x * 16; at < whole; at += TALL_BLOCK * 16)
                __stcs((uint4 *)(to + head + at), load_straddling(source + at));
        const int edge = threadIdx.x < 16 ? threadIdx.x : end + threadIdx.x - 16;
        if (threadIdx.x < 16 ? edge < head && edge < bytes : edge < bytes)
            to[edge] = first[edge];
    }
};

/* What a thread does with the rows of its strand, one after the other. */
template <int Width> struct tall_strand {
    typedef few<in_t, Width> row_t;
    enum { AT_ONCE = 4 };
    const tall_args &p;
    const tall_place &t;
    const uint8 *x, *y; /* of the tile */

    template <class Sum> void add_to(Sum &sum, int k, in_t x, in_t y) const {
        const uint64 row = t.first + (uint32)k;
        sum.add_next(value_of(x), HAS_SECOND ? value_of(y) : value_t(0),
                     p.before + (REVERSE ? p.extent - 1 - row : row));
    }
    /* Where a thread's elements of its next rows are. How far behind a vector a row begins is the same some rows on, of
     * which so many are KNOWN before. */
    enum { KNOWN = sizeof(in_t) >= 4 ? 16 / sizeof(in_t) : 1 };
    static_assert(AT_ONCE % KNOWN == 0);
    struct cursor {
        const uint8 *at;
        uint32 low, mask;
        int pitch, step; /* bytes from a row to the next, here and in memory as far as it matters */
        uint32 apart[KNOWN];

        static cursor of(const tall_args &p, const tall_place &t, const in_t *array, const uint8 *tile) {
            cursor c;
            const uint32 mask = mask_of(array), base = (uint32)(uint64)(array + t.from) & mask;
            c.mask = is_one_row(p) ? 0 : mask;
            c.pitch = REVERSE ? -(int)p.pitch : (int)p.pitch;
            c.step = REVERSE ? -(int)(p.inner * sizeof(in_t)) : (int)(p.inner * sizeof(in_t));
            c.at = tile + (is_one_row(p) ? base : 0) + t.row * (int)p.pitch + t.lane * sizeof(row_t);
            c.low = (uint32)(uint64)(array + t.from) + t.row * (uint32)(p.inner * sizeof(in_t));
#pragma unroll
            for (int k = 0; k < KNOWN; k++)
                c.apart[k] = c.low + k * c.step & c.mask;
            return c;
        }
        /* Row 'number' of those that are loaded together. */
        row_t next(int number) {
            const in_t *from = (const in_t *)(at + (KNOWN > 1 ? apart[number % KNOWN] : low & mask));
            row_t row;
            if constexpr (Width > 1)
                row = load_few_straddling<Width>(from);
            else
                row.element[0] = *from;
            at += pitch;
            if (KNOWN == 1)
                low += step;
            return row;
        }
        row_t next_alone() {
            const row_t row = next(0);
            if (KNOWN > 1) {
                low += step;
                apart[0] = low & mask;
            }
            return row;
        }
    };
    /* Calls use(k, settles, x, y) with the rows. */
    template <bool AreUnrolled = true, class Use> void for_rows(Use use) const {
        cursor of_x = cursor::of(p, t, p.x, x), of_y = of_x;
        if (HAS_SECOND)
            of_y = cursor::of(p, t, p.y, y);
        int k = 0;
#pragma unroll 1
        for (; AreUnrolled && k + AT_ONCE <= t.there; k += AT_ONCE) {
            row_t a[AT_ONCE], b[HAS_SECOND ? AT_ONCE : 1];
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++) {
                a[u] = of_x.next(u);
                if (HAS_SECOND)
                    b[HAS_SECOND ? u : 0] = of_y.next(u);
            }
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++)
                use(k + u, u == AT_ONCE - 1 && k & AT_ONCE, a[u], b[HAS_SECOND ? u : 0]);
        }
#pragma unroll 1
        for (; k < t.there; k++) {
            const row_t a = of_x.next_alone(), b = HAS_SECOND ? of_y.next_alone() : a;
            use(k, !AreUnrolled && k & AT_ONCE, a, b);
        }
    }
    template <class Sum> void begin(Sum (&sum)[Width]) const { /* tells the first element, if that spares tests */
        if (MOMENTS && t.there) {
            const row_t row = cursor::of(p, t, p.x, x).next(0);
#pragma unroll
            for (int j = 0; j < Width; j++)
                sum[j].begin(value_of(row.element[j]));
        }
    }
    template <class Sum>
    few<result_t, Width> result_of(Sum (&run)[Width], int k, bool settles, const row_t &x, const row_t &y) const {
        few<result_t, Width> results;
        const uint64 count = p.before + t.first + k;
#pragma unroll
        for (int j = 0; j < Width; j++) {
            if (!INCLUSIVE)
                results.element[j] = run[j].result(count);
            add_to(run[j], k, x.element[j], y.element[j]);
            if (INCLUSIVE)
                results.element[j] = run[j].result(count + 1);
            if (settles)
                run[j].settle();
        }
        return results;
    }
};

/* Panels end within sectors, of which the next panel's block writes the rest: until then they should stay in the cache.
 */
template <class T> inline void store_part(T *to, T value) {
    typename word_of<sizeof(T)>::type bits;
    memcpy(&bits, &value, sizeof(T));
    *(typename word_of<sizeof(T)>::type *)to = bits;
}

/* By a call, since code should be short. */
template <int Width> __noinline__ void store_slowly(result_t *to, few<result_t, Width> results) {
#pragma unroll
    for (int j = 0; j < Width; j++)
        store(to + j, results.element[j]);
}

/* ---- look-back ---- */

/* Sums of a block in shared memory: rows of strands, each with the first columns of all threads, then the second. */
template <int Width> struct tall_sums {
    acc_t *of;

    acc_t &at(int k, uint32 strand, uint32 lane, const tall_args &p) const {
        return of[(strand * Width + k) * p.across + lane];
    }
};

template <int Width>
inline void publish_sums(const tall_args &p, const tall_place &t, entry *entries, uint64 number,
                         const acc_t (&sum)[Width]) {
#pragma unroll
    for (int k = 0; k < Width; k++)
        publish(entries + number * (p.outer * p.inner) + t.column + k, record::of(sum[k], false, 0), 1);
}

/* Makes 'before' the sums of a column's strands before this one. The last strand's threads get the tile's in 'all'. */
template <int Width>
inline void add_up_strands(const tall_args &p, const tall_place &t, const tall_sums<Width> &sums,
                           const tall_sums<Width> &totals, const acc_t (&mine)[Width], acc_t (&before)[Width],
                           acc_t (&all)[Width]) {
    if (t.works)
#pragma unroll
        for (int k = 0; k < Width; k++)
            sums.at(k, t.strand, t.lane, p) = mine[k];
#pragma unroll
    for (int k = 0; k < Width; k++)
        before[k] = all[k] = identity_as<acc_t>();
    __syncthreads();
    if (p.strands > FEW_STRANDS) {
        const int columns = p.across * Width;
        int lanes = WARP;
        while (lanes * columns > TALL_BLOCK)
            lanes /= 2;
        scan_spots(sums.of, columns, p.strands, lanes, threadIdx.x, &totals.at(0, p.strands - 1, 0, p));
        __syncthreads();
        if (t.works)
#pragma unroll
            for (int k = 0; k < Width; k++) {
                before[k] = sums.at(k, t.strand, t.lane, p);
                all[k] = totals.at(k, p.strands - 1, t.lane, p);
            }
        return;
    }
    if (t.works)
#pragma unroll 4
        for (uint32 s = 0; s < t.strand; s++)
#pragma unroll
            for (int k = 0; k < Width; k++)
                before[k] = combine(before[k], sums.at(k, s, t.lane, p));
#pragma unroll
    for (int k = 0; k < Width; k++) {
        all[k] = combine(before[k], mine[k]);
        if (t.works && t.strand + 1 == p.strands)
            totals.at(k, t.strand, t.lane, p) = all[k];
    }
}

/* The sums that a block adds up: those of chains, of groups since then, and of tiles since then. */
struct tall_levels {
    uint32 of_chains, to_groups, count; /* the first sum of a group, of a tile, and their number */
    uint32 of_tiles;
    uint32 chain_row, group_row, tile_row; /* of entries, of the first sum if it were one of a chain, a group, a tile */

    static tall_levels of(const tall_args &p, const tall_place &t) {
        tall_levels l;
        const uint32 group = t.tile >> p.group_bits, chain = group >> p.chain_bits;
        const uint32 of_groups = group - (chain << p.chain_bits);
        l.of_chains = chain > 0;
        l.to_groups = l.of_chains + of_groups;
        l.of_tiles = t.tile - (group << p.group_bits);
        l.count = l.to_groups + l.of_tiles;
        l.chain_row = (uint32)p.tiles + p.groups + chain - 1;
        l.group_row = (uint32)p.tiles + (chain << p.chain_bits) - l.of_chains;
        l.tile_row = (group << p.group_bits) - l.to_groups;
        return l;
    }
    uint32 row(uint32 number) const {
        return number + (number < of_chains ? chain_row : number < to_groups ? group_row : tile_row);
    }
    bool ends_group(const tall_args &p) const { return of_tiles == (1u << p.group_bits) - 1; }
    bool ends_chain(const tall_args &p) const {
        return ends_group(p) && to_groups - of_chains == (1u << p.chain_bits) - 1;
    }
};

/* Makes 'above' the sums from number 'from' on. Strands but the last read some each, which go into 'parts'. */
template <int Width>
inline void add_up_levels(const tall_args &p, const tall_place &t, const tall_sums<Width> &parts, const tall_levels &l,
                          uint32 from, acc_t (&above)[Width]) {
    enum { FEW_PARTS = IS_LOGSUMEXP || MOMENTS ? 2 : 8 }; /* which each thread adds up by itself */
    constexpr uint32 AHEAD = TALL_ENTRIES > Width ? TALL_ENTRIES / Width : 1;
    const uint64 columns = p.outer * p.inner;
    const entry *entries = p.entries + t.column;
    uint32 each = AHEAD;
    while (each * (p.strands - 1) < l.count - from)
        each += AHEAD;
    const uint32 begin = from + t.strand * each, end = begin + each < l.count ? begin + each : l.count;
    if (t.works && t.strand + 1 < p.strands && begin < end) {
#pragma unroll 1
        for (uint32 at = begin; at < end; at += AHEAD) {
            batch_of<AHEAD * Width> few;
            const entry *of_row[AHEAD]; /* behind the last one that again */
#pragma unroll
            for (uint32 u = 0; u < AHEAD; u++)
                of_row[u] = entries + l.row(at + u < end ? at + u : end - 1) * columns;
            while (!few.try_read([&](int k) { return of_row[k / Width] + k % Width; }, [](int) { return true; }, 1))
                ;
#pragma unroll
            for (uint32 u = 0; u < AHEAD; u++)
                if (at + u < end)
#pragma unroll
                    for (int k = 0; k < Width; k++) {
                        const acc_t next = few.get(u * Width + k).acc;
                        above[k] = at + u == begin ? next : combine(above[k], next);
                    }
        }
#pragma unroll
        for (int k = 0; k < Width; k++)
            parts.at(k, t.strand, t.lane, p) = above[k];
    }
    __syncthreads();
    uint32 apart = 1;
    for (; from + FEW_PARTS * apart * each < l.count; apart *= 2) {
        if (t.works && (t.strand & (2 * apart - 1)) == 0 && from + (t.strand + apart) * each < l.count)
#pragma unroll
            for (int k = 0; k < Width; k++)
                parts.at(k, t.strand, t.lane, p) =
                    combine(parts.at(k, t.strand, t.lane, p), parts.at(k, t.strand + apart, t.lane, p));
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < Width; k++)
        above[k] = identity_as<acc_t>();
    if (t.works)
        for (uint32 part = 0; from + part * each < l.count; part += apart)
#pragma unroll
            for (int k = 0; k < Width; k++)
                above[k] = combine(above[k], parts.at(k, part, t.lane, p));
}

/* Makes 'above' the sums of all tiles above this one. The row of 'parts' that is the last strand's has the tile's own.
 */
template <int Width>
inline void look_back(const tall_args &p, const tall_place &t, const tall_sums<Width> &parts, acc_t (&above)[Width]) {
    const tall_levels l = tall_levels::of(p, t);
    const bool tells = t.works && t.strand == 0;
    auto tell = [&](uint64 number) { /* the sum of 'above' and the tile */
                                     acc_t all[Width];
#pragma unroll
                                     for (int k = 0; k < Width; k++)
                                         all[k] = combine(above[k], parts.at(k, p.strands - 1, t.lane, p));
                                     publish_sums(p, t, p.entries, number, all);
    };
    if (l.ends_group(p) && p.chain_bits) {
        add_up_levels(p, t, parts, l, l.to_groups, above);
        if (tells)
            tell(p.tiles + (t.tile >> p.group_bits));
        __syncthreads(); /* use of the parts */
    }
    add_up_levels(p, t, parts, l, 0, above);
    if (l.ends_chain(p) && tells)
        tell(p.tiles + p.groups + (t.tile >> (p.group_bits + p.chain_bits)));
}

/* ---- a tile ---- */

template <int Width> inline void scan_tile(const tall_args &p) {
    extern __shared__ __align__(128) uint8 tall_memory[];
    const tall_sums<Width> sums = {(acc_t *)tall_memory};
    const tall_sums<Width> parts = {sums.of + TALL_SPOTS};
    uint8 *x = tall_memory + 2 * TALL_SPOTS * sizeof(acc_t), *y = x + p.tile_bytes;
    const tall_place t = tall_place::of(p, Width);
    const tall_strand<Width> strand = {p, t, x, y};
    acc_t mine[Width], before[Width];
    fetch_tile(p, t, p.x, x);
    if (HAS_SECOND)
        fetch_tile(p, t, p.y, y);
#if HAS_MBARRIER
    end_copies_ahead();
    wait_for_copies_ahead<0>();
#endif
    __syncthreads();
    {
        typename strand_sum<(MOMENTS > 0)>::type sum[Width];
        strand.begin(sum);
        strand.for_rows([&](int k, bool settles, const few<in_t, Width> &a, const few<in_t, Width> &b) {
#pragma unroll
            for (int j = 0; j < Width; j++) {
                strand.add_to(sum[j], k, a.element[j], b.element[j]);
                if (settles)
                    sum[j].settle();
            }
        });
#pragma unroll
        for (int j = 0; j < Width; j++) {
            if constexpr (MOMENTS > 0)
                mine[j] = sum[j].sum();
            else
                mine[j] = widen(sum[j].sum());
        }
    }
    acc_t all[Width];
    add_up_strands(p, t, sums, parts, mine, before, all);
    if (p.tiles > 1 && t.works && t.strand + 1 == p.strands)
        publish_sums(p, t, p.entries, t.tile, all);
    if (t.tile) {
        acc_t above[Width];
        look_back(p, t, parts, above);
#pragma unroll
        for (int j = 0; j < Width; j++)
            before[j] = combine(above[j], before[j]);
    }
    typename strand_sum<(MOMENTS > 0)>::carried run[Width];
#pragma unroll
    for (int j = 0; j < Width; j++) {
        if ((p.carry || p.initial) && t.works)
            before[j] = combine(p.carry ? p.carry[t.column + j].read() : raise(load(p.initial)), before[j]);
        run[j] = before[j];
    }
    strand.begin(run);
    const int64 step = REVERSE ? -(int64)p.inner : (int64)p.inner;
    const auto give_all = [&](auto give) {
        strand.for_rows([&](int k, bool settles, const few<in_t, Width> &a, const few<in_t, Width> &b) {
            give(strand.result_of(run, k, settles, a, b));
        });
    };
    if (p.results != ~0u) {
        const tall_results staged = tall_results::of(p, t, x);
        result_t *to = (result_t *)staged.first + (uint32)(t.at - t.from);
        const bool is_aligned = ((uint64)to & (Width * sizeof(result_t) - 1)) == 0;
        give_all([&](const few<result_t, Width> &results) {
            if (is_aligned)
                store_part((few<result_t, Width> *)to, results);
            else
#pragma unroll
                for (int j = 0; j < Width; j++)
                    to[j] = results.element[j];
            to += (int)step;
        });
        __syncthreads();
        staged.send(p, t);
    } else {
        result_t *to = p.out + t.at;
        if (((uint64)to & (Width * sizeof(result_t) - 1)) == 0)
            give_all([&](const few<result_t, Width> &results) {
                store_part((few<result_t, Width> *)to, results);
                to += step;
            });
        else
            strand.template for_rows<false>(
                [&](int k, bool settles, const few<in_t, Width> &a, const few<in_t, Width> &b) {
                    store_slowly<Width>(to, strand.result_of(run, k, settles, a, b));
                    to += step;
                });
    }
    if (p.total && t.there && t.first + t.there == p.extent)
#pragma unroll
        for (int j = 0; j < Width; j++)
            p.total[t.column + j].write(combine(before[j], mine[j]));
}

extern "C" __global__ void __launch_bounds__(TALL_BLOCK, TALL_BLOCKS) scan_tall(tall_args p) {
    if (TALL_WIDTH > 1 && p.width > 1)
        scan_tile<TALL_WIDTH>(p);
    else
        scan_tile<1>(p);
}
