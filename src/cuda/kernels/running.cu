/* The sum of elements that one thread adds one after the other, where that is cheaper than to lift each element and to
 * combine. A is the type of the sum, acc_t or lane_t; an element is lifted to L first. */
template <class A, class B> constexpr bool ARE_SAME = false;
template <class A> constexpr bool ARE_SAME<A, A> = true;

/* Whether a combination has a division or an exponential of doubles, and a warp's together have one, too. */
enum { COMBINES_SLOWLY = (IS_LOGSUMEXP && sizeof(acc_t) > 8) || MOMENTS == 2 };
/* Accumulators that combine_all() takes together then; more registers than eight large ones have would spill. */
#define COMBINES_TOGETHER (IS_LOGSUMEXP || MOMENTS == 2)
enum { MOST_TOGETHER = sizeof(acc_t) > 16 ? 4 : 8 };

/* Whether squares of distances may overflow; those of integers do not. */
enum { CAN_OVERFLOW = ARE_SAME<value_t, double> };

enum { SETTLING = 8 }; /* elements after which a scan's sum settles, to keep digits for more */

#if MOMENTS
/* The accumulator of n elements, whose distances from 'shift' and the squares of those have these sums. */
template <class A> inline A moments_about(double n, double shift, double distances, double squares) {
    A r = identity_as<A>();
    r.a0 = n;
    r.a1 = shift;
    r.a2 = distances * reciprocal(n);
    const double rest = __fma_rn(-distances, r.a2, squares);
    r.a3 = rest < 0 ? 0 : rest; /* below 0 can only be rounding */
    return r;
}

/* Sums of powers of the distances of elements from a number. */
struct powers {
    double distances = 0, squares = 0;
#if MOMENTS > 2
    double cubes = 0;
#endif
#if MOMENTS == 4
    double fourths = 0;
#endif

    void add_distance(double away) {
        distances += away;
        [[maybe_unused]] const double square = away * away;
        squares = __fma_rn(away, away, squares);
#if MOMENTS > 2
        cubes = __fma_rn(square, away, cubes);
#endif
#if MOMENTS == 4
        fourths = __fma_rn(square, square, fourths);
#endif
    }
    void add_powers(const powers &more) {
        distances += more.distances;
        squares += more.squares;
#if MOMENTS > 2
        cubes += more.cubes;
#endif
#if MOMENTS == 4
        fourths += more.fourths;
#endif
    }
    /* Adds what another thread has added, from the same number. */
    template <class Move> void add_from(Move move) {
        distances += move(distances);
        squares += move(squares);
#if MOMENTS > 2
        cubes += move(cubes);
#endif
#if MOMENTS == 4
        fourths += move(fourths);
#endif
    }
    /* Adds an accumulator whose mean is more by 'away' than the number. */
    template <class A> void add_accumulator(const A &acc, double away) {
        const double all = acc.a0 * away, all_squares = __fma_rn(all, away, acc.a3);
        distances += all;
        squares += all_squares;
#if MOMENTS > 2
        cubes += acc.a4 + away * (2 * acc.a3 + all_squares);
#endif
#if MOMENTS == 4
        fourths += acc.a5 + away * (4 * acc.a4 + away * (5 * acc.a3 + all_squares));
#endif
    }
    /* Takes the distances of n elements from a number that is less by 'by', in the powers above the second. */
    void move_higher(double n, double by) {
#if MOMENTS == 4
        fourths += by * (4 * cubes + by * (6 * squares + by * (4 * distances + by * n)));
#endif
#if MOMENTS > 2
        cubes += by * (3 * squares + by * (3 * distances + by * n));
#endif
    }
    /* The same for all powers. */
    void move(double n, double by) {
        move_higher(n, by);
        const double moved = __fma_rn(n, by, distances);
        squares = __fma_rn(by, distances + moved, squares);
        distances = moved;
    }
    /* Gives an accumulator these powers above the second. */
    template <class A> void give_higher(A *acc) const {
#if MOMENTS > 2
        acc->a4 = cubes;
#endif
#if MOMENTS == 4
        acc->a5 = fourths;
#endif
    }
};
#endif

#if MOMENTS && (IS_SCAN || MOMENTS == 2)
/* count + number, of a count less than 2^52. */
struct counter {
    double less; /* by 2^52 */

    counter(double count) : less(count - 0x1p52) {}
    double plus(uint32 number) const {
        return less + __longlong_as_double(0x4330000000000000ll | number);
    }
};
#endif

#if MOMENTS
#if IS_SCAN || MOMENTS == 2
#if MOMENTS == 2
/* The variance of n elements, or its root: 'distances' and 'squares' are sums of their distances from any number and
 * of the squares of those. A scan does this for each element, and short columns after a few. So there is one reciprocal
 * for both divisions, no branch, and integers decide where they can, because a processor has half as many units for
 * doubles. */
inline double reciprocal_of_count(double n) {
    const double r = reciprocal_nearby(n);
    return sizeof(out_t) == 8 ? reciprocal(n) : __fma_rn(__fma_rn(-n, r, 1.0), r, r); /* to 40 bits */
}
/* The root to an ulp or two, of narrower results to 40 bits. NaN and what is not above 0 stay; without IsFinite infinity
 * does, too. */
template <bool IsFinite> inline double root_of_variance(double x) {
    constexpr int LEAST_NORMAL = 0x00100000; /* upper half; the approximation looks at that alone */
    const int high = __double2hiint(x), bounded = high < LEAST_NORMAL ? LEAST_NORMAL : high;
    const double r = inverse_root_nearby(__hiloint2double(bounded, 0)), near = x * r, rest = __fma_rn(-near, r, 1.0);
    const double root = __fma_rn(sizeof(out_t) == 8 ? __fma_rn(rest, 0.375, 0.5) : 0.5, rest * near, near);
    return IsFinite || high != 0x7ff00000 ? root : x;
}
/* Every NaN is written as the same one; integers have none but that. */
template <class Out> inline Out output_of_variance(double x) {
    if constexpr (sizeof(Out) == 8)
        return value_t(0.5) != value_t(0) && (uint32)__double2hiint(x) << 1 > 0xffe00000u ? NOT_A_NUMBER : x;
    else
        return output_of_real<Out>((float)x);
}
template <bool IsFinite> inline double real_variance(double distances, double squares, double n) {
    constexpr bool CAN_BE_TOO_FEW = !INCLUSIVE || DDOF || SKIPS_NAN;
    const double of_n = reciprocal_of_count(n);
    const double powers = fabs(__fma_rn(-distances * of_n, distances, squares)); /* only rounding makes it less than 0 */
    const double variance = powers * (DDOF ? reciprocal_of_count(n - DDOF) : of_n);
    const double number = IS_STD ? root_of_variance<IsFinite>(variance) : variance;
    return CAN_BE_TOO_FEW && !(n > DDOF) ? NOT_A_NUMBER : number;
}
/* With IsFinite no power is infinite; it may be NaN. */
template <bool IsFinite = false> inline result_t variance_of(double distances, double squares, double n) {
    return output_of_variance<out_t>(real_variance<IsFinite>(distances, squares, n));
}
#else
/* 1 / sqrt(x) of a normal number, to an ulp or two; of 0 and less it is NaN. */
inline double inverse_root(double x) {
    const double r = inverse_root_nearby(x), rest = __fma_rn(-x * r, r, 1.0);
    return __fma_rn(__fma_rn(rest, 0.375, 0.5), rest * r, r);
}
/* Skewness or kurtosis of n elements, of sums of powers of their distances from any number. A scan does this for each
 * element, so divisions are by reciprocals and nothing takes a branch. No spread gives NaN, as 0 times infinity is. */
inline result_t moment_of(powers of, double n) {
    const double of_n = reciprocal(n), of_rest = DDOF ? reciprocal(MOMENTS == 3 ? n - 2 : (n - 2) * (n - 3)) : 0;
    const double away = of.distances * of_n, squares = __fma_rn(-of.distances, away, of.squares);
    of.move_higher(n, -away);
    double result;
#if MOMENTS == 3
    const double root = inverse_root(squares * of_n), all = n * (n - 1);
    result = of.cubes * of_n * root * root * root;
    if (DDOF)
        result *= n > 2 ? all * inverse_root(all) * of_rest : 1;
#else
    const double inverse = reciprocal(squares), ratio = n * (of.fourths * inverse * inverse);
    result = DDOF && n > 3 ? ((n * n - 1) * ratio - 3 * (n - 1) * (n - 1)) * of_rest : ratio - 3;
#endif
    return output_of_real<out_t>(is_nan(result) ? NOT_A_NUMBER : result);
}
#endif
#endif

/* The distances of the elements from a shift, and their squares, are added up, which needs no division per element, as
 * a running mean would. At the end, count times the square of the distance between the shift and the mean is
 * subtracted, which leaves the squares of the distances from the mean. The shift is the mean of what was added before,
 * or the first element. One of 'count' elements is at most sqrt(count - 1) standard deviations from their mean. So the
 * squares are at most 'count' times as large as the rest, and at most log2(count) of their 53 bits are lost. Of higher
 * powers too many would be, so after FIRST_FEW elements the shift is their mean. */
enum { FIRST_FEW = 4 };
template <class A, class L = A> struct running : powers {
    double before = 0; /* elements that the sum began with */
    double shift = 0;
    double zero = 0; /* NaN once an element is not finite: squares of doubles overflow without that, too */
    uint32 count = 0;
    bool has_shift = false;

    running() = default;
    running(const A &acc) : before(acc.a0), has_shift(acc.a0 != 0) {
        const double mean = acc.a1 + acc.a2, part = mean - acc.a1;
        shift = mean;
        add_accumulator(acc, acc.a1 - (mean - part) + (acc.a2 - part)); /* the mean's rest (Knuth's two-sum) */
        zero = is_nan(acc.a3) ? acc.a3 : 0;
    }
    /* Tells an element near the others before the first is added. A caller that knows one spares every add() a test. */
    void begin(value_t x) {
        if (SKIPS_NAN && is_nan(x))
            return;
        if (!has_shift)
            shift = (double)x;
        has_shift = true;
    }
    void add(value_t x, value_t, uint64) {
        add_from_shift(x);
        if (MOMENTS > 2 && count == FIRST_FEW && before == 0)
            settle();
    }
    /* As add(); the shift stays. */
    void add_from_shift(value_t x) {
        begin(x);
        const bool counts = !SKIPS_NAN || !is_nan(x);
        add_distance(counts ? (double)x - shift : 0);
        if (CAN_OVERFLOW)
            zero += counts ? (double)x * 0.0 : 0;
        count += counts;
    }
    void append(value_t x, value_t y, uint64 i) {
        add(x, y, i);
    }
    void append_or_begin(bool is_first, value_t x, value_t y, uint64 i) {
        *this = is_first ? running() : *this;
        add(x, y, i);
    }
    void add_next(value_t x, value_t y, uint64 i) {
        add(x, y, i);
    }
    /* Adds what another thread has added from the same shift. */
    template <class Move> void add_from(Move move) {
        powers::add_from(move);
        if (CAN_OVERFLOW)
            zero += move(zero);
        count += move(count);
    }
    /* Takes what another thread has added from the same shift. */
    template <class Move> void move_from(Move move) {
        distances = move(distances);
        squares = move(squares);
        if (CAN_OVERFLOW)
            zero = move(zero);
        count = move(count);
    }
    /* Moves the shift to the mean of all so far, so that few bits of what follows are lost. */
    void settle() {
        const double n = before + small_number(count), away = n > 0 ? distances * reciprocal(n) : 0;
        const double mean = shift + away, moved = mean - shift, rest = __fma_rn(-n, moved, distances);
        if (!IS_FINITE(squares))
            return;
        move_higher(n, -moved);
        squares = __fma_rn(-moved, distances + rest, squares);
        distances = rest;
        shift = mean;
        before = n;
        count = 0;
    }
#if IS_SCAN || MOMENTS == 2
    /* What lower() gives for sum(), without an accumulator. */
    result_t result(uint64) const {
        const double n = counter(before).plus(count);
#if MOMENTS == 2
        const bool has_overflown = CAN_OVERFLOW && ((uint32)__double2hiint(squares) & 0x7ff00000) == 0x7ff00000;
        const double all = has_overflown ? zero + range<double>::highest() : squares;
        return variance_of(has_overflown ? 0 : distances, all, n);
#else
        if (CAN_OVERFLOW && !(squares > 0x1p-900 && squares < 0x1p400)) /* whose reciprocal may be none */
            return lower(sum(), 0, 0);
        return moment_of(*this, n);
#endif
    }
#endif
    A sum() const {
        if (count == 0 && before == 0)
            return identity_as<A>();
        A r = moments_about<A>(before + small_number(count), shift, distances, squares);
        if (CAN_OVERFLOW && !IS_FINITE(squares))
            r.a3 = zero + range<double>::highest();
        powers higher = *this;
        higher.move_higher(r.a0, -r.a2);
        higher.give_higher(&r);
        return r;
    }
};
#else
template <class A, class L = A> struct running {
    A acc = identity_as<A>();

    running() = default;
    running(const A &acc) : acc(acc) {}
    void begin(value_t) {}
    void add(value_t x, value_t y, uint64 i) {
        if constexpr (ARE_SAME<A, L>)
            acc = combine(acc, lift_as<A>(x, y, i));
        else
            acc = combine(acc, widen(lift_as<L>(x, y, i)));
    }
    /* The next in the order of a scan. */
    void add_next(value_t x, value_t y, uint64 i) {
        if (REVERSE)
            add(x, y, i);
        else
            append(x, y, i);
    }
    /* An element whose index is larger than those before it. */
    void append(value_t x, value_t y, uint64 i) {
#if IS_ARGMIN || IS_ARGMAX
        const A next = lift_as<A>(x, y, i);
#if NAN_IS_IDENTITY
        const bool is_next = IS_ARGMIN ? next.a0 < acc.a0 : next.a0 > acc.a0;
        acc = is_next || is_nan(acc.a0) ? next : acc;
#else
        /* A NaN is better than any number, and the first NaN stays. The first element of all is always taken: NO_INDEX
         * says that there is none yet. */
        const bool is_better = IS_ARGMIN ? !(acc.a0 <= next.a0) : !(acc.a0 >= next.a0);
        acc = (is_better & acc.a0 == acc.a0) | acc.a1 == (decltype(acc.a1))NO_INDEX ? next : acc; /* without a branch */
#endif
#else
        add(x, y, i);
#endif
    }
    /* The same, or the first of a new sum. */
    void append_or_begin(bool is_first, value_t x, value_t y, uint64 i) {
#if (IS_ARGMIN || IS_ARGMAX) && !NAN_IS_IDENTITY
        const A next = lift_as<A>(x, y, i);
        const bool is_better = IS_ARGMIN ? !(acc.a0 <= next.a0) : !(acc.a0 >= next.a0);
        acc = is_first | (is_better & acc.a0 == acc.a0) ? next : acc;
#else
        acc = is_first ? identity_as<A>() : acc;
        append(x, y, i);
#endif
    }
    void settle() {}
    /* What a scan gives behind 'count' elements. */
    result_t result(uint64 count) const {
        return lower(acc, count, 0);
    }
#if FACTORS > 1
    /* Multiplies by the product of up to FACTORS elements, which 32 bits hold. */
    void multiply(uint32 product) {
        hide(product); /* or the compiler multiplies elements of 64 bits, since no product overflows */
        acc.a0 *= value_t(-1) < value_t(0) ? (uint64)(int32)product : product;
    }
#endif
    A sum() const {
        return acc;
    }
};
#endif

#if BRIEF_MOMENTS == MOMENTS_IN_INTEGERS || INTEGER_TERMS
template <int Bytes> struct unsigned_of_square {
    typedef uint32 type;
};
template <> struct unsigned_of_square<2> {
    typedef uint64 type;
};
typedef typename unsigned_of_square<sizeof(in_t)>::type square_t;

/* Sums of up to 2^15 integers of one or two bytes and of their squares, which are exact. The elements of a word are
 * added together. */
struct integer_sums {
    int32 all = 0;
    square_t squares = 0;

    void add_element(value_t x) {
        const int32 number = (int32)x;
        all += number;
        squares += (square_t)((int64)number * number);
    }
    template <class T> void add_word(uint32 word) {
        if constexpr (sizeof(T) == 1) {
            all = (int32)add_bytes<T>(word, (uint32)all);
            squares = add_squares_of_bytes<T>(word, squares);
        } else {
            const int32 low = (T)word, high = (T)(word >> 16);
            all += low + high;
            squares += (square_t)((int64)low * low);
            squares += (square_t)((int64)high * high);
        }
    }
    void add(const integer_sums &more) {
        all += more.all;
        squares += more.squares;
    }
    void subtract(const integer_sums &less) {
        all -= less.all;
        squares -= less.squares;
    }
    /* The sum of the squares of 'count' elements' distances from their mean. */
    double spread(uint32 count) const {
        const int64 sum = all;
        return (double)(int64)(count * (uint64)squares - (uint64)(sum * sum)) * reciprocal(small_number(count));
    }
    template <class A> A moments(uint32 count) const {
        A r = identity_as<A>();
        if (count == 0)
            return r;
        const double inverse = reciprocal(small_number(count)), sum = (double)all;
        r.a0 = small_number(count);
        r.a1 = sum * inverse;
        r.a2 = __fma_rn(-r.a0, r.a1, sum) * inverse;
        r.a3 = spread(count);
        return r;
    }
};
#endif

#if BRIEF_MOMENTS
/* The moments of up to LIMIT elements of a reduction, without doubles for each of them. Integers of one and two bytes
 * have exact sums. Halves have distances from the first of them in floats: 128 elements may cost 7 of 24 bits, and
 * results have 11. */
#if BRIEF_MOMENTS == MOMENTS_IN_INTEGERS
template <class A> struct brief_sums : integer_sums {
    enum { LIMIT = 4096 };
    uint32 count = 0;

    void begin(value_t) {}
    void add(value_t x, value_t, uint64) {
        add_element(x);
        count++;
    }
    /* Adds what another thread has added. */
    template <class Move> void add_from(Move move) {
        count += move(count);
        all += move(all);
        squares += move(squares);
    }
    A sum() const {
        return moments<A>(count);
    }
    result_t result(uint64) const {
        return variance_of(0, spread(count), small_number(count));
    }
};
#else
template <class A> struct brief_sums {
    enum { LIMIT = 128 };
    float shift = 0, distances = 0, squares = 0;
    uint32 count = 0;
    bool has_shift = false;

    void begin(value_t x) {
        shift = has_shift ? shift : x;
        has_shift = true;
    }
    /* Adds what another thread has added from the same shift. */
    template <class Move> void add_from(Move move) {
        count += move(count);
        distances += move(distances);
        squares += move(squares);
    }
    void add(value_t x, value_t, uint64) {
        begin(x);
        const float away = x - shift;
        distances += away;
        squares = __fmaf_rn(away, away, squares);
        count++;
    }
    A sum() const {
        return count ? moments_about<A>(small_number(count), shift, distances, squares) : identity_as<A>();
    }
    result_t result(uint64) const {
        return variance_of(distances, squares, small_number(count));
    }
};
#endif
template <class A> struct brief : brief_sums<A> {
    void append(value_t x, value_t y, uint64 i) {
        this->add(x, y, i);
    }
    void append_or_begin(bool is_first, value_t x, value_t y, uint64 i) {
        *this = is_first ? brief() : *this;
        this->add(x, y, i);
    }
};
#else
template <class A> using brief = running<A>;
#endif

#if HALF_MOMENTS
/* A running variance of halves down a short column, in floats: of some thousand squares at most 12 of 24 bits are lost,
 * and results have 11. */
struct short_running {
    float count = 0, shift = 0, distances = 0, squares = 0;
    bool has_shift = false;

    short_running() = default;
    short_running(const acc_t &acc) : count((float)acc.a0), shift((float)acc.a1) {
        const double away = acc.a1 - shift + acc.a2; /* the mean's distance */
        distances = (float)(acc.a0 * away);
        squares = (float)(acc.a3 + acc.a0 * away * away);
        has_shift = acc.a0 != 0;
    }
    void begin(value_t x) {
        shift = has_shift ? shift : x;
        has_shift = true;
    }
    void add_from_shift(value_t x) {
        const float away = x - shift;
        distances += away;
        squares = __fmaf_rn(away, away, squares);
        count += 1;
    }
    void add_next(value_t x, value_t, uint64) {
        begin(x);
        add_from_shift(x);
    }
    template <class Move> void add_from(Move move) {
        distances += move(distances);
        squares += move(squares);
        count += move(count);
    }
    template <class Move> void move_from(Move move) {
        distances = move(distances);
        squares = move(squares);
        count = move(count);
    }
    void settle() {}
    result_t result(uint64) const {
        const float of_n = reciprocal_nearby(count), rest = __fmaf_rn(-distances * of_n, distances, squares);
        const float variance = (rest < 0 ? 0 : rest) * (DDOF ? reciprocal_nearby(count - DDOF) : of_n);
        const float result = IS_STD ? root_nearby(variance) : variance;
        return output_of_real<out_t>(count > DDOF && result >= 0 ? result : (float)NOT_A_NUMBER);
    }
    acc_t sum() const {
        return count > 0 ? moments_about<acc_t>(count, shift, distances, squares) : identity_as<acc_t>();
    }
};
#else
typedef running<acc_t> short_running;
#endif

#if MOMENTS == 2
/* Combines accumulators with one division: as in fold_warp_in_order() (fold_block.cu). */
template <int Count> inline acc_t combine_all(const acc_t (&of)[Count]) {
    acc_t r = {0, 0, 0, 0};
    double distance[Count], distances = 0;
    bool stays = false;
#pragma unroll
    for (int k = Count - 1; k >= 0; k--)
        r.a1 = of[k].a0 > 0 ? of[k].a1 : r.a1;
#pragma unroll
    for (int k = 0; k < Count; k++) {
        distance[k] = of[k].a0 > 0 ? 0.5 * of[k].a1 - 0.5 * r.a1 + 0.5 * of[k].a2 : 0; /* half of it */
        r.a0 += of[k].a0;
        distances += of[k].a0 * 0x1p-64 * distance[k];
        stays |= !IS_FINITE(of[k].a3);
    }
    const double mean = distances * (reciprocal(r.a0 > 0 ? r.a0 : 1) * 0x1p64);
    r.a2 = 2 * mean;
#pragma unroll
    for (int k = 0; k < Count; k++) {
        const double away = distance[k] - mean;
        r.a3 += of[k].a3 + (of[k].a0 > 0 && !stays ? 4 * of[k].a0 * away * away : 0);
    }
    return r;
}
#endif
