/* scan.c: tally scan. As in reduce.c, groups larger than the buffer go through it in pieces and smaller ones are run
 * many at a time; here every piece of input makes a piece of output.
 *
 * A reverse scan of a large group takes its pieces from the end of the file (a pipe is put aside first), turns each
 * around, and pushes it as the next piece of a forward scan. Only argmin and argmax, whose answers count from the
 * front, need such a group whole in memory.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <string.h>

#include "options.h"
#include "buffer.h"
#include "wrap.h"

typedef struct scanning {
    work w;
    geometry g;
    tally_form form;
    tally_plan *plan;
    wrap second;
    buffer x, out, initial;
    bool turned; /* pieces come from the end, turned around */
    uint64_t n;  /* elements scanned */
    struct {
        uint64_t rows, place; /* no rows: there is none */
        bool first_of_group;
    } sent; /* the piece in the current job */
} scanning;

/* Groups that do not fit the buffer; of unknown length ones may not. */
static bool is_large(const scanning *s) {
    const geometry *const g = &s->g;
    return g->extent == INPUT_UNKNOWN || (g->inner > 0 && g->extent > PIECE_BYTES / s->w.x.element_bytes / g->inner);
}

static int make_buffers(scanning *s, uint64_t elements) {
    const int code = buffer_make(&s->w, &s->x, elements * s->w.x.element_bytes);
    return code != 0 ? code : buffer_make(&s->w, &s->out, elements * work_result_bytes(&s->w));
}

static tally_args arguments(const scanning *s, uint64_t outer, uint64_t extent) {
    tally_args args = TALLY_ARGS_INIT;
    args.shape = (tally_shape){outer, extent, s->g.inner, 0};
    args.x = s->x.device;
    args.initial = s->initial.device;
    args.out = s->out.device;
    args.out_bytes = (size_t)(outer * extent * s->g.inner) * work_result_bytes(&s->w);
    return args;
}

static int run_blocks(scanning *s, uint64_t outer) {
    work *const w = &s->w;
    const tally_args args = arguments(s, outer, s->g.extent);
    const uint64_t n = outer * s->g.extent * s->g.inner;
    int code;
    if ((code = work_read_exactly(w, &s->x, NULL, n)) != 0 ||
        (code = work_check(w, w->x.name, tally_run(s->plan, &args, TALLY_SYNCHRONOUS))) != 0 ||
        (code = buffer_to_host(w, &s->out, args.out_bytes)) != 0 || (code = wrap_run(w, &s->second, &args)) != 0 ||
        (code = wrap_check(w, &s->second, s->out.host, (size_t)n, s->n)) != 0)
        return code;
    s->n += n;
    return work_write(w, s->n - n, s->out.host, (size_t)n);
}

/* Many groups at a time. */
static int scan_blocks(scanning *s) {
    const geometry *const g = &s->g;
    const uint64_t block = g->extent * g->inner;
    if (block == 0 || g->outer == 0)
        return 0;
    const uint64_t fit = PIECE_BYTES / (block * s->w.x.element_bytes);
    const uint64_t blocks = fit == 0 ? 1 : fit < g->outer ? fit : g->outer;
    int code = make_buffers(s, blocks * block);
    for (uint64_t at = 0; code == 0 && at < g->outer; at += blocks)
        code = run_blocks(s, g->outer - at < blocks ? g->outer - at : blocks);
    return code;
}

/* Puts rows in the opposite order. */
static void turn_around(void *rows, uint64_t count, size_t row_bytes) {
    unsigned char kept[256];
    unsigned char *front = rows, *back = front + (count - 1) * row_bytes;
    for (; count > 1 && front < back; front += row_bytes, back -= row_bytes) {
        for (size_t at = 0; at < row_bytes; at += sizeof kept) {
            const size_t n = row_bytes - at < sizeof kept ? row_bytes - at : sizeof kept;
            memcpy(kept, front + at, n);
            memcpy(front + at, back + at, n);
            memcpy(back + at, kept, n);
        }
    }
}

static int push_sent(void *context, fault *f) {
    scanning *const s = context;
    work *const w = &s->w;
    tally_args args = arguments(s, 1, s->sent.rows);
    int code;
    if (!s->sent.first_of_group)
        args.initial = NULL;
    if ((code = buffer_send(w, &s->x, (size_t)(s->sent.rows * s->g.inner) * w->x.element_bytes, f)) != 0 ||
        (code = work_check_in(f, w->x.name, tally_push(s->plan, &args))) != 0)
        return code;
    if ((code = buffer_fetch(w, &s->out, args.out_bytes, f)) != 0 ||
        (code = wrap_push(&s->second, s->second.plan, &args, w->x.name, f)) != 0)
        return code;
    return s->second.plan ? buffer_fetch(w, &s->second.out, (size_t)s->sent.rows * sizeof(double), f) : 0;
}

/* Waits for the current job; then out.host has its results, and 'rows' and 'place' say which they are. */
static int receive(scanning *s, uint64_t *rows, uint64_t *place) {
    int code = 0;
    *rows = s->sent.rows;
    *place = s->sent.place;
    if (s->sent.rows > 0 && (code = work_wait(&s->w)) == 0)
        code = buffer_turn(&s->w, &s->out);
    if (s->sent.rows > 0 && code == 0 && s->second.plan)
        code = buffer_turn(&s->w, &s->second.out);
    s->sent.rows = 0;
    return code;
}

/* Writes the rows in out.host where they belong. */
static int write_rows(scanning *s, uint64_t rows, uint64_t place) {
    int code;
    if (rows == 0)
        return 0;
    if ((code = wrap_compare(&s->w, &s->second, s->out.host, (size_t)rows, place)) != 0)
        return code;
    if (s->turned)
        turn_around(s->out.host, rows, (size_t)s->g.inner * work_result_bytes(&s->w));
    s->n += rows * s->g.inner;
    return work_write(&s->w, place, s->out.host, (size_t)(rows * s->g.inner));
}

/* Writes the last piece. */
static int write_last(scanning *s) {
    uint64_t rows, place;
    const int code = receive(s, &rows, &place);
    return code != 0 ? code : write_rows(s, rows, place);
}

/* Starts the job for the rows in the buffer as the next piece of the group, and meanwhile writes the rows before them.
 */
static int push_piece(scanning *s, uint64_t rows, bool first_of_group, uint64_t place) {
    work *const w = &s->w;
    uint64_t rows_before, place_before;
    int code;
    if (s->turned)
        turn_around(s->x.host, rows, (size_t)s->g.inner * w->x.element_bytes);
    if ((code = receive(s, &rows_before, &place_before)) != 0 || (code = buffer_turn(w, &s->x)) != 0 ||
        (code = buffer_double(w, &s->out)) != 0 || (s->second.plan && (code = buffer_double(w, &s->second.out)) != 0))
        return code;
    s->sent.rows = rows;
    s->sent.place = place;
    s->sent.first_of_group = first_of_group;
    if ((code = work_start(w, push_sent, s)) != 0)
        return code;
    return w->host_memory ? write_last(s) : write_rows(s, rows_before, place_before);
}

/* One large group from front to back; its length need not be known. */
static int scan_forward(scanning *s, uint64_t block, uint64_t rows) {
    work *const w = &s->w;
    const geometry *const g = &s->g;
    const bool known = g->extent != INPUT_UNKNOWN;
    int code = 0;
    uint64_t at = 0;
    for (;;) {
        const uint64_t now = known && g->extent - at < rows ? g->extent - at : rows;
        size_t got = (size_t)(now * g->inner);
        if (now == 0)
            break;
        code = known ? input_read_exactly(&w->x, s->x.host, got, w->f) : input_read(&w->x, s->x.host, got, &got, w->f);
        if (code == 0 && got > 0)
            code = push_piece(s, got / g->inner, at == 0, (known ? block * g->extent : 0) * g->inner + at * g->inner);
        if (code != 0 || got < now * g->inner)
            break;
        at += now;
    }
    return code;
}

/* One large group from back to front. */
static int scan_backward(scanning *s, uint64_t block, uint64_t rows) {
    work *const w = &s->w;
    const geometry *const g = &s->g;
    int code = 0;
    for (uint64_t end = g->extent; code == 0 && end > 0;) {
        const uint64_t now = end < rows ? end : rows;
        const uint64_t place = (block * g->extent + end - now) * g->inner;
        input_seek(&w->x, place);
        code = input_read_exactly(&w->x, s->x.host, (size_t)(now * g->inner), w->f);
        if (code == 0)
            code = push_piece(s, now, end == g->extent, place);
        end -= now;
    }
    return code;
}

static int scan_large_groups(scanning *s) {
    work *const w = &s->w;
    const geometry *const g = &s->g;
    const uint64_t row_bytes = g->inner * w->x.element_bytes;
    const uint64_t rows = row_bytes >= PIECE_BYTES ? 1 : PIECE_BYTES / row_bytes;
    int code = make_buffers(s, rows * g->inner);
    for (uint64_t block = 0; code == 0 && block < g->outer; block++) {
        code = s->turned ? scan_backward(s, block, rows) : scan_forward(s, block, rows);
        if (code == 0)
            code = write_last(s);
        if (code == 0)
            code = work_check(w, w->x.name, tally_finish(s->plan, NULL, 0));
    }
    return code;
}

static int open_scan_output(scanning *s) {
    const input *const in = &s->w.x;
    if (s->g.axis < 0)
        return work_open_output(&s->w, 1, &in->count, false, s->turned);
    return work_open_output(&s->w, in->rank, in->shape, in->fortran_order, s->turned);
}

static int run(scanning *s, const options *o, fault *f) {
    work *const w = &s->w;
    int code;
    s->form = o->exclusive ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN;
    if ((code = work_open(w, o, f)) != 0 || (o->reverse && (code = input_make_seekable(&w->x, f)) != 0) ||
        (code = work_geometry(w, true, &s->g)) != 0)
        return code;
    const bool large = is_large(s);
    s->turned = o->reverse && large && !o->traits.has_index;
    const unsigned flags = o->reverse && !s->turned ? (unsigned)TALLY_REVERSE : 0;
    if ((code = work_plan(w, s->g.grouping, s->form, flags, &s->plan)) != 0 ||
        (code = work_initial(w, &s->initial)) != 0 ||
        (code = wrap_open(w, &s->second, s->g.grouping, s->form, flags, PIECE_BYTES / w->x.element_bytes)) != 0 ||
        (code = open_scan_output(s)) != 0)
        return code;
    code = large && (flags & TALLY_REVERSE) == 0 ? scan_large_groups(s) : scan_blocks(s);
    return code != 0 ? code : work_finish(w, s->form, s->g.grouping, s->n);
}

int command_scan(int argc, char **argv, fault *f) {
    static options o;
    static scanning s;
    int code = options_parse(&o, COMMAND_SCAN, argc, argv, f);
    if (code != 0 || o.help)
        return code != 0 ? code : options_help(COMMAND_SCAN, f);
    code = run(&s, &o, f);
    work_end(&s.w);
    tally_plan_destroy(s.plan);
    wrap_close(&s.w, &s.second);
    buffer_free(&s.w, &s.x);
    buffer_free(&s.w, &s.out);
    buffer_free(&s.w, &s.initial);
    work_close(&s.w);
    return code;
}
