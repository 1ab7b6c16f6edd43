/* The window of an exact scan: a unit and a highest exponent between which the elements are expected to lie, from a
 * sample of them. A sum of all elements fits into SCAN_WORDS then. */
#if IN_WINDOW
enum {
    SAMPLED = 16, /* of a thread */
    /* Elements of the sample that would need two levels: then all get two, as few warps would do with one. */
    TOO_MANY_BELOW = 16,
    MARGIN = 2,   /* powers of two that elements may be larger than the sample's, if there is room */
    /* Those of all f16 as floats. */
    LEAST_OF_F16 = 127 - 24,
    MOST_OF_F16 = 127 + 15
};

template <class T> struct layout;
template <> struct layout<float> {
    enum { FRACTION_BITS = 23, EXPONENTS = 255 };
    static uint64 bits(float x) {
        return __float_as_uint(x);
    }
};
template <> struct layout<double> {
    enum { FRACTION_BITS = 52, EXPONENTS = 2047 };
    static uint64 bits(double x) {
        return (uint64)__double_as_longlong(x);
    }
};
typedef layout<value_t> value_layout;
enum {
    FRACTION_BITS = value_layout::FRACTION_BITS,
    EXPONENTS = value_layout::EXPONENTS,
    BIAS = EXPONENTS / 2,
    LEAST_BOTTOM = 1 - BIAS - FRACTION_BITS /* the type's smallest number */
};

inline uint32 field_of(value_t x) {
    return (uint32)(value_layout::bits(x) >> FRACTION_BITS) & EXPONENTS;
}

/* The window of exponents from 'lowest' to 'highest'. Infinities and NaNs, which the sample leaves out, fit none. */
inline scan_window window_of(uint64 elements, int lowest, int highest) {
    const int length = 64 - __clzll((int64)elements);      /* fewer elements than 2^length */
    const int room_of_all = 32 * SCAN_WORDS - 1 - length, most = SCAN_WORDS == 3 ? 82 - FEW : 98 - FEW;
    const int bits = room_of_all < most ? room_of_all : most; /* of an element, as an integer */
    const int room = bits - SCAN_PRECISION - (highest - lowest);
    const int margin = room / 2 < 0 ? 0 : room / 2 > MARGIN ? MARGIN : room / 2;
    const int bottom = highest + margin - BIAS + 1 - bits;
    scan_window w;
    w.bottom = bottom > LEAST_BOTTOM ? bottom : LEAST_BOTTOM;
    const int top = w.bottom + bits - 1 + BIAS;
    w.highest = (uint32)(top < EXPONENTS ? top : EXPONENTS - 1);
    w.refused = room < 0;
    w.failed = 0;
    w.levels = 1;
    w.shift = (uint32)(bits + FEW - 51);
    return w;
}

/* Whether an element, or an initial value, which counts as one more, is an integer in the window. -0 is not. */
inline bool takes(const scan_window &w, value_t x) {
    const uint64 bits = value_layout::bits(x), fraction = bits & ((1ull << FRACTION_BITS) - 1);
    const uint32 field = field_of(x);
    if (!field && !fraction)
        return !bits;
    const int below = w.bottom - ((int)(field ? field : 1) - BIAS - FRACTION_BITS); /* bits below the unit */
    const uint64 significand = field ? fraction | 1ull << FRACTION_BITS : fraction;
    return field <= w.highest && (below <= 0 || (below < 63 && !(significand & ((1ull << below) - 1))));
}

extern "C" __global__ void __launch_bounds__(WINDOW_THREADS) find_scan_window(window_args a) {
    __shared__ uint32 highest, lowest, below_unit;
    const scan_args &p = a.scan;
    wait_for_last();
    let_next_start();
    for (uint64 v = threadIdx.x; v < a.vectors; v += WINDOW_THREADS)
        ((uint4 *)a.cleared)[v] = uint4();
    if (threadIdx.x == 0) {
        highest = 0;
        lowest = EXPONENTS;
        below_unit = 0;
    }
    __syncthreads();
    const uint64 first = value_layout::bits(value_of(load(p.x + (REVERSE ? p.n - 1 : 0))));
    uint32 field[SAMPLED] = {}, most = 0, least = EXPONENTS;
    /* Some neighbours in as many vectors, so that all are under way together. With single elements the launch took 11 us. */
    constexpr int a_vector = 16 / sizeof(in_t), vectors = TAKES_F16 ? 0 : SAMPLED / a_vector;
    const uint64 apart = (p.n - 3 * a_vector) / (SAMPLED / a_vector * WINDOW_THREADS);
    uint4 bits[SAMPLED / a_vector];
#pragma unroll
    for (int v = 0; v < vectors; v++)
        bits[v] = load_straddling(p.x + a_vector + apart * (v * WINDOW_THREADS + threadIdx.x));
#pragma unroll
    for (int k = 0; k < vectors * a_vector; k++) {
        in_t x;
        memcpy(&x, (const uint8 *)bits + k * sizeof x, sizeof x);
        field[k] = field_of(value_of(x));
        if (field[k] > 0 && field[k] < EXPONENTS) {
            most = field[k] > most ? field[k] : most;
            least = field[k] < least ? field[k] : least;
        }
    }
    atomicMax(&highest, most);
    atomicMin(&lowest, least);
    __syncthreads();
    const bool has_none = !highest;
    scan_window w = TAKES_F16 ? window_of(p.n + 1, LEAST_OF_F16, MOST_OF_F16)
                              : window_of(p.n + 1, has_none ? 1 : (int)lowest, has_none ? 1 : (int)highest);
    const int lowest_of_one = w.bottom + (int)w.shift + BIAS + SCAN_PRECISION - 1; /* see window_levels.cu */
    uint32 count = 0;
#pragma unroll
    for (int k = 0; k < SAMPLED; k++)
        count += field[k] > 0 && (int)field[k] < lowest_of_one;
    atomicAdd(&below_unit, count);
    __syncthreads();
    if (threadIdx.x)
        return;
    w.levels = !TAKES_F16 && below_unit >= TOO_MANY_BELOW ? 2 : 1;
    const bool begins_negative = GROUPS == ALL && first && !(first << (64 - sizeof(value_t) * 8 + 1)); /* with -0 */
    if (begins_negative || (p.initial && !takes(w, (value_t)number_of(load(p.initial)))))
        w.refused = 1;
    *p.window = w;
}

/* In place, all elements are looked at before the first is overwritten. */
extern "C" __global__ void __launch_bounds__(WINDOW_THREADS) check_scan_window(scan_args p) {
    enum { AT_ONCE_HERE = 4 };
    wait_for_last();
    const scan_window w = *p.window;
    const uint64 step = gridDim.x * (uint64)WINDOW_THREADS;
    bool fits = !w.refused;
    for (uint64 at = blockIdx.x * (uint64)WINDOW_THREADS + threadIdx.x; at < p.n && fits; at += AT_ONCE_HERE * step) {
        in_t x[AT_ONCE_HERE];
#pragma unroll
        for (int k = 0; k < AT_ONCE_HERE; k++)
            x[k] = load(p.x + (at + k * step < p.n ? at + k * step : at));
#pragma unroll
        for (int k = 0; k < AT_ONCE_HERE; k++)
            fits &= takes(w, value_of(x[k])) || (GROUPS == ALL && value_of(x[k]) == 0);
    }
    if (!fits && !w.refused)
        p.window->refused = 1;
}
#endif
