/* The simple layer: one call on host memory. */
#include <stdio.h>
#include <tally/tally.h>

int main(void) {
    const int32_t counts[] = {3, 1, 4, 1, 5, 9, 2, 6};
    int64_t total, first_largest, running[8];
    int32_t range[2];

    tally_status status = tally_sum_i32(counts, 8, &total);
    if (status == TALLY_OK)
        status = tally_reduce(TALLY_ARGMAX, TALLY_I32, counts, 8, &first_largest);
    if (status == TALLY_OK)
        status = tally_reduce(TALLY_MINMAX, TALLY_I32, counts, 8, range); /* two elements */
    if (status == TALLY_OK)
        status = tally_scan(TALLY_SUM, TALLY_I32, counts, 8, running); /* of i32 gives i64 */
    if (status != TALLY_OK) {
        fprintf(stderr, "%s: %s\n", tally_status_name(status), tally_last_error());
        return 1;
    }
    printf("total %lld, largest at %lld, from %d to %d, running total ends at %lld\n", (long long)total,
           (long long)first_largest, range[0], range[1], (long long)running[7]);
    return 0;
}
