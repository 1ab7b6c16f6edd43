/* Reductions by segments, where order does not matter. Teams of threads fold a segment each, up to a length; what is
 * longer is folded by the workgroups of equal chunks of the input, whatever its segments: first what a chunk begins and
 * does not end, which the spine of groups.comp carries to the chunks after it, then what ends in a chunk. */
#define MOST_SHORT p.width /* elements that a team folds */

#if COMMUTES
void short_segments() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    const uint part = THREAD & p.many - 1;
    const int teams_log = findMSB(BLOCK) - findMSB(p.many);
    for (uint64_t first = group_number() << teams_log; first < SEGMENTS; first += group_count() << teams_log) {
        const uint64_t g = first + (THREAD >> findMSB(p.many));
        const uint64_t begin = g < SEGMENTS ? offset_at(g) : 0, end = g < SEGMENTS ? offset_at(g + 1) : 0;
        const bool is_short = g < SEGMENTS && end - begin <= MOST_SHORT;
        acc_t acc = identity();
        if (is_short)
            acc = fold_vectors(stretch(p.x, p.y, begin, end, 0), part, p.many);
        acc = fold_block(acc, 1, p.many);
        if (is_short && part == 0)
            store_result(p.out_at, g, lower(acc, end - begin, begin));
    }
}

/* The first offset that is not before a chunk. */
uint64_t place_of(uint64_t chunk) {
    return chunk < p.chunks ? u64_of(load_bits(PLACES + chunk * 8, 3)) : search(p.extent, false);
}

/* What of a long segment lies in a chunk and goes on after it. */
void open_segments() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint64_t chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const uint64_t first = chunk * p.chunk, end = first + p.chunk, next = place_of(chunk + 1);
        record_t open = record_t(identity(), 1, 0);
        if (next > 0 && next <= SEGMENTS && end < p.extent) {
            const uint64_t begin = offset_at(next - 1), until = offset_at(next);
            if (until > end && until - begin > MOST_SHORT) {
                open.acc = fold_together(max(begin, first), end);
                open.head = begin >= first ? begin + 1 : 0;
            }
        }
        if (THREAD == 0)
            write_record(chunk, open);
    }
}

shared uint long_count;
shared uint long_segments[BLOCK];

/* Long segments that end in a chunk, among those of 'BLOCK' offsets. */
void close_some(uint64_t chunk, uint64_t offsets, uint64_t last) {
    const uint64_t first = chunk * p.chunk, e = offsets + THREAD;
    barrier();
    if (THREAD == 0)
        long_count = 0;
    barrier();
    if (e > 0 && e <= last) {
        const uint64_t end = offset_at(e);
        if (end > first && end <= first + p.chunk && end - offset_at(e - 1) > MOST_SHORT)
            long_segments[atomicAdd(long_count, 1)] = THREAD;
    }
    barrier();
    for (uint k = 0; k < long_count; k++) {
        const uint64_t g = offsets + long_segments[k] - 1, begin = offset_at(g), end = offset_at(g + 1);
        acc_t acc = fold_together(max(begin, first), end);
        if (THREAD == 0) {
            if (begin < first)
                acc = combine(read_record(chunk).acc, acc);
            store_result(p.out_at, g, lower(acc, end - begin, begin));
        }
    }
}
void close_segments() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint64_t chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const uint64_t last = min(place_of(chunk + 1), SEGMENTS);
        for (uint64_t offsets = place_of(chunk); offsets <= last; offsets += BLOCK)
            close_some(chunk, offsets, last);
    }
}
#else
void short_segments() {}
void open_segments() {}
void close_segments() {}
#endif
