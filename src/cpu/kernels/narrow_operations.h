/* The four operations of narrow_scan.c on vectors of elements of 1 and 2 bytes. */
#ifndef TALLY_CPU_NARROW_OPERATIONS_H
#define TALLY_CPU_NARROW_OPERATIONS_H

#include "cpu/kernels/narrow_lanes.h"
#include "cpu/kernels/settled.h"

typedef enum operation { ADD, OR, XOR, LARGER } operation;

enum { BUFFER = 4096, SLOTS = BUFFER / VECTOR_BYTES };

/* What all functions take: op and bytes, an element's, are constants where they are inlined. */
typedef struct narrow_scan {
    operation op;
    size_t bytes;
    bool reverse, exclusive;
    v_u8 flip;
} narrow_scan;

ALWAYS_INLINE v_u8 combined(const narrow_scan *s, v_u8 a, v_u8 b) {
    switch (s->op) {
    case ADD:
        return s->bytes == 1 ? a + b : (v_u8)((v_u16)a + (v_u16)b);
    case OR:
        return a | b;
    case XOR:
        return a ^ b;
    default:
        return s->bytes == 1 ? max_u8(a, b) : (v_u8)max_u16((v_u16)a, (v_u16)b);
    }
}

ALWAYS_INLINE v_u8 read_vector(const narrow_scan *s, const void *x) {
    v_u8 v;
    memcpy(&v, x, sizeof v);
    return v ^ s->flip;
}

/* n bytes, and identities behind them. */
ALWAYS_INLINE v_u8 read_part(const narrow_scan *s, const void *x, size_t n) {
    v_u8 v;
    load_bytes(x, n, &v);
    return (v ^ s->flip) & first_bytes(n);
}

/* Whether every prefix of a vector is the value before it, as in most vectors of a long scan for the largest element.
 */
ALWAYS_INLINE bool changes_nothing(const narrow_scan *s, v_u8 x, v_u8 before) {
    if (s->op == LARGER)
        return s->bytes == 1 ? !any_larger_u8(x, before) : !any_larger_u16((v_u16)x, (v_u16)before);
    return s->op == OR && !any_bit((v_u64)(x & ~before));
}

#endif
