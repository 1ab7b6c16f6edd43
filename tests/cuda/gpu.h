/* Shared by the tests on a GPU: the GPU beside the CPU, whose results are the expected ones; memory of the GPU with
 * contents; random numbers. A program opens both with open_devices and is skipped without a GPU. */
#ifndef TALLY_TEST_CUDA_GPU_H
#define TALLY_TEST_CUDA_GPU_H

#include "support.h"

#include <math.h>

#include "cuda/cuda.h"

static tally_device *gpu, *cpu;

/* 0, or what the program has to exit with. */
UNUSED static int open_devices(void) {
    if (tally_open("cuda:0", &gpu) == TALLY_NO_DEVICE) {
        printf("skipped: %s\n", tally_last_error());
        return 77;
    }
    if (!gpu || tally_open("cpu", &cpu) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    return 0;
}

UNUSED static int close_devices(int code) {
    tally_close(gpu);
    tally_close(cpu);
    return code;
}

static tally_cuda_device *cuda(void) {
    return (tally_cuda_device *)gpu;
}

UNUSED static const tally_cuda_api *api(void) {
    return cuda()->api;
}

UNUSED static void *room(size_t bytes) {
    void *memory = NULL;
    assert_ok(tally_alloc(gpu, bytes ? bytes : 1, &memory));
    return memory;
}

UNUSED static void *upload(const void *from, size_t bytes) {
    void *memory = room(bytes);
    assert_ok(tally_copy(gpu, memory, from, bytes));
    return memory;
}

/* splitmix64 */
UNUSED static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

UNUSED static uint64_t random_below(uint64_t *state, uint64_t limit) {
    return random_bits(state) % limit;
}

/* From 0 to below 1. */
UNUSED static double random_real(uint64_t *state) {
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

/* From 1 to the limit, with as many of each order of magnitude. */
UNUSED static size_t log_uniform(uint64_t *state, size_t limit) {
    return (size_t)exp(random_real(state) * log((double)limit + 1));
}

#endif
