/* Running logsumexps of a block of elements that are near each other: the largest of all serves every prefix, and an
 * element costs one exponential and one logarithm. A text that logsumexp_scan.c includes for
 *
 *   LANE    the type of elements, exponentials and results
 *   BITS    its width
 *
 * NEAR_<LANE> is how far below the largest a run's first element may be, since a result is largest + log(sum).
 */
#define NAME(function) PASTE4(function, _, LANE, )
#define L_T            PASTE2(s_, LANE)
#define E_T            PASTE2(e_, LANE)
#define L_V            PASTE2(v_, LANE)
#define L_LANES        LANES_OF(L_T)
#define M_V            PASTE2(v_i, BITS)
#define OF(function)   PASTE4(function, _, LANE, )

/* n elements, a vector at most; 'filling' behind them. */
ALWAYS_INLINE L_V NAME(take)(const E_T *x, size_t n, L_T filling) {
    L_V v;
    if (n >= L_LANES) {
        memcpy(&v, x, sizeof v);
        return v;
    }
    E_T few[L_LANES];
    load_bytes(x, n * sizeof *x, few);
    memcpy(&v, few, sizeof v);
    const v_u8 mask = first_bytes(n * sizeof *x);
    return (L_V)(((v_u8)v & mask) | ((v_u8)(filling - (L_V){0}) & ~mask));
}

/* The first n lanes, or all. */
ALWAYS_INLINE void NAME(put)(L_V v, size_t n, E_T *to) {
    if (n >= L_LANES)
        memcpy(to, &v, sizeof v);
    else
#if defined(__AVX512BW__)
        _mm512_mask_storeu_epi8(to, (__mmask64)_bzhi_u64(UINT64_MAX, (unsigned)(n * sizeof *to)), (__m512i)v);
#else
        memcpy(to, &v, n * sizeof *to);
#endif
}

ALWAYS_INLINE L_V NAME(result)(L_V largest, L_V sum) {
    return OF(log_or_itself)(OF(add_log)(largest, sum), sum);
}

/* results[k] = largest + log(sums[k]), of whole vectors of sums. */
ALWAYS_INLINE void NAME(give)(const L_T *sums, L_T largest, size_t n, E_T *results) {
    L_V sum;
    for (size_t k = 0; k < n; k += L_LANES) {
        memcpy(&sum, sums + k, sizeof sum);
        NAME(put)(NAME(result)(largest - (L_V){0}, sum), n - k, results + k);
    }
}

/* The largest and the smallest of n elements; NaNs are passed over. */
ALWAYS_INLINE void NAME(bounds)(const E_T *x, size_t n, L_T *largest, L_T *smallest) {
    L_V top = (L_V){0} + PASTE2(LOWEST_, LANE), bottom = -top;
    for (size_t k = 0; k < n; k += L_LANES) {
        const L_V v = NAME(take)(x + k, n - k, x[k]);
        top = OF(larger)(v, top);
        bottom = OF(smaller)(v, bottom);
    }
    UNROLL_8 for (size_t by = 1; by < L_LANES; by *= 2) {
        top = OF(larger)(OF(shift_up)(top, top, by), top);
        bottom = OF(smaller)(OF(shift_up)(bottom, bottom, by), bottom);
    }
    *largest = OF(last)(top)[0];
    *smallest = OF(last)(bottom)[0];
}

/* One group, or a part of it. *acc is the value before it and becomes the one after it. False, and nothing is done, if
 * elements are too far apart or not finite. The block's own sum is rounded apart from what came before. */
static bool NAME(run)(const void *block, size_t n, bool exclusive, bool are_whole, double *acc, void *out) {
    const E_T *const x = block;
    _Alignas(64) L_T room[L_LANES + BLOCK];
    L_T *const sums = room + L_LANES - 1, own_largest, smallest;
    NAME(bounds)(x, n, &own_largest, &smallest);
    const L_T largest = acc[0] > own_largest ? (L_T)acc[0] : own_largest;
    const L_T first = acc[0] > x[0] || (exclusive && acc[1] > 0) ? (L_T)acc[0] : x[0];
    if (!(largest - first < OF(NEAR))) /* or NaN */
        return false;
    const double before = acc[1] == 0 || acc[0] == largest ? acc[1] : acc[1] * exp(acc[0] - largest);
    const L_V base = (L_T)before - (L_V){0};
    L_V own = {0};
    sums[0] = base[0];
    for (size_t k = 0; k < n; k += L_LANES) {
        L_V v = NAME(take)(x + k, n - k, PASTE2(LOWEST_, LANE));
        v = are_whole ? OF(whole_exp)(v, largest - (L_V){0}) : OF(exp_of_difference)(v, largest - (L_V){0});
        UNROLL_8 for (size_t by = 1; by < L_LANES; by *= 2) v += OF(shift_up)(v, (L_V){0}, by);
        const L_V sum = base + (own + v);
        memcpy(sums + 1 + k, &sum, sizeof sum);
        own += OF(last)(v);
    }
    NAME(give)(sums + !exclusive, largest, n, out);
    acc[0] = largest;
    acc[1] = before + own[0];
    return true;
}

/* Whole groups; numbers[k] is that of element k in its group, from 1 on, and 1 behind the last. False, and nothing is
 * done, if elements are more than 'distance' apart or not finite. */
static bool NAME(groups)(const void *block, const uint32_t *numbers, size_t n, bool exclusive, bool are_whole,
                         double distance, void *out) {
    const E_T *const x = block;
    _Alignas(64) L_T sums[BLOCK];
    L_T largest, smallest;
    NAME(bounds)(x, n, &largest, &smallest);
    if (!(largest - smallest <= distance))
        return false;
    L_V open = {0}, before = {0};
    for (size_t k = 0; k < n; k += L_LANES) {
        const L_V v = NAME(take)(x + k, n - k, largest);
        const L_V e = are_whole ? OF(whole_exp)(v, largest - (L_V){0}) : OF(exp_of_difference)(v, largest - (L_V){0});
        const L_V number = OF(load_numbers)(numbers + k);
        L_V sum = OF(prefixes_in_groups)(e, OF(marks_of)(number), &open);
        if (exclusive) {
            const L_V moved = OF(shift_up)(sum, before, 1);
            before = OF(last)(sum);
            sum = (L_V)((M_V)moved & (number > 1));
        }
        memcpy(sums + k, &sum, sizeof sum);
    }
    NAME(give)(sums, largest, n, out);
    return true;
}

#undef NAME
#undef L_T
#undef E_T
#undef L_V
#undef L_LANES
#undef M_V
#undef OF
