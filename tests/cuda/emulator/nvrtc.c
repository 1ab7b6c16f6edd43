/* A stand-in for libnvrtc that makes programs of the host. The text, after emulate.h, goes through the system's C++
 * compiler (EMULATE_CXX, with EMULATE_CXXFLAGS), and the resulting shared library is the machine code. Two parts of
 * CUDA C need more than a header: dynamic shared memory becomes a pointer, and a description of each kernel for the
 * driver's stand-in is written after the text. Most of a test's time is the compiler's, so a process compiles a text
 * once, however many devices load it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, OUT_OF_MEMORY = 1, COMPILATION = 6 };

/* Accesses that are not aligned, shifts by the width and more, and indices past an array trap. Most kernels run for
 * less time than -O1 takes; EMULATE_CXXFLAGS=-O1 is for the others. */
static const char options_of_all[] =
    "-std=c++20 -O0 -w -fwrapv -fno-strict-aliasing -ffp-contract=off -fPIC -fvisibility=hidden -fno-exceptions "
    "-fsanitize=alignment,bounds,shift-exponent -fsanitize-undefined-trap-on-error";

typedef struct program {
    char *source;
    char *code;
    size_t bytes;
    char log[8192];
} program;

int nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return SUCCESS;
}

static const int known[] = {75, 80, 86, 90};

int nvrtcGetNumSupportedArchs(int *count) {
    *count = sizeof known / sizeof *known;
    return SUCCESS;
}

int nvrtcGetSupportedArchs(int *architectures) {
    memcpy(architectures, known, sizeof known);
    return SUCCESS;
}

int nvrtcCreateProgram(program **made, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names) {
    (void)name, (void)headers, (void)texts, (void)names;
    *made = calloc(1, sizeof **made);
    if (*made)
        (*made)->source = strdup(source);
    return *made && (*made)->source ? SUCCESS : OUT_OF_MEMORY;
}

int nvrtcDestroyProgram(program **made) {
    free((*made)->source);
    free((*made)->code);
    free(*made);
    *made = NULL;
    return SUCCESS;
}

/* ---- the text ---- */

/* "extern __shared__ [__align__(N)] TYPE NAME[];" as "TYPE *NAME = (TYPE *)...". */
static void write_text(FILE *file, const char *source) {
    static const char begins[] = "extern __shared__";
    for (const char *at; (at = strstr(source, begins)); source = strchr(at, ';')) {
        const char *from = at + strlen(begins), *bracket = strchr(at, '[');
        const char *align = strstr(from, "__align__(");
        if (align && align < bracket)
            from = strchr(align, ')') + 1;
        const char *name = bracket;
        while (name > from && name[-1] != ' ')
            name--;
        fwrite(source, 1, (size_t)(at - source), file);
        fprintf(file, "%.*s*%.*s = (%.*s*)emulate::scheduler->dynamic_shared()", (int)(name - from), from,
                (int)(bracket - name), name, (int)(name - from), from);
    }
    fputs(source, file);
}

/* Past "(...)". */
static const char *past_parentheses(const char *at) {
    int depth = 0;
    do {
        depth += *at == '(';
        depth -= *at == ')';
    } while (*at++ && depth);
    return at;
}

/* A kernel is "__global__ void", attributes, its name and its parameters. */
static void write_kernels(FILE *file, const char *source) {
    static const char begins[] = "__global__ void", cluster[] = "__cluster_dims__", bounds[] = "__launch_bounds__";
    for (const char *at = source; (at = strstr(at, begins));) {
        at += strlen(begins);
        int blocks_length = 1, threads_length = 4;
        const char *blocks = "1", *threads = "1024";
        for (;;) {
            at += strspn(at, " \n\t");
            const size_t length = strcspn(at, "( \n\t");
            const char *name = at;
            at += length + strspn(at + length, " \n\t");
            if (length > 2 && strncmp(name, "__", 2) == 0) {
                if (strncmp(name, cluster, strlen(cluster)) == 0) {
                    blocks = at + 1;
                    blocks_length = (int)strcspn(blocks, ",)");
                }
                if (strncmp(name, bounds, strlen(bounds)) == 0) {
                    threads = at + 1;
                    threads_length = (int)strcspn(threads, ",)");
                }
                at = past_parentheses(at);
                continue;
            }
            fprintf(file, "EMULATE_KERNEL(%.*s, (%.*s), (%.*s))\n", (int)length, name, blocks_length, blocks,
                    threads_length, threads);
            break;
        }
    }
}

/* ---- compiling ---- */

static const char *variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && value[0] ? value : otherwise;
}

static void read_back(program *made, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return;
    fseek(file, 0, SEEK_END);
    made->bytes = (size_t)ftell(file);
    rewind(file);
    made->code = malloc(made->bytes);
    made->bytes = made->code ? fread(made->code, 1, made->bytes, file) : 0;
    fclose(file);
}

static void read_log(program *made, const char *path) {
    FILE *file = fopen(path, "r");
    if (file)
        made->log[fread(made->log, 1, sizeof made->log - 1, file)] = 0;
    if (file)
        fclose(file);
}

/* The text, the compiler's options of -D and the architecture, into FOLDER/k.cpp. */
static int write_source(const program *made, const char *folder, int count, const char *const *options) {
    char path[128];
    snprintf(path, sizeof path, "%s/k.cpp", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return 0;
    for (int k = 0; k < count; k++) {
        const char *equals = strchr(options[k], '='), *number = strrchr(options[k], '_');
        if (strncmp(options[k], "--gpu-architecture", 18) == 0 && number)
            fprintf(file, "#define EMULATE_ARCHITECTURE %s\n", number + 1);
        else if (strncmp(options[k], "-D", 2) == 0 && equals)
            fprintf(file, "#define %.*s %s\n", (int)(equals - options[k] - 2), options[k] + 2, equals + 1);
    }
    fprintf(file, "#include \"%s\"\n#line 1 \"kernel\"\n", variable("EMULATE_HEADER", "emulate.h"));
    write_text(file, made->source);
    fputc('\n', file);
    write_kernels(file, made->source);
    return fclose(file) == 0;
}

static int compile(program *made, int count, const char *const *options) {
    char folder[] = "/tmp/tally-emulate-XXXXXX", command[4096], path[128];
    const char *compiler = variable("EMULATE_CXX", "c++"), *more = variable("EMULATE_CXXFLAGS", "");
    if (!mkdtemp(folder))
        return OUT_OF_MEMORY;
    int failed = !write_source(made, folder, count, options);
    if (!failed) {
        /* emulate.h handles the calls at each access, and nothing is linked for them. The process has the C library. */
        const char *races = variable("EMULATE_RACES", NULL) ? "-fsanitize=thread -DEMULATE_RACES" : "";
        snprintf(command, sizeof command,
                 "{ cd %s && %s %s %s %s -c k.cpp -o k.o && %s %s -shared -nostdlib k.o -lgcc -o k.so; } >%s/log 2>&1",
                 folder, compiler, options_of_all, races, more, compiler, more, folder);
        failed = system(command) != 0;
    }
    snprintf(path, sizeof path, "%s/%s", folder, failed ? "log" : "k.so");
    if (failed)
        read_log(made, path);
    else
        read_back(made, path);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed || !made->bytes ? COMPILATION : SUCCESS;
}

/* ---- what was compiled ---- */

typedef struct compiled {
    struct compiled *next;
    char *key, *code;
    size_t bytes;
} compiled;

static compiled *all_compiled; /* until the process ends */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The options and the text. */
static char *key_of(const program *made, int count, const char *const *options) {
    char *key = NULL;
    size_t bytes;
    FILE *file = open_memstream(&key, &bytes);
    if (!file)
        return NULL;
    for (int k = 0; k < count; k++)
        fprintf(file, "%s\n", options[k]);
    fputs(made->source, file);
    fclose(file);
    return key;
}

static int take_compiled(program *made, const char *key) {
    pthread_mutex_lock(&mutex);
    const compiled *c = all_compiled;
    while (c && strcmp(c->key, key) != 0)
        c = c->next;
    pthread_mutex_unlock(&mutex);
    if (!c)
        return 0;
    made->code = malloc(c->bytes);
    made->bytes = made->code ? c->bytes : 0;
    if (made->code)
        memcpy(made->code, c->code, c->bytes);
    return made->bytes > 0;
}

/* Takes the key. */
static void keep_compiled(const program *made, char *key) {
    compiled *c = malloc(sizeof *c);
    char *code = malloc(made->bytes);
    if (!c || !code)
        abort();
    memcpy(code, made->code, made->bytes);
    pthread_mutex_lock(&mutex);
    *c = (compiled){.next = all_compiled, .key = key, .code = code, .bytes = made->bytes};
    all_compiled = c;
    pthread_mutex_unlock(&mutex);
}

int nvrtcCompileProgram(program *made, int count, const char *const *options) {
    char *key = key_of(made, count, options);
    if (!key)
        return OUT_OF_MEMORY;
    const int kept = take_compiled(made, key), result = kept ? SUCCESS : compile(made, count, options);
    if (!kept && result == SUCCESS)
        keep_compiled(made, key);
    else
        free(key);
    return result;
}

int nvrtcGetProgramLogSize(program *made, size_t *bytes) {
    *bytes = strlen(made->log) + 1;
    return SUCCESS;
}

int nvrtcGetProgramLog(program *made, char *log) {
    memcpy(log, made->log, strlen(made->log) + 1);
    return SUCCESS;
}

int nvrtcGetCUBINSize(program *made, size_t *bytes) {
    *bytes = made->bytes;
    return SUCCESS;
}

int nvrtcGetCUBIN(program *made, char *cubin) {
    memcpy(cubin, made->code, made->bytes);
    return SUCCESS;
}

int nvrtcGetPTXSize(program *made, size_t *bytes) {
    return nvrtcGetCUBINSize(made, bytes);
}

int nvrtcGetPTX(program *made, char *ptx) {
    return nvrtcGetCUBIN(made, ptx);
}
