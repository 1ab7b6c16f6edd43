/* naive: a workgroup loads one element per thread, adds the elements in shared memory with a stride that shrinks from
 * half the workgroup, and adds its sum to the result by one atomic.
 *
 * Removes: nothing; the others are compared with it.
 * Left: half of the threads do nothing after loading; the atomics queue for one address.
 * Look at: percent of the roof, and the gain of two-loads from half as many workgroups. */
shared float partial[BLOCK];

void main() {
    const uint t = gl_LocalInvocationID.x, group = my_group();
    if (group >= groups)
        return; /* all threads of the workgroup together */
    partial[t] = element_or_0(group * BLOCK + t);
    barrier();
    for (uint stride = BLOCK / 2; stride > 0; stride /= 2) {
        if (t < stride)
            partial[t] += partial[t + stride];
        barrier();
    }
    if (t == 0)
        atomicAdd(sums.at[0], partial[0]);
}
