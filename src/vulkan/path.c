#include "vulkan/path.h"

#include <string.h>

#include "core/arithmetic.h"
#include "vulkan/exact.h"
#include "vulkan/exact_scan.h"

/* Figures are of 2^28 values of f32 on an H200, of the speed of a shader that only reads or that copies. */
enum {
    GROUPS = 1024,      /* workgroups of a long reduction */
    ROW_GROUPS = 512,   /* of consecutive elements, */
    ROW_STEPS = 16,     /* or half, where chunks had fewer steps: 2^24 values in 27 us, not 31, 2^25 in 43, not 46 */
    SCAN_GROUPS = 8192, /* of a long scan: 0.66; 1024: 0.64 */
    LEAST_SCANNED = 1 << 16,     /* bytes of each, if there are GROUPS: what two steps of the first pass load */
    MOMENT_GROUPS = 2112,        /* of moments */
    WHOLE_ROWS = 512,            /* so many rows are scanned whole, by a workgroup each */
    GROUP_CHUNKS = 2112,         /* of scans by groups and reductions by keys */
    ROW_CHUNKS = 2112,           /* of many rows that are scanned as groups, */
    LONGEST_IN_CHUNKS = 1 << 18, /* elements: of longer ones a tile that is not full is little */
    ONCE_GROUPS = 396,           /* of a long scan in one pass: 0.95; 264: 0.82; 528 to 1056: 0.94 to 0.95 */
    SCAN_THREADS = 1 << 16, /* that a scan along columns is cut into. 0.67, as then 65536 columns take one pass; 2^17:
                               0.49. Half of elements of 8 bytes have as many bytes on their way: not timed alone */
    UNROLL = 8,             /* vectors a thread, at most: specialize.c has it, too */
    STEPS = 4,              /* times UNROLL vectors that a thread has of a row, */
    LEAST_ROW = 16,         /* unless fewer threads than this would share it */
    LEAST_ROWS = 16, /* of a workgroup of short_rows.comp. 256 f32: 0.92, 0.76 by reduce.comp; longer ones: not tried */
    LONGEST_ROW = 128,      /* vectors of a segment that a thread of its team takes */
    LONGEST_TILED = 256,    /* the same in tiled_segments.comp; not tuned */
    TILES = 8,              /* of its workgroup. Segments of 64, 512: 0.75, 0.81; 4: 0.73, 0.78; 2: 0.68, 0.69 */
    MOST_TILES = 16,        /* where lengths differ; not tuned */
    PART_CHUNKS = 2112,     /* that segments longer than one are cut into, */
    LEAST_PART = 1 << 16,   /* and their bytes; not tuned */
    CELLS = 8,              /* a thread's in slabs.comp */
    WIDE_ROW = 256,         /* bytes, */
    SECTOR = 32,            /* and of scans with places: argmax down 8 columns of u32 375 us, in tiles 470 */
    NARROW_GROUPS = 2112,   /* workgroups of narrow_columns(), */
    LEAST_NARROW = 1 << 16, /* and bytes of a slab: of fewer, folding lanes is most of the work */
    MOST_MERGED = 1024,     /* bytes of a row whose results' words several threads would merge */
    FEW_ROWS = 4,           /* few_vectors of few_rows.comp, */
    LEAST_SPANS = 4,        /* workgroups that have a slab, or threads divide */
    MOST_UNIT = 32,         /* and the bytes of its few_results */
    WORD_UNITS = 256,       /* columns: of fewer, one unit more is too many */
    SLAB_GROUPS = 2112,     /* workgroups of slabs.comp; not tuned */
    TILE_GROUPS = 2048,     /* workgroups; segments of 8: 0.32, 1024: 0.30 */
    LONGEST_MEAN = 4096,    /* bytes; segments of 512 f32: 0.81, by teams 0.63; of 4096 0.83 and 0.86 */
    SHORTEST_MEAN = 16,     /* bytes; any of u8 by segments of 5 took 1083 us in such tiles, by tiled_segments() 1521 */
    RUNNING_MEAN = 256,     /* logsumexp: of 124 i32 by tiles 2175 us, by teams 876; of 28 u32 255 and 375 */
    RUN_CHUNK = 1 << 15,    /* elements: runs of 128 and more are few in it (long_runs.comp) */
    SHORT_ROW = 512,        /* rows up to here are scanned by a thread each */
    ROWS_A_THREAD = 8,      /* of a column, at least */
    PANEL = 64,             /* neighbouring threads that have columns of their own, if there are as many */
    THREADS = 1 << 17,      /* that fill a device */
    LEAST_STRETCH = 32      /* rows of a column that a scanning thread takes */
};
static const uint64_t MOST_ONCE = UINT64_C(1) << 27;   /* tiles: 32 bits count words of their sums */
static const uint64_t MOST_GROUPS = UINT64_C(1) << 31; /* that kernels count in 32 bits, with one turn more */

/* Whether all passes of a plan are of tiles, between which a workgroup's threads wait for each other: fewer threads
 * wait less. On an H200 argmax of 2 * 10^7 f32 takes 247 us instead of 302, sums by segments of 3000 156 instead of
 * 177. But scans in one pass lose, and so do slabs, along an axis. */
static bool has_only_tiles(const tally_vulkan_device *device, const tally_computation *c) {
    if (!c->entry || c->exact)
        return false;
    return c->desc.grouping == TALLY_KEYS ||
           (tally_is_scan(c) && (c->desc.grouping == TALLY_SEGMENTS ||
                                 (c->desc.grouping == TALLY_ALL_VALUES && !tally_vulkan_takes_once(device, c))));
}

uint32_t tally_vulkan_block_of(const tally_vulkan_device *device, const tally_computation *c, tally_vulkan_slot slot) {
    enum { BESIDES = 1024, LEAST = 32 /* a word of head bits */ };
    const unsigned tile = tally_vulkan_tile_slots(slot), slots = slot.bytes * (1 + tile), spread = slots / 32 + 1;
    const unsigned of_team = (slot.bytes + (unsigned)sizeof(uint32_t)) / 8 + 1;
    const unsigned words = (unsigned)sizeof(uint32_t) * (1 + 4), heads = 2, more = (unsigned)sizeof(uint32_t);
    const unsigned a_thread = slots + spread + of_team + words + heads + more;
    uint32_t block = has_only_tiles(device, c) ? device->block / 2 : device->block;
    while (block > LEAST && block * a_thread + BESIDES > device->shared_bytes)
        block /= 2;
    return block;
}

/* On an H200 sums by segments of 10 (power law) of 5 * 10^7 f32 took 350 us in such tiles, with the block of teams 401.
 */
uint32_t tally_vulkan_block_of_segments(uint32_t block) {
    enum { LEAST = 64 };
    return block > LEAST ? block / 2 : block;
}

uint32_t tally_vulkan_block_of_groups_once(const tally_vulkan_device *device, uint32_t block) {
    return 2 * block <= device->block ? 2 * block : block; /* more tiles are looked back at together */
}

/* The least power of two that is not less. */
static uint64_t power_of_two(uint64_t n, uint64_t limit) {
    uint64_t power = 1;
    while (power < n && power < limit)
        power *= 2;
    return power;
}

/* Cuts into chunks of whole steps, at most 'wanted'. */
static void cut_chunks(tally_vulkan_cut *cut, uint64_t step, uint64_t wanted) {
    const uint64_t chunks = most(1, least(divide_up(cut->extent, step), wanted));
    cut->chunk = least(most(1, divide_up(divide_up(cut->extent, chunks), step)) * step, TALLY_VULKAN_MOST_CHUNK);
    cut->chunks = most(1, divide_up(cut->extent, cut->chunk));
}

/* Elements whose neighbours lie next to each other: a thread has about STEPS steps of UNROLL vectors, unless the device
 * would not be full then. */
static void divide_row(uint32_t block, const tally_computation *c, tally_vulkan_cut *cut) {
    const uint64_t step = UNROLL * (16 / c->in_bytes), most_threads = power_of_two(divide_up(cut->extent, step), block);
    uint64_t threads = most_threads;
    while (cut->columns > 1 && threads > LEAST_ROW && cut->extent < threads * step * STEPS &&
           cut->columns * threads / 2 >= THREADS)
        threads /= 2;
    cut->width = 0;
    cut->many = (uint32_t)(cut->columns > 1 ? threads : block);
    cut->panels = divide_up(cut->columns, block / cut->many);
}

/* Whether a thread may take several neighbouring columns: its lanes are short. */
static bool takes_columns(const tally_computation *c) {
    return c->entry && tally_class_of(c->monoid) != TALLY_CLASS_FLOATS;
}

/* Units of 'each' neighbouring columns of one row; those at its ends may overlap. */
static uint64_t units_of(const tally_vulkan_cut *cut, uint64_t each) {
    const uint64_t inner = most(1, cut->inner); /* for static analysis: it is not 0 */
    return cut->columns / inner * divide_up(inner, each);
}

/* The same of a reduction. Units of narrow results begin where words do: fits_words() of reduce.comp. */
static uint64_t units_to_fold(const tally_computation *c, const tally_vulkan_cut *cut, uint64_t each) {
    const uint64_t ahead = sizeof(uint32_t) - 1; /* results of the row before in its first word, at most */
    const bool in_words = each == 4 && c->out_bytes < sizeof(uint32_t) && c->per_result == 1 &&
                          (cut->inner % 4 != 0 || cut->inner >= WORD_UNITS);
    return in_words ? cut->columns / most(1, cut->inner) * divide_up(cut->inner + ahead, each) : units_of(cut, each);
}

/* COLUMNS_A_THREAD of reduce.comp. */
static uint64_t columns_a_thread(const tally_computation *c) {
    return c->in_bytes == 8 ? 2 : 4;
}

/* FEW_COLUMNS of few_rows.comp. */
static uint64_t few_columns(const tally_computation *c) {
    const uint64_t results = MOST_UNIT / (c->out_bytes * c->per_result);
    return tally_is_scan(c) ? columns_a_thread(c) : most(columns_a_thread(c), least(16 / c->in_bytes, results));
}

/* The other shapes: neighbouring threads take neighbouring columns, several each if rows have as many. */
static void divide_columns(uint32_t block, const tally_computation *c, tally_vulkan_cut *cut) {
    const uint64_t each = columns_a_thread(c);
    cut->many = takes_columns(c) && cut->inner >= each ? (uint32_t)each : 1;
    const uint64_t units = tally_is_scan(c) ? units_of(cut, cut->many) : units_to_fold(c, cut, cut->many),
                   rows_at_once = power_of_two(cut->extent / ROWS_A_THREAD, block),
                   wide = most(PANEL, block / rows_at_once);
    cut->width = (uint32_t)power_of_two(units, least(wide, block));
    cut->panels = divide_up(units, cut->width);
}

/* Tiles of rows do not know places, and accumulators with them are long. */
static bool has_places(const tally_computation *c) {
    return tally_class_of(c->monoid) == TALLY_CLASS_INDEXED;
}

bool tally_vulkan_takes_tiles(const tally_computation *c, tally_vulkan_slot slot) {
    return c->entry && !c->exact && !tally_is_scan(c) && !has_places(c) && tally_vulkan_tile_slots(slot) > 1;
}

/* As many rows as a workgroup has room for. Returns false if they are not short. */
static bool cut_short_rows(uint32_t block, const tally_computation *c, tally_vulkan_slot slot, tally_vulkan_cut *cut) {
    const uint64_t bytes = cut->extent * c->in_bytes, room = block * tally_vulkan_tile_slots(slot);
    if (!tally_vulkan_takes_tiles(c, slot) || cut->columns == 1 || !bytes || bytes % 16 ||
        bytes / 16 > room / LEAST_ROWS)
        return false;
    const uint64_t rows = least(room / (bytes / 16), block);
    cut->path = TALLY_VULKAN_FOLD_ROWS;
    cut->width = (uint32_t)rows;
    cut->many = (uint32_t)(block / power_of_two(rows, block));
    cut->panels = divide_up(cut->columns, rows);
    cut->scan_groups = least(cut->panels, GROUPS);
    cut->chunks = 1;
    return true;
}

/* Elements that a workgroup of slabs.comp has cells for, wherever the first of them lies in a vector. */
static uint64_t slab_cells(uint32_t block, const tally_computation *c) {
    const bool scans = tally_is_scan(c), two_words = c->in_bytes == 8 || (scans && c->out_bytes == 8);
    const bool two_planes = c->monoid == TALLY_MONOID_dot || (scans && c->per_result == 2);
    return (uint64_t)block * CELLS / (two_words ? 2 : 1) / (two_planes ? 2 : 1) - 16 / c->in_bytes;
}

/* Whether a thread had better take neighbouring columns of few rows than a workgroup the slab: neighbouring threads
 * load whole lines, and a unit's results fill words. On an H100 extents of 1 to 3 take 0.42 to 0.7 of their time, of
 * 9 1.26. */
static bool takes_few_rows(const tally_computation *c, const tally_vulkan_cut *cut) {
    const bool scans = tally_is_scan(c);
    const uint64_t result = c->out_bytes * c->per_result, row = cut->inner * result; /* words must not be merged */
    return tally_vulkan_has_few(c->monoid) && !(scans && tally_vulkan_takes_moments(c)) && cut->extent &&
           cut->extent <= FEW_ROWS && cut->inner * c->in_bytes >= WIDE_ROW &&
           (c->out_bytes >= sizeof(uint32_t) || c->in_bytes <= sizeof(uint32_t)) &&
           columns_a_thread(c) * result <= MOST_UNIT &&
           (!scans || c->out_bytes >= sizeof(uint32_t) || cut->extent == 1 || row % 16 == 0);
}

/* As many slabs as a workgroup has room for, but enough workgroups for the device; threads that have no column of their
 * own share one with others. Returns false if slabs are not short. */
static bool cut_slabs(uint32_t block, const tally_computation *c, tally_vulkan_cut *cut) {
    const uint64_t cells = slab_cells(block, c);
    if (cut->extent == 1) { /* a slab of any size is as good as many small ones, and so is one row */
        cut->inner = cut->columns;
        if (takes_few_rows(c, cut))
            return false;
        cut->inner = 1;
    }
    if (!c->entry || takes_few_rows(c, cut) || c->desc.grouping != TALLY_AXIS || cut->columns == 1 || !cut->extent ||
        cut->inner > cells || cut->extent > cells / cut->inner)
        return false;
    const uint64_t slab = cut->extent * cut->inner, slabs = cut->columns / cut->inner;
    const bool is_packed = !tally_is_scan(c) && c->in_bytes < sizeof(uint32_t);
    const uint64_t room = cells * (is_packed ? sizeof(uint32_t) / c->in_bytes : 1);
    const uint64_t rows = most(1, least(room / slab, divide_up(slabs, GROUPS))), columns = rows * cut->inner;
    uint64_t team = 1;
    while (2 * team * columns <= block && 2 * team <= cut->extent)
        team *= 2;
    cut->path = TALLY_VULKAN_BY_SLABS;
    cut->width = (uint32_t)rows;
    cut->many = (uint32_t)team;
    cut->panels = divide_up(slabs, rows);
    cut->scan_groups = least(cut->panels, SLAB_GROUPS);
    cut->chunks = 1;
    return true;
}

static uint32_t fold_width(uint32_t block, const tally_vulkan_cut *cut) {
    return (uint32_t)power_of_two(cut->columns, most(1, block / power_of_two(cut->chunks, 256)));
}

static void cut_few_rows(uint32_t block, const tally_computation *c, tally_vulkan_cut *cut) {
    const uint64_t each = few_columns(c), slabs = cut->columns / most(1, cut->inner);
    const uint64_t width = divide_up(cut->inner + each - 1, each); /* where results begin in the middle of a unit */
    cut->many = width >= LEAST_SPANS * block ? (uint32_t)divide_up(width, block) : 0;
    cut->width = (uint32_t)least(width, UINT32_MAX); /* not looked at if there are many */
    cut->panels = cut->many ? slabs * cut->many : divide_up(slabs * width, block);
    cut->chunk = cut->extent;
    cut->chunks = 1;
}

/* Rows of few columns, as one stretch of memory. Returns false if columns are not few. */
static bool cut_narrow_columns(uint32_t block, const tally_computation *c, tally_vulkan_cut *cut) {
    const uint64_t each = takes_columns(c) ? columns_a_thread(c) : 1;
    const uint64_t inner = most(1, cut->inner), repeats = inner & (0 - inner);
    const uint64_t period = inner / least(each, repeats); /* threads that have whole rows */
    if (!tally_vulkan_has_few(c->monoid) || period > block || inner > block || !cut->extent)
        return false;
    cut->fold = TALLY_VULKAN_NARROW_COLUMNS;
    cut->width = (uint32_t)(block / period * period);
    cut->many = (uint32_t)period;
    cut->panels = cut->columns / inner;
    return true;
}

/* Scans down columns so few that neighbouring threads would load and store parts of lines: tiles of rows in shared
 * memory. Returns false for others. */
static bool cut_tall_slabs(uint32_t block, const tally_computation *c, tally_vulkan_cut *cut) {
    const uint64_t result = c->per_result * c->out_bytes, rows = slab_cells(block, c) / cut->inner;
    const bool merges_words = tally_class_of(c->monoid) == TALLY_CLASS_FLOATS && c->out_bytes < sizeof(uint32_t);
    const uint64_t widest = has_places(c) ? SECTOR - 1 : merges_words ? MOST_MERGED : WIDE_ROW;
    if (cut->inner == 1 || cut->inner > block || !rows || cut->inner * most(c->in_bytes, result) > widest ||
        !cut_narrow_columns(block, c, cut))
        return false;
    const uint64_t slabs = cut->panels;
    uint64_t team = 1;
    while (2 * team * cut->inner <= block && 2 * team <= rows)
        team *= 2;
    cut->path = TALLY_VULKAN_ALONG_COLUMNS;
    cut->tall_rows = (uint32_t)rows;
    cut->team = (uint32_t)team;
    cut_chunks(cut, rows, most(1, SLAB_GROUPS / slabs));
    cut->scan_groups = slabs * cut->chunks;
    return true;
}

static void cut_fold(uint32_t block, const tally_computation *c, tally_vulkan_slot slot, tally_vulkan_cut *cut) {
    if ((cut->inner == 1 && cut_short_rows(block, c, slot, cut)) || cut_slabs(block, c, cut))
        return;
    cut->path = TALLY_VULKAN_FOLD;
    if (cut->inner == 1) {
        divide_row(block, c, cut);
        if (cut->many == block) {
            const uint64_t step = (uint64_t)block * UNROLL * (16 / c->in_bytes);
            const bool is_long = cut->elements >= ROW_GROUPS * ROW_STEPS * step;
            cut_chunks(cut, step, ROW_GROUPS / (is_long ? 1 : 2) / cut->columns);
        } else {
            cut->chunk = most(1, cut->extent);
            cut->chunks = 1;
        }
    } else if (takes_few_rows(c, cut)) {
        cut->fold = TALLY_VULKAN_FEW_ROWS;
        cut_few_rows(block, c, cut);
    } else if (cut->extent * cut->inner * c->in_bytes >= LEAST_NARROW &&
               !(has_places(c) && cut->inner * c->in_bytes % 16 == 0) && /* argmin of 12 f32 76 us, as a stretch 87 */
               cut_narrow_columns(block, c, cut)) {
        const uint64_t step = divide_up(cut->width * columns_a_thread(c) * UNROLL, cut->inner);
        cut_chunks(cut, step, divide_up(NARROW_GROUPS, cut->panels));
    } else {
        divide_columns(block, c, cut);
        cut_chunks(cut, block / cut->width * ROWS_A_THREAD, GROUPS / cut->panels);
    }
    cut->fold_width = fold_width(block, cut);
}

static bool scans_once(const tally_vulkan_device *device, const tally_computation *c) {
    return device->least_once != UINT64_MAX && c->entry && !c->exact && tally_is_scan(c) &&
           (device->stores_bytes || 16 / c->in_bytes * c->out_bytes >= sizeof(uint32_t)) &&
           tally_vulkan_scans_once(c->monoid, tally_vulkan_arithmetic_of(device, c));
}
bool tally_vulkan_takes_once(const tally_vulkan_device *device, const tally_computation *c) {
    return c->desc.grouping == TALLY_ALL_VALUES && scans_once(device, c);
}
/* Narrow elements take three passes: on an H200 exclusive bor of 9 * 10^7 u8 by segments of 220 takes 184 us, in one
 * pass 479, or 171 where a thread has two vectors. Sums in one pass do not know how many elements they have. */
static bool scans_groups_once(const tally_vulkan_device *device, const tally_computation *c) {
    return scans_once(device, c) && c->in_bytes >= sizeof(uint32_t) && c->out_bytes >= sizeof(uint32_t) &&
           !tally_lowers_by_count(c->entry);
}
bool tally_vulkan_takes_groups_once(const tally_vulkan_device *device, const tally_computation *c) {
    return (c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS) && scans_groups_once(device, c);
}

bool tally_vulkan_takes_moments(const tally_computation *c) {
    const bool has_tiles = tally_is_scan(c) || c->desc.grouping == TALLY_KEYS;
    return c->entry && !c->exact && !c->skips_nan && has_tiles && c->monoid == TALLY_MONOID_moments;
}

/* Narrow elements gain, as vectors are aligned wherever rows begin: on an H200 band of 16994 x 4539 i16 takes 158 us,
 * not 527. Others lose: sums of rows 9000 x 3001 f64 366 instead of 228, means of 30000 x 3300 u8 1050 instead of 751.
 */
bool tally_vulkan_takes_rows(const tally_computation *c) {
    const bool divides = c->entry && tally_lower_component(c->entry->lower) < 0;
    return c->entry && !c->exact && tally_is_scan(c) && c->desc.grouping == TALLY_AXIS && !c->reverse &&
           c->in_bytes <= 2 && !divides && tally_class_of(c->monoid) != TALLY_CLASS_FLOATS;
}

bool tally_vulkan_takes_long_runs(const tally_computation *c) {
    const bool commutes = c->entry || c->user.commutes;
    return commutes && !c->exact && !tally_is_scan(c) && c->desc.grouping == TALLY_KEYS &&
           !tally_vulkan_takes_moments(c);
}

/* Elements of a tile of group_tiles.comp. */
static uint64_t group_tile(const tally_vulkan_device *device, uint32_t block, const tally_computation *c,
                           tally_vulkan_slot slot) {
    if (tally_vulkan_takes_moments(c))
        return (uint64_t)block * tally_vulkan_moments_a_thread(c->in_bytes);
    const tally_vulkan_part part = c->entry ? tally_vulkan_part_of(c->monoid, tally_vulkan_arithmetic_of(device, c))
                                            : (tally_vulkan_part){TALLY_VULKAN_ACCUMULATORS, slot.bytes, true};
    return (uint64_t)block * tally_vulkan_group_items(part, c->in_bytes);
}

/* Elements of a tile of a scan along rows. */
static uint64_t scan_tile(uint32_t block, const tally_computation *c, tally_vulkan_slot slot) {
    return (uint64_t)block * (tally_vulkan_takes_moments(c)
                                  ? tally_vulkan_moments_a_thread(c->in_bytes)
                                  : tally_vulkan_tile_vectors(slot, c->in_bytes) * (16 / c->in_bytes));
}

/* Words for a tile's sum are planes of so many tiles that windows are whole, and the ticket. Returns false if elements
 * are few or too many. */
static bool cut_tiles_once(const tally_vulkan_device *device, uint32_t block, uint64_t tile, uint64_t tiles,
                           tally_vulkan_slot slot, tally_vulkan_cut *cut) {
    enum { WINDOW = 32, LEAST_BLOCK = 128 };
    if (block < LEAST_BLOCK || cut->elements < device->least_once || !tiles || tiles > MOST_ONCE)
        return false;
    cut->tile = tile;
    cut->tiles = tiles;
    cut->once_words = divide_up(tiles, WINDOW) * WINDOW * (slot.bytes / 2) + 1;
    cut->once_groups = least(tiles, ONCE_GROUPS);
    return true;
}

static uint64_t once_tile(uint32_t block, const tally_computation *c, tally_vulkan_slot slot) {
    return (uint64_t)block * tally_vulkan_once_vectors(slot) * (16 / c->in_bytes);
}

/* Besides the two passes, which a number of elements that only the device knows takes. */
static void cut_once(const tally_vulkan_device *device, uint32_t block, const tally_computation *c,
                     tally_vulkan_slot slot, tally_vulkan_cut *cut) {
    const uint64_t tile = once_tile(block, c, slot);
    if (!tally_vulkan_takes_once(device, c) || !cut_tiles_once(device, block, tile, cut->extent / tile, slot, cut))
        return;
    cut->places = tally_vulkan_place(cut, cut->once_words * sizeof(uint32_t));
    cut->control = tally_vulkan_place(cut, slot.bytes);
}

/* Many rows of some tiles: chunks of whole rows, of two tiles or more. */
static void cut_rows(uint64_t tile, const tally_computation *c, tally_vulkan_cut *cut) {
    if (!tally_vulkan_takes_rows(c) || cut->columns < WHOLE_ROWS || cut->extent > LONGEST_IN_CHUNKS ||
        cut->extent * c->in_bytes % 16 == 0)
        return;
    cut->rows_a_chunk = most(divide_up(cut->columns, ROW_CHUNKS), divide_up(2 * tile, cut->extent));
    cut->rows_a_chunk = most(1, least(cut->rows_a_chunk, TALLY_VULKAN_MOST_CHUNK / cut->extent));
    cut->row_chunks = divide_up(cut->columns, cut->rows_a_chunk);
}

static void cut_scan(const tally_vulkan_device *device, uint32_t block, const tally_computation *c,
                     tally_vulkan_slot slot, tally_vulkan_cut *cut) {
    if (cut_slabs(block, c, cut))
        return;
    if (cut->inner == 1 && (cut->columns == 1 || cut->extent > SHORT_ROW)) {
        cut->path = TALLY_VULKAN_ALONG_ROWS;
        cut->width = 0;
        cut->many = block;
        cut->panels = cut->columns;
        const uint64_t filled = most(GROUPS, cut->elements * c->in_bytes / LEAST_SCANNED);
        const uint64_t groups = least(tally_vulkan_takes_moments(c) ? MOMENT_GROUPS : SCAN_GROUPS, filled);
        cut_chunks(cut, scan_tile(block, c, slot), cut->columns < WHOLE_ROWS ? groups / cut->columns : 1);
        cut->scan_groups = cut->columns * cut->chunks;
        cut_rows(group_tile(device, block, c, slot), c, cut);
        cut_once(device, block, c, slot, cut);
    } else if (takes_few_rows(c, cut)) {
        cut->path = TALLY_VULKAN_ALONG_COLUMNS;
        cut->few_rows = true;
        cut_few_rows(block, c, cut);
        cut->scan_groups = cut->panels;
    } else if (!cut_tall_slabs(block, c, cut)) {
        const bool is_narrow = c->in_bytes <= 4 && c->out_bytes < 4;
        const uint64_t units = units_of(cut, is_narrow && cut->inner >= 4 && takes_columns(c) ? 4 : 1);
        cut->path = TALLY_VULKAN_ALONG_COLUMNS;
        cut_chunks(cut, LEAST_STRETCH, SCAN_THREADS / (c->in_bytes == 8 ? 2 : 1) / units);
        divide_columns(block, c, cut);
        cut->scan_groups = divide_up(units * cut->chunks, block);
    }
    cut->fold_width = fold_width(block, cut);
}

/* Segments of this mean length: as many as some tiles have room for, but enough workgroups for the device. Longer ones
 * are better taken by teams; but where kernels compile for a CPU, one is to do. */
static void tile_segments(const tally_vulkan_device *device, uint32_t block, const tally_computation *c,
                          tally_vulkan_slot slot, uint64_t segments, uint64_t mean, tally_vulkan_cut *cut) {
    const uint64_t tile = (uint64_t)block * tally_vulkan_tile_slots(slot) * 16, bytes = most(1, mean * c->in_bytes);
    const uint64_t shared = most(divide_up(segments, GROUPS), tile / bytes);
    const uint64_t longest = tally_vulkan_has_running(c->monoid) ? RUNNING_MEAN : LONGEST_MEAN;
    if (!tally_vulkan_takes_tiles(c, slot) || (bytes > longest && !device->is_software))
        return;
    cut->at_once = (uint32_t)most(1, least(least(TILES * tile / bytes, shared), block));
    cut->most_tiled = (uint32_t)(MOST_TILES * tile / c->in_bytes);
    cut->many = (uint32_t)(block / power_of_two(cut->at_once, block));
    cut->width = (uint32_t)(cut->many * LONGEST_TILED * (16 / c->in_bytes));
    cut->panels = divide_up(segments, cut->at_once);
    cut->scan_groups = least(cut->panels, TILE_GROUPS);
}

/* Chunks of some tiles, for groups.comp. A reduction has the end of the input in a tile. */
static void cut_tiles(uint64_t tile, uint64_t least_chunks, const tally_computation *c, tally_vulkan_slot slot,
                      tally_vulkan_cut *cut) {
    cut->tile = tile;
    cut->tiles = tally_is_scan(c) ? most(1, divide_up(cut->extent, tile)) : cut->extent / tile + 1;
    cut_chunks(cut, tile, most(GROUP_CHUNKS, least_chunks));
    cut->control = tally_vulkan_place(cut, sizeof(tally_vulkan_control));
    cut->slots = tally_vulkan_place(cut, cut->chunks * tally_vulkan_record_bytes(slot) +
                                             divide_up(cut->extent, 32) * sizeof(uint32_t)); /* and bits of heads */
    if (c->desc.grouping == TALLY_SEGMENTS)
        cut->places = tally_vulkan_place(cut, cut->tiles * sizeof(uint64_t));
    cut->too_many = cut->tiles > MOST_GROUPS;
}

/* Reductions by segments: teams of threads as for rows of the segments' mean length. */
static void cut_teams(const tally_vulkan_device *device, uint32_t block, const tally_computation *c,
                      tally_vulkan_slot slot, uint64_t segments, uint64_t mean, tally_vulkan_cut *cut) {
    tally_vulkan_cut rows = {.columns = segments, .extent = mean};
    divide_row(block, c, &rows);
    cut->many = rows.many;
    cut->width = (uint32_t)(rows.many * LONGEST_ROW * (16 / c->in_bytes));
    cut->panels = divide_up(segments, block / cut->many);
    tile_segments(device, block, c, slot, segments, mean, cut);
    cut->too_many = cut->panels > MOST_GROUPS;
}

/* Tiles, or teams and, for long segments, chunks. Either leave two accumulators each, and one has the end of the input.
 */
static void cut_segments(const tally_vulkan_device *device, uint32_t block, const tally_computation *c,
                         tally_vulkan_slot slot, const tally_shape *shape, tally_vulkan_cut *cut) {
    const uint64_t mean = divide_up(cut->extent, most(1, shape->groups));
    const bool is_running = c->entry && tally_vulkan_has_running(c->monoid);
    if (c->entry && (is_running || mean * c->in_bytes > SHORTEST_MEAN)) {
        cut->path = TALLY_VULKAN_BY_SEGMENTS;
        cut_teams(device, block, c, slot, shape->groups, mean, cut);
        const uint64_t wanted = most(LEAST_PART / c->in_bytes, divide_up(cut->extent, PART_CHUNKS));
        cut->chunk = power_of_two(wanted, TALLY_VULKAN_MOST_CHUNK);
        cut->width = (uint32_t)least(cut->width, cut->chunk);
        cut->most_listed = (uint32_t)least(cut->extent / (cut->width + 1), UINT32_MAX);
        cut->listed = tally_vulkan_place(cut, cut->most_listed * sizeof(uint64_t));
    } else {
        cut->path = TALLY_VULKAN_IN_TILES;
        cut->chunk = group_tile(device, tally_vulkan_block_of_segments(block), c, slot);
    }
    cut->tile = cut->chunk;
    cut->tiles = cut->chunks = cut->extent / cut->chunk + 1;
    cut->control = tally_vulkan_place(cut, sizeof(tally_vulkan_control));
    cut->slots = tally_vulkan_place(cut, 2 * cut->tiles * slot.bytes);
    cut->places = tally_vulkan_place(cut, cut->tiles * sizeof(uint64_t));
    cut->too_many |= cut->tiles > MOST_GROUPS;
}

/* In one pass. The control block, the words and the heads lie together, since one dispatch clears them. */
static bool cut_groups_once(const tally_vulkan_device *device, uint32_t plan_block, const tally_computation *c,
                            tally_vulkan_slot slot, tally_vulkan_cut *cut) {
    const uint32_t block = tally_vulkan_block_of_groups_once(device, plan_block);
    const uint64_t tile = once_tile(block, c, slot);
    if (!tally_vulkan_takes_groups_once(device, c) ||
        !cut_tiles_once(device, block, tile, divide_up(cut->extent, tile), slot, cut))
        return false;
    cut->head_words = c->desc.grouping == TALLY_SEGMENTS ? divide_up(cut->extent, 32) : 0;
    cut->control = tally_vulkan_place(cut, sizeof(tally_vulkan_control));
    cut->slots = tally_vulkan_place(cut, cut->once_words * sizeof(uint32_t));
    cut->heads = tally_vulkan_place(cut, cut->head_words * sizeof(uint32_t));
    return true;
}

/* Long rows that begin off vectors, as groups of one array: no tile is left part empty, and vectors are aligned
 * wherever rows begin. Pieces take the other ways. On an H200 max of rows 9001 x 4003 f32 143 us, a row at a time 173;
 * but sum of 300000 x 37 i64 108, in slabs 62. */
static void cut_rows_once(const tally_vulkan_device *device, uint32_t plan_block, const tally_computation *c,
                          tally_vulkan_slot slot, tally_vulkan_cut *cut) {
    const uint32_t block = tally_vulkan_block_of_groups_once(device, plan_block);
    const uint64_t tile = once_tile(block, c, slot);
    if (c->desc.grouping != TALLY_AXIS || !scans_groups_once(device, c) || cut->inner != 1 || cut->columns == 1 ||
        cut->path != TALLY_VULKAN_ALONG_ROWS || cut->extent * c->in_bytes % 16 == 0 || cut->extent > INT32_MAX ||
        !cut_tiles_once(device, block, tile, divide_up(cut->elements, tile), slot, cut))
        return;
    cut->rows_once = true;
    cut->heads = tally_vulkan_place(cut, cut->once_words * sizeof(uint32_t));
}

static void cut_groups(const tally_vulkan_device *device, uint32_t block, const tally_computation *c,
                       tally_vulkan_slot slot, const tally_shape *shape, tally_vulkan_cut *cut) {
    const bool keys = c->desc.grouping == TALLY_KEYS;
    if (!cut->extent && keys)
        return;
    cut->path = TALLY_VULKAN_BY_GROUPS;
    if (!keys && !tally_is_scan(c))
        cut_segments(device, block, c, slot, shape, cut);
    else if (!cut_groups_once(device, block, c, slot, cut))
        cut_tiles(group_tile(device, block, c, slot),
                  tally_vulkan_takes_long_runs(c) ? divide_up(cut->extent, RUN_CHUNK) : 1, c, slot, cut);
}

void tally_vulkan_cut_make(const tally_vulkan_device *device, const tally_computation *c, tally_vulkan_slot slot,
                           const tally_shape *shape, tally_vulkan_cut *cut) {
    const bool axis = c->desc.grouping == TALLY_AXIS;
    const uint32_t block = tally_vulkan_block_of(device, c, slot);
    memset(cut, 0, sizeof *cut);
    cut->columns = axis ? shape->outer * shape->inner : 1;
    cut->extent = shape->extent;
    cut->inner = axis ? shape->inner : 1;
    cut->elements = cut->columns * cut->extent;
    if (tally_is_exact_scan(c)) {
        tally_vulkan_exact_scan_cut(device, c, slot, block, shape, cut);
        return;
    }
    if (c->exact) {
        tally_vulkan_exact_cut(device, c, shape, cut);
        return;
    }
    if (c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS) {
        cut_groups(device, block, c, slot, shape, cut);
        return;
    }
    if (!cut->columns || (tally_is_scan(c) && !cut->elements))
        return;
    if (tally_is_scan(c))
        cut_scan(device, block, c, slot, cut);
    else
        cut_fold(block, c, slot, cut);
    cut->too_many = cut->panels > MOST_GROUPS / cut->chunks || cut->scan_groups > MOST_GROUPS;
    if (cut->chunks > 1)
        cut->slots = tally_vulkan_place(cut, cut->columns * cut->chunks * slot.bytes);
    if (tally_is_scan(c))
        cut_rows_once(device, block, c, slot, cut);
}
