#include "cuda/many_device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/many_memory.h"
#include "cuda/many_plan.h"

/* ---- the list ---- */

bool tally_cuda_names_many(const char *options) {
    return strpbrk(options, "*,") != NULL;
}

static tally_status refuse_list(const char *options) {
    return tally_fail(TALLY_INVALID_ARGUMENT,
                      "device spec: 'cuda:%.32s'; give a list such as 'cuda:0,1', or 'cuda:*' for all GPUs", options);
}

/* The numbers of the GPUs in "0,1"; none in "*". */
static tally_status read_list(const char *options, int ordinals[], int *count) {
    *count = 0;
    if (strcmp(options, "*") == 0)
        return TALLY_OK;
    for (const char *next = options; *next; (*count)++) {
        char *end;
        if (*count == TALLY_CUDA_MOST_GPUS)
            return tally_fail(TALLY_UNSUPPORTED, "device spec 'cuda:%.32s': it has more than %d GPUs", options,
                              TALLY_CUDA_MOST_GPUS);
        if (*next < '0' || *next > '9')
            return refuse_list(options);
        const unsigned long number = strtoul(next, &end, 10);
        if (*end && (*end != ',' || !end[1]))
            return refuse_list(options);
        ordinals[*count] = number > INT_MAX ? INT_MAX : (int)number;
        next = *end ? end + 1 : end;
    }
    return TALLY_OK;
}

static tally_status list_all(const tally_cuda_api *api, int ordinals[], int *count) {
    const tally_status status = tally_cuda_check(api->cuDeviceGetCount(count), "counting the CUDA devices");
    if (status != TALLY_OK)
        return status;
    if (!*count)
        return tally_fail(TALLY_NO_DEVICE, "no device 'cuda:*': this machine shows no CUDA device; open \"cpu\"");
    if (*count > TALLY_CUDA_MOST_GPUS)
        return tally_fail(TALLY_UNSUPPORTED, "device spec 'cuda:*': it has more than %d GPUs", TALLY_CUDA_MOST_GPUS);
    for (int k = 0; k < *count; k++)
        ordinals[k] = k;
    return TALLY_OK;
}

/* ---- peers ---- */

/* Lets 'gpu' use the memory of 'peer'. */
static tally_status reach(const tally_cuda_device *gpu, const tally_cuda_device *peer) {
    const tally_cuda_api *api = gpu->api;
    int can = 0;
    if (!api->cuDeviceCanAccessPeer || !api->cuCtxEnablePeerAccess || !api->cuStreamWaitEvent ||
        api->cuDeviceCanAccessPeer(&can, gpu->device, peer->device) != CUDA_SUCCESS || !can)
        return tally_fail(TALLY_NO_DEVICE,
                          "cuda:%d cannot use the memory of cuda:%d, so they cannot be one device; share the data out "
                          "with tally/nccl.h",
                          gpu->ordinal, peer->ordinal);
    tally_status status = tally_cuda_enter(gpu);
    if (status != TALLY_OK)
        return status;
    const CUresult result = api->cuCtxEnablePeerAccess(peer->context, 0);
    tally_cuda_leave(gpu);
    return result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
               ? TALLY_OK
               : tally_cuda_check(result, "letting a GPU use another's memory");
}

static tally_status reach_all(const tally_cuda_many *many) {
    tally_status status = TALLY_OK;
    for (int k = 0; k < many->count && status == TALLY_OK; k++)
        for (int j = 0; j < many->count && status == TALLY_OK; j++)
            if (many->first[k] == k && many->first[j] == j && j != k)
                status = reach(many->gpu[k], many->gpu[j]);
    return status;
}

/* Without the driver's calls for memory in blocks, all memory lies on the first GPU. */
static size_t find_granularity(const tally_cuda_many *many) {
    const tally_cuda_api *api = many->gpu[0]->api;
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, many->gpu[0]->device}};
    size_t bytes = 0;
    if (!api->cuMemAddressReserve || !api->cuMemAddressFree || !api->cuMemCreate || !api->cuMemRelease ||
        !api->cuMemMap || !api->cuMemUnmap || !api->cuMemSetAccess || !api->cuMemGetAllocationGranularity ||
        api->cuMemGetAllocationGranularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS)
        return 0;
    return bytes;
}

/* ---- opening and closing ---- */

static void many_close(tally_device *device) {
    tally_cuda_many *many = (tally_cuda_many *)device;
    tally_cuda_many_free_all(many);
    for (int k = 0; k < many->count; k++)
        if (many->first[k] == k && many->gpu[k])
            tally_close(&many->gpu[k]->base);
    pthread_mutex_destroy(&many->mutex);
    free(many);
}

static tally_status open_gpus(tally_cuda_many *many, const int ordinals[]) {
    tally_status status = TALLY_OK;
    for (int k = 0; k < many->count && status == TALLY_OK; k++) {
        char spec[32];
        int j = 0;
        while (ordinals[j] != ordinals[k])
            j++;
        many->first[k] = j;
        snprintf(spec, sizeof spec, "cuda:%d", ordinals[k]);
        tally_device *opened = j < k ? &many->gpu[j]->base : NULL;
        if (j == k)
            status = tally_open(spec, &opened);
        many->gpu[k] = (tally_cuda_device *)opened;
    }
    return status == TALLY_OK ? reach_all(many) : status;
}

static void describe(const tally_device *device, tally_device_info *info) {
    const tally_cuda_many *many = (const tally_cuda_many *)device;
    tally_device_info one = {.struct_size = sizeof one};
    tally_device_describe(&many->gpu[0]->base, &one);
    size_t length = 0;
    for (int k = 0; k < many->count; k++) {
        length += (size_t)snprintf(info->spec + length, sizeof info->spec - length, "%s%d",
                                   k ? "," : "cuda:", many->gpu[k]->ordinal);
        if (many->first[k] == k)
            info->memory_bytes += many->gpu[k]->memory_bytes;
    }
    snprintf(info->name, sizeof info->name, "%d x %.100s", many->count, one.name);
    snprintf(info->detail, sizeof info->detail, "%s", one.detail);
}

static const tally_device_interface many_interface = {
    .close = many_close,
    .describe = describe,
    .alloc = tally_cuda_many_alloc,
    .free = tally_cuda_many_free,
    .copy = tally_cuda_many_copy,
    .supports = tally_cuda_many_supports,
    .plan_create = tally_cuda_many_plan_create,
    .plan_destroy = tally_cuda_many_plan_destroy,
    .plan_workspace = tally_cuda_many_plan_workspace,
    .run = tally_cuda_many_run,
    .push = tally_cuda_many_push,
    .finish = tally_cuda_many_finish,
    .reset = tally_cuda_many_reset,
    .resume = tally_cuda_many_resume,
    .resumes_scans = true,
    .run_sized = tally_cuda_many_run_sized,
};

tally_status tally_cuda_many_open(const char *options, tally_device **device) {
    const tally_cuda_api *api;
    int ordinals[TALLY_CUDA_MOST_GPUS], count;
    tally_status status = read_list(options, ordinals, &count);
    if (status == TALLY_OK)
        status = tally_cuda_driver(&api);
    if (status == TALLY_OK && !count)
        status = list_all(api, ordinals, &count);
    if (status != TALLY_OK)
        return status;
    tally_cuda_many *many = calloc(1, sizeof *many);
    if (!many)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a device of several GPUs");
    many->base.interface = &many_interface;
    many->count = count;
    pthread_mutex_init(&many->mutex, NULL);
    status = open_gpus(many, ordinals);
    if (status != TALLY_OK) {
        many_close(&many->base);
        return status;
    }
    many->granularity = find_granularity(many);
    *device = &many->base;
    return TALLY_OK;
}
