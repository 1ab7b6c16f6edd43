/* commands.h: the commands, each in a file of its own. argv[0] is the command's name. They return the exit code, with
 * the fault filled in if it is not 0.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_COMMANDS_H
#define TALLY_CLI_COMMANDS_H

#include "fault.h"

int command_reduce(int argc, char **argv, fault *f);
int command_scan(int argc, char **argv, fault *f);
int command_segments(int argc, char **argv, fault *f);
int command_keys(int argc, char **argv, fault *f);
int command_labels(int argc, char **argv, fault *f);
int command_ops(int argc, char **argv, fault *f);
int command_devices(int argc, char **argv, fault *f);
int command_bench(int argc, char **argv, fault *f);  /* bench.c */
int command_ladder(int argc, char **argv, fault *f); /* ladder/command.c */

#endif
