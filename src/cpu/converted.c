#include "cpu/converted.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/nans.h"

enum {
    BLOCK = 2048,  /* elements that are converted at a time: 16 KiB of f64, half of a first-level cache */
    COLUMNS = 128, /* and the columns of such a block: enough for the conversion's call, and 16 rows at least */
    SEGMENTS = 256,
    /* Where NaNs are left out: elements, or rows and columns, that are tried as they are. */
    FIRST_SPAN = 1024,
    SPAN = 8192,
    ROWS = 256,
    FEW_COLUMNS = 512,
    SHOWN_BYTES = 64
};

typedef struct converted {
    _Alignas(64) char x[BLOCK * sizeof(double)];
    _Alignas(64) char y[BLOCK * sizeof(double)];
} converted;

/* x[at ..] and y[at ..] as elements number 'place' on, with their NaNs or without. */
static void convert_with(const tally_cpu_context *context, const void *x, const void *y, uint64_t at, size_t n,
                         bool with_nans, converted *block, size_t place) {
    char *const to_x = block->x + place * context->converted_bytes;
    char *const to_y = block->y + place * context->converted_bytes;
    converted clean;
    x = tally_at(x, at, context->in_bytes);
    y = tally_at(y, at, context->in_bytes);
    if (context->replaces && !with_nans) {
        tally_cpu_replace_nans(context, x, y, n, context->convert ? clean.x : to_x, context->convert ? clean.y : to_y);
        x = clean.x;
        y = y ? clean.y : NULL;
    }
    if (context->convert) {
        context->convert(x, n, to_x);
        if (y)
            context->convert(y, n, to_y);
    }
}

static void convert(const tally_cpu_context *context, const void *x, const void *y, uint64_t at, size_t n,
                    converted *block, size_t place) {
    convert_with(context, x, y, at, n, false, block, place);
}

static const void *second(const void *y, const converted *block) {
    return y ? block->y : NULL;
}

static void identity(const tally_cpu_context *context, size_t count, void *acc) {
    context->inner->identity(context, count, acc);
}

static void combine(const tally_cpu_context *context, size_t count, const void *other, void *acc) {
    context->inner->combine(context, count, other, acc);
}

static void fold_with(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                      bool with_nans, void *acc) {
    converted block;
    if (with_nans && !context->convert) {
        context->inner->fold(context, x, y, n, index, acc);
        return;
    }
    for (size_t done = 0, count; done < n; done += count) {
        count = least(n - done, BLOCK);
        convert_with(context, x, y, done, count, with_nans, &block, 0);
        context->inner->fold(context, block.x, second(y, &block), count, index + done, acc);
    }
}

/* Elements as they are, until an accumulator shows a NaN. */
static void fold(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index, void *acc) {
    const size_t bytes = context->inner->acc_bytes;
    size_t span = FIRST_SPAN;
    bool with_nans = !context->replaces || context->shown != TALLY_DEFAULT;
    for (size_t done = 0, count; done < n; done += count) {
        const void *const x_at = tally_at(x, done, context->in_bytes), *const y_at =
                                                                           tally_at(y, done, context->in_bytes);
        _Alignas(16) unsigned char before[SHOWN_BYTES];
        count = !context->replaces ? n : with_nans ? least(n - done, span) : n - done;
        span = least(2 * span, SPAN);
        if (context->replaces)
            memcpy(before, acc, bytes);
        fold_with(context, x_at, y_at, count, index + done, with_nans, acc);
        if (with_nans && context->replaces && tally_cpu_shows_nan(context, acc, 1, bytes)) {
            memcpy(acc, before, bytes);
            with_nans = false;
            fold_with(context, x_at, y_at, count, index + done, false, acc);
        }
    }
}

/* One group of any length. */
static void fold_alone(const tally_cpu_context *context, const void *x, const void *y, size_t n, void *acc) {
    identity(context, 1, acc);
    fold(context, x, y, n, 0, acc);
}

static void fold_rows(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t extent,
                      void *acc) {
    converted block;
    const size_t acc_bytes = context->inner->acc_bytes;
    for (size_t done = 0, count; done < rows; done += count) {
        const size_t first = done * extent;
        void *to = tally_at_mutable(acc, done, acc_bytes);
        count = least(rows - done, most(BLOCK / extent, 1));
        if (extent > BLOCK) {
            fold_alone(context, tally_at(x, first, context->in_bytes), tally_at(y, first, context->in_bytes), extent,
                       to);
            continue;
        }
        convert(context, x, y, first, count * extent, &block, 0);
        context->inner->fold_rows(context, block.x, second(y, &block), count, extent, to);
    }
}

static void fold_segments(const tally_cpu_context *context, const void *x, const void *y, const uint64_t *offsets,
                          size_t count, void *acc) {
    converted block;
    for (size_t done = 0, taken; done < count; done += taken) {
        uint64_t own[SEGMENTS + 1] = {0};
        const uint64_t first = offsets[done];
        void *to = tally_at_mutable(acc, done, context->inner->acc_bytes);
        for (taken = 0; taken < least(count - done, SEGMENTS) && offsets[done + taken + 1] - first <= BLOCK; taken++)
            own[taken + 1] = offsets[done + taken + 1] - first;
        if (taken == 0) {
            fold_alone(context, tally_at(x, first, context->in_bytes), tally_at(y, first, context->in_bytes),
                       offsets[done + 1] - first, to);
            taken = 1;
            continue;
        }
        convert(context, x, y, first, own[taken], &block, 0);
        context->inner->fold_segments(context, block.x, second(y, &block), own, taken, to);
    }
}

static void fold_labels(const tally_cpu_context *context, const void *x, const void *y, const uint32_t *labels,
                        const uint64_t *places, size_t n, uint64_t index, void *acc) {
    converted block;
    for (size_t done = 0, count; done < n; done += count) {
        count = least(n - done, BLOCK);
        convert(context, x, y, done, count, &block, 0);
        context->inner->fold_labels(context, block.x, second(y, &block), labels + done, places ? places + done : NULL,
                                    count, index + done, acc);
    }
}

static void fold_labels_to_pairs(const tally_cpu_context *context, const void *x, const void *y, const uint32_t *labels,
                                 size_t n, void *pairs) {
    converted block;
    for (size_t done = 0, count; done < n; done += count) {
        count = least(n - done, BLOCK);
        convert(context, x, y, done, count, &block, 0);
        context->inner->fold_labels_to_pairs(context, block.x, second(y, &block), labels + done, count, pairs);
    }
}

/* To the cache, for a block that follows: no processor foresees where a row's next part is. */
static void bring(const char *x, size_t bytes) {
    enum { LINE = 64 };
    for (size_t at = 0; at < bytes + LINE; at += LINE)
        __builtin_prefetch(x + at);
}

/* A block is as many rows of some columns, which neither conversions nor accumulators are too short for. */
static void fold_columns_with(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t width,
                              size_t stride, uint64_t index, bool with_nans, void *acc) {
    converted block;
    if (with_nans && !context->convert) {
        context->inner->fold_columns(context, x, y, rows, width, stride, index, acc);
        return;
    }
    for (size_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, COLUMNS);
        for (size_t done = 0, count; done < rows; done += count) {
            count = least(rows - done, BLOCK / columns);
            if (columns == stride)
                convert_with(context, x, y, done * stride, count * columns, with_nans, &block, 0);
            for (size_t r = 0; columns < stride && r < count; r++) {
                bring(tally_at(x, (done + count + r) * stride + first, context->in_bytes), columns * context->in_bytes);
                convert_with(context, x, y, (done + r) * stride + first, columns, with_nans, &block, r * columns);
            }
            context->inner->fold_columns(context, block.x, second(y, &block), count, columns, columns, index + done,
                                         tally_at_mutable(acc, first, context->inner->acc_bytes));
        }
    }
}

/* The same for few columns, whose accumulators are kept. */
static void fold_few_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t width,
                             size_t stride, uint64_t index, void *acc) {
    const size_t bytes = context->inner->acc_bytes;
    bool with_nans = context->shown != TALLY_DEFAULT;
    for (size_t done = 0, count; done < rows; done += count) {
        const void *const x_at = tally_at(x, done * stride, context->in_bytes);
        const void *const y_at = tally_at(y, done * stride, context->in_bytes);
        _Alignas(64) char before[FEW_COLUMNS * SHOWN_BYTES];
        count = with_nans ? least(rows - done, ROWS) : rows - done;
        if (with_nans)
            memcpy(before, acc, width * bytes);
        fold_columns_with(context, x_at, y_at, count, width, stride, index + done, with_nans, acc);
        if (with_nans && tally_cpu_shows_nan(context, acc, width, bytes)) {
            memcpy(acc, before, width * bytes);
            with_nans = false;
            fold_columns_with(context, x_at, y_at, count, width, stride, index + done, false, acc);
        }
    }
}

static void fold_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t width,
                         size_t stride, uint64_t index, void *acc) {
    if (!context->replaces) {
        fold_columns_with(context, x, y, rows, width, stride, index, true, acc);
        return;
    }
    for (size_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, FEW_COLUMNS);
        fold_few_columns(context, tally_at(x, first, context->in_bytes), tally_at(y, first, context->in_bytes), rows,
                         columns, stride, index, tally_at_mutable(acc, first, context->inner->acc_bytes));
    }
}

static void prefixes(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                     bool reverse, bool exclusive, void *acc, void *prefixes) {
    converted block;
    for (size_t done = 0, count; done < n; done += count) {
        count = least(n - done, BLOCK);
        const size_t first = reverse ? n - done - count : done;
        convert(context, x, y, first, count, &block, 0);
        context->inner->prefixes(context, block.x, second(y, &block), count, index + first, reverse, exclusive, acc,
                                 tally_at_mutable(prefixes, first, context->inner->acc_bytes));
    }
}

void tally_cpu_convert_first(tally_cpu_plan *plan, tally_dtype to, const tally_cpu_kernels *kernels) {
    const tally_dtype in = plan->base.computation.desc.in;
    plan->context.inner = kernels;
    plan->context.convert = to == in ? NULL : plan->device->level->types[in]->convert[to];
    plan->context.converted_bytes = tally_dtype_size(to);
    plan->converted = (tally_cpu_kernels){
        .acc_bytes = kernels->acc_bytes,
        .acc_type = kernels->acc_type,
        .identity = identity,
        .fold = fold,
        .fold_rows = fold_rows,
        .fold_segments = fold_segments,
        .fold_labels = kernels->fold_labels ? fold_labels : NULL,
        .fold_labels_to_pairs = kernels->fold_labels_to_pairs ? fold_labels_to_pairs : NULL,
        .sum_pairs = kernels->sum_pairs,
        .fold_columns = fold_columns,
        .prefixes = prefixes,
        .combine = combine,
    };
    plan->kernels = &plan->converted;
}
