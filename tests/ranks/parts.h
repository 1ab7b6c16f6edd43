/* A random computation, its input, and the input in parts: what the tests of ranks are about. One rank's result is what
 * all others must give. */
#ifndef TALLY_TEST_PARTS_H
#define TALLY_TEST_PARTS_H

#include "../api/support.h"
#include "tally/ranks.h"

enum { MOST_RANKS = 128, MOST_GROUPS = 4096 };

typedef struct part {
    tally_args args;
    unsigned flags;
    uint64_t count;        /* KEYS: its runs */
    uint64_t out_elements; /* room */
    int64_t offsets[MOST_GROUPS + 1];
} part;

typedef struct problem {
    tally_desc desc;      /* as it is given */
    tally_desc described; /* with defaults */
    tally_split split;
    tally_shape shape;
    size_t in_bytes, result_bytes, key_bytes;
    uint64_t results; /* of one rank; of KEYS the room */
    unsigned char *x, *y, *keys, *whole, *whole_keys;
    int64_t offsets[MOST_GROUPS + 1]; /* in the type of desc.index for the whole, i64 for parts */
    uint64_t count;
    tally_status status; /* of one rank */
    bool has_initial;
    _Alignas(8) unsigned char initial[8];
    uint64_t ranks;
    part *parts;
    unsigned char *out, *out_keys; /* the parts' results one after another, in room for each */
} problem;

/* A new problem and one rank's result for it; false if the device does not take it at all. */
bool problem_make(problem *p, tally_device *device, uint64_t *random, bool small);

/* Cuts it for so many ranks, at random places. */
void problem_cut(problem *p, uint64_t ranks, uint64_t *random);

/* What all ranks must return. */
tally_status problem_expected(const problem *p);

/* Whether the results of these ranks' parts are one rank's: the same bits, but for fast floats that round. Says why
 * not. Counts of runs must be those of all ranks. */
bool problem_agrees(problem *p, uint64_t first_rank, uint64_t end_rank, char *why, size_t bytes);

void problem_name(const problem *p, char *name, size_t bytes);
void problem_free(problem *p);

uint64_t next_random(uint64_t *state);

#endif
