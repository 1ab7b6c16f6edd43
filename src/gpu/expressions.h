/* The operator table as text: the expressions of monoids.def and operators.def, for back ends whose kernels are
 * compiled from source. */
#ifndef TALLY_GPU_EXPRESSIONS_H
#define TALLY_GPU_EXPRESSIONS_H

#include "core/operator.h"

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
    TALLY_CLASS_FLOATS6 = TALLY_CLASS_FLOATS
} tally_monoid_class;

typedef struct tally_component_text {
    const char *identity, *lift, *combine;
} tally_component_text;

enum { TALLY_MOST_COMPONENTS = 6 };

typedef struct tally_monoid_text {
    const char *name;
    tally_monoid_class kind;
    int components;
    const tally_component_text *component;
} tally_monoid_text;

/* By monoid. A user's operator, which comes last in that enumeration, has texts of its own. */
extern const tally_monoid_text tally_monoid_texts[TALLY_MONOID_user];

/* The 'lower' column of an operator. */
extern const char *const tally_lower_texts[TALLY_USER];

/* The number of the component that a 'lower' expression consists of (1 for "a1"), or -1 if it computes something. */
int tally_lower_component(const char *lower);

#endif
