/* The combinations that a back end refuses, as a short text beside the suite, so that nothing disappears unnoticed.
 * Every combination is requested with tally_supports and tally_plan_create, which must agree. The refused ones are
 * merged into rows; a row stands for all combinations of its lists. */
#ifndef TALLY_CONFORMANCE_REFUSED_H
#define TALLY_CONFORMANCE_REFUSED_H

#include "check.h"

/* Requests every combination. Returns malloc'ed text: rows in a fixed order, each followed by a comment with the
 * reason. A status that is neither TALLY_OK nor a refusal is a failure. 'quick' makes plans of few of the conversions
 * that are supported. */
char *refused_text(checker *c, bool quick);

/* Compares with a golden file, comments aside; prints the rows that are new or gone. */
bool refused_matches(checker *c, const char *path, bool quick);

/* A Markdown table of what the back end has. */
void refused_table(checker *c, const char *spec);

#endif
