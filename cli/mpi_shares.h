/* mpi_shares.h: what the parts of tally-mpi know of a computation that is shared out over ranks: mpi.c computes,
 * mpi_shares.c reads a rank's share of the files, and mpi_results.c writes its results.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_MPI_SHARES_H
#define TALLY_CLI_MPI_SHARES_H

#include <tally/mpi.h>

#include "buffer.h"

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

/* The exit code of all ranks. Only the first one with a fault keeps it, to print it. */
int ranks_agree(const shared *s, int code);

/* Only files can be shared out. */
int shares_refuse_streams(const work *w);

/* Whether the outer dimension is cut, so that nothing has to travel: each rank gets some of it. */
bool shares_cut_outer(const shared *s);

/* Reads this rank's share, and describes it in s->args; out_bytes counts results. */
int shares_read(shared *s);
void shares_unmap(shared *s);

/* The output, and that of the keys of runs if 'has' becomes true. */
int results_open(shared *s);
int results_open_keys(shared *s, output *keys_out, bool *has);
int results_write(shared *s, output *keys_out, bool has_keys);

#endif
