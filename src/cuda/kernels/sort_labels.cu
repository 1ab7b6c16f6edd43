/* Reductions by labels: sorts the elements by label, without changing the order of equal ones, so that each group is a
 * segment (cuda/labels.c). A pass sorts by one digit of the labels, from the lowest to the highest, in three launches:
 * each block counts the digits of its chunk, one block turns these numbers into places, and the blocks move their
 * chunks. A block first sorts each tile in shared memory, so that it writes neighbouring elements together. */
enum {
    THREADS = LABEL_THREADS,
    WARPS = THREADS / WARP,
    DIGITS = 1 << DIGIT_BITS,
    WIDEST = IS_INDEXED || sizeof(in_t) == 8 ? 8 : 4, /* bytes of what is moved at a time */
    ITEMS = 8,                                        /* of a thread; with 16 registers spill */
    SORT_TILE = THREADS * ITEMS
};
static_assert(SORT_TILE == LABEL_TILE);

/* Whether label_sums.cu has given the results. */
inline bool is_done(const labels_args &p) {
    return p.window && !p.window->failed;
}

/* ---- labels ---- */

/* Labels that are out of range are told, and become a number that is sorted with the others. */
template <int Count>
inline void load_labels(const labels_args &p, uint64 first, uint32 apart, uint32 room, uint32 to[Count],
                        uint64 *first_bad) {
    if (p.from) {
        load_some<Count>(p.from + first, apart, room, to);
        return;
    }
    index_t label[Count];
    load_some<Count>(p.labels + first, apart, room, label);
#pragma unroll
    for (int j = 0; j < Count; j++) {
        const bool is_good = (uint64)label[j] < p.groups;
        to[j] = is_good ? (uint32)label[j] : p.skips ? (uint32)p.groups : 0;
        if (!is_good && j * apart < room && first + j * apart < *first_bad)
            *first_bad = first + j * apart;
    }
}

inline uint32 digit_of(const labels_args &p, uint32 label) {
    return label >> p.shift & (DIGITS - 1);
}

/* The lanes of the warp with the same digit as this one; none for a lane that is not there. */
inline uint32 same_digit(uint32 digit, bool is_there) {
    uint32 same = __ballot_sync(ALL_LANES, is_there);
#pragma unroll
    for (int b = 0; b < DIGIT_BITS; b++) {
        const bool has_bit = digit >> b & 1;
        const uint32 lanes = __ballot_sync(ALL_LANES, has_bit);
        same &= has_bit ? lanes : ~lanes;
    }
    return is_there ? same : 0;
}

inline uint32 lanes_below() {
    return (1u << threadIdx.x % WARP) - 1;
}

/* ---- the first launch of a pass ---- */

/* The first pass also looks for labels that are out of range. */
extern "C" __global__ void __launch_bounds__(THREADS) count_digits(labels_args p SIZED) {
    TAKE_SIZE(p.n)
    if (is_done(p))
        return;
    __shared__ uint32 count[DIGITS];
    const uint64 begin = blockIdx.x * p.chunk, end = begin + p.chunk < p.n ? begin + p.chunk : p.n;
    uint64 first_bad = ~0ull;
    for (uint32 d = threadIdx.x; d < DIGITS; d += THREADS)
        count[d] = 0;
    __syncthreads();
    for (uint64 first = begin; first < end; first += SORT_TILE) {
        const uint32 room = end - first < SORT_TILE ? (uint32)(end - first) : (uint32)SORT_TILE, own = threadIdx.x;
        uint32 label[ITEMS];
        load_labels<ITEMS>(p, first + own, THREADS, own < room ? room - own : 0, label, &first_bad);
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            if (own + j * THREADS < room)
                atomicAdd(&count[digit_of(p, label[j])], 1u);
    }
    __syncthreads();
    for (uint32 d = threadIdx.x; d < DIGITS; d += THREADS)
        p.places[d * (uint64)gridDim.x + blockIdx.x] = count[d];
    if (!p.skips && first_bad != ~0ull) {
        atomicOr(&p.told->refused, 1u);
        atomicMax(&p.told->not_bad, ~first_bad);
    }
}

/* ---- the second ---- */

/* One block: all numbers, by digit and then by chunk, become the sums of those before them. */
extern "C" __global__ void __launch_bounds__(THREADS) place_digits(labels_args p SIZED) {
    TAKE_SIZE(p.n)
    if (is_done(p))
        return;
    __shared__ uint64 of_warps[WARPS];
    const uint64 count = DIGITS * p.chunks;
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    uint64 before_row = 0;
    for (uint64 first = 0; first < count; first += ITEMS * THREADS) {
        const uint64 own = first + threadIdx.x * ITEMS;
        uint64 here[ITEMS], up_to = 0;
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            here[j] = own + j < count ? p.places[own + j] : 0;
#pragma unroll
        for (int j = 0; j < ITEMS; j++)
            up_to += here[j];
        const uint64 mine = up_to;
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            const uint64 other = from_below(up_to, d);
            up_to += (int)lane >= d ? other : 0;
        }
        __syncthreads(); /* earlier use of the memory */
        if (lane == WARP - 1)
            of_warps[warp] = up_to;
        __syncthreads();
        uint64 before = before_row + up_to - mine;
        for (uint32 w = 0; w < WARPS; w++) {
            before += w < warp ? of_warps[w] : 0;
            before_row += of_warps[w];
        }
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            if (own + j < count)
                p.places[own + j] = before;
            before += here[j];
        }
    }
}

/* ---- the third ---- */

struct sort_memory {
    alignas(16) uint8 elements[SORT_TILE * WIDEST];
    uint16 of_warps[WARPS][DIGITS]; /* elements of a digit that a warp has; then those before them in the tile */
    uint32 of_sums[DIGITS / WARP];
    uint64 places[DIGITS]; /* where a digit's elements go, less where they stand in the tile */
};

/* Counts the digits of a warp's elements of the tile. Returns in before[] the warp's elements with the same digit that
 * come before each. */
inline void rank_in_warp(sort_memory &s, const labels_args &p, const uint32 label[ITEMS], uint32 count,
                         uint16 before[ITEMS]) {
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (uint32 d = lane; d < DIGITS; d += WARP)
        s.of_warps[warp][d] = 0;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        const bool is_there = warp * (ITEMS * WARP) + j * WARP + lane < count;
        const uint32 digit = digit_of(p, label[j]), same = same_digit(digit, is_there);
        const uint32 seen = s.of_warps[warp][digit];
        before[j] = (uint16)(seen + __popc(same & lanes_below()));
        __syncwarp();
        if (is_there && (same & lanes_below()) == 0)
            s.of_warps[warp][digit] = (uint16)(seen + __popc(same));
        __syncwarp();
    }
}

/* A thread for each digit: turns the warps' counts into where their elements stand in the tile. 'next' is where the
 * digit's elements go. */
inline void place_warps(sort_memory &s, uint64 *next) {
    const uint32 digit = threadIdx.x, lane = threadIdx.x % WARP;
    uint32 total = 0, up_to = 0;
    if (digit < DIGITS) {
        for (int w = 0; w < WARPS; w++)
            total += s.of_warps[w][digit];
        up_to = total;
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            const uint32 other = from_below(up_to, d);
            up_to += (int)lane >= d ? other : 0;
        }
        if (lane == WARP - 1)
            s.of_sums[digit / WARP] = up_to;
    }
    __syncthreads();
    if (digit < DIGITS) {
        uint32 before = up_to - total;
        for (uint32 w = 0; w < digit / WARP; w++)
            before += s.of_sums[w];
        s.places[digit] = *next - before;
        *next += total;
        for (int w = 0; w < WARPS; w++) {
            const uint32 of_warp = s.of_warps[w][digit];
            s.of_warps[w][digit] = (uint16)before;
            before += of_warp;
        }
    }
    __syncthreads();
}

/* Writes the tile's elements, of which this thread has from[], in the order of their digits. digit[] is of the elements
 * that this thread writes. */
template <class T>
inline void move(sort_memory &s, T *to, const T from[ITEMS], const uint16 place[ITEMS], const uint8 digit[ITEMS],
                 uint32 count) {
    T *const elements = (T *)s.elements;
    __syncthreads(); /* earlier use of the memory */
#pragma unroll
    for (int j = 0; j < ITEMS; j++)
        if (place[j] < SORT_TILE)
            elements[place[j]] = from[j];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        const uint32 at = j * THREADS + threadIdx.x;
        if (at < count)
            to[s.places[digit[j]] + at] = elements[at];
    }
}

inline void sort_tile(sort_memory &s, const labels_args &p, uint64 first, uint32 count, uint64 *next) {
    const uint32 own = threadIdx.x / WARP * (ITEMS * WARP) + threadIdx.x % WARP;
    uint32 label[ITEMS];
    uint16 place[ITEMS];
    uint8 digit[ITEMS];
    uint64 bad = ~0ull;
    const uint32 room = own < count ? count - own : 0;
    load_labels<ITEMS>(p, first + own, WARP, room, label, &bad);
    in_t x[ITEMS];
    load_some<ITEMS>(p.x + first + own, WARP, room, x);
    __syncthreads(); /* the last tile's elements have been written */
    rank_in_warp(s, p, label, count, place);
    __syncthreads();
    place_warps(s, next);
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        const bool is_there = own + j * WARP < count;
        place[j] += s.of_warps[threadIdx.x / WARP][digit_of(p, label[j])];
        place[j] = is_there ? place[j] : (uint16)SORT_TILE;
        if (is_there)
            ((uint32 *)s.elements)[place[j]] = label[j];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        const uint32 at = j * THREADS + threadIdx.x;
        if (at >= count)
            continue;
        const uint32 of_place = ((const uint32 *)s.elements)[at];
        digit[j] = (uint8)digit_of(p, of_place);
        p.to[s.places[digit[j]] + at] = of_place;
    }
    move(s, p.to_x, x, place, digit, count);
#if HAS_SECOND
    load_some<ITEMS>(p.y + first + own, WARP, room, x);
    move(s, p.to_y, x, place, digit, count);
#endif
#if IS_INDEXED
    uint64 index[ITEMS];
#pragma unroll
    for (int j = 0; j < ITEMS; j++)
        index[j] = first + own + j * WARP;
    if (p.from)
        load_some<ITEMS>(p.indices + first + own, WARP, room, index);
    move(s, p.to_indices, index, place, digit, count);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) sort_by_digit(labels_args p SIZED) {
    TAKE_SIZE(p.n)
    if (is_done(p))
        return;
    __shared__ sort_memory s;
    const uint64 begin = blockIdx.x * p.chunk, end = begin + p.chunk < p.n ? begin + p.chunk : p.n;
    uint64 next = threadIdx.x < DIGITS ? p.places[threadIdx.x * (uint64)gridDim.x + blockIdx.x] : 0;
    for (uint64 first = begin; first < end; first += SORT_TILE)
        sort_tile(s, p, first, end - first < SORT_TILE ? (uint32)(end - first) : (uint32)SORT_TILE, &next);
}

/* ---- after the last pass ---- */

/* Where the groups begin. If there are results, or after a label out of range, the first offset is one that the
 * launches for segments refuse, so that they write nothing. */
extern "C" __global__ void __launch_bounds__(THREADS) find_groups(labels_args p SIZED) {
    const bool is_fit = HAS_SIZE(p.n);
    if (!is_fit || p.told->refused || is_done(p)) {
        if (blockIdx.x == 0 && threadIdx.x == 0)
            p.offsets[0] = ~0ull >> 1;
        return;
    }
    for (uint64 g = blockIdx.x * (uint64)THREADS + threadIdx.x; g <= p.groups; g += gridDim.x * (uint64)THREADS) {
        uint64 low = 0, high = p.n;
        while (low < high) {
            const uint64 middle = (low + high) / 2;
            if (p.from[middle] < g)
                low = middle + 1;
            else
                high = middle;
        }
        p.offsets[g] = low;
    }
}

/* Places among the sorted elements of a group become places in the input. */
extern "C" __global__ void __launch_bounds__(THREADS) find_indices(labels_args p SIZED) {
    TAKE_SIZE(p.n)
#if IS_INDEXED
    if (*p.refused)
        return;
    for (uint64 g = blockIdx.x * (uint64)THREADS + threadIdx.x; g < p.groups; g += gridDim.x * (uint64)THREADS) {
        const uint64 place = p.in_groups[g]; /* -1 of a group of NaNs that are left out */
        store(p.out + g, output<out_t>::of(place == NO_INDEX ? -1 : (int64)p.indices[p.offsets[g] + place]));
    }
#endif
}
