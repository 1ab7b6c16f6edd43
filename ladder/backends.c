/* backends.c: the back ends of the ladder. A new one is a line here.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <string.h>

static const ladder_backend *const backends[] = {&ladder_cpu, &ladder_cuda, &ladder_vulkan};

const ladder_backend *ladder_backend_find(const char *name) {
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
