/* Layouts: how an input is cut into groups. Each is made from a short text, so that a failure can name it and it can be
 * made again: "all:4097", "axis:3x1000x7", "segments:skewed:5000:17", "keys:runs8:1000:3", "labels:gap:200:5". */
#ifndef TALLY_CONFORMANCE_LAYOUT_H
#define TALLY_CONFORMANCE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tally/tally.h"

typedef struct layout {
    char name[64];
    tally_grouping grouping;
    tally_shape shape;
    size_t elements;
    size_t groups;
    uint64_t *bounds; /* SEGMENTS, KEYS, LABELS: groups + 1; of the runs for keys */
    uint64_t *order;  /* LABELS: the elements group by group; those left out stand before and behind */
    bool has_empty;   /* some group has no element */
    bool leaves_out;  /* some element is in no group */
} layout;

/* A group's elements are start, start + stride, ..., or those that 'order' names. */
typedef struct group {
    const uint64_t *order;
    size_t start, stride, count;
} group;
group layout_group(const layout *l, size_t number);

/* Element k of a group as an index in the input; and as an operator is told it. */
static inline size_t group_element(group g, size_t k) {
    return g.order ? g.order[g.start + k] : g.start + k * g.stride;
}
static inline size_t group_index(group g, size_t k) {
    return g.order ? g.order[g.start + k] : k;
}

void layout_all(layout *l, uint64_t n);
void layout_axis(layout *l, uint64_t outer, uint64_t extent, uint64_t inner);
/* Kinds of segments: see layout.c. For keys the same cuts without empty ones, for labels the same of shuffled elements.
 */
typedef enum cut {
    CUT_ONES,    /* of one element each */
    CUT_SHORT,   /* 1 to 8 */
    CUT_MIDDLE,  /* 1 to 300 */
    CUT_LONG,    /* 1 to 20,000 */
    CUT_WHOLE,   /* one */
    CUT_SKEWED,  /* one of half of everything, the others tiny */
    CUT_HALVES,  /* a long one, then ones of one element, then a long one */
    CUT_EQUAL,   /* of one length of 2 to 65, but for the last */
    CUT_EMPTIES, /* many empty ones, some at the start, in the middle and at the end */
    CUT_NOTHING, /* all of them empty */
    CUT_GAP,     /* the first begins after the first element, the last ends before the last */
    CUT_COUNT
} cut;
void layout_segments(layout *l, cut which, uint64_t n, uint64_t seed);
void layout_keys(layout *l, cut which, uint64_t n, uint64_t seed);
void layout_labels(layout *l, cut which, uint64_t n, uint64_t seed);
void layout_release(layout *l);

/* Offsets, or keys, of an index type, as the library is given them; malloc'ed. keys: neighbouring runs differ, runs
 * further apart repeat. run_keys (when not NULL) receives the keys of the runs. false if the type cannot hold them. */
bool layout_offsets(const layout *l, tally_dtype index, void **memory, size_t *bytes);
bool layout_label_values(const layout *l, tally_dtype index, uint64_t seed, void **memory);
void layout_key_values(const layout *l, tally_dtype index, uint64_t seed, void **memory, void **run_keys);

/* The number of layouts for a grouping, and the i-th. 'main': thresholds and shapes of all kinds, some chosen by the
 * seed; 'few': several small ones for conversions and index types. 'core' has more of the larger layouts, 'huge' also
 * one of some millions. */
typedef enum amount { AMOUNT_FEW, AMOUNT_QUICK, AMOUNT_MAIN, AMOUNT_CORE, AMOUNT_HUGE } amount;
size_t layout_count(tally_grouping grouping, amount how_many);
void layout_make(layout *l, tally_grouping grouping, amount how_many, size_t i, uint64_t seed);

#endif
