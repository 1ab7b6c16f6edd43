/* Exact prefix sums: each result is the sum of its prefix, rounded once. docs/exact-scans.md has the argument in full.
 *
 * The elements of a block are doubles. A number sigma splits each, without error, into a multiple of a unit and a rest
 * (exact_window.h). The unit is chosen from bounds of the block, so that prefixes of the multiples are exact doubles.
 * With the rests, and with what came before the block, each prefix is known up to a small bound delta. If both ends of
 * that interval round to the same result, so does the prefix, because rounding is monotone (Ziv, 1991). Results that
 * fail this test, which are rare, are rounded from a superaccumulator.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CPU_KERNELS_EXACT_SCAN_H
#define TALLY_CPU_KERNELS_EXACT_SCAN_H

#include <math.h>

#include "cpu/kernels/exact_integers.h"

enum {
    /* Elements of a block. Its setup takes as long as 150 elements at most, as segments of one show. Elements and
     * results stay in the first-level cache. */
    SCAN_BLOCK = 1024,
    /* A block's prefixes are expected to grow by fewer largest elements. Between two looks at them a kernel adds a
     * vector. */
    LIKELY_GROWTH = 64,
    /* Scans of fewer elements do not pay for the choice of a unit: 300 f32 took 0.56 ns each without, 0.65 with one.
     * Two units are for data that doubles take several times as long for: 30 f64 took 12.9 ns each without, 4.5 with
     * two. */
    LEAST_BY_ONE_UNIT = 512,
    LEAST_BY_TWO_UNITS = 16,
    SLOTS = 8, /* before and behind the results, of which one is for the result before the block */
    /* The largest number of roundings on the way to a prefix of rests is one for each vector and 4; the others are
     * slack for the roundings of the bounds themselves. */
    MORE_ROUNDINGS = 16
};

/* The kernels of an element type. */
typedef struct scan_functions {
    tally_dtype in;
    bounds (*look)(const void *x, size_t n);
    window_sums (*run)(const void *x, size_t n, target to, rests kind, bool reverse, const window *w, void *results);
    void (*add)(tally_superaccumulator *accumulator, const void *x, size_t n);
} scan_functions;

typedef struct scanner {
    const tally_exact_scan *how;
    const scan_functions *functions;
    const char *x;
    char *out;
    size_t n, done; /* elements, in the order of the scan */
    size_t in_bytes, out_bytes;
    target to;
    prefix before;            /* of the elements before 'done' */
    prefix anchor;            /* of those before 'anchor_at', without an error */
    tally_exact_state *state; /* of those before 'state_at' */
    size_t state_at, anchor_at;
    bool no_rests;    /* of the last block */
    bool passed;      /* some prefixes are larger than the window takes */
    double growth;    /* by how much the last block changed the prefix */
    int until_summed; /* blocks until it is tried again to sum rests instead of scanning them */
    int wait;         /* how many it was last, if it failed */
    units units;
    _Alignas(64) double results[SCAN_BLOCK + 2 * SLOTS];
    _Alignas(64) double others[SCAN_BLOCK];
    _Alignas(64) float odd[SCAN_BLOCK];
    _Alignas(64) double padded[LANES_OF(double)];
} scanner;

/* ------------------------------------------------------------------------------------ prefixes ----------- */

/* The limbs, rounded to a double, and what that leaves likewise. A sum too large for f64 is scaled by giving its lowest
 * bit another exponent. */
static prefix prefix_of_limbs(const tally_superaccumulator *limbs) {
    tally_superaccumulator rest = *limbs;
    prefix p = {0, 0, 0, false};
    double *const parts[] = {&p.high, &p.low, &p.error};
    tally_round_sum(&rest, TALLY_F64, &p.high);
    if (p.high - p.high != 0) {
        rest.lowest -= SCALE;
        p.scaled = true;
    }
    for (int k = 0; k < 3; k++) {
        tally_round_sum(&rest, TALLY_F64, parts[k]);
        tally_superaccumulator_deposit_value(&rest, -*parts[k]);
    }
    p.error = __builtin_fabs(p.error) * (1 + 0x1p-50);
    if (p.scaled)
        p.error += 0x1p-1074; /* what the last rounding may have lost below the smallest double */
    return p;
}

static bool has_specials(const tally_exact_state *state) {
    const tally_superaccumulator *a = &state->limbs;
    return state->holds == TALLY_HOLDS_LIMBS &&
           (a->nans != 0 || a->positive_infinities != 0 || a->negative_infinities != 0);
}

/* A state with an infinity or a NaN gives 0: nothing is added to its prefix. */
static prefix prefix_of_state(const tally_exact_state *state) {
    prefix p = {0, 0, 0, false};
    if (state->holds == TALLY_HOLDS_LIMBS && !has_specials(state))
        p = prefix_of_limbs(&state->limbs);
    if (state->holds == TALLY_HOLDS_PAIR)
        p.high = state->pair.high, p.low = state->pair.low;
    return p;
}

/* Whether only -0 has been added, at least once. */
static bool is_sum_of_negative_zeros(const tally_exact_state *state) {
    if (state->holds == TALLY_HOLDS_PAIR)
        return state->pair.high == 0 && is_negative(state->pair.high);
    return state->holds == TALLY_HOLDS_LIMBS && state->limbs.count != 0 && state->limbs.others == 0;
}

static void round_state(const tally_exact_state *state, tally_dtype out, void *result) {
    static const tally_exact_pair nothing = {0, 0};
    if (state->holds == TALLY_HOLDS_LIMBS)
        tally_round_sum(&state->limbs, out, result);
    else
        tally_round_pair(state->holds == TALLY_HOLDS_PAIR ? state->pair : nothing, out, result);
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Where elements first .. first + count - 1, in the order of the scan, stand in memory. */
static size_t place_of_elements(const scanner *s, size_t first, size_t count) {
    return s->how->options.reverse ? s->n - first - count : first;
}

static const void *elements_at(const scanner *s, size_t first, size_t count) {
    return s->x + place_of_elements(s, first, count) * s->in_bytes;
}

/* Makes s->state exact for the elements before 'end'. */
static void advance(scanner *s, size_t end) {
    if (s->anchor_at > s->state_at) {
        s->state->holds = TALLY_HOLDS_PAIR;
        s->state->pair = (tally_exact_pair){s->anchor.high, s->anchor.low};
        s->state->pair_count = 1;
        s->state_at = s->anchor_at;
    }
    tally_exact_to_limbs(s->state, s->how->layout);
    s->functions->add(&s->state->limbs, elements_at(s, s->state_at, end - s->state_at), end - s->state_at);
    s->state_at = end;
}

/* 's->before' is that of the elements before 'done'. */
static void set_anchor(scanner *s) {
    if (s->before.error == 0 && !s->before.scaled && !has_specials(s->state)) {
        s->anchor = s->before;
        s->anchor_at = s->done;
    }
}

/* Any elements: a deposit, and a rounding from the limbs, for each. */
static void walk(scanner *s, size_t count, char *results) {
    const tally_cpu_scan_options options = s->how->options;
    advance(s, s->done);
    tally_superaccumulator *limbs = &s->state->limbs;
    for (size_t k = 0; k < count; k++) {
        const double value = value_at(elements_at(s, s->done + k, 1), 0, s->functions->in);
        tally_superaccumulator_deposit_value(limbs, value);
        limbs->count++;
        limbs->others |= value != 0 || !is_negative(value);
        tally_round_sum(limbs, s->how->out, results + (options.reverse ? count - 1 - k : k) * s->out_bytes);
    }
    s->state_at = s->done + count;
    s->before = prefix_of_state(s->state);
}

/* Whether the sum is NaN, whatever is added. */
static bool is_settled(const tally_exact_state *state) {
    return state->limbs.nans != 0 || (state->limbs.positive_infinities != 0 && state->limbs.negative_infinities != 0);
}

/* Elements that change nothing: any after a NaN, finite ones after an infinity. */
static void fill_results(scanner *s, size_t count, char *results) {
    round_state(s->state, s->how->out, results);
    for (size_t k = 1; k < count; k++)
        memcpy(results + k * s->out_bytes, results, s->out_bytes);
    s->state_at = s->done + count;
}

/* ------------------------------------------------------------------------------------ windows ------------ */

/* The prefix in the scale of a window. */
static prefix rescaled(prefix p, bool scaled) {
    if (p.scaled == scaled)
        return p;
    const double factor = scaled ? SCALED : 1 / SCALED;
    return (prefix){p.high * factor, p.low * factor, p.error * factor + (scaled ? 0x1p-1072 : 0), scaled};
}

/* Chooses the unit for prefixes that grow by so much, and splits the prefix before the block; its error may grow. */
static window window_of(const scanner *s, bounds b, size_t n, double growth, prefix *before) {
    const double slack = 1 + 0x1p-48;
    window w = {.scaled = s->before.scaled, .ahead = s->how->options.ahead};
    double bound = (__builtin_fabs(s->before.high) + growth) * slack;
    if (s->before.scaled || !(bound < 0x1p1000)) {
        w.scaled = true;
        bound = (__builtin_fabs(rescaled(s->before, true).high) + (double)n * (b.largest * SCALED)) * slack;
        if (bound < 0x1p800) { /* back to where nothing is lost */
            w.scaled = false;
            bound = bound / SCALED + 0x1p-1074;
        }
    }
    *before = rescaled(s->before, w.scaled);
    w.top = exponent_of(bound) + 2 > -1022 ? exponent_of(bound) + 2 : -1022;
    w.sigma = sigma_f64(w.top);
    w.multiple = (before->high + w.sigma) - w.sigma;
    double lost;
    w.rest = two_sum(before->high - w.multiple, before->low, &lost);
    before->error += __builtin_fabs(lost);
    return w;
}

static void exchange_bounds(window *w) {
    const double lower = w->lower;
    w->lower = w->upper;
    w->upper = lower;
}

static window_sums run_kernel(scanner *s, const void *x, size_t n, target to, rests kind, const window *w,
                              void *results) {
    const window_sums sums = s->functions->run(x, n, to, kind, s->how->options.reverse, w, results);
    s->passed |= sums.largest >= power_of_two(w->top - 1);
    return sums;
}

/* Runs a window with bounds 'delta' to either side. If results differ, s->others are those of the other bound. */
static window_sums run_window(scanner *s, const void *x, size_t n, rests kind, window w, double delta, void *results) {
    const bool is_narrow = s->to == TO_NARROW;
    const double middle = kind == SCANNED ? 0 : w.rest;
    w.lower = middle - delta;
    w.upper = middle + delta;
    const target to = is_narrow && w.lower == w.upper ? TO_NARROW_ONCE : s->to;
    window_sums sums = run_kernel(s, x, n, to, kind, &w, is_narrow ? s->odd : results);
    if (is_narrow)
        narrow(s->odd, n, s->how->out, results);
    if (sums.differ) {
        exchange_bounds(&w);
        run_kernel(s, x, n, is_narrow ? TO_NARROW_ONCE : s->to, kind, &w, is_narrow ? s->odd : (void *)s->others);
    }
    if (sums.differ && is_narrow) { /* as floats, but perhaps not as results */
        narrow(s->odd, n, s->how->out, (uint16_t *)s->others);
        sums.differ = memcmp(results, s->others, n * s->out_bytes) != 0;
    }
    return sums;
}

/* Results of f32 without bounds, for elements that are all even multiples of the unit. With a rest, the prefix before
 * the block is replaced by the odd multiple next to it. Then so is every prefix, and none lies beyond an even multiple,
 * where the boundaries between large enough results are: rounding to odd, of all prefixes at once. False if this does
 * not work for some result. */
static bool scan_surely(scanner *s, const void *x, size_t n, window w, double error, float *results, double *multiple) {
    const double unit = power_of_two(w.top - 52);
    double shift = 0;
    if (w.rest != 0 || error != 0) {
        const bool is_odd = (int64_t)(w.multiple / unit) & 1;
        if (__builtin_fabs(w.rest) + 2 * error >= unit || (!is_odd && __builtin_fabs(w.rest) <= 2 * error))
            return false;
        shift = is_odd ? 0 : w.rest < 0 ? -unit : unit;
    }
    w.multiple += shift;
    *multiple = run_kernel(s, x, n, TO_F32_SURELY, NO_RESTS, &w, results).multiple - shift;
    return (w.rest == 0 && error == 0) || smallest_of(results, n) >= power_of_two(w.top - 26);
}

/* One block of n elements at x, a multiple of W64, in a window for prefixes that grow by so much; s->passed becomes
 * true if they grow more, and then nothing that is found is right. */
static prefix scan_growing(scanner *s, const void *x, size_t n, bounds b, double growth, void *results, bool *certain) {
    prefix after;
    const window w = window_of(s, b, n, growth, &after);
    const double u = 0x1p-53, half_unit = power_of_two(w.top - 53);
    const bool has_rests = w.scaled || b.lowest < w.top - 52;
    *certain = true;
    if (s->to == TO_F32 && !w.scaled && b.lowest >= w.top - 51 &&
        scan_surely(s, x, n, w, after.error, results, &after.high)) {
        after.high = two_sum(after.high, w.rest, &after.low);
        return after;
    }
    const double rest_bound = __builtin_fabs(w.rest) + (double)n * half_unit + after.error;
    const double roundings =
        (double)(n / W64 + MORE_ROUNDINGS) * u * rest_bound + (w.scaled ? (double)n * 0x1p-1074 : 0);
    /* How far the bounds are from the middle if there are no rests, and if they are scanned or only summed. The sum of
     * a multiple and a rest is rounded before it is rounded to less than f64. */
    const double last = s->to == TO_F64 ? 0 : 2 * half_unit;
    const bool is_exact = after.error == 0 && (s->to == TO_F64 || w.rest == 0);
    const double least = is_exact ? 0 : after.error + last + 4 * u * rest_bound;
    const double scanned = after.error + last + roundings, summed = scanned + (double)n * half_unit;
    rests kind = !has_rests ? NO_RESTS : s->to == TO_F64 || w.scaled || s->until_summed-- > 0 ? SCANNED : SUMMED;
    bool no_rests = !has_rests || (s->no_rests && !w.scaled); /* expected, and then found */
    double delta = no_rests ? least : kind == SCANNED ? scanned : summed;
    window_sums sums = run_window(s, x, n, kind, w, delta, results);
    no_rests = sums.no_rests && !w.scaled;
    if (no_rests ? sums.differ && delta > least : delta == least && has_rests) {
        delta = no_rests ? least : kind == SCANNED ? scanned : summed;
        sums = run_window(s, x, n, kind, w, delta, results);
    }
    if (sums.differ && kind == SUMMED && !no_rests) {
        s->wait = s->wait == 0 ? 1 : s->wait < BLOCKS_PER_LOOK ? 2 * s->wait : (int)BLOCKS_PER_LOOK;
        s->until_summed = s->wait;
        sums = run_window(s, x, n, SCANNED, w, scanned, results);
    } else if (kind == SUMMED) {
        s->wait = 0;
    }
    s->no_rests = no_rests;
    *certain = !sums.differ;
    if (!no_rests)
        after.error += roundings;
    after.high = two_sum(sums.multiple, sums.rest, &after.low);
    return after;
}

static double likely_growth(const scanner *s, bounds b) {
    const double by_elements = LIKELY_GROWTH * b.largest;
    return by_elements > 2 * s->growth ? by_elements : 2 * s->growth;
}

/* Returns the prefix after a block. If *certain becomes false, results that are not the same in s->others may be wrong.
 *
 * Prefixes could grow by n times the largest element. They seldom grow by a 16th of that, and a window for the latter
 * has a unit as much smaller, so fewer results are uncertain. */
static prefix scan_block(scanner *s, const void *x, size_t n, bounds b, void *results, bool *certain) {
    const double most = (double)n * b.largest, likely = likely_growth(s, b);
    const bool tries = s->functions->in != TALLY_F64 && s->to != TO_F64 && !s->before.scaled && likely < most;
    const double before = s->before.high;
    s->passed = false;
    prefix after = scan_growing(s, x, n, b, tries ? likely : most, results, certain);
    if (s->passed && tries) {
        s->passed = false;
        after = scan_growing(s, x, n, b, most, results, certain);
    }
    s->growth = __builtin_fabs(after.high - before);
    return after;
}

/* Whether elements of 2, 4 or 8 bytes differ. */
static bool differ_at(const char *a, const char *b, size_t bytes) {
    return bytes == 8 ? memcmp(a, b, 8) != 0 : bytes == 4 ? memcmp(a, b, 4) != 0 : memcmp(a, b, 2) != 0;
}

/* Results that were not certain, from the limbs. */
static void repair(scanner *s, size_t count, size_t n, char *results) {
    const size_t bytes = s->out_bytes;
    const bool reverse = s->how->options.reverse;
    const char *others = (const char *)s->others;
    for (size_t k = 0; k < count; k++) {
        const size_t at = (reverse ? n - 1 - k : k) * bytes;
        if (!differ_at(results + at, others + at, bytes))
            continue;
        advance(s, s->done + k + 1);
        tally_round_sum(&s->state->limbs, s->how->out, results + at);
    }
    advance(s, s->done + count);
    s->before = prefix_of_limbs(&s->state->limbs);
}

/* ------------------------------------------------------------------------------------ arrays ------------- */

/* The results of the next 'count' elements by integers in the unit chosen, at 'to'. If that does not work, no unit is.
 */
static bool scan_in_chosen_unit(scanner *s, size_t count, char *to, bool streamed) {
    const tally_cpu_scan_options *o = &s->how->options;
    const unit_block how = {.out = s->how->out, .reverse = o->reverse, .streamed = streamed, .ahead = o->ahead};
    s->units.chosen = scan_in_units(&s->units, elements_at(s, s->done, count), count, s->functions->in, how, to);
    return s->units.chosen;
}

/* Chooses a unit for the next elements, or two, and takes them. If that does not work, it is not tried for some blocks.
 * Two need an exact prefix. Where one has to guard against rests and failed, they are better. */
static bool scan_in_new_unit(scanner *s, size_t count, bounds b, char *to) {
    units *const u = &s->units;
    if (u->until > 0) {
        u->until--;
        return false;
    }
    const bool are_wide = s->functions->in == TALLY_F64 || s->to == TO_F64;
    const bool may_be_two = s->in_bytes >= sizeof(float) && s->to != TO_NARROW;
    const double likely = likely_growth(s, b), most = (double)count * b.largest;
    int exponent = 0;
    if (s->n < LEAST_BY_ONE_UNIT && !(may_be_two && (are_wide || need_two_units(s->before, b, most))))
        return false;
    if (!flags_work())
        return false;
    const bool one = !are_wide && s->n >= LEAST_BY_ONE_UNIT && choose_unit(u, s->before, b, likely, most);
    const bool two = may_be_two && choose_two_units(s->before, b, likely, most, &exponent);
    bool done = false;
    if (one && !(two && u->has_rests && s->before.error != 0))
        done = scan_in_chosen_unit(s, count, to, false);
    if (!done && two) {
        if (s->before.error != 0) {
            advance(s, s->done);
            s->before = prefix_of_limbs(&s->state->limbs);
        }
        done = begin_two_units(u, s->before, exponent) && scan_in_chosen_unit(s, count, to, false);
    }
    u->wait = done ? 0 : u->wait == 0 ? 1 : u->wait < BLOCKS_PER_LOOK ? 2 * u->wait : (int)BLOCKS_PER_LOOK;
    u->until = u->wait;
    return done;
}

/* The next block, straight to where its results belong. Those before a line that can be streamed are a block of their
 * own. False if the unit does not do, or none is chosen. */
static bool scan_block_in_units(scanner *s) {
    const tally_cpu_scan_options *o = &s->how->options;
    const uintptr_t begin = (uintptr_t)s->out + (o->reverse ? s->n - s->done : s->done) * s->out_bytes;
    const size_t before_line = (o->reverse ? begin : -begin) % 64;
    size_t count = smaller(s->n - s->done, SCAN_BLOCK);
    if (o->stream && before_line >= s->out_bytes)
        count = smaller(count, before_line / s->out_bytes);
    char *const to = s->out + place_of_elements(s, s->done, count) * s->out_bytes;
    if (!scan_in_chosen_unit(s, count, to, o->stream && before_line == 0)) {
        s->before = prefix_of_units(&s->units);
        return false;
    }
    s->done += count;
    return true;
}

/* The results of the next 'count' elements, in the order of the elements. */
static void scan_elements(scanner *s, size_t count, char *results) {
    const bool reverse = s->how->options.reverse;
    const void *x = elements_at(s, s->done, count);
    char *const original = results;
    if (HAVE_UNITS && s->units.chosen) {
        const bool done = scan_in_chosen_unit(s, count, results, false);
        s->before = prefix_of_units(&s->units);
        if (done)
            return;
    }
    size_t n = count;
    if (n % W64 != 0) { /* fewer than a vector */
        n = W64;
        memset(s->padded, 0, sizeof s->padded);
        memcpy((char *)s->padded + (reverse ? n - count : 0) * s->in_bytes, x, count * s->in_bytes);
        x = s->padded;
        results -= reverse ? (n - count) * s->out_bytes : 0;
    }
    const bounds b = s->functions->look(x, n);
    if (has_specials(s->state) && (b.finite || is_settled(s->state))) {
        fill_results(s, count, original);
        return;
    }
    if (!b.finite) {
        walk(s, count, original);
        return;
    }
    if (HAVE_UNITS && s->n >= LEAST_BY_TWO_UNITS && scan_in_new_unit(s, count, b, original)) {
        s->before = prefix_of_units(&s->units);
        return;
    }
    bool certain;
    const prefix after = scan_block(s, x, n, b, results, &certain);
    if (certain)
        s->before = after;
    else
        repair(s, count, n, results);
}

static void write_results(const scanner *s, size_t count, const char *results) {
    const tally_cpu_scan_options *o = &s->how->options;
    const ptrdiff_t shift = !o->exclusive ? 0 : o->reverse ? 1 : -1;
    char *const to = s->out + place_of_elements(s, s->done, count) * s->out_bytes;
    const char *const from = results + shift * (ptrdiff_t)s->out_bytes;
    if (o->stream)
        stream_bytes(to, from, count * s->out_bytes);
    else
        memcpy(to, from, count * s->out_bytes);
}

/* The number of elements that are -0 before the first that is not, where a sum of nothing but -0 may begin. */
static size_t count_negative_zeros(const scanner *s) {
    size_t count = 0;
    if (s->state->holds != TALLY_HOLDS_NOTHING && !is_sum_of_negative_zeros(s->state))
        return 0;
    for (; count < s->n; count++) {
        const double value = value_at(elements_at(s, count, 1), 0, s->functions->in);
        if (value != 0 || !is_negative(value))
            break;
    }
    return count;
}

static size_t next_count(const scanner *s, size_t walked) {
    const size_t left = s->n - s->done;
    if (walked > s->done)
        return smaller(walked - s->done, SCAN_BLOCK);
    if (left >= SCAN_BLOCK)
        return SCAN_BLOCK;
    return left < W64 ? left : left / W64 * W64;
}

/* Makes s->state that of all elements. A sum of nothing but -0 has been walked, so its state is there. */
static void keep_state(scanner *s) {
    const bool is_pair = s->before.error == 0 && !s->before.scaled;
    if (s->state_at == s->n)
        return;
    if (is_pair && !has_specials(s->state)) {
        s->state->holds = TALLY_HOLDS_PAIR;
        s->state->pair = (tally_exact_pair){s->before.high, s->before.low};
        s->state->pair_count = 1;
    } else {
        advance(s, s->n);
    }
}

static void scan_array(const scan_functions *functions, const tally_exact_scan *how, const void *x, size_t n,
                       tally_exact_state *before, void *out) {
    scanner s;
    s.how = how;
    s.functions = functions;
    s.x = x;
    s.out = out;
    s.n = n;
    s.done = s.state_at = s.anchor_at = 0;
    s.in_bytes = tally_dtype_size(functions->in);
    s.out_bytes = tally_dtype_size(how->out);
    s.to = how->out == TALLY_F64 ? TO_F64 : how->out == TALLY_F32 ? TO_F32 : TO_NARROW;
    s.state = before;
    s.no_rests = false;
    s.growth = 0;
    s.until_summed = s.wait = 0;
    s.units.chosen = false;
    s.units.until = s.units.wait = 0;
    s.before = prefix_of_state(before);
    const bool reverse = how->options.reverse, in_place = x == out;
    char *const results = (char *)(s.results + SLOTS);
    unsigned char last[sizeof(double)];
    round_state(before, how->out, last);
    /* -0 and what follows it */
    const size_t zeros = count_negative_zeros(&s);
    size_t walked = zeros > 0 || is_sum_of_negative_zeros(before) ? zeros + 1 : 0;
    if (functions->in == TALLY_F64 && how->out == TALLY_BF16)
        walked = n; /* subnormal results would be rounded twice */
    while (s.done < n) {
        if (HAVE_UNITS && s.units.chosen && !in_place && !how->options.exclusive && scan_block_in_units(&s))
            continue;
        const size_t count = next_count(&s, walked < n ? walked : n);
        memcpy(results + (reverse ? (ptrdiff_t)count : -1) * (ptrdiff_t)s.out_bytes, last, s.out_bytes);
        if (s.done < walked)
            walk(&s, count, results);
        else {
            set_anchor(&s);
            scan_elements(&s, count, results);
        }
        memcpy(last, results + (reverse ? 0 : count - 1) * s.out_bytes, s.out_bytes);
        if (in_place && (s.before.error != 0 || s.before.scaled)) {
            advance(&s, s.done + count);
            s.before = prefix_of_limbs(&s.state->limbs);
        }
        write_results(&s, count, results);
        s.done += count;
    }
    if (HAVE_UNITS && s.units.chosen)
        s.before = prefix_of_units(&s.units);
    if (how->options.stream)
        end_stream();
    if (how->keeps)
        keep_state(&s);
}

#define DEFINE_EXACT_SCAN(tag, type, lane)                                                                             \
    DEFINE_LOOK(tag, type, lane)                                                                                       \
    DEFINE_RUN(tag, type)                                                                                              \
    static void scan_##tag(const tally_exact_scan *how, const void *x, size_t n, tally_exact_state *before,            \
                           void *out) {                                                                                \
        static const scan_functions functions = {type, look_at_##tag, run_##tag, add_##tag};                           \
        const tally_fpenv caller = tally_fpenv_enter();                                                                \
        scan_array(&functions, how, x, n, before, out);                                                                \
        tally_fpenv_leave(&caller);                                                                                    \
    }
DEFINE_EXACT_SCAN(f16, TALLY_F16, u16)
DEFINE_EXACT_SCAN(bf16, TALLY_BF16, u16)
DEFINE_EXACT_SCAN(f32, TALLY_F32, u32)
DEFINE_EXACT_SCAN(f64, TALLY_F64, u64)

#endif
