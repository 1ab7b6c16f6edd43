/* Between accumulators and words, which are the same on all back ends: integers, the bits of doubles, digits of 32
 * bits, and keys whose order as int64s is the order of the values.
 *
 * A plan that takes words folds states instead of elements. Its accumulator is that of its operator, and the number of
 * elements. */
#include "cpu/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"
#include "core/words_check.h"
#include "cpu/lower.h"
#include "exact/words.h"

/* ---- numbers of an accumulator ---- */

/* The type of component k, and where it stands. */
static tally_dtype component(const tally_cpu_plan *states, int k, size_t *at) {
    const tally_computation *c = &states->base.computation;
    const tally_dtype value_type = tally_dtype_value(c->desc.in);
    *at = (size_t)k * sizeof(int64_t);
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_FLOATS:
        return TALLY_F64;
    case TALLY_CLASS_INTEGERS:
        return TALLY_U64;
    case TALLY_CLASS_INDEXED:
        return k == 0 ? value_type : TALLY_I64;
    case TALLY_CLASS_VALUES:
        *at = (size_t)k * tally_dtype_size(value_type);
        return value_type;
    default:
        return states->kernels->acc_type;
    }
}

static double without_payload(double x) {
    return x == x ? x : (double)NAN;
}

/* A component as a word: an integer, or the bits of a double. */
static int64_t load(tally_dtype type, const void *from) {
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        float f32;
        double f64;
    } x;
    memcpy(&x, from, tally_dtype_size(type));
    switch (type) {
    case TALLY_I8:
        return x.i8;
    case TALLY_U8:
        return x.u8;
    case TALLY_I16:
        return x.i16;
    case TALLY_U16:
        return x.u16;
    case TALLY_I32:
        return x.i32;
    case TALLY_U32:
        return x.u32;
    case TALLY_F32:
        x.f64 = without_payload((double)x.f32);
        return x.i64;
    case TALLY_F64:
        x.f64 = without_payload(x.f64);
        return x.i64;
    default:
        return x.i64;
    }
}

static void store(tally_dtype type, int64_t word, void *to) {
    const uint8_t one = (uint8_t)word;
    const uint16_t two = (uint16_t)word;
    const uint32_t four = (uint32_t)word;
    double wide;
    memcpy(&wide, &word, sizeof wide);
    const float narrow = (float)wide;
    const size_t bytes = tally_dtype_size(type);
    memcpy(to,
           type == TALLY_F32 ? (const void *)&narrow
           : bytes == 8      ? (const void *)&word
           : bytes == 4      ? (const void *)&four
           : bytes == 2      ? (const void *)&two
                             : &one,
           bytes);
}

/* ---- keys ---- */

/* An int64 that orders as the values do: -0 below +0, and NaN above all. For minima the complement, so that the largest
 * key is that of the smallest value; NaN stays above all. */
static int64_t key_of(tally_dtype type, bool is_least, int64_t word) {
    const int64_t nan = INT64_C(0x7ff8000000000000);
    if (tally_dtype_is_float(type)) {
        if (word == nan)
            return word;
        word = word < 0 ? word ^ INT64_MAX : word;
    } else if (type == TALLY_U64) {
        word ^= INT64_MIN;
    }
    return is_least ? ~word : word;
}

static int64_t word_of(tally_dtype type, bool is_least, int64_t key) {
    const int64_t nan = INT64_C(0x7ff8000000000000);
    if (tally_dtype_is_float(type) && key == nan)
        return nan;
    const int64_t word = is_least ? ~key : key;
    if (tally_dtype_is_float(type))
        return word < 0 ? word ^ INT64_MAX : word;
    return type == TALLY_U64 ? word ^ INT64_MIN : word;
}

static bool is_least(const tally_cpu_plan *states, int k) {
    return tally_words_is_least(states->base.computation.monoid, k);
}

/* ---- writing ---- */

static void write_exact(const tally_cpu_plan *states, const tally_words_form *form, const tally_exact_state *acc,
                        int64_t *words) {
    const tally_exact_layout layout = (tally_exact_layout)states->context.layout;
    tally_exact_state limbs = acc[0];
    tally_exact_to_limbs(&limbs, layout);
    tally_words_of_superaccumulator(form, &limbs.limbs, words);
    if (form->squares) {
        limbs = acc[1];
        tally_exact_to_limbs(&limbs, tally_exact_layout_with(layout, true));
        tally_words_of_digits(&limbs.limbs, words + TALLY_WORDS_AT_DIGITS + form->numbers, form->squares);
    }
}

static void write_integer(const uint64_t *acc, int count, bool is_signed, int64_t *digits) {
    const int last = count - 1;
    for (int k = 0; k <= last; k++)
        digits[k] = (int64_t)(uint32_t)(acc[k / 2] >> 32 * (k % 2));
    if (is_signed)
        digits[last] = (int32_t)(uint32_t)digits[last];
}

/* The accumulator of a variance begins with the number of elements. */
static void write_digits(const tally_cpu_plan *states, const tally_words_form *form, const uint64_t *acc,
                         int64_t *digits) {
    const uint64_t *const sum = form->squares ? acc + 1 : acc;
    write_integer(sum, form->numbers, tally_dtype_is_signed(states->base.computation.desc.in), digits);
    if (form->squares)
        write_integer(sum + form->numbers / 2, form->squares, false, digits + form->numbers);
}

static void write_numbers(const tally_cpu_plan *states, const tally_words_form *form, const void *acc, int64_t *words) {
    for (int k = 0; k < form->numbers; k++) {
        size_t at;
        const tally_dtype type = component(states, k, &at);
        words[k] = load(type, (const char *)acc + at);
        if (form->kind == TALLY_WORDS_EXTREMES)
            words[k] = key_of(type, is_least(states, k), words[k]);
    }
}

void tally_cpu_words_write(const tally_cpu_plan *states, const tally_words_form *form, const void *acc,
                           uint64_t elements, int64_t *words) {
    tally_words_clear(form, words);
    if (!elements)
        return;
    words[TALLY_WORDS_AT_ELEMENTS] = (int64_t)elements;
    if (form->kind == TALLY_WORDS_EXACT)
        write_exact(states, form, acc, words);
    else if (form->kind == TALLY_WORDS_DIGITS)
        write_digits(states, form, acc, words + TALLY_WORDS_HEAD);
    else
        write_numbers(states, form, acc, words + TALLY_WORDS_HEAD);
    tally_words_seal(form, words);
}

/* ---- reading: each gives the reason why no elements give these words, or NULL ---- */

static const char *read_exact(const tally_words_form *form, const int64_t *words, tally_exact_state *acc) {
    acc[0].holds = TALLY_HOLDS_LIMBS;
    const char *reason = tally_superaccumulator_of_words(form, words, &acc[0].limbs);
    if (!reason && form->squares) {
        acc[1].holds = TALLY_HOLDS_LIMBS;
        reason = tally_squares_of_words(form, words, &acc[1].limbs);
    }
    return reason;
}

static const char *read_integer(const int64_t *words, int count, bool is_signed, uint64_t *acc) {
    int64_t digits[TALLY_WORDS_MOST];
    memcpy(digits, words, (size_t)count * sizeof *digits);
    tally_words_settle(digits, count);
    const int64_t top = digits[count - 1];
    if (is_signed ? top != (int32_t)top : top != (int64_t)(uint32_t)top)
        return "a sum larger than their elements can have";
    for (int k = 0; k < count; k += 2)
        acc[k / 2] = (uint64_t)digits[k] | (uint64_t)digits[k + 1] << 32;
    return NULL;
}

static const char *read_digits(const tally_cpu_plan *states, const tally_words_form *form, const int64_t *words,
                               uint64_t elements, uint64_t *acc) {
    uint64_t *const sum = form->squares ? acc + 1 : acc;
    const char *reason =
        read_integer(words, form->numbers, tally_dtype_is_signed(states->base.computation.desc.in), sum);
    if (!reason && form->squares) {
        acc[0] = elements;
        reason = read_integer(words + form->numbers, form->squares, false, sum + form->numbers / 2);
    }
    return reason;
}

static const char *read_numbers(const tally_cpu_plan *states, const tally_words_form *form, const int64_t *words,
                                uint64_t elements, void *acc) {
    const tally_monoid_class kind = tally_class_of(states->base.computation.monoid);
    for (int k = 0; k < form->numbers; k++) {
        size_t at;
        const tally_dtype type = component(states, k, &at);
        const bool is_key = form->kind == TALLY_WORDS_EXTREMES;
        const int64_t word = is_key ? word_of(type, is_least(states, k), words[k]) : words[k];
        store(type, word, (char *)acc + at);
        /* A sum in f32 that was made in f64 is rounded; all else are values of the type. */
        const bool may_round = type == TALLY_F32 && !is_key && kind != TALLY_CLASS_INDEXED;
        if (!may_round && load(type, (char *)acc + at) != word)
            return "a number that is none of the type";
    }
    if (kind == TALLY_CLASS_INDEXED && (uint64_t)words[1] >= elements)
        return "an index past their elements";
    return NULL;
}

static const char *read_elements(const tally_cpu_plan *states, const tally_words_form *form, const int64_t *words,
                                 void *acc, uint64_t *elements) {
    const bool is_extreme = form->kind == TALLY_WORDS_EXTREMES;
    *elements = is_extreme ? !tally_words_are_empty(words) : (uint64_t)words[TALLY_WORDS_AT_ELEMENTS];
    if (!*elements) {
        states->kernels->identity(&states->context, 1, acc);
        for (size_t i = 0; i < form->count && !is_extreme; i++)
            if (words[i] != 0)
                return "numbers without elements";
        return NULL;
    }
    if (form->kind == TALLY_WORDS_EXACT)
        return read_exact(form, words, acc);
    if (form->kind == TALLY_WORDS_DIGITS)
        return read_digits(states, form, words + TALLY_WORDS_HEAD, *elements, acc);
    return read_numbers(states, form, words + TALLY_WORDS_HEAD, *elements, acc);
}

tally_status tally_cpu_words_read(const tally_cpu_plan *states, const tally_words_form *form, const int64_t *words,
                                  uint64_t state, void *acc, uint64_t *elements) {
    _Alignas(64) unsigned char read[TALLY_CPU_ACC_MOST];
    uint64_t count;
    tally_status status = tally_words_check(form, words, state);
    if (status != TALLY_OK)
        return status;
    const char *reason = read_elements(states, form, words, read, &count);
    if (reason)
        return tally_fail(TALLY_BAD_STATE, "words of state %llu: %s", (unsigned long long)state, reason);
    memcpy(acc, read, states->acc_bytes);
    *elements = count;
    return TALLY_OK;
}

void tally_cpu_words_append(const tally_cpu_plan *states, void *other, uint64_t other_elements, void *acc,
                            uint64_t *elements) {
    if (!other_elements)
        return;
    if (tally_class_of(states->base.computation.monoid) == TALLY_CLASS_INDEXED) {
        size_t at;
        component(states, 1, &at);
        int64_t *const index = (int64_t *)(void *)((char *)other + at);
        *index = (int64_t)((uint64_t)*index + *elements); /* words that were made up may have any index */
    }
    states->kernels->combine(&states->context, 1, other, acc);
    *elements += other_elements;
}

/* ---- kernels that fold states ---- */

_Static_assert(sizeof(tally_cpu_state) + 2 * sizeof(tally_exact_state) <= TALLY_CPU_ACC_MOST,
               "drivers keep accumulators on the stack");

static void words_identity(const tally_cpu_context *context, size_t count, void *acc) {
    const tally_cpu_plan *states = context->states;
    for (size_t i = 0; i < count; i++) {
        tally_cpu_state *const s = tally_state_at(context, acc, i);
        s->elements = 0;
        states->kernels->identity(&states->context, 1, tally_state_acc(s));
    }
}

/* Element i of x, which was checked before. */
static void take(const tally_cpu_context *context, const void *x, size_t i, tally_cpu_state *into) {
    const tally_cpu_plan *states = context->states;
    _Alignas(64) unsigned char other[TALLY_CPU_ACC_MOST];
    int64_t words[TALLY_WORDS_MOST];
    uint64_t elements;
    memcpy(words, tally_at(x, i, context->in_bytes), context->in_bytes);
    if (!read_elements(states, context->words, words, other, &elements))
        tally_cpu_words_append(states, other, elements, tally_state_acc(into), &into->elements);
}

static void words_fold(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                       void *acc) {
    (void)y, (void)index;
    for (size_t i = 0; i < n; i++)
        take(context, x, i, acc);
}

static void words_fold_rows(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t extent,
                            void *acc) {
    words_identity(context, rows, acc);
    for (size_t r = 0; r < rows; r++)
        words_fold(context, tally_at(x, r * extent, context->in_bytes), y, extent, 0, tally_state_at(context, acc, r));
}

static void words_fold_segments(const tally_cpu_context *context, const void *x, const void *y, const uint64_t *offsets,
                                size_t count, void *acc) {
    words_identity(context, count, acc);
    for (size_t i = 0; i < count; i++)
        words_fold(context, tally_at(x, offsets[i], context->in_bytes), y, offsets[i + 1] - offsets[i], 0,
                   tally_state_at(context, acc, i));
}

static void words_fold_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows,
                               size_t width, size_t stride, uint64_t index, void *acc) {
    (void)y, (void)index;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j++)
            take(context, x, r * stride + j, tally_state_at(context, acc, j));
}

static void words_fold_labels(const tally_cpu_context *context, const void *x, const void *y, const uint32_t *labels,
                              const uint64_t *places, size_t n, uint64_t index, void *acc) {
    (void)y, (void)places, (void)index;
    for (size_t i = 0; i < n; i++)
        take(context, x, i, tally_state_at(context, acc, labels[i]));
}

static void words_combine(const tally_cpu_context *context, size_t count, const void *other, void *acc) {
    const tally_cpu_plan *states = context->states;
    for (size_t i = 0; i < count; i++) {
        _Alignas(64) unsigned char copy[TALLY_CPU_ACC_MOST];
        memcpy(copy, tally_at(other, i, context->acc_stride), context->acc_stride);
        tally_cpu_state *const from = (tally_cpu_state *)(void *)copy, *const into = tally_state_at(context, acc, i);
        tally_cpu_words_append(states, tally_state_acc(from), from->elements, tally_state_acc(into), &into->elements);
    }
}

static const tally_cpu_kernels words_kernels = {
    .acc_type = TALLY_DEFAULT,
    .identity = words_identity,
    .fold = words_fold,
    .fold_rows = words_fold_rows,
    .fold_segments = words_fold_segments,
    .fold_columns = words_fold_columns,
    .fold_labels = words_fold_labels,
    .combine = words_combine,
};

/* ---- the ways out ---- */

static void give(const tally_cpu_plan *plan, const void *acc, uint64_t elements, size_t i, void *out) {
    const tally_computation *c = &plan->base.computation;
    int64_t words[TALLY_WORDS_MOST];
    tally_cpu_words_write(plan->states, &c->words, acc, elements, words);
    memcpy(tally_at_mutable(out, i, c->words.count * sizeof *words), words, c->words.count * sizeof *words);
}

static void lower_to_words(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    for (size_t i = 0; i < count; i++)
        give(plan, tally_at(acc, i, plan->acc_bytes), tally_count_of(counts, i), i, out);
}

void tally_cpu_words_lower_states(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts,
                                  void *out) {
    const tally_computation *c = &plan->base.computation;
    tally_cpu_plan *states = plan->states;
    (void)counts;
    for (size_t i = 0; i < count; i++) {
        const tally_cpu_state *s = tally_at(acc, i, plan->acc_bytes);
        if (c->gives_words)
            give(plan, s + 1, s->elements, i, out);
        else
            states->lower(states, s + 1, 1, (tally_counts){NULL, s->elements, 0},
                          tally_at_mutable(out, i, c->out_bytes * c->per_result));
        if (!s->elements)
            __atomic_store_n(&states->has_empty, true, __ATOMIC_RELAXED);
    }
}

void tally_cpu_words_choose(tally_cpu_plan *plan) {
    tally_computation *c = &plan->base.computation;
    const tally_cpu_plan *states = plan->states;
    if (!c->takes_words) {
        plan->kernels = states->kernels == &states->converted ? &plan->converted : states->kernels;
        plan->converted = states->converted;
        plan->context = states->context;
        plan->acc_bytes = states->acc_bytes;
        plan->lifted = states->lifted;
        plan->lower = lower_to_words;
        return;
    }
    c->exact = true; /* for the drivers: accumulators that are not to be looked into */
    plan->kernels = &words_kernels;
    plan->acc_bytes = sizeof(tally_cpu_state) + (size_t)round_up(states->acc_bytes, _Alignof(tally_cpu_state));
    plan->context = (tally_cpu_context){
        .in_bytes = c->in_bytes, .acc_stride = plan->acc_bytes, .states = states, .words = &c->words};
    plan->lower = tally_cpu_words_lower_states;
}

/* ---- checks ---- */

tally_status tally_cpu_words_check(const tally_cpu_plan *plan, const void *x, uint64_t n) {
    const tally_computation *c = &plan->base.computation;
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    int64_t words[TALLY_WORDS_MOST];
    uint64_t elements;
    tally_status status = TALLY_OK;
    for (uint64_t i = 0; i < n && status == TALLY_OK; i++) {
        memcpy(words, tally_at(x, i, c->in_bytes), c->in_bytes);
        status = tally_cpu_words_read(plan->states, &c->words, words, i, acc, &elements);
    }
    return status;
}

static tally_status is_empty(const tally_computation *c) {
    return tally_fail(TALLY_EMPTY, "%s of nothing has no value, and the states of a result have no elements",
                      c->entry->name);
}

tally_status tally_cpu_words_check_totals(const tally_cpu_plan *plan, const void *acc, uint64_t count) {
    const tally_computation *c = &plan->base.computation;
    for (uint64_t i = 0; i < count && c->takes_words && tally_empty_is_error(c); i++)
        if (!((const tally_cpu_state *)tally_at(acc, i, plan->acc_bytes))->elements)
            return is_empty(c);
    return TALLY_OK;
}

tally_status tally_cpu_words_run(tally_cpu_plan *plan, const tally_args *args, uint64_t results,
                                 tally_status run(tally_cpu_plan *plan, const tally_args *args)) {
    const tally_computation *c = &plan->base.computation;
    tally_args trial = *args;
    trial.out_bytes = (size_t)(results * c->out_bytes * c->per_result);
    trial.out = malloc(trial.out_bytes ? trial.out_bytes : 1);
    trial.keys_out = NULL;
    trial.count = NULL;
    if (!trial.out)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %zu bytes of results", trial.out_bytes);
    plan->states->has_empty = false;
    const tally_status status = run(plan, &trial);
    free(trial.out);
    if (status != TALLY_OK)
        return status;
    return plan->states->has_empty ? is_empty(c) : run(plan, args);
}
