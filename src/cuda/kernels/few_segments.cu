/* Reductions of few elements by segments, in one launch of one block, or of one cluster (sm_90 and later). Some lanes
 * of a warp share a segment; one that is much longer than the others waits in a list, for the whole block. Nothing is
 * written until all threads have told each other that the offsets are good. */

enum {
    LISTED = 512,    /* segments that a block's list holds; lanes fold the others themselves */
    TOO_LONG = 64    /* elements a lane, from which on a segment is for the block */
};

struct listed_segment {
    uint32 segment, begin, end;
};

struct few_memory {
    uint32 count;
    listed_segment list[LISTED];
    uint32 of_blocks[CLUSTER][4]; /* findings */
    uint64 bad, empty;                /* the complement of the least such segment; 0: none */
    alignas(16) uint8 of_warps[FEW_BLOCK / WARP][sizeof(acc_t)];
};

/* ---- offsets ---- */

/* What all threads of the launch have found; all of them call this. */
inline findings share_findings(few_memory &s, const findings &mine) {
    if (mine.bad != NOT_FOUND)
        atomicMax((unsigned long long *)&s.bad, (unsigned long long)~mine.bad);
    if (mine.empty != NOT_FOUND)
        atomicMax((unsigned long long *)&s.empty, (unsigned long long)~mine.empty);
    __syncthreads();
    uint64 bad = s.bad, empty = s.empty;
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1) {
        const uint32 words[4] = {(uint32)bad, (uint32)(bad >> 32), (uint32)empty, (uint32)(empty >> 32)};
        wait_for_cluster(); /* all blocks run */
        if (threadIdx.x < gridDim.x)
#pragma unroll
            for (int w = 0; w < 4; w++)
                store_at_block(&s.of_blocks[blockIdx.x][w], threadIdx.x, words[w]);
        __syncwarp();
        arrive_in_cluster();
        wait_for_cluster();
        for (uint32 b = 0; b < gridDim.x; b++) {
            const uint32 *of_block = s.of_blocks[b];
            const uint64 its_bad = of_block[0] | (uint64)of_block[1] << 32;
            const uint64 its_empty = of_block[2] | (uint64)of_block[3] << 32;
            bad = its_bad > bad ? its_bad : bad;
            empty = its_empty > empty ? its_empty : empty;
        }
    }
#endif
    return {~bad, ~empty};
}

/* Returns whether they are good. The first thread tells the host. */
inline bool are_good(few_memory &s, const groups_args &p, const findings &mine) {
    const findings f = share_findings(s, mine);
    const bool is_bad = f.bad != NOT_FOUND, is_empty = p.refuses_empty && f.empty != NOT_FOUND;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        control told = control();
        told.refused = is_bad | is_empty << 1;
        told.not_bad = ~f.bad;
        told.not_empty = is_empty ? ~f.empty : 0;
        *p.told = told;
    }
    return !is_bad && !is_empty;
}

/* ---- folding ---- */

/* The share of thread 'number' of 'threads' of elements [begin, end); consecutive ones if the operator does not
 * commute. */
inline acc_t fold_share(const groups_args &p, uint32 begin, uint32 end, uint32 number, uint32 threads) {
    const uint32 each = (end - begin + threads - 1) / threads, step = COMMUTES ? threads : 1;
    uint32 e = begin + (COMMUTES ? number : number * each);
    if (!COMMUTES && e + each < end)
        end = e + each;
    const uint32 at_most = (LANE_LIMIT < 1 << 16 ? LANE_LIMIT : 1 << 16) * step;
    const bool aligned = is_aligned(p.x) && (!HAS_SECOND || is_aligned(p.y));
    acc_t acc = identity_as<acc_t>();
    while (e < end) {
        const uint32 last = end - e < at_most ? end : e + at_most;
        brief<lane_t> lane;
        if (aligned)
#pragma unroll 4
            for (; e < last; e += step)
                lane.append(value_of(p.x[e]), HAS_SECOND ? value_of(p.y[e]) : value_t(0), e);
        else
#pragma unroll 1
            for (; e < last; e += step)
                lane.append(value_of(load(p.x + e)), HAS_SECOND ? value_of(load(p.y + e)) : value_t(0), e);
        acc = combine(acc, widen(lane.sum()));
    }
    return acc;
}

/* Folds the accumulators of neighbouring lanes in order; the first of them has the result. */
inline acc_t fold_lanes(acc_t acc, uint32 lanes) {
#pragma unroll 1
    for (uint32 d = 1; d < lanes; d *= 2) {
        const acc_t next = from_above(acc, d);
        if ((threadIdx.x & (2 * d - 1)) == 0)
            acc = combine(acc, next);
    }
    return acc;
}

/* The segment that some lanes share, in one of their turns. */
struct turn {
    uint32 segment;
    uint64 begin, end;
    bool is_there; /* and its offsets are good, so that its elements can be read */

    static uint32 all(const groups_args &p) { /* segments of a turn */
        return gridDim.x * FEW_BLOCK / (uint32)p.lanes;
    }
    static uint32 lane(const groups_args &p) {
        return threadIdx.x % (uint32)p.lanes;
    }
    /* Neighbouring ones are different blocks'. */
    void load_from(const groups_args &p, uint32 number, findings *f) {
        segment = number * all(p) + threadIdx.x / (uint32)p.lanes * gridDim.x + blockIdx.x;
        is_there = segment < p.segments;
        if (!is_there)
            return;
        begin = begin_of(p, segment);
        end = begin_of(p, segment + 1);
        look_at(f, segment, (index_t)begin, (index_t)end, p.n);
        is_there = begin <= end && end <= p.n;
    }
    /* The first lane has the result, unless the segment is listed: then it is there no more. All lanes of a warp call
     * this. */
    acc_t fold(few_memory &s, const groups_args &p) {
        const uint32 lanes = (uint32)p.lanes;
        uint32 place = LISTED;
        if (is_there && lane(p) == 0 && end - begin > lanes * TOO_LONG)
            place = atomicAdd(&s.count, 1);
        if (place < LISTED)
            s.list[place] = {segment, (uint32)begin, (uint32)end};
        if (__shfl_sync(ALL_LANES, place, threadIdx.x % WARP / lanes * lanes) < LISTED)
            is_there = false;
        return fold_lanes(is_there ? fold_share(p, (uint32)begin, (uint32)end, lane(p), lanes) : identity_as<acc_t>(),
                          lanes);
    }
    void put_result(const groups_args &p, const acc_t &acc) const {
        if (is_there && lane(p) == 0)
            put(p.out + segment, lower(acc, end - begin, begin));
    }
};

/* The listed ones, one after the other. */
inline void fold_by_block(few_memory &s, const groups_args &p) {
    const uint32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, count = s.count < LISTED ? s.count : LISTED;
    for (uint32 k = 0; k < count; k++) {
        const listed_segment of = s.list[k];
        acc_t acc = fold_lanes(fold_share(p, of.begin, of.end, threadIdx.x, FEW_BLOCK), WARP);
        if (lane == 0)
            *(acc_t *)s.of_warps[warp] = acc;
        __syncthreads();
        if (warp == 0) {
            acc = lane < FEW_BLOCK / WARP ? *(acc_t *)s.of_warps[lane] : identity_as<acc_t>();
            acc = fold_lanes(acc, WARP);
        }
        if (threadIdx.x == 0)
            put(p.out + of.segment, lower(acc, of.end - of.begin, of.begin));
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(FEW_BLOCK) fold_few_segments(groups_args p) {
    __shared__ few_memory s;
#if TALLY_ARCHITECTURE >= 90
    if (gridDim.x > 1)
        arrive_in_cluster();
#endif
    if (threadIdx.x == 0) {
        s.count = 0;
        s.bad = s.empty = 0;
    }
    __syncthreads();
    wait_for_last();
    let_next_start();
    const uint32 turns = ((uint32)p.segments + turn::all(p) - 1) / turn::all(p);
    findings f = {NOT_FOUND, NOT_FOUND};
    turn t;
    if (!p.segments && (uint64)load(p.offsets) > p.n)
        f.bad = 0;
    for (uint32 k = 1; k < turns; k++)
        t.load_from(p, k, &f);
    t.load_from(p, 0, &f);
    acc_t acc = t.fold(s, p); /* while others may still check */
    if (!are_good(s, p, f))
        return;
    t.put_result(p, acc);
    for (uint32 k = 1; k < turns; k++) {
        t.load_from(p, k, &f);
        acc = t.fold(s, p);
        t.put_result(p, acc);
    }
    __syncthreads();
    fold_by_block(s, p);
}
