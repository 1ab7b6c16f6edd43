/* Scans whose groups are consecutive elements: of all values, of rows, of segments, of runs of keys. They make one
 * pass. Each block takes a tile in every wave (waves.cu) and moves it through a ring of places in shared memory, where
 * different warps work on different tiles at the same time. Loaders fetch; summers add a tile up and publish its sum at
 * once; the messenger collects the sum before it; finishers scan it and put the results in the elements' place; the
 * storer writes them out. Each waits only for a tile or for the sum before it.
 *
 * 'Logical' positions count in the direction of the scan; elements lie at 'physical' positions. */

#ifndef ONE_WAVE /* scan_one_wave.cu: in_one_wave.cu sets it */
#define ONE_WAVE 0
#endif
#ifndef BY_LOOK_BACK /* scan_look_back.cu: by_look_back.cu sets it */
#define BY_LOOK_BACK 0
#endif
#ifndef HAS_SMALL_TILES /* small_tiles.cu sets it */
#define HAS_SMALL_TILES 0
#endif
/* Each block has one tile: no ring, and finishers only. */
#define HAS_ONE_TILE (ONE_WAVE || BY_LOOK_BACK)

/* In a window the summers of all values tell the finishers what they have seen of a tile's elements. Those of bf16 are
 * two teams, which take tiles in turn, as a warp's other work on a tile takes longer than adding. */
#define SUMMERS_TELL (IN_WINDOW && GROUPS == ALL && !TAKES_F16)
#if SUMMERS_TELL && BY_BITS
#define SUMMING_TEAMS 2
#else
#define SUMMING_TEAMS 1
#endif

constexpr int larger_of(int a, int b) {
    return a > b ? a : b;
}
enum {
    /* elements of a finisher: whole vectors of 16 bytes, of results and of keys, too */
    ITEMS = ONE_WAVE       ? (HAS_SMALL_TILES ? ONE_WAVE_FEW : ONE_WAVE_ITEMS)
            : BY_LOOK_BACK ? (HAS_SMALL_TILES ? LOOK_BACK_FEW : SCAN_ITEMS)
                           : SCAN_ITEMS,
    /* threads of a team */
    FINISHERS = ONE_WAVE       ? ONE_WAVE_THREADS
                : BY_LOOK_BACK ? LOOK_BACK_BLOCK
                               : SCAN_FINISHERS,
    TEAMS = HAS_ONE_TILE ? 1 : SCAN_TEAMS, /* of finishers; they take tiles in turn */
    SUMMERS = SCAN_SUMMERS / SUMMING_TEAMS, /* threads of a team of summers */
    MESSENGERS = SCAN_MESSENGERS,          /* warps */
    RING = HAS_ONE_TILE ? 1 : SCAN_RING,   /* tiles that shared memory holds */
    TILE = FINISHERS * ITEMS,
    LOADERS = COPIES_IN_BULK ? WARP : 4 * WARP,
    STORERS = COPIES_IN_BULK ? WARP : 0,

    /* the first thread of each kind */
    FIRST_STORER = LOADERS,
    MESSENGER = FIRST_STORER + STORERS,
    FIRST_SUMMER = MESSENGER + MESSENGERS * WARP,
    FIRST_FINISHER = FIRST_SUMMER + SCAN_SUMMERS,
    THREADS = FIRST_FINISHER + TEAMS * FINISHERS,

    /* numbers of barriers; team k has the k-th of them */
    OF_SUMMERS = 1,
    OF_TEAMS = OF_SUMMERS + SUMMING_TEAMS,

    /* Bytes of a tile in the ring. Its first element is as far behind a multiple of 16 as in memory, so that vectors
     * can be copied as they are. */
    PLACE = TILE * larger_of(sizeof(in_t), sizeof(result_t)) + 16,
    /* likewise of its keys, behind KEYS_FROM bytes for the key before them */
    KEYS_FROM = 16,
    KEY_PLACE = GROUPS == KEYS ? KEYS_FROM + TILE * sizeof(index_t) + 2 * 16 : 0,
    /* words of SEGMENTS' bits; a stretch's bits come from whole words, which may extend behind the tile */
    HEAD_WORDS = TILE / WARP + 4,

    /* A block publishes up to RING tiles ahead of the last one that it has finished. It could finish that tile because
     * all blocks had published their tiles of the same wave, and no block still has to read a wave more than RING
     * before that one. So of this many waves the oldest can be used again. */
    WAVES = 2 * RING + 1
};
static_assert(TILE % (4 * WARP) == 0);
static_assert(HAS_ONE_TILE || (THREADS == SCAN_THREADS && WAVES == SCAN_WAVES));

/* With SMALL accumulators a finisher's loops over its items are unrolled; with large ones that would take minutes to
 * compile. KEPT: the sums within a stretch are few and small enough to stay in registers until the sum before them is
 * known; otherwise they are computed again then. */
constexpr bool SMALL = sizeof(acc_t) <= 32 || MOMENTS;
constexpr bool KEPT = sizeof(lane_t) <= 8 && ITEMS * sizeof(lane_t) <= (sizeof(lane_t) <= 4 ? 192 : 128);
struct seen_elements {
    int levels;    /* in which doubles add them up; 0: in none */
    float largest; /* magnitude of elements of at most 4 bytes */
};

#if INTEGER_TERMS
#define FINISH_TERMS finish_integers
#else
#define FINISH_TERMS finish_terms
#endif

/* The tiles' first elements are loaded before the launch before, which marks the heads, has ended. */
#define LOADS_EARLY (GROUPS == SEGMENTS && COPIES_IN_BULK && !IN_WINDOW && !IS_EXACT && !SIZE_ON_DEVICE)

/* Threads that set bits of a word wait for each other, so each head sets a byte; but long stretches leave no room. */
enum { FLAGS_HEADS = !TAKES_VECTORS };

constexpr int AT_ONCE = SMALL && !HAS_TERMS ? ITEMS : 1;

struct scratch {
    alignas(128) uint8 tile[RING][(PLACE + 127) / 128 * 128];
#if GROUPS == KEYS
    alignas(128) uint8 keys[RING][(KEY_PLACE + 127) / 128 * 128];
    uint32 marks[TEAMS][HEAD_WORDS];
#endif
#if GROUPS == SEGMENTS
    alignas(16) uint32 heads[RING][HEAD_WORDS];
#if ONE_WAVE
    uint32 is_refused;               /* the offsets are bad */
    alignas(16) uint8 flags[FLAGS_HEADS ? TILE : 16]; /* 1 at each head */
    uint64 found[FINISHERS];         /* by the launch that checks the offsets */
#endif
    uint64 written_from, written_to; /* the elements that segments cover; others have no results */
#endif
    gate full[RING], ready[RING], done[RING], empty[RING];
    alignas(16) uint8 prefix[RING][sizeof(record)];
    alignas(16) uint8 of_summers[SUMMING_TEAMS][2][SUMMERS / WARP * sizeof(lane_t)];
    int head_of_summers[2][2][SUMMERS / WARP];
    alignas(16) uint8 of_finishers[TEAMS][2][FINISHERS / WARP * (sizeof(lane_t) + 16)];
#if HAS_BATONS
    baton batons[MESSENGERS];
#endif
#if HAS_TERMS                           /* scan_terms.cu */
    alignas(16) uint8 largest[RING][8]; /* element of a tile since its last head */
    int head_of_finishers[TEAMS][2][FINISHERS / WARP];
#endif
#if SUMMERS_TELL
    gate is_seen[RING];
    alignas(16) seen_elements seen[RING][SUMMERS / WARP];
#endif
#if FILLS_TILES /* a tile's best, from its summers to its finishers */
    alignas(16) uint8 best[RING][sizeof(lane_t)];
#endif
#if HAS_ONE_TILE
    bool knows_prefix; /* the sum before the tile is in prefix[0] */
#endif
#if HAS_SECOND
    alignas(128) uint8 second[RING][(TILE * sizeof(in_t) + 16 + 127) / 128 * 128];
#endif
#ifdef OF_COLUMNS /* scan_narrow.cu */
    alignas(16) uint8 before_columns[RING][NARROW_COLUMNS * sizeof(acc_t)];
    alignas(16) uint8 of_rows[2][SUMMERS * sizeof(lane_t)];
    alignas(16) uint8 of_strands[TEAMS][FINISHERS * sizeof(acc_t)];
#endif
};
static_assert(sizeof(scratch) <= (ONE_WAVE       ? ONE_WAVE_SHARED_BYTES
                                  : BY_LOOK_BACK ? LOOK_BACK_SHARED_BYTES
                                                 : SCAN_SHARED_BYTES));

typedef place_in_ring<RING> place;

/* A tile is ready to be finished when this many of the summers and of the messenger's threads have arrived. */
inline void init_gates(scratch &s, int summers, int messengers) {
    if (threadIdx.x == 0) {
        for (int at = 0; at < RING; at++) {
            s.full[at].init(LOADERS * (GROUPS == SEGMENTS ? 2 : 1)); /* the elements, and the bits */
            s.ready[at].init(summers + messengers);
            s.done[at].init(FINISHERS / WARP);
#if SUMMERS_TELL
            s.is_seen[at].init(SUMMERS / WARP);
#endif
            s.empty[at].init(COPIES_IN_BULK ? 1 : FINISHERS / WARP);
        }
#if HAS_BATONS
        for (int k = 0; k < MESSENGERS; k++)
            s.batons[k].given.init(1);
#endif
        show_gates();
    }
    __syncthreads();
}

/* ---- tiles ---- */

struct tile {
    uint64 low;   /* physical position of its lowest element */
    uint64 first; /* logical position of its first element */
    uint64 rank;  /* which of the tiles it is, in physical order */
    int count;    /* elements */
};
/* How many items of a thread's stretch the tile has. */
inline int items_there(const tile &t, int stretch) {
    const int there = t.count - stretch * ITEMS;
    return there < 0 ? 0 : there > ITEMS ? (int)ITEMS : there;
}
inline tile tile_of_number(const scan_args &p, uint64 number) {
    tile t;
    t.rank = REVERSE ? p.tiles - 1 - number : number;
    t.low = t.rank * p.tile;
    t.count = p.n - t.low < p.tile ? (int)(p.n - t.low) : (int)p.tile;
    t.first = REVERSE ? p.n - t.low - t.count : t.low;
    return t;
}
inline tile tile_at(const scan_args &p, uint64 turn) {
    return tile_of_number(p, turn * gridDim.x + blockIdx.x);
}
inline uint64 turns_of_block(const scan_args &p) {
    return (p.tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
}
template <class T> inline int shift_of(const T *from) {
    return (int)((uint64)from & 15);
}
inline uint64 index_of(const scan_args &p, uint64 at, uint64 column) {
    return GROUPS == ROWS ? (REVERSE ? p.extent - 1 - column : column) : GROUPS == ALL ? at + p.before : at;
}
/* The second input's part of a tile. */
inline const uint8 *second_of(const scratch &s, int at) {
#if HAS_SECOND
    return s.second[at];
#else
    return nullptr;
#endif
}

#if GROUPS == KEYS
/* A tile's keys. Before the first, in logical order, lies the key of the element before the tile, if there is one. */
inline const index_t *keys_of(const scratch &s, const scan_args &p, const tile &t, int at) {
    return (const index_t *)(s.keys[at] + KEYS_FROM + shift_of(p.keys + t.low));
}
inline index_t load_key_before(const scan_args &p, const tile &t) {
    return t.first == 0 ? index_t(0) : load(p.keys + (REVERSE ? t.low + t.count : t.low - 1));
}
inline void set_key_before(scratch &s, const scan_args &p, const tile &t, int at, index_t key) {
    store((index_t *)keys_of(s, p, t, at) + (REVERSE ? t.count : -1), key);
}
#endif

inline uint64 remainder(uint64 a, uint64 b) {
    return (a | b) >> 32 ? a % b : (uint32)a % (uint32)b;
}

/* Results IN_LINE take the place of their elements. Those IN_ORDER lie as they will in memory, so one bulk copy writes
 * a tile's, if they are whole vectors at an aligned address. */
constexpr bool IN_LINE = sizeof(result_t) == sizeof(in_t);
#if defined(OF_COLUMNS) || defined(OF_PANELS)
constexpr bool IN_ORDER = sizeof(result_t) <= sizeof(in_t);
#else
/* Wider ones, too, unless more than four lanes would meet in a bank; nearly all tiles of running extremes are filled.
 */
constexpr bool IN_ORDER =
    sizeof(result_t) <= sizeof(in_t) || (IS_INDEXED && GROUPS == ALL) || ITEMS * sizeof(result_t) / 16 % 8 != 0;
#endif
/* Of wide elements by keys, and of places of extremes by groups, code for more than one way was slower: sums of 30 million
 * f32 by keys took 146 us on an H200 and 117 without, argmax of 60 million f32 by segments 411 and 327. */
[[maybe_unused]] constexpr bool KEEPS_ONE_WAY =
    sizeof(in_t) >= 4 && !FINDS_PLACES &&
    (GROUPS == KEYS || (IS_INDEXED && (GROUPS == SEGMENTS || GROUPS == ROWS)));
/* Results SHIFT as far behind a multiple of 16 as they will lie in memory, so that bulk copies write them to any
 * address; a warp of storers writes the bytes at both ends. */
#if defined(OF_COLUMNS) || defined(OF_PANELS)
constexpr bool SHIFT = false;
#else
constexpr bool SHIFT = COPIES_IN_BULK && IN_ORDER && !HAS_ONE_TILE && !HAS_TERMS && !IN_WINDOW && !KEEPS_ONE_WAY &&
                       !(IS_INDEXED && !FINDS_PLACES && sizeof(in_t) < 4);
#endif
inline int shift_of_results(const scan_args &p, const tile &t) {
    return SHIFT ? shift_of(p.out + t.low) : 0;
}
inline bool goes_in_bulk(const scan_args &p, const tile &t, bool is_whole) {
    return COPIES_IN_BULK && IN_ORDER && is_whole &&
           (shift_of(p.out + t.low) ? SHIFT : t.count * sizeof(result_t) % 16 == 0);
}

/* The part of a tile whose results are written: elements outside of all segments have none. */
struct part {
    int from, to;
};
inline part written_part(const scratch &s, const tile &t) {
#if GROUPS == SEGMENTS
    uint64 from = s.written_from, to = s.written_to;
    return {from > t.low ? from - t.low < t.count ? (int)(from - t.low) : t.count : 0,
            to < t.low + t.count ? to > t.low ? (int)(to - t.low) : 0 : t.count};
#else
    return {0, t.count};
#endif
}
inline bool is_whole(const part &w, const tile &t) {
    return w.from == 0 && w.to == t.count;
}
