/* Finds NVRTC, and compiles with it. */
#include "cuda/compiler.h"

#include <glob.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "cuda/driver.h"
#include "gpu/library.h"

/* ---- the library ---- */

typedef struct nvrtc_program *program;

enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_OUT_OF_MEMORY = 1, NVRTC_ERROR_INVALID_OPTION = 5, NVRTC_ERROR_COMPILATION = 6 };

/* All of them are in NVRTC since 11.2. */
#define FUNCTIONS(X)                                                                                                   \
    X(nvrtcVersion, (int *major, int *minor))                                                                          \
    X(nvrtcGetNumSupportedArchs, (int *count))                                                                         \
    X(nvrtcGetSupportedArchs, (int *architectures))                                                                    \
    X(nvrtcCreateProgram, (program * made, const char *source, const char *name, int headers,                          \
                           const char *const *header_texts, const char *const *header_names))                          \
    X(nvrtcDestroyProgram, (program * made))                                                                           \
    X(nvrtcCompileProgram, (program made, int count, const char *const *options))                                      \
    X(nvrtcGetProgramLogSize, (program made, size_t * bytes))                                                          \
    X(nvrtcGetProgramLog, (program made, char *log))                                                                   \
    X(nvrtcGetCUBINSize, (program made, size_t * bytes))                                                               \
    X(nvrtcGetCUBIN, (program made, char *cubin))                                                                      \
    X(nvrtcGetPTXSize, (program made, size_t * bytes))                                                                 \
    X(nvrtcGetPTX, (program made, char *ptx))

typedef struct compiler {
    void *library;
    int version;
#define MEMBER(name, parameters) int(*name) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
} compiler;

/* Written once, by open_compiler. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static compiler chosen;
static tally_opening opening;

static void close_compiler(compiler *c) {
    tally_library_close(c->library);
    *c = (compiler){0};
}

/* Opens a library and fills in *c if it is a suitable compiler. */
static bool try_library(const char *path, compiler *c, const char **reason) {
    *c = (compiler){.library = tally_library_open(path, reason)};
    if (!c->library)
        return false;
    bool whole = true;
#define FIND(name, parameters) whole = tally_library_find(c->library, #name, &c->name) && whole;
    FUNCTIONS(FIND)
#undef FIND
    int major, minor;
    if (whole && c->nvrtcVersion(&major, &minor) == NVRTC_SUCCESS) {
        c->version = 1000 * major + 10 * minor;
        return true;
    }
    *reason = "it is not NVRTC of CUDA 11.2 or newer";
    close_compiler(c);
    return false;
}

/* ---- where it may be ---- */

/* The driver's version of CUDA. The compiler should not be newer; the driver loads code of its own major version. */
static int driver_major(void) {
    const tally_cuda_api *api;
    return tally_cuda_driver(&api) == TALLY_OK ? api->version / 1000 : 1000;
}

/* Takes the library if it suits the driver, and then the search ends. A library that is too new is kept in case nothing
 * better is found. */
static bool consider(const char *path, int major) {
    compiler found;
    const char *reason;
    if (!try_library(path, &found, &reason))
        return false;
    if (found.version / 1000 <= major) {
        close_compiler(&chosen);
        chosen = found;
        return true;
    }
    if (chosen.library)
        close_compiler(&found);
    else
        chosen = found;
    return false;
}

/* Every file that matches, the last name first: it has the highest version. */
static bool consider_pattern(const char *pattern, int major) {
    glob_t found;
    bool done = false;
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t k = found.gl_pathc; k > 0 && !done; k--)
        done = consider(found.gl_pathv[k - 1], major);
    globfree(&found);
    return done;
}

/* The beginning of each path is the value of an environment variable, or nothing. */
typedef struct place {
    const char *variable, *pattern;
} place;

/* A folder of Python's packages, and the two layouts of NVIDIA's packages in it. */
#define PACKAGES(variable, folder)                                                                                     \
    {variable, folder "/nvidia/cu[1-9][0-9]/lib/libnvrtc.so.*"}, {                                                     \
        variable, folder "/nvidia/cuda_nvrtc/lib/libnvrtc.so.*"                                                        \
    }

static const place places[] = {
    {NULL, "/usr/local/cuda/lib64/libnvrtc.so"},
    {NULL, "/usr/local/cuda-*/lib64/libnvrtc.so"},
    {NULL, "/opt/cuda/lib64/libnvrtc.so"},
    {"CUDA_HOME", "/lib64/libnvrtc.so"},
    {"CUDA_PATH", "/lib64/libnvrtc.so"},
    {"CONDA_PREFIX", "/lib/libnvrtc.so*"},
    PACKAGES("VIRTUAL_ENV", "/lib/python3*/site-packages"),
    PACKAGES("CONDA_PREFIX", "/lib/python3*/site-packages"),
    PACKAGES("HOME", "/.local/lib/python3*/site-packages"),
    PACKAGES(NULL, "/usr/local/lib/python3*/dist-packages"),
    PACKAGES(NULL, "/usr/local/lib/python3*/site-packages"),
    PACKAGES(NULL, "/usr/lib/python3/dist-packages"),
    PACKAGES(NULL, "/usr/lib/python3*/site-packages"),
    PACKAGES(NULL, "/opt/*/lib/python3*/site-packages"),
};
enum { PLACE_COUNT = sizeof places / sizeof *places };

static bool consider_place(const place *p, int major) {
    char pattern[1024];
    const char *beginning = p->variable ? tally_library_path(p->variable) : "";
    if (!beginning)
        return false;
    int length = snprintf(pattern, sizeof pattern, "%s%s", beginning, p->pattern);
    return length > 0 && (size_t)length < sizeof pattern && consider_pattern(pattern, major);
}

static bool search(void) {
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
    const int major = driver_major();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (consider(names[k], major))
            return true;
    for (size_t k = 0; k < PLACE_COUNT; k++)
        if (consider_place(&places[k], major))
            return true;
    return chosen.library != NULL;
}

static tally_status open_compiler(void) {
    const char *path = tally_library_path("TALLY_NVRTC"), *reason = NULL;
    if (path ? try_library(path, &chosen, &reason) : search())
        return TALLY_OK;
    if (path)
        return tally_fail(TALLY_NO_DEVICE,
                          "TALLY_NVRTC is '%.300s', which does not open as CUDA's run-time compiler: %.500s", path,
                          reason);
    return tally_fail(TALLY_NO_DEVICE,
                      "no run-time compiler for CUDA: libnvrtc (11.2 or newer) is not among the system's libraries, "
                      "below /usr/local/cuda or in Python's packages. Install the CUDA toolkit's NVRTC or 'pip install "
                      "nvidia-cuda-nvrtc', or give the library's path in TALLY_NVRTC");
}

static void keep_opening(void) {
    tally_opening_keep(&opening, open_compiler());
}

static tally_status open_once(void) {
    pthread_once(&once, keep_opening);
    return tally_opening_repeat(&opening);
}

tally_status tally_cuda_compiler_version(int *version) {
    tally_status status = open_once();
    if (status == TALLY_OK)
        *version = chosen.version;
    return status;
}

/* ---- compiling ---- */

/* From CUDA 12.4 on, declarations of textures and of the run time's functions, which no kernel here has, can be left
 * out: NVRTC 13.0 then takes 18.5 ms for an empty text instead of 22, most of that for one text at a time. */
enum { KNOWS_MINIMAL = 12040 };

/* The newest architecture that the compiler knows and that is not newer than the device's; 0 if there is none. */
static int nearest_architecture(int architecture) {
    int count = 0, known[256], nearest = 0;
    if (chosen.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count < 1 ||
        (size_t)count > sizeof known / sizeof *known || chosen.nvrtcGetSupportedArchs(known) != NVRTC_SUCCESS)
        return 0;
    for (int k = 0; k < count; k++)
        if (known[k] <= architecture && known[k] > nearest)
            nearest = known[k];
    return nearest;
}

/* The compiler's output, from malloc; NULL if it is empty. */
static char *read_log(program made) {
    size_t bytes = 0;
    if (chosen.nvrtcGetProgramLogSize(made, &bytes) != NVRTC_SUCCESS || bytes <= 1)
        return NULL;
    char *log = calloc(bytes + 1, 1);
    if (log && chosen.nvrtcGetProgramLog(made, log) != NVRTC_SUCCESS)
        log[0] = 0;
    return log;
}

static tally_status out_of_memory(const char *name) {
    return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for compiling %s", name);
}

static tally_status refuse_source(int result, const char *name, const char *log) {
    if (result == NVRTC_ERROR_OUT_OF_MEMORY)
        return out_of_memory(name);
    if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION)
        return tally_fail(TALLY_INVALID_ARGUMENT, "%s does not compile:\n%s", name, log ? log : "no log");
    return tally_fail(TALLY_DEVICE_FAILED,
                      "NVRTC %d.%d fails to compile %s (error %d); is libnvrtc-builtins, of the same "
                      "version, beside libnvrtc? %s",
                      chosen.version / 1000, chosen.version % 1000 / 10, name, result, log ? log : "");
}

static tally_status read_image(program made, bool machine_code, const char *name, tally_image *image) {
    size_t bytes = 0;
    int result = machine_code ? chosen.nvrtcGetCUBINSize(made, &bytes) : chosen.nvrtcGetPTXSize(made, &bytes);
    char *code = result == NVRTC_SUCCESS && bytes > 0 ? malloc(bytes) : NULL;
    if (result == NVRTC_SUCCESS && bytes > 0 && !code)
        return out_of_memory(name);
    if (code)
        result = machine_code ? chosen.nvrtcGetCUBIN(made, code) : chosen.nvrtcGetPTX(made, code);
    if (!code || result != NVRTC_SUCCESS) {
        free(code);
        return tally_fail(TALLY_DEVICE_FAILED, "NVRTC gives no code for %s (error %d)", name, result);
    }
    *image = (tally_image){code, bytes};
    return TALLY_OK;
}

static tally_status compile(program made, const char *name, const char *const *options, int count, bool machine_code,
                            tally_image *image, char **log) {
    int result = chosen.nvrtcCompileProgram(made, count, options);
    char *printed = read_log(made);
    tally_status status =
        result == NVRTC_SUCCESS ? read_image(made, machine_code, name, image) : refuse_source(result, name, printed);
    if (log)
        *log = printed;
    else
        free(printed);
    return status;
}

tally_status tally_cuda_compile(const char *source, const char *name, const char *const *options, size_t count,
                                int architecture, tally_image *image, char **log) {
    if (log)
        *log = NULL;
    tally_status status = open_once();
    if (status != TALLY_OK)
        return status;
    int target = nearest_architecture(architecture);
    if (!target)
        return tally_fail(TALLY_UNSUPPORTED,
                          "NVRTC %d.%d does not compile for a GPU as old as compute capability %d.%d; give the path of "
                          "an older libnvrtc in TALLY_NVRTC",
                          chosen.version / 1000, chosen.version % 1000 / 10, architecture / 10, architecture % 10);
    bool machine_code = target == architecture; /* else PTX, which the driver compiles for the newer device */
    char option[64];
    snprintf(option, sizeof option, "--gpu-architecture=%s_%d", machine_code ? "sm" : "compute", target);

    const char **all = malloc((count + 2) * sizeof *all);
    if (!all)
        return out_of_memory(name);
    if (count)
        memcpy(all, options, count * sizeof *all);
    all[count++] = option;
    if (chosen.version >= KNOWS_MINIMAL)
        all[count++] = "--minimal";
    program made = NULL;
    int result = chosen.nvrtcCreateProgram(&made, source, name, 0, NULL, NULL);
    status = result == NVRTC_SUCCESS ? compile(made, name, all, (int)count, machine_code, image, log)
                                     : refuse_source(result, name, NULL);
    if (made)
        chosen.nvrtcDestroyProgram(&made);
    free(all);
    return status;
}
