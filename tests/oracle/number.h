/* Numbers of every element type, read and written by code that shares nothing with the library: halves are decoded by
 * hand, and rounding to a type is done in long double by scaling the unit in the last place to one. */
#ifndef TALLY_ORACLE_NUMBER_H
#define TALLY_ORACLE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tally/tally.h"

/* An element, widened: integers by sign or zero extension, floats to double (exactly: every float type fits). */
typedef union cell {
    int64_t i;
    uint64_t u;
    double d;
} cell;

typedef enum number_kind { KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT } number_kind;

number_kind kind_of(tally_dtype type);
bool is_float(tally_dtype type);
size_t size_of(tally_dtype type);

/* Significant bits, and the exponent e of the smallest subnormal 2^e, of a float type. */
int precision_of(tally_dtype type);
int smallest_exponent_of(tally_dtype type);
long double largest_of(tally_dtype type);

/* Reads n elements from memory of any alignment. */
void decode(tally_dtype type, const void *memory, size_t n, cell *cells);

/* Writes one element; floats must already be representable (round_to). */
void encode(tally_dtype type, cell value, void *memory);

/* An element of these bits, the lowest of the 64. */
void store_bits(tally_dtype type, uint64_t bits, void *memory);

/* Nearest value of a float type, ties to even, with gradual underflow and overflow to infinity. */
long double round_to(tally_dtype type, long double value);

/* Unit in the last place of a float type at a magnitude. */
long double ulp_at(tally_dtype type, long double magnitude);

/* The smallest or largest integer of an integer type, or the infinities. */
cell lowest_cell(tally_dtype type);
cell highest_cell(tally_dtype type);

#endif
