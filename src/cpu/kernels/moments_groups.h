/* Running variances and means of groups, and variances of groups, in stretches side by side (moments_beside.h). A bit
 * for each element says where a group begins: there its lane begins anew. Included in moments_scan.c. */
#ifndef TALLY_CPU_MOMENTS_GROUPS_H
#define TALLY_CPU_MOMENTS_GROUPS_H

#include "cpu/kernels/moments_beside.h"

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

/* Sums of elements from .. to - 1, of their distances from a shift. Not inlined, for size. */
static __attribute__((noinline)) void sum_part(const void *x, size_t from, size_t to, double shift, bool narrow,
                                               double *sum, double *squares) {
    v_f64 all = {0}, all_squares = {0};
    for (; from + LANES <= to; from += LANES) {
        const v_f64 d =
            (narrow ? load_f64_from_f32((const e_f32 *)x + from) : load_f64_from_f64((const e_f64 *)x + from)) - shift;
        all += d;
        all_squares = add_product_f64(all_squares, d, d);
    }
    *sum = sums_up_to(all)[LANES - 1];
    *squares = sums_up_to(all_squares)[LANES - 1];
    ROLLED for (; from < to; from++) {
        const double d = (narrow ? (double)((const e_f32 *)x)[from] : ((const e_f64 *)x)[from]) - shift;
        *sum += d;
        *squares += d * d;
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
        for (int pass = 0; pass < (narrow || means ? 1 : 2); pass++) {
            shift[l] += sum[l] / number[l]; /* 0 before the first pass */
            sum_part(x, first, at[l], shift[l], narrow, &sum[l], &squares[l]);
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

/* Stretches are as long as each other, whole tiles but for the last ones. (Cut where groups begin, the longest one had
 * 1.5 times as many elements as others in groups of some 100: variances of f32 0.58 ns an element so, 0.49 now.) */
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

#endif
