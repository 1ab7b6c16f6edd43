/* What a thread of a reduction adds up, element after element, in registers of its own. */

enum { VECTOR = 16 / sizeof(in_t) /* elements that one load brings */ };

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
/* Sums of elements, and of their squares, away from a shift, the first of them: no division an element. The shift is at
 * most sqrt(count - 1) standard deviations from their mean, so of the squares' 53 bits no more than log2(count) are lost
 * when what that adds to them is taken off again. */
struct lanes {
    enum { LIMIT = 128 / VECTOR }; /* vectors, before they are to be taken */
    double shift = 0, sum = 0, squares = 0;
    uint32 count = 0;
    bool has_shift = false;

    void shift_to(value_t x) {
        shift = (double)x;
        has_shift = true;
    }
    void add(int, value_t x, value_t, uint64) {
        if (!has_shift)
            shift_to(x);
        const double away = (double)x - shift;
        sum += away;
        squares += away * away;
        count++;
    }
    /* What was added, of which nothing is left. */
    acc_t take() {
        acc_t r = identity_as<acc_t>();
        if (count) {
            const double mean = sum / count, of_shift = sum * mean;
            r.a0 = count;
            r.a1 = shift + mean;
            r.a2 = squares - squares != 0 ? squares : squares < of_shift ? 0 : squares - of_shift;
        }
        *this = lanes();
        return r;
    }
};
#else
/* A lane for each element of a vector. */
struct lanes {
    enum { LIMIT = LANE_LIMIT };
    lane_t lane[VECTOR];

    lanes() {
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            lane[k] = identity_as<lane_t>();
    }
    void add(int k, value_t x, value_t y, uint64 index) {
        lane[k] = append(lane[k], x, y, index);
    }
    acc_t take() {
        acc_t acc = widen(lane[0]);
#pragma unroll
        for (int k = 1; k < VECTOR; k++)
            acc = combine(acc, widen(lane[k]));
        *this = lanes();
        return acc;
    }
};
#endif

/* A vector of elements, of two inputs, whose first has this index. */
inline void add_vector(lanes &l, const in_t *x, const in_t *y, uint64 index) {
#pragma unroll
    for (int k = 0; k < VECTOR; k++)
        l.add(k, value_of(x[k]), HAS_SECOND ? value_of(y[k]) : value_t(0), index + k);
}
