/* A combination: one operator x grouping x form x types x mode, its name (which replays it), and the lists that the
 * suite walks through. */
#ifndef TALLY_CONFORMANCE_COMBINATION_H
#define TALLY_CONFORMANCE_COMBINATION_H

#include <stdbool.h>
#include <stddef.h>

#include "tally/tally.h"

typedef struct combination {
    tally_op op;
    tally_form form;
    bool reverse;
    tally_grouping grouping;
    tally_mode mode;
    tally_dtype in, acc, out, index;
    bool skips_nan;
} combination;

enum { COMBINATION_NAME_BYTES = 128 };

/* The five forms: reduce, and the two scans in both directions. */
enum { FORM_COUNT = 5 };
tally_form form_of(int form, bool *reverse);
const char *form_name(int form);
int form_number(const combination *c);

/* "sum/axis/reverse_inclusive/f32/fast", with ">out", "+acc" and "@index" where they are not the default, and
 * "/skip_nan" at the end with that flag. */
void combination_name(const combination *c, char name[COMBINATION_NAME_BYTES]);
tally_desc combination_desc(const combination *c);

/* Calls visit for each combination and stops when it returns false. 'main' combinations have the default accumulator,
 * output and index types; the others change one of them at a time. */
typedef bool combination_visitor(void *context, const combination *c);
void each_main_combination(combination_visitor *visit, void *context);
void each_converting_combination(combination_visitor *visit, void *context);
void each_index_combination(combination_visitor *visit, void *context);
void each_skipping_combination(combination_visitor *visit, void *context); /* main ones of floats, without NaNs */

/* May an initial value be given to its scans? As the header lists it. */
bool op_takes_initial(tally_op op);

#endif
