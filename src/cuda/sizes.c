#include "cuda/sizes.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cuda/accumulator.h"
#include "gpu/expressions.h"

unsigned tally_cuda_shared_limit(int architecture) {
    switch (architecture) {
    case 80:
    case 87:
        return 163 << 10;
    case 90:
    case 100:
    case 103:
        return 227 << 10;
    default:
        return architecture < 80 ? 64 << 10 : 99 << 10;
    }
}

/* ---- scans ---- */

/* Vectors of a thread of scan_held.cu; there is code for each element, twice. With 4 vectors scans of 2^10 f32 took 1.3
 * times as long on an H200, those of 2^18 1.1 times, and those of 2^21 0.92 of the time. */
static unsigned held_rows(const tally_computation *c, unsigned acc) {
    const bool are_rows = c->desc.grouping == TALLY_AXIS && !c->is_sized && !c->exact;
    if (!tally_is_scan(c) || (c->desc.grouping != TALLY_ALL_VALUES && !are_rows) || acc > 32 ||
        tally_cuda_has_terms(c) || c->in_window)
        return 0;
    return acc > 8 || c->in_bytes == 1 ? 1 : 2;
}

/* Rows of a column that a thread of scan_held_columns.cu keeps in registers. */
static unsigned held_strand(const tally_computation *c, int architecture, unsigned acc) {
    if (c->desc.grouping != TALLY_AXIS || architecture < 90 || acc > 32 || c->in_window)
        return 0;
    return c->in_bytes * (tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) ? 2 : 1) >= 8 ? 8 : 16;
}

bool tally_cuda_fills_tiles(const tally_computation *c) {
    return tally_class_of(c->monoid) == TALLY_CLASS_INDEXED &&
           (c->desc.grouping == TALLY_ALL_VALUES || c->in_bytes < 4);
}

/* scan_tiles.cu's struct scratch without its ring, with some bytes to spare; and the bytes of a place in the ring. */
static unsigned scan_shared(const tally_computation *c, const tally_cuda_sizes *s, unsigned acc, unsigned widest,
                            unsigned ring) {
    unsigned tile = s->scan.finishers * s->scan.items, place = round_up(tile * widest + 16, 128) + 5 * 16 + 8;
    if (tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS))
        place += round_up(tile * (unsigned)c->in_bytes + 16, 128);
    if (c->desc.grouping == TALLY_KEYS)
        place += round_up(tile * (unsigned)c->index_bytes + 48, 128);
    if (c->desc.grouping == TALLY_SEGMENTS)
        place += tile / 8 + 16;
    if (tally_cuda_fills_tiles(c))
        place += round_up(acc, 16);
    if (c->in_window)
        place += 8 + s->scan.summers / 32 * 8;
    const unsigned marks = c->desc.grouping == TALLY_KEYS ? s->scan.teams * (tile / 8 + 16) : 0;
    unsigned of_warps = marks + 2 * (s->scan.summers + s->scan.teams * s->scan.finishers) / 32 * round_up(acc + 16, 16);
    return round_up(ring * (place + s->record_bytes) + of_warps + 2 * s->scan.summers / 8 + 512, 128);
}

/* A tile of panels.cu takes the room of its results, or of its elements and of some more for each row, which begins
 * anywhere in a vector. False if shared memory has too little. */
static bool panel_sizes(const tally_computation *c, unsigned acc, unsigned result, unsigned limit,
                        tally_cuda_sizes *s) {
    enum { MOST_RING = 12, LEAST_RING = 3, GATES = 32, TO_SPARE = 256, ITEMS_OF_TWO = 20 };
    const unsigned in = (unsigned)c->in_bytes;
    s->scan.panel_items = in == 2 ? least(s->scan.items, ITEMS_OF_TWO) : s->scan.items; /* with more registers spill */
    const unsigned tile = s->scan.finishers * s->scan.panel_items;
    const unsigned of_strands = 2 * s->scan.teams * s->scan.finishers * acc + TO_SPARE;
    s->scan.panel_place = round_up(most(tile * result + 16, tile * in / 4 * 5), 128);
    s->scan.panel_ring = least(MOST_RING, (limit - of_strands) / (s->scan.panel_place + GATES));
    s->scan.panel_shared = s->scan.panel_ring * (s->scan.panel_place + GATES) + of_strands;
    return acc <= 16 && s->scan.panel_ring >= LEAST_RING;
}

/* scan_narrow.cu has the threads of scan.cu, but one messenger and a teller, and a ring of its own: tiles are smaller,
 * as a thread keeps its items in registers, and there are sums for each column. */
static void narrow_sizes(const tally_computation *c, unsigned acc, unsigned widest, unsigned limit,
                         tally_cuda_sizes *s) {
    enum { WARP = 32, MOST_RING = 16, LEAST_RING = 4, GATES = 32 };
    const unsigned in = (unsigned)c->in_bytes, two = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) ? 1 : 0;
    if (c->in_window || c->desc.grouping != TALLY_AXIS || s->slot_bytes > 16 || !(c->entry || c->user.commutes))
        return;
    s->narrow.columns = acc <= 8 ? 128 : 64;
    s->narrow.items = least(s->scan.items, in == 1 ? 32 : 24); /* as many as registers hold, and whole vectors */
    s->narrow.threads = s->scan.threads + (s->scan.messengers > 1 ? 0 : WARP);
    const unsigned tile = s->scan.finishers * s->narrow.items;
    const unsigned place = round_up(tile * widest + 16, 128) + two * round_up(tile * in + 16, 128) +
                           round_up(acc * s->narrow.columns, 16) + 2 * s->record_bytes + GATES;
    const unsigned fixed = acc * (2 * s->scan.summers + s->scan.teams * s->scan.finishers) +
                           2 * (s->scan.summers + s->scan.teams * s->scan.finishers) / WARP * round_up(acc + 16, 16) +
                           2 * s->scan.summers / 8 + 1024;
    s->narrow.ring = least(MOST_RING, (limit - fixed) / place);
    s->narrow.waves = 2 * s->narrow.ring + 1;
    s->narrow.shared = round_up(s->narrow.ring * place + fixed, 128);
    if (s->narrow.ring < LEAST_RING)
        s->narrow.columns = 0;
}

/* A thread of scan_tall.cu takes a word of neighbouring columns, as far as registers hold their sums. */
static void tall_sizes(const tally_computation *c, int architecture, unsigned acc, unsigned result,
                       tally_cuda_sizes *s) {
    enum { WORD = 4, MOST_RESULTS = 16, MOST_SUMS = 32, MOST_SLOT = 32, MOST_ROWS = 128 };
    const unsigned in = (unsigned)c->in_bytes;
    if (c->in_window || c->exact || c->desc.grouping != TALLY_AXIS || !tally_is_scan(c) || s->slot_bytes > MOST_SLOT)
        return;
    s->tall.packs = tally_cuda_column_packs(c, architecture) != 0;
    s->tall.width = (unsigned)most(1, WORD / in);
    while (s->tall.width > 1 && (s->tall.width * result > MOST_RESULTS || s->tall.width * s->slot_bytes > MOST_SUMS))
        s->tall.width /= 2;
    tally_cuda_accumulator types = {.lane_limit = TALLY_CUDA_LANE_UNLIMITED};
    if (c->entry)
        tally_cuda_accumulator_of(c, &types);
    s->tall.items = (unsigned)least(MOST_ROWS, (uint64_t)types.lane_limit);
    s->tall.sums = 2 * TALLY_CUDA_TALL_BLOCK * acc * (s->tall.packs ? 1 : s->tall.width);
    s->tall.blocks = acc <= 16 ? 4 : 3;
}

/* The elements whose number a thread's share is a multiple of: whole vectors of elements, of keys, and of results that
 * are no narrower; of narrower ones whole words, as vectors of those would be an even number of the elements'. */
static unsigned granule(const tally_computation *c) {
    const unsigned in = (unsigned)most(c->in_bytes, 1), result = (unsigned)most(c->out_bytes * c->per_result, 1);
    const uint64_t of_keys = c->desc.grouping == TALLY_KEYS ? 16 / most(c->index_bytes, 1) : 1;
    return (unsigned)most(most(16 / in, 4 / result), of_keys);
}

/* Bytes of a thread's elements at most. Threads that go through them a vector at a time (look_back_vectors.cu) need no
 * register for each, so they take as many as leave room for four blocks. On an H100 var of 5 * 10^7 f32 took 231 us
 * with 80, 202 with 112 and 171 with 176; of 3 * 10^7 f64 284, 243 and 199; std of 10^5 f32 12.8, 12.6 and 13.1. */
static unsigned bytes_of_stretch(const tally_computation *c, int architecture) {
    enum { STRETCH = 80, LONG_STRETCH = 176, THREADS = 256, BLOCKS = 4, TO_SPARE = 2048 };
    if (!tally_cuda_takes_vectors(c) || c->desc.grouping != TALLY_ALL_VALUES)
        return STRETCH;
    return (unsigned)least(LONG_STRETCH, (tally_cuda_shared_limit(architecture) / BLOCKS - TO_SPARE) / THREADS);
}

/* Each thread takes whole vectors of elements, results and keys: an odd number, so that neighbouring stretches use
 * other banks, as many as its registers hold of elements and as the ring holds of the widest. The work that a tile
 * makes besides is the same for large ones. */
static void scan_sizes(const tally_computation *c, int architecture, unsigned acc, tally_cuda_sizes *s) {
    enum { WIDEST_STRETCH = 192, MOST_RING = 10, GOOD_RING = 6, LEAST_ITEMS = 6, LEAST_RING = 4, WARP = 32 };
    s->held_rows = held_rows(c, acc);
    const unsigned in = (unsigned)c->in_bytes, result = (unsigned)(c->out_bytes * c->per_result);
    const unsigned vector = granule(c), widest = in > result ? in : result;
    const bool is_higher = tally_cuda_has_higher_moments(c);
    const bool has_moments = is_higher || (c->entry && c->monoid == TALLY_MONOID_moments);
    /* Shared memory holds fewer tiles of two inputs, and of results twice as wide as elements. Half as large ones are
     * as many as others: on an H200 the scan of 10^8 i32 to i64 took 316 us with 12 elements a thread and 420 with 20,
     * dot of 20 million f64 123 with 6 and 166 with 10. */
    const bool is_doubled = (result == 2 * in || tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS)) && !has_moments;
    const unsigned stretch = bytes_of_stretch(c, architecture),
                   of_elements = stretch / (vector * (is_doubled                ? 2 * in
                                                      : acc > 8 && !has_moments ? widest
                                                                                : in)),
                   of_widest = WIDEST_STRETCH / (vector * widest);
    unsigned vectors = acc > 32 && !is_higher ? 1 : (of_elements < of_widest ? of_elements : of_widest) | 1;
    /* With more moments registers spill; of others each takes a bit. */
    const bool goes_by_vectors = tally_cuda_takes_vectors(c) && c->desc.grouping == TALLY_ALL_VALUES;
    const unsigned most_items = goes_by_vectors                        ? stretch
                                : has_moments                          ? 24
                                : c->desc.grouping == TALLY_ALL_VALUES ? 80
                                                                       : 48;
    while (vectors > 1 && vectors * vector > most_items)
        vectors -= 2;
    s->scan.items = vectors * vector;
    s->scan.vector = 16 / (unsigned)most(least(in, result), 1);
    s->scan.summers = 4 * WARP;
    /* A wave of logsumexp f64 took one messenger 5.1 us on an H100, twice as long as its tiles. With groups it looks
     * for heads, too: on an H200 sums of 1738 rows of 84923 u8 took 93 us by two and 122 by one, by segments of 129
     * million f16 162 and 192, but of 30 million f32 by keys 146 and 117. Three were slower. */
    const bool needs_two = s->slot_bytes > 8 || tally_cuda_needs_start(c) || c->desc.grouping == TALLY_AXIS ||
                           c->desc.grouping == TALLY_SEGMENTS || (c->desc.grouping == TALLY_KEYS && in < 4);
    s->scan.messengers = architecture >= 90 && needs_two && (s->slot_bytes <= 32 || is_higher) ? 2 : 1;
    s->scan.teams = 2;
    s->scan.finishers = 8 * WARP;
    s->scan.strand = held_strand(c, architecture, acc);
    const unsigned of_window = c->in_window ? 128 : 0, /* its copy, and what the compiler adds */
        of_tables = c->entry && c->monoid == TALLY_MONOID_logsumexp && acc > 8 ? (in == 1 ? 4096 : 2048) : 0;
    const unsigned limit = tally_cuda_shared_limit(architecture) - of_window - of_tables;
    /* A ring of fewer tiles waits for memory and for other blocks. On an H200 prod of 4 * 10^7 f32 by i32 keys took 131
     * us with 12 elements a thread and nine tiles, 155 with 20 and five; means of 9 * 10^6 i16 34.0 with 8, and 42.4
     * with 24 and four. Along axes it was not measured. */
    while (vectors > 1 && (vectors > 2 ? vectors - 2 : 1) * vector >= LEAST_ITEMS && !has_moments && !c->in_window &&
           !c->exact && c->desc.grouping != TALLY_AXIS && scan_shared(c, s, acc, widest, GOOD_RING) > limit) {
        vectors -= vectors > 2 ? 2 : 1;
        s->scan.items = vectors * vector;
    }
    while (vectors > 1 && scan_shared(c, s, acc, widest, LEAST_RING) > limit) {
        vectors -= vectors > 3 ? 2 : 1; /* two are better than one, though lanes then meet in banks */
        s->scan.items = vectors * vector;
    }
    while (s->scan.finishers > 2 * WARP && scan_shared(c, s, acc, widest, LEAST_RING) > limit)
        s->scan.finishers /= 2;
    s->scan.ring = MOST_RING;
    while (s->scan.ring > 2 && scan_shared(c, s, acc, widest, s->scan.ring) > limit)
        s->scan.ring--;
    s->scan.shared = scan_shared(c, s, acc, widest, s->scan.ring);
    s->scan.waves = 2 * s->scan.ring + 1;
    s->scan.takes_panels = !c->in_window && c->desc.grouping == TALLY_AXIS && s->scan.finishers == 8 * WARP &&
                           s->scan.ring > 2 && panel_sizes(c, acc, result, limit, s);
    const unsigned loaders = architecture >= 90 ? 2 * WARP /* and storers */ : 4 * WARP;
    s->scan.panel_threads = 4 * WARP + s->scan.teams * s->scan.finishers;
    s->scan.threads = loaders + s->scan.messengers * WARP + s->scan.summers + s->scan.teams * s->scan.finishers;
    narrow_sizes(c, acc, most(in, result), limit, s);
    tall_sizes(c, architecture, acc, result, s);
}

/* The vectors of a thread in small tiles, for input that whole ones would give a few processors only; 0: no fewer. */
static unsigned few_vectors(unsigned vectors) {
    enum { TIMES = 4 };
    return vectors > 2 ? vectors / TIMES | 1 : 0;
}

/* scan_one_wave.cu's struct scratch: a tile, and some more. */
static void one_wave_sizes(const tally_computation *c, int architecture, unsigned acc, tally_cuda_sizes *s) {
    enum { THREADS = 256, TO_SPARE = 1024, MOST_ITEMS = 24, STRETCH = 80 /* bytes */, LONG_STRETCH = 176 };
    /* By segments; with so many by keys max of 1.2 * 10^6 u8 took 18.5 us on an H100, with 24 14.2. */
    enum { MOST_OF_SEGMENTS = 48, MOST_OF_MOMENTS = 56 };
    const bool keys = c->desc.grouping == TALLY_KEYS, segments = c->desc.grouping == TALLY_SEGMENTS;
    const bool rows_of_terms = c->desc.grouping == TALLY_AXIS && tally_cuda_has_terms(c);
    if (!tally_is_scan(c) || !(keys || segments || rows_of_terms) || c->is_sized || c->in_window ||
        (acc > 32 && !tally_cuda_has_higher_moments(c)))
        return;
    const unsigned in = (unsigned)c->in_bytes, result = (unsigned)(c->out_bytes * c->per_result);
    const unsigned vector = granule(c), spare = (keys       ? 2
                                                 : segments ? 3
                                                            : 1) *
                                                    TO_SPARE +
                                                THREADS / 32 * 2 * round_up(acc + 16, 16);
    const unsigned second = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) ? in : 0;
    /* An element has a key, or a byte and a bit that say whether a segment begins; or a bit alone. */
    const unsigned head = keys ? 8 * (unsigned)c->index_bytes : tally_cuda_takes_vectors(c) ? 1 : 9;
    const unsigned bits = 8 * ((unsigned)most(in, result) + second) + head;
    const unsigned limit =
        (tally_cuda_shared_limit(architecture) / TALLY_CUDA_ONE_WAVE_BLOCKS - spare) / (THREADS / 8 * bits);
    /* A tile of variances takes some 700 instructions a thread besides. Vectors of floats as in bytes_of_stretch(): var
     * of 8 * 10^6 f32 by segments took 56 us on an H100, and 71; small tiles by keys and of others are as with short
     * stretches. */
    const bool has_moments = c->entry && c->monoid == TALLY_MONOID_moments,
               is_long = tally_cuda_takes_vectors(c) || (has_moments && in <= 4 && !rows_of_terms),
               is_always_long = tally_cuda_takes_vectors(c) && tally_dtype_is_float(c->desc.in) && !keys;
    const unsigned most_items = is_long ? MOST_OF_MOMENTS
                                : keys  ? MOST_ITEMS
                                        : MOST_OF_SEGMENTS,
                   of_vector = vector * (unsigned)most(in, result), short_vectors = STRETCH / of_vector | 1;
    unsigned vectors = (is_long ? LONG_STRETCH : STRETCH) / of_vector | 1;
    while (vectors > 1 && (vectors * vector > most_items || vectors * vector > limit))
        vectors -= 2;
    const unsigned shared = round_up(vectors * vector * (THREADS / 8) * bits + spare, 128);
    if (shared > tally_cuda_shared_limit(architecture)) /* bytes with results and keys of 8, before sm_80 */
        return;
    const unsigned few = few_vectors(is_always_long ? vectors : (unsigned)least(vectors, most(short_vectors, 3)));
    s->one_wave.items = vectors * vector;
    s->one_wave.threads = THREADS;
    s->one_wave.shared = shared;
    s->one_wave.few = tally_cuda_has_terms(c) ? few * vector : 0;
    if (s->one_wave.few)
        s->one_wave.few_shared = round_up(s->one_wave.few * (THREADS / 8) * bits + spare, 128);
}

/* scan_look_back.cu's struct scratch: a tile, and some more. */
static void look_back_sizes(const tally_computation *c, unsigned acc, tally_cuda_sizes *s) {
    enum { BLOCK = 256, WARPS = BLOCK / 32, GATES = 256, FEW = 1 << 20 };
    const unsigned result = (unsigned)(c->out_bytes * c->per_result), in = (unsigned)c->in_bytes;
    if (!tally_cuda_has_terms(c) || c->desc.grouping != TALLY_ALL_VALUES)
        return;
    s->look_back.block = BLOCK;
    s->look_back.most = acc > 8 ? UINT64_MAX : FEW;
    const unsigned rest = 2 * (WARPS + s->scan.summers / 32) * round_up(acc + 32, 16) + s->record_bytes + GATES,
                   widest = (unsigned)most(in, result), vector = granule(c);
    s->look_back.shared = round_up(BLOCK * s->scan.items * widest + 16, 128) + rest;
    s->look_back.few = few_vectors(s->scan.items / vector) * vector;
    if (s->look_back.few)
        s->look_back.few_shared = round_up(BLOCK * s->look_back.few * widest + 16, 128) + rest;
}

/* An entry of waves.cu. */
static unsigned entry_bytes(const tally_computation *c, const tally_cuda_sizes *s) {
    const bool needs_start = tally_cuda_needs_start(c);
    if (s->slot_bytes <= 8 && !needs_start)
        return s->slot_bytes == 4 ? 8 : 16;
    const bool is_apart = c->entry && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED && c->in_bytes <= 4;
    const unsigned words = (is_apart ? 3 : s->slot_bytes / 4) + (needs_start ? 2 : 0);
    return s->slot_bytes <= 32 || tally_cuda_has_higher_moments(c) ? 16 * ((words + 2) / 3) : s->record_bytes + 16;
}

/* ---- reductions along axes ---- */

enum { COLUMN_BYTES = 64 /* of accumulators a thread */, COLUMN_SHARED = 16384 /* bytes a block */ };

/* The neighbouring columns of a thread of scan_thin.cu: elements and results are a vector at most. Elements of 8 bytes
 * are aligned one by one. With 16 columns of bytes a thread has 121 registers, with 8 it has 60. In a reduction
 * (thin_columns.cu) positions of narrow integers take less room than an accumulator. */
static unsigned thin_width(const tally_computation *c, int architecture, const tally_cuda_sizes *s) {
    const unsigned most_columns = 8, slot = s->slot_bytes;
    if (!tally_is_scan(c))
        return c->entry && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED && c->in_bytes <= 2 ? most_columns
                                                                                                : s->column_width;
    unsigned width = c->in_bytes == 8 ? 1 : 16 / (unsigned)most(c->in_bytes, c->out_bytes * c->per_result);
    while (width > 1 &&
           ((width > most_columns && !tally_cuda_column_packs(c, architecture)) || width * slot > COLUMN_BYTES))
        width /= 2;
    return width;
}

/* A thread of tiny_rows.cu keeps the results of as many slabs as a vector has elements. */
static unsigned tiny_inner(const tally_computation *c, const tally_cuda_sizes *s) {
    enum { MOST = 4, MOST_BYTES = 128 };
    const unsigned column = (unsigned)(c->out_bytes * c->per_result) * s->vector;
    if (c->desc.grouping != TALLY_AXIS || c->in_bytes > 2 || s->is_large || tally_is_scan(c))
        return 0;
    return column * MOST <= MOST_BYTES ? MOST : column * 2 <= MOST_BYTES ? 2 : 0;
}

/* Threads load few bytes of narrow elements at a time, so there must be more of them. On an H200 sums of bf16 17 x 4096
 * x 4096 took 142 us with three blocks, 159 with four, and 210 with as many as the registers of the other kernels
 * leave. Bytes of many columns spill. */
static unsigned column_blocks(const tally_computation *c, int architecture, unsigned acc, const tally_cuda_sizes *s) {
    enum { MANY = 4, SOME = 3, FEW = 2 };
    const bool has_second = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS);
    const bool loads_few = c->in_bytes <= 2 && acc <= 32 && s->column_width <= 4 * c->in_bytes && !has_second;
    if (tally_cuda_has_half_columns(c))
        return MANY; /* whose accumulators are in shared memory */
    if (loads_few || tally_cuda_column_packs(c, architecture))
        return SOME;
    /* var of f32 7 x 30001 x 1200 took 267 us with three blocks, 290 with two */
    const bool fits_thrice = c->entry && c->in_bytes >= 4 &&
                             (tally_class_of(c->monoid) == TALLY_CLASS_INDEXED || c->monoid == TALLY_MONOID_moments);
    return s->column_width * acc <= 32 ? (has_second ? SOME : MANY) : acc > 32 ? 1 : fits_thrice ? SOME : FEW;
}

static void column_sizes(const tally_computation *c, int architecture, unsigned acc, tally_cuda_sizes *s) {
    const bool are_halves = tally_cuda_has_half_columns(c), are_brief = tally_cuda_brief_moments(c) != 0;
    const unsigned times = are_brief || are_halves ? 2 : 1; /* threads add up in fewer registers */
    s->tiny_inner = tiny_inner(c, s);
    s->column_width = s->vector;
    while (s->column_width > 1 && s->column_width * s->slot_bytes > times * COLUMN_BYTES)
        s->column_width /= 2;
    s->thin_width = thin_width(c, architecture, s) / (are_halves && !are_brief ? 2 : 1);
    s->column_spots = TALLY_CUDA_BLOCK * s->column_width;
    while (s->column_spots * s->slot_bytes > times * COLUMN_SHARED)
        s->column_spots /= 2;
    s->column_blocks = column_blocks(c, architecture, acc, s);
    /* which load few bytes: argmax of f32 4 x 20001 x 3001 took 283 us in four blocks, 332 in three */
    s->single_blocks = s->column_blocks + (s->column_blocks == 2   ? c->in_bytes <= 4
                                           : s->column_blocks == 3 ? c->in_bytes == 4
                                                                   : 0);
}

static void exact_sizes(const tally_computation *c, tally_cuda_sizes *s) {
    const bool has_long_terms = c->exact && c->in_bytes == 2 && tally_cuda_exact_has_products(c);
    s->exact.vectors = c->monoid == TALLY_MONOID_dot || has_long_terms ? 2 : 4;
}

/* Exact sums of keys take more time in a chunk than its heads do. */
static unsigned heads_chunk(const tally_computation *c) {
    enum { OF_SUMS = 256, OF_HEADS = 1024 };
    return c->exact && !c->takes_words ? OF_SUMS : OF_HEADS;
}

/* struct row_sum of exact.cu: the limbs, with NaNs left out their number, the SAW_ bits, and the number of blocks that
 * have added theirs. */
static unsigned exact_slot_bytes(const tally_computation *c) {
    return (unsigned)((size_t)(tally_cuda_exact_sum_limbs(c) + tally_cuda_exact_limbs(c) + c->skips_nan) *
                          sizeof(int64_t) +
                      2 * sizeof(uint32_t));
}

/* Whether a thread can have a table of accumulators, which have no numbers of elements beside them. */
static bool has_tables(const tally_computation *c, unsigned acc) {
    return c->desc.grouping == TALLY_LABELS && !c->exact && !c->words.count && c->entry && acc <= 8 &&
           c->per_result == 1 && !tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) && !tally_cuda_lowers_by_count(c) &&
           !tally_empty_is_error(c);
}

/* Whether a reduction by labels is a sum that label_sums.cu makes an integer. */
static bool has_window(const tally_computation *c) {
    return c->desc.grouping == TALLY_LABELS && c->entry && !c->words.count &&
           (c->monoid == TALLY_MONOID_sum || c->monoid == TALLY_MONOID_sumabs) && tally_dtype_is_float(c->desc.in);
}

static bool has_integers(const tally_computation *c) {
    if (c->desc.grouping != TALLY_LABELS || c->exact || c->words.count || !c->entry ||
        tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS))
        return false;
    const tally_monoid_class kind = tally_class_of(c->monoid);
    const bool adds = kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE || kind == TALLY_CLASS_COUNT;
    return adds && (kind == TALLY_CLASS_COUNT || !tally_dtype_is_float(c->desc.acc));
}

static bool has_cells(const tally_computation *c, unsigned acc) {
    return c->desc.grouping == TALLY_LABELS && !c->exact && !c->words.count && acc <= 8 && c->per_result == 1 &&
           !tally_cuda_lowers_by_count(c) && tally_cuda_cell_kind(c);
}

static void label_sizes(const tally_computation *c, unsigned acc, tally_cuda_sizes *s) {
    s->has_tables = has_tables(c, acc);
    s->has_cells = has_cells(c, acc);
    s->has_window = has_window(c);
    s->label_bytes = !s->has_cells ? 0 : acc > 4 ? 8 : 4;
    s->labels_may_fail = s->has_window || (s->has_cells && tally_empty_is_error(c));
    if (!s->has_window && !has_integers(c))
        return;
    s->label_has_counts = tally_cuda_lowers_by_count(c) || tally_cuda_counts_elements(c);
    const unsigned of_table = s->has_window && c->in_bytes == 8 ? 3 : 2; /* words of an integer */
    s->label_words = of_table + s->has_window + s->label_has_counts;
    s->label_bytes = (of_table + s->label_has_counts) * 4;
}

int tally_cuda_cell_kind(const tally_computation *c) {
    switch (c->monoid) {
    case TALLY_MONOID_min:
        return TALLY_CUDA_CELL_MIN;
    case TALLY_MONOID_max:
    case TALLY_MONOID_maxabs:
        return TALLY_CUDA_CELL_MAX;
    case TALLY_MONOID_band:
        return TALLY_CUDA_CELL_AND;
    case TALLY_MONOID_bor:
        return TALLY_CUDA_CELL_OR;
    case TALLY_MONOID_bxor:
        return TALLY_CUDA_CELL_XOR;
    default:
        return 0;
    }
}

/* exact_chunks.cu's struct chunks_scratch. */
static void chunk_sizes(const tally_computation *c, tally_cuda_sizes *s) {
    enum { WARP = 32, ROW_BYTES = 64 /* of a chunk that are loaded together */ };
    if (!tally_cuda_scans_by_chunks(c))
        return;
    const unsigned place = (unsigned)most(c->in_bytes, c->out_bytes), pitch = ROW_BYTES + (unsigned)most(place, 4),
                   warps = TALLY_CUDA_EXACT_CHUNKS_BLOCK / WARP;
    unsigned items = ROW_BYTES; /* divided by the place of an element, a power of two */
    for (unsigned bytes = place; bytes > 1; bytes /= 2)
        items /= 2;
    s->chunks.items = items;
    s->chunks.shared = (tally_cuda_scan_integer_of(c).words + 1) * TALLY_CUDA_EXACT_CHUNKS_BLOCK * 4 +
                       warps * (WARP * pitch + round_up(items * 4, 8));
}

enum { LABEL_ITEMS = 8 }; /* of a thread of sort_labels.cu */

void tally_cuda_sizes_of(const tally_computation *c, int architecture, tally_cuda_sizes *s) {
    unsigned acc = tally_cuda_accumulator_bytes(c), in = (unsigned)tally_dtype_size(c->desc.in);
    memset(s, 0, sizeof *s); /* all are in the kernels' text, by which the caches find it */
    s->slot_bytes = c->exact && !tally_is_scan(c) ? exact_slot_bytes(c)
                    : acc <= 8 || c->in_window    ? acc
                                                  : round_up(acc, 16);
    s->handed_bytes = 2 * round_up(s->slot_bytes, 8);
    s->record_bytes = round_up(round_up(acc, 8) + 8 + 16, 16);
    s->is_large = acc > 32 && !tally_cuda_has_higher_moments(c);
    s->vector = 16 / in;
    s->unroll = s->is_large ? 1 : 4; /* with 8 argmin of 657,000 f32 took 13.5 us on an H200, with 4 11.8 */
    s->has_clusters = architecture >= 90 && c->desc.grouping == TALLY_ALL_VALUES && acc <= 32;
    s->begins_slowly = tally_cuda_looks_up_exponentials(c);
    s->has_row_clusters = architecture >= 90 && c->desc.grouping == TALLY_AXIS && acc <= 32 && !c->is_sized;
    s->cluster_threads = acc > 16 ? TALLY_CUDA_BLOCK : s->has_row_clusters ? 512 : 1024;
    column_sizes(c, architecture, acc, s);
    s->entry_bytes = entry_bytes(c, s);
    if (!c->takes_words && !c->gives_words) { /* states have exact mode's kernels only */
        scan_sizes(c, architecture, acc, s);
        one_wave_sizes(c, architecture, acc, s);
        look_back_sizes(c, acc, s);
        tally_cuda_fold_sizes(c, architecture, s);
        chunk_sizes(c, s);
    }
    exact_sizes(c, s);
    s->heads_chunk = heads_chunk(c);
    s->group_part_bytes = round_up(2 * s->slot_bytes + 2 * (unsigned)sizeof(uint64_t), 16);
    s->bucket_items = in == 8 ? 8 : 16;
    s->bucket_shared = TALLY_CUDA_MOST_BUCKETS * 12 + 256 + TALLY_CUDA_BUCKET_THREADS * s->bucket_items * (4 + in);
    label_sizes(c, acc, s);
    s->label_tile = TALLY_CUDA_LABEL_THREADS * LABEL_ITEMS;
}
