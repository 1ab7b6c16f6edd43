/* A thread's accumulator if the device rounds floats to nearest: levels, in floats of the elements' size. Adding x to S
 * = 1.5 * 2^m and subtracting S again splits x, without error, into a multiple of S's unit, which stays in S, and a
 * rest for the next level. A level takes few additions at a time, so S stays in its binade, where the bits of a float
 * are an integer that counts units; these integers are added up. The rest that the last level leaves is tested, so the
 * result is exact for any elements: if there is a rest, the elements are added again one by one, and each one's rest is
 * deposited.
 *
 * The elements' own type suffices: floats of 32 and 16 bits need neither doubles nor 64-bit integers. */
#if WIDE
#define REAL      double
#define REALS     dvec2
#define UNITS     int64_t
#define UNITS_OF  i64vec2
#define CHUNK_LOG 3
#define LEVELS    2
const int PRECISION = 53, BIAS = 1023;
#else
#define REAL      float
#define REALS     vec3 /* of the levels; two levels have no last one */
#define UNITS     int
#define UNITS_OF  ivec3
#define CHUNK_LOG (IN == F16 ? 2 : 3)
#define LEVELS    (IN == F32 ? 3 : 2)
const int PRECISION = 24, BIAS = 127;
#endif
/* Additions to a level until it is emptied. f32, of the roof: 4, 0.777; 8, 0.785; 16, 0.776. */
#define CHUNK (1u << CHUNK_LOG)

/* A window's elements are less than 2^top. Level l is 1.5 * 2^m, m = top + CHUNK_LOG + 1 - l * STEP: CHUNK terms of at
 * most 2^top stay within half a binade of it. Rests are at most half of its unit, 2^(m - PRECISION), which is the next
 * level's top. The last level's unit is the smallest bit that the window takes. */
#define STEP (PRECISION - CHUNK_LOG - 1)
#define SPAN (PRECISION - 1 - CHUNK_LOG - 1 + (LEVELS - 1) * STEP) /* from the last level's unit to top */

const int SLACK = 3;                               /* free bits above the largest element when a window is moved */
const uint MISSES = 64;                            /* elements that leave a rest before the window is moved down */
const uint MOST_CHUNKS = WIDE != 0 ? 4095u : 511u; /* of up to 2^(PRECISION - 2) units each, that can be added up */

/* Floats of 16 bits become floats of 2^-112 times their value, subnormals too, by moving their bits with two
 * instructions. One window takes them all. */
#if WIDE
#define SCALE 0
#else
#define SCALE (IN == F16 && KEEPS_SUBNORMALS ? 112 : 0)
#endif

/* The range of tops. Above it a level would be infinite; below it a level's unit or, where subnormals are lost, a rest
 * of a normal element would be too small. From units of 2^24 times the least normal float on, no rest is. */
#define LEAST_UNIT (2 - BIAS - PRECISION + (KEEPS_SUBNORMALS ? 0 : 2 * PRECISION - 1))
#define MOST_TOP   (WIDE == 0 && IN == F16 ? 16 - SCALE : BIAS - CHUNK_LOG - 1)
#define LEAST_TOP  (WIDE == 0 && IN == F16 ? MOST_TOP : LEAST_UNIT + SPAN)

UNITS bits_of(REAL x) {
#if WIDE
    return int64_t(u64_of(unpackDouble2x32(x)));
#else
    return floatBitsToInt(x);
#endif
}
UNITS_OF bits_of(REALS x) {
#if WIDE
    return i64vec2(bits_of(x.x), bits_of(x.y));
#else
    return floatBitsToInt(x);
#endif
}
REAL power_of_two(int exponent) {
#if WIDE
    return packDouble2x32(uvec2(0, uint(exponent + BIAS) << 20));
#else
    return uintBitsToFloat(uint(exponent + BIAS) << 23);
#endif
}
int exponent_of_level(int top, int l) {
    return top + CHUNK_LOG + 1 - l * STEP;
}
REALS starts_of_levels(int top) {
    const REAL half_more = REAL(1.5);
#if WIDE
    return half_more * REALS(power_of_two(exponent_of_level(top, 0)), power_of_two(exponent_of_level(top, 1)));
#else
    return half_more * REALS(power_of_two(exponent_of_level(top, 0)), power_of_two(exponent_of_level(top, 1)),
                             power_of_two(exponent_of_level(top, LEVELS - 1)));
#endif
}

/* The k-th element of a vector, and one alone. */
REAL real_of(uvec2 bits) {
#if WIDE
    return packDouble2x32(bits);
#else
    if (SCALE != 0)
        return intBitsToFloat(int(bits.x << 16) >> 3 & int(0x8fffe000u));
    return float_of(bits, IN);
#endif
}
REAL pick_real(uvec4 vector, uint k) {
#if !WIDE
    const uint word = vector[k << IN_LOG >> 2];
    if (IN == BF16)
        return uintBitsToFloat((k & 1u) == 0 ? word << 16 : word & 0xffff0000u);
    if (SCALE != 0)
        return intBitsToFloat(int((k & 1u) == 0 ? word << 16 : word) >> 3 & int(0x8fffe000u));
#endif
    return real_of(pick(vector, k, IN_LOG));
}
/* Where subnormals are lost: whether an element is one. */
bool is_lost(uvec2 bits) {
    if (KEEPS_SUBNORMALS || IN == F16)
        return false;
    const uint width = 8u << IN_LOG, stored = significand_bits(IN) - 1u;
#if WIDE
    return (bits.y & 0x7ff00000u) == 0 && (bits.x != 0 || (bits.y & 0x000fffffu) != 0);
#else
    return (bits.x & (1u << (width - 1u)) - 1u) - 1u < (1u << stored) - 1u;
#endif
}

struct levels {
    UNITS_OF units;
    int top;
    uint chunks; /* that units are of */
    uint misses;
    uint saw;
    uint skipped; /* NaNs */
};
levels new_levels() {
    return levels(UNITS_OF(0), LEAST_TOP, 0, 0, 0, 0);
}

/* Adds x to the levels and returns the rest. */
REAL split(inout REALS level, REAL x) {
    precise REAL sum, taken, rest;
    sum = level.x + x;
    taken = sum - level.x;
    rest = x - taken;
    level.x = sum;
    sum = level.y + rest;
    taken = sum - level.y;
    rest = rest - taken;
    level.y = sum;
#if !WIDE
    if (LEVELS == 3) {
        sum = level.z + rest;
        taken = sum - level.z;
        rest = rest - taken;
        level.z = sum;
    }
#endif
    return rest;
}

wide wide_of_units(UNITS units) {
#if WIDE
    return words_of(uint64_t(units));
#else
    return wide_of(uint(units));
#endif
}
void deposit_units(UNITS units, int top, int l) {
    if (units != 0)
        deposit(wide_of_units(abs(units)), units < 0, exponent_of_level(top, l) - (PRECISION - 1) + SCALE - BOTTOM);
}
void empty_levels(inout levels s) {
    deposit_units(s.units.x, s.top, 0);
    deposit_units(s.units.y, s.top, 1);
#if !WIDE
    if (LEVELS == 3)
        deposit_units(s.units.z, s.top, 2);
#endif
    s.units = UNITS_OF(0);
    s.chunks = 0;
}

/* Moves the window so that elements less than 2^high fit. */
void place(inout levels s, int high) {
    empty_levels(s);
    s.top = clamp(high + SLACK, LEAST_TOP, MOST_TOP);
    s.misses = 0;
}

/* ---- vectors ---- */

/* False, with nothing done: they are not zeros, but NaNs among zeros. */
bool add_zeros(inout levels s, uvec4 x[UNROLL]) {
    uvec4 any = uvec4(0), all = ~uvec4(0);
    UNROLLED for (uint v = 0; v < UNROLL; v++) {
        any |= x[v];
        all &= x[v];
    }
    s.saw |= all != minus_zeros() ? SAW_OTHER : 0;
    return (any & ~minus_zeros()) == uvec4(0);
}

/* False, with nothing done: some do not fit. */
bool add_vectors(inout levels s, uvec4 x[UNROLL]) {
    const uint vector = 16u >> IN_LOG, chunks = UNROLL * vector >> CHUNK_LOG;
    REAL most = REAL(0);
    bool lost = false;
    UNROLLED for (uint v = 0; v < UNROLL; v++) UNROLLED for (uint k = 0; k < vector; k++) {
        most = max(most, abs(pick_real(x[v], k)));
        lost = lost || is_lost(pick(x[v], k, IN_LOG));
    }
    if (lost)
        return false;
    if (!(most < power_of_two(s.top))) {
        if (!(most < power_of_two(MOST_TOP)))
            return false;
        place(s, int(bits_of(most) >> (PRECISION - 1)) - BIAS + 1);
    } else if (s.chunks + chunks > MOST_CHUNKS) {
        empty_levels(s);
    }
    if (!(most > REAL(0)))
        return add_zeros(s, x);
    const REALS start = starts_of_levels(s.top);
    UNITS_OF units = s.units - UNITS(chunks) * bits_of(start);
    REALS level = start;
    UNITS rests = 0;
    UNROLLED for (uint v = 0; v < UNROLL; v++) UNROLLED for (uint k = 0; k < vector; k++) {
        rests |= bits_of(split(level, pick_real(x[v], k)));
        if ((v * vector + k & CHUNK - 1u) == CHUNK - 1u) {
            units += bits_of(level);
            level = start;
        }
    }
    if (rests << 1 != 0)
        return false;
    s.units = units;
    s.chunks += chunks;
    s.saw |= SAW_OTHER;
    return true;
}

/* ---- elements one by one ---- */

/* It is less than 2^this, without SCALE. */
int high_of(parts a) {
    return a.exponent + top_bit(a.significand) + 1 - SCALE;
}

void add_element(inout levels s, uvec2 bits) {
    if (SKIPS_NAN && are_nan(bits)) {
        s.skipped++;
        return;
    }
    const parts a = take_apart(bits, IN);
    if (!a.finite || a.significand == wide(0)) {
        s.saw |= !a.finite ? special(is_nan_of(a, IN), a.negative) : a.negative ? 0 : SAW_OTHER;
        return;
    }
    s.saw |= SAW_OTHER;
    if (high_of(a) > s.top || is_lost(bits)) {
        deposit(a.significand, a.negative, position_of(a.exponent));
        return;
    }
    if (s.chunks == MOST_CHUNKS)
        empty_levels(s);
    const REALS start = starts_of_levels(s.top);
    REALS level = start;
    const UNITS rest = bits_of(split(level, real_of(bits)));
    s.units += bits_of(level) - bits_of(start);
    s.chunks++;
    if (rest << 1 != 0) {
        const parts r = take_apart(wide_of_units(rest), WIDE != 0 ? F64 : F32);
        deposit(r.significand, r.negative, position_of(r.exponent) + SCALE);
        s.misses++;
    }
}

/* 'count' elements: runs of 'run' neighbours that begin 'far' from each other, 'apart' bytes in memory; none from 'end'
 * on. */
void add_singly(inout levels s, address x, uint first, uint count, uint run, uint far, uint end, wide apart) {
    int high = LEAST_TOP;
    for (uint j = 0; j < count && first + j / run * far + j % run < end; j++) {
        const parts a = take_apart(load_apart(x, first + j / run * far + j % run, apart), IN);
        if (a.finite && a.significand != wide(0) && high_of(a) <= MOST_TOP)
            high = max(high, high_of(a));
    }
    if (high > s.top || (s.misses >= MISSES && high + SLACK < s.top))
        place(s, high);
    for (uint j = 0; j < count && first + j / run * far + j % run < end; j++)
        add_element(s, load_apart(x, first + j / run * far + j % run, apart));
}

/* Puts -0, which changes nothing, for NaNs. Returns how many there were. */
uint drop_nans(inout uvec4 x[UNROLL]) {
    const uint log = IN_LOG, vector = 16u >> log;
    uint dropped = 0;
    UNROLLED for (uint v = 0; v < UNROLL; v++) UNROLLED for (uint k = 0; k < vector; k++) {
        const uint word = k << log >> 2 & 3u, shift = 8u * (k << log & 3u);
        const bool drops = are_nan(pick(x[v], k, log));
        dropped += drops ? 1 : 0;
        if (log == 3) {
            x[v][word] = drops ? 0 : x[v][word];
            x[v][word + 1 & 3u] = drops ? 0x80000000u : x[v][word + 1 & 3u];
        } else {
            const uint mask = (log == 2 ? ~0u : 65535u) << shift;
            x[v][word] = drops ? x[v][word] & ~mask | sign_bit(IN).x << shift : x[v][word];
        }
    }
    return dropped;
}

/* UNROLL vectors that have been loaded, the thread's of a step. */
void add_loaded(inout levels s, uvec4 some[UNROLL], address x, uint first, uint far, uint count, wide apart) {
    if (add_vectors(s, some))
        return;
    if (SKIPS_NAN) {
        const uint dropped = drop_nans(some);
        if (dropped != 0 && add_vectors(s, some)) {
            s.skipped += dropped;
            return;
        }
    }
    const uint vector = 16u >> IN_LOG;
    add_singly(s, x, first, UNROLL * vector, vector, far, count, apart);
}

/* Elements from 'first' on; missing elements are -0, which changes nothing. */
uvec4 load_or_none(address x, uint first, uint end, wide apart, bool neighbours) {
    const uint log = IN_LOG, vector = 16u >> log;
    if (neighbours && first + vector <= end)
        return load_vector(element_at(x, first));
    uvec4 loaded = minus_zeros();
    for (uint k = 0; k < vector && first + k < end; k++) {
        const uvec2 bits = load_apart(x, first + k, apart);
        if (log == 3)
            loaded[2 * k + 1] = bits.y;
        if (log == 3)
            loaded[2 * k] = bits.x;
        else if (log == 2)
            loaded[k] = bits.x;
        else
            loaded[k << log >> 2] ^= (bits.x ^ sign_bit(IN).x) << (8u << log) * (k & 3u >> log);
    }
    return loaded;
}

/* Adds a stretch of 'count' elements, 'apart' bytes from each other, to the number. All threads of a team call this; y
 * is for products. */
void add_stretch(address x, address y, uint count, wide apart) {
    const uint log = IN_LOG, vector = 16u >> log, far = team_size * vector, step = UNROLL * far;
    const bool neighbours = apart == wide(1 << log, 0);
    levels s = new_levels();
    uint at = 0;
    uvec4 some[UNROLL];
    /* Whole aligned vectors have a loop of their own. Loads of other vectors take registers, and then fewer threads fit
     * a processor to wait for memory. On an H200 sums of f32 took 0.76 of the time this way, of f64 0.69, but of f16
     * 1.6 times as long. So elements of up to two bytes, which take more instructions, have one loop. */
    if (IN_LOG > 1 && neighbours && (x.x & 15u) == 0)
        for (; at + step <= count; at += step) {
            const uint first = at + part * vector;
            vectors_at from = vectors_at(element_at(x, first));
            UNROLLED for (uint v = 0; v < UNROLL; v++) some[v] = summands_of(from.vector[v * team_size]);
            add_loaded(s, some, x, first, far, count, apart);
        }
    for (; at < count; at += step) {
        const uint first = at + part * vector;
        if (IN_LOG <= 1 && neighbours && at + step <= count)
            load_vectors(element_at(x, first), team_size, UNROLL, some);
        else
            UNROLLED for (uint v = 0; v < UNROLL; v++) some[v] =
                load_or_none(x, first + v * far, count, apart, neighbours);
        UNROLLED for (uint v = 0; v < UNROLL; v++) some[v] = summands_of(some[v]);
        add_loaded(s, some, x, first, far, count, apart);
    }
    empty_levels(s);
    atomicOr(all_saw[team], s.saw);
    skip(wide_of(s.skipped));
}
