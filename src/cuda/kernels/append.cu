/* The sum of a reduction's thread: elements are added one after the other, in the thread's own registers. */

enum { VECTOR = 16 / sizeof(in_t) /* elements that one load brings */ };

#if MOMENTS
struct lanes : running<acc_t> {
    enum { LIMIT = 128 / VECTOR }; /* vectors that may be added before take() */

    /* Begins with the mean of four elements, 'apart' from each other: higher powers lose more digits where the first
     * is far from the others. The mean of equal ones is not rounded. */
    void begin_near(const in_t *x, uint32 apart) {
        const auto quarter = [=](int k) { return (double)value_of(load(x + k * apart)) * 0.25; };
        shift = quarter(0) + quarter(1) + (quarter(2) + quarter(3));
        has_shift = true;
    }
    template <int Count> void prepare(const in_t *x) {
        if (MOMENTS > 2 && !SKIPS_NAN && Count > 1 && !has_shift)
            begin_near(x, Count >= 4 ? Count / 4 : 0);
    }
    void add(int, value_t x, value_t, uint64) {
        add_from_shift(x);
    }
    /* Returns the sum and starts again from zero elements. */
    acc_t take() {
        const acc_t acc = sum();
        *this = lanes();
        return acc;
    }
};
#elif IS_LOGSUMEXP
/* All lanes have the same largest value, which those that follow may only raise: an element costs one exponential, and
 * nothing waits for the one before. The largest value is finite. So no difference is one of infinities: an element that
 * is infinite adds 0 or infinity. */
struct lanes {
    enum { LIMIT = LANE_LIMIT };
    typedef decltype(lane_t::a0) real;
    real largest, of_largest[VECTOR];

    lanes() {
        largest = -GREATEST_FINITE<real>;
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            of_largest[k] = 0;
    }
    /* Before 'Count' elements are added. */
    template <int Count> void prepare(const in_t *x) {
        real next = largest;
#pragma unroll
        for (int k = 0; k < Count; k++)
            next = larger(next, (real)value_of(x[k]));
        next = next > GREATEST_FINITE<real> ? GREATEST_FINITE<real> : next;
        const real scale = exp_below(largest - next);
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            of_largest[k] *= scale;
        largest = next;
    }
    void add(int k, value_t x, value_t, uint64) {
        of_largest[k] += exp_below((real)x - largest);
    }
    acc_t take() {
        real sum = of_largest[0];
#pragma unroll
        for (int k = 1; k < VECTOR; k++)
            sum += of_largest[k];
        acc_t r = {largest, sum};
        if (sum == 0)
            r.a0 = range<real>::lowest();
        if (!(sum <= GREATEST_FINITE<real>) && !is_nan(largest)) /* NaN, too: exp_below() is for negative numbers */
            r = {range<real>::highest(), 1};
        *this = lanes();
        return r;
    }
};
#else
/* A lane for each element of a vector, or one. */
struct lanes {
    enum { LIMIT = LANE_LIMIT, LANES = IS_LARGE ? 1 : VECTOR };
    running<lane_t> lane[LANES];

    template <int Count> void prepare(const in_t *) {}
    void add(int k, value_t x, value_t y, uint64 index) {
        lane[k % LANES].append(x, y, index);
    }
    acc_t take() {
        acc_t acc = widen(lane[0].sum());
#pragma unroll
        for (int k = 1; k < LANES; k++)
            acc = combine(acc, widen(lane[k].sum()));
        *this = lanes();
        return acc;
    }
};
#endif

/* Adds a vector of elements (and of the second input's, if there is one) that lanes are prepared for. 'index' is that
 * of the first. */
inline void add_prepared(lanes &l, const in_t *x, const in_t *y, uint64 index) {
#pragma unroll IS_LARGE ? 1 : VECTOR
    for (int k = 0; k < VECTOR; k++)
        l.add(k, value_of(x[k]), HAS_SECOND ? value_of(y[k]) : value_t(0), index + k);
}
inline void add_vector(lanes &l, const in_t *x, const in_t *y, uint64 index) {
    l.prepare<VECTOR>(x);
    add_prepared(l, x, y, index);
}
