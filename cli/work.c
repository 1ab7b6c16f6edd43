/* work.c: see work.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "print.h"
#include "progress.h"
#include "replaced.h"

/* Copies a message of the library, with the command's options for C's names. */
static void say_options(char *to, size_t room, const char *from) {
    static const char *const names[][2] = {{"leave desc.acc TALLY_DEFAULT", "leave --acc-dtype out"},
                                           {"desc.acc", "--acc-dtype"},
                                           {"desc.out", "--out-dtype"},
                                           {"desc.ddof", "--ddof"},
                                           {"args.initial", "--initial"},
                                           {"args.shape.groups", "--groups"},
                                           {"TALLY_SKIP_NAN", "--skip-nan"},
                                           {"TALLY_SKIP_BAD_LABELS", "--skip-bad"}};
    copy_replaced(to, room, from, names, sizeof names / sizeof *names);
}

int work_check_in(fault *f, const char *name, tally_status status) {
    if (status == TALLY_OK)
        return 0;
    char text[sizeof f->text] = "";
    say_options(text, sizeof text, tally_last_error());
    if (!name)
        return status == TALLY_INVALID_ARGUMENT ? fault_usage(f, "%s", text) : fault_data(f, "%s", text);
    return fault_data(f, "%s: %s", name, text);
}

int work_check(work *w, const char *name, tally_status status) {
    return work_check_in(w->f, name, status);
}

static int check_column(const input *in, const text_options *text, fault *f) {
    if (in->format == INPUT_TEXT || !text->column)
        return 0;
    return fault_usage(f, "%s: --column is for text, and this is %s", in->name,
                       in->format == INPUT_NPY ? "an npy file" : "raw numbers");
}

/* Options of text, such as a column, apply to the second input if they were given once and only that input is text. */
static int open_inputs(work *w, const options *o, fault *f) {
    const text_options *const first = &o->inputs[0].text;
    input_options second = o->inputs[1];
    int code = input_open(&w->x, o->paths[0], &o->inputs[0], f);
    if (code != 0 || o->path_count < 2)
        return code != 0 ? code : check_column(&w->x, first, f);
    const bool once = !second.text.column || second.text.column == first->column;
    if (!once && (code = check_column(&w->x, first, f)) != 0)
        return code;
    const bool has_none =
        !second.text.column && !second.text.delimiter && !second.text.comment && second.text.header == TEXT_HEADER_AUTO;
    if (w->x.format != INPUT_TEXT && has_none)
        second.text = *first;
    w->y_open = true;
    if ((code = input_open(&w->y, o->paths[1], &second, f)) != 0)
        return code;
    return once && w->x.format == INPUT_TEXT ? 0 : check_column(&w->y, &second.text, f);
}

int work_open(work *w, const options *o, fault *f) {
    int code;
    w->o = o;
    w->f = f;
    /* Opens the device first: its spec may be wrong, and opening an input may read all of it. */
    if ((code = work_check(w, NULL, tally_open(o->device, &w->device))) != 0)
        return code;
    tally_device_info info = {.struct_size = sizeof info};
    if ((code = work_check(w, NULL, tally_device_describe(w->device, &info))) != 0)
        return code;
#ifndef TALLY_CLI_APART /* tests/cli uses it to treat the CPU as if its memory were another's */
    w->host_memory = strncmp(info.spec, "cpu", 3) == 0;
#endif
    w->is_cuda = strncmp(info.spec, "cuda", 4) == 0;
    progress_begin(!o->output && !o->json && (o->command != COMMAND_REDUCE || o->axis_given));
    return open_inputs(w, o, f);
}

void work_close(work *w) {
    output_close(&w->out);
    if (w->x.name || w->x.bytes.name)
        input_close(&w->x);
    if (w->y_open)
        input_close(&w->y);
    tally_close(w->device);
}

/* ---- inputs that belong together ---- */

static int check_pair(work *w) {
    const input *const x = &w->x, *const y = &w->y;
    if (x->dtype != y->dtype)
        return fault_data(w->f, "%s holds %s and %s holds %s; dot needs two of one type%s", x->name,
                          tally_dtype_name(x->dtype), y->name, tally_dtype_name(y->dtype),
                          x->format == INPUT_TEXT || y->format == INPUT_TEXT ? ", which --dtype sets for text" : "");
    const bool both_known = x->count != INPUT_UNKNOWN && y->count != INPUT_UNKNOWN;
    if (both_known && x->count != y->count)
        return fault_data(w->f, "%s has %llu elements and %s has %llu; dot needs as many of each", x->name,
                          (unsigned long long)x->count, y->name, (unsigned long long)y->count);
    if (x->rank != y->rank || (both_known && memcmp(x->shape, y->shape, sizeof *x->shape * (size_t)x->rank) != 0))
        return fault_data(w->f, "%s and %s have different shapes; dot needs the same", x->name, y->name);
    return 0;
}

int work_check_inputs(work *w) {
    const input *const x = &w->x, *const y = &w->y;
    const command_kind command = w->o->command;
    const bool segments = command == COMMAND_SEGMENTS, keys = command == COMMAND_KEYS;
    if (!w->y_open)
        return 0;
    if (command == COMMAND_REDUCE)
        return check_pair(w);
    if (!keys && number_is_float(y->dtype) && y->count != 0)
        return fault_data(w->f, "%s: %s must be integers, and these are %s", y->name, segments ? "offsets" : "labels",
                          tally_dtype_name(y->dtype));
    if (x->rank > 1 || y->rank > 1)
        return fault_data(w->f, "%s: has %d dimensions; %s takes arrays of one", x->rank > 1 ? x->name : y->name,
                          x->rank > 1 ? x->rank : y->rank,
                          segments ? "segments"
                          : keys   ? "keys"
                                   : "labels");
    if (!segments && x->count != INPUT_UNKNOWN && y->count != INPUT_UNKNOWN && x->count != y->count)
        return fault_data(w->f, "%s has %llu values and %s has %llu %ss; there must be one %s per value", x->name,
                          (unsigned long long)x->count, y->name, (unsigned long long)y->count, keys ? "key" : "label",
                          keys ? "key" : "label");
    return 0;
}

int work_past_the_end(work *w, int64_t offset, uint64_t index) {
    return fault_data(w->f, "%s: offset %llu is %lld, past the end of %s, which has %llu elements", w->y.name,
                      (unsigned long long)index, (long long)offset, w->x.name,
                      (unsigned long long)(w->x.count == INPUT_UNKNOWN ? w->x.position : w->x.count));
}

int work_take_offset(work *w, uint64_t index, bool has_before, const void *raw, int64_t *at) {
    if (!number_to_i64(w->y.dtype, raw, at))
        return fault_data(w->f, "%s: offset %llu does not fit i64", w->y.name, (unsigned long long)index);
    if (*at < 0)
        return fault_data(w->f, "%s: offset %llu is %lld; offsets count elements from 0", w->y.name,
                          (unsigned long long)index, (long long)*at);
    if (has_before && *at < at[-1])
        return fault_data(w->f, "%s: offset %llu is %lld, less than the one before, %lld; offsets must not decrease",
                          w->y.name, (unsigned long long)index, (long long)*at, (long long)at[-1]);
    return w->x.count != INPUT_UNKNOWN && (uint64_t)*at > w->x.count ? work_past_the_end(w, *at, index) : 0;
}

/* Label number 'index', which is not in 0 .. groups - 1. */
static int refuse_label(const work *w, uint64_t index, int64_t label) {
    if (label < 0)
        return fault_data(w->f, "%s: label %llu is %lld; groups are numbered from 0 (--skip-bad leaves it out)",
                          w->y.name, (unsigned long long)index, (long long)label);
    return fault_data(w->f, "%s: label %llu is %lld, and there are %lld groups (--skip-bad leaves it out)", w->y.name,
                      (unsigned long long)index, (long long)label, (long long)w->o->groups);
}

int work_read_labels(work *w, uint64_t first, uint64_t n, int64_t *labels, int64_t *most) {
    const options *const o = w->o;
    unsigned char raw[4096 * sizeof(uint64_t)];
    for (uint64_t at = 0, now; at < n; at += now) {
        now = n - at < 4096 ? n - at : 4096;
        const int code = input_read_exactly(&w->y, raw, (size_t)now, w->f);
        for (uint64_t i = 0; code == 0 && i < now; i++) {
            const unsigned long long index = first + at + i;
            int64_t *const label = &labels[at + i];
            if (!number_to_i64(w->y.dtype, raw + i * w->y.element_bytes, label)) {
                if (!o->skip_bad)
                    return fault_data(w->f, "%s: label %llu does not fit i64", w->y.name, index);
                *label = -1;
            }
            const bool is_bad = *label < 0 || (o->groups_given && *label >= o->groups);
            if (is_bad && !o->skip_bad)
                return refuse_label(w, index, *label);
            *most = *label > *most ? *label : *most;
        }
        if (code != 0)
            return code;
    }
    return 0;
}

tally_desc work_desc(const work *w, tally_grouping grouping, tally_form form, unsigned flags) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = w->o->op;
    desc.form = form;
    desc.grouping = grouping;
    desc.mode = w->o->exact ? TALLY_EXACT : TALLY_FAST;
    desc.in = w->x.dtype;
    desc.acc = w->o->acc_dtype;
    desc.out = w->o->out_dtype;
    desc.index = grouping == TALLY_SEGMENTS || grouping == TALLY_LABELS ? TALLY_I64
                 : grouping == TALLY_KEYS                               ? w->y.dtype
                                                                        : TALLY_DEFAULT;
    desc.flags = flags | (w->o->skip_nan ? (unsigned)TALLY_SKIP_NAN : 0);
    desc.ddof = w->o->ddof;
    return desc;
}

int work_plan(work *w, tally_grouping grouping, tally_form form, unsigned flags, tally_plan **plan) {
    const tally_desc desc = work_desc(w, grouping, form, flags);
    int code = work_check(w, NULL, tally_plan_create(w->device, &desc, plan));
    if (code != 0)
        return code;
    w->desc.struct_size = sizeof w->desc;
    return work_check(w, NULL, tally_plan_describe(*plan, &w->desc, &w->elements_per_result));
}

/* ---- output ---- */

size_t work_result_bytes(const work *w) {
    return w->elements_per_result * tally_dtype_size(w->desc.out);
}

int work_open_output(work *w, int rank, const uint64_t *shape, bool fortran_order, bool any_order) {
    output_array array = {.dtype = w->desc.out, .rank = rank, .fortran_order = fortran_order && rank > 1};
    const input *inputs[2] = {&w->x, &w->y};
    memcpy(array.shape, shape, sizeof *shape * (size_t)rank);
    array.any_order = any_order;
    array.pairs = w->elements_per_result == 2;
    if (array.pairs) {
        array.shape[array.rank++] = 2;
        array.any_order |= array.fortran_order; /* see work_write */
    }
    return output_open(&w->out, w->o->output, w->o->json, &array, inputs, w->y_open ? 2 : 1, w->f);
}

/* Results of minmax come as pairs. In an array whose first index changes fastest the last dimension, of 2, lies apart:
 * all minima, then all maxima. */
static int write_pairs_apart(work *w, uint64_t first, const void *results, size_t n) {
    const size_t size = tally_dtype_size(w->desc.out);
    const uint64_t all = work_product(w->out.array.shape, 0, w->out.array.rank - 1);
    unsigned char *const part = malloc(n * size + 1);
    int code = part ? 0 : fault_data(w->f, "no memory for %zu bytes", n * size);
    for (size_t k = 0; code == 0 && k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            memcpy(part + i * size, (const unsigned char *)results + (2 * i + k) * size, size);
        code = output_write(&w->out, k * all + first, part, n, w->f);
    }
    free(part);
    return code;
}

int work_write(work *w, uint64_t first, const void *results, size_t n) {
    const size_t per = w->elements_per_result;
    if (per == 2 && w->out.array.fortran_order)
        return write_pairs_apart(w, first, results, n);
    return output_write(&w->out, first * per, results, n * per, w->f);
}

int work_print_runs(work *w, const void *keys, const void *results, size_t runs) {
    char text[NUMBER_FORMAT_MAX];
    for (size_t i = 0; i < runs; i++) {
        number_format(text, w->y.dtype, (const unsigned char *)keys + i * w->y.element_bytes);
        printf("%s ", text);
        print_elements(&w->out.array, i * w->elements_per_result,
                       (const unsigned char *)results + i * work_result_bytes(w), w->elements_per_result);
    }
    return ferror(stdout) ? out_file_flush_standard(w->f) : 0;
}

uint64_t work_product(const uint64_t *shape, int first, int last) {
    uint64_t product = 1;
    for (int i = first; i < last; i++)
        product *= shape[i];
    return product;
}

static void print_json_shape(const output_array *a) {
    printf(",\"shape\":[");
    for (int i = 0; i < a->rank; i++)
        printf("%s%llu", i == 0 ? "" : ",", (unsigned long long)a->shape[i]);
    putchar(']');
}

static int print_json(work *w, tally_form form, tally_grouping grouping, uint64_t n) {
    const output_array *const a = &w->out.array;
    printf(
        "{\"op\":\"%s\",\"form\":\"%s\",\"grouping\":\"%s\",\"mode\":\"%s\",\"n\":%llu,\"in\":\"%s\",\"dtype\":\"%s\"",
        tally_op_name(w->desc.op), tally_form_name(form), tally_grouping_name(grouping), tally_mode_name(w->desc.mode),
        (unsigned long long)n, tally_dtype_name(w->desc.in), tally_dtype_name(a->dtype));
    if (a->rank > 0 && !(a->rank == 1 && a->pairs))
        print_json_shape(a);
    if (w->keys_out && !w->keys_out->to_npy) {
        const void *const keys = output_view(w->keys_out, w->f);
        if (!keys)
            return FAULT_DATA;
        printf(",\"keys\":");
        print_json_array(&w->keys_out->array, keys);
    }
    if (w->out.to_npy) {
        printf(",\"output\":");
        print_json_string(w->o->output);
    } else {
        const void *const view = output_view(&w->out, w->f);
        if (!view)
            return FAULT_DATA;
        printf(",\"result\":");
        print_json_array(a, view);
    }
    puts("}");
    return out_file_flush_standard(w->f);
}

int work_finish(work *w, tally_form form, tally_grouping grouping, uint64_t n) {
    progress_end();
    int code = w->keys_out ? output_complete(w->keys_out, w->f) : 0;
    if (code == 0)
        code = output_complete(&w->out, w->f);
    if (code == 0 && w->keys_out)
        code = output_settle(w->keys_out, w->f);
    if (code == 0)
        code = output_settle(&w->out, w->f);
    if (code == 0 && w->keys_out)
        code = output_finish(w->keys_out, w->f);
    if (code == 0)
        code = output_finish(&w->out, w->f);
    return code != 0 || !w->o->json ? code : print_json(w, form, grouping, n);
}

/* ---- input ---- */

int work_geometry(work *w, bool ordered, geometry *g) {
    const input *const in = &w->x;
    *g = (geometry){TALLY_ALL_VALUES, 1, in->count, 1, -1};
    if (!w->o->axis_given) {
        int code = 0;
        const bool mixed = w->y_open && in->fortran_order != w->y.fortran_order;
        if (ordered || mixed)
            code = input_to_c_order(&w->x, w->f);
        return code == 0 && mixed ? input_to_c_order(&w->y, w->f) : code;
    }
    const int axis = w->o->axis < 0 ? w->o->axis + in->rank : w->o->axis;
    if (axis < 0 || axis >= in->rank)
        return fault_usage(w->f, "%s: --axis %d is out of range: the array has %d dimension%s", in->name, w->o->axis,
                           in->rank, in->rank == 1 ? "" : "s");
    g->axis = axis;
    if (in->rank == 1)
        return 0;
    if (w->y_open && in->fortran_order != w->y.fortran_order) {
        const int code = input_to_c_order(in->fortran_order ? &w->x : &w->y, w->f);
        if (code != 0)
            return code;
    }
    const uint64_t before = work_product(in->shape, 0, axis), after = work_product(in->shape, axis + 1, in->rank);
    g->grouping = TALLY_AXIS;
    g->outer = in->fortran_order ? after : before;
    g->extent = in->shape[axis];
    g->inner = in->fortran_order ? before : after;
    return 0;
}
