/* The scan in a window (scan_window.comp), in one pass as scan_once.comp's: tiles by ticket, and a tile's sum published
 * before what comes before an earlier one is waited for. ANYWHERE, tiles may lie at any address, and the last one need
 * not be whole. p.total receives the sum of all tiles, p.carry is such a sum. */
layout(constant_id = 11) const bool ANYWHERE = true;
const uint TILE_VECTORS = 4, STRETCHES = TILE_VECTORS / STRETCH;
const uint TOGETHER = 8; /* loads of shared memory, as in scan_once.comp */
const uint TEAM = 16, WINDOW = 2 * TEAM, NO_TILE = ~0u;
const uint ENTRY_WORDS = WINDOW_WORDS + 1, SENT = 0x80000000u;
#define ONCE_PLANE (p_tiles + WINDOW - 1 & ~(WINDOW - 1))

/* Sums in shared memory, a plane for each word. */
#define CELLS (STRETCHES * BLOCK + STRETCHES * BLOCK / 32 + 1)
shared uint cells[WINDOW_WORDS * CELLS];
shared uint waited[(WINDOW_WORDS + 1) * (BLOCK + BLOCK / 32 + 1)];
shared SUM team_sums[STRETCHES * BLOCK / TEAM], row_sums[STRETCHES], window_sums[BLOCK / TEAM];
/* Groups: whether one begins before a stretch in its team, before a team in its row, in a row, and in a window. */
shared bool cell_cut[BY_AXIS ? STRETCHES * BLOCK : 1], team_cut[STRETCHES * BLOCK / TEAM], row_cut[STRETCHES];
shared bool window_cut[BLOCK / TEAM];
shared uint next_tile;

uint spread(uint i) {
    return i + (i >> 5);
}
SUM cell(uint i) {
    SUM s;
    UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
        s[k] = cells[k * CELLS + spread(i)];
    return s;
}
void set_cell(uint i, SUM s) {
    UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
        cells[k * CELLS + spread(i)] = s[k];
}
/* A sum after another one. 'cut': a group begins in it, so that what came before is not in it. */
SUM joined(SUM before, SUM own, bool cut) {
    return BY_AXIS && cut ? own : added(before, own);
}
#define WAITED(k, i) waited[(k) * (BLOCK + BLOCK / 32 + 1) + spread(i)]

/* ---- sums between tiles: 31 bits a word beside a flag, and the 32nd bits in one more ---- */

uint take_ticket() {
    return atomicAdd(words_at(p_tile_words).word[ENTRY_WORDS * ONCE_PLANE], 1u);
}
void publish(uint tile, SUM sum, bool cut) {
    uint signs = SENT | (cut ? 1u << WINDOW_WORDS : 0);
    UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++) {
        signs |= sum[k] >> 31 << k;
        atomicStore(words_at(p_tile_words).word[k * ONCE_PLANE + tile], sum[k] | SENT, gl_ScopeDevice,
                    gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
    atomicStore(words_at(p_tile_words).word[WINDOW_WORDS * ONCE_PLANE + tile], signs, gl_ScopeDevice,
                gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}
uint load_sent(uint word) {
    return atomicLoad(words_at(p_tile_words).word[word], gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}
SUM wait_for(uint tile, out bool cut) {
    uint entry[ENTRY_WORDS], sent;
    do {
        sent = SENT;
        UNROLLED for (uint k = 0; k < ENTRY_WORDS; k++) {
            entry[k] = load_sent(k * ONCE_PLANE + tile);
            sent &= entry[k];
        }
    } while (sent == 0);
    cut = (entry[WINDOW_WORDS] >> WINDOW_WORDS & 1u) != 0;
    SUM s;
    UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
        s[k] = entry[k] & ~SENT | (entry[WINDOW_WORDS] >> k & 1u) << 31;
    return s;
}
/* A thread's share of the tiles before one, two of a window: of groups neighbours, because their order counts. */
SUM wait_for_pair(uint window, uint tile, out bool cut) {
    const uint part = THREAD % TEAM, first = window * WINDOW + (BY_AXIS ? 2 * part : part), apart = BY_AXIS ? 1 : TEAM;
    SUM sum = SUM(0);
    cut = false;
    if (first < tile)
        sum = wait_for(first, cut);
    if (first + apart < tile) {
        bool cut_later;
        const SUM later = wait_for(first + apart, cut_later);
        sum = joined(sum, later, cut_later);
        cut = cut || cut_later;
    }
    return sum;
}

/* ---- elements of a vector ---- */

/* In memory, of a tile's first one; of tiles in reverse of the last. */
wide begin_of_tile(uint tile) {
    const wide first = times(tile, LENGTH);
    return REVERSE ? minus(minus(p.extent, first), LENGTH) : first;
}
#define LOGICAL_VECTOR(v)  (((v) / STRETCH * BLOCK + THREAD) * STRETCH + (v) % STRETCH)
#define PLACE_OF_VECTOR(v) (REVERSE ? TILE_VECTORS * BLOCK - 1 - LOGICAL_VECTOR(v) : LOGICAL_VECTOR(v))

/* ANYWHERE: how many there are. */
uint elements_there(uint tile, uint v) {
    const wide first = plus(times(tile, LENGTH), LOGICAL_VECTOR(v) * VECTOR);
    return less(first, p.extent) ? at_most(minus(p.extent, first), VECTOR) : 0;
}
uvec4 load_some(address at, uint count) {
    if (count == VECTOR)
        return load_vector(at);
    uvec4 x = uvec4(0);
    for (uint k = 0; k < count; k++) {
        const uint place = PLACE_IN_VECTOR(k);
        gather(x, place << OUT_LOG, load_bits(plus(at, place << IN_LOG), IN_LOG));
    }
    return x;
}
void store_some(address at, uvec4 x, uint count) {
    if (count == VECTOR) {
        store_vector(at, x);
        return;
    }
    for (uint k = 0; k < count; k++) {
        const uint place = PLACE_IN_VECTOR(k);
        store_bits(plus(at, place << OUT_LOG), OUT_LOG, pick(x, place, OUT_LOG));
    }
}

/* Levels of usual stretches. The code for these is repeated for each of a thread's; the code for others is there once,
 * in loops over them. */
#define USUAL (IS_F64 ? 2u : 1u)
/* One of a thread's, without an index that would put all into memory. */
#define ONE_OF(which, v) ((v) == 0 ? which[0] : (v) == 1 ? which[1] : (v) == 2 ? which[2] : which[3])

/* What a thread knows of the window. */
struct known {
    int bottom;
    uint highest, shift;
};

/* The multiple of u in an element, where that has a rest. */
double multiple_of(double x, double sigma) {
    precise double raised = x + sigma;
    precise double first = raised - sigma;
    return first;
}
/* A sum of doubles as an integer: they are multiples of 2^unit, and less than 2^51 of these. */
int64_t units_of(double x, int unit) {
    const double start = 1.5lf * power(unit + 52);
    precise double raised = x + start;
    return int64_t(u64_of(unpackDouble2x32(raised))) - int64_t(u64_of(unpackDouble2x32(start)));
}

/* Whether a group begins with element k of vector j of a stretch. */
#define IS_HEAD(heads, j, k) (BY_AXIS && ((heads) >> (j) * VECTOR + (k) & 1u) != 0)

/* The sum of a stretch's elements that doubles hold in so many levels; with groups, of those from the last head on. */
SUM sum_in_doubles(uvec4 x[STRETCH], uint heads, known w, const uint levels) {
    const int unit = w.bottom + int(w.shift);
    const double sigma = 1.5lf * power(unit + 52);
    precise double sum = 0.0lf, rests = 0.0lf;
    UNROLLED for (uint j = 0; j < STRETCH; j++) UNROLLED for (uint k = 0; k < VECTOR; k++) {
        const double value = double_of_bits(float_bits(element_or_zero(PICKED(x[j], PLACE_IN_VECTOR(k)))));
        if (IS_HEAD(heads, j, k))
            sum = rests = 0.0lf;
        if (levels == 1) {
            sum = sum + value;
        } else {
            const double first = multiple_of(value, sigma);
            precise double rest = value - first;
            sum = sum + first;
            rests = rests + rest;
        }
    }
    const SUM multiples = sum_of(units_of(sum, unit), w.shift);
    return levels == 1 ? multiples : added(multiples, sum_of(units_of(rests, w.bottom), 0));
}
/* Elements one by one. */
SUM sum_in_words(uvec4 x[STRETCH], uint heads) {
    SUM sum = SUM(0);
    bool fits = true;
    UNROLLED for (uint j = 0; j < STRETCH; j++)
        [[dont_unroll]] for (uint k = 0; k < VECTOR; k++) {
            sum = IS_HEAD(heads, j, k) ? SUM(0) : sum;
            const uvec2 bits = element_or_zero(pick(x[j], PLACE_IN_VECTOR(k), IN_LOG));
            fits = add_element(sum, window_at(p_window), bits) && fits;
        }
    if (!fits)
        window_at(p_window).failed = 1;
    return sum;
}
uint levels_of_stretch(uvec4 x[STRETCH], uint heads, known w) {
    sizes s = sizes(0, ~0u);
    bool fits = true;
    UNROLLED for (uint j = 0; j < STRETCH; j++)
        UNROLLED for (uint k = 0; k < VECTOR; k++) {
            const uvec2 bits = element_or_zero(PICKED(x[j], PLACE_IN_VECTOR(k)));
            see(s, float_bits(bits));
            fits = fits && !(IS_HEAD(heads, j, k) && is_minus_zero_alone(bits, true));
        }
    if (!fits)
        window_at(p_window).failed = 1;
    return levels_of(s, w.bottom, w.highest, w.shift);
}

/* ---- results of a vector ---- */

/* A double's bits rounded to OUT. 'on_boundary': it lies between two results, so the result may be another if the double
 * is not the whole sum. 'unsure': it may be subnormal or infinite. */
uvec2 rounded_double(double x, inout bool on_boundary, inout bool unsure) {
    const wide bits = unpackDouble2x32(x);
    if (OUT == F64)
        return bits;
    const uint size = bits.y & 0x7fffffffu, sign = bits.y >> 31;
    const uint drop = 24u - significand_bits(OUT);
    const uint bias = OUT == F16 ? 1008u : 896u;
    const uint infinite = bias + (OUT == F16 ? 31u : 255u) << 20;
    unsure = unsure || size - 1u < (bias + 1u << 20) - 1u || (OUT != F16 && size >= infinite);
    if (OUT == F32) {
        on_boundary = on_boundary || (bits.x & 0x1fffffffu) == 0x10000000u;
        return uvec2(floatBitsToUint(float(x)), 0);
    }
    const uint most = (size - (bias << 20)) << 3 | bits.x >> 29 | ((bits.x & 0x1fffffffu) != 0 ? 1u : 0u);
    const uint half_unit = 1u << drop - 1u;
    on_boundary = on_boundary || (most & (1u << drop) - 1u) == half_unit;
    const uint rounded = most + half_unit - 1u + (most >> drop & 1u) >> drop;
    const uint magnitude = size == 0 ? 0 : OUT == F16 && size >= infinite ? 0x7c00u : rounded;
    return uvec2(sign << 15 | magnitude, 0);
}

/* A sum as doubles: its highest word, multiples of u, and the rest. */
struct prefix {
    double high, sum, rests;
    uint bound; /* of the upper half of a result's magnitude, if half a unit stands for a rest */
};
prefix prefix_of(SUM before, known w, const uint levels) {
    const uint top = WINDOW_WORDS - 1, low = WINDOW_WORDS - 3, by = w.shift & 31u; /* 'shift' begins in word low */
    const int unit = w.bottom + int(w.shift);
    prefix found;
    const uint rest_bits = before[low] & (1u << by) - 1u;
    const uint64_t multiples = u64_of(wide(before[low], before[low + 1])) >> by;
    const bool has_rest = levels == 1 && rest_bits != 0;
    found.high = scaled(int(before[top]), w.bottom + 32 * int(top));
    found.rests = 0.0lf;
    if (levels == 1) {
        found.sum = scaled(words_of(2 * multiples + (has_rest ? 1 : 0)), unit - 1);
    } else {
        found.sum = scaled(words_of(multiples), unit);
        found.rests = scaled(low == 0 ? wide(rest_bits, 0) : wide(before[0], rest_bits), w.bottom);
    }
    /* In one level, half a unit stands for a rest: that is as good from 2^25 units on. */
    found.bound = has_rest ? uint(max(unit + 25 + 1023, 1)) << 20 : 0;
    return found;
}

/* False: not all are known to be right. */
bool results_in_doubles(uvec4 x[STRETCH], uint heads, SUM before, SUM base, known w, const uint levels,
                        out uvec4 results[STRETCH]) {
    const double sigma = 1.5lf * power(w.bottom + int(w.shift) + 52);
    const prefix begin = prefix_of(before, w, levels);
    prefix of_group = prefix(0.0lf, 0.0lf, 0.0lf, 0);
    if (BY_AXIS && given(p.initial))
        of_group = prefix_of(base, w, levels);
    double high = begin.high;
    uint bound = begin.bound;
    precise double sum = begin.sum, rests = begin.rests;
    bool unsure = false;
    UNROLLED for (uint j = 0; j < STRETCH; j++)
        results[j] = uvec4(0);
    UNROLLED for (uint j = 0; j < STRETCH; j++) UNROLLED for (uint k = 0; k < VECTOR; k++) {
        const double value = double_of_bits(float_bits(element_or_zero(PICKED(x[j], PLACE_IN_VECTOR(k)))));
        if (IS_HEAD(heads, j, k)) {
            high = of_group.high;
            sum = of_group.sum;
            rests = of_group.rests;
            bound = of_group.bound;
        }
        precise double next = sum + value, next_rests = rests, near, rest = 0.0lf;
        if (levels == 2) {
            const double first = multiple_of(value, sigma);
            precise double own = value - first;
            next = sum + first;
            next_rests = rests + own;
        }
        const double of = INCLUSIVE ? next : sum, of_rests = INCLUSIVE ? next_rests : rests;
        precise double most = high + of;
        near = most;
        if (levels == 2) {
            precise double taken = most - high;
            precise double left = of - taken;
            precise double more = left + of_rests;
            near = most + more;
            precise double gained = near - most;
            rest = more - gained;
        }
        bool on_boundary = false;
        const uvec2 bits = rounded_double(near, on_boundary, unsure);
        if (OUT == F64) {
            precise double twice = rest + rest;
            precise double further = near + twice;
            precise double step = further - near;
            on_boundary = rest != 0.0lf && step == twice;
        } else if (levels == 2) {
            on_boundary = on_boundary && rest != 0.0lf;
        } else {
            unsure = unsure || (unpackDouble2x32(near).y & 0x7fffffffu) < bound;
        }
        unsure = unsure || on_boundary;
        const uint byte = PLACE_IN_VECTOR(k) << OUT_LOG, word = byte >> 2 & 3u;
        if (OUT_LOG == 3) {
            results[j][word] = bits.x;
            results[j][word + 1] = bits.y;
        } else {
            results[j][word] |= bits.x << 8 * (byte & 3u);
        }
        sum = next;
        rests = next_rests;
    }
    return !unsure;
}
void results_in_words(uvec4 x[STRETCH], uint heads, SUM sum, SUM base, out uvec4 results[STRETCH]) {
    window_at w = window_at(p_window);
    UNROLLED for (uint j = 0; j < STRETCH; j++) {
        results[j] = uvec4(0);
        [[dont_unroll]] for (uint k = 0; k < VECTOR; k++) {
            const uint place = PLACE_IN_VECTOR(k);
            sum = IS_HEAD(heads, j, k) ? base : sum;
            const SUM before = sum;
            add_element(sum, w, element_or_zero(pick(x[j], place, IN_LOG)));
            gather(results[j], place << OUT_LOG, rounded_in_words(INCLUSIVE ? sum : before, w.bottom));
        }
    }
}
/* After the usual levels failed. */
void other_results(uvec4 x[STRETCH], uint heads, SUM before, SUM base, known w, uint levels,
                   out uvec4 results[STRETCH]) {
    if (IS_F64 || levels == 0 || !results_in_doubles(x, heads, before, base, w, 2, results))
        results_in_words(x, heads, before, base, results);
}

/* ---- the scan ---- */

/* The sum of a stretch, with what its last group starts from. */
void set_stretch(uint i, SUM sum, SUM base, uint heads) {
    set_cell(i, BY_AXIS && heads != 0 ? added(base, sum) : sum);
    if (BY_AXIS)
        cell_cut[i] = heads != 0;
}
void store_stretch(address to, uint tile, uint s, uvec4 results[STRETCH]) {
    UNROLLED for (uint j = 0; j < STRETCH; j++) {
        const uint v = s * STRETCH + j, place = PLACE_OF_VECTOR(v);
        if (ANYWHERE)
            store_some(plus(to, 16 * place), results[j], elements_there(tile, v));
        else
            vectors_at(to).vector[place] = results[j];
    }
}
SUM sum_before_tiles(SUM base) {
    if (given(p.carry))
        UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
            base[k] = words_at(p.carry).word[k];
    return base;
}
/* The heads of a tile, STRETCH vectors of VECTOR bits from each bit HEADS_OF(s) on. */
#define PER_STRETCH (STRETCH * VECTOR)
uint heads_of_tile(uint tile) {
    uint heads = 0;
    if (has_heads())
        UNROLLED for (uint s = 0; s < STRETCHES; s++)
            heads |= heads_from(plus(times(tile, LENGTH), (s * BLOCK + THREAD) * PER_STRETCH), PER_STRETCH)
                     << s * PER_STRETCH;
    return heads;
}
uint heads_of_stretch(uint heads, uint s) {
    return BY_AXIS ? heads >> s * PER_STRETCH & ~0u >> 32u - PER_STRETCH : 0;
}

void scan_in_window() {
    begin_kernel();
    window_at window_here = window_at(p_window);
    if (window_here.refused != 0)
        return;
    const known w = known(window_here.bottom, window_here.highest, window_here.shift);
    const uint tiles = p_tiles;
    uint ahead = 0; /* the ticket after the next; one thread has it */
    if (THREAD == 0) {
        next_tile = take_ticket();
        ahead = take_ticket();
    }
    barrier();
    uint now = next_tile, last = NO_TILE; /* the tile to be added up, and the tile whose results are to be written */
    uvec4 x[TILE_VECTORS], last_x[TILE_VECTORS];
    SUM before_stretch[STRETCHES]; /* of 'last', from the tile's begin on */
    uint levels = 0, last_levels = 0; /* two bits a stretch */
    uint heads = 0, last_heads = 0;
    uint last_cut = 0; /* a bit a stretch: a group begins before it in the tile */
    const SUM base = base_of_group();
    SUM before_window = sum_before_tiles(base);
    uint window = 0; /* the one that this comes before */

    while (now < tiles || last < tiles) {
        uint next = tiles;
        if (now < tiles) {
            const address from = element_at(p.x, begin_of_tile(now));
            UNROLLED for (uint v = 0; v < TILE_VECTORS; v++)
                x[v] = ANYWHERE ? load_some(plus(from, 16 * PLACE_OF_VECTOR(v)), elements_there(now, v))
                                : vectors_at(from).vector[PLACE_OF_VECTOR(v)];
            barrier(); /* earlier use of the memory */
            levels = 0;
            heads = heads_of_tile(now);
            uint others = 0;
            UNROLLED for (uint s = 0; s < STRETCHES; s++) {
                uvec4 some[STRETCH];
                UNROLLED for (uint j = 0; j < STRETCH; j++)
                    some[j] = x[s * STRETCH + j];
                const uint heads_here = heads_of_stretch(heads, s);
                const uint levels_here = levels_of_stretch(some, heads_here, w);
                set_stretch(s * BLOCK + THREAD, sum_in_doubles(some, heads_here, w, USUAL), base, heads_here);
                levels |= levels_here << 2 * s;
                others |= levels_here == USUAL ? 0 : 1u << s;
            }
            [[dont_unroll]] for (; others != 0; others &= others - 1) {
                const uint s = uint(findLSB(others));
                uvec4 some[STRETCH];
                UNROLLED for (uint j = 0; j < STRETCH; j++)
                    some[j] = ONE_OF(x, s * STRETCH + j);
                SUM sum;
                if ((levels >> 2 * s & 3u) == 2)
                    sum = sum_in_doubles(some, heads_of_stretch(heads, s), w, 2);
                else
                    sum = sum_in_words(some, heads_of_stretch(heads, s));
                set_stretch(s * BLOCK + THREAD, sum, base, heads_of_stretch(heads, s));
            }
            if (THREAD == 0)
                next_tile = ahead;
            barrier();
            next = next_tile;
            if (THREAD == 0 && next < tiles)
                ahead = take_ticket();
            if (THREAD < STRETCHES * (BLOCK / TEAM)) {
                SUM all = SUM(0);
                bool cut = false;
                UNROLLED for (uint first = 0; first < TEAM; first += TOGETHER) {
                    SUM own[TOGETHER];
                    UNROLLED for (uint k = 0; k < TOGETHER; k++)
                        own[k] = cell(THREAD * TEAM + first + k);
                    UNROLLED for (uint k = 0; k < TOGETHER; k++) {
                        const uint at = THREAD * TEAM + first + k;
                        set_cell(at, all);
                        all = joined(all, own[k], BY_AXIS && cell_cut[at]);
                        if (BY_AXIS) {
                            const bool cut_before = cut;
                            cut = cut || cell_cut[at];
                            cell_cut[at] = cut_before;
                        }
                    }
                }
                team_sums[THREAD] = all;
                if (BY_AXIS)
                    team_cut[THREAD] = cut;
            }
            barrier();
            if (THREAD < STRETCHES) {
                SUM all = SUM(0);
                bool cut = false;
                for (uint first = 0; first < BLOCK / TEAM; first += TOGETHER) {
                    SUM own[TOGETHER];
                    UNROLLED for (uint k = 0; k < TOGETHER; k++)
                        own[k] = team_sums[THREAD * (BLOCK / TEAM) + first + k];
                    UNROLLED for (uint k = 0; k < TOGETHER; k++) {
                        const uint at = THREAD * (BLOCK / TEAM) + first + k;
                        const bool cut_before = cut;
                        team_sums[at] = all;
                        all = joined(all, own[k], team_cut[at]);
                        if (BY_AXIS) {
                            cut = cut || team_cut[at];
                            team_cut[at] = cut_before;
                        }
                    }
                }
                row_sums[THREAD] = all;
                if (BY_AXIS)
                    row_cut[THREAD] = cut;
            }
            barrier();
            if (THREAD == 0) {
                SUM sum = row_sums[0];
                bool cut = BY_AXIS && row_cut[0];
                UNROLLED for (uint s = 1; s < STRETCHES; s++) {
                    sum = joined(sum, row_sums[s], row_cut[s]);
                    cut = BY_AXIS && (cut || row_cut[s]);
                }
                publish(now, sum, cut);
            }
        }
        if (last < tiles) {
            const uint own_window = last / WINDOW;
            bool is_there = false;
            SUM before = before_window;
            while (!is_there) {
                const uint left = own_window - window; /* windows between */
                bool pair_cut;
                const SUM pair = wait_for_pair(window + THREAD / TEAM, last, pair_cut);
                UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
                    WAITED(k, THREAD) = pair[k];
                if (BY_AXIS)
                    WAITED(WINDOW_WORDS, THREAD) = pair_cut ? 1 : 0;
                barrier();
                if (THREAD < BLOCK / TEAM) {
                    SUM sum = SUM(0);
                    bool cut = false;
                    UNROLLED for (uint i = 0; i < TEAM; i++) {
                        SUM own;
                        UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
                            own[k] = WAITED(k, THREAD * TEAM + i);
                        const bool own_cut = BY_AXIS && WAITED(WINDOW_WORDS, THREAD * TEAM + i) != 0;
                        sum = joined(sum, own, own_cut);
                        cut = cut || own_cut;
                    }
                    window_sums[THREAD] = sum;
                    if (BY_AXIS)
                        window_cut[THREAD] = cut;
                }
                barrier();
                UNROLLED for (uint k = 0; k < BLOCK / TEAM; k++)
                    if (k < left)
                        before_window = joined(before_window, window_sums[k], window_cut[k]);
                is_there = left < BLOCK / TEAM;
                before = is_there ? joined(before_window, window_sums[left], window_cut[left]) : before_window;
                window += min(left, BLOCK / TEAM);
            }
            const address to = plus(p.out_at, shifted_up(begin_of_tile(last), OUT_LOG));
            uint others = 0;
            UNROLLED for (uint s = 0; s < STRETCHES; s++) {
                uvec4 some[STRETCH], results[STRETCH];
                UNROLLED for (uint j = 0; j < STRETCH; j++)
                    some[j] = last_x[s * STRETCH + j];
                const SUM here = joined(before, before_stretch[s], (last_cut >> s & 1u) != 0);
                const bool are_right =
                    results_in_doubles(some, heads_of_stretch(last_heads, s), here, base, w, USUAL, results);
                if (are_right && (last_levels >> 2 * s & 3u) == USUAL)
                    store_stretch(to, last, s, results);
                else
                    others |= 1u << s;
            }
            [[dont_unroll]] for (; others != 0; others &= others - 1) {
                const uint s = uint(findLSB(others));
                uvec4 some[STRETCH], results[STRETCH];
                UNROLLED for (uint j = 0; j < STRETCH; j++)
                    some[j] = ONE_OF(last_x, s * STRETCH + j);
                SUM here = before_stretch[0];
                UNROLLED for (uint k = 1; k < STRETCHES; k++)
                    here = k == s ? before_stretch[k] : here;
                here = joined(before, here, (last_cut >> s & 1u) != 0);
                other_results(some, heads_of_stretch(last_heads, s), here, base, w, last_levels >> 2 * s & 3u, results);
                store_stretch(to, last, s, results);
            }
            if (last == tiles - 1 && given(p.total) && THREAD == 0) { /* nothing has been added up since */
                SUM sum = before;
                UNROLLED for (uint s = 0; s < STRETCHES; s++)
                    sum = joined(sum, row_sums[s], row_cut[s]);
                UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
                    words_at(p.total).word[k] = sum[k];
            }
        }
        if (now < tiles) {
            SUM before_row = SUM(0);
            bool is_cut = false;
            last_cut = 0;
            UNROLLED for (uint v = 0; v < TILE_VECTORS; v++)
                last_x[v] = x[v];
            UNROLLED for (uint s = 0; s < STRETCHES; s++) {
                const uint at = s * BLOCK + THREAD, team = at / TEAM;
                const bool in_team = BY_AXIS && cell_cut[at], in_row = BY_AXIS && (in_team || team_cut[team]);
                const SUM before_team = joined(before_row, team_sums[team], team_cut[team]);
                before_stretch[s] = joined(before_team, cell(at), in_team);
                last_cut |= in_row || is_cut ? 1u << s : 0;
                before_row = joined(before_row, row_sums[s], row_cut[s]);
                is_cut = BY_AXIS && (is_cut || row_cut[s]);
            }
            last_heads = heads;
            last_levels = levels;
        }
        last = now;
        now = next;
    }
}
