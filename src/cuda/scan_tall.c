#include "cuda/scan_tall.h"

#include "core/arithmetic.h"

enum {
    GROUP_BITS = 3,         /* 2^3 tiles of which the last one tells what they add up to, */
    SOME_STRANDS = 8,       /* with so many strands, which share the reading, */
    SOME_BITS = 4,          /* 2^4 tiles, */
    MANY_STRANDS = 32,      /* and where rows are narrow with so many */
    MANY_OF_GROUP_BITS = 6, /* 2^6 tiles; */
    CHAIN_BITS = 4,         /* and 2^4 groups of which the last one tells what all up to it add up to */
    PANEL_BYTES = 256,      /* of a row of a panel at most, and half as many if there would be few panels: */
    MANY_PANELS = 12,
    SECTOR_BYTES = 32, /* panels are whole ones */
    MOST_ACROSS = TALLY_CUDA_TALL_BLOCK / 4,
    TILE_BYTES = 32 << 10,
    MOST_TILE_BYTES = 48 << 10, /* where a multiprocessor has room for as many blocks as it has registers for */
    SPARE = 2 << 10,
    AT_ONCE = 4,    /* rows that a thread loads together; those left over it takes one by one */
    MANY_TURNS = 4, /* of blocks; of more, the last one need not be full */
    VECTOR = 16,    /* bytes */
    LEAST_EXTENT = 64,
    LEAST_ROWS = 8,       /* of a strand */
    MOST_TILES = 1 << 17, /* of a panel */
    MANY_ITEMS = 128,     /* rows of a thread */
    NARROW_BYTES = 256,   /* of a row that lies as in memory at most */
    WIDE_RESULTS = 128    /* bytes of a row of results that each thread stores by itself */
};

/* Whether threads have words of narrow integers (packed_scans.cu). */
static bool packs(const tally_computation *c, const tally_cuda_sizes *sizes, const tally_shape *shape) {
    return sizes->tall.packs && shape->inner * c->in_bytes <= NARROW_BYTES && shape->inner >= 2 * sizes->tall.width;
}

/* Which columns and rows a thread has follows from the shape, so that results do not depend on addresses; but results
 * of words are exact, and take the words' place if all are aligned. */
static bool cut_tiles(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                      const tally_shape *shape, bool are_aligned, tally_cuda_cut *cut) {
    const uint64_t outer = shape->outer, inner = shape->inner, extent = shape->extent;
    if (!sizes->tall.items || c->is_sized || inner < 2 || extent < LEAST_EXTENT)
        return false;
    const bool are_packed = packs(c, sizes, shape), keeps_width = c->out_bytes * c->per_result == c->in_bytes;
    /* halves of narrow rows one by one if a thread may have many, so that results take their place */
    const bool are_halves = keeps_width && c->in_bytes == 2 && inner * c->in_bytes <= NARROW_BYTES / 2;
    const bool is_single =
        !are_packed && (inner % sizes->tall.width || (are_halves && sizes->tall.items >= MANY_ITEMS));
    const uint64_t width = is_single ? 1 : sizes->tall.width, bytes = width * c->in_bytes;
    const uint64_t threads = divide_up(inner, width);
    uint64_t most_across = least(MOST_ACROSS, PANEL_BYTES / bytes);
    if (inner * c->in_bytes > NARROW_BYTES && outer * divide_up(threads, most_across) < MANY_PANELS)
        most_across = least(MOST_ACROSS, PANEL_BYTES / 2 / bytes);
    uint64_t panels = divide_up(threads, most_across), across = divide_up(threads, panels);
    if (panels > 1) {
        across = least(round_up(across, most(1, SECTOR_BYTES / bytes)), most_across);
        panels = divide_up(threads, across);
    }
    /* rows that would be padded to twice their bytes lie as in memory, where threads that have an odd number of them
     * use all banks */
    const bool are_narrow = panels == 1 && inner * c->in_bytes <= NARROW_BYTES;
    const uint64_t strands = TALLY_CUDA_TALL_BLOCK / across;
    const uint64_t pitch = are_narrow ? inner * c->in_bytes : round_up(across * bytes, VECTOR) + VECTOR;
    const uint64_t inputs = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS) ? 2 : 1;
    const uint64_t result = c->out_bytes * c->per_result;
    /* in the place of elements, or in memory of their own if a row of them is narrow, too, or if threads take elements
     * out of words, which their neighbours' results would be in */
    const bool are_staged = are_narrow && (result == c->in_bytes || inner * result < WIDE_RESULTS);
    const bool are_in_place = result == c->in_bytes && (width == 1 || (are_packed && are_aligned));
    const uint64_t of_results = are_staged && !are_in_place ? inner * result : 0;
    const uint64_t at_a_time = (uint64_t)device->multiprocessors * sizes->tall.blocks;
    const uint64_t tile_bytes =
        most(TILE_BYTES,
             least(MOST_TILE_BYTES, device->shared_bytes_per_sm / sizes->tall.blocks - sizes->tall.sums - SPARE));
    const uint64_t room = most(1, least(sizes->tall.items, tile_bytes / ((inputs * pitch + of_results) * strands)));
    const uint64_t of_strands = divide_up(extent, strands),
                   turns = divide_up(outer * panels * divide_up(of_strands, room), at_a_time);
    /* whole columns of a panel, if there are enough: then no tile waits for another */
    const bool are_whole = of_strands <= room && outer * panels >= (uint64_t)device->multiprocessors;
    const uint64_t fair = are_whole || turns > MANY_TURNS ? least(room, of_strands)
                                                          : divide_up(of_strands * outer * panels, at_a_time * turns);
    const uint64_t odd = are_narrow ? 1 : 0, wanted = round_up(most(fair, LEAST_ROWS), AT_ONCE) + odd;
    const uint64_t fits = room > AT_ONCE ? (room - odd) / AT_ONCE * AT_ONCE + odd : are_narrow ? (room - 1) | 1 : room;
    const uint64_t rows = least(least(wanted, fits), of_strands | odd);
    const uint64_t tiles = divide_up(extent, strands * rows);
    if (tiles > MOST_TILES || tiles * outer * panels > INT32_MAX)
        return false;
    cut->path = TALLY_CUDA_TALL;
    cut->tall.tiles = tiles;
    cut->tall.panels = panels;
    cut->tall.width = (unsigned)width;
    cut->tall.across = (unsigned)across;
    cut->tall.strands = (unsigned)strands;
    cut->tall.rows = (unsigned)rows;
    cut->tall.pitch = (unsigned)pitch;
    cut->tall.tile = (unsigned)(round_up(strands * rows * pitch, VECTOR) + (are_narrow ? 2 * VECTOR : 0));
    const bool are_many = are_narrow && strands >= MANY_STRANDS;
    cut->tall.group_bits = are_many ? MANY_OF_GROUP_BITS : strands >= SOME_STRANDS ? SOME_BITS : GROUP_BITS;
    const bool are_chains = are_narrow || outer * panels << cut->tall.group_bits < at_a_time;
    cut->tall.chain_bits = are_chains ? CHAIN_BITS : 0;
    cut->tall.groups = are_chains ? (unsigned)(tiles >> cut->tall.group_bits) : 0;
    cut->tall.results = !are_staged ? ~0u : of_results ? (unsigned)inputs * cut->tall.tile : 0;
    const uint64_t staged = of_results ? round_up(strands * rows * of_results, VECTOR) + 2 * VECTOR : 0;
    cut->tall.shared = (unsigned)(inputs * cut->tall.tile + staged) + sizes->tall.sums;
    return true;
}

bool tally_cuda_tall_cut(const tally_cuda_device *device, const tally_computation *c, const tally_cuda_sizes *sizes,
                         const tally_shape *shape, tally_cuda_cut *cut) {
    if (!cut_tiles(device, c, sizes, shape, false, cut))
        return false;
    const uint64_t tiles = cut->tall.tiles, chains = tiles >> (cut->tall.group_bits + cut->tall.chain_bits);
    const uint64_t columns =
        shape->outer * (packs(c, sizes, shape) ? cut->tall.panels * cut->tall.across : shape->inner);
    if (tiles > 1)
        cut->entries = tally_cuda_place(cut, (tiles + cut->tall.groups + chains) * columns * sizes->entry_bytes);
    cut->zeroed_bytes = cut->bytes;
    return true;
}

tally_status tally_cuda_tall_launch(const tally_cuda_launch *l) {
    const tally_args *a = l->args;
    const tally_computation *c = &l->plan->gpu.base.computation;
    const uint64_t row = a->shape.inner * c->in_bytes;
    tally_cuda_cut aligned = *l->cut, *cut = &aligned;
    if (packs(c, &l->plan->sizes, &a->shape) &&
        ((tally_cuda_address(a->x) | tally_cuda_address(a->out) | row) & 3) == 0)
        cut_tiles(l->plan->device, c, &l->plan->sizes, &a->shape, true, cut); /* larger ones */
    tally_cuda_tall_args args = {.x = tally_cuda_address(a->x),
                                 .y = tally_cuda_address(a->y),
                                 .out = tally_cuda_address(a->out),
                                 .initial = tally_cuda_address(a->initial),
                                 .carry = l->pieces.carry,
                                 .total = l->pieces.total,
                                 .entries = l->workspace + cut->entries,
                                 .outer = a->shape.outer,
                                 .extent = a->shape.extent,
                                 .inner = a->shape.inner,
                                 .before = l->pieces.before,
                                 .tiles = cut->tall.tiles,
                                 .panels = cut->tall.panels,
                                 .across = cut->tall.across,
                                 .strands = cut->tall.strands,
                                 .rows = cut->tall.rows,
                                 .width = cut->tall.width,
                                 .pitch = cut->tall.pitch,
                                 .tile_bytes = cut->tall.tile,
                                 .results = cut->tall.results,
                                 .group_bits = cut->tall.group_bits,
                                 .chain_bits = cut->tall.chain_bits,
                                 .groups = cut->tall.groups};
    const tally_cuda_grid grid = {
        .x = args.tiles * args.outer * args.panels, .threads = TALLY_CUDA_TALL_BLOCK, .shared = cut->tall.shared};
    return tally_cuda_enqueue(l, l->plan->kernels.scan_tall, grid, &args, "launching a scan of tall slabs");
}
