/* Exact mode: the bits of floats, the kinds of a sum's elements, and the rounding of a number to a result, as in
 * src/exact/round.c. */

/* The kinds of a sum's elements besides finite values. SAW_OTHER: one other than -0, because a sum of only -0 is -0. */
enum { SAW_NAN = 1, SAW_PLUS_INFINITY = 2, SAW_MINUS_INFINITY = 4, SAW_OTHER = 8 };

inline uint32 special(bool nan, bool negative) {
    return nan ? SAW_NAN : negative ? SAW_MINUS_INFINITY : SAW_PLUS_INFINITY;
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

/* The greater of a and b, and the lesser of a - 1 and b, of each half of 16 bits by itself. */
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

/* leading * 2^exponent or, if 'more' is set, a little above it. The top bit of leading is set unless the value is zero.
 */
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
