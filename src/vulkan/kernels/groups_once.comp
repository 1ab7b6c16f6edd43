/* Scans by segments and by keys in one pass, in the way and the tiles of scan_once.comp. A bit for each element that
 * begins a group lies in shared memory, of the tile that is added up and of the one whose results are written. A sum is
 * that of the elements from the last such bit on, and travels with a flag that there is one. Sums are added up in the
 * order of their tiles, since what comes before a group's begin is left out. Elements and results have 4 bytes or more. */
#if SCANS_ONCE
const uint BEGINS = 2 * SENT; /* beside SENT */

/* Of neighbours: the elements from their last head on, or all; and whether there is a head. */
struct group_sum {
    acc_t acc;
    bool begins;
};
group_sum no_sum() {
    return group_sum(identity(), false);
}
group_sum joined(group_sum left, group_sum right) {
    return group_sum(chosen(right.begins, right.acc, combine(left.acc, right.acc)), left.begins || right.begins);
}

void publish(uint tile, group_sum sum) {
    const uvec2 bits = bits_of(sum.acc.a0);
    const uint beside = SENT | (sum.begins ? BEGINS : 0);
    UNROLLED for (uint k = 0; k < ENTRY_WORDS; k++)
        atomicStore(words_at(p_tile_words).word[k * ONCE_PLANE + tile], bits[k / 2] >> 16 * (k & 1) & 65535u | beside,
                    gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}
group_sum sum_of_words(uint words[ENTRY_WORDS]) {
    group_sum sum;
    uvec2 bits = uvec2(0);
    UNROLLED for (uint k = 0; k < ENTRY_WORDS; k++)
        bits[k / 2] |= (words[k] & 65535u) << 16 * (k & 1);
    take_bits(bits, sum.acc.a0);
    sum.begins = (words[0] & BEGINS) != 0;
    return sum;
}

/* Two tiles of those before one; what is not before it is nothing. */
group_sum wait_for_two(uint first, uint tile) {
    if (first >= tile)
        return no_sum();
    const bool both = first + 1 < tile;
    const uint second = both ? first + 1 : first;
    uint words[ENTRY_WORDS], others[ENTRY_WORDS], sent;
    do {
        sent = SENT;
        UNROLLED for (uint k = 0; k < ENTRY_WORDS; k++) {
            words[k] = load_sent(k * ONCE_PLANE + first);
            others[k] = load_sent(k * ONCE_PLANE + second);
            sent &= words[k] & others[k];
        }
    } while (sent == 0);
    group_sum sum = sum_of_words(words);
    if (both)
        sum = joined(sum, sum_of_words(others));
    return sum;
}

/* The heads of the tile whose results are written; those of the other are head_bits. */
shared uint last_heads[MARKED / 32];
/* A bit for each vector of a team, or each team of a row, before which there is a head in it. */
shared uint team_marks[TILE_VECTORS * BLOCK / TEAM], row_marks[TILE_VECTORS];
/* Whether sums in shared memory have a head. */
shared bool team_begins[TILE_VECTORS * BLOCK / TEAM], row_begins[TILE_VECTORS], sum_begins[BLOCK],
    window_begins[BLOCK / TEAM];

/* Of 16 bits, or as many as a vector has elements: those of the tile's vector i. */
#define HEADS_OF_VECTOR(heads, i) (heads[(i) * VECTOR >> 5] >> ((i) * VECTOR & 31u) & (1u << VECTOR) - 1u)

/* Replaces 'count' sums in shared memory by what comes before each, as SUM_BEFORE() does. 'begins_in(i)' says whether
 * number i has a head; 'marks' receives a bit for each before which there is one. */
#define GROUPS_BEFORE(slot, count, begins_in, all, marks)                                                              \
    UNROLLED for (uint first = 0; first < count; first += TOGETHER) {                                                  \
        acc_t own[TOGETHER];                                                                                           \
        UNROLLED for (uint k = 0; k < TOGETHER; k++)                                                                   \
            own[k] = slot(first + k);                                                                                  \
        UNROLLED for (uint k = 0; k < TOGETHER; k++) {                                                                 \
            slot(first + k) = all.acc;                                                                                 \
            marks |= all.begins ? 1u << first + k : 0;                                                                 \
            all = joined(all, group_sum(own[k], begins_in(first + k)));                                                \
        }                                                                                                              \
    }
#define BEGINS_IN_VECTOR(i) (HEADS_OF_VECTOR(head_bits, THREAD * TEAM + (i)) != 0)
#define BEGINS_IN_TEAM(i)   team_begins[THREAD * (BLOCK / TEAM) + (i)]

/* A tile, and which of its elements have results: [low, high) of all have. */
scan_tile tile_of_groups(uint tile, wide low, wide high) {
    scan_tile t;
    t.before = times(tile, ONCE_LENGTH);
    t.count = at_most(minus(p.extent, t.before), ONCE_LENGTH);
    t.number = REVERSE ? minus(minus(p.extent, t.before), t.count) : t.before;
    t.x = t.y = element_at(p.x, t.number);
    t.out_at = plus(p.out_at, shifted_up(begin_of_tile(tile), OUT_LOG)); /* of a whole tile */
    t.first = 0;
    t.from = less(low, t.before) ? 0 : at_most(minus(low, t.before), t.count);
    t.to = less(high, t.before) ? 0 : at_most(minus(high, t.before), t.count);
    t.ahead = at_most(t.number, VECTOR);
    t.behind = at_most(minus(minus(p.extent, t.number), t.count), VECTOR);
    return t;
}

/* The results of a vector of a tile that are stored, one by one. 'run' is what the group has before it. */
void give_some(scan_tile t, uint v, uvec4 x, uint heads, acc_t base, acc_t run) {
    const uint first = (v * BLOCK + THREAD) * VECTOR;
    for (uint k = 0; k < VECTOR; k++) {
        const uint logical = first + k, place = REVERSE ? ONCE_LENGTH - 1 - logical : logical;
        if ((heads >> k & 1u) != 0)
            run = base;
        const uvec2 bits = pick(x, PLACE_IN_VECTOR(k), IN_LOG);
        const acc_t following = combine(run, acc_of(lift_bits(bits, uvec2(0), wide(0))));
        if (logical >= t.from && logical < t.to)
            store_bits(plus(t.out_at, place << OUT_LOG), OUT_LOG,
                       lower(INCLUSIVE ? following : run, wide(0), wide(0)).first);
        run = following;
    }
}

/* The words of heads that a thread has of a tile, which inspect_segments has set. */
const uint HEAD_WORDS_A_THREAD = (MARKED / 32 + BLOCK - 1) / BLOCK;
void load_heads(uint tile, out uint words[HEAD_WORDS_A_THREAD]) {
    const address from = plus(p_heads, shifted_up(times(tile, ONCE_LENGTH / 32), 2));
    UNROLLED for (uint k = 0; k < HEAD_WORDS_A_THREAD; k++) {
        const uint w = k * BLOCK + THREAD;
        words[k] = 0;
        if (w < ONCE_LENGTH / 32 && less(plus(times(tile, ONCE_LENGTH), 32 * w), p.extent))
            words[k] = words_at(from).word[w];
    }
}

/* The same of rows. */
void mark_rows(uint tile, out uint words[HEAD_WORDS_A_THREAD]) {
    wide ahead; /* elements of the tile's first row before it */
    divided(times(tile, ONCE_LENGTH), wide_of(p.chunk), ahead);
    UNROLLED for (uint k = 0; k < HEAD_WORDS_A_THREAD; k++) {
        const uint w = k * BLOCK + THREAD, of_row = (ahead.x + 32 * w) % p.chunk;
        words[k] = 0;
        for (uint i = of_row == 0 ? 0 : p.chunk - of_row; i < 32; i += p.chunk)
            words[k] |= 1u << i;
    }
}

/* Every group begins with 'base'. */
acc_t after_window(acc_t base, acc_t before, uint k) {
    return combine(chosen(window_begins[k], base, before), team_slots[k]);
}

/* The sum of what comes before a tile in the group that goes on there. 'before_window' is that of 'window'. Both move
 * on. */
acc_t look_back(uint tile, acc_t base, inout acc_t before_window, inout uint window) {
    const uint own_window = tile / WINDOW;
    bool is_there = false;
    acc_t before;
    while (!is_there) {
        const uint left = own_window - window; /* windows between */
        const group_sum own = wait_for_two((window + THREAD / TEAM) * WINDOW + 2 * (THREAD % TEAM), tile);
        shared_slots[spread(THREAD)] = own.acc;
        sum_begins[THREAD] = own.begins;
        barrier();
        if (THREAD < BLOCK / TEAM) {
            group_sum sum = group_sum(shared_slots[spread(THREAD * TEAM)], sum_begins[THREAD * TEAM]);
            UNROLLED for (uint k = 1; k < TEAM; k++)
                sum = joined(sum, group_sum(shared_slots[spread(THREAD * TEAM + k)], sum_begins[THREAD * TEAM + k]));
            team_slots[THREAD] = sum.acc;
            window_begins[THREAD] = sum.begins;
        }
        barrier();
        UNROLLED for (uint k = 0; k < BLOCK / TEAM; k++)
            if (k < left)
                before_window = after_window(base, before_window, k);
        is_there = left < BLOCK / TEAM;
        before = before_window;
        if (is_there)
            before = after_window(base, before, left);
        window += min(left, BLOCK / TEAM);
    }
    return before;
}

void groups_once() {
    begin_kernel();
    const bool by_segments = !BY_KEYS && !BY_ROWS;
    if (by_segments && CONTROL.refused != 0)
        return;
    const uint tiles = p_tiles;
    wide low = wide(0), high = p.extent;
    if (by_segments) {
        const wide first = offset_at(wide(0)), end = offset_at(p_segments);
        low = REVERSE ? minus(p.extent, end) : first;
        high = REVERSE ? minus(p.extent, first) : end;
    }
    uint ahead = 0; /* the ticket after the next; one thread has it */
    if (THREAD == 0) {
        next_tile = take_ticket();
        ahead = take_ticket();
    }
    barrier();
    uint now = next_tile, last = NO_TILE; /* the tile to be added up, and the tile whose results are to be written */
    uvec4 x[TILE_VECTORS], last_x[TILE_VECTORS];
    acc_t before_vector[TILE_VECTORS]; /* of 'last', from its last head before the vector on, or all */
    uint begun = 0;                    /* a bit for each vector: there is such a head */
    const acc_t base = base_of(wide(0));
    acc_t before_window = base;
    uint window = 0; /* the one that this comes before */

    while (now < tiles || last < tiles) {
        uint next = tiles, heads_here[HEAD_WORDS_A_THREAD];
        UNROLLED for (uint k = 0; k < HEAD_WORDS_A_THREAD; k++)
            heads_here[k] = 0;
        if (now < tiles) {
            if (BY_ROWS)
                mark_rows(now, heads_here);
            else if (!BY_KEYS)
                load_heads(now, heads_here);
            const scan_tile t = tile_of_groups(now, low, high);
            const address from = element_at(p.x, begin_of_tile(now));
            if (t.count < ONCE_LENGTH || (ANYWHERE && (now == 0 || now == tiles - 1))) {
                for (uint v = 0; v < TILE_VECTORS; v++) { /* one text for all, without an array's index */
                    const uvec4 last_one = scan_load(t, t.x, (v * BLOCK + THREAD) * VECTOR);
                    UNROLLED for (uint u = 1; u < TILE_VECTORS; u++)
                        x[u - 1] = x[u];
                    x[TILE_VECTORS - 1] = last_one;
                }
            } else {
                UNROLLED for (uint v = 0; v < TILE_VECTORS; v++)
                    x[v] = ANYWHERE ? load_straddling(plus(from, 16 * PLACE_OF_VECTOR(v)))
                                    : vectors_at(from).vector[PLACE_OF_VECTOR(v)];
            }
        }
        barrier(); /* earlier use of the memory */
        UNROLLED for (uint k = 0; k < HEAD_WORDS_A_THREAD; k++) {
            const uint w = k * BLOCK + THREAD;
            if (w < ONCE_LENGTH / 32) {
                last_heads[w] = head_bits[w];
                head_bits[w] = heads_here[k];
            }
        }
        barrier();
        if (now < tiles) {
            if (BY_KEYS) {
                const scan_tile t = tile_of_groups(now, low, high);
                mark_keys(t.before, t.count);
                barrier();
            }
            UNROLLED for (uint v = 0; v < TILE_VECTORS; v++) {
                const uint heads = HEADS_OF_VECTOR(head_bits, v * BLOCK + THREAD);
                acc_t sum = LIFTED(x[v], 0u);
                UNROLLED for (uint k = 1; k < VECTOR; k++) {
                    const acc_t item = LIFTED(x[v], k);
                    sum = chosen((heads >> k & 1u) != 0, item, combine(sum, item));
                }
                tile_slots[spread(v * BLOCK + THREAD)] = sum;
            }
            if (THREAD == 0)
                next_tile = ahead;
            barrier();
            next = next_tile;
            if (THREAD == 0 && next < tiles)
                ahead = take_ticket();
            if (THREAD < TILE_VECTORS * (BLOCK / TEAM)) {
                group_sum all = no_sum();
                uint marks = 0;
                GROUPS_BEFORE(SLOT_OF_TEAM, TEAM, BEGINS_IN_VECTOR, all, marks)
                team_sums[THREAD] = all.acc;
                team_begins[THREAD] = all.begins;
                team_marks[THREAD] = marks;
            }
            barrier();
            if (THREAD < TILE_VECTORS) {
                group_sum all = no_sum();
                uint marks = 0;
                GROUPS_BEFORE(SLOT_OF_ROW, BLOCK / TEAM, BEGINS_IN_TEAM, all, marks)
                row_sums[THREAD] = all.acc;
                row_begins[THREAD] = all.begins;
                row_marks[THREAD] = marks;
            }
            barrier();
            if (THREAD == 0) {
                group_sum sum = group_sum(row_sums[0], row_begins[0]);
                UNROLLED for (uint v = 1; v < TILE_VECTORS; v++)
                    sum = joined(sum, group_sum(row_sums[v], row_begins[v]));
                publish(now, sum);
            }
        }
        if (last < tiles) {
            const scan_tile t = tile_of_groups(last, low, high);
            const acc_t before = look_back(last, base, before_window, window);
            const bool is_stored_whole = t.from == 0 && t.to == ONCE_LENGTH;
            const bool exchanging =
                ANYWHERE && FILLS_VECTORS && !REVERSE && is_stored_whole && (t.out_at.x & 15u) != 0;
            uvec4 left_vector = uvec4(0), first_of_tile = uvec4(0);
            for (uint v = 0; v < TILE_VECTORS && !is_stored_whole; v++) { /* likewise */
                give_some(t, v, last_x[0], HEADS_OF_VECTOR(last_heads, v * BLOCK + THREAD), base,
                          combine(chosen((begun >> v & 1u) != 0, base, before), before_vector[0]));
                UNROLLED for (uint u = 1; u < TILE_VECTORS; u++) {
                    last_x[u - 1] = last_x[u];
                    before_vector[u - 1] = before_vector[u];
                }
            }
            if (is_stored_whole) {
                UNROLLED for (uint v = 0; v < TILE_VECTORS; v++) {
                    const uint heads = HEADS_OF_VECTOR(last_heads, v * BLOCK + THREAD);
                    acc_t run = combine(chosen((begun >> v & 1u) != 0, base, before), before_vector[v]);
                    uvec4 words = uvec4(0), first_words, words_before;
                    UNROLLED for (uint k = 0; k < VECTOR; k++) {
                        run = chosen((heads >> k & 1u) != 0, base, run);
                        const acc_t following = combine(run, LIFTED(last_x[v], k));
                        const uvec2 bits = lower(INCLUSIVE ? following : run, wide(0), wide(0)).first;
                        const uint byte = PLACE_IN_VECTOR(k) << OUT_LOG, word = byte >> 2 & 3u;
                        if (OUT_LOG == 3) {
                            words[word] = bits.x;
                            words[word + 1] = bits.y;
                        } else {
                            words[word] |= bits.x; /* results have 4 bytes or more */
                        }
                        if ((k + 1 << OUT_LOG & 15u) == 0) {
                            const uint place = PLACE_OF_VECTOR(v) * (VECTOR << OUT_LOG >> 4) + (byte >> 4);
                            const address here = plus(t.out_at, 16 * place);
                            if (!ANYWHERE)
                                vectors_at(t.out_at).vector[place] = words;
                            else if (!exchanging)
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
                    const address at = plus(t.out_at, PLACE_OF_VECTOR(v) * (VECTOR << OUT_LOG));
                    if (!FILLS_VECTORS)
                        store_bytes(at, words, VECTOR << OUT_LOG);
                    if (exchanging)
                        exchange_whole(at, v, first_words, words_before, left_vector, first_of_tile);
                }
            }
            if (exchanging)
                store_ends(t.out_at, ONCE_LENGTH << OUT_LOG, first_of_tile, left_vector);
        }
        if (now < tiles) {
            group_sum before_row = no_sum();
            begun = 0;
            UNROLLED for (uint v = 0; v < TILE_VECTORS; v++) {
                const uint i = v * BLOCK + THREAD, team = THREAD / TEAM;
                const group_sum in_row = group_sum(team_sums[i / TEAM], (row_marks[v] >> team & 1u) != 0);
                const group_sum in_team =
                    group_sum(tile_slots[spread(i)], (team_marks[i / TEAM] >> THREAD % TEAM & 1u) != 0);
                const group_sum own = joined(joined(before_row, in_row), in_team);
                last_x[v] = x[v];
                before_vector[v] = own.acc;
                begun |= own.begins ? 1u << v : 0;
                before_row = joined(before_row, group_sum(row_sums[v], row_begins[v]));
            }
        }
        last = now;
        now = next;
    }
}
#endif
