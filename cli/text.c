/* text.c: see text.h. fields.c takes the text apart; here a column is chosen and its fields become numbers.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "number.h"

enum {
    NAMES_BYTES = 400 /* how much of the header line an error message shows */
};

struct text_reader {
    fields in;
    text_options options;
    uint64_t fields, wanted; /* fields a row, chosen field from 0 */
    int started;
    int pending; /* the first row was data: its number is in 'in.field' */
    char names[NAMES_BYTES];
};

/* ---- rows ---- */

static int ragged(const text_reader *r, uint64_t count, fault *f) {
    return fault_data(f, "%s: line %llu: %llu field%s, but the first row has %llu; every row needs the same number",
                      r->in.from->name, (unsigned long long)r->in.row_line, (unsigned long long)count,
                      count == 1 ? "" : "s", (unsigned long long)r->fields);
}

/* Reads a row whose number of fields is known and keeps the wanted one. */
static int read_row(text_reader *r, fault *f) {
    field_end end = END_FIELD;
    uint64_t count = 0;
    while (end == END_FIELD) {
        const int code = fields_read(&r->in, count == r->wanted ? KEEP_WHOLE : KEEP_NOTHING, &end, f);
        if (code != 0)
            return code;
        count++;
    }
    return count == r->fields ? 0 : ragged(r, count, f);
}

/* ---- the first row ---- */

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
static int looks_like_name(const char *text) {
    if (text[0] == 0 || number_classify(text, strlen(text)) != NUMBER_NO_NUMBER)
        return 0;
    return strchr("0123456789+-.", text[0]) == NULL;
}

typedef struct first_row {
    uint64_t matches, match; /* fields with the wanted name, the first of them */
    int wanted_is_name;      /* the wanted field looks like a name */
    int any_is_name;         /* some field does */
} first_row;

static void note_name(text_reader *r, uint64_t index) {
    const size_t used = strlen(r->names);
    if (used + 8 < sizeof r->names)
        snprintf(r->names + used, sizeof r->names - used, "%s%.60s", index == 0 ? "" : ", ", r->in.field.text);
}

static void note_field(text_reader *r, int by_number, first_row *first) {
    const int is_name = looks_like_name(r->in.field.text);
    note_name(r, r->fields);
    first->any_is_name |= is_name;
    if (!by_number && r->options.column != NULL && strcmp(r->in.field.text, r->options.column) == 0 &&
        first->matches++ == 0)
        first->match = r->fields;
    if (r->fields == r->wanted) {
        fields_swap(&r->in);
        first->wanted_is_name = is_name;
    }
}

/* Reads the first row field by field; the wanted one is swapped away. */
static int read_first_row(text_reader *r, int by_number, first_row *first, fault *f) {
    const int by_name = r->options.column != NULL && !by_number;
    field_end end = END_FIELD;
    memset(first, 0, sizeof *first);
    for (r->fields = 0; end == END_FIELD; r->fields++) {
        const int code = fields_read(&r->in, r->fields == r->wanted && !by_name ? KEEP_WHOLE : KEEP_START, &end, f);
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
        return fault_usage(f, "%s: line %llu has %llu columns%s%s%s; choose one with --column", r->in.from->name,
                           (unsigned long long)r->in.row_line, (unsigned long long)r->fields,
                           first->any_is_name ? " (" : "", first->any_is_name ? r->names : "",
                           first->any_is_name ? ")" : "");
    }
    if (by_number) {
        if (r->wanted < r->fields)
            return 0;
        return fault_usage(f, "%s: there is no column %s: line %llu has %llu column%s", r->in.from->name, column,
                           (unsigned long long)r->in.row_line, (unsigned long long)r->fields,
                           r->fields == 1 ? "" : "s");
    }
    if (first->matches == 0)
        return fault_usage(f, "%s: no column is named '%s' on line %llu; it has: %s", r->in.from->name, column,
                           (unsigned long long)r->in.row_line, r->names);
    if (first->matches > 1)
        return fault_usage(f, "%s: %llu columns are named '%s' on line %llu; choose one by its number",
                           r->in.from->name, (unsigned long long)first->matches, column,
                           (unsigned long long)r->in.row_line);
    r->wanted = first->match;
    return 0;
}

static int check_column_option(text_reader *r, int *by_number, fault *f) {
    uint64_t number = 0;
    const char *const column = r->options.column;
    *by_number = column != NULL && column_number(column, &number);
    if (*by_number && number == 0)
        return fault_usage(f, "%s: columns are numbered from 1", r->in.from->name);
    if (column != NULL && !*by_number && r->options.header == TEXT_HEADER_NO)
        return fault_usage(f, "%s: choosing a column by name (%s) needs a header line; give its number",
                           r->in.from->name, column);
    r->wanted = *by_number ? number - 1 : 0;
    return 0;
}

/* Finds delimiter, column and header. */
static int start(text_reader *r, fault *f) {
    int code, there, by_number;
    first_row first;
    r->started = 1;
    if ((code = check_column_option(r, &by_number, f)) != 0 || (code = fields_begin(&r->in, f)) != 0)
        return code;
    if ((code = fields_next_row(&r->in, &there, f)) != 0 || !there)
        return code;
    if (r->options.delimiter != 0)
        fields_delimit(&r->in, r->options.delimiter);
    else
        fields_detect_delimiter(&r->in);
    if ((code = read_first_row(r, by_number, &first, f)) != 0 || (code = choose_column(r, by_number, &first, f)) != 0)
        return code;
    const int by_name = r->options.column != NULL && !by_number;
    const text_header header = r->options.header;
    if (!by_name && (header == TEXT_HEADER_NO || (header == TEXT_HEADER_AUTO && !first.wanted_is_name))) {
        fields_swap(&r->in);
        r->pending = 1;
    }
    return 0;
}

/* ---- the public calls ---- */

int text_open(const source *from, const text_options *options, text_reader **reader, fault *f) {
    text_reader *const r = calloc(1, sizeof *r);
    if (r == NULL)
        return fault_data(f, "%s: no memory for reading text", from->name);
    const int code = fields_open(&r->in, from, options->delimiter, f);
    if (code != 0) {
        free(r);
        return code;
    }
    r->options = *options;
    *reader = r;
    return 0;
}

void text_close(text_reader *r) {
    if (r == NULL)
        return;
    fields_close(&r->in);
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
    code = fields_next_row(&r->in, there, f);
    return code != 0 || !*there ? code : read_row(r, f);
}

static int bad_number(const text_reader *r, number_status status, tally_dtype dtype, fault *f) {
    char place[96], quote[FAULT_QUOTE_MAX];
    const int at = snprintf(place, sizeof place, "line %llu, column %llu", (unsigned long long)r->in.field.line,
                            (unsigned long long)r->in.field.byte);
    if (r->fields > 1)
        snprintf(place + at, sizeof place - (size_t)at, " (field %llu)", (unsigned long long)r->wanted + 1);
    fault_quote(quote, r->in.field.text, r->in.field.length);
    if (r->in.field.length == 0)
        return fault_data(f, "%s: %s: the field is empty; fill it in, with nan if the value is missing",
                          r->in.from->name, place);
    if (status == NUMBER_NOT_INTEGER)
        return fault_data(f, "%s: %s: %s is not an integer, as --dtype %s wants; use a float type", r->in.from->name,
                          place, quote, tally_dtype_name(dtype));
    if (status == NUMBER_OUT_OF_RANGE)
        return fault_data(f, "%s: %s: %s does not fit %s%s", r->in.from->name, place, quote, tally_dtype_name(dtype),
                          dtype == TALLY_F64 ? "" : "; use a wider --dtype");
    return fault_data(f, "%s: %s: %s is not a number", r->in.from->name, place, quote);
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
        const number_status status = number_parse(r->in.field.text, r->in.field.length, dtype, out);
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
    const number_kind kind = number_classify(r->in.field.text, r->in.field.length);
    double value;
    s->count++;
    s->negative |= kind == NUMBER_I64 && r->in.field.text[0] == '-';
    if (kind == NUMBER_NO_NUMBER)
        return bad_number(r, NUMBER_NONE, TALLY_F64, f);
    if (kind == NUMBER_FLOAT)
        s->floats = 1;
    if (kind == NUMBER_U64 && s->u64_line == 0) {
        s->u64_line = r->in.field.line;
        s->u64_byte = r->in.field.byte;
    }
    if (kind == NUMBER_BIG_INTEGER && s->big_line == 0) {
        s->big_line = r->in.field.line;
        s->big_byte = r->in.field.byte;
        fault_quote(s->big_text, r->in.field.text, r->in.field.length);
    }
    if (kind == NUMBER_FLOAT || kind == NUMBER_BIG_INTEGER) {
        const number_status status = number_parse(r->in.field.text, r->in.field.length, TALLY_F64, &value);
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
                          r->in.from->name, (unsigned long long)s.big_line, (unsigned long long)s.big_byte, s.big_text);
    if (s.u64_line != 0 && s.negative)
        return fault_data(
            f,
            "%s: line %llu, column %llu: an integer that needs u64, in a column with negative ones, which "
            "need i64; --dtype f64 reads both, rounded",
            r->in.from->name, (unsigned long long)s.u64_line, (unsigned long long)s.u64_byte);
    return 0;
}
