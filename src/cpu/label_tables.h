/* Tables of accumulators, one for each group of a reduction by labels, and how elements get into them: one by one, or
 * sorted by label. A table may have copies, which take turns; labels.c cuts the work and combines the tables. */
#ifndef TALLY_CPU_LABEL_TABLES_H
#define TALLY_CPU_LABEL_TABLES_H

#include "core/arithmetic.h"
#include "cpu/cpu.h"
#include "cpu/partition.h"

/* What all tables of a run have in common. */
typedef struct tally_label_tables {
    const tally_cpu_plan *plan;
    const tally_args *args;
    uint32_t groups;
    bool counts_elements;
    bool has_bad;    /* a label is out of range. Set while tables are filled, by any worker */
    bool has_pairs;  /* accumulators are pairs while they are filled, twice as large */
    bool has_totals; /* behind the copies there is one more, to which they are added now and then */
    bool seeks_hot;  /* tables end with TALLY_CPU_HOT_COPIES accumulators of one group */
    uint32_t copies;
    size_t width;        /* accumulators of a copy: a bucket's groups and, if there is one bucket, those left out */
    bool is_partitioned; /* elements come from the partition, not from args */
    tally_partition partition;
} tally_label_tables;

enum {
    TALLY_LABELS_SORTED = 32 * 1024, /* elements that are sorted by label at a time */
    /* Most groups of a table that is filled so: a bucket's of 2^27 groups and more. */
    TALLY_LABELS_SORTED_WIDTH = 1 << TALLY_PARTITION_MOST_SHIFT
};

/* A worker's room: elements, group by group. */
typedef struct tally_sorted {
    _Alignas(64) char x[TALLY_LABELS_SORTED * sizeof(uint64_t)];
    _Alignas(64) char y[TALLY_LABELS_SORTED * sizeof(uint64_t)];
    uint32_t labels[TALLY_LABELS_SORTED], next[TALLY_LABELS_SORTED_WIDTH];
    uint64_t starts[TALLY_LABELS_SORTED_WIDTH + 1]; /* group g is starts[g] .. starts[g + 1] - 1 */
} tally_sorted;

/* ---- where things are in a table: its accumulators, then their numbers of elements ---- */

static inline size_t tally_table_layers(const tally_label_tables *t) {
    return t->copies + t->has_totals;
}

static inline size_t tally_table_slots(const tally_label_tables *t) {
    return tally_table_layers(t) * t->width + (t->seeks_hot ? TALLY_CPU_HOT_COPIES : 0);
}

static inline void *tally_table_accumulator(const tally_label_tables *t, void *table, size_t copy, size_t group) {
    return tally_at_mutable(table, copy * t->width + group, t->plan->acc_bytes);
}

/* Bytes of the accumulators. */
static inline size_t tally_table_filled_bytes(const tally_label_tables *t) {
    return (size_t)round_up(tally_table_slots(t) * t->plan->acc_bytes << t->has_pairs, 64);
}

static inline uint32_t *tally_table_counts(const tally_label_tables *t, void *table) {
    return tally_at_mutable(table, tally_table_filled_bytes(t), 1);
}

/* ---- filling ---- */

void tally_table_clear(const tally_label_tables *tables, void *table);

/* Combines the elements begin .. end - 1 into a table, one by one or by sorting. Sorting is for accumulators that take
 * many elements at a time. */
void tally_table_fold(tally_label_tables *tables, uint64_t begin, uint64_t end, void *table);
void tally_table_fold_sorted(tally_label_tables *tables, uint64_t begin, uint64_t end, tally_sorted *sorted,
                             void *table);

/* Sorts the n elements from 'first' on, at most TALLY_LABELS_SORTED. Returns y, or NULL if there is none. */
const char *tally_table_sort(tally_label_tables *tables, uint64_t first, size_t n, tally_sorted *sorted);

#endif
