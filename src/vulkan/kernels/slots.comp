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

/* Folds the accumulators of 'count' threads, a power of two, 'apart' from each other, in order; the first of them
 * receives the result. */
acc_t fold_block(acc_t acc, uint apart, uint count) {
    const uint part = THREAD / apart & count - 1;
    barrier(); /* earlier use of the memory */
    shared_slots[THREAD] = acc;
    for (uint d = 1; d < count; d *= 2) {
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

/* Replaces 'count' slots, slot(i), by the sums before them; 'all' is the sum of all. Loads come together, because no
 * compiler moves them before a store that may be to the same place. */
const uint TOGETHER = 8;
#define SUM_BEFORE(slot, count, all)                                                                                   \
    UNROLLED for (uint first = 0; first < count; first += TOGETHER) {                                                  \
        acc_t own[TOGETHER];                                                                                           \
        UNROLLED for (uint k = 0; k < TOGETHER; k++)                                                                   \
            own[k] = slot(first + k);                                                                                  \
        UNROLLED for (uint k = 0; k < TOGETHER; k++) {                                                                 \
            slot(first + k) = all;                                                                                     \
            all = combine(all, own[k]);                                                                                \
        }                                                                                                              \
    }

const uint TEAM = 16;
shared acc_t team_slots[BLOCK / TEAM + 1];
#define SLOT_OF_THREAD(i) shared_slots[spread(THREAD * TEAM + (i))]
#if HAS_RUNNING
/* Accumulators whose combination is long, are combined few times after each other. */
acc_t scan_threads(acc_t acc, out acc_t all) {
    return scan_block(acc, 1, all);
}
#else
/* The accumulators of the threads before, folded; and of *all* threads. There are few barriers, and few threads combine:
 * what all of them do takes as many instructions as the elements, where accumulators have several components. */
acc_t scan_threads(acc_t acc, out acc_t all) {
    barrier();
    shared_slots[spread(THREAD)] = acc;
    barrier();
    if (THREAD < BLOCK / TEAM) {
        acc_t sum = identity();
        SUM_BEFORE(SLOT_OF_THREAD, TEAM, sum)
        team_slots[THREAD] = sum;
    }
    barrier();
    if (THREAD == 0) {
        acc_t sum = identity(), next = team_slots[0];
        UNROLLED for (uint k = 0; k < BLOCK / TEAM; k++) { /* the next one is loaded before a store */
            const acc_t own = next;
            next = team_slots[k + 1];
            team_slots[k] = sum;
            sum = combine(sum, own);
        }
        team_slots[BLOCK / TEAM] = sum;
    }
    barrier();
    all = team_slots[BLOCK / TEAM];
    return combine(team_slots[THREAD / TEAM], shared_slots[spread(THREAD)]);
}
#endif
