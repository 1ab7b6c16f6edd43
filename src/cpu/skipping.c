#include "cpu/skipping.h"

#include <math.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/converted.h"
#include "cpu/lower.h"
#include "cpu/nans.h"
#include "cpu/scratch.h"
#include "cpu/short_groups.h"
#include "cpu/words.h"

enum {
    BLOCK_BYTES = 16 * 1024, /* of elements that are looked at at a time: a third of a first-level cache */
    BLOCK = BLOCK_BYTES / 2, /* elements, of the narrowest type */
    COLUMN_BYTES = 1024,     /* of a column that is closed up */
    ROWS = 256,              /* that are folded as they are before accumulators are looked at */
    SPAN = 64 * 1024,        /* elements that are tried as they are, at most, and */
    FIRST_SPAN = 1024,       /* elements that are tried first, where few NaNs are many */
    MOMENTS = 64,            /* columns of them: with 256, 16 rows each would pay for their division */
    ACC_BYTES = 16 * 1024    /* of accumulators that stand apart from their numbers of elements */
};

/* ---- which way ---- */

/* The element that changes no result of the operator, but for its number of elements and, where all others are the
 * same, its index. False if there is none. -0 + x is x for every x, 0 + -0 is not. */
static bool neutral(const tally_computation *c, double *value) {
    switch (c->desc.op) {
    case TALLY_SUM:
    case TALLY_SUMSQ:
    case TALLY_NORM1:
    case TALLY_NORM2:
    case TALLY_DOT:
    case TALLY_MEAN:
        *value = -0.0;
        return true;
    case TALLY_ANY:
    case TALLY_COUNT_NONZERO:
    case TALLY_NORM_INF:
        *value = 0;
        return true;
    case TALLY_PROD:
        *value = 1;
        return true;
    case TALLY_ALL: /* a state is how many are not zero, beside the number of elements that were not left out */
        *value = c->gives_words ? 0 : 1;
        return true;
    case TALLY_MIN:
    case TALLY_ARGMIN:
        *value = (double)INFINITY;
        return true;
    case TALLY_MAX:
    case TALLY_ARGMAX:
    case TALLY_LOGSUMEXP:
        *value = -(double)INFINITY;
        return true;
    default:
        return false;
    }
}

tally_cpu_skipping tally_cpu_skipping_of(const tally_computation *c) {
    double value;
    const bool is_scan = tally_is_scan(c), has_neutral = neutral(c, &value);
    const bool counts = c->desc.op == TALLY_MEAN || tally_class_of(c->monoid) == TALLY_CLASS_INDEXED ||
                        (!is_scan && (c->exact || c->gives_words)) ||
                        (!is_scan && tally_has_trait(c, TALLY_OPERATOR_EMPTY_IS_ERROR));
    if (!c->skips_nan)
        return TALLY_CPU_KEEPS_NANS;
    if (c->desc.grouping == TALLY_LABELS)
        return TALLY_CPU_DROPS_LABELS;
    if (!has_neutral || counts)
        return TALLY_CPU_COUNTS_ELEMENTS;
    const bool by_blocks = c->desc.grouping == TALLY_ALL_VALUES || c->desc.grouping == TALLY_AXIS;
    return by_blocks && !is_scan ? TALLY_CPU_REPLACES_NANS : TALLY_CPU_STAGES_ELEMENTS;
}

static bool gives_nothing(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return tally_has_trait(c, TALLY_OPERATOR_EMPTY_IS_ERROR) && !c->gives_words &&
           (!tally_is_scan(c) || tally_class_of(c->monoid) == TALLY_CLASS_INDEXED);
}

/* What stands for a result of no elements, where there is no error: NaN, or the index -1. */
static void lower_nothing(const tally_cpu_plan *plan, size_t i, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_level *level = plan->device->level;
    const bool is_index = c->entry->result == TALLY_RESULT_INDEX;
    const double nan = NAN;
    const int64_t index = -1;
    const tally_dtype from = is_index ? TALLY_I64 : TALLY_F64;
    for (size_t k = 0; k < c->per_result; k++) {
        void *const to = tally_at_mutable(out, i * c->per_result + k, c->out_bytes);
        if (from == c->desc.out)
            memcpy(to, is_index ? (const void *)&index : &nan, c->out_bytes);
        else
            level->types[from]->convert[c->desc.out](is_index ? (const void *)&index : &nan, 1, to);
    }
}

/* By labels, the number of elements comes with the accumulators. */
static void lower_or_nothing(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts,
                             void *out) {
    plan->lower_elements(plan, acc, count, counts, out);
    for (size_t i = 0; i < count; i++)
        if (!tally_cpu_count_of(counts, i))
            lower_nothing(plan, i, out);
}

static void choose_shown(tally_cpu_context *context, const tally_cpu_plan *elements);

void tally_cpu_skipping_choose(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_skipping way = tally_cpu_skipping_of(c);
    double value = 0;
    if (way == TALLY_CPU_KEEPS_NANS)
        return;
    plan->context.nans = &plan->device->level->nans[c->desc.in];
    neutral(c, &value);
    if (c->exact) /* of a scan, which is -0 only where all elements are */
        value = 0;
    if (c->desc.in == TALLY_F64)
        memcpy(plan->context.neutral, &value, sizeof value);
    else
        plan->device->level->types[TALLY_F64]->convert[c->desc.in](&value, 1, plan->context.neutral);
    if (way == TALLY_CPU_REPLACES_NANS) {
        plan->context.replaces = true;
        plan->lifted = (tally_cpu_lifted){0};
        choose_shown(&plan->context, plan);
        if (plan->kernels != &plan->converted)
            tally_cpu_convert_first(plan, c->desc.in, plan->kernels);
    }
    if (way == TALLY_CPU_STAGES_ELEMENTS)
        plan->staging_bytes = tally_cpu_staging_bytes(plan, TALLY_CPU_SCAN_BYTES / c->in_bytes);
    if (way == TALLY_CPU_DROPS_LABELS && gives_nothing(plan)) {
        plan->lower_elements = plan->lower;
        plan->lower = lower_or_nothing;
    }
}

/* ---- accumulators that show a NaN ---- */

static void choose_shown(tally_cpu_context *context, const tally_cpu_plan *elements) {
    const tally_computation *c = &elements->base.computation;
    const tally_dtype value = tally_dtype_value(c->desc.in);
    context->shown = TALLY_DEFAULT;
    context->shows_count = c->exact;
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_FLOATS: /* moments of what is not finite are slow */
        context->shown = c->monoid == TALLY_MONOID_logsumexp ? TALLY_F64 : TALLY_DEFAULT;
        break;
    case TALLY_CLASS_VALUES:
    case TALLY_CLASS_INDEXED:
        context->shown = value;
        break;
    case TALLY_CLASS_COUNT:
        break;
    default:
        context->shown = c->exact ? TALLY_DEFAULT : elements->kernels->acc_type;
    }
}

static bool may_show(const tally_cpu_context *context) {
    return context->shown != TALLY_DEFAULT || context->shows_count;
}

/* ---- elements that change nothing ---- */

size_t tally_cpu_staging_bytes(const tally_cpu_plan *plan, uint64_t n) {
    const tally_computation *c = &plan->base.computation;
    return (size_t)round_up(n * c->in_bytes, 64) << tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS);
}

void tally_cpu_stage(const tally_cpu_plan *plan, unsigned worker, const void **x, const void **y, uint64_t n) {
    if (!plan->staging_bytes)
        return;
    void *const to_x = tally_cpu_staging(plan, worker);
    void *const to_y = tally_at_mutable(to_x, round_up(n * plan->base.computation.in_bytes, 64), 1);
    tally_cpu_replace_nans(&plan->context, *x, *y, n, to_x, to_y);
    *x = to_x;
    *y = *y ? to_y : NULL;
}

void tally_cpu_drop_nans(const tally_cpu_plan *plan, const void *x, const void *y, size_t n, tally_cpu_places places,
                         uint32_t *labels) {
    for (size_t done = 0, count; plan->context.nans && done < n; done += count) {
        uint8_t marks[BLOCK];
        const size_t bytes = plan->context.in_bytes;
        count = least(n - done, BLOCK);
        if (!tally_cpu_mark_nans(&plan->context, tally_at(x, done, bytes), tally_at(y, done, bytes), count, marks))
            continue;
        const bool is_hot = places.groups == places.hot;
        for (size_t i = 0; i < count; i++) {
            const size_t number = done + i;
            const size_t place = is_hot ? places.spare + number % TALLY_CPU_HOT_COPIES
                                        : places.groups + number % places.copies * (places.groups + (size_t)1);
            labels[number] = marks[i] ? (uint32_t)place : labels[number];
        }
    }
}

size_t tally_cpu_close_up(const tally_cpu_plan *plan, const void **x, const void **y, size_t n, uint32_t *labels,
                          void *room) {
    const tally_cpu_nans *const nans = plan->context.nans;
    uint8_t marks[TALLY_CPU_CLOSED_UP];
    if (!nans || !tally_cpu_mark_nans(&plan->context, *x, *y, n, marks))
        return n;
    void *const second = (char *)room + TALLY_CPU_CLOSED_UP * sizeof(double);
    nans->keep(*x, marks, n, room);
    *x = room;
    if (*y) {
        nans->keep(*y, marks, n, second);
        *y = second;
    }
    return plan->device->level->nans[TALLY_F32].keep(labels, marks, n, labels);
}

/* ---- accumulators with a number of elements in front ---- */

/* Room for a block without its NaNs. */
typedef struct kept {
    const void *x, *y;
    size_t n;
    bool all; /* the block has no NaN */
    uint8_t marks[BLOCK];
    _Alignas(64) char room[2][BLOCK_BYTES];
} kept;

static tally_cpu_state *state_at(const tally_cpu_context *context, void *acc, size_t i) {
    return (tally_cpu_state *)(void *)((char *)acc + i * context->acc_stride);
}

static void *acc_of(tally_cpu_state *s) {
    return s + 1;
}

static const tally_cpu_kernels *inner_of(const tally_cpu_context *context) {
    return context->states->kernels;
}

static bool has_index(const tally_cpu_context *context) {
    return tally_class_of(context->states->base.computation.monoid) == TALLY_CLASS_INDEXED;
}

static size_t block_of(const tally_cpu_context *context) {
    return BLOCK_BYTES / context->in_bytes;
}

/* Closes up a block of at most block_of() elements. */
static void keep_numbers(const tally_cpu_context *context, const void *x, size_t n, kept *k) {
    k->x = k->room[0];
    k->y = NULL;
    k->n = context->nans->keep_numbers(x, n, k->room[0]);
    k->all = k->n == n;
}

/* The same with marks, if not all are kept. */
static void keep(const tally_cpu_context *context, const void *x, const void *y, size_t n, kept *k) {
    k->x = x;
    k->y = y;
    k->n = n;
    k->all = !tally_cpu_mark_nans(context, x, y, n, k->marks);
    if (k->all)
        return;
    k->n = context->nans->keep(x, k->marks, n, k->room[0]);
    k->x = k->room[0];
    if (y) {
        context->nans->keep(y, k->marks, n, k->room[1]);
        k->y = k->room[1];
    }
}

/* An index among the elements that were kept becomes that among all. */
static void restore_index(const tally_cpu_context *context, const uint8_t *marks, uint64_t first, void *acc) {
    int64_t *const index = (int64_t *)(void *)((char *)acc + sizeof(int64_t)); /* whatever the size of the value */
    uint64_t before = (uint64_t)*index, i = 0;
    if (!has_index(context))
        return;
    for (;; i++)
        if (!marks[i] && before-- == 0)
            break;
    *index = (int64_t)(first + i);
}

static void counted_identity(const tally_cpu_context *context, size_t count, void *acc) {
    for (size_t i = 0; i < count; i++) {
        tally_cpu_state *const s = state_at(context, acc, i);
        s->elements = 0;
        inner_of(context)->identity(&context->states->context, 1, acc_of(s));
    }
}

/* Combines what was kept of elements from number 'index' on. */
static void fold_kept(const tally_cpu_context *context, const kept *k, uint64_t index, tally_cpu_state *into) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    into->elements += k->n;
    if (k->n == 0)
        return;
    if (k->all || !has_index(context)) {
        inner->fold(own, k->x, k->y, k->n, index, acc_of(into));
        return;
    }
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    inner->identity(own, 1, acc);
    inner->fold(own, k->x, k->y, k->n, 0, acc);
    restore_index(context, k->marks, index, acc);
    inner->combine(own, 1, acc, acc_of(into));
}

/* Whether the element that replaces NaNs is the value of one of the results, whose index may then be a NaN's. */
static bool may_be_replaced(const tally_cpu_context *context, const void *acc, size_t count) {
    for (size_t i = 0; i < count && has_index(context); i++) {
        const void *const at = tally_at(acc, i, context->states->acc_bytes);
        float narrow;
        double wide;
        memcpy(&narrow, at, sizeof narrow);
        if (context->shown == TALLY_F64)
            memcpy(&wide, at, sizeof wide);
        else
            wide = (double)narrow;
        if (isinf(wide))
            return true;
    }
    return false;
}

/* By a copy in which NaNs change nothing. False if the result may be wrong; then nothing has changed. */
static bool fold_copy(const tally_cpu_context *context, const void *x, size_t n, uint64_t index, kept *k,
                      tally_cpu_state *into) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    const size_t left_out = context->nans->replace_counting(x, n, context->neutral, k->room[0]);
    if (!has_index(context)) {
        inner->fold(own, k->room[0], NULL, n, index, acc_of(into));
        into->elements += n - left_out;
        return true;
    }
    _Alignas(16) unsigned char acc[sizeof(double) + sizeof(int64_t)];
    inner->identity(own, 1, acc);
    inner->fold(own, k->room[0], NULL, n, index, acc);
    if (left_out && may_be_replaced(context, acc, 1))
        return false;
    inner->combine(own, 1, acc, acc_of(into));
    into->elements += n - left_out;
    return true;
}

/* ---- moments ----
 *
 * NaNs are replaced by a number near the mean, and its copies are taken out of the moments again. */

static bool has_moments(const tally_cpu_context *context) {
    const tally_computation *c = &context->states->base.computation;
    return c->monoid == TALLY_MONOID_moments && !c->exact;
}

static void convert(const tally_cpu_plan *plan, tally_dtype from, tally_dtype to, const void *x, size_t n, void *out) {
    if (from == to)
        memcpy(out, x, n * tally_dtype_size(to));
    else
        plan->device->level->types[from]->convert[to](x, n, out);
}

/* For each column the mean so far or, before there is one, the first number. */
static void choose_values(const tally_cpu_context *context, const double (*moments)[4], const void *x, size_t rows,
                          size_t width, size_t stride, double *means, char *values) {
    const tally_dtype in = context->states->base.computation.desc.in;
    const size_t bytes = context->in_bytes;
    for (size_t j = 0; j < width; j++)
        means[j] = moments[j][1] + moments[j][2];
    convert(context->states, TALLY_F64, in, means, width, values);
    for (size_t j = 0; j < width; j++)
        for (size_t r = 0; moments[j][0] == 0 && r < rows; r++)
            if (!context->nans->any(tally_at(x, r * stride + j, bytes), 1)) {
                memcpy(values + j * bytes, tally_at(x, r * stride + j, bytes), bytes);
                break;
            }
    convert(context->states, in, TALLY_F64, values, width, means);
}

/* Moments without 'copies' of a number that are among them. False if the subtraction took more than a sixteenth.
 * (A half let 1 of 14,000 variances pass their bounds.) */
static bool take_out(double *moments, double copies, double number) {
    const double rest = moments[0] - copies, off = number - moments[1] - moments[2];
    const double m2 = moments[3] - off * off * (moments[0] * copies / rest);
    if (copies == 0)
        return true;
    if (rest == 0)
        memset(moments, 0, 4 * sizeof *moments);
    else if (m2 >= moments[3] - moments[3] / 16) {
        moments[0] = rest;
        moments[2] -= off * (copies / rest);
        moments[3] = m2;
    } else
        return false;
    return true;
}

/* False if the result may be wrong; then nothing has changed. */
static bool fold_moments(const tally_cpu_context *context, const void *x, size_t n, kept *k, tally_cpu_state *into) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    _Alignas(64) double fresh[4];
    double mean;
    char value[sizeof mean];
    choose_values(context, acc_of(into), x, n, 1, 1, &mean, value);
    const size_t left_out = context->nans->replace_counting(x, n, value, k->room[0]);
    inner->identity(own, 1, fresh);
    inner->fold(own, k->room[0], NULL, n, 0, fresh);
    if (!take_out(fresh, (double)left_out, mean))
        return false;
    inner->combine(own, 1, fresh, acc_of(into));
    into->elements += n - left_out;
    return true;
}

/* First as they are: if no NaN shows, there was none. */
static bool fold_as_they_are(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                             tally_cpu_state *into) {
    _Alignas(16) unsigned char before[TALLY_CPU_ACC_MOST];
    const size_t bytes = context->states->acc_bytes;
    if (!may_show(context))
        return false;
    memcpy(before, acc_of(into), bytes);
    inner_of(context)->fold(&context->states->context, x, y, n, index, acc_of(into));
    if (tally_cpu_shows_nan(context, acc_of(into), 1, bytes)) {
        memcpy(acc_of(into), before, bytes);
        return false;
    }
    into->elements += n;
    return true;
}

/* A block that may have NaNs. */
static void fold_numbers(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                         kept *k, tally_cpu_state *into) {
    if (context->replaces && !y && fold_copy(context, x, n, index, k, into))
        return;
    const bool has_none = !may_show(context) && !y && !context->nans->any(x, n);
    if (!has_none && has_moments(context) && fold_moments(context, x, n, k, into))
        return;
    if (has_none) {
        k->x = x;
        k->y = NULL;
        k->n = n;
        k->all = true;
    } else if (y || has_index(context)) {
        keep(context, x, y, n, k);
    } else {
        keep_numbers(context, x, n, k);
    }
    fold_kept(context, k, index, into);
}

static void counted_fold(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                         void *acc) {
    kept k;
    bool may_have_none = may_show(context);
    size_t span = FIRST_SPAN;
    for (size_t done = 0, count; done < n; done += count, span = least(2 * span, SPAN)) {
        const void *const x_at = tally_at(x, done, context->in_bytes);
        const void *const y_at = tally_at(y, done, context->in_bytes);
        count = least(n - done, span);
        if (may_have_none && fold_as_they_are(context, x_at, y_at, count, index + done, acc))
            continue;
        may_have_none = false;
        count = least(n - done, block_of(context));
        fold_numbers(context, x_at, y_at, count, index + done, &k, acc);
    }
}

uint64_t tally_cpu_fold_numbers(const tally_cpu_plan *plan, const void *x, const void *y, size_t n, void *acc) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_context context = {.in_bytes = c->in_bytes, .nans = &plan->device->level->nans[c->desc.in]};
    uint64_t elements = 0;
    kept k;
    for (size_t done = 0, count; done < n; done += count) {
        count = least(n - done, block_of(&context));
        if (y)
            keep(&context, tally_at(x, done, c->in_bytes), tally_at(y, done, c->in_bytes), count, &k);
        else
            keep_numbers(&context, tally_at(x, done, c->in_bytes), count, &k);
        plan->kernels->fold(&plan->context, k.x, k.y, k.n, 0, acc);
        elements += k.n;
    }
    return elements;
}

/* Accumulators without their numbers of elements, as kernels take them. */
static size_t most_apart(const tally_cpu_context *context) {
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

static void take_apart(const tally_cpu_context *context, void *acc, size_t count, char *inner) {
    const size_t bytes = context->states->acc_bytes;
    COPY_EACH(count, bytes, inner + i * bytes, acc_of(state_at(context, acc, i)))
}

static void put_together(const tally_cpu_context *context, const char *inner, size_t count, void *acc) {
    const size_t bytes = context->states->acc_bytes;
    COPY_EACH(count, bytes, acc_of(state_at(context, acc, i)), inner + i * bytes)
}

/* The offsets of what was kept of segments, from those of all their elements. */
static void close_up_offsets(const kept *k, const uint64_t *offsets, size_t count, uint64_t *closed) {
    closed[0] = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t left_out = 0;
        for (uint64_t e = offsets[i]; !k->all && e < offsets[i + 1]; e++)
            left_out += k->marks[e - offsets[0]];
        closed[i + 1] = closed[i] + (offsets[i + 1] - offsets[i]) - left_out;
    }
}

static void fold_closed_segments(const tally_cpu_context *context, const void *x, const void *y, uint64_t elements,
                                 const uint64_t *offsets, size_t count, void *acc) {
    const tally_cpu_plan *const plan = context->states;
    if (tally_cpu_stands_groups(plan, elements, count))
        tally_cpu_fold_short_groups(plan, x, y, elements, offsets, count, acc);
    else
        plan->kernels->fold_segments(&plan->context, x, y, offsets, count, acc);
}

/* Segments that fill a block together. */
static void fold_together(const tally_cpu_context *context, const void *x, const void *y, const uint64_t *offsets,
                          size_t count, kept *k, void *acc) {
    _Alignas(64) char inner[ACC_BYTES];
    uint64_t closed[TALLY_CPU_BATCH + 1];
    const uint64_t first = offsets[0];
    keep(context, tally_at(x, first, context->in_bytes), tally_at(y, first, context->in_bytes), offsets[count] - first,
         k);
    close_up_offsets(k, offsets, count, closed);
    fold_closed_segments(context, k->x, k->y, closed[count], closed, count, inner);
    put_together(context, inner, count, acc);
    for (size_t i = 0; i < count; i++) {
        tally_cpu_state *const s = state_at(context, acc, i);
        s->elements = closed[i + 1] - closed[i];
        if (!k->all && s->elements)
            restore_index(context, k->marks + (offsets[i] - first), 0, acc_of(s));
    }
}

static void counted_fold_segments(const tally_cpu_context *context, const void *x, const void *y,
                                  const uint64_t *offsets, size_t count, void *acc) {
    kept k;
    const size_t most_segments = least(TALLY_CPU_BATCH, most_apart(context));
    for (size_t done = 0, taken; done < count; done += taken) {
        const uint64_t first = offsets[done];
        void *const to = state_at(context, acc, done);
        for (taken = 0; taken < least(count - done, most_segments); taken++)
            if (offsets[done + taken + 1] - first > block_of(context))
                break;
        if (taken) {
            fold_together(context, x, y, offsets + done, taken, &k, to);
            continue;
        }
        counted_identity(context, 1, to);
        counted_fold(context, tally_at(x, first, context->in_bytes), tally_at(y, first, context->in_bytes),
                     offsets[done + 1] - first, 0, to);
        taken = 1;
    }
}

/* Rows of which none has a NaN; else false. */
static bool fold_whole_rows(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t extent,
                            void *acc) {
    _Alignas(64) char inner[ACC_BYTES];
    if (context->nans->any(x, rows * extent) || (y && context->nans->any(y, rows * extent)))
        return false;
    inner_of(context)->fold_rows(&context->states->context, x, y, rows, extent, inner);
    put_together(context, inner, rows, acc);
    for (size_t r = 0; r < rows; r++)
        state_at(context, acc, r)->elements = extent;
    return true;
}

static void counted_fold_rows(const tally_cpu_context *context, const void *x, const void *y, size_t rows,
                              size_t extent, void *acc) {
    for (size_t done = 0, count; done < rows; done += count) {
        uint64_t offsets[TALLY_CPU_BATCH + 1];
        count = least(rows - done, least(TALLY_CPU_BATCH, most_apart(context)));
        if (fold_whole_rows(context, tally_at(x, done * extent, context->in_bytes),
                            tally_at(y, done * extent, context->in_bytes), count, extent, state_at(context, acc, done)))
            continue;
        for (size_t r = 0; r <= count; r++)
            offsets[r] = (done + r) * extent;
        counted_fold_segments(context, x, y, offsets, count, state_at(context, acc, done));
    }
}

/* ---- columns ---- */

/* Rows of some columns, whose accumulators stand apart. */
typedef struct tile {
    const void *x, *y;
    size_t rows, width, stride;
    uint64_t index;
    char *acc;
    uint64_t *elements;
} tile;

static bool tile_has_nan(const tally_cpu_context *context, const tile *t) {
    const bool whole = t->width == t->stride;
    bool found = false;
    for (size_t r = 0; r < (whole ? 1 : t->rows) && !found; r++) {
        const size_t n = whole ? t->rows * t->width : t->width;
        found = context->nans->any(tally_at(t->x, r * t->stride, context->in_bytes), n) ||
                (t->y && context->nans->any(tally_at(t->y, r * t->stride, context->in_bytes), n));
    }
    return found;
}

static void replace_in_columns(const tally_cpu_context *context, const tile *t, const char *values, kept *k,
                               uint32_t *left_out) {
    memset(left_out, 0, t->width * sizeof *left_out);
    for (size_t r = 0; r < t->rows; r++)
        context->nans->replace_columns(tally_at(t->x, r * t->stride, context->in_bytes), t->width, values,
                                       k->room[0] + r * t->width * context->in_bytes, left_out);
}

/* By a copy in which NaNs change nothing. False as fold_copy. */
static bool fold_replaced(const tally_cpu_context *context, const tile *t, kept *k) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    const size_t bytes = context->in_bytes;
    _Alignas(64) char fresh[TALLY_CPU_BATCH * (sizeof(double) + sizeof(int64_t))];
    char values[TALLY_CPU_BATCH * sizeof(double)];
    uint32_t left_out[TALLY_CPU_BATCH];
    COPY_EACH(t->width, bytes, values + i * bytes, context->neutral)
    replace_in_columns(context, t, values, k, left_out);
    if (has_index(context)) {
        inner->identity(own, t->width, fresh);
        inner->fold_columns(own, k->room[0], NULL, t->rows, t->width, t->width, t->index, fresh);
        if (may_be_replaced(context, fresh, t->width))
            return false;
        inner->combine(own, t->width, fresh, t->acc);
    } else {
        inner->fold_columns(own, k->room[0], NULL, t->rows, t->width, t->width, t->index, t->acc);
    }
    for (size_t j = 0; j < t->width; j++)
        t->elements[j] -= left_out[j];
    return true;
}

/* As fold_as_they_are. */
static bool fold_tile_as_it_is(const tally_cpu_context *context, const tile *t) {
    _Alignas(64) char before[ACC_BYTES];
    const size_t bytes = context->states->acc_bytes;
    if (!may_show(context))
        return false;
    memcpy(before, t->acc, t->width * bytes);
    inner_of(context)->fold_columns(&context->states->context, t->x, t->y, t->rows, t->width, t->stride, t->index,
                                    t->acc);
    if (!tally_cpu_shows_nan(context, t->acc, t->width, bytes))
        return true;
    memcpy(t->acc, before, t->width * bytes);
    return false;
}

/* Column j, closed up. */
static void fold_closed_up(const tally_cpu_context *context, const tile *t, size_t j, kept *k) {
    const size_t bytes = context->in_bytes, acc_bytes = context->states->acc_bytes;
    char column[2][COLUMN_BYTES];
    _Alignas(64) unsigned char state[sizeof(tally_cpu_state) + TALLY_CPU_ACC_MOST];
    tally_cpu_state *const s = (tally_cpu_state *)(void *)state;
    for (size_t r = 0; r < t->rows; r++) {
        memcpy(column[0] + r * bytes, tally_at(t->x, r * t->stride + j, bytes), bytes);
        if (t->y)
            memcpy(column[1] + r * bytes, tally_at(t->y, r * t->stride + j, bytes), bytes);
    }
    s->elements = 0;
    memcpy(acc_of(s), t->acc + j * acc_bytes, acc_bytes);
    keep(context, column[0], t->y ? column[1] : NULL, t->rows, k);
    fold_kept(context, k, t->index, s);
    memcpy(t->acc + j * acc_bytes, acc_of(s), acc_bytes);
    t->elements[j] -= t->rows - s->elements;
}

static void fold_moments_of_columns(const tally_cpu_context *context, const tile *t, kept *k) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    _Alignas(64) double fresh[MOMENTS][4];
    double means[MOMENTS];
    char values[sizeof means];
    uint32_t left_out[MOMENTS];
    choose_values(context, (const void *)t->acc, t->x, t->rows, t->width, t->stride, means, values);
    replace_in_columns(context, t, values, k, left_out);
    inner->identity(own, t->width, fresh);
    inner->fold_columns(own, k->room[0], NULL, t->rows, t->width, t->width, t->index, fresh);
    for (size_t j = 0; j < t->width; j++) {
        if (take_out(fresh[j], left_out[j], means[j])) {
            t->elements[j] -= left_out[j];
            continue;
        }
        inner->identity(own, 1, fresh[j]);
        fold_closed_up(context, t, j, k);
    }
    inner->combine(own, t->width, fresh, t->acc);
}

/* A tile with NaNs. */
static void fold_numbers_of_columns(const tally_cpu_context *context, const tile *t, kept *k) {
    if (has_moments(context))
        fold_moments_of_columns(context, t, k);
    else if (!context->replaces || t->y || !fold_replaced(context, t, k))
        for (size_t j = 0; j < t->width; j++)
            fold_closed_up(context, t, j, k);
}

/* Rows of at most TALLY_CPU_BATCH columns. */
static void fold_tile(const tally_cpu_context *context, const tile *whole, kept *k) {
    const size_t few_rows =
        most(least(BLOCK_BYTES / context->in_bytes / whole->width, COLUMN_BYTES / sizeof(double)), 1);
    bool may_have_none = may_show(context);
    tile t = *whole;
    for (size_t done = 0; done < whole->rows; done += t.rows) {
        t.x = tally_at(whole->x, done * t.stride, context->in_bytes);
        t.y = tally_at(whole->y, done * t.stride, context->in_bytes);
        t.index = whole->index + done;
        t.rows = least(whole->rows - done, may_have_none ? ROWS : few_rows);
        if (may_have_none && !fold_tile_as_it_is(context, &t)) {
            may_have_none = false;
            t.rows = least(t.rows, few_rows);
        }
        for (size_t j = 0; j < t.width; j++)
            t.elements[j] += t.rows;
        if (may_have_none)
            continue;
        if (!may_show(context) && !tile_has_nan(context, &t))
            inner_of(context)->fold_columns(&context->states->context, t.x, t.y, t.rows, t.width, t.stride, t.index,
                                            t.acc);
        else
            fold_numbers_of_columns(context, &t, k);
    }
}

static void counted_fold_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows,
                                 size_t width, size_t stride, uint64_t index, void *acc) {
    _Alignas(64) char inner[ACC_BYTES];
    uint64_t elements[TALLY_CPU_BATCH];
    kept k;
    const size_t most_columns = has_moments(context) ? MOMENTS : least(TALLY_CPU_BATCH, most_apart(context));
    for (size_t first = 0, columns; first < width; first += columns) {
        void *const states = state_at(context, acc, first);
        columns = least(width - first, most_columns);
        take_apart(context, states, columns, inner);
        memset(elements, 0, sizeof elements);
        const tile t = {.x = tally_at(x, first, context->in_bytes),
                        .y = tally_at(y, first, context->in_bytes),
                        .rows = rows,
                        .width = columns,
                        .stride = stride,
                        .index = index,
                        .acc = inner,
                        .elements = elements};
        fold_tile(context, &t, &k);
        put_together(context, inner, columns, states);
        for (size_t j = 0; j < columns; j++)
            state_at(context, states, j)->elements += elements[j];
    }
}

/* ---- prefixes ---- */

/* The indices of this block among prefixes of what was kept; others are of blocks before. */
static void restore_indices(const tally_cpu_context *context, const kept *k, uint64_t first, char *prefixes) {
    uint64_t places[TALLY_CPU_BATCH];
    size_t kept_before = 0;
    for (size_t i = 0; kept_before < k->n; i++) {
        places[kept_before] = first + i;
        kept_before += !k->marks[i];
    }
    for (size_t j = 0; j < k->n; j++) {
        int64_t *const index = (int64_t *)(void *)(prefixes + j * context->states->acc_bytes + sizeof(int64_t));
        if ((uint64_t)*index >= first && (uint64_t)*index - first < k->n)
            *index = (int64_t)places[(uint64_t)*index - first];
    }
}

/* At most TALLY_CPU_BATCH elements. What was before them stands in front of the prefixes of what was kept, or behind
 * those of a reverse scan, so that each result is one of these. */
static void give_prefixes(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                          bool reverse, bool exclusive, tally_cpu_state *state, void *prefixes) {
    _Alignas(64) char inner[ACC_BYTES + TALLY_CPU_ACC_MOST];
    uint32_t places[TALLY_CPU_BATCH];
    const size_t bytes = context->states->acc_bytes;
    kept k;
    keep(context, x, y, n, &k);
    char *const own = reverse ? inner : inner + bytes;
    memcpy(reverse ? inner + k.n * bytes : inner, acc_of(state), bytes);
    inner_of(context)->prefixes(&context->states->context, k.x, k.y, k.n, index, reverse, false, acc_of(state), own);
    if (!k.all && has_index(context))
        restore_indices(context, &k, index, own);
    if (k.all)
        memset(k.marks, 0, n);
    uint32_t met = 0;
    for (size_t step = 0; step < n; step++) {
        const size_t i = reverse ? n - 1 - step : step;
        const uint32_t is_kept = !k.marks[i], counted = met + (exclusive ? 0 : is_kept);
        state_at(context, prefixes, i)->elements = state->elements + counted;
        places[i] = reverse ? (uint32_t)k.n - counted : counted;
        met += is_kept;
    }
    COPY_EACH(n, bytes, acc_of(state_at(context, prefixes, i)), inner + places[i] * bytes)
    state->elements += k.n;
    memcpy(acc_of(state), reverse ? inner : inner + k.n * bytes, bytes);
}

static void counted_prefixes(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                             bool reverse, bool exclusive, void *acc, void *prefixes) {
    const size_t most_elements = least(TALLY_CPU_BATCH, most_apart(context));
    for (size_t done = 0, count; done < n; done += count) {
        count = least(n - done, most_elements);
        const size_t first = reverse ? n - done - count : done;
        give_prefixes(context, tally_at(x, first, context->in_bytes), tally_at(y, first, context->in_bytes), count,
                      index + first, reverse, exclusive, acc, state_at(context, prefixes, first));
    }
}

static void counted_combine(const tally_cpu_context *context, size_t count, const void *other, void *acc) {
    for (size_t i = 0; i < count; i++) {
        const tally_cpu_state *const from = tally_at(other, i, context->acc_stride);
        tally_cpu_state *const into = state_at(context, acc, i);
        if (from->elements)
            inner_of(context)->combine(&context->states->context, 1, from + 1, acc_of(into));
        into->elements += from->elements;
    }
}

static const tally_cpu_kernels counted_kernels = {
    .acc_type = TALLY_DEFAULT,
    .identity = counted_identity,
    .fold = counted_fold,
    .fold_rows = counted_fold_rows,
    .fold_segments = counted_fold_segments,
    .fold_columns = counted_fold_columns,
    .prefixes = counted_prefixes,
    .combine = counted_combine,
};

static void lower_counted(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const tally_computation *c = &plan->base.computation;
    const size_t result_bytes = c->out_bytes * c->per_result;
    const bool may_give_nothing = gives_nothing(plan);
    (void)counts;
    for (size_t done = 0, piece; done < count; done += piece) {
        _Alignas(64) char inner[ACC_BYTES];
        uint64_t elements[TALLY_CPU_BATCH];
        piece = least(count - done, least(TALLY_CPU_BATCH, most_apart(&plan->context)));
        const size_t bytes = plan->states->acc_bytes;
        COPY_EACH(piece, bytes, inner + i * bytes,
                  (const char *)acc + (done + i) * plan->acc_bytes + sizeof(tally_cpu_state))
        for (size_t i = 0; i < piece; i++)
            elements[i] = ((const tally_cpu_state *)tally_at(acc, done + i, plan->acc_bytes))->elements;
        void *const to = tally_at_mutable(out, done, result_bytes);
        plan->states->lower(plan->states, inner, piece, (tally_counts){elements, 0, 0}, to);
        for (size_t i = 0; i < piece && may_give_nothing; i++)
            if (!elements[i])
                lower_nothing(plan, i, to);
    }
}

void tally_cpu_counted_choose(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    double value;
    plan->context = (tally_cpu_context){.in_bytes = c->in_bytes, .out_bytes = c->out_bytes, .states = plan->states};
    tally_cpu_skipping_choose(plan);
    plan->context.replaces = neutral(c, &value) && !c->exact;
    choose_shown(&plan->context, plan->states);
    plan->kernels = &counted_kernels;
    plan->acc_bytes = sizeof(tally_cpu_state) + (size_t)round_up(plan->states->acc_bytes, _Alignof(tally_cpu_state));
    plan->context.acc_stride = plan->acc_bytes;
    plan->lower = c->gives_words ? tally_cpu_words_lower_states : lower_counted;
}
