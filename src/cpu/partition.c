/* A stable partition in two passes: chunks of the input count their elements in each bucket, which gives every chunk
 * its places in every bucket, and then move them. An element goes through a small buffer of its bucket, so that memory
 * is written in whole lines, past the caches. (2^24 f32 into 512 buckets: 1.8 ns each, without buffers 4.2, with
 * buffers and plain stores 4.1.) */
#include "cpu/partition.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/arithmetic.h"
#include "cpu/scratch.h"
#include "cpu/skipping.h"

enum {
    BLOCK = 1024, /* labels that are read at a time */
    /* Elements of a bucket's buffer: a line of labels. Half as many took 3.2 ns for each element instead of 1.8. */
    BUFFERED = 32,
    /* A count that was just written can be read only some cycles later. So elements take turns among so many counts of
     * each bucket, and the places in one bucket that a block prefers are counted in a register. */
    COPIES = 4,
    /* Chunks for each thread, so that the threads end together. The order in a bucket does not depend on them. */
    CHUNKS_A_THREAD = 4
};

typedef struct moving {
    tally_partition *to;
    size_t chunks;
    uint64_t chunk;   /* elements of one */
    uint64_t *counts; /* [chunk][bucket]: its elements, then where its first one goes */
    bool has_bad;
} moving;

static size_t chunks_of(const tally_partition *p) {
    return (size_t)least(divide_up(p->args->shape.extent, BLOCK), CHUNKS_A_THREAD * (uint64_t)p->plan->device->threads);
}

static bool read_block(const tally_partition *p, uint64_t first, size_t n, uint32_t *labels) {
    const tally_computation *c = &p->plan->base.computation;
    const tally_cpu_places places = {(uint32_t)p->args->shape.groups, 1, UINT32_MAX, 0};
    const bool has_bad = p->plan->device->level->read_labels[c->desc.index](
        tally_at(p->args->labels, first, c->index_bytes), n, places, labels);
    tally_cpu_drop_nans(p->plan, tally_at(p->args->x, first, c->in_bytes), tally_at(p->args->y, first, c->in_bytes), n,
                        places, labels);
    return has_bad;
}

static void count_task(void *job, size_t task, unsigned worker) {
    moving *m = job;
    const tally_partition *p = m->to;
    uint64_t *const counts = m->counts + task * p->buckets, *const copies = tally_cpu_worker(p->plan, worker);
    const uint64_t end = least((task + 1) * m->chunk, p->args->shape.extent);
    bool has_bad = false;
    memset(copies, 0, COPIES * p->buckets * sizeof *copies);
    for (uint64_t i = task * m->chunk; i < end; i += BLOCK) {
        uint32_t labels[BLOCK];
        const size_t n = least(end - i, BLOCK);
        has_bad |= read_block(p, i, n, labels);
        for (size_t k = 0; k < n; k++)
            copies[(labels[k] >> p->shift) * COPIES + k % COPIES]++;
    }
    for (size_t b = 0; b < p->buckets; b++) {
        counts[b] = 0;
        for (size_t copy = 0; copy < COPIES; copy++)
            counts[b] += copies[b * COPIES + copy];
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

/* ---- moving ---- */

/* A worker's room: where each bucket's next element goes, with COPIES spare places, and the buffers of what is moved.
 */
typedef struct room {
    uint64_t *next;
    char *labels, *x, *y, *places;
} room;

/* A block of elements on the way. */
typedef struct block {
    uint32_t read[BLOCK], bucket[BLOCK];
    uint16_t labels[BLOCK];
    uint64_t to[BLOCK], places[BLOCK];
} block;

static void store_line(const char *from, size_t bytes, char *to) {
#ifdef __SSE2__
    for (size_t k = 0; k < bytes; k += sizeof(__m128i))
        _mm_stream_si128((void *)(to + k), _mm_loadu_si128((const void *)(from + k)));
#else
    memcpy(to, from, bytes);
#endif
}

static void end_stores(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Writes a bucket's buffer up to element 'last' of the bucket. The first of a chunk may begin within a line, whose
 * other elements are another chunk's. */
static void empty_buffer(const char *buffer, size_t bytes, uint64_t first, uint64_t last, char *memory) {
    const uint64_t line = last / BUFFERED * BUFFERED, begin = most(line, first);
    if (last - begin == BUFFERED - 1)
        store_line(buffer, BUFFERED * bytes, memory + line * bytes);
    else
        memcpy(memory + begin * bytes, buffer + (begin - line) * bytes, (last - begin + 1) * bytes);
}

#define DEFINE_MOVE(bits)                                                                                              \
    static void move_##bits(const void *from, const block *b, size_t n, const uint64_t *first, char *buffers,          \
                            char *memory) {                                                                            \
        enum { BYTES = bits / 8 };                                                                                     \
        for (size_t k = 0; k < n; k++) {                                                                               \
            char *const buffer = buffers + (size_t)b->bucket[k] * (BUFFERED * BYTES);                                  \
            const uint64_t to = b->to[k];                                                                              \
            memcpy(buffer + to % BUFFERED * BYTES, (const char *)from + k * BYTES, BYTES);                             \
            if (to % BUFFERED == BUFFERED - 1)                                                                         \
                empty_buffer(buffer, BYTES, first[b->bucket[k]], to, memory);                                          \
        }                                                                                                              \
    }
DEFINE_MOVE(8)
DEFINE_MOVE(16)
DEFINE_MOVE(32)
DEFINE_MOVE(64)

static void move_elements(const void *from, size_t bytes, const block *b, size_t n, const uint64_t *first,
                          char *buffers, void *memory) {
    if (bytes == 1)
        move_8(from, b, n, first, buffers, memory);
    else if (bytes == 2)
        move_16(from, b, n, first, buffers, memory);
    else if (bytes == 4)
        move_32(from, b, n, first, buffers, memory);
    else
        move_64(from, b, n, first, buffers, memory);
}

/* A bucket that many of the block's elements seem to go to, or UINT32_MAX. */
static uint32_t find_hot(const block *b, size_t n) {
    for (size_t k = 0; k < 3; k++) {
        size_t same = 0;
        for (size_t other = 0; other < 8; other++)
            same += b->bucket[other * n / 8] == b->bucket[k * n / 8];
        if (same >= 3)
            return b->bucket[k * n / 8];
    }
    return UINT32_MAX;
}

static void place_elements(block *b, size_t n, uint64_t *next) {
    for (size_t k = 0; k < n; k++)
        b->to[k] = next[b->bucket[k]]++;
}

/* The same without waiting for the count of the bucket 'hot': its elements use COPIES counts behind the last bucket's.
 * Masks, because a branch would often be mispredicted: random halves took 1.5 times as long. */
static void place_hot(block *b, size_t n, uint32_t hot, uint32_t spare, uint64_t *next) {
    uint64_t hot_next = next[hot];
    for (size_t k = 0; k < n; k++) {
        const uint32_t bucket = b->bucket[k], is_hot = bucket == hot, count = spare + k % COPIES;
        const uint64_t mask = -(uint64_t)is_hot;
        const uint64_t place = next[bucket ^ ((bucket ^ count) & (uint32_t)mask)]++;
        b->to[k] = place ^ ((place ^ hot_next) & mask);
        hot_next += is_hot;
    }
    next[hot] = hot_next;
}

static void move_block(const tally_partition *p, uint64_t i, size_t n, const uint64_t *first, const room *r) {
    const size_t bytes = p->plan->base.computation.in_bytes;
    const uint32_t mask = (UINT32_C(1) << p->shift) - 1;
    block b;
    read_block(p, i, n, b.read);
    for (size_t k = 0; k < n; k++) {
        b.bucket[k] = b.read[k] >> p->shift;
        b.labels[k] = (uint16_t)(b.read[k] & mask);
    }
    const uint32_t hot = find_hot(&b, n);
    if (hot == UINT32_MAX)
        place_elements(&b, n, r->next);
    else
        place_hot(&b, n, hot, (uint32_t)p->buckets, r->next);
    move_16(b.labels, &b, n, first, r->labels, (char *)p->labels);
    move_elements(tally_at(p->args->x, i, bytes), bytes, &b, n, first, r->x, p->x);
    if (p->y)
        move_elements(tally_at(p->args->y, i, bytes), bytes, &b, n, first, r->y, p->y);
    if (p->places) {
        for (size_t k = 0; k < n; k++)
            b.places[k] = i + k;
        move_64(b.places, &b, n, first, r->places, (char *)p->places);
    }
}

/* What is left in the buffers. */
static void empty_buffers(const tally_partition *p, const uint64_t *first, const char *buffers, size_t bytes,
                          const uint64_t *next, void *memory) {
    for (size_t b = 0; memory && b < p->buckets; b++)
        if (next[b] % BUFFERED && next[b] > first[b])
            empty_buffer(buffers + b * BUFFERED * bytes, bytes, first[b], next[b] - 1, memory);
}

/* The next 'bytes' of the memory, or of no memory at all when only the size is asked for. */
static void *take(char *memory, size_t *at, size_t bytes) {
    void *const taken = memory ? memory + *at : NULL;
    *at += (size_t)round_up(bytes, 64);
    return taken;
}

static size_t lay_out_room(const tally_partition *p, char *memory, room *r) {
    const tally_computation *c = &p->plan->base.computation;
    const size_t elements = p->buckets * BUFFERED;
    size_t at = 0;
    r->next = take(memory, &at, (p->buckets + COPIES) * sizeof *r->next);
    r->labels = take(memory, &at, elements * sizeof *p->labels);
    r->x = take(memory, &at, elements * c->in_bytes);
    r->y = take(memory, &at, p->args->y ? elements * c->in_bytes : 0);
    r->places = take(memory, &at, tally_looks_at_index(c) ? elements * sizeof *p->places : 0);
    return at;
}

static void move_task(void *job, size_t task, unsigned worker) {
    moving *m = job;
    const tally_partition *p = m->to;
    const size_t bytes = p->plan->base.computation.in_bytes;
    const uint64_t *first = m->counts + task * p->buckets;
    const uint64_t end = least((task + 1) * m->chunk, p->args->shape.extent);
    room r;
    lay_out_room(p, tally_cpu_worker(p->plan, worker), &r);
    memcpy(r.next, first, p->buckets * sizeof *first);
    for (uint64_t i = task * m->chunk; i < end; i += BLOCK)
        move_block(p, i, (size_t)least(end - i, BLOCK), first, &r);
    empty_buffers(p, first, r.labels, sizeof *p->labels, r.next, p->labels);
    empty_buffers(p, first, r.x, bytes, r.next, p->x);
    empty_buffers(p, first, r.y, bytes, r.next, p->y);
    empty_buffers(p, first, r.places, sizeof *p->places, r.next, p->places);
    end_stores();
}

/* ---- memory ---- */

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

size_t tally_partition_worker_bytes(const tally_partition *partition) {
    room r;
    return (size_t)most(lay_out_room(partition, NULL, &r), COPIES * partition->buckets * sizeof(uint64_t));
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
