#include "gpu/labels.h"

void tally_gpu_computation_of_sorted(const tally_computation *c, tally_computation *sorted) {
    tally_computation_copy(c, sorted);
    sorted->desc.grouping = TALLY_SEGMENTS;
    sorted->desc.index = TALLY_I64;
    sorted->desc.flags = 0;
    sorted->index_bytes = sizeof(int64_t);
    sorted->is_sized = false; /* the offsets tell how many elements there are */
    if (tally_class_of(c->monoid) == TALLY_CLASS_INDEXED) {
        sorted->desc.out = TALLY_I64;
        sorted->out_bytes = sizeof(int64_t);
    }
}

/* Labels that are left out are sorted as if they were that of one more group. */
uint32_t tally_gpu_label_passes(const tally_computation *c, uint64_t groups, uint32_t bits) {
    const uint64_t last = c->desc.flags & TALLY_SKIP_BAD_LABELS ? groups : groups - 1;
    uint32_t passes = 1;
    while (groups && last >> passes * bits)
        passes++;
    return passes;
}
