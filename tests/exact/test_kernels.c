/* Every exact kernel of every instruction-set level gives the limbs that big integers give: for all kinds of data, all
 * sizes around a threshold, any alignment, and in a hostile floating-point environment of the caller.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/fpenv.h"
#include "cpu/kernels/exact.h"
#include "levels.h"
#include "oracle.h"

/* Sizes around the vectors, the steps, the blocks and the small kernels' limit. */
static const size_t sizes[] = {0,    1,    2,    3,    4,    7,    8,    9,    15,   16,   17,    31,    32,    33,
                               63,   64,   65,   127,  128,  129,  255,  256,  257,  511,  513,   1000,  1023,  1024,
                               1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 16383, 16385, 20011};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 20011 };

/* Two arrays with room to be misaligned. */
static unsigned char memory_x[LARGEST * 8 + 64], memory_y[LARGEST * 8 + 64];

static const tally_exact_type_kernels *kernels_of(const tally_exact_kernels *level, const float_format *f) {
    return tally_exact_of_type(level, f->type);
}

static void fail_with(const char *what, const tally_exact_kernels *level, const float_format *f, int kind,
                      uint64_t seed, size_t n) {
    fail_msg("%s: level %s, %s, %s, seed %llu, n %zu", what, level->level, f->name, oracle_kind_name(kind),
             (unsigned long long)seed, n);
}

/* A small kernel's sum, where there is one. */
static void check_pair(const char *what, tally_exact_pair pair, const oracle_sum *sum, const tally_exact_kernels *level,
                       const float_format *f, int kind, uint64_t seed, size_t n) {
    for (int out = 0; out < FORMATS; out++) {
        uint64_t bits = 0;
        tally_round_pair(pair, float_formats[out].type, &bits);
        if (oracle_load(&float_formats[out], &bits, 0) != oracle_round(sum, ORACLE_SUM, &float_formats[out]))
            fail_with(what, level, f, kind, seed, n);
    }
}

/* At every level: big integers take longer than the kernels, and are asked once. */
static void check_sum(const float_format *f, int kind, uint64_t seed, size_t n, const void *x) {
    oracle_sum sum;
    oracle_init(&sum, f, false);
    oracle_add(&sum, f, x, n);
    for (int l = 0; l < levels_count(); l++) {
        const tally_exact_kernels *level = levels_at(l);
        tally_superaccumulator state;
        tally_superaccumulator_init(&state, tally_exact_layout_of(f->type, false));
        kernels_of(level, f)->add(&state, x, n);
        if (!oracle_agrees(&sum, &state))
            fail_with("sum", level, f, kind, seed, n);
        tally_exact_pair pair;
        if (n <= TALLY_EXACT_SMALL && kernels_of(level, f)->small_sum(x, n, &pair))
            check_pair("small sum", pair, &sum, level, f, kind, seed, n);
    }
    oracle_clear(&sum);
}

static void check_products(const float_format *f, int kind, uint64_t seed, size_t n, const void *x, const void *y) {
    oracle_sum sum;
    oracle_init(&sum, f, true);
    oracle_add_products(&sum, f, x, y, n);
    for (int l = 0; l < levels_count(); l++) {
        const tally_exact_kernels *level = levels_at(l);
        tally_superaccumulator state;
        tally_superaccumulator_init(&state, tally_exact_layout_of(f->type, true));
        kernels_of(level, f)->add_products(&state, x, y, n);
        if (!oracle_agrees(&sum, &state))
            fail_with("products", level, f, kind, seed, n);
        tally_exact_pair pair;
        if (n <= TALLY_EXACT_SMALL && kernels_of(level, f)->small_products(x, y, n, &pair))
            check_pair("small products", pair, &sum, level, f, kind, seed, n);
    }
    oracle_clear(&sum);
}

static void check(const float_format *f, int kind, uint64_t seed, size_t n, size_t misalignment) {
    void *x = memory_x + misalignment, *y = memory_y + misalignment / 2;
    oracle_generate(f, kind, seed, x, n);
    oracle_generate(f, (int)(seed % DATA_KINDS), seed + 1, y, n);
    check_sum(f, kind, seed, n, x);
    check_products(f, kind, seed, n, x, x);
    check_products(f, kind, seed, n, x, y);
}

static void all_kinds_and_sizes(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (int kind = 0; kind < DATA_KINDS; kind++)
            for (int s = 0; s < SIZES; s++)
                check(&float_formats[f], kind, (uint64_t)(kind * 1000 + s), sizes[s], 0);
}

static void many_small_arrays(void **unused) {
    (void)unused;
    uint64_t r = 1;
    for (int i = 0; i < 20000; i++) {
        const uint64_t a = oracle_random(&r);
        check(&float_formats[a % FORMATS], (int)(a >> 8 & 0xff) % DATA_KINDS, a >> 16, (a >> 40) % 150, 0);
    }
}

static void window_edges(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (uint64_t span = 0; span < 140; span++)
            check(&float_formats[f], 15, span, 2 * 4096 + 5, 0);
}

/* As many equal maxima as a lane takes, of one sign, beside values at every distance. */
static void full_lanes(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (uint64_t seed = 0; seed < (f < 3 ? 600 : 1800); seed += seed % 3 == 1 ? 1 : 2)
            check(&float_formats[f], 9 + (int)(seed / 3 % 2), seed, 4096, 0);
}

static void misaligned_starts(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++)
        for (size_t misalignment = 1; misalignment < 64; misalignment += f < 2 ? 1 : 3)
            check(&float_formats[f], 1, misalignment, 4096 + 77, misalignment);
}

/* Each special at every lane of a block's head and of its tail. */
static void specials_at_every_position(void **unused) {
    (void)unused;
    for (int f = 0; f < FORMATS; f++) {
        const float_format *format = &float_formats[f];
        const uint64_t infinity = ((UINT64_C(1) << format->exponent_bits) - 1) << format->fraction_bits;
        const uint64_t sign = UINT64_C(1) << (format->exponent_bits + format->fraction_bits);
        const uint64_t specials[] = {infinity, infinity | sign, infinity | 1, sign};
        const size_t n = 1024 + 131;
        for (size_t at = 0; at < n; at = at == 140 ? 1010 : at + 1)
            for (int s = 0; s < 4; s++) {
                oracle_generate(format, 0, at, memory_x, n);
                oracle_store(format, memory_x, at, specials[s]);
                check_sum(format, 0, at, n, memory_x);
                check_products(format, 0, at, n, memory_x, memory_x);
            }
    }
}

/* All pairs of f16 values, a row of 2^16 at a time: the sum of two is the correctly rounded one. */
static void all_pairs_of_f16(void **unused) {
    (void)unused;
    const float_format *f = &float_formats[0];
    const tally_exact_type_kernels *kernels = tally_exact_of_type(levels_at(levels_count() - 1), TALLY_F16);
    /* Doubles hold every sum of two; their rounding to f16 is checked elsewhere against MPFR, and here independently by
     * comparing distances to the neighbours. */
    static double value[65536];
    for (unsigned i = 0; i < 65536; i++) {
        const unsigned field = i >> 10 & 31, fraction = i & 1023;
        double v = field ? (fraction | 1024) * 0x1p-25 : fraction * 0x1p-24;
        for (unsigned e = 0; e < field; e++)
            v *= 2;
        value[i] = i >> 15 ? -v : v;
    }
    (void)f;
    for (unsigned i = 0; i < 65536; i++) {
        if ((i >> 10 & 31) == 31)
            continue;
        for (unsigned j = i; j < 65536; j += i % 64 == 0 ? 1 : 61) {
            if ((j >> 10 & 31) == 31)
                continue;
            const uint16_t pair[2] = {(uint16_t)i, (uint16_t)j};
            tally_exact_pair sum;
            uint16_t rounded;
            assert_true(kernels->small_sum(pair, 2, &sum));
            tally_round_pair(sum, TALLY_F16, &rounded);
            const double exact = value[i] + value[j], size = exact < 0 ? -exact : exact;
            const unsigned magnitude = rounded & 0x7fff;
            if (magnitude == 0x7c00) {
                assert_true(size >= 65520);
                continue;
            }
            const double got = value[magnitude], above = magnitude == 0x7bff ? 65536 : value[magnitude + 1];
            const double below = magnitude == 0 ? -1 : value[magnitude - 1];
            assert_true(magnitude & 1 ? size - got < above - size && got - size < size - below
                                      : size - got <= above - size && got - size <= size - below);
            assert_int_equal(rounded >> 15, exact < 0 || (exact == 0 && i == 0x8000 && j == 0x8000));
        }
    }
}

#if defined(__x86_64__)
static void set_modes(uint32_t modes) {
    uint32_t control;
    __asm__ volatile("stmxcsr %0" : "=m"(control));
    control = (control & ~UINT32_C(0xe040)) | modes;
    __asm__ volatile("ldmxcsr %0" : : "m"(control));
}

static uint32_t get_control(void) {
    uint32_t control;
    __asm__ volatile("stmxcsr %0" : "=m"(control));
    return control;
}
#endif

/* Flushing to zero, denormals as zeros and each direction of rounding in the caller change nothing, and are still there
 * afterwards, with the exception flags as they were. */
#if defined(__x86_64__)
static void check_environment(uint32_t modes, const tally_exact_kernels *level, const float_format *format, int kind,
                              size_t n, const oracle_sum *sum, const oracle_sum *products) {
    tally_superaccumulator state, product_state;
    tally_superaccumulator_init(&state, tally_exact_layout_of(format->type, false));
    tally_superaccumulator_init(&product_state, tally_exact_layout_of(format->type, true));
    const uint32_t plain = get_control();
    set_modes(modes);
    const uint32_t before = get_control();
    kernels_of(level, format)->add(&state, memory_x, n);
    kernels_of(level, format)->add_products(&product_state, memory_x, memory_x, n);
    const uint32_t after = get_control();
    __asm__ volatile("ldmxcsr %0" : : "m"(plain));
    assert_int_equal(before, after);
    if (!oracle_agrees(sum, &state) || !oracle_agrees(products, &product_state))
        fail_with("hostile environment", level, format, kind, modes, n);
}
#endif

static void hostile_environments(void **unused) {
    (void)unused;
#if defined(__x86_64__)
    static const uint32_t modes[] = {0x8040, 0x8000, 0x0040, 0x2000, 0x4000, 0x6000, 0xe040};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (int f = 0; f < FORMATS; f++)
            for (int kind = 0; kind < DATA_KINDS; kind++) {
                const float_format *format = &float_formats[f];
                const size_t n = 4096 + 333;
                oracle_sum sum, products;
                oracle_generate(format, kind, m, memory_x, n);
                oracle_init(&sum, format, false);
                oracle_init(&products, format, true);
                oracle_add(&sum, format, memory_x, n);
                oracle_add_products(&products, format, memory_x, memory_x, n);
                for (int l = 0; l < levels_count(); l++)
                    check_environment(modes[m], levels_at(l), format, kind, n, &sum, &products);
                oracle_clear(&sum);
                oracle_clear(&products);
            }
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_and_sizes),
        cmocka_unit_test(many_small_arrays),
        cmocka_unit_test(window_edges),
        cmocka_unit_test(full_lanes),
        cmocka_unit_test(misaligned_starts),
        cmocka_unit_test(all_pairs_of_f16),
        cmocka_unit_test(specials_at_every_position),
        cmocka_unit_test(hostile_environments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
