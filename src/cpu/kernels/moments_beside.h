/* Running variances of as many stretches of a block side by side as a vector has lanes: lane l is an element of stretch
 * l, and so each takes one addition to a sum. (Of neighbouring elements in a vector each takes log2(lanes) of them, and
 * as many moves of lanes, and where groups begin, as many masks.) Tiles of LANES x LANES elements are turned on their
 * way in, and results on their way out. Included in moments_scan.c.
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

/* ---- groups ---- */

enum { HEAD_WORDS = TALLY_CPU_GROUPS_BLOCK / 64 };

/* A bit for each element, set where a group begins, and behind the last one. */
ALWAYS_INLINE void gather_heads(const int8_t *heads, size_t n, uint64_t bits[HEAD_WORDS + 2]) {
    bits[n / 64] = bits[n / 64 + 1] = ~UINT64_C(0);
    for (size_t i = 0; i < n; i += 64) {
        uint64_t word = 0;
#if defined(__AVX512BW__)
        const size_t left = n - i;
        const __mmask64 some = left >= 64 ? ~UINT64_C(0) : ((UINT64_C(1) << left) - 1);
        word = _mm512_movepi8_mask(_mm512_maskz_loadu_epi8(some, heads + i)) | ~some;
#else
        for (size_t k = 0; k < 64; k++)
            word |= (uint64_t)(i + k >= n || heads[i + k]) << k;
#endif
        bits[i / 64] = word;
    }
}

ALWAYS_INLINE size_t next_head(const uint64_t *bits, size_t at) {
    uint64_t word = bits[at / 64] >> at % 64;
    if (word)
        return at + (size_t)__builtin_ctzll(word);
    for (at = at / 64 + 1; bits[at] == 0; at++)
        continue;
    return at * 64 + (size_t)__builtin_ctzll(bits[at]);
}

/* The last one before 'at'; there is one at 0. */
ALWAYS_INLINE size_t head_before(const uint64_t *bits, size_t at) {
    size_t i = at / 64;
    uint64_t word = bits[i] & ((UINT64_C(1) << at % 64) - 1);
    while (word == 0)
        word = bits[--i];
    return i * 64 + 63 - (size_t)__builtin_clzll(word);
}

/* The next heads of each lane from bit at[l] on, MARKED of them. */
enum { MARKED = 64 };
ALWAYS_INLINE v_u64 next_heads(const uint64_t *bits, const size_t *at) {
    uint64_t words[LANES];
    v_u64 all;
    for (size_t l = 0; l < LANES; l++) {
        const size_t word = at[l] / 64, bit = at[l] % 64;
        words[l] = bits[word] >> bit | bits[word + 1] << 1 << (63 - bit);
    }
    memcpy(&all, words, sizeof all);
    return all;
}

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

/* Cuts n elements where groups begin: stretch l goes from at[l] to at[l + 1]. Returns the length of the longest one. */
ALWAYS_INLINE size_t cut_at_heads(const uint64_t *bits, size_t n, size_t at[LANES + 1], size_t *shortest) {
    size_t longest = 0, groups = 0;
    for (size_t i = 0; i < n; i += 64)
        groups += (size_t)__builtin_popcountll(bits[i / 64]);
    const size_t half_group = n / groups / 2;
    at[0] = 0;
    *shortest = n;
    for (size_t l = 1; l <= LANES; l++) {
        const size_t even = n * l / LANES, from = even > at[l - 1] + half_group ? even - half_group : at[l - 1];
        at[l] = l == LANES ? n : next_head(bits, from);
        const size_t own = at[l] - at[l - 1];
        longest = own > longest ? own : longest;
        *shortest = own < *shortest ? own : *shortest;
    }
    return longest;
}

/* The next element of each lane; *all and *squares are then the sums of its group. */
ALWAYS_INLINE void add_elements(v_f64 x, v_u64 *heads, bool narrow, lane_sums *s, v_f64 *all, v_f64 *squares) {
    const open_lanes open = open_of(*heads);
    *heads >>= 1;
    s->shift = where_open(open, s->shift, x);
    const v_f64 d = x - s->shift;
    s->own = add_where_open(open, s->own, d);
    s->own_squares = add_square_where_open(open, s->own_squares, d);
    s->number = add_where_open(open, s->number, (v_f64){0} + 1.0);
    s->still_open &= open;
    *all = narrow ? s->own : add_where_open(s->still_open, s->sum, s->own);
    *squares = narrow ? s->own_squares : add_where_open(s->still_open, s->squares, s->own_squares);
}

/* The same of sums alone, which have no payload. */
ALWAYS_INLINE void add_to_sums(v_f64 x, v_u64 *heads, bool narrow, lane_sums *s, v_f64 *all) {
    const open_lanes open = open_of(*heads);
    *heads >>= 1;
    s->own = add_where_open(open, s->own, x);
    s->number = add_where_open(open, s->number, (v_f64){0} + 1.0);
    s->still_open &= open;
    *all = narrow ? s->own : add_where_open(s->still_open, s->sum, s->own);
    *all = SELECT_LANES(f64, (*all == *all), *all, (v_f64){0} + (double)NAN);
}

ALWAYS_INLINE void end_tile(bool narrow, bool means, lane_sums *s) {
    if (!narrow) {
        s->sum = add_where_open(s->still_open, s->sum, s->own);
        s->squares = add_where_open(s->still_open, s->squares, s->own_squares);
        s->own = s->own_squares = (v_f64){0};
        if (!means)
            rebase_lanes(s);
    }
    s->still_open = ALL_OPEN;
}

ALWAYS_INLINE void go_on(size_t n, size_t *at) {
    for (size_t l = 0; l < LANES; l++)
        at[l] = at[l] + LANES < n ? at[l] + LANES : n;
}

/* Sums of elements from .. to - 1, of their distances from a shift. */
ALWAYS_INLINE void sum_part(const void *x, size_t from, size_t to, double shift, bool narrow, double *sum,
                            double *squares) {
    v_f64 all = {0}, all_squares = {0};
    *sum = *squares = 0;
    for (; from + LANES <= to; from += LANES) {
        const v_f64 v =
            narrow ? load_f64_from_f32((const e_f32 *)x + from) : load_f64_from_f64((const e_f64 *)x + from);
        all += v - shift;
        all_squares = add_product_f64(all_squares, v - shift, v - shift);
    }
    for (; from < to; from++) {
        const double d = (narrow ? (double)((const e_f32 *)x)[from] : ((const e_f64 *)x)[from]) - shift;
        *sum += d;
        *squares += d * d;
    }
    for (size_t l = 0; l < LANES; l++) {
        *sum += all[l];
        *squares += all_squares[l];
    }
}

/* The sums that stretches from at[l] on begin with, of the elements of their first group that lie before them. Those of
 * results that are not narrow have their mean as a shift, found first. */
static __attribute__((noinline)) lane_sums begin_in_groups(const void *x, const uint64_t *bits, size_t n,
                                                           const size_t *at, bool narrow, bool means) {
    double shift[LANES] = {0}, sum[LANES] = {0}, squares[LANES] = {0}, number[LANES] = {0};
    for (size_t l = 1; l < LANES; l++) {
        if (at[l] == n || (bits[at[l] / 64] >> at[l] % 64 & 1))
            continue;
        const size_t first = head_before(bits, at[l]);
        number[l] = (double)(at[l] - first);
        if (!means)
            shift[l] = narrow ? (double)((const e_f32 *)x)[first] : ((const e_f64 *)x)[first];
        if (narrow) {
            sum_part(x, first, at[l], shift[l], true, &sum[l], &squares[l]);
            continue;
        }
        sum_part(x, first, at[l], shift[l], false, &sum[l], &squares[l]);
        if (!means) {
            shift[l] += sum[l] / number[l];
            sum_part(x, first, at[l], shift[l], false, &sum[l], &squares[l]);
        }
    }
    lane_sums s = {.still_open = ALL_OPEN};
    memcpy(&s.shift, shift, sizeof shift);
    memcpy(narrow ? &s.own : &s.sum, sum, sizeof sum);
    memcpy(narrow ? &s.own_squares : &s.squares, squares, sizeof squares);
    memcpy(&s.number, number, sizeof number);
    s.rebased_at = larger_f64(2 * s.number, (v_f64){0} + REBASED);
    return s;
}

/* Stretches are as long as each other, whole tiles but for the last ones. (Cut where groups begin the longest one had
 * 1.5 times as many as others in groups of some 100: variances of f32 in segments of 100 0.59 ns an element so, 0.44
 * now.) */
ALWAYS_INLINE bool scan_groups_beside(const void *x, const uint64_t *bits, size_t n, double ddof, bool root,
                                      bool narrow, bool means, void *out) {
    const size_t longest = ((n + LANES - 1) / LANES + LANES - 1) / LANES * LANES;
    size_t at[LANES], ends[LANES], left[LANES] = {0};
    for (size_t l = 0; l < LANES; l++) {
        at[l] = l * longest < n ? l * longest : n;
        ends[l] = (l + 1) * longest < n ? (l + 1) * longest : n;
    }
    const size_t shortest = ends[LANES - 1] - at[LANES - 1];
    lane_sums s = begin_in_groups(x, bits, n, at, narrow, means);
    v_f64 wrong = {0};
    v_u64 heads = {0};
    for (size_t r = 0; r < longest; r += LANES) {
        v_f64 tile[LANES], by[LANES];
        const bool whole = r + LANES <= shortest;
        if (!whole)
            for (size_t l = 0; l < LANES; l++)
                left[l] = ends[l] > at[l] ? ends[l] - at[l] : 0;
        if (r % MARKED == 0)
            heads = next_heads(bits, at);
        take_tile(x, at, narrow, tile);
        UNROLL_8 for (size_t k = 0; k < LANES; k++) {
            v_f64 all, squares;
            if (means) {
                add_to_sums(tile[k], &heads, narrow, &s, &all);
                tile[k] = narrow ? near_quotient(all, s.number) : all;
                by[k] = s.number;
                continue;
            }
            add_elements(tile[k], &heads, narrow, &s, &all, &squares);
            const v_f64 m = add_product_f64(-(all * all), squares, s.number); /* moment, if it is finite */
            wrong = add_product_f64(wrong, m, (v_f64){0});
            divide_later(larger_f64(m, (v_f64){0}), s.number, ddof, narrow, &tile[k], &by[k]);
        }
        end_tile(narrow, means, &s);
        if (whole) {
            give_tile(tile, by, at, root, narrow, out);
        } else { /* copies, as those whose address is known elsewhere are kept in memory */
            v_f64 some[LANES], some_by[LANES];
            UNROLL_8 for (size_t k = 0; k < LANES; k++) some[k] = tile[k], some_by[k] = by[k];
            give_some(some, some_by, at, left, root, narrow, out);
        }
        go_on(n, at);
    }
    return !any_bit((v_u64)(wrong != 0));
}

#if defined(__AVX512F__)
enum { MOST_STORED = 512, MOST_REDUCED = 256 };

/* The results of groups by their sums, which end at offsets[1 ..]; false if one is not finite. */
static __attribute__((noinline)) bool finish_groups(const double *own, const double *squares, const uint64_t *offsets,
                                                    size_t count, double ddof, bool root, bool narrow, double *out) {
    __mmask8 wrong = 0;
    for (size_t i = 0; i < count; i += LANES) {
        const __mmask8 some = count - i >= LANES ? 0xff : (__mmask8)((1u << (count - i)) - 1);
        const v_f64 number = _mm512_cvtepu64_pd(_mm512_sub_epi64(_mm512_maskz_loadu_epi64(some, offsets + i + 1),
                                                                 _mm512_maskz_loadu_epi64(some, offsets + i)));
        const v_f64 zero = {0}, degrees = number - ddof, by = number * degrees;
        const __mmask8 full = _mm512_cmp_pd_mask(number, zero, _CMP_GT_OQ);
        const v_f64 sum = _mm512_maskz_loadu_pd(full, own + i), all = _mm512_maskz_loadu_pd(full, squares + i);
        const v_f64 product = all * number, m = moment(sum, all, number);
        wrong |= _mm512_cmp_pd_mask(product - product, zero, _CMP_NEQ_UQ);
        const v_f64 value = narrow ? root ? near_root_of_quotient(m, by) : near_quotient(m, by)
                            : root ? root_of_quotient_f64(m, by)
                                   : quotient_f64(m, by);
        const __mmask8 given = full & _mm512_cmp_pd_mask(degrees, zero, _CMP_GT_OQ);
        _mm512_mask_storeu_pd(out + i, some, _mm512_mask_mov_pd(_mm512_set1_pd((double)NAN), given, value));
    }
    return wrong == 0;
}

/* The results of 'count' groups, MOST_REDUCED at most, as doubles. The sums after each element are stored, and those
 * after the last ones of groups are picked. (Gathered they took 4 cycles a group more.) False if one is not finite, or
 * a stretch is too long. */
ALWAYS_INLINE bool reduce_groups_beside(const void *x, const uint64_t *bits, size_t n, const uint64_t *offsets,
                                        size_t count, double ddof, bool root, bool narrow, double *out) {
    /* and a row in front, for a group without elements */
    _Alignas(64) double after[2][(MOST_STORED + 1) * LANES], sum[MOST_REDUCED], squares[MOST_REDUCED];
    size_t at[LANES + 1], begins[LANES + 1], shortest;
    const size_t longest = cut_at_heads(bits, n, at, &shortest);
    if (longest > MOST_STORED)
        return false;
    memcpy(begins, at, sizeof begins);
    lane_sums s = {.rebased_at = (v_f64){0} + REBASED, .still_open = ALL_OPEN};
    v_u64 heads = {0};
    for (size_t r = 0; r < longest; r += LANES) {
        v_f64 tile[LANES];
        if (r % MARKED == 0)
            heads = next_heads(bits, at);
        take_tile(x, at, narrow, tile);
        UNROLL_8 for (size_t k = 0; k < LANES; k++) {
            v_f64 all, all_squares;
            add_elements(tile[k], &heads, narrow, &s, &all, &all_squares);
            memcpy(after[0] + (r + k + 1) * LANES, &all, sizeof all);
            memcpy(after[1] + (r + k + 1) * LANES, &all_squares, sizeof all_squares);
        }
        end_tile(narrow, false, &s);
        go_on(n, at);
    }
    for (size_t l = 0, i = 0; l < LANES; l++)
        for (; i < count && offsets[i + 1] - offsets[0] <= begins[l + 1]; i++) {
            const size_t place = (offsets[i + 1] - offsets[0] - begins[l]) * LANES + l;
            sum[i] = after[0][place];
            squares[i] = after[1][place];
        }
    return finish_groups(sum, squares, offsets, count, ddof, root, narrow, out);
}
#endif

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
