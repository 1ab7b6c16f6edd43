/* help.h: the texts of tally help.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_HELP_H
#define TALLY_CLI_HELP_H

#include "fault.h"

/* Prints the help of a command, or of everything when 'command' is NULL, on standard output. */
int help_print(const char *command, fault *f);

#endif
