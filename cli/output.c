/* output.c: see output.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <string.h>
#include <unistd.h>

#include "print.h"

enum { UNKNOWN_SHAPE_HEADER_BYTES = 128 }; /* room to write a count into the header afterwards */

/* ---- the npy header ---- */

static int write_header(output *out, fault *f) {
    char bytes[NPY_HEADER_CAPACITY];
    const output_array *const a = &out->array;
    const size_t n = npy_format_header(bytes, sizeof bytes, UNKNOWN_SHAPE_HEADER_BYTES, a->dtype, a->fortran_order,
                                       a->rank, a->shape);
    if (n == 0)
        return fault_data(f, "%s: the result has more than %d dimensions, which npy files cannot hold", out->file.name,
                          NPY_MAX_RANK);
    out->header_bytes = n;
    return out_file_write(&out->file, 0, bytes, n, f);
}

/* ---- the public calls ---- */

/* Writing to an input would change what is still to be read. A single result comes after all reading. */
static int refuse_inputs(const output *out, const char *path, const input *const *inputs, size_t count, fault *f) {
    struct stat status;
    if (!out_file_status(path, &status) || !S_ISREG(status.st_mode) || (!path && out->array.rank == 0))
        return 0;
    for (size_t i = 0; i < count; i++)
        if (inputs[i]->bytes.device == status.st_dev && inputs[i]->bytes.inode == status.st_ino)
            return fault_usage(f, "%s: is also the input %s; write to another file",
                               path && strcmp(path, "-") != 0 ? path : "standard output", inputs[i]->name);
    return 0;
}

int output_open(output *out, const char *path, bool json, const output_array *array, const input *const *inputs,
                size_t input_count, fault *f) {
    *out = (output){.array = *array, .json = json, .open = true};
    const bool unknown = array->rank > 0 && array->shape[0] == INPUT_UNKNOWN;
    int code = refuse_inputs(out, path, inputs, input_count, f);
    if (code != 0)
        return code;
    if (!path) {
        out->kind =
            json || array->any_order || (array->fortran_order && array->rank > 1) ? OUTPUT_KEPT : OUTPUT_PRINTED;
        return 0;
    }
    out->to_npy = true;
    if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
        return fault_usage(f, "standard output is a terminal, which cannot show an npy file; redirect it");
    if ((code = out_file_open(&out->file, path, f)) != 0)
        return code;
    out->kind = out->file.any_place ? OUTPUT_FILE : OUTPUT_PLAIN;
    if (out->kind == OUTPUT_PLAIN && (unknown || array->any_order)) {
        out->kind = OUTPUT_KEPT;
        return 0;
    }
    return write_header(out, f);
}

int output_write(output *out, uint64_t first, const void *elements, size_t n, fault *f) {
    const size_t size = tally_dtype_size(out->array.dtype);
    if (first + n > out->written)
        out->written = first + n;
    switch (out->kind) {
    case OUTPUT_PRINTED:
        print_elements(&out->array, first, elements, n);
        return ferror(stdout) ? out_file_flush_standard(f) : 0;
    case OUTPUT_KEPT:
        return spool_write(&out->kept, first * size, elements, n * size, f);
    default:
        return out_file_write(&out->file, out->header_bytes + first * size, elements, n * size, f);
    }
}

const void *output_view(output *out, fault *f) {
    return out->written == 0 ? "" : spool_view(&out->kept, f);
}

/* Sends what was kept as an npy file in sequence. */
static int send_kept(output *out, fault *f) {
    const size_t bytes = (size_t)out->written * tally_dtype_size(out->array.dtype);
    const void *const view = output_view(out, f);
    if (!view)
        return FAULT_DATA;
    const int code = write_header(out, f);
    return code != 0 ? code : out_file_write(&out->file, 0, view, bytes, f);
}

static int print_kept(output *out, fault *f) {
    const void *const view = output_view(out, f);
    if (!view)
        return FAULT_DATA;
    print_array(&out->array, view);
    return out_file_flush_standard(f);
}

int output_complete(output *out, fault *f) {
    output_array *const a = &out->array;
    int code = 0;
    const bool unknown = a->rank > 0 && a->shape[0] == INPUT_UNKNOWN;
    if (unknown)
        a->shape[0] = a->pairs ? out->written / 2 : out->written;
    if (out->kind == OUTPUT_PRINTED)
        return out_file_flush_standard(f);
    if (out->kind == OUTPUT_KEPT && !out->to_npy)
        return out->json ? 0 : print_kept(out, f);
    if (out->kind == OUTPUT_KEPT)
        code = send_kept(out, f);
    else if (out->kind == OUTPUT_FILE && unknown)
        code = write_header(out, f);
    return code;
}

int output_settle(output *out, fault *f) {
    return out->to_npy ? out_file_settle(&out->file, f) : 0;
}

int output_finish(output *out, fault *f) {
    return out->to_npy ? out_file_finish(&out->file, f) : 0;
}

void output_close(output *out) {
    if (!out->open)
        return;
    out_file_close(&out->file);
    spool_free(&out->kept);
    memset(out, 0, sizeof *out);
}
