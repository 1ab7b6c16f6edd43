/* mpi_results.c: the output of all ranks. A file is written by each of them, at its place; what is printed, and keys,
 * go through rank 0.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "mpi_shares.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"

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
    if ((code = ranks_agree(s, code)) != 0)
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
    return ranks_agree(s, code);
}

static int open_array(shared *s) {
    uint64_t shape[NPY_MAX_RANK];
    const input *const in = &s->w.x;
    const bool scans = s->form != TALLY_REDUCE, jumps = scans && !shares_cut_outer(s) && s->g.outer > 1;
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

int results_open(shared *s) {
    return s->g.grouping <= TALLY_AXIS ? open_array(s) : open_groups(s);
}

int results_open_keys(shared *s, output *keys_out, bool *has) {
    const work *const w = &s->w;
    const options *const o = w->o;
    const input *const inputs[2] = {&w->x, &w->y};
    uint64_t runs = w->out.array.shape[0];
    const output_array keys = {.dtype = w->y.dtype, .rank = 1, .shape = {runs}};
    *has = o->keys_output || (o->json && !o->output);
    return *has && s->rank == 0 ? output_open(keys_out, o->keys_output, o->json, &keys, inputs, 2, w->f) : 0;
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

int results_write(shared *s, output *keys_out, bool has_keys) {
    work *const w = &s->w;
    const size_t result = work_result_bytes(w);
    const uint64_t n = s->to.blocks * s->to.n;
    int code = n > 0 ? buffer_to_host(w, &s->out, (size_t)n * result + (size_t)(s->flags ? result : 0)) : 0;
    if (code == 0 && has_keys && n > 0)
        code = buffer_to_host(w, &s->keys, (size_t)n * w->y.element_bytes);
    if (code == 0 && s->flags) /* the divided segment's */
        memmove(s->out.host, (char *)s->out.host + result, (size_t)n * result);
    if ((code = ranks_agree(s, code)) != 0)
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
    return ranks_agree(s, code);
}
