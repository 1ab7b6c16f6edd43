/* A thread's accumulator in integers: the device's rounding and its treatment of subnormals have no effect, and it
 * needs no feature for doubles. A window is WINDOW words of 32 bits that begin at a bit 'base' of the number. Terms
 * outside of it are deposited; if that happens often, the window is emptied and moved. */
#if WIDE
#define ELEMENT_BITS 53
#else
#define ELEMENT_BITS 24
#endif
#define WINDOW     (2 * (1 + PRODUCTS + WIDE))
#define TERM_BITS  ((1 + PRODUCTS) * ELEMENT_BITS)
#define TERM_WORDS ((1 + PRODUCTS) * (1 + WIDE))

const uint ADDITIONS = 4096, ADDITION_BITS = 12; /* to a window until it is emptied */
const int REACH = 32 * WINDOW - 1 - TERM_BITS - int(ADDITION_BITS);
const int SLACK = 3; /* free bits above the term that a window is moved to: larger terms may fit */
/* An infinity or a NaN lies above the window, wherever it is. */
#define HIGHEST_BASE (TOP_POSITION - REACH)
#if PRODUCTS
#define TOP_POSITION 100000
#else
#define TOP_POSITION                                                                                                   \
    (int((1u << ((8u << IN_LOG) - significand_bits(IN))) - 3u) + lowest_exponent(IN) -                                 \
     lowest_exponent(WIDE != 0 ? F64 : F32))
#endif
const uint MISSES = 16; /* terms below the window before it is moved */

/* ---- terms ---- */

/* +- these words, the lowest first, at a bit of the number. */
struct term {
    uint word[TERM_WORDS];
    int position;
    bool negative;
    uint saw;
};
bool is_zero(term t) {
    uint any = 0;
    for (int k = 0; k < TERM_WORDS; k++)
        any |= t.word[k];
    return any == 0;
}

/* Factors of f32 are one word each. Factors of f64 are two, and products with the upper words take less than 64 bits.
 */
void set_words(inout term t, wide a, wide b) {
#if !PRODUCTS
    t.word[0] = a.x;
#if WIDE
    t.word[1] = a.y;
#endif
#else
    const wide low = times(a.x, b.x);
    t.word[0] = low.x;
#if WIDE
    const wide middle = plus(plus(times(a.x, b.y), times(a.y, b.x)), low.y), high = plus(times(a.y, b.y), middle.y);
    t.word[1] = middle.x;
    t.word[2] = high.x;
    t.word[3] = high.y;
#else
    t.word[1] = low.y;
#endif
#endif
}

term term_of(uvec2 x, uvec2 y) {
    const parts a = take_apart(x, IN);
    parts b = take_apart(y, IN);
#if HAS_MOMENTS
    if (!adds_squares) /* times 1 */
        b = parts(wide_of(1u), lowest_exponent(WIDE != 0 ? F64 : F32), false, true);
#endif
    term t;
    t.position = position_of(a.exponent) + PRODUCTS * position_of(b.exponent);
    t.negative = a.negative != (PRODUCTS != 0 && b.negative);
    set_words(t, a.significand, b.significand);
    if (!a.finite || (PRODUCTS != 0 && !b.finite)) {
        const bool nan = is_nan_of(a, IN) || (PRODUCTS != 0 && (is_nan_of(b, IN) || is_zero(t)));
        t.saw = special(nan, t.negative);
        set_words(t, wide(0), wide(0));
        return t;
    }
    t.saw = !is_zero(t) || !t.negative ? SAW_OTHER : 0;
    return t;
}

/* ---- a thread's window ---- */

struct window {
    uint word[WINDOW]; /* two's complement */
    int base;
    uint additions, misses;
    uint saw;
    uint skipped; /* NaNs */
};
window new_window() {
    window w;
    for (int k = 0; k < WINDOW; k++)
        w.word[k] = 0;
    w.base = 0;
    w.additions = 0;
    w.misses = MISSES; /* it is moved to the first term */
    w.saw = w.skipped = 0;
    return w;
}

/* Adds, or subtracts by inverting the bits and adding one. */
void add_words(inout window w, uint addend[WINDOW], bool negative) {
    uint carry = negative ? 1 : 0;
    UNROLLED for (int k = 0; k < WINDOW; k++) {
        uint over, over_again;
        const uint sum = uaddCarry(w.word[k], negative ? ~addend[k] : addend[k], over);
        w.word[k] = uaddCarry(sum, carry, over_again);
        carry = over + over_again;
    }
}

void empty_window(inout window w) {
    if (w.additions == 0)
        return;
    const bool negative = int(w.word[WINDOW - 1]) < 0;
    if (negative) {
        const uint sum[WINDOW] = w.word;
        for (int k = 0; k < WINDOW; k++)
            w.word[k] = 0;
        add_words(w, sum, true);
    }
    for (int k = 0; k < WINDOW; k += 2) {
        const wide magnitude = wide(w.word[k], w.word[k + 1]);
        if (magnitude != wide(0))
            deposit(magnitude, negative, w.base + 32 * k);
        w.word[k] = w.word[k + 1] = 0;
    }
    w.additions = 0;
}

/* 'shift' bits above the window's lowest. */
void add_in_window(inout window w, term t, uint shift) {
    const uint bits = shift & 31u;
    uint piece[WINDOW], below = 0;
    UNROLLED for (int k = 0; k < WINDOW; k++) {
        const uint word = k < TERM_WORDS ? t.word[min(k, TERM_WORDS - 1)] : 0;
        piece[k] = word << bits | below >> 1 >> 31 - bits;
        below = word;
    }
    UNROLLED for (int far = 1; far < WINDOW; far *= 2) if ((shift >> 5 & uint(far)) != 0)
        UNROLLED for (int k = WINDOW - 1; k >= 0; k--) piece[k] = k >= far ? piece[max(k - far, 0)] : 0;
    add_words(w, piece, t.negative);
    w.additions++;
}

void deposit_term(term t) {
    for (int k = 0; k < TERM_WORDS; k++)
        if (t.word[k] != 0)
            deposit(wide_of(t.word[k]), t.negative, t.position + 32 * k);
}

void add_term(inout window w, term t) {
    w.saw |= t.saw;
    if (is_zero(t))
        return;
    int shift = t.position - w.base;
    if (shift < 0 || shift > REACH) {
        if (shift < 0 && w.misses < MISSES) {
            w.misses++;
            deposit_term(t);
            return;
        }
        empty_window(w);
        w.misses = 0;
        w.base = clamp(t.position - (REACH - SLACK), 0, HIGHEST_BASE);
        shift = t.position - w.base;
    }
    if (w.additions == ADDITIONS)
        empty_window(w);
    add_in_window(w, t, uint(shift));
}

/* ---- elements ---- */

void add_pair(inout window w, uvec2 a, uvec2 b) {
    if (SKIPS_NAN && (are_nan(a) || are_nan(b)))
        w.skipped++;
    else
        add_term(w, term_of(a, b));
}

#if !PRODUCTS && !WIDE
/* Adds the usual vector without testing each element. False, with nothing done: some elements are outside the window.
 */
bool add_vector(inout window w, uvec4 raw) {
    const uint log = IN_LOG, vector = 16u >> log, width = 8u << log, stored = significand_bits(IN) - 1u;
    const int offset = lowest_exponent(IN) - lowest_exponent(F32) - 1 - w.base;
    const uint mask = (1u << stored) - 1u, fields = (1u << (width - 1u - stored)) - 1u, sign = 1u << (width - 1u);
    uint most = 0, other = 0;
    wide sum = wide(0);
    for (uint k = 0; k < vector; k++) {
        const uint bits = pick(raw, k, log).x, field = bits >> stored & fields;
        const uint shift = uint(int(max(field, 1u)) + offset);
        const int significand = int(bits & mask | min(field, 1u) << stored);
        int high, low;
        imulExtended((bits & sign) != 0 ? -significand : significand, int(1u << (shift & 31u)), high, low);
        most = max(most, shift);
        other |= bits ^ sign;
        sum = plus(sum, wide(low, high));
    }
    if (most > uint(REACH))
        return false;
    if (w.additions > ADDITIONS - vector)
        empty_window(w);
    sum = plus(sum, wide(w.word[0], w.word[1]));
    w.word[0] = sum.x;
    w.word[1] = sum.y;
    w.additions += vector;
    w.saw |= other != 0 ? SAW_OTHER : 0;
    return true;
}
#endif

/* Adds a stretch of 'count' elements, 'apart' bytes from each other, to the number. All threads of a team call this. */
void add_stretch(address x, address y, uint count, wide apart) {
    const uint log = IN_LOG, vector = 16u >> log, step = UNROLL * team_size * vector;
    window w = new_window();
    uint at = 0;
    for (; apart == wide(1 << log, 0) && at + step <= count; at += step) {
        const uint first = at + part * vector;
        uvec4 a[UNROLL], b[UNROLL];
        load_vectors(element_at(x, first), team_size, UNROLL, a);
        b = a;
        if (IS_DOT)
            load_vectors(element_at(y, first), team_size, UNROLL, b);
        for (uint u = 0; u < UNROLL; u++) {
            a[u] = summands_of(a[u]);
#if !PRODUCTS && !WIDE
            if (add_vector(w, a[u]))
                continue;
#endif
            for (uint k = 0; k < vector; k++)
                add_pair(w, pick(a[u], k, log), pick(b[u], k, log));
        }
    }
    for (uint i = at + part; i < count; i += team_size) {
        const uvec2 a = load_apart(x, i, apart);
        add_pair(w, a, IS_DOT ? load_apart(y, i, apart) : a);
    }
    empty_window(w);
#if HAS_MOMENTS
    if (adds_squares) /* the elements have been seen */
        return;
#endif
    atomicOr(all_saw[team], w.saw);
    skip(wide_of(w.skipped));
}
