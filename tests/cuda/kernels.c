/* The kernels compile, without a word from the compiler, for every architecture that the machine's NVRTC knows: a fair
 * set of operators, groupings, forms, types and modes. No GPU is needed; skipped where there is no NVRTC.
 *
 *     cuda_kernels                     the test: a part of the set for each architecture, all of it for 9.0
 *     cuda_kernels report [sm_80...]   registers, spills and shared memory of each kernel, as ptxas tells them
 *     cuda_kernels times [sm_80...]    how long the texts of a plan take to compile */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/compiler.h"
#include "cuda/sizes.h"
#include "cuda/specialize.h"
#include "gpu/threads.h"

enum { SKIPPED = 77 };

static const int architectures[] = {75, 80, 86, 87, 89, 90, 100, 103, 120, 121};

/* ---- the set ---- */

/* A user's operator as text. A descriptor without the functions would be refused; nobody calls them here. */
static void no_identity(void *context, void *acc) {
    (void)context, (void)acc;
}
static void no_lift(void *context, const void *x, uint64_t index, void *acc) {
    (void)context, (void)x, (void)index, (void)acc;
}
static void no_combine(void *context, const void *left, const void *right, void *acc) {
    (void)context, (void)left, (void)right, (void)acc;
}
static void no_lower(void *context, const void *acc, uint64_t count, void *out) {
    (void)context, (void)acc, (void)count, (void)out;
}

static const tally_user_op affine = {.struct_size = sizeof affine,
                                     .name = "affine",
                                     .acc_bytes = 8,
                                     .identity = no_identity,
                                     .lift = no_lift,
                                     .combine = no_combine,
                                     .lower = no_lower,
                                     .acc_source = "struct acc_t { unsigned a, b; };",
                                     .identity_source = "acc_t{1u, 0u}",
                                     .lift_source = "acc_t{(unsigned)x * 2u + 1u, (unsigned)x}",
                                     .combine_source = "acc_t{left.a * right.a, left.b * right.a + right.b}",
                                     .lower_source = "(unsigned long long)acc.a << 32 | acc.b"};

typedef struct entry {
    tally_op op;
    tally_grouping grouping;
    tally_form form;
    tally_mode mode;
    tally_dtype in, index;
    unsigned flags;
} entry;

/* A flag: the kernels of exact scans in a window, which a plan has besides. */
#define IN_WINDOW (1u << 31)

static const entry set[] = {
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_I64, 0},
    {TALLY_SUM, TALLY_KEYS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_I32, 0},
    {TALLY_SUM, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_AXIS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_KEYS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, TALLY_I32, 0},
    {TALLY_SUM, TALLY_LABELS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_I32, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_F16, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_BF16, TALLY_DEFAULT, 0},
    {TALLY_DOT, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, TALLY_DEFAULT, 0},
    {TALLY_NORM2, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_MEAN, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, TALLY_U32, 0},
    {TALLY_SUM, TALLY_KEYS, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_I64, 0},
    {TALLY_MEAN, TALLY_LABELS, TALLY_REDUCE, TALLY_EXACT, TALLY_F16, TALLY_I64, 0},
    {TALLY_ARGMAX, TALLY_LABELS, TALLY_REDUCE, TALLY_FAST, TALLY_I32, TALLY_U16, 0},
    {TALLY_MIN, TALLY_LABELS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_I32, 0},
    {TALLY_BXOR, TALLY_LABELS, TALLY_REDUCE, TALLY_FAST, TALLY_U8, TALLY_I64, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_DEFAULT, TALLY_WORDS_OUT},
    {TALLY_DOT, TALLY_KEYS, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, TALLY_I64, TALLY_WORDS_OUT},
    {TALLY_MEAN, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, TALLY_DEFAULT, TALLY_WORDS_IN},
    {TALLY_SUM, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, TALLY_F16, TALLY_DEFAULT, TALLY_WORDS_IN | TALLY_WORDS_OUT},
    {TALLY_VAR, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, TALLY_WORDS_OUT},
    {TALLY_MINMAX, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_I8, TALLY_DEFAULT, TALLY_WORDS_IN},
    {TALLY_MEAN, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, TALLY_I64, TALLY_DEFAULT, TALLY_WORDS_IN | TALLY_WORDS_OUT},
    {TALLY_ARGMIN, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F64, TALLY_DEFAULT, TALLY_WORDS_IN},
    {TALLY_LOGSUMEXP, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F16, TALLY_DEFAULT, TALLY_WORDS_IN},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, TALLY_SIZE_ON_DEVICE},
    {TALLY_SUM, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_I64, TALLY_SIZE_ON_DEVICE},
    {TALLY_SUM, TALLY_KEYS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_I32, TALLY_SIZE_ON_DEVICE},
    {TALLY_SUM, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_I32, TALLY_SIZE_ON_DEVICE},
    {TALLY_SUM, TALLY_KEYS, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_I64, TALLY_SIZE_ON_DEVICE},
    {TALLY_SUM, TALLY_SEGMENTS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, TALLY_I64, TALLY_SIZE_ON_DEVICE},
    {TALLY_SUM, TALLY_KEYS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_I16, TALLY_I64, TALLY_SIZE_ON_DEVICE},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F64, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F16, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_BF16, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_U8, TALLY_DEFAULT, 0},
    {TALLY_PROD, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_I64, TALLY_DEFAULT, 0},
    {TALLY_ARGMAX, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_MINMAX, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_I16, TALLY_DEFAULT, 0},
    {TALLY_VAR, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_LOGSUMEXP, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F64, TALLY_DEFAULT, 0},
    {TALLY_LOGSUMEXP, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_U8, TALLY_DEFAULT, 0},
    {TALLY_LOGSUMEXP, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_I16, TALLY_DEFAULT, 0},
    {TALLY_ARGMIN, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_I8, TALLY_DEFAULT, 0},
    {TALLY_VAR, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_U8, TALLY_DEFAULT, 0},
    {TALLY_STD, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F16, TALLY_DEFAULT, 0},
    {TALLY_DOT, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F16, TALLY_DEFAULT, 0},
    {TALLY_USER, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_I64, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F64, TALLY_DEFAULT, TALLY_REVERSE},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, TALLY_U8, TALLY_DEFAULT, 0},
    {TALLY_MAX, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F16, TALLY_DEFAULT, 0},
    {TALLY_ARGMIN, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_VAR, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F64, TALLY_DEFAULT, 0},
    {TALLY_USER, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_I64, TALLY_DEFAULT, 0},
    {TALLY_ARGMAX, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_I32, 0},
    {TALLY_SUM, TALLY_SEGMENTS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, TALLY_I64, 0},
    {TALLY_MEAN, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST, TALLY_BF16, TALLY_U64, 0},
    {TALLY_MIN, TALLY_KEYS, TALLY_REDUCE, TALLY_FAST, TALLY_U16, TALLY_U8, 0},
    {TALLY_SUM, TALLY_KEYS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_I32, TALLY_BF16, TALLY_REVERSE},
    {TALLY_STD, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_ARGMIN, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_I8, TALLY_DEFAULT, 0},
    {TALLY_MAX, TALLY_AXIS, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, TALLY_I16, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_EXCLUSIVE_SCAN, TALLY_FAST, TALLY_I8, TALLY_DEFAULT, TALLY_REVERSE},
    {TALLY_MEAN, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_I64, TALLY_DEFAULT, 0},
    {TALLY_NORM2, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_EXACT, TALLY_U64, TALLY_I32, 0},
    {TALLY_NORM2, TALLY_AXIS, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, TALLY_I16, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, TALLY_F16, TALLY_DEFAULT, 0},
    {TALLY_SUM, TALLY_AXIS, TALLY_EXCLUSIVE_SCAN, TALLY_EXACT, TALLY_F32, TALLY_DEFAULT, TALLY_REVERSE},
    {TALLY_SUM, TALLY_SEGMENTS, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, TALLY_F64, TALLY_I64, 0},
    {TALLY_SUM, TALLY_KEYS, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, TALLY_BF16, TALLY_I32, TALLY_REVERSE},
    {TALLY_VAR, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_DEFAULT, 0},
    {TALLY_STD, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, TALLY_DEFAULT, 0},
    {TALLY_STD, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, TALLY_F16, TALLY_DEFAULT, 0},
    {TALLY_VAR, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_EXACT, TALLY_I64, TALLY_I64, 0},
    {TALLY_VAR, TALLY_KEYS, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_I64, TALLY_WORDS_OUT},
    {TALLY_VAR, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, TALLY_DEFAULT, TALLY_WORDS_IN},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, TALLY_F32, TALLY_DEFAULT, IN_WINDOW},
    {TALLY_SUM, TALLY_SEGMENTS, TALLY_EXCLUSIVE_SCAN, TALLY_EXACT, TALLY_F64, TALLY_U32, IN_WINDOW},
    {TALLY_SUM, TALLY_KEYS, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, TALLY_F16, TALLY_I64, TALLY_REVERSE | IN_WINDOW},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, TALLY_SKIP_NAN},
    {TALLY_MIN, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_I64, TALLY_SKIP_NAN},
    {TALLY_ARGMAX, TALLY_KEYS, TALLY_REDUCE, TALLY_FAST, TALLY_F64, TALLY_I32, TALLY_SKIP_NAN},
    {TALLY_MEAN, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F16, TALLY_DEFAULT, TALLY_SKIP_NAN},
    {TALLY_MEAN, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, TALLY_SKIP_NAN},
    {TALLY_VAR, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, TALLY_SKIP_NAN},
    {TALLY_VAR, TALLY_SEGMENTS, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, TALLY_I64, TALLY_SKIP_NAN},
    {TALLY_LOGSUMEXP, TALLY_AXIS, TALLY_REDUCE, TALLY_FAST, TALLY_F32, TALLY_DEFAULT, TALLY_SKIP_NAN | TALLY_WORDS_OUT},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, TALLY_DEFAULT, TALLY_SKIP_NAN},
    {TALLY_DOT, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, TALLY_U32, TALLY_SKIP_NAN},
    {TALLY_VAR, TALLY_AXIS, TALLY_REDUCE, TALLY_EXACT, TALLY_F16, TALLY_DEFAULT, TALLY_SKIP_NAN},
    {TALLY_SUM, TALLY_ALL_VALUES, TALLY_INCLUSIVE_SCAN, TALLY_EXACT, TALLY_F64, TALLY_DEFAULT, TALLY_SKIP_NAN},
    {TALLY_ARGMAX, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST, TALLY_I8, TALLY_I64, 0},
    {TALLY_STD, TALLY_SEGMENTS, TALLY_REDUCE, TALLY_FAST, TALLY_F64, TALLY_I32, 0},
};
enum {
    ENTRIES = sizeof set / sizeof *set,
    ARCHITECTURES = sizeof architectures / sizeof *architectures,
    MAIN_ENTRIES = 16, /* that the report has */
    TIGHT_ENTRIES = 8, /* that architectures with little shared memory compile besides */
    PARTS = 10         /* each architecture takes one of so many parts of the set */
};

static void name_of(const entry *e, char name[128]) {
    snprintf(name, 128, "%s%s/%s/%s%s/%s/%s%s%s", e->flags & TALLY_WORDS_IN ? "words_to_" : "", tally_op_name(e->op),
             tally_grouping_name(e->grouping), e->flags & TALLY_REVERSE ? "reverse_" : "", tally_form_name(e->form),
             tally_dtype_name(e->in), tally_mode_name(e->mode),
             e->flags & TALLY_SKIP_NAN         ? "/skip_nan"
             : e->flags & TALLY_SIZE_ON_DEVICE ? "/sized"
                                               : "",
             e->flags & TALLY_WORDS_OUT ? "/to_words" : "");
}

/* The kernel that lets a scan go on from states. */
static tally_status add_carry(const tally_computation *c, int architecture, tally_cuda_texts *texts) {
    tally_words_form form;
    tally_cuda_texts carry;
    if (!c->entry || c->exact || texts->count == TALLY_CUDA_MOST_TEXTS)
        return TALLY_OK;
    tally_status status = tally_words_form_of(c, &form);
    if (status == TALLY_OK)
        status = tally_cuda_specialize_carry(c, &form, architecture, &carry);
    if (status != TALLY_OK)
        return status;
    texts->text[texts->count++] = carry.text[0];
    return TALLY_OK;
}

/* ---- compiling ---- */

/* The texts of a computation, being compiled. */
typedef struct job {
    const char *name;
    int architecture;
    const char *more_option; /* or NULL */
    tally_cuda_texts texts;
    char *logs[TALLY_CUDA_MOST_TEXTS]; /* as tally_cuda_compile gives them */
    bool failed;
} job;

/* Failures are printed. */
static bool begin(job *j, const entry *e, int architecture, char name[128], tally_cuda_sizes *sizes) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_computation c;
    desc.op = e->op;
    desc.grouping = e->grouping;
    desc.form = e->form;
    desc.mode = e->mode;
    desc.in = e->in;
    desc.index = e->index;
    desc.flags = e->flags & ~IN_WINDOW;
    desc.out = e->op == TALLY_USER ? TALLY_U64 : e->in == TALLY_I8 && e->op == TALLY_SUM ? TALLY_I8 : TALLY_DEFAULT;
    desc.user = e->op == TALLY_USER ? &affine : NULL;
    name_of(e, name);
    *j = (job){.name = name, .architecture = architecture};
    tally_status status = tally_computation_decide(&desc, &c);
    c.in_window = (e->flags & IN_WINDOW) != 0;
    if (status == TALLY_OK)
        status = tally_cuda_specialize(&c, architecture, NULL, &j->texts);
    if (status == TALLY_OK && tally_is_scan(&c))
        status = add_carry(&c, architecture, &j->texts);
    if (status == TALLY_OK && sizes)
        tally_cuda_sizes_of(&c, architecture, sizes);
    if (status != TALLY_OK)
        printf("FAIL sm_%d %s: %s\n", architecture, name, tally_last_error());
    return status == TALLY_OK;
}

static void compile(void *argument, size_t number) {
    job *j = argument;
    const char *options[8];
    size_t count = 0;
    tally_image image = {0};
    for (; count < tally_cuda_option_count; count++)
        options[count] = tally_cuda_options[count];
    if (j->more_option)
        options[count++] = j->more_option;
    free(j->logs[number]);
    if (tally_cuda_compile(j->texts.text[number], j->name, options, count, j->architecture, &image, &j->logs[number]) !=
        TALLY_OK) {
        printf("FAIL sm_%d %s: %s\n", j->architecture, j->name, tally_last_error());
        j->failed = true;
    }
    tally_image_free(&image);
}

static void end(job *j) {
    for (size_t k = 0; k < j->texts.count; k++)
        free(j->logs[k]);
    tally_cuda_texts_free(&j->texts);
}

/* How much shared memory there is decides how tiles are cut: 7.5 and 8.6 have the least. */
static bool is_due(int k, int a) {
    const int architecture = architectures[a];
    return architecture == 90 || (k < TIGHT_ENTRIES && (architecture == 75 || architecture == 86)) ||
           (k + a) % PARTS == 0;
}

static bool is_known(int architecture) {
    char *log = NULL;
    tally_image image = {0};
    bool known = tally_cuda_compile("", "nothing", NULL, 0, architecture, &image, &log) == TALLY_OK && image.size > 4 &&
                 memcmp(image.bytes, "\177ELF", 4) == 0;
    tally_image_free(&image);
    free(log);
    return known;
}

/* What the test rests on: a text that gives reason for a warning compiles, and the compiler prints it. */
static bool warnings_arrive(void) {
    tally_image image = {0};
    char *log = NULL;
    bool arrived = tally_cuda_compile("extern \"C\" __global__ void untidy() { int unused; }\n", "untidy", NULL, 0, 80,
                                      &image, &log) == TALLY_OK &&
                   log && strstr(log, "unused");
    tally_image_free(&image);
    free(log);
    if (!arrived)
        printf("FAIL a text with an unused variable gave no warning\n");
    return arrived;
}

/* One of 'workers' processes: the compiler takes one text at a time. */
static int test(int worker, int workers) {
    int failures = 0, number = 0, compiled = 0;
    for (int a = 0; a < ARCHITECTURES; a++) {
        if (!is_known(architectures[a])) {
            if (worker == 0)
                printf("sm_%d: not known to this compiler\n", architectures[a]);
            continue;
        }
        for (int k = 0; k < ENTRIES; k++) {
            char name[128];
            job j;
            if (!is_due(k, a) || number++ % workers != worker)
                continue;
            if (!begin(&j, &set[k], architectures[a], name, NULL)) {
                failures++;
                continue;
            }
            for (size_t text = 0; text < j.texts.count; text++) {
                compile(&j, text);
                compiled++;
                const char *log = j.logs[text];
                if (!j.failed && log && log[strspn(log, " \r\n\t")]) {
                    printf("FAIL sm_%d %s: the compiler says\n%s\n", architectures[a], name, log);
                    j.failed = true;
                }
            }
            failures += j.failed;
            end(&j);
        }
    }
    printf("%d texts compiled in %.0f s of processor time, %d failures\n", compiled, (double)clock() / CLOCKS_PER_SEC,
           failures);
    fflush(stdout);
    return failures != 0;
}

static int test_in_processes(void) {
    long workers = sysconf(_SC_NPROCESSORS_ONLN);
    int failed = !warnings_arrive();
    workers = workers < 1 ? 1 : workers > 16 ? 16 : workers;
    fflush(stdout);
    for (int w = 0; w < workers; w++) {
        pid_t child = fork();
        if (child == 0)
            _exit(test(w, (int)workers));
        failed |= child < 0;
    }
    for (int code; wait(&code) > 0;)
        failed |= code != 0;
    return failed;
}

/* ---- the report ---- */

/* The number in front of a word of ptxas's, 0 if it is not said. */
static int number_before(const char *from, const char *end, const char *word) {
    const char *at = strstr(from, word);
    if (!at || at > end)
        return 0;
    while (at > from && at[-1] == ' ')
        at--;
    while (at > from && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return atoi(at);
}

/* What a kernel is given at its launch; its name ends with a quote. */
static unsigned dynamic_shared(const char *kernel, const tally_cuda_sizes *sizes) {
    const struct {
        const char *kernel;
        unsigned bytes;
    } given[] = {{"scan'", sizes->scan.shared},
                 {"scan_panels'", sizes->scan.panel_shared},
                 {"scan_thin_panels'", sizes->scan.panel_shared},
                 {"scan_narrow'", sizes->narrow.shared},
                 {"scan_look_back'", sizes->look_back.shared},
                 {"fold_runs_in_waves'", sizes->wave.shared}};
    for (size_t k = 0; k < sizeof given / sizeof *given; k++)
        if (strncmp(kernel, given[k].kernel, strlen(given[k].kernel)) == 0)
            return given[k].bytes;
    return 0;
}

static void print_usage(const char *what, const char *log, const tally_cuda_sizes *sizes) {
    static const char begins[] = "Compiling entry function '";
    for (const char *at = strstr(log, begins), *next; at; at = next) {
        const char *kernel = at + strlen(begins), *quote = strchr(kernel, '\'');
        next = strstr(kernel, begins);
        const char *end = next ? next : kernel + strlen(kernel);
        if (!quote)
            return;
        const char *used = strstr(kernel, "Used ");
        printf("%-40s %-18.*s %5d %6d %6d %6d %7d %8u\n", what, (int)(quote - kernel), kernel,
               used && used < end ? atoi(used + 5) : -1, number_before(kernel, end, "bytes stack frame"),
               number_before(kernel, end, "bytes spill stores"), number_before(kernel, end, "bytes spill loads"),
               number_before(kernel, end, "bytes smem"), dynamic_shared(kernel, sizes));
    }
}

static int report(int architecture) {
    printf("\nsm_%d\n%-40s %-18s %5s %6s %6s %6s %7s %8s\n", architecture, "computation", "kernel", "regs", "stack",
           "stores", "loads", "static", "dynamic");
    for (int k = 0; k < MAIN_ENTRIES; k++) {
        char name[128];
        tally_cuda_sizes sizes;
        job j;
        if (!begin(&j, &set[k], architecture, name, &sizes))
            return 1;
        j.more_option = "--ptxas-options=-v";
        for (size_t text = 0; text < j.texts.count; text++) {
            compile(&j, text);
            print_usage(name, j.logs[text] ? j.logs[text] : "", &sizes);
        }
        bool failed = j.failed;
        end(&j);
        if (failed)
            return 1;
    }
    return 0;
}

/* ---- the times ---- */

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Does it TURNS times, and returns the least time. */
static double least_time(job *j, size_t from, size_t texts) {
    enum { TURNS = 10 };
    double best = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        const double begun = milliseconds();
        if (texts > 1)
            tally_side_by_side(texts, compile, j);
        else
            compile(j, from);
        const double took = milliseconds() - begun;
        best = turn == 0 || took < best ? took : best;
    }
    return best;
}

static int print_times(int architecture) {
    printf("\nsm_%d, ms of compiling, the least of 10\n%-40s %12s   %s\n", architecture, "computation", "side by side",
           "each text by itself");
    for (int k = 0; k < MAIN_ENTRIES; k++) {
        char name[128];
        job j;
        if (!begin(&j, &set[k], architecture, name, NULL))
            return 1;
        printf("%-40s %12.0f  ", name, least_time(&j, 0, j.texts.count));
        for (size_t text = 0; text < j.texts.count; text++)
            printf(" %.0f", least_time(&j, text, 1));
        printf("\n");
        fflush(stdout);
        bool failed = j.failed;
        end(&j);
        if (failed)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    int version;
    unsetenv("TALLY_NVRTC");
    if (tally_cuda_compiler_version(&version) != TALLY_OK) {
        printf("skipped: %s\n", tally_last_error());
        return SKIPPED;
    }
    printf("NVRTC %d.%d\n", version / 1000, version % 1000 / 10);
    int (*print)(int) = argc > 1 && strcmp(argv[1], "report") == 0  ? report
                        : argc > 1 && strcmp(argv[1], "times") == 0 ? print_times
                                                                    : NULL;
    if (!print)
        return test_in_processes();
    int failed = 0;
    for (int k = 2; k < argc && !failed; k++)
        failed = print(atoi(argv[k] + (strncmp(argv[k], "sm_", 3) ? 0 : 3)));
    return failed;
}
