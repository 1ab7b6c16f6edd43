/* Exact mode: sums and sums of products that are rounded once; variances from both. A warp adds values by windowed levels. Adding x to S =
 * 1.5 * 2^m and subtracting S again splits x, without error, into a multiple of S's unit, which stays in S, and a
 * residual for the next level. The window gives the exponents between which the values of a tile must lie for all of it
 * to be exact; it is kept from tile to tile. A tile outside it gets another window or, if none is wide enough, is added
 * by integers, which take anything: floats of up to 32 bits to bins that each lane has for itself, doubles to the words
 * of the warp. Levels and bins are emptied into the same words. From there on everything is integer addition, so
 * neither order nor grid changes a bit of a result.
 *
 * Before this text specialize.c and specialize_exact.c put the choices (PRODUCTS, MAGNITUDES, LEVELS, LIMBS ...) and
 * explain them.
 */

/* A state is the limbs of one sum. For variances (HAS_MOMENTS) it is two: the limbs of the sum of the elements, then
 * those of the sum of their squares. Bit 0 of the former is 2^SUM_BOTTOM, of the latter 2^BOTTOM. With SKIPS_NAN there
 * is one more: how many elements are left out. */
enum { STATE_LIMBS = SUM_LIMBS + LIMBS + SKIPS_NAN, STATE_WORDS = 2 * STATE_LIMBS };

/* A state in global memory: of a row that several blocks share, or of a group whose elements come in pieces. */
struct row_sum {
    int64 limbs[STATE_LIMBS];
    uint32 saw;     /* SAW_NAN ... of all its elements */
    uint32 arrived; /* blocks that have added theirs */
};
static_assert(sizeof(row_sum) == SLOT_BYTES, "cuda/sizes.c counts with another size");

enum {
    WARPS = BLOCK / WARP,
    VECTOR = 16 / sizeof(in_t),
    ITEMS = VECTOR * VECTORS, /* elements that a lane loads at a time */
    TILE = WARP * ITEMS,
    HAS_TWO_TERMS = PRODUCTS && sizeof(in_t) == 8, /* a product is its rounded value and the error of that */
    ADDITIONS_LOG = 11,                            /* a level takes 2^11 additions before it must be emptied ... */
    ADDITIONS = 1 << ADDITIONS_LOG,
    LEVEL_BITS = 52 - ADDITIONS_LOG, /* ... which leaves this many bits for a value */
    /* A window's terms are less than 2^top and multiples of 2^(top - SPAN). Level l is 1.5 * 2^m, m = top + 12 - 41 l:
     * 2^11 terms of at most 2^top stay within half a binade of it. Its unit is 2^(m - 52). Residuals are at most half a
     * unit, 2^(top - 41 (l + 1)), as the next level requires. The last level's unit must divide all terms: 2^(top -
     * SPAN). */
    SPAN = LEVELS * LEVEL_BITS - 1,
    /* Elements of 16 bits have few bits. So a lane adds up a CHAIN of them as a double, and only these sums, of less than
     * 2^(top + CHAIN_LOG), go to the levels. A double holds them if elements are WHOLE: multiples of 2^(top - WHOLE_SPAN).
     * Else a chain is two doubles, one of them for elements below 2^(top - PARTED_AT). */
    CHAIN_LOG = 3,
    CHAIN = 1 << CHAIN_LOG,
    ARE_CHAINED = sizeof(in_t) == 2 && !PRODUCTS,
    WHOLE_SPAN = ARE_CHAINED && SPAN > 53 - CHAIN_LOG ? 53 - CHAIN_LOG : SPAN,
    PARTED_AT = 40,
    WORD_DEPOSITS = 30000, /* deposits that a word takes, each less than 2^16: together well below 2^31 */
    SLACK = 3              /* free bits above the largest term, so that the next tiles fit, too */
};

/* All f16, 2^-24 to 2^16, fit one window, and so do their products, with twice the exponents. */
constexpr bool HAS_CONSTANT_WINDOW = SIGNIFICAND == 11 || SIGNIFICAND == 22;

/* The exponents' fields show whether a tile fits the window: those of the elements' own bits if these are NARROW, else
 * those of the upper halves of the terms as doubles. PACKED elements are compared two at a time. */
constexpr bool NARROW = !PRODUCTS && sizeof(in_t) < 8;
constexpr bool PACKED = !PRODUCTS && sizeof(in_t) == 2;
enum {
    FIELD_AT = !NARROW             ? 20
               : SIGNIFICAND == 24 ? 23
               : SIGNIFICAND == 8  ? 7
                                   : 10,
    BIAS = !NARROW             ? 1023
           : SIGNIFICAND == 11 ? 15
                               : 127,
    MOST_TOP = HAS_CONSTANT_WINDOW ? (PRODUCTS ? 32 : 16)
               : NARROW            ? 128
                                   : 1010,
    LEAST_TOP = HAS_CONSTANT_WINDOW ? (int)MOST_TOP
                : PACKED            ? (LEVELS - 1) * LEVEL_BITS - ADDITIONS_LOG - BIAS /* no level is subnormal */
                : NARROW            ? -126
                                    : SPAN - 1074,
    /* Packed elements become doubles by moving bits, which makes them smaller by a power of two: see scaled_lower(). */
    SCALE_LOG = !PACKED ? 0 : 1023 - BIAS,
    /* The error of a product below 2^-969 may be too small for a double. */
    LEAST_FIELD = HAS_TWO_TERMS ? 1023 - 969 : 0
};
[[maybe_unused]] constexpr uint32 NO_VALUE = 0xffffffffu;

inline int lane_of() {
    return threadIdx.x % WARP;
}
inline uint64 bits_of(double x) {
    return (uint64)__double_as_longlong(x);
}
template <class T, class Join> inline T join_warp(T x, Join join) {
#pragma unroll
    for (int d = WARP / 2; d; d /= 2)
        x = join(x, __shfl_xor_sync(ALL_LANES, x, d));
    return x;
}
inline uint32 greatest_of_warp(uint32 x) {
#if TALLY_ARCHITECTURE >= 80
    return __reduce_max_sync(ALL_LANES, x);
#else
    return join_warp(x, [](uint32 a, uint32 b) { return a > b ? a : b; });
#endif
}
inline uint32 upper_of(double x) {
    return (uint32)__double2hiint(x) & 0x7fffffff;
}

/* ---- the words: a fixed-point number, int32 with 16 bits of payload; bit 0 of words[0] is 2^bottom ---- */

/* Adds magnitude * 2^position to the words. A negative position occurs only with as many zero bits at the magnitude's
 * end. */
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

/* These add a value, or the product of two, by integers alone, and return its SAW_ bits. A value's 53 bits take five
 * words wherever they lie, so that lanes with different exponents do not wait for each other. */
inline uint32 deposit_value(int32 *words, double x, int bottom) {
    parts p = take_apart(x);
    if (!p.finite)
        return special(is_nan_of(p), p.negative);
    int position = p.exponent - bottom;
    if (position < 0) { /* as in deposit() */
        p.significand >>= position < -63 ? 63 : -position;
        position = 0;
    }
    const int shift = position % 16;
    const uint64 low = p.significand << shift;
    const uint32 high = (uint32)(p.significand >> 48) >> (16 - shift); /* 53 + 15 bits in all */
    const int32 sign = -(int32)p.negative;
    int32 *to = words + position / 16;
#pragma unroll
    for (int k = 0; k < 5; k++)
        atomicAdd(to + k, ((int32)(k < 4 ? (uint32)(low >> 16 * (k % 4)) & 0xffff : high) ^ sign) - sign);
    return p.significand || !p.negative ? SAW_OTHER : 0;
}
inline uint32 deposit_product(int32 *words, double x, double y, int bottom) {
    parts p = take_apart(x), q = take_apart(y);
    bool negative = p.negative != q.negative;
    if (!p.finite || !q.finite)
        return special(is_nan_of(p) || is_nan_of(q) || !p.significand || !q.significand, negative);
    if (!p.significand || !q.significand)
        return negative ? 0 : SAW_OTHER;
    int position = p.exponent + q.exponent - bottom;
    uint64 high = __umul64hi(p.significand, q.significand), low = p.significand * q.significand;
    deposit(words, low, negative, position);
    if (high)
        deposit(words, high, negative, position + 64);
    return SAW_OTHER;
}

/* Moves the part above each word's 16 bits of payload to the next word. */
template <int Words> inline void carry_once(int32 *words) {
    for (int base = (Words - 1) / WARP * WARP; base >= 0; base -= WARP) {
        int i = base + lane_of();
        int32 word = 0;
        if (i < Words)
            word = (i < Words - 1 ? words[i] & 0xffff : words[i]) + (i ? words[i - 1] >> 16 : 0);
        __syncwarp();
        if (i < Words)
            words[i] = word;
        __syncwarp();
    }
}
