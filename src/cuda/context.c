/* The device's context. Every call of the library makes it current only for the duration of the call, so the caller's
 * context stays what it was. */
#include "cuda/cuda.h"

tally_status tally_cuda_enter(const tally_cuda_device *device) {
    return tally_cuda_check(device->api->cuCtxPushCurrent(device->context), "making the device's context current");
}

void tally_cuda_leave(const tally_cuda_device *device) {
    CUcontext left;
    device->api->cuCtxPopCurrent(&left);
}
