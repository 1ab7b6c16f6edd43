/* Reductions by unsorted labels.
 *
 * A task combines its elements into a table of accumulators, one for each group. Few groups have a table that stays in
 * a cache: the input is cut into parts, each fills a table of its own (label_tables.c), and the tables are combined in
 * order. With many groups, elements are first moved into buckets of neighbouring groups (partition.c), whose tables are
 * small again; a bucket of very many elements is cut into parts, too. The cut follows from the numbers of elements, so
 * the number of threads does not change a bit. */
#include "cpu/labels.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/status.h"
#include "cpu/label_tables.h"
#include "cpu/lower.h"
#include "cpu/scratch.h"

enum {
    /* Tables that stay in the second-level cache. Larger ones, up to those of the third, pay if there are many elements
     * for each accumulator: one of 4 MiB took 0.9 ns an element, buckets 3.1. Or if there are few elements, which many
     * threads would hardly share: sums of 300,000 f32 in as many groups took one thread 0.3 ms by a table, 2.0 by
     * buckets. */
    TABLE_BYTES = 576 * 1024,
    LARGE_TABLE_BYTES = 4 * 1024 * 1024,
    MANY = 128,
    FEW_TABLE_BYTES = 8 * 1024 * 1024,
    FEW = 512 * 1024,
    BUCKET_BYTES = 256 * 1024,
    /* Tables with copies, which stay in the first-level cache. An accumulator that was just written can be read only
     * some ten cycles later, so neighbouring elements use different copies. */
    COPIED_BYTES = 32 * 1024,
    COPIES = 4,
    /* Most buckets: each is a stream of writes. */
    MOST_BUCKETS = 2048,
    /* Least elements of a part, and most parts of an input. */
    PART = 64 * 1024,
    MOST_PARTS = 64,
    SORTED_GROUPS = 4096, /* most groups of a table that is filled by sorting, if there are not too many buckets */
    RANGE = 16 * 1024     /* groups of a task that combines tables */
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
    tally_label_tables tables;
    bool sorts;         /* elements are sorted and folded group by group, not combined one by one */
    size_t table_bytes; /* of one table */
    part *parts;
    size_t part_count;
    joined joined[MOST_PARTS + 1];
    size_t joined_count;
    bool gives;     /* combined tables are lowered in the same task */
    uint64_t empty; /* the first group without elements, where that is an error; else 'groups' */
} labelled;

/* ---- results ---- */

static uint64_t first_group(const labelled *l, size_t bucket) {
    return l->tables.is_partitioned ? (uint64_t)bucket << l->tables.partition.shift : 0;
}

static size_t groups_of(const labelled *l, size_t bucket) {
    const uint64_t first = first_group(l, bucket);
    return first < l->tables.groups
               ? (size_t)least(l->tables.groups - first, l->tables.is_partitioned ? l->tables.width : l->tables.groups)
               : 0;
}

/* The first table's groups begin .. end - 1 = those of all copies of the bucket's tables, in order. */
static void combine_tables(const labelled *l, const part *parts, size_t count, void *table, size_t begin, size_t end) {
    const tally_label_tables *const t = &l->tables;
    for (size_t k = 0; k < count; k++)
        for (size_t copy = k == 0; copy < tally_table_layers(t); copy++)
            t->plan->kernels->combine(&t->plan->context, end - begin,
                                      tally_table_accumulator(t, k ? parts[k].table : table, copy, begin),
                                      tally_table_accumulator(t, table, 0, begin));
}

/* totals[0 ..] = the numbers of elements of the groups begin .. end - 1, from all copies of the bucket's tables. */
static void sum_counts(const labelled *l, const part *parts, size_t count, void *table, size_t begin, size_t end,
                       uint64_t *totals) {
    memset(totals, 0, (end - begin) * sizeof *totals);
    for (size_t k = 0; k < count; k++)
        for (size_t copy = 0; copy < l->tables.copies; copy++) {
            const uint32_t *const from =
                tally_table_counts(&l->tables, k ? parts[k].table : table) + copy * l->tables.width;
            for (size_t g = begin; g < end; g++)
                totals[g - begin] += from[g];
        }
}

static void lower_to(uint64_t *lowest, uint64_t value) {
    uint64_t seen = __atomic_load_n(lowest, __ATOMIC_RELAXED);
    while (value < seen &&
           !__atomic_compare_exchange_n(lowest, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* What is done with the groups begin .. end - 1 of a bucket, whose tables have been combined into the first. */
static void find_empty(labelled *l, const part *parts, size_t count, void *table, size_t begin, size_t end) {
    for (size_t g = begin; g < end; g += TALLY_CPU_BATCH) {
        uint64_t totals[TALLY_CPU_BATCH];
        const size_t n = least(end - g, TALLY_CPU_BATCH);
        sum_counts(l, parts, count, table, g, g + n, totals);
        for (size_t k = 0; k < n; k++)
            if (!totals[k]) {
                lower_to(&l->empty, first_group(l, parts->bucket) + g + k);
                return;
            }
    }
}

static void give(const labelled *l, const part *parts, size_t count, void *table, size_t begin, size_t end) {
    const tally_label_tables *const t = &l->tables;
    const tally_computation *c = &t->plan->base.computation;
    for (size_t g = begin; g < end; g += TALLY_CPU_BATCH) {
        uint64_t totals[TALLY_CPU_BATCH];
        const size_t n = least(end - g, TALLY_CPU_BATCH);
        if (t->counts_elements)
            sum_counts(l, parts, count, table, g, g + n, totals);
        t->plan->lower(t->plan, tally_table_accumulator(t, table, 0, g), n, (tally_counts){totals, 0, 0},
                       tally_at_mutable(t->args->out, first_group(l, parts->bucket) + g, c->out_bytes * c->per_result));
    }
}

/* The only part of a bucket, if it is sorted at once: needs no table, but room for a batch of accumulators. */
static void give_sorted(labelled *l, const part *p, tally_sorted *s, void *acc) {
    const tally_cpu_plan *plan = l->tables.plan;
    const tally_computation *c = &plan->base.computation;
    const size_t groups = groups_of(l, p->bucket);
    const char *y = tally_table_sort(&l->tables, p->begin, (size_t)(p->end - p->begin), s);
    for (size_t g = 0, n; g < groups; g += n) {
        uint64_t totals[TALLY_CPU_BATCH];
        n = least(groups - g, TALLY_CPU_BATCH);
        for (size_t k = 0; k < n; k++)
            totals[k] = s->starts[g + k + 1] - s->starts[g + k];
        plan->kernels->fold_segments(&plan->context, s->x, y, s->starts + g, n, acc);
        plan->lower(plan, acc, n, (tally_counts){totals, 0, 0},
                    tally_at_mutable(l->tables.args->out, first_group(l, p->bucket) + g, c->out_bytes * c->per_result));
    }
}

/* ---- tasks ---- */

/* Behind the worker's table, if it has one. */
static tally_sorted *room_of(const labelled *l, unsigned worker) {
    return tally_at_mutable(tally_cpu_worker(l->tables.plan, worker), l->tables.is_partitioned ? l->table_bytes : 0, 1);
}

static void part_task(void *job, size_t task, unsigned worker) {
    labelled *l = job;
    const part *p = &l->parts[task];
    void *const table = p->table ? p->table : tally_cpu_worker(l->tables.plan, worker);
    if (l->sorts && !p->table && p->end - p->begin <= TALLY_LABELS_SORTED) {
        give_sorted(l, p, room_of(l, worker), table);
        return;
    }
    tally_table_clear(&l->tables, table);
    if (l->sorts)
        tally_table_fold_sorted(&l->tables, p->begin, p->end, room_of(l, worker), table);
    else
        tally_table_fold(&l->tables, p->begin, p->end, table);
    if (!p->table)
        give(l, p, 1, table, 0, groups_of(l, p->bucket));
}

static size_t ranges_of(const labelled *l) {
    return (size_t)divide_up(l->tables.width, RANGE);
}

static void range_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    labelled *l = job;
    const joined *j = &l->joined[task / ranges_of(l)];
    const part *parts = &l->parts[j->first];
    const size_t begin = task % ranges_of(l) * RANGE, end = least(begin + RANGE, groups_of(l, j->bucket));
    if (begin >= end)
        return;
    combine_tables(l, parts, j->count, parts->table, begin, end);
    if (l->gives)
        give(l, parts, j->count, parts->table, begin, end);
    else
        find_empty(l, parts, j->count, parts->table, begin, end);
}

static void give_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    const labelled *l = job;
    const joined *j = &l->joined[task / ranges_of(l)];
    const part *parts = &l->parts[j->first];
    const size_t begin = task % ranges_of(l) * RANGE;
    give(l, parts, j->count, parts->table, begin, least(begin + RANGE, groups_of(l, j->bucket)));
}

/* Moved elements: whether each of a bucket's groups has one. Outputs are not written before all have been looked at. */
static void empty_task(void *job, size_t bucket, unsigned worker) {
    labelled *l = job;
    uint8_t *const has_element = tally_cpu_worker(l->tables.plan, worker);
    const uint64_t *starts = l->tables.partition.starts;
    memset(has_element, 0, l->tables.width);
    for (uint64_t i = starts[bucket]; i < starts[bucket + 1]; i++)
        has_element[l->tables.partition.labels[i]] = 1;
    const uint8_t *empty = memchr(has_element, 0, groups_of(l, bucket));
    if (empty)
        lower_to(&l->empty, first_group(l, bucket) + (size_t)(empty - has_element));
}

/* ---- errors ---- */

static int64_t label_value(const labelled *l, uint64_t i) {
    const tally_computation *c = &l->tables.plan->base.computation;
    return tally_label_value(c, tally_at(l->tables.args->labels, i, c->index_bytes));
}

static tally_status bad_label(const labelled *l) {
    tally_outcome outcome = {.is_bad = true};
    while ((uint64_t)(outcome.label = label_value(l, outcome.segment)) < l->tables.groups)
        outcome.segment++;
    return tally_run_outcome(&l->tables.plan->base.computation, l->tables.args, &outcome);
}

static tally_status check_labels(const labelled *l, bool has_bad) {
    return has_bad && !(l->tables.plan->base.computation.desc.flags & TALLY_SKIP_BAD_LABELS) ? bad_label(l) : TALLY_OK;
}

static tally_status check_empty(const labelled *l) {
    const tally_outcome outcome = {.is_empty = l->empty < l->tables.groups, .segment = l->empty};
    return tally_run_outcome(&l->tables.plan->base.computation, l->tables.args, &outcome);
}

/* ---- the cut ---- */

static void set_width(labelled *l, size_t width) {
    tally_label_tables *const t = &l->tables;
    t->width = width;
    l->table_bytes = (size_t)most(tally_table_filled_bytes(t), round_up(TALLY_CPU_BATCH * t->plan->acc_bytes, 64)) +
                     (t->counts_elements ? (size_t)round_up(tally_table_slots(t) * sizeof(uint32_t), 64) : 0);
}

/* Whether a sum loses a bit of the result's with nearly every addition: f64 in f64. Sums of narrower floats are f64,
 * too, and have bits to spare. */
static bool rounds(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_monoid_class kind = tally_class_of(c->monoid);
    return c->desc.acc == TALLY_F64 && (kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE);
}

static unsigned choose_shift(const labelled *l, size_t slot, size_t most_groups) {
    unsigned shift = 0;
    while (shift < TALLY_PARTITION_MOST_SHIFT &&
           ((((size_t)2 << shift) * slot <= BUCKET_BYTES && (size_t)2 << shift <= most_groups) ||
            (l->tables.groups >> shift) + 1 > MOST_BUCKETS))
        shift++;
    return shift;
}

/* Copies change the order in which elements are combined, which is for operators of the table only. States are combined
 * in their order, each where it lies, since they are too large to be moved. */
static void choose_tables(labelled *l) {
    tally_label_tables *const t = &l->tables;
    const tally_cpu_plan *plan = t->plan;
    const bool are_states = plan->base.computation.takes_words, one_by_one = plan->kernels->fold_labels;
    const bool copies = one_by_one && plan->base.computation.entry && !are_states;
    const size_t width = (size_t)t->groups + 1, counts = t->counts_elements * sizeof(uint32_t);
    t->copies = copies && COPIES * width * (plan->acc_bytes + counts) <= COPIED_BYTES ? COPIES : 1;
    t->seeks_hot = copies && t->copies == 1;
    t->has_totals = rounds(plan) && t->copies > 1;
    t->has_pairs = rounds(plan) && !t->has_totals && plan->kernels->fold_labels_to_pairs;
    l->sorts = !one_by_one || (rounds(plan) && !t->has_totals && !t->has_pairs && !are_states);
    const size_t slot = (plan->acc_bytes << t->has_pairs) + counts;
    const size_t most_groups = l->sorts ? SORTED_GROUPS : LARGE_TABLE_BYTES;
    const bool many = t->args->shape.extent / MANY >= width;
    const size_t most_bytes = !one_by_one                    ? TABLE_BYTES
                              : t->args->shape.extent <= FEW ? FEW_TABLE_BYTES
                              : many                         ? LARGE_TABLE_BYTES
                                                             : TABLE_BYTES;
    t->is_partitioned = !are_states && width > 2 && (width * slot > most_bytes || width > most_groups);
    if (t->is_partitioned) {
        const unsigned shift = choose_shift(l, slot, most_groups);
        t->partition = (tally_partition){
            .plan = plan, .args = t->args, .shift = shift, .buckets = (size_t)(t->groups >> shift) + 1};
        set_width(l, (size_t)1 << shift);
    } else {
        set_width(l, width);
    }
}

/* How many parts a bucket of n elements is cut into. Combining a table must cost little beside filling it. */
static size_t parts_of(const labelled *l, uint64_t n) {
    const uint64_t slots = (uint64_t)tally_table_slots(&l->tables) * 2 * l->tables.plan->acc_bytes;
    const uint64_t least_part = most(most(slots, PART), divide_up(l->tables.args->shape.extent, MOST_PARTS));
    return (size_t)most(n / least_part, 1);
}

/* A bucket of one part is lowered from its worker's table, but outputs are written only when all labels were checked.
 */
static void cut_bucket(labelled *l, size_t bucket, uint64_t begin, uint64_t end, char **table) {
    const size_t count = parts_of(l, end - begin);
    const uint64_t each = divide_up(end - begin, count);
    const bool joins = count > 1 || !l->tables.is_partitioned;
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
    const tally_label_tables *const t = &l->tables;
    const size_t of_partition = t->is_partitioned ? (size_t)round_up(tally_partition_bytes(&t->partition), 64) : 0;
    const size_t buckets = t->is_partitioned ? t->partition.buckets : 1;
    const size_t of_parts = (size_t)round_up((buckets + MOST_PARTS) * sizeof *l->parts, 64);
    const size_t of_fold = (t->is_partitioned ? l->table_bytes : 0) + (l->sorts ? sizeof(tally_sorted) : 0);
    const size_t of_worker = (size_t)most(of_fold, t->is_partitioned ? tally_partition_worker_bytes(&t->partition) : 0);
    void *scratch;
    tally_status status = tally_cpu_worker_scratch(plan, of_worker);
    if (status == TALLY_OK)
        status = tally_cpu_scratch(plan, of_partition + of_parts + parts_of(l, t->args->shape.extent) * l->table_bytes,
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
    tally_pool *const pool = l->tables.plan->device->pool;
    cut_bucket(l, 0, 0, l->tables.args->shape.extent, &tables);
    tally_pool_run(pool, l->part_count, part_task, l);
    tally_status status = check_labels(l, l->tables.has_bad);
    if (status != TALLY_OK)
        return status;
    tally_pool_run(pool, ranges_of(l), range_task, l);
    if (l->gives || (status = check_empty(l)) != TALLY_OK)
        return status;
    tally_pool_run(pool, ranges_of(l), give_task, l);
    return TALLY_OK;
}

static tally_status reduce_buckets(labelled *l, char *moved, char *tables) {
    tally_pool *const pool = l->tables.plan->device->pool;
    tally_partition *const p = &l->tables.partition;
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
    labelled l = {.tables = {.plan = plan, .args = args, .groups = (uint32_t)args->shape.groups},
                  .empty = args->shape.groups};
    l.gives = !tally_empty_is_error(c);
    l.tables.counts_elements = !l.gives || tally_cpu_lowers_by_count(plan);
    if (!l.tables.groups)
        return check_labels(&l, args->shape.extent > 0);
    choose_tables(&l);
    char *moved, *tables;
    tally_status status = reserve(&l, plan, &moved, &tables);
    if (status != TALLY_OK)
        return status;
    return l.tables.is_partitioned ? reduce_buckets(&l, moved, tables) : reduce_at_once(&l, tables);
}
