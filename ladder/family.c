/* family.c: reads family files. A line is a directive and its words. Words with blanks stand in double quotes; # begins
 * a comment. Every message names the file, the line and the step.
 *
 *     family NAME                    once, first
 *     title "TEXT"
 *     backend cpu|cuda|vulkan
 *     dtypes T...                    the first is the default
 *     ops OP...                      likewise; by default sum
 *     common FILE                    stands before the text of every step
 *     n N                            the default size: a number or 2^K
 *     published UNIT "WHERE"         the unit of published figures: GB/s, us or ms
 *     part reduce|scan "TITLE"       begins a part; the steps of one part are compared with each other
 *     default KEY=VALUE...           for the steps that follow
 *     step NAME FILE RULE KEY=VALUE...
 *     library KEY=VALUE...           the row of the library's own plan
 *
 * Keys: block, items (elements per thread), passes, atomics (none, n or blocks), published, sweep (C=1,2,4: one step
 * per value, which multiplies items); and without a value: baseline, wrong-on-purpose, known-block (CUDA: the kernel
 * knows its block's size when it is compiled).
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 24, LINE = 1024 };

typedef struct parser {
    const char *name;
    ladder_family *family;
    const ladder_backend *backend;
    fault *f;
    int line;
    const char *step; /* the step that is being read, for messages */
    ladder_step defaults;
    char text[LINE]; /* the line, cut into words */
    char *word[WORDS];
    int words;
} parser;

FAULT_PRINTF(2, 3) static int complain(parser *p, const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (p->step)
        return fault_data(p->f, "%s, line %d, step '%s': %s", p->name, p->line, p->step, text);
    return fault_data(p->f, "%s, line %d: %s", p->name, p->line, text);
}

/* --------------------------------------------------------------------------------------------------- words ----- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r'; /* lines may end with CR LF */
}

static int cut_words(parser *p) {
    char *at = p->text;
    p->words = 0;
    for (;;) {
        while (is_blank(*at))
            at++;
        if (*at == 0 || *at == '#')
            return 0;
        if (p->words == WORDS)
            return complain(p, "more than %d words", WORDS);
        const bool quoted = *at == '"';
        at += quoted;
        p->word[p->words++] = at;
        while (*at && (quoted ? *at != '"' : !is_blank(*at)))
            at++;
        if (quoted && *at == 0)
            return complain(p, "a quotation mark that is not closed");
        if (*at)
            *at++ = 0;
    }
}

static int copy_word(parser *p, const char *word, char *to, size_t bytes, const char *what) {
    if (strlen(word) >= bytes)
        return complain(p, "%s is longer than %zu characters", what, bytes - 1);
    memcpy(to, word, strlen(word) + 1);
    return 0;
}

/* A number, or 2^K. */
static bool read_size(const char *word, uint64_t *value) {
    char *end;
    if (word[0] < '0' || word[0] > '9')
        return false;
    errno = 0;
    *value = strtoull(word, &end, 10);
    if (errno == 0 && *value == 2 && *end == '^' && end[1] >= '0' && end[1] <= '9') {
        const unsigned long exponent = strtoul(end + 1, &end, 10);
        *value = exponent < 64 ? UINT64_C(1) << exponent : 0;
        return exponent < 64 && *end == 0;
    }
    return errno == 0 && *end == 0;
}

static int read_positive(parser *p, const char *key, const char *value, unsigned *number) {
    uint64_t read;
    if (!read_size(value, &read) || read < 1 || read > 1u << 20)
        return complain(p, "%s=%s: a whole number from 1 to 1048576 is expected", key, value);
    *number = (unsigned)read;
    return 0;
}

static int read_block(parser *p, const char *value, unsigned *block) {
    const int code = read_positive(p, "block", value, block);
    if (code == 0 && (*block % 32 != 0 || *block > 1024))
        return complain(p, "block=%s: whole warps are expected, from 32 to 1024 threads", value);
    return code;
}

static int read_decimal(parser *p, const char *key, const char *value, double *number) {
    char *end;
    *number = strtod(value, &end);
    if (end == value || *end || !(*number >= 0) || *number > 1e12)
        return complain(p, "%s=%s: a number is expected", key, value);
    return 0;
}

/* ---------------------------------------------------------------------------------------------------- steps ----- */

static int read_count(parser *p, const char *value, ladder_count *count) {
    static const char *const names[] = {"none", "n", "blocks"};
    for (int i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            *count = (ladder_count)i;
            return 0;
        }
    return complain(p, "atomics=%s: none, n or blocks is expected", value);
}

/* One KEY=VALUE or KEY; a sweep is left to the caller. */
static int read_key(parser *p, char *word, ladder_step *step, const char **sweep) {
    bool *const flags[] = {&step->baseline, &step->wrong_on_purpose, &step->known_block};
    static const char *const names[] = {"baseline", "wrong-on-purpose", "known-block"};
    for (int i = 0; i < 3; i++)
        if (strcmp(word, names[i]) == 0) {
            *flags[i] = true;
            return 0;
        }
    char *value = strchr(word, '=');
    if (!value)
        return complain(p, "'%s': KEY=VALUE is expected, or baseline, wrong-on-purpose or known-block", word);
    *value++ = 0;
    if (strcmp(word, "block") == 0)
        return read_block(p, value, &step->block);
    if (strcmp(word, "items") == 0)
        return read_positive(p, word, value, &step->items);
    if (strcmp(word, "passes") == 0)
        return read_decimal(p, word, value, &step->passes);
    if (strcmp(word, "published") == 0)
        return read_decimal(p, word, value, &step->published);
    if (strcmp(word, "atomics") == 0)
        return read_count(p, value, &step->atomics);
    if (strcmp(word, "sweep") == 0 && strncmp(value, "C=", 2) == 0) {
        *sweep = value + 2;
        return 0;
    }
    return complain(p, "unknown key '%s'; the keys are: block items passes atomics published sweep=C=...", word);
}

static int check_new(parser *p, const ladder_step *step) {
    const ladder_family *family = p->family;
    if (family->step_count == LADDER_STEPS)
        return complain(p, "more than %d steps", LADDER_STEPS);
    for (size_t i = 0; i < family->step_count; i++)
        if (strcmp(family->steps[i].name, step->name) == 0)
            return complain(p, "this name was given to line %d, too", family->steps[i].line);
    if (step->wrong_on_purpose && step->baseline)
        return complain(p, "speed-ups cannot count from a step that is wrong on purpose");
    return 0;
}

static int add_step(parser *p, const ladder_step *step) {
    const int code = check_new(p, step);
    if (code == 0)
        p->family->steps[p->family->step_count++] = *step;
    return code;
}

static int add_sweep(parser *p, ladder_step *step, const char *values) {
    char *end = NULL;
    for (const char *at = values; *at >= '0' && *at <= '9'; at = end + 1) {
        const unsigned long factor = strtoul(at, &end, 10);
        if (factor < 1 || factor > 4096)
            return complain(p, "sweep: factors from 1 to 4096 are expected");
        step->factor = (unsigned)factor;
        snprintf(step->name, sizeof step->name, "%.30s C=%lu", step->base, factor);
        const int code = add_step(p, step);
        if (code != 0 || *end == 0)
            return code;
        if (*end != ',')
            break;
    }
    return complain(p, "sweep=C=%s: whole numbers with commas between are expected", values);
}

static int check_rule(parser *p, const ladder_step *step) {
    char known[300] = "";
    for (size_t i = 0; p->backend->rules[i]; i++) {
        if (strcmp(p->backend->rules[i], step->rule) == 0)
            return 0;
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", p->backend->rules[i]);
    }
    return complain(p, "unknown launch rule '%s'; %s has:%s", step->rule, p->backend->name, known);
}

static int check_file(parser *p, const ladder_step *step) {
    const size_t length = strlen(step->file), suffix = strlen(p->backend->suffix);
    if (strchr(step->file, '/') || length <= suffix || strcmp(step->file + length - suffix, p->backend->suffix) != 0)
        return complain(p, "'%s': the name of a %s file in the family's folder is expected", step->file,
                        p->backend->suffix);
    return 0;
}

static int read_step(parser *p) {
    const bool library = strcmp(p->word[0], "library") == 0;
    const char *sweep = NULL;
    ladder_step step = p->defaults;
    int code = 0, first = 1;
    step.line = p->line;
    step.part = p->family->part_count - 1;
    p->step = library ? "library" : p->words > 1 ? p->word[1] : "";
    if (!p->backend || p->family->part_count == 0)
        return complain(p, "backend and part must come before the first step");
    if (library) {
        /* One row per part. In parts after the first, the part's form is in the row's name. */
        snprintf(step.name, sizeof step.name,
                 step.part == 0                                     ? "library"
                 : p->family->parts[step.part].form == TALLY_REDUCE ? "library-reduce"
                                                                    : "library-scan");
        memcpy(step.base, step.name, sizeof step.base);
        snprintf(step.rule, sizeof step.rule, "library");
        step.passes = p->family->parts[step.part].form == TALLY_REDUCE ? 1 : 2;
        step.atomics = COUNT_NONE;
    } else {
        if (p->words < 4)
            return complain(p, "a name, a file and a launch rule are expected");
        code = copy_word(p, p->word[1], step.base, 24, "the name");
        if (code == 0)
            code = copy_word(p, p->word[2], step.file, sizeof step.file, "the file's name");
        if (code == 0)
            code = copy_word(p, p->word[3], step.rule, sizeof step.rule, "the launch rule");
        memcpy(step.name, step.base, sizeof step.name);
        if (code == 0)
            code = check_file(p, &step);
        if (code == 0)
            code = check_rule(p, &step);
        first = 4;
    }
    for (int i = first; code == 0 && i < p->words; i++)
        code = read_key(p, p->word[i], &step, &sweep);
    if (code == 0)
        code = sweep ? add_sweep(p, &step, sweep) : add_step(p, &step);
    p->step = NULL;
    return code;
}

/* ----------------------------------------------------------------------------------------------- directives ----- */

static int read_family(parser *p) {
    return copy_word(p, p->word[1], p->family->name, sizeof p->family->name, "the name");
}

static int read_title(parser *p) {
    return copy_word(p, p->word[1], p->family->title, sizeof p->family->title, "the title");
}

static int read_backend(parser *p) {
    p->backend = ladder_backend_find(p->word[1]);
    if (!p->backend)
        return complain(p, "no back end '%s'", p->word[1]);
    return copy_word(p, p->word[1], p->family->backend, sizeof p->family->backend, "the back end");
}

static int read_dtypes(parser *p) {
    ladder_family *family = p->family;
    for (int i = 1; i < p->words; i++) {
        tally_dtype dtype;
        if (tally_dtype_from_name(p->word[i], &dtype) != TALLY_OK || (dtype != TALLY_F32 && dtype != TALLY_I32))
            return complain(p, "type '%s': steps are written for f32 and i32", p->word[i]);
        if (family->dtype_count == sizeof family->dtypes / sizeof *family->dtypes)
            return complain(p, "too many types");
        family->dtypes[family->dtype_count++] = dtype;
    }
    return 0;
}

static int read_ops(parser *p) {
    ladder_family *family = p->family;
    for (int i = 1; i < p->words; i++) {
        tally_op op;
        if (tally_op_from_name(p->word[i], &op) != TALLY_OK || (op != TALLY_SUM && op != TALLY_MAX && op != TALLY_MIN))
            return complain(p, "operator '%s': steps are written for sum, max and min", p->word[i]);
        if (family->op_count == sizeof family->ops / sizeof *family->ops)
            return complain(p, "too many operators");
        family->ops[family->op_count++] = op;
    }
    return 0;
}

static int read_common(parser *p) {
    return copy_word(p, p->word[1], p->family->common, sizeof p->family->common, "the file's name");
}

static int read_n(parser *p) {
    return read_size(p->word[1], &p->family->n) ? 0 : complain(p, "n %s: a number or 2^K is expected", p->word[1]);
}

static int read_published(parser *p) {
    if ((strcmp(p->word[1], "GB/s") != 0 && strcmp(p->word[1], "us") != 0 && strcmp(p->word[1], "ms") != 0))
        return complain(p, "a unit (GB/s, us or ms) and where it was measured are expected");
    const int code = copy_word(p, p->word[1], p->family->published_unit, sizeof p->family->published_unit, "the unit");
    return code ? code : copy_word(p, p->word[2], p->family->published_on, sizeof p->family->published_on, "the text");
}

static int read_part(parser *p) {
    ladder_family *family = p->family;
    if ((strcmp(p->word[1], "reduce") != 0 && strcmp(p->word[1], "scan") != 0))
        return complain(p, "'reduce' or 'scan' and a title are expected");
    if (family->part_count == LADDER_PARTS)
        return complain(p, "more than %d parts", LADDER_PARTS);
    ladder_part *part = &family->parts[family->part_count++];
    part->form = p->word[1][0] == 'r' ? TALLY_REDUCE : TALLY_INCLUSIVE_SCAN;
    return copy_word(p, p->word[2], part->title, sizeof part->title, "the title");
}

static int read_default(parser *p) {
    const char *sweep = NULL;
    int code = 0;
    for (int i = 1; code == 0 && i < p->words; i++)
        code = read_key(p, p->word[i], &p->defaults, &sweep);
    return code == 0 && sweep ? complain(p, "a sweep belongs to a step") : code;
}

static const struct {
    const char *name;
    int (*read)(parser *p);
    int words; /* at least, including the name */
} directives[] = {
    {"family", read_family, 2},   {"title", read_title, 2},
    {"backend", read_backend, 2}, {"dtypes", read_dtypes, 2},
    {"ops", read_ops, 2},         {"n", read_n, 2},
    {"common", read_common, 2},   {"published", read_published, 3},
    {"part", read_part, 3},       {"default", read_default, 2},
    {"step", read_step, 1},       {"library", read_step, 1},
};

static int read_line(parser *p) {
    int code = cut_words(p);
    if (code != 0 || p->words == 0)
        return code;
    if ((strcmp(p->word[0], "family") == 0) != (p->family->name[0] == 0))
        return complain(p, p->family->name[0] ? "a second family" : "'family NAME' must be the first line");
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (strcmp(p->word[0], directives[i].name) != 0)
            continue;
        return p->words < directives[i].words ? complain(p, "'%s' needs more words", p->word[0])
                                              : directives[i].read(p);
    }
    return complain(p, "unknown directive '%s'", p->word[0]);
}

int ladder_family_parse(const char *text, const char *name, ladder_family *family, fault *f) {
    parser p = {.name = name, .family = family, .f = f, .defaults = {.block = 256, .items = 1, .passes = 1}};
    *family = (ladder_family){.n = UINT64_C(1) << 24};
    int code = 0;
    while (code == 0 && *text) {
        const size_t length = strcspn(text, "\n");
        p.line++;
        if (length >= sizeof p.text)
            return complain(&p, "longer than %d characters", LINE - 1);
        memcpy(p.text, text, length);
        p.text[length] = 0;
        text += length + (text[length] == '\n');
        code = read_line(&p);
    }
    if (code == 0 && family->name[0] == 0)
        return fault_data(f, "%s: no family is in it: 'family NAME' must be the first line", name);
    if (code == 0 && (family->step_count == 0 || family->dtype_count == 0))
        return fault_data(f, "%s: there are no %s", name, family->dtype_count ? "steps" : "dtypes");
    if (family->op_count == 0)
        family->ops[family->op_count++] = TALLY_SUM;
    return code;
}

int ladder_family_find(const char *name, ladder_family *family, fault *f) {
    char shown[600], *text = NULL;
    if (strchr(name, '/')) {
        int code = strlen(name) < sizeof family->folder ? ladder_read_file(name, &text, f)
                                                        : fault_usage(f, "the path of the family is too long");
        if (code != 0 || !text)
            return code;
        code = ladder_family_parse(text, name, family, f);
        snprintf(family->folder, sizeof family->folder, "%.*s", (int)(strrchr(name, '/') - name), name);
        free(text);
        return code;
    }
    snprintf(shown, sizeof shown, "%.40s/family", name);
    const char *embedded = ladder_text(shown);
    if (embedded) {
        snprintf(shown, sizeof shown, "ladder/%.40s/family", name);
        return ladder_family_parse(embedded, shown, family, f);
    }
    shown[0] = 0;
    for (size_t i = 0; i < ladder_family_count(); i++)
        snprintf(shown + strlen(shown), sizeof shown - strlen(shown), " %s", ladder_family_name(i));
    return fault_usage(f, "no family '%.40s'; there are:%s (or, with a slash in it, the path of a family file)", name,
                       shown);
}
