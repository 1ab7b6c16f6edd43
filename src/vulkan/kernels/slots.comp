/* Accumulators: lifted from elements, in global memory SLOT_BYTES apart, and in a workgroup's shared memory. */
layout(buffer_reference, std430, buffer_reference_align = SLOT_ALIGNMENT) buffer slot {
    acc_t value;
};
acc_t read_slot(address slots, wide i) {
    return slot(plus(slots, times(i, SLOT_BYTES))).value;
}
void write_slot(address slots, wide i, acc_t value) {
    slot(plus(slots, times(i, SLOT_BYTES))).value = value;
}
/* Among chunks x columns. */
wide number_of_slot(uint chunk, wide column) {
    return plus(times(p.columns, chunk), column);
}

/* An element, as a lane takes it. Most lanes are sums of lifted elements; others are in running_moments.comp and
 * running_logsumexp.comp. */
#if HAS_RUNNING
#define lifted_t VALUE
VALUE lift_bits(uvec2 x, uvec2 y, wide i) {
    return value_of_bits(x);
}
lane_t lane_of(VALUE lifted) {
    return added(lane_identity(), lifted);
}
acc_t acc_of(VALUE lifted) {
    if (SKIPS_NAN && is_nan(lifted))
        return identity();
    return lift(lifted, VALUE(0), wide(0));
}
#else
#define lifted_t lane_t
lane_t lift_bits(uvec2 x, uvec2 y, wide i) {
    if (TWO_INPUTS && SKIPS_NAN && (are_nan(x) || are_nan(y))) { /* -0 times 0 is -0 */
        x = sign_bit(IN);
        y = uvec2(0);
    }
    return lane_lift(value_of_bits(x), TWO_INPUTS ? value_of_bits(y) : VALUE(0), i);
}
#define lane_of(lifted)              (lifted)
#define acc_of(lifted)               widen(lifted)
#define added(lane, lifted)          combine(lane, lifted)
#define prepared(lane, vector)       (lane)
#define added_prepared(lane, lifted) combine(lane, lifted)
#endif
uvec2 load_partner(address y) {
    return TWO_INPUTS ? load_bits(y, IN_LOG) : uvec2(0);
}

/* What a scan starts from. */
bool has_base() {
    return given(p.carry) || given(p.initial);
}
acc_t base_of(wide column) {
    if (given(p.carry))
        return read_slot(p.carry, column);
    return given(p.initial) ? raise(load_bits(p.initial, OUT_LOG)) : identity();
}

/* Slots are spread: one is left out after 32, so that threads whose slots are some distance apart use different banks
 * of shared memory. */
uint spread(uint i) {
    return i + i / 32;
}
layout(constant_id = 10) const uint VECTORS_GIVEN = 0; /* a thread's of a tile; 0: TILE_SLOTS */
const uint TILE_VECTORS = VECTORS_GIVEN != 0 ? VECTORS_GIVEN : TILE_SLOTS;
shared acc_t shared_slots[BLOCK + BLOCK / 32];
shared acc_t tile_slots[TILE_VECTORS * BLOCK + TILE_VECTORS * BLOCK / 32];

/* Neighbouring threads that exchange values without shared memory; 1: none do. They are of one subgroup. */
#if SHUFFLES
layout(constant_id = 16) const uint LANES = 1;
#else
const uint LANES = 1;
#define shuffled_up(x, d)   (x)
#define shuffled_down(x, d) (x)
#endif

/* Folds the accumulators of 'count' threads, a power of two, 'apart' from each other, in order; the first of them
 * receives the result. All threads call this, and may not have met when they return. */
acc_t fold_block(acc_t acc, uint apart, uint count) {
    const uint part = THREAD / apart & count - 1;
    uint d = 1;
    for (; apart == 1 && d < min(LANES, count); d *= 2)
        acc = combine(acc, shuffled_down(acc, d));
    if (d >= count)
        return acc;
    barrier(); /* earlier use of the memory */
    shared_slots[THREAD] = acc;
    for (; d < count; d *= 2) {
        barrier();
        if ((part & (2 * d - 1)) == 0) {
            acc = combine(acc, shared_slots[THREAD + d * apart]);
            shared_slots[THREAD] = acc;
        }
    }
    return acc;
}

/* The accumulators of the threads before, 'width' apart, folded; and of *all* threads. */
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

shared acc_t team_slots[BLOCK / 8];
/* Threads that scan together before they meet. */
#define SPAN (LANES > 1 ? LANES : BLOCK)

/* The accumulator of the thread d before, if that is of the same 'span' threads. All threads call this. */
acc_t from_left(acc_t acc, uint d, uint span) {
    if (span <= LANES)
        return shuffled_up(acc, d);
    barrier();
    shared_slots[THREAD] = acc;
    barrier();
    return shared_slots[THREAD - min(d, THREAD)];
}

/* Adds the accumulators of the threads before in a team of 'span', a power of two, and gives those alone. */
acc_t scan_team(inout acc_t acc, uint span) {
    const uint place = THREAD & span - 1;
    UNROLLED for (uint d = 1; d < span; d *= 2) {
        const acc_t left = from_left(acc, d, span);
        if (place >= d)
            acc = combine(left, acc);
    }
    const acc_t left = from_left(acc, 1, span);
    if (place > 0)
        return left;
    return identity();
}

/* The accumulators of the threads before, folded; and of *all* threads. */
acc_t scan_threads(acc_t acc, out acc_t all) {
    const uint span = THREAD / SPAN, place = THREAD % SPAN;
    const acc_t left = scan_team(acc, SPAN);
    barrier();
    if (place == SPAN - 1)
        team_slots[span] = acc;
    barrier();
    acc_t before = identity();
    all = team_slots[0];
    UNROLLED for (uint k = 1; k < BLOCK / SPAN; k++) {
        if (k == span)
            before = all;
        all = combine(all, team_slots[k]);
    }
    return place > 0 ? combine(before, left) : before;
}
