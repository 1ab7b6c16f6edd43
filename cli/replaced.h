/* replaced.h: messages of the library in the words of its caller, who knows options and not C's names. The command and
 * the Python package include it.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_REPLACED_H
#define TALLY_CLI_REPLACED_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Copies a text of at most room - 1 bytes. Each names[i][0] in it becomes names[i][1]; the first that fits is taken. */
static inline void copy_replaced(char *to, size_t room, const char *from, const char *const names[][2], size_t count) {
    for (size_t at = 0; *from && at + 1 < room;) {
        size_t i = 0;
        while (i < count && strncmp(from, names[i][0], strlen(names[i][0])) != 0)
            i++;
        at += (size_t)(i < count ? snprintf(to + at, room - at, "%s", names[i][1])
                                 : snprintf(to + at, room - at, "%c", *from));
        from += i < count ? strlen(names[i][0]) : 1;
    }
}

#endif
