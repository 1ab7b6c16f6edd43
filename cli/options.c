/* options.c: see options.h. One table lists every option with the commands that take it; getopt_long sees only those of
 * the present command and so refuses the others by itself.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help.h"

enum {
    ANY_FILES = COMMAND_REDUCE | COMMAND_SCAN | COMMAND_SEGMENTS | COMMAND_KEYS,
    ALL_COMMANDS = ANY_FILES | COMMAND_INFO | COMMAND_DEVICES
};

enum {
    OPTION_AXIS = 256,
    OPTION_EXACT,
    OPTION_COLUMN,
    OPTION_DTYPE,
    OPTION_OUT_DTYPE,
    OPTION_ACC_DTYPE,
    OPTION_DDOF,
    OPTION_DEVICE,
    OPTION_JSON,
    OPTION_KEYS_OUT,
    OPTION_EXCLUSIVE,
    OPTION_REVERSE,
    OPTION_INITIAL,
    OPTION_NPY,
    OPTION_RAW,
    OPTION_TEXT,
    OPTION_SHAPE,
    OPTION_DELIMITER,
    OPTION_HEADER,
    OPTION_NO_HEADER,
    OPTION_MEASURE
};

static const struct {
    const char *name;
    int argument, code;
    unsigned commands;
} table[] = {
    {"output", required_argument, 'o', ANY_FILES},
    {"axis", required_argument, OPTION_AXIS, COMMAND_REDUCE | COMMAND_SCAN},
    {"exact", no_argument, OPTION_EXACT, ANY_FILES},
    {"exclusive", no_argument, OPTION_EXCLUSIVE, COMMAND_SCAN},
    {"reverse", no_argument, OPTION_REVERSE, COMMAND_SCAN},
    {"initial", required_argument, OPTION_INITIAL, COMMAND_SCAN},
    {"keys-out", required_argument, OPTION_KEYS_OUT, COMMAND_KEYS},
    {"column", required_argument, OPTION_COLUMN, ANY_FILES},
    {"dtype", required_argument, OPTION_DTYPE, ANY_FILES},
    {"out-dtype", required_argument, OPTION_OUT_DTYPE, ANY_FILES},
    {"acc-dtype", required_argument, OPTION_ACC_DTYPE, ANY_FILES},
    {"ddof", required_argument, OPTION_DDOF, ANY_FILES},
    {"device", required_argument, OPTION_DEVICE, ANY_FILES},
    {"npy", no_argument, OPTION_NPY, ANY_FILES},
    {"raw", no_argument, OPTION_RAW, ANY_FILES},
    {"text", no_argument, OPTION_TEXT, ANY_FILES},
    {"shape", required_argument, OPTION_SHAPE, ANY_FILES},
    {"delimiter", required_argument, OPTION_DELIMITER, ANY_FILES},
    {"header", no_argument, OPTION_HEADER, ANY_FILES},
    {"no-header", no_argument, OPTION_NO_HEADER, ANY_FILES},
    {"measure", no_argument, OPTION_MEASURE, COMMAND_DEVICES},
    {"json", no_argument, OPTION_JSON, ALL_COMMANDS},
    {"help", no_argument, 'h', ALL_COMMANDS},
};

enum { TABLE_SIZE = sizeof table / sizeof table[0] };

/* How often each option that may be given once an input has been given. */
typedef struct given {
    int format, column, dtype, shape, delimiter, header;
} given;

static int parse_int(const char *option, const char *text, int *value, fault *f) {
    char *end;
    errno = 0;
    const long v = strtol(text, &end, 10);
    if (*end != 0 || end == text)
        return fault_usage(f, "--%s %s: not an integer", option, text);
    if (errno != 0 || v < INT_MIN || v > INT_MAX)
        return fault_usage(f, "--%s %s: out of range", option, text);
    *value = (int)v;
    return 0;
}

/* Names of types, with a byte order in front where that makes sense. */
static int parse_dtype(const char *option, const char *text, char *order, tally_dtype *dtype, fault *f) {
    const char *name = text;
    if (order != NULL && (*text == '<' || *text == '>'))
        *order = *name++;
    if (tally_dtype_from_name(name, dtype) != TALLY_OK)
        return fault_usage(f, "--%s %s: %s", option, text, tally_last_error());
    return 0;
}

static int parse_shape(const char *text, input_options *in, fault *f) {
    const char *p = text;
    for (in->rank = 0; in->rank < NPY_MAX_RANK; p++) {
        char *end;
        errno = 0;
        const unsigned long long v = *p >= '0' && *p <= '9' ? strtoull(p, &end, 10) : (end = NULL, 0);
        if (end == NULL || errno != 0 || v > (unsigned long long)INT64_MAX)
            break;
        in->shape[in->rank++] = v;
        p = end;
        if (*p == 0)
            return 0;
        if (*p != ',' && *p != 'x')
            break;
    }
    return fault_usage(f, "--shape %s: dimensions are integers with commas between: 100,200,3", text);
}

static int parse_delimiter(const char *text, char *delimiter, fault *f) {
    static const struct {
        const char *name;
        char value;
    } names[] = {{"comma", ','}, {"tab", '\t'}, {"\\t", '\t'}, {"semicolon", ';'}, {"space", ' '}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].name) == 0) {
            *delimiter = names[i].value;
            return 0;
        }
    }
    if (text[0] == 0 || text[1] != 0 || strchr("\"\n\r+-.#", text[0]) != NULL || (text[0] >= '0' && text[0] <= '9'))
        return fault_usage(f, "--delimiter %s: one character, or comma, tab, semicolon or space", text);
    *delimiter = text[0];
    return 0;
}

/* The input that the next use of a repeatable option is for; NULL when both have theirs. */
static input_options *next_input(options *o, int *count, const char *option, fault *f) {
    if (*count < 2)
        return &o->inputs[(*count)++];
    fault_usage(f, "--%s is given more often than there are inputs", option);
    return NULL;
}

static int take_input_option(options *o, given *g, int code, const char *text, fault *f) {
    input_options *in = NULL;
    switch (code) {
    case OPTION_NPY:
    case OPTION_RAW:
    case OPTION_TEXT:
        if ((in = next_input(o, &g->format, "npy, --raw or --text", f)) != NULL)
            in->format = code == OPTION_NPY ? INPUT_NPY : code == OPTION_RAW ? INPUT_RAW : INPUT_TEXT;
        break;
    case OPTION_COLUMN:
        if ((in = next_input(o, &g->column, "column", f)) != NULL)
            in->text.column = text;
        break;
    case OPTION_DTYPE:
        in = next_input(o, &g->dtype, "dtype", f);
        return in == NULL ? FAULT_USAGE : parse_dtype("dtype", text, &in->byte_order, &in->dtype, f);
    case OPTION_SHAPE:
        in = next_input(o, &g->shape, "shape", f);
        return in == NULL ? FAULT_USAGE : parse_shape(text, in, f);
    case OPTION_DELIMITER:
        in = next_input(o, &g->delimiter, "delimiter", f);
        return in == NULL ? FAULT_USAGE : parse_delimiter(text, &in->text.delimiter, f);
    default:
        if ((in = next_input(o, &g->header, "header or --no-header", f)) != NULL)
            in->text.header = code == OPTION_HEADER ? TEXT_HEADER_YES : TEXT_HEADER_NO;
    }
    return in == NULL ? FAULT_USAGE : 0;
}

static int take_option(options *o, given *g, int code, const char *text, fault *f) {
    switch (code) {
    case 'h':
        o->help = 1;
        return 0;
    case 'o':
        o->output = text;
        return 0;
    case OPTION_KEYS_OUT:
        o->keys_output = text;
        return 0;
    case OPTION_AXIS:
        o->axis_given = 1;
        return parse_int("axis", text, &o->axis, f);
    case OPTION_DDOF:
        return parse_int("ddof", text, &o->ddof, f);
    case OPTION_EXACT:
        o->exact = 1;
        return 0;
    case OPTION_EXCLUSIVE:
        o->exclusive = 1;
        return 0;
    case OPTION_REVERSE:
        o->reverse = 1;
        return 0;
    case OPTION_INITIAL:
        o->initial = text;
        return 0;
    case OPTION_OUT_DTYPE:
        return parse_dtype("out-dtype", text, NULL, &o->out_dtype, f);
    case OPTION_ACC_DTYPE:
        return parse_dtype("acc-dtype", text, NULL, &o->acc_dtype, f);
    case OPTION_DEVICE:
        o->device = text;
        return 0;
    case OPTION_MEASURE:
        o->measure = 1;
        return 0;
    case OPTION_JSON:
        o->json = 1;
        return 0;
    default:
        return take_input_option(o, g, code, text, f);
    }
}

/* The two inputs of a dot are alike: what was said once holds for both. Values and keys are not. */
static void share_with_second_input(options *o, const given *g) {
    input_options *const a = &o->inputs[0], *const b = &o->inputs[1];
    if (g->format == 1)
        b->format = a->format;
    if (g->column == 1)
        b->text.column = a->text.column;
    if (g->dtype == 1) {
        b->dtype = a->dtype;
        b->byte_order = a->byte_order;
    }
    if (g->shape == 1) {
        b->rank = a->rank;
        memcpy(b->shape, a->shape, sizeof b->shape);
    }
    if (g->delimiter == 1)
        b->text.delimiter = a->text.delimiter;
    if (g->header == 1)
        b->text.header = a->text.header;
}

static int take_operands(options *o, int count, char **operands, fault *f) {
    if (count == 0)
        return fault_usage(f, "an operator is missing; 'tally ops' lists them");
    if (tally_op_from_name(operands[0], &o->op) != TALLY_OK)
        return fault_usage(f, "%s", tally_last_error());
    const int two = o->op == TALLY_DOT || o->command == COMMAND_SEGMENTS || o->command == COMMAND_KEYS;
    const int files = count - 1;
    if (two && o->op == TALLY_DOT && o->command != COMMAND_REDUCE)
        return fault_usage(f, "dot takes two inputs and works only with 'tally reduce dot X Y'");
    if (two && files != 2)
        return fault_usage(f, "%s %s takes two files, and %d %s given",
                           o->command == COMMAND_KEYS       ? "keys"
                           : o->command == COMMAND_SEGMENTS ? "segments"
                                                            : "reduce",
                           tally_op_name(o->op), files, files == 1 ? "was" : "were");
    if (!two && files > 1)
        return fault_usage(f, "one file at a time: '%s' is one too many", operands[2]);
    for (int i = 0; i < files; i++)
        o->paths[i] = operands[1 + i];
    o->path_count = two ? 2 : 1;
    if (two && strcmp(o->paths[0], "-") == 0 && strcmp(o->paths[1], "-") == 0)
        return fault_usage(f, "only one of the two inputs can be standard input");
    return 0;
}

static int takes_initial(tally_op op) {
    return op == TALLY_SUM || op == TALLY_PROD || op == TALLY_MIN || op == TALLY_MAX || op == TALLY_BAND ||
           op == TALLY_BOR || op == TALLY_BXOR;
}

static int rounds_once(tally_op op) {
    return op == TALLY_SUM || op == TALLY_MEAN || op == TALLY_SUMSQ || op == TALLY_NORM2 || op == TALLY_DOT;
}

/* What the library would refuse in its own words, which are not those of the command line. */
static int check_combination(const options *o, fault *f) {
    if (o->initial != NULL && !takes_initial(o->op))
        return fault_usage(f, "--initial is for sum, prod, min, max, band, bor and bxor");
    if (o->exact && o->acc_dtype == TALLY_F64 && rounds_once(o->op))
        return fault_usage(f, "--exact has an accumulator of its own; leave --acc-dtype out");
    if ((o->output != NULL && *o->output == 0) || (o->keys_output != NULL && *o->keys_output == 0))
        return fault_usage(f, "the name of an output is empty; - is standard output");
    if (o->ddof != 0 && o->op != TALLY_VAR && o->op != TALLY_STD)
        return fault_usage(f, "--ddof is for var and std");
    return 0;
}

int options_parse(options *o, command_kind command, int argc, char **argv, fault *f) {
    struct option known[TABLE_SIZE + 1];
    given g = {0};
    size_t n = 0;
    int code, found;
    memset(o, 0, sizeof *o);
    memset(known, 0, sizeof known);
    o->command = command;
    o->op = TALLY_SUM;
    o->device = "cpu";
    o->inputs[0].rank = o->inputs[1].rank = -1;
    for (size_t i = 0; i < TABLE_SIZE; i++)
        if ((table[i].commands & command) != 0)
            known[n++] = (struct option){table[i].name, table[i].argument, NULL, table[i].code};
    const char *const letters = (command & ANY_FILES) == 0 ? "h" : "ho:";
    while ((found = getopt_long(argc, argv, letters, known, NULL)) != -1) {
        if (found == '?')
            return fault_usage(f, "%s", "");
        if ((code = take_option(o, &g, found, optarg, f)) != 0)
            return code;
    }
    if (o->help)
        return 0;
    if ((command & ANY_FILES) == 0)
        return optind == argc ? 0 : fault_usage(f, "'%s' is one argument too many", argv[optind]);
    if ((code = take_operands(o, argc - optind, argv + optind, f)) != 0)
        return code;
    if (o->op == TALLY_DOT)
        share_with_second_input(o, &g);
    return check_combination(o, f);
}
