/* vocabulary: what the steps on CUDA have in common; it stands before each step's text. A step is compiled for one
 * type (value), one operator, BLOCK threads a block, and one coarsening factor C. */
typedef VALUE value;
typedef unsigned long long uint64;

enum { WARP = 32 };
enum : unsigned { ALL_LANES = 0xffffffff };

#define OP_SUM 1
#define OP_MAX 2
#define OP_MIN 3

/* Steps that only sum use + and atomicAdd; steps for any operator use these. */
#if OP == OP_SUM
inline value identity() {
    return 0;
}
inline value combine(value a, value b) {
    return a + b;
}
inline void atomic_combine(value *to, value v) {
    atomicAdd(to, v);
}
#else
/* CUDA has atomic extrema of integers only. Positive floats are ordered like their bits, negative floats in reverse; and
 * as a signed integer, a negative float's bits are less than a positive one's. */
inline void atomic_max(int *to, int v) {
    atomicMax(to, v);
}
inline void atomic_max(float *to, float v) {
    if (__float_as_int(v) >= 0)
        atomicMax((int *)to, __float_as_int(v));
    else
        atomicMin((unsigned *)to, __float_as_uint(v));
}
inline void atomic_min(int *to, int v) {
    atomicMin(to, v);
}
inline void atomic_min(float *to, float v) {
    if (__float_as_int(v) >= 0)
        atomicMin((int *)to, __float_as_int(v));
    else
        atomicMax((unsigned *)to, __float_as_uint(v));
}
inline int least(int) {
    return -0x7fffffff - 1;
}
inline float least(float) {
    return -__int_as_float(0x7f800000);
}
inline int greatest(int) {
    return 0x7fffffff;
}
inline float greatest(float) {
    return __int_as_float(0x7f800000);
}
#if OP == OP_MAX
inline value identity() {
    return least(value(0));
}
inline value combine(value a, value b) {
    return a < b ? b : a;
}
inline void atomic_combine(value *to, value v) {
    atomic_max(to, v);
}
#else
inline value identity() {
    return greatest(value(0));
}
inline value combine(value a, value b) {
    return b < a ? b : a;
}
inline void atomic_combine(value *to, value v) {
    atomic_min(to, v);
}
#endif
#endif

/* Delivers a block's sum: by one atomic per block; or, if the launch rule is block-sums, to a word of its own. The host
 * adds these words, so that the blocks do not queue for one address. */
inline void add_block(value *sum, value of_block) {
#if BLOCK_SUMS
    sum[blockIdx.x] = of_block;
#else
    atomicAdd(sum, of_block);
#endif
}

/* Threads of a block: known when the kernel runs or, in a step with known-block, when it is compiled. */
inline unsigned block_threads() {
#if KNOWN_BLOCK
    return BLOCK;
#else
    return blockDim.x;
#endif
}

/* The number of this thread in the grid; and an element, or a value in place of one behind the array's end. */
inline uint64 global_thread() {
    return (uint64)blockIdx.x * blockDim.x + threadIdx.x;
}
inline value element_or(const value *x, uint64 i, uint64 n, value otherwise) {
    return i < n ? x[i] : otherwise;
}
