/* The operator table as text: the expressions of monoids.def and operators.def, for back ends whose kernels are
 * compiled from source. */
#ifndef TALLY_GPU_EXPRESSIONS_H
#define TALLY_GPU_EXPRESSIONS_H

#include "core/operator.h"

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

/* By monoid. A user's operator, the last of that enumeration, has its own texts. */
extern const tally_monoid_text tally_monoid_texts[TALLY_MONOID_user];

/* The number of the component that a 'lower' expression consists of (1 for "a1"), or -1 if it computes something. */
int tally_lower_component(const char *lower);

#endif
