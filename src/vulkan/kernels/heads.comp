/* Where groups begin: a bit for each element of a tile. */
/* The offsets that may lie in a tile: [from, to). */
void places_of(uint tile, bool is_last, out wide from, out wide to) {
    const wide here = load_wide(p_places, tile), next = is_last ? wide(0) : load_wide(p_places, tile + 1);
    from = REVERSE ? next : here;
    to = REVERSE ? here : is_last ? plus(p_segments, 1u) : next;
}

/* A bit for each element of a scan's tile that begins a group, in logical order. */
shared uint head_bits[BLOCK * MOST_ELEMENTS / 32];

/* Elements that a thread has of a tile, and of the tile. */
#if RUNS_MOMENTS
#define GROUP_TILE MOMENTS_TILE
#else
#define ITEMS      max(MOST_ITEMS >> (IN_LOG == 3 ? 1 : 0), VECTOR)
#define GROUP_TILE (ITEMS * BLOCK)
#endif
void mark_segments(wide first, uint count, wide from, wide to) {
    for (wide e = plus(from, THREAD); less(e, to); e = plus(e, BLOCK)) {
        const wide offset = offset_at(e), local = minus(REVERSE ? minus(p.extent, offset) : offset, first);
        if (is_below(local, count))
            atomicOr(head_bits[local.x >> 5], 1u << (local.x & 31u));
    }
}

const uint KEYS_AHEAD = 4; /* vectors of keys that a thread has on their way */

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
