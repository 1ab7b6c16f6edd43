/* The public accumulators: an exact state and the operator that it is rounded for. Adding uses the kernels of the CPU's
 * best level; the superaccumulator does the rest.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/status.h"
#include "cpu/kernels/exact.h"
#include "cpu/level.h"
#include "exact/round.h"
#include "exact/saved.h"
#include "exact/superaccumulator.h"
#include "tally/tally.h"

struct tally_accumulator {
    tally_op op;
    tally_dtype in;
    tally_superaccumulator state;
};

_Static_assert(TALLY_SAVED_MAX <= TALLY_ACCUMULATOR_MAX_BYTES, "the public limit is too low");

static tally_status allocate(tally_accumulator **accumulator) {
    *accumulator = malloc(sizeof **accumulator);
    if (!*accumulator)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for an accumulator of %zu bytes", sizeof **accumulator);
    return TALLY_OK;
}

tally_status tally_accumulator_create(tally_op op, tally_dtype in, tally_accumulator **accumulator) {
    if (!accumulator)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_create: accumulator is NULL");
    if (!tally_op_name(op))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_create: %d is not an operator", (int)op);
    if (in == TALLY_DEFAULT || !tally_dtype_name(in))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_create: %d is not an element type", (int)in);
    const tally_operator *entry = tally_operator_of(op);
    char names[128];
    if (!entry || !(entry->traits & TALLY_OPERATOR_ROUNDS_ONCE))
        return tally_fail(TALLY_UNSUPPORTED, "an accumulator of %s: they take %s", tally_op_name(op),
                          tally_operators_with(TALLY_OPERATOR_ROUNDS_ONCE, names, sizeof names));
    if (!tally_dtype_is_float(in) && tally_monoid_of_integers(entry, in) == TALLY_MONOID_user)
        return tally_fail(TALLY_UNSUPPORTED, "an accumulator of %s of %s: of integers it is exact without one",
                          entry->name, tally_dtype_name(in));
    tally_accumulator *made;
    const tally_status status = allocate(&made);
    if (status != TALLY_OK)
        return status;
    made->op = op;
    made->in = in;
    tally_superaccumulator_init(&made->state, tally_exact_layout_of(in, tally_exact_has_products(op)));
    *accumulator = made;
    return TALLY_OK;
}

void tally_accumulator_destroy(tally_accumulator *accumulator) {
    free(accumulator);
}

static bool has_two_inputs(const tally_accumulator *accumulator) {
    return tally_operator_of(accumulator->op)->traits & TALLY_OPERATOR_TWO_INPUTS;
}

/* The sum, which an exact plan's accumulator would be, in digits of 32 bits; the highest has the sign. */
static void add_integers(tally_accumulator *accumulator, const void *x, size_t n) {
    const tally_monoid monoid = tally_monoid_of_integers(tally_operator_of(accumulator->op), accumulator->in);
    const tally_cpu_level *level = NULL;
    const tally_exact_kernels *exact;
    tally_cpu_level_choose(NULL, &level, &exact);
    const tally_cpu_kernels *kernels = level->types[accumulator->in]->kernels[monoid];
    const tally_cpu_context context = {.in_bytes = tally_dtype_size(accumulator->in)};
    uint64_t words[4];
    kernels->identity(&context, 1, words);
    kernels->fold(&context, x, x, n, 0, words);
    const int32_t count = (int32_t)(kernels->acc_bytes / sizeof *words), highest = 2 * count - 1;
    for (int32_t k = 0; k <= highest; k++) {
        const uint32_t digit = (uint32_t)(words[k / 2] >> 32 * (k % 2));
        const bool has_sign = k == highest && tally_dtype_is_signed(accumulator->in);
        tally_superaccumulator_deposit(&accumulator->state, has_sign ? (int32_t)digit : (int64_t)digit, 32 * k);
    }
    accumulator->state.count += n;
    accumulator->state.others = 1;
}

tally_status tally_accumulator_add(tally_accumulator *accumulator, const void *x, const void *y, size_t n) {
    if (!accumulator)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: accumulator is NULL");
    if (!has_two_inputs(accumulator) && y)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: y is only for dot, and this is %s",
                          tally_op_name(accumulator->op));
    if (n == 0)
        return TALLY_OK;
    if (!x || (has_two_inputs(accumulator) && !y))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: %s is NULL and n is %zu", x ? "y" : "x", n);
    if (n > SIZE_MAX / tally_dtype_size(accumulator->in))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: %zu elements do not fit into memory", n);
    if (n > UINT64_MAX - accumulator->state.count)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_add: more than 2^64 - 1 elements in all");
    if (!tally_dtype_is_float(accumulator->in)) {
        add_integers(accumulator, x, n);
        return TALLY_OK;
    }
    const tally_exact_type_kernels *kernels = tally_exact_of_type(tally_cpu_exact_kernels(), accumulator->in);
    if (!tally_exact_has_products(accumulator->op))
        kernels->add(&accumulator->state, x, n);
    else
        kernels->add_products(&accumulator->state, x, has_two_inputs(accumulator) ? y : x, n);
    return TALLY_OK;
}

tally_status tally_accumulator_merge(tally_accumulator *into, const tally_accumulator *from) {
    if (!into || !from)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_merge: %s is NULL", into ? "from" : "into");
    if (into->in != from->in || tally_exact_has_products(into->op) != tally_exact_has_products(from->op))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_merge: %s of %s and %s of %s do not merge",
                          tally_op_name(into->op), tally_dtype_name(into->in), tally_op_name(from->op),
                          tally_dtype_name(from->in));
    if (from->state.count > UINT64_MAX - into->state.count)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_merge: more than 2^64 - 1 elements in all");
    const tally_superaccumulator state = from->state; /* 'from' may be 'into' */
    tally_superaccumulator_merge(&into->state, &state);
    return TALLY_OK;
}

tally_status tally_accumulator_value(const tally_accumulator *accumulator, tally_dtype out, void *value) {
    if (!accumulator || !value)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_value: %s is NULL",
                          accumulator ? "value" : "accumulator");
    if (out == TALLY_DEFAULT)
        out = tally_dtype_is_float(accumulator->in) ? accumulator->in : TALLY_F64;
    if (!tally_dtype_name(out))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_value: %d is not a type", (int)out);
    if (!tally_dtype_is_float(out))
        return tally_fail(TALLY_UNSUPPORTED, "an accumulator's value as %s: it rounds to a float",
                          tally_dtype_name(out));
    tally_round_result(&accumulator->state, accumulator->op, out, value);
    return TALLY_OK;
}

uint64_t tally_accumulator_count(const tally_accumulator *accumulator) {
    return accumulator ? accumulator->state.count : 0;
}

size_t tally_accumulator_saved_bytes(const tally_accumulator *accumulator) {
    uint8_t bytes[TALLY_SAVED_MAX];
    return accumulator ? tally_saved_write(&accumulator->state, accumulator->op, accumulator->in, bytes) : 0;
}

tally_status tally_accumulator_save(const tally_accumulator *accumulator, void *buffer, size_t buffer_bytes,
                                    size_t *bytes) {
    if (!accumulator || !buffer || !bytes)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_accumulator_save: %s is NULL",
                          !accumulator ? "accumulator" : (!buffer ? "buffer" : "bytes"));
    uint8_t saved[TALLY_SAVED_MAX];
    const size_t size = tally_saved_write(&accumulator->state, accumulator->op, accumulator->in, saved);
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
    tally_accumulator read;
    const tally_status status = tally_saved_read(buffer, bytes, &read.state, &read.op, &read.in);
    if (status != TALLY_OK)
        return status;
    tally_accumulator *made;
    const tally_status allocated = allocate(&made);
    if (allocated != TALLY_OK)
        return allocated;
    *made = read;
    *accumulator = made;
    return TALLY_OK;
}
