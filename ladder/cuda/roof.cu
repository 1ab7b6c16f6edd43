/* roof: what the steps are held against: reading and copying memory with nothing else to do, and additions without
 * memory. */

/* 16 bytes per load and four loads under way in each thread. The sum is used, so that the compiler keeps every load. */
extern "C" __global__ void read_all(const uint4 *x, unsigned *out, uint64 vectors) {
    const uint64 stride = (uint64)gridDim.x * blockDim.x;
    unsigned sum = 0;
    uint64 i = global_thread();
    for (; i + 3 * stride < vectors; i += 4 * stride) {
        const uint4 a = x[i], b = x[i + stride], c = x[i + 2 * stride], d = x[i + 3 * stride];
        sum ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
        sum ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    for (; i < vectors; i += stride)
        sum ^= x[i].x ^ x[i].y ^ x[i].z ^ x[i].w;
    if (sum == 0x9e3779b9 && vectors == 0x632be59b)
        *out = sum; /* never */
}

extern "C" __global__ void copy_all(const uint4 *x, uint4 *out, uint64 vectors) {
    const uint64 stride = (uint64)gridDim.x * blockDim.x;
    uint64 i = global_thread();
    for (; i + 3 * stride < vectors; i += 4 * stride) {
        const uint4 a = x[i], b = x[i + stride], c = x[i + 2 * stride], d = x[i + 3 * stride];
        out[i] = a, out[i + stride] = b, out[i + 2 * stride] = c, out[i + 3 * stride] = d;
    }
    for (; i < vectors; i += stride)
        out[i] = x[i];
}

/* Eight pairs that add each other: 16 additions a round, none of which the compiler can compute beforehand. */
extern "C" __global__ void add_all(value *out, uint64 rounds) {
    value a[8], b[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
        a[k] = threadIdx.x, b[k] = k;
    for (uint64 round = 0; round < rounds; round++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            a[k] += b[k], b[k] += a[k];
    value sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += a[k] + b[k];
    if (rounds == 0)
        *out = sum; /* never */
}
