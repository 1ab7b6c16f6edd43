/* options.h: the command line of the computing commands, and of those that list.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_OPTIONS_H
#define TALLY_CLI_OPTIONS_H

#include <stdbool.h>

#include <tally/tally.h>

#include "fault.h"
#include "input.h"

typedef enum command_kind {
    COMMAND_REDUCE = 1,
    COMMAND_SCAN = 2,
    COMMAND_SEGMENTS = 4,
    COMMAND_KEYS = 8,
    COMMAND_OPS = 16,
    COMMAND_DEVICES = 32,
    COMMAND_LABELS = 64
} command_kind;

typedef struct options {
    command_kind command;
    tally_op op;
    tally_traits traits;  /* of the operator */
    const char *paths[2]; /* NULL or "-": standard input */
    int path_count;
    bool axis_given, exact, exclusive, reverse, json, help, measure, groups_given, skip_bad, skip_nan;
    int axis, ddof, groups;
    tally_dtype out_dtype, acc_dtype;
    const char *initial;
    const char *device;
    const char *output, *keys_output;
    input_options inputs[2];
    /* How often the options that each input may have were given. */
    struct {
        int format, column, dtype, shape, delimiter, comment, header;
    } given;
} options;

/* Fills 'o' from the arguments after the command's name (argv[0] is that name). */
int options_parse(options *o, command_kind command, int argc, char **argv, fault *f);

/* Prints the help of a command. */
int options_help(command_kind command, fault *f);

#endif
