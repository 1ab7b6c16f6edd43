/* compare-swap: naive for a device that cannot add floats atomically. Read the result, add to it, and exchange it for
 * the new value if it has not changed; otherwise try again.
 *
 * Removes: nothing; it costs. When several workgroups try at a time, one succeeds and all others start over.
 * Left: tries, thousands for each sum where a large GPU holds a thousand workgroups.
 * Look at: the time, compared with naive's where the device has both: the price of tries that fail. */
shared float partial[BLOCK];

layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer bits_of {
    uint sum;
};

void add_by_turns(float v) {
    bits_of shared_by_all = bits_of(sums);
    uint before = shared_by_all.sum, found;
    while ((found = atomicCompSwap(shared_by_all.sum, before, floatBitsToUint(uintBitsToFloat(before) + v))) != before)
        before = found;
}

void main() {
    const uint t = gl_LocalInvocationID.x, group = my_group();
    if (group >= groups)
        return;
    partial[t] = element_or_0(group * BLOCK + t);
    barrier();
    for (uint stride = BLOCK / 2; stride > 0; stride /= 2) {
        if (t < stride)
            partial[t] += partial[t + stride];
        barrier();
    }
    if (t == 0)
        add_by_turns(partial[0]);
}
