/* Exact mode of integers, the end of a group: the variance of its elements, or the root of it. */
inline out_t integer_variance(uint64 n, uint64 sum_low, uint64 sum_high, const uint64 (&squares)[3], bool is_signed) {
    if (is_signed && sum_high >> 63) {
        sum_high = ~sum_high + !sum_low;
        sum_low = 0 - sum_low;
    }
    uint32 of_sum[4] = {(uint32)sum_low, (uint32)(sum_low >> 32), (uint32)sum_high, (uint32)(sum_high >> 32)};
    uint32 of_squares[8 + QUOTIENT_DIGITS];
    for (int k = 0; k < 6; k++)
        of_squares[k] = (uint32)(squares[k / 2] >> 32 * (k % 2));
    magnitude sum = {of_sum, 4, 0, false};
    trim(sum);
    return element_of_bits<out_t>(variance_bits({of_squares, 6, 0, false}, sum, n));
}
