/* In place of the CUDA back end in a library that is built without it. */
#include "core/backend.h"
#include "core/status.h"
#include "tally/cuda.h"

static tally_status refuse(void) {
    return tally_fail(TALLY_NO_DEVICE, "this library is built without CUDA (TALLY_CUDA=OFF); open \"cpu\"");
}

static size_t absent_count(void) {
    return 0;
}

static void absent_describe(size_t index, tally_device_info *info) {
    (void)index;
    (void)info;
}

static tally_status absent_open(const char *options, tally_device **device) {
    (void)options;
    (void)device;
    return refuse();
}

tally_status tally_cuda_open(void *context, tally_device **device) {
    (void)context;
    (void)device;
    return refuse();
}

tally_status tally_cuda_alloc_host(tally_device *device, size_t bytes, void **memory) {
    (void)device;
    (void)bytes;
    (void)memory;
    return refuse();
}

void tally_cuda_free_host(tally_device *device, void *memory) {
    (void)device;
    (void)memory;
}

const tally_backend tally_cuda_backend = {"cuda", absent_count, absent_describe, absent_open, NULL};
