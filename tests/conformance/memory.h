/* Device memory with guards: every array lies, at any alignment, between bytes that must not change. Outputs are filled
 * with a pattern beforehand, so that unwritten bytes can be recognised. */
#ifndef TALLY_CONFORMANCE_MEMORY_H
#define TALLY_CONFORMANCE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tally/tally.h"

enum { GUARD_BYTES = 64 };

typedef struct guarded {
    tally_device *device;
    void *memory;         /* of the device */
    unsigned char *sent;  /* what was put there */
    unsigned char *found; /* what is there now, after guarded_fetch */
    size_t capacity;
    size_t offset, bytes; /* where the array lies in all three */
} guarded;

/* Puts 'bytes' of data (NULL: poison) at an address that is 'misalignment' past a multiple of 64. */
void guarded_place(guarded *g, tally_device *device, const void *data, size_t bytes, size_t misalignment);
void *guarded_address(const guarded *g);

/* Copies back; then: is all as it was sent; is everything outside the array. */
void guarded_fetch(guarded *g);
bool guarded_unchanged(const guarded *g);
bool guarded_intact(const guarded *g);
const unsigned char *guarded_found(const guarded *g);
void guarded_release(guarded *g);

#endif
