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

/* As monoids.def explains them. */
typedef enum tally_monoid_class {
    TALLY_CLASS_SUM,
    TALLY_CLASS_SQUARE,
    TALLY_CLASS_TOTAL,
    TALLY_CLASS_COUNT,
    TALLY_CLASS_VALUE,
    TALLY_CLASS_BITS,
    TALLY_CLASS_MAGNITUDE,
    TALLY_CLASS_VALUES,
    TALLY_CLASS_INDEXED,
    TALLY_CLASS_FLOATS, /* of any number of components */
    TALLY_CLASS_FLOATS2 = TALLY_CLASS_FLOATS,
    TALLY_CLASS_FLOATS3 = TALLY_CLASS_FLOATS,
    TALLY_CLASS_FLOATS4 = TALLY_CLASS_FLOATS,
    TALLY_CLASS_FLOATS5 = TALLY_CLASS_FLOATS,
    TALLY_CLASS_FLOATS6 = TALLY_CLASS_FLOATS,
    TALLY_CLASS_INTEGERS, /* of any number of words */
    TALLY_CLASS_INTEGERS2 = TALLY_CLASS_INTEGERS,
    TALLY_CLASS_INTEGERS3 = TALLY_CLASS_INTEGERS,
    TALLY_CLASS_INTEGERS6 = TALLY_CLASS_INTEGERS,
    TALLY_CLASS_USER
} tally_monoid_class;

typedef enum tally_accumulator_rule {
    TALLY_ACC_SAME,
    TALLY_ACC_UNSIGNED,
    TALLY_ACC_COUNT,
    TALLY_ACC_FLOAT, /* from here on, f64 may be asked for */
    TALLY_ACC_WIDE,
    TALLY_ACC_WIDE_UNSIGNED,
    TALLY_ACC_MEAN,
    TALLY_ACC_SQUARE
} tally_accumulator_rule;

typedef enum tally_exact_rule {
    TALLY_EXACTLY_ALWAYS,
    TALLY_EXACTLY_INTEGERS,
    TALLY_EXACTLY_NEVER,
    TALLY_EXACTLY_SUM,  /* from here on, exact mode of floats has an accumulator of its own and rounds this */
    TALLY_EXACTLY_MEAN, /* from here on, exact mode of integers has one, too */
    TALLY_EXACTLY_ROOT,
    TALLY_EXACTLY_VARIANCE, /* from here on, the accumulator has the sum of squares, too */
    TALLY_EXACTLY_DEVIATION
} tally_exact_rule;

enum {
    TALLY_OPERATOR_EMPTY_IS_ERROR = 1 << 0, /* a reduction of no elements has no value */
    TALLY_OPERATOR_INTEGERS_ONLY = 1 << 1,
    TALLY_OPERATOR_TWO_INPUTS = 1 << 2,
    TALLY_OPERATOR_PAIR_OF_RESULTS = 1 << 3,
    TALLY_OPERATOR_TAKES_INITIAL = 1 << 4,
    TALLY_OPERATOR_NO_EXCLUSIVE = 1 << 5, /* no exclusive scan, whose first result would be of no elements */
    TALLY_OPERATOR_TAKES_DDOF = 1 << 6,
    TALLY_OPERATOR_ROUNDS_ONCE = 1 << 7 /* follows from the exact column */
};

typedef struct tally_operator {
    const char *name;
    tally_monoid monoid;
    const char *lower; /* the expression */
    tally_result_rule result;
    tally_accumulator_rule acc;
    tally_exact_rule exact;
    unsigned char saved_code; /* 0: there is none */
    unsigned traits;
    const char *summary;
} tally_operator;

static inline bool tally_may_accumulate_in_f64(const tally_operator *entry) {
    return entry->acc >= TALLY_ACC_FLOAT;
}

/* Whether the result takes the number of elements beside the accumulator. */
bool tally_lowers_by_count(const tally_operator *entry);

/* A monoid's class, and the number of components of its accumulator. A user's operator has one component. */
tally_monoid_class tally_class_of(tally_monoid monoid);
int tally_components_of(tally_monoid monoid);

/* The monoid of exact mode for integers of type 'in' and an operator that rounds more than a sum: its
 * accumulator holds the sum, or both sums. TALLY_MONOID_user for all other operators. */
tally_monoid tally_monoid_of_integers(const tally_operator *entry, tally_dtype in);

/* The names of the operators that have a trait, "sum, prod and min", for messages. */
const char *tally_operators_with(unsigned trait, char *list, size_t bytes);

/* NULL for TALLY_USER and for values outside of the enumeration. */
const tally_operator *tally_operator_of(tally_op op);

/* Whether an operator of exact mode sums products of two elements (or of one with itself) instead of elements. */
static inline bool tally_exact_has_products(tally_op op) {
    return tally_class_of(tally_operator_of(op)->monoid) == TALLY_CLASS_SQUARE;
}

/* Whether it sums absolute values. */
static inline bool tally_exact_has_magnitudes(tally_op op) {
    return tally_operator_of(op)->monoid == TALLY_MONOID_sumabs;
}

#endif
