/* Functions for user operators that GLSL does not have, or not with C's meaning. */
int remainder_of(int a, int b) {
    return a - a / b * b;
}
int64_t remainder_of(int64_t a, int64_t b) {
    return a - a / b * b;
}

/* A NaN loses, as in C. */
#define EXTREMES(T)                                                                                                    \
    T least_of(T a, T b) {                                                                                             \
        return b < a ? b : a;                                                                                          \
    }                                                                                                                  \
    T most_of(T a, T b) {                                                                                              \
        return a < b ? b : a;                                                                                          \
    }
#define FLOAT_EXTREMES(T)                                                                                              \
    T least_of(T a, T b) {                                                                                             \
        return is_nan(a) || b < a ? b : a;                                                                             \
    }                                                                                                                  \
    T most_of(T a, T b) {                                                                                              \
        return is_nan(a) || a < b ? b : a;                                                                             \
    }
EXTREMES(int)
EXTREMES(uint)
EXTREMES(int64_t)
EXTREMES(uint64_t)
FLOAT_EXTREMES(float)
bool is_infinite(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}
#if HAS_DOUBLE
FLOAT_EXTREMES(double)
bool is_infinite(double x) {
    return magnitude_bits(x) == infinity_bits(F64);
}
#endif
