/* Modules: a list in the device, each known by the hash of all that its code depends on. The first thread that asks for
 * one makes it, without the device's mutex, and others that want the same wait until it is ready. */
#include "cuda/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache.h"
#include "cuda/nvrtc.h"
#include "cuda/cuda.h"

struct tally_cuda_module {
    tally_cuda_module *next;
    const tally_cuda_device *device;
    tally_key key;
    bool ready; /* else a thread is making it */
    CUmodule loaded;
};

/* What a compilation needs to be told. */
typedef struct request {
    const char *source;
    const char *const *options;
    size_t count;
    tally_key key;
} request;

static void hash_number(tally_hash *hash, uint64_t number) {
    tally_hash_add(hash, &number, sizeof number);
}

static tally_status find_key(const tally_cuda_device *device, request *r) {
    int compiler = 0;
    tally_status status = tally_cuda_compiler_version(&compiler);
    if (status != TALLY_OK)
        return status;
    tally_hash hash;
    tally_hash_begin(&hash);
    tally_hash_add_text(&hash, tally_version());
    hash_number(&hash, (uint64_t)compiler);
    hash_number(&hash, (uint64_t)device->api->version);
    hash_number(&hash, (uint64_t)device->architecture);
    hash_number(&hash, r->count);
    for (size_t k = 0; k < r->count; k++)
        tally_hash_add_text(&hash, r->options[k]);
    tally_hash_add_text(&hash, r->source);
    r->key = tally_hash_end(&hash);
    return TALLY_OK;
}

/* ---- making a module ---- */

static CUresult load_image(const tally_cuda_device *device, const tally_image *image, CUmodule *loaded, char *log,
                           size_t log_bytes) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)log_bytes};
    log[0] = 0;
    return device->api->cuModuleLoadDataEx(loaded, image->bytes, 2, options, values);
}

static tally_status compile_and_load(const tally_cuda_device *device, const request *r, CUmodule *loaded) {
    tally_image image = {0};
    char log[2048], what[sizeof log + 64];
    tally_status status =
        tally_cuda_compile(r->source, "tally.cu", r->options, r->count, device->architecture, &image, NULL);
    if (status != TALLY_OK)
        return status;
    CUresult result = load_image(device, &image, loaded, log, sizeof log);
    if (result == CUDA_SUCCESS)
        tally_cache_store(r->key, &image);
    tally_image_free(&image);
    snprintf(what, sizeof what, "loading kernels%s%s", log[0] ? ": " : "", log);
    return tally_cuda_check(result, what);
}

/* From the disk, or else from the compiler: also when the driver refuses what was on the disk, unless it lacks the
 * memory, which compiling would not mend. */
static tally_status make_module(const tally_cuda_device *device, const request *r, CUmodule *loaded) {
    tally_image image = {0};
    tally_status status = tally_cuda_enter(device);
    if (status != TALLY_OK)
        return status;
    char log[16];
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (tally_cache_load(r->key, &image)) {
        result = load_image(device, &image, loaded, log, sizeof log);
        tally_image_free(&image);
    }
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY)
        status = tally_cuda_check(result, "loading kernels");
    else
        status = compile_and_load(device, r, loaded);
    tally_cuda_leave(device);
    return status;
}

/* ---- the list; the device's mutex is held ---- */

static tally_cuda_module *find(const tally_cuda_device *device, tally_key key) {
    tally_cuda_module *module = device->modules;
    while (module && !tally_key_equal(module->key, key))
        module = module->next;
    return module;
}

static tally_cuda_module *insert(tally_cuda_device *device, tally_key key) {
    tally_cuda_module *module = malloc(sizeof *module);
    if (!module)
        return NULL;
    *module = (tally_cuda_module){.next = device->modules, .device = device, .key = key};
    device->modules = module;
    return module;
}

static void take_out(tally_cuda_device *device, tally_cuda_module *module) {
    tally_cuda_module **link = &device->modules;
    while (*link != module)
        link = &(*link)->next;
    *link = module->next;
    free(module);
}

/* The module, made by this thread if no other has or is about to. The mutex is let go meanwhile. */
static tally_status get(tally_cuda_device *device, const request *r, const tally_cuda_module **module) {
    tally_cuda_module *found;
    while ((found = find(device, r->key)) && !found->ready)
        pthread_cond_wait(&device->built, &device->mutex);
    if (found) {
        *module = found;
        return TALLY_OK;
    }
    tally_cuda_module *made = insert(device, r->key);
    if (!made)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a module of kernels");
    CUmodule loaded = NULL;
    pthread_mutex_unlock(&device->mutex);
    tally_status status = make_module(device, r, &loaded);
    pthread_mutex_lock(&device->mutex);
    if (status == TALLY_OK) {
        made->loaded = loaded;
        made->ready = true;
        *module = made;
    } else {
        take_out(device, made);
    }
    pthread_cond_broadcast(&device->built);
    return status;
}

tally_status tally_cuda_module_get(tally_cuda_device *device, const char *source, const char *const *options,
                                   size_t count, const tally_cuda_module **module) {
    request r = {.source = source, .options = options, .count = count};
    tally_status status = find_key(device, &r);
    if (status != TALLY_OK)
        return status;
    pthread_mutex_lock(&device->mutex);
    status = get(device, &r, module);
    pthread_mutex_unlock(&device->mutex);
    return status;
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
    while (device->modules) {
        tally_cuda_module *module = device->modules;
        device->modules = module->next;
        device->api->cuModuleUnload(module->loaded);
        free(module);
    }
}
