/* arguments.h: command lines as tables. An option is declared once, as a row: the function that reads it, the place of
 * its value, and its help text. getopt_long does the reading.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_ARGUMENTS_H
#define TALLY_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "fault.h"

typedef struct argument argument;

/* Takes one use of the option into the command's settings; 'text' is its value, NULL without one. */
typedef int argument_take(void *settings, const argument *row, const char *text, fault *f);

struct argument {
    const char *name;  /* without dashes */
    const char *value; /* as the help calls it; NULL: the option takes none */
    const char *help;  /* lines, % for the names of all types; NULL: shown before the next row and explained there; "":
                          not shown */
    argument_take *take;
    size_t place;      /* of what 'take' writes, in the settings */
    int constant;      /* what it writes, where options without a value choose among some */
    unsigned commands; /* a set of bits where commands share a table; 0: all of them */
    int section;       /* of the help */
    char letter;       /* a short form; 0: none */
    bool repeats;      /* may be given more than once; a flag always may */
};

typedef struct argument_table {
    const argument *rows;
    size_t count;
} argument_table;

/* Reads the options; the operands then stand at argv[*operands] and after it. getopt's own messages begin with argv[0]
 * and go to standard error; the fault is then empty. */
int arguments_read(const argument_table *table, unsigned command, void *settings, int argc, char **argv, int *operands,
                   fault *f);

/* Prints the help of a section of the table; false if no row of it is for the command. */
bool arguments_help(const argument_table *table, unsigned command, int section, const char *heading);

/* Functions for most rows: they set a bool to true, take the text, an int, or a type. */
argument_take argument_flag, argument_text, argument_int, argument_dtype;

#endif
