#include "refused.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OP, MODE, FORM, GROUPING, ACC, IN, OUT, INDEX, STATUS, DIMENSIONS };
enum { REASON_BYTES = 160 };

typedef struct row {
    uint32_t mask[DIMENSIONS]; /* bit k: the k-th value of the dimension */
    char reason[REASON_BYTES];
} row;

typedef struct rows {
    checker *c;
    bool spares_plans; /* makes few of those that are supported */
    uint64_t supported;
    row *list;
    size_t count, room;
} rows;

/* If plans are spared, one of so many supported combinations makes one. It is a prime, so every type has its turn. */
enum { SPARED = 31 };

/* Asks tally_supports, and makes a plan, which has to give the same answer in the same words. */
static bool ask(void *context, const combination *c) {
    rows *r = context;
    tally_desc desc = combination_desc(c);
    tally_plan *plan = NULL;
    const tally_status supported = tally_supports(r->c->device, &desc);
    if (supported == TALLY_OK && r->spares_plans && ++r->supported % SPARED)
        return true;
    char reason[512], name[COMBINATION_NAME_BYTES];
    snprintf(reason, sizeof reason, "%s", supported == TALLY_OK ? "" : tally_last_error());
    const tally_status status = tally_plan_create(r->c->device, &desc, &plan);
    combination_name(c, name);
    if (supported != status || (status != TALLY_OK && strcmp(reason, tally_last_error()) != 0))
        checker_fail(r->c, "%s: tally_supports gives %s (%s), a plan %s (%s)", name, tally_status_name(supported),
                     reason, tally_status_name(status), status == TALLY_OK ? "" : tally_last_error());
    if (status == TALLY_OK) {
        tally_plan_destroy(plan);
        return true;
    }
    if (status != TALLY_UNSUPPORTED && status != TALLY_INVALID_ARGUMENT) {
        checker_fail(r->c, "%s: %s: %s", name, tally_status_name(status), tally_last_error());
        return true;
    }
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 4096;
        r->list = realloc(r->list, r->room * sizeof *r->list);
        if (!r->list)
            exit(2);
    }
    row *one = &r->list[r->count++];
    const int value[DIMENSIONS] = {(int)c->op, (int)c->mode, form_number(c), (int)c->grouping, c->acc == TALLY_F64,
                                   (int)c->in, (int)c->out,  (int)c->index,  (int)status};
    for (int d = 0; d < DIMENSIONS; d++)
        one->mask[d] = 1u << value[d];
    /* Labels have no scans: the lists show them as keys'. */
    if (c->form != TALLY_REDUCE && c->grouping == TALLY_KEYS)
        one->mask[GROUPING] |= 1u << TALLY_LABELS;
    snprintf(one->reason, sizeof one->reason, "%s", tally_last_error());
    return true;
}

static int free_dimension;

/* Orders rows by all dimensions but one, and that one last. */
static int compare_rows(const void *left, const void *right) {
    const row *a = left, *b = right;
    for (int d = 0; d < DIMENSIONS; d++)
        if (d != free_dimension && a->mask[d] != b->mask[d])
            return a->mask[d] < b->mask[d] ? -1 : 1;
    uint32_t x = a->mask[free_dimension], y = b->mask[free_dimension];
    return x < y ? -1 : x > y;
}

static bool joins(const row *a, const row *b) {
    for (int d = 0; d < DIMENSIONS; d++)
        if (d != free_dimension && a->mask[d] != b->mask[d])
            return false;
    return true;
}

static void merge(rows *r) {
    static const int order[] = {OUT, IN, ACC, GROUPING, FORM, MODE, OP, INDEX};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        free_dimension = order[k];
        qsort(r->list, r->count, sizeof *r->list, compare_rows);
        size_t kept = 0;
        for (size_t i = 0; i < r->count; i++) {
            if (kept && joins(&r->list[kept - 1], &r->list[i]))
                r->list[kept - 1].mask[free_dimension] |= r->list[i].mask[free_dimension];
            else
                r->list[kept++] = r->list[i];
        }
        r->count = kept;
    }
    free_dimension = STATUS;
    qsort(r->list, r->count, sizeof *r->list, compare_rows);
}

static const char *value_name(int dimension, int value) {
    switch (dimension) {
    case OP:
        return tally_op_name((tally_op)value);
    case MODE:
        return tally_mode_name((tally_mode)value);
    case FORM:
        return form_name(value);
    case GROUPING:
        return tally_grouping_name((tally_grouping)value);
    case ACC:
        return value ? "f64" : "default";
    case STATUS:
        return tally_status_name((tally_status)value);
    default:
        return value ? tally_dtype_name((tally_dtype)value) : "default";
    }
}

static const uint32_t whole[DIMENSIONS] = {(1u << TALLY_USER) - 1,
                                           (1u << TALLY_MODE_COUNT) - 1,
                                           (1u << FORM_COUNT) - 1,
                                           (1u << TALLY_GROUPING_COUNT) - 1,
                                           3,
                                           (1u << TALLY_DTYPE_COUNT) - 2,
                                           (1u << TALLY_DTYPE_COUNT) - 1,
                                           0,
                                           0};

static void print_row(FILE *to, const row *r) {
    static const char *const labels[DIMENSIONS] = {"", "", "", "", "acc=", "in=", "out=", "index=", ""};
    for (int d = 0; d < DIMENSIONS; d++) {
        fprintf(to, "%s%s", d ? " " : "", labels[d]);
        if (r->mask[d] == whole[d]) {
            fputc('*', to);
            continue;
        }
        const char *comma = "";
        for (int value = 0; value < 32; value++)
            if (r->mask[d] >> value & 1) {
                fprintf(to, "%s%s", comma, value_name(d, value));
                comma = ",";
            }
    }
    fputc('\n', to);
}

char *refused_text(checker *c, bool quick) {
    rows r = {.c = c};
    each_main_combination(ask, &r);
    r.spares_plans = quick;
    each_converting_combination(ask, &r);
    r.spares_plans = false;
    each_index_combination(ask, &r);
    merge(&r);
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (!to)
        exit(2);
    for (size_t k = 0; k < r.count; k++) {
        print_row(to, &r.list[k]);
        fprintf(to, "#     %s\n", r.list[k].reason);
    }
    fclose(to);
    free(r.list);
    return text;
}

/* ------------------------------------------------------------------------------------- the golden file ----- */

typedef struct lines {
    char **line;
    size_t count;
} lines;

static lines split(char *text) {
    lines l = {0};
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (*line == '#')
            continue;
        l.line = realloc(l.line, (l.count + 1) * sizeof *l.line);
        if (!l.line)
            exit(2);
        l.line[l.count++] = line;
    }
    return l;
}

static void report_missing(checker *c, const lines *from, const lines *in, const char *what) {
    for (size_t i = 0; i < from->count; i++) {
        size_t k = 0;
        while (k < in->count && strcmp(from->line[i], in->line[k]) != 0)
            k++;
        if (k == in->count)
            checker_fail(c, "%s: %s", what, from->line[i]);
    }
}

static char *read_whole(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    size_t room = 1 << 20;
    char *text = malloc(room);
    if (text)
        text[fread(text, 1, room - 1, file)] = 0;
    fclose(file);
    return text;
}

bool refused_matches(checker *c, const char *path, bool quick) {
    uint64_t before = c->failures;
    char *now = refused_text(c, quick), *then = read_whole(path);
    if (!then) {
        checker_fail(c, "cannot read %s", path);
    } else {
        lines is = split(now), was = split(then);
        report_missing(c, &is, &was, "refused, but not in the list of what is");
        report_missing(c, &was, &is, "in the list of what is refused, but no longer so");
        free(is.line);
        free(was.line);
    }
    free(now);
    free(then);
    return c->failures == before;
}

/* ------------------------------------------------------------------------------------------- the table ----- */

static bool has(checker *c, tally_op op, int form, int grouping, tally_dtype in, int mode) {
    combination what = {.op = op, .grouping = (tally_grouping)grouping, .mode = (tally_mode)mode, .in = in};
    what.form = form_of(form, &what.reverse);
    tally_desc desc = combination_desc(&what);
    tally_plan *plan = NULL;
    tally_status status = tally_plan_create(c->device, &desc, &plan);
    tally_plan_destroy(status == TALLY_OK ? plan : NULL);
    return status == TALLY_OK;
}

static void print_types(uint32_t mask) {
    const uint32_t integers = (1u << TALLY_F16) - (1u << TALLY_I8);
    const uint32_t floats = (1u << TALLY_DTYPE_COUNT) - (1u << TALLY_F16);
    const char *separator = " ";
    printf(" |");
    if (!mask)
        printf(" -");
    else if (mask == (integers | floats))
        printf(" all");
    else {
        const struct {
            const char *name;
            uint32_t mask;
        } families[] = {{"integers", integers}, {"floats", floats}};
        for (int f = 0; f < 2; f++) {
            if ((mask & families[f].mask) == families[f].mask) {
                printf("%s%s", separator, families[f].name);
                separator = ", ";
                continue;
            }
            for (int t = TALLY_I8; t < TALLY_DTYPE_COUNT; t++)
                if (mask & families[f].mask & 1u << t) {
                    printf("%s%s", separator, tally_dtype_name((tally_dtype)t));
                    separator = ", ";
                }
        }
    }
}

void refused_table(checker *c, const char *spec) {
    printf("Input types that `%s` takes, for each operator, grouping, form and mode. Scans: both directions.\n\n",
           spec);
    printf("| operator | grouping | reduce, fast | inclusive scan, fast | exclusive scan, fast | reduce, exact | "
           "scans, exact |\n");
    printf("|---|---|---|---|---|---|---|\n");
    static const struct {
        int first, last, mode;
    } columns[] = {
        {0, 0, TALLY_FAST}, {1, 1, TALLY_FAST}, {2, 2, TALLY_FAST}, {0, 0, TALLY_EXACT}, {1, 1, TALLY_EXACT}};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    for (int op = 0; op < TALLY_USER; op++) {
        uint32_t masks[TALLY_GROUPING_COUNT][COLUMNS] = {{0}};
        for (int g = 0; g < TALLY_GROUPING_COUNT; g++)
            for (int k = 0; k < COLUMNS; k++)
                for (int t = TALLY_I8; t < TALLY_DTYPE_COUNT; t++) {
                    bool forward = has(c, (tally_op)op, columns[k].first, g, (tally_dtype)t, columns[k].mode);
                    bool both = forward && (columns[k].first == 0 || has(c, (tally_op)op, columns[k].first + 2, g,
                                                                         (tally_dtype)t, columns[k].mode));
                    if (both)
                        masks[g][k] |= 1u << t;
                }
        /* Labels have no scans, as the page says, and no row of their own for it. */
        for (int k = 0; k < COLUMNS; k++)
            if (columns[k].first)
                masks[TALLY_LABELS][k] = masks[TALLY_KEYS][k];
        for (int g = 0; g < TALLY_GROUPING_COUNT; g++) {
            bool printed = false;
            for (int before = 0; before < g; before++)
                printed |= memcmp(masks[before], masks[g], sizeof masks[g]) == 0;
            if (printed)
                continue;
            printf("| %s | ", tally_op_name((tally_op)op));
            const char *comma = "";
            int same = 0;
            for (int after = g; after < TALLY_GROUPING_COUNT; after++)
                same += memcmp(masks[after], masks[g], sizeof masks[g]) == 0;
            if (same == TALLY_GROUPING_COUNT) {
                printf("every");
            } else {
                for (int after = g; after < TALLY_GROUPING_COUNT; after++)
                    if (memcmp(masks[after], masks[g], sizeof masks[g]) == 0) {
                        printf("%s%s", comma, tally_grouping_name((tally_grouping)after));
                        comma = ", ";
                    }
            }
            for (int k = 0; k < COLUMNS; k++)
                print_types(masks[g][k]);
            printf(" |\n");
        }
    }
    printf("\nWhat is refused, with a reason for each (`*`: every value; index: of offsets or keys):\n\n```\n");
    char *text = refused_text(c, false);
    fputs(text, stdout);
    free(text);
    printf("```\n");
}
