#include "cpu/label_tables.h"

#include <string.h>

#include "cpu/skipping.h"

enum {
    BLOCK = TALLY_CPU_CLOSED_UP, /* labels that are read at a time */
    /* Where additions round, copies are added to one more copy after so many elements each: a sum of 2^22 numbers from
     * 2^-60 to 2^31 is then wrong by 13 units in the last place (with 16 times as many elements by 102). Pairs would
     * take 1.2 ns an element instead of 0.6. */
    ROUNDED = 2 * 1024,
    /* In a larger table one group's accumulator may have copies. Its label is one that SUSPECTED or more elements of a
     * sample of SAMPLED have. */
    SAMPLED = 32,
    SUSPECTED = 4,
    TEXT_BYTES = 16 * 1024 /* of accumulators that are combined with a table at a time */
};

void tally_table_clear(const tally_label_tables *t, void *table) {
    t->plan->kernels->identity(&t->plan->context, tally_table_slots(t) << t->has_pairs, table);
    if (t->counts_elements)
        memset(tally_table_counts(t, table), 0, tally_table_slots(t) * sizeof(uint32_t));
}

/* ---- elements into a table ---- */

/* The inputs of a task: the caller's or those that were moved. */
typedef struct elements {
    const void *x, *y;
    const uint64_t *places;
    uint64_t index; /* of the first */
    size_t n;
} elements;

static elements elements_at(const tally_label_tables *t, uint64_t first, size_t n) {
    const size_t bytes = t->plan->base.computation.in_bytes;
    if (!t->is_partitioned)
        return (elements){tally_at(t->args->x, first, bytes), tally_at(t->args->y, first, bytes), NULL, first, n};
    const tally_partition *p = &t->partition;
    return (elements){tally_at(p->x, first, bytes), tally_at(p->y, first, bytes), p->places ? p->places + first : NULL,
                      first, n};
}

/* The labels of the elements as places in a table. Those of a bucket are in order, and NaNs have been dropped. */
static tally_cpu_places read_places(tally_label_tables *t, uint64_t first, size_t n, uint32_t hot, uint32_t *labels) {
    const tally_computation *c = &t->plan->base.computation;
    tally_cpu_read_labels *const *read = t->plan->device->level->read_labels;
    tally_cpu_places places = {t->groups, t->copies, hot, (uint32_t)t->width};
    if (t->is_partitioned) {
        places.groups = (uint32_t)t->width;
        read[TALLY_U16](t->partition.labels + first, n, places, labels);
    } else if (read[c->desc.index](tally_at(t->args->labels, first, c->index_bytes), n, places, labels)) {
        __atomic_store_n(&t->has_bad, true, __ATOMIC_RELAXED);
    }
    return places;
}

static void read_labels(tally_label_tables *t, uint64_t first, size_t n, uint32_t hot, uint32_t *labels) {
    const elements e = elements_at(t, first, n);
    const tally_cpu_places places = read_places(t, first, n, hot, labels);
    if (!t->is_partitioned)
        tally_cpu_drop_nans(t->plan, e.x, e.y, n, places, labels);
}

/* The same for elements that are folded in any place. NaNs that all had the place of what is left out would each wait
 * for the one before. */
static elements read_elements(tally_label_tables *t, uint64_t first, size_t n, uint32_t hot, uint32_t *labels,
                              void *room) {
    elements e = elements_at(t, first, n);
    if (t->is_partitioned || tally_class_of(t->plan->base.computation.monoid) == TALLY_CLASS_INDEXED) {
        read_labels(t, first, n, hot, labels);
    } else {
        read_places(t, first, n, hot, labels);
        e.n = tally_cpu_close_up(t->plan, &e.x, &e.y, n, labels, room);
    }
    return e;
}

static void count_elements(const uint32_t *labels, size_t n, uint32_t *counts) {
    for (size_t i = 0; i < n; i++)
        counts[labels[i]]++;
}

/* A label that many of the part's elements seem to have, or UINT32_MAX. Without copies each of them would wait for the
 * one before: half of 2^24 elements with one of 65536 labels took 1.5 times as long as random labels. */
static uint32_t find_hot(tally_label_tables *t, uint64_t begin, uint64_t end) {
    uint32_t labels[SAMPLED];
    const uint64_t n = end - begin;
    if (!t->seeks_hot || n < BLOCK * SAMPLED / 8)
        return UINT32_MAX;
    for (size_t k = 0; k < SAMPLED; k++)
        read_labels(t, begin + n * k / SAMPLED, 1, UINT32_MAX, &labels[k]);
    for (size_t k = 0; k + SUSPECTED <= SAMPLED; k++) {
        size_t same = 1;
        for (size_t other = k + 1; other < SAMPLED; other++)
            same += labels[other] == labels[k];
        if (same >= SUSPECTED)
            return labels[k];
    }
    return UINT32_MAX;
}

static void gather_hot(const tally_label_tables *t, uint32_t hot, void *table) {
    for (size_t k = 0; k < TALLY_CPU_HOT_COPIES; k++) {
        t->plan->kernels->combine(&t->plan->context, 1, tally_table_accumulator(t, table, 1, k),
                                  tally_table_accumulator(t, table, 0, hot));
        if (t->counts_elements)
            tally_table_counts(t, table)[hot] += tally_table_counts(t, table)[t->width + k];
    }
}

static void add_to_totals(const tally_label_tables *t, void *table) {
    const tally_cpu_plan *plan = t->plan;
    for (size_t copy = 0; copy < t->copies; copy++)
        plan->kernels->combine(&plan->context, t->width, tally_table_accumulator(t, table, copy, 0),
                               tally_table_accumulator(t, table, t->copies, 0));
    plan->kernels->identity(&plan->context, t->copies * t->width, table);
}

void tally_table_fold(tally_label_tables *t, uint64_t begin, uint64_t end, void *table) {
    const tally_cpu_plan *plan = t->plan;
    _Alignas(64) char room[2 * BLOCK * sizeof(double)];
    uint32_t labels[BLOCK];
    const uint32_t hot = find_hot(t, begin, end);
    for (uint64_t first = begin; first < end; first += BLOCK) {
        const elements e = read_elements(t, first, (size_t)least(end - first, BLOCK), hot, labels, room);
        if (t->has_pairs)
            plan->kernels->fold_labels_to_pairs(&plan->context, e.x, e.y, labels, e.n, table);
        else
            plan->kernels->fold_labels(&plan->context, e.x, e.y, labels, e.places, e.n, e.index, table);
        if (t->counts_elements)
            count_elements(labels, e.n, tally_table_counts(t, table));
        if (t->has_totals && (first - begin + BLOCK) % (ROUNDED * t->copies) == 0)
            add_to_totals(t, table);
    }
    if (t->has_pairs)
        plan->kernels->sum_pairs(tally_table_slots(t), table);
    if (hot != UINT32_MAX)
        gather_hot(t, hot, table);
}

/* ---- the same by sorting ---- */

#define DEFINE_SORT(bits)                                                                                              \
    static void sort_##bits(const void *from, const uint32_t *labels, size_t n, uint32_t *next, char *to) {            \
        for (size_t i = 0; i < n; i++)                                                                                 \
            memcpy(to + (size_t)next[labels[i]]++ * (bits / 8), (const char *)from + i * (bits / 8), bits / 8);        \
    }
DEFINE_SORT(8)
DEFINE_SORT(16)
DEFINE_SORT(32)
DEFINE_SORT(64)

static void sort_elements(const void *from, size_t bytes, size_t n, size_t width, tally_sorted *s, char *to) {
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

const char *tally_table_sort(tally_label_tables *t, uint64_t first, size_t n, tally_sorted *s) {
    const size_t bytes = t->plan->base.computation.in_bytes;
    const elements e = elements_at(t, first, n);
    read_labels(t, first, n, UINT32_MAX, s->labels);
    memset(s->next, 0, t->width * sizeof *s->next);
    count_elements(s->labels, n, s->next);
    s->starts[0] = 0;
    for (size_t g = 0; g < t->width; g++)
        s->starts[g + 1] = s->starts[g] + s->next[g];
    sort_elements(e.x, bytes, n, t->width, s, s->x);
    if (e.y)
        sort_elements(e.y, bytes, n, t->width, s, s->y);
    return e.y ? s->y : NULL;
}

/* A user's texts fold many short groups together. */
static void fold_sorted_text(tally_label_tables *t, const tally_sorted *s, void *table) {
    const tally_cpu_plan *plan = t->plan;
    _Alignas(64) char acc[TEXT_BYTES];
    const size_t most_groups = TEXT_BYTES / plan->acc_bytes;
    for (size_t g = 0, n; g < t->width; g += n) {
        n = least(t->width - g, most_groups);
        plan->kernels->fold_segments(&plan->context, s->x, NULL, s->starts + g, n, acc);
        plan->kernels->combine(&plan->context, n, acc, tally_table_accumulator(t, table, 0, g));
        for (size_t k = g; t->counts_elements && k < g + n; k++)
            tally_table_counts(t, table)[k] += (uint32_t)(s->starts[k + 1] - s->starts[k]);
    }
}

void tally_table_fold_sorted(tally_label_tables *t, uint64_t begin, uint64_t end, tally_sorted *s, void *table) {
    const tally_cpu_plan *plan = t->plan;
    const size_t bytes = plan->base.computation.in_bytes;
    for (uint64_t first = begin; first < end; first += TALLY_LABELS_SORTED) {
        const char *y = tally_table_sort(t, first, (size_t)least(end - first, TALLY_LABELS_SORTED), s);
        if (plan->context.text) {
            fold_sorted_text(t, s, table);
            continue;
        }
        for (size_t g = 0; g < t->width; g++) {
            const size_t n = (size_t)(s->starts[g + 1] - s->starts[g]);
            if (n)
                plan->kernels->fold(&plan->context, s->x + s->starts[g] * bytes, tally_at(y, s->starts[g], bytes), n, 0,
                                    tally_table_accumulator(t, table, 0, g));
            if (t->counts_elements)
                tally_table_counts(t, table)[g] += (uint32_t)n;
        }
    }
}
