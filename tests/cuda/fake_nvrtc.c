#define _GNU_SOURCE
#include "fake_nvrtc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct program {
    char *source;
    char code[4096];
    char log[256];
} program;

static fake_nvrtc_state state;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER;

fake_nvrtc_state *fake_nvrtc(void) {
    return &state;
}

int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 8;
    return 0;
}

int nvrtcGetNumSupportedArchs(int *count) {
    *count = 3;
    return 0;
}

int nvrtcGetSupportedArchs(int *architectures) {
    memcpy(architectures, (int[]){75, 80, 90}, 3 * sizeof(int));
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
    free(*made);
    *made = NULL;
    return 0;
}

static void begin(void) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    pthread_mutex_lock(&mutex);
    state.compilations++;
    if (++state.running > state.most_running)
        state.most_running = state.running;
    pthread_cond_broadcast(&begun);
    while (state.most_running < state.meeting && pthread_cond_timedwait(&begun, &mutex, &end) == 0)
        ;
    pthread_mutex_unlock(&mutex);
}

int nvrtcCompileProgram(program *made, int count, const char *const *options) {
    const char *error = strstr(made->source, "#error");
    begin();
    usleep((useconds_t)state.milliseconds * 1000);
    if (error)
        snprintf(made->log, sizeof made->log, "tally.cu(1): error: %.100s as it was told", error);
    strcpy(made->code, "\177ELF");
    for (int k = 0; k < count; k++)
        strncat(made->code, options[k], sizeof made->code - strlen(made->code) - 1);
    strncat(made->code, made->source, sizeof made->code - strlen(made->code) - 1);
    pthread_mutex_lock(&mutex);
    state.running--;
    pthread_mutex_unlock(&mutex);
    return error ? 6 : strstr(made->source, "#memory") ? 1 : 0;
}

int nvrtcGetProgramLogSize(program *made, size_t *bytes) {
    *bytes = strlen(made->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(program *made, char *log) {
    strcpy(log, made->log);
    return 0;
}

int nvrtcGetCUBINSize(program *made, size_t *bytes) {
    *bytes = strlen(made->code) + 1;
    return 0;
}

int nvrtcGetCUBIN(program *made, char *cubin) {
    strcpy(cubin, made->code);
    return 0;
}

int nvrtcGetPTXSize(program *made, size_t *bytes) {
    return nvrtcGetCUBINSize(made, bytes);
}

int nvrtcGetPTX(program *made, char *ptx) {
    pthread_mutex_lock(&mutex);
    state.ptx++;
    pthread_mutex_unlock(&mutex);
    return nvrtcGetCUBIN(made, ptx);
}
