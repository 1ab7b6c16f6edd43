/* Means, roots and logarithms in lanes, where estimates make them faster than what a compiler makes of forms.c.
 * vectors_of_TYPE returns how many results it has written, and forms.c does the rest. The functions near_OP give f32,
 * where accumulators are as near as that (simd_quotient.h). */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/simd.h"
#include "cpu/kernels/simd_quotient.h"

#if defined(__AVX512F__)
enum { FORM_LANES = LANES_OF(s_f64) };

ALWAYS_INLINE v_f64 reals_of_int64_t(const int64_t *v) {
    return _mm512_cvtepi64_pd(_mm512_loadu_si512(v));
}
ALWAYS_INLINE v_f64 reals_of_uint64_t(const uint64_t *v) {
    return _mm512_cvtepu64_pd(_mm512_loadu_si512(v));
}
ALWAYS_INLINE v_f64 reals_of_double(const double *v) {
    return _mm512_loadu_pd(v);
}

/* The numbers of elements of the first vector, and by how many more the next one has. */
typedef struct form_counts {
    v_f64 first, step;
} form_counts;
ALWAYS_INLINE form_counts form_counts_of(tally_counts counts) {
    const double step = (double)counts.step;
    const v_f64 zero = {0}, lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (form_counts){lane * step + (double)(int64_t)counts.first, zero + FORM_LANES * step};
}

/* Those of each, in lanes of the mask. */
ALWAYS_INLINE v_f64 numbers_of(tally_counts counts, size_t i, __mmask8 lanes) {
    return _mm512_cvtepu64_pd((__m512i)((v_u64)_mm512_maskz_loadu_epi64(lanes, counts.each + i) + counts.first));
}

ALWAYS_INLINE v_f64 without_payload(v_f64 x) {
    return SELECT_LANES(f64, (x == x), x, (v_f64){0} + (double)NAN);
}

/* Each pair is a largest element and a sum of exponentials. */
ALWAYS_INLINE v_f64 logsumexp_of(const double *pairs, bool is_near) {
    const v_f64 low = _mm512_loadu_pd(pairs), high = _mm512_loadu_pd(pairs + FORM_LANES);
    const __m512i evens = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
                  odds = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const v_f64 sum = _mm512_permutex2var_pd(low, odds, high);
    return _mm512_permutex2var_pd(low, evens, high) + log_or_itself_f64(log_f64(sum, is_near), sum);
}

/* The last ones, fewer than a vector. */
ALWAYS_INLINE v_f64 last_logsumexps(const double *pairs, size_t n, bool is_near) {
    double padded[2 * FORM_LANES] = {0};
    memcpy(padded, pairs, 2 * n * sizeof *pairs);
    return logsumexp_of(padded, is_near);
}

ALWAYS_INLINE size_t logsumexps(const double *pairs, size_t n, e_f64 *values) {
    size_t i = 0;
    for (; i + FORM_LANES <= n; i += FORM_LANES)
        _mm512_storeu_pd((double *)(values + i), without_payload(logsumexp_of(pairs + 2 * i, false)));
    if (i < n)
        _mm512_mask_storeu_pd(values + i, (__mmask8)((1u << (n - i)) - 1),
                              without_payload(last_logsumexps(pairs + 2 * i, n - i, false)));
    return n;
}

/* How many elements accumulators have: each its own number, all the same, or one more or less than the one before. */
typedef enum counting { COUNTS_EACH, COUNTS_SAME, COUNTS_ON } counting;
static counting counting_of(tally_op op, tally_counts counts) {
    return op != TALLY_MEAN || (!counts.each && counts.step == 0) ? COUNTS_SAME : counts.each ? COUNTS_EACH : COUNTS_ON;
}

/* Every second vector is left to the processor's divider, which works beside the estimates of the others. (Zen 5:
 * running means of f64 0.37 ns an element by estimates alone, 0.26 by division alone, and 0.29 so; norm2 0.39, 0.41 and
 * 0.32.) */
enum { BY_PROCESSOR = 2 };

/* 'op' and 'how' are constants where these are inlined. */
#define DEFINE_VECTORS(type)                                                                                           \
    ALWAYS_INLINE size_t whole_vectors_of_##type(tally_op op, const type *v, size_t n, counting how,                   \
                                                 tally_counts counts, e_f64 *values) {                                 \
        const size_t whole = n - n % FORM_LANES;                                                                       \
        const form_counts all = form_counts_of(counts);                                                                \
        const v_f64 share = 1 / all.first;                                                                             \
        v_f64 count = all.first;                                                                                       \
        for (size_t i = 0; i < whole; i += FORM_LANES) {                                                               \
            v_f64 value;                                                                                               \
            const v_f64 x = reals_of_##type(v + i);                                                                    \
            const v_f64 by = how == COUNTS_EACH ? numbers_of(counts, i, 0xff) : count;                                 \
            if (how == COUNTS_SAME && op != TALLY_NORM2)                                                               \
                value = quotient_by_f64(x, count, share);                                                              \
            else if (i / FORM_LANES % BY_PROCESSOR == 0)                                                               \
                value = op == TALLY_NORM2 ? (v_f64)_mm512_sqrt_pd(x) : x / by;                                         \
            else                                                                                                       \
                value = op == TALLY_NORM2 ? root_f64(x) : quotient_f64(x, by);                                         \
            count += how == COUNTS_ON ? all.step : (v_f64){0};                                                         \
            value = without_payload(value);                                                                            \
            memcpy(values + i, &value, sizeof value);                                                                  \
        }                                                                                                              \
        return whole;                                                                                                  \
    }                                                                                                                  \
    ALWAYS_INLINE size_t vectors_of_##type(tally_op op, const type *v, size_t n, tally_counts counts, e_f64 *values) { \
        if (op == TALLY_LOGSUMEXP)                                                                                     \
            return logsumexps((const double *)(const void *)v, n, values);                                             \
        if (op != TALLY_MEAN && op != TALLY_NORM2)                                                                     \
            return 0;                                                                                                  \
        switch (counting_of(op, counts)) {                                                                             \
        case COUNTS_EACH:                                                                                              \
            return whole_vectors_of_##type(op, v, n, COUNTS_EACH, counts, values);                                     \
        case COUNTS_SAME:                                                                                              \
            return whole_vectors_of_##type(op, v, n, COUNTS_SAME, counts, values);                                     \
        default:                                                                                                       \
            return whole_vectors_of_##type(op, v, n, COUNTS_ON, counts, values);                                       \
        }                                                                                                              \
    }

ALWAYS_INLINE v_f64 near_result(tally_op op, const double *v, size_t i, __mmask8 lanes, counting how,
                                tally_counts counts, v_f64 count, v_f64 share) {
    if (op == TALLY_LOGSUMEXP)
        return logsumexp_of(v + 2 * i, true);
    const v_f64 acc = _mm512_maskz_loadu_pd(lanes, v + i);
    if (op == TALLY_NORM2)
        return near_root(acc);
    if (how == COUNTS_EACH)
        return near_quotient(acc, numbers_of(counts, i, lanes));
    return how == COUNTS_SAME ? acc * share : near_quotient(acc, count);
}

ALWAYS_INLINE void near_results(tally_op op, const double *v, size_t n, counting how, tally_counts counts,
                                e_f32 *values) {
    const form_counts all = form_counts_of(counts);
    const v_f64 share = 1 / all.first;
    v_f64 count = all.first;
    size_t i = 0;
    for (; i + FORM_LANES <= n; i += FORM_LANES) {
        const v_f64 value = near_result(op, v, i, 0xff, how, counts, count, share);
        _mm256_storeu_ps((float *)(values + i), _mm512_cvtpd_ps(op == TALLY_NORM2 ? value : without_payload(value)));
        count += how == COUNTS_ON ? all.step : (v_f64){0};
    }
    if (i == n)
        return;
    const __mmask8 lanes = (__mmask8)((1u << (n - i)) - 1);
    const v_f64 value = op == TALLY_LOGSUMEXP ? last_logsumexps(v + 2 * i, n - i, true)
                                              : near_result(op, v, i, lanes, how, counts, count, share);
    _mm256_mask_storeu_ps(values + i, lanes, _mm512_cvtpd_ps(without_payload(value)));
}

#define DEFINE_NEAR(op, name)                                                                                          \
    static void near_##name(const void *acc, size_t n, tally_counts counts, double ddof, void *values) {               \
        (void)ddof;                                                                                                    \
        switch (counting_of(op, counts)) {                                                                             \
        case COUNTS_EACH:                                                                                              \
            near_results(op, acc, n, COUNTS_EACH, counts, values);                                                     \
            break;                                                                                                     \
        case COUNTS_SAME:                                                                                              \
            near_results(op, acc, n, COUNTS_SAME, counts, values);                                                     \
            break;                                                                                                     \
        default:                                                                                                       \
            near_results(op, acc, n, COUNTS_ON, counts, values);                                                       \
        }                                                                                                              \
    }
DEFINE_NEAR(TALLY_MEAN, mean)
DEFINE_NEAR(TALLY_NORM2, norm2)
DEFINE_NEAR(TALLY_LOGSUMEXP, logsumexp)
#define NEAR(name) near_##name
#else
#define DEFINE_VECTORS(type)                                                                                           \
    ALWAYS_INLINE size_t vectors_of_##type(tally_op op, const type *v, size_t n, tally_counts counts, e_f64 *values) { \
        (void)op, (void)v, (void)n, (void)counts, (void)values;                                                        \
        return 0;                                                                                                      \
    }
#define NEAR(name) NULL
#endif
DEFINE_VECTORS(int64_t)
DEFINE_VECTORS(uint64_t)
DEFINE_VECTORS(double)
