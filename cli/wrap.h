/* wrap.h: finds sums and products of text's integers that pass 64 bits.
 *
 * The library's integers wrap, as C's and NumPy's do, and an npy file or raw numbers have a type whose user expects
 * that. Text has none: a wrapped result of it would be a wrong number without a word. So the command computes each such
 * result a second time in f64. Both agree to far less than 2^62, unless the first one has wrapped: then they are a
 * multiple of 2^64 apart. A dot is the exception: its products are too large for f64 to tell, because they may cancel.
 * The command adds them exactly, in 192 bits.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_WRAP_H
#define TALLY_CLI_WRAP_H

#include "buffer.h"

/* Starts as all zeros. Where nothing can wrap it stays so, and the calls do nothing. */
typedef struct wrap {
    tally_plan *plan, *large; /* as the command's own; 'large' for one group in pieces beside many groups */
    buffer out, initial;
    bool adds_products; /* dot: instead of a plan, high * 2^128 + low is the sum */
    unsigned __int128 low;
    int64_t high;
} wrap;

/* After work_plan; 'results' is how many there are at most at a time. */
int wrap_open(work *w, wrap *second, tally_grouping grouping, tally_form form, unsigned flags, uint64_t results);
void wrap_close(work *w, wrap *second);

/* The plan for one group in pieces. */
int wrap_open_large(work *w, wrap *second);

/* The same as tally_run, tally_push and tally_finish do with the command's own plan, whose arguments these are. */
int wrap_run(work *w, wrap *second, const tally_args *args);
int wrap_push(const wrap *second, tally_plan *plan, const tally_args *args, const char *name, fault *f);
int wrap_finish(work *w, wrap *second, tally_plan *plan);

/* For a dot: adds n products of the two inputs. */
void wrap_add_products(const work *w, wrap *second, const void *x, const void *y, uint64_t n);

/* Compares n results with those that wrap_fetch has brought to the host; wrap_check does both. 'first': the number of
 * the first, for the message. */
int wrap_fetch(work *w, wrap *second, size_t n);
int wrap_compare(work *w, const wrap *second, const void *results, size_t n, uint64_t first);
int wrap_check(work *w, wrap *second, const void *results, size_t n, uint64_t first);

/* The one result of n elements as the exact integer, for a sum that has wrapped and is to be printed: by which multiple
 * of 2^64 is known. False if it has not wrapped, or cannot be given so. */
enum { WRAP_TEXT_MAX = 48 };
bool wrap_exact_sum(const work *w, const wrap *second, const void *result, uint64_t n, char text[WRAP_TEXT_MAX]);

#endif
