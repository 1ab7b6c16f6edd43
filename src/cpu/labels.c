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
    /* Tables that stay in the second-level cache. Larger ones, up to those of the third, pay if there are many elements
     * for each accumulator: one of 4 MiB took 0.9 ns an element, buckets 3.1. */
    TABLE_BYTES = 576 * 1024,
    LARGE_TABLE_BYTES = 4 * 1024 * 1024,
    MANY = 128,
    BUCKET_BYTES = 256 * 1024,
    /* Tables with copies, which stay in the first-level cache. An accumulator that was just written can be read only
     * some ten cycles later, so neighbouring elements use different copies. */
    COPIED_BYTES = 32 * 1024,
    COPIES = 4,
    /* Where additions round, copies are added to one more copy after so many elements each: a sum of 2^22 numbers from
     * 2^-60 to 2^31 is then wrong by 13 units in the last place (with 16 times as many elements by 102). Pairs would
     * take 1.2 ns an element instead of 0.6. */
    ROUNDED = 2 * 1024,
    /* In a larger table one group's accumulator may have copies. Its label is one that SUSPECTED or more elements of a
     * sample of SAMPLED have. */
    SAMPLED = 32,
    SUSPECTED = 4,
    /* Most buckets: each is a stream of writes. */
    MOST_BUCKETS = 2048,
    /* Least elements of a part, and most parts of an input. */
    PART = 64 * 1024,
    MOST_PARTS = 64,
    BLOCK = 1024, /* labels that are read at a time */
    /* Elements that are sorted by label at a time, and most groups of such a table. */
    SORTED = 32 * 1024,
    SORTED_GROUPS = 4096,
    SORTED_WIDTH = 1 << TALLY_PARTITION_MOST_SHIFT, /* of buckets of 2^27 groups and more */
    TEXT_BYTES = 16 * 1024,                         /* of accumulators that are combined with a table at a time */
    RANGE = 16 * 1024                               /* groups of a task that combines tables */
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
    bool has_pairs;  /* accumulators are pairs while they are filled, twice as large */
    bool has_totals; /* behind the copies there is one more, to which they are added now and then */
    bool seeks_hot;  /* tables end with TALLY_CPU_HOT_COPIES accumulators of one group */
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
    return layers_of(l) * l->width + (l->seeks_hot ? TALLY_CPU_HOT_COPIES : 0);
}

static void *accumulator(const labelled *l, void *table, size_t copy, size_t group) {
    return tally_at_mutable(table, copy * l->width + group, l->plan->acc_bytes);
}

/* Bytes of the accumulators. */
static size_t filled_bytes(const labelled *l) {
    return (size_t)round_up(slots_of(l) * l->plan->acc_bytes << l->has_pairs, 64);
}

static uint32_t *counts_of(const labelled *l, void *table) {
    return tally_at_mutable(table, filled_bytes(l), 1);
}

static void clear_table(const labelled *l, void *table) {
    l->plan->kernels->identity(&l->plan->context, slots_of(l) << l->has_pairs, table);
    if (l->counts_elements)
        memset(counts_of(l, table), 0, slots_of(l) * sizeof(uint32_t));
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

/* The labels of the elements as places in a table. Those of a bucket are in order. */
static void read_labels(labelled *l, uint64_t first, size_t n, uint32_t hot, uint32_t *labels) {
    const tally_computation *c = &l->plan->base.computation;
    tally_cpu_read_labels *const *read = l->plan->device->level->read_labels;
    tally_cpu_places places = {l->groups, l->copies, hot, (uint32_t)l->width};
    if (l->is_partitioned) {
        places.groups = (uint32_t)l->width;
        read[TALLY_U16](l->partition.labels + first, n, places, labels);
    } else if (read[c->desc.index](tally_at(l->args->labels, first, c->index_bytes), n, places, labels)) {
        __atomic_store_n(&l->has_bad, true, __ATOMIC_RELAXED);
    }
}

static void count_elements(const uint32_t *labels, size_t n, uint32_t *counts) {
    for (size_t i = 0; i < n; i++)
        counts[labels[i]]++;
}

/* A label that many of the part's elements seem to have, or UINT32_MAX. Without copies each of them would wait for the
 * one before: half of 2^24 elements with one of 65536 labels took 1.5 times as long as random labels. */
static uint32_t find_hot(labelled *l, const part *p) {
    uint32_t labels[SAMPLED];
    const uint64_t n = p->end - p->begin;
    if (!l->seeks_hot || n < BLOCK * SAMPLED / 8)
        return UINT32_MAX;
    for (size_t k = 0; k < SAMPLED; k++)
        read_labels(l, p->begin + n * k / SAMPLED, 1, UINT32_MAX, &labels[k]);
    for (size_t k = 0; k + SUSPECTED <= SAMPLED; k++) {
        size_t same = 1;
        for (size_t other = k + 1; other < SAMPLED; other++)
            same += labels[other] == labels[k];
        if (same >= SUSPECTED)
            return labels[k];
    }
    return UINT32_MAX;
}

static void gather_hot(const labelled *l, uint32_t hot, void *table) {
    for (size_t k = 0; k < TALLY_CPU_HOT_COPIES; k++) {
        l->plan->kernels->combine(&l->plan->context, 1, accumulator(l, table, 1, k), accumulator(l, table, 0, hot));
        if (l->counts_elements)
            counts_of(l, table)[hot] += counts_of(l, table)[l->width + k];
    }
}

static void add_to_totals(const labelled *l, void *table) {
    const tally_cpu_plan *plan = l->plan;
    for (size_t copy = 0; copy < l->copies; copy++)
        plan->kernels->combine(&plan->context, l->width, accumulator(l, table, copy, 0),
                               accumulator(l, table, l->copies, 0));
    plan->kernels->identity(&plan->context, l->copies * l->width, table);
}

static void fold_part(labelled *l, const part *p, void *table) {
    const tally_cpu_plan *plan = l->plan;
    uint32_t labels[BLOCK];
    const uint32_t hot = find_hot(l, p);
    for (uint64_t first = p->begin; first < p->end; first += BLOCK) {
        const elements e = elements_at(l, first, (size_t)least(p->end - first, BLOCK));
        read_labels(l, first, e.n, hot, labels);
        if (l->has_pairs)
            plan->kernels->fold_labels_to_pairs(&plan->context, e.x, e.y, labels, e.n, table);
        else
            plan->kernels->fold_labels(&plan->context, e.x, e.y, labels, e.places, e.n, e.index, table);
        if (l->counts_elements)
            count_elements(labels, e.n, counts_of(l, table));
        if (l->has_totals && (first - p->begin + BLOCK) % (ROUNDED * l->copies) == 0)
            add_to_totals(l, table);
    }
    if (l->has_pairs)
        plan->kernels->sum_pairs(slots_of(l), table);
    if (hot != UINT32_MAX)
        gather_hot(l, hot, table);
}

/* ---- the same by sorting, for accumulators that take many elements at a time ---- */

/* A worker's room: up to SORTED elements, group by group. */
typedef struct sorted {
    _Alignas(64) char x[SORTED * sizeof(uint64_t)];
    _Alignas(64) char y[SORTED * sizeof(uint64_t)];
    uint32_t labels[SORTED], next[SORTED_WIDTH];
    uint64_t starts[SORTED_WIDTH + 1]; /* group g is starts[g] .. starts[g + 1] - 1 */
} sorted;

#define DEFINE_SORT(bits)                                                                                              \
    static void sort_##bits(const void *from, const uint32_t *labels, size_t n, uint32_t *next, char *to) {            \
        for (size_t i = 0; i < n; i++)                                                                                 \
            memcpy(to + (size_t)next[labels[i]]++ * (bits / 8), (const char *)from + i * (bits / 8), bits / 8);        \
    }
DEFINE_SORT(8)
DEFINE_SORT(16)
DEFINE_SORT(32)
DEFINE_SORT(64)

static void sort_elements(const void *from, size_t bytes, size_t n, size_t width, sorted *s, char *to) {
    for (size_t g = 0; g < width; g++)
        s->next[g] = (uint32_t)s->starts[g];
    if (bytes == 1)
        sort_8(from, s->labels, n, s->next, to);
    else if (bytes == 2)
        sort_16(from, s->labels, n, s->next, to);
    else if (bytes == 4)
        sort_32(from, s->labels, n, s->next, to);
    else
        sort_64(from, s->labels, n, s->next, to);
}

/* Sorts the n elements from 'first' on. Returns y, or NULL if there is none. */
static const char *sort_block(labelled *l, uint64_t first, size_t n, sorted *s) {
    const size_t bytes = l->plan->base.computation.in_bytes;
    const elements e = elements_at(l, first, n);
    read_labels(l, first, n, UINT32_MAX, s->labels);
    memset(s->next, 0, l->width * sizeof *s->next);
    count_elements(s->labels, n, s->next);
    s->starts[0] = 0;
    for (size_t g = 0; g < l->width; g++)
        s->starts[g + 1] = s->starts[g] + s->next[g];
    sort_elements(e.x, bytes, n, l->width, s, s->x);
    if (e.y)
        sort_elements(e.y, bytes, n, l->width, s, s->y);
    return e.y ? s->y : NULL;
}

/* A user's texts fold many short groups together. */
static void fold_sorted_text(labelled *l, const sorted *s, void *table) {
    const tally_cpu_plan *plan = l->plan;
    _Alignas(64) char acc[TEXT_BYTES];
    const size_t most_groups = TEXT_BYTES / plan->acc_bytes;
    for (size_t g = 0, n; g < l->width; g += n) {
        n = least(l->width - g, most_groups);
        plan->kernels->fold_segments(&plan->context, s->x, NULL, s->starts + g, n, acc);
        plan->kernels->combine(&plan->context, n, acc, accumulator(l, table, 0, g));
        for (size_t k = g; l->counts_elements && k < g + n; k++)
            counts_of(l, table)[k] += (uint32_t)(s->starts[k + 1] - s->starts[k]);
    }
}

static void fold_sorted(labelled *l, const part *p, sorted *s, void *table) {
    const tally_cpu_plan *plan = l->plan;
    const size_t bytes = plan->base.computation.in_bytes;
    for (uint64_t first = p->begin; first < p->end; first += SORTED) {
        const char *y = sort_block(l, first, (size_t)least(p->end - first, SORTED), s);
        if (plan->context.text) {
            fold_sorted_text(l, s, table);
            continue;
        }
        for (size_t g = 0; g < l->width; g++) {
            const size_t n = (size_t)(s->starts[g + 1] - s->starts[g]);
            if (n)
                plan->kernels->fold(&plan->context, s->x + s->starts[g] * bytes, tally_at(y, s->starts[g], bytes), n, 0,
                                    accumulator(l, table, 0, g));
            if (l->counts_elements)
                counts_of(l, table)[g] += (uint32_t)n;
        }
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

/* The first table's groups begin .. end - 1 = those of all copies of the bucket's tables, in order. */
static void combine_tables(const labelled *l, const part *parts, size_t count, void *table, size_t begin, size_t end) {
    for (size_t k = 0; k < count; k++)
        for (size_t copy = k == 0; copy < layers_of(l); copy++)
            l->plan->kernels->combine(&l->plan->context, end - begin,
                                      accumulator(l, k ? parts[k].table : table, copy, begin),
                                      accumulator(l, table, 0, begin));
}

/* totals[0 ..] = the numbers of elements of the groups begin .. end - 1, from all copies of the bucket's tables. */
static void sum_counts(const labelled *l, const part *parts, size_t count, void *table, size_t begin, size_t end,
                       uint64_t *totals) {
    memset(totals, 0, (end - begin) * sizeof *totals);
    for (size_t k = 0; k < count; k++)
        for (size_t copy = 0; copy < l->copies; copy++) {
            const uint32_t *const from = counts_of(l, k ? parts[k].table : table) + copy * l->width;
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
    const tally_computation *c = &l->plan->base.computation;
    for (size_t g = begin; g < end; g += TALLY_CPU_BATCH) {
        uint64_t totals[TALLY_CPU_BATCH];
        const size_t n = least(end - g, TALLY_CPU_BATCH);
        if (l->counts_elements)
            sum_counts(l, parts, count, table, g, g + n, totals);
        l->plan->lower(l->plan, accumulator(l, table, 0, g), n, (tally_counts){totals, 0, 0},
                       tally_at_mutable(l->args->out, first_group(l, parts->bucket) + g, c->out_bytes * c->per_result));
    }
}

/* The only part of a bucket, if it is sorted at once: needs no table, but room for a batch of accumulators. */
static void give_sorted(labelled *l, const part *p, sorted *s, void *acc) {
    const tally_cpu_plan *plan = l->plan;
    const tally_computation *c = &plan->base.computation;
    const size_t groups = groups_of(l, p->bucket);
    const char *y = sort_block(l, p->begin, (size_t)(p->end - p->begin), s);
    for (size_t g = 0, n; g < groups; g += n) {
        uint64_t totals[TALLY_CPU_BATCH];
        n = least(groups - g, TALLY_CPU_BATCH);
        for (size_t k = 0; k < n; k++)
            totals[k] = s->starts[g + k + 1] - s->starts[g + k];
        plan->kernels->fold_segments(&plan->context, s->x, y, s->starts + g, n, acc);
        plan->lower(plan, acc, n, (tally_counts){totals, 0, 0},
                    tally_at_mutable(l->args->out, first_group(l, p->bucket) + g, c->out_bytes * c->per_result));
    }
}

/* ---- tasks ---- */

/* Behind the worker's table, if it has one. */
static sorted *room_of(const labelled *l, unsigned worker) {
    return tally_at_mutable(tally_cpu_worker(l->plan, worker), l->is_partitioned ? l->table_bytes : 0, 1);
}

static void part_task(void *job, size_t task, unsigned worker) {
    labelled *l = job;
    const part *p = &l->parts[task];
    void *const table = p->table ? p->table : tally_cpu_worker(l->plan, worker);
    if (l->sorts && !p->table && p->end - p->begin <= SORTED) {
        give_sorted(l, p, room_of(l, worker), table);
        return;
    }
    clear_table(l, table);
    if (l->sorts)
        fold_sorted(l, p, room_of(l, worker), table);
    else
        fold_part(l, p, table);
    if (!p->table)
        give(l, p, 1, table, 0, groups_of(l, p->bucket));
}

static size_t ranges_of(const labelled *l) {
    return (size_t)divide_up(l->width, RANGE);
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
    uint8_t *const has_element = tally_cpu_worker(l->plan, worker);
    const uint64_t *starts = l->partition.starts;
    memset(has_element, 0, l->width);
    for (uint64_t i = starts[bucket]; i < starts[bucket + 1]; i++)
        has_element[l->partition.labels[i]] = 1;
    const uint8_t *empty = memchr(has_element, 0, groups_of(l, bucket));
    if (empty)
        lower_to(&l->empty, first_group(l, bucket) + (size_t)(empty - has_element));
}

/* ---- errors ---- */

static int64_t label_value(const labelled *l, uint64_t i) {
    const tally_computation *c = &l->plan->base.computation;
    return tally_label_value(c, tally_at(l->args->labels, i, c->index_bytes));
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
    l->table_bytes = (size_t)most(filled_bytes(l), round_up(TALLY_CPU_BATCH * l->plan->acc_bytes, 64)) +
                     (l->counts_elements ? (size_t)round_up(slots_of(l) * sizeof(uint32_t), 64) : 0);
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
    while ((((size_t)2 << shift) * slot <= BUCKET_BYTES && (size_t)2 << shift <= most_groups) ||
           ((l->groups >> shift) + 1 > MOST_BUCKETS && shift < TALLY_PARTITION_MOST_SHIFT))
        shift++;
    return shift;
}

/* Copies change the order in which elements are combined, which is for operators of the table only. */
static void choose_tables(labelled *l) {
    const tally_cpu_plan *plan = l->plan;
    const bool one_by_one = plan->kernels->fold_labels, copies = one_by_one && plan->base.computation.entry;
    const size_t width = (size_t)l->groups + 1, counts = l->counts_elements * sizeof(uint32_t);
    l->copies = copies && COPIES * width * (plan->acc_bytes + counts) <= COPIED_BYTES ? COPIES : 1;
    l->seeks_hot = copies && l->copies == 1;
    l->has_totals = rounds(plan) && l->copies > 1;
    l->has_pairs = rounds(plan) && !l->has_totals && plan->kernels->fold_labels_to_pairs;
    l->sorts = !one_by_one || (rounds(plan) && !l->has_totals && !l->has_pairs);
    const size_t slot = (plan->acc_bytes << l->has_pairs) + counts;
    const size_t most_groups = l->sorts ? SORTED_GROUPS : LARGE_TABLE_BYTES;
    const bool many = l->args->shape.extent / MANY >= width;
    const size_t most_bytes = many && one_by_one ? LARGE_TABLE_BYTES : TABLE_BYTES;
    l->is_partitioned = width > 2 && (width * slot > most_bytes || width > most_groups);
    if (l->is_partitioned) {
        const unsigned shift = choose_shift(l, slot, most_groups);
        l->partition = (tally_partition){
            .plan = plan, .args = l->args, .shift = shift, .buckets = (size_t)(l->groups >> shift) + 1};
        set_width(l, (size_t)1 << shift);
    } else {
        set_width(l, width);
    }
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
    const size_t of_fold = (l->is_partitioned ? l->table_bytes : 0) + (l->sorts ? sizeof(sorted) : 0);
    const size_t of_worker = (size_t)most(of_fold, l->is_partitioned ? tally_partition_worker_bytes(&l->partition) : 0);
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
