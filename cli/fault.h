/* fault.h: how the parts of the command say what went wrong.
 *
 * A function that can fail returns the exit code of the whole command (0 when it succeeded) and leaves one line of
 * text, without the "tally: " in front and without a newline, in a fault. Only main.c prints it.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_FAULT_H
#define TALLY_CLI_FAULT_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FAULT_DATA = 1, /* bad data, a failing file or device */
    FAULT_USAGE = 2 /* a malformed command line */
};

typedef struct fault {
    char text[1400];
} fault;

#if defined(__GNUC__)
#define FAULT_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define FAULT_PRINTF(at, first)
#endif

int fault_data(fault *f, const char *format, ...) FAULT_PRINTF(2, 3);  /* returns FAULT_DATA */
int fault_usage(fault *f, const char *format, ...) FAULT_PRINTF(2, 3); /* returns FAULT_USAGE */

/* Prints "tally: NAME: warning: ..." on standard error at once, unless fault_warns is false; the work goes on. */
extern bool fault_warns;
void fault_warn(const char *name, const char *format, ...) FAULT_PRINTF(2, 3);

/* Prints the text of a fault on standard error, with "tally: " before it. */
void fault_print(const fault *f);

/* A piece of a file for a message: in single quotes, at most about 40 bytes, control bytes escaped. */
#define FAULT_QUOTE_MAX 192
const char *fault_quote(char out[FAULT_QUOTE_MAX], const char *text, size_t length);

#endif
