/* wrap.c: see wrap.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

static const double two_to_62 = 0x1p62, two_to_64 = 0x1p64;

/* Whether a sum or product of integers of text may pass 64 bits: its result is wide. */
static bool may_wrap(const work *w) {
    const tally_traits *t = &w->o->traits;
    return (w->x.from_text || (w->y_open && w->y.from_text && t->inputs == 2)) && !number_is_float(w->desc.acc) &&
           (t->result == TALLY_RESULT_WIDE || t->result == TALLY_RESULT_WIDE_UNSIGNED);
}

static int make_plan(work *w, tally_grouping grouping, tally_form form, unsigned flags, tally_plan **plan) {
    tally_desc desc = w->desc;
    desc.grouping = grouping;
    desc.form = form;
    desc.flags = flags;
    desc.mode = TALLY_FAST;
    desc.acc = desc.out = TALLY_F64;
    return work_check(w, NULL, tally_plan_create(w->device, &desc, plan));
}

static int make_initial(work *w, wrap *second) {
    int code = buffer_make(w, &second->initial, sizeof(double));
    if (code != 0)
        return code;
    number_parse(w->o->initial, strlen(w->o->initial), TALLY_F64, second->initial.host);
    return buffer_to_device(w, &second->initial, sizeof(double));
}

int wrap_open(work *w, wrap *second, tally_grouping grouping, tally_form form, unsigned flags, uint64_t results) {
    int code;
    if (!may_wrap(w))
        return 0;
    second->adds_products = w->o->traits.inputs == 2;
    if (second->adds_products)
        return 0;
    if ((code = make_plan(w, grouping, form, flags, &second->plan)) != 0 ||
        (code = buffer_make(w, &second->out, results * sizeof(double))) != 0)
        return code;
    return w->o->initial ? make_initial(w, second) : 0;
}

int wrap_open_large(work *w, wrap *second) {
    return second->plan ? make_plan(w, TALLY_ALL_VALUES, TALLY_REDUCE, 0, &second->large) : 0;
}

void wrap_close(work *w, wrap *second) {
    tally_plan_destroy(second->plan);
    tally_plan_destroy(second->large);
    buffer_free(w, &second->out);
    buffer_free(w, &second->initial);
}

static tally_args arguments(const wrap *second, const tally_args *args) {
    tally_args again = *args;
    again.out = args->out ? second->out.device : NULL;
    again.out_bytes = args->out ? second->out.bytes : 0;
    again.initial = args->initial ? second->initial.device : NULL;
    return again;
}

int wrap_run(work *w, wrap *second, const tally_args *args) {
    uint64_t count;
    if (!second->plan)
        return 0;
    tally_args again = arguments(second, args);
    again.count = args->count ? &count : NULL;
    return work_check(w, w->x.name, tally_run(second->plan, &again, TALLY_SYNCHRONOUS));
}

int wrap_push(const wrap *second, tally_plan *plan, const tally_args *args, const char *name, fault *f) {
    if (!plan)
        return 0;
    const tally_args again = arguments(second, args);
    return work_check_in(f, name, tally_push(plan, &again));
}

int wrap_finish(work *w, wrap *second, tally_plan *plan) {
    return plan ? work_check(w, w->x.name, tally_finish(plan, second->out.device, second->out.bytes)) : 0;
}

static __int128 integer_at(tally_dtype dtype, const void *element) {
    int64_t value;
    uint64_t bits;
    if (number_to_i64(dtype, element, &value))
        return value;
    memcpy(&bits, element, sizeof bits); /* a u64 */
    return bits;
}

/* A product is less than 2^128, and if it can be negative, less than 2^127. */
void wrap_add_products(const work *w, wrap *second, const void *x, const void *y, uint64_t n) {
    const tally_dtype dtype = w->x.dtype;
    const size_t size = w->x.element_bytes;
    const bool is_signed = number_traits(dtype).is_signed;
    const unsigned char *a = x, *b = y;
    for (uint64_t i = 0; second->adds_products && i < n; i++, a += size, b += size) {
        const unsigned __int128 product =
            (unsigned __int128)integer_at(dtype, a) * (unsigned __int128)integer_at(dtype, b);
        second->low += product;
        second->high += second->low < product;
        second->high -= is_signed && (__int128)product < 0;
    }
}

/* Whether the sum of a dot's products is outside the accumulator's type; *about is the sum. */
static bool dot_has_wrapped(const work *w, const wrap *second, double *about) {
    const bool is_negative = second->high < 0;
    const unsigned __int128 low = is_negative ? -second->low : second->low;
    const int64_t high = is_negative ? -(second->high + (second->low != 0)) : second->high;
    const unsigned __int128 one = 1, most = w->desc.acc == TALLY_U64 ? (one << 64) - 1 : (one << 63) - 1;
    *about = (is_negative ? -1 : 1) * ((double)high * 0x1p128 + (double)low);
    return high != 0 || low > most + is_negative;
}

/* A product with a factor 0 may be NaN in f64, as infinity times 0; it is 0 however much it has wrapped. */
static bool has_wrapped(double result, double second) {
    if (isinf(result)) /* f16 */
        return fabs(second) >= 2 * two_to_62;
    return !isnan(second) && !(fabs(second - result) < two_to_62);
}

static int passes_64_bits(work *w, const char *which, double about) {
    return fault_data(w->f, "%s: %s %s passes 64 bits (about %.3g); --%sdtype f64 computes it rounded", w->x.name,
                      which, tally_op_name(w->desc.op), about, w->desc.mode == TALLY_EXACT ? "" : "acc-");
}

int wrap_compare(work *w, const wrap *second, const void *results, size_t n, uint64_t first) {
    const size_t size = work_result_bytes(w);
    double about;
    if (second->adds_products)
        return dot_has_wrapped(w, second, &about) ? passes_64_bits(w, "the", about) : 0;
    for (size_t i = 0; second->plan && i < n; i++) {
        double value;
        memcpy(&value, (const unsigned char *)second->out.host + i * sizeof value, sizeof value);
        if (!has_wrapped(number_to_f64(w->desc.out, (const unsigned char *)results + i * size), value))
            continue;
        char which[48] = "the";
        if (w->out.array.rank > 0)
            snprintf(which, sizeof which, "result %" PRIu64 " of the", first + i);
        return passes_64_bits(w, which, value);
    }
    return 0;
}

int wrap_fetch(work *w, wrap *second, size_t n) {
    return second->plan ? buffer_to_host(w, &second->out, n * sizeof(double)) : 0;
}

int wrap_check(work *w, wrap *second, const void *results, size_t n, uint64_t first) {
    const int code = wrap_fetch(w, second, n);
    return code != 0 ? code : wrap_compare(w, second, results, n, first);
}

/* Decimal digits. */
static void format_wide(__int128 value, char text[WRAP_TEXT_MAX]) {
    unsigned __int128 left = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    char digits[WRAP_TEXT_MAX];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + (int)(left % 10));
        left /= 10;
    } while (left > 0);
    if (value < 0)
        digits[--at] = '-';
    memcpy(text, digits + at, sizeof digits - at);
}

/* For the two operators that add the elements themselves, which no trait says. Below 2^31 elements the absolute values
 * add up to less than 2^95. The sum in f64, of pieces of 2^19 elements, is then less than 2^62 off. */
bool wrap_exact_sum(const work *w, const wrap *second, const void *result, uint64_t n, char text[WRAP_TEXT_MAX]) {
    double value;
    uint64_t bits;
    if (!second->plan || (w->desc.op != TALLY_SUM && w->desc.op != TALLY_NORM1) || n >= UINT64_C(1) << 31 ||
        w->o->out_dtype != TALLY_DEFAULT || w->out.kind != OUTPUT_PRINTED)
        return false;
    const double wrapped = number_to_f64(w->desc.out, result);
    memcpy(&value, second->out.host, sizeof value);
    memcpy(&bits, result, sizeof bits);
    if (!has_wrapped(wrapped, value))
        return false;
    const __int128 low = w->desc.out == TALLY_I64 ? (__int128)(int64_t)bits : (__int128)bits;
    format_wide(low + (__int128)rint((value - wrapped) / two_to_64) * ((__int128)1 << 64), text);
    return true;
}
