/* The one interface of every peer: a name and a table of cases, each a function that computes on n values. peer_main.c
 * makes a program of it that answers requests on standard input, so that bench/run can let all peers take turns.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_BENCH_PEER_H
#define TALLY_BENCH_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct peer_case {
    const char *name; /* "sum/f32": the work, and the type of x: f32 or f64 */
    size_t out_per_n; /* bytes of output an element: 4 for a scan of f32, 0 for a reduction */
    /* Computes once; the result, or the last element of a scan. */
    double (*run)(const void *x, size_t n, void *out);
    /* Or, if run is NULL, the seconds that this many calls take, by the peer's own clock. */
    double (*seconds)(const void *x, size_t n, void *out, size_t calls);
    /* If not 0: n labels, int32_t below this, lie behind x, and out has room for a double for each group. */
    size_t groups;
} peer_case;

extern const char *const peer_name; /* as the chart's legend writes it */
const char *peer_version(void);
extern const peer_case peer_cases[];
extern const size_t peer_cases_count;

#ifdef __cplusplus
}
#endif
#endif
