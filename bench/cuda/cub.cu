/* The peers that are C++ templates, and the roof, as C functions over device pointers, for bench/cuda/run. Everything
 * is enqueued in 'stream'; 'scratch' is a workspace of 'bytes' bytes, asked for with scratch = NULL. */
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

/* ---- the roof: reading everything once, and nothing else ---- */

__global__ void __launch_bounds__(256) read_all(const uint4 *x, size_t vectors, unsigned *never) {
    unsigned mixed = 0;
    size_t stride = (size_t)gridDim.x * blockDim.x, i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (; i + 3 * stride < vectors; i += 4 * stride) {
        uint4 a = __ldcs(x + i), b = __ldcs(x + i + stride), c = __ldcs(x + i + 2 * stride), d = __ldcs(x + i + 3 * stride);
        mixed ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    for (; i < vectors; i += stride) {
        uint4 a = __ldcs(x + i);
        mixed ^= a.x ^ a.y ^ a.z ^ a.w;
    }
    if (mixed == 0x12345678u) /* so that the loads stay */
        *never = mixed;
}

EXPORT int roof_read(const void *x, size_t bytes, void *never, int blocks, cudaStream_t stream) {
    read_all<<<blocks, 256, 0, stream>>>((const uint4 *)x, bytes / 16, (unsigned *)never);
    return (int)cudaGetLastError();
}

EXPORT int roof_copy(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

/* ---- CUB ---- */

#define REDUCTION(name, type, call)                                                                                    \
    EXPORT int cub_##name(void *scratch, size_t *bytes, const void *x_, void *out, size_t n, cudaStream_t stream) {    \
        const type *x = (const type *)x_;                                                                              \
        return (int)call;                                                                                              \
    }
#define SUM(name, type, result)                                                                                        \
    REDUCTION(name, type, cub::DeviceReduce::Sum(scratch, *bytes, x, (result *)out, n, stream))
SUM(sum_f32, float, float)
SUM(sum_f64, double, double)
SUM(sum_i32, int, int)
SUM(sum_u8, unsigned char, int)
SUM(sum_i16, short, int)
SUM(sum_f16, __half, __half)
SUM(sum_bf16, __nv_bfloat16, __nv_bfloat16)
REDUCTION(max_f32, float, cub::DeviceReduce::Max(scratch, *bytes, x, (float *)out, n, stream))
REDUCTION(max_f64, double, cub::DeviceReduce::Max(scratch, *bytes, x, (double *)out, n, stream))
REDUCTION(max_i32, int, cub::DeviceReduce::Max(scratch, *bytes, x, (int *)out, n, stream))
REDUCTION(argmax_f32, float,
          cub::DeviceReduce::ArgMax(scratch, *bytes, x, (float *)out, (long long *)((char *)out + 8), n, stream))

#define SCAN(name, type, result)                                                                                       \
    REDUCTION(scan_##name, type, cub::DeviceScan::InclusiveSum(scratch, *bytes, x, (result *)out, n, stream))
SCAN(f32, float, float)
SCAN(f64, double, double)
SCAN(i32, int, int)
SCAN(i64, long long, long long)
SCAN(i8, signed char, signed char)
SCAN(i16, short, short)
SCAN(f16, __half, __half)
SCAN(bf16, __nv_bfloat16, __nv_bfloat16)

#define EXCLUSIVE(name, type)                                                                                          \
    REDUCTION(exclusive_##name, type, cub::DeviceScan::ExclusiveSum(scratch, *bytes, x, (type *)out, n, stream))
EXCLUSIVE(f32, float)
EXCLUSIVE(f64, double)
EXCLUSIVE(i32, int)
EXCLUSIVE(i64, long long)

EXPORT int cub_segments_f32(void *scratch, size_t *bytes, const void *x, const void *offsets, void *out,
                            size_t segments, cudaStream_t stream) {
    const long long *o = (const long long *)offsets;
    return (int)cub::DeviceSegmentedReduce::Sum(scratch, *bytes, (const float *)x, (float *)out, (long long)segments, o,
                                                o + 1, stream);
}

EXPORT int cub_keys_f32(void *scratch, size_t *bytes, const void *keys, const void *x, void *keys_out, void *out,
                        void *runs, size_t n, cudaStream_t stream) {
    return (int)cub::DeviceReduce::ReduceByKey(scratch, *bytes, (const int *)keys, (int *)keys_out, (const float *)x,
                                               (float *)out, (int *)runs, cuda::std::plus<>{}, (int)n, stream);
}
