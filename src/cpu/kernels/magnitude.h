/* The largest magnitude of floats. Without their signs their bits are in order as integers, and NaNs come after all
 * others. So elements of 16 bits need not become wider. Included in fold.h for the class MAGNITUDE of floats
 * (FAST_VECTORS); for f64 where an instruction compares integers of 64 bits. */

#define LARGER_OF PASTE2(max_u, ELEMENT_BITS)

ALWAYS_INLINE size_t NAME(fast_vectors)(tally_monoid m, const E_T *x, const E_T *y, size_t vectors, A_T *acc) {
    enum { STEP = VECTOR_BYTES / sizeof(E_T), AT_ONCE = 8, PART = sizeof(E_T) > 4 ? sizeof(E_T) : 4 };
    typedef PASTE2(s_u, ELEMENT_BITS) word;
    typedef PASTE2(v_u, ELEMENT_BITS) words;
    const word all_but_sign = (word) ~(word)0 >> 1;
    const size_t whole = vectors * LANES / (AT_ONCE * STEP);
    const bool far = whole * AT_ONCE * VECTOR_BYTES >= FAR_BYTES;
    words largest[AT_ONCE] = {{0}};
    (void)y;
    for (size_t i = 0; i < whole; i++, x += AT_ONCE * STEP) {
        if (far)
            fetch_bytes((const char *)x + FETCH_AHEAD, AT_ONCE * VECTOR_BYTES);
        UNROLL_8 for (size_t j = 0; j < AT_ONCE; j++) {
            words v;
            memcpy(&v, x + j * STEP, sizeof v);
            largest[j] = LARGER_OF(largest[j], v & all_but_sign);
        }
    }
    if (!whole)
        return 0;
    UNROLL_8 for (size_t j = 1; j < AT_ONCE; j++) largest[0] = LARGER_OF(largest[0], largest[j]);
    UNROLL_8 for (size_t bytes = VECTOR_BYTES / 2; bytes >= PART; bytes /= 2) largest[0] =
        LARGER_OF(largest[0], (words)swapped_parts((v_u8)largest[0], bytes));
    E_T own[STEP];
    memcpy(own, &largest[0], sizeof own);
    for (size_t l = 0; l * sizeof(E_T) < PART; l++)
        *acc = NAME(combine_acc)(m, *acc, (A_T)LOAD_ONE(own + l));
    return whole * AT_ONCE * STEP / LANES;
}
#undef LARGER_OF
