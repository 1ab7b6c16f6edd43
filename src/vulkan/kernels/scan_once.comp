/* A scan of all values in one pass, of whole tiles, for devices on which workgroups that have started go on. A
 * workgroup takes tiles by ticket. In a turn it adds up a tile and publishes the sum. Only then does it wait for the
 * value before the tile of the turn before, whose results it writes. So a tile is published without waiting for any
 * later tile, and by induction over tiles all workgroups finish, however few of them run.
 *
 * The order of additions depends only on the tiles' numbers. Windows of WINDOW tiles are added up in a fixed order. The
 * value before a window is the sum of the windows before it, one after the other. In a tile's own window the tiles
 * before it are added in that fixed order, and the others count as the identity. A workgroup remembers the value before
 * its last tile's window and continues from there.
 *
 * A sum travels in words of 16 bits beside a flag. Each word is valid by itself, so no memory order is needed. The
 * words are stored plane by plane, so that neighbouring threads load neighbours; the ticket comes after them. All are
 * zero at the start.
 *
 * p.total receives the sum of all tiles. */
#if SCANS_ONCE
const uint ENTRY_WORDS = SLOT_BYTES / 2, SENT = 65536;
const uint TEAM = 16, WINDOW = 2 * TEAM; /* tiles */

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

#define ONCE_PLANE  (p_tiles + WINDOW - 1 & ~(WINDOW - 1))
#define ONCE_LENGTH (TILE_VECTORS * BLOCK * VECTOR)
#define NO_TILE     ~0u

uvec2 bits_of(int x) {
    return uvec2(x, 0);
}
uvec2 bits_of(uint x) {
    return uvec2(x, 0);
}
uvec2 bits_of(float x) {
    return uvec2(floatBitsToUint(x), 0);
}
void take_bits(uvec2 bits, out int x) {
    x = int(bits.x);
}
void take_bits(uvec2 bits, out uint x) {
    x = bits.x;
}
void take_bits(uvec2 bits, out float x) {
    x = uintBitsToFloat(bits.x);
}
#if HAS_INT64
uvec2 bits_of(uint64_t x) {
    return words_of(x);
}
uvec2 bits_of(int64_t x) {
    return words_of(uint64_t(x));
}
void take_bits(uvec2 bits, out uint64_t x) {
    x = u64_of(bits);
}
void take_bits(uvec2 bits, out int64_t x) {
    x = int64_t(u64_of(bits));
}
#endif
#if HAS_DOUBLE
uvec2 bits_of(double x) {
    return unpackDouble2x32(x);
}
void take_bits(uvec2 bits, out double x) {
    x = packDouble2x32(bits);
}
#endif

uint take_ticket() {
    return atomicAdd(words_at(p_tile_words).word[ENTRY_WORDS * ONCE_PLANE], 1u);
}
void publish(uint tile, acc_t sum) {
    const uvec2 bits = bits_of(sum.a0);
    UNROLLED for (uint k = 0; k < ENTRY_WORDS; k++)
        atomicStore(words_at(p_tile_words).word[k * ONCE_PLANE + tile], bits[k / 2] >> 16 * (k & 1) & 65535u | SENT,
                    gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}
uint load_sent(uint word) {
    return atomicLoad(words_at(p_tile_words).word[word], gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

/* A thread's share of the tiles before one, two of a window; tiles that are not before it count as the identity. */
acc_t wait_for_pair(uint first, uint tile) {
    acc_t sum = identity(), other = identity();
    if (first < tile) {
        const bool both = first + TEAM < tile;
        const uint second = both ? first + TEAM : first;
        uint words[ENTRY_WORDS], others[ENTRY_WORDS], sent;
        do {
            sent = SENT;
            UNROLLED for (uint k = 0; k < ENTRY_WORDS; k++) {
                words[k] = load_sent(k * ONCE_PLANE + first);
                others[k] = load_sent(k * ONCE_PLANE + second);
                sent &= words[k] & others[k];
            }
        } while (sent == 0);
        uvec2 bits = uvec2(0), other_bits = uvec2(0);
        UNROLLED for (uint k = 0; k < ENTRY_WORDS; k++) {
            bits[k / 2] |= (words[k] & 65535u) << 16 * (k & 1);
            other_bits[k / 2] |= (others[k] & 65535u) << 16 * (k & 1);
        }
        take_bits(bits, sum.a0);
        if (both)
            take_bits(other_bits, other.a0);
        sum = combine(sum, other);
    }
    return sum;
}

/* Sums of the vectors before a team's in its row, and of whole rows: a row is the vectors that threads have under one
 * number. And the next ticket. */
shared acc_t team_sums[TILE_VECTORS * BLOCK / TEAM], row_sums[TILE_VECTORS];
shared uint next_tile;

/* A tile's first element in memory; the tile's vectors are in order or, for reverse scans, in reverse order. */
wide begin_of_tile(uint tile) {
    const wide first = times(tile, ONCE_LENGTH);
    return REVERSE ? minus(minus(p.extent, first), ONCE_LENGTH) : first;
}
#define PLACE_OF_VECTOR(v) (REVERSE ? (TILE_VECTORS - (v)) * BLOCK - 1 - THREAD : (v) * BLOCK + THREAD)
#define PLACE_IN_VECTOR(k) (REVERSE ? VECTOR - 1 - (k) : (k))

/* The element that pick() takes from a vector, lifted, without a copy of the vector that a driver might keep in memory.
 */
#define IN_MASK (IN_LOG >= 2 ? ~0u : (256u << 8 * IN_LOG) - 1u)
#define PICKED(x, place)                                                                                               \
    uvec2(x[(place) << IN_LOG >> 2] >> 8 * ((place) << IN_LOG & 3u) & IN_MASK,                                         \
          IN_LOG == 3 ? x[(place) << 1 & 2u | 1u] : 0u)
#define LIFTED(x, k) acc_of(lift_bits(PICKED(x, PLACE_IN_VECTOR(k)), uvec2(0), wide(0)))

#if SHUFFLES
#define vector_before(x) subgroupShuffleUp(x, 1)
#else
#define vector_before(x) (x)
#endif

/* The aligned vector in which the results of a thread's vector v begin, of which the thread before has the others. Those
 * at the ends of a subgroup meet in shared memory. */
#define RESULTS_OF_VECTOR (VECTOR << OUT_LOG >> 4)
void store_beside(address aligned, uint v, uvec4 first, uvec4 last) {
    const uint lane = THREAD & LANES - 1, edge = 8 * (v * (BLOCK / LANES) + THREAD / LANES);
    const uvec4 before = vector_before(last);
    if (lane == 0) {
        spare_words[edge] = first.x;
        spare_words[edge + 1] = first.y;
        spare_words[edge + 2] = first.z;
        spare_words[edge + 3] = first.w;
    } else {
        vectors_at(aligned).vector[(v * BLOCK + THREAD) * RESULTS_OF_VECTOR] =
            straddling(before, first, 16 - OUT_AHEAD);
    }
    if (lane == LANES - 1) {
        spare_words[edge + 4] = last.x;
        spare_words[edge + 5] = last.y;
        spare_words[edge + 6] = last.z;
        spare_words[edge + 7] = last.w;
    }
}
uvec4 edge_vector(uint at) {
    return uvec4(spare_words[at], spare_words[at + 1], spare_words[at + 2], spare_words[at + 3]);
}
/* The tile's ends are parts of vectors. All threads call this. */
void store_edges(address aligned) {
    barrier();
    if (THREAD <= EDGES) {
        const uvec4 before = edge_vector(8 * max(THREAD, 1u) - 4), first = edge_vector(8 * min(THREAD, EDGES - 1));
        const uvec4 words = straddling(before, first, 16 - OUT_AHEAD);
        const address at = plus(aligned, 16 * THREAD * LANES * RESULTS_OF_VECTOR);
        if (THREAD > 0 && THREAD < EDGES)
            vectors_at(at).vector[0] = words;
        else
            store_bytes_between(at, words, THREAD == 0 ? OUT_AHEAD : 0, THREAD == 0 ? 16 : OUT_AHEAD);
    }
}

#define SLOT_OF_TEAM(i) tile_slots[spread(THREAD * TEAM + i)]
#define SLOT_OF_ROW(i)  team_sums[THREAD * (BLOCK / TEAM) + i]

void scan_once() {
    begin_kernel();
    const uint tiles = p_tiles;
    uint ahead = 0; /* the ticket after the next; one thread has it */
    if (THREAD == 0) {
        next_tile = take_ticket();
        ahead = take_ticket();
    }
    barrier();
    uint now = next_tile, last = NO_TILE; /* the tile to be added up, and the tile whose results are to be written */
    uvec4 x[TILE_VECTORS], last_x[TILE_VECTORS];
    acc_t before_vector[TILE_VECTORS]; /* of 'last', from the tile's begin on */
    acc_t before_window = base_of(wide(0));
    uint window = 0; /* the one that this comes before */

    while (now < tiles || last < tiles) {
        uint next = tiles;
        if (now < tiles) {
            const address from = element_at(p.x, begin_of_tile(now));
            if (X_AHEAD != 0) {
                /* at the array's ends, too: memory that has a part of a vector has all of it */
                vectors_at aligned = vectors_at(minus(from, X_AHEAD));
                UNROLLED for (uint v = 0; v < TILE_VECTORS; v++)
                    x[v] = straddling(aligned.vector[PLACE_OF_VECTOR(v)], aligned.vector[PLACE_OF_VECTOR(v) + 1], X_AHEAD);
            } else if (ANYWHERE && IN_LOG == 3 && (from.x & 7u) == 0) {
                UNROLLED for (uint v = 0; v < TILE_VECTORS; v++)
                    x[v] = load_two_pairs(plus(from, 16 * PLACE_OF_VECTOR(v)));
            } else if (ANYWHERE && (IN_LOG == 3 || now == 0 || now == tiles - 1)) {
                UNROLLED for (uint v = 0; v < TILE_VECTORS; v++)
                    x[v] = load_vector(plus(from, 16 * PLACE_OF_VECTOR(v)));
            } else {
                UNROLLED for (uint v = 0; v < TILE_VECTORS; v++)
                    x[v] = ANYWHERE ? load_straddling(plus(from, 16 * PLACE_OF_VECTOR(v)))
                                    : vectors_at(from).vector[PLACE_OF_VECTOR(v)];
            }
            barrier(); /* earlier use of the memory */
            UNROLLED for (uint v = 0; v < TILE_VECTORS; v++) {
                acc_t sum = LIFTED(x[v], 0u);
                UNROLLED for (uint k = 1; k < VECTOR; k++)
                    sum = combine(sum, LIFTED(x[v], k));
                tile_slots[spread(v * BLOCK + THREAD)] = sum;
            }
            if (THREAD == 0)
                next_tile = ahead;
            barrier();
            next = next_tile;
            if (THREAD == 0 && next < tiles)
                ahead = take_ticket();
            if (THREAD < TILE_VECTORS * (BLOCK / TEAM)) {
                acc_t all = identity();
                SUM_BEFORE(SLOT_OF_TEAM, TEAM, all)
                team_sums[THREAD] = all;
            }
            barrier();
            if (THREAD < TILE_VECTORS) {
                acc_t all = identity();
                SUM_BEFORE(SLOT_OF_ROW, BLOCK / TEAM, all)
                row_sums[THREAD] = all;
            }
            barrier();
            if (THREAD == 0) {
                acc_t sum = row_sums[0];
                UNROLLED for (uint v = 1; v < TILE_VECTORS; v++)
                    sum = combine(sum, row_sums[v]);
                publish(now, sum);
            }
        }
        if (last < tiles) {
            const uint own_window = last / WINDOW;
            bool is_there = false;
            acc_t before = before_window;
            while (!is_there) {
                const uint left = own_window - window; /* windows between */
                shared_slots[spread(THREAD)] = wait_for_pair((window + THREAD / TEAM) * WINDOW + THREAD % TEAM, last);
                barrier();
                if (THREAD < BLOCK / TEAM) {
                    acc_t sum = shared_slots[spread(THREAD * TEAM)];
                    UNROLLED for (uint k = 1; k < TEAM; k++)
                        sum = combine(sum, shared_slots[spread(THREAD * TEAM + k)]);
                    team_slots[THREAD] = sum;
                }
                barrier();
                UNROLLED for (uint k = 0; k < BLOCK / TEAM; k++)
                    if (k < left)
                        before_window = combine(before_window, team_slots[k]);
                is_there = left < BLOCK / TEAM;
                before = is_there ? combine(before_window, team_slots[left]) : before_window;
                window += min(left, BLOCK / TEAM);
            }
            const wide begin = begin_of_tile(last), number = plus(p.before, times(last, ONCE_LENGTH));
            const address to = plus(p.out_at, shifted_up(begin, OUT_LOG));
            const bool exchanging = lie_across(to);
            uvec4 left_vector = uvec4(0), first_of_tile = uvec4(0);
            UNROLLED for (uint v = 0; v < TILE_VECTORS; v++) {
                acc_t run = combine(before, before_vector[v]);
                uvec4 words = uvec4(0), first_words, words_before;
                UNROLLED for (uint k = 0; k < VECTOR; k++) {
                    const acc_t following = combine(run, LIFTED(last_x[v], k));
                    const uint logical = (v * BLOCK + THREAD) * VECTOR + k + (INCLUSIVE ? 1 : 0);
                    const uvec2 bits = lower(INCLUSIVE ? following : run, plus(number, logical), wide(0)).first;
                    const uint byte = PLACE_IN_VECTOR(k) << OUT_LOG, word = byte >> 2 & 3u;
                    if (OUT_LOG == 3) {
                        words[word] = bits.x;
                        words[word + 1] = bits.y;
                    } else {
                        words[word] |= (OUT_LOG == 2 ? bits.x : bits.x & (256u << 8 * OUT_LOG) - 1u) << 8 * (byte & 3u);
                    }
                    if ((k + 1 << OUT_LOG & 15u) == 0) {
                        const uint place = PLACE_OF_VECTOR(v) * (VECTOR << OUT_LOG >> 4) + (byte >> 4);
                        const address here = plus(to, 16 * place);
                        if (OUT_AHEAD != 0 && k << OUT_LOG >= 16)
                            vectors_at(minus(to, OUT_AHEAD)).vector[place] =
                                straddling(words_before, words, 16 - OUT_AHEAD);
                        else if (!ANYWHERE && OUT_AHEAD == 0)
                            vectors_at(to).vector[place] = words;
                        else if (ANYWHERE && !exchanging)
                            store_results(here, words);
                        else if (k << OUT_LOG < 16)
                            first_words = words;
                        else
                            vectors_at(address(here.x & ~15u, here.y)).vector[0] =
                                straddling(words_before, words, 16 - (here.x & 15u));
                        words_before = words;
                        words = uvec4(0);
                    }
                    run = following;
                }
                if (!FILLS_VECTORS)
                    store_bytes(plus(to, PLACE_OF_VECTOR(v) * (VECTOR << OUT_LOG)), words, VECTOR << OUT_LOG);
                if (OUT_AHEAD != 0)
                    store_beside(minus(to, OUT_AHEAD), v, first_words, words_before);
                if (exchanging)
                    exchange_whole(plus(to, (v * BLOCK + THREAD) * (VECTOR << OUT_LOG)), v, first_words, words_before,
                                   left_vector, first_of_tile);
            }
            if (OUT_AHEAD != 0)
                store_edges(minus(to, OUT_AHEAD));
            if (exchanging)
                store_ends(to, ONCE_LENGTH << OUT_LOG, first_of_tile, left_vector);
            if (last == tiles - 1 && given(p.total) && THREAD == 0) { /* nothing has been added up since */
                acc_t sum = row_sums[0];
                UNROLLED for (uint v = 1; v < TILE_VECTORS; v++)
                    sum = combine(sum, row_sums[v]);
                write_slot(p.total, wide(0), combine(before, sum));
            }
        }
        if (now < tiles) {
            acc_t before_row = identity();
            UNROLLED for (uint v = 0; v < TILE_VECTORS; v++) {
                last_x[v] = x[v];
                before_vector[v] = combine(combine(before_row, team_sums[v * (BLOCK / TEAM) + THREAD / TEAM]),
                                           tile_slots[spread(v * BLOCK + THREAD)]);
                before_row = combine(before_row, row_sums[v]);
            }
        }
        last = now;
        now = next;
    }
}
#endif
