/* Tests tally_exact.c: every case of vectors.json, forwards, backwards, and split at random into accumulators that are
 * saved, loaded and merged; damaged states, too, which must be refused.
 *
 *     cc -O2 test.c tally_exact.c -o test && ./test vectors.json
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "tally_exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1 << 16, NUMBERS_MAX = 1 << 14 };

static unsigned long failures, cases;

/* A case; numbers are their bits. */
typedef struct test_case {
    char operation[8];
    bool is_f64, is_nan;
    size_t n;
    uint64_t result;
    uint64_t x[NUMBERS_MAX], y[NUMBERS_MAX];
} test_case;

/* ---- reading ---- */

/* Where the value of a key begins; NULL without it. */
static const char *value_of(const char *line, const char *key) {
    char quoted[16];
    sprintf(quoted, "\"%s\": ", key);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

/* A list of "bits" and "bits*times"; returns how many numbers it stands for. */
static size_t read_numbers(const char *list, uint64_t *numbers) {
    size_t n = 0;
    while (*list != ']') {
        char *end;
        if (*list++ != '"')
            continue;
        const uint64_t bits = strtoull(list, &end, 16);
        unsigned long times = *end == '*' ? strtoul(end + 1, &end, 10) : 1;
        if (*end != '"' || times > NUMBERS_MAX - n) {
            fprintf(stderr, "test: not a list of numbers: %.40s\n", list);
            exit(2);
        }
        while (times-- > 0)
            numbers[n++] = bits;
        list = end + 1;
    }
    return n;
}

static bool read_case(const char *line, test_case *c) {
    const char *operation = value_of(line, "operation"), *type = value_of(line, "type"), *x = value_of(line, "x"),
               *y = value_of(line, "y"), *result = value_of(line, "result");
    if (!operation || !type || !x || !result)
        return false;
    sscanf(operation, "\"%7[a-z]", c->operation);
    c->is_f64 = strncmp(type, "\"f64", 4) == 0;
    c->is_nan = strncmp(result, "\"nan", 4) == 0;
    c->result = c->is_nan ? 0 : strtoull(result + 1, NULL, 16);
    c->n = read_numbers(x, c->x);
    if (y && read_numbers(y, c->y) != c->n)
        return false;
    return true;
}

/* ---- running ---- */

static double as_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float as_float(uint64_t bits) {
    const uint32_t four = (uint32_t)bits;
    float value;
    memcpy(&value, &four, sizeof value);
    return value;
}

static void check(const test_case *c, const char *how, const void *value) {
    uint64_t bits = 0, magnitude, infinity = c->is_f64 ? UINT64_C(0x7ff) << 52 : UINT64_C(0xff) << 23;
    uint32_t four;
    if (c->is_f64) {
        memcpy(&bits, value, 8);
    } else {
        memcpy(&four, value, 4);
        bits = four;
    }
    magnitude = bits & ~(UINT64_C(1) << (c->is_f64 ? 63 : 31));
    if (c->is_nan ? magnitude > infinity : bits == c->result)
        return;
    failures++;
    printf("%s %s of %zu elements, %s: %016" PRIx64 " instead of %016" PRIx64 "%s\n", c->operation,
           c->is_f64 ? "f64" : "f32", c->n, how, bits, c->result, c->is_nan ? " (NaN)" : "");
}

static void add(const test_case *c, tally_exact *sum, size_t from, size_t end) {
    static double x[NUMBERS_MAX], y[NUMBERS_MAX];
    static float narrow_x[NUMBERS_MAX], narrow_y[NUMBERS_MAX];
    const size_t n = end - from;
    for (size_t i = 0; i < n; i++) {
        x[i] = as_double(c->x[from + i]);
        y[i] = as_double(c->y[from + i]);
        narrow_x[i] = as_float(c->x[from + i]);
        narrow_y[i] = as_float(c->y[from + i]);
    }
    if (strcmp(c->operation, "dot") == 0) {
        if (c->is_f64)
            tally_exact_add_dot(sum, x, y, n);
        else
            tally_exact_add_dot_f32(sum, narrow_x, narrow_y, n);
    } else if (c->is_f64) {
        tally_exact_add(sum, x, n);
    } else {
        tally_exact_add_f32(sum, narrow_x, n);
    }
}

static void begin(const test_case *c, tally_exact *sum) {
    if (strcmp(c->operation, "dot") == 0)
        tally_exact_begin_dot(sum);
    else
        tally_exact_begin(sum);
}

static void check_value(const test_case *c, const char *how, const tally_exact *sum) {
    const bool mean = strcmp(c->operation, "mean") == 0;
    const double wide = mean ? tally_exact_mean_value(sum) : tally_exact_value(sum);
    const float narrow = mean ? tally_exact_mean_value_f32(sum) : tally_exact_value_f32(sum);
    check(c, how, c->is_f64 ? (const void *)&wide : &narrow);
    if (tally_exact_count(sum) != c->n) {
        failures++;
        printf("%s: a count of %" PRIu64 " for %zu elements\n", how, tally_exact_count(sum), c->n);
    }
}

static void run_whole(const test_case *c) {
    static double x[NUMBERS_MAX], y[NUMBERS_MAX];
    static float narrow_x[NUMBERS_MAX], narrow_y[NUMBERS_MAX];
    double wide;
    float narrow;
    for (size_t i = 0; i < c->n; i++) {
        x[i] = as_double(c->x[i]);
        y[i] = as_double(c->y[i]);
        narrow_x[i] = as_float(c->x[i]);
        narrow_y[i] = as_float(c->y[i]);
    }
    if (strcmp(c->operation, "sum") == 0) {
        wide = c->is_f64 ? tally_exact_sum(x, c->n) : 0;
        narrow = c->is_f64 ? 0 : tally_exact_sum_f32(narrow_x, c->n);
    } else if (strcmp(c->operation, "mean") == 0) {
        wide = c->is_f64 ? tally_exact_mean(x, c->n) : 0;
        narrow = c->is_f64 ? 0 : tally_exact_mean_f32(narrow_x, c->n);
    } else {
        wide = c->is_f64 ? tally_exact_dot(x, y, c->n) : 0;
        narrow = c->is_f64 ? 0 : tally_exact_dot_f32(narrow_x, narrow_y, c->n);
    }
    check(c, "at once", c->is_f64 ? (const void *)&wide : &narrow);
}

static void run_backwards(const test_case *c) {
    tally_exact sum;
    begin(c, &sum);
    for (size_t i = c->n; i-- > 0;)
        add(c, &sum, i, i + 1);
    check_value(c, "backwards", &sum);
}

/* Parts, each saved and loaded, merged into one; its saved form must be that of the sum without parts. */
static void run_in_parts(const test_case *c) {
    static uint32_t seed = 1;
    unsigned char bytes[TALLY_EXACT_SAVED_MAX], whole_bytes[TALLY_EXACT_SAVED_MAX];
    tally_exact sum, part, loaded;
    begin(c, &sum);
    for (size_t from = 0; from < c->n;) {
        seed = seed * 1664525 + 1013904223;
        const size_t most = c->n - from, end = from + 1 + (seed >> 8) % (most < 7 ? most : c->n / 3 + 1) % most;
        begin(c, &part);
        add(c, &part, from, end);
        const size_t size = tally_exact_save(&part, bytes);
        if (!tally_exact_load(&loaded, bytes, size)) {
            failures++;
            printf("%s: a saved state was refused\n", c->operation);
            return;
        }
        bytes[(seed >> 16) % size] ^= (unsigned char)(1 << (seed >> 8) % 8);
        if (tally_exact_load(&part, bytes, size) || tally_exact_load(&part, bytes, size - 1)) {
            failures++;
            printf("%s: a damaged state was loaded\n", c->operation);
        }
        tally_exact_merge(&sum, &loaded);
        from = end;
    }
    check_value(c, "in parts", &sum);
    begin(c, &part);
    add(c, &part, 0, c->n);
    const size_t size = tally_exact_save(&sum, bytes);
    if (tally_exact_save(&part, whole_bytes) != size || memcmp(bytes, whole_bytes, size) != 0) {
        failures++;
        printf("%s of %zu elements: parts have another saved form than the whole\n", c->operation, c->n);
    }
}

/* A state added to itself, time and again: the carries of 2^40 elements. */
static void run_doubling(void) {
    const double x[] = {-1.5, 0x1p-1074, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023};
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add(&sum, x, 4);
    for (int i = 0; i < 38; i++)
        tally_exact_merge(&sum, &sum);
    cases++;
    if (tally_exact_value(&sum) != -1.5 * 0x1p38 || tally_exact_mean_value(&sum) != -0.375 ||
        tally_exact_count(&sum) != UINT64_C(1) << 40) {
        failures++;
        printf("doubling: %a\n", tally_exact_value(&sum));
    }
}

int main(int argc, char **argv) {
    static char line[LINE_MAX_BYTES];
    static test_case c;
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: test vectors.json\n");
        return 2;
    }
    while (fgets(line, sizeof line, file))
        if (read_case(line, &c)) {
            cases++;
            run_whole(&c);
            run_backwards(&c);
            run_in_parts(&c);
        }
    fclose(file);
    run_doubling();
    printf("%lu cases, %lu failures\n", cases, failures);
    return failures != 0 || cases < 1000;
}
