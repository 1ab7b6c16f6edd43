#include "cpu/components.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/copy.h"

/* Whatever the size of argmin's value, the index stands 8 bytes after its start. */
enum { INDEX_AT = 8 };

tally_dtype tally_cpu_second_type(const tally_cpu_plan *plan) {
    return plan->lifted.parts == TALLY_CPU_PLACE ? TALLY_I64 : plan->lifted.type;
}

/* The type of an accumulator, or of its first component. */
static tally_dtype acc_type(const tally_cpu_plan *plan) {
    return plan->lifted.parts == TALLY_CPU_NUMBER ? plan->kernels->acc_type
                                                  : tally_dtype_value(plan->base.computation.desc.in);
}

void tally_cpu_convert_numbers(const tally_cpu_plan *plan, tally_dtype from, tally_dtype to, const void *values,
                               size_t count, void *out) {
    if (from == to && count == 1) /* as at each block's beginning and end */
        tally_cpu_copy_one(out, values, tally_dtype_size(from));
    else if (from == to)
        tally_cpu_copy(out, values, count * tally_dtype_size(from));
    else
        plan->device->level->types[from]->convert[to](values, count, out);
}

/* to[i] = from[i], of 'bytes' each, where the elements begin as many bytes apart as is said. */
static void copy_apart(const void *from, size_t from_apart, size_t bytes, size_t count, size_t to_apart, void *to) {
    if (bytes == 1) /* the sizes are constants: a call for each would take most of the time */
        for (size_t i = 0; i < count; i++)
            memcpy((char *)to + i * to_apart, (const char *)from + i * from_apart, 1);
    else if (bytes == 2)
        for (size_t i = 0; i < count; i++)
            memcpy((char *)to + i * to_apart, (const char *)from + i * from_apart, 2);
    else if (bytes == 4)
        for (size_t i = 0; i < count; i++)
            memcpy((char *)to + i * to_apart, (const char *)from + i * from_apart, 4);
    else
        for (size_t i = 0; i < count; i++)
            memcpy((char *)to + i * to_apart, (const char *)from + i * from_apart, 8);
}

static size_t second_at(const tally_cpu_plan *plan, size_t bytes) {
    return plan->lifted.parts == TALLY_CPU_PLACE ? INDEX_AT : bytes;
}

/* No index is the largest one, from which a reverse scan takes the minimum; a forward one takes the maximum. */
static void exchange(const tally_cpu_plan *plan, int64_t from, int64_t to, size_t count, void *indices) {
    int64_t *each = indices;
    if (plan->lifted.parts == TALLY_CPU_PLACE && !plan->base.computation.reverse)
        for (size_t i = 0; i < count; i++)
            each[i] = each[i] == from ? to : each[i];
}

/* Whether any, or every one, of the elements that were counted is not 0. */
static void truths_of_counts(const tally_cpu_plan *plan, const int64_t *counts, size_t count, uint64_t elements,
                             uint8_t *truths) {
    for (size_t i = 0; i < count; i++)
        truths[i] = plan->base.computation.desc.op == TALLY_ANY ? counts[i] != 0 : (uint64_t)counts[i] == elements;
}

/* A number of elements of which the same is true. */
static void counts_of_truths(const uint8_t *truths, size_t count, uint64_t elements, int64_t *counts) {
    for (size_t i = 0; i < count; i++)
        counts[i] = truths[i] ? (int64_t)elements : 0;
}

/* NaN is the largest of all integers, or the smallest one. Without signs it is the largest one anyway. */
static void order(const tally_cpu_plan *plan, const void *x, size_t count, bool back, void *to) {
    const tally_computation *c = &plan->base.computation;
    const uint16_t infinity = c->desc.in == TALLY_F16 ? 0x7c00 : 0x7f80;
    const bool magnitudes = c->monoid == TALLY_MONOID_maxabs;
    const uint16_t least = magnitudes                      ? 0
                           : c->monoid == TALLY_MONOID_min ? infinity + 1
                                                           : (uint16_t)~infinity; /* -infinity */
    plan->device->scans->order(x, count, magnitudes ? INT16_MAX : UINT16_MAX, least, back, to);
}

void tally_cpu_order_floats(const tally_cpu_plan *plan, const void *x, size_t count, void *ordered) {
    order(plan, x, count, false, ordered);
}

void tally_cpu_split(const tally_cpu_plan *plan, const void *acc, size_t count, uint64_t elements, tally_dtype to,
                     void *first, void *second) {
    if (plan->lifted.truths) {
        truths_of_counts(plan, acc, count, elements, first);
        return;
    }
    const tally_dtype type = acc_type(plan);
    if (plan->lifted.by_order) {
        tally_cpu_convert_numbers(plan, type, plan->base.computation.desc.in, acc, count, first);
        tally_cpu_order_floats(plan, first, count, first);
        return;
    }
    if (plan->lifted.parts == TALLY_CPU_NUMBER && type == to && count == 1 && plan->acc_bytes == sizeof(uint64_t)) {
        memcpy(first, acc, sizeof(uint64_t)); /* the commonest: for a row of 100 elements each call counts */
        return;
    }
    if (plan->lifted.parts == TALLY_CPU_NUMBER) {
        tally_cpu_convert_numbers(plan, type, to, acc, count, first);
        return;
    }
    uint64_t component[TALLY_CPU_LIFTED_COLUMNS];
    const size_t bytes = tally_dtype_size(type);
    copy_apart(acc, plan->acc_bytes, bytes, count, bytes, component);
    tally_cpu_convert_numbers(plan, type, to, component, count, first);
    const bool is_place = plan->lifted.parts == TALLY_CPU_PLACE;
    const size_t own = is_place ? sizeof(int64_t) : bytes;
    copy_apart((const char *)acc + second_at(plan, bytes), plan->acc_bytes, own, count, own, component);
    tally_cpu_convert_numbers(plan, is_place ? TALLY_I64 : type, tally_cpu_second_type(plan), component, count, second);
    exchange(plan, INT64_MAX, -1, count, second);
}

static void join(const tally_cpu_plan *plan, const void *first, const void *second, size_t count, void *acc) {
    const tally_dtype from = plan->lifted.type, type = acc_type(plan);
    const size_t bytes = tally_dtype_size(type);
    if (plan->lifted.by_order) {
        uint16_t floats[TALLY_CPU_LIFTED_COLUMNS];
        order(plan, first, count, true, floats);
        tally_cpu_convert_numbers(plan, plan->base.computation.desc.in, type, floats, count, acc);
        return;
    }
    if (plan->lifted.parts == TALLY_CPU_NUMBER) {
        tally_cpu_convert_numbers(plan, from, type, first, count, acc);
        return;
    }
    uint64_t component[TALLY_CPU_LIFTED_COLUMNS];
    tally_cpu_convert_numbers(plan, from, type, first, count, component);
    copy_apart(component, bytes, bytes, count, plan->acc_bytes, acc);
    const bool is_place = plan->lifted.parts == TALLY_CPU_PLACE;
    const size_t own = is_place ? sizeof(int64_t) : bytes;
    tally_cpu_convert_numbers(plan, tally_cpu_second_type(plan), is_place ? TALLY_I64 : type, second, count, component);
    exchange(plan, -1, INT64_MAX, count, component);
    copy_apart(component, own, own, count, plan->acc_bytes, (char *)acc + second_at(plan, bytes));
}

void tally_cpu_join(const tally_cpu_plan *plan, const void *first, const void *second, size_t count, uint64_t elements,
                    void *acc) {
    if (plan->lifted.truths)
        counts_of_truths(first, count, elements, acc);
    else
        join(plan, first, second, count, acc);
}

/* Narrow accumulators are values, whose conversions go through the wider type as well. */
static void lower_numbers(const tally_cpu_plan *plan, const void *numbers, size_t count, tally_counts counts,
                          void *out) {
    const tally_dtype from = plan->lifted.type;
    if (plan->lifted.as_they_are)
        tally_cpu_copy(out, numbers, count * plan->base.computation.out_bytes);
    else if (plan->lifted.by_order)
        order(plan, numbers, count, true, out);
    else if (from == plan->kernels->acc_type)
        plan->lower(plan, numbers, count, counts, out);
    else
        tally_cpu_convert_numbers(plan, from, plan->base.computation.desc.out, numbers, count, out);
}

static void lower_extremes(const tally_cpu_plan *plan, const void *first, const void *second, size_t count, void *out) {
    const tally_dtype from = plan->lifted.type, to = plan->base.computation.desc.out;
    const size_t bytes = tally_dtype_size(from), out_bytes = tally_dtype_size(to);
    const tally_cpu_pairs *pairs = &plan->device->level->pairs[from];
    if (from == to) {
        pairs->interleave(first, second, count, out);
        return;
    }
    for (size_t done = 0, piece; done < count; done += piece) {
        uint64_t pair[2 * TALLY_CPU_BATCH];
        piece = least(count - done, TALLY_CPU_BATCH);
        pairs->interleave(tally_at(first, done, bytes), tally_at(second, done, bytes), piece, pair);
        tally_cpu_convert_numbers(plan, from, to, pair, 2 * piece, tally_at_mutable(out, 2 * done, out_bytes));
    }
}

void tally_cpu_lower_prefixes(const tally_cpu_plan *plan, const void *first, const void *second, size_t count,
                              tally_counts counts, void *out) {
    if (plan->lifted.parts == TALLY_CPU_NUMBER)
        lower_numbers(plan, first, count, counts, out);
    else if (plan->lifted.parts == TALLY_CPU_EXTREMES)
        lower_extremes(plan, first, second, count, out);
    else
        tally_cpu_convert_numbers(plan, TALLY_I64, plan->base.computation.desc.out, second, count, out);
}
