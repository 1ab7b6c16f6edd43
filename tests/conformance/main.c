/* The conformance suite: any back end, by its device spec, through every operator x grouping x form x type x mode.
 *
 *     conformance --device cpu:avx2:threads=2 [--only PART] [--filter TEXT]... [--quick] [--sample] [--seed N]
 *                 [--show N] [--golden FILE]
 *     conformance --device SPEC --refused | --table
 *
 * A failure names its combination, layout, data and seed; --filter with that name runs the same cases again. A filter
 * is a part of a name or, with a '*' in it, a pattern of the shell's kind for the whole name. A sample is one in five
 * of the combinations that the filters choose. Exit codes: 0 all passed, 1 something failed, 2 the suite could not run,
 * 77 the machine has no such device. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../oracle/random.h"
#include "promises.h"
#include "refused.h"

enum { SKIPPED = 77 };

typedef struct suite {
    checker c;
    options o;
    tally_op op; /* whose combinations are run */
    amount how_many;
    delivery how;
    bool far_means; /* only var and std of f64, of data far from 0 */
    uint64_t combinations, refused;
} suite;

uint64_t case_seed(const options *o, const char *name, uint64_t number) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return seed_of(hash ^ o->seed, number);
}

bool is_chosen(const options *o, const char *name) {
    bool chosen = !o->filters;
    for (int k = 0; k < o->filters; k++)
        chosen |= strchr(o->filter[k], '*') ? !fnmatch(o->filter[k], name, 0) : strstr(name, o->filter[k]) != NULL;
    return chosen;
}

/* Products that are exact to the bit need powers of two, and no float holds a product of many random integers. */
static bool pattern_fits(const combination *what, pattern p) {
    return !(what->op == TALLY_PROD && what->acc == TALLY_F64 && !is_float(what->in)) || p == POWERS;
}

static void run_combination(suite *s, const combination *what, const char *name, tally_plan *plan, amount how_many) {
    pattern patterns[6];
    static const pattern far[6] = {FAR_0, FAR_3, FAR_6, FAR_9, FAR_12, FAR_15};
    int count = what->skips_nan ? patterns_with_nans(what->op, patterns)
                                : patterns_for(what->op, what->in, what->mode, patterns);
    if (s->far_means) {
        memcpy(patterns, far, sizeof far);
        count = 6;
    }
    size_t layouts = layout_count(what->grouping, how_many);
    unsigned failed = 0;
    for (size_t i = 0; i < layouts && failed < 3; i++) {
        uint64_t seed = case_seed(&s->o, name, i);
        layout l;
        layout_make(&l, what->grouping, how_many, i, seed);
        /* Small layouts take two patterns, large ones one, in turn; the huge ones take the first. A quick run takes
         * one. Offsets of the mean are all taken. */
        int turns = s->far_means ? count : l.elements < 5000 && !s->o.quick ? 2 : 1;
        for (int turn = 0; turn < turns && turn < count; turn++) {
            pattern p = patterns[l.elements > 1000000 ? 0 : (i + (size_t)turn) % (size_t)count];
            if (!what->skips_nan && !pattern_fits(what, p))
                p = POWERS;
            if (s->how == IN_PIECES && l.grouping == TALLY_AXIS && l.shape.outer != 1)
                break;
            failed += !check_case(&s->c, what, plan, &l, p, s->how, seed + (uint64_t)turn);
        }
        layout_release(&l);
    }
    /* Errors grow with the rows that are added one by one, and only one column in some thousand shows it. */
    if (s->far_means && what->grouping == TALLY_AXIS && what->form == TALLY_REDUCE) {
        layout l;
        layout_axis(&l, 1, 120, 4000);
        check_case(&s->c, what, plan, &l, FAR_9, s->how, case_seed(&s->o, name, layouts));
        layout_release(&l);
    }
}

/* Layouts of some millions of elements, for each kind of kernel rather than for every operator. */
static bool has_huge_input(const combination *what) {
    bool kind_of_kernel = what->op == TALLY_SUM || what->op == TALLY_MAX || what->op == TALLY_ARGMIN ||
                          what->op == TALLY_VAR || what->op == TALLY_DOT;
    return kind_of_kernel && what->in == TALLY_F32 && what->form != TALLY_EXCLUSIVE_SCAN;
}

/* A Latin square: of five groupings and five forms, an operator takes each grouping with one form, and each form with
 * one grouping. Each grouping with a form has every fifth operator. */
static bool is_sample(const options *o, const combination *what) {
    const uint64_t place = (uint64_t)what->op + (uint64_t)what->grouping + 2 * (uint64_t)form_number(what) +
                           (uint64_t)what->in + (uint64_t)what->mode + o->seed;
    return !o->sample || place % 5 == 0;
}

static bool visit(void *context, const combination *what) {
    suite *s = context;
    char name[COMBINATION_NAME_BYTES];
    if (what->op != s->op)
        return true;
    if (s->far_means && ((what->op != TALLY_VAR && what->op != TALLY_STD) || what->in != TALLY_F64))
        return true;
    combination_name(what, name);
    if (!is_chosen(&s->o, name) || !is_sample(&s->o, what))
        return true;
    bool can_push = !what->reverse && (what->grouping == TALLY_ALL_VALUES || what->grouping == TALLY_AXIS);
    if (s->how == IN_PIECES && !can_push)
        return true;
    /* A quick run takes a part of the conversions, because there are so many. */
    if (s->how_many == AMOUNT_FEW && s->o.quick && case_seed(&s->o, name, 2000) % 32)
        return true;
    tally_desc desc = combination_desc(what);
    tally_traits traits = {.struct_size = sizeof traits};
    if (tally_op_traits(what->op, &traits) == TALLY_OK && traits.takes_ddof)
        desc.ddof = (int)(case_seed(&s->o, name, 1000) % 3);
    if (what->grouping == TALLY_LABELS && case_seed(&s->o, name, 1500) % 4)
        desc.flags |= TALLY_SKIP_BAD_LABELS;
    tally_plan *plan;
    tally_status status = tally_plan_create(s->c.device, &desc, &plan);
    const bool compiles = !strstr(tally_last_error(), "does not compile"); /* else the kernel is at fault */
    if ((status == TALLY_UNSUPPORTED || status == TALLY_INVALID_ARGUMENT) && compiles) {
        s->refused++; /* the golden list of refusals keeps watch over these */
        return true;
    }
    if (status != TALLY_OK) {
        checker_fail(&s->c, "%s: tally_plan_create: %s: %s", name, tally_status_name(status), tally_last_error());
        return true;
    }
    s->combinations++;
    /* Integers, indices and counts are the same in both modes, so the second time a short check suffices. */
    const bool real = is_float(what->in);
    const bool differs = reference_rounds_once(what->op, real) || (real && is_extremum(what->op));
    bool again = what->mode == TALLY_EXACT && (!differs || (what->form != TALLY_REDUCE && what->op != TALLY_SUM));
    bool core = what->in == TALLY_F32 || what->in == TALLY_F64 || what->in == TALLY_I32;
    amount how_many = s->how_many;
    if (how_many == AMOUNT_MAIN && core && s->how == AT_ONCE)
        how_many = has_huge_input(what) ? AMOUNT_HUGE : AMOUNT_CORE;
    if (again)
        how_many = how_many > AMOUNT_QUICK ? AMOUNT_QUICK : AMOUNT_FEW;
    run_combination(s, what, name, plan, how_many);
    tally_plan_destroy(plan);
    return true;
}

/* ---------------------------------------------------------------------------------------- the command ----- */

typedef enum part {
    MAIN,
    CONVERSIONS,
    INDEX_TYPES,
    USER,
    PIECES,
    FAR_MEANS,
    NANS,
    SAME_BITS,
    OFFSETS,
    REFUSALS,
    PART_COUNT
} part;
static const char *const part_names[PART_COUNT] = {"main",      "conversions", "index_types", "user",    "pieces",
                                                   "far_means", "nans",        "same_bits",   "offsets", "refusals"};

static void run_part(suite *s, part which, const char *golden) {
    s->how = which == PIECES ? IN_PIECES : AT_ONCE;
    s->far_means = which == FAR_MEANS;
    s->how_many = s->o.quick ? AMOUNT_QUICK : AMOUNT_MAIN;
    switch (which) {
    case MAIN:
    case PIECES:
    case FAR_MEANS:
        each_main_combination(visit, s);
        break;
    case NANS:
        each_skipping_combination(visit, s);
        s->how = IN_PIECES;
        each_skipping_combination(visit, s);
        break;
    case CONVERSIONS:
        s->how_many = AMOUNT_FEW;
        each_converting_combination(visit, s);
        break;
    case INDEX_TYPES:
        s->how_many = AMOUNT_QUICK;
        each_index_combination(visit, s);
        break;
    case USER: {
        const uint64_t refused = user_operators(&s->c, &s->o);
        if (refused)
            printf("user operators: %" PRIu64 " refused by this back end: %s\n", refused, tally_last_error());
        break;
    }
    case SAME_BITS:
        same_bits(&s->c, &s->o);
        break;
    case OFFSETS:
        damaged_offsets(&s->c, &s->o);
        break;
    case REFUSALS:
        if (golden)
            refused_matches(&s->c, golden, s->o.quick);
        break;
    default:
        break;
    }
}

static bool walks_combinations(part which) {
    return which == MAIN || which == CONVERSIONS || which == INDEX_TYPES || which == PIECES || which == FAR_MEANS ||
           which == NANS;
}

/* Goes operator by operator: Mesa's lavapipe keeps some compiled kernels and compiles the dropped ones again. */
static void run_parts(suite *s, const char *only, const char *golden) {
    for (int op = 0; op <= TALLY_USER; op++)
        for (int k = 0; k < PART_COUNT; k++) {
            s->op = (tally_op)op;
            if (walks_combinations((part)k) == (op < TALLY_USER) && (!only || !strcmp(only, part_names[k])))
                run_part(s, (part)k, golden);
        }
}

static int usage(void) {
    fprintf(stderr, "usage: conformance [--device SPEC] [--only PART] [--filter TEXT]... [--quick] [--sample] "
                    "[--seed N] [--show N] [--golden FILE] [--refused | --table]\nparts:");
    for (int k = 0; k < PART_COUNT; k++)
        fprintf(stderr, " %s", part_names[k]);
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv) {
    suite s = {.o.device = getenv("TALLY_TEST_DEVICE")};
    const char *only = NULL, *golden = NULL;
    bool table = false, refused = false;
    unsigned most_shown = 0;
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : NULL;
        if (!strcmp(argv[k], "--quick"))
            s.o.quick = true;
        else if (!strcmp(argv[k], "--sample"))
            s.o.sample = true;
        else if (!strcmp(argv[k], "--table"))
            table = true;
        else if (!strcmp(argv[k], "--refused"))
            refused = true;
        else if (!value)
            return usage();
        else if (!strcmp(argv[k], "--device"))
            s.o.device = argv[++k];
        else if (!strcmp(argv[k], "--only"))
            only = argv[++k];
        else if (!strcmp(argv[k], "--filter") && s.o.filters < MOST_FILTERS)
            s.o.filter[s.o.filters++] = argv[++k];
        else if (!strcmp(argv[k], "--seed"))
            s.o.seed = strtoull(argv[++k], NULL, 0);
        else if (!strcmp(argv[k], "--show"))
            most_shown = (unsigned)strtoul(argv[++k], NULL, 0);
        else if (!strcmp(argv[k], "--golden"))
            golden = argv[++k];
        else
            return usage();
    }
    if (!s.o.device)
        s.o.device = "auto";
    bool known = !only;
    for (int k = 0; k < PART_COUNT; k++)
        known |= only && !strcmp(only, part_names[k]);
    if (!known)
        return usage();

    tally_device *device;
    tally_status status = tally_open(s.o.device, &device);
    if (status == TALLY_NO_DEVICE) {
        printf("skipped: %s\n", tally_last_error());
        return SKIPPED;
    }
    if (status != TALLY_OK) {
        fprintf(stderr, "conformance: %s: %s\n", s.o.device, tally_last_error());
        return 2;
    }
    checker_open(&s.c, device);
    if (most_shown)
        s.c.most_shown = most_shown;
    if (table) {
        refused_table(&s.c, s.o.device);
    } else if (refused) {
        char *text = refused_text(&s.c, false);
        fputs(text, stdout);
        free(text);
    } else {
        run_parts(&s, only, golden);
        printf("%s: %" PRIu64 " combinations, %" PRIu64 " refused, %" PRIu64 " cases, %" PRIu64 " elements, %" PRIu64
               " failures\n",
               s.o.device, s.combinations, s.refused, s.c.cases, s.c.elements, s.c.failures);
    }
    /* A filter that matches nothing must not look like success. */
    bool nothing = !table && !refused && !s.c.cases && !s.c.failures && (!only || strcmp(only, "refusals"));
    if (nothing)
        fprintf(stderr, "conformance: nothing was run\n");
    int failed = s.c.failures || nothing;
    checker_release(&s.c);
    data_release();
    tally_close(device);
    return failed;
}
