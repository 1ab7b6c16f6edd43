/* Scans along an axis whose elements do not lie next to each other, of arrays with columns enough for every processor:
 * outer x extent x inner. A panel is some neighbouring columns of one slab. A team of threads goes down a panel, tile by
 * tile, and keeps in registers what the rows so far add up to; each block has as many panels at a time as it has teams.
 * Loaders fetch tiles ahead, a vector at a time: rows of panels are too short to be copied in bulk, which took 36 cycles
 * a row on an H200. Sizes are those of scan.cu. */
struct panels_args {
    const in_t *x, *y;
    result_t *out;
    const out_t *initial;
    const slot *carry; /* a column: what earlier pieces gave, or NULL */
    slot *total;       /* a column: receives what this and earlier pieces give, or NULL */
    uint64 outer, extent, inner;
    uint64 before;         /* rows in earlier pieces */
    uint64 panels;         /* a slab */
    uint32 panel, strands; /* columns, whole vectors of them; shares of its rows, each of ITEMS rows of a tile */
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
    uint64 at;     /* its element in the tile's physically lowest row */
    uint64 first;  /* row, logical */
    int rows, width;
};

/* Calls use(tile, place, team) for the tiles of this block, in the order in which they pass through shared memory. */
template <class Use> inline void for_panel_tiles(const panels_args &p, Use use) {
    panel_place here = {0, 0};
    const uint64 panels = p.outer * p.panels, rows = (uint64)p.strands * ITEMS;
    for (uint64 base = (uint64)blockIdx.x * TEAMS; base < panels; base += (uint64)gridDim.x * TEAMS)
        for (uint64 first = 0; first < p.extent; first += rows)
            for (int team = 0; team < TEAMS && base + team < panels; team++, here.advance()) {
                uint64 slab = (base + team) / p.panels, column = (base + team - slab * p.panels) * p.panel;
                panel_tile t;
                t.first = first;
                t.rows = p.extent - first < rows ? (int)(p.extent - first) : (int)rows;
                t.width = p.inner - column < p.panel ? (int)(p.inner - column) : (int)p.panel;
                t.column = slab * p.inner + column;
                t.at = (slab * p.extent + (REVERSE ? p.extent - first - t.rows : first)) * p.inner + column;
                use(t, here, team);
            }
}

inline void load_panels(panel_scratch &s, const panels_args &p) {
    constexpr int a_vector = 16 / sizeof(in_t);
    const int thread = threadIdx.x, across = p.panel / a_vector; /* vectors */
    const bool aligned = shift_of(p.x) == 0;
    const int rows_at_once = PANEL_LOADERS / across, row_of_thread = thread / across;
    const int column = (thread - row_of_thread * across) * a_vector;
    for_panel_tiles(p, [&](const panel_tile &t, const panel_place &here, int) {
        in_t *memory = (in_t *)s.tile[here.at];
        s.empty[here.at].wait(here.parity ^ 1);
        if (row_of_thread < rows_at_once && column < t.width) {
            const in_t *from = p.x + t.at + column;
#pragma unroll 4
            for (int row = row_of_thread; row < t.rows; row += rows_at_once)
                if (aligned)
                    copy_vector(memory + row * p.panel + column, from + row * p.inner);
                else
                    for (int k = 0; k < a_vector; k++)
                        memory[row * p.panel + column + k] = load(from + row * p.inner + k);
        }
        if (aligned)
            arrive_after_vectors(&s.full[here.at]);
        else
            s.full[here.at].arrive();
    });
}

inline void scan_team_panels(panel_scratch &s, const panels_args &p) {
    const int my_team = (threadIdx.x - PANEL_LOADERS) / FINISHERS;
    const int thread = (threadIdx.x - PANEL_LOADERS) % FINISHERS;
    const int strand = thread / p.panel, column = thread - strand * p.panel;
    const bool has_base = p.carry || p.initial;
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
        if (t.first == 0) {
            run = identity_as<acc_t>();
            if (has_base && works)
                run = p.carry ? p.carry[t.column + column].read() : raise(load(p.initial));
        }
        s.full[here.at].wait(here.parity);
        lane_t sum = identity_as<lane_t>(), kept[ITEMS];
        const in_t *elements = (const in_t *)s.tile[here.at] + first * (int)p.panel + column;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (!INCLUSIVE)
                kept[k] = sum;
            if (k < there) {
                uint64 row = t.first + strand * ITEMS + k;
                value_t second =
                    HAS_SECOND ? value_of(load(p.y + t.at + row_of(k) * p.inner + column)) : value_t(0);
                sum = combine(sum, lift_as<lane_t>(value_of(elements[k * step * (int)p.panel]), second,
                                                   p.before + (REVERSE ? p.extent - 1 - row : row)));
            }
            if (INCLUSIVE)
                kept[k] = sum;
        }
        __syncwarp();
        if (thread % WARP == 0)
            s.empty[here.at].arrive();
        acc_t *of_strands = (acc_t *)s.of_strands[team][in_turn];
        of_strands[thread] = widen(sum);
        in_turn ^= 1;
        sync_some<FINISHERS>(OF_TEAMS + team);
        acc_t left = run;
        if (works)
            for (int k = 0; k < (int)p.strands; k++) {
                if (k == strand)
                    left = run;
                run = combine(run, of_strands[k * p.panel + column]);
            }
        result_t *results = p.out + t.at + first * (int64)p.inner + column;
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (k < there)
                store_once(results + k * step * (int64)p.inner,
                           lower(combine(left, widen(kept[k])), p.before + t.first + strand * ITEMS + k + INCLUSIVE, 0));
        if (p.total && works && strand == 0 && t.first + t.rows == p.extent)
            p.total[t.column + column].write(run);
    });
}

extern "C" __global__ void __launch_bounds__(SCAN_PANEL_THREADS, 1) scan_panels(panels_args p) {
    extern __shared__ __align__(128) uint8 ring_memory[];
    panel_scratch &s = *(panel_scratch *)ring_memory;
    if (threadIdx.x == 0) {
        for (int at = 0; at < PANEL_RING; at++) {
            s.full[at].init(PANEL_LOADERS);
            s.empty[at].init(FINISHERS / WARP);
        }
        show_gates();
    }
    __syncthreads();
    if (threadIdx.x >= PANEL_LOADERS)
        scan_team_panels(s, p);
    else
        load_panels(s, p);
}
