#include <stdio.h>

#include <tally/tally.h>

int main(void) {
    const double x[] = {1e16, 1.0, -1e16};
    double sum = 0;
    if (tally_sum_exact_f64(x, 3, &sum) != TALLY_OK)
        fprintf(stderr, "%s\n", tally_last_error());
    return sum != 1.0;
}
