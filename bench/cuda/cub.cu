/* The peers that are C++ templates, and the roof, as C functions over device pointers, for bench/cuda/run and
 * bench/survey. Everything is enqueued in 'stream'; 'scratch' is a workspace of 'bytes' bytes, asked for with scratch =
 * NULL. With -DPART=0 to 8 only the functions of one type are compiled (0: the roofs), so that a build can use many
 * cores: the parts link into one library.
 *
 * Results have tally's default output types: sums of integers are i64. Unsigned types have no functions of their own
 * (but for u8's sum): they take what signed ones of their width take. */
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/transform_iterator.h>

#include <type_traits>

#define EXPORT extern "C" __attribute__((visibility("default")))

#if !defined(PART) || PART == 0
/* ---- the roof: reading everything once with the ladder's kernel, and the driver's copy ---- */

#include "../../ladder/cuda/roof.cu"

EXPORT int roof_read(const void *x, size_t bytes, void *never, int blocks, cudaStream_t stream) {
    read_all<<<blocks, 256, 0, stream>>>((const uint4 *)x, (unsigned *)never, bytes / 16);
    return (int)cudaGetLastError();
}

EXPORT int roof_copy(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
#endif

/* ---- CUB ---- */

#define REDUCTION(name, type, call)                                                                                    \
    EXPORT int cub_##name(void *scratch, size_t *bytes, const void *x_, void *out, size_t n, cudaStream_t stream) {    \
        const type *x = (const type *)x_;                                                                              \
        return (int)call;                                                                                              \
    }
#define SUM(name, type, wide)                                                                                          \
    REDUCTION(sum_##name, type, cub::DeviceReduce::Sum(scratch, *bytes, x, (wide *)out, n, stream))

/* The index of the extremum comes first, as tally gives it; its value 16 bytes behind. */
#define OF_ALL(name, type, wide)                                                                                       \
    SUM(name, type, wide)                                                                                              \
    REDUCTION(max_##name, type, cub::DeviceReduce::Max(scratch, *bytes, x, (type *)out, n, stream))                    \
    REDUCTION(argmax_##name, type,                                                                                     \
              cub::DeviceReduce::ArgMax(scratch, *bytes, x, (type *)((char *)out + 16), (long long *)out, n, stream))  \
    REDUCTION(scan_##name, type, cub::DeviceScan::InclusiveSum(scratch, *bytes, x, (type *)out, n, stream))            \
    REDUCTION(exclusive_##name, type, cub::DeviceScan::ExclusiveSum(scratch, *bytes, x, (type *)out, n, stream))       \
    REDUCTION(max_scan_##name, type,                                                                                   \
              cub::DeviceScan::InclusiveScan(scratch, *bytes, x, (type *)out, cuda::maximum<>{}, n, stream))

/* Running sums of narrow integers in 64 bits. */
#define WIDE_SCANS(name, type)                                                                                         \
    REDUCTION(wide_scan_##name, type,                                                                                  \
              cub::DeviceScan::InclusiveScanInit(scratch, *bytes, x, (long long *)out, cuda::std::plus<>{}, 0ll, n,    \
                                                 stream))                                                              \
    REDUCTION(wide_exclusive_##name, type,                                                                             \
              cub::DeviceScan::ExclusiveScan(scratch, *bytes, x, (long long *)out, cuda::std::plus<>{}, 0ll, n, stream))

#define SEGMENTS(name, type, call)                                                                                     \
    EXPORT int cub_segments_##name(void *scratch, size_t *bytes, const void *x_, const void *offsets, void *out,       \
                                   size_t segments, cudaStream_t stream) {                                             \
        const type *x = (const type *)x_;                                                                              \
        const long long *o = (const long long *)offsets, count = (long long)segments;                                  \
        return (int)call;                                                                                              \
    }
#define OF_SEGMENTS(name, type, wide)                                                                                  \
    SEGMENTS(sum_##name, type,                                                                                         \
             cub::DeviceSegmentedReduce::Reduce(scratch, *bytes, x, (wide *)out, count, o, o + 1, cuda::std::plus<>{}, \
                                                (wide)0, stream))                                                      \
    SEGMENTS(max_##name, type,                                                                                         \
             cub::DeviceSegmentedReduce::Max(scratch, *bytes, x, (type *)out, count, o, o + 1, stream))                \
    SEGMENTS(scan_##name, type, segmented_scan(scratch, *bytes, x, (type *)out, o, count, stream))

#if !defined(PART) || PART == 0
/* How often each label of 0 to groups - 1 occurs. */
EXPORT int cub_histogram(void *scratch, size_t *bytes, const void *labels, void *counts, size_t groups, size_t n,
                         cudaStream_t stream) {
    return (int)cub::DeviceHistogram::HistogramEven(scratch, *bytes, (const int *)labels, (int *)counts,
                                                    (int)groups + 1, 0, (int)groups, (long long)n, stream);
}
#endif

/* By-key algorithms accumulate in the type of the values, so narrow integers are widened as they are read. */
template <typename Wide> struct widening {
    template <typename T> __host__ __device__ Wide operator()(T x) const {
        return (Wide)x;
    }
};

template <typename Wide, typename T> auto widened(const T *x) {
    if constexpr (std::is_same_v<Wide, T>)
        return x;
    else
        return thrust::make_transform_iterator(x, widening<Wide>{});
}

#define KEYS(name, key, type, wide)                                                                                    \
    EXPORT int cub_keys_sum_##name(void *scratch, size_t *bytes, const void *keys, const void *x, void *keys_out,      \
                                   void *out, void *runs, size_t n, cudaStream_t stream) {                             \
        return (int)cub::DeviceReduce::ReduceByKey(scratch, *bytes, (const key *)keys, (key *)keys_out,                \
                                                   widened<wide>((const type *)x), (wide *)out, (long long *)runs,     \
                                                   cuda::std::plus<>{}, (long long)n, stream);                         \
    }                                                                                                                  \
    EXPORT int cub_keys_scan_##name(void *scratch, size_t *bytes, const void *keys, const void *x, void *out,          \
                                    size_t n, cudaStream_t stream) {                                                   \
        return (int)cub::DeviceScan::InclusiveSumByKey(scratch, *bytes, (const key *)keys,                             \
                                                       widened<wide>((const type *)x), (wide *)out, (long long)n,      \
                                                       cuda::std::equal_to<>{}, stream);                               \
    }

/* Segmented scans and rows of one length are CCCL 3.3's; an older one's functions say that they have none. */
#if CUB_VERSION >= 300300
#include <cub/device/device_segmented_scan.cuh>
template <typename T>
cudaError_t segmented_scan(void *scratch, size_t &bytes, const T *x, T *out, const long long *o, long long count,
                           cudaStream_t stream) {
    return cub::DeviceSegmentedScan::InclusiveSegmentedSum(scratch, bytes, x, out, o, o + 1, count, stream);
}

template <typename T, typename Wide>
cudaError_t rows_sum(void *scratch, size_t &bytes, const T *x, Wide *out, size_t rows, size_t length,
                     cudaStream_t stream) {
    return cub::DeviceSegmentedReduce::Reduce(scratch, bytes, x, out, (long long)rows, (int)length,
                                              cuda::std::plus<>{}, (Wide)0, stream);
}
#else
template <typename... Any> cudaError_t segmented_scan(void *, size_t &, Any...) {
    return cudaErrorNotSupported;
}
template <typename... Any> cudaError_t rows_sum(void *, size_t &, Any...) {
    return cudaErrorNotSupported;
}
#endif

#define ROWS(name, type, wide)                                                                                         \
    EXPORT int cub_rows_sum_##name(void *scratch, size_t *bytes, const void *x, void *out, size_t rows, size_t length, \
                                   cudaStream_t stream) {                                                              \
        return (int)rows_sum(scratch, *bytes, (const type *)x, (wide *)out, rows, length, stream);                     \
    }

#define TYPE(name, type, wide)                                                                                         \
    OF_ALL(name, type, wide)                                                                                           \
    OF_SEGMENTS(name, type, wide)                                                                                      \
    ROWS(name, type, wide)                                                                                             \
    KEYS(i32_##name, int, type, wide)                                                                                  \
    KEYS(i64_##name, long long, type, wide)

#if !defined(PART) || PART == 1
TYPE(i8, signed char, long long)
WIDE_SCANS(i8, signed char)
SUM(u8, unsigned char, long long)
#endif
#if !defined(PART) || PART == 2
TYPE(i16, short, long long)
WIDE_SCANS(i16, short)
#endif
#if !defined(PART) || PART == 3
TYPE(i32, int, long long)
WIDE_SCANS(i32, int)
#endif
#if !defined(PART) || PART == 4
TYPE(i64, long long, long long)
#endif
#if !defined(PART) || PART == 5
TYPE(f16, __half, __half)
#endif
#if !defined(PART) || PART == 6
TYPE(bf16, __nv_bfloat16, __nv_bfloat16)
#endif
#if !defined(PART) || PART == 7
TYPE(f32, float, float)
#endif
#if !defined(PART) || PART == 8
TYPE(f64, double, double)
#endif
