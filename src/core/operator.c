/* The operator table and the public names of operators. */
#include "core/operator.h"

#include <string.h>

#include "core/nearest.h"
#include "core/status.h"

#define EMPTY_IS_ERROR   TALLY_OPERATOR_EMPTY_IS_ERROR
#define INTEGERS_ONLY    TALLY_OPERATOR_INTEGERS_ONLY
#define TWO_INPUTS       TALLY_OPERATOR_TWO_INPUTS
#define PAIR_OF_RESULTS  TALLY_OPERATOR_PAIR_OF_RESULTS
#define HAS_EXACT        TALLY_OPERATOR_HAS_EXACT
#define TAKES_INITIAL    TALLY_OPERATOR_TAKES_INITIAL
#define NO_EXCLUSIVE     TALLY_OPERATOR_NO_EXCLUSIVE
#define MEAN_IN_FLOAT    TALLY_OPERATOR_MEAN_IN_FLOAT
#define SQUARES_IN_FLOAT TALLY_OPERATOR_SQUARES_IN_FLOAT

static const tally_operator operators[TALLY_OP_COUNT] = {
#define TALLY_OPERATOR(ENUMERATOR, name, monoid, lower, result, flags, summary)                                        \
    [TALLY_##ENUMERATOR] = {#name, TALLY_MONOID_##monoid, TALLY_RESULT_##result, (flags), summary},
#include "core/operators.def"
};

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
