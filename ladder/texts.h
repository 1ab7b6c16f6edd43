/* texts.h: the texts in the program: families, and the sources of their steps. ladder/CMakeLists.txt makes the list.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_LADDER_TEXTS_H
#define TALLY_LADDER_TEXTS_H

#include <stddef.h>

typedef struct ladder_embedded {
    const char *path; /* in the ladder's folder */
    const char *text;
} ladder_embedded;

extern const ladder_embedded ladder_texts[];
extern const size_t ladder_text_count;

#endif
