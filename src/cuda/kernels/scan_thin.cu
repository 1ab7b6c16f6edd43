/* Scans down columns along an axis of few elements: outer x extent x inner, where rows are long. A thread goes down
 * THIN_WIDTH neighbouring columns of one slab, with the sums in registers. Each row begins anywhere in memory. So a
 * thread's elements are made of the two aligned words that they lie across, and the aligned words of results are made
 * of its own and of the next lane's. A warp's last lane does the same as the next one's first, so that only a slab's ends
 * are written one by one. In place it does not, since the next warp may have overwritten those elements: a warp's ends
 * are written one by one then. Nothing goes through shared memory, and no thread waits for another. */

#if COLUMN_PACKS
constexpr bool THIN_PACKS = THIN_WIDTH >= (int)IN_WORD;
#else
constexpr bool THIN_PACKS = false;
#endif
enum {
    THIN_AHEAD = HAS_SECOND || sizeof(acc_t) > 32 ? 1 : THIN_PACKS ? 4 : 2 /* rows whose loads are under way together */
};
typedef few<in_t, THIN_WIDTH> thin_elements;
typedef few<result_t, THIN_WIDTH> thin_results;

/* A thread's elements of a row, as the two words that they lie across. */
struct thin_row {
    typedef typename word_of<sizeof(thin_elements)>::type word;
    word pair[2];
    uint32 shift;

    /* Unless both words are in the array, elements are loaded one by one. */
    void load_from(const in_t *from, int count, bool is_inside) {
        if (is_inside) {
            const word *at = word_before<word>(from, &shift);
            pair[0] = *at;
            if (shift)
                pair[1] = at[1];
        } else {
            thin_elements single = {};
#pragma unroll
            for (int k = 0; k < THIN_WIDTH; k++)
                if (k < count)
                    single.element[k] = load(from + k);
            memcpy(&pair[0], &single, sizeof single);
            shift = 0;
        }
    }
    thin_elements elements() const {
        thin_elements f;
        const word bits = shift ? straddling_words(pair, shift) : pair[0];
        memcpy(&f, &bits, sizeof f);
        return f;
    }
};

/* A thread's place. Lanes of a warp have neighbouring columns, where they are of one slab. */
struct thin_columns {
    uint64 column; /* the first, of outer x inner */
    uint64 at;     /* its element in row 0 */
    int count;     /* columns: fewer than THIN_WIDTH only at the end of a slab, none behind the last */
    lane_results results;

    static thin_columns of(const scan_columns_args &p) {
        const bool are_shared = (const void *)p.x != p.out && (!HAS_SECOND || (const void *)p.y != p.out);
        const uint64 warp = (blockIdx.x * (uint64)BLOCK + threadIdx.x) / WARP;
        const uint64 number = warp * (are_shared ? WARP - 1 : WARP) + threadIdx.x % WARP;
        const uint64 across = (p.inner + THIN_WIDTH - 1) / THIN_WIDTH;
        const uint64 slab = p.outer == 1 ? 0 : quotient(number, across), within = (number - slab * across) * THIN_WIDTH;
        thin_columns t;
        t.column = slab * p.inner + within;
        t.at = slab * p.extent * p.inner + within;
        t.count = slab >= p.outer || within >= p.inner ? 0
                  : p.inner - within < THIN_WIDTH      ? (int)(p.inner - within)
                                                       : (int)THIN_WIDTH;
        t.results = lane_results::of(t.count, within != 0, are_shared);
        return t;
    }
    /* Whether the words around all of the thread's elements are in the array. */
    bool is_inside(const in_t *array, const scan_columns_args &p) const {
        const uint64 low = (uint64)(array + at), high = (uint64)(array + at + (p.extent - 1) * p.inner);
        const uint64 end = (uint64)(array + p.outer * p.extent * p.inner), bytes = sizeof(thin_elements);
        return (low & ~(bytes - 1)) >= (uint64)array && (high & ~(bytes - 1)) + 2 * bytes <= end;
    }
};

/* The sums of a thread's columns. */
template <bool ArePacked> struct thin_sums {
    short_running run[THIN_WIDTH];

    void begin(const scan_columns_args &p, const thin_columns &t) {
        if (p.carry || p.initial) /* sums begin with it, so that results need no other sum */
#pragma unroll
            for (int k = 0; k < THIN_WIDTH; k++)
                if (k < t.count)
                    run[k] = short_running(p.carry ? p.carry[t.column + k].read() : raise(load(p.initial)));
    }
    thin_results add(const scan_columns_args &p, uint64 logical, const thin_elements &x, const thin_elements &y) {
        const uint64 row = REVERSE ? p.extent - 1 - logical : logical;
        thin_results results;
#pragma unroll
        for (int k = 0; k < THIN_WIDTH; k++) {
            const value_t second = HAS_SECOND ? value_of(y.element[k]) : value_t(0);
            if (!INCLUSIVE)
                results.element[k] = run[k].result(p.before + logical);
            run[k].add_next(value_of(x.element[k]), second, p.before + row);
            if (INCLUSIVE)
                results.element[k] = run[k].result(p.before + logical + 1);
        }
        return results;
    }
    void settle() { /* a sum that keeps digits only for some elements */
#pragma unroll
        for (int k = 0; k < THIN_WIDTH; k++)
            run[k].settle();
    }
    acc_t sum(int k) const {
        return run[k].sum();
    }
};
#if COLUMN_PACKS
/* The same in words of some columns (packed_scans.cu). */
template <> struct thin_sums<true> {
    enum { WORDS = (int)sizeof(thin_elements) / 4 };
    packed_run run[WORDS];

    void begin(const scan_columns_args &p, const thin_columns &t) {
        const uint32 base = in_all_places(p.initial && !p.carry ? raise(load(p.initial)) : identity_as<acc_t>());
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            uint32 word = p.carry ? 0 : base;
#pragma unroll
            for (int k = 0; k < (int)IN_WORD; k++)
                if (p.carry && w * (int)IN_WORD + k < t.count)
                    word |= in_all_places(p.carry[t.column + w * IN_WORD + k].read()) & ELEMENT << k * ELEMENT_BITS;
            run[w] = packed_run(word);
        }
    }
    thin_results add(const scan_columns_args &, uint64, const thin_elements &x, const thin_elements &) {
        uint32 word[WORDS];
        memcpy(word, &x, sizeof word);
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            const uint32 up_to = INCLUSIVE ? 0 : run[w].word();
            run[w].add(form_of(word[w]));
            word[w] = INCLUSIVE ? run[w].word() : up_to;
        }
        thin_results results;
        memcpy(&results, word, sizeof word);
        return results;
    }
    void settle() {}
    acc_t sum(int k) const {
        return acc_of_element(run[k / IN_WORD].word(), k % IN_WORD);
    }
};
#endif

extern "C" __global__ void __launch_bounds__(BLOCK, 4) scan_thin(scan_columns_args p) {
    const thin_columns t = thin_columns::of(p);
    const bool is_inside = t.count && t.is_inside(p.x, p) && (!HAS_SECOND || t.is_inside(p.y, p));
    thin_sums<THIN_PACKS> sums;
    sums.begin(p, t);
    for (uint64 j = 0; j < p.extent; j += THIN_AHEAD) {
        thin_row x[THIN_AHEAD], y[HAS_SECOND ? THIN_AHEAD : 1];
#pragma unroll
        for (int u = 0; u < THIN_AHEAD; u++) {
            const uint64 at = t.at + (REVERSE ? p.extent - 1 - j - u : j + u) * p.inner;
            if (j + u < p.extent) {
                x[u].load_from(p.x + at, t.count, is_inside);
                if (HAS_SECOND)
                    y[u].load_from(p.y + at, t.count, is_inside);
            }
        }
#pragma unroll
        for (int u = 0; u < THIN_AHEAD; u++) {
            if (j + u >= p.extent)
                break;
            const thin_results results =
                sums.add(p, j + u, x[u].elements(), y[HAS_SECOND ? u : 0].elements());
            const uint64 row = REVERSE ? p.extent - 1 - j - u : j + u;
            store_of_lanes(p.out + t.at + row * p.inner, results, t.results);
        }
        sums.settle();
    }
#pragma unroll
    for (int k = 0; k < THIN_WIDTH; k++)
        if (p.total && k < t.count && t.results.stores)
            p.total[t.column + k].write(sums.sum(k));
}
