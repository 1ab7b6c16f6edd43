/* Reductions of a tile's groups from parts of the tile, where tile_sums.cu has no differences. The tile keeps what some
 * elements have together, and what 16 such parts have. Some lanes share a group: a few elements at its ends, and in
 * between as few parts as there are. So an element costs the same wherever groups begin. */
#if HAS_PARTS
enum {
    SPAN = sizeof(in_t) <= 2 && !MOMENTS ? 1 : 2, /* vectors of a part */
    OF_PART = SPAN * A_VECTOR,                    /* elements */
    TILE_PARTS = TILE / OF_PART,
    MINE = TILE_PARTS / BLOCK, /* parts of a thread */
    OF_LARGE = 16,             /* parts of a large one */
    OF_THREADS = OF_LARGE / MINE,
    LARGE_PARTS = TILE_PARTS / OF_LARGE
};
static_assert(MINE * OF_THREADS == OF_LARGE && OF_THREADS <= WARP && (OF_PART & (OF_PART - 1)) == 0);

/* Parts begin at the tile's first element where a result would show how they lie, and where there are two inputs; else
 * where memory's vectors do. */
constexpr bool PARTS_LIE = !ORDER_SHOWS && !HAS_SECOND;
inline uint32 skew_of_parts(const tile &t) {
    return PARTS_LIE ? t.skew : 0;
}
inline void read_part(const uint8 *memory, uint32 part, uint32 skew, in_t (&x)[OF_PART]) {
    read_vectors<SPAN>(memory, part * SPAN, PARTS_LIE ? 0 : skew, x);
}

#if MOMENTS
/* Sums of distances from a number, and of their squares. That number is the first element of a part, and near the mean
 * of a large one. An element that is not finite makes the squares NaN, also where they could overflow. Halves are added
 * up in floats: 16 of them may cost 4 of 24 bits, and results have 11. */
template <bool AreFloats> struct part_number {
    typedef double type;
};
template <> struct part_number<true> {
    typedef float type;
};
typedef part_number<BRIEF_MOMENTS == MOMENTS_IN_FLOATS>::type part_t;
struct tile_part {
    part_t distances, squares;
};

inline double fused(double a, double b, double c) {
    return __fma_rn(a, b, c);
}
inline float fused(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
/* A number that is more than x by the same as others are. Those of 32 bits are the low bits of a double. */
template <class Number> inline part_t near_number(Number x) {
    if constexpr (sizeof(x) == 4 && Number(0.5) == Number(0))
        return __longlong_as_double(0x4330000000000000ll | ((uint32)x ^ (Number(-1) < Number(0) ? 0x80000000u : 0u)));
    else
        return (part_t)x;
}

/* Takes a part's distances from a number that is less by 'by'. */
template <class Part> inline powers moved(const Part &part, double n, double by) {
    powers of;
    of.distances = part.distances;
    of.squares = part.squares;
    of.move(n, by);
    if (CAN_OVERFLOW && is_nan(of.squares) && !is_nan(part.squares))
        of.squares = 2 * range<double>::highest();
    return of;
}

/* What a lane has of a group. All that share it take distances from the same number. */
struct tile_sum {
    running<acc_t> sum;

    void begin(double shift) {
        sum.shift = shift;
        sum.has_shift = true;
    }
    void add_part(const tile_part &part, double n, double pivot) {
        sum.add_powers(moved(part, n, pivot - sum.shift));
        if (CAN_OVERFLOW && is_nan(part.squares))
            sum.zero = part.squares;
    }
    tile_sum of_elements(uint32 count) {
        sum.count = count;
        return *this;
    }
    void add_across(int d) {
        sum.add_from([=](auto value) { return from_across(value, d); });
    }
    acc_t accumulator(const tile &, uint32) const {
        return sum.sum();
    }
    result_t result(const tile &, uint32, uint32) const {
        return sum.result(0);
    }
};

inline double element_of(const tile &t, uint32 e) {
    return (double)value_of(*place_of<in_t>(t.x, e + t.skew));
}
inline tile_part fold_part_of_tile(const tile &t, uint32 part) {
    in_t x[OF_PART];
    read_part(t.x, part, t.skew, x);
    const part_t pivot = near_number(value_of(x[0]));
    tile_part of;
    [[maybe_unused]] part_t zero = pivot * 0;
#pragma unroll
    for (int k = 1; k < OF_PART; k++) {
        const part_t number = near_number(value_of(x[k])), away = number - pivot;
        of.distances = k == 1 ? away : of.distances + away;
        of.squares = k == 1 ? away * away : fused(away, away, of.squares);
        zero = fused(number, part_t(0), zero);
    }
    if (CAN_OVERFLOW)
        of.squares += zero;
    return of;
}
#else
static_assert(COMMUTES && LANE_LIMIT >= OF_PART);

/* What a lane has of a group. Places count from the tile's beginning. */
#if IS_INDEXED
typedef tile_lane sum_t;
inline sum_t sum_of(const tile &, const tile_lane &lane) {
    return lane;
}
#else
typedef acc_t sum_t;
inline sum_t sum_of(const tile &t, const tile_lane &lane) {
    return widen_in(t, lane);
}
#endif
struct tile_sum {
    sum_t all = identity_as<sum_t>();

    void add(const sum_t &more) {
        all = combine(all, more);
    }
    tile_sum of_elements(uint32) const {
        return *this;
    }
    void add_across(int d) {
        add(from_across(all, d));
    }
    acc_t accumulator([[maybe_unused]] const tile &t, uint32) const {
#if IS_INDEXED
        return widen_in(t, all);
#else
        return all;
#endif
    }
    result_t result(const tile &t, uint32 begin, uint32 end) const {
        return lower(all, end - begin, index_in(t, begin));
    }
};

#if HAS_PLACE_KEYS
/* The same as tile_lane::of() of element k of a word, by one instruction. */
inline tile_lane key_in(uint32 word, uint32 k, uint32 place) {
    constexpr bool are_bytes = sizeof(in_t) == 1, are_signed = in_t(-1) < in_t(0);
    const uint32 high = are_signed ? 8 | k : 6; /* of a byte: copies of its sign, or a byte of 'place' that is 0 */
    return {(tile_lane::word)__byte_perm(word, place, are_bytes ? high << 12 | k << 8 | 0x54 : k ? 0x3254 : 0x1054)};
}
#endif
/* Elements of a part, a bit each, whose first one's place is 'place'; there is one at least. */
inline tile_lane fold_part_of_tile(const tile &t, uint32 part, uint32 which) {
    in_t x[OF_PART], y[OF_PART];
    read_part(t.x, part, t.skew, x);
    if (HAS_SECOND)
        read_part(t.y, part, t.skew_of_y, y);
#if HAS_PLACE_KEYS
    enum { IN_WORD = 4 / sizeof(in_t) };
    uint32 words[4];
    memcpy(words, x, 16);
    tile_lane lane = identity_as<tile_lane>();
#pragma unroll
    for (int k = 0; k < OF_PART; k++)
        if (which >> k & 1)
            lane = combine(lane, key_in(IS_ARGMAX ? ~words[k / IN_WORD] : words[k / IN_WORD], k % IN_WORD, k));
    lane.key += part * OF_PART - skew_of_parts(t);
    return lane;
#else
    brief<tile_lane> run;
#pragma unroll
    for (int k = 0; k < OF_PART; k++)
        if (which >> k & 1)
            run.append(value_of(x[k]), HAS_SECOND ? value_of(y[k]) : value_t(0), k);
    tile_lane lane = run.sum();
#if IS_INDEXED
    lane.a1 += part * OF_PART - skew_of_parts(t);
#endif
    return lane;
#endif
}

typedef tile_lane tile_part;
#endif

struct tile_sums {
    enum { WORDS = sizeof(tile_part) / 4 };
    alignas(16) uint32 words[WORDS][TILE_PARTS + LARGE_PARTS]; /* a word of each part after the other */
#if MOMENTS
    double centres[LARGE_PARTS];
#endif
    uint32 last; /* the beginning of the segment that goes on behind the tile */

    void put(uint32 at, const tile_part &value) {
        uint32 bits[WORDS];
        memcpy(bits, &value, sizeof bits);
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            words[w][at] = bits[w];
    }
    tile_part get(uint32 at) const {
        tile_part value;
        uint32 bits[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            bits[w] = words[w][at];
        memcpy(&value, bits, sizeof bits);
        return value;
    }

    /* Calls use(part, number, is_large) for the lane's share of the parts [low, high). */
    template <class Use> void for_parts(uint32 low, uint32 high, uint32 me, uint32 lanes, Use use) const {
        const uint32 first = (low + OF_LARGE - 1) / OF_LARGE, behind = high / OF_LARGE; /* large ones */
        const uint32 large = first < behind ? behind - first : 0;
        const uint32 before = large ? first * OF_LARGE - low : 0; /* single ones */
        const uint32 skipped = large * (OF_LARGE - 1), all = low < high ? high - low - skipped : 0;
#pragma unroll 1
        for (uint32 k = me; k < all; k += lanes) {
            const bool is_large = k - before < large;
            const uint32 number = is_large ? first + k - before : low + k + (k < before ? 0 : skipped);
            use(get(is_large ? TILE_PARTS + number : number), number, is_large);
        }
    }
#if MOMENTS
    /* Distances are taken from the mean of the largest part that there is, so few bits are lost. */
    tile_sum share_of(const tile &t, uint32 begin, uint32 end, uint32 me, uint32 lanes) const {
        const uint32 low = (begin + OF_PART - 1) / OF_PART, high = end / OF_PART;
        const uint32 first = (low + OF_LARGE - 1) / OF_LARGE;
        const uint32 inner = low < high ? (high - low) * OF_PART : 0; /* elements in parts */
        tile_sum sum;
        double shift = 0;
        if (first < high / OF_LARGE)
            shift = centres[first];
        else if (inner)
            shift = __fma_rn((double)get(low).distances, 1.0 / OF_PART, element_of(t, low * OF_PART));
        else if (begin < end)
            shift = element_of(t, begin);
        sum.begin(shift);
#pragma unroll 1
        for (uint32 k = begin + me; k < end - inner; k += lanes)
            sum.sum.add_from_shift(value_of(*place_of<in_t>(t.x, t.skew + (inner && k >= low * OF_PART ? k + inner : k))));
        for_parts(low, high, me, lanes, [&](const tile_part &part, uint32 number, bool is_large) {
            const double n = is_large ? OF_LARGE * OF_PART : OF_PART;
            sum.add_part(part, n, is_large ? centres[number] : element_of(t, number * OF_PART));
        });
        return sum;
    }
    /* The same of a few elements, which one lane takes one by one. */
    tile_sum of_few(const tile &t, uint32 begin, uint32 end) const {
        tile_sum sum;
        sum.begin(begin < end ? element_of(t, begin) : 0);
#pragma unroll 1
        for (uint32 k = begin; k < end; k++)
            sum.sum.add_from_shift(value_of(*place_of<in_t>(t.x, k + t.skew)));
        return sum.of_elements(end - begin);
    }
#else
    tile_sum share_of(const tile &t, uint32 begin, uint32 end, uint32 me, uint32 lanes) const {
        const uint32 skew = skew_of_parts(t), from = begin + skew, to = end + skew;
        const uint32 high = to / OF_PART, low = (from + OF_PART - 1) / OF_PART;
        const uint32 first = from % OF_PART, rest = (1u << to % OF_PART) - 1;
        const uint32 of_first = (low > high ? rest : first ? ~0u : 0) & ~0u << first;
        tile_sum sum;
#pragma unroll 1
        for (uint32 side = me; side < 2; side += lanes) {
            const uint32 which = side == 0 ? of_first : low > high ? 0 : rest, part = (side == 0 ? from : to) / OF_PART;
            if (which)
                sum.add(sum_of(t, fold_part_of_tile(t, part, which)));
        }
        for_parts(low, high, me, lanes, [&](const tile_part &part, uint32, bool) { sum.add(sum_of(t, part)); });
        return sum;
    }
#endif
    /* Of [begin, end), which 'lanes' neighbours share, a power of two: 'me' is the lane's number among them. With several,
     * all lanes of a warp call this. All that share have the sum. */
    tile_sum of_lanes(const tile &t, uint32 begin, uint32 end, uint32 me, uint32 lanes) const {
        tile_sum sum = share_of(t, begin, end, me, lanes);
#pragma unroll 1
        for (uint32 d = 1; d < lanes; d *= 2)
            sum.add_across((int)d);
        return sum.of_elements(end - begin);
    }
    tile_sum between(const tile &t, uint32 begin, uint32 end) const {
        return share_of(t, begin, end, 0, 1).of_elements(end - begin);
    }
};

/* How the threads of a block share so many groups: 2^bits neighbours have each. */
struct sharing {
    int bits;

    explicit sharing(uint32 groups) : bits(__clz((int32)(groups - 1)) - __clz(BLOCK - 1)) {
        bits = bits < 0 ? 0 : bits > 5 ? 5 : bits;
    }
    uint32 lanes() const {
        return 1u << bits;
    }
    uint32 me() const { /* among them */
        return threadIdx.x & (lanes() - 1);
    }
    uint32 group() const { /* the first one; the next one is 'step' behind it */
        return threadIdx.x >> bits;
    }
    uint32 group_in_warp() const {
        return threadIdx.x % WARP >> bits;
    }
    uint32 step() const {
        return (uint32)BLOCK >> bits;
    }
};
static_assert(WARP == 1 << 5 && (BLOCK & (BLOCK - 1)) == 0);

/* Fills it. All threads of the block call this; it is known after the next barrier. */
inline void add_up_tile(tile_sums &s, const tile &t) {
    const uint32 first = threadIdx.x * MINE, large = threadIdx.x / OF_THREADS;
#if MOMENTS
    constexpr double n = MINE * OF_PART;
    const double pivot = element_of(t, first * OF_PART);
    powers all;
#pragma unroll
    for (int k = 0; k < MINE; k++) {
        const tile_part part = fold_part_of_tile(t, first + k);
        s.put(first + k, part);
        if (k == 0) {
            all.distances = part.distances;
            all.squares = part.squares;
        } else {
            all.add_powers(moved(part, OF_PART, element_of(t, (first + k) * OF_PART) - pivot));
        }
    }
    double centre = __fma_rn(all.distances, 1 / n, pivot) * (1.0 / OF_THREADS);
#pragma unroll
    for (int d = 1; d < OF_THREADS; d *= 2)
        centre += from_across(centre, d);
    all = moved(all, n, pivot - centre);
#pragma unroll
    for (int d = 1; d < OF_THREADS; d *= 2)
        all.add_from([=](double value) { return from_across(value, d); });
    const tile_part of_threads = {(part_t)all.distances, (part_t)all.squares};
    if (threadIdx.x % OF_THREADS == 0)
        s.centres[large] = centre;
#else
    tile_lane all = identity_as<tile_lane>();
#pragma unroll 2
    for (int k = 0; k < MINE; k++) {
        const tile_lane lane = fold_part_of_tile(t, first + k, ~0u);
        s.put(first + k, lane);
        all = combine(all, lane);
    }
    tile_lane of_threads = all;
#pragma unroll
    for (int d = 1; d < OF_THREADS; d *= 2)
        of_threads = combine(of_threads, from_across(of_threads, d));
#endif
    if (threadIdx.x % OF_THREADS == 0)
        s.put(TILE_PARTS + large, of_threads);
}
#endif
