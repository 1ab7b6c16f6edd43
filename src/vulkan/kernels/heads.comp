/* Where groups begin: a bit for each element. */

/* The offsets that may lie in the tiles from one to before another, which the last one has none after it: [from, to). */
void places_of(uint tile, uint end, bool is_last, out wide from, out wide to) {
    const wide here = load_wide(p_places, tile), next = is_last ? wide(0) : load_wide(p_places, end);
    from = REVERSE ? next : here;
    to = REVERSE ? here : is_last ? plus(p_segments, 1u) : next;
}

/* Elements that a thread has of a tile, and of the tile. */
#if RUNS_MOMENTS
#define GROUP_TILE MOMENTS_TILE
#else
#define ITEMS      max(MOST_ITEMS >> (IN_LOG == 3 ? 1 : 0), VECTOR)
#define GROUP_TILE (ITEMS * BLOCK)
#endif

/* So many are marked together, in logical order: mostly a whole chunk, so that a workgroup waits once for its offsets. */
const uint MARKED = VECTORS_GIVEN != 0 ? VECTORS_GIVEN * 16 * BLOCK : 8 * 32 * BLOCK;
shared uint head_bits[MARKED / 32];

const uint KEYS_AHEAD = 4; /* vectors of keys, or offsets, that a thread has on their way */

/* Whether most segments are empty, or many in one place are. A tile may have nearly all offsets then, and any workgroup
 * gives empty segments. Not for the kernel that marks segments. */
#define IS_SPARSE (!BY_KEYS && (less(p.extent, p_segments) || CONTROL.any_crowded != 0))
/* Whether positions have so many offsets that each is looked for among these. A search takes as long as this many offsets.
 * Not tuned. */
const uint OFFSETS_OF_SEARCH = 16;
bool are_crowded(uint positions, wide from, wide to) {
    return less(plus(from, times(positions, OFFSETS_OF_SEARCH)), to);
}
/* Whether a segment begins or ends at a position; 'e' is the first such offset. */
bool has_offset(wide position, out wide e) {
    const wide offset = REVERSE ? minus(p.extent, position) : position;
    e = search(offset, false);
    return !less(p_segments, e) && offset_at(e) == offset;
}

void mark_segments(wide first, uint count, wide from, wide to) {
    if (are_crowded(count, from, to)) {
        wide e;
        if (THREAD == 0)
            atomicOr(CONTROL.any_crowded, 1u);
        for (uint i = THREAD; i < count; i += BLOCK)
            if (has_offset(plus(first, i), e))
                atomicOr(head_bits[i >> 5], 1u << (i & 31u));
        return;
    }
    for (wide e = plus(from, THREAD); less(e, to); e = plus(e, KEYS_AHEAD * BLOCK)) {
        wide offsets[KEYS_AHEAD];
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++)
            if (less(plus(e, v * BLOCK), to))
                offsets[v] = inspected_offset(plus(e, v * BLOCK));
        UNROLLED for (uint v = 0; v < KEYS_AHEAD; v++) {
            const wide local = minus(REVERSE ? minus(p.extent, offsets[v]) : offsets[v], first);
            if (less(plus(e, v * BLOCK), to) && is_below(local, count))
                atomicOr(head_bits[local.x >> 5], 1u << (local.x & 31u));
        }
    }
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
