/* Scans of little input, all or each row, which a block's threads hold in registers: there is no ring to fill, and
 * nothing to clear. A block learns the sum before it in one of three ways. It is the only block of its row; or the row's
 * blocks are a cluster and exchange their sums; or each hands its sum over to all blocks after it (hand_over.cu). The
 * order of the additions follows from the number of blocks and threads alone.
 *
 * A warp has consecutive vectors of 16 bytes, in rows of one per lane. 'Logical' positions count in the direction of
 * the scan; elements lie at 'physical' positions. */

enum {
    HELD_BLOCK = 512,               /* threads of a block at most */
    HELD_BLOCKS = TALLY_ARCHITECTURE >= 80 ? 3 : 2, /* which a multiprocessor has registers and threads for */
    HELD_VECTOR = 16 / sizeof(in_t) /* elements of a vector */
};

/* The results of a vector of elements, and the largest word that they are whole numbers of. */
typedef few<result_t, HELD_VECTOR> held_results;
typedef typename word_of<(sizeof(held_results) < 16 ? sizeof(held_results) : 16)>::type held_word;
enum { HELD_WORDS = sizeof(held_results) / sizeof(held_word) };

/* The aligned vector at an address, with what of it is the array's; and some of a vector's results, written to any
 * address. Few threads need these, so they are calls, which keeps the code of the others short. */
__noinline__ uint4 gather(const uint8 *at, const uint8 *begin, const uint8 *end) {
    uint8 bytes[16] = {};
#pragma unroll
    for (int b = 0; b < 16; b++)
        if (at + b >= begin && at + b < end)
            bytes[b] = __ldcg(at + b);
    uint4 bits;
    memcpy(&bits, bytes, 16);
    return bits;
}
__noinline__ void scatter(result_t *to, const held_results results, int from, int until) {
#pragma unroll
    for (int k = 0; k < HELD_VECTOR; k++)
        if (k >= from && k < until)
            store(to + k, results.element[k]);
}
/* Writes the results of a warp's vectors, which are neighbours, to any address. Each aligned word is made of two
 * words, of which another lane may have the second. The results at both ends of the warp's are written one by one. */
inline void write_results(result_t *to, const held_results &results, int count) {
    const uint32 shift = (uint32)((uint64)to & (sizeof(held_word) - 1)), back = (uint32)sizeof(held_word) - shift;
    held_word word[HELD_WORDS + 1];
    memcpy(word, &results, sizeof results);
    if (!__all_sync(ALL_LANES, count == HELD_VECTOR)) {
        scatter(to, results, 0, count);
        return;
    }
    if (shift == 0) {
#pragma unroll
        for (int w = 0; w < HELD_WORDS; w++)
            ((held_word *)to)[w] = word[w];
        return;
    }
    const int lane = threadIdx.x % WARP, lowest = REVERSE ? WARP - 1 : 0, highest = WARP - 1 - lowest;
    word[HELD_WORDS] = REVERSE ? from_below(word[0], 1) : from_above(word[0], 1);
    held_word *aligned = (held_word *)((uint64)to + back);
#pragma unroll
    for (int w = 0; w < HELD_WORDS; w++)
        if (w + 1 < HELD_WORDS || lane != highest)
            aligned[w] = straddling_words(word + w, back);
    const int head = (int)((back + sizeof(result_t) - 1) / sizeof(result_t)),
              tail = HELD_VECTOR - (int)((shift + sizeof(result_t) - 1) / sizeof(result_t));
    if (lane == lowest || lane == highest)
        scatter(to, results, lane == lowest ? 0 : tail, lane == lowest ? head : HELD_VECTOR);
}

/* The place of the block's elements among those of the others in its row. */
inline uint32 number_of_block(const held_args &p) {
    return p.handed ? ordinal_of_block() : blockIdx.x;
}

/* One of a thread's vectors of elements, and their partners in the second input. */
struct held {
    uint64 low; /* physical position of its lowest element */
    int count;  /* number of elements */
    uint4 bits, second_bits;

    /* Adds the elements to 'left' in logical order, and calls each(k, before, after) for element k with the sums before
     * and after it. */
    template <class Each> acc_t add(const held_args &p, acc_t left, Each each) const {
        in_t few[HELD_VECTOR], partners[HELD_VECTOR];
        running<acc_t> sum = left;
        memcpy(few, &bits, 16);
        if (HAS_SECOND)
            memcpy(partners, &second_bits, 16);
#pragma unroll
        for (int j = 0; j < HELD_VECTOR; j++) {
            const int k = REVERSE ? HELD_VECTOR - 1 - j : j;
            const acc_t before = sum.sum();
            if (k < count)
                sum.add_next(value_of(few[k]), HAS_SECOND ? value_of(partners[k]) : value_t(0), low + k + p.before);
            each(k, before, sum.sum());
        }
        return sum.sum();
    }
    /* Writes the results; 'left' is the sum before. */
    void finish(const held_args &p, acc_t left) const {
        const uint64 first = REVERSE ? p.n - low - count : low; /* logical */
        held_results results;
        left = add(p, left, [&](int k, const acc_t &before, const acc_t &after) {
            const uint64 within = first + p.before + (REVERSE ? count - 1 - k : k);
            results.element[k] = lower(INCLUSIVE ? after : before, within + INCLUSIVE, 0);
        });
        write_results(p.out + low, results, count);
        if (p.total && count && first + count == p.n)
            p.total[blockIdx.y].write(left);
    }
};

/* The number of a thread's vector in memory, in row 'row' of its warp's. */
inline uint64 number_of_vector(const held_args &p, int row) {
    const uint64 warp = (number_of_block(p) * blockDim.x + threadIdx.x) / WARP;
    const uint64 vector = (warp * HELD_ROWS + row) * WARP + threadIdx.x % WARP;
    return REVERSE ? (uint64)gridDim.x * blockDim.x * HELD_ROWS - 1 - vector : vector;
}

/* Loads a thread's vectors of an array at any address. Each is made of the two aligned ones that it lies across, of which
 * the next lane has the second, or the next row. They are read past the first-level cache: a kernel that starts early may
 * find old contents there, from before the kernel before the last one wrote. All loads are under way together, but for
 * those of vectors that are not wholly the array's. */
inline void load_vectors(const held_args &p, const in_t *array, uint4 (&vector)[HELD_ROWS]) {
    const uint32 shift = (uint32)((uint64)array & 15), lane = threadIdx.x % WARP, edge = REVERSE ? WARP - 1 : 0;
    const uint8 *begin = (const uint8 *)array, *end = (const uint8 *)(array + p.n);
    uint4 part[HELD_ROWS + 1]; /* in the order of rows; the last lane needs the one more */
    uint32 others = 0;         /* not wholly the array's: a bit for each */
#pragma unroll
    for (int k = 0; k <= HELD_ROWS; k++) {
        const uint8 *at = begin - shift + number_of_vector(p, k - REVERSE) * 16;
        const bool is_needed = k - REVERSE >= 0 && k - REVERSE < HELD_ROWS ? true : shift && lane == edge;
        part[k] = uint4();
        if (is_needed && at >= begin && at + 16 <= end)
            part[k] = __ldcg((const uint4 *)at);
        else if (is_needed && at + 16 > begin && at < end)
            others |= 1u << k;
    }
#pragma unroll
    for (int k = 0; k <= HELD_ROWS; k++)
        if (others >> k & 1)
            part[k] = gather(begin - shift + number_of_vector(p, k - REVERSE) * 16, begin, end);
    __syncwarp();
#pragma unroll
    for (int u = 0; u < HELD_ROWS; u++) {
        vector[u] = part[u + REVERSE];
        if (shift) {
            const uint4 next = from_lane(lane == edge ? part[u + 1 - REVERSE] : vector[u], REVERSE ? lane - 1 : lane + 1);
            vector[u] = straddling(vector[u], next, shift);
        }
    }
}

inline void fetch_all(const held_args &p, held (&mine)[HELD_ROWS]) {
    uint4 vector[HELD_ROWS], second[HELD_ROWS];
    load_vectors(p, p.x, vector);
    if (HAS_SECOND)
        load_vectors(p, p.y, second);
#pragma unroll
    for (int u = 0; u < HELD_ROWS; u++) {
        held &h = mine[u];
        h.low = number_of_vector(p, u) * HELD_VECTOR;
        h.count = h.low >= p.n ? 0 : p.n - h.low < HELD_VECTOR ? (int)(p.n - h.low) : (int)HELD_VECTOR;
        h.bits = vector[u];
        if (HAS_SECOND)
            h.second_bits = second[u];
    }
}

/* Gives each lane the sum of the lanes up to it, added in order. */
inline acc_t scan_lanes(acc_t sum) {
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const acc_t left = from_below(sum, d);
        if (threadIdx.x % WARP >= d)
            sum = combine(left, sum);
    }
    return sum;
}

/* Turns the sum of each of a thread's vectors into the sum of all of the block's vectors before it. Returns the block's
 * sum to all threads. */
inline acc_t scan_block(acc_t (&sum)[HELD_ROWS]) {
    __shared__ alignas(16) uint8 memory[HELD_BLOCK / WARP * sizeof(acc_t)];
    acc_t *of_warp = (acc_t *)memory, base = identity_as<acc_t>();
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int u = 0; u < HELD_ROWS; u++) {
        const acc_t up_to = scan_lanes(sum[u]), below = from_below(up_to, 1);
        sum[u] = lane ? combine(base, below) : base;
        base = combine(base, from_lane(up_to, WARP - 1));
    }
    if (lane == 0)
        of_warp[warp] = base;
    __syncthreads();
    const acc_t up_to = scan_lanes(lane < blockDim.x / WARP ? of_warp[lane] : identity_as<acc_t>());
    const acc_t before = from_lane(up_to, warp - 1);
#pragma unroll
    for (int u = 0; u < HELD_ROWS; u++)
        sum[u] = warp ? combine(before, sum[u]) : sum[u];
    return from_lane(up_to, WARP - 1);
}

/* Returns to all threads the sum of the blocks before this one. */
inline acc_t fold_sums(handed *sums, uint32 number) {
    __shared__ alignas(16) uint8 memory[HELD_BLOCK / WARP * sizeof(acc_t)];
    acc_t *of_warp = (acc_t *)memory, acc = identity_as<acc_t>();
    const uint32 each = (number + blockDim.x - 1) / blockDim.x, first = threadIdx.x * each;
    const uint32 end = first + each < number ? first + each : number;
    if (threadIdx.x / WARP * WARP * each < number) {
#pragma unroll 1
        for (uint32 at = first; at < end; at++) {
            acc_t next[1];
            take_over<false>(sums + at, 1, 1, next);
            acc = combine(acc, next[0]);
        }
        __syncwarp();
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            const acc_t next = from_above(acc, d);
            if (threadIdx.x % (2 * d) == 0)
                acc = combine(acc, next);
        }
        if (threadIdx.x % WARP == 0)
            of_warp[threadIdx.x / WARP] = acc;
    }
    __syncthreads();
    acc = of_warp[0];
#pragma unroll 1
    for (int w = 1; w * WARP * each < number; w++)
        acc = combine(acc, of_warp[w]);
    return acc;
}

/* Hands over 'own', and returns to all threads the sum of the blocks before this one. The last thread, which has the
 * fewest of those to wait for, learns in *others_left how many blocks have left before this one. */
inline acc_t exchange_in_memory(hand_overs *all, uint32 number, uint32 left, const acc_t &own, uint32 *others_left) {
    const bool is_last = threadIdx.x == blockDim.x - 1;
    uint32 left_at_first = left;
    /* Nobody waits for the last block's sum, which might come after all has been wiped. */
    if (threadIdx.x == 0 && number + 1 < gridDim.x)
        give_away(all->sums() + number, own);
    if (is_last && number == 0)
        all->tell_first(left);
    else if (is_last)
        left_at_first = all->await_first();
    const acc_t before = number ? fold_sums(all->sums(), number) : identity_as<acc_t>(); /* past a barrier */
    if (is_last)
        *others_left = atomicAdd(all->left, 1u) - left_at_first;
    return before;
}

#if TALLY_ARCHITECTURE >= 90
/* Returns the sum of the cluster's blocks before this one. All must have arrived at its barrier once. */
inline acc_t exchange_sums(acc_t own) {
    __shared__ slot of_blocks[WIDE_CLUSTER];
    wait_for_cluster();
    if (threadIdx.x < gridDim.x) {
        uint32 words[sizeof(slot) / 4] = {};
        memcpy(words, &own, sizeof own);
#pragma unroll
        for (int w = 0; w < (int)(sizeof(slot) / 4); w++)
            store_at_block(&of_blocks[blockIdx.x].word[w], threadIdx.x, words[w]);
    }
    __syncwarp();
    arrive_in_cluster();
    wait_for_cluster();
    acc_t before = identity_as<acc_t>();
#pragma unroll 1
    for (int b = 0; b < blockIdx.x; b++) {
        acc_t next;
        memcpy(&next, of_blocks[b].word, sizeof next);
        before = combine(before, next);
    }
    return before;
}
#endif

extern "C" __global__ void __launch_bounds__(HELD_BLOCK, HELD_BLOCKS) scan_held(held_args p SIZED) {
    TAKE_SIZE(p.n)
    p.x += blockIdx.y * p.n;
    p.y += HAS_SECOND ? blockIdx.y * p.n : 0;
    p.out += blockIdx.y * p.n;
    hand_overs *all = (hand_overs *)p.handed;
    const uint32 number = number_of_block(p);
    uint32 left = 0, others_left = 0;
    held mine[HELD_ROWS];
    acc_t sum[HELD_ROWS];
#if TALLY_ARCHITECTURE >= 90
    const bool is_cluster = !all && gridDim.x > 1;
    if (is_cluster)
        arrive_in_cluster(); /* other blocks may write to a block's shared memory only while it runs */
#endif
    wait_for_last();
    let_next_start();
    if (all && threadIdx.x < number)
        prefetch(all->sums() + threadIdx.x);
    fetch_all(p, mine);
    if (all && number == 0 && threadIdx.x == blockDim.x - 1)
        left = all->count_left();
#pragma unroll
    for (int u = 0; u < HELD_ROWS; u++)
        sum[u] = mine[u].add(p, identity_as<acc_t>(), [](int, const acc_t &, const acc_t &) {});
    const acc_t own = scan_block(sum);
    acc_t base = p.carry ? p.carry[blockIdx.y].read() : p.initial ? raise(load(p.initial)) : identity_as<acc_t>();
#if TALLY_ARCHITECTURE >= 90
    if (is_cluster)
        base = combine(base, exchange_sums(own));
#endif
    if (all) {
        const acc_t before = exchange_in_memory(all, number, left, own, &others_left);
        base = number ? combine(base, before) : base;
    }
#pragma unroll
    for (int u = 0; u < HELD_ROWS; u++)
        mine[u].finish(p, combine(base, sum[u]));
    /* at the end, since the count takes a while */
    if (all && threadIdx.x / WARP == blockDim.x / WARP - 1 && from_lane(others_left, WARP - 1) + 1 == gridDim.x)
        all->wipe_all(gridDim.x);
}
