/* Where segments begin: which offsets make heads in a tile, and marks at those places. */

/* The offsets that make heads in a tile. */
struct bounds {
    uint64 from;
    int count;
};
inline bounds bounds_at(const scan_args &p, uint64 turn, uint64 turns) {
    if (turn >= turns)
        return {0, 0};
    const uint64 *first = p.first_offset + tile_at(p, turn).rank;
    return {first[0], (int)(first[1] - first[0])};
}

/* A team marks the heads of its next tile while it works on this one: many segments begin in a tile or few, and the way
 * to their offsets is long. */
struct markers {
    enum { AHEAD = 2 }; /* offsets a thread that are on their way from one tile to the next */
    index_t few[AHEAD];
    bounds next;

    void load_few(const scan_args &p, int thread) {
        if (((uint64)p.index & (sizeof(index_t) - 1)) == 0) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (thread + k * FINISHERS < next.count)
                    few[k] = __ldcs(p.index + next.from + thread + k * FINISHERS);
        } else {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (thread + k * FINISHERS < next.count)
                    few[k] = load(p.index + next.from + thread + k * FINISHERS);
        }
    }
    static void clear(uint8 *marks, int thread) {
        for (int v = thread; v < MARKS / 16; v += FINISHERS)
            ((uint4 *)marks)[v] = uint4{0, 0, 0, 0};
    }
    void mark(const scan_args &p, uint8 *marks, uint64 low, int thread) const {
        low += REVERSE;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (thread + k * FINISHERS < next.count)
                marks[(uint64)few[k] - low] = 1;
        const index_t *rest = p.index + next.from;
        if (((uint64)p.index & (sizeof(index_t) - 1)) == 0) {
#pragma unroll 8
            for (int g = AHEAD * FINISHERS + thread; g < next.count; g += FINISHERS)
                marks[(uint64)__ldcs(rest + g) - low] = 1;
        } else {
            for (int g = AHEAD * FINISHERS + thread; g < next.count; g += FINISHERS)
                marks[(uint64)load(rest + g) - low] = 1;
        }
    }
};
