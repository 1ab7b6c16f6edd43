/* Runs of equal keys: where they begin, how many there are, and the word that a tile publishes about runs that cross
 * its ends. */

/* A tile's word: the number of heads up to its end, in the lower COUNT_BITS bits, and the two bits below. */
enum { COUNT_BITS = 60 };
constexpr uint64 ENDS_WITH = 1ull << 62; /* the last run ends where the tile does (apart_runs.cu) */
constexpr uint64 FRESH = 1ull << 61;  /* the run that continues after the tile has begun in it */
constexpr uint64 ENDS = 1ull << 60;   /* the run that began before the tile ends in it */
constexpr uint64 COUNT = (1ull << COUNT_BITS) - 1;

static_assert(STRIP == WARP * WARP);
enum { MARKERS = 16 /* warps of a block of mark_runs.cu at most */ };

/* The first strip of a warp of mark_runs.cu. The first warps have one strip more. */
inline uint32 first_strip(const groups_args &p, uint32 warp) {
    return warp * (uint32)p.marked + (warp < p.extra ? warp : p.extra);
}

inline bool is_head(const groups_args &p, uint64 at) {
    return at == 0 || load(p.keys + at) != load(p.keys + at - 1);
}

/* Keys are looked at in vectors of 16 bytes, one for each lane at a time: with a vote for each 32 keys as below, 4-byte
 * keys took 12 instructions, and 2-byte ones 16. */
enum { KEYS_OF_VECTOR = 16 / sizeof(index_t), KEY_BITS = 8 * sizeof(index_t) };

/* A bit for each key of a vector that differs from the one before it, the first from the last of 'before', of which the
 * two last words count. */
inline uint32 changes_in(const uint4 &vector, const uint2 &before) {
    constexpr uint32 top = KEY_BITS == 8 ? 0x80808080u : 0x80008000u; /* of each narrow key */
    const uint32 word[6] = {before.x, before.y, vector.x, vector.y, vector.z, vector.w};
    uint32 bits = 0;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        if (KEY_BITS >= 32) {
            if (KEY_BITS == 32 || w % 2 == 0)
                bits |= word[w + 2] != word[w + (KEY_BITS == 32)] || (KEY_BITS == 64 && word[w + 3] != word[w + 1])
                                ? 1u << w * 32 / KEY_BITS : 0;
            continue;
        }
        const uint32 differs = word[w + 2] ^ __funnelshift_r(word[w + 1], word[w + 2], (32 - KEY_BITS) % 32);
        const uint32 changed = (((differs & ~top) + ~top) | differs) & top; /* no carry leaves a key */
        if (KEY_BITS == 8)
            bits |= (changed >> 7) * 0x10204080u >> 28 << 4 * w;
        else
            bits |= (changed >> 30 | (changed >> 15 & 1)) << 2 * w;
    }
    return bits;
}

/* Some vectors of a lane, and their heads: a bit for each key in 'packed'; of the warp, a word for 32 keys in 'word', of
 * which lane k % WORDS has number k. */
template <int Vectors> struct marked_vectors {
    enum { OF_WORD = WARP / KEYS_OF_VECTOR, WORDS = Vectors * KEYS_OF_VECTOR };
    uint4 vector[Vectors];
    uint32 packed = 0, word = 0;

    /* 'last' are the two last words before them, in the last lane. */
    marked_vectors(const index_t *from, bool is_first, uint2 &last) {
        const uint32 lane = threadIdx.x % WARP;
#pragma unroll
        for (int v = 0; v < Vectors; v++)
            vector[v] = ((const uint4 *)from)[v * WARP + lane];
#pragma unroll
        for (int v = 0; v < Vectors; v++) {
            const bool is_last = lane == WARP - 1;
            uint2 before = {0, __shfl_sync(ALL_LANES, is_last ? last.y : vector[v].w, (lane - 1) % WARP)};
            if (KEY_BITS == 64)
                before.x = __shfl_sync(ALL_LANES, is_last ? last.x : vector[v].z, (lane - 1) % WARP);
            packed |= changes_in(vector[v], before) << v * KEYS_OF_VECTOR;
            last = {vector[v].z, vector[v].w};
        }
        packed |= is_first && lane == 0;
        const uint32 mine = lane % WORDS / KEYS_OF_VECTOR * KEYS_OF_VECTOR;
#pragma unroll
        for (int k = 0; k < OF_WORD; k++) {
            const uint32 of_lane = __shfl_sync(ALL_LANES, packed, lane % KEYS_OF_VECTOR * OF_WORD + k);
            word |= (of_lane >> mine & ((1u << KEYS_OF_VECTOR % 32) - 1)) << k * KEYS_OF_VECTOR;
        }
    }
    /* The heads' keys go to 'to', of which 'kept' are there, if there is room. */
    void keep(index_t *to, uint32 &kept) const {
        const uint32 lane = threadIdx.x % WARP;
        if (!__ballot_sync(ALL_LANES, word != 0))
            return;
        uint32 before = __popc(word);
#pragma unroll
        for (int d = 1; d < WORDS; d *= 2) {
            const uint32 left = __shfl_up_sync(ALL_LANES, before, d);
            before += lane % WORDS >= d ? left : 0;
        }
        const uint32 all = kept + __shfl_sync(ALL_LANES, before, WORDS - 1);
        before += kept - __popc(word);
        kept = all;
        if (all > KEPT_KEYS)
            return;
#pragma unroll
        for (int v = 0; v < Vectors; v++) {
            const uint32 number = v * KEYS_OF_VECTOR + lane / OF_WORD, first = lane % OF_WORD * KEYS_OF_VECTOR;
            const uint32 bits = __shfl_sync(ALL_LANES, word, number);
            uint32 at = __shfl_sync(ALL_LANES, before, number) + __popc(bits & ((1u << first) - 1));
            index_t keys[KEYS_OF_VECTOR];
            memcpy(keys, &vector[v], 16);
#pragma unroll
            for (int k = 0; k < (int)KEYS_OF_VECTOR; k++)
                if (bits >> first >> k & 1)
                    to[at++] = keys[k];
        }
    }
};

/* find_heads() of keys that are all there, from a multiple of 16 bytes on. */
template <int Words, int AtOnce> inline uint32 find_heads_in_vectors(const index_t *from, bool is_first, index_t *kept) {
    constexpr int vectors = Words / KEYS_OF_VECTOR, at_once = vectors < AtOnce ? vectors : AtOnce;
    typedef marked_vectors<at_once> marked;
    const uint32 lane = threadIdx.x % WARP;
    uint32 mine = 0, heads = 0;
    uint2 last = {0, 0};
    if (lane == WARP - 1 && !is_first) {
        const uint64 key = (uint64)from[-1];
        last = {(uint32)key, KEY_BITS == 64 ? (uint32)(key >> 32) : (uint32)key << (32 - KEY_BITS) % 32};
    }
#pragma unroll 1
    for (int done = 0; done < vectors; done += at_once) {
        const marked some(from + done * WARP * KEYS_OF_VECTOR, is_first && done == 0, last);
        mine = lane / marked::WORDS == (uint32)(done / at_once) ? some.word : mine;
        if (kept)
            some.keep(kept, heads);
    }
    return mine;
}

/* Bits of the heads among Words * WARP elements from 'first' on: a word for WARP of them, which is the lane's number. If
 * all elements are there, the heads' keys go to 'kept', unless it is NULL or they are too many. All lanes of a warp call
 * this. */
template <int Words, int AtOnce = 4>
inline uint32 find_heads(const groups_args &p, uint64 first, index_t *kept = nullptr) {
    constexpr int loads = 16, at_once = Words < loads ? Words : loads;
    const uint32 lane = threadIdx.x % WARP;
    const uint64 left = first < p.n ? p.n - first : 0;
    const uint32 there = left < Words * WARP ? (uint32)left : Words * WARP;
    uint32 mine = 0;
    if constexpr (Words >= (int)KEYS_OF_VECTOR)
        if (there == Words * WARP && ((uint64)(p.keys + first) & 15) == 0)
            return find_heads_in_vectors<Words, AtOnce>(p.keys + first, first == 0, kept);
    auto keep = [&](int word, bool is_there) {
        const uint32 bits = __ballot_sync(ALL_LANES, is_there);
        if ((int)lane == word)
            mine = bits;
    };
    if (!is_aligned(p.keys)) {
#pragma unroll 1
        for (int w = 0; w < Words; w++)
            keep(w, w * WARP + lane < there && is_head(p, first + w * WARP + lane));
        return mine;
    }
    const index_t *from = p.keys + first + lane;
    index_t before = lane == WARP - 1 && first && there ? from[-WARP] : index_t(0); /* the last lane's of the word before */
#pragma unroll 1
    for (int done = 0; done < Words; done += at_once) {
        index_t key[at_once];
#pragma unroll
        for (int k = 0; k < at_once; k++)
            key[k] = (done + k) * WARP + lane < there ? from[(done + k) * WARP] : index_t(0);
#pragma unroll
        for (int k = 0; k < at_once; k++) {
            const index_t other = k ? key[k ? k - 1 : 0] : before;
            const index_t previous = __shfl_sync(ALL_LANES, lane == WARP - 1 ? other : key[k], lane - 1);
            keep(done + k, key[k] != previous);
        }
        before = key[at_once - 1];
    }
    const uint32 begin = lane * WARP;
    if (first == 0 && lane == 0)
        mine |= 1;
    return begin >= there ? 0 : there - begin < WARP ? mine & ((1u << (there - begin)) - 1) : mine;
}

/* ---- for fold_cuts.cu ---- */

/* Groups' ends are not known before the folds are done. */
inline bool ends_stand(const groups_args &) {
    return false;
}

/* The run that began in an earlier tile and ends in this one, if there is one. */
struct ending {
    uint64 group, start, count;
    uint64 first; /* the tile that it began in, if that is near */
};

inline bool is_fresh(const groups_args &p, uint64 number) {
    return p.heads[number] & FRESH;
}

inline bool find_ending(const groups_args &p, uint64 number, ending *e) {
    const uint64 own = load_ahead(p.heads + number);
    uint64 words[NEAR + 1]; /* of the tiles before; the first of all is always FRESH */
#pragma unroll
    for (uint32 k = 0; k <= NEAR; k++)
        words[k] = k < number ? load_ahead(p.heads + (number - 1 - k)) : 0;
    if (!number || !(own & ENDS))
        return false;
    e->group = (words[0] & COUNT) - 1;
    uint32 back = NEAR;
#pragma unroll
    for (uint32 k = NEAR; k-- > 0;)
        back = words[k] & FRESH ? k : back;
    e->first = number - 1 - back;
    return true;
}

/* The last tile before 'end' that is FRESH, for all lanes of a warp. False if it is farther than 'most' tiles. */
inline bool find_last_fresh(const groups_args &p, uint64 end, uint64 most, uint64 *found) {
    enum { AHEAD = 4 /* words that a lane reads at a time */ };
    for (uint64 done = 0; done < most && done < end; done += AHEAD * WARP) {
        uint32 lanes[AHEAD];
#pragma unroll
        for (uint32 k = 0; k < AHEAD; k++) {
            const uint64 back = done + k * WARP + threadIdx.x % WARP;
            lanes[k] = __ballot_sync(ALL_LANES, back < end && is_fresh(p, end - 1 - back));
        }
#pragma unroll
        for (uint32 k = 0; k < AHEAD; k++)
            if (lanes[k]) {
                *found = end - done - k * WARP - __ffs(lanes[k]);
                return true;
            }
    }
    return false;
}

/* The last tile before 'end' that is FRESH, for all threads of the block. */
inline uint64 last_fresh(const groups_args &p, uint64 end) {
    __shared__ uint64 found;
    enum { AHEAD = 8 /* words that a thread reads at a time */ };
    for (;; end -= AHEAD * BLOCK) {
        __syncthreads();
        if (threadIdx.x == 0)
            found = 0;
        __syncthreads();
        uint64 best = 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            uint64 back = k * BLOCK + threadIdx.x;
            if (back < end && is_fresh(p, end - 1 - back) && !best)
                best = end - back;
        }
        if (best)
            atomicMax(&found, best);
        __syncthreads();
        if (found)
            return found - 1;
    }
}
