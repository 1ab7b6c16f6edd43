/* input.c: see input.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "number.h"
#include "progress.h"

/* ---- which format ---- */

static bool has_extension(const char *path, const char *const *extensions) {
    const char *const dot = path ? strrchr(path, '.') : NULL;
    for (; dot && *extensions; extensions++)
        if (strcasecmp(dot, *extensions) == 0)
            return true;
    return false;
}

/* Printable ASCII, usual blanks, and bytes that may be UTF-8. Raw numbers practically never look like this. */
static bool looks_like_text(const unsigned char *bytes, size_t n) {
    size_t high = 0;
    for (size_t i = 0; i < n; i++) {
        if ((bytes[i] < 0x20 && !strchr("\t\n\r\f", bytes[i])) || bytes[i] == 0 || bytes[i] == 0x7f || bytes[i] >= 0xf8)
            return false;
        high += bytes[i] >= 0x80;
    }
    return high <= n / 4;
}

static input_format tell_format(const input *in, const char *path, const input_options *options) {
    static const char *const text[] = {".csv", ".tsv", ".txt", NULL};
    static const char *const raw[] = {".raw", ".bin", NULL};
    static const char *const npy[] = {".npy", NULL};
    const stream *const s = &in->bytes;
    if (options->format != INPUT_AUTO)
        return options->format;
    if (s->head_length >= NPY_MAGIC_BYTES && memcmp(s->head, NPY_MAGIC, NPY_MAGIC_BYTES) == 0)
        return INPUT_NPY;
    if (has_extension(path, npy))
        return INPUT_NPY;
    if (has_extension(path, raw))
        return INPUT_RAW;
    if (has_extension(path, text) || options->dtype == TALLY_DEFAULT)
        return INPUT_TEXT;
    return looks_like_text(s->head, s->head_length) ? INPUT_TEXT : INPUT_RAW;
}

/* ---- opening ---- */

static int read_stream(void *context, void *bytes, size_t capacity, size_t *got, fault *f) {
    return stream_read(context, bytes, capacity, got, f);
}

static int check_npy_size(const input *in, fault *f) {
    const stream *const s = &in->bytes;
    const uint64_t needed = in->count * in->element_bytes;
    if (!s->seekable)
        return 0;
    const uint64_t there = s->size > in->data_start ? s->size - in->data_start : 0;
    if (there < needed)
        return fault_data(
            f,
            "%s: the npy file is cut short: its header promises %llu elements of %s, %llu bytes, and %llu "
            "are there; get it again",
            in->name, (unsigned long long)in->count, tally_dtype_name(in->dtype), (unsigned long long)needed,
            (unsigned long long)there);
    if (there > needed)
        fault_warn(in->name, "%llu bytes after the array's last element are not read",
                   (unsigned long long)(there - needed));
    return 0;
}

static bool byte_order_differs(char order) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return order != 0 && order != (first == 1 ? '<' : '>');
}

/* A type on the command line may name the meaning of two opaque bytes, or say that 16-bit integers hold the bits of
 * floats, from programs without such a type. It does not convert. */
static int apply_npy_dtype(input *in, const npy_header *header, const input_options *options, fault *f) {
    const tally_dtype wanted = options->dtype;
    const bool carries_halves = header->opaque || header->dtype == TALLY_U16 || header->dtype == TALLY_I16;
    if (wanted == TALLY_DEFAULT || wanted == in->dtype)
        return 0;
    if (carries_halves && tally_dtype_size(wanted) == 2) {
        in->dtype = wanted;
        return 0;
    }
    return fault_usage(f, "%s: --dtype %s, but the npy file holds %s; leave --dtype out (it converts nothing)",
                       in->name, tally_dtype_name(wanted), tally_dtype_name(in->dtype));
}

static int check_npy_order(const input *in, const input_options *options, fault *f) {
    if (options->byte_order == 0 || in->element_bytes == 1 || byte_order_differs(options->byte_order) == in->swapped)
        return 0;
    return fault_usage(f, "%s: --dtype %c%s, but the npy file has the other byte order; leave --dtype out", in->name,
                       options->byte_order, tally_dtype_name(options->dtype));
}

static int open_npy(input *in, const input_options *options, fault *f) {
    npy_header header;
    int code = npy_read_header(&in->from, &header, f);
    if (code != 0)
        return code;
    if (options->rank >= 0)
        return fault_usage(f, "%s: --shape is for raw files; an npy file has its own", in->name);
    in->dtype = header.dtype;
    in->swapped = header.swapped;
    in->rank = header.rank;
    in->fortran_order = header.fortran_order && header.rank > 1;
    memcpy(in->shape, header.shape, sizeof in->shape);
    in->count = header.count;
    in->data_start = header.data_start;
    if ((code = apply_npy_dtype(in, &header, options, f)) != 0)
        return code;
    in->element_bytes = tally_dtype_size(in->dtype);
    if ((code = check_npy_order(in, options, f)) != 0)
        return code;
    return check_npy_size(in, f);
}

static int bad_raw_size(const input *in, uint64_t bytes, fault *f) {
    return fault_data(f, "%s: %llu bytes are not a whole number of %s elements of %zu bytes; check --dtype%s", in->name,
                      (unsigned long long)bytes, tally_dtype_name(in->dtype), in->element_bytes,
                      looks_like_text(in->bytes.head, in->bytes.head_length) ? ", or give --text" : "");
}

static int open_raw(input *in, const input_options *options, fault *f) {
    if (options->dtype == TALLY_DEFAULT)
        return fault_usage(f, "%s: raw numbers need their type: --dtype f32, say", in->name);
    in->dtype = options->dtype;
    in->element_bytes = tally_dtype_size(in->dtype);
    in->swapped = byte_order_differs(options->byte_order) && in->element_bytes > 1;
    in->rank = 1;
    in->count = INPUT_UNKNOWN;
    if (in->bytes.seekable) {
        if (in->bytes.size % in->element_bytes != 0)
            return bad_raw_size(in, in->bytes.size, f);
        in->count = in->bytes.size / in->element_bytes;
    }
    in->shape[0] = in->count;
    if (options->rank < 0)
        return 0;
    uint64_t count;
    if (!npy_count(options->rank, options->shape, in->element_bytes, &count))
        return fault_usage(f, "%s: --shape makes more than 2^63 bytes", in->name);
    if (in->count != INPUT_UNKNOWN && in->count != count)
        return fault_data(f, "%s: --shape makes %llu elements, and the file has %llu of %s", in->name,
                          (unsigned long long)count, (unsigned long long)in->count, tally_dtype_name(in->dtype));
    in->rank = options->rank;
    in->count = count;
    memcpy(in->shape, options->shape, sizeof in->shape);
    return 0;
}

static int reopen_text(input *in, fault *f) {
    text_close(in->text);
    in->text = NULL;
    stream_seek(&in->bytes, 0);
    return text_open(&in->from, &in->text_options, &in->text, f);
}

/* Otherwise the only error found would be a zero byte somewhere. */
static int refuse_compressed(const input *in, fault *f) {
    static const struct {
        const char *magic, *kind, *how;
    } known[] = {{"\x1f\x8b", "gzip", "gunzip -c"},
                 {"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"},
                 {"\xfd\x37zXZ", "xz", "xz -dc"},
                 {"PK\x03\x04", "zip or npz", "unzip -p"}};
    const stream *const s = &in->bytes;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const size_t bytes = strlen(known[i].magic);
        if (s->head_length >= bytes && memcmp(s->head, known[i].magic, bytes) == 0)
            return fault_data(f, "%s: is compressed (%s); unpack it first: %s FILE | tally ...", in->name,
                              known[i].kind, known[i].how);
    }
    return 0;
}

static int open_text(input *in, const input_options *options, fault *f) {
    int code = refuse_compressed(in, f);
    if (code != 0)
        return code;
    if (options->rank >= 0)
        return fault_usage(f, "%s: --shape is for raw files", in->name);
    if (options->byte_order != 0)
        return fault_usage(f, "%s: --dtype %c%s: text has no byte order", in->name, options->byte_order,
                           tally_dtype_name(options->dtype));
    in->text_options = options->text;
    in->from_text = true;
    in->rank = 1;
    in->count = INPUT_UNKNOWN;
    in->dtype = options->dtype;
    if (in->dtype == TALLY_DEFAULT) {
        /* A pipe is examined as it arrives: one that is not text, or has no end, need not be stored whole. */
        const bool pipe = !in->bytes.seekable;
        if (pipe)
            stream_keep(&in->bytes);
        else
            progress_expect(in->bytes.size);
        if ((code = reopen_text(in, f)) != 0 || (code = text_survey(in->text, &in->dtype, &in->count, f)) != 0)
            return code;
        if (pipe) {
            stream_kept(&in->bytes);
            progress_expect(2 * in->bytes.size);
        }
    }
    in->shape[0] = in->count;
    in->element_bytes = tally_dtype_size(in->dtype);
    return reopen_text(in, f);
}

int input_open(input *in, const char *path, const input_options *options, fault *f) {
    memset(in, 0, offsetof(input, bytes));
    in->text = NULL;
    const int code = stream_open(&in->bytes, path, f);
    if (code != 0)
        return code;
    in->name = in->bytes.name;
    in->from = (source){read_stream, &in->bytes, in->name};
    if (in->bytes.seekable)
        progress_expect(in->bytes.size);
    in->format = tell_format(in, path, options);
    return in->format == INPUT_NPY   ? open_npy(in, options, f)
           : in->format == INPUT_RAW ? open_raw(in, options, f)
                                     : open_text(in, options, f);
}

void input_close(input *in) {
    text_close(in->text);
    in->text = NULL;
    stream_close(&in->bytes);
}

/* ---- reading ---- */

static void swap_bytes(void *elements, size_t n, size_t element_bytes) {
    unsigned char *p = elements;
    for (size_t i = 0; i < n; i++, p += element_bytes) {
        if (element_bytes == 2) {
            uint16_t v;
            memcpy(&v, p, 2);
            v = __builtin_bswap16(v);
            memcpy(p, &v, 2);
        } else if (element_bytes == 4) {
            uint32_t v;
            memcpy(&v, p, 4);
            v = __builtin_bswap32(v);
            memcpy(p, &v, 4);
        } else {
            uint64_t v;
            memcpy(&v, p, 8);
            v = __builtin_bswap64(v);
            memcpy(p, &v, 8);
        }
    }
}

static int ended_early(const input *in, fault *f) {
    return fault_data(f, "%s: it ends after %llu of %llu elements; it was cut short, get it again", in->name,
                      (unsigned long long)in->position, (unsigned long long)in->count);
}

static int more_than_shape(const input *in, fault *f) {
    return fault_data(f, "%s: --shape makes %llu elements, and there are more", in->name,
                      (unsigned long long)in->count);
}

/* A raw pipe whose length follows from --shape must end there; only then can the shape be right. */
static int check_raw_end(input *in, fault *f) {
    unsigned char byte;
    size_t got;
    if (in->bytes.seekable)
        return 0;
    const int code = stream_read(&in->bytes, &byte, 1, &got, f);
    return code == 0 && got > 0 ? more_than_shape(in, f) : code;
}

static int read_binary(input *in, void *elements, size_t capacity, size_t *got, fault *f) {
    size_t bytes;
    if (in->count != INPUT_UNKNOWN && capacity > in->count - in->position)
        capacity = (size_t)(in->count - in->position);
    int code = stream_read(&in->bytes, elements, capacity * in->element_bytes, &bytes, f);
    if (code != 0)
        return code;
    *got = bytes / in->element_bytes;
    if (in->count == INPUT_UNKNOWN && bytes % in->element_bytes != 0)
        return bad_raw_size(in, in->bytes.offset - in->data_start, f);
    if (in->swapped)
        swap_bytes(elements, *got, in->element_bytes);
    in->position += *got;
    if (in->format == INPUT_RAW && in->position == in->count && (code = check_raw_end(in, f)) != 0)
        return code;
    return in->count != INPUT_UNKNOWN && *got < capacity ? ended_early(in, f) : 0;
}

int input_read(input *in, void *elements, size_t capacity, size_t *got, fault *f) {
    if (in->format != INPUT_TEXT)
        return read_binary(in, elements, capacity, got, f);
    const int code = text_read(in->text, in->dtype, elements, capacity, got, f);
    in->position += code == 0 ? *got : 0;
    return code;
}

int input_read_exactly(input *in, void *elements, size_t n, fault *f) {
    size_t got;
    const int code = input_read(in, elements, n, &got, f);
    if (code != 0 || got == n)
        return code;
    in->count = in->count == INPUT_UNKNOWN ? in->position - got + n : in->count;
    return ended_early(in, f);
}

/* ---- any place ---- */

/* Text becomes raw numbers in a temporary file, which then takes the text's place. */
static int text_to_numbers(input *in, fault *f) {
    enum { PIECE = 1 << 16 };
    spool numbers = {0};
    void *const piece = malloc((size_t)PIECE * in->element_bytes);
    size_t got = PIECE;
    int code = piece ? 0 : fault_data(f, "%s: no memory for reading", in->name);
    while (code == 0 && got == PIECE) {
        code = input_read(in, piece, PIECE, &got, f);
        if (code == 0)
            code = spool_write(&numbers, numbers.length, piece, got * in->element_bytes, f);
    }
    free(piece);
    spool_free(&in->bytes.aside);
    in->bytes.aside = numbers;
    in->bytes.size = numbers.length;
    in->bytes.spooled = in->bytes.seekable = true;
    in->bytes.offset = 0;
    in->format = INPUT_RAW;
    in->count = in->shape[0] = in->position;
    in->position = 0;
    return code;
}

/* How many bytes of a pipe to store. What follows the array of an npy file is the next command's. A raw pipe must end
 * where its --shape does, which one byte more would show. */
static uint64_t bytes_to_spool(const input *in) {
    if (in->count == INPUT_UNKNOWN)
        return UINT64_MAX;
    return in->count * in->element_bytes + (in->format == INPUT_RAW);
}

int input_make_seekable(input *in, fault *f) {
    int code;
    if (in->format == INPUT_TEXT)
        return text_to_numbers(in, f);
    if (in->bytes.seekable)
        return 0;
    /* The header of an npy pipe has been read already, so the stored bytes start after it. */
    const uint64_t taken = in->bytes.offset;
    if ((code = stream_spool(&in->bytes, bytes_to_spool(in), f)) != 0)
        return code;
    const uint64_t bytes = in->bytes.size - taken;
    stream_seek(&in->bytes, in->data_start);
    if (in->count == INPUT_UNKNOWN) {
        if (bytes % in->element_bytes != 0)
            return bad_raw_size(in, bytes, f);
        in->count = in->shape[0] = bytes / in->element_bytes;
    }
    if (bytes < in->count * in->element_bytes) {
        in->position = bytes / in->element_bytes;
        return ended_early(in, f);
    }
    return bytes > in->count * in->element_bytes ? more_than_shape(in, f) : 0;
}

void input_seek(input *in, uint64_t element) {
    stream_seek(&in->bytes, in->data_start + element * in->element_bytes);
    in->position = element;
}

/* ---- order ---- */

/* Copies from an array whose first index changes fastest to one whose last does, in pieces to the spool. */
static int spool_in_c_order(const input *in, const unsigned char *from, spool *to, fault *f) {
    enum { PIECE = 1 << 16 };
    uint64_t index[NPY_MAX_RANK] = {0}, stride[NPY_MAX_RANK], at = 0, step = 1;
    const size_t size = in->element_bytes;
    unsigned char piece[PIECE];
    size_t filled = 0;
    int code = 0;
    for (int i = 0; i < in->rank; i++) {
        stride[i] = step;
        step *= in->shape[i];
    }
    for (uint64_t i = 0; code == 0 && i < in->count; i++) {
        memcpy(piece + filled, from + at * size, size);
        filled += size;
        if (filled == PIECE || i + 1 == in->count) {
            code = spool_write(to, to->length, piece, filled, f);
            filled = 0;
        }
        for (int axis = in->rank - 1; axis >= 0; axis--) {
            at += stride[axis];
            if (++index[axis] < in->shape[axis])
                break;
            at -= stride[axis] * in->shape[axis];
            index[axis] = 0;
        }
    }
    return code;
}

int input_to_c_order(input *in, fault *f) {
    if (!in->fortran_order)
        return 0;
    spool ordered = {0};
    const size_t bytes = (size_t)(in->count * in->element_bytes);
    unsigned char *const all = malloc(bytes + 1);
    if (!all)
        return fault_data(
            f,
            "%s: no memory for the %llu bytes of the array, which is in Fortran order and needed whole to "
            "go through it in C order",
            in->name, (unsigned long long)bytes);
    int code = input_read_exactly(in, all, (size_t)in->count, f);
    if (code == 0)
        code = spool_in_c_order(in, all, &ordered, f);
    free(all);
    spool_free(&in->bytes.aside);
    in->bytes.aside = ordered;
    in->bytes.size = ordered.length;
    in->bytes.spooled = in->bytes.seekable = true;
    in->bytes.offset = in->data_start = 0;
    in->swapped = in->fortran_order = false;
    in->position = 0;
    return code;
}
