#include "data.h"

#include <math.h>
#include <stdlib.h>

#include "../oracle/number.h"
#include "../oracle/random.h"
#include "../oracle/reference.h"

static const char *const names[PATTERN_COUNT] = {"small_integers",  "uniform",
                                                 "positive",        "special",
                                                 "powers",          "powers_special",
                                                 "near_one",        "offset",
                                                 "extreme",         "mostly_zero",
                                                 "mostly_not_zero", "few_bits_clear",
                                                 "few_bits_set",    "wide",
                                                 "cancelling",      "random_bits",
                                                 "signed_zeros",    "odd_nans",
                                                 "far_0",           "far_3",
                                                 "far_6",           "far_9",
                                                 "far_12",          "far_15",
                                                 "small_and_nans",  "uniform_and_nans",
                                                 "powers_and_nans"};

const char *pattern_name(pattern p) {
    return names[p];
}

static int list_of(pattern list[6], int count, const pattern *from) {
    for (int k = 0; k < count; k++)
        list[k] = from[k];
    return count;
}
#define LIST(...)                                                                                                      \
    list_of(list, (int)(sizeof((const pattern[]){__VA_ARGS__}) / sizeof(pattern)), (const pattern[]){__VA_ARGS__})

bool is_extremum(tally_op op) {
    return op == TALLY_MIN || op == TALLY_MAX || op == TALLY_MINMAX || op == TALLY_NORM_INF;
}

int patterns_for(tally_op op, tally_dtype in, tally_mode mode, pattern list[6]) {
    bool real = is_float(in);
    const bool rounds = mode == TALLY_EXACT && reference_rounds_once(op, real),
               spread = op == TALLY_VAR || op == TALLY_STD;
    if (rounds && real && spread)
        return LIST(SMALL_INTEGERS, WIDE, OFFSET, RANDOM_BITS, SPECIAL, EXTREME);
    if (rounds && real)
        return LIST(SMALL_INTEGERS, WIDE, CANCELLING, RANDOM_BITS, SPECIAL, POSITIVE);
    if (mode == TALLY_EXACT && real && is_extremum(op))
        return LIST(SIGNED_ZEROS, ODD_NANS, SPECIAL, UNIFORM);
    if (rounds)
        return LIST(UNIFORM, EXTREME, SMALL_INTEGERS);
    switch (op) {
    case TALLY_PROD:
        return real ? LIST(POWERS, NEAR_ONE, POWERS_SPECIAL) : LIST(POWERS, SMALL_INTEGERS, FEW_BITS_CLEAR);
    case TALLY_ANY:
    case TALLY_ALL:
    case TALLY_COUNT_NONZERO:
        return real ? LIST(MOSTLY_ZERO, MOSTLY_NOT_ZERO, SPECIAL) : LIST(MOSTLY_ZERO, MOSTLY_NOT_ZERO, UNIFORM);
    case TALLY_BAND:
        return LIST(FEW_BITS_CLEAR, UNIFORM);
    case TALLY_BOR:
        return LIST(FEW_BITS_SET, UNIFORM);
    case TALLY_BXOR:
        return LIST(UNIFORM);
    case TALLY_VAR:
    case TALLY_STD:
        return real ? LIST(OFFSET, SMALL_INTEGERS, UNIFORM, SPECIAL, EXTREME) : LIST(OFFSET, SMALL_INTEGERS, UNIFORM);
    case TALLY_SKEWNESS:
    case TALLY_KURTOSIS:
        return real ? LIST(OFFSET, SMALL_INTEGERS, UNIFORM, SPECIAL) : LIST(OFFSET, SMALL_INTEGERS, UNIFORM);
    case TALLY_LOGSUMEXP:
        return real ? LIST(UNIFORM, OFFSET, SPECIAL) : LIST(SMALL_INTEGERS, OFFSET, UNIFORM);
    default:
        return real ? LIST(SMALL_INTEGERS, UNIFORM, POSITIVE, SPECIAL) : LIST(SMALL_INTEGERS, UNIFORM);
    }
}

int patterns_with_nans(tally_op op, pattern list[6]) {
    return op == TALLY_PROD ? LIST(POWERS_AND_NANS) : LIST(SMALL_AND_NANS, UNIFORM_AND_NANS);
}

bool pattern_is_exact(pattern p, tally_op op, uint64_t n) {
    switch (p) {
    case SMALL_INTEGERS:
    case SMALL_AND_NANS:
    case SPECIAL:
    case MOSTLY_ZERO:
    case MOSTLY_NOT_ZERO:
        return op != TALLY_PROD && n * 9 < 1u << 24;
    case POWERS:
    case POWERS_SPECIAL:
    case POWERS_AND_NANS:
        return op == TALLY_PROD;
    default:
        return false;
    }
}

static double rare_special(uint64_t *state, double otherwise, bool subnormals) {
    switch (random_below(state, 3000)) {
    case 0:
        return (double)NAN;
    case 1:
        return (double)INFINITY;
    case 2:
        return (double)-INFINITY;
    case 3:
    case 4:
        return 0.0;
    case 5:
    case 6:
        return -0.0;
    case 7:
        return subnormals ? -(double)NAN : otherwise;
    default:
        return otherwise;
    }
}

/* Integers of p bits times 2^e, with e over the range whose sums cannot overflow. */
static double any_size(tally_dtype type, uint64_t *state) {
    int lowest = smallest_exponent_of(type), highest = type == TALLY_F16 ? 4 : type == TALLY_F64 ? 940 : 96;
    int exponent = lowest + (int)random_below(state, (uint64_t)(highest - lowest));
    int precision = precision_of(type);
    double significand = (double)(random_bits(state) >> (64 - precision));
    if (type == TALLY_F16)
        exponent = lowest + (int)random_below(state, 16);
    double value = ldexp(significand, exponent);
    return random_bits(state) & 1 ? -value : value;
}

/* NaN, of either sign, in none, a tenth, half, or all of the elements of a stretch. */
static bool is_left_out(uint64_t *state, size_t k) {
    static const unsigned of_ten[] = {0, 1, 5, 10};
    return random_below(state, 10) < of_ten[k / 53 % 4];
}

static double real_value(tally_dtype type, pattern p, uint64_t *state, size_t k) {
    double small = (double)((int)random_below(state, 7) - 3);
    if ((p == SMALL_AND_NANS || p == UNIFORM_AND_NANS || p == POWERS_AND_NANS) && is_left_out(state, k))
        return small < 0 ? -(double)NAN : (double)NAN;
    switch (p) {
    case SMALL_INTEGERS:
        return small;
    case SMALL_AND_NANS:
        return k / 212 % 3 || random_below(state, 20) ? small : small < 0 ? -(double)INFINITY : (double)INFINITY;
    case UNIFORM_AND_NANS:
    case UNIFORM:
        return random_normal(state);
    case POSITIVE:
        return 0.5 + random_unit(state);
    case SPECIAL:
        return rare_special(state, small, true);
    case POWERS:
    case POWERS_AND_NANS:
    case POWERS_SPECIAL: {
        double unit = small < 0 ? -1 : 1;
        if (k % 4099 == 77)
            unit *= 2;
        if (k % 4099 == 3077)
            unit /= 2;
        return p != POWERS_SPECIAL ? unit : rare_special(state, unit, true);
    }
    case NEAR_ONE:
        return 0.99 + 0.02 * random_unit(state);
    case OFFSET:
        return (type == TALLY_F64 ? 1e9 : type == TALLY_F32 ? 1e5 : 1000) + random_normal(state);
    case FAR_0:
        return random_normal(state);
    case FAR_3:
    case FAR_6:
    case FAR_9:
    case FAR_12:
    case FAR_15:
        return pow(1000, p - FAR_0) + random_normal(state);
    case EXTREME:
        return (small < 0 ? -1 : 1) * ldexp((double)largest_of(type), fabs(small) > 2     ? 0
                                                                      : type == TALLY_F64 ? -256
                                                                      : type == TALLY_F16 ? -4
                                                                                          : -32);
    case MOSTLY_ZERO:
        return random_below(state, 900) ? 0.0 : random_below(state, 4) ? small : -0.0;
    case MOSTLY_NOT_ZERO:
        return random_below(state, 900) ? small + 3.5 : small;
    case WIDE:
        return any_size(type, state);
    default:
        return small;
    }
}

/* Stretches of zeros of one sign, of both, and of one with a few of the other. */
static uint64_t odd_bits(tally_dtype type, pattern p, uint64_t *state, size_t k) {
    const int top = 8 * (int)size_of(type) - 1, stretch = (int)(k / 97 % 5);
    const bool rare = random_below(state, 40) == 0, even = random_below(state, 2) == 0;
    const bool negative = stretch == 0 ? even : stretch == 1 || stretch == 3 ? rare : stretch == 2 ? !rare : false;
    const uint64_t sign = (uint64_t)negative << top;
    if (p == SIGNED_ZEROS || random_below(state, 600))
        return sign;
    const int stored = precision_of(type) - 1;
    const uint64_t below_sign = ((uint64_t)1 << top) - 1, payload = random_bits(state) & (((uint64_t)1 << stored) - 1);
    return (uint64_t)even << top | (below_sign >> stored << stored) | payload | 1;
}

static uint64_t integer_value(tally_dtype type, pattern p, uint64_t *state, size_t k) {
    int64_t small = (int64_t)random_below(state, 7) - 3;
    bool with_sign = kind_of(type) == KIND_SIGNED;
    switch (p) {
    case SMALL_INTEGERS:
        return (uint64_t)(with_sign ? small : small + 3);
    case POWERS:
        if (with_sign)
            return (uint64_t)(k % 4099 == 77 ? 2 : small < 0 ? -1 : 1);
        return k % 4099 == 77 ? 2 : 1;
    case OFFSET:
        return size_of(type) == 1 ? (uint64_t)(100 + small) : (uint64_t)(1000 + small);
    case MOSTLY_ZERO:
        return random_below(state, 900) ? 0 : random_bits(state);
    case MOSTLY_NOT_ZERO:
        return random_below(state, 900) ? random_bits(state) | 1 : 0;
    case FEW_BITS_CLEAR:
        return ~(random_below(state, 64) ? 0 : (uint64_t)1 << random_below(state, 64));
    case FEW_BITS_SET:
        return random_below(state, 64) ? 0 : (uint64_t)1 << random_below(state, 64);
    case EXTREME: {
        const cell end = k / 1024 % 2 ? highest_cell(type) : lowest_cell(type);
        return random_below(state, 16) ? end.u : (uint64_t)small;
    }
    default: {
        /* Values of all sizes, so that extremes and small values occur. */
        uint64_t bits = random_bits(state);
        return random_below(state, 8) ? bits : bits >> random_below(state, 64);
    }
    }
}

static void fill(tally_dtype type, pattern p, uint64_t seed, size_t n, unsigned char *memory) {
    uint64_t state = seed;
    size_t size = size_of(type);
    double partner[16] = {0};
    for (size_t k = 0; k < n; k++) {
        cell value;
        const bool odd = p == SIGNED_ZEROS || p == ODD_NANS;
        if (!is_float(type) || p == RANDOM_BITS || odd) {
            uint64_t bits = odd                ? odd_bits(type, p, &state, k)
                            : p == RANDOM_BITS ? random_bits(&state)
                                               : integer_value(type, p, &state, k);
            /* Random f16 and bf16 bits are NaN or infinite so often that hardly anything else is left, so some of these
             * are removed. */
            if (p == RANDOM_BITS && is_float(type) && random_below(&state, 4000)) {
                int place = 8 * (int)size - 2;
                bits &= ~((uint64_t)1 << place);
            }
            store_bits(type, bits, memory + k * size);
            continue;
        }
        if (p == CANCELLING) {
            size_t slot = random_below(&state, 16);
            value.d = partner[slot] != 0 ? -partner[slot] : any_size(type, &state);
            if (random_below(&state, 64) == 0)
                value.d = real_value(type, SMALL_INTEGERS, &state, k);
            else
                partner[slot] = partner[slot] != 0 ? 0 : value.d;
        } else {
            value.d = real_value(type, p, &state, k);
        }
        value.d = (double)round_to(type, value.d);
        encode(type, value, memory + k * size);
    }
}

typedef struct pool {
    unsigned char *memory;
    size_t n;
} pool;
static pool pools[TALLY_DTYPE_COUNT][PATTERN_COUNT];

const void *data_slice(tally_dtype type, pattern p, uint64_t seed, size_t n) {
    enum { SPARE = 5003, LEAST = 1 << 15 };
    pool *from = &pools[type][p];
    if (from->n < n + SPARE) {
        size_t size = n + SPARE < LEAST ? LEAST : n + n / 4 + SPARE;
        free(from->memory);
        from->memory = malloc(size * size_of(type));
        if (!from->memory)
            abort();
        from->n = size;
        fill(type, p, seed_of((uint64_t)type, (uint64_t)p), size, from->memory);
    }
    uint64_t state = seed;
    /* The offset does not depend on how far the pool has grown, so that a case can be replayed alone. */
    return from->memory + size_of(type) * random_below(&state, SPARE);
}

void data_release(void) {
    for (int t = 0; t < TALLY_DTYPE_COUNT; t++)
        for (int p = 0; p < PATTERN_COUNT; p++) {
            free(pools[t][p].memory);
            pools[t][p].memory = NULL;
            pools[t][p].n = 0;
        }
}
