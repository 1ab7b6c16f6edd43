/* unrolled: the stages are written out. The driver removes those that the workgroup's size does not need when it makes
 * the pipeline.
 *
 * Removes: the loop, if the driver had not unrolled it by itself.
 * Left: the barriers.
 * Look at: whether it differs from recursive at all. */
shared float partial[BLOCK];

#define STAGE(stride)                                                                                                  \
    if (BLOCK > stride) {                                                                                              \
        if (t < stride)                                                                                                \
            partial[t] += partial[t + stride];                                                                         \
        barrier();                                                                                                     \
    }

void main() {
    const uint t = gl_LocalInvocationID.x, group = my_group(), first = group * 2 * BLOCK + t;
    if (group >= groups)
        return;
    partial[t] = element_or_0(first) + element_or_0(first + BLOCK);
    barrier();
    STAGE(512)
    STAGE(256)
    STAGE(128)
    STAGE(64)
    STAGE(32)
    STAGE(16)
    STAGE(8)
    STAGE(4)
    STAGE(2)
    STAGE(1)
    if (t == 0)
        sums.at[group] = partial[0];
}
