/* How long a program waits for its first result: the driver's own start-up (cuInit and the context) first, timed by
 * itself, then the library's: opening the device, making a plan, and a run over 2^20 elements. With an empty folder for
 * kernels that is the cold start, in a new process after that the warm one.
 * usage: cuda_start [OP [FORM [GROUPING [TYPE [MODE]]]]]
 *        sum reduce all_values f32 fast when nothing else is said; groups have 1024 elements, an axis is 32 x 1024 x 32
 * Prints milliseconds: driver, open, plan, run. Exits with 77 where there is no GPU, with 1 after an error and, for
 * sums and running sums of f32, if the last result is wrong. gpu.sh calls it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tally/tally.h"

enum { SKIPPED = 77, COUNT = 1 << 20, GROUP = 1024, GROUPS = COUNT / GROUP, LARGEST = 16 };

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* As any program would that uses CUDA; false where there is none. */
static int start_driver(void) {
    int (*init)(unsigned), (*retain)(void **, int);
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbols[2] = {library ? dlsym(library, "cuInit") : NULL,
                        library ? dlsym(library, "cuDevicePrimaryCtxRetain") : NULL};
    if (!symbols[0] || !symbols[1])
        return 0;
    memcpy(&init, &symbols[0], sizeof init);
    memcpy(&retain, &symbols[1], sizeof retain);
    return init(0) == 0 && retain(&context, 0) == 0;
}

static void check(tally_status status) {
    if (status != TALLY_OK) {
        fprintf(stderr, "%s\n", tally_last_error());
        exit(1);
    }
}

/* The value whose name it is, of those from 0 on. */
static int named(const char *name, const char *(*name_of)(int)) {
    for (int value = 0; name_of(value); value++)
        if (strcmp(name, name_of(value)) == 0)
            return value;
    fprintf(stderr, "no such name: %s\n", name);
    exit(2);
}

static const char *form_name(int form) {
    return tally_form_name((tally_form)form);
}

static const char *grouping_name(int grouping) {
    return tally_grouping_name((tally_grouping)grouping);
}

static const char *mode_name(int mode) {
    return tally_mode_name((tally_mode)mode);
}

static tally_desc asked(int argc, char **argv) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.in = TALLY_F32;
    if (argc > 1)
        check(tally_op_from_name(argv[1], &desc.op));
    if (argc > 2)
        desc.form = (tally_form)named(argv[2], form_name);
    if (argc > 3)
        desc.grouping = (tally_grouping)named(argv[3], grouping_name);
    if (argc > 4)
        check(tally_dtype_from_name(argv[4], &desc.in));
    if (argc > 5)
        desc.mode = (tally_mode)named(argv[5], mode_name);
    return desc;
}

/* The device's copy of the i-th of count numbers, each the i-th times 'step' divided by 'of'. */
static void *numbers(tally_device *device, size_t count, int64_t step, int64_t of) {
    static int64_t host[COUNT + 1];
    void *memory;
    for (size_t i = 0; i < count; i++)
        host[i] = (int64_t)i * step / of;
    check(tally_alloc(device, count * sizeof *host, &memory));
    check(tally_copy(device, memory, host, count * sizeof *host));
    return memory;
}

int main(int argc, char **argv) {
    static float ones[4 * COUNT];
    float last = 0;
    tally_desc desc = asked(argc, argv);
    tally_device *device;
    tally_plan *plan;
    tally_args args = TALLY_ARGS_INIT;
    void *x, *out;
    for (size_t i = 0; i < 4 * COUNT; i++)
        ones[i] = 1;
    const double begin = milliseconds();
    if (!start_driver()) {
        printf("skipped: no CUDA driver that starts\n");
        return SKIPPED;
    }
    const double driver = milliseconds();
    check(tally_open("cuda:0", &device));
    const double opened = milliseconds();
    check(tally_plan_create(device, &desc, &plan));
    const double planned = milliseconds();

    check(tally_alloc(device, sizeof ones, &x));
    check(tally_copy(device, x, ones, sizeof ones));
    check(tally_alloc(device, (size_t)LARGEST * COUNT, &out));
    args.x = x;
    args.y = desc.op == TALLY_DOT ? x : NULL;
    args.out = out;
    args.out_bytes = (size_t)LARGEST * COUNT;
    args.shape.extent = COUNT;
    void *groups = NULL;
    size_t results = desc.form == TALLY_REDUCE ? 1 : COUNT;
    float sum = COUNT;
    if (desc.grouping != TALLY_ALL_VALUES) {
        sum = GROUP;
        results = desc.form == TALLY_REDUCE ? GROUPS : COUNT;
    }
    if (desc.grouping == TALLY_AXIS)
        args.shape = (tally_shape){32, GROUP, 32, 0};
    if (desc.grouping == TALLY_SEGMENTS)
        args.offsets = groups = numbers(device, GROUPS + 1, GROUP, 1);
    if (desc.grouping == TALLY_KEYS)
        args.keys = groups = numbers(device, COUNT, 1, GROUP);
    if (desc.grouping == TALLY_LABELS)
        args.labels = groups = numbers(device, COUNT, 1, GROUP);
    args.shape.groups = GROUPS;
    const double copied = milliseconds();
    check(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    check(tally_copy(device, &last, (float *)out + results - 1, sizeof last));
    const double end = milliseconds();
    printf("%.1f %.1f %.1f %.1f\n", driver - begin, opened - driver, planned - opened, end - copied);
    const int known = desc.op == TALLY_SUM && desc.in == TALLY_F32 && desc.form != TALLY_EXCLUSIVE_SCAN;
    tally_plan_destroy(plan);
    tally_free(device, x);
    tally_free(device, out);
    tally_free(device, groups);
    tally_close(device);
    return !known || last == sum ? 0 : 1;
}
