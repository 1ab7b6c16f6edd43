/* print.c: see print.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

static uint64_t row_length(const output_array *a) {
    return a->rank == 0 || (a->rank == 1 && !a->pairs) ? 1 : a->shape[a->rank - 1];
}

static void print_element(const output_array *a, uint64_t index, const void *element) {
    char text[NUMBER_FORMAT_MAX];
    const uint64_t row = row_length(a);
    const size_t length = number_format(text, a->dtype, element);
    text[length] = index % row == row - 1 ? '\n' : ' ';
    fwrite(text, 1, length + 1, stdout);
}

void print_elements(const output_array *a, uint64_t first, const void *elements, size_t n) {
    const size_t size = tally_dtype_size(a->dtype);
    for (size_t i = 0; i < n; i++)
        print_element(a, first + i, (const unsigned char *)elements + i * size);
}

/* Walks over an array in NumPy's order, whatever its order in memory. */
typedef struct walk {
    uint64_t index[OUTPUT_MAX_RANK], stride[OUTPUT_MAX_RANK];
    uint64_t at; /* in memory, in elements */
    uint64_t count;
} walk;

static walk walk_over(const output_array *a) {
    walk w = {0};
    uint64_t stride = 1;
    for (int i = 0; i < a->rank; i++) {
        const int axis = a->fortran_order ? i : a->rank - 1 - i;
        w.stride[axis] = stride;
        stride *= a->shape[axis];
    }
    w.count = stride;
    return w;
}

/* Moves to the next element; returns how many of the last dimensions ended with the present one. */
static int walk_on(walk *w, const output_array *a) {
    int ended = 0;
    for (int axis = a->rank - 1; axis >= 0; axis--) {
        w->at += w->stride[axis];
        if (++w->index[axis] < a->shape[axis])
            break;
        w->at -= w->stride[axis] * a->shape[axis];
        w->index[axis] = 0;
        ended++;
    }
    return ended;
}

void print_array(const output_array *a, const void *elements) {
    const size_t size = tally_dtype_size(a->dtype);
    walk w = walk_over(a);
    for (uint64_t i = 0; i < w.count; i++) {
        print_element(a, i, (const unsigned char *)elements + w.at * size);
        walk_on(&w, a);
    }
}

static void print_json_number(tally_dtype dtype, const void *element) {
    char text[NUMBER_FORMAT_MAX];
    number_format(text, dtype, element);
    const bool word = strchr("in", text[text[0] == '-']);
    printf(word ? "\"%s\"" : "%s", text);
}

static void repeat(char c, int times) {
    for (int i = 0; i < times; i++)
        putchar(c);
}

/* An empty array keeps the brackets of the dimensions before the first that is 0. */
static void print_json_empty(const output_array *a, int axis) {
    putchar('[');
    for (uint64_t i = 0; axis + 1 < a->rank && i < a->shape[axis]; i++) {
        if (i > 0)
            putchar(',');
        print_json_empty(a, axis + 1);
    }
    putchar(']');
}

void print_json_array(const output_array *a, const void *elements) {
    const size_t size = tally_dtype_size(a->dtype);
    walk w = walk_over(a);
    if (w.count == 0) {
        print_json_empty(a, 0);
        return;
    }
    repeat('[', a->rank);
    for (uint64_t i = 0; i < w.count; i++) {
        print_json_number(a->dtype, (const unsigned char *)elements + w.at * size);
        const int ended = walk_on(&w, a);
        repeat(']', ended);
        if (i + 1 < w.count) {
            putchar(',');
            repeat('[', ended);
        }
    }
}

void print_json_string_to(FILE *file, const char *text) {
    fputc('"', file);
    for (const unsigned char *p = (const unsigned char *)text; *p != 0; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(file, "\\%c", *p);
        else if (*p < 0x20)
            fprintf(file, "\\u%04x", *p);
        else
            fputc(*p, file);
    }
    fputc('"', file);
}

void print_json_string(const char *text) {
    print_json_string_to(stdout, text);
}
