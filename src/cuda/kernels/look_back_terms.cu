/* Logsumexp, var and std of a block that has one tile. The terms are relative to a number that the tile alone gives, its
 * largest element or its first one. So the tile's sum is known, and published, as soon as the terms are. In the pipeline's
 * finish_terms() (scan_terms.cu) summers have published it before, and the number also depends on the sum before the
 * tile. What both share precedes that function. */

#if !IS_LOGSUMEXP
constexpr double MOST_AWAY = 64; /* With squares so many times as large as relative to the mean, digits are lost. */
#if MOMENTS == 2
/* The first element of a tile in logical order that is no NaN, among a few. */
inline value_t first_number(const tile &t, const in_t *elements) {
    enum { FEW = 8 };
    value_t x = value_of(load(elements + (REVERSE ? t.count - 1 : 0)));
    for (int k = 1; k < FEW && k < t.count && is_nan(x); k++)
        x = value_of(load(elements + (REVERSE ? t.count - 1 - k : k)));
    return x;
}
#else
/* The mean of some of a tile's elements: of each fourth, if stretches begin with one of them. Relative to it the
 * squares are at most five times as large as relative to the mean of all, because the sum of some distances is at most
 * the root of their number times that of their squares (Cauchy and Schwarz). */
enum { APART = ITEMS % 4 == 0 ? 4 : ITEMS % 2 == 0 ? 2 : 1 };
template <class Items, class IsThere> inline double mean_of_some(const tile &t, const Items &items, IsThere is_there) {
    double sum = 0, number = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const value_t x = value_of(items[k]);
        const bool counts = is_there(k) && !(SKIPS_NAN && is_nan(x));
        if ((REVERSE ? ITEMS - 1 - k : k) % APART == 0) {
            sum += counts ? (double)x : 0;
            number += counts ? 1 : 0;
        }
    }
    number = SKIPS_NAN ? fold_of_block(number, [](real a, real b) { return a + b; })
                       : (double)((t.count + APART - 1) / APART);
    return fold_of_block(sum, [](real a, real b) { return a + b; }) * reciprocal(number);
}
#endif
#endif

/* Finishes a tile. Returns false, to all threads and before any result is written, if terms do not hold it. */
inline bool finish_terms(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                         int in_turn, bool has_base, const acc_t &base) {
    const int stretch = REVERSE ? FINISHERS - 1 - thread : thread, there = items_there(t, stretch);
    const int absent = REVERSE ? ITEMS - there : 0;
    const int shift = shift_of(p.x + t.low);
    if (p.total)
        return false;
    s.full[here.at].wait(here.parity);
    stretch_of<in_t, ITEMS> items;
    items.read(s.tile[here.at], shift, stretch);
    const value_t opening = value_of(load((const in_t *)(s.tile[here.at] + shift) + (REVERSE ? t.count - 1 : 0)));
    const auto is_there = [&](int k) { return REVERSE ? k >= absent : k < there; };
    const auto prefix_of = [&](const acc_t &own) {
        const acc_t prefix = sum_before(s, p, t, state::of(own, false, 0)).acc;
        return has_base ? combine(base, prefix) : prefix;
    };
    uint8 *memory = s.tile[here.at];
    results_writer results;
    terms mine;
#if IS_LOGSUMEXP
    /* exp(x - r) is no larger than e^MOST, and the group's sum no smaller than e^-MOST, so that no digit is lost. */
    constexpr real MOST = sizeof(real) == 8 ? 20 : 8;
    value_t highest = range<value_t>::lowest();
#pragma unroll
    for (int k = 0; k < ITEMS && !LOOKS_UP_BYTES; k++)
        if (is_there(k))
            highest = larger(highest, value_of(items[k]));
    const real top =
        LOOKS_UP_BYTES ? 0 : fold_of_block((real)highest, [](real a, real b) { return larger(a, b); });
    if (!(top >= -GREATEST_FINITE<real> && top <= GREATEST_FINITE<real>))
        return false;
    const power_of_element power_of = top;
    real kept[LOOKS_UP_BYTES ? 1 : ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (!INCLUSIVE)
            kept[LOOKS_UP_BYTES ? 0 : k] = mine.exps;
        const real power = power_of(items[k]);
        mine.exps += is_there(k) ? power : 0;
        if (INCLUSIVE)
            kept[LOOKS_UP_BYTES ? 0 : k] = mine.exps;
    }
    const terms before = add_up_terms(s.of_finishers[team][in_turn], team, thread, mine, false, false).sum;
    acc_t own;
    own.a0 = top;
    own.a1 = before.exps + mine.exps;
    const acc_t prefix = prefix_of(own);
    const real r = LOOKS_UP_BYTES ? 0 : larger(prefix.a0, top), away = r - larger(prefix.a0, (real)opening);
    if (LOOKS_UP_BYTES ? !has_power(prefix) : !(away <= MOST)) /* NaN, too */
        return false;
    const log_of_sum log_of;
    const real scale = exp_below(top - r);
    real left = before.exps * scale + prefix.a1 * exp_below(prefix.a0 - r);
    if (!IN_LINE || shift) /* others' results take the place of what a thread reads */
        __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const real before_this = left;
        if (LOOKS_UP_BYTES && (!REVERSE || is_there(k))) /* from the end, absent items come first */
            left += power_of(items[k]);
        const real sum =
            !LOOKS_UP_BYTES ? left + kept[LOOKS_UP_BYTES ? 0 : k] * scale : INCLUSIVE ? left : before_this;
        results.put(memory, stretch, k, output_of_real<out_t>(r + log_of(sum)));
    }
#else
    /* The square of all distances is up to as many times as large; fourth powers are finite. */
    constexpr double TOO_FAR = MOMENTS > 2 ? 0x1p400 : 0x1p900;
    const auto fits = [](double squares) {
        return squares < TOO_FAR && (MOMENTS == 2 || squares > 1 / TOO_FAR || squares == 0);
    };
#if MOMENTS == 2
    /* The mean of all would do for the tile's sum. But one element that is far from the others moves it away from those
     * before that one, whose results do not have it, and all their digits are lost. */
    const double middle = SKIPS_NAN ? (double)first_number(t, (const in_t *)(s.tile[here.at] + shift)) : (double)opening;
#else /* higher powers would lose more digits relative to one element than near the mean */
    const double mean = mean_of_some(t, items, is_there);
    const double middle = t.first == 0 && IS_FINITE(mean) ? (double)opening : mean;
#endif
    if (!IS_FINITE(middle))
        return false;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (is_there(k))
            mine.add(value_of(items[k]), middle);
    const terms_before in_front = add_up_terms(s.of_finishers[team][in_turn], team, thread, mine, false,
                                               CAN_OVERFLOW && !fits(mine.squares));
    if (in_front.is_astray) {
        __syncthreads(); /* all have read what the other way writes to */
        return false;
    }
    const terms all = combine(in_front.sum, mine);
    const acc_t own = sum_of_terms(all.number(t.count), all, middle);
    /* where the first element is far from the others */
    const bool is_far = threadIdx.x == FINISHERS - 1 && MOST_AWAY * own.a3 < all.squares;
    if (fold_of_block(is_far ? 1 : 0, [](real a, real b) { return a + b; }) != 0)
        return false;
    const acc_t prefix = prefix_of(own);
    if (CAN_OVERFLOW && !fits(prefix.a3))
        return false;
    /* The terms relative to the mean before the tile, as far as there is one. */
    const uint64 low = t.low + stretch * ITEMS, first = REVERSE ? p.n - low - there : low;
    double r = prefix.a0 != 0 ? prefix.a1 : (double)opening;
    if (SKIPS_NAN && is_nan(r)) /* all before is left out, and the first element */
        return false;
    const double moved = middle - r, before = small_number(in_front.sum.number((uint32)(first - t.first)));
    terms sum = in_front.sum;
    sum.move(before, moved);
    sum.add_accumulator(prefix, prefix.a2);
    if (sizeof(out_t) == 8 && prefix.a0 + before > 0)
        r = move_to_mean<double>(&sum, prefix.a0 + before, r);
    double n = prefix.a0 + before;
    items.read(s.tile[here.at], shift, stretch);
    if (!IN_LINE || shift) /* others' results take the place of what a thread reads */
        __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if ((!REVERSE && !CAN_OVERFLOW) || is_there(k)) { /* no result follows items behind the end */
            sum.add(value_of(items[k]), r);
            n += SKIPS_NAN && is_nan(value_of(items[k])) ? 0 : 1;
        }
        results.put(memory, stretch, k, sum.result(n));
    }
#endif
    hand_over(s, p, t, here, team, thread);
    return true;
}
