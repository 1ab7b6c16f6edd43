/* Reductions by unsorted labels.
 *
 * A task combines its elements into a table of accumulators, one for each group. Few groups have a table that stays in
 * a cache: the input is cut into parts, each fills a table of its own, and the tables are combined in order. Of many
 * groups the elements are first moved into buckets of neighbouring groups (partition.c), whose tables are small again;
 * a bucket of very many elements is cut into parts, too. The cut follows from the numbers of elements, so the number of
 * threads does not change a bit. */
#include "cpu/labels.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/status.h"
#include "cpu/lower.h"
#include "cpu/partition.h"
#include "cpu/scratch.h"

enum {
    /* A table of at most so many bytes stays in the second-level cache. */
    TABLE_BYTES = 512 * 1024,
    /* Tables with copies, which stay in the first-level cache. An accumulator that was just written can be read only
     * some ten cycles later, so neighbouring elements use different copies. */
    COPIED_BYTES = 32 * 1024,
    COPIES = 4,
    /* Elements that a copy's accumulator takes one by one where each addition may round; then it is added to another
     * one. A sum of numbers from 2^-60 to 2^31 was wrong by 102 units in the last place after 16,384, most of which
     * are those that are too small to count alone. */
    ROUNDED = 2 * 1024,
    /* Most buckets: each is a stream of writes. */
    MOST_BUCKETS = 2048,
    /* Least elements of a part, and most parts of an input. */
    PART = 64 * 1024,
    MOST_PARTS = 64,
    BLOCK = 1024, /* labels that are read at a time */
    /* Elements that are sorted by label at a time, and most groups of such a table. */
    SORTED = 32 * 1024,
    SORTED_GROUPS = 4096,
    RANGE = 16 * 1024 /* groups of a task that combines tables */
};

/* Elements that go into one table: a part of a bucket. */
typedef struct part {
    size_t bucket;
    uint64_t begin, end;
    void *table; /* NULL: the bucket has no other part, and the worker's table is lowered at once */
} part;

/* A bucket whose tables are combined. */
typedef struct joined {
    size_t bucket, first, count; /* parts */
} joined;

typedef struct labelled {
    const tally_cpu_plan *plan;
    const tally_args *args;
    uint32_t groups;
    bool counts_elements, has_bad;
    bool sorts;      /* elements are sorted and folded group by group, not combined one by one */
    bool has_totals; /* copies are emptied into one more copy, which is the first */
    uint32_t copies;
    size_t width;       /* accumulators of a copy: a bucket's groups and, if there is one bucket, those left out */
    size_t table_bytes; /* its accumulators, then their numbers of elements */
    tally_partition partition;
    bool is_partitioned;
    part *parts;
    size_t part_count;
    joined joined[MOST_PARTS + 1];
    size_t joined_count;
    bool gives;     /* combined tables are lowered in the same task */
    uint64_t empty; /* the first group without elements, where that is an error; else 'groups' */
} labelled;

/* ---- tables ---- */

static size_t layers_of(const labelled *l) {
    return l->copies + l->has_totals;
}

static size_t slots_of(const labelled *l) {
    return layers_of(l) * l->width;
}

static void *accumulator(const labelled *l, void *table, size_t copy, size_t group) {
    return tally_at_mutable(table, copy * l->width + group, l->plan->acc_bytes);
}

static uint64_t *counts_of(const labelled *l, void *table) {
    return tally_at_mutable(table, round_up(slots_of(l) * l->plan->acc_bytes, 64), 1);
}

static void clear_table(const labelled *l, void *table) {
    l->plan->kernels->identity(&l->plan->context, slots_of(l), table);
    if (l->counts_elements)
        memset(counts_of(l, table), 0, slots_of(l) * sizeof(uint64_t));
}

/* ---- elements into a table ---- */

/* The inputs of a task: the caller's or those that were moved. */
typedef struct elements {
    const void *x, *y;
    const uint64_t *places;
    uint64_t index; /* of the first */
    size_t n;
} elements;

static elements elements_at(const labelled *l, uint64_t first, size_t n) {
    const size_t bytes = l->plan->base.computation.in_bytes;
    if (!l->is_partitioned)
        return (elements){tally_at(l->args->x, first, bytes), tally_at(l->args->y, first, bytes), NULL, first, n};
    const tally_partition *p = &l->partition;
    return (elements){tally_at(p->x, first, bytes), tally_at(p->y, first, bytes), p->places ? p->places + first : NULL,
                      first, n};
}

/* The labels of the elements as places in a table; if they have to be read, in 'room'. */
static const uint32_t *labels_of(labelled *l, uint64_t first, size_t n, uint32_t *room) {
    if (l->is_partitioned)
        return l->partition.labels + first;
    const tally_computation *c = &l->plan->base.computation;
    if (l->plan->device->level->read_labels[c->desc.index](tally_at(l->args->labels, first, c->index_bytes), n,
                                                           l->groups, l->copies, room))
        __atomic_store_n(&l->has_bad, true, __ATOMIC_RELAXED);
    return room;
}

static void count_elements(const uint32_t *labels, size_t n, uint64_t *counts) {
    for (size_t i = 0; i < n; i++)
        counts[labels[i]]++;
}

/* Adds the copies to the totals and clears them. */
static void add_to_totals(const labelled *l, void *table) {
    const tally_cpu_plan *plan = l->plan;
    for (size_t copy = 1; copy <= l->copies; copy++) {
        plan->kernels->combine(&plan->context, l->width, accumulator(l, table, copy, 0), table);
        plan->kernels->identity(&plan->context, l->width, accumulator(l, table, copy, 0));
    }
}

static void fold_part(labelled *l, const part *p, void *table) {
    uint32_t room[BLOCK];
    void *const copies = accumulator(l, table, l->has_totals, 0);
    for (uint64_t first = p->begin; first < p->end; first += BLOCK) {
        const elements e = elements_at(l, first, (size_t)least(p->end - first, BLOCK));
        const uint32_t *labels = labels_of(l, first, e.n, room);
        l->plan->kernels->fold_labels(&l->plan->context, e.x, e.y, labels, e.places, e.n, e.index, copies);
        if (l->counts_elements)
            count_elements(labels, e.n, counts_of(l, table));
        if (l->has_totals && (first - p->begin + BLOCK) % (ROUNDED * l->copies) == 0)
            add_to_totals(l, table);
    }
}

/* ---- the same by sorting, for accumulators that take many elements at a time ---- */

typedef struct sorted {
    uint32_t labels[SORTED];
    _Alignas(64) char x[SORTED * sizeof(uint64_t)];
    _Alignas(64) char y[SORTED * sizeof(uint64_t)];
} sorted;

/* ends[g] = where the next element of group g goes. */
static void sort_elements(const void *from, size_t bytes, const uint32_t *labels, const uint32_t *starts, size_t groups,
                          size_t n, uint32_t *ends, char *to) {
    memcpy(ends, starts, groups * sizeof *ends);
    for (size_t i = 0; i < n; i++)
        memcpy(to + ends[labels[i]]++ * bytes, tally_at(from, i, bytes), bytes);
}

/* The worker's scratch: the elements, and two numbers for each group. */
static void fold_sorted(labelled *l, const part *p, sorted *room, void *table) {
    const tally_cpu_plan *plan = l->plan;
    const size_t bytes = plan->base.computation.in_bytes, width = l->width;
    uint32_t *const starts = tally_at_mutable(room, 1, sizeof *room), *const ends = starts + width;
    for (uint64_t first = p->begin; first < p->end; first += SORTED) {
        const elements e = elements_at(l, first, (size_t)least(p->end - first, SORTED));
        const uint32_t *labels = labels_of(l, first, e.n, room->labels);
        memset(ends, 0, width * sizeof *ends);
        for (size_t i = 0; i < e.n; i++)
            ends[labels[i]]++;
        for (size_t g = 0, before = 0; g < width; before += ends[g++])
            starts[g] = (uint32_t)before;
        if (e.y)
            sort_elements(e.y, bytes, labels, starts, width, e.n, ends, room->y);
        sort_elements(e.x, bytes, labels, starts, width, e.n, ends, room->x);
        for (size_t g = 0; g < width; g++)
            if (ends[g] > starts[g])
                plan->kernels->fold(&plan->context, tally_at(room->x, starts[g], bytes),
                                    e.y ? tally_at(room->y, starts[g], bytes) : NULL, ends[g] - starts[g], 0,
                                    accumulator(l, table, 0, g));
        for (size_t g = 0; l->counts_elements && g < width; g++)
            counts_of(l, table)[g] += ends[g] - starts[g];
    }
}

/* ---- results ---- */

static uint64_t first_group(const labelled *l, size_t bucket) {
    return l->is_partitioned ? (uint64_t)bucket << l->partition.shift : 0;
}

static size_t groups_of(const labelled *l, size_t bucket) {
    const uint64_t first = first_group(l, bucket);
    return first < l->groups ? (size_t)least(l->groups - first, l->is_partitioned ? l->width : l->groups) : 0;
}

/* The first table's groups begin .. end - 1 = those of all copies of 'count' tables, in order. */
static void combine_tables(labelled *l, const part *parts, size_t count, void *table, size_t begin, size_t end) {
    const tally_cpu_plan *plan = l->plan;
    for (size_t k = 0; k < count; k++)
        for (size_t copy = 0; copy < layers_of(l); copy++) {
            void *const other = k ? parts[k].table : table;
            if (k + copy == 0)
                continue;
            plan->kernels->combine(&plan->context, end - begin, accumulator(l, other, copy, begin),
                                   accumulator(l, table, 0, begin));
            const uint64_t *const from = counts_of(l, other) + copy * l->width;
            for (size_t g = begin; l->counts_elements && g < end; g++)
                counts_of(l, table)[g] += from[g];
        }
}

static void lower_to(uint64_t *lowest, uint64_t value) {
    uint64_t seen = __atomic_load_n(lowest, __ATOMIC_RELAXED);
    while (value < seen &&
           !__atomic_compare_exchange_n(lowest, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void find_empty(labelled *l, size_t bucket, const uint64_t *counts, size_t begin, size_t end) {
    for (size_t g = begin; g < end; g++)
        if (!counts[g]) {
            lower_to(&l->empty, first_group(l, bucket) + g);
            return;
        }
}

static void give(const labelled *l, size_t bucket, void *table, size_t begin, size_t end) {
    const tally_computation *c = &l->plan->base.computation;
    for (size_t g = begin; g < end; g += TALLY_CPU_BATCH) {
        const size_t n = least(end - g, TALLY_CPU_BATCH);
        l->plan->lower(l->plan, accumulator(l, table, 0, g), n, (tally_counts){counts_of(l, table) + g, 0, 0},
                       tally_at_mutable(l->args->out, first_group(l, bucket) + g, c->out_bytes * c->per_result));
    }
}

/* ---- tasks ---- */

static void part_task(void *job, size_t task, unsigned worker) {
    labelled *l = job;
    const part *p = &l->parts[task];
    void *const scratch = tally_cpu_worker(l->plan, worker);
    void *const table = p->table ? p->table : scratch;
    clear_table(l, table);
    if (l->sorts)
        fold_sorted(l, p, tally_at_mutable(scratch, l->is_partitioned ? l->table_bytes : 0, 1), table);
    else
        fold_part(l, p, table);
    if (!p->table)
        give(l, p->bucket, table, 0, groups_of(l, p->bucket));
}

static size_t ranges_of(const labelled *l) {
    return (size_t)divide_up(l->width, RANGE);
}

static void range_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    labelled *l = job;
    const joined *j = &l->joined[task / ranges_of(l)];
    void *const table = l->parts[j->first].table;
    const size_t begin = task % ranges_of(l) * RANGE, end = least(begin + RANGE, groups_of(l, j->bucket));
    if (begin >= end)
        return;
    combine_tables(l, &l->parts[j->first], j->count, table, begin, end);
    if (l->gives)
        give(l, j->bucket, table, begin, end);
    else
        find_empty(l, j->bucket, counts_of(l, table), begin, end);
}

static void give_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    const labelled *l = job;
    const joined *j = &l->joined[task / ranges_of(l)];
    const size_t begin = task % ranges_of(l) * RANGE;
    give(l, j->bucket, l->parts[j->first].table, begin, least(begin + RANGE, groups_of(l, j->bucket)));
}

/* Moved elements: whether each of a bucket's groups has one. Outputs are not written before all have been looked at. */
static void empty_task(void *job, size_t bucket, unsigned worker) {
    labelled *l = job;
    uint64_t *const counts = tally_cpu_worker(l->plan, worker);
    const uint64_t *starts = l->partition.starts;
    memset(counts, 0, l->width * sizeof *counts);
    count_elements(l->partition.labels + starts[bucket], (size_t)(starts[bucket + 1] - starts[bucket]), counts);
    find_empty(l, bucket, counts, 0, groups_of(l, bucket));
}

/* ---- errors ---- */

static int64_t label_value(const labelled *l, uint64_t i) {
    const tally_computation *c = &l->plan->base.computation;
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        int32_t i32;
        int64_t i64;
    } value = {0};
    memcpy(&value, tally_at(l->args->labels, i, c->index_bytes), c->index_bytes);
    return c->desc.index == TALLY_U8    ? value.u8
           : c->desc.index == TALLY_U16 ? value.u16
           : c->desc.index == TALLY_U32 ? value.u32
           : c->desc.index == TALLY_I32 ? value.i32
                                        : value.i64;
}

static tally_status bad_label(const labelled *l) {
    tally_outcome outcome = {.is_bad = true};
    while ((uint64_t)(outcome.label = label_value(l, outcome.segment)) < l->groups)
        outcome.segment++;
    return tally_run_outcome(&l->plan->base.computation, l->args, &outcome);
}

static tally_status check_labels(const labelled *l, bool has_bad) {
    return has_bad && !(l->plan->base.computation.desc.flags & TALLY_SKIP_BAD_LABELS) ? bad_label(l) : TALLY_OK;
}

static tally_status check_empty(const labelled *l) {
    const tally_outcome outcome = {.is_empty = l->empty < l->groups, .segment = l->empty};
    return tally_run_outcome(&l->plan->base.computation, l->args, &outcome);
}

/* ---- the cut ---- */

static void set_width(labelled *l, size_t width) {
    l->width = width;
    l->table_bytes = (size_t)(round_up(slots_of(l) * l->plan->acc_bytes, 64) +
                              (l->counts_elements ? round_up(slots_of(l) * sizeof(uint64_t), 64) : 0));
}

/* Whether a sum loses a bit of the result's with nearly every addition: f64 in f64. Sums of narrower floats are f64,
 * too, and have bits to spare. */
static bool rounds(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_monoid_class kind = tally_class_of(c->monoid);
    return c->desc.acc == TALLY_F64 && (kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE);
}

/* Copies change the order in which elements are combined, which is for operators of the table only. */
static void choose_tables(labelled *l) {
    const tally_cpu_plan *plan = l->plan;
    const size_t slot = plan->acc_bytes + l->counts_elements * sizeof(uint64_t), width = (size_t)l->groups + 1;
    const bool copies = plan->base.computation.entry && plan->kernels->fold_labels;
    l->copies = copies && COPIES * width * slot <= COPIED_BYTES ? COPIES : 1;
    l->has_totals = l->copies > 1 && rounds(plan);
    l->sorts = !plan->kernels->fold_labels || (rounds(plan) && !l->has_totals);
    const size_t most_groups = l->sorts ? SORTED_GROUPS : TABLE_BYTES;
    l->is_partitioned = width > 2 && (width * slot > TABLE_BYTES || width > most_groups);
    if (!l->is_partitioned) {
        set_width(l, width);
        return;
    }
    unsigned shift = 0;
    while ((((size_t)2 << shift) * slot <= TABLE_BYTES / 2 && (size_t)2 << shift <= most_groups) ||
           (l->groups >> shift) + 1 > MOST_BUCKETS)
        shift++;
    l->partition =
        (tally_partition){.plan = plan, .args = l->args, .shift = shift, .buckets = (size_t)(l->groups >> shift) + 1};
    set_width(l, (size_t)1 << shift);
}

/* How many parts a bucket of n elements is cut into. Combining a table must cost little beside filling it. */
static size_t parts_of(const labelled *l, uint64_t n) {
    const uint64_t slots = (uint64_t)slots_of(l) * 2 * l->plan->acc_bytes;
    const uint64_t least_part = most(most(slots, PART), divide_up(l->args->shape.extent, MOST_PARTS));
    return (size_t)most(n / least_part, 1);
}

/* A bucket of one part is lowered from its worker's table, but outputs are written only when all labels were checked.
 */
static void cut_bucket(labelled *l, size_t bucket, uint64_t begin, uint64_t end, char **table) {
    const size_t count = parts_of(l, end - begin);
    const uint64_t each = divide_up(end - begin, count);
    const bool joins = count > 1 || !l->is_partitioned;
    if (joins)
        l->joined[l->joined_count++] = (joined){bucket, l->part_count, count};
    for (size_t k = 0; k < count; k++) {
        const uint64_t from = least(begin + k * each, end);
        l->parts[l->part_count++] = (part){bucket, from, least(from + each, end), joins ? *table : NULL};
        *table += joins ? l->table_bytes : 0;
    }
}

/* Reserves memory: the moved elements, the parts, and their tables. Fewer tables are used if buckets have one part. */
static tally_status reserve(labelled *l, tally_cpu_plan *plan, char **moved, char **tables) {
    const size_t of_partition = l->is_partitioned ? (size_t)round_up(tally_partition_bytes(&l->partition), 64) : 0;
    const size_t buckets = l->is_partitioned ? l->partition.buckets : 1;
    const size_t of_parts = (size_t)round_up((buckets + MOST_PARTS) * sizeof *l->parts, 64);
    const size_t of_worker =
        (l->is_partitioned ? l->table_bytes : 0) + (l->sorts ? sizeof(sorted) + 2 * l->width * sizeof(uint32_t) : 0);
    void *scratch;
    tally_status status = tally_cpu_worker_scratch(plan, of_worker);
    if (status == TALLY_OK)
        status = tally_cpu_scratch(plan, of_partition + of_parts + parts_of(l, l->args->shape.extent) * l->table_bytes,
                                   &scratch);
    if (status != TALLY_OK)
        return status;
    *moved = scratch;
    l->parts = tally_at_mutable(scratch, of_partition, 1);
    *tables = tally_at_mutable(scratch, of_partition + of_parts, 1);
    return TALLY_OK;
}

/* ---- the two ways ---- */

static tally_status reduce_at_once(labelled *l, char *tables) {
    tally_pool *const pool = l->plan->device->pool;
    cut_bucket(l, 0, 0, l->args->shape.extent, &tables);
    tally_pool_run(pool, l->part_count, part_task, l);
    tally_status status = check_labels(l, l->has_bad);
    if (status != TALLY_OK)
        return status;
    tally_pool_run(pool, ranges_of(l), range_task, l);
    if (l->gives || (status = check_empty(l)) != TALLY_OK)
        return status;
    tally_pool_run(pool, ranges_of(l), give_task, l);
    return TALLY_OK;
}

static tally_status reduce_buckets(labelled *l, char *moved, char *tables) {
    tally_pool *const pool = l->plan->device->pool;
    tally_partition *const p = &l->partition;
    tally_partition_make(p, moved);
    tally_status status = check_labels(l, p->has_bad);
    if (status == TALLY_OK && !l->gives) {
        tally_pool_run(pool, p->buckets, empty_task, l);
        status = check_empty(l);
    }
    if (status != TALLY_OK)
        return status;
    l->gives = true;
    for (size_t b = 0; b < p->buckets; b++)
        if (groups_of(l, b))
            cut_bucket(l, b, p->starts[b], p->starts[b + 1], &tables);
    tally_pool_run(pool, l->part_count, part_task, l);
    tally_pool_run(pool, l->joined_count * ranges_of(l), range_task, l);
    return TALLY_OK;
}

tally_status tally_cpu_labels(tally_cpu_plan *plan, const tally_args *args) {
    const tally_computation *c = &plan->base.computation;
    labelled l = {.plan = plan, .args = args, .groups = (uint32_t)args->shape.groups, .empty = args->shape.groups};
    l.gives = !tally_empty_is_error(c);
    l.counts_elements = !l.gives || tally_cpu_lowers_by_count(plan);
    if (!l.groups)
        return check_labels(&l, args->shape.extent > 0);
    choose_tables(&l);
    char *moved, *tables;
    tally_status status = reserve(&l, plan, &moved, &tables);
    if (status != TALLY_OK)
        return status;
    return l.is_partitioned ? reduce_buckets(&l, moved, tables) : reduce_at_once(&l, tables);
}
