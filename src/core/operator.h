/* The operator table in memory: what operators.def and monoids.def say, for code that asks at run time. */
#ifndef TALLY_CORE_OPERATOR_H
#define TALLY_CORE_OPERATOR_H

#include <stdbool.h>

#include "tally/tally.h"

typedef enum tally_monoid {
#define TALLY_COMPONENT(identity, lift, combine)
#define TALLY_MONOID(name, class, components) TALLY_MONOID_##name,
#include "core/monoids.def"
    TALLY_MONOID_user,
    TALLY_MONOID_COUNT
} tally_monoid;

typedef enum tally_result_rule {
    TALLY_RESULT_SAME,
    TALLY_RESULT_WIDE,
    TALLY_RESULT_WIDE_UNSIGNED,
    TALLY_RESULT_UNSIGNED,
    TALLY_RESULT_FLOAT,
    TALLY_RESULT_INDEX,
    TALLY_RESULT_FLAG
} tally_result_rule;

enum {
    TALLY_OPERATOR_EMPTY_IS_ERROR = 1 << 0, /* a reduction of no elements has no value */
    TALLY_OPERATOR_INTEGERS_ONLY = 1 << 1,
    TALLY_OPERATOR_TWO_INPUTS = 1 << 2,
    TALLY_OPERATOR_PAIR_OF_RESULTS = 1 << 3,
    TALLY_OPERATOR_HAS_EXACT = 1 << 4, /* of floats; what never rounds needs no exact mode */
    TALLY_OPERATOR_TAKES_INITIAL = 1 << 5,
    TALLY_OPERATOR_NO_EXCLUSIVE = 1 << 6,    /* no exclusive scan, whose first result would be of no elements */
    TALLY_OPERATOR_MEAN_IN_FLOAT = 1 << 7,   /* 64-bit integers are summed in f64 */
    TALLY_OPERATOR_SQUARES_IN_FLOAT = 1 << 8 /* integers of 32 bits and more are squared in f64 */
};

typedef struct tally_operator {
    const char *name;
    tally_monoid monoid;
    tally_result_rule result;
    unsigned flags;
    const char *summary;
} tally_operator;

/* NULL for TALLY_USER and for values outside of the enumeration. */
const tally_operator *tally_operator_of(tally_op op);

#endif
