/* mpi_shares.c: each rank's share of the input. An array is cut along its outer dimension or its axis; segments may be
 * divided between two ranks.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "mpi_shares.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ranks_agree(const shared *s, int code) {
    int first = code != 0 ? s->rank : s->ranks, lowest;
    MPI_Allreduce(&first, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest == s->ranks)
        return 0;
    MPI_Bcast(&code, 1, MPI_INT, lowest, MPI_COMM_WORLD);
    if (s->rank != lowest)
        s->w.f->text[0] = 0;
    return code;
}

/* Where rank r's share of n begins. */
static uint64_t share(const shared *s, uint64_t n, int r) {
    const uint64_t ranks = (uint64_t)s->ranks, rank = (uint64_t)r, left = n % ranks;
    return n / ranks * rank + (rank < left ? rank : left);
}

int shares_refuse_streams(const work *w) {
    const input *const inputs[] = {&w->x, &w->y};
    for (int i = 0; i < 1 + w->y_open; i++)
        if (inputs[i]->format == INPUT_TEXT || !inputs[i]->bytes.regular)
            return fault_usage(w->f,
                               "%s: tally-mpi shares out npy files and raw numbers, not text or pipes; write the "
                               "numbers to such a file first",
                               inputs[i]->name);
    return 0;
}

/* On the CPU a share is the file's own pages: reading 512 MB into new memory took a second longer than the exact sum. A
 * file that is cut short meanwhile is then a signal, which ends all ranks. */
static bool map_places(shared *s, const input *in, buffer *b, places p) {
    const uint64_t at = in->bytes.start + in->data_start + p.first * in->element_bytes;
    const uint64_t before = at % (uint64_t)sysconf(_SC_PAGESIZE);
    mapping *const m = &s->maps[s->map_count];
    if (!s->w.host_memory || in->swapped || in->bytes.spooled || p.blocks != 1 || p.n == 0)
        return false;
    m->bytes = (size_t)(p.n * in->element_bytes + before);
    m->memory = mmap(NULL, m->bytes, PROT_READ, MAP_PRIVATE, in->bytes.fd, (off_t)(at - before));
    if (m->memory == MAP_FAILED)
        return false;
    (void)madvise(m->memory, m->bytes, MADV_WILLNEED);
    m->buffer = b;
    s->map_count++;
    b->host = b->device = (char *)m->memory + before;
    return true;
}

void shares_unmap(shared *s) {
    for (int i = 0; i < s->map_count; i++) {
        munmap(s->maps[i].memory, s->maps[i].bytes);
        memset(s->maps[i].buffer, 0, sizeof *s->maps[i].buffer);
    }
}

/* Elements of an input that are not neighbours: as the places of results. */
static int read_places(shared *s, input *in, buffer *b, places p) {
    work *const w = &s->w;
    if (map_places(s, in, b, p))
        return 0;
    const size_t bytes = (size_t)(p.blocks * p.n) * in->element_bytes;
    int code = buffer_make(w, b, bytes);
    for (uint64_t i = 0; code == 0 && i < p.blocks && p.n > 0; i++) {
        input_seek(in, p.first + i * p.step);
        code = input_read_exactly(in, (char *)b->host + i * p.n * in->element_bytes, (size_t)p.n, w->f);
    }
    return code != 0 ? code : buffer_to_device(w, b, bytes);
}

static int read_values(shared *s, places p) {
    int code = read_places(s, &s->w.x, &s->x, p);
    if (code == 0 && s->w.y_open && s->w.o->command == COMMAND_REDUCE)
        code = read_places(s, &s->w.y, &s->y, p);
    s->args.x = s->x.device;
    s->args.y = s->y.device;
    return code;
}

bool shares_cut_outer(const shared *s) {
    return s->g.outer >= (uint64_t)s->ranks && s->g.grouping == TALLY_AXIS;
}

static int read_array(shared *s) {
    const geometry *const g = &s->g;
    const bool outer = shares_cut_outer(s), scans = s->form != TALLY_REDUCE;
    const uint64_t whole = outer ? g->outer : g->extent;
    const uint64_t begin = share(s, whole, s->rank), n = share(s, whole, s->rank + 1) - begin,
                   row = g->extent * g->inner;
    const places of_input =
        outer ? (places){1, begin * row, 0, n * row} : (places){g->outer, begin * g->inner, row, n * g->inner};
    s->args.shape = (tally_shape){outer ? n : g->outer, outer ? g->extent : n, g->inner, 0};
    s->to = scans   ? of_input
            : outer ? (places){1, begin * g->inner, 0, n * g->inner}
                    : (places){1, 0, 0, s->rank == 0 ? g->outer * g->inner : 0};
    s->args.out_bytes = (size_t)(scans ? of_input.blocks * of_input.n : s->args.shape.outer * g->inner);
    return read_values(s, of_input);
}

static int read_keys(shared *s) {
    const uint64_t begin = share(s, s->w.x.count, s->rank), n = share(s, s->w.x.count, s->rank + 1) - begin;
    const places p = {1, begin, 0, n};
    int code = read_values(s, p);
    if (code == 0)
        code = read_places(s, &s->w.y, &s->index, p);
    if (code == 0)
        code = buffer_make(&s->w, &s->keys, n * s->w.y.element_bytes);
    s->args.shape.extent = n;
    s->args.keys = s->index.device;
    s->args.keys_out = s->keys.device;
    s->args.keys_out_bytes = (size_t)n * s->w.y.element_bytes;
    s->args.count = &s->runs;
    s->args.out_bytes = (size_t)n;
    return code;
}

/* All ranks have all groups; rank 0 writes them. */
static int read_labels(shared *s) {
    work *const w = &s->w;
    const uint64_t begin = share(s, w->x.count, s->rank), n = share(s, w->x.count, s->rank + 1) - begin;
    int64_t most = -1;
    int code = buffer_make(w, &s->index, n * sizeof(int64_t));
    if (code == 0) {
        input_seek(&w->y, begin);
        code = work_read_labels(w, begin, n, s->index.host, &most);
    }
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD); /* also after an error */
    const uint64_t groups = w->o->groups_given ? (uint64_t)w->o->groups : (uint64_t)most + 1;
    if (code == 0)
        code = buffer_to_device(w, &s->index, (size_t)n * sizeof(int64_t));
    s->args.shape.extent = n;
    s->args.shape.groups = groups;
    s->args.labels = s->index.device;
    s->args.out_bytes = (size_t)groups;
    s->to = (places){1, 0, 0, s->rank == 0 ? groups : 0};
    return code != 0 ? code : read_values(s, (places){1, begin, 0, n});
}

/* ---- shares of segments ---- */

/* A place between two ranks: before a segment, or in it, where both have a part of it. */
typedef struct cut {
    uint64_t segment, element;
    bool divides;
} cut;

static int read_offset(shared *s, uint64_t i, int64_t *offset) {
    unsigned char raw[8];
    input_seek(&s->w.y, i);
    const int code = input_read_exactly(&s->w.y, raw, 1, s->w.f);
    return code != 0 ? code : work_take_offset(&s->w, i, false, raw, offset);
}

/* Rank r begins at its share of the values; the offsets are searched for the segment there. */
static int find_cut(shared *s, int r, cut *c) {
    const uint64_t offsets = s->w.y.count, element = share(s, s->w.x.count, r);
    uint64_t low = 0, high = offsets;
    int64_t offset = 0;
    int code = 0;
    while (code == 0 && low < high) {
        const uint64_t middle = low + (high - low) / 2;
        code = read_offset(s, middle, &offset);
        if ((uint64_t)offset < element)
            low = middle + 1;
        else
            high = middle;
    }
    if (code == 0 && low < offsets)
        code = read_offset(s, low, &offset);
    const bool divides = low > 0 && low < offsets && (uint64_t)offset > element;
    *c = r == 0           ? (cut){0, 0, false}
         : r == s->ranks  ? (cut){offsets - 1, s->w.x.count, false}
         : low == offsets ? (cut){offsets - 1, element, false}
                          : (cut){low - divides, element, divides};
    return code;
}

/* Offsets count from the rank's first value, and end where its values do. */
static int read_offsets(shared *s, cut a, cut b, uint64_t segments) {
    work *const w = &s->w;
    const size_t size = w->y.element_bytes;
    int code = buffer_make(w, &s->index, (segments + 1) * sizeof(int64_t));
    unsigned char *const raw = malloc(((size_t)segments + 1) * size + 1); /* of nothing, malloc may give NULL */
    if (code == 0 && !raw)
        code = fault_data(w->f, "no memory for offsets");
    if (code == 0) {
        input_seek(&w->y, a.segment);
        code = input_read_exactly(&w->y, raw, (size_t)(segments + 1), w->f);
    }
    int64_t *const offsets = s->index.host;
    for (uint64_t i = 0; code == 0 && i <= segments; i++)
        code = work_take_offset(w, a.segment + i, i > 0, raw + i * size, &offsets[i]);
    free(raw);
    for (uint64_t i = 0; code == 0 && i <= segments; i++) {
        const uint64_t at = (uint64_t)offsets[i];
        offsets[i] = (int64_t)((at < a.element ? a.element : at > b.element ? b.element : at) - a.element);
    }
    return code != 0 ? code : buffer_to_device(w, &s->index, (size_t)(segments + 1) * sizeof *offsets);
}

static int read_segments(shared *s) {
    work *const w = &s->w;
    cut a, b;
    int code;
    if (w->y.count == 0)
        return fault_data(w->f, "%s: holds no offsets; n segments have n + 1", w->y.name);
    if ((code = find_cut(s, s->rank, &a)) != 0 || (code = find_cut(s, s->rank + 1, &b)) != 0)
        return code;
    if (b.segment < a.segment)
        return fault_data(w->f, "%s: offsets must not decrease", w->y.name);
    const uint64_t segments = b.segment - a.segment + b.divides;
    if ((code = read_offsets(s, a, b, segments)) != 0)
        return code;
    s->args.shape.extent = b.element - a.element;
    s->args.shape.groups = segments;
    s->args.offsets = s->index.device;
    s->args.out_bytes = (size_t)segments;
    s->flags = a.divides ? TALLY_RANK_CONTINUES : 0;
    s->to = (places){1, a.segment + a.divides, 0, segments - a.divides}; /* the rank before writes the divided one */
    return read_values(s, (places){1, a.element, 0, b.element - a.element});
}

int shares_read(shared *s) {
    return s->g.grouping == TALLY_SEGMENTS ? read_segments(s)
           : s->g.grouping == TALLY_KEYS   ? read_keys(s)
           : s->g.grouping == TALLY_LABELS ? read_labels(s)
                                           : read_array(s);
}
