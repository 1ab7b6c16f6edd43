/* Sizes of reductions by segments and keys. */
#include <string.h>

#include "core/arithmetic.h"
#include "cuda/accumulator.h"
#include "cuda/sizes.h"

enum {
    FOLD_SHARED = 16 << 10, /* bytes of a tile */
    MOST_ITEMS = 32,        /* of a thread */
    SMALL_ITEMS = 8,        /* likewise, of little input by keys: a thread takes them one after the other */
    SMALL_BYTES = 32        /* by segments */
};

/* Whether elements, and what a lane keeps of them, have 4 bytes, from sm_90 on, where it was measured. */
static bool has_narrow_lanes(const tally_computation *c, int architecture) {
    if (tally_is_scan(c) || c->exact || !c->entry || architecture < 90 || c->in_bytes != 4 ||
        tally_cuda_needs_start(c) || c->entry->traits & TALLY_OPERATOR_TWO_INPUTS || tally_cuda_counts_elements(c) ||
        tally_monoid_texts[c->monoid].components != 1)
        return false;
    tally_cuda_accumulator t;
    tally_cuda_accumulator_of(c, &t);
    return strcmp(t.lane[0], "float") == 0 || strcmp(t.lane[0], "int32") == 0 || strcmp(t.lane[0], "uint32") == 0;
}

/* Results are the values that lanes keep, in the elements' place; keys are read in whole vectors. With keys of 8 bytes
 * sums of 67 million f32 in runs of a million took 254 us on an H200, and 211 without waves. */
static bool folds_in_waves(const tally_computation *c, int architecture) {
    if (c->desc.grouping != TALLY_KEYS || c->is_sized || !has_narrow_lanes(c, architecture) || c->index_bytes != 4 ||
        !tally_cuda_lowers_directly(c))
        return false;
    tally_cuda_accumulator t;
    tally_cuda_accumulator_of(c, &t);
    return strcmp(t.lane[0], tally_cuda_element_type(c->desc.out)) == 0;
}

/* wave_runs.cu's struct scratch and some to spare. */
static void wave_sizes(const tally_computation *c, int architecture, tally_cuda_sizes *s) {
    enum { WARP = 32, TEAMS = 2, FINISHERS = 256, ITEMS = 20, RING = 3 };
    const unsigned tile = FINISHERS * ITEMS, words = tile / WARP, of_keys = 2 * words * 4 + 64;
    const unsigned place = round_up(tile * (unsigned)c->in_bytes + 16, 128);
    const unsigned key_place = round_up(tile * (unsigned)c->index_bytes + 32, 128);
    const unsigned rest = 1024 + RING * (place + 16);
    s->wave.tile = tile;
    s->wave.ring = RING;
    s->wave.key_ring = (tally_cuda_shared_limit(architecture) - rest) / (key_place + of_keys);
    s->wave.shared = rest + s->wave.key_ring * (key_place + of_keys);
    s->wave.waves = 2 * s->wave.key_ring + 1;
    s->wave.threads = 3 * WARP + words + TEAMS * FINISHERS;
}

/* Groups that lanes share, from parts of tiles (tile_parts.cu). Measured on an H200, in microseconds (in brackets: by
 * heads): var of 24 million f32 in segments of 150, exponential, 44 (63), argmax of 13 million i32 in segments of 60 28
 * (35), sums of 40 million f32 in segments of 241 52 (59), std of 63 million f16 by keys, runs of 122, 124 (170); but
 * argmin of 20 million f32 by keys, runs of 9, 99 (91), logsumexp of 15 million f64 in segments of 15 111 (90). */
static void parts_sizes(const tally_computation *c, tally_cuda_sizes *s) {
    enum { MEAN = 32, NARROW_MEAN = 48, MOMENTS = 4, MOST_BYTES = 16 };
    const bool keys = c->desc.grouping == TALLY_KEYS, has_moments = c->monoid == TALLY_MONOID_moments;
    const bool has_small =
        c->desc.grouping == TALLY_SEGMENTS && s->slot_bytes <= MOST_BYTES && c->monoid != TALLY_MONOID_logsumexp;
    if (tally_is_scan(c) || !c->entry || c->exact || c->words.count || c->is_sized || c->takes_turns || c->skips_nan ||
        s->differences || !(has_small || (has_moments && (keys || c->desc.grouping == TALLY_SEGMENTS))))
        return;
    s->parts_tile = FOLD_SHARED / (unsigned)c->in_bytes / (tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) ? 2 : 1);
    if (keys) {
        s->parts_tile = s->fold_tile = (unsigned)least(s->parts_tile, TALLY_CUDA_FOLD_BLOCK * 2 * MOST_ITEMS);
        s->fold_results = s->fold_tile / 4;
        s->fold_stages = false;
        s->small_fold_tile = TALLY_CUDA_FOLD_BLOCK * (unsigned)most(SMALL_ITEMS, SMALL_BYTES / c->in_bytes);
        s->fold_blocks = 8;
        return;
    }
    s->parts_mean = has_moments ? MOMENTS : c->in_bytes <= 2 ? NARROW_MEAN : MEAN;
    s->parts_blocks = 8;
}

/* For elements whose folding takes more time than their reading. Measured on an H100, in microseconds (in brackets: by
 * blocks): argmax of 32 million f16 in segments of 1024 40 (66), sums of 64 million u8 44 (59), var of 16 million f32
 * in segments of 256 46 (51), of 128 65 (50); but sums of 8 million f64 in segments of 256 40 (35). */
static unsigned long_mean_of(const tally_computation *c) {
    enum { MOMENTS = 256, NARROW = 1024 };
    if (c->desc.grouping != TALLY_SEGMENTS || !c->entry || c->is_sized || c->takes_turns || c->skips_nan ||
        tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) || c->monoid == TALLY_MONOID_logsumexp ||
        tally_cuda_differences(c))
        return 0;
    const bool has_moments =
        (c->monoid == TALLY_MONOID_moments || tally_cuda_has_higher_moments(c)) && c->in_bytes <= 4;
    return has_moments ? MOMENTS : c->in_bytes <= 2 && tally_cuda_accumulator_bytes(c) <= 32 ? NARROW : 0;
}

/* Short segments, with empty ones among them, by merged_segments.cu. Measured on an H200, in microseconds (in brackets:
 * by blocks): sums of 40 million f32 in segments of 24 68 (74), some of them empty 71 (83), of 20 million f64 of 24 61
 * (70), products of two f32 in segments of 6 80 (91); but largest of 50 million u8 in segments of 6 94 (66). Where
 * blocks take differences (tile_sums.cu), means of 70 million i32, power law, mean 16, 166 (122), sums of 30 million
 * i64 of 20 82 (81). */
static void merged_sizes(const tally_computation *c, tally_cuda_sizes *s) {
    enum {
        ITEMS = 28,
        WIDE_ITEMS = 20,
        MEAN = 32,
        MEAN_OF_TWO = 8,
        MEAN_OF_DIFFERENCES = 8,
        WIDE_MEAN = 4,
        MOST_BYTES = 16
    };
    const bool has_index = c->entry && (c->monoid == TALLY_MONOID_argmin || c->monoid == TALLY_MONOID_argmax);
    const unsigned lane = has_index && c->in_bytes <= 4 ? 8 : s->slot_bytes; /* at most */
    const bool are_two = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS), is_wide = lane > 8 || are_two;
    if (c->desc.grouping != TALLY_SEGMENTS || c->is_sized || c->takes_turns || s->slot_bytes > MOST_BYTES)
        return;
    s->merged_tile = TALLY_CUDA_FOLD_BLOCK * (is_wide ? WIDE_ITEMS : ITEMS);
    s->merged_mean = c->in_bytes < 4 || s->slot_bytes > 8 ? WIDE_MEAN
                     : are_two                            ? MEAN_OF_TWO
                     : s->differences                     ? MEAN_OF_DIFFERENCES
                                                          : MEAN;
    s->merged_blocks = is_wide ? 4 : 8;
}

void tally_cuda_fold_sizes(const tally_computation *c, int architecture, tally_cuda_sizes *s) {
    const bool keys = c->desc.grouping == TALLY_KEYS, two = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS);
    s->fold_spreads = c->desc.grouping == TALLY_SEGMENTS && c->entry && c->monoid == TALLY_MONOID_moments &&
                      !c->exact && !c->skips_nan && !tally_is_scan(c);
    s->fold_stages = s->fold_spreads || (s->slot_bytes <= 16 && !tally_cuda_lowers_cheaply(c));
    const unsigned in = (unsigned)most(c->in_bytes, 1);
    const unsigned result = s->fold_spreads  ? sizeof(double)
                            : s->fold_stages ? s->slot_bytes
                                             : (unsigned)(c->out_bytes * c->per_result);
    /* By segments, results that are wider than elements have a place of their own, for a quarter as many, as shorter
     * segments go by merged_segments.cu; else tiles would have few elements. A thread takes twice as many narrow
     * elements, because a tile makes the same work besides, however wide they are. */
    const bool in_place = keys || (s->slot_bytes > 16 && !s->fold_spreads) || result <= in ||
                          (s->fold_stages && result <= 2 * in && c->is_sized);
    const bool has_keys = tally_cuda_has_place_keys(c);
    const bool takes_twice =
        !keys && (s->slot_bytes <= 8 || has_keys) && !s->fold_stages && (in == 1 || (in == 2 && in_place));
    const unsigned element = (in_place ? (unsigned)most(in, result) : in) + (two ? in : 0);
    const unsigned items = takes_twice ? 2 * MOST_ITEMS : MOST_ITEMS;
    s->fold_tile = TALLY_CUDA_FOLD_BLOCK * items;
    /* By keys, tiles of 1024 elements made as much work besides: logsumexp of 16 million i32 took 105 us on an H200
     * (before, with exponentials, 131; of 34 million with such tiles 240 and 269), argmax of 20 million f32 96 (101).
     * With accumulators of 8 bytes sums of 25 million i32 took 56 (55). */
    const bool is_wide = keys && s->slot_bytes > 8 && result > in && !two;
    const unsigned shared = is_wide ? 2 * FOLD_SHARED : FOLD_SHARED;
    while (s->fold_tile * element > shared && s->fold_tile / TALLY_CUDA_FOLD_BLOCK * in > 16) /* whole vectors */
        s->fold_tile /= 2;
    s->differences = tally_cuda_differences(c);
    s->small_fold_tile =
        TALLY_CUDA_FOLD_BLOCK *
        (keys ? (unsigned)most(SMALL_ITEMS, (s->differences ? SMALL_BYTES : 16) / in) : SMALL_BYTES / in);
    s->fold_results = in_place ? s->fold_tile : s->fold_tile / 4;
    if (s->differences) { /* results need no room; they are lowered by the thread that has the segment */
        s->fold_tile = FOLD_SHARED / in;
        if (keys)
            s->fold_tile = least(s->fold_tile, TALLY_CUDA_FOLD_BLOCK * MOST_ITEMS);
        s->fold_results = s->fold_tile / 4;
        s->fold_stages = s->fold_spreads = false;
    }
    s->fold_blocks = s->differences || s->slot_bytes <= 8 || has_keys ? 8 : s->slot_bytes <= 32 ? 4 : 2;
    if (is_wide && !s->differences)
        s->fold_blocks = (unsigned)least(s->fold_blocks, 6);
    parts_sizes(c, s);
    if (keys)
        s->small_fold_tile = least(s->small_fold_tile, s->fold_tile);
    else if (s->small_fold_tile >= s->fold_tile || c->is_sized || c->takes_turns)
        s->small_fold_tile = 0;
    s->few_blocks = architecture >= 90 ? TALLY_CUDA_CLUSTER : 1;
    s->few_threads = s->slot_bytes <= 16 ? 1024 : 256; /* large accumulators have no room for more */
    s->cut_bytes = 2 * s->slot_bytes + (!keys ? 24 : tally_cuda_needs_start(c) ? 16 : 0);
    s->cut_bytes = round_up(s->cut_bytes, s->slot_bytes % 16 ? 8 : 16);
    s->long_mean = long_mean_of(c);
    merged_sizes(c, s);
    s->folds_in_waves = folds_in_waves(c, architecture);
    if (s->folds_in_waves)
        wave_sizes(c, architecture, s);
}
