/* Scans of narrow elements along an axis of a few of them, whatever the other extents are. A thread makes aligned words
 * of results. It takes their elements, and those before them in their groups, which lie one row or some away, from any
 * address. So nothing passes through shared memory, no thread waits for another, and what is wide moves in vectors. An
 * element is loaded once for each row that follows it, from memory only the first time. */

constexpr int FEW_WIDTH = sizeof(in_t) == 2 && sizeof(result_t) == 1
                              ? 16
                              : 16 / (int)(sizeof(in_t) > sizeof(result_t) ? sizeof(in_t) : sizeof(result_t));
/* Words that a thread has under way. */
constexpr int few_ahead(int extent) {
    return extent > 1 ? 1 : HAS_SECOND || sizeof(in_t) >= sizeof(result_t) ? 2 : 4;
}
typedef few<in_t, FEW_WIDTH> few_elements;
typedef few<result_t, FEW_WIDTH> few_results;

/* The words that some elements lie across. All threads have the same shift, so that it costs next to nothing. */
struct few_words {
    enum { BYTES = sizeof(few_elements) < 16 ? sizeof(few_elements) : 16, WORDS = sizeof(few_elements) / BYTES };
    typedef typename word_of<BYTES>::type word;
    word words[WORDS + 1] = {};

    void load_from(const in_t *from, uint32 shift) {
        const word *const at = (const word *)((const uint8 *)from - shift);
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            words[w] = at[w];
        words[WORDS] = shift ? at[WORDS] : words[WORDS];
    }
    template <int First> few_elements from_word(uint32 shift) const {
        few_elements f;
        word aligned[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            if constexpr (BYTES == 16)
                aligned[w] = straddling_from<First>(words[w], words[w + 1], shift);
            else
                aligned[w] = straddling_words(words + w, shift);
        memcpy(&f, aligned, sizeof f);
        return f;
    }
    few_elements elements(uint32 shift) const {
        if (BYTES < 16 || shift < 4)
            return from_word<0>(shift);
        return shift < 8 ? from_word<1>(shift) : shift < 12 ? from_word<2>(shift) : from_word<3>(shift);
    }
};

template <int Extent> struct few_rows {
    enum { LEAST = INCLUSIVE ? 0 : 1 /* rows from a result's to the nearest that it needs */ };
    const scan_few_args &p;
    const uint32 slab;  /* elements */
    const uint32 ahead; /* results before the first aligned word */

    few_rows(const scan_few_args &p)
        : p(p), slab(Extent * p.inner),
          ahead((uint32)((uint64)p.out % sizeof(few_results)) / (uint32)sizeof(result_t)) {}
    /* The place of an element in its slab. */
    uint32 within(uint64 at) const {
        if (Extent == 1)
            return 0;
        const uint32 rest = (uint32)(at - __umul64hi(at, p.of_slab) * slab);
        return rest >= slab ? rest - slab : rest;
    }
    /* Whether an element at this place has so many before it in its group. */
    bool has(int steps, uint32 within) const {
        return steps == 0 || (REVERSE ? within < (Extent - steps) * p.inner : within >= steps * p.inner);
    }
    /* The element that comes so many before another in its group, as a distance; and by how much its word is shifted. */
    int64 before(int steps) const {
        return (REVERSE ? steps : -steps) * (int64)p.inner;
    }
    uint32 shift_of(const in_t *array, int steps) const {
        return (uint32)((uint64)array + (before(steps) - ahead) * (int64)sizeof(in_t)) & (few_words::BYTES - 1);
    }
    /* A result; x and y are its element and those before, the nearest first, of which the group has some. */
    static result_t result_of(short_running run, const bool (&has)[Extent], const value_t *x, const value_t *y) {
        int order = 0;
#pragma unroll
        for (int j = 1; j < Extent; j++)
            order += has[j];
#pragma unroll
        for (int j = Extent - 1; j >= LEAST; j--)
            if (has[j])
                run.add_next(x[j], y[j], REVERSE ? Extent - 1 - order + j : order - j);
        return run.result(order + INCLUSIVE);
    }
    short_running base() const {
        return p.initial ? short_running(raise(load(p.initial))) : short_running();
    }

    struct words {
        few_words x[Extent], y[HAS_SECOND ? Extent : 1];
    };
    /* Whether some result of a word needs a row. */
    bool needs(int steps, uint32 place) const {
        const uint32 last = place + FEW_WIDTH - 1;
        return last >= slab || has(steps, REVERSE ? place : last);
    }
    void load_word(uint64 at, words &w) const {
        const uint32 place = within(at);
#pragma unroll
        for (int j = LEAST; j < Extent; j++)
            if (needs(j, place)) {
                w.x[j].load_from(p.x + (at + before(j)), shift_of(p.x, j));
                if (HAS_SECOND)
                    w.y[HAS_SECOND ? j : 0].load_from(p.y + (at + before(j)), shift_of(p.y, j));
            }
    }
    void give_word(uint64 at, const words &w) const {
        const short_running from = base();
        few_elements of_x[Extent], of_y[Extent];
        few_results results;
#pragma unroll
        for (int j = LEAST; j < Extent; j++) {
            of_x[j] = w.x[j].elements(shift_of(p.x, j));
            if (HAS_SECOND)
                of_y[j] = w.y[HAS_SECOND ? j : 0].elements(shift_of(p.y, j));
        }
        const auto give = [&](int k, const bool (&has)[Extent]) {
            value_t x[Extent], y[Extent];
#pragma unroll
            for (int j = LEAST; j < Extent; j++) {
                x[j] = value_of(of_x[j].element[k]);
                y[j] = HAS_SECOND ? value_of(of_y[j].element[k]) : value_t(0);
            }
            results.element[k] = result_of(from, has, x, y);
        };
        uint32 place = within(at);
        if (p.inner >= FEW_WIDTH) { /* so that at most one other row begins among the results */
            uint32 end = p.inner;   /* of the row */
            bool first[Extent], then[Extent];
#pragma unroll
            for (int r = 1; r < Extent; r++)
                end = place >= r * p.inner ? (r + 1) * p.inner : end;
#pragma unroll
            for (int j = 0; j < Extent; j++) {
                first[j] = has(j, place);
                then[j] = has(j, end == slab ? 0 : end);
            }
#pragma unroll
            for (int k = 0; k < FEW_WIDTH; k++) {
                bool of_k[Extent];
#pragma unroll
                for (int j = 0; j < Extent; j++)
                    of_k[j] = k < (int)(end - place) ? first[j] : then[j];
                give(k, of_k);
            }
        } else {
#pragma unroll
            for (int k = 0; k < FEW_WIDTH; k++) {
                bool of_k[Extent];
#pragma unroll
                for (int j = 0; j < Extent; j++)
                    of_k[j] = has(j, place);
                give(k, of_k);
                place = place + 1 == slab ? 0 : place + 1;
            }
        }
        store_aligned_once((few_results *)(p.out + at), results);
    }
    /* Whether all that a word needs, and what lies around it, is in the array. */
    bool is_inside(int64 at) const {
        if (at < FEW_WIDTH || at + 2 * FEW_WIDTH > (int64)p.n)
            return false;
        const int64 farthest = at + before(Extent - 1);
        return !needs(Extent - 1, within(at)) ||
               (farthest >= FEW_WIDTH && farthest + 2 * FEW_WIDTH <= (int64)p.n);
    }
    void give_one(uint64 at) const {
        const uint32 place = within(at);
        value_t x[Extent], y[Extent];
        bool of_it[Extent];
#pragma unroll
        for (int j = 0; j < Extent; j++) {
            of_it[j] = has(j, place);
            const uint64 from = of_it[j] ? at + before(j) : at;
            x[j] = value_of(load(p.x + from));
            y[j] = HAS_SECOND ? value_of(load(p.y + from)) : value_t(0);
        }
        store(p.out + at, result_of(base(), of_it, x, y));
    }
    void scan() const {
        constexpr int AHEAD = few_ahead(Extent);
        constexpr uint64 PART = BLOCK * AHEAD * FEW_WIDTH;
        const int64 part = (int64)(blockIdx.x * PART) - ahead; /* its first element; below 0 in the first block */
        const int64 low = part + (REVERSE ? 0 : before(Extent - 1)), high = part + (REVERSE ? before(Extent - 1) : 0);
        if (low >= FEW_WIDTH && high + (int64)PART + FEW_WIDTH <= (int64)p.n) {
            words w[AHEAD];
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
                load_word(part + (u * BLOCK + threadIdx.x) * FEW_WIDTH, w[u]);
#pragma unroll
            for (int u = 0; u < AHEAD; u++)
                give_word(part + (u * BLOCK + threadIdx.x) * FEW_WIDTH, w[u]);
            return;
        }
        /* near the ends of the array; a warp shares the results of words that are not inside */
#pragma unroll 1
        for (int u = 0; u < AHEAD; u++) {
            const int64 at = part + (int64)(u * BLOCK + threadIdx.x) * FEW_WIDTH;
            const bool inside = is_inside(at);
            if (inside) {
                words w;
                load_word(at, w);
                give_word(at, w);
            }
            const int lane = threadIdx.x % WARP;
#pragma unroll 1
            for (uint32 left = __ballot_sync(ALL_LANES, !inside); left; left &= left - 1) {
                const int64 of_lane = at + (int64)(__ffs((int)left) - 1 - lane) * FEW_WIDTH + lane;
                if (lane < FEW_WIDTH && of_lane >= 0 && of_lane < (int64)p.n)
                    give_one(of_lane);
            }
        }
    }
};

/* Before sm_80 a multiprocessor has 1024 threads. */
constexpr int FEW_BLOCKS =
    MOMENTS || IS_LOGSUMEXP || HAS_SECOND || sizeof(acc_t) > 8 || TALLY_ARCHITECTURE < 80 ? 4 : 6;

extern "C" __global__ void __launch_bounds__(BLOCK, FEW_BLOCKS) scan_few(scan_few_args p) {
    if (p.extent == 1)
        few_rows<1>(p).scan();
    else if (p.extent == 2)
        few_rows<2>(p).scan();
    else
        few_rows<3>(p).scan();
}
