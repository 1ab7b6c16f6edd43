/* The public accumulators: a plan of the CPU that runs on the calling thread, and its accumulator.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"
#include "cpu/counted.h"
#include "cpu/fpenv.h"
#include "cpu/level.h"
#include "cpu/lower.h"
#include "cpu/plan.h"
#include "cpu/skipping.h"
#include "cpu/words.h"
#include "exact/saved.h"
#include "tally/tally.h"

struct tally_accumulator {
    tally_cpu_device device; /* without threads */
    tally_cpu_plan plan;
    tally_words_form form;
    bool skips_nan;
    uint64_t count;
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
};

_Static_assert(TALLY_SAVED_MAX <= TALLY_ACCUMULATOR_MAX_BYTES, "the public limit is too low");

static const tally_computation *computation_of(const tally_accumulator *a) {
    return &a->plan.base.computation;
}

static const char *name_of(const tally_accumulator *a) {
    return computation_of(a)->entry->name;
}

/* ---- creation ---- */

static tally_status make(const tally_computation *computation, bool skips_nan, tally_accumulator **accumulator) {
    const size_t bytes = (size_t)round_up(sizeof(tally_accumulator), 64);
    tally_accumulator *a = aligned_alloc(64, bytes);
    if (!a)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for an accumulator of %zu bytes", bytes);
    memset(a, 0, sizeof *a);
    a->skips_nan = skips_nan;
    tally_status status = tally_words_form_of(computation, &a->form);
    if (status == TALLY_OK)
        status = tally_cpu_level_choose(NULL, &a->device.level, &a->device.exact, &a->device.scans);
    if (status == TALLY_OK)
        status = tally_cpu_plan_for_caller(&a->device, computation, &a->plan);
    if (status != TALLY_OK) {
        free(a);
        return status;
    }
    a->plan.kernels->identity(&a->plan.context, 1, a->acc);
    *accumulator = a;
    return TALLY_OK;
}

tally_status tally_accumulator_create_for(const tally_desc *desc, tally_accumulator **accumulator) {
    if (!desc || !accumulator)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_create_for: %s is NULL",
                          desc ? "accumulator" : "desc");
    tally_computation computation;
    const tally_status status = tally_computation_decide(desc, &computation);
    if (status != TALLY_OK)
        return status;
    if (desc->form != TALLY_REDUCE || desc->grouping != TALLY_ALL_VALUES || desc->flags & ~(unsigned)TALLY_SKIP_NAN)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "an accumulator is of a reduction of all values; leave desc.form, grouping and flags as in "
                          "TALLY_DESC_INIT, but for TALLY_SKIP_NAN");
    if (computation.skips_nan && tally_class_of(computation.monoid) == TALLY_CLASS_INDEXED)
        return tally_fail(TALLY_UNSUPPORTED,
                          "an accumulator of %s with TALLY_SKIP_NAN: its index counts all elements, an accumulator "
                          "those that were not left out",
                          tally_op_name(desc->op));
    const bool skips_nan = computation.skips_nan;
    computation.skips_nan = false; /* the state is that of the other elements */
    computation.desc.flags = 0;
    return make(&computation, skips_nan, accumulator);
}

tally_status tally_accumulator_create(tally_op op, tally_dtype in, tally_accumulator **accumulator) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = op;
    desc.in = in;
    desc.mode = TALLY_EXACT;
    return tally_accumulator_create_for(&desc, accumulator);
}

void tally_accumulator_destroy(tally_accumulator *accumulator) {
    free(accumulator);
}

/* ---- elements ---- */

static tally_status check_elements(const tally_accumulator *a, const void *x, const void *y, size_t n) {
    const bool two = tally_has_trait(computation_of(a), TALLY_OPERATOR_TWO_INPUTS);
    if (!two && y)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: y is only for dot, and this is %s",
                          name_of(a));
    if (n && (!x || (two && !y)))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: %s is NULL and n is %zu", x ? "y" : "x", n);
    if (n > SIZE_MAX / computation_of(a)->in_bytes)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: %zu elements do not fit into memory", n);
    if (n > UINT64_MAX - a->count)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: more than 2^64 - 1 elements in all");
    return TALLY_OK;
}

tally_status tally_accumulator_add(tally_accumulator *accumulator, const void *x, const void *y, size_t n) {
    if (!accumulator)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: accumulator is NULL");
    const tally_status status = check_elements(accumulator, x, y, n);
    if (status != TALLY_OK || n == 0)
        return status;
    tally_cpu_plan *const plan = &accumulator->plan;
    tally_fpenv saved = tally_fpenv_enter();
    if (accumulator->skips_nan) {
        accumulator->count += tally_cpu_fold_numbers(plan, x, y, n, accumulator->acc);
    } else {
        plan->kernels->fold(&plan->context, x, y, n, accumulator->count, accumulator->acc);
        accumulator->count += n;
    }
    tally_fpenv_leave(&saved);
    return TALLY_OK;
}

/* Adds the accumulator of elements that come next; 'other' changes. */
static tally_status append(tally_accumulator *into, const char *call, void *other, uint64_t count) {
    if (count > UINT64_MAX - into->count)
        return tally_fail(TALLY_INVALID_ARGUMENT, "%s: more than 2^64 - 1 elements in all", call);
    tally_fpenv saved = tally_fpenv_enter();
    tally_cpu_words_append(&into->plan, other, count, into->acc, &into->count);
    tally_fpenv_leave(&saved);
    return TALLY_OK;
}

tally_status tally_accumulator_merge(tally_accumulator *into, const tally_accumulator *from) {
    if (!into || !from)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_merge: %s is NULL", into ? "from" : "into");
    if (into->form.tag != from->form.tag)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_merge: %s of %s and %s of %s do not merge",
                          name_of(into), tally_dtype_name(computation_of(into)->desc.in), name_of(from),
                          tally_dtype_name(computation_of(from)->desc.in));
    _Alignas(64) unsigned char other[TALLY_CPU_ACC_MOST]; /* 'from' may be 'into' */
    memcpy(other, from->acc, from->plan.acc_bytes);
    return append(into, "tally_accumulator_merge", other, from->count);
}

uint64_t tally_accumulator_count(const tally_accumulator *accumulator) {
    return accumulator ? accumulator->count : 0;
}

/* ---- the value ---- */

tally_status tally_accumulator_value(const tally_accumulator *accumulator, tally_dtype out, void *value) {
    if (!accumulator || !value)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_value: %s is NULL",
                          accumulator ? "value" : "accumulator");
    const tally_computation *c = computation_of(accumulator);
    tally_desc desc = c->desc;
    desc.acc = desc.mode == TALLY_EXACT ? TALLY_DEFAULT : desc.acc;
    desc.out = out == TALLY_DEFAULT ? desc.out : out;
    tally_computation converted;
    tally_status status = tally_computation_decide(&desc, &converted);
    if (status != TALLY_OK)
        return status;
    if (!accumulator->count && tally_empty_is_error(c))
        return tally_fail(TALLY_EMPTY, "%s of nothing has no value", c->entry->name);
    tally_cpu_plan plan = accumulator->plan;
    plan.base.computation.desc.out = converted.desc.out;
    plan.base.computation.out_bytes = converted.out_bytes;
    tally_cpu_lower_choose(&plan);
    tally_fpenv saved = tally_fpenv_enter();
    plan.lower(&plan, accumulator->acc, 1, (tally_counts){NULL, accumulator->count, 0}, value);
    tally_fpenv_leave(&saved);
    return TALLY_OK;
}

/* ---- words ---- */

tally_status tally_accumulator_words(const tally_accumulator *accumulator, int64_t *words, size_t words_bytes) {
    if (!accumulator || !words)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_words: %s is NULL",
                          accumulator ? "words" : "accumulator");
    const size_t bytes = accumulator->form.count * sizeof *words;
    if (words_bytes < bytes)
        return tally_fail(TALLY_OUTPUT_TOO_SMALL,
                          "tally_accumulator_words: there are %zu bytes for words, %zu are needed", words_bytes, bytes);
    tally_fpenv saved = tally_fpenv_enter();
    tally_cpu_words_write(&accumulator->plan, &accumulator->form, accumulator->acc, accumulator->count, words);
    tally_fpenv_leave(&saved);
    return TALLY_OK;
}

tally_status tally_accumulator_add_words(tally_accumulator *accumulator, const int64_t *words, size_t words_bytes) {
    if (!accumulator || !words)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add_words: %s is NULL",
                          accumulator ? "words" : "accumulator");
    const size_t bytes = accumulator->form.count * sizeof *words;
    if (words_bytes != bytes)
        return tally_fail(TALLY_BAD_STATE, "tally_accumulator_add_words: %zu bytes of words; %s of %s has %zu",
                          words_bytes, name_of(accumulator), tally_dtype_name(computation_of(accumulator)->desc.in),
                          bytes);
    _Alignas(64) unsigned char other[TALLY_CPU_ACC_MOST];
    uint64_t count;
    tally_fpenv saved = tally_fpenv_enter();
    const tally_status status = tally_cpu_words_read(&accumulator->plan, &accumulator->form, words, 0, other, &count);
    tally_fpenv_leave(&saved);
    return status == TALLY_OK ? append(accumulator, "tally_accumulator_add_words", other, count) : status;
}

/* ---- the saved form ---- */

/* Integers are saved as superaccumulators, too. Their accumulator is one number in two's complement. */
enum { MOST_WORDS = 4 };

static void saved_of_integers(const tally_accumulator *a, tally_superaccumulator *state) {
    const tally_dtype in = computation_of(a)->desc.in;
    const uint64_t *words = (const uint64_t *)(const void *)a->acc;
    const int32_t highest = 2 * (int32_t)(a->plan.acc_bytes / sizeof *words) - 1;
    tally_superaccumulator_init(state, tally_exact_layout_of(in, tally_exact_has_products(computation_of(a)->desc.op)));
    for (int32_t k = 0; k <= highest; k++) {
        const uint32_t digit = (uint32_t)(words[k / 2] >> 32 * (k % 2));
        const bool has_sign = k == highest && tally_dtype_is_signed(in);
        tally_superaccumulator_deposit(state, has_sign ? (int32_t)digit : (int64_t)digit, 32 * k);
    }
    state->count = a->count;
    state->others = a->count != 0;
}

static void integers_of_saved(const tally_superaccumulator *state, tally_accumulator *a) {
    uint64_t words[MOST_WORDS + 1] = {0}, carry = 1;
    tally_magnitude m;
    tally_superaccumulator_magnitude(state, &m);
    for (int32_t i = 0; i < m.count; i++) {
        const int32_t at = m.exponent + 32 * i; /* of a digit's bit 0; bits below 0 are 0 */
        const uint64_t digit = at < 0 ? m.digits[i] >> -at : m.digits[i];
        const int32_t bit = at < 0 ? 0 : at;
        words[bit / 64] |= digit << bit % 64;
        if (bit % 64 > 32)
            words[bit / 64 + 1] |= digit >> (64 - bit % 64);
    }
    for (int k = 0; k < MOST_WORDS && m.negative; k++) {
        words[k] = ~words[k] + carry;
        carry = carry && !words[k];
    }
    memcpy(a->acc, words, a->plan.acc_bytes);
}

/* NULL if there is no saved form, which is said in the last error. */
static const tally_superaccumulator *saved_state(const tally_accumulator *a, tally_exact_state *room) {
    const tally_computation *c = computation_of(a);
    if (c->exact && c->entry->saved_code) {
        memcpy(room, a->acc, sizeof *room);
        tally_exact_to_limbs(room, (tally_exact_layout)a->plan.context.layout);
        return &room->limbs;
    }
    if (c->rounds_integer && c->entry->saved_code) {
        saved_of_integers(a, &room->limbs);
        return &room->limbs;
    }
    tally_fail(TALLY_UNSUPPORTED, "a saved form of %s of %s: it travels as words (tally_accumulator_words)",
               c->entry->name, tally_dtype_name(c->desc.in));
    return NULL;
}

static size_t write_saved(const tally_accumulator *a, uint8_t bytes[TALLY_SAVED_MAX]) {
    tally_exact_state room;
    tally_fpenv saved = tally_fpenv_enter();
    const tally_superaccumulator *state = saved_state(a, &room);
    const size_t size =
        state ? tally_saved_write(state, computation_of(a)->desc.op, computation_of(a)->desc.in, bytes) : 0;
    tally_fpenv_leave(&saved);
    return size;
}

size_t tally_accumulator_saved_bytes(const tally_accumulator *accumulator) {
    uint8_t bytes[TALLY_SAVED_MAX];
    return accumulator ? write_saved(accumulator, bytes) : 0;
}

tally_status tally_accumulator_save(const tally_accumulator *accumulator, void *buffer, size_t buffer_bytes,
                                    size_t *bytes) {
    if (!accumulator || !buffer || !bytes)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_save: %s is NULL",
                          !accumulator ? "accumulator" : (!buffer ? "buffer" : "bytes"));
    uint8_t saved[TALLY_SAVED_MAX];
    const size_t size = write_saved(accumulator, saved);
    if (size == 0)
        return TALLY_UNSUPPORTED;
    if (size > buffer_bytes)
        return tally_fail(TALLY_OUTPUT_TOO_SMALL, "tally_accumulator_save: the buffer has %zu bytes, %zu are needed",
                          buffer_bytes, size);
    memcpy(buffer, saved, size);
    *bytes = size;
    return TALLY_OK;
}

tally_status tally_accumulator_load(const void *buffer, size_t bytes, tally_accumulator **accumulator) {
    if (!buffer || !accumulator)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_load: %s is NULL",
                          buffer ? "accumulator" : "buffer");
    tally_superaccumulator state;
    tally_op op;
    tally_dtype in;
    tally_status status = tally_saved_read(buffer, bytes, &state, &op, &in);
    tally_accumulator *made = NULL;
    if (status == TALLY_OK)
        status = tally_accumulator_create(op, in, &made);
    if (status != TALLY_OK || !made)
        return status;
    made->count = state.count;
    if (computation_of(made)->exact) {
        tally_exact_state *const acc = (tally_exact_state *)(void *)made->acc;
        acc->holds = TALLY_HOLDS_LIMBS;
        acc->limbs = state;
    } else {
        integers_of_saved(&state, made);
    }
    *accumulator = made;
    return TALLY_OK;
}
