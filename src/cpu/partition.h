/* Elements with labels, moved so that those of neighbouring groups lie together: into buckets of 2^shift groups, each
 * in the elements' order. */
#ifndef TALLY_CPU_PARTITION_H
#define TALLY_CPU_PARTITION_H

#include "cpu/cpu.h"

/* So that a label within a bucket has 16 bits. */
enum { TALLY_PARTITION_MOST_SHIFT = 16 };

typedef struct tally_partition {
    const tally_cpu_plan *plan;
    const tally_args *args;
    unsigned shift; /* at most TALLY_PARTITION_MOST_SHIFT */
    size_t buckets; /* labels that are left out count as 'groups', so there may be a bucket of them alone */
    bool has_bad;   /* a label is out of range. Then nothing was moved, unless such labels are left out */

    /* The moved elements: labels from the bucket's first group, and places in the input where the operator looks at
     * them, else NULL. Bucket b is starts[b] .. starts[b + 1] - 1. */
    uint16_t *labels;
    void *x, *y;
    uint64_t *places;
    uint64_t *starts;
} tally_partition;

/* The plan's scratch memory that a partition takes, and each worker's. */
size_t tally_partition_bytes(const tally_partition *partition);
size_t tally_partition_worker_bytes(const tally_partition *partition);

/* Moves the elements into 'memory', of so many bytes. */
void tally_partition_make(tally_partition *partition, void *memory);

#endif
