/* How much of a scan a thread, a block and its shared memory take. */
#include "core/arithmetic.h"
#include "cuda/specialize.h"

/* Vectors a thread of scan_held.cu; there is code for each element, twice. With 4 scans of 2^10 f32 took 1.3 times as
 * long on an H200, those of 2^18 1.1 times, and those of 2^21 0.92 of the time. */
static unsigned held_rows(const tally_computation *c, unsigned acc) {
    if (!tally_is_scan(c) || c->desc.grouping != TALLY_ALL_VALUES || acc > 32)
        return 0;
    return acc > 8 || c->in_bytes == 1 ? 1 : 2;
}

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

/* scan_tiles.cu's struct scratch but for its ring, and some to spare; and what each place in the ring takes. */
static unsigned scan_shared(const tally_computation *c, const tally_cuda_sizes *s, unsigned acc, unsigned widest,
                            unsigned ring) {
    unsigned tile = s->scan.finishers * s->scan.items, place = round_up(tile * widest + 16, 128) + 5 * 16 + 8;
    if (c->desc.grouping == TALLY_KEYS)
        place += round_up(tile * (unsigned)c->index_bytes + 16, 128);
    if (c->desc.grouping == TALLY_SEGMENTS)
        place += tile / 8 + 16;
    const unsigned narrow =
        s->scan.columns ? acc * (ring * s->scan.columns + 2 * s->scan.summers + s->scan.teams * s->scan.finishers) + 48
                        : 0;
    unsigned of_warps = 2 * (s->scan.summers + s->scan.teams * s->scan.finishers) / 32 * round_up(acc + 16, 16);
    return round_up(ring * (place + s->record_bytes) + narrow + of_warps + 2 * s->scan.summers / 8 + 512, 128);
}

/* Each thread takes whole vectors of elements, results and keys: an odd number, so that neighbouring stretches lie in
 * other banks, and as many as its registers hold. */
void tally_cuda_scan_sizes(const tally_computation *c, int architecture, unsigned acc, tally_cuda_sizes *s) {
    enum {
        STRETCH = 80 /* bytes */,
        MOST_RING = 10,
        LEAST_RING = 4,
        WARP = 32,
        MOST_COLUMNS = 64 /* of scan_narrow.cu */
    };
    s->held_rows = held_rows(c, acc);
    const unsigned in = (unsigned)c->in_bytes, result = (unsigned)(c->out_bytes * c->per_result);
    const bool keys = c->desc.grouping == TALLY_KEYS;
    unsigned narrowest = in < result ? in : result, widest = in > result ? in : result;
    if (keys && c->index_bytes < narrowest)
        narrowest = (unsigned)c->index_bytes;
    const unsigned vector = 16 / (unsigned)most(narrowest, 1); /* an analyzer cannot know that no type is empty */
    unsigned vectors = acc > 32 ? 1 : STRETCH / (vector * widest) | 1;
    const unsigned most_items = c->desc.grouping == TALLY_ALL_VALUES ? 80 : 48; /* heads have a bit each */
    while (vectors > 1 && vectors * vector > most_items)
        vectors -= 2;
    s->scan.items = vectors * vector;
    s->scan.summers = 4 * WARP;
    s->scan.teams = 2;
    s->scan.finishers = 8 * WARP;
    const bool keeps_width = in == result && in >= 4 && acc <= 8;
    s->scan.columns = keeps_width && c->desc.grouping == TALLY_AXIS ? MOST_COLUMNS : 0;
    const unsigned limit = tally_cuda_shared_limit(architecture);
    while (s->scan.finishers > 2 * WARP && scan_shared(c, s, acc, widest, LEAST_RING) > limit)
        s->scan.finishers /= 2;
    s->scan.ring = MOST_RING;
    while (s->scan.ring > 2 && scan_shared(c, s, acc, widest, s->scan.ring) > limit)
        s->scan.ring--;
    s->scan.shared = scan_shared(c, s, acc, widest, s->scan.ring);
    s->scan.waves = 2 * s->scan.ring + 1;
    s->scan.takes_panels = keeps_width && s->scan.finishers == 8 * WARP && s->scan.ring > 2;
    if (!s->scan.takes_panels)
        s->scan.columns = 0;
    const unsigned loaders = architecture >= 90 ? 2 * WARP /* and storers */ : 4 * WARP;
    s->scan.panel_threads = 4 * WARP + s->scan.teams * s->scan.finishers;
    s->scan.threads = loaders + WARP + s->scan.summers + s->scan.teams * s->scan.finishers;
    s->scan.narrow_threads = s->scan.threads + WARP;
}
