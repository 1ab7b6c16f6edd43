/* command.h: tally ladder, for the command's table.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_LADDER_COMMAND_H
#define TALLY_LADDER_COMMAND_H

#include "fault.h"

int command_ladder(int argc, char **argv, fault *f);

#endif
