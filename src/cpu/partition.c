/* A stable partition in two passes: chunks of the input count their elements in each bucket, which gives every chunk
 * its places in every bucket, and then move them. */
#include "cpu/partition.h"

#include <string.h>

#include "core/arithmetic.h"
#include "cpu/scratch.h"

enum {
    BLOCK = 1024, /* labels that are read at a time */
    /* Chunks for each thread, so that the threads end together. The order in a bucket does not depend on them. */
    CHUNKS_A_THREAD = 4
};

typedef struct moving {
    tally_partition *to;
    size_t chunks;
    uint64_t chunk;   /* elements of one */
    uint64_t *counts; /* [chunk][bucket]: its elements, then where its next one goes */
    bool has_bad;
} moving;

static uint32_t groups_of(const tally_partition *p) {
    return (uint32_t)p->args->shape.groups;
}

static size_t chunks_of(const tally_partition *p) {
    return (size_t)least(divide_up(p->args->shape.extent, BLOCK), CHUNKS_A_THREAD * (uint64_t)p->plan->device->threads);
}

static const void *labels_at(const tally_partition *p, uint64_t first) {
    return tally_at(p->args->labels, first, p->plan->base.computation.index_bytes);
}

static bool read_block(const tally_partition *p, uint64_t first, size_t n, uint32_t *labels) {
    return p->plan->device->level->read_labels[p->plan->base.computation.desc.index](labels_at(p, first), n,
                                                                                     groups_of(p), 1, labels);
}

static void count_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    moving *m = job;
    const tally_partition *p = m->to;
    uint64_t *const counts = m->counts + task * p->buckets;
    const uint64_t end = least((task + 1) * m->chunk, p->args->shape.extent);
    bool has_bad = false;
    memset(counts, 0, p->buckets * sizeof *counts);
    for (uint64_t i = task * m->chunk; i < end; i += BLOCK) {
        uint32_t labels[BLOCK];
        const size_t n = least(end - i, BLOCK);
        has_bad |= read_block(p, i, n, labels);
        for (size_t k = 0; k < n; k++)
            counts[labels[k] >> p->shift]++;
    }
    if (has_bad)
        __atomic_store_n(&m->has_bad, true, __ATOMIC_RELAXED);
}

static void sum_counts(moving *m) {
    tally_partition *const p = m->to;
    uint64_t before = 0;
    for (size_t b = 0; b < p->buckets; b++) {
        p->starts[b] = before;
        for (size_t c = 0; c < m->chunks; c++) {
            uint64_t *const count = &m->counts[c * p->buckets + b];
            const uint64_t own = *count;
            *count = before;
            before += own;
        }
    }
    p->starts[p->buckets] = before;
}

#define DEFINE_MOVE(bits)                                                                                              \
    static void move_##bits(const void *from, const uint64_t *to, size_t n, void *memory) {                            \
        for (size_t k = 0; k < n; k++)                                                                                 \
            memcpy((char *)memory + to[k] * (bits / 8), (const char *)from + k * (bits / 8), bits / 8);                \
    }
DEFINE_MOVE(8)
DEFINE_MOVE(16)
DEFINE_MOVE(32)
DEFINE_MOVE(64)

static void move_elements(const void *from, size_t bytes, const uint64_t *to, size_t n, void *memory) {
    if (bytes == 1)
        move_8(from, to, n, memory);
    else if (bytes == 2)
        move_16(from, to, n, memory);
    else if (bytes == 4)
        move_32(from, to, n, memory);
    else
        move_64(from, to, n, memory);
}

static void move_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    moving *m = job;
    const tally_partition *p = m->to;
    const size_t bytes = p->plan->base.computation.in_bytes;
    uint64_t *const next = m->counts + task * p->buckets;
    const uint64_t end = least((task + 1) * m->chunk, p->args->shape.extent);
    const uint32_t mask = (uint32_t)((UINT64_C(1) << p->shift) - 1);
    for (uint64_t i = task * m->chunk; i < end; i += BLOCK) {
        uint32_t labels[BLOCK];
        uint64_t to[BLOCK];
        const size_t n = least(end - i, BLOCK);
        read_block(p, i, n, labels);
        for (size_t k = 0; k < n; k++) {
            to[k] = next[labels[k] >> p->shift]++;
            p->labels[to[k]] = labels[k] & mask;
        }
        move_elements(tally_at(p->args->x, i, bytes), bytes, to, n, p->x);
        if (p->y)
            move_elements(tally_at(p->args->y, i, bytes), bytes, to, n, p->y);
        for (size_t k = 0; p->places && k < n; k++)
            p->places[to[k]] = i + k;
    }
}

/* ---- memory ---- */

/* The next 'bytes' of the memory, or of no memory at all when only the size is asked for. */
static void *take(char *memory, size_t *at, size_t bytes) {
    void *const taken = memory ? memory + *at : NULL;
    *at += (size_t)round_up(bytes, 64);
    return taken;
}

static size_t lay_out(tally_partition *p, char *memory, uint64_t **counts) {
    const tally_computation *c = &p->plan->base.computation;
    const size_t n = (size_t)p->args->shape.extent;
    size_t at = 0;
    p->labels = take(memory, &at, n * sizeof *p->labels);
    p->x = take(memory, &at, n * c->in_bytes);
    p->y = p->args->y ? take(memory, &at, n * c->in_bytes) : NULL;
    p->places = tally_looks_at_index(c) ? take(memory, &at, n * sizeof *p->places) : NULL;
    p->starts = take(memory, &at, (p->buckets + 1) * sizeof *p->starts);
    *counts = take(memory, &at, chunks_of(p) * p->buckets * sizeof **counts);
    return at;
}

size_t tally_partition_bytes(const tally_partition *partition) {
    tally_partition p = *partition;
    uint64_t *counts;
    return lay_out(&p, NULL, &counts);
}

void tally_partition_make(tally_partition *p, void *memory) {
    moving m = {.to = p, .chunks = chunks_of(p)};
    lay_out(p, memory, &m.counts);
    m.chunk = round_up(divide_up(p->args->shape.extent, most(m.chunks, 1)), BLOCK);
    m.chunks = (size_t)divide_up(p->args->shape.extent, most(m.chunk, 1));
    tally_pool_run(p->plan->device->pool, m.chunks, count_task, &m);
    p->has_bad = m.has_bad;
    if (p->has_bad && !(p->plan->base.computation.desc.flags & TALLY_SKIP_BAD_LABELS))
        return;
    sum_counts(&m);
    tally_pool_run(p->plan->device->pool, m.chunks, move_task, &m);
}
