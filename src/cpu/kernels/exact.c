/* Exact sums by windowed levels. Adding x to S = 1.5 * 2^top and subtracting S again splits x, without error, into a
 * multiple of S's unit, which stays in S, and a residual for the next level; the last level is a plain sum. Every step
 * is exact if S outweighs x and the last sum has bits enough, and nothing has to be proved about the data for that: the
 * processor's sticky inexact flag says afterwards whether some operation rounded. A block that was exact costs four
 * additions a vector and no comparison. One that was not is looked at and done again with a window that fits, with more
 * levels, or in integer bins, which take anything.
 *
 * The split itself, S + x, rounds on purpose. AVX-512 adds without raising flags; elsewhere the additions are done
 * first, and the flags cleared, before the differences that must be exact.
 *
 * Sources: Rump, Ogita, Oishi, "Accurate floating-point summation I" (2008) for the extraction; Demmel, Hida, "Fast and
 * accurate floating point summation" (2004); Neal, "Fast exact summation using small and large superaccumulators"
 * (2015) for the bins.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "cpu/kernels/exact.h"

#include <string.h>

#include "cpu/fpenv.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

/* ------------------------------------------------------------------------------------ constants ---------- */

#if defined(__AVX512F__)
#define QUIET_ADDITION 1
#else
#define QUIET_ADDITION 0
#endif

enum {
    W64 = LANES_OF(double),
    W32 = LANES_OF(float),
    CHAINS = 8, /* independent accumulators a level: two adders times four cycles */
    STEP64 = CHAINS * W64,
    STEP32 = CHAINS * W32,
    /* Values a block. Small enough that a block which has to be done again is still in cache and that a lane takes at
     * most 2^6 values; large enough that emptying the lanes (60 ns) does not show. Without quiet additions the running
     * sums are kept as well, and both must fit L1. */
    BLOCK64 = QUIET_ADDITION ? 4096 : 1024,
    BLOCK32 = QUIET_ADDITION ? 4096 : 2048, /* of f32 summed as doubles */
    BLOCK16 = QUIET_ADDITION ? 8192 : 2048, /* of f16 and bf16 summed as floats */
    LANE_BITS = 6,
    /* How far ahead lines are asked for, in bytes. The processor's own prefetching loses its stride while lanes are
     * emptied: from memory f64 ran at 0.58 of a plain sum without, at 0.94 with 1024, and at 0.79 with 4096. */
    PREFETCH_AHEAD = 1024
};
_Static_assert(BLOCK64 / STEP64 <= 1 << LANE_BITS, "a lane of doubles takes too many values");
_Static_assert(BLOCK16 / STEP32 <= 1 << LANE_BITS, "a lane of floats takes too many values");

enum {
    /* |x| < 2^E, so 2^6 of them stay within the half binade to either side of S = 1.5 * 2^top if top >= E + 7.
     * Residuals are at most 2^(top - 53), so the next level may be 53 - 7 bits below. */
    HEADROOM = LANE_BITS + 1,
    BITS_PER_LEVEL = 53 - HEADROOM,
    /* Bits from the largest value to the smallest unit that two levels take when the last sum grows by as much as
     * random residuals do; it may grow more, and then the flag says so. */
    SPAN_OF_TWO = 2 * 53 - HEADROOM - 8,
    LEVELS_FUSED = 3, /* in registers, in one pass */
    LEVELS_MAX = 9,   /* at 0.08 ns a value and level the bins are faster from here on */
    FEW_VALUES = 16,  /* 3 ns each by integers */
    FEW_PRODUCTS = 8,
    BLOCKS_PER_LOOK = 16, /* how long a wide window or a failed shortcut is believed in */
    TOP_MAX = 1022,       /* of a double's window: 1.5 * 2^top and its next binade are finite */
    TOP_MIN = -979        /* 2^(top - 53) and sums of residuals reach down to 2^-1074 from here */
};

/* ------------------------------------------------------------------------------------ bins --------------- */

/* Integer bins, one for each exponent: any value costs one addition there. A bin takes 2^9 values of 53 bits from below
 * 2^62 without overflow, so after as many all bins are looked at, which costs 0.2 ns a value. Doubles begin at 2^-1074;
 * products of two doubles, as two halves of 53 bits, at 2^-2148. */
enum {
    BINS_OF_VALUES = 2046,
    BINS_OF_PRODUCTS = 2 * 2045 + 53 + 1,
    BINS = (BINS_OF_PRODUCTS + STEP64 - 1) / STEP64 * STEP64,
    VALUES_PER_CHECK = 512,
    /* Below this many values, clearing and emptying the bins costs more than adding each value to the limbs. */
    BINS_WORTHWHILE = 1024
};

/* What a call carries from block to block. */
typedef struct stream {
    tally_superaccumulator *accumulator;
    int significand; /* bits of a value's significand: lets narrow types have narrow windows */
    bool flags_work; /* the inexact flag can be trusted (emulators exist where it cannot) */
    bool pairs; /* the blocks are rounded products and what they lack: infinities may be overflows, and wide ranges are
                   better served from the factors */
    int levels; /* of the window that the last block had, 0 for none */
    int top;
    int products_wait;   /* blocks until products of doubles are tried as pairs again */
    int until_look;      /* blocks until a wide window or a failed shortcut is tried again */
    int highest, lowest; /* of the block last looked at: |x| < 2^highest, and all multiples of 2^lowest */
    int bins_used;       /* how many of the bins, a multiple of W64 */
    int64_t bins[BINS] __attribute__((aligned(64)));
    double scratch[BLOCK64] __attribute__((aligned(64)));
} stream;

/* a * b = high * 2^53 + low for |a|, |b| < 2^53; low has the sign of neither and is at least 0. */
ALWAYS_INLINE int64_t multiply_wide(int64_t a, int64_t b, int64_t *low) {
    const int64_t mask = (INT64_C(1) << 53) - 1;
#if defined(__SIZEOF_INT128__)
    const __int128 product = (__int128)a * b;
    *low = (int64_t)product & mask;
    return (int64_t)(product >> 53);
#else
    const int64_t ah = a >> 27, al = a & 0x7ffffff, bh = b >> 27, bl = b & 0x7ffffff;
    const int64_t middle = ah * bl + al * bh; /* of 2^27; below 2^54 */
    const int64_t sum = al * bl + (middle & 0x3ffffff) * (INT64_C(1) << 27);
    *low = sum & mask;
    return 2 * ah * bh + (middle >> 26) + (sum >> 53);
#endif
}

static void use_bins(stream *s, int bins) {
    if (s->bins_used == 0) {
        s->bins_used = (bins + W64 - 1) / W64 * W64;
        memset(s->bins, 0, (size_t)s->bins_used * sizeof s->bins[0]);
    }
}

static void empty_bins(stream *s) {
    const int lowest = s->bins_used > BINS_OF_VALUES + W64 ? -2148 : -1074;
    for (int i = 0; i < s->bins_used; i++)
        tally_superaccumulator_deposit(s->accumulator, s->bins[i], i + lowest);
    s->bins_used = 0;
}

/* Empties the bins unless all of them have room for as many values again. */
static void check_bins(stream *s) {
    v_i64 magnitudes = {0};
    for (int i = 0; i < s->bins_used; i += W64) {
        const v_i64 bin = load_i64_from_f64((const e_f64 *)(const void *)(s->bins + i));
        magnitudes |= bin ^ bin >> 63;
    }
    int64_t all = 0;
    for (int l = 0; l < W64; l++)
        all |= magnitudes[l];
    if (all >> 62 != 0) {
        const int bins = s->bins_used;
        empty_bins(s);
        use_bins(s, bins);
    }
}

/* A double as significand * 2^(place - 1074), the significand with its sign. */
typedef struct placed {
    int64_t significand;
    int place;
    bool finite;
} placed;

ALWAYS_INLINE placed place_of(double x) {
    const uint64_t bits = tally_bits_of_double(x);
    const int field = (int)(bits >> 52 & 0x7ff), normal = field != 0;
    const int64_t sign = (int64_t)bits >> 63;
    const int64_t significand = (int64_t)((bits & UINT64_C(0xfffffffffffff)) | (uint64_t)normal << 52);
    return (placed){(significand ^ sign) - sign, field - normal, field != 0x7ff};
}

static void add_to_bins(stream *s, const e_f64 *x, size_t n) {
    if (n < BINS_WORTHWHILE) {
        for (size_t i = 0; i < n; i++)
            tally_superaccumulator_deposit_value(s->accumulator, x[i]);
        return;
    }
    use_bins(s, BINS_OF_VALUES);
    for (size_t done = 0; done < n; done += VALUES_PER_CHECK) {
        const size_t end = n - done < VALUES_PER_CHECK ? n : done + VALUES_PER_CHECK;
        for (size_t i = done; i < end; i++) {
            const placed p = place_of(x[i]);
            if (__builtin_expect(p.finite, 1))
                s->bins[p.place] += p.significand;
            else
                tally_superaccumulator_deposit_value(s->accumulator, x[i]);
        }
        check_bins(s);
    }
}

/* ------------------------------------------------------------------------------------ levels ------------- */

ALWAYS_INLINE v_f64 splat_f64(double x) {
    return x - (v_f64){0};
}
ALWAYS_INLINE v_f32 splat_f32(float x) {
    return x - (v_f32){0};
}

/* Asks for the line PREFETCH_AHEAD behind p, for those vectors of a step ('at' bytes into it) that begin a line. */
ALWAYS_INLINE void prefetch(const void *p, size_t at) {
    if (at % 64 == 0)
        __builtin_prefetch((const void *)((uintptr_t)p + PREFETCH_AHEAD));
}

/* gcc 12 widens to 512 bits by halves, at three times the cost of the instruction. */
ALWAYS_INLINE v_f64 load_wide(const e_f32 *x) {
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)x));
#else
    return load_f64_from_f32(x);
#endif
}

/* a + b that may round and does not tell. */
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

/* What a block of doubles is made from on the way: each is exact as a double. */
typedef enum source { DOUBLES, FLOATS, PRODUCTS_OF_FLOATS } source;

ALWAYS_INLINE void prefetch_from(const void *x, size_t i, size_t j, const source from) {
    const size_t size = from == DOUBLES ? sizeof(double) : sizeof(float);
    prefetch((const char *)x + (i + j * W64) * size, j * W64 * size);
}

ALWAYS_INLINE v_f64 load_from(const void *x, const void *y, size_t i, const source from) {
    if (from == DOUBLES)
        return load_f64_from_f64((const e_f64 *)x + i);
    const v_f64 v = load_wide((const e_f32 *)x + i);
    return from == FLOATS ? v : v * load_wide((const e_f32 *)y + i);
}

/* What a block came to: some units of each upper level, and the last level's sum. Nothing of it counts before the whole
 * block is known to be exact. */
typedef struct outcome {
    int64_t units[LEVELS_FUSED - 1];
    double rest;
} outcome;

/* Empties a level. Within a binade the bits of a float are an integer that counts its units, so the level's sum is the
 * difference from where it began; false if a lane has left the binade (infinities and NaNs have). Unsigned, because
 * what strayed lanes add up to means nothing and may wrap. */
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
ALWAYS_INLINE bool was_exact(const outcome *out) {
    return !tally_fpenv_inexact(out) && out->rest - out->rest == 0;
}

#if QUIET_ADDITION

/* One block in one pass; n is a multiple of STEP64, levels is 2 or 3. */
ALWAYS_INLINE bool sum_levels(const void *x, const void *y, const source from, size_t n, int top, const int levels,
                              outcome *out) {
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
            v_f64 v = load_from(x, y, i + j * W64, from);
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

/* The same in two passes: the running sums, which round, and then the differences, which must not. There are not the
 * registers for a third level: it is peeled off. */
ALWAYS_INLINE bool sum_levels(const void *x, const void *y, const source from, size_t n, int top, const int levels,
                              outcome *out) {
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
            s[j] += load_from(x, y, (i + j) * W64, from);
            sums[CHAINS + i + j] = s[j];
        }
    __asm__ volatile("" : : "r"(sums) : "memory");
    tally_fpenv_clear();
    for (size_t i = 0; i < vectors; i += CHAINS)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            const v_f64 v = load_from(x, y, (i + j) * W64, from);
            r[j] += v - (sums[CHAINS + i + j] - sums[i + j]);
        }
    out->rest = sum_lanes_f64(r);
    const bool exact = was_exact(out);
    return units_f64(sums + vectors, sigma, &out->units[0]) && exact;
}

#endif

#define DEFINE_SUM_LEVELS(name, from, levels)                                                                          \
    static __attribute__((noinline)) bool name(const void *x, const void *y, size_t n, int top, outcome *out) {        \
        return sum_levels(x, y, from, n, top, levels, out);                                                            \
    }
DEFINE_SUM_LEVELS(sum_two_levels, DOUBLES, 2)
DEFINE_SUM_LEVELS(sum_two_levels_of_floats, FLOATS, 2)
DEFINE_SUM_LEVELS(sum_two_levels_of_products, PRODUCTS_OF_FLOATS, 2)
DEFINE_SUM_LEVELS(sum_three_levels, DOUBLES, 3)
DEFINE_SUM_LEVELS(sum_three_levels_of_floats, FLOATS, 3)
DEFINE_SUM_LEVELS(sum_three_levels_of_products, PRODUCTS_OF_FLOATS, 3)

static bool try_window(stream *s, const void *x, const void *y, source from, size_t n) {
    static bool (*const kernels[2][3])(const void *, const void *, size_t, int, outcome *) = {
        {sum_two_levels, sum_two_levels_of_floats, sum_two_levels_of_products},
        {sum_three_levels, sum_three_levels_of_floats, sum_three_levels_of_products},
    };
    outcome out;
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
    outcome out;
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

/* Any number of levels. What the last sum cannot take although it should, which is rare, goes to the limbs. */
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
    v_i64 largest = {0}, smallest = {0}; /* smallest: of bits - 1, as distance from the top, so that zeros drop out */
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

/* The window for what was looked at; 0 levels if there is none. Slack is put on both sides. */
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

/* Counts a block's specials and leaves zeros in their place. */
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

/* A block that the present window did not take. */
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

/* Makes the doubles of a block; may be where they lie already. */
static const e_f64 *doubles_of(stream *s, const void *x, const void *y, source from, size_t n) {
    if (from == DOUBLES)
        return x;
    for (size_t i = 0; i < n; i += W64) {
        const v_f64 v = from == FLOATS ? load_from(x, NULL, i, FLOATS) : load_from(x, y, i, PRODUCTS_OF_FLOATS);
        memcpy(s->scratch + i, &v, sizeof v);
    }
    return s->scratch;
}

/* Adds a block, n at most BLOCK64 and a multiple of STEP64, by the window that the block before had if that works.
 * False, with nothing added, for pairs that are not finite or too far apart. */
static bool add_block(stream *s, const void *x, const void *y, source from, size_t n) {
    if (s->levels > 2 && --s->until_look <= 0)
        s->levels = 0;
    return try_window(s, x, y, from, n) || add_block_anew(s, doubles_of(s, x, y, from, n), n);
}

/* ------------------------------------------------------------------------------------ beginning, end ----- */

/* An operation that is inexact beyond doubt must raise the flag. */
static bool flags_work(void) {
    volatile double one = 1, little = 0x1p-80;
    outcome out;
    tally_fpenv_clear();
    out.rest = one + little;
    return tally_fpenv_inexact(&out);
}

static void begin(stream *s, tally_superaccumulator *accumulator, int significand) {
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

/* Moves a block that is not whole to where it can be filled up with zeros. */
static size_t pad(void *to, const void *x, size_t n, size_t step, size_t element) {
    const size_t padded = round_up(n, step);
    memcpy(to, x, n * element);
    memset((char *)to + n * element, 0, (padded - n) * element);
    return padded;
}

ALWAYS_INLINE double value_at(const void *x, size_t i, const tally_dtype type) {
    switch (type) {
    case TALLY_F16:
        return scalar_f64_from_f16(((const e_u16 *)x)[i]);
    case TALLY_BF16:
        return scalar_f64_from_bf16(((const e_u16 *)x)[i]);
    case TALLY_F32:
        return ((const e_f32 *)x)[i];
    default:
        return ((const e_f64 *)x)[i];
    }
}

static bool is_negative(double x) {
    return tally_bits_of_double(x) >> 63 != 0;
}

/* Counts n summands. As long as all of them were -0, which decides a zero's sign, each is looked at. */
static void count_elements(tally_superaccumulator *accumulator, const void *x, size_t n, tally_dtype type) {
    accumulator->count += n;
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

/* ------------------------------------------------------------------------------------ sums of f64 -------- */

/* A handful of values, for which the kernels' beginning and end cost more than integer deposits. */
static bool add_few(tally_superaccumulator *accumulator, const void *x, size_t n, tally_dtype type) {
    if (n > FEW_VALUES)
        return false;
    count_elements(accumulator, x, n, type);
    for (size_t i = 0; i < n; i++)
        tally_superaccumulator_deposit_value(accumulator, value_at(x, i, type));
    return true;
}

static bool add_few_products(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n,
                             tally_dtype type) {
    if (n > FEW_PRODUCTS)
        return false;
    count_products(accumulator, x, y, n, type);
    for (size_t i = 0; i < n; i++)
        tally_superaccumulator_deposit_product(accumulator, value_at(x, i, type), value_at(y, i, type));
    return true;
}

static void add_f64(tally_superaccumulator *accumulator, const void *x, size_t n) {
    if (add_few(accumulator, x, n, TALLY_F64))
        return;
    stream s;
    const tally_fpenv caller = tally_fpenv_enter();
    begin(&s, accumulator, 53);
    count_elements(accumulator, x, n, TALLY_F64);
    const e_f64 *p = x;
    for (; n >= BLOCK64; n -= BLOCK64, p += BLOCK64)
        add_block(&s, p, NULL, DOUBLES, BLOCK64);
    const size_t whole = n / STEP64 * STEP64;
    if (whole > 0)
        add_block(&s, p, NULL, DOUBLES, whole);
    if (n > whole) {
        const size_t padded = pad(s.scratch, p + whole, n - whole, STEP64, sizeof(double));
        add_block(&s, s.scratch, NULL, DOUBLES, padded);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

/* ------------------------------------------------------------------------------------ sums of f32 -------- */

/* Doubles have 29 bits more than floats: mostly their plain sum is exact. n is a multiple of STEP64. */
static __attribute__((noinline)) bool sum_floats(const e_f32 *x, size_t n, double *sum) {
    outcome out;
    v_f64 r[CHAINS];
    tally_fpenv_clear();
    UNROLL_8 for (int j = 0; j < CHAINS; j++) r[j] = (v_f64){0};
    for (size_t i = 0; i < n; i += STEP64)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            prefetch(x + i + j * W64, j * W64 * sizeof(float));
            r[j] += load_wide(x + i + j * W64);
        }
    out.rest = sum_lanes_f64(r);
    *sum = out.rest;
    return was_exact(&out);
}

/* Floats that their plain sum did not take, through the windows of doubles. */
static void add_floats_by_windows(stream *s, const e_f32 *x, size_t n) {
    for (size_t done = 0; done < n; done += BLOCK64)
        add_block(s, x + done, NULL, FLOATS, n - done < BLOCK64 ? n - done : BLOCK64);
}

typedef struct shortcut {
    int wait; /* blocks until it is tried again */
} shortcut;

static void add_block_f32(stream *s, shortcut *plain, const e_f32 *x, size_t n) {
    double sum;
    if (s->flags_work && --plain->wait < 0) {
        if (sum_floats(x, n, &sum)) {
            plain->wait = 0;
            tally_superaccumulator_deposit_value(s->accumulator, sum);
            return;
        }
        plain->wait = BLOCKS_PER_LOOK;
    }
    add_floats_by_windows(s, x, n);
}

static void add_f32(tally_superaccumulator *accumulator, const void *x, size_t n) {
    if (add_few(accumulator, x, n, TALLY_F32))
        return;
    stream s;
    shortcut plain = {0};
    const tally_fpenv caller = tally_fpenv_enter();
    begin(&s, accumulator, 24);
    count_elements(accumulator, x, n, TALLY_F32);
    const e_f32 *p = x;
    for (; n >= BLOCK32; n -= BLOCK32, p += BLOCK32)
        add_block_f32(&s, &plain, p, BLOCK32);
    if (n > 0) {
        float last[BLOCK32];
        add_block_f32(&s, &plain, last, pad(last, p, n, STEP64, sizeof(float)));
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

/* ------------------------------------------------------------------------------------ sums of f16, bf16 -- */

ALWAYS_INLINE v_f32 load_half(const e_u16 *x, const bool brain) {
    return brain ? load_f32_from_bf16(x) : load_f32_from_f16(x);
}

/* As units_f64; a lane stays below 2^22 units, so eight of them fit 32 bits. */
ALWAYS_INLINE bool units_f32(const v_f32 *level, v_f32 sigma, int64_t *units) {
    v_u32 sum = {0}, strayed = {0};
    UNROLL_8 for (int j = 0; j < CHAINS; j++) {
        sum += (v_u32)level[j] - (v_u32)sigma;
        strayed |= (v_u32)level[j] ^ (v_u32)sigma;
    }
    int64_t total = 0;
    uint32_t exponents = 0;
    for (int l = 0; l < W32; l++) {
        total += (int32_t)sum[l];
        exponents |= strayed[l];
    }
    *units = total;
    return exponents >> 23 == 0;
}

/* The lanes of floats have no bits to spare for each other: they meet as doubles. */
ALWAYS_INLINE double sum_lanes_f32(const v_f32 *r) {
    float lanes[CHAINS * W32];
    v_f64 wide[CHAINS];
    memcpy(lanes, r, sizeof lanes);
    UNROLL_8 for (int j = 0; j < CHAINS; j++) wide[j] =
        load_wide(lanes + j * W64) + load_wide(lanes + (j + CHAINS) * W64);
    return sum_lanes_f64(wide);
}

/* Two levels in floats; n is a multiple of STEP32. */
ALWAYS_INLINE bool sum_halves(const e_u16 *x, size_t n, int top, const bool brain, outcome *out) {
    v_f32 r[CHAINS], s[CHAINS];
    const v_f32 sigma = splat_f32(sigma_f32(top));
    UNROLL_8 for (int j = 0; j < CHAINS; j++) {
        s[j] = sigma;
        r[j] = (v_f32){0};
    }
#if QUIET_ADDITION
    tally_fpenv_clear();
    for (size_t i = 0; i < n; i += STEP32)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            prefetch(x + i + j * W32, j * W32 * sizeof(uint16_t));
            const v_f32 v = load_half(x + i + j * W32, brain);
            const v_f32 t = add_quietly_f32(s[j], v);
            r[j] += v - (t - s[j]);
            s[j] = t;
        }
    const v_f32 *last = s;
#else
    v_f32 sums[CHAINS + BLOCK16 / W32];
    const size_t vectors = n / W32;
    memcpy(sums, s, sizeof s);
    for (size_t i = 0; i < vectors; i += CHAINS)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            prefetch(x + (i + j) * W32, j * W32 * sizeof(uint16_t));
            s[j] += load_half(x + (i + j) * W32, brain);
            sums[CHAINS + i + j] = s[j];
        }
    __asm__ volatile("" : : "r"(sums) : "memory");
    tally_fpenv_clear();
    for (size_t i = 0; i < vectors; i += CHAINS)
        UNROLL_8 for (int j = 0; j < CHAINS; j++) {
            const v_f32 v = load_half(x + (i + j) * W32, brain);
            r[j] += v - (sums[CHAINS + i + j] - sums[i + j]);
        }
    const v_f32 *last = sums + vectors;
#endif
    out->rest = sum_lanes_f32(r);
    const bool exact = was_exact(out);
    return units_f32(last, sigma, &out->units[0]) && exact;
}

static __attribute__((noinline)) bool sum_f16(const e_u16 *x, size_t n, int top, outcome *out) {
    return sum_halves(x, n, top, false, out);
}

static __attribute__((noinline)) bool sum_bf16(const e_u16 *x, size_t n, int top, outcome *out) {
    return sum_halves(x, n, top, true, out);
}

ALWAYS_INLINE void widen_halves(const e_u16 *x, size_t n, const bool brain, float *wide) {
    for (size_t i = 0; i < n; i += W32) {
        const v_f32 v = load_half(x + i, brain);
        memcpy(wide + i, &v, sizeof v);
    }
}

/* The window in floats, and whether the data last looked at fits one. */
typedef struct half_window {
    bool fits;
    int top;
    int wait;
} half_window;

/* Units are 2^(top - 23), residuals at most half of one, and 24 bits of last sum are to reach down to 'lowest' while it
 * grows by three bits or so. Lanes want six bits above the largest value; four do for mixed signs. */
static void choose_half_window(const stream *s, half_window *w) {
    const int from_above = s->highest + LANE_BITS + 1, from_below = s->lowest + 24 + 24 - 3;
    w->top = from_below < from_above ? from_below : from_above + (from_below - from_above) / 2;
    w->fits = w->top >= s->highest + 4;
    if (w->top < from_above && w->fits)
        w->top = s->highest + 4 > from_below ? s->highest + 4 : from_below;
    if (w->top > from_above + 8)
        w->top = from_above + 8;
    if (w->top > 126 || w->top < -100)
        w->fits = false;
    w->wait = BLOCKS_PER_LOOK;
}

static void add_halves_wide(stream *s, const e_u16 *x, size_t n, bool brain) {
    float wide[BLOCK64] __attribute__((aligned(64)));
    for (size_t done = 0; done < n; done += BLOCK64) {
        const size_t part = n - done < BLOCK64 ? n - done : BLOCK64;
        if (brain)
            widen_halves(x + done, part, true, wide);
        else
            widen_halves(x + done, part, false, wide);
        add_floats_by_windows(s, wide, part);
    }
}

static void add_block_16(stream *s, half_window *w, const e_u16 *x, size_t n, bool brain) {
    outcome out;
    if (w->fits && (brain ? sum_bf16(x, n, w->top, &out) : sum_f16(x, n, w->top, &out))) {
        tally_superaccumulator_deposit(s->accumulator, out.units[0], w->top - 23);
        tally_superaccumulator_deposit_value(s->accumulator, out.rest);
        return;
    }
    const bool choose = s->flags_work && (w->fits || --w->wait < 0);
    if (choose)
        s->levels = 0; /* so that the block is looked at */
    add_halves_wide(s, x, n, brain);
    if (choose)
        choose_half_window(s, w);
}

static void add_16(tally_superaccumulator *accumulator, const void *x, size_t n, bool brain) {
    if (add_few(accumulator, x, n, brain ? TALLY_BF16 : TALLY_F16))
        return;
    stream s;
    half_window w = {false, 0, 0};
    const tally_fpenv caller = tally_fpenv_enter();
    begin(&s, accumulator, brain ? 8 : 11);
    count_elements(accumulator, x, n, brain ? TALLY_BF16 : TALLY_F16);
    const e_u16 *p = x;
    for (; n >= BLOCK16; n -= BLOCK16, p += BLOCK16)
        add_block_16(&s, &w, p, BLOCK16, brain);
    if (n > 0) {
        uint16_t last[BLOCK16];
        add_block_16(&s, &w, last, pad(last, p, n, STEP32, sizeof(uint16_t)), brain);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

static void add_f16(tally_superaccumulator *accumulator, const void *x, size_t n) {
    add_16(accumulator, x, n, false);
}

static void add_bf16(tally_superaccumulator *accumulator, const void *x, size_t n) {
    add_16(accumulator, x, n, true);
}

/* ------------------------------------------------------------------------------------ products ----------- */

static void add_products_f32(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n) {
    if (add_few_products(accumulator, x, y, n, TALLY_F32))
        return;
    stream s;
    const tally_fpenv caller = tally_fpenv_enter();
    begin(&s, accumulator, 48);
    count_products(accumulator, x, y, n, TALLY_F32);
    const e_f32 *p = x, *q = y;
    for (; n >= BLOCK64; n -= BLOCK64, p += BLOCK64, q += BLOCK64)
        add_block(&s, p, q, PRODUCTS_OF_FLOATS, BLOCK64);
    if (n > 0) {
        float last_p[BLOCK64], last_q[BLOCK64];
        const size_t padded = pad(last_p, p, n, STEP64, sizeof(float));
        pad(last_q, q, n, STEP64, sizeof(float));
        add_block(&s, last_p, last_q, PRODUCTS_OF_FLOATS, padded);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

ALWAYS_INLINE void add_products_16(tally_superaccumulator *accumulator, const e_u16 *x, const e_u16 *y, size_t n,
                                   const bool brain) {
    if (add_few_products(accumulator, x, y, n, brain ? TALLY_BF16 : TALLY_F16))
        return;
    stream s;
    float p[BLOCK64], q[BLOCK64];
    uint16_t last[BLOCK64];
    const tally_fpenv caller = tally_fpenv_enter();
    begin(&s, accumulator, brain ? 16 : 22);
    count_products(accumulator, x, y, n, brain ? TALLY_BF16 : TALLY_F16);
    for (; n >= BLOCK64; n -= BLOCK64, x += BLOCK64, y += BLOCK64) {
        widen_halves(x, BLOCK64, brain, p);
        widen_halves(y, BLOCK64, brain, q);
        add_block(&s, p, q, PRODUCTS_OF_FLOATS, BLOCK64);
    }
    if (n > 0) {
        const size_t padded = pad(last, x, n, STEP32, sizeof(uint16_t));
        widen_halves(last, padded, brain, p);
        pad(last, y, n, STEP32, sizeof(uint16_t));
        widen_halves(last, padded, brain, q);
        add_block(&s, p, q, PRODUCTS_OF_FLOATS, padded);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

static void add_products_f16(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n) {
    add_products_16(accumulator, x, y, n, false);
}

static void add_products_bf16(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n) {
    add_products_16(accumulator, x, y, n, true);
}

#if defined(__FMA__) || defined(__aarch64__)
#define HAVE_FMA 1
#else
#define HAVE_FMA 0
#endif

#if HAVE_FMA

ALWAYS_INLINE v_f64 multiply_quietly(v_f64 a, v_f64 b) {
#if QUIET_ADDITION
    return _mm512_mul_round_pd(a, b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    return a * b;
#endif
}

/* a * b - c with one rounding. */
ALWAYS_INLINE v_f64 multiply_subtract(v_f64 a, v_f64 b, v_f64 c) {
#if defined(__AVX512F__)
    return _mm512_fmsub_pd(a, b, c);
#elif defined(__FMA__)
    return _mm256_fmsub_pd(a, b, c);
#else
    v_f64 r;
    for (int l = 0; l < W64; l++)
        r[l] = __builtin_fma(a[l], b[l], -c[l]);
    return r;
#endif
}

/* Each product as its rounded value and what that lacks, side by side in 'pairs'. The flag tells of products that are
 * so small that what they lack is no double. */
static bool multiply_exactly(const e_f64 *x, const e_f64 *y, size_t n, double *pairs) {
    tally_fpenv_clear();
#if !QUIET_ADDITION
    for (size_t i = 0; i < n; i += W64) {
        const v_f64 product = load_f64_from_f64(x + i) * load_f64_from_f64(y + i);
        memcpy(pairs + 2 * i, &product, sizeof product);
    }
    __asm__ volatile("" : : "r"(pairs) : "memory");
    tally_fpenv_clear();
#endif
    for (size_t i = 0; i < n; i += W64) {
        const v_f64 a = load_f64_from_f64(x + i), b = load_f64_from_f64(y + i);
#if QUIET_ADDITION
        const v_f64 product = multiply_quietly(a, b);
        memcpy(pairs + 2 * i, &product, sizeof product);
#else
        const v_f64 product = load_f64_from_f64((const e_f64 *)pairs + 2 * i);
#endif
        const v_f64 lack = multiply_subtract(a, b, product);
        memcpy(pairs + 2 * i + W64, &lack, sizeof lack);
    }
    return !tally_fpenv_inexact(pairs);
}

#else

/* Without a fused multiply-add the integer path is as good. */
static bool multiply_exactly(const e_f64 *x, const e_f64 *y, size_t n, double *pairs) {
    (void)x, (void)y, (void)n, (void)pairs;
    return false;
}

#endif

/* A product's 106 bits go to two bins. */
static void add_products_to_bins(stream *s, const e_f64 *x, const e_f64 *y, size_t n) {
    if (n < BINS_WORTHWHILE / 2) {
        for (size_t i = 0; i < n; i++)
            tally_superaccumulator_deposit_product(s->accumulator, x[i], y[i]);
        return;
    }
    use_bins(s, BINS_OF_PRODUCTS);
    for (size_t done = 0; done < n; done += VALUES_PER_CHECK / 2) {
        const size_t end = n - done < VALUES_PER_CHECK / 2 ? n : done + VALUES_PER_CHECK / 2;
        for (size_t i = done; i < end; i++) {
            const placed p = place_of(x[i]), q = place_of(y[i]);
            if (__builtin_expect(p.finite && q.finite, 1)) {
                int64_t low;
                const int64_t high = multiply_wide(p.significand, q.significand, &low);
                s->bins[p.place + q.place] += low;
                s->bins[p.place + q.place + 53] += high;
            } else {
                tally_superaccumulator_deposit_product(s->accumulator, x[i], y[i]);
            }
        }
        check_bins(s);
    }
}

/* n is at most BLOCK64 / 2 and a multiple of STEP64. */
static void add_products_of_doubles(stream *s, const e_f64 *x, const e_f64 *y, size_t n) {
    if (s->flags_work && --s->products_wait < 0) {
        if (multiply_exactly(x, y, n, s->scratch) && add_block(s, s->scratch, NULL, DOUBLES, 2 * n)) {
            s->products_wait = 0;
            return;
        }
        s->products_wait = BLOCKS_PER_LOOK;
    }
    add_products_to_bins(s, x, y, n);
}

static void add_products_f64(tally_superaccumulator *accumulator, const void *x, const void *y, size_t n) {
    if (add_few_products(accumulator, x, y, n, TALLY_F64))
        return;
    enum { BLOCK = BLOCK64 / 2 };
    stream s;
    const tally_fpenv caller = tally_fpenv_enter();
    begin(&s, accumulator, 53);
    s.pairs = true;
    count_products(accumulator, x, y, n, TALLY_F64);
    const e_f64 *p = x, *q = y;
    for (; n >= BLOCK; n -= BLOCK, p += BLOCK, q += BLOCK)
        add_products_of_doubles(&s, p, q, BLOCK);
    if (n > 0) {
        double last_p[BLOCK], last_q[BLOCK];
        const size_t padded = pad(last_p, p, n, STEP64, sizeof(double));
        pad(last_q, q, n, STEP64, sizeof(double));
        add_products_of_doubles(&s, last_p, last_q, padded);
    }
    empty_bins(&s);
    tally_fpenv_leave(&caller);
}

/* ------------------------------------------------------------------------------------ a few values ------- */

/* a + b exactly, as the rounded sum and what it lacks, whichever is larger (Knuth). */
ALWAYS_INLINE double two_sum(double a, double b, double *lack) {
    const double sum = a + b, b_part = sum - a;
    *lack = (a - (sum - b_part)) + (b - b_part);
    return sum;
}

/* Two cascaded sums; what the second lacks must be nothing. Takes no window and no flag. */
ALWAYS_INLINE bool small_total(const void *x, const void *y, size_t n, const tally_dtype type,
                               tally_exact_pair *total) {
    double high = n > 0 ? -0.0 : 0.0, low = 0;
    bool exact = true;
    for (size_t i = 0; i < n; i++) {
        double value = value_at(x, i, type), lack, lost;
        if (y) {
            const double factor = value, other = value_at(y, i, type);
            value = factor * other;
            if (type == TALLY_F64) {
#if HAVE_FMA
                /* Far from where what a product lacks could underflow; a true zero is fine. */
                const double magnitude = __builtin_fabs(value);
                exact &= magnitude > 0x1p-900 || factor == 0 || other == 0;
                low = two_sum(low, __builtin_fma(factor, other, -value), &lost);
                exact &= lost == 0;
#else
                return false;
#endif
            }
        }
        high = two_sum(high, value, &lack);
        low = two_sum(low, lack, &lost);
        exact &= lost == 0;
    }
    total->high = low == 0 ? high : two_sum(high, low, &total->low);
    if (low == 0)
        total->low = 0;
    return exact && total->high - total->high == 0;
}

/* ------------------------------------------------------------------------------------ the table ---------- */

#define DEFINE_SMALL(tag, type)                                                                                        \
    static bool small_sum_##tag(const void *x, size_t n, tally_exact_pair *sum) {                                      \
        return small_total(x, NULL, n, type, sum);                                                                     \
    }                                                                                                                  \
    static bool small_products_##tag(const void *x, const void *y, size_t n, tally_exact_pair *sum) {                  \
        return small_total(x, y, n, type, sum);                                                                        \
    }
DEFINE_SMALL(f16, TALLY_F16)
DEFINE_SMALL(bf16, TALLY_BF16)
DEFINE_SMALL(f32, TALLY_F32)
DEFINE_SMALL(f64, TALLY_F64)

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

const tally_exact_kernels PASTE2(tally_exact_kernels_, TALLY_LEVEL) = {
    .level = STRING(TALLY_LEVEL),
    .f16 = {add_f16, add_products_f16, small_sum_f16, small_products_f16},
    .bf16 = {add_bf16, add_products_bf16, small_sum_bf16, small_products_bf16},
    .f32 = {add_f32, add_products_f32, small_sum_f32, small_products_f32},
    .f64 = {add_f64, add_products_f64, small_sum_f64, small_products_f64},
};
