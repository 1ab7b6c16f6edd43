/* The parts of the suite that are not single cases. Each reports through the checker. */
#ifndef TALLY_CONFORMANCE_PROMISES_H
#define TALLY_CONFORMANCE_PROMISES_H

#include "check.h"

enum { MOST_FILTERS = 32 };

typedef struct options {
    const char *device;
    const char *filter[MOST_FILTERS]; /* parts or patterns of names, any of which is enough; none: all are taken */
    int filters;
    bool quick;
    bool sample; /* one in five */
    uint64_t seed;
} options;

/* Checks a user's monoids in every grouping and form against a fold in order. Returns how many the back end refuses. */
uint64_t user_operators(checker *c, const options *o);

/* The same bits from run to run, for any number of threads, and, in exact mode, on every instruction-set level. */
void same_bits(checker *c, const options *o);

/* Offsets that decrease or pass the end of the values are refused, wherever they stand, and no others. */
void damaged_offsets(checker *c, const options *o);

/* Whether the filters let it through. */
bool is_chosen(const options *o, const char *name);

/* A seed that depends on the combination's name and the number of the case, and on nothing else. */
uint64_t case_seed(const options *o, const char *name, uint64_t number);

#endif
