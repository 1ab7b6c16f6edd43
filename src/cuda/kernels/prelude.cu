/* The beginning of every kernel's text: types, and elements in memory. Nothing is included, so that a kernel compiles in
 * milliseconds. The option --device-as-default-execution-space makes functions device functions. Before this text stand
 * ptx.cu and the choices that are preprocessor symbols; after it vocabulary.cu, then the types and functions of one
 * computation, which specialize.c writes:
 *
 *     in_t, value_t    an element in memory, and as it is computed with
 *     acc_t            an accumulator; lane_t, a narrower one for a bounded number of elements (LANE_LIMIT)
 *     out_t            an output element
 *     index_t          an offset or a key
 *     result_t         a result: an output element, or two
 *     value_of(element), identity_as<A>(), lift_as<A>(x, y, i), combine(a, b), widen(lane), lower(acc, n, start),
 *     raise(initial) */
#ifndef offsetof /* NVRTC has no header for it, but its front end has the operator from which such headers make it */
#define offsetof(type, member) __INTADDR__(&((type *)0)->member)
#endif
typedef signed char int8;
typedef short int16;
typedef int int32;
typedef long long int64;
typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef unsigned long long uint64;

enum { WARP = 32 };
[[maybe_unused]] constexpr uint32 ALL_LANES = 0xffffffffu; /* some texts do not shuffle */

/* The number that is stored. Kernels get that of an element by value_of(), which the choices make. */
template <class T> inline T number_of(T x) {
    return x;
}

/* An element at any address: memory operations of the device need natural alignment. */
template <class T> inline T load(const T *from) {
    if (((uint64)from & (sizeof(T) - 1)) == 0)
        return *from;
    T value;
    for (int b = 0; b < (int)sizeof(T); b++)
        ((uint8 *)&value)[b] = ((const uint8 *)from)[b];
    return value;
}

/* The same past the first-level cache, where a kernel that starts early may find old contents. */
template <class T> inline T load_fresh(const T *from) {
    T value;
    for (int b = 0; b < (int)sizeof(T); b++)
        ((uint8 *)&value)[b] = __ldcg((const uint8 *)from + b);
    return value;
}

/* load() by a call, where code should be short. */
template <class T> __noinline__ T load_slowly(const T *from) {
    return load(from);
}

template <class T> inline void store_bytes(T *to, T value) {
    for (int b = 0; b < (int)sizeof(T); b++)
        ((uint8 *)to)[b] = ((const uint8 *)&value)[b];
}
template <class T> inline void store(T *to, T value) {
    if (((uint64)to & (sizeof(T) - 1)) == 0)
        *to = value;
    else
        store_bytes(to, value);
}

/* a / b; a division of 64 bits takes some hundred instructions. */
inline uint64 quotient(uint64 a, uint64 b) {
    return (a | b) >> 32 ? a / b : (uint32)a / (uint32)b;
}

/* The same of a below 2^20, by fewer instructions: half of 1 / b is more than what is rounded. */
inline uint32 small_quotient(uint32 a, uint32 b) {
    return (uint32)(((float)a + 0.5f) * reciprocal_nearby((float)b));
}

/* Neighbouring elements, up to 16 bytes, that are loaded together; the address is aligned to all of them. */
template <class T, int Width> struct few {
    T element[Width];
};
template <int Bytes> struct word_of;
template <> struct word_of<1> {
    typedef uint8 type;
};
template <> struct word_of<2> {
    typedef uint16 type;
};
template <> struct word_of<4> {
    typedef uint32 type;
};
template <> struct word_of<8> {
    typedef uint2 type;
};
template <> struct word_of<16> {
    typedef uint4 type;
};
template <int Width, class T> inline few<T, Width> load_few(const T *from) {
    typedef typename word_of<Width * sizeof(T)>::type word;
    few<T, Width> f;
    word bits = __ldcs((const word *)from);
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The 16 bytes that begin 'shift' bytes into 'low', below 16, and end in 'high'. */
inline uint4 straddling(const uint4 &low, const uint4 &high, uint32 shift) {
    uint32 w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    const bool by_two = shift & 8, by_one = shift & 4;
#pragma unroll
    for (int k = 0; k < 6; k++)
        w[k] = by_two ? w[k + 2] : w[k];
#pragma unroll
    for (int k = 0; k < 5; k++)
        w[k] = by_one ? w[k + 1] : w[k];
    const uint32 bits = shift % 4 * 8;
    return {__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits), __funnelshift_r(w[2], w[3], bits),
            __funnelshift_r(w[3], w[4], bits)};
}
/* The same of which it is known in which word they begin. */
template <int Word> inline uint4 straddling_from(const uint4 &low, const uint4 &high, uint32 shift) {
    const uint32 w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}, bits = shift % 4 * 8;
    return {__funnelshift_r(w[Word], w[Word + 1], bits), __funnelshift_r(w[Word + 1], w[Word + 2], bits),
            __funnelshift_r(w[Word + 2], w[Word + 3], bits), __funnelshift_r(w[Word + 3], w[Word + 4], bits)};
}
/* The word at or before an address, and by how many bytes. The pointer is computed from the other, not from a number: so
 * the compiler knows that it leads to global memory, too. */
template <class Word> inline const Word *word_before(const void *from, uint32 *shift) {
    *shift = (uint32)((uint64)from & (sizeof(Word) - 1));
    return (const Word *)((const uint8 *)from - *shift);
}

/* 16 bytes at any address; all bytes of the two vectors that they lie across may be read. Neighbouring threads share
 * those, so they stay in the first-level cache. */
inline uint4 load_straddling(const void *from) {
    uint32 shift;
    const uint4 *at = word_before<uint4>(from, &shift);
    return straddling(at[0], at[1], shift);
}

/* Neighbouring elements at any address that is a multiple of their size, in the two words that they lie across; the
 * bytes of both may be read. */
inline uint4 straddling_words(const uint4 *at, uint32 shift) {
    return straddling(at[0], at[1], shift);
}
inline uint2 straddling_words(const uint2 *at, uint32 shift) {
    const uint2 low = at[0], high = at[1];
    const uint32 bits = shift % 4 * 8, w0 = shift & 4 ? low.y : low.x, w1 = shift & 4 ? high.x : low.y,
                 w2 = shift & 4 ? high.y : high.x;
    return {__funnelshift_r(w0, w1, bits), __funnelshift_r(w1, w2, bits)};
}
inline uint32 straddling_words(const uint32 *at, uint32 shift) {
    return __funnelshift_r(at[0], at[1], shift * 8);
}
inline uint16 straddling_words(const uint16 *at, uint32 shift) {
    return shift ? (uint16)(at[0] >> 8 | at[1] << 8) : at[0];
}
inline uint8 straddling_words(const uint8 *at, uint32) {
    return *at;
}
template <int Width, class T> inline few<T, Width> load_few_straddling(const T *from) {
    typedef typename word_of<Width * sizeof(T)>::type word;
    few<T, Width> f;
    uint32 shift;
    const word *at = word_before<word>(from, &shift);
    const word bits = straddling_words(at, shift);
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* A result at an aligned address, which the caches need not keep. */
template <class T> inline void store_aligned_once(T *to, T value) {
    typename word_of<sizeof(T)>::type bits;
    memcpy(&bits, &value, sizeof(T));
    __stcs((typename word_of<sizeof(T)>::type *)to, bits);
}

/* Neighbouring results at any address, in vectors where they lie so. */
template <class T, int Width> inline void store_few(T *to, const few<T, Width> &f) {
    constexpr int vectors = sizeof f / 16;
    if (sizeof f % 16 == 0 && ((uint64)to & 15) == 0) {
#pragma unroll
        for (int v = 0; v < vectors; v++) {
            uint4 bits;
            memcpy(&bits, (const uint8 *)&f + 16 * v, 16);
            __stcs((uint4 *)to + v, bits);
        }
    } else {
#pragma unroll
        for (int k = 0; k < Width; k++)
            store(to + k, f.element[k]);
    }
}

/* Conversions to an output type, rounded once to nearest, ties to even. A bf16 is made from a float. Rounding to the
 * float first would be a second rounding. So the float is rounded to odd: truncated, with its last bit set if anything
 * was cut off. A float has enough bits beyond those of a bf16 that this last bit decides ties as the bits cut off would
 * have done. */
inline float odd_float(float toward_zero, bool inexact) {
    return inexact ? __uint_as_float(__float_as_uint(toward_zero) | 1) : toward_zero;
}
inline float to_odd_float(double x) {
    float z = __double2float_rz(x);
    return odd_float(z, x == x && (double)z != x);
}
inline float to_odd_float(int64 x) {
    float z = __ll2float_rz(x);
    return odd_float(z, (int64)z != x);
}
inline float to_odd_float(uint64 x) {
    float z = __ull2float_rz(x);
    return odd_float(z, (uint64)z != x);
}
inline float to_odd_float(float x) {
    return x;
}

template <class Out> struct output {
    template <class V> static Out of(V x) {
        return (Out)x;
    }
};
/* A result that rounds, or a float of exact mode. What is not a number is the quiet NaN without sign and payload on
 * every back end; conversions and divisions here would give others. */
inline void set_nan(float *to) {
    *to = __uint_as_float(0x7fc00000);
}
inline void set_nan(double *to) {
    *to = __longlong_as_double(0x7ff8000000000000ll);
}

/* What stands for a type of 16 bits: its elements, their values, results of any type, and NaN. */
struct f16 {
    uint16 bits;
};
inline float number_of(f16 x) {
    return float_of_f16(x.bits);
}
template <> struct output<f16> {
    template <class V> static f16 of(V x) {
        return {f16_of(x)};
    }
};
inline void set_nan(f16 *to) {
    to->bits = 0x7e00;
}

struct bf16 {
    uint16 bits;
};
inline float number_of(bf16 x) {
    return __uint_as_float((uint32)x.bits << 16);
}
template <> struct output<bf16> {
#if TALLY_ARCHITECTURE >= 90
    static bf16 of(double x) {
        return {bf16_of(x)};
    }
#endif
    template <class V> static bf16 of(V x) {
#if TALLY_ARCHITECTURE >= 80
        return {bf16_of(to_odd_float(x))};
#else
        uint32 bits = __float_as_uint(to_odd_float(x));
        bf16 r;
        if ((bits & 0x7fffffff) > 0x7f800000)
            r.bits = (uint16)(bits >> 16 | 0x40);
        else
            r.bits = (uint16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        return r;
#endif
    }
};
inline void set_nan(bf16 *to) {
    to->bits = 0x7fc0;
}

template <class Out, class V> inline Out output_of_real(V x) {
    Out r = output<Out>::of(x);
    if (x != x)
        set_nan(&r);
    return r;
}

/* The widest type of a kind, from which results are converted. */
inline int64 widest(int8 x) {
    return x;
}
inline int64 widest(int16 x) {
    return x;
}
inline int64 widest(int32 x) {
    return x;
}
inline int64 widest(int64 x) {
    return x;
}
inline uint64 widest(uint8 x) {
    return x;
}
inline uint64 widest(uint16 x) {
    return x;
}
inline uint64 widest(uint32 x) {
    return x;
}
inline uint64 widest(uint64 x) {
    return x;
}
inline float widest(float x) {
    return x;
}
inline double widest(double x) {
    return x;
}
