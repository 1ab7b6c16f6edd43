/* Reductions by labels of integers (label_sums.cu), of more groups than the tables of a few blocks hold. The elements
 * are first moved into buckets of neighbouring groups, in any order, and a block adds a bucket, or a part of a large
 * one, to its table. */
enum {
    BUCKET_TILE = BUCKET_THREADS * BUCKET_ITEMS,
    TOGETHER = sizeof(in_t) == 8 ? 2 : 4, /* neighbouring elements that a thread adds together */
    AT_ONCE = 2                           /* such vectors that are loaded together */
};

inline bool is_label(const buckets_args &p, index_t label) {
    return sizeof(index_t) <= 4 ? (uint32)label < (uint32)p.of.groups : (uint64)label < p.of.groups;
}

/* The labels of a thread's elements of the tile, ~0 for those that are out of range. */
inline void load_tile(const buckets_args &p, uint64 first, uint32 room, uint32 to[BUCKET_ITEMS], uint64 *first_bad) {
    index_t label[BUCKET_ITEMS];
    load_some<BUCKET_ITEMS>(p.of.labels + first, BUCKET_THREADS, room, label);
#pragma unroll
    for (int j = 0; j < BUCKET_ITEMS; j++) {
        const bool is_there = j * BUCKET_THREADS < room, is_good = is_label(p, label[j]);
        to[j] = is_there && is_good ? (uint32)label[j] : ~0u;
        if (is_there && !is_good && first + j * BUCKET_THREADS < *first_bad)
            *first_bad = first + j * BUCKET_THREADS;
    }
}

inline uint32 room_in(const buckets_args &p, uint64 tile) {
    const uint64 rest = p.of.n - tile;
    const uint32 count = rest < BUCKET_TILE ? (uint32)rest : (uint32)BUCKET_TILE;
    return threadIdx.x < count ? count - threadIdx.x : 0;
}

/* ---- how many elements a bucket has ---- */

extern "C" __global__ void __launch_bounds__(BUCKET_THREADS) count_buckets(buckets_args p SIZED) {
    TAKE_SIZE(p.of.n)
    __shared__ uint32 count[MOST_BUCKETS];
    uint64 first_bad = ~0ull;
    for (uint32 b = threadIdx.x; b < MOST_BUCKETS; b += BUCKET_THREADS)
        count[b] = 0;
    __syncthreads();
    for (uint64 tile = blockIdx.x * (uint64)BUCKET_TILE; tile < p.of.n; tile += gridDim.x * (uint64)BUCKET_TILE) {
        uint32 label[BUCKET_ITEMS];
        load_tile(p, tile + threadIdx.x, room_in(p, tile), label, &first_bad);
#pragma unroll
        for (int j = 0; j < BUCKET_ITEMS; j++)
            if (label[j] != ~0u)
                atomicAdd(&count[label[j] >> p.of.shift], 1u);
    }
    __syncthreads();
    for (uint32 b = threadIdx.x; b < p.of.buckets; b += BUCKET_THREADS)
        if (count[b])
            atomicAdd(p.counts + b, (uint64)count[b]);
    if (!p.of.skips && first_bad != ~0ull) {
        atomicOr(&p.of.told->refused, 1u);
        atomicMax(&p.of.told->not_bad, ~first_bad);
    }
}

/* ---- where buckets and their tasks begin ---- */

/* Turns a number of each thread into the sum of those before it. */
template <class T> inline T sum_before(T mine, T *of_warps) {
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    T up_to = mine;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const T other = from_below(up_to, d);
        up_to += (int)lane >= d ? other : 0;
    }
    __syncthreads(); /* earlier use of the memory */
    if (lane == WARP - 1)
        of_warps[warp] = up_to;
    __syncthreads();
    T before = up_to - mine;
    for (uint32 w = 0; w < warp; w++)
        before += of_warps[w];
    return before;
}

extern "C" __global__ void __launch_bounds__(MOST_BUCKETS) place_buckets(buckets_args p SIZED) {
    TAKE_SIZE(p.of.n)
    __shared__ uint64 of_warps[MOST_BUCKETS / WARP];
    const uint32 b = threadIdx.x;
    const uint64 count = b < p.of.buckets ? p.counts[b] : 0, tasks = (count + p.task - 1) / p.task;
    const uint64 start = sum_before(count, of_warps), first_task = sum_before(tasks, of_warps);
    if (b <= p.of.buckets) {
        p.starts[b] = p.next[b] = start;
        p.of.tasks[b] = first_task;
    }
    if (b == MOST_BUCKETS - 1) { /* of as many buckets there is no thread for their end */
        p.starts[MOST_BUCKETS] = start + count;
        p.of.tasks[MOST_BUCKETS] = first_task + tasks;
    }
}

/* ---- moving ---- */

struct bucket_memory {
    uint32 count[MOST_BUCKETS]; /* of the tile's elements; then where they stand in the tile */
    uint64 to[MOST_BUCKETS];    /* where they go, less that */
    uint32 of_warps[BUCKET_THREADS / WARP];
    uint32 total; /* elements of the tile whose labels are in range */
    uint32 label[BUCKET_TILE];
    alignas(16) in_t x[BUCKET_TILE];
};
static_assert(sizeof(bucket_memory) <= BUCKET_SHARED);

inline uint32 place_tile(bucket_memory &s, const buckets_args &p) {
    constexpr int EACH = MOST_BUCKETS / BUCKET_THREADS;
    uint32 count[EACH], mine = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        count[k] = s.count[threadIdx.x * EACH + k];
        mine += count[k];
    }
    uint32 before = sum_before(mine, s.of_warps);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const uint32 b = threadIdx.x * EACH + k;
        s.count[b] = before;
        if (count[k])
            s.to[b] = atomicAdd(p.next + b, (uint64)count[k]) - before;
        before += count[k];
    }
    if (threadIdx.x == BUCKET_THREADS - 1)
        s.total = before;
    __syncthreads();
    return s.total;
}

inline void move_tile(bucket_memory &s, const buckets_args &p, uint64 tile) {
    uint32 label[BUCKET_ITEMS], rank[BUCKET_ITEMS];
    in_t x[BUCKET_ITEMS];
    uint64 bad = ~0ull;
    const uint32 room = room_in(p, tile);
    load_tile(p, tile + threadIdx.x, room, label, &bad);
    load_some<BUCKET_ITEMS>(p.of.x + tile + threadIdx.x, BUCKET_THREADS, room, x);
    for (uint32 b = threadIdx.x; b < MOST_BUCKETS; b += BUCKET_THREADS)
        s.count[b] = 0;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < BUCKET_ITEMS; j++)
        rank[j] = label[j] != ~0u ? atomicAdd(&s.count[label[j] >> p.of.shift], 1u) : 0;
    __syncthreads();
    const uint32 count = place_tile(s, p);
#pragma unroll
    for (int j = 0; j < BUCKET_ITEMS; j++)
        if (label[j] != ~0u) {
            const uint32 at = s.count[label[j] >> p.of.shift] + rank[j];
            s.label[at] = label[j];
            s.x[at] = x[j];
        }
    __syncthreads();
#pragma unroll 4
    for (uint32 at = threadIdx.x; at < count; at += BUCKET_THREADS) {
        const uint32 here = s.label[at];
        const uint64 to = s.to[here >> p.of.shift] + at;
        p.moved_x[to] = s.x[at];
        p.moved_labels[to] = (uint16)(here & (p.of.width - 1));
    }
    __syncthreads();
}

inline void clear_totals_of_groups(const buckets_args &p) {
    const uint64 words = ALL_WORDS * p.of.groups;
    for (uint64 k = blockIdx.x * (uint64)BUCKET_THREADS + threadIdx.x; k < words;
         k += gridDim.x * (uint64)BUCKET_THREADS)
        p.of.totals[k] = 0;
}

extern "C" __global__ void __launch_bounds__(BUCKET_THREADS, 1) move_to_buckets(buckets_args p SIZED) {
    TAKE_SIZE(p.of.n)
    extern __shared__ __align__(16) uint8 bucket_bytes[];
    bucket_memory &s = *(bucket_memory *)bucket_bytes;
    clear_totals_of_groups(p);
    for (uint64 tile = blockIdx.x * (uint64)BUCKET_TILE; tile < p.of.n; tile += gridDim.x * (uint64)BUCKET_TILE)
        move_tile(s, p, tile);
}

/* ---- adding ---- */

/* By vectors that begin before the stretch or end behind it. */
template <bool HasHot>
inline void add_stretch(word_table<false> &table, const buckets_args &p, uint64 begin, uint64 end, uint32 hot) {
    const uint32 count = (uint32)(end - begin);
    enum { STRIDE = TOGETHER * WORD_THREADS };
    for (uint64 i = begin / TOGETHER * TOGETHER + TOGETHER * threadIdx.x; i < end; i += AT_ONCE * STRIDE) {
        few<in_t, TOGETHER> x[AT_ONCE];
        few<uint16, TOGETHER> label[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const uint64 at = i + k * STRIDE;
            label[k] = load_few<TOGETHER>(p.moved_labels + (at < end ? at : i));
            x[k] = load_few<TOGETHER>(p.moved_x + (at < end ? at : i));
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            value_t value[TOGETHER];
            uint32 at[TOGETHER];
#pragma unroll
            for (int j = 0; j < TOGETHER; j++) {
                const uint32 number = (uint32)(i - begin) + k * STRIDE + j; /* in the stretch */
                value[j] = value_of(x[k].element[j]);
                const bool is_there = number < count && !(SKIPS_NAN && is_nan(value[j]));
                at[j] = table.template place_of<HasHot>(is_there, label[k].element[j], hot);
            }
            table.template add<TOGETHER>(value, at, hot);
        }
    }
}

extern "C" __global__ void __launch_bounds__(WORD_THREADS, 1) add_buckets(buckets_args p SIZED) {
    TAKE_SIZE(p.of.n)
    extern __shared__ __align__(16) uint8 word_memory[];
    volatile uint32 &has_spilled = *(uint32 *)word_memory;
    if (blockIdx.x >= p.of.tasks[p.of.buckets])
        return;
    uint32 bucket = 0, above = p.of.buckets;
    while (above - bucket > 1) {
        const uint32 middle = (bucket + above) / 2;
        if (p.of.tasks[middle] <= blockIdx.x)
            bucket = middle;
        else
            above = middle;
    }
    const uint64 task = blockIdx.x - p.of.tasks[bucket], begin = p.starts[bucket] + task * p.task;
    const uint64 end = begin + p.task < p.starts[bucket + 1] ? begin + p.task : p.starts[bucket + 1];
    const uint64 first = (uint64)bucket << p.of.shift;
    word_table<false> table(p.of, (uint32 *)word_memory + 4, (uint32)first);
    table.clear();
    if (threadIdx.x == 0)
        has_spilled = 0;
    __syncthreads();
    const uint32 hot = p.of.window->hot - 1 - (uint32)first;
    const bool has_hot = p.of.window->hot && hot < p.of.width;
    if (has_hot) {
        add_stretch<true>(table, p, begin, end, hot);
        __syncthreads();
        table.give_hot(hot);
    } else {
        add_stretch<false>(table, p, begin, end, 0);
    }
    if (table.has_spilled || has_hot)
        atomicOr((uint32 *)word_memory, 1u);
    __syncthreads();
    const bool is_whole = is_one_task(p.of, first), is_refused = p.of.told->refused;
    for (uint32 g = threadIdx.x; g < p.of.width && first + g < p.of.groups; g += WORD_THREADS) {
        word_sum sum = table.sum_at(g);
        uint32 *const total = p.of.totals + first + g;
        if (!is_whole) {
            add_to_all(total, p.of.groups, sum);
        } else if (!is_refused) {
            if (has_spilled)
                sum.add(total_at(total, p.of.groups));
            store(p.of.out + first + g, result_of(p.of, sum));
        }
    }
#if IS_WINDOW
    if (table.failed)
        atomicOr(&p.of.window->failed, 1u);
#endif
}
