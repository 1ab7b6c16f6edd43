/* Running variances and deviations, from doubles to results. The sums of the distances d from a shift near the mean,
 * and of d^2, are scanned in vectors. A prefix of n elements has the moment M2 = sum(d^2) - sum(d)^2 / n.
 *
 * The mean of the c elements before a block of k is its shift. So of the squares c / (c + k) is left at least by the
 * subtraction; of the first n of all, whose shift is the first of them, an n-th. Doubles are left an eighth. Results of
 * 24 bits can spare seven: FIRST_NARROW. (Rows of 40 and 309 f32 took 2.40 and 0.89 ns an element in blocks that
 * doubled from 8 on, and 1.00 and 0.58 so.) */
#include <math.h>

#include "cpu/kernels/group_lanes.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"
#include "cpu/kernels/simd_quotient.h"

enum {
    BLOCK = 512, /* elements that have one shift; */
    ROWS = 64,   /* or rows, whose sums are added one after the other */
    FIRST = 8,   /* elements at the beginning */
    FIRST_NARROW = 128,
    LANES = LANES_OF(s_f64),
    STEPS = LANES == 8   ? 3
            : LANES == 4 ? 2
                         : 1 /* of a vector's scan */
};

/* Sums that a block begins with, of distances from its shift. */
typedef struct sums {
    double shift, sum, squares;
} sums;

static sums begin(const tally_cpu_moments *acc, double first) {
    if (acc->count == 0)
        return (sums){first, 0, 0};
    const double shift = acc->mean + acc->low, low = acc->low - (shift - acc->mean), sum = acc->count * low;
    return (sums){shift, sum, acc->squares + sum * low};
}

static tally_cpu_moments end(double count, sums s) {
    const double off = s.sum / count, squares = s.squares - s.sum * off;
    return (tally_cpu_moments){count, s.shift, off, squares < 0 ? 0 : squares};
}

static size_t block_after(double count, size_t n, bool narrow) {
    const size_t first = narrow ? FIRST_NARROW : FIRST;
    const size_t more = count < 1 ? first : count < BLOCK ? (size_t)count * (first - 1) : (size_t)BLOCK;
    const size_t most = more < BLOCK ? more : (size_t)BLOCK;
    return n < most ? n : most;
}

/* Whether no product that a result is made of overflows. */
static bool is_finite(double squares, double count) {
    const double product = squares * count;
    return product - product == 0;
}

/* The moment M2 of 'count' elements, times count. */
ALWAYS_INLINE v_f64 moment(v_f64 sum, v_f64 squares, v_f64 count) {
    return larger_f64(add_product_f64(-(sum * sum), squares, count), (v_f64){0});
}

/* The result that it gives, of 'count' elements with ddof subtracted 'degrees'. */
ALWAYS_INLINE v_f64 result(v_f64 moment, v_f64 count, v_f64 degrees, bool root, bool narrow) {
    const v_f64 by = count * degrees;
    return narrow ? root ? near_root_of_quotient(moment, by) : near_quotient(moment, by)
           : root ? root_of_quotient_f64(moment, by)
                  : quotient_f64(moment, by);
}
ALWAYS_INLINE v_f64 result_or_none(v_f64 moment, v_f64 count, double ddof, bool root, bool narrow) {
    const v_f64 zero = {0}, degrees = count - ddof;
    return SELECT_LANES(f64, (degrees > 0), result(moment, count, degrees, root, narrow), zero + (double)NAN);
}

/* A step of a scan. */
ALWAYS_INLINE v_f64 one_step(v_f64 x, size_t by) {
    return x + shift_up_f64(x, (v_f64){0}, by);
}

/* ---- a run ---- */

/* Those of the vector of elements that begins at 'done', from the shift. */
ALWAYS_INLINE v_f64 distances(const e_f64 *x, size_t n, size_t done, double shift, bool reverse) {
    const size_t left = n - done;
    v_f64 v;
    if (left >= LANES) {
        memcpy(&v, x + (reverse ? left - LANES : done), sizeof v);
        return (reverse ? reversed_f64(v) : v) - shift;
    }
    double few[LANES];
    for (size_t l = 0; l < LANES; l++)
        few[l] = l < left ? x[reverse ? left - 1 - l : done + l] : shift;
    memcpy(&v, few, sizeof v);
    return v - shift;
}

/* Moments first, in the order of the scan, and results from them in a second loop: both are long chains of operations,
 * of which a processor has more vectors under way apart than together. For the same reason each turn of the loop takes
 * a step of as many vectors as there are steps. */
ALWAYS_INLINE sums scan_block(const e_f64 *x, size_t n, sums s, double count, bool reverse, double *to) {
    v_f64 number, sum = {0}, squares = {0}; /* of the block alone: they round less than those of all elements */
    v_f64 own[STEPS], own_squares[STEPS];   /* after each step */
    const v_f64 before = (v_f64){0} + s.sum, squares_before = (v_f64){0} + s.squares;
    for (size_t l = 0; l < LANES; l++)
        number[l] = count + (double)(l + 1);
    for (size_t step = 0; step < STEPS; step++)
        own[step] = own_squares[step] = (v_f64){0};
    const size_t vectors = (n + LANES - 1) / LANES;
    for (size_t k = 0; k < vectors + STEPS; k++) {
        if (k >= STEPS) {
            const v_f64 last = own[STEPS - 1], last_squares = own_squares[STEPS - 1];
            const v_f64 all = sum_beside_f64(before, sum_beside_f64(sum, last));
            const v_f64 all_squares = sum_beside_f64(squares_before, sum_beside_f64(squares, last_squares));
            const v_f64 value = moment(all, all_squares, number);
            memcpy(to + (k - STEPS) * LANES, &value, sizeof value);
            sum += last_f64(last);
            squares += last_f64(last_squares);
            number += LANES;
        }
        UNROLL_8 for (size_t step = STEPS - 1; step > 0; step--) {
            own[step] = one_step(own[step - 1], (size_t)1 << step);
            own_squares[step] = one_step(own_squares[step - 1], (size_t)1 << step);
        }
        if (k < vectors) {
            const v_f64 d = distances(x, n, k * LANES, s.shift, reverse);
            own[0] = one_step(d, 1);
            own_squares[0] = one_step(d * d, 1);
        }
    }
    return (sums){s.shift, s.sum + sum[0], s.squares + squares[0]};
}

/* LANES results, as doubles or floats, at out[at ..]. */
ALWAYS_INLINE void put_results(v_f64 values, bool narrow, void *out, size_t at) {
    typedef float narrow_lanes __attribute__((vector_size(sizeof(v_f64) / 2)));
    if (narrow) {
        const narrow_lanes floats = __builtin_convertvector(values, narrow_lanes);
        memcpy((char *)out + at * sizeof(float), &floats, sizeof floats);
    } else {
        memcpy((char *)out + at * sizeof(double), &values, sizeof values);
    }
}
ALWAYS_INLINE void put_result(double value, bool narrow, void *out, size_t at) {
    if (narrow)
        ((e_f32 *)out)[at] = (float)value;
    else
        ((e_f64 *)out)[at] = value;
}

/* 'moments' has whole vectors. */
ALWAYS_INLINE void give_block(const double *moments, size_t n, double count, double ddof, bool root, bool narrow,
                              bool reverse, void *out) {
    v_f64 number, value;
    for (size_t l = 0; l < LANES; l++)
        number[l] = count + (double)(l + 1);
    size_t done = 0;
    for (; done + LANES <= n; done += LANES, number += LANES) {
        memcpy(&value, moments + done, sizeof value);
        value = result(value, number, number - ddof, root, narrow);
        value = reverse ? reversed_f64(value) : value;
        put_results(value, narrow, out, reverse ? n - done - LANES : done);
    }
    if (done < n) {
        double few[LANES];
        memcpy(&value, moments + done, sizeof value);
        value = result(value, number, number - ddof, root, narrow);
        memcpy(few, &value, sizeof few);
        for (size_t l = 0; done + l < n; l++)
            put_result(few[l], narrow, out, reverse ? n - done - 1 - l : done + l);
    }
    for (size_t i = 0; i < n && count + (double)i < ddof; i++) /* 1 + i elements less ddof are none */
        put_result((double)NAN, narrow, out, reverse ? n - 1 - i : i);
}

#define GIVE(root, narrow, reverse) give_block(moments, n, count, how.ddof, root, narrow, reverse, out)
static void give(const double *moments, size_t n, double count, tally_cpu_spread how, void *out) {
    if (how.reverse)
        how.narrow ? how.root ? GIVE(true, true, true) : GIVE(false, true, true)
        : how.root ? GIVE(true, false, true)
                   : GIVE(false, false, true);
    else
        how.narrow ? how.root ? GIVE(true, true, false) : GIVE(false, true, false)
        : how.root ? GIVE(true, false, false)
                   : GIVE(false, false, false);
}

static size_t moments(const void *elements, size_t n, tally_cpu_spread how, tally_cpu_moments *acc, void *target) {
    const e_f64 *x = elements;
    const size_t out_bytes = how.narrow ? sizeof(float) : sizeof(double);
    size_t done = 0;
    while (done < n) {
        const size_t block = block_after(acc->count, n - done, how.narrow),
                     first = how.reverse ? n - done - block : done;
        double moments[BLOCK + LANES]; /* x may be out */
        sums s = begin(acc, x[how.reverse ? first + block - 1 : first]);
        s = how.reverse ? scan_block(x + first, block, s, acc->count, true, moments)
                        : scan_block(x + first, block, s, acc->count, false, moments);
        const double count = acc->count + (double)block;
        if (!is_finite(s.squares, count))
            return done;
        give(moments, block, acc->count, how, (char *)target + first * out_bytes);
        *acc = end(count, s);
        done += block;
    }
    return n;
}

/* ---- short groups, many at a time ---- */

/* The group that the next vector may begin with: sums of the distances from its shift, in every lane. */
typedef struct open_group {
    v_f64 shift, sum, squares;
    uint32_t rebased_at; /* elements that it has before the shift is moved to their mean */
} open_group;

/* The first element of a group is its shift. So of the squares of n elements an n-th is left at least, and a part like
 * 1 / (1 + z^2) if that element is z deviations off the mean. Doubles that are to be as exact as that go another way
 * where less than 1 / FAR is left: the shift is moved when a vector ends inside the group after REBASED or more of its
 * elements. Then their mean is the shift, and again whenever they have doubled. So a twelfth is left at least of the
 * squares of the first, and later a quarter. But a vector waits for the one before. (f64 in segments of 18, uniform:
 * 1.9 ns an element so always.) */
#if defined(__FMA__) /* without it the subtraction rounds twice, and such results passed their bounds now and then */
enum { FAR = 8 };
#else
enum { FAR = 0 };
#endif
enum { REBASED = 4 };

/* Moves the shift to the mean of n elements, up to rounding; the sums follow what the shift has really moved by. */
static void rebase(open_group *open, double n) {
    const v_f64 before = open->shift, sum = open->sum;
    open->shift += sum * (1 / n); /* the quotient waits for no sum */
    const v_f64 moved = open->shift - before;
    open->sum = add_product_f64(sum, moved, (v_f64){0} - n);
    open->squares -= moved * (sum + open->sum);
}

ALWAYS_INLINE v_f64 scan_groups(v_f64 x, const uint32_t *numbers, bool checks, open_group *open, v_u64 *wrong) {
    const v_f64 n = load_numbers_f64(numbers);
    const marks_f64 marks = marks_of_f64(n);
    const v_f64 shift = if_open_f64(marks, open->shift, firsts_of_groups(x, numbers));
    open->shift = last_f64(shift);
    const v_f64 d = x - shift;
    const v_f64 sum = prefixes_in_groups_f64(d, marks, &open->sum);
    const v_f64 squares = prefixes_in_groups_f64(d * d, marks, &open->squares), product = squares * n;
    const v_f64 value = moment(sum, squares, n);
    *wrong |= (v_u64) ~(product - product == 0);
    if (checks)
        *wrong |= (v_u64)(product > value * FAR);
    return value;
}

/* The moments of whole vectors. False if a square overflows or an element is not finite; or, if the shift is not moved
 * and that is to be checked, if too little is left of squares. */
ALWAYS_INLINE bool scan_all_groups(const double *x, const uint32_t *numbers, size_t n, bool checks, bool moves,
                                   double *moments) {
    open_group open = {.rebased_at = REBASED};
    v_u64 wrong = {0};
    for (size_t done = 0; done < n; done += LANES) {
        v_f64 v;
        memcpy(&v, x + done, sizeof v);
        v = scan_groups(v, numbers + done, checks, &open, &wrong);
        memcpy(moments + done, &v, sizeof v);
        if (!moves)
            continue;
        const uint32_t last = numbers[done + LANES - 1];
        open.rebased_at = last <= LANES ? REBASED : open.rebased_at;
        const bool goes_on = n - done > LANES && numbers[done + LANES] != 1;
        if (goes_on && last >= open.rebased_at) {
            rebase(&open, (double)last);
            open.rebased_at = 2 * last;
        }
    }
    return !any_bit(wrong);
}

/* Results of elements that are numbers[i] of their groups. */
ALWAYS_INLINE void give_groups(const double *moments, const uint32_t *numbers, size_t n, double ddof, bool root,
                               bool narrow, double *out) {
    for (size_t done = 0; done < n; done += LANES) {
        v_f64 v;
        memcpy(&v, moments + done, sizeof v);
        v = result_or_none(v, load_numbers_f64(numbers + done), ddof, root, narrow);
        memcpy(out + done, &v, sizeof v);
    }
}

#define GIVE_GROUPS(root, narrow) give_groups(moments, numbers, n, how.ddof, root, narrow, x)
static bool moments_of_groups(double *x, const uint32_t *numbers, size_t n, tally_cpu_spread how) {
    _Alignas(64) double moments[TALLY_CPU_EXPS_BLOCK];
    if (how.narrow ? !scan_all_groups(x, numbers, n, false, false, moments)
                   : !(FAR > 0 && scan_all_groups(x, numbers, n, true, false, moments)) &&
                         !scan_all_groups(x, numbers, n, false, true, moments))
        return false;
    how.narrow ? how.root ? GIVE_GROUPS(true, true) : GIVE_GROUPS(false, true)
    : how.root ? GIVE_GROUPS(true, false)
               : GIVE_GROUPS(false, false);
    return true;
}

/* ---- columns: the same, side by side ---- */

typedef struct strip {
    _Alignas(64) double shift[TALLY_CPU_MOMENTS_STRIP];
    double sum_before[TALLY_CPU_MOMENTS_STRIP], squares_before[TALLY_CPU_MOMENTS_STRIP];
    double sum[TALLY_CPU_MOMENTS_STRIP], squares[TALLY_CPU_MOMENTS_STRIP]; /* of the block alone, as above */
} strip;

static void begin_strip(const tally_cpu_moments_strip *acc, const double *first, size_t width, strip *s) {
    for (size_t j = 0; j < width; j++) {
        const double shift = acc->mean[j] + acc->low[j], low = acc->low[j] - (shift - acc->mean[j]);
        s->shift[j] = acc->count == 0 ? first[j] : shift;
        s->sum_before[j] = acc->count * low;
        s->squares_before[j] = acc->squares[j] + s->sum_before[j] * low;
        s->sum[j] = s->squares[j] = 0;
    }
}

static bool end_strip(const strip *s, double count, size_t width, tally_cpu_moments_strip *acc) {
    bool are_finite = true;
    for (size_t j = 0; j < width; j++)
        are_finite &= is_finite(s->squares_before[j] + s->squares[j], count);
    if (!are_finite)
        return false;
    const double share = 1 / count;
    for (size_t j = 0; j < width; j++) {
        const double sum = s->sum_before[j] + s->sum[j], off = sum * share;
        const double squares = s->squares_before[j] + s->squares[j] - sum * off;
        acc->mean[j] = s->shift[j];
        acc->low[j] = off;
        acc->squares[j] = squares < 0 ? 0 : squares;
    }
    acc->count = count;
    return true;
}

/* The first n lanes, or all. */
ALWAYS_INLINE void put_lanes(v_f64 v, size_t n, double *to) {
    if (n >= LANES)
        memcpy(to, &v, sizeof v);
    else
#if defined(__AVX512F__)
        _mm512_mask_storeu_pd(to, (__mmask8)((1u << n) - 1), v);
#else
        memcpy(to, &v, n * sizeof *to);
#endif
}

/* A vector of columns, of which the first 'left' count, in registers. The first row is element number 'count' of its
 * columns, and the next ones begin 'down' elements behind each other. */
ALWAYS_INLINE void scan_strip(const double *x, size_t rows, ptrdiff_t down, size_t left, const double *shares,
                              double count, bool root, bool narrow, strip *to, size_t j, double *out) {
    v_f64 v, shift, sum, squares, sum_before, squares_before, number = (v_f64){0} + count;
    memcpy(&shift, to->shift + j, sizeof shift);
    memcpy(&sum_before, to->sum_before + j, sizeof sum_before);
    memcpy(&squares_before, to->squares_before + j, sizeof squares_before);
    sum = squares = (v_f64){0};
    for (size_t k = 0; k < rows; k++, x += down, out += down, number += 1.0) {
        memcpy(&v, x, sizeof v);
        const v_f64 d = v - shift;
        sum += d;
        squares += d * d;
        const v_f64 part = moment(sum_before + sum, squares_before + squares, number) * shares[k];
        put_lanes(!root ? part : narrow ? near_root(part) : root_f64(part), left, out);
    }
    memcpy(to->sum + j, &sum, sizeof sum);
    memcpy(to->squares + j, &squares, sizeof squares);
}

#define SCAN_STRIPS(root, narrow)                                                                                      \
    for (size_t j = 0; j < width; j += LANES)                                                                          \
    scan_strip(x + first + j, block, down, width - j, shares, acc->count + 1, root, narrow, &s, j, out + first + j)

static size_t moments_of_columns(const double *x, size_t rows, size_t width, tally_cpu_spread how,
                                 tally_cpu_moments_strip *acc, double *out) {
    const ptrdiff_t down = how.reverse ? -(ptrdiff_t)width : (ptrdiff_t)width;
    strip s = {0};
    size_t done = 0;
    while (done < rows) {
        const size_t block = block_after(acc->count, rows - done < ROWS ? rows - done : ROWS, how.narrow),
                     first = (how.reverse ? rows - done - 1 : done) * width;
        double shares[ROWS];
        for (size_t k = 0; k < block; k++) {
            const double count = acc->count + (double)(k + 1), degrees = count - how.ddof;
            shares[k] = degrees > 0 ? 1 / (count * degrees) : (double)NAN;
        }
        begin_strip(acc, x + first, width, &s);
        if (how.root && how.narrow)
            SCAN_STRIPS(true, true);
        else if (how.root)
            SCAN_STRIPS(true, false);
        else
            SCAN_STRIPS(false, false);
        if (!end_strip(&s, acc->count + (double)block, width, acc))
            return done;
        done += block;
    }
    return rows;
}

/* ---- columns of a few rows, as a whole ---- */

/* As moments_of_columns of at most FIRST rows, from the first one on, with all that a column has in registers. */
ALWAYS_INLINE bool scan_few_rows(const double *x, size_t rows, size_t width, double ddof, bool root, bool narrow,
                                 bool reverse, double *out) {
    double shares[FIRST];
    for (size_t r = 0; r < rows; r++) {
        const double count = (double)(r + 1), degrees = count - ddof;
        shares[r] = degrees > 0 ? 1 / (count * degrees) : (double)NAN;
    }
    v_i64 are_finite = ~(v_i64){0};
    for (size_t j = 0; j < width; j += LANES) {
        v_f64 v, shift = {0}, sum = {0}, squares = {0}, count = {0};
        for (size_t k = 0; k < rows; k++) {
            const size_t at = (reverse ? rows - 1 - k : k) * width + j;
            memcpy(&v, x + at, sizeof v);
            shift = k == 0 ? v : shift;
            const v_f64 d = v - shift;
            sum += d;
            squares += d * d;
            count += 1;
            const v_f64 part = moment(sum, squares, count) * shares[k];
            const v_f64 value = !root ? part : narrow ? near_root(part) : root_f64(part);
            if (width - j >= LANES)
                memcpy(out + at, &value, sizeof value);
            else
                memcpy(out + at, &value, (width - j) * sizeof *out);
        }
        const v_f64 product = squares * count;
        are_finite &= product - product == 0;
    }
    return !any_bit((v_u64)~are_finite);
}

#define SCAN_FEW_ROWS(root, narrow)                                                                                    \
    (how.reverse ? scan_few_rows(x, rows, width, how.ddof, root, narrow, true, out)                                    \
                 : scan_few_rows(x, rows, width, how.ddof, root, narrow, false, out))
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
uint64_t PASTE4(tally_cpu_number, _, TALLY_LEVEL, )(const int8_t *heads, size_t n, bool reverse, uint64_t first,
                                                    uint64_t before, uint64_t *counts);
tally_cpu_number_groups PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, );
tally_cpu_lift_32 *PASTE4(tally_cpu_lift_32, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type);
tally_cpu_lift_32 *PASTE4(tally_cpu_lift_narrow, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type);
tally_cpu_narrow_scan_for PASTE4(tally_cpu_narrow_scan, _, TALLY_LEVEL, );
tally_cpu_truths PASTE4(tally_cpu_truths, _, TALLY_LEVEL, );
#if defined(__AVX2__)
tally_cpu_count PASTE4(tally_cpu_count, _, TALLY_LEVEL, );
#define COUNT PASTE4(tally_cpu_count, _, TALLY_LEVEL, )
#else
#define COUNT NULL
#endif
tally_cpu_order PASTE4(tally_cpu_order, _, TALLY_LEVEL, );
extern const tally_cpu_follow PASTE4(tally_cpu_follow, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

extern tally_cpu_integer_exps *const PASTE4(tally_cpu_integer_exps, _, TALLY_LEVEL, )[4];

extern tally_cpu_minmax_columns *const PASTE4(tally_cpu_minmax_columns, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

extern tally_cpu_places_of_columns *const PASTE4(tally_cpu_places, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

const tally_cpu_scans PASTE4(tally_cpu_scans, _,
                             TALLY_LEVEL, ) = {.fill = PASTE4(tally_cpu_fill, _, TALLY_LEVEL, ),
                                               .moments = moments,
                                               .moments_of_columns = moments_of_columns,
                                               .moments_of_few_rows = moments_of_few_rows,
                                               .scan_of_few_rows = scan_of_few_rows,
                                               .moments_of_groups = moments_of_groups,
                                               .running_exps = &PASTE4(tally_cpu_running_exps, _, TALLY_LEVEL, ),
                                               .integer_exps = PASTE4(tally_cpu_integer_exps, _, TALLY_LEVEL, ),
                                               .number = PASTE4(tally_cpu_number, _, TALLY_LEVEL, ),
                                               .number_groups = PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, ),
                                               .lift_32 = PASTE4(tally_cpu_lift_32, _, TALLY_LEVEL, ),
                                               .lift_narrow = PASTE4(tally_cpu_lift_narrow, _, TALLY_LEVEL, ),
                                               .narrow = PASTE4(tally_cpu_narrow_scan, _, TALLY_LEVEL, ),
                                               .truths = PASTE4(tally_cpu_truths, _, TALLY_LEVEL, ),
                                               .count = COUNT,
                                               .order = PASTE4(tally_cpu_order, _, TALLY_LEVEL, ),
                                               .follow = PASTE4(tally_cpu_follow, _, TALLY_LEVEL, ),
                                               .minmax = PASTE4(tally_cpu_minmax_columns, _, TALLY_LEVEL, ),
                                               .places = PASTE4(tally_cpu_places, _, TALLY_LEVEL, )};
