/* CUDA C for a C++ compiler of the host: the stand-in for NVRTC (nvrtc.c) puts this before a kernel's text. Threads are
 * coroutines (scheduler.h); a function here does the work of an instruction for one thread. Behaviour that CUDA leaves
 * undefined is refused here if that is cheap: lanes that are not together, barriers of different sizes, misaligned
 * accesses (the compiler's sanitizer finds those). Instructions that the emulated compute capability lacks are not
 * declared. */
#include <stddef.h>

#include "scheduler.h"

extern "C" void *memcpy(void *, const void *, size_t);

/* An attribute may stand where the kernels have alignas, behind __shared__ too. */
#define alignas(bytes) __attribute__((aligned(bytes)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __global__
#define __device__
#define __constant__ __attribute__((unused))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
/* Each live block runs in an OS thread of its own. Dynamic shared memory: see nvrtc.c. */
#define __shared__ __attribute__((aligned(16))) static thread_local

struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

static emulate_index threadIdx, blockIdx, blockDim, gridDim;

namespace emulate {
static const emulate_scheduler *scheduler;
static thread_local int anchor;
} // namespace emulate

/* Code that does not count as the kernel's access to memory. The compiler reports all other accesses, as it would to
 * its own detector of races (nvrtc.c). */
#define EMULATE_UNTRACKED __attribute__((no_sanitize("thread")))
#ifdef EMULATE_RACES
extern "C" {
#define EMULATE_ACCESS(name, ...)                                                                                      \
    EMULATE_UNTRACKED void __tsan_##name(void *at) {                                                                   \
        emulate::scheduler->access(at, __VA_ARGS__);                                                                   \
    }
#define EMULATE_ACCESSES(bytes)                                                                                        \
    EMULATE_ACCESS(read##bytes, bytes, false)                                                                          \
    EMULATE_ACCESS(write##bytes, bytes, true)                                                                          \
    EMULATE_ACCESS(unaligned_read##bytes, bytes, false)                                                                \
    EMULATE_ACCESS(unaligned_write##bytes, bytes, true)
EMULATE_ACCESSES(1)
EMULATE_ACCESSES(2)
EMULATE_ACCESSES(4)
EMULATE_ACCESSES(8)
EMULATE_ACCESSES(16)
EMULATE_UNTRACKED void __tsan_read_range(void *at, size_t bytes) {
    emulate::scheduler->access(at, bytes, false);
}
EMULATE_UNTRACKED void __tsan_write_range(void *at, size_t bytes) {
    emulate::scheduler->access(at, bytes, true);
}
EMULATE_UNTRACKED void __tsan_func_entry(void *) {}
EMULATE_UNTRACKED void __tsan_func_exit(void *) {}
EMULATE_UNTRACKED void __tsan_init() {}
}
#endif

namespace emulate {

static void *anchor_of_block() {
    return &anchor;
}

/* Parameters are copied in their order, as braces promise. */
template <class... Parameters> struct call_of {
    template <class... Values> call_of(void (*kernel)(Parameters...), Values... values) { kernel(values...); }
};
template <class Value> Value take(void **&parameters) {
    return *(Value *)*parameters++;
}
template <class... Parameters> void call(void (*kernel)(Parameters...), void **parameters) {
    call_of<Parameters...>{kernel, take<Parameters>(parameters)...};
}

template <class T> T from_bits(emulate_word bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> emulate_word bits_of(T value) {
    emulate_word bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
inline unsigned lane() {
    return threadIdx.x % 32;
}
/* All lanes of a warp take part in all warp operations. */
template <class T> const emulate_word *exchange(const char *what, unsigned mask, T value) {
    if (mask != 0xffffffffu)
        scheduler->fault("the emulator knows exchanges of whole warps only");
    return scheduler->exchange(what, bits_of(value));
}
template <class T> T shuffle(const char *what, unsigned mask, T value, unsigned from) {
    return from_bits<T>(exchange(what, mask, value)[from % 32]);
}
} // namespace emulate

/* A kernel's description for the driver's stand-in; nvrtc.c writes it after the kernels. */
#define EMULATE_KERNEL(name, blocks_a_cluster, most_threads)                                                           \
    extern "C" __attribute__((visibility("default")))                                                                  \
    const emulate_kernel emulate_kernel_##name = {[](void **parameters) { emulate::call(name, parameters); },          \
                                                  blocks_a_cluster,                                                    \
                                                  most_threads,                                                        \
                                                  &threadIdx,                                                          \
                                                  &blockIdx,                                                           \
                                                  &blockDim,                                                           \
                                                  &gridDim,                                                            \
                                                  emulate::anchor_of_block,                                            \
                                                  &emulate::scheduler};

/* ---- barriers and fences ---- */

inline void __syncthreads() {
    emulate::scheduler->sync(0, 0);
}
inline void __syncwarp() {
    emulate::exchange("__syncwarp", 0xffffffffu, 0);
}
/* A thread that polls has a fence in its loop, where it gives way to others. */
inline void __threadfence_block() {
    emulate::scheduler->give_way();
}
inline void __threadfence() {
    emulate::scheduler->give_way();
}

/* ---- what the lanes of a warp do together ---- */

template <class T> T __shfl_sync(unsigned mask, T value, unsigned from) {
    return emulate::shuffle("__shfl_sync", mask, value, from);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
    const unsigned lane = emulate::lane();
    return emulate::shuffle("__shfl_down_sync", mask, value, lane + distance < 32 ? lane + distance : lane);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned distance) {
    const unsigned lane = emulate::lane();
    return emulate::shuffle("__shfl_up_sync", mask, value, lane >= distance ? lane - distance : lane);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, unsigned bits) {
    return emulate::shuffle("__shfl_xor_sync", mask, value, emulate::lane() ^ bits);
}
inline unsigned __ballot_sync(unsigned mask, bool vote) {
    const emulate_word *votes = emulate::exchange("__ballot_sync", mask, vote);
    unsigned all = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        all |= (unsigned)votes[lane] << lane;
    return all;
}
inline int __all_sync(unsigned mask, bool vote) {
    return __ballot_sync(mask, vote) == 0xffffffffu;
}
#if EMULATE_ARCHITECTURE >= 80
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
    const emulate_word *values = emulate::exchange("__reduce_or_sync", mask, value);
    unsigned all = 0;
    for (int k = 0; k < 32; k++)
        if (mask >> k & 1)
            all |= (unsigned)values[k];
    return all;
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
    const emulate_word *values = emulate::exchange("__reduce_add_sync", mask, value);
    unsigned sum = 0;
    for (int k = 0; k < 32; k++)
        sum += mask >> k & 1 ? (unsigned)values[k] : 0;
    return sum;
}
template <class T> T __reduce_max_sync(unsigned mask, T value) {
    const emulate_word *values = emulate::exchange("__reduce_max_sync", mask, value);
    T most = value;
    for (unsigned lane = 0; lane < 32; lane++)
        most = (T)values[lane] > most ? (T)values[lane] : most;
    return most;
}
template <class T> T __reduce_min_sync(unsigned mask, T value) {
    const emulate_word *values = emulate::exchange("__reduce_min_sync", mask, value);
    T least = value;
    for (unsigned lane = 0; lane < 32; lane++)
        least = (T)values[lane] < least ? (T)values[lane] : least;
    return least;
}
#endif

/* ---- memory ---- */

template <class T> T __ldcs(const T *from) {
    return *from;
}
template <class T> T __ldcg(const T *from) {
    return *from;
}
template <class T> void __stcs(T *to, T value) {
    *to = value;
}
template <class T> void __stcg(T *to, T value) {
    *to = value;
}

/* Threads take turns only where they wait, so that nothing comes between these. */
template <class T, class Change> EMULATE_UNTRACKED T emulate_atomic(T *to, Change change) {
    const T before = *to;
    *to = change(before);
    return before;
}
template <class T, class V> T atomicAdd(T *to, V value) {
    return emulate_atomic(to, [=](T before) { return (T)(before + (T)value); });
}
template <class T, class V> T atomicAnd(T *to, V value) {
    return emulate_atomic(to, [=](T before) { return (T)(before & (T)value); });
}
template <class T, class V> T atomicXor(T *to, V value) {
    return emulate_atomic(to, [=](T before) { return (T)(before ^ (T)value); });
}
inline unsigned atomicInc(unsigned *to, unsigned last) {
    return emulate_atomic(to, [=](unsigned before) { return before >= last ? 0 : before + 1; });
}
template <class T, class V> T atomicOr(T *to, V value) {
    return emulate_atomic(to, [=](T before) { return (T)(before | (T)value); });
}
template <class T, class V> T atomicMax(T *to, V value) {
    return emulate_atomic(to, [=](T before) { return before < (T)value ? (T)value : before; });
}
template <class T, class V> T atomicMin(T *to, V value) {
    return emulate_atomic(to, [=](T before) { return (T)value < before ? (T)value : before; });
}

/* ---- bits ---- */

inline int __float_as_int(float x) {
    return emulate::bits_of(x);
}
template <class T> inline T min(T a, T b) {
    return b < a ? b : a;
}
template <class T> inline T max(T a, T b) {
    return a < b ? b : a;
}
inline unsigned __float_as_uint(float x) {
    return emulate::bits_of(x);
}
inline float __int_as_float(int bits) {
    return emulate::from_bits<float>(bits);
}
inline float __uint_as_float(unsigned bits) {
    return emulate::from_bits<float>(bits);
}
inline long long __double_as_longlong(double x) {
    return emulate::bits_of(x);
}
inline double __longlong_as_double(long long bits) {
    return emulate::from_bits<double>(bits);
}
inline int __double2hiint(double x) {
    return emulate::bits_of(x) >> 32;
}
inline int __double2loint(double x) {
    return (int)emulate::bits_of(x);
}
inline double __hiloint2double(int high, int low) {
    return emulate::from_bits<double>((emulate_word)(unsigned)high << 32 | (unsigned)low);
}
inline int __clz(int word) {
    return word ? __builtin_clz((unsigned)word) : 32;
}
inline int __clzll(long long word) {
    return word ? __builtin_clzll((unsigned long long)word) : 64;
}
inline int __ffs(int word) {
    return __builtin_ffs(word);
}
inline int __ffsll(long long word) {
    return __builtin_ffsll(word);
}
inline int __popcll(unsigned long long word) {
    return __builtin_popcountll(word);
}
inline int __popc(unsigned word) {
    return __builtin_popcount(word);
}
inline unsigned long long __brevll(unsigned long long word) {
    unsigned long long reversed = 0;
    for (int k = 0; k < 64; k++)
        reversed |= (word >> k & 1) << (63 - k);
    return reversed;
}
inline unsigned __brev(unsigned word) {
    return (unsigned)(__brevll(word) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> shift % 32);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << shift % 32 >> 32);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    const unsigned most = shift < 32 ? shift : 32;
    return most == 32 ? low : __funnelshift_l(low, high, most);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const unsigned long long bytes = (unsigned long long)high << 32 | low;
    unsigned word = 0;
    for (int b = 0; b < 4; b++) {
        const unsigned which = selector >> 4 * b, byte = (unsigned)(bytes >> 8 * (which & 7) & 255);
        word |= (which & 8 ? byte & 128 ? 255u : 0 : byte) << 8 * b; /* or copies of its sign */
    }
    return word;
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
/* By halves of 16 bits. */
template <class Each> unsigned emulate_halves(unsigned a, unsigned b, Each each) {
    return (unsigned)(unsigned short)each((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16 |
           (unsigned short)each((unsigned short)a, (unsigned short)b);
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
    return emulate_halves(a, b, [](unsigned x, unsigned y) { return x > y ? x : y; });
}
inline unsigned __vminu2(unsigned a, unsigned b) {
    return emulate_halves(a, b, [](unsigned x, unsigned y) { return x < y ? x : y; });
}
inline unsigned __vsub2(unsigned a, unsigned b) {
    return emulate_halves(a, b, [](unsigned x, unsigned y) { return x - y; });
}
#if EMULATE_ARCHITECTURE >= 90
inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c) {
    return __vminu2(emulate_halves(a, b, [](unsigned x, unsigned y) { return x + y; }), c);
}
#endif

/* ---- arithmetic: the host rounds to nearest, and nothing is contracted (nvrtc.c) ---- */

inline double __dadd_rn(double a, double b) {
    return a + b;
}
inline double __dsub_rn(double a, double b) {
    return a - b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}
inline float __fmaf_rn(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
/* Downwards: a value that was rounded up moves back by one. Right where c is near the sum, so that c - nearest is
 * exact. */
inline double __fma_rd(double a, double b, double c) {
    const double nearest = __builtin_fma(a, b, c);
    return __builtin_fma(a, b, c - nearest) < 0 ? __builtin_nextafter(nearest, -__builtin_inf()) : nearest;
}
/* Towards zero: a value that was rounded away from zero moves back by one. A long double holds every 64-bit integer. */
inline float emulate_toward_zero(long double x) {
    const float nearest = (float)x;
    return __builtin_fabsl(nearest) > __builtin_fabsl(x) ? __builtin_nextafterf(nearest, 0) : nearest;
}
inline float __double2float_rz(double x) {
    return emulate_toward_zero(x);
}
inline float __ll2float_rn(long long x) {
    return (float)x;
}
inline float __ll2float_rz(long long x) {
    return emulate_toward_zero(x);
}
inline float __ull2float_rz(unsigned long long x) {
    return emulate_toward_zero(x);
}
#define EMULATE_FUNCTION(name)                                                                                         \
    inline float name(float x) {                                                                                       \
        return __builtin_##name##f(x);                                                                                 \
    }                                                                                                                  \
    inline double name(double x) {                                                                                     \
        return __builtin_##name(x);                                                                                    \
    }
EMULATE_FUNCTION(exp)
EMULATE_FUNCTION(log)
EMULATE_FUNCTION(sqrt)
EMULATE_FUNCTION(fabs)
inline float fabsf(float x) {
    return __builtin_fabsf(x);
}

#include "ptx.h"
