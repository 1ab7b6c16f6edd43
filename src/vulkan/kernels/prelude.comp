/* Elements in memory. Every kernel of this folder starts from this text, which floats.comp and values.comp follow with
 * conversions and the vocabulary of core/monoids.def. Before it specialize.c puts the version, the extensions, what types
 * are like (log_bytes, is_signed, is_float, significand_bits, lowest_exponent, infinity_bits of core/dtypes.def), and the
 * choices:
 *
 *   VALUE, VALUE_KIND  what elements are computed with, and which of the KIND_ symbols it is
 *   HAS_DOUBLE         1 where VALUE or an accumulator is a double
 *   HAS_INT64          1 where one is an integer of 64 bits. Elsewhere none is used: wide.comp
 *   TWO_INPUTS         true for dot
 *   UNROLL             vectors that a thread of a reduction has on their way
 *   UNROLLED           before loops over these: where they stay loops, vectors lie in memory. Nothing for monoids whose
 *                      text is long, a user's too
 *   IS_LONG            1 for these
 *   UNROLLED_LANES     the same before loops that only load, and add elements to lanes
 *   HAS_RUNNING        1 where lanes are those of running_moments.comp or running_logsumexp.comp
 *   MOST_COLUMNS       neighbouring columns a thread, in fold_columns
 *   PART_KIND          what a thread has of a group in a tile (group_tiles.comp); MOST_ITEMS, its elements of 4 bytes;
 *                      STAGED_SLOTS, groups whose parts wait in shared memory, for each thread
 *   SCANS_ONCE         1 for monoids that scan_once.comp takes: accumulators of one number, elements of one array
 *   MAGNITUDES         1 for monoids of absolute values
 *   CHOOSES            1 for monoids that choose an element, LARGEST or smallest, or, if it GIVES_INDEX, its place
 *
 * and after it the types and functions of one monoid:
 *
 *   acc_t, lane_t      an accumulator, and a narrower one for LANE_LIMIT elements
 *   identity(), lift(x, y, i), combine(a, b), lane_identity(), lane_lift(), widen(lane), lower(acc, n, start),
 *   raise(bits)
 *
 * The types of elements are specialization constants, or, where these are 0, told with each run. Memory is reached by
 * address, in words of 32 bits: so elements of any size may lie anywhere. No feature for small types is needed: where the
 * device has none, adapt.c takes the stores of bytes out.
 * Only LANES of slots.comp depends on the size of subgroups. */
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint IN_GIVEN = 0;
layout(constant_id = 2) const uint OUT_GIVEN = 0;
layout(constant_id = 3) const uint INDEX_GIVEN = 0;
layout(constant_id = 4) const uint OPERATOR_GIVEN = 0; /* and 1 */
layout(constant_id = 5) const uint FORM_GIVEN = 0;     /* FORM_ symbols, and 1 */
layout(constant_id = 8) const bool KEEPS_SUBNORMALS = false; /* else subnormals may be taken for zeros */
layout(constant_id = 9) const bool KEEPS_HALVES = false; /* else the device may take subnormal f16 for zeros */

layout(constant_id = 12) const bool SKIPS_NAN = false;   /* elements that are NaN are left out */
layout(constant_id = 18) const bool ROUNDS_TO_F32 = false; /* the device does as it should, subnormals too */
layout(constant_id = 17) const bool STORES_BYTES = false; /* else a word is the least that is stored (adapt.c) */

/* What a run tells: IN + 16 * OUT + 256 * INDEX + 4096 * (OPERATOR + 1) + 2^20 * (FORM + 1), and ddof. */
uint told_types;
int told_ddof;

#define IN       (IN_GIVEN != 0 ? IN_GIVEN : told_types & 15u)
#define OUT      (OUT_GIVEN != 0 ? OUT_GIVEN : told_types >> 4 & 15u)
#define INDEX    (INDEX_GIVEN != 0 ? INDEX_GIVEN : told_types >> 8 & 15u)
#define OPERATOR ((OPERATOR_GIVEN != 0 ? OPERATOR_GIVEN : told_types >> 12 & 255u) - 1u)
#define FORM     ((FORM_GIVEN != 0 ? FORM_GIVEN : told_types >> 20) - 1u)

/* Bits of a form. */
#define INCLUSIVE  ((FORM & 1u) != 0)
#define REVERSE    ((FORM & 2u) != 0)
#define IS_SCAN    ((FORM & 4u) != 0)
#define BY_KEYS    ((FORM & 8u) != 0)
#define BY_ROWS    ((FORM & 16u) != 0) /* a scan along an axis: of groups_once.comp */
#define BLOCK    gl_WorkGroupSize.x
#define THREAD   gl_LocalInvocationID.x

/* More than 65535 workgroups take a second dimension. What they take turns at is fewer than 2^31: path.c. */
uint group_number() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}
uint group_count() {
    return gl_NumWorkGroups.y * gl_NumWorkGroups.x;
}

/* ---- types ---- */

#define IN_LOG  log_bytes(IN)
#define OUT_LOG log_bytes(OUT)

/* The bits of an integer, extended to 64; what is above them in a word is ignored. */
wide extend(uvec2 bits, uint type) {
    if (log_bytes(type) == 3)
        return bits;
    const uint unused = 32u - (8u << log_bytes(type));
    if (!is_signed(type))
        return wide_of(bits.x << unused >> unused);
    return wide_of(int(bits.x << unused) >> unused);
}

/* ---- memory ---- */

layout(buffer_reference, std430, buffer_reference_align = 4) buffer words_at {
    uint word[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer vectors_at {
    uvec4 vector[];
};

uint load_word(address at) {
    return words_at(at).word[0];
}
address word_below(address at) {
    return address(at.x & ~3u, at.y);
}

/* 1 << log bytes from any address. Words that hold none of them are not touched. */
uvec2 load_bits(address at, uint log) {
    const uint byte = at.x & 3u, shift = 8u * byte, back = 31u - shift;
    words_at from = words_at(word_below(at));
    const uint w0 = from.word[0];
    if (log == 0)
        return uvec2(w0 >> shift & 255u, 0);
    const uint w1 = byte + (1u << log) > 4 ? from.word[1] : 0;
    const uint low = w0 >> shift | w1 << 1 << back;
    if (log == 1)
        return uvec2(low & 65535u, 0);
    if (log == 2)
        return uvec2(low, 0);
    const uint w2 = byte != 0 ? from.word[2] : 0;
    return uvec2(low, w1 >> shift | w2 << 1 << back);
}

/* Elements that fill whole words, or lie in one, take no questions: asked once of an array, it is known of all. */
bool is_aligned(address array, uint log) {
    return (array.x & (1u << min(log, 2u)) - 1u) == 0;
}
uvec2 load_aligned(address at, uint log) {
    words_at from = words_at(word_below(at));
    if (log >= 2)
        return uvec2(from.word[0], log == 3 ? from.word[1] : 0);
    return uvec2(from.word[0] >> 8u * (at.x & 3u) & (log == 1 ? 65535u : 255u), 0);
}

uvec2 load_element(address at) {
    return is_aligned(at, IN_LOG) ? load_aligned(at, IN_LOG) : load_bits(at, IN_LOG);
}

/* A vector is 16 bytes. From any address: */
uvec4 load_shifted(address at) {
    const uint byte = at.x & 3u, shift = 8u * byte, back = 31u - shift;
    words_at from = words_at(word_below(at));
    const uvec4 low = uvec4(from.word[0], from.word[1], from.word[2], from.word[3]);
    const uint last = byte != 0 ? from.word[4] : 0;
    return low >> shift | uvec4(low.yzw, last) << 1 << back;
}
uvec4 load_vector(address at) {
    return (at.x & 15u) == 0 ? vectors_at(at).vector[0] : load_shifted(at);
}

layout(buffer_reference, std430, buffer_reference_align = 8) buffer pairs_at {
    uvec2 pair[2];
};
/* 1 << log bytes, 16 at most, that begin in the middle of a word. No load depends on a question, so none waits for
 * another: the word after the last is loaded only if it has some of them, and else the last one twice. */
uvec4 load_within_words(address at, uint log) {
    const uint byte = at.x & 3u, shift = 8u * byte, back = 31u - shift, last = (1u << log - 2) - (byte != 0 ? 0u : 1u);
    words_at from = words_at(word_below(at));
    const uint w0 = from.word[0], end = from.word[last];
    if (log == 2)
        return uvec4(w0 >> shift | end << 1 << back, 0, 0, 0);
    const uint w1 = from.word[1];
    if (log == 3)
        return uvec4(uvec2(w0, w1) >> shift | uvec2(w1, end) << 1 << back, 0, 0);
    const uint w2 = from.word[2], w3 = from.word[3];
    return uvec4(w0, w1, w2, w3) >> shift | uvec4(w1, w2, w3, end) << 1 << back;
}
/* The 16 bytes from 'byte' on in two vectors that follow each other. */
uvec4 straddling(uvec4 low, uvec4 high, uint byte) {
    if ((byte & 8u) != 0) {
        low = uvec4(low.zw, high.xy);
        high.xy = high.zw;
    }
    if ((byte & 4u) != 0) {
        low = uvec4(low.yzw, high.x);
        high.x = high.y;
    }
    const uint shift = 8u * (byte & 3u), back = 31u - shift;
    return low >> shift | uvec4(low.yzw, high.x) << 1 << back;
}
uvec4 load_two_pairs(address at) {
    return uvec4(pairs_at(at).pair[0], pairs_at(at).pair[1]);
}
/* From any address in an array, 16 bytes before its end and not in its first 16, of two aligned vectors. */
uvec4 load_straddling(address at) {
    vectors_at from = vectors_at(address(at.x & ~15u, at.y));
    return straddling(from.vector[0], from.vector[1], at.x & 15u);
}

/* The first 'count' of UNROLL vectors that lie 'apart' from each other. How they are aligned is asked once. */
void load_vectors(address at, uint apart, uint count, out uvec4 x[UNROLL]) {
    if ((at.x & 15u) == 0) {
        UNROLLED_LANES for (uint u = 0; u < UNROLL; u++)
            if (u < count)
                x[u] = vectors_at(at).vector[u * apart];
    } else {
        UNROLLED_LANES for (uint u = 0; u < UNROLL; u++)
            if (u < count)
                x[u] = load_shifted(plus(at, 16 * u * apart));
    }
}

/* The k-th element of a vector. */
uvec2 pick(uvec4 vector, uint k, uint log) {
    if (log == 3)
        return k == 0 ? vector.xy : vector.zw;
    const uint word = vector[k << log >> 2];
    if (log == 2)
        return uvec2(word, 0);
    return log == 1 ? uvec2(word >> 16u * (k & 1u) & 65535u, 0) : uvec2(word >> 8u * (k & 3u) & 255u, 0);
}

layout(buffer_reference, std430, buffer_reference_align = 1) buffer bytes_at {
    uint8_t byte[];
};
layout(buffer_reference, std430, buffer_reference_align = 2) buffer halves_at {
    uint16_t half_word[];
};
/* Some bytes of a word whose others may be another invocation's. Where the device has no stores of bytes, atomic
 * operations leave those alone. */
void merge_word(address at, uint mask, uint bits) {
    if (mask == ~0u) {
        words_at(at).word[0] = bits;
    } else if (STORES_BYTES && (mask == 65535u || mask == 65535u << 16)) {
        halves_at(at).half_word[mask & 1u ^ 1u] = uint16_t(bits >> (mask == 65535u ? 0 : 16));
    } else if (STORES_BYTES) {
        bytes_at to = bytes_at(at);
        if ((mask & 255u) != 0)
            to.byte[0] = uint8_t(bits);
        if ((mask >> 8 & 255u) != 0)
            to.byte[1] = uint8_t(bits >> 8);
        if ((mask >> 16 & 255u) != 0)
            to.byte[2] = uint8_t(bits >> 16);
        if (mask >> 24 != 0)
            to.byte[3] = uint8_t(bits >> 24);
    } else if (mask != 0) {
        atomicAnd(words_at(at).word[0], ~mask);
        atomicOr(words_at(at).word[0], bits & mask);
    }
}
void merge_bytes(address at, uint mask, uint bits) {
    const uint shift = 8u * (at.x & 3u), back = 31u - shift;
    const address to = word_below(at);
    merge_word(to, mask << shift, bits << shift);
    if ((mask >> 1 >> back) != 0)
        merge_word(plus(to, 4), mask >> 1 >> back, bits >> 1 >> back);
}
void store_bits(address at, uint log, uvec2 bits) {
    if (STORES_BYTES && log == 0) {
        bytes_at(at).byte[0] = uint8_t(bits.x);
        return;
    }
    if (STORES_BYTES && log == 1 && (at.x & 1u) == 0) {
        halves_at(at).half_word[0] = uint16_t(bits.x);
        return;
    }
    merge_bytes(at, log == 0 ? 255u : log == 1 ? 65535u : ~0u, bits.x);
    if (log == 3)
        merge_bytes(plus(at, 4), ~0u, bits.y);
}
void store_vector(address at, uvec4 vector) {
    if ((at.x & 15u) == 0) {
        vectors_at(at).vector[0] = vector;
    } else if ((at.x & 7u) == 0) {
        pairs_at(at).pair[0] = vector.xy;
        pairs_at(at).pair[1] = vector.zw;
    } else {
        [[dont_unroll]] for (uint w = 0; w < 4; w++) {
            merge_bytes(at, ~0u, vector.x);
            at = plus(at, 4);
            vector = vector.yzwx;
        }
    }
}

/* The first 'count' bytes of a vector. */
void store_bytes(address at, uvec4 vector, uint count) {
    UNROLLED for (uint w = 0; w < 4; w++)
        if (4 * w < count)
            merge_bytes(plus(at, 4 * w), count - 4 * w >= 4 ? ~0u : (1u << 8u * (count - 4 * w)) - 1u, vector[w]);
}

/* Bytes [low, high) of a vector that is aligned. */
void store_bytes_between(address at, uvec4 vector, uint low, uint high) {
    [[dont_unroll]] for (uint b = 0; b < 16; b += 4) {
        const uint from = clamp(low, b, b + 4) - b, to = clamp(high, b, b + 4) - b;
        const uint below = to == 4 ? ~0u : (1u << 8u * to) - 1u;
        if (from < to)
            merge_word(plus(at, b), below & ~((1u << 8u * from) - 1u), vector.x);
        vector = vector.yzwx;
    }
}

/* Inserts an element's result into a vector, at 'byte' of 16. */
void gather(inout uvec4 words, uint byte, uvec2 bits) {
    const uint log = OUT_LOG;
    if (log == 3) {
        words[byte >> 2] = bits.x;
        words[(byte >> 2) + 1] = bits.y;
    } else {
        words[byte >> 2] |= (bits.x & (log == 2 ? ~0u : log == 1 ? 65535u : 255u)) << 8u * (byte & 3u);
    }
}
