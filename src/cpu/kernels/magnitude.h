/* The largest magnitude of floats. Without their signs their bits are in order as integers, and NaNs come after all
 * others. So elements of 16 bits need not become wider. Included in fold.h for the class MAGNITUDE of floats
 * (FAST_FOLD); for f64 where an instruction compares integers of 64 bits. */

#define LARGER_OF PASTE2(max_u, ELEMENT_BITS)

typedef PASTE2(v_u, ELEMENT_BITS) NAME(words);

ALWAYS_INLINE NAME(words) NAME(larger_of)(NAME(words) largest, const E_T *x) {
    const NAME(words) ones = ~(NAME(words)){0};
    NAME(words) v;
    memcpy(&v, x, sizeof v);
    return LARGER_OF(largest, v & (ones >> 1));
}

ALWAYS_INLINE size_t NAME(fast_fold)(tally_monoid m, const E_T *x, const E_T *y, size_t n, A_T *acc) {
    enum { STEP = VECTOR_BYTES / sizeof(E_T), AT_ONCE = 8 };
    const size_t rounds = n / (AT_ONCE * STEP);
    const bool far = n * sizeof(E_T) >= FAR_BYTES;
    NAME(words) largest[AT_ONCE] = {{0}};
    size_t left = n % (AT_ONCE * STEP);
    (void)y;
    for (size_t i = 0; i < rounds; i++, x += AT_ONCE * STEP) {
        if (far)
            fetch_bytes((const char *)x + FETCH_AHEAD, AT_ONCE * VECTOR_BYTES);
        UNROLL_8 for (size_t j = 0; j < AT_ONCE; j++) largest[j] = NAME(larger_of)(largest[j], x + j * STEP);
    }
    if (rounds)
        UNROLL_8 for (size_t j = 1; j < AT_ONCE; j++) largest[0] = LARGER_OF(largest[0], largest[j]);
    for (; left >= STEP; left -= STEP, x += STEP)
        largest[0] = NAME(larger_of)(largest[0], x);
    E_T own[STEP];
    if (left) {
        load_bytes(x, left * sizeof(E_T), own);
        largest[0] = NAME(larger_of)(largest[0], own);
    }
    UNROLL_8 for (size_t bytes = VECTOR_BYTES / 2; bytes >= sizeof(E_T); bytes /= 2) largest[0] =
        LARGER_OF(largest[0], (NAME(words))swapped_parts((v_u8)largest[0], bytes));
    memcpy(own, &largest[0], sizeof own);
    *acc = NAME(combine_acc)(m, *acc, (A_T)LOAD(own)[0]); /* a vector's conversion: of one f16 it takes longer */
    return n;
}
#undef LARGER_OF
