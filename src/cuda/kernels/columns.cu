/* Reductions along an axis whose elements do not lie next to each other: arrays of outer x extent x inner with inner >
 * 1. A block has a panel of columns and a chunk of the rows. In each step it takes 'groups' rows of the panel, and each
 * thread takes 'width' neighbouring elements, of the same columns every time. A panel that is as wide as the rows is a
 * stretch of consecutive elements; a thread's elements may then belong to two rows, and a block may have such panels of
 * several slabs, so that a thread has enough rows. At the end the accumulators of a
 * column's threads are folded in order, and a second kernel folds the chunks in a fixed order, so that a result has the
 * same bits every run. If the operator does not commute, each thread has consecutive rows of the chunk. */

/* Blocks of thin_columns.cu that a multiprocessor must have registers for. For fold_columns.cu the
 * host says how many. */
constexpr bool LOADS_FEW_BYTES =
    sizeof(in_t) <= 2 && sizeof(acc_t) <= 32 && BRIEF_MOMENTS != MOMENTS_IN_FLOATS && !HAS_SECOND;
constexpr int THIN_BLOCKS =
    LOOKS_UP_POWERS || COLUMN_PACKS || (LOADS_FEW_BYTES && THIN_WIDTH <= 8) ? 4 : COLUMN_BLOCKS;

/* ---- a thread's elements ---- */

/* Rows that a thread loads at a time: about 64 bytes, or so many that there is code for eight exponentials of doubles. Of
 * two inputs half as many: with four vectors of each registers spilled. */
constexpr int rows_ahead(int width) {
    if (IS_LOGSUMEXP && COMBINES_SLOWLY && !LOOKS_UP_POWERS)
        return width < 8 ? 8 / width : 1;
    const int bytes = width * (int)sizeof(in_t), rows = bytes >= 16 ? 4 : 8;
    return UNROLL == 1 ? 1 : HAS_SECOND && bytes >= 8 ? rows / 2 : rows;
}

template <int Width> struct stretch {
    const in_t *x, *y;
    uint64 at, end;       /* the next element, and the one behind the last */
    uint64 step, stride;  /* elements from one row to the next that is loaded with it, and to the next such rows */
    uint64 base;          /* the number of the chunk's first row, counted from the first piece on */
    uint32 row[Width];    /* that of the next elements' row, counted from the chunk's first */
    uint32 rows_a_step, rows_a_stride; /* step and stride in rows */
    bool aligned;         /* x and y can be loaded Width elements at a time */
    bool in_step;         /* all rows begin as far behind a word of 4 bytes: */
    uint32 bits;          /* by so many bits */

    /* Two words of 4 bytes, of which the elements begin in the first. */
    few<in_t, Width> load_by_words(const in_t *from) const {
        const uint32 *const at = (const uint32 *)((const uint8 *)from - bits / 8);
        const uint32 word[] = {at[0], at[1], at[bits ? 2 : 1]};
        const uint2 pair = {__funnelshift_r(word[0], word[1], bits), __funnelshift_r(word[1], word[2], bits)};
        few<in_t, Width> f;
        memcpy(&f, &pair, sizeof f);
        return f;
    }
    /* Whether all elements that the words around Width of them hold are the slab's. */
    bool has_words(uint64 i) const {
        return i >= Width && i + 2 * Width <= end;
    }
    few<in_t, Width> load_any(const in_t *from, uint64 i) const {
        if (aligned && i + Width <= end)
            return load_few<Width>(from + i);
        if (Width > 1 && !aligned && has_words(i))
            return load_few_straddling<Width>(from + i);
        few<in_t, Width> f = {};
#pragma unroll
        for (int k = 0; k < Width; k++)
            if (i + k < end)
                f.element[k] = load(from + i + k);
        return f;
    }
};

/* The two words that elements lie across; of aligned ones that is one. */
template <int Width> struct words_across {
    typedef typename word_of<Width * sizeof(in_t)>::type word;
    word pair[2] = {};
    uint32 shift = 0;

    void load_from(const in_t *from) {
        const word *at = word_before<word>(from, &shift);
        pair[0] = at[0];
        pair[1] = at[shift != 0];
    }
    few<in_t, Width> elements() const {
        few<in_t, Width> f;
        const word bits = straddling_words(pair, shift);
        memcpy(&f, &bits, sizeof f);
        return f;
    }
};

/* ---- a column's sum ---- */

#if IS_LOGSUMEXP
struct column_sum : exponentials_below {
    enum { RAISES = 1, COUNTS_FROM_CHUNK = 0, IS_KEY = 0 };

    acc_t sum_from(uint64, uint64) const {
        return widen(sum());
    }
};
#elif IS_ARGMIN || IS_ARGMAX
/* Rows are counted from the chunk's first on, so their number takes one register. */
typedef components<decltype(lane_t::a0), uint32> short_lane;
struct numbered_sum : running<short_lane> {
    enum { RAISES = 0, COUNTS_FROM_CHUNK = 1, IS_KEY = 0 };

    void raise(value_t) {}
    acc_t sum_from(uint64 base, uint64) const {
        acc_t r;
        r.a0 = acc.a0;
        r.a1 = acc.a1 == (uint32)NO_INDEX ? NO_INDEX : base + acc.a1;
        return r;
    }
};
/* A word holds a narrow integer and, below it, the number of its row among the thread's. So an element costs one
 * comparison. No row has the number that stands for no element. */
template <class T> constexpr int32 LEAST_NARROW = 0;
template <> constexpr int32 LEAST_NARROW<int8> = -0x80;
template <> constexpr int32 LEAST_NARROW<int16> = -0x8000;
struct key_sum {
    enum { RAISES = 0, COUNTS_FROM_CHUNK = 0, IS_KEY = 1, MOST = 0xffff };
    uint32 key = IS_ARGMIN ? ~0u : 0;

    void raise(value_t) {}
    void append(value_t x, value_t, uint64 number) {
        const uint32 value = (uint32)((int32)x - LEAST_NARROW<in_t>) << 16;
        const uint32 next = value | (IS_ARGMIN ? (uint32)number : MOST - (uint32)number);
        key = IS_ARGMIN ? MIN(key, next) : MAX(key, next);
    }
    acc_t sum_from(uint64 base, uint64 step) const {
        acc_t r = identity_as<acc_t>();
        const uint32 number = IS_ARGMIN ? key & MOST : MOST - (key & MOST);
        if (number == MOST)
            return r;
        r.a0 = (decltype(r.a0))((int32)(key >> 16) + LEAST_NARROW<in_t>);
        r.a1 = base + number * step;
        return r;
    }
};
template <bool IsNarrow> struct choice_of_index {
    typedef numbered_sum sum;
};
template <> struct choice_of_index<true> {
    typedef key_sum sum;
};
typedef choice_of_index<sizeof(in_t) <= 2 && value_t(0.5) == value_t(0)>::sum column_sum;
#else
struct column_sum : brief<lane_t> {
    enum { RAISES = 0, COUNTS_FROM_CHUNK = 0, IS_KEY = 0 };

    void raise(value_t) {}
    acc_t sum_from(uint64, uint64) const {
        return widen(brief<lane_t>::sum());
    }
};
#endif

/* Adds the loaded rows [from, to) of a step to the lanes. 'number' is that of the step's first row among those that the
 * lanes have; 'left' are the elements from each row's first on that are the column's. */
template <int Width, int Rows, class Left>
inline void add_loaded(const stretch<Width> &s, uint32 number, const few<in_t, Width> *x, const few<in_t, Width> *y,
                       int from, int to, Left left, column_sum *lanes) {
#if FACTORS > 1 /* fewer products of 64 bits */
#pragma unroll
    for (int k = 0; k < Width; k++)
#pragma unroll
        for (int u = 0; u < Rows; u += FACTORS) {
            uint32 product = 1;
#pragma unroll
            for (int f = u; f < u + FACTORS && f < Rows; f++)
                product *= f >= from && f < to && k < left(f) ? (uint32)value_of(x[f].element[k]) : 1;
            lanes[k].multiply(product);
        }
#else
#pragma unroll
    for (int k = 0; k < Width && column_sum::RAISES; k++) {
        value_t next = range<value_t>::lowest();
#pragma unroll
        for (int u = 0; u < Rows; u++)
            if (u >= from && u < to && k < left(u))
                next = larger(next, value_of(x[u].element[k]));
        lanes[k].raise(next);
    }
#pragma unroll
    for (int u = 0; u < Rows; u++)
#pragma unroll
        for (int k = 0; k < Width; k++)
            if (u >= from && u < to && k < left(u)) {
                value_t second = HAS_SECOND ? value_of(y[u].element[k]) : value_t(0);
                const uint32 row = s.row[k] + u * s.rows_a_step;
                lanes[k].append(value_of(x[u].element[k]), second,
                                column_sum::IS_KEY              ? number + u
                                : column_sum::COUNTS_FROM_CHUNK ? row
                                                                : s.base + row);
            }
#endif
}

/* ---- results ---- */

/* Gives the first 'count' of Width columns, at least one. */
template <int Width>
inline void give_columns(const columns_args &p, uint64 column, uint64 count, const acc_t *acc) {
    if (p.to.carry || p.to.total || count < Width) {
#pragma unroll
        for (int k = 0; k < Width; k++)
            if (k < count)
                give(p.to, column + k, acc[k]);
        return;
    }
    few<result_t, Width> results;
#pragma unroll
    for (int k = 0; k < Width; k++)
        results.element[k] = lower(acc[k], p.to.count, 0);
    store_few(p.to.out + column, results);
}

/* Folds 'groups' accumulators of each column of some panels, which lie a panel apart, into the first; a thread takes
 * some of them between two barriers. */
template <class Spot> inline void fold_groups(Spot *spots, uint32 panel, uint32 groups, uint32 panels) {
    constexpr bool ARE_TOGETHER = COMBINES_TOGETHER && ARE_SAME<Spot, acc_t>;
    constexpr uint32 AT_ONCE = ARE_TOGETHER ? (int)MOST_TOGETHER : 8;
    __syncthreads();
    for (uint32 d = 1; d < groups; d *= AT_ONCE) {
        const uint32 wholes = small_quotient(groups + AT_ONCE * d - 1, AT_ONCE * d);
        for (uint32 i = threadIdx.x; i < panels * wholes * panel; i += BLOCK) {
            const uint32 row = small_quotient(i, panel), number = panels == 1 ? 0 : small_quotient(row, wholes);
            const uint32 group = (row - number * wholes) * AT_ONCE * d;
            const uint32 at = (number * groups + group) * panel + i - row * panel;
            if constexpr (ARE_TOGETHER) {
                Spot all[AT_ONCE];
#pragma unroll
                for (uint32 k = 0; k < AT_ONCE; k++)
                    all[k] = group + k * d < groups ? spots[at + k * d * panel] : identity_as<Spot>();
                spots[at] = combine_all(all);
                continue;
            }
            Spot acc = spots[at];
#pragma unroll IS_LARGE ? 1 : AT_ONCE
            for (uint32 k = 1; k < AT_ONCE; k++)
                if (group + k * d < groups)
                    acc = combine(acc, spots[at + k * d * panel]);
            spots[at] = acc;
        }
        __syncthreads();
    }
}
