/* Scans along an axis whose elements do not lie next to each other: outer x extent x inner. A panel is several
 * neighbouring columns: whole rows of narrow slabs, which lie in one piece, else part of a row of one slab, or of two
 * slabs, the last columns of one and the first of the next. A team of threads goes down a panel, tile by tile, and
 * keeps the sums of the rows so far in registers; each block has as many panels at a time as it has teams. Loaders
 * fetch tiles ahead, in whole vectors of memory for any number of columns. Rows of panels are too short for bulk copies,
 * which took 36 cycles a row on an H200. Sizes are those of scan_tiles.cu. */
enum {
    PANEL_ITEMS = SCAN_PANEL_ITEMS, /* rows that a thread takes of a tile */
    PANEL_RING = SCAN_PANEL_RING,   /* tiles */
    PANEL_PLACE = SCAN_PANEL_PLACE, /* bytes of one */
    PANEL_LOADERS = SCAN_PANEL_THREADS - TEAMS * FINISHERS
};
/* As KEPT; with more registers spill. */
constexpr bool PANEL_KEPT = KEPT && PANEL_ITEMS * sizeof(lane_t) <= 96;
typedef place_in_ring<PANEL_RING> panel_place;

struct panel_scratch {
    alignas(128) uint8 tile[PANEL_RING][PANEL_PLACE];
    alignas(16) uint8 of_strands[TEAMS][2][FINISHERS * sizeof(acc_t)];
    gate full[PANEL_RING], empty[PANEL_RING];
};
static_assert(sizeof(panel_scratch) <= SCAN_PANEL_SHARED_BYTES);

/* The part that a team goes down at a time. */
struct panel_part {
    uint64 column;      /* the first column, among outer x inner */
    uint64 at;          /* that column's element in the slab's physically lowest row */
    uint64 rows;        /* 0 if there is no such part */
    int width, split; /* columns from 'split' on are the next slab's */

    /* Elements from a column's position, if it were in the same slab, to its real position. */
    uint64 gap_before(const panels_args &p, int column) const {
        return column >= split ? (p.extent - 1) * p.inner : 0;
    }
};
inline panel_part panel_part_at(const panels_args &p, uint64 number) {
    panel_part part = {};
    if (number >= p.panels)
        return part;
    part.column = number * p.panel;
    const uint64 slab = p.outer > 1 ? part.column / p.inner : 0, column = part.column - slab * p.inner;
    const uint64 left = p.outer * p.inner - part.column, of_slab = p.inner - column;
    part.at = slab * p.extent * p.inner + column;
    part.rows = p.extent;
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
    t.first = down;
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
    const int rows = p.strands * PANEL_ITEMS;
    for (uint64 base = (uint64)blockIdx.x * TEAMS; base < p.panels; base += (uint64)gridDim.x * TEAMS) {
        panel_part of[TEAMS];
#pragma unroll
        for (int team = 0; team < TEAMS; team++)
            of[team] = panel_part_at(p, base + team);
        for (uint64 down = 0; down < p.extent; down += rows)
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

/* ---- elements in shared memory ---- */

/* Where a tile's elements lie in its place: as far behind a multiple of 16 bytes as in memory, so that vectors are
 * copied as they are. Rows of a panel in one piece follow each other as in memory; others begin a pitch apart, each with
 * the columns of its second slab, if it has two, from 'second' on. Elements that memory has at odd addresses are
 * aligned here. */
struct panel_layout {
    uint32 mask;     /* 15, or 0 for elements at odd addresses */
    uint32 row;      /* bytes from a row to the next in memory, as far as they change where it lies in its vector */
    int pitch;       /* bytes from a row to the next here */
    bool in_one_piece;

    static panel_layout of(const panels_args &p) {
        panel_layout l;
        l.in_one_piece = p.panel == p.inner;
        l.mask = ((uint64)p.x & (sizeof(in_t) - 1)) == 0 ? 15 : 0;
        l.row = l.in_one_piece ? 0 : (uint32)(p.inner * sizeof(in_t));
        l.pitch = (int)p.pitch;
        return l;
    }
    int second(const panel_part &part) const {
        return (part.split * (int)sizeof(in_t) + 30) & ~15;
    }
};

/* ---- loaders ---- */

/* Copies the vector at an address, or what the array has of it. Returns whether it stored that. */
inline bool fetch_vector(const panels_args &p, uint8 *to, uint64 from) {
    const uint64 begin = (uint64)p.x, end = (uint64)(p.x + p.outer * p.extent * p.inner);
    if (from >= begin && from + 16 <= end) {
        copy_vector<16>(to, (const void *)from);
        return false;
    }
    for (int b = 0; b < 16; b += sizeof(in_t))
        if (from + b >= begin && from + b < end)
            *(in_t *)(to + b) = *(const in_t *)(from + b);
    return true;
}

/* A loader's share of a tile's vectors. Returns whether it stored some itself. */
inline bool fetch_panel(const panels_args &p, const panel_layout &l, const panel_part &part, const panel_tile &t,
                        uint8 *memory) {
    const int thread = threadIdx.x;
    const in_t *from = p.x + t.at;
    bool stored = false;
    if (l.in_one_piece) {
        const uint64 first = (uint64)from & ~15ull;
        const int bytes = (int)((uint64)from & 15) + t.rows * l.pitch;
#pragma unroll 4
        for (int at = thread * 16; at < bytes; at += PANEL_LOADERS * 16)
            stored |= fetch_vector(p, memory + at, first + at);
        return stored;
    }
    const int a_row = l.pitch / 16, at_once = PANEL_LOADERS / a_row, row_of_thread = thread / a_row;
    int at = (thread - row_of_thread * a_row) * 16; /* bytes behind the first vector's begin */
    if (row_of_thread >= at_once)
        return false;
    uint8 *to = memory + at;
    int columns = part.split;
    if (part.split < t.width && at >= l.second(part)) {
        at -= l.second(part);
        columns = t.width - part.split;
        from += part.split + part.gap_before(p, part.split);
    }
    const uint64 row_bytes = p.inner * sizeof(in_t);
    const int bytes = columns * (int)sizeof(in_t);
    uint64 begin = (uint64)from + row_of_thread * row_bytes;
    to += row_of_thread * l.pitch;
    const uint64 end = (uint64)from + (t.rows - 1) * row_bytes + bytes;
    /* Few tiles have vectors that the array ends in; the loaders are too few to ask that of every vector. */
    const bool is_inside = ((uint64)from & ~15ull) >= (uint64)p.x &&
                           ((end + 15) & ~15ull) <= (uint64)(p.x + p.outer * p.extent * p.inner);
    auto for_vectors = [&](auto fetch) {
#pragma unroll 4
        for (int row = row_of_thread; row < t.rows; row += at_once) {
            if (at < (int)(begin & 15) + bytes)
                fetch(to, (begin & ~15ull) + at);
            begin += at_once * row_bytes;
            to += at_once * l.pitch;
        }
    };
    if (is_inside)
        for_vectors([&](uint8 *to, uint64 from) { copy_vector<16>(to, (const void *)from); });
    else
        for_vectors([&](uint8 *to, uint64 from) { stored |= fetch_vector(p, to, from); });
    return stored;
}

/* The same for elements at odd addresses. */
inline void fetch_elements(const panels_args &p, const panel_layout &l, const panel_part &part, const panel_tile &t,
                           uint8 *memory) {
    for (int e = threadIdx.x; e < t.rows * t.width; e += PANEL_LOADERS) {
        const int row = e / t.width, column = e - row * t.width;
        const bool is_second = column >= part.split;
        in_t *to = (in_t *)(memory + row * l.pitch + (is_second ? l.second(part) : 0));
        to[is_second ? column - part.split : column] =
            load(p.x + t.at + row * p.inner + column + part.gap_before(p, column));
    }
}

inline void load_panels(panel_scratch &s, const panels_args &p) {
    const panel_layout l = panel_layout::of(p);
    for_panel_tiles(p, [&](const panel_part &part, const panel_tile &t, const panel_place &here, int) {
        bool stored = true;
        s.empty[here.at].wait(here.parity ^ 1);
        if (l.mask)
            stored = fetch_panel(p, l, part, t, s.tile[here.at]);
        else
            fetch_elements(p, l, part, t, s.tile[here.at]);
        if (!stored) {
            arrive_after_vectors(&s.full[here.at]);
            return;
        }
        /* arrive_after_vectors would wait for copies only, not for stores */
#if HAS_MBARRIER
        end_copies_ahead();
        wait_for_copies_ahead<0>();
#endif
        s.full[here.at].arrive();
    });
}

/* ---- teams ---- */

/* Where write_out finds a result. */
inline result_t *result_at(uint8 *memory, int number) {
    const uint32 byte = (uint32)number * (uint32)sizeof(result_t);
    return (result_t *)(memory + (IN_LINE ? byte : vector_of_results((int)(byte / 16)) * 16 + byte % 16));
}

inline acc_t start_of(const panels_args &p, uint64 column) {
    return p.carry ? p.carry[column].read() : p.initial ? raise(load(p.initial)) : identity_as<acc_t>();
}

template <bool Value> struct choice {
    static constexpr bool value = Value;
};

/* Goes down the panels of a team. With a few strands, each thread adds up those of its column by itself; with Many, the
 * team does together. */
template <bool Many> inline void go_down(panel_scratch &s, const panels_args &p) {
    const int my_team = (threadIdx.x - PANEL_LOADERS) / FINISHERS;
    const int thread = (threadIdx.x - PANEL_LOADERS) % FINISHERS;
    const int strand = thread / p.panel, column = thread - strand * p.panel;
    const panel_layout l = panel_layout::of(p);
    const bool is_aligned = ((uint64)p.out & (sizeof(result_t) - 1)) == 0;
    int in_turn = 0, lanes = WARP; /* that share a column, if there are more than a few strands */
    while (lanes * (int)p.panel > FINISHERS)
        lanes /= 2;
    acc_t run = identity_as<acc_t>(); /* this column's sum before the tile */
    for_panel_tiles(p, [&](const panel_part &part, const panel_tile &t, const panel_place &here, int team) {
        if (team != my_team)
            return;
        const bool works = strand < (int)p.strands && column < t.width;
        const uint64 at = t.at + column + part.gap_before(p, column); /* of the physically lowest row */
        /* Asked of left_over, as NVRTC 13.0 answers "there == PANEL_ITEMS" by the predicate of an instruction that bounds
         * 'there' to 0 and PANEL_ITEMS (VIMNMX.RELU), wrongly: threads wrote rows that are none */
        const int left_over = works ? t.rows - strand * PANEL_ITEMS : 0;
        const bool is_whole = left_over >= PANEL_ITEMS;
        const int there = left_over < 0 ? 0 : left_over;
        const int first = REVERSE ? t.rows - 1 - strand * PANEL_ITEMS : strand * PANEL_ITEMS, step = REVERSE ? -1 : 1;
        auto row_of = [&](int k) { return first + k * step; };
        if (t.begins)
            run = works ? start_of(p, part.column + column) : identity_as<acc_t>();
        s.full[here.at].wait(here.parity);
        const bool is_second = column >= part.split;
        const int of_slab = is_second ? column - part.split : column;
        /* from 'lowest' on columns are neighbours in the place */
        const uint32 lowest = (uint32)(uint64)(p.x + at - of_slab) + (uint32)first * l.row;
        const int first_element = (is_second ? l.second(part) : 0) + of_slab * (int)sizeof(in_t) + first * l.pitch;
        lane_t sum = identity_as<lane_t>(), kept[PANEL_KEPT ? PANEL_ITEMS : 1];
        in_t x[PANEL_ITEMS] = {};
        auto lifted = [&](int k) {
            const uint64 row = t.first + strand * PANEL_ITEMS + k;
            const value_t second = HAS_SECOND ? value_of(load(p.y + at + row_of(k) * (int64)p.inner)) : value_t(0);
            return lift_as<lane_t>(value_of(x[k]), second, p.before + (REVERSE ? p.extent - 1 - row : row));
        };
        auto add_up = [&](auto all) { /* all.value: all items are there, so there is nothing to ask */
            uint32 low = lowest;
            const uint8 *elements = s.tile[here.at] + first_element;
#pragma unroll
            for (int k = 0; k < PANEL_ITEMS; k++) {
                x[k] = all.value || k < there ? *(const in_t *)(elements + (low & l.mask)) : in_t(0);
                elements += step * l.pitch;
                low += step * l.row;
            }
#pragma unroll
            for (int k = 0; k < PANEL_ITEMS; k++) {
                if (PANEL_KEPT && !INCLUSIVE)
                    kept[k] = sum;
                if (all.value || k < there)
                    sum = combine(sum, lifted(k));
                if (PANEL_KEPT && INCLUSIVE)
                    kept[k] = sum;
            }
        };
        if (is_whole)
            add_up(choice<true>());
        else
            add_up(choice<false>());
        if (!l.in_one_piece) { /* the elements are in registers, and results do not take their place */
            __syncwarp();
            if (thread % WARP == 0)
                s.empty[here.at].arrive();
        }
        acc_t left = run;
        if (Many) {
            acc_t *totals = (acc_t *)s.of_strands[team][1];
            left = combine(run, scan_strands((acc_t *)s.of_strands[team][0], p.panel, p.strands, lanes, thread,
                                             widen(sum), totals, [=] { sync_some<FINISHERS>(OF_TEAMS + team); }));
            if (works)
                run = combine(run, totals[column]);
        } else {
            acc_t *of_strands = (acc_t *)s.of_strands[team][in_turn];
            of_strands[thread] = widen(sum);
            in_turn ^= 1;
            sync_some<FINISHERS>(OF_TEAMS + team);
            if (works)
                for (int k = 0; k < (int)p.strands; k++) {
                    if (k == strand)
                        left = run;
                    run = combine(run, of_strands[k * (int)p.panel + column]);
                }
        }
        if (p.total && works && strand == 0 && t.first + t.rows == p.extent)
            p.total[part.column + column].write(run);
        auto result_of = [&](int k) { /* to be asked in order */
            acc_t up_to = left;
            if (PANEL_KEPT) {
                up_to = combine(left, widen(kept[PANEL_KEPT ? k : 0]));
            } else {
                left = combine(left, widen(lifted(k)));
                if (INCLUSIVE)
                    up_to = left;
            }
            return lower(up_to, p.before + t.first + strand * PANEL_ITEMS + k + INCLUSIVE, 0);
        };
        if (l.in_one_piece) { /* the team has read all elements */
            if (sizeof(result_t) > sizeof(in_t)) /* results go where no copy of elements came after earlier results */
                s.empty[here.at].wait(here.parity ^ 1);
            int number = first * (int)p.panel + column;
#pragma unroll
            for (int k = 0; k < PANEL_ITEMS; k++) {
                if (k < there)
                    *result_at(s.tile[here.at], number) = result_of(k);
                number += step * (int)p.panel;
            }
        } else {
            const int row = step * (int)(p.inner * sizeof(result_t)); /* bytes */
            uint8 *to = (uint8 *)(p.out + at + first * (int64)p.inner);
            if (is_aligned && is_whole) {
#pragma unroll
                for (int k = 0; k < PANEL_ITEMS; k++, to += row)
                    store_aligned_once((result_t *)to, result_of(k));
            } else {
#pragma unroll
                for (int k = 0; k < PANEL_ITEMS; k++, to += row)
                    if (k < there)
                        store((result_t *)to, result_of(k));
            }
        }
        if (l.in_one_piece) {
            sync_some<FINISHERS>(OF_TEAMS + team);
            write_out(s.tile[here.at], thread, p.out + t.at, {0, t.rows * (int)p.inner});
            __syncwarp();
            if (thread % WARP == 0)
                s.empty[here.at].arrive();
        }
    });
}

template <bool Many> inline void pass_panels(const panels_args &p) {
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
        go_down<Many>(s, p);
    else
        load_panels(s, p);
}
