/* Reductions of a tile's segments from parts of the tile: places of narrow extremes, and variances where tile_sums.cu has no
 * differences. The tile keeps what some elements have together, what a thread has, and 8 threads. A segment is a lane's:
 * some elements at its ends, and in between as few parts as there are. So an element costs the same wherever segments
 * begin. */
#if HAS_PARTS
enum {
    SPAN = sizeof(in_t) <= 2 && !MOMENTS ? 1 : 2, /* vectors of a part */
    OF_PART = SPAN * A_VECTOR,        /* elements */
    TILE_PARTS = TILE / OF_PART,
    MINE = TILE_PARTS / BLOCK, /* parts of a thread */
    OF_THREADS = 8,
};
static_assert((MINE & (MINE - 1)) == 0 && (OF_PART & (OF_PART - 1)) == 0);

inline void read_part(const tile &t, uint32 part, in_t (&x)[OF_PART]) {
#pragma unroll
    for (int v = 0; v < SPAN; v++) {
        const uint4 bits = *place_of<uint4>(t.x, part * SPAN + v);
        memcpy(x + v * A_VECTOR, &bits, 16);
    }
}

#if MOMENTS
/* Sums of distances from the first element of the part or thread, and of their squares. An element that is not finite
 * makes the squares NaN, also where they could overflow. */
typedef powers tile_part;
struct centred_part {
    double centre;
    powers of;
};

/* Takes them from a number that is less by 'by'. */
inline powers moved(powers part, double n, double by) {
    const double squares = part.squares;
    part.move(n, by);
    if (CAN_OVERFLOW && is_nan(part.squares) && !is_nan(squares))
        part.squares = 2 * range<double>::highest();
    return part;
}

struct tile_sum {
    running<acc_t> sum;

    void add_part(const powers &part, uint32 n, double pivot) {
        sum.add_powers(moved(part, small_number(n), pivot - sum.shift));
        sum.count += n;
        if (CAN_OVERFLOW && is_nan(part.squares))
            sum.zero = part.squares;
    }
    acc_t accumulator(const tile &, uint32) const {
        return sum.sum();
    }
    result_t result(const tile &, uint32, uint32) const {
        return sum.result(0);
    }
};

inline double element_of(const tile &t, uint32 e) {
    return (double)value_of(*place_of<in_t>(t.x, e));
}
inline powers fold_part_of_tile(const tile &t, uint32 part, double *pivot) {
    in_t x[OF_PART];
    read_part(t, part, x);
    *pivot = (double)value_of(x[0]);
    powers of;
    double zero = *pivot * 0.0;
#pragma unroll
    for (int k = 1; k < OF_PART; k++) {
        const double number = (double)value_of(x[k]);
        of.add_distance(number - *pivot);
        zero = __fma_rn(number, 0.0, zero);
    }
    of.squares += CAN_OVERFLOW ? zero : 0;
    return of;
}
#else

struct tile_sum {
    tile_lane all = identity_as<tile_lane>();

    void add(const tile_lane &more) {
        all = combine(all, more);
    }
    acc_t accumulator(const tile &t, uint32) const {
        return widen_in(t, all);
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
inline tile_lane fold_part_of_tile(const tile &t, uint32 part, uint32 which, uint32 skew) {
    in_t x[OF_PART];
    read_part(t, part, x);
#if HAS_PLACE_KEYS
    enum { IN_WORD = 4 / sizeof(in_t) };
    uint32 words[4];
    memcpy(words, x, 16);
    tile_lane lane = identity_as<tile_lane>();
#pragma unroll
    for (int k = 0; k < OF_PART; k++)
        if (which >> k & 1)
            lane = combine(lane, key_in(IS_ARGMAX ? ~words[k / IN_WORD] : words[k / IN_WORD], k % IN_WORD, k));
    lane.key += part * OF_PART - skew;
    return lane;
#else
    brief<tile_lane> run;
#pragma unroll
    for (int k = 0; k < OF_PART; k++)
        if (which >> k & 1)
            run.append(value_of(x[k]), value_t(0), k);
    tile_lane lane = run.sum();
    lane.a1 += part * OF_PART - skew;
    return lane;
#endif
}

typedef tile_lane tile_part, centred_part;
#endif

/* A word of each part after the other. */
template <class T, int Count> struct words_of {
    enum { WORDS = sizeof(T) / 4 };
    alignas(16) uint32 words[WORDS][Count];

    void put(uint32 at, const T &value) {
        uint32 bits[WORDS];
        memcpy(bits, &value, sizeof bits);
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            words[w][at] = bits[w];
    }
    T get(uint32 at) const {
        T value;
        uint32 bits[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            bits[w] = words[w][at];
        memcpy(&value, bits, sizeof bits);
        return value;
    }
};

struct tile_sums {
    enum { OF_MANY = MINE * OF_THREADS /* parts */ };
    words_of<tile_part, TILE_PARTS + BLOCK> parts; /* and then those of threads */
    words_of<centred_part, BLOCK / OF_THREADS> of_threads;
    uint32 last; /* the beginning of the segment that goes on behind the tile */
    uint32 skew; /* elements in front of the tile's first */

#if MOMENTS
    /* Distances are taken from the mean of the largest part that there is, so few bits are lost. */
    tile_sum between(const tile &t, uint32 begin, uint32 end) const {
        const uint32 high = end / OF_PART, many = (begin + OF_PART * OF_MANY - 1) / (OF_PART * OF_MANY);
        const uint32 thread = (begin + OF_PART * MINE - 1) / (OF_PART * MINE);
        uint32 low = (begin + OF_PART - 1) / OF_PART;
        const bool has_many = (many + 1) * OF_MANY <= high, has_thread = (thread + 1) * MINE <= high;
        tile_sum sum;
        sum.sum.has_shift = true;
        if (has_many) {
            sum.sum.shift = of_threads.get(many).centre;
        } else if (low < high) {
            const uint32 first = has_thread ? thread * MINE : low;
            const double scale = has_thread ? 1.0 / (OF_PART * MINE) : 1.0 / OF_PART;
            const double distances = parts.get(has_thread ? TILE_PARTS + thread : low).distances;
            sum.sum.shift = __fma_rn(distances, scale, element_of(t, first * OF_PART));
        } else if (begin < end) {
            sum.sum.shift = element_of(t, begin);
        }
        const uint32 behind = low < high ? low * OF_PART : end; /* the first ones */
#pragma unroll 1
        for (uint32 e = begin; e < end; e++) {
            e = e == behind ? high * OF_PART : e;
            if (e < end)
                sum.sum.add_from_shift(value_of(*place_of<in_t>(t.x, e)));
        }
#pragma unroll 1
        while (low < high) {
            if (low % OF_MANY == 0 && low + OF_MANY <= high) {
                const centred_part part = of_threads.get(low / OF_MANY);
                sum.add_part(part.of, OF_MANY * OF_PART, part.centre);
                low += OF_MANY;
            } else {
                const bool is_thread = low % MINE == 0 && low + MINE <= high;
                const powers part = parts.get(is_thread ? TILE_PARTS + low / MINE : low);
                sum.add_part(part, is_thread ? MINE * OF_PART : OF_PART, element_of(t, low * OF_PART));
                low += is_thread ? MINE : 1;
            }
        }
        return sum;
    }
#else
    tile_sum between(const tile &t, uint32 begin, uint32 end) const {
        const uint32 from = begin + skew, to = end + skew, high = to / OF_PART;
        uint32 low = (from + OF_PART - 1) / OF_PART; /* whole parts [low, high) */
        const uint32 first = from % OF_PART, rest = (1u << to % OF_PART) - 1;
        const uint32 of_first = (low > high ? rest : first ? ~0u : 0) & ~0u << first;
        tile_sum sum;
#pragma unroll 1
        for (int side = 0; side < 2; side++) {
            const uint32 which = side == 0 ? of_first : low > high ? 0 : rest, part = (side == 0 ? from : to) / OF_PART;
            if (which)
                sum.add(fold_part_of_tile(t, part, which, skew));
        }
#pragma unroll 1
        while (low < high) {
            const bool are_many = low % OF_MANY == 0 && low + OF_MANY <= high;
            const bool is_thread = low % MINE == 0 && low + MINE <= high;
            sum.add(are_many ? of_threads.get(low / OF_MANY) : parts.get(is_thread ? TILE_PARTS + low / MINE : low));
            low += are_many ? OF_MANY : is_thread ? MINE : 1;
        }
        return sum;
    }
#endif
    /* For each lane of a warp; bad ones may have anything. */
    tile_sum of_lane(const tile &t, uint32 begin, uint32 end) const {
        end = end < t.count ? end : t.count;
        return between(t, begin < end ? begin : end, end);
    }
};

/* Fills it. All threads of the block call this; it is known after the next barrier. */
inline void add_up_tile(tile_sums &s, const tile &t) {
    const uint32 first = threadIdx.x * MINE;
#if MOMENTS
    constexpr double n = MINE * OF_PART;
    const double pivot = element_of(t, first * OF_PART);
    powers all;
#pragma unroll 1
    for (int k = 0; k < MINE; k++) {
        double of_part;
        const powers part = fold_part_of_tile(t, first + k, &of_part);
        s.parts.put(first + k, part);
        all.add_powers(moved(part, OF_PART, of_part - pivot));
    }
    s.parts.put(TILE_PARTS + threadIdx.x, all);
    double centre = __fma_rn(all.distances, 1 / n, pivot) * (1.0 / OF_THREADS);
#pragma unroll
    for (int d = 1; d < OF_THREADS; d *= 2)
        centre += from_across(centre, d);
    all = moved(all, n, pivot - centre);
#pragma unroll
    for (int d = 1; d < OF_THREADS; d *= 2)
        all.add_from([=](double value) { return from_across(value, d); });
    const centred_part of_threads = {centre, all};
#else
    tile_lane all = identity_as<tile_lane>();
#pragma unroll 2
    for (int k = 0; k < MINE; k++) {
        const tile_lane lane = fold_part_of_tile(t, first + k, ~0u, s.skew);
        s.parts.put(first + k, lane);
        all = combine(all, lane);
    }
    s.parts.put(TILE_PARTS + threadIdx.x, all);
    tile_lane of_threads = all;
#pragma unroll
    for (int d = 1; d < OF_THREADS; d *= 2)
        of_threads = combine(of_threads, from_above(of_threads, d));
#endif
    if (threadIdx.x % OF_THREADS == 0)
        s.of_threads.put(threadIdx.x / OF_THREADS, of_threads);
}
#endif
