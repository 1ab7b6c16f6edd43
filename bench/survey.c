/* What bench/survey does outside of Python: memory in large pages, batches of calls timed without Python among them,
 * and the oracle. The roofs are those of `tally bench` (cli/bench_roof.c). CMake makes a shared library of it,
 * libsurvey.
 *
 * The oracle goes through every group one element after the other, in the plainest way, and shares no text with the
 * library. It does not read the library's input: element i of x is element i modulo 'period' of a small pool of values,
 * of which bench/survey has made x; group g of segments and keys ends where the like pool of lengths says.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../cli/bench_memory.h"
#include "survey.h"

/* ------------------------------------------------------------------------------------------------ timing ----- */

void *survey_memory(size_t bytes) {
    return bench_map(bytes);
}

void survey_free(void *memory, size_t bytes) {
    munmap(memory, bytes);
}

double survey_seconds(tally_status (*run)(tally_plan *, const tally_args *, tally_stream), tally_plan *plan,
                      const tally_args *args, size_t calls) {
    if (run(plan, args, TALLY_SYNCHRONOUS) != TALLY_OK)
        return -1;
    const double start = bench_now();
    for (size_t i = 0; i < calls; i++)
        if (run(plan, args, TALLY_SYNCHRONOUS) != TALLY_OK)
            return -1;
    return (bench_now() - start) / (double)calls;
}

double survey_roof_seconds(const bench_roof *roof, size_t way, size_t calls) {
    bench_roof_seconds(roof, way, 1);
    return bench_roof_seconds(roof, way, calls) / (double)calls;
}

/* ---------------------------------------------------------------------------------------------- elements ----- */

typedef union element {
    uint64_t bits; /* integers, extended by their sign */
    double real;
} element;

static bool is_float(tally_dtype type) {
    return type >= TALLY_F16;
}
static bool is_signed(tally_dtype type) {
    return type <= TALLY_I64;
}
static size_t size_of(tally_dtype type) {
    static const unsigned char sizes[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    return sizes[type];
}

static double of_half(uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                             : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                            : ldexp(fraction, -24);
    return half >> 15 ? -magnitude : magnitude;
}

static double of_bfloat(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

#define LOAD(type)                                                                                                     \
    type value;                                                                                                        \
    memcpy(&value, (const char *)memory + i * sizeof value, sizeof value)
#define INTEGER(type)                                                                                                  \
    {                                                                                                                  \
        LOAD(type);                                                                                                    \
        return (element){.bits = (uint64_t)(int64_t)value};                                                            \
    }
#define REAL(type, convert)                                                                                            \
    {                                                                                                                  \
        LOAD(type);                                                                                                    \
        return (element){.real = convert(value)};                                                                      \
    }

static element load(const void *memory, tally_dtype type, uint64_t i) {
    switch (type) {
    case TALLY_I8:
        INTEGER(int8_t)
    case TALLY_I16:
        INTEGER(int16_t)
    case TALLY_I32:
        INTEGER(int32_t)
    case TALLY_I64:
        INTEGER(int64_t)
    case TALLY_U8:
        INTEGER(uint8_t)
    case TALLY_U16:
        INTEGER(uint16_t)
    case TALLY_U32:
        INTEGER(uint32_t)
    case TALLY_U64:
        INTEGER(uint64_t)
    case TALLY_F16:
        REAL(uint16_t, of_half)
    case TALLY_BF16:
        REAL(uint16_t, of_bfloat)
    case TALLY_F32:
        REAL(float, (double))
    default:
        REAL(double, (double))
    }
}

/* ---------------------------------------------------------------------------------------------- the case ----- */

typedef struct group {
    uint64_t start, count, stride;
} group;

static uint64_t end_of(const survey_case *c, uint64_t g) {
    const uint64_t all = (uint64_t)c->ends[c->lengths - 1];
    const uint64_t end = g / c->lengths * all + (uint64_t)c->ends[g % c->lengths];
    return end < c->extent ? end : c->extent;
}

static group group_of(const survey_case *c, uint64_t g) {
    if (c->grouping == TALLY_ALL_VALUES)
        return (group){0, c->extent, 1};
    if (c->grouping == TALLY_AXIS)
        return (group){g / c->inner * c->extent * c->inner + g % c->inner, c->extent, c->inner};
    const uint64_t start = g ? end_of(c, g - 1) : 0;
    return (group){start, end_of(c, g) - start, 1};
}

/* ------------------------------------------------------------------------------------------- the monoids ----- */

typedef struct state {
    element first, second; /* an extremum and, of minmax, the other; integers' sums, products and bits */
    uint64_t at, count;    /* where the extremum is */
    long double sum, squares;
} state;

static bool less(const survey_case *c, element a, element b) {
    return is_float(c->in) ? a.real < b.real : is_signed(c->in) ? (int64_t)a.bits < (int64_t)b.bits : a.bits < b.bits;
}

static element magnitude(const survey_case *c, element x) {
    if (is_float(c->in))
        return (element){.real = fabs(x.real)};
    return is_signed(c->in) && (int64_t)x.bits < 0 ? (element){.bits = -x.bits} : x;
}

static bool is_zero(const survey_case *c, element x) {
    return is_float(c->in) ? x.real == 0 : x.bits == 0;
}

static double real_of(const survey_case *c, element x) {
    return is_float(c->in) ? x.real : is_signed(c->in) ? (double)(int64_t)x.bits : (double)x.bits;
}

static state start_of(const survey_case *c) {
    state s = {.count = 0};
    const unsigned width = 8 * (unsigned)size_of(c->in);
    if ((c->op == TALLY_MIN || c->op == TALLY_MAX) && is_float(c->in))
        s.first.real = c->op == TALLY_MIN ? INFINITY : -INFINITY;
    else if (c->op == TALLY_MIN)
        s.first.bits = ~(uint64_t)0 >> (64 - width + is_signed(c->in));
    else if (c->op == TALLY_MAX && is_signed(c->in))
        s.first.bits = ~(uint64_t)0 << (width - 1);
    else if (c->op == TALLY_PROD)
        s.first.bits = 1, s.sum = 1;
    else if (c->op == TALLY_BAND)
        s.first.bits = ~(uint64_t)0;
    else if (c->op == TALLY_LOGSUMEXP)
        s.first.real = -INFINITY;
    return s;
}

static void step_extremum(const survey_case *c, state *s, element x) {
    const bool least = c->op == TALLY_MIN || c->op == TALLY_ARGMIN || c->op == TALLY_MINMAX;
    if (s->count == 0 || (least ? less(c, x, s->first) : less(c, s->first, x)))
        s->first = x, s->at = s->count;
    if (s->count == 0 || less(c, s->second, x))
        s->second = x;
}

static void step(const survey_case *c, state *s, element x, element y) {
    const double real = real_of(c, x);
    switch (c->op) {
    case TALLY_SUM:
        s->first.bits += x.bits, s->sum += real;
        break;
    case TALLY_PROD:
        s->first.bits *= x.bits, s->sum *= real;
        break;
    case TALLY_ANY:
    case TALLY_ALL:
    case TALLY_COUNT_NONZERO:
        s->first.bits += !is_zero(c, x);
        break;
    case TALLY_BAND:
        s->first.bits &= x.bits;
        break;
    case TALLY_BOR:
        s->first.bits |= x.bits;
        break;
    case TALLY_BXOR:
        s->first.bits ^= x.bits;
        break;
    case TALLY_SUMSQ:
    case TALLY_NORM2:
        s->first.bits += x.bits * x.bits, s->sum += (long double)real * real;
        break;
    case TALLY_NORM1:
        s->first.bits += magnitude(c, x).bits, s->sum += fabs(real);
        break;
    case TALLY_NORM_INF:
        x = magnitude(c, x);
        if (s->count == 0 || (is_float(c->in) ? s->first.real < x.real : s->first.bits < x.bits))
            s->first = x;
        break;
    case TALLY_MEAN:
    case TALLY_VAR:
    case TALLY_STD:
        s->sum += real, s->squares += (long double)real * real;
        break;
    case TALLY_DOT:
        s->first.bits += x.bits * y.bits, s->sum += (long double)real * real_of(c, y);
        break;
    case TALLY_LOGSUMEXP:
        if (real > s->first.real) {
            s->sum = s->sum * expl((long double)s->first.real - real) + 1;
            s->first.real = real;
        } else {
            s->sum += exp(real - s->first.real);
        }
        break;
    default:
        step_extremum(c, s, x);
    }
    s->count++;
}

/* The result as an integer, where the operator gives one for this input; else as a real. */
static bool lower(const survey_case *c, const state *s, uint64_t *bits, long double *real) {
    const long double n = (long double)s->count, mean = s->sum / n; /* of nothing NaN */
    const long double variance = s->squares / n - mean * mean;
    *bits = s->first.bits;
    switch (c->op) {
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
        *bits = s->at;
        return true;
    case TALLY_ANY:
        *bits = s->first.bits != 0;
        return true;
    case TALLY_ALL:
        *bits = s->first.bits == s->count;
        return true;
    case TALLY_COUNT_NONZERO:
        return true;
    case TALLY_NORM2:
        *real = sqrtl(s->sum);
        return false;
    case TALLY_MEAN:
        *real = mean;
        return false;
    case TALLY_VAR:
        *real = variance;
        return false;
    case TALLY_STD:
        *real = sqrtl(variance < 0 ? 0 : variance);
        return false;
    case TALLY_LOGSUMEXP:
        *real = s->count ? s->first.real + logl(s->sum) : -INFINITY;
        return false;
    case TALLY_MIN:
    case TALLY_MAX:
    case TALLY_MINMAX:
    case TALLY_NORM_INF:
        *real = s->first.real;
        return !is_float(c->in);
    default:
        *real = s->sum;
        return !is_float(c->in);
    }
}

/* --------------------------------------------------------------------------------------------- comparison ----- */

/* The data are chosen so that fast sums of floats have no rounding until the end, or a little of f32's (bench/survey
 * says which): what is allowed is the rounding of the result and a millionth of it where lanes are of f32. */
static bool agrees(const survey_case *c, uint64_t at, uint64_t bits, long double real, bool is_integer) {
    const element got = load(c->result, c->out, at);
    if (is_integer && !is_float(c->out)) {
        const size_t size = size_of(c->out);
        return size == 8 ? got.bits == bits : ((got.bits ^ bits) & (((uint64_t)1 << 8 * size) - 1)) == 0;
    }
    if (is_integer)
        real = is_signed(c->in) ? (long double)(int64_t)bits : (long double)bits;
    if (isnan(real) || isnan(got.real))
        return isnan(real) && isnan(got.real);
    const double last = c->out == TALLY_F16    ? 0x1p-10
                        : c->out == TALLY_BF16 ? 0x1p-7
                        : c->out == TALLY_F32  ? 0x1p-20
                                               : 0x1p-44;
    const double least = c->out == TALLY_F16 ? 0x1p-22 : c->out == TALLY_F64 ? 0x1p-40 : 0x1p-18;
    const long double largest = c->out == TALLY_F16 ? 65504 : INFINITY;
    if (isinf(real))
        return got.real == (double)real;
    if (isinf(got.real))
        return fabsl(real) >= largest * (1 - 0x1p-10L) && (got.real < 0) == (real < 0);
    return fabsl((long double)got.real - real) <= last * fabsl(real) + least;
}

static bool agrees_state(const survey_case *c, const state *s, uint64_t at) {
    uint64_t bits;
    long double real = 0;
    const bool is_integer = lower(c, s, &bits, &real);
    if (c->op != TALLY_MINMAX)
        return agrees(c, at, bits, real, is_integer);
    return agrees(c, 2 * at, bits, real, is_integer) &&
           agrees(c, 2 * at + 1, s->second.bits, s->second.real, is_integer);
}

static bool group_agrees(const survey_case *c, group g, uint64_t number, uint64_t *wrong) {
    state s = start_of(c);
    uint64_t at = g.start % c->period, y_at = (g.start + c->y_from) % c->period;
    const uint64_t stride = g.stride % c->period;
    for (uint64_t k = 0; k < g.count; k++) {
        *wrong = g.start + k * g.stride;
        if (c->form == TALLY_EXCLUSIVE_SCAN && !agrees_state(c, &s, *wrong))
            return false;
        step(c, &s, load(c->pool, c->in, at), load(c->pool, c->in, y_at));
        if (c->form == TALLY_INCLUSIVE_SCAN && !agrees_state(c, &s, *wrong))
            return false;
        at = at + stride < c->period ? at + stride : at + stride - c->period;
        y_at = y_at + stride < c->period ? y_at + stride : y_at + stride - c->period;
    }
    *wrong = number;
    return c->form != TALLY_REDUCE || agrees_state(c, &s, number);
}

int64_t survey_check(const survey_case *c, char *message, size_t bytes) {
    const uint64_t groups = c->grouping == TALLY_ALL_VALUES ? 1
                            : c->grouping == TALLY_AXIS     ? c->outer * c->inner
                                                            : c->groups;
    uint64_t wrong;
    for (uint64_t g = 0; g < groups; g++) {
        if (!group_agrees(c, group_of(c, g), g, &wrong)) {
            const element got = load(c->result, c->out, c->op == TALLY_MINMAX ? 2 * wrong : wrong);
            snprintf(message, bytes, "result %llu (of group %llu) is wrong: %.17g or %lld", (unsigned long long)wrong,
                     (unsigned long long)g, is_float(c->out) ? got.real : NAN, (long long)got.bits);
            return (int64_t)wrong;
        }
        if (c->keys_out) {
            const size_t size = size_of(c->key);
            const uint64_t got = load(c->keys_out, c->key, g).bits;
            if (size < 8 ? ((got ^ g) & (((uint64_t)1 << 8 * size) - 1)) != 0 : got != g) {
                snprintf(message, bytes, "key %llu is wrong: %lld", (unsigned long long)g, (long long)got);
                return (int64_t)g;
            }
        }
    }
    return -1;
}
