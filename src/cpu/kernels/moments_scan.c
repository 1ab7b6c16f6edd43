/* Running variances and deviations. The sums of the distances d from a shift near the mean, and of d^2, are scanned in
 * vectors. A prefix of n elements has the moment M2 = sum(d^2) - sum(d)^2 / n.
 *
 * The mean of the c elements before a block of k is its shift. So of the squares c / (c + k) is left at least by the
 * subtraction; of the first n of all, whose shift is the first of them, an n-th. Doubles are left an eighth, or of the
 * first block of a run a quarter, since each stretch of it has a shift of its own (moments_beside.h). Results of 24
 * bits can spare ten. */
#include <math.h>

#include "cpu/kernels/moments_groups.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"
#include "cpu/kernels/simd_quotient.h"
#if !defined(__AVX512BW__) /* which has running_sums.c */
#include "cpu/kernels/means_beside.h"
#endif

/* ---- a run ---- */

static void give_none(size_t first, size_t n, bool narrow, void *out) {
    for (size_t i = first; i < first + n; i++) {
        if (narrow)
            ((e_f32 *)out)[i] = NAN;
        else
            ((e_f64 *)out)[i] = (double)NAN;
    }
}

enum { TILE = LANES * LANES };

/* One block, with more elements of the shift behind fewer than a tile. */
ALWAYS_INLINE bool scan_block(const void *x, size_t n, sums *s, double count, tally_cpu_spread how, bool narrow,
                              void *out) {
    const bool is_first = !narrow && count == 0 && n > FIRST;
    const size_t bytes = narrow ? sizeof(float) : sizeof(double);
    double numbers[TILE], results[TILE];
    const bool is_whole = n >= TILE;
    if (!is_whole) {
        memcpy(numbers, x, n * bytes);
        for (size_t i = n; i < TILE; i++)
            if (narrow)
                ((e_f32 *)numbers)[i] = (float)s->shift;
            else
                numbers[i] = s->shift;
    }
    if (!scan_run_beside(is_whole ? x : numbers, is_whole ? n : TILE, s, count, is_first, how.ddof, how.root, narrow,
                         is_whole ? out : results))
        return false;
    if (!is_whole)
        memcpy(out, results, n * bytes);
    return true;
}

/* 4 KiB. (Means of 3235 rows of 4000 f64: 0.68 ns an element, 0.90 by blocks of 8.) */
static size_t block_of_run(bool narrow) {
    return narrow ? BLOCK : BLOCK / 2;
}

/* A block's stretches are gone through side by side, which no processor foresees: its lines are brought to the cache
 * before. (Zen 5, ns an element, 3235 rows of 4000 f32, one thread:
 * std 0.94 without, 0.55 if x is read, 0.42 with both. If all is in the cache, 0.35 and 0.37.) */
ALWAYS_INLINE void bring_block(const volatile char *x, const char *out, size_t bytes) {
    enum { LINE = 64, AT_ONCE = 8 * LINE };
    size_t at = 0;
    for (; at + AT_ONCE <= bytes; at += AT_ONCE)
        UNROLL_8 for (size_t k = 0; k < AT_ONCE; k += LINE) {
            (void)x[at + k];
            __builtin_prefetch(out + at + k, 1);
        }
    for (; at < bytes; at += LINE) {
        (void)x[at];
        __builtin_prefetch(out + at, 1);
    }
}

static size_t moments(const void *x, size_t n, tally_cpu_spread how, tally_cpu_moments *acc, void *out) {
    const size_t bytes = how.narrow ? sizeof(float) : sizeof(double);
    bool is_far = false;
    for (size_t done = 0; done < n;) {
        const size_t rest = n - done < block_of_run(how.narrow) ? n - done : block_of_run(how.narrow);
        const size_t most = block_after(acc->count, rest, how.narrow, is_far),
                     block = most < TILE ? most : most - most % TILE;
        const void *const from = (const char *)x + done * bytes;
        void *const to = (char *)out + done * bytes;
        bring_block(from, to, block * bytes);
        sums s = begin(acc, how.narrow ? (double)*(const e_f32 *)from : *(const e_f64 *)from, how.narrow);
        if (how.narrow ? !scan_block(from, block, &s, acc->count, how, true, to)
                       : !scan_block(from, block, &s, acc->count, how, false, to)) {
            if (is_far || how.narrow || acc->count > 0)
                return done;
            is_far = true;
            continue;
        }
        if (acc->count < how.ddof)
            give_none(0, how.ddof - acc->count < (double)block ? (size_t)(how.ddof - acc->count) : block, how.narrow,
                      to);
        *acc = end(acc->count + (double)block, s);
        done += block;
    }
    return n;
}

#if defined(__AVX512BW__)
#define MEANS NULL
#else
#define MEANS means
static size_t means(const void *x, size_t n, bool narrow, double count, double *sum, void *out) {
    const size_t bytes = narrow ? sizeof(float) : sizeof(double), whole = n - n % TILE;
    for (size_t done = 0, block; done < whole; done += block) {
        block = whole - done < block_of_run(narrow) ? whole - done : block_of_run(narrow);
        const void *const from = (const char *)x + done * bytes;
        void *const to = (char *)out + done * bytes;
        bring_block(from, to, block * bytes);
        if (narrow)
            scan_means_beside(from, block, sum, count + (double)done, true, to);
        else
            scan_means_beside(from, block, sum, count + (double)done, false, to);
    }
    return whole;
}
#endif

/* ---- short groups ---- */

/* Those of the first 'ddof' elements of each group. */
static void give_none_of_groups(const uint64_t *bits, size_t n, double ddof, bool narrow, void *out) {
    for (size_t at = 0, end; at < n; at = end) {
        end = next_head(bits, at + 1);
        give_none(at, (double)(end - at) < ddof ? end - at : (size_t)ddof, narrow, out);
    }
}

#define SCAN_GROUPS(narrow) scan_groups_beside(x, bits, n, how.ddof, how.root, narrow, false, out)
#define MEAN_GROUPS(narrow) scan_groups_beside(x, bits, n, 0, false, narrow, true, out)
static bool moments_of_groups(const void *x, const int8_t *heads, size_t n, tally_cpu_spread how, void *out) {
    uint64_t bits[HEAD_WORDS + 2];
    gather_heads(heads, n, bits);
#if defined(__AVX512F__)
    if (how.means)
        return how.narrow ? MEAN_GROUPS(true) : MEAN_GROUPS(false);
#endif
    if (how.narrow ? !SCAN_GROUPS(true) : !SCAN_GROUPS(false))
        return false;
    if (how.ddof > 0)
        give_none_of_groups(bits, n, how.ddof, how.narrow, out);
    return true;
}

static bool reduce_groups(const void *x, const int8_t *heads, size_t n, const uint64_t *offsets, size_t count,
                          tally_cpu_spread how, double *out) {
#if defined(__AVX512F__)
    uint64_t bits[HEAD_WORDS + 2];
    gather_heads(heads, n, bits);
    return how.narrow ? reduce_groups_beside(x, bits, n, offsets, count, how.ddof, how.root, true, out)
                      : reduce_groups_beside(x, bits, n, offsets, count, how.ddof, how.root, false, out);
#else
    (void)x, (void)heads, (void)n, (void)offsets, (void)count, (void)how, (void)out;
    return false;
#endif
}

/* ---- columns: the same, side by side ---- */

/* A vector of columns, of which the first 'left' count, in registers. The first row comes after those of 'acc', and the
 * next ones begin 'down' elements behind each other. *next is what the columns of acc become. Returns lanes that are
 * not 0 where a product overflows or an element is not finite. */
ALWAYS_INLINE v_u64 scan_strip(const void *x, size_t rows, ptrdiff_t down, size_t left, const double *shares, bool root,
                               bool narrow, bool floats, const tally_cpu_moments_strip *acc, size_t j,
                               tally_cpu_moments_strip *next, void *out, ptrdiff_t out_down) {
    const ptrdiff_t bytes = floats ? sizeof(float) : sizeof(double);
    const v_f64 zero = {0}, before = zero + acc->count;
    v_f64 shift, mean, low, sum = zero, squares = zero, sum_before = zero, squares_before = zero, number = before;
    shift = floats ? some_floats(x, left) : some_lanes(x, left);
    if (acc->count > 0) {
        memcpy(&mean, acc->mean + j, sizeof mean);
        memcpy(&low, acc->low + j, sizeof low);
        memcpy(&squares_before, acc->squares + j, sizeof squares_before);
        shift = mean + low;
        low -= shift - mean;
        sum_before = before * low;
        squares_before += sum_before * low;
    }
    const char *from = x;
    char *to = out;
    ROLLED for (size_t k = 0; k < rows; k++, from += down * bytes, to += out_down * bytes) {
        const v_f64 d = (floats ? some_floats(from, left) : some_lanes(from, left)) - shift;
        sum += d;
        squares += d * d; /* of the block alone: they round less than those of all elements */
        number += 1.0;
        v_f64 part = moment(sum_before + sum, squares_before + squares, number) * shares[k];
        if (root)
            part = k % 2 == 0 ? root_by_processor(part) : narrow ? near_root(part) : root_f64(part);
        if (floats)
            put_floats(__builtin_convertvector(part, few_floats), left, (void *)to);
        else
            put_lanes(part, left, (void *)to);
    }
    sum += sum_before;
    squares += squares_before;
    const v_f64 product = squares * number, off = sum / number, rest = larger_f64(squares - sum * off, zero);
    memcpy(next->mean + j, &shift, sizeof shift);
    memcpy(next->low + j, &off, sizeof off);
    memcpy(next->squares + j, &rest, sizeof rest);
    return (v_u64) ~(product - product == 0);
}

#define SCAN_STRIPS(root, narrow, floats)                                                                              \
    for (size_t j = 0; j < width; j += LANES)                                                                          \
    wrong |= scan_strip(from + j * bytes, block, down, width - j, shares, root, narrow, floats, acc, j, &next,         \
                        to + j * bytes, out_down)

static size_t moments_of_columns(const void *x, size_t rows, size_t width, size_t stride, tally_cpu_spread how,
                                 tally_cpu_moments_strip *acc, void *out, size_t out_stride) {
    const size_t bytes = how.floats ? sizeof(float) : sizeof(double);
    const ptrdiff_t down = how.reverse ? -(ptrdiff_t)stride : (ptrdiff_t)stride,
                    out_down = how.reverse ? -(ptrdiff_t)out_stride : (ptrdiff_t)out_stride;
    tally_cpu_moments_strip next;
    size_t done = 0;
    while (done < rows) {
        const size_t block = block_after(acc->count, rows - done < ROWS ? rows - done : ROWS, how.narrow, true),
                     first = how.reverse ? rows - done - 1 : done;
        const char *const from = (const char *)x + first * stride * bytes;
        char *const to = (char *)out + first * out_stride * bytes;
        double shares[ROWS];
        v_u64 wrong = {0};
        for (size_t k = 0; k < block; k++) {
            const double count = acc->count + (double)(k + 1), degrees = count - how.ddof;
            shares[k] = degrees > 0 ? 1 / (count * degrees) : (double)NAN;
        }
        if (how.floats && how.root)
            SCAN_STRIPS(true, true, true);
        else if (how.floats)
            SCAN_STRIPS(false, true, true);
        else if (how.root && how.narrow)
            SCAN_STRIPS(true, true, false);
        else if (how.root)
            SCAN_STRIPS(true, false, false);
        else
            SCAN_STRIPS(false, false, false);
        if (any_bit(wrong))
            return done;
        next.count = acc->count + (double)block;
        memcpy(acc, &next, sizeof next);
        done += block;
    }
    return rows;
}

/* ---- columns of a few rows, as a whole ---- */

/* As moments_of_columns of at most FIRST rows, from the first one on, with all that a column has in registers. */
ALWAYS_INLINE bool scan_few_rows(const double *x, size_t rows, size_t width, double ddof, bool root, bool narrow,
                                 bool reverse, double *out) {
    const ptrdiff_t down = reverse ? -(ptrdiff_t)width : (ptrdiff_t)width,
                    first = reverse ? (ptrdiff_t)(rows - 1) * (ptrdiff_t)width : 0;
    double shares[FIRST];
    for (size_t r = 0; r < rows; r++) {
        const double count = (double)(r + 1), degrees = count - ddof;
        shares[r] = degrees > 0 ? 1 / (count * degrees) : (double)NAN;
    }
    v_i64 are_finite = ~(v_i64){0};
    for (size_t j = 0; j < width; j += LANES) {
        const double *from = x + first + j;
        double *to = out + first + j;
        v_f64 v, shift, sum = {0}, squares = {0}, count = {0};
        memcpy(&shift, from, sizeof shift);
        ROLLED for (size_t k = 0; k < rows; k++, from += down, to += down) {
            memcpy(&v, from, sizeof v);
            const v_f64 d = v - shift;
            sum += d;
            squares += d * d;
            count += 1;
            const v_f64 part = moment(sum, squares, count) * shares[k];
            put_lanes(!root ? part : narrow ? near_root(part) : root_f64(part), width - j, to);
        }
        const v_f64 product = squares * count;
        are_finite &= product - product == 0;
    }
    return !any_bit((v_u64)~are_finite);
}

#define SCAN_FEW_ROWS(root, narrow) scan_few_rows(x, rows, width, how.ddof, root, narrow, how.reverse, out)
static bool scan_of_few_rows(const double *x, size_t rows, size_t width, tally_cpu_spread how, double *out) {
    return !how.root    ? SCAN_FEW_ROWS(false, false)
           : how.narrow ? SCAN_FEW_ROWS(true, true)
                        : SCAN_FEW_ROWS(true, false);
}

/* The root of a variance of f32 or narrower numbers, whose square does not underflow: of an estimate of 14 bits by two
 * steps of Newton's method, to half a unit in the last place and hardly more. (Deviations of f32 in two rows: 0.6 ns an
 * element with the processor's root.) */
ALWAYS_INLINE v_f64 root_of_narrow(v_f64 x) {
#if defined(__AVX512F__)
    const v_f64 zero = {0}, guess = _mm512_maskz_rsqrt14_pd(_mm512_cmp_pd_mask(x, zero, _CMP_NEQ_UQ), x);
    v_f64 root = x * guess, half = guess * 0.5;
    const v_f64 off = add_product_f64(zero + 0.5, -root, half);
    root = add_product_f64(root, root, off);
    half = add_product_f64(half, half, off);
    return add_product_f64(root, add_product_f64(x, -root, root), half);
#else
    return root_f64(x);
#endif
}

/* As scan_block has them, about the first row. Where the subtraction loses more than three bits of the squares, the
 * columns are passed once more, about their mean. */
ALWAYS_INLINE v_f64 squares_about_mean(const double *x, size_t rows, size_t width, double share) {
    v_f64 first, v, sum = {0};
    memcpy(&first, x, sizeof first);
    v_f64 squares = first - first;
    for (size_t r = 1; r < rows; r++) {
        memcpy(&v, x + r * width, sizeof v);
        const v_f64 d = v - first;
        sum += d;
        squares = add_product_f64(squares, d, d);
    }
    v_f64 rest = squares - sum * sum * share;
    if (rows > 2 && any_bit((v_u64) ~(squares <= 8 * rest))) {
        const v_f64 mean = first + sum * share;
        sum = squares = (v_f64){0};
        for (size_t r = 0; r < rows; r++) {
            memcpy(&v, x + r * width, sizeof v);
            const v_f64 d = v - mean;
            sum += d;
            squares = add_product_f64(squares, d, d);
        }
        rest = squares - sum * sum * share;
    }
    return rest;
}

ALWAYS_INLINE bool few_rows(const double *x, size_t rows, size_t width, double ddof, bool root, bool is_narrow,
                            double *out) {
    const double degrees = (double)rows - ddof, divisor = degrees > 0 ? degrees : (double)NAN;
    const double share = 1 / (double)rows, part = 1 / divisor;
    /* a product with 1/6 is no quotient, but where it is rounded to f32 */
    int exponent;
    const bool divides = !is_narrow && frexp(divisor, &exponent) != 0.5;
    v_i64 are_finite = ~(v_i64){0};
    for (size_t j = 0; j < width; j += LANES) {
        const v_f64 rest = squares_about_mean(x + j, rows, width, share), positive = larger_f64(rest, (v_f64){0});
        are_finite &= rest - rest == 0;
        v_f64 value = divides ? positive / divisor : positive * part;
        if (root)
            value = is_narrow ? root_of_narrow(value) : root_f64(value);
        memcpy(out + j, &value, sizeof value);
    }
    return !any_bit((v_u64)~are_finite);
}

static bool moments_of_few_rows(const double *x, size_t rows, size_t width, tally_cpu_spread how, bool is_narrow,
                                double *out) {
    if (rows == 2 && is_narrow)
        return few_rows(x, 2, width, how.ddof, how.root, true, out);
    return few_rows(x, rows, width, how.ddof, how.root, is_narrow, out);
}

extern const tally_cpu_running_exps PASTE4(tally_cpu_running_exps, _, TALLY_LEVEL, );
void PASTE4(tally_cpu_fill, _, TALLY_LEVEL, )(const void *value, size_t bytes, size_t n, bool stream, void *to);
void PASTE4(tally_cpu_stream, _, TALLY_LEVEL, )(const void *from, size_t bytes, void *to);
uint64_t PASTE4(tally_cpu_number, _, TALLY_LEVEL, )(const int8_t *heads, size_t n, bool reverse, uint64_t first,
                                                    uint64_t before, uint64_t *counts);
tally_cpu_number_groups PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, );
tally_cpu_lift_32 *PASTE4(tally_cpu_lift_32, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type);
tally_cpu_lift_32 *PASTE4(tally_cpu_lift_narrow, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type);
tally_cpu_narrow_scan_for PASTE4(tally_cpu_narrow_scan, _, TALLY_LEVEL, );
tally_cpu_truths PASTE4(tally_cpu_truths, _, TALLY_LEVEL, );
tally_cpu_magnitudes PASTE4(tally_cpu_magnitudes, _, TALLY_LEVEL, );
#if defined(__AVX2__)
tally_cpu_count PASTE4(tally_cpu_count, _, TALLY_LEVEL, );
#define COUNT PASTE4(tally_cpu_count, _, TALLY_LEVEL, )
#else
#define COUNT NULL
#endif
tally_cpu_order PASTE4(tally_cpu_order, _, TALLY_LEVEL, );
tally_cpu_trees_for PASTE4(tally_cpu_trees, _, TALLY_LEVEL, );
#if defined(__AVX512BW__)
tally_cpu_count_groups PASTE4(tally_cpu_count_groups, _, TALLY_LEVEL, );
#define COUNT_GROUPS PASTE4(tally_cpu_count_groups, _, TALLY_LEVEL, )
#else
#define COUNT_GROUPS NULL
#endif
tally_cpu_first_equal_for PASTE4(tally_cpu_first_equal, _, TALLY_LEVEL, );
extern const tally_cpu_follow PASTE4(tally_cpu_follow, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

extern tally_cpu_running_sums *const PASTE4(tally_cpu_running_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
extern tally_cpu_running_sums *const PASTE4(tally_cpu_wide_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
extern tally_cpu_running_sums *const PASTE4(tally_cpu_real_sums, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

extern tally_cpu_integer_exps *const PASTE4(tally_cpu_integer_exps, _, TALLY_LEVEL, )[4];
extern tally_cpu_integer_exps_of_columns *const PASTE4(tally_cpu_integer_exps_of_columns, _, TALLY_LEVEL, )[4];

extern tally_cpu_minmax_columns *const PASTE4(tally_cpu_minmax_columns, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

extern tally_cpu_places_of_columns *const PASTE4(tally_cpu_places, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

const tally_cpu_scans PASTE4(tally_cpu_scans, _, TALLY_LEVEL, ) = {
    .fill = PASTE4(tally_cpu_fill, _, TALLY_LEVEL, ),
    .moments = moments,
    .moments_of_columns = moments_of_columns,
    .moments_of_few_rows = moments_of_few_rows,
    .scan_of_few_rows = scan_of_few_rows,
    .reduce_groups = reduce_groups,
    .means = MEANS,
    .moments_of_groups = moments_of_groups,
    .running_exps = &PASTE4(tally_cpu_running_exps, _, TALLY_LEVEL, ),
    .integer_exps = PASTE4(tally_cpu_integer_exps, _, TALLY_LEVEL, ),
    .integer_exps_of_columns = PASTE4(tally_cpu_integer_exps_of_columns, _, TALLY_LEVEL, ),
    .number = PASTE4(tally_cpu_number, _, TALLY_LEVEL, ),
    .number_groups = PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, ),
    .lift_32 = PASTE4(tally_cpu_lift_32, _, TALLY_LEVEL, ),
    .lift_narrow = PASTE4(tally_cpu_lift_narrow, _, TALLY_LEVEL, ),
    .narrow = PASTE4(tally_cpu_narrow_scan, _, TALLY_LEVEL, ),
    .sums = PASTE4(tally_cpu_running_sums, _, TALLY_LEVEL, ),
    .wide_sums = PASTE4(tally_cpu_wide_sums, _, TALLY_LEVEL, ),
    .real_sums = PASTE4(tally_cpu_real_sums, _, TALLY_LEVEL, ),
    .stream = PASTE4(tally_cpu_stream, _, TALLY_LEVEL, ),
    .trees = PASTE4(tally_cpu_trees, _, TALLY_LEVEL, ),
    .first_equal = PASTE4(tally_cpu_first_equal, _, TALLY_LEVEL, ),
    .truths = PASTE4(tally_cpu_truths, _, TALLY_LEVEL, ),
    .count_groups = COUNT_GROUPS,
    .magnitudes = PASTE4(tally_cpu_magnitudes, _, TALLY_LEVEL, ),
    .count = COUNT,
    .order = PASTE4(tally_cpu_order, _, TALLY_LEVEL, ),
    .follow = PASTE4(tally_cpu_follow, _, TALLY_LEVEL, ),
    .minmax = PASTE4(tally_cpu_minmax_columns, _, TALLY_LEVEL, ),
    .places = PASTE4(tally_cpu_places, _, TALLY_LEVEL, )};
