/* Columns of a tile that several threads share, each of which has a strand: some rows that follow each other. */

/* How sums are combined, unless a word has several (packed_scans.cu). */
struct plain_join {
    static acc_t identity() {
        return identity_as<acc_t>();
    }
    static acc_t join(const acc_t &a, const acc_t &b) {
        return combine(a, b);
    }
};

/* Makes each of the spots, which are strands x width, the sum of its column's strands before it. 'lanes' neighbouring
 * threads, a power of two, add up a column's strands. 'totals', if it is not NULL, gets the sum of each column. The
 * spots are filled before and used after a barrier of these threads each. */
template <class Join>
inline void scan_spots(acc_t *spots, int width, int strands, int lanes, int thread, acc_t *totals) {
    const int bits = 31 - __clz(lanes), lane = thread & (lanes - 1), column = thread >> bits;
    const int each = (strands + lanes - 1) >> bits;
    const int first = lane * each, end = column >= width ? 0 : first + each < strands ? first + each : strands;
    if ((thread & ~(WARP - 1)) >> bits >= width) /* the same for all of a warp */
        return;
    acc_t sum = Join::identity();
    for (int k = first; k < end; k++)
        sum = Join::join(sum, spots[k * width + column]);
    for (int d = 1; d < lanes; d *= 2) {
        const acc_t left = from_below(sum, d);
        if (lane >= d)
            sum = Join::join(left, sum);
    }
    acc_t before = from_below(sum, 1);
    if (lane == 0)
        before = Join::identity();
    if (totals && lane == lanes - 1 && column < width)
        totals[column] = sum;
    for (int k = first; k < end; k++) {
        const acc_t next = Join::join(before, spots[k * width + column]);
        spots[k * width + column] = before;
        before = next;
    }
}

/* Returns the sum of a column's strands before this thread's. Thread 'strand * width + column' has 'mine' to add.
 * 'sync' is a barrier of these threads. */
template <class Sync>
inline acc_t scan_strands(acc_t *spots, int width, int strands, int lanes, int thread, acc_t mine, acc_t *totals,
                          Sync sync) {
    spots[thread] = mine;
    sync();
    scan_spots<plain_join>(spots, width, strands, lanes, thread, totals);
    sync();
    return spots[thread];
}
