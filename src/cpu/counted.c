#include "cpu/counted.h"

#include <math.h>

#include "core/dtype.h"
#include "cpu/nans.h"
#include "cpu/short_groups.h"
#include "cpu/skipping.h"
#include "cpu/words.h"

enum {
    SPAN = 64 * 1024, /* elements that are tried as they are, at most, and */
    FIRST_SPAN = 1024 /* elements that are tried first, where few NaNs are many */
};

static size_t block_of(const tally_cpu_context *context) {
    return BLOCK_BYTES / context->in_bytes;
}

/* Closes up a block of at most block_of() elements. */
static void keep_numbers(const tally_cpu_context *context, const void *x, size_t n, kept_block *k) {
    k->x = k->room[0];
    k->y = NULL;
    k->n = context->nans->keep_numbers(x, n, k->room[0]);
    k->all = k->n == n;
}

void tally_cpu_counted_keep(const tally_cpu_context *context, const void *x, const void *y, size_t n, kept_block *k) {
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
        tally_cpu_state *const s = tally_state_at(context, acc, i);
        s->elements = 0;
        inner_of(context)->identity(&context->states->context, 1, tally_state_acc(s));
    }
}

void tally_cpu_counted_fold_kept(const tally_cpu_context *context, const kept_block *k, uint64_t index,
                                 tally_cpu_state *into) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    into->elements += k->n;
    if (k->n == 0)
        return;
    if (k->all || !has_index(context)) {
        inner->fold(own, k->x, k->y, k->n, index, tally_state_acc(into));
        return;
    }
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    inner->identity(own, 1, acc);
    inner->fold(own, k->x, k->y, k->n, 0, acc);
    restore_index(context, k->marks, index, acc);
    inner->combine(own, 1, acc, tally_state_acc(into));
}

bool tally_cpu_counted_may_be_replaced(const tally_cpu_context *context, const void *acc, size_t count) {
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
static bool fold_copy(const tally_cpu_context *context, const void *x, size_t n, uint64_t index, kept_block *k,
                      tally_cpu_state *into) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    const size_t left_out = context->nans->replace_counting(x, n, context->neutral, k->room[0]);
    if (!has_index(context)) {
        inner->fold(own, k->room[0], NULL, n, index, tally_state_acc(into));
        into->elements += n - left_out;
        return true;
    }
    _Alignas(16) unsigned char acc[sizeof(double) + sizeof(int64_t)];
    inner->identity(own, 1, acc);
    inner->fold(own, k->room[0], NULL, n, index, acc);
    if (left_out && tally_cpu_counted_may_be_replaced(context, acc, 1))
        return false;
    inner->combine(own, 1, acc, tally_state_acc(into));
    into->elements += n - left_out;
    return true;
}

/* ---- moments ----
 *
 * NaNs are replaced by a number near the mean, and its copies are taken out of the moments again. */

static void convert(const tally_cpu_plan *plan, tally_dtype from, tally_dtype to, const void *x, size_t n, void *out) {
    if (from == to)
        memcpy(out, x, n * tally_dtype_size(to));
    else
        plan->device->level->types[from]->convert[to](x, n, out);
}

void tally_cpu_counted_choose_values(const tally_cpu_context *context, const double (*moments)[4], const void *x,
                                     size_t rows, size_t width, size_t stride, double *means, char *values) {
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

bool tally_cpu_counted_take_out(double *moments, double copies, double number) {
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
static bool fold_moments(const tally_cpu_context *context, const void *x, size_t n, kept_block *k,
                         tally_cpu_state *into) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    _Alignas(64) double fresh[4];
    double mean;
    char value[sizeof mean];
    tally_cpu_counted_choose_values(context, tally_state_acc(into), x, n, 1, 1, &mean, value);
    const size_t left_out = context->nans->replace_counting(x, n, value, k->room[0]);
    inner->identity(own, 1, fresh);
    inner->fold(own, k->room[0], NULL, n, 0, fresh);
    if (!tally_cpu_counted_take_out(fresh, (double)left_out, mean))
        return false;
    inner->combine(own, 1, fresh, tally_state_acc(into));
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
    memcpy(before, tally_state_acc(into), bytes);
    inner_of(context)->fold(&context->states->context, x, y, n, index, tally_state_acc(into));
    if (tally_cpu_shows_nan(context, tally_state_acc(into), 1, bytes)) {
        memcpy(tally_state_acc(into), before, bytes);
        return false;
    }
    into->elements += n;
    return true;
}

/* A block that may have NaNs. */
static void fold_numbers(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                         kept_block *k, tally_cpu_state *into) {
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
        tally_cpu_counted_keep(context, x, y, n, k);
    } else {
        keep_numbers(context, x, n, k);
    }
    tally_cpu_counted_fold_kept(context, k, index, into);
}

static void counted_fold(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                         void *acc) {
    kept_block k;
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
    kept_block k;
    for (size_t done = 0, count; done < n; done += count) {
        count = least(n - done, block_of(&context));
        if (y)
            tally_cpu_counted_keep(&context, tally_at(x, done, c->in_bytes), tally_at(y, done, c->in_bytes), count, &k);
        else
            keep_numbers(&context, tally_at(x, done, c->in_bytes), count, &k);
        plan->kernels->fold(&plan->context, k.x, k.y, k.n, 0, acc);
        elements += k.n;
    }
    return elements;
}

/* The offsets of what was kept of segments, from those of all their elements. */
static void close_up_offsets(const kept_block *k, const uint64_t *offsets, size_t count, uint64_t *closed) {
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
    if (tally_cpu_stands_groups(plan, elements, count, tally_cpu_spread_of(offsets, count)))
        tally_cpu_fold_short_groups(plan, x, y, elements, offsets, count, acc);
    else
        plan->kernels->fold_segments(&plan->context, x, y, offsets, count, acc);
}

/* Segments that fill a block together. */
static void fold_together(const tally_cpu_context *context, const void *x, const void *y, const uint64_t *offsets,
                          size_t count, kept_block *k, void *acc) {
    _Alignas(64) char inner[ACC_BYTES];
    uint64_t closed[TALLY_CPU_BATCH + 1];
    const uint64_t first = offsets[0];
    tally_cpu_counted_keep(context, tally_at(x, first, context->in_bytes), tally_at(y, first, context->in_bytes),
                           offsets[count] - first, k);
    close_up_offsets(k, offsets, count, closed);
    fold_closed_segments(context, k->x, k->y, closed[count], closed, count, inner);
    put_accumulators(context, inner, count, acc);
    for (size_t i = 0; i < count; i++) {
        tally_cpu_state *const s = tally_state_at(context, acc, i);
        s->elements = closed[i + 1] - closed[i];
        if (!k->all && s->elements)
            restore_index(context, k->marks + (offsets[i] - first), 0, tally_state_acc(s));
    }
}

static void counted_fold_segments(const tally_cpu_context *context, const void *x, const void *y,
                                  const uint64_t *offsets, size_t count, void *acc) {
    kept_block k;
    const size_t most_segments = least(TALLY_CPU_BATCH, most_apart(context));
    for (size_t done = 0, taken; done < count; done += taken) {
        const uint64_t first = offsets[done];
        void *const to = tally_state_at(context, acc, done);
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
    put_accumulators(context, inner, rows, acc);
    for (size_t r = 0; r < rows; r++)
        tally_state_at(context, acc, r)->elements = extent;
    return true;
}

static void counted_fold_rows(const tally_cpu_context *context, const void *x, const void *y, size_t rows,
                              size_t extent, void *acc) {
    for (size_t done = 0, count; done < rows; done += count) {
        uint64_t offsets[TALLY_CPU_BATCH + 1];
        count = least(rows - done, least(TALLY_CPU_BATCH, most_apart(context)));
        if (fold_whole_rows(context, tally_at(x, done * extent, context->in_bytes),
                            tally_at(y, done * extent, context->in_bytes), count, extent,
                            tally_state_at(context, acc, done)))
            continue;
        for (size_t r = 0; r <= count; r++)
            offsets[r] = (done + r) * extent;
        counted_fold_segments(context, x, y, offsets, count, tally_state_at(context, acc, done));
    }
}

/* ---- prefixes ---- */

/* The indices of this block among prefixes of what was kept; others are of blocks before. */
static void restore_indices(const tally_cpu_context *context, const kept_block *k, uint64_t first, char *prefixes) {
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
    kept_block k;
    tally_cpu_counted_keep(context, x, y, n, &k);
    char *const own = reverse ? inner : inner + bytes;
    memcpy(reverse ? inner + k.n * bytes : inner, tally_state_acc(state), bytes);
    inner_of(context)->prefixes(&context->states->context, k.x, k.y, k.n, index, reverse, false, tally_state_acc(state),
                                own);
    if (!k.all && has_index(context))
        restore_indices(context, &k, index, own);
    if (k.all)
        memset(k.marks, 0, n);
    uint32_t met = 0;
    for (size_t step = 0; step < n; step++) {
        const size_t i = reverse ? n - 1 - step : step;
        const uint32_t is_kept = !k.marks[i], counted = met + (exclusive ? 0 : is_kept);
        tally_state_at(context, prefixes, i)->elements = state->elements + counted;
        places[i] = reverse ? (uint32_t)k.n - counted : counted;
        met += is_kept;
    }
    COPY_EACH(n, bytes, tally_state_acc(tally_state_at(context, prefixes, i)), inner + places[i] * bytes)
    state->elements += k.n;
    memcpy(tally_state_acc(state), reverse ? inner : inner + k.n * bytes, bytes);
}

static void counted_prefixes(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                             bool reverse, bool exclusive, void *acc, void *prefixes) {
    const size_t most_elements = least(TALLY_CPU_BATCH, most_apart(context));
    for (size_t done = 0, count; done < n; done += count) {
        count = least(n - done, most_elements);
        const size_t first = reverse ? n - done - count : done;
        give_prefixes(context, tally_at(x, first, context->in_bytes), tally_at(y, first, context->in_bytes), count,
                      index + first, reverse, exclusive, acc, tally_state_at(context, prefixes, first));
    }
}

static void counted_combine(const tally_cpu_context *context, size_t count, const void *other, void *acc) {
    for (size_t i = 0; i < count; i++) {
        const tally_cpu_state *const from = tally_at(other, i, context->acc_stride);
        tally_cpu_state *const into = tally_state_at(context, acc, i);
        if (from->elements)
            inner_of(context)->combine(&context->states->context, 1, from + 1, tally_state_acc(into));
        into->elements += from->elements;
    }
}

static const tally_cpu_kernels counted_kernels = {
    .acc_type = TALLY_DEFAULT,
    .identity = counted_identity,
    .fold = counted_fold,
    .fold_rows = counted_fold_rows,
    .fold_segments = counted_fold_segments,
    .fold_columns = tally_cpu_counted_fold_columns,
    .prefixes = counted_prefixes,
    .combine = counted_combine,
};

static void lower_counted(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    const tally_computation *c = &plan->base.computation;
    const size_t result_bytes = c->out_bytes * c->per_result;
    const bool may_give_nothing = tally_cpu_gives_nothing(plan);
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
                tally_cpu_lower_nothing(plan, i, to);
    }
}

void tally_cpu_counted_choose(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    double value;
    plan->context = (tally_cpu_context){.in_bytes = c->in_bytes, .out_bytes = c->out_bytes, .states = plan->states};
    tally_cpu_skipping_choose(plan);
    plan->context.replaces = tally_cpu_neutral(c, &value) && !c->exact;
    tally_cpu_choose_shown(&plan->context, plan->states);
    plan->kernels = &counted_kernels;
    plan->acc_bytes = sizeof(tally_cpu_state) + (size_t)round_up(plan->states->acc_bytes, _Alignof(tally_cpu_state));
    plan->context.acc_stride = plan->acc_bytes;
    plan->lower = c->gives_words ? tally_cpu_words_lower_states : lower_counted;
}
