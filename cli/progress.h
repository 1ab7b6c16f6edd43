/* progress.h: one line on standard error that shows the progress of reading. It appears only on a terminal and only
 * after a second of work, and is wiped at the end.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_PROGRESS_H
#define TALLY_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the clock. 'results_on_terminal': results are printed as they come and standard output is a terminal, too:
 * the line would tear them, so there is none. */
void progress_begin(bool results_on_terminal);

void progress_expect(uint64_t bytes); /* adds to the total, where it is known */
void progress_add(uint64_t bytes);    /* adds to what was read */
void progress_end(void);

#endif
