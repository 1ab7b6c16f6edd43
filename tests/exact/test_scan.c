/* Every exact scan of every instruction-set level gives what MPFR rounds from big integers, prefix by prefix: for all
 * kinds of data and pairs of types, in both directions, inclusive and exclusive, in place, from nothing, from a pair
 * and from limbs; and where prefixes lie on ties between two results, or next to them by the smallest number there is.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernels/exact.h"
#include "levels.h"
#include "oracle.h"

/* Sizes around vectors and blocks. */
static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1023, 1024, 1025, 1500, 2048, 3001};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 5000 };

static unsigned char input[LARGEST * 8 + 64], output[LARGEST * 8 + 64];
static uint64_t expected[LARGEST + 1];

typedef struct scan_case {
    const float_format *in, *out;
    const char *data;
    uint64_t seed;
    size_t n, before; /* elements; and how many are in the state that the scan starts from */
    bool reverse, exclusive, in_place;
} scan_case;

static tally_exact_layout layout_of(const scan_case *c) {
    return c->in->type == TALLY_F64 || c->out->type == TALLY_F64 ? TALLY_LAYOUT_SUM_F64 : TALLY_LAYOUT_SUM_F32;
}

/* In the order of the scan the state's elements come first. In memory they stand before the others, or behind them. */
static void expect(const scan_case *c, const unsigned char *x) {
    oracle_sum sum;
    oracle_init(&sum, c->in, false);
    for (size_t k = 0; k <= c->before + c->n; k++) {
        if (k >= c->before)
            expected[k - c->before] = oracle_round(&sum, ORACLE_SUM, c->out);
        if (k < c->before + c->n)
            oracle_add(&sum, c->in, x + (c->reverse ? c->before + c->n - 1 - k : k) * c->in->size, 1);
    }
    oracle_clear(&sum);
}

static void start(const scan_case *c, const tally_exact_type_kernels *kernels, const unsigned char *x,
                  tally_exact_state *state) {
    state->holds = TALLY_HOLDS_NOTHING;
    if (c->before == 0)
        return;
    if (c->before <= TALLY_EXACT_SMALL && kernels->small_sum(x, c->before, &state->pair)) {
        state->holds = TALLY_HOLDS_PAIR;
        state->pair_count = c->before;
        return;
    }
    tally_exact_to_limbs(state, layout_of(c));
    kernels->add(&state->limbs, x, c->before);
}

static void check_level(const scan_case *c, const unsigned char *x, const tally_exact_kernels *level) {
    static unsigned char copy[sizeof input];
    const tally_exact_type_kernels *kernels = tally_exact_of_type(level, c->in->type);
    const tally_cpu_scan_options options = {c->reverse, c->exclusive, (c->seed & 2) != 0, 0};
    const tally_exact_scan how = {options, layout_of(c), c->out->type, true};
    tally_exact_state state;
    unsigned char *out = output + c->seed % 5 * c->out->size;
    memcpy(copy, x, (c->n + c->before) * c->in->size);
    const unsigned char *first = copy + (c->reverse ? 0 : c->before * c->in->size);
    if (c->in_place)
        out = (unsigned char *)first;
    start(c, kernels, copy + (c->reverse ? c->n * c->in->size : 0), &state);
    kernels->scan(&how, first, c->n, &state, out);
    uint64_t after = 0;
    tally_exact_to_limbs(&state, layout_of(c));
    tally_round_sum(&state.limbs, c->out->type, &after);
    if (oracle_load(c->out, &after, 0) != expected[c->n])
        fail_msg("level %s, %s to %s, %s, seed %llu, n %zu after %zu: the state that is kept", level->level,
                 c->in->name, c->out->name, c->data, (unsigned long long)c->seed, c->n, c->before);
    for (size_t i = 0; i < c->n; i++) {
        const size_t k = c->reverse ? c->n - 1 - i : i;
        const uint64_t want = expected[k + !c->exclusive], got = oracle_load(c->out, out, i);
        if (got != want)
            fail_msg("level %s, %s to %s, %s, seed %llu, n %zu after %zu%s%s%s: result %zu is %llx, not %llx",
                     level->level, c->in->name, c->out->name, c->data, (unsigned long long)c->seed, c->n, c->before,
                     c->reverse ? ", reverse" : "", c->exclusive ? ", exclusive" : "", c->in_place ? ", in place" : "",
                     i, (unsigned long long)got, (unsigned long long)want);
    }
}

static void check(scan_case c, const unsigned char *x) {
    expect(&c, x);
    for (int l = 0; l < levels_count(); l++)
        check_level(&c, x, levels_at(l));
}

/* Direction, form, place and beginning from the seed. */
static void check_some(const float_format *in, const float_format *out, const char *data, uint64_t seed, size_t n,
                       const unsigned char *x) {
    uint64_t r = seed;
    const uint64_t bits = oracle_random(&r);
    const size_t before = bits >> 3 & 1 ? oracle_random(&r) % (bits >> 4 & 1 ? 9 : n) : 0;
    check((scan_case){in, out, data, seed, n - (before < n ? before : 0), before < n ? before : 0, bits & 1,
                      bits >> 1 & 1, (bits >> 2 & 1) != 0 && in->size == out->size},
          x);
}

static void all_kinds_types_and_sizes(void **unused) {
    (void)unused;
    for (int in = 0; in < FORMATS; in++)
        for (int out = 0; out < FORMATS; out++)
            for (int kind = 0; kind < DATA_KINDS; kind++)
                for (size_t s = 0; s < SIZES; s++) {
                    const uint64_t seed = (uint64_t)(((in * FORMATS + out) * DATA_KINDS + kind) * SIZES) + s;
                    if (in != out && s % 5 != (size_t)kind % 5)
                        continue;
                    oracle_generate(&float_formats[in], kind, seed, input, sizes[s]);
                    check_some(&float_formats[in], &float_formats[out], oracle_kind_name(kind), seed, sizes[s], input);
                }
}

static void every_direction_and_form(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (int kind = 0; kind < DATA_KINDS; kind++)
            for (int how = 0; how < 8; how++) {
                const size_t n = 1200 + (size_t)how;
                oracle_generate(&float_formats[f], kind, (uint64_t)how, input, n);
                check((scan_case){&float_formats[f], &float_formats[f], oracle_kind_name(kind), (uint64_t)how, n, 0,
                                  how & 1, how >> 1 & 1, how >> 2 & 1},
                      input);
            }
}

static int exponent_from(uint64_t *r, int low, int high) {
    return low + (int)(oracle_random(r) % (uint64_t)(high - low + 1));
}

/* Prefixes that go up to a number of 'precision' bits, then on a tie, to either side of it by 'little', and down again.
 * All elements are numbers of the input's type. Of some seeds they span so few bits that two integers take them. */
static size_t fill_with_ties(const float_format *in, int precision, int lowest, int highest, uint64_t seed,
                             double *values) {
    size_t n = 0;
    uint64_t r = seed;
    const int least = in->lowest + precision + 2 > lowest ? in->lowest + precision + 2 : lowest;
    for (; n < seed % 8; n++) /* so that blocks end anywhere between a number and the way back */
        values[n] = 0;
    while (n + 9 < LARGEST) {
        const int exponent = exponent_from(&r, least, highest);
        const uint64_t significand = (UINT64_C(1) << (precision - 1)) | oracle_random(&r) >> (65 - precision);
        const double number = ldexp((double)significand, exponent - precision + 1);
        const int below = exponent - precision - 1, close = seed % 4 == 1 ? 30 : 60;
        const int near = below - close > in->lowest ? below - close : in->lowest;
        const double half = ldexp(1, exponent - precision);
        const double little =
            ldexp(1, exponent_from(&r, close == 30 || oracle_random(&r) & 1 ? near : in->lowest, below));
        const double steps[] = {number, half, little, -little, -little, little, -half, -number};
        const double sign = oracle_random(&r) & 1 ? -1 : 1;
        const size_t stay = oracle_random(&r) % 4 == 0 ? 6 : 8; /* sometimes on the tie */
        for (size_t k = 0; k < stay; k++)
            values[n++] = sign * steps[k];
        if (stay == 6)
            values[n++] = -sign * half, values[n++] = -sign * number;
    }
    return n;
}

static void encode(const float_format *f, double value, size_t i) {
    oracle_sum sum;
    unsigned char bytes[8];
    memcpy(bytes, &value, sizeof value);
    oracle_init(&sum, &float_formats[FORMATS - 1], false);
    oracle_add(&sum, &float_formats[FORMATS - 1], bytes, 1);
    oracle_store(f, input, i, oracle_round(&sum, ORACLE_SUM, f));
    oracle_clear(&sum);
}

static void prefixes_on_and_beside_ties(void **unused) {
    (void)unused;
    static double values[LARGEST];
    for (int in = 0; in < FORMATS; in++)
        for (int out = 0; out < FORMATS; out++)
            for (uint64_t seed = 0; seed < 24; seed++) {
                const float_format *from = &float_formats[in], *to = &float_formats[out];
                const int precision =
                    to->fraction_bits < from->fraction_bits ? to->fraction_bits + 1 : from->fraction_bits + 1;
                const int top = (1 << (from->exponent_bits - 1)) - 2, spread = seed % 4 == 1 ? 1 : 1 << (seed % 12);
                const int middle = seed % 3 == 0   ? 0
                                   : seed % 3 == 1 ? top - spread
                                                   : from->lowest + spread + 2 * precision;
                const int low =
                    middle - spread > from->lowest + precision + 2 ? middle - spread : from->lowest + precision + 2;
                const int high = middle + spread < top ? middle + spread : top;
                if (low > high)
                    continue;
                const size_t n = fill_with_ties(from, precision, low, high, seed, values);
                for (size_t i = 0; i < n; i++)
                    encode(from, values[i], i);
                check_some(from, to, "ties", seed, n, input);
            }
}

/* A tiny element in the first block, and then only elements of one binade, of which every second sum is a tie: what
 * came before decides how it rounds. */
static void ties_after_a_tiny_beginning(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (uint64_t seed = 0; seed < 32; seed++) {
            const float_format *format = &float_formats[f];
            const int lowest = format->lowest > -100 ? format->lowest : -100;
            uint64_t r = seed;
            for (size_t i = 0; i < LARGEST; i++)
                encode(format, i == 0 ? ldexp(seed & 1 ? -1 : 1, lowest) : 0, i);
            const double sign = seed & 2 ? -1 : 1;
            encode(format, sign, 1023);
            for (size_t i = 1024; i + 2 <= LARGEST; i += 2) { /* between 1 and a little above 2 */
                const double step = 1 + ldexp(1 + 2 * (double)(oracle_random(&r) % 8), -format->fraction_bits);
                encode(format, sign * step, i);
                encode(format, -sign * step, i + 1);
            }
            check_some(format, format, "ties after a tiny beginning", seed, LARGEST, input);
        }
}

/* A block of equal elements, whose sum is much larger than that of as many with either sign. Half a unit and a tiny
 * number before them make every second prefix from 512 on a tie, or one but for the tiny number. */
static void prefixes_that_grow(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (uint64_t seed = 0; seed < 64; seed++) {
            const float_format *format = &float_formats[f];
            const double sign = seed & 1 ? -1 : 1, tilt = seed & 2 ? -1 : 1;
            const size_t n = 1024 * (1 + seed % 3);
            const bool reverse = seed & 4;
            for (size_t i = 0; i < n; i++) {
                const double value = i == 0   ? ldexp(1, 8 - format->fraction_bits)
                                     : i == 1 ? ldexp(tilt, -38 - (int)(seed / 8))
                                              : 1;
                encode(format, sign * value, reverse ? n - 1 - i : i);
            }
            check((scan_case){format, format, "growing prefixes", seed, n, 0, reverse, false, false}, input);
        }
}

/* After some 2^40, some hundred elements are each a little less than half of a unit, so that integers may not see them.
 * They decide about a tie; or a prefix is next to a tie, in bits that a float does not have; or it is small. */
static void rests_that_add_up(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (uint64_t seed = 0; seed < 128; seed++) {
            const float_format *format = &float_formats[f];
            const int unit = -8 - (int)(seed % 16);
            if (format->exponent_bits < 8)
                continue;
            uint64_t r = seed;
            const double sign = oracle_random(&r) & 1 ? -1 : 1, start = ldexp(1, 40), offset = ldexp(1, 10);
            const double rest = sign * ldexp(1 - ldexp(1, -format->fraction_bits), unit - 1);
            for (size_t i = 0; i < LARGEST; i++)
                encode(format, i == 0 ? start : i == 1 ? offset : 0, i);
            for (size_t block = 1024; block + 1024 <= LARGEST; block += 1024) {
                const size_t count = 300 + oracle_random(&r) % 150;
                const double tie = sign * ldexp(1, 39 - format->fraction_bits);
                const double below = -sign * ldexp((double)(oracle_random(&r) % 256), unit);
                const double beside = sign * ldexp(1, exponent_from(&r, unit + 8, 12));
                const double steps[3][3] = {{tie, below, -offset}, {tie, beside, -offset}, {-start, 0, 0}};
                const double *const chosen = steps[oracle_random(&r) % 3];
                for (size_t k = 0; k < count; k++) {
                    encode(format, rest, block + k);
                    encode(format, -rest, block + 1023 - k);
                }
                for (size_t k = 0; k < 3; k++) {
                    encode(format, chosen[k], block + count + k);
                    encode(format, -chosen[k], block + 1023 - count - k);
                }
            }
            check_some(format, format, "rests that add up", seed, LARGEST, input);
        }
}

/* Long runs in one direction, so that the state's limbs are needed after many certain blocks. */
static void rare_ties_in_long_arrays(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (uint64_t seed = 0; seed < 40; seed++) {
            const float_format *format = &float_formats[f];
            uint64_t r = seed;
            oracle_generate(format, seed & 1 ? 19 : 2, seed, input, LARGEST);
            for (int k = 0; k < 6; k++) { /* some elements are moved to where their sum cancels */
                const size_t i = oracle_random(&r) % (LARGEST - 1);
                const uint64_t sign = UINT64_C(1) << (format->size * 8 - 1);
                oracle_store(format, input, i + 1, oracle_load(format, input, i) ^ sign);
            }
            check_some(format, format, "long", seed, LARGEST, input);
        }
}

/* Infinities and NaNs far behind each other. */
static void specials_in_later_blocks(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (uint64_t seed = 0; seed < 12; seed++) {
            const float_format *format = &float_formats[f];
            const uint64_t infinity = ((UINT64_C(1) << format->exponent_bits) - 1) << format->fraction_bits;
            const uint64_t sign = UINT64_C(1) << (format->size * 8 - 1);
            oracle_generate(format, 1, seed, input, LARGEST);
            oracle_store(format, input, 700 + 31 * seed, infinity | (seed & 1 ? sign : 0));
            if (seed % 3 > 0)
                oracle_store(format, input, 3300 + 111 * seed, infinity | (seed & 1 ? 0 : sign));
            if (seed % 3 > 1)
                oracle_store(format, input, 4950, infinity | 1);
            check_some(format, format, "specials", seed, LARGEST, input);
        }
}

static void hostile_environments(void **unused) {
    (void)unused;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t m = 0; m < 3; m++)
        for (int f = 0; f < FORMATS; f++) {
            oracle_generate(&float_formats[f], 2, m, input, 2000);
            scan_case c = {&float_formats[f], &float_formats[f], "20 exponents", m, 2000, 0, false, false, false};
            expect(&c, input);
            fesetround(modes[m]);
            for (int l = 0; l < levels_count(); l++)
                check_level(&c, input, levels_at(l));
            assert_int_equal(fegetround(), modes[m]);
            fesetround(FE_TONEAREST);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_types_and_sizes),   cmocka_unit_test(every_direction_and_form),
        cmocka_unit_test(prefixes_on_and_beside_ties), cmocka_unit_test(ties_after_a_tiny_beginning),
        cmocka_unit_test(rare_ties_in_long_arrays),    cmocka_unit_test(specials_in_later_blocks),
        cmocka_unit_test(prefixes_that_grow),          cmocka_unit_test(hostile_environments),
        cmocka_unit_test(rests_that_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
