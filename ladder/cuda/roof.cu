/* roof: what reductions are held against, in the ladder and in bench/: reading memory with nothing else to do. (What
 * scans are held against is the driver's copy: kernels that copy reached 0.97 of it for 1 GB on an H100.) This text
 * stands alone, so that nvcc compiles it, too. */

/* 16 bytes per load and four loads under way in each thread. The sum is used, so that the compiler keeps every load. */
extern "C" __global__ void read_all(const uint4 *x, unsigned *out, unsigned long long vectors) {
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned sum = 0;
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
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
