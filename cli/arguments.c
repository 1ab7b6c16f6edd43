/* arguments.c: see arguments.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

enum { MOST = 48, FIRST_CODE = 256, HELP_COLUMN = 26 };

static bool is_for(const argument *row, unsigned command) {
    return row->commands == 0 || (row->commands & command) != 0;
}

/* ---- reading ---- */

static const argument *find(const argument_table *table, unsigned command, int code) {
    if (code >= FIRST_CODE)
        return &table->rows[code - FIRST_CODE];
    for (size_t i = 0; i < table->count; i++)
        if (is_for(&table->rows[i], command) && table->rows[i].letter == code)
            return &table->rows[i];
    return NULL;
}

int arguments_read(const argument_table *table, unsigned command, void *settings, int argc, char **argv, int *operands,
                   fault *f) {
    struct option known[MOST + 1] = {{0}};
    char letters[2 * MOST + 1] = "";
    bool given[MOST] = {false};
    size_t count = 0, length = 0;
    f->text[0] = 0;
    for (size_t i = 0; i < table->count && i < MOST; i++) {
        const argument *const row = &table->rows[i];
        if (!is_for(row, command))
            continue;
        known[count++] =
            (struct option){row->name, row->value ? required_argument : no_argument, NULL, FIRST_CODE + (int)i};
        if (row->letter)
            length +=
                (size_t)snprintf(letters + length, sizeof letters - length, "%c%s", row->letter, row->value ? ":" : "");
    }
    optind = 0;
    for (int found; (found = getopt_long(argc, argv, letters, known, NULL)) != -1;) {
        const argument *const row = find(table, command, found);
        if (!row)
            return FAULT_USAGE; /* getopt has printed the message */
        bool *const before = &given[row - table->rows];
        if (*before && row->value && !row->repeats)
            return fault_usage(f, "--%s is given more than once", row->name);
        *before = true;
        const int code = row->take(settings, row, optarg, f);
        if (code != 0)
            return code;
    }
    *operands = optind;
    return 0;
}

int argument_flag(void *settings, const argument *row, const char *text, fault *f) {
    (void)text;
    (void)f;
    *(bool *)((char *)settings + row->place) = true;
    return 0;
}

int argument_text(void *settings, const argument *row, const char *text, fault *f) {
    (void)f;
    *(const char **)((char *)settings + row->place) = text;
    return 0;
}

int argument_int(void *settings, const argument *row, const char *text, fault *f) {
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (*end || end == text)
        return fault_usage(f, "--%s %s: not an integer", row->name, text);
    if (errno != 0 || value < INT_MIN || value > INT_MAX)
        return fault_usage(f, "--%s %s: out of range", row->name, text);
    *(int *)((char *)settings + row->place) = (int)value;
    return 0;
}

int argument_dtype(void *settings, const argument *row, const char *text, fault *f) {
    if (tally_dtype_from_name(text, (tally_dtype *)((char *)settings + row->place)) != TALLY_OK)
        return fault_usage(f, "--%s %s: %s", row->name, text, tally_last_error());
    return 0;
}

/* ---- help ---- */

/* "-o, --output OUT.npy"; returns how many characters. */
static int print_name(const argument *row) {
    int printed = row->letter ? printf("-%c, ", row->letter) : 0;
    return printed + printf("--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
}

static void print_row(const argument *const *names, size_t count, const char *help) {
    int printed = printf("  ");
    for (size_t i = 0; i < count; i++)
        printed += printf("%s", i == 0 ? "" : ", ") + print_name(names[i]);
    printf("%*s", printed < HELP_COLUMN - 1 ? HELP_COLUMN - printed : 2, "");
    for (const char *p = help; *p; p++)
        if (*p == '\n')
            printf("\n%*s", HELP_COLUMN, "");
        else if (*p == '%')
            for (int type = 1; type < TALLY_DTYPE_COUNT; type++)
                printf("%s%s", type == 1 ? "" : " ", tally_dtype_name((tally_dtype)type));
        else
            putchar(*p);
    putchar('\n');
}

bool arguments_help(const argument_table *table, unsigned command, int section, const char *heading) {
    const argument *names[MOST];
    size_t count = 0;
    bool any = false;
    for (size_t i = 0; i < table->count; i++) {
        const argument *const row = &table->rows[i];
        if (row->section != section || !is_for(row, command) || (row->help && !*row->help))
            continue;
        if (!any)
            printf("\n%s%s", heading ? heading : "", heading ? ":\n" : "");
        any = true;
        names[count++] = row;
        if (!row->help)
            continue;
        print_row(names, count, row->help);
        count = 0;
    }
    return any;
}
