/* Running sums of elements, magnitudes, squares or products, and their means and roots, from elements to results
 * without a stop in between.
 *
 * Lanes are f32 for results of 16 bits and for magnitudes and squares of f32. What came before a block of 64 elements
 * is an f64, to which the block's total is added, so rounding does not add up. Other lanes have 8 bytes: a vector is
 * scanned in three steps, in each of which the later half of a part adds the sum of its earlier half, and four vectors
 * are under way. */
#include "cpu/kernels/lanes.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"
#include "cpu/kernels/simd_quotient.h"
#include "core/operator.h"

extern tally_cpu_running_sums *const PASTE4(tally_cpu_running_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
extern tally_cpu_running_sums *const PASTE4(tally_cpu_wide_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
extern tally_cpu_running_sums *const PASTE4(tally_cpu_real_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

#if defined(__AVX512BW__)
#define NAME(function)       PASTE2(function, sums)
#define LANE                 f32
#define L_V                  v_f32
#define COMBINE(a, b)        ((void)numbers, (void)m, (a) + (b))
#define COMBINE_BESIDE(a, b) ((void)numbers, (void)m, sum_beside_f32(a, b))
#include "cpu/kernels/scan_blocks.h"

enum { LANES = LANES_OF(s_f32), STEP = BLOCK_sums * LANES };

/* Two vectors of results. No NaN is among them. */
ALWAYS_INLINE void store_f32(const v_f32 *two, e_f32 *to) {
    memcpy(to, two, 2 * sizeof *two);
}
ALWAYS_INLINE void store_f16(const v_f32 *two, e_f16 *to) {
    UNROLL_8 for (size_t k = 0; k < 2; k++) {
        const __m256i halves = _mm512_cvtps_ph(two[k], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        memcpy(to + k * LANES, &halves, sizeof halves);
    }
}
ALWAYS_INLINE void store_bf16(const v_f32 *two, e_bf16 *to) {
    v_u32 rounded[2];
    v_u16 upper;
    for (size_t l = 0; l < LANES_OF(s_u16); l++)
        upper[l] = (s_u16)(2 * l + 1);
    UNROLL_8 for (size_t k = 0; k < 2; k++) rounded[k] = (v_u32)two[k] + 0x7fff + ((v_u32)two[k] >> 16 & 1);
    const __m512i halves = _mm512_permutex2var_epi16((__m512i)rounded[0], (__m512i)upper, (__m512i)rounded[1]);
    memcpy(to, &halves, sizeof halves);
}

/* The results of a vector of sums, of which the first is that of 'count' elements. */
ALWAYS_INLINE v_f32 result_of(tally_cpu_sums_result result, v_f32 sums, v_u32 counts) {
    if (result == TALLY_CPU_MEANS)
        return sums / (v_f32)_mm512_cvtepu32_ps((__m512i)counts);
    return result == TALLY_CPU_ROOTS ? (v_f32)_mm512_sqrt_ps(sums) : sums;
}

#define DEFINE_RUNNING_SUMS(tag)                                                                                       \
    static size_t sums_of_##tag(const void *x, const void *y, size_t n, tally_cpu_sums_options how, void *before,      \
                                void *out) {                                                                           \
        const tally_monoid m = TALLY_MONOID_sum;                                                                       \
        const later_lanes_sums later = later_lanes_of_sums(how.reverse);                                               \
        const v_f32 none = {0};                                                                                        \
        const v_u32 kept = (how.magnitudes ? 0x7fffffff : 0xffffffff) + (v_u32){0};                                    \
        const size_t blocks = n / STEP, first_at = how.reverse ? n - STEP : 0;                                         \
        const ptrdiff_t step = how.reverse ? -(ptrdiff_t)STEP : STEP;                                                  \
        const e_##tag *from = (const e_##tag *)x + first_at;                                                           \
        const ptrdiff_t other = (const char *)y - (const char *)x;                                                     \
        e_##tag *to = (e_##tag *)out + first_at;                                                                       \
        bool reverse = how.reverse, exclusive = how.exclusive, multiplies = y != NULL, squares = how.squares;          \
        tally_cpu_sums_result result = how.result;                                                                     \
        block_sums first, second = {{none, none, none, none}, none, none}, third = second;                             \
        double running;                                                                                                \
        memcpy(&running, before, sizeof running);                                                                      \
        v_u32 counts = how.index + 1 + unit_numbers();                                                                 \
        v_f32 results[BLOCK_sums];                                                                                     \
        size_t turn = 0;                                                                                               \
        for (; turn < blocks + 2; turn++) {                                                                            \
            NOT_IN_VECTORS(reverse); /* nor a loop for each form */                                                    \
            NOT_IN_VECTORS(exclusive);                                                                                 \
            NOT_IN_VECTORS(multiplies);                                                                                \
            NOT_IN_VECTORS(squares);                                                                                   \
            NOT_IN_VECTORS(result);                                                                                    \
            UNROLL_8 for (size_t k = 0; k < BLOCK_sums; k++) {                                                         \
                const v_u32 bits = (v_u32)load_f32_from_##tag(from + k * LANES);                                       \
                first.r[k] = (v_f32)(bits & kept);                                                                     \
            }                                                                                                          \
            if (squares)                                                                                               \
                UNROLL_8 for (size_t k = 0; k < BLOCK_sums; k++) first.r[k] *= first.r[k];                             \
            if (multiplies) {                                                                                          \
                const e_##tag *const factors = (const e_##tag *)((const char *)from + other);                          \
                UNROLL_8 for (size_t k = 0; k < BLOCK_sums; k++) first.r[k] *=                                         \
                    load_f32_from_##tag(factors + k * LANES);                                                          \
            }                                                                                                          \
            from += turn + 1 < blocks ? step : 0;                                                                      \
            begin_block_sums(m, reverse, &first);                                                                      \
            swap_totals_sums(m, 32, later.of_32, &second);                                                             \
            swap_totals_sums(m, 4, later.of_4, &third);                                                                \
            swap_totals_sums(m, 8, later.of_8, &third);                                                                \
            const v_f32 start = (s_f32)running + third.before;                                                         \
            const double total = third.total[0];            /* in every lane */                                        \
            if (!(__builtin_fabs(total) < __builtin_inf())) /* f64 may have it, or it is NaN */                        \
                break;                                                                                                 \
            running += total;                                                                                          \
            end_block_sums(m, reverse, exclusive, start, &third, results);                                             \
            if (turn >= 2) {                                                                                           \
                if (result != TALLY_CPU_SUMS)                                                                          \
                    UNROLL_8 for (size_t k = 0; k < BLOCK_sums; k++, counts += LANES) results[k] =                     \
                        result_of(result, results[k], counts);                                                         \
                UNROLL_8 for (size_t k = 0; k < BLOCK_sums; k += 2) store_##tag(results + k, to + k * LANES);          \
                to += step;                                                                                            \
            }                                                                                                          \
            open_totals_sums(m, none, later.of_16, &first);                                                            \
            third = second;                                                                                            \
            second = first;                                                                                            \
        }                                                                                                              \
        memcpy(before, &running, sizeof running);                                                                      \
        return turn < 2 ? 0 : (turn - 2) * STEP;                                                                       \
    }
DEFINE_RUNNING_SUMS(f16)
DEFINE_RUNNING_SUMS(bf16)
DEFINE_RUNNING_SUMS(f32)

/* ---- lanes of 8 bytes ---- */

/* Vectors, and turns of so many after which a sum and what its rounding has left are joined: rounding does not add up.
 */
enum { AT_ONCE = 4, TURNS_APART = 16 };

/* Whose lanes take which other's sum in each step, and as the value before them; and the lane of the whole. */
typedef struct moves {
    __m512i second, third, before, last;
    __mmask8 later[3], has_before;
} moves;
ALWAYS_INLINE moves moves_of(bool reverse) {
    const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), one = _mm512_set1_epi64(1);
    if (reverse)
        return (moves){_mm512_set_epi64(6, 6, 6, 6, 2, 2, 2, 2),
                       _mm512_set1_epi64(4),
                       _mm512_add_epi64(lane, one),
                       _mm512_setzero_si512(),
                       {0x55, 0x33, 0x0f},
                       0x7f};
    return (moves){_mm512_set_epi64(5, 5, 5, 5, 1, 1, 1, 1),
                   _mm512_set1_epi64(3),
                   _mm512_sub_epi64(lane, one),
                   _mm512_set1_epi64(7),
                   {0xaa, 0xcc, 0xf0},
                   0xfe};
}

ALWAYS_INLINE v_f64 step_f64(v_f64 x, __mmask8 later, v_f64 other) {
    return _mm512_mask_add_pd(x, later, other, x);
}
ALWAYS_INLINE v_i64 step_i64(v_i64 x, __mmask8 later, v_i64 other) {
    return (v_i64)_mm512_mask_add_epi64((__m512i)x, later, (__m512i)other, (__m512i)x);
}
ALWAYS_INLINE v_f64 numbers_f64(void) {
    return (v_f64)_mm512_set_pd(7, 6, 5, 4, 3, 2, 1, 0);
}

/* A running sum and what has come since, joined. */
ALWAYS_INLINE void join_f64(v_f64 *running, v_f64 *local) {
    const v_f64 sum = *running + *local, part = sum - *running, rest = (*running - (sum - part)) + (*local - part);
    *running = sum;
    *local = SELECT_LANES(f64, (rest == rest), rest, (v_f64){0}); /* an infinite sum leaves nothing */
}
ALWAYS_INLINE void join_i64(v_i64 *running, v_i64 *local) {
    *running += *local;
    *local = (v_i64){0};
}

/* NaN for any NaN, else x: a choice without a mask. */
ALWAYS_INLINE v_f64 without_payload(v_f64 x) {
    const __m512i first_for_nan = _mm512_set1_epi64(0x11111100); /* by x: quiet NaN, signalling NaN, 0, 1 ... */
    return _mm512_fixupimm_pd((v_f64){0} + __builtin_nan(""), x, first_for_nan, 0);
}

/* The processor's root takes 7 cycles a vector on Zen 5, beside which other vectors are scanned. (Norms, ns an element
 * with estimates for all, two, one and none of four vectors: f64 0.39, 0.32, 0.29 and 0.23, f32 0.32, 0.29, 0.30 and
 * 0.25.) */
ALWAYS_INLINE v_f64 real_of(v_f64 sums, v_f64 count, tally_cpu_sums_result result, bool near) {
    return without_payload(result == TALLY_CPU_ROOTS ? root_by_processor(sums)
                           : near                    ? near_quotient(sums, count)
                                                     : sums / count);
}

/* The results of a turn, to where those of its first vector go; 'step' elements from one vector to the next. */
ALWAYS_INLINE void put_f64(const v_f64 *results, tally_cpu_sums_result result, v_f64 count, ptrdiff_t step, e_f64 *to) {
    UNROLL_8 for (ptrdiff_t k = 0; k < AT_ONCE; k++, count += (double)LANES_OF(s_f64)) {
        const v_f64 v = result == TALLY_CPU_SUMS ? results[k] : real_of(results[k], count, result, false);
        memcpy(to + k * step, &v, sizeof v);
    }
}
ALWAYS_INLINE void put_f32(const v_f64 *results, tally_cpu_sums_result result, v_f64 count, ptrdiff_t step, e_f32 *to) {
    UNROLL_8 for (ptrdiff_t k = 0; k < AT_ONCE; k++, count += (double)LANES_OF(s_f64)) {
        const v_f64 v = result == TALLY_CPU_SUMS ? results[k] : real_of(results[k], count, result, true);
        const __m256 narrow = _mm512_cvtpd_ps(v);
        memcpy(to + k * step, &narrow, sizeof narrow);
    }
}
/* Sums of fewer than 2^32 elements of 32 bits, and sums of squares as they wrap. */
ALWAYS_INLINE void put_i64(const v_i64 *results, tally_cpu_sums_result result, v_f64 count, ptrdiff_t step, e_i64 *to) {
    UNROLL_8 for (ptrdiff_t k = 0; k < AT_ONCE; k++, count += (double)LANES_OF(s_f64)) {
        const __m512i sums = (__m512i)results[k];
        const v_i64 v = result == TALLY_CPU_SUMS    ? results[k]
                        : result == TALLY_CPU_ROOTS ? (v_i64)root_by_processor(_mm512_cvtepu64_pd(sums))
                                                    : (v_i64)((v_f64)_mm512_cvtepi64_pd(sums) / count);
        memcpy(to + k * step, &v, sizeof v);
    }
}

/* Squares of lanes, and of those that hold elements of up to 32 bits. */
#define SQUARE(v)          ((v) * (v))
#define SQUARE_SIGNED(v)   ((v_i64)_mm512_mul_epi32((__m512i)(v), (__m512i)(v)))
#define SQUARE_UNSIGNED(v) ((v_i64)_mm512_mul_epu32((__m512i)(v), (__m512i)(v)))

/* 'lifts': elements may be squared or multiplied, or their magnitudes taken; else they are squared for roots, and a
 * variable less stays in a register. 'apart': what has come since the last join is a sum of its own, as results have
 * all bits of a lane of floats. */
#define DEFINE_WIDE_SUMS(name, tag, lane, out_tag, square, lifts, apart)                                               \
    static size_t name##_of_##tag(const void *x, const void *y, size_t n, tally_cpu_sums_options how, void *before,    \
                                  void *out) {                                                                         \
        enum { OWN_LANES = LANES_OF(s_##lane), OWN_STEP = AT_ONCE * OWN_LANES };                                       \
        const moves to_others = moves_of(how.reverse);                                                                 \
        const size_t turns = n / OWN_STEP, first_at = how.reverse ? n - OWN_LANES : 0;                                 \
        const ptrdiff_t step = how.reverse ? -(ptrdiff_t)OWN_LANES : OWN_LANES;                                        \
        const e_##tag *from = (const e_##tag *)x + first_at;                                                           \
        const ptrdiff_t other = (const char *)y - (const char *)x;                                                     \
        e_##out_tag *to = (e_##out_tag *)out + first_at;                                                               \
        bool exclusive = how.exclusive, multiplies = y != NULL, squares = how.squares, magnitudes = how.magnitudes;    \
        tally_cpu_sums_result result = how.result;                                                                     \
        s_##lane started[2];                                                                                           \
        memcpy(started, before, sizeof started);                                                                       \
        v_##lane running = started[0] - (v_##lane){0}, local = started[1] - (v_##lane){0}, v[AT_ONCE];                 \
        if (!apart)                                                                                                    \
            local = running, running = (v_##lane){0};                                                                  \
        v_f64 count = (double)how.index + 1 + numbers_f64();                                                           \
        size_t turn = 0;                                                                                               \
        for (; turn < turns; turn++) {                                                                                 \
            NOT_IN_VECTORS(exclusive); /* nor a loop for each form */                                                  \
            NOT_IN_VECTORS(multiplies);                                                                                \
            NOT_IN_VECTORS(squares);                                                                                   \
            NOT_IN_VECTORS(magnitudes);                                                                                \
            NOT_IN_VECTORS(result);                                                                                    \
            UNROLL_8 for (ptrdiff_t k = 0; k < AT_ONCE; k++) v[k] = load_##lane##_from_##tag(from + k * step);         \
            if (lifts && magnitudes)                                                                                   \
                UNROLL_8 for (size_t k = 0; k < AT_ONCE; k++) v[k] = abs_##lane(v[k]);                                 \
            if (lifts ? squares : result == TALLY_CPU_ROOTS)                                                           \
                UNROLL_8 for (size_t k = 0; k < AT_ONCE; k++) v[k] = square(v[k]);                                     \
            if (lifts && multiplies) {                                                                                 \
                const e_##tag *const factors = (const e_##tag *)((const char *)from + other);                          \
                UNROLL_8 for (ptrdiff_t k = 0; k < AT_ONCE; k++) v[k] *= load_##lane##_from_##tag(factors + k * step); \
            }                                                                                                          \
            UNROLL_8 for (size_t k = 0; k < AT_ONCE; k++) v[k] =                                                       \
                step_##lane(v[k], to_others.later[0], (v_##lane)swapped_parts((v_u8)v[k], 8));                         \
            UNROLL_8 for (size_t k = 0; k < AT_ONCE; k++) v[k] = step_##lane(                                          \
                v[k], to_others.later[1], (v_##lane)_mm512_permutexvar_epi64(to_others.second, (__m512i)v[k]));        \
            UNROLL_8 for (size_t k = 0; k < AT_ONCE; k++) v[k] = step_##lane(                                          \
                v[k], to_others.later[2], (v_##lane)_mm512_permutexvar_epi64(to_others.third, (__m512i)v[k]));         \
            v_##lane starts[AT_ONCE];                                                                                  \
            UNROLL_8 for (size_t k = 0; k < AT_ONCE; k++) {                                                            \
                starts[k] = apart ? running + local : local;                                                           \
                local += (v_##lane)_mm512_permutexvar_epi64(to_others.last, (__m512i)v[k]);                            \
            }                                                                                                          \
            if (apart && turn % TURNS_APART == TURNS_APART - 1)                                                        \
                join_##lane(&running, &local);                                                                         \
            if (exclusive)                                                                                             \
                UNROLL_8 for (size_t k = 0; k < AT_ONCE; k++) v[k] =                                                   \
                    (v_##lane)_mm512_maskz_permutexvar_epi64(to_others.has_before, to_others.before, (__m512i)v[k]);   \
            UNROLL_8 for (size_t k = 0; k < AT_ONCE; k++) v[k] += starts[k];                                           \
            if (result == TALLY_CPU_SUMS)                                                                              \
                put_##out_tag(v, TALLY_CPU_SUMS, count, step, to);                                                     \
            else if (result == TALLY_CPU_ROOTS)                                                                        \
                put_##out_tag(v, TALLY_CPU_ROOTS, count, step, to);                                                    \
            else                                                                                                       \
                put_##out_tag(v, TALLY_CPU_MEANS, count, step, to);                                                    \
            count += (double)OWN_STEP;                                                                                 \
            from += AT_ONCE * step;                                                                                    \
            to += AT_ONCE * step;                                                                                      \
        }                                                                                                              \
        join_##lane(&running, &local);                                                                                 \
        started[0] = running[0];                                                                                       \
        started[1] = local[0];                                                                                         \
        memcpy(before, started, sizeof started);                                                                       \
        return turn * OWN_STEP;                                                                                        \
    }

#define load_i64_from_u8(p)  ((v_i64)load_u64_from_u8(p))
#define load_i64_from_u16(p) ((v_i64)load_u64_from_u16(p))
#define load_i64_from_u32(p) ((v_i64)load_u64_from_u32(p))
DEFINE_WIDE_SUMS(wide_sums, f32, f64, f32, SQUARE, false, false)
DEFINE_WIDE_SUMS(wide_sums, f64, f64, f64, SQUARE, true, true)
DEFINE_WIDE_SUMS(wide_sums, i8, i64, i64, SQUARE_SIGNED, false, false)
DEFINE_WIDE_SUMS(wide_sums, i16, i64, i64, SQUARE_SIGNED, false, false)
DEFINE_WIDE_SUMS(wide_sums, i32, i64, i64, SQUARE_SIGNED, false, false)
DEFINE_WIDE_SUMS(wide_sums, i64, i64, i64, SQUARE, true, false)
DEFINE_WIDE_SUMS(wide_sums, u8, i64, i64, SQUARE_UNSIGNED, false, false)
DEFINE_WIDE_SUMS(wide_sums, u16, i64, i64, SQUARE_UNSIGNED, false, false)
DEFINE_WIDE_SUMS(wide_sums, u32, i64, i64, SQUARE_UNSIGNED, false, false)
DEFINE_WIDE_SUMS(real_sums, i32, f64, f64, SQUARE, false, true)
DEFINE_WIDE_SUMS(real_sums, u32, f64, f64, SQUARE, false, true)
DEFINE_WIDE_SUMS(real_sums, i64, f64, f64, SQUARE, false, true)
DEFINE_WIDE_SUMS(real_sums, u64, f64, f64, SQUARE, false, true)

tally_cpu_running_sums *const PASTE4(tally_cpu_running_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_F16] = sums_of_f16, [TALLY_BF16] = sums_of_bf16, [TALLY_F32] = sums_of_f32};
tally_cpu_running_sums *const PASTE4(tally_cpu_wide_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_F32] = wide_sums_of_f32, [TALLY_F64] = wide_sums_of_f64, [TALLY_I8] = wide_sums_of_i8,
    [TALLY_I16] = wide_sums_of_i16, [TALLY_I32] = wide_sums_of_i32, [TALLY_I64] = wide_sums_of_i64,
    [TALLY_U8] = wide_sums_of_u8,   [TALLY_U16] = wide_sums_of_u16, [TALLY_U32] = wide_sums_of_u32,
    [TALLY_U64] = wide_sums_of_i64};
tally_cpu_running_sums *const PASTE4(tally_cpu_real_sums, _,
                                     TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {[TALLY_I32] = real_sums_of_i32,
                                                                          [TALLY_U32] = real_sums_of_u32,
                                                                          [TALLY_I64] = real_sums_of_i64,
                                                                          [TALLY_U64] = real_sums_of_u64};
#else
tally_cpu_running_sums *const PASTE4(tally_cpu_real_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {0};
tally_cpu_running_sums *const PASTE4(tally_cpu_running_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {0};
tally_cpu_running_sums *const PASTE4(tally_cpu_wide_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {0};
#endif
