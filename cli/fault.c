/* fault.c: formats messages, so that every part of the command writes them into the same place.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_data(fault *f, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->text, sizeof f->text, format, arguments);
    va_end(arguments);
    return FAULT_DATA;
}

int fault_usage(fault *f, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->text, sizeof f->text, format, arguments);
    va_end(arguments);
    return FAULT_USAGE;
}

bool fault_warns = true;

void fault_warn(const char *name, const char *format, ...) {
    va_list arguments;
    if (!fault_warns)
        return;
    fprintf(stderr, "tally: %s: warning: ", name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

const char *fault_quote(char out[FAULT_QUOTE_MAX], const char *text, size_t length) {
    const size_t shown = length > 40 ? 36 : length;
    size_t at = 0;
    out[at++] = '\'';
    for (size_t i = 0; i < shown; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte == 0x7f)
            at += (size_t)snprintf(out + at, 5, "\\x%02x", byte);
        else
            out[at++] = (char)byte;
    }
    snprintf(out + at, FAULT_QUOTE_MAX - at, length > shown ? "...'" : "'");
    return out;
}

/* Names come from files as well, and may hold what a terminal would obey. */
void fault_print(const fault *f) {
    fputs("tally: ", stderr);
    for (const char *p = f->text; *p; p++)
        if ((unsigned char)*p < 0x20 && *p != '\n' && *p != '\t')
            fprintf(stderr, "\\x%02x", (unsigned)*p);
        else
            fputc(*p, stderr);
    fputc('\n', stderr);
}
