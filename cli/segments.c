/* segments.c: tally segments. Offsets are read in blocks; as many neighbouring segments as fit the buffer are run
 * together, and a segment larger than the buffer is pushed through it as a group of its own. Neither file is held
 * whole, and both may be pipes (not the same).
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "buffer.h"
#include "wrap.h"

enum { BLOCK_SEGMENTS = 1 << 17 };

typedef struct segmented {
    work w;
    tally_plan *plan;  /* many segments */
    tally_plan *large; /* one segment, in pieces; made when first needed */
    wrap second;
    buffer x, offsets, results;
    int64_t *bounds;       /* a block of offsets: BLOCK_SEGMENTS + 1 */
    unsigned char *raw;    /* the same as the file has them */
    uint64_t done;         /* segments written */
    uint64_t offsets_read; /* for messages */
    uint64_t capacity;     /* elements that the buffer holds */
} segmented;

/* Reads up to n offsets behind the first 'kept' of the block and checks them against the one before. */
static int read_offsets(segmented *s, size_t kept, size_t n, size_t *got) {
    work *const w = &s->w;
    const size_t size = w->y.element_bytes;
    const int code = input_read(&w->y, s->raw, n, got, w->f);
    if (code != 0)
        return code;
    for (size_t i = 0; i < *got; i++, s->offsets_read++) {
        const int bad =
            work_take_offset(w, s->offsets_read, s->offsets_read > 0, s->raw + i * size, &s->bounds[kept + i]);
        if (bad != 0)
            return bad;
    }
    return 0;
}

/* Takes exactly n elements; 'index' is the offset that asks for them. */
static int read_values(segmented *s, size_t n, int64_t end, uint64_t index) {
    work *const w = &s->w;
    size_t got;
    int code = input_read(&w->x, s->x.host, n, &got, w->f);
    if (code != 0)
        return code;
    return got < n ? work_past_the_end(w, end, index) : buffer_to_device(w, &s->x, n * w->x.element_bytes);
}

static int write_results(segmented *s, uint64_t n) {
    int code = buffer_to_host(&s->w, &s->results, (size_t)n * work_result_bytes(&s->w));
    if (code == 0)
        code = wrap_check(&s->w, &s->second, s->results.host, (size_t)n, s->done);
    if (code == 0)
        code = work_write(&s->w, s->done, s->results.host, (size_t)n);
    s->done += n;
    return code;
}

/* Segments first .. last - 1 of the block, which fit the buffer together. */
static int run_together(segmented *s, size_t first, size_t last, uint64_t index) {
    work *const w = &s->w;
    const int64_t begin = s->bounds[first];
    const size_t values = (size_t)(s->bounds[last] - begin), segments = last - first;
    int64_t *const offsets = s->offsets.host;
    tally_args args = TALLY_ARGS_INIT;
    int code;
    for (size_t i = 0; i <= segments; i++)
        offsets[i] = s->bounds[first + i] - begin;
    args.shape = (tally_shape){1, values, 1, segments};
    args.x = s->x.device;
    args.offsets = s->offsets.device;
    args.out = s->results.device;
    args.out_bytes = segments * work_result_bytes(w);
    if ((code = read_values(s, values, s->bounds[last], index + last)) != 0 ||
        (code = buffer_to_device(w, &s->offsets, (segments + 1) * sizeof *offsets)) != 0 ||
        (code = work_check(w, w->x.name, tally_run(s->plan, &args, TALLY_SYNCHRONOUS))) != 0 ||
        (code = wrap_run(w, &s->second, &args)) != 0)
        return code;
    return write_results(s, segments);
}

/* One segment larger than the buffer. */
static int run_alone(segmented *s, size_t segment, uint64_t index) {
    work *const w = &s->w;
    int code = 0;
    if (!s->large && ((code = work_plan(w, TALLY_ALL_VALUES, TALLY_REDUCE, 0, &s->large)) != 0 ||
                      (code = wrap_open_large(w, &s->second)) != 0))
        return code;
    uint64_t left = (uint64_t)(s->bounds[segment + 1] - s->bounds[segment]);
    while (left > 0) {
        const uint64_t now = left < s->capacity ? left : s->capacity;
        tally_args args = TALLY_ARGS_INIT;
        args.shape = (tally_shape){1, now, 1, 0};
        args.x = s->x.device;
        if ((code = read_values(s, (size_t)now, s->bounds[segment + 1], index + segment + 1)) != 0 ||
            (code = work_check(w, w->x.name, tally_push(s->large, &args))) != 0 ||
            (code = wrap_push(&s->second, s->second.large, &args, w->x.name, w->f)) != 0)
            return code;
        left -= now;
    }
    code = work_check(w, w->x.name, tally_finish(s->large, s->results.device, s->results.bytes));
    if (code == 0)
        code = wrap_finish(w, &s->second, s->second.large);
    return code != 0 ? code : write_results(s, 1);
}

/* The segments between 'count' offsets; 'index' is the number of the block's first. */
static int run_block(segmented *s, size_t count, uint64_t index) {
    int code = 0;
    size_t first = 0;
    while (code == 0 && first + 1 < count) {
        size_t last = first;
        while (last + 1 < count && (uint64_t)(s->bounds[last + 1] - s->bounds[first]) <= s->capacity)
            last++;
        if (last > first) {
            code = run_together(s, first, last, index);
            first = last;
        } else {
            code = run_alone(s, first, index);
            first++;
        }
    }
    return code;
}

/* Values before the first offset belong to no segment. */
static int skip_to(segmented *s, int64_t offset) {
    int code = 0;
    while (code == 0 && s->w.x.position < (uint64_t)offset) {
        const uint64_t left = (uint64_t)offset - s->w.x.position;
        code = read_values(s, (size_t)(left < s->capacity ? left : s->capacity), offset, 0);
    }
    return code;
}

/* Values behind the last offset belong to no segment, either. They are read where only that shows how many there are
 * and whether they are numbers, and from every pipe, so that the next command's input begins where it should. */
static int skip_rest(segmented *s) {
    input *const x = &s->w.x;
    size_t got = x->count != INPUT_UNKNOWN && x->bytes.seekable ? 0 : (size_t)s->capacity;
    int code = 0;
    while (code == 0 && got == s->capacity)
        code = input_read(x, s->x.host, (size_t)s->capacity, &got, s->w.f);
    return code;
}

static int run_all(segmented *s) {
    work *const w = &s->w;
    size_t got, kept = 1;
    int code = read_offsets(s, 0, 1, &got);
    if (code != 0)
        return code;
    if (got == 0)
        return fault_data(w->f, "%s: holds no offsets; n segments have n + 1", w->y.name);
    if ((code = skip_to(s, s->bounds[0])) != 0)
        return code;
    do {
        const uint64_t index = s->offsets_read - kept;
        if ((code = read_offsets(s, kept, BLOCK_SEGMENTS, &got)) != 0 || (code = run_block(s, kept + got, index)) != 0)
            return code;
        s->bounds[0] = s->bounds[kept + got - 1];
    } while (got == BLOCK_SEGMENTS);
    return skip_rest(s);
}

static int make_room(segmented *s) {
    work *const w = &s->w;
    int code;
    s->capacity = PIECE_BYTES / w->x.element_bytes;
    s->bounds = malloc((BLOCK_SEGMENTS + 1) * sizeof *s->bounds);
    s->raw = malloc(BLOCK_SEGMENTS * w->y.element_bytes);
    if (!s->bounds || !s->raw)
        return fault_data(w->f, "no memory for offsets");
    if ((code = buffer_make(w, &s->x, PIECE_BYTES)) != 0 ||
        (code = buffer_make(w, &s->offsets, (BLOCK_SEGMENTS + 1) * sizeof(int64_t))) != 0)
        return code;
    return buffer_make(w, &s->results, BLOCK_SEGMENTS * work_result_bytes(w));
}

static int run(segmented *s, const options *o, fault *f) {
    work *const w = &s->w;
    int code;
    if ((code = work_open(w, o, f)) != 0 || (code = work_check_inputs(w)) != 0 ||
        (code = work_plan(w, TALLY_SEGMENTS, TALLY_REDUCE, 0, &s->plan)) != 0 ||
        (code = wrap_open(w, &s->second, TALLY_SEGMENTS, TALLY_REDUCE, 0, BLOCK_SEGMENTS)) != 0 ||
        (code = make_room(s)) != 0)
        return code;
    uint64_t segments = INPUT_UNKNOWN;
    if (w->y.count != INPUT_UNKNOWN)
        segments = w->y.count == 0 ? 0 : w->y.count - 1;
    if ((code = work_open_output(w, 1, &segments, false, false)) != 0 || (code = run_all(s)) != 0)
        return code;
    return work_finish(w, TALLY_REDUCE, TALLY_SEGMENTS, w->x.count == INPUT_UNKNOWN ? w->x.position : w->x.count);
}

int command_segments(int argc, char **argv, fault *f) {
    static options o;
    static segmented s;
    int code = options_parse(&o, COMMAND_SEGMENTS, argc, argv, f);
    if (code != 0 || o.help)
        return code != 0 ? code : options_help(COMMAND_SEGMENTS, f);
    code = run(&s, &o, f);
    tally_plan_destroy(s.plan);
    tally_plan_destroy(s.large);
    wrap_close(&s.w, &s.second);
    buffer_free(&s.w, &s.x);
    buffer_free(&s.w, &s.offsets);
    buffer_free(&s.w, &s.results);
    free(s.bounds);
    free(s.raw);
    work_close(&s.w);
    return code;
}
