/* A user's operator as kernels: each step calls the user's functions, on aligned copies of the elements. */
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/user.h"

typedef struct user_acc {
    _Alignas(16) unsigned char bytes[TALLY_CPU_ACC_MOST];
} user_acc;

static void take(const tally_cpu_context *context, const void *x, uint64_t index, void *acc) {
    uint64_t element = 0;
    memcpy(&element, x, context->in_bytes);
    user_acc lifted;
    context->op.lift(context->op.context, &element, index, &lifted);
    context->op.combine(context->op.context, acc, &lifted, acc);
}

static void user_identity(const tally_cpu_context *context, size_t count, void *acc) {
    for (size_t i = 0; i < count; i++)
        context->op.identity(context->op.context, tally_at_mutable(acc, i, context->acc_stride));
}

static void user_fold(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                      void *acc) {
    (void)y;
    for (size_t i = 0; i < n; i++)
        take(context, tally_at(x, i, context->in_bytes), index + i, acc);
}

static void user_fold_rows(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t extent,
                           void *acc) {
    user_identity(context, rows, acc);
    for (size_t r = 0; r < rows; r++)
        user_fold(context, tally_at(x, r * extent, context->in_bytes), y, extent, 0,
                  tally_at_mutable(acc, r, context->acc_stride));
}

static void user_fold_segments(const tally_cpu_context *context, const void *x, const void *y, const uint64_t *offsets,
                               size_t count, void *acc) {
    user_identity(context, count, acc);
    for (size_t i = 0; i < count; i++)
        user_fold(context, tally_at(x, offsets[i], context->in_bytes), y, offsets[i + 1] - offsets[i], 0,
                  tally_at_mutable(acc, i, context->acc_stride));
}

static void user_fold_labels(const tally_cpu_context *context, const void *x, const void *y, const uint32_t *labels,
                             const uint64_t *places, size_t n, uint64_t index, void *acc) {
    (void)y;
    for (size_t i = 0; i < n; i++)
        take(context, tally_at(x, i, context->in_bytes), places ? places[i] : index + i,
             tally_at_mutable(acc, labels[i], context->acc_stride));
}

static void user_fold_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t width,
                              size_t stride, uint64_t index, void *acc) {
    (void)y;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j++)
            take(context, tally_at(x, r * stride + j, context->in_bytes), index + r,
                 tally_at_mutable(acc, j, context->acc_stride));
}

static void user_prefixes(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                          bool reverse, bool exclusive, void *acc, void *prefixes) {
    (void)y;
    for (size_t k = 0; k < n; k++) {
        size_t i = reverse ? n - 1 - k : k;
        void *prefix = tally_at_mutable(prefixes, i, context->acc_stride);
        if (exclusive)
            memcpy(prefix, acc, context->op.acc_bytes);
        take(context, tally_at(x, i, context->in_bytes), index + i, acc);
        if (!exclusive)
            memcpy(prefix, acc, context->op.acc_bytes);
    }
}

static void user_combine(const tally_cpu_context *context, size_t count, const void *other, void *acc) {
    for (size_t i = 0; i < count; i++) {
        void *left = tally_at_mutable(acc, i, context->acc_stride);
        context->op.combine(context->op.context, left, tally_at(other, i, context->acc_stride), left);
    }
}

const tally_cpu_kernels tally_cpu_user_kernels = {
    .acc_bytes = 0, /* the plan knows */
    .acc_type = TALLY_DEFAULT,
    .identity = user_identity,
    .fold = user_fold,
    .fold_rows = user_fold_rows,
    .fold_segments = user_fold_segments,
    .fold_labels = user_fold_labels,
    .fold_columns = user_fold_columns,
    .prefixes = user_prefixes,
    .combine = user_combine,
};
