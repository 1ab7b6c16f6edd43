/* Part of the build, not of the library: compiles the kernels of the commonest computations ahead, for the
 * architectures that TALLY_CUDA_PREBUILT names, so that their plans compile nothing where the library runs. It takes
 * NVRTC and no GPU. usage: tally_cuda_prebuild FOLDER ARCHITECTURE... */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cuda/compiler.h"
#include "cuda/module.h"
#include "cuda/specialize.h"
#include "gpu/threads.h"

typedef struct common {
    tally_op op;
    tally_form form;
    unsigned groupings; /* 1 << tally_grouping */
} common;

enum { EVERY = 1 << TALLY_ALL_VALUES | 1 << TALLY_AXIS | 1 << TALLY_SEGMENTS | 1 << TALLY_KEYS };

static const common commonest[] = {
    {TALLY_SUM, TALLY_REDUCE, EVERY},    {TALLY_MEAN, TALLY_REDUCE, EVERY},
    {TALLY_MIN, TALLY_REDUCE, EVERY},    {TALLY_MAX, TALLY_REDUCE, EVERY},
    {TALLY_ARGMAX, TALLY_REDUCE, EVERY}, {TALLY_SUM, TALLY_INCLUSIVE_SCAN, 1 << TALLY_ALL_VALUES | 1 << TALLY_AXIS},
};
static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_I32, TALLY_I64};

/* A text to be compiled, once, whichever computations share it. */
typedef struct text {
    char *source;
    int architecture;
    tally_key key;
} text;

typedef struct work {
    const char *folder;
    text *texts;
    size_t count, room;
    atomic_bool failed;
} work;

static void stop(const char *what, const char *why) {
    fprintf(stderr, "tally_cuda_prebuild: %s: %s\n", what, why);
    exit(1);
}

static bool is_known(const work *w, tally_key key) {
    for (size_t k = 0; k < w->count; k++)
        if (tally_key_equal(w->texts[k].key, key))
            return true;
    return false;
}

static void add(work *w, const char *source, int architecture) {
    const tally_key key = tally_cuda_key_of(source, tally_cuda_options, tally_cuda_option_count, architecture);
    if (is_known(w, key))
        return;
    if (w->count == w->room) {
        w->room = 2 * w->room + 64;
        w->texts = realloc(w->texts, w->room * sizeof *w->texts);
    }
    char *copy = strdup(source);
    if (!w->texts || !copy)
        stop("the texts", "no memory");
    w->texts[w->count++] = (text){copy, architecture, key};
}

static void add_computation(work *w, const common *of, tally_grouping grouping, tally_dtype type, int architecture) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_computation computation;
    tally_cuda_texts made;
    desc.op = of->op;
    desc.form = of->form;
    desc.grouping = grouping;
    desc.in = type;
    if (tally_computation_decide(&desc, &computation) != TALLY_OK ||
        tally_cuda_specialize(&computation, architecture, NULL, &made) != TALLY_OK)
        stop(tally_op_name(of->op), tally_last_error());
    for (size_t k = 0; k < made.count; k++)
        add(w, made.text[k], architecture);
    tally_cuda_texts_free(&made);
}

static void add_all(work *w, int architecture) {
    for (size_t k = 0; k < sizeof commonest / sizeof *commonest; k++)
        for (int grouping = 0; grouping < 8; grouping++)
            for (size_t t = 0; commonest[k].groupings & 1u << grouping && t < sizeof types / sizeof *types; t++)
                add_computation(w, &commonest[k], (tally_grouping)grouping, types[t], architecture);
}

/* Only machine code: a compiler that is older than the architecture would give PTX. */
static void compile(void *job, size_t number) {
    work *w = job;
    const text *t = &w->texts[number];
    tally_image image = {0};
    const char *why = NULL;
    if (tally_cuda_compile(t->source, "tally.cu", tally_cuda_options, tally_cuda_option_count, t->architecture, &image,
                           NULL) != TALLY_OK)
        why = tally_last_error();
    else if (image.size < 4 || memcmp(image.bytes, "\177ELF", 4) != 0)
        why = "NVRTC has no machine code for this architecture";
    else if (!tally_prebuilt_store(w->folder, t->key, &image))
        why = "cannot be written";
    if (why) {
        fprintf(stderr, "tally_cuda_prebuild: sm_%d in %s: %s\n", t->architecture, w->folder, why);
        w->failed = true;
    }
    tally_image_free(&image);
}

int main(int argc, char **argv) {
    if (argc < 3)
        stop("usage", "tally_cuda_prebuild FOLDER ARCHITECTURE...");
    work w = {.folder = argv[1]};
    if (mkdir(w.folder, 0755) != 0 && errno != EEXIST)
        stop(w.folder, strerror(errno));
    for (int k = 2; k < argc; k++) {
        const int architecture = atoi(argv[k]);
        if (architecture < 50)
            stop(argv[k], "is no architecture; 90 is compute capability 9.0");
        add_all(&w, architecture);
    }
    tally_side_by_side(w.count, compile, &w);
    for (size_t k = 0; k < w.count; k++)
        free(w.texts[k].source);
    free(w.texts);
    return w.failed;
}
