/* A stand-in for libnvrtc that makes programs of the host: the text, behind emulate.h, goes through the system's C++
 * compiler (EMULATE_CXX), and the machine code is the shared library that comes out. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct program {
    char *source;
    char *code;
    size_t bytes;
    char log[4096];
} program;

int nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return 0;
}

int nvrtcGetNumSupportedArchs(int *count) {
    *count = 1;
    return 0;
}

int nvrtcGetSupportedArchs(int *architectures) {
    architectures[0] = 90;
    return 0;
}

int nvrtcCreateProgram(program **made, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names) {
    (void)name, (void)headers, (void)texts, (void)names;
    *made = calloc(1, sizeof **made);
    (*made)->source = strdup(source);
    return 0;
}

int nvrtcDestroyProgram(program **made) {
    free((*made)->source);
    free((*made)->code);
    free(*made);
    *made = NULL;
    return 0;
}

/* How many parameters each kernel has, which the driver's stand-in must know. */
static void write_counts(FILE *file, const char *source) {
    static const char begin[] = "extern \"C\" __global__ void ";
    for (const char *at = source; (at = strstr(at, begin));) {
        at += sizeof begin - 1;
        const size_t length = strcspn(at, "(");
        int count = 1;
        for (const char *p = at + length; *p && *p != ')'; p++)
            count += *p == ',';
        fprintf(file, "extern \"C\" const int emulate_arguments_%.*s; const int emulate_arguments_%.*s = %d;\n",
                (int)length, at, (int)length, at, count);
    }
}

static void read_back(program *made, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return;
    fseek(file, 0, SEEK_END);
    made->bytes = (size_t)ftell(file);
    rewind(file);
    made->code = malloc(made->bytes);
    made->bytes = fread(made->code, 1, made->bytes, file);
    fclose(file);
}

static void read_log(program *made, const char *path) {
    FILE *file = fopen(path, "r");
    if (file)
        made->log[fread(made->log, 1, sizeof made->log - 1, file)] = 0;
    if (file)
        fclose(file);
}

int nvrtcCompileProgram(program *made, int count, const char *const *options) {
    char folder[] = "/tmp/tally-emulate-XXXXXX", path[64], command[2048];
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/k.cpp", folder);
    FILE *file = fopen(path, "w");
    fprintf(file, "#include \"%s\"\n%s\n", getenv("EMULATE_HEADER"), made->source);
    write_counts(file, made->source);
    fclose(file);
    snprintf(command, sizeof command, "%s -std=c++17 -O1 -w -fwrapv -ffp-contract=off -fPIC -shared -o %s/k.so",
             getenv("EMULATE_CXX"), folder);
    for (int k = 0; k < count; k++)
        if (strncmp(options[k], "-D", 2) == 0)
            snprintf(command + strlen(command), sizeof command - strlen(command), " '%s'", options[k]);
    snprintf(command + strlen(command), sizeof command - strlen(command), " %s 2>%s/log", path, folder);
    const int failed = system(command) != 0;
    snprintf(path, sizeof path, "%s/k.so", folder);
    if (!failed)
        read_back(made, path);
    snprintf(path, sizeof path, "%s/log", folder);
    if (failed)
        read_log(made, path);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed ? 6 : 0;
}

int nvrtcGetProgramLogSize(program *made, size_t *bytes) {
    *bytes = strlen(made->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(program *made, char *log) {
    memcpy(log, made->log, strlen(made->log) + 1);
    return 0;
}

int nvrtcGetCUBINSize(program *made, size_t *bytes) {
    *bytes = made->bytes;
    return 0;
}

int nvrtcGetCUBIN(program *made, char *cubin) {
    memcpy(cubin, made->code, made->bytes);
    return 0;
}

int nvrtcGetPTXSize(program *made, size_t *bytes) {
    return nvrtcGetCUBINSize(made, bytes);
}

int nvrtcGetPTX(program *made, char *ptx) {
    return nvrtcGetCUBIN(made, ptx);
}
