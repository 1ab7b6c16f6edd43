/* warp-unroll: no barriers once 32 threads are left, as if they were a warp that runs in step. WRONG ON PURPOSE: a
 * subgroup may have 4 to 128 threads, and they need not run in step.
 *
 * Removes: five barriers.
 * Left: a data race.
 * Look at: the result, here and on another device. */
shared float partial[BLOCK];

void main() {
    const uint t = gl_LocalInvocationID.x, group = my_group(), first = group * 2 * BLOCK + t;
    if (group >= groups)
        return;
    partial[t] = element_or_0(first) + element_or_0(first + BLOCK);
    barrier();
    for (uint stride = BLOCK / 2; stride > 32; stride /= 2) {
        if (t < stride)
            partial[t] += partial[t + stride];
        barrier();
    }
    if (t < 32) {
        partial[t] += partial[t + 32];
        partial[t] += partial[t + 16];
        partial[t] += partial[t + 8];
        partial[t] += partial[t + 4];
        partial[t] += partial[t + 2];
        partial[t] += partial[t + 1];
    }
    if (t == 0)
        sums.at[group] = partial[0];
}
