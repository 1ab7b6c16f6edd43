/* Where groups begin: a bit for each element of a tile, of the tiles of scans (scan_rows.comp), and the heads of runs in
 * vectors of keys. */
/* The offsets that may lie in a tile: [from, to). */
void places_of(uint tile, bool is_last, out wide from, out wide to) {
    const wide here = load_wide(p_places, tile), next = is_last ? wide(0) : load_wide(p_places, tile + 1);
    from = REVERSE ? next : here;
    to = REVERSE ? here : is_last ? plus(p_segments, 1u) : next;
}

/* A bit for each element of a scan's tile that begins a group, in logical order. */
shared uint head_bits[BLOCK * MOST_ELEMENTS / 32];

/* The bits of a vector's elements [i, i + VECTOR). */
uint heads_of(uint i) {
    return head_bits[i >> 5] >> (i & 31u) & (1u << VECTOR) - 1u;
}
void mark_segments(wide first, wide from, wide to) {
    for (wide e = plus(from, THREAD); less(e, to); e = plus(e, BLOCK)) {
        const wide offset = offset_at(e), local = minus(REVERSE ? minus(p.extent, offset) : offset, first);
        if (is_below(local, TILE_LENGTH))
            atomicOr(head_bits[local.x >> 5], 1u << (local.x & 31u));
    }
}

const uint KEYS_AHEAD = 4; /* vectors of keys that a thread has on their way */

/* A thread's vectors of keys from 'at' on, and the key before each, 'back' bytes before the first one of all. */
void load_keys(address keys_at, uint at, uint back, out uvec4 keys[KEYS_AHEAD], out uvec2 left[KEYS_AHEAD]) {
    const uint log = log_bytes(INDEX), vector = 16u >> log;
    if ((keys_at.x & 15u) == 0) {
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            const uint i = at + (v * BLOCK + THREAD) * vector;
            keys[v] = vectors_at(keys_at).vector[i / vector];
            left[v] = load_aligned(minus(plus(keys_at, i << log), i == 0 ? back : 1u << log), log);
        }
    } else {
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            const address keys_here = plus(keys_at, at + (v * BLOCK + THREAD) * vector << log);
            keys[v] = load_vector(keys_here);
            left[v] = load_bits(minus(keys_here, at + v * BLOCK + THREAD == 0 ? back : 1u << log), log);
        }
    }
}
/* A bit for each key of a vector that begins a run. */
uint heads_among(uvec4 keys, uvec2 left, bool begins) {
    const uint log = log_bytes(INDEX);
    uint bits = begins ? 1u : 0u;
    UNROLLED for (uint k = 0; k < 16u >> log; k++) {
        const uvec2 key = pick(keys, k, log);
        bits |= key != left ? 1u << k : 0;
        left = key;
    }
    return bits;
}

/* The tile's elements from 'first' on are 'count'. A key is compared with the one before it in logical order. */
void mark_keys(wide first, uint count) {
    const uint log = log_bytes(INDEX), vector = 16u >> log, whole = count & ~(vector - 1);
    const wide lowest = REVERSE ? minus(minus(p.extent, first), vector) : first;
    const address keys_at = plus(p_keys, shifted_up(lowest, log));
    /* from a vector to the key before it in logical order; before the first key is none, so it has itself */
    const uint back = 1u << log;
    for (uint at = 0; at < whole; at += KEYS_AHEAD * BLOCK * vector) {
        uvec4 keys[KEYS_AHEAD];
        uvec2 left[KEYS_AHEAD];
        /* how they are aligned is asked once, because nothing must come between loads */
        if ((keys_at.x & 15u) == 0) {
            UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
                const uint i = at + (v * BLOCK + THREAD) * vector;
                const address here = REVERSE ? minus(keys_at, i << log) : plus(keys_at, i << log);
                const bool is_first = i == 0 && first == wide(0);
                if (i < whole) {
                    keys[v] = vectors_at(here).vector[0];
                    left[v] = load_aligned(REVERSE ? plus(here, is_first ? 16 - back : 16)
                                                   : minus(here, is_first ? 0 : back), log);
                }
            }
        } else {
            UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
                const uint i = at + (v * BLOCK + THREAD) * vector;
                const wide logical = plus(first, i);
                if (i < whole) {
                    keys[v] = load_vector(REVERSE ? minus(keys_at, i << log) : plus(keys_at, i << log));
                    left[v] = key_at(logical == wide(0) ? logical : minus(logical, 1u));
                }
            }
        }
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            const uint i = at + (v * BLOCK + THREAD) * vector;
            uint bits = first == wide(0) && i == 0 ? 1u : 0u;
            UNROLLED for (uint k = 0; k < vector; k++) {
                const uvec2 key = pick(keys[v], REVERSE ? vector - 1 - k : k, log);
                bits |= key != left[v] ? 1u << k : 0;
                left[v] = key;
            }
            if (i < whole && bits != 0)
                atomicOr(head_bits[i >> 5], bits << (i & 31u));
        }
    }
    const uint last = whole + THREAD;
    if (last < count && begins_run(plus(first, last)))
        atomicOr(head_bits[last >> 5], 1u << (last & 31u));
}
