/* Scans down columns along an axis of few elements: outer x extent x inner, where rows are long. A thread goes down
 * THIN_WIDTH neighbouring columns of one slab, with the sums in registers. Each row begins anywhere in memory. So a
 * thread's elements are made of the two aligned words that they lie across, and the aligned words of results are made
 * of its own and of the next lane's. Nothing goes through shared memory, and no thread waits for another. */

enum {
    THIN_AHEAD = HAS_SECOND || sizeof(acc_t) > 32 ? 1 : 2 /* rows whose loads are under way together */
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
            shift = (uint32)((uint64)from & (sizeof(word) - 1));
            const word *at = (const word *)((uint64)from - shift);
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
    int next;      /* those of the next lane, if they follow in the slab; else 0 */
    bool is_next;  /* whether this thread's follow those of the lane before */

    static thin_columns of(const scan_columns_args &p, uint64 number) {
        const uint64 across = (p.inner + THIN_WIDTH - 1) / THIN_WIDTH;
        const uint64 slab = p.outer == 1 ? 0 : quotient(number, across), within = (number - slab * across) * THIN_WIDTH;
        thin_columns t;
        t.column = slab * p.inner + within;
        t.at = slab * p.extent * p.inner + within;
        t.count = slab >= p.outer || within >= p.inner ? 0
                  : p.inner - within < THIN_WIDTH      ? (int)(p.inner - within)
                                                       : (int)THIN_WIDTH;
        t.is_next = within && threadIdx.x % WARP;
        t.next = __shfl_down_sync(ALL_LANES, t.is_next ? t.count : 0, 1);
        if (threadIdx.x % WARP == WARP - 1)
            t.next = 0;
        return t;
    }
    /* Whether the words around all of the thread's elements are in the array. */
    bool is_inside(const in_t *array, const scan_columns_args &p) const {
        const uint64 low = (uint64)(array + at), high = (uint64)(array + at + (p.extent - 1) * p.inner);
        const uint64 end = (uint64)(array + p.outer * p.extent * p.inner), bytes = sizeof(thin_elements);
        return (low & ~(bytes - 1)) >= (uint64)array && (high & ~(bytes - 1)) + 2 * bytes <= end;
    }
    /* Writes the results of a row: an aligned word, whose end the next lane has unless all are aligned, and what no
     * such word holds one by one. All lanes call this. */
    void write(result_t *to, const thin_results &results) const {
        typedef typename word_of<sizeof results>::type word;
        const int shift = (int)((uint64)to & (sizeof(word) - 1)), back = (int)sizeof(word) - shift;
        word pair[2];
        memcpy(pair, &results, sizeof results);
        if (__all_sync(ALL_LANES, shift == 0 && count == THIN_WIDTH)) {
            __stcs((word *)to, pair[0]);
            return;
        }
        pair[1] = from_above(pair[0], 1);
        const int first = shift ? back : 0; /* the byte of the results at which an aligned word begins */
        const bool has_word = count == THIN_WIDTH && (shift == 0 || next * (int)sizeof(result_t) >= back);
        const bool has_first = shift && is_next && count * (int)sizeof(result_t) >= back; /* in the word before */
        if (has_word)
            __stcs((word *)((uint64)to + first), shift ? straddling_words(pair, back) : pair[0]);
        const int size = (int)sizeof(result_t), from = has_first ? first / size : 0,
                  until = has_word ? (first + size - 1) / size : count;
        /* Where aligned words hold all, they may meet within a result: a pair that is aligned to a half. */
        if (from < until && !(has_first && has_word))
#pragma unroll
            for (int k = 0; k < THIN_WIDTH; k++)
                if (k >= from && k < until)
                    store(to + k, results.element[k]);
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK, 4) scan_thin(scan_columns_args p) {
    const thin_columns t = thin_columns::of(p, blockIdx.x * (uint64)BLOCK + threadIdx.x);
    const bool is_inside = t.count && t.is_inside(p.x, p) && (!HAS_SECOND || t.is_inside(p.y, p));
    const bool has_base = p.carry || p.initial;
    running<acc_t> run[THIN_WIDTH];
    acc_t base[THIN_WIDTH];
#pragma unroll
    for (int k = 0; k < THIN_WIDTH; k++) {
        base[k] = identity_as<acc_t>();
        if (has_base && k < t.count)
            base[k] = p.carry ? p.carry[t.column + k].read() : raise(load(p.initial));
        if (MOMENTS && has_base) /* so that results need no accumulator */
            run[k] = base[k];
    }
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
            const uint64 logical = j + u, row = REVERSE ? p.extent - 1 - logical : logical;
            const thin_elements of_x = x[u].elements(), of_y = y[HAS_SECOND ? u : 0].elements();
            thin_results results;
#pragma unroll
            for (int k = 0; k < THIN_WIDTH; k++) {
                const value_t value = value_of(of_x.element[k]);
                const value_t second = HAS_SECOND ? value_of(of_y.element[k]) : value_t(0);
                const auto result = [&](uint64 count) {
                    return !MOMENTS && has_base ? lower(combine(base[k], run[k].sum()), count, 0)
                                                    : run[k].result(count);
                };
                if (!INCLUSIVE)
                    results.element[k] = result(p.before + logical);
                run[k].add_next(value, second, p.before + row);
                if (INCLUSIVE)
                    results.element[k] = result(p.before + logical + 1);
            }
            t.write(p.out + t.at + row * p.inner, results);
        }
#pragma unroll
        for (int k = 0; k < THIN_WIDTH; k++)
            run[k].settle(); /* a sum that keeps digits only for some elements */
    }
#pragma unroll
    for (int k = 0; k < THIN_WIDTH; k++)
        if (p.total && k < t.count)
            p.total[t.column + k].write(!MOMENTS && has_base ? combine(base[k], run[k].sum()) : run[k].sum());
}
