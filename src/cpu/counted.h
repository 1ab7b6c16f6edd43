/* Accumulators with a number of elements in front, for what skipping.h calls counted: what the folds of elements and
 * segments (counted.c) and of columns (counted_columns.c) share. */
#ifndef TALLY_CPU_COUNTED_H
#define TALLY_CPU_COUNTED_H

#include <string.h>

#include "core/arithmetic.h"
#include "cpu/cpu.h"

enum {
    BLOCK_BYTES = 16 * 1024, /* of elements that are looked at at a time: a third of a first-level cache */
    BLOCK = BLOCK_BYTES / 2, /* elements, of the narrowest type */
    ACC_BYTES = 16 * 1024    /* of accumulators that stand apart from their numbers of elements */
};

/* Room for a block without its NaNs. */
typedef struct kept_block {
    const void *x, *y;
    size_t n;
    bool all; /* the block has no NaN */
    uint8_t marks[BLOCK];
    _Alignas(64) char room[2][BLOCK_BYTES];
} kept_block;

static inline const tally_cpu_kernels *inner_of(const tally_cpu_context *context) {
    return context->states->kernels;
}

static inline bool has_index(const tally_cpu_context *context) {
    return tally_class_of(context->states->base.computation.monoid) == TALLY_CLASS_INDEXED;
}

static inline bool has_moments(const tally_cpu_context *context) {
    const tally_computation *c = &context->states->base.computation;
    return c->monoid == TALLY_MONOID_moments && !c->exact;
}

static inline bool may_show(const tally_cpu_context *context) {
    return context->shown != TALLY_DEFAULT || context->shows_count;
}

/* Accumulators without their numbers of elements, as kernels take them. */
static inline size_t most_apart(const tally_cpu_context *context) {
    return most(ACC_BYTES / context->states->acc_bytes, 1);
}

/* The sizes are constants: a call for each accumulator took 0.1 ns for each of 128 elements. */
#define COPY_EACH_OF(count, bytes, to, from)                                                                           \
    for (size_t i = 0; i < (count); i++)                                                                               \
        memcpy(to, from, bytes);
#define COPY_EACH(count, bytes, to, from)                                                                              \
    if ((bytes) == sizeof(uint32_t)) {                                                                                 \
        COPY_EACH_OF(count, sizeof(uint32_t), to, from)                                                                \
    } else if ((bytes) == sizeof(uint64_t)) {                                                                          \
        COPY_EACH_OF(count, sizeof(uint64_t), to, from)                                                                \
    } else if ((bytes) == 2 * sizeof(uint64_t)) {                                                                      \
        COPY_EACH_OF(count, 2 * sizeof(uint64_t), to, from)                                                            \
    } else if ((bytes) == 4 * sizeof(uint64_t)) {                                                                      \
        COPY_EACH_OF(count, 4 * sizeof(uint64_t), to, from)                                                            \
    } else {                                                                                                           \
        COPY_EACH_OF(count, bytes, to, from)                                                                           \
    }

static inline void take_accumulators(const tally_cpu_context *context, void *acc, size_t count, char *inner) {
    const size_t bytes = context->states->acc_bytes;
    COPY_EACH(count, bytes, inner + i * bytes, tally_state_acc(tally_state_at(context, acc, i)))
}

static inline void put_accumulators(const tally_cpu_context *context, const char *inner, size_t count, void *acc) {
    const size_t bytes = context->states->acc_bytes;
    COPY_EACH(count, bytes, tally_state_acc(tally_state_at(context, acc, i)), inner + i * bytes)
}

/* Closes up a block of at most BLOCK_BYTES of elements, and marks its NaNs if it has any. */
void tally_cpu_counted_keep(const tally_cpu_context *context, const void *x, const void *y, size_t n, kept_block *k);

/* Combines what was kept of elements from number 'index' on. */
void tally_cpu_counted_fold_kept(const tally_cpu_context *context, const kept_block *k, uint64_t index,
                                 tally_cpu_state *into);

/* Whether the element that replaces NaNs is the value of one of the results, whose index may then be a NaN's. */
bool tally_cpu_counted_may_be_replaced(const tally_cpu_context *context, const void *acc, size_t count);

/* For each column the mean so far or, before there is one, the first number. */
void tally_cpu_counted_choose_values(const tally_cpu_context *context, const double (*moments)[4], const void *x,
                                     size_t rows, size_t width, size_t stride, double *means, char *values);

/* Moments without 'copies' of a number that are among them. False if the subtraction took more than a sixteenth.
 * (A half let 1 of 14,000 variances pass their bounds.) */
bool tally_cpu_counted_take_out(double *moments, double copies, double number);

/* The fold_columns of tally_cpu_kernels. */
void tally_cpu_counted_fold_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows,
                                    size_t width, size_t stride, uint64_t index, void *acc);

/* Completes a counted plan, whose plan->states is that of all elements. */
void tally_cpu_counted_choose(tally_cpu_plan *plan);

/* *acc, of a plan of all elements, combined with the elements that are not NaN; returns how many these are. Not for
 * operators whose result is an index. */
uint64_t tally_cpu_fold_numbers(const tally_cpu_plan *plan, const void *x, const void *y, size_t n, void *acc);

#endif
