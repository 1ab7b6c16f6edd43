/* The lane of logsumexp: the largest element and the sum of exp(x - largest), of which an element costs one exponential
 * and a vector one more, for the case that its elements are larger. The largest one is kept finite, so that no infinity
 * is subtracted from another: an element that is infinite adds 0 or infinity. NaNs are found by elements' bits. */
#if VALUE_KIND == KIND_F64
#define GREATEST         packDouble2x32(uvec2(~0u, 0x7fefffffu))
#define HIGH_WORD(x)     high_word(unpackDouble2x32(x))
#define HIGH_OF_INFINITY 0x7ff00000u
/* Without the sign. That of a NaN is larger than that of infinity. */
uint high_word(uvec2 bits) {
    return bits.y & 0x7fffffffu | min(bits.x, 1u);
}
#else
#define GREATEST         uintBitsToFloat(0x7f7fffffu)
#define HIGH_WORD(x)     (floatBitsToUint(x) & 0x7fffffffu)
#define HIGH_OF_INFINITY 0x7f800000u
#endif
struct lane_t {
    VALUE largest, of_largest;
    uint magnitude; /* the largest high word, if elements are floats */
};
lane_t lane_identity() {
    return lane_t(-GREATEST, VALUE(0), 0);
}

lane_t raised(lane_t lane, VALUE x) {
    lane.largest = max(lane.largest, x);
    if (is_float(IN))
        lane.magnitude = max(lane.magnitude, HIGH_WORD(x));
    return lane;
}
lane_t prepared(lane_t lane, uvec4 x) {
    const VALUE before = lane.largest;
    UNROLLED_LANES for (uint k = 0; k < 16u >> IN_LOG; k++)
        lane = raised(lane, value_of_bits(pick(x, k, IN_LOG)));
    lane.largest = min(lane.largest, GREATEST);
    lane.of_largest *= exp_below(before - lane.largest);
    return lane;
}
/* Adds an element for which the lane has been prepared. */
lane_t added_prepared(lane_t lane, VALUE x) {
    lane.of_largest += exp_below(x - lane.largest);
    return lane;
}
lane_t added(lane_t lane, VALUE x) {
    const VALUE before = lane.largest;
    lane = raised(lane, x);
    lane.largest = min(lane.largest, GREATEST);
    const VALUE e = exp_below(x > before ? before - lane.largest : x - before);
    lane.of_largest = !(x > before) ? lane.of_largest + e : x > GREATEST ? HIGHEST : lane.of_largest * e + 1;
    return lane;
}

acc_t widen(lane_t lane) {
    if (lane.magnitude > HIGH_OF_INFINITY)
        return acc_t(VALUE(NOT_A_NUMBER), VALUE(1));
    if (HIGH_WORD(lane.of_largest) >= HIGH_OF_INFINITY)
        return acc_t(HIGHEST, VALUE(1));
    return acc_t(lane.of_largest == 0 ? LOWEST : lane.largest, lane.of_largest);
}
