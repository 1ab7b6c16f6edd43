/* Tiles of tall slabs (scan_tall.cu): a thread's place in one, how elements come to shared memory and results leave it,
 * and how a thread goes down its strand. */

enum {
    TALL_ENTRIES = ENTRY_BYTES <= 16 ? 4 : 2, /* that a thread reads at a time */
    TALL_SPOTS = TALL_BLOCK * (COLUMN_PACKS ? 1 : TALL_WIDTH),
    FEW_STRANDS = 8 /* whose sums a thread adds up one after the other */
};
static_assert(TALL_ITEMS <= LANE_LIMIT);

/* What a thread adds its elements up in. */
template <bool Moments> struct strand_sum {
    typedef running<lane_t> type;
    typedef running<acc_t, lane_t> carried;
};
template <> struct strand_sum<true> {
    typedef running<acc_t> type, carried;
};

/* A block's tile, and a thread's place in it. */
struct tall_place {
    uint32 tile;           /* from the top of its panel, in logical order */
    uint64 column;         /* the thread's first, of outer x inner */
    uint64 entry, entries; /* the first of its entries in a row of all panels, and how many those are */
    uint64 first;          /* the strand's first row, logical */
    uint64 from;           /* the element of the panel's first column in the tile's physically lowest row */
    uint64 at;             /* the thread's first element in the strand's first row */
    uint32 strand, lane;
    int rows, columns; /* of the tile */
    int row, there;    /* the strand's first row among the tile's physical ones, and its rows */
    bool works;

    /* AreJoint: a thread has an entry for all of its columns. */
    template <bool AreJoint = false> static tall_place of(const tall_args &p, int width) {
        const uint32 number = ordinal_of_block(), panels = (uint32)(p.outer * p.panels);
        tall_place t;
        t.tile = number / panels;
        const uint32 panel = number - t.tile * panels, slab = p.outer == 1 ? 0 : panel / (uint32)p.panels;
        t.strand = small_quotient(threadIdx.x, p.across);
        t.lane = threadIdx.x - t.strand * p.across;
        const uint64 left_of_panel = (uint64)(panel - slab * p.panels) * p.across * width;
        const uint64 within = left_of_panel + t.lane * width, top = (uint64)t.tile * p.strands * p.rows;
        const uint64 columns = p.inner - left_of_panel, rows = p.extent - top;
        t.columns = columns < p.across * width ? (int)columns : (int)(p.across * width);
        t.rows = rows < p.strands * p.rows ? (int)rows : (int)(p.strands * p.rows);
        t.works = t.strand < p.strands && within < p.inner;
        t.column = slab * p.inner + within;
        t.entry = AreJoint ? panel * p.across + t.lane : t.column;
        t.entries = AreJoint ? (uint64)panels * p.across : p.outer * p.inner;
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
        const int at_once = small_quotient(TALL_BLOCK, vectors), first = small_quotient(threadIdx.x, vectors);
        const int at = (threadIdx.x - first * vectors) * 16;
        const uint64 step = at_once * row_bytes;
        uint64 from = lowest + first * row_bytes + at; /* as far from the vector as the row's begin from its own */
        uint8 *there = to + first * p.pitch + at;
        const int whole = small_quotient(t.rows, at_once), count = whole + (first < t.rows - whole * at_once);
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
