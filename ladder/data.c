/* data.c: the values that steps reduce and scan, and the exact results that their results are compared with.
 *
 * Values of DATA_EXACT are -3, -1, 1 and 3. No float sum of up to some 2^40 of them rounds, in any order, and an
 * element that is left out or taken twice changes the result. Values of DATA_GENERAL are uniform multiples of 2^-24
 * below 1. Each has all the bits of a float, so sums round, and the error depends on the order of the additions.
 * Extrema take negative values for max and positive ones for min, so that a padding with zeros is found.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

size_t ladder_out_count(const ladder_work *w) {
    return w->form == TALLY_REDUCE ? 1 : (size_t)w->n;
}

/* ------------------------------------------------------------------------------------------------ making ----- */

typedef struct shape_job {
    void *memory; /* random 32-bit patterns, turned into values in place */
    size_t n;
    tally_dtype dtype;
    tally_op op;
    ladder_data data;
} shape_job;

static int32_t integer_of(const shape_job *job, uint32_t bits) {
    if (job->op == TALLY_SUM)
        return (int32_t)(bits & 3) * 2 - 3;
    return job->op == TALLY_MAX ? -(int32_t)(bits >> 8) - 1 : (int32_t)(bits >> 8) + 1;
}

static float float_of(const shape_job *job, uint32_t bits) {
    if (job->op == TALLY_SUM && job->data == DATA_EXACT)
        return (float)integer_of(job, bits);
    const float fraction = (float)(bits >> 8) * 0x1p-24f;
    return job->op == TALLY_MAX ? -fraction - 0x1p-24f : job->op == TALLY_MIN ? fraction + 0x1p-24f : fraction;
}

static void shape_share(void *context, unsigned thread, unsigned threads) {
    const shape_job *job = context;
    const size_t begin = job->n / threads * thread, end = thread + 1 == threads ? job->n : begin + job->n / threads;
    for (size_t i = begin; i < end; i++) {
        uint32_t *at = (uint32_t *)job->memory + i;
        if (job->dtype == TALLY_F32) {
            const float value = float_of(job, *at);
            memcpy(at, &value, sizeof value);
        } else {
            const int32_t value = integer_of(job, *at);
            memcpy(at, &value, sizeof value);
        }
    }
}

/* Only sums of floats round; everything else has one set of values for both purposes. */
static bool has_general(const ladder_work *w) {
    return w->op == TALLY_SUM && w->dtype == TALLY_F32;
}

/* Linux grants more memory than there is, and ends this program or another when the memory is used. */
int ladder_data_fits(const ladder_work *w, uint64_t n, bool scans, fault *f) {
    const double bytes = 4.0 * (double)n * (1 + has_general(w) + (scans ? 2 : 0)); /* a step's results, and a copy */
    double available = INFINITY;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            available = 1024 * strtod(line + 13, NULL);
    if (file)
        fclose(file);
    if (bytes <= available)
        return 0;
    return fault_data(f, "%" PRIu64 " values take %.1f GB of memory, and %.1f GB are free; give a smaller --n", n,
                      bytes * 1e-9, available * 1e-9);
}

int ladder_data_make(ladder_work *w, fault *f) {
    const size_t bytes = (size_t)w->n * 4;
    ladder_data_free(w);
    for (int data = 0; data < DATA_COUNT; data++) {
        if (data == DATA_GENERAL && !has_general(w)) {
            w->host[data] = w->host[DATA_EXACT];
            continue;
        }
        /* Vectors and streaming stores want whole cache lines. */
        w->host[data] = aligned_alloc(64, bytes / 64 * 64 + 64);
        if (!w->host[data])
            return fault_data(f, "not enough memory for %" PRIu64 " values", w->n);
        shape_job job = {w->host[data], (size_t)w->n, w->dtype, w->op, (ladder_data)data};
        bench_fill(job.memory, TALLY_I32, job.n, BENCH_NORMAL, 7 + (uint64_t)data);
        bench_team_run_once(shape_share, &job);
    }
    return 0;
}

void ladder_data_free(ladder_work *w) {
    if (w->host[DATA_GENERAL] != w->host[DATA_EXACT])
        free(w->host[DATA_GENERAL]);
    free(w->host[DATA_EXACT]);
    w->host[DATA_EXACT] = w->host[DATA_GENERAL] = NULL;
}

/* ---------------------------------------------------------------------------------------------- checking ----- */

static double value_at(const ladder_work *w, const void *values, size_t i) {
    return w->dtype == TALLY_F32 ? (double)((const float *)values)[i] : (double)((const int32_t *)values)[i];
}

static double identity_of(const ladder_work *w) {
    if (w->op == TALLY_SUM)
        return 0;
    if (w->dtype == TALLY_I32)
        return w->op == TALLY_MAX ? INT32_MIN : INT32_MAX;
    return w->op == TALLY_MAX ? -INFINITY : INFINITY;
}

/* No value is NaN. With fmax and fmin, gcc 12 for aarch64 stops with an internal error. */
static double combined(const ladder_work *w, double left, double right) {
    if (w->op == TALLY_SUM)
        return left + right;
    return (w->op == TALLY_MAX ? left > right : left < right) ? left : right;
}

/* A double holds sums of integers, and of up to 2^29 multiples of 2^-24, without rounding. For longer sums its error is
 * far below that of a float. */
static double relative_error(double found, double right) {
    if (found == right)
        return 0;
    const double error = fabs(found - right) / fabs(right);
    return isnan(error) ? INFINITY : error;
}

static int sum_exactly(const ladder_work *w, double *sum, fault *f) {
    tally_accumulator *accumulator;
    tally_status status = tally_accumulator_create(TALLY_SUM, TALLY_F32, &accumulator);
    if (status == TALLY_OK) {
        status = tally_accumulator_add(accumulator, w->host[w->data], NULL, (size_t)w->n);
        if (status == TALLY_OK)
            status = tally_accumulator_value(accumulator, TALLY_F64, sum);
        tally_accumulator_destroy(accumulator);
    }
    return status == TALLY_OK ? 0 : fault_data(f, "%s", tally_last_error());
}

static int check_one(ladder_work *w, const void *out, ladder_verdict *verdict, fault *f) {
    const double found = value_at(w, out, 0);
    double right = identity_of(w);
    if (w->op == TALLY_SUM && w->dtype == TALLY_F32) {
        const int code = sum_exactly(w, &right, f);
        if (code != 0)
            return code;
    } else {
        for (size_t i = 0; i < w->n; i++)
            right = combined(w, right, value_at(w, w->host[w->data], i));
    }
    verdict->right = found == right;
    verdict->error = relative_error(found, right);
    if (!verdict->right)
        snprintf(verdict->says, sizeof verdict->says, "%.9g where %.9g is right", found, right);
    return 0;
}

static void check_all(ladder_work *w, const void *out, ladder_verdict *verdict) {
    double right = 0;
    verdict->right = true;
    for (size_t i = 0; i < w->n; i++) {
        right += value_at(w, w->host[w->data], i);
        const double found = value_at(w, out, i);
        if (found == right)
            continue;
        if (verdict->right)
            snprintf(verdict->says, sizeof verdict->says, "element %zu is %.9g where %.9g is right", i, found, right);
        verdict->right = false;
        const double error = relative_error(found, right);
        verdict->error = error > verdict->error ? error : verdict->error;
    }
}

int ladder_check(ladder_work *w, const void *out, ladder_verdict *verdict, fault *f) {
    *verdict = (ladder_verdict){.right = false};
    if (w->form == TALLY_REDUCE)
        return check_one(w, out, verdict, f);
    check_all(w, out, verdict);
    return 0;
}
