/* Sums of short rows and of short segments. Included in fold.h for the classes that have the sum
 * (FAST_ROWS).
 *
 * As many rows as a vector has lanes are summed together. Each is loaded into a vector of its own, and a mask removes
 * what does not belong to it. A tree that adds neighbouring lanes of neighbouring vectors leaves one vector of results.
 * This takes three instructions per row; summing one vector's lanes takes four times as many. */

#include "cpu/kernels/trees.h"

/* The fold sums longer segments one by one, which costs about 10 ns each. */
#define SHORT_SEGMENT 64

/* Half as many vectors, of the sums of neighbouring lanes. */
ALWAYS_INLINE void NAME(add_neighbours)(L_V *v, size_t vectors) {
    UNROLL_8 for (size_t i = 0; i < vectors / 2; i++) {
        L_V even = PASTE2(every_second_, LANE)(v[2 * i], v[2 * i + 1], 0);
        v[i] = even + PASTE2(every_second_, LANE)(v[2 * i], v[2 * i + 1], 1);
    }
}

/* acc[0 .. LANES - 1] = sums of that many rows, which lie side by side in 'vectors' vectors; a power of two, up to
 * LANES. Zero is added as in the fold, where the sum of only -0 is 0. */
ALWAYS_INLINE void NAME(add_rows)(L_V *v, size_t vectors, A_T *acc) {
    if (vectors >= 16)
        NAME(add_neighbours)(v, 16);
    if (vectors >= 8)
        NAME(add_neighbours)(v, 8);
    if (vectors >= 4)
        NAME(add_neighbours)(v, 4);
    if (vectors >= 2)
        NAME(add_neighbours)(v, 2);
    L_T sum[LANES];
    memcpy(sum, &v[0], sizeof sum);
    for (size_t l = 0; l < LANES; l++)
        acc[l] = (A_T)sum[l] + 0;
}

/* 'extent' is a constant where this is inlined: a power of two, up to LANES. Returns the number of rows summed. */
ALWAYS_INLINE size_t NAME(packed_rows)(const E_T *x, size_t rows, size_t extent, A_T *acc) {
    size_t done = 0;
    for (; done + LANES <= rows; done += LANES, x += LANES * extent) {
        L_V v[LANES];
        UNROLL_16 for (size_t i = 0; i < extent; i++) v[i] = LOAD(x + i * LANES);
        NAME(add_rows)(v, extent, acc + done);
    }
    return done;
}

/* The same for rows of a whole number of vectors. */
ALWAYS_INLINE size_t NAME(whole_rows)(const E_T *x, size_t rows, size_t extent, A_T *acc) {
    size_t done = 0;
    for (; done + LANES <= rows; done += LANES, x += LANES * extent) {
        L_V v[LANES];
        UNROLL_16 for (size_t i = 0; i < LANES; i++) v[i] = LOAD(x + i * extent);
        for (size_t first = LANES; first < extent; first += LANES) {
            UNROLL_16 for (size_t i = 0; i < LANES; i++) v[i] += LOAD(x + i * extent + first);
        }
        NAME(add_rows)(v, LANES, acc + done);
    }
    return done;
}

#if defined(__AVX512BW__)
/* Elements where the mask has ones, elsewhere 0. */
ALWAYS_INLINE L_V NAME(some_elements)(const E_T *x, __mmask64 some) {
    E_T own[LANES];
    if (sizeof own == 64) {
        const __m512i v = sizeof(E_T) == 4 ? _mm512_maskz_loadu_epi32((__mmask16)some, x)
                                           : _mm512_maskz_loadu_epi64((__mmask8)some, x);
        memcpy(own, &v, sizeof own);
    } else if (sizeof own == 32) {
        const __m256i v = sizeof(E_T) == 2 ? _mm256_maskz_loadu_epi16((__mmask16)some, x)
                                           : _mm256_maskz_loadu_epi32((__mmask8)some, x);
        memcpy(own, &v, sizeof own);
    } else {
        const __m128i v = _mm_maskz_loadu_epi8((__mmask16)some, x);
        memcpy(own, &v, sizeof own);
    }
    return LOAD(own);
}

/* Adds what does not fit to rows of eight segments: those in 'longer', but nothing that counts to others. A function
 * that is not inlined, since there are two copies of its caller in a loop. */
static __attribute__((noinline)) void NAME(add_longer)(const E_T *x, const uint64_t *offsets, uint32_t longer,
                                                       v_u8 *rows) {
    const __m512i lengths = lengths_of_rows(offsets);
    const uint32_t wanted = longer;
    size_t done = LANES;
    L_V row[ROWS_AT_ONCE];
    _Alignas(64) uint64_t mask[ROWS_AT_ONCE];
    UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] = (L_V)rows[r];
    for (; are_many(longer); done += LANES) {
        longer = find_masks_of_rows(lengths, done, LANES, mask) & wanted;
        IN_MEMORY(mask);
        UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] +=
            NAME(some_elements)(x + offsets[r] + done, mask_of_row(&mask[r], LANES));
    }
    UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) rows[r] = (v_u8)row[r];
    for (; longer; longer &= longer - 1) {
        const size_t r = (size_t)__builtin_ctz(longer);
        const E_T *from = x + offsets[r] + done;
        uint64_t n = offsets[r + 1] - offsets[r] - done;
        L_V sum = (L_V)rows[r];
        for (; n > LANES; n -= LANES, from += LANES) {
            NOT_IN_VECTORS(n); /* nor in a copy for each possible round */
            sum += LOAD(from);
        }
        const uint64_t last = _bzhi_u64(UINT64_MAX, (unsigned)n);
        rows[r] = (v_u8)(sum + NAME(some_elements)(from, mask_of_row(&last, LANES)));
    }
}

/* Eight segments. Returns which have more than SHORT_SEGMENT elements: their sums mean nothing. */
ALWAYS_INLINE uint32_t NAME(add_eight)(const tree *t, const E_T *x, const uint64_t *offsets, v_u8 *sums) {
    const __m512i lengths = lengths_of_rows(offsets);
    v_u8 row[ROWS_AT_ONCE];
    _Alignas(64) uint64_t mask[ROWS_AT_ONCE];
    const uint32_t left_out = _mm512_cmpgt_epu64_mask(lengths, _mm512_set1_epi64(SHORT_SEGMENT));
    const uint32_t longer = find_masks_of_rows(lengths, 0, LANES, mask) & ~left_out;
    IN_MEMORY(mask);
    UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] =
        (v_u8)NAME(some_elements)(x + offsets[r], mask_of_row(&mask[r], LANES));
    if (longer) {
        v_u8 whole[ROWS_AT_ONCE];
        UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) whole[r] = row[r];
        NAME(add_longer)(x, offsets, longer, whole);
        UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] = whole[r];
    }
    *sums = join_rows(t, row);
    return left_out;
}

static void NAME(add_segments)(NAME(fold_function) * fold, const E_T *x, const uint64_t *offsets, size_t count,
                               A_T *acc) {
    const tree t = {(L_T)0.5 > 0 ? ADD_FLOATS : ADD, sizeof(L_T), {0}, {0}};
    for (size_t i = 0; i < count; i += LANES) {
        const size_t group = count - i < LANES ? count - i : LANES;
        uint64_t room[LANES + 1];
        const uint64_t *const o = offsets_of_lanes(offsets + i, group, LANES, room);
        v_u8 part[LANES / ROWS_AT_ONCE];
        L_T sum[LANES];
        uint32_t left_out = 0;
        fetch_following(x, o, LANES, sizeof(E_T));
        UNROLL_8 for (size_t k = 0; k < LANES / ROWS_AT_ONCE; k++) left_out |=
            NAME(add_eight)(&t, x, o + k * ROWS_AT_ONCE, &part[k]) << k * ROWS_AT_ONCE;
        const v_u8 sums = join_parts(&t, part);
        memcpy(sum, &sums, sizeof sum);
        if (group == LANES) {
            for (size_t l = 0; l < LANES; l++)
                acc[i + l] = (A_T)sum[l] + 0;
        } else {
            for (size_t l = 0; l < group; l++) {
                NOT_IN_VECTORS(l);
                acc[i + l] = (A_T)sum[l] + 0;
            }
        }
        for (; left_out; left_out &= left_out - 1) {
            const size_t l = (size_t)__builtin_ctz(left_out);
            acc[i + l] = fold(x + o[l], x, o[l + 1] - o[l], 0);
        }
    }
}

/* Rows of one length, which have one mask. Returns how many are summed. */
ALWAYS_INLINE size_t NAME(equal_rows)(const E_T *x, size_t rows, size_t extent, A_T *acc) {
    const tree t = {(L_T)0.5 > 0 ? ADD_FLOATS : ADD, sizeof(L_T), {0}, {0}};
    const size_t whole = (extent - 1) / LANES * LANES;
    const uint64_t ones = _bzhi_u64(UINT64_MAX, (unsigned)(extent - whole));
    const __mmask64 last = mask_of_row(&ones, LANES), first = whole ? UINT64_MAX : last;
    size_t done = 0;
    for (; done + LANES <= rows; done += LANES) {
        v_u8 part[LANES / ROWS_AT_ONCE];
        if (whole == 0)
            fetch_bytes((const char *)(x + LANES * extent) + FETCHED_AHEAD, LANES * extent * sizeof(E_T));
        for (size_t k = 0; k < LANES / ROWS_AT_ONCE; k++, x += ROWS_AT_ONCE * extent) {
            v_u8 row[ROWS_AT_ONCE];
            NOT_IN_VECTORS(k); /* nor a copy for each */
            UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] =
                (v_u8)NAME(some_elements)(x + r * extent, first);
            for (size_t at = LANES; at < whole; at += LANES)
                UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] =
                    (v_u8)((L_V)row[r] + LOAD(x + r * extent + at));
            if (whole)
                UNROLL_8 for (size_t r = 0; r < ROWS_AT_ONCE; r++) row[r] =
                    (v_u8)((L_V)row[r] + NAME(some_elements)(x + r * extent + whole, last));
            part[k] = join_rows(&t, row);
        }
        L_T sum[LANES];
        const v_u8 sums = join_parts(&t, part);
        memcpy(sum, &sums, sizeof sum);
        for (size_t l = 0; l < LANES; l++)
            acc[done + l] = (A_T)sum[l] + 0;
    }
    return done;
}
#else
/* LANES segments of up to SHORT_SEGMENT elements; 'lengths' is at least the longest. Reads up to LANES elements past
 * the last one. */
ALWAYS_INLINE void NAME(short_segments)(const E_T *x, const uint64_t *offsets, uint64_t lengths, A_T *acc) {
    L_V v[LANES];
    if (lengths <= LANES) {
        UNROLL_16 for (size_t r = 0; r < LANES; r++) v[r] =
            PASTE2(first_lanes_, LANE)(LOAD(x + offsets[r]), offsets[r + 1] - offsets[r]);
        NAME(add_rows)(v, LANES, acc);
        return;
    }
    for (size_t r = 0; r < LANES; r++) {
        uint64_t from = offsets[r], end = offsets[r + 1];
        L_V sum = SPLAT(0);
        for (; end - from > LANES; from += LANES)
            sum += LOAD(x + from);
        v[r] = sum + PASTE2(first_lanes_, LANE)(LOAD(x + from), end - from);
    }
    NAME(add_rows)(v, LANES, acc);
}

/* If fewer than LANES elements follow the segments, sums them from a copy. */
static void NAME(add_segments)(NAME(fold_function) * fold, const E_T *x, const uint64_t *offsets, size_t count,
                               A_T *acc) {
    const uint64_t end = offsets[count];
    for (size_t i = 0; i < count;) {
        const size_t group = count - i < LANES ? count - i : LANES;
        const uint64_t *o = offsets + i;
        const E_T *from = x;
        E_T copy[LANES * (SHORT_SEGMENT + 1)];
        uint64_t copied[LANES + 1], lengths = group < LANES ? SHORT_SEGMENT + 1 : 0;
        for (size_t r = 0; r < group; r++)
            lengths |= o[r + 1] - o[r];
        if (lengths <= SHORT_SEGMENT && end - o[LANES] < LANES) {
            for (size_t r = 0; r <= LANES; r++)
                copied[r] = o[r] - o[0];
            if (copied[LANES]) /* else x may be NULL */
                memcpy(copy, x + o[0], copied[LANES] * sizeof(E_T));
            memset(copy + copied[LANES], 0, LANES * sizeof(E_T));
            from = copy, o = copied;
        }
        if (lengths <= SHORT_SEGMENT)
            NAME(short_segments)(from, o, lengths, acc + i);
        else
            for (size_t r = 0; r < group; r++)
                acc[i + r] = fold(x + o[r], x, o[r + 1] - o[r], 0);
        i += group;
    }
}

#endif

/* Rows of one length; true if this length is fast here and the rows have been summed. */
ALWAYS_INLINE bool NAME(fast_rows)(tally_monoid m, NAME(fold_function) * fold, const E_T *x, size_t rows, size_t extent,
                                   A_T *acc) {
    if (m != TALLY_MONOID_sum || extent > SHORT_SEGMENT || extent == 3)
        return false;
    size_t done = 0;
    if (extent == 2)
        done = NAME(packed_rows)(x, rows, 2, acc);
    else if (extent == 4 && LANES > 4)
        done = NAME(packed_rows)(x, rows, 4, acc);
    else if (extent == 8 && LANES > 8)
        done = NAME(packed_rows)(x, rows, 8, acc);
    else if (extent % LANES == 0)
        done = NAME(whole_rows)(x, rows, extent, acc);
#if defined(__AVX512BW__)
    else if ((L_T)0.5 == 0 || sizeof(L_T) == 4 || sizeof(E_T) == sizeof(L_T)) /* else rare: sums in f64 on request */
        done = NAME(equal_rows)(x, rows, extent, acc);
#endif
    uint64_t offsets[8 * LANES + 1];
    const size_t rest = rows - done < 8 * LANES ? rows - done : 8 * LANES;
    for (size_t r = 0; rest && r <= rest; r++)
        offsets[r] = r * extent;
    for (size_t batch; done < rows; done += batch) {
        batch = rows - done < 8 * LANES ? rows - done : 8 * LANES;
        NAME(add_segments)(fold, x + done * extent, offsets, batch, acc + done);
    }
    return true;
}

/* Segments of any lengths, likewise. */
ALWAYS_INLINE bool NAME(fast_segments)(tally_monoid m, NAME(fold_function) * fold, const E_T *x,
                                       const uint64_t *offsets, size_t count, A_T *acc) {
    if (m != TALLY_MONOID_sum)
        return false;
    NAME(add_segments)(fold, x, offsets, count, acc);
    return true;
}

#undef SHORT_SEGMENT
