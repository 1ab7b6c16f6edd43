/* What must come out for one element, and whether it did. */
#ifndef TALLY_ORACLE_EXPECTED_H
#define TALLY_ORACLE_EXPECTED_H

#include "number.h"

/* One expected output element. */
typedef struct expected {
    number_kind kind;  /* of the natural result, before conversion to the output type */
    uint64_t bits;     /* integers */
    long double value; /* floats */
    long double bound; /* floats: 0 means bit for bit after one rounding */
    bool any_zero;     /* the sign of a zero is not determined */
    bool plain_nan;    /* a NaN is the quiet one without sign and payload */
} expected;

/* Whether an element in memory is the expected one; writes both as text if not. */
bool expected_agrees(const expected *e, tally_dtype out, const void *element, char *text, size_t text_bytes);

#endif
