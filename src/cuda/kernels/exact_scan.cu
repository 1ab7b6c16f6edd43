/* Exact scans of sums: the accumulator is the sum itself, an integer in units of 2^SCAN_BOTTOM. It has room for all
 * finite elements, so no addition rounds, and every kernel of scans serves. Each prefix is rounded once. Before this
 * text specialize_exact.c puts SCAN_WORDS and SCAN_BOTTOM, of the wider one of the types of elements and results.
 *
 * IN_WINDOW, the unit is not the type's smallest number but what a sample of the elements suggests (scan_window.cu), so
 * that few words do. An element that does not fit sets a flag, and the scan in all words, launched next, does the work
 * again. */

enum { SAW_MINUS_ZERO = 16 };

/* In global memory. */
struct scan_window {
    int bottom;     /* the unit is 2^bottom */
    uint32 highest; /* the exponent's field that elements may have at most */
    uint32 shift;   /* u is 2^(bottom + shift), see window_levels.cu */
    uint32 levels;  /* in which most stretches are added up */
    uint32 refused; /* the sample or the initial value does not fit: the scan in it is left out */
    uint32 failed;  /* an element does not fit */
};

struct acc_t {
    uint32 word[SCAN_WORDS]; /* two's complement, the lowest first */
#if !IN_WINDOW
    uint32 saw; /* SAW_NAN ... of its elements */
#endif
};
typedef acc_t lane_t;

/* See window_levels.cu; elements and results have the same type then. */
#define BY_BITS (OUT_BITS == 16 && SCAN_PRECISION <= 11 && !SKIPS_NAN)
#define TAKES_F16 (BY_BITS && SCAN_PRECISION == 11)

/* 2^FEW is more than a thread adds up of a tile's elements, see window_levels.cu. */
enum { FEW = sizeof(in_t) == 8 ? 5 : sizeof(in_t) == 4 ? 6 : SCAN_PRECISION == 8 ? 11 : 7 };

#if IN_WINDOW
/* A block's copy of the window. */
struct block_window {
    int bottom;
    uint32 highest, shift, levels;
    uint32 *failed;
    void fail() const {
        *failed = 1;
    }
};
__shared__ block_window the_window;
#define SCAN_BOTTOM the_window.bottom
#endif

inline void note(acc_t &to, uint32 saw) {
#if !IN_WINDOW
    to.saw |= saw;
#endif
}
inline uint32 saw_of(const acc_t &acc) {
#if IN_WINDOW
    return SAW_OTHER;
#else
    return acc.saw;
#endif
}

/* Few words are unrolled, and registers hold them. Many would take seconds to compile if they were inlined. */
constexpr bool ARE_FEW_WORDS = SCAN_WORDS <= 16;
#if SCAN_WORDS <= 16
#define OF_WORDS inline
#else
#define OF_WORDS __noinline__
#endif
[[maybe_unused]] constexpr int WORDS_AT_ONCE = ARE_FEW_WORDS ? SCAN_WORDS : 1;

template <class A> inline A identity_as() {
    A r;
#pragma unroll WORDS_AT_ONCE
    for (int w = 0; w < SCAN_WORDS; w++)
        r.word[w] = 0;
#if !IN_WINDOW
    r.saw = 0;
#endif
    return r;
}

OF_WORDS acc_t combine(const acc_t &left, const acc_t &right) {
    acc_t r;
#if IN_WINDOW
    r = left;
#if SCAN_WORDS == 3
    add_words(r.word, right.word[0], right.word[1], right.word[2]);
#else
    add_words(r.word, right.word, 0);
#endif
    return r;
#endif
    uint64 carry = 0;
#pragma unroll WORDS_AT_ONCE
    for (int w = 0; w < SCAN_WORDS; w++) {
        carry += (uint64)left.word[w] + right.word[w];
        r.word[w] = (uint32)carry;
        carry >>= 32;
    }
#if !IN_WINDOW
    r.saw = left.saw | right.saw;
#endif
    return r;
}
inline acc_t widen(const acc_t &lane) {
    return lane;
}

/* ---- in ---- */

/* A float as an integer in units of 2^(SCAN_BOTTOM + position), and what it says of the sum. */
struct summand {
    uint64 significand;
    int position;
    bool negative;
    uint32 saw;
};

template <int FractionBits, int Exponents> inline summand summand_of(uint64 bits) {
    constexpr uint64 one = 1ull << FractionBits;
    const uint32 field = (uint32)(bits >> FractionBits) & Exponents;
    summand s = {bits & (one - 1), (int)field, bits >> (FractionBits + (Exponents == 255 ? 8 : 11)) != 0, SAW_OTHER};
    if (field == Exponents) {
        s.saw = special(s.significand != 0, s.negative);
        s.significand = 0;
    } else if (field) {
        s.significand |= one;
    } else {
        s.position = 1; /* of subnormals, too */
        if (!s.significand && s.negative)
            s.saw = SAW_MINUS_ZERO;
    }
    s.position -= Exponents / 2 + FractionBits + SCAN_BOTTOM;
#if IN_WINDOW
    /* A sum of only -0 is -0: that is finish_in_window()'s business, and at the beginning of all values the sample's. */
    const bool has_rest = s.position < 0 && s.significand & (s.position < -63 ? ~0ull : (1ull << -s.position) - 1);
    if (field > the_window.highest || has_rest) {
        the_window.fail();
        s.significand = 0;
    }
#endif
    if (s.position < 0) { /* a narrower type's bits: those below are zeros */
        s.significand >>= s.position < -63 ? 63 : -s.position;
        s.position = 0;
    }
    return s;
}
inline summand summand_of(float x) {
    return summand_of<23, 255>(__float_as_uint(x));
}
inline summand summand_of(double x) {
    return summand_of<52, 2047>((uint64)__double_as_longlong(x));
}

/* Adds to the three words that the summand's bits lie in, and carries on. */
template <class T> OF_WORDS void deposit(acc_t &acc, T x) {
    const summand s = summand_of(x);
    const int first = s.position / 32, shift = s.position % 32;
    const uint64 low = s.significand << shift;
    const uint32 above = shift ? (uint32)(s.significand >> 32 >> (32 - shift)) : 0;
    const uint32 pieces[3] = {(uint32)low, (uint32)(low >> 32), above};
    note(acc, s.saw);
    if constexpr (ARE_FEW_WORDS) {
        const uint32 flip = s.negative ? ~0u : 0;
        uint64 carry = s.negative;
#pragma unroll
        for (int w = 0; w < SCAN_WORDS; w++) {
            const uint32 piece = w == first ? pieces[0] : w == first + 1 ? pieces[1] : w == first + 2 ? pieces[2] : 0;
            carry += (uint64)acc.word[w] + (piece ^ flip);
            acc.word[w] = (uint32)carry;
            carry >>= 32;
        }
    } else {
        int64 carry = 0;
#pragma unroll 1
        for (int k = 0; first + k < SCAN_WORDS && (k < 3 || carry); k++) {
            const int64 piece = k == 0 ? pieces[0] : k == 1 ? pieces[1] : k == 2 ? pieces[2] : 0;
            carry += (int64)acc.word[first + k] + (s.negative ? -piece : piece);
            acc.word[first + k] = (uint32)carry;
            carry >>= 32;
        }
    }
}

template <class A> inline A lift_as(value_t value, value_t, uint64) {
    A r = identity_as<A>();
    deposit(r, value);
    return r;
}
inline acc_t raise(out_t initial) {
    acc_t r = identity_as<acc_t>();
    deposit(r, number_of(initial));
    return r;
}

/* ---- out ---- */

/* The words of a magnitude: the highest one that says more than the sign, the two below it, and whether others have a
 * bit. */
struct leading_words {
    uint32 high, middle, low;
    bool more;
    int top;
};
inline leading_words leading_words_of(const acc_t &acc, uint32 flip) {
    leading_words l = {0, 0, 0, false, 0};
    if constexpr (ARE_FEW_WORDS) {
#pragma unroll
        for (int w = 1; w < SCAN_WORDS; w++)
            l.top = acc.word[w] != flip ? w : l.top;
#pragma unroll
        for (int w = 0; w < SCAN_WORDS; w++) {
            l.high = w == l.top ? acc.word[w] : l.high;
            l.middle = w == l.top - 1 ? acc.word[w] : l.middle;
            l.low = w == l.top - 2 ? acc.word[w] : l.low;
            l.more |= w < l.top - 2 && acc.word[w];
        }
    } else {
        l.top = SCAN_WORDS - 1;
        while (l.top && acc.word[l.top] == flip)
            l.top--;
        l.high = acc.word[l.top];
        l.middle = l.top > 0 ? acc.word[l.top - 1] : 0;
        l.low = l.top > 1 ? acc.word[l.top - 2] : 0;
        for (int w = l.top - 3; w >= 0 && !l.more; w--)
            l.more = acc.word[w] != 0;
    }
    return l;
}

/* The magnitude, from the leading words of a number that is negative if flip is all bits. */
inline unrounded magnitude_of(const leading_words &l, uint32 flip) {
    uint32 low = l.low ^ flip;
    uint64 leading = ((uint64)l.high << 32 | l.middle) ^ ((uint64)flip << 32 | flip);
    if (flip && !l.more) { /* the complement, plus one */
        low++;
        leading += low == 0;
    }
    if (!leading) /* zero; or minus a power of two, of a word more */
        return {flip ? 1ull << 63 : 0, SCAN_BOTTOM + 32 * l.top - 31, false};
    const int shift = __clzll((int64)leading);
    const bool more = l.more || (uint32)((uint64)low << shift) != 0;
    leading = leading << shift | (uint64)low << shift >> 32;
    return {leading, SCAN_BOTTOM + 32 * (l.top - 1) - shift, more};
}
OF_WORDS unrounded magnitude_of(const acc_t &acc) {
    const uint32 flip = (uint32)((int32)acc.word[SCAN_WORDS - 1] >> 31);
    return magnitude_of(leading_words_of(acc, flip), flip);
}

/* Whether the kinds of elements say what their sum is: NaN or an infinity. */
inline bool is_decided(uint32 saw, uint64 *bits) {
    constexpr uint32 both = SAW_PLUS_INFINITY | SAW_MINUS_INFINITY;
    *bits = (saw & SAW_NAN) || (saw & both) == both ? OUT_NAN
            : saw & SAW_PLUS_INFINITY               ? OUT_INFINITY
                                                    : OUT_INFINITY | 1ull << (OUT_BITS - 1);
    return (saw & (SAW_NAN | both)) != 0;
}
inline uint64 bits_of_magnitude(const unrounded &u, uint32 saw, bool negative) {
    if (!u.leading)
        return saw == SAW_MINUS_ZERO ? 1ull << (OUT_BITS - 1) : 0;
    return round_bits(u, negative);
}

#if IN_WINDOW
#define OF_SUM __noinline__
typedef acc_t summed;
#else
#define OF_SUM inline
typedef const acc_t &summed;
#endif
OF_SUM uint64 bits_of_sum(summed acc) {
    const uint32 saw = saw_of(acc);
    uint64 bits;
    if (is_decided(saw, &bits))
        return bits;
    return bits_of_magnitude(magnitude_of(acc), saw, acc.word[SCAN_WORDS - 1] >> 31);
}
inline result_t lower(const acc_t &acc, uint64, uint64) {
    return element_of_bits<out_t>(bits_of_sum(acc));
}
