/* The lane of the moments: the distances of elements from a shift, and their powers, are added up, which needs no
 * division per element, as a running mean would. The shift is the lane's first element. One of 'count' elements is at
 * most sqrt(count - 1) standard deviations from their mean. So the squares are at most 'count' times as large as those
 * of the distances from the mean, and at most log2(count) of their 53 bits are lost. POWERS is the highest one. */
struct lane_t {
    double shift, distances, squares;
#if POWERS > 2
    double cubes;
#endif
#if POWERS > 3
    double fourths;
#endif
    uint count;
    uint magnitude; /* elements that are doubles: the largest high word, since their squares may overflow */
};
lane_t lane_identity() {
    lane_t lane;
    lane.shift = lane.distances = lane.squares = 0;
#if POWERS > 2
    lane.cubes = 0;
#endif
#if POWERS > 3
    lane.fourths = 0;
#endif
    lane.count = lane.magnitude = 0;
    return lane;
}

/* Adds an element for which the lane has been prepared; without NaNs, that is added_prepared(). */
lane_t added_near(lane_t lane, double x) {
    const double away = x - lane.shift;
    lane.distances += away;
    lane.squares = fma(away, away, lane.squares);
#if POWERS > 2
    lane.cubes = fma(away * away, away, lane.cubes);
#endif
#if POWERS > 3
    lane.fourths = fma(away * away, away * away, lane.fourths);
#endif
    if (IN == F64)
        lane.magnitude = max(lane.magnitude, magnitude_bits(x).y);
    return lane;
}
lane_t added(lane_t lane, double x) {
    if (SKIPS_NAN && is_nan(x))
        return lane;
    lane.shift = lane.count == 0 ? x : lane.shift;
    lane.count++;
    return added_near(lane, x);
}
lane_t added_prepared(lane_t lane, double x) {
    return SKIPS_NAN ? added(lane, x) : added_near(lane, x);
}
/* A vector's elements need one question and one count. */
lane_t prepared(lane_t lane, uvec4 x) {
    if (SKIPS_NAN)
        return lane;
    lane.shift = lane.count == 0 ? value_of_bits(pick(x, 0, IN_LOG)) : lane.shift;
    lane.count += 16u >> IN_LOG;
    return lane;
}

acc_t widen(lane_t lane) {
    acc_t acc = identity();
    if (lane.count == 0)
        return acc;
    const double count = double_of_integer(wide_of(lane.count), false), apart = lane.distances / count;
    const double of_shift = lane.distances * apart;
    precise const double mean = lane.shift + apart, part = mean - lane.shift;
    precise const double rest = (lane.shift - (mean - part)) + (apart - part); /* of the mean (Knuth's two-sum) */
    acc.a0 = count;
    acc.a1 = mean;
    acc.a2 = rest;
    if (is_finite(lane.squares)) /* a difference below 0 can only be rounding */
        acc.a3 = max(lane.squares - of_shift, 0.0lf);
    else
        acc.a3 = IN == F64 && lane.magnitude < infinity_bits(F64).y ? HIGHEST : NOT_A_NUMBER;
#if POWERS > 2
    acc.a4 = lane.cubes - apart * (3 * acc.a3 + of_shift);
#endif
#if POWERS > 3
    acc.a5 = lane.fourths - apart * (4 * acc.a4 + apart * (6 * acc.a3 + of_shift));
#endif
    return acc;
}
