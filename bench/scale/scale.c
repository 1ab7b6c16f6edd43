/* How sums, scans, segments and keys scale over the GPUs of one machine: "cuda:*" (one process, one device) and
 * tally/nccl.h (a thread a rank). Every result is compared with that of one GPU: digests of the outputs' bits, so data
 * are small whole numbers where fast results would depend on the parts.
 *
 *   scale [--gpus 8] [--log2 24,28,31] [--runs 7] [--weak] [--graphs]
 *
 * It prints a line for each number of GPUs, way, computation and size: microseconds of a call as a program sees it
 * (median), in a stream (many calls, then one wait), in a graph of one run (--graphs), and the speed relative to one
 * GPU's, of calls and in the stream. With --weak sizes are for each GPU. NCCL's own all-reduce of the 17 int64s of an
 * exact sum is timed, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tally/cuda.h"
#include "tally/nccl.h"

enum { MOST_GPUS = 16, MOST_RUNS = 32, MOST_SIZES = 16, PERIOD = 1 << 20, SEGMENT = 1000, RUN = 100, QUEUED = 10 };

typedef enum way { ONE, LIST, RANKS } way;
static const char *const way_names[] = {"one", "cuda:*", "nccl"};

typedef struct work {
    const char *name;
    tally_grouping grouping;
    tally_form form;
    tally_mode mode;
} work;
static const work works[] = {{"sum", TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST},
                             {"exact sum", TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT},
                             {"scan", TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST},
                             {"segments", TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST},
                             {"keys", TALLY_KEYS, TALLY_REDUCE, TALLY_FAST}};
enum { WORKS = sizeof works / sizeof *works };

typedef struct outcome {
    double call, queued, graph; /* seconds; 0: not had */
    uint64_t digest;
    float value;
    char error[200];
} outcome;

static int gpus = 1, runs = 7;
static bool weak, graphs;
static float floats[PERIOD], wholes[PERIOD];
static int32_t keys[PERIOD];

static void die(const char *what) {
    fprintf(stderr, "scale: %s: %s\n", what, tally_last_error());
    exit(1);
}

static void need(tally_status status, const char *what) {
    if (status != TALLY_OK)
        die(what);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the driver and NCCL ---- */

static struct {
    int (*init)(unsigned), (*device)(int *, int), (*retain)(void **, int), (*push)(void *), (*pop)(void **),
        (*create)(void **, unsigned), (*destroy)(void *), (*wait)(void *);
    /* graphs; NULL on the emulator */
    int (*begin)(void *, int), (*end)(void *, void **), (*instantiate)(void **, void *, unsigned long long),
        (*launch)(void *, void *), (*forget)(void *), (*forget_graph)(void *);
    int (*init_all)(void **, int, const int *), (*finish)(void *),
        (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
    void *context[MOST_GPUS], *comm[MOST_GPUS];
} lib;

static void *find(void *library, const char *name) {
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) {
        fprintf(stderr, "scale: %s is missing\n", name);
        exit(1);
    }
    return function;
}

static void open_libraries(void) {
    const char *cuda = getenv("TALLY_LIBCUDA"), *nccl = getenv("TALLY_NCCL");
    void *const driver = dlopen(cuda ? cuda : "libcuda.so.1", RTLD_NOW);
    *(void **)&lib.init = find(driver, "cuInit");
    *(void **)&lib.device = find(driver, "cuDeviceGet");
    *(void **)&lib.retain = find(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&lib.push = find(driver, "cuCtxPushCurrent_v2");
    *(void **)&lib.pop = find(driver, "cuCtxPopCurrent_v2");
    *(void **)&lib.create = find(driver, "cuStreamCreate");
    *(void **)&lib.destroy = find(driver, "cuStreamDestroy_v2");
    *(void **)&lib.wait = find(driver, "cuStreamSynchronize");
    *(void **)&lib.begin = dlsym(driver, "cuStreamBeginCapture_v2");
    *(void **)&lib.end = dlsym(driver, "cuStreamEndCapture");
    *(void **)&lib.instantiate = dlsym(driver, "cuGraphInstantiateWithFlags");
    *(void **)&lib.launch = dlsym(driver, "cuGraphLaunch");
    *(void **)&lib.forget = dlsym(driver, "cuGraphExecDestroy");
    *(void **)&lib.forget_graph = dlsym(driver, "cuGraphDestroy");
    lib.init(0);
    for (int k = 0; k < gpus; k++) {
        int device;
        if (lib.device(&device, k) || lib.retain(&lib.context[k], device))
            die("no context");
    }
    void *const library = dlopen(nccl ? nccl : "libnccl.so.2", RTLD_NOW);
    if (!library) {
        printf("no NCCL: %s\n", dlerror());
        return;
    }
    *(void **)&lib.init_all = find(library, "ncclCommInitAll");
    *(void **)&lib.finish = find(library, "ncclCommDestroy");
    *(void **)&lib.all_reduce = find(library, "ncclAllReduce");
}

/* ---- data ---- */

/* x[i] = pattern[(first + i) % PERIOD]: a period from the host, and then copies that double what is there. */
static void fill(tally_device *device, char *x, const void *pattern, uint64_t first, uint64_t n) {
    const uint64_t period = 4ull * PERIOD, at = 4 * (first % PERIOD), total = 4 * n;
    const uint64_t begin = period - at < total ? period - at : total, end = period < total ? period : total;
    need(tally_copy(device, x, (const char *)pattern + at, begin), "copying data");
    need(tally_copy(device, x + begin, pattern, end - begin), "copying data");
    for (uint64_t done = end, piece; done < total; done += piece) {
        piece = done < total - done ? done : total - done;
        need(tally_copy(device, x + done, x, piece), "copying data");
    }
}

/* ---- one rank's or device's share ---- */

typedef struct share {
    tally_device *device;
    uint64_t first, count, all; /* elements */
    uint64_t groups;
    bool continues;
    void *x, *out, *index, *keys_out;
    uint64_t results, found;
    tally_args args;
} share;

static void make(share *s, const work *w, tally_device *device, uint64_t first, uint64_t count, uint64_t all) {
    *s = (share){.device = device, .first = first, .count = count, .all = all, .args = TALLY_ARGS_INIT};
    const bool is_float = w->form == TALLY_REDUCE && w->grouping == TALLY_ALL_VALUES;
    s->results = 1;
    need(tally_alloc(device, 4 * count, &s->x), "memory for x");
    fill(device, s->x, is_float ? floats : wholes, first, count);
    if (w->form != TALLY_REDUCE)
        s->results = count;
    if (w->grouping == TALLY_SEGMENTS) {
        /* Offsets count from this share's first element. */
        const uint64_t from = first / SEGMENT, to = (first + count + SEGMENT - 1) / SEGMENT;
        int64_t *const offsets = malloc((to - from + 1) * sizeof *offsets);
        s->groups = s->results = to - from;
        s->continues = first % SEGMENT != 0;
        for (uint64_t k = from; k <= to; k++) {
            const int64_t at = (int64_t)(k * SEGMENT) - (int64_t)first;
            offsets[k - from] = at < 0 ? 0 : at > (int64_t)count ? (int64_t)count : at;
        }
        need(tally_alloc(device, (s->groups + 1) * 8, &s->index), "memory for offsets");
        need(tally_copy(device, s->index, offsets, (s->groups + 1) * 8), "copying offsets");
        free(offsets);
    }
    if (w->grouping == TALLY_KEYS) {
        s->results = count / RUN + count / PERIOD + 2;
        need(tally_alloc(device, 4 * count, &s->index), "memory for keys");
        fill(device, s->index, keys, first, count);
        need(tally_alloc(device, 4 * s->results, &s->keys_out), "memory for keys");
    }
    need(tally_alloc(device, 4 * s->results, &s->out), "memory for results");
    s->args.shape = (tally_shape){1, count, 1, s->groups};
    s->args.x = s->x;
    s->args.out = s->out;
    s->args.out_bytes = 4 * s->results;
    if (w->grouping == TALLY_SEGMENTS)
        s->args.offsets = s->index;
    if (w->grouping == TALLY_KEYS) {
        s->args.keys = s->index;
        s->args.keys_out = s->keys_out;
        s->args.keys_out_bytes = 4 * s->results;
        s->args.count = &s->found;
    }
}

static void unmake(share *s) {
    tally_free(s->device, s->x);
    tally_free(s->device, s->out);
    tally_free(s->device, s->index);
    tally_free(s->device, s->keys_out);
}

/* The sum of the results' bits, without those that the rank before has, too. */
static uint64_t digest_of(const share *s, const work *w) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan;
    uint64_t sum = 0;
    void *out;
    const uint64_t skip = s->continues, n = w->grouping == TALLY_KEYS ? s->found : s->results;
    if (n <= skip)
        return 0;
    desc.in = TALLY_U32;
    need(tally_alloc(s->device, 8, &out), "memory");
    need(tally_plan_create(s->device, &desc, &plan), "plan of the digest");
    args.shape.extent = n - skip;
    args.x = (const char *)s->out + 4 * skip;
    args.out = out;
    args.out_bytes = 8;
    need(tally_run(plan, &args, TALLY_SYNCHRONOUS), "digest");
    need(tally_copy(s->device, &sum, out, 8), "digest");
    tally_plan_destroy(plan);
    tally_free(s->device, out);
    return sum;
}

static tally_desc desc_of(const work *w) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.grouping = w->grouping;
    desc.form = w->form;
    desc.mode = w->mode;
    desc.in = TALLY_F32;
    if (w->grouping == TALLY_KEYS)
        desc.index = TALLY_I32;
    return desc;
}

static int by_size(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static double median(double *t, int n) {
    qsort(t, (size_t)n, sizeof *t, by_size);
    return t[n / 2];
}

static bool is_queued(const work *w) {
    return w->grouping == TALLY_ALL_VALUES;
}

/* A graph of one run, which 'enqueue' puts into the stream; NULL without --graphs, and on the emulator. Graphs live as
 * long as the program.
 */
static void *capture(void *stream, void (*enqueue)(void *context, void *stream), void *context) {
    enum { THREAD_LOCAL = 1 };
    void *graph, *made;
    if (!graphs || !lib.begin || !lib.end || !lib.instantiate || !lib.launch || !lib.forget || !lib.forget_graph)
        return NULL;
    if (lib.begin(stream, THREAD_LOCAL))
        die("cuStreamBeginCapture");
    enqueue(context, stream);
    if (lib.end(stream, &graph) || lib.instantiate(&made, graph, 0)) {
        fprintf(stderr, "scale: the capture failed\n");
        exit(1);
    }
    lib.forget_graph(graph);
    return made;
}

/* ---- one device ---- */

typedef struct device_run {
    tally_plan *plan;
    const tally_args *args;
} device_run;

static void enqueue_on_device(void *context, void *stream) {
    const device_run *run = context;
    need(tally_run(run->plan, run->args, stream), "run in a capture");
}

static void run_device(const char *spec, const work *w, uint64_t n, outcome *o) {
    tally_device *device;
    tally_plan *plan;
    double times[MOST_RUNS];
    share s;
    void *stream, *popped;
    const tally_desc desc = desc_of(w);
    need(tally_open(spec, &device), spec);
    need(tally_plan_create(device, &desc, &plan), "plan");
    make(&s, w, device, 0, n, n);
    for (int k = -2; k < runs; k++) {
        const double begin = now();
        need(tally_run(plan, &s.args, TALLY_SYNCHRONOUS), "run");
        if (k >= 0)
            times[k] = now() - begin;
    }
    o->call = median(times, runs);
    o->digest = digest_of(&s, w);
    if (w->form == TALLY_REDUCE)
        need(tally_copy(device, &o->value, s.out, 4), "result");
    if (is_queued(w)) {
        lib.push(lib.context[0]);
        lib.create(&stream, 1);
        for (int k = -1; k < 3; k++) {
            const double begin = now();
            for (int j = 0; j < QUEUED; j++)
                need(tally_run(plan, &s.args, stream), "run in a stream");
            lib.wait(stream);
            if (k >= 0)
                times[k] = (now() - begin) / QUEUED;
        }
        o->queued = median(times, 3);
        if (digest_of(&s, w) != o->digest)
            snprintf(o->error, sizeof o->error, "another result in a stream");
        void *const graph = capture(stream, enqueue_on_device, &(device_run){plan, &s.args});
        for (int k = -1; k < 3 && graph; k++) {
            const double begin = now();
            for (int j = 0; j < QUEUED; j++)
                lib.launch(graph, stream);
            if (lib.wait(stream))
                snprintf(o->error, sizeof o->error, "the graph failed");
            if (k >= 0)
                times[k] = (now() - begin) / QUEUED;
        }
        o->graph = graph ? median(times, 3) : 0;
        if (graph)
            lib.forget(graph);
        if (digest_of(&s, w) != o->digest)
            snprintf(o->error, sizeof o->error, "another result in a graph");
        lib.destroy(stream);
        lib.pop(&popped);
    }
    unmake(&s);
    tally_plan_destroy(plan);
    tally_close(device);
}

/* ---- ranks ---- */

typedef struct rank {
    pthread_t thread;
    int number, ranks;
    const work *work;
    uint64_t n;
    outcome *outcome;
    pthread_barrier_t *together;
    double *times; /* of rank 0 */
    uint64_t digest;
} rank;

/* A rank that has seen an error cannot leave the others waiting, so it ends the program. */
static void time_runs(rank *r, tally_nccl_plan *plan, const share *s, void *stream, int count, int queued,
                      double *result) {
    for (int k = -2; k < count; k++) {
        pthread_barrier_wait(r->together);
        const double begin = now();
        for (int j = 0; j < queued; j++)
            need(tally_nccl_run(plan, &s->args, s->continues ? TALLY_RANK_CONTINUES : 0, stream), "tally_nccl_run");
        if (stream)
            lib.wait(stream);
        pthread_barrier_wait(r->together);
        if (k >= 0 && r->number == 0)
            r->times[k] = (now() - begin) / queued;
    }
    if (r->number == 0)
        *result = median(r->times, count);
}

typedef struct rank_run {
    tally_nccl_plan *plan;
    const tally_args *args;
} rank_run;

static void enqueue_on_rank(void *context, void *stream) {
    const rank_run *run = context;
    need(tally_nccl_run(run->plan, run->args, 0, stream), "run in a capture");
}

static void time_graph(rank *r, tally_nccl_plan *plan, const share *s, void *stream) {
    void *const graph = capture(stream, enqueue_on_rank, &(rank_run){plan, &s->args});
    for (int k = -1; k < 3 && graph; k++) {
        pthread_barrier_wait(r->together);
        const double begin = now();
        for (int j = 0; j < QUEUED; j++)
            lib.launch(graph, stream);
        if (lib.wait(stream))
            snprintf(r->outcome->error, sizeof r->outcome->error, "the graph failed");
        pthread_barrier_wait(r->together);
        if (k >= 0 && r->number == 0)
            r->times[k] = (now() - begin) / QUEUED;
    }
    if (graph && r->number == 0)
        r->outcome->graph = median(r->times, 3);
    if (graph) /* NCCL's communicators wait for that when they are destroyed */
        lib.forget(graph);
}

static void *run_rank(void *argument) {
    rank *r = argument;
    const work *w = r->work;
    const uint64_t first = r->n / (uint64_t)r->ranks * (uint64_t)r->number;
    const uint64_t end = r->number + 1 == r->ranks ? r->n : first + r->n / (uint64_t)r->ranks;
    char spec[32];
    tally_device *device;
    tally_nccl_plan *plan;
    share s;
    void *stream, *popped;
    const tally_desc desc = desc_of(w);
    snprintf(spec, sizeof spec, "cuda:%d", r->number);
    lib.push(lib.context[r->number]);
    need(tally_open(spec, &device), spec);
    need(tally_nccl_plan_create(device, &desc, TALLY_SPLIT_EXTENT, 0, lib.comm[r->number], &plan), "tally_nccl_plan");
    make(&s, w, device, first, end - first, r->n);
    time_runs(r, plan, &s, NULL, runs, 1, &r->outcome->call);
    r->digest = digest_of(&s, w);
    if (r->number == 0 && w->form == TALLY_REDUCE)
        need(tally_copy(device, &r->outcome->value, s.out, 4), "result");
    tally_nccl_plan_destroy(plan);
    if (is_queued(w)) {
        need(tally_nccl_plan_create(device, &desc, TALLY_SPLIT_EXTENT, TALLY_RANK_TRUSTED, lib.comm[r->number], &plan),
             "tally_nccl_plan");
        lib.create(&stream, 1);
        time_runs(r, plan, &s, stream, 3, QUEUED, &r->outcome->queued);
        if (digest_of(&s, w) != r->digest)
            snprintf(r->outcome->error, sizeof r->outcome->error, "another result in a stream");
        time_graph(r, plan, &s, stream);
        if (digest_of(&s, w) != r->digest)
            snprintf(r->outcome->error, sizeof r->outcome->error, "another result in a graph");
        lib.destroy(stream);
        tally_nccl_plan_destroy(plan);
    }
    unmake(&s);
    tally_close(device);
    lib.pop(&popped);
    return NULL;
}

static void run_ranks(int ranks, const work *w, uint64_t n, outcome *o) {
    rank all[MOST_GPUS];
    double times[MOST_RUNS];
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, (unsigned)ranks);
    for (int k = 0; k < ranks; k++) {
        all[k] =
            (rank){.number = k, .ranks = ranks, .work = w, .n = n, .outcome = o, .together = &together, .times = times};
        pthread_create(&all[k].thread, NULL, run_rank, &all[k]);
    }
    for (int k = 0; k < ranks; k++) {
        pthread_join(all[k].thread, NULL);
        /* a sum comes to every rank */
        if (w->form == TALLY_REDUCE && w->grouping == TALLY_ALL_VALUES) {
            if (k && all[k].digest != o->digest)
                snprintf(o->error, sizeof o->error, "ranks have different results");
            o->digest = all[k].digest;
        } else {
            o->digest += all[k].digest;
        }
    }
    pthread_barrier_destroy(&together);
}

/* NCCL's own all-reduce of an exact sum's words, as called and queued. */
static void *time_floor(void *argument) {
    rank *r = argument;
    tally_device *device;
    char spec[32];
    void *words, *stream, *popped;
    snprintf(spec, sizeof spec, "cuda:%d", r->number);
    lib.push(lib.context[r->number]);
    need(tally_open(spec, &device), spec);
    need(tally_alloc(device, 17 * 8, &words), "memory");
    lib.create(&stream, 1);
    for (int queued = 1; queued <= QUEUED; queued += QUEUED - 1) {
        for (int k = -2; k < runs; k++) {
            pthread_barrier_wait(r->together);
            const double begin = now();
            for (int j = 0; j < queued; j++)
                lib.all_reduce(words, words, 17, 4, 0, lib.comm[r->number], stream);
            lib.wait(stream);
            if (k >= 0 && r->number == 0)
                r->times[k] = (now() - begin) / queued;
        }
        if (r->number == 0)
            *(queued == 1 ? &r->outcome->call : &r->outcome->queued) = median(r->times, runs);
    }
    lib.destroy(stream);
    tally_free(device, words);
    tally_close(device);
    lib.pop(&popped);
    return NULL;
}

static void print_floor(int ranks) {
    rank all[MOST_GPUS];
    double times[MOST_RUNS];
    outcome o = {0};
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, (unsigned)ranks);
    for (int k = 0; k < ranks; k++) {
        all[k] = (rank){.number = k, .ranks = ranks, .outcome = &o, .together = &together, .times = times};
        pthread_create(&all[k].thread, NULL, time_floor, &all[k]);
    }
    for (int k = 0; k < ranks; k++)
        pthread_join(all[k].thread, NULL);
    pthread_barrier_destroy(&together);
    printf("%d all-reduce of 17 int64s by NCCL alone: %.1f us a call, %.1f queued\n", ranks, 1e6 * o.call,
           1e6 * o.queued);
    fflush(stdout);
}

/* ---- the table ---- */

static bool agrees(const work *w, const outcome *one, const outcome *o) {
    if (w->mode == TALLY_FAST && w->grouping == TALLY_ALL_VALUES && w->form == TALLY_REDUCE)
        return fabs((double)o->value - (double)one->value) <= 1e-5 * fabs((double)one->value);
    return o->digest == one->digest;
}

static void print_line(int count, way how, const work *w, int log2_n, const outcome *one, const outcome *o) {
    const double times = weak ? (double)count : 1;
    const bool is_right = weak || agrees(w, one, o);
    printf("%d %-7s %-10s 2^%d %10.1f %10.1f %10.1f %6.2f %6.2f  %s %s\n", count, way_names[how], w->name, log2_n,
           1e6 * o->call, 1e6 * o->queued, 1e6 * o->graph, times * one->call / o->call,
           o->queued > 0 && one->queued > 0 ? times * one->queued / o->queued : 0, is_right ? "ok" : "WRONG", o->error);
    fflush(stdout);
}

static void print_size(int log2_n) {
    const uint64_t n = (uint64_t)1 << log2_n;
    for (int k = 0; k < WORKS; k++) {
        const work *w = &works[k];
        outcome one = {0};
        run_device("cuda:0", w, n, &one);
        print_line(1, ONE, w, log2_n, &one, &one);
        for (int count = 2; count <= (gpus > 1 ? gpus : 2); count *= 2) {
            outcome listed = {0}, ranked = {0};
            char spec[64] = "cuda:0";
            for (int g = 1; g < count; g++) /* a single GPU twice, which shows that it is right */
                snprintf(spec + strlen(spec), sizeof spec - strlen(spec), ",%d", g % gpus);
            const uint64_t size = weak ? n * (uint64_t)count : n;
            run_device(spec, w, size, &listed);
            print_line(count, LIST, w, log2_n, &one, &listed);
            if (!lib.init_all || gpus == 1)
                continue;
            int devices[MOST_GPUS];
            for (int g = 0; g < count; g++)
                devices[g] = g;
            if (lib.init_all(lib.comm, count, devices))
                die("ncclCommInitAll");
            run_ranks(count, w, size, &ranked);
            print_line(count, RANKS, w, log2_n, &one, &ranked);
            if (k == 0)
                print_floor(count);
            for (int g = 0; g < count; g++)
                lib.finish(lib.comm[g]);
        }
    }
}

/* The whole numbers of a period add up to 0, so running sums stay small and exact. */
static void make_patterns(void) {
    uint64_t state = 1;
    for (int i = 0; i < PERIOD; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        floats[i] = ldexpf((float)(int32_t)(state >> 32), -20 - (int)(state >> 20 & 7));
        keys[i] = i / RUN;
        wholes[i] = i % 2 ? -wholes[i - 1] : (float)((int)(state >> 40 & 15) - 7);
    }
}

int main(int argc, char **argv) {
    int sizes[MOST_SIZES] = {24, 28, 31}, count = 3;
    for (int k = 1; k < argc; k++) {
        const char *const value = k + 1 < argc ? argv[k + 1] : "";
        if (strcmp(argv[k], "--weak") == 0 || strcmp(argv[k], "--graphs") == 0) {
            *(argv[k][2] == 'w' ? &weak : &graphs) = true;
            continue;
        }
        if (strcmp(argv[k], "--gpus") == 0)
            gpus = atoi(value);
        else if (strcmp(argv[k], "--runs") == 0)
            runs = atoi(value) < MOST_RUNS ? atoi(value) : MOST_RUNS;
        else if (strcmp(argv[k], "--log2") == 0) {
            count = 0;
            for (const char *at = value; at && count < MOST_SIZES; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
                sizes[count++] = atoi(at);
        } else {
            fprintf(stderr, "usage: scale [--gpus N] [--log2 24,28] [--runs N] [--weak] [--graphs]\n");
            return 2;
        }
        k++;
    }
    open_libraries();
    make_patterns();
    printf("gpus way computation size us-a-call us-queued us-in-a-graph speedup speedup-queued right\n");
    for (int k = 0; k < count; k++)
        print_size(sizes[k]);
    return 0;
}
