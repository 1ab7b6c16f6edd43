/* The sum of a reduction's thread: elements are added one after the other, in the thread's own registers. IS_WHOLE says
 * that lanes take a vector at a time. */

enum { VECTOR = 16 / sizeof(in_t) /* elements that one load brings */ };

#if BRIEF_MOMENTS == MOMENTS_IN_INTEGERS
struct lanes : brief<acc_t> {
    enum { IS_WHOLE = 0, LIMIT = brief<acc_t>::LIMIT / VECTOR };

    template <int Count> void prepare(const in_t *) {}
    void add(int, value_t x, value_t, uint64) {
        brief<acc_t>::add(x, x, 0);
    }
    acc_t take() {
        const acc_t acc = sum();
        *this = lanes();
        return acc;
    }
};
#elif MOMENTS
struct lanes : running<acc_t> {
    enum { IS_WHOLE = 0, LIMIT = 128 / VECTOR }; /* vectors that may be added before take() */

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
#elif LOOKS_UP_EXPONENTIALS
/* A byte's exponential is looked up, as it would take some 40 instructions in doubles. Each lane of half a warp has a
 * table of its own, in banks of its own, so that no two of them meet. exp(255) is 1e111, so sums need no largest
 * value. */
enum { TABLES = WARP / 2, VALUES = 256 };
inline double *exponentials() {
    __shared__ double powers[VALUES * TABLES];
    return powers;
}
template <int Threads> inline void make_exponentials() {
    for (uint32 v = threadIdx.x; v < VALUES; v += Threads) {
        const double power = exp_below((double)(in_t)v);
#pragma unroll
        for (uint32 k = 0; k < TABLES; k++)
            exponentials()[v * TABLES + (v + k) % TABLES] = power;
    }
    __syncthreads();
}
struct lanes {
    enum { IS_WHOLE = 0, LIMIT = LANE_LIMIT, SUMS = 4 };
    const double *powers = exponentials() + threadIdx.x % TABLES;
    double sum[SUMS] = {};

    template <int Count> void prepare(const in_t *) {}
    void add(int k, value_t x, value_t, uint64) {
        sum[k % SUMS] += powers[(uint8)x * (uint32)TABLES];
    }
    acc_t take() {
        acc_t r = {0, (sum[0] + sum[1]) + (sum[2] + sum[3])};
        if (r.a1 == 0)
            r.a0 = range<double>::lowest();
        *this = lanes();
        return r;
    }
};
#elif IS_LOGSUMEXP
/* All lanes have the same largest value. */
struct lanes {
    enum { IS_WHOLE = 0, LIMIT = LANE_LIMIT };
    term_t largest = least_term();
    power_t of_largest[VECTOR];

    lanes() {
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            of_largest[k] = 0;
    }
    /* Before 'Count' elements are added. */
    template <int Count> void prepare(const in_t *x) {
        term_t next = largest;
#pragma unroll
        for (int k = 0; k < Count; k++)
            next = larger(next, (term_t)value_of(x[k]));
        next = finite(next);
        const power_t scale = power_below(largest, next);
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            of_largest[k] *= scale;
        largest = next;
    }
    void add(int k, value_t x, value_t, uint64) {
        of_largest[k] += power_below((term_t)x, largest);
    }
    acc_t take() {
        power_t sum = of_largest[0];
#pragma unroll
        for (int k = 1; k < VECTOR; k++)
            sum += of_largest[k];
        const acc_t r = of_exponentials<acc_t>((power_t)largest, sum);
        *this = lanes();
        return r;
    }
};
#else
/* A lane for each element of a vector, or for as many as are multiplied first, or one. */
struct lanes_of_elements {
    enum { IS_WHOLE = FACTORS > 1, LIMIT = LANE_LIMIT, LANES = IS_LARGE ? 1 : VECTOR / FACTORS };
    running<lane_t> lane[LANES];

    template <int Count> void prepare(const in_t *) {}
    void add(int k, value_t x, value_t y, uint64 index) {
        lane[k % LANES].append(x, y, index);
    }
#if FACTORS > 1
    void add_all(const in_t *x, uint64) {
#pragma unroll
        for (int k = 0; k < VECTOR; k += FACTORS) {
            uint32 product = 1;
#pragma unroll
            for (int f = 0; f < FACTORS; f++)
                product *= (uint32)value_of(x[k + f]);
            lane[k / FACTORS].multiply(product);
        }
    }
#endif
    acc_t take() {
        acc_t acc = widen(lane[0].sum());
#pragma unroll
        for (int k = 1; k < LANES; k++)
            acc = combine(acc, widen(lane[k].sum()));
        *this = lanes_of_elements();
        return acc;
    }
};
#if (IS_ARGMIN || IS_ARGMAX) && !NAN_IS_IDENTITY
/* The best element of each vector is found without indices, and only the vector that has the best of all is kept. Which
 * of its elements that is, is asked at the end. */
struct lanes_of_vectors {
    enum { IS_WHOLE = 1, LIMIT = LANE_LIMIT };
    typedef decltype(lane_t::a0) value;
    value best = 0;
    uint64 at = NO_INDEX; /* of the kept vector's first element, or of a single one */
    uint4 kept = {0, 0, 0, 0};
    bool is_single = false;

    template <int Count> void prepare(const in_t *) {}
    bool is_beaten_by(value next) const { /* a NaN is better than any number, and the first one stays */
        const bool is_better = IS_ARGMIN ? !(best <= next) : !(best >= next);
        return (is_better && best == best) || at == NO_INDEX;
    }
    void add(int, value_t x, value_t, uint64 index) {
        const bool is_new = is_beaten_by((value)x);
        best = is_new ? (value)x : best;
        at = is_new ? index : at;
        is_single |= is_new;
    }
    void add_all(const in_t *x, uint64 index) {
        value of_vector[VECTOR];
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            of_vector[k] = (value)value_of(x[k]);
#pragma unroll
        for (int d = 1; d < VECTOR; d *= 2)
#pragma unroll
            for (int k = 0; k < VECTOR; k += 2 * d)
                of_vector[k] = IS_ARGMIN ? MIN(of_vector[k], of_vector[k + d]) : MAX(of_vector[k], of_vector[k + d]);
        if (is_beaten_by(of_vector[0])) {
            best = of_vector[0];
            at = index;
            memcpy(&kept, x, sizeof kept);
            is_single = false;
        }
    }
    acc_t take() {
        acc_t acc = identity_as<acc_t>();
        uint32 which = 0;
        in_t elements[VECTOR];
        memcpy(elements, &kept, sizeof kept);
#pragma unroll
        for (int k = VECTOR - 1; k >= 0; k--) {
            const value x = (value)value_of(elements[k]);
            which = x == best || is_nan(x) ? k : which; /* a NaN is the best of its vector */
        }
        if (at != NO_INDEX) {
            acc.a0 = best;
            acc.a1 = at + (is_single ? 0 : which);
        }
        *this = lanes_of_vectors();
        return acc;
    }
};
template <bool Many> struct lanes_of {
    typedef lanes_of_elements type;
};
template <> struct lanes_of<true> {
    typedef lanes_of_vectors type;
};
/* On an H200 argmax of 183 million f32 took 192 us by vectors and 171 by elements, argmin of 19 million i32 26 and
 * 32. */
typedef lanes_of<(VECTOR > 4 || (VECTOR == 4 && value_t(0.5) == value_t(0)))>::type lanes;

#else
typedef lanes_of_elements lanes;
#endif
#endif

#if !LOOKS_UP_EXPONENTIALS
template <int Threads> inline void make_exponentials() {
    prepare_powers();
}
#endif

/* Adds a vector of elements (and of the second input's, if there is one) that lanes are prepared for. 'index' is that
 * of the first. */
template <class Lanes> inline void add_prepared(Lanes &l, const in_t *x, const in_t *y, uint64 index) {
    if constexpr (Lanes::IS_WHOLE)
        l.add_all(x, index);
    else
#pragma unroll IS_LARGE ? 1 : VECTOR
        for (int k = 0; k < VECTOR; k++)
            l.add(k, value_of(x[k]), HAS_SECOND ? value_of(y[k]) : value_t(0), index + k);
}
inline void add_vector(lanes &l, const in_t *x, const in_t *y, uint64 index) {
    l.prepare<VECTOR>(x);
    add_prepared(l, x, y, index);
}
