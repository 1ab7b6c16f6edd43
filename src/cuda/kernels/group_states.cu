/* States of segments and of runs of keys: words from elements, or states that are combined to words or values. A warp has
 * a chunk of neighbouring elements or states. It folds the groups that begin in its chunk, short ones by a lane each,
 * and keeps a part of a group that began before the chunk and of one that goes on behind it. A last launch folds those
 * in order. The offsets alone decide what is folded in which order, so words have the same bits every run. By keys a
 * first launch makes offsets of the runs. */
enum {
    OF_A_LANE = 32, /* elements of a group that one lane folds by itself at most */
    AT_A_TIME = 64, /* elements that are added before they are combined, as in LANE_LIMIT */
    WARPS = BLOCK / WARP
};

/* An accumulator, and how many elements its states stand for. Of elements the offsets tell it. */
struct total {
    acc_t acc;
    uint64 elements;
};

inline uint64 lane_of() {
    return threadIdx.x % WARP;
}
inline uint64 warp_of() {
    return blockIdx.x * (uint64)WARPS + threadIdx.x / WARP;
}
inline uint64 all_warps() {
    return gridDim.x * (uint64)WARPS;
}

/* ---- states that are taken ---- */

/* Refuses states that are wrong. The offsets have been found to be right. */
extern "C" __global__ void __launch_bounds__(BLOCK) check_group_states(group_states_args p) {
    if (p.groups.told->refused & (REFUSED_BAD | REFUSED_RUNS))
        return;
    const uint64 begin = begin_of(p.groups, 0), end = begin_of(p.groups, groups_of(p.groups));
    for (uint64 i = begin + blockIdx.x * (uint64)BLOCK + threadIdx.x; i < end; i += gridDim.x * (uint64)BLOCK) {
        int64 words[WORDS_COUNT];
        load_words(p.states + i * WORDS_COUNT, words);
        if (!is_whole(words)) {
            atomicOr(&p.groups.told->refused, (uint32)REFUSED_WORDS);
            atomicMax(&p.groups.told->not_bad, ~i);
        }
    }
}

/* Refuses a group if no state of it has an element. It runs only for operators without a value of nothing. */
extern "C" __global__ void __launch_bounds__(BLOCK) find_empty_groups(group_states_args p) {
    if (p.groups.told->refused & (REFUSED_BAD | REFUSED_RUNS))
        return;
    for (uint64 g = warp_of(); g < groups_of(p.groups); g += all_warps()) {
        const uint64 begin = begin_of(p.groups, g), end = begin_of(p.groups, g + 1);
        bool is_empty = true;
        for (uint64 first = begin; first < end && is_empty; first += WARP) {
            const uint64 i = first + lane_of();
            int64 words[WORDS_COUNT] = {};
            if (i < end)
                load_words(p.states + i * WORDS_COUNT, words);
            is_empty = !__ballot_sync(ALL_LANES, i < end && elements_of(words));
        }
        if (is_empty && lane_of() == 0) {
            atomicOr(&p.groups.told->refused, (uint32)REFUSED_EMPTY);
            atomicMax(&p.groups.told->not_empty, ~g);
        }
    }
}

/* ---- folding ---- */

/* Neighbours become one. */
inline total join(const total &left, total right) {
    if (TAKES_WORDS && !right.elements)
        return left;
#if IS_INDEXED
    if (TAKES_WORDS)
        right.acc.a1 += left.elements; /* a state's indices count from its first element */
#endif
    return {combine(left.acc, right.acc), left.elements + right.elements};
}

inline total nothing() {
    return {identity_as<acc_t>(), 0};
}

/* Elements begin, begin + step ... of the group that begins at 'start'. */
inline total fold_elements(const group_states_args &p, uint64 begin, uint64 end, uint64 step, uint64 start) {
    acc_t acc = identity_as<acc_t>();
    while (begin < end) {
        running<acc_t> sum;
#pragma unroll 4
        for (int k = 0; k < AT_A_TIME; k++, begin += step)
            if (begin < end)
                sum.append(value_of(load(p.x + begin)), HAS_SECOND ? value_of(load(p.y + begin)) : value_t(0),
                           begin - start);
        acc = combine(acc, sum.sum());
    }
    return {acc, 0};
}

inline total fold_states(const group_states_args &p, uint64 begin, uint64 end) {
    total sum = nothing();
    for (; begin < end; begin++) {
        int64 words[WORDS_COUNT];
        load_words(p.states + begin * WORDS_COUNT, words);
        append_state(words, sum.acc, sum.elements);
    }
    return sum;
}

inline total fold_alone(const group_states_args &p, uint64 begin, uint64 end, uint64 start) {
    return TAKES_WORDS ? fold_states(p, begin, end) : fold_elements(p, begin, end, 1, start);
}

inline total fold_lanes_in_order(total mine) {
#pragma unroll 1
    for (int d = 1; d < WARP; d *= 2) {
        const total next = {from_above(mine.acc, d), from_above(mine.elements, d)};
        if ((lane_of() & (2 * d - 1)) == 0)
            mine = join(mine, next);
    }
    return mine;
}

/* By a warp, whose first lane has the result. */
inline total fold_together(const group_states_args &p, uint64 begin, uint64 end, uint64 start) {
    if (!TAKES_WORDS)
        return fold_lanes_in_order(fold_elements(p, begin + lane_of(), end, WARP, start));
    const uint64 each = (end - begin + WARP - 1) / WARP, first = begin + lane_of() * each;
    return fold_lanes_in_order(fold_states(p, first < end ? first : end, first + each < end ? first + each : end));
}

/* The result of a group of so many elements. */
inline void put_group(const group_states_args &p, uint64 group, const total &sum, uint64 count) {
    int64 *const words = p.words + group * WORDS_COUNT;
    if (!TAKES_WORDS)
        write_total(sum.acc, count, words);
    else if (p.words)
        write_state(sum.acc, sum.elements, words);
    else
        store(p.out + group, lower(sum.acc, sum.elements, 0));
}

/* ---- chunks ---- */

/* What a chunk has of the group that began before it, and of the one that goes on behind it. */
struct group_part {
    slot before, after;
    uint64 elements_before, elements_after;
};
static_assert(sizeof(group_part) <= GROUP_PART_BYTES);

inline group_part *part_of(const group_states_args &p, uint64 chunk) {
    return (group_part *)(p.parts + chunk * GROUP_PART_BYTES);
}

/* The group that goes on into the chunk from before it, or none. 'from' is the first that begins in the chunk. */
struct open_group {
    uint64 group, begin, end;
    bool is_there;
};
inline open_group find_open(const group_states_args &p, uint64 from, uint64 low) {
    if (!from)
        return {};
    const uint64 begin = begin_of(p.groups, from - 1), end = begin_of(p.groups, from);
    return {from - 1, begin, end, begin < low && end > low};
}

/* The groups of the lanes that begin in the chunk, of elements up to 'high'. The last launch gives the empty ones. Returns
 * the group to go on with, which comes after all empty ones if these were. */
inline uint64 fold_batch(const group_states_args &p, uint64 chunk, uint64 high, uint64 group, bool is_there) {
    const uint64 begin = is_there ? begin_of(p.groups, group) : 0, end = is_there ? begin_of(p.groups, group + 1) : 0;
    const uint64 stop = end < high ? end : high;
    const bool is_long = is_there && begin < stop && stop - begin > OF_A_LANE;
    auto keep = [&](const total &sum, uint64 of, uint64 first, uint64 last) {
        if (last <= high) {
            put_group(p, of, sum, last - first);
        } else {
            part_of(p, chunk)->after.write(sum.acc);
            part_of(p, chunk)->elements_after = sum.elements;
        }
    };
    if (begin < stop && !is_long)
        keep(fold_alone(p, begin, stop, begin), group, begin, end);
    __syncwarp();
    for (uint32 lanes = __ballot_sync(ALL_LANES, is_long); lanes; lanes &= lanes - 1) {
        const int which = __ffs((int32)lanes) - 1;
        const uint64 first = from_lane(begin, which), last = from_lane(end, which), of = from_lane(group, which);
        const total sum = fold_together(p, first, last < high ? last : high, first);
        if (lane_of() == 0)
            keep(sum, of, first, last);
        __syncwarp();
    }
    const uint64 behind = from_lane(group, 0) + WARP;
    if (__ballot_sync(ALL_LANES, begin < stop))
        return behind;
    const uint64 last = first_by_warp(offsets_of(p.groups), groups_of(p.groups), from_lane(begin, 0) + 1) - 1; /* that begins there */
    return last > behind ? last : behind;
}

extern "C" __global__ void __launch_bounds__(BLOCK) fold_group_states(group_states_args p) {
    if (p.groups.told->refused)
        return;
    const uint64 groups = groups_of(p.groups);
    for (uint64 c = warp_of(); c < p.chunks; c += all_warps()) {
        const uint64 low = c * p.chunk, high = c + 1 < p.chunks ? low + p.chunk : p.n;
        const uint64 from = first_by_warp(offsets_of(p.groups), groups, low);
        const uint64 to = c + 1 < p.chunks ? first_by_warp(offsets_of(p.groups), groups, high) : groups;
        const open_group open = find_open(p, from, low);
        if (open.is_there) {
            const total sum = fold_together(p, low, open.end < high ? open.end : high, open.begin);
            if (lane_of() == 0) {
                part_of(p, c)->before.write(sum.acc);
                part_of(p, c)->elements_before = sum.elements;
            }
            __syncwarp();
        }
        for (uint64 first = from; first < to;)
            first = fold_batch(p, c, high, first + lane_of(), first + lane_of() < to);
    }
}

/* Empty groups, and those that reach over several chunks: the warp of the chunk in which one ends folds its parts. */
extern "C" __global__ void __launch_bounds__(BLOCK) join_group_parts(group_states_args p) {
    if (p.groups.told->refused)
        return;
    const uint64 groups = groups_of(p.groups);
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g < groups; g += gridDim.x * (uint64)BLOCK)
        if (begin_of(p.groups, g) == begin_of(p.groups, g + 1))
            put_group(p, g, nothing(), 0);
    for (uint64 c = 1 + warp_of(); c < p.chunks; c += all_warps()) {
        const uint64 low = c * p.chunk, high = c + 1 < p.chunks ? low + p.chunk : p.n;
        const open_group open = find_open(p, first_by_warp(offsets_of(p.groups), groups, low), low);
        if (!open.is_there || open.end > high)
            continue;
        const uint64 first = open.begin / p.chunk, parts = c - first + 1, each = (parts + WARP - 1) / WARP;
        total mine = nothing();
        for (uint64 k = lane_of() * each; k < (lane_of() + 1) * each && k < parts; k++) {
            const group_part *part = part_of(p, first + k);
            mine = join(mine, {k ? part->before.read() : part->after.read(),
                               k ? part->elements_before : part->elements_after});
        }
        mine = fold_lanes_in_order(mine);
        if (lane_of() == 0)
            put_group(p, open.group, mine, open.end - open.begin);
        __syncwarp();
    }
}
