/* The number of elements where it lies on the device (TALLY_SIZE_ON_DEVICE). A run's kernels take its address after their
 * arguments: "kernel(args p SIZED)". With TAKE_SIZE the size takes the place of the largest one, for which the host has
 * cut the work; all threads return if they may write nothing. */
#if SIZE_ON_DEVICE
#define SIZED , const uint64 *size_at
#define TAKE_SIZE(most)                                                                                                \
    if (!take_size(&most, size_at))                                                                                    \
        return;
inline bool take_size(uint64 *most, const uint64 *size_at) {
    const uint64 size = *size_at;
    if (size > *most || (NOTHING_IS_EMPTY && !size))
        return false;
    *most = size;
    return true;
}
#else
#define SIZED
#define TAKE_SIZE(most)
#endif
