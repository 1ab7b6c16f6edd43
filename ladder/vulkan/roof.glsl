/* roof: what the steps are held against: n vectors of 16 bytes are read, or with COPY written elsewhere, and nothing is
 * done with them. 'groups' workgroups stride over them with eight vectors of each thread in flight. */
layout(buffer_reference, std430, buffer_reference_align = 16) buffer vectors {
    uvec4 at[];
};

const uint IN_FLIGHT = 8;

void main() {
    vectors from = vectors(x), to = vectors(sums);
    const uint t = gl_LocalInvocationID.x, step_size = IN_FLIGHT * BLOCK, whole = n / step_size * step_size;
    uvec4 all = uvec4(0);
    if (my_group() >= groups)
        return;
    for (uint first = my_group() * step_size; first < whole; first += groups * step_size) {
        uvec4 v[IN_FLIGHT];
        for (uint k = 0; k < IN_FLIGHT; k++)
            v[k] = from.at[first + k * BLOCK + t];
        for (uint k = 0; k < IN_FLIGHT; k++)
#ifdef COPY
            to.at[first + k * BLOCK + t] = v[k];
#else
            all |= v[k];
#endif
    }
    for (uint i = whole + my_group() * BLOCK + t; i < n; i += groups * BLOCK)
#ifdef COPY
        to.at[i] = from.at[i];
#else
        all |= from.at[i];
#endif
    if (all == uvec4(0x6c6c6174))
        to.at[0] = all; /* never: but the compiler does not know */
}
