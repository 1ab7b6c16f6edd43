/* libshaderc, through the few functions of its C interface that are needed, which are the same in all its versions. */
#include "vulkan/compiler.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "gpu/library.h"

enum {
    COMPUTE_SHADER = 2,
    OPTIMIZE_NOT = 0,
    TARGET_VULKAN = 0,
    VULKAN_1_2 = 1 << 22 | 2 << 12,
    STATUS_SUCCESS = 0,
    STATUS_COMPILATION_ERROR = 2
};

typedef struct shaderc_compiler *compiler;
typedef struct shaderc_compile_options *compile_options;
typedef struct shaderc_compilation_result *result;

#define FUNCTIONS(X)                                                                                                   \
    X(compiler, compiler_initialize, (void))                                                                           \
    X(void, compiler_release, (compiler))                                                                              \
    X(compile_options, compile_options_initialize, (void))                                                             \
    X(void, compile_options_release, (compile_options))                                                                \
    X(void, compile_options_set_optimization_level, (compile_options, int level))                                      \
    X(void, compile_options_set_target_env, (compile_options, int target, uint32_t version))                           \
    X(result, compile_into_spv,                                                                                        \
      (compiler, const char *text, size_t bytes, int kind, const char *name, const char *entry, compile_options))      \
    X(void, result_release, (result))                                                                                  \
    X(size_t, result_get_length, (result))                                                                             \
    X(int, result_get_compilation_status, (result))                                                                    \
    X(const char *, result_get_bytes, (result))                                                                        \
    X(const char *, result_get_error_message, (result))

/* Written once, by open_compiler. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tally_opening opening;
static struct {
#define MEMBER(of, name, parameters) of(*name) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
} shaderc;

static bool try_library(const char *path, const char **reason) {
    void *library = tally_library_open(path, reason);
    bool whole = library != NULL;
#define FIND(of, name, parameters) whole = whole && tally_library_find(library, "shaderc_" #name, &shaderc.name);
    FUNCTIONS(FIND)
#undef FIND
    if (library && !whole) {
        *reason = "it is no libshaderc";
        tally_library_close(library);
    }
    return whole;
}

static tally_status open_compiler(void) {
    static const char *const names[] = {"libshaderc.so.1", "libshaderc_shared.so.1", "libshaderc_shared.so"};
    const char *given = tally_library_path("TALLY_LIBSHADERC"), *reason = NULL;
    char first[400] = ""; /* the reason why the usual name does not open, since others are rarely there */
    if (given && try_library(given, &reason))
        return TALLY_OK;
    if (given)
        return tally_fail(TALLY_UNSUPPORTED,
                          "TALLY_LIBSHADERC is '%.300s', which does not open as a compiler of GLSL: %.500s", given,
                          reason);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (try_library(names[k], &reason))
            return TALLY_OK;
        if (k == 0)
            snprintf(first, sizeof first, "%s", reason);
    }
    return tally_fail(TALLY_UNSUPPORTED,
                      "a user operator on Vulkan takes a compiler of GLSL, and libshaderc.so.1 does not open (%s): "
                      "install libshaderc (Debian: libshaderc1; Debian 12's is not whole), or give the library's path "
                      "in TALLY_LIBSHADERC",
                      first);
}

static void open_once(void) {
    tally_opening_keep(&opening, open_compiler());
}

static tally_status take(result compiled, const char *name, uint32_t **words, size_t *count) {
    const int outcome = compiled ? shaderc.result_get_compilation_status(compiled) : -1;
    if (outcome == STATUS_COMPILATION_ERROR)
        return tally_fail(TALLY_INVALID_ARGUMENT, "%s does not compile as GLSL:\n%s", name,
                          shaderc.result_get_error_message(compiled));
    if (outcome != STATUS_SUCCESS)
        return tally_fail(TALLY_DEVICE_FAILED, "libshaderc fails to compile %s (%d): %s", name, outcome,
                          compiled ? shaderc.result_get_error_message(compiled) : "no result");
    const size_t bytes = shaderc.result_get_length(compiled);
    uint32_t *copied = malloc(bytes ? bytes : 1);
    if (!copied)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for compiling %s", name);
    memcpy(copied, shaderc.result_get_bytes(compiled), bytes);
    *words = copied;
    *count = bytes / sizeof *copied;
    return TALLY_OK;
}

tally_status tally_vulkan_compile(const char *text, const char *name, uint32_t **words, size_t *count) {
    pthread_once(&once, open_once);
    if (opening.status != TALLY_OK)
        return tally_opening_repeat(&opening);
    const compiler made = shaderc.compiler_initialize();
    const compile_options options = shaderc.compile_options_initialize();
    result compiled = NULL;
    tally_status status;
    if (made && options) {
        shaderc.compile_options_set_target_env(options, TARGET_VULKAN, VULKAN_1_2);
        /* Drivers optimise; names must stay for entries.c. */
        shaderc.compile_options_set_optimization_level(options, OPTIMIZE_NOT);
        compiled = shaderc.compile_into_spv(made, text, strlen(text), COMPUTE_SHADER, name, "main", options);
        status = take(compiled, name, words, count);
    } else {
        status = tally_fail(TALLY_OUT_OF_MEMORY, "no memory for compiling %s", name);
    }
    if (compiled)
        shaderc.result_release(compiled);
    if (options)
        shaderc.compile_options_release(options);
    if (made)
        shaderc.compiler_release(made);
    return status;
}
