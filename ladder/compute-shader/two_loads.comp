/* two-loads: each thread loads two elements and adds them at once, so half as many threads serve the same array.
 *
 * Removes: the stage in which half of the threads only loaded; half of the workgroups, and their atomics.
 * Left: the atomics.
 * Look at: the speed-up, up to 2 where memory is not yet the limit. */
shared float partial[BLOCK];

void main() {
    const uint t = gl_LocalInvocationID.x, group = my_group(), first = group * 2 * BLOCK + t;
    if (group >= groups)
        return;
    partial[t] = element_or_0(first) + element_or_0(first + BLOCK);
    barrier();
    for (uint stride = BLOCK / 2; stride > 0; stride /= 2) {
        if (t < stride)
            partial[t] += partial[t + stride];
        barrier();
    }
    if (t == 0)
        atomicAdd(sums.at[0], partial[0]);
}
