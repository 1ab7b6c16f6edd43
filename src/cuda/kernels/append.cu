/* Elements that are folded one after another, or many at once, where that is cheaper than lifting each and combining. */

/* One element more, whose index is larger than those before it. */
template <class A> inline A append(A acc, value_t value, value_t partner, uint64 i) {
    A next = lift_as<A>(value, partner, i);
#if IS_ARGMIN || IS_ARGMAX
    /* a NaN stays, and is taken unless there is one; so is the first of all */
    bool is_better = IS_ARGMIN ? !(acc.a0 <= next.a0) : !(acc.a0 >= next.a0);
    return (is_better && acc.a0 == acc.a0) || acc.a1 == NO_INDEX ? next : acc;
#else
    return combine(acc, next);
#endif
}

#if IS_MOMENTS
enum { HAS_MANY = 1 };
/* Their mean first, then the squares of what they are away from it: no division an element. */
template <int Count> inline lane_t lift_many(const in_t *x) {
    double sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < Count; k++)
        sum += (double)value_of(x[k]);
    const double mean = sum * (1.0 / Count);
#pragma unroll
    for (int k = 0; k < Count; k++) {
        double away = (double)value_of(x[k]) - mean;
        squares += away * away;
    }
    lane_t r;
    r.a0 = Count;
    r.a1 = mean;
    r.a2 = squares;
    return r;
}
#else
enum { HAS_MANY = 0 };
template <int Count> inline lane_t lift_many(const in_t *) {
    return identity_as<lane_t>();
}
#endif
