/* text.c: see text.h. The reader walks over a buffer of the input byte by byte, in runs of ordinary bytes where it
 * can, keeps only the field of the chosen column (so that a line may be of any length), and counts lines and bytes
 * for messages.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

enum {
    BUFFER_BYTES = 1 << 18,
    FIELD_BYTES = 1 << 16, /* the longest field in the chosen column; 0.000...1 with 65,000 zeros still reads */
    NAMES_BYTES = 400      /* how much of the header line an error message shows */
};

/* What to keep of a field: a number must be whole, of a name in the header the start will do. */
typedef enum keeping { KEEP_NOTHING, KEEP_START, KEEP_WHOLE } keeping;

typedef enum field_end { END_FIELD, END_ROW, END_INPUT } field_end;

struct text_reader {
    const source *from;
    text_options options;
    unsigned char *buffer;
    size_t at, length; /* buffer[at .. length) is unread */
    int input_ended;
    uint64_t line, row_line;      /* from 1: now, and where the present row begins */
    uint64_t line_start, base;    /* offsets in the input: of the line's first byte, of buffer[0] */
    uint64_t fields, wanted, row; /* fields a row, chosen field from 0, rows begun */
    char *field, *spare;
    size_t field_length;
    uint64_t field_line, field_byte; /* where the kept field begins, from 1 */
    int started, blanks_delimit;
    int pending; /* the first row was data: its number is in 'field' */
    char names[NAMES_BYTES];
    unsigned char special[256]; /* 1 for bytes that end a run of ordinary ones */
};

/* ---- bytes ---- */

static int refill(text_reader *r, fault *f) {
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

static uint64_t byte_in_line(const text_reader *r) {
    return r->base + r->at - r->line_start + 1;
}

/* The next byte without taking it; -1 at the end, -2 after a fault. */
static int peek(text_reader *r, fault *f, int *code) {
    if (r->at == r->length) {
        if ((*code = refill(r, f)) != 0)
            return -2;
        if (r->at == r->length)
            return -1;
    }
    return r->buffer[r->at];
}

static void new_line(text_reader *r) {
    r->line++;
    r->line_start = r->base + r->at;
}

static int no_text(const text_reader *r, fault *f) {
    return fault_data(f,
                      "%s: line %llu, column %llu: a zero byte, so this is not plain text; convert it (iconv, if it is "
                      "UTF-16), or give --raw with --dtype if it holds raw numbers",
                      r->from->name, (unsigned long long)r->line, (unsigned long long)byte_in_line(r));
}

/* Takes LF or CR LF. */
static int take_line_end(text_reader *r, fault *f) {
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

static int keep_bytes(text_reader *r, keeping keep, const unsigned char *bytes, size_t n, fault *f) {
    const size_t room = FIELD_BYTES - 1 - r->field_length;
    if (n > room && keep == KEEP_START)
        n = room;
    if (n > room)
        return fault_data(f, "%s: line %llu, column %llu: a field of more than %d bytes is no number", r->from->name,
                          (unsigned long long)r->field_line, (unsigned long long)r->field_byte, FIELD_BYTES - 1);
    memcpy(r->field + r->field_length, bytes, n);
    r->field_length += n;
    return 0;
}

/* Blanks that do not separate fields. */
static int skip_blanks(text_reader *r, fault *f) {
    int code = 0;
    for (;;) {
        const int c = peek(r, f, &code);
        if (c == -2)
            return code;
        if (c != ' ' && c != '\t')
            return 0;
        if (c == r->options.delimiter && !r->blanks_delimit)
            return 0;
        r->at++;
    }
}

static int quoted_part(text_reader *r, keeping keep, fault *f) {
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

static int plain_part(text_reader *r, keeping keep, fault *f) {
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

/* What follows a field: a delimiter, the end of the row or of the input. Takes it. */
static int take_field_end(text_reader *r, field_end *end, fault *f) {
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
    if (c == (unsigned char)r->options.delimiter) {
        r->at++;
        return 0;
    }
    if (c == 0)
        return no_text(r, f);
    return fault_data(f,
                      "%s: line %llu, column %llu: text after the closing quote of a field; double the quotes inside",
                      r->from->name, (unsigned long long)r->line, (unsigned long long)byte_in_line(r));
}

static void trim_end(text_reader *r) {
    while (r->field_length > 0 && (r->field[r->field_length - 1] == ' ' || r->field[r->field_length - 1] == '\t'))
        r->field_length--;
    r->field[r->field_length] = 0;
}

static int read_field(text_reader *r, keeping keep, field_end *end, fault *f) {
    int code = skip_blanks(r, f);
    if (code != 0)
        return code;
    if (keep) {
        r->field_length = 0;
        r->field_line = r->line;
        r->field_byte = byte_in_line(r);
    }
    const int c = peek(r, f, &code);
    if (c == -2)
        return code;
    code = c == '"' ? quoted_part(r, keep, f) : c == -1 ? 0 : plain_part(r, keep, f);
    if (code != 0)
        return code;
    if (keep)
        trim_end(r);
    return take_field_end(r, end, f);
}

/* ---- rows ---- */

static int skip_comment(text_reader *r, fault *f) {
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

/* Moves to the first byte of the next row; *there says if there is one. A line of blanks is none; but a tab may stand
 * for an empty first field. */
static int next_row(text_reader *r, int *there, fault *f) {
    int code = 0;
    for (;;) {
        const uint64_t line = r->line;
        int c = peek(r, f, &code);
        while (c == ' ' || (c == '\t' && r->options.delimiter != '\t' && r->options.delimiter != 0)) {
            r->at++;
            c = peek(r, f, &code);
        }
        if (c == -2)
            return code;
        *there = 0;
        if (c == -1)
            return 0;
        if (c == '\n' || c == '\r') {
            if ((code = take_line_end(r, f)) != 0)
                return code;
        } else if (c == '#') {
            if ((code = skip_comment(r, f)) != 0)
                return code;
        } else {
            *there = 1;
            r->row_line = line;
            r->row++;
            return 0;
        }
    }
}

static int ragged(const text_reader *r, uint64_t fields, fault *f) {
    return fault_data(f, "%s: line %llu: %llu field%s, but the first row has %llu; every row needs the same number",
                      r->from->name, (unsigned long long)r->row_line, (unsigned long long)fields,
                      fields == 1 ? "" : "s", (unsigned long long)r->fields);
}

/* Reads a row whose number of fields is known and keeps the wanted one. */
static int read_row(text_reader *r, fault *f) {
    field_end end = END_FIELD;
    uint64_t fields = 0;
    while (end == END_FIELD) {
        const int code = read_field(r, fields == r->wanted ? KEEP_WHOLE : KEEP_NOTHING, &end, f);
        if (code != 0)
            return code;
        fields++;
    }
    return fields == r->fields ? 0 : ragged(r, fields, f);
}

/* ---- the first row ---- */

static void set_delimiter(text_reader *r, char delimiter) {
    r->options.delimiter = delimiter;
    r->blanks_delimit = delimiter == ' ';
    memset(r->special, 0, sizeof r->special);
    r->special[0] = r->special['\n'] = r->special['\r'] = 1;
    r->special[(unsigned char)delimiter] = 1;
    if (r->blanks_delimit)
        r->special['\t'] = 1;
}

/* Counts a candidate outside quotes in the part of the first row that the buffer holds. */
static int row_has(const text_reader *r, char candidate) {
    int quoted = 0;
    for (size_t i = r->at; i < r->length && (quoted || r->buffer[i] != '\n'); i++) {
        if (r->buffer[i] == '"')
            quoted = !quoted;
        if (!quoted && r->buffer[i] == (unsigned char)candidate)
            return 1;
    }
    return 0;
}

/* Semicolons stand before commas, which are decimal points where semicolons separate. */
static void detect_delimiter(text_reader *r) {
    static const char order[] = {'\t', ';', ','};
    for (size_t i = 0; i < sizeof order; i++) {
        if (row_has(r, order[i])) {
            set_delimiter(r, order[i]);
            return;
        }
    }
    set_delimiter(r, ' ');
}

static int refuse_utf16(const text_reader *r, fault *f) {
    if (r->length >= 2 &&
        ((r->buffer[0] == 0xff && r->buffer[1] == 0xfe) || (r->buffer[0] == 0xfe && r->buffer[1] == 0xff)))
        return fault_data(f, "%s: UTF-16 text is not read; convert it first: iconv -f UTF-16 -t UTF-8", r->from->name);
    return 0;
}

/* All digits: a column number from 1. */
static int column_number(const char *column, uint64_t *number) {
    uint64_t v = 0;
    for (const char *p = column; *p != 0; p++) {
        if (*p < '0' || *p > '9' || v > UINT32_MAX)
            return 0;
        v = v * 10 + (uint64_t)(*p - '0');
    }
    *number = v;
    return column[0] != 0;
}

/* "Rate" is a name, "1O.5" a slip of the pen: a header's field must not begin like a number. */
static int looks_like_name(const char *field) {
    if (field[0] == 0 || number_classify(field, strlen(field)) != NUMBER_NO_NUMBER)
        return 0;
    return strchr("0123456789+-.", field[0]) == NULL;
}

typedef struct first_row {
    uint64_t matches, match; /* fields with the wanted name, the first of them */
    int wanted_is_name;      /* the wanted field looks like a name */
    int any_is_name;         /* some field does */
    uint64_t line, byte;     /* where the wanted field is */
    size_t length;           /* of its text, which is kept in 'spare' */
} first_row;

static void note_name(text_reader *r, uint64_t index) {
    const size_t used = strlen(r->names);
    if (used + 8 < sizeof r->names)
        snprintf(r->names + used, sizeof r->names - used, "%s%.60s", index == 0 ? "" : ", ", r->field);
}

static void note_field(text_reader *r, int by_number, first_row *first) {
    const int is_name = looks_like_name(r->field);
    note_name(r, r->fields);
    first->any_is_name |= is_name;
    if (!by_number && r->options.column != NULL && strcmp(r->field, r->options.column) == 0 && first->matches++ == 0)
        first->match = r->fields;
    if (r->fields == r->wanted) {
        char *const text = r->field;
        r->field = r->spare;
        r->spare = text;
        first->wanted_is_name = is_name;
        first->line = r->field_line;
        first->byte = r->field_byte;
        first->length = r->field_length;
    }
}

/* Reads the first row field by field; the text of the wanted one ends in 'spare'. */
static int read_first_row(text_reader *r, int by_number, first_row *first, fault *f) {
    const int by_name = r->options.column != NULL && !by_number;
    field_end end = END_FIELD;
    memset(first, 0, sizeof *first);
    for (r->fields = 0; end == END_FIELD; r->fields++) {
        const int code = read_field(r, r->fields == r->wanted && !by_name ? KEEP_WHOLE : KEEP_START, &end, f);
        if (code != 0)
            return code;
        note_field(r, by_number, first);
    }
    return 0;
}

static int choose_column(text_reader *r, int by_number, const first_row *first, fault *f) {
    const char *const column = r->options.column;
    if (column == NULL) {
        if (r->fields == 1)
            return 0;
        return fault_usage(f, "%s: line %llu has %llu columns%s%s%s; choose one with --column", r->from->name,
                           (unsigned long long)r->row_line, (unsigned long long)r->fields,
                           first->any_is_name ? " (" : "", first->any_is_name ? r->names : "",
                           first->any_is_name ? ")" : "");
    }
    if (by_number) {
        if (r->wanted < r->fields)
            return 0;
        return fault_usage(f, "%s: there is no column %s: line %llu has %llu column%s", r->from->name, column,
                           (unsigned long long)r->row_line, (unsigned long long)r->fields, r->fields == 1 ? "" : "s");
    }
    if (first->matches == 0)
        return fault_usage(f, "%s: no column is named '%s' on line %llu; it has: %s", r->from->name, column,
                           (unsigned long long)r->row_line, r->names);
    if (first->matches > 1)
        return fault_usage(f, "%s: %llu columns are named '%s' on line %llu; choose one by its number", r->from->name,
                           (unsigned long long)first->matches, column, (unsigned long long)r->row_line);
    r->wanted = first->match;
    return 0;
}

/* The first row was data: have the next text_read or text_survey begin with its number. */
static void keep_first_row(text_reader *r, const first_row *first) {
    char *const text = r->field;
    r->field = r->spare;
    r->spare = text;
    r->field_line = first->line;
    r->field_byte = first->byte;
    r->field_length = first->length;
    r->pending = 1;
}

static int check_column_option(text_reader *r, int *by_number, fault *f) {
    uint64_t number = 0;
    const char *const column = r->options.column;
    *by_number = column != NULL && column_number(column, &number);
    if (*by_number && number == 0)
        return fault_usage(f, "%s: columns are numbered from 1", r->from->name);
    if (column != NULL && !*by_number && r->options.header == TEXT_HEADER_NO)
        return fault_usage(f, "%s: choosing a column by name (%s) needs a header line; give its number", r->from->name,
                           column);
    r->wanted = *by_number ? number - 1 : 0;
    return 0;
}

/* Finds delimiter, column and header. */
static int start(text_reader *r, fault *f) {
    int code, there, by_number;
    first_row first;
    r->started = 1;
    if ((code = check_column_option(r, &by_number, f)) != 0 || (code = refill(r, f)) != 0 ||
        (code = refuse_utf16(r, f)) != 0)
        return code;
    if (r->length >= 3 && memcmp(r->buffer, "\xef\xbb\xbf", 3) == 0) { /* the byte order mark of UTF-8 */
        r->at = 3;
        r->line_start = 3;
    }
    if ((code = next_row(r, &there, f)) != 0 || !there)
        return code;
    if (r->options.delimiter != 0)
        set_delimiter(r, r->options.delimiter);
    else
        detect_delimiter(r);
    if ((code = read_first_row(r, by_number, &first, f)) != 0 || (code = choose_column(r, by_number, &first, f)) != 0)
        return code;
    const int by_name = r->options.column != NULL && !by_number;
    const text_header header = r->options.header;
    if (!by_name && (header == TEXT_HEADER_NO || (header == TEXT_HEADER_AUTO && !first.wanted_is_name)))
        keep_first_row(r, &first);
    return 0;
}

/* ---- the public calls ---- */

int text_open(const source *from, const text_options *options, text_reader **reader, fault *f) {
    text_reader *const r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->buffer = malloc(BUFFER_BYTES);
        r->field = malloc(FIELD_BYTES);
        r->spare = malloc(FIELD_BYTES);
    }
    if (r == NULL || r->buffer == NULL || r->field == NULL || r->spare == NULL) {
        text_close(r);
        return fault_data(f, "%s: no memory for reading text", from->name);
    }
    r->from = from;
    r->options = *options;
    r->line = 1;
    r->field[0] = 0;
    *reader = r;
    return 0;
}

void text_close(text_reader *r) {
    if (r == NULL)
        return;
    free(r->buffer);
    free(r->field);
    free(r->spare);
    free(r);
}

/* The next row's number as text in 'field'. */
static int next_number(text_reader *r, int *there, fault *f) {
    int code;
    if (!r->started && (code = start(r, f)) != 0)
        return code;
    if (r->pending) {
        r->pending = 0;
        *there = 1;
        return 0;
    }
    code = next_row(r, there, f);
    return code != 0 || !*there ? code : read_row(r, f);
}

static int bad_number(const text_reader *r, number_status status, tally_dtype dtype, fault *f) {
    char place[96], quote[FAULT_QUOTE_MAX];
    const int at = snprintf(place, sizeof place, "line %llu, column %llu", (unsigned long long)r->field_line,
                            (unsigned long long)r->field_byte);
    if (r->fields > 1)
        snprintf(place + at, sizeof place - (size_t)at, " (field %llu)", (unsigned long long)r->wanted + 1);
    fault_quote(quote, r->field, r->field_length);
    if (r->field_length == 0)
        return fault_data(f, "%s: %s: the field is empty; fill it in, with nan if the value is missing", r->from->name,
                          place);
    if (status == NUMBER_NOT_INTEGER)
        return fault_data(f, "%s: %s: %s is not an integer, as --dtype %s wants; use a float type", r->from->name,
                          place, quote, tally_dtype_name(dtype));
    if (status == NUMBER_OUT_OF_RANGE)
        return fault_data(f, "%s: %s: %s does not fit %s; use a wider --dtype", r->from->name, place, quote,
                          tally_dtype_name(dtype));
    return fault_data(f, "%s: %s: %s is not a number", r->from->name, place, quote);
}

int text_read(text_reader *r, tally_dtype dtype, void *elements, size_t capacity, size_t *got, fault *f) {
    const size_t size = tally_dtype_size(dtype);
    unsigned char *out = elements;
    for (*got = 0; *got < capacity; ++*got, out += size) {
        int there = 0;
        const int code = next_number(r, &there, f);
        if (code != 0)
            return code;
        if (!there)
            return 0;
        const number_status status = number_parse(r->field, r->field_length, dtype, out);
        if (status != NUMBER_OK)
            return bad_number(r, status, dtype, f);
    }
    return 0;
}

/* What a survey has seen so far. */
typedef struct survey {
    uint64_t count;
    int floats, negative;
    uint64_t u64_line, u64_byte, big_line, big_byte; /* the first integer that needs u64, or more; 0: none */
    char big_text[FAULT_QUOTE_MAX];
} survey;

static int survey_number(text_reader *r, survey *s, fault *f) {
    const number_kind kind = number_classify(r->field, r->field_length);
    double value;
    s->count++;
    s->negative |= kind == NUMBER_I64 && r->field[0] == '-';
    if (kind == NUMBER_NO_NUMBER)
        return bad_number(r, NUMBER_NONE, TALLY_F64, f);
    if (kind == NUMBER_FLOAT)
        s->floats = 1;
    if (kind == NUMBER_U64 && s->u64_line == 0) {
        s->u64_line = r->field_line;
        s->u64_byte = r->field_byte;
    }
    if (kind == NUMBER_BIG_INTEGER && s->big_line == 0) {
        s->big_line = r->field_line;
        s->big_byte = r->field_byte;
        fault_quote(s->big_text, r->field, r->field_length);
    }
    if (kind == NUMBER_FLOAT || kind == NUMBER_BIG_INTEGER) {
        const number_status status = number_parse(r->field, r->field_length, TALLY_F64, &value);
        if (status != NUMBER_OK)
            return bad_number(r, status, TALLY_F64, f);
    }
    return 0;
}

int text_survey(text_reader *r, tally_dtype *dtype, uint64_t *count, fault *f) {
    survey s = {0};
    for (;;) {
        int there = 0;
        int code = next_number(r, &there, f);
        if (code == 0 && there)
            code = survey_number(r, &s, f);
        if (code != 0)
            return code;
        if (!there)
            break;
    }
    *count = s.count;
    *dtype = s.floats || s.count == 0 ? TALLY_F64 : s.u64_line != 0 ? TALLY_U64 : TALLY_I64;
    if (*dtype == TALLY_F64)
        return 0;
    if (s.big_line != 0)
        return fault_data(f,
                          "%s: line %llu, column %llu: the integer %s fits neither i64 nor u64; --dtype f64 reads it "
                          "rounded",
                          r->from->name, (unsigned long long)s.big_line, (unsigned long long)s.big_byte, s.big_text);
    if (s.u64_line != 0 && s.negative)
        return fault_data(
            f,
            "%s: line %llu, column %llu: an integer that needs u64, in a column with negative ones, which "
            "need i64; --dtype f64 reads both, rounded",
            r->from->name, (unsigned long long)s.u64_line, (unsigned long long)s.u64_byte);
    return 0;
}
