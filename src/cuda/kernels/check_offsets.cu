/* The launch before a scan by segments in one wave: it checks the offsets and clears the entries. Each block tells which
 * is the first bad of the offsets that it has read, or rather its complement, so that 0 is none. The next launch looks
 * at what all blocks tell. */
extern "C" __global__ void __launch_bounds__(FINISHERS) check_offsets(one_wave_args a) {
    __shared__ uint64 not_bad;
    const scan_args &p = a.scan;
    wait_for_last();
    if (threadIdx.x == 0)
        not_bad = 0;
    __syncthreads();
    let_next_start();
    const uint64 entries = p.tiles + (p.tiles + GROUP - 1) / GROUP;
    for (uint64 k = blockIdx.x * FINISHERS + threadIdx.x; k < entries * (sizeof(entry) / 8); k += gridDim.x * FINISHERS)
        ((uint64 *)p.entries)[k] = 0;
    const findings f = look_at_all(p.offsets, p.segments, p.n);
    if (f.bad != NOT_FOUND)
        atomicMax((unsigned long long *)&not_bad, (unsigned long long)~f.bad);
    __syncthreads();
    if (threadIdx.x == 0)
        a.found[blockIdx.x] = not_bad;
}
