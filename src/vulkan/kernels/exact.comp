/* Exact mode: sums and sums of products that are rounded once. All of it is integer arithmetic, so neither the device's
 * roundings nor its treatment of subnormals has a say, and no feature for doubles is needed.
 *
 * A workgroup keeps a fixed-point number in shared memory, in words with 16 bits of payload, wide enough for any sum of
 * the type's terms. A thread adds terms to a window of it in registers: WINDOW words of 64 bits that begin at a bit
 * 'base'. What lies outside of the window is added to shared memory directly; if that happens often, the window is
 * emptied and moved. Integers have no order, so no cut and no race changes a bit of a result.
 *
 * Before this text stand the choices:
 *
 *   PRODUCTS        terms are products of two elements: of x and y, or x and x
 *   WIDE            elements are f64; else f16, bf16 or f32
 *   LIMBS, BOTTOM   32 bits each of the number; bit 0 of it is 2^BOTTOM */
const uint WORDS = 2 * LIMBS;
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
const uint ROUND_ELEMENTS = 64; /* a thread until carries are moved: a word takes 2^15 deposits of 16 bits */
const uint SAW_NAN = 1, SAW_PLUS = 2, SAW_MINUS = 4, SAW_OTHER = 8 /* than -0 */;

shared int words[WORDS];
shared uint digits[LIMBS + 4];
shared uint all_saw, deposits;

/* ---- the number in shared memory ---- */

void clear_words() {
    barrier(); /* earlier use of the memory */
    for (uint i = THREAD; i < WORDS; i += BLOCK)
        words[i] = 0;
    if (THREAD == 0)
        all_saw = deposits = 0;
    barrier();
}

void deposit(uint64_t magnitude, bool negative, int position) {
    uint to = uint(position) >> 4;
    const uint shift = uint(position) & 15u;
    uint piece = uint(magnitude << shift) & 65535u;
    magnitude >>= 16 - shift;
    while (true) {
        if (piece != 0)
            atomicAdd(words[to], negative ? -int(piece) : int(piece));
        if (magnitude == 0)
            break;
        to++;
        piece = uint(magnitude) & 65535u;
        magnitude >>= 16;
    }
    atomicOr(deposits, 1u);
}

/* Moves what is above each word's payload one word up. */
const uint MOST_A_THREAD = 3; /* of 272 words, with 128 threads or more */
void carry_words() {
    int mine[MOST_A_THREAD];
    barrier();
    for (uint k = 0; k < MOST_A_THREAD; k++) {
        const uint i = k * BLOCK + THREAD;
        if (i < WORDS)
            mine[k] = (i < WORDS - 1 ? words[i] & 65535 : words[i]) + (i > 0 ? words[i - 1] >> 16 : 0);
    }
    barrier();
    for (uint k = 0; k < MOST_A_THREAD; k++)
        if (k * BLOCK + THREAD < WORDS)
            words[k * BLOCK + THREAD] = mine[k];
    if (THREAD == 0)
        deposits = 0;
    barrier();
}

/* ---- terms ---- */

/* +-(low + 2^64 high) at a bit of the number. */
struct term {
    uint64_t low, high;
    int position;
    bool negative;
    uint saw;
};

/* significand * 2^(position + the type's own bottom) */
struct parts {
    uint64_t significand;
    int position;
    bool negative, finite;
};
parts take_apart(uvec2 raw) {
    const uint64_t bits = u64_of(raw);
    const uint width = 8u << IN_LOG, stored = significand_bits(IN) - 1u;
    const uint field = uint(bits >> stored) & ((1u << (width - 1u - stored)) - 1u);
    parts p;
    p.negative = (bits >> (width - 1u) & 1) != 0;
    p.finite = field != (1u << (width - 1u - stored)) - 1u;
    p.significand = bits & ((uint64_t(1) << stored) - 1);
    if (field != 0)
        p.significand |= uint64_t(1) << stored;
    p.position = int(max(field, 1u)) - 1 + lowest_exponent(IN) - lowest_exponent(WIDE != 0 ? F64 : F32);
    return p;
}
bool is_nan_of(parts p) {
    return !p.finite && p.significand != uint64_t(1) << (significand_bits(IN) - 1u);
}
uint special(bool nan, bool negative) {
    return nan ? SAW_NAN : negative ? SAW_MINUS : SAW_PLUS;
}
uint64_t high_of_product(uint64_t a, uint64_t b) {
    const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

term term_of(uvec2 x, uvec2 y) {
    const parts a = take_apart(x);
#if PRODUCTS
    const parts b = take_apart(y);
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

#if PRODUCTS
#define IS_DOT (OPERATOR == OPERATOR_DOT)
#else
#define IS_DOT false
#endif

void end_round() {
    barrier();
    const bool dirty = deposits != 0;
    if (dirty)
        carry_words();
}

/* Elements begin to end of a group, 'apart' from each other. All threads. */
void add_elements(inout window w, uint64_t x, uint64_t y, uint64_t begin, uint64_t end, uint64_t apart) {
    const uint log = IN_LOG;
    uint64_t at = begin;
    if (apart == 1) {
        const uint vector = 16u >> log;
        const uint vectors = ROUND_ELEMENTS / vector;
        const uint64_t step = uint64_t(ROUND_ELEMENTS * BLOCK);
        for (; at + step <= end; at += step) {
            for (uint v = 0; v < vectors; v += 4) {
                uvec4 a[4], b[4];
                for (uint u = 0; u < 4; u++) {
                    a[u] = load_vector(x + (at + ((v + u) * BLOCK + THREAD) * vector << log));
                    b[u] = a[u];
                    if (IS_DOT)
                        b[u] = load_vector(y + (at + ((v + u) * BLOCK + THREAD) * vector << log));
                }
                for (uint u = 0; u < 4; u++) {
#if !PRODUCTS && !WIDE
                    if (add_vector(w, a[u]))
                        continue;
#endif
                    for (uint k = 0; k < vector; k++)
                        add_term(w, term_of(pick(a[u], k, log), pick(b[u], k, log)));
                }
            }
            end_round();
        }
    }
    for (; at < end; at += ROUND_ELEMENTS * BLOCK) {
        for (uint k = 0; k < ROUND_ELEMENTS; k++) {
            const uint64_t i = at + k * BLOCK + THREAD;
            if (i >= end)
                break;
            const uvec2 a = load_bits(x + (i * apart << log), log);
            add_term(w, term_of(a, IS_DOT ? load_bits(y + (i * apart << log), log) : a));
        }
        end_round();
    }
    empty_window(w);
    atomicOr(all_saw, w.saw);
    barrier();
}

/* ---- rounding, as src/exact/round.c has it ---- */

/* The absolute value as digits of base 2^32 in shared memory, from 'low' on, the lowest first, neither end zero. */
struct magnitude {
    int low, count, exponent;
    bool negative;
};

magnitude magnitude_of_words() {
    int64_t carry = 0;
    for (uint i = 0; i < LIMBS; i++) {
        const int64_t value = int64_t(words[2 * i]) + int64_t(words[2 * i + 1]) * 65536 + carry;
        digits[i] = uint(value);
        carry = value >> 32;
    }
    digits[LIMBS] = uint(carry);
    const bool negative = carry < 0;
    if (negative) {
        uint more = 1;
        for (uint i = 0; i <= LIMBS; i++) {
            digits[i] = ~digits[i] + more;
            more = digits[i] == 0 ? more : 0;
        }
    }
    int low = 0, count = int(LIMBS) + 1;
    while (count > 0 && digits[count - 1] == 0)
        count--;
    while (low < count && digits[low] == 0)
        low++;
    return magnitude(low, count - low, BOTTOM + 32 * low, negative);
}

/* leading * 2^exponent, and if bits follow, the lowest of leading, which no result keeps, is set. */
struct unrounded {
    uint64_t leading;
    int exponent;
};

/* Bit 'position' of the digits, 0 below them. */
uint digit_bit(magnitude m, int position) {
    return position < 0 ? 0 : digits[m.low + (position >> 5)] >> (position & 31) & 1;
}
bool bits_below(magnitude m, int position) {
    if (position <= 0)
        return false;
    return position >= 32 || (digits[m.low] & ((1u << position) - 1)) != 0; /* the lowest digit is not zero */
}
int bit_length(magnitude m) {
    return 32 * (m.count - 1) + findMSB(digits[m.low + m.count - 1]) + 1;
}

unrounded unrounded_sum(magnitude m) {
    const int length = bit_length(m);
    uint64_t leading = 0;
    for (int k = 1; k <= 64; k++)
        leading = leading << 1 | digit_bit(m, length - k);
    return unrounded(leading | (bits_below(m, length - 64) ? 1 : 0), m.exponent + length - 64);
}

/* Long division, a bit at a time, until the quotient has 64. */
unrounded unrounded_quotient(magnitude m, uint64_t divisor) {
    int position = bit_length(m);
    uint64_t remainder = 0, quotient = 0;
    while (quotient >> 63 == 0) {
        position--;
        const bool carry = remainder >> 63 != 0;
        remainder = remainder << 1 | digit_bit(m, position);
        quotient <<= 1;
        if (carry || remainder >= divisor) {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    return unrounded(quotient | (remainder != 0 || bits_below(m, position) ? 1 : 0), m.exponent + position);
}

/* Two bits of the number for one of the root, of which there are 60; pairs begin where the exponent is even. */
unrounded unrounded_root(magnitude m) {
    const int length = bit_length(m);
    int position = length + ((m.exponent + length) & 1);
    uint64_t root = 0, remainder = 0;
    for (int k = 0; k < 60; k++) {
        position -= 2;
        const uint upper = position + 1 < length ? digit_bit(m, position + 1) : 0;
        const uint64_t trial = root << 2 | 1;
        remainder = remainder << 2 | (upper << 1 | digit_bit(m, position));
        root <<= 1;
        if (remainder >= trial) {
            remainder -= trial;
            root |= 1;
        }
    }
    return unrounded(root << 1 | (remainder != 0 || bits_below(m, position) ? 1 : 0), (m.exponent + position) / 2 - 1);
}

uint64_t nan_bits() {
    return infinity_bits(OUT) | uint64_t(1) << (significand_bits(OUT) - 2u);
}

/* Of the words; one thread. */
uint64_t result_bits(uint64_t count) {
    const uint64_t minus = uint64_t(1) << ((8u << OUT_LOG) - 1u);
    const uint both = SAW_PLUS | SAW_MINUS, saw = all_saw;
    const bool mean = OPERATOR == OPERATOR_MEAN, root = OPERATOR == OPERATOR_NORM2;
    if ((saw & SAW_NAN) != 0 || (saw & both) == both || (mean && count == 0))
        return nan_bits();
    if ((saw & both) != 0)
        return (saw & SAW_PLUS) != 0 ? infinity_bits(OUT) : infinity_bits(OUT) | minus;
    const magnitude m = magnitude_of_words();
    if (m.count == 0)
        return count != 0 && (saw & SAW_OTHER) == 0 ? minus : uint64_t(0);
    const unrounded u = root ? unrounded_root(m) : mean ? unrounded_quotient(m, count) : unrounded_sum(m);
    return round_float(m.negative, u.leading, u.exponent, OUT);
}

void give(uint64_t at, uint64_t count) {
    if (THREAD == 0)
        store_bits(p.out_at + (at << OUT_LOG), OUT_LOG, words_of(result_bits(count)));
}

/* ---- kernels ---- */

const uint CHUNK_BYTES = (WORDS + 2) * 4;

/* Of a chunk, or of what earlier pieces came to: words after a carry, whose sum with a thousand others fits, and what was
 * seen. */
void add_stored(uint64_t at) {
    for (uint i = THREAD; i < WORDS; i += BLOCK)
        words[i] += int(load_word(at + 4 * i));
    if (THREAD == 0)
        all_saw |= load_word(at + 4 * WORDS);
    barrier();
}
void store_words(uint64_t at) {
    carry_words();
    for (uint i = THREAD; i < WORDS; i += BLOCK)
        one_word(at + 4 * i).word = uint(words[i]);
    if (THREAD == 0)
        one_word(at + 4 * WORDS).word = all_saw;
}

/* Chunks of rows and columns: a workgroup each, of which none does two, so that loops stay short. */
void exact_rows() {
    begin_kernel();
    const uint64_t number = group_number();
    if (number >= p.columns * p.chunks)
        return;
    const uint64_t chunk = p.chunks == 1 ? uint64_t(0) : number / p.columns, column = number - chunk * p.columns;
    const uint64_t first = first_of_column(column) << IN_LOG, extent = extent_of_run();
    const uint64_t begin = min(chunk * p.chunk, extent), end = min(begin + p.chunk, extent);
    window w = new_window();
    clear_words();
    if (p.slots == 0 && p.carry != 0)
        add_stored(p.carry + column * CHUNK_BYTES);
    add_elements(w, p.x + first, p.y + first, begin, end, p.inner);
    if (p.slots != 0)
        store_words(p.slots + number * CHUNK_BYTES);
    else if (p.total != 0)
        store_words(p.total + column * CHUNK_BYTES);
    else
        give(column, extent);
}

/* A row's chunks, added up, with what earlier pieces came to; also that alone, when there are no more. */
void exact_merge() {
    begin_kernel();
    const uint64_t column = group_number();
    if (column >= p.columns)
        return;
    clear_words();
    const uint across = min(BLOCK, 1u << findMSB(2 * WORDS - 1)), sharing = BLOCK / across;
    for (uint i = THREAD % across; i <= WORDS; i += across) {
        int sum = 0;
        uint saw = 0;
        for (uint64_t chunk = THREAD / across; chunk < p.chunks; chunk += sharing) {
            const uint word = load_word(p.slots + (chunk * p.columns + column) * CHUNK_BYTES + 4 * i);
            sum += int(word);
            saw |= word;
        }
        if (i == WORDS)
            atomicOr(all_saw, saw);
        else
            atomicAdd(words[i], sum);
    }
    barrier();
    if (p.carry != 0)
        add_stored(p.carry + column * CHUNK_BYTES);
    if (p.total != 0)
        store_words(p.total + column * CHUNK_BYTES);
    else
        give(column, p.before + extent_of_run());
}

void exact_segments() {
    begin_kernel();
    const uint64_t g = group_number();
    if (g >= SEGMENTS || CONTROL.refused != 0)
        return;
    const uint64_t begin = offset_at(g), end = offset_at(g + 1);
    window w = new_window();
    clear_words();
    add_elements(w, p.x, p.y, begin, end, 1);
    give(g, end - begin);
}

/* ---- runs of keys: their heads are counted in chunks of KEY_CHUNK, which gives each chunk the number of its first ---- */

const uint KEY_CHUNK = 32;
#define RANKS    p.before
#define ROOM     p.inner
#define KEYS_OUT p.carry

uvec2 key_at(uint64_t i) {
    const uint log = log_bytes(INDEX);
    return load_bits(p.index + (i << log), log);
}
bool begins_run(uint64_t i) {
    return i == 0 || key_at(i) != key_at(i - 1);
}
uint64_t rank_of_chunk(uint64_t chunk) {
    return u64_of(load_bits(RANKS + 8 * chunk, 3));
}

void count_heads() {
    begin_kernel();
    const uint64_t chunk = group_number() * BLOCK + THREAD;
    if (chunk >= p.chunks)
        return;
    uint64_t heads = 0;
    for (uint64_t i = chunk * KEY_CHUNK; i < min((chunk + 1) * KEY_CHUNK, p.extent); i++)
        heads += begins_run(i) ? 1 : 0;
    store_bits(RANKS + 8 * chunk, 3, words_of(heads));
}

/* One workgroup: from the chunks' heads to those before each. */
shared uint64_t thread_heads[BLOCK];
void rank_heads() {
    begin_kernel();
    const uint64_t each = (p.chunks + BLOCK - 1) / BLOCK;
    const uint64_t first = min(THREAD * each, p.chunks), end = min(first + each, p.chunks);
    uint64_t mine = 0, before = 0;
    for (uint64_t c = first; c < end; c++)
        mine += rank_of_chunk(c);
    thread_heads[THREAD] = mine;
    barrier();
    for (uint t = 0; t < THREAD; t++)
        before += thread_heads[t];
    if (THREAD == BLOCK - 1) {
        CONTROL.runs = before + mine;
        if (before + mine > ROOM)
            atomicOr(CONTROL.refused, REFUSED_RUNS);
    }
    for (uint64_t c = first; c < end; c++) {
        const uint64_t heads = rank_of_chunk(c);
        store_bits(RANKS + 8 * c, 3, words_of(before));
        before += heads;
    }
}

/* The first position after 'from' where a run begins, or the end. All threads. */
shared uint nearest;
uint64_t end_of_run(uint64_t from) {
    for (uint64_t at = from + 1;; at += BLOCK) {
        barrier();
        if (THREAD == 0)
            nearest = BLOCK;
        barrier();
        const uint64_t i = at + THREAD;
        if (i >= p.extent || begins_run(i))
            atomicMin(nearest, THREAD);
        barrier();
        const uint found = nearest;
        if (found < BLOCK)
            return at + found;
    }
}

/* The runs that begin in a workgroup's chunk, to their ends. */
void exact_runs() {
    begin_kernel();
    const uint64_t chunk = group_number();
    if (chunk >= p.chunks || CONTROL.refused != 0)
        return;
    const uint64_t end = min((chunk + 1) * KEY_CHUNK, p.extent);
    uint64_t rank = rank_of_chunk(chunk);
    for (uint64_t i = chunk * KEY_CHUNK; i < end; i++) {
        if (!begins_run(i))
            continue;
        const uint64_t until = end_of_run(i);
        window w = new_window();
        clear_words();
        add_elements(w, p.x, p.y, i, until, 1);
        give(rank, until - i);
        if (THREAD == 0 && KEYS_OUT != 0)
            store_bits(KEYS_OUT + (rank << log_bytes(INDEX)), log_bytes(INDEX), key_at(i));
        rank++;
    }
}
