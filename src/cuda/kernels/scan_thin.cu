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

    static thin_columns of(const scan_columns_args &p, uint64 number) {
        const uint64 across = (p.inner + THIN_WIDTH - 1) / THIN_WIDTH;
        const uint64 slab = p.outer == 1 ? 0 : quotient(number, across), within = (number - slab * across) * THIN_WIDTH;
        thin_columns t;
        t.column = slab * p.inner + within;
        t.at = slab * p.extent * p.inner + within;
        t.count = slab >= p.outer || within >= p.inner ? 0
                  : p.inner - within < THIN_WIDTH      ? (int)(p.inner - within)
                                                       : (int)THIN_WIDTH;
        t.results = lane_results::of(t.count, within != 0);
        return t;
    }
    /* Whether the words around all of the thread's elements are in the array. */
    bool is_inside(const in_t *array, const scan_columns_args &p) const {
        const uint64 low = (uint64)(array + at), high = (uint64)(array + at + (p.extent - 1) * p.inner);
        const uint64 end = (uint64)(array + p.outer * p.extent * p.inner), bytes = sizeof(thin_elements);
        return (low & ~(bytes - 1)) >= (uint64)array && (high & ~(bytes - 1)) + 2 * bytes <= end;
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK, 4) scan_thin(scan_columns_args p) {
    const thin_columns t = thin_columns::of(p, blockIdx.x * (uint64)BLOCK + threadIdx.x);
    const bool is_inside = t.count && t.is_inside(p.x, p) && (!HAS_SECOND || t.is_inside(p.y, p));
    const bool has_base = p.carry || p.initial;
    short_running run[THIN_WIDTH];
    if (has_base) /* sums begin with it, so that results need no other sum */
#pragma unroll
        for (int k = 0; k < THIN_WIDTH; k++)
            if (k < t.count)
                run[k] = short_running(p.carry ? p.carry[t.column + k].read() : raise(load(p.initial)));
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
                if (!INCLUSIVE)
                    results.element[k] = run[k].result(p.before + logical);
                run[k].add_next(value, second, p.before + row);
                if (INCLUSIVE)
                    results.element[k] = run[k].result(p.before + logical + 1);
            }
            store_of_lanes(p.out + t.at + row * p.inner, results, t.results);
        }
#pragma unroll
        for (int k = 0; k < THIN_WIDTH; k++)
            run[k].settle(); /* a sum that keeps digits only for some elements */
    }
#pragma unroll
    for (int k = 0; k < THIN_WIDTH; k++)
        if (p.total && k < t.count)
            p.total[t.column + k].write(run[k].sum());
}
