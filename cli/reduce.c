/* reduce.c: tally reduce. The input goes through a buffer of a few MiB: one group, or one outer block larger than the
 * buffer, is pushed piece by piece; smaller outer blocks are run many at a time. What grows is the buffer of one row
 * of results (the dimensions after the axis), no more.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "options.h"
#include "buffer.h"
#include "wrap.h"

typedef struct reduction {
    work w;
    geometry g;
    tally_plan *plan;
    wrap second;
    buffer x, y, results;
    uint64_t pushed; /* rows of the piece in the current job */
    uint64_t done;   /* results written */
    uint64_t n;      /* elements read */
} reduction;

static int emit(reduction *r, uint64_t n) {
    char text[WRAP_TEXT_MAX];
    int code = buffer_to_host(&r->w, &r->results, (size_t)n * work_result_bytes(&r->w));
    if (code == 0)
        code = wrap_fetch(&r->w, &r->second, (size_t)n);
    if (code == 0 && wrap_exact_sum(&r->w, &r->second, r->results.host, r->n, text)) {
        puts(text);
        return 0;
    }
    if (code == 0)
        code = wrap_compare(&r->w, &r->second, r->results.host, (size_t)n, r->done);
    if (code == 0)
        code = work_write(&r->w, r->done, r->results.host, (size_t)n);
    r->done += n;
    return code;
}

static int push_sent(void *context, fault *f) {
    reduction *const r = context;
    work *const w = &r->w;
    const size_t bytes = (size_t)(r->pushed * r->g.inner) * w->x.element_bytes;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = (tally_shape){1, r->pushed, r->g.inner, 0};
    args.x = r->x.device;
    args.y = w->y_open ? r->y.device : NULL;
    int code = buffer_send(w, &r->x, bytes, f);
    if (code == 0 && w->y_open)
        code = buffer_send(w, &r->y, bytes, f);
    if (code == 0)
        code = work_check_in(f, w->x.name, tally_push(r->plan, &args));
    if (code == 0)
        wrap_add_products(w, &r->second, r->x.sent, r->y.sent, r->pushed * r->g.inner);
    return code != 0 ? code : wrap_push(&r->second, r->second.plan, &args, w->x.name, f);
}

/* Starts the job for the buffers' contents, so that they can be filled again. */
static int push(reduction *r, uint64_t extent) {
    work *const w = &r->w;
    int code;
    if ((code = work_wait(w)) != 0 || (code = buffer_turn(w, &r->x)) != 0 ||
        (w->y_open && (code = buffer_turn(w, &r->y)) != 0))
        return code;
    r->pushed = extent;
    r->n += extent * r->g.inner;
    return work_start(w, push_sent, r);
}

static int finish_pushed(reduction *r) {
    work *const w = &r->w;
    int code = work_wait(w);
    if (code == 0)
        code = work_check(w, w->x.name, tally_finish(r->plan, r->results.device, r->results.bytes));
    return code != 0 ? code : wrap_finish(w, &r->second, r->second.plan);
}

/* The second input of a dot, as far as the first one was read; at the end it must end, too. */
static int read_second(reduction *r, size_t got, size_t capacity) {
    size_t also;
    work *const w = &r->w;
    int code = input_read(&w->y, r->y.host, got < capacity ? got + 1 : got, &also, w->f);
    if (code != 0)
        return code;
    if (also != got)
        return fault_data(w->f, "%s has %s elements than %s; dot needs as many of each", w->y.name,
                          also < got ? "fewer" : "more", w->x.name);
    return 0;
}

/* Everything as one group, of a length that need not be known. */
static int reduce_all(reduction *r) {
    work *const w = &r->w;
    const size_t capacity = PIECE_BYTES / w->x.element_bytes;
    size_t got = capacity;
    int code;
    if ((code = buffer_make(w, &r->x, PIECE_BYTES)) != 0 ||
        (w->y_open && (code = buffer_make(w, &r->y, PIECE_BYTES)) != 0) ||
        (code = buffer_make(w, &r->results, work_result_bytes(w))) != 0)
        return code;
    while (got == capacity) {
        if ((code = input_read(&w->x, r->x.host, capacity, &got, w->f)) != 0 ||
            (w->y_open && (code = read_second(r, got, capacity)) != 0) || (got > 0 && (code = push(r, got)) != 0))
            return code;
    }
    return (code = finish_pushed(r)) != 0 ? code : emit(r, 1);
}

/* One outer block after the other, each in pieces of whole rows. */
static int reduce_large_blocks(reduction *r) {
    work *const w = &r->w;
    const geometry *const g = &r->g;
    const uint64_t row_bytes = g->inner * w->x.element_bytes;
    const uint64_t rows = row_bytes >= PIECE_BYTES ? 1 : PIECE_BYTES / row_bytes;
    int code;
    if ((code = buffer_make(w, &r->x, rows * row_bytes)) != 0 ||
        (w->y_open && (code = buffer_make(w, &r->y, rows * row_bytes)) != 0) ||
        (code = buffer_make(w, &r->results, g->inner * work_result_bytes(w))) != 0)
        return code;
    for (uint64_t block = 0; block < g->outer; block++) {
        for (uint64_t row = 0; row < g->extent; row += rows) {
            const uint64_t now = g->extent - row < rows ? g->extent - row : rows;
            if ((code = work_fill(w, &r->x, &r->y, now * g->inner)) != 0 || (code = push(r, now)) != 0)
                return code;
        }
        if ((code = finish_pushed(r)) != 0 || (code = emit(r, g->inner)) != 0)
            return code;
    }
    return 0;
}

/* As many whole outer blocks at a time as fit the buffer. */
static int reduce_small_blocks(reduction *r) {
    work *const w = &r->w;
    const geometry *const g = &r->g;
    const uint64_t block = g->extent * g->inner, block_bytes = block * w->x.element_bytes;
    const uint64_t result_bytes = g->inner * work_result_bytes(w);
    const uint64_t larger = block_bytes > result_bytes ? block_bytes : result_bytes;
    const uint64_t blocks = larger >= PIECE_BYTES ? 1 : larger == 0 ? g->outer : PIECE_BYTES / larger;
    int code;
    if ((code = buffer_make(w, &r->x, blocks * block_bytes)) != 0 ||
        (w->y_open && (code = buffer_make(w, &r->y, blocks * block_bytes)) != 0) ||
        (code = buffer_make(w, &r->results, blocks * result_bytes)) != 0)
        return code;
    for (uint64_t at = 0; at < g->outer && g->inner > 0; at += blocks) {
        const uint64_t now = g->outer - at < blocks ? g->outer - at : blocks;
        tally_args args = TALLY_ARGS_INIT;
        args.shape = (tally_shape){now, g->extent, g->inner, 0};
        args.x = r->x.device;
        args.y = w->y_open ? r->y.device : NULL;
        args.out = r->results.device;
        args.out_bytes = (size_t)(now * result_bytes);
        if ((code = work_read_exactly(w, &r->x, &r->y, now * block)) != 0 ||
            (code = work_check(w, w->x.name, tally_run(r->plan, &args, TALLY_SYNCHRONOUS))) != 0 ||
            (code = emit(r, now * g->inner)) != 0)
            return code;
    }
    r->n = g->outer * block;
    return 0;
}

static int open_results(reduction *r) {
    uint64_t shape[NPY_MAX_RANK];
    const input *const in = &r->w.x;
    int rank = 0;
    for (int i = 0; r->g.grouping == TALLY_AXIS && i < in->rank; i++)
        if (i != r->g.axis)
            shape[rank++] = in->shape[i];
    return work_open_output(&r->w, rank, shape, in->fortran_order, false);
}

static int run(reduction *r, const options *o, fault *f) {
    work *const w = &r->w;
    geometry *const g = &r->g;
    int code;
    if ((code = work_open(w, o, f)) != 0 || (code = work_check_inputs(w)) != 0 ||
        (code = work_geometry(w, o->traits.has_index, g)) != 0 ||
        (code = work_plan(w, g->grouping, TALLY_REDUCE, 0, &r->plan)) != 0 ||
        (code = wrap_open(w, &r->second, g->grouping, TALLY_REDUCE, 0, 1)) != 0 || (code = open_results(r)) != 0)
        return code;
    if (g->grouping == TALLY_ALL_VALUES)
        code = reduce_all(r);
    else if (g->inner > 0 && g->extent * g->inner * w->x.element_bytes > PIECE_BYTES)
        code = reduce_large_blocks(r);
    else
        code = reduce_small_blocks(r);
    return code != 0 ? code : work_finish(w, TALLY_REDUCE, g->grouping, r->n);
}

int command_reduce(int argc, char **argv, fault *f) {
    static options o;
    static reduction r;
    int code = options_parse(&o, COMMAND_REDUCE, argc, argv, f);
    if (code != 0 || o.help)
        return code != 0 ? code : options_help(COMMAND_REDUCE, f);
    code = run(&r, &o, f);
    work_end(&r.w);
    tally_plan_destroy(r.plan);
    wrap_close(&r.w, &r.second);
    buffer_free(&r.w, &r.x);
    buffer_free(&r.w, &r.y);
    buffer_free(&r.w, &r.results);
    work_close(&r.w);
    return code;
}
