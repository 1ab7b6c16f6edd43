/* run.h: runs the steps of a family and keeps their results.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_LADDER_RUN_H
#define TALLY_LADDER_RUN_H

#include "ladder.h"

/* Which steps: names or bases with commas between; NULL is all. */
bool ladder_wanted(const char *steps, const ladder_step *step);

/* Measures the wanted steps and fills in the report, printing rows as they come. */
int ladder_run(ladder_work *w, const char *steps, ladder_report *report, FILE *table, fault *f);

/* Checks the wanted steps over awkward sizes and measures nothing. */
int ladder_check_sizes(ladder_work *w, const char *steps, FILE *table, fault *f);

/* Launches each wanted step once, and nothing else, for a profiler; writes one line a launch to 'log': the step's
 * place in the family. */
int ladder_run_bare(ladder_work *w, const char *steps, FILE *log, fault *f);

#endif
