#include "cuda/kernel.h"

#include <stdlib.h>

#include "cuda/plan.h"

/* NULL with a message for a device of another back end. */
static tally_cuda_device *cuda_of(tally_device *device) {
    if (device && device->interface->plan_create == tally_cuda_plan_create)
        return (tally_cuda_device *)device;
    tally_fail(TALLY_UNSUPPORTED, "kernels of a program's own: this is not a CUDA device");
    return NULL;
}

/* The same with its context current; NULL with a status that is not TALLY_OK. */
static tally_cuda_device *enter(tally_device *device, tally_status *status) {
    tally_cuda_device *cuda = cuda_of(device);
    *status = cuda ? tally_cuda_enter(cuda) : TALLY_UNSUPPORTED;
    return *status == TALLY_OK ? cuda : NULL;
}

tally_status tally_cuda_facts_of(tally_device *device, tally_cuda_facts *facts) {
    const tally_cuda_device *cuda = cuda_of(device);
    if (!cuda)
        return TALLY_UNSUPPORTED;
    *facts = (tally_cuda_facts){cuda->architecture, cuda->multiprocessors, cuda->l2_bytes};
    return TALLY_OK;
}

tally_status tally_cuda_stream_of(tally_device *device, tally_stream *stream) {
    const tally_cuda_device *cuda = cuda_of(device);
    if (!cuda)
        return TALLY_UNSUPPORTED;
    *stream = (tally_stream)cuda->stream;
    return TALLY_OK;
}

/* ---- kernels ---- */

static tally_status measure(const tally_cuda_device *cuda, tally_cuda_kernel *kernel) {
    const tally_cuda_api *api = cuda->api;
    CUfunction function = (CUfunction)kernel->function;
    int blocks = 0;
    CUresult result = api->cuFuncGetAttribute(&kernel->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    if (result == CUDA_SUCCESS)
        result = api->cuFuncGetAttribute(&kernel->shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    if (result == CUDA_SUCCESS)
        result = api->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, (int)kernel->block, 0);
    kernel->resident = (uint64_t)blocks * (uint64_t)cuda->multiprocessors;
    return tally_cuda_check(result, "asking what a kernel takes");
}

tally_status tally_cuda_kernel_make(tally_device *device, const char *source, const char *const *options, size_t count,
                                    const char *name, unsigned block, tally_cuda_kernel *kernel) {
    const tally_cuda_module *module;
    CUfunction function;
    tally_status status;
    tally_cuda_device *cuda = enter(device, &status);
    if (!cuda)
        return status;
    status = tally_cuda_module_get(cuda, source, options, count, &module);
    if (status == TALLY_OK)
        status = tally_cuda_function(module, name, &function);
    if (status == TALLY_OK) {
        *kernel = (tally_cuda_kernel){.function = (void *)function, .block = block};
        status = measure(cuda, kernel);
    }
    tally_cuda_leave(cuda);
    return status;
}

tally_status tally_cuda_kernel_launch(tally_device *device, const tally_cuda_kernel *kernel, uint64_t grid,
                                      void **parameters) {
    tally_status status;
    tally_cuda_device *cuda = enter(device, &status);
    if (!cuda)
        return status;
    if (grid < 1 || grid > INT32_MAX)
        status = tally_fail(TALLY_INVALID_ARGUMENT, "a grid of %llu blocks: from 1 to 2147483647 can be launched",
                            (unsigned long long)grid);
    else
        status = tally_cuda_check(cuda->api->cuLaunchKernel((CUfunction)kernel->function, (unsigned)grid, 1, 1,
                                                            kernel->block, 1, 1, 0, cuda->stream, parameters, NULL),
                                  "launching a kernel");
    tally_cuda_leave(cuda);
    return status;
}

/* ---- memory ---- */

tally_status tally_cuda_set_words(tally_device *device, void *memory, uint32_t word, size_t words) {
    tally_status status = TALLY_OK;
    tally_cuda_device *cuda = words ? enter(device, &status) : NULL;
    if (!cuda)
        return status;
    status = tally_cuda_check(cuda->api->cuMemsetD32Async(tally_cuda_address(memory), word, words, cuda->stream),
                              "setting device memory");
    tally_cuda_leave(cuda);
    return status;
}

tally_status tally_cuda_copy_later(tally_device *device, void *to, const void *from, size_t bytes) {
    tally_status status = TALLY_OK;
    tally_cuda_device *cuda = bytes ? enter(device, &status) : NULL;
    if (!cuda)
        return status;
    status = tally_cuda_check(
        cuda->api->cuMemcpyAsync(tally_cuda_address(to), tally_cuda_address(from), bytes, cuda->stream), "copying");
    tally_cuda_leave(cuda);
    return status;
}

/* ---- the timer ---- */

struct tally_cuda_timer {
    tally_cuda_device *device;
    CUevent event[2];
};

tally_status tally_cuda_timer_create(tally_device *device, tally_cuda_timer **out) {
    tally_status status;
    tally_cuda_device *cuda = enter(device, &status);
    if (!cuda)
        return status;
    tally_cuda_timer *timer = calloc(1, sizeof *timer);
    if (!timer) {
        status = tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a timer");
    } else {
        timer->device = cuda;
        CUresult result = cuda->api->cuEventCreate(&timer->event[0], CU_EVENT_DEFAULT);
        if (result == CUDA_SUCCESS)
            result = cuda->api->cuEventCreate(&timer->event[1], CU_EVENT_DEFAULT);
        status = tally_cuda_check(result, "creating a timer");
    }
    tally_cuda_leave(cuda);
    if (status == TALLY_OK)
        *out = timer;
    else
        tally_cuda_timer_destroy(timer);
    return status;
}

void tally_cuda_timer_destroy(tally_cuda_timer *timer) {
    if (timer && tally_cuda_enter(timer->device) == TALLY_OK) {
        for (int i = 0; i < 2; i++)
            if (timer->event[i])
                timer->device->api->cuEventDestroy(timer->event[i]);
        tally_cuda_leave(timer->device);
    }
    free(timer);
}

static tally_status record(tally_cuda_timer *timer, int which) {
    tally_status status = tally_cuda_enter(timer->device);
    if (status != TALLY_OK)
        return status;
    status = tally_cuda_check(timer->device->api->cuEventRecord(timer->event[which], timer->device->stream),
                              "reading the device's clock");
    tally_cuda_leave(timer->device);
    return status;
}

tally_status tally_cuda_timer_begin(tally_cuda_timer *timer) {
    return record(timer, 0);
}

tally_status tally_cuda_timer_end(tally_cuda_timer *timer) {
    return record(timer, 1);
}

tally_status tally_cuda_timer_read(tally_cuda_timer *timer, double *seconds) {
    const tally_cuda_api *api = timer->device->api;
    float milliseconds = 0;
    tally_status status = tally_cuda_enter(timer->device);
    if (status != TALLY_OK)
        return status;
    CUresult result = api->cuEventSynchronize(timer->event[1]);
    if (result == CUDA_SUCCESS)
        result = api->cuEventElapsedTime(&milliseconds, timer->event[0], timer->event[1]);
    tally_cuda_leave(timer->device);
    *seconds = milliseconds * 1e-3;
    return tally_cuda_check(result, "reading the device's clock");
}
