/* Running variances of as many stretches of a block side by side as a vector has lanes: lane l is an element of stretch
 * l, and so each takes one addition to a sum. (Of neighbouring elements in a vector each takes log2(lanes) of them, and
 * as many moves of lanes, and where groups begin, as many masks.) Tiles of LANES x LANES elements are turned on their
 * way in, and results on their way out. Included in moments_scan.c; groups are in moments_groups.h.
 *
 * Elements and results are f32 if results are narrow, else f64. */
#ifndef TALLY_CPU_MOMENTS_BESIDE_H
#define TALLY_CPU_MOMENTS_BESIDE_H

#include "cpu/interleave.h"
#include "cpu/kernels/moments_sums.h"
#include "cpu/kernels/simd.h"
#include "cpu/kernels/simd_quotient.h"

#define ROLLED _Pragma("GCC unroll 1")

/* Lane l of v[k] becomes lane k of v[l]. */
#if defined(__AVX512F__)
#define EVEN_QUARTERS(p, q) _mm512_shuffle_f64x2(p, q, 0x88)
#define ODD_QUARTERS(p, q)  _mm512_shuffle_f64x2(p, q, 0xdd)
ALWAYS_INLINE void turn_tile(v_f64 *v) {
    v_f64 w[LANES], u[LANES];
    UNROLL_8 for (size_t k = 0; k < LANES; k += 2) {
        w[k] = _mm512_unpacklo_pd(v[k], v[k + 1]);
        w[k + 1] = _mm512_unpackhi_pd(v[k], v[k + 1]);
    }
    UNROLL_8 for (size_t k = 0; k < LANES; k++) {
        const size_t from = k / 4 * 4 + k / 2 % 2;
        u[k] = k % 2 ? ODD_QUARTERS(w[from], w[from + 2]) : EVEN_QUARTERS(w[from], w[from + 2]);
    }
    UNROLL_8 for (size_t k = 0; k < LANES; k++) {
        const size_t from = k % 2 * 2 + k / 2 % 2;
        v[k] = k / 4 ? ODD_QUARTERS(u[from], u[from + 4]) : EVEN_QUARTERS(u[from], u[from + 4]);
    }
}
#else
ALWAYS_INLINE void turn_tile(v_f64 *v) {
    v_u64 from[LANES], to[LANES];
    UNROLL_8 for (size_t k = 0; k < LANES; k++) from[k] = (v_u64)v[k];
#if VECTOR_BYTES == 32
    TRANSPOSE(v_u64, 4, from, to)
#else
    TRANSPOSE(v_u64, 2, from, to)
#endif
    UNROLL_8 for (size_t k = 0; k < LANES; k++) v[k] = (v_f64)from[k];
}
#endif

/* Lanes whose element is in the group of the one before; 'heads' has 1 in its lowest bit where one begins. */
#if defined(__AVX512F__)
typedef __mmask8 open_lanes;
ALWAYS_INLINE open_lanes open_of(v_u64 heads) {
    return _mm512_testn_epi64_mask((__m512i)heads, _mm512_set1_epi64(1));
}
ALWAYS_INLINE v_f64 where_open(open_lanes open, v_f64 yes, v_f64 no) {
    return _mm512_mask_mov_pd(no, open, yes);
}
/* x + y, and y where a group begins */
ALWAYS_INLINE v_f64 add_where_open(open_lanes open, v_f64 x, v_f64 y) {
    return _mm512_mask_add_pd(y, open, y, x);
}
/* x + y * y, and y (which is 0 or no number) where a group begins */
ALWAYS_INLINE v_f64 add_square_where_open(open_lanes open, v_f64 x, v_f64 y) {
    return _mm512_mask_fmadd_pd(y, open, y, x);
}
#define ALL_OPEN ((open_lanes)0xff)
#else
typedef v_i64 open_lanes;
ALWAYS_INLINE open_lanes open_of(v_u64 heads) {
    return (v_i64)(heads & 1) - 1;
}
ALWAYS_INLINE v_f64 where_open(open_lanes open, v_f64 yes, v_f64 no) {
    return SELECT_LANES(f64, open, yes, no);
}
ALWAYS_INLINE v_f64 add_where_open(open_lanes open, v_f64 x, v_f64 y) {
    return y + (v_f64)(open & (v_i64)x);
}
ALWAYS_INLINE v_f64 add_square_where_open(open_lanes open, v_f64 x, v_f64 y) {
    return add_product_f64((v_f64)(open & (v_i64)x), y, y);
}
#define ALL_OPEN (~(open_lanes){0})
#endif

/* ---- tiles ---- */

/* Lane l of tile[k] = x[at[l] + k] */
ALWAYS_INLINE void take_tile(const void *x, const size_t *at, bool narrow, v_f64 *tile) {
    UNROLL_8 for (size_t l = 0; l < LANES; l++) tile[l] =
        narrow ? load_f64_from_f32((const e_f32 *)x + at[l]) : load_f64_from_f64((const e_f64 *)x + at[l]);
    turn_tile(tile);
}

/* ---- results ---- */

typedef float few_floats __attribute__((vector_size(sizeof(v_f64) / 2)));
typedef uint32_t few_units __attribute__((vector_size(sizeof(v_f64) / 2)));

ALWAYS_INLINE v_f32 roots_of_floats(v_f32 x) {
#if defined(__AVX512F__)
    return _mm512_sqrt_ps(x);
#elif defined(__AVX2__)
    return _mm256_sqrt_ps(x);
#else
    for (size_t l = 0; l < LANES_OF(s_f32); l++)
        x[l] = __builtin_sqrtf(x[l]);
    return x;
#endif
}

/* Whether a root is not 0 and less than 2^-63, or infinite. */
ALWAYS_INLINE bool are_far(v_f32 roots) {
    const v_u32 bits = (v_u32)roots, least = (v_u32){0} + 0x20000000, range = (v_u32){0} + (0x7f800000 - 0x20000000);
#if defined(__AVX512F__)
    const __mmask16 far = _mm512_cmpge_epu32_mask((__m512i)(bits - least), (__m512i)range);
    return _mm512_mask_test_epi32_mask(far, (__m512i)bits, (__m512i)bits) != 0;
#else
    return any_bit((v_u64)((bits - least >= range) & (bits != 0)));
#endif
}

ALWAYS_INLINE v_f32 floats_of(v_f64 low, v_f64 high) {
#if defined(__AVX512F__)
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
#elif defined(__AVX2__)
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
#else
    v_f32 both;
    const few_floats halves[2] = {__builtin_convertvector(low, few_floats), __builtin_convertvector(high, few_floats)};
    memcpy(&both, halves, sizeof both);
    return both;
#endif
}

/* Roots of variances, rounded to f32 before: so a root is wrong by 3/4 of a unit in the last place at most. Variances
 * that f32 does not have, or not with all digits, are rounded later. */
ALWAYS_INLINE v_f32 narrow_roots(v_f32 rounded, v_f64 low, v_f64 high) {
    const v_f32 roots = roots_of_floats(rounded);
    return __builtin_expect(are_far(roots), 0) ? floats_of(near_root(low), near_root(high)) : roots;
}

ALWAYS_INLINE void put_floats(few_floats v, size_t n, float *to) {
    if (n >= LANES)
        memcpy(to, &v, sizeof v);
    else
#if defined(__AVX512F__)
        _mm256_mask_storeu_ps(to, (__mmask8)((1u << n) - 1), v);
#else
        memcpy(to, &v, n * sizeof *to);
#endif
}

/* rows[l] = lane l of tile[0 ..], or their roots */
ALWAYS_INLINE void turn_narrow(const v_f64 *tile, bool root, few_floats *rows) {
    v_f32 two[LANES / 2];
    UNROLL_8 for (size_t k = 0; k < LANES; k += 2) two[k / 2] = floats_of(tile[k], tile[k + 1]);
    if (root)
        UNROLL_8 for (size_t k = 0; k < LANES; k += 2) two[k / 2] = narrow_roots(two[k / 2], tile[k], tile[k + 1]);
#if defined(__AVX512F__)
    const __m512i low = _mm512_setr_epi32(0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
    const __m512i even = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    UNROLL_8 for (size_t h = 0; h < 2; h++) { /* lanes 4 h .. 4 h + 3, by four of them */
        const __m512i from = (__m512i)((v_u32)low + (s_u32)(4 * h)), odd = (__m512i)((v_u32)even + 8);
        const __m512 first = _mm512_permutex2var_ps(two[0], from, two[1]),
                     last = _mm512_permutex2var_ps(two[2], from, two[3]);
        const __m512 lanes[2] = {_mm512_permutex2var_ps(first, even, last), _mm512_permutex2var_ps(first, odd, last)};
        UNROLL_8 for (size_t k = 0; k < 2; k++) {
            rows[4 * h + 2 * k] = (few_floats)_mm512_castps512_ps256(lanes[k]);
            rows[4 * h + 2 * k + 1] = (few_floats)_mm512_extractf32x8_ps(lanes[k], 1);
        }
    }
#else
    few_units from[LANES], to[LANES];
    memcpy(from, two, sizeof from);
#if VECTOR_BYTES == 32
    TRANSPOSE(few_units, 4, from, to)
#else
    TRANSPOSE(few_units, 2, from, to)
#endif
    memcpy(rows, from, sizeof from);
#endif
}

/* *tile = the variance of 'moment', M2 times the number of elements; or of results that are not narrow the moment,
 * which is to be divided by *by. */
ALWAYS_INLINE void divide_later(v_f64 moment, v_f64 number, double ddof, bool narrow, v_f64 *tile, v_f64 *by) {
    *by = number * (number - ddof);
    *tile = narrow ? near_quotient(moment, *by) : moment;
}

/* Results from a tile of these: out[at[l] + k] is that of lane l of tile[k]. Some are left to the processor's divider,
 * which works beside the estimates of the others. (Zen 5, f64: running deviations 0.56 ns an element with half of the
 * vectors by the divider, 0.64 with all; variances 0.49, 0.46 with three quarters, 0.41 with all.) */
ALWAYS_INLINE void divide_wide(v_f64 *tile, const v_f64 *by, bool root) {
    if (root)
        UNROLL_8 for (size_t k = 0; k < LANES; k++) tile[k] =
            k % 2 ? root_of_quotient_f64(tile[k], by[k]) : root_by_processor(tile[k] / by[k]);
    else
        UNROLL_8 for (size_t k = 0; k < LANES; k++) tile[k] =
            k % 4 == 3 ? quotient_f64(tile[k], by[k]) : tile[k] / by[k];
}

/* out[at[l] + k] = lane l of tile[k], or its root if results are narrow. */
ALWAYS_INLINE void put_tile(v_f64 *tile, const size_t *at, bool root, bool narrow, void *out) {
    few_floats rows[LANES];
    if (narrow)
        turn_narrow(tile, root, rows);
    else
        turn_tile(tile);
    UNROLL_8 for (size_t l = 0; l < LANES; l++) {
        if (narrow)
            memcpy((float *)out + at[l], &rows[l], sizeof rows[l]);
        else
            memcpy((double *)out + at[l], &tile[l], sizeof tile[l]);
    }
}

ALWAYS_INLINE void give_tile(v_f64 *tile, const v_f64 *by, const size_t *at, bool root, bool narrow, void *out) {
    if (!narrow)
        divide_wide(tile, by, root);
    put_tile(tile, at, root, narrow, out);
}

/* The same for k < left[l]. Not inlined, for size. */
static __attribute__((noinline)) void give_some(v_f64 *tile, const v_f64 *by, const size_t *at, const size_t *left,
                                                bool root, bool narrow, void *out) {
    few_floats rows[LANES];
    if (narrow) {
        turn_narrow(tile, root, rows);
    } else {
        divide_wide(tile, by, root);
        turn_tile(tile);
    }
    for (size_t l = 0; l < LANES; l++) {
        if (narrow)
            put_floats(rows[l], left[l], (float *)out + at[l]);
        else
            put_lanes(tile[l], left[l], (double *)out + at[l]);
    }
}

/* ---- sums ---- */

/* Sums of each lane's group, before a tile and in it. The latter round less; but results that are narrow have one for
 * both. 'still_open': the group was open before the tile. */
typedef struct lane_sums {
    v_f64 shift, sum, squares, number, rebased_at, own, own_squares;
    open_lanes still_open;
} lane_sums;

/* Moves the shifts of groups that have REBASED elements or more to their means, and again whenever they have doubled;
 * the sums follow what the shift has really moved by. So a twelfth is left at least of the squares of the first, and
 * later a quarter. */
ALWAYS_INLINE void rebase_lanes(lane_sums *s) {
    const v_f64 zero = {0};
    s->rebased_at = SELECT_LANES(f64, (s->number <= LANES), zero + REBASED, s->rebased_at);
    const v_i64 moves = s->number >= s->rebased_at;
    if (!any_bit((v_u64)moves))
        return;
    const v_f64 shift = s->shift + s->sum * (1 / s->number), moved = shift - s->shift;
    const v_f64 sum = add_product_f64(s->sum, moved, -s->number);
    s->squares = SELECT_LANES(f64, moves, s->squares - moved * (s->sum + sum), s->squares);
    s->sum = SELECT_LANES(f64, moves, sum, s->sum);
    s->shift = SELECT_LANES(f64, moves, shift, s->shift);
    s->rebased_at = SELECT_LANES(f64, moves, 2 * s->number, s->rebased_at);
}

/* ---- a run: its stretches are as long as each other, and begin with what the ones before have ---- */

ALWAYS_INLINE v_f64 sums_up_to(v_f64 x) {
    UNROLL_8 for (size_t by = 1; by < LANES; by *= 2) x += shift_up_f64(x, (v_f64){0}, by);
    return x;
}

/* The sums before each stretch of the first elements of all, about their means instead of one shift for all. So half of
 * the squares is left at least in all stretches but the first, whose shift becomes its first element, and which is
 * rebased. 'own' are the sums with each stretch's own. False if the subtraction loses more than two bits of one. */
ALWAYS_INLINE bool move_to_means(lane_sums *s, v_f64 own, v_f64 own_squares, double rows, double first) {
    const v_f64 before = s->number, product = own_squares * (before + rows);
    if (any_bit((v_u64)(product > 4 * (product - own * own))))
        return false;
    v_f64 shift = s->shift + s->sum / larger_f64(before, (v_f64){0} + 1.0);
    shift[0] = first;
    const v_f64 moved = shift - s->shift, sum = add_product_f64(s->sum, moved, -before);
    s->squares -= moved * (s->sum + sum);
    s->sum = sum;
    s->shift = shift;
    s->rebased_at = 2 * before;
    return true;
}

/* A shift for the first n elements of all: one of them, so that the distances of integers are integers. */
ALWAYS_INLINE double middle_of_three(const e_f64 *x, size_t n) {
    const double a = x[0], b = x[n / 2], c = x[n - 1], low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c < high ? c : high;
}

/* 'before' are the sums of the 'count' elements before n, which are whole tiles, BLOCK at most. The shift has no more
 * digits than elements; it and the sums become those after them. 'is_first': the n elements begin with more than FIRST
 * that are the first of all, and results are not narrow. False, and nothing is written, if a product overflows, an
 * element is not finite, or the first ones are too far apart for stretches. */
ALWAYS_INLINE bool scan_run_beside(const void *x, size_t n, sums *before, double count, bool is_first, double ddof,
                                   bool root, bool narrow, void *out) {
    _Alignas(64) double turned[BLOCK]; /* elements, or if results are narrow their distances */
    const size_t rows = n / LANES;
    size_t at[LANES];
    const double first = before->shift;
    if (is_first)
        before->shift = middle_of_three(x, n);
    const v_f64 zero = {0}, shift = zero + before->shift;
    v_f64 tile[LANES], by[LANES], sum = zero, squares = zero;
    for (size_t l = 0; l < LANES; l++)
        at[l] = l * rows;
    for (size_t r = 0; r < rows; r += LANES) {
        take_tile(x, at, narrow, tile);
        v_f64 halves[2] = {zero, zero}, halves_of_squares[2] = {zero, zero};
        UNROLL_8 for (size_t k = 0; k < LANES; k++) {
            const v_f64 d = tile[k] - shift;
            memcpy(turned + (r + k) * LANES, narrow ? &d : &tile[k], sizeof d);
            halves[k % 2] += d;
            halves_of_squares[k % 2] = add_product_f64(halves_of_squares[k % 2], d, d);
        }
        sum += halves[0] + halves[1];
        squares += halves_of_squares[0] + halves_of_squares[1];
        for (size_t l = 0; l < LANES; l++)
            at[l] += LANES;
    }
    const v_f64 own = sums_up_to(sum), own_squares = sums_up_to(squares);
    if (!is_finite(before->squares + own_squares[LANES - 1], count + (double)n))
        return false;
    lane_sums s = {.shift = shift, .sum = shift_up_f64(own, zero, 1), .squares = shift_up_f64(own_squares, zero, 1)};
    v_f64 more = zero + before->sum, more_squares = zero + before->squares;
    double numbers[LANES];
    for (size_t l = 0; l < LANES; l++) {
        numbers[l] = count + (double)(l * rows);
        at[l] = l * rows;
    }
    memcpy(&s.number, numbers, sizeof numbers);
    if (narrow) {
        s.sum += more;
        s.squares += more_squares;
    } else if (is_first && !move_to_means(&s, own, own_squares, (double)rows, first)) {
        return false;
    }
    for (size_t r = 0; r < rows; r += LANES) {
        /* sums of a tile alone, and of the block alone, round less than those of all elements */
        const v_f64 all = more + s.sum, all_squares = more_squares + s.squares;
        sum = narrow ? s.sum : zero;
        squares = narrow ? s.squares : zero;
        UNROLL_8 for (size_t k = 0; k < LANES; k++) {
            v_f64 d;
            memcpy(&d, turned + (r + k) * LANES, sizeof d);
            d = narrow ? d : d - s.shift;
            s.number += 1.0;
            sum += d;
            squares = add_product_f64(squares, d, d);
            const v_f64 m =
                narrow ? moment(sum, squares, s.number) : moment(all + sum, all_squares + squares, s.number);
            divide_later(m, s.number, ddof, narrow, &tile[k], &by[k]);
        }
        s.sum = narrow ? sum : s.sum + sum;
        s.squares = narrow ? squares : s.squares + squares;
        if (is_first)
            rebase_lanes(&s);
        give_tile(tile, by, at, root, narrow, out);
        for (size_t l = 0; l < LANES; l++)
            at[l] += LANES;
    }
    before->sum += own[LANES - 1];
    before->squares += own_squares[LANES - 1];
    return true;
}

#endif
