/* The stream of values that an exact sum takes in blocks: windowed levels, and the choice between them and the bins.
 * exact.c explains the idea.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_STREAM_H
#define TALLY_CPU_KERNELS_EXACT_STREAM_H

#include "cpu/kernels/exact_bins.h"

/* ------------------------------------------------------------------------------------ levels ------------- */

ALWAYS_INLINE v_f64 splat_f64(double x) {
    return x - (v_f64){0};
}
ALWAYS_INLINE v_f32 splat_f32(float x) {
    return x - (v_f32){0};
}

/* Prefetches the line PREFETCH_AHEAD behind p, for those vectors of a step ('at' bytes into it) that begin a line. */
ALWAYS_INLINE void prefetch(const void *p, size_t at) {
    if (at % 64 == 0)
        __builtin_prefetch((const void *)((uintptr_t)p + PREFETCH_AHEAD));
}

/* gcc 12 widens to 512 bits in halves, at three times the cost of the instruction. */
ALWAYS_INLINE v_f64 load_wide(const e_f32 *x) {
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)x));
#else
    return load_f64_from_f32(x);
#endif
}

/* a + b, which may round without raising the flag. */
ALWAYS_INLINE v_f64 add_quietly_f64(v_f64 a, v_f64 b) {
#if QUIET_ADDITION
    return _mm512_add_round_pd(a, b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    return a + b;
#endif
}

ALWAYS_INLINE v_f32 add_quietly_f32(v_f32 a, v_f32 b) {
#if QUIET_ADDITION
    return _mm512_add_round_ps(a, b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    return a + b;
#endif
}

/* 1.5 * 2^exponent, exponent normal. */
static inline double sigma_f64(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52 | UINT64_C(1) << 51;
    double sigma;
    memcpy(&sigma, &bits, sizeof sigma);
    return sigma;
}

static inline float sigma_f32(int exponent) {
    return tally_float_of_bits((uint32_t)(exponent + 127) << 23 | UINT32_C(1) << 22);
}

/* The types that a block of doubles is converted from; each value is exact as a double. */
typedef enum source {
    DOUBLES,
    FLOATS,
    PRODUCTS_OF_FLOATS,
    MAGNITUDES_OF_DOUBLES,
    MAGNITUDES_OF_FLOATS,
    SOURCES
} source;

ALWAYS_INLINE bool are_doubles(const source from) {
    return from == DOUBLES || from == MAGNITUDES_OF_DOUBLES;
}

ALWAYS_INLINE v_f64 absolute_f64(v_f64 x) {
    return (v_f64)((v_i64)x & INT64_MAX);
}

ALWAYS_INLINE void prefetch_from(const void *x, size_t i, size_t j, const source from) {
    const size_t size = are_doubles(from) ? sizeof(double) : sizeof(float);
    prefetch((const char *)x + (i + j * W64) * size, j * W64 * size);
}

ALWAYS_INLINE v_f64 load_source(const void *x, const void *y, size_t i, const source from) {
    const v_f64 v = are_doubles(from) ? load_f64_from_f64((const e_f64 *)x + i) : load_wide((const e_f32 *)x + i);
    if (from == PRODUCTS_OF_FLOATS)
        return v * load_wide((const e_f32 *)y + i);
    return from == MAGNITUDES_OF_DOUBLES || from == MAGNITUDES_OF_FLOATS ? absolute_f64(v) : v;
}

/* The sums of a block: units of each upper level, and the last level's sum. They count only when the whole block is
 * known to be exact. */
typedef struct block_sums {
    int64_t units[LEVELS_FUSED - 1];
    double rest;
} block_sums;

/* Empties a level. Within a binade the bits of a float are an integer that counts its units, so the level's sum is the
 * difference from its first value. False if a lane has left the binade (infinities and NaNs have). Unsigned, because
 * the sum of lanes that have left it means nothing and may wrap. */
ALWAYS_INLINE bool units_f64(const v_f64 *level, v_f64 sigma, int64_t *units) {
    v_u64 sum = {0}, strayed = {0};
    UNROLL_8 for (int j = 0; j < CHAINS; j++) {
        sum += (v_u64)level[j] - (v_u64)sigma;
        strayed |= (v_u64)level[j] ^ (v_u64)sigma;
    }
    uint64_t total = 0, exponents = 0;
    for (int l = 0; l < W64; l++) {
        total += sum[l];
        exponents |= strayed[l];
    }
    *units = (int64_t)total;
    return exponents >> 52 == 0;
}

ALWAYS_INLINE double sum_lanes_f64(v_f64 *r) {
    UNROLL_8 for (int j = 0; j < CHAINS / 2; j++) r[j] += r[j + CHAINS / 2];
    v_f64 all = (r[0] + r[1]) + (r[2] + r[3]);
    double lanes[W64];
    memcpy(lanes, &all, sizeof lanes);
    for (int width = W64 / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++)
            lanes[l] += lanes[l + width];
    return lanes[0];
}

/* Whether the operations since the flags were cleared were all exact, and their result finite. */
ALWAYS_INLINE bool was_exact(const block_sums *out) {
    return !tally_fpenv_inexact(out) && out->rest - out->rest == 0;
}

#if QUIET_ADDITION

/* One block in one pass; n is a multiple of STEP64, levels is 2 or 3. */
ALWAYS_INLINE bool sum_levels(const void *x, const void *y, const source from, size_t n, int top, const int levels,
                              block_sums *out) {
    v_f64 s1[CHAINS], s2[CHAINS], r[CHAINS];
    const v_f64 sigma1 = splat_f64(sigma_f64(top)), sigma2 = splat_f64(sigma_f64(top - BITS_PER_LEVEL));
    tally_fpenv_clear();
    UNROLL_8 for (int j = 0; j < CHAINS; j++) {
        s1[j] = sigma1;
        s2[j] = sigma2;
        r[j] = (v_f64){0};
    }
    for (size_t i = 0; i < n; i += STEP64)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            prefetch_from(x, i, j, from);
            if (from == PRODUCTS_OF_FLOATS)
                prefetch_from(y, i, j, from);
            v_f64 v = load_source(x, y, i + j * W64, from);
            v_f64 t = add_quietly_f64(s1[j], v);
            v -= t - s1[j];
            s1[j] = t;
            if (levels == 3) {
                t = add_quietly_f64(s2[j], v);
                v -= t - s2[j];
                s2[j] = t;
            }
            r[j] += v;
        }
    out->rest = sum_lanes_f64(r);
    bool exact = was_exact(out);
    exact &= units_f64(s1, sigma1, &out->units[0]);
    if (levels == 3)
        exact &= units_f64(s2, sigma2, &out->units[1]);
    return exact;
}

#else

/* The same in two passes: the running sums, which round, and then the differences, which must not. There are too few
 * registers for a third level, so it is peeled off. */
ALWAYS_INLINE bool sum_levels(const void *x, const void *y, const source from, size_t n, int top, const int levels,
                              block_sums *out) {
    if (levels != 2)
        return false;
    v_f64 sums[CHAINS + BLOCK64 / W64], s[CHAINS], r[CHAINS];
    const v_f64 sigma = splat_f64(sigma_f64(top));
    const size_t vectors = n / W64;
    UNROLL_8 for (int j = 0; j < CHAINS; j++) {
        s[j] = sums[j] = sigma;
        r[j] = (v_f64){0};
    }
    for (size_t i = 0; i < vectors; i += CHAINS)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            prefetch_from(x, i * W64, j, from);
            s[j] += load_source(x, y, (i + j) * W64, from);
            sums[CHAINS + i + j] = s[j];
        }
    __asm__ volatile("" : : "r"(sums) : "memory");
    tally_fpenv_clear();
    for (size_t i = 0; i < vectors; i += CHAINS)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            const v_f64 v = load_source(x, y, (i + j) * W64, from);
            r[j] += v - (sums[CHAINS + i + j] - sums[i + j]);
        }
    out->rest = sum_lanes_f64(r);
    const bool exact = was_exact(out);
    return units_f64(sums + vectors, sigma, &out->units[0]) && exact;
}

#endif

#define DEFINE_SUM_LEVELS(name, from, levels)                                                                          \
    static __attribute__((noinline)) bool name(const void *x, const void *y, size_t n, int top, block_sums *out) {     \
        return sum_levels(x, y, from, n, top, levels, out);                                                            \
    }
DEFINE_SUM_LEVELS(sum_two_levels, DOUBLES, 2)
DEFINE_SUM_LEVELS(sum_two_levels_of_floats, FLOATS, 2)
DEFINE_SUM_LEVELS(sum_two_levels_of_products, PRODUCTS_OF_FLOATS, 2)
DEFINE_SUM_LEVELS(sum_two_levels_of_magnitudes, MAGNITUDES_OF_DOUBLES, 2)
DEFINE_SUM_LEVELS(sum_two_levels_of_float_magnitudes, MAGNITUDES_OF_FLOATS, 2)
DEFINE_SUM_LEVELS(sum_three_levels, DOUBLES, 3)
DEFINE_SUM_LEVELS(sum_three_levels_of_floats, FLOATS, 3)
DEFINE_SUM_LEVELS(sum_three_levels_of_products, PRODUCTS_OF_FLOATS, 3)
DEFINE_SUM_LEVELS(sum_three_levels_of_magnitudes, MAGNITUDES_OF_DOUBLES, 3)
DEFINE_SUM_LEVELS(sum_three_levels_of_float_magnitudes, MAGNITUDES_OF_FLOATS, 3)

static bool try_window(stream *s, const void *x, const void *y, source from, size_t n) {
    static bool (*const kernels[2][SOURCES])(const void *, const void *, size_t, int, block_sums *) = {
        {sum_two_levels, sum_two_levels_of_floats, sum_two_levels_of_products, sum_two_levels_of_magnitudes,
         sum_two_levels_of_float_magnitudes},
        {sum_three_levels, sum_three_levels_of_floats, sum_three_levels_of_products, sum_three_levels_of_magnitudes,
         sum_three_levels_of_float_magnitudes},
    };
    block_sums out;
    if (s->levels < 2 || s->levels > LEVELS_FUSED || !kernels[s->levels - 2][from](x, y, n, s->top, &out))
        return false;
    for (int level = 0; level < s->levels - 1; level++)
        tally_superaccumulator_deposit(s->accumulator, out.units[level], s->top - BITS_PER_LEVEL * level - 52);
    tally_superaccumulator_deposit_value(s->accumulator, out.rest);
    return true;
}

/* Peels one level off the values in place. Here the window must hold: the values are overwritten. */
static void peel(stream *s, double *x, size_t n, int top) {
    v_f64 level[CHAINS];
    const v_f64 sigma = splat_f64(sigma_f64(top));
    UNROLL_8 for (int j = 0; j < CHAINS; j++) level[j] = sigma;
    for (size_t i = 0; i < n; i += STEP64)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            const v_f64 v = load_f64_from_f64(x + i + j * W64);
            const v_f64 t = level[j] + v;
            const v_f64 rest = v - (t - level[j]);
            level[j] = t;
            memcpy(x + i + j * W64, &rest, sizeof rest);
        }
    int64_t units;
    units_f64(level, sigma, &units);
    tally_superaccumulator_deposit(s->accumulator, units, top - 52);
}

static bool sum_rest(stream *s, const e_f64 *x, size_t n) {
    block_sums out;
    v_f64 r[CHAINS] = {{0}};
    tally_fpenv_clear();
    for (size_t i = 0; i < n; i += STEP64)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) r[j] += load_f64_from_f64(x + i + j * W64);
    out.rest = sum_lanes_f64(r);
    if (!was_exact(&out))
        return false;
    tally_superaccumulator_deposit_value(s->accumulator, out.rest);
    return true;
}

/* Any number of levels. Rests that the last sum should take but cannot, which is rare, go to the limbs. */
static void add_by_peeling(stream *s, const e_f64 *x, size_t n) {
    if (x != s->scratch)
        memcpy(s->scratch, x, n * sizeof *x);
    int top = s->top;
    for (int level = 1; level < s->levels && top >= TOP_MIN; level++, top -= BITS_PER_LEVEL)
        peel(s, s->scratch, n, top);
    if (!sum_rest(s, s->scratch, n))
        for (size_t i = 0; i < n; i++)
            tally_superaccumulator_deposit_value(s->accumulator, s->scratch[i]);
}

/* ------------------------------------------------------------------------------------ choosing ----------- */

/* Finds the largest exponent and the smallest unit of a block. Returns false if there are infinities or NaNs. */
static __attribute__((noinline)) bool look(stream *s, const e_f64 *x, size_t n, bool *all_zero) {
    v_i64 largest = {0},
          smallest = {0}; /* smallest: of bits - 1, as distance from the top, so that zeros do not count */
    for (size_t i = 0; i < n; i += W64) {
        const v_i64 bits = (v_i64)load_f64_from_f64(x + i) & INT64_MAX;
        largest = max_i64(largest, bits);
        smallest = max_i64(smallest, INT64_MAX - ((bits - 1) & INT64_MAX));
    }
    int64_t high = 0, low = 0;
    for (int l = 0; l < W64; l++) {
        high = largest[l] > high ? largest[l] : high;
        low = smallest[l] > low ? smallest[l] : low;
    }
    *all_zero = high == 0;
    const int high_field = (int)(high >> 52), low_field = (int)((((uint64_t)(INT64_MAX - low) + 1) >> 52));
    s->highest = high_field > 1 ? high_field - 1022 : -1021;
    s->lowest = low_field > 1 ? low_field - 1022 - s->significand : -1021 - s->significand;
    if (s->lowest < -1074)
        s->lowest = -1074;
    return high_field != 0x7ff;
}

/* The window for the block that was examined; 0 levels if there is none. It has slack on both sides. */
static void choose_window(stream *s) {
    const int span = s->highest - s->lowest;
    int levels = 2, limit = SPAN_OF_TWO;
    while (span > limit && levels <= LEVELS_MAX) {
        levels++;
        limit += BITS_PER_LEVEL;
    }
    const int slack = (limit - span) / 2;
    s->top = s->highest + HEADROOM + (slack < 13 ? slack : 13);
    if (s->top < TOP_MIN)
        s->top = TOP_MIN;
    if (s->top > TOP_MAX)
        s->top = s->highest + HEADROOM;
    s->levels = levels > LEVELS_MAX || s->top > TOP_MAX ? 0 : levels;
    s->until_look = BLOCKS_PER_LOOK;
}

/* Counts a block's specials and replaces them by zeros. */
static void take_specials(stream *s, double *x, size_t n) {
    v_i64 nans = {0}, positive = {0}, negative = {0};
    const int64_t infinity = INT64_C(0x7ff0000000000000);
    for (size_t i = 0; i < n; i += W64) {
        v_i64 bits = (v_i64)load_f64_from_f64(x + i);
        const v_i64 magnitude = bits & INT64_MAX;
        const v_i64 infinite = (v_i64)(magnitude == infinity), below_zero = (v_i64)(bits < 0);
        nans -= (v_i64)(magnitude > infinity);
        positive -= infinite & ~below_zero;
        negative -= infinite & below_zero;
        bits &= (v_i64)(magnitude < infinity);
        memcpy(x + i, &bits, sizeof bits);
    }
    for (int l = 0; l < W64; l++) {
        s->accumulator->nans += (uint64_t)nans[l];
        s->accumulator->positive_infinities += (uint64_t)positive[l];
        s->accumulator->negative_infinities += (uint64_t)negative[l];
    }
}

/* A block that was not exact in the present window. */
static __attribute__((noinline)) bool add_block_anew(stream *s, const e_f64 *x, size_t n) {
    bool all_zero;
    s->levels = 0;
    if (!look(s, x, n, &all_zero)) {
        if (s->pairs)
            return false;
        if (x != s->scratch)
            memcpy(s->scratch, x, n * sizeof *x);
        x = s->scratch;
        take_specials(s, s->scratch, n);
        look(s, x, n, &all_zero);
    }
    if (all_zero)
        return true;
    if (s->flags_work)
        choose_window(s);
    for (; s->levels >= 2 && s->levels <= LEVELS_FUSED; s->levels++)
        if (try_window(s, x, NULL, DOUBLES, n))
            return true;
    if (s->levels == 0 && s->pairs)
        return false;
    if (s->levels == 0)
        add_to_bins(s, x, n);
    else
        add_by_peeling(s, x, n);
    return true;
}

/* Converts a block to doubles; may return the input itself. */
static const e_f64 *doubles_of(stream *s, const void *x, const void *y, source from, size_t n) {
    if (from == DOUBLES)
        return x;
    for (size_t i = 0; i < n; i += W64) {
        const v_f64 v = from == FLOATS                  ? load_source(x, NULL, i, FLOATS)
                        : from == PRODUCTS_OF_FLOATS    ? load_source(x, y, i, PRODUCTS_OF_FLOATS)
                        : from == MAGNITUDES_OF_DOUBLES ? load_source(x, NULL, i, MAGNITUDES_OF_DOUBLES)
                                                        : load_source(x, NULL, i, MAGNITUDES_OF_FLOATS);
        memcpy(s->scratch + i, &v, sizeof v);
    }
    return s->scratch;
}

/* Adds a block, n at most BLOCK64 and a multiple of STEP64, with the window of the block before if that works. False,
 * with nothing added, for pairs that are not finite or too far apart. */
static bool add_block(stream *s, const void *x, const void *y, source from, size_t n) {
    if (s->levels > 2 && --s->until_look <= 0)
        s->levels = 0;
    return try_window(s, x, y, from, n) || add_block_anew(s, doubles_of(s, x, y, from, n), n);
}

/* ------------------------------------------------------------------------------------ beginning, end ----- */

/* An operation that is certainly inexact must raise the flag. */
static bool flags_work(void) {
    volatile double one = 1, little = 0x1p-80;
    block_sums out;
    tally_fpenv_clear();
    out.rest = one + little;
    return tally_fpenv_inexact(&out);
}

static void begin_stream(stream *s, tally_superaccumulator *accumulator, int significand) {
    s->accumulator = accumulator;
    s->significand = significand;
    s->flags_work = flags_work();
    s->pairs = false;
    s->levels = 0;
    s->top = 0;
    s->until_look = 0;
    s->products_wait = 0;
    s->bins_used = 0;
}

static inline size_t round_up(size_t n, size_t step) {
    return (n + step - 1) / step * step;
}

/* Copies a block that is not whole to a place where zeros can fill it up. */
static size_t pad(void *to, const void *x, size_t n, size_t step, size_t element) {
    const size_t padded = round_up(n, step);
    memcpy(to, x, n * element);
    memset((char *)to + n * element, 0, (padded - n) * element);
    return padded;
}

ALWAYS_INLINE double value_at(const void *x, size_t i, const tally_dtype type) {
    switch (type) {
#define TALLY_DTYPE(ENUMERATOR, tag, ...)                                                                              \
    case TALLY_##ENUMERATOR:                                                                                           \
        return scalar_f64_from_##tag(((const e_##tag *)x)[i]);
#include "core/dtypes.def"
    default:
        return 0;
    }
}

static bool is_negative(double x) {
    return tally_bits_of_double(x) >> 63 != 0;
}

/* Counts n summands. As long as all were -0, which decides a zero's sign, each is tested; magnitudes never are. */
static void count_summands(tally_superaccumulator *accumulator, const void *x, size_t n, tally_dtype type,
                           bool magnitudes) {
    accumulator->count += n;
    if (magnitudes && n > 0)
        accumulator->others = 1;
    for (size_t i = 0; i < n && accumulator->others == 0; i++) {
        const double value = value_at(x, i, type);
        accumulator->others = value != 0 || !is_negative(value);
    }
}

static void count_products(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n,
                           tally_dtype type) {
    accumulator->count += n;
    for (size_t i = 0; i < n && accumulator->others == 0; i++) {
        const double a = value_at(x, i, type), b = value_at(y, i, type);
        const bool finite = a - a == 0 && b - b == 0;
        const bool zero = finite && (a == 0 || b == 0);
        accumulator->others = !zero || is_negative(a) == is_negative(b);
    }
}

#endif
