/* How long a program waits for its first result: the driver's own start-up (cuInit and the context) first, timed by
 * itself, then the library's: opening the device, making a plan, a sum of 2^20 values or, with the argument "scan",
 * their running sums. With an empty folder for kernels that is the cold start, in a new process after that the warm
 * one. Prints milliseconds: driver, open, plan, run. Exits with 77 where there is no GPU. gpu.sh calls it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tally/tally.h"

enum { SKIPPED = 77, COUNT = 1 << 20 };

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

static int check(tally_status status) {
    if (status != TALLY_OK)
        fprintf(stderr, "%s\n", tally_last_error());
    return status == TALLY_OK;
}

int main(int argc, char **argv) {
    static float ones[COUNT];
    float last = 0;
    const int scans = argc > 1 && strcmp(argv[1], "scan") == 0;
    const size_t results = scans ? COUNT : 1;
    tally_device *device;
    tally_plan *plan;
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    void *x, *out;
    for (size_t i = 0; i < COUNT; i++)
        ones[i] = 1;
    const double begin = milliseconds();
    if (!start_driver()) {
        printf("skipped: no CUDA driver that starts\n");
        return SKIPPED;
    }
    const double driver = milliseconds();
    if (!check(tally_open("cuda:0", &device)))
        return 1;
    const double opened = milliseconds();
    desc.in = TALLY_F32;
    desc.form = scans ? TALLY_INCLUSIVE_SCAN : TALLY_REDUCE;
    if (!check(tally_plan_create(device, &desc, &plan)))
        return 1;
    const double planned = milliseconds();
    if (!check(tally_alloc(device, sizeof ones, &x)) || !check(tally_alloc(device, results * sizeof last, &out)) ||
        !check(tally_copy(device, x, ones, sizeof ones)))
        return 1;
    args.x = x;
    args.shape.extent = COUNT;
    args.out = out;
    args.out_bytes = results * sizeof last;
    if (!check(tally_run(plan, &args, TALLY_SYNCHRONOUS)) ||
        !check(tally_copy(device, &last, (float *)out + results - 1, sizeof last)))
        return 1;
    const double end = milliseconds();
    printf("%.1f %.1f %.1f %.1f\n", driver - begin, opened - driver, planned - opened, end - planned);
    tally_plan_destroy(plan);
    tally_free(device, x);
    tally_free(device, out);
    tally_close(device);
    return last == COUNT ? 0 : 1;
}
