/* Modules: lists in the device, each module known by the hash of everything that its code depends on. The first thread
 * that asks for a module claims it, as an entry that is not ready, and makes it without the device's mutex. Others that
 * want the same module wait until it is ready. A thread with claims does not wait, so two threads never wait for each
 * other. */
#include "cuda/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/compiler.h"
#include "cuda/cuda.h"
#include "gpu/cache.h"
#include "gpu/threads.h"

struct tally_cuda_module {
    tally_cuda_module *next;
    const tally_cuda_device *device;
    tally_key key;
    bool ready; /* else a thread is making it */
    CUmodule loaded;
};

/* A module that is asked for. */
typedef struct request {
    const char *source;
    tally_key key;
    tally_key kept_key;       /* in the cache */
    tally_cuda_module *claim; /* NULL: it exists, or another thread makes it */
    CUmodule loaded;

    /* what compiling it gave */
    tally_image image;
    tally_status status;
    char *message; /* of a failure; NULL if there was too little memory for it */
} request;

typedef struct order {
    tally_cuda_device *device;
    const char *const *options;
    size_t option_count;
    request requests[TALLY_CUDA_MOST_SOURCES];
    size_t count;
    request *missing[TALLY_CUDA_MOST_SOURCES]; /* those to be compiled */
    size_t missing_count;
} order;

static void hash_number(tally_hash *hash, uint64_t number) {
    tally_hash_add(hash, &number, sizeof number);
}

tally_key tally_cuda_key_of(const char *source, const char *const *options, size_t count, int architecture) {
    tally_hash hash;
    tally_hash_begin(&hash);
    tally_hash_add_text(&hash, tally_version());
    hash_number(&hash, (uint64_t)architecture);
    hash_number(&hash, count);
    for (size_t option = 0; option < count; option++)
        tally_hash_add_text(&hash, options[option]);
    tally_hash_add_text(&hash, source);
    return tally_hash_end(&hash);
}

/* On disk it is also the compiler's and the driver's version that tell code apart. */
static tally_status find_kept_key(const order *o, request *r) {
    int compiler = 0;
    tally_status status = tally_cuda_compiler_version(&compiler);
    tally_hash hash;
    tally_hash_begin(&hash);
    hash_number(&hash, r->key.low);
    hash_number(&hash, r->key.high);
    hash_number(&hash, (uint64_t)compiler);
    hash_number(&hash, (uint64_t)o->device->api->version);
    r->kept_key = tally_hash_end(&hash);
    return status;
}

/* ---- making modules ---- */

static CUresult load_image(const tally_cuda_device *device, const tally_image *image, CUmodule *loaded, char *log,
                           size_t log_bytes) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)log_bytes};
    log[0] = 0;
    return device->api->cuModuleLoadDataEx(loaded, image->bytes, 2, options, values);
}

/* Frees the image. */
static CUresult load_and_free(const order *o, request *r, tally_image *image) {
    char log[16];
    CUresult result = load_image(o->device, image, &r->loaded, log, sizeof log);
    tally_image_free(image);
    return result;
}

/* Takes the prebuilt one or loads it from the cache, else it is missing: also if the driver refuses the code from
 * there, unless it lacks memory, which compiling would not change. */
static tally_status load_kept(order *o, request *r) {
    tally_image image = {0};
    CUresult result = tally_prebuilt_load(r->key, &image) ? load_and_free(o, r, &image) : CUDA_ERROR_NOT_FOUND;
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY) {
        tally_status status = find_kept_key(o, r);
        if (status != TALLY_OK)
            return status;
        result = tally_cache_load(r->kept_key, &image) ? load_and_free(o, r, &image) : CUDA_ERROR_NOT_FOUND;
    }
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY)
        return tally_cuda_check(result, "loading kernels");
    o->missing[o->missing_count++] = r;
    return TALLY_OK;
}

/* Compiles, on a thread that may end before its message is read. It does not call the driver. */
static void compile(void *job, size_t number) {
    const order *o = job;
    request *r = o->missing[number];
    r->status = tally_cuda_compile(r->source, "tally.cu", o->options, o->option_count, o->device->architecture,
                                   &r->image, NULL);
    r->message = r->status == TALLY_OK ? NULL : strdup(tally_last_error());
}

static tally_status compile_missing(order *o) {
    tally_status status = TALLY_OK;
    tally_side_by_side(o->missing_count, compile, o);
    for (size_t k = 0; k < o->missing_count; k++) {
        request *r = o->missing[k];
        if (status == TALLY_OK && r->status != TALLY_OK)
            status = tally_fail(r->status, "%s", r->message ? r->message : "no memory for the compiler's message");
        free(r->message);
    }
    return status;
}

static tally_status load_compiled(const order *o, request *r) {
    char log[2048], what[sizeof log + 64];
    CUresult result = load_image(o->device, &r->image, &r->loaded, log, sizeof log);
    if (result == CUDA_SUCCESS)
        tally_cache_store(r->kept_key, &r->image);
    snprintf(what, sizeof what, "loading kernels%s%s", log[0] ? ": " : "", log);
    return tally_cuda_check(result, what);
}

/* Makes all claimed modules, or those up to a failure. */
static tally_status make_claimed(order *o) {
    tally_status status = tally_cuda_enter(o->device);
    if (status != TALLY_OK)
        return status;
    o->missing_count = 0;
    for (size_t k = 0; k < o->count && status == TALLY_OK; k++)
        if (o->requests[k].claim)
            status = load_kept(o, &o->requests[k]);
    if (status == TALLY_OK)
        status = compile_missing(o);
    for (size_t k = 0; k < o->missing_count; k++) {
        if (status == TALLY_OK)
            status = load_compiled(o, o->missing[k]);
        tally_image_free(&o->missing[k]->image);
    }
    tally_cuda_leave(o->device);
    return status;
}

/* ---- the lists; the device's mutex is held ---- */

static tally_cuda_module **list_of(tally_cuda_device *device, tally_key key) {
    return &device->modules[key.low % TALLY_CUDA_MODULE_LISTS];
}

static tally_cuda_module *find(tally_cuda_device *device, tally_key key) {
    tally_cuda_module *module = *list_of(device, key);
    while (module && !tally_key_equal(module->key, key))
        module = module->next;
    return module;
}

static tally_cuda_module *insert(tally_cuda_device *device, tally_key key) {
    tally_cuda_module *module = malloc(sizeof *module), **list = list_of(device, key);
    if (!module)
        return NULL;
    *module = (tally_cuda_module){.next = *list, .device = device, .key = key};
    *list = module;
    return module;
}

static void take_out(tally_cuda_device *device, tally_cuda_module *module) {
    tally_cuda_module **link = list_of(device, module->key);
    while (*link != module)
        link = &(*link)->next;
    *link = module->next;
    free(module);
}

/* Claims the modules that no thread has or makes. */
static tally_status claim(order *o, size_t *claimed) {
    *claimed = 0;
    for (size_t k = 0; k < o->count; k++) {
        request *r = &o->requests[k];
        if (find(o->device, r->key))
            continue;
        r->claim = insert(o->device, r->key);
        if (!r->claim)
            return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a module of kernels");
        ++*claimed;
    }
    return TALLY_OK;
}

/* Settles the claims: modules that are ready, or nothing, so that another thread can try. */
static void settle(order *o) {
    for (size_t k = 0; k < o->count; k++) {
        request *r = &o->requests[k];
        if (r->claim && r->loaded) {
            r->claim->loaded = r->loaded;
            r->claim->ready = true;
        } else if (r->claim) {
            take_out(o->device, r->claim);
        }
        r->claim = NULL;
    }
    pthread_cond_broadcast(&o->device->built);
}

static bool are_ready(const order *o) {
    for (size_t k = 0; k < o->count; k++) {
        const tally_cuda_module *module = find(o->device, o->requests[k].key);
        if (!module || !module->ready)
            return false;
    }
    return true;
}

/* Releases the mutex while this thread makes modules or waits for those of others. */
static tally_status get_all(order *o) {
    while (!are_ready(o)) {
        size_t claimed;
        tally_status status = claim(o, &claimed);
        if (status == TALLY_OK && !claimed) {
            pthread_cond_wait(&o->device->built, &o->device->mutex);
            continue;
        }
        if (status == TALLY_OK) {
            pthread_mutex_unlock(&o->device->mutex);
            status = make_claimed(o);
            pthread_mutex_lock(&o->device->mutex);
        }
        settle(o);
        if (status != TALLY_OK)
            return status;
    }
    return TALLY_OK;
}

tally_status tally_cuda_modules_get(tally_cuda_device *device, const char *const *sources, size_t source_count,
                                    const char *const *options, size_t option_count,
                                    const tally_cuda_module **modules) {
    order o = {.device = device, .options = options, .option_count = option_count, .count = source_count};
    for (size_t k = 0; k < source_count; k++) {
        o.requests[k].source = sources[k];
        o.requests[k].key = tally_cuda_key_of(sources[k], options, option_count, device->architecture);
    }
    pthread_mutex_lock(&device->mutex);
    tally_status status = get_all(&o);
    for (size_t k = 0; k < source_count && status == TALLY_OK; k++)
        modules[k] = find(device, o.requests[k].key);
    pthread_mutex_unlock(&device->mutex);
    return status;
}

tally_status tally_cuda_module_get(tally_cuda_device *device, const char *source, const char *const *options,
                                   size_t count, const tally_cuda_module **module) {
    return tally_cuda_modules_get(device, &source, 1, options, count, module);
}

tally_status tally_cuda_function(const tally_cuda_module *module, const char *name, CUfunction *function) {
    const tally_cuda_api *api = module->device->api;
    char what[160];
    snprintf(what, sizeof what, "finding kernel '%.100s'", name);
    tally_status status = tally_cuda_enter(module->device);
    if (status != TALLY_OK)
        return status;
    CUfunction found = NULL;
    CUresult result = api->cuModuleGetFunction(&found, module->loaded, name);
    if (result == CUDA_SUCCESS && api->cuFuncLoad)
        result = api->cuFuncLoad(found);
    tally_cuda_leave(module->device);
    if (result == CUDA_SUCCESS)
        *function = found;
    return tally_cuda_check(result, what);
}

void tally_cuda_modules_unload(tally_cuda_device *device) {
    for (size_t k = 0; k < TALLY_CUDA_MODULE_LISTS; k++)
        while (device->modules[k]) {
            tally_cuda_module *module = device->modules[k];
            device->modules[k] = module->next;
            device->api->cuModuleUnload(module->loaded);
            free(module);
        }
}
