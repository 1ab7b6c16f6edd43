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
shared uint waited[WINDOW_WORDS * (BLOCK + BLOCK / 32 + 1)];
shared SUM team_sums[STRETCHES * BLOCK / TEAM], row_sums[STRETCHES], window_sums[BLOCK / TEAM];
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
#define WAITED(k, i) waited[(k) * (BLOCK + BLOCK / 32 + 1) + spread(i)]

/* ---- sums between tiles: 31 bits a word beside a flag, and the 32nd bits in one more ---- */

uint take_ticket() {
    return atomicAdd(words_at(p_tile_words).word[ENTRY_WORDS * ONCE_PLANE], 1u);
}
void publish(uint tile, SUM sum) {
    uint signs = SENT;
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
SUM wait_for(uint tile) {
    uint entry[ENTRY_WORDS], sent;
    do {
        sent = SENT;
        UNROLLED for (uint k = 0; k < ENTRY_WORDS; k++) {
            entry[k] = load_sent(k * ONCE_PLANE + tile);
            sent &= entry[k];
        }
    } while (sent == 0);
    SUM s;
    UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
        s[k] = entry[k] & ~SENT | (entry[WINDOW_WORDS] >> k & 1u) << 31;
    return s;
}
/* A thread's share of the tiles before one, two of a window. */
SUM wait_for_pair(uint first, uint tile) {
    SUM sum = SUM(0);
    if (first < tile)
        sum = wait_for(first);
    if (first + TEAM < tile)
        sum = added(sum, wait_for(first + TEAM));
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

/* The sum of a vector's elements that doubles hold in so many levels. */
SUM sum_in_doubles(uvec4 x[STRETCH], known w, const uint levels) {
    const int unit = w.bottom + int(w.shift);
    const double sigma = 1.5lf * power(unit + 52);
    precise double sum = 0.0lf, rests = 0.0lf;
    UNROLLED for (uint j = 0; j < STRETCH; j++) UNROLLED for (uint k = 0; k < VECTOR; k++) {
        const double value = double_of_bits(float_bits(element_or_zero(PICKED(x[j], k))));
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
SUM sum_in_words(uvec4 x[STRETCH]) {
    SUM sum = SUM(0);
    bool fits = true;
    UNROLLED for (uint j = 0; j < STRETCH; j++)
        [[dont_unroll]] for (uint k = 0; k < VECTOR; k++)
            fits = add_element(sum, window_at(p_window), element_or_zero(pick(x[j], k, IN_LOG))) && fits;
    if (!fits)
        window_at(p_window).failed = 1;
    return sum;
}
uint levels_of_stretch(uvec4 x[STRETCH], known w) {
    sizes s = sizes(0, ~0u);
    UNROLLED for (uint j = 0; j < STRETCH; j++)
        UNROLLED for (uint k = 0; k < VECTOR; k++)
            see(s, float_bits(element_or_zero(PICKED(x[j], k))));
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
    unsure = unsure || size - 1u < (bias + 1u << 20) - 1u || size >= bias + (OUT == F16 ? 31u : 255u) << 20;
    if (OUT == F32) {
        on_boundary = on_boundary || (bits.x & 0x1fffffffu) == 0x10000000u;
        return uvec2(floatBitsToUint(float(x)), 0);
    }
    const uint most = (size - (bias << 20)) << 3 | bits.x >> 29 | ((bits.x & 0x1fffffffu) != 0 ? 1u : 0u);
    const uint half_unit = 1u << drop - 1u;
    on_boundary = on_boundary || (most & (1u << drop) - 1u) == half_unit;
    const uint magnitude = size == 0 ? 0 : most + half_unit - 1u + (most >> drop & 1u) >> drop;
    return uvec2(sign << 15 | magnitude, 0);
}

/* False: not all are known to be right. */
bool results_in_doubles(uvec4 x[STRETCH], SUM before, known w, const uint levels, out uvec4 results[STRETCH]) {
    const uint top = WINDOW_WORDS - 1, low = WINDOW_WORDS - 3, by = w.shift & 31u; /* 'shift' begins in word low */
    const int unit = w.bottom + int(w.shift);
    const uint rest_bits = before[low] & (1u << by) - 1u;
    const uint64_t multiples = u64_of(wide(before[low], before[low + 1])) >> by;
    const bool has_rest = levels == 1 && rest_bits != 0;
    const double high = scaled(int(before[top]), w.bottom + 32 * int(top)), sigma = 1.5lf * power(unit + 52);
    precise double sum, rests = 0.0lf;
    if (levels == 1) {
        sum = scaled(words_of(2 * multiples + (has_rest ? 1 : 0)), unit - 1);
    } else {
        sum = scaled(words_of(multiples), unit);
        rests = scaled(low == 0 ? wide(rest_bits, 0) : wide(before[0], rest_bits), w.bottom);
    }
    /* In one level, half a unit stands for a rest: that is as good from 2^25 units on. */
    const uint bound = has_rest ? uint(max(unit + 25 + 1023, 1)) << 20 : 0;
    bool unsure = false;
    UNROLLED for (uint j = 0; j < STRETCH; j++)
        results[j] = uvec4(0);
    UNROLLED for (uint j = 0; j < STRETCH; j++) UNROLLED for (uint k = 0; k < VECTOR; k++) {
        const double value = double_of_bits(float_bits(element_or_zero(PICKED(x[j], PLACE_IN_VECTOR(k)))));
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
void results_in_words(uvec4 x[STRETCH], SUM sum, out uvec4 results[STRETCH]) {
    window_at w = window_at(p_window);
    UNROLLED for (uint j = 0; j < STRETCH; j++) {
        results[j] = uvec4(0);
        [[dont_unroll]] for (uint k = 0; k < VECTOR; k++) {
            const uint place = PLACE_IN_VECTOR(k);
            const SUM before = sum;
            add_element(sum, w, element_or_zero(pick(x[j], place, IN_LOG)));
            gather(results[j], place << OUT_LOG, rounded_in_words(INCLUSIVE ? sum : before, w.bottom));
        }
    }
}
/* After the usual levels failed. */
void other_results(uvec4 x[STRETCH], SUM before, known w, uint levels, out uvec4 results[STRETCH]) {
    if (IS_F64 || levels == 0 || !results_in_doubles(x, before, w, 2, results))
        results_in_words(x, before, results);
}

/* ---- the scan ---- */

void store_stretch(address to, uint tile, uint s, uvec4 results[STRETCH]) {
    UNROLLED for (uint j = 0; j < STRETCH; j++) {
        const uint v = s * STRETCH + j, place = PLACE_OF_VECTOR(v);
        if (ANYWHERE)
            store_some(plus(to, 16 * place), results[j], elements_there(tile, v));
        else
            vectors_at(to).vector[place] = results[j];
    }
}
SUM base_of_window() {
    SUM sum = SUM(0);
    if (given(p.carry)) {
        UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
            sum[k] = words_at(p.carry).word[k];
    } else if (given(p.initial)) {
        add_element(sum, window_at(p_window), load_bits(p.initial, OUT_LOG));
    }
    return sum;
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
    SUM before_window = base_of_window();
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
            uint others = 0;
            UNROLLED for (uint s = 0; s < STRETCHES; s++) {
                uvec4 some[STRETCH];
                UNROLLED for (uint j = 0; j < STRETCH; j++)
                    some[j] = x[s * STRETCH + j];
                const uint levels_here = levels_of_stretch(some, w);
                set_cell(s * BLOCK + THREAD, sum_in_doubles(some, w, USUAL));
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
                    sum = sum_in_doubles(some, w, 2);
                else
                    sum = sum_in_words(some);
                set_cell(s * BLOCK + THREAD, sum);
            }
            if (THREAD == 0)
                next_tile = ahead;
            barrier();
            next = next_tile;
            if (THREAD == 0 && next < tiles)
                ahead = take_ticket();
            if (THREAD < STRETCHES * (BLOCK / TEAM)) {
                SUM all = SUM(0);
                UNROLLED for (uint first = 0; first < TEAM; first += TOGETHER) {
                    SUM own[TOGETHER];
                    UNROLLED for (uint k = 0; k < TOGETHER; k++)
                        own[k] = cell(THREAD * TEAM + first + k);
                    UNROLLED for (uint k = 0; k < TOGETHER; k++) {
                        set_cell(THREAD * TEAM + first + k, all);
                        all = added(all, own[k]);
                    }
                }
                team_sums[THREAD] = all;
            }
            barrier();
            if (THREAD < STRETCHES) {
                SUM all = SUM(0);
                for (uint first = 0; first < BLOCK / TEAM; first += TOGETHER) {
                    SUM own[TOGETHER];
                    UNROLLED for (uint k = 0; k < TOGETHER; k++)
                        own[k] = team_sums[THREAD * (BLOCK / TEAM) + first + k];
                    UNROLLED for (uint k = 0; k < TOGETHER; k++) {
                        team_sums[THREAD * (BLOCK / TEAM) + first + k] = all;
                        all = added(all, own[k]);
                    }
                }
                row_sums[THREAD] = all;
            }
            barrier();
            if (THREAD == 0) {
                SUM sum = row_sums[0];
                UNROLLED for (uint s = 1; s < STRETCHES; s++)
                    sum = added(sum, row_sums[s]);
                publish(now, sum);
            }
        }
        if (last < tiles) {
            const uint own_window = last / WINDOW;
            bool is_there = false;
            SUM before = before_window;
            while (!is_there) {
                const uint left = own_window - window; /* windows between */
                const SUM pair = wait_for_pair((window + THREAD / TEAM) * WINDOW + THREAD % TEAM, last);
                UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
                    WAITED(k, THREAD) = pair[k];
                barrier();
                if (THREAD < BLOCK / TEAM) {
                    SUM sum = SUM(0);
                    UNROLLED for (uint i = 0; i < TEAM; i++) {
                        SUM own;
                        UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
                            own[k] = WAITED(k, THREAD * TEAM + i);
                        sum = added(sum, own);
                    }
                    window_sums[THREAD] = sum;
                }
                barrier();
                UNROLLED for (uint k = 0; k < BLOCK / TEAM; k++)
                    if (k < left)
                        before_window = added(before_window, window_sums[k]);
                is_there = left < BLOCK / TEAM;
                before = is_there ? added(before_window, window_sums[left]) : before_window;
                window += min(left, BLOCK / TEAM);
            }
            const address to = plus(p.out_at, shifted_up(begin_of_tile(last), OUT_LOG));
            uint others = 0;
            UNROLLED for (uint s = 0; s < STRETCHES; s++) {
                uvec4 some[STRETCH], results[STRETCH];
                UNROLLED for (uint j = 0; j < STRETCH; j++)
                    some[j] = last_x[s * STRETCH + j];
                const bool are_right = results_in_doubles(some, added(before, before_stretch[s]), w, USUAL, results);
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
                other_results(some, added(before, here), w, last_levels >> 2 * s & 3u, results);
                store_stretch(to, last, s, results);
            }
            if (last == tiles - 1 && given(p.total) && THREAD == 0) { /* nothing has been added up since */
                SUM sum = before;
                UNROLLED for (uint s = 0; s < STRETCHES; s++)
                    sum = added(sum, row_sums[s]);
                UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++)
                    words_at(p.total).word[k] = sum[k];
            }
        }
        if (now < tiles) {
            SUM before_row = SUM(0);
            UNROLLED for (uint v = 0; v < TILE_VECTORS; v++)
                last_x[v] = x[v];
            UNROLLED for (uint s = 0; s < STRETCHES; s++) {
                before_stretch[s] =
                    added(added(before_row, team_sums[s * (BLOCK / TEAM) + THREAD / TEAM]), cell(s * BLOCK + THREAD));
                before_row = added(before_row, row_sums[s]);
            }
            last_levels = levels;
        }
        last = now;
        now = next;
    }
}
