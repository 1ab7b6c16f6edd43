/* A thread's stretch of elements whose results are as wide, so that results take the place of its vectors. The thread
 * goes through them a vector at a time, and needs no register for each element.
 *
 * Variances of narrow floats by groups are floats within a thread (VARIES_IN_FLOATS), because a conversion to a double
 * takes as long as four additions. A vector's squares are about one of its elements, or about the mean before it, so at
 * most 3 of 24 bits cancel. Sums of threads and of tiles are doubles. */
#if TAKES_VECTORS
enum { A_VECTOR = 16 / sizeof(in_t), VECTORS = ITEMS / A_VECTOR, VECTORS_AT_ONCE = A_VECTOR < 8 ? 2 : 1 };

/* A thread's stretch. Results may take the place of each vector that is behind. */
struct vectors_of_stretch {
    const uint4 *first; /* physically */
    uint32 shift;       /* of elements, as far as they lie behind the vectors */
    uint4 beyond;       /* the next vector, with the ends of the last elements */

    vectors_of_stretch(const uint8 *memory, int shift, int stretch)
        : first((const uint4 *)memory + stretch * VECTORS), shift(shift), beyond{0, 0, 0, 0} {
        if (shift)
            beyond = first[VECTORS];
    }
    template <class Use> void each_vector(Use use) const {
        [[maybe_unused]] uint4 behind = beyond; /* results may have taken its place */
#pragma unroll VECTORS_AT_ONCE
        for (int k = 0; k < VECTORS; k++) {
            const int v = REVERSE ? VECTORS - 1 - k : k;
            uint4 bits = first[v];
            if (shift) {
                const uint4 own = bits, next = REVERSE ? behind : k + 1 < VECTORS ? first[k + 1] : beyond;
                bits = straddling(own, next, shift);
                behind = own;
            }
            few<in_t, A_VECTOR> elements;
            memcpy(&elements, &bits, 16);
            use(v, k * A_VECTOR, elements);
        }
    }
    /* Calls use(k, value) for each element; k counts in logical order. */
    template <class Use> void each(Use use) const {
        each_vector([&](int, int k, const few<in_t, A_VECTOR> &elements) {
#pragma unroll
            for (int j = 0; j < A_VECTOR; j++)
                use(k + j, value_of(elements.element[REVERSE ? A_VECTOR - 1 - j : j]));
        });
    }
    /* Calls use(way, k, value, other) for each element, where 'other' says whether its bit of 'others' is set. 'way' has
     * a VALUE that is false where no lane of the warp has such a bit in its vector. */
    template <class Use> void each_by_way(bits_t others, Use use) const {
        bits_t of_mine = others, of_warp = in_any_lane(others);
        each_vector([&](int, int k, const few<in_t, A_VECTOR> &elements) {
            by_way(of_mine, of_warp, [&](auto way, uint32 mine) {
#pragma unroll
                for (int j = 0; j < A_VECTOR; j++)
                    use(way, k + j, value_of(elements.element[REVERSE ? A_VECTOR - 1 - j : j]), mine >> j & 1);
            });
        });
    }
    /* Puts result(k, value) in its place. */
    template <class Result> void replace(uint8 *memory, int stretch, Result result) const {
        each_vector([&](int v, int k, const few<in_t, A_VECTOR> &elements) {
            few<result_t, A_VECTOR> results;
#pragma unroll
            for (int j = 0; j < A_VECTOR; j++) {
                const int at = REVERSE ? A_VECTOR - 1 - j : j;
                results.element[at] = result(k + j, value_of(elements.element[at]));
            }
            memcpy(memory + 16 * (stretch * VECTORS + v), &results, 16);
        });
    }
    /* Puts result(way, k, value, other) in its place, a double, of which every NaN is written as the same one. */
    template <class Result>
    void replace_by_way(uint8 *memory, int stretch, bits_t others, Result result) const {
        bits_t of_mine = others, of_warp = in_any_lane(others);
        each_vector([&](int v, int k, const few<in_t, A_VECTOR> &elements) {
            few<result_t, A_VECTOR> results;
            bool is_any_nan = false;
            by_way(of_mine, of_warp, [&](auto way, uint32 mine) {
#pragma unroll
                for (int j = 0; j < A_VECTOR; j++) {
                    const int at = REVERSE ? A_VECTOR - 1 - j : j;
                    const double x = result(way, k + j, value_of(elements.element[at]), mine >> j & 1);
                    if (decltype(way)::VALUE || j == A_VECTOR - 1) /* what follows a NaN in its group is one, too */
                        is_any_nan |= is_nan(x);
                    results.element[at] = output<out_t>::of(x);
                }
            });
            for (int j = 0; is_any_nan && j < A_VECTOR; j++)
                if (is_nan(number_of(results.element[j])))
                    set_nan(&results.element[j]);
            memcpy(memory + 16 * (stretch * VECTORS + v), &results, 16);
        });
    }

  private:
    static bits_t in_any_lane(bits_t bits) {
        const bits_t low = or_lanes((uint32)bits);
        return sizeof(bits_t) == 4 ? low : low | (bits_t)or_lanes((uint32)(bits >> 16 >> 16)) << 16 << 16;
    }
    /* The next vector of a stretch. */
    template <class Do> static void by_way(bits_t &of_mine, bits_t &of_warp, Do act) {
        const uint32 mine = (uint32)of_mine;
        if ((uint32)of_warp & (1u << A_VECTOR) - 1)
            act(with_heads<true>(), mine);
        else
            act(with_heads<false>(), 0);
        of_mine >>= A_VECTOR;
        of_warp >>= A_VECTOR;
    }
};
#endif

#if VARIES_IN_FLOATS
/* Squares of distances between halves are floats that lose no digit. Those of bf16 are if no element is smaller than
 * LEAST_IN_FLOATS, but for 0, or larger than MOST_IN_FLOATS. */
constexpr double LEAST_IN_FLOATS = 0x1p-50, MOST_IN_FLOATS = 0x1p46;
enum { BITS_OF_LEAST = (127 - 50) << 7, BITS_OF_MOST = (127 + 46) << 7, IS_BF16 = ARE_SAME<in_t, bf16> };
struct magnitudes {
    uint32 least = 0xffffffffu, most = 0; /* in both halves; less 1, so that 0 does not count */

    /* As many elements of a vector as there are, from the lowest on. */
    void see(const few<in_t, A_VECTOR> &elements, int there) {
        uint32 words[4];
        memcpy(words, &elements, 16);
#pragma unroll
        for (int w = 0; w < (IS_BF16 ? 4 : 0); w++) {
            uint32 both = words[w] & 0x7fff7fffu;
            if (there < A_VECTOR)
                both &= lowest_bits(there * 16 - w * 32);
            most = __vmaxu2(most, both);
            least = __vminu2(least, __vsub2(both, 0x00010001u));
        }
    }
    bool are_wrong() const {
        const uint32 far = __vmaxu2(most, most >> 16), near = __vminu2(least, least >> 16 | 0xffff0000u);
        return IS_BF16 && ((far & 0xffff) > BITS_OF_MOST || (near & 0xffff) < BITS_OF_LEAST - 1);
    }
};
/* Whether that is so of what precedes a tile. */
inline bool holds_in_floats(const acc_t &sum) {
    const double mean = absolute(sum.a1);
    return !IS_BF16 || is_nan(sum.a3) || sum.a0 == 0 ||
           (mean <= MOST_IN_FLOATS &&
            (sum.a3 == 0 ? mean == 0 || mean >= LEAST_IN_FLOATS : sum.a3 >= 0x1p-110 && sum.a3 <= 0x1p126));
}

/* The squares of elements about their mean, which lies at origin + mean. The first one is the origin. */
struct float_moments {
    float origin = 0, count = 0, mean = 0, squares = 0;

    void append(float its_count, float its_mean, float its_squares) {
        const float all = count + its_count, away = its_mean - mean, part = its_count * reciprocal_nearby(all);
        squares += __fmaf_rn(away * away, count * part, its_squares);
        mean = count == 0 ? its_mean : __fmaf_rn(away, part, mean);
        count = all;
    }
    /* As powers of distances from a number. */
    powers from(double number) const {
        const double away = origin - number + mean;
        powers sum;
        sum.distances = count * away;
        sum.squares = __fma_rn(sum.distances, away, (double)squares);
        return sum;
    }
};

/* The moments of elements [from, to) of a stretch, in logical order. 'seen' has these and those since 'absent'. */
inline float_moments moments_of_part(const vectors_of_stretch &vectors, int from, int to, int absent,
                                     magnitudes *seen) {
    float_moments all;
    vectors.each_vector([&](int, int first, const few<in_t, A_VECTOR> &elements) {
        seen->see(elements, REVERSE ? A_VECTOR - (absent - first) : to - first);
        const auto element = [&](int k) { return value_of(elements.element[REVERSE ? A_VECTOR - 1 - k : k]); };
        const int begin = from - first, end = to - first;
        if (begin >= A_VECTOR || end <= 0)
            return;
        float near = element(0), distances = 0, squares = 0, count = A_VECTOR, of_count = 1.0f / A_VECTOR;
        if (begin <= 0 && end >= A_VECTOR) {
#pragma unroll
            for (int k = 1; k < A_VECTOR; k++) {
                const float away = element(k) - near;
                distances += away;
                squares = __fmaf_rn(away, away, squares);
            }
        } else {
#pragma unroll
            for (int k = 1; k < A_VECTOR; k++)
                near = k == begin ? element(k) : near;
#pragma unroll
            for (int k = 0; k < A_VECTOR; k++) {
                const float away = k >= begin && k < end ? element(k) - near : 0;
                distances += away;
                squares = __fmaf_rn(away, away, squares);
            }
            count = (float)((end < A_VECTOR ? end : A_VECTOR) - (begin > 0 ? begin : 0));
            of_count = reciprocal_nearby(count);
        }
        all.origin = all.count == 0 ? near : all.origin;
        const float mean = distances * of_count;
        all.append(count, near - all.origin + mean, __fmaf_rn(-distances, mean, squares));
    });
    return all;
}

inline uint32 pair_of(f16, const float *two) {
    return f16_pair_of(two[0], two[1]);
}
inline uint32 pair_of(bf16, const float *two) {
#if TALLY_ARCHITECTURE >= 80
    return bf16_pair_of(two[0], two[1]);
#else
    return output<bf16>::of(two[0]).bits | (uint32)output<bf16>::of(two[1]).bits << 16;
#endif
}

/* The running variances of a stretch, behind 'count' elements whose distances count from r. */
struct float_variances {
    float r, distances, squares, count;

    float_variances(const powers &sum, double count, double r)
        : r((float)r), distances((float)sum.distances), squares((float)sum.squares), count((float)count) {}

    template <bool HasHeads>
    void replace_vector(const few<in_t, A_VECTOR> &elements, uint32 heads, int absent, uint32 *words) {
        float n = count, of_n = 0, results[A_VECTOR];
#pragma unroll
        for (int k = 0; k < A_VECTOR; k++) {
            const int at = REVERSE ? A_VECTOR - 1 - k : k;
            const float x = value_of(elements.element[at]);
            const bool is_head = HasHeads && (heads >> k & 1), is_there = !HasHeads || !REVERSE || k >= absent;
            r = is_head ? x : r;
            distances = is_head ? 0 : distances;
            squares = is_head ? 0 : squares;
            n = !HasHeads ? count + (float)(k + 1) : is_head ? 1 : n + (is_there ? 1 : 0);
            const float away = is_there ? x - r : 0;
            distances += away;
            squares = __fmaf_rn(away, away, squares);
            of_n = reciprocal_nearby(REVERSE && HasHeads && n == 0 ? 1 : n);
            /* only rounding makes it less than 0 */
            const float rest = absolute(__fmaf_rn(-distances * of_n, distances, squares));
            float variance = rest * (DDOF ? reciprocal_nearby(n - DDOF) : of_n);
            if (DDOF)
                variance = n > DDOF ? variance : (float)NOT_A_NUMBER;
            results[at] = IS_STD ? root_nearby(variance) : variance;
        }
#pragma unroll
        for (int w = 0; w < A_VECTOR / 2; w++) /* every NaN is the same one */
            words[w] = IS_BF16 ? __vminu2(pair_of(bf16(), results + 2 * w), 0x7fc07fc0)
                               : __vminu2(pair_of(f16(), results + 2 * w), 0x7e007e00);
        /* From now on distances are from the mean, so that few bits of the next vector's cancel. */
        count = n;
        const float mean = __fmaf_rn(distances, of_n, r), moved = mean - r, rest = __fmaf_rn(-n, moved, distances);
        squares = __fmaf_rn(-moved, distances + rest, squares);
        distances = rest;
        r = mean;
    }
    /* All threads of a warp call this. */
    void replace(const vectors_of_stretch &vectors, uint8 *memory, int stretch, bits_t heads, int absent) {
        vectors.each_vector([&](int v, int first, const few<in_t, A_VECTOR> &elements) {
            uint32 words[A_VECTOR / 2];
            const uint32 here = (uint32)(heads >> first) & (1u << A_VECTOR) - 1;
            if (__ballot_sync(ALL_LANES, here || (REVERSE && first < absent)))
                replace_vector<true>(elements, here, absent - first, words);
            else
                replace_vector<false>(elements, 0, 0, words);
            memcpy(memory + 16 * (stretch * VECTORS + v), words, 16);
        });
    }
};
#endif
