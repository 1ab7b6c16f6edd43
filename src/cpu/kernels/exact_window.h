/* One block of an exact scan: the kernels that go over its elements. They look at the elements' bounds, scan them in
 * the window that exact_scan.h has chosen from these, and round the results. docs/exact-scans.md proves what each step
 * leaves.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_WINDOW_H
#define TALLY_CPU_KERNELS_EXACT_WINDOW_H

#include "core/dtype.h"
#include "cpu/kernels/exact_few.h"
#include "cpu/kernels/exact_stream.h"

enum { SCALE = 128 /* blocks of which prefixes may pass 2^1000 are scaled by 2^-SCALE */ };
#define SCALED 0x1p-128

/* How a result is rounded: to f64; to f32; to a float by rounding to odd, which then goes on to 16 bits; or likewise
 * from one bound only, the lower one, or to f32 from the prefix itself. */
typedef enum target { TO_F64, TO_F32, TO_NARROW, TO_NARROW_ONCE, TO_F32_SURELY } target;

/* What is done with rests: there are none; they are summed, for the blocks that follow; or they are scanned, which f64
 * needs, and the others where the bounds were too wide. */
typedef enum rests { NO_RESTS, SUMMED, SCANNED } rests;

typedef struct window {
    double sigma; /* 1.5 * 2^top */
    int top;      /* magnitudes and prefixes are less than 2^(top - 1) */
    bool scaled;
    double multiple, rest; /* of the prefix before the block */
    double lower, upper;   /* what is added to a multiple or, if rests are scanned, to a prefix of them */
    ptrdiff_t ahead;       /* bytes, of elements that are prefetched */
} window;

typedef struct window_sums {
    double multiple, rest; /* of the prefix after the block */
    double largest;        /* magnitude of multiples, of prefixes some elements apart; 0 for elements of f64 */
    bool no_rests;         /* every element was a multiple of the unit */
    bool differ;           /* some result is not certain */
} window_sums;

/* What a block's elements are like. */
typedef struct bounds {
    double largest; /* magnitude */
    int lowest;     /* all are multiples of 2^lowest */
    bool finite;
} bounds;

/* A prefix: within 'error' of high + low. */
typedef struct prefix {
    double high, low, error;
    bool scaled; /* by 2^-SCALE */
} prefix;

typedef float half_vector __attribute__((vector_size(sizeof(v_f64) / 2)));
typedef uint32_t half_bits __attribute__((vector_size(sizeof(v_f64) / 2)));

ALWAYS_INLINE half_vector round_to_f32(v_f64 x) {
#if defined(__AVX512F__)
    return (half_vector)_mm512_cvtpd_ps((__m512d)x);
#elif defined(__AVX2__)
    return (half_vector)_mm256_cvtpd_ps((__m256d)x);
#else
    return __builtin_convertvector(x, half_vector);
#endif
}

ALWAYS_INLINE v_f64 prefixes_of_lanes(v_f64 x) {
    UNROLL_8 for (size_t shift = 1; shift < W64; shift *= 2) x += shift_up_f64(x, (v_f64){0}, shift);
    return x;
}

ALWAYS_INLINE v_f64 load_lanes(const void *x, size_t i, const tally_dtype in) {
    switch (in) {
    case TALLY_F16:
        return load_f64_from_f16((const e_f16 *)x + i);
    case TALLY_BF16:
        return load_f64_from_bf16((const e_bf16 *)x + i);
    case TALLY_F32:
        return load_f64_from_f32((const e_f32 *)x + i);
    default:
        return load_f64_from_f64((const e_f64 *)x + i);
    }
}

/* The float next to x toward zero, with its last bit set if that is not x: rounding to odd. It rounds on to 16 bits as
 * x itself does (Boldo and Melquiond, 2008). */
ALWAYS_INLINE half_vector round_to_odd_f32(v_f64 x) {
    const v_u64 dropped = (v_u64){0} + ((UINT64_C(1) << 29) - 1), bits = (v_u64)x;
    return round_to_f32((v_f64)((bits | ((bits & dropped) + dropped)) & ~dropped));
}

#define MAGNITUDE (~UINT64_C(0) >> 1)

/* What scan_window has found so far. */
typedef struct window_scan {
    v_f64 multiple, rest; /* the prefixes before; if rests are only summed, lanes of their sum */
    v_u64 largest;        /* the bits of the largest magnitude of 'multiple' */
    v_u64 parts;          /* the bits of all rests */
    v_u64 differ;
    half_bits narrow_differ;
} window_scan;

/* The results of some prefixes whose bounds these are. */
ALWAYS_INLINE half_vector round_bounds(window_scan *s, v_f64 low, v_f64 high, const target to) {
    const bool is_odd = to == TO_NARROW || to == TO_NARROW_ONCE;
    const half_vector rounded = is_odd ? round_to_odd_f32(low) : round_to_f32(low);
    if (to == TO_F32 || to == TO_NARROW)
        s->narrow_differ |= (half_bits)rounded ^ (half_bits)(is_odd ? round_to_odd_f32(high) : round_to_f32(high));
    return rounded;
}

/* Splits elements. What is left of them is noted, and added up if it is SUMMED. */
ALWAYS_INLINE v_f64 take_rests(window_scan *s, v_f64 *v, v_f64 sigma, const rests kind) {
    const v_f64 whole = (*v + sigma) - sigma, part = *v - whole;
    s->parts |= (v_u64)part;
    if (kind == SUMMED)
        s->rest += part;
    *v = whole;
    return part;
}

/* n is a multiple of W64. Results go to 'results' in the order of the elements; those of TO_NARROW and TO_NARROW_ONCE
 * are floats. */
ALWAYS_INLINE window_sums scan_window(const void *x, size_t n, const tally_dtype in, const target to, const rests kind,
                                      const bool scaled, const bool reverse, const window *w, void *results) {
    const v_f64 sigma = splat_f64(w->sigma), lower = splat_f64(w->lower), upper = splat_f64(w->upper);
    window_scan s = {.multiple = splat_f64(w->multiple), .rest = splat_f64(kind == SCANNED ? w->rest : 0)};
    const size_t bytes = in == TALLY_F64 ? sizeof(double) : in == TALLY_F32 ? sizeof(float) : sizeof(uint16_t);
    for (size_t done = 0; done < n; done += W64) {
        const size_t i = reverse ? n - W64 - done : done;
        v_f64 v = load_lanes(x, i, in), low = lower, high = upper;
        __builtin_prefetch((const char *)x + i * bytes + w->ahead);
        if (scaled)
            v *= splat_f64(SCALED);
        if (reverse)
            v = reversed_f64(v);
        if (kind != NO_RESTS) {
            const v_f64 part = take_rests(&s, &v, sigma, kind);
            if (kind == SCANNED) {
                const v_f64 parts = prefixes_of_lanes(part);
                low += s.rest + parts;
                high += s.rest + parts;
                s.rest += last_f64(parts);
            }
        }
        v = prefixes_of_lanes(v);
        low = to == TO_F32_SURELY ? s.multiple + v : low + (s.multiple + v);
        high += s.multiple + v;
        s.multiple += last_f64(v);
        if (in != TALLY_F64)
            s.largest = max_u64(s.largest, (v_u64)s.multiple & MAGNITUDE);
        if (scaled)
            low *= splat_f64(1 / SCALED), high *= splat_f64(1 / SCALED);
        if (reverse)
            low = reversed_f64(low), high = reversed_f64(high);
        if (to == TO_F64) {
            s.differ |= (v_u64)low ^ (v_u64)high;
            memcpy((double *)results + i, &low, sizeof low);
        } else {
            const half_vector rounded = round_bounds(&s, low, high, to);
            memcpy((float *)results + i, &rounded, sizeof rounded);
        }
    }
    const v_f64 last = s.multiple, last_rest = s.rest, largest = (v_f64)s.largest;
    const v_u64 parts = s.parts, differ = s.differ; /* copies, so that s stays in registers */
    const half_bits narrow_differ = s.narrow_differ;
    window_sums sums = {last[0], kind == SCANNED ? last_rest[0] : w->rest, largest[0], true, false};
    for (int l = 0; l < W64; l++) {
        sums.rest += kind == SUMMED ? last_rest[l] : 0;
        sums.no_rests &= parts[l] << 1 == 0; /* a rest of -0 is none */
        sums.differ |= differ[l] != 0 || narrow_differ[l] != 0;
    }
    return sums;
}

/* Only elements of f64, and an initial value of f64, are large enough to be scaled. */
#define DEFINE_RUN_TO(target, tag, type)                                                                               \
    static __attribute__((noinline)) window_sums run_##target##_##tag(const void *x, size_t n, rests kind,             \
                                                                      bool reverse, const window *w, void *results) {  \
        if ((type == TALLY_F64 || target == TO_F64) && w->scaled)                                                      \
            return scan_window(x, n, type, target, SCANNED, true, reverse, w, results);                                \
        if (kind == SCANNED)                                                                                           \
            return scan_window(x, n, type, target, SCANNED, false, reverse, w, results);                               \
        if (kind == SUMMED && target != TO_F64)                                                                        \
            return scan_window(x, n, type, target, SUMMED, false, reverse, w, results);                                \
        return scan_window(x, n, type, target, NO_RESTS, false, reverse, w, results);                                  \
    }
#define DEFINE_RUN(tag, type)                                                                                          \
    DEFINE_RUN_TO(TO_F64, tag, type)                                                                                   \
    DEFINE_RUN_TO(TO_F32, tag, type)                                                                                   \
    DEFINE_RUN_TO(TO_NARROW, tag, type)                                                                                \
    DEFINE_RUN_TO(TO_NARROW_ONCE, tag, type)                                                                           \
    static __attribute__((noinline))                                                                                   \
    window_sums run_surely_##tag(const void *x, size_t n, bool reverse, const window *w, void *results) {              \
        return scan_window(x, n, type, TO_F32_SURELY, NO_RESTS, false, reverse, w, results);                           \
    }                                                                                                                  \
    static window_sums run_##tag(const void *x, size_t n, target to, rests kind, bool reverse, const window *w,        \
                                 void *results) {                                                                      \
        return to == TO_F64           ? run_TO_F64_##tag(x, n, kind, reverse, w, results)                              \
               : to == TO_F32         ? run_TO_F32_##tag(x, n, kind, reverse, w, results)                              \
               : to == TO_NARROW      ? run_TO_NARROW_##tag(x, n, kind, reverse, w, results)                           \
               : to == TO_NARROW_ONCE ? run_TO_NARROW_ONCE_##tag(x, n, kind, reverse, w, results)                      \
                                      : run_surely_##tag(x, n, reverse, w, results);                                   \
    }

/* Floats, of which none is a NaN, to 16 bits. */
static void narrow(const float *x, size_t n, tally_dtype out, uint16_t *results) {
    size_t i = 0;
    if (out == TALLY_BF16) {
        for (; i < n; i++) {
            const uint32_t bits = tally_bits_of_float(x[i]);
            results[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        }
        return;
    }
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(results + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++)
        results[i] = tally_f16_of_f64(x[i]);
}

/* The binary exponent of a magnitude: floor(log2(x)), or less for a subnormal double. */
static int exponent_of(double x) {
    return (int)(tally_bits_of_double(x) >> 52 & 0x7ff) - 1023;
}

static double power_of_two(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return exponent < -1022 ? ldexp(1, exponent) : power;
}

static bounds bounds_of(double largest, double smallest, tally_dtype type) {
    const tally_float_format *format = &tally_dtypes[type].format;
    const int unit = exponent_of(smallest) + 1 - format->precision;
    return (bounds){largest, unit > format->lowest ? unit : format->lowest, largest - largest == 0};
}

/* The largest magnitude, and the smallest that is not zero, as bits. Zeros drop out: 0 - 1 is the largest number. */
#define DEFINE_LOOK(tag, type, lane)                                                                                   \
    static __attribute__((noinline)) bounds look_at_##tag(const void *x, size_t n) {                                   \
        enum { LANES = LANES_OF(s_##lane) };                                                                           \
        const s_##lane magnitude = (s_##lane)((s_##lane) ~(s_##lane)0 >> 1);                                           \
        const s_##lane *p = x;                                                                                         \
        v_##lane most = {0}, least = ~most;                                                                            \
        size_t i = 0;                                                                                                  \
        for (; i + LANES <= n; i += LANES) {                                                                           \
            v_##lane bits;                                                                                             \
            memcpy(&bits, p + i, sizeof bits);                                                                         \
            bits &= magnitude;                                                                                         \
            most = max_##lane(most, bits);                                                                             \
            least = min_##lane(least, bits - 1);                                                                       \
        }                                                                                                              \
        s_##lane highest = 0, lowest = (s_##lane) ~(s_##lane)0;                                                        \
        for (int l = 0; l < LANES; l++) {                                                                              \
            highest = most[l] > highest ? most[l] : highest;                                                           \
            lowest = least[l] < lowest ? least[l] : lowest;                                                            \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            s_##lane bits;                                                                                             \
            memcpy(&bits, p + i, sizeof bits);                                                                         \
            bits &= magnitude;                                                                                         \
            highest = bits > highest ? bits : highest;                                                                 \
            lowest = (s_##lane)(bits - 1) < lowest ? (s_##lane)(bits - 1) : lowest;                                    \
        }                                                                                                              \
        lowest++;                                                                                                      \
        return bounds_of(value_at(&highest, 0, type), value_at(&lowest, 0, type), type);                               \
    }

/* The smallest magnitude of n floats. */
static float smallest_of(const float *x, size_t n) {
    v_u32 least = ~(v_u32){0};
    size_t i = 0;
    for (; i + W32 <= n; i += W32) {
        v_u32 bits;
        memcpy(&bits, x + i, sizeof bits);
        least = min_u32(least, bits & 0x7fffffff);
    }
    uint32_t all = 0x7f800000;
    for (int l = 0; l < W32; l++)
        all = least[l] < all ? least[l] : all;
    float smallest = tally_float_of_bits(all);
    for (; i < n; i++)
        smallest = __builtin_fabsf(x[i]) < smallest ? __builtin_fabsf(x[i]) : smallest;
    return smallest;
}

#endif
