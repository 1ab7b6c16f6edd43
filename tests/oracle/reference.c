#include "reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

bool reference_has_value_of_nothing(tally_op op) {
    return op != TALLY_MIN && op != TALLY_MAX && op != TALLY_ARGMIN && op != TALLY_ARGMAX && op != TALLY_MINMAX;
}

bool reference_rounds_once(tally_op op, bool real) {
    const bool sums = op == TALLY_SUM || op == TALLY_NORM1 || op == TALLY_SUMSQ || op == TALLY_DOT;
    return (real && sums) || op == TALLY_MEAN || op == TALLY_NORM2 || op == TALLY_VAR || op == TALLY_STD;
}

/* All bits set: -1, or the type's largest value. */
static uint64_t ones(tally_dtype type) {
    return kind_of(type) == KIND_UNSIGNED ? highest_cell(type).u : UINT64_MAX;
}

void reference_start(reference *r, tally_op op, tally_dtype in, tally_dtype acc, tally_dtype out, tally_mode mode,
                     bool is_scan, exact_sum *exact) {
    memset(r, 0, sizeof *r);
    r->op = op;
    r->in = in;
    r->acc = acc;
    r->out = out;
    r->mode = mode;
    r->is_scan = is_scan;
    r->in_kind = kind_of(in);
    r->only_negative_zeros = true;
    r->half_ulp = is_float(acc) ? ldexpl(1, -precision_of(acc)) : 0x1p-53L;
    r->minimum = highest_cell(in);
    r->maximum = lowest_cell(in);
    r->wrapped = op == TALLY_PROD ? 1 : op == TALLY_BAND ? ones(in) : 0;
    if (op == TALLY_PROD)
        r->sum = 1;
    if (op == TALLY_LOGSUMEXP)
        r->largest = -(long double)INFINITY;
    if (mode == TALLY_EXACT && reference_rounds_once(op, is_float(in))) {
        r->exact = exact;
        exact_clear(&exact[0]);
        exact_clear(&exact[1]);
    }
}

/* Whether a wrapping 64-bit accumulator is what the sum is kept in. */
static bool in_integers(const reference *r) {
    return r->in_kind != KIND_FLOAT && !is_float(r->acc);
}

/* Neumaier's compensated sum in long double; the compensation would spoil infinities, so they are counted apart. */
static void add_term(reference *r, long double term) {
    if (!(term == 0 && signbit(term)))
        r->only_negative_zeros = false;
    if (isnan(term)) {
        r->nan = true;
    } else if (isinf(term)) {
        if (term > 0)
            r->positive_infinity = true;
        else
            r->negative_infinity = true;
    } else {
        long double sum = r->sum + term;
        if (fabsl(r->sum) >= fabsl(term))
            r->compensation += (r->sum - sum) + term;
        else
            r->compensation += (term - sum) + r->sum;
        r->sum = sum;
        r->magnitude += fabsl(term);
    }
}

/* logsumexp: sum holds the sum of exp(x - largest). */
static void add_exponential(reference *r, long double x) {
    if (isnan(x)) {
        r->nan = true;
        return;
    }
    if (isinf(x)) {
        if (x > 0)
            r->positive_infinity = true;
        return;
    }
    if (x > r->largest) {
        long double scale = expl(r->largest - x);
        r->sum *= scale;
        r->compensation *= scale;
        r->largest = x;
    }
    long double before = r->magnitude;
    add_term(r, expl(x - r->largest));
    r->magnitude = fmaxl(before, fabsl(x));
}

/* As min, max and minmax mean it: IEEE 754-2019, 9.6. Only exact mode promises the sign of a zero. */
static bool orders_zeros(const reference *r) {
    return r->mode == TALLY_EXACT && r->op != TALLY_ARGMIN && r->op != TALLY_ARGMAX;
}

static bool less(const reference *r, cell a, cell b) {
    if (r->in_kind == KIND_FLOAT)
        return a.d < b.d || (orders_zeros(r) && a.d == b.d && signbit(a.d) && !signbit(b.d));
    return r->in_kind == KIND_SIGNED ? a.i < b.i : a.u < b.u;
}

/* Whether x at an index replaces an extreme: a NaN before all values, the first of equals by index, in whatever
 * direction the scan goes. */
static bool replaces(const reference *r, bool is_less, bool is_greater, uint64_t index, uint64_t at, bool is_nan) {
    if (!r->started || is_nan != r->nan_seen)
        return !r->started || is_nan;
    return is_nan ? index < at : is_less || (!is_greater && index < at);
}

static void push_extremes(reference *r, cell x, uint64_t index) {
    bool is_nan = r->in_kind == KIND_FLOAT && isnan(x.d);
    if (r->in_kind == KIND_FLOAT && x.d == 0 && r->started && !orders_zeros(r)) {
        if (r->minimum.d == 0 && signbit(r->minimum.d) != signbit(x.d))
            r->minimum_mixed = true;
        if (r->maximum.d == 0 && signbit(r->maximum.d) != signbit(x.d))
            r->maximum_mixed = true;
    }
    if (replaces(r, less(r, x, r->minimum), less(r, r->minimum, x), index, r->at_minimum, is_nan)) {
        r->minimum = x;
        r->at_minimum = index;
    }
    if (replaces(r, less(r, r->maximum, x), less(r, x, r->maximum), index, r->at_maximum, is_nan)) {
        r->maximum = x;
        r->at_maximum = index;
    }
    r->nan_seen |= is_nan;
    r->started = true;
}

static uint64_t absolute_bits(const reference *r, cell x) {
    return r->in_kind == KIND_SIGNED && x.i < 0 ? 0 - x.u : x.u;
}

static long double as_real(number_kind k, cell x) {
    return k == KIND_FLOAT ? (long double)x.d : k == KIND_SIGNED ? (long double)x.i : (long double)x.u;
}

/* Scans of the variance cannot read the data twice. Welford's update, in long double, is 2^11 times finer than f64. It
 * goes by the distance from the first element, so that its own mean is not far from zero. */
static void update_moments(reference *r, long double x) {
    if (r->count == 0)
        r->first = x;
    x -= r->first;
    long double deviation = x - r->mean;
    r->mean += deviation / (long double)(r->count + 1);
    r->squares += deviation * (x - r->mean);
}

/* Scans of skewness and kurtosis: sums of powers of the distances from the first element. */
static void push_powers(reference *r, long double x) {
    if (r->count == 0)
        r->first = x;
    const long double d = x - r->first;
    r->differ |= d != 0;
    long double product = 1;
    for (int k = 0; k < 4; k++)
        r->power[k] += product *= d;
}

static bool is_left_out(const reference *r, cell x, cell y) {
    return r->skips_nan && r->in_kind == KIND_FLOAT && (isnan(x.d) || (r->op == TALLY_DOT && isnan(y.d)));
}

void reference_push(reference *r, cell x, cell y, uint64_t index) {
    bool real = r->in_kind == KIND_FLOAT;
    if (is_left_out(r, x, y)) {
        if (r->exact && r->is_scan) /* which is NumPy's nancumsum: NaNs are 0 */
            exact_add(r->exact, 0.0);
        return;
    }
    if (r->exact) {
        const uint64_t magnitude = real ? 0 : absolute_bits(r, x);
        const bool spread = r->op == TALLY_VAR || r->op == TALLY_STD;
        if (spread && real)
            exact_add_product(&r->exact[1], x.d, x.d);
        else if (spread)
            exact_add_integer(&r->exact[1], (unsigned __int128)magnitude * magnitude, false);
        if (!real && (r->op == TALLY_MEAN || spread))
            exact_add_integer(r->exact, magnitude, r->in_kind == KIND_SIGNED && x.i < 0);
        else if (!real)
            exact_add_integer(r->exact, (unsigned __int128)magnitude * magnitude, false);
        else if (r->op == TALLY_SUM || r->op == TALLY_MEAN || spread)
            exact_add(r->exact, x.d);
        else if (r->op == TALLY_NORM1)
            exact_add(r->exact, fabs(x.d));
        else
            exact_add_product(r->exact, x.d, r->op == TALLY_DOT ? y.d : x.d);
        r->count++;
        return;
    }
    switch (r->op) {
    case TALLY_SUM:
        r->wrapped += x.u;
        if (!in_integers(r))
            add_term(r, as_real(r->in_kind, x));
        break;
    case TALLY_PROD:
        r->wrapped *= x.u;
        r->sum *= as_real(r->in_kind, x);
        break;
    case TALLY_MIN:
    case TALLY_MAX:
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
    case TALLY_MINMAX:
        push_extremes(r, x, index);
        break;
    case TALLY_ANY:
    case TALLY_ALL:
    case TALLY_COUNT_NONZERO:
        r->nonzero += real ? x.d != 0 : x.u != 0;
        break;
    case TALLY_BAND:
        r->wrapped &= x.u;
        break;
    case TALLY_BOR:
        r->wrapped |= x.u;
        break;
    case TALLY_BXOR:
        r->wrapped ^= x.u;
        break;
    case TALLY_SUMSQ:
    case TALLY_NORM2:
        r->wrapped += x.u * x.u;
        add_term(r, as_real(r->in_kind, x) * as_real(r->in_kind, x));
        break;
    case TALLY_NORM1:
        r->wrapped += absolute_bits(r, x);
        if (!in_integers(r))
            add_term(r, fabsl(as_real(r->in_kind, x)));
        break;
    case TALLY_NORM_INF:
        if (!real && absolute_bits(r, x) > r->wrapped)
            r->wrapped = absolute_bits(r, x);
        if (real && isnan(x.d))
            r->nan = true;
        else if (real && fabs(x.d) > r->largest)
            r->largest = fabs(x.d);
        break;
    case TALLY_MEAN:
        add_term(r, as_real(r->in_kind, x));
        break;
    case TALLY_SKEWNESS:
    case TALLY_KURTOSIS:
        push_powers(r, as_real(r->in_kind, x));
        add_term(r, as_real(r->in_kind, x));
        break;
    case TALLY_VAR:
    case TALLY_STD:
        add_term(r, as_real(r->in_kind, x));
        if (r->is_scan)
            update_moments(r, as_real(r->in_kind, x));
        break;
    case TALLY_DOT:
        r->wrapped += x.u * y.u;
        if (!in_integers(r))
            add_term(r, as_real(r->in_kind, x) * as_real(r->in_kind, y));
        break;
    case TALLY_LOGSUMEXP:
        add_exponential(r, as_real(r->in_kind, x));
        break;
    default:
        break;
    }
    r->count++;
}

void reference_initial(reference *r, cell initial) {
    uint64_t count = r->count;
    number_kind given = kind_of(r->out);
    if (given == KIND_FLOAT && r->in_kind != KIND_FLOAT)
        initial.i = (int64_t)initial.d;
    else if (given != KIND_FLOAT && r->in_kind == KIND_FLOAT)
        initial.d = (double)initial.i;
    reference_push(r, initial, initial, 0);
    r->count = count;
}

bool reference_has_second_pass(const reference *r) {
    return !r->is_scan && !r->exact &&
           (r->op == TALLY_VAR || r->op == TALLY_STD || r->op == TALLY_SKEWNESS || r->op == TALLY_KURTOSIS);
}

static long double total(const reference *r) {
    if (r->nan || (r->positive_infinity && r->negative_infinity))
        return (long double)NAN;
    if (r->positive_infinity || r->negative_infinity)
        return r->positive_infinity ? (long double)INFINITY : -(long double)INFINITY;
    return r->sum + r->compensation;
}

void reference_begin_second(reference *r) {
    const long double n = (long double)r->count;
    r->mean = r->count ? total(r) / n : 0;
    r->mean_low = r->count ? (fmal(-r->mean, n, r->sum) + r->compensation) / n : 0;
    r->squares = 0;
}

void reference_second(reference *r, cell x) {
    if (is_left_out(r, x, x))
        return;
    long double deviation = as_real(r->in_kind, x) - r->mean - r->mean_low;
    r->squares += deviation * deviation;
    r->cubes += deviation * deviation * deviation;
    r->sizes += fabsl(deviation * deviation * deviation);
    r->fourths += deviation * deviation * deviation * deviation;
}

/* The factor of u T; see the header. */
static long double allowance(const reference *r) {
    uint64_t n = r->count + 1;
    return 24 + 2 * (64 - __builtin_clzll(n)) + (r->is_scan ? (long double)sqrt((double)n) : 0);
}

static void give_integer(expected *e, number_kind k, uint64_t bits) {
    memset(e, 0, sizeof *e);
    e->kind = k;
    e->bits = bits;
}

static void give_real(expected *e, long double value, long double bound) {
    memset(e, 0, sizeof *e);
    e->kind = KIND_FLOAT;
    e->value = value;
    e->bound = bound;
}

static void give_extreme(const reference *r, expected *e, bool largest) {
    cell x = largest ? r->maximum : r->minimum;
    if (r->in_kind != KIND_FLOAT) {
        give_integer(e, r->in_kind, x.u);
        return;
    }
    give_real(e, x.d, 0);
    e->any_zero = largest ? r->maximum_mixed : r->minimum_mixed;
}

static void give_sum(const reference *r, expected *e) {
    number_kind k = r->op == TALLY_NORM1 ? KIND_UNSIGNED : r->in_kind;
    if (in_integers(r)) {
        give_integer(e, k, r->wrapped);
        return;
    }
    give_real(e, total(r), r->exact_terms ? 0 : allowance(r) * r->half_ulp * r->magnitude);
    e->any_zero = r->only_negative_zeros || r->op == TALLY_DOT || r->op == TALLY_SUMSQ;
}

static void give_variance(const reference *r, int ddof, expected *e) {
    if ((long double)r->count <= ddof || !isfinite(total(r))) {
        give_real(e, (long double)NAN, 0);
        return;
    }
    long double divisor = (long double)r->count - ddof, n = (long double)r->count;
    long double k = allowance(r) * r->half_ulp;
    long double spread = r->squares / n;
    if (r->squares > (long double)DBL_MAX) { /* squares are summed in f64 */
        give_real(e, (long double)INFINITY, 0);
        return;
    }
    long double variance = r->squares / divisor, bound = k * spread;
    if (r->in_kind != KIND_FLOAT) { /* those of 64 bits are rounded on the way in */
        long double size = sqrtl(spread) + fabsl(r->mean + r->first), rounding = ldexpl(1, -53) * size;
        bound += 2 * rounding * sqrtl(spread) + rounding * rounding;
    }
    bound *= n / divisor;
    /* A rest below the smallest normal number of the accumulator may be lost on the way. */
    bound += ldexpl(1, smallest_exponent_of(is_float(r->acc) ? r->acc : TALLY_F64) + 8);
    if (r->op == TALLY_STD) {
        long double root = sqrtl(variance), below = sqrtl(fmaxl(variance - bound, 0));
        bound = (root + below > 0 ? bound / (root + below) : sqrtl(bound)) + 2 * r->half_ulp * root;
        variance = root;
    }
    give_real(e, variance, bound);
}

/* The sums of powers of the deviations from those of the distances from the first element: long double has 11 bits
 * more than f64, of which this may lose some. Returns what they may have lost, as a factor of 2^-64. */
static long double center_powers(reference *r) {
    const long double n = (long double)r->count, off = r->power[0] / n;
    const long double p2 = r->power[1], p3 = r->power[2], p4 = r->power[3];
    r->squares = p2 - off * r->power[0];
    r->cubes = p3 - 3 * off * p2 + 2 * off * off * r->power[0];
    r->fourths = p4 - 4 * off * p3 + 6 * off * off * p2 - 3 * off * off * off * r->power[0];
    r->sizes = sqrtl(fmaxl(r->squares, 0) * fmaxl(r->fourths, 0)); /* at least, by Cauchy and Schwarz */
    const long double spread = fmaxl(r->squares, 0x1p-16000L), ratio = p2 / spread;
    return n * ratio * ratio;
}

/* SciPy's skew and kurtosis. */
static void give_higher_moment(const reference *pushed, int ddof, expected *e) {
    reference copy = *pushed, *const r = &copy;
    const long double n = (long double)r->count;
    const bool third = r->op == TALLY_SKEWNESS;
    if (!r->differ || !isfinite(total(r))) {
        give_real(e, (long double)NAN, 0);
        return;
    }
    const long double lost = r->is_scan ? center_powers(r) : 0;
    const long double m2 = r->squares / n, root = sqrtl(m2);
    const long double biased = third ? r->cubes / n / (m2 * root) : r->fourths / n / (m2 * m2) - 3;
    const long double size = third ? r->sizes / n / (m2 * root) + 1 : biased + 3;
    long double value = biased, factor = 1;
    if (ddof > 0 && third && r->count > 2) {
        factor = sqrtl(n * (n - 1)) / (n - 2);
        value = factor * biased;
    }
    if (ddof > 0 && !third && r->count > 3) {
        factor = (n * n - 1) / ((n - 2) * (n - 3));
        value = factor * (biased + 3) - 3 * (n - 1) * (n - 1) / ((n - 2) * (n - 3));
    }
    long double rounding = 4 * allowance(r) * 0x1p-53L + lost * 0x1p-60L;
    if (r->in_kind != KIND_FLOAT) /* integers of 64 bits are rounded on the way in */
        rounding += 8 * 0x1p-53L * (fabsl(r->sum) / n + r->magnitude / n) / root;
    give_real(e, value, factor * rounding * (size + fabsl(value) + 3) + 2 * r->half_ulp * fabsl(value));
}

static void give_exact(const reference *r, int ddof, expected *e) {
    double value;
    switch (r->op) {
    case TALLY_MEAN:
        value = exact_mean(r->exact, r->out);
        break;
    case TALLY_NORM2:
        value = exact_root(r->exact, r->out);
        break;
    case TALLY_VAR:
    case TALLY_STD:
        value = exact_variance(&r->exact[0], &r->exact[1], (uint64_t)ddof, r->op == TALLY_STD, r->out);
        break;
    default:
        value = exact_value(r->exact, r->out);
    }
    give_real(e, (long double)value, 0);
    e->any_zero = r->op == TALLY_DOT || r->op == TALLY_SUMSQ || r->op == TALLY_NORM2;
}

/* Results of exact mode, and those that are formed from accumulators: their NaNs are the library's own. */
static bool has_plain_nan(const reference *r) {
    return r->mode == TALLY_EXACT || r->op == TALLY_MEAN || r->op == TALLY_VAR || r->op == TALLY_STD ||
           r->op == TALLY_NORM2 || r->op == TALLY_LOGSUMEXP || r->op == TALLY_SKEWNESS || r->op == TALLY_KURTOSIS;
}

static int value_of(const reference *r, int ddof, expected e[2]) {
    long double u = r->half_ulp, n = (long double)r->count;
    if (r->exact) {
        give_exact(r, ddof, e);
        return 1;
    }
    switch (r->op) {
    case TALLY_SUM:
    case TALLY_SUMSQ:
    case TALLY_NORM1:
    case TALLY_DOT:
        give_sum(r, e);
        return 1;
    case TALLY_PROD:
        if (in_integers(r))
            give_integer(e, r->in_kind, r->wrapped);
        else {
            const long double roundings = 8 + 8 * sqrtl(n) + (r->in == TALLY_BF16 ? n / 16 : 0);
            give_real(e, r->sum, r->exact_terms ? 0 : roundings * u * fabsl(r->sum));
        }
        return 1;
    case TALLY_MIN:
        give_extreme(r, e, false);
        return 1;
    case TALLY_MAX:
        give_extreme(r, e, true);
        return 1;
    case TALLY_MINMAX:
        give_extreme(r, e, false);
        give_extreme(r, e + 1, true);
        return 2;
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
        give_integer(e, KIND_SIGNED, r->op == TALLY_ARGMIN ? r->at_minimum : r->at_maximum);
        return 1;
    case TALLY_ANY:
        give_integer(e, KIND_UNSIGNED, r->nonzero != 0);
        return 1;
    case TALLY_ALL:
        give_integer(e, KIND_UNSIGNED, r->nonzero == r->count);
        return 1;
    case TALLY_COUNT_NONZERO:
        give_integer(e, KIND_SIGNED, r->nonzero);
        return 1;
    case TALLY_BAND:
    case TALLY_BOR:
    case TALLY_BXOR:
        give_integer(e, r->in_kind, r->wrapped);
        return 1;
    case TALLY_NORM2: {
        long double squares = total(r), root = sqrtl(squares);
        long double error = r->exact_terms ? 0 : allowance(r) * u * r->magnitude;
        give_real(e, root, root > 0 && isfinite(root) ? error / root + 2 * u * root : 0);
        e->any_zero = true;
        return 1;
    }
    case TALLY_NORM_INF:
        if (r->in_kind != KIND_FLOAT)
            give_integer(e, KIND_UNSIGNED, r->wrapped);
        else
            give_real(e, r->nan ? (long double)NAN : r->largest, 0);
        return 1;
    case TALLY_MEAN: {
        long double mean = r->count ? total(r) / n : (long double)NAN;
        long double error = r->exact_terms || !r->count ? 0 : allowance(r) * u * r->magnitude / n;
        give_real(e, mean, isfinite(mean) ? error + 2 * u * fabsl(mean) : 0);
        e->any_zero = true;
        return 1;
    }
    case TALLY_VAR:
    case TALLY_STD:
        give_variance(r, ddof, e);
        return 1;
    case TALLY_SKEWNESS:
    case TALLY_KURTOSIS:
        give_higher_moment(r, ddof, e);
        return 1;
    case TALLY_LOGSUMEXP: {
        long double value = r->nan                 ? (long double)NAN
                            : r->positive_infinity ? (long double)INFINITY
                            : isinf(r->largest)    ? -(long double)INFINITY
                                                   : r->largest + logl(r->sum + r->compensation);
        /* Integers have few different exponentials, and equal terms round the same way each time. */
        long double k = allowance(r) + (r->is_scan ? n : 0);
        give_real(e, value, isfinite(value) ? k * u * (1 + r->magnitude) : 0);
        return 1;
    }
    default:
        give_integer(e, KIND_UNSIGNED, 0);
        return 1;
    }
}

/* Where NaNs are left out and nothing is left: no index, and no extreme; scans have come no further than the identity.
 */
static void give_nothing(const reference *r, expected *e) {
    if (r->op == TALLY_ARGMIN || r->op == TALLY_ARGMAX)
        give_integer(e, KIND_SIGNED, (uint64_t)-1);
    else if (!r->is_scan)
        give_real(e, (long double)NAN, 0);
}

int reference_value(const reference *r, int ddof, expected e[2]) {
    const int count = value_of(r, ddof, e);
    for (int k = 0; k < count && r->skips_nan && r->in_kind == KIND_FLOAT && !r->started; k++)
        if (!reference_has_value_of_nothing(r->op))
            give_nothing(r, &e[k]);
    for (int k = 0; k < count; k++)
        e[k].plain_nan = has_plain_nan(r);
    return count;
}
