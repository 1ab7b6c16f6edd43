/* Exact mode as kernels. The accumulator is a superaccumulator, so every grouping works as for any other monoid. */
#include <string.h>

#include "core/arithmetic.h"
#include "cpu/exact.h"
#include "exact/round.h"

typedef tally_exact_state exact_acc;

_Static_assert(2 * sizeof(exact_acc) <= TALLY_CPU_ACC_MOST, "the drivers keep accumulators on the stack");

/* The states of accumulator i: one or, for moments, the sum and the sum of squares. */
static exact_acc *at(const tally_cpu_context *context, void *acc, size_t i) {
    return (exact_acc *)acc + i * (context->moments ? 2 : 1);
}

static size_t states_of(const tally_cpu_context *context, size_t count) {
    return context->moments ? 2 * count : count;
}

static void to_limbs(const tally_cpu_context *context, exact_acc *state, bool products) {
    tally_exact_to_limbs(state, tally_exact_layout_with((tally_exact_layout)context->layout, products));
}

static void exact_identity(const tally_cpu_context *context, size_t count, void *acc) {
    for (size_t i = 0; i < states_of(context, count); i++)
        ((exact_acc *)acc)[i].holds = TALLY_HOLDS_NOTHING;
}

static bool fold_small(const tally_cpu_context *context, const void *x, const void *y, size_t n, exact_acc *into) {
    const tally_exact_type_kernels *k = context->exact;
    const bool fits = y                     ? k->small_products(x, y, n, &into->pair)
                      : context->magnitudes ? k->small_magnitudes(x, n, &into->pair)
                                            : k->small_sum(x, n, &into->pair);
    if (fits) {
        into->holds = TALLY_HOLDS_PAIR;
        into->pair_count = n;
    }
    return fits;
}

/* Adds the products of x and y, or x if y is NULL. */
static void fold(const tally_cpu_context *context, const void *x, const void *y, size_t n, exact_acc *into) {
    if (into->holds == TALLY_HOLDS_NOTHING && n <= TALLY_EXACT_SMALL && fold_small(context, x, y, n, into))
        return;
    to_limbs(context, into, y != NULL);
    if (y)
        context->exact->add_products(&into->limbs, x, y, n);
    else
        (context->magnitudes ? context->exact->add_magnitudes : context->exact->add)(&into->limbs, x, n);
}

/* Both sums of elements that stay in the second cache. */
static void fold_moments(const tally_cpu_context *context, const void *x, size_t n, exact_acc *into) {
    enum { BYTES = 128 * 1024 };
    for (size_t done = 0, piece; done < n; done += piece) {
        const void *const from = tally_at(x, done, context->in_bytes);
        piece = least(n - done, BYTES / context->in_bytes);
        fold(context, from, NULL, piece, &into[0]);
        fold(context, from, from, piece, &into[1]);
    }
}

static void exact_fold(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                       void *acc) {
    (void)index;
    if (n == 0)
        return;
    if (context->moments)
        fold_moments(context, x, n, acc);
    else
        fold(context, x, context->squares ? x : context->products ? y : NULL, n, acc);
}

static void exact_fold_rows(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t extent,
                            void *acc) {
    exact_identity(context, rows, acc);
    for (size_t r = 0; r < rows; r++)
        exact_fold(context, tally_at(x, r * extent, context->in_bytes), tally_at(y, r * extent, context->in_bytes),
                   extent, 0, at(context, acc, r));
}

static void exact_fold_segments(const tally_cpu_context *context, const void *x, const void *y, const uint64_t *offsets,
                                size_t count, void *acc) {
    exact_identity(context, count, acc);
    for (size_t i = 0; i < count; i++)
        exact_fold(context, tally_at(x, offsets[i], context->in_bytes), tally_at(y, offsets[i], context->in_bytes),
                   offsets[i + 1] - offsets[i], 0, at(context, acc, i));
}

/* Copies columns so that each is contiguous, COLUMNS of them at a time, a cache line of f32. The room is on the stack,
 * so two inputs of f64 are copied in fewer rows at a time. */
enum { COLUMNS = 16, ROWS = 512, COLUMN_BYTES = COLUMNS * ROWS * sizeof(double) };

/* 'bytes' is a constant where these are inlined: with a call for each element, scans of 1024 columns took
 * 5.7 ns an element instead of 0.95. */
static inline __attribute__((always_inline)) void
gather_constant(const char *from, size_t rows, size_t width, size_t stride, size_t bytes, size_t apart, char *columns) {
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j++)
            memcpy(columns + (j * apart + r) * bytes, from + (r * stride + j) * bytes, bytes);
}

static inline __attribute__((always_inline)) void
scatter_constant(const char *columns, size_t rows, size_t width, size_t stride, size_t bytes, size_t apart, char *to) {
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j++)
            memcpy(to + (r * stride + j) * bytes, columns + (j * apart + r) * bytes, bytes);
}

static void gather(const char *from, size_t rows, size_t width, size_t stride, size_t bytes, size_t apart,
                   char *columns) {
    if (bytes == 2)
        gather_constant(from, rows, width, stride, 2, apart, columns);
    else if (bytes == 4)
        gather_constant(from, rows, width, stride, 4, apart, columns);
    else
        gather_constant(from, rows, width, stride, 8, apart, columns);
}

static void scatter(const char *columns, size_t rows, size_t width, size_t stride, size_t bytes, size_t apart,
                    char *to) {
    if (bytes == 2)
        scatter_constant(columns, rows, width, stride, 2, apart, to);
    else if (bytes == 4)
        scatter_constant(columns, rows, width, stride, 4, apart, to);
    else
        scatter_constant(columns, rows, width, stride, 8, apart, to);
}

static void exact_fold_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows,
                               size_t width, size_t stride, uint64_t index, void *acc) {
    (void)index;
    const size_t bytes = context->in_bytes, most = y && bytes > COLUMN_BYTES / ROWS / COLUMNS / 2 ? ROWS / 2 : ROWS;
    _Alignas(64) char columns[COLUMN_BYTES];
    char *const x_columns = columns, *const y_columns = columns + COLUMN_BYTES / 2;
    for (size_t column = 0; column < width; column += COLUMNS) {
        size_t tile = width - column < COLUMNS ? width - column : (size_t)COLUMNS;
        for (size_t row = 0; row < rows; row += most) {
            size_t height = rows - row < most ? rows - row : most, element = row * stride + column;
            gather(tally_at(x, element, bytes), height, tile, stride, bytes, most, x_columns);
            if (y)
                gather(tally_at(y, element, bytes), height, tile, stride, bytes, most, y_columns);
            for (size_t j = 0; j < tile; j++)
                exact_fold(context, x_columns + j * most * bytes, y ? y_columns + j * most * bytes : NULL, height, 0,
                           at(context, acc, column + j));
        }
    }
}

static void exact_combine(const tally_cpu_context *context, size_t count, const void *other, void *acc) {
    for (size_t i = 0; i < states_of(context, count); i++) {
        const exact_acc *from = (const exact_acc *)other + i;
        exact_acc *into = (exact_acc *)acc + i;
        const bool products = context->products || (context->moments && i % 2 == 1);
        if (from->holds == TALLY_HOLDS_NOTHING)
            continue;
        if (into->holds == TALLY_HOLDS_NOTHING) {
            *into = *from;
            continue;
        }
        exact_acc limbs = *from;
        to_limbs(context, &limbs, products);
        to_limbs(context, into, products);
        tally_superaccumulator_merge(&into->limbs, &limbs.limbs);
    }
}

static const tally_cpu_kernels exact_mode_kernels = {
    .acc_bytes = 0, /* as the plan says */
    .acc_type = TALLY_DEFAULT,
    .identity = exact_identity,
    .fold = exact_fold,
    .fold_rows = exact_fold_rows,
    .fold_segments = exact_fold_segments,
    .fold_labels = NULL, /* an element at a time would be slow */
    .fold_columns = exact_fold_columns,
    .prefixes = NULL, /* tally_cpu_exact_scan goes from elements to results */
    .combine = exact_combine,
};

void tally_cpu_exact_context(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    plan->kernels = &exact_mode_kernels;
    plan->context.moments = c->monoid == TALLY_MONOID_moments;
    plan->acc_bytes = states_of(&plan->context, 1) * sizeof(exact_acc);
    plan->context.exact = tally_exact_of_type(plan->device->exact, c->desc.in);
    plan->context.products = tally_exact_has_products(c->desc.op);
    plan->context.squares = c->monoid == TALLY_MONOID_sumsq;
    plan->context.magnitudes = tally_exact_has_magnitudes(c->desc.op);
    /* An initial value has the output's type. */
    const tally_dtype widest = tally_is_scan(c) && c->desc.out == TALLY_F64 ? TALLY_F64 : c->desc.in;
    plan->context.layout = (int)tally_exact_layout_of(widest, plan->context.products);
}

void tally_cpu_exact_widen(const tally_cpu_plan *plan, void *acc) {
    exact_acc *const state = acc;
    if (state->holds != TALLY_HOLDS_LIMBS || (int)state->limbs.layout == plan->context.layout)
        return;
    const tally_superaccumulator from = state->limbs;
    tally_magnitude m;
    tally_superaccumulator_magnitude(&from, &m);
    tally_superaccumulator_init(&state->limbs, (tally_exact_layout)plan->context.layout);
    for (int32_t i = 0; i < m.count; i++)
        tally_superaccumulator_deposit(&state->limbs, m.negative ? -(int64_t)m.digits[i] : (int64_t)m.digits[i],
                                       m.exponent + 32 * i);
    state->limbs.count = from.count;
    state->limbs.positive_infinities = from.positive_infinities;
    state->limbs.negative_infinities = from.negative_infinities;
    state->limbs.nans = from.nans;
    state->limbs.others = from.others;
}

void tally_cpu_exact_raise(const tally_cpu_plan *plan, const void *element, void *acc) {
    const tally_dtype type = plan->base.computation.desc.out;
    exact_acc *const into = acc;
    const bool fits = tally_exact_of_type(plan->device->exact, type)->small_sum(element, 1, &into->pair);
    into->holds = TALLY_HOLDS_PAIR;
    into->pair_count = 1;
    if (fits)
        return;
    into->holds = TALLY_HOLDS_NOTHING; /* an infinity or a NaN */
    to_limbs(&plan->context, into, false);
    tally_exact_of_type(plan->device->exact, type)->add(&into->limbs, element, 1);
}

static void scan(const tally_cpu_plan *plan, const void *x, uint64_t n, tally_cpu_scan_options how, bool keeps,
                 void *acc, void *out) {
    const tally_exact_scan what = {how, (tally_exact_layout)plan->context.layout, plan->base.computation.desc.out,
                                   keeps};
    plan->context.exact->scan(&what, x, n, acc, out);
}

void tally_cpu_exact_scan(const tally_cpu_plan *plan, const void *x, uint64_t n, tally_cpu_scan_options how, void *acc,
                          void *out) {
    scan(plan, x, n, how, false, acc, out);
}

void tally_cpu_exact_scan_columns(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                                  uint64_t stride, tally_cpu_scan_options how, void *acc, void *out) {
    const size_t in_bytes = plan->context.in_bytes, out_bytes = plan->context.out_bytes;
    _Alignas(64) char columns[COLUMN_BYTES / 2], results[COLUMN_BYTES / 2];
    for (size_t column = 0; column < width; column += COLUMNS) {
        const size_t tile = least(width - column, COLUMNS);
        for (size_t done = 0, height; done < rows; done += height) {
            height = least(rows - done, ROWS / 2);
            const size_t row = how.reverse ? rows - done - height : done, element = row * stride + column;
            gather(tally_at(x, element, in_bytes), height, tile, stride, in_bytes, height, columns);
            for (size_t j = 0; j < tile; j++)
                scan(plan, columns + j * height * in_bytes, height, how, true, at(&plan->context, acc, column + j),
                     results + j * height * out_bytes);
            scatter(results, height, tile, stride, out_bytes, height, tally_at_mutable(out, element, out_bytes));
        }
    }
}

static void lower_moments(const tally_cpu_plan *plan, const exact_acc *acc, void *value) {
    const tally_computation *c = &plan->base.computation;
    exact_acc sum = acc[0], squares = acc[1];
    to_limbs(&plan->context, &sum, false);
    to_limbs(&plan->context, &squares, true);
    tally_round_moments(&sum.limbs, &squares.limbs, (uint64_t)c->desc.ddof, c->desc.op, c->desc.out, value);
}

static void lower_sum(const tally_cpu_plan *plan, const exact_acc *acc, void *value) {
    const tally_computation *c = &plan->base.computation;
    /* A division or a root needs the sum's digits, which a pair does not have. */
    if (acc->holds == TALLY_HOLDS_PAIR && c->entry->exact == TALLY_EXACTLY_SUM) {
        tally_round_pair(acc->pair, c->desc.out, value);
        return;
    }
    exact_acc limbs = *acc;
    to_limbs(&plan->context, &limbs, plan->context.products);
    tally_round_result(&limbs.limbs, c->desc.op, c->desc.out, value);
}

void tally_cpu_exact_lower(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    (void)counts;
    const tally_cpu_context *context = &plan->context;
    for (size_t i = 0; i < count; i++)
        (context->moments ? lower_moments : lower_sum)(plan, (const exact_acc *)acc + states_of(context, i),
                                                       tally_at_mutable(out, i, context->out_bytes));
}
