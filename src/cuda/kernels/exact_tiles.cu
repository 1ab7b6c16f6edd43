/* Exact mode: a warp adds a group's elements in tiles. A tile goes through the window if its values fit, else through
 * bins or value by value. All f16 that are numbers fit. */

/* The elements of a group, 'stride' apart. */
struct group {
    const in_t *x, *y;
    uint64 count, stride;
    bool aligned; /* and stride is 1, so that vectors can be loaded */
};

inline group make_group(const exact_args &p, uint64 first, uint64 count, uint64 stride) {
    group g = {p.x + first, PRODUCTS == 1 ? p.y + first : p.x + first, count, stride, false};
    g.aligned = stride == 1 && (((uint64)g.x | (uint64)g.y) & 15) == 0;
    return g;
}

/* An element, or one of a pair, that is NaN becomes -0, or the pair -0 and 1. */
inline bool replace_nan(in_t &x, in_t &y) {
    const bool is_out = is_nan(value_of(x)) || (PRODUCTS == 1 && is_nan(value_of(y)));
    x = is_out ? element_of_bits<in_t>(MINUS_ZERO) : x;
    if (PRODUCTS == 1)
        y = is_out ? element_of_bits<in_t>(ONE) : y;
    return is_out;
}

/* Element i, read from memory again, and its partner. */
inline void load_again(const group &g, uint64 i, in_t &x, in_t &y) {
    x = load(g.x + i * g.stride);
    if (PRODUCTS == 1)
        y = load(g.y + i * g.stride);
    if (SKIPS_NAN)
        replace_nan(x, y);
    if (PRODUCTS != 1)
        y = x;
}

struct tile {
    in_t x[ITEMS], y[PRODUCTS == 1 ? ITEMS : 1];

    in_t second(int k) const { return PRODUCTS == 1 ? y[k] : x[k]; }
    /* Replaces NaNs as if they were past the end, and returns how many there were. */
    uint32 leave_out() {
        uint32 left_out = 0;
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            left_out += replace_nan(x[k], y[PRODUCTS == 1 ? k : 0]);
        return left_out;
    }
    /* This lane's vectors of a tile, or null if it does not consist of vectors. */
    static const uint4 *vectors_at(const group &g, uint64 at) {
        return g.aligned && at + TILE <= g.count ? (const uint4 *)(g.x + at) + lane_of() : nullptr;
    }
    void load_vector(const uint4 *from, int v) {
        const uint4 bits = __ldcs(from + v * WARP);
        memcpy(x + v * VECTOR, &bits, 16);
    }
    /* -0, or -0 times 1, takes the place of elements past the end. It changes neither a sum nor the sign of a zero. */
    void load_from(const group &g, uint64 at) {
        if (const uint4 *from = vectors_at(g, at)) {
            const uint4 *second = (const uint4 *)(g.y + at) + lane_of();
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                load_vector(from, v);
                if (PRODUCTS == 1) {
                    const uint4 bits = __ldcs(second + v * WARP);
                    memcpy(y + v * VECTOR, &bits, 16);
                }
            }
            return;
        }
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            uint64 i = at + k * WARP + lane_of();
            bool there = i < g.count;
            x[k] = there ? load(g.x + i * g.stride) : element_of_bits<in_t>(MINUS_ZERO);
            if (PRODUCTS == 1)
                y[k] = there ? load(g.y + i * g.stride) : element_of_bits<in_t>(ONE);
        }
    }
};

/* The lower or the upper of a pair of 16-bit floats, times 2^-SCALE_LOG, as a double: its bits are moved to a double's
 * exponent and fraction, which is right for subnormals and zeros, too. Conversions would occupy the units that add
 * doubles for longer. */
enum { MOVED = PACKED ? 20 - FIELD_AT : 0, KEPT = (int)((MAGNITUDES ? 0 : 0x80000000u) | 0x7fffu << MOVED) };
inline double scaled_lower(int32 pair) {
    return __hiloint2double((int32)((uint32)(int32)(short)pair << MOVED) & KEPT, 0);
}
inline double scaled_upper(int32 pair) {
    return __hiloint2double(pair >> (16 - MOVED) & KEPT, 0);
}

inline double product_of(double x, double y) {
    return __dmul_rn(x, y);
}
inline double summand_of(double x) {
    return MAGNITUDES ? fabs(x) : x;
}

/* The highest of the fields of a tile's terms, and the lowest less 1. As unsigned numbers, a zero's field less 1 is the
 * highest, so zeros do not count among the lowest. NO_VALUE if there are only zeros. */
struct fields {
    uint32 high, low;
    void note(uint32 bits) {
        high = bits > high ? bits : high;
        if (!HAS_CONSTANT_WINDOW)
            low = bits - 1 < low ? bits - 1 : low;
    }
};

inline fields packed_fields_of(const tile &t) {
    uint32 high = 0, low = NO_VALUE;
#pragma unroll
    for (int k = 0; k < ITEMS; k += 2) {
        uint32 pair;
        memcpy(&pair, &t.x[k], 4);
        pair &= 0x7fff7fff;
        high = most_by_halves(pair, high);
        if (!HAS_CONSTANT_WINDOW)
            low = least_by_halves(pair, low);
    }
    high = most_by_halves(high, high >> 16) & 0xffff;
    low = low >> 16 < (low & 0xffff) ? low >> 16 : low & 0xffff;
    return {high, low == 0xffff ? NO_VALUE : low};
}

/* From here on Products is PRODUCTS or, for the sum of a variance's elements, 0. */
template <int Products> inline fields fields_of(const tile &t) {
    if (PACKED)
        return packed_fields_of(t);
    fields f = {0, NO_VALUE};
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (NARROW) {
            f.note(__float_as_uint((float)value_of(t.x[k])) & 0x7fffffff);
            continue;
        }
        double x = (double)value_of(t.x[k]);
        if (!Products) {
            f.note(upper_of(x) | ((uint32)__double2loint(x) != 0)); /* subnormals are not zeros */
            continue;
        }
        double y = (double)value_of(t.second(k)), product = product_of(x, y);
        f.note(upper_of(product));
        if (HAS_TWO_TERMS && !upper_of(product) && x != 0 && y != 0)
            f.low = 0; /* the product is not zero, but too small for a double */
    }
    return f;
}

/* A tile's k-th term; packed elements are scaled, as scaled_lower() does it. */
template <int Products> inline double term_of(const tile &t, int k) {
    if (PACKED) {
        int32 pair;
        memcpy(&pair, &t.x[k & ~1], 4);
        return k & 1 ? scaled_upper(pair) : scaled_lower(pair);
    }
    double x = (double)value_of(t.x[k]);
    return Products ? product_of(x, (double)value_of(t.second(k))) : summand_of(x);
}

template <int Products> inline void add_terms(window &w, const tile &t) {
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        double term = term_of<Products>(t, k);
        w.terms.add(term);
        if (HAS_TWO_TERMS && Products)
            w.terms.add(__fma_rn((double)value_of(t.x[k]), (double)value_of(t.second(k)), -term));
    }
    w.additions += ITEMS * (HAS_TWO_TERMS && Products ? 2 : 1);
}

/* The same by chains, each of a vector. Where a vector has been added, the next tile's takes its place, so that loads
 * are always under way. */
template <bool IsWhole> inline void add_chains(window &w, tile &t, const uint4 *next) {
    static_assert(!ARE_CHAINED || (int)CHAIN == (int)VECTOR);
    /* The upper half of a double as a float is as large beside others. */
    const float parted_at = __int_as_float((w.top - PARTED_AT + BIAS) << 20);
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        double large = 0, small = 0;
#pragma unroll
        for (int k = 0; k < VECTOR; k++) {
            const double term = term_of<0>(t, v * VECTOR + k);
            if (IsWhole || fabsf(__int_as_float(__double2hiint(term))) >= parted_at)
                large = __dadd_rn(large, term);
            else
                small = __dadd_rn(small, term);
        }
        w.terms.add(large);
        if (!IsWhole)
            w.terms.add(small);
        if (next)
            t.load_vector(next, v);
    }
    w.additions += ITEMS;
}

/* SAW_OTHER if a tile of only zeros has one that is not -0. */
template <int Products> inline uint32 zeros_saw(const tile &t) {
    uint32 saw = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        bool negative = sign_of(t.x[k]);
        if (Products)
            negative = negative != sign_of(t.second(k));
        saw |= negative ? 0 : SAW_OTHER;
    }
    return saw;
}

/* Adds a tile's terms to the words one by one. Products that are more than a double are read from memory again, so that
 * the tile need not stay in registers. */
template <int Products, class Number> inline void deposit_tile(Number &sum, const tile &t, const group &g, uint64 at) {
    constexpr bool has_two_terms = HAS_TWO_TERMS && Products;
    sum.expect(has_two_terms ? 2 * TILE : TILE);
    if (!has_two_terms) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            sum.saw |= deposit_value(sum.words, term_of<Products>(t, k), Number::BOTTOM_BIT);
    } else {
        for (int k = 0; k < ITEMS; k++) {
            uint64 i = at + k * WARP + lane_of();
            if (i >= g.count)
                break;
            in_t x, y;
            load_again(g, i, x, y);
            sum.saw |= deposit_product(sum.words, (double)value_of(x), (double)value_of(y), Number::BOTTOM_BIT);
        }
    }
    __syncwarp();
}

/* Notes the terms that are no numbers in sum.saw, and replaces them as if they were past the end. */
template <int Products, class Number> inline void take_out_specials(Number &sum, tile &t) {
    const double infinity = PACKED ? __hiloint2double((2 * BIAS + 1) << 20, 0) : __hiloint2double(0x7ff00000, 0);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const double x = term_of<Products>(t, k);
        if (fabs(x) < infinity)
            continue;
        sum.saw |= special(!(fabs(x) <= infinity), bits_of(x) >> 63);
        t.x[k] = element_of_bits<in_t>(MINUS_ZERO);
        if (PRODUCTS == 1)
            t.y[k] = element_of_bits<in_t>(ONE);
    }
}

/* 'high' is the highest of the warp's fields. */
template <class Number> inline void add_tile_to_bins(Number &sum, bins &of_lane, tile &t, uint32 high) {
    of_lane.expect(sum, ITEMS);
    if constexpr (bins::ARE_SHORT) {
        sum.saw |= SAW_OTHER; /* tiles of zeros fit the window */
        /* After a NaN the digits count in a state only: they are the other elements', as on every device. */
        if (high >> FIELD_AT == bins::LAST_FIELD && (GIVES_WORDS || __all_sync(ALL_LANES, !(sum.saw & SAW_NAN))))
            take_out_specials<PRODUCTS>(sum, t);
#pragma unroll
        for (int k = 0; k < ITEMS; k += 2) {
            uint32 pair;
            memcpy(&pair, &t.x[k], 4);
            of_lane.add_short(pair << 16);
            of_lane.add_short(pair & 0xffff0000);
        }
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            sum.saw |= of_lane.add(t.x[k]);
    }
}

/* Chained elements make room for the next tile's, if it consists of vectors. */
template <int Products, class Number>
inline void add_tile(Number &sum, window &w, tile &t, const group &g, uint64 at, const uint4 *next = nullptr) {
    fields f = fields_of<Products>(t);
    bool fits = f.high < w.high_from && f.low >= w.low_until;
    if (!__all_sync(ALL_LANES, fits)) {
        f.high = greatest_of_warp(f.high);
        f.low = ~greatest_of_warp(~f.low);
        if (!w.choose(sum, f.high, f.low)) {
            if constexpr (HAS_CONSTANT_WINDOW) {
                take_out_specials<Products>(sum, t);
                f = fields_of<Products>(t);
                if (!w.high_from)
                    w.place(LEAST_TOP, true);
            } else {
                if constexpr (NARROW)
                    add_tile_to_bins(sum, w.others, t, f.high);
                else
                    deposit_tile<Products>(sum, t, g, at);
#pragma unroll
                for (int v = 0; v < VECTORS && next; v++)
                    t.load_vector(next, v);
                return;
            }
        }
    }
    if (w.additions > ADDITIONS - ITEMS * (HAS_TWO_TERMS && Products ? 2 : 1))
        w.empty(sum);
    sum.saw |= f.high ? SAW_OTHER : zeros_saw<Products>(t);
    if (!ARE_CHAINED)
        add_terms<Products>(w, t);
    else if (HAS_CONSTANT_WINDOW || w.is_whole)
        add_chains<true>(w, t, next);
    else
        add_chains<false>(w, t, next);
}

/* An empty window; no tile fits it. */
inline void open(window &w) {
    w.place(LEAST_TOP, true);
    w.high_from = 0;
    w.others.additions = 0;
}

/* Puts how many elements the lanes have left out into the state. */
inline void keep_left_out(int32 *words, uint64 left_out) {
    if (!SKIPS_NAN)
        return;
    left_out = join_warp(left_out, [](uint64 a, uint64 b) { return a + b; });
    if (lane_of() == 0) {
        words[STATE_WORDS - 2] = (int32)(left_out & 0xffff);
        words[STATE_WORDS - 1] = (int32)(left_out >> 16);
    }
}

#if HAS_MOMENTS
/* The state of a variance: both sums, in one place after the other. */
struct warp_state {
    warp_number<SUM_LIMBS, SUM_BOTTOM> sum;
    warp_sum squares;
    uint32 saw;

    void clear(int32 *memory) {
        sum.clear(memory);
        sum.saw = 0;
        squares.clear(memory + 2 * SUM_LIMBS);
    }
};

/* Adds every step-th tile of a group from 'first' on. */
inline void add_tiles(warp_state &state, const group &g, uint64 first, uint64 step) {
    window of_sum, of_squares;
    open(of_sum);
    open(of_squares);
    uint64 left_out = 0;
    for (uint64 at = first; at < g.count; at += step) {
        tile t;
        t.load_from(g, at);
        if (SKIPS_NAN)
            left_out += t.leave_out();
        add_tile<0>(state.sum, of_sum, t, g, at);
        add_tile<PRODUCTS>(state.squares, of_squares, t, g, at);
    }
    of_sum.finish(state.sum);
    of_squares.finish(state.squares);
    state.saw = state.sum.saw;
    keep_left_out(state.sum.words, left_out);
    __syncwarp();
}
#else
typedef warp_sum warp_state;

/* Adds every step-th tile of a group from 'first' on. */
inline void add_tiles(warp_sum &sum, const group &g, uint64 first, uint64 step) {
    window w;
    open(w);
    tile t;
    uint64 left_out = 0;
    if (ARE_CHAINED)
        t.load_from(g, first);
    for (uint64 at = first; at < g.count; at += step) {
        if (!ARE_CHAINED)
            t.load_from(g, at);
        const uint4 *next = ARE_CHAINED ? tile::vectors_at(g, at + step) : nullptr;
        if (SKIPS_NAN)
            left_out += t.leave_out();
        add_tile<PRODUCTS>(sum, w, t, g, at, next);
        if (ARE_CHAINED && !next)
            t.load_from(g, at + step);
    }
    w.finish(sum);
    keep_left_out(sum.words, left_out);
    __syncwarp();
}
#endif
