/* Scans along an axis whose elements do not lie next to each other: outer x extent x inner. A panel is several
 * neighbouring columns: whole rows of narrow slabs, which lie in one piece, else part of a row of one slab, or of two
 * slabs, the last columns of one and the first of the next. A team of threads goes down a panel, tile by tile, and
 * keeps the sums of the rows so far in registers; each block has as many panels at a time as it has teams. If there are
 * too few columns for all processors, panels are cut into chunks, which a pass of its own sums before (scan_columns.cu
 * scans the sums). Loaders fetch tiles ahead, a vector or an element at a time. Rows of panels are too short for bulk
 * copies, which took 36 cycles a row on an H200. Sizes are those of scan_tiles.cu. */
enum {
    PANEL_RING = RING - 1, /* tiles; the strands' sums take the room of one */
    PANEL_LOADERS = SCAN_PANEL_THREADS - TEAMS * FINISHERS
};
typedef place_in_ring<PANEL_RING> panel_place;

struct panel_scratch {
    alignas(128) uint8 tile[PANEL_RING][(PLACE + 127) / 128 * 128];
    alignas(16) uint8 of_strands[TEAMS][2][FINISHERS * sizeof(acc_t)];
    gate full[PANEL_RING], empty[PANEL_RING];
};
static_assert(sizeof(panel_scratch) <= SCAN_SHARED_BYTES);

/* The part that a team goes down at a time: a panel, or a chunk of one. */
struct panel_part {
    uint64 column;      /* the first column, among outer x inner */
    uint64 at;          /* that column's element in the slab's physically lowest row */
    uint64 rows;        /* 0 if there is no such part */
    uint32 chunk;
    int width, split; /* columns from 'split' on are the next slab's */

    uint64 first(const panels_args &p) const { /* row, in logical order */
        return chunk * p.chunk;
    }
    /* Elements from a column's position, if it were in the same slab, to its real position. */
    uint64 gap_before(const panels_args &p, int column) const {
        return column >= split ? (p.extent - 1) * p.inner : 0;
    }
};
inline panel_part panel_part_at(const panels_args &p, uint64 number) {
    panel_part part = {};
    if (number >= p.panels * p.chunks)
        return part;
    part.chunk = p.chunks > 1 ? (uint32)(number / p.panels) : 0;
    part.column = (number - part.chunk * p.panels) * p.panel;
    const uint64 slab = p.outer > 1 ? part.column / p.inner : 0, column = part.column - slab * p.inner;
    const uint64 left = p.outer * p.inner - part.column, of_slab = p.inner - column;
    part.at = slab * p.extent * p.inner + column;
    const uint64 first = part.first(p);
    part.rows = first >= p.extent ? 0 : p.extent - first < p.chunk ? p.extent - first : p.chunk;
    part.width = left < p.panel ? (int)left : (int)p.panel;
    part.split = of_slab < part.width ? (int)of_slab : part.width;
    return part;
}

struct panel_tile {
    uint64 at;    /* the first column's element in the tile's physically lowest row */
    uint64 first; /* row, in logical order */
    int rows, width;
    bool begins, ends; /* whether it is the part's first tile, and its last */
};
inline panel_tile panel_tile_at(const panels_args &p, const panel_part &part, uint64 down, int most) {
    panel_tile t;
    t.first = part.first(p) + down;
    t.rows = part.rows - down < most ? (int)(part.rows - down) : most;
    t.width = part.width;
    t.begins = down == 0;
    t.ends = down + t.rows == part.rows;
    t.at = part.at + (REVERSE ? p.extent - t.first - t.rows : t.first) * p.inner;
    return t;
}

/* Calls use(part, tile, place, team) for the tiles of this block, in the order in which they pass through shared
 * memory. */
template <class Use> inline void for_panel_tiles(const panels_args &p, Use use) {
    panel_place here = {0, 0};
    const uint64 parts = p.panels * p.chunks;
    const int rows = p.strands * ITEMS;
    for (uint64 base = (uint64)blockIdx.x * TEAMS; base < parts; base += (uint64)gridDim.x * TEAMS) {
        panel_part of[TEAMS];
#pragma unroll
        for (int team = 0; team < TEAMS; team++)
            of[team] = panel_part_at(p, base + team);
        for (uint64 down = 0; down < p.chunk; down += rows)
#pragma unroll 1
            for (int team = 0; team < TEAMS; team++) {
                panel_part part = of[0];
#pragma unroll
                for (int k = 1; k < TEAMS; k++)
                    if (team == k)
                        part = of[k];
                if (down < part.rows) {
                    use(part, panel_tile_at(p, part, down, rows), here, team);
                    here.advance();
                }
            }
    }
}

/* ---- loaders ---- */

/* This thread's share, of 'threads', of copying consecutive elements. */
inline void fetch_ahead(in_t *to, const in_t *from, int count, int thread, int threads) {
    constexpr int a_vector = 16 / sizeof(in_t);
    int whole = shift_of(from) == 0 && shift_of(to) == 0 ? count / a_vector : 0;
#pragma unroll 4
    for (int v = thread; v < whole; v += threads)
        copy_vector<16>(to + v * a_vector, from + v * a_vector);
    if (((uint64)from & (sizeof(in_t) - 1)) == 0)
#pragma unroll 4
        for (int e = whole * a_vector + thread; e < count; e += threads)
            copy_vector<sizeof(in_t)>(to + e, from + e);
    else
        for (int e = thread; e < count; e += threads)
            to[e] = load(from + e);
}

inline void load_panels(panel_scratch &s, const panels_args &p) {
    constexpr int a_vector = 16 / sizeof(in_t);
    const int thread = threadIdx.x;
    const bool in_one_piece = p.panel == p.inner;
    const int a_row = larger_of((p.panel + a_vector - 1) / a_vector, 1); /* threads */
    const int rows_at_once = PANEL_LOADERS / a_row, row_of_thread = thread / a_row;
    const int column = (thread - row_of_thread * a_row) * a_vector;
    const bool aligned = shift_of(p.x) == 0 && p.inner % a_vector == 0; /* all rows begin with a whole vector */
    const bool has_copies = ((uint64)p.x & (sizeof(in_t) - 1)) == 0;    /* else fetch_ahead stores the elements */
    const int to_next = rows_at_once * p.panel;
    const uint64 from_next = rows_at_once * p.inner;
    for_panel_tiles(p, [&](const panel_part &part, const panel_tile &t, const panel_place &here, int) {
        in_t *memory = (in_t *)s.tile[here.at];
        const in_t *from = p.x + t.at;
        s.empty[here.at].wait(here.parity ^ 1);
        if (in_one_piece)
            fetch_ahead(memory, from, t.rows * (int)p.inner, thread, PANEL_LOADERS);
        else if (row_of_thread < rows_at_once && aligned) {
            if (column < t.width) {
                in_t *to = memory + row_of_thread * p.panel + column;
                from += row_of_thread * p.inner + column + part.gap_before(p, column);
#pragma unroll 4
                for (int row = row_of_thread; row < t.rows; row += rows_at_once) {
                    copy_vector<16>(to, from);
                    to += to_next;
                    from += from_next;
                }
            }
        } else if (row_of_thread < rows_at_once) {
            auto fetch_columns = [&](int row, int first, int end) {
                fetch_ahead(memory + row * p.panel + first, from + row * p.inner + first + part.gap_before(p, first),
                            end - first, thread - row_of_thread * a_row, a_row);
            };
            for (int row = row_of_thread; row < t.rows; row += rows_at_once) {
                fetch_columns(row, 0, part.split);
                if (part.split < t.width)
                    fetch_columns(row, part.split, t.width);
            }
        }
        if (has_copies)
            arrive_after_vectors(&s.full[here.at]);
        else /* arrive_after_vectors would wait for copies only, not for stores */
            s.full[here.at].arrive();
    });
}

/* ---- teams ---- */

inline acc_t start_of_chunk(const panels_args &p, uint64 chunk, uint64 column) {
    acc_t start = identity_as<acc_t>();
    if (p.carry || p.initial)
        start = p.carry ? p.carry[column].read() : raise(load(p.initial));
    if (p.chunks > 1) {
        acc_t rows = p.partials[chunk * p.outer * p.inner + column].read();
        start = p.carry || p.initial ? combine(start, rows) : rows;
    }
    return start;
}

template <bool Value> struct choice {
    static constexpr bool value = Value;
};

/* Goes down the panels of a team: adds each chunk up, or scans it. */
template <bool IsSum> inline void go_down(panel_scratch &s, const panels_args &p) {
    const int my_team = (threadIdx.x - PANEL_LOADERS) / FINISHERS;
    const int thread = (threadIdx.x - PANEL_LOADERS) % FINISHERS;
    const int strand = thread / p.panel, column = thread - strand * p.panel, pitch = p.panel;
    const bool in_one_piece = p.panel == p.inner;
    const bool is_aligned = ((uint64)p.out & (sizeof(result_t) - 1)) == 0;
    int in_turn = 0;
    acc_t run = identity_as<acc_t>(); /* this column's sum before the tile */
    for_panel_tiles(p, [&](const panel_part &part, const panel_tile &t, const panel_place &here, int team) {
        if (team != my_team)
            return;
        const bool works = strand < (int)p.strands && column < t.width;
        const uint64 at = t.at + column + part.gap_before(p, column); /* of the physically lowest row */
        int there = works ? t.rows - strand * ITEMS : 0;
        there = there < 0 ? 0 : there > ITEMS ? (int)ITEMS : there;
        const int first = REVERSE ? t.rows - 1 - strand * ITEMS : strand * ITEMS, step = REVERSE ? -1 : 1;
        auto row_of = [&](int k) { return first + k * step; };
        if (t.begins)
            run = IsSum || !works ? identity_as<acc_t>() : start_of_chunk(p, part.chunk, part.column + column);
        s.full[here.at].wait(here.parity);
        in_t *elements = (in_t *)s.tile[here.at] + first * pitch + column;
        lane_t sum = identity_as<lane_t>(), kept[ITEMS];
        auto add_up = [&](auto is_whole) { /* is_whole.value: all items are there, so there is nothing to ask */
            in_t x[ITEMS];
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                x[k] = is_whole.value || k < there ? elements[k * step * pitch] : in_t(0);
#pragma unroll
            for (int k = 0; k < ITEMS; k++) {
                if (!INCLUSIVE)
                    kept[k] = sum;
                if (is_whole.value || k < there) {
                    uint64 row = t.first + strand * ITEMS + k;
                    value_t second =
                        HAS_SECOND ? value_of(load(p.y + at + row_of(k) * (int64)p.inner)) : value_t(0);
                    sum = combine(sum, lift_as<lane_t>(value_of(x[k]), second,
                                                       p.before + (REVERSE ? p.extent - 1 - row : row)));
                }
                if (INCLUSIVE)
                    kept[k] = sum;
            }
        };
        if (there == ITEMS)
            add_up(choice<true>());
        else
            add_up(choice<false>());
        if (IsSum || !in_one_piece) { /* the elements are in registers, and results do not take their place */
            __syncwarp();
            if (thread % WARP == 0)
                s.empty[here.at].arrive();
        }
        acc_t *of_strands = (acc_t *)s.of_strands[team][in_turn];
        of_strands[thread] = widen(sum);
        in_turn ^= 1;
        sync_some<FINISHERS>(OF_TEAMS + team);
        acc_t left = run;
        if (works)
            for (int k = 0; k < (int)p.strands; k++) {
                if (k == strand)
                    left = run;
                run = combine(run, of_strands[k * pitch + column]);
            }
        if (IsSum) {
            if (t.ends && works && strand == 0)
                p.partials[part.chunk * p.outer * p.inner + part.column + column].write(run);
            return;
        }
        if (p.total && works && strand == 0 && t.first + t.rows == p.extent)
            p.total[part.column + column].write(run);
        auto result_of = [&](int k) {
            return lower(combine(left, widen(kept[k])), p.before + t.first + strand * ITEMS + k + INCLUSIVE, 0);
        };
        if (in_one_piece) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                if (k < there) {
                    result_t result = result_of(k);
                    memcpy(&elements[k * step * pitch], &result, sizeof result); /* as wide as what was there */
                }
        } else {
            result_t *to = p.out + at + first * (int64)p.inner;
            const int row = step * (int)(p.inner * sizeof(result_t)); /* bytes */
            auto store_all = [&](auto is_whole) {
#pragma unroll
                for (int k = 0; k < ITEMS; k++)
                    if (is_whole.value || k < there)
                        store_aligned_once((result_t *)((uint8 *)to + (int64)k * row), result_of(k));
            };
            if (is_aligned && there == ITEMS) {
                store_all(choice<true>());
            } else if (is_aligned) {
                store_all(choice<false>());
            } else {
#pragma unroll
                for (int k = 0; k < ITEMS; k++)
                    if (k < there)
                        store_bytes((result_t *)((uint8 *)to + (int64)k * row), result_of(k));
            }
        }
        if (in_one_piece) {
            sync_some<FINISHERS>(OF_TEAMS + team);
            write_out(s.tile[here.at], thread, p.out + t.at, {0, t.rows * (int)p.inner});
            __syncwarp();
            if (thread % WARP == 0)
                s.empty[here.at].arrive();
        }
    });
}

template <bool IsSum> inline void pass_panels(const panels_args &p) {
    extern __shared__ __align__(128) uint8 panel_memory[];
    panel_scratch &s = *(panel_scratch *)panel_memory;
    if (threadIdx.x == 0) {
        for (int at = 0; at < PANEL_RING; at++) {
            s.full[at].init(PANEL_LOADERS);
            s.empty[at].init(FINISHERS / WARP);
        }
        show_gates();
    }
    __syncthreads();
    if (threadIdx.x >= PANEL_LOADERS)
        go_down<IsSum>(s, p);
    else
        load_panels(s, p);
}
