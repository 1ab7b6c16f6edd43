/* Accumulators in global memory and in a workgroup's shared memory. Above: the monoid; SLOT_BYTES apart. */
layout(buffer_reference, std430, buffer_reference_align = SLOT_ALIGNMENT) buffer slot {
    acc_t value;
};
acc_t read_slot(uint64_t slots, uint64_t i) {
    return slot(slots + i * SLOT_BYTES).value;
}
void write_slot(uint64_t slots, uint64_t i, acc_t value) {
    slot(slots + i * SLOT_BYTES).value = value;
}

shared acc_t shared_slots[BLOCK];
shared acc_t tile_slots[TILE_SLOTS * BLOCK];

/* Folds what neighbours have, threads 'width' apart, in their order: thread t < width receives those of t, t + width,
 * t + 2 width ... */
acc_t fold_block(acc_t acc, uint width) {
    const uint part = THREAD / width;
    barrier(); /* earlier use of the memory */
    shared_slots[THREAD] = acc;
    for (uint d = 1; d * width < BLOCK; d *= 2) {
        barrier();
        if ((part & (2 * d - 1)) == 0 && THREAD + d * width < BLOCK) {
            acc = combine(acc, shared_slots[THREAD + d * width]);
            shared_slots[THREAD] = acc;
        }
    }
    return acc;
}

/* What the threads before have, 'width' apart, folded; and *all* of them. */
acc_t scan_block(acc_t acc, uint width, out acc_t all) {
    barrier();
    shared_slots[THREAD] = acc;
    for (uint d = width; d < BLOCK; d *= 2) {
        barrier();
        acc_t left;
        if (THREAD >= d)
            left = shared_slots[THREAD - d];
        barrier();
        if (THREAD >= d) {
            acc = combine(left, acc);
            shared_slots[THREAD] = acc;
        }
    }
    barrier();
    all = shared_slots[BLOCK - width + THREAD % width];
    return THREAD >= width ? shared_slots[THREAD - width] : identity();
}
