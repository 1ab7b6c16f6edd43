/* What the functions of kernels/wide.comp make of each pair of some numbers: wide.c knows what they are to. */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#define HAS_INT64 0
#include "wide.comp"

layout(local_size_x_id = 0) in;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer numbers {
    wide number[];
};
layout(push_constant) uniform arguments {
    address given, made;
    uint count;
} p;

const uint RESULTS = 15;

void main() {
    const uint pair = gl_GlobalInvocationID.x, first = pair * RESULTS;
    if (pair >= p.count * p.count)
        return;
    const wide a = numbers(p.given).number[pair / p.count], b = numbers(p.given).number[pair % p.count];
    numbers made = numbers(p.made);
    wide rest = wide(0);
    made.number[first + 0] = plus(a, b);
    made.number[first + 1] = plus(a, b.x);
    made.number[first + 2] = minus(a, b);
    made.number[first + 3] = minus(a, b.x);
    made.number[first + 4] = times(a, b);
    made.number[first + 5] = times(a, b.x);
    made.number[first + 6] = times(a.x, b.x);
    made.number[first + 7] = least(a, b);
    made.number[first + 8] = most(a, b);
    made.number[first + 9] = wide(at_most(a, b.x), (less(a, b) ? 1 : 0) | (is_below(a, b.x) ? 2 : 0));
    made.number[first + 10] = shifted_up(a, b.x % 65);
    made.number[first + 11] = shifted_down(a, b.x % 65);
    made.number[first + 12] = b == wide(0) ? b : divided(a, b, rest);
    made.number[first + 13] = rest;
    made.number[first + 14] = plus(wide_of(int(a.x)), uint(top_bit(b)));
}
