/* Scans along an axis whose elements do not lie next to each other: outer x extent x inner. A panel is some neighbouring
 * columns of one slab: whole rows of narrow slabs, which lie in one piece. A team of threads goes down a panel, tile by
 * tile, and keeps in registers what the rows so far add up to; each block has as many panels at a time as it has teams.
 * Where there are too few columns for all processors, panels are cut into chunks, which are summed in a pass of their
 * own before (scan_columns.cu scans the sums). Loaders fetch tiles ahead, a vector or an element at a time: rows of
 * panels are too short to be copied in bulk, which took 36 cycles a row on an H200. Sizes are those of scan_tiles.cu. */
struct panels_args {
    const in_t *x, *y;
    result_t *out;
    const out_t *initial;
    slot *partials;    /* chunks x outer x inner, if there are several */
    const slot *carry; /* a column: what earlier pieces gave, or NULL */
    slot *total;       /* a column: receives what this and earlier pieces give, or NULL */
    uint64 outer, extent, inner;
    uint64 before;         /* rows in earlier pieces */
    uint64 panels;         /* a slab */
    uint64 chunk, chunks;  /* rows, whole tiles of them; of a panel */
    uint32 panel, strands; /* columns; shares of its rows, each of ITEMS rows of a tile */
};
enum {
    PANEL_RING = RING - 1, /* what is left is for the strands' sums */
    PANEL_LOADERS = SCAN_PANEL_THREADS - TEAMS * FINISHERS
};
typedef place_in_ring<PANEL_RING> panel_place;

struct panel_scratch {
    alignas(128) uint8 tile[PANEL_RING][(PLACE + 127) / 128 * 128];
    alignas(16) uint8 of_strands[TEAMS][2][FINISHERS * sizeof(acc_t)];
    gate full[PANEL_RING], empty[PANEL_RING];
};
static_assert(sizeof(panel_scratch) <= SCAN_SHARED_BYTES);

struct panel_tile {
    uint64 column; /* the first, of outer x inner */
    uint64 chunk;
    uint64 at;    /* the first column's element in the tile's physically lowest row */
    uint64 first; /* row, logical */
    int rows, width;
    bool begins, ends; /* the chunk */
};

/* Calls use(tile, place, team) for the tiles of this block, in the order in which they pass through shared memory. */
template <class Use> inline void for_panel_tiles(const panels_args &p, Use use) {
    panel_place here = {0, 0};
    const uint64 of_slabs = p.outer * p.panels, panels = of_slabs * p.chunks, rows = (uint64)p.strands * ITEMS;
    for (uint64 base = (uint64)blockIdx.x * TEAMS; base < panels; base += (uint64)gridDim.x * TEAMS)
        for (uint64 down = 0; down < p.chunk; down += rows)
            for (int team = 0; team < TEAMS && base + team < panels; team++) {
                panel_tile t;
                t.chunk = p.chunks > 1 ? (base + team) / of_slabs : 0;
                uint64 panel = base + team - t.chunk * of_slabs, slab = p.panels > 1 ? panel / p.panels : panel;
                uint64 column = (panel - slab * p.panels) * p.panel;
                t.first = t.chunk * p.chunk + down;
                if (t.first >= p.extent)
                    continue;
                t.rows = p.extent - t.first < rows ? (int)(p.extent - t.first) : (int)rows;
                t.width = p.inner - column < p.panel ? (int)(p.inner - column) : (int)p.panel;
                t.begins = down == 0;
                t.ends = down + rows >= p.chunk || t.first + t.rows == p.extent;
                t.column = slab * p.inner + column;
                t.at = (slab * p.extent + (REVERSE ? p.extent - t.first - t.rows : t.first)) * p.inner + column;
                use(t, here, team);
                here.advance();
            }
}

/* ---- loaders ---- */

/* Elements in one piece; all loaders come, or those from 'thread' on of 'threads'. */
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
    const bool aligned = shift_of(p.x) == 0 && p.inner % a_vector == 0; /* all rows */
    for_panel_tiles(p, [&](const panel_tile &t, const panel_place &here, int) {
        in_t *memory = (in_t *)s.tile[here.at];
        const in_t *from = p.x + t.at;
        s.empty[here.at].wait(here.parity ^ 1);
        if (in_one_piece)
            fetch_ahead(memory, from, t.rows * (int)p.inner, thread, PANEL_LOADERS);
        else if (row_of_thread < rows_at_once && aligned) {
            if (column < t.width)
#pragma unroll 4
                for (int row = row_of_thread; row < t.rows; row += rows_at_once)
                    copy_vector<16>(memory + row * p.panel + column, from + row * p.inner + column);
        } else if (row_of_thread < rows_at_once) {
            for (int row = row_of_thread; row < t.rows; row += rows_at_once)
                fetch_ahead(memory + row * p.panel, from + row * p.inner, t.width, thread - row_of_thread * a_row,
                            a_row);
        }
        arrive_after_vectors(&s.full[here.at]);
    });
}

/* ---- teams ---- */

inline acc_t start_of_chunk(const panels_args &p, const panel_tile &t, uint64 column) {
    acc_t start = identity_as<acc_t>();
    if (p.carry || p.initial)
        start = p.carry ? p.carry[column].read() : raise(load(p.initial));
    if (p.chunks > 1) {
        acc_t rows = p.partials[t.chunk * p.outer * p.inner + column].read();
        start = p.carry || p.initial ? combine(start, rows) : rows;
    }
    return start;
}

/* Goes down the panels of a team: adds each chunk up, or scans it. */
template <bool IsSum> inline void go_down(panel_scratch &s, const panels_args &p) {
    const int my_team = (threadIdx.x - PANEL_LOADERS) / FINISHERS;
    const int thread = (threadIdx.x - PANEL_LOADERS) % FINISHERS;
    const int strand = thread / p.panel, column = thread - strand * p.panel, pitch = p.panel;
    const bool in_one_piece = p.panel == p.inner;
    int in_turn = 0;
    acc_t run = identity_as<acc_t>(); /* of this column, before the tile */
    for_panel_tiles(p, [&](const panel_tile &t, const panel_place &here, int team) {
        if (team != my_team)
            return;
        const bool works = strand < (int)p.strands && column < t.width;
        int there = works ? t.rows - strand * ITEMS : 0;
        there = there < 0 ? 0 : there > ITEMS ? (int)ITEMS : there;
        const int first = REVERSE ? t.rows - 1 - strand * ITEMS : strand * ITEMS, step = REVERSE ? -1 : 1;
        auto row_of = [&](int k) { return first + k * step; };
        if (t.begins)
            run = IsSum || !works ? identity_as<acc_t>() : start_of_chunk(p, t, t.column + column);
        s.full[here.at].wait(here.parity);
        in_t *elements = (in_t *)s.tile[here.at] + first * pitch + column;
        lane_t sum = identity_as<lane_t>(), kept[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (!INCLUSIVE)
                kept[k] = sum;
            if (k < there) {
                uint64 row = t.first + strand * ITEMS + k;
                value_t second =
                    HAS_SECOND ? value_of(load(p.y + t.at + row_of(k) * p.inner + column)) : value_t(0);
                sum = combine(sum, lift_as<lane_t>(value_of(elements[k * step * pitch]), second,
                                                   p.before + (REVERSE ? p.extent - 1 - row : row)));
            }
            if (INCLUSIVE)
                kept[k] = sum;
        }
        if (IsSum || !in_one_piece) { /* all is in registers */
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
                p.partials[t.chunk * p.outer * p.inner + t.column + column].write(run);
            return;
        }
        if (p.total && works && strand == 0 && t.first + t.rows == p.extent)
            p.total[t.column + column].write(run);
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
            result_t *to = p.out + t.at + first * (int64)p.inner + column;
#pragma unroll
            for (int k = 0; k < ITEMS; k++, to += step * (int64)p.inner)
                if (k < there)
                    store_once(to, result_of(k));
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

extern "C" __global__ void __launch_bounds__(SCAN_PANEL_THREADS, 1) sum_panels(panels_args p) {
    pass_panels<true>(p);
}

extern "C" __global__ void __launch_bounds__(SCAN_PANEL_THREADS, 1) scan_panels(panels_args p) {
    pass_panels<false>(p);
}
