#include "core/arguments.h"

#include <inttypes.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"

/* product = a * b, or false when it does not fit; sizes must fit ptrdiff_t so that pointer differences are defined. */
static bool multiply(uint64_t a, uint64_t b, uint64_t *product) {
    return !__builtin_mul_overflow(a, b, product) && *product <= PTRDIFF_MAX;
}

tally_status tally_shape_check(const tally_computation *c, const tally_shape *s, uint64_t *elements,
                               uint64_t *results) {
    bool fits = true;
    *elements = *results = 0;
    switch (c->desc.grouping) {
    case TALLY_ALL_VALUES:
    case TALLY_KEYS:
        *elements = s->extent;
        *results = c->desc.grouping == TALLY_KEYS ? s->extent : 1;
        break;
    case TALLY_AXIS:
        /* A dimension of 0 makes the product 0, whatever the others are. */
        if (s->outer == 0 || s->inner == 0)
            break;
        fits = multiply(s->outer, s->inner, results);
        if (fits && s->extent)
            fits = multiply(*results, s->extent, elements);
        break;
    case TALLY_SEGMENTS:
    case TALLY_LABELS:
        *elements = s->extent;
        *results = s->groups;
        break;
    default:
        break;
    }
    if (tally_is_scan(c))
        *results = *elements;
    const bool has_groups = c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_LABELS;
    uint64_t bytes;
    if (!fits || !multiply(*elements, c->in_bytes, &bytes) ||
        !multiply(*results, c->out_bytes * c->per_result, &bytes) ||
        (has_groups && (s->groups == UINT64_MAX || !multiply(s->groups + 1, c->index_bytes, &bytes))) ||
        (c->index_bytes && !multiply(s->extent, c->index_bytes, &bytes)))
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "the shape (outer %" PRIu64 ", extent %" PRIu64 ", inner %" PRIu64 ", groups %" PRIu64
                          ") has more bytes than can be addressed",
                          s->outer, s->extent, s->inner, s->groups);
    if (c->desc.grouping == TALLY_LABELS && s->groups > TALLY_MOST_LABELS)
        return tally_fail(TALLY_INVALID_ARGUMENT, "shape.groups is %" PRIu64 "; labels have at most 2^31 - 1 groups",
                          s->groups);
    return TALLY_OK;
}

static tally_status missing(const char *field, const char *why) {
    return tally_fail(TALLY_INVALID_ARGUMENT, "args.%s is NULL; %s", field, why);
}

/* Whether the accumulator's type has a value for every initial value, which is of the output's type. Sums, products and
 * bits wrap, so that width is enough for integers; a minimum or maximum must be the very number. */
static bool holds_initial(const tally_computation *c) {
    const tally_dtype acc = c->desc.acc, out = c->desc.out;
    const size_t acc_bytes = tally_dtype_size(acc), out_bytes = tally_dtype_size(out);
    if (acc == out || tally_dtype_is_float(acc) != tally_dtype_is_float(out))
        return acc == out;
    if (tally_dtype_is_float(acc))
        return out_bytes < acc_bytes;
    const bool compares = tally_class_of(c->monoid) == TALLY_CLASS_VALUE;
    if (compares && tally_dtype_is_signed(acc) != tally_dtype_is_signed(out))
        return tally_dtype_is_signed(acc) && out_bytes < acc_bytes;
    return out_bytes <= acc_bytes;
}

/* The value itself may be in a device's memory, so its type decides. */
static tally_status check_initial(const tally_computation *c) {
    if (c->exact || holds_initial(c)) /* a superaccumulator holds every float */
        return TALLY_OK;
    const char *const acc = tally_dtype_name(c->desc.acc), *const out = tally_dtype_name(c->desc.out);
    const bool is_float = tally_dtype_is_float(c->desc.out);
    const bool in_f64 = is_float && tally_may_accumulate_in_f64(c->entry);
    const bool as_input = !in_f64 && !(is_float && tally_has_trait(c, TALLY_OPERATOR_INTEGERS_ONLY));
    return tally_fail(TALLY_UNSUPPORTED,
                      "args.initial has the output's type, %s, but %s of %s is computed in %s, which does not hold "
                      "every %s: set desc.out to %s%s%s",
                      out, c->entry->name, tally_dtype_name(c->desc.in), acc, out, acc,
                      in_f64     ? ", or desc.acc to f64"
                      : as_input ? ", or give the input as "
                                 : "",
                      as_input ? out : "");
}

static tally_status refuse_initial(void) {
    char names[128];
    return tally_fail(TALLY_INVALID_ARGUMENT, "args.initial is for scans of %s",
                      tally_operators_with(TALLY_OPERATOR_TAKES_INITIAL, names, sizeof names));
}

static tally_status check_inputs(const tally_computation *c, const tally_args *a, uint64_t elements) {
    bool two = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) && !c->takes_words;
    if (elements && !a->x)
        return missing("x", "it is the input");
    if (elements && two && !a->y)
        return missing("y", "the operator has two inputs");
    if (!two && a->y)
        return tally_fail(TALLY_INVALID_ARGUMENT, "args.y is set, but the operator has one input");
    if (c->desc.grouping == TALLY_SEGMENTS && !a->offsets)
        return missing("offsets", "segments need groups + 1 of them");
    if (c->desc.grouping == TALLY_KEYS && elements && !a->keys)
        return missing("keys", "grouping by keys needs one per element");
    if (c->desc.grouping == TALLY_LABELS && elements && !a->labels)
        return missing("labels", "grouping by labels needs one per element");
    if (a->initial && !(tally_is_scan(c) && tally_has_trait(c, TALLY_OPERATOR_TAKES_INITIAL)))
        return refuse_initial();
    return a->initial ? check_initial(c) : TALLY_OK;
}

/* An output may be the input itself if elements map one to one; with any other overlap, elements would be overwritten
 * before they are read. */
static tally_status check_overlap(const tally_computation *c, const tally_args *a, uint64_t in_bytes,
                                  uint64_t out_bytes) {
    if (!in_bytes || !out_bytes)
        return TALLY_OK;
    uintptr_t out = (uintptr_t)a->out;
    const void *const inputs[] = {a->x, a->y};
    for (int i = 0; i < 2; i++) {
        uintptr_t in = (uintptr_t)inputs[i];
        if (!inputs[i] || in >= out + out_bytes || out >= in + in_bytes)
            continue;
        bool in_place = in == out && tally_is_scan(c) && c->in_bytes == c->out_bytes * c->per_result;
        if (!in_place)
            return tally_fail(TALLY_INVALID_ARGUMENT,
                              "args.out overlaps args.%c; only a scan with input and output "
                              "elements of one size may run in place, from the same address",
                              "xy"[i]);
    }
    return TALLY_OK;
}

tally_status tally_args_check(const tally_computation *c, const tally_args *a, bool is_push, uint64_t *results) {
    if (a->struct_size != sizeof *a)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_args.struct_size is %zu; start from TALLY_ARGS_INIT (%zu)",
                          a->struct_size, sizeof *a);
    if (is_push && c->desc.grouping == TALLY_AXIS && a->shape.outer != 1)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_push: outer is %" PRIu64 "; pieces need 1", a->shape.outer);
    uint64_t elements;
    tally_status status = tally_shape_check(c, &a->shape, &elements, results);
    if (status != TALLY_OK || (status = check_inputs(c, a, elements)) != TALLY_OK)
        return status;
    bool writes = *results && !(is_push && !tally_is_scan(c));
    if (!writes)
        return TALLY_OK;
    if (!a->out)
        return missing("out", "it is the output");
    uint64_t needed = *results * c->out_bytes * c->per_result;
    if (!tally_counts_runs(c) && a->out_bytes < needed)
        return tally_fail(TALLY_OUTPUT_TOO_SMALL, "args.out_bytes is %zu; the output needs %" PRIu64, a->out_bytes,
                          needed);
    return check_overlap(c, a, elements * c->in_bytes, least(a->out_bytes, needed));
}
