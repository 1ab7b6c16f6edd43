/* recursive: no atomic. Each workgroup writes its sum, and the shader is applied to these sums, until there is one. The
 * passes are counted in integers.
 *
 * Removes: atomics, which not every device has for floats, and their changing order: the same bits every run.
 * Left: a barrier in each stage of the loop.
 * Look at: launches: one per pass. */
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
        sums.at[group] = partial[0];
}
