/* Exact partial sums that travel as bytes: two workers add, one merges and rounds. */
#include <string.h>

#include "example.h"

/* Makes a worker's message. */
static size_t partial_sum(const double *x, size_t n, unsigned char bytes[TALLY_ACCUMULATOR_MAX_BYTES]) {
    tally_accumulator *sum;
    size_t size;
    must(tally_accumulator_create(TALLY_SUM, TALLY_F64, &sum));
    must(tally_accumulator_add(sum, x, NULL, n));
    must(tally_accumulator_save(sum, bytes, TALLY_ACCUMULATOR_MAX_BYTES, &size));
    tally_accumulator_destroy(sum);
    return size;
}

int main(void) {
    const double x[] = {1e300, 1.0, 0x1p-51}, y[] = {-1e300, 2.0};
    unsigned char message[2][TALLY_ACCUMULATOR_MAX_BYTES];
    const size_t size[2] = {partial_sum(x, 3, message[0]), partial_sum(y, 2, message[1])};

    tally_accumulator *sum, *other;
    must(tally_accumulator_load(message[0], size[0], &sum));
    must(tally_accumulator_load(message[1], size[1], &other));
    must(tally_accumulator_merge(sum, other));
    double value;
    must(tally_accumulator_value(sum, TALLY_DEFAULT, &value));
    printf("%llu values, sum %.17g\n", (unsigned long long)tally_accumulator_count(sum), value);

    message[1][20] ^= 1; /* damaged on the way */
    if (tally_accumulator_load(message[1], size[1], &other) == TALLY_BAD_STATE)
        printf("refused: %s\n", tally_last_error());

    /* The saved bytes depend only on the values, not on who added which. */
    const double all[] = {2.0, 0x1p-51, 1e300, -1e300, 1.0};
    const size_t whole = partial_sum(all, 5, message[0]);
    size_t merged;
    must(tally_accumulator_save(sum, message[1], sizeof message[1], &merged));
    printf("same bytes: %s\n", whole == merged && memcmp(message[0], message[1], whole) == 0 ? "yes" : "no");
    tally_accumulator_destroy(sum);
    tally_accumulator_destroy(other);
    return 0;
}
