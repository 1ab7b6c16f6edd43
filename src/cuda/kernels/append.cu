/* The sum of a reduction's thread: elements are added one after the other, in the thread's own registers. */

enum { VECTOR = 16 / sizeof(in_t) /* elements that one load brings */ };

/* Adds an element whose index is larger than those before it. */
template <class A> inline A append(A acc, value_t value, value_t partner, uint64 i) {
    A next = lift_as<A>(value, partner, i);
#if IS_ARGMIN || IS_ARGMAX
    /* A NaN is better than any number, and the first NaN stays. The first element of all is always taken: NO_INDEX says
     * that there is none yet. */
    bool is_better = IS_ARGMIN ? !(acc.a0 <= next.a0) : !(acc.a0 >= next.a0);
    return (is_better && acc.a0 == acc.a0) || acc.a1 == NO_INDEX ? next : acc;
#else
    return combine(acc, next);
#endif
}

#if IS_MOMENTS
/* The first element is a shift. The distances of all elements from it and their squares are added up, which needs no
 * division per element, as a running mean would. At the end, count times the square of the distance between the shift
 * and the mean is subtracted, which leaves the squares of the distances from the mean. One of 'count' elements is at
 * most sqrt(count - 1) standard deviations from their mean. So the squares are at most 'count' times as large as the
 * rest, and at most log2(count) of their 53 bits are lost. */
struct lanes {
    enum { LIMIT = 128 / VECTOR }; /* vectors that may be added before take() */
    double shift = 0, sum = 0, squares = 0;
    double zero = 0; /* NaN once an element is not finite: squares of doubles overflow without that, too */
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
        if (sizeof(value_t) == 8)
            zero += (double)x * 0.0;
        count++;
    }
    /* Adds what another thread's lanes have, with the same shift. */
    template <class Move> void add_from(Move move) {
        sum += move(sum);
        squares += move(squares);
        if (sizeof(value_t) == 8)
            zero += move(zero);
        count += move(count);
    }
    /* Returns the sum and starts again from zero elements. */
    acc_t take() {
        acc_t r = identity_as<acc_t>();
        if (count) {
            const double mean = sum / count, of_shift = sum * mean;
            r.a0 = count;
            r.a1 = shift;
            r.a2 = mean;
            if (IS_FINITE(squares)) /* a difference below 0 can only be rounding */
                r.a3 = squares < of_shift ? 0 : squares - of_shift;
            else
                r.a3 = sizeof(value_t) == 8 ? zero + range<double>::highest() : squares - squares;
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

/* Adds a vector of elements (and of the second input's, if there is one). 'index' is that of the first. */
inline void add_vector(lanes &l, const in_t *x, const in_t *y, uint64 index) {
#pragma unroll
    for (int k = 0; k < VECTOR; k++)
        l.add(k, value_of(x[k]), HAS_SECOND ? value_of(y[k]) : value_t(0), index + k);
}
