/* The interface of survey.c to Python (bench/surveys/).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_BENCH_SURVEY_H
#define TALLY_BENCH_SURVEY_H

#include "../cli/bench.h"

/* Memory in large pages where the system grants them; NULL: none. */
void *survey_memory(size_t bytes);
void survey_free(void *memory, size_t bytes);

/* Seconds of one of 'calls' calls of tally_run, which comes from a library that was opened at run time; -1: one failed.
 * A call before them warms the caches and wakes the threads. */
double survey_seconds(tally_status (*run)(tally_plan *, const tally_args *, tally_stream), tally_plan *plan,
                      const tally_args *args, size_t calls);

/* Seconds of one way of a roof in the same manner. */
double survey_roof_seconds(const bench_roof *roof, size_t way, size_t calls);

/* A case and its results in host memory; surveys/oracle.py has the same structure in ctypes. */
typedef struct survey_case {
    tally_op op;
    tally_form form;
    tally_grouping grouping;
    tally_dtype in, out, key;
    uint64_t outer, extent, inner;
    const void *pool; /* x[i] is pool[i % period], y[i] is pool[(i + y_from) % period] */
    uint64_t period, y_from;
    const int64_t *ends; /* SEGMENTS, KEYS: group g of the first 'lengths' ends before element ends[g]; the others */
    uint64_t lengths;    /*   go on in the same rhythm */
    uint64_t groups;     /* their number; the last ends at 'extent' */
    const void *result, *keys_out;
} survey_case;

/* -1, or the first result that is not what the oracle gives; its words go to 'message'. Any thread may call. */
int64_t survey_check(const survey_case *c, char *message, size_t bytes);

#endif
