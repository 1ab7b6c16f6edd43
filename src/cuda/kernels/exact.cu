/* Exact mode: sums and sums of products that are rounded once. A warp adds values by windowed levels: adding x to S =
 * 1.5 * 2^m and subtracting S again splits x, without error, into a multiple of S's unit, which stays in S, and a
 * residual for the next level. The window says between which exponents the values of a tile must lie for all of it to be
 * exact; it is kept from tile to tile. A tile that leaves it gets another window or, if none is wide enough, is added
 * value by value to integer words, which take anything. Levels are emptied into the same words. Everything is integer
 * addition from there, so that neither order nor grid changes a bit of a result.
 *
 * Before this text specialize.c and exact.c put the choices: PRODUCTS, LEVELS, LIMBS ... and what they mean. */
/* A sum outside of its block: of a row that several blocks share, or of a group whose elements come in pieces. */
struct row_sum {
    int64 limbs[LIMBS];
    uint32 saw, arrived;
};
static_assert(sizeof(row_sum) == SLOT_BYTES, "launch.c counts with another size");

struct exact_args {
    const in_t *x, *y;
    out_t *out;
    const index_t *index; /* offsets or keys */
    index_t *keys_out;
    row_sum *sums;        /* a row that several blocks share; zero at the start */
    const row_sum *carry; /* a group: what earlier pieces gave */
    row_sum *total;       /* a group: instead of 'out' where that is not NULL; another memory than carry */
    uint64 *ranks;        /* a chunk of keys: heads in it, then runs before it */
    uint64 *runs;         /* receives the number of runs of keys */
    uint32 *refused;      /* not 0: the offsets are bad, or the output too small; nothing is written */
    uint64 rows, extent, inner; /* groups; elements a row or in all; elements from one of a group to the next */
    uint64 blocks;              /* a row */
    uint64 chunks, room;        /* of keys; results that the output takes */
};

enum {
    WARPS = BLOCK / WARP,
    VECTOR = 16 / sizeof(in_t),
    ITEMS = VECTOR * VECTORS, /* that a lane loads at a time */
    TILE = WARP * ITEMS,
    HAS_TWO_TERMS = PRODUCTS && sizeof(in_t) == 8, /* a product as its rounded value and what that lacks */
    ADDITIONS_LOG = 11,                            /* to each lane's levels until they are emptied */
    ADDITIONS = 1 << ADDITIONS_LOG,
    LEVEL_BITS = 52 - ADDITIONS_LOG,
    /* A window's terms are less than 2^top and multiples of 2^(top - SPAN). Level l is 1.5 * 2^m, m = top + 12 - 41 l:
     * 2^11 terms of at most 2^top stay within half a binade of it. Its unit is 2^(m - 52), residuals are at most half of
     * that, 2^(top - 41 (l + 1)), as the next level wants them. The last level's unit must divide all: 2^(top - SPAN). */
    SPAN = LEVELS * LEVEL_BITS - 1,
    WORDS = 2 * LIMBS, /* int32 with 16 bits of payload */
    WORD_DEPOSITS = 30000, /* of less than 2^16 each that a word takes, with room to spare below 2^31 */
    SLACK = 3              /* bits above the largest term, so that the next tiles keep the window */
};

/* f16 and its products fit one window, whatever they are: 2^-24 to 2^16, and twice that. */
constexpr bool HAS_CONSTANT_WINDOW = SIGNIFICAND == 11 || SIGNIFICAND == 22;

enum { SAW_NAN = 1, SAW_PLUS_INFINITY = 2, SAW_MINUS_INFINITY = 4, SAW_OTHER = 8 /* than -0 */ };

/* Windows are checked on the exponent's field of the elements or, where terms are doubles, of their upper halves. */
constexpr bool NARROW = !PRODUCTS && sizeof(in_t) < 8;
constexpr bool PACKED = !PRODUCTS && sizeof(in_t) == 2; /* two elements are checked at a time */
enum {
    FIELD_AT = !NARROW ? 20 : SIGNIFICAND == 24 ? 23 : SIGNIFICAND == 8 ? 7 : 10,
    BIAS = !NARROW ? 1023 : SIGNIFICAND == 11 ? 15 : 127,
    MOST_TOP = HAS_CONSTANT_WINDOW ? (PRODUCTS ? 32 : 16) : NARROW ? 128 : 1010,
    LEAST_TOP = HAS_CONSTANT_WINDOW ? (int)MOST_TOP : NARROW ? -126 : SPAN - 1074,
    /* As many levels as take every finite f16, bf16 or f32. */
    WIDE_LEVELS = HAS_CONSTANT_WINDOW ? LEVELS : NARROW ? 7 : 0,
    /* Products smaller than 2^-969 may lack more than a double can say. */
    LEAST_FIELD = HAS_TWO_TERMS ? 1023 - 969 : 0
};
constexpr uint32 NO_VALUE = 0xffffffffu;

inline int lane_of() {
    return threadIdx.x % WARP;
}
inline uint64 bits_of(double x) {
    return (uint64)__double_as_longlong(x);
}
template <class T> inline T element_of_bits(uint64 bits) {
    T element;
    memcpy(&element, &bits, sizeof(T));
    return element;
}
template <class T> inline bool sign_of(T element) {
    uint64 bits = 0;
    memcpy(&bits, &element, sizeof(T));
    return bits >> (8 * sizeof(T) - 1);
}

template <class T, class Join> inline T join_warp(T x, Join join) {
#pragma unroll
    for (int d = WARP / 2; d; d /= 2)
        x = join(x, __shfl_xor_sync(ALL_LANES, x, d));
    return x;
}
inline uint32 upper_of(double x) {
    return (uint32)__double2hiint(x) & 0x7fffffff;
}

/* ---- the words: a fixed-point number, bit 0 of words[0] is 2^BOTTOM ---- */

/* Adds a magnitude of at most 64 bits at a position; bits below position 0 are zeros. */
inline void deposit(int32 *words, uint64 magnitude, bool negative, int position) {
    if (position < 0) {
        magnitude >>= position < -63 ? 63 : -position;
        position = 0;
    }
    int32 *to = words + position / 16;
    int32 piece = (int32)(magnitude << position % 16 & 0xffff);
    magnitude >>= 16 - position % 16;
    for (;;) {
        if (piece)
            atomicAdd(to, negative ? -piece : piece);
        if (!magnitude)
            return;
        to++;
        piece = (int32)(magnitude & 0xffff);
        magnitude >>= 16;
    }
}

/* x = significand * 2^exponent, the sign left out. */
struct parts {
    uint64 significand;
    int exponent;
    bool negative, finite;
};
inline parts take_apart(double x) {
    uint64 bits = bits_of(x);
    int field = (int)(bits >> 52) & 0x7ff;
    parts p = {bits & 0xfffffffffffffull, -1074, bits >> 63 != 0, field != 0x7ff};
    if (field) {
        p.significand |= 1ull << 52;
        p.exponent = field - 1075;
    }
    return p;
}
inline bool is_nan_of(const parts &p) {
    return !p.finite && p.significand != 1ull << 52;
}
inline uint32 special(bool nan, bool negative) {
    return nan ? SAW_NAN : negative ? SAW_MINUS_INFINITY : SAW_PLUS_INFINITY;
}

/* These add a value, or the product of two, by integers alone, and give what was special about it. */
inline uint32 deposit_value(int32 *words, double x) {
    parts p = take_apart(x);
    if (!p.finite)
        return special(is_nan_of(p), p.negative);
    if (p.significand)
        deposit(words, p.significand, p.negative, p.exponent - BOTTOM);
    return p.significand || !p.negative ? SAW_OTHER : 0;
}
inline uint32 deposit_product(int32 *words, double x, double y) {
    parts p = take_apart(x), q = take_apart(y);
    bool negative = p.negative != q.negative;
    if (!p.finite || !q.finite)
        return special(is_nan_of(p) || is_nan_of(q) || !p.significand || !q.significand, negative);
    if (!p.significand || !q.significand)
        return negative ? 0 : SAW_OTHER;
    int position = p.exponent + q.exponent - BOTTOM;
    uint64 high = __umul64hi(p.significand, q.significand), low = p.significand * q.significand;
    deposit(words, low, negative, position);
    if (high)
        deposit(words, high, negative, position + 64);
    return SAW_OTHER;
}

/* Moves what is above each word's payload one word up. */
inline void carry_once(int32 *words) {
    for (int base = (WORDS - 1) / WARP * WARP; base >= 0; base -= WARP) {
        int i = base + lane_of();
        int32 word = 0;
        if (i < WORDS)
            word = (i < WORDS - 1 ? words[i] & 0xffff : words[i]) + (i ? words[i - 1] >> 16 : 0);
        __syncwarp();
        if (i < WORDS)
            words[i] = word;
        __syncwarp();
    }
}

/* ---- a warp's accumulator ---- */

struct warp_sum {
    int32 *words;
    uint32 saw;   /* this lane */
    int deposits; /* since the words' carries were moved */

    void clear(int32 *memory) {
        words = memory;
        deposits = 0;
        saw = PRODUCTS == 2 ? SAW_OTHER : 0; /* squares are never -0 */
        for (int i = lane_of(); i < WORDS; i += WARP)
            words[i] = 0;
        __syncwarp();
    }
    void expect(int more) {
        if (deposits + more > WORD_DEPOSITS) {
            __syncwarp();
            carry_once(words);
            deposits = 2;
        }
        deposits += more;
    }
};

template <int L> struct levels {
    double level[L];

    static double start(int top, int l) {
        return __hiloint2double((top + ADDITIONS_LOG + 1 - l * LEVEL_BITS + 1023) << 20 | 1 << 19, 0);
    }
    void clear(int top) {
#pragma unroll
        for (int l = 0; l < L; l++)
            level[l] = start(top, l);
    }
    void add(double x) {
#pragma unroll
        for (int l = 0; l < L - 1; l++) {
            double next = __dadd_rn(level[l], x);
            x = __dsub_rn(x, __dsub_rn(next, level[l]));
            level[l] = next;
        }
        level[L - 1] = __dadd_rn(level[L - 1], x);
    }
    /* Within a binade the bits of a double are an integer that counts its units. */
    void empty(warp_sum &sum, int top) {
        sum.expect(L);
#pragma unroll
        for (int l = 0; l < L; l++) {
            int64 mine = (int64)(bits_of(level[l]) - bits_of(start(top, l)));
            int64 units = join_warp(mine, [](int64 a, int64 b) { return a + b; });
            if (lane_of() == l)
                deposit(sum.words, units < 0 ? 0 - (uint64)units : (uint64)units, units < 0,
                        top + ADDITIONS_LOG + 1 - l * LEVEL_BITS - 52 - BOTTOM);
        }
        clear(top);
    }
};

struct window {
    levels<LEVELS> terms;
    int top;
    int additions;               /* to each level since it was emptied */
    uint32 high_from, low_until; /* fields that are out of it */

    void place(int at) {
        top = at;
        additions = 0;
        int field = top - SPAN + SIGNIFICAND - 1 + BIAS;
        if (field < LEAST_FIELD)
            field = LEAST_FIELD;
        high_from = (uint32)(top + BIAS) << FIELD_AT;
        low_until = field <= 1 || HAS_CONSTANT_WINDOW ? 0 : ((uint32)field << FIELD_AT) - 1;
        terms.clear(top);
    }
    void empty(warp_sum &sum) {
        if (additions)
            terms.empty(sum, top);
        additions = 0;
    }
    /* Moves to where terms of these fields fit: the largest, and the least but one. False if they fit nowhere. */
    bool choose(warp_sum &sum, uint32 high, uint32 low) {
        if (high == 0 && low == NO_VALUE)
            high = (uint32)BIAS << FIELD_AT; /* zeros fit anywhere */
        if (low == NO_VALUE)
            low = high;
        int most = (int)(high >> FIELD_AT) - BIAS + 1, field = (int)((low + 1) >> FIELD_AT);
        int room = SPAN - (most - ((field ? field : 1) - BIAS - (SIGNIFICAND - 1)));
        if (most > MOST_TOP || room < 0 || field < LEAST_FIELD)
            return false;
        int slack = room / 2 < SLACK ? room / 2 : (int)SLACK;
        int at = most + slack < MOST_TOP ? most + slack : (int)MOST_TOP;
        empty(sum);
        place(at > LEAST_TOP ? at : (int)LEAST_TOP);
        return true;
    }
};

/* ---- tiles ---- */

/* The elements of a group, 'stride' apart. */
struct group {
    const in_t *x, *y;
    uint64 count, stride;
    bool aligned; /* and next to each other, so that vectors can be loaded */
};

inline group make_group(const exact_args &p, uint64 first, uint64 count, uint64 stride) {
    group g = {p.x + first, PRODUCTS == 1 ? p.y + first : p.x + first, count, stride, false};
    g.aligned = stride == 1 && (((uint64)g.x | (uint64)g.y) & 15) == 0;
    return g;
}

struct tile {
    in_t x[ITEMS], y[PRODUCTS == 1 ? ITEMS : 1];

    in_t second(int k) const {
        return PRODUCTS == 1 ? y[k] : x[k];
    }
    /* What is past the end becomes -0, or -0 times 1: that changes no sum and no zero's sign. */
    void load_from(const group &g, uint64 at) {
        if (g.aligned && at + TILE <= g.count) {
            const uint4 *from = (const uint4 *)(g.x + at) + lane_of(), *second = (const uint4 *)(g.y + at) + lane_of();
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                uint4 bits = __ldcs(from + v * WARP);
                memcpy(x + v * VECTOR, &bits, 16);
                if (PRODUCTS == 1) {
                    bits = __ldcs(second + v * WARP);
                    memcpy(y + v * VECTOR, &bits, 16);
                }
            }
            return;
        }
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            uint64 i = at + k * WARP + lane_of();
            bool there = i < g.count;
            x[k] = there ? load(g.x + i * g.stride) : element_of_bits<in_t>(MINUS_ZERO);
            if (PRODUCTS == 1)
                y[k] = there ? load(g.y + i * g.stride) : element_of_bits<in_t>(ONE);
        }
    }
};

inline double product_of(double x, double y) {
    return __dmul_rn(x, y);
}

/* The least and largest fields of a tile's terms, zeros left out of the least. */
struct fields {
    uint32 high, low;
    void note(uint32 bits) {
        high = bits > high ? bits : high;
        if (!HAS_CONSTANT_WINDOW)
            low = bits - 1 < low ? bits - 1 : low;
    }
};

/* The greater of a and b, and the less of a - 1 and b, by halves of 16 bits. */
inline uint32 most_by_halves(uint32 a, uint32 b) {
    return __vmaxu2(a, b);
}
inline uint32 least_by_halves(uint32 a, uint32 b) {
#if TALLY_ARCHITECTURE >= 90
    return __viaddmin_u16x2(a, 0xffffffffu, b);
#else
    return __vminu2(__vsub2(a, 0x00010001), b);
#endif
}

inline fields packed_fields_of(const tile &t) {
    uint32 high = 0, low = NO_VALUE;
#pragma unroll
    for (int k = 0; k < ITEMS; k += 2) {
        uint32 pair;
        memcpy(&pair, &t.x[k], 4);
        pair &= 0x7fff7fff;
        high = most_by_halves(pair, high);
        if (!HAS_CONSTANT_WINDOW)
            low = least_by_halves(pair, low);
    }
    high = most_by_halves(high, high >> 16) & 0xffff;
    low = low >> 16 < (low & 0xffff) ? low >> 16 : low & 0xffff;
    return {high, low == 0xffff ? NO_VALUE : low};
}

inline fields fields_of(const tile &t) {
    if (PACKED)
        return packed_fields_of(t);
    fields f = {0, NO_VALUE};
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (NARROW) {
            f.note(__float_as_uint((float)value_of(t.x[k])) & 0x7fffffff);
            continue;
        }
        double x = (double)value_of(t.x[k]);
        if (!PRODUCTS) {
            f.note(upper_of(x) | ((uint32)__double2loint(x) != 0)); /* subnormals are not zeros */
            continue;
        }
        double y = (double)value_of(t.second(k)), product = product_of(x, y);
        f.note(upper_of(product));
        if (HAS_TWO_TERMS && !upper_of(product) && x != 0 && y != 0)
            f.low = 0; /* it is no zero, but too small to see */
    }
    return f;
}

inline void add_terms(window &w, const tile &t) {
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        double x = (double)value_of(t.x[k]);
        if (!PRODUCTS) {
            w.terms.add(x);
            continue;
        }
        double y = (double)value_of(t.second(k)), product = product_of(x, y);
        w.terms.add(product);
        if (HAS_TWO_TERMS)
            w.terms.add(__fma_rn(x, y, -product));
    }
    w.additions += ITEMS * (HAS_TWO_TERMS ? 2 : 1);
}

/* Whether a tile of zeros has others than -0. */
inline uint32 zeros_saw(const tile &t) {
    uint32 saw = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        bool negative = sign_of(t.x[k]);
        if (PRODUCTS)
            negative = negative != sign_of(t.second(k));
        saw |= negative ? 0 : SAW_OTHER;
    }
    return saw;
}

/* A tile that no window of LEVELS takes, through levels for everything, in which what is not finite counts as -0. */
inline void add_tile_widely(warp_sum &sum, const group &g, uint64 at) {
    levels<WIDE_LEVELS + !WIDE_LEVELS> wide;
    wide.clear(MOST_TOP);
#pragma unroll 2
    for (int k = 0; k < ITEMS; k++) {
        uint64 i = at + k * WARP + lane_of();
        if (i >= g.count)
            break;
        double x = (double)value_of(load(g.x + i * g.stride));
        if (PRODUCTS)
            x = product_of(x, (double)value_of(load(g.y + i * g.stride)));
        bool negative = bits_of(x) >> 63, finite = upper_of(x) < 0x7ff00000;
        if (!finite)
            sum.saw |= special(x != x, negative);
        else if (x != 0 || !negative)
            sum.saw |= SAW_OTHER;
        wide.add(finite ? x : -0.0);
    }
    __syncwarp();
    wide.empty(sum, MOST_TOP);
    __syncwarp();
}

/* A tile's elements one by one, from memory. */
inline void deposit_tile(warp_sum &sum, const group &g, uint64 at) {
    sum.expect(HAS_TWO_TERMS ? 2 * TILE : TILE);
    for (int k = 0; k < ITEMS; k++) {
        uint64 i = at + k * WARP + lane_of();
        if (i >= g.count)
            break;
        double x = (double)value_of(load(g.x + i * g.stride));
        double y = PRODUCTS ? (double)value_of(load(g.y + i * g.stride)) : 0;
        sum.saw |= PRODUCTS ? deposit_product(sum.words, x, y) : deposit_value(sum.words, x);
    }
    __syncwarp();
}

inline void add_tile(warp_sum &sum, window &w, const tile &t, const group &g, uint64 at) {
    fields f = fields_of(t);
    bool fits = f.high < w.high_from && f.low >= w.low_until;
    if (!__all_sync(ALL_LANES, fits)) {
        f.high = join_warp(f.high, [](uint32 a, uint32 b) { return a > b ? a : b; });
        f.low = join_warp(f.low, [](uint32 a, uint32 b) { return a < b ? a : b; });
        if (!w.choose(sum, f.high, f.low)) {
            if (WIDE_LEVELS)
                add_tile_widely(sum, g, at);
            else
                deposit_tile(sum, g, at);
            return;
        }
    }
    if (w.additions > ADDITIONS - ITEMS * (HAS_TWO_TERMS ? 2 : 1))
        w.empty(sum);
    add_terms(w, t);
    sum.saw |= f.high ? SAW_OTHER : zeros_saw(t);
}

/* Adds every step-th tile of a group from 'first' on. */
inline void add_tiles(warp_sum &sum, const group &g, uint64 first, uint64 step) {
    window w;
    w.place(LEAST_TOP);
    w.high_from = 0; /* nothing fits */
    for (uint64 at = first; at < g.count; at += step) {
        tile t;
        t.load_from(g, at);
        add_tile(sum, w, t, g, at);
    }
    w.empty(sum);
    __syncwarp();
}

/* ---- rounding, as src/exact/round.c has it ---- */

/* The absolute value as digits of base 2^32, lowest first, neither end zero. */
struct magnitude {
    uint32 *digits;
    int count, exponent;
    bool negative;
};

/* Digits of the limbs [first, end), which they overwrite from the beginning of the memory on. */
template <class Limb> inline magnitude magnitude_of(Limb limb, int first, int end, uint32 *digits) {
    int64 carry = 0;
    int count = 0, low = 0;
    for (int i = first; i < end; i++) {
        int64 value = limb(i);
        int64 sum = (int64)(uint32)value + (int64)(uint32)carry;
        digits[count++] = (uint32)sum;
        carry = (value >> 32) + (carry >> 32) + (sum >> 32);
    }
    while (carry != 0 && carry != -1) {
        digits[count++] = (uint32)carry;
        carry >>= 32;
    }
    bool negative = carry < 0;
    if (negative) {
        uint64 more = 1;
        for (int i = 0; i < count; i++) {
            more += (uint32)~digits[i];
            digits[i] = (uint32)more;
            more >>= 32;
        }
        if (more)
            digits[count++] = 1;
    }
    while (count && !digits[count - 1])
        count--;
    while (low < count && !digits[low])
        low++;
    return {digits + low, count - low, BOTTOM + 32 * (first + low), negative};
}

/* leading * 2^exponent and, if 'more', a little above it. The top bit of leading is set unless the value is zero. */
struct unrounded {
    uint64 leading;
    int exponent;
    bool more;
};

inline uint64 round_bits(const unrounded &u, bool negative) {
    uint64 sign = (uint64)negative << (OUT_BITS - 1);
    if (!u.leading)
        return sign;
    int unit = u.exponent + 64 - OUT_PRECISION;
    if (unit < OUT_LOWEST)
        unit = OUT_LOWEST;
    int drop = unit - u.exponent; /* at least 11 */
    if (drop > 64)
        return sign;
    uint64 kept = drop == 64 ? 0 : u.leading >> drop, half = 1ull << (drop - 1), rest = u.leading & (half - 1);
    if ((u.leading & half) && (rest || u.more || (kept & 1)))
        kept++;
    if (unit - OUT_LOWEST > 1 << 16)
        return sign | OUT_INFINITY;
    uint64 bits = ((uint64)(unit - OUT_LOWEST) << (OUT_PRECISION - 1)) + kept;
    return sign | (bits < OUT_INFINITY ? bits : OUT_INFINITY);
}

inline unrounded of_digits(const magnitude &m) {
    int n = m.count;
    uint64 top = m.digits[n - 1], second = n > 1 ? m.digits[n - 2] : 0, third = n > 2 ? m.digits[n - 3] : 0;
    int shift = __clzll((int64)top) - 32;
    return {(top << 32 | second) << shift | (third << shift) >> 32, m.exponent + 32 * (n - 2) - shift,
            (uint32)(third << shift) != 0 || n > 3};
}

/* The digits from the top, one bit at a time, then zeros. */
struct bit_reader {
    const magnitude &m;
    int position;
    uint32 next() {
        int at = position--;
        return at < 0 ? 0 : m.digits[at >> 5] >> (at & 31) & 1;
    }
    bool has_more() const {
        if (position < 0 || position >= 32)
            return position >= 0;
        return (m.digits[0] & ((2ull << position) - 1)) != 0;
    }
};

inline unrounded quotient_of(const magnitude &m, uint64 divisor) {
    bit_reader reader = {m, 32 * m.count - 1};
    uint64 remainder = 0, quotient = 0;
    while (!(quotient >> 63)) {
        bool carry = remainder >> 63;
        remainder = remainder << 1 | reader.next();
        quotient <<= 1;
        if (carry || remainder >= divisor) {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    return {quotient, m.exponent + reader.position + 1, remainder != 0 || reader.has_more()};
}

/* Two bits of the number for one of the root; 58 are more than any type keeps. */
inline unrounded root_of(const magnitude &m) {
    constexpr int root_bits = 58;
    int length = 32 * m.count - (__clzll((int64)(uint64)m.digits[m.count - 1]) - 32);
    length += (m.exponent + length) & 1;
    bit_reader reader = {m, length - 1};
    uint64 remainder = 0, root = 0;
    bool leads = length > 32 * m.count; /* by a zero above the top digit */
    if (leads)
        reader.position--;
    for (int i = 0; i < root_bits; i++) {
        if (i || !leads)
            remainder = remainder << 1 | reader.next();
        remainder = remainder << 1 | reader.next();
        uint64 trial = root << 2 | 1;
        root <<= 1;
        if (remainder >= trial) {
            remainder -= trial;
            root |= 1;
        }
    }
    return {root << (64 - root_bits), (m.exponent + length) / 2 - 64, remainder != 0 || reader.has_more()};
}

inline uint64 result_bits(const magnitude &m, uint32 saw, uint64 count) {
    constexpr uint64 minus = 1ull << (OUT_BITS - 1);
    constexpr uint32 both = SAW_PLUS_INFINITY | SAW_MINUS_INFINITY;
    if ((saw & SAW_NAN) || (saw & both) == both || (FINISH == FINISH_MEAN && !count))
        return OUT_NAN;
    if (saw & both)
        return saw & SAW_PLUS_INFINITY ? OUT_INFINITY : FINISH == FINISH_ROOT ? OUT_NAN : OUT_INFINITY | minus;
    if (!m.count)
        return count && !(saw & SAW_OTHER) ? minus : 0;
    if (FINISH == FINISH_ROOT)
        return m.negative ? OUT_NAN : round_bits(root_of(m), false);
    return round_bits(FINISH == FINISH_MEAN ? quotient_of(m, count) : of_digits(m), m.negative);
}

/* Rounds the limbs in a warp's shared memory and writes the result. */
template <class Limb>
inline void give(Limb limb, void *memory, uint32 saw, uint64 count, out_t *to) {
    int first = LIMBS, end = 0;
    for (int base = 0; base < LIMBS; base += WARP) {
        uint32 used = __ballot_sync(ALL_LANES, base + lane_of() < LIMBS && limb(base + lane_of()) != 0);
        if (used && first == LIMBS)
            first = base + __ffs((int32)used) - 1;
        if (used)
            end = base + WARP - __clz((int32)used);
    }
    saw = join_warp(saw, [](uint32 a, uint32 b) { return a | b; });
    __syncwarp(); /* the digits take the place of the limbs, which all lanes have looked at */
    if (lane_of() == 0)
        store(to, element_of_bits<out_t>(result_bits(magnitude_of(limb, first, end, (uint32 *)memory), saw, count)));
    __syncwarp();
}

inline int64 limb_of_words(const int32 *words, int i) {
    return words[2 * i] + (int64)words[2 * i + 1] * 65536;
}

/* Adds the limbs in a warp's shared memory to what earlier pieces gave. A piece's limb is less than 2^60; one step of
 * carries leaves less than 2^33 of each, so that the number of pieces does not matter. */
template <class Limb> inline void keep(Limb limb, uint32 saw, const row_sum *carry, row_sum *total) {
    for (int i = lane_of(); i < LIMBS; i += WARP) {
        int64 mine = limb(i) + carry->limbs[i], below = i ? limb(i - 1) + carry->limbs[i - 1] : 0;
        total->limbs[i] = (i < LIMBS - 1 ? (int64)(uint32)mine : mine) + (below >> 32);
    }
    saw = join_warp(saw, [](uint32 a, uint32 b) { return a | b; });
    if (lane_of() == 0) {
        total->saw = saw | carry->saw;
        total->arrived = 0;
    }
    __syncwarp();
}

/* What becomes of group g's limbs: a result, or a part of what is kept for the next piece. */
template <class Limb>
inline void conclude(const exact_args &p, uint64 g, Limb limb, void *memory, uint32 saw, uint64 count) {
    if (p.total)
        keep(limb, saw, p.carry + g, p.total + g);
    else
        give(limb, memory, saw, count, p.out + g);
}

/* A warp for all of group g. */
inline void add_group(const exact_args &p, int32 *words, uint64 first, uint64 count, uint64 stride, uint64 g) {
    warp_sum sum;
    sum.clear(words);
    add_tiles(sum, make_group(p, first, count, stride), 0, TILE);
    conclude(p, g, [=](int i) { return limb_of_words(words, i); }, words, sum.saw, count);
}
