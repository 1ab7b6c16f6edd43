/* number.h: numbers as text, in and out, for every element type. Reading rounds once, to nearest even, straight into
 * the type asked for; writing gives the shortest decimal that reads back as the same bits.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_NUMBER_H
#define TALLY_CLI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

typedef enum number_status {
    NUMBER_OK = 0,
    NUMBER_NONE,        /* not a number */
    NUMBER_NOT_INTEGER, /* a number, but the type has integers only */
    NUMBER_OUT_OF_RANGE /* a finite number that the type cannot hold */
} number_status;

/* What a text could be read as, from most to least narrow. */
typedef enum number_kind {
    NUMBER_NO_NUMBER = 0,
    NUMBER_I64,         /* decimal digits with or without sign, fits i64 */
    NUMBER_U64,         /* does not fit i64, fits u64 */
    NUMBER_BIG_INTEGER, /* fits neither */
    NUMBER_FLOAT        /* point, exponent, hexadecimal, inf or nan */
} number_kind;

/* Grammar: [+-] digits; or a decimal with point and exponent; or 0x with hexadecimal digits, point and p exponent; or
 * inf, infinity, nan in any case. No blanks, underscores, thousands separators or suffixes. text[length] must be 0. */
number_kind number_classify(const char *text, size_t length);

/* Writes one element of the type to 'element', which is untouched unless NUMBER_OK. Integer types take decimal
 * integers only. A decimal too large for a float type is NUMBER_OUT_OF_RANGE, not inf; one too small rounds to 0. */
number_status number_parse(const char *text, size_t length, tally_dtype dtype, void *element);

/* The element as text, 0-terminated; returns the length. Floats: -0, inf, -inf, nan (whatever its sign and payload),
 * fixed notation for exponents from -4 to 15, else scientific, as Python's repr without ".0". */
#define NUMBER_FORMAT_MAX 40
size_t number_format(char text[NUMBER_FORMAT_MAX], tally_dtype dtype, const void *element);

/* An integer element of any integer type as i64; false when it does not fit. */
bool number_to_i64(tally_dtype dtype, const void *element, int64_t *value);

/* An element of any type as a double, rounded where it is an integer of more than 53 bits. */
double number_to_f64(tally_dtype dtype, const void *element);

static inline tally_type_traits number_traits(tally_dtype dtype) {
    tally_type_traits traits = {.struct_size = sizeof traits};
    tally_dtype_traits(dtype, &traits);
    return traits;
}

static inline bool number_is_float(tally_dtype dtype) {
    return number_traits(dtype).is_float;
}

#endif
