/* level.c: all steps of the CPU for one type and one instruction set. The build compiles this file for each, with
 * LADDER_LEVEL, LADDER_TYPE (f32) and LADDER_VALUE (float). cpu_steps.h lists the step files as STEP_FILE(name).
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include "cpu_includes.h"

static const ladder_cpu_entry entries[] = {
#define STEP_FILE(name) {#name, step_##name},
#include "cpu_steps.h"
#undef STEP_FILE
};

/* ---- the peak: as many independent additions as hide each other's latency ---- */

/* Makes the compiler assume that the register has changed; otherwise it could count the rounds instead of adding. */
#if defined(__AVX512F__)
enum { WIDTH = 64 };
#define TOUCH(v) __asm__ volatile("" : "+v"(v))
#elif defined(__AVX__)
enum { WIDTH = 32 };
#define TOUCH(v) __asm__ volatile("" : "+x"(v))
#elif defined(__x86_64__)
enum { WIDTH = 16 };
#define TOUCH(v) __asm__ volatile("" : "+x"(v))
#elif defined(__aarch64__)
enum { WIDTH = 16 };
#define TOUCH(v) __asm__ volatile("" : "+w"(v))
#else /* through memory, which any processor has: the peak is then too low */
enum { WIDTH = 16 };
#define TOUCH(v) __asm__ volatile("" : "+m"(v))
#endif
typedef value register_vector __attribute__((vector_size(WIDTH)));

enum { CHAINS = 12, ROUNDS = 1 << 16, PEAK_RUNS = 4 };

static void add_share(void *context, unsigned thread, unsigned threads) {
    register_vector sum[CHAINS], one;
    (void)thread, (void)threads;
    memset(sum, 0, sizeof sum);
    memcpy(&one, context, sizeof one);
    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 12
        for (int chain = 0; chain < CHAINS; chain++) {
            sum[chain] += one;
            TOUCH(sum[chain]);
        }
}

static double peak(void) {
    value ones[LANES];
    double best = 0;
    for (int i = 0; i < LANES; i++)
        ones[i] = 1;
    for (int run = 0; run < PEAK_RUNS; run++) {
        const double start = bench_now();
        in_parallel(add_share, ones);
        const double rate =
            (double)CHAINS * ROUNDS * (WIDTH / sizeof(value)) * bench_team_threads() / (bench_now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)
#define JOIN(a, b)    a##_##b
#define NAME(a, b)    JOIN(a, b)

extern const ladder_cpu_level NAME(NAME(ladder_cpu, LADDER_LEVEL), LADDER_TYPE);
const ladder_cpu_level NAME(NAME(ladder_cpu, LADDER_LEVEL), LADDER_TYPE) = {TEXT(LADDER_LEVEL), LADDER_DTYPE, entries,
                                                                            sizeof entries / sizeof *entries, peak};
