/* Exact mode of integers: the variance of n elements, or the root of it, of their sum and their sum of squares. */
wide integer_variance(wide n, uint64_t sum[2], uint64_t squares[3]) {
    const bool negative = is_signed(IN) && int64_t(sum[1]) < 0;
    if (negative) {
        sum[1] = ~sum[1] + (sum[0] == 0 ? uint64_t(1) : uint64_t(0));
        sum[0] = uint64_t(0) - sum[0];
    }
    for (int k = 0; k < 5; k++) {
        const wide both = words_of(k < 2 ? sum[min(k, 1)] : squares[max(k - 2, 0)]);
        set_digit(2 * k, both.x);
        set_digit(2 * k + 1, both.y);
    }
    magnitude of_sum = magnitude(0, 4, 0, false);
    trim(of_sum);
    return variance_bits(magnitude(4, 6, 0, false), of_sum, n);
}
