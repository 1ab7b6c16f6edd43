/* What memory gives: 'groups' workgroups stride over vectors of 16 bytes, eight of a thread in flight, and read them, or
 * with ROOF_COPY write them elsewhere. */
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x_id = 0) in;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer vectors {
    uvec4 at[];
};
layout(push_constant) uniform arguments {
    vectors from, to;
    uint count; /* a multiple of what a workgroup takes at a time */
    uint groups;
};

const uint IN_FLIGHT = 8;

void main() {
    const uint block = gl_WorkGroupSize.x, step_size = IN_FLIGHT * block;
    uvec4 all = uvec4(0);
    for (uint first = gl_WorkGroupID.x * step_size; first < count; first += groups * step_size) {
        uvec4 v[IN_FLIGHT];
        for (uint k = 0; k < IN_FLIGHT; k++)
            v[k] = from.at[first + k * block + gl_LocalInvocationID.x];
        for (uint k = 0; k < IN_FLIGHT; k++)
#ifdef ROOF_COPY
            to.at[first + k * block + gl_LocalInvocationID.x] = v[k];
#else
            all |= v[k];
#endif
    }
    if (all == uvec4(0x6c6c6174)) /* never: but the compiler does not know */
        to.at[0] = all;
}
