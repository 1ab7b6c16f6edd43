/* halving: the sum of the first half plus the sum of the second, each computed in the same way, down to one value. The
 * second half takes the odd element.
 *
 * Removes: the chain of n additions: it is now as deep as a tree, log2(n). The error shrinks, too, because every value
 * passes through log2(n) roundings instead of up to n.
 * Left: a function call for every value, which costs more than its addition. A GPU needs a tree; a CPU needs fewer,
 * wider steps.
 * Look at: the error, the smallest of all plain float sums. */
#include "step.h"

static value half_sum(const value *x, size_t n) {
    return n == 1 ? x[0] : half_sum(x, n / 2) + half_sum(x + n / 2, n - n / 2);
}

STEP(halving) {
    *out = n == 0 ? 0 : half_sum(x, n);
}
