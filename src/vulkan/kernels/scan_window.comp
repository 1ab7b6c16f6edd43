/* Exact scans in a window: sums are integers of few words, in a unit that a sample of the elements
 * suggests. A thread's few elements are added up as doubles, which do not round them, and only their sums are
 * integers (docs/exact-scans.md shows that results are right). The kernels of exact_scan.comp follow, and do nothing
 * unless an element did not fit. Rows, segments and runs of keys are one array with a bit for each element that begins a
 * group. Before this text specialize.c puts WINDOW_WORDS, 3 or 4 words of 32 bits. */
layout(buffer_reference, std430, buffer_reference_align = 16) buffer window_at {
    int bottom;   /* the unit is 2^bottom */
    uint highest; /* the exponent's field that elements may have at most */
    uint shift;   /* u is 2^(bottom + shift) */
    uint refused; /* the sample or the initial value does not fit: the scan in the window is left out */
    uint failed;  /* an element does not fit */
};

#define IS_F64 (WINDOW_WORDS == 4)
#define FLOATS (IS_F64 ? F64 : F32) /* the type whose fields 'highest' and the sizes of elements are in */
#define BIAS   (IS_F64 ? 1023 : 127)
#define VECTOR (16u >> IN_LOG)
#define LENGTH (TILE_VECTORS * BLOCK * VECTOR) /* elements of a tile */

/* Vectors that a thread adds up together. On an H100, of the plain scan's speed: with 1 f32 0.46, f64 0.55; with 2 0.42
 * and 0.59; with 4 0.35 and 0.56. */
#define STRETCH 2u
#define FEW_LOG uint(findMSB(STRETCH * VECTOR) + 1) /* a stretch has fewer elements than 2^FEW_LOG */

/* ---- sums ---- */

#if WINDOW_WORDS == 4
#define SUM uvec4
#else
#define SUM uvec3
#endif

SUM added(SUM a, SUM b) {
    const uint64_t low = u64_of(a.xy) + u64_of(b.xy);
    const uint carry = low < u64_of(a.xy) ? 1u : 0u;
#if WINDOW_WORDS == 4
    return SUM(words_of(low), words_of(u64_of(a.zw) + u64_of(b.zw) + carry));
#else
    return SUM(words_of(low), a.z + b.z + carry);
#endif
}

/* An integer of 64 bits in units of 2^bit. */
SUM sum_of(int64_t x, uint bit) {
    const wide low = words_of(uint64_t(x) << (bit & 31u));
    const uint sign = uint(int(x >> 63)), above = uint(int(x >> 32) >> 31 - (bit & 31u) >> 1);
#if WINDOW_WORDS == 4
    return bit < 32 ? SUM(low, above, sign) : SUM(0, low, above);
#else
    return SUM(low, above);
#endif
}

/* Adds an element. False: it is not an integer in the window. */
bool add_element(inout SUM sum, window_at w, uvec2 bits) {
    const parts x = take_apart(bits, IN);
    const int position = x.exponent - w.bottom;
    if (!x.finite || top_bit(x.significand) + x.exponent + BIAS > int(w.highest))
        return x.finite && x.significand == wide(0);
    if (position < 0 && shifted_up(x.significand, uint(max(64 + position, 0))) != wide(0))
        return false;
    const wide significand = position < 0 ? shifted_down(x.significand, uint(-position)) : x.significand;
    const uint at = uint(max(position, 0)), first = at >> 5, bit = at & 31u;
    const wide low = shifted_up(significand, bit);
    const uint above = significand.y >> 1 >> 31u - bit;
    SUM piece = SUM(0);
    UNROLLED for (uint k = 0; k < WINDOW_WORDS; k++) piece[k] = k == first       ? low.x
                                                                : k == first + 1 ? low.y
                                                                : k == first + 2 ? above
                                                                                 : 0;
    sum = added(sum, x.negative ? added(~piece, sum_of(int64_t(1), 0)) : piece);
    return true;
}
bool is_minus_zero(uvec2 bits) {
    return bits == sign_bit(IN);
}
/* A group of nothing but -0 has the sum -0, which an integer does not say. */
bool is_minus_zero_alone(uvec2 bits, bool head) {
    return head && is_minus_zero(bits) && !given(p.initial);
}
/* What a group starts from, or the sum of earlier tiles. */
SUM base_of_group() {
    SUM sum = SUM(0);
    if (given(p.initial))
        add_element(sum, window_at(p_window), load_bits(p.initial, OUT_LOG));
    return sum;
}
uvec2 element_or_zero(uvec2 bits) {
    return SKIPS_NAN && are_nan(bits) ? uvec2(0) : bits;
}

/* Rounds a sum. */
wide rounded_in_words(SUM sum, int bottom) {
    const bool negative = int(sum[WINDOW_WORDS - 1]) < 0;
    if (negative)
        sum = added(~sum, sum_of(int64_t(1), 0));
    int top = int(WINDOW_WORDS) - 1;
    while (top > 0 && sum[top] == 0)
        top--;
    uint high = 0, middle = 0, low = 0, more = 0;
    UNROLLED for (int k = 0; k < int(WINDOW_WORDS); k++) {
        high = k == top ? sum[k] : high;
        middle = k == top - 1 ? sum[k] : middle;
        low = k == top - 2 ? sum[k] : low;
        more |= k < top - 2 ? sum[k] : 0;
    }
    if (high == 0)
        return wide(0);
    const uint up = 31u - uint(findMSB(high));
    const wide leading = wide(middle << up | low >> 1 >> 31u - up, high << up | middle >> 1 >> 31u - up);
    const uint rest = low << up | more;
    return round_float(negative, leading | wide_of(rest != 0 ? 1u : 0u), bottom + 32 * (top - 1) - int(up), OUT);
}

/* ---- elements as doubles ---- */

#define IN_MASK (IN_LOG >= 2 ? ~0u : (256u << 8 * IN_LOG) - 1u)
#define PICKED(x, place)                                                                                               \
    uvec2(x[(place) << IN_LOG >> 2] >> 8 * ((place) << IN_LOG & 3u) & IN_MASK,                                         \
          IN_LOG == 3 ? x[(place) << 1 & 2u | 1u] : 0u)
#define PLACE_IN_VECTOR(k) (REVERSE ? VECTOR - 1 - (k) : (k))

/* The bits of FLOATS. */
uvec2 float_bits(uvec2 bits) {
    return IS_F64 ? bits : uvec2(floatBitsToUint(float_of(bits, IN)), 0);
}
double double_of_bits(uvec2 bits) {
    return IS_F64 ? packDouble2x32(bits) : double(uintBitsToFloat(bits.x));
}
/* 2^exponent. */
double power(int exponent) {
    return packDouble2x32(uvec2(0, uint(exponent + 1023) << 20));
}

/* x * 2^exponent for x below 2^52: the integer becomes the low bits of 2^52, which is taken off again. */
double scaled(wide x, int exponent) {
    const uint above = uint(exponent + 52 + 1023) << 20;
    precise double raised = packDouble2x32(uvec2(x.x, x.y | above));
    precise double exact = raised - packDouble2x32(uvec2(0, above));
    return exact;
}
double scaled(int x, int exponent) {
    const uint above = uint(exponent + 52 + 1023) << 20;
    precise double raised = packDouble2x32(uvec2(uint(x) ^ 0x80000000u, above));
    precise double exact = raised - packDouble2x32(uvec2(0x80000000u, above));
    return exact;
}

/* Sizes of some elements: twice their magnitude's bits, of doubles the upper half; of floats less 1, so that a zero is
 * the largest. */
struct sizes {
    uint most, least;
};
void see(inout sizes s, uvec2 bits) {
    const uint size = IS_F64 ? bits.y << 1 : bits.x << 1;
    const uint below = IS_F64 ? (size | bits.x) == 0 ? ~0u : size : size - 1;
    s.most = max(s.most, size);
    s.least = min(s.least, below);
}
uint begin_of(int field) {
    return uint(max(field, 1)) << (IS_F64 ? 21 : 24);
}
/* In how many levels they can be added up; 0: doubles do not hold them. */
uint levels_of(sizes s, int bottom, uint highest, uint shift) {
    const int above = BIAS + int(significand_bits(IN)) - 1;
    if (s.most >= highest + 1u << (IS_F64 ? 21 : 24))
        return 0;
    if (!IS_F64 && s.least >= begin_of(bottom + int(shift) + above) - 1u)
        return 1;
    return s.least >= begin_of(bottom + above) - 1u ? 2 : 0;
}

/* ---- the window ---- */

const uint SAMPLES = 16384;
const int MARGIN = 2; /* powers of two that elements may be larger than the sample's, if there is room */
shared uint sampled_most, sampled_least;

void find_window() {
    begin_kernel();
    if (THREAD == 0) {
        sampled_most = 0;
        sampled_least = ~0u;
    }
    barrier();
    const wide apart = shifted_down(p.extent, 14);
    const int fields = 2 * BIAS + 1;
    for (uint k = THREAD; k < min(SAMPLES, at_most(p.extent, SAMPLES)); k += BLOCK) {
        const wide i = apart == wide(0) ? wide_of(k) : times(apart, k);
        const uvec2 bits = float_bits(load_bits(element_at(p.x, i), IN_LOG));
        const uint field = (IS_F64 ? bits.y >> 20 : bits.x >> 23) & uint(fields);
        if (field > 0 && field < uint(fields)) {
            atomicMax(sampled_most, field);
            atomicMin(sampled_least, field);
        }
    }
    barrier();
    if (THREAD != 0)
        return;
    const int highest = sampled_most == 0 ? 1 : int(sampled_most), lowest = sampled_most == 0 ? 1 : int(sampled_least);
    const int few = int(FEW_LOG), room_of_all = 32 * int(WINDOW_WORDS) - 2 - top_bit(plus(p.extent, 1u));
    const int bits = min(room_of_all, (IS_F64 ? 98 : 82) - few); /* of an element, as an integer */
    const int room = bits - int(significand_bits(IN)) - (highest - lowest), margin = clamp(room / 2, 0, MARGIN);
    window_at w = window_at(p_window);
    w.bottom = max(highest + margin - BIAS + 1 - bits, lowest_exponent(FLOATS));
    w.highest = uint(min(w.bottom + bits - 1 + BIAS, fields - 1));
    w.shift = uint(bits + few - 51);
    w.failed = 0;
    /* All sums, and the rests of elements, are zero or normal doubles. */
    bool fits = room >= 0 && w.bottom >= -960 && w.bottom + 32 * int(WINDOW_WORDS) < 1000;
    if (p_in_groups != 0)
        fits = fits && CONTROL.refused == 0 &&
               (BY_KEYS || (offset_at(wide(0)) == wide(0) && offset_at(p_segments) == p.extent));
    const wide first = REVERSE ? minus(p.extent, 1u) : wide(0);
    fits = fits && !is_minus_zero_alone(load_bits(element_at(p.x, first), IN_LOG), true);
    SUM ignored = SUM(0);
    if (given(p.initial)) {
        const uvec2 initial = load_bits(p.initial, OUT_LOG);
        fits = fits && !is_minus_zero(initial) && add_element(ignored, w, initial);
    }
    w.refused = fits ? 0 : 1;
}

/* ---- groups ---- */

/* A bit for each element that begins a group, in logical order. All values have none. */
bool has_heads() {
    return BY_AXIS && given(p_heads);
}
uint heads_from(wide at, uint count) {
    return words_at(plus(p_heads, shifted_up(shifted_down(at, 5), 2))).word[0] >> (at.x & 31u) & ~0u >> 32u - count;
}
void set_heads(wide at, uint bits) {
    if (bits != 0)
        atomicOr(words_at(plus(p_heads, shifted_up(shifted_down(at, 5), 2))).word[0], bits << (at.x & 31u));
}

/* Rows: a thread has a word of bits, and p.inner is the row's extent. */
void mark_rows(wide word) {
    const wide first = shifted_up(word, 5);
    wide rest;
    divided(first, p.inner, rest);
    const wide ahead = rest == wide(0) ? rest : minus(p.inner, rest);
    const uint apart = at_most(p.inner, 32u);
    uint bits = 0;
    for (uint k = at_most(ahead, 32u); k < 32; k += apart)
        bits |= 1u << k;
    set_heads(first, bits);
}
void mark_segment(wide g) {
    const wide begin = offset_at(g), end = offset_at(plus(g, 1u));
    if (begin != end)
        set_heads(REVERSE ? minus(p.extent, end) : begin, 1u);
}
/* A vector of keys. Each is compared with the one before it in logical order. */
void mark_keys(wide first, uint vector, uint log) {
    uint bits = 0;
    if (less(p.extent, plus(first, vector))) {
        for (uint k = 0; less(plus(first, k), p.extent); k++)
            bits |= begins_run(plus(first, k)) ? 1u << k : 0;
    } else {
        const uvec4 keys = load_vector(
            plus(p_keys, shifted_up(REVERSE ? minus(minus(p.extent, first), vector) : first, log)));
        uvec2 left = first == wide(0) ? ~pick(keys, REVERSE ? vector - 1 : 0, log) : key_at(minus(first, 1u));
        UNROLLED for (uint k = 0; k < vector; k++) {
            const uvec2 key = pick(keys, REVERSE ? vector - 1 - k : k, log);
            bits |= key != left ? 1u << k : 0;
            left = key;
        }
    }
    set_heads(first, bits);
}

/* The bits are 0 before. */
void mark_heads() {
    begin_kernel();
    const uint log = log_bytes(INDEX), vector = 16u >> log;
    const bool segments = p_in_groups != 0 && !BY_KEYS;
    const uint each = p_in_groups == 0 ? 32u : vector;
    const wide end = segments ? p_segments : shifted_down(plus(p.extent, each - 1), uint(findMSB(each)));
    const wide step = times(group_count(), BLOCK);
    if (window_at(p_window).refused != 0)
        return;
    for (wide i = plus(times(group_number(), BLOCK), THREAD); less(i, end); i = plus(i, step))
        if (segments)
            mark_segment(i);
        else if (p_in_groups == 0)
            mark_rows(i);
        else
            mark_keys(times(i, vector), vector, log);
}

/* In place, all elements are looked at before the first is overwritten. */
void check_window() {
    begin_kernel();
    window_at w = window_at(p_window);
    const wide step = times(group_count(), BLOCK);
    SUM ignored = SUM(0);
    bool fits = w.refused == 0;
    for (wide i = plus(times(group_number(), BLOCK), THREAD); fits && less(i, p.extent); i = plus(i, step)) {
        const uvec2 bits = element_or_zero(load_bits(element_at(p.x, i), IN_LOG));
        fits = add_element(ignored, w, bits) &&
               !is_minus_zero_alone(bits, has_heads() && heads_from(element_of(i), 1) != 0);
    }
    if (!fits)
        w.refused = 1;
}
