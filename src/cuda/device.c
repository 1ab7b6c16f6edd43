/* A GPU as a device: finding it, its spec, opening and closing it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/carry.h"
#include "cuda/compiler.h"
#include "cuda/cuda.h"
#include "cuda/many_device.h"
#include "cuda/memory.h"
#include "cuda/plan.h"
#include "gpu/cache.h"
#include "gpu/device.h"
#include "gpu/pieces.h"
#include "tally/cuda.h"

/* ---- what the device is ---- */

static int attribute(const tally_cuda_api *api, CUdevice device, CUdevice_attribute which) {
    int value = 0;
    return api->cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static void read_properties(tally_cuda_device *cuda) {
    const tally_cuda_api *api = cuda->api;
    const CUdevice device = cuda->device;
    size_t memory = 0;
    cuda->architecture = 10 * attribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                         attribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    cuda->multiprocessors = attribute(api, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    cuda->threads_per_sm = attribute(api, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    cuda->l2_bytes = (size_t)attribute(api, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    cuda->shared_bytes_per_block =
        (size_t)attribute(api, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    cuda->shared_bytes_per_sm =
        (size_t)attribute(api, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    cuda->reads_any_memory = attribute(api, device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
    if (api->cuDeviceTotalMem(&memory, device) == CUDA_SUCCESS)
        cuda->memory_bytes = memory;
}

static size_t cuda_count(void) {
    const tally_cuda_api *api;
    int count = 0;
    if (tally_cuda_driver(&api) != TALLY_OK || api->cuDeviceGetCount(&count) != CUDA_SUCCESS || count < 0)
        return 0;
    return (size_t)count;
}

static void describe(const tally_cuda_device *cuda, tally_device_info *info) {
    snprintf(info->spec, sizeof info->spec, "cuda:%d", cuda->ordinal);
    if (cuda->api->cuDeviceGetName(info->name, (int)sizeof info->name, cuda->device) != CUDA_SUCCESS)
        snprintf(info->name, sizeof info->name, "CUDA device");
    info->name[sizeof info->name - 1] = 0;
    snprintf(info->detail, sizeof info->detail, "compute capability %d.%d, %d multiprocessors, driver %d.%d",
             cuda->architecture / 10, cuda->architecture % 10, cuda->multiprocessors, cuda->api->version / 1000,
             cuda->api->version % 1000 / 10);
    info->memory_bytes = cuda->memory_bytes;
}

static void cuda_describe(const tally_device *device, tally_device_info *info) {
    describe((const tally_cuda_device *)device, info);
}

static void cuda_describe_index(size_t index, tally_device_info *info) {
    tally_cuda_device cuda = {.ordinal = (int)index};
    if (tally_cuda_driver(&cuda.api) != TALLY_OK || cuda.api->cuDeviceGet(&cuda.device, cuda.ordinal) != CUDA_SUCCESS)
        return;
    read_properties(&cuda);
    describe(&cuda, info);
}

/* ---- opening and closing ---- */

static const tally_device_interface cuda_interface;

static void release_context(const tally_cuda_device *cuda) {
    if (cuda->owns_context)
        cuda->api->cuDevicePrimaryCtxRelease(cuda->device);
}

/* The device of a context that is known. Takes over the reference to the primary context, on failure too. */
static tally_status open_context(const tally_cuda_device *known, tally_device **device) {
    tally_cuda_device *cuda = malloc(sizeof *cuda);
    if (!cuda) {
        release_context(known);
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a CUDA device");
    }
    *cuda = *known;
    cuda->base.interface = &cuda_interface;
    read_properties(cuda);
    tally_status status = tally_cuda_enter(cuda);
    if (status == TALLY_OK) {
        status = tally_cuda_check(cuda->api->cuStreamCreate(&cuda->stream, CU_STREAM_DEFAULT), "creating a stream");
        tally_cuda_leave(cuda);
    }
    if (status != TALLY_OK) {
        release_context(cuda);
        free(cuda);
        return status;
    }
    pthread_mutex_init(&cuda->mutex, NULL);
    pthread_cond_init(&cuda->built, NULL);
    *device = &cuda->base;
    return TALLY_OK;
}

/* A device without kernels would be of no use: the compiler must be there, too, or prebuilt ones. */
static tally_status find_libraries(const tally_cuda_api **api) {
    int compiler;
    tally_status status = tally_cuda_driver(api);
    return status == TALLY_OK && !tally_prebuilt_exists() ? tally_cuda_compiler_version(&compiler) : status;
}

static tally_status find_device(tally_cuda_device *cuda, const char *options) {
    int count = 0;
    tally_status status = tally_cuda_check(cuda->api->cuDeviceGetCount(&count), "counting the CUDA devices");
    if (status != TALLY_OK)
        return status;
    if (cuda->ordinal >= count)
        return tally_gpu_no_device("cuda", "CUDA", options, count > 0 ? (unsigned)count : 0);
    return tally_cuda_check(cuda->api->cuDeviceGet(&cuda->device, cuda->ordinal), "finding the CUDA device");
}

static tally_status cuda_open(const char *options, tally_device **device) {
    tally_cuda_device cuda = {.owns_context = true};
    if (tally_cuda_names_many(options))
        return tally_cuda_many_open(options, device);
    tally_status status = tally_gpu_parse_ordinal("cuda", options, &cuda.ordinal);
    if (status == TALLY_OK)
        status = tally_cuda_driver(&cuda.api);
    if (status == TALLY_OK)
        status = find_device(&cuda, options);
    if (status == TALLY_OK)
        status = find_libraries(&cuda.api);
    if (status == TALLY_OK)
        status = tally_cuda_check(cuda.api->cuDevicePrimaryCtxRetain(&cuda.context, cuda.device),
                                  "opening the device's primary context");
    return status == TALLY_OK ? open_context(&cuda, device) : status;
}

/* The number by which cuda:N finds a device. */
static int ordinal_of(const tally_cuda_api *api, CUdevice device) {
    int count = 0;
    CUdevice candidate;
    api->cuDeviceGetCount(&count);
    for (int k = 0; k < count; k++)
        if (api->cuDeviceGet(&candidate, k) == CUDA_SUCCESS && candidate == device)
            return k;
    return 0;
}

tally_status tally_cuda_open(void *context, tally_device **device) {
    if (!context || !device)
        return tally_fail(
            TALLY_INVALID_ARGUMENT,
            "tally_cuda_open: NULL where a CUcontext and a place for the device are expected; for the context of "
            "the CUDA run time, open \"cuda:0\"");
    tally_cuda_device cuda = {.context = context};
    tally_status status = find_libraries(&cuda.api);
    if (status == TALLY_OK)
        status = tally_cuda_enter(&cuda);
    if (status != TALLY_OK)
        return status;
    CUresult result = cuda.api->cuCtxGetDevice(&cuda.device);
    tally_cuda_leave(&cuda);
    if (result != CUDA_SUCCESS)
        return tally_cuda_check(result, "finding the context's device");
    cuda.ordinal = ordinal_of(cuda.api, cuda.device);
    return open_context(&cuda, device);
}

static void cuda_close(tally_device *device) {
    tally_cuda_device *cuda = (tally_cuda_device *)device;
    if (tally_cuda_enter(cuda) == TALLY_OK) {
        cuda->api->cuStreamSynchronize(cuda->stream);
        tally_cuda_modules_unload(cuda);
        cuda->api->cuStreamDestroy(cuda->stream);
        tally_cuda_leave(cuda);
    }
    release_context(cuda);
    pthread_cond_destroy(&cuda->built);
    pthread_mutex_destroy(&cuda->mutex);
    free(cuda);
}

static const tally_device_interface cuda_interface = {
    .close = cuda_close,
    .describe = cuda_describe,
    .alloc = tally_cuda_memory_alloc,
    .free = tally_cuda_memory_free,
    .copy = tally_cuda_memory_copy,
    .supports = tally_cuda_supports,
    .plan_create = tally_cuda_plan_create,
    .plan_destroy = tally_gpu_plan_destroy,
    .plan_workspace = tally_gpu_plan_workspace,
    .run = tally_gpu_plan_run,
    .run_sized = tally_gpu_plan_run_sized,
    .push = tally_gpu_plan_push,
    .finish = tally_gpu_plan_finish,
    .reset = tally_gpu_plan_reset,
    .resume = tally_cuda_resume,
    .resumes_scans = true,
    .run_after = tally_cuda_run_after,
};

const tally_backend tally_cuda_backend = {
    .name = "cuda", .device_count = cuda_count, .describe = cuda_describe_index, .open = cuda_open};
