/* npy.c: see npy.h. A cursor walks over the header's text; every step either accepts what NumPy writes or says what
 * it found instead and at which byte of the header.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    const char *text; /* 0-terminated */
    size_t at, length;
    const char *name;
    fault *f;
} cursor;

static bool little_endian_machine(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static void skip_blanks(cursor *c) {
    while (c->at < c->length && strchr(" \t\r\n", c->text[c->at]) && c->text[c->at])
        c->at++;
}

static int broken(cursor *c, const char *expected) {
    char quote[FAULT_QUOTE_MAX];
    return fault_data(c->f, "%s: broken npy header: %s expected at byte %zu of the header, found %s; write it again",
                      c->name, expected, c->at + 1,
                      c->at < c->length ? fault_quote(quote, c->text + c->at, c->length - c->at) : "its end");
}

/* Accepts one character after blanks. */
static bool accept(cursor *c, char wanted) {
    skip_blanks(c);
    if (c->at >= c->length || c->text[c->at] != wanted)
        return false;
    c->at++;
    return true;
}

/* A quoted string without escapes; longer ones than 'capacity' allows are cut, for messages. */
static int parse_string(cursor *c, char *out, size_t capacity) {
    skip_blanks(c);
    const char quote = c->at < c->length ? c->text[c->at] : 0;
    if (quote != '\'' && quote != '"')
        return broken(c, "a string");
    const char *start = c->text + c->at + 1;
    const char *end = memchr(start, quote, c->length - c->at - 1);
    if (!end)
        return broken(c, "a closed string");
    const size_t length = (size_t)(end - start) < capacity ? (size_t)(end - start) : capacity - 1;
    memcpy(out, start, length);
    out[length] = 0;
    c->at = (size_t)(end - c->text) + 1;
    return 0;
}

static int parse_boolean(cursor *c, bool *value) {
    skip_blanks(c);
    if (strncmp(c->text + c->at, "True", 4) == 0) {
        *value = true;
        c->at += 4;
        return 0;
    }
    if (strncmp(c->text + c->at, "False", 5) == 0) {
        *value = false;
        c->at += 5;
        return 0;
    }
    return broken(c, "True or False");
}

static int parse_dimension(cursor *c, uint64_t *value) {
    uint64_t v = 0;
    size_t digits = 0;
    skip_blanks(c);
    if (c->text[c->at] == '-')
        return fault_data(c->f, "%s: the npy header has a negative dimension; the file is damaged", c->name);
    for (; c->text[c->at] >= '0' && c->text[c->at] <= '9'; c->at++, digits++) {
        const uint64_t digit = (uint64_t)(c->text[c->at] - '0');
        if (v > ((uint64_t)INT64_MAX - digit) / 10)
            return fault_data(c->f, "%s: the npy header has a dimension above 2^63; the file is damaged", c->name);
        v = v * 10 + digit;
    }
    if (digits == 0)
        return broken(c, "a dimension");
    if (c->text[c->at] == 'L') /* as Python 2 wrote long integers */
        c->at++;
    *value = v;
    return 0;
}

static int parse_shape(cursor *c, npy_header *header) {
    int code;
    header->rank = 0;
    if (!accept(c, '('))
        return broken(c, "a shape in parentheses");
    while (!accept(c, ')')) {
        if (header->rank == NPY_MAX_RANK)
            return fault_data(c->f, "%s: the array has more than %d dimensions, which is the most that tally reads",
                              c->name, NPY_MAX_RANK);
        if ((code = parse_dimension(c, &header->shape[header->rank])) != 0)
            return code;
        header->rank++;
        if (accept(c, ','))
            continue;
        if (!accept(c, ')'))
            return broken(c, "a comma or ')'");
        if (header->rank == 1) /* (3) is a number in Python, not a shape */
            return broken(c, "a comma after the only dimension");
        break;
    }
    return 0;
}

/* What NumPy's kind letters mean that tally has no type for. */
static const char *kind_in_words(char kind) {
    switch (kind) {
    case 'c':
        return "complex numbers";
    case 'O':
        return "Python objects";
    case 'S':
    case 'a':
    case 'U':
        return "strings";
    case 'M':
    case 'm':
        return "dates or time spans";
    case 'V':
        return "opaque bytes or structures";
    default:
        return "of no known kind";
    }
}

static int parse_descr_text(cursor *c, const char *descr, npy_header *header) {
    const char order = strchr("<>|=", descr[0]) && descr[0] ? descr[0] : '=';
    const char *code = descr + (descr[0] == order);
    const char *const known = strcmp(code, "?") == 0 || strcmp(code, "b1") == 0 ? "u1" : code;
    char names[256] = "bool";
    for (int type = 1; type < TALLY_DTYPE_COUNT; type++) {
        tally_type_traits traits = {.struct_size = sizeof traits};
        tally_dtype_traits((tally_dtype)type, &traits);
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", type + 1 < TALLY_DTYPE_COUNT ? ", " : " and ",
                 traits.numpy_name);
        if (strcmp(known, traits.npy_code) != 0)
            continue;
        header->dtype = (tally_dtype)type;
        header->opaque = code[0] == 'V';
        header->swapped = order == (little_endian_machine() ? '>' : '<') && traits.bytes > 1;
        return 0;
    }
    char quote[FAULT_QUOTE_MAX];
    if (strcmp(code, "f16") == 0 || strcmp(code, "f12") == 0 || strcmp(code, "f10") == 0)
        return fault_data(c->f, "%s: elements of type %s (long double) are not read; convert them to float64", c->name,
                          fault_quote(quote, descr, strlen(descr)));
    return fault_data(c->f, "%s: elements of type %s (%s) are not read; tally reads %s", c->name,
                      fault_quote(quote, descr, strlen(descr)), kind_in_words(code[0]), names);
}

static int parse_descr(cursor *c, npy_header *header) {
    char descr[64];
    int code;
    skip_blanks(c);
    if (c->text[c->at] == '[')
        return fault_data(c->f, "%s: elements are structures, which tally does not read; save one field by itself",
                          c->name);
    if (c->text[c->at] == '(')
        return fault_data(c->f, "%s: elements are sub-arrays, which tally does not read; save a plain array", c->name);
    if ((code = parse_string(c, descr, sizeof descr)) != 0)
        return code;
    return parse_descr_text(c, descr, header);
}

static int parse_dictionary(cursor *c, npy_header *header) {
    static const char *const keys[3] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    int code = 0;
    if (!accept(c, '{'))
        return broken(c, "'{'");
    while (!accept(c, '}')) {
        char key[32];
        size_t which = 0;
        if ((code = parse_string(c, key, sizeof key)) != 0)
            return code;
        while (which < 3 && strcmp(key, keys[which]) != 0)
            which++;
        if (which == 3 || (seen >> which & 1u) != 0)
            return broken(c, "each of 'descr', 'fortran_order' and 'shape' once, and no other key,");
        if (!accept(c, ':'))
            return broken(c, "':'");
        code = which == 0   ? parse_descr(c, header)
               : which == 1 ? parse_boolean(c, &header->fortran_order)
                            : parse_shape(c, header);
        if (code != 0)
            return code;
        seen |= 1u << which;
        if (accept(c, ','))
            continue;
        if (!accept(c, '}'))
            return broken(c, "a comma or '}'");
        break;
    }
    skip_blanks(c);
    if (seen != 7)
        return broken(c, "each of 'descr', 'fortran_order' and 'shape'");
    return c->at == c->length ? 0 : broken(c, "nothing after '}' but blanks");
}

bool npy_count(int rank, const uint64_t *shape, size_t element_bytes, uint64_t *count) {
    uint64_t product = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0) {
            empty = true;
            continue;
        }
        if (product > (uint64_t)INT64_MAX / element_bytes / shape[i])
            return false;
        product *= shape[i];
    }
    *count = empty ? 0 : product;
    return true;
}

static int cut_short(const source *from, fault *f, const char *part) {
    return fault_data(f, "%s: the npy file ends within %s; it was cut short, get it again", from->name, part);
}

/* The magic, the version and the length of the text. */
static int read_preamble(const source *from, size_t *header_bytes, size_t *preamble_bytes, fault *f) {
    unsigned char bytes[12];
    size_t got;
    int code;
    if ((code = from->read(from->context, bytes, 8, &got, f)) != 0)
        return code;
    if (got < NPY_MAGIC_BYTES || memcmp(bytes, NPY_MAGIC, NPY_MAGIC_BYTES) != 0)
        return fault_data(f,
                          "%s: not an npy file: it does not start with \\x93NUMPY; give --text, or --raw with --dtype",
                          from->name);
    if (got < 8)
        return cut_short(from, f, "its first bytes");
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return fault_data(f, "%s: npy format %d.%d is not known to this version, which reads 1.0, 2.0 and 3.0",
                          from->name, bytes[6], bytes[7]);
    const size_t width = bytes[6] == 1 ? 2 : 4;
    if ((code = from->read(from->context, bytes + 8, width, &got, f)) != 0)
        return code;
    if (got < width)
        return cut_short(from, f, "the length of its header");
    uint32_t length = (uint32_t)bytes[8] | (uint32_t)bytes[9] << 8;
    if (width == 4)
        length |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
    if (length > NPY_MAX_HEADER_BYTES)
        return fault_data(f,
                          "%s: the npy header claims %lu bytes, more than the %d that tally reads; the file is damaged "
                          "or holds a structured type",
                          from->name, (unsigned long)length, NPY_MAX_HEADER_BYTES);
    *header_bytes = length;
    *preamble_bytes = 8 + width;
    return 0;
}

static int parse_text(const source *from, const char *text, size_t length, npy_header *header, fault *f) {
    cursor c = {text, 0, length, from->name, f};
    const char *zero = memchr(text, 0, length);
    if (zero) {
        c.at = (size_t)(zero - text);
        return broken(&c, "text");
    }
    const int code = parse_dictionary(&c, header);
    if (code != 0)
        return code;
    if (!npy_count(header->rank, header->shape, tally_dtype_size(header->dtype), &header->count))
        return fault_data(f, "%s: the npy header's shape makes more than 2^63 bytes; the file is damaged", from->name);
    return 0;
}

int npy_read_header(const source *from, npy_header *header, fault *f) {
    size_t length = 0, preamble = 0, got;
    memset(header, 0, sizeof *header);
    int code = read_preamble(from, &length, &preamble, f);
    if (code != 0)
        return code;
    char *text = malloc(length + 1);
    if (!text)
        return fault_data(f, "%s: no memory for the npy header", from->name);
    if ((code = from->read(from->context, text, length, &got, f)) == 0) {
        text[got] = 0;
        code = got < length ? cut_short(from, f, "its header") : parse_text(from, text, length, header, f);
    }
    free(text);
    header->data_start = preamble + length;
    return code;
}

size_t npy_format_header(char *bytes, size_t capacity, size_t min_bytes, tally_dtype dtype, bool fortran_order,
                         int rank, const uint64_t *shape) {
    char text[NPY_HEADER_CAPACITY];
    tally_type_traits traits = {.struct_size = sizeof traits};
    tally_dtype_traits(dtype, &traits);
    const char order = tally_dtype_size(dtype) == 1 ? '|' : little_endian_machine() ? '<' : '>';
    size_t at = (size_t)snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (", order,
                                 traits.npy_code, fortran_order ? "True" : "False");
    for (int i = 0; i < rank; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%llu%s", (unsigned long long)shape[i],
                               rank == 1       ? ","
                               : i + 1 == rank ? ""
                                               : ", ");
    at += (size_t)snprintf(text + at, sizeof text - at, "), }");
    size_t total = (10 + at + 1 + 63) / 64 * 64;
    if (total < min_bytes)
        total = (min_bytes + 63) / 64 * 64;
    if (total > capacity || rank > NPY_MAX_RANK)
        return 0;
    memcpy(bytes, NPY_MAGIC "\x01\x00", 8);
    bytes[8] = (char)((total - 10) & 0xff);
    bytes[9] = (char)((total - 10) >> 8 & 0xff);
    memcpy(bytes + 10, text, at);
    memset(bytes + 10 + at, ' ', total - 10 - at);
    bytes[total - 1] = '\n';
    return total;
}
