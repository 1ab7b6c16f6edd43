/* layout.h: how the rows of a text lie: how many fields each has, which of them is wanted, and whether the first row is
 * a header.
 *
 * Without --header or --no-header the first row is a header if the column was chosen by name, or if its field in the
 * column is a name. If that field is a number, as in "Country,2019,2020", the row below decides:
 *   a header  - the number is in quotes, and the one below is not;
 *             - the row has two years or more at a constant distance of ten or less and no other number, a name or
 *               an empty field before them, and no year below the wanted one;
 *   an error  - the wanted field is a year, the one below is none, and a name stands before it;
 *             - a name before it stands above a number, or an empty field above one that is not;
 *   data      - otherwise.
 * Only where commas, tabs and the like separate: what commands print in columns has the number first, or a name that
 * may be a number further down.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_LAYOUT_H
#define TALLY_CLI_LAYOUT_H

#include <stdint.h>

#include "fault.h"
#include "fields.h"
#include "text.h"

enum { LAYOUT_NAMES = 400 /* how much of the header line an error message shows */ };

typedef struct layout {
    uint64_t fields, wanted; /* fields a row; the chosen one, from 0 */
    int pending;             /* rows of data that were read: the first one's field is the spare one of the reader, the
                                second one's its present one */
    bool hash;               /* the first row begins with # */
    char names[LAYOUT_NAMES];
} layout;

/* Reads the first row, and the second where that decides. Leaves 'fields' at 0 if there is none. */
int layout_find(layout *l, fields *in, const text_options *options, fault *f);

/* The fault of a row with another number of fields than the first. */
int layout_ragged(const layout *l, const fields *in, uint64_t count, char comment, fault *f);

/* What helps where lines that begin with # are no data; else "". */
const char *layout_hint(const layout *l, const fields *in, char comment);

#endif
