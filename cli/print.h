/* print.h: results for people and programs on standard output: lines of text, or JSON.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_PRINT_H
#define TALLY_CLI_PRINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "output.h"

/* Text: one row (the last dimension) a line, blanks between; an array of one dimension one value a line, except the
 * pair of a minmax. 'first' says where in the array the elements belong. */
void print_elements(const output_array *array, uint64_t first, const void *elements, size_t n);

/* A whole array of either order, in NumPy's order. */
void print_array(const output_array *array, const void *elements);

/* JSON: nested lists; numbers as they read back exactly; nan, inf and -inf as strings. */
void print_json_array(const output_array *array, const void *elements);
void print_json_string(const char *text);
void print_json_string_to(FILE *file, const char *text);

#endif
