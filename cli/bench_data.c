/* The data of the bench: varied values of every type, made by hashing each index, so that all threads can make their
 * share; offsets and keys; and the memory that holds them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench.h"

#include <math.h>
#include <string.h>

#include "bench_memory.h"

/* splitmix64's finaliser (Steele, Lea, Flood 2014): neighbouring indices give unrelated bits. */
static uint64_t hash(uint64_t index) {
    uint64_t z = index * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The sum of four uniform numbers, scaled to variance 1: near enough to a normal one, and every bit of the mantissa is
 * used because the scale is not a power of two. */
static double normal(uint64_t index) {
    uint64_t a = hash(2 * index), b = hash(2 * index + 1);
    double sum = (double)(a >> 32) + (double)(a & 0xffffffffu) + (double)(b >> 32) + (double)(b & 0xffffffffu);
    return (sum - 0x1p33 + 2) * (1.7320508075688772 / 0x1p32);
}

static double spread(uint64_t index, int exponents, int lowest) {
    uint64_t bits = hash(index);
    int exponent = (int)((bits >> 53) % (unsigned)(2 * exponents + 1)) - exponents;
    if (exponent < lowest)
        exponent = lowest; /* no smaller than normal: the exponent's field holds it */
    uint64_t made = (bits & 0xfffffffffffffu) | (uint64_t)(exponent + 1023) << 52 | (bits >> 52 & 1) << 63;
    double value;
    memcpy(&value, &made, sizeof value);
    return value;
}

/* Exponents that the type lacks become its nearest one, so that every value is finite. */
static double value_of(uint64_t index, bench_data data, int lowest, int highest) {
    if (data == BENCH_NORMAL)
        return normal(index);
    int exponents = data == BENCH_SPREAD_20 ? 20 : 100;
    return spread(index, exponents < highest ? exponents : highest, lowest);
}

/* A narrow float: to nearest, ties away, since the low bits are random, so that the rule does not matter; at most the
 * largest finite number. */
static uint16_t narrow_of(double value, const tally_type_traits *type) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    const int width = 8 * (int)type->bytes, stored = type->precision - 1,
              bias = (1 << (width - type->precision - 1)) - 1;
    const int exponent = (int)(bits >> 23 & 0xff) - 127, drop = 23 - stored;
    const uint32_t sign = bits >> 31 << (width - 1), largest = (uint32_t)(2 * bias + 1) << stored;
    if (exponent < 1 - bias)
        return (uint16_t)(sign | (uint32_t)lround(ldexp(fabs(value), bias - 1 + stored)));
    uint32_t magnitude = ((uint32_t)(exponent + bias) << stored) + (((bits & 0x7fffff) + (1u << (drop - 1))) >> drop);
    return (uint16_t)(sign | (magnitude < largest ? magnitude : largest - 1));
}

typedef struct fill_job {
    void *memory;
    tally_type_traits type;
    size_t n;
    bench_data data;
    uint64_t seed;
} fill_job;

static void fill_random_bits(const fill_job *job, size_t start, size_t end, size_t size) {
    char *memory = job->memory;
    for (size_t i = start * size; i < end * size; i += 8) {
        uint64_t bits = hash(job->seed + i / 8);
        memcpy(memory + i, &bits, end * size - i < 8 ? end * size - i : 8);
    }
}

/* A random pattern that is not a number becomes one by clearing the top bit of its exponent. */
#define FILL_FINITE(bits_type)                                                                                         \
    for (size_t i = start; i < end; i++) {                                                                             \
        bits_type *const element = (bits_type *)job->memory + i;                                                       \
        *element &= (*element & infinity) == infinity ? (bits_type)~top : (bits_type)~0;                               \
    }

static void fill_finite_bits(const fill_job *job, size_t start, size_t end) {
    const tally_type_traits *type = &job->type;
    const uint64_t top = UINT64_C(1) << (8 * type->bytes - 2);
    const uint64_t infinity = 2 * top - (UINT64_C(1) << (type->precision - 1));
    fill_random_bits(job, start, end, type->bytes);
    if (type->bytes == 8) {
        FILL_FINITE(uint64_t)
    } else if (type->bytes == 4) {
        FILL_FINITE(uint32_t)
    } else {
        FILL_FINITE(uint16_t)
    }
}

static void fill_share(void *context, unsigned thread, unsigned threads) {
    const fill_job *job = context;
    const tally_type_traits *type = &job->type;
    size_t part = (job->n / threads + 63) / 64 * 64;
    size_t start = part * thread < job->n ? part * thread : job->n;
    size_t end = thread + 1 == threads || start + part > job->n ? job->n : start + part;
    if (!type->is_float) {
        fill_random_bits(job, start, end, type->bytes);
        return;
    }
    if (job->data == BENCH_BITS) {
        fill_finite_bits(job, start, end);
        return;
    }
    const int top = (1 << (8 * (int)type->bytes - type->precision - 1)) - 2; /* the largest exponent but one */
    for (size_t i = start; i < end; i++) {
        uint64_t index = job->seed + i;
        const double value = value_of(index, job->data, -top, top);
        if (type->bytes == 8)
            ((double *)job->memory)[i] = value;
        else if (type->bytes == 4)
            ((float *)job->memory)[i] = (float)value;
        else
            ((uint16_t *)job->memory)[i] = narrow_of(value, type);
    }
}

void bench_fill(void *memory, tally_dtype dtype, size_t n, bench_data data, uint64_t seed) {
    fill_job job = {memory, {.struct_size = sizeof job.type}, n, data, seed << 40};
    tally_dtype_traits(dtype, &job.type);
    bench_team_run_once(fill_share, &job);
}

/* --------------------------------------------------------------------------------- offsets, keys, labels ----- */

static uint64_t next_length(uint64_t at, uint64_t segment, uint64_t n, bench_lengths lengths, uint64_t length) {
    uint64_t next = length;
    if (lengths == BENCH_SEGMENTS_SKEW)
        next = segment == 0 ? n / 2 : hash(segment) % 8;
    else if (lengths == BENCH_KEY_RUNS)
        next = 1 + hash(segment) % (2 * length - 1);
    return next < n - at ? next : n - at;
}

uint64_t bench_segment_count(uint64_t n, bench_lengths lengths, uint64_t length) {
    uint64_t segments = 0;
    for (uint64_t at = 0; at < n; segments++)
        at += next_length(at, segments, n, lengths, length);
    return segments;
}

uint64_t bench_fill_offsets(int64_t *offsets, uint64_t n, bench_lengths lengths, uint64_t length) {
    uint64_t segments = 0;
    offsets[0] = 0;
    for (uint64_t at = 0; at < n; segments++) {
        at += next_length(at, segments, n, lengths, length);
        offsets[segments + 1] = (int64_t)at;
    }
    return segments;
}

uint64_t bench_fill_keys(int32_t *keys, uint64_t n, uint64_t length) {
    uint64_t runs = 0;
    for (uint64_t at = 0; at < n; runs++) {
        uint64_t end = at + next_length(at, runs, n, BENCH_KEY_RUNS, length);
        int32_t key = (int32_t)(hash(runs) << 1 | (runs & 1)); /* neighbours differ in their last bit */
        while (at < end)
            keys[at++] = key;
    }
    return runs;
}

void bench_fill_labels(int32_t *labels, uint64_t n, bench_lengths lengths, uint64_t groups) {
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t bits = hash(i);
        labels[i] = (int32_t)(lengths == BENCH_LABELS_SKEW && bits >> 63 ? groups / 3 : (bits & UINT32_MAX) % groups);
    }
}

/* ------------------------------------------------------------------------------------------------ memory ----- */

static bench_span pools[BENCH_POOLS];

/* Large pages if the system grants them: then the figures show memory, not page tables, for the roof and the library
 * alike. */
void *bench_pool(int pool, size_t bytes) {
    const size_t large_page = (size_t)2 << 20;
    if (bytes <= pools[pool].bytes)
        return pools[pool].start;
    if (pools[pool].start)
        munmap(pools[pool].start, pools[pool].bytes);
    pools[pool] = (bench_span){NULL, 0};
    bytes = (bytes + large_page - 1) / large_page * large_page;
    void *memory = bench_map(bytes);
    if (!memory)
        return NULL;
    pools[pool] = (bench_span){memory, bytes};
    return memory;
}

void bench_pools_free(void) {
    for (int i = 0; i < BENCH_POOLS; i++)
        if (pools[i].start)
            munmap(pools[i].start, pools[i].bytes);
    memset(pools, 0, sizeof pools);
}
