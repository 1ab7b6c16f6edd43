/* mpi.c: tally-mpi. Each rank reads a share of the files, and tally/mpi.h computes with all of them. A file of results
 * is written by all ranks, each at its place; what is printed goes through rank 0. An error of one rank is the end of
 * all, and the first of them prints it.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_shares.h"
#include "options.h"

/* ---- ranks ---- */

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

/* ---- the commands ---- */

static unsigned flags_of(const options *o) {
    return (o->reverse ? TALLY_REVERSE : 0u) | (o->skip_bad ? TALLY_SKIP_BAD_LABELS : 0u);
}

/* Opens what every rank opens, and describes the computation. */
static int prepare(shared *s, const options *o) {
    work *const w = &s->w;
    tally_plan *plan = NULL;
    int code;
    s->form = o->command != COMMAND_SCAN ? TALLY_REDUCE : o->exclusive ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN;
    if ((code = work_open(w, o, w->f)) != 0 || (code = shares_refuse_streams(w)) != 0 ||
        (code = work_check_inputs(w)) != 0)
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
    const tally_split split = shares_cut_outer(s) ? TALLY_SPLIT_OTHER : TALLY_SPLIT_EXTENT;
    int code;
    s->args = (tally_args)TALLY_ARGS_INIT;
    if ((code = ranks_agree(s, shares_read(s))) != 0)
        return code;
    s->args.out_bytes *= work_result_bytes(w); /* until here, results */
    s->args.initial = s->initial.device;
    code = buffer_make(w, &s->out, s->args.out_bytes);
    s->args.out = s->out.device;
    if ((code = ranks_agree(s, code)) == 0)
        code = work_check(w, NULL, tally_mpi_plan_create(w->device, &desc, split, MPI_COMM_WORLD, &s->plan));
    s->has_plan = code == 0;
    if (code == 0)
        code = work_check(w, w->x.name, tally_mpi_run(&s->plan, &s->args, s->flags));
    return ranks_agree(s, code);
}

static int run(shared *s, const options *o, output *keys_out) {
    work *const w = &s->w;
    const bool has_keys = o->command == COMMAND_KEYS;
    bool writes_keys = false;
    int code;
    if ((code = ranks_agree(s, prepare(s, o))) != 0 || (code = ranks_agree(s, compare_files(s))) != 0 ||
        (code = compute(s)) != 0 || (code = results_open(s)) != 0 ||
        (has_keys && (code = ranks_agree(s, results_open_keys(s, keys_out, &writes_keys))) != 0))
        return code;
    w->keys_out = writes_keys ? keys_out : NULL;
    if ((code = results_write(s, w->keys_out, has_keys)) != 0)
        return code;
    return ranks_agree(s, s->rank == 0 ? work_finish(w, s->form, s->g.grouping, w->x.count) : 0);
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
    if ((code = ranks_agree(&s, code)) != 0 || o.help)
        return code != 0 || s.rank != 0 ? code : options_help(kind, f);
    o.device = shared_cores(o.device, spec);
    code = run(&s, &o, &keys_out);
    output_close(&keys_out);
    if (s.has_plan)
        tally_mpi_plan_destroy(&s.plan);
    shares_unmap(&s);
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
