/* tally on a Vulkan device beside its roofs and, if there is one, a CUDA device, in one run: one line per computation.
 *
 *     usage: vulkan_bench [--device SPEC] [--beside SPEC] [--filter TEXT] [--log N]
 *     --device   "vulkan:0"
 *     --beside   "cuda:0"; left out if it is missing
 *     --filter   only lines whose name contains this
 *     --log      2^N elements, or twice as many of fewer than four bytes; 28
 *
 * Times are by the device's own clock, medians of several rounds. The roof of a reduction is a shader that only reads
 * the same bytes; for small inputs it is a dispatch that does nothing; for everything else a shader that copies. Roof
 * and computation take turns. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/kernel.h"
#include "tally/tally.h"
#include "vulkan/kernel.h"
#include "vulkan_modules.h"

enum { LARGE_ROUNDS = 11, SMALL_ROUNDS = 51, MOST_WAKING_ROUNDS = 2000, PATTERN = 1 << 22 };

typedef struct side {
    tally_device *device;
    void *x, *out;
    tally_dtype filled; /* what x holds */
} side;

typedef struct bench {
    side vulkan, cuda; /* no device: left out */
    tally_vulkan_recording *recording;
    tally_vulkan_program *read, *copy;
    uint32_t read_groups, copy_groups;
    double copy_seconds; /* of all the room */
    tally_cuda_timer *timer;
    tally_stream stream;
    const char *filter;
    int log;
    size_t room; /* bytes of x, and of out */
} bench;

static void check(tally_status status, const char *what) {
    if (status != TALLY_OK) {
        fprintf(stderr, "vulkan_bench: %s: %s\n", what, tally_last_error());
        exit(1);
    }
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *all, int count) {
    qsort(all, (size_t)count, sizeof *all, compare);
    return all[count / 2];
}

/* ---- roofs ---- */

static tally_vulkan_program *roof_program(const bench *b, const char *name) {
    const ladder_vulkan_module *module = ladder_vulkan_module_of(name);
    tally_vulkan_program *program;
    check(tally_vulkan_program_make(b->vulkan.device, module->words, module->bytes, LADDER_ROOF_BLOCK, &program),
          "a roof");
    return program;
}

static double roof_seconds(const bench *b, const tally_vulkan_program *program, uint32_t groups, size_t bytes) {
    const ladder_vulkan_arguments a = {.x = (uint64_t)(uintptr_t)b->vulkan.x,
                                       .sums = (uint64_t)(uintptr_t)b->vulkan.out,
                                       .n = (uint32_t)(bytes / 16),
                                       .groups = groups};
    double seconds;
    check(tally_vulkan_recording_begin(b->recording), "a recording");
    check(tally_vulkan_recording_dispatch(b->recording, program, &a, sizeof a, groups), "a roof");
    check(tally_vulkan_recording_run(b->recording, &seconds), "a roof");
    return seconds;
}

/* The number of workgroups that is fastest, and its time in seconds. */
static uint32_t calibrate(const bench *b, const tally_vulkan_program *program, const char *name, double moved,
                          double *taken) {
    uint32_t best = 0;
    double least = 0;
    const size_t steps = b->room / 16 / LADDER_ROOF_STEP;
    for (uint32_t groups = 512; groups <= 65535 && (!best || groups <= steps);
         groups = groups < 32768 ? 2 * groups : groups + 32767) {
        double all[LARGE_ROUNDS];
        for (int round = 0; round < LARGE_ROUNDS; round++)
            all[round] = roof_seconds(b, program, groups, b->room);
        const double seconds = median(all, LARGE_ROUNDS);
        if (!best || seconds < least) {
            best = groups;
            least = seconds;
        }
    }
    printf("%s: %.0f GB/s with %" PRIu32 " workgroups\n", name, moved * (double)b->room / least * 1e-9, best);
    *taken = least;
    return best;
}

/* ---- computations ---- */

typedef enum roof { READ, COPY, NOTHING } roof;

typedef struct work {
    const char *name;
    tally_op op;
    tally_form form;
    tally_grouping grouping;
    tally_mode mode;
    tally_dtype in, out;
    tally_shape shape;
    double floor; /* the project's floor; for NOTHING in microseconds, else a share of the roof; 0: none */
} work;

static const size_t sizes[] = {
    [TALLY_I32] = 4, [TALLY_U8] = 1, [TALLY_F16] = 2, [TALLY_BF16] = 2, [TALLY_F32] = 4, [TALLY_F64] = 8};

static uint64_t elements_of(const tally_shape *s) {
    return s->outer * s->extent * s->inner;
}

/* Numbers of both signs between 2^-15 (of f16, 2^-3; of bf16, 2^-7) and 2, or any integers. */
static void fill(side *s, tally_dtype type, size_t bytes) {
    static uint64_t pattern[PATTERN / 8];
    uint64_t state = 88172645463325252ull;
    if (!s->device || s->filled == type)
        return;
    for (size_t k = 0; k < PATTERN / 8; k++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pattern[k] = type == TALLY_F16    ? (state & 0x8fff8fff8fff8fffull) | 0x3000300030003000ull
                     : type == TALLY_BF16 ? (state & 0x83ff83ff83ff83ffull) | 0x3c003c003c003c00ull
                     : type == TALLY_F32  ? (state & 0x87ffffff87ffffffull) | 0x3800000038000000ull
                     : type == TALLY_F64  ? (state & 0x80ffffffffffffffull) | 0x3f00000000000000ull
                                          : state;
    }
    for (size_t at = 0; at < bytes; at += PATTERN)
        check(tally_copy(s->device, (char *)s->x + at, pattern, bytes - at < PATTERN ? bytes - at : PATTERN),
              "filling");
    s->filled = type;
}

/* Offsets of equal segments, or keys in equal runs. */
static void *make_index(side *s, const work *w) {
    const bool keys = w->grouping == TALLY_KEYS;
    const size_t count = keys ? w->shape.extent : w->shape.groups + 1;
    const uint64_t length = w->shape.extent / w->shape.groups;
    uint32_t *host = malloc(count * sizeof *host);
    void *made;
    if (!host)
        check(TALLY_OUT_OF_MEMORY, "an index");
    for (size_t k = 0; k < count; k++)
        host[k] = (uint32_t)(keys ? k / length : k * length);
    check(tally_alloc(s->device, count * sizeof *host, &made), "an index");
    check(tally_copy(s->device, made, host, count * sizeof *host), "an index");
    free(host);
    return made;
}

typedef struct prepared {
    tally_plan *plan; /* NULL: the device does not have it */
    tally_args args;
    void *index, *workspace;
} prepared;

static prepared prepare(const bench *b, side *s, const work *w) {
    prepared p = {.args = TALLY_ARGS_INIT};
    tally_desc desc = TALLY_DESC_INIT;
    const bool grouped = w->grouping == TALLY_SEGMENTS || w->grouping == TALLY_KEYS;
    desc.op = w->op;
    desc.form = w->form;
    desc.grouping = w->grouping;
    desc.mode = w->mode;
    desc.in = w->in;
    desc.out = w->out;
    desc.index = grouped ? TALLY_U32 : TALLY_DEFAULT;
    if (!s->device || tally_plan_create(s->device, &desc, &p.plan) != TALLY_OK)
        return (prepared){0};
    fill(s, w->in, b->room);
    p.args.shape = w->shape;
    if (w->grouping == TALLY_KEYS)
        p.args.shape.groups = 0;
    p.args.x = s->x;
    p.args.y = w->op == TALLY_DOT ? (char *)s->x + w->shape.extent * sizes[w->in] : NULL;
    p.args.out = s->out;
    p.args.out_bytes = b->room;
    if (grouped)
        p.index = make_index(s, w);
    p.args.keys = w->grouping == TALLY_KEYS ? p.index : NULL;
    p.args.offsets = w->grouping == TALLY_SEGMENTS ? p.index : NULL;
    check(tally_plan_workspace(p.plan, &p.args.shape, &p.args.workspace_bytes), "a workspace");
    check(tally_alloc(s->device, p.args.workspace_bytes + 16, &p.workspace), "a workspace");
    p.args.workspace = p.workspace;
    return p;
}

static void release(side *s, prepared *p) {
    if (!p->plan)
        return;
    tally_plan_destroy(p->plan);
    tally_free(s->device, p->index);
    tally_free(s->device, p->workspace);
}

static double run_vulkan(const bench *b, const prepared *p) {
    double seconds;
    check(tally_vulkan_recording_begin(b->recording), "a recording");
    check(tally_run(p->plan, &p->args, tally_vulkan_recording_stream(b->recording)), "a run");
    check(tally_vulkan_recording_run(b->recording, &seconds), "a run");
    return seconds;
}
static double run_cuda(const bench *b, const prepared *p) {
    double seconds;
    check(tally_cuda_timer_begin(b->timer), "a timer");
    check(tally_run(p->plan, &p->args, b->stream), "a run");
    check(tally_cuda_timer_end(b->timer), "a timer");
    check(tally_cuda_timer_read(b->timer, &seconds), "a timer");
    return seconds;
}

/* Bytes read and written, each once. */
static size_t bytes_of(const work *w) {
    const size_t elements = elements_of(&w->shape), each = sizes[w->in];
    const size_t index = w->grouping == TALLY_KEYS       ? elements * 4
                         : w->grouping == TALLY_SEGMENTS ? (w->shape.groups + 1) * 4
                                                         : 0;
    const size_t results = w->form != TALLY_REDUCE           ? elements * each
                           : w->grouping == TALLY_AXIS       ? w->shape.outer * w->shape.inner * each
                           : w->grouping == TALLY_ALL_VALUES ? each
                                                             : w->shape.groups * each;
    return elements * each * (w->op == TALLY_DOT ? 2 : 1) + index + results;
}

static double cuda_seconds(bench *b, const work *w) {
    double all[SMALL_ROUNDS];
    prepared p = prepare(b, &b->cuda, w);
    const int rounds = bytes_of(w) >> 24 ? LARGE_ROUNDS : SMALL_ROUNDS;
    for (int round = -2; round < rounds && p.plan; round++) {
        const double seconds = run_cuda(b, &p);
        all[round < 0 ? 0 : round] = seconds;
    }
    const double seconds = p.plan ? median(all, rounds) : 0;
    release(&b->cuda, &p);
    return seconds;
}

/* A GPU that idled while input was filled or a kernel compiled takes a while to return to its speed: copies then took
 * 1265 us instead of 529, some of them still after 0.1 s. */
static void wake(const bench *b) {
    for (int round = 0; round < MOST_WAKING_ROUNDS; round++)
        if (roof_seconds(b, b->copy, b->copy_groups, b->room) < 1.03 * b->copy_seconds)
            return;
}

static void measure(bench *b, const work *w, roof kind) {
    double roofs[SMALL_ROUNDS], all[SMALL_ROUNDS];
    if (!strstr(w->name, b->filter))
        return;
    prepared p = prepare(b, &b->vulkan, w);
    if (!p.plan) {
        printf("%-36s %s\n", w->name, tally_last_error());
        return;
    }
    const size_t bytes = bytes_of(w);
    const int rounds = bytes >> 24 ? LARGE_ROUNDS : SMALL_ROUNDS;
    wake(b);
    for (int round = -2; round < rounds; round++) {
        const int k = round < 0 ? 0 : round;
        roofs[k] = kind == NOTHING ? roof_seconds(b, b->read, 1, 0)
                   : kind == READ  ? roof_seconds(b, b->read, b->read_groups, bytes)
                                   : roof_seconds(b, b->copy, b->copy_groups, bytes / 2);
        all[k] = run_vulkan(b, &p);
    }
    release(&b->vulkan, &p);
    const double seconds = median(all, rounds), roof_time = median(roofs, rounds), cuda = cuda_seconds(b, w);
    const double share = roof_time / seconds;
    printf("%-36s %10.1f us %7.0f GB/s  of roof %.3f", w->name, seconds * 1e6, (double)bytes / seconds * 1e-9, share);
    if (kind == NOTHING)
        printf("  (nothing: %.1f us)", roof_time * 1e6);
    if (w->floor > 0 && kind == NOTHING)
        printf("  floor %.1f us%s", w->floor, seconds * 1e6 <= w->floor ? "" : "  below");
    else if (w->floor > 0)
        printf("  floor %.2f%s", w->floor, share >= w->floor ? "" : "  below");
    if (cuda > 0)
        printf("   CUDA %.1f (%.2f)", cuda * 1e6, seconds / cuda);
    putchar('\n');
    fflush(stdout);
}

/* ---- the lines ---- */

static void reductions(bench *b) {
    const uint64_t n = (uint64_t)1 << b->log;
    const work all[] = {
        {"reduce/sum/f32", TALLY_SUM, 0, 0, 0, TALLY_F32, 0, {1, n, 1, 0}, 0.95},
        {"reduce/max/f32", TALLY_MAX, 0, 0, 0, TALLY_F32, 0, {1, n, 1, 0}, 0.95},
        {"reduce/argmax/f32", TALLY_ARGMAX, 0, 0, 0, TALLY_F32, 0, {1, n, 1, 0}, 0.95},
        {"reduce/var/f32", TALLY_VAR, 0, 0, 0, TALLY_F32, 0, {1, n, 1, 0}, 0},
        {"reduce/dot/f32", TALLY_DOT, 0, 0, 0, TALLY_F32, 0, {1, n / 2, 1, 0}, 0},
        {"exact/sum/f32", TALLY_SUM, 0, 0, TALLY_EXACT, TALLY_F32, 0, {1, n, 1, 0}, 0.81},
        {"exact/sum/f16", TALLY_SUM, 0, 0, TALLY_EXACT, TALLY_F16, 0, {1, 2 * n, 1, 0}, 0},
        {"exact/sum/bf16", TALLY_SUM, 0, 0, TALLY_EXACT, TALLY_BF16, 0, {1, 2 * n, 1, 0}, 0},
        {"exact/rows of 4096/f32", TALLY_SUM, 0, TALLY_AXIS, TALLY_EXACT, TALLY_F32, 0, {n / 4096, 4096, 1, 0}, 0},
        {"exact/segments of 4096/f32", TALLY_SUM, 0, TALLY_SEGMENTS, TALLY_EXACT, TALLY_F32, 0, {1, n, 1, n / 4096}, 0},
        {"exact/keys, runs of 64/f32", TALLY_SUM, 0, TALLY_KEYS, TALLY_EXACT, TALLY_F32, 0, {1, n / 4, 1, n / 256}, 0},
        {"axis/rows of 64/f32", TALLY_SUM, 0, TALLY_AXIS, 0, TALLY_F32, 0, {n / 64, 64, 1, 0}, 0.80},
        {"axis/rows of 4096/f32", TALLY_SUM, 0, TALLY_AXIS, 0, TALLY_F32, 0, {n / 4096, 4096, 1, 0}, 0.80},
        {"axis/columns of 4096/f32", TALLY_SUM, 0, TALLY_AXIS, 0, TALLY_F32, 0, {1, 4096, n / 4096, 0}, 0.80},
        {"axis/columns of 4096, argmax/f32", TALLY_ARGMAX, 0, TALLY_AXIS, 0, TALLY_F32, 0, {1, 4096, n / 4096, 0}, 0},
        {"segments/sum of 8/f32", TALLY_SUM, 0, TALLY_SEGMENTS, 0, TALLY_F32, 0, {1, n, 1, n / 8}, 0},
        {"segments/sum of 64/f32", TALLY_SUM, 0, TALLY_SEGMENTS, 0, TALLY_F32, 0, {1, n, 1, n / 64}, 0.80},
        {"segments/sum of 512/f32", TALLY_SUM, 0, TALLY_SEGMENTS, 0, TALLY_F32, 0, {1, n, 1, n / 512}, 0.80},
        {"segments/sum of 4096/f32", TALLY_SUM, 0, TALLY_SEGMENTS, 0, TALLY_F32, 0, {1, n, 1, n / 4096}, 0.80},
        {"keys/sum of runs of 8/f32", TALLY_SUM, 0, TALLY_KEYS, 0, TALLY_F32, 0, {1, n / 4, 1, n / 32}, 0},
        {"keys/sum of runs of 512/f32", TALLY_SUM, 0, TALLY_KEYS, 0, TALLY_F32, 0, {1, n / 4, 1, n / 2048}, 0},
        {"reduce/sum/f64", TALLY_SUM, 0, 0, 0, TALLY_F64, 0, {1, n / 2, 1, 0}, 0},
        {"exact/sum/f64", TALLY_SUM, 0, 0, TALLY_EXACT, TALLY_F64, 0, {1, n / 2, 1, 0}, 0},
        {"reduce/sum/i32", TALLY_SUM, 0, 0, 0, TALLY_I32, 0, {1, n, 1, 0}, 0},
        {"reduce/max/i32", TALLY_MAX, 0, 0, 0, TALLY_I32, 0, {1, n, 1, 0}, 0},
        {"reduce/sum/u8", TALLY_SUM, 0, 0, 0, TALLY_U8, 0, {1, 2 * n, 1, 0}, 0},
        {"reduce/sum/f16", TALLY_SUM, 0, 0, 0, TALLY_F16, 0, {1, 2 * n, 1, 0}, 0},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        measure(b, &all[k], READ);
}

static void scans(bench *b) {
    const uint64_t n = (uint64_t)1 << b->log;
    const tally_form scan = TALLY_INCLUSIVE_SCAN;
    const work all[] = {
        {"scan/sum/f32", TALLY_SUM, scan, 0, 0, TALLY_F32, 0, {1, n, 1, 0}, 0.90},
        {"scan/max/f32", TALLY_MAX, scan, 0, 0, TALLY_F32, 0, {1, n, 1, 0}, 0},
        {"scan/rows of 4096/f32", TALLY_SUM, scan, TALLY_AXIS, 0, TALLY_F32, 0, {n / 4096, 4096, 1, 0}, 0},
        {"scan/columns of 4096/f32", TALLY_SUM, scan, TALLY_AXIS, 0, TALLY_F32, 0, {1, 4096, n / 4096, 0}, 0},
        {"scan/segments of 4096/f32", TALLY_SUM, scan, TALLY_SEGMENTS, 0, TALLY_F32, 0, {1, n, 1, n / 4096}, 0},
        {"scan/sum/f64", TALLY_SUM, scan, 0, 0, TALLY_F64, 0, {1, n / 2, 1, 0}, 0},
        {"scan/sum/i32", TALLY_SUM, scan, 0, 0, TALLY_I32, TALLY_I32, {1, n, 1, 0}, 0},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        measure(b, &all[k], COPY);
}

static void small_inputs(bench *b) {
    for (int log = 10; log <= 20 && log <= b->log; log += 5)
        for (int form = TALLY_REDUCE; form <= TALLY_INCLUSIVE_SCAN; form++) {
            char name[64];
            snprintf(name, sizeof name, "small/%s of 2^%d/f32", form ? "scan" : "sum", log);
            const work w = {name,
                            TALLY_SUM,
                            (tally_form)form,
                            0,
                            0,
                            TALLY_F32,
                            0,
                            {1, (uint64_t)1 << log, 1, 0},
                            log == 10 && !form ? 8 : 0};
            measure(b, &w, NOTHING);
        }
}

/* ---- ---- */

static const char *option(int argc, char **argv, const char *name, const char *otherwise) {
    for (int k = 1; k + 1 < argc; k++)
        if (strcmp(argv[k], name) == 0)
            return argv[k + 1];
    return otherwise;
}

static bool open_side(side *s, const char *spec, size_t room) {
    tally_device_info info = {.struct_size = sizeof info};
    if (tally_open(spec, &s->device) != TALLY_OK) {
        s->device = NULL;
        printf("no %s: %s\n", spec, tally_last_error());
        return false;
    }
    /* A roof reads as many bytes as the input, its offsets and its results have: for segments of 8 a quarter more. */
    check(tally_alloc(s->device, room + room / 4, &s->x), "memory");
    check(tally_alloc(s->device, room, &s->out), "memory");
    check(tally_device_describe(s->device, &info), "describing");
    printf("%s: %s, %s\n", spec, info.name, info.detail);
    return true;
}

static void close_side(side *s) {
    if (!s->device)
        return;
    tally_free(s->device, s->x);
    tally_free(s->device, s->out);
    tally_close(s->device);
}

int main(int argc, char **argv) {
    bench b = {.filter = option(argc, argv, "--filter", ""), .log = atoi(option(argc, argv, "--log", "28"))};
    if (b.log < 12 || b.log > 34) {
        fprintf(stderr, "vulkan_bench: --log takes 12 to 34\n");
        return 2;
    }
    b.room = (size_t)4 << b.log;
    if (!open_side(&b.vulkan, option(argc, argv, "--device", "vulkan:0"), b.room))
        return 1;
    if (open_side(&b.cuda, option(argc, argv, "--beside", "cuda:0"), b.room)) {
        check(tally_cuda_timer_create(b.cuda.device, &b.timer), "a timer");
        check(tally_cuda_stream_of(b.cuda.device, &b.stream), "a stream");
    }
    check(tally_vulkan_recording_create(b.vulkan.device, &b.recording), "a recording");
    b.read = roof_program(&b, "read_all");
    b.copy = roof_program(&b, "copy_all");
    fill(&b.vulkan, TALLY_F32, b.room);
    double read_seconds;
    b.read_groups = calibrate(&b, b.read, "reading alone", 1, &read_seconds);
    b.copy_groups = calibrate(&b, b.copy, "copying", 2, &b.copy_seconds);
    reductions(&b);
    scans(&b);
    small_inputs(&b);
    tally_cuda_timer_destroy(b.timer);
    tally_vulkan_program_destroy(b.read);
    tally_vulkan_program_destroy(b.copy);
    tally_vulkan_recording_destroy(b.recording);
    close_side(&b.vulkan);
    close_side(&b.cuda);
    return 0;
}
