/* How the blocks of a scan exchange the sums of their tiles. The input is cut into tiles, and in each wave every block
 * has one. A block publishes its tile's sum in an entry as soon as it has it. Each block adds up all entries of the
 * wave by itself, in the same order as all others. So nobody waits for a chain of predecessors, and a result has the
 * same bits every run. The blocks must be resident together, which a cooperative launch guarantees.
 *
 * At a head, the first element of a group, the sum starts anew (Blelloch 1990). */

/* The sum of some elements; those before the last head do not count. */
template <class Acc, class Position> struct since_head {
    Acc acc;
#if GROUPS != ALL
    uint32 head;
#endif
#if NEEDS_START
    Position first;
#endif

    static since_head of(Acc acc, bool has_head, Position start) {
        since_head r;
        r.acc = acc;
#if GROUPS != ALL
        r.head = has_head;
#endif
#if NEEDS_START
        r.first = start;
#endif
        return r;
    }
    static since_head nothing() {
        return of(identity_as<Acc>(), false, 0);
    }
    bool has_head() const {
#if GROUPS != ALL
        return head;
#else
        return false;
#endif
    }
    Position start() const { /* position of the last head, in logical order */
#if NEEDS_START
        return first;
#else
        return 0;
#endif
    }
};
template <class Acc, class Position>
inline since_head<Acc, Position> join(const since_head<Acc, Position> &a, const since_head<Acc, Position> &b) {
    bool fresh = b.has_head();
    return since_head<Acc, Position>::of(fresh ? b.acc : combine(a.acc, b.acc), fresh || a.has_head(),
                                         fresh ? b.start() : a.start());
}

typedef since_head<acc_t, uint64> record; /* of a tile, or of all before it */

/* An accumulator of up to 8 bytes and its tag fit in one access of 8 or 16 bytes, which memory does not divide: a
 * thread that sees the tag has the value, too. The compiler would divide the access if the program did not use one of
 * its words, and might load the tag after the value. So unused words repeat the tag, and all words are checked. */
#define IN_ONE_ACCESS (SLOT_BYTES <= 8 && !NEEDS_START)
/* Up to 32 bytes take several accesses of 16 bytes, of three words each. So all that a wave needs is on its way at once.
 * The fourth word is the tag, exclusive-or the three: the check uses all words, also those that nothing else does.
 * Larger sums are read when their tag, written last, is there. */
#define IN_ACCESSES (!IN_ONE_ACCESS && SLOT_BYTES <= (MOMENTS > 2 ? 48 : 32))
/* Whether several messengers take waves in turn, or one could do with as little as they. */
#define HAS_BATONS (IN_ACCESSES || SCAN_MESSENGERS > 1)
enum : uint32 { HEAD_BIT = 1u << 31 }; /* set in the first word that has the tag, if there is a head */

struct alignas(ENTRY_BYTES % 16 ? 8 : 16) entry {
#if IN_ONE_ACCESS
    uint32 word[ENTRY_BYTES / 4]; /* accumulator, tag and head, and of four words the tag again */
#elif IN_ACCESSES
    uint32 word[ENTRY_BYTES / 16][4]; /* the first tag has the head, too */
#else
    slot_of<record, RECORD_BYTES> what;
    uint32 tag, unused[3];
#endif
};
static_assert(sizeof(entry) == ENTRY_BYTES);

#if IN_ACCESSES
/* An accumulator as words: without what lies between a value of up to 4 bytes and its index. */
template <class A> constexpr bool is_apart() {
    if constexpr (IS_INDEXED)
        return sizeof(A::a0) <= 4 && sizeof(A::a1) == 8;
    return false;
}
template <class A> inline void words_of(const A &acc, uint32 *words) {
    if constexpr (is_apart<A>()) {
        memcpy(words, &acc.a0, sizeof acc.a0);
        memcpy(words + 1, &acc.a1, sizeof acc.a1);
    } else {
        memcpy(words, &acc, sizeof acc);
    }
}
template <class A> inline A of_words(const uint32 *words) {
    A acc;
    if constexpr (is_apart<A>()) {
        memcpy(&acc.a0, words, sizeof acc.a0);
        memcpy(&acc.a1, words + 1, sizeof acc.a1);
    } else {
        memcpy(&acc, words, sizeof acc);
    }
    return acc;
}
/* A record as words. */
enum { ACCESSES = ENTRY_BYTES / 16, START_WORD = is_apart<acc_t>() ? 3 : (sizeof(acc_t) + 3) / 4 };
static_assert(START_WORD + 2 * NEEDS_START <= 3 * ACCESSES);
inline uint32 tag_of(const uint32 *access) {
    return access[0] ^ access[1] ^ access[2] ^ access[3];
}
inline record record_of(const uint32 (*word)[4]) {
    uint32 words[3 * ACCESSES];
    uint64 start = 0;
#pragma unroll
    for (int w = 0; w < 3 * ACCESSES; w++)
        words[w] = word[w / 3][w % 3];
    if (NEEDS_START)
        start = words[START_WORD] | (uint64)words[NEEDS_START ? START_WORD + 1 : 0] << 32;
    return record::of(of_words<acc_t>(words), tag_of(word[0]) & HEAD_BIT, start);
}
#endif

inline void publish(entry *e, const record &r, uint32 tag) {
#if IN_ONE_ACCESS
    uint32 word[4] = {0, tag, tag, tag};
    word[SLOT_BYTES / 4] |= r.has_head() ? HEAD_BIT : 0;
    memcpy(word, &r.acc, sizeof(acc_t));
    if (SLOT_BYTES == 4)
        store_relaxed(e, word[0], word[1]);
    else
        store_relaxed(e, word[0], word[1], word[2], word[3]);
#elif IN_ACCESSES
    uint32 words[3 * ACCESSES] = {};
    words_of(r.acc, words);
    if (NEEDS_START) {
        words[START_WORD] = (uint32)r.start();
        words[NEEDS_START ? START_WORD + 1 : 0] = (uint32)(r.start() >> 32);
    }
#pragma unroll
    for (int w = 0; w < 3 * ACCESSES; w++)
        hide(words[w]); /* what the accumulator leaves between its members has one value from here */
#pragma unroll
    for (int k = 0; k < ACCESSES; k++) {
        const uint32 *of = words + 3 * k, mark = tag | (k == 0 && r.has_head() ? HEAD_BIT : 0);
        store_relaxed(e->word[k], of[0], of[1], of[2], mark ^ of[0] ^ of[1] ^ of[2]);
    }
#else
    e->what.write(r);
    store_release(&e->tag, tag);
#endif
}

/* But for segments, whose bits need clearing, scans clear nothing before: each block clears its own entries when it
 * begins, and says so by a mark in memory that nobody has cleared (hand_over.cu). Others look at entries after that. All
 * this is done while the first tiles arrive. */
#define CLEARS_ITSELF (IS_SCAN && GROUPS != SEGMENTS && !SIZE_ON_DEVICE && !IS_EXACT && !IN_WINDOW)
#if CLEARS_ITSELF
inline hand_overs *marks_of(const entry *entries) {
    return (hand_overs *)((uint8 *)entries - HAND_OVERS_BYTES - gridDim.x * HANDED_BYTES);
}
/* By the warp that will publish the block's sums. */
inline void clear_entries(entry *entries, uint64 waves) {
    const uint32 lane = threadIdx.x % WARP;
    for (uint32 wave = lane; wave < waves; wave += WARP)
#pragma unroll 2
        for (int at = 0; at < ENTRY_BYTES; at += 8)
            store_relaxed((uint8 *)(entries + (uint64)wave * gridDim.x + blockIdx.x) + at, 0, 0);
    if (blockIdx.x == 0 && lane == 0)
        marks_of(entries)->tell_first(marks_of(entries)->count_left());
    __threadfence();
    __syncwarp();
    if (lane == 0)
        store_marked(marks_of(entries)->sums()[blockIdx.x].part[0], 0, 0);
}
/* By each messenger, which leaves when it has no more to do: then an atomic operation keeps nobody waiting. */
inline void await_clearing(const entry *entries) {
    enum { TOGETHER = 5 }; /* as many as batch::MANY */
    handed *marks = marks_of(entries)->sums();
    for (uint32 at = threadIdx.x % WARP; at < gridDim.x; at += TOGETHER * WARP) {
        uint32 word[TOGETHER][4];
        bool are_there;
        do {
            are_there = true;
#pragma unroll
            for (uint32 k = 0; k < TOGETHER; k++)
                if (at + k * WARP < gridDim.x)
                    load_relaxed(marks[at + k * WARP].part[0], word[k][0], word[k][1], word[k][2], word[k][3]);
#pragma unroll
            for (uint32 k = 0; k < TOGETHER; k++)
                are_there &= at + k * WARP >= gridDim.x || has_mark(word[k]);
        } while (!are_there);
    }
    __threadfence();
    __syncwarp();
}
#endif

/* Entries that are Step apart, read at once, so that their delays overlap. */
template <int Many, int Step = WARP> struct batch_of {
    enum { MANY = Many, ALL_THERE = (1 << MANY) - 1 };
#if IN_ONE_ACCESS
    uint32 word[MANY][ENTRY_BYTES / 4];
#elif IN_ACCESSES
    uint32 word[MANY][ACCESSES][4];
#else
    record whole;
    static_assert(MANY == 1);
#endif
    uint32 there = 0; /* a bit for each entry that has been read and had the tag */

    /* Tries to read the entries *at(k), of those that is_one(k), which have not arrived yet. Returns whether all have. */
    template <class At, class IsOne> bool try_read(At at, IsOne is_one, uint32 tag) {
        if (there == ALL_THERE)
            return true;
#if IN_ONE_ACCESS
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            if (there >> k & 1 || !is_one(k))
                continue;
            const entry *from = at(k);
            uint32 *w = word[k];
            if (SLOT_BYTES == 4)
                load_relaxed(from, w[0], w[1]);
            else
                load_relaxed(from, w[0], w[1], w[2 % (ENTRY_BYTES / 4)], w[3 % (ENTRY_BYTES / 4)]);
        }
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            const uint32 *w = word[k];
            bool has_tag = !is_one(k) || ((w[SLOT_BYTES / 4] & ~HEAD_BIT) == tag &&
                                      (SLOT_BYTES == 4 || w[ENTRY_BYTES / 4 - 1] == tag));
            there |= (uint32)has_tag << k;
        }
#elif IN_ACCESSES
#pragma unroll
        for (int k = 0; k < MANY; k++)
            if (!(there >> k & 1) && is_one(k))
#pragma unroll
                for (int a = 0; a < ACCESSES; a++) {
                    uint32 *w = word[k][a];
                    load_relaxed(at(k)->word[a], w[0], w[1], w[2], w[3]);
                }
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            bool has_tags = (tag_of(word[k][0]) & ~HEAD_BIT) == tag;
#pragma unroll
            for (int a = 1; a < ACCESSES; a++)
                has_tags &= tag_of(word[k][a]) == tag;
            there |= (uint32)(has_tags || !is_one(k)) << k;
        }
#else
        if (!is_one(0)) {
            there = 1;
        } else if (!there) {
            there = load_acquire(&at(0)->tag) == tag;
            if (there)
                whole = at(0)->what.read();
        }
#endif
        return there == ALL_THERE;
    }
    /* The same for the entries first, first + Step ... before 'end'. */
    bool try_read(const entry *entries, uint32 first, uint32 end, uint32 tag) {
        return try_read([=](int k) { return entries + first + k * Step; },
                        [=](int k) { return first + k * Step < end; }, tag);
    }
    record get(int k) const {
#if IN_ONE_ACCESS
        acc_t acc;
        memcpy(&acc, word[k], sizeof(acc_t));
        return record::of(acc, word[k][SLOT_BYTES / 4] & HEAD_BIT, 0);
#elif IN_ACCESSES
        return record_of(word[k]);
#else
        return whole;
#endif
    }
};
/* Entries that a lane reads at a time: a warp's 160 are enough for one block on each of 132 multiprocessors. */
enum { ENTRIES_AT_ONCE = IN_ONE_ACCESS || (IN_ACCESSES && SLOT_BYTES <= 32) ? 5 : IN_ACCESSES ? 2 : 1 };
typedef batch_of<ENTRIES_AT_ONCE> batch;

#if !COMMUTES
/* Gives each lane the sum of the lanes up to it, added in order. */
inline record scan_warp(record sum) {
    uint32 lane = threadIdx.x % WARP;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        record left = from_below(sum, d);
        if (lane >= d)
            sum = join(left, sum);
    }
    return sum;
}
#endif

#if IS_LOGSUMEXP
/* The sum of several: their exponentials do not wait for each other. */
struct few_sums {
    acc_t sum = identity_as<acc_t>();

    void see(const acc_t &next) { /* all of them before the first is added */
        sum.a0 = larger(sum.a0, next.a0);
    }
    void add(const acc_t &next) {
        sum.a1 += next.a0 == sum.a0 ? next.a1 : next.a1 * exp_below(next.a0 - sum.a0);
    }
    void agree() { /* all lanes, when each has seen its own */
#pragma unroll
        for (int d = 1; d < WARP; d *= 2)
            sum.a0 = larger(sum.a0, from_across(sum.a0, d));
    }
    template <class Move> void add_from(Move move) { /* what another lane has added */
        sum.a1 += move(sum.a1);
    }
    acc_t get() const {
        return sum;
    }
};
#elif MOMENTS
/* The sum of several without a division for each: relative to the mean of one of them, the others' means and their
 * powers are plain sums. If there are k, at most log2(k) bits of the squares are lost. */
struct few_sums : powers {
    double shift = 0, count = 0;
    bool has_shift = false;

    /* Once squares are infinite or NaN the mean means nothing. */
    static bool counts(const acc_t &next) {
        return next.a0 != 0 && IS_FINITE(next.a3);
    }
    void see(const acc_t &next) {
        if (!has_shift && counts(next)) {
            shift = next.a1;
            has_shift = true;
        }
    }
    void agree() {
        const uint32 lanes = __ballot_sync(ALL_LANES, has_shift);
        shift = from_lane(shift, lanes ? __ffs(lanes) - 1 : 0);
    }
    void add(const acc_t &next) {
        count += next.a0;
        add_accumulator(next, counts(next) ? next.a1 - shift + next.a2 : 0);
    }
    template <class Move> void add_from(Move move) {
        count += move(count);
        powers::add_from(move);
    }
    acc_t get() const {
        acc_t r = identity_as<acc_t>();
        const double away = distances * reciprocal(count == 0 ? 1 : count);
        const double rest = __fma_rn(-distances, away, squares);
        r.a0 = count;
        r.a1 = shift + away;
        const double part = r.a1 - shift;
        r.a2 = shift - (r.a1 - part) + (away - part); /* Knuth's two-sum */
        r.a3 = is_nan(rest) ? squares : rest < 0 ? 0 : rest; /* NaN or infinite, if they overflowed; rounding */
        powers higher = *this;
        higher.move_higher(count, -away);
        higher.give_higher(&r);
        return r;
    }
};
#endif

/* Gives all lanes the warp's sums, added in any order. Those of several chains do not wait for each other. */
template <int Chains> inline void fold_warps(acc_t (&sum)[Chains]) {
#if IS_LOGSUMEXP || MOMENTS
    few_sums few[Chains];
#pragma unroll
    for (int c = 0; c < Chains; c++)
        few[c].see(sum[c]);
#pragma unroll
    for (int c = 0; c < Chains; c++)
        few[c].agree();
#pragma unroll
    for (int c = 0; c < Chains; c++)
        few[c].add(sum[c]);
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
#pragma unroll
        for (int c = 0; c < Chains; c++)
            few[c].add_from([=](auto value) { return from_across(value, d); });
#pragma unroll
    for (int c = 0; c < Chains; c++)
        sum[c] = few[c].get();
#else
#pragma unroll
    for (int d = 1; d < WARP; d *= 2)
#pragma unroll
        for (int c = 0; c < Chains; c++)
            sum[c] = combine(sum[c], from_across(sum[c], d));
#endif
}
inline acc_t fold_warp(acc_t sum) {
    acc_t sums[1] = {sum};
    fold_warps(sums);
    return sums[0];
}

/* Which of the lanes in a mask is the last one; 0 if there is none. */
inline int last_lane(uint32 lanes) {
    return lanes ? WARP - 1 - __clz(lanes) : 0;
}

#if COMMUTES
/* The lanes with heads for each entry that a lane has of a batch that begins with entry 'at'. They are asked for once,
 * and none waits for the one before. */
template <class Batch> struct heads_of_batch {
    enum { MANY = GROUPS == ALL ? 0 : Batch::MANY };
    uint32 lanes[MANY + 1];

    heads_of_batch(const Batch &few, uint32 at, uint32 end) {
#pragma unroll
        for (int k = 0; k < MANY; k++)
            lanes[k] = __ballot_sync(ALL_LANES, at + k * WARP + threadIdx.x % WARP < end && few.get(k).has_head());
    }
    /* The last one before 'end', as an entry; -1 if there is none. */
    int last(uint32 at, uint32 end) const {
        int found = -1;
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            const int before = (int)(end - at) - k * WARP; /* lanes */
            const uint32 heads = lanes[k] & (before >= WARP ? ~0u : before > 0 ? (1u << before) - 1 : 0);
            found = heads ? (int)at + k * WARP + WARP - 1 - __clz(heads) : found;
        }
        return found;
    }
};

/* Each lane's share of a batch's entries before 'end', from the last head among them on. */
template <class Batch>
inline record share_of_batch(const Batch &few, const heads_of_batch<Batch> &heads, uint32 at, uint32 end) {
    const uint32 lane = threadIdx.x % WARP;
    const int last = heads.last(at, end);
    const bool found = last >= 0;
    const uint32 from = found ? (uint32)last : 0;
    uint64 start = 0;
#if NEEDS_START
#pragma unroll
    for (int k = 0; k < Batch::MANY; k++) {
        const uint64 next = few.get(k).start();
        start = at + k * WARP <= from ? next : start;
    }
    start = from_lane(start, (int)(from % WARP));
#endif
    const auto is_in = [&](int k) { return at + k * WARP + lane < end && at + k * WARP + lane >= from; };
#if IS_LOGSUMEXP || MOMENTS
    few_sums sums;
#pragma unroll
    for (int k = 0; k < Batch::MANY; k++)
        if (is_in(k))
            sums.see(few.get(k).acc);
#pragma unroll
    for (int k = 0; k < Batch::MANY; k++)
        if (is_in(k))
            sums.add(few.get(k).acc);
    const acc_t sum = sums.get();
#else
    acc_t sum = identity_as<acc_t>();
#pragma unroll
    for (int k = 0; k < Batch::MANY; k++)
        if (is_in(k))
            sum = combine(sum, few.get(k).acc);
#endif
    return record::of(sum, found, start);
}
#endif

#if !COMMUTES
/* As add_batch() of a warp's entries, one for each lane. */
inline void add_in_order(const record &of_lane, uint32 at, record *base, record *before) {
    const record sum = scan_warp(of_lane);
    if (at < blockIdx.x) {
        const uint32 last = blockIdx.x - at - 1;
        *before = join(*base, from_lane(sum, last < WARP ? last : WARP - 1));
    }
    *base = join(*base, from_lane(sum, WARP - 1));
}
#endif

/* Adds up a batch that begins with entry 'at' of the 'needed' ones of a wave. *base is the sum before the batch and
 * becomes the sum before the next one; *before becomes the sum before this block's tile, as far as it is known. */
inline void add_batch(const batch &few, uint32 at, uint32 needed, record *base, record *before) {
#if COMMUTES
    const heads_of_batch<batch> heads(few, at, needed);
    record low = share_of_batch(few, heads, at, blockIdx.x), whole = share_of_batch(few, heads, at, needed);
    acc_t sum[2] = {low.acc, whole.acc}; /* together, since each step of one waits for a shuffle */
    fold_warps(sum);
    low.acc = sum[0];
    whole.acc = sum[1];
    const bool has_base = at || !HAS_BATONS; /* several messengers: the first batch of a wave has nothing before */
    if (at < blockIdx.x)
        *before = has_base ? join(*base, low) : low;
    *base = has_base ? join(*base, whole) : whole;
#else
    uint32 lane = threadIdx.x % WARP;
#pragma unroll
    for (int k = 0; k < batch::MANY; k++, at += WARP) {
        if (at >= needed)
            break;
        add_in_order(at + lane < needed ? few.get(k) : record::nothing(), at, base, before);
    }
#endif
}

#if HAS_BATONS
/* What a messenger gives to the next: the sum before its wave. */
struct baton {
    gate given;
    alignas(16) uint8 base[sizeof(record)];
};

/* The work of several messengers, a warp each, which take waves in turn. To add up a wave takes longer than its tiles
 * do, but does not need the sum before it, so only that sum goes from messenger to messenger. 'turns' is the number of
 * this block's tiles; all lanes call tell(turn, before) with the sum before each tile. In the last wave in which a block
 * has a tile, it needs only the entries of the blocks before it. */
template <int Waves, int Messengers, class Tell>
inline void add_up_waves(const entry *all, uint64 turns, uint32 messenger, baton *batons, Tell tell) {
    const uint32 lane = threadIdx.x % WARP;
    uint32 of_wave = messenger, parity = 0; /* the wave's place in the ring of waves */
    for (uint64 turn = messenger; turn < turns; turn += Messengers) {
        const uint32 needed = turn + 1 < turns ? gridDim.x : blockIdx.x, tag = (uint32)turn + 1;
        const entry *entries = all + (uint64)of_wave * gridDim.x;
        record sum = record::nothing(), before = record::nothing(); /* since the wave began */
        for (uint32 at = 0; at < needed; at += batch::MANY * WARP) {
            batch few;
            while (!few.try_read(entries, at + lane, needed, tag))
                ;
            __syncwarp();
            add_batch(few, at, needed, &sum, &before);
        }
        if (turn > 0) {
            batons[messenger].given.wait(parity);
            parity ^= 1;
            const record base = *(const record *)batons[messenger].base;
            __syncwarp(); /* all lanes have read it before the sum goes on, after which it is written again */
            sum = join(base, sum);
            before = join(base, before);
        }
        baton *next = &batons[messenger + 1 == Messengers ? 0 : messenger + 1];
        if (lane == 0 && turn + 1 < turns) {
            *(record *)next->base = sum;
            next->given.arrive();
        }
        tell(turn, before);
        of_wave += Messengers;
        of_wave -= of_wave >= Waves ? Waves : 0;
    }
}
#else
/* The messenger's work: one warp adds up each wave in the order of the blocks. 'turns' is the number of this block's
 * tiles; all lanes call tell(turn, before) with the sum before each tile. In the last wave in which a block has a tile,
 * it needs only the entries of the blocks before it. */
template <int Waves, class Tell> inline void add_up_waves(const entry *all, uint64 turns, Tell tell) {
    uint32 lane = threadIdx.x % WARP;
    record base = record::nothing(); /* before the wave */
    uint32 of_wave = 0;              /* the wave's place in the ring of waves */
    enum { AHEAD = ENTRY_BYTES == 8 ? 3 : 2 }; /* waves at a time, as many as registers hold */
    auto needed_of = [&](uint64 turn) { return turn + 1 < turns ? gridDim.x : turn + 1 == turns ? blockIdx.x : 0; };
    batch few[AHEAD]; /* this wave's entries, and those being loaded while it is added up */
    auto entries_ahead = [&](int k) {
        uint32 wave = of_wave + k;
        return all + (uint64)(wave >= Waves ? wave - Waves : wave) * gridDim.x;
    };
#pragma unroll
    for (int k = 0; k < AHEAD - 1; k++)
        few[k].try_read(entries_ahead(k), lane, needed_of(k), k + 1);
    for (uint64 turn = 0; turn < turns; turn++) {
        uint32 needed = needed_of(turn), tag = (uint32)turn + 1;
        few[AHEAD - 1].there = 0;
        few[AHEAD - 1].try_read(entries_ahead(AHEAD - 1), lane, needed_of(turn + AHEAD - 1), tag + AHEAD - 1);
        while (!few[0].try_read(entries_ahead(0), lane, needed, tag))
            ;
        __syncwarp();
        record before = base;
        add_batch(few[0], 0, needed, &base, &before);
        for (uint32 at = batch::MANY * WARP; at < needed; at += batch::MANY * WARP) {
            few[0].there = 0;
            while (!few[0].try_read(entries_ahead(0), at + lane, needed, tag))
                ;
            __syncwarp();
            add_batch(few[0], at, needed, &base, &before);
        }
        tell(turn, before);
#pragma unroll
        for (int k = 0; k < AHEAD - 1; k++)
            few[k] = few[k + 1];
        of_wave = of_wave + 1 == Waves ? 0 : of_wave + 1;
    }
}
#endif
