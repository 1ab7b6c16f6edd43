#include "cpu/planes.h"

#include <string.h>

#include "core/arithmetic.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/lower.h"
#include "cpu/scratch.h"

/* Those whose rows fill a vector, and lifted ones that would not be packed. (ns an element packed, and so: sums of f32
 * in 10 x 20 and 3 x 100 0.20, 0.17 and 0.11, 0.12, largest of i8 in 5 x 100 0.087 and 0.041, all of u8 in 2 x 208
 * 0.100 and 0.035; of narrower rows sums of f32 in 10 x 12 and 10 x 7 0.18, 0.23 and 0.18, 0.38; minmax of bf16 in 9 x
 * 22 0.36 and 0.45. Counts of f32 in 173 x 2 0.46 and 0.30.) */
enum {
    LEAST_PLANE_ROW = 64,
    /* Smaller ones take longer by a call for each: bytes of a plane, and elements where these are lifted (sums of f32
     * in 2 x 20 and 3 x 30 0.23, 0.36 and 0.27, 0.18; dot of f32 in 3 x 22 0.31 and 0.35, norm2 of u32 in 2 x 70 0.36
     * and 0.33). */
    LEAST_PLANE = 192,
    LEAST_LIFTED_PLANE = 128
};

bool tally_cpu_scans_planes(const tally_cpu_plan *plan, uint64_t rows, uint64_t width, bool are_packed) {
    const tally_cpu_lifted *l = &plan->lifted;
    const tally_computation *c = &plan->base.computation;
    const size_t bytes = plan->direct ? c->out_bytes : l->bytes;
    const bool is_wide = width * bytes >= LEAST_PLANE_ROW, at_once = tally_cpu_has_masks(plan);
    if (plan->direct)
        return rows * width <= TALLY_CPU_LIFTED_BLOCK && (at_once || (is_wide && rows * width * bytes > LEAST_PLANE));
    const bool has_parts = l->parts == TALLY_CPU_NUMBER || (l->parts == TALLY_CPU_EXTREMES && at_once);
    return l->scan && has_parts && (at_once || !tally_cpu_lowers_by_count(plan)) &&
           tally_cpu_starts_as_its_scan(plan, c->desc.form == TALLY_EXCLUSIVE_SCAN) &&
           2 * rows * width <= TALLY_CPU_LIFTED_BLOCK &&
           (at_once || (rows * width >= LEAST_LIFTED_PLANE && (is_wide || (bytes >= sizeof(uint32_t) && !are_packed))));
}

/* The number of elements of each prefix. */
static void number_elements(uint64_t planes, uint64_t rows, uint64_t width, bool reverse, bool exclusive,
                            uint64_t *counts) {
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t j = 0; j < width; j++)
            counts[row * width + j] = reverse ? rows - row - exclusive : row + !exclusive;
    for (uint64_t done = 1; done < planes; done *= 2)
        memcpy(counts + done * rows * width, counts, least(done, planes - done) * rows * width * sizeof *counts);
}

void tally_cpu_scan_planes(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t planes, uint64_t rows,
                           uint64_t width, bool stream, unsigned worker, void *out) {
    const tally_computation *c = &plan->base.computation;
    const bool to_results = plan->direct || tally_cpu_writes_results(plan);
    const tally_cpu_direct_scan *const scan = plan->direct ? plan->direct : plan->lifted.scan;
    const tally_cpu_scan_options how = {
        .reverse = c->reverse, .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN, .stream = plan->direct && stream};
    tally_cpu_lifted_block *block = tally_cpu_worker(plan, worker);
    const uint64_t elements = rows * width, at_once = plan->direct ? planes : TALLY_CPU_LIFTED_BLOCK / elements;
    const bool counted = !plan->direct && tally_cpu_lowers_by_count(plan);
    if (counted)
        number_elements(least(planes, at_once), rows, width, c->reverse, how.exclusive, block->counts);
    for (uint64_t done = 0, some; done < planes; done += some) {
        some = least(planes - done, at_once);
        const uint64_t first = done * elements, n = some * elements;
        const void *from = tally_at(x, first, c->in_bytes);
        void *const to = tally_at_mutable(out, first, c->out_bytes * c->per_result);
        void *const scanned = to_results ? to : block->scanned;
        if (!plan->direct)
            from = tally_cpu_lift(plan, from, tally_at(y, first, c->in_bytes), n, block);
        scan->planes(from, some, rows, width, how, NULL, scanned);
        if (!plan->direct && plan->lifted.second)
            plan->lifted.second->planes(from, some, rows, width, how, NULL, block->second);
        if (!to_results)
            tally_cpu_lower_prefixes(plan, scanned, block->second, n,
                                     (tally_counts){counted ? block->counts : NULL, 0, 0}, to);
    }
}
