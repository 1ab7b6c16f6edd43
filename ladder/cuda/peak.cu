/* peak: additions without memory. It stands behind the vocabulary. */

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
