/* options.c: see options.h. One table has every option, with the commands that take it: it is read and printed from
 * there. The man page tally(1) says the same at more length.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "out_file.h"

enum { ANY_FILES = COMMAND_REDUCE | COMMAND_SCAN | COMMAND_SEGMENTS | COMMAND_KEYS | COMMAND_LABELS };

/* ---- options of an input, which may be given once for each of two ---- */

/* The input that this use of an option is for: its place counts the uses. */
static input_options *next_input(options *o, const argument *row) {
    int *const count = (int *)((char *)o + row->place);
    ++*count;
    return *count <= 2 ? &o->inputs[*count - 1] : &o->inputs[1];
}

static int take_format(void *settings, const argument *row, const char *text, fault *f) {
    (void)text;
    (void)f;
    next_input(settings, row)->format = (input_format)row->constant;
    return 0;
}

static int take_header(void *settings, const argument *row, const char *text, fault *f) {
    (void)text;
    (void)f;
    next_input(settings, row)->text.header = (text_header)row->constant;
    return 0;
}

static int take_column(void *settings, const argument *row, const char *text, fault *f) {
    (void)f;
    next_input(settings, row)->text.column = text;
    return 0;
}

/* With a byte order in front, for raw numbers. */
static int take_dtype(void *settings, const argument *row, const char *text, fault *f) {
    input_options *const in = next_input(settings, row);
    const bool ordered = *text == '<' || *text == '>';
    if (ordered)
        in->byte_order = *text;
    if (tally_dtype_from_name(text + ordered, &in->dtype) != TALLY_OK)
        return fault_usage(f, "--dtype %s: %s", text, tally_last_error());
    return 0;
}

static int take_shape(void *settings, const argument *row, const char *text, fault *f) {
    input_options *const in = next_input(settings, row);
    const char *p = text;
    for (in->rank = 0; in->rank < NPY_MAX_RANK; p++) {
        char *end;
        errno = 0;
        const unsigned long long v = *p >= '0' && *p <= '9' ? strtoull(p, &end, 10) : (end = NULL, 0);
        if (!end || errno != 0 || v > (unsigned long long)INT64_MAX)
            break;
        in->shape[in->rank++] = v;
        p = end;
        if (!*p)
            return 0;
        if (*p != ',' && *p != 'x')
            break;
    }
    return fault_usage(f, "--shape %s: dimensions are integers with commas between: 100,200,3", text);
}

static int take_delimiter(void *settings, const argument *row, const char *text, fault *f) {
    static const struct {
        const char *name;
        char value;
    } names[] = {{"comma", ','}, {"tab", '\t'}, {"\\t", '\t'}, {"semicolon", ';'}, {"space", ' '}};
    char *const delimiter = &next_input(settings, row)->text.delimiter;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i].name) == 0) {
            *delimiter = names[i].value;
            return 0;
        }
    if (!text[0] || text[1] || strchr("\"\n\r+-.0123456789", text[0]))
        return fault_usage(f, "--delimiter %s: one character, or comma, tab, semicolon or space", text);
    *delimiter = text[0];
    return 0;
}

static int take_comment(void *settings, const argument *row, const char *text, fault *f) {
    if (!text[0] || text[1] || strchr("\"\n\r\t +-.0123456789", text[0]))
        return fault_usage(f, "--comment %s: one character that no number begins with, such as '#'", text);
    next_input(settings, row)->text.comment = text[0];
    return 0;
}

/* ---- the other options that are more than their value ---- */

static int take_axis(void *settings, const argument *row, const char *text, fault *f) {
    ((options *)settings)->axis_given = true;
    return argument_int(settings, row, text, f);
}

static int take_groups(void *settings, const argument *row, const char *text, fault *f) {
    options *const o = settings;
    const int code = argument_int(settings, row, text, f);
    o->groups_given = true;
    return code == 0 && o->groups < 0 ? fault_usage(f, "--groups %s: may not be negative", text) : code;
}

/* ---- the table ---- */

enum { SECTION_OWN, SECTION_INPUT, SECTION_COMPUTATION, SECTION_OUTPUT };

#define AT(field)      .place = offsetof(options, field)
#define INPUT(field)   AT(given.field), .commands = ANY_FILES, .section = SECTION_INPUT, .repeats = true
#define COMPUTE(field) AT(field), .commands = ANY_FILES, .section = SECTION_COMPUTATION
#define OUTPUT(field)  AT(field), .commands = ANY_FILES, .section = SECTION_OUTPUT

static const argument rows[] = {
    {"axis", "N", "along axis N; negative ones count from the last", take_axis, AT(axis),
     .commands = COMMAND_REDUCE | COMMAND_SCAN},
    {"exclusive", NULL, "without the element itself", argument_flag, AT(exclusive), .commands = COMMAND_SCAN},
    {"reverse", NULL, "from the last element to the first (a pipe is put aside on disk)", argument_flag, AT(reverse),
     .commands = COMMAND_SCAN},
    {"initial", "V", "every group starts from V", argument_text, AT(initial), .commands = COMMAND_SCAN},
    {"keys-out", "KEYS.npy", "the key of each run", argument_text, AT(keys_output), .commands = COMMAND_KEYS},
    {"groups", "N", "groups are 0 to N - 1; without: to the largest label", take_groups, AT(groups),
     .commands = COMMAND_LABELS},
    {"skip-bad", NULL, "leave out values whose label is negative, or N or more", argument_flag, AT(skip_bad),
     .commands = COMMAND_LABELS},
    {"measure", NULL, "also how fast each reads its memory: takes up to 4 GiB of it, and some seconds", argument_flag,
     AT(measure), .commands = COMMAND_DEVICES},
    {"json", NULL, "as a JSON list", argument_flag, AT(json), .commands = COMMAND_OPS | COMMAND_DEVICES},

    {"npy", NULL, NULL, take_format, INPUT(format), .constant = INPUT_NPY},
    {"raw", NULL, NULL, take_format, INPUT(format), .constant = INPUT_RAW},
    {"text", NULL,
     "the format; without: .npy files by their first bytes, .csv .tsv .txt text,\n"
     ".raw .bin raw numbers; else text, or raw numbers if --dtype is given and the\n"
     "first bytes are not plain text",
     take_format, INPUT(format), .constant = INPUT_TEXT},
    {"dtype", "T",
     "type of raw numbers or of text: %;\n"
     "<T or >T: raw numbers in little or big endian order. Text without it is i64 if\n"
     "every number is an integer that fits, u64 if every one is an integer, none is\n"
     "negative and all fit u64, f64 if any has a point or an exponent or is inf or nan;\n"
     "larger integers are an error. Text is then read twice, a pipe put aside on disk.",
     take_dtype, INPUT(dtype)},
    {"shape", "N,N,...", "shape of raw numbers", take_shape, INPUT(shape)},
    {"column", "NAME|N", "column of text, by header or by number from 1", take_column, INPUT(column)},
    {"delimiter", "C", "comma, tab, semicolon, space (runs of blanks) or a character; else by the first row",
     take_delimiter, INPUT(delimiter)},
    {"comment", "C", "lines that begin with the character C are skipped", take_comment, INPUT(comment)},
    {"header", NULL, NULL, take_header, INPUT(header), .constant = TEXT_HEADER_YES},
    {"no-header", NULL,
     "the first row is, is not a header; else it is one if its field in the column does\n"
     "not begin like a number; a first row that may be either is an error",
     take_header, INPUT(header), .constant = TEXT_HEADER_NO},

    {"exact", NULL, "correctly rounded sums: the same bits on every machine", argument_flag, COMPUTE(exact)},
    {"out-dtype", "T", "type of the results", argument_dtype, COMPUTE(out_dtype)},
    {"acc-dtype", "T", "type to accumulate in: f64 where the default is narrower", argument_dtype, COMPUTE(acc_dtype)},
    {"ddof", "N", "var, std: divide by n - N; skewness, kurtosis: 0 biased, 1 unbiased", argument_int, COMPUTE(ddof)},
    {"skip-nan", NULL, "leave out values that are nan", argument_flag, COMPUTE(skip_nan)},
    {"device", "SPEC", "'tally devices' lists them; cpu by default", argument_text, COMPUTE(device)},

    {"output", "OUT.npy",
     "to a file, which appears when it is whole; - is standard output\n"
     "without: text, one row (last dimension) a line",
     argument_text, OUTPUT(output), .letter = 'o'},
    {"json", NULL, "one JSON object; nan, inf and -inf are strings", argument_flag, OUTPUT(json)},
    {"help", NULL, "", argument_flag, AT(help), .letter = 'h'},
};

static const argument_table table = {rows, sizeof rows / sizeof *rows};

/* ---- help ---- */

static const struct {
    command_kind command;
    const char *name, *text;
} commands[] = {
    {COMMAND_REDUCE, "reduce",
     "usage: tally reduce OP [FILE] [OPTION]...\n"
     "       tally reduce dot X Y [OPTION]...\n"
     "\n"
     "Reduces everything to one result, or an array along one axis. 'tally ops' lists the operators.\n"},
    {COMMAND_SCAN, "scan",
     "usage: tally scan OP [FILE] [OPTION]...\n"
     "\n"
     "Writes one result per element: the operator's value for the elements up to it, over the whole array in C order\n"
     "(the result has one dimension), or along one axis (it keeps the shape).\n"},
    {COMMAND_SEGMENTS, "segments",
     "usage: tally segments OP VALUES OFFSETS [OPTION]...\n"
     "\n"
     "Result i combines VALUES[OFFSETS[i]] to VALUES[OFFSETS[i + 1] - 1]; n segments need n + 1 offsets, which never\n"
     "decrease. A segment may be empty if the operator has a value for zero elements.\n"},
    {COMMAND_KEYS, "keys",
     "usage: tally keys OP VALUES KEYS [OPTION]...\n"
     "\n"
     "One result per run of equal neighbouring keys, in order; keys are numbers, too. Prints KEY RESULT lines.\n"
     "Sorted keys give one result per key.\n"},
    {COMMAND_LABELS, "labels",
     "usage: tally labels OP VALUES LABELS [OPTION]...\n"
     "\n"
     "Result g combines the values whose label is g, wherever they stand; there is one label per value. argmin and\n"
     "argmax give places in VALUES. Both files are held in memory.\n"},
    {COMMAND_OPS, "ops", "usage: tally ops [OPTION]...\n\nLists the operators.\n"},
    {COMMAND_DEVICES, "devices",
     "usage: tally devices [OPTION]...\n"
     "\n"
     "Lists the devices of this machine, with the names that --device takes and their memory.\n"},
};

static const char two_inputs_help[] =
    "\n"
    "Options of the input, given twice, are for the first and the second file; given once, for the first;\n"
    "those of text (column, delimiter, comment, header) for the second, where only that is text.\n";

static const char *name_of(command_kind command) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].command == command)
            return commands[i].name;
    return "";
}

static bool takes_two_files(command_kind command) {
    return command == COMMAND_SEGMENTS || command == COMMAND_KEYS || command == COMMAND_LABELS;
}

int options_help(command_kind command, fault *f) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].command == command)
            fputs(commands[i].text, stdout);
    arguments_help(&table, command, SECTION_OWN, NULL);
    arguments_help(&table, command, SECTION_INPUT, "Input");
    if (takes_two_files(command))
        fputs(two_inputs_help, stdout);
    arguments_help(&table, command, SECTION_COMPUTATION, "Computation");
    arguments_help(&table, command, SECTION_OUTPUT, "Output");
    return out_file_flush_standard(f);
}

/* ---- what getopt does not see ---- */

/* The two inputs of a dot are alike: what was said once holds for both. Values and keys are not. */
static void share_with_second_input(options *o) {
    input_options *const a = &o->inputs[0], *const b = &o->inputs[1];
    if (o->given.format == 1)
        b->format = a->format;
    if (o->given.column == 1)
        b->text.column = a->text.column;
    if (o->given.dtype == 1) {
        b->dtype = a->dtype;
        b->byte_order = a->byte_order;
    }
    if (o->given.shape == 1) {
        b->rank = a->rank;
        memcpy(b->shape, a->shape, sizeof b->shape);
    }
    if (o->given.delimiter == 1)
        b->text.delimiter = a->text.delimiter;
    if (o->given.comment == 1)
        b->text.comment = a->text.comment;
    if (o->given.header == 1)
        b->text.header = a->text.header;
}

static int take_operands(options *o, int count, char **operands, fault *f) {
    if (count == 0)
        return fault_usage(f, "an operator is missing; 'tally ops' lists them");
    if (tally_op_from_name(operands[0], &o->op) != TALLY_OK)
        return fault_usage(f, "%s", tally_last_error());
    o->traits.struct_size = sizeof o->traits;
    tally_op_traits(o->op, &o->traits);
    const bool has_partner = o->traits.inputs == 2;
    const bool two = has_partner || takes_two_files(o->command);
    const int files = count - 1;
    if (has_partner && o->command != COMMAND_REDUCE)
        return fault_usage(f, "%s takes two inputs and works only with 'tally reduce %s X Y'", operands[0],
                           operands[0]);
    if (two && files != 2)
        return fault_usage(f, "%s %s takes two files, and %d %s given", name_of(o->command), tally_op_name(o->op),
                           files, files == 1 ? "was" : "were");
    if (!two && files > 1)
        return fault_usage(f, "one file at a time: '%s' is one too many", operands[2]);
    for (int i = 0; i < files; i++)
        o->paths[i] = operands[1 + i];
    o->path_count = two ? 2 : 1;
    if (two && strcmp(o->paths[0], "-") == 0 && strcmp(o->paths[1], "-") == 0)
        return fault_usage(f, "only one of the two inputs can be standard input");
    return 0;
}

/* An option of an input for each of them, and no more. */
static int check_given(const options *o, fault *f) {
    for (const argument *row = rows; row < rows + table.count; row++) {
        if (row->section != SECTION_INPUT || *(const int *)((const char *)o + row->place) <= o->path_count)
            continue;
        char names[64] = "";
        for (const argument *also = rows; also < rows + table.count; also++)
            if (also->section == SECTION_INPUT && also->place == row->place)
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s--%s", *names ? ", " : "", also->name);
        return fault_usage(f, "%s: given more often than there are inputs", names);
    }
    for (int i = 0; i < o->path_count; i++) {
        const text_options *const text = &o->inputs[i].text;
        if (text->comment && text->comment == text->delimiter)
            return fault_usage(f, "--delimiter and --comment are the same character, '%c'", text->comment);
    }
    return 0;
}

static bool takes_initial(const tally_traits *traits) {
    return traits->takes_initial;
}

static bool takes_ddof(const tally_traits *traits) {
    return traits->takes_ddof;
}

/* "--OPTION is for sum, prod and min": the operators that take it. */
static int refuse_option(const char *option, bool (*takes)(const tally_traits *), fault *f) {
    char names[256] = "";
    const char *last = NULL;
    for (int op = 0; op < TALLY_USER; op++) {
        tally_traits traits = {.struct_size = sizeof traits};
        if (tally_op_traits((tally_op)op, &traits) != TALLY_OK || !takes(&traits))
            continue;
        if (last)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", last);
        last = tally_op_name((tally_op)op);
    }
    return fault_usage(f, "--%s is for %s and %s", option, names, last);
}

/* Each output needs a place of its own, or the later one would replace or follow the earlier one. */
static int check_outputs(const options *o, fault *f) {
    if ((o->output && !*o->output) || (o->keys_output && !*o->keys_output))
        return fault_usage(f, "the name of an output is empty; - is standard output");
    if (o->json && o->output && out_file_same(NULL, o->output))
        return fault_usage(f, "--json prints on standard output, where -o %s writes", o->output);
    if (o->keys_output &&
        (out_file_same(o->output, o->keys_output) || (o->json && out_file_same(NULL, o->keys_output))))
        return fault_usage(f, "--keys-out %s names where the results go; give it a file of its own", o->keys_output);
    return 0;
}

/* What the library would refuse in its own words, which are not those of the command line. */
static int check_combination(const options *o, fault *f) {
    int code;
    if (o->initial && !o->traits.takes_initial)
        return refuse_option("initial", takes_initial, f);
    if (o->exact && o->acc_dtype == TALLY_F64 && o->traits.exact == TALLY_EXACT_ROUNDED)
        return fault_usage(f, "--exact has an accumulator of its own; leave --acc-dtype out");
    if ((code = check_outputs(o, f)) != 0)
        return code;
    if (o->ddof != 0 && !o->traits.takes_ddof)
        return refuse_option("ddof", takes_ddof, f);
    return 0;
}

int options_parse(options *o, command_kind command, int argc, char **argv, fault *f) {
    int operands, code;
    *o = (options){.command = command, .op = TALLY_SUM, .device = "cpu"};
    o->inputs[0].rank = o->inputs[1].rank = -1;
    if ((code = arguments_read(&table, command, o, argc, argv, &operands, f)) != 0 || o->help)
        return code;
    if ((command & ANY_FILES) == 0)
        return operands == argc ? 0 : fault_usage(f, "'%s' is one argument too many", argv[operands]);
    if ((code = take_operands(o, argc - operands, argv + operands, f)) != 0 || (code = check_given(o, f)) != 0)
        return code;
    if (o->traits.inputs == 2)
        share_with_second_input(o);
    return check_combination(o, f);
}
