/* layout.c: see layout.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

/* ---- fields ---- */

static bool is_number(const char *text) {
    return number_classify(text, strlen(text)) != NUMBER_NO_NUMBER;
}

/* "Rate" is a name, "1O.5" a slip of the pen: a header's field must not begin like a number. */
static bool is_name(const char *text) {
    return text[0] && !is_number(text) && !strchr("0123456789+-.", text[0]);
}

/* 0: not a year. */
static int year_of(const char *text) {
    int year = 0;
    for (int i = 0; i < 4; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        year = 10 * year + text[i] - '0';
    }
    return !text[4] && year >= 1500 && year < 2200 ? year : 0;
}

/* ---- the first row ---- */

typedef struct first_row {
    const char *column;
    uint64_t number;         /* the column as a number from 1; 0: it is none */
    uint64_t matches, match; /* fields with the wanted name, the first of them */
    bool has_name;           /* some field looks like a name */
    bool wanted_is_name, wanted_is_year, wanted_is_quoted;
    bool has_label, label_is_empty; /* a name or an empty field stands before the wanted field */
    uint64_t label;                 /* the first such field */
    bool has_other;                 /* some field is neither a name, empty, nor a year at the same distance */
    int years, year, distance;
} first_row;

/* All digits: a column number from 1; 0 for a name. */
static uint64_t column_number(const char *column) {
    uint64_t v = 0;
    for (const char *p = column; *p; p++) {
        if (*p < '0' || *p > '9' || v > UINT32_MAX)
            return 0;
        v = v * 10 + (uint64_t)(*p - '0');
    }
    return v;
}

enum { DECADE = 10 };

static void note_year(first_row *first, int year) {
    const int distance = year - first->year;
    const bool near = distance != 0 && distance >= -DECADE && distance <= DECADE;
    if (year == 0 || (first->years > 0 && !near) || (first->years > 1 && distance != first->distance))
        first->has_other = true;
    first->distance = distance;
    first->year = year;
    first->years++;
}

static void note_field(layout *l, const fields *in, first_row *first) {
    const char *const text = in->field.text;
    const bool name = is_name(text), empty = !text[0];
    const size_t used = strlen(l->names);
    if (used + 8 < sizeof l->names)
        snprintf(l->names + used, sizeof l->names - used, "%s%.60s", l->fields == 0 ? "" : ", ", text);
    first->has_name |= name;
    if (first->column && strcmp(text, first->column) == 0 && first->matches++ == 0)
        first->match = l->fields;
    if (l->fields < l->wanted && !first->has_label && (name || empty)) {
        first->has_label = true;
        first->label_is_empty = empty;
        first->label = l->fields;
    }
    if (!name && !empty)
        note_year(first, year_of(text));
    if (l->fields == l->wanted) {
        first->wanted_is_name = name;
        first->wanted_is_year = year_of(text) != 0;
        first->wanted_is_quoted = in->field.quoted;
    }
}

/* Field by field; the wanted one is swapped away. */
static int read_first_row(layout *l, fields *in, bool by_name, first_row *first, fault *f) {
    field_end end = END_FIELD;
    for (l->fields = 0; end == END_FIELD; l->fields++) {
        const int code = fields_read(in, l->fields == l->wanted && !by_name ? KEEP_WHOLE : KEEP_START, &end, f);
        if (code != 0)
            return code;
        note_field(l, in, first);
        if (l->fields == l->wanted)
            fields_swap(in);
    }
    return 0;
}

/* ---- which column ---- */

static int no_column_given(const layout *l, const fields *in, const first_row *first, char comment, fault *f) {
    if (l->fields == 1)
        return 0;
    return fault_usage(f, "%s: line %llu has %llu columns%s%s%s; choose one with --column%s", in->from->name,
                       (unsigned long long)in->row_line, (unsigned long long)l->fields, first->has_name ? " (" : "",
                       first->has_name ? l->names : "", first->has_name ? ")" : "", layout_hint(l, in, comment));
}

static int no_such_column(const layout *l, const fields *in, const first_row *first, char comment, fault *f) {
    if (first->column[0] && strspn(first->column, "0") == strlen(first->column))
        return fault_usage(f, "%s: columns are numbered from 1", in->from->name);
    if (first->number > 0)
        return fault_usage(f, "%s: there is no column %s: line %llu has %llu column%s%s", in->from->name, first->column,
                           (unsigned long long)in->row_line, (unsigned long long)l->fields, l->fields == 1 ? "" : "s",
                           layout_hint(l, in, comment));
    return fault_usage(f, "%s: no column is named '%s' on line %llu; it has: %s%s", in->from->name, first->column,
                       (unsigned long long)in->row_line, l->names, layout_hint(l, in, comment));
}

/* A number within the row is one; else a column of that name is looked for. */
static int choose_column(layout *l, const fields *in, const first_row *first, const text_options *options,
                         bool *by_name, fault *f) {
    *by_name = false;
    if (!first->column)
        return no_column_given(l, in, first, options->comment, f);
    if (first->number > 0 && l->wanted < l->fields)
        return 0;
    *by_name = true;
    if (first->matches == 0 || options->header == TEXT_HEADER_NO)
        return no_such_column(l, in, first, options->comment, f);
    if (first->matches > 1)
        return fault_usage(f, "%s: %llu columns are named '%s' on line %llu; choose one by its number", in->from->name,
                           (unsigned long long)first->matches, first->column, (unsigned long long)in->row_line);
    l->wanted = first->match;
    return 0;
}

/* ---- is the first row a header ---- */

typedef enum verdict { DATA, HEADER, UNCLEAR } verdict;

typedef struct second_row {
    bool there, label_is_empty, label_is_number, wanted_is_year, wanted_is_quoted;
} second_row;

static int read_second_row(layout *l, fields *in, const first_row *first, char comment, second_row *second, fault *f) {
    field_end end = END_FIELD;
    uint64_t count = 0;
    int code = fields_next_row(in, &second->there, f);
    if (code != 0 || !second->there)
        return code;
    for (; end == END_FIELD; count++) {
        const bool wanted = count == l->wanted, label = first->has_label && count == first->label;
        code = fields_read(in, wanted ? KEEP_WHOLE : label ? KEEP_START : KEEP_NOTHING, &end, f);
        if (code != 0)
            return code;
        if (label) {
            second->label_is_empty = in->field.length == 0;
            second->label_is_number = is_number(in->field.text);
        }
        if (wanted) {
            second->wanted_is_year = year_of(in->field.text) != 0;
            second->wanted_is_quoted = in->field.quoted;
        }
    }
    return count == l->fields ? 0 : layout_ragged(l, in, count, comment, f);
}

static verdict judge(const first_row *first, const second_row *second) {
    const bool year_above_none = first->wanted_is_year && !second->wanted_is_year;
    if (second->there && first->wanted_is_quoted && !second->wanted_is_quoted)
        return HEADER;
    if (!first->has_label)
        return DATA;
    if (year_above_none && first->years > 1 && !first->has_other)
        return HEADER;
    if (year_above_none && !first->label_is_empty)
        return UNCLEAR;
    return second->there && (first->label_is_empty ? !second->label_is_empty : second->label_is_number) ? UNCLEAR
                                                                                                        : DATA;
}

/* Leaves the rows that are data behind as pending. */
static int find_header(layout *l, fields *in, const first_row *first, char comment, fault *f) {
    second_row second = {0};
    const bool may_be_header = first->wanted_is_quoted || (first->has_label && !in->blanks_delimit);
    const uint64_t line = in->row_line;
    l->pending = 1;
    if (first->wanted_is_name) {
        l->pending = 0;
        return 0;
    }
    if (!may_be_header)
        return 0;
    const int code = read_second_row(l, in, first, comment, &second, f);
    if (code != 0)
        return code;
    l->pending += second.there;
    switch (judge(first, &second)) {
    case DATA:
        return 0;
    case HEADER:
        l->pending--;
        if (second.there)
            fields_swap(in);
        return 0;
    default:
        return fault_usage(f, "%s: line %llu (%s) may be a header or data; say which: --header or --no-header",
                           in->from->name, (unsigned long long)line, l->names);
    }
}

/* ---- the public calls ---- */

const char *layout_hint(const layout *l, const fields *in, char comment) {
    return !comment && (l->hash || in->row_has_hash) ? " (--comment '#' skips lines that begin with #)" : "";
}

int layout_ragged(const layout *l, const fields *in, uint64_t count, char comment, fault *f) {
    return fault_data(f, "%s: line %llu: %llu field%s, but the first row has %llu; every row needs the same number%s",
                      in->from->name, (unsigned long long)in->row_line, (unsigned long long)count,
                      count == 1 ? "" : "s", (unsigned long long)l->fields, layout_hint(l, in, comment));
}

int layout_find(layout *l, fields *in, const text_options *options, fault *f) {
    first_row first = {.column = options->column, .number = options->column ? column_number(options->column) : 0};
    const bool is_name = first.column && strspn(first.column, "0123456789") < strlen(first.column);
    bool there, by_name;
    if (is_name && options->header == TEXT_HEADER_NO)
        return fault_usage(f, "%s: choosing a column by name (%s) needs a header line; give its number", in->from->name,
                           first.column);
    *l = (layout){.wanted = first.number > 0 ? first.number - 1 : 0};
    int code = fields_begin(in, f);
    if (code != 0 || (code = fields_next_row(in, &there, f)) != 0 || !there)
        return code;
    l->hash = in->row_has_hash;
    if (options->delimiter)
        fields_delimit(in, options->delimiter);
    else if ((code = fields_detect_delimiter(in, f)) != 0)
        return code;
    if ((code = read_first_row(l, in, first.column && first.number == 0, &first, f)) != 0 ||
        (code = choose_column(l, in, &first, options, &by_name, f)) != 0)
        return code;
    if (by_name || options->header == TEXT_HEADER_YES)
        return 0;
    if (options->header == TEXT_HEADER_NO) {
        l->pending = 1;
        return 0;
    }
    return find_header(l, in, &first, options->comment, f);
}
