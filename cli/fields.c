/* fields.c: see fields.h. The reader walks over a buffer of the input byte by byte, in runs of ordinary bytes if it
 * can. It keeps only the requested fields, so a line may be of any length, and counts lines and bytes for messages.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 1 << 18,
    FIELD_BYTES = 1 << 16 /* the longest field that is kept; 0.000...1 with 65,000 zeros still reads */
};

/* ---- bytes ---- */

static int refill(fields *r, fault *f) {
    if (r->at < r->length || r->input_ended)
        return 0;
    r->base += r->length;
    r->at = r->length = 0;
    const int code = r->from->read(r->from->context, r->buffer, BUFFER_BYTES, &r->length, f);
    if (code != 0)
        return code;
    r->input_ended = r->length < BUFFER_BYTES;
    return 0;
}

static uint64_t byte_in_line(const fields *r) {
    return r->base + r->at - r->line_start + 1;
}

/* The next byte without taking it; -1 at the end, -2 after a fault. */
static int peek(fields *r, fault *f, int *code) {
    if (r->at == r->length) {
        if ((*code = refill(r, f)) != 0)
            return -2;
        if (r->at == r->length)
            return -1;
    }
    return r->buffer[r->at];
}

static void new_line(fields *r) {
    r->line++;
    r->line_start = r->base + r->at;
}

static int no_text(const fields *r, fault *f) {
    return fault_data(f,
                      "%s: line %llu, column %llu: a zero byte, so this is not plain text; convert it (iconv, if it is "
                      "UTF-16), or give --raw with --dtype if it holds raw numbers",
                      r->from->name, (unsigned long long)r->line, (unsigned long long)byte_in_line(r));
}

/* Takes LF or CR LF. */
static int take_line_end(fields *r, fault *f) {
    int code = 0;
    if (r->buffer[r->at] == '\r') {
        r->at++;
        const int next = peek(r, f, &code);
        if (next == -2)
            return code;
        if (next != '\n' && next != -1)
            return fault_data(f,
                              "%s: line %llu, column %llu: a carriage return without a line feed; end lines with LF or "
                              "CR LF",
                              r->from->name, (unsigned long long)r->line, (unsigned long long)byte_in_line(r) - 1);
        if (next == -1) {
            new_line(r);
            return 0;
        }
    }
    r->at++;
    new_line(r);
    return 0;
}

/* ---- fields ---- */

static int keep_bytes(fields *r, keeping keep, const unsigned char *bytes, size_t n, fault *f) {
    const size_t room = FIELD_BYTES - 1 - r->field.length;
    if (n > room && keep == KEEP_START)
        n = room;
    if (n > room)
        return fault_data(f, "%s: line %llu, column %llu: a field of more than %d bytes is not a number", r->from->name,
                          (unsigned long long)r->field.line, (unsigned long long)r->field.byte, FIELD_BYTES - 1);
    memcpy(r->field.text + r->field.length, bytes, n);
    r->field.length += n;
    return 0;
}

/* Blanks that do not separate fields. */
static int skip_blanks(fields *r, fault *f) {
    int code = 0;
    for (;;) {
        const int c = peek(r, f, &code);
        if (c == -2)
            return code;
        if (c != ' ' && c != '\t')
            return 0;
        if (c == r->delimiter && !r->blanks_delimit)
            return 0;
        r->at++;
    }
}

static int quoted_part(fields *r, keeping keep, fault *f) {
    const uint64_t line = r->line, byte = byte_in_line(r);
    int code = 0;
    r->at++;
    for (;;) {
        const int c = peek(r, f, &code);
        if (c == -2)
            return code;
        if (c == -1)
            return fault_data(f, "%s: line %llu, column %llu: a quoted field is not closed before the end of the file",
                              r->from->name, (unsigned long long)line, (unsigned long long)byte);
        if (c == 0)
            return no_text(r, f);
        const unsigned char byte_now = (unsigned char)c;
        r->at++;
        if (c == '\n')
            new_line(r);
        if (c == '"') {
            const int next = peek(r, f, &code);
            if (next == -2)
                return code;
            if (next != '"')
                return 0;
            r->at++;
        }
        if (keep && (code = keep_bytes(r, keep, &byte_now, 1, f)) != 0)
            return code;
    }
}

static int plain_part(fields *r, keeping keep, fault *f) {
    int code = 0;
    for (;;) {
        const size_t start = r->at;
        while (r->at < r->length && !r->special[r->buffer[r->at]])
            r->at++;
        if (keep && r->at > start && (code = keep_bytes(r, keep, r->buffer + start, r->at - start, f)) != 0)
            return code;
        const int c = peek(r, f, &code);
        if (c == -2)
            return code;
        if (c == 0)
            return no_text(r, f);
        if (c == -1 || r->special[c])
            return 0;
    }
}

/* Takes the delimiter, the end of the row or the end of the input after a field. */
static int take_field_end(fields *r, field_end *end, fault *f) {
    int code = 0;
    if ((code = skip_blanks(r, f)) != 0)
        return code;
    const int c = peek(r, f, &code);
    if (c == -2)
        return code;
    if (c == -1) {
        *end = END_INPUT;
        return 0;
    }
    if (c == '\n' || c == '\r') {
        *end = END_ROW;
        return take_line_end(r, f);
    }
    *end = END_FIELD;
    if (r->blanks_delimit)
        return 0;
    if (c == (unsigned char)r->delimiter) {
        r->at++;
        return 0;
    }
    if (c == 0)
        return no_text(r, f);
    return fault_data(f,
                      "%s: line %llu, column %llu: text after the closing quote of a field; double the quotes inside",
                      r->from->name, (unsigned long long)r->line, (unsigned long long)byte_in_line(r));
}

static void trim_end(fields *r) {
    while (r->field.length > 0 &&
           (r->field.text[r->field.length - 1] == ' ' || r->field.text[r->field.length - 1] == '\t'))
        r->field.length--;
    r->field.text[r->field.length] = 0;
}

int fields_read(fields *r, keeping keep, field_end *end, fault *f) {
    int code = skip_blanks(r, f);
    if (code != 0)
        return code;
    if (keep) {
        r->field.length = 0;
        r->field.line = r->line;
        r->field.byte = byte_in_line(r);
    }
    const int c = peek(r, f, &code);
    if (c == -2)
        return code;
    if (keep)
        r->field.quoted = c == '"';
    code = c == '"' ? quoted_part(r, keep, f) : c == -1 ? 0 : plain_part(r, keep, f);
    if (code != 0)
        return code;
    if (keep)
        trim_end(r);
    return take_field_end(r, end, f);
}

/* ---- rows ---- */

static int skip_comment(fields *r, fault *f) {
    int code = 0;
    for (;;) {
        const int c = peek(r, f, &code);
        if (c == -2)
            return code;
        if (c == -1)
            return 0;
        if (c == 0)
            return no_text(r, f);
        if (c == '\n')
            return take_line_end(r, f);
        r->at++;
    }
}

/* Moves to the first byte of the next row; *there says whether there is one. A line of blanks is not a row; but a tab
 * may stand for an empty first field. */
int fields_next_row(fields *r, bool *there, fault *f) {
    int code = 0;
    for (;;) {
        const uint64_t line = r->line;
        int c = peek(r, f, &code);
        while (c == ' ' || (c == '\t' && r->delimiter != '\t' && r->delimiter != 0)) {
            r->at++;
            c = peek(r, f, &code);
        }
        if (c == -2)
            return code;
        *there = false;
        if (c == -1)
            return 0;
        if (c == '\n' || c == '\r') {
            if ((code = take_line_end(r, f)) != 0)
                return code;
        } else if (r->comment && c == (unsigned char)r->comment) {
            if ((code = skip_comment(r, f)) != 0)
                return code;
        } else {
            *there = true;
            r->row_line = line;
            r->row_has_hash = c == '#';
            return 0;
        }
    }
}

/* ---- the beginning ---- */

void fields_delimit(fields *r, char delimiter) {
    r->delimiter = delimiter;
    r->blanks_delimit = delimiter == ' ';
    memset(r->special, 0, sizeof r->special);
    r->special[0] = r->special['\n'] = r->special['\r'] = 1;
    r->special[(unsigned char)delimiter] = 1;
    if (r->blanks_delimit)
        r->special['\t'] = 1;
}

/* Where the quoted part that begins at a quote ends: behind its closing quote, or where the buffer does. */
static size_t behind_quotes(const fields *r, size_t at) {
    for (at++; at < r->length; at++) {
        if (r->buffer[at] == '"' && (at + 1 == r->length || r->buffer[at + 1] != '"'))
            return at + 1;
        at += r->buffer[at] == '"';
    }
    return r->length;
}

/* Whether a candidate is outside quotes in the part of the first row that the buffer holds. A quote counts at the start
 * of a field, whichever candidate delimits it. Behind a blank it may also be a part of a plain field: it counts there
 * only if another one closes it in the same line. */
static bool row_has(const fields *r, char candidate) {
    bool starts = true, after_blank = false;
    for (size_t i = r->at; i < r->length && r->buffer[i] != '\n'; i++) {
        const unsigned char c = r->buffer[i];
        if (c == (unsigned char)candidate)
            return true;
        if (c == '"' && (starts || after_blank)) {
            const size_t end = behind_quotes(r, i);
            if (starts || !memchr(r->buffer + i, '\n', end - i))
                i = end - 1;
        }
        after_blank = c == ' ' || c == '\t';
        starts = c == '\t' || c == ';' || c == ',' || (starts && c == ' ');
    }
    return false;
}

/* Moves the unread bytes to the front and fills up, so that the buffer holds as much of the first row as possible. */
static int gather(fields *r, fault *f) {
    const size_t unread = r->length - r->at;
    size_t more = 0;
    if (r->input_ended || r->at == 0)
        return 0;
    memmove(r->buffer, r->buffer + r->at, unread);
    r->base += r->at;
    r->at = 0;
    const int code = r->from->read(r->from->context, r->buffer + unread, BUFFER_BYTES - unread, &more, f);
    r->length = unread + more;
    r->input_ended = r->length < BUFFER_BYTES;
    return code;
}

/* Semicolons come before commas, which are decimal points in files that semicolons separate. */
int fields_detect_delimiter(fields *r, fault *f) {
    static const char order[] = {'\t', ';', ','};
    const int code = gather(r, f);
    if (code != 0)
        return code;
    for (size_t i = 0; i < sizeof order; i++) {
        if (row_has(r, order[i])) {
            fields_delimit(r, order[i]);
            return 0;
        }
    }
    fields_delimit(r, ' ');
    return 0;
}

static int refuse_utf16(const fields *r, fault *f) {
    if (r->length >= 2 &&
        ((r->buffer[0] == 0xff && r->buffer[1] == 0xfe) || (r->buffer[0] == 0xfe && r->buffer[1] == 0xff)))
        return fault_data(f, "%s: UTF-16 text is not read; convert it first: iconv -f UTF-16 -t UTF-8", r->from->name);
    return 0;
}

int fields_begin(fields *r, fault *f) {
    int code = refill(r, f);
    if (code != 0 || (code = refuse_utf16(r, f)) != 0)
        return code;
    if (r->length >= 3 && memcmp(r->buffer, "\xef\xbb\xbf", 3) == 0) { /* the byte order mark of UTF-8 */
        r->at = 3;
        r->line_start = 3;
    }
    return 0;
}

void fields_swap(fields *r) {
    const field kept = r->field;
    r->field = r->spare;
    r->spare = kept;
}

int fields_open(fields *r, const source *from, char delimiter, char comment, fault *f) {
    *r = (fields){.from = from, .delimiter = delimiter, .comment = comment, .line = 1};
    r->buffer = malloc(BUFFER_BYTES);
    r->field.text = malloc(FIELD_BYTES);
    r->spare.text = malloc(FIELD_BYTES);
    if (!r->buffer || !r->field.text || !r->spare.text) {
        fields_close(r);
        return fault_data(f, "%s: no memory for reading text", from->name);
    }
    r->field.text[0] = 0;
    return 0;
}

void fields_close(fields *r) {
    free(r->buffer);
    free(r->field.text);
    free(r->spare.text);
}
