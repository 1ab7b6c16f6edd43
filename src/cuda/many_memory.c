/* The memory of several GPUs as one device. An array has a block on each GPU, in the order of the list, behind one
 * range of addresses. So a run whose parts are as even as the blocks reads each part from its own GPU's memory. */
#include "cuda/many_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/arithmetic.h"
#include "cuda/memory.h"

struct tally_cuda_span {
    tally_cuda_span *next;
    CUdeviceptr address;
    size_t end[TALLY_CUDA_MOST_GPUS]; /* of each GPU's block, from the address */
    int mapped;                       /* blocks that have memory */
};

static size_t bytes_of(const tally_cuda_many *many, const tally_cuda_span *span) {
    return span->end[many->count - 1];
}

/* ---- where memory is ---- */

static bool is_in(const tally_cuda_many *many, const tally_cuda_span *span, CUdeviceptr address) {
    return address >= span->address && address - span->address < bytes_of(many, span);
}

/* The place of the block that has the address; -1 if the memory is not in blocks. */
static int place_in_blocks(tally_cuda_many *many, CUdeviceptr address) {
    int place = -1;
    pthread_mutex_lock(&many->mutex);
    for (const tally_cuda_span *span = many->spans; span; span = span->next)
        if (is_in(many, span, address))
            for (place = 0; address - span->address >= span->end[place];)
                place++;
    pthread_mutex_unlock(&many->mutex);
    return place;
}

int tally_cuda_many_place(tally_cuda_many *many, const void *pointer, int otherwise) {
    const tally_cuda_api *api = many->gpu[0]->api;
    const CUdeviceptr address = tally_cuda_address(pointer);
    unsigned type = 0;
    int ordinal = -1, place = place_in_blocks(many, address);
    if (place >= 0)
        return place;
    if (api->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS ||
        type != CU_MEMORYTYPE_DEVICE ||
        api->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != CUDA_SUCCESS)
        return otherwise;
    for (place = 0; place < many->count; place++)
        if (many->gpu[place]->ordinal == ordinal)
            return place;
    return otherwise;
}

/* ---- memory in blocks ---- */

static size_t round_to(size_t bytes, size_t unit) {
    return (bytes + unit / 2) / unit * unit;
}

static void release(const tally_cuda_many *many, tally_cuda_span *span) {
    const tally_cuda_api *api = many->gpu[0]->api;
    for (int k = 0; k < span->mapped; k++) {
        const size_t begin = k ? span->end[k - 1] : 0;
        if (span->end[k] > begin)
            api->cuMemUnmap(span->address + begin, span->end[k] - begin);
    }
    if (span->address)
        api->cuMemAddressFree(span->address, bytes_of(many, span));
    free(span);
}

/* The mapping keeps the memory; the handle is not needed any more. */
static CUresult map_block(const tally_cuda_many *many, tally_cuda_span *span, int k) {
    const tally_cuda_api *api = many->gpu[0]->api;
    const size_t begin = k ? span->end[k - 1] : 0, bytes = span->end[k] - begin;
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, many->gpu[k]->device}};
    CUmemGenericAllocationHandle handle;
    if (!bytes)
        return CUDA_SUCCESS;
    CUresult result = api->cuMemCreate(&handle, bytes, &properties, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = api->cuMemMap(span->address + begin, bytes, 0, handle, 0);
    api->cuMemRelease(handle);
    return result;
}

static CUresult map_all(const tally_cuda_many *many, tally_cuda_span *span) {
    const tally_cuda_api *api = many->gpu[0]->api;
    CUmemAccessDesc access[TALLY_CUDA_MOST_GPUS];
    size_t readers = 0;
    CUresult result = api->cuMemAddressReserve(&span->address, bytes_of(many, span), 0, 0, 0);
    for (int k = 0; k < many->count && result == CUDA_SUCCESS; k++) {
        result = map_block(many, span, k);
        span->mapped += result == CUDA_SUCCESS;
        if (many->first[k] == k)
            access[readers++] = (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, many->gpu[k]->device},
                                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    }
    return result == CUDA_SUCCESS ? api->cuMemSetAccess(span->address, bytes_of(many, span), access, readers) : result;
}

static tally_status allocate_blocks(tally_cuda_many *many, size_t bytes, void **memory) {
    const size_t unit = many->granularity, whole = (bytes + unit - 1) / unit * unit;
    char what[64];
    tally_cuda_span *span = calloc(1, sizeof *span);
    if (!span)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for the description of an array");
    for (int k = 0; k < many->count; k++)
        span->end[k] = k + 1 == many->count ? whole : round_to(bytes / (size_t)many->count * (size_t)(k + 1), unit);
    tally_status status = tally_cuda_enter(many->gpu[0]);
    if (status != TALLY_OK) {
        free(span);
        return status;
    }
    const CUresult result = map_all(many, span);
    if (result != CUDA_SUCCESS)
        release(many, span);
    tally_cuda_leave(many->gpu[0]);
    snprintf(what, sizeof what, "allocating %zu bytes on %d GPUs", bytes, many->count);
    if (result != CUDA_SUCCESS)
        return tally_cuda_check(result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_OUT_OF_MEMORY : result, what);
    *memory = tally_cuda_pointer(span->address);
    pthread_mutex_lock(&many->mutex);
    span->next = many->spans;
    many->spans = span;
    pthread_mutex_unlock(&many->mutex);
    return TALLY_OK;
}

/* ---- the device's interface ---- */

/* Arrays that are too small for parts lie on the first GPU. */
tally_status tally_cuda_many_alloc(tally_device *device, size_t bytes, void **memory) {
    tally_cuda_many *many = (tally_cuda_many *)device;
    if (!many->granularity || bytes / many->granularity / TALLY_CUDA_LEAST_UNITS < (size_t)many->count ||
        bytes > SIZE_MAX / 2)
        return tally_cuda_memory_alloc(&many->gpu[0]->base, bytes, memory);
    return allocate_blocks(many, bytes, memory);
}

bool tally_cuda_is_many(const tally_device *device) {
    return device->interface->alloc == tally_cuda_many_alloc;
}

/* Takes the array from the list; NULL if it is not in blocks. */
static tally_cuda_span *take(tally_cuda_many *many, CUdeviceptr address) {
    pthread_mutex_lock(&many->mutex);
    tally_cuda_span **at = &many->spans;
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    tally_cuda_span *span = *at;
    if (span)
        *at = span->next;
    pthread_mutex_unlock(&many->mutex);
    return span;
}

void tally_cuda_many_free(tally_device *device, void *memory) {
    tally_cuda_many *many = (tally_cuda_many *)device;
    tally_cuda_span *span = take(many, tally_cuda_address(memory));
    if (!span) {
        tally_cuda_memory_free(&many->gpu[0]->base, memory);
        return;
    }
    if (tally_cuda_enter(many->gpu[0]) == TALLY_OK) {
        release(many, span);
        tally_cuda_leave(many->gpu[0]);
    }
}

size_t tally_cuda_many_rest(tally_cuda_many *many, CUdeviceptr address) {
    size_t rest = SIZE_MAX;
    pthread_mutex_lock(&many->mutex);
    for (const tally_cuda_span *span = many->spans; span; span = span->next)
        for (int k = many->count - 1; k >= 0 && is_in(many, span, address); k--)
            if (address - span->address < span->end[k])
                rest = span->end[k] - (address - span->address);
    pthread_mutex_unlock(&many->mutex);
    return rest;
}

/* The driver copies within one GPU's memory at a time. */
tally_status tally_cuda_many_copy(tally_device *device, void *to, const void *from, size_t bytes) {
    tally_cuda_many *many = (tally_cuda_many *)device;
    tally_status status = TALLY_OK;
    for (size_t done = 0, part; done < bytes && status == TALLY_OK; done += part) {
        void *const next_to = (char *)to + done;
        const void *const next_from = (const char *)from + done;
        part = least(bytes - done, least(tally_cuda_many_rest(many, tally_cuda_address(next_to)),
                                         tally_cuda_many_rest(many, tally_cuda_address(next_from))));
        status = tally_cuda_memory_copy(&many->gpu[0]->base, next_to, next_from, part);
    }
    return status;
}

void tally_cuda_many_free_all(tally_cuda_many *many) {
    while (many->spans)
        tally_cuda_many_free(&many->base, tally_cuda_pointer(many->spans->address));
}
