/* What a thread adds terms to, by integers alone: neither the device's roundings nor its treatment of subnormals has a
 * say, and no feature for doubles is needed. A window is WINDOW words of 64 bits that begin at a bit 'base' of the
 * number. What lies outside of it is deposited; if that happens often, the window is emptied and moved. */
#if WIDE
#define ELEMENT_BITS 53
#else
#define ELEMENT_BITS 24
#endif
#if PRODUCTS
#define WINDOW    (1 + 1 + WIDE)
#define TERM_BITS (2 * ELEMENT_BITS)
#else
#define WINDOW    (1 + WIDE)
#define TERM_BITS ELEMENT_BITS
#endif

const uint ADDITIONS = 4096, ADDITION_BITS = 12; /* to a window until it is emptied */
const int REACH = 64 * WINDOW - 1 - TERM_BITS - int(ADDITION_BITS);
const int SLACK = 3;           /* bits above the term that a window is moved to: larger ones to come may fit */
/* An infinity or a NaN lies above the window, wherever it is. */
#define HIGHEST_BASE (TOP_POSITION - REACH)
#if PRODUCTS
#define TOP_POSITION 100000
#else
#define TOP_POSITION (int((1u << ((8u << IN_LOG) - significand_bits(IN))) - 3u) + lowest_exponent(IN) - lowest_exponent(WIDE != 0 ? F64 : F32))
#endif
const uint MISSES = 16;        /* terms below the window until it is moved */
const uint AHEAD = 4;           /* vectors that a thread has on their way */

/* ---- terms ---- */

/* +-(low + 2^64 high) at a bit of the number. */
struct term {
    uint64_t low, high;
    int position;
    bool negative;
    uint saw;
};

uint64_t high_of_product(uint64_t a, uint64_t b) {
    const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

term term_of(uvec2 x, uvec2 y) {
    const parts a = take_apart(x, IN);
#if PRODUCTS
    const parts b = take_apart(y, IN);
    term t = term(0, 0, a.position + b.position, a.negative != b.negative, 0);
    if (!a.finite || !b.finite) {
        t.saw = special(is_nan_of(a) || is_nan_of(b) || a.significand == 0 || b.significand == 0, t.negative);
        return t;
    }
    t.low = a.significand * b.significand;
#if WIDE
    t.high = high_of_product(a.significand, b.significand);
#endif
#else
    term t = term(0, 0, a.position, a.negative, 0);
    if (!a.finite) {
        t.saw = special(is_nan_of(a), a.negative);
        return t;
    }
    t.low = a.significand;
#endif
    t.saw = t.low != 0 || t.high != 0 || !t.negative ? SAW_OTHER : 0;
    return t;
}

/* ---- a thread's window ---- */

struct window {
    uint64_t word[WINDOW]; /* two's complement */
    int base;
    uint additions, misses;
    uint saw;
};
window new_window() {
    window w;
    for (int k = 0; k < WINDOW; k++)
        w.word[k] = 0;
    w.base = 0;
    w.additions = 0;
    w.misses = MISSES; /* it is moved to the first term */
    w.saw = 0;
    return w;
}

void empty_window(inout window w) {
    if (w.additions == 0)
        return;
    const bool negative = int64_t(w.word[WINDOW - 1]) < 0;
    uint64_t carry = negative ? 1 : 0;
    for (int k = 0; k < WINDOW; k++) {
        uint64_t magnitude = w.word[k];
        if (negative) {
            magnitude = ~magnitude + carry;
            carry = magnitude == 0 ? carry : 0;
        }
        if (magnitude != 0)
            deposit(magnitude, negative, w.base + 64 * k);
        w.word[k] = 0;
    }
    w.additions = 0;
}

void add_in_window(inout window w, term t, uint shift) {
    uint64_t piece[WINDOW];
#if WINDOW == 1
    piece[0] = t.low << shift;
#elif WINDOW == 2
    piece[0] = shift < 64 ? t.low << shift : uint64_t(0);
    piece[1] = shift < 64 ? t.low >> 1 >> (63 - shift) : t.low << (shift - 64);
#else
    const uint inner = shift & 63u;
    const uint64_t a = t.low << inner, b = t.high << inner | t.low >> 1 >> (63 - inner);
    const uint64_t c = t.high >> 1 >> (63 - inner);
    piece[0] = shift < 64 ? a : uint64_t(0);
    piece[1] = shift < 64 ? b : a;
    piece[2] = shift < 64 ? c : b;
#endif
    uint64_t carry = t.negative ? 1 : 0;
    for (int k = 0; k < WINDOW; k++) {
        const uint64_t addend = t.negative ? ~piece[k] : piece[k], sum = w.word[k] + addend, all = sum + carry;
        carry = (sum < addend ? 1 : 0) + (all < sum ? 1 : 0);
        w.word[k] = all;
    }
    w.additions++;
}

void add_term(inout window w, term t) {
    w.saw |= t.saw;
    if (t.low == 0 && t.high == 0)
        return;
    int shift = t.position - w.base;
    if (shift < 0 || shift > REACH) {
        if (shift < 0 && w.misses < MISSES) {
            w.misses++;
            deposit(t.low, t.negative, t.position);
            if (t.high != 0)
                deposit(t.high, t.negative, t.position + 64);
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

#if !PRODUCTS && !WIDE
/* The usual vector is added without a look at each element. False, and nothing is done: some lie outside of the window. */
bool add_vector(inout window w, uvec4 raw) {
    const uint log = IN_LOG, vector = 16u >> log, width = 8u << log, stored = significand_bits(IN) - 1u;
    const int offset = lowest_exponent(IN) - lowest_exponent(F32) - 1 - w.base;
    const uint mask = (1u << stored) - 1u, fields = (1u << (width - 1u - stored)) - 1u, sign = 1u << (width - 1u);
    uint most = 0, other = 0;
    int64_t sum = 0;
    for (uint k = 0; k < vector; k++) {
        const uint bits = pick(raw, k, log).x, field = bits >> stored & fields;
        const uint shift = uint(int(max(field, 1u)) + offset);
        const int significand = int(bits & mask | min(field, 1u) << stored);
        most = max(most, shift);
        other |= bits ^ sign;
        sum += int64_t((bits & sign) != 0 ? -significand : significand) * int64_t(int(1u << (shift & 31u)));
    }
    if (most > uint(REACH))
        return false;
    if (w.additions > ADDITIONS - vector)
        empty_window(w);
    w.word[0] += uint64_t(sum);
    w.additions += vector;
    w.saw |= other != 0 ? SAW_OTHER : 0;
    return true;
}
#endif

/* Elements begin to end of a group, 'apart' from each other, into the number. All threads. */
void add_elements(uint64_t x, uint64_t y, uint64_t begin, uint64_t end, uint64_t apart) {
    const uint log = IN_LOG, vector = 16u >> log;
    const uint64_t step = uint64_t(AHEAD * team_size * vector);
    window w = new_window();
    uint64_t at = begin;
    for (; apart == 1 && at + step <= end; at += step) {
        uvec4 a[AHEAD], b[AHEAD];
        for (uint u = 0; u < AHEAD; u++) {
            a[u] = load_vector(x + (at + (u * team_size + part) * vector << log));
            b[u] = a[u];
            if (IS_DOT)
                b[u] = load_vector(y + (at + (u * team_size + part) * vector << log));
        }
        for (uint u = 0; u < AHEAD; u++) {
#if !PRODUCTS && !WIDE
            if (add_vector(w, a[u]))
                continue;
#endif
            for (uint k = 0; k < vector; k++)
                add_term(w, term_of(pick(a[u], k, log), pick(b[u], k, log)));
        }
    }
    for (uint64_t i = at + part; i < end; i += team_size) {
        const uvec2 a = load_bits(x + (i * apart << log), log);
        add_term(w, term_of(a, IS_DOT ? load_bits(y + (i * apart << log), log) : a));
    }
    empty_window(w);
    atomicOr(all_saw[team], w.saw);
    sum_numbers_of_team();
}
