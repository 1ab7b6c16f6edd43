/* text.c: see text.h. fields.c takes the text apart; layout.c chooses a column; here its fields become numbers.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "layout.h"
#include "number.h"

struct text_reader {
    fields in;
    text_options options;
    layout rows;
    bool started;
};

/* Reads a row whose number of fields is known and keeps the wanted one. */
static int read_row(text_reader *r, fault *f) {
    field_end end = END_FIELD;
    uint64_t count = 0;
    for (; end == END_FIELD; count++) {
        const int code = fields_read(&r->in, count == r->rows.wanted ? KEEP_WHOLE : KEEP_NOTHING, &end, f);
        if (code != 0)
            return code;
    }
    return count == r->rows.fields ? 0 : layout_ragged(&r->rows, &r->in, count, r->options.comment, f);
}

/* ---- the public calls ---- */

int text_open(const source *from, const text_options *options, text_reader **reader, fault *f) {
    text_reader *const r = calloc(1, sizeof *r);
    if (!r)
        return fault_data(f, "%s: no memory for reading text", from->name);
    const int code = fields_open(&r->in, from, options->delimiter, options->comment, f);
    if (code != 0) {
        free(r);
        return code;
    }
    r->options = *options;
    *reader = r;
    return 0;
}

void text_close(text_reader *r) {
    if (!r)
        return;
    fields_close(&r->in);
    free(r);
}

/* The next row's number as text in 'field'. */
static int next_number(text_reader *r, bool *there, fault *f) {
    int code;
    if (!r->started) {
        r->started = true;
        if ((code = layout_find(&r->rows, &r->in, &r->options, f)) != 0)
            return code;
    }
    if (r->rows.pending > 0) {
        r->rows.pending--;
        fields_swap(&r->in);
        *there = true;
        return 0;
    }
    code = fields_next_row(&r->in, there, f);
    return code != 0 || !*there ? code : read_row(r, f);
}

static int bad_number(const text_reader *r, number_status status, tally_dtype dtype, fault *f) {
    char place[96], quote[FAULT_QUOTE_MAX];
    const int at = snprintf(place, sizeof place, "line %llu, column %llu", (unsigned long long)r->in.field.line,
                            (unsigned long long)r->in.field.byte);
    if (r->rows.fields > 1)
        snprintf(place + at, sizeof place - (size_t)at, " (field %llu)", (unsigned long long)r->rows.wanted + 1);
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
    return fault_data(f, "%s: %s: %s is not a number%s", r->in.from->name, place, quote,
                      layout_hint(&r->rows, &r->in, r->options.comment));
}

int text_read(text_reader *r, tally_dtype dtype, void *elements, size_t capacity, size_t *got, fault *f) {
    const size_t size = tally_dtype_size(dtype);
    unsigned char *out = elements;
    for (*got = 0; *got < capacity; ++*got, out += size) {
        bool there = false;
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
    bool floats, negative;
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
        s->floats = true;
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
        bool there = false;
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
