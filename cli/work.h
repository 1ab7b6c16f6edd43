/* work.h: the library as every computing command uses it: inputs, a device, plans, outputs, and the library's errors
 * turned into faults.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_WORK_H
#define TALLY_CLI_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#include "fault.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "worker.h"

/* Input is read and computed in pieces of this many bytes. They stay in the cache between the read and the computation.
 * The results of fast float sums depend on where they end, so the figure is the same on every machine. */
enum { PIECE_BYTES = 1 << 22 };

typedef struct work {
    const options *o;
    fault *f;
    tally_device *device;
    bool host_memory; /* the device computes in host memory */
    bool is_cuda;
    worker beside; /* computes there while the command reads and writes; not used with host memory */
    input x, y;    /* y: the second file */
    bool y_open;
    tally_desc desc;            /* with every default filled in, once there is a plan */
    size_t elements_per_result; /* 2 for minmax */
    output out;
    output *keys_out; /* keys: where they go, if not beside each result; JSON has them before the results */
} work;

/* Opens the inputs and the device. 'w' starts as all zeros; work_close in any case. */
int work_open(work *w, const options *o, fault *f);
void work_close(work *w);

/* Whether both inputs fit together: for a dot, values and offsets, keys or labels. Unknown counts are not compared. */
int work_check_inputs(work *w);

/* Offset number 'index' of the second input as the file has it, into *at; with 'has_before' it is compared with at[-1].
 * Faults for one that decreases or passes the end; and that fault alone, where the end is found later. */
int work_take_offset(work *w, uint64_t index, bool has_before, const void *raw, int64_t *at);
int work_past_the_end(work *w, int64_t offset, uint64_t index);

/* Reads n labels from where the second input stands, as i64 into 'labels'; messages count them from 'first'. *most
 * becomes the largest of them and itself. Faults for a label that is negative, does not fit i64, or is not below
 * --groups; with --skip-bad these stay, the unfit ones as -1. */
int work_read_labels(work *w, uint64_t first, uint64_t n, int64_t *labels, int64_t *most);

/* The description for the operator and the options. */
tally_desc work_desc(const work *w, tally_grouping grouping, tally_form form, unsigned flags);

/* A plan for the operator and the options, with the given grouping and form; also fills in w->desc. */
int work_plan(work *w, tally_grouping grouping, tally_form form, unsigned flags, tally_plan **plan);

/* 0 for TALLY_OK; else the library's last error, with options for C's names, about 'name' (a file) if there is one. In
 * a job: with the job's fault. */
int work_check(work *w, const char *name, tally_status status);
int work_check_in(fault *f, const char *name, tally_status status);

/* Bytes of one result or scan element in the output. */
size_t work_result_bytes(const work *w);

/* Opens w->out for results of the given shape (in NumPy's order); minmax adds its dimension of 2. */
int work_open_output(work *w, int rank, const uint64_t *shape, bool fortran_order, bool any_order);

/* Writes results first .. first + n - 1, in the order of the input's memory. */
int work_write(work *w, uint64_t first, const void *results, size_t n);

/* "KEY RESULT" lines. */
int work_print_runs(work *w, const void *keys, const void *results, size_t runs);

/* Finishes w->out, and prints the JSON object if that was asked for. 'n': elements of input. */
int work_finish(work *w, tally_form form, tally_grouping grouping, uint64_t n);

/* The input as outer x extent x inner elements in the order of its memory. */
typedef struct geometry {
    tally_grouping grouping; /* TALLY_ALL_VALUES where outer and inner are 1 */
    uint64_t outer, extent, inner;
    int axis; /* in NumPy's order; -1: all of it */
} geometry;

/* From --axis, or the whole input as one group; the input is then brought into C order if 'ordered'. */
int work_geometry(work *w, bool ordered, geometry *g);

/* Multiplies dimensions first .. last - 1; they are known to fit. */
uint64_t work_product(const uint64_t *shape, int first, int last);

#endif
