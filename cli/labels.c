/* labels.c: tally labels. A result may need any element, so values and labels are held whole in memory. Labels are
 * looked at before the run: without --groups the largest one says how many groups there are.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include "options.h"
#include "buffer.h"
#include "wrap.h"

typedef struct labelled {
    work w;
    tally_plan *plan;
    wrap second;
    buffer x, labels, results;
    uint64_t groups;
} labelled;

/* Both inputs' numbers of elements, which must be the same. */
static int find_counts(work *w) {
    int code = input_make_seekable(&w->x, w->f);
    if (code == 0)
        code = input_make_seekable(&w->y, w->f);
    if (code == 0 && w->x.count != w->y.count)
        return fault_data(w->f, "%s has %llu values and %s has %llu labels; there must be one label per value",
                          w->x.name, (unsigned long long)w->x.count, w->y.name, (unsigned long long)w->y.count);
    return code;
}

/* Reads the labels as i64 and counts the groups. */
static int read_labels(labelled *l) {
    work *const w = &l->w;
    int64_t most = -1;
    const int code = work_read_labels(w, 0, w->y.count, l->labels.host, &most);
    l->groups = w->o->groups_given ? (uint64_t)w->o->groups : (uint64_t)most + 1;
    return code != 0 ? code : buffer_to_device(w, &l->labels, (size_t)w->y.count * sizeof(int64_t));
}

static int read_values(labelled *l) {
    work *const w = &l->w;
    const int code = input_read_exactly(&w->x, l->x.host, (size_t)w->x.count, w->f);
    return code != 0 ? code : buffer_to_device(w, &l->x, (size_t)w->x.count * w->x.element_bytes);
}

static int read_all(labelled *l) {
    work *const w = &l->w;
    int code;
    if ((code = buffer_make(w, &l->labels, w->y.count * sizeof(int64_t))) != 0 || (code = read_labels(l)) != 0 ||
        (code = buffer_make(w, &l->x, w->x.count * w->x.element_bytes)) != 0)
        return code;
    return read_values(l);
}

static int run_all(labelled *l) {
    work *const w = &l->w;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = (tally_shape){1, w->x.count, 1, l->groups};
    args.x = l->x.device;
    args.labels = l->labels.device;
    args.out = l->results.device;
    args.out_bytes = (size_t)l->groups * work_result_bytes(w);
    int code;
    if ((code = work_check(w, w->x.name, tally_run(l->plan, &args, TALLY_SYNCHRONOUS))) != 0 ||
        (code = wrap_run(w, &l->second, &args)) != 0 || (code = buffer_to_host(w, &l->results, args.out_bytes)) != 0 ||
        (code = wrap_check(w, &l->second, l->results.host, (size_t)l->groups, 0)) != 0)
        return code;
    return work_write(w, 0, l->results.host, (size_t)l->groups);
}

static int run(labelled *l, const options *o, fault *f) {
    work *const w = &l->w;
    const unsigned flags = o->skip_bad ? TALLY_SKIP_BAD_LABELS : 0;
    int code;
    if ((code = work_open(w, o, f)) != 0 || (code = work_check_inputs(w)) != 0 ||
        (code = work_plan(w, TALLY_LABELS, TALLY_REDUCE, flags, &l->plan)) != 0 || (code = find_counts(w)) != 0 ||
        (code = read_all(l)) != 0 ||
        (code = wrap_open(w, &l->second, TALLY_LABELS, TALLY_REDUCE, flags, l->groups)) != 0 ||
        (code = buffer_make(w, &l->results, l->groups * work_result_bytes(w))) != 0 ||
        (code = work_open_output(w, 1, &l->groups, false, false)) != 0 || (code = run_all(l)) != 0)
        return code;
    return work_finish(w, TALLY_REDUCE, TALLY_LABELS, w->x.count);
}

int command_labels(int argc, char **argv, fault *f) {
    static options o;
    static labelled l;
    int code = options_parse(&o, COMMAND_LABELS, argc, argv, f);
    if (code != 0 || o.help)
        return code != 0 ? code : options_help(COMMAND_LABELS, f);
    code = run(&l, &o, f);
    tally_plan_destroy(l.plan);
    wrap_close(&l.w, &l.second);
    buffer_free(&l.w, &l.x);
    buffer_free(&l.w, &l.labels);
    buffer_free(&l.w, &l.results);
    work_close(&l.w);
    return code;
}
