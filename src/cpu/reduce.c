/* Reductions over all values and along an axis.
 *
 * Only the shape decides how the work is cut into tasks, never the number of threads. Partial results are combined in
 * the order of the elements. So the bits are the same for any number of threads. */
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/columns.h"
#include "cpu/equal_groups.h"
#include "cpu/few_rows.h"
#include "cpu/group_trees.h"
#include "cpu/lone.h"
#include "cpu/lower.h"
#include "cpu/packing.h"
#include "cpu/reduce.h"
#include "cpu/scratch.h"

enum {
    /* Up to this many values, of any type, are one task; of the widest type they have a task's bytes. */
    FEW_VALUES = TALLY_CPU_TASK_BYTES / 8,
    /* Elements of a chunk are a multiple of this, so that chunks begin where vectors do. */
    CHUNK_ELEMENTS = 4096,
    /* Rows of a chunk of columns are a multiple of this. Each chunk leaves a row of accumulators, which is written,
     * read and combined by the caller alone (1024 x 1024 f32: 100 us with 8 rows, 49 with 64, 39 with 128). */
    CHUNK_ROWS = 128,
    /* The least that a task of argmin reads, since it reads 8 KiB once more to find the place: 495,422 u64 took one
     * thread 40.6 us by TASK_BYTES, 37.4 by this. */
    PLACE_TASK_BYTES = 4 * TALLY_CPU_TASK_BYTES,
    /* From this many groups or tiles on there are enough tasks without cutting the extent, too. */
    ENOUGH_TASKS = TALLY_CPU_MOST_TASKS / 4,
    /* Most tasks of whole groups, which leave no partial results to combine. */
    MOST_GROUP_TASKS = 16 * TALLY_CPU_MOST_TASKS,
    /* Rows of up to this many bytes are folded many per call. (Zen 5, largest of i32 in rows of 100, ns an element by a
     * call each and so: 0.14 and 0.10.) */
    SHORT_ROW_BYTES = 4096,
    /* And of elements that are converted first, many rows at a time. (logsumexp of i32 in rows of 70, 100 and 150 0.57,
     * 0.46, 0.35 ns an element by a call each, and 0.31, 0.27, 0.22 so.) */
    SHORT_CONVERTED_BYTES = 1024,
    /* If the extent x inner elements of a group have fewer bytes, a task has several groups. */
    SMALL_BLOCK_BYTES = TALLY_CPU_TILE_BYTES,
    LEAST_TILE = 16 /* columns */
};

typedef struct reduction {
    const tally_cpu_plan *plan;
    const void *x, *y;
    uint64_t outer, extent, inner;
    uint64_t index;  /* number of the first row */
    void *out;       /* receives the lowered results if 'into' is NULL */
    void *into;      /* else the accumulators that they are combined into */
    uint64_t chunk;  /* rows of a task along the extent */
    uint64_t chunks; /* tasks along the extent */
    uint64_t tile;   /* columns of a task; or groups of a task where the axis is the last one */
    uint64_t tiles;
    uint64_t width;  /* columns that are folded in small blocks; those behind the inner ones mean nothing */
    uint64_t packed; /* groups that are packed side by side; 0: none */
    bool few_rows;   /* a few rows each, straight to results (few_rows.h) */
    bool joins_rows; /* small blocks of many rows, several of which are taken as one */
    void *partials;  /* chunks > 1: accumulators [outer][chunks][inner] */
} reduction;

static size_t acc_bytes(const reduction *r) {
    return r->plan->acc_bytes;
}

static void identity(const reduction *r, uint64_t count, void *acc) {
    r->plan->kernels->identity(&r->plan->context, count, acc);
}

static void *result_at(const reduction *r, uint64_t result) {
    const tally_computation *c = &r->plan->base.computation;
    return tally_at_mutable(r->out, result, c->out_bytes * c->per_result);
}

/* Lowers the accumulators of results first .. first + count - 1 into the output, or combines them into 'into'. */
static void emit(const reduction *r, uint64_t first, uint64_t count, const void *acc) {
    if (r->into)
        r->plan->kernels->combine(&r->plan->context, count, acc, tally_at_mutable(r->into, first, acc_bytes(r)));
    else
        r->plan->lower(r->plan, acc, count, (tally_counts){NULL, r->extent, 0}, result_at(r, first));
}

static const void *element_at(const reduction *r, const void *base, uint64_t element) {
    return tally_at(base, element, r->plan->base.computation.in_bytes);
}

/* Rows of a chunk: enough to make a task worth a thread's time, at most MOST_TASKS chunks, and a multiple of the rows
 * that chunks are made of. */
static uint64_t chunk_rows(const reduction *r, uint64_t other_tasks) {
    uint64_t row_bytes = r->inner * r->plan->base.computation.in_bytes;
    uint64_t tasks = most(TALLY_CPU_MOST_TASKS / most(other_tasks, 1), 1);
    const bool finds_place = tally_looks_at_index(&r->plan->base.computation);
    const uint64_t least_bytes = finds_place ? PLACE_TASK_BYTES : TALLY_CPU_TASK_BYTES;
    uint64_t rows = most(divide_up(r->extent, tasks), divide_up(least_bytes, row_bytes));
    if (other_tasks >= ENOUGH_TASKS)
        return r->extent;
    return least(round_up(rows, r->inner == 1 ? CHUNK_ELEMENTS : CHUNK_ROWS), r->extent);
}

/* The caller reads little input before a second thread can help. It is cut into the same tasks all the same, so that
 * results do not depend on who does them. */
static void run_tasks(reduction *r, size_t tasks, tally_task *task) {
    const tally_computation *c = &r->plan->base.computation;
    uint64_t bytes = r->outer * r->extent * r->inner * c->in_bytes * (r->y ? 2 : 1);
    bool reads_fast = !c->exact && c->monoid != TALLY_MONOID_user;
    if (reads_fast && bytes <= TALLY_CPU_ALONE_BYTES)
        for (size_t i = 0; i < tasks; i++)
            task(r, i, 0);
    else
        tally_pool_run(r->plan->device->pool, tasks, task, r);
}

/* ---- small groups, side by side ---- */

enum {
    PACKED_LEAST = 4,     /* groups */
    LEAST_USED = 3,       /* a vector has at most so many columns for each that counts */
    LEAST_OVERLAPPED = 6, /* rows of a group, for which a call is worth it */
    WIDEST_VECTOR = 64    /* bytes */
};

static bool can_be_packed(const reduction *r) {
    return r->outer >= PACKED_LEAST && r->extent > 0 &&
           tally_cpu_packed_groups(r->extent, r->inner, r->plan->base.computation.in_bytes, TALLY_CPU_SMALL_GROUP) >=
               PACKED_LEAST;
}

/* Columns that fill no vector are folded along with what follows them in memory, which the next group's overwrite.
 * Returns the columns of a vector; or the inner ones where there are enough, or packing is the faster way. (One thread:
 * sums of f32 in groups of 300 x 5 took 0.39 ns an element one by one, 0.18 so; smallest of u8 30 x 20 0.10 packed,
 * 0.04 so; largest of i64 20 x 2 0.29 packed, 0.42 so.) */
static uint64_t width_of_small_blocks(const reduction *r) {
    const uint64_t vector = WIDEST_VECTOR / r->plan->base.computation.in_bytes;
    const bool pays = !can_be_packed(r) || (r->inner * LEAST_USED >= vector && r->extent >= LEAST_OVERLAPPED);
    const bool has_rows = r->extent > 0 && r->inner > 1;
    return r->plan->kernels->fold_block && has_rows && r->inner < vector && pays ? vector : r->inner;
}

/* Chooses r->packed for groups that fill no vectors, neither by their columns nor by their rows. */
static void choose_packed(reduction *r) {
    const tally_computation *c = &r->plan->base.computation;
    const bool has_short_sums = r->inner == 1 && c->monoid == TALLY_MONOID_sum;
    if (c->exact || r->into || has_short_sums || acc_bytes(r) > TALLY_CPU_PACKED_ACC || r->extent < 2 ||
        (r->inner == 1 && !tally_cpu_packs_rows(r->plan, r->extent)))
        return;
    if (can_be_packed(r) && width_of_small_blocks(r) == r->inner)
        r->packed = tally_cpu_packed_groups(r->extent, r->inner, c->in_bytes, TALLY_CPU_SMALL_GROUP);
}

static size_t packed_bytes(const reduction *r) {
    return TALLY_CPU_PACKED_COLUMNS * acc_bytes(r) + 2 * (TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK);
}

static void packed_task(void *job, size_t task, unsigned worker) {
    const reduction *r = job;
    const size_t row_bytes = r->inner * r->plan->base.computation.in_bytes;
    void *acc = tally_cpu_worker(r->plan, worker);
    char *x = tally_at_mutable(acc, TALLY_CPU_PACKED_COLUMNS, acc_bytes(r));
    char *y = r->y ? x + TALLY_CPU_PACKED_BYTES + TALLY_CPU_PACKED_SLACK : NULL;
    const uint64_t end = least((task + 1) * r->tile, r->outer);
    for (uint64_t group = task * r->tile, groups; group < end; group += groups) {
        groups = least(end - group, r->packed);
        const uint64_t element = group * r->extent * r->inner, width = groups * r->inner;
        tally_cpu_pack(r->plan->device->level->instructions, element_at(r, r->x, element), row_bytes, r->extent, groups,
                       x);
        if (y)
            tally_cpu_pack(r->plan->device->level->instructions, element_at(r, r->y, element), row_bytes, r->extent,
                           groups, y);
        if (r->few_rows) {
            tally_cpu_reduce_few_rows(r->plan, x, r->extent, width, width, result_at(r, group * r->inner));
            continue;
        }
        tally_cpu_fold_packed(r->plan, x, y, r->extent, width, acc);
        emit(r, group * r->inner, width, acc);
    }
}

static tally_status reduce_packed(tally_cpu_plan *plan, reduction *r) {
    tally_status status = tally_cpu_worker_scratch(plan, packed_bytes(r));
    if (status != TALLY_OK)
        return status;
    const uint64_t group_bytes = r->extent * r->inner * plan->base.computation.in_bytes;
    r->tile = round_up(divide_up(TALLY_CPU_TASK_BYTES, group_bytes), r->packed);
    run_tasks(r, divide_up(r->outer, r->tile), packed_task);
    return TALLY_OK;
}

/* ---- the axis is the last one: groups are contiguous ---- */

static void fold_chunk(const reduction *r, uint64_t group, uint64_t chunk, void *acc) {
    uint64_t first = chunk * r->chunk, n = least(r->chunk, r->extent - first);
    uint64_t element = group * r->extent + first;
    identity(r, 1, acc);
    r->plan->kernels->fold(&r->plan->context, element_at(r, r->x, element), element_at(r, r->y, element), n,
                           r->index + first, acc);
}

static void chunk_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    const reduction *r = job;
    fold_chunk(r, task / r->chunks, task % r->chunks, tally_at_mutable(r->partials, task, acc_bytes(r)));
}

/* A task of whole groups, lowered in batches. */
static void groups_task(void *job, size_t task, unsigned worker) {
    const reduction *r = job;
    void *acc = tally_cpu_worker(r->plan, worker);
    uint64_t group = task * r->tile, end = least(group + r->tile, r->outer);
    const uint64_t short_row = r->plan->context.convert ? SHORT_CONVERTED_BYTES : SHORT_ROW_BYTES;
    const bool is_short = r->extent * r->plan->base.computation.in_bytes <= short_row;
    const bool by_trees =
        !r->into && r->index == 0 && r->extent > 0 && tally_cpu_folds_rows_by_trees(r->plan, r->extent);
    uint64_t offsets[TALLY_CPU_BATCH + 1];
    for (uint64_t i = 0; by_trees && i <= TALLY_CPU_BATCH; i++)
        offsets[i] = i * r->extent;
    while (group < end) {
        uint64_t batch = least(end - group, TALLY_CPU_BATCH);
        if (by_trees) {
            tally_cpu_fold_by_trees(r->plan, element_at(r, r->x, group * r->extent),
                                    element_at(r, r->y, group * r->extent), offsets, batch, NULL, result_at(r, group));
            group += batch;
            continue;
        }
        if (r->extent == 0)
            identity(r, batch, acc);
        else if (is_short)
            r->plan->kernels->fold_rows(&r->plan->context, element_at(r, r->x, group * r->extent),
                                        element_at(r, r->y, group * r->extent), batch, r->extent, acc);
        else
            for (uint64_t i = 0; i < batch; i++)
                fold_chunk(r, group + i, 0, tally_at_mutable(acc, i, acc_bytes(r)));
        emit(r, group, batch, acc);
        group += batch;
    }
}

/* Combines a group's partials in order into the first of them. */
static void combine_partials(const reduction *r, uint64_t group) {
    char *first = tally_at_mutable(r->partials, group * r->chunks * r->inner, acc_bytes(r));
    for (uint64_t chunk = 1; chunk < r->chunks; chunk++)
        r->plan->kernels->combine(&r->plan->context, r->inner, first + chunk * r->inner * acc_bytes(r), first);
    emit(r, group * r->inner, r->inner, first);
}

static tally_status reduce_groups(tally_cpu_plan *plan, reduction *r) {
    r->chunk = chunk_rows(r, r->outer);
    r->chunks = divide_up(r->extent, most(r->chunk, 1));
    if (r->outer == 1 && r->chunks == 1) { /* small: nothing to share, nothing to allocate */
        _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
        fold_chunk(r, 0, 0, acc);
        emit(r, 0, 1, acc);
        return TALLY_OK;
    }
    if (r->chunks > 1) {
        tally_status status = tally_cpu_scratch(plan, r->outer * r->chunks * plan->acc_bytes, &r->partials);
        if (status != TALLY_OK)
            return status;
        run_tasks(r, r->outer * r->chunks, chunk_task);
        for (uint64_t group = 0; group < r->outer; group++)
            combine_partials(r, group);
        return TALLY_OK;
    }
    tally_status status = tally_cpu_worker_scratch(plan, TALLY_CPU_BATCH * plan->acc_bytes);
    if (status != TALLY_OK)
        return status;
    uint64_t group_bytes = most(r->extent * plan->base.computation.in_bytes, 1);
    r->tile = most(divide_up(TALLY_CPU_TASK_BYTES, group_bytes), divide_up(r->outer, MOST_GROUP_TASKS));
    run_tasks(r, divide_up(r->outer, r->tile), groups_task);
    return TALLY_OK;
}

/* ---- the axis is not the last one: columns ---- */

/* Rows first .. first + rows - 1 of columns column .. column + width - 1 into acc. */
static void fold_column_tile(const reduction *r, uint64_t group, uint64_t first, uint64_t rows, uint64_t column,
                             uint64_t width, void *acc) {
    uint64_t element = (group * r->extent + first) * r->inner + column;
    r->plan->kernels->fold_columns(&r->plan->context, element_at(r, r->x, element), element_at(r, r->y, element), rows,
                                   width, r->inner, r->index + first, acc);
}

/* Columns of a whole tile, with nothing in acc before. For few rows, filling accumulators and reading them again does
 * not pay: 0.71 of the roof with it, 0.9 without for a sum of three rows. */
static void fold_fresh_tile(const reduction *r, uint64_t group, uint64_t first, uint64_t rows, uint64_t column,
                            uint64_t width, void *acc) {
    const tally_cpu_kernels *kernels = r->plan->kernels;
    if (kernels->fold_block && rows > 0) {
        const uint64_t element = (group * r->extent + first) * r->inner + column;
        kernels->fold_block(element_at(r, r->x, element), element_at(r, r->y, element), rows, width, r->inner,
                            TALLY_CPU_NOTHING, acc);
        return;
    }
    const uint64_t element = (group * r->extent + first) * r->inner;
    if (width == r->inner && tally_cpu_fold_turned(r->plan, element_at(r, r->x, element), element_at(r, r->y, element),
                                                   rows, width, r->index + first, acc))
        return;
    identity(r, width, acc);
    fold_column_tile(r, group, first, rows, column, width, acc);
}

static void column_task(void *job, size_t task, unsigned worker) {
    const reduction *r = job;
    uint64_t tile = task % r->tiles, chunk = task / r->tiles % r->chunks, group = task / r->tiles / r->chunks;
    uint64_t first = chunk * r->chunk, rows = least(r->chunk, r->extent - first);
    uint64_t column = tile * r->tile, width = least(r->tile, r->inner - column);
    void *acc = tally_cpu_worker(r->plan, worker);
    if (r->few_rows) { /* which are one chunk */
        tally_cpu_reduce_few_rows(r->plan, element_at(r, r->x, group * r->extent * r->inner + column), rows, width,
                                  r->inner, result_at(r, group * r->inner + column));
        return;
    }
    if (r->tiles == 1) {
        uint64_t element = (group * r->extent + first) * r->inner;
        tally_cpu_fold_whole_rows(r->plan, element_at(r, r->x, element), element_at(r, r->y, element), rows, r->inner,
                                  r->index + first, acc);
    } else {
        fold_fresh_tile(r, group, first, rows, column, width, acc);
    }
    if (r->chunks == 1)
        emit(r, group * r->inner + column, width, acc);
    else
        memcpy(tally_at_mutable(r->partials, (group * r->chunks + chunk) * r->inner + column, acc_bytes(r)), acc,
               width * acc_bytes(r));
}

/* Small blocks of extent x inner, many a task. */
static void blocks_task(void *job, size_t task, unsigned worker) {
    const reduction *r = job;
    void *acc = tally_cpu_worker(r->plan, worker);
    uint64_t group = task * r->tile, end = least(group + r->tile, r->outer);
    const uint64_t elements = r->outer * r->extent * r->inner;
    uint64_t batch = most(TALLY_CPU_BATCH / r->inner, 1);
    while (group < end) {
        uint64_t count = least(batch, end - group);
        for (uint64_t i = 0; r->few_rows && i < count; i++)
            tally_cpu_reduce_few_rows(r->plan, element_at(r, r->x, (group + i) * r->extent * r->inner), r->extent,
                                      r->inner, r->inner, result_at(r, (group + i) * r->inner));
        if (r->few_rows) {
            group += count;
            continue;
        }
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t element = (group + i) * r->extent * r->inner;
            const bool is_followed = element + r->extent * r->inner + (r->width - r->inner) <= elements;
            void *const to = tally_at_mutable(acc, i * r->inner, acc_bytes(r));
            if (r->joins_rows)
                tally_cpu_fold_whole_rows(r->plan, element_at(r, r->x, element), element_at(r, r->y, element),
                                          r->extent, r->inner, r->index, to);
            else
                fold_fresh_tile(r, group + i, 0, r->extent, 0, is_followed ? r->width : r->inner, to);
        }
        emit(r, group * r->inner, count * r->inner, acc);
        group += count;
    }
}

/* Whether several rows of a small block are taken as one, since a vector for each would be almost empty. (One thread of
 * a Zen 5, ns an element by a vector a row and so: sums of i8 in 4087 x 2 0.53 and 0.02, of f32 in 100 x 7, 200 x 7 and
 * 800 x 2 0.10, 0.09, 0.27 and 0.12, 0.06, 0.06; minmax of f32 in 200 x 7 0.28 by rows and 0.14, in 800 x 2 0.09 and
 * 0.13.) */
static bool joins_rows(const reduction *r) {
    enum { LEAST_ROWS = 160, LEAST_ROWS_OF_PAIRS = 64, LEAST_COLUMNS_OF_PAIRS = 4 };
    const tally_computation *c = &r->plan->base.computation;
    if (r->inner * c->in_bytes >= WIDEST_VECTOR)
        return false;
    return r->plan->kernels->fold_block ? r->extent >= LEAST_ROWS
                                        : tally_class_of(c->monoid) == TALLY_CLASS_VALUES &&
                                              r->extent >= LEAST_ROWS_OF_PAIRS && r->inner >= LEAST_COLUMNS_OF_PAIRS;
}

static tally_status reduce_columns(tally_cpu_plan *plan, reduction *r) {
    const size_t in_bytes = plan->base.computation.in_bytes;
    uint64_t tile_most =
        most(least(TALLY_CPU_TILE_BYTES / plan->acc_bytes, TALLY_CPU_TILE_BYTES / in_bytes), LEAST_TILE);
    uint64_t room = most(tally_cpu_columns_room(tile_most), TALLY_CPU_BATCH + tile_most);
    tally_status status = tally_cpu_worker_scratch(plan, room * plan->acc_bytes);
    if (status != TALLY_OK)
        return status;
    uint64_t block_bytes = r->extent * r->inner * in_bytes;
    if (block_bytes < SMALL_BLOCK_BYTES && r->inner <= tile_most && r->outer > 1) {
        r->tile = most(TALLY_CPU_TASK_BYTES / most(block_bytes, 1), 1);
        r->width = width_of_small_blocks(r);
        r->joins_rows = joins_rows(r);
        run_tasks(r, divide_up(r->outer, r->tile), blocks_task);
        return TALLY_OK;
    }
    r->tile = least(r->inner, tile_most);
    r->tiles = divide_up(r->inner, r->tile);
    r->chunk = chunk_rows(r, r->outer * r->tiles);
    r->chunks = divide_up(r->extent, most(r->chunk, 1));
    if (r->chunks > 1) {
        status = tally_cpu_scratch(plan, r->outer * r->chunks * r->inner * plan->acc_bytes, &r->partials);
        if (status != TALLY_OK)
            return status;
    }
    r->chunks = most(r->chunks, 1);
    run_tasks(r, r->outer * r->chunks * r->tiles, column_task);
    for (uint64_t group = 0; r->chunks > 1 && group < r->outer; group++)
        combine_partials(r, group);
    return TALLY_OK;
}

/* Groups of one element. */
static void lone_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    const reduction *r = job;
    const uint64_t first = task * r->tile;
    tally_cpu_reduce_lone(r->plan, element_at(r, r->x, first), element_at(r, r->y, first),
                          least(r->tile, r->outer - first), false, result_at(r, first));
}

/* All values, few enough for one task: as reduce_groups, but without its bookkeeping, which takes as long as folding a
 * hundred values. */
static void reduce_few(const tally_cpu_plan *plan, const tally_args *args) {
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    plan->kernels->identity(&plan->context, 1, acc);
    plan->kernels->fold(&plan->context, args->x, args->y, args->shape.extent, 0, acc);
    plan->lower(plan, acc, 1, (tally_counts){NULL, args->shape.extent, 0}, args->out);
}

static tally_status reduce(tally_cpu_plan *plan, reduction *r) {
    const tally_computation *c = &plan->base.computation;
    if (r->outer == 0 || r->inner == 0 || (r->into && r->extent == 0))
        return TALLY_OK;
    if (r->extent == 1 && !r->into) { /* every element is a group */
        r->outer *= r->inner;
        r->inner = 1;
        if (tally_cpu_has_lone(plan)) {
            r->tile = TALLY_CPU_SCAN_BYTES / most(c->in_bytes, c->out_bytes);
            run_tasks(r, divide_up(r->outer, r->tile), lone_task);
            return TALLY_OK;
        }
    }
    choose_packed(r);
    r->few_rows = !r->into && (r->packed || r->inner > 1) &&
                  tally_cpu_has_few_rows(plan, r->extent, most(r->packed, 1) * r->inner);
    if (r->packed)
        return reduce_packed(plan, r);
    return r->inner == 1 ? reduce_groups(plan, r) : reduce_columns(plan, r);
}

tally_status tally_cpu_reduce(tally_cpu_plan *plan, const tally_args *args, uint64_t index, void *into) {
    const tally_computation *c = &plan->base.computation;
    tally_status status;
    if (!into && args->shape.extent == 0 && (status = tally_run_check_empty(c, args)) != TALLY_OK)
        return status;
    if (!into && c->desc.grouping == TALLY_ALL_VALUES && args->shape.extent <= FEW_VALUES) {
        reduce_few(plan, args);
        return TALLY_OK;
    }
    reduction r = {.plan = plan,
                   .x = args->x,
                   .y = args->y,
                   .outer = 1,
                   .extent = args->shape.extent,
                   .inner = 1,
                   .index = index,
                   .out = args->out,
                   .into = into};
    if (c->desc.grouping == TALLY_AXIS) {
        r.outer = args->shape.outer;
        r.inner = args->shape.inner;
    }
    return reduce(plan, &r);
}

bool tally_cpu_reduces_rows(const tally_cpu_plan *plan, uint64_t extent) {
    const tally_computation *c = &plan->base.computation;
    if (c->monoid == TALLY_MONOID_nonzero && !tally_cpu_packs_rows(plan, extent)) /* else they are counted */
        return false;
    return !c->exact && c->monoid != TALLY_MONOID_user && !c->takes_words && !c->gives_words && !plan->states &&
           !plan->context.nans;
}

tally_status tally_cpu_reduce_rows(tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t extent,
                                   void *out) {
    reduction r = {.plan = plan, .x = x, .y = y, .outer = rows, .extent = extent, .inner = 1, .out = out};
    return reduce(plan, &r);
}
