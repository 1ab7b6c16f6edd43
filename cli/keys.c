/* keys.c: tally keys. Values and keys go through buffers of a few MiB. The last run in a buffer may go on in the next,
 * so it waits for it; a run that fills the whole buffer is pushed piece by piece as a group of its own.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "progress.h"
#include "buffer.h"
#include "wrap.h"

typedef struct keyed {
    work w;
    tally_plan *plan;  /* many runs */
    tally_plan *large; /* one run, in pieces; made when first needed */
    wrap second;
    buffer x, keys, results, result_keys;
    output keys_out;
    bool keys_written;     /* to an output of their own; else printed before their results */
    size_t capacity, held; /* elements that the buffers hold, and that are in them */
    bool ended;
    uint64_t runs, n;
} keyed;

static bool is_same_key(const keyed *k, size_t i, size_t j) {
    const size_t size = k->w.y.element_bytes;
    const unsigned char *const keys = k->keys.host;
    return memcmp(keys + i * size, keys + j * size, size) == 0;
}

/* Fills up the buffers; both inputs must end together. */
static int fill(keyed *k) {
    work *const w = &k->w;
    size_t values, keys;
    const size_t wanted = k->capacity - k->held;
    int code = input_read(&w->x, (unsigned char *)k->x.host + k->held * w->x.element_bytes, wanted, &values, w->f);
    if (code == 0)
        code = input_read(&w->y, (unsigned char *)k->keys.host + k->held * w->y.element_bytes, wanted, &keys, w->f);
    if (code != 0)
        return code;
    if (values != keys)
        return fault_data(w->f, "%s has %s values than %s has keys; there must be one key per value", w->x.name,
                          values < keys ? "fewer" : "more", w->y.name);
    k->held += values;
    k->n += values;
    k->ended = values < wanted;
    return 0;
}

/* Moves what lies behind the first n elements to the front. */
static void drop(keyed *k, size_t n) {
    const size_t x = k->w.x.element_bytes, y = k->w.y.element_bytes;
    memmove(k->x.host, (unsigned char *)k->x.host + n * x, (k->held - n) * x);
    memmove(k->keys.host, (unsigned char *)k->keys.host + n * y, (k->held - n) * y);
    k->held -= n;
}

static int to_device(keyed *k) {
    const int code = buffer_to_device(&k->w, &k->x, k->held * k->w.x.element_bytes);
    return code != 0 ? code : buffer_to_device(&k->w, &k->keys, k->held * k->w.y.element_bytes);
}

static int write_runs(keyed *k, size_t runs) {
    work *const w = &k->w;
    int code;
    if ((code = buffer_to_host(w, &k->results, runs * work_result_bytes(w))) != 0 ||
        (code = buffer_to_host(w, &k->result_keys, runs * w->y.element_bytes)) != 0 ||
        (code = wrap_check(w, &k->second, k->results.host, runs, k->runs)) != 0)
        return code;
    if (!k->keys_written && w->out.kind == OUTPUT_PRINTED)
        code = work_print_runs(w, k->result_keys.host, k->results.host, runs);
    else if ((code = work_write(w, k->runs, k->results.host, runs)) == 0 && k->keys_written)
        code = output_write(&k->keys_out, k->runs, k->result_keys.host, runs, w->f);
    k->runs += runs;
    return code;
}

/* The runs among the first n elements, which are whole. */
static int run_together(keyed *k, size_t n) {
    work *const w = &k->w;
    uint64_t runs = 0;
    tally_args args = TALLY_ARGS_INIT;
    args.shape = (tally_shape){1, n, 1, 0};
    args.x = k->x.device;
    args.keys = k->keys.device;
    args.out = k->results.device;
    args.out_bytes = k->results.bytes;
    args.keys_out = k->result_keys.device;
    args.keys_out_bytes = k->result_keys.bytes;
    args.count = &runs;
    int code = to_device(k);
    if (code == 0)
        code = work_check(w, w->x.name, tally_run(k->plan, &args, TALLY_SYNCHRONOUS));
    if (code == 0)
        code = wrap_run(w, &k->second, &args);
    if (code == 0)
        code = write_runs(k, (size_t)runs);
    drop(k, n);
    return code;
}

/* The buffer is one run: pushes it and what follows until another key comes or the input ends. */
static int run_alone(keyed *k) {
    work *const w = &k->w;
    const size_t key_bytes = w->y.element_bytes;
    unsigned char key[8];
    int code = 0;
    bool same = true;
    if (!k->large && ((code = work_plan(w, TALLY_ALL_VALUES, TALLY_REDUCE, 0, &k->large)) != 0 ||
                      (code = wrap_open_large(w, &k->second)) != 0))
        return code;
    memcpy(key, k->keys.host, key_bytes);
    while (code == 0 && same && k->held > 0) {
        tally_args args = TALLY_ARGS_INIT;
        size_t n = 0;
        while (n < k->held && memcmp((unsigned char *)k->keys.host + n * key_bytes, key, key_bytes) == 0)
            n++;
        same = n == k->held;
        args.shape = (tally_shape){1, n, 1, 0};
        args.x = k->x.device;
        if (n > 0 && (code = to_device(k)) == 0)
            code = work_check(w, w->x.name, tally_push(k->large, &args));
        if (n > 0 && code == 0)
            code = wrap_push(&k->second, k->second.large, &args, w->x.name, w->f);
        drop(k, n);
        if (code == 0 && same && !k->ended)
            code = fill(k);
    }
    if (code != 0)
        return code;
    code = work_check(w, w->x.name, tally_finish(k->large, k->results.device, k->results.bytes));
    if (code == 0)
        code = wrap_finish(w, &k->second, k->second.large);
    memcpy(k->result_keys.host, key, key_bytes);
    if (code == 0)
        code = buffer_to_device(w, &k->result_keys, key_bytes);
    return code != 0 ? code : write_runs(k, 1);
}

static int run_all(keyed *k) {
    int code = fill(k);
    while (code == 0 && k->held > 0) {
        size_t whole = k->held;
        if (!k->ended)
            for (whole--; whole > 0 && is_same_key(k, whole - 1, whole); whole--)
                continue;
        if (whole == 0)
            code = run_alone(k);
        else
            code = run_together(k, whole);
        if (code == 0 && !k->ended)
            code = fill(k);
    }
    return code;
}

static int open_outputs(keyed *k) {
    work *const w = &k->w;
    const options *const o = w->o;
    const uint64_t unknown = INPUT_UNKNOWN;
    const input *inputs[2] = {&w->x, &w->y};
    const output_array keys = {.dtype = w->y.dtype, .rank = 1, .shape = {INPUT_UNKNOWN}};
    const int code = work_open_output(w, 1, &unknown, false, false);
    if (code != 0)
        return code;
    k->keys_written = o->keys_output || (o->json && !o->output);
    if (k->keys_written)
        w->keys_out = &k->keys_out;
    return k->keys_written ? output_open(&k->keys_out, o->keys_output, o->json, &keys, inputs, 2, w->f) : 0;
}

static int make_room(keyed *k) {
    work *const w = &k->w;
    const size_t wider = w->x.element_bytes > w->y.element_bytes ? w->x.element_bytes : w->y.element_bytes;
    int code;
    k->capacity = PIECE_BYTES / wider;
    if ((code = buffer_make(w, &k->x, k->capacity * w->x.element_bytes)) != 0 ||
        (code = buffer_make(w, &k->keys, k->capacity * w->y.element_bytes)) != 0 ||
        (code = buffer_make(w, &k->result_keys, k->capacity * w->y.element_bytes)) != 0)
        return code;
    return buffer_make(w, &k->results, k->capacity * work_result_bytes(w));
}

static int run(keyed *k, const options *o, fault *f) {
    work *const w = &k->w;
    int code;
    if ((code = work_open(w, o, f)) != 0 || (code = work_check_inputs(w)) != 0 ||
        (code = work_plan(w, TALLY_KEYS, TALLY_REDUCE, 0, &k->plan)) != 0 || (code = make_room(k)) != 0 ||
        (code = wrap_open(w, &k->second, TALLY_KEYS, TALLY_REDUCE, 0, k->capacity)) != 0 ||
        (code = open_outputs(k)) != 0 || (code = run_all(k)) != 0)
        return code;
    return work_finish(w, TALLY_REDUCE, TALLY_KEYS, k->n);
}

int command_keys(int argc, char **argv, fault *f) {
    static options o;
    static keyed k;
    int code = options_parse(&o, COMMAND_KEYS, argc, argv, f);
    if (code != 0 || o.help)
        return code != 0 ? code : options_help(COMMAND_KEYS, f);
    code = run(&k, &o, f);
    tally_plan_destroy(k.plan);
    tally_plan_destroy(k.large);
    wrap_close(&k.w, &k.second);
    buffer_free(&k.w, &k.x);
    buffer_free(&k.w, &k.keys);
    buffer_free(&k.w, &k.results);
    buffer_free(&k.w, &k.result_keys);
    output_close(&k.keys_out);
    work_close(&k.w);
    return code;
}
