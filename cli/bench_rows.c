/* The rows of `tally bench`: every row is a descriptor, a shape and a kind of data. Rows that share a type stand
 * together so that the data is made once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

static const uint64_t two_to_26 = UINT64_C(1) << 26;

/* The next row, with the fields that most rows share; NULL if there is too little memory, which bench_rows_make notices
 * by the count. */
static bench_row *add(bench_rows *rows, const char *group, tally_op op, tally_dtype in, uint64_t n) {
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 256;
        bench_row *row = realloc(rows->row, capacity * sizeof *row);
        if (!row)
            return NULL;
        rows->row = row;
        rows->capacity = capacity;
    }
    bench_row *row = &rows->row[rows->count++];
    *row = (bench_row){.group = group, .desc = TALLY_DESC_INIT, .shape = {1, n, 1, 0}};
    row->desc.op = op;
    row->desc.in = in;
    return row;
}

__attribute__((format(printf, 2, 3))) static bool name(bench_row *row, const char *format, ...) {
    if (!row)
        return false;
    va_list list;
    va_start(list, format);
    vsnprintf(row->name, sizeof row->name, format, list);
    va_end(list);
    return true;
}

/* Each class of kernels, not each operator. */
static const tally_op reductions[] = {TALLY_SUM, TALLY_MIN,   TALLY_MAX,  TALLY_ARGMAX,
                                      TALLY_DOT, TALLY_NORM2, TALLY_MEAN, TALLY_VAR};
enum { REDUCTIONS = sizeof reductions / sizeof reductions[0] };

static bool add_reductions(bench_rows *rows, const char *group, tally_dtype in, int log2n) {
    for (int i = 0; i < REDUCTIONS; i++) {
        bench_row *row = add(rows, group, reductions[i], in, UINT64_C(1) << log2n);
        if (!name(row, "%s/%s/2^%d", tally_op_name(reductions[i]), tally_dtype_name(in), log2n))
            return false;
    }
    return true;
}

static bool add_all_values(bench_rows *rows) {
    static const tally_dtype wide[] = {TALLY_F32, TALLY_F64, TALLY_I32, TALLY_I64};
    static const tally_dtype small[] = {TALLY_I8, TALLY_I16, TALLY_F16, TALLY_BF16};
    bool ok = true;
    for (int t = 0; t < 4; t++) {
        ok = ok && add_reductions(rows, "Reductions of 2^26 values", wide[t], 26);
    }
    for (int t = 0; t < 4; t++) {
        int log2n = tally_dtype_size(small[t]) == 1 ? 28 : 27;
        ok = ok && add_reductions(rows, "Reductions of small types, 2^28 bytes", small[t], log2n);
    }
    for (int t = 0; t < 4; t++)
        for (int log2n = 14; log2n <= 22; log2n += 2)
            ok = ok && add_reductions(rows, "Reductions of 2^14 to 2^22 values", wide[t], log2n);
    return ok;
}

static bool add_one_call(bench_rows *rows) {
    static const struct {
        tally_op op;
        tally_dtype in;
    } calls[] = {{TALLY_SUM, TALLY_F32}, {TALLY_SUM, TALLY_F64},    {TALLY_SUM, TALLY_I32},
                 {TALLY_MAX, TALLY_F32}, {TALLY_ARGMAX, TALLY_F32}, {TALLY_DOT, TALLY_F64}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        bench_row *row = add(rows, "One reduction of 16 values with a ready plan", calls[i].op, calls[i].in, 16);
        if (!name(row, "%s/%s/16", tally_op_name(calls[i].op), tally_dtype_name(calls[i].in)))
            return false;
        row->measure = BENCH_NANOSECONDS;
    }
    return true;
}

static bool add_scans(bench_rows *rows) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_I32};
    static const int sizes[] = {26, 22};
    for (int t = 0; t < 3; t++)
        for (int s = 0; s < 2; s++)
            for (int form = TALLY_INCLUSIVE_SCAN; form <= TALLY_EXCLUSIVE_SCAN; form++) {
                bench_row *row = add(rows, "Scans", TALLY_SUM, types[t], UINT64_C(1) << sizes[s]);
                if (!name(row, "%s/sum/%s/2^%d", tally_form_name((tally_form)form), tally_dtype_name(types[t]),
                          sizes[s]))
                    return false;
                row->desc.form = (tally_form)form;
                /* Integers default to 64-bit outputs; a cumulative sum that keeps its type is what peers do. */
                if (types[t] == TALLY_I32)
                    row->desc.out = TALLY_I32;
            }
    bench_row *row = add(rows, "Scans", TALLY_SUM, TALLY_I32, two_to_26);
    if (!name(row, "inclusive_scan/sum/i32-i64/2^26"))
        return false;
    row->desc.form = TALLY_INCLUSIVE_SCAN;
    return true;
}

static const struct {
    uint64_t dimension[3];
    int rank;
} shapes[] = {
    {{8192, 8192, 1}, 2},   /* square, memory */
    {{1024, 1024, 1}, 2},   /* square, cache */
    {{400, 400, 400}, 3},   /* cube */
    {{1 << 22, 3, 1}, 2},   /* points in space: n x 3 */
    {{3, 1 << 22, 1}, 2},   /* planes: 3 x n */
    {{1 << 19, 2, 1}, 2},   /* the narrowest, cache */
    {{1 << 20, 16, 1}, 2},  /* narrow, but a vector wide */
    {{64, 1 << 20, 1}, 2},  /* wide: 64 long rows */
    {{1 << 16, 16, 16}, 3}, /* many small planes */
    {{1000, 3, 5000}, 3},   /* a short axis in the middle */
};

/* An array of any rank, seen along one axis, is outer x extent x inner. */
static tally_shape shape_along(const uint64_t *dimension, int rank, int axis) {
    tally_shape shape = {1, dimension[axis], 1, 0};
    for (int i = 0; i < axis; i++)
        shape.outer *= dimension[i];
    for (int i = axis + 1; i < rank; i++)
        shape.inner *= dimension[i];
    return shape;
}

static bool add_axis(bench_rows *rows, tally_dtype in, tally_form form) {
    const char *group = form == TALLY_REDUCE ? "Sums along an axis" : "Cumulative sums along an axis";
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int axis = 0; axis < shapes[s].rank; axis++) {
            const uint64_t *d = shapes[s].dimension;
            bench_row *row = add(rows, group, TALLY_SUM, in, 0);
            char size[48];
            int used = snprintf(size, sizeof size, "%" PRIu64 "x%" PRIu64, d[0], d[1]);
            if (shapes[s].rank == 3)
                snprintf(size + used, sizeof size - (size_t)used, "x%" PRIu64, d[2]);
            if (!name(row, "%s_axis%d/%s/%s", form == TALLY_REDUCE ? "sum" : "cumsum", axis, tally_dtype_name(in),
                      size))
                return false;
            row->desc.grouping = TALLY_AXIS;
            row->desc.form = form;
            row->shape = shape_along(d, shapes[s].rank, axis);
        }
    return true;
}

static bool add_segments(bench_rows *rows, unsigned flags) {
    static const uint64_t lengths[] = {1, 4, 64, 1024, 1 << 20, 0};
    const char *kind = flags ? "/check_while_running" : "";
    for (int i = 0; i < 6; i++) {
        bench_row *row = add(rows, "Segmented sums, 64-bit offsets", TALLY_SUM, TALLY_F32, two_to_26);
        if (lengths[i] ? !name(row, "segments/sum/f32/%" PRIu64 "%s", lengths[i], kind)
                       : !name(row, "segments/sum/f32/skewed%s", kind))
            return false;
        row->desc.grouping = TALLY_SEGMENTS;
        row->desc.flags = flags;
        row->lengths = lengths[i] ? BENCH_SEGMENTS_EQUAL : BENCH_SEGMENTS_SKEW;
        row->length = lengths[i];
    }
    return true;
}

static bool add_keys(bench_rows *rows) {
    static const uint64_t runs[] = {1, 8, 1000};
    for (int i = 0; i < 3; i++) {
        bench_row *row = add(rows, "Sums by key, 32-bit keys", TALLY_SUM, TALLY_F32, two_to_26);
        if (!name(row, "keys/sum/f32/runs_of_%" PRIu64, runs[i]))
            return false;
        row->desc.grouping = TALLY_KEYS;
        row->desc.index = TALLY_I32;
        row->lengths = BENCH_KEY_RUNS;
        row->length = runs[i];
    }
    return true;
}

static bool add_labels(bench_rows *rows) {
    static const uint64_t groups[] = {256, 1 << 16, 1 << 24};
    for (int i = 0; i < 6; i++) {
        bench_row *row = add(rows, "Sums by label, 32-bit labels", TALLY_SUM, TALLY_F32, two_to_26);
        if (!name(row, "labels/sum/f32/%s%" PRIu64, i % 2 ? "skewed_" : "", groups[i / 2]))
            return false;
        row->desc.grouping = TALLY_LABELS;
        row->desc.index = TALLY_I32;
        row->lengths = i % 2 ? BENCH_LABELS_SKEW : BENCH_LABELS_RANDOM;
        row->length = groups[i / 2];
    }
    return true;
}

static bool add_exact(bench_rows *rows, tally_form form) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_F16, TALLY_BF16};
    static const char *const data_names[] = {"normal", "spread_20", "spread_100", "random_bits"};
    const bool is_scan = form != TALLY_REDUCE;
    for (int t = 0; t < (is_scan ? 4 : 3); t++)
        for (int data = 0; data <= BENCH_BITS; data++) {
            if (types[t] == TALLY_F16 && data == BENCH_SPREAD_100)
                continue; /* f16 has no such exponents */
            bench_row *row =
                add(rows, is_scan ? "Exact scans beside the plain scan" : "Exact sums beside the plain sum", TALLY_SUM,
                    types[t], two_to_26);
            if (!name(row, "%s/sum/%s/%s", is_scan ? "exact_scan" : "exact", tally_dtype_name(types[t]),
                      data_names[data]))
                return false;
            row->desc.form = form;
            row->desc.mode = TALLY_EXACT;
            row->data = (bench_data)data;
            row->measure = BENCH_PLAIN_RATIO;
        }
    return true;
}

bool bench_rows_make(bench_rows *rows) {
    *rows = (bench_rows){NULL, 0, 0};
    return add_all_values(rows) && add_one_call(rows) && add_scans(rows) && add_axis(rows, TALLY_F32, TALLY_REDUCE) &&
           add_axis(rows, TALLY_F64, TALLY_REDUCE) && add_axis(rows, TALLY_F32, TALLY_INCLUSIVE_SCAN) &&
           add_segments(rows, 0) && add_segments(rows, TALLY_CHECK_WHILE_RUNNING) && add_keys(rows) &&
           add_labels(rows) && add_exact(rows, TALLY_REDUCE) && add_exact(rows, TALLY_INCLUSIVE_SCAN);
}

void bench_rows_free(bench_rows *rows) {
    free(rows->row);
    *rows = (bench_rows){NULL, 0, 0};
}
