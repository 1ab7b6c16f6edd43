/* subgroup-add: the built-in sum of a subgroup.
 *
 * Removes: the shuffles, if the device has something better.
 * Left: two elements per thread: many workgroups, each with its start and its end.
 * Look at: the error against shuffle's: the order of the additions is the device's. */
shared float partial[BLOCK];

void main() {
    const uint t = gl_LocalInvocationID.x, group = my_group(), first = group * 2 * BLOCK + t;
    if (group >= groups)
        return;
    float own = subgroupAdd(element_or_0(first) + element_or_0(first + BLOCK));
    if (gl_SubgroupInvocationID == 0)
        partial[gl_SubgroupID] = own;
    barrier();
    if (gl_SubgroupID == 0) {
        own = 0;
        for (uint i = gl_SubgroupInvocationID; i < gl_NumSubgroups; i += gl_SubgroupSize)
            own += partial[i];
        own = subgroupAdd(own);
        if (gl_SubgroupInvocationID == 0)
            sums.at[group] = own;
    }
}
