/* shuffle: the threads of a subgroup, whatever their number, read each other's registers. Each subgroup writes one word
 * of shared memory. The first subgroup adds these words, several per thread if it has too few threads.
 *
 * Removes: shared memory and barriers from all stages but one.
 * Left: five or so shuffles and additions, where the hardware may have one instruction.
 * Look at: subgroup-add. */
shared float partial[BLOCK];

float add_subgroup(float own) {
    for (uint distance = gl_SubgroupSize / 2; distance > 0; distance /= 2)
        own += subgroupShuffleDown(own, distance);
    return own;
}

void main() {
    const uint t = gl_LocalInvocationID.x, group = my_group(), first = group * 2 * BLOCK + t;
    if (group >= groups)
        return;
    float own = add_subgroup(element_or_0(first) + element_or_0(first + BLOCK));
    if (gl_SubgroupInvocationID == 0)
        partial[gl_SubgroupID] = own;
    barrier();
    if (gl_SubgroupID == 0) {
        own = 0;
        for (uint i = gl_SubgroupInvocationID; i < gl_NumSubgroups; i += gl_SubgroupSize)
            own += partial[i];
        own = add_subgroup(own);
        if (gl_SubgroupInvocationID == 0)
            sums.at[group] = own;
    }
}
