/* The program of ./demo: sums, maxima and running sums of a real table and of 2^27 generated values. Each line has the
 * time, the throughput and the share of the roof of memory, which the loops of `tally bench` measure in the same
 * rounds. The computations use only the public header.
 *
 *     demo table FILE.csv      the real data
 *     demo large               the generated array
 *     demo cancel OUT.npy      writes an array whose sum is exactly 1, and shows several ways to sum it
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../cli/bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 4096, COLUMNS = 4 };

static tally_device *device;

static int fail(const char *what) {
    fprintf(stderr, "demo: %s\n", what);
    return 1;
}

/* ---------------------------------------------------------------------------------------------- one line ----- */

typedef struct work {
    const char *label;
    tally_op op;
    tally_form form;
    tally_mode mode;
    tally_shape shape; /* outer and inner 1: everything */
    tally_dtype in;
    bench_data data;
} work;

static void print_time(double seconds) {
    if (seconds < 1e-3)
        printf("%9.2f us", seconds * 1e6);
    else
        printf("%9.2f ms", seconds * 1e3);
}

/* Runs and times one computation on the bench's memory and prints its line without the value. */
static bool run(const work *w, void *first, size_t bytes) {
    bench_row row = {.desc = TALLY_DESC_INIT, .shape = w->shape, .data = w->data};
    bench_options options = {0.1, 0.001};
    bench_result result;
    row.desc.op = w->op;
    row.desc.form = w->form;
    row.desc.mode = w->mode;
    row.desc.in = w->in;
    row.desc.grouping = w->shape.outer * w->shape.inner > 1 ? TALLY_AXIS : TALLY_ALL_VALUES;
    printf("  %-30s", w->label);
    fflush(stdout);
    bench_measure_row(device, &row, &options, &result);
    if (result.error[0]) {
        printf("  %s\n", result.error);
        return false;
    }
    print_time(result.seconds);
    printf(" %8.1f GB/s %6.0f%%   ", result.bytes / result.seconds * 1e-9, 100 * result.roof_seconds / result.seconds);
    memcpy(first, bench_pool(BENCH_OUT, 0), bytes);
    return true;
}

static void print_heading(void) {
    printf("  %-30s%12s %13s %7s   %s\n", "", "time", "throughput", "of roof", "result");
}

/* --------------------------------------------------------------------------------------------- real data ----- */

typedef struct table {
    size_t rows;
    char date[ROWS_MOST][16];
    double value[COLUMNS][ROWS_MOST];
} table;

static bool read_table(const char *path, table *t) {
    char line[256];
    FILE *file = fopen(path, "r");
    bool ok = file && fgets(line, sizeof line, file);
    t->rows = 0;
    while (ok && fgets(line, sizeof line, file)) {
        double *v[COLUMNS];
        for (int i = 0; i < COLUMNS; i++)
            v[i] = &t->value[i][t->rows];
        ok = t->rows < ROWS_MOST - 1 &&
             sscanf(line, "%15[^,],%lf,%lf,%lf,%lf", t->date[t->rows], v[0], v[1], v[2], v[3]) == 1 + COLUMNS;
        t->rows++;
    }
    if (file)
        fclose(file);
    return ok && t->rows > 0;
}

/* Copies column by column into the bench's memory: each column is then a contiguous row of a COLUMNS x rows array. */
static double *lay_out(const table *t, int first, int columns) {
    double *x = bench_pool(BENCH_X, COLUMNS * t->rows * sizeof *x);
    for (int i = 0; x && i < columns; i++)
        memcpy(x + (size_t)i * t->rows, t->value[first + i], t->rows * sizeof *x);
    return x;
}

static int demo_table(const char *path) {
    static table t;
    static double running[ROWS_MOST];
    double sum, sums[COLUMNS];
    int64_t at;
    if (!read_table(path, &t))
        return fail("cannot read the table of date and four numbers");
    const tally_shape all = {1, t.rows, 1, 0}, columns = {COLUMNS, t.rows, 1, 0};
    const work total = {"rain, sum", TALLY_SUM, TALLY_REDUCE, TALLY_FAST, all, TALLY_F64, BENCH_GIVEN};
    const work exact = {"rain, exact sum", TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, all, TALLY_F64, BENCH_GIVEN};
    const work scan = {
        "rain, cumulative sum", TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, all, TALLY_F64, BENCH_GIVEN};
    const work max = {"heat, max", TALLY_MAX, TALLY_REDUCE, TALLY_FAST, all, TALLY_F64, BENCH_GIVEN};
    const work argmax = {"heat, argmax", TALLY_ARGMAX, TALLY_REDUCE, TALLY_FAST, all, TALLY_F64, BENCH_GIVEN};
    const work axis = {
        "each column, sum per axis", TALLY_SUM, TALLY_REDUCE, TALLY_FAST, columns, TALLY_F64, BENCH_GIVEN};

    printf("  %zu days, %s to %s, as f64\n", t.rows, t.date[0], t.date[t.rows - 1]);
    print_heading();
    if (!lay_out(&t, 0, 1))
        return fail("no memory");
    if (run(&total, &sum, sizeof sum))
        printf("%.17g mm\n", sum);
    if (run(&exact, &sum, sizeof sum))
        printf("%.17g mm\n", sum);
    if (run(&scan, running, t.rows * sizeof *running)) {
        size_t half = 0;
        while (half < t.rows && running[half] < running[t.rows - 1] / 2)
            half++;
        printf("half of it had fallen by %s\n", t.date[half < t.rows ? half : 0]);
    }
    lay_out(&t, 1, 1);
    if (run(&max, &sum, sizeof sum))
        printf("%g degrees\n", sum);
    if (run(&argmax, &at, sizeof at))
        printf("day %lld, %s\n", (long long)at, t.date[(size_t)at < t.rows ? at : 0]);
    lay_out(&t, 0, COLUMNS);
    if (run(&axis, sums, sizeof sums))
        printf("means: %.2f mm, %.1f to %.1f degrees, wind %.1f m/s\n", sums[0] / (double)t.rows,
               sums[2] / (double)t.rows, sums[1] / (double)t.rows, sums[3] / (double)t.rows);
    return 0;
}

/* -------------------------------------------------------------------------------------------- large array ----- */

static int demo_large(void) {
    const uint64_t n = UINT64_C(1) << 27, rows = 1 << 13, columns = 1 << 14;
    const tally_shape all = {1, n, 1, 0};
    const work works[] = {
        {"sum", TALLY_SUM, TALLY_REDUCE, TALLY_FAST, all, TALLY_F32, BENCH_NORMAL},
        {"exact sum", TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, all, TALLY_F32, BENCH_NORMAL},
        {"max", TALLY_MAX, TALLY_REDUCE, TALLY_FAST, all, TALLY_F32, BENCH_NORMAL},
        {"argmax", TALLY_ARGMAX, TALLY_REDUCE, TALLY_FAST, all, TALLY_F32, BENCH_NORMAL},
        {"cumulative sum", TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, all, TALLY_F32, BENCH_NORMAL},
        {"sum per column (axis 0)",
         TALLY_SUM,
         TALLY_REDUCE,
         TALLY_FAST,
         {1, rows, columns, 0},
         TALLY_F32,
         BENCH_NORMAL},
        {"sum per row (axis 1)", TALLY_SUM, TALLY_REDUCE, TALLY_FAST, {rows, columns, 1, 0}, TALLY_F32, BENCH_NORMAL},
    };
    print_heading();
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
        char first[8] = {0};
        float value;
        int64_t index;
        if (!run(&works[i], first, sizeof first))
            continue;
        memcpy(&value, first, sizeof value);
        memcpy(&index, first, sizeof index);
        if (works[i].op == TALLY_ARGMAX)
            printf("%lld\n", (long long)index);
        else if (works[i].form != TALLY_REDUCE)
            printf("ends at %.9g\n", (double)((const float *)bench_pool(BENCH_OUT, 0))[n - 1]);
        else if (works[i].shape.outer * works[i].shape.inner > 1)
            printf("%" PRIu64 " sums\n", works[i].shape.outer * works[i].shape.inner);
        else
            printf("%.9g\n", (double)value);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------ why exact matters ----- */

/* The header of format 1.0: the text is padded so that the data start at a multiple of 64. */
static bool write_npy(const char *path, const float *x, size_t n) {
    static const unsigned char magic[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0}; /* 118 bytes of text follow */
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, magic, sizeof magic);
    int used =
        snprintf(header + 10, sizeof header - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,), }", n);
    header[10 + used] = ' ';
    header[127] = '\n';
    FILE *file = fopen(path, "wb");
    bool ok = file && fwrite(header, sizeof header, 1, file) == 1 && fwrite(x, sizeof *x, n, file) == n;
    if (file)
        ok = fclose(file) == 0 && ok;
    return ok;
}

static void shuffle(float *x, size_t n) {
    uint64_t state = 1;
    for (size_t i = n - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t j = (size_t)((state >> 33) % (i + 1));
        float swap = x[i];
        x[i] = x[j];
        x[j] = swap;
    }
}

static float plain_sum(const float *x, size_t n) {
    volatile float sum = 0; /* in order, even if the compiler would reorder it */
    for (size_t i = 0; i < n; i++)
        sum = sum + x[i];
    return sum;
}

/* For every value the array has its negative, and one 1 besides, in random order, so the sum is exactly 1. */
static int demo_cancel(const char *path) {
    const size_t n = (1 << 20) + 1;
    float *x = bench_pool(BENCH_X, n * sizeof *x), sum, exact;
    if (!x)
        return fail("no memory");
    bench_fill(x, TALLY_F32, n / 2, BENCH_NORMAL, 3);
    for (size_t i = 0; i < n / 2; i++) {
        x[i] *= 1e6f;
        x[n / 2 + i] = -x[i];
    }
    x[n - 1] = 1;
    shuffle(x, n);
    if (!write_npy(path, x, n))
        return fail("cannot write the temporary array");
    for (int turn = 0; turn < 2; turn++) {
        if (tally_sum_f32(x, n, &sum) != TALLY_OK || tally_sum_exact_f32(x, n, &exact) != TALLY_OK)
            return fail(tally_last_error());
        printf("  %-36s loop %-12.9g fast %-12.9g exact %.9g\n",
               turn ? "the same, shuffled once more" : "in this order", (double)plain_sum(x, n), (double)sum,
               (double)exact);
        shuffle(x, n);
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int code = 2;
    if (tally_open("cpu", &device) != TALLY_OK)
        return fail(tally_last_error());
    if (!bench_team_start(bench_threads_of("cpu")))
        return fail("no threads");
    if (strcmp(what, "table") == 0 && argc == 3)
        code = demo_table(argv[2]);
    else if (strcmp(what, "large") == 0 && argc == 2)
        code = demo_large();
    else if (strcmp(what, "cancel") == 0 && argc == 3)
        code = demo_cancel(argv[2]);
    else
        fprintf(stderr, "usage: demo table FILE.csv | large | cancel OUT.npy\n");
    bench_team_stop();
    bench_pools_free();
    tally_close(device);
    return code;
}
