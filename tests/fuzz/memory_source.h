/* memory_source.h: bytes in memory as a source of the command's parsers.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_TESTS_MEMORY_SOURCE_H
#define TALLY_TESTS_MEMORY_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "source.h"

typedef struct memory_source {
    const uint8_t *bytes;
    size_t size, at;
} memory_source;

static int read_memory(void *context, void *bytes, size_t capacity, size_t *got, fault *f) {
    memory_source *const memory = context;
    (void)f;
    *got = memory->size - memory->at < capacity ? memory->size - memory->at : capacity;
    if (*got > 0)
        memcpy(bytes, memory->bytes + memory->at, *got);
    memory->at += *got;
    return 0;
}

#endif
