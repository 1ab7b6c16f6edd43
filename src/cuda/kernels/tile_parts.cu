/* Reductions of a tile's segments from parts, of narrow elements whose reductions cannot be undone: extremes, their places,
 * bits. The tile keeps what each of its vectors has, each 8, and each 64. A segment is a lane's: some elements at its ends,
 * and in between as few parts as there are. So an element costs the same wherever segments begin. */
#if HAS_PARTS
struct tile_sum {
    enum { WORDS = sizeof(tile_lane) / 4 };
    tile_lane lane = identity_as<tile_lane>();

    void add(const tile_lane &more) {
        lane = combine(lane, more);
    }
    acc_t accumulator(const tile &t, uint32) const {
        return widen_in(t, lane);
    }
    result_t result(const tile &t, uint32 begin, uint32 end) const {
        return lower(lane, end - begin, index_in(t, begin));
    }
};

/* Elements of a vector, a bit each, whose first one's place is 'place'; there is one at least. */
inline tile_lane fold_vector(const uint4 &vector, uint32 which, uint32 place) {
    in_t x[A_VECTOR];
    memcpy(x, &vector, 16);
    brief<tile_lane> run;
#pragma unroll
    for (int k = 0; k < A_VECTOR; k++)
        if (which >> k & 1)
            run.append(value_of(x[k]), value_t(0), k);
    tile_lane lane = run.sum();
#if HAS_PLACE_KEYS
    lane.key += place;
#elif IS_ARGMIN || IS_ARGMAX
    lane.a1 += place;
#endif
    return lane;
}

struct tile_sums {
    enum { WORDS = tile_sum::WORDS, OF_8 = TILE_VECTORS, OF_64 = OF_8 + TILE_VECTORS / 8, PARTS = OF_64 + TILE_VECTORS / 64 };
    alignas(16) uint32 words[WORDS][PARTS];
    uint32 last; /* the beginning of the segment that goes on behind the tile */
    uint32 skew; /* elements in front of the tile's first */

    void put(uint32 at, const tile_lane &lane) {
        uint32 bits[WORDS];
        memcpy(bits, &lane, sizeof bits);
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            words[w][at] = bits[w];
    }
    tile_lane part(uint32 at) const {
        tile_lane lane;
        uint32 bits[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            bits[w] = words[w][at];
        memcpy(&lane, bits, sizeof bits);
        return lane;
    }
    tile_sum between(const tile &t, uint32 begin, uint32 end) const {
        const uint32 from = begin + skew, to = end + skew, high = to / A_VECTOR;
        uint32 low = (from + A_VECTOR - 1) / A_VECTOR; /* whole vectors [low, high) */
        const uint32 first = from % A_VECTOR, rest = (1u << to % A_VECTOR) - 1;
        const uint32 of_first = (low > high ? rest : first ? ~0u : 0) & ~0u << first;
        tile_sum sum;
#pragma unroll 1
        for (int side = 0; side < 2; side++) {
            const uint32 which = side == 0 ? of_first : low > high ? 0 : rest, vector = (side == 0 ? from : to) / A_VECTOR;
            if (which)
                sum.add(fold_vector(*place_of<uint4>(t.x, vector), which, vector * A_VECTOR - skew));
        }
#pragma unroll 1
        while (low < high) {
            const int of_64 = low % 64 == 0 && low + 64 <= high, of_8 = low % 8 == 0 && low + 8 <= high;
            const int level = of_64 ? 6 : of_8 ? 3 : 0;
            sum.add(part((of_64 ? OF_64 : of_8 ? OF_8 : 0) + (low >> level)));
            low += 1u << level;
        }
        return sum;
    }
    /* For each lane of a warp; bad ones may have anything. */
    tile_sum of_lane(const tile &t, uint32 begin, uint32 end) const {
        end = end < t.count ? end : t.count;
        return between(t, begin < end ? begin : end, end);
    }
};

/* Fills it. All threads of the block call this; it is known after the next barrier. */
inline void add_up_tile(tile_sums &s, const tile &t) {
    enum { MINE = TILE_VECTORS / BLOCK };
    static_assert(MINE == 8);
    const uint32 first = threadIdx.x * MINE;
    tile_sum sum;
#pragma unroll 2
    for (int v = 0; v < MINE; v++) {
        const uint4 bits = *place_of<uint4>(t.x, first + v);
        const tile_lane lane = fold_vector(bits, ~0u, (first + v) * A_VECTOR - s.skew);
        s.put(first + v, lane);
        sum.add(lane);
    }
    s.put(tile_sums::OF_8 + threadIdx.x, sum.lane);
#pragma unroll
    for (int d = 1; d < 8; d *= 2)
        sum.add(from_above(sum.lane, d));
    if (threadIdx.x % 8 == 0)
        s.put(tile_sums::OF_64 + threadIdx.x / 8, sum.lane);
}
#endif
