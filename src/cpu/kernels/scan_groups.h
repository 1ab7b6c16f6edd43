/* Scans of short groups, with marks where groups begin: a lane takes nothing from before the last mark at or below it
 * (Blelloch, 1990, segmented scans). A part of scan.h, which includes it for each class and output type. */
#include "cpu/kernels/group_masks.h"

#if defined(__AVX512BW__)
enum { NAME(STEPS_) = sizeof(L_T) == 4 ? 4 : 3 };
#define BY_BITS(function, ...) (sizeof(L_T) == 4 ? function##_32(__VA_ARGS__) : function##_64(__VA_ARGS__))
#define TAKEN(step, vector, x)                                                                                         \
    ((L_V)BY_BITS(shifted_up, mask_of_vector(masks->takes[step], vector, LANES), (v_u32)identity, (v_u32)(x),          \
                  (size_t)1 << (step)))
#define CHOSEN(words, vector, p, q)                                                                                    \
    ((L_V)BY_BITS(selected, mask_of_vector(masks->words, vector, LANES), (v_u32)(q), (v_u32)(p)))

/* A vector waits some 40 cycles for its steps, and a processor has too few vectors under way. So each turn of the loop
 * takes a step of as many vectors. */
ALWAYS_INLINE void NAME(scan_marked_vectors_)(tally_monoid m, const E_T *x, const group_masks *masks, size_t vectors,
                                              bool reverse, bool exclusive, bool numbers, L_V start, L_V *before,
                                              O_T *out) {
    enum { STEPS = NAME(STEPS_) };
    const L_V identity = SPLAT(NAME(scan_identity_)(m));
    L_V after[STEPS]; /* the first steps */
    for (size_t step = 0; step < STEPS; step++)
        after[step] = identity;
    for (size_t k = 0; k < vectors + STEPS; k++) {
        if (k >= STEPS) {
            const size_t done = k - STEPS, i = (reverse ? vectors - 1 - done : done) * LANES;
            const L_V scanned = after[STEPS - 1], from = CHOSEN(open, done, *before, start);
            const L_V result = COMBINE(from, exclusive ? TAKEN(0, done, scanned) : scanned);
            const L_V in_order = reverse ? REVERSED(result) : result;
            *before = COMBINE(CHOSEN(passes, done, *before, start), LAST(scanned));
            memcpy(out + i, &in_order, sizeof in_order);
        }
        UNROLL_8 for (size_t step = STEPS - 1; step > 0; step--) after[step] =
            COMBINE(TAKEN(step, k - step, after[step - 1]), after[step - 1]);
        if (k < vectors) {
            const L_V v = LOAD(x + (reverse ? vectors - 1 - k : k) * LANES), in_order = reverse ? REVERSED(v) : v;
            after[0] = COMBINE(TAKEN(0, k, in_order), in_order);
        }
    }
}

/* Whether no NaN is among them. */
ALWAYS_INLINE bool NAME(are_numbers_)(const E_T *x, size_t vectors, L_V start, L_V before) {
    bool numbers = ARE_NUMBERS(start, before);
    for (size_t k = 0; k < vectors; k++)
        numbers &= ARE_NUMBERS(LOAD(x + k * LANES), before);
    return numbers;
}

ALWAYS_INLINE L_V NAME(scan_marked_)(tally_monoid m, const E_T *x, const e_i8 *heads, size_t vectors, bool reverse,
                                     bool exclusive, L_V start, L_V before, O_T *out) {
    group_masks masks;
    FIND_MASKS((const int8_t *)heads, vectors * LANES, LANES, reverse, &masks);
    if (NAME(are_numbers_)(x, vectors, start, before))
        NAME(scan_marked_vectors_)(m, x, &masks, vectors, reverse, exclusive, true, start, &before, out);
    else
        NAME(scan_marked_vectors_)(m, x, &masks, vectors, reverse, exclusive, false, start, &before, out);
    return before;
}
#undef CHOSEN
#undef TAKEN
#undef BY_BITS
#else
/* Marks that are lanes: -1 where a group begins. */
#define M_V                   PASTE2(v_, PASTE2(MARK_OF_, LANE))
#define MARKS_UP(marks, by)   ((M_V)move_up((v_u32)(marks), (v_u32){0}, (by) * (sizeof(L_T) / 4)))
#define CHOOSE(marks, p, q)   ((L_V)(((marks) & (M_V)(p)) | (~(marks) & (M_V)(q))))
#define LOAD_MARKS(p)         ((M_V)(sizeof(L_T) == 4 ? (v_u32)load_i32_from_i8(p) : (v_u32)load_i64_from_i8(p)))
#define REVERSED_MARKS(marks) ((M_V)(sizeof(L_T) == 4 ? reversed_32((v_u32)(marks)) : reversed_64((v_u32)(marks))))
#define LAST_MARK(marks)      ((M_V)(sizeof(L_T) == 4 ? last_32((v_u32)(marks)) : last_64((v_u32)(marks))))

/* One vector. The marks are scanned along with the values. *before is as in scan_vector. */
ALWAYS_INLINE L_V NAME(scan_marked_steps_)(tally_monoid m, L_V x, M_V marks, bool exclusive, bool numbers, L_V start,
                                           L_V *before) {
    const L_V identity = SPLAT(NAME(scan_identity_)(m));
    M_V begun = marks;
    x = COMBINE(CHOOSE(marks, start, identity), x);
    UNROLL_8 for (size_t shift = 1; shift < LANES; shift *= 2) {
        x = COMBINE(CHOOSE(begun, identity, SHIFT_UP(x, identity, shift)), x);
        begun |= MARKS_UP(begun, shift);
    }
    L_V result = COMBINE(CHOOSE(begun, identity, *before), x);
    if (exclusive)
        result = CHOOSE(marks, start, SHIFT_UP(result, *before, 1));
    *before = COMBINE(CHOOSE(LAST_MARK(begun), identity, *before), LAST(x));
    return result;
}
ALWAYS_INLINE L_V NAME(scan_marked_vector_)(tally_monoid m, L_V x, M_V marks, bool exclusive, L_V start, L_V *before) {
    return ARE_NUMBERS(x, *before) && ARE_NUMBERS(start, start)
               ? NAME(scan_marked_steps_)(m, x, marks, exclusive, true, start, before)
               : NAME(scan_marked_steps_)(m, x, marks, exclusive, false, start, before);
}

ALWAYS_INLINE L_V NAME(scan_marked_)(tally_monoid m, const E_T *x, const e_i8 *heads, size_t vectors, bool reverse,
                                     bool exclusive, L_V start, L_V before, O_T *out) {
    for (size_t k = 0; k < vectors; k++) {
        const size_t i = (reverse ? vectors - 1 - k : k) * LANES;
        L_V v = LOAD(x + i);
        M_V marks = LOAD_MARKS(heads + i);
        if (reverse)
            v = REVERSED(v), marks = REVERSED_MARKS(marks);
        v = NAME(scan_marked_vector_)(m, v, marks, exclusive, start, &before);
        if (reverse)
            v = REVERSED(v);
        memcpy(out + i, &v, sizeof v);
    }
    return before;
}
#undef LAST_MARK
#undef REVERSED_MARKS
#undef LOAD_MARKS
#undef CHOOSE
#undef MARKS_UP
#undef M_V
#endif

ALWAYS_INLINE void NAME(scan_groups_)(tally_monoid m, const E_T *x, const e_i8 *heads, size_t n, bool reverse,
                                      bool exclusive, L_T start, A_T *acc, O_T *out) {
    const size_t vectors = n / LANES, vectors_at = reverse ? n % LANES : 0;
    size_t rest = n % LANES;
    const L_V before = NAME(scan_marked_)(m, x + vectors_at, heads + vectors_at, vectors, reverse, exclusive,
                                          SPLAT(start), SPLAT((L_T)*acc), out + vectors_at);
    L_T value = before[0];
    NOT_IN_VECTORS(rest); /* nor in as many copies as a vector has lanes */
    for (size_t k = 0; k < rest; k++) {
        const size_t i = reverse ? rest - 1 - k : n - rest + k;
        value = heads[i] ? start : value;
        const L_T after = NAME(scan_combine_one_)(m, value, LOAD_ONE(x + i));
        memcpy(out + i, exclusive ? &value : &after, sizeof after);
        value = after;
    }
    *acc = (A_T)value;
}
