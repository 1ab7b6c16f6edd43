/* Var and std of a block that has one tile, where results are as wide as elements and so take their place: a thread
 * goes through its stretch a vector at a time, in loops, so it may have many elements without a register for each.
 *
 * Floats are added up as floats within a thread, because a processor has twice as many units for them and they need no
 * conversion; sums of threads and of tiles are doubles. Results keep their digits because distances are from the mean
 * before the tile, which is of at least half as many elements as the tile has: so what is subtracted for the mean is a
 * part of the squares that does not come near all of them. Other tiles, the first among them, take doubles. */
#if TAKES_VECTORS

/* As 'terms', of floats. */
struct float_terms {
    float distances = 0, squares = 0, count = 0; /* the last only if some are left out */

    void add(value_t x, float r) {
        const bool counts = !SKIPS_NAN || !is_nan(x);
        const float away = counts ? (float)x - r : 0;
        distances += away;
        squares = __fmaf_rn(away, away, squares);
        if (SKIPS_NAN)
            count += counts ? 1 : 0;
    }
};
inline float_terms combine(const float_terms &a, const float_terms &b) {
    float_terms sum;
    sum.distances = a.distances + b.distances;
    sum.squares = a.squares + b.squares;
    sum.count = a.count + b.count;
    return sum;
}
inline terms widened(const terms &sum) {
    return sum;
}
inline terms widened(const float_terms &sum) {
    terms wide;
    wide.distances = sum.distances;
    wide.squares = sum.squares;
#if SKIPS_NAN
    wide.count = (uint32)sum.count;
#endif
    return wide;
}

/* What the threads before one in the block add up to, and all of them. */
struct sums_of_block {
    terms before, all;
};
template <class Terms> inline sums_of_block add_up(Terms sum) {
    __shared__ alignas(16) uint8 memory[FINISHERS / WARP * sizeof(terms)];
    terms *of_warps = (terms *)memory;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int d = 1; d < WARP; d *= 2) {
        const Terms left = from_below(sum, d);
        if (lane >= d)
            sum = combine(left, sum);
    }
    if (lane == WARP - 1)
        of_warps[warp] = widened(sum);
    const Terms below = from_below(sum, 1);
    __syncthreads();
    sums_of_block sums;
#pragma unroll
    for (int w = 0; w < FINISHERS / WARP; w++) {
        if (w == warp)
            sums.before = sums.all;
        sums.all = combine(sums.all, of_warps[w]);
    }
    if (lane)
        sums.before = combine(sums.before, widened(below));
    return sums;
}

/* The mean of two of each thread's elements. Relative to it the squares are at most ITEMS / 2 + 1 times as large as
 * relative to the mean of all, because the sum of some distances is at most the root of their number times that of
 * their squares (Cauchy and Schwarz). */
inline double mean_of_few(const tile &t, const in_t *elements, int stretch) {
    constexpr int HALF = ITEMS / 2;
    const int more = t.count % ITEMS;
    double sum = 0, number = 0;
#pragma unroll
    for (int k = 0; k <= HALF; k += HALF) {
        const bool is_there = stretch * ITEMS + k < t.count;
        const value_t x = is_there ? value_of(load(elements + stretch * ITEMS + k)) : value_t(0);
        const bool counts = is_there && !(SKIPS_NAN && is_nan(x));
        sum += counts ? (double)x : 0;
        number += counts ? 1 : 0;
    }
    number = SKIPS_NAN ? fold_of_block(number, [](real a, real b) { return a + b; })
                       : t.count / ITEMS * 2 + (more > 0) + (more > HALF);
    return fold_of_block(sum, [](real a, real b) { return a + b; }) * reciprocal(number);
}

/* The terms behind those before a stretch: sums that begin with them, and the number of elements. */
struct behind_doubles {
    terms sum;
    counter number;

    behind_doubles(const terms &begin, double number) : sum(begin), number(number) {
#if SKIPS_NAN
        sum.count = 0;
#endif
    }
    result_t result(int added) const {
        return variance_of<true>(sum.distances, sum.squares, number.plus(sum.number((uint32)added)));
    }
};
/* The squares before are added last, because they could swallow the others. There are more elements than DDOF. */
struct behind_floats {
    float_terms sum;
    float squares, number;

    behind_floats(const terms &begin, double number) : squares((float)begin.squares), number((float)number) {
        sum.distances = (float)begin.distances;
    }
    result_t result(int added) const {
        const float n = number + (SKIPS_NAN ? sum.count : (float)added), of_n = reciprocal_nearby(n);
        const float rest = __fmaf_rn(-sum.distances * of_n, sum.distances, squares + sum.squares);
        const float variance = (rest < 0 ? 0 : rest) * (DDOF ? reciprocal_nearby(n - DDOF) : of_n);
        return output<out_t>::of(IS_STD ? root_nearby(variance) : variance);
    }
};

/* Finishes a tile by Terms, which are of type Real. Returns false, to all threads and before any result is written, if
 * they do not hold it. */
template <class Terms, class Real, class Behind>
inline bool finish_vectors(scratch &s, const scan_args &p, const tile &t, const place &here, int thread, bool has_base,
                           const acc_t &base) {
    constexpr bool IN_FLOATS = sizeof(Real) == 4;
    constexpr double LEAST = 0x1p-100, MOST = IN_FLOATS ? 0x1p100 : 0x1p900; /* of squares: no digit is lost */
    /* In a tile in which the squares grow by more the first lose digits beside the last. */
    constexpr double MOST_TIMES = IN_FLOATS ? 16 : sizeof(out_t) == 8 ? 64 : 0x1p24;
    constexpr double LEAST_BEFORE = 64;
    const int stretch = REVERSE ? FINISHERS - 1 - thread : thread, there = items_there(t, stretch);
    const int shift = shift_of(p.x + t.low);
    if (p.total || (IN_FLOATS && t.first == 0 && !has_base))
        return false;
    s.full[0].wait(0);
    uint8 *memory = s.tile[0];
    const in_t *elements = (const in_t *)(memory + shift);
    const vectors_of_stretch vectors(memory, shift, stretch);
    const value_t opening = value_of(load(elements + (REVERSE ? t.count - 1 : 0)));
    const double mean = mean_of_few(t, elements, stretch);
    /* The first elements of all must not lose a digit, not even where they are equal. Where all are, the mean may be
     * rounded, and there would be squares. */
    const bool is_near = absolute(mean - (double)opening) <= absolute((double)opening) * 0x1p-48;
    const Real middle = !IN_FLOATS && (t.first == 0 || is_near) ? (Real)opening : (Real)mean;
    Terms mine;
    const int absent = REVERSE ? ITEMS - there : 0;
    const auto is_there = [&](int k) { return REVERSE ? k >= absent : k < there; };
    vectors.each([&](int k, value_t x) {
        if (is_there(k))
            mine.add(x, middle);
    });
    const sums_of_block sums = add_up(mine);
    const double count = sums.all.number(t.count);
    const acc_t own = sum_of_terms(count, sums.all, middle);
    /* others must not be told what is not right: the mean of no elements is NaN */
    if ((SKIPS_NAN && count == 0) || !(sums.all.squares <= MOST) ||
        (IN_FLOATS ? sums.all.squares < LEAST : MOST_AWAY * own.a3 < sums.all.squares))
        return false;
    acc_t prefix = sum_before(s, p, t, state::of(own, false, 0)).acc;
    if (has_base)
        prefix = combine(base, prefix);
    Real r = prefix.a0 != 0 ? (Real)prefix.a1 : (Real)opening;
    const double moved = (double)middle - (double)r, rest = prefix.a1 - (double)r + prefix.a2;
    const double of_rest = prefix.a0 * rest, powers = __fma_rn(of_rest, rest, prefix.a3);
    if (prefix.a0 != 0 && MOST_TIMES * prefix.a3 < sums.all.squares)
        return false;
    if (IN_FLOATS) {
        const double last = __fma_rn(count, moved, sums.all.distances);
        const double greatest = powers + sums.all.squares + moved * (sums.all.distances + last);
        if (!(prefix.a0 >= LEAST_BEFORE && prefix.a0 > DDOF && 2 * prefix.a0 >= count && prefix.a3 >= LEAST &&
              prefix.a3 >= prefix.a0 * (LEAST / 0x1p20) && greatest <= MOST))
            return false;
    } else if ((sizeof(value_t) == 8 && !(prefix.a3 <= MOST)) || (SKIPS_NAN && is_nan(r))) {
        return false;
    }
    const int first = REVERSE ? t.count - (stretch * ITEMS + there) : stretch * ITEMS; /* item there, logical */
    const double before = small_number(sums.before.number((uint32)first));
    terms begin;
    begin.distances = __fma_rn(before, moved, sums.before.distances);
    begin.squares = sums.before.squares + moved * (sums.before.distances + begin.distances) + powers;
    begin.distances += of_rest;
    if (!IN_FLOATS && sizeof(out_t) == 8 && prefix.a0 + before > 0)
        r = (Real)move_to_mean<double>(&begin, prefix.a0 + before, r);
    Behind behind(begin, prefix.a0 + before);
    const vectors_of_stretch again(memory, shift, stretch);
    if (shift) /* others' results take the place of what a thread reads */
        __syncthreads();
    again.replace(memory, stretch, [&](int k, value_t x) {
        if ((!REVERSE && sizeof(value_t) < 8) || is_there(k)) /* no result follows items behind the end */
            behind.sum.add(x, r);
        return behind.result(k + 1 - absent);
    });
    hand_over(s, p, t, here, 0, thread);
    return true;
}

/* By floats if they hold the tile. */
inline bool finish_vectors(scratch &s, const scan_args &p, const tile &t, const place &here, int thread, bool has_base,
                           const acc_t &base) {
    return (sizeof(value_t) == 4 &&
            finish_vectors<float_terms, float, behind_floats>(s, p, t, here, thread, has_base, base)) ||
           finish_vectors<terms, double, behind_doubles>(s, p, t, here, thread, has_base, base);
}
#endif
