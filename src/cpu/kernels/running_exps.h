/* Running logsumexps of a block whose elements x are near some number K ln(2): with e^x 2^-K and one logarithm for each
 * element, or less. A text that logsumexp_scan.c includes for
 *
 *   LANE    the type of elements, exponentials and results
 *   BITS    its width
 *
 * Whole numbers have e^(x - m) instead, by look-ups, where m is the largest.
 */
#define NAME(function) PASTE4(function, _, LANE, )
#define L_T            PASTE2(s_, LANE)
#define E_T            PASTE2(e_, LANE)
#define L_V            PASTE2(v_, LANE)
#define L_LANES        LANES_OF(L_T)
#define L_PARTS        (L_LANES / LANES) /* vectors of doubles for as many lanes */
#define MAY_BE_WHOLE   (L_PARTS == 1)
#define M_V            PASTE2(v_i, BITS)
#define U_V            PASTE2(v_u, BITS)
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

/* What sums are relative to: 2^octaves, or e^above of whole numbers. 'lowest': elements below it count as if they were
 * that, which is nothing beside 2^-LEAST_OCTAVES. */
typedef struct NAME(centre) {
    L_V octaves, above, magic, lowest;
} NAME(centre);

ALWAYS_INLINE NAME(centre) NAME(centre_of)(double octaves, double above) {
    const L_V zero = {0};
    return (NAME(centre)){zero + (L_T)octaves, zero + (L_T)above, zero + (L_T)(OF(EXP_MAGIC) - EXP_UNITS * octaves),
                          zero + (L_T)(above - LOST_OCTAVES * LN2)};
}

ALWAYS_INLINE L_V NAME(exp_from)(L_V x, const NAME(centre) * c, bool are_whole, U_V *seen) {
    return are_whole ? OF(whole_exp)(x, c->above) : OF(exp_about)(x, c->magic, seen);
}

/* The logarithm of a sum that is a normal number. */
ALWAYS_INLINE L_V NAME(log_from)(L_V sum, const NAME(centre) * c, bool are_whole) {
    L_V large;
    const L_V small = OF(split_log)(sum, c->octaves, c->above, are_whole, &large);
    return OF(whole_log)(large, small);
}

/* ---- runs ---- */

enum { NAME(VECTORS) = BLOCK / L_LANES, NAME(AT_ONCE) = 4 };

/* The sums of exponentials within each vector, and of those before each, four of them at once, since each waits for
 * the one before. Their total is returned, or NaN if elements are too far apart. */
ALWAYS_INLINE L_T NAME(prefixes)(const E_T *x, size_t n, const NAME(centre) * c, bool are_whole, L_T *within,
                                 L_T *before) {
    U_V seen = {0};
    L_T own = 0;
    for (size_t k = 0; k < n; k += L_LANES) {
        L_V v = OF(larger)(c->lowest, NAME(take)(x + k, n - k, PASTE2(LOWEST_, LANE)));
        v = NAME(exp_from)(v, c, are_whole, &seen);
        UNROLL_8 for (size_t by = 1; by < L_LANES; by *= 2) v += OF(shift_up)(v, (L_V){0}, by);
        memcpy(within + k, &v, sizeof v);
    }
    const L_T *last = within + L_LANES - 1;
    for (size_t j = 0; j < NAME(AT_ONCE) - 1; j++)
        within[(n + L_LANES - 1) / L_LANES * L_LANES + j * L_LANES + L_LANES - 1] = 0;
    for (size_t j = 0; j * L_LANES < n; j += NAME(AT_ONCE), last += NAME(AT_ONCE) * L_LANES) {
        L_T sum = last[0];
        before[j] = own;
        UNROLL_8 for (size_t i = 1; i < NAME(AT_ONCE); i++) {
            before[j + i] = own + sum;
            sum += last[i * L_LANES];
        }
        own += sum;
    }
    return PASTE2(OCTAVES_SEEN_, LANE)(seen) ? (L_T)NAN : own;
}

/* The logarithms of sums. Where a vector adds little to the sum before it, they are that one's and a short series. */
ALWAYS_INLINE void NAME(give)(const L_T *within, L_T *before, size_t n, L_T base, L_T total, const NAME(centre) * c,
                              bool exclusive, bool are_whole, E_T *out) {
    const size_t vectors = (n + L_LANES - 1) / L_LANES;
    _Alignas(64) L_T larges[NAME(VECTORS) + L_LANES], tops[NAME(VECTORS) + L_LANES], shares[NAME(VECTORS) + L_LANES];
    L_V v, number, last_far = {0};
    for (size_t l = 0; l < L_LANES; l++)
        number[l] = (L_T)(l + 1);
    for (size_t l = 0; l <= L_LANES; l++)
        before[vectors + l] = total;
    for (size_t j = 0; j < vectors; j += L_LANES) {
        L_V sum, next;
        memcpy(&sum, before + j, sizeof sum);
        memcpy(&next, before + j + 1, sizeof next);
        const L_V adds = next - sum;
        sum += base;
        memcpy(before + j, &sum, sizeof sum);
        L_V large;
        const L_V top = OF(split_log)(sum, c->octaves, c->above, are_whole, &large), share = 1 / sum;
        memcpy(larges + j, &large, sizeof large);
        memcpy(tops + j, &top, sizeof top);
        memcpy(shares + j, &share, sizeof share);
        last_far = SELECT_OF(LANE, (adds * share <= OF(MOST_SHARE)), last_far, number);
        number += L_LANES;
    }
    UNROLL_8 for (size_t by = 1; by < L_LANES; by *= 2) last_far =
        OF(larger)(OF(shift_up)(last_far, last_far, by), last_far);
    const size_t far = (size_t)OF(last)(last_far)[0];
    for (size_t j = 0; j < far; j++) {
        memcpy(&v, within + j * L_LANES, sizeof v);
        v = exclusive ? OF(shift_up)(v, (L_V){0}, 1) : v;
        NAME(put)(NAME(log_from)(before[j] + v, c, are_whole), n - j * L_LANES, out + j * L_LANES);
    }
    for (size_t j = far; j < vectors; j++) {
        memcpy(&v, within + j * L_LANES, sizeof v);
        v = exclusive ? OF(shift_up)(v, (L_V){0}, 1) : v;
        v = OF(whole_log)(larges[j] - (L_V){0}, OF(add_log_near_1)(tops[j] - (L_V){0}, v * shares[j]));
        NAME(put)(v, n - j * L_LANES, out + j * L_LANES);
    }
}

/* A run whose sums are relative to 2^octaves, or to e^above of whole numbers. */
ALWAYS_INLINE bool NAME(run_from)(const E_T *x, size_t n, double octaves, double above, bool exclusive, bool are_whole,
                                  double *acc, E_T *out) {
    _Alignas(64) L_T within[BLOCK + NAME(AT_ONCE) * L_LANES], before[NAME(VECTORS) + 2 * L_LANES];
    double base = acc[1] == 0 || acc[0] == above ? acc[1] : acc[1] * exp(acc[0] - above);
    if (L_PARTS == 1)
        base *= exp_of_rests(-rests_of_octaves((v_f64){0} + octaves))[0];
    if (!(fabs(octaves) <= OF(MOST_OCTAVES) && base <= MOST_SUM) ||
        !(acc[1] == 0 ? x[0] - above >= (are_whole ? -NEAR : -LEAST_OCTAVES * LN2)
                      : base >= (are_whole ? LEAST_SUM : 0x1p-64)))
        return false;
    const NAME(centre) c = NAME(centre_of)(octaves, above);
    const L_T own = NAME(prefixes)(x, n, &c, are_whole, within, before);
    if (!(own == own))
        return false;
    NAME(give)(within, before, n, (L_T)base, own, &c, exclusive, are_whole, out);
    if (exclusive && acc[1] == 0)
        *out = -(L_T)INFINITY;
    v_f64 sums = (v_f64){0} + (base + own);
    acc[0] = are_whole ? above : centres_of_octaves((v_f64){0} + octaves, &sums)[0];
    acc[1] = sums[0];
    return true;
}

/* One group, or a part of it. *acc is the value before it and becomes the one after it, whose sum is at least 1. False,
 * and nothing is done, if elements are too far apart or not finite. The block's own sum is rounded apart from what came
 * before. */
static bool NAME(run)(const void *block, size_t n, bool exclusive, bool are_whole, double *acc, void *out) {
    const E_T *const x = block;
    L_T largest, smallest;
    if (MAY_BE_WHOLE && are_whole) {
        NAME(bounds)(x, n, &largest, &smallest);
        return NAME(run_from)(x, n, 0, acc[0] > largest ? acc[0] : largest, exclusive, true, acc, out);
    }
    double near = acc[1] > 0 ? acc[0] : x[0];
    for (bool again = false;; again = true) {
        const double octaves = nearest_octave(near);
        if (NAME(run_from)(x, n, octaves, octaves * LN2, exclusive, false, acc, out))
            return true;
        if (again)
            return false;
        NAME(bounds)(x, n, &largest, &smallest);
        near = largest;
    }
}

/* ---- groups ---- */

ALWAYS_INLINE bool NAME(groups_from)(const E_T *x, const uint32_t *numbers, size_t n, double octaves, double above,
                                     bool exclusive, bool are_whole, E_T *out) {
    const NAME(centre) c = NAME(centre_of)(octaves, above);
    _Alignas(64) L_T sums[BLOCK];
    const L_T filling = (L_T)above;
    L_V open = {0}, before = {0}, smallest = (L_V){0} + filling;
    U_V seen = {0};
    if (!(fabs(octaves) <= OF(MOST_OCTAVES)))
        return false;
    for (size_t k = 0; k < n; k += L_LANES) {
        const L_V v = NAME(take)(x + k, n - k, filling), number = OF(load_numbers)(numbers + k);
        smallest = OF(smaller)(v, smallest);
        L_V sum = OF(prefixes_in_groups)(NAME(exp_from)(v, &c, are_whole, &seen), OF(marks_of)(number), &open);
        if (exclusive) {
            const L_V moved = OF(shift_up)(sum, before, 1);
            before = OF(last)(sum);
            sum = moved;
        }
        memcpy(sums + k, &sum, sizeof sum);
    }
    if (PASTE2(OCTAVES_SEEN_, LANE)(seen) || any_bit((v_u64) ~(smallest >= c.lowest)))
        return false;
    for (size_t k = 0; k < n; k += L_LANES) {
        L_V sum;
        memcpy(&sum, sums + k, sizeof sum);
        sum = NAME(log_from)(sum, &c, are_whole);
        if (exclusive)
            sum = SELECT_OF(LANE, (OF(load_numbers)(numbers + k) > 1), sum, (L_V){0} - (L_T)INFINITY);
        NAME(put)(sum, n - k, out + k);
    }
    return true;
}

/* Whole groups; numbers[k] is that of element k in its group, from 1 on, and 1 behind the last. False, and nothing is
 * done, if elements are too far apart or not finite. */
static bool NAME(groups)(const void *block, const uint32_t *numbers, size_t n, bool exclusive, bool are_whole,
                         void *out) {
    const E_T *const x = block;
    L_T largest, smallest;
    double near = x[0];
    if (MAY_BE_WHOLE && are_whole) {
        NAME(bounds)(x, n, &largest, &smallest);
        return largest - smallest <= MOST_DISTANCE &&
               NAME(groups_from)(x, numbers, n, 0, largest, exclusive, true, out);
    }
    for (bool again = false;; again = true) {
        const double octaves = nearest_octave(near);
        if (NAME(groups_from)(x, numbers, n, octaves, octaves * LN2, exclusive, false, out))
            return true;
        if (again)
            return false;
        NAME(bounds)(x, n, &largest, &smallest);
        near = largest / 2 + smallest / 2;
    }
}

/* ---- columns ---- */

/* A vector of columns, of which the first 'width' count. False, and nothing is done, if elements of one are too far
 * apart or not finite. Each column has its own centre: the largest of whole numbers, else what came before, or the
 * first. If acc is NULL, nothing came before, and nothing follows. */
ALWAYS_INLINE bool NAME(strip)(const E_T *x, size_t rows, size_t width, ptrdiff_t down, bool exclusive, bool are_whole,
                               double *acc, E_T *to) {
    const L_V zero = {0}, first = NAME(take)(x, width, 0), most = zero + OF(MOST_OCTAVES);
    NAME(centre) c = {zero, first, zero, zero};
    L_V base = zero, own = zero, exps[ROWS];
    U_V seen = {0};
    v_f64 top[L_PARTS], sum[L_PARTS], above[L_PARTS];
    v_i64 lost = {0};
    for (size_t r = 1; are_whole && r < rows; r++)
        c.above = OF(larger)(NAME(take)(x + (ptrdiff_t)r * down, width, 0), c.above);
    if (acc) {
        OF(widened)(c.above, above);
        for (size_t h = 0; h < L_PARTS; h++) {
            take_pairs(acc + h * 2 * LANES, &top[h], &sum[h]);
            above[h] = are_whole ? larger_f64(top[h], above[h]) : SELECT_LANES(f64, (sum[h] == 0), above[h], top[h]);
        }
        c.above = OF(narrowed)(above);
    }
    if (!are_whole) {
        c.octaves = OF(nearest_octaves)(c.above);
        c.above = c.octaves * (L_T)LN2;
    }
    if (acc) {
        OF(widened)(are_whole ? c.above : c.octaves, above);
        for (size_t h = 0; h < L_PARTS; h++) {
            const v_f64 before = sum[h];
            above[h] = are_whole ? above[h] : above[h] * LN2;
            sum[h] *= shifted_exp_f64(top[h], above[h]);
            if (L_PARTS == 1)
                sum[h] *= exp_of_rests(-rests_of_octaves((v_f64)c.octaves));
            lost |= ~(sum[h] <= MOST_SUM) | ((sum[h] == 0) & (before != 0));
        }
        base = OF(narrowed)(sum);
    }
    c.magic = OF(EXP_MAGIC) - (L_T)EXP_UNITS * c.octaves;
    c.lowest = c.above - (L_T)(LOST_OCTAVES * LN2);
    M_V wrong = ~((c.octaves <= most) & (-c.octaves <= most));
    if (are_whole)
        wrong |= ~(((base == zero) & (first - c.above >= -NEAR)) | (base >= LEAST_SUM));
    for (size_t r = 0; r < rows; r++)
        exps[r] =
            NAME(exp_from)(OF(larger)(c.lowest, NAME(take)(x + (ptrdiff_t)r * down, width, 0)), &c, are_whole, &seen);
    if (PASTE2(OCTAVES_SEEN_, LANE)(seen) || any_bit((v_u64)lost | (v_u64)wrong))
        return false;
    for (size_t r = 0; r < rows; r++) {
        const L_V before = own;
        own += exps[r];
        L_V result = NAME(log_from)(base + (exclusive ? before : own), &c, are_whole);
        if (exclusive && r == 0)
            result = SELECT_OF(LANE, (base == zero), zero - (L_T)INFINITY, result);
        NAME(put)(result, width, to + (ptrdiff_t)r * down);
    }
    if (acc) {
        v_f64 octaves[L_PARTS], all[L_PARTS];
        OF(widened)(c.octaves, octaves);
        OF(widened)(own, all);
        for (size_t h = 0; h < L_PARTS; h++) {
            sum[h] += all[h];
            above[h] = are_whole ? above[h] : centres_of_octaves(octaves[h], &sum[h]);
            put_pairs(above[h], sum[h], acc + h * 2 * LANES);
        }
    }
    return true;
}

static size_t NAME(columns)(const void *elements, size_t rows, size_t width, size_t stride, bool reverse,
                            bool exclusive, bool are_whole, double *acc, void *target) {
    const ptrdiff_t down = reverse ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
    const size_t first = reverse ? (rows - 1) * stride : 0;
    const E_T *const x = (const E_T *)elements + first;
    E_T *const out = (E_T *)target + first;
    for (size_t j = 0; j < width; j += L_LANES) {
        const size_t count = width - j < L_LANES ? width - j : L_LANES;
        double few[2 * L_LANES] = {0}, *own = few;
        if (acc && count == L_LANES)
            own = acc + 2 * j;
        else if (acc)
            memcpy(few, acc + 2 * j, 2 * count * sizeof *few);
        own = acc ? own : NULL;
        const bool done = MAY_BE_WHOLE && are_whole
                              ? NAME(strip)(x + j, rows, count, down, exclusive, true, own, out + j)
                              : NAME(strip)(x + j, rows, count, down, exclusive, false, own, out + j);
        if (!done)
            return j;
        if (acc && count < L_LANES)
            memcpy(acc + 2 * j, few, 2 * count * sizeof *few);
    }
    return width;
}

#undef NAME
#undef L_T
#undef E_T
#undef L_V
#undef L_LANES
#undef L_PARTS
#undef MAY_BE_WHOLE
#undef M_V
#undef U_V
#undef OF
