/* Further kernels for runs by segments and keys: they find errors before anything is written, and report them. They do
 * not depend on the monoid and are the same in every module; their pipelines are made from one module. */

#define CONTROL control_block(p_control)

wide offset_at(wide e) {
    const uint log = log_bytes(INDEX);
    return extend(load_bits(plus(p_offsets, shifted_up(e, log)), log), INDEX);
}

/* Positions of scans are logical: reverse ones count from the end. */
wide element_of(wide logical) {
    return REVERSE ? minus(minus(p.extent, 1u), logical) : logical;
}
uvec2 key_at(wide logical) {
    const uint log = log_bytes(INDEX);
    return load_bits(plus(p_keys, shifted_up(element_of(logical), log)), log);
}
bool begins_run(wide logical) {
    return logical == wide(0) || key_at(logical) != key_at(minus(logical, 1u));
}

/* An array of 64-bit numbers of the library's own. */
wide load_wide(address array, uint i) {
    return load_bits(plus(array, times(i, 8)), 3);
}
void store_wide(address array, uint i, wide value) {
    store_bits(plus(array, times(i, 8)), 3, value);
}

void clear_block(address control) {
    control_block(control).runs = wide(0);
    control_block(control).not_bad = control_block(control).not_empty = control_block(control).refused = 0;
    control_block(control).any_long = control_block(control).any_crowded = control_block(control).piece_count = 0;
}
void clear_control() {
    begin_kernel();
    if (group_number() == 0 && THREAD == 0)
        clear_block(p_control);
}

void clear_tiles() {
    begin_kernel();
    const uint threads = group_count() * BLOCK;
    for (wide w = wide_of(group_number() * BLOCK + THREAD); less(w, p_words); w = plus(w, threads))
        words_at(plus(p_tile_words, shifted_up(w, 2))).word[0] = 0;
}

/* The first offset that is not less than, or, for reverse scans, greater than a bound. */
wide search(wide bound, bool greater) {
    wide low = wide(0), high = plus(p_segments, 1u);
    while (less(low, high)) {
        const wide middle = shifted_down(plus(low, high), 1), offset = offset_at(middle);
        if (less(offset, bound) || (greater && offset == bound))
            low = plus(middle, 1u);
        else
            high = middle;
    }
    return low;
}

/* The same with three offsets at once: such a search is a chain of loads, each of which waits for the one before. */
wide search_by_fours(wide bound, bool greater) {
    wide low = wide(0), high = plus(p_segments, 1u);
    while (less(low, high)) {
        const wide apart = shifted_down(minus(high, low), 2), a = plus(low, apart), b = plus(a, apart), c = plus(b, apart);
        const wide at_a = offset_at(a), at_b = offset_at(b), at_c = offset_at(c);
        if (!(less(at_a, bound) || greater && at_a == bound)) {
            high = a;
        } else if (!(less(at_b, bound) || greater && at_b == bound)) {
            low = plus(a, 1u);
            high = b;
        } else if (!(less(at_c, bound) || greater && at_c == bound)) {
            low = plus(b, 1u);
            high = c;
        } else {
            low = plus(c, 1u);
        }
    }
    return low;
}

/* As offset_at(), where offsets are aligned, for kernels with many of them. The bits alone are for loads ahead, since a
 * thread waits for what it extends. */
uvec2 bits_of_offset(wide e) {
    const uint log = log_bytes(INDEX);
    const address at = plus(p_offsets, shifted_up(e, log));
    return is_aligned(p_offsets, log) ? load_aligned(at, log) : load_bits(at, log);
}
wide offset_of_bits(uvec2 bits) {
    return extend(bits, INDEX);
}
wide inspected_offset(wide e) {
    return offset_of_bits(bits_of_offset(e));
}

/* What may be said of a segment; of the last offset, which has no end, 'end' is the same. */
bool is_bad(wide begin, wide end) {
    return less(end, begin) || less(p.extent, end);
}
bool is_long(wide begin, wide end) {
    return p_most_short != 0 && !is_below(minus(end, begin), p_most_short + 1);
}
void inspect_segment(wide g) {
    const wide begin = offset_at(g), end = less(g, p_segments) ? offset_at(plus(g, 1u)) : begin;
    const uint place = at_most(g, ~0u);
    if (is_bad(begin, end)) {
        atomicOr(CONTROL.refused, REFUSED_BAD);
        atomicMax(CONTROL.not_bad, ~place);
    } else if (p_refuses_empty != 0 && less(g, p_segments) && begin == end) {
        atomicOr(CONTROL.refused, REFUSED_EMPTY);
        atomicMax(CONTROL.not_empty, ~place);
    } else if (is_long(begin, end)) {
        atomicOr(CONTROL.any_long, 1u);
        if (is_below(minus(end, begin), p_tile + 1) && p_most_listed != 0) {
            const uint at = atomicAdd(CONTROL.piece_count, 1u);
            if (at < p_most_listed) /* there are more only where offsets are bad */
                store_wide(p_listed, at, g);
        }
    }
}

/* Bits of one word of marks, which are told together. */
struct marks_of_word {
    uint word, bits;
};
void tell_marks(marks_of_word m) {
    if (m.bits != 0)
        atomicOr(words_at(p_marks).word[m.word], m.bits);
}
void mark_offset(inout marks_of_word m, wide offset) {
    const wide logical = REVERSE ? minus(p.extent, offset) : offset;
    const uint word = shifted_down(logical, 5).x;
    if (!less(logical, p.extent))
        return;
    if (word != m.word) {
        tell_marks(m);
        m = marks_of_word(word, 0);
    }
    m.bits |= 1u << (logical.x & 31u);
}

/* Checks every segment, and finds each tile's: 'tile' elements each. A thread loads INSPECTED vectors of offsets before
 * it looks at any, since one with a single offset would only wait. */
const uint INSPECTED = 4;
void inspect_segments() {
    begin_kernel();
    const uint log = log_bytes(INDEX), vector = 16u >> log;
    const wide threads = times(group_count(), BLOCK), begin_at = plus(times(group_number(), BLOCK), THREAD);
    const wide vectors = shifted_down(p_segments, 4u - log), last = minus(vectors, 1u); /* and the offset after each */
    for (wide v = begin_at; less(v, vectors); v = plus(v, times(threads, INSPECTED))) {
        uvec4 offsets[INSPECTED];
        uvec2 next[INSPECTED];
        [[unroll]] for (uint u = 0; u < INSPECTED; u++) {
            const address at = plus(p_offsets, shifted_up(least(plus(v, times(threads, u)), last), 4));
            offsets[u] = load_vector(at);
            next[u] = load_bits(plus(at, 16), log);
        }
        [[unroll]] for (uint u = 0; u < INSPECTED; u++) {
            wide begin = extend(pick(offsets[u], 0, log), INDEX);
            bool is_plain = true;
            [[unroll]] for (uint k = 1; k <= vector; k++) {
                const wide end = extend(k < vector ? pick(offsets[u], k, log) : next[u], INDEX);
                is_plain = is_plain && !is_bad(begin, end) && !(p_refuses_empty != 0 && begin == end) &&
                           !is_long(begin, end);
                begin = end;
            }
            const wide first = shifted_up(least(plus(v, times(threads, u)), last), 4u - log);
            is_plain = is_plain || !less(plus(v, times(threads, u)), vectors); /* which are inspected elsewhere */
            for (uint k = 0; k < vector && !is_plain; k++)
                inspect_segment(plus(first, k));
            if (given(p_marks) && less(plus(v, times(threads, u)), vectors)) {
                marks_of_word m = marks_of_word(0, 0);
                for (uint k = 0; k < vector; k++)
                    mark_offset(m, extend(pick(offsets[u], k, log), INDEX));
                tell_marks(m);
            }
        }
    }
    const wide rest = plus(shifted_up(vectors, 4u - log), begin_at);
    if (!less(p_segments, rest)) {
        inspect_segment(rest);
        if (given(p_marks)) {
            marks_of_word m = marks_of_word(0, 0);
            mark_offset(m, offset_at(rest));
            tell_marks(m);
        }
    }
    for (wide tile = begin_at; is_below(tile, p_tiles); tile = plus(tile, threads)) {
        const wide first = times(tile, p_tile);
        store_wide(p_places, tile.x, search_by_fours(REVERSE ? minus(p.extent, first) : first, REVERSE));
    }
}

/* Copies the findings to where the host, or the caller's kernels, can read them. */
void tell_findings(address to) {
    control_block(to).not_bad = CONTROL.not_bad;
    control_block(to).not_empty = CONTROL.not_empty;
    control_block(to).refused = CONTROL.refused;
}
void report() {
    begin_kernel();
    if (group_number() == 0 && THREAD == 0)
        control_block(p.out_at).runs = CONTROL.runs;
    if (group_number() == 0 && THREAD == 0 && p_only_runs == 0)
        tell_findings(p.out_at);
}
