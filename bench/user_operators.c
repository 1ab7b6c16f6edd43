/* User operators as texts beside the same operators built in, in one run and in turns, as the best of many.
 * usage: user_operators [DEVICE [ELEMENTS]] */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tally/tally.h"

static const struct {
    const char *name;
    tally_op op;
    tally_dtype in, out;
    int commutes;
    size_t acc_bytes;
    const char *acc, *identity, *lift, *combine, *lower;
} operators[] = {
#define SUM_OF(type) "struct acc_t { " type " s; };", "acc_t{0}", "acc_t{x}", "acc_t{left.s + right.s}"
    {"sum f32", TALLY_SUM, TALLY_F32, TALLY_F32, 1, 4, SUM_OF("float"), "acc.s"},
    {"sum f32, in order", TALLY_SUM, TALLY_F32, TALLY_F32, 0, 4, SUM_OF("float"), "acc.s"},
    {"sum f64", TALLY_SUM, TALLY_F64, TALLY_F64, 1, 8, SUM_OF("double"), "acc.s"},
    {"max f32", TALLY_MAX, TALLY_F32, TALLY_F32, 1, 4, "struct acc_t { float s; };", "acc_t{-3.4e38f}", "acc_t{x}",
     "acc_t{left.s > right.s ? left.s : right.s}", "acc.s"},
    {"any f32", TALLY_ANY, TALLY_F32, TALLY_U8, 1, 4, "struct acc_t { bool s; };", "acc_t{false}", "acc_t{x != 0}",
     "acc_t{left.s || right.s}", "acc.s"},
    {"bxor i32", TALLY_BXOR, TALLY_I32, TALLY_I32, 1, 4, "struct acc_t { int s; };", "acc_t{0}", "acc_t{x}",
     "acc_t{left.s ^ right.s}", "acc.s"},
    {"mean f32", TALLY_MEAN, TALLY_F32, TALLY_F32, 1, 4, SUM_OF("float"), "acc.s / count"},
    {"argmin f32", TALLY_ARGMIN, TALLY_F32, TALLY_I64, 1, 16, "struct acc_t { float v; long long i; };",
     "acc_t{3.4e38f, -1}", "acc_t{x, (long long)index}",
     "right.v < left.v || (right.v == left.v && right.i < left.i) ? right : left", "acc.i"},
};
enum { OPERATORS = sizeof operators / sizeof *operators };

/* Labels are for reductions. */
static const struct {
    const char *name;
    tally_grouping grouping;
    size_t length; /* of a group; columns: how many; labels: how many groups */
} groupings[] = {{"all values", TALLY_ALL_VALUES, 0},
                 {"rows of 1000", TALLY_AXIS, 1000},
                 {"1000 columns", TALLY_AXIS, 0},
                 {"segments of 10", TALLY_SEGMENTS, 10},
                 {"segments of 1000", TALLY_SEGMENTS, 1000},
                 {"256 labels", TALLY_LABELS, 256}};
enum { GROUPINGS = sizeof groupings / sizeof *groupings, COLUMNS = 1000 };

static void must(tally_status status) {
    if (status == TALLY_OK)
        return;
    fprintf(stderr, "%s\n", tally_last_error());
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Best of samples of some 0.2 ms, of both plans in turns, within 0.1 s. */
static void time_both(tally_plan *const plans[2], const tally_args *args, double best[2]) {
    best[0] = best[1] = 1e9;
    must(tally_run(plans[0], args, TALLY_SYNCHRONOUS));
    must(tally_run(plans[1], args, TALLY_SYNCHRONOUS));
    const double begin = now();
    for (int turn = 0; turn < 6 || now() - begin < 0.1; turn++)
        for (int k = 0; k < 2; k++) {
            const double start = now();
            int runs = 0;
            for (; runs == 0 || now() - start < 2e-4; runs++)
                must(tally_run(plans[k], args, TALLY_SYNCHRONOUS));
            const double each = (now() - start) / runs;
            best[k] = each < best[k] ? each : best[k];
        }
}

static void fill(tally_dtype type, size_t n, void *x) {
    for (size_t i = 0; i < n; i++) {
        const int value = (int)((uint32_t)(i * 2654435761u) >> 8) % 1000 - 500;
        if (type == TALLY_F32)
            ((float *)x)[i] = (float)value;
        else if (type == TALLY_F64)
            ((double *)x)[i] = value;
        else
            ((int32_t *)x)[i] = value;
    }
}

/* Offsets or labels. */
static size_t fill_groups(tally_grouping grouping, size_t length, size_t n, int64_t *offsets, uint32_t *labels) {
    const size_t count = grouping == TALLY_SEGMENTS ? n / length : length;
    for (size_t i = 0; grouping == TALLY_SEGMENTS && i <= count; i++)
        offsets[i] = (int64_t)(i == 0 ? 0 : i == count ? n : i * length + i * 7919 % length);
    for (size_t i = 0; grouping == TALLY_LABELS && i < n; i++)
        labels[i] = (uint32_t)(i * 2654435761u >> 4) % (uint32_t)count;
    return count;
}

static size_t size_of(tally_dtype type) {
    return type == TALLY_U8 ? 1 : type == TALLY_F32 || type == TALLY_I32 ? 4 : 8;
}

static void measure(tally_device *device, int o, int g, bool scan, size_t n, tally_args args) {
    const tally_user_op op = {.struct_size = sizeof op,
                              .name = operators[o].name,
                              .acc_bytes = operators[o].acc_bytes,
                              .commutes = operators[o].commutes,
                              .acc_source = operators[o].acc,
                              .identity_source = operators[o].identity,
                              .lift_source = operators[o].lift,
                              .combine_source = operators[o].combine,
                              .lower_source = operators[o].lower};
    const tally_grouping grouping = groupings[g].grouping;
    size_t results = args.shape.groups;
    if (grouping == TALLY_ALL_VALUES)
        results = 1;
    if (grouping == TALLY_AXIS)
        results = args.shape.outer * args.shape.inner;
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plans[2];
    double best[2];
    desc.op = operators[o].op;
    desc.in = operators[o].in;
    desc.out = operators[o].out;
    desc.grouping = grouping;
    desc.index = grouping == TALLY_LABELS ? TALLY_U32 : TALLY_DEFAULT;
    desc.form = scan ? TALLY_INCLUSIVE_SCAN : TALLY_REDUCE;
    must(tally_plan_create(device, &desc, &plans[0]));
    desc.op = TALLY_USER;
    desc.user = &op;
    must(tally_plan_create(device, &desc, &plans[1]));
    args.out_bytes = (scan ? n : results) * size_of(desc.out);
    time_both(plans, &args, best);
    printf("%-18s %-17s %-6s  built in %7.3f ns, text %7.3f ns, %4.2f of the speed\n", operators[o].name,
           groupings[g].name, scan ? "scan" : "reduce", best[0] / (double)n * 1e9, best[1] / (double)n * 1e9,
           best[0] / best[1]);
    fflush(stdout);
    tally_plan_destroy(plans[0]);
    tally_plan_destroy(plans[1]);
}

int main(int argc, char **argv) {
    const size_t n = (argc > 2 ? strtoull(argv[2], NULL, 0) : 1u << 22) / COLUMNS * COLUMNS;
    tally_device *device;
    must(tally_open(argc > 1 ? argv[1] : "cpu:threads=1", &device));
    void *const x = malloc(n * 8), *const out = malloc(n * 8);
    int64_t *const offsets = malloc((n + 1) * sizeof *offsets);
    uint32_t *const labels = malloc(n * sizeof *labels);
    if (!x || !out || !offsets || !labels)
        return 1;
    memset(out, 0, n * 8);
    for (int o = 0; o < OPERATORS; o++) {
        fill(operators[o].in, n, x);
        for (int g = 0; g < GROUPINGS; g++) {
            tally_args args = TALLY_ARGS_INIT;
            args.x = x;
            args.out = out;
            args.shape.extent = n;
            if (groupings[g].grouping == TALLY_AXIS)
                args.shape = groupings[g].length ? (tally_shape){n / groupings[g].length, groupings[g].length, 1, 0}
                                                 : (tally_shape){1, n / COLUMNS, COLUMNS, 0};
            if (groupings[g].grouping >= TALLY_SEGMENTS)
                args.shape.groups = fill_groups(groupings[g].grouping, groupings[g].length, n, offsets, labels);
            args.offsets = groupings[g].grouping == TALLY_SEGMENTS ? offsets : NULL;
            args.labels = groupings[g].grouping == TALLY_LABELS ? labels : NULL;
            for (int scan = 0; scan < (groupings[g].grouping == TALLY_LABELS ? 1 : 2); scan++)
                measure(device, o, g, scan, n, args);
        }
    }
    free(x);
    free(out);
    free(offsets);
    free(labels);
    tally_close(device);
    return 0;
}
