/* The saved form of an exact state: little-endian, canonical (one byte sequence for one multiset of summands) and
 * protected by a checksum. docs/accumulator-format.md describes it.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_EXACT_SAVED_H
#define TALLY_EXACT_SAVED_H

#include <stddef.h>

#include "exact/superaccumulator.h"
#include "tally/tally.h"

enum { TALLY_SAVED_VERSION = 1, TALLY_SAVED_MAX = 56 + 4 * TALLY_LIMBS_MAX + 4 };

/* Writes at most TALLY_SAVED_MAX bytes and returns how many. 'op' and 'in' are of those that accumulators take. */
size_t tally_saved_write(const tally_superaccumulator *accumulator, tally_op op, tally_dtype in, uint8_t *bytes);

/* Reads them back. TALLY_BAD_STATE, with the reason and the outputs untouched, for bytes that tally_saved_write would
 * not have written. */
tally_status tally_saved_read(const uint8_t *bytes, size_t size, tally_superaccumulator *accumulator, tally_op *op,
                              tally_dtype *in);

#endif
