/* What an exact sum carries from block to block, and the bins for values that fit no window. exact.c explains the idea.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_BINS_H
#define TALLY_CPU_KERNELS_EXACT_BINS_H

#include <string.h>

#include "cpu/fpenv.h"
#include "cpu/kernels/exact.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

/* ------------------------------------------------------------------------------------ constants ---------- */

#if defined(__FMA__) || defined(__aarch64__)
#define HAVE_FMA 1
#else
#define HAVE_FMA 0
#endif

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
    /* Values per block. Small enough that a block which must be done again is still in cache and that a lane takes at
     * most 2^6 values; large enough that emptying the lanes (60 ns) is negligible. Without quiet additions the running
     * sums are kept as well, and both must fit L1. */
    BLOCK64 = QUIET_ADDITION ? 4096 : 1024,
    BLOCK32 = QUIET_ADDITION ? 4096 : 2048, /* of f32 summed as doubles */
    BLOCK16 = QUIET_ADDITION ? 8192 : 2048, /* of f16 and bf16 summed as floats */
    LANE_BITS = 6,
    /* How far ahead lines are prefetched, in bytes. The processor's own prefetcher loses the stride while lanes are
     * emptied: from memory f64 ran at 0.58 of a plain sum without this, at 0.94 with 1024, and at 0.79 with 4096. */
    PREFETCH_AHEAD = 1024
};
_Static_assert(BLOCK64 / STEP64 <= 1 << LANE_BITS, "a lane of doubles takes too many values");
_Static_assert(BLOCK16 / STEP32 <= 1 << LANE_BITS, "a lane of floats takes too many values");

enum {
    /* |x| < 2^E, so 2^6 of them stay within the half binade on either side of S = 1.5 * 2^top if top >= E + 7.
     * Residuals are at most 2^(top - 53), so the next level may be 53 - 7 bits below. */
    HEADROOM = LANE_BITS + 1,
    BITS_PER_LEVEL = 53 - HEADROOM,
    /* Bits from the largest value to the smallest unit that two levels take, if the last sum grows as random residuals
     * do. If it grows more, the flag says so. */
    SPAN_OF_TWO = 2 * 53 - HEADROOM - 8,
    LEVELS_FUSED = 3, /* in registers, in one pass */
    LEVELS_MAX = 9,   /* at 0.08 ns per value and level, the bins are faster from here on */
    FEW_VALUES = 16,  /* 3 ns each by integers */
    FEW_PRODUCTS = 8,
    BLOCKS_PER_LOOK = 16, /* how long a wide window or a failed shortcut is remembered */
    TOP_MAX = 1022,       /* of a double's window: 1.5 * 2^top and its next binade are finite */
    TOP_MIN = -979        /* 2^(top - 53) and sums of residuals reach down to 2^-1074 from here */
};

/* ------------------------------------------------------------------------------------ bins --------------- */

/* Integer bins, one for each exponent: any value costs one addition there. A bin takes 2^9 values of 53 bits from below
 * 2^62 without overflow, so all bins are checked after that many, which costs 0.2 ns per value. Doubles begin at
 * 2^-1074; products of two doubles, as two halves of 53 bits, at 2^-2148. */
enum {
    BINS_OF_VALUES = 2046,
    BINS_OF_PRODUCTS = 2 * 2045 + 53 + 1,
    BINS = (BINS_OF_PRODUCTS + STEP64 - 1) / STEP64 * STEP64,
    VALUES_PER_CHECK = 512,
    /* Below this many values, clearing and emptying the bins costs more than adding each value to the limbs. */
    BINS_WORTHWHILE = 1024
};

/* The state that a call carries from block to block. */
typedef struct stream {
    tally_superaccumulator *accumulator;
    int significand; /* bits of a value's significand: narrow types have narrow windows */
    bool flags_work; /* the inexact flag works (on some emulators it does not) */
    bool pairs; /* the blocks are rounded products and their errors: infinities may be overflows, and wide ranges are
                   better computed from the factors */
    int levels; /* of the window that the last block had, 0 for none */
    int top;
    int products_wait;   /* blocks until products of doubles are tried as pairs again */
    int until_look;      /* blocks until a wide window or a failed shortcut is tried again */
    int highest, lowest; /* of the block that was examined last: |x| < 2^highest, and all are multiples of 2^lowest */
    int bins_used;       /* number of bins, a multiple of W64 */
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

/* Empties the bins unless all of them have room for that many more values. */
static void check_bins(stream *s) {
    v_i64 magnitudes = {0};
    for (int i = 0; i < s->bins_used; i += W64) {
        const v_i64 bin = (v_i64)load_f64_from_f64((const e_f64 *)(const void *)(s->bins + i));
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

ALWAYS_INLINE placed placed_of(double x) {
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
            const placed p = placed_of(x[i]);
            if (__builtin_expect(p.finite, 1))
                s->bins[p.place] += p.significand;
            else
                tally_superaccumulator_deposit_value(s->accumulator, x[i]);
        }
        check_bins(s);
    }
}

#endif
