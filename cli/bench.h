/* Shared by the files of `tally bench`: the roofs of the machine, the data, the rows and the measurement. The command
 * uses only the library's public header, so it measures what any caller gets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_BENCH_H
#define TALLY_CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

/* ------------------------------------------------------------------------------------------------ roofs ----- */

/* The roof of a computation is the time of the best plain loop that reads each input byte once and writes each output
 * byte once, over the same buffers. It is a list of moves, each a copy (from and to), a read (to is NULL: summed) or a
 * fill (from is NULL). So a reduction's roof is one read of its inputs; a scan's is one copy; a segmented sum's is a
 * copy of as many bytes as it writes and a read of the rest. */
typedef struct bench_move {
    const void *from;
    void *to;
    size_t bytes;
} bench_move;

enum { BENCH_MOVES = 8 };

typedef struct bench_roof {
    bench_move moves[BENCH_MOVES];
    size_t count;
    size_t bytes; /* read plus written */
} bench_roof;

typedef struct bench_span {
    void *start;
    size_t bytes;
} bench_span;

/* Pairs the inputs with the outputs, front to front: copies while both last, then reads or fills the rest. */
void bench_roof_of(const bench_span *inputs, size_t inputs_count, const bench_span *outputs, size_t outputs_count,
                   bench_roof *roof);

/* The ways to run a roof: one thread or all, plain or streaming stores or memcpy. A roof is the best of them. */
size_t bench_roof_ways(const bench_roof *roof);
void bench_roof_way_name(const bench_roof *roof, size_t way, char *name, size_t bytes);
double bench_roof_seconds(const bench_roof *roof, size_t way, size_t iterations);

/* Threads of the roofs' own team, which sleep whenever no roof runs. 0 starts none. */
bool bench_team_start(unsigned threads);
void bench_team_stop(void);
unsigned bench_team_threads(void);
unsigned bench_threads_of(const char *spec);
typedef void (*bench_share)(void *context, unsigned thread, unsigned threads);
void bench_team_run_once(bench_share share, void *context);

double bench_now(void);         /* seconds of a steady clock */
double bench_cpu_seconds(void); /* seconds of processor time of this process */
const char *bench_roof_instructions(void);

/* ------------------------------------------------------------------------------------------------- data ----- */

typedef enum bench_data {
    BENCH_NORMAL = 0, /* floats: near normal, mean 0, variance 1; integers: every bit random */
    BENCH_SPREAD_20,  /* floats: uniform exponents from 2^-20 to 2^20, both signs */
    BENCH_SPREAD_100,
    BENCH_BITS, /* floats: random bits, every finite number possible */
    BENCH_GIVEN /* the data that the caller has put into the pools */
} bench_data;

typedef enum bench_lengths {
    BENCH_NO_LENGTHS = 0,
    BENCH_SEGMENTS_EQUAL, /* each of 'length' */
    BENCH_SEGMENTS_SKEW,  /* the first half of the array is one segment, the rest random lengths of 0 to 7 */
    BENCH_KEY_RUNS,       /* random lengths of 1 to 2 * length - 1 */
    BENCH_LABELS_RANDOM,  /* of 'length' groups */
    BENCH_LABELS_SKEW     /* likewise, but half of all elements in one */
} bench_lengths;

void bench_fill(void *memory, tally_dtype dtype, size_t n, bench_data data, uint64_t seed);
uint64_t bench_fill_offsets(int64_t *offsets, uint64_t n, bench_lengths lengths, uint64_t length); /* segments */
uint64_t bench_segment_count(uint64_t n, bench_lengths lengths, uint64_t length);
uint64_t bench_fill_keys(int32_t *keys, uint64_t n, uint64_t length); /* runs */
void bench_fill_labels(int32_t *labels, uint64_t n, bench_lengths lengths, uint64_t groups);

/* Memory that is mapped on first need, touched by the fill, and grows to the largest row. NULL when there is none. */
enum { BENCH_X = 0, BENCH_Y, BENCH_INDEX, BENCH_OUT, BENCH_KEYS_OUT, BENCH_POOLS };
void *bench_pool(int pool, size_t bytes);
void bench_pools_free(void);

/* ------------------------------------------------------------------------------------------------- rows ----- */

typedef enum bench_measure {
    BENCH_ROOF_RATIO = 0, /* the roof's time over the row's: 1 is the speed of memory */
    BENCH_PLAIN_RATIO,    /* the fast computation's time over the exact one's */
    BENCH_NANOSECONDS     /* the time of one call */
} bench_measure;

typedef struct bench_row {
    char name[80];
    const char *group;
    tally_desc desc;
    tally_shape shape;
    bench_data data;
    bench_lengths lengths;
    uint64_t length;
    bench_measure measure;
} bench_row;

typedef struct bench_rows {
    bench_row *row;
    size_t count;
    size_t capacity;
} bench_rows;

bool bench_rows_make(bench_rows *rows);
void bench_rows_free(bench_rows *rows);

/* ---------------------------------------------------------------------------------------------- measure ----- */

typedef struct bench_options {
    double min_time; /* seconds of measuring per row, at least five rounds */
    double sample;   /* seconds of one timed batch, at least */
} bench_options;

typedef struct bench_result {
    char name[80];
    char error[256];      /* not empty: nothing was measured */
    uint64_t iterations;  /* calls of the subject that were timed */
    double seconds;       /* best time of one call */
    double cpu_seconds;   /* processor time of that call, all threads */
    double bytes;         /* that the work must move */
    double roof_seconds;  /* best time of the roof in the same rounds */
    double plain_seconds; /* of the fast sum, for exact rows */
    double ratio;         /* the value of the row's measure */
    bench_measure measure;
    char roof_way[32];
} bench_result;

/* Rounds of one batch of each loop of the roof, of the plain sum if there is one, and of the subject, so that other
 * users of the machine disturb all of them alike. The best batch of each counts. */
void bench_measure_row(tally_device *device, const bench_row *row, const bench_options *options, bench_result *result);
void bench_measure_roof(const bench_roof *roof, const bench_options *options, bench_result *result);

/* --------------------------------------------------------------------------------------------- the report ----- */

typedef struct bench_context {
    const char *device_spec;
    const char *device_name;
    const char *device_detail;
    unsigned threads;
    double min_time;
} bench_context;

void bench_print_time(FILE *file, double seconds); /* twelve columns, in ns, us or ms */

void bench_json_write(FILE *file, const bench_context *context, const bench_result *results, size_t count);

#endif
