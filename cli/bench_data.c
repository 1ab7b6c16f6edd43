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
#include <sys/mman.h>

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

/* Round to nearest, ties away: the low bits are random, so the rule does not matter. */
static uint16_t half_of(double value) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    int exponent = (int)(bits >> 23 & 0xff) - 127;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (exponent < -14)
        return (uint16_t)(sign | (uint16_t)lround(fabs(value) * 0x1p24));
    uint32_t magnitude = ((uint32_t)(exponent + 15) << 10) + (((bits & 0x7fffff) + 0x1000) >> 13);
    return (uint16_t)(sign | (magnitude < 0x7bff ? magnitude : 0x7bff));
}

static uint16_t bfloat_of(double value) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x8000) >> 16);
}

typedef struct fill_job {
    void *memory;
    tally_dtype dtype;
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
static void fill_finite_bits(const fill_job *job, size_t start, size_t end) {
    fill_random_bits(job, start, end, tally_dtype_size(job->dtype));
    for (size_t i = start; i < end; i++) {
        if (job->dtype == TALLY_F64 && !isfinite(((double *)job->memory)[i]))
            ((uint64_t *)job->memory)[i] &= ~(UINT64_C(1) << 62);
        if (job->dtype == TALLY_F32 && !isfinite(((float *)job->memory)[i]))
            ((uint32_t *)job->memory)[i] &= ~(UINT32_C(1) << 30);
        uint16_t top = job->dtype == TALLY_F16 ? 0x7c00 : 0x7f80;
        if ((job->dtype == TALLY_F16 || job->dtype == TALLY_BF16) && (((uint16_t *)job->memory)[i] & top) == top)
            ((uint16_t *)job->memory)[i] &= (uint16_t)~0x4000u;
    }
}

static void fill_share(void *context, unsigned thread, unsigned threads) {
    const fill_job *job = context;
    const bool is_float =
        job->dtype == TALLY_F16 || job->dtype == TALLY_BF16 || job->dtype == TALLY_F32 || job->dtype == TALLY_F64;
    size_t part = (job->n / threads + 63) / 64 * 64;
    size_t start = part * thread < job->n ? part * thread : job->n;
    size_t end = thread + 1 == threads || start + part > job->n ? job->n : start + part;
    if (!is_float) {
        fill_random_bits(job, start, end, tally_dtype_size(job->dtype));
        return;
    }
    if (job->data == BENCH_BITS) {
        fill_finite_bits(job, start, end);
        return;
    }
    for (size_t i = start; i < end; i++) {
        uint64_t index = job->seed + i;
        switch (job->dtype) {
        case TALLY_F64:
            ((double *)job->memory)[i] = value_of(index, job->data, -1022, 1022);
            break;
        case TALLY_F16:
            ((uint16_t *)job->memory)[i] = half_of(value_of(index, job->data, -24, 14));
            break;
        case TALLY_BF16:
            ((uint16_t *)job->memory)[i] = bfloat_of(value_of(index, job->data, -126, 126));
            break;
        default:
            ((float *)job->memory)[i] = (float)value_of(index, job->data, -126, 126);
        }
    }
}

void bench_fill(void *memory, tally_dtype dtype, size_t n, bench_data data, uint64_t seed) {
    fill_job job = {memory, dtype, n, data, seed << 40};
    bench_team_run_once(fill_share, &job);
}

/* ----------------------------------------------------------------------------------------- offsets, keys ----- */

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
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    memset(memory, 1, bytes);
    pools[pool] = (bench_span){memory, bytes};
    return memory;
}

void bench_pools_free(void) {
    for (int i = 0; i < BENCH_POOLS; i++)
        if (pools[i].start)
            munmap(pools[i].start, pools[i].bytes);
    memset(pools, 0, sizeof pools);
}
