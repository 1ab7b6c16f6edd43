/* The floating-point environment around kernels. It saves the caller's environment, sets round-to-nearest with gradual
 * underflow and every exception masked, and restores the caller's environment, flags included. It also reads the sticky
 * inexact flag, which tells the exact kernels whether a run of additions was exact.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_FPENV_H
#define TALLY_CPU_FPENV_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE2_MATH__))

/* MXCSR: the modes of a fresh process with all flags clear, and the inexact flag. */
#define TALLY_FPENV_PLAIN   UINT32_C(0x1f80)
#define TALLY_FPENV_INEXACT UINT32_C(0x0020)

typedef struct tally_fpenv {
    uint32_t control;
} tally_fpenv;

/* Clears the flags. The compiler moves no later access to 'data' before it. */
static inline void tally_fpenv_clear(void) {
    const uint32_t plain = TALLY_FPENV_PLAIN;
    __asm__ volatile("ldmxcsr %0" : : "m"(plain) : "memory");
}

/* Reading the register costs a few cycles and writing it a few dozen, so it is written only if the modes differ. Flags
 * that are already raised do no harm, since whoever reads a flag clears it first. */
static inline tally_fpenv tally_fpenv_enter(void) {
    tally_fpenv saved;
    __asm__ volatile("stmxcsr %0" : "=m"(saved.control) : : "memory");
    if ((saved.control & ~UINT32_C(0x3f)) != TALLY_FPENV_PLAIN)
        tally_fpenv_clear();
    return saved;
}

static inline void tally_fpenv_leave(const tally_fpenv *saved) {
    uint32_t now;
    __asm__ volatile("stmxcsr %0" : "=m"(now) : : "memory");
    if (now != saved->control)
        __asm__ volatile("ldmxcsr %0" : : "m"(saved->control) : "memory");
}

/* Whether an operation was inexact since the last clear. 'results' is the memory that these operations wrote; naming it
 * keeps the compiler from moving them behind this call. */
static inline bool tally_fpenv_inexact(const void *results) {
    uint32_t control;
    __asm__ volatile("stmxcsr %0" : "=m"(control) : "r"(results) : "memory");
    return (control & TALLY_FPENV_INEXACT) != 0;
}

#elif defined(__aarch64__)

typedef struct tally_fpenv {
    uint64_t control, status;
} tally_fpenv;

static inline void tally_fpenv_clear(void) {
    __asm__ volatile("msr fpsr, %0" : : "r"(UINT64_C(0)) : "memory");
}

static inline tally_fpenv tally_fpenv_enter(void) {
    tally_fpenv saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved.control) : : "memory");
    __asm__ volatile("mrs %0, fpsr" : "=r"(saved.status) : : "memory");
    __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)) : "memory");
    tally_fpenv_clear();
    return saved;
}

static inline void tally_fpenv_leave(const tally_fpenv *saved) {
    __asm__ volatile("msr fpcr, %0" : : "r"(saved->control) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(saved->status) : "memory");
}

static inline bool tally_fpenv_inexact(const void *results) {
    uint64_t status;
    __asm__ volatile("mrs %0, fpsr" : "=r"(status) : "r"(results) : "memory");
    return (status & UINT64_C(0x10)) != 0;
}

#else

#include <fenv.h>

typedef struct tally_fpenv {
    fenv_t environment;
} tally_fpenv;

static inline void tally_fpenv_clear(void) {
    __asm__ volatile("" : : : "memory");
    feclearexcept(FE_ALL_EXCEPT);
    __asm__ volatile("" : : : "memory");
}

static inline tally_fpenv tally_fpenv_enter(void) {
    tally_fpenv saved;
    feholdexcept(&saved.environment);
    fesetround(FE_TONEAREST);
    return saved;
}

static inline void tally_fpenv_leave(const tally_fpenv *saved) {
    __asm__ volatile("" : : : "memory");
    fesetenv(&saved->environment);
}

static inline bool tally_fpenv_inexact(const void *results) {
    __asm__ volatile("" : : "r"(results) : "memory");
    return fetestexcept(FE_INEXACT) != 0;
}

#endif

#endif
