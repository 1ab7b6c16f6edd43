/* Reductions and scans over the ranks of MPI: each rank has a part of the values, and parts may be of any length. Run
 * it on any number of ranks; what it prints is the same. */
#include "example.h"

#include <tally/mpi.h>

enum { N = 12 };
static const double all[N] = {1e300, 3.0, 0x1p-53, -1e300, 1.0, 0x1p-53, -7.0, 2.5, 0.25, 4.0, -0.5, 1.0};
static const int32_t all_keys[N] = {1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3};

/* Prints what the ranks have, one after another. */
static void print_all(const char *name, const double *part, int n, int ranks) {
    int counts[64], places[64] = {0}, rank;
    double whole[N];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allgather(&n, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 1; r < ranks; r++)
        places[r] = places[r - 1] + counts[r - 1];
    MPI_Gatherv(part, n, MPI_DOUBLE, whole, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf("%-8s", name);
    for (int i = 0; i < places[ranks - 1] + counts[ranks - 1]; i++)
        printf(" %g", whole[i]);
    printf("\n");
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int begin = N * rank / ranks, n = N * (rank + 1) / ranks - begin;
    const double *const x = all + begin; /* this rank's part */

    tally_device *device;
    must(tally_open("cpu:threads=1", &device));
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_SUM;
    desc.mode = TALLY_EXACT;
    desc.in = TALLY_F64;
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = (uint64_t)n;
    args.x = x;

    tally_mpi_plan plan;
    double sum;
    args.out = &sum;
    args.out_bytes = sizeof sum;
    must(tally_mpi_plan_create(device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan));
    must(tally_mpi_run(&plan, &args, 0)); /* every rank has the sum of all */
    tally_mpi_plan_destroy(&plan);
    if (rank == 0)
        printf("sum      %.17g\n", sum);

    double running[N];
    int done = 0;
    desc.form = TALLY_INCLUSIVE_SCAN;
    args.out = running;
    args.out_bytes = sizeof running;
    must(tally_mpi_plan_create(device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan));
    must(tally_mpi_start(&plan, &args, 0));
    while (!done) /* other work may be done here */
        must(tally_mpi_test(&plan, &done));
    tally_mpi_plan_destroy(&plan);
    print_all("running", running, n, ranks);

    uint64_t runs = 0;
    desc.form = TALLY_REDUCE;
    desc.grouping = TALLY_KEYS;
    desc.index = TALLY_I32;
    args.keys = all_keys + begin;
    args.count = &runs; /* of the runs that begin on this rank */
    must(tally_mpi_plan_create(device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan));
    must(tally_mpi_run(&plan, &args, 0));
    tally_mpi_plan_destroy(&plan);
    print_all("by key", running, (int)runs, ranks);

    tally_close(device);
    MPI_Finalize();
    return 0;
}
