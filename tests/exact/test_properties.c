/* What a sum without rounding must satisfy, limb by limb: any order, any split and any tree of merges give one state; a
 * negated input gives the negated state; scaling by a power of two shifts it; x and -x together give zero. Also that
 * normalising and merging move every carry.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact/round.h"
#include "levels.h"
#include "oracle.h"

enum { N = 10000, KINDS_HERE = DATA_KINDS };
static uint64_t x[N], y[N], z[2 * N];

static bool same(tally_superaccumulator *a, tally_superaccumulator *b) {
    tally_superaccumulator_normalise(a);
    tally_superaccumulator_normalise(b);
    return a->count == b->count && a->nans == b->nans && a->positive_infinities == b->positive_infinities &&
           a->negative_infinities == b->negative_infinities && (a->others != 0) == (b->others != 0) &&
           memcmp(a->limbs, b->limbs, (size_t)a->limb_count * sizeof a->limbs[0]) == 0;
}

static void add(tally_superaccumulator *state, int level, const float_format *f, const void *values, size_t n) {
    tally_exact_of_type(levels_at(level), f->type)->add(state, values, n);
}

static void sum_of(tally_superaccumulator *state, int level, const float_format *f, const void *values, size_t n) {
    tally_superaccumulator_init(state, tally_exact_layout_of(f->type, false));
    add(state, level, f, values, n);
}

static bool is_zero(const tally_superaccumulator *state) {
    tally_magnitude magnitude;
    tally_superaccumulator_magnitude(state, &magnitude);
    return magnitude.count == 0;
}

/* Calls a property for all kinds of data, types and levels. */
static void for_all(void (*property)(const float_format *f, int kind, int level, size_t n)) {
    for (int f = 0; f < FORMATS; f++)
        for (int kind = 0; kind < KINDS_HERE; kind++)
            for (int level = 0; level < levels_count(); level++) {
                property(&float_formats[f], kind, level, 100);
                property(&float_formats[f], kind, level, N - 77);
            }
}

static void permuted(const float_format *f, int kind, int level, size_t n) {
    tally_superaccumulator a, b;
    uint64_t r = (uint64_t)kind;
    oracle_generate(f, kind, n, x, n);
    sum_of(&a, level, f, x, n);
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = oracle_random(&r) % (i + 1);
        const uint64_t one = oracle_load(f, x, i), other = oracle_load(f, x, j);
        oracle_store(f, x, i, other);
        oracle_store(f, x, j, one);
    }
    sum_of(&b, level, f, x, n);
    assert_true(same(&a, &b));
}

/* Random pieces, each on a random level, merged in a random tree. */
static void split(const float_format *f, int kind, int level, size_t n) {
    enum { PIECES = 9 };
    static tally_superaccumulator piece[PIECES];
    tally_superaccumulator whole;
    uint64_t r = (uint64_t)kind * 31 + (uint64_t)level;
    oracle_generate(f, kind, n + 1, x, n);
    sum_of(&whole, level, f, x, n);
    size_t from = 0;
    for (int p = 0; p < PIECES; p++) {
        const size_t to = p == PIECES - 1 ? n : from + oracle_random(&r) % (n - from + 1);
        sum_of(&piece[p], (int)(oracle_random(&r) % (uint64_t)levels_count()), f, (char *)x + from * f->size,
               to - from);
        from = to;
    }
    for (int left = PIECES; left > 1; left--) {
        const int into = (int)(oracle_random(&r) % (uint64_t)(left - 1));
        if (oracle_random(&r) & 1)
            tally_superaccumulator_normalise(&piece[into]);
        tally_superaccumulator_merge(&piece[into], &piece[left - 1]);
    }
    assert_true(same(&whole, &piece[0]));
}

static void negated_and_cancelled(const float_format *f, int kind, int level, size_t n) {
    tally_superaccumulator a, b;
    const uint64_t sign = UINT64_C(1) << (f->fraction_bits + f->exponent_bits);
    oracle_generate(f, kind, n + 2, x, n);
    for (size_t i = 0; i < n; i++)
        oracle_store(f, y, i, oracle_load(f, x, i) ^ sign);
    sum_of(&a, level, f, x, n);
    sum_of(&b, level, f, y, n);
    tally_magnitude m, minus;
    tally_superaccumulator_magnitude(&a, &m);
    tally_superaccumulator_magnitude(&b, &minus);
    assert_int_equal(m.count, minus.count);
    assert_int_equal(m.exponent, minus.exponent);
    assert_true(m.count == 0 || m.negative != minus.negative);
    assert_memory_equal(m.digits, minus.digits, (size_t)m.count * sizeof m.digits[0]);
    assert_int_equal(a.positive_infinities, b.negative_infinities);
    add(&a, level, f, y, n);
    assert_true(is_zero(&a));
    /* And interleaved in one array. */
    for (size_t i = 0; i < n; i++) {
        oracle_store(f, z, 2 * i, oracle_load(f, x, i));
        oracle_store(f, z, 2 * i + 1, oracle_load(f, y, i));
    }
    sum_of(&a, level, f, z, 2 * n);
    assert_true(is_zero(&a));
}

/* Doubling is one step of the exponent for normal values that stay in range. */
static void doubled(const float_format *f, int kind, int level, size_t n) {
    tally_superaccumulator a, b;
    const uint64_t fields = (UINT64_C(1) << f->exponent_bits) - 1;
    oracle_generate(f, kind, n + 3, x, n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = oracle_load(f, x, i), field = bits >> f->fraction_bits & fields;
        if (field == 0 || field >= fields - 1)
            oracle_store(f, x, i, 0), oracle_store(f, y, i, 0);
        else
            oracle_store(f, y, i, bits + (UINT64_C(1) << f->fraction_bits));
    }
    sum_of(&a, level, f, x, n);
    sum_of(&b, level, f, y, n);
    const tally_superaccumulator again = a;
    tally_superaccumulator_merge(&a, &again);
    a.count = b.count;
    assert_true(same(&a, &b));
}

static void any_order_gives_one_state(void **unused) {
    (void)unused;
    for_all(permuted);
}

static void any_split_gives_one_state(void **unused) {
    (void)unused;
    for_all(split);
}

static void negation_negates_and_cancels(void **unused) {
    (void)unused;
    for_all(negated_and_cancelled);
}

static void doubling_doubles(void **unused) {
    (void)unused;
    for_all(doubled);
}

/* All limbs at their worst, then one unit that runs through all of them; on both sides of zero. */
static void carries_run_through_all_limbs(void **unused) {
    (void)unused;
    for (int layout = 0; layout < TALLY_LAYOUT_COUNT; layout++)
        for (int sign = -1; sign <= 1; sign += 2) {
            tally_superaccumulator state;
            tally_superaccumulator_init(&state, (tally_exact_layout)layout);
            const int limbs = state.limb_count - 3;
            for (int i = 0; i < limbs; i++)
                tally_superaccumulator_deposit(&state, sign * INT64_C(0xffffffff), state.lowest + 32 * i);
            tally_superaccumulator_normalise(&state);
            tally_superaccumulator_deposit(&state, sign, state.lowest);
            tally_magnitude m;
            tally_superaccumulator_magnitude(&state, &m);
            assert_int_equal(m.count, 1);
            assert_int_equal(m.digits[0], 1);
            assert_int_equal(m.exponent, state.lowest + 32 * limbs);
            assert_int_equal(m.negative, sign < 0);
            tally_superaccumulator_deposit(&state, -sign, state.lowest + 32 * limbs);
            tally_superaccumulator_normalise(&state);
            for (int i = 0; i < state.limb_count; i++)
                assert_int_equal(state.limbs[i], 0);
        }
}

/* States that are one deposit short of having to be normalised merge without losing a carry. */
static void full_limbs_merge(void **unused) {
    (void)unused;
    for (int sign = -1; sign <= 1; sign += 2) {
        tally_superaccumulator a, b;
        tally_superaccumulator_init(&a, TALLY_LAYOUT_SUM_F64);
        a.pending = TALLY_PENDING_MAX - 1;
        a.first = 20;
        a.end = 23;
        for (int i = 20; i < 23; i++)
            a.limbs[i] = sign * (INT64_C(0xffffffff) * (int64_t)a.pending);
        b = a;
        mpz_t expected, got, limb;
        mpz_inits(expected, got, limb, NULL);
        for (int i = 22; i >= 20; i--) {
            mpz_mul_2exp(expected, expected, 32);
            mpz_set_si(limb, a.limbs[i]);
            mpz_addmul_ui(expected, limb, 5);
        }
        for (int times = 0; times < 4; times++)
            tally_superaccumulator_merge(&a, &b);
        tally_superaccumulator_normalise(&a);
        for (int i = a.limb_count - 1; i >= 20; i--) {
            mpz_mul_2exp(got, got, 32);
            mpz_set_si(limb, a.limbs[i]);
            mpz_add(got, got, limb);
            assert_true(i == a.limb_count - 1 || (a.limbs[i] >= 0 && a.limbs[i] >> 32 == 0));
        }
        assert_int_equal(mpz_cmp(expected, got), 0);
        mpz_clears(expected, got, limb, NULL);
    }
}

/* The golden states: data that seeds determine, and a hash of its limbs. Every back end must reproduce them; they
 * change only when the layouts do. TALLY_GOLDEN names the file; with TALLY_GOLDEN_WRITE it is written instead, by the
 * oracle. */
static uint64_t hash_limbs(const tally_superaccumulator *state) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int32_t i = 0; i < state->limb_count; i++)
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ ((uint64_t)state->limbs[i] >> (8 * byte) & 0xff)) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_of_oracle(const oracle_sum *sum, tally_exact_layout layout) {
    tally_superaccumulator state;
    tally_superaccumulator_init(&state, layout);
    mpz_t rest, limb;
    mpz_init_set(rest, sum->units);
    mpz_init(limb);
    for (int32_t i = 0; i < state.limb_count; i++) {
        mpz_fdiv_r_2exp(limb, rest, 32);
        mpz_fdiv_q_2exp(rest, rest, 32);
        state.limbs[i] = i == state.limb_count - 1 ? (int64_t)mpz_get_ui(limb) + mpz_get_si(rest) * (INT64_C(1) << 32)
                                                   : (int64_t)mpz_get_ui(limb);
    }
    mpz_clears(rest, limb, NULL);
    return hash_limbs(&state);
}

static void golden_states(void **unused) {
    (void)unused;
    const char *path = getenv("TALLY_GOLDEN"), *writing = getenv("TALLY_GOLDEN_WRITE");
    if (!path)
        skip();
    FILE *file = fopen(path, writing ? "w" : "r");
    assert_non_null(file);
    int lines = 0;
    for (int f = 0; f < FORMATS; f++)
        for (int kind = 0; kind < DATA_KINDS; kind++)
            for (int products = 0; products < 2; products++) {
                const float_format *format = &float_formats[f];
                const size_t n = 5000 + (size_t)kind * 97;
                const tally_exact_layout layout = tally_exact_layout_of(format->type, products);
                oracle_generate(format, kind, 2026, x, n);
                if (writing) {
                    oracle_sum sum;
                    oracle_init(&sum, format, products);
                    if (products)
                        oracle_add_products(&sum, format, x, x, n);
                    else
                        oracle_add(&sum, format, x, n);
                    fprintf(file, "%s %s kind=%d seed=2026 n=%zu limbs=%016llx\n", products ? "sumsq" : "sum",
                            format->name, kind, n, (unsigned long long)hash_of_oracle(&sum, layout));
                    oracle_clear(&sum);
                    continue;
                }
                char op[8], name[8];
                int file_kind;
                size_t file_n;
                unsigned long long hash;
                assert_int_equal(
                    fscanf(file, "%7s %7s kind=%d seed=2026 n=%zu limbs=%llx", op, name, &file_kind, &file_n, &hash),
                    5);
                assert_string_equal(op, products ? "sumsq" : "sum");
                assert_string_equal(name, format->name);
                assert_int_equal(file_kind, kind);
                assert_int_equal(file_n, n);
                lines++;
                for (int level = 0; level < levels_count(); level++) {
                    tally_superaccumulator state;
                    tally_superaccumulator_init(&state, layout);
                    const tally_exact_type_kernels *kernels = tally_exact_of_type(levels_at(level), format->type);
                    if (products)
                        kernels->add_products(&state, x, x, n);
                    else
                        kernels->add(&state, x, n);
                    tally_superaccumulator_normalise(&state);
                    assert_int_equal(hash_limbs(&state), hash);
                }
            }
    fclose(file);
    assert_true(writing || lines == FORMATS * DATA_KINDS * 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_gives_one_state),
        cmocka_unit_test(any_split_gives_one_state),
        cmocka_unit_test(negation_negates_and_cancels),
        cmocka_unit_test(doubling_doubles),
        cmocka_unit_test(carries_run_through_all_limbs),
        cmocka_unit_test(full_limbs_merge),
        cmocka_unit_test(golden_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
