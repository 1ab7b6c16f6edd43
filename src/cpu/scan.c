/* Scans over all values and along an axis.
 *
 * A group is cut into chunks that fit the second-level cache. A thread folds its chunk, which brings it there. When its
 * turn comes, it combines the value before the chunk with the chunk's own and passes it on. Then it scans the chunk
 * from the cache. Chunks are taken in order and passing the value on is short, so threads hardly wait. The value before
 * a chunk is always made of whole chunks, in order, so the bits are the same for any number of threads. */
#include <string.h>

#include "core/arithmetic.h"
#include "cpu/columns.h"
#include "cpu/components.h"
#include "cpu/exact.h"
#include "cpu/lifted.h"
#include "cpu/logsumexp_running.h"
#include "cpu/lone.h"
#include "cpu/lower.h"
#include "cpu/packing.h"
#include "cpu/planes.h"
#include "cpu/scan.h"
#include "cpu/scan_run.h"
#include "cpu/scratch.h"
#include "cpu/skipping.h"
#include "cpu/spread.h"
#include "cpu/text/scan.h"

enum {
    TILE_ROW_BYTES = 4096, /* of a row in a tile of columns, at most; and at least so many columns: */
    LEAST_TILE = 16,
    /* Fewer tiles than this leave threads without work. Then chunks of rows are shared instead, if a group has more
     * than two of them; a chunk of less than SCAN_BYTES has at least so many rows. */
    FEW_TILES = 16,
    LEAST_ROWS = 16,
    /* Variances and logsumexps are shared by columns instead, at least so many, if what a task has fits a cache: chunks
     * of rows would be folded, too. (One thread: deviations of f32, 101 x 262, 0.95 and 0.49 ns an element, logsumexp,
     * 200 x 200, 0.69 and 0.52. Others take longer so, by a call for each row: means of f32 0.28 and 0.43.) */
    SHARED_COLUMNS = 64
};

typedef struct scan {
    const tally_cpu_plan *plan;
    const void *x, *y, *initial;
    void *out;
    uint64_t outer, extent, inner;
    uint64_t index;  /* of the first row, for pieces */
    uint64_t length; /* of the group, as far as the direction of the scan needs it: to its end */
    uint64_t chunk;  /* rows of a chunk */
    uint64_t chunks; /* of a group */
    uint64_t tile;   /* columns of a task; or groups of a task where the axis is the last one */
    uint64_t tiles;
    uint64_t each; /* tiles of a task */
    bool stream;
    bool turned;  /* its few columns are turned into rows */
    void *before; /* inner accumulators: the value of the pieces before; NULL if there are none */
    void *carry;  /* inner accumulators: the value before the chunk whose turn it is */
    tally_turn *turn;
} scan;

/* ---- the axis is the last one: groups are contiguous ---- */

static const void *element_at(const scan *s, const void *base, uint64_t element) {
    return tally_at(base, element, s->plan->base.computation.in_bytes);
}

static void *result_at(const scan *s, uint64_t element) {
    const tally_computation *c = &s->plan->base.computation;
    return tally_at_mutable(s->out, element, c->out_bytes * c->per_result);
}

static tally_cpu_scan_options options_of(const scan *s, uint64_t elements) {
    const tally_computation *c = &s->plan->base.computation;
    const bool stream = s->stream && elements >= TALLY_CPU_LEAST_STREAMED;
    return (tally_cpu_scan_options){c->reverse, c->desc.form == TALLY_EXCLUSIVE_SCAN, stream, 0};
}

/* The scan with a copy of elements first .. first + n - 1 instead of the input, if NaNs are left out. */
static scan staged(const scan *s, uint64_t first, uint64_t n, unsigned worker) {
    scan copied = *s;
    if (!s->plan->staging_bytes)
        return copied;
    const size_t bytes = s->plan->base.computation.in_bytes;
    const void *x = element_at(s, s->x, first), *y = element_at(s, s->y, first);
    tally_cpu_stage(s->plan, worker, &x, &y, n);
    copied.x = (const char *)x - first * bytes;
    copied.y = y ? (const char *)y - first * bytes : NULL;
    return copied;
}

static void scan_elements(const scan *s, uint64_t group, uint64_t first, uint64_t n, unsigned worker, void *acc) {
    uint64_t element = group * s->extent + first;
    tally_cpu_scan_run(s->plan, element_at(s, s->x, element), element_at(s, s->y, element), n, s->index + first,
                       s->length, s->stream, worker, acc, result_at(s, element));
}

/* Groups of one element without an initial value: each result is that of its element, or of nothing. */
static void scan_elements_alone(const scan *s, uint64_t first, uint64_t end, unsigned worker) {
    const tally_cpu_plan *plan = s->plan;
    const bool exclusive = plan->base.computation.desc.form == TALLY_EXCLUSIVE_SCAN;
    void *acc = tally_cpu_worker(plan, worker);
    if (exclusive) {
        plan->kernels->identity(&plan->context, 1, acc);
        tally_cpu_fill_results(plan, acc, end - first, 0, s->stream, result_at(s, first));
        return;
    }
    if (tally_cpu_has_lone(plan)) {
        tally_cpu_reduce_lone(plan, element_at(s, s->x, first), element_at(s, s->y, first), end - first, s->stream,
                              result_at(s, first));
        return;
    }
    for (uint64_t count; first < end; first += count) {
        count = least(end - first, TALLY_CPU_BATCH);
        plan->kernels->fold_rows(&plan->context, element_at(s, s->x, first), element_at(s, s->y, first), count, 1, acc);
        plan->lower(plan, acc, count, (tally_counts){NULL, 1, 0}, result_at(s, first));
    }
}

static void groups_task(void *job, size_t task, unsigned worker) {
    const scan *s = job;
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    uint64_t end = least((task + 1) * s->tile, s->outer);
    const scan copied = staged(s, task * s->tile * s->extent, (end - task * s->tile) * s->extent, worker);
    s = &copied;
    const bool calls_user = s->plan->base.computation.monoid == TALLY_MONOID_user && !s->plan->context.text;
    if (s->extent == 1 && !s->initial && !calls_user) {
        scan_elements_alone(s, task * s->tile, end, worker);
        return;
    }
    if (tally_cpu_lifts_rows(s->plan, s->extent)) {
        const uint64_t element = task * s->tile * s->extent;
        tally_cpu_start(s->plan, s->initial, acc);
        tally_cpu_lifted_rows(s->plan, element_at(s, s->x, element), element_at(s, s->y, element), end - task * s->tile,
                              s->extent, worker, acc, result_at(s, element));
        return;
    }
    if (tally_cpu_spreads_rows(s->plan, s->extent)) {
        const uint64_t element = task * s->tile * s->extent;
        tally_cpu_spread_rows(s->plan, element_at(s, s->x, element), end - task * s->tile, s->extent, worker,
                              result_at(s, element));
        return;
    }
    if (s->plan->direct && s->extent <= TALLY_CPU_SHORT_ROW) {
        const uint64_t first = task * s->tile, element = first * s->extent;
        tally_cpu_start(s->plan, s->initial, acc);
        s->plan->direct->planes(element_at(s, s->x, element), end - first, s->extent, 1, options_of(s, UINT64_MAX), acc,
                                result_at(s, element));
        return;
    }
    for (uint64_t group = task * s->tile; group < end; group++) {
        tally_cpu_start(s->plan, s->initial, acc);
        scan_elements(s, group, 0, s->extent, worker, acc);
    }
}

static void chunk_task(void *job, size_t task, unsigned worker) {
    const scan *s = job;
    const tally_cpu_plan *plan = s->plan;
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST], own[TALLY_CPU_ACC_MOST];
    uint64_t group = task / s->chunks, place = task % s->chunks;
    uint64_t chunk = plan->base.computation.reverse ? s->chunks - 1 - place : place;
    uint64_t first = chunk * s->chunk, n = least(s->chunk, s->extent - first);
    uint64_t element = group * s->extent + first;
    const uint64_t number = s->index + first;
    const uint64_t elements_before = plan->base.computation.reverse ? s->length - number - n : number;
    const scan copied = staged(s, element, n, worker);
    s = &copied;
    bool hands_on = place + 1 < s->chunks || s->before;
    if (hands_on) {
        plan->kernels->identity(&plan->context, 1, own);
        tally_cpu_fold_run(plan, element_at(s, s->x, element), element_at(s, s->y, element), n, s->index + first,
                           worker, own);
    }
    tally_turn_wait(s->turn, task);
    if (place > 0 || s->before)
        memcpy(acc, s->carry, plan->acc_bytes);
    else
        tally_cpu_start(plan, s->initial, acc);
    bool is_settled = false;
    if (hands_on) {
        memcpy(s->carry, acc, plan->acc_bytes);
        plan->kernels->combine(&plan->context, 1, own, s->carry);
        is_settled = tally_cpu_may_settle(plan) && tally_cpu_is_settled(plan, acc, elements_before, s->carry, n);
    }
    tally_turn_pass(s->turn, task);
    if (is_settled) {
        tally_cpu_fill_results(plan, acc, n, elements_before, s->stream, result_at(s, element));
        return;
    }
    scan_elements(s, group, first, n, worker, acc);
}

static tally_status scan_groups(tally_cpu_plan *plan, scan *s) {
    const size_t in_bytes = plan->base.computation.in_bytes;
    tally_status status = tally_cpu_worker_scratch(plan, tally_cpu_run_bytes(plan));
    if (status != TALLY_OK)
        return status;
    const uint64_t elements = s->outer * s->extent;
    s->chunk = tally_cpu_scan_task(plan, elements, TALLY_CPU_SCAN_BYTES / in_bytes);
    s->chunks = divide_up(s->extent, s->chunk);
    if (s->chunks == 1 && !s->before) {
        s->tile = most(tally_cpu_scan_task(plan, elements, TALLY_CPU_TASK_BYTES / in_bytes) / s->extent, 1);
        if (tally_cpu_spreads_rows(plan, s->extent))
            s->tile = round_up(s->tile, TALLY_CPU_ROWS_BESIDE);
        tally_pool_run(plan->device->pool, divide_up(s->outer, s->tile), groups_task, s);
        return TALLY_OK;
    }
    _Alignas(64) unsigned char carry[TALLY_CPU_ACC_MOST];
    s->carry = s->before ? s->before : carry;
    tally_pool_run_in_order(plan->device->pool, s->outer * s->chunks, chunk_task, s);
    return TALLY_OK;
}

/* ---- the axis is not the last one: columns ---- */

enum {
    /* Fewer columns are turned into rows, since a call for each row of the input would take longer than the row. */
    FEW_COLUMNS = 32,
    LEAST_TURNED = 32, /* rows */
    /* Variances take some 7 ns a row of up to eight columns (2 columns of f32 2.96 ns an element, turned 1.91; 4 of f64
     * 1.78 and 2.31; 3 of f32 in 40 rows 3.2 and 4.1). */
    FEW_COLUMNS_OF_MOMENTS = 3,
    LEAST_TURNED_OF_MOMENTS = 128
};

/* Input, second input and output of columns that are turned, and one accumulator. */
typedef struct turned {
    _Alignas(64) char x[TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK];
    char y[TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK];
    char out[TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK];
} turned;

static size_t turned_bytes(const tally_cpu_plan *plan) {
    return (size_t)round_up(tally_cpu_run_bytes(plan), 64) + sizeof(turned);
}

static bool turns_columns(const scan *s) {
    const tally_computation *c = &s->plan->base.computation;
    const bool calls_user = c->monoid == TALLY_MONOID_user && !s->plan->context.text;
    const bool are_few = tally_cpu_scans_spread(s->plan)
                             ? s->inner <= FEW_COLUMNS_OF_MOMENTS && s->extent >= LEAST_TURNED_OF_MOMENTS
                             : s->inner < FEW_COLUMNS && s->extent >= LEAST_TURNED;
    return !s->plan->lifted.scan && !c->exact && !calls_user && are_few;
}

/* Bytes of worker scratch before a task's accumulators. */
static size_t work_bytes(const scan *s) {
    return s->turned ? turned_bytes(s->plan) : (size_t)round_up(tally_cpu_run_bytes(s->plan), 64);
}

/* As scan_columns, for all columns of rows, a block at a time. */
static void scan_turned_columns(const scan *s, uint64_t group, uint64_t first, uint64_t rows, unsigned worker,
                                void *acc) {
    const tally_cpu_plan *plan = s->plan;
    const tally_computation *c = &plan->base.computation;
    const size_t out_bytes = c->out_bytes * c->per_result, in_bytes = c->in_bytes;
    turned *t = tally_at_mutable(tally_cpu_worker(plan, worker), 1, (size_t)round_up(tally_cpu_run_bytes(plan), 64));
    const uint64_t most_rows = TALLY_CPU_PACKED_BYTES / (s->inner * most(in_bytes, out_bytes));
    for (uint64_t done = 0, block; done < rows; done += block) {
        block = least(rows - done, most_rows);
        const uint64_t row = first + (c->reverse ? rows - done - block : done);
        const uint64_t element = (group * s->extent + row) * s->inner;
        tally_cpu_pack(s->plan->device->level->instructions, element_at(s, s->x, element), in_bytes, s->inner, block,
                       t->x);
        if (s->y)
            tally_cpu_pack(s->plan->device->level->instructions, element_at(s, s->y, element), in_bytes, s->inner,
                           block, t->y);
        for (uint64_t j = 0; j < s->inner; j++) {
            const void *x = tally_at(t->x, j * block, in_bytes), *y = s->y ? tally_at(t->y, j * block, in_bytes) : NULL;
            tally_cpu_scan_run(plan, x, y, block, s->index + row, s->length, false, worker,
                               tally_at_mutable(acc, j, plan->acc_bytes),
                               tally_at_mutable(t->out, j * block, out_bytes));
        }
        tally_cpu_unpack(s->plan->device->level->instructions, t->out, out_bytes, s->inner, block,
                         result_at(s, element));
    }
}

/* Rows first .. first + rows - 1 of columns column .. column + width - 1. acc[width] is the value before them and
 * becomes the value after them; there is room for as much again behind it. */
static void scan_columns(const scan *s, uint64_t group, uint64_t first, uint64_t rows, uint64_t column, uint64_t width,
                         unsigned worker, void *acc) {
    const tally_cpu_plan *plan = s->plan;
    const tally_computation *c = &plan->base.computation;
    bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN;
    uint64_t element = (group * s->extent + first) * s->inner + column;
    const tally_cpu_scan_options how = options_of(s, rows * width);
    if (c->exact) {
        tally_cpu_exact_scan_columns(plan, element_at(s, s->x, element), rows, width, s->inner, how, acc,
                                     result_at(s, element));
        return;
    }
    if (plan->direct) {
        void *const values = tally_at_mutable(acc, width, plan->acc_bytes);
        const tally_dtype type = plan->kernels->acc_type;
        tally_cpu_convert_numbers(plan, type, c->desc.out, acc, width, values);
        plan->direct->columns(element_at(s, s->x, element), rows, width, s->inner, how, values, s->inner,
                              result_at(s, element));
        tally_cpu_convert_numbers(plan, c->desc.out, type, values, width, acc);
        return;
    }
    if (tally_cpu_lifts_columns(plan, s->extent, s->inner)) {
        tally_cpu_lifted_columns(plan, element_at(s, s->x, element), element_at(s, s->y, element), rows, width,
                                 s->inner, s->index + first, s->length, worker, acc, result_at(s, element));
        return;
    }
    if (plan->context.text) {
        tally_cpu_text_scan_columns(plan, element_at(s, s->x, element), rows, width, s->inner, s->index + first,
                                    s->length, acc, result_at(s, element));
        return;
    }
    if (tally_cpu_scans_logsumexp(plan)) {
        tally_cpu_logsumexp_columns(plan, element_at(s, s->x, element), rows, width, s->inner, acc,
                                    result_at(s, element));
        return;
    }
    if (tally_cpu_scans_spread(plan)) {
        tally_cpu_spread_columns(plan, element_at(s, s->x, element), rows, width, s->inner, s->index + first, s->length,
                                 acc, s->before != NULL, result_at(s, element));
        return;
    }
    const bool overwrites = s->out == s->x || s->out == s->y, goes_on = s->before || rows < s->extent;
    void *lowered = acc;
    if (exclusive && overwrites) /* a copy: the row is gone before it is folded */
        lowered = tally_at_mutable(acc, width, plan->acc_bytes);
    for (uint64_t k = 0; k < rows; k++) {
        uint64_t row = c->reverse ? rows - 1 - k : k, at = element + row * s->inner, number = s->index + first + row;
        const uint64_t count = c->reverse ? s->length - number - exclusive : number + !exclusive;
        const tally_counts counts = {NULL, count, 0};
        if (exclusive && overwrites)
            memcpy(lowered, acc, width * plan->acc_bytes);
        else if (exclusive)
            plan->lower(plan, acc, width, counts, result_at(s, at));
        if (!exclusive || overwrites || goes_on || k + 1 < rows)
            plan->kernels->fold_columns(&plan->context, element_at(s, s->x, at), element_at(s, s->y, at), 1, width,
                                        s->inner, number, acc);
        if (!exclusive || overwrites)
            plan->lower(plan, lowered, width, counts, result_at(s, at));
    }
}

static void start_columns(const scan *s, uint64_t column, uint64_t width, void *acc) {
    const tally_cpu_plan *plan = s->plan;
    if (s->before) {
        memcpy(acc, tally_at(s->before, column, plan->acc_bytes), width * plan->acc_bytes);
        return;
    }
    plan->kernels->identity(&plan->context, width, acc);
    for (uint64_t j = 0; s->initial && j < width; j++)
        tally_cpu_raise(plan, s->initial, tally_at_mutable(acc, j, plan->acc_bytes));
}

static bool starts_from_nothing(const scan *s) {
    return !s->before && !s->initial && !s->plan->base.computation.exact;
}

/* As start_columns and scan_columns for all rows of a group. */
static void scan_whole_columns(const scan *s, uint64_t group, uint64_t column, uint64_t width, unsigned worker,
                               void *acc) {
    const tally_cpu_plan *plan = s->plan;
    const uint64_t element = group * s->extent * s->inner + column;
    if (starts_from_nothing(s) && plan->direct) {
        plan->direct->columns(element_at(s, s->x, element), s->extent, width, s->inner,
                              options_of(s, s->extent * width), NULL, s->inner, result_at(s, element));
        return;
    }
    if (starts_from_nothing(s) && tally_cpu_lifts_whole_columns(plan, s->extent, s->inner)) {
        tally_cpu_lifted_columns(plan, element_at(s, s->x, element), element_at(s, s->y, element), s->extent, width,
                                 s->inner, s->index, s->length, worker, NULL, result_at(s, element));
        return;
    }
    const bool is_alone = starts_from_nothing(s) && tally_cpu_scans_logsumexp(plan) && s->extent <= TALLY_CPU_EXPS_ROWS;
    if (!is_alone)
        start_columns(s, column, width, acc);
    scan_columns(s, group, 0, s->extent, column, width, worker, is_alone ? NULL : acc);
}

/* All rows, unless they are copied. */
static uint64_t rows_at_once(const scan *s) {
    const uint64_t row_bytes = s->inner * s->plan->base.computation.in_bytes;
    return s->plan->staging_bytes ? most(TALLY_CPU_SCAN_BYTES / row_bytes, 1) : s->extent;
}

/* A tile of columns, all rows of it. */
static void scan_tile(const scan *s, uint64_t number, unsigned worker) {
    uint64_t group = number / s->tiles, column = number % s->tiles * s->tile;
    uint64_t width = least(s->tile, s->inner - column);
    void *acc = tally_at_mutable(tally_cpu_worker(s->plan, worker), 1, work_bytes(s));
    const uint64_t most_rows = rows_at_once(s);
    if (most_rows == s->extent && !s->turned && !s->before && !s->plan->staging_bytes) {
        scan_whole_columns(s, group, column, width, worker, acc);
        return;
    }
    start_columns(s, column, width, acc);
    for (uint64_t done = 0, rows; done < s->extent; done += rows) {
        rows = least(s->extent - done, most_rows);
        const uint64_t first = s->plan->base.computation.reverse ? s->extent - done - rows : done;
        const scan copied = staged(s, (group * s->extent + first) * s->inner, rows * s->inner, worker);
        if (s->turned)
            scan_turned_columns(&copied, group, first, rows, worker, acc);
        else
            scan_columns(&copied, group, first, rows, column, width, worker, acc);
    }
    if (s->before)
        memcpy(tally_at_mutable(s->before, column, s->plan->acc_bytes), acc, width * s->plan->acc_bytes);
}

/* Several tiles if they are small: with one task each, planes of 16 x 16 reached 0.35 of the roof. */
static void tiles_task(void *job, size_t task, unsigned worker) {
    const scan *s = job;
    const uint64_t end = least((task + 1) * s->each, s->outer * s->tiles);
    for (uint64_t number = task * s->each; number < end; number++)
        scan_tile(s, number, worker);
}

/* Narrow groups side by side, scanned as wide ones. */
static size_t packed_groups(const scan *s) {
    const tally_computation *c = &s->plan->base.computation;
    if (c->exact || s->before || s->outer < 4 || s->plan->acc_bytes > 64)
        return 0;
    const size_t bytes = most(c->in_bytes, c->out_bytes * c->per_result);
    /* Fast scans do not pay for the copies of a group of more bytes, where its rows fill vectors (sums of f32 in 2 x
     * 20 1.8 ns an element and 1.3 packed, of f64 in 6 x 10 1.3 and 2.1). */
    enum { MOST_DIRECT = 192, MOST_SPREAD = 512 };
    if (s->plan->direct && s->inner * bytes > TALLY_CPU_PACKED_ROW_BYTES && s->extent * s->inner * bytes > MOST_DIRECT)
        return 0;
    /* Nor do variances (of f32 in 3 x 70 1.14 and 1.55). */
    if (tally_cpu_scans_spread(s->plan) && s->inner * bytes > TALLY_CPU_PACKED_ROW_BYTES &&
        s->extent * s->inner * bytes > MOST_SPREAD)
        return 0;
    const size_t groups = tally_cpu_packed_groups(s->extent, s->inner, bytes, TALLY_CPU_SMALL_SCAN);
    return groups < 4 ? 0 : groups;
}

static void planes_task(void *job, size_t task, unsigned worker) {
    const scan *s = job;
    const uint64_t first = task * s->each, at = first * s->extent * s->inner;
    tally_cpu_scan_planes(s->plan, element_at(s, s->x, at), element_at(s, s->y, at), least(s->each, s->outer - first),
                          s->extent, s->inner, s->stream, worker, result_at(s, at));
}

/* Short rows of several components are scanned as columns: one by one each took as long as 50 elements. */
static bool packs_rows(const scan *s) {
    return s->inner == 1 && !s->plan->direct && !tally_cpu_lifts_rows(s->plan, s->extent) && s->extent > 1 &&
           !tally_cpu_spreads_rows(s->plan, s->extent) && s->extent <= TALLY_CPU_SHORT_GROUP / 2 &&
           packed_groups(s) > 0;
}

static size_t packed_bytes(const scan *s) {
    return work_bytes(s) + 2 * TALLY_CPU_PACKED_COLUMNS * s->plan->acc_bytes +
           3 * (TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK);
}

static void packed_task(void *job, size_t task, unsigned worker) {
    const scan *s = job;
    const tally_computation *c = &s->plan->base.computation;
    const size_t array = TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK;
    void *acc = tally_at_mutable(tally_cpu_worker(s->plan, worker), 1, work_bytes(s));
    char *x = tally_at_mutable(acc, 2 * TALLY_CPU_PACKED_COLUMNS, s->plan->acc_bytes), *y = x + array, *out = y + array;
    const uint64_t first = task * s->each, groups = least(s->each, s->outer - first);
    const uint64_t element = first * s->extent * s->inner;
    scan packed = *s;
    packed.x = x;
    packed.y = s->y ? y : NULL;
    packed.out = out;
    packed.outer = 1;
    packed.inner = groups * s->inner;
    packed.stream = false;
    tally_cpu_pack(s->plan->device->level->instructions, element_at(s, s->x, element), s->inner * c->in_bytes,
                   s->extent, groups, x);
    if (s->y)
        tally_cpu_pack(s->plan->device->level->instructions, element_at(s, s->y, element), s->inner * c->in_bytes,
                       s->extent, groups, y);
    packed = staged(&packed, 0, s->extent * packed.inner, worker);
    scan_whole_columns(&packed, 0, 0, packed.inner, worker, acc);
    tally_cpu_unpack(s->plan->device->level->instructions, out, s->inner * c->out_bytes * c->per_result, s->extent,
                     groups, result_at(s, element));
}

/* own[inner] = the chunk's own columns, in the direction of the scan. */
static void fold_chunk_columns(const scan *s, uint64_t group, uint64_t first, uint64_t rows, void *own) {
    const tally_cpu_plan *plan = s->plan;
    const tally_computation *c = &plan->base.computation;
    uint64_t element = (group * s->extent + first) * s->inner;
    if (!c->reverse || c->monoid != TALLY_MONOID_user) {
        tally_cpu_fold_whole_rows(plan, element_at(s, s->x, element), element_at(s, s->y, element), rows, s->inner,
                                  s->index + first, own);
        return;
    }
    plan->kernels->identity(&plan->context, s->inner, own);
    for (uint64_t row = rows; row-- > 0;)
        plan->kernels->fold_columns(&plan->context, element_at(s, s->x, element + row * s->inner), NULL, 1, s->inner,
                                    s->inner, s->index + first + row, own);
}

/* All columns of a chunk of rows, for groups too narrow to give each thread columns of its own. */
static void rows_task(void *job, size_t task, unsigned worker) {
    const scan *s = job;
    const tally_cpu_plan *plan = s->plan;
    uint64_t group = task / s->chunks, place = task % s->chunks;
    uint64_t chunk = plan->base.computation.reverse ? s->chunks - 1 - place : place;
    uint64_t first = chunk * s->chunk, rows = least(s->chunk, s->extent - first);
    const scan copied = staged(s, (group * s->extent + first) * s->inner, rows * s->inner, worker);
    s = &copied;
    size_t bytes = s->inner * plan->acc_bytes;
    void *own = tally_at_mutable(tally_cpu_worker(plan, worker), 1, work_bytes(s));
    void *acc = tally_at_mutable(own, tally_cpu_columns_room(s->inner), plan->acc_bytes);
    fold_chunk_columns(s, group, first, rows, own);
    tally_turn_wait(s->turn, task);
    if (place > 0)
        memcpy(acc, s->carry, bytes);
    else
        start_columns(s, 0, s->inner, acc);
    memcpy(s->carry, acc, bytes);
    plan->kernels->combine(&plan->context, s->inner, own, s->carry);
    tally_turn_pass(s->turn, task);
    if (s->turned)
        scan_turned_columns(s, group, first, rows, worker, acc);
    else
        scan_columns(s, group, first, rows, 0, s->inner, worker, acc);
}

static tally_status scan_tiles_of_columns(tally_cpu_plan *plan, scan *s) {
    const size_t in_bytes = plan->base.computation.in_bytes;
    const uint64_t elements = s->outer * s->extent * s->inner, whole = TALLY_CPU_SCAN_BYTES / in_bytes;
    const uint64_t task = tally_cpu_scan_task(plan, elements, whole);
    tally_status status;
    if (s->outer >= 4 && s->inner > 1 && starts_from_nothing(s) && !plan->staging_bytes &&
        tally_cpu_scans_planes(plan, s->extent, s->inner, packed_groups(s) > 0)) {
        s->each = most(least(task, TALLY_CPU_TASK_BYTES / in_bytes) / (s->extent * s->inner), 1);
        if ((status = tally_cpu_worker_scratch(plan, tally_cpu_run_bytes(plan))) == TALLY_OK)
            tally_pool_run(plan->device->pool, divide_up(s->outer, s->each), planes_task, s);
        return status;
    }
    if ((s->each = packed_groups(s)) != 0) {
        if ((status = tally_cpu_worker_scratch(plan, packed_bytes(s))) == TALLY_OK)
            tally_pool_run(plan->device->pool, divide_up(s->outer, s->each), packed_task, s);
        return status;
    }
    uint64_t tile_most = most(least(TALLY_CPU_TILE_BYTES / plan->acc_bytes, TILE_ROW_BYTES / in_bytes), LEAST_TILE);
    if (starts_from_nothing(s) && s->inner <= TALLY_CPU_LIFTED_TRUTHS &&
        tally_cpu_lifts_whole_columns(plan, s->extent, s->inner))
        tile_most = s->inner; /* whole rows are lifted at once, and scanned to the results */
    s->chunk = most(most(task, least(LEAST_ROWS * s->inner, whole)) / s->inner, 1);
    s->chunks = divide_up(s->extent, s->chunk);
    const uint64_t parts = least(s->inner / SHARED_COLUMNS, FEW_TILES);
    const bool folds_much =
        tally_cpu_scans_spread(plan) || tally_cpu_scans_logsumexp(plan) || tally_cpu_keeps_columns(plan, s->inner);
    const bool by_columns = folds_much && s->chunks > 2 && parts > 1 && elements <= parts * whole;
    if (by_columns)
        tile_most = least(tile_most, round_up(divide_up(s->inner, parts), 8));
    s->tile = plan->staging_bytes ? s->inner : least(s->inner, tile_most); /* whole rows are copied */
    s->tiles = divide_up(s->inner, s->tile);
    if (plan->staging_bytes)
        plan->staging_bytes = tally_cpu_staging_bytes(plan, most(TALLY_CPU_SCAN_BYTES / in_bytes, s->inner));
    const bool few_tasks = !by_columns && s->outer * s->tiles < FEW_TILES && s->chunks > 2 && s->chunks > 2 * s->tiles;
    uint64_t room = tally_cpu_columns_room(s->inner) + 2 * s->inner;
    s->turned = turns_columns(s) && s->tiles == 1;
    const size_t accumulators = (size_t)(few_tasks ? room : 2 * s->tile) * plan->acc_bytes;
    if ((status = tally_cpu_worker_scratch(plan, work_bytes(s) + accumulators)) != TALLY_OK)
        return status;
    if (!few_tasks) {
        s->each = most(least(task, TALLY_CPU_TASK_BYTES / in_bytes) / (s->extent * s->tile), 1);
        tally_pool_run(plan->device->pool, divide_up(s->outer * s->tiles, s->each), tiles_task, s);
        return TALLY_OK;
    }
    if ((status = tally_cpu_scratch(plan, s->inner * plan->acc_bytes, &s->carry)) != TALLY_OK)
        return status;
    tally_pool_run_in_order(plan->device->pool, s->outer * s->chunks, rows_task, s);
    if (s->before)
        memcpy(s->before, s->carry, s->inner * plan->acc_bytes);
    return TALLY_OK;
}

tally_status tally_cpu_scan_axis(tally_cpu_plan *plan, const tally_args *args, uint64_t rows, void *carry) {
    const tally_computation *c = &plan->base.computation;
    tally_turn turn = {0};
    scan s = {.plan = plan,
              .turn = &turn,
              .x = args->x,
              .y = args->y,
              .initial = args->initial,
              .out = args->out,
              .outer = 1,
              .extent = args->shape.extent,
              .inner = 1,
              .index = c->reverse ? 0 : rows,
              .length = rows + args->shape.extent,
              .before = carry};
    if (c->desc.grouping == TALLY_AXIS) {
        s.outer = args->shape.outer;
        s.inner = args->shape.inner;
    }
    const uint64_t elements = s.outer * s.extent * s.inner;
    if (elements == 0)
        return TALLY_OK;
    if (s.extent == 1 && !carry) { /* every element is a group */
        s.outer = elements;
        s.inner = 1;
    }
    s.stream = elements * c->out_bytes > TALLY_CPU_STREAM_BYTES && args->out != args->x;
    return s.inner == 1 && !packs_rows(&s) ? scan_groups(plan, &s) : scan_tiles_of_columns(plan, &s);
}
