/* Columns of counted accumulators: tiles of rows and columns, whose NaNs are replaced or, column by column, closed up.
 */
#include "cpu/counted.h"
#include "cpu/nans.h"

enum {
    COLUMN_BYTES = 1024, /* of a column that is closed up */
    ROWS = 256,          /* that are folded as they are before accumulators are looked at */
    MOMENTS = 64         /* columns of them: with 256, 16 rows each would pay for their division */
};

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

static void replace_in_columns(const tally_cpu_context *context, const tile *t, const char *values, kept_block *k,
                               uint32_t *left_out) {
    memset(left_out, 0, t->width * sizeof *left_out);
    for (size_t r = 0; r < t->rows; r++)
        context->nans->replace_columns(tally_at(t->x, r * t->stride, context->in_bytes), t->width, values,
                                       k->room[0] + r * t->width * context->in_bytes, left_out);
}

/* By a copy in which NaNs change nothing. False as fold_copy. */
static bool fold_replaced(const tally_cpu_context *context, const tile *t, kept_block *k) {
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
        if (tally_cpu_counted_may_be_replaced(context, fresh, t->width))
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
static void fold_closed_up(const tally_cpu_context *context, const tile *t, size_t j, kept_block *k) {
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
    memcpy(tally_state_acc(s), t->acc + j * acc_bytes, acc_bytes);
    tally_cpu_counted_keep(context, column[0], t->y ? column[1] : NULL, t->rows, k);
    tally_cpu_counted_fold_kept(context, k, t->index, s);
    memcpy(t->acc + j * acc_bytes, tally_state_acc(s), acc_bytes);
    t->elements[j] -= t->rows - s->elements;
}

static void fold_moments_of_columns(const tally_cpu_context *context, const tile *t, kept_block *k) {
    const tally_cpu_kernels *const inner = inner_of(context);
    const tally_cpu_context *const own = &context->states->context;
    _Alignas(64) double fresh[MOMENTS][4];
    double means[MOMENTS];
    char values[sizeof means];
    uint32_t left_out[MOMENTS];
    tally_cpu_counted_choose_values(context, (const void *)t->acc, t->x, t->rows, t->width, t->stride, means, values);
    replace_in_columns(context, t, values, k, left_out);
    inner->identity(own, t->width, fresh);
    inner->fold_columns(own, k->room[0], NULL, t->rows, t->width, t->width, t->index, fresh);
    for (size_t j = 0; j < t->width; j++) {
        if (tally_cpu_counted_take_out(fresh[j], left_out[j], means[j])) {
            t->elements[j] -= left_out[j];
            continue;
        }
        inner->identity(own, 1, fresh[j]);
        fold_closed_up(context, t, j, k);
    }
    inner->combine(own, t->width, fresh, t->acc);
}

/* A tile with NaNs. */
static void fold_numbers_of_columns(const tally_cpu_context *context, const tile *t, kept_block *k) {
    if (has_moments(context))
        fold_moments_of_columns(context, t, k);
    else if (!context->replaces || t->y || !fold_replaced(context, t, k))
        for (size_t j = 0; j < t->width; j++)
            fold_closed_up(context, t, j, k);
}

/* Rows of at most TALLY_CPU_BATCH columns. */
static void fold_tile(const tally_cpu_context *context, const tile *whole, kept_block *k) {
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

void tally_cpu_counted_fold_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows,
                                    size_t width, size_t stride, uint64_t index, void *acc) {
    _Alignas(64) char inner[ACC_BYTES];
    uint64_t elements[TALLY_CPU_BATCH];
    kept_block k;
    const size_t most_columns = has_moments(context) ? MOMENTS : least(TALLY_CPU_BATCH, most_apart(context));
    for (size_t first = 0, columns; first < width; first += columns) {
        void *const states = tally_state_at(context, acc, first);
        columns = least(width - first, most_columns);
        take_accumulators(context, states, columns, inner);
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
        put_accumulators(context, inner, columns, states);
        for (size_t j = 0; j < columns; j++)
            tally_state_at(context, states, j)->elements += elements[j];
    }
}
