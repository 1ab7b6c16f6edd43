#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what) {
    fprintf(stderr, "conformance: %s: %s\n", what, tally_last_error());
    exit(2);
}

static void reserve(guarded *g, tally_device *device, size_t bytes) {
    if (g->device == device && g->capacity >= bytes)
        return;
    guarded_release(g);
    g->device = device;
    g->capacity = bytes + bytes / 2;
    if (tally_alloc(device, g->capacity, &g->memory) != TALLY_OK)
        die("tally_alloc");
    g->sent = malloc(g->capacity);
    g->found = malloc(g->capacity);
    if (!g->sent || !g->found)
        die("malloc");
}

static size_t whole(const guarded *g) {
    return g->offset + g->bytes + GUARD_BYTES;
}

void guarded_place(guarded *g, tally_device *device, const void *data, size_t bytes, size_t misalignment) {
    reserve(g, device, GUARD_BYTES + misalignment + bytes + GUARD_BYTES);
    g->offset = GUARD_BYTES + misalignment;
    g->bytes = bytes;
    /* A byte that no small result repeats. It varies with the position, so that a shifted write is found. */
    for (size_t k = 0; k < g->offset; k++)
        g->sent[k] = (unsigned char)(0xa5 + 7 * k);
    for (size_t k = g->offset + bytes; k < whole(g); k++)
        g->sent[k] = (unsigned char)(0xc3 + 5 * k);
    if (data && bytes)
        memcpy(g->sent + g->offset, data, bytes);
    else
        memset(g->sent + g->offset, 0xb9, bytes);
    if (tally_copy(device, g->memory, g->sent, whole(g)) != TALLY_OK)
        die("tally_copy");
}

void *guarded_address(const guarded *g) {
    return (unsigned char *)g->memory + g->offset;
}

void guarded_fetch(guarded *g) {
    if (tally_copy(g->device, g->found, g->memory, whole(g)) != TALLY_OK)
        die("tally_copy");
}

bool guarded_unchanged(const guarded *g) {
    return memcmp(g->sent, g->found, whole(g)) == 0;
}

bool guarded_intact(const guarded *g) {
    return memcmp(g->sent, g->found, g->offset) == 0 &&
           memcmp(g->sent + g->offset + g->bytes, g->found + g->offset + g->bytes, GUARD_BYTES) == 0;
}

const unsigned char *guarded_found(const guarded *g) {
    return g->found + g->offset;
}

void guarded_release(guarded *g) {
    if (g->memory)
        tally_free(g->device, g->memory);
    free(g->sent);
    free(g->found);
    memset(g, 0, sizeof *g);
}
