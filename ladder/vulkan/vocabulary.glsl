/* vocabulary: what the steps on Vulkan have in common; it stands before each step's text. BLOCK threads a workgroup; the
 * array, and where results go, are addresses. */
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_EXT_shader_atomic_float : enable

layout(constant_id = 0) const uint BLOCK = 256;
layout(local_size_x_id = 0) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer values {
    float at[];
};

layout(push_constant) uniform arguments {
    values x;    /* n elements */
    values sums; /* one per workgroup; or one for all, which starts at 0 */
    uint n, groups;
};

/* More than 65535 workgroups form rows of a grid; the last row may be too long. */
uint my_group() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

float element_or_0(uint i) {
    return i < n ? x.at[i] : 0;
}
