/* How the blocks of one launch hand their sums to each other through memory that nobody has cleared. A sum goes in
 * accesses of 16 bytes, which memory does not divide: eight bytes of it, and the same eight exclusive-or a mark. What
 * stood there before has the mark with a chance of 2^-64 only, because whoever reads a sum last wipes it away: no launch
 * leaves one behind. A launch that clears first, or one that folds what the first has stored, takes 1 to 2 us.
 *
 * A block waits for blocks with lower numbers only. They end only if they have begun: see ordinal_of_block() in ptx.cu. */

enum { HANDED_PARTS = (SLOT_BYTES + 7) / 8 };

struct alignas(16) handed {
    uint32 part[HANDED_PARTS][4];
};
static_assert(sizeof(handed) == HANDED_BYTES && sizeof(acc_t) <= 8 * HANDED_PARTS);

inline bool has_mark(const uint32 (&word)[4]) {
    return (word[0] ^ word[2]) == (uint32)MARK && (word[1] ^ word[3]) == (uint32)SECOND_MARK;
}
inline void store_marked(uint32 *to, uint32 a, uint32 b) {
    store_relaxed(to, a, b, a ^ MARK, b ^ SECOND_MARK);
}

inline void give_away(handed *to, const acc_t &sum) {
    uint32 word[2 * HANDED_PARTS] = {};
    memcpy(word, &sum, sizeof sum);
#pragma unroll
    for (int k = 0; k < HANDED_PARTS; k++) {
        hide(word[2 * k]); /* what the accumulator leaves between its members has one value from here */
        hide(word[2 * k + 1]);
        store_marked(to->part[k], word[2 * k], word[2 * k + 1]);
    }
}

inline void wipe(handed *sum) {
#pragma unroll
    for (int k = 0; k < HANDED_PARTS; k++)
        store_relaxed(sum->part[k], 0, 0, 0, 0);
}

/* Waits for 'Many' sums that lie 'step' apart, as far as they are among the next 'count' places. Wipes them away, if
 * nobody else reads them. HasOne: there is one at least, and those that are not there
 * may become anything, which takes fewer registers. */
template <bool Wipes, bool HasOne = true, uint32 Many>
inline void take_over(handed *from, uint32 step, uint32 count, acc_t (&sum)[Many]) {
    const auto is_in = [=](uint32 u) { return (HasOne && u == 0) || u * step < count; };
    uint32 part[Many][HANDED_PARTS][4];
    bool are_there;
    do {
        are_there = true;
#pragma unroll
        for (uint32 u = 0; u < Many; u++)
#pragma unroll
            for (int k = 0; k < HANDED_PARTS; k++) {
                uint32(&w)[4] = part[u][k];
                if (is_in(u))
                    load_relaxed(from[u * step].part[k], w[0], w[1], w[2], w[3]);
            }
#pragma unroll
        for (uint32 u = 0; u < Many; u++)
#pragma unroll
            for (int k = 0; k < HANDED_PARTS; k++)
                are_there &= !is_in(u) || has_mark(part[u][k]);
    } while (!are_there);
#pragma unroll
    for (uint32 u = 0; u < Many; u++) {
        uint32 word[2 * HANDED_PARTS];
#pragma unroll
        for (int w = 0; w < 2 * HANDED_PARTS; w++)
            word[w] = part[u][w / 2][w % 2];
        if (HasOne || is_in(u))
            memcpy(&sum[u], word, sizeof(acc_t));
        if (Wipes && is_in(u))
            wipe(from + u * step);
    }
}

/* Folds the sums that 'count' others hand over, in their order. The first of the Threads threads that share the work has
 * the result. One block of many needs this, so it is a call, which keeps the registers of the others' loop few. */
template <uint32 Threads, uint32 Ahead> __noinline__ acc_t fold_handed(handed *from, uint32 count) {
    const uint32 me = threadIdx.x % Threads, each = (count + Threads - 1) / Threads, step = COMMUTES ? Threads : 1;
    uint32 at = COMMUTES ? me : me * each;
    const uint32 end = COMMUTES || at + each > count ? count : at + each;
    acc_t acc = identity_as<acc_t>();
#pragma unroll 1
    for (; at < end; at += Ahead * step) {
        acc_t next[Ahead];
        take_over<true>(from + at, step, end - at, next);
        acc = combine(acc, next[0]);
#pragma unroll
        for (uint32 u = 1; u < Ahead; u++)
            if (at + u * step < end)
                acc = combine(acc, next[u]);
    }
    return Threads == WARP ? fold_warp_in_order(acc) : fold_block<Threads>(acc);
}

/* What many blocks take over, the sums of some after this: the last one that leaves wipes it all. Leaving blocks are
 * counted from whatever stands in 'left': the first block reads it and tells the others, so none leaves before. */
struct hand_overs {
    uint32 left[4];
    uint32 left_at_first[4];

    handed *sums() {
        return (handed *)(this + 1);
    }
    uint32 count_left() const {
        return __ldcg(left);
    }
    void tell_first(uint32 count) {
        store_marked(left_at_first, count, 0);
    }
    uint32 await_first() const {
        uint32 word[4];
        do
            load_relaxed(left_at_first, word[0], word[1], word[2], word[3]);
        while (!has_mark(word));
        return word[0];
    }
    /* By a warp: whether all 'count' who take over have left. */
    bool leaves_last(uint32 count) {
        uint32 have_left = 0;
        if (threadIdx.x % WARP == 0) {
            const uint32 first = await_first(); /* before, as the last one wipes it away */
            have_left = atomicAdd(left, 1u) + 1 - first;
        }
        return from_lane(have_left, 0) == count;
    }
    /* By a warp, when nobody reads the sums any more. */
    void wipe_all(uint32 count) {
        const uint32 lane = threadIdx.x % WARP;
        if (lane == 0)
            store_relaxed(left_at_first, 0, 0, 0, 0);
        for (uint32 b = lane; b < count; b += WARP)
            wipe(sums() + b);
    }
};
static_assert(sizeof(hand_overs) == HAND_OVERS_BYTES);
