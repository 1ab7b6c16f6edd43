/* Kernels that share a function and have shared memory of their own: prune.c takes them apart. */
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform arguments {
    uint first;
} p;

shared uint of_reduce[64];
shared precise float of_spine[64];

uint doubled(uint x) {
    return 2 * x + p.first;
}
uint halved(uint x) {
    precise float half_of = float(x) * 0.5 + 1;
    return uint(half_of);
}

void reduce() {
    of_reduce[gl_LocalInvocationIndex] = doubled(gl_LocalInvocationIndex);
    barrier();
    of_reduce[gl_LocalInvocationIndex ^ 1u] += 1;
}
void spine() {
    of_spine[gl_LocalInvocationIndex] = float(halved(doubled(gl_LocalInvocationIndex)));
}
void report() {}

void main() {
    reduce();
    spine();
    report();
}
