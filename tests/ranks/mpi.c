/* tally/mpi.h under mpirun: random computations in parts on all ranks, blocking and with a request, give what one rank
 * gives; a rank that differs is named on all ranks.
 * usage: mpirun -n RANKS mpi [SEED [CASES]]
 *        mpirun -n RANKS mpi dies     the last rank ends without a word; the others must not go on */
#include "parts.h"

#include <unistd.h>

#include "tally/mpi.h"

static tally_device *device;
static int rank, ranks;

static void give_up(const char *what, const char *why) {
    fprintf(stderr, "FAIL rank %d of %d: %s: %s\n", rank, ranks, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static tally_status run(tally_mpi_plan *plan, const part *q, int way) {
    int done = 0;
    tally_status status;
    if (way == 0)
        return tally_mpi_run(plan, &q->args, q->flags);
    status = tally_mpi_start(plan, &q->args, q->flags);
    if (way == 1)
        return status == TALLY_OK ? tally_mpi_wait(plan) : status;
    while (status == TALLY_OK && !done)
        status = tally_mpi_test(plan, &done);
    return status;
}

static void check_problem(problem *p, uint64_t *random) {
    char name[200], why[300];
    tally_mpi_plan plan;
    problem_name(p, name, sizeof name);
    problem_cut(p, (uint64_t)ranks, random);
    tally_status status = tally_mpi_plan_create(device, &p->desc, p->split, MPI_COMM_WORLD, &plan);
    for (int way = 0; status == TALLY_OK && way < 3; way++) {
        memset(p->parts[rank].args.out, 0, p->parts[rank].args.out_bytes);
        status = run(&plan, &p->parts[rank], way);
        if (status != TALLY_OK)
            break;
        for (int r = 0; r < ranks; r++)
            MPI_Bcast(&p->parts[r].count, 1, MPI_UINT64_T, r, MPI_COMM_WORLD);
        if (!problem_agrees(p, (uint64_t)rank, (uint64_t)rank + 1, why, sizeof why))
            give_up(name, why);
    }
    if (status != problem_expected(p))
        give_up(name, tally_last_error());
    tally_mpi_plan_destroy(&plan);
}

static void check_random(uint64_t seed, unsigned cases) {
    for (unsigned done = 0; done < cases;) {
        problem p;
        if (!problem_make(&p, device, &seed, done % 2))
            continue;
        check_problem(&p, &seed);
        problem_free(&p);
        done++;
    }
}

/* The last rank differs. */
static void check_differing(void) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_mpi_plan plan;
    float x[4] = {0}, out[4];
    char last[32];
    const bool differs = rank == ranks - 1;
    snprintf(last, sizeof last, "rank %d", ranks - 1);
    if (differs)
        desc.in = TALLY_F64;
    if (tally_mpi_plan_create(device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan) != TALLY_INVALID_ARGUMENT ||
        !strstr(tally_last_error(), last))
        give_up("ranks of two types", tally_last_error());
    if (tally_mpi_plan_create(differs ? NULL : device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan) == TALLY_OK)
        give_up("a rank without a device", "taken");
    desc.in = TALLY_F32;
    desc.grouping = TALLY_AXIS;
    if (tally_mpi_plan_create(device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan) != TALLY_OK)
        give_up("a plan", tally_last_error());
    tally_args args = arguments(x, 1, out, sizeof out);
    for (int way = 0; way < 3; way++) {
        part q = {.args = args};
        q.args.shape.inner = differs ? 2 : 1;
        if (run(&plan, &q, way) != TALLY_INVALID_ARGUMENT || !strstr(tally_last_error(), last))
            give_up("ranks of two shapes", tally_last_error());
        q.args = args;
        q.args.out_bytes = differs ? 0 : args.out_bytes;
        if (run(&plan, &q, way) != TALLY_OUTPUT_TOO_SMALL || !strstr(tally_last_error(), last))
            give_up("a rank without room", tally_last_error());
        q.args = args;
        if (run(&plan, &q, way) != TALLY_OK)
            give_up("the plan after an error", tally_last_error());
    }
    tally_mpi_plan_destroy(&plan);
}

static void die(void) {
    const tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_mpi_plan plan;
    float x[4] = {0}, out = 0;
    const tally_args args = arguments(x, 4, &out, sizeof out);
    if (tally_mpi_plan_create(device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan) != TALLY_OK)
        give_up("a plan", tally_last_error());
    if (rank == ranks - 1) {
        printf("the last rank ends\n");
        fflush(stdout);
        _exit(3);
    }
    if (tally_mpi_run(&plan, &args, 0) == TALLY_OK)
        printf("a result without rank %d\n", ranks - 1);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (tally_open("cpu:threads=1", &device) != TALLY_OK)
        give_up("tally_open", tally_last_error());
    if (argc > 1 && strcmp(argv[1], "dies") == 0) {
        die();
    } else {
        if (ranks > 1)
            check_differing();
        check_random(argc > 1 ? strtoull(argv[1], NULL, 0) : 1, argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 100);
        if (rank == 0)
            printf("%d ranks\n", ranks);
    }
    tally_close(device);
    MPI_Finalize();
    return 0;
}
