/* The sums of exponentials of a thread's elements of a tile, for each of its groups. Powers of integers come from a table
 * in shared memory. */
#if IS_LOGSUMEXP
/* A table for integers wider than bytes ends before e^-127, which adds nothing to a sum, even 2^64 times. */
enum { ARE_BYTES = sizeof(in_t) == 1, POWERS_BELOW = 127 };
static_assert(!ARE_BYTES || LOOKS_UP_BYTES);
inline double *powers_of_integers() {
    if constexpr (ARE_BYTES || IS_FLOAT)
        return powers_of_bytes();
    else
        return powers_below<double, POWERS_BELOW>();
}
inline void make_powers_of_integers() {
    if constexpr (ARE_BYTES)
        make_powers_of_bytes(BLOCK);
    else if constexpr (!IS_FLOAT)
        make_powers_below<double, POWERS_BELOW>(BLOCK);
}

/* A thread's sums of exponentials, one for each of its groups: 'end_group' gets each but the last, which is *last. If all
 * values of a warp are near its first one, exponentials are of distances from that. Returns false if they are not. */
template <class End>
inline bool add_near_exponentials(const thread_items &items, const item_bits &heads, End end_group, tile_lane *last) {
    typedef decltype(tile_lane::a0) real;
    constexpr real NEAR_ENOUGH = sizeof(real) == 8 ? 32 : 16; /* the logarithm of a sum loses so many ulps */
    const real first = ARE_BYTES ? real(0) : from_lane((real)value_of(items.x[0]), 0);
    const auto away = [&](int k) { return (real)value_of(items.x[k]) - first; };
    bool are_near = true;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        are_near = ARE_BYTES || (absolute(away(k)) <= NEAR_ENOUGH && are_near);
    if (!ARE_BYTES && !__all_sync(ALL_LANES, are_near))
        return false;
    const double *powers = stays_in_shared(powers_of_integers());
    real sum = 0;
    const auto group = [&] { return tile_lane{sum > 0 ? first : range<real>::lowest(), sum}; };
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (heads.has(k)) {
            end_group(group());
            sum = 0;
        }
        sum += ARE_BYTES ? (real)powers[(uint8)(int32)value_of(items.x[k]) % BYTE_VALUES] : exp_nearby(away(k));
    }
    *last = group();
    return true;
}
template <bool IsFloat, class Real> struct level_of {
    typedef Real type;
};
template <class Real> struct level_of<false, Real> {
    typedef value_t type;
};
/* A sum of exponentials of distances from the largest value, which integers keep as it is. */
template <class Real, class Level> struct sum_below {
    Level largest = 0;
    Real sum = 0;

    static sum_below of(const in_t &x) {
        return {(Level)value_of(x), 1};
    }
    static Level larger_of_two(Level a, Level b) {
        return a < b ? b : a;
    }
    static Real power(const double *powers, Level x, Level largest) {
        return (Real)power_at<POWERS_BELOW, sizeof(Level)>(powers, x, largest);
    }
    tile_lane lane() const {
        return sum > 0 ? tile_lane{(Real)largest, sum} : identity_as<tile_lane>();
    }
};
template <class Real> struct sum_below<Real, Real> {
    Real largest = range<Real>::lowest(), sum = 0;

    static sum_below of(const in_t &x) {
        const tile_lane lane = lift_as<tile_lane>(value_of(x), value_t(0), 0);
        return {lane.a0, lane.a1};
    }
    static Real larger_of_two(Real a, Real b) {
        return larger(a, b);
    }
    static Real power(const double *, Real x, Real largest) {
        return exp_below(x == largest ? Real(0) : x - largest);
    }
    tile_lane lane() const {
        return {largest, sum};
    }
};
/* The same of any values. SOME elements find the largest of their group first, so no exponential waits for another. */
template <class End> inline tile_lane add_exponentials(const thread_items &items, const item_bits &heads, End end_group) {
    typedef decltype(tile_lane::a0) real;
    typedef sum_below<real, typename level_of<IS_FLOAT, real>::type> running_sum;
    constexpr int SOME = 4;
    const double *powers = stays_in_shared(powers_of_integers());
    if ((IS_FLOAT || ARE_BYTES) && !SKIPS_NAN) {
        tile_lane last;
        if (add_near_exponentials(items, heads, end_group, &last))
            return last;
    }
    running_sum run;
#pragma unroll
    for (int k = 0; k < ITEMS; k += SOME) {
        running_sum x[SOME];
        decltype(run.largest) largest[SOME]; /* from the element on */
#pragma unroll
        for (int j = SOME - 1; j >= 0; j--) {
            x[j] = running_sum::of(items.x[k + j]);
            const bool is_last = j + 1 == SOME || heads.has(k + j + 1);
            largest[j] = is_last ? x[j].largest : run.larger_of_two(x[j].largest, largest[j + 1 < SOME ? j + 1 : j]);
        }
        if (k == 0) {
            run.largest = heads.has(0) ? run.largest : largest[0];
        } else {
            const auto most = heads.has(k) ? run.largest : run.larger_of_two(run.largest, largest[0]);
            run = {most, run.sum * run.power(powers, run.largest, most)};
        }
#pragma unroll
        for (int j = 0; j < SOME; j++) {
            if (heads.has(k + j)) {
                end_group(run.lane());
                run = {largest[j], 0};
            }
            run.sum += x[j].sum * run.power(powers, x[j].largest, run.largest);
        }
    }
    return run.lane();
}
#endif
