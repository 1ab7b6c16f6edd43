/* n-loads: sixteen elements per thread, a workgroup's width apart, before the tree.
 *
 * Removes: seven of eight workgroups, and their trees.
 * Left: loads of 4 bytes.
 * Look at: percent of the roof: this step gains more than all steps before it together. */
shared float partial[BLOCK];

void main() {
    const uint t = gl_LocalInvocationID.x, group = my_group(), first = group * 16 * BLOCK + t;
    if (group >= groups)
        return;
    float own = 0;
    for (uint k = 0; k < 16; k++)
        own += element_or_0(first + k * BLOCK);
    own = subgroupAdd(own);
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
