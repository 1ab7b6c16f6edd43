/* The loops of the roofs, one text for every instruction set: bench_roof.c includes this file once for each, with
 * ROOF(name) giving a name, ROOF_TARGET the instruction set and ROOF_STREAM(to, value) a store that bypasses the
 * caches, where there is one. Vectors are 64 bytes wide in all of them; narrower machines split them.
 *
 * SPDX-License-Identifier: Apache-2.0 */

#define ROOF_AT(at)  (*(const roof_vector *)(const void *)(from + i + (at)))
#define ROOF_PUT(at) (*(roof_vector *)(void *)(to + i + (at)))

/* Eight accumulators hide the latency of the adds; spelt out, so that every compiler keeps them in registers.
 * Integers, so that no bit pattern is slower than another. */
ROOF_TARGET static uint64_t ROOF(read)(const char *from, size_t bytes) {
    roof_vector a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, g = {0}, h = {0};
    size_t i = 0;
    for (; i + 512 <= bytes; i += 512) {
        a += ROOF_AT(0), b += ROOF_AT(64), c += ROOF_AT(128), d += ROOF_AT(192);
        e += ROOF_AT(256), f += ROOF_AT(320), g += ROOF_AT(384), h += ROOF_AT(448);
    }
    for (; i + 64 <= bytes; i += 64)
        a += ROOF_AT(0);
    uint64_t sum = 0;
    for (; i < bytes; i++)
        sum += (unsigned char)from[i];
    a = ((a + b) + (c + d)) + ((e + f) + (g + h));
    return sum + a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}

ROOF_TARGET static void ROOF(copy)(char *to, const char *from, size_t bytes) {
    size_t i = 0;
    for (; i + 256 <= bytes; i += 256) {
        ROOF_PUT(0) = ROOF_AT(0), ROOF_PUT(64) = ROOF_AT(64);
        ROOF_PUT(128) = ROOF_AT(128), ROOF_PUT(192) = ROOF_AT(192);
    }
    memcpy(to + i, from + i, bytes - i);
}

ROOF_TARGET static void ROOF(fill)(char *to, size_t bytes) {
    const roof_vector value = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t i = 0;
    for (; i + 256 <= bytes; i += 256) {
        ROOF_PUT(0) = value, ROOF_PUT(64) = value, ROOF_PUT(128) = value, ROOF_PUT(192) = value;
    }
    memset(to + i, 1, bytes - i);
}

#ifdef ROOF_STREAM
ROOF_TARGET static void ROOF(copy_stream)(char *to, const char *from, size_t bytes) {
    size_t head = (64 - (uintptr_t)to % 64) % 64;
    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    size_t i = head;
    for (; i + 256 <= bytes; i += 256) {
        ROOF_STREAM(to + i, ROOF_AT(0));
        ROOF_STREAM(to + i + 64, ROOF_AT(64));
        ROOF_STREAM(to + i + 128, ROOF_AT(128));
        ROOF_STREAM(to + i + 192, ROOF_AT(192));
    }
    memcpy(to + i, from + i, bytes - i);
    __builtin_ia32_sfence();
}

ROOF_TARGET static void ROOF(fill_stream)(char *to, size_t bytes) {
    const roof_vector value = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t head = (64 - (uintptr_t)to % 64) % 64;
    head = head < bytes ? head : bytes;
    memset(to, 1, head);
    size_t i = head;
    for (; i + 256 <= bytes; i += 256) {
        ROOF_STREAM(to + i, value);
        ROOF_STREAM(to + i + 64, value);
        ROOF_STREAM(to + i + 128, value);
        ROOF_STREAM(to + i + 192, value);
    }
    memset(to + i, 1, bytes - i);
    __builtin_ia32_sfence();
}
#endif

#undef ROOF_AT
#undef ROOF_PUT
