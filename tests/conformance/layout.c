#include "layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../oracle/number.h"
#include "../oracle/random.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char *const cut_names[CUT_COUNT] = {"ones",   "short",  "middle",  "long",    "whole",
                                                 "skewed", "halves", "empties", "nothing", "gap"};

static void *must_allocate(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "conformance: out of memory\n");
        exit(2);
    }
    return memory;
}

void layout_all(layout *l, uint64_t n) {
    memset(l, 0, sizeof *l);
    l->grouping = TALLY_ALL_VALUES;
    l->shape.outer = l->shape.inner = 1;
    l->shape.extent = n;
    l->elements = n;
    l->groups = 1;
    l->has_empty = n == 0;
    snprintf(l->name, sizeof l->name, "all:%" PRIu64, n);
}

void layout_axis(layout *l, uint64_t outer, uint64_t extent, uint64_t inner) {
    memset(l, 0, sizeof *l);
    l->grouping = TALLY_AXIS;
    l->shape.outer = outer;
    l->shape.extent = extent;
    l->shape.inner = inner;
    l->elements = outer * extent * inner;
    l->groups = outer * inner;
    l->has_empty = extent == 0 && l->groups;
    snprintf(l->name, sizeof l->name, "axis:%" PRIu64 "x%" PRIu64 "x%" PRIu64, outer, extent, inner);
}

group layout_group(const layout *l, size_t number) {
    if (l->grouping == TALLY_ALL_VALUES)
        return (group){NULL, 0, 1, l->elements};
    if (l->grouping == TALLY_AXIS) {
        size_t inner = l->shape.inner, extent = l->shape.extent;
        return (group){NULL, number / inner * inner * extent + number % inner, inner, extent};
    }
    return (group){l->order, l->bounds[number], 1, l->bounds[number + 1] - l->bounds[number]};
}

typedef struct cutter {
    uint64_t *bounds;
    size_t count, room;
} cutter;

static void cut_at(cutter *c, uint64_t bound) {
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : 64;
        c->bounds = realloc(c->bounds, c->room * sizeof *c->bounds);
        if (!c->bounds)
            exit(2);
    }
    c->bounds[c->count++] = bound;
}

/* Cuts [from, to) into groups of 1 to 'most' elements. */
static void cut_random(cutter *c, uint64_t from, uint64_t to, uint64_t most, uint64_t *state) {
    while (from < to) {
        uint64_t length = 1 + random_below(state, most);
        from = to - from < length ? to : from + length;
        cut_at(c, from);
    }
}

static void cut_into(cutter *c, cut which, uint64_t n, uint64_t seed) {
    uint64_t state = seed;
    cut_at(c, which == CUT_GAP && n ? 1 : 0);
    switch (which) {
    case CUT_ONES:
        cut_random(c, 0, n, 1, &state);
        break;
    case CUT_SHORT:
        cut_random(c, 0, n, 8, &state);
        break;
    case CUT_MIDDLE:
        cut_random(c, 0, n, 300, &state);
        break;
    case CUT_LONG:
        cut_random(c, 0, n, 20000, &state);
        break;
    case CUT_SKEWED: {
        uint64_t start = n / 8 + (n > 8 ? random_below(&state, n / 4) : 0);
        cut_random(c, 0, start, 5, &state);
        if (n / 2)
            cut_at(c, start + n / 2);
        cut_random(c, start + n / 2, n, 5, &state);
        break;
    }
    case CUT_HALVES:
        if (n > 64) {
            cut_at(c, n / 2 - 20);
            cut_random(c, n / 2 - 20, n / 2 + 20, 1, &state);
        }
        if (n)
            cut_at(c, n);
        break;
    case CUT_EQUAL: {
        const uint64_t length = 2 + random_below(&state, random_below(&state, 2) ? 8 : 64);
        for (uint64_t at = 0; at < n;)
            cut_at(c, at = n - at < length ? n : at + length);
        break;
    }
    case CUT_EMPTIES: {
        uint64_t at = 0;
        for (int k = 0; k < 5; k++)
            cut_at(c, 0);
        while (at < n) {
            for (uint64_t k = random_below(&state, 2) ? random_below(&state, 40) : 0; k; k--)
                cut_at(c, at);
            uint64_t length = 1 + random_below(&state, random_below(&state, 2) ? 7 : 90);
            at = n - at < length ? n : at + length;
            cut_at(c, at);
        }
        for (int k = 0; k < 70; k++)
            cut_at(c, n);
        break;
    }
    case CUT_NOTHING:
        for (int k = 0; k < 37; k++)
            cut_at(c, 0);
        break;
    case CUT_GAP:
        if (n > 2)
            cut_random(c, 1, n - 1, 50, &state);
        break;
    default:
        cut_at(c, n);
        break;
    }
}

static void finish_cuts(layout *l, cutter *c, uint64_t n) {
    l->bounds = c->bounds;
    l->groups = c->count - 1;
    l->shape.outer = l->shape.inner = 1;
    l->shape.extent = n;
    l->elements = n;
    for (size_t g = 0; g < l->groups; g++)
        l->has_empty |= l->bounds[g] == l->bounds[g + 1];
}

void layout_segments(layout *l, cut which, uint64_t n, uint64_t seed) {
    memset(l, 0, sizeof *l);
    l->grouping = TALLY_SEGMENTS;
    cutter c = {0};
    cut_into(&c, which, n, seed);
    finish_cuts(l, &c, n);
    l->shape.groups = l->groups;
    snprintf(l->name, sizeof l->name, "segments:%s:%" PRIu64 ":%" PRIx64, cut_names[which], n, seed);
}

void layout_keys(layout *l, cut which, uint64_t n, uint64_t seed) {
    memset(l, 0, sizeof *l);
    l->grouping = TALLY_KEYS;
    cutter c = {0};
    if (n == 0)
        cut_at(&c, 0);
    else
        cut_into(&c, which, n, seed);
    finish_cuts(l, &c, n);
    snprintf(l->name, sizeof l->name, "keys:%s:%" PRIu64 ":%" PRIx64, cut_names[which], n, seed);
}

/* Elements in random order are cut into groups; a third stays as it is, that is, sorted by label. Then each group's are
 * put in order. */
void layout_labels(layout *l, cut which, uint64_t n, uint64_t seed) {
    layout_segments(l, which, n, seed);
    l->grouping = TALLY_LABELS;
    snprintf(l->name, sizeof l->name, "labels:%s:%" PRIu64 ":%" PRIx64, cut_names[which], n, seed);
    uint64_t state = seed, *shuffled = must_allocate(n * sizeof *shuffled), *next;
    for (uint64_t i = 0; i < n; i++)
        shuffled[i] = i;
    const bool stays = random_below(&state, 3) == 0;
    for (uint64_t i = n; !stays && i > 1; i--) {
        const uint64_t k = random_below(&state, i), swapped = shuffled[k];
        shuffled[k] = shuffled[i - 1];
        shuffled[i - 1] = swapped;
    }
    /* of[i]: element i's group, after the first one, of those left out */
    uint64_t *of = must_allocate(n * sizeof *of);
    const uint64_t first = l->bounds[0], last = l->bounds[l->groups];
    l->leaves_out = first > 0 || last < n;
    for (uint64_t i = 0; i < n; i++)
        of[shuffled[i]] = i < first ? 0 : l->groups + 1;
    for (size_t g = 0; g < l->groups; g++)
        for (uint64_t i = l->bounds[g]; i < l->bounds[g + 1]; i++)
            of[shuffled[i]] = g + 1;
    next = must_allocate((l->groups + 2) * sizeof *next);
    next[0] = 0;
    memcpy(next + 1, l->bounds, (l->groups + 1) * sizeof *next);
    l->order = shuffled;
    for (uint64_t i = 0; i < n; i++)
        l->order[next[of[i]]++] = i;
    free(next);
    free(of);
}

void layout_release(layout *l) {
    free(l->bounds);
    free(l->order);
    l->bounds = l->order = NULL;
}

bool layout_offsets(const layout *l, tally_dtype index, void **memory, size_t *bytes) {
    size_t size = size_of(index);
    if (is_float(index) || l->elements > highest_cell(index).u)
        return false;
    *bytes = (l->groups + 1) * size;
    unsigned char *out = *memory = must_allocate(*bytes);
    for (size_t g = 0; g <= l->groups; g++)
        encode(index, (cell){.u = l->bounds[g]}, out + g * size);
    return true;
}

bool layout_label_values(const layout *l, tally_dtype index, uint64_t seed, void **memory) {
    const size_t size = size_of(index);
    const bool is_signed = kind_of(index) == KIND_SIGNED;
    const uint64_t highest = highest_cell(index).u;
    uint64_t state = seed;
    if (is_float(index) || l->groups > highest + (l->leaves_out && !is_signed ? 0 : 1))
        return false;
    unsigned char *out = *memory = must_allocate(l->elements * size);
    for (uint64_t i = 0; i < l->elements; i++) { /* those left out; the others are written over */
        const uint64_t above = highest - l->groups + 1, past = l->groups + (above ? random_below(&state, above) : 0);
        const bool below = is_signed && (above == 0 || random_below(&state, 2));
        const cell label = below ? (cell){.i = random_below(&state, 2) ? -1 : lowest_cell(index).i} : (cell){.u = past};
        if (l->leaves_out)
            encode(index, label, out + i * size);
    }
    for (size_t g = 0; g < l->groups; g++)
        for (uint64_t k = l->bounds[g]; k < l->bounds[g + 1]; k++)
            encode(index, (cell){.u = g}, out + l->order[k] * size);
    return true;
}

void layout_key_values(const layout *l, tally_dtype index, uint64_t seed, void **memory, void **run_keys) {
    size_t size = size_of(index);
    unsigned char *keys = *memory = must_allocate(l->elements * size);
    unsigned char *runs = *run_keys = must_allocate(l->groups * size);
    uint64_t state = seed, before = 0;
    for (size_t g = 0; g < l->groups; g++) {
        /* Few different keys, or keys that differ from their neighbour in one bit, high or low. Floats are keys by
         * their bits: zeros of two signs differ and a NaN equals itself. */
        uint64_t key = random_below(&state, 2) ? random_below(&state, 5) : random_bits(&state);
        if (g && random_below(&state, 4) == 0)
            key = before ^ (uint64_t)1 << random_below(&state, 8 * size);
        uint64_t mask = UINT64_MAX >> (64 - 8 * size);
        if (g && ((key ^ before) & mask) == 0)
            key = before ^ (uint64_t)1 << (8 * size - 1);
        for (size_t b = 0; b < size; b++)
            runs[g * size + b] = (unsigned char)(key >> (8 * b));
        before = key;
        for (uint64_t k = l->bounds[g]; k < l->bounds[g + 1]; k++)
            memcpy(keys + k * size, runs + g * size, size);
    }
}

/* ------------------------------------------------------------------------------------------ the lists ----- */

static const uint16_t small_sizes[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,   12,  15,  16,  17,  24,  31, 32,
                                       33, 47, 48, 63, 64, 65, 96, 100, 127, 128, 129, 192, 255, 256, 257};

/* 2^k - 1, 2^k, 2^k + 1 for k = 9 .. 18, and 3 * 2^k for k = 7 .. 16. */
static uint64_t threshold(uint64_t seed, unsigned most) {
    uint64_t state = seed;
    unsigned k = 9 + (unsigned)random_below(&state, most - 8);
    if (random_below(&state, 4) == 0)
        return (uint64_t)3 << (k - 2);
    return ((uint64_t)1 << k) + random_below(&state, 3) - 1;
}

static const uint32_t shapes[][3] = {
    /* nothing in one dimension or another */
    {0, 3, 4},
    {3, 0, 4},
    {3, 4, 0},
    {0, 0, 0},
    {1, 0, 1},
    {0, 5, 1},
    {70, 0, 1},
    /* one in some */
    {1, 1, 1},
    {1, 1, 9},
    {9, 1, 1},
    {1, 9, 1},
    {5, 1, 7},
    {1, 300, 1},
    {300, 1, 1},
    {1, 1, 300},
    /* narrow: n x 3, 3 x n, and along the other axis */
    {1, 500, 3},
    {3, 500, 1},
    {500, 3, 1},
    {1, 3, 500},
    {1, 700, 2},
    {700, 2, 1},
    {2, 700, 1},
    {1, 2, 700},
    {200, 5, 1},
    {150, 7, 1},
    {100, 8, 1},
    {60, 15, 1},
    {60, 16, 1},
    {60, 17, 1},
    {40, 31, 1},
    {40, 33, 1},
    {20, 64, 1},
    {20, 65, 1},
    {9, 129, 1},
    {7, 255, 1},
    {3, 1000, 1},
    {4, 5, 6},
    {3, 17, 33},
    {2, 100, 10},
    {1, 200, 37},
    {13, 2, 40},
    {33, 3, 3},
    {5, 64, 65},
    {2, 33, 129},
    {3, 4, 256},
    {2, 5, 1000}};

static const uint32_t larger_shapes[][3] = {
    {1, 30001, 3},  {3, 30001, 1}, {30001, 3, 1}, {1, 3, 30001}, {1, 70000, 1}, {1, 9000, 8},  {7, 300, 43},
    {64, 64, 64},   {5, 4099, 7},  {1, 513, 300}, {300, 513, 1}, {2, 6000, 17}, {1, 50000, 2}, {257, 129, 3},
    {1, 40, 4097},  {3000, 31, 2}, {1, 2, 65537}, {65537, 1, 2}, {2, 65537, 1}, {1, 33, 5000}, {12, 1000, 16},
    {100, 100, 15}, {1, 4096, 64}, {33, 4097, 1}, {6, 100, 100}};

static const uint32_t huge_shapes[][3] = {{1, 400001, 3},  {3, 400001, 1},  {400001, 3, 1},  {1, 3, 400001},
                                          {1000, 1025, 1}, {1, 1025, 1000}, {11, 1000, 101}, {6, 100003, 5}};

enum {
    NARROW_INNERS = 70, /* inner 1 .. 70 */
    FEW_ALL = 3,
    SEGMENT_SIZES = 4,
    HUGE = 1
};

static size_t larger_count(amount how_many) {
    return how_many == AMOUNT_FEW ? 0 : how_many <= AMOUNT_MAIN ? 1 : 2;
}

size_t layout_count(tally_grouping grouping, amount how_many) {
    size_t larger = larger_count(how_many), huge = how_many == AMOUNT_HUGE ? HUGE : 0;
    if (how_many == AMOUNT_FEW)
        return FEW_ALL;
    bool quick = how_many == AMOUNT_QUICK;
    switch (grouping) {
    case TALLY_ALL_VALUES:
        return COUNT_OF(small_sizes) / (quick ? 3 : 1) + larger + huge;
    case TALLY_AXIS:
        return (quick ? COUNT_OF(shapes) / 4 : COUNT_OF(shapes)) + NARROW_INNERS / (quick ? 14 : 7) + larger + huge;
    default:
        return CUT_COUNT * (quick ? 1 : SEGMENT_SIZES) + larger + huge;
    }
}

static void make_few(layout *l, tally_grouping grouping, size_t i, uint64_t seed) {
    static const uint16_t sizes[FEW_ALL] = {1, 33, 700};
    switch (grouping) {
    case TALLY_ALL_VALUES:
        layout_all(l, sizes[i]);
        break;
    case TALLY_AXIS:
        layout_axis(l, i == 0 ? 1 : 3, i == 1 ? 11 : 40, i == 2 ? 1 : 5);
        break;
    case TALLY_SEGMENTS:
        layout_segments(l,
                        i == 0   ? CUT_SHORT
                        : i == 1 ? CUT_EMPTIES
                                 : CUT_MIDDLE,
                        sizes[2 - i / 2] / (i ? 1 : 10), seed);
        break;
    case TALLY_LABELS:
        layout_labels(l, i == 0 ? CUT_GAP : i == 1 ? CUT_EMPTIES : CUT_MIDDLE, sizes[2 - i / 2] / (i ? 1 : 10), seed);
        break;
    default:
        layout_keys(l, i == 0 ? CUT_SHORT : i == 1 ? CUT_ONES : CUT_MIDDLE, sizes[2 - i / 2] / (i ? 1 : 10), seed);
        break;
    }
}

static void make_axis(layout *l, amount how_many, size_t i, uint64_t seed) {
    bool quick = how_many == AMOUNT_QUICK;
    uint64_t state = seed;
    size_t plain = quick ? COUNT_OF(shapes) / 4 : COUNT_OF(shapes), narrow = NARROW_INNERS / (quick ? 14 : 7);
    size_t larger = larger_count(how_many);
    const uint32_t(*list)[3] = shapes;
    size_t at = quick ? random_below(&state, COUNT_OF(shapes)) : i;
    if (i >= plain && i < plain + narrow) {
        /* One draw a statement: the order of a call's arguments differs between processors. */
        const bool are_small = random_below(&state, 2) == 1; /* many planes, which share vectors or have a few */
        const uint64_t inner = 1 + random_below(&state, NARROW_INNERS);
        const uint64_t extent = 1 + random_below(&state, are_small ? 12 : 90);
        const uint64_t outer = 1 + random_below(&state, are_small ? 40 : 3);
        layout_axis(l, outer, extent, inner);
        return;
    }
    if (i >= plain + narrow && !quick) {
        bool huge = i >= plain + narrow + larger;
        list = huge ? huge_shapes : larger_shapes;
        at = random_below(&state, huge ? COUNT_OF(huge_shapes) : COUNT_OF(larger_shapes));
    }
    layout_axis(l, list[at][0], list[at][1], list[at][2]);
}

void layout_make(layout *l, tally_grouping grouping, amount how_many, size_t i, uint64_t seed) {
    static const uint16_t segment_sizes[SEGMENT_SIZES] = {0, 5, 200, 4100};
    static const uint32_t huge_sizes[] = {(1u << 20) + 7, 1500001, 1u << 21, 3u << 19};
    bool quick = how_many == AMOUNT_QUICK;
    uint64_t state = seed;
    size_t larger = larger_count(how_many);
    if (how_many == AMOUNT_FEW) {
        make_few(l, grouping, i, seed);
        return;
    }
    if (grouping == TALLY_AXIS) {
        make_axis(l, how_many, i, seed);
        return;
    }
    size_t fixed = grouping == TALLY_ALL_VALUES ? COUNT_OF(small_sizes) / (quick ? 3 : 1)
                                                : (size_t)CUT_COUNT * (quick ? 1 : SEGMENT_SIZES);
    if (i < fixed && grouping == TALLY_ALL_VALUES) {
        layout_all(l, small_sizes[quick ? random_below(&state, COUNT_OF(small_sizes)) : i]);
        return;
    }
    uint64_t n = i < fixed            ? segment_sizes[quick ? 1 + i % 2 : i / CUT_COUNT]
                 : i < fixed + larger ? threshold(random_bits(&state), quick ? 13 : 18)
                                      : huge_sizes[random_below(&state, COUNT_OF(huge_sizes))];
    cut which = i < fixed ? (cut)(i % CUT_COUNT) : (cut)random_below(&state, CUT_NOTHING);
    if (grouping == TALLY_ALL_VALUES)
        layout_all(l, n);
    else if (grouping == TALLY_SEGMENTS)
        layout_segments(l, which, n, random_bits(&state));
    else if (grouping == TALLY_LABELS)
        layout_labels(l, which, n, random_bits(&state));
    else
        layout_keys(l, which == CUT_EMPTIES || which == CUT_NOTHING || which == CUT_GAP ? CUT_SHORT : which, n,
                    random_bits(&state));
}
