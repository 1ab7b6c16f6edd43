/* The operator table and the public names of operators. */
#include "core/operator.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/nearest.h"
#include "core/status.h"

#define EMPTY_IS_ERROR  TALLY_OPERATOR_EMPTY_IS_ERROR
#define INTEGERS_ONLY   TALLY_OPERATOR_INTEGERS_ONLY
#define TWO_INPUTS      TALLY_OPERATOR_TWO_INPUTS
#define PAIR_OF_RESULTS TALLY_OPERATOR_PAIR_OF_RESULTS
#define TAKES_INITIAL   TALLY_OPERATOR_TAKES_INITIAL
#define NO_EXCLUSIVE    TALLY_OPERATOR_NO_EXCLUSIVE
#define TAKES_DDOF      TALLY_OPERATOR_TAKES_DDOF

static const tally_operator operators[TALLY_OP_COUNT] = {
#define TALLY_OPERATOR(ENUMERATOR, name, monoid, lower, result, accumulator, exact, saved, traits, summary)            \
    [TALLY_##ENUMERATOR] = {#name,                                                                                     \
                            TALLY_MONOID_##monoid,                                                                     \
                            #lower,                                                                                    \
                            TALLY_RESULT_##result,                                                                     \
                            TALLY_ACC_##accumulator,                                                                   \
                            TALLY_EXACTLY_##exact,                                                                     \
                            saved,                                                                                     \
                            (traits) | (TALLY_EXACTLY_##exact >= TALLY_EXACTLY_SUM ? TALLY_OPERATOR_ROUNDS_ONCE : 0),  \
                            summary},
#include "core/operators.def"
};

static const struct {
    tally_monoid_class kind;
    int components;
} monoids[TALLY_MONOID_COUNT] = {
#define TALLY_COMPONENT(identity, lift, combine) +1
#define TALLY_MONOID(name, class, components)    [TALLY_MONOID_##name] = {TALLY_CLASS_##class, 0 components},
#include "core/monoids.def"
    [TALLY_MONOID_user] = {TALLY_CLASS_USER, 1},
};

tally_monoid_class tally_class_of(tally_monoid monoid) {
    return monoids[monoid].kind;
}

int tally_components_of(tally_monoid monoid) {
    return monoids[monoid].components;
}

/* 64 bits hold the sum of 2^47 elements of 16 bits, and of the squares of 2^48 of 8 bits: 256 TB and more. */
tally_monoid tally_monoid_of_integers(const tally_operator *entry, tally_dtype in) {
    const size_t bytes = tally_dtype_size(in);
    switch (entry->exact) {
    case TALLY_EXACTLY_MEAN:
        return bytes <= 2 ? TALLY_MONOID_sum : TALLY_MONOID_wide_sum;
    case TALLY_EXACTLY_ROOT:
        return bytes == 1 ? TALLY_MONOID_sumsq : bytes <= 4 ? TALLY_MONOID_wide_sumsq : TALLY_MONOID_widest_sumsq;
    case TALLY_EXACTLY_VARIANCE:
    case TALLY_EXACTLY_DEVIATION:
        return TALLY_MONOID_wide_moments;
    default:
        return TALLY_MONOID_user;
    }
}

bool tally_lowers_by_count(const tally_operator *entry) {
    const char *const lower = entry->lower;
    for (const char *at = lower; (at = strchr(at, 'n')); at++) {
        const char before = at > lower ? at[-1] : ' ', after = at[1];
        if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) && after != '_')
            return true;
    }
    return false;
}

const char *tally_operators_with(unsigned trait, char *list, size_t bytes) {
    int count = 0, done = 0;
    size_t length = 0;
    for (int op = 0; op < TALLY_USER; op++)
        count += (operators[op].traits & trait) != 0;
    list[0] = 0;
    for (int op = 0; op < TALLY_USER && length < bytes; op++)
        if (operators[op].traits & trait) {
            const char *const before = done == 0 ? "" : done + 1 < count ? ", " : " and ";
            length += (size_t)snprintf(list + length, bytes - length, "%s%s", before, operators[op].name);
            done++;
        }
    return list;
}

tally_status tally_op_traits(tally_op op, tally_traits *traits) {
    const tally_operator *entry = tally_operator_of(op);
    if (!traits || traits->struct_size != sizeof *traits)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_op_traits: set traits->struct_size to sizeof(tally_traits), %zu", sizeof *traits);
    if (op == TALLY_USER)
        return tally_fail(TALLY_UNSUPPORTED, "tally_op_traits: a user's operator is what its descriptor says");
    if (!entry)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_op_traits: %d is not an operator", (int)op);
    const unsigned flags = entry->traits;
    *traits = (tally_traits){.struct_size = sizeof *traits,
                             .result = entry->result,
                             .exact = entry->exact == TALLY_EXACTLY_ALWAYS     ? TALLY_EXACT_ALWAYS
                                      : entry->exact == TALLY_EXACTLY_INTEGERS ? TALLY_EXACT_INTEGERS
                                      : entry->exact == TALLY_EXACTLY_NEVER    ? TALLY_EXACT_NEVER
                                                                               : TALLY_EXACT_ROUNDED,
                             .inputs = flags & TWO_INPUTS ? 2 : 1,
                             .components = tally_components_of(entry->monoid),
                             .elements_per_result = flags & PAIR_OF_RESULTS ? 2 : 1,
                             .integers_only = (flags & INTEGERS_ONLY) != 0,
                             .empty_is_error = (flags & EMPTY_IS_ERROR) != 0,
                             .takes_initial = (flags & TAKES_INITIAL) != 0,
                             .takes_ddof = (flags & TAKES_DDOF) != 0,
                             .has_exclusive_scan = (flags & NO_EXCLUSIVE) == 0,
                             .has_index = tally_class_of(entry->monoid) == TALLY_CLASS_INDEXED};
    return TALLY_OK;
}

const tally_operator *tally_operator_of(tally_op op) {
    if ((unsigned)op >= TALLY_OP_COUNT || op == TALLY_USER)
        return NULL;
    return &operators[op];
}

const char *tally_op_name(tally_op op) {
    if (op == TALLY_USER)
        return "user";
    const tally_operator *entry = tally_operator_of(op);
    return entry ? entry->name : NULL;
}

const char *tally_op_summary(tally_op op) {
    if (op == TALLY_USER)
        return "the caller's own monoid";
    const tally_operator *entry = tally_operator_of(op);
    return entry ? entry->summary : NULL;
}

/* What operators are called in other places, to suggest the name here. */
static const tally_known_name elsewhere[] = {
    {"add", "sum"},      {"total", "sum"},           {"cumsum", "sum"},        {"product", "prod"},
    {"cumprod", "prod"}, {"minimum", "min"},         {"maximum", "max"},       {"avg", "mean"},
    {"average", "mean"}, {"count", "count_nonzero"}, {"nnz", "count_nonzero"}, {"variance", "var"},
    {"stddev", "std"},   {"stdev", "std"},           {"and", "band"},          {"or", "bor"},
    {"xor", "bxor"},     {"norm", "norm2"},          {"inner", "dot"},
};

tally_status tally_op_from_name(const char *name, tally_op *op) {
    if (!name || !op)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_op_from_name: NULL where a name and a place for it are expected");
    tally_known_name known[TALLY_USER + sizeof elsewhere / sizeof *elsewhere];
    for (int i = 0; i < TALLY_USER; i++) {
        known[i] = (tally_known_name){operators[i].name, operators[i].name};
        if (strcmp(name, operators[i].name) == 0) {
            *op = (tally_op)i;
            return TALLY_OK;
        }
    }
    memcpy(&known[TALLY_USER], elsewhere, sizeof elsewhere);
    const char *nearest = tally_nearest(name, known, sizeof known / sizeof *known);
    if (!nearest)
        return tally_fail(TALLY_INVALID_ARGUMENT, "unknown operator '%.64s'", name);
    return tally_fail(TALLY_INVALID_ARGUMENT, "unknown operator '%.64s'; the nearest known one is '%s'", name, nearest);
}
