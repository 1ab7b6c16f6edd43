/* Scans of all values and along an axis whose elements lie next to each other: a workgroup takes a chunk of a row, tile
 * by tile. A thread has ROWS vectors of a tile, BLOCK vectors apart, so that neighbouring threads load neighbours. The vectors' sums are scanned in shared memory, in the order of the elements. */
struct scan_tile {
    address x, y, out_at; /* of the chunk's first element in memory */
    uint count;           /* of the chunk */
    uint from, to;        /* of it: the elements whose results are stored, logical */
    uint first;           /* of the tile in the chunk, logical */
    wide number, before;  /* of the chunk's first element in memory; elements of the row before the chunk, logical */
    uint ahead, behind;   /* elements of the array before and after the chunk, or VECTOR */
};

const uint MOST_ELEMENTS = 16; /* a thread's of a tile, so that drivers unroll the loops over them */
layout(constant_id = 11) const bool ANYWHERE = false; /* arrays may begin where vectors do not: else that is slow */

#define VECTOR      (16u >> IN_LOG)
#define ROWS        min(TILE_SLOTS, MOST_ELEMENTS / VECTOR)
#define TILE_LENGTH (ROWS * BLOCK * VECTOR)

/* Elements [at, at + VECTOR) of a chunk, in logical positions and order. Elements past the end are missing. */
uint physical(scan_tile t, uint logical) {
    return REVERSE ? t.count - 1 - logical : logical;
}
/* The number of a vector's elements that belong to the chunk. */
uint elements_there(scan_tile t, uint logical) {
    return min(VECTOR, t.count - min(logical, t.count));
}
/* Of 16 bytes the words that have some of [low, high), from any address. */
uvec4 load_part(address at, uint low, uint high) {
    const uint byte = at.x & 3u, shift = 8u * byte, back = 31u - shift;
    words_at from = words_at(word_below(at));
    low += byte;
    high += byte;
    const uint w0 = low < 4 && high > low ? from.word[0] : 0, w1 = low < 8 && high > 4 ? from.word[1] : 0;
    const uint w2 = low < 12 && high > 8 ? from.word[2] : 0, w3 = low < 16 && high > 12 ? from.word[3] : 0;
    const uint w4 = high > 16 ? from.word[4] : 0;
    return uvec4(w0, w1, w2, w3) >> shift | uvec4(w1, w2, w3, w4) << 1 << back;
}
/* A vector as far as it is there. */
uvec4 load_there(scan_tile t, address array, uint at) {
    const uint there = elements_there(t, at) << IN_LOG;
    if (there == 0)
        return uvec4(0);
    if (REVERSE)
        return load_part(minus(element_at(array, t.count - at), 16u), 16 - there, 16);
    return load_part(element_at(array, at), 0, there);
}
uvec4 scan_load(scan_tile t, address from, uint logical) {
    if (logical + VECTOR <= t.count)
        return load_vector(element_at(from, REVERSE ? t.count - logical - VECTOR : logical));
    return load_there(t, from, logical);
}
/* Whether a tile of 'length' is in the chunk, and its vectors and those beside them in the array. */
bool is_inside(scan_tile t, uint length) {
    const uint after = t.count - t.first - length; /* if it is in the chunk */
    return t.first + length <= t.count && t.first + (REVERSE ? t.behind : t.ahead) >= VECTOR &&
           after + (REVERSE ? t.ahead : t.behind) >= VECTOR;
}
lifted_t scan_lift_item(scan_tile t, uvec4 x, uvec4 y, uint k, uint logical) {
    const uint place = REVERSE ? VECTOR - 1 - k : k;
    const uvec2 partner = TWO_INPUTS ? pick(y, place, IN_LOG) : uvec2(0);
    return lift_bits(pick(x, place, IN_LOG), partner, plus(t.number, physical(t, logical)));
}
acc_t sum_of_vector(scan_tile t, uvec4 x, uvec4 y, uint logical) {
    const uint count = elements_there(t, logical);
    lane_t lane = lane_identity();
    UNROLLED for (uint k = 0; k < VECTOR; k++)
        if (k < count)
            lane = added(lane, scan_lift_item(t, x, y, k, logical + k));
    return widen(lane);
}
acc_t scan_lift(scan_tile t, uvec4 x, uvec4 y, uint k, uint logical) {
    return acc_of(scan_lift_item(t, x, y, k, logical));
}
result_t scan_lower(scan_tile t, acc_t run, acc_t next, uint logical) {
    return lower(INCLUSIVE ? next : run, plus(t.before, logical + (INCLUSIVE ? 1 : 0)), wide(0));
}

/* Bytes of an element's results, and whether those of a vector's elements fill vectors. */
#define RESULT        (PER_RESULT << OUT_LOG)
#define FILLS_VECTORS (RESULT * VECTOR >= 16)

/* A version of scan_once.comp is compiled for how arrays lie: these are the bytes from the last aligned address to the
 * input and to the results. If both are 0, arrays are aligned, or the kernel learns at run time how they lie. */
layout(constant_id = 19) const uint X_AHEAD = 0;
layout(constant_id = 20) const uint OUT_AHEAD = 0;
/* A tile has so many ends of subgroups, and each leaves two vectors of results in shared memory. */
const uint EDGES = LANES > 1 ? TILE_VECTORS * BLOCK / LANES : 0, WORDS_OF_EDGES = 8 * EDGES;

/* Whether the results of a tile's vectors lie across vectors in memory. Neighbouring threads then exchange the last
 * vectors of their results, and store aligned ones. Results of 8 bytes need no exchange: a thread stores them by twos. */
bool lie_across(address out_at) {
    return ANYWHERE && FILLS_VECTORS && !REVERSE && OUT_LOG != 3 && (out_at.x & 15u) != 0;
}
shared uint spare_words[4 * BLOCK > WORDS_OF_EDGES ? 4 * BLOCK : WORDS_OF_EDGES];
uvec4 spare_vector(uint thread) {
    return uvec4(spare_words[thread], spare_words[BLOCK + thread], spare_words[2 * BLOCK + thread],
                 spare_words[3 * BLOCK + thread]);
}

/* A vector of results that are not exchanged: only those of a reverse scan or of 8 bytes may lie across vectors. */
void store_results(address at, uvec4 words) {
    if (REVERSE || OUT_LOG == 3)
        store_vector(at, words);
    else
        vectors_at(at).vector[0] = words;
}

/* 'last' of the thread before; the first thread keeps 'left'. All threads call this. */
void exchange_words(uvec4 last, inout uvec4 left) {
    barrier(); /* earlier use of the memory */
    UNROLLED for (uint w = 0; w < 4; w++)
        spare_words[w * BLOCK + THREAD] = last[w];
    barrier();
    if (THREAD > 0)
        left = spare_vector(THREAD - 1);
}

/* The first and the last vector of the results of a thread's vector v, of some bytes. The first one goes to 'at'. 'left' is the last one
 * before the first thread's. Where a neighbour has no whole vector, a part is stored. All threads call this. */
void exchange(address at, uint bytes, bool is_whole, bool has_left, bool has_right, uvec4 first, uvec4 last,
              inout uvec4 left) {
    const uint byte = at.x & 15u;
    exchange_words(last, left);
    if (is_whole && has_left)
        vectors_at(address(at.x & ~15u, at.y)).vector[0] = straddling(left, first, 16 - byte);
    else if (is_whole)
        store_bytes(at, first, 16 - byte);
    if (is_whole && !has_right)
        store_bytes(plus(at, bytes - byte), straddling(last, last, 16 - byte), byte);
    left = spare_vector(BLOCK - 1);
}

/* Whether all results of a vector are stored. */
bool is_stored(scan_tile t, uint logical) {
    return logical >= t.from && logical + VECTOR <= t.to;
}

/* The results of a vector's elements one by one, those that are stored. 'run' is the value before them. */
void give_elements(scan_tile t, uvec4 x, uvec4 y, uint logical, acc_t run) {
    for (uint k = 0; k < VECTOR; k++) {
        const acc_t next = combine(run, scan_lift(t, x, y, k, logical + k));
        if (logical + k >= t.from && logical + k < t.to)
            store_result(t.out_at, wide_of(physical(t, logical + k)), scan_lower(t, run, next, logical + k));
        run = next;
    }
}

/* The same of all. If threads exchange, 'first' and 'last' are the first and the last vector of the results, of which
 * the first one is not stored. */
void give_vector(scan_tile t, uvec4 x, uvec4 y, uint logical, address out_at, acc_t run, bool exchanging,
                 out uvec4 first, out uvec4 last) {
    uvec4 words = uvec4(0);
    first = last = words;
    UNROLLED for (uint k = 0; k < VECTOR; k++) {
        const acc_t next = combine(run, scan_lift(t, x, y, k, logical + k));
        const result_t r = scan_lower(t, run, next, logical + k);
        const uint place = (REVERSE ? VECTOR - 1 - k : k) * RESULT, byte = place & 15u;
        gather(words, byte, r.first);
        if (PER_RESULT == 2)
            gather(words, byte + (1u << OUT_LOG), r.second);
        if (FILLS_VECTORS && (REVERSE ? byte == 0 : byte + RESULT == 16)) {
            const address to = plus(out_at, place & ~15u);
            if (!ANYWHERE)
                vectors_at(to).vector[0] = words;
            else if (!exchanging)
                store_results(to, words);
            else if (k * RESULT < 16)
                first = words;
            else
                vectors_at(address(to.x & ~15u, to.y)).vector[0] = straddling(last, words, 16 - (to.x & 15u));
            if (ANYWHERE)
                last = words;
            words = uvec4(0);
        }
        run = next;
    }
    if (!FILLS_VECTORS)
        store_bytes(out_at, words, RESULT * VECTOR);
}

/* A thread's vector v, if all of the tile's results are stored. Those at its ends are left to store_ends(). All threads
 * call this; 'left' is as exchange() has it. */
void exchange_whole(address at, uint v, uvec4 first, uvec4 last, inout uvec4 left, inout uvec4 first_of_tile) {
    exchange_words(last, left);
    if (v > 0 || THREAD > 0)
        vectors_at(address(at.x & ~15u, at.y)).vector[0] = straddling(left, first, 16 - (at.x & 15u));
    else
        first_of_tile = first;
    left = spare_vector(BLOCK - 1);
}
void store_ends(address at, uint bytes, uvec4 first_of_tile, uvec4 left) {
    const uint byte = at.x & 15u;
    if (THREAD == 0) {
        store_bytes_between(minus(at, byte), straddling(left, first_of_tile, 16 - byte), byte, 16);
        store_bytes_between(plus(at, bytes - byte), straddling(left, left, 16 - byte), 0, byte);
    }
}
address results_at(scan_tile t, uint logical) {
    return plus(t.out_at, physical(t, logical + (REVERSE ? VECTOR - 1 : 0)) * RESULT);
}
bool fit_vectors(address out_at) {
    return ANYWHERE || !FILLS_VECTORS || (out_at.x & 15u) == 0;
}

/* The same of a tile of which some results are not stored. */
void scan_vector(scan_tile t, uint v, uvec4 x, uvec4 y, acc_t run, bool exchanging, inout uvec4 left) {
    const uint logical = t.first + (v * BLOCK + THREAD) * VECTOR, place = v * BLOCK + THREAD;
    const bool is_whole = is_stored(t, logical);
    const address out_at = results_at(t, logical);
    uvec4 first = uvec4(0), before = uvec4(0);
    if (is_whole && fit_vectors(out_at))
        give_vector(t, x, y, logical, out_at, run, exchanging, first, before);
    else
        give_elements(t, x, y, logical, run);
    if (ANYWHERE && exchanging)
        exchange(out_at, RESULT * VECTOR, is_whole, place > 0 && is_stored(t, logical - VECTOR),
                 place + 1 < ROWS * BLOCK && is_stored(t, logical + VECTOR), first, before, left);
}

/* A thread's vectors of a tile. */
struct tile_vectors {
    uvec4 x[TILE_SLOTS], y[TILE_SLOTS];
};

/* The beginning of a whole tile in memory; its vectors are in order or, for reverse scans, in reverse order. */
address whole_tile(scan_tile t, address from) {
    return element_at(from, REVERSE ? t.count - t.first - TILE_LENGTH : t.first);
}
uint vector_in_memory(uint v) {
    const uint i = v * BLOCK + THREAD;
    return REVERSE ? ROWS * BLOCK - 1 - i : i;
}

/* From an address that vectors do not begin at; at the ends of the array by words. */
uvec4 load_anywhere(scan_tile t, address from, uint logical) {
    const uint before = min(logical, t.count), after = t.count - min(logical + VECTOR, t.count);
    const uint low = (REVERSE ? after : before) + t.ahead, high = (REVERSE ? before : after) + t.behind;
    if (logical + VECTOR <= t.count && low >= VECTOR && high >= VECTOR)
        return load_straddling(element_at(from, REVERSE ? t.count - logical - VECTOR : logical));
    return scan_load(t, from, logical);
}

/* The condition of all of a workgroup's loads is tested once, because nothing must come between them. */
void load_tile(scan_tile t, out tile_vectors in_tile) {
    const address x = whole_tile(t, t.x), y = whole_tile(t, t.y);
    if (t.count - t.first >= TILE_LENGTH && (x.x & 15u) == 0 && (!TWO_INPUTS || (y.x & 15u) == 0)) {
        UNROLLED for (uint v = 0; v < ROWS; v++) {
            in_tile.x[v] = vectors_at(x).vector[vector_in_memory(v)];
            if (TWO_INPUTS)
                in_tile.y[v] = vectors_at(y).vector[vector_in_memory(v)];
        }
        return;
    }
    if (ANYWHERE && IN_LOG == 3 && t.count - t.first >= TILE_LENGTH && (x.x & 7u) == 0 &&
        (!TWO_INPUTS || (y.x & 7u) == 0)) {
        UNROLLED for (uint v = 0; v < ROWS; v++) {
            in_tile.x[v] = load_two_pairs(plus(x, 16 * vector_in_memory(v)));
            if (TWO_INPUTS)
                in_tile.y[v] = load_two_pairs(plus(y, 16 * vector_in_memory(v)));
        }
        return;
    }
    UNROLLED for (uint v = 0; v < ROWS; v++) {
        const uint logical = t.first + (v * BLOCK + THREAD) * VECTOR;
        in_tile.x[v] = ANYWHERE ? load_anywhere(t, t.x, logical) : scan_load(t, t.x, logical);
        if (TWO_INPUTS)
            in_tile.y[v] = ANYWHERE ? load_anywhere(t, t.y, logical) : scan_load(t, t.y, logical);
    }
}

acc_t scan_one_tile(scan_tile t, tile_vectors in_tile, acc_t before) {
    barrier(); /* earlier use of the memory */
    UNROLLED for (uint v = 0; v < ROWS; v++)
        tile_slots[spread(v * BLOCK + THREAD)] =
            sum_of_vector(t, in_tile.x[v], in_tile.y[v], t.first + (v * BLOCK + THREAD) * VECTOR);
    barrier();
    acc_t sum = identity(), all;
    UNROLLED for (uint v = 0; v < ROWS; v++)
        sum = combine(sum, tile_slots[spread(THREAD * ROWS + v)]);
    acc_t run = combine(before, scan_threads(sum, all));
    UNROLLED for (uint v = 0; v < ROWS; v++) {
        const acc_t own = tile_slots[spread(THREAD * ROWS + v)];
        tile_slots[spread(THREAD * ROWS + v)] = run;
        run = combine(run, own);
    }
    barrier();
    const bool exchanging = lie_across(t.out_at);
    uvec4 left = uvec4(0);
    uvec4 first_of_tile = uvec4(0);
    const address out_at = results_at(t, t.first);
    if (t.first >= t.from && t.first + TILE_LENGTH <= t.to && fit_vectors(out_at)) {
        UNROLLED for (uint v = 0; v < ROWS; v++) {
            const uint logical = t.first + (v * BLOCK + THREAD) * VECTOR;
            uvec4 first, last;
            give_vector(t, in_tile.x[v], in_tile.y[v], logical, results_at(t, logical),
                        tile_slots[spread(v * BLOCK + THREAD)], exchanging, first, last);
            if (ANYWHERE && exchanging)
                exchange_whole(results_at(t, logical), v, first, last, left, first_of_tile);
        }
        if (ANYWHERE && exchanging)
            store_ends(out_at, TILE_LENGTH * RESULT, first_of_tile, left);
    } else {
        /* one text for all vectors, which are loaded again: a driver keeps an array that a loop goes through in memory */
        for (uint v = 0; v < ROWS; v++) {
            const uint logical = t.first + (v * BLOCK + THREAD) * VECTOR;
            const uvec4 x = scan_load(t, t.x, logical), y = TWO_INPUTS ? scan_load(t, t.y, logical) : uvec4(0);
            barrier(); /* results may lie where elements do */
            scan_vector(t, v, x, y, tile_slots[spread(v * BLOCK + THREAD)], exchanging, left);
        }
    }
    return combine(before, all);
}

scan_tile chunk_of_row(uint chunk, uint row, wide extent) {
    scan_tile t;
    const wide begin = begin_of_chunk(chunk, extent, t.count);
    const wide lowest = REVERSE ? minus(minus(extent, begin), t.count) : begin;
    const wide first = elements_before(wide_of(row), lowest);
    t.x = element_at(p.x, first);
    t.y = element_at(p.y, first);
    t.out_at = plus(p.out_at, shifted_up(times(first, PER_RESULT), OUT_LOG));
    t.first = t.from = 0;
    t.to = t.count;
    t.ahead = at_most(first, VECTOR);
    t.behind = at_most(minus(minus(times(p.columns, p.extent), first), t.count), VECTOR);
    t.number = plus(p.before, lowest);
    t.before = plus(p.before, begin);
    return t;
}

/* The next tile is loaded while one is scanned. So in the first turn none is, and the load stands once in the text. */
void scan_rows() {
    begin_kernel();
    const uint rows = p.columns.x;
    const wide extent = extent_of_run();
    for (uint number = group_number(); number < rows * p.chunks; number += group_count()) {
        const uint chunk = number / rows, row = number % rows;
        scan_tile t = chunk_of_row(chunk, row, extent);
        acc_t run = given(p.slots) ? read_slot(p.slots, wide_of(number)) : base_of(wide_of(row));
        scan_tile next = t;
        tile_vectors now, loaded;
        for (bool is_first = true; t.first < t.count || is_first; is_first = false) {
            if (next.first < next.count)
                load_tile(next, loaded);
            if (!is_first)
                run = scan_one_tile(t, now, run);
            now = loaded;
            t = next;
            next.first += TILE_LENGTH;
        }
        if (!given(p.slots) && given(p.total) && THREAD == 0)
            write_slot(p.total, wide_of(row), run);
    }
}
