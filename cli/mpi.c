/* mpi.c: tally-mpi. Each rank reads a share of the files, and tally/mpi.h computes with all of them. A file of results
 * is written by all ranks, each at its place; what is printed goes through rank 0. An error of one rank is the end of
 * all, and the first of them prints it.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tally/mpi.h>

#include "number.h"
#include "options.h"
#include "print.h"
#include "work.h"

/* Results of this rank: 'blocks' blocks of n, of which the next lies 'step' results after the one before. */
typedef struct places {
    uint64_t blocks, first, step, n;
} places;

/* A share of a file, in memory. */
typedef struct mapping {
    void *memory;
    size_t bytes;
    buffer *buffer;
} mapping;

typedef struct shared {
    work w;
    int rank, ranks;
    tally_mpi_plan plan;
    bool has_plan;
    geometry g;
    tally_form form;
    buffer x, y, index, out, keys, initial;
    tally_args args;
    unsigned flags; /* of tally_mpi_run */
    places to;
    uint64_t runs; /* keys */
    mapping maps[3];
    int map_count;
} shared;

/* ---- ranks ---- */

/* The exit code of all ranks. Only the first one with a fault keeps it, to print it. */
static int agree(const shared *s, int code) {
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

/* Ranks of one machine that are not bound to cores of their own share them. */
static const char *shared_cores(const char *device, char spec[64]) {
    MPI_Comm machine;
    cpu_set_t cores;
    int ranks = 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &ranks);
    MPI_Comm_free(&machine);
    if (strcmp(device, "cpu") != 0 || getenv("TALLY_THREADS") || sched_getaffinity(0, sizeof cores, &cores) != 0 ||
        CPU_COUNT(&cores) < sysconf(_SC_NPROCESSORS_ONLN))
        return device;
    const int each = CPU_COUNT(&cores) / ranks;
    snprintf(spec, 64, "cpu:threads=%d", each > 1 ? each : 1);
    return spec;
}

/* ---- shares of the input ---- */

static int refuse_streams(const work *w) {
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

static void unmap(shared *s) {
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

/* Cuts the outer dimension if each rank gets some of it: then nothing has to travel. */
static bool cuts_outer(const shared *s) {
    return s->g.outer >= (uint64_t)s->ranks && s->g.grouping == TALLY_AXIS;
}

static int read_array(shared *s) {
    const geometry *const g = &s->g;
    const bool outer = cuts_outer(s), scans = s->form != TALLY_REDUCE;
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

/* ---- results ---- */

/* Opens the output on rank 0. The others open the same file, if it is one. */
static int open_output(shared *s, int rank, const uint64_t *shape, bool fortran_order, bool any_order) {
    work *const w = &s->w;
    char path[PATH_MAX] = "";
    uint64_t about[2] = {0, 0}; /* whether it is a file for all, bytes of its header */
    const bool for_all = w->o->command != COMMAND_KEYS;
    int code = 0;
    if (s->rank == 0) {
        code = work_open_output(w, rank, shape, fortran_order, any_order);
        about[0] = code == 0 && for_all && w->out.kind == OUTPUT_FILE;
        about[1] = w->out.header_bytes;
        if (about[0])
            code = out_file_name(&w->out.file, w->f);
        if (code == 0 && about[0])
            snprintf(path, sizeof path, "%s", w->out.file.temporary);
    }
    if ((code = agree(s, code)) != 0)
        return code;
    MPI_Bcast(about, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (!about[0])
        return 0;
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Bcast(&w->out.array, sizeof w->out.array, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (s->rank != 0) {
        w->out.kind = OUTPUT_FILE;
        w->out.header_bytes = about[1];
        w->out.open = true;
        w->out.file =
            (out_file){.name = w->o->output, .open = true, .any_place = true, .fd = open(path, O_WRONLY | O_CLOEXEC)};
        if (w->out.file.fd < 0)
            code =
                fault_data(w->f, "%s: rank %d cannot write it; all ranks must see its folder", w->o->output, s->rank);
    }
    return agree(s, code);
}

/* On rank 0. */
static int put(shared *s, output *keys_out, uint64_t first, const void *results, const void *keys, uint64_t n) {
    work *const w = &s->w;
    if (keys && !keys_out && w->out.kind == OUTPUT_PRINTED)
        return work_print_runs(w, keys, results, (size_t)n);
    const int code = work_write(w, first, results, (size_t)n);
    return code == 0 && keys && keys_out ? output_write(keys_out, first, keys, (size_t)n, w->f) : code;
}

/* Sends this rank's results to rank 0, which puts them where they belong, or on rank 0 takes those of rank 'from'.
 * After an error rank 0 goes on taking, so that nobody waits for it. */
static int pass(shared *s, output *keys_out, int from, bool has_keys) {
    work *const w = &s->w;
    const size_t result = work_result_bytes(w), key = w->y.element_bytes;
    const uint64_t most = PIECE_BYTES / result;
    places p = s->to;
    int code = 0;
    void *const results = malloc(PIECE_BYTES), *const keys = malloc((size_t)most * 8);
    if (!results || !keys)
        MPI_Abort(MPI_COMM_WORLD, FAULT_DATA);
    if (from != 0 && s->rank == 0)
        MPI_Recv(&p, sizeof p, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (from != 0)
        MPI_Send(&p, sizeof p, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    for (uint64_t i = 0; i < p.blocks; i++)
        for (uint64_t at = 0, n; at < p.n; at += n) {
            n = p.n - at < most ? p.n - at : most;
            const char *own = (char *)s->out.host + (i * p.n + at) * result,
                       *own_keys = (char *)s->keys.host + at * key;
            if (s->rank != 0) {
                MPI_Send(own, (int)(n * result), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
                if (has_keys)
                    MPI_Send(own_keys, (int)(n * key), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
                continue;
            }
            if (from != 0) {
                MPI_Recv(results, (int)(n * result), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (has_keys)
                    MPI_Recv(keys, (int)(n * key), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                own = results;
                own_keys = keys;
            }
            if (code == 0)
                code = put(s, keys_out, p.first + i * p.step + at, own, has_keys ? own_keys : NULL, n);
        }
    free(results);
    free(keys);
    return code;
}

static int write_results(shared *s, output *keys_out, bool has_keys) {
    work *const w = &s->w;
    const size_t result = work_result_bytes(w);
    const uint64_t n = s->to.blocks * s->to.n;
    int code = n > 0 ? buffer_to_host(w, &s->out, (size_t)n * result + (size_t)(s->flags ? result : 0)) : 0;
    if (code == 0 && has_keys && n > 0)
        code = buffer_to_host(w, &s->keys, (size_t)n * w->y.element_bytes);
    if (code == 0 && s->flags) /* the divided segment's */
        memmove(s->out.host, (char *)s->out.host + result, (size_t)n * result);
    if ((code = agree(s, code)) != 0)
        return code;
    if (w->out.kind == OUTPUT_FILE && w->o->command != COMMAND_KEYS) {
        for (uint64_t i = 0; code == 0 && i < s->to.blocks && s->to.n > 0; i++)
            code = work_write(w, s->to.first + i * s->to.step, (char *)s->out.host + i * s->to.n * result,
                              (size_t)s->to.n);
        if (s->rank != 0 && code == 0 && close(w->out.file.fd) != 0)
            code = fault_data(w->f, "%s: rank %d cannot write it", w->o->output, s->rank);
        if (s->rank != 0 && code == 0)
            w->out.file.fd = -1;
    } else if (s->rank == 0) {
        for (int r = 0; r < s->ranks; r++) {
            const int passed = pass(s, keys_out, r, has_keys);
            code = code != 0 ? code : passed;
        }
    } else {
        code = pass(s, NULL, s->rank, has_keys);
    }
    return agree(s, code);
}

/* ---- the commands ---- */

static int open_array(shared *s) {
    uint64_t shape[NPY_MAX_RANK];
    const input *const in = &s->w.x;
    const bool scans = s->form != TALLY_REDUCE, jumps = scans && !cuts_outer(s) && s->g.outer > 1;
    int rank = 0;
    if (scans)
        return s->g.axis < 0 ? open_output(s, 1, &in->count, false, false)
                             : open_output(s, in->rank, in->shape, in->fortran_order, jumps);
    for (int i = 0; s->g.grouping == TALLY_AXIS && i < in->rank; i++)
        if (i != s->g.axis)
            shape[rank++] = in->shape[i];
    return open_output(s, rank, shape, in->fortran_order, false);
}

static int open_groups(shared *s) {
    const uint64_t segments = s->w.y.count - 1;
    uint64_t before = 0, runs = s->runs;
    if (s->g.grouping == TALLY_SEGMENTS)
        return open_output(s, 1, &segments, false, false);
    if (s->g.grouping == TALLY_LABELS)
        return open_output(s, 1, &s->args.shape.groups, false, false);
    MPI_Exscan(&s->runs, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &runs, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    s->to = (places){1, s->rank == 0 ? 0 : before, 0, s->runs};
    return open_output(s, 1, &runs, false, false);
}

static int open_keys(shared *s, output *keys_out, bool *has) {
    const work *const w = &s->w;
    const options *const o = w->o;
    const input *const inputs[2] = {&w->x, &w->y};
    uint64_t runs = w->out.array.shape[0];
    const output_array keys = {.dtype = w->y.dtype, .rank = 1, .shape = {runs}};
    *has = o->keys_output || (o->json && !o->output);
    return *has && s->rank == 0 ? output_open(keys_out, o->keys_output, o->json, &keys, inputs, 2, w->f) : 0;
}

static int read_share(shared *s) {
    return s->g.grouping == TALLY_SEGMENTS ? read_segments(s)
           : s->g.grouping == TALLY_KEYS   ? read_keys(s)
           : s->g.grouping == TALLY_LABELS ? read_labels(s)
                                           : read_array(s);
}

static unsigned flags_of(const options *o) {
    return (o->reverse ? TALLY_REVERSE : 0u) | (o->skip_bad ? TALLY_SKIP_BAD_LABELS : 0u);
}

/* Opens what every rank opens, and describes the computation. */
static int prepare(shared *s, const options *o) {
    work *const w = &s->w;
    tally_plan *plan = NULL;
    int code;
    s->form = o->command != COMMAND_SCAN ? TALLY_REDUCE : o->exclusive ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN;
    if ((code = work_open(w, o, w->f)) != 0 || (code = refuse_streams(w)) != 0 || (code = work_check_inputs(w)) != 0)
        return code;
    if (o->command == COMMAND_REDUCE || o->command == COMMAND_SCAN)
        code = work_geometry(w, s->form != TALLY_REDUCE || o->traits.has_index, &s->g);
    else
        s->g.grouping = o->command == COMMAND_SEGMENTS ? TALLY_SEGMENTS
                        : o->command == COMMAND_KEYS   ? TALLY_KEYS
                                                       : TALLY_LABELS;
    if (code == 0)
        code = work_plan(w, s->g.grouping, s->form, flags_of(o), &plan);
    tally_plan_destroy(plan);
    return code != 0 ? code : work_initial(w, &s->initial);
}

/* Ranks that see different files of one name would share out something that is not there. */
static int compare_files(const shared *s) {
    const input *const in[] = {&s->w.x, &s->w.y};
    uint64_t most[4] = {0}; /* of counts and of their complements */
    for (int i = 0; i < 1 + s->w.y_open; i++) {
        most[i] = in[i]->count;
        most[2 + i] = ~in[i]->count;
    }
    MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < 1 + s->w.y_open; i++)
        if (most[i] != ~most[2 + i])
            return fault_data(s->w.f, "%s: ranks see files of different lengths", in[i]->name);
    return 0;
}

static int compute(shared *s) {
    work *const w = &s->w;
    const tally_desc desc = work_desc(w, s->g.grouping, s->form, flags_of(w->o));
    const tally_split split = cuts_outer(s) ? TALLY_SPLIT_OTHER : TALLY_SPLIT_EXTENT;
    int code;
    s->args = (tally_args)TALLY_ARGS_INIT;
    if ((code = agree(s, read_share(s))) != 0)
        return code;
    s->args.out_bytes *= work_result_bytes(w); /* until here, results */
    s->args.initial = s->initial.device;
    code = buffer_make(w, &s->out, s->args.out_bytes);
    s->args.out = s->out.device;
    if ((code = agree(s, code)) == 0)
        code = work_check(w, NULL, tally_mpi_plan_create(w->device, &desc, split, MPI_COMM_WORLD, &s->plan));
    s->has_plan = code == 0;
    if (code == 0)
        code = work_check(w, w->x.name, tally_mpi_run(&s->plan, &s->args, s->flags));
    return agree(s, code);
}

static int run(shared *s, const options *o, output *keys_out) {
    work *const w = &s->w;
    const bool has_keys = o->command == COMMAND_KEYS;
    bool writes_keys = false;
    int code;
    if ((code = agree(s, prepare(s, o))) != 0 || (code = agree(s, compare_files(s))) != 0 || (code = compute(s)) != 0 ||
        (code = s->g.grouping <= TALLY_AXIS ? open_array(s) : open_groups(s)) != 0 ||
        (has_keys && (code = agree(s, open_keys(s, keys_out, &writes_keys))) != 0))
        return code;
    w->keys_out = writes_keys ? keys_out : NULL;
    if ((code = write_results(s, w->keys_out, has_keys)) != 0)
        return code;
    return agree(s, s->rank == 0 ? work_finish(w, s->form, s->g.grouping, w->x.count) : 0);
}

static int command(command_kind kind, int argc, char **argv, fault *f) {
    static options o;
    static shared s;
    static output keys_out;
    static char spec[64];
    int code = options_parse(&o, kind, argc, argv, f);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    s.w.f = f;
    if ((code = agree(&s, code)) != 0 || o.help)
        return code != 0 || s.rank != 0 ? code : options_help(kind, f);
    o.device = shared_cores(o.device, spec);
    code = run(&s, &o, &keys_out);
    output_close(&keys_out);
    if (s.has_plan)
        tally_mpi_plan_destroy(&s.plan);
    unmap(&s);
    buffer *const buffers[] = {&s.x, &s.y, &s.index, &s.out, &s.keys, &s.initial};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers && s.w.device; i++)
        buffer_free(&s.w, buffers[i]);
    work_close(&s.w);
    return code;
}

static const struct {
    const char *name;
    command_kind kind;
} commands[] = {{"reduce", COMMAND_REDUCE},
                {"scan", COMMAND_SCAN},
                {"segments", COMMAND_SEGMENTS},
                {"keys", COMMAND_KEYS},
                {"labels", COMMAND_LABELS}};

static const char overview[] =
    "tally-mpi: tally's reductions and scans of files, shared out over the ranks of MPI\n"
    "\n"
    "usage: mpirun -n RANKS tally-mpi reduce | scan | segments | keys | labels OP FILE... [OPTION]...\n"
    "\n"
    "Operands and options are those of 'tally'. Files are npy or raw numbers, which every rank can read; each rank "
    "holds\n"
    "its share in memory. A file of results is written by all ranks. 'tally-mpi reduce --help' lists the options.\n"
    "Exit status: 0 success, 1 bad data or a failing file or device, 2 wrong usage.\n"
    "\n"
    "  mpirun -n 8 tally-mpi reduce sum --exact huge.npy\n"
    "  mpirun -n 8 tally-mpi scan sum huge.npy -o running.npy\n";

static int choose(int argc, char **argv, fault *f) {
    static char name[32];
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fault_warns = rank == 0;
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            opterr = rank == 0; /* getopt's own messages */
            argv[1] = memcpy(name, "tally-mpi ", sizeof "tally-mpi ");
            strcat(name, commands[i].name);
            return command(commands[i].kind, argc - 1, argv + 1, f);
        }
    const bool asks = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    const bool asks_version = argc > 1 && strcmp(argv[1], "--version") == 0;
    if (rank == 0 && asks)
        fputs(overview, stdout);
    if (rank == 0 && asks_version)
        printf("tally-mpi %s\n", tally_version());
    if (asks || asks_version)
        return out_file_flush_standard(f);
    const int code =
        fault_usage(f, "tally-mpi has the commands reduce, scan, segments, keys and labels; see tally-mpi --help");
    if (rank != 0)
        f->text[0] = 0;
    return code;
}

int main(int argc, char **argv) {
    static fault f;
    MPI_Init(&argc, &argv);
    const int code = choose(argc, argv, &f);
    if (code != 0 && f.text[0])
        fault_print(&f);
    MPI_Finalize();
    return code;
}
