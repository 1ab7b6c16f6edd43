/* What computations over MPI cost: the exchanges alone, and each rank's work with them. Every rank has as many
 * elements, so that times that do not grow with the ranks are perfect (weak scaling).
 *
 *   mpicc -O2 -I include bench/ranks.c build/src/libtally.a -lm -lpthread -ldl -o bench_ranks
 *   mpirun -n 8 bench_ranks [ELEMENTS PER RANK]
 *
 * A time is the best of repeated runs, of each the slowest rank's, since cores may be shared. Ranks compute with one
 * thread each.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tally/mpi.h"

enum { RUNS = 1000, MOST_SECONDS = 2 };

static int rank, ranks;

static void stop(const char *what) {
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, tally_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

typedef struct timed {
    tally_exchange e;     /* or, if it has no words, */
    tally_mpi_plan *plan; /* a run of this */
    const tally_args *args;
    tally_plan *alone; /* the rank's part without the others */
} timed;

static void once(const timed *t) {
    if (t->alone  ? tally_run(t->alone, t->args, TALLY_SYNCHRONOUS) != TALLY_OK
        : t->plan ? tally_mpi_run(t->plan, t->args, 0) != TALLY_OK
                  : tally_mpi_exchange(MPI_COMM_WORLD, &t->e) != MPI_SUCCESS)
        stop("a run");
}

static double measure(const timed *t) {
    double best = 1e9;
    int n = 0, goes_on = 1;
    const double begun = MPI_Wtime();
    once(t);
    while (n < RUNS && goes_on) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double since = MPI_Wtime();
        once(t);
        double took = MPI_Wtime() - since;
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        best = took < best ? took : best;
        n++;
        goes_on = MPI_Wtime() - begun < MOST_SECONDS;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return best * 1e6;
}

static void exchanges(void) {
    static const size_t words[] = {3, 17, 74, 1 << 10, 1 << 16};
    if (rank == 0)
        printf("%-28s %10s %10s %10s   us\n", "words of a rank", "all-reduce", "exscan", "all-gather");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        timed t = {0};
        double us[3];
        int64_t *const own = calloc(words[i], 8), *const all = calloc(words[i] * (size_t)ranks, 8);
        t.e = (tally_exchange){TALLY_EXCHANGE_SUM, own, own, words[i]};
        us[0] = measure(&t);
        t.e.kind = TALLY_EXCHANGE_SUM_BEFORE;
        us[1] = measure(&t);
        t.e = (tally_exchange){TALLY_EXCHANGE_GATHER, own, all, words[i]};
        us[2] = measure(&t);
        if (rank == 0)
            printf("%-28zu %10.1f %10.1f %10.1f\n", words[i], us[0], us[1], us[2]);
        free(own);
        free(all);
    }
}

/* The last rank's own work among so many ranks, whose states are as its own. No exchange is made. */
static double own_work(tally_device *device, const tally_desc *desc, const tally_args *args, uint64_t many) {
    const tally_rank_options options = {sizeof options, many - 1, many, TALLY_SPLIT_EXTENT, TALLY_RANK_HAS_EXSCAN};
    tally_rank_plan *plan;
    double best = 1e9;
    if (tally_rank_plan_create(device, desc, &options, &plan) != TALLY_OK)
        stop("a plan");
    for (const double begun = MPI_Wtime(); MPI_Wtime() - begun < 0.5;) {
        tally_exchange e = {0};
        double took = 0;
        tally_rank_begin(plan, args, 0, TALLY_SYNCHRONOUS);
        do {
            const double since = MPI_Wtime();
            if (tally_rank_next(plan, &e) != TALLY_OK)
                stop("own work");
            took += MPI_Wtime() - since;
            for (size_t i = 0; i < e.words; i++) {
                if (e.kind == TALLY_EXCHANGE_SUM || e.kind == TALLY_EXCHANGE_SUM_BEFORE)
                    e.receive[i] = (int64_t)((uint64_t)e.send[i] * (many - (e.kind != TALLY_EXCHANGE_SUM)));
                for (uint64_t q = 0; e.kind == TALLY_EXCHANGE_GATHER && q < many; q++)
                    e.receive[q * e.words + i] = e.send[i];
            }
        } while (e.kind != TALLY_EXCHANGE_DONE);
        best = took < best ? took : best;
    }
    tally_rank_plan_destroy(plan);
    return best * 1e6;
}

static void computations(tally_device *device, uint64_t n) {
    static const struct {
        const char *name;
        tally_op op;
        tally_form form;
        tally_grouping grouping;
        tally_mode mode;
    } all[] = {{"sum", TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST},
               {"exact sum", TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_EXACT},
               {"max", TALLY_MAX, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST},
               {"var", TALLY_VAR, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST},
               {"scan of sums", TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST},
               {"exact scan of sums", TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_EXACT},
               {"sums by keys, runs of 100", TALLY_SUM, TALLY_REDUCE, TALLY_KEYS, TALLY_FAST}};
    double *const x = malloc((size_t)n * 8 + 8), *const out = malloc((size_t)n * 8 + 8);
    int64_t *const keys = malloc((size_t)n * 8 + 8);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = (double)((i * 2654435761u + (uint64_t)rank) % 1000003) / 1000;
        keys[i] = (int64_t)((i + (uint64_t)rank * n) / 100);
    }
    if (rank == 0)
        printf("%-28s %10s %10s %10s %10s %10s   us; %llu f64 each\n", "computation", "one alone", "all", "own of 8",
               "of 64", "of 4096", (unsigned long long)n);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tally_desc desc = TALLY_DESC_INIT;
        tally_args args = TALLY_ARGS_INIT;
        tally_mpi_plan plan;
        timed t = {.args = &args};
        uint64_t runs;
        desc.op = all[i].op;
        desc.form = all[i].form;
        desc.grouping = all[i].grouping;
        desc.mode = all[i].mode;
        desc.in = TALLY_F64;
        args.shape.extent = n;
        args.x = x;
        args.keys = desc.grouping == TALLY_KEYS ? keys : NULL;
        args.count = &runs;
        args.out = out;
        args.out_bytes = (size_t)n * 8 + 8;
        if (tally_plan_create(device, &desc, &t.alone) != TALLY_OK)
            stop(all[i].name);
        const double alone = measure(&t);
        tally_plan_destroy(t.alone);
        t.alone = NULL;
        if (tally_mpi_plan_create(device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan) != TALLY_OK)
            stop(all[i].name);
        t.plan = &plan;
        const double together = measure(&t);
        tally_mpi_plan_destroy(&plan);
        if (rank == 0)
            printf("%-28s %10.1f %10.1f %10.1f %10.1f %10.1f\n", all[i].name, alone, together,
                   own_work(device, &desc, &args, 8), own_work(device, &desc, &args, 64),
                   own_work(device, &desc, &args, 4096));
    }
    free(x);
    free(out);
    free(keys);
}

int main(int argc, char **argv) {
    tally_device *device;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (tally_open("cpu:threads=1", &device) != TALLY_OK)
        stop("tally_open");
    if (rank == 0)
        printf("%d ranks\n", ranks);
    exchanges();
    computations(device, argc > 1 ? strtoull(argv[1], NULL, 0) : 1 << 24);
    tally_close(device);
    MPI_Finalize();
    return 0;
}
