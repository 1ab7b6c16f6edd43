/* Memory filled with one value, for scans that no longer change. */
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

ALWAYS_INLINE void store_vector(bool stream, char *to, v_u8 v) {
    if (stream)
        stream_vector(to, v);
    else
        memcpy(to, &v, sizeof v);
}

/* 'stream' is a constant where this is inlined. */
ALWAYS_INLINE void fill_with(const char *pattern, size_t bytes, bool stream, char *to) {
    const size_t head = (size_t)(-(uintptr_t)to) % VECTOR_BYTES;
    if (bytes < 2 * VECTOR_BYTES) {
        memcpy(to, pattern, bytes < VECTOR_BYTES ? bytes : VECTOR_BYTES);
        if (bytes > VECTOR_BYTES)
            memcpy(to + VECTOR_BYTES, pattern, bytes - VECTOR_BYTES);
        return;
    }
    v_u8 v;
    memcpy(&v, pattern, sizeof v);
    memcpy(to, &v, sizeof v);
    memcpy(&v, pattern + head, sizeof v);
    size_t i = head;
    for (; i + VECTOR_BYTES <= bytes; i += VECTOR_BYTES)
        store_vector(stream, to + i, v);
    memcpy(to + i, pattern + head, bytes - i);
}

void PASTE4(tally_cpu_fill, _, TALLY_LEVEL, )(const void *value, size_t bytes, size_t n, bool stream, void *to);
void PASTE4(tally_cpu_fill, _, TALLY_LEVEL, )(const void *value, size_t bytes, size_t n, bool stream, void *to) {
    _Alignas(VECTOR_BYTES) char pattern[2 * VECTOR_BYTES];
    memcpy(pattern, value, bytes);
    if (bytes <= 1)
        memcpy(pattern + 1, pattern, 1);
    if (bytes <= 2)
        memcpy(pattern + 2, pattern, 2);
    if (bytes <= 4)
        memcpy(pattern + 4, pattern, 4);
    if (bytes <= 8)
        memcpy(pattern + 8, pattern, 8);
    for (size_t i = 16; i < sizeof pattern; i += 16)
        memcpy(pattern + i, pattern, 16);
    if (stream) {
        fill_with(pattern, n * bytes, true, to);
        end_stream();
    } else {
        fill_with(pattern, n * bytes, false, to);
    }
}

void PASTE4(tally_cpu_stream, _, TALLY_LEVEL, )(const void *from, size_t bytes, void *to);
void PASTE4(tally_cpu_stream, _, TALLY_LEVEL, )(const void *from, size_t bytes, void *to) {
    if (bytes)
        stream_bytes(to, from, bytes);
    else
        end_stream();
}
