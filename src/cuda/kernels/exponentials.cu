/* Sums of exponentials: of logsumexp. */
#if IS_LOGSUMEXP
/* Tables of powers of e in shared memory, for logsumexp of integers. They are known after the next barrier. Those of all
 * bytes are neither too large nor too small for sums in doubles. */
constexpr bool LOOKS_UP_BYTES = sizeof(in_t) == 1 && sizeof(acc_t) > 8;
enum { BYTE_VALUES = LOOKS_UP_BYTES ? 256 : 1 };
inline double *powers_of_bytes() {
    __shared__ double powers[BYTE_VALUES];
    return powers;
}
inline void make_powers_of_bytes(uint32 threads) {
    for (uint32 k = threadIdx.x; k < BYTE_VALUES && LOOKS_UP_BYTES; k += threads)
        powers_of_bytes()[k] = exp_nearby((double)(value_t)k);
}
/* e^0, e^-1 ..., Count of them, and then 0 for all that is less. */
template <class Real, int Count> inline Real *powers_below() {
    __shared__ Real powers[Count + 1];
    return powers;
}
template <class Real, int Count> inline void make_powers_below(uint32 threads) {
    for (uint32 k = threadIdx.x; k <= Count; k += threads)
        powers_below<Real, Count>()[k] = k < Count ? exp_below(-(Real)k) : 0;
}
template <int Bytes> struct distance_of { /* without a sign */
    typedef uint32 type;
};
template <> struct distance_of<8> {
    typedef uint64 type;
};
/* That of an integer of so many bytes below the largest. */
template <int Count, int Bytes, class Real, class T> inline Real power_at(const Real *powers, T x, T largest) {
    typedef typename distance_of<Bytes>::type distance;
    const distance below = (distance)largest - (distance)x;
    return powers[below < Count ? (uint32)below : Count];
}

/* An accumulator of the sum of exp(x - largest), where largest is finite. */
template <class A, class Real> inline A of_exponentials(Real largest, Real sum) {
    A r = {largest, sum};
    if (sum == 0)
        r.a0 = range<Real>::lowest();
    if (!(sum <= GREATEST_FINITE<Real>) && !is_nan(largest)) /* NaN, too: exp_below() is for negative numbers */
        r = {range<Real>::highest(), 1};
    return r;
}
#if LOOKS_UP_POWERS
/* Integers lie whole numbers below the largest. Powers of the first of these are looked up, since an exponential of
 * doubles takes 20 instructions. The others are less than 2^-92, and 2^39 of them do not show beside 1. */
enum { POWERS = 64 };
typedef value_t term_t;
typedef decltype(lane_t::a0) power_t;
inline term_t least_term() {
    return range<term_t>::lowest();
}

/* All threads of the block call this first. */
inline void prepare_powers() {
    make_powers_below<power_t, POWERS>(blockDim.x);
    __syncthreads();
}
inline power_t power_below(term_t x, term_t largest) {
    return power_at<POWERS, sizeof(in_t)>(powers_below<power_t, POWERS>(), x, largest);
}
inline term_t finite(term_t x) {
    return x;
}
#else
typedef decltype(lane_t::a0) term_t, power_t;
inline term_t least_term() {
    return -GREATEST_FINITE<term_t>;
}

inline void prepare_powers() {}
inline power_t power_below(term_t x, term_t largest) {
    return exp_below(x - largest);
}
inline term_t finite(term_t x) {
    return x > GREATEST_FINITE<term_t> ? GREATEST_FINITE<term_t> : x;
}
#endif
/* Exponentials of terms, of which some raise the largest value together before they are added. So a term costs one
 * exponential that waits for no other. The largest value is finite: no difference is one of infinities, and a term that
 * is infinite adds 0 or infinity. */
struct exponentials_below {
    term_t largest = least_term();
    power_t of_largest = 0;

    void raise(term_t next) {
        next = finite(larger(largest, next));
        of_largest *= power_below(largest, next);
        largest = next;
    }
    void append(value_t x, value_t, uint64) {
        of_largest += power_below((term_t)x, largest);
    }
    lane_t sum() const {
        return of_exponentials<lane_t>((power_t)largest, of_largest);
    }
};
/* Combines accumulators with exponentials that do not wait for each other. */
template <int Count> inline acc_t combine_all(const acc_t (&of)[Count]) {
    acc_t r = of[0];
#pragma unroll
    for (int k = 1; k < Count; k++)
        r.a0 = larger(r.a0, of[k].a0);
    r.a1 = 0;
#pragma unroll
    for (int k = 0; k < Count; k++)
        r.a1 += of[k].a1 * exp_below(of[k].a0 == r.a0 ? 0 : of[k].a0 - r.a0); /* both may be infinite */
    return r;
}
#else
inline void prepare_powers() {}
#endif
